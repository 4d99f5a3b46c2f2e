// SPDX-License-Identifier: MIT
#include "report_line.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace sidra {

void report_line(const std::string& text) {
    const char* quiet = std::getenv("SIDRA_QUIET");
    if (quiet != nullptr && std::string_view(quiet) == "1") return;
    std::fprintf(stderr, "sidra: %s\n", text.c_str());
}

}  // namespace sidra
