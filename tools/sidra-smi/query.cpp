// SPDX-License-Identifier: MIT
// query: values of fields, once.
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

constexpr const char* kRoles[] = {"static", "gauge", "counter", "rate"};

std::string fields_text() {
    std::string out;
    for (uint32_t n = 0; n < sidra_smi_field_count(); ++n) {
        const sidra_smi_field& field = *sidra_smi_field_at(n);
        out += fmt::format("{:<21} {:<4} {:<8} {}\n", field.name, field.unit, kRoles[field.role], field.description);
    }
    return out;
}

struct Options {
    std::string fields = "all";
    Format format = Format::kText;
    bool why = false, help_fields = false;
};

sidra_smi_status query(const Options& options, const Context& context) {
    if (options.help_fields) {
        print(fields_text());
        return SIDRA_SMI_OK;
    }
    const Report report{parse_fields(options.fields), options.why};
    Session session(context.root, context.runtime);
    session.refresh();
    const std::vector<sidra_smi_chip*> chips = session.select(context.selectors);
    switch (options.format) {
        case Format::kText:
            print(text_report(report, chips));
            break;
        case Format::kCsv:
            print(csv_head(report, false) + csv_lines(report, chips, ""));
            break;
        case Format::kJson:
            print(json_report(report, chips).text() + '\n');
            break;
    }
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_query(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--fields", options->fields, "names with commas between them; NAME.* and all stand for several")
        ->default_str("all");
    add_format(app, options->format);
    app.add_flag("--why", options->why, "say why values are absent");
    app.add_flag("--help-fields", options->help_fields, "list all fields with units and meanings");
    return [options](const Context& context) { return query(*options, context); };
}

}  // namespace sidra::smi_tool
