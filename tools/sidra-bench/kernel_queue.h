// SPDX-License-Identifier: MIT
// A kernel queue of /dev/sidraN by itself, below libsidra, which uses user queues only.
#ifndef SIDRA_BENCH_KERNEL_QUEUE_H
#define SIDRA_BENCH_KERNEL_QUEUE_H

#include <cstdint>
#include <memory>
#include <string>

namespace sidra::bench {

class KernelQueue {
   public:
    explicit KernelQueue(const std::string& node);
    ~KernelQueue();

    // `calls` times: `batch` no-ops, then a wait until they are done, polled.
    void run_ioctl(uint32_t batch, uint64_t calls);  // one SUBMIT
    void run_uring(uint32_t batch, uint64_t calls);  // a command each, one io_uring_enter

    // Seconds until a no-op has retired again.
    double recover_queue();    // since a packet has faulted: reset of the queue
    double recover_context();  // since the context was found lost: recovery, and a new queue
    double recover_device();   // since a reset of the device was asked for, all of that included; for root only

   private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sidra::bench

#endif
