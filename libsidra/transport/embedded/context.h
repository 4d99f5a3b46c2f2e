// SPDX-License-Identifier: MIT
// Address spaces and contexts. A context has a queue table, a weights table, the objects that these refer to, and an
// address space that others may share. The driver owns its entry in the chip's table.
#ifndef SIDRA_EMBEDDED_CONTEXT_H
#define SIDRA_EMBEDDED_CONTEXT_H

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "host_memory.h"
#include "page_table.h"
#include "queue.h"
#include "range_allocator.h"
#include "sidra_accel.h"
#include "sidra_hw.h"
#include "weights_store.h"

namespace sidra::embedded {

// The memory of a buffer. Freed when the last handle, binding or mapping is gone.
struct BufferMemory {
    virtual ~BufferMemory() = default;
    uint8_t* pages = nullptr;  // in this process
    uint64_t size = 0;         // whole pages
    uint64_t address = 0;      // bus address, or offset in L3
    uint64_t pte_flags = 0;    // SIDRA_PTE_LOCAL
    uint64_t first = 0;        // offset of the caller's first byte (registered memory)
    bool readonly = false;     // the device may not write it
    bool mappable = true;
};

struct Binding {
    std::shared_ptr<BufferMemory> memory;
    uint64_t va;  // of the first page
};
// By the buffer's handle and the address that BIND returned, so that closing a buffer finds its bindings without a
// search.
using Bindings = std::map<std::pair<uint32_t, uint64_t>, Binding>;

struct WeightsHandle {
    WeightsObject* object;
    uint32_t rights;  // SIDRA_WEIGHTS_*
};

// Addresses below are never valid, so that packets with an unset address field fault.
inline constexpr uint64_t kVaBegin = SIDRA_HUGE_SIZE;
inline constexpr uint64_t kVaEnd = uint64_t{1} << SIDRA_VA_BITS;

struct Context;

// An address space; protected by the driver's lock.
struct Vm {
    explicit Vm(uint32_t its_handle) : handle(its_handle) {}

    const uint32_t handle;
    PageTables page_tables;
    RangeAllocator addresses{kVaBegin, kVaEnd};
    // Addresses are reused as late as possible: queued packets and graphs may still name removed objects, and must
    // fault rather than use other objects.
    uint64_t next_address = kVaBegin;
    Bindings bindings;
    std::vector<Context*> contexts;  // that use it on the chip
};

// Protected by the driver's lock.
struct Context {
    Context(uint32_t its_handle, uint32_t its_slot, std::shared_ptr<Vm> its_vm)
        : handle(its_handle),
          slot(its_slot),
          vm(std::move(its_vm)),
          queue_table(SIDRA_QUEUES_PER_CONTEXT_MAX * sizeof(sidra_hw_queue)),
          weights_table(SIDRA_WEIGHTS_MAX * sizeof(sidra_hw_weights)) {}

    sidra_hw_queue& queue_entry(uint32_t number) const {
        return reinterpret_cast<sidra_hw_queue*>(queue_table.data())[number];
    }
    sidra_hw_weights& weights_entry(uint32_t index) const {
        return reinterpret_cast<sidra_hw_weights*>(weights_table.data())[index];
    }

    // Epoch for a queue that is created or reset: never 0.
    uint32_t take_epoch() {
        if (++last_epoch == 0) ++last_epoch;
        return last_epoch;
    }

    const uint32_t handle;
    const uint32_t slot;  // number of the context on the chip
    const std::shared_ptr<Vm> vm;
    uint32_t last_epoch = 0;
    uint32_t generation = 1;
    bool lost = false;
    sidra_fault fault{};  // the latest fault of queues that are gone or were reset

    uint32_t next_weights = 0;  // indexes are reused as late as possible, like addresses
    HostMemory queue_table;
    HostMemory weights_table;
    std::map<uint32_t, std::shared_ptr<Queue>> queues;  // by number
    std::map<uint32_t, WeightsHandle> weights;          // by index
};

// Entries of tables that the chip may read at any time, written by 64-bit words: complete first, then valid. The word
// with `flags` makes the entry valid.
template <class Entry>
void publish_entry(Entry& place, Entry entry, uint32_t flags) {
    constexpr size_t kWords = sizeof(Entry) / sizeof(uint64_t),
                     kFlagWord = __builtin_offsetof(Entry, flags) / sizeof(uint64_t);
    entry.flags = flags;
    uint64_t words[kWords];
    std::memcpy(words, &entry, sizeof entry);
    auto* target = reinterpret_cast<uint64_t*>(&place);
    for (size_t i = 0; i < kWords; i++)
        if (i != kFlagWord) std::atomic_ref<uint64_t>(target[i]).store(words[i], std::memory_order_relaxed);
    std::atomic_ref<uint64_t>(target[kFlagWord]).store(words[kFlagWord], std::memory_order_release);
}
template <class Entry>
void revoke_entry(Entry& place) {
    constexpr size_t kOffset = __builtin_offsetof(Entry, flags);
    constexpr uint64_t kFlags = uint64_t{0xffffffff} << kOffset % sizeof(uint64_t) * 8;
    std::atomic_ref<uint64_t> word(reinterpret_cast<uint64_t*>(&place)[kOffset / sizeof(uint64_t)]);
    word.store(word.load(std::memory_order_relaxed) & ~kFlags, std::memory_order_release);
}

// Revokes a queue's entry. Epoch 0: the queue has no current epoch.
inline void hide_queue(sidra_hw_queue& entry) {
    revoke_entry(entry);
    std::atomic_ref<uint32_t>(entry.epoch).store(0, std::memory_order_release);
}

// In a revoked entry: the epoch that the queue is about to begin.
inline void name_epoch(sidra_hw_queue& entry, uint32_t epoch) {
    std::atomic_ref<uint32_t>(entry.epoch).store(epoch, std::memory_order_release);
}

}  // namespace sidra::embedded

#endif
