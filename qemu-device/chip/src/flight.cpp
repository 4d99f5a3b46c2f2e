// SPDX-License-Identifier: MIT
#include "flight.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "slice_host.h"

namespace sidra::chip {
namespace {

constexpr uint64_t untaken(uint32_t first, uint32_t end) { return uint64_t{end} << 32 | first; }

Fault run_unit(const Env& env, const Job& job, Worker& worker, uint32_t unit) {
    try {
        worker.scratch.begin();
        return job.operation->unit(env, job, worker, unit);
    } catch (const std::bad_alloc&) {  // on any of the threads
        return {kNoMemory};
    }
}

}  // namespace

bool Flight::start(SliceHost& host, const Env& env, const Job& job, uint32_t first, uint32_t end, bool parallel,
                   const Progress& progress) {
    const engine::Capabilities& can = env.engine.can();
    env_ = can.later ? &env_in_flight_.emplace(env) : &env;
    if (can.later) {
        env_in_flight_->programs = env_in_flight_->tables = nullptr;
        env_in_flight_->pages = nullptr;
    }
    host_ = &host;
    job_ = &job;
    if (progress.mapped) progress_ = progress;
    else progress_.mapped = nullptr;
    later_ = can.later;
    first_ = first, end_ = end;
    fault_unit_.store(UINT32_MAX, std::memory_order_relaxed);
    fault_ = {};
    const uint32_t pieces = job.serial_units ? 1 : std::min(can.pieces, end - first);
    waits_.store(pieces + 1, std::memory_order_relaxed);
    uint32_t ended = 0, at = first;
    for (uint32_t i = 0; i < pieces; i++) {
        Piece& piece = pieces_[i];
        const uint64_t units = uint64_t{i + 1} * (end - first);
        const uint32_t next = i + 1 == pieces ? end : first + static_cast<uint32_t>(units / pieces);
        piece.flight = this;
        piece.left.store(untaken(at, next), std::memory_order_relaxed);
        piece.threads.store(0, std::memory_order_relaxed);
        piece.shared = parallel;
        try {
            ended += env.engine.submit({run, &piece, parallel}, {done, this});
        } catch (const std::bad_alloc&) {
            note({kNoMemory}, at);
            ended++;
        }
        at = next;
    }
    if (ended == pieces) return true;
    waits_.fetch_sub(ended, std::memory_order_acq_rel);  // not the last: the slice waits, too
    return false;
}

void Flight::done(void* flight) {
    auto& self = *static_cast<Flight*>(flight);
    if (self.leave()) self.host_->landed(self.queue_);
}

// The packet reports the fault of its lowest faulting unit, so units above a faulted one need not run, but those below
// it must.
bool Flight::take_unit(Piece& piece, bool last, uint32_t* unit) {
    uint64_t left = piece.left.load(std::memory_order_relaxed);
    for (;;) {
        const auto first = static_cast<uint32_t>(left);
        const uint32_t end = std::min(static_cast<uint32_t>(left >> 32), fault_unit_.load(std::memory_order_relaxed));
        if (first >= end) return false;
        *unit = last ? end - 1 : first;
        const uint64_t rest = last ? untaken(first, end - 1) : untaken(first + 1, end);
        if (!piece.shared) {
            piece.left.store(rest, std::memory_order_relaxed);
            return true;
        }
        if (piece.left.compare_exchange_weak(left, rest, std::memory_order_relaxed)) return true;
    }
}

void Flight::note(const Fault& fault, uint32_t unit) {
    std::lock_guard guard(lock_);
    if (unit >= fault_unit_.load(std::memory_order_relaxed)) return;
    fault_unit_.store(unit, std::memory_order_relaxed);
    fault_ = fault;
}

void Flight::count_unit() {
    if (!progress_.mapped) return;
    if (!later_) {
        __atomic_fetch_add(progress_.mapped, 1, __ATOMIC_RELAXED);
        return;
    }
    uint64_t length;
    uint8_t* const word = env_->bus.map(progress_.at, &length, true);
    if (!word) return;  // the slice that follows finds that, and a word in two parts, too
    if (length == sizeof(uint64_t)) __atomic_fetch_add(reinterpret_cast<uint64_t*>(word), 1, __ATOMIC_RELAXED);
    env_->bus.unmap(word, length, true);
}

void Flight::run(void* argument, engine::Staging& staging) {
    auto& piece = *static_cast<Piece*>(argument);
    Flight& self = *piece.flight;
    OperandPages* const pages = piece.shared ? nullptr : self.env_->pages;
    Worker worker{this_tlb(), pages, staging.converted, staging.scratch, staging.readout};
    // Threads start from both ends, so that each one reads adjacent memory.
    const bool last = piece.shared && piece.threads.fetch_add(1, std::memory_order_relaxed) % 2 != 0;
    for (uint32_t unit; self.take_unit(piece, last, &unit);) {
        const Fault fault = run_unit(*self.env_, *self.job_, worker, unit);
        self.count_unit();
        if (fault) self.note(fault, unit);
    }
}

}  // namespace sidra::chip
