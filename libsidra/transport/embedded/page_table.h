// SPDX-License-Identifier: MIT
// Writes the page tables of one context, in the format of uapi/sidra_hw.h. The chip reads them concurrently.
#ifndef SIDRA_EMBEDDED_PAGE_TABLE_H
#define SIDRA_EMBEDDED_PAGE_TABLE_H

#include <cstdint>
#include <memory>

#include "sidra_hw.h"

namespace sidra::embedded {

// Not thread-safe for writers. Each entry is one atomic store, so the chip sees the old or the new value. The bus
// address of a table is its address in this process.
class PageTables {
   public:
    PageTables();
    ~PageTables();
    PageTables(const PageTables&) = delete;
    PageTables& operator=(const PageTables&) = delete;

    uint64_t root() const;

    // Maps [va, va + size) to [address, address + size), with SIDRA_PTE_READ, _WRITE, _LOCAL in `flags`. All are
    // multiples of 4 KiB and inside the address space, and the range is unmapped. Uses 2 MiB leaves where both sides
    // allow.
    void map(uint64_t va, uint64_t address, uint64_t size, uint64_t flags);

    // Clears the leaves of a range that map() created (all of it, or whole parts). Empty tables are unlinked but stay
    // allocated: the chip may access them until the range is quiesced. Never fails.
    void unmap(uint64_t va, uint64_t size);

    // Called after the acknowledgement of the quiesce: frees the tables that unmap() has unlinked.
    void free_unlinked();

    // Size of all tables in bytes.
    uint64_t table_bytes() const { return tables_ * SIDRA_PAGE_SIZE; }

   private:
    struct Node;
    Node* child(Node& parent, unsigned index);
    void unlink(std::unique_ptr<Node> node);

    std::unique_ptr<Node> root_;
    std::unique_ptr<Node> unlinked_;  // a list, because unmap() must not need memory
    uint64_t tables_ = 0;
};

}  // namespace sidra::embedded

#endif
