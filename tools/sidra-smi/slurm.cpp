// SPDX-License-Identifier: MIT
// slurm: the lines by which Slurm gives cards to jobs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "common/output_file.h"
#include "output.h"
#include "session.h"
#include "slurm_document.h"

namespace sidra::smi_tool {
namespace {

sidra_smi_status slurm(const std::string& output, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    std::vector<SlurmCard> cards;
    for (sidra_smi_chip* chip : session.select(context.selectors)) {
        if (sidra_smi_kind_of(chip) != SIDRA_SMI_CARD) continue;
        if (std::string node = text_of(chip, "node"); !node.empty())
            cards.push_back(
                {std::move(node), text_of(chip, "uuid"), text_of(chip, "numa.cpus"), text_of(chip, "pci.bridge")});
    }
    if (cards.empty())
        throw Failure(SIDRA_SMI_NO_DEVICE, "no card has a node that a job could use (see sidra-smi doctor)");
    const std::string text = slurm_document(cards, read_cores(context.root));
    if (output.empty()) print(text);
    else tools::write_file(output, text);
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_slurm(CLI::App& app) {
    const auto output = std::make_shared<std::string>();
    app.add_option("-o,--output", *output, "file to write atomically, such as /etc/slurm/gres.conf")
        ->default_str("standard output");
    return [output](const Context& context) { return slurm(*output, context); };
}

}  // namespace sidra::smi_tool
