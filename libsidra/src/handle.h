// SPDX-License-Identifier: MIT
// Handles: what an application holds. A handle can be checked at any time, also after it was destroyed, because its
// memory stays with its kind and says so.
#ifndef SIDRA_HANDLE_H
#define SIDRA_HANDLE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "status.h"
#include "transport.h"

namespace sidra {

enum class Kind : uint32_t { kDevice, kContext, kBuffer, kStream, kEvent, kWeights, kGraph, kCount };

const char* kind_name(Kind kind);
std::string count_of(Kind kind, uint32_t count);  // "1 buffer", "3 streams", "2 weights"

// First member of every object behind a handle.
struct Handle {
    static constexpr uint32_t kMagic = 0x51d7a000;
    static constexpr uint32_t kDestroyed = 0x51d7dead;
    static constexpr uint32_t tag_of(Kind kind) { return kMagic | static_cast<uint32_t>(kind); }

    uint32_t tag = kDestroyed;
    uint32_t fork_generation = 0;  // of the process that made it
    uint32_t id = 0;               // for texts: "buffer 3"
};

// Why `handle` cannot be used as a `kind`: INVALID_HANDLE or FORKED, with text.
[[gnu::cold]] sidra_status bad_handle(const char* call, const char* argument, Kind kind, const Handle* handle);

// Whether the handle is a live object of T's kind, whichever process made it. (Destroying is allowed after a fork.)
template <typename T>
sidra_status check_kind(const char* call, const char* argument, const T* object) {
    const auto* handle = reinterpret_cast<const Handle*>(object);
    if (handle == nullptr || reinterpret_cast<uintptr_t>(handle) % alignof(T) != 0 ||
        handle->tag != Handle::tag_of(T::kKind)) [[unlikely]]
        return bad_handle(call, argument, T::kKind, handle);
    return SIDRA_OK;
}

// Whether the handle may be used here and now.
template <typename T>
sidra_status check(const char* call, const char* argument, const T* object) {
    SIDRA_TRY(check_kind(call, argument, object));
    if (object->fork_generation != fork_generation()) [[unlikely]]
        return bad_handle(call, argument, T::kKind, object);
    return SIDRA_OK;
}

inline bool forked(const Handle& handle) { return handle.fork_generation != fork_generation(); }

// One lock for the pools of all kinds. fork() waits for it, so that a child never finds it taken.
std::mutex& pool_mutex();
uint32_t next_object_id(Kind kind);

// What a forked child must neither run nor free (threads, mappings of the parent): kept reachable, never used.
void keep_forever(std::shared_ptr<void> object);

// Memory for objects of one kind. It never goes back to the system, so that the tag of a destroyed handle can be read;
// the longest-dead slot is used first, which makes a stale handle likely to be noticed.
template <typename T>
class Pool {
   public:
    template <typename... Args>
    static T* make(Args&&... args) {
        T* object = new (take()) T(std::forward<Args>(args)...);
        object->fork_generation = fork_generation();
        object->id = next_object_id(T::kKind);
        object->tag = Handle::tag_of(T::kKind);
        return object;
    }

    static void destroy(T* object) {
        object->~T();
        new (static_cast<void*>(object)) Handle;  // a tag that says "destroyed"
        const std::lock_guard lock(pool_mutex());
        Pool& pool = instance();
        pool.free_[(pool.first_ + pool.count_++) % pool.free_.size()] = object;
    }

   private:
    static constexpr size_t kSlots = 64;
    struct Slot {
        alignas(T) std::byte storage[sizeof(T)];
    };

    static Pool& instance() {
        static Pool* pool = new Pool;  // outlives all static objects of the application
        return *pool;
    }

    // The free list is a ring with room for every slot, so destroy() never allocates. A few slots always stay behind.
    static void* take() {
        const std::lock_guard lock(pool_mutex());
        Pool& pool = instance();
        if (pool.count_ <= kSlots / 4) pool.grow();
        void* slot = pool.free_[pool.first_];
        pool.first_ = (pool.first_ + 1) % pool.free_.size();
        --pool.count_;
        return slot;
    }

    void grow() {
        const size_t total = (blocks_.size() + 1) * kSlots;
        std::vector<void*> ring(total);
        for (size_t i = 0; i < count_; ++i) ring[i] = free_[(first_ + i) % free_.size()];
        blocks_.push_back(std::make_unique<Slot[]>(kSlots));
        for (size_t i = 0; i < kSlots; ++i) ring[count_++] = new (blocks_.back()[i].storage) Handle;
        free_ = std::move(ring);
        first_ = 0;
    }

    std::vector<std::unique_ptr<Slot[]>> blocks_;
    std::vector<void*> free_;
    size_t first_ = 0;
    size_t count_ = 0;
};

}  // namespace sidra

#endif
