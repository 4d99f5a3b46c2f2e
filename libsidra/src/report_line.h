// SPDX-License-Identifier: MIT
// The lines that libsidra prints to stderr, for what a program would otherwise not notice.
#ifndef SIDRA_REPORT_LINE_H
#define SIDRA_REPORT_LINE_H

#include <string>

namespace sidra {

// Prints "sidra: <text>"; not with SIDRA_QUIET=1 in the environment.
void report_line(const std::string& text);

}  // namespace sidra

#endif
