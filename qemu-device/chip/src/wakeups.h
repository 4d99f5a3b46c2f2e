// SPDX-License-Identifier: MIT
// Makes queues ready, and wakes the host's threads for them.
#ifndef SIDRA_CHIP_WAKEUPS_H
#define SIDRA_CHIP_WAKEUPS_H

#include <cstdint>

#include "objects.h"
#include "parked.h"
#include "scheduler.h"
#include "sidra_chip.h"

namespace sidra::chip {

// Any thread.
class Wakeups {
   public:
    Wakeups(const sidra_chip_host& host, Scheduler& scheduler, Parked& parked)
        : host_(host), scheduler_(scheduler), parked_(parked) {}

    // After a doorbell.
    void make_ready(uint32_t context, uint32_t queue) {
        if (scheduler_.mark_ready(context, queue)) kick();
    }
    // Has no effect if the queue was reset after `epoch` (Scheduler::Pick).
    void look_again(const Queue& queue, uint32_t epoch) {
        if (scheduler_.mark_ready_again(queue.context.id, queue.id, epoch)) kick();
    }
    // Wakes the queues that wait for the key, or a queue whatever it waits for.
    void wake_parked(const Address& key) {
        parked_.wake(key, [this](const Queue& queue, uint32_t epoch) { look_again(queue, epoch); });
    }
    void wake_parked(const Queue& queue) {
        parked_.wake_queue(&queue, [this](const Queue& woken, uint32_t epoch) { look_again(woken, epoch); });
    }
    // For other work than that of queues.
    void kick() { host_.kick(host_.self); }

   private:
    const sidra_chip_host& host_;
    Scheduler& scheduler_;
    Parked& parked_;
};

}  // namespace sidra::chip

#endif
