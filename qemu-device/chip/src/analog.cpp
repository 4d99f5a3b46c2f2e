// SPDX-License-Identifier: MIT
#include "analog.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sidra::chip {
namespace {

using physics::CellParameters;
using physics::CellState;

constexpr double kDriftOne = 65536;  // drift is in steps of 1 / 2^16: half a day at the published rate
constexpr uint64_t kAjPerPj = 1'000'000;
constexpr double kMillion = 1e6;
constexpr uint64_t kAgeMax = 10'000'000'000;  // s, about 317 years
constexpr double kCellsTimeMax = 1e11;        // limit of drift_factor()

CellParameters with_stuck(double share) {
    CellParameters cells;
    cells.stuck_low = cells.stuck_high = share / 2;
    return cells;
}

physics::ReadoutParameters readout_parameters() {
    physics::ReadoutParameters parameters;
    parameters.adc_follows = true;
    return parameters;
}

float remaining(uint32_t drift) { return static_cast<float>(1 - drift / kDriftOne); }

bool follows(CellState cell) { return cell == CellState::kFormed; }

}  // namespace

CellClock::CellClock(const CellParameters& cells)
    : cells_(cells), speed_(static_cast<double>(physics::drift_speed(cells, cells.drift_celsius))) {}

// The host's clock may stop, but does not go back; the check is for loaded values, which are not trusted.
double CellClock::now_locked(uint64_t device_ns) const {
    const double passed = device_ns > since_ns_ ? static_cast<double>(device_ns - since_ns_) * 1e-9 : 0;
    return std::min(base_ + passed * speed_, kCellsTimeMax);
}

double CellClock::now(uint64_t device_ns) const {
    std::lock_guard guard(lock_);
    return now_locked(device_ns);
}

bool CellClock::is_time(double now) { return now >= 0 && now <= kCellsTimeMax; }

bool CellClock::set(double now, uint64_t device_ns) {
    if (!is_time(now)) return false;
    std::lock_guard guard(lock_);
    base_ = now;
    since_ns_ = device_ns;
    return true;
}

bool CellClock::set_temperature(int64_t milli_celsius, uint64_t device_ns) {
    if (milli_celsius < -55'000 || milli_celsius > 250'000) return false;
    std::lock_guard guard(lock_);
    base_ = now_locked(device_ns);
    since_ns_ = device_ns;
    speed_ = static_cast<double>(physics::drift_speed(cells_, static_cast<double>(milli_celsius) / 1000));
    return true;
}

bool CellClock::age(uint64_t seconds, uint64_t device_ns) {
    if (seconds > kAgeMax) return false;
    std::lock_guard guard(lock_);
    base_ = std::min(now_locked(device_ns) + static_cast<double>(seconds) * speed_, kCellsTimeMax);
    since_ns_ = device_ns;
    return true;
}

Analog::Analog(uint32_t xbars, double stuck, uint64_t seed)
    : parameters_(with_stuck(stuck)),
      first_seed_(seed),
      clock_(parameters_),
      g_(size_t{xbars} * kXbarCells * sizeof(uint16_t)),
      cells_(size_t{xbars} * kXbarCells),
      bad_(size_t{xbars} * kXbarCells / 8),
      states_(size_t{xbars} * sizeof(State)),
      cached_(xbars) {
    reseed(seed);
}

void Analog::reseed(uint64_t seed) {
    std::lock_guard guard(ispp_lock_);
    seed_ = seed;
    make_ispp_locked();
}

void Analog::set_policy(const Policy& policy) {
    std::lock_guard guard(ispp_lock_);
    policy_ = policy;
    make_ispp_locked();
}

void Analog::make_ispp_locked() {
    physics::IsppParameters parameters = physics::ispp_defaults(policy_.mode);
    parameters.guard *= policy_.tolerance / parameters.tolerance;
    parameters.tolerance = policy_.tolerance;
    parameters.max_tries = policy_.tries;
    ispp_ = std::make_shared<const physics::Ispp>(parameters_, parameters, seed_);
}

Analog::Loop Analog::loop() const {
    std::lock_guard guard(ispp_lock_);
    return {ispp_, policy_};
}

uint32_t Analog::drift(double seconds) const {
    const float left =
        physics::drift_factor(parameters_, std::clamp(seconds, 0.0, kCellsTimeMax), parameters_.drift_celsius);
    return static_cast<uint32_t>(std::lround((1 - static_cast<double>(left)) * kDriftOne));
}

Analog::Content Analog::copy(uint32_t xbar) const {
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    Content content{xbar,
                    s.touched,
                    false,
                    false,
                    s.range.load(),
                    {s.programs,
                     s.checks.load(),
                     s.since,
                     s.products.load(),
                     s.clipped.load(),
                     s.time_ps,
                     s.totals,
                     s.recovered,
                     s.bad,
                     {}},
                    {g(xbar), g(xbar) + kXbarCells},
                    {cells(xbar), cells(xbar) + kXbarCells},
                    {bad(xbar), bad(xbar) + kXbarCells / 64}};
    std::copy(std::begin(s.moved), std::end(s.moved), content.image.moved);
    return content;
}

void Analog::Content::set_bad(uint32_t cell, bool is) {
    const uint64_t bit = uint64_t{1} << (cell % 64);
    if (is) bad[cell / 64] |= bit;
    else bad[cell / 64] &= ~bit;
}

bool Analog::blank(uint32_t xbar) const {
    std::lock_guard guard(lock(xbar));
    return !state(xbar).touched && state(xbar).products.load() == 0;
}

void Analog::take(const Content& content) {
    std::lock_guard guard(lock(content.xbar));
    take_locked(content);
}

namespace {

uint32_t moved_columns(const uint8_t (&moved)[SIDRA_XBAR_COLS]) {
    return static_cast<uint32_t>(
        std::count_if(std::begin(moved), std::end(moved), [](uint8_t each) { return each != 0; }));
}

}  // namespace

// Products and verifications may have been counted since the copy was made.
void Analog::take_locked(const Content& content) {
    State& s = state(content.xbar);
    const auto stuck = [](CellState each) { return each == CellState::kStuckLow || each == CellState::kStuckHigh; };
    s.touched = content.touched;
    s.programs = content.image.programs;
    s.since = content.image.since;
    s.totals = content.image.totals;
    s.time_ps = content.image.time_ps;
    s.recovered = content.image.recovered;
    s.bad = content.image.bad;
    const auto relaxed = std::memory_order_relaxed;
    spare_columns_.fetch_add(uint64_t{moved_columns(content.image.moved)} - moved_columns(s.moved), relaxed);
    std::copy(std::begin(content.image.moved), std::end(content.image.moved), s.moved);
    std::copy(content.bad.begin(), content.bad.end(), bad(content.xbar));
    if (content.erased) {
        s.products.store(0, relaxed);
        s.clipped.store(0, relaxed);
    }
    if (content.erased || content.programmed) s.range.store(0, relaxed);
    std::copy(content.g.begin(), content.g.end(), g(content.xbar));
    std::copy(content.cells.begin(), content.cells.end(), cells(content.xbar));
    const auto now_stuck = static_cast<uint32_t>(std::count_if(content.cells.begin(), content.cells.end(), stuck));
    stuck_cells_.fetch_add(uint64_t{now_stuck} - s.stuck.exchange(now_stuck, relaxed), relaxed);
    counters_.pulses.fetch_add(content.took.pulses, relaxed);
    counters_.reads.fetch_add(content.took.reads, relaxed);
    counters_.failed.fetch_add(content.took.failed, relaxed);
    counters_.mended.fetch_add(content.took.mended, relaxed);
    s.version++;
    cached_[content.xbar] = {};
}

// Updates stored conductances to the present. A drift of less than half a step is not applied yet, and not lost.
void Analog::age(Content* content, double now) const {
    if (!content->touched) {
        content->touched = true;
        content->image.since = now;
        return;
    }
    const uint32_t steps = drift(now - content->image.since);
    if (steps == 0) return;
    const float left = remaining(steps);
    for (uint32_t i = 0; i < kXbarCells; i++)
        if (follows(content->cells[i])) content->g[i] = physics::stored(physics::conductance(content->g[i]) * left);
    content->image.since = now;
}

void Analog::form(Content* content, const Wanted& wanted) const {
    for (uint32_t cell = 0; cell < kXbarCells;) {
        uint32_t end = cell;
        while (end < kXbarCells && wanted.which[end]) end++;
        physics::form(parameters_, seed_, {content->xbar, cell, end - cell, &content->g[cell], &content->cells[cell]});
        cell = end + 1;
    }
}

// Programs cells until they converge, retries those that do not, and lets all programmed cells relax. Cells that are
// not wanted are treated as unformed, so that pulses do not affect them.
Analog::Pulsed Analog::pulse(Content* content, const Wanted& wanted, uint32_t program) const {
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
    content->image.totals.add(pulsed.totals);
    content->image.time_ps += pulsed.time_ps;
    content->image.recovered += pulsed.recovered;
    content->took.pulses += pulsed.totals.set_pulses + pulsed.totals.reset_pulses;
    content->took.reads += pulsed.totals.reads;
    content->took.failed += pulsed.totals.failed;
    return pulsed;
}

namespace {

// Visits the physical cells of a block of weights, with their index in the block.
template <typename F>
void for_each_cell(const Analog::Content& content, const CellBlock& block, F&& visit) {
    for (uint32_t r = 0; r < block.rows; r++)
        for (uint32_t c = 0; c < block.cols; c++)
            visit((block.row0 + r) * SIDRA_XBAR_COLS + content.column(block.col0 + c), size_t{r} * block.cols + c);
}

}  // namespace

Cost Analog::program(Content* content, const CellBlock& block, const uint8_t* levels, double now) const {
    age(content, now);
    Wanted wanted;
    for_each_cell(*content, block, [&](uint32_t cell, size_t i) { wanted.add(cell, levels[i]); });
    form(content, wanted);
    const Pulsed pulsed = pulse(content, wanted, content->image.programs++);
    content->programmed = true;
    content->range = 0;
    return {pulsed.time_ps, pulsed.totals.energy_aj / kAjPerPj};
}

namespace {

template <typename F>
void for_each_row(const Analog::Use& use, F&& visit) {
    for (uint32_t row = 0; row < SIDRA_XBAR_ROWS; row++)
        if (use.rows[row / 64] >> (row % 64) & 1) visit(row);
}

// Bad cells of the columns at `place` that move together.
uint32_t bad_cells(const Analog::Content& content, const Analog::Use& use, uint32_t place) {
    uint32_t bad = 0;
    for_each_row(use, [&](uint32_t row) {
        for (uint32_t c = 0; c < use.together; c++) bad += content.is_bad(row * SIDRA_XBAR_COLS + place + c);
    });
    return bad;
}

// The physical place of columns that move together. A loaded map may separate them; rounding keeps them inside the row.
uint32_t place_of(const Analog::Content& content, const Analog::Use& use, uint32_t column) {
    return content.column(column) / use.together * use.together;
}

}  // namespace

// Programs the columns at `to`, and uses them if they are better.
bool Analog::use_column(Content* content, const Use& use, uint32_t from, uint32_t to, uint32_t bad,
                        const uint8_t* levels, Cost* cost) const {
    Wanted wanted;
    for_each_row(use, [&](uint32_t row) {
        for (uint32_t c = 0; c < use.together; c++)
            wanted.add(row * SIDRA_XBAR_COLS + to + c, levels[row * SIDRA_XBAR_COLS + from + c]);
    });
    form(content, wanted);
    const Pulsed pulsed = pulse(content, wanted, content->image.programs - 1);  // belongs to the last programming
    *cost += {pulsed.time_ps, pulsed.totals.energy_aj / kAjPerPj};
    const bool better = bad_cells(*content, use, to) < bad;
    // Unused columns are set to the lowest conductance, to reduce their current.
    const uint32_t leaves = better ? place_of(*content, use, from) : to;
    for (uint32_t row = 0; row < SIDRA_XBAR_ROWS; row++)
        for (uint32_t c = 0; c < use.together; c++) {
            const uint32_t cell = row * SIDRA_XBAR_COLS + leaves + c;
            if (follows(content->cells[cell])) content->g[cell] = physics::stored(physics::lowest(parameters_));
        }
    if (better)
        for (uint32_t c = 0; c < use.together; c++)
            content->image.moved[from + c] = static_cast<uint8_t>((from + c) ^ (to + c));
    return better;
}

Cost Analog::replace_columns(Content* content, const Use& use, const uint8_t* levels) const {
    const uint32_t allowed = loop().policy.spare;
    bool spare[SIDRA_XBAR_COLS];  // tried at most once, which bounds the loop
    std::fill(std::begin(spare), std::end(spare), true);
    for (uint32_t column = 0; column < use.cols; column++) spare[content->column(column)] = false;
    Cost cost;
    content->image.bad = 0;
    for (uint32_t column = 0; column < use.cols; column += use.together) {
        const uint32_t bad = bad_cells(*content, use, place_of(*content, use, column));
        for (uint32_t place = 0, found = 0; bad > allowed && !found && place < SIDRA_XBAR_COLS; place += use.together) {
            if (!spare[place] || bad_cells(*content, use, place) >= bad) continue;
            spare[place] = false;
            found = use_column(content, use, column, place, bad, levels, &cost);
        }
        content->image.bad += bad_cells(*content, use, place_of(*content, use, column));
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

CellCheck Analog::verify(const CellBlock& block, const uint8_t* levels, double tolerance, double now, uint8_t* off) {
    const Content content = copy(block.xbar);
    const uint32_t number = state(block.xbar).checks.fetch_add(1, std::memory_order_relaxed);
    const float left = remaining(drift(now - content.image.since));
    const auto ispp = loop().ispp;
    CellCheck check;
    std::vector<float> values(kXbarCells);
    for (uint32_t row = block.row0; row < block.row0 + block.rows; row++) {
        uint16_t conductances[SIDRA_XBAR_COLS];
        for (uint32_t c = 0; c < SIDRA_XBAR_COLS; c++) {
            const uint32_t cell = row * SIDRA_XBAR_COLS + c;
            const uint16_t stored = content.g[cell];
            conductances[c] =
                follows(content.cells[cell]) ? physics::stored(physics::conductance(stored) * left) : stored;
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

void Analog::mend(Content* content, const CellBlock& block, const uint8_t* levels, const uint8_t* off, double now,
                  CellCheck* check) const {
    age(content, now);
    Wanted wanted;
    for_each_cell(*content, block, [&](uint32_t cell, size_t i) {
        if (off[i]) wanted.add(cell, levels[i]);
    });
    content->took.mended += check->off;
    const Pulsed pulsed = pulse(content, wanted, content->image.programs++);
    check->failed += pulsed.totals.failed;
    check->pulses += pulsed.totals.set_pulses + pulsed.totals.reset_pulses;
    check->cost += {pulsed.time_ps, pulsed.totals.energy_aj / kAjPerPj};
}

void Analog::read(const CellBlock& block, uint8_t* levels, double now) const {
    std::lock_guard guard(lock(block.xbar));
    const State& s = state(block.xbar);
    const float left = remaining(drift(now - s.since));
    for (uint32_t row = block.row0; row < block.row0 + block.rows; row++)
        for (uint32_t c = block.col0; c < block.col0 + block.cols; c++) {
            const uint32_t cell = row * SIDRA_XBAR_COLS + (c ^ s.moved[c]);
            const float conducts = physics::conductance(g(block.xbar)[cell]);
            *levels++ = physics::level_of(parameters_, follows(cells(block.xbar)[cell]) ? conducts * left : conducts);
        }
}

void Analog::erase(Content* content) const {
    content->erased = true;
    for (uint32_t i = 0; i < kXbarCells; i++)
        if (follows(content->cells[i])) content->g[i] = physics::stored(physics::lowest(parameters_));
    content->range = 0;
    Image& image = content->image;
    image.products = image.clipped = image.time_ps = image.recovered = image.bad = 0;
    image.totals = {};
    std::fill(std::begin(image.moved), std::end(image.moved), uint8_t{0});
}

void Analog::hold(Content* content, uint32_t cell, uint8_t level) const {
    content->touched = true;
    content->cells[cell] = CellState::kStuckLow;
    content->g[cell] = physics::stored(physics::conductance_of(parameters_, level));
}

// The cell is formed again, with the same result as before.
void Analog::release(Content* content, uint32_t cell) const { content->cells[cell] = CellState::kFresh; }

Analog::Tile::Tile(const TileShape& shape, const double* effective, uint64_t seed)
    : readout(effective, shape.encoding, readout_parameters(), seed, shape.xbar), excess{} {
    float sums[SIDRA_XBAR_COLS];
    readout.weight_sums(shape.rows, sums);
    for (uint32_t c = 0; c < shape.outputs; c++)
        excess[c] = (sums[c] - static_cast<float>(shape.sums[c])) / static_cast<float>(shape.rows);
}

std::shared_ptr<const Analog::Tile> Analog::make_tile(const TileShape& shape, uint64_t seed, std::vector<double> g,
                                                      const uint8_t* moved) const {
    physics::EffectiveConductance().find(g.data(), SIDRA_XBAR_ROWS, SIDRA_XBAR_COLS, kWires, g.data());
    // Convert from physical columns to columns of weights.
    for (uint32_t row = 0; row < SIDRA_XBAR_ROWS; row++) {
        double* const of_row = &g[size_t{row} * SIDRA_XBAR_COLS];
        double placed[SIDRA_XBAR_COLS];
        std::copy_n(of_row, SIDRA_XBAR_COLS, placed);
        for (uint32_t column = 0; column < SIDRA_XBAR_COLS; column++) of_row[column] = placed[column ^ moved[column]];
    }
    // Exclude unused cells from the sums.
    const bool pairs = shape.encoding == SIDRA_ENCODING_DIFFERENTIAL;
    const uint32_t columns = pairs ? 2 * shape.outputs : shape.outputs;
    const double nothing = pairs ? 0 : static_cast<double>(physics::conductance_of(parameters_, 128));
    for (uint32_t row = 0; row < SIDRA_XBAR_ROWS; row++)
        for (uint32_t column = 0; column < SIDRA_XBAR_COLS; column++) {
            double& cell = g[size_t{row} * SIDRA_XBAR_COLS + column];
            cell = row < shape.rows && column < columns ? std::max(cell / parameters_.g_max_siemens, 0.0) : nothing;
        }
    return std::make_shared<const Tile>(shape, g.data(), seed);
}

bool Analog::has_tile(uint32_t xbar, double now) const {
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    const Cached& cached = cached_[xbar];
    return cached.tile && cached.version == s.version && cached.drift == drift(now - s.since);
}

std::shared_ptr<const Analog::Tile> Analog::tile(const TileShape& shape, double now) {
    const uint32_t xbar = shape.xbar;
    // The weights table may change the encoding of an object.
    const uint32_t outputs = shape.encoding == SIDRA_ENCODING_DIFFERENTIAL ? SIDRA_XBAR_COLS / 2 : SIDRA_XBAR_COLS;
    const auto known = [&](uint32_t steps) {
        const Cached& cached = cached_[xbar];
        const bool is = cached.tile && cached.version == state(xbar).version && cached.drift == steps &&
                        cached.tile->readout.outputs() == outputs;
        return is ? cached.tile : nullptr;
    };
    {
        std::lock_guard guard(lock(xbar));
        if (auto found = known(drift(now - state(xbar).since))) return found;
    }
    std::lock_guard making(making_locks_[xbar % kLocks]);
    std::vector<double> conductances(kXbarCells);
    uint64_t version, seed;
    uint32_t steps;
    uint8_t moved[SIDRA_XBAR_COLS];
    {
        std::lock_guard guard(lock(xbar));
        const State& s = state(xbar);
        steps = drift(now - s.since);
        if (auto found = known(steps)) return found;  // created by another thread meanwhile
        version = s.version;
        seed = seed_ ^ uint64_t { s.programs } << 32;  // different noise for each content
        std::copy(std::begin(s.moved), std::end(s.moved), moved);
        const double left = static_cast<double>(remaining(steps));
        for (uint32_t i = 0; i < kXbarCells; i++) {
            const uint16_t stored = std::max<uint16_t>(g(xbar)[i], 1);
            conductances[i] = physics::siemens(parameters_, stored) * (follows(cells(xbar)[i]) ? left : 1);
        }
    }
    auto made = make_tile(shape, seed, std::move(conductances), moved);
    std::lock_guard guard(lock(xbar));
    cached_[xbar] = {version, steps, made};
    return made;
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

Analog::Counts Analog::counts(uint32_t xbar) const {
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    return {xbar, s.checks.load(), s.products.load(), s.clipped.load(), s.range.load(), s.programs};
}

bool Analog::set_counts(const Counts& counts) {
    if (counts.xbar >= cached_.size()) return false;
    State& s = state(counts.xbar);
    if (counts.programs == s.programs) s.range.store(counts.range);
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
    report->spare_columns = moved_columns(s.moved);
    report->bad_cells = static_cast<uint32_t>(s.bad);
    report->recovered = s.recovered;
    report->error_ppm = static_cast<uint32_t>(std::lround(s.totals.error_sigma() * kMillion));
    report->failed = s.totals.failed;
    report->set_pulses = s.totals.set_pulses;
    report->reset_pulses = s.totals.reset_pulses;
    report->reads = s.totals.reads;
    report->device_ps = s.time_ps;
    report->energy_pj = s.totals.energy_aj / kAjPerPj;
    report->clipped = s.clipped.load(std::memory_order_relaxed);
    report->adc_range = range(xbar);
    std::copy(std::begin(s.totals.converged_after), std::end(s.totals.converged_after), report->arrived);
    if (!s.touched) return;
    const double age = std::clamp(now - s.since, 0.0, kCellsTimeMax);
    report->age_s = static_cast<uint64_t>(age);
    report->drift_ppm = static_cast<uint32_t>(std::lround(drift(age) / kDriftOne * kMillion));
}

bool Analog::restore(const Content& content) {
    // Exceeds the sum over 2^32 programmings of a crossbar, so later additions cannot overflow.
    constexpr int64_t kErrorMost = int64_t{1} << 62;
    const Image& image = content.image;
    if (content.xbar >= cached_.size() || !CellClock::is_time(image.since) || image.totals.error_sum > kErrorMost ||
        image.totals.error_sum < -kErrorMost || content.g.size() != kXbarCells || content.cells.size() != kXbarCells ||
        content.bad.size() != kXbarCells / 64 || image.bad > kXbarCells ||
        std::any_of(content.cells.begin(), content.cells.end(),
                    [](CellState each) { return each > CellState::kStuckHigh; }))
        return false;
    std::lock_guard guard(lock(content.xbar));
    State& s = state(content.xbar);
    if (s.restored) return false;
    take_locked(content);
    s.restored = true;
    return set_counts({content.xbar, image.checks, image.products, image.clipped, content.range, image.programs});
}

void Analog::forget(uint32_t xbar) {
    Content content;
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
    for (Cached& cached : cached_) cached = {};
    stuck_cells_.store(0);
    spare_columns_.store(0);
    if (seed_ != first_seed_) reseed(first_seed_);
}

}  // namespace sidra::chip
