// SPDX-License-Identifier: MIT
#include "management.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "factory/factory.h"
#include "sidra_chip.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kPauseNs = 50'000;            // pause of a busy core that has caught up with the clock
constexpr uint64_t kComparatorNs = 100'000'000;  // interval of the thermal comparator, which works without the core

using management::MailboxWord;

// The word of the mailbox that is the register at this offset.
std::optional<MailboxWord> mailbox_word(uint64_t offset) {
    switch (offset) {
        case SIDRA_REG_MAILBOX_REQUEST:
            return MailboxWord::kRequest;
        case SIDRA_REG_MAILBOX_REQUEST + 4:
            return MailboxWord::kRequestHigh;
        case SIDRA_REG_MAILBOX_REPLY:
            return MailboxWord::kReply;
        case SIDRA_REG_MAILBOX_REPLY + 4:
            return MailboxWord::kReplyHigh;
        case SIDRA_REG_MAILBOX_ENTRIES:
            return MailboxWord::kEntries;
        case SIDRA_REG_MAILBOX_DOORBELL:
            return MailboxWord::kDoorbell;
        case SIDRA_REG_MAILBOX_REPLY_READ:
            return MailboxWord::kReplyRead;
        default:
            return std::nullopt;
    }
}

}  // namespace

Management::Management(Bus& bus, const std::atomic<bool>& stopped, const std::atomic<uint64_t>& energy_pj,
                       std::function<void(uint32_t)> interrupt, std::function<bool(uint32_t)> lies)
    : bus_(bus),
      stopped_(stopped),
      energy_pj_(energy_pj),
      interrupt_(std::move(interrupt)),
      lies_(std::move(lies)),
      unit_({sidra_boot_rom, sidra_boot_rom_end}, *this) {
    fill_flash();
}

void Management::fill_flash() {
    const std::span<uint8_t> flash = unit_.flash().bytes();
    const auto fill = [&](uint32_t slot, const uint8_t* begin, const uint8_t* end) {
        std::copy(begin, end, flash.begin() + SIDRA_MGMT_FLASH_SLOT(slot));
    };
    std::memset(flash.data(), management::Flash::kErased, flash.size());
    fill(SIDRA_MGMT_SLOT_A, sidra_factory_runtime, sidra_factory_runtime_end);
    fill(SIDRA_MGMT_SLOT_RECOVERY, sidra_factory_recovery, sidra_factory_recovery_end);
}

bool Management::write_host(uint64_t bus, std::span<const uint8_t> from) {
    if (from.size() == sizeof(sidra_mailbox_msg) && lies_(SIDRA_LIE_REPLY)) {
        std::array<uint8_t, sizeof(sidra_mailbox_msg)> ones;
        ones.fill(0xff);
        return bus_.write({Space::kBus, bus, ones.size()}, ones.data());
    }
    return bus_.write({Space::kBus, bus, from.size()}, from.data());
}

void Management::clear() {
    unit_.clear();
    fill_flash();
    asked_.store(0);
    wake();
}

bool Management::run(uint64_t clock_ns) {
    if (due_ns_.load() > clock_ns) return false;
    const std::unique_lock guard(lock_, std::try_to_lock);
    if (!guard || stopped_.load()) return false;
    due_ns_.store(kNever);  // a later wakeup is seen by the core, or makes the exchange below fail
    if (const uint32_t asked = asked_.exchange(0)) {
        if (asked & kHang) unit_.hang();
        if (asked & kCrash) unit_.crash();
    }
    if (unit_.power().advance(clock_ns, energy_pj_.load(std::memory_order_relaxed))) interrupt_(SIDRA_INT_THERMAL);
    uint64_t unchanged = kNever;
    if (debugger_.there() && !debugger_.lets_run()) {
        due_ns_.compare_exchange_strong(unchanged, clock_ns + kComparatorNs);
        return true;
    }
    const uint64_t now = clock_ns / SIDRA_MGMT_CYCLE_NS, next = unit_.run(now);
    if (unit_.at_stop()) debugger_.stopped();
    uint64_t due = next == management::Unit::kNever ? kNever
                   : next < now                     ? 0
                                                    : std::max(next * SIDRA_MGMT_CYCLE_NS, clock_ns + kPauseNs);
    due = std::min(due, clock_ns + kComparatorNs);
    due_ns_.compare_exchange_strong(unchanged, due);
    return true;
}

bool Management::drained() {
    const std::unique_lock guard(lock_, std::try_to_lock);
    return guard.owns_lock();
}

void Management::reset() {
    const std::lock_guard guard(lock_);
    unit_.restart(SIDRA_BOOT_RESET);
    wake();
}

bool Management::read(uint64_t offset, uint32_t* value) const {
    if (const auto word = mailbox_word(offset)) {
        *value = unit_.mailbox(*word);
        return true;
    }
    switch (offset) {
        case SIDRA_REG_BOOT_REASON:
            *value = unit_.reason();
            return true;
        case SIDRA_REG_HEARTBEAT:
            *value = unit_.heartbeat();
            return true;
        case SIDRA_REG_PANIC:
            *value = unit_.panic();
            return true;
        case SIDRA_REG_MAILBOX_REPLY_INDEX:
            *value = unit_.reply_index();
            return true;
        default:
            return false;
    }
}

// Only the word that is written: a restart of the core, on another thread, clears the others.
bool Management::write(uint64_t offset, uint32_t value) {
    const auto word = mailbox_word(offset);
    if (!word) return false;
    unit_.write_mailbox(*word, value);
    if (*word == MailboxWord::kDoorbell) {
        unit_.ring();
        wake();
    }
    return true;
}

uint32_t Management::status() const {
    const uint32_t stage = unit_.stage();
    return stage | (stage == SIDRA_STAGE_RUNTIME ? SIDRA_STATUS_FIRMWARE_ALIVE : 0) |
           (unit_.power().throttled() ? SIDRA_STATUS_THROTTLED : 0);
}

management::Power::Published Management::published() const {
    management::Power::Published published = unit_.power().published();
    if (unit_.stage() != SIDRA_STAGE_RUNTIME) published.valid = 0;
    return published;
}

}  // namespace sidra::chip
