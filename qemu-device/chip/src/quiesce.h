// SPDX-License-Identifier: MIT
// Stops, resumes and resets queues: QUIESCE, RESUME and RESET_*. They work alike in all scopes: stop (no new slices),
// drain (wait for claims from before), invalidate, acknowledge.
#ifndef SIDRA_CHIP_QUIESCE_H
#define SIDRA_CHIP_QUIESCE_H

#include <cstdint>

#include "admin_command.h"
#include "dma.h"
#include "loader.h"
#include "management.h"
#include "objects.h"
#include "scheduler.h"
#include "stops.h"
#include "wakeups.h"

namespace sidra::chip {

// One thread at a time. Commands have passed AdminCommand::check(). A scope is changed only after it was stopped and
// drained: then it has no claim, and gets none.
class Quiesce {
   public:
    struct Parts {
        Bus& bus;
        Objects& objects;
        Stops& stops;
        Scheduler& scheduler;
        Wakeups& wakeups;
        Loader& loader;
        Management& management;
    };
    explicit Quiesce(const Parts& parts) : parts_(parts) {}

    // Stops the scope of the command.
    void begin(const AdminCommand& command);
    // Whether every claim that was there when the command began has ended: that of a slice, or of units in flight.
    bool drained(const AdminCommand& command);
    void finish(const AdminCommand& command);
    // Undoes begin().
    void cancel(const AdminCommand& command);

    // A reset of the device: all queues are stopped first, then idle, and what they were is gone last.
    void stop_all() { parts_.stops.device.store(true); }
    bool idle() const;
    void forget_all();

   private:
    template <typename F>
    void for_each_in_scope(const AdminCommand& command, F&& visit);  // queues
    Context* context_of(const AdminCommand& command) const;          // null: all, or none
    void set_stop(const AdminCommand& command, bool stop);
    void fault_unmapped_waits(const AdminCommand& command);
    void show_stopped(const AdminCommand& command);
    void end_epoch(const AdminCommand& command);
    void reset(const AdminCommand& command);

    const Parts parts_;
};

}  // namespace sidra::chip

#endif
