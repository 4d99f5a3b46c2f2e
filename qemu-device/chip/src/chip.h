// SPDX-License-Identifier: MIT
// The chip: its parts, put together, and the execution of queues. Who may touch what:
//
//   MMIO                 registers, ready bits, ARM values; no memory (registers.h)
//   run()                everything of the queue that the thread has claimed, until its slice ends
//   units                the job, which does not change meanwhile, and the flight of their queue (flight.h). With an
//                        engine that completes later, its threads run them after the slice, and the claim lasts: no
//                        other thread touches the queue.
//   landed()             the same queue: on the engine's thread that has done the last piece, or on that of run() if
//                        the slice ends after it. It ends the claim.
//   admin commands       a scope that is stopped and drained (quiesce.h)
//   save, load, close    everything: no other call runs, and they wait for units in flight first (chip_stream.h)
#ifndef SIDRA_CHIP_CHIP_H
#define SIDRA_CHIP_CHIP_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

#include "adcs.h"
#include "admin_queue.h"
#include "arms.h"
#include "array.h"
#include "busy.h"
#include "chip_clock.h"
#include "chip_stream.h"
#include "counters.h"
#include "dma.h"
#include "engine.h"
#include "gdb_listener.h"
#include "identity.h"
#include "in_flight.h"
#include "interrupts.h"
#include "kept_state.h"
#include "knobs.h"
#include "loader.h"
#include "maintenance.h"
#include "management.h"
#include "objects.h"
#include "parked.h"
#include "registers.h"
#include "scheduler.h"
#include "sidra_chip.h"
#include "slice_host.h"
#include "state_keeper.h"
#include "stops.h"
#include "telemetry.h"
#include "trace.h"
#include "volatile_state.h"
#include "wakeups.h"

namespace sidra::chip {

class Chip : private SliceHost, private AdminQueue::Device {
   public:
    Chip(const Geometry& geometry, std::unique_ptr<engine::Engine> engine, uint64_t seed, bool persistent,
         std::unique_ptr<Analog> analog, const sidra_chip_host& host);
    virtual ~Chip() { close_state_file(); }
    // Called once before anything else; replaces the UUID derived from the seed.
    void set_uuid(const uint8_t (&uuid)[16]) { std::copy(std::begin(uuid), std::end(uuid), identity_.uuid.begin()); }
    // Called once, before anything except set_uuid(). Throws StateFileError.
    void open_state_file(const char* path) { keeper_.open(path); }
    void close_state_file();  // no other call may run; waits as settle()

    uint64_t mmio_read(uint64_t offset, unsigned size) { return registers_.read(offset, size); }
    void mmio_write(uint64_t offset, uint64_t value, unsigned size) { registers_.write(offset, value, size); }
    bool run(const Lender& lender);
    bool pending() const;
    uint64_t due_ns() const;
    void settle() { in_flight_.settle(); }
    const InFlight& in_flight() const { return in_flight_; }
    void reset() { admin_.reset(); }
    void start_reset() { admin_.start_reset(); }
    bool set_knob(uint32_t knob, uint64_t value);
    // For monitors; any thread.
    sidra_telemetry telemetry() const { return registers_.telemetry(); }
    bool xbar_headers(uint32_t first, uint32_t count, sidra_hw_xbar* headers) const;
    uint64_t xbar_changes() const { return array_.changes(); }

    // Called once, before anything else. Throws TraceError.
    void open_trace(const char* path);
    void end_trace() {
        if (trace_) trace_->end();
    }

    // Throws GdbError, std::system_error.
    void gdb_listen(const std::string& address);
    void gdb_close() { gdb_listener_.reset(); }

    // Saves and loads the chip; says itself what may run meanwhile.
    ChipStream& stream() { return stream_; }
    // Makes the state file and the trace durable. Any thread.
    bool sync();

    uint8_t* l3() { return l3_.data(); }
    uint64_t l3_size() const { return l3_.size(); }
    const char* engine_name() const { return engine_->can().name; }
    const Array& array() const { return array_; }

   private:
    // For slices (SliceHost) and admin commands (AdminQueue::Device).
    uint64_t clock_ns() const final { return clock_.now_ns(); }
    double cells_now() const final { return array_.cells_now(clock_); }
    bool may_go_on(const Queue& queue) const final;
    void check_arm(Queue& queue) final { arms_.check(queue); }
    void wake_parked(const Address& key) final { wakeups_.wake_parked(key); }
    void interrupt(uint32_t cause) final { interrupts_.raise_for(cause); }
    void tell_failure() final { keeper_.tell_failure(); }
    void landed(Queue& queue) final;
    void finish_reset() final;

    // ---- run.cpp
    bool can_run() const;
    bool run_queue(const Scheduler::Pick& pick, const Lender& lender);
    void release(Queue& queue, uint32_t epoch, bool again);

    const sidra_chip_host host_;
    Identity identity_;
    ChipClock clock_{host_};
    Knobs knobs_;
    Counters counters_;
    std::unique_ptr<Trace> trace_;  // null: no trace

    // Memory and crossbars.
    LazyMemory l3_;
    Bus bus_;
    Array array_;
    Adcs adcs_;

    // Queues.
    Objects objects_;
    Scheduler scheduler_;
    Parked parked_;
    Stops stops_;
    Busy busy_{host_};
    InFlight in_flight_;
    Interrupts interrupts_{host_, bus_, knobs_, counters_};
    Arms arms_{interrupts_};
    Wakeups wakeups_{host_, scheduler_, parked_};
    Loader loader_{bus_, knobs_, scheduler_, parked_, wakeups_, arms_};

    // What manages them.
    Maintenance maintenance_{array_, adcs_, clock_, counters_};
    Management management_;
    Quiesce quiesce_{{bus_, objects_, stops_, scheduler_, wakeups_, loader_, management_}};
    AdminMemory admin_memory_{bus_, array_, l3_, clock_, knobs_};
    AdminQueue admin_{*this, quiesce_, admin_memory_, knobs_, interrupts_, wakeups_};
    const Telemetry telemetry_{{clock_, bus_, array_, adcs_, objects_, loader_, counters_, busy_, management_}};
    Registers registers_{{identity_, clock_, bus_, stops_, objects_, telemetry_, knobs_, counters_, interrupts_,
                          wakeups_, arms_, loader_, management_, admin_}};

    // Saving.
    KeptState kept_state_{identity_, clock_, array_, management_};
    VolatileState volatile_state_{{clock_, bus_, l3_, array_, adcs_, objects_, scheduler_, stops_, counters_, busy_,
                                   interrupts_, arms_, loader_, management_, admin_, registers_}};
    StateKeeper keeper_{host_, clock_, array_, management_, kept_state_};
    ChipStream stream_{{identity_, array_, in_flight_, wakeups_, kept_state_, volatile_state_, keeper_}};

    std::unique_ptr<engine::Engine> engine_;     // completes its work before the other members are destroyed
    std::unique_ptr<GdbListener> gdb_listener_;  // last: its thread ends first
};

}  // namespace sidra::chip

// What the C interface gives its host.
struct sidra_chip final : sidra::chip::Chip {
    using Chip::Chip;
};

#endif
