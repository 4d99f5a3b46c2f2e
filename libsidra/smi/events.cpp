// SPDX-License-Identifier: MIT
#include "events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "session.h"
#include "sidra_cmd.h"

namespace sidra::smi {
namespace {

constexpr auto kOk = SIDRA_SMI_OK;
constexpr auto kWarning = SIDRA_SMI_WARNING;
constexpr auto kCritical = SIDRA_SMI_CRITICAL;

// Counters whose growth is an event.
struct Counter {
    const char* field;
    const char* type;
    sidra_smi_status severity;
    const char* text;  // of one, and of several
    const char* texts;
};
constexpr Counter kCounters[] = {
    {"throttles", "throttle", kWarning, "the firmware lowered the clock", "the firmware lowered the clock {} times"},
    {"faults", "fault", kWarning, "a queue stopped with a fault", "{} queues stopped with a fault"},
    {"dma.errors", "dma-error", kWarning, "the host refused a DMA transfer", "the host refused {} DMA transfers"},
};
// Numbers that are compared in other ways.
constexpr const char* kOthers[] = {"generation", "heartbeat", "firmware.panic"};

uint64_t realtime_ns() {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// Causes as in enum sidra_fault_cause, in a few words.
std::string cause_text(uint64_t cause) {
    constexpr const char* kNames[SIDRA_FAULT_COUNT] = {"no fault",
                                                       "unknown opcode",
                                                       "invalid field",
                                                       "misaligned address",
                                                       "limit exceeded",
                                                       "address not mapped",
                                                       "no permission",
                                                       "DMA refused by the host",
                                                       "no such weights",
                                                       "no rights to weights",
                                                       "tile not programmed",
                                                       "value out of range",
                                                       "CALL inside CALL",
                                                       "packet not allowed",
                                                       "no such peer queue",
                                                       "ring overrun",
                                                       "damaged packet",
                                                       "no progress",
                                                       "reset on request",
                                                       "faulted producer",
                                                       "refused vector program"};
    return cause < std::size(kNames) ? kNames[cause] : fmt::format("cause {}", cause);
}

const uint64_t* find(const Seen& seen, const char* field) {
    const auto found = seen.numbers.find(field);
    return found == seen.numbers.end() ? nullptr : &found->second;
}

Seen look(sidra_smi_chip& chip) {
    Seen seen;
    const auto keep = [&](const char* field) {
        const sidra_smi_value value = sidra_smi_get_by_name(&chip, field);
        if (value.type == SIDRA_SMI_UINT) seen.numbers[field] = value.u;
    };
    for (const Counter& counter : kCounters) keep(counter.field);
    for (const char* field : kOthers) keep(field);
    seen.uuid = sidra_smi_text_of(&chip, "uuid");
    seen.status = sidra_smi_text_of(&chip, "status");
    if (chip.now.link_speed && chip.now.link_width)
        seen.link = fmt::format("{} x{}", chip.now.link_speed.value, chip.now.link_width.value);
    return seen;
}

}  // namespace

Events::Events(bool live) : kernel_(live ? std::make_unique<Uevents>() : nullptr) {}

void Events::wait(uint64_t timeout_ns) const {
    if (kernel_ != nullptr) return kernel_->wait(timeout_ns);
    const struct timespec moment = {static_cast<time_t>(timeout_ns / 1'000'000'000),
                                    static_cast<long>(timeout_ns % 1'000'000'000)};
    nanosleep(&moment, nullptr);
}

void Events::add(sidra_smi_chip& chip, const char* type, sidra_smi_status severity, std::string text, const char* check,
                 uint64_t count) {
    const char* const kept = texts_.emplace_back(std::move(text)).c_str();
    events_.push_back({realtime_ns(), &chip, type, severity, kept, check, count, first_});
}

void Events::report(sidra_smi_chip& chip, Seen& seen, const Uevent& event) {
    const std::string why = event.cause ? fmt::format(": {}", cause_text(*event.cause)) : "";
    if (event.event == "reset") {
        // A reading may have seen the new generation before, and then waits for this, or has waited long enough.
        if (const uint64_t* known = find(seen, "generation");
            event.generation && known && *known == *event.generation && !seen.reset_without_cause)
            return;
        if (event.generation) seen.numbers["generation"] = *event.generation;
        seen.reset_without_cause = false;
        add_reset(chip, why);
    } else if (event.event == "context-lost") {
        add(chip, "context-lost", kWarning,
            event.context ? fmt::format("context {} is lost{}", *event.context, why)
                          : fmt::format("a context is lost{}", why));
    } else if (event.event == "firmware-panic") {
        if (const uint64_t* known = find(seen, "firmware.panic"); event.panic && known && *known == *event.panic)
            return;
        if (event.panic) seen.numbers["firmware.panic"] = *event.panic;
        add(chip, "firmware-panic", kCritical,
            fmt::format("the firmware has panicked (code {})", event.panic.value_or(0)));
    } else if (event.event == "firmware-watchdog") {
        seen.numbers.erase("heartbeat");  // it begins again, which is this event
        add(chip, "firmware-watchdog", kCritical, "the firmware hung, and its watchdog restarted it");
    }
}

void Events::add_reset(sidra_smi_chip& chip, const std::string& why) {
    add(chip, "reset", kWarning, fmt::format("the chip was reset, and all contexts are lost{}", why));
}

void Events::compare_resets(sidra_smi_chip& chip, const Seen& before, Seen& now) {
    const auto grew = [&](const char* field) {
        const uint64_t *was = find(before, field), *is = find(now, field);
        return was != nullptr && is != nullptr && *is > *was;
    };
    const uint64_t *was = find(before, "heartbeat"), *is = find(now, "heartbeat");
    const bool again = was != nullptr && is != nullptr && *is < *was;
    if (grew("firmware.panic"))
        add(chip, "firmware-panic", kCritical,
            fmt::format("the firmware has panicked (code {})", *find(now, "firmware.panic")));
    if (before.reset_without_cause) add_reset(chip, "");
    if (grew("generation")) {
        // The kernel's event, which has the cause, comes a moment later.
        now.reset_without_cause = kernel_ != nullptr && chip.kind == SIDRA_SMI_CARD;
        if (!now.reset_without_cause) add_reset(chip, "");
    } else if (again && std::strcmp(sidra_smi_text_of(&chip, "boot.reason"), "watchdog") == 0) {
        add(chip, "firmware-watchdog", kCritical, "the firmware hung, and its watchdog restarted it");
    }
}

sidra_smi_status Events::compare_health(sidra_smi_chip& chip, const Seen& before, Seen& now) {
    const sidra_smi_finding* findings = nullptr;
    uint32_t count = 0;
    const sidra_smi_status status = sidra_smi_health(&chip, nullptr, &findings, &count);
    if (status != kOk && status != kWarning && status != kCritical) return status;
    for (uint32_t n = 0; n < count; ++n) {
        const sidra_smi_finding& finding = findings[n];
        now.findings[finding.check] = finding.severity;
        const auto was = before.findings.find(finding.check);
        if (finding.severity != (was == before.findings.end() ? kOk : was->second))
            add(chip, "health", finding.severity, fmt::format("{}: {}", finding.check, finding.text), finding.check);
    }
    return kOk;
}

void Events::compare(sidra_smi_chip& chip, Seen& before, Seen now) {
    for (const Counter& counter : kCounters) {
        const uint64_t *is = find(now, counter.field), *was = find(before, counter.field);
        if (is == nullptr || was == nullptr || *is <= *was) continue;
        const uint64_t count = *is - *was;
        add(chip, counter.type, counter.severity,
            count == 1 ? counter.text : fmt::format(fmt::runtime(counter.texts), count), nullptr, count);
    }
    compare_resets(chip, before, now);
    if (!before.link.empty() && !now.link.empty() && now.link != before.link)
        add(chip, "link", kWarning, fmt::format("the PCIe link changed from {} to {}", before.link, now.link));
    if (!before.status.empty() && !now.status.empty() && now.status != before.status)
        add(chip, "status", now.status == "ready" ? kOk : kWarning,
            fmt::format("the status changed from {} to {}", before.status, now.status));
    // What is absent now is compared with the former value when it is there again.
    now.numbers.merge(before.numbers);
    if (now.link.empty()) now.link = before.link;
    before = std::move(now);
}

sidra_smi_status Events::take(sidra_smi& session) {
    events_.clear();
    texts_.clear();
    std::vector<Uevent> reported;
    if (kernel_ != nullptr)
        while (auto event = kernel_->next()) reported.push_back(std::move(*event));
    if (const sidra_smi_status status = sidra_smi_refresh(&session); status != kOk) return status;
    for (const auto& owned : session.chips) {
        sidra_smi_chip& chip = *owned;
        const auto known = seen_.find(&chip);
        if (chip.gone) {
            if (known == seen_.end()) continue;
            add(chip, "gone", chip.kind == SIDRA_SMI_CARD ? kCritical : kOk,
                chip.kind == SIDRA_SMI_CARD ? "the card is gone" : "the process of the chip has ended");
            seen_.erase(known);
            continue;
        }
        Seen now = look(chip);
        const bool another = known != seen_.end() && !now.uuid.empty() && now.uuid != known->second.uuid;
        if (known == seen_.end() || another) {
            add(chip, "present", kOk, fmt::format("{}", now.status.empty() ? "present" : now.status));
            if (const sidra_smi_status status = compare_health(chip, {}, now); status != kOk) return status;
            seen_[&chip] = std::move(now);
            continue;
        }
        Seen& before = known->second;
        for (const Uevent& event : reported)
            if (event.node == chip.name) report(chip, before, event);
        if (const sidra_smi_status status = compare_health(chip, before, now); status != kOk) return status;
        compare(chip, before, std::move(now));
    }
    first_ = false;
    return kOk;
}

}  // namespace sidra::smi

using namespace sidra::smi;

sidra_smi_status sidra_smi_events(sidra_smi* session, uint64_t timeout_ns, const sidra_smi_event** events,
                                  uint32_t* count) {
    if (session == nullptr || events == nullptr || count == nullptr) return SIDRA_SMI_USAGE;
    *events = nullptr;
    *count = 0;
    return guarded(session, [&] {
        if (session->events == nullptr) session->events = std::make_unique<Events>(session->root.empty());
        else session->events->wait(timeout_ns);
        const sidra_smi_status status = session->events->take(*session);
        if (status != SIDRA_SMI_OK) return status;
        *events = session->events->all().data();
        *count = static_cast<uint32_t>(session->events->all().size());
        return status;
    });
}
