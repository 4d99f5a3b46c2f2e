// SPDX-License-Identifier: MIT
// cdi: writes the file by which container runtimes give cards to containers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "cdi_document.h"
#include "command.h"
#include "common/output_file.h"
#include "output.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

sidra_smi_status cdi(const std::string& output, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    std::vector<CdiCard> cards;
    for (sidra_smi_chip* chip : session.select(context.selectors)) {
        if (sidra_smi_kind_of(chip) != SIDRA_SMI_CARD) continue;
        if (std::string node = text_of(chip, "node"); !node.empty())
            cards.push_back({std::move(node), text_of(chip, "uuid")});
    }
    if (cards.empty())
        throw Failure(SIDRA_SMI_NO_DEVICE, "no card has a node that a container could use (see sidra-smi doctor)");
    std::vector<std::string> left_out;
    const std::string text = cdi_document(cards, &left_out).text() + '\n';
    for (const std::string& node : left_out)
        say(fmt::format(
            "no device is named by the UUID of {}: another card has the same UUID, or it is not a valid CDI name",
            node));
    if (output.empty()) {
        print(text);
        return SIDRA_SMI_OK;
    }
    // Container runtimes read /etc/cdi and /run/cdi, which do not exist before the first file.
    const auto folder = std::filesystem::path(output).parent_path();
    if (folder.filename() == "cdi") tools::make_folder(folder);
    tools::write_file(output, text);
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_cdi(CLI::App& app) {
    const auto output = std::make_shared<std::string>();
    app.add_option("-o,--output", *output, "file to write atomically, such as /etc/cdi/sidra.json")
        ->default_str("standard output");
    return [output](const Context& context) { return cdi(*output, context); };
}

}  // namespace sidra::smi_tool
