// SPDX-License-Identifier: MIT
// --format, the same for all commands that have it.
#ifndef SIDRA_SMI_FORMAT_OPTION_H
#define SIDRA_SMI_FORMAT_OPTION_H

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "report.h"

namespace sidra::smi_tool {

enum class Formats { kTextJson, kTextCsvJson };

inline void add_format(CLI::App& app, Format& format, Formats offered) {
    const std::string names = offered == Formats::kTextJson ? "text or json" : "text, csv or json";
    // Only names: CLI11 also accepts any number for an enum.
    const auto take = [&format, offered, names](const std::string& name) {
        for (const auto& [known, value] : kFormats)
            if (known == name && (value != Format::kCsv || offered == Formats::kTextCsvJson))
                return void(format = value);
        throw CLI::ValidationError("--format", fmt::format("'{}' is not supported here: use {}", name, names));
    };
    app.add_option_function<std::string>("--format", take, "output format: " + names)
        ->type_name("NAME")
        ->default_str("text");
}

}  // namespace sidra::smi_tool

#endif
