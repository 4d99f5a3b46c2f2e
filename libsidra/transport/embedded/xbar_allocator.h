// SPDX-License-Identifier: MIT
// Tracks free crossbars, and allocates them to objects.
#ifndef SIDRA_EMBEDDED_XBAR_ALLOCATOR_H
#define SIDRA_EMBEDDED_XBAR_ALLOCATOR_H

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sidra::embedded {

// Consecutive tiles of an object should be close: in one compute unit, else in neighbouring ones of one cluster. Not
// thread-safe.
class XbarAllocator {
   public:
    XbarAllocator(uint32_t total, uint32_t per_unit) : taken_(total, false), per_unit_(per_unit), free_(total) {}

    // Allocates `count` crossbars; empty if there are not enough. In order of preference: the fullest compute unit with
    // a sufficient run; the shortest sufficient run anywhere, from the start of a compute unit if possible; else the
    // longest runs.
    std::vector<uint32_t> allocate(uint32_t count);
    // Allocates exactly these. Returns one that is in use, is there twice or does not exist, and changes nothing then.
    std::optional<uint32_t> reserve(std::span<const uint32_t> xbars);
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
