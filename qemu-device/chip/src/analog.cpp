// SPDX-License-Identifier: MIT
#include "analog.h"

#include <algorithm>
#include <cmath>

namespace sidra::chip {
namespace {

using physics::CellParameters;
using physics::CellState;

constexpr double kDriftOne = 65536;  // drift counts in steps of 1 / 2^16: half a day at the public rate
constexpr uint64_t kAjPerPj = 1'000'000;
constexpr double kMillion = 1e6;
constexpr uint64_t kAgeMax = 10'000'000'000;  // s, some 317 years
constexpr double kCellsTimeMax = 1e11;        // what drift_factor() takes

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

// The clock of the host may have stood still, never gone back; but a number that is read is not trusted.
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
      seed_(seed),
      ispp_(parameters_, physics::ispp_defaults(physics::IsppMode::kErrorSized), seed),
      clock_(parameters_),
      g_(size_t{xbars} * kXbarCells * sizeof(uint16_t)),
      cells_(size_t{xbars} * kXbarCells),
      states_(size_t{xbars} * sizeof(State)),
      cached_(xbars) {}

uint32_t Analog::drift(double seconds) const {
    const float left =
        physics::drift_factor(parameters_, std::clamp(seconds, 0.0, kCellsTimeMax), parameters_.drift_celsius);
    return static_cast<uint32_t>(std::lround((1 - static_cast<double>(left)) * kDriftOne));
}

// Brings what is stored to what it is now. Less than half a step stays as it is, and is not forgotten.
void Analog::age_locked(uint32_t xbar, double now) {
    State& s = state(xbar);
    if (!s.touched) {
        s.touched = true;
        s.since = now;
        return;
    }
    const uint32_t steps = drift(now - s.since);
    if (steps == 0) return;
    const float left = remaining(steps);
    for (uint32_t i = 0; i < kXbarCells; i++)
        if (follows(cells(xbar)[i])) g(xbar)[i] = physics::stored(physics::conductance(g(xbar)[i]) * left);
    s.since = now;
}

void Analog::changed_locked(uint32_t xbar) {
    State& s = state(xbar);
    const CellState* cell = cells(xbar);
    s.stuck.store(static_cast<uint32_t>(std::count_if(
                      cell, cell + kXbarCells,
                      [](CellState each) { return each == CellState::kStuckLow || each == CellState::kStuckHigh; })),
                  std::memory_order_relaxed);
    s.version++;
    cached_[xbar] = {};
}

void Analog::run_ispp(const CellBlock& block, uint32_t program, const uint8_t* levels, uint16_t* g, CellState* cells,
                      physics::IsppTotals* totals, uint64_t* time_ps) const {
    // Whole rows lie together, and are programmed some at a time.
    const uint32_t rows_at_once = block.cols == SIDRA_XBAR_COLS ? physics::kIsppBlock / SIDRA_XBAR_COLS : 1;
    uint8_t tries[physics::kIsppBlock];
    physics::Outcome outcome[physics::kIsppBlock];
    for (uint32_t row = 0; row < block.rows; row += rows_at_once) {
        const uint32_t rows = std::min(rows_at_once, block.rows - row), count = rows * block.cols;
        const uint32_t first = (block.row0 + row) * SIDRA_XBAR_COLS + block.col0, at = row * block.cols;
        physics::IsppTotals some{};
        physics::form(parameters_, seed_, {block.xbar, first, count, g + at, cells + at});
        ispp_.program({block.xbar, first, count, program, levels + at, cells + at, g + at, tries, outcome, &some});
        physics::relax(parameters_, seed_, program, {block.xbar, first, count, g + at, cells + at});

        // All cells of a row are read, and pulsed, together, until the last one has arrived.
        uint64_t steps = 0, row_steps = 0;
        for (uint32_t r = 0; r < rows; r++) {
            const uint8_t* of_row = tries + size_t{r} * block.cols;
            row_steps += *std::max_element(of_row, of_row + block.cols) + 1u;
            for (uint32_t c = 0; c < block.cols; c++) steps += of_row[c] + 1u;
        }
        *time_ps += some.time_ps * row_steps / steps;
        totals->add(some);
    }
}

Cost Analog::program(const CellBlock& block, const uint8_t* levels, double now) {
    const size_t count = size_t{block.rows} * block.cols;
    std::vector<uint16_t> conductances(count);
    std::vector<CellState> before(count), after;
    const auto each_row = [&](auto&& visit) {
        for (uint32_t r = 0; r < block.rows; r++)
            visit(size_t{block.row0 + r} * SIDRA_XBAR_COLS + block.col0, size_t{r} * block.cols);
    };
    uint32_t program;
    {
        std::lock_guard guard(lock(block.xbar));
        age_locked(block.xbar, now);
        program = state(block.xbar).programs++;
        each_row([&](size_t from, size_t to) {
            std::copy_n(g(block.xbar) + from, block.cols, conductances.data() + to);
            std::copy_n(cells(block.xbar) + from, block.cols, before.data() + to);
        });
    }
    after = before;
    physics::IsppTotals totals{};
    uint64_t time_ps = 0;
    run_ispp(block, program, levels, conductances.data(), after.data(), &totals, &time_ps);

    std::lock_guard guard(lock(block.xbar));
    State& s = state(block.xbar);
    each_row([&](size_t to, size_t from) {
        for (uint32_t c = 0; c < block.cols; c++) {
            if (cells(block.xbar)[to + c] != before[from + c]) continue;  // held since
            cells(block.xbar)[to + c] = after[from + c];
            g(block.xbar)[to + c] = conductances[from + c];
        }
    });
    s.totals.add(totals);
    s.time_ps += time_ps;
    changed_locked(block.xbar);
    return {time_ps, totals.energy_aj / kAjPerPj};
}

void Analog::read(const CellBlock& block, uint8_t* levels, double now) const {
    std::lock_guard guard(lock(block.xbar));
    const float left = remaining(drift(now - state(block.xbar).since));
    for (uint32_t r = 0; r < block.rows; r++) {
        const size_t first = size_t{block.row0 + r} * SIDRA_XBAR_COLS + block.col0;
        for (uint32_t c = 0; c < block.cols; c++) {
            const float conducts = physics::conductance(g(block.xbar)[first + c]);
            *levels++ =
                physics::level_of(parameters_, follows(cells(block.xbar)[first + c]) ? conducts * left : conducts);
        }
    }
}

void Analog::erase(uint32_t xbar) {
    std::lock_guard guard(lock(xbar));
    State& s = state(xbar);
    s.products.store(0, std::memory_order_relaxed);
    if (!s.touched) return;
    for (uint32_t i = 0; i < kXbarCells; i++)
        if (follows(cells(xbar)[i])) g(xbar)[i] = physics::stored(physics::lowest(parameters_));
    s.clipped.store(0, std::memory_order_relaxed);
    s.totals = {};
    s.time_ps = 0;
    changed_locked(xbar);
}

void Analog::hold(uint32_t xbar, uint32_t cell, uint8_t level) {
    std::lock_guard guard(lock(xbar));
    state(xbar).touched = true;
    cells(xbar)[cell] = CellState::kStuckLow;
    g(xbar)[cell] = physics::stored(physics::conductance_of(parameters_, level));
    changed_locked(xbar);
}

// It is formed again, which makes of it what it made of it before.
void Analog::release(uint32_t xbar, uint32_t cell) {
    std::lock_guard guard(lock(xbar));
    cells(xbar)[cell] = CellState::kFresh;
    changed_locked(xbar);
}

Analog::Tile::Tile(const TileShape& shape, const double* effective, uint64_t seed)
    : readout(effective, shape.encoding, readout_parameters(), seed, shape.xbar), excess{} {
    float sums[SIDRA_XBAR_COLS];
    readout.weight_sums(shape.rows, sums);
    for (uint32_t c = 0; c < shape.outputs; c++)
        excess[c] = (sums[c] - static_cast<float>(shape.sums[c])) / static_cast<float>(shape.rows);
}

std::shared_ptr<const Analog::Tile> Analog::make_tile(const TileShape& shape, uint64_t seed,
                                                      std::vector<double> g) const {
    physics::EffectiveConductance().find(g.data(), SIDRA_XBAR_ROWS, SIDRA_XBAR_COLS, kWires, g.data());
    // What is not in use counts for nothing.
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
    const auto known = [&](uint32_t steps) {
        const Cached& cached = cached_[xbar];
        return cached.tile && cached.version == state(xbar).version && cached.drift == steps ? cached.tile : nullptr;
    };
    {
        std::lock_guard guard(lock(xbar));
        if (auto found = known(drift(now - state(xbar).since))) return found;
    }
    std::lock_guard making(making_locks_[xbar % kLocks]);
    std::vector<double> conductances(kXbarCells);
    uint64_t version, seed;
    uint32_t steps;
    {
        std::lock_guard guard(lock(xbar));
        const State& s = state(xbar);
        steps = drift(now - s.since);
        if (auto found = known(steps)) return found;  // by who made it meanwhile
        version = s.version;
        seed = seed_ ^ uint64_t { s.programs } << 32;  // other noise for other contents
        const double left = static_cast<double>(remaining(steps));
        for (uint32_t i = 0; i < kXbarCells; i++) {
            const uint16_t stored = std::max<uint16_t>(g(xbar)[i], 1);
            conductances[i] = physics::siemens(parameters_, stored) * (follows(cells(xbar)[i]) ? left : 1);
        }
    }
    auto made = make_tile(shape, seed, std::move(conductances));
    std::lock_guard guard(lock(xbar));
    cached_[xbar] = {version, steps, made};
    return made;
}

uint64_t Analog::take_products(uint32_t xbar, uint64_t count) {
    return state(xbar).products.fetch_add(count, std::memory_order_relaxed);
}

void Analog::count_clipped(uint32_t xbar, uint64_t count) {
    if (count) state(xbar).clipped.fetch_add(count, std::memory_order_relaxed);
}

sidra_chip_xbar_report Analog::report(uint32_t xbar) const {
    static_assert(SIDRA_CHIP_TRIES_MAX == physics::kMaxTries);
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    sidra_chip_xbar_report report{};
    report.programs = s.programs;
    report.stuck = s.stuck.load(std::memory_order_relaxed);
    std::copy(std::begin(s.totals.converged_after), std::end(s.totals.converged_after), report.converged_after);
    report.failed = s.totals.failed;
    report.error_sigma = s.totals.error_sigma();
    report.device_ps = s.time_ps;
    report.energy_pj = s.totals.energy_aj / kAjPerPj;
    report.clipped = s.clipped.load(std::memory_order_relaxed);
    return report;
}

void Analog::report(uint32_t xbar, double now, sidra_hw_xbar_report* report) const {
    static_assert(SIDRA_XBAR_TRIES_MAX == physics::kMaxTries);
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    report->level = SIDRA_XBAR_PULSED;
    report->error_ppm = static_cast<uint32_t>(std::lround(s.totals.error_sigma() * kMillion));
    report->failed = s.totals.failed;
    report->set_pulses = s.totals.set_pulses;
    report->reset_pulses = s.totals.reset_pulses;
    report->reads = s.totals.reads;
    report->device_ps = s.time_ps;
    report->energy_pj = s.totals.energy_aj / kAjPerPj;
    report->clipped = s.clipped.load(std::memory_order_relaxed);
    std::copy(std::begin(s.totals.converged_after), std::end(s.totals.converged_after), report->arrived);
    if (!s.touched) return;
    const double age = std::clamp(now - s.since, 0.0, kCellsTimeMax);
    report->age_s = static_cast<uint64_t>(age);
    report->drift_ppm = static_cast<uint32_t>(std::lround(drift(age) / kDriftOne * kMillion));
}

bool Analog::image(uint32_t xbar, Image* image, uint16_t* conductances, uint8_t* states) const {
    std::lock_guard guard(lock(xbar));
    const State& s = state(xbar);
    if (!s.touched && s.products.load() == 0) return false;
    *image = {s.programs, 0, s.since, s.products.load(), s.clipped.load(), s.time_ps, s.totals};
    std::copy_n(g(xbar), kXbarCells, conductances);
    std::transform(cells(xbar), cells(xbar) + kXbarCells, states,
                   [](CellState each) { return static_cast<uint8_t>(each); });
    return true;
}

bool Analog::restore(uint32_t xbar, const Image& image, const uint16_t* conductances, const uint8_t* states) {
    // Of all pulses that a crossbar can have had in 2^32 programmings: what is added to this later cannot overflow.
    constexpr int64_t kErrorMost = int64_t{1} << 62;
    if (xbar >= cached_.size() || image.reserved || !CellClock::is_time(image.since) ||
        image.totals.error_sum > kErrorMost || image.totals.error_sum < -kErrorMost ||
        std::any_of(states, states + kXbarCells,
                    [](uint8_t each) { return each > static_cast<uint8_t>(CellState::kStuckHigh); }))
        return false;
    std::lock_guard guard(lock(xbar));
    State& s = state(xbar);
    if (s.touched) return false;  // twice
    s.touched = true;
    s.programs = image.programs;
    s.since = image.since;
    s.products.store(image.products);
    s.clipped.store(image.clipped);
    s.time_ps = image.time_ps;
    s.totals = image.totals;
    std::copy_n(conductances, kXbarCells, g(xbar));
    std::transform(states, states + kXbarCells, cells(xbar), [](uint8_t each) { return static_cast<CellState>(each); });
    changed_locked(xbar);
    return true;
}

void Analog::clear() {
    for (LazyMemory* memory : {&g_, &cells_, &states_}) memory->clear();
    for (Cached& cached : cached_) cached = {};
}

}  // namespace sidra::chip
