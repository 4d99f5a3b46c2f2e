// SPDX-License-Identifier: MIT
#include "report_line.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace sidra {

void report_line(std::string_view text) {
    const char* quiet = std::getenv("SIDRA_QUIET");
    if (quiet != nullptr && std::string_view(quiet) == "1") return;
    std::fprintf(stderr, "sidra: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace sidra
