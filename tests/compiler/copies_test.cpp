// SPDX-License-Identifier: MIT
// Copies go where they remove the most noise of the outputs.
#include "calibrate/copies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sidra/sidra.hpp>

#include "driver/compile.h"
#include "model_builder.h"

namespace sidra::compiler {
namespace {

std::vector<int> shared(std::vector<Copied> layers, int64_t crossbars) {
    share_out(layers, crossbars);
    std::vector<int> copies;
    for (const Copied& layer : layers) copies.push_back(layer.copies);
    return copies;
}

TEST(Copies, GoWhereACrossbarGainsTheMost) {
    // Of equal layers each gets as many; of unequal ones about the root of the ratio of their noise for each crossbar.
    EXPECT_EQ(shared({{1, 1}, {1, 1}, {1, 1}}, 9), (std::vector<int>{3, 3, 3}));
    EXPECT_EQ(shared({{9, 1}, {1, 1}}, 8), (std::vector<int>{6, 2}));
    EXPECT_EQ(shared({{1, 4}, {1, 1}}, 13), (std::vector<int>{2, 5}));
    // One that does not fit any more does not keep the others from getting what is left.
    EXPECT_EQ(shared({{100, 5}, {1, 1}}, 9), (std::vector<int>{1, 4}));
    // Nothing for layers without noise, at most 64 copies, and one of each even where there is no room.
    EXPECT_EQ(shared({{0, 1}, {1, 1}}, 1000), (std::vector<int>{1, 64}));
    EXPECT_EQ(shared({{1, 3}, {1, 3}}, 2), (std::vector<int>{1, 1}));
}

constexpr size_t kRows = 4, kInputs = 48, kHidden = 512, kOutputs = 8, kRuns = 8;

// x * a, and a little of what a larger network makes of x.
class CopiesByLayer : public testing::Test {
   protected:
    CopiesByLayer() {
        fill(a_, kInputs * kOutputs, 1);
        fill(b_, kInputs * kHidden, 1);
        fill(c_, kHidden * kOutputs, 0.001f);
        fill(samples_, kRuns * kRows * kInputs, 1);
        network_.input("x", {kRows, kInputs}).output("y");
        constant("a", {kInputs, kOutputs}, a_);
        constant("b", {kInputs, kHidden}, b_);
        constant("c", {kHidden, kOutputs}, c_);
        network_.node("MatMul", {"x", "a"}, {"left"});
        network_.node("MatMul", {"x", "b"}, {"p"});
        network_.node("Relu", {"p"}, {"r"});
        network_.node("MatMul", {"r", "c"}, {"right"});
        network_.node("Add", {"left", "right"}, {"y"});
        // Layers with the same input would become one.
        options_.optimization = 0;
        options_.calibration.samples = {{"x", SIDRA_F32, std::as_bytes(std::span(samples_))}};
    }

    void fill(std::vector<float>& all, size_t count, float scale) {
        std::normal_distribution<float> values;
        all.resize(count);
        for (float& value : all) value = scale * values(random_);
    }
    void constant(const std::string& name, const tests::Sizes& shape, const std::vector<float>& values) {
        onnx::TensorProto& tensor = network_.constant(name, shape);
        for (const float value : values) tensor.add_float_data(value);
    }

    double right(size_t row, size_t column) const {
        const auto x = std::span(samples_).subspan(row * kInputs, kInputs);
        double sum = 0;
        for (size_t i = 0; i < kInputs; i++) sum += static_cast<double>(x[i]) * a_[i * kOutputs + column];
        for (size_t h = 0; h < kHidden; h++) {
            double hidden = 0;
            for (size_t i = 0; i < kInputs; i++) hidden += static_cast<double>(x[i]) * b_[i * kHidden + h];
            sum += std::max(hidden, 0.0) * c_[h * kOutputs + column];
        }
        return sum;
    }

    struct Result {
        double noise = 0;  // of the outputs at level accurate
        uint64_t weights = 0;
    };
    Result result() {
        const std::string path = network_.folder / "network.onnx", file = network_.folder / "network.sidra";
        {
            std::ofstream stream(path, std::ios::binary);
            EXPECT_TRUE(network_.model.SerializeToOstream(&stream));
        }
        compile(path, file, options_);
        Result result;
        run_samples(file, options_.calibration.samples, SIDRA_LEVEL_ACCURATE, kRuns, {},
                    [&, run = size_t{0}](const Model& model) mutable {
                        result.weights = model.info().weights;
                        const auto outputs = model.data<const float>(0, model.output(0, 0));
                        for (size_t i = 0; i < outputs.size(); i++)
                            result.noise += std::pow(outputs[i] - right(run * kRows + i / kOutputs, i % kOutputs), 2);
                        run++;
                    });
        return result;
    }

    std::mt19937 random_{3};
    std::vector<float> a_, b_, c_, samples_;
    tests::ModelBuilder network_;
    Options options_;
};

TEST_F(CopiesByLayer, RemoveMoreNoiseThanAsManyOfEach) {
    const uint64_t a = kInputs * kOutputs;
    options_.copies = 2;
    const Result each = result();
    EXPECT_EQ(each.weights, 2 * (a + kInputs * kHidden + kHidden * kOutputs));
    options_.copies_by_layer = true;
    const Result chosen = result();
    // One crossbar for a, four for b and two for c: seven more are all for a.
    EXPECT_EQ(chosen.weights, 8 * a + kInputs * kHidden + kHidden * kOutputs);
    // Copies do not remove what they have in common: the loss in wires, and the rounding of weights and inputs.
    EXPECT_LT(chosen.noise, 0.85 * each.noise);
    RecordProperty("each", std::to_string(each.noise));
    RecordProperty("chosen", std::to_string(chosen.noise));
}

}  // namespace
}  // namespace sidra::compiler
