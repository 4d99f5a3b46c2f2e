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

// Networks of convolutions of one pixel, whose channels have very different sizes. Each step adds a node, and computes
// the same in double precision.
class EqualiseThrough : public testing::Test {
   protected:
    static constexpr size_t kSide = 4, kArea = kSide * kSide, kCount = 8;  // channels

    struct Images {
        std::string name;
        size_t channels = 0;
        std::vector<double> values;  // image, channel, pixel
    };

    // Channels after the first one are smaller.
    static double size_of(size_t channel) { return std::exp2(-2.0 * static_cast<double>(channel)); }

    Images input() {
        std::normal_distribution<float> normal;
        input_.resize(kImages * kCount * kArea);
        for (float& value : input_) value = normal(random_);
        network_.input("x", {kImages, kCount, kSide, kSide});
        return {"x", kCount, {input_.begin(), input_.end()}};
    }
    // scaled: the channels that come in are of those sizes.
    Images conv(const Images& in, size_t groups = 1, bool scaled = true) {
        const size_t own = in.channels / groups, width = kCount / groups;
        const std::string filters = name("filters");
        onnx::TensorProto& constant = network_.constant(filters, {kCount, static_cast<int64_t>(own), 1, 1});
        Images out{name("conv"), kCount, std::vector<double>(kImages * kCount * kArea)};
        std::normal_distribution<double> normal;
        for (size_t f = 0; f < kCount; f++)
            for (size_t c = 0; c < own; c++) {
                const size_t channel = f / width * own + c;
                const auto weight = static_cast<float>(normal(random_) * size_of(f) / (scaled ? size_of(channel) : 1));
                constant.add_float_data(weight);
                for (size_t image = 0; image < kImages; image++)
                    for (size_t at = 0; at < kArea; at++)
                        out.values[(image * kCount + f) * kArea + at] +=
                            weight * in.values[(image * in.channels + channel) * kArea + at];
            }
        tests::ModelBuilder::attribute(network_.node("Conv", {in.name, filters}, {out.name}), "group",
                                       static_cast<int64_t>(groups));
        return out;
    }
    Images relu(const Images& in) {
        return each("Relu", in, {}, [](double v) { return std::max(v, 0.0); });
    }
    Images clip(const Images& in, float low, float high) {
        const std::string lowest = scalar(low), highest = scalar(high);
        return each("Clip", in, {lowest, highest}, [=](double v) { return std::clamp<double>(v, low, high); });
    }
    Images add(const Images& a, const Images& b) {
        size_t at = 0;
        return each("Add", a, {b.name}, [&](double v) { return v + b.values[at++]; });
    }
    // The outputs are products of all that an image has.
    void product(const Images& in) {
        onnx::TensorProto& constant = network_.constant("rows", {static_cast<int64_t>(in.channels * kArea), kOutputs});
        std::normal_distribution<double> normal;
        right_.assign(kImages * kOutputs, 0);
        for (size_t i = 0; i < in.channels * kArea; i++)
            for (size_t j = 0; j < kOutputs; j++) {
                const auto weight = static_cast<float>(normal(random_) / size_of(i / kArea));
                constant.add_float_data(weight);
                for (size_t image = 0; image < kImages; image++)
                    right_[image * kOutputs + j] += weight * in.values[image * in.channels * kArea + i];
            }
        network_.node("Flatten", {in.name}, {"flat"});
        network_.node("MatMul", {"flat", "rows"}, {"y"});
        network_.output("y");
    }

    // Signal to noise of the first output in decibels, with and without equalisation.
    std::pair<double, double> ratios() {
        const std::string path = network_.folder / "network.onnx", file = network_.folder / "network.sidra";
        {
            std::ofstream stream(path, std::ios::binary);
            EXPECT_TRUE(network_.model.SerializeToOstream(&stream));
        }
        const auto ratio = [&](bool equalise) {
            Options options;
            options.equalise = equalise;
            compile(path, file, options);
            double signal = 0, noise = 0;
            const std::vector<Samples> samples{{"x", SIDRA_F32, std::as_bytes(std::span(input_))}};
            run_samples(file, samples, SIDRA_LEVEL_FAST, 1, {}, [&](const Model& model) {
                const auto output = model.data<const float>(0, model.output(0, 0));
                for (size_t i = 0; i < right_.size(); i++)
                    signal += right_[i] * right_[i], noise += std::pow(output[i] - right_[i], 2);
            });
            return 10 * std::log10(signal / noise);
        };
        return {ratio(true), ratio(false)};
    }
    void expect_better() {
        const auto [with, without] = ratios();
        RecordProperty("with", std::to_string(with));
        RecordProperty("without", std::to_string(without));
        EXPECT_GT(with, 25);
        EXPECT_GT(with, without + 10);
    }
    void expect_the_same() {
        const auto [with, without] = ratios();
        EXPECT_EQ(with, without);
    }

   private:
    std::string name(const char* what) { return fmt::format("{}{}", what, names_++); }
    std::string scalar(float value) {
        const std::string constant = name("scalar");
        network_.constant(constant, {}).add_float_data(value);
        return constant;
    }
    template <typename Function>
    Images each(const char* operation, const Images& in, const std::vector<std::string>& others, Function function) {
        Images out{name(operation), in.channels, {}};
        for (const double value : in.values) out.values.push_back(function(value));
        std::vector<std::string> inputs{in.name};
        inputs.insert(inputs.end(), others.begin(), others.end());
        network_.node(operation, inputs, {out.name});
        return out;
    }

   protected:
    std::mt19937 random_{12};
    std::vector<float> input_;
    std::vector<double> right_;
    tests::ModelBuilder network_;
    size_t names_ = 0;
};

TEST_F(EqualiseThrough, ConvolutionsWithGroups) {
    product(relu(conv(relu(conv(input(), 1, false)), 4)));
    expect_better();
}

TEST_F(EqualiseThrough, DepthwiseConvolutions) {
    product(relu(conv(relu(conv(input(), 1, false)), kCount)));
    expect_better();
}

// The bounds get the factors, too.
TEST_F(EqualiseThrough, Bounds) {
    product(clip(conv(input(), 1, false), 0, 0.5f));
    expect_better();
}

TEST_F(EqualiseThrough, BoundsAboveZero) {
    product(clip(conv(input(), 1, false), 0.001f, 2));
    const auto [with, without] = ratios();
    EXPECT_GE(with, without);
    EXPECT_GT(with, 30);
}

// All layers that write to a sum, and all that read it, have one factor for each channel.
TEST_F(EqualiseThrough, SumsOfResidualBlocks) {
    Images images = relu(conv(input(), 1, false));
    for (int block = 0; block < 2; block++) images = relu(add(images, conv(relu(conv(images)))));
    product(images);
    expect_better();
}

// A sum with what no layer has made, and a value that is an output, too, have no factors.
TEST_F(EqualiseThrough, NotThroughASumWithAnInput) {
    const Images x = input();
    product(relu(add(x, conv(x, 1, false))));
    expect_the_same();
}

TEST_F(EqualiseThrough, NotThroughAnOutput) {
    const Images images = relu(conv(input(), 1, false));
    product(images);
    network_.output(images.name);
    expect_the_same();
}

}  // namespace
}  // namespace sidra::compiler
