// SPDX-License-Identifier: MIT
// The summary without a command: all chips and the processes that use them. At most 80 columns.
#include <fmt/format.h>

#include "command.h"
#include "common/units.h"
#include "output.h"
#include "processes.h"
#include "report.h"
#include "session.h"
#include "units.h"

namespace sidra::smi_tool {
namespace {

constexpr long kBetweenNs = 20'000'000;  // between the two readings for rates

std::string crossbars(sidra_smi_chip* chip) {
    return fmt::format("{}/{}", to_text(value_of(chip, "crossbars.programmed")),
                       to_text(value_of(chip, "crossbars.total")));
}

std::string power(sidra_smi_chip* chip) {
    const std::string limit = rounded(value_of(chip, "power.limit"), 0, "");
    return fmt::format("{}/{} W", rounded(value_of(chip, "power"), 1, ""), limit);
}

std::string bytes(const sidra_smi_value& value) {
    return tools::bytes_text(value.type == SIDRA_SMI_UINT ? std::optional(value.u) : std::nullopt);
}

std::string memory(sidra_smi_chip* chip) {
    return fmt::format("{}/{}", bytes(value_of(chip, "l3.used")), bytes(value_of(chip, "l3.size")));
}

std::string status(sidra_smi_chip* chip, bool colour) {
    const std::string text = to_text(value_of(chip, "status"));
    std::string padded = fmt::format("{:<10}", text);
    if (!colour || text == "-") return padded;
    const char* const code = text == "ready"                                                  ? "32"
                             : text == "throttled" || text == "booting" || text == "recovery" ? "33"
                                                                                              : "31";
    return fmt::format("\x1b[{}m{}\x1b[0m", code, padded);
}

}  // namespace

sidra_smi_status summary(const Context& context) {
    Session session(context.root, context.runtime);
    const std::vector<sidra_smi_chip*> chips = session.select_read_twice(context.selectors, kBetweenNs);
    const bool colour = colourful();
    std::string out = fmt::format("SIDRA {:>74}\n", time_text());
    out += "  # chip         status     firmware   temp       power busy crossbars L3 memory\n";
    for (sidra_smi_chip* chip : chips) {
        const bool model = sidra_smi_kind_of(chip) == SIDRA_SMI_MODEL;
        out +=
            fmt::format("{:>3} {:<12.12} {} {:<8.8} {:>6} {:>11} {:>4} {:>9} {:>9}\n", to_text(value_of(chip, "index")),
                        model ? "model " + to_text(value_of(chip, "pid")) : text_of(chip, "name"), status(chip, colour),
                        to_text(value_of(chip, "version.firmware")), rounded(value_of(chip, "temperature"), 1, "C"),
                        power(chip), rounded(value_of(chip, "utilization"), 0, "%"), crossbars(chip), memory(chip));
    }
    print(out + "\n" + processes_text(chips));
    return SIDRA_SMI_OK;
}

}  // namespace sidra::smi_tool
