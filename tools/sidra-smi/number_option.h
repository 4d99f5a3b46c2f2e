// SPDX-License-Identifier: MIT
// Numbers in options. CLI::Range accepts NaN, because comparisons with NaN are false.
#ifndef SIDRA_SMI_NUMBER_OPTION_H
#define SIDRA_SMI_NUMBER_OPTION_H

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace sidra::smi_tool {

inline CLI::Validator within(double least, double most) {
    return {[least, most](std::string& text) {
                double value = 0;
                const bool good = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
                return good ? std::string() : fmt::format("'{}' is not between {} and {}", text, least, most);
            },
            fmt::format("FLOAT in [{} - {}]", least, most)};
}

}  // namespace sidra::smi_tool

#endif
