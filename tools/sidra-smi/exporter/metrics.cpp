// SPDX-License-Identifier: MIT
#include "metrics.h"

#include <cmath>
#include <vector>

#include "exposition.h"

namespace sidra::exporter {
namespace {

sidra_smi_value get(sidra_smi_chip* chip, const char* field) {
    const int number = sidra_smi_field_find(field);
    return number >= 0 ? sidra_smi_get(chip, static_cast<uint32_t>(number)) : sidra_smi_value{};
}

std::string text(sidra_smi_chip* chip, const char* field) {
    const sidra_smi_value value = get(chip, field);
    return value.type == SIDRA_SMI_TEXT ? value.text : "";
}

// Its status can be read.
bool up(sidra_smi_chip* chip) { return !sidra_smi_gone(chip) && get(chip, "ready").type != SIDRA_SMI_NONE; }

Labels labels_of(sidra_smi_chip* chip) {
    return {{"device", text(chip, "name")}, {"bdf", text(chip, "bdf")}, {"uuid", text(chip, "uuid")}};
}

// A scale below one is a division by what it is one part of: so 1,000,000,000 ns are 1 s, and not nearly.
double scaled(double value, double scale) { return scale < 1 ? value / std::round(1 / scale) : value * scale; }

void add(Exposition& out, const Labels& labels, const sidra_smi_value& value, double scale) {
    switch (value.type) {
        case SIDRA_SMI_UINT:
            if (scale == 1) return out.sample(labels, value.u);
            return out.sample(labels, scaled(static_cast<double>(value.u), scale));
        case SIDRA_SMI_INT:
            return out.sample(labels, scaled(static_cast<double>(value.i), scale));
        case SIDRA_SMI_REAL:
            return out.sample(labels, scaled(value.real, scale));
        case SIDRA_SMI_BOOL:
            return out.sample(labels, uint64_t{value.yes});
        default:
            return;
    }
}

}  // namespace

std::string metrics_text(sidra_smi* session) {
    std::vector<sidra_smi_chip*> chips;
    uint64_t here = 0;
    for (uint32_t i = 0; i < sidra_smi_count(session); ++i) {
        sidra_smi_chip* chip = sidra_smi_chip_at(session, i);
        here += sidra_smi_gone(chip) ? 0 : 1;
        // Processes come and go: each would leave a series behind for ever.
        if (!sidra_smi_gone(chip) || sidra_smi_kind_of(chip) == SIDRA_SMI_CARD) chips.push_back(chip);
    }
    Exposition out;
    out.family("sidra_chips", "Chips that are here", "gauge");
    out.sample({}, here);
    out.family("sidra_up", "1: the chip is here and its status can be read", "gauge");
    for (sidra_smi_chip* chip : chips) out.sample(labels_of(chip), uint64_t{up(chip)});
    out.family("sidra_info", "What the chip is, in labels", "gauge");
    for (sidra_smi_chip* chip : chips) {
        if (sidra_smi_gone(chip)) continue;
        Labels labels = labels_of(chip);
        labels.insert(labels.end(), {{"kind", text(chip, "kind")},
                                     {"hardware", text(chip, "version.hardware")},
                                     {"driver", text(chip, "version.driver")},
                                     {"firmware", text(chip, "version.firmware")},
                                     {"level", text(chip, "level")},
                                     {"process", text(chip, "process")}});
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
