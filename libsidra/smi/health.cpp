// SPDX-License-Identifier: MIT
// The health checks of a chip.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "chip.h"
#include "file.h"
#include "session.h"
#include "text.h"

namespace sidra::smi {
namespace {

constexpr uint64_t kHeartbeatLateNs = 5'000'000'000;
constexpr double kStuckWarning = 0.01, kStuckCritical = 0.05;  // of all cells
constexpr double kFailedWarning = 0.001;                       // of all programmed cells
constexpr uint64_t kFailedLeast = 100;                         // fewer cells are no statistics
constexpr uint64_t kCalibrationOldNs = uint64_t{7} * 24 * 3600 * 1'000'000'000;
constexpr auto kOk = SIDRA_SMI_OK;
constexpr auto kWarning = SIDRA_SMI_WARNING;
constexpr auto kCritical = SIDRA_SMI_CRITICAL;

// Formats 419430400 as 419,430,400.
std::string count_text(uint64_t count) {
    const std::string digits = fmt::format("{}", count);
    std::string text;
    for (size_t n = 0; n < digits.size(); ++n) {
        if (n > 0 && (digits.size() - n) % 3 == 0) text += ',';
        text += digits[n];
    }
    return text;
}

// Whether the chip can be examined at all. If not, nothing else is checked.
bool check_presence(sidra_smi_chip& chip, Findings& out) {
    if (chip.gone) {
        out.add(
            kCritical, "presence", "the chip is gone",
            chip.model != nullptr ? "its process has ended" : "check the kernel log and whether lspci lists the card");
    } else if (chip.card != nullptr && chip.card->node().empty()) {
        out.add(kCritical, "presence", "no driver is bound to the card",
                "modprobe sidra; sidra-smi doctor explains more");
    } else if (chip.hung) {
        out.add(kCritical, "presence", "the kernel does not answer for the card",
                "check the kernel log; sidra-smi reset --force");
    } else if (!chip.now.telemetry) {
        out.add(kCritical, "presence",
                fmt::format("the telemetry cannot be read: {}", std::strerror(chip.now.telemetry.error)),
                "check the kernel log; sidra-smi reset --force");
    } else if (chip.stale()) {
        out.add(kWarning, "presence",
                fmt::format("stale: the process has published nothing for {:.0f} s",
                            static_cast<double>(now_ns() - chip.now.data_ns) / 1e9),
                "check whether the process is stopped");
    } else {
        out.add(kOk, "presence", "the chip answers");
        return true;
    }
    return false;
}

void check_state(const sidra_smi_chip& chip, const sidra_telemetry& page, Findings& out) {
    const uint32_t stage = page.status & SIDRA_STATUS_STAGE_MASK;
    if (stage == SIDRA_STAGE_PANIC)
        out.add(kCritical, "state", fmt::format("the firmware has panicked (code {})", page.panic),
                "the watchdog restarts it; sidra-smi dump has the cause");
    else if ((page.status & SIDRA_STATUS_FATAL) != 0)
        out.add(kCritical, "state", fmt::format("fatal error: the chip needs a reset (status {:#x})", page.status),
                "sidra-smi reset");
    else if ((page.status & SIDRA_STATUS_READY) == 0)
        out.add(kWarning, "state", fmt::format("not ready (stage {:#x})", stage), "wait until the boot has ended");
    else if (stage == SIDRA_STAGE_RECOVERY && (chip.now.features.value & SIDRA_FEATURE_FIRMWARE) != 0)
        out.add(kWarning, "state", "recovery: the boot block runs without firmware",
                "sidra-smi fw update, then sidra-smi reset");
    else out.add(kOk, "state", "ready");
}

void check_firmware(const sidra_smi_chip& chip, const sidra_telemetry& page, Findings& out) {
    if ((page.status & SIDRA_STATUS_FIRMWARE_ALIVE) == 0) {
        const bool wanted = chip.now.features && (chip.now.features.value & SIDRA_FEATURE_FIRMWARE) != 0;
        out.add(wanted ? kWarning : kOk, "firmware", "not running", wanted ? "sidra-smi fw show, sidra-smi log" : "");
        return;
    }
    if (!chip.heartbeat_moved_ns) {
        out.add(kOk, "firmware", "running, heartbeat not checked yet");
        return;
    }
    const uint64_t age = chip.now.read_ns - chip.heartbeat_moved_ns.value;
    if (age > kHeartbeatLateNs)
        out.add(kCritical, "firmware", fmt::format("no heartbeat for {:.0f} s", static_cast<double>(age) / 1e9),
                "if the watchdog does not restart the firmware: sidra-smi reset");
    else out.add(kOk, "firmware", age == 0 ? "running, heartbeat OK" : "running");
}

void check_temperature(const sidra_telemetry& page, bool limits, Findings& out) {
    if ((page.valid & SIDRA_TELEMETRY_HAS_THERMAL) == 0) {
        out.add(kOk, "temperature", "not measured");
        return;
    }
    const double now = page.temperature_mc / 1e3;
    if (limits && page.temperature_mc >= page.temperature_crit_mc)
        out.add(
            kCritical, "temperature",
            fmt::format("{:.1f} C, at or above the shutdown limit of {:.0f} C", now, page.temperature_crit_mc / 1e3),
            "remove the load and check the cooling");
    else if (limits && page.temperature_mc >= page.temperature_max_mc)
        out.add(kWarning, "temperature",
                fmt::format("{:.1f} C, at or above the limit of {:.0f} C", now, page.temperature_max_mc / 1e3),
                "thermally throttled: check cooling");
    else out.add(kOk, "temperature", fmt::format("{:.1f} C", now));
}

void check_power(const sidra_telemetry& page, bool limits, Findings& out) {
    const std::string now =
        (page.valid & SIDRA_TELEMETRY_HAS_POWER) != 0 ? fmt::format("{:.1f} W", page.power_mw / 1e3) : "not measured";
    if ((page.status & SIDRA_STATUS_THROTTLED) != 0)
        out.add(kWarning, "power", fmt::format("throttled to {} MHz ({})", page.clock_khz / 1000, now),
                "the chip is too hot, or its power limit is too low for its load: sidra-smi power");
    else out.add(kOk, "power", limits ? fmt::format("{} of {:.1f} W", now, page.power_limit_mw / 1e3) : now);
}

void check_cells(const sidra_telemetry& page, Findings& out) {
    const uint64_t cells = uint64_t{page.xbars_total} * SIDRA_XBAR_ROWS * SIDRA_XBAR_COLS;
    if (cells == 0) {
        out.add(kWarning, "cells", "the chip reports no crossbars", "check the kernel log");
        return;
    }
    const double share = static_cast<double>(page.stuck_cells) / static_cast<double>(cells);
    const sidra_smi_status severity = share >= kStuckCritical ? kCritical : share >= kStuckWarning ? kWarning : kOk;
    out.add(severity, "cells",
            page.stuck_cells == 0 ? fmt::format("0 of {} cells stuck", count_text(cells))
                                  : fmt::format("{} of {} cells stuck ({:.2g} %)", count_text(page.stuck_cells),
                                                count_text(cells), 100 * share),
            severity == kOk ? "" : "networks lose accuracy: move them to another chip");
}

// Worn cells fail to converge long before many are stuck.
void check_endurance(const sidra_telemetry& page, Findings& out) {
    if (page.pulses == 0) return;  // exact cells do not wear
    const double share =
        static_cast<double>(page.failed_cells) / static_cast<double>(std::max<uint64_t>(page.programmed_cells, 1));
    const bool bad = page.failed_cells >= kFailedLeast && share >= kFailedWarning;
    out.add(bad ? kWarning : kOk, "endurance",
            fmt::format("{} of {} programmed cells missed their target", count_text(page.failed_cells),
                        count_text(page.programmed_cells)),
            bad ? "cells wear out: program them less often, or move networks to another chip" : "");
}

void check_converters(const sidra_telemetry& page, Findings& out) {
    if (page.untrimmed_xbars != 0) {
        out.add(kWarning, "converters",
                fmt::format("the converters of {} of {} crossbars are beyond what calibration can correct",
                            page.untrimmed_xbars, page.xbars_total),
                "products of these crossbars are wrong: sidra-smi calibrate; if that does not help, move their "
                "networks to another chip");
        return;
    }
    if (page.calibrated_ns == 0 || page.calibrated_ns > page.clock_ns) {
        out.add(kOk, "converters", "not calibrated yet");
        return;
    }
    // Drift: offsets of converters and conductances of cells move with time.
    const uint64_t age = page.clock_ns - page.calibrated_ns;
    const bool old = page.pulses != 0 && age > kCalibrationOldNs;
    out.add(old ? kWarning : kOk, "converters",
            old ? fmt::format("last calibrated {} days ago", age / (uint64_t{24} * 3600 * 1'000'000'000))
                : std::string("calibrated"),
            old ? "cells and converters drift: sidra-smi calibrate, then sidra-smi refresh" : "");
}

void check_link(const sidra_smi_chip& chip, Findings& out) {
    const Sample& now = chip.now;
    if (chip.card == nullptr || !now.link_width || !now.link_width_max || !now.link_speed || !now.link_speed_max)
        return;
    const std::string is = fmt::format("{} x{}", now.link_speed.value, now.link_width.value);
    const std::string could = fmt::format("{} x{}", now.link_speed_max.value, now.link_width_max.value);
    if (is == could) out.add(kOk, "link", is);
    else
        out.add(kWarning, "link", fmt::format("{}, but the card supports {}", is, could),
                "reseat the card, or use another slot");
}

void check_dma(const sidra_telemetry& page, uint64_t accepted, Findings& out) {
    if (page.dma_errors == 0) {
        out.add(kOk, "dma", "no DMA errors");
        return;
    }
    const std::string text = fmt::format("{} DMA errors", count_text(page.dma_errors));
    if (page.dma_errors <= accepted) out.add(kOk, "dma", text + fmt::format(", {} accepted", count_text(accepted)));
    else
        out.add(kWarning, "dma", text,
                fmt::format("check the kernel log for IOMMU faults; to accept these errors: sidra-smi health "
                            "--accept-dma-errors {}",
                            page.dma_errors));
}

}  // namespace
}  // namespace sidra::smi

using namespace sidra::smi;

sidra_smi_status sidra_smi_health(sidra_smi_chip* chip, const sidra_smi_health_options* options,
                                  const sidra_smi_finding** findings, uint32_t* count) {
    if (chip == nullptr || findings == nullptr || count == nullptr) return SIDRA_SMI_USAGE;
    sidra_smi_health_options given = {};
    if (!take_options(options, given)) return SIDRA_SMI_USAGE;
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
                check_endurance(telemetry.page, out);
                check_converters(telemetry.page, out);
            }
            check_link(*chip, out);
            check_dma(telemetry.page, given.accepted_dma_errors, out);
        }
        *findings = out.data();
        *count = out.count();
        return out.worst();
    });
}
