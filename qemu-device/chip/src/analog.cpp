// SPDX-License-Identifier: MIT
#include "analog.h"

#include <algorithm>
#include <cmath>

namespace sidra::chip {
namespace {

using physics::CellParameters;
using physics::CellState;

constexpr uint64_t kAjPerPj = 1'000'000;
constexpr double kMillion = 1e6;

CellParameters with_stuck(double share) {
    CellParameters cells;
    cells.stuck_low = cells.stuck_high = share / 2;
    return cells;
}

}  // namespace

Analog::Analog(uint32_t xbars, double stuck, uint64_t seed)
    : parameters_(with_stuck(stuck)),
      first_seed_(seed),
      programmer_(parameters_, seed),
      clock_(parameters_),
      g_(size_t{xbars} * kXbarCells * sizeof(uint16_t)),
      cells_(size_t{xbars} * kXbarCells),
      bad_(size_t{xbars} * kXbarCells / 8),
      states_(size_t{xbars} * sizeof(State)),
      tiles_(xbars) {}

CellCounts Analog::counts_locked(const State& s) const {
    return {s.checks.load(), s.range.load(), s.products.load(), s.clipped.load()};
}

CrossbarCells Analog::copy(uint32_t xbar) const {
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    return {xbar,
            s.touched,
            false,
            false,
            s.record,
            counts_locked(s),
            {g(xbar), g(xbar) + kXbarCells},
            {cells(xbar), cells(xbar) + kXbarCells},
            {bad(xbar), bad(xbar) + kXbarCells / 64},
            {}};
}

bool Analog::blank(uint32_t xbar) const {
    std::lock_guard guard(lock(xbar));
    return !state(xbar).touched && state(xbar).products.load() == 0;
}

void Analog::take(const CrossbarCells& content) {
    std::lock_guard guard(lock(content.xbar));
    take_locked(content);
}

// Products and verifications may have been counted since the copy was made.
void Analog::take_locked(const CrossbarCells& content) {
    State& s = state(content.xbar);
    const auto stuck = [](CellState each) { return each == CellState::kStuckLow || each == CellState::kStuckHigh; };
    const auto relaxed = std::memory_order_relaxed;
    spare_columns_.fetch_add(uint64_t{content.record.moved_columns()} - s.record.moved_columns(), relaxed);
    s.touched = content.touched;
    s.record = content.record;
    if (content.erased) {
        s.products.store(0, relaxed);
        s.clipped.store(0, relaxed);
    }
    if (content.erased || content.programmed) s.range.store(0, relaxed);
    std::copy(content.bad.begin(), content.bad.end(), bad(content.xbar));
    std::copy(content.g.begin(), content.g.end(), g(content.xbar));
    std::copy(content.cells.begin(), content.cells.end(), cells(content.xbar));
    const auto now_stuck = static_cast<uint32_t>(std::count_if(content.cells.begin(), content.cells.end(), stuck));
    stuck_cells_.fetch_add(uint64_t{now_stuck} - s.stuck.exchange(now_stuck, relaxed), relaxed);
    counters_.pulses.fetch_add(content.took.pulses, relaxed);
    counters_.reads.fetch_add(content.took.reads, relaxed);
    counters_.failed.fetch_add(content.took.failed, relaxed);
    counters_.mended.fetch_add(content.took.mended, relaxed);
    s.version = versions_.fetch_add(1, relaxed) + 1;
    tiles_.drop(content.xbar);
}

CellCheck Analog::verify(const CellBlock& block, const uint8_t* levels, double tolerance, double now, uint8_t* off) {
    const CrossbarCells content = copy(block.xbar);
    const uint32_t number = state(block.xbar).checks.fetch_add(1, std::memory_order_relaxed);
    return programmer_.verify(content, number, block, levels, tolerance, now, off);
}

void Analog::read(const CellBlock& block, uint8_t* levels, double now) const {
    std::lock_guard guard(lock(block.xbar));
    const State& s = state(block.xbar);
    const float left = remaining(drift(parameters_, now - s.record.since));
    for (uint32_t row = block.row0; row < block.row0 + block.rows; row++)
        for (uint32_t c = block.col0; c < block.col0 + block.cols; c++) {
            const uint32_t cell = row * SIDRA_XBAR_COLS + s.record.column(c);
            const float conducts = physics::conductance(g(block.xbar)[cell]);
            *levels++ = physics::level_of(parameters_, drifts(cells(block.xbar)[cell]) ? conducts * left : conducts);
        }
}

bool Analog::share(std::span<const uint32_t> xbars, sidra_encoding encoding, double now, Readouts* readouts) {
    std::lock_guard one(sharing_);
    Readouts found;
    found.wishes_ = wishes_.load(std::memory_order_relaxed);
    found.tiles_.reserve(xbars.size());
    bool all = true;
    for (const uint32_t xbar : xbars) {
        std::lock_guard guard(lock(xbar));
        const State& s = state(xbar);
        auto shared = tiles_.share(xbar, {s.version, drift(parameters_, now - s.record.since), encoding});
        all = all && shared;  // if not, the others are looked at only to be wanted
        if (!all) continue;
        if (!shared->tile) found.unmade_.push_back(static_cast<uint32_t>(found.tiles_.size()));
        found.tiles_.push_back(std::move(shared));
    }
    if (!all) {
        wishes_.fetch_add(1, std::memory_order_release);
        return false;
    }
    found.crossbars_.assign(xbars.begin(), xbars.end());
    *readouts = std::move(found);
    return true;
}

bool Analog::wanted(Readouts* readouts) const {
    const uint64_t wishes = wishes_.load(std::memory_order_acquire);
    if (readouts->wishes_ == wishes) return false;
    readouts->wishes_ = wishes;
    return std::any_of(readouts->tiles_.begin(), readouts->tiles_.end(),
                       [](const auto& each) { return each->wanted.load(std::memory_order_relaxed); });
}

void Analog::make(const TileShape& shape, double now, SharedReadout* readout) {
    const uint32_t xbar = shape.xbar;
    std::lock_guard making(making_locks_[xbar % kLocks]);
    if (readout->tile) return;  // by another job
    std::vector<double> conductances(kXbarCells);
    uint64_t seed;
    uint8_t moved[SIDRA_XBAR_COLS];
    int32_t sums[SIDRA_XBAR_COLS];
    {
        std::lock_guard guard(lock(xbar));
        std::copy_n(shape.sums, shape.outputs, sums);
        const State& s = state(xbar);
        const uint32_t steps = drift(parameters_, now - s.record.since);
        readout->key = {s.version, steps, shape.encoding};
        seed = programmer_.seed() ^ uint64_t { s.record.programs } << 32;  // different noise for each content
        std::copy(std::begin(s.record.moved), std::end(s.record.moved), moved);
        const double left = static_cast<double>(remaining(steps));
        for (uint32_t i = 0; i < kXbarCells; i++) {
            const uint16_t stored = std::max<uint16_t>(g(xbar)[i], 1);
            conductances[i] = physics::siemens(parameters_, stored) * (drifts(cells(xbar)[i]) ? left : 1);
        }
    }
    const TileShape now_there{xbar, shape.rows, shape.outputs, shape.encoding, sums};
    auto made = std::make_unique<const TileReadout>(now_there, parameters_, seed, conductances.data(), moved);
    made_.fetch_add(1, std::memory_order_relaxed);
    std::lock_guard guard(lock(xbar));
    readout->tile = std::move(made);
}

uint64_t Analog::take_products(uint32_t xbar, uint64_t count) {
    return state(xbar).products.fetch_add(count, std::memory_order_relaxed);
}

void Analog::count_clipped(uint32_t xbar, uint64_t count) {
    if (count == 0) return;
    state(xbar).clipped.fetch_add(count, std::memory_order_relaxed);
    counters_.clipped.fetch_add(count, std::memory_order_relaxed);
}

// Integers, so that the maximum over all threads does not depend on their order.
void Analog::widen(uint32_t xbar, double needed) {
    std::atomic<uint32_t>& range = state(xbar).range;
    const auto to = static_cast<uint32_t>(std::ceil(needed));
    uint32_t is = range.load(std::memory_order_relaxed);
    while (is < to && !range.compare_exchange_weak(is, to, std::memory_order_relaxed)) {
    }
}

CellCounts Analog::counts(uint32_t xbar) const {
    std::lock_guard guard(lock(xbar));
    return counts_locked(state(xbar));
}

uint32_t Analog::programs(uint32_t xbar) const {
    std::lock_guard guard(lock(xbar));
    return state(xbar).record.programs;
}

bool Analog::set_counts(uint32_t xbar, const CellCounts& counts, uint32_t programs) {
    if (xbar >= tiles_.xbars()) return false;
    State& s = state(xbar);
    if (programs == s.record.programs) s.range.store(counts.range);
    s.checks.store(counts.checks);
    s.products.store(counts.products);
    s.clipped.store(counts.clipped);
    return true;
}

void Analog::report(uint32_t xbar, double now, sidra_hw_xbar_report* report) const {
    static_assert(SIDRA_XBAR_TRIES_MAX == physics::kMaxTries);
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    report->level = SIDRA_XBAR_PULSED;
    report->spare_columns = s.record.moved_columns();
    report->bad_cells = static_cast<uint32_t>(s.record.bad);
    report->recovered = s.record.recovered;
    report->error_ppm = static_cast<uint32_t>(std::lround(s.record.totals.error_sigma() * kMillion));
    report->failed = s.record.totals.failed;
    report->set_pulses = s.record.totals.set_pulses;
    report->reset_pulses = s.record.totals.reset_pulses;
    report->reads = s.record.totals.reads;
    report->device_ps = s.record.time_ps;
    report->energy_pj = s.record.totals.energy_aj / kAjPerPj;
    report->clipped = s.clipped.load(std::memory_order_relaxed);
    report->adc_range = range(xbar);
    std::copy(std::begin(s.record.totals.converged_after), std::end(s.record.totals.converged_after), report->arrived);
    if (!s.touched) return;
    const double age = age_between(s.record.since, now);
    report->age_s = static_cast<uint64_t>(age);
    report->drift_ppm = static_cast<uint32_t>(std::lround(drift(parameters_, age) / kDriftOne * kMillion));
}

bool Analog::restore(const CrossbarCells& content) {
    // Exceeds the sum over 2^32 programmings of a crossbar, so later additions cannot overflow.
    constexpr int64_t kErrorMost = int64_t{1} << 62;
    const CellRecord& record = content.record;
    if (content.xbar >= tiles_.xbars() || !CellClock::is_time(record.since) || record.totals.error_sum > kErrorMost ||
        record.totals.error_sum < -kErrorMost || content.g.size() != kXbarCells || content.cells.size() != kXbarCells ||
        content.bad.size() != kXbarCells / 64 || record.bad > kXbarCells ||
        std::any_of(content.cells.begin(), content.cells.end(),
                    [](CellState each) { return each > CellState::kStuckHigh; }))
        return false;
    std::lock_guard guard(lock(content.xbar));
    State& s = state(content.xbar);
    if (s.restored) return false;
    take_locked(content);
    s.restored = true;
    return set_counts(content.xbar, content.counts, record.programs);
}

void Analog::forget(uint32_t xbar) {
    CrossbarCells content;
    content.xbar = xbar;
    content.erased = true;
    content.g.resize(kXbarCells);
    content.cells.resize(kXbarCells);
    content.bad.resize(kXbarCells / 64);
    std::lock_guard guard(lock(xbar));
    take_locked(content);
    state(xbar).checks.store(0);
    state(xbar).restored = false;
}

void Analog::clear() {
    for (LazyMemory* memory : {&g_, &cells_, &bad_, &states_}) memory->clear();
    tiles_.clear();
    stuck_cells_.store(0);
    spare_columns_.store(0);
    if (programmer_.seed() != first_seed_) programmer_.reseed(first_seed_);
}

}  // namespace sidra::chip
