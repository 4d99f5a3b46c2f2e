// SPDX-License-Identifier: MIT
#include "report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "failure.h"
#include "session.h"
#include "units.h"

namespace sidra::smi_tool {

using tools::Json;

const std::vector<std::pair<std::string, Format>> kFormats = {
    {"text", Format::kText}, {"csv", Format::kCsv}, {"json", Format::kJson}};

std::vector<uint32_t> parse_fields(const std::string& names) {
    std::vector<uint32_t> fields;
    std::string_view rest = names;
    for (;;) {
        const std::string name(rest.substr(0, rest.find(',')));
        const bool all = name == "all", debug = name == "debug", group = all || debug || name.ends_with(".*");
        const std::string prefix = all || debug ? "" : name.substr(0, name.size() - group);
        bool found = false;
        for (uint32_t n = 0; n < sidra_smi_field_count(); ++n) {
            const std::string_view field = sidra_smi_field_at(n)->name;
            if (group ? !field.starts_with(prefix) : field != name) continue;
            if ((all || debug) && sidra_smi_field_at(n)->debug != debug) continue;
            found = true;
            if (std::find(fields.begin(), fields.end(), n) == fields.end()) fields.push_back(n);
        }
        if (!found)
            throw Failure(SIDRA_SMI_USAGE,
                          fmt::format("no such field: '{}' (see sidra-smi query --help-fields)", name));
        if (rest.find(',') == std::string_view::npos) return fields;
        rest.remove_prefix(rest.find(',') + 1);
    }
}

std::string to_text(const sidra_smi_value& value) {
    switch (value.type) {
        case SIDRA_SMI_UINT:
            return fmt::format("{}", value.u);
        case SIDRA_SMI_INT:
            return fmt::format("{}", value.i);
        case SIDRA_SMI_REAL:
            return fmt::format("{:.6g}", value.real);
        case SIDRA_SMI_TEXT:
            return value.text;
        case SIDRA_SMI_BOOL:
            return value.yes ? "yes" : "no";
        case SIDRA_SMI_NONE:
            break;
    }
    return "-";
}

Json to_json(const sidra_smi_value& value) {
    switch (value.type) {
        case SIDRA_SMI_UINT:
            return value.u;
        case SIDRA_SMI_INT:
            return value.i;
        case SIDRA_SMI_REAL:
            return value.real;
        case SIDRA_SMI_TEXT:
            return value.text;
        case SIDRA_SMI_BOOL:
            return value.yes;
        case SIDRA_SMI_NONE:
            break;
    }
    return {};
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
    quoted += '"';
    return quoted;
}

std::string why(sidra_smi_chip* chip, const sidra_smi_value& value) {
    const bool model = sidra_smi_kind_of(chip) == SIDRA_SMI_MODEL;
    switch (value.error) {
        case ENODATA:
            return model ? "not applicable: embedded model" : "not available";
        case ENOENT:
            return "not provided by this driver";
        case ENODEV:
            return "no driver is bound, or the chip is gone";
        case EAGAIN:
            return "needs two readings (sidra-smi watch)";
        case ESTALE:
            return "stale: the chip has not answered";
        default:
            return std::strerror(value.error);
    }
}

std::string time_text_ms(uint64_t milliseconds) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(milliseconds / 1000)),
                       milliseconds % 1000);
}

std::string time_text(uint64_t seconds) { return time_text_ms(seconds * 1000); }

std::string time_text() {
    const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
    return time_text_ms(static_cast<uint64_t>(now.time_since_epoch().count()));
}

Json::Object json_head(const char* command) {
    return {{"schema", "sidra-smi/1"}, {"command", command}, {"time", time_text()}};
}

std::string text_report(const Report& report, const std::vector<sidra_smi_chip*>& chips) {
    size_t width = 0;
    for (const uint32_t field : report.fields) width = std::max(width, std::strlen(sidra_smi_field_at(field)->name));
    std::string out;
    for (sidra_smi_chip* chip : chips) {
        out += fmt::format("{}{} ({})\n", out.empty() ? "" : "\n", text_of(chip, "name"), text_of(chip, "kind"));
        for (const uint32_t number : report.fields) {
            const sidra_smi_field* const field = sidra_smi_field_at(number);
            const sidra_smi_value value = sidra_smi_get(chip, number);
            const bool absent = value.type == SIDRA_SMI_NONE;
            out += fmt::format("  {:<{}}  {}", field->name, width, readable(*field, value));
            if (absent && report.why) out += fmt::format("  ({})", why(chip, value));
            out += '\n';
        }
    }
    return out;
}

std::string csv_head(const Report& report, bool time) {
    std::string out = time ? "time" : "";
    for (const uint32_t field : report.fields) {
        if (!out.empty()) out += ',';
        out += sidra_smi_field_at(field)->name;
    }
    out += report.why ? ",why\n" : "\n";
    return out;
}

std::string csv_lines(const Report& report, const std::vector<sidra_smi_chip*>& chips, const std::string& time) {
    std::string out;
    for (sidra_smi_chip* chip : chips) {
        std::string reasons, line = time;
        bool first = time.empty();
        for (const uint32_t field : report.fields) {
            const sidra_smi_value value = sidra_smi_get(chip, field);
            const bool absent = value.type == SIDRA_SMI_NONE;
            if (!first) line += ',';
            first = false;
            if (!absent) line += csv_field(to_text(value));
            if (absent)
                reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", sidra_smi_field_at(field)->name,
                                       why(chip, value));
        }
        out += line;
        if (report.why) out.append(",").append(csv_field(reasons));
        out += '\n';
    }
    return out;
}

Json json_report(const char* command, const Report& report, const std::vector<sidra_smi_chip*>& chips) {
    Json::Array all;
    for (sidra_smi_chip* chip : chips) {
        Json::Object object, reasons;
        for (const uint32_t field : report.fields) {
            const sidra_smi_value value = sidra_smi_get(chip, field);
            object.emplace_back(sidra_smi_field_at(field)->name, to_json(value));
            if (value.type == SIDRA_SMI_NONE) reasons.emplace_back(sidra_smi_field_at(field)->name, why(chip, value));
        }
        if (report.why) object.emplace_back("why", reasons);
        all.emplace_back(object);
    }
    Json::Object whole = json_head(command);
    whole.emplace_back("chips", all);
    return whole;
}

}  // namespace sidra::smi_tool
