// SPDX-License-Identifier: MIT
// What a slice needs of its chip: the parts that it works with, and the few things that it lets the chip do.
#ifndef SIDRA_CHIP_SLICE_HOST_H
#define SIDRA_CHIP_SLICE_HOST_H

#include <cstdint>
#include <memory>

#include "adcs.h"
#include "array.h"
#include "busy.h"
#include "counters.h"
#include "dma.h"
#include "engine.h"
#include "entries.h"
#include "knobs.h"
#include "management.h"
#include "objects.h"
#include "parked.h"
#include "trace.h"

namespace sidra::chip {

// A thread that the host lends to the chip, and whether the host wants it back.
struct Lender {
    bool (*stop)(void*) = nullptr;  // null: the thread has nothing else to do
    void* argument = nullptr;
    bool wants_it_back() const { return stop && stop(argument); }
};

class SliceHost {
   public:
    struct Parts {
        Bus& bus;
        Objects& objects;
        Array& array;
        const Adcs& adcs;
        engine::Engine& engine;
        Knobs& knobs;
        Counters& counters;
        Busy& busy;
        Parked& parked;
        const Management& management;
        const std::unique_ptr<Trace>& trace;  // null: no trace
    };
    explicit SliceHost(const Parts& its) : parts(its) {}
    SliceHost(const SliceHost&) = delete;
    SliceHost& operator=(const SliceHost&) = delete;

    const Parts parts;

    virtual uint64_t clock_ns() const = 0;
    virtual double cells_now() const = 0;  // by the cells' clock, at level `accurate`
    // Whether a queue may have another turn.
    virtual bool may_go_on(const Queue& queue) const = 0;
    // Called after the timeline has changed: raises the vector of a queue that has reached its armed value.
    virtual void check_arm(Queue& queue) = 0;
    virtual void wake_parked(const Address& key) = 0;
    virtual void interrupt(uint32_t cause) = 0;
    virtual void tell_failure() = 0;  // reports a failure of the state file to the host
    // Any thread: the units of the queue that were in the engine have run, and the slice that began them has ended.
    virtual void landed(Queue& queue) = 0;

   protected:
    ~SliceHost() = default;
};

}  // namespace sidra::chip

#endif
