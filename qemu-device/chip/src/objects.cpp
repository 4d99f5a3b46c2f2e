// SPDX-License-Identifier: MIT
#include "objects.h"

namespace sidra::chip {

Queue& Objects::create(uint32_t context, uint32_t queue) {
    const size_t at = slot(context, queue);
    std::lock_guard guard(lock_);
    if (Queue* known = find(at)) return *known;  // by another thread
    Context* owner = find_context(context);
    if (!owner) {
        owner = owned_contexts_.emplace_back(std::make_unique<Context>(context)).get();
        contexts_[context].store(owner, std::memory_order_release);
    }
    Queue* fresh = owned_queues_.emplace_back(std::make_unique<Queue>(*owner, queue)).get();
    queues_[at].store(fresh, std::memory_order_release);
    return *fresh;
}

}  // namespace sidra::chip
