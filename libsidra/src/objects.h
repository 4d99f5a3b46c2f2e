// SPDX-License-Identifier: MIT
// Which buffers and weights of a context exist. Packets name them by address and by index, which another object may get
// later; a graph keeps their ids, which none gets again.
#ifndef SIDRA_OBJECTS_H
#define SIDRA_OBJECTS_H

#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "handle.h"
#include "sidra_cmd.h"

namespace sidra {

// An object for ever, also after its end.
struct ObjectName {
    Kind kind;
    uint32_t id;
    auto operator<=>(const ObjectName&) const = default;
};

// Thread-safe.
class Objects {
   public:
    void add_buffer(uint64_t address, uint64_t size, uint32_t id);
    void remove_buffer(uint64_t address);
    void add_weights(uint32_t index, uint32_t id);
    void remove_weights(uint32_t index);

    // Adds what a packet names.
    void collect(const sidra_cmd& packet, std::set<ObjectName>* names) const;
    // The first of them that does not exist any more.
    std::optional<ObjectName> missing(const std::set<ObjectName>& names) const;
    // Moves with each removal: if it has not, nothing is missing that was not before.
    uint64_t removals() const { return removals_.load(std::memory_order_acquire); }

   private:
    struct Buffer {
        uint64_t size;
        uint32_t id;
    };
    void collect_buffer(uint64_t address, std::set<ObjectName>* names) const;
    void collect_weights(uint32_t index, std::set<ObjectName>* names) const;

    mutable std::mutex mutex_;              // of the next three; innermost
    std::map<uint64_t, Buffer> buffers_;    // by device address
    std::map<uint32_t, uint32_t> weights_;  // ids by index
    std::set<ObjectName> live_;
    std::atomic<uint64_t> removals_{0};
};

}  // namespace sidra

#endif
