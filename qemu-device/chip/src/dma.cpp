// SPDX-License-Identifier: MIT
#include "dma.h"

#include <algorithm>
#include <cstring>

namespace sidra::chip {
namespace {

constexpr uint64_t kLocalKey = uint64_t{1} << 62;  // semaphore words in L3; bus addresses end below bit 52

}  // namespace

bool Bus::injected_error() {
    if (error_at.load(std::memory_order_relaxed) == 0) return false;
    uint64_t left = error_at.load(std::memory_order_relaxed);
    while (left != 0 && !error_at.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
    }
    return left == 1;
}

bool Bus::refused() {
    errors.fetch_add(1, std::memory_order_relaxed);
    return false;
}

bool Bus::read(uint64_t bus, void* to, uint64_t size) {
    auto* out = static_cast<uint8_t*>(to);
    if (bus + size < bus) return refused();
    while (size != 0) {
        uint64_t length = size;
        void* from = link_lost.load(std::memory_order_relaxed) ? nullptr : host.dma_map(host.self, bus, &length, false);
        if (from == nullptr || length == 0) return refused();
        std::memcpy(out, from, length);
        host.dma_unmap(host.self, from, length, false);
        bus += length, out += length, size -= length;
    }
    return true;
}

bool Bus::write(uint64_t bus, const void* from, uint64_t size) {
    auto* in = static_cast<const uint8_t*>(from);
    if (bus + size < bus) return refused();
    while (size != 0) {
        uint64_t length = size;
        void* to = link_lost.load(std::memory_order_relaxed) ? nullptr : host.dma_map(host.self, bus, &length, true);
        if (to == nullptr || length == 0) return refused();
        std::memcpy(to, in, length);
        host.dma_unmap(host.self, to, length, true);
        bus += length, in += length, size -= length;
    }
    return true;
}

bool Bus::read_words(uint64_t bus, void* to, uint64_t size, uint64_t first) {
    const auto read_word = [&](uint64_t i) {
        uint64_t word;
        if (!load64(bus + 8 * i, &word)) return false;
        std::memcpy(static_cast<uint8_t*>(to) + 8 * i, &word, 8);
        return true;
    };
    if (!read_word(first)) return false;
    for (uint64_t i = 0; i < size / 8; i++)
        if (i != first && !read_word(i)) return false;
    return true;
}

bool Bus::write_words(uint64_t bus, const void* from, uint64_t size) {
    uint64_t length = size;
    void* to = link_lost.load(std::memory_order_relaxed) ? nullptr : host.dma_map(host.self, bus, &length, true);
    if (to && length == size)
        for (uint64_t i = 0; i < size; i += 8) {
            uint64_t word;
            std::memcpy(&word, static_cast<const uint8_t*>(from) + i, 8);
            __atomic_store_n(reinterpret_cast<uint64_t*>(static_cast<uint8_t*>(to) + i), word, __ATOMIC_RELEASE);
        }
    if (to) host.dma_unmap(host.self, to, length, true);
    return (to && length == size) || refused();
}

bool Bus::load64(uint64_t bus, uint64_t* value) {
    return (!link_lost.load(std::memory_order_relaxed) && host.load64_acquire(host.self, bus, value)) || refused();
}

bool Bus::load_words(uint64_t bus, uint64_t* to, uint64_t count) {
    uint64_t length = count * sizeof *to;
    void* from = link_lost.load(std::memory_order_relaxed) ? nullptr : host.dma_map(host.self, bus, &length, false);
    const bool whole = from && length == count * sizeof *to;
    if (whole)
        for (uint64_t i = 0; i < count; i++)
            to[i] = __atomic_load_n(static_cast<uint64_t*>(from) + i, __ATOMIC_ACQUIRE);
    if (from) host.dma_unmap(host.self, from, length, false);
    return whole || refused();
}

namespace {

// What two streams of addresses use, whose distance is a power of two, is not the same.
template <typename Slots>
auto& slot_of(Slots& slots, uint64_t number) {
    static_assert(std::tuple_size_v<Slots> == 64);
    return slots[(number * 0x9e3779b97f4a7c15) >> 58];
}

constexpr uint64_t entry_at(uint64_t table, uint64_t va, unsigned level) {
    return table + 8 * ((va >> (SIDRA_PAGE_SHIFT + 9 * level)) & (SIDRA_PT_ENTRIES - 1));
}

constexpr uint64_t kKind = SIDRA_PTE_VALID | SIDRA_PTE_LEAF | SIDRA_PTE_RESERVED;

bool is_table(uint64_t entry) {
    return (entry & (kKind | SIDRA_PTE_READ | SIDRA_PTE_WRITE | SIDRA_PTE_LOCAL)) == SIDRA_PTE_VALID;
}

bool is_leaf(const Bus& bus, uint64_t entry, uint64_t size) {
    const uint64_t address = entry & SIDRA_PTE_ADDR;
    if ((entry & kKind) != (SIDRA_PTE_VALID | SIDRA_PTE_LEAF) || (address & (size - 1))) return false;
    return !(entry & SIDRA_PTE_LOCAL) || (address < bus.l3_size && size <= bus.l3_size - address);
}

}  // namespace

Fault Tlb::find_region(Bus& bus, const AddressSpace& space, uint64_t va, uint64_t* entry) {
    Region& region = slot_of(regions_, va >> SIDRA_HUGE_SHIFT);
    if (region.va != (va & ~uint64_t{SIDRA_HUGE_SIZE - 1})) {
        uint64_t table = space.root, found = 0;
        for (unsigned level = SIDRA_PT_LEVELS - 1; level >= 1; level--) {
            if (!bus.load64(entry_at(table, va, level), &found)) return {SIDRA_FAULT_BUS, va};
            if (!is_table(found) && (level > 1 || !is_leaf(bus, found, SIDRA_HUGE_SIZE)))
                return {SIDRA_FAULT_TRANSLATION, va};
            table = found & SIDRA_PTE_ADDR;
        }
        region = {va & ~uint64_t{SIDRA_HUGE_SIZE - 1}, found};
    }
    *entry = region.entry;
    return {};
}

Fault Tlb::find_small(Bus& bus, uint64_t table, uint64_t va, uint64_t* entry) {
    constexpr uint64_t kLineSize = uint64_t{SIDRA_PAGE_SIZE} * kLineEntries;
    const uint64_t first = va & ~(kLineSize - 1);
    Line& line = slot_of(lines_, va / kLineSize);
    const uint64_t& wanted = line.entries[(va - first) / SIDRA_PAGE_SIZE];
    // One that was not valid when its line was read may be by now.
    if (line.va != first || !is_leaf(bus, wanted, SIDRA_PAGE_SIZE)) {
        line.va = kNothing;
        if (!bus.load_words(entry_at(table, first, 0), line.entries.data(), kLineEntries)) return {SIDRA_FAULT_BUS, va};
        line.va = first;
    }
    if (!is_leaf(bus, wanted, SIDRA_PAGE_SIZE)) return {SIDRA_FAULT_TRANSLATION, va};
    *entry = wanted;
    return {};
}

Fault Tlb::lookup(Bus& bus, const AddressSpace& space, uint64_t va, Page* page) {
    if (tag_ != space.tag) {
        regions_.fill({});
        lines_.fill({});
        tag_ = space.tag;
    }
    uint64_t entry;
    if (Fault fault = find_region(bus, space, va, &entry)) return fault;
    page->size = SIDRA_HUGE_SIZE;
    if (is_table(entry)) {
        if (Fault fault = find_small(bus, entry & SIDRA_PTE_ADDR, va, &entry)) return fault;
        page->size = SIDRA_PAGE_SIZE;
    }
    page->va = va & ~(page->size - 1);
    page->address = entry & SIDRA_PTE_ADDR;
    page->local = entry & SIDRA_PTE_LOCAL;
    page->readable = entry & SIDRA_PTE_READ;
    page->writable = entry & SIDRA_PTE_WRITE;
    return {};
}

Dma::~Dma() { unmap_all(); }

void Dma::unmap_all() {
    const sidra_chip_host& host = bus_.host;
    for (size_t i = 0; i < count_; i++)
        host.dma_unmap(host.self, inline_[i].pointer, inline_[i].length, inline_[i].write);
    for (const Mapping& m : more_) host.dma_unmap(host.self, m.pointer, m.length, m.write);
    count_ = 0;
    more_.clear();
}

Fault Dma::page(uint64_t va, bool write, uint64_t* address, bool* local, uint64_t* left) {
    if (space_.root == 0) {  // bus addresses
        *address = va;
        *local = false;
        *left = ~va;
        return {};
    }
    if (va >= kVaLimit) return {SIDRA_FAULT_LIMIT, va};
    Tlb::Page found;
    if (Fault fault = tlb_.lookup(bus_, space_, va, &found)) return fault;
    if (write ? !found.writable : !found.readable) return {SIDRA_FAULT_PERMISSION, va};
    const uint64_t offset = va - found.va;
    *address = found.address + offset;
    *local = found.local;
    *left = found.size - offset;
    return {};
}

uint8_t* Dma::map_some(uint64_t va, uint64_t* length, bool write, Fault* fault) {
    if (bus_.injected_error()) {
        bus_.refused();
        *fault = {SIDRA_FAULT_BUS, va};
        return nullptr;
    }
    uint64_t address, run;
    bool local;
    if ((*fault = page(va, write, &address, &local, &run))) return nullptr;
    while (run < *length) {  // join pages that lie side by side
        uint64_t next, left;
        bool next_local;
        if (page(va + run, write, &next, &next_local, &left) || next_local != local || next != address + run) break;
        run += left;
    }
    *length = std::min(*length, run);
    if (local) return bus_.l3 + address;

    uint64_t mapped = *length;
    const sidra_chip_host& host = bus_.host;
    if (count_ == kInline) more_.emplace_back();  // may throw: while there is nothing to unmap
    void* pointer =
        bus_.link_lost.load(std::memory_order_relaxed) ? nullptr : host.dma_map(host.self, address, &mapped, write);
    if (pointer == nullptr || mapped == 0) {
        if (count_ == kInline) more_.pop_back();
        bus_.refused();
        *fault = {SIDRA_FAULT_BUS, va};
        return nullptr;
    }
    if (count_ < kInline) inline_[count_++] = {pointer, mapped, write};
    else more_.back() = {pointer, mapped, write};
    *length = std::min(*length, mapped);
    return static_cast<uint8_t*>(pointer);
}

uint8_t* Dma::map_all(uint64_t va, uint64_t length, bool write, Fault* fault) {
    uint64_t got = length;
    uint8_t* pointer = map_some(va, &got, write, fault);
    return got == length ? pointer : nullptr;
}

Fault Dma::read(uint64_t va, void* to, uint64_t length) {
    auto* out = static_cast<uint8_t*>(to);
    while (length != 0) {
        uint64_t got = length;
        Fault fault;
        const uint8_t* from = map_some(va, &got, false, &fault);
        if (fault) return fault;
        std::memmove(out, from, got);  // a packet's operands may overlap
        va += got, out += got, length -= got;
    }
    return {};
}

Fault Dma::write(uint64_t va, const void* from, uint64_t length) {
    auto* in = static_cast<const uint8_t*>(from);
    while (length != 0) {
        uint64_t got = length;
        Fault fault;
        uint8_t* to = map_some(va, &got, true, &fault);
        if (fault) return fault;
        std::memmove(to, in, got);
        va += got, in += got, length -= got;
    }
    return {};
}

Fault Dma::word_key(uint64_t va, bool write, uint64_t* key) {
    uint64_t address, left;
    bool local;
    if (Fault fault = page(va, write, &address, &local, &left)) return fault;
    *key = local ? address | kLocalKey : address;
    return {};
}

Fault Dma::load64(uint64_t va, uint64_t* value) {
    uint64_t key;
    if (Fault fault = word_key(va, false, &key)) return fault;
    if (key & kLocalKey) {
        *value = __atomic_load_n(reinterpret_cast<uint64_t*>(bus_.l3 + (key & ~kLocalKey)), __ATOMIC_ACQUIRE);
        return {};
    }
    if (bus_.injected_error()) {
        bus_.refused();
        return {SIDRA_FAULT_BUS, va};
    }
    if (!bus_.load64(key, value)) return {SIDRA_FAULT_BUS, va};
    return {};
}

Fault Dma::max64(uint64_t va, uint64_t value) {
    uint64_t key;
    if (Fault fault = word_key(va, true, &key)) return fault;
    if (key & kLocalKey) {
        auto* word = reinterpret_cast<uint64_t*>(bus_.l3 + (key & ~kLocalKey));
        uint64_t now = __atomic_load_n(word, __ATOMIC_RELAXED);
        while (now < value &&
               !__atomic_compare_exchange_n(word, &now, value, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
        return {};
    }
    const sidra_chip_host& host = bus_.host;
    if (bus_.injected_error() || bus_.link_lost.load(std::memory_order_relaxed) ||
        !host.max64_release(host.self, key, value)) {
        bus_.refused();
        return {SIDRA_FAULT_BUS, va};
    }
    return {};
}

}  // namespace sidra::chip
