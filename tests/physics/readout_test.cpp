// SPDX-License-Identifier: MIT
// A crossbar read by its ADCs, compared with sums in double, with separate draws for each cell, and with published
// tables.
#include "readout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace sidra::test {
namespace {

using physics::Readout;
using physics::ReadoutParameters;

constexpr uint32_t kRows = Readout::kRows, kColumns = Readout::kColumns;

engine::Engine& best_engine() {
    static const std::unique_ptr<engine::Engine> engine = engine::make(SIDRA_CHIP_ENGINE_AUTO, 1);
    return *engine;
}

ReadoutParameters ideal() {
    ReadoutParameters parameters;
    parameters.cell_noise = parameters.adc_noise = 0;
    parameters.adc_bits = 0;
    return parameters;
}

uint32_t outputs_of(sidra_encoding encoding) {
    return encoding == SIDRA_ENCODING_DIFFERENTIAL ? kColumns / 2 : kColumns;
}

// Conductances of weights, row by row, as docs/device.md says: linear from G_min to G_max.
std::vector<double> conductances(const std::vector<double>& weights, sidra_encoding encoding, double on_off = 100) {
    std::vector<double> g(size_t{kRows} * kColumns, 1 / on_off);
    const auto of_level = [&](double level) { return 1 / on_off + (1 - 1 / on_off) * level / 255; };
    const uint32_t outputs = outputs_of(encoding);
    for (uint32_t row = 0; row < kRows; row++) {
        for (uint32_t n = 0; n < outputs; n++) {
            const double w = weights[row * outputs + n];
            if (encoding == SIDRA_ENCODING_OFFSET) {
                g[row * kColumns + n] = of_level(w + 128);
            } else {  // one side at its lowest
                g[row * kColumns + 2 * n] = of_level(std::max(0.0, 2 * w));
                g[row * kColumns + 2 * n + 1] = of_level(std::max(0.0, -2 * w));
            }
        }
    }
    return g;
}

struct Problem {
    Problem(sidra_encoding code, uint32_t batch, uint64_t seed = 1) : encoding(code), vectors(batch), random(seed) {
        const uint32_t outputs = outputs_of(encoding);
        std::normal_distribution<double> normal;
        // Gaussian weights, each column scaled to its largest; inputs the positive half of Gaussian ones.
        weights.resize(size_t{kRows} * outputs);
        for (double& w : weights) w = normal(random);
        for (uint32_t n = 0; n < outputs; n++) {
            double most = 0;
            for (uint32_t row = 0; row < kRows; row++) most = std::max(most, std::fabs(weights[row * outputs + n]));
            for (uint32_t row = 0; row < kRows; row++) weights[row * outputs + n] *= 127 / most;
        }
        std::vector<double> x(size_t{batch} * kRows);
        for (double& each : x) each = std::max(0.0, normal(random));
        const double most = *std::max_element(x.begin(), x.end());
        for (const double each : x) in.push_back(static_cast<uint8_t>(std::lround(each * 255 / most)));
        g = conductances(weights, encoding);
    }
    uint32_t outputs() const { return outputs_of(encoding); }
    double exact(uint32_t vector, uint32_t n) const {
        double sum = 0;
        for (uint32_t row = 0; row < kRows; row++) sum += in[vector * kRows + row] * weights[row * outputs() + n];
        return sum;
    }
    std::vector<int32_t> read(const Readout& readout, uint64_t first = 0) {
        std::vector<int32_t> out(size_t{vectors} * outputs());
        clipped = readout.multiply(best_engine(), first, in.data(), kRows, vectors, out.data(), outputs(), &scratch);
        return out;
    }
    // RMS of the error divided by RMS of the exact result.
    double error(const std::vector<int32_t>& out) const {
        double wrong = 0, all = 0;
        for (uint32_t vector = 0; vector < vectors; vector++) {
            for (uint32_t n = 0; n < outputs(); n++) {
                const double sum = exact(vector, n);
                wrong += (out[vector * outputs() + n] - sum) * (out[vector * outputs() + n] - sum);
                all += sum * sum;
            }
        }
        return std::sqrt(wrong / all);
    }

    sidra_encoding encoding;
    uint32_t vectors;
    std::mt19937_64 random;
    std::vector<double> weights, g;
    std::vector<uint8_t> in;
    Readout::Scratch scratch;
    uint64_t clipped = 0;
};

constexpr sidra_encoding kEncodings[] = {SIDRA_ENCODING_DIFFERENTIAL, SIDRA_ENCODING_OFFSET};

TEST(Readout, WithoutErrorsIsExactTo16Bits) {
    for (const sidra_encoding encoding : kEncodings) {
        Problem problem(encoding, 50);
        const Readout readout(problem.g.data(), encoding, ideal(), 1, 0);
        EXPECT_EQ(readout.outputs(), problem.outputs());
        EXPECT_LT(problem.error(problem.read(readout)), 3e-4);
        EXPECT_EQ(problem.clipped, 0u);
    }
}

// A fixed range for all products, or one that follows each product, for inputs of fewer bits.
void check_same_bits(bool follows) {
    for (const sidra_encoding encoding : kEncodings) {
        Problem problem(encoding, 70);
        ReadoutParameters parameters;
        parameters.cell_noise = 0.05;
        parameters.adc_margin = 1;
        parameters.adc_follows = follows;
        parameters.dac_bits = follows ? 5 : 8;
        const auto scalar = engine::make(SIDRA_CHIP_ENGINE_SCALAR, 1);
        const uint64_t first = (uint64_t{5} << 32) - 9;
        const auto read_in_parts = [&](engine::Engine& engine, uint32_t part, uint64_t* clipped) {
            Readout readout(problem.g.data(), encoding, parameters, 99, 7);
            if (!follows) readout.set_range(engine, problem.in.data(), kRows, 20, &problem.scratch);
            std::vector<int32_t> out(size_t{problem.vectors} * problem.outputs());
            *clipped = 0;
            for (uint32_t b = 0; b < problem.vectors; b += part) {
                const uint32_t some = std::min(part, problem.vectors - b);
                *clipped += readout.multiply(engine, first + b, &problem.in[b * kRows], kRows, some,
                                             &out[b * problem.outputs()], problem.outputs(), &problem.scratch);
            }
            return out;
        };
        uint64_t expected_clipped;
        const std::vector<int32_t> expected = read_in_parts(*scalar, problem.vectors, &expected_clipped);
        EXPECT_GT(expected_clipped, 0u);
        for (const auto id : {SIDRA_CHIP_ENGINE_SCALAR, SIDRA_CHIP_ENGINE_AVX2, SIDRA_CHIP_ENGINE_AVX_VNNI,
                              SIDRA_CHIP_ENGINE_AVX512, SIDRA_CHIP_ENGINE_AMX, SIDRA_CHIP_ENGINE_NEON}) {
            const auto engine = engine::make(id, 1);
            if (!engine) continue;
            uint64_t clipped;
            EXPECT_EQ(read_in_parts(*engine, 23, &clipped), expected) << engine->can().name;
            EXPECT_EQ(clipped, expected_clipped) << engine->can().name;
        }
    }
}

TEST(Readout, TheSameBitsHoweverItIsComputed) {
    check_same_bits(false);
    check_same_bits(true);
}

TEST(Readout, ProductsDifferByNumberCrossbarAndSeed) {
    Problem problem(SIDRA_ENCODING_DIFFERENTIAL, 1);
    ReadoutParameters parameters = ideal();
    parameters.cell_noise = 0.05;
    const Readout noisy(problem.g.data(), problem.encoding, parameters, 1, 2),
        crossbar(problem.g.data(), problem.encoding, parameters, 1, 3),
        seed(problem.g.data(), problem.encoding, parameters, 2, 2);
    const auto first = problem.read(noisy, 5);
    EXPECT_EQ(problem.read(noisy, 5), first);
    EXPECT_NE(problem.read(noisy, 6), first);
    EXPECT_NE(problem.read(noisy, 5 + (uint64_t{1} << 32)), first);
    EXPECT_NE(problem.read(crossbar, 5), first);
    EXPECT_NE(problem.read(seed, 5), first);
}

// The noise drawn for a column has the spread of separate draws for each cell: the variance of a sum of independent
// numbers. Its distribution is normal (Kolmogorov and Smirnov, 1 %).
TEST(Readout, NoiseIsThatOfTheCells) {
    for (const sidra_encoding encoding : kEncodings) {
        Problem problem(encoding, 1);
        ReadoutParameters parameters = ideal();
        parameters.cell_noise = 0.05;
        const Readout readout(problem.g.data(), encoding, parameters, 4, 0);
        constexpr uint32_t kDraws = 3000;
        const uint32_t outputs = problem.outputs();
        std::vector<double> sum(outputs), squares(outputs), expected(outputs), all;
        const double per_g = 255 / 0.99 / (encoding == SIDRA_ENCODING_DIFFERENTIAL ? 2 : 1);
        for (uint32_t n = 0; n < outputs; n++) {
            for (uint32_t row = 0; row < kRows; row++) {
                const double x = problem.in[row];
                const auto add = [&](double g) { expected[n] += x * x * std::pow(0.05 * g * per_g, 2); };
                if (encoding == SIDRA_ENCODING_OFFSET) {
                    add(problem.g[row * kColumns + n]);
                } else {
                    add(problem.g[row * kColumns + 2 * n]);
                    add(problem.g[row * kColumns + 2 * n + 1]);
                }
            }
        }
        for (uint32_t draw = 0; draw < kDraws; draw++) {
            const auto out = problem.read(readout, draw);
            for (uint32_t n = 0; n < outputs; n++) {
                const double error = out[n] - problem.exact(0, n);
                sum[n] += error;
                squares[n] += error * error;
                if (n < 4) all.push_back(error / std::sqrt(expected[n]));
            }
        }
        double ratio = 0;
        for (uint32_t n = 0; n < outputs; n++) {
            ratio += std::sqrt(squares[n] / kDraws / expected[n]) / outputs;
            EXPECT_LT(std::fabs(sum[n] / kDraws), 5 * std::sqrt(expected[n] / kDraws)) << n;
        }
        EXPECT_NEAR(ratio, 1, 0.02);
        std::sort(all.begin(), all.end());
        double distance = 0;
        for (size_t i = 0; i < all.size(); i++) {
            const double normal = 0.5 * std::erfc(-all[i] / std::sqrt(2));
            distance = std::max({distance, std::fabs(normal - static_cast<double>(i) / all.size()),
                                 std::fabs(normal - static_cast<double>(i + 1) / all.size())});
        }
        EXPECT_LT(distance, 1.63 / std::sqrt(all.size()));
    }
}

TEST(Readout, NoiseOfTheAdcIsAShareOfItsRange) {
    Problem problem(SIDRA_ENCODING_DIFFERENTIAL, 400);
    ReadoutParameters parameters = ideal();
    Readout exact(problem.g.data(), problem.encoding, parameters, 1, 0);
    parameters.adc_noise = 0.01;
    parameters.adc_bits = 16;
    Readout noisy(problem.g.data(), problem.encoding, parameters, 1, 0);
    noisy.set_range(best_engine(), problem.in.data(), kRows, problem.vectors, &problem.scratch);
    const auto expected = problem.read(exact), out = problem.read(noisy);
    double squares = 0;
    for (size_t i = 0; i < out.size(); i++) squares += std::pow(out[i] - expected[i], 2);
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(out.size())) / noisy.full_scale(), 0.01, 0.0002);
}

// MVM error by ADC resolution, without other errors and with a range calibrated for all columns together, as computed
// in NumPy for weights and inputs of these kinds. The 0.43 % of the offset code that no resolution removes have another
// cause.
TEST(Readout, ResolutionOfTheAdcAgainstTheTable) {
    struct Row {
        uint32_t bits;
        double differential, offset;  // of the outputs' RMS
    };
    for (const Row& row : {Row{4, 0.116, 0.29}, Row{6, 0.034, 0.089}, Row{8, 0.0098, 0.025}, Row{10, 0.0026, 0.0083}}) {
        for (const sidra_encoding encoding : kEncodings) {
            Problem problem(encoding, 512);
            ReadoutParameters parameters = ideal();
            parameters.adc_bits = row.bits;
            parameters.adc_margin = 1;
            Readout readout(problem.g.data(), encoding, parameters, 1, 0);
            readout.set_range(best_engine(), problem.in.data(), kRows, problem.vectors, &problem.scratch);
            const double expected = encoding == SIDRA_ENCODING_DIFFERENTIAL
                                        ? row.differential
                                        : std::sqrt(row.offset * row.offset - 0.0043 * 0.0043);
            const double error = problem.error(problem.read(readout));
            EXPECT_NEAR(error / expected, 1, 0.1) << row.bits << " bits, " << encoding << ": " << error;
        }
    }
}

// MVM error by the error of cells, for both codes, as computed in NumPy for weights and inputs of these kinds: the
// reason why pairs are the default. "Of G_max" is relative to the range; "of itself" is relative to each cell's
// conductance.
TEST(Readout, ErrorsOfCellsAgainstTheTable) {
    struct Row {
        double of_g_max, of_itself, on_off;
        double differential, offset;  // of the outputs' RMS
    };
    for (const Row& row :
         {Row{0.05, 0, 100, 0.175, 0.30}, Row{0, 0.05, 100, 0.052, 0.17}, Row{0, 0.05, 10, 0.068, 0.20}}) {
        for (const sidra_encoding encoding : kEncodings) {
            const double expected = encoding == SIDRA_ENCODING_DIFFERENTIAL ? row.differential : row.offset;
            Problem problem(encoding, 256);
            ReadoutParameters parameters = ideal();
            parameters.on_off = row.on_off;
            problem.g = conductances(problem.weights, encoding, row.on_off);
            std::normal_distribution<double> normal;
            for (double& g : problem.g) {
                g *= 1 + row.of_itself * normal(problem.random);
                if (row.of_g_max != 0) g = std::clamp(g + row.of_g_max * normal(problem.random), 1 / row.on_off, 1.0);
            }
            const Readout readout(problem.g.data(), encoding, parameters, 1, 0);
            const double error = problem.error(problem.read(readout));
            EXPECT_NEAR(error / expected, 1, 0.1) << row.of_g_max << ", " << row.of_itself << ", " << encoding;
        }
    }
}

// The discrete Fourier transform with a proportional error of 15 %: a tutorial of CrossSim (Sandia, "MVM and DFT")
// finds that offset codes have 1.73 times the error of pairs. By hand: the squared error of a pair is w^2, of which the
// mean is 1/2, that of an offset cell (1 + w)^2, of which it is 3/2.
TEST(Readout, DftErrsByTheRootOfThreeMoreWithAnOffset) {
    constexpr double kTurn = 6.283185307179586;
    double error[2];
    for (const sidra_encoding encoding : kEncodings) {
        Problem problem(encoding, 128);
        ReadoutParameters parameters = ideal();
        parameters.on_off = 1000;
        for (uint32_t row = 0; row < kRows; row++)
            for (uint32_t n = 0; n < problem.outputs(); n++)  // cosines, then sines
                problem.weights[row * problem.outputs() + n] =
                    127 * std::cos(kTurn * (row * (n / 2) / 256.0 + (n % 2 ? 0.25 : 0)));
        // An image of stripes.
        for (uint32_t b = 0; b < problem.vectors; b++)
            for (uint32_t row = 0; row < kRows; row++)
                problem.in[b * kRows + row] =
                    static_cast<uint8_t>(128 + 120 * std::sin(0.13 * row + 0.05 * b) * std::cos(0.31 * row));
        problem.g = conductances(problem.weights, encoding, parameters.on_off);
        std::normal_distribution<double> normal;
        for (double& g : problem.g) g = std::max(0.0, g * (1 + 0.15 * normal(problem.random)));
        const Readout readout(problem.g.data(), encoding, parameters, 1, 0);
        const auto out = problem.read(readout);
        double squares = 0;
        for (uint32_t b = 0; b < problem.vectors; b++)
            for (uint32_t n = 2; n < 128; n++)  // without the constant one, and the same for both
                squares += std::pow(out[b * problem.outputs() + n] - problem.exact(b, n), 2);
        error[encoding == SIDRA_ENCODING_OFFSET] = std::sqrt(squares);
    }
    EXPECT_GT(error[1] / error[0], 1.6);
    EXPECT_LT(error[1] / error[0], 1.9);
}

TEST(Readout, CutsAndCountsWhatIsOutOfRange) {
    Problem problem(SIDRA_ENCODING_DIFFERENTIAL, 64);
    ReadoutParameters parameters = ideal();
    parameters.adc_bits = 8;
    Readout readout(problem.g.data(), problem.encoding, parameters, 1, 0);
    const double widest = readout.full_scale();
    problem.read(readout);
    EXPECT_EQ(problem.clipped, 0u) << "no input exceeds the range to begin with";
    const std::vector<uint8_t> faint(kRows, 1);
    readout.set_range(best_engine(), faint.data(), kRows, 1, &problem.scratch);
    EXPECT_LT(readout.full_scale(), widest / 50);
    const auto out = problem.read(readout);
    EXPECT_GT(problem.clipped, out.size() / 2);
    for (const int32_t each : out) EXPECT_LE(std::abs(each), std::ceil(readout.full_scale()));
    const std::vector<uint8_t> nothing(kRows, 0);
    readout.set_range(best_engine(), nothing.data(), kRows, 1, &problem.scratch);
    EXPECT_GT(readout.full_scale(), 0) << "no range of zero";
}

// A range that follows the product needs no calibration vectors. At 8 bits its error is that of a calibrated range in
// the table (0.98 %; up to twice that, since it halves), for inputs of any size and in both codes.
TEST(Readout, ARangeThatFollowsFitsAnyInput) {
    for (const sidra_encoding encoding : kEncodings) {
        Problem problem(encoding, 64);
        for (const int halvings : {0, 2, 5}) {
            Problem faint = problem;
            for (uint8_t& x : faint.in) x = static_cast<uint8_t>(x >> halvings);
            ReadoutParameters parameters = ideal();
            parameters.adc_bits = 8;
            parameters.adc_follows = true;
            const Readout readout(faint.g.data(), encoding, parameters, 1, 0);
            const double error = faint.error(faint.read(readout));
            EXPECT_EQ(faint.clipped, 0u);
            EXPECT_GT(error, 0.006) << encoding << ", " << halvings;
            EXPECT_LT(error, 0.02) << encoding << ", " << halvings;
        }
    }
}

TEST(Readout, SumsOfWeightsAreWhatOnesGive) {
    for (const sidra_encoding encoding : kEncodings) {
        Problem problem(encoding, 1);
        const Readout readout(problem.g.data(), encoding, ideal(), 1, 0);
        for (const uint32_t rows : {kRows, 100u}) {
            std::vector<float> sums(readout.outputs());
            readout.weight_sums(rows, sums.data());
            for (uint32_t row = 0; row < kRows; row++) problem.in[row] = row < rows;
            for (uint32_t n = 0; n < readout.outputs(); n++) EXPECT_NEAR(sums[n], problem.exact(0, n), 0.5) << n;
        }
    }
}

TEST(Readout, FewerBitsOfTheDacRoundTheInputs) {
    Problem problem(SIDRA_ENCODING_OFFSET, 4);
    ReadoutParameters parameters = ideal();
    parameters.dac_bits = 3;
    const Readout coarse(problem.g.data(), problem.encoding, parameters, 1, 0);
    const Readout fine(problem.g.data(), problem.encoding, ideal(), 1, 0);
    const auto expected = problem.read(coarse);
    for (uint8_t& x : problem.in) x = static_cast<uint8_t>(std::min((x + 16) / 32 * 32, 224));
    EXPECT_EQ(problem.read(fine), expected);
}

TEST(Readout, RefusesWhatItIsNotMadeFor) {
    Problem problem(SIDRA_ENCODING_OFFSET, 1);
    const auto refused = [&](auto change, const char* name) {
        ReadoutParameters parameters;
        change(parameters);
        try {
            const Readout readout(problem.g.data(), problem.encoding, parameters, 1, 0);
            ADD_FAILURE() << name;
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
        }
    };
    refused([](auto& p) { p.on_off = 1; }, "on_off");
    refused([](auto& p) { p.cell_noise = -0.1; }, "cell_noise");
    refused([](auto& p) { p.adc_noise = 2; }, "adc_noise");
    refused([](auto& p) { p.dac_bits = 0; }, "dac_bits");
    refused([](auto& p) { p.dac_bits = 9; }, "dac_bits");
    refused([](auto& p) { p.adc_bits = 1; }, "adc_bits");
    refused([](auto& p) { p.adc_bits = 17; }, "adc_bits");
    refused([](auto& p) { p.adc_margin = 0.5; }, "adc_margin");
    problem.g[77] = std::nan("");
    refused([](auto&) {}, "conductance");
    problem.g[77] = -1;
    refused([](auto&) {}, "conductance");
}

}  // namespace
}  // namespace sidra::test
