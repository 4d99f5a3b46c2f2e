// SPDX-License-Identifier: MIT
// topo: the PCIe and NUMA topology of cards.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "command.h"
#include "format_option.h"
#include "output.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

sidra_smi_status topo(Format format, const Context& context) {
    Session session(context.root, context.runtime);
    session.refresh();
    std::vector<sidra_smi_chip*> chips = session.select(context.selectors);
    std::erase_if(chips, [](const sidra_smi_chip* chip) { return sidra_smi_kind_of(chip) != SIDRA_SMI_CARD; });
    if (chips.empty())
        throw Failure(SIDRA_SMI_NO_DEVICE, "no SIDRA card found; embedded models have no place in the topology");
    const Report report{
        parse_fields("index,name,bdf,pci.bridge,pci.speed,pci.speed.max,pci.width,pci.width.max,numa.node,numa.cpus"),
        false};
    if (format == Format::kCsv) {
        print(csv_head(report, false) + csv_lines(report, chips, ""));
    } else if (format == Format::kJson) {
        print(json_report("topo", report, chips).text() + '\n');
    } else {
        std::string out;
        for (sidra_smi_chip* chip : chips) {
            const auto text = [chip](const char* field) { return to_text(value_of(chip, field)); };
            out += fmt::format("{} {} {}\n  port        {}\n", text("index"), text("name"), text("bdf"),
                               text("pci.bridge"));
            out += fmt::format("  link        {} x{} (card supports {} x{})\n", text("pci.speed"), text("pci.width"),
                               text("pci.speed.max"), text("pci.width.max"));
            out += fmt::format("  NUMA node   {}\n  CPUs        {}\n", text("numa.node"), text("numa.cpus"));
        }
        print(out);
    }
    return SIDRA_SMI_OK;
}

}  // namespace

Run declare_topo(CLI::App& app) {
    const auto format = std::make_shared<Format>(Format::kText);
    add_format(app, *format, Formats::kTextCsvJson);
    return [format](const Context& context) { return topo(*format, context); };
}

}  // namespace sidra::smi_tool
