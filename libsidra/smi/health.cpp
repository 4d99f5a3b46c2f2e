// SPDX-License-Identifier: MIT
// The health checks of a chip.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "chip.h"
#include "file.h"
#include "session.h"
#include "text.h"

namespace sidra::smi {
namespace {

// Thresholds where the policy has none, in the units of checks().
constexpr double kHeartbeatLate = 5;
constexpr double kStuckWarning = 1, kStuckCritical = 5;
constexpr double kFailedWarning = 0.1;
constexpr double kCalibrationOld = 7;
constexpr double kDmaErrors = 1;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr uint64_t kFailedLeast = 100;  // fewer cells are no statistics
constexpr double kDayNs = 24. * 3600 * 1e9;
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

// Grades a measured value by the policy, and by these thresholds where it has none.
sidra_smi_status grade(double value, const Rule& rule, double warning, double critical) {
    return value >= rule.critical.value_or(critical) ? kCritical
           : value >= rule.warning.value_or(warning) ? kWarning
                                                     : kOk;
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

void check_firmware(const sidra_smi_chip& chip, const sidra_telemetry& page, const Rule& rule, Findings& out) {
    if ((page.status & SIDRA_STATUS_FIRMWARE_ALIVE) == 0) {
        const bool wanted = chip.now.features && (chip.now.features.value & SIDRA_FEATURE_FIRMWARE) != 0;
        out.add(wanted ? kWarning : kOk, "firmware", "not running", wanted ? "sidra-smi fw show, sidra-smi log" : "");
        return;
    }
    if (!chip.heartbeat_moved_ns) {
        out.add(kOk, "firmware", "running, heartbeat not checked yet");
        return;
    }
    const double age = static_cast<double>(chip.now.read_ns - chip.heartbeat_moved_ns.value) / 1e9;
    const sidra_smi_status severity = grade(age, rule, kNever, kHeartbeatLate);
    if (severity != kOk)
        out.add(severity, "firmware", fmt::format("no heartbeat for {:.0f} s", age),
                "if the watchdog does not restart the firmware: sidra-smi reset");
    else out.add(kOk, "firmware", age == 0 ? "running, heartbeat OK" : "running");
}

void check_temperature(const sidra_telemetry& page, bool limits, const Rule& rule, Findings& out) {
    if ((page.valid & SIDRA_TELEMETRY_HAS_THERMAL) == 0) {
        out.add(kOk, "temperature", "not measured");
        return;
    }
    const double now = page.temperature_mc / 1e3;
    const double critical = rule.critical.value_or(limits ? page.temperature_crit_mc / 1e3 : kNever);
    const double warning = rule.warning.value_or(limits ? page.temperature_max_mc / 1e3 : kNever);
    const auto beyond = [now](const char* what, double limit) {
        return fmt::format("{:.1f} C, at or above the {} of {:.0f} C", now, what, limit);
    };
    if (now >= critical)
        out.add(kCritical, "temperature", beyond(rule.critical ? "critical limit" : "shutdown limit", critical),
                "remove the load and check the cooling");
    else if (now >= warning)
        out.add(kWarning, "temperature", beyond("limit", warning),
                rule.warning ? "check cooling" : "thermally throttled: check cooling");
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

void check_cells(const sidra_telemetry& page, const Rule& rule, Findings& out) {
    const uint64_t cells = uint64_t{page.xbars_total} * SIDRA_XBAR_ROWS * SIDRA_XBAR_COLS;
    if (cells == 0) {
        out.add(kWarning, "cells", "the chip reports no crossbars", "check the kernel log");
        return;
    }
    const double percent = 100 * static_cast<double>(page.stuck_cells) / static_cast<double>(cells);
    const sidra_smi_status severity = grade(percent, rule, kStuckWarning, kStuckCritical);
    out.add(severity, "cells",
            page.stuck_cells == 0 ? fmt::format("0 of {} cells stuck", count_text(cells))
                                  : fmt::format("{} of {} cells stuck ({:.2g} %)", count_text(page.stuck_cells),
                                                count_text(cells), percent),
            severity == kOk ? "" : "networks lose accuracy: move them to another chip",
            static_cast<double>(page.stuck_cells));
}

// Worn cells fail to converge long before many are stuck.
void check_endurance(const sidra_telemetry& page, const Rule& rule, Findings& out) {
    if (page.pulses == 0) return;  // exact cells do not wear
    const double percent = 100 * static_cast<double>(page.failed_cells) /
                           static_cast<double>(std::max<uint64_t>(page.programmed_cells, 1));
    const sidra_smi_status severity =
        page.failed_cells >= kFailedLeast ? grade(percent, rule, kFailedWarning, kNever) : kOk;
    out.add(severity, "endurance",
            fmt::format("{} of {} programmed cells missed their target", count_text(page.failed_cells),
                        count_text(page.programmed_cells)),
            severity == kOk ? "" : "cells wear out: program them less often, or move networks to another chip",
            percent);
}

void check_converters(const sidra_telemetry& page, const Rule& rule, Findings& out) {
    if (page.untrimmed_xbars != 0) {
        out.add(kWarning, "converters",
                fmt::format("the converters of {} of {} crossbars are beyond what calibration can correct",
                            page.untrimmed_xbars, page.xbars_total),
                "products of these crossbars are wrong: sidra-smi calibrate; if that does not help, move their "
                "networks to another chip",
                page.untrimmed_xbars);
        return;
    }
    if (page.calibrated_ns == 0 || page.calibrated_ns > page.clock_ns) {
        out.add(kOk, "converters", "not calibrated yet");
        return;
    }
    // Drift: offsets of converters and conductances of cells move with time.
    const double days = static_cast<double>(page.clock_ns - page.calibrated_ns) / kDayNs;
    const sidra_smi_status severity = page.pulses != 0 ? grade(days, rule, kCalibrationOld, kNever) : kOk;
    out.add(severity, "converters",
            severity != kOk ? fmt::format("last calibrated {:.0f} days ago", std::floor(days)) : "calibrated",
            severity != kOk ? "cells and converters drift: sidra-smi calibrate, then sidra-smi refresh" : "");
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

void check_dma(const sidra_telemetry& page, const Rule& rule, uint64_t accepted, Past& past, Findings& out) {
    const uint64_t errors = rule.window_s != 0 ? past.grown(page.dma_errors, time_s(), rule.window_s) : page.dma_errors;
    const std::string text =
        errors == 0 ? "no DMA errors" : fmt::format("{} DMA error{}", count_text(errors), errors == 1 ? "" : "s");
    const std::string when = rule.window_s != 0 ? fmt::format(" within {} s", rule.window_s) : "";
    const sidra_smi_status severity = grade(static_cast<double>(errors), rule, kDmaErrors, kNever);
    if (severity != kOk && page.dma_errors <= accepted)
        out.add(kOk, "dma", text + when + fmt::format(", {} accepted", count_text(accepted)));
    else
        out.add(severity, "dma", text + when,
                severity == kOk ? ""
                                : "check the kernel log for IOMMU faults; if the cause is known: sidra-smi health "
                                  "--acknowledge dma",
                static_cast<double>(page.dma_errors));
}

// A chip that has not told its UUID is known by its name.
std::string identity(const sidra_smi_chip& chip) { return chip.now.uuid ? chip.now.uuid.value : chip.name; }

std::string acknowledged_text(const Acknowledgement& known) {
    std::string text = " (acknowledged by " + known.by;
    if (known.until_s != 0)
        text += fmt::format(" until {:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<time_t>(known.until_s)));
    return text + (known.note.empty() ? ")" : ": " + known.note + ")");
}

// Reports a problem only after its hold time, and unless it is acknowledged.
void judge(HealthState& state, const std::string& chip, History& history, size_t number, Findings& out) {
    const sidra_smi_finding found = out.at(number);
    const std::string text = found.text;
    const uint64_t now = time_s(), hold_s = state.policy().rule(found.check).hold_s;
    Past& past = history.checks[found.check];
    const sidra_smi_status lasting = past.lasting(found.severity, now, hold_s);
    if (lasting < found.severity)
        out.amend(number, lasting, fmt::format("{} (for {} of {} s)", text, past.lasted_s(now), hold_s));
    const Acknowledgement* const known = state.acknowledgement(chip, found.check);
    if (known == nullptr) return;
    if (found.severity == SIDRA_SMI_OK) state.forget(*known);
    else if (known->covers(found.severity, out.measure(number), now))
        out.acknowledge(number, text + acknowledged_text(*known));
}

// Translates what the files of the state may fail with.
template <typename Body>
sidra_smi_status with_state(sidra_smi* session, const Body& body) {
    return guarded(session, [&]() -> sidra_smi_status {
        try {
            return body();
        } catch (const BadPolicy& e) {
            return fail(session, SIDRA_SMI_USAGE, e.what());
        } catch (const BadState& bad) {
            return fail(session, bad.error == EROFS ? SIDRA_SMI_PERMISSION : status_of(bad.error), bad.sentence);
        }
    });
}

void examine(sidra_smi_chip& chip, uint64_t accepted_dma_errors, History& history, Findings& out) {
    const Policy& policy = chip.session->health.policy();
    if (!check_presence(chip, out)) return;
    const sidra_telemetry& page = chip.now.telemetry.value;
    const bool limits = (page.valid & SIDRA_TELEMETRY_HAS_LIMITS) != 0;
    check_state(chip, page, out);
    check_firmware(chip, page, policy.rule("firmware"), out);
    check_temperature(page, limits, policy.rule("temperature"), out);
    check_power(page, limits, out);
    check_cells(page, policy.rule("cells"), out);
    check_endurance(page, policy.rule("endurance"), out);
    check_converters(page, policy.rule("converters"), out);
    check_link(chip, out);
    check_dma(page, policy.rule("dma"), accepted_dma_errors, history.checks["dma"], out);
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
    HealthState& state = chip->session->health;
    return with_state(chip->session, [&] {
        if (!state.has_policy()) state.load_policy();
        state.load_acknowledgements();
        Findings& out = chip->findings;
        out.clear();
        const std::string who = identity(*chip);
        History& history = state.history(who);
        examine(*chip, given.accepted_dma_errors, history, out);
        for (size_t n = 0; n < out.count(); ++n) judge(state, who, history, n, out);
        *findings = out.data();
        *count = out.count();
        return out.worst();
    });
}

sidra_smi_status sidra_smi_policy_load(sidra_smi* session) {
    if (session == nullptr) return SIDRA_SMI_USAGE;
    return with_state(session, [&] {
        session->health.load_policy();
        return SIDRA_SMI_OK;
    });
}

sidra_smi_status sidra_smi_history_load(sidra_smi* session) {
    if (session == nullptr) return SIDRA_SMI_USAGE;
    return with_state(session, [&] {
        session->health.load_histories();
        return SIDRA_SMI_OK;
    });
}

sidra_smi_status sidra_smi_history_save(sidra_smi* session) {
    if (session == nullptr) return SIDRA_SMI_USAGE;
    return with_state(session, [&] {
        if (session->health.policy().looks_back()) session->health.save_histories();
        return SIDRA_SMI_OK;
    });
}

sidra_smi_status sidra_smi_acknowledge(sidra_smi_chip* chip, const char* check, uint64_t until_s, const char* by,
                                       const char* note) {
    if (chip == nullptr || check == nullptr) return SIDRA_SMI_USAGE;
    HealthState& state = chip->session->health;
    return with_state(chip->session, [&] {
        if (!known_check(check))
            return fail(chip->session, SIDRA_SMI_USAGE, fmt::format("no such check: '{}'", clean(check)));
        if (!state.has_policy()) state.load_policy();
        Findings found;
        History scratch;
        examine(*chip, 0, scratch, found);
        for (size_t n = 0; n < found.count(); ++n) {
            const sidra_smi_finding& finding = found.at(n);
            if (std::string_view(finding.check) != check || finding.severity == SIDRA_SMI_OK) continue;
            state.acknowledge({identity(*chip), check, finding.severity, found.measure(n), time_s(), until_s,
                               clean(by != nullptr ? by : ""), clean(note != nullptr ? note : "")});
            return SIDRA_SMI_OK;
        }
        return fail(chip->session, SIDRA_SMI_USAGE,
                    fmt::format("{}: the check '{}' reports no problem that could be acknowledged", chip->name, check));
    });
}

sidra_smi_status sidra_smi_withdraw(sidra_smi_chip* chip, const char* check) {
    if (chip == nullptr || check == nullptr) return SIDRA_SMI_USAGE;
    return with_state(chip->session, [&] {
        if (chip->session->health.end(identity(*chip), check)) return SIDRA_SMI_OK;
        return fail(chip->session, SIDRA_SMI_USAGE,
                    fmt::format("{}: no problem of the check '{}' is acknowledged here", chip->name, clean(check)));
    });
}

bool sidra_smi_acknowledged(sidra_smi_chip* chip, const char* check, sidra_smi_acknowledgement* known) {
    if (chip == nullptr || check == nullptr) return false;
    const Acknowledgement* const found = chip->session->health.acknowledgement(identity(*chip), check);
    if (found == nullptr) return false;
    for (size_t n = 0; n < chip->findings.count(); ++n) {
        if (std::string_view(chip->findings.at(n).check) != check || !chip->findings.acknowledged(n)) continue;
        if (known != nullptr) *known = {found->time_s, found->until_s, found->by.c_str(), found->note.c_str()};
        return true;
    }
    return false;
}
