// SPDX-License-Identifier: MIT
#include "queue.h"

namespace sidra {
namespace {

// In the API 0 means "normal"; the hardware numbers priorities from low to high.
uint32_t hardware_priority(uint32_t priority) {
    switch (priority) {
        case SIDRA_PRIORITY_LOW:
            return 0;
        case SIDRA_PRIORITY_HIGH:
            return 2;
        default:
            return 1;
    }
}

}  // namespace

sidra_status Queue::create(const char* call, sidra_context* context, const QueueOptions& options,
                           std::shared_ptr<Queue>* queue) {
    std::string detail;
    std::shared_ptr<Queue> made(new Queue);
    Transport& transport = *context->transport;
    sidra_ioctl_queue_create create{};
    create.context = context->number;
    create.kind = SIDRA_QUEUE_USER;
    create.ring_log2 = options.ring_log2;
    create.priority = hardware_priority(options.priority);
    create.flags = options.reports ? SIDRA_QUEUE_REPORTS : 0;
    if (const int error = request(transport, SIDRA_IOCTL_QUEUE_CREATE, &create, &detail); error != 0)
        return fail_errno(call, error, fmt::format("creating a queue in context {}", context->id), detail);
    made->context = context;
    made->transport = &transport;
    made->number = create.queue;
    made->alive_ = true;

    made->ring_memory_ = transport.map(create.ring_offset, create.ring_size, true);
    made->ring_size_ = create.ring_size;
    made->state = static_cast<const sidra_queue_state*>(transport.map(create.state_offset, SIDRA_PAGE_SIZE, false));
    made->doorbell = transport.doorbell(context->doorbell_offset, create.queue);
    if (made->ring_memory_ == nullptr || made->state == nullptr || made->doorbell == 0)
        return fail(SIDRA_ERROR_OUT_OF_MEMORY, call,
                    "mapping the ring of a new queue into the process failed; free memory");
    auto* bytes = static_cast<std::byte*>(made->ring_memory_);
    made->capacity = uint64_t{1} << options.ring_log2;
    made->mask = made->capacity - 1;
    made->ring = reinterpret_cast<sidra_cmd*>(bytes);
    made->write_word = reinterpret_cast<uint64_t*>(bytes + made->capacity * SIDRA_CMD_SIZE);
    if (create.report_offset != 0) made->reports = reinterpret_cast<const sidra_report*>(bytes + create.report_offset);
    made->begin_epoch(__atomic_load_n(&made->state->epoch, __ATOMIC_ACQUIRE));
    made->seen_timeline = made->timeline();
    made->published = made->seen_timeline;
    made->written.store(made->seen_timeline, std::memory_order_relaxed);
    *queue = std::move(made);
    return SIDRA_OK;
}

sidra_status Queue::destroy(const char* call) {
    if (!alive_ || forked(*context)) return SIDRA_OK;
    std::string detail;
    sidra_ioctl_queue destroy{};
    destroy.context = context->number;
    destroy.queue = number;
    if (epoch) epoch->set_closing(true);  // none: its creation failed
    const int error = request(*transport, SIDRA_IOCTL_QUEUE_DESTROY, &destroy, &detail);
    // A lost context has no queues, so there is nothing to destroy.
    if (error != 0 && error != -ESTALE && error != -ENODEV && error != -ENOENT) {
        if (epoch) epoch->set_closing(false);
        return fail_errno(call, error, fmt::format("destroying queue {} of context {}", number, context->id), detail);
    }
    alive_ = false;
    return SIDRA_OK;
}

Queue::~Queue() {
    if (context == nullptr || forked(*context)) return;
    guarded("sidra", [&] { return destroy("sidra"); });
    if (ring_memory_ != nullptr) transport->unmap(ring_memory_, ring_size_);
    if (state != nullptr) transport->unmap(const_cast<sidra_queue_state*>(state), SIDRA_PAGE_SIZE);
}

}  // namespace sidra
