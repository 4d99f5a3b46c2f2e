// SPDX-License-Identifier: MIT
#include "dma.h"

#include <algorithm>
#include <cstring>

namespace sidra::chip {

bool Bus::count_down() {
    uint64_t left = error_at.load(std::memory_order_relaxed);
    while (left != 0 && !error_at.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
    }
    return left == 1;
}

bool Bus::refused() {
    errors.fetch_add(1, std::memory_order_relaxed);
    return false;
}

uint8_t* Bus::map(const Range& range, uint64_t* length, bool write) {
    *length = range.length();
    if (range.space() != Space::kBus || range.empty() || link_lost.load(std::memory_order_relaxed)) {
        refused();
        return nullptr;
    }
    auto* const pointer = static_cast<uint8_t*>(host.dma_map(host.self, range.offset(), length, write));
    if (pointer == nullptr || *length == 0) {
        refused();
        return nullptr;
    }
    return pointer;
}

bool Bus::read(const Range& range, void* to) {
    if (!range.valid()) return refused();
    auto* out = static_cast<uint8_t*>(to);
    for (Range left = range; !left.empty();) {
        uint64_t length;
        void* const from = map(left, &length, false);
        if (!from) return false;
        std::memcpy(out, from, length);
        unmap(from, length, false);
        out += length;
        left = left.from(length);
    }
    return true;
}

bool Bus::write(const Range& range, const void* from) {
    if (!range.valid()) return refused();
    const auto* in = static_cast<const uint8_t*>(from);
    for (Range left = range; !left.empty();) {
        uint64_t length;
        void* const to = map(left, &length, true);
        if (!to) return false;
        std::memcpy(to, in, length);
        unmap(to, length, true);
        in += length;
        left = left.from(length);
    }
    return true;
}

bool Bus::read_words(const Range& words, void* to, uint64_t first) {
    const auto read_word = [&](uint64_t i) {
        uint64_t word;
        if (!load64(words.part(8 * i, 8), &word)) return false;
        std::memcpy(static_cast<uint8_t*>(to) + 8 * i, &word, 8);
        return true;
    };
    if (!read_word(first)) return false;
    for (uint64_t i = 0; i < words.length() / 8; i++)
        if (i != first && !read_word(i)) return false;
    return true;
}

bool Bus::write_words(const Range& words, const void* from) {
    uint64_t length;
    uint8_t* const to = map(words, &length, true);
    if (!to) return false;
    const bool whole = length == words.length();
    for (uint64_t i = 0; whole && i < length; i += 8) {
        uint64_t word;
        std::memcpy(&word, static_cast<const uint8_t*>(from) + i, 8);
        __atomic_store_n(reinterpret_cast<uint64_t*>(to + i), word, __ATOMIC_RELEASE);
    }
    unmap(to, length, true);
    return whole || refused();
}

bool Bus::load64(const Range& word, uint64_t* value) {
    const bool able = word.space() == Space::kBus && word.length() == 8 && !link_lost.load(std::memory_order_relaxed);
    return (able && host.load64_acquire(host.self, word.offset(), value)) || refused();
}

bool Bus::max64(const Range& word, uint64_t value) {
    const bool able = word.space() == Space::kBus && word.length() == 8 && !link_lost.load(std::memory_order_relaxed);
    return (able && host.max64_release(host.self, word.offset(), value)) || refused();
}

bool Bus::load_words(const Range& words, uint64_t* to) {
    uint64_t length;
    uint8_t* const from = map(words, &length, false);
    if (!from) return false;
    const bool whole = length == words.length();
    for (uint64_t i = 0; whole && i < length / 8; i++)
        to[i] = __atomic_load_n(reinterpret_cast<uint64_t*>(from) + i, __ATOMIC_ACQUIRE);
    unmap(from, length, false);
    return whole || refused();
}

namespace {

// Hashed, so that two address streams at a distance of a power of two do not share slots.
template <typename Slots>
auto& slot_of(Slots& slots, uint64_t number) {
    static_assert(std::tuple_size_v<Slots> == 64);
    return slots[(number * 0x9e3779b97f4a7c15) >> 58];
}

// `count` entries of a page table, starting with that of va.
constexpr Range entries_at(const Range& table, uint64_t va, unsigned level, uint64_t count) {
    return table.part(8 * ((va >> (SIDRA_PAGE_SHIFT + 9 * level)) & (SIDRA_PT_ENTRIES - 1)), 8 * count);
}

Range table_of(uint64_t entry) { return {Space::kBus, entry & SIDRA_PTE_ADDR, SIDRA_PAGE_SIZE}; }

Range memory_of(uint64_t entry, uint64_t size) {
    return {entry & SIDRA_PTE_LOCAL ? Space::kL3 : Space::kBus, entry & SIDRA_PTE_ADDR, size};
}

constexpr uint64_t kKind = SIDRA_PTE_VALID | SIDRA_PTE_LEAF | SIDRA_PTE_RESERVED;

bool is_table(uint64_t entry) {
    return (entry & (kKind | SIDRA_PTE_READ | SIDRA_PTE_WRITE | SIDRA_PTE_LOCAL)) == SIDRA_PTE_VALID;
}

bool is_leaf(const Bus& bus, uint64_t entry, uint64_t size) {
    const uint64_t address = entry & SIDRA_PTE_ADDR;
    if ((entry & kKind) != (SIDRA_PTE_VALID | SIDRA_PTE_LEAF) || (address & (size - 1))) return false;
    return !(entry & SIDRA_PTE_LOCAL) || bus.l3_bytes(memory_of(entry, size)) != nullptr;
}

}  // namespace

// For another address space.
void Tlb::begin(uint64_t tag) {
    regions_.fill({});
    lines_.fill({});
    tag_ = tag;
}

Fault Tlb::read_region(Bus& bus, const AddressSpace& space, uint64_t va, Region* region) {
    Range table = space.root;
    uint64_t found = 0;
    for (unsigned level = SIDRA_PT_LEVELS - 1; level >= 1; level--) {
        if (!bus.load64(entries_at(table, va, level, 1), &found)) return {SIDRA_FAULT_BUS, va};
        if (!is_table(found) && (level > 1 || !is_leaf(bus, found, SIDRA_HUGE_SIZE)))
            return {SIDRA_FAULT_TRANSLATION, va};
        table = table_of(found);
    }
    *region = {va & ~uint64_t{SIDRA_HUGE_SIZE - 1}, found};
    return {};
}

// *size: of what the entry maps and, if the next ones of its line continue it, of what those map.
Fault Tlb::find_small(Bus& bus, const Range& table, uint64_t va, uint64_t* entry, uint64_t* size) {
    constexpr uint64_t kLineSize = uint64_t{SIDRA_PAGE_SIZE} * kLineEntries;
    const uint64_t first = va & ~(kLineSize - 1);
    Line& line = slot_of(lines_, va / kLineSize);
    uint64_t number = (va - first) / SIDRA_PAGE_SIZE;
    const uint64_t& wanted = line.entries[number];
    // An entry that was invalid when its line was read may be valid now.
    if (line.va != first || !is_leaf(bus, wanted, SIDRA_PAGE_SIZE)) {
        line.va = kNothing;
        if (!bus.load_words(entries_at(table, first, 0, kLineEntries), line.entries.data()))
            return {SIDRA_FAULT_BUS, va};
        line.va = first;
    }
    if (!is_leaf(bus, wanted, SIDRA_PAGE_SIZE)) return {SIDRA_FAULT_TRANSLATION, va};
    *entry = wanted;
    *size = SIDRA_PAGE_SIZE;
    while (++number < kLineEntries && line.entries[number] == wanted + *size &&
           is_leaf(bus, line.entries[number], SIDRA_PAGE_SIZE))
        *size += SIDRA_PAGE_SIZE;
    return {};
}

// Inline, as translate() is: each access of each packet needs them.
inline Fault Tlb::lookup(Bus& bus, const AddressSpace& space, uint64_t va, Page* page) {
    if (tag_ != space.tag) [[unlikely]]
        begin(space.tag);
    Region& region = slot_of(regions_, va >> SIDRA_HUGE_SHIFT);
    if (region.va != (va & ~uint64_t{SIDRA_HUGE_SIZE - 1})) [[unlikely]]
        if (Fault fault = read_region(bus, space, va, &region)) return fault;
    uint64_t entry = region.entry, size = SIDRA_HUGE_SIZE, page_size = SIDRA_HUGE_SIZE;
    if (is_table(entry)) {
        if (Fault fault = find_small(bus, table_of(entry), va, &entry, &size)) return fault;
        page_size = SIDRA_PAGE_SIZE;
    }
    page->va = va & ~(page_size - 1);
    page->memory = memory_of(entry, size);
    page->rights = entry & static_cast<uint64_t>(Access::kReadWrite);
    return {};
}

Dma::~Dma() { unmap_all(); }

void Dma::unmap_all() { unmap_to(0); }

// Unmaps the latest mappings until `count` are left.
void Dma::unmap_to(size_t count) {
    while (!more_.empty() && mappings() > count) {
        const Mapping m = more_.back();
        more_.pop_back();
        bus_.unmap(m.pointer, m.length, m.write);
    }
    while (count_ > count) {
        const Mapping& m = inline_[--count_];
        bus_.unmap(m.pointer, m.length, m.write);
    }
}

// Translates the start of the range: finds the contiguous part, at least 1 byte.
inline Fault Dma::translate(const Range& range, Access access, Range* found) {
    if (range.empty()) return {SIDRA_FAULT_LIMIT, range.offset()};
    if (range.space() != Space::kDevice) {
        *found = range;
        return {};
    }
    const uint64_t va = range.offset();
    Tlb::Page page;
    if (Fault fault = tlb_.lookup(bus_, space_, va, &page)) return fault;
    if (static_cast<uint64_t>(access) & ~page.rights) return {SIDRA_FAULT_PERMISSION, va};
    *found = page.memory.part(va - page.va, range.length());
    return {};
}

// Joins adjacent pages to the first part of a range.
void Dma::join(const Range& range, Access access, Range* run) {
    for (; run->length() < range.length() && joins_ < kJoinsMax; joins_++) {
        Range next;
        if (translate(range.from(run->length()), access, &next) || !run->join(next)) break;
    }
}

inline uint8_t* Dma::map_bus(const Range& run, uint64_t* length, bool write) {
    if (count_ == kInline) more_.emplace_back();  // may throw, so before the mapping
    uint64_t mapped;
    uint8_t* const pointer = bus_.map(run, &mapped, write);
    if (pointer == nullptr) {
        if (count_ == kInline) more_.pop_back();
        return nullptr;
    }
    if (count_ < kInline) inline_[count_++] = {pointer, mapped, write};
    else more_.back() = {pointer, mapped, write};
    *length = mapped;
    return pointer;
}

uint8_t* Dma::map_some(const Range& range, uint64_t* length, Access access, Fault* fault) {
    *length = 0;
    if (bus_.injected_error()) {
        bus_.refused();
        *fault = {SIDRA_FAULT_BUS, range.offset()};
        return nullptr;
    }
    Range run;
    if ((*fault = translate(range, access, &run))) return nullptr;
    if (run.length() < range.length()) join(range, access, &run);
    uint8_t* pointer;
    if (run.space() == Space::kL3) {
        pointer = bus_.l3_bytes(run);
        if (pointer) *length = run.length();
    } else {
        pointer = map_bus(run, length, access != Access::kRead);
    }
    if (!pointer) *fault = {SIDRA_FAULT_BUS, range.offset()};
    return pointer;
}

uint8_t* Dma::map_all(const Range& range, Access access, Fault* fault) {
    uint64_t length;
    uint8_t* const pointer = map_some(range, &length, access, fault);
    return length == range.length() ? pointer : nullptr;
}

Fault Dma::read(const Range& range, void* to) {
    auto* out = static_cast<uint8_t*>(to);
    if (!range.valid()) return {SIDRA_FAULT_LIMIT, range.offset()};
    for (uint64_t at = 0, length; at < range.length(); at += length) {
        Fault fault;
        const size_t held = mappings();
        const uint8_t* const from = map_some(range.from(at), &length, Access::kRead, &fault);
        if (fault) return fault;
        std::memmove(out + at, from, length);  // the operands of a packet may overlap
        unmap_to(held);
    }
    return {};
}

Fault Dma::write(const Range& range, const void* from) {
    const auto* in = static_cast<const uint8_t*>(from);
    if (!range.valid()) return {SIDRA_FAULT_LIMIT, range.offset()};
    for (uint64_t at = 0, length; at < range.length(); at += length) {
        Fault fault;
        const size_t held = mappings();
        uint8_t* const to = map_some(range.from(at), &length, Access::kWrite, &fault);
        if (fault) return fault;
        std::memmove(to, in + at, length);
        unmap_to(held);
    }
    return {};
}

Fault Dma::find_word(const Range& word, Access access, Range* found) {
    if (Fault fault = translate(word, access, found)) return fault;
    return found->length() == 8 ? Fault{} : Fault{SIDRA_FAULT_ALIGNMENT, word.offset()};
}

Fault Dma::load64(const Range& word, uint64_t* value) {
    Range found;
    if (Fault fault = find_word(word, Access::kRead, &found)) return fault;
    if (const uint8_t* const local = bus_.l3_bytes(found)) {
        *value = __atomic_load_n(reinterpret_cast<const uint64_t*>(local), __ATOMIC_ACQUIRE);
        return {};
    }
    const bool loaded = bus_.injected_error() ? bus_.refused() : bus_.load64(found, value);
    return loaded ? Fault{} : Fault{SIDRA_FAULT_BUS, word.offset()};
}

Fault Dma::max64(const Range& word, uint64_t value) {
    Range found;
    if (Fault fault = find_word(word, Access::kWrite, &found)) return fault;
    if (auto* const local = reinterpret_cast<uint64_t*>(bus_.l3_bytes(found))) {
        uint64_t now = __atomic_load_n(local, __ATOMIC_RELAXED);
        while (now < value &&
               !__atomic_compare_exchange_n(local, &now, value, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        }
        return {};
    }
    const bool stored = bus_.injected_error() ? bus_.refused() : bus_.max64(found, value);
    return stored ? Fault{} : Fault{SIDRA_FAULT_BUS, word.offset()};
}

uint64_t Dma::peek64(const Range& word) {
    Range found;
    uint64_t value = ~uint64_t{0};
    if (find_word(word, Access::kWrite, &found)) return value;
    if (const uint8_t* const local = bus_.l3_bytes(found))
        return __atomic_load_n(reinterpret_cast<const uint64_t*>(local), __ATOMIC_RELAXED);
    bus_.load64(found, &value);
    return value;
}

bool PageWindow::map(const Address& page, Fault* fault) {
    dma_.unmap_all();
    page_ = dma_.map_all({page.space, page.offset, SIDRA_PAGE_SIZE}, access_, fault);
    if (!page_ && !*fault) *fault = {SIDRA_FAULT_BUS, page.offset};
    address_ = page;
    return page_ != nullptr;
}

Fault PageWindow::read(const Range& range, void* to) {
    if (crosses(range)) return dma_.read(range, to);
    Fault fault;
    const uint8_t* const from = at(range, &fault);
    if (!from) return {fault.cause, range.offset()};
    std::memcpy(to, from, range.length());
    return {};
}

Fault PageWindow::compare(const Range& range, const void* with, bool* equal) {
    *equal = true;
    uint64_t bytes;
    for (uint64_t done = 0; *equal && done < range.length(); done += bytes) {
        bytes = std::min(range.length() - done, SIDRA_PAGE_SIZE - (range.offset() + done) % SIDRA_PAGE_SIZE);
        const Range piece = range.part(done, bytes);
        Fault fault;
        const uint8_t* const found = at(piece, &fault);
        if (!found) return {fault.cause, piece.offset()};
        *equal = std::memcmp(found, static_cast<const uint8_t*>(with) + done, bytes) == 0;
    }
    return {};
}

}  // namespace sidra::chip
