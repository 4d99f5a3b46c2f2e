// SPDX-License-Identifier: MIT
#include "gate.h"

#include <utility>

#include "stream.h"
#include "submit.h"

namespace sidra {

// Ends the queue. No recovery may replace queues meanwhile, because another one would get its number.
Gates::~Gates() {
    const std::lock_guard lock(context_->mutex);
    std::erase(context_->gates, this);
    queue_.reset();
}

sidra_status Gates::of(const char* call, sidra_stream* stream, std::shared_ptr<Gates>* gates) {
    const std::lock_guard gates_lock(stream->gates_mutex);
    const uint32_t epoch = stream->queue.load(std::memory_order_acquire)->current_epoch.load(std::memory_order_acquire);
    if (Gates* present = stream->gates.get(); present != nullptr && present->epoch_ == epoch) {
        const std::lock_guard lock(present->mutex_);
        if (present->queue_ && !Queue::stopped(present->queue_->run_state())) {
            *gates = stream->gates;
            return SIDRA_OK;
        }
    }
    sidra_context* context = stream->context;
    std::shared_ptr<Gates> made(new Gates(context, epoch));
    {
        const std::lock_guard lock(context->mutex);  // no recovery meanwhile
        context->gates.reserve(context->gates.size() + 1);
        SIDRA_TRY(Queue::create(call, context, {.ring_log2 = SIDRA_QUEUE_LOG2_MIN}, &made->queue_));
        made->queue_number_ = made->queue_->number;
        made->queue_epoch_ = made->queue_->epoch->number;
        context->gates.push_back(made.get());
    }
    *gates = stream->gates = std::move(made);
    return SIDRA_OK;
}

void Gates::close(sidra_stream* stream, Point* before) noexcept {
    sidra_cmd packet = make_packet(SIDRA_CMD_SEM_WAIT);
    packet.hdr.flags = SIDRA_CMD_SEM_QUEUE;
    packet.sem.queue = queue_number_;
    packet.sem.epoch = queue_epoch_;
    packet.sem.value = ++closed_;
    store(stream, packet, before);
    --before->value;
    flush(stream);
}

void Gates::open() {
    const std::lock_guard lock(mutex_);
    if (!queue_ || Queue::stopped(queue_->run_state())) return;
    // The stream has passed all earlier gates, so their packets have retired and the ring has room.
    const uint64_t index = queue_->written.load(std::memory_order_relaxed);
    queue_->ring[index & queue_->mask] = make_packet(SIDRA_CMD_NOP);
    queue_->written.store(index + 1, std::memory_order_relaxed);
    queue_->publish(index + 1);
}

void Gates::fail(const EpochRoot& root) noexcept {
    const std::lock_guard context_lock(context_->mutex);  // no recovery meanwhile
    const std::lock_guard lock(mutex_);
    if (!queue_) return;
    failure_.front() = {queue_->epoch->number, root};
    name_epoch(context_, std::move(failure_));
    queue_.reset();  // drops the point for which the stream waits
}

void Gates::forget() {
    const std::lock_guard lock(mutex_);
    if (queue_) queue_->forget();
}

}  // namespace sidra
