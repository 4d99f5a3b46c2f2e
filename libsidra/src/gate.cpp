// SPDX-License-Identifier: MIT
#include "gate.h"

#include <utility>

#include "stream.h"
#include "submit.h"

namespace sidra {

sidra_status Gates::of(const char* call, sidra_stream* stream, std::shared_ptr<Gates>* gates) {
    const uint32_t epoch = stream->queue.load(std::memory_order_acquire)->current_epoch.load(std::memory_order_acquire);
    if (Gates* present = stream->gates.get(); present != nullptr && present->epoch_ == epoch) {
        const std::lock_guard lock(present->mutex_);
        if (present->queue_ && !Queue::stopped(present->queue_->run_state())) {
            *gates = stream->gates;
            return SIDRA_OK;
        }
    }
    sidra_context* context = stream->context;
    const std::lock_guard lock(context->mutex);  // no recovery meanwhile
    std::erase_if(context->gates, [](const std::weak_ptr<Gates>& each) { return each.expired(); });
    context->gates.reserve(context->gates.size() + 1);
    std::shared_ptr<Queue> queue;
    SIDRA_TRY(Queue::create(call, context, {.ring_log2 = SIDRA_QUEUE_LOG2_MIN}, &queue));
    stream->gates.reset(new Gates(std::move(queue), epoch));
    context->gates.push_back(stream->gates);
    *gates = stream->gates;
    return SIDRA_OK;
}

sidra_status Gates::close(const char* call, sidra_stream* stream, Point* before) {
    sidra_cmd packet = make_packet(SIDRA_CMD_SEM_WAIT);
    packet.hdr.flags = SIDRA_CMD_SEM_QUEUE;
    {
        const std::lock_guard lock(mutex_);
        if (!queue_)  // a gate before this one has failed: its stream stops there, or has stopped
            return sidra::fail(SIDRA_ERROR_FAULT, call,
                               "stream {} stops at an earlier copy whose source failed, or at a function of the "
                               "host that failed; sidra_stream_reset() it",
                               stream->id);
        packet.sem.queue = queue_->number;
        packet.sem.epoch = queue_->epoch->number;
        packet.sem.value = closed_ + 1;
    }
    SIDRA_TRY(submit(call, stream, packet, Recordable::kNo, before));
    --before->value;
    {
        const std::lock_guard lock(mutex_);
        ++closed_;
    }
    const std::lock_guard lock(stream->lock);
    flush(stream);
    return SIDRA_OK;
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
    std::shared_ptr<Queue> queue;
    {
        const std::lock_guard lock(mutex_);
        queue = std::move(queue_);
    }
    if (!queue) return;
    sidra_context* context = queue->context;
    failure_.front() = {queue->epoch->number, root};
    name_epoch(context, std::move(failure_));
    // The end of the queue drops the point for which the stream waits. No recovery may replace queues meanwhile.
    const std::lock_guard lock(context->mutex);
    queue.reset();
}

void Gates::forget() {
    const std::lock_guard lock(mutex_);
    if (queue_) queue_->forget();
}

}  // namespace sidra
