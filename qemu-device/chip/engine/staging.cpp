// SPDX-License-Identifier: MIT
#include "staging.h"

#include <utility>

namespace sidra::engine {
namespace {

// Where this thread begins to search.
size_t first_place() {
    static std::atomic<size_t> threads{0};
    static thread_local const size_t mine = threads.fetch_add(1, std::memory_order_relaxed);
    return mine;
}

}  // namespace

Stagings::Place* Stagings::take(Place::State from) {
    const size_t first = first_place();
    for (size_t i = 0; i < kPlaces; ++i) {
        Place& place = places_[(first + i) % kPlaces];
        Place::State state = from;
        if (place.state.load(std::memory_order_relaxed) == state &&
            place.state.compare_exchange_strong(state, Place::kTaken, std::memory_order_acquire,
                                                std::memory_order_relaxed))
            return &place;
    }
    return nullptr;
}

Stagings::Place* Stagings::make() {
    auto staging = std::make_unique<Staging>();
    Place* place = take(Place::kEmpty);
    if (!place) (place = new Place)->extra = true;
    place->staging = std::move(staging);
    return place;
}

}  // namespace sidra::engine
