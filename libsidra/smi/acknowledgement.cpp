// SPDX-License-Identifier: MIT
#include "acknowledgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "text.h"
#include "toml.h"

namespace sidra::smi {

std::vector<Acknowledgement> parse_acknowledgements(const std::string& text, std::string& error) {
    std::vector<Acknowledgement> all;
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
        error = fmt::format("line {}: {}", parsed.error().source().begin.line, clean(parsed.error().description()));
        return all;
    }
    const toml::array* const list = parsed.table()["acknowledged"].as_array();
    if (list == nullptr) return all;
    for (const toml::node& each : *list) {
        const toml::table* const table = each.as_table();
        if (table == nullptr) continue;
        const auto word = [table](const char* key) { return clean((*table)[key].value_or(std::string_view())); };
        const auto time = [table](const char* key) {
            return static_cast<uint64_t>(std::max<int64_t>((*table)[key].value_or<int64_t>(0), 0));
        };
        all.push_back({word("uuid"), word("check"),
                       word("severity") == "critical" ? SIDRA_SMI_CRITICAL : SIDRA_SMI_WARNING,
                       (*table)["measure"].value_or(0.0), time("time"), time("until"), word("by"), word("note")});
    }
    return all;
}

std::string acknowledgements_text(const std::vector<Acknowledgement>& all) {
    toml::array list;
    for (const Acknowledgement& each : all)
        list.push_back(toml::table{{"uuid", each.uuid},
                                   {"check", each.check},
                                   {"severity", each.severity == SIDRA_SMI_CRITICAL ? "critical" : "warning"},
                                   {"measure", each.measure},
                                   {"time", static_cast<int64_t>(each.time_s)},
                                   {"until", static_cast<int64_t>(each.until_s)},
                                   {"by", each.by},
                                   {"note", each.note}});
    std::ostringstream out;
    out << "# Written by sidra-smi health --acknowledge.\n" << toml::table{{"acknowledged", std::move(list)}} << '\n';
    return out.str();
}

}  // namespace sidra::smi
