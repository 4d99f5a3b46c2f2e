// SPDX-License-Identifier: MIT
#include "collect.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "common/user.h"

namespace sidra::top {
namespace {

std::optional<double> number(sidra_smi_chip* chip, const char* field) {
    const sidra_smi_value value = sidra_smi_get_by_name(chip, field);
    double found = 0;
    return sidra_smi_number_of(&value, &found) ? std::optional(found) : std::nullopt;
}

std::optional<uint64_t> bytes(sidra_smi_chip* chip, const char* field) {
    const sidra_smi_value value = sidra_smi_get_by_name(chip, field);
    return value.type == SIDRA_SMI_UINT ? std::optional(value.u) : std::nullopt;
}

// Limited, so that the product of three values cannot overflow, whatever was published.
uint32_t part(sidra_smi_chip* chip, const char* field) {
    const sidra_smi_value value = sidra_smi_get_by_name(chip, field);
    return value.type == SIDRA_SMI_UINT && value.u <= UINT16_MAX ? static_cast<uint32_t>(value.u) : 0;
}

}  // namespace

void collect(sidra_smi_chip* from, Chip& chip) {
    chip.gone = sidra_smi_gone(from);
    if (chip.gone) return;
    std::string name = sidra_smi_text_of(from, "name");
    if (sidra_smi_kind_of(from) == SIDRA_SMI_MODEL) name = "model " + name;
    // Another chip has replaced the one that is gone.
    if (name != chip.name) chip = Chip{};
    chip.name = std::move(name);
    chip.detail = sidra_smi_text_of(from, sidra_smi_kind_of(from) == SIDRA_SMI_MODEL ? "process" : "bdf");
    chip.state = sidra_smi_text_of(from, "status");
    constexpr const char* kFields[kSeries] = {"mvm.utilization",     "vec.utilization", "copy.utilization",
                                              "program.utilization", "power",           "temperature",
                                              "copy.rate",           "program.rate"};
    for (size_t i = 0; i < kSeries; ++i) chip.series[i].push(number(from, kFields[i]));
    chip.busy = number(from, "utilization");
    chip.clock = number(from, "clock");
    chip.clock_max = number(from, "clock.max");
    chip.l3_used = bytes(from, "l3.used");
    chip.l3_size = bytes(from, "l3.size");
    chip.firmware = sidra_smi_text_of(from, "version.firmware");
    chip.queues = number(from, "queues");
    chip.power_limit = number(from, "power.limit");
    chip.temperature_max = number(from, "temperature.max");
    chip.temperature_critical = number(from, "temperature.crit");
    chip.crossbars_used = number(from, "crossbars.programmed");
    chip.crossbars_total = number(from, "crossbars.total");
    chip.geometry = {part(from, "geometry.clusters"), part(from, "geometry.cus"), part(from, "geometry.crossbars")};
}

void collect_processes(sidra_smi_chip* from, Chip& chip) {
    const sidra_smi_client* clients = nullptr;
    uint32_t count = 0;
    const sidra_smi_status status = sidra_smi_clients(from, &clients, &count);
    chip.processes.clear();
    chip.processes_absent = status == SIDRA_SMI_OK ? "" : "cannot be listed";
    for (const sidra_smi_client& client : std::span(clients, status == SIDRA_SMI_OK ? count : 0)) {
        Process& process = chip.processes.emplace_back();
        process.pid = client.pid;
        process.user = tools::user_name(client.uid);
        process.name.assign(client.name, strnlen(client.name, sizeof client.name));
        if (client.memory != UINT64_MAX) process.memory = client.memory;
        for (size_t i = 0; i < kEngines; ++i)
            if (client.utilization[i] >= 0) process.use[i] = client.utilization[i];
    }
}

bool collect_crossbars(sidra_smi_chip* from, Chip& chip) {
    const sidra_smi_crossbar* crossbars = nullptr;
    uint32_t count = 0;
    const sidra_smi_status status = sidra_smi_crossbars(from, &crossbars, &count);
    chip.crossbars.clear();
    chip.crossbars_absent = status == SIDRA_SMI_OK ? "" : "the crossbars cannot be read";
    for (const sidra_smi_crossbar& one : std::span(crossbars, status == SIDRA_SMI_OK ? count : 0))
        chip.crossbars.push_back({static_cast<uint16_t>(one.owner != 0 ? one.rows : 0), one.programs, one.bad_cells});
    return status == SIDRA_SMI_OK;
}

}  // namespace sidra::top
