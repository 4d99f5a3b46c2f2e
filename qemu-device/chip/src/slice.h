// SPDX-License-Identifier: MIT
// One or more turns of one queue on one thread: fetches, checks and executes packets until the ring is empty, the queue
// parks or faults, units of it are in an engine that completes later, or its turn has ended and another queue waits for
// the chip or the lender for its thread.
#ifndef SIDRA_CHIP_SLICE_H
#define SIDRA_CHIP_SLICE_H

#include <cstdint>
#include <optional>
#include <string_view>

#include "slice_host.h"

namespace sidra::chip {

class Slice {
   public:
    // kInFlight: units are in the engine. The caller does what remains of the slice, and then calls Flight::leave().
    enum class Outcome { kIdle, kMore, kInFlight };

    Slice(SliceHost& host, Queue& queue, const Lender& lender);
    ~Slice();
    Slice(const Slice&) = delete;
    Slice& operator=(const Slice&) = delete;

    Outcome run();
    // The work of the last turn. During the earlier turns no other queue waited.
    uint64_t turn_work() const { return work_ - turn_begin_; }

   private:
    enum class Step { kRetired, kYield, kInFlight, kParked, kFault, kEmpty };

    bool open();  // maps the state page; again after a bus error, as a check of the access
    bool next_turn();
    void account();
    void account_work();
    void show_engine_time();
    void work_on(std::optional<sidra_hw_engine> engine);  // nullopt: no engine works for the queue
    Step go_on(bool resumed);
    Step step();
    Fault fetch(bool* empty);
    const Env& environment(const Products* loaded = nullptr);
    Step execute();
    Step loaded();
    Step run_job(const Env& env, bool resumed);
    Step take_off();
    Step landed();
    Step finish_units(const Env& env);
    std::optional<Step> take_readouts(const Env& env);
    void release_readouts();
    void wake_for_readouts();
    Step semaphore_wait();
    void park(const Address& key);
    void parked_leave();
    Fault timeline_satisfied(const sidra_cmd_sem& wait, bool* satisfied, Address* key);
    Fault semaphore_satisfied(const sidra_cmd_sem& wait, bool* satisfied, Address* key);
    Fault semaphore_signal();
    Fault timestamp();
    Fault call();
    Fault label();
    void retire(const Cost& cost);
    Trace::Packet traced() const;
    void trace_label(std::string_view text);
    void report(uint64_t sequence, const Cost& cost, uint32_t cookie, uint8_t opcode, uint16_t cause);
    void publish();
    Step fault(const Fault& fault);
    Step stop_untold();
    void end_epoch(const Root& root);
    const sidra_cmd& cmd() const { return queue_.job.cmd; }
    bool kernel() const { return queue_.entry.flags & SIDRA_HW_QUEUE_KERNEL; }

    SliceHost& host_;
    const SliceHost::Parts& chip_;
    Queue& queue_;
    const Lender& lender_;
    Tlb& tlb_;
    const uint64_t turn_work_;  // estimated ns of all threads
    uint64_t turn_end_;         // by work_
    const AddressSpace space_;
    const QueueMemory at_;
    Dma memory_;        // memory of single packets
    Dma state_memory_;  // state page
    PageWindow ring_, recorded_, reports_, programs_, tables_;
    OperandPages pages_;
    Env env_;
    sidra_queue_state* state_ = nullptr;
    uint64_t write_index_ = 0;
    uint64_t work_ = 0;        // ns, estimated
    uint64_t turn_begin_ = 0;  // by work_
    uint64_t unpublished_work_ = 0;
    uint64_t unpublished_packets_ = 0;
    std::optional<sidra_hw_engine> engine_;  // works for the queue since `engine_since_`
    uint64_t engine_since_ = 0;
    Root producer_;  // of a fault with the cause PRODUCER: where it began

    // Telemetry that is not counted yet.
    uint64_t packets_ = 0, call_packets_ = 0;
    Cost cost_;
    Work done_;
    uint64_t engine_ns_[SIDRA_HW_ENGINE_COUNT] = {};
};

}  // namespace sidra::chip

#endif
