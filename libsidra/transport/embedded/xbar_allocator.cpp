// SPDX-License-Identifier: MIT
#include "xbar_allocator.h"

#include <algorithm>

namespace sidra::embedded {

std::vector<XbarAllocator::Run> XbarAllocator::runs() const {
    std::vector<Run> all;
    for (uint32_t xbar = 0; xbar < taken_.size(); xbar++) {
        if (taken_[xbar]) continue;
        if (all.empty() || all.back().begin + all.back().length != xbar) all.push_back({xbar, 0});
        all.back().length++;
    }
    return all;
}

// Selects the position inside a sufficiently long run: inside one compute unit, or at the start of one, if possible.
uint32_t XbarAllocator::place(const Run& run, uint32_t count) const {
    const uint32_t unit_start = (run.begin + per_unit_ - 1) / per_unit_ * per_unit_;
    const bool fits_before = count <= per_unit_ && run.begin + count <= unit_start;
    if (fits_before || unit_start + count > run.begin + run.length) return run.begin;
    return unit_start;
}

std::vector<uint32_t> XbarAllocator::allocate(uint32_t count) {
    if (count > free_ || count == 0) return {};
    std::vector<Run> candidates = runs();
    std::vector<uint32_t> xbars;
    xbars.reserve(count);

    const Run* best = nullptr;
    uint32_t best_waste = 0;  // crossbars of the run, or of its compute unit, that remain free; fewer are better
    for (const Run& run : candidates) {
        if (run.length < count) continue;
        uint32_t waste = run.length - count;
        const uint32_t begin = place(run, count);
        const bool in_unit = begin / per_unit_ == (begin + count - 1) / per_unit_;
        if (count <= per_unit_ && in_unit) {
            const uint32_t unit = begin / per_unit_ * per_unit_;
            waste = static_cast<uint32_t>(std::count(taken_.begin() + unit, taken_.begin() + unit + per_unit_, false)) -
                    count;
        } else if (count <= per_unit_) {
            waste += static_cast<uint32_t>(taken_.size());  // across a border: only as a last resort
        }
        if (best == nullptr || waste < best_waste) {
            best = &run;
            best_waste = waste;
        }
    }
    if (best != nullptr) {
        const uint32_t begin = place(*best, count);
        for (uint32_t i = 0; i < count; i++) xbars.push_back(begin + i);
    } else {
        std::stable_sort(candidates.begin(), candidates.end(),
                         [](const Run& a, const Run& b) { return a.length > b.length; });
        for (const Run& run : candidates)
            for (uint32_t i = 0; i < run.length && xbars.size() < count; i++) xbars.push_back(run.begin + i);
    }
    for (uint32_t xbar : xbars) taken_[xbar] = true;
    free_ -= count;
    return xbars;
}

std::optional<uint32_t> XbarAllocator::reserve(std::span<const uint32_t> xbars) {
    for (size_t i = 0; i < xbars.size(); i++) {
        if (xbars[i] < taken_.size() && !taken_[xbars[i]]) {
            taken_[xbars[i]] = true;
            continue;
        }
        for (uint32_t xbar : xbars.first(i)) taken_[xbar] = false;
        return xbars[i];
    }
    free_ -= static_cast<uint32_t>(xbars.size());
    return {};
}

void XbarAllocator::free(std::span<const uint32_t> xbars) {
    for (uint32_t xbar : xbars) taken_[xbar] = false;
    free_ += static_cast<uint32_t>(xbars.size());
}

}  // namespace sidra::embedded
