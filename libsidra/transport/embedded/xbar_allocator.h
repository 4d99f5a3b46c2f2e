// SPDX-License-Identifier: MIT
// Which crossbars are free, and which of them an object gets.
#ifndef SIDRA_EMBEDDED_XBAR_ALLOCATOR_H
#define SIDRA_EMBEDDED_XBAR_ALLOCATOR_H

#include <cstdint>
#include <span>
#include <vector>

namespace sidra::embedded {

// Consecutive tiles of an object should be near each other: in one compute unit, else in neighbouring ones of one
// cluster. Not thread-safe.
class XbarAllocator {
   public:
    XbarAllocator(uint32_t total, uint32_t per_unit) : taken_(total, false), per_unit_(per_unit), free_(total) {}

    // Takes `count` crossbars; empty if there are not that many. In order of preference: the fullest compute unit that
    // holds them in one run; the shortest run anywhere, from the start of a compute unit if it can; else the longest
    // runs, one after the other.
    std::vector<uint32_t> allocate(uint32_t count);
    // Takes exactly these; false, and nothing changes, if one is not free (or does not exist).
    bool reserve(std::span<const uint32_t> xbars);
    void free(std::span<const uint32_t> xbars);

    uint32_t free_count() const { return free_; }
    bool is_free(uint32_t xbar) const { return !taken_[xbar]; }

   private:
    struct Run {
        uint32_t begin, length;
    };
    std::vector<Run> runs() const;
    uint32_t place(const Run& run, uint32_t count) const;

    std::vector<bool> taken_;
    const uint32_t per_unit_;
    uint32_t free_;
};

}  // namespace sidra::embedded

#endif
