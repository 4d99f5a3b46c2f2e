// SPDX-License-Identifier: MIT
#include "processes.h"

#include <fmt/format.h>

#include <cerrno>

#include "common/units.h"
#include "common/user.h"
#include "report.h"
#include "session.h"

namespace sidra::smi_tool {
namespace {

std::string count_text(uint64_t count) { return count == UINT64_MAX ? "-" : fmt::format("{}", count); }
std::string percent_text(double percent) { return percent < 0 ? "-" : fmt::format("{:.0f}", percent); }

std::string line(sidra_smi_chip* chip, const sidra_smi_client& client) {
    return fmt::format("{:>3} {:>8} {:<8.8} {:<14.14} {:>8} {:>6} {:>7} {:>4} {:>4} {:>4} {:>4}\n",
                       to_text(value_of(chip, "index")), client.pid, tools::user_name(client.uid), client.name,
                       count_text(client.contexts), count_text(client.queues),
                       tools::bytes_text(client.memory == UINT64_MAX ? std::nullopt : std::optional(client.memory)),
                       percent_text(client.utilization[0]), percent_text(client.utilization[1]),
                       percent_text(client.utilization[2]), percent_text(client.utilization[3]));
}

}  // namespace

std::string processes_text(const std::vector<sidra_smi_chip*>& chips) {
    std::string out = "  #      pid user     process        contexts queues  memory mvm% vec% cpy% prg%\n";
    bool any = false, hidden = false;
    std::string unknown;
    for (sidra_smi_chip* chip : chips) {
        const sidra_smi_client* clients = nullptr;
        uint32_t count = 0;
        if (sidra_smi_clients(chip, &clients, &count) != SIDRA_SMI_OK)
            unknown += fmt::format("    the processes that use {} cannot be listed: {}\n", text_of(chip, "name"),
                                   why(chip, value_of(chip, "processes")));
        const sidra_smi_value stale = value_of(chip, "stale");
        if (stale.type == SIDRA_SMI_BOOL && stale.yes)
            unknown += fmt::format("    {} is stale: no data for {}\n", text_of(chip, "name"),
                                   tools::scaled(static_cast<double>(value_of(chip, "data.age").u), "s", -3));
        for (uint32_t n = 0; n < count; ++n) {
            any = true;
            hidden = hidden || clients[n].error == EACCES || clients[n].error == EPERM;
            out += line(chip, clients[n]);
        }
    }
    if (!any && unknown.empty()) out += "    no processes\n";
    if (hidden) out += "    only root can see the activity of other users' processes\n";
    return out + unknown;
}

}  // namespace sidra::smi_tool
