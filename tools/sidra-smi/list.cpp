// SPDX-License-Identifier: MIT
// list: chips with all their names.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>

#include "command.h"
#include "format_option.h"
#include "output.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

// Columns as wide as their contents.
std::string table(const std::vector<sidra_smi_chip*>& chips) {
    using Row = std::array<std::string, 6>;
    std::vector<Row> rows = {{"#", "kind", "name", "uuid", "where", "status"}};
    std::array<size_t, std::tuple_size_v<Row>> widths{};
    for (sidra_smi_chip* chip : chips) {
        const bool card = sidra_smi_kind_of(chip) == SIDRA_SMI_CARD;
        rows.push_back({to_text(value_of(chip, "index")), text_of(chip, "kind"),
                        card && !text_of(chip, "node").empty() ? text_of(chip, "node") : text_of(chip, "name"),
                        to_text(value_of(chip, "uuid")), to_text(value_of(chip, card ? "bdf" : "process")),
                        to_text(value_of(chip, "status"))});
    }
    for (const Row& row : rows)
        for (size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], row[column].size());
    std::string out;
    for (const Row& row : rows) {
        for (size_t column = 0; column + 1 < row.size(); ++column)
            out += fmt::format("{:<{}} ", row[column], widths[column]);
        out += row.back() + '\n';
    }
    return out;
}

sidra_smi_status list(Format format, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    const std::vector<sidra_smi_chip*> chips = session.select(context.selectors);
    const Report report{parse_fields("index,kind,name,node,bdf,uuid,pid,process,status,stale"), false};
    if (format == Format::kCsv) {
        print(csv_head(report, false) + csv_lines(report, chips, ""));
    } else if (format == Format::kJson) {
        print(json_report("list", report, chips).text() + '\n');
    } else {
        print(table(chips));
    }
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_list(CLI::App& app) {
    const auto format = std::make_shared<Format>(Format::kText);
    add_format(app, *format, Formats::kTextCsvJson);
    return [format](const Context& context) { return list(*format, context); };
}

}  // namespace sidra::smi_tool
