// SPDX-License-Identifier: MIT
// list: every name of every chip.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "format_option.h"
#include "output.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

sidra_smi_status list(Format format, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    const std::vector<sidra_smi_chip*> chips = session.select(context.selectors);
    const Report report{parse_fields("index,kind,name,node,bdf,uuid,pid,process,status"), false};
    if (format == Format::kCsv) {
        print(csv_head(report, false) + csv_lines(report, chips, ""));
    } else if (format == Format::kJson) {
        print(json_report(report, chips).text() + '\n');
    } else {
        std::string out;
        for (sidra_smi_chip* chip : chips) {
            const bool card = sidra_smi_kind_of(chip) == SIDRA_SMI_CARD;
            const std::string where =
                card ? to_text(value_of(chip, "bdf"))
                     : fmt::format("{} {}", to_text(value_of(chip, "process")), to_text(value_of(chip, "pid")));
            out += fmt::format("{:<2} {:<5} {:<12} {:<36} {:<12} {}\n", to_text(value_of(chip, "index")),
                               text_of(chip, "kind"),
                               card && !text_of(chip, "node").empty() ? text_of(chip, "node") : text_of(chip, "name"),
                               to_text(value_of(chip, "uuid")), where, to_text(value_of(chip, "status")));
        }
        print(out);
    }
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_list(CLI::App& app) {
    const auto format = std::make_shared<Format>(Format::kText);
    add_format(app, *format);
    return [format](const Context& context) { return list(*format, context); };
}

}  // namespace sidra::smi_tool
