// SPDX-License-Identifier: MIT
// The memory of an engine in which units stage their inputs and outputs. A thread has one Staging while it runs work.
#ifndef SIDRA_CHIP_ENGINE_STAGING_H
#define SIDRA_CHIP_ENGINE_STAGING_H

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "scratch.h"

namespace sidra::engine {

// A block of input vectors of a job in the format of the engines, so that the next units of the same job and block need
// not convert it again. Holds nothing else.
class ConvertedInput {
   public:
    // Null if the buffer does not hold this block.
    const uint8_t* find(uint64_t job, uint32_t block) const {
        return job_ == job && block_ == block ? vectors_.data() : nullptr;
    }
    // Returns a buffer for another block; discards the old one.
    uint8_t* replace(uint64_t bytes) {
        job_ = 0;
        if (vectors_.size() < bytes) vectors_.resize(bytes);
        return vectors_.data();
    }
    // Called when the block is complete.
    void belongs_to(uint64_t job, uint32_t block) { job_ = job, block_ = block; }

   private:
    std::vector<uint8_t> vectors_;
    uint64_t job_ = 0;  // unique number; 0: none
    uint32_t block_ = 0;
};

struct Staging {
    ConvertedInput converted;
    Scratch scratch;               // invalid for the next unit
    std::vector<uint8_t> readout;  // level `accurate`: buffers that are written before they are read
};

// The Stagings of an engine. A thread usually gets the one that it had before; taking one that exists needs neither
// lock nor allocation.
class Stagings {
   public:
    Stagings() = default;
    Stagings(const Stagings&) = delete;
    Stagings& operator=(const Stagings&) = delete;

   private:
    struct alignas(64) Place {
        enum State : uint8_t { kEmpty, kFree, kTaken };
        std::atomic<State> state{kEmpty};
        bool extra = false;                // not one of the array
        std::unique_ptr<Staging> staging;  // belongs to the thread that has taken the place
    };

   public:
    class Lease {
       public:
        explicit Lease(Stagings& from) : place_(from.take(Place::kFree)) {  // throws std::bad_alloc
            if (!place_) place_ = from.make();
        }
        ~Lease() {
            if (place_->extra) delete place_;
            else place_->state.store(Place::kFree, std::memory_order_release);
        }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        Staging& operator*() const { return *place_->staging; }

       private:
        Place* place_;
    };

   private:
    Place* take(Place::State from);
    Place* make();

    static constexpr size_t kPlaces = 64;  // more threads at the same time allocate
    std::array<Place, kPlaces> places_;
};

}  // namespace sidra::engine

#endif
