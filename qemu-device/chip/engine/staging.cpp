// SPDX-License-Identifier: MIT
#include "staging.h"

namespace sidra::engine {
namespace {

// Where this thread begins to search.
size_t first_place() {
    static std::atomic<size_t> threads{0};
    static thread_local const size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
    return mine;
}

}  // namespace

Stagings::~Stagings() {
    for (Place& place : free_) delete place.staging.load();
}

Staging* Stagings::take() {
    const size_t first = first_place();
    for (size_t i = 0; i < kPlaces; ++i) {
        std::atomic<Staging*>& place = free_[(first + i) % kPlaces].staging;
        if (place.load(std::memory_order_relaxed) == nullptr) continue;
        if (Staging* const found = place.exchange(nullptr, std::memory_order_acquire)) return found;
    }
    return new Staging;
}

void Stagings::give(Staging* staging) {
    const size_t first = first_place();
    for (size_t i = 0; i < kPlaces; ++i) {
        std::atomic<Staging*>& place = free_[(first + i) % kPlaces].staging;
        Staging* none = nullptr;
        if (place.load(std::memory_order_relaxed) == nullptr &&
            place.compare_exchange_strong(none, staging, std::memory_order_release, std::memory_order_relaxed))
            return;
    }
    delete staging;
}

}  // namespace sidra::engine
