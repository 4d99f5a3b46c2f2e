// SPDX-License-Identifier: MIT
// A queue processor: position in the ring, the packet at hand, what is accounted but not yet published.
#ifndef SIDRA_CHIP_QUEUE_H
#define SIDRA_CHIP_QUEUE_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>

#include "context.h"
#include "cost_model.h"
#include "epochs.h"
#include "job.h"
#include "sidra_hw.h"

namespace sidra::chip {

class Queue {
   public:
    Queue(Context& c, uint32_t number) : context(c), id(number) {}

    Context& context;
    const uint32_t id;

    // Who runs it: 0 nobody, kClaimed one thread, kAgain one thread, and it is to look again when done. The upper half
    // is then the Scheduler::Pick::epoch of the doorbell that it is to look for: the thread may run by an older one.
    static constexpr uint64_t kClaimed = 1, kAgain = 2;
    static constexpr unsigned kEpochShift = 32;
    std::atomic<uint64_t> claim{0};
    std::atomic<uint32_t> slices{0};    // slices ended; a drain waits for claim 0 or another number
    std::atomic<bool> loaded{false};    // `entry` is valid; changed by the claimant, or while stopped and drained
    std::atomic<bool> recheck{false};   // quiesced: nothing of it is touched before the table entry was looked at again
    std::atomic<bool> deferred{false};  // a doorbell came while it was stopped
    Epochs epochs;
    std::atomic<uint32_t> vector{0};   // MSI-X vector of the entry
    std::atomic<bool> faulted{false};  // until reset
    // Device address of the word that the queue is parked for; with kUnmapped if its page went away meanwhile.
    static constexpr uint64_t kNoWord = uint64_t{1} << 63, kUnmapped = 1;
    static_assert(kNoWord >= end_of(Space::kDevice));
    std::atomic<uint64_t> word{kNoWord};
    // Belong to the admin command under way: it waits until the queue is not in that slice any more.
    bool draining = false;
    uint32_t draining_slice = 0;

    // The rest belongs to the claimant.
    uint32_t epoch = 0;  // Scheduler::Pick that it runs by
    sidra_hw_queue entry{};
    uint64_t index = 0;  // ring index of the next packet to retire
    uint64_t progress = 0;
    Cost total;
    uint64_t engine_ns[SIDRA_HW_ENGINE_COUNT] = {};  // as published
    bool parked = false;
    Address park_key{};

    // kWait: job.cmd is an unsatisfied SEM_WAIT. kJob: job is under way. kLoaded: job.cmd was under way when the chip
    // was saved, and starts anew at the unit `loaded_unit`.
    enum class Stage : uint8_t { kFetch, kWait, kJob, kLoaded };
    Stage stage = Stage::kFetch;
    uint32_t loaded_unit = 0;
    // Of the same packet, at level `accurate`; and what the units before cost.
    Products loaded_products{};
    Cost loaded_cost;
    Job job;
    uint32_t next_unit = 0;  // of the job

    struct Call {
        bool active = false;
        sidra_cmd_call cmd{};
        uint32_t position = 0;
        Cost cost;
    } call;

    void rewind(const sidra_hw_queue& fresh) {
        entry = fresh;
        vector.store(fresh.vector, std::memory_order_relaxed);
        index = fresh.start_index;
        progress = 0;
        total = {};
        std::fill(std::begin(engine_ns), std::end(engine_ns), 0);
        parked = false;
        stage = Stage::kFetch;
        call = {};
        epochs.begin(fresh.epoch, fresh.start_index, id);
        faulted.store(false, std::memory_order_release);
    }
};

}  // namespace sidra::chip

#endif
