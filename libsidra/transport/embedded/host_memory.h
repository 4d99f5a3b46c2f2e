// SPDX-License-Identifier: MIT
// Memory of this process that the chip can access: page-aligned, zeroed, freed as a whole. There is no IOMMU, so the
// bus address of a byte is its address; only tables that this driver writes contain bus addresses.
#ifndef SIDRA_EMBEDDED_HOST_MEMORY_H
#define SIDRA_EMBEDDED_HOST_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "sidra_hw.h"

namespace sidra::embedded {

constexpr uint64_t page_ceil(uint64_t bytes) { return (bytes + SIDRA_PAGE_SIZE - 1) & ~uint64_t{SIDRA_PAGE_SIZE - 1}; }

// Anonymous pages; from 2 MiB on aligned to 2 MiB, with a request for huge pages.
class HostMemory {
   public:
    enum class Fork { kInherit, kDrop };  // kDrop: not inherited by a child of fork()

    // size > 0, rounded up to pages. Throws std::bad_alloc.
    explicit HostMemory(size_t size, Fork fork = Fork::kInherit);
    ~HostMemory();
    HostMemory(const HostMemory&) = delete;
    HostMemory& operator=(const HostMemory&) = delete;

    uint8_t* data() const { return data_; }
    size_t size() const { return size_; }
    uint64_t bus() const { return reinterpret_cast<uint64_t>(data_); }

   private:
    uint8_t* data_;
    size_t size_;
};

// State pages of all queues of a chip: shared memory with two mappings, one writable and one read-only, so that an
// application that writes to its state page faults and cannot change its own timeline.
class StatePages {
   public:
    // Throws std::bad_alloc, or std::system_error if no file can be created for them.
    explicit StatePages(uint32_t count);
    ~StatePages();
    StatePages(const StatePages&) = delete;
    StatePages& operator=(const StatePages&) = delete;

    // One page; zeroed when taken, returned when dropped (a reader that keeps its reference keeps a stale page).
    class Page {
       public:
        Page(StatePages& pool, uint32_t number) : pool_(pool), number_(number) {}
        ~Page() { pool_.put(number_); }
        Page(const Page&) = delete;
        Page& operator=(const Page&) = delete;
        sidra_queue_state* state() const { return reinterpret_cast<sidra_queue_state*>(pool_.writable_ + offset()); }
        uint8_t* readonly() const { return pool_.readonly_ + offset(); }

       private:
        size_t offset() const { return size_t{number_} * SIDRA_PAGE_SIZE; }
        StatePages& pool_;
        const uint32_t number_;
    };
    // nullptr: all are in use.
    std::shared_ptr<Page> take();

   private:
    void put(uint32_t number);

    uint8_t* writable_;
    uint8_t* readonly_;
    const size_t size_;
    std::mutex lock_;  // protects free_
    std::vector<uint32_t> free_;
};

}  // namespace sidra::embedded

#endif
