// SPDX-License-Identifier: MIT
#include "range_allocator.h"

#include <algorithm>
#include <utility>

namespace sidra::embedded {

RangeAllocator::RangeAllocator(uint64_t begin, uint64_t end) : free_total_(end > begin ? end - begin : 0) {
    if (end > begin) free_.emplace(begin, end);
}

void RangeAllocator::take(Map::iterator range, uint64_t begin, uint64_t end) {
    const uint64_t range_end = range->second;
    // What may throw comes before other changes.
    Map rest;
    if (end < range_end) rest.emplace(end, range_end);
    used_.emplace(begin, end);
    free_.merge(rest);
    if (range->first == begin) free_.erase(range);
    else range->second = begin;
    free_total_ -= end - begin;
}

std::optional<uint64_t> RangeAllocator::allocate(uint64_t size, uint64_t alignment, uint64_t phase, uint64_t from) {
    auto range = free_.upper_bound(from);
    if (range != free_.begin()) --range;
    for (; range != free_.end(); ++range) {
        const uint64_t begin = std::max(range->first, from), end = range->second;
        if (end < begin || end - begin < size) continue;
        const uint64_t pad = (phase + alignment - begin % alignment) % alignment;
        if (pad > end - begin - size) continue;
        take(range, begin + pad, begin + pad + size);
        return begin + pad;
    }
    return from != 0 ? allocate(size, alignment, phase) : std::nullopt;
}

bool RangeAllocator::reserve(uint64_t begin, uint64_t size) {
    auto range = free_.upper_bound(begin);
    if (range == free_.begin()) return false;
    --range;
    if (range->second <= begin || range->second - begin < size) return false;
    take(range, begin, begin + size);
    return true;
}

void RangeAllocator::free(uint64_t begin, uint64_t size) noexcept {
    const uint64_t end = begin + size;
    Map::node_type used = used_.extract(begin);
    const auto next = free_.lower_bound(begin);
    const bool joins_next = next != free_.end() && next->first == end;
    const auto previous = next == free_.begin() ? free_.end() : std::prev(next);
    if (previous != free_.end() && previous->second == begin) {
        previous->second = joins_next ? next->second : end;
        if (joins_next) free_.erase(next);
    } else if (joins_next) {
        auto node = free_.extract(next);
        node.key() = begin;
        free_.insert(std::move(node));
    } else {
        free_.insert(next, std::move(used));
    }
    free_total_ += size;
}

uint64_t RangeAllocator::largest_free() const {
    uint64_t largest = 0;
    for (const auto& [begin, end] : free_) largest = std::max(largest, end - begin);
    return largest;
}

}  // namespace sidra::embedded
