// SPDX-License-Identifier: MIT
// Handles of the application. A handle is not the address of its object, but a number in the form of a pointer: the
// object's kind, its slot in the table of that kind, and the generation of the slot. Each object that is stored in a
// slot gets a new generation. So handles that were destroyed, have another kind or never existed are detected without
// accessing memory other than the tables.
#ifndef SIDRA_HANDLE_H
#define SIDRA_HANDLE_H

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "status.h"
#include "transport.h"

namespace sidra {

enum class Kind : uint32_t {
    kDevice,
    kContext,
    kBuffer,
    kStream,
    kEvent,
    kWeights,
    kGraph,
    kProgram,
    kModel,
    kPipeline,
    kCount
};

const char* kind_name(Kind kind);
std::string count_of(Kind kind, uint32_t count);  // "1 buffer", "3 streams", "2 weights"

// Base of every object behind a handle.
struct Handle {
    uint64_t handle = 0;           // HandleParts of the handle
    uint32_t fork_generation = 0;  // of the process that created it
    uint32_t id = 0;               // for messages: "buffer 3"
};

inline bool forked(const Handle& object) { return object.fork_generation != fork_generation(); }

// The fields of a handle.
struct HandleParts {
    static constexpr unsigned kKindShift = 28;
    static constexpr uint32_t kPlaceMask = (1u << kKindShift) - 1;
    static_assert(sizeof(void*) == sizeof(uint64_t), "a handle has 64 bits");

    uint64_t value;

    // Kinds are stored plus one, so that no handle is NULL.
    static HandleParts make(Kind kind, uint32_t place, uint32_t generation) {
        return {uint64_t{generation} << 32 | uint64_t{static_cast<uint32_t>(kind) + 1} << kKindShift | place};
    }
    uint32_t kind() const { return (static_cast<uint32_t>(value) >> kKindShift) - 1; }
    uint32_t place() const { return static_cast<uint32_t>(value) & kPlaceMask; }
    uint32_t generation() const { return static_cast<uint32_t>(value >> 32); }
};

// One lock for the free slots of all kinds. fork() takes it, so that a child never inherits it locked.
std::mutex& handle_mutex();
uint32_t next_object_id(Kind kind);  // from 1 on

// Information for the message about an invalid handle.
struct HandleLook {
    bool made;           // this handle existed at some time
    const Handle* live;  // its object; null: destroyed, or never existed
};
// Registers a table for objects of this kind.
void add_handle_table(Kind kind, HandleLook (*look)(HandleParts));

// All objects of one kind. Slots are reused, and their memory is never freed, so a reader needs no lock: it compares
// one word. The table outlives all static objects of the application.
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

    // Returns the object of a handle, or null. Takes no lock and does not allocate.
    static T* find(HandleParts handle) {
        const Slot* slot = slot_of(handle);
        if (slot == nullptr ||
            (slot->word.load(std::memory_order_acquire) & ~kClaimed) != word(handle.generation(), kLive)) [[unlikely]]
            return nullptr;
        return slot->object();
    }

    // Claims the object of a handle for destruction: only one of several threads gets it, the others get null.
    static T* claim(HandleParts handle) {
        Slot* slot = slot_of(handle);
        uint64_t expected = word(handle.generation(), kLive);
        if (slot == nullptr ||
            !slot->word.compare_exchange_strong(expected, expected | kClaimed, std::memory_order_acq_rel))
            return nullptr;
        return slot->object();
    }
    // Releases the claim; the object stays.
    static void unclaim(T* object) {
        const HandleParts handle{object->handle};
        slot_at(handle.place())->word.store(word(handle.generation(), kLive), std::memory_order_release);
    }
    // Destroys a claimed object. In a forked child, the parent's only loses its handle: a thread that the child does
    // not have may have been about to change it, and hold its locks.
    static void destroy(T* object) {
        const HandleParts handle{object->handle};
        slot_at(handle.place())->word.store(word(handle.generation(), 0), std::memory_order_release);
        if (forked(*object)) return;
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
        std::atomic<uint64_t> word{0};  // generation of the last object in this slot, and its state
        alignas(T) std::byte storage[sizeof(T)];
        T* object() const { return std::launder(reinterpret_cast<T*>(const_cast<std::byte*>(storage))); }
    };

    // Slots are allocated in blocks, each twice as large as the previous one: the highest bit of a slot number selects
    // the block.
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

    // Cannot fail: there is room for every slot.
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

// The handle of an object, for the application.
template <typename T>
T* handle_of(const T* object) {
    return reinterpret_cast<T*>(static_cast<uintptr_t>(object->handle));
}

// INVALID_HANDLE, with a text that says why this is not a handle of a live object of `kind`.
[[gnu::cold]] sidra_status bad_handle(const char* call, const char* argument, Kind kind, HandleParts handle);
// FORKED, with text: the handle belongs to the parent process.
[[gnu::cold]] sidra_status forked_handle(const char* call, const char* argument, Kind kind, const Handle& object);

// Converts an argument from a handle to its object. INVALID_HANDLE, or FORKED in a child.
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

// Claims an object for destruction, even in a forked child. Without destroy() the object stays.
template <typename T>
class Claim {
   public:
    Claim() = default;
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() {
        if (object_ != nullptr) HandleTable<T>::unclaim(object_);
    }

    // Converts an argument from a handle to its object. INVALID_HANDLE, also if another thread destroys it.
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
