// SPDX-License-Identifier: MIT
// Finds queues that have work and make no progress, by the rules of the kernel driver's watchdog.
#ifndef SIDRA_EMBEDDED_WATCHDOG_H
#define SIDRA_EMBEDDED_WATCHDOG_H

#include <cstdint>

namespace sidra::embedded {

// What the watchdog sees of a queue at one moment.
struct QueueSight {
    bool work;          // runs, or is to run, has packets left, and does not wait for a semaphore or another queue
    uint64_t progress;  // of its state page: moves with each unit of work, however long the packet is
};

// The watchdog's memory of one queue.
class QueueWatch {
   public:
    enum class Verdict {
        kFine,
        kSuspicious,  // once for each standstill: its doorbell may have been lost, so ring it again
        kHung         // no progress for the limit: the queue must be stopped
    };
    // Device time counts, and of it at most `kStepNs` between two looks: a process that is not run, or is stopped in a
    // debugger, is no hang of the chip.
    static constexpr uint64_t kStepNs = 1'000'000'000;
    Verdict look(const QueueSight& sight, uint64_t device_ns, uint64_t limit_ns);

   private:
    static constexpr unsigned kSuspiciousLooks = 2;

    uint64_t progress_ = 0;
    unsigned looks_ = 0;        // in a row that found work and no progress
    uint64_t looked_ns_ = 0;    // device time of the last look
    uint64_t standing_ns_ = 0;  // without progress since it became suspicious
};

}  // namespace sidra::embedded

#endif
