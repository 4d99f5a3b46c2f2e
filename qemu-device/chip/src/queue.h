// SPDX-License-Identifier: MIT
// A queue processor: its position in the ring, the current packet, and accounting that is not yet published.
#ifndef SIDRA_CHIP_QUEUE_H
#define SIDRA_CHIP_QUEUE_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>

#include "context.h"
#include "cost_model.h"
#include "epochs.h"
#include "flight.h"
#include "job.h"
#include "sidra_hw.h"

namespace sidra::chip {

class Queue {
   public:
    Queue(Context& c, uint32_t number) : context(c), id(number), flight(*this) {}

    Context& context;
    const uint32_t id;

    // Which threads run the queue: 0: none; kClaimed: one thread; kAgain: one thread, which must check the queue again
    // when it is done. With kAgain, the upper half is the Scheduler::Pick::epoch of the new doorbell; the thread may
    // run with an older one.
    static constexpr uint64_t kClaimed = 1, kAgain = 2;
    static constexpr unsigned kEpochShift = 32;
    std::atomic<uint64_t> claim{0};
    std::atomic<uint32_t> slices{0};    // number of claims ended; a drain waits for claim 0 or a change
    std::atomic<bool> loaded{false};    // `entry` is valid; changed with the claim, or while stopped and drained
    std::atomic<bool> recheck{false};   // quiesced: the table entry must be read again before any use
    std::atomic<bool> deferred{false};  // a doorbell arrived while the queue was stopped
    Epochs epochs;
    std::atomic<uint32_t> vector{0};   // MSI-X vector of the entry
    std::atomic<bool> faulted{false};  // until reset
    // Device address of the word that the parked queue waits for; kUnmapped is set if its page was unmapped meanwhile.
    static constexpr uint64_t kNoWord = uint64_t{1} << 63, kUnmapped = 1;
    static_assert(kNoWord >= end_of(Space::kDevice));
    std::atomic<uint64_t> word{kNoWord};
    // For the current admin command, which waits until the claim of that number has ended.
    bool draining = false;
    uint32_t draining_slice = 0;

    // The rest belongs to the thread with the claim.
    uint32_t epoch = 0;  // Scheduler::Pick::epoch with which it runs
    sidra_hw_queue entry{};
    uint64_t index = 0;  // ring index of the next packet to retire
    uint64_t progress = 0;
    Cost total;
    uint64_t engine_ns[SIDRA_HW_ENGINE_COUNT] = {};  // as published
    bool parked = false;
    Address park_key{};

    // `parked` in other stages than kWait: the packet waits for readouts, to go on (kJob) or to begin.
    // kWait: job.cmd is an unsatisfied SEM_WAIT. kJob: job is in progress. kInFlight: units of it are in the
    // engine, or have run if the queue is not claimed. kLoaded: job.cmd was in progress when the chip was saved,
    // and restarts at the unit `loaded_unit`, or ends with the fault of a unit that was in the engine then.
    enum class Stage : uint8_t { kFetch, kWait, kJob, kInFlight, kLoaded };
    Stage stage = Stage::kFetch;
    uint32_t loaded_unit = 0;
    // State of the same packet: its products at level `accurate`, the cost of its earlier units, and that fault.
    Products loaded_products{};
    Cost loaded_cost;
    Fault loaded_fault;
    Job job;
    uint32_t next_unit = 0;  // next unit of the job
    Flight flight;
    bool has_job() const { return stage == Stage::kJob || stage == Stage::kInFlight; }

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
