// SPDX-License-Identifier: MIT
// Allocates ranges of numbers: device addresses, pages of L3, bytes of NVM.
#ifndef SIDRA_EMBEDDED_RANGE_ALLOCATOR_H
#define SIDRA_EMBEDDED_RANGE_ALLOCATOR_H

#include <cstdint>
#include <map>
#include <optional>

namespace sidra::embedded {

// First fit over an ordered map of free ranges. Not thread-safe.
class RangeAllocator {
   public:
    // Initially all of [begin, end) is free.
    RangeAllocator(uint64_t begin, uint64_t end);

    // Returns the lowest a >= from, or else the lowest a, such that [a, a + size) is free and a % alignment == phase.
    // size > 0, phase < alignment.
    std::optional<uint64_t> allocate(uint64_t size, uint64_t alignment = 1, uint64_t phase = 0, uint64_t from = 0);
    // Reserves exactly [begin, begin + size); returns false and changes nothing if part of it is in use.
    bool reserve(uint64_t begin, uint64_t size);
    // Frees a range from allocate or reserve. Needs no memory.
    void free(uint64_t begin, uint64_t size) noexcept;

    uint64_t free_total() const { return free_total_; }
    uint64_t largest_free() const;

   private:
    using Map = std::map<uint64_t, uint64_t>;
    void take(Map::iterator range, uint64_t begin, uint64_t end);

    Map free_;  // begin -> end of each free range; adjacent ranges are merged
    Map used_;  // begin -> end of each range that is not free yet, whose node free() takes
    uint64_t free_total_;
};

}  // namespace sidra::embedded

#endif
