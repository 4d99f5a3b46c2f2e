// SPDX-License-Identifier: MIT
#include "metrics.h"

#include <cmath>
#include <set>
#include <vector>

#include "exposition.h"

namespace sidra::exporter {
namespace {

// Its status can be read.
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

// A card that is gone by the name it had, and here by another: its driver was loaded or unloaded meanwhile.
bool renamed(sidra_smi* session, sidra_smi_chip* gone) {
    const std::string bdf = sidra_smi_text_of(gone, "bdf");
    for (uint32_t i = 0; i < sidra_smi_count(session); ++i) {
        sidra_smi_chip* chip = sidra_smi_chip_at(session, i);
        if (!sidra_smi_gone(chip) && sidra_smi_text_of(chip, "bdf") == bdf) return true;
    }
    return false;
}

// Those that have something to say. Chips of one user's processes may have the same labels, if that is what these
// processes say: one of them is exported, since a text with a series twice is none.
std::vector<sidra_smi_chip*> chips_of(sidra_smi* session) {
    std::vector<sidra_smi_chip*> chips;
    std::set<Labels> seen;
    for (uint32_t i = 0; i < sidra_smi_count(session); ++i) {
        sidra_smi_chip* chip = sidra_smi_chip_at(session, i);
        // Processes come and go: each would leave a series behind for ever.
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

// A scale below one is a division by what it is one part of: so 1,000,000,000 ns are 1 s, and not nearly.
double scaled(double value, double scale) { return scale < 1 ? value / std::round(1 / scale) : value * scale; }

void add(Exposition& out, const Labels& labels, const sidra_smi_value& value, double scale) {
    // Exact, where a double is not.
    if (value.type == SIDRA_SMI_UINT && scale == 1) return out.sample(labels, value.u);
    double number = 0;
    if (sidra_smi_number_of(&value, &number)) out.sample(labels, scaled(number, scale));
}

}  // namespace

std::string metrics_text(sidra_smi* session) {
    const std::vector<sidra_smi_chip*> chips = chips_of(session);
    Exposition out;
    out.family("sidra_chips", "Chips that are here", "gauge");
    out.sample({}, count_here(session));
    out.family("sidra_chips_left_out", "Files of chips in processes that were not looked at: too many in one folder",
               "gauge");
    out.sample({}, sidra_smi_left_out(session));
    out.family("sidra_up", "1: the chip is here and its status can be read", "gauge");
    for (sidra_smi_chip* chip : chips) out.sample(labels_of(chip), uint64_t{up(chip)});
    out.family("sidra_info", "What the chip is, in labels", "gauge");
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
    for (uint32_t number = 0; number < sidra_smi_field_count(); ++number) {
        const sidra_smi_field* field = sidra_smi_field_at(number);
        if (field->metric == nullptr || field->role == SIDRA_SMI_RATE) continue;
        out.family(field->metric, field->description, field->role == SIDRA_SMI_COUNTER ? "counter" : "gauge");
        for (sidra_smi_chip* chip : chips)
            if (!sidra_smi_gone(chip)) add(out, labels_of(chip), sidra_smi_get(chip, number), field->metric_scale);
    }
    return out.text();
}

}  // namespace sidra::exporter
