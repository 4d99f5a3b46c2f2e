// SPDX-License-Identifier: MIT
// Sizes as people read them.
#ifndef SIDRA_COMMON_UNITS_H
#define SIDRA_COMMON_UNITS_H

#include <cstdint>
#include <optional>
#include <string>

namespace sidra::tools {

// Of memory, in units of 1024 as free(1) and df(1) have them, in four characters: "0B", "64K", "1.5G". Absent: "-".
std::string bytes_text(std::optional<uint64_t> bytes);

}  // namespace sidra::tools

#endif
