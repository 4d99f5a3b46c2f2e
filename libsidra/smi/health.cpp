// SPDX-License-Identifier: MIT
// What a person should know about a chip.
#include <fmt/format.h>

#include <cstring>

#include "chip.h"
#include "file.h"
#include "session.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr uint64_t kHeartbeatLateNs = 5'000'000'000, kDataOldNs = 5'000'000'000;
constexpr double kStuckWarning = 0.01, kStuckCritical = 0.05;  // of all cells
constexpr auto kOk = SIDRA_SMI_OK;
constexpr auto kWarning = SIDRA_SMI_WARNING;
constexpr auto kCritical = SIDRA_SMI_CRITICAL;

// Whether it can be looked at at all; nothing else is checked of one that cannot.
bool check_presence(sidra_smi_chip& chip, Findings& out) {
    if (chip.gone) {
        out.add(
            kCritical, "presence", "it is not there any more",
            chip.model != nullptr ? "its process has ended" : "look at the kernel's log, and whether lspci lists it");
    } else if (chip.card != nullptr && chip.card->node().empty()) {
        out.add(kCritical, "presence", "no driver is bound to it", "modprobe sidra; sidra-smi doctor says more");
    } else if (chip.hung) {
        out.add(kCritical, "presence", "the kernel does not answer for it",
                "look at the kernel's log; sidra-smi reset --force");
    } else if (!chip.now.telemetry) {
        out.add(kCritical, "presence",
                fmt::format("its telemetry cannot be read: {}", std::strerror(chip.now.telemetry.error)),
                "look at the kernel's log; sidra-smi reset --force");
    } else {
        out.add(kOk, "presence", "it answers");
        return true;
    }
    return false;
}

void check_state(const sidra_smi_chip& chip, const sidra_telemetry& page, Findings& out) {
    const uint32_t stage = page.status & SIDRA_STATUS_STAGE_MASK;
    if (stage == SIDRA_STAGE_PANIC)
        out.add(kCritical, "state", fmt::format("its firmware has panicked (code {})", page.panic),
                "its watchdog starts it anew; sidra-smi dump has why");
    else if ((page.status & SIDRA_STATUS_FATAL) != 0)
        out.add(kCritical, "state", fmt::format("only a reset helps (status {:#x})", page.status), "sidra-smi reset");
    else if ((page.status & SIDRA_STATUS_READY) == 0)
        out.add(kWarning, "state", fmt::format("it is not ready (stage {:#x})", stage), "wait for its boot to end");
    else if (stage == SIDRA_STAGE_RECOVERY && (chip.now.features.value & SIDRA_FEATURE_FIRMWARE) != 0)
        out.add(kWarning, "state", "the boot block runs, and no firmware", "sidra-smi fw update, then sidra-smi reset");
    else out.add(kOk, "state", "queues may run");
}

void check_firmware(const sidra_smi_chip& chip, const sidra_telemetry& page, Findings& out) {
    if ((page.status & SIDRA_STATUS_FIRMWARE_ALIVE) == 0) {
        const bool wanted = chip.now.features && (chip.now.features.value & SIDRA_FEATURE_FIRMWARE) != 0;
        out.add(wanted ? kWarning : kOk, "firmware", "none runs", wanted ? "sidra-smi fw show, sidra-smi log" : "");
        return;
    }
    if (!chip.heartbeat_moved_ns) {
        out.add(kOk, "firmware", "it runs; its heartbeat was looked at once");
        return;
    }
    const uint64_t age = chip.now.read_ns - chip.heartbeat_moved_ns.value;
    if (age > kHeartbeatLateNs)
        out.add(kCritical, "firmware",
                fmt::format("its heart has not beaten for {:.0f} s", static_cast<double>(age) / 1e9),
                "its watchdog should start it anew; else sidra-smi reset");
    else out.add(kOk, "firmware", age == 0 ? "it runs, and its heart beats" : "it runs");
}

void check_temperature(const sidra_telemetry& page, bool limits, Findings& out) {
    if ((page.valid & SIDRA_TELEMETRY_HAS_THERMAL) == 0) {
        out.add(kOk, "temperature", "nobody measures it");
        return;
    }
    const double now = page.temperature_mc / 1e3;
    if (limits && page.temperature_mc >= page.temperature_crit_mc)
        out.add(kCritical, "temperature",
                fmt::format("{:.1f} C, and it stops by itself at {:.0f} C", now, page.temperature_crit_mc / 1e3),
                "take its load away, and look after its cooling");
    else if (limits && page.temperature_mc >= page.temperature_max_mc)
        out.add(kWarning, "temperature", fmt::format("{:.1f} C, above {:.0f} C", now, page.temperature_max_mc / 1e3),
                "look after its cooling: its clock is taken down");
    else out.add(kOk, "temperature", fmt::format("{:.1f} C", now));
}

void check_power(const sidra_telemetry& page, bool limits, Findings& out) {
    const std::string now =
        (page.valid & SIDRA_TELEMETRY_HAS_POWER) != 0 ? fmt::format("{:.1f} W", page.power_mw / 1e3) : "not measured";
    if ((page.status & SIDRA_STATUS_THROTTLED) != 0)
        out.add(kWarning, "power", fmt::format("its clock is down to {} MHz ({})", page.clock_khz / 1000, now),
                "it is too hot, or its limit of power is low for its load: sidra-smi power");
    else out.add(kOk, "power", limits ? fmt::format("{} of {:.1f} W", now, page.power_limit_mw / 1e3) : now);
}

void check_cells(const sidra_telemetry& page, Findings& out) {
    const double cells = static_cast<double>(page.xbars_total) * SIDRA_XBAR_ROWS * SIDRA_XBAR_COLS;
    if (cells == 0) {
        out.add(kWarning, "cells", "it says that it has no crossbars", "look at the kernel's log");
        return;
    }
    const double share = static_cast<double>(page.stuck_cells) / cells;
    const sidra_smi_status severity = share >= kStuckCritical ? kCritical : share >= kStuckWarning ? kWarning : kOk;
    out.add(severity, "cells",
            fmt::format("{} of {:.0f} cells do not follow ({:.2g} %)", page.stuck_cells, cells, 100 * share),
            severity == kOk ? "" : "networks lose accuracy: move them to another chip");
}

void check_converters(const sidra_telemetry& page, Findings& out) {
    if (page.untrimmed_xbars == 0)
        out.add(kOk, "converters", page.calibrated_ns == 0 ? "nobody has calibrated them" : "they are calibrated");
    else
        out.add(kWarning, "converters",
                fmt::format("those of {} of {} crossbars are off by more than calibration takes away",
                            page.untrimmed_xbars, page.xbars_total),
                "products of these are wrong: sidra-smi calibrate; if that does not help, move their networks to "
                "another chip");
}

void check_link(const sidra_smi_chip& chip, Findings& out) {
    const Sample& now = chip.now;
    if (chip.card == nullptr || !now.link_width || !now.link_width_max || !now.link_speed || !now.link_speed_max)
        return;
    const std::string is = fmt::format("{} x{}", now.link_speed.value, now.link_width.value);
    const std::string could = fmt::format("{} x{}", now.link_speed_max.value, now.link_width_max.value);
    if (is == could) out.add(kOk, "link", is);
    else
        out.add(kWarning, "link", fmt::format("{}, and the card can have {}", is, could),
                "another slot, or seat the card anew");
}

void check_counters(const sidra_telemetry& page, Findings& out) {
    out.add(page.dma_errors > 0 ? kWarning : kOk, "dma",
            fmt::format("the host has refused {} transfers", page.dma_errors),
            page.dma_errors > 0 ? "look at the kernel's log for the IOMMU" : "");
}

}  // namespace
}  // namespace sidra::smi

using namespace sidra::smi;

sidra_smi_status sidra_smi_health(sidra_smi_chip* chip, const sidra_smi_finding** findings, uint32_t* count) {
    if (chip == nullptr || findings == nullptr || count == nullptr) return SIDRA_SMI_USAGE;
    *findings = nullptr;
    *count = 0;
    return guarded(chip->session, [&] {
        Findings& out = chip->findings;
        out.clear();
        if (check_presence(*chip, out)) {
            const Telemetry& telemetry = chip->now.telemetry.value;
            const bool limits = telemetry.since_1_2 && (telemetry.page.valid & SIDRA_TELEMETRY_HAS_LIMITS) != 0;
            if (telemetry.since_1_2) {
                check_state(*chip, telemetry.page, out);
                check_firmware(*chip, telemetry.page, out);
            }
            check_temperature(telemetry.page, limits, out);
            if (telemetry.since_1_2) {
                check_power(telemetry.page, limits, out);
                check_cells(telemetry.page, out);
                check_converters(telemetry.page, out);
            }
            check_link(*chip, out);
            check_counters(telemetry.page, out);
            if (now_ns() - chip->now.data_ns > kDataOldNs)
                out.add(kWarning, "data", "its process has said nothing for more than 5 s", "is it stopped?");
        }
        *findings = out.data();
        *count = out.count();
        return out.worst();
    });
}
