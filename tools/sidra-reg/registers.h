// SPDX-License-Identifier: MIT
// The registers by name, and what their values say.
#ifndef SIDRA_REG_REGISTERS_H
#define SIDRA_REG_REGISTERS_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sidra::reg {

// Through a driver at work; names as in uapi/sidra_reg.h.
enum class Access { NONE, R, W, RW };  // NOLINT(readability-identifier-naming)

struct Register {
    std::string_view name;
    uint32_t offset;
    uint32_t bytes;
    Access access;
};

std::span<const Register> registers();
// nullptr: no such register. Upper and lower case are the same.
const Register* find_register(std::string_view name);
// The value in words; "" where the number says it all.
std::string decode(const Register& known, uint64_t value);

}  // namespace sidra::reg

#endif
