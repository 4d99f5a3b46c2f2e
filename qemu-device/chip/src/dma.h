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

#include "fault.h"
#include "sidra_chip.h"
#include "sidra_hw.h"

namespace sidra::chip {

inline constexpr uint64_t kVaLimit = uint64_t{1} << SIDRA_VA_BITS;

// [va, va + bytes) lies inside the device address space.
constexpr bool range_ok(uint64_t va, uint64_t bytes) { return va < kVaLimit && bytes <= kVaLimit - va; }

// What is common to all transfers of a chip.
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
    // Direct access for tables and rings at bus addresses; false: refused.
    bool read(uint64_t bus, void* to, uint64_t size);
    bool write(uint64_t bus, const void* from, uint64_t size);
    bool load64(uint64_t bus, uint64_t* value);
    // 8-byte aligned words that others write meanwhile, each by itself. Never across a page.
    bool load_words(uint64_t bus, uint64_t* to, uint64_t count);
    bool read_words(uint64_t bus, void* to, uint64_t size, uint64_t first);  // word number `first` before the others
    // An entry of the driver's tables, which may become valid meanwhile: the word with its flags is read first, so that
    // the others are those of a valid entry.
    template <typename Entry>
    bool read_entry(uint64_t bus, Entry* entry) {
        return read_words(bus, entry, sizeof *entry, offsetof(Entry, flags) / 8);
    }
    // 8-byte aligned words that others read meanwhile, as the owner does with the state page. Never across a page.
    bool write_words(uint64_t bus, const void* from, uint64_t size);
};

// The address space that a transfer runs in. `tag` is unique in the process and changes with each invalidation.
struct AddressSpace {
    uint64_t root = 0;  // bus address of the root page table
    uint64_t tag = 0;
};

// Translations of one thread; valid for one tag at a time. Table entries as they were read: those of level 1 one by
// one, those of level 0 by lines of eight, since whoever needs a page likely needs the next one, too.
class Tlb {
   public:
    struct Page {
        uint64_t va = 0;       // of its first byte
        uint64_t address = 0;  // bus address, or offset in L3
        uint64_t size = 0;
        bool local = false;
        bool readable = false;
        bool writable = false;
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
    Fault find_small(Bus& bus, uint64_t table, uint64_t va, uint64_t* entry);

    uint64_t tag_ = 0;
    std::array<Region, 64> regions_{};
    std::array<Line, 64> lines_{};
};

// Transfers of one slice or unit of work; everything that it maps is unmapped when it ends.
class Dma {
   public:
    // With space.root == 0 addresses are bus addresses (kernel queues' own memory).
    Dma(Bus& bus, Tlb& tlb, const AddressSpace& space) : bus_(bus), tlb_(tlb), space_(space) {}
    ~Dma();
    Dma(const Dma&) = delete;
    Dma& operator=(const Dma&) = delete;

    // Pointer to the byte at va; *length is lowered to what is contiguous from there. nullptr and a fault if it is not
    // accessible.
    uint8_t* map_some(uint64_t va, uint64_t* length, bool write, Fault* fault);
    // Pointer to all of [va, va + length) if that is contiguous; nullptr without a fault if it is not.
    uint8_t* map_all(uint64_t va, uint64_t length, bool write, Fault* fault);
    Fault read(uint64_t va, void* to, uint64_t length);
    Fault write(uint64_t va, const void* from, uint64_t length);

    // 64-bit words: semaphores.
    Fault word_key(uint64_t va, bool write, uint64_t* key);  // identifies the word across contexts
    Fault load64(uint64_t va, uint64_t* value);
    Fault max64(uint64_t va, uint64_t value);

    void unmap_all();

   private:
    struct Mapping {
        void* pointer;
        uint64_t length;
        bool write;
    };
    Fault page(uint64_t va, bool write, uint64_t* address, bool* local, uint64_t* left);

    Bus& bus_;
    Tlb& tlb_;
    const AddressSpace space_;
    static constexpr size_t kInline = 16;
    std::array<Mapping, kInline> inline_;
    size_t count_ = 0;
    std::vector<Mapping> more_;
};

}  // namespace sidra::chip

#endif
