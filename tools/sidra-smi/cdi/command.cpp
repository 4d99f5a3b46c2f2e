// SPDX-License-Identifier: MIT
#include "cdi/command.h"

#include <fmt/format.h>

#include <vector>

#include "cdi/document.h"
#include "common/output_file.h"

namespace sidra::smi::cdi {
namespace {

std::string text(sidra_smi_chip* chip, const char* field) {
    const int number = sidra_smi_field_find(field);
    if (number < 0) return {};
    const sidra_smi_value value = sidra_smi_get(chip, static_cast<uint32_t>(number));
    return value.type == SIDRA_SMI_TEXT ? value.text : "";
}

}  // namespace

sidra_smi_status run(sidra_smi* session, const std::string& output) {
    if (const sidra_smi_status status = sidra_smi_refresh(session); status != SIDRA_SMI_OK) {
        fmt::print(stderr, "sidra-smi: {}\n", sidra_smi_error(session));
        return status;
    }
    std::vector<Card> cards;
    for (uint32_t i = 0; i < sidra_smi_count(session); ++i) {
        sidra_smi_chip* chip = sidra_smi_chip_at(session, i);
        if (sidra_smi_kind_of(chip) != SIDRA_SMI_CARD || sidra_smi_gone(chip)) continue;
        if (std::string node = text(chip, "node"); !node.empty())
            cards.push_back({std::move(node), text(chip, "uuid")});
    }
    if (cards.empty()) {
        fmt::print(stderr,
                   "sidra-smi: no card has a node that a container could be given; sidra-smi doctor says why\n");
        return SIDRA_SMI_NO_DEVICE;
    }
    std::vector<std::string> left_out;
    const std::string content = document(cards, &left_out).text() + "\n";
    for (const std::string& node : left_out)
        fmt::print(stderr,
                   "sidra-smi: the UUID of {} names no device there: another card has it, or CDI takes no such name\n",
                   node);
    if (output.empty()) fmt::print("{}", content);
    else tools::write_file(output, content);
    return SIDRA_SMI_OK;
}

}  // namespace sidra::smi::cdi
