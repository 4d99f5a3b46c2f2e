// SPDX-License-Identifier: MIT
#include "history.h"

#include <algorithm>
#include <sstream>

#include "file.h"
#include "toml.h"

namespace sidra::smi {
namespace {

constexpr size_t kFileLimit = 4 << 20;
constexpr size_t kGrowthsMost = 256;  // then neighbours are merged: an error may count for somewhat too long

uint64_t number(const toml::table& table, const char* key) {
    return static_cast<uint64_t>(std::max<int64_t>(table[key].value_or<int64_t>(0), 0));
}

Past past_of(const toml::table& table) {
    Past past;
    past.warning_since = number(table, "warning_since");
    past.critical_since = number(table, "critical_since");
    if (const toml::array* growths = table["growths"].as_array(); growths != nullptr)
        for (const toml::node& each : *growths)
            if (const toml::table* growth = each.as_table(); growth != nullptr)
                past.growths.push_back({number(*growth, "time"), number(*growth, "count")});
    return past;
}

toml::table table_of(const Past& past) {
    toml::array growths;
    for (const Growth& growth : past.growths)
        growths.push_back(
            toml::table{{"time", static_cast<int64_t>(growth.time_s)}, {"count", static_cast<int64_t>(growth.count)}});
    return toml::table{{"warning_since", static_cast<int64_t>(past.warning_since)},
                       {"critical_since", static_cast<int64_t>(past.critical_since)},
                       {"growths", std::move(growths)}};
}

// A clock that was set back must not make a problem last forever in the future.
void since(uint64_t& since_s, bool bad, uint64_t time_s) {
    if (!bad) since_s = 0;
    else if (since_s == 0 || since_s > time_s) since_s = time_s;
}

}  // namespace

sidra_smi_status Past::lasting(sidra_smi_status now, uint64_t time_s, uint64_t hold_s) {
    since(warning_since, now >= SIDRA_SMI_WARNING, time_s);
    since(critical_since, now >= SIDRA_SMI_CRITICAL, time_s);
    const auto lasts = [&](uint64_t since_s) { return since_s != 0 && time_s - since_s >= hold_s; };
    return lasts(critical_since) ? SIDRA_SMI_CRITICAL : lasts(warning_since) ? SIDRA_SMI_WARNING : SIDRA_SMI_OK;
}

uint64_t Past::lasted_s(uint64_t time_s) const { return warning_since == 0 ? 0 : time_s - warning_since; }

uint64_t Past::grown(uint64_t count, uint64_t time_s, uint64_t window_s) {
    uint64_t before = 0;
    for (const Growth& growth : growths) before += growth.count;
    if (count < before) growths.clear(), before = 0;  // the counter began again, at power-on
    if (count > before) growths.push_back({time_s, count - before});
    uint64_t sum = 0;
    for (Growth& growth : growths) {
        growth.time_s = std::min(growth.time_s, time_s);
        if (time_s - growth.time_s < window_s) sum += growth.count;
    }
    // The oldest ones are only a sum; and there are never many.
    while (growths.size() > 1 && (time_s - growths[1].time_s >= window_s || growths.size() > kGrowthsMost)) {
        growths[1].count += growths[0].count;
        growths.erase(growths.begin());
    }
    return sum;
}

Histories read_histories(const std::string& path) {
    Histories histories;
    const Maybe<std::string> text = read_file(path, kFileLimit);
    if (!text) return histories;
    const toml::parse_result parsed = toml::parse(text.value);
    if (!parsed) return histories;
    for (const auto& [uuid, value] : parsed.table()) {
        const toml::table* chip = value.as_table();
        if (chip == nullptr) continue;
        History& history = histories[std::string(uuid.str())];
        history.seen_s = number(*chip, "seen");
        for (const auto& [check, past] : *chip)
            if (const toml::table* table = past.as_table(); table != nullptr)
                history.checks[std::string(check.str())] = past_of(*table);
    }
    return histories;
}

std::string histories_text(const Histories& histories) {
    toml::table whole;
    for (const auto& [uuid, history] : histories) {
        toml::table chip{{"seen", static_cast<int64_t>(history.seen_s)}};
        for (const auto& [check, past] : history.checks)
            if (!past.empty()) chip.insert_or_assign(check, table_of(past));
        if (chip.size() > 1) whole.insert_or_assign(uuid, std::move(chip));
    }
    std::ostringstream out;
    out << "# Written by sidra-smi health.\n" << whole << '\n';
    return out.str();
}

}  // namespace sidra::smi
