// SPDX-License-Identifier: MIT
#ifndef SIDRA_CONTEXT_H
#define SIDRA_CONTEXT_H

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "callback.h"
#include "device.h"
#include "handle.h"
#include "objects.h"

struct sidra_context : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kContext;

    sidra_device* device = nullptr;
    sidra::Transport* transport = nullptr;  // of the device
    uint32_t number = 0;                    // towards the driver
    uint64_t doorbell_offset = 0;

    std::mutex mutex;  // protects streams, callbacks; held while queues are replaced
    std::vector<sidra_stream*> streams;
    std::shared_ptr<sidra::CallbackThread> callbacks;  // made on first use
    sidra::Objects named;                              // what packets can name
    mutable std::mutex epochs_mutex;                   // protects the next; innermost
    std::deque<std::pair<uint32_t, uint32_t>> epochs;  // the last ones that began, and the streams' ids

    std::array<std::atomic<uint32_t>, static_cast<size_t>(sidra::Kind::kCount)> objects{};  // handles that exist
};

namespace sidra {

// A new object of a context, and the end of one: the context cannot be destroyed meanwhile.
template <typename T, typename... Args>
T* make_object(sidra_context* context, Args&&... args) {
    T* object = HandleTable<T>::make(std::forward<Args>(args)...);
    object->context = context;
    context->objects[static_cast<size_t>(T::kKind)].fetch_add(1, std::memory_order_relaxed);
    return object;
}
template <typename T>
void destroy_object(T* object, Claim<T>& claim) {
    sidra_context* context = object->context;
    claim.destroy();
    context->objects[static_cast<size_t>(T::kKind)].fetch_sub(1, std::memory_order_release);
}

// An object and what uses it must be of one context.
template <typename T>
sidra_status check_context(const char* call, const char* argument, const T* object, const sidra_context* context) {
    if (object->context == context) [[likely]]
        return SIDRA_OK;
    return fail(SIDRA_ERROR_WRONG_CONTEXT, call, "`{}` ({} {}) belongs to context {}, but the call is about context {}",
                argument, kind_name(T::kKind), object->id, object->context->id, context->id);
}

// Which stream an epoch was of, also of one that was destroyed; 0: that is too long ago.
void name_epoch(sidra_context* context, uint32_t epoch, uint32_t stream_id);
uint32_t stream_of_epoch(const sidra_context& context, uint32_t epoch);

// CONTEXT_LOST or DEVICE_LOST of a context whose queues are lost, with text.
[[gnu::cold]] sidra_status lost_status(const char* call, const sidra_context& context);

}  // namespace sidra

#endif
