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
    ~Stagings();
    Stagings(const Stagings&) = delete;
    Stagings& operator=(const Stagings&) = delete;

    class Lease {
       public:
        explicit Lease(Stagings& from) : from_(from), staging_(from.take()) {}  // throws std::bad_alloc
        ~Lease() { from_.give(staging_); }
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        Staging& operator*() const { return *staging_; }

       private:
        Stagings& from_;
        Staging* const staging_;
    };

   private:
    Staging* take();
    void give(Staging* staging);

    static constexpr size_t kPlaces = 64;  // more threads at the same time allocate
    struct alignas(64) Place {
        std::atomic<Staging*> staging{nullptr};
    };
    std::array<Place, kPlaces> free_;
};

}  // namespace sidra::engine

#endif
