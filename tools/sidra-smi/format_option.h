// SPDX-License-Identifier: MIT
// --format, the same with every command that has it.
#ifndef SIDRA_SMI_FORMAT_OPTION_H
#define SIDRA_SMI_FORMAT_OPTION_H

#include <CLI/CLI.hpp>

#include "report.h"

namespace sidra::smi_tool {

inline void add_format(CLI::App& app, Format& format) {
    // By name only: of an enumeration CLI11 takes any number, too.
    const auto take = [&format](const std::string& name) {
        for (const auto& [known, value] : kFormats)
            if (known == name) return void(format = value);
        throw CLI::ValidationError("--format", "'" + name + "' is none of text, csv and json");
    };
    app.add_option_function<std::string>("--format", take, "text, csv or json")->type_name("NAME")->default_str("text");
}

}  // namespace sidra::smi_tool

#endif
