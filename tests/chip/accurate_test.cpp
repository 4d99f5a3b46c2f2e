// SPDX-License-Identifier: MIT
// Level `accurate`: programming by pulses, products by ADCs behind wires, drift; against a solution of the whole
// network for each input vector, Arrhenius' law, and itself however the work is cut.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kOffset = SIDRA_ENCODING_OFFSET, kDifferential = SIDRA_ENCODING_DIFFERENTIAL;
constexpr uint32_t kSize = 256;
constexpr double kYear = 365.25 * 24 * 3600;

BenchOptions accurate() {
    BenchOptions options;
    options.level = SIDRA_CHIP_ACCURATE;
    options.stuck_ppm = SIDRA_CHIP_STUCK_NONE;
    return options;
}

struct Rig {
    explicit Rig(const BenchOptions& options = accurate()) : bench(options) {}

    void run_ok(const sidra_cmd& cmd) {
        queue.submit(cmd);
        bench.run();
        ASSERT_TRUE(retired(queue));
    }
    uint32_t programmed(const std::vector<int8_t>& w, uint32_t rows, uint32_t cols, uint32_t encoding,
                        const std::vector<uint32_t>& crossbars = {}) {
        const uint32_t weights =
            context.weights({.rows = rows, .cols = cols, .encoding = encoding, .crossbars = crossbars});
        run_ok(program(weights, 0, rows, 0, cols, context.put(w), cols));
        return weights;
    }
    std::vector<int8_t> read(uint32_t weights, uint32_t rows, uint32_t cols) {
        const uint64_t at = context.alloc(uint64_t{rows} * cols);
        run_ok(readback(weights, 0, rows, 0, cols, at, cols));
        return context.get<int8_t>(at, size_t{rows} * cols);
    }
    sidra_cmd product(uint32_t weights, uint64_t in, uint32_t rows, uint32_t cols, uint32_t batch, uint64_t out,
                      uint32_t type = SIDRA_TYPE_U8) {
        return mvm(static_cast<uint16_t>(weights), type, SIDRA_TYPE_S32, batch, in, rows, out, cols * 4);
    }
    std::vector<int32_t> multiply(uint32_t weights, const std::vector<uint8_t>& x, uint32_t rows, uint32_t cols,
                                  uint32_t type = SIDRA_TYPE_U8) {
        const auto batch = static_cast<uint32_t>(x.size() / rows);
        const uint64_t out = context.alloc(uint64_t{batch} * cols * 4);
        run_ok(product(weights, context.put(x), rows, cols, batch, out, type));
        return context.get<int32_t>(out, size_t{batch} * cols);
    }
    bool knob(sidra_chip_knob which, uint64_t value) { return sidra_chip_set_knob(bench.chip(), which, value); }

    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
};

std::vector<int8_t> random_weights(size_t n, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<int8_t> w(n);
    for (int8_t& value : w) value = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
    return w;
}

std::vector<uint8_t> random_inputs(size_t n, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<uint8_t> x(n);
    for (uint8_t& value : x) value = static_cast<uint8_t>(random() % 2 ? random() % 256 : 0);
    return x;
}

double rms(const std::vector<double>& values) {
    double squares = 0;
    for (const double value : values) squares += value * value;
    return std::sqrt(squares / static_cast<double>(values.size()));
}

// The public figure: "about 1 % after ISPP", of G_max, a level being 0.99 / 255 of that.
TEST(Accurate, ProgramsWithinTolerance) {
    for (const uint32_t encoding : {kOffset, kDifferential}) {
        Rig rig;
        const uint32_t cols = encoding == kOffset ? 256 : 128;
        const auto w = random_weights(size_t{kSize} * cols, 1);
        const uint32_t weights = rig.programmed(w, kSize, cols, encoding);
        const auto got = rig.read(weights, kSize, cols);
        std::vector<double> errors;
        size_t far = 0;
        // Both cells of a pair contribute an error; each has half of the levels.
        const double level = 0.99 / 255, cell = encoding == kOffset ? level : level * std::sqrt(2.0);
        for (size_t i = 0; i < w.size(); i++) {
            errors.push_back((got[i] - w[i]) * cell);
            far += std::fabs(errors.back()) > 0.03;
        }
        EXPECT_LT(far, w.size() / 100);
        EXPECT_GT(rms(errors), 0.006);
        EXPECT_LT(rms(errors), 0.012);
    }
}

// Column currents of a crossbar whose cells have these levels: the nodal equations of the whole network, solved by
// conjugate gradients. 607 ohm per line, G_max 2 uS, G_min 1/100 of it; rows are driven at column 0, columns are sensed
// behind the last row.
std::vector<double> column_currents(const std::vector<double>& levels, const uint8_t* x) {
    constexpr size_t kNodes = size_t{kSize} * kSize;
    const double wire = 256 / 607.0;
    std::vector<double> g(kNodes);
    for (size_t i = 0; i < kNodes; i++) g[i] = 2e-6 * (0.01 + 0.99 * levels[i] / 255);
    using Vector = std::vector<double>;
    const auto apply = [&](const Vector& v, Vector* result) {  // nodes of the rows first, then of the columns
        for (uint32_t r = 0; r < kSize; r++)
            for (uint32_t c = 0; c < kSize; c++) {
                const size_t at = size_t{r} * kSize + c;
                const double row = v[at], column = v[kNodes + at], cell = g[at] * (row - column);
                double out = cell + wire * (c > 0 ? row - v[at - 1] : row);
                if (c + 1 < kSize) out += wire * (row - v[at + 1]);
                (*result)[at] = out;
                out = wire * (r + 1 < kSize ? column - v[kNodes + at + kSize] : column) - cell;
                if (r > 0) out += wire * (column - v[kNodes + at - kSize]);
                (*result)[kNodes + at] = out;
            }
    };
    const auto dot = [](const Vector& a, const Vector& b) {
        double sum = 0;
        for (size_t i = 0; i < a.size(); i++) sum += a[i] * b[i];
        return sum;
    };
    Vector v(2 * kNodes), residue(2 * kNodes), step, made(2 * kNodes);
    for (uint32_t r = 0; r < kSize; r++)
        for (uint32_t c = 0; c < kSize; c++) v[size_t{r} * kSize + c] = x[r];
    apply(v, &residue);
    for (double& each : residue) each = -each;
    for (uint32_t r = 0; r < kSize; r++) residue[size_t{r} * kSize] += wire * x[r];
    step = residue;
    double left = dot(residue, residue);
    for (int i = 0; left > 1e-14; i++) {
        if (i == 20'000) {
            ADD_FAILURE() << "no solution: " << left;
            break;
        }
        apply(step, &made);
        const double along = left / dot(step, made);
        for (size_t k = 0; k < v.size(); k++) {
            v[k] += along * step[k];
            residue[k] -= along * made[k];
        }
        const double now = dot(residue, residue);
        for (size_t k = 0; k < v.size(); k++) step[k] = residue[k] + now / left * step[k];
        left = now;
    }
    std::vector<double> currents(kSize);
    for (uint32_t c = 0; c < kSize; c++) currents[c] = wire * v[kNodes + size_t{kSize - 1} * kSize + c];
    return currents;
}

// Means over many products (which leave 1/16 of the noise and of the ADC's quantization), compared with the network
// solved for the levels that read back, which are exact to half a level per cell. Programming errors (4 %) and IR drop
// (4 %, and far more where all cells conduct) are in both.
TEST(Accurate, ProductsAreThoseOfTheNetwork) {
    for (const uint32_t encoding : {kOffset, kDifferential}) {
        Rig rig;
        const uint32_t cols = encoding == kOffset ? 256 : 128;
        const auto w = random_weights(size_t{kSize} * cols, 2);
        const uint32_t weights = rig.programmed(w, kSize, cols, encoding);
        const auto read = rig.read(weights, kSize, cols);
        std::vector<double> levels(size_t{kSize} * kSize);
        for (uint32_t r = 0; r < kSize; r++)
            for (uint32_t n = 0; n < cols; n++) {
                const int weight = read[r * cols + n];
                if (encoding == kOffset) levels[r * kSize + n] = weight + 128;
                else levels[r * kSize + 2 * n + (weight < 0)] = 2 * std::abs(weight);
            }
        const auto x = random_inputs(kSize, 3);
        constexpr uint32_t kBatch = 256;
        std::vector<uint8_t> all;
        for (uint32_t b = 0; b < kBatch; b++) all.insert(all.end(), x.begin(), x.end());
        const auto out = rig.multiply(weights, all, kSize, cols);
        // The excess of a column for equal inputs is subtracted in proportion to the sum of the inputs.
        const std::vector<uint8_t> ones(kSize, 1);
        const auto currents = column_currents(levels, x.data()), of_ones = column_currents(levels, ones.data());
        double inputs = 0;
        for (const uint8_t each : x) inputs += each;
        const double per_level = 2e-6 * 0.99 / 255, lowest = 2e-6 * 0.01;
        const auto digital = [&](const std::vector<double>& amperes, uint32_t n, double sum) {
            return encoding == kOffset ? (amperes[n] - lowest * sum) / per_level - 128 * sum
                                       : (amperes[2 * n] - amperes[2 * n + 1]) / per_level / 2;
        };
        std::vector<double> expected(cols), wrong(cols), off_ideal(cols), spread;
        for (uint32_t n = 0; n < cols; n++) {
            double column = 0;
            for (uint32_t r = 0; r < kSize; r++) column += w[r * cols + n];
            expected[n] = digital(currents, n, inputs) - (digital(of_ones, n, kSize) - column) / kSize * inputs;
            double mean = 0, ideal = 0, squares = 0;
            for (uint32_t b = 0; b < kBatch; b++) mean += out[b * cols + n] / double{kBatch};
            for (uint32_t b = 0; b < kBatch; b++) squares += std::pow(out[b * cols + n] - mean, 2) / kBatch;
            for (uint32_t r = 0; r < kSize; r++) ideal += 1.0 * x[r] * w[r * cols + n];
            wrong[n] = mean - expected[n];
            off_ideal[n] = mean - ideal;
            spread.push_back(std::sqrt(squares));
        }
        EXPECT_LT(rms(wrong), 0.015 * rms(expected)) << encoding;
        EXPECT_GT(rms(off_ideal), 0.03 * rms(expected)) << "there is no such chip";
        EXPECT_GT(rms(spread), 0.001 * rms(expected)) << "no noise";
        EXPECT_LT(rms(spread), 0.1 * rms(expected));
    }
}

// Several partly used tiles, signed inputs with a zero point, bias by scale: within a few percent of the exact result.
TEST(Accurate, TilesAddUpAndZeroPointsAreTakenOff) {
    for (const uint32_t encoding : {kOffset, kDifferential}) {
        const uint32_t rows = 300, cols = encoding == kOffset ? 300 : 150, batch = 20;
        const auto w = random_weights(size_t{rows} * cols, 4);
        const auto x = random_inputs(size_t{rows} * batch, 5);
        Rig rig;
        const uint32_t weights = rig.programmed(w, rows, cols, encoding, {5, 2, 7, 0});
        const uint64_t out = rig.context.alloc(uint64_t{batch} * cols * 4);
        sidra_cmd cmd = rig.product(weights, rig.context.put(x), rows, cols, batch, out, SIDRA_TYPE_S8);
        cmd.mvm.in_zero = -7;
        std::vector<int32_t> bias(cols, 100000);
        cmd.mvm.bias = rig.context.put(bias);
        ASSERT_TRUE(rig.knob(SIDRA_KNOB_ADC_OFFSET, 1000));
        rig.run_ok(cmd);
        const auto got = rig.context.get<int32_t>(out, size_t{batch} * cols);
        std::vector<double> exact, wrong;
        double mean = 0;
        for (uint32_t b = 0; b < batch; b++)
            for (uint32_t n = 0; n < cols; n++) {
                double sum = 0;
                for (uint32_t r = 0; r < rows; r++)
                    sum += (static_cast<int8_t>(x[b * rows + r]) + 7.0) * w[r * cols + n];
                exact.push_back(sum);
                wrong.push_back(got[b * cols + n] - 100000 - 2000 - sum);
                mean += wrong.back();
            }
        EXPECT_LT(rms(wrong), 0.15 * rms(exact)) << encoding;
        EXPECT_GT(rms(wrong), 0.01 * rms(exact)) << encoding;
        EXPECT_LT(std::fabs(mean / static_cast<double>(wrong.size())), 0.02 * rms(exact)) << encoding;
    }
}

// Programs four tiles, rewrites a part of them, and multiplies. The caller chooses options, batch sizes and threads.
std::vector<int32_t> story(BenchOptions options, const std::vector<uint32_t>& batches, unsigned threads = 0) {
    options.level = SIDRA_CHIP_ACCURATE;
    Rig rig(options);
    const uint32_t rows = 400, cols = 200;
    const uint32_t weights =
        rig.programmed(random_weights(size_t{rows} * cols, 6), rows, cols, kDifferential, {1, 3, 0, 6});
    const auto patch = random_weights(50 * 60, 7);
    const auto x = random_inputs(size_t{rows} * 40, 8);
    const uint64_t in = rig.context.put(x), out = rig.context.alloc(40 * cols * 4);
    std::vector<sidra_cmd> packets = {program(weights, 220, 50, 100, 60, rig.context.put(patch), 60)};
    uint32_t first = 0;
    for (const uint32_t batch : batches) {
        packets.push_back(rig.product(weights, in + first * rows, rows, cols, batch, out + first * cols * 4));
        first += batch;
    }
    if (threads) rig.bench.start_threads(threads);
    rig.queue.submit(packets);
    // Under a sanitizer the wires of one crossbar take seconds to solve: wait as long as the queue makes progress.
    uint64_t progress;
    do {
        progress = rig.queue.state().progress;
    } while (!rig.bench.wait(rig.queue, 1 + packets.size()) && rig.queue.state().progress != progress);
    rig.bench.stop_threads();
    EXPECT_TRUE(retired(rig.queue));
    auto result = rig.context.get<int32_t>(out, 40 * cols);
    for (const int8_t weight : rig.read(weights, rows, cols)) result.push_back(weight);
    return result;
}

TEST(Accurate, TheSameBitsHoweverItIsComputed) {
    const std::vector<uint32_t> at_once = {40};
    const auto expected = story({}, at_once);
    for (const uint32_t workers : {2u, 7u}) EXPECT_EQ(story({.workers = workers}, at_once), expected) << workers;
    if (!kSanitized)  // one thread each
        for (const uint32_t engine : available_engines())
            EXPECT_EQ(story({.engine = engine}, at_once), expected) << engine;
    EXPECT_EQ(story({}, {1, 22, 17}), expected) << "numbers of products go on from packet to packet";
    EXPECT_EQ(story({.workers = 2}, {13, 27}, 3), expected);
    EXPECT_NE(story({.seed = 2}, at_once), expected);
    EXPECT_NE(story({.stuck_ppm = 100'000}, at_once), expected);
}

TEST(Accurate, ProductsDifferByTheirNumber) {
    Rig rig;
    const uint32_t weights = rig.programmed(random_weights(kSize * 128, 9), kSize, 128, kDifferential);
    const auto x = random_inputs(kSize, 10);
    EXPECT_NE(rig.multiply(weights, x, kSize, 128), rig.multiply(weights, x, kSize, 128));
}

// Products of one object for vectors of one magnitude, and then for those of another, with the ranges of the ADCs.
struct Ranged {
    explicit Ranged(uint32_t encoding, const BenchOptions& options = accurate())
        : rig(options), encoding_(encoding), cols(encoding == kOffset ? 256 : 128) {
        w = random_weights(size_t{kRows} * cols, 21);
        weights = rig.programmed(w, kRows, cols, encoding, {2, 4});
    }
    // Outputs; `flags` of the packet.
    std::vector<int32_t> multiply(const std::vector<uint8_t>& x, uint8_t flags = 0) {
        const auto batch = static_cast<uint32_t>(x.size() / kRows);
        const uint64_t out = rig.context.alloc(uint64_t{batch} * cols * 4);
        sidra_cmd cmd = rig.product(weights, rig.context.put(x), kRows, cols, batch, out);
        cmd.mvm.flags = flags;
        rig.run_ok(cmd);
        return rig.context.get<int32_t>(out, size_t{batch} * cols);
    }
    uint64_t range(uint32_t xbar = 2) { return rig.bench.reports(xbar, 1)[0].adc_range; }
    uint64_t clipped() { return rig.bench.reports(2, 1)[0].clipped + rig.bench.reports(4, 1)[0].clipped; }
    // The largest sum over these rows, whatever its sign.
    double widest(const std::vector<uint8_t>& x, uint32_t row0, uint32_t rows) const {
        double most = 0;
        for (size_t b = 0; b < x.size() / kRows; b++)
            for (uint32_t n = 0; n < cols; n++) {
                double sum = 0;
                for (uint32_t r = row0; r < row0 + rows; r++) sum += 1.0 * x[b * kRows + r] * w[r * cols + n];
                most = std::max(most, std::fabs(sum));
            }
        return most;
    }
    double error(const std::vector<uint8_t>& x, const std::vector<int32_t>& got) const {
        std::vector<double> exact, wrong;
        for (size_t b = 0; b < x.size() / kRows; b++)
            for (uint32_t n = 0; n < cols; n++) {
                double sum = 0;
                for (uint32_t r = 0; r < kRows; r++) sum += 1.0 * x[b * kRows + r] * w[r * cols + n];
                exact.push_back(sum);
                wrong.push_back(got[b * cols + n] - sum);
            }
        return rms(wrong) / rms(exact);
    }

    static constexpr uint32_t kRows = 300;  // 256 and 44 in two crossbars
    Rig rig;
    const uint32_t encoding_, cols;
    std::vector<int8_t> w;
    uint32_t weights;
};

std::vector<uint8_t> fainter(std::vector<uint8_t> x, int halvings) {
    for (uint8_t& each : x) each = static_cast<uint8_t>(each >> halvings);
    return x;
}

TEST(Accurate, AdcsKeepTheRangeThatVectorsNeed) {
    const auto x = random_inputs(Ranged::kRows * 128, 22), faint = fainter(x, 4);
    for (const uint32_t encoding : {kOffset, kDifferential}) {
        Ranged it(encoding), never(encoding);
        EXPECT_EQ(it.range(), 0u);
        EXPECT_EQ(it.multiply(x, SIDRA_CMD_MVM_CALIBRATE), never.multiply(x)) << "follows products itself";
        // A margin of a quarter. The wires reduce the cells' current; in the offset code also that of the middle level,
        // which is subtracted after the ADCs.
        const double most = encoding == kOffset ? 1.8 : 1.35;
        for (const auto& [xbar, row0, rows] : {std::array{2u, 0u, 256u}, std::array{4u, 256u, 44u}}) {
            EXPECT_GT(static_cast<double>(it.range(xbar)), 1.15 * it.widest(x, row0, rows));
            EXPECT_LT(static_cast<double>(it.range(xbar)), most * it.widest(x, row0, rows));
        }
        const double follows = never.error(x, never.multiply(x)), keeps = it.error(x, it.multiply(x));
        EXPECT_LT(keeps, 1.1 * follows);
        EXPECT_EQ(it.clipped(), 0u);
        // A range for large values quantizes small ones too coarsely.
        EXPECT_GT(it.error(faint, it.multiply(faint)), 1.5 * never.error(faint, never.multiply(faint)));

        // With a new, narrower range, larger values saturate and are counted.
        it.multiply(faint, SIDRA_CMD_MVM_CALIBRATE);
        never.multiply(faint);
        const uint64_t range = it.range() + it.range(4);
        EXPECT_LT(range, it.widest(x, 0, 256) / 4);
        EXPECT_EQ(it.clipped(), 0u);
        EXPECT_GT(it.error(x, it.multiply(x)), 0.5);
        EXPECT_GT(it.clipped(), it.cols * 10);
        never.multiply(x);
    }
}

TEST(Accurate, ARangeLastsUntilCellsAreProgrammed) {
    const auto x = random_inputs(Ranged::kRows * 20, 23);
    Ranged it(kDifferential), never(kDifferential);
    it.multiply(fainter(x, 5), SIDRA_CMD_MVM_CALIBRATE);
    never.multiply(fainter(x, 5));
    const uint64_t first = it.range(2), second = it.range(4);
    ASSERT_TRUE(first && second);
    sidra_cmd again = refresh(it.weights, 0, Ranged::kRows, 0, it.cols);
    again.weights.tolerance_ppm = 1;
    for (Ranged* each : {&it, &never}) {
        const uint64_t pulses = each->rig.bench.reports(2, 1)[0].set_pulses;
        each->rig.run_ok(again);
        EXPECT_GT(each->rig.bench.reports(2, 1)[0].set_pulses, pulses);
    }
    EXPECT_EQ(it.range(2), first) << "cells are again what they were";
    // One of the two crossbars.
    for (Ranged* each : {&it, &never})
        each->rig.run_ok(
            program(each->weights, 260, 10, 0, 50, each->rig.context.put(random_weights(10 * 50, 24)), 50));
    EXPECT_EQ(it.range(2), first);
    EXPECT_EQ(it.range(4), 0u);
    for (Ranged* each : {&it, &never})
        each->rig.run_ok(program(each->weights, 0, 1, 0, it.cols, each->rig.context.put(it.w), it.cols));
    EXPECT_EQ(it.range(2), 0u);
    EXPECT_EQ(it.multiply(x), never.multiply(x)) << "as if there had been none";
}

TEST(Accurate, TheSameRangeHoweverItIsComputed) {
    const auto x = random_inputs(Ranged::kRows * 700, 25);
    const auto ranges = [&](uint32_t workers) {
        BenchOptions options = accurate();
        options.workers = workers;
        Ranged it(kOffset, options);
        it.multiply(x, SIDRA_CMD_MVM_CALIBRATE);
        auto result = it.multiply(x);
        result.push_back(static_cast<int32_t>(it.range(2)));
        result.push_back(static_cast<int32_t>(it.range(4)));
        return result;
    };
    const auto expected = ranges(1);
    for (const uint32_t workers : {2u, 5u}) EXPECT_EQ(ranges(workers), expected);
}

// The fraction of the conductance that is left, from the levels that read back: 2.576 levels of each are G_min, a
// hundredth of G_max.
double left_of(const std::vector<int8_t>& now, const std::vector<int8_t>& then) {
    double sum_now = 0, sum_then = 0;
    for (size_t i = 0; i < now.size(); i++) {
        sum_now += now[i] + 128 + 255 / 0.99 / 100;
        sum_then += then[i] + 128 + 255 / 0.99 / 100;
    }
    return sum_now / sum_then;
}

TEST(Accurate, ConductancesDriftWithAgeAndTemperature) {
    Rig rig;
    auto w = random_weights(kSize * 256, 11);
    for (int8_t& each : w) each = static_cast<int8_t>(each / 2);  // away from the ends of the range that reads back
    const uint32_t weights = rig.programmed(w, kSize, 256, kOffset);
    const auto x = random_inputs(kSize * 200, 12);
    const auto product = [&] { return rig.multiply(weights, x, kSize, 256); };
    const auto read = [&] { return rig.read(weights, kSize, 256); };
    const auto fresh = read();
    const double rounding = 0.0005;  // of 65,536 levels
    EXPECT_EQ(left_of(read(), fresh), 1);
    ASSERT_TRUE(rig.knob(SIDRA_KNOB_AGE_S, static_cast<uint64_t>(kYear)));
    EXPECT_NEAR(left_of(read(), fresh), 0.99, rounding) << "public: 1 % a year";
    // The same by the device clock.
    rig.bench.clock().fetch_add(static_cast<uint64_t>(kYear * 1e9));
    EXPECT_NEAR(left_of(read(), fresh), 0.99 * 0.99, rounding);
    const auto before = product();
    // Arrhenius with 1 eV, for one year at 85 degrees.
    ASSERT_TRUE(rig.knob(SIDRA_KNOB_TEMPERATURE_MC, 85'000));
    ASSERT_TRUE(rig.knob(SIDRA_KNOB_AGE_S, static_cast<uint64_t>(kYear)));
    const double faster = std::exp(1 / 8.617333e-5 * (1 / (60 + 273.15) - 1 / (85 + 273.15)));
    const double hot = std::pow(0.99, 2 + faster);
    EXPECT_NEAR(left_of(read(), fresh), hot, rounding);
    // Products shrink in the same way, about their mean.
    const auto after = product();
    double both = 0, squares = 0;
    for (size_t i = 0; i < after.size(); i++) {
        both += 1.0 * after[i] * before[i];
        squares += 1.0 * before[i] * before[i];
    }
    EXPECT_LT(both / squares, 0.95);
    // When cold, the drift practically stops.
    ASSERT_TRUE(rig.knob(SIDRA_KNOB_TEMPERATURE_MC, static_cast<uint64_t>(int64_t{-40'000})));
    ASSERT_TRUE(rig.knob(SIDRA_KNOB_AGE_S, static_cast<uint64_t>(10 * kYear)));
    EXPECT_NEAR(left_of(read(), fresh), hot, rounding);
    // Programming restores the cells, also when only half of them are programmed.
    const uint64_t data = rig.context.put(w);
    rig.run_ok(program(weights, 0, 128, 0, 256, data, 256));
    EXPECT_NEAR(left_of(read(), fresh), (1 + hot) / 2, 0.002);
    rig.run_ok(program(weights, 0, 256, 0, 256, data, 256));
    EXPECT_NEAR(left_of(read(), fresh), 1, rounding);
}

TEST(Accurate, StuckCellsAreCountedAndStayWhereTheyAre) {
    BenchOptions options = accurate();
    options.stuck_ppm = 20'000;
    Rig rig(options);
    const auto w = random_weights(kSize * 256, 13);
    const uint32_t weights = rig.programmed(w, kSize, 256, kOffset, {4});
    const uint32_t stuck = rig.bench.xbars(4, 1)[0].stuck_cells;
    EXPECT_NEAR(stuck, 0.02 * kSize * kSize, 5 * std::sqrt(0.02 * kSize * kSize));
    EXPECT_EQ(rig.bench.xbars(5, 1)[0].stuck_cells, 0u);
    const auto got = rig.read(weights, kSize, 256);
    size_t far = 0, at_an_end = 0;
    for (size_t i = 0; i < w.size(); i++) {
        if (std::abs(got[i] - w[i]) <= 12) continue;
        far++;
        at_an_end += got[i] == -128 || got[i] == 127;
    }
    EXPECT_EQ(far, at_an_end);
    EXPECT_NEAR(static_cast<double>(far), stuck * (1 - 12.0 / 255), 0.02 * stuck + 20);
    // For life.
    rig.run_ok(program(weights, 0, kSize, 0, 256, rig.context.put(random_weights(kSize * 256, 14)), 256));
    EXPECT_EQ(rig.bench.xbars(4, 1)[0].stuck_cells, stuck);
}

TEST(Accurate, AKnobHoldsACell) {
    Rig rig;
    const std::vector<int8_t> w(kSize * 256, -100);
    const uint32_t weights = rig.programmed(w, kSize, 256, kOffset, {3});
    std::vector<uint8_t> unit(kSize);
    unit[17] = 200;
    const auto before = rig.multiply(weights, unit, kSize, 256);
    ASSERT_TRUE(rig.knob(SIDRA_KNOB_STUCK_CELL, uint64_t{3} << 32 | 17 << 24 | 200 << 16 | 255));
    EXPECT_EQ(rig.bench.xbars(3, 1)[0].stuck_cells, 1u);
    EXPECT_EQ(rig.read(weights, kSize, 256)[17 * 256 + 200], 127);
    const auto held = rig.multiply(weights, unit, kSize, 256);
    EXPECT_NEAR(before[200], -100 * 200, 3000);
    EXPECT_NEAR(held[200], 127 * 200, 3000);
    EXPECT_NEAR(held[100], -100 * 200, 3000);
    rig.run_ok(program(weights, 0, kSize, 0, 256, rig.context.put(w), 256));
    EXPECT_EQ(rig.read(weights, kSize, 256)[17 * 256 + 200], 127) << "whatever is programmed";
    ASSERT_TRUE(rig.knob(SIDRA_KNOB_STUCK_CELL, ~uint64_t{0}));
    EXPECT_EQ(rig.bench.xbars(3, 1)[0].stuck_cells, 0u);
    EXPECT_EQ(rig.read(weights, kSize, 256)[17 * 256 + 200], 127) << "follows when it is programmed the next time";
    rig.run_ok(program(weights, 0, kSize, 0, 256, rig.context.put(w), 256));
    EXPECT_NEAR(rig.read(weights, kSize, 256)[17 * 256 + 200], -100, 12);
}

// A read at least for each of 256 rows, and at most 15 pulses of 200 ns each with a read of 4 x 15 ns, and one more
// read; the energy of at least one pulse of 1.5 V, 0.1 ns at a conductance of 1 % for most cells.
TEST(Accurate, ProgrammingCostsWhatItTook) {
    Rig rig;
    const uint32_t weights = rig.context.weights({.rows = kSize, .cols = 256});
    const uint64_t at =
        rig.queue.submit(program(weights, 0, kSize, 0, 256, rig.context.put(random_weights(kSize * 256, 15)), 256));
    rig.bench.run();
    ASSERT_TRUE(retired(rig.queue));
    const sidra_report report = rig.queue.report(at);
    EXPECT_GT(report.device_ps, uint64_t{kSize} * 60'000);
    EXPECT_LT(report.device_ps, uint64_t{kSize} * (15 * 260'000 + 60'000));
    EXPECT_GT(report.energy_pj, kSize * 256 * 0.4);
    // Programming a row costs about 1/256 of a whole crossbar.
    const uint64_t one =
        rig.queue.submit(program(weights, 9, 1, 0, 256, rig.context.put(random_weights(256, 16)), 256));
    rig.bench.run();
    ASSERT_TRUE(retired(rig.queue));
    EXPECT_NEAR(static_cast<double>(rig.queue.report(one).device_ps) * 256 / static_cast<double>(report.device_ps), 1,
                0.5);
}

TEST(Accurate, ReportsWhatProgrammingWasLike) {
    BenchOptions options = accurate();
    options.stuck_ppm = 10'000;
    Rig rig(options), fast{BenchOptions{}};
    sidra_hw_xbar_report report = rig.bench.reports(6, 1)[0];
    EXPECT_EQ(report.programs, 0u);
    EXPECT_EQ(report.device_ps, 0u);
    const uint32_t weights = rig.context.weights({.rows = kSize, .cols = 256, .crossbars = {6}});
    const uint64_t at =
        rig.queue.submit(program(weights, 0, kSize, 0, 256, rig.context.put(random_weights(kSize * 256, 18)), 256));
    rig.bench.run();
    ASSERT_TRUE(retired(rig.queue));
    report = rig.bench.reports(6, 1)[0];
    EXPECT_EQ(report.programs, 1u);
    EXPECT_EQ(report.stuck_cells, rig.bench.xbars(6, 1)[0].stuck_cells);
    uint64_t arrived = 0, pulses = 0;
    for (uint32_t tries = 0; tries <= SIDRA_XBAR_TRIES_MAX; tries++) {
        arrived += report.arrived[tries];
        pulses += tries * report.arrived[tries];
    }
    EXPECT_EQ(arrived + report.failed, uint64_t{kSize} * 256);
    EXPECT_LE(report.failed, report.stuck_cells + kSize * 256 / 1000);
    EXPECT_GE(report.failed, report.stuck_cells * 9 / 10) << "few are stuck where they are wanted";
    EXPECT_NEAR(static_cast<double>(pulses) / static_cast<double>(arrived), 3, 1);
    EXPECT_GT(report.error_ppm, 2'000u);
    EXPECT_LT(report.error_ppm, 6'000u) << "arrived: read within 0.6 % of G_max";
    const sidra_report packet = rig.queue.report(at);
    EXPECT_LE(report.device_ps, packet.device_ps);
    EXPECT_NEAR(static_cast<double>(report.device_ps), static_cast<double>(packet.device_ps), 1e5);
    EXPECT_NEAR(static_cast<double>(report.energy_pj), static_cast<double>(packet.energy_pj), 100);
    EXPECT_EQ(report.level, SIDRA_XBAR_PULSED);
    EXPECT_EQ(fast.bench.reports(6, 1)[0].level, SIDRA_XBAR_EXACT);
}

// The weights table may declare the same cells first as pairs and then as offset code.
TEST(Accurate, OneObjectInTwoEncodings) {
    Rig one, other;
    const auto w = random_weights(kSize * 128, 31);
    const std::vector<uint8_t> x(kSize, 100);
    const auto entry = [](Rig& rig, uint32_t encoding, uint32_t cols) {
        return rig.context.weights(
            {.rows = kSize, .cols = cols, .encoding = encoding, .uid = 0x5eed, .crossbars = {5}});
    };
    uint32_t code[2], pairs[2];
    for (Rig* rig : {&one, &other}) {
        const bool second = rig == &other;
        pairs[second] = entry(*rig, SIDRA_ENCODING_DIFFERENTIAL, 128);
        code[second] = entry(*rig, SIDRA_ENCODING_OFFSET, 256);
        rig->run_ok(program(pairs[second], 0, kSize, 0, 128, rig->context.put(w), 128));
    }
    // The second product of each, whatever the first one was.
    one.multiply(pairs[0], x, kSize, 128);
    other.multiply(code[1], x, kSize, 256);
    EXPECT_EQ(one.multiply(code[0], x, kSize, 256), other.multiply(code[1], x, kSize, 256));
    EXPECT_EQ(one.multiply(pairs[0], x, kSize, 128), other.multiply(pairs[1], x, kSize, 128));
    // Programming in the other encoding creates a new object of ten rows.
    one.run_ok(program(code[0], 0, 10, 0, 256, one.context.put(random_weights(10 * 256, 32)), 256));
    EXPECT_EQ(one.bench.xbars(5, 1)[0].programmed_rows, 10u);
}

TEST(Accurate, ReportsByCommandAddUp) {
    BenchOptions options = accurate();
    options.stuck_ppm = 10'000;
    Rig rig(options);
    const auto report = [&] { return rig.bench.reports(6, 1)[0]; };
    const auto w = random_weights(kSize * 256, 18);
    const uint64_t data = rig.context.put(w);
    const uint32_t weights = rig.context.weights({.rows = kSize, .cols = 256, .uid = 0x5eed, .crossbars = {6}});
    const uint64_t at = rig.queue.submit(program(weights, 0, kSize, 0, 256, data, 256));
    rig.bench.run();
    ASSERT_TRUE(retired(rig.queue));

    // Each read except a cell's last one led to a pulse. A cell that missed its target had all pulses and a RESET, and
    // was tried once more.
    constexpr uint64_t kPulses = 15;
    const auto adds_up = [&](const sidra_hw_xbar_report& r, uint64_t cells) {
        uint64_t arrived = 0, pulses = r.failed * kPulses + (r.failed + r.recovered) * (kPulses + 1);
        for (uint32_t tries = 0; tries <= SIDRA_XBAR_TRIES_MAX; tries++) {
            arrived += r.arrived[tries];
            pulses += tries * r.arrived[tries];
        }
        EXPECT_EQ(arrived + r.failed, cells);
        EXPECT_EQ(r.set_pulses + r.reset_pulses, pulses);
        EXPECT_EQ(r.reads, pulses + cells);
    };
    const sidra_hw_xbar_report first = report();
    adds_up(first, kSize * 256);
    EXPECT_EQ(first.uid, 0x5eedu);
    EXPECT_EQ(first.tile, 0u);
    EXPECT_EQ(first.programs, 1u);
    EXPECT_EQ(first.programmed_rows, kSize);
    EXPECT_EQ(first.level, SIDRA_XBAR_PULSED);
    EXPECT_EQ(first.stuck_cells, rig.bench.xbars(6, 1)[0].stuck_cells);
    EXPECT_GT(first.stuck_cells, 0u);
    EXPECT_GT(first.set_pulses, 0u);
    EXPECT_GT(first.reset_pulses, 0u);
    EXPECT_EQ(first.age_s, 0u);
    EXPECT_EQ(first.drift_ppm, 0u);
    const sidra_report packet = rig.queue.report(at);
    EXPECT_NEAR(static_cast<double>(first.device_ps), static_cast<double>(packet.device_ps), 1e5);
    EXPECT_NEAR(static_cast<double>(first.energy_pj), static_cast<double>(packet.energy_pj), 100);

    // The levels that read back differ by that error, 0.8 % of relaxation and the rounding to one of 256 levels.
    const auto got = rig.read(weights, kSize, 256);
    std::vector<double> off;
    for (size_t i = 0; i < w.size(); i++)
        if (std::abs(got[i] - w[i]) <= 12) off.push_back((got[i] - w[i]) / 255.0 * 0.99);
    const double rounding = 0.99 / 255 / std::sqrt(12.0), relaxed = 0.008;
    const double error = std::sqrt(rms(off) * rms(off) - rounding * rounding - relaxed * relaxed);
    EXPECT_NEAR(first.error_ppm, error * 1e6, 300);

    // The public profile drifts by 1 % a year, counted from the last programming.
    ASSERT_TRUE(rig.knob(SIDRA_KNOB_AGE_S, static_cast<uint64_t>(kYear)));
    EXPECT_NEAR(static_cast<double>(report().age_s), kYear, 1);
    EXPECT_NEAR(report().drift_ppm, 10'000, 16) << "counted in 1 / 2^16";
    rig.run_ok(program(weights, 9, 3, 0, 256, data, 256));
    EXPECT_EQ(report().age_s, 0u);
    EXPECT_EQ(report().drift_ppm, 0u);
    EXPECT_EQ(report().programs, 2u);
    adds_up(report(), (kSize + 3) * 256);

    // Erasing keeps the permanent properties of the crossbar.
    ASSERT_EQ(rig.bench.admin(SIDRA_ADMIN_XBAR_ERASE, 6, 1), uint32_t{SIDRA_ADMIN_OK});
    const sidra_hw_xbar_report erased = report();
    EXPECT_EQ(erased.uid, 0u);
    EXPECT_EQ(erased.programs, 2u);
    EXPECT_EQ(erased.stuck_cells, first.stuck_cells);
    EXPECT_EQ(erased.clipped, 0u);
    adds_up(erased, 0);
    EXPECT_EQ(erased.device_ps + erased.energy_pj + erased.error_ppm, 0u);
}

TEST(Accurate, AQuiescedProgramGoesOnWhereItWas) {
    const uint32_t rows = 1024, cols = 256;  // 8 tiles
    const auto w = random_weights(rows * cols, 17);
    const auto program_and_read = [&](bool stop, std::vector<int8_t>* result) {
        Rig rig;
        const uint32_t weights = rig.context.weights({.rows = rows, .cols = cols, .encoding = kDifferential});
        rig.queue.submit(program(weights, 0, rows, 0, cols, rig.context.put(w), cols));
        Queue& other = rig.context.queue();
        if (stop) {
            // Another queue has work, too, so a slice ends after a tile.
            while (rig.queue.state().progress == 0) {
                other.submit(nop());
                ASSERT_TRUE(rig.bench.run_once());
            }
            EXPECT_EQ(rig.queue.timeline(), 0u);
            EXPECT_EQ(rig.bench.admin(SIDRA_ADMIN_QUIESCE_QUEUE, rig.context.index(), rig.queue.index()),
                      uint32_t{SIDRA_ADMIN_OK});
            rig.bench.run();
            EXPECT_EQ(rig.queue.timeline(), 0u);
            EXPECT_EQ(rig.bench.admin(SIDRA_ADMIN_RESUME_QUEUE, rig.context.index(), rig.queue.index()),
                      uint32_t{SIDRA_ADMIN_OK});
        }
        rig.bench.run();
        EXPECT_TRUE(retired(rig.queue));
        *result = rig.read(weights, rows, cols);
    };
    std::vector<int8_t> stopped, whole;
    program_and_read(true, &stopped);
    program_and_read(false, &whole);
    EXPECT_EQ(stopped, whole);
}

TEST(Accurate, WhatAnotherTenantProgrammedIsGone) {
    Rig rig;
    const std::vector<int8_t> secret(kSize * 128, 127);
    rig.programmed(secret, kSize, 128, kDifferential, {2});
    // Another object with a single output in the same crossbar: the other columns are now empty.
    const uint32_t other = rig.programmed(std::vector<int8_t>(kSize, 0), kSize, 1, kDifferential, {2});
    const auto got = rig.read(other, kSize, 1);
    EXPECT_TRUE(std::all_of(got.begin(), got.end(), [](int8_t each) { return std::abs(each) < 12; }));
    const auto out = rig.multiply(other, std::vector<uint8_t>(kSize, 255), kSize, 1);
    EXPECT_LT(std::abs(out[0]), 255 * 256 * 2);
}

TEST(Accurate, RefusesWhatItIsNotMadeFor) {
    const auto created = [](uint32_t level, uint32_t stuck) {
        return try_create({SIDRA_CHIP_SMALL, SIDRA_CHIP_ENGINE_AUTO, 1, 1, nullptr, level, stuck});
    };
    EXPECT_EQ(created(SIDRA_CHIP_ACCURATE, 0), "");
    EXPECT_EQ(created(SIDRA_CHIP_ACCURATE, 1'000'000), "");
    EXPECT_EQ(created(SIDRA_CHIP_ACCURATE, SIDRA_CHIP_STUCK_NONE), "");
    EXPECT_NE(created(2, 0).find("level"), std::string::npos);
    EXPECT_NE(created(SIDRA_CHIP_ACCURATE, 1'000'001).find("stuck_ppm"), std::string::npos);
    Rig rig, fast{BenchOptions{}};
    EXPECT_FALSE(rig.knob(SIDRA_KNOB_AGE_S, 10'000'000'001));
    EXPECT_FALSE(rig.knob(SIDRA_KNOB_TEMPERATURE_MC, 250'001));
    EXPECT_FALSE(rig.knob(SIDRA_KNOB_TEMPERATURE_MC, static_cast<uint64_t>(int64_t{-55'001})));
    EXPECT_FALSE(rig.knob(SIDRA_KNOB_TEMPERATURE_MC, uint64_t{1} << 32));
    EXPECT_TRUE(rig.knob(SIDRA_KNOB_TEMPERATURE_MC, static_cast<uint64_t>(int64_t{-55'000})));
    EXPECT_TRUE(rig.knob(SIDRA_KNOB_AGE_S, 10'000'000'000));
    EXPECT_TRUE(rig.knob(SIDRA_KNOB_AGE_S, 10'000'000'000)) << "as old as cells are told apart";
    EXPECT_FALSE(fast.knob(SIDRA_KNOB_AGE_S, 1));
}

}  // namespace
}  // namespace sidra::chip_test
