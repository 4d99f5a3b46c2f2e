// SPDX-License-Identifier: MIT
// From an address in the process to the buffer that has it.
#ifndef SIDRA_HOST_RANGES_H
#define SIDRA_HOST_RANGES_H

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace sidra {

// The memory of the buffers of a context. Registered buffers may overlap: the one that was added last counts, and when
// it is removed, the one before it. Thread-safe.
class HostRanges {
   public:
    struct Owner {
        uint64_t handle;
        uintptr_t begin;  // of all its memory
        bool operator==(const Owner&) const = default;
    };

    void add(uint64_t handle, uintptr_t begin, uint64_t size);
    void remove(uint64_t handle, uintptr_t begin, uint64_t size);
    // O(log n) for n buffers.
    std::optional<Owner> find(uintptr_t address) const;

   private:
    // A piece of memory that has the same owners throughout.
    struct Piece {
        uintptr_t end;
        Owner owner;               // the one that counts
        std::vector<Owner> older;  // the last one counts when `owner` is gone
    };
    using Pieces = std::map<uintptr_t, Piece>;  // by their first byte; no two share a byte
    Pieces::iterator split(uintptr_t at);
    void join(uintptr_t begin, uintptr_t end);

    mutable std::mutex mutex_;  // protects pieces_; innermost lock
    Pieces pieces_;
};

}  // namespace sidra

#endif
