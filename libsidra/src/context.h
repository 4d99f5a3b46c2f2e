// SPDX-License-Identifier: MIT
#ifndef SIDRA_CONTEXT_H
#define SIDRA_CONTEXT_H

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device.h"
#include "handle.h"
#include "host_ranges.h"
#include "objects.h"

namespace sidra {
class CallbackThread;
class Gates;
class Pool;
class StampPool;
class FunctionPrograms;
struct PeerCopy;

// Whose failure an epoch stands for.
struct EpochRoot {
    uint32_t stream = 0;   // id; 0: unknown
    bool foreign = false;  // no failure of a queue of this context; operation and cause are these:
    uint64_t sequence = 0;
    uint32_t cause = 0;
};
using EpochNames = std::list<std::pair<uint32_t, EpochRoot>>;

}  // namespace sidra

struct sidra_context : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kContext;

    sidra_device* device = nullptr;
    sidra::Transport* transport = nullptr;  // of the device
    uint32_t number = 0;                    // context number in the driver
    uint32_t vm = 0;                        // its address space in the driver
    uint64_t doorbell_offset = 0;

    std::mutex mutex;  // protects streams, callbacks and functions_owned; held while queues are replaced
    std::vector<sidra_stream*> streams;
    std::shared_ptr<sidra::CallbackThread> callbacks;                // created on first use
    std::shared_ptr<sidra::FunctionPrograms> functions_owned;        // created on first use
    std::atomic<const sidra::FunctionPrograms*> functions{nullptr};  // the same
    sidra::Objects named;                                            // objects that packets can name
    sidra::HostRanges host_ranges;                                   // memory of the buffers
    std::shared_ptr<sidra::Pool> pool;                               // of sidra_malloc_async()
    std::shared_ptr<sidra::StampPool> stamps;                        // of timing events
    mutable std::mutex epochs_mutex;                                 // protects epochs; innermost lock
    sidra::EpochNames epochs;                                        // recent epochs
    std::vector<sidra::Gates*> gates;                                // of the streams; under `mutex`
    std::mutex peers_mutex;                                          // protects peer_copies; innermost lock
    std::list<std::shared_ptr<sidra::PeerCopy>> peer_copies;         // from or to other contexts, and not done

    std::array<std::atomic<uint32_t>, static_cast<size_t>(sidra::Kind::kCount)> objects{};  // number of handles by kind
};

namespace sidra {

// Creates and destroys an object of a context; the context cannot be destroyed meanwhile.
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

// An object in the making, which an exception destroys again.
template <typename T>
class Making {
   public:
    explicit Making(sidra_context* context) : object_(make_object<T>(context)) {}
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;
    ~Making() {
        if (object_ == nullptr) return;
        sidra_context* context = object_->context;
        HandleTable<T>::destroy(object_);  // nobody has its handle yet
        context->objects[static_cast<size_t>(T::kKind)].fetch_sub(1, std::memory_order_release);
    }
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }
    T* finish() { return std::exchange(object_, nullptr); }

   private:
    T* object_;
};

// Checks that an object and its user belong to the same context.
template <typename T>
sidra_status check_context(const char* call, const char* argument, const T* object, const sidra_context* context) {
    if (object->context == context) [[likely]]
        return SIDRA_OK;
    return fail(SIDRA_ERROR_WRONG_CONTEXT, call, "`{}` ({} {}) belongs to context {}, but the call is about context {}",
                argument, kind_name(T::kKind), object->id, object->context->id, context->id);
}

// The root of an epoch, even if its stream was destroyed; without a stream: too long ago.
void name_epoch(sidra_context* context, uint32_t epoch, const EpochRoot& root);
// The same, with one entry that was made before.
void name_epoch(sidra_context* context, EpochNames name) noexcept;
EpochRoot root_of_epoch(const sidra_context& context, uint32_t epoch);

// CONTEXT_LOST or DEVICE_LOST of a context with lost queues, with text.
[[gnu::cold]] sidra_status lost_status(const char* call, const sidra_context& context);

}  // namespace sidra

#endif
