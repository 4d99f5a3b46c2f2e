// SPDX-License-Identifier: MIT
// Everything that can be asked about a chip: names, units and meanings have their home in the table below.
#include <cstring>
#include <iterator>

#include "chip.h"
#include "file.h"
#include "rates.h"

namespace sidra::smi {
namespace {

using Chip = sidra_smi_chip;
using Value = sidra_smi_value;
using Page = sidra_telemetry;

// ---- Values of C
// --------------------------------------------------------------------------------------------------------

Value none(int error) {
    Value value = {};
    value.error = error;
    return value;
}

Value number(uint64_t u) {
    Value value = {};
    value.type = SIDRA_SMI_UINT;
    value.u = u;
    return value;
}

Value real(double r) {
    Value value = {};
    value.type = SIDRA_SMI_REAL;
    value.real = r;
    return value;
}

Value text(const char* t) {
    Value value = {};
    value.type = SIDRA_SMI_TEXT;
    value.text = t;
    return value;
}

Value yes_no(bool yes) {
    Value value = {};
    value.type = SIDRA_SMI_BOOL;
    value.yes = yes;
    return value;
}

Value of(const Maybe<uint64_t>& maybe) { return maybe ? number(maybe.value) : none(maybe.error); }
Value of(const Maybe<std::string>& maybe) { return maybe ? text(maybe.value.c_str()) : none(maybe.error); }
Value of(const Maybe<bool>& maybe) { return maybe ? yes_no(maybe.value) : none(maybe.error); }
Value of(const Maybe<int64_t>& maybe) {
    if (!maybe) return none(maybe.error);
    Value value = {};
    value.type = SIDRA_SMI_INT;
    value.i = maybe.value;
    return value;
}

// A chip without a driver has no telemetry to be read.
int why(const Chip& chip) {
    if (chip.card != nullptr && chip.card->node().empty()) return ENODEV;
    return chip.now.telemetry.error;
}

template <auto Member>
Value sampled(const Chip& chip) {
    return of(chip.now.*Member);
}

// ---- Telemetry
// ---------------------------------------------------------------------------------------------------------

constexpr uint64_t kSince12 = 1ull << 63;  // beside SIDRA_TELEMETRY_HAS_*: what 1.2 has brought

template <uint64_t Needs>
int missing(const Chip& chip) {
    const Maybe<Telemetry>& telemetry = chip.now.telemetry;
    if (!telemetry) return why(chip);
    if ((Needs & kSince12) != 0 && !telemetry.value.since_1_2) return ENODATA;
    const uint64_t bits = Needs & ~kSince12;
    return (telemetry.value.page.valid & bits) == bits ? 0 : ENODATA;
}

template <auto Member, uint64_t Needs>
Value counter(const Chip& chip) {
    if (const int error = missing<Needs>(chip); error != 0) return none(error);
    return number(chip.now.telemetry.value.page.*Member);
}

template <auto Member, uint64_t Needs, int Divisor>
Value scaled(const Chip& chip) {
    if (const int error = missing<Needs>(chip); error != 0) return none(error);
    return real(static_cast<double>(chip.now.telemetry.value.page.*Member) / Divisor);
}

template <int Engine>
Value engine_time(const Chip& chip) {
    if (const int error = missing<SIDRA_TELEMETRY_HAS_COUNTERS | kSince12>(chip); error != 0) return none(error);
    return number(chip.now.telemetry.value.page.engine_ns[Engine]);
}

// ---- Rates
// -------------------------------------------------------------------------------------------------------------

// By how much a counter grew, of each second of the chip's clock.
template <typename Get>
Value grown(const Chip& chip, double scale, const Get& get) {
    if (!chip.now.telemetry) return none(why(chip));
    const Maybe<double> found = rate(chip, scale, get);
    return found ? real(found.value) : none(found.error);
}

template <auto Member>
Value per_second(const Chip& chip) {
    if (const int error = missing<SIDRA_TELEMETRY_HAS_COUNTERS>(chip); error != 0) return none(error);
    return grown(chip, 1e9, [](const Page& page) { return page.*Member; });
}

Value utilization(const Chip& chip) {
    if (const int error = missing<SIDRA_TELEMETRY_HAS_COUNTERS>(chip); error != 0) return none(error);
    return grown(chip, 100, [](const Page& page) { return page.busy_ns; });
}

template <int Engine>
Value engine_utilization(const Chip& chip) {
    if (const int error = missing<SIDRA_TELEMETRY_HAS_COUNTERS | kSince12>(chip); error != 0) return none(error);
    return grown(chip, 100, [](const Page& page) { return page.engine_ns[Engine]; });
}

// ---- Identity and status
// -----------------------------------------------------------------------------------------------

template <uint32_t Bit>
Value status_bit(const Chip& chip) {
    if (const int error = missing<kSince12>(chip); error != 0) return none(error);
    return yes_no((chip.now.telemetry.value.page.status & Bit) != 0);
}

const char* stage_name(uint32_t status) {
    switch (status & SIDRA_STATUS_STAGE_MASK) {
        case SIDRA_STAGE_RESET:
            return "reset";
        case SIDRA_STAGE_ROM:
            return "rom";
        case SIDRA_STAGE_VERIFY:
            return "verify";
        case SIDRA_STAGE_CALIBRATE:
            return "calibrate";
        case SIDRA_STAGE_RECOVERY:
            return "recovery";
        case SIDRA_STAGE_RUNTIME:
            return "runtime";
        case SIDRA_STAGE_PANIC:
            return "panic";
        default:
            return nullptr;
    }
}

Value stage(const Chip& chip) {
    if (const int error = missing<kSince12>(chip); error != 0) return none(error);
    const char* const name = stage_name(chip.now.telemetry.value.page.status);
    return name != nullptr ? text(name) : none(EPROTO);
}

Value boot_reason(const Chip& chip) {
    if (const int error = missing<kSince12>(chip); error != 0) return none(error);
    constexpr const char* kNames[] = {"power-on", "reset", "watchdog", "panic", "update"};
    const uint32_t reason = chip.now.telemetry.value.page.boot_reason;
    return reason < std::size(kNames) ? text(kNames[reason]) : none(EPROTO);
}

Value status(const Chip& chip) {
    if (chip.gone) return text("lost");
    if (chip.card != nullptr && chip.card->node().empty()) return text("no-driver");
    if (chip.hung) return text("no-answer");
    if (!chip.now.telemetry)
        return chip.now.telemetry.error == ENODEV || chip.now.telemetry.error == EIO ? text("lost") : none(why(chip));
    if (!chip.now.telemetry.value.since_1_2) return none(ENODATA);
    const uint32_t bits = chip.now.telemetry.value.page.status;
    if ((bits & SIDRA_STATUS_FATAL) != 0) return text("fatal");
    switch (bits & SIDRA_STATUS_STAGE_MASK) {
        case SIDRA_STAGE_PANIC:
            return text("panic");
        case SIDRA_STAGE_RECOVERY:
            return text((bits & SIDRA_STATUS_READY) != 0 ? "recovery" : "fatal");
        case SIDRA_STAGE_RUNTIME:
            break;
        default:
            return text((bits & SIDRA_STATUS_READY) != 0 ? "ready" : "booting");
    }
    if ((bits & SIDRA_STATUS_THROTTLED) != 0) return text("throttled");
    return text((bits & SIDRA_STATUS_READY) != 0 ? "ready" : "booting");
}

Value index(const Chip& chip) { return number(chip.index); }
Value kind(const Chip& chip) { return text(chip.kind == SIDRA_SMI_MODEL ? "model" : "card"); }
Value name(const Chip& chip) { return text(chip.name.c_str()); }

Value node(const Chip& chip) {
    if (chip.card == nullptr) return none(ENODATA);
    return chip.card->node().empty() ? none(ENODEV) : text(chip.card->device().c_str());
}

Value bdf(const Chip& chip) {
    if (chip.card == nullptr) return none(ENODATA);
    return chip.card->bdf().empty() ? none(ENODEV) : text(chip.card->bdf().c_str());
}

Value data_age(const Chip& chip) {
    if (chip.now.read_ns == 0) return none(why(chip));
    return number(now_ns() - chip.now.data_ns);
}

Value heartbeat_age(const Chip& chip) {
    if (const int error = missing<kSince12>(chip); error != 0) return none(error);
    if ((chip.now.telemetry.value.page.status & SIDRA_STATUS_FIRMWARE_ALIVE) == 0) return none(ENODATA);
    if (!chip.heartbeat_moved_ns) return none(EAGAIN);
    return number(chip.now.read_ns - chip.heartbeat_moved_ns.value);
}

Value calibration_age(const Chip& chip) {
    if (const int error = missing<SIDRA_TELEMETRY_HAS_COUNTERS | kSince12>(chip); error != 0) return none(error);
    const Page& page = chip.now.telemetry.value.page;
    if (page.calibrated_ns == 0 || page.calibrated_ns > page.clock_ns) return none(ENODATA);
    return number(page.clock_ns - page.calibrated_ns);
}

Value processes(const Chip& chip) {
    return chip.now.clients_error == 0 ? number(chip.now.clients.size()) : none(chip.now.clients_error);
}

// ---- The table
// -----------------------------------------------------------------------------------------------------------

struct Row {
    sidra_smi_field field;
    Value (*get)(const Chip& chip);
};

constexpr uint64_t kCounters = SIDRA_TELEMETRY_HAS_COUNTERS, kThermal = SIDRA_TELEMETRY_HAS_THERMAL,
                   kPower = SIDRA_TELEMETRY_HAS_POWER, kLimits = SIDRA_TELEMETRY_HAS_LIMITS | kSince12,
                   kCounters12 = kCounters | kSince12;
constexpr auto kUint = SIDRA_SMI_UINT;
constexpr auto kInt = SIDRA_SMI_INT;
constexpr auto kReal = SIDRA_SMI_REAL;
constexpr auto kText = SIDRA_SMI_TEXT;
constexpr auto kBool = SIDRA_SMI_BOOL;
constexpr auto kStatic = SIDRA_SMI_STATIC;
constexpr auto kGauge = SIDRA_SMI_GAUGE;
constexpr auto kCounter = SIDRA_SMI_COUNTER;
constexpr auto kRate = SIDRA_SMI_RATE;

// clang-format off
constexpr Row kRows[] = {
    {{"index", "", kUint, kStatic, "number of the chip in this list", nullptr, 1}, index},
    {{"kind", "", kText, kStatic, "card (PCIe), or model (embedded in a process)", nullptr, 1}, kind},
    {{"name", "", kText, kStatic, "sidra0, a BDF without a driver, PID-N of a model", nullptr, 1}, name},
    {{"node", "", kText, kStatic, "device node", nullptr, 1}, node},
    {{"bdf", "", kText, kStatic, "PCI domain, bus, device and function", nullptr, 1}, bdf},
    {{"uuid", "", kText, kStatic, "identity of the chip, wherever it is plugged in", nullptr, 1}, sampled<&Sample::uuid>},
    {{"pid", "", kUint, kStatic, "process that a model lives in", nullptr, 1}, sampled<&Sample::pid>},
    {{"process", "", kText, kStatic, "name of that process", nullptr, 1}, sampled<&Sample::process>},
    {{"uid", "", kUint, kStatic, "user of that process", nullptr, 1}, sampled<&Sample::uid>},
    {{"level", "", kText, kStatic, "of a model: fast (exact), or accurate (cells, wires, converters)", nullptr, 1}, sampled<&Sample::level>},
    {{"persistent", "", kBool, kStatic, "of a model: cells and names outlive the process, in a file", nullptr, 1}, sampled<&Sample::persistent>},
    {{"version.hardware", "", kText, kStatic, "interface that the chip implements", nullptr, 1}, sampled<&Sample::hardware>},
    {{"version.driver", "", kText, kGauge, "of the driver; of a model, of its libsidra", nullptr, 1}, sampled<&Sample::driver>},
    {{"version.firmware", "", kText, kGauge, "of the firmware that runs; none: the boot block alone", nullptr, 1}, sampled<&Sample::firmware>},
    {{"features", "", kUint, kStatic, "bits of what the chip has", nullptr, 1}, sampled<&Sample::features>},
    {{"geometry.clusters", "", kUint, kStatic, "clusters of the chip", nullptr, 1}, sampled<&Sample::clusters>},
    {{"geometry.cus", "", kUint, kStatic, "compute units in each cluster", nullptr, 1}, sampled<&Sample::cus_per_cluster>},
    {{"geometry.crossbars", "", kUint, kStatic, "crossbars in each compute unit", nullptr, 1}, sampled<&Sample::xbars_per_cu>},

    {{"status", "", kText, kGauge, "ready, throttled, booting, recovery, panic, fatal, lost, no-driver, no-answer", nullptr, 1}, status},
    {{"stage", "", kText, kGauge, "of its boot: reset, rom, verify, calibrate, recovery, runtime, panic", nullptr, 1}, stage},
    {{"ready", "", kBool, kGauge, "queues may run", "sidra_ready", 1}, status_bit<SIDRA_STATUS_READY>},
    {{"fatal", "", kBool, kGauge, "only a reset helps", "sidra_fatal", 1}, status_bit<SIDRA_STATUS_FATAL>},
    {{"stopped", "", kBool, kGauge, "the driver has stopped all queues", "sidra_stopped", 1}, status_bit<SIDRA_STATUS_STOPPED>},
    {{"throttled", "", kBool, kGauge, "the clock is down, since it is too hot or needs too much power", "sidra_throttled", 1}, status_bit<SIDRA_STATUS_THROTTLED>},
    {{"firmware.alive", "", kBool, kGauge, "the firmware runs", "sidra_firmware_alive", 1}, status_bit<SIDRA_STATUS_FIRMWARE_ALIVE>},
    {{"firmware.panic", "", kUint, kGauge, "code of its panic, 0: none", "sidra_firmware_panic_code", 1}, counter<&Page::panic, kSince12>},
    {{"boot.reason", "", kText, kGauge, "power-on, reset, watchdog, panic, update", nullptr, 1}, boot_reason},
    {{"generation", "", kUint, kGauge, "of the chip: one more with each reset", "sidra_generation", 1}, sampled<&Sample::generation>},
    {{"resets", "", kUint, kCounter, "resets by the driver, since it was bound", "sidra_resets_total", 1}, sampled<&Sample::resets>},
    {{"heartbeat", "", kUint, kGauge, "rounds of the firmware's loop", nullptr, 1}, counter<&Page::heartbeat, kSince12>},
    {{"heartbeat.age", "ns", kUint, kGauge, "since the heartbeat moved, as far as was watched", "sidra_heartbeat_age_seconds", 1e-9}, heartbeat_age},
    {{"data.age", "ns", kUint, kGauge, "of what is shown here", "sidra_data_age_seconds", 1e-9}, data_age},
    {{"clock.device", "ns", kUint, kCounter, "clock of the chip", "sidra_device_clock_seconds_total", 1e-9}, counter<&Page::clock_ns, kCounters>},

    {{"temperature", "C", kReal, kGauge, "of the chip", "sidra_temperature_celsius", 1}, scaled<&Page::temperature_mc, kThermal, 1000>},
    {{"temperature.max", "C", kReal, kGauge, "the clock is taken down from here on", "sidra_temperature_max_celsius", 1}, scaled<&Page::temperature_max_mc, kLimits, 1000>},
    {{"temperature.crit", "C", kReal, kGauge, "the chip stops by itself here", "sidra_temperature_crit_celsius", 1}, scaled<&Page::temperature_crit_mc, kLimits, 1000>},
    {{"power", "W", kReal, kGauge, "that it takes", "sidra_power_watts", 1}, scaled<&Page::power_mw, kPower, 1000>},
    {{"power.limit", "W", kReal, kGauge, "in force", "sidra_power_limit_watts", 1}, scaled<&Page::power_limit_mw, kLimits, 1000>},
    {{"power.limit.min", "W", kReal, kGauge, "the lowest limit that can be set", "sidra_power_limit_min_watts", 1}, scaled<&Page::power_limit_min_mw, kLimits, 1000>},
    {{"power.limit.max", "W", kReal, kGauge, "the highest limit that can be set", "sidra_power_limit_max_watts", 1}, scaled<&Page::power_limit_max_mw, kLimits, 1000>},
    {{"clock", "MHz", kReal, kGauge, "of the compute units", "sidra_clock_hertz", 1e6}, scaled<&Page::clock_khz, kPower, 1000>},
    {{"clock.max", "MHz", kReal, kGauge, "at the highest level", "sidra_clock_max_hertz", 1e6}, scaled<&Page::clock_max_khz, kLimits, 1000>},
    {{"throttles", "", kUint, kCounter, "how often the clock was taken down", "sidra_throttles_total", 1}, counter<&Page::throttles, kLimits>},

    {{"utilization", "%", kReal, kRate, "time in which at least one engine worked", nullptr, 1}, utilization},
    {{"mvm.utilization", "%", kReal, kRate, "time of matrix products; of queues that run at once it adds up", nullptr, 1}, engine_utilization<SIDRA_HW_ENGINE_MVM>},
    {{"vec.utilization", "%", kReal, kRate, "the same of the vector units", nullptr, 1}, engine_utilization<SIDRA_HW_ENGINE_VEC>},
    {{"copy.utilization", "%", kReal, kRate, "the same of copies", nullptr, 1}, engine_utilization<SIDRA_HW_ENGINE_COPY>},
    {{"program.utilization", "%", kReal, kRate, "the same of programming and reading back", nullptr, 1}, engine_utilization<SIDRA_HW_ENGINE_PROGRAM>},
    {{"packets.rate", "1/s", kReal, kRate, "packets retired", nullptr, 1}, per_second<&Page::packets>},
    {{"macs.rate", "1/s", kReal, kRate, "multiply-accumulates", nullptr, 1}, per_second<&Page::macs>},
    {{"copy.rate", "B/s", kReal, kRate, "bytes copied", nullptr, 1}, per_second<&Page::copy_bytes>},
    {{"program.rate", "1/s", kReal, kRate, "cells programmed", nullptr, 1}, per_second<&Page::programmed_cells>},

    {{"busy.time", "ns", kUint, kCounter, "in which at least one engine worked", "sidra_busy_seconds_total", 1e-9}, counter<&Page::busy_ns, kCounters>},
    {{"mvm.time", "ns", kUint, kCounter, "of matrix products, all queues together", "sidra_mvm_seconds_total", 1e-9}, engine_time<SIDRA_HW_ENGINE_MVM>},
    {{"vec.time", "ns", kUint, kCounter, "of the vector units, all queues together", "sidra_vec_seconds_total", 1e-9}, engine_time<SIDRA_HW_ENGINE_VEC>},
    {{"copy.time", "ns", kUint, kCounter, "of copies, all queues together", "sidra_copy_seconds_total", 1e-9}, engine_time<SIDRA_HW_ENGINE_COPY>},
    {{"program.time", "ns", kUint, kCounter, "of programming and reading back, all queues together", "sidra_program_seconds_total", 1e-9}, engine_time<SIDRA_HW_ENGINE_PROGRAM>},
    {{"packets", "", kUint, kCounter, "retired packets of rings", "sidra_packets_total", 1}, counter<&Page::packets, kCounters>},
    {{"packets.called", "", kUint, kCounter, "packets inside of CALLs", "sidra_called_packets_total", 1}, counter<&Page::call_packets, kCounters>},
    {{"faults", "", kUint, kCounter, "queues that stopped with a fault", "sidra_faults_total", 1}, counter<&Page::faults, kCounters>},
    {{"dma.errors", "", kUint, kCounter, "transfers that the host refused", "sidra_dma_errors_total", 1}, counter<&Page::dma_errors, kCounters>},
    {{"doorbells", "", kUint, kCounter, "rung", "sidra_doorbells_total", 1}, counter<&Page::doorbells, kCounters>},
    {{"arms", "", kUint, kCounter, "interrupts that were asked for", "sidra_arms_total", 1}, counter<&Page::arms, kCounters>},
    {{"interrupts", "", kUint, kCounter, "MSI-X messages", "sidra_interrupts_total", 1}, counter<&Page::interrupts, kCounters>},
    {{"mmio.reads", "", kUint, kCounter, "reads of registers", "sidra_mmio_reads_total", 1}, counter<&Page::mmio_reads, kCounters>},
    {{"mmio.writes", "", kUint, kCounter, "writes of registers, doorbells among them", "sidra_mmio_writes_total", 1}, counter<&Page::mmio_writes, kCounters>},
    {{"mvms", "", kUint, kCounter, "vectors that went through a crossbar", "sidra_mvms_total", 1}, counter<&Page::mvms, kCounters>},
    {{"macs", "", kUint, kCounter, "multiply-accumulates of cells in use", "sidra_macs_total", 1}, counter<&Page::macs, kCounters>},
    {{"vec.elements", "", kUint, kCounter, "elements that went through vector units", "sidra_vec_elements_total", 1}, counter<&Page::vec_elements, kCounters>},
    {{"copy.bytes", "B", kUint, kCounter, "copied", "sidra_copied_bytes_total", 1}, counter<&Page::copy_bytes, kCounters>},
    {{"program.cells", "", kUint, kCounter, "cells programmed", "sidra_programmed_cells_total", 1}, counter<&Page::programmed_cells, kCounters>},
    {{"program.pulses", "", kUint, kCounter, "pulses that cells got", "sidra_program_pulses_total", 1}, counter<&Page::pulses, kCounters12>},
    {{"program.reads", "", kUint, kCounter, "reads between pulses", "sidra_program_reads_total", 1}, counter<&Page::reads, kCounters12>},
    {{"program.failed", "", kUint, kCounter, "cells that did not arrive where they should", "sidra_program_failed_cells_total", 1}, counter<&Page::failed_cells, kCounters12>},
    {{"clipped", "", kUint, kCounter, "sums that were out of the converters' range", "sidra_clipped_sums_total", 1}, counter<&Page::clipped, kCounters12>},
    {{"device_time", "ps", kUint, kCounter, "that the work would take on silicon", "sidra_modelled_seconds_total", 1e-12}, counter<&Page::device_ps, kCounters>},
    {{"energy", "pJ", kUint, kCounter, "that the work would take on silicon", "sidra_modelled_joules_total", 1e-12}, counter<&Page::energy_pj, kCounters>},

    {{"crossbars.total", "", kUint, kStatic, "crossbars", "sidra_crossbars", 1}, counter<&Page::xbars_total, kCounters>},
    {{"crossbars.programmed", "", kUint, kGauge, "crossbars that hold weights", "sidra_crossbars_programmed", 1}, counter<&Page::xbars_programmed, kCounters>},
    {{"cells.stuck", "", kUint, kGauge, "cells that are known not to follow", "sidra_stuck_cells", 1}, counter<&Page::stuck_cells, kCounters12>},
    {{"columns.spare", "", kUint, kGauge, "columns that another one stands in for", "sidra_replaced_columns", 1}, counter<&Page::spare_columns, kCounters12>},
    {{"crossbars.untrimmed", "", kUint, kGauge, "crossbars whose converters are off by more than calibration takes away", "sidra_untrimmed_crossbars", 1}, counter<&Page::untrimmed_xbars, kCounters12>},
    {{"calibration.age", "ns", kUint, kGauge, "since converters were calibrated", "sidra_calibration_age_seconds", 1e-9}, calibration_age},
    {{"l3.size", "B", kUint, kStatic, "memory on the chip", "sidra_l3_size_bytes", 1}, sampled<&Sample::l3_size>},
    {{"l3.used", "B", kUint, kGauge, "of it in use", "sidra_l3_used_bytes", 1}, sampled<&Sample::l3_used>},
    {{"nvm.size", "B", kUint, kStatic, "memory for named weights", "sidra_nvm_size_bytes", 1}, sampled<&Sample::nvm_size>},
    {{"memory.host", "B", kUint, kGauge, "of a model's process: what the chip may reach", "sidra_host_memory_bytes", 1}, sampled<&Sample::memory>},
    {{"contexts", "", kUint, kGauge, "loaded", "sidra_contexts", 1}, counter<&Page::contexts, kCounters>},
    {{"queues", "", kUint, kGauge, "loaded", "sidra_queues", 1}, counter<&Page::queues, kCounters>},
    {{"processes", "", kUint, kGauge, "open files of the node; 1 with a model", "sidra_processes", 1}, processes},

    {{"pci.speed", "", kText, kGauge, "of the link", nullptr, 1}, sampled<&Sample::link_speed>},
    {{"pci.speed.max", "", kText, kStatic, "that the card can have", nullptr, 1}, sampled<&Sample::link_speed_max>},
    {{"pci.width", "", kUint, kGauge, "lanes of the link", "sidra_pci_lanes", 1}, sampled<&Sample::link_width>},
    {{"pci.width.max", "", kUint, kStatic, "lanes that the card can have", nullptr, 1}, sampled<&Sample::link_width_max>},
    {{"pci.bridge", "", kText, kStatic, "port that the card is behind", nullptr, 1}, sampled<&Sample::bridge>},
    {{"numa.node", "", kInt, kStatic, "memory that is near", nullptr, 1}, sampled<&Sample::numa_node>},
    {{"numa.cpus", "", kText, kStatic, "CPUs that are near", nullptr, 1}, sampled<&Sample::cpus>},
};
// clang-format on

}  // namespace
}  // namespace sidra::smi

using namespace sidra::smi;

uint32_t sidra_smi_field_count(void) { return std::size(kRows); }

const sidra_smi_field* sidra_smi_field_at(uint32_t number) {
    return number < std::size(kRows) ? &kRows[number].field : nullptr;
}

int sidra_smi_field_find(const char* name) {
    if (name == nullptr) return -1;
    for (size_t n = 0; n < std::size(kRows); ++n)
        if (std::strcmp(kRows[n].field.name, name) == 0) return static_cast<int>(n);
    return -1;
}

sidra_smi_value sidra_smi_get(sidra_smi_chip* chip, uint32_t field) {
    if (chip == nullptr || field >= std::size(kRows)) return none(EINVAL);
    return kRows[field].get(*chip);
}
