// SPDX-License-Identifier: MIT
// The one gate between packets and memory: translates device addresses through the context's page tables, checks
// rights, and hands out host pointers. Nothing else in the chip touches memory that packets name.
#ifndef SIDRA_CHIP_DMA_H
#define SIDRA_CHIP_DMA_H

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

// What is common to all transfers of a chip. Ranges are of Space::kBus; an invalid one is refused.
struct Bus {
    explicit Bus(const sidra_chip_host& h) : host(h) {}
    const sidra_chip_host& host;
    uint8_t* l3 = nullptr;
    uint64_t l3_size = 0;
    std::atomic<bool> link_lost{false};
    std::atomic<uint64_t> error_at{0};  // fault knob: translations until one fails; 0 off
    std::atomic<uint64_t> errors{0};

    bool injected_error();
    bool refused();  // counts; always false
    // A range of Space::kL3; null if the chip has not as much.
    uint8_t* l3_bytes(const Range& range) const {
        const bool inside = range.offset() <= l3_size && range.length() <= l3_size - range.offset();
        return range.space() == Space::kL3 && inside ? l3 + range.offset() : nullptr;
    }

    // The host's memory where the range begins, for direct access, and how much of the range lies there; null: refused.
    uint8_t* map(const Range& range, uint64_t* length, bool write);
    void unmap(void* pointer, uint64_t length, bool write) { host.dma_unmap(host.self, pointer, length, write); }
    bool read(const Range& range, void* to);
    bool write(const Range& range, const void* from);
    bool load64(const Range& word, uint64_t* value);
    bool max64(const Range& word, uint64_t value);
    // 8-byte aligned words that others write meanwhile, each by itself. Never across a page.
    bool load_words(const Range& words, uint64_t* to);
    bool read_words(const Range& words, void* to, uint64_t first);  // word number `first` before the others
    // An entry of the driver's tables, which may become valid meanwhile: the word with its flags is read first, so that
    // the others are those of a valid entry.
    template <typename Entry>
    bool read_entry(const Range& table, uint32_t index, Entry* entry) {
        const Range range = table.part(uint64_t{index} * sizeof *entry, sizeof *entry);
        return range.length() == sizeof *entry ? read_words(range, entry, offsetof(Entry, flags) / 8) : refused();
    }
    // 8-byte aligned words that others read meanwhile, as the owner does with the state page. Never across a page.
    bool write_words(const Range& words, const void* from);
};

// What Space::kDevice means to a transfer. `tag` is unique in the process and changes with each invalidation.
struct AddressSpace {
    Range root;  // of the page table
    uint64_t tag;
};

// Translations of one thread; valid for one tag at a time. Table entries as they were read: those of level 1 one by
// one, those of level 0 by lines of eight, since whoever needs a page likely needs the next one, too.
class Tlb {
   public:
    struct Page {
        uint64_t va;   // of its first byte
        Range memory;  // of Space::kBus or Space::kL3
        bool readable;
        bool writable;
    };
    // The page that holds va.
    Fault lookup(Bus& bus, const AddressSpace& space, uint64_t va, Page* page);

   private:
    static constexpr uint64_t kNothing = ~uint64_t{0};
    static constexpr unsigned kLineEntries = 8;
    struct Region {
        uint64_t va = kNothing;  // of its 2 MiB
        uint64_t entry = 0;      // valid: a leaf, or the way to a table of level 0
    };
    struct Line {
        uint64_t va = kNothing;  // of its first page
        std::array<uint64_t, kLineEntries> entries{};
    };
    Fault find_region(Bus& bus, const AddressSpace& space, uint64_t va, uint64_t* entry);
    Fault find_small(Bus& bus, const Range& table, uint64_t va, uint64_t* entry);

    uint64_t tag_ = 0;
    std::array<Region, 64> regions_{};
    std::array<Line, 64> lines_{};
};

// Transfers of one slice or unit of work; everything that it maps is unmapped when it ends.
class Dma {
   public:
    Dma(Bus& bus, Tlb& tlb, const AddressSpace& space) : bus_(bus), tlb_(tlb), space_(space) {}
    ~Dma();
    Dma(const Dma&) = delete;
    Dma& operator=(const Dma&) = delete;

    // Pointer to the first byte of the range, and how much of the range is contiguous from there: 1 byte at least.
    // nullptr and a fault if it is not accessible.
    uint8_t* map_some(const Range& range, uint64_t* length, bool write, Fault* fault);
    // Pointer to all of the range if that is contiguous; nullptr without a fault if it is not.
    uint8_t* map_all(const Range& range, bool write, Fault* fault);
    // Copy, and keep nothing mapped.
    Fault read(const Range& range, void* to);
    Fault write(const Range& range, const void* from);

    // 64-bit words: semaphores.
    Fault find_word(const Range& word, bool write, Range* found);  // where it is, for all contexts the same
    Fault load64(const Range& word, uint64_t* value);
    Fault max64(const Range& word, uint64_t value);

    void unmap_all();

   private:
    struct Mapping {
        void* pointer;
        uint64_t length;
        bool write;
    };
    Fault translate(const Range& range, bool write, Range* found);
    size_t mappings() const { return count_ + more_.size(); }
    void unmap_to(size_t count);

    Bus& bus_;
    Tlb& tlb_;
    const AddressSpace space_;
    static constexpr size_t kInline = 16;
    std::array<Mapping, kInline> inline_;
    size_t count_ = 0;
    std::vector<Mapping> more_;
};

// One page, mapped for as long as what is touched next lies in it, too: rings, reports, recorded packets.
class PageWindow {
   public:
    PageWindow(Bus& bus, Tlb& tlb, const AddressSpace& space, bool write) : dma_(bus, tlb, space), write_(write) {}

    // Pointer to a range that does not cross a page. nullptr and a fault if its page is not accessible.
    uint8_t* at(const Range& range, Fault* fault);

   private:
    Dma dma_;
    const bool write_;
    uint8_t* page_ = nullptr;
    Address address_{};  // of the page
};

}  // namespace sidra::chip

#endif
