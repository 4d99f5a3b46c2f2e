// SPDX-License-Identifier: MIT
#include "scheduler.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace sidra::chip {

bool Scheduler::mark_ready(uint32_t context, uint32_t queue) {
    const uint32_t priority = priority_[context][queue].load(std::memory_order_relaxed);
    const uint64_t mask = uint64_t{1} << (queue % 64);
    // Sequentially consistent, and cleared before the write index is read: a queue that is still ready here will see
    // everything that the submitter stored before the doorbell.
    if (entities_[priority][context].ready[queue / 64].fetch_or(mask) & mask) return false;
    const uint64_t bit = uint64_t{1} << context;
    if (!(contexts_[priority].load() & bit)) contexts_[priority].fetch_or(bit);
    return true;
}

void Scheduler::forget(uint32_t context, uint32_t queue) {
    std::lock_guard guard(lock_);
    epochs_[context][queue].fetch_add(1);
    for (auto& priority : entities_) priority[context].ready[queue / 64].fetch_and(~(uint64_t{1} << (queue % 64)));
}

bool Scheduler::mark_ready_again(uint32_t context, uint32_t queue, uint32_t epoch) {
    std::lock_guard guard(lock_);
    return epochs_[context][queue].load(std::memory_order_relaxed) == epoch && mark_ready(context, queue);
}

bool Scheduler::any_ready(uint32_t except_context, uint32_t except_queue) const {
    for (uint32_t priority = 0; priority < SIDRA_PRIORITIES; priority++)
        for (uint64_t left = contexts_[priority].load(); left; left &= left - 1) {
            const auto context = static_cast<uint32_t>(std::countr_zero(left));
            for (uint32_t word = 0; word < kWords; word++) {
                uint64_t bits = entities_[priority][context].ready[word].load();
                if (context == except_context && word == except_queue / 64)
                    bits &= ~(uint64_t{1} << (except_queue % 64));
                if (bits) return true;
            }
        }
    return false;
}

bool Scheduler::take(Entity& entity, uint32_t* queue) {
    // Round-robin: the first ready queue after the one picked last.
    const uint32_t start = (entity.last + 1) % SIDRA_QUEUES_PER_CONTEXT_MAX;
    for (uint32_t step = 0; step <= kWords; step++) {
        const uint32_t word = (start / 64 + step) % kWords;
        uint64_t bits = entity.ready[word].load();
        if (step == 0) bits &= ~uint64_t{0} << (start % 64);
        if (step == kWords) bits &= ~(~uint64_t{0} << (start % 64));
        if (!bits) continue;
        const auto found = static_cast<uint32_t>(std::countr_zero(bits));
        entity.ready[word].fetch_and(~(uint64_t{1} << found));
        *queue = word * 64 + found;
        entity.last = *queue;
        return true;
    }
    return false;
}

bool Scheduler::pick(Pick* pick) {
    std::lock_guard guard(lock_);
    for (;;) {
        Entity* best = nullptr;
        for (uint32_t priority = SIDRA_PRIORITIES; priority-- > 0;) {
            for (uint64_t left = contexts_[priority].load(); left; left &= left - 1) {
                const auto context = static_cast<uint32_t>(std::countr_zero(left));
                Entity& entity = entities_[priority][context];
                entity.pass = std::max(entity.pass, now_);  // an idle entity does not accumulate credit
                if (best && best->pass <= entity.pass) continue;
                best = &entity;
                pick->context = context;
                pick->priority = priority;
            }
        }
        if (!best) return false;
        if (take(*best, &pick->queue)) {
            now_ = best->pass;
            pick->epoch = epochs_[pick->context][pick->queue].load(std::memory_order_relaxed);
            return true;
        }
        // No queue is ready: clear the summary bit, then check again for one that became ready meanwhile.
        const uint64_t bit = uint64_t{1} << pick->context;
        contexts_[pick->priority].fetch_and(~bit);
        if (std::any_of(best->ready.begin(), best->ready.end(), [](const auto& word) { return word.load() != 0; }))
            contexts_[pick->priority].fetch_or(bit);
    }
}

void Scheduler::charge(const Pick& pick, uint64_t work) {
    std::lock_guard guard(lock_);
    entities_[pick.priority][pick.context].pass +=
        (work + 1) * kWeights[SIDRA_PRIORITIES - 1] / kWeights[pick.priority];
}

void Scheduler::clear() {
    std::lock_guard guard(lock_);
    for (auto& contexts : contexts_) contexts.store(0);
    for (auto& priority : entities_)
        for (Entity& entity : priority) {
            for (auto& word : entity.ready) word.store(0);
            entity.pass = 0;
        }
    for (auto& context : priority_)
        for (auto& priority : context) priority.store(1, std::memory_order_relaxed);
    now_ = 0;
}

}  // namespace sidra::chip
