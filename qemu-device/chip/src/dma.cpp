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

Fault Tlb::walk(Bus& bus, const AddressSpace& space, uint64_t va, Page* page, bool* huge) {
    uint64_t table = space.root;
    for (unsigned level = SIDRA_PT_LEVELS; level-- > 0;) {
        const unsigned shift = SIDRA_PAGE_SHIFT + 9 * level;
        uint64_t entry;
        if (!bus.load64(table + 8 * ((va >> shift) & (SIDRA_PT_ENTRIES - 1)), &entry)) return {SIDRA_FAULT_BUS, va};
        if (!(entry & SIDRA_PTE_VALID) || (entry & SIDRA_PTE_RESERVED)) return {SIDRA_FAULT_TRANSLATION, va};
        const uint64_t address = entry & SIDRA_PTE_ADDR;
        if (!(entry & SIDRA_PTE_LEAF)) {
            if (level == 0 || (entry & (SIDRA_PTE_READ | SIDRA_PTE_WRITE | SIDRA_PTE_LOCAL)))
                return {SIDRA_FAULT_TRANSLATION, va};
            table = address;
            continue;
        }
        const uint64_t size = uint64_t{1} << shift;
        if (level > 1 || (address & (size - 1))) return {SIDRA_FAULT_TRANSLATION, va};
        page->va = va & ~(size - 1);
        page->address = address;
        page->local = entry & SIDRA_PTE_LOCAL;
        page->readable = entry & SIDRA_PTE_READ;
        page->writable = entry & SIDRA_PTE_WRITE;
        if (page->local && (address >= bus.l3_size || size > bus.l3_size - address))
            return {SIDRA_FAULT_TRANSLATION, va};
        *huge = level == 1;
        return {};
    }
    return {SIDRA_FAULT_TRANSLATION, va};
}

Fault Tlb::lookup(Bus& bus, const AddressSpace& space, uint64_t va, const Page** page, uint64_t* size) {
    if (tag_ != space.tag) {
        small_.fill({});
        huge_.fill({});
        tag_ = space.tag;
    }
    Page& h = huge_[(va >> SIDRA_HUGE_SHIFT) % huge_.size()];
    if (h.va == (va & ~uint64_t{SIDRA_HUGE_SIZE - 1})) {
        *page = &h;
        *size = SIDRA_HUGE_SIZE;
        return {};
    }
    Page& s = small_[(va >> SIDRA_PAGE_SHIFT) % small_.size()];
    if (s.va == (va & ~uint64_t{SIDRA_PAGE_SIZE - 1})) {
        *page = &s;
        *size = SIDRA_PAGE_SIZE;
        return {};
    }
    Page walked;
    bool huge = false;
    if (Fault fault = walk(bus, space, va, &walked, &huge)) return fault;
    Page& slot = huge ? h : s;
    slot = walked;
    *page = &slot;
    *size = huge ? SIDRA_HUGE_SIZE : SIDRA_PAGE_SIZE;
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
    const Tlb::Page* entry;
    uint64_t size;
    if (Fault fault = tlb_.lookup(bus_, space_, va, &entry, &size)) return fault;
    if (write ? !entry->writable : !entry->readable) return {SIDRA_FAULT_PERMISSION, va};
    const uint64_t offset = va - entry->va;
    *address = entry->address + offset;
    *local = entry->local;
    *left = size - offset;
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
