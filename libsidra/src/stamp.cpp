// SPDX-License-Identifier: MIT
#include "stamp.h"

#include "sidra_cmd.h"

namespace sidra {

sidra_status StampPool::grow(const char* call, sidra_context* context) {
    constexpr size_t kPlaces = SIDRA_PAGE_SIZE / sizeof(sidra_timestamp);
    const size_t places = (pages_.size() + 1) * kPlaces;
    pages_.reserve(pages_.size() + 1);
    free_.reserve(places);
    busy_.reserve(places);
    std::unique_ptr<DeviceMemory> page;
    SIDRA_TRY(DeviceMemory::create(call, context, SIDRA_PAGE_SIZE, false, &page));
    for (size_t i = kPlaces; i-- > 0;) {
        const size_t offset = i * sizeof(sidra_timestamp);
        free_.push_back({page->address() + offset, page->host() + offset});
    }
    pages_.push_back(std::move(page));
    return SIDRA_OK;
}

sidra_status StampPool::take(const char* call, sidra_context* context, Stamp* stamp) {
    const std::lock_guard lock(mutex_);
    if (free_.empty())
        std::erase_if(busy_, [&](const Busy& busy) {
            if (busy.point.state() == Point::State::kPending) return false;
            free_.push_back(busy.stamp);
            return true;
        });
    if (free_.empty()) SIDRA_TRY(grow(call, context));
    *stamp = free_.back();
    free_.pop_back();
    return SIDRA_OK;
}

void StampPool::give(const Stamp& stamp, const Point& point) {
    const std::lock_guard lock(mutex_);
    if (point.queue && point.state() == Point::State::kPending) busy_.push_back({stamp, point});
    else free_.push_back(stamp);
}

void StampPool::clear() {
    const std::lock_guard lock(mutex_);
    busy_.clear();
    free_.clear();
    pages_.clear();
}

}  // namespace sidra
