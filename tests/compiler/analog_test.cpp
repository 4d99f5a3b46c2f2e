// SPDX-License-Identifier: MIT
// Networks compiled against errors of analog hardware, on chips that have them: a product of two matrices in double
// precision is what is right.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sidra/sidra.hpp>

#include "driver/compile.h"
#include "model_builder.h"
#include "predistort.h"
#include "run_file.h"

namespace sidra::compiler {
namespace {

constexpr size_t kRows = 64, kInputs = 256, kOutputs = 128;  // a whole crossbar

// x * w, of numbers in [0, 1] and in [-1, 1]; columns have different scales.
class Analog : public testing::Test {
   protected:
    Analog() {
        std::uniform_real_distribution<float> numbers(0, 1);
        onnx::TensorProto& weights = network_.constant("w", {kInputs, kOutputs});
        for (float& value : weights_) value = 2 * numbers(random_) - 1;
        for (size_t i = 0; i < weights_.size(); i++) weights_[i] *= scale(i % kOutputs);
        for (const float value : weights_) weights.add_float_data(value);
        for (float& value : input_) value = numbers(random_);
        network_.input("x", {kRows, kInputs}).output("y");
        network_.node("MatMul", {"x", "w"}, {"y"});
        std::ofstream file(network_.folder / "network.onnx", std::ios::binary);
        EXPECT_TRUE(network_.model.SerializeToOstream(&file));
    }

    // Every other column is critical.
    static float scale(size_t column) { return column % 2 == 1 ? 2 : 0.5f; }

    std::string compile(const Options& options) {
        const std::string file = network_.folder / "network.sidra";
        compiler::compile(network_.folder / "network.onnx", file, options);
        return file;
    }

    using Prepare = std::function<void(const Device&)>;
    std::vector<float> run(
        const std::string& file, sidra_level level, const Prepare& prepare = [](const Device&) {}) const {
        return tests::run_file(file, input_, level, prepare).output;
    }

    // The error's part of some columns, as a ratio of lengths.
    double error_of(const std::vector<float>& output, size_t first = 0, size_t step = 1) const {
        double sum = 0, all = 0;
        for (size_t row = 0; row < kRows; row++)
            for (size_t c = first; c < kOutputs; c += step) {
                double right = 0;
                for (size_t i = 0; i < kInputs; i++)
                    right += static_cast<double>(input_[row * kInputs + i]) * weights_[i * kOutputs + c];
                sum += std::pow(output[row * kOutputs + c] - right, 2);
                all += right * right;
            }
        return std::sqrt(sum / all);
    }

    // In some rows of a crossbar, one cell of each pair is stuck at its highest level.
    static Prepare broken(uint64_t crossbar) {
        return [=](const Device& device) {
            for (uint64_t row = 0; row < kInputs / 8; row++)
                for (uint64_t column = 0; column < 2 * kOutputs; column += 2)
                    ASSERT_EQ(sidra_device_set_fault_knob(device.get(), "stuck-cell",
                                                          crossbar << 32 | row << 24 | column << 16 | 255),
                              SIDRA_OK);
        };
    }

    std::mt19937 random_{11};
    std::vector<float> weights_ = std::vector<float>(kInputs * kOutputs), input_ = std::vector<float>(kRows * kInputs);
    tests::ModelBuilder network_;
};

TEST_F(Analog, PredistortedWeightsAreRightBehindWires) {
    Options options;
    const std::string plain = compile(options);
    const double before = error_of(run(plain, SIDRA_LEVEL_ACCURATE));
    const double exact = error_of(run(plain, SIDRA_LEVEL_FAST));
    options.predistort = true;
    const std::string changed = compile(options);
    const double after = error_of(run(changed, SIDRA_LEVEL_ACCURATE));
    // What is left, noise and errors of programming, is more than half of the whole mean square.
    EXPECT_LT(after, before / 1.2);
    // Without wires the weights are wrong by what the wires would have lost.
    const double without = error_of(run(changed, SIDRA_LEVEL_FAST));
    EXPECT_GT(without, exact);
    EXPECT_LT(without, 1.5 * before);
}

// By the model of the wires alone, in a matrix of several tiles whose last ones are small.
TEST(Predistort, EffectiveWeightsAreThoseOfTheMatrix) {
    constexpr size_t kHigh = 300, kWide = 150;
    std::mt19937 random(3);
    std::vector<int8_t> codes(kHigh * kWide);
    for (int8_t& code : codes) code = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
    for (size_t r = 0; r < kHigh; r++) codes[r * kWide + 5] = 0;  // a column without weights
    const Predistorted changed = predistort(codes, kHigh, kWide);
    EXPECT_EQ(changed.gains[5], 1);
    const auto error = [&](const std::vector<int8_t>& of, const std::vector<double>& gains) {
        double sum = 0;
        for (size_t top = 0; top < kHigh; top += 256)
            for (size_t left = 0; left < kWide; left += 128) {
                const Tile tile{&of[top * kWide + left], kWide, std::min<size_t>(256, kHigh - top),
                                std::min<size_t>(128, kWide - left)};
                const std::vector<double> weights = effective_weights(tile);
                for (size_t r = 0; r < tile.rows; r++)
                    for (size_t c = 0; c < tile.columns; c++)
                        sum += std::pow(
                            weights[r * tile.columns + c] / gains[left + c] - codes[(top + r) * kWide + left + c], 2);
            }
        return std::sqrt(sum / (kHigh * kWide));
    };
    const std::vector<double> ones(kWide, 1);
    EXPECT_GT(error(codes, ones), 2);
    EXPECT_LT(error(codes, changed.gains), error(codes, ones));  // by the gains alone
    EXPECT_LT(error(changed.codes, changed.gains), 0.8);         // whole codes leave 0.3, and some have reached 127
}

TEST_F(Analog, TheMedianSurvivesABrokenCrossbar) {
    Options options;
    const std::string plain = compile(options);
    const std::vector<float> right = run(plain, SIDRA_LEVEL_FAST);
    EXPECT_LT(error_of(right), 0.02);
    EXPECT_GT(error_of(run(plain, SIDRA_LEVEL_FAST, broken(0))), 0.5);
    options.tmr = 1;
    const std::string voted = compile(options);
    EXPECT_EQ(run(voted, SIDRA_LEVEL_FAST), right);
    for (const uint64_t crossbar : {0, 1, 2})
        EXPECT_EQ(run(voted, SIDRA_LEVEL_FAST, broken(crossbar)), right) << crossbar;
}

TEST_F(Analog, AShareOfTheColumnsVotes) {
    Options options;
    const std::vector<float> right = run(compile(options), SIDRA_LEVEL_FAST);
    options.tmr = 0.5;
    const std::string voted = compile(options);
    EXPECT_EQ(run(voted, SIDRA_LEVEL_FAST), right);
    const std::vector<float> found = run(voted, SIDRA_LEVEL_FAST, broken(0));
    const std::vector<float> other = run(voted, SIDRA_LEVEL_FAST, broken(1));
    // All columns are on one of the crossbars, the critical ones on two more.
    const bool first = error_of(found) > error_of(other);
    EXPECT_LT(error_of(found, 1, 2), 0.02);
    EXPECT_LT(error_of(other, 1, 2), 0.02);
    EXPECT_GT(error_of(first ? found : other, 0, 2), 0.5);
    EXPECT_LT(error_of(first ? other : found, 0, 2), 0.02);
}

// At level accurate the median of three has smaller errors than one.
TEST_F(Analog, TheMedianHasSmallerErrors) {
    Options options;
    options.predistort = true;  // so that the errors of the crossbars are independent of each other
    const double one = error_of(run(compile(options), SIDRA_LEVEL_ACCURATE));
    options.tmr = 1;
    EXPECT_LT(error_of(run(compile(options), SIDRA_LEVEL_ACCURATE)), 0.8 * one);
}

}  // namespace
}  // namespace sidra::compiler
