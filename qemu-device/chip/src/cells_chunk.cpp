// SPDX-License-Identifier: MIT
#include "cells_chunk.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sidra::chip {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Head {
    uint32_t xbar, range;
    uint32_t programs, checks;
    double since;
    uint64_t products, clipped, time_ps;
    physics::IsppTotals totals;
    uint64_t recovered, bad;
    uint8_t moved[SIDRA_XBAR_COLS];
};
struct Run {
    uint32_t count;
    uint16_t g;
    uint8_t state, reserved;
};
// No padding with undefined content.
static_assert(sizeof(Head) == kCellsChunkHead && sizeof(Run) == 8 &&
              sizeof(physics::IsppTotals) == 8 * (physics::kMaxTries + 1 + 10));

constexpr size_t kWhole = kXbarCells * (sizeof(uint16_t) + sizeof(uint8_t));
constexpr size_t kRunsMax = kWhole / sizeof(Run) - 1;  // so the length tells which format it is

constexpr uint8_t kBad = 0x80;  // flag in a state

uint8_t state_of(const CrossbarCells& content, uint32_t cell) {
    return static_cast<uint8_t>(static_cast<uint8_t>(content.cells[cell]) | (content.is_bad(cell) ? kBad : 0));
}

void set_state(CrossbarCells* content, uint32_t cell, uint8_t state) {
    content->cells[cell] = static_cast<physics::CellState>(state & ~kBad);
    content->set_bad(cell, state & kBad);
}

// Returns an empty vector if there are too many.
std::vector<Run> runs_of(const CrossbarCells& content) {
    std::vector<Run> runs;
    for (uint32_t i = 0; i < kXbarCells; i++) {
        const Run cell{1, content.g[i], state_of(content, i), 0};
        if (!runs.empty() && runs.back().g == cell.g && runs.back().state == cell.state) {
            runs.back().count++;
            continue;
        }
        if (runs.size() == kRunsMax) return {};
        runs.push_back(cell);
    }
    return runs;
}

}  // namespace

static_assert(kCellsChunkMax == sizeof(Head) + kWhole);

std::vector<uint8_t> cells_chunk(const CrossbarCells& content) {
    const CellRecord& record = content.record;
    const CellCounts& counts = content.counts;
    Head head{content.xbar,   counts.range,   record.programs, counts.checks,    record.since, counts.products,
              counts.clipped, record.time_ps, record.totals,   record.recovered, record.bad,   {}};
    std::copy(std::begin(record.moved), std::end(record.moved), head.moved);
    const std::vector<Run> runs = runs_of(content);
    std::vector<uint8_t> chunk(sizeof head + (runs.empty() ? kWhole : runs.size() * sizeof runs[0]));
    std::memcpy(chunk.data(), &head, sizeof head);
    uint8_t* const body = chunk.data() + sizeof head;
    if (!runs.empty()) {
        std::memcpy(body, runs.data(), runs.size() * sizeof runs[0]);
    } else {
        std::memcpy(body, content.g.data(), kXbarCells * sizeof content.g[0]);
        for (uint32_t i = 0; i < kXbarCells; i++) body[kXbarCells * sizeof content.g[0] + i] = state_of(content, i);
    }
    return chunk;
}

bool parse_cells_chunk(std::span<const uint8_t> chunk, CrossbarCells* content) {
    Head head;
    if (chunk.size() < sizeof head) return false;
    std::memcpy(&head, chunk.data(), sizeof head);
    *content = {};
    content->xbar = head.xbar;
    content->touched = true;
    content->record = {head.programs, head.since, head.time_ps, head.totals, head.recovered, head.bad, {}};
    std::copy(std::begin(head.moved), std::end(head.moved), content->record.moved);
    content->counts = {head.checks, head.range, head.products, head.clipped};
    content->g.resize(kXbarCells);
    content->cells.resize(kXbarCells);
    content->bad.resize(kXbarCells / 64);
    const std::span<const uint8_t> body = chunk.subspan(sizeof head);
    if (body.size() == kWhole) {
        std::memcpy(content->g.data(), body.data(), kXbarCells * sizeof content->g[0]);
        for (uint32_t i = 0; i < kXbarCells; i++) set_state(content, i, body[kXbarCells * sizeof content->g[0] + i]);
        return true;
    }
    if (body.size() % sizeof(Run) != 0 || body.size() / sizeof(Run) > kRunsMax) return false;
    uint32_t cell = 0;
    for (size_t at = 0; at < body.size(); at += sizeof(Run)) {
        Run run;
        std::memcpy(&run, body.data() + at, sizeof run);
        if (run.reserved || run.count == 0 || run.count > kXbarCells - cell) return false;
        for (const uint32_t end = cell + run.count; cell < end; cell++) {
            content->g[cell] = run.g;
            set_state(content, cell, run.state);
        }
    }
    return cell == kXbarCells;
}

}  // namespace sidra::chip
