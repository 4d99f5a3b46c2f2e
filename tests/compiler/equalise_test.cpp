// SPDX-License-Identifier: MIT
// A network whose channels have very different sizes computes what arithmetic in double precision does only if they are
// equalised.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sidra/sidra.hpp>

#include "driver/compile.h"
#include "model_builder.h"
#include "run_file.h"

namespace sidra::compiler {
namespace {

constexpr size_t kImages = 4, kChannels = 2, kPixels = 6, kFilters = 8, kWindow = 3, kOut = kPixels - kWindow + 1,
                 kOutputs = 5, kRow = kFilters * kOut * kOut;

// A convolution, no negative numbers, and a product with what it gives: filter c is larger by 4^c than a random one,
// and the rows of its pixels are smaller.
class Equalise : public testing::Test {
   protected:
    Equalise() {
        std::normal_distribution<float> values;
        const auto fill = [&](std::vector<float>& all, size_t count) {
            all.resize(count);
            for (float& value : all) value = values(random_);
        };
        fill(input_, kImages * kChannels * kPixels * kPixels);
        fill(filters_, kFilters * kChannels * kWindow * kWindow);
        fill(bias_, kFilters);
        fill(rows_, kRow * kOutputs);
        for (size_t i = 0; i < filters_.size(); i++) filters_[i] *= size_of(i / (kChannels * kWindow * kWindow));
        for (size_t c = 0; c < kFilters; c++) bias_[c] *= size_of(c);
        for (size_t i = 0; i < rows_.size(); i++) rows_[i] /= size_of(i / kOutputs / (kOut * kOut));
        network_.input("x", {kImages, kChannels, kPixels, kPixels}).output("y");
        constant("filters", {kFilters, kChannels, kWindow, kWindow}, filters_);
        constant("bias", {kFilters}, bias_);
        constant("rows", {kRow, kOutputs}, rows_);
        network_.node("Conv", {"x", "filters", "bias"}, {"c"});
        network_.node("Relu", {"c"}, {"r"});
        network_.node("Flatten", {"r"}, {"f"});
        network_.node("MatMul", {"f", "rows"}, {"y"});
    }

    static float size_of(size_t filter) { return std::exp2(2 * static_cast<float>(filter)); }

    void constant(const std::string& name, const tests::Sizes& shape, const std::vector<float>& values) {
        onnx::TensorProto& tensor = network_.constant(name, shape);
        for (const float value : values) tensor.add_float_data(value);
    }

    std::vector<double> right() const {
        std::vector<double> outputs(kImages * kOutputs);
        for (size_t image = 0; image < kImages; image++)
            for (size_t f = 0; f < kFilters; f++)
                for (size_t y = 0; y < kOut; y++)
                    for (size_t x = 0; x < kOut; x++) {
                        double sum = bias_[f];
                        for (size_t c = 0; c < kChannels; c++)
                            for (size_t v = 0; v < kWindow; v++)
                                for (size_t u = 0; u < kWindow; u++)
                                    sum += static_cast<double>(
                                               input_[((image * kChannels + c) * kPixels + y + v) * kPixels + x + u]) *
                                           filters_[((f * kChannels + c) * kWindow + v) * kWindow + u];
                        for (size_t j = 0; j < kOutputs; j++)
                            outputs[image * kOutputs + j] +=
                                std::max(sum, 0.0) * rows_[((f * kOut + y) * kOut + x) * kOutputs + j];
                    }
        return outputs;
    }

    // Signal to noise in decibels.
    double ratio(const Options& options) {
        const std::string path = network_.folder / "network.onnx", file = network_.folder / "network.sidra";
        {
            std::ofstream stream(path, std::ios::binary);
            EXPECT_TRUE(network_.model.SerializeToOstream(&stream));
        }
        compile(path, file, options);
        const std::vector<float> output = tests::run_file(file, input_).output;
        const std::vector<double> wanted = right();
        double signal = 0, noise = 0;
        for (size_t i = 0; i < output.size(); i++) {
            signal += wanted[i] * wanted[i];
            noise += std::pow(output[i] - wanted[i], 2);
        }
        return 10 * std::log10(signal / noise);
    }

    std::mt19937 random_{11};
    std::vector<float> input_, filters_, bias_, rows_;
    tests::ModelBuilder network_;
};

TEST_F(Equalise, ChannelsOfVeryDifferentSizes) {
    Options options;
    const double with = ratio(options);
    options.equalise = false;
    const double without = ratio(options);
    RecordProperty("with", std::to_string(with));
    RecordProperty("without", std::to_string(without));
    EXPECT_GT(with, 35);
    EXPECT_GT(with, without + 15);
}

TEST_F(Equalise, OnlyOtherArithmeticHasIt) {
    Options options;
    options.optimization = 1;
    const double level_1 = ratio(options);
    options.equalise = false;
    EXPECT_EQ(ratio(options), level_1);
}

}  // namespace
}  // namespace sidra::compiler
