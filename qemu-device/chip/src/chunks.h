// SPDX-License-Identifier: MIT
// The parts of a saved chip that survive power-off. The migration stream and the state file share them: each kind has
// one function that creates it, and KeptState::load() checks all of them.
#ifndef SIDRA_CHIP_CHUNKS_H
#define SIDRA_CHIP_CHUNKS_H

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "array.h"
#include "identity.h"
#include "record.h"

namespace sidra::chip {

static_assert(std::endian::native == std::endian::little);

constexpr uint32_t chunk_tag(const char (&name)[5]) {
    return static_cast<uint32_t>(name[0]) | static_cast<uint32_t>(name[1]) << 8 | static_cast<uint32_t>(name[2]) << 16 |
           static_cast<uint32_t>(name[3]) << 24;
}
inline constexpr uint32_t kCellsHead = chunk_tag("SDNV"), kCrossbar = chunk_tag("XBAR"), kStuck = chunk_tag("STUK"),
                          kNvm = chunk_tag("NVM "), kFlash = chunk_tag("FLSH"), kSecurity = chunk_tag("SECV"),
                          kUpdate = chunk_tag("UPDT");
// At level `accurate`: the seed, the cells' clock, conductances, and counts since the last programming.
inline constexpr uint32_t kSeed = chunk_tag("SEED"), kCellClock = chunk_tag("AGE "), kAnalog = chunk_tag("CELL"),
                          kCounts = chunk_tag("CNTS");
inline constexpr uint32_t kKept[] = {kCrossbar, kStuck,     kNvm,    kFlash, kSecurity, kUpdate,  // after the head
                                     kSeed,     kCellClock, kAnalog, kCounts};
inline bool is_kept(uint32_t tag) { return std::find(std::begin(kKept), std::end(kKept), tag) != std::end(kKept); }
inline constexpr const char* kUnknownChunk = "saved state of a newer version of the model: unknown chunk";
inline constexpr uint32_t kCellsVersion = 1;  // separate from the stream's version: files live longer than migrations
inline constexpr uint32_t kPage = SIDRA_PAGE_SIZE;

struct SavedHead {
    uint32_t version;
    uint32_t xbars;
    uint64_t l3_size;
    uint64_t nvm_size;
    Identity::Uuid uuid;
    uint32_t level;
    uint32_t part;  // number of this part of a precopy, from 1 on; of a state: how many parts belong to it
};
struct SavedCrossbar {
    uint32_t xbar, reserved;
    Array::Image image;
};
struct SavedCounts {
    uint32_t xbar, checks;
    uint64_t products, clipped;
    uint32_t range, programs;  // the range belongs to the content with this program count
};
inline SavedCounts saved_counts(const Analog& analog, uint32_t xbar) {
    const CellCounts counts = analog.counts(xbar);
    return {xbar, counts.checks, counts.products, counts.clipped, counts.range, analog.programs(xbar)};
}
// No padding with undefined content. A page is its number and its bytes.
static_assert(sizeof(SavedCounts) == 32 && sizeof(SavedHead) == 48 && sizeof(SavedCrossbar) == 8 + 56 &&
              sizeof(Array::Stuck) == 16 && sizeof(SavedUpdate) == 40);

template <typename T>
std::span<const uint8_t> bytes_of(const T& value) {
    return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
}

// Returns false if the payload has another size.
template <typename T>
bool take(const std::vector<uint8_t>& data, T* value) {
    if (data.size() != sizeof *value) return false;
    std::memcpy(value, data.data(), sizeof *value);
    return true;
}

inline Record crossbar_chunk(const SavedCrossbar& saved, const uint8_t* levels) {
    return {kCrossbar, saved.xbar, bytes_of(saved), {levels, saved.image.uid ? kXbarCells : 0}};
}
inline uint64_t stuck_number(const Array::Stuck& cell) {
    return uint64_t{cell.xbar} << 32 | cell.row << 16 | cell.column;
}
inline Record stuck_chunk(const Array::Stuck& cell) { return {kStuck, stuck_number(cell), bytes_of(cell), {}}; }
inline Record page_chunk(uint32_t tag, const uint64_t& number, const uint8_t* page) {
    return {tag, number, bytes_of(number), {page, kPage}};
}
// Visits the pages that contain other bytes than `empty`.
template <typename F>
void for_each_page(uint32_t tag, std::span<const uint8_t> memory, F&& visit, uint8_t empty = 0) {
    for (uint64_t number = 0; number < memory.size() / kPage; number++) {
        const uint8_t* page = memory.data() + number * kPage;
        if (page[0] != empty || std::memcmp(page, page + 1, kPage - 1) != 0) visit(page_chunk(tag, number, page));
    }
}
// Return nullptr, or what is wrong: of a page for memory of that size, whose number is stored; or for this memory.
inline const char* take_page(const std::vector<uint8_t>& data, size_t bytes, uint64_t* number) {
    if (data.size() != sizeof *number + kPage) return "page of a wrong size";
    std::memcpy(number, data.data(), sizeof *number);
    return *number >= bytes / kPage ? "page outside the chip's memory" : nullptr;
}
inline const char* load_page(const std::vector<uint8_t>& data, std::span<uint8_t> memory) {
    uint64_t number;
    if (const char* bad = take_page(data, memory.size(), &number)) return bad;
    std::memcpy(memory.data() + number * kPage, data.data() + sizeof number, kPage);
    return nullptr;
}
inline Record update_chunk(const SavedUpdate& saved) { return {kUpdate, saved.number, bytes_of(saved), {}}; }
inline Record clock_chunk(const double& now) { return {kCellClock, 0, bytes_of(now), {}}; }
inline Record seed_chunk(const uint64_t& seed) { return {kSeed, 0, bytes_of(seed), {}}; }
inline Record analog_chunk(uint32_t xbar, const std::vector<uint8_t>& cells) { return {kAnalog, xbar, cells, {}}; }
inline Record counts_chunk(const SavedCounts& counts) { return {kCounts, counts.xbar, bytes_of(counts), {}}; }
inline Record security_chunk(const uint32_t& least) { return {kSecurity, 0, bytes_of(least), {}}; }

}  // namespace sidra::chip

#endif
