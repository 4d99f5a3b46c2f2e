// SPDX-License-Identifier: MIT
// The existing buffers, programs and weights of a context. Packets name them by address and index, which may be reused;
// a graph stores their ids, which are never reused.
#ifndef SIDRA_OBJECTS_H
#define SIDRA_OBJECTS_H

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>

#include "handle.h"
#include "sidra_cmd.h"

namespace sidra {

// Identifies an object permanently, even after its destruction.
struct ObjectName {
    Kind kind;
    uint32_t id;
    auto operator<=>(const ObjectName&) const = default;
};

// Thread-safe.
class Objects {
   public:
    // Buffers and programs. again: it was removed, because it was to be destroyed, but that failed.
    void add_memory(const ObjectName& name, uint64_t address, uint64_t size, bool again = false);
    void remove_memory(uint64_t address);
    void add_weights(uint32_t index, uint32_t id);
    void remove_weights(uint32_t index);

    // Adds the objects that a packet and its operands name.
    void collect(const sidra_cmd& packet, std::span<const sidra_operand> operands, std::set<ObjectName>* names) const;
    // The first of these that no longer exists.
    std::optional<ObjectName> missing(const std::map<ObjectName, uint32_t>& names) const;
    // Changes with each removal of what was collected: if it has not changed, no further object is missing.
    uint64_t removals() const { return removals_.load(std::memory_order_acquire); }

   private:
    struct Memory {
        uint64_t size;
        ObjectName name;
        mutable bool collected;  // so that the memory that a graph does not use comes and goes without a check of it
    };
    void collect_memory(uint64_t address, std::set<ObjectName>* names) const;
    void collect_weights(uint32_t index, std::set<ObjectName>* names) const;

    mutable std::mutex mutex_;              // protects the next members; innermost lock
    std::map<uint64_t, Memory> memory_;     // by device address
    std::map<uint32_t, uint32_t> weights_;  // ids by index
    std::atomic<uint64_t> removals_{0};
};

}  // namespace sidra

#endif
