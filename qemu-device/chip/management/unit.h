// SPDX-License-Identifier: MIT
// The management core with its memory and the blocks around it, as firmware/include/sidra_management.h describes them.
// Time is the chip's: the core is never ahead of it, except by the command that it waits for.
#ifndef SIDRA_MANAGEMENT_UNIT_H
#define SIDRA_MANAGEMENT_UNIT_H

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "flash.h"
#include "power.h"
#include "rv32.h"
#include "sequencer.h"
#include "sidra_hw.h"
#include "sidra_management.h"
#include "verifier.h"

namespace sidra::management {

// The services that the unit needs from the chip; called from run() only.
class Surroundings {
   public:
    // Transfers everything, or returns false.
    virtual bool read_host(uint64_t bus, std::span<uint8_t> to) = 0;
    virtual bool write_host(uint64_t bus, std::span<const uint8_t> from) = 0;
    virtual void interrupt_host(uint32_t cause) = 0;  // SIDRA_INT_*

   protected:
    ~Surroundings() = default;
};

// The mailbox registers that the host writes, in words, and their values.
enum class MailboxWord : uint8_t { kRequest, kRequestHigh, kReply, kReplyHigh, kEntries, kDoorbell, kReplyRead };
struct MailboxRegisters {
    uint64_t request, reply;
    uint32_t entries, doorbell, reply_read;
};

// One thread at a time, except for functions marked "any thread".
class Unit final : core::Bus {
   public:
    static constexpr uint64_t kNever = ~uint64_t{0};
    // The core lags behind the chip's time by at most this many cycles. If the host does not run it for longer, the
    // additional time is lost.
    static constexpr uint64_t kLagMax = 60'000'000;
    // The largest number of active cycles in one call of run(): some 0.1 ms of host time.
    static constexpr uint64_t kSlice = 50'000;

    // Copies `rom`, at most SIDRA_MGMT_ROM_SIZE bytes, and powers on at cycle 0. Throws std::runtime_error if libsodium
    // cannot be initialised.
    Unit(std::span<const uint8_t> rom, Surroundings& surroundings);

    // Restarts the core in its ROM. RAM (for a dump), flash, clock and the lowest security version are kept.
    void restart(sidra_boot_reason reason);
    // Resets everything except the flash to its initial state.
    void clear();

    // Fault injection: hang() stops the core until it is restarted; panic() makes it continue where there is no code.
    void hang() { hung_ = true; }
    void crash();

    // Runs the core up to cycle `now` of the chip's time, for at most `most` cycles, not counting cycles in which it
    // sleeps. Returns the cycle at which there is more to do: at most `now` if `most` was too small, and kNever if only
    // the host can cause more work.
    uint64_t run(uint64_t now, uint64_t most = kSlice);

    // For a debugger: at_stop() says whether run() ended at a breakpoint or watchpoint. step() executes one
    // instruction, which takes no time except its own cycle; a WFI completes at once.
    bool at_stop() const { return at_stop_; }
    void step();

    // Any thread. The chip calls run() afterwards.
    void ring() { rung_ = true; }  // the host wrote its doorbell
    void write_mailbox(MailboxWord word, uint32_t value) { mailbox_[static_cast<size_t>(word)] = value; }
    void write_mailbox(const MailboxRegisters& registers);
    uint32_t mailbox(MailboxWord word) const { return mailbox_[static_cast<size_t>(word)]; }
    sidra_boot_reason reason() const { return static_cast<sidra_boot_reason>(reason_.load()); }
    sidra_boot_stage stage() const { return static_cast<sidra_boot_stage>(stage_.load()); }
    uint32_t heartbeat() const { return heartbeat_.load(); }
    uint32_t panic() const { return panic_.load(); }
    uint32_t reply_index() const { return reply_index_.load(); }

    // The state except RAM, flash, ROM, power() and sequencer(), as a plain struct without padding. A loaded state is
    // not trusted: load() returns false without any change if no unit can have it.
    struct Saved;
    Saved save() const;
    bool load(const Saved& saved);

    core::Rv32& core() { return core_; }
    const core::Rv32& core() const { return core_; }
    Flash& flash() { return flash_; }
    const Flash& flash() const { return flash_; }
    // Sensors and clock are independent of the core: the chip calls power().advance().
    Power& power() { return power_; }
    const Power& power() const { return power_; }
    Sequencer& sequencer() { return sequencer_; }
    const Sequencer& sequencer() const { return sequencer_; }
    uint32_t security_version() const { return security_version_; }
    // `keep` is called with the new lowest security version before it takes effect. If it returns false, the version
    // cannot be stored, and does not change.
    void keep_security_by(std::function<bool(uint32_t)> keep) { keep_security_ = std::move(keep); }
    void raise_security_version(uint32_t least);
    uint64_t cycle() const { return core_.state().cycles; }

   private:
    // Registers of the blocks as the core has written them; cleared when the core restarts.
    struct Registers {
        uint64_t timer_latch, timer_compare;
        uint32_t irq_pending, irq_enable;
        uint64_t watchdog_period, watchdog_fed;
        uint32_t watchdog_warned, reserved;
        uint32_t copy_bus[2], copy_local, copy_bytes, copy_result;
        uint32_t verify_address, verify_bytes, verify_result;
        uint32_t flash_offset, flash_local, flash_bytes, flash_result;
        Verifier verifier;
    };

    bool load(uint32_t address, uint32_t bytes, uint32_t* value) override;
    bool store(uint32_t address, uint32_t bytes, uint32_t value) override;
    uint32_t* plain_register(uint32_t address);
    sidra_mgmt_result copy(uint32_t command);
    sidra_mgmt_result verify(uint32_t command);
    sidra_mgmt_result flash(uint32_t command);
    bool keeps_security(uint32_t least) const;
    void stand(uint64_t cycles) { core_.state().cycles += cycles; }

    void set_lines();
    void take_events();
    uint64_t next_event() const;
    uint64_t watchdog_ends() const;
    uint64_t watchdog_due() const;
    bool leave_panic(uint64_t now);
    void lose_time(uint64_t now);

    Surroundings& surroundings_;
    core::Rv32 core_;
    Flash flash_;
    Power power_;
    Sequencer sequencer_;
    Registers registers_{};
    uint32_t security_version_ = 0;
    std::function<bool(uint32_t)> keep_security_;
    uint32_t restart_ = kNoRestart;  // enum sidra_boot_reason of a requested restart
    static constexpr uint32_t kNoRestart = ~0u;
    bool hung_ = false;
    bool at_stop_ = false;
    std::vector<uint8_t> buffer_;  // buffer of a command

    std::atomic<uint32_t> reason_{SIDRA_BOOT_POWER_ON}, stage_{SIDRA_STAGE_RESET}, heartbeat_{0}, panic_{0},
        reply_index_{0};
    std::atomic<bool> rung_{false};
    std::array<std::atomic<uint32_t>, 7> mailbox_{};  // by MailboxWord
};

struct Unit::Saved {
    core::State core;
    Registers registers;
    uint64_t mailbox_request, mailbox_reply;
    uint32_t mailbox_entries, mailbox_doorbell, mailbox_reply_read, reply_index;
    uint32_t reason, stage, heartbeat, panic, restart;
    uint32_t rung, hung, reserved;
};

}  // namespace sidra::management

#endif
