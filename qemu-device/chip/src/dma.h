// SPDX-License-Identifier: MIT
// The only path from packets to memory: translates device addresses with the context's page tables, checks access
// rights, and returns host pointers. No other code of the chip accesses memory that packets name.
#ifndef SIDRA_CHIP_DMA_H
#define SIDRA_CHIP_DMA_H

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "address.h"
#include "fault.h"
#include "sidra_chip.h"
#include "sidra_hw.h"

namespace sidra::chip {

// The part that all transfers of a chip share. Ranges are in Space::kBus; invalid ones are refused.
struct Bus {
    explicit Bus(const sidra_chip_host& h) : host(h) {}
    const sidra_chip_host& host;
    uint8_t* l3 = nullptr;
    uint64_t l3_size = 0;
    std::atomic<bool> link_lost{false};
    std::atomic<uint64_t> error_at{0};  // fault knob: number of translations until one fails; 0: off
    std::atomic<uint64_t> errors{0};

    bool injected_error() { return error_at.load(std::memory_order_relaxed) != 0 && count_down(); }
    bool count_down();  // of the fault knob; true: now
    bool refused();     // counts an error; always returns false
    // Host pointer to a range of Space::kL3; null if it exceeds the chip's L3.
    uint8_t* l3_bytes(const Range& range) const {
        const bool inside = range.offset() <= l3_size && range.length() <= l3_size - range.offset();
        return range.space() == Space::kL3 && inside ? l3 + range.offset() : nullptr;
    }

    // Maps host memory at the start of the range for direct access; `length` is the mapped part. Null: refused.
    uint8_t* map(const Range& range, uint64_t* length, bool write);
    void unmap(void* pointer, uint64_t length, bool write) { host.dma_unmap(host.self, pointer, length, write); }
    bool read(const Range& range, void* to);
    bool write(const Range& range, const void* from);
    bool load64(const Range& word, uint64_t* value);
    bool max64(const Range& word, uint64_t value);
    // 8-byte aligned words that others may write concurrently; each word is read atomically. Must not cross a page.
    bool load_words(const Range& words, uint64_t* to);
    bool read_words(const Range& words, void* to, uint64_t first);  // reads word number `first` before the others
    // Reads an entry of the driver's tables, which may become valid concurrently. The word with its flags is read
    // first, so that the other words are those of a valid entry.
    template <typename Entry>
    bool read_entry(const Range& table, uint32_t index, Entry* entry) {
        const Range range = table.part(uint64_t{index} * sizeof *entry, sizeof *entry);
        return range.length() == sizeof *entry ? read_words(range, entry, offsetof(Entry, flags) / 8) : refused();
    }
    // 8-byte aligned words that others may read concurrently, such as the state page. Must not cross a page.
    bool write_words(const Range& words, const void* from);
};

// What is done with memory. The pages must have all of these rights.
enum class Access : uint64_t {
    kRead = SIDRA_PTE_READ,
    kWrite = SIDRA_PTE_WRITE,
    kReadWrite = SIDRA_PTE_READ | SIDRA_PTE_WRITE
};

// Translation of Space::kDevice. `tag` is unique in the process and changes with each invalidation.
struct AddressSpace {
    Range root;  // of the page table
    uint64_t tag;
};

// Translation cache of one thread, valid for one tag at a time. It holds raw table entries: single ones of level 1, and
// lines of eight of level 0, because the next page is often needed, too.
class Tlb {
   public:
    // A page, and some pages behind it if they are adjacent in memory and have the same rights.
    struct Page {
        uint64_t va;      // of its first byte
        Range memory;     // in Space::kBus or Space::kL3
        uint64_t rights;  // of Access
    };
    // Finds the page that contains va, which is the first one.
    Fault lookup(Bus& bus, const AddressSpace& space, uint64_t va, Page* page);

   private:
    static constexpr uint64_t kNothing = ~uint64_t{0};
    static constexpr unsigned kLineEntries = 8;
    struct Region {
        uint64_t va = kNothing;  // of its 2 MiB
        uint64_t entry = 0;      // valid: a leaf, or a pointer to a table of level 0
    };
    struct Line {
        uint64_t va = kNothing;  // of its first page
        std::array<uint64_t, kLineEntries> entries{};
    };
    void begin(uint64_t tag);
    Fault read_region(Bus& bus, const AddressSpace& space, uint64_t va, Region* region);
    Fault find_small(Bus& bus, const Range& table, uint64_t va, uint64_t* entry, uint64_t* size);

    uint64_t tag_ = 0;
    std::array<Region, 64> regions_{};
    std::array<Line, 64> lines_{};
};

// Transfers of one slice or unit of work; the destructor unmaps everything.
class Dma {
   public:
    // How many pages it joins to others at most, so that no unit takes long because its operands are sparse and large.
    // Further ones are found one by one, as if they were not adjacent in memory. Usual operands need far fewer.
    static constexpr uint32_t kJoinsMax = 1u << 14;

    Dma(Bus& bus, Tlb& tlb, const AddressSpace& space) : bus_(bus), tlb_(tlb), space_(space) {}
    ~Dma();
    Dma(const Dma&) = delete;
    Dma& operator=(const Dma&) = delete;

    // Pointer to the first byte of the range, and the contiguous length from there (at least 1 byte). Returns nullptr
    // and a fault if it is not accessible.
    uint8_t* map_some(const Range& range, uint64_t* length, Access access, Fault* fault);
    // Pointer to the range if it is contiguous; nullptr without a fault if it is not.
    uint8_t* map_all(const Range& range, Access access, Fault* fault);
    // Copy without keeping a mapping.
    Fault read(const Range& range, void* to);
    Fault write(const Range& range, const void* from);

    // 64-bit semaphore words.
    Fault find_word(const Range& word, Access access, Range* found);  // its address, the same for all contexts
    Fault load64(const Range& word, uint64_t* value);
    Fault max64(const Range& word, uint64_t value);
    // For the trace: what a word holds that may be written, readable or not; ~0 if nobody knows.
    uint64_t peek64(const Range& word);

    void unmap_all();

   private:
    struct Mapping {
        void* pointer;
        uint64_t length;
        bool write;
    };
    Fault translate(const Range& range, Access access, Range* found);
    void join(const Range& range, Access access, Range* run);
    uint8_t* map_bus(const Range& run, uint64_t* length, bool write);
    size_t mappings() const { return count_ + more_.size(); }
    void unmap_to(size_t count);

    Bus& bus_;
    Tlb& tlb_;
    const AddressSpace space_;
    uint32_t joins_ = 0;
    static constexpr size_t kInline = 16;
    std::array<Mapping, kInline> inline_;
    size_t count_ = 0;
    std::vector<Mapping> more_;
};

// Whether to map a whole range because of some lines of bytes in it. Much that lies between them need not be
// accessible. But to find a page takes less than half as long as to copy a line.
constexpr bool worth_mapping(uint64_t range, uint64_t lines, uint64_t bytes) {
    return range <= std::max(4 * bytes + (64u << 10), 2 * lines * SIDRA_PAGE_SIZE);
}

// One mapped page, kept while the following accesses are in the same page: rings, reports, recorded packets, and what
// packets name besides their data.
class PageWindow {
   public:
    PageWindow(Bus& bus, Tlb& tlb, const AddressSpace& space, Access access) : dma_(bus, tlb, space), access_(access) {}

    // Pointer to a range that does not cross a page. Returns nullptr and a fault if the page is not accessible.
    uint8_t* at(const Range& range, Fault* fault) {
        const uint64_t in_page = range.offset() % SIDRA_PAGE_SIZE;
        const Address page{range.space(), range.offset() - in_page};
        if (page_ && address_ == page) [[likely]]
            return page_ + in_page;
        return map(page, fault) ? page_ + in_page : nullptr;
    }
    // Copies a range of any length.
    Fault read(const Range& range, void* to);
    // Compares a range of any length.
    Fault compare(const Range& range, const void* with, bool* equal);

    static bool crosses(const Range& range) {
        return range.offset() % SIDRA_PAGE_SIZE + range.length() > SIDRA_PAGE_SIZE;
    }

   private:
    bool map(const Address& page, Fault* fault);

    Dma dma_;
    const Access access_;
    uint8_t* page_ = nullptr;
    Address address_{};  // of the page
};

}  // namespace sidra::chip

#endif
