// SPDX-License-Identifier: MIT
// All readable fields of a chip: their names, units and descriptions are defined in the table below.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

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

// A chip without a driver has no telemetry.
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

template <uint64_t Needs>
int missing(const Chip& chip) {
    const Maybe<sidra_telemetry>& telemetry = chip.now.telemetry;
    if (!telemetry) return why(chip);
    return (telemetry.value.valid & Needs) == Needs ? 0 : ENODATA;
}

template <auto Member, uint64_t Needs>
Value counter(const Chip& chip) {
    if (const int error = missing<Needs>(chip); error != 0) return none(error);
    return number(chip.now.telemetry.value.*Member);
}

template <auto Member, uint64_t Needs, int Divisor>
Value scaled(const Chip& chip) {
    if (const int error = missing<Needs>(chip); error != 0) return none(error);
    return real(static_cast<double>(chip.now.telemetry.value.*Member) / Divisor);
}

template <int Engine>
Value engine_time(const Chip& chip) {
    if (const int error = missing<SIDRA_TELEMETRY_HAS_COUNTERS>(chip); error != 0) return none(error);
    return number(chip.now.telemetry.value.engine_ns[Engine]);
}

// ---- Rates
// -------------------------------------------------------------------------------------------------------------

// Growth of a counter per second of the chip's clock.
template <typename Get>
Value grown(const Chip& chip, double scale, const Get& get) {
    if (!chip.now.telemetry) return none(why(chip));
    const Maybe<double> found = rate(chip, scale, get);
    return found ? real(found.value) : none(found.error);
}

// A share of time in percent. The contract limits the counters to 100 %; values of a chip that breaks it are clamped.
template <typename Get>
Value share(const Chip& chip, const Get& get) {
    Value value = grown(chip, 100, get);
    if (value.type == SIDRA_SMI_REAL) value.real = std::min(value.real, 100.0);
    return value;
}

template <auto Member>
Value per_second(const Chip& chip) {
    if (const int error = missing<SIDRA_TELEMETRY_HAS_COUNTERS>(chip); error != 0) return none(error);
    return grown(chip, 1e9, [](const Page& page) { return page.*Member; });
}

Value utilization(const Chip& chip) {
    if (const int error = missing<SIDRA_TELEMETRY_HAS_COUNTERS>(chip); error != 0) return none(error);
    return share(chip, [](const Page& page) { return page.busy_ns; });
}

template <int Engine>
Value engine_utilization(const Chip& chip) {
    if (const int error = missing<SIDRA_TELEMETRY_HAS_COUNTERS>(chip); error != 0) return none(error);
    return share(chip, [](const Page& page) { return page.engine_ns[Engine]; });
}

// ---- Identity and status
// -----------------------------------------------------------------------------------------------

template <uint32_t Bit>
Value status_bit(const Chip& chip) {
    if (const int error = missing<0>(chip); error != 0) return none(error);
    return yes_no((chip.now.telemetry.value.status & Bit) != 0);
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
    if (const int error = missing<0>(chip); error != 0) return none(error);
    const char* const name = stage_name(chip.now.telemetry.value.status);
    return name != nullptr ? text(name) : none(EPROTO);
}

Value boot_reason(const Chip& chip) {
    if (const int error = missing<0>(chip); error != 0) return none(error);
    constexpr const char* kNames[] = {"power-on", "reset", "watchdog", "panic", "update"};
    const uint32_t reason = chip.now.telemetry.value.boot_reason;
    return reason < std::size(kNames) ? text(kNames[reason]) : none(EPROTO);
}

Value status(const Chip& chip) {
    if (chip.gone) return text("lost");
    if (chip.card != nullptr && chip.card->node().empty()) return text("no-driver");
    if (chip.hung) return text("no-answer");
    if (chip.stale()) return text("stale");
    if (!chip.now.telemetry)
        return chip.now.telemetry.error == ENODEV || chip.now.telemetry.error == EIO ? text("lost") : none(why(chip));
    const uint32_t bits = chip.now.telemetry.value.status;
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

Value stale(const Chip& chip) {
    if (chip.now.read_ns == 0) return none(why(chip));
    return yes_no(chip.stale());
}

// Names of the set bits, separated by commas.
Value features(const Chip& chip) {
    constexpr std::pair<uint64_t, const char*> kNames[] = {
        {SIDRA_FEATURE_FIRMWARE, "firmware"}, {SIDRA_FEATURE_STATE_FILE, "state-file"}, {SIDRA_FEATURE_TRACE, "trace"}};
    const Maybe<uint64_t>& bits = chip.now.features;
    if (!bits) return none(bits.error);
    std::string& names = chip.features;
    names.clear();
    const auto add = [&names](const std::string& name) { names += (names.empty() ? "" : ",") + name; };
    for (uint32_t bit = 0; bit < 64; ++bit) {
        if ((bits.value >> bit & 1) == 0) continue;
        const auto* const known = std::find_if(std::begin(kNames), std::end(kNames),
                                               [&](const auto& one) { return one.first == uint64_t{1} << bit; });
        add(known != std::end(kNames) ? known->second : "bit" + std::to_string(bit));
    }
    return text(names.empty() ? "none" : names.c_str());
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
    if (const int error = missing<0>(chip); error != 0) return none(error);
    if ((chip.now.telemetry.value.status & SIDRA_STATUS_FIRMWARE_ALIVE) == 0) return none(ENODATA);
    if (!chip.heartbeat_moved_ns) return none(EAGAIN);
    return number(chip.now.read_ns - chip.heartbeat_moved_ns.value);
}

Value calibration_age(const Chip& chip) {
    if (const int error = missing<SIDRA_TELEMETRY_HAS_COUNTERS>(chip); error != 0) return none(error);
    const Page& page = chip.now.telemetry.value;
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
                   kPower = SIDRA_TELEMETRY_HAS_POWER, kLimits = SIDRA_TELEMETRY_HAS_LIMITS;
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
    {{"index", "", kUint, kStatic, "Number of the chip in the list of chips.", nullptr, 1, false}, index},
    {{"kind", "", kText, kStatic, "Kind of the chip: card (PCIe) or model (embedded in a process).", nullptr, 1, false}, kind},
    {{"name", "", kText, kStatic, "Name of the chip: sidra0, the BDF of a card without a driver, or PID-N of an embedded model.", nullptr, 1, false}, name},
    {{"node", "", kText, kStatic, "Device node of the card.", nullptr, 1, false}, node},
    {{"bdf", "", kText, kStatic, "PCI address of the card: domain, bus, device and function.", nullptr, 1, false}, bdf},
    {{"uuid", "", kText, kStatic, "Identity of the chip, which is the same in every slot and host.", nullptr, 1, false}, sampled<&Sample::uuid>},
    {{"pid", "", kUint, kStatic, "Process that an embedded model lives in.", nullptr, 1, false}, sampled<&Sample::pid>},
    {{"process", "", kText, kStatic, "Name of the process that an embedded model lives in.", nullptr, 1, false}, sampled<&Sample::process>},
    {{"uid", "", kUint, kStatic, "User ID of the process that an embedded model lives in.", nullptr, 1, false}, sampled<&Sample::uid>},
    {{"level", "", kText, kStatic, "Level of an embedded model: fast (exact) or accurate (cells, wires and converters).", nullptr, 1, false}, sampled<&Sample::level>},
    {{"persistent", "", kBool, kStatic, "Whether an embedded model keeps its cells and named weights in a state file.", nullptr, 1, false}, sampled<&Sample::persistent>},
    {{"version.hardware", "", kText, kStatic, "Version of the hardware interface that the chip implements.", nullptr, 1, false}, sampled<&Sample::hardware>},
    {{"version.driver", "", kText, kGauge, "Version of the kernel driver of a card, or of the libsidra of an embedded model.", nullptr, 1, false}, sampled<&Sample::driver>},
    {{"version.firmware", "", kText, kGauge, "Version of the firmware that runs; none: only the boot block runs.", nullptr, 1, false}, sampled<&Sample::firmware>},
    {{"features", "", kText, kStatic, "Optional features of the chip: firmware, state-file.", nullptr, 1, false}, features},
    {{"geometry.clusters", "", kUint, kStatic, "Number of clusters of the chip.", nullptr, 1, false}, sampled<&Sample::clusters>},
    {{"geometry.cus", "", kUint, kStatic, "Number of compute units in each cluster.", nullptr, 1, false}, sampled<&Sample::cus_per_cluster>},
    {{"geometry.crossbars", "", kUint, kStatic, "Number of crossbars in each compute unit.", nullptr, 1, false}, sampled<&Sample::xbars_per_cu>},

    {{"status", "", kText, kGauge, "Status of the chip: ready, throttled, booting, recovery, panic, fatal, lost, stale, no-driver, no-answer.", nullptr, 1, false}, status},
    {{"stale", "", kBool, kGauge, "Whether the values of the chip are too old to describe its present state.", "sidra_stale", 1, false}, stale},
    {{"stage", "", kText, kGauge, "Boot stage of the chip: reset, rom, verify, calibrate, recovery, runtime, panic.", nullptr, 1, false}, stage},
    {{"ready", "", kBool, kGauge, "Whether queues of the chip can run.", "sidra_ready", 1, false}, status_bit<SIDRA_STATUS_READY>},
    {{"fatal", "", kBool, kGauge, "Whether the chip has failed so that only a reset helps.", "sidra_fatal", 1, false}, status_bit<SIDRA_STATUS_FATAL>},
    {{"stopped", "", kBool, kGauge, "Whether the driver has stopped all queues of the chip.", "sidra_stopped", 1, false}, status_bit<SIDRA_STATUS_STOPPED>},
    {{"throttled", "", kBool, kGauge, "Whether the firmware has lowered the clock because of temperature or power.", "sidra_throttled", 1, false}, status_bit<SIDRA_STATUS_THROTTLED>},
    {{"firmware.alive", "", kBool, kGauge, "Whether the firmware of the chip runs.", "sidra_firmware_alive", 1, false}, status_bit<SIDRA_STATUS_FIRMWARE_ALIVE>},
    {{"firmware.panic", "", kUint, kGauge, "Panic code of the firmware; 0: the firmware has not panicked.", "sidra_firmware_panic_code", 1, false}, counter<&Page::panic, 0>},
    {{"boot.reason", "", kText, kGauge, "Reason of the last boot: power-on, reset, watchdog, panic, update.", nullptr, 1, false}, boot_reason},
    {{"generation", "", kUint, kGauge, "Generation of the chip, which each reset increases by one.", "sidra_generation", 1, true}, sampled<&Sample::generation>},
    {{"resets", "", kUint, kCounter, "Number of resets by the driver since it was bound to the card.", "sidra_resets_total", 1, false}, sampled<&Sample::resets>},
    {{"heartbeat", "", kUint, kGauge, "Heartbeat counter of the firmware.", nullptr, 1, true}, counter<&Page::heartbeat, 0>},
    {{"heartbeat.age", "ns", kUint, kGauge, "Time since the heartbeat was last seen to change.", "sidra_heartbeat_age_seconds", 1e-9, false}, heartbeat_age},
    {{"data.age", "ns", kUint, kGauge, "Age of the values that are shown for the chip.", "sidra_data_age_seconds", 1e-9, false}, data_age},
    {{"clock.device", "ns", kUint, kCounter, "Time on the clock of the chip.", "sidra_device_clock_seconds_total", 1e-9, false}, counter<&Page::clock_ns, kCounters>},

    {{"temperature", "C", kReal, kGauge, "Temperature of the chip.", "sidra_temperature_celsius", 1, false}, scaled<&Page::temperature_mc, kThermal, 1000>},
    {{"temperature.max", "C", kReal, kGauge, "Temperature from which on the firmware lowers the clock.", "sidra_temperature_max_celsius", 1, false}, scaled<&Page::temperature_max_mc, kLimits, 1000>},
    {{"temperature.crit", "C", kReal, kGauge, "Temperature at which the chip shuts itself down.", "sidra_temperature_crit_celsius", 1, false}, scaled<&Page::temperature_crit_mc, kLimits, 1000>},
    {{"power", "W", kReal, kGauge, "Electrical power that the chip draws.", "sidra_power_watts", 1, false}, scaled<&Page::power_mw, kPower, 1000>},
    {{"power.limit", "W", kReal, kGauge, "Power limit that is in force.", "sidra_power_limit_watts", 1, false}, scaled<&Page::power_limit_mw, kLimits, 1000>},
    {{"power.limit.min", "W", kReal, kGauge, "Lowest power limit that can be set.", "sidra_power_limit_min_watts", 1, false}, scaled<&Page::power_limit_min_mw, kLimits, 1000>},
    {{"power.limit.max", "W", kReal, kGauge, "Highest power limit that can be set.", "sidra_power_limit_max_watts", 1, false}, scaled<&Page::power_limit_max_mw, kLimits, 1000>},
    {{"clock", "MHz", kReal, kGauge, "Clock frequency of the compute units.", "sidra_clock_hertz", 1e6, false}, scaled<&Page::clock_khz, kPower, 1000>},
    {{"clock.max", "MHz", kReal, kGauge, "Clock frequency at the highest clock level.", "sidra_clock_max_hertz", 1e6, false}, scaled<&Page::clock_max_khz, kLimits, 1000>},
    {{"throttles", "", kUint, kCounter, "Number of times that the firmware lowered the clock.", "sidra_throttles_total", 1, false}, counter<&Page::throttles, kLimits>},

    {{"utilization", "%", kReal, kRate, "Share of the time in which at least one engine of the chip worked.", nullptr, 1, false}, utilization},
    {{"mvm.utilization", "%", kReal, kRate, "Share of the time in which the crossbars multiplied for at least one queue.", nullptr, 1, false}, engine_utilization<SIDRA_HW_ENGINE_MVM>},
    {{"vec.utilization", "%", kReal, kRate, "Share of the time in which the vector units worked for at least one queue.", nullptr, 1, false}, engine_utilization<SIDRA_HW_ENGINE_VEC>},
    {{"copy.utilization", "%", kReal, kRate, "Share of the time in which the chip copied data for at least one queue.", nullptr, 1, false}, engine_utilization<SIDRA_HW_ENGINE_COPY>},
    {{"program.utilization", "%", kReal, kRate, "Share of the time in which crossbars were programmed or read back for at least one queue.", nullptr, 1, false}, engine_utilization<SIDRA_HW_ENGINE_PROGRAM>},
    {{"packets.rate", "1/s", kReal, kRate, "Packets retired per second.", nullptr, 1, false}, per_second<&Page::packets>},
    {{"macs.rate", "1/s", kReal, kRate, "Multiply-accumulate operations per second.", nullptr, 1, false}, per_second<&Page::macs>},
    {{"copy.rate", "B/s", kReal, kRate, "Bytes copied per second.", nullptr, 1, false}, per_second<&Page::copy_bytes>},
    {{"program.rate", "1/s", kReal, kRate, "Cells programmed per second.", nullptr, 1, false}, per_second<&Page::programmed_cells>},

    {{"busy.time", "ns", kUint, kCounter, "Time in which at least one engine of the chip worked.", "sidra_busy_seconds_total", 1e-9, false}, counter<&Page::busy_ns, kCounters>},
    {{"mvm.time", "ns", kUint, kCounter, "Time in which the crossbars multiplied for at least one queue.", "sidra_mvm_seconds_total", 1e-9, false}, engine_time<SIDRA_HW_ENGINE_MVM>},
    {{"vec.time", "ns", kUint, kCounter, "Time in which the vector units worked for at least one queue.", "sidra_vec_seconds_total", 1e-9, false}, engine_time<SIDRA_HW_ENGINE_VEC>},
    {{"copy.time", "ns", kUint, kCounter, "Time in which the chip copied data for at least one queue.", "sidra_copy_seconds_total", 1e-9, false}, engine_time<SIDRA_HW_ENGINE_COPY>},
    {{"program.time", "ns", kUint, kCounter, "Time in which crossbars were programmed or read back for at least one queue.", "sidra_program_seconds_total", 1e-9, false}, engine_time<SIDRA_HW_ENGINE_PROGRAM>},
    {{"packets", "", kUint, kCounter, "Number of packets that the queues have retired.", "sidra_packets_total", 1, false}, counter<&Page::packets, kCounters>},
    {{"packets.called", "", kUint, kCounter, "Number of packets that were executed inside CALL packets.", "sidra_called_packets_total", 1, false}, counter<&Page::call_packets, kCounters>},
    {{"faults", "", kUint, kCounter, "Number of queues that stopped with a fault.", "sidra_faults_total", 1, false}, counter<&Page::faults, kCounters>},
    {{"dma.errors", "", kUint, kCounter, "Number of DMA transfers that the host refused.", "sidra_dma_errors_total", 1, false}, counter<&Page::dma_errors, kCounters>},
    {{"doorbells", "", kUint, kCounter, "Number of doorbell writes.", "sidra_doorbells_total", 1, true}, counter<&Page::doorbells, kCounters>},
    {{"arms", "", kUint, kCounter, "Number of interrupt notifications that were armed.", "sidra_arms_total", 1, true}, counter<&Page::arms, kCounters>},
    {{"interrupts", "", kUint, kCounter, "Number of MSI-X interrupts that the chip raised.", "sidra_interrupts_total", 1, true}, counter<&Page::interrupts, kCounters>},
    {{"mmio.reads", "", kUint, kCounter, "Number of register reads.", "sidra_mmio_reads_total", 1, true}, counter<&Page::mmio_reads, kCounters>},
    {{"mmio.writes", "", kUint, kCounter, "Number of register writes, including doorbells.", "sidra_mmio_writes_total", 1, true}, counter<&Page::mmio_writes, kCounters>},
    {{"mvms", "", kUint, kCounter, "Number of vectors that were multiplied by a crossbar.", "sidra_mvms_total", 1, false}, counter<&Page::mvms, kCounters>},
    {{"macs", "", kUint, kCounter, "Number of multiply-accumulate operations of used cells.", "sidra_macs_total", 1, false}, counter<&Page::macs, kCounters>},
    {{"vec.elements", "", kUint, kCounter, "Number of elements that the vector units have processed.", "sidra_vec_elements_total", 1, false}, counter<&Page::vec_elements, kCounters>},
    {{"copy.bytes", "B", kUint, kCounter, "Number of bytes that were copied.", "sidra_copied_bytes_total", 1, false}, counter<&Page::copy_bytes, kCounters>},
    {{"program.cells", "", kUint, kCounter, "Number of cells that were programmed.", "sidra_programmed_cells_total", 1, false}, counter<&Page::programmed_cells, kCounters>},
    {{"program.pulses", "", kUint, kCounter, "Number of programming pulses that cells received.", "sidra_program_pulses_total", 1, false}, counter<&Page::pulses, kCounters>},
    {{"program.reads", "", kUint, kCounter, "Number of verification reads during programming.", "sidra_program_reads_total", 1, false}, counter<&Page::reads, kCounters>},
    {{"program.failed", "", kUint, kCounter, "Number of cells that did not reach their target value when they were programmed.", "sidra_program_failed_cells_total", 1, false}, counter<&Page::failed_cells, kCounters>},
    {{"clipped", "", kUint, kCounter, "Number of sums that exceeded the range of the analog-to-digital converters.", "sidra_clipped_sums_total", 1, false}, counter<&Page::clipped, kCounters>},
    {{"device_time", "ps", kUint, kCounter, "Time that the executed work would take on silicon, by the cost model.", "sidra_modelled_seconds_total", 1e-12, false}, counter<&Page::device_ps, kCounters>},
    {{"energy", "pJ", kUint, kCounter, "Energy that the executed work would take on silicon, by the cost model.", "sidra_modelled_joules_total", 1e-12, false}, counter<&Page::energy_pj, kCounters>},

    {{"crossbars.total", "", kUint, kStatic, "Number of crossbars of the chip.", "sidra_crossbars", 1, false}, counter<&Page::xbars_total, kCounters>},
    {{"crossbars.programmed", "", kUint, kGauge, "Number of crossbars that hold weights.", "sidra_crossbars_programmed", 1, false}, counter<&Page::xbars_programmed, kCounters>},
    {{"cells.stuck", "", kUint, kGauge, "Number of cells that are known to be stuck.", "sidra_stuck_cells", 1, false}, counter<&Page::stuck_cells, kCounters>},
    {{"columns.spare", "", kUint, kGauge, "Number of columns that a spare column replaces.", "sidra_replaced_columns", 1, false}, counter<&Page::spare_columns, kCounters>},
    {{"crossbars.untrimmed", "", kUint, kGauge, "Number of crossbars whose converter offset exceeds what calibration can correct.", "sidra_untrimmed_crossbars", 1, false}, counter<&Page::untrimmed_xbars, kCounters>},
    {{"calibration.age", "ns", kUint, kGauge, "Time since the converters were last calibrated.", "sidra_calibration_age_seconds", 1e-9, false}, calibration_age},
    {{"l3.size", "B", kUint, kStatic, "Size of the L3 memory on the chip.", "sidra_l3_size_bytes", 1, false}, sampled<&Sample::l3_size>},
    {{"l3.used", "B", kUint, kGauge, "Amount of L3 memory in use.", "sidra_l3_used_bytes", 1, false}, sampled<&Sample::l3_used>},
    {{"nvm.size", "B", kUint, kStatic, "Size of the non-volatile memory for named weights.", "sidra_nvm_size_bytes", 1, false}, sampled<&Sample::nvm_size>},
    {{"memory.host", "B", kUint, kGauge, "Amount of host memory that the process of an embedded model has registered with the chip.", "sidra_host_memory_bytes", 1, false}, sampled<&Sample::memory>},
    {{"contexts", "", kUint, kGauge, "Number of contexts that are loaded.", "sidra_contexts", 1, false}, counter<&Page::contexts, kCounters>},
    {{"queues", "", kUint, kGauge, "Number of queues that are loaded.", "sidra_queues", 1, false}, counter<&Page::queues, kCounters>},
    {{"processes", "", kUint, kGauge, "Number of processes that use the chip.", "sidra_processes", 1, false}, processes},

    {{"pci.speed", "", kText, kGauge, "Current speed of the PCIe link.", nullptr, 1, false}, sampled<&Sample::link_speed>},
    {{"pci.speed.max", "", kText, kStatic, "Highest PCIe link speed that the card supports.", nullptr, 1, false}, sampled<&Sample::link_speed_max>},
    {{"pci.width", "", kUint, kGauge, "Current number of lanes of the PCIe link.", "sidra_pci_lanes", 1, false}, sampled<&Sample::link_width>},
    {{"pci.width.max", "", kUint, kStatic, "Highest number of PCIe lanes that the card supports.", nullptr, 1, false}, sampled<&Sample::link_width_max>},
    {{"pci.bridge", "", kText, kStatic, "PCI address of the port that the card is connected to.", nullptr, 1, false}, sampled<&Sample::bridge>},
    {{"numa.node", "", kInt, kStatic, "NUMA node that is nearest to the card.", nullptr, 1, false}, sampled<&Sample::numa_node>},
    {{"numa.cpus", "", kText, kStatic, "CPUs that are nearest to the card.", nullptr, 1, false}, sampled<&Sample::cpus>},
};
// clang-format on

// Fields that remain valid when the chip is stale: constants, and the age of the data. All other fields are unknown
// then.
bool holds_when_stale(const sidra_smi_field& field) {
    constexpr std::string_view kHold[] = {"status", "stale", "data.age", "version.driver", "version.firmware"};
    return field.role == kStatic || std::find(std::begin(kHold), std::end(kHold), field.name) != std::end(kHold);
}

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
    return chip->stale() && !holds_when_stale(kRows[field].field) ? none(ESTALE) : kRows[field].get(*chip);
}
