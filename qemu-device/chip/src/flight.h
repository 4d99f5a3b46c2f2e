// SPDX-License-Identifier: MIT
// The units of a job that are in the engine. Most engines run them at once. With others the slice ends meanwhile: its
// queue stays claimed until the last piece is done, and goes on in another slice.
#ifndef SIDRA_CHIP_FLIGHT_H
#define SIDRA_CHIP_FLIGHT_H

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "engine.h"
#include "fault.h"
#include "job.h"
#include "spin.h"

namespace sidra::chip {

class Queue;
class SliceHost;

class Flight {
   public:
    explicit Flight(Queue& queue) : queue_(queue) {}

    // Where units are counted in the state page, which is mapped only while the slice lasts.
    struct Progress {
        uint64_t* mapped;  // null: the job has one unit, which is not counted
        Range at;
    };
    // Gives units [first, end) of a job to the engine. Returns true if they have run. Otherwise the caller ends its
    // slice and calls leave(), and `host` hears of the landing: landed().
    bool start(SliceHost& host, const Env& env, const Job& job, uint32_t first, uint32_t end, bool parallel,
               const Progress& progress);
    // Returns true if all pieces were done before: then the caller lands.
    bool leave() { return waits_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

    // When they have run.
    uint32_t units() const { return end_ - first_; }
    uint32_t end() const { return end_; }
    const Fault& fault() const { return fault_; }

    // The part of the chip that works for the queue meanwhile.
    struct Work {
        sidra_hw_engine engine;
        uint64_t since_ns;
        uint64_t took_ns;  // when landed
    };
    Work work{};

   private:
    struct Piece {
        Flight* flight = nullptr;
        std::atomic<uint64_t> left{0};  // untaken units: the first one, and in the upper half the end
        std::atomic<uint32_t> threads{0};
        bool shared = false;  // by several threads
    };

    static void run(void* piece, engine::Staging& staging);
    static void done(void* flight);
    bool take_unit(Piece& piece, bool last, uint32_t* unit);
    void note(const Fault& fault, uint32_t unit);
    void count_unit();

    Queue& queue_;
    SliceHost* host_ = nullptr;
    std::optional<Env> env_in_flight_;  // for engines that complete later
    const Env* env_ = nullptr;
    const Job* job_ = nullptr;
    Progress progress_{};
    bool later_ = false;  // the engine may complete later
    uint32_t first_ = 0, end_ = 0;
    std::array<Piece, engine::Capabilities::kPiecesMax> pieces_;
    std::atomic<uint32_t> waits_{0};  // pieces in flight, and the slice that began them
    engine::SpinLock lock_;           // protects the fault
    std::atomic<uint32_t> fault_unit_{UINT32_MAX};
    Fault fault_;
};

}  // namespace sidra::chip

#endif
