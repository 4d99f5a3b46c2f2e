// SPDX-License-Identifier: MIT
#include "cell_programmer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cell_clock.h"

namespace sidra::chip {
namespace {

using physics::CellState;

constexpr uint64_t kAjPerPj = 1'000'000;

}  // namespace

CellProgrammer::CellProgrammer(const physics::CellParameters& cells, uint64_t seed) : parameters_(cells) {
    reseed(seed);
}

void CellProgrammer::reseed(uint64_t seed) {
    std::lock_guard guard(ispp_lock_);
    seed_ = seed;
    make_ispp_locked();
}

void CellProgrammer::set_policy(const Policy& policy) {
    std::lock_guard guard(ispp_lock_);
    policy_ = policy;
    make_ispp_locked();
}

void CellProgrammer::make_ispp_locked() {
    physics::IsppParameters parameters = physics::ispp_defaults(policy_.mode);
    parameters.guard *= policy_.tolerance / parameters.tolerance;
    parameters.tolerance = policy_.tolerance;
    parameters.max_tries = policy_.tries;
    ispp_ = std::make_shared<const physics::Ispp>(parameters_, parameters, seed_);
}

CellProgrammer::Loop CellProgrammer::loop() const {
    std::lock_guard guard(ispp_lock_);
    return {ispp_, policy_};
}

// Updates stored conductances to the present. A drift of less than half a step is not applied yet, and not lost.
void CellProgrammer::age(CrossbarCells* content, double now) const {
    if (!content->touched) {
        content->touched = true;
        content->record.since = now;
        return;
    }
    const uint32_t steps = drift(parameters_, now - content->record.since);
    if (steps == 0) return;
    const float left = remaining(steps);
    for (uint32_t i = 0; i < kXbarCells; i++)
        if (drifts(content->cells[i])) content->g[i] = physics::stored(physics::conductance(content->g[i]) * left);
    content->record.since = now;
}

void CellProgrammer::form(CrossbarCells* content, const Wanted& wanted) const {
    for (uint32_t cell = 0; cell < kXbarCells;) {
        uint32_t end = cell;
        while (end < kXbarCells && wanted.which[end]) end++;
        physics::form(parameters_, seed_, {content->xbar, cell, end - cell, &content->g[cell], &content->cells[cell]});
        cell = end + 1;
    }
}

// Programs cells until they converge, retries those that do not, and lets all programmed cells relax. Cells that are
// not wanted are treated as unformed, so that pulses do not affect them.
CellProgrammer::Pulsed CellProgrammer::pulse(CrossbarCells* content, const Wanted& wanted, uint32_t program) const {
    using physics::Outcome;
    constexpr uint32_t kRows = physics::kIsppBlock / SIDRA_XBAR_COLS, kCount = kRows * SIDRA_XBAR_COLS;
    const Loop loop = this->loop();
    const float reset_dose = physics::reset_dose(parameters_, parameters_.reset_volts, parameters_.reset_ns);
    const double reset_aj = parameters_.reset_volts * parameters_.reset_volts * parameters_.reset_ns *
                            parameters_.g_max_siemens * 1e9;  // relative to G_max
    Pulsed pulsed{};
    uint8_t tries[kCount];
    Outcome outcome[kCount];
    CellState at_work[kCount];
    // A row is read and programmed as a whole until its last cell has converged.
    const auto add = [&](physics::IsppTotals some) {
        uint64_t steps = 0, row_steps = 0;
        for (uint32_t r = 0; r < kRows; r++) {
            uint32_t most = 0;
            for (uint32_t i = r * SIDRA_XBAR_COLS; i < (r + 1) * SIDRA_XBAR_COLS; i++) {
                if (outcome[i] == Outcome::kNotFormed) continue;
                steps += tries[i] + 1u;
                most = std::max(most, tries[i] + 1u);
            }
            row_steps += most;
        }
        if (steps) pulsed.time_ps += some.time_ps * row_steps / steps;
        some.not_formed = 0;
        pulsed.totals.add(some);
    };
    for (uint32_t first = 0; first < kXbarCells; first += kCount) {
        const uint8_t* const which = &wanted.which[first];
        if (!std::memchr(which, 1, kCount)) continue;
        for (uint32_t i = 0; i < kCount; i++) at_work[i] = which[i] ? content->cells[first + i] : CellState::kFresh;
        uint16_t* const conducts = &content->g[first];
        for (uint32_t retry = 0;; retry++) {
            physics::IsppTotals some{};
            loop.ispp->program({content->xbar, first, kCount, program, &wanted.level[first], at_work, conducts, tries,
                                outcome, &some, retry});
            if (retry) pulsed.recovered += some.converged();
            for (uint32_t i = 0; i < kCount; i++)
                if (outcome[i] != Outcome::kNotFormed) content->set_bad(first + i, outcome[i] == Outcome::kFailed);
            const bool again = some.failed && retry < loop.policy.retries;
            if (!again) {
                add(some);
                break;
            }
            // Apply a RESET and retry.
            some.failed = some.stuck = 0;
            uint64_t rows = 0;
            for (uint32_t i = 0, last = kRows; i < kCount; i++) {
                if (outcome[i] != Outcome::kFailed) {
                    at_work[i] = CellState::kFresh;
                    continue;
                }
                const float factor = physics::device_factor(parameters_, seed_, content->xbar, first + i, at_work[i]);
                const float before = physics::conductance(conducts[i]);
                const float after = physics::after_reset(parameters_, before, reset_dose * factor);
                if (at_work[i] == CellState::kFormed) conducts[i] = physics::stored(after);
                some.reset_pulses++;
                some.energy_aj += static_cast<uint64_t>(reset_aj * static_cast<double>(before + after) / 2);
                rows += i / SIDRA_XBAR_COLS != last;
                last = i / SIDRA_XBAR_COLS;
            }
            add(some);
            pulsed.time_ps += rows * static_cast<uint64_t>(parameters_.reset_ns * 1000);
        }
        for (uint32_t i = 0; i < kCount; i++) at_work[i] = which[i] ? content->cells[first + i] : CellState::kFresh;
        physics::relax(parameters_, seed_, program, {content->xbar, first, kCount, conducts, at_work});
    }
    content->record.totals.add(pulsed.totals);
    content->record.time_ps += pulsed.time_ps;
    content->record.recovered += pulsed.recovered;
    content->took.pulses += pulsed.totals.set_pulses + pulsed.totals.reset_pulses;
    content->took.reads += pulsed.totals.reads;
    content->took.failed += pulsed.totals.failed;
    return pulsed;
}

namespace {

// Visits the physical cells of a block of weights, with their index in the block.
template <typename F>
void for_each_cell(const CrossbarCells& content, const CellBlock& block, F&& visit) {
    for (uint32_t r = 0; r < block.rows; r++)
        for (uint32_t c = 0; c < block.cols; c++)
            visit((block.row0 + r) * SIDRA_XBAR_COLS + content.record.column(block.col0 + c),
                  size_t{r} * block.cols + c);
}

}  // namespace

Cost CellProgrammer::program(CrossbarCells* content, const CellBlock& block, const uint8_t* levels, double now) const {
    age(content, now);
    Wanted wanted;
    for_each_cell(*content, block, [&](uint32_t cell, size_t i) { wanted.add(cell, levels[i]); });
    form(content, wanted);
    const Pulsed pulsed = pulse(content, wanted, content->record.programs++);
    content->programmed = true;
    content->counts.range = 0;
    return {pulsed.time_ps, pulsed.totals.energy_aj / kAjPerPj};
}

namespace {

template <typename F>
void for_each_row(const CellUse& use, F&& visit) {
    for (uint32_t row = 0; row < SIDRA_XBAR_ROWS; row++)
        if (use.rows[row / 64] >> (row % 64) & 1) visit(row);
}

// Bad cells of the columns at `place` that move together.
uint32_t bad_cells(const CrossbarCells& content, const CellUse& use, uint32_t place) {
    uint32_t bad = 0;
    for_each_row(use, [&](uint32_t row) {
        for (uint32_t c = 0; c < use.together; c++) bad += content.is_bad(row * SIDRA_XBAR_COLS + place + c);
    });
    return bad;
}

// The physical place of columns that move together. A loaded map may separate them; rounding keeps them inside the row.
uint32_t place_of(const CrossbarCells& content, const CellUse& use, uint32_t column) {
    return content.record.column(column) / use.together * use.together;
}

}  // namespace

// Programs the columns at `to`, and uses them if they are better.
bool CellProgrammer::use_column(CrossbarCells* content, const CellUse& use, uint32_t from, uint32_t to, uint32_t bad,
                                const uint8_t* levels, Cost* cost) const {
    Wanted wanted;
    for_each_row(use, [&](uint32_t row) {
        for (uint32_t c = 0; c < use.together; c++)
            wanted.add(row * SIDRA_XBAR_COLS + to + c, levels[row * SIDRA_XBAR_COLS + from + c]);
    });
    form(content, wanted);
    const Pulsed pulsed = pulse(content, wanted, content->record.programs - 1);  // belongs to the last programming
    *cost += {pulsed.time_ps, pulsed.totals.energy_aj / kAjPerPj};
    const bool better = bad_cells(*content, use, to) < bad;
    // Unused columns are set to the lowest conductance, to reduce their current.
    const uint32_t leaves = better ? place_of(*content, use, from) : to;
    for (uint32_t row = 0; row < SIDRA_XBAR_ROWS; row++)
        for (uint32_t c = 0; c < use.together; c++) {
            const uint32_t cell = row * SIDRA_XBAR_COLS + leaves + c;
            if (drifts(content->cells[cell])) content->g[cell] = physics::stored(physics::lowest(parameters_));
        }
    if (better)
        for (uint32_t c = 0; c < use.together; c++)
            content->record.moved[from + c] = static_cast<uint8_t>((from + c) ^ (to + c));
    return better;
}

Cost CellProgrammer::replace_columns(CrossbarCells* content, const CellUse& use, const uint8_t* levels) const {
    const uint32_t allowed = loop().policy.spare;
    bool spare[SIDRA_XBAR_COLS];  // tried at most once, which bounds the loop
    std::fill(std::begin(spare), std::end(spare), true);
    for (uint32_t column = 0; column < use.cols; column++) spare[content->record.column(column)] = false;
    Cost cost;
    content->record.bad = 0;
    for (uint32_t column = 0; column < use.cols; column += use.together) {
        const uint32_t bad = bad_cells(*content, use, place_of(*content, use, column));
        for (uint32_t place = 0, found = 0; bad > allowed && !found && place < SIDRA_XBAR_COLS; place += use.together) {
            if (!spare[place] || bad_cells(*content, use, place) >= bad) continue;
            spare[place] = false;
            found = use_column(content, use, column, place, bad, levels, &cost);
        }
        content->record.bad += bad_cells(*content, use, place_of(*content, use, column));
    }
    return cost;
}

void CellCheck::add(const CellCheck& other) {
    cells += other.cells;
    off += other.off;
    failed += other.failed;
    pulses += other.pulses;
    worst = std::max(worst, other.worst);
    error_sum += other.error_sum;
    cost += other.cost;
}

CellCheck CellProgrammer::verify(const CrossbarCells& content, uint32_t number, const CellBlock& block,
                                 const uint8_t* levels, double tolerance, double now, uint8_t* off) const {
    const float left = remaining(drift(parameters_, now - content.record.since));
    const auto ispp = loop().ispp;
    CellCheck check;
    std::vector<float> values(kXbarCells);
    for (uint32_t row = block.row0; row < block.row0 + block.rows; row++) {
        uint16_t conductances[SIDRA_XBAR_COLS];
        for (uint32_t c = 0; c < SIDRA_XBAR_COLS; c++) {
            const uint32_t cell = row * SIDRA_XBAR_COLS + c;
            const uint16_t stored = content.g[cell];
            conductances[c] =
                drifts(content.cells[cell]) ? physics::stored(physics::conductance(stored) * left) : stored;
        }
        ispp->read(
            {block.xbar, row * SIDRA_XBAR_COLS, SIDRA_XBAR_COLS, number, conductances, &values[row * SIDRA_XBAR_COLS]});
    }
    for_each_cell(content, block, [&](uint32_t cell, size_t i) {
        const bool formed = content.cells[cell] != CellState::kFresh;
        const double error =
            std::fabs(static_cast<double>(values[cell] - physics::conductance_of(parameters_, levels[i])));
        off[i] = formed && error > tolerance;
        if (!formed) return;
        check.cells++;
        check.off += off[i];
        check.worst = std::max(check.worst, error);
        check.error_sum += error;
    });
    check.cost = {block.rows * ispp->read_ps(), check.cells * ispp->read_aj() / kAjPerPj};
    return check;
}

void CellProgrammer::mend(CrossbarCells* content, const CellBlock& block, const uint8_t* levels, const uint8_t* off,
                          double now, CellCheck* check) const {
    age(content, now);
    Wanted wanted;
    for_each_cell(*content, block, [&](uint32_t cell, size_t i) {
        if (off[i]) wanted.add(cell, levels[i]);
    });
    content->took.mended += check->off;
    const Pulsed pulsed = pulse(content, wanted, content->record.programs++);
    check->failed += pulsed.totals.failed;
    check->pulses += pulsed.totals.set_pulses + pulsed.totals.reset_pulses;
    check->cost += {pulsed.time_ps, pulsed.totals.energy_aj / kAjPerPj};
}

void CellProgrammer::erase(CrossbarCells* content) const {
    content->erased = true;
    for (uint32_t i = 0; i < kXbarCells; i++)
        if (drifts(content->cells[i])) content->g[i] = physics::stored(physics::lowest(parameters_));
    content->counts.range = 0;
    content->counts.products = content->counts.clipped = 0;
    CellRecord& record = content->record;
    record.time_ps = record.recovered = record.bad = 0;
    record.totals = {};
    std::fill(std::begin(record.moved), std::end(record.moved), uint8_t{0});
}

void CellProgrammer::hold(CrossbarCells* content, uint32_t cell, uint8_t level) const {
    content->touched = true;
    content->cells[cell] = CellState::kStuckLow;
    content->g[cell] = physics::stored(physics::conductance_of(parameters_, level));
}

// The cell is formed again, with the same result as before.
void CellProgrammer::release(CrossbarCells* content, uint32_t cell) const { content->cells[cell] = CellState::kFresh; }

}  // namespace sidra::chip
