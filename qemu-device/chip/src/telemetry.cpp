// SPDX-License-Identifier: MIT
#include "telemetry.h"

#include <algorithm>
#include <atomic>

namespace sidra::chip {

sidra_telemetry Telemetry::collect() const {
    const auto get = [](const std::atomic<uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
    const Counters& counters = parts_.counters;
    const Array& array = parts_.array;
    const Management& management = parts_.management;
    sidra_telemetry t{};
    t.magic = SIDRA_TELEMETRY_MAGIC;
    t.version = SIDRA_TELEMETRY_VERSION;
    t.size = sizeof t;
    t.valid = SIDRA_TELEMETRY_HAS_COUNTERS;
    const Busy::Times busy = parts_.busy.read();
    t.clock_ns = parts_.clock.from_host(busy.host_clock_ns);
    t.busy_ns = busy.chip_ns;
    std::copy(busy.engine_ns.begin(), busy.engine_ns.end(), t.engine_ns);
    t.packets = get(counters.packets);
    t.call_packets = get(counters.call_packets);
    t.faults = get(counters.faults);
    for (const Counters::Doorbells& each : counters.doorbells) t.doorbells += get(each.count);
    parts_.objects.for_each_context([&](const Context& context) { t.contexts += context.loaded.load(); });
    t.arms = get(counters.arms);
    t.mmio_reads = get(counters.mmio_reads);
    t.mmio_writes = get(counters.mmio_writes) + t.doorbells;
    t.interrupts = get(counters.interrupts);
    t.mvms = get(counters.mvms);
    t.macs = get(counters.macs);
    t.vec_elements = get(counters.vec_elements);
    t.copy_bytes = get(counters.copy_bytes);
    t.programmed_cells = get(counters.programmed_cells);
    if (Analog* const analog = array.analog()) {
        const Analog::Counters& cells = analog->counters();
        t.programmed_cells += get(cells.mended);
        t.pulses = get(cells.pulses);
        t.reads = get(cells.reads);
        t.failed_cells = get(cells.failed);
        t.clipped = get(cells.clipped);
        t.spare_columns = analog->spare_columns();
    }
    t.stuck_cells = array.stuck_cell_count();
    t.calibrated_ns = get(counters.calibrated_ns);
    t.untrimmed_xbars = parts_.adcs.beyond();
    t.device_ps = get(counters.device_ps);
    t.energy_pj = get(counters.energy_pj);
    t.dma_errors = parts_.bus.errors.load(std::memory_order_relaxed);
    t.xbars_total = array.xbars();
    t.xbars_programmed = array.programmed_xbars();
    t.queues = parts_.loader.loaded_queues();
    management.read(SIDRA_REG_BOOT_REASON, &t.boot_reason);
    management.read(SIDRA_REG_HEARTBEAT, &t.heartbeat);
    management.read(SIDRA_REG_PANIC, &t.panic);
    const management::Power::Published published = management.published();
    t.valid |= published.valid;
    if (published.valid & SIDRA_TELEMETRY_HAS_THERMAL) t.temperature_mc = published.temperature_mc;
    if (published.valid & SIDRA_TELEMETRY_HAS_POWER) {
        t.power_mw = published.power_mw;
        t.clock_khz = published.clock_khz;
    }
    if (published.valid & SIDRA_TELEMETRY_HAS_LIMITS) {
        t.temperature_max_mc = published.temperature_max_mc;
        t.temperature_crit_mc = management::kPower.critical_mc;
        t.power_limit_mw = published.limit_mw;
        t.power_limit_min_mw = published.limit_min_mw;
        t.power_limit_max_mw = published.limit_max_mw;
        t.clock_max_khz = published.clock_max_khz;
        t.throttles = published.throttles;
    }
    return t;
}

}  // namespace sidra::chip
