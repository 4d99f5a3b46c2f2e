// SPDX-License-Identifier: MIT
// What numbers in dumps mean, for people. Never fails: what is not known is said to be so.
#ifndef SIDRA_DUMP_WORDS_H
#define SIDRA_DUMP_WORDS_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sidra::dump {

// By the calling convention: zero, ra, sp, ...
extern const std::array<const char*, 32> kRegisterNames;

std::string panic_text(uint32_t code);  // SIDRA_PANIC_*
std::string mcause_text(uint32_t mcause);
std::string mtval_text(uint32_t mcause, uint32_t mtval);
std::string version_text(uint32_t version);      // major << 24 | minor << 16 | patch
std::string stage_text(uint64_t status);         // SIDRA_REG_STATUS
std::string cause_text(std::string_view cause);  // of the driver's dump

// Of a word NAME=VALUE of the driver's dump; empty: the number speaks for itself.
std::string value_text(std::string_view name, uint64_t value);

// What firmware or a user wrote, so that a terminal and JSON can take it: all but printable ASCII becomes \xNN.
std::string printable(std::string_view text);

}  // namespace sidra::dump

#endif
