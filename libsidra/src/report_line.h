// SPDX-License-Identifier: MIT
// Lines that libsidra prints to stderr, about things that a program would not notice otherwise.
#ifndef SIDRA_REPORT_LINE_H
#define SIDRA_REPORT_LINE_H

#include <string_view>

namespace sidra {

// Prints "sidra: <text>", unless SIDRA_QUIET=1 is in the environment.
void report_line(std::string_view text);

}  // namespace sidra

#endif
