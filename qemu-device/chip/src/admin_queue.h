// SPDX-License-Identifier: MIT
// The admin queue: executes one command of software at a time, and resets of the device.
#ifndef SIDRA_CHIP_ADMIN_QUEUE_H
#define SIDRA_CHIP_ADMIN_QUEUE_H

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "admin_command.h"
#include "admin_memory.h"
#include "interrupts.h"
#include "knobs.h"
#include "quiesce.h"
#include "wakeups.h"

namespace sidra::chip {

class AdminQueue {
   public:
    // What it lets its chip do.
    class Device {
       public:
        // Returns everything but the admin queue to the state after a reset. All queues are stopped and idle.
        virtual void finish_reset() = 0;
        virtual void tell_failure() = 0;  // reports a failure of the state file to the host

       protected:
        ~Device() = default;
    };
    AdminQueue(Device& device, Quiesce& quiesce, AdminMemory& memory, Knobs& knobs, Interrupts& interrupts,
               Wakeups& wakeups)
        : device_(device),
          quiesce_(quiesce),
          memory_(memory),
          knobs_(knobs),
          interrupts_(interrupts),
          wakeups_(wakeups) {}

    // ---- Any thread.

    // For registers: these record and wake.
    void start(const AdminCommand& command);
    void start_reset();
    uint32_t status() const;  // the register
    bool resets() const { return reset_.load(); }

    // Whether a command or a reset waits or is in progress, and whether it could progress.
    bool any() const { return pending_.load() || reset_.load(); }
    bool ready() const { return any() && !blocked_.load(); }
    // Executes it as far as possible without waiting. Returns whether it did anything.
    bool step() { return any() && step_now(); }
    // Unblocks it after a claim has ended or a knob has changed.
    void poke();
    // Resets the device, and waits for that.
    void reset();

    // ---- No other call may run.

    struct State {
        uint32_t status;
        AdminCommand command;
        bool pending, begun, reset;
    };
    State save();
    // Returns false if the parts disagree, or the command is in progress, but would have been refused.
    bool load(const State& state);
    // Drops the command, and resets the device.
    void clear();

   private:
    bool step_now();
    void take_next();
    uint8_t begin();
    bool drained();
    std::optional<uint8_t> finish();
    void done(uint8_t result);
    void finish_reset();

    Device& device_;
    Quiesce& quiesce_;
    AdminMemory& memory_;
    Knobs& knobs_;
    Interrupts& interrupts_;
    Wakeups& wakeups_;

    std::atomic<bool> owner_{false};    // a thread executes the command; no thread waits for it
    std::atomic<bool> blocked_{false};  // cannot progress until a claim ends or a knob changes
    std::atomic<uint64_t> pokes_{0};    // changes when that may have happened
    std::atomic<bool> pending_{false};  // a command waits or is in progress
    std::atomic<bool> reset_{false};    // a device reset waits or is in progress; set under lock_

    // Of the owner; while neither a command nor a reset is pending, of start().
    AdminCommand command_;
    bool begun_ = false;
    bool again_ = false;  // it has begun before the chip was saved: it begins again, and so relies on no saved stop

    mutable std::mutex lock_;            // protects the rest
    std::atomic<bool> replaced_{false};  // by RESET_CONTEXT of its context, which is next; read without the lock, too
    uint32_t next_ = 0;
    uint32_t status_ = 0;
};

}  // namespace sidra::chip

#endif
