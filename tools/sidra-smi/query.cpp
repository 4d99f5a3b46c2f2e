// SPDX-License-Identifier: MIT
// query: prints fields once.
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

const char* metric_of(const sidra_smi_field& field) { return field.metric != nullptr ? field.metric : ""; }

std::string fields_text() {
    std::string out;
    const auto row = [&out](auto name, auto unit, auto role, auto metric, auto description) {
        out += fmt::format("{:<21} {:<4} {:<8} {:<36} {}\n", name, unit, role, metric, description);
    };
    row("field", "unit", "kind", "metric", "description");
    for (const bool debug : {false, true})
        for (uint32_t n = 0; n < sidra_smi_field_count(); ++n) {
            const sidra_smi_field& field = *sidra_smi_field_at(n);
            if (field.debug == debug)
                row(field.name, field.unit, kRoles[field.role], *metric_of(field) != 0 ? metric_of(field) : "-",
                    std::string(field.description) + (debug ? " (for debugging: not among all)" : ""));
        }
    return out;
}

tools::Json fields_json() {
    tools::Json::Array all;
    for (uint32_t n = 0; n < sidra_smi_field_count(); ++n) {
        const sidra_smi_field& field = *sidra_smi_field_at(n);
        all.emplace_back(
            tools::Json::Object{{"name", field.name},
                                {"unit", field.unit},
                                {"kind", kRoles[field.role]},
                                {"metric", field.metric != nullptr ? tools::Json(field.metric) : tools::Json()},
                                {"debug", field.debug},
                                {"description", field.description}});
    }
    tools::Json::Object whole = json_head("fields");
    whole.emplace_back("fields", all);
    return whole;
}

std::string fields_csv() {
    std::string out = "name,unit,kind,metric,debug,description\n";
    for (uint32_t n = 0; n < sidra_smi_field_count(); ++n) {
        const sidra_smi_field& field = *sidra_smi_field_at(n);
        out += fmt::format("{},{},{},{},{},{}\n", field.name, field.unit, kRoles[field.role], metric_of(field),
                           field.debug ? "yes" : "no", csv_field(field.description));
    }
    return out;
}

std::string fields(Format format) {
    switch (format) {
        case Format::kCsv:
            return fields_csv();
        case Format::kJson:
            return fields_json().text() + '\n';
        default:
            return fields_text();
    }
}

struct Options {
    std::string fields = "all";
    Format format = Format::kText;
    bool why = false, help_fields = false;
};

sidra_smi_status query(const Options& options, const Context& context) {
    if (options.help_fields) {
        print(fields(options.format));
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
            print(json_report("query", report, chips).text() + '\n');
            break;
    }
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_query(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("--fields", options->fields, "field names with commas; NAME.*, all and debug stand for several")
        ->default_str("all");
    add_format(app, options->format, Formats::kTextCsvJson);
    app.add_flag("--why", options->why, "say why values are absent");
    app.add_flag("--help-fields", options->help_fields, "list all fields with units, metrics and descriptions");
    return [options](const Context& context) { return query(*options, context); };
}

}  // namespace sidra::smi_tool
