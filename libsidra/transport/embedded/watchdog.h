// SPDX-License-Identifier: MIT
// Finds queues that have work but make no progress, with the rules of the kernel driver's watchdog.
#ifndef SIDRA_EMBEDDED_WATCHDOG_H
#define SIDRA_EMBEDDED_WATCHDOG_H

#include <cstdint>

namespace sidra::embedded {

// State of a queue at one moment.
struct QueueSight {
    bool work;          // runs or is ready, has packets left, and does not wait for a semaphore or another queue
    uint64_t progress;  // from its state page: changes with each unit of work, however long the packet is
};

// The watchdog's state for one queue.
class QueueWatch {
   public:
    enum class Verdict {
        kFine,
        kSuspicious,  // once per stall: its doorbell may have been lost, so ring it again
        kHung         // no progress within the limit: the queue must be stopped
    };
    // Only device time counts, and at most `kStepNs` between two checks: a process that is not scheduled, or is stopped
    // in a debugger, is not a hang of the chip.
    static constexpr uint64_t kStepNs = 1'000'000'000;
    Verdict look(const QueueSight& sight, uint64_t device_ns, uint64_t limit_ns);
    // What stood still was dropped. The progress of what comes now may begin with the same number.
    void restart() { looks_ = 0; }

   private:
    static constexpr unsigned kSuspiciousLooks = 2;

    uint64_t progress_ = 0;
    unsigned looks_ = 0;        // consecutive checks that found work and no progress
    uint64_t looked_ns_ = 0;    // device time of the last check
    uint64_t standing_ns_ = 0;  // time without progress since it became suspicious
};

}  // namespace sidra::embedded

#endif
