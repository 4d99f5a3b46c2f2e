// SPDX-License-Identifier: MIT
#include "context.h"

#include "callback.h"
#include "fault.h"
#include "function_programs.h"
#include "gate.h"
#include "peer.h"
#include "pool.h"
#include "stamp.h"
#include "stream.h"
#include "wait.h"

namespace sidra {
namespace {

constexpr size_t kEpochsNamed = 4096;

// Returns 0, or the driver's -errno about the context; a lost context is -ESTALE.
int query_context(const sidra_context& context, std::string* detail) {
    sidra_ioctl_context_query query{};
    query.context = context.number;
    const int error = request(*context.transport, SIDRA_IOCTL_CONTEXT_QUERY, &query, detail);
    return error == 0 && query.state == SIDRA_CONTEXT_LOST ? -ESTALE : error;
}

// Errors are ignored: whoever calls has failed otherwise, or has destroyed what used the address space.
void destroy_vm(Transport& transport, uint32_t vm) {
    sidra_ioctl_vm destroy{};
    destroy.vm = vm;
    request(transport, SIDRA_IOCTL_VM_DESTROY, &destroy, nullptr);
}

// Creates a context with an address space of its own. Returns 0 or -errno.
int create_context(Transport& transport, sidra_ioctl_context_create* create, std::string* detail) {
    sidra_ioctl_vm_create vm{};
    if (const int error = request(transport, SIDRA_IOCTL_VM_CREATE, &vm, detail); error != 0) return error;
    create->vm = vm.vm;
    const int error = request(transport, SIDRA_IOCTL_CONTEXT_CREATE, create, detail);
    if (error != 0) destroy_vm(transport, vm.vm);
    return error;
}

}  // namespace

void name_epoch(sidra_context* context, uint32_t epoch, const EpochRoot& root) {
    name_epoch(context, EpochNames{{epoch, root}});
}

void name_epoch(sidra_context* context, EpochNames name) noexcept {
    const std::lock_guard lock(context->epochs_mutex);
    context->epochs.splice(context->epochs.end(), name);
    if (context->epochs.size() > kEpochsNamed) context->epochs.pop_front();
}

EpochRoot root_of_epoch(const sidra_context& context, uint32_t epoch) {
    const std::lock_guard lock(context.epochs_mutex);
    for (auto at = context.epochs.rbegin(); at != context.epochs.rend(); ++at)
        if (at->first == epoch) return at->second;
    return {};
}

sidra_status lost_status(const char* call, const sidra_context& context) {
    if (query_context(context, nullptr) == -ENODEV)
        return fail(SIDRA_ERROR_DEVICE_LOST, call,
                    "the device of context {} is gone; destroy the handles and open the device again", context.id);
    return fail(
        SIDRA_ERROR_CONTEXT_LOST, call,
        "context {} was lost (reset of the device or of the context); sidra_context_recover() starts its streams anew",
        context.id);
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_context_create(sidra_device* device, sidra_context** context) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "device", device));
        if (context == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`context` is NULL; it takes the new handle");
        auto pool = std::make_shared<Pool>();
        auto stamps = std::make_shared<StampPool>();
        sidra_context* made = HandleTable<sidra_context>::make();
        std::string detail;
        sidra_ioctl_context_create create{};
        if (const int error = create_context(*device->transport, &create, &detail); error != 0) {
            HandleTable<sidra_context>::destroy(made);
            return fail_errno(call, error, fmt::format("creating a context on device {}", device->id), detail);
        }
        made->device = device;
        made->transport = device->transport.get();
        made->pool = std::move(pool);
        made->stamps = std::move(stamps);
        made->number = create.context;
        made->vm = create.vm;
        made->id = create.context;  // the same number as in the driver's messages
        made->doorbell_offset = create.doorbell_offset;
        device->contexts.fetch_add(1, std::memory_order_relaxed);
        *context = handle_of(made);
        return SIDRA_OK;
    });
}

sidra_status sidra_context_destroy(sidra_context* context) {
    if (context == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        Claim<sidra_context> claim;
        SIDRA_TRY(claim.take(call, "context", context));
        sidra_device* device = context->device;
        if (!forked(*context)) {
            std::string alive;
            for (uint32_t kind = 0; kind < static_cast<uint32_t>(Kind::kCount); ++kind)
                if (const uint32_t count = context->objects[kind].load(std::memory_order_acquire); count != 0)
                    alive += (alive.empty() ? "" : ", ") + count_of(static_cast<Kind>(kind), count);
            if (!alive.empty())
                return fail(SIDRA_ERROR_BUSY, call, "context {} still has {}; destroy them first", context->id, alive);
            if (context->callbacks && context->callbacks->is_current_thread())
                return fail(SIDRA_ERROR_BUSY, call, "context {} cannot be destroyed by one of its own callbacks",
                            context->id);
            drop_peer_copies(context);
            context->pool->clear();
            context->stamps->clear();
            if (context->functions_owned) SIDRA_TRY(context->functions_owned->release(call));
            context->functions.store(nullptr, std::memory_order_relaxed);
            context->functions_owned.reset();
            std::string detail;
            sidra_ioctl_context destroy{};
            destroy.context = context->number;
            const int error = request(*context->transport, SIDRA_IOCTL_CONTEXT_DESTROY, &destroy, &detail);
            if (error != 0 && error != -ESTALE && error != -ENODEV)
                return fail_errno(call, error, fmt::format("destroying context {}", context->id), detail);
            destroy_vm(*context->transport, context->vm);
        }
        claim.destroy();
        device->contexts.fetch_sub(1, std::memory_order_release);
        return SIDRA_OK;
    });
}

sidra_status sidra_context_synchronize(sidra_context* context, uint64_t deadline) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        for (const Point& point : work_of(context)) SIDRA_TRY(wait_for(call, point, deadline));
        const std::lock_guard lock(context->mutex);
        for (sidra_stream* stream : context->streams) reap(stream);
        return SIDRA_OK;
    });
}

sidra_status sidra_context_status(sidra_context* context) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        std::string detail;
        const int error = query_context(*context, &detail);
        if (error == -ESTALE || error == -ENODEV) return lost_status(call, *context);
        if (error != 0) return fail_errno(call, error, fmt::format("querying context {}", context->id), detail);
        return SIDRA_OK;
    });
}

sidra_status sidra_context_recover(sidra_context* context) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        std::unique_lock lock(context->mutex);
        std::string detail;
        int error = query_context(*context, &detail);
        if (error == -ESTALE) {
            sidra_ioctl_context recover{};
            recover.context = context->number;
            error = request(*context->transport, SIDRA_IOCTL_CONTEXT_RECOVER, &recover, &detail);
            if (error == 0) {
                for (const sidra_stream* stream : context->streams) stream->current_queue->forget();
                for (Gates* gates : context->gates) gates->forget();
            }
        }
        if (error != 0) return fail_errno(call, error, fmt::format("recovering context {}", context->id), detail);
        // The pages of lost queues identify them, so a recovery that failed half-way can be continued.
        bool dropped = false;
        for (sidra_stream* stream : context->streams) {
            if (stream->current_queue->run_state() != SIDRA_QUEUE_LOST) continue;
            SIDRA_TRY(renew_queue(call, stream));
            dropped = true;
        }
        const std::shared_ptr<CallbackThread> callbacks = context->callbacks;
        lock.unlock();
        if (dropped && callbacks) callbacks->finish(nullptr);
        return SIDRA_OK;
    });
}
