// SPDX-License-Identifier: MIT
// --format, the same with every command that has it.
#ifndef SIDRA_SMI_FORMAT_OPTION_H
#define SIDRA_SMI_FORMAT_OPTION_H

#include <CLI/CLI.hpp>

#include "report.h"

namespace sidra::smi_tool {

inline void add_format(CLI::App& app, Format& format) {
    app.add_option("--format", format, "text, csv or json")
        ->transform(CLI::Transformer(kFormats).description("NAME"))
        ->default_str("text");
}

}  // namespace sidra::smi_tool

#endif
