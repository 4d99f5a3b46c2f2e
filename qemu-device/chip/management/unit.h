// SPDX-License-Identifier: MIT
// The management core with its memory and the blocks around it: firmware/include/sidra_management.h says what firmware
// sees. Time is the chip's: the core is never ahead of it, but by the command that it waits for.
#ifndef SIDRA_MANAGEMENT_UNIT_H
#define SIDRA_MANAGEMENT_UNIT_H

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

// What the unit asks of the chip; called from run() only.
class Surroundings {
   public:
    // All of it, or false.
    virtual bool read_host(uint64_t bus, std::span<uint8_t> to) = 0;
    virtual bool write_host(uint64_t bus, std::span<const uint8_t> from) = 0;
    virtual void interrupt_host(uint32_t cause) = 0;  // SIDRA_INT_*

   protected:
    ~Surroundings() = default;
};

// What the host writes to the mailbox's registers.
struct MailboxRegisters {
    uint64_t request, reply;
    uint32_t entries, doorbell, reply_read;
};

// One thread at a time, but for what says any thread.
class Unit final : core::Bus {
   public:
    static constexpr uint64_t kNever = ~uint64_t{0};
    // The core is behind the chip's time by this many cycles at most: if its host stays away for longer, it loses the
    // rest.
    static constexpr uint64_t kLagMax = 60'000'000;
    // Cycles at work that one call of run() takes at most: some 0.1 ms of a processor's time.
    static constexpr uint64_t kSlice = 50'000;

    // `rom`: at most SIDRA_MGMT_ROM_SIZE bytes; copied. Powered on at cycle 0. std::runtime_error: libsodium does not
    // start.
    Unit(std::span<const uint8_t> rom, Surroundings& surroundings);

    // Starts the core anew in its ROM. RAM stays (for a dump), and so do flash, clock and the lowest security version.
    void restart(sidra_boot_reason reason);
    // As it was created, but for the flash.
    void clear();

    // What goes wrong on purpose. The core does nothing more until it is started anew; or goes on where nothing is.
    void hang() { hung_ = true; }
    void crash();

    // Runs the core to cycle `now` of the chip's, for `most` cycles at most, not counting those in which it sleeps.
    // Returns the cycle at which there is more to do: not after `now`, if `most` was too little; kNever, if it waits
    // for nothing but the host.
    uint64_t run(uint64_t now, uint64_t most = kSlice);

    // For a debugger. Whether that run has ended where the core was to stop; and one instruction, which time stands
    // still for but for its own cycle. One that waits is stepped over.
    bool at_stop() const { return at_stop_; }
    void step();

    // Any thread. The chip calls run() some time after.
    void ring(const MailboxRegisters& registers);  // the host wrote its doorbell
    void write_mailbox(const MailboxRegisters& registers);
    MailboxRegisters mailbox() const;
    sidra_boot_reason reason() const { return static_cast<sidra_boot_reason>(reason_.load()); }
    sidra_boot_stage stage() const { return static_cast<sidra_boot_stage>(stage_.load()); }
    uint32_t heartbeat() const { return heartbeat_.load(); }
    uint32_t panic() const { return panic_.load(); }
    uint32_t reply_index() const { return reply_index_.load(); }

    // All of it but RAM, flash, ROM, power() and sequencer(). Plain, without padding. What is loaded is not trusted;
    // false, and nothing has changed: no unit can be like that.
    struct Saved;
    Saved save() const;
    bool load(const Saved& saved);

    core::Rv32& core() { return core_; }
    const core::Rv32& core() const { return core_; }
    Flash& flash() { return flash_; }
    const Flash& flash() const { return flash_; }
    // Sensors and clock go on by themselves: power().advance() is the chip's to call.
    Power& power() { return power_; }
    const Power& power() const { return power_; }
    Sequencer& sequencer() { return sequencer_; }
    const Sequencer& sequencer() const { return sequencer_; }
    uint32_t security_version() const { return security_version_; }
    // Told the new one before it counts; false: it cannot be kept, and stays as it was.
    void keep_security_by(std::function<bool(uint32_t)> keep) { keep_security_ = std::move(keep); }
    void raise_security_version(uint32_t least);
    uint64_t cycle() const { return core_.state().cycles; }

   private:
    // Of the blocks, as the core has written it. Cleared when the core starts anew.
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
    uint32_t restart_ = kNoRestart;  // enum sidra_boot_reason that the core has asked for
    static constexpr uint32_t kNoRestart = ~0u;
    bool hung_ = false;
    bool at_stop_ = false;
    std::vector<uint8_t> buffer_;  // of a command

    std::atomic<uint32_t> reason_{SIDRA_BOOT_POWER_ON}, stage_{SIDRA_STAGE_RESET}, heartbeat_{0}, panic_{0},
        reply_index_{0};
    std::atomic<bool> rung_{false};
    std::atomic<uint64_t> mailbox_request_{0}, mailbox_reply_{0};
    std::atomic<uint32_t> mailbox_entries_{0}, mailbox_doorbell_{0}, mailbox_reply_read_{0};
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
