// SPDX-License-Identifier: MIT
#include "metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <vector>

#include "exposition.h"

namespace sidra::exporter {
namespace {

constexpr Family kChips = {"sidra_chips", "Number of chips that are present.", "gauge"};
constexpr Family kLeftOut = {"sidra_chips_left_out",
                             "Number of embedded models that were skipped because their folder has too many files.",
                             "gauge"};
constexpr Family kUp = {"sidra_up", "Whether the chip is present and its status can be read.", "gauge"};
constexpr Family kInfo = {"sidra_info", "Versions and kind of the chip as labels; the value is always 1.", "gauge"};
constexpr Family kHealth = {
    "sidra_health_status", "Result of a health check by the health policy: 0 is ok, 1 a warning, 2 critical.", "gauge"};
constexpr Family kAcknowledged = {"sidra_health_acknowledged",
                                  "Whether a problem of a health check is acknowledged, and therefore ok.", "gauge"};

bool exported(const sidra_smi_field& field) { return field.metric != nullptr && field.role != SIDRA_SMI_RATE; }
Family family_of(const sidra_smi_field& field) {
    return {field.metric, field.description, field.role == SIDRA_SMI_COUNTER ? "counter" : "gauge"};
}

// Whether the status is known and up to date.
bool up(sidra_smi_chip* chip) {
    return !sidra_smi_gone(chip) && sidra_smi_get_by_name(chip, "ready").type != SIDRA_SMI_NONE;
}

Labels labels_of(sidra_smi_chip* chip) {
    const sidra_smi_value user = sidra_smi_get_by_name(chip, "uid");
    return {{"device", sidra_smi_text_of(chip, "name")},
            {"bdf", sidra_smi_text_of(chip, "bdf")},
            {"uuid", sidra_smi_text_of(chip, "uuid")},
            {"user", user.type == SIDRA_SMI_UINT ? std::to_string(user.u) : ""}};
}

// Whether a card is gone under its former name and present under another one, because its driver was loaded or
// unloaded.
bool renamed(sidra_smi* session, sidra_smi_chip* gone) {
    const std::string bdf = sidra_smi_text_of(gone, "bdf");
    for (uint32_t i = 0; i < sidra_smi_count(session); ++i) {
        sidra_smi_chip* chip = sidra_smi_chip_at(session, i);
        if (!sidra_smi_gone(chip) && sidra_smi_text_of(chip, "bdf") == bdf) return true;
    }
    return false;
}

// The chips to export. Chips of the processes of one user may have the same labels; only one of them is exported,
// because a text with duplicate series is invalid.
std::vector<sidra_smi_chip*> chips_of(sidra_smi* session) {
    std::vector<sidra_smi_chip*> chips;
    std::set<Labels> seen;
    for (uint32_t i = 0; i < sidra_smi_count(session); ++i) {
        sidra_smi_chip* chip = sidra_smi_chip_at(session, i);
        // Exclude ended processes: each would leave a series forever.
        if (sidra_smi_gone(chip) && (sidra_smi_kind_of(chip) != SIDRA_SMI_CARD || renamed(session, chip))) continue;
        if (seen.insert(labels_of(chip)).second) chips.push_back(chip);
    }
    return chips;
}

uint64_t count_here(sidra_smi* session) {
    uint64_t here = 0;
    for (uint32_t i = 0; i < sidra_smi_count(session); ++i) here += !sidra_smi_gone(sidra_smi_chip_at(session, i));
    return here;
}

// A scale below one is applied as a division, so that 1,000,000,000 ns are exactly 1 s.
double scaled(double value, double scale) { return scale < 1 ? value / std::round(1 / scale) : value * scale; }

void add(Exposition& out, const Labels& labels, const sidra_smi_value& value, double scale) {
    // Integers are exact; doubles are not.
    if (value.type == SIDRA_SMI_UINT && scale == 1) return out.sample(labels, value.u);
    double number = 0;
    if (sidra_smi_number_of(&value, &number)) out.sample(labels, scaled(number, scale));
}

// Both families list all chips and checks, so the findings are taken before.
void add_health(Exposition& out, const std::vector<sidra_smi_chip*>& chips) {
    struct Verdict {
        Labels labels;
        uint64_t severity;
        bool acknowledged;
    };
    std::vector<Verdict> verdicts;
    for (sidra_smi_chip* chip : chips) {
        if (sidra_smi_gone(chip)) continue;
        const sidra_smi_finding* findings = nullptr;
        uint32_t count = 0;
        sidra_smi_health(chip, nullptr, &findings, &count);  // without a policy it has no findings
        for (uint32_t n = 0; n < count; ++n) {
            Labels labels = labels_of(chip);
            labels.emplace_back("check", findings[n].check);
            const sidra_smi_status severity = findings[n].severity;
            verdicts.push_back({std::move(labels), severity == SIDRA_SMI_CRITICAL ? 2u : severity == SIDRA_SMI_WARNING,
                                sidra_smi_acknowledged(chip, findings[n].check, nullptr)});
        }
    }
    out.family(kHealth);
    for (const Verdict& verdict : verdicts) out.sample(verdict.labels, verdict.severity);
    out.family(kAcknowledged);
    for (const Verdict& verdict : verdicts) out.sample(verdict.labels, uint64_t{verdict.acknowledged});
}

}  // namespace

std::string metrics_text(sidra_smi* session) {
    const std::vector<sidra_smi_chip*> chips = chips_of(session);
    Exposition out;
    out.family(kChips);
    out.sample({}, count_here(session));
    out.family(kLeftOut);
    out.sample({}, sidra_smi_left_out(session));
    out.family(kUp);
    for (sidra_smi_chip* chip : chips) out.sample(labels_of(chip), uint64_t{up(chip)});
    out.family(kInfo);
    for (sidra_smi_chip* chip : chips) {
        if (sidra_smi_gone(chip)) continue;
        Labels labels = labels_of(chip);
        labels.insert(labels.end(), {{"kind", sidra_smi_text_of(chip, "kind")},
                                     {"hardware", sidra_smi_text_of(chip, "version.hardware")},
                                     {"driver", sidra_smi_text_of(chip, "version.driver")},
                                     {"firmware", sidra_smi_text_of(chip, "version.firmware")},
                                     {"level", sidra_smi_text_of(chip, "level")},
                                     {"process", sidra_smi_text_of(chip, "process")}});
        out.sample(labels, uint64_t{1});
    }
    add_health(out, chips);
    for (uint32_t number = 0; number < sidra_smi_field_count(); ++number) {
        const sidra_smi_field* field = sidra_smi_field_at(number);
        if (!exported(*field)) continue;
        out.family(family_of(*field));
        for (sidra_smi_chip* chip : chips)
            if (!sidra_smi_gone(chip)) add(out, labels_of(chip), sidra_smi_get(chip, number), field->metric_scale);
    }
    return out.text();
}

std::string help_text() {
    std::string out;
    const auto row = [&out](const Family& family) {
        out += fmt::format("{:<36} {:<8} {}\n", family.name, family.type, family.help);
    };
    for (const Family& family : {kChips, kLeftOut, kUp, kInfo, kHealth, kAcknowledged}) row(family);
    for (uint32_t number = 0; number < sidra_smi_field_count(); ++number)
        if (const sidra_smi_field* field = sidra_smi_field_at(number); exported(*field)) row(family_of(*field));
    return out;
}

}  // namespace sidra::exporter
