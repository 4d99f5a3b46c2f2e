// SPDX-License-Identifier: MIT
// Handles: what an application holds. A handle is not the address of its object but a number in the shape of a pointer:
// the object's kind, its place in the table of its kind, and the generation of that place. Every object that takes a
// place gets a new generation, so a handle that was destroyed, is of another kind or was never made is recognised
// without a look at memory that is not a table's.
#ifndef SIDRA_HANDLE_H
#define SIDRA_HANDLE_H

#include <array>
#include <atomic>
#include <bit>
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

// Base of every object behind a handle.
struct Handle {
    uint64_t handle = 0;           // HandleParts of it
    uint32_t fork_generation = 0;  // of the process that made it
    uint32_t id = 0;               // for texts: "buffer 3"
};

// The number that a handle is.
struct HandleParts {
    static constexpr unsigned kKindShift = 28;
    static constexpr uint32_t kPlaceMask = (1u << kKindShift) - 1;
    static_assert(sizeof(void*) == sizeof(uint64_t), "a handle has 64 bits");

    uint64_t value;

    // A kind is stored as one more than it is: no handle is NULL.
    static HandleParts make(Kind kind, uint32_t place, uint32_t generation) {
        return {uint64_t{generation} << 32 | uint64_t{static_cast<uint32_t>(kind) + 1} << kKindShift | place};
    }
    uint32_t kind() const { return (static_cast<uint32_t>(value) >> kKindShift) - 1; }
    uint32_t place() const { return static_cast<uint32_t>(value) & kPlaceMask; }
    uint32_t generation() const { return static_cast<uint32_t>(value >> 32); }
};

// One lock for the free places of all kinds. fork() waits for it, so that a child never finds it taken.
std::mutex& handle_mutex();
uint32_t next_object_id(Kind kind);  // from 1 on

// What a forked child must neither run nor free (threads, mappings of the parent): kept reachable, never used.
void keep_forever(std::shared_ptr<void> object);

// What a table says about a handle where a call refuses it.
struct HandleLook {
    bool made;           // there was such a handle once, at least
    const Handle* live;  // its object; null: destroyed, or never made
};
// A table of this kind has objects from now on.
void add_handle_table(Kind kind, HandleLook (*look)(HandleParts));

// All objects of one kind. A place is used again and its memory is never given back, so a reader needs no lock: it
// compares one word. The table outlives all static objects of the application.
template <typename T>
class HandleTable {
   public:
    template <typename... Args>
    static T* make(Args&&... args) {
        const uint32_t place = take_place();
        Slot& slot = *slot_at(place);
        T* object = nullptr;
        try {
            object = new (slot.storage) T(std::forward<Args>(args)...);
        } catch (...) {
            give_place(place);
            throw;
        }
        const uint32_t generation = generation_of(slot.word.load(std::memory_order_relaxed)) + 1;
        object->handle = HandleParts::make(T::kKind, place, generation).value;
        object->fork_generation = fork_generation();
        object->id = next_object_id(T::kKind);
        slot.word.store(word(generation, kLive), std::memory_order_release);
        return object;
    }

    // The object of a handle, or null. No lock, no allocation.
    static T* find(HandleParts handle) {
        const Slot* slot = slot_of(handle);
        if (slot == nullptr ||
            (slot->word.load(std::memory_order_acquire) & ~kClaimed) != word(handle.generation(), kLive)) [[unlikely]]
            return nullptr;
        return slot->object();
    }

    // The object of a handle that is to be destroyed: of several threads that try, one gets it, and the others null.
    static T* claim(HandleParts handle) {
        Slot* slot = slot_of(handle);
        uint64_t expected = word(handle.generation(), kLive);
        if (slot == nullptr ||
            !slot->word.compare_exchange_strong(expected, expected | kClaimed, std::memory_order_acq_rel))
            return nullptr;
        return slot->object();
    }
    // A claimed object that stays after all.
    static void unclaim(T* object) {
        const HandleParts handle{object->handle};
        slot_at(handle.place())->word.store(word(handle.generation(), kLive), std::memory_order_release);
    }
    // Destroys a claimed object.
    static void destroy(T* object) {
        const HandleParts handle{object->handle};
        slot_at(handle.place())->word.store(word(handle.generation(), 0), std::memory_order_release);
        object->~T();
        give_place(handle.place());
    }

   private:
    static constexpr uint64_t kLive = 1, kClaimed = 2;
    static constexpr unsigned kStateBits = 2;
    static constexpr uint64_t word(uint32_t generation, uint64_t state) {
        return uint64_t{generation} << kStateBits | state;
    }
    static constexpr uint32_t generation_of(uint64_t word) { return static_cast<uint32_t>(word >> kStateBits); }

    struct Slot {
        std::atomic<uint64_t> word{0};  // generation of the last object here, and its state
        alignas(T) std::byte storage[sizeof(T)];
        T* object() const { return std::launder(reinterpret_cast<T*>(const_cast<std::byte*>(storage))); }
    };

    // Places come in blocks, each twice as large as the one before: the highest bit of a place says which block.
    static constexpr unsigned kFirstLog2 = 6;
    static constexpr uint32_t kFirst = 1u << kFirstLog2;

    static Slot* slot_at(uint32_t place) {
        const uint32_t from_first = place + kFirst;
        const unsigned block = static_cast<unsigned>(std::bit_width(from_first)) - 1 - kFirstLog2;
        Slot* slots = blocks_[block].load(std::memory_order_acquire);
        return slots != nullptr ? slots + (from_first - (kFirst << block)) : nullptr;
    }
    static Slot* slot_of(HandleParts handle) {
        return handle.kind() == static_cast<uint32_t>(T::kKind) ? slot_at(handle.place()) : nullptr;
    }
    static HandleLook look(HandleParts handle) {
        const Slot* slot = slot_of(handle);
        const uint32_t latest = slot != nullptr ? generation_of(slot->word.load(std::memory_order_acquire)) : 0;
        return {handle.generation() != 0 && handle.generation() <= latest, find(handle)};
    }

    struct Places {
        unsigned blocks = 0;
        std::vector<uint32_t> free;
    };
    static Places& places() {
        static auto* places = new Places;
        return *places;
    }

    static uint32_t take_place() {
        const std::lock_guard lock(handle_mutex());
        std::vector<uint32_t>& free = places().free;
        if (free.empty()) grow(places());
        const uint32_t place = free.back();
        free.pop_back();
        return place;
    }

    // Cannot fail: there is room for every place.
    static void give_place(uint32_t place) {
        const std::lock_guard lock(handle_mutex());
        places().free.push_back(place);
    }

    static void grow(Places& places) {
        const uint32_t count = kFirst << places.blocks, first = count - kFirst;
        if (first + count - 1 > HandleParts::kPlaceMask) throw std::bad_alloc();
        places.free.reserve(first + count);
        blocks_[places.blocks].store(new Slot[count], std::memory_order_release);
        ++places.blocks;
        for (uint32_t i = count; i != 0; --i) places.free.push_back(first + i - 1);
        add_handle_table(T::kKind, look);
    }

    static inline constinit std::array<std::atomic<Slot*>, HandleParts::kKindShift + 1> blocks_{};
};

template <typename T>
using HandleTableOf = HandleTable<std::remove_const_t<T>>;

template <typename T>
HandleParts parts_of(T* handle) {
    return {reinterpret_cast<uintptr_t>(handle)};
}

// What the application gets of an object.
template <typename T>
T* handle_of(const T* object) {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(object->handle));
}

// Why a value is no handle of a live object of `kind`: INVALID_HANDLE, with text.
[[gnu::cold]] sidra_status bad_handle(const char* call, const char* argument, Kind kind, HandleParts handle);
// The handle is the parent process's: FORKED, with text.
[[gnu::cold]] sidra_status forked_handle(const char* call, const char* argument, Kind kind, const Handle& object);

inline bool forked(const Handle& object) { return object.fork_generation != fork_generation(); }

// Turns the argument of a call from a handle into its object. INVALID_HANDLE, or FORKED in a child.
template <typename T>
sidra_status check(const char* call, const char* argument, T*& handle) {
    T* object = HandleTableOf<T>::find(parts_of(handle));
    if (object == nullptr) [[unlikely]]
        return bad_handle(call, argument, T::kKind, parts_of(handle));
    if (forked(*object)) [[unlikely]]
        return forked_handle(call, argument, T::kKind, *object);
    handle = object;
    return SIDRA_OK;
}

// An object that its handle's destruction has claimed, also in a forked child. Unless destroy() ends it, it stays.
template <typename T>
class Claim {
   public:
    Claim() = default;
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() {
        if (object_ != nullptr) HandleTable<T>::unclaim(object_);
    }

    // Turns the argument of a call from a handle into its object. INVALID_HANDLE: also where another thread is
    // destroying it.
    sidra_status take(const char* call, const char* argument, T*& handle) {
        object_ = HandleTable<T>::claim(parts_of(handle));
        if (object_ == nullptr) return bad_handle(call, argument, T::kKind, parts_of(handle));
        handle = object_;
        return SIDRA_OK;
    }
    void destroy() { HandleTable<T>::destroy(std::exchange(object_, nullptr)); }

   private:
    T* object_ = nullptr;
};

}  // namespace sidra

#endif
