// SPDX-License-Identifier: MIT
#include "kept_state.h"

#include <cstddef>
#include <cstring>
#include <span>

#include "cells_chunk.h"

namespace sidra::chip {

SavedHead KeptState::head(uint32_t version, uint32_t part) const {
    const Geometry& geometry = identity_.geometry;
    return {version, geometry.xbars(), geometry.l3_size, geometry.nvm_size, identity_.uuid, level(), part};
}

void KeptState::save_crossbar(uint32_t xbar, const Put& put) const {
    if (!array_.holds(xbar)) return;
    SavedCrossbar saved{xbar, 0, {}};
    std::vector<uint8_t> levels(kXbarCells);
    if (array_.image(xbar, &saved.image, levels.data())) put(crossbar_chunk(saved, levels.data()));
    if (const Analog* const analog = array_.analog(); analog && !analog->blank(xbar))
        put(analog_chunk(xbar, cells_chunk(analog->copy(xbar))));
}

void KeptState::save(const Put& put, const PutCrossbar& put_crossbar) const {
    if (const Analog* const analog = array_.analog()) {
        const uint64_t seed = analog->programmer().seed();
        put(seed_chunk(seed));
        const double now = array_.cells_now(clock_);
        put(clock_chunk(now));
    }
    for (uint32_t xbar = 0; xbar < array_.xbars(); xbar++) put_crossbar(xbar, put);
    for (const Array::Stuck& cell : array_.stuck_cells()) put(stuck_chunk(cell));
    array_.updates().save(put);
    for_each_page(kNvm, array_.nvm(), put);
    const management::Unit& unit = management_.unit();
    for_each_page(kFlash, unit.flash().bytes(), put, management::Flash::kErased);
    const uint32_t least = unit.security_version();
    put(security_chunk(least));
}

const char* KeptState::load_head(uint32_t version, const std::vector<uint8_t>& data) {
    SavedHead saved;
    if (!take(data, &saved)) return "saved state: head of a wrong size";
    const SavedHead own = head(version);
    if (saved.version != version) return "saved state of another version of the model";
    if (saved.xbars != own.xbars || saved.l3_size != own.l3_size || saved.nvm_size != own.nvm_size)
        return "saved state of another profile";
    if (saved.level != own.level || (version == kCellsVersion && saved.part))
        return "saved state of another level of the model";
    identity_.uuid = saved.uuid;
    const std::span<uint8_t> flash = management_.unit().flash().bytes();
    std::memset(flash.data(), management::Flash::kErased, flash.size());
    return nullptr;
}

const char* KeptState::load(uint32_t tag, const std::vector<uint8_t>& data) {
    Analog* const analog = array_.analog();
    switch (tag) {
        case kCrossbar: {
            SavedCrossbar saved;
            if (data.size() < sizeof saved) return "saved state: bad crossbar";
            std::memcpy(&saved, data.data(), sizeof saved);
            if (data.size() != sizeof saved + (saved.image.uid ? kXbarCells : 0) ||
                !array_.restore(saved.xbar, saved.image, data.data() + sizeof saved))
                return "saved state: bad crossbar";
            return nullptr;
        }
        case kSeed: {
            uint64_t seed;
            if (!analog || !take(data, &seed)) return "saved state: bad seed";
            analog->programmer().reseed(seed);
            return nullptr;
        }
        case kAnalog: {
            CrossbarCells content;
            if (!analog || !parse_cells_chunk(data, &content) || !analog->restore(content))
                return "saved state: bad cells";
            return nullptr;
        }
        case kCounts: {
            // Files of models before 1.2 have no ranges.
            constexpr size_t kBefore = offsetof(SavedCounts, range);
            SavedCounts counts{};
            if (!analog || (data.size() != kBefore && data.size() != sizeof counts))
                return "saved state: bad counts of cells";
            std::memcpy(&counts, data.data(), data.size());
            if (!analog->set_counts(counts.xbar, {counts.checks, counts.range, counts.products, counts.clipped},
                                    counts.programs))
                return "saved state: bad counts of cells";
            return nullptr;
        }
        case kCellClock: {
            double now;
            if (!analog || !take(data, &now) || !analog->clock().set(now, clock_.now_ns()))
                return "saved state: bad age of cells";
            return nullptr;
        }
        case kStuck: {
            Array::Stuck cell;
            if (!take(data, &cell) || cell.xbar >= array_.xbars() || cell.row >= SIDRA_XBAR_ROWS ||
                cell.column >= SIDRA_XBAR_COLS || cell.level > 255)
                return "saved state: bad stuck cell";
            array_.set_stuck(cell.xbar, cell.row, cell.column, static_cast<uint8_t>(cell.level));
            return nullptr;
        }
        case kUpdate: {
            SavedUpdate saved;
            if (!take(data, &saved) || !array_.updates().load(saved)) return "saved state: bad update";
            return nullptr;
        }
        case kNvm:
            return load_page(data, array_.nvm());
        case kFlash:
            return load_page(data, management_.unit().flash().bytes());
        case kSecurity: {
            uint32_t least;
            if (!take(data, &least)) return "saved state: bad security version";
            management_.unit().raise_security_version(least);
            return nullptr;
        }
        default:
            return kUnknownChunk;
    }
}

void KeptState::clear() {
    array_.clear();
    management_.clear();
    if (Analog* const analog = array_.analog()) analog->clock().set(0, 0);
}

}  // namespace sidra::chip
