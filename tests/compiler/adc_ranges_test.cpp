// SPDX-License-Identifier: MIT
// What ADCs learn their ranges of: the codes that crossbars get with the samples, which the test computes by itself.
#include "calibrate/adc_ranges.h"

#include <gtest/gtest.h>
#include <mlir/Pass/PassManager.h>

#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <sidra/sidra.hpp>

#include "annotations.h"
#include "driver/compile.h"
#include "model_builder.h"
#include "passes.h"
#include "xbar.h"

namespace sidra::compiler {
namespace {

TEST(VectorSample, HasAllOrSomeWithTheSameChance) {
    std::vector<uint8_t> few(2 * VectorSample::kMost);
    std::iota(few.begin(), few.end(), 0);
    VectorSample all(2);
    all.add(std::span(few).first(10));
    all.add(std::span(few).subspan(10));
    EXPECT_TRUE(std::ranges::equal(all.vectors(), few));

    // Each of 64,000 vectors says in which tenth of them it is.
    std::array<int, 10> tenths{};
    VectorSample some(2);
    for (uint32_t i = 0; i < 64'000; i++) {
        const std::array<uint8_t, 2> vector = {static_cast<uint8_t>(i / 6400), 7};
        some.add(vector);
    }
    ASSERT_EQ(some.vectors().size(), 2 * VectorSample::kMost);
    for (size_t i = 0; i < some.vectors().size(); i += 2) {
        tenths.at(some.vectors()[i])++;
        EXPECT_EQ(some.vectors()[i + 1], 7);
    }
    for (const int count : tenths) EXPECT_NEAR(count, 12.8, 12);
}

using Vectors = std::vector<uint8_t>;

class AdcRanges : public testing::Test {
   protected:
    AdcRanges() { network_.context.loadDialect<xbar::XbarDialect>(); }

    std::vector<float> numbers(size_t count, float scale, float mean = 0) {
        std::normal_distribution<float> normal(mean, scale);
        std::vector<float> all(count);
        for (float& value : all) value = normal(random_);
        return all;
    }
    void constant(const std::string& name, const tests::Sizes& shape, float scale) {
        const auto count = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies());
        onnx::TensorProto& tensor = network_.constant(name, shape);
        for (const float value : numbers(static_cast<size_t>(count), scale)) tensor.add_float_data(value);
    }
    std::string write() {
        const std::string network = network_.folder / "network.onnx";
        std::ofstream file(network, std::ios::binary);
        EXPECT_TRUE(network_.model.SerializeToOstream(&file));
        return network;
    }

    // The vectors of each matrix, by its number of rows. Without `calibrate` layers make codes by row.
    std::map<uint32_t, Vectors> vectors(const Calibration& calibration, bool calibrate = true, int copies = 1) {
        Store& store = xnn::store_of(&network_.context);
        auto module = import_onnx(network_.context, store, write());
        mlir::PassManager passes(&network_.context);
        build_layers_pipeline(passes, kOptimizationMax, {.rest = calibrate});
        if (calibrate) passes.addPass(make_calibrate_pass(calibration, kOptimizationMax));
        build_calls_pipeline(passes, kOptimizationMax, {.copies = copies});
        passes.addPass(make_adc_ranges_pass(calibration));
        EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
        std::map<uint32_t, Vectors> all;
        module->walk([&](xbar::WeightsOp weights) {
            const auto hash = weights->getAttrOfType<mlir::StringAttr>(kAdcInputs);
            ASSERT_TRUE(hash);
            const Bytes bytes = store.find(hash.getValue().str());
            const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
            Vectors& its = all[mlir::cast<xbar::MatrixType>(weights.getType()).getRows()];
            if (!its.empty()) EXPECT_TRUE(std::ranges::equal(its, std::span(begin, bytes.size()))) << "copies differ";
            its.assign(begin, begin + bytes.size());
        });
        return all;
    }
    Calibration with_samples() {
        Calibration calibration;
        calibration.method = Method::kMinMax;
        calibration.samples = {{"x", SIDRA_F32, std::as_bytes(std::span(samples_))}};
        return calibration;
    }

    // Operations round once more on the chip than here.
    static void expect_nearly(const Vectors& found, const Vectors& expected) {
        ASSERT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < found.size(); i++) ASSERT_NEAR(found[i], expected[i], 1) << i;
    }
    static uint8_t code(double value) { return static_cast<uint8_t>(std::clamp(std::nearbyint(value), 0.0, 255.0)); }

    std::mt19937 random_{5};
    std::vector<float> samples_;
    tests::ModelBuilder network_;
};

// Three runs of 36 windows, at whose edges there is the code of 0.
TEST_F(AdcRanges, OfAConvolutionAreCodesOfWindows) {
    constexpr int kRuns = 3, kChannels = 2, kSize = 6;
    samples_ = numbers(kRuns * kChannels * kSize * kSize, 1, 0.5f);
    network_.input("x", {1, kChannels, kSize, kSize}).output("y");
    constant("w", {4, kChannels, 3, 3}, 0.3f);
    network_.attribute(network_.node("Conv", {"x", "w"}, {"y"}), "pads", tests::Sizes{1, 1, 1, 1});
    const auto [low, high] = std::ranges::minmax(samples_);
    const double step = (static_cast<double>(high) - low) / 255, zero = std::nearbyint(-low / step);
    Vectors expected;
    for (int run = 0; run < kRuns; run++)
        for (int row = 0; row < kSize; row++)
            for (int column = 0; column < kSize; column++)
                for (int i = row - 1; i <= row + 1; i++)
                    for (int j = column - 1; j <= column + 1; j++)
                        for (int c = 0; c < kChannels; c++) {
                            const bool inside = i >= 0 && i < kSize && j >= 0 && j < kSize;
                            const int at = ((run * kChannels + c) * kSize + i) * kSize + j;
                            expected.push_back(code(
                                inside ? static_cast<double>(samples_[static_cast<size_t>(at)]) / step + zero : zero));
                        }
    const auto found = vectors(with_samples(), true, 2);
    ASSERT_EQ(found.size(), 1u);
    expect_nearly(found.at(9 * kChannels), expected);
}

constexpr size_t kRows = 4, kInputs = 40, kRuns = 10;

class AdcRangesOfRows : public AdcRanges {
   protected:
    AdcRangesOfRows() {
        samples_ = numbers(kRuns * kRows * kInputs, 1);
        network_.input("x", {kRows, kInputs}).output("y");
        constant("w", {kInputs, 8}, 0.3f);
        network_.node("MatMul", {"x", "w"}, {"y"});
    }
};

TEST_F(AdcRangesOfRows, WithStepsByRow) {
    Vectors expected;
    for (size_t row = 0; row < kRuns * kRows; row++) {
        const auto values = std::span(samples_).subspan(row * kInputs, kInputs);
        const auto [low, high] = std::ranges::minmax(values);
        const double step = (static_cast<double>(high) - low) / 255;
        for (const float value : values) expected.push_back(code(value / step + std::nearbyint(-low / step)));
    }
    expect_nearly(vectors(with_samples(), false).at(kInputs), expected);
}

// In each run the upper halves of all rows, and then the lower ones.
TEST_F(AdcRangesOfRows, WithTwoHalves) {
    Calibration calibration = with_samples();
    calibration.enough = 200;
    const Vectors found = vectors(calibration).at(kInputs);
    ASSERT_EQ(found.size(), 2 * samples_.size());
    const auto [low, high] = std::ranges::minmax(samples_);
    const double step = (static_cast<double>(high) - low) / (65535 - 256),
                 zero = std::ceil(std::nearbyint(-low / step) / 256) * 256;
    constexpr size_t kElements = kRows * kInputs;
    for (size_t i = 0; i < samples_.size(); i++) {
        const size_t upper = i / kElements * 2 * kElements + i % kElements, lower = upper + kElements;
        ASSERT_NEAR(256 * found[upper] + found[lower], samples_[i] / step + zero, 1) << i;
    }
}

// x * w1, no negative numbers, * w2, on whole chips.
class AdcRangesOnChips : public AdcRanges {
   protected:
    static constexpr size_t kOutputs = 16;

    AdcRangesOnChips() {
        samples_ = numbers(64 * kRows * kInputs, 1);
        network_.input("x", {kRows, kInputs}).output("y");
        constant("w1", {kInputs, 300}, 0.2f);
        constant("w2", {300, kOutputs}, 0.3f);
        network_.node("MatMul", {"x", "w1"}, {"p"});
        network_.node("Relu", {"p"}, {"q"});
        network_.node("MatMul", {"q", "w2"}, {"y"});
        options_.calibration.samples = with_samples().samples;
    }

    std::string compile(bool adc_ranges) {
        const std::string file = network_.folder / (adc_ranges ? "fixed.sidra" : "adaptive.sidra");
        options_.adc_ranges = adc_ranges;
        compiler::compile(write(), file, options_);
        return file;
    }

    struct Result {
        std::vector<float> outputs;
        std::vector<uint64_t> ranges;  // of the first tile of each matrix
        uint64_t clipped = 0;
    };
    // With all samples times a factor.
    Result run(const std::string& file, sidra_level level, float factor = 1) {
        sidra_device_options options{};
        options.private_chip = true;
        options.level = level;
        options.stuck_ppm = SIDRA_STUCK_NONE;
        const Device device = Device::open(0, options);
        const Context context(device);
        Stream stream(context);
        const Model model(context, file);
        stream.deploy(model);
        Result result;
        std::vector<float> input(kRows * kInputs), output(kRows * kOutputs);
        const void* const inputs[] = {input.data()};
        void* const outputs[] = {output.data()};
        for (size_t at = 0; at < samples_.size(); at += input.size()) {
            for (size_t i = 0; i < input.size(); i++) input[i] = factor * samples_[at + i];
            stream.run(model, 0, inputs, outputs);
            result.outputs.insert(result.outputs.end(), output.begin(), output.end());
        }
        for (uint32_t i = 0; i < model.info().matrices; i++) {
            auto report = SIDRA_INIT(sidra_tile_report);
            EXPECT_EQ(sidra_weights_report(model.matrix(i).weights, 0, &report), SIDRA_OK);
            result.ranges.push_back(report.adc_range);
            result.clipped += report.clipped;
        }
        return result;
    }

    static double noise(const std::vector<float>& outputs, const std::vector<float>& right) {
        double sum = 0;
        for (size_t i = 0; i < right.size(); i++) sum += std::pow(static_cast<double>(outputs[i]) - right[i], 2);
        return sum;
    }

    Options options_;
};

// A fixed range costs at most a fifth more noise than one that follows each product.
TEST_F(AdcRangesOnChips, AreAsGoodAsThoseOfEachProduct) {
    const std::string adaptive = compile(false), fixed = compile(true);
    const Result right = run(adaptive, SIDRA_LEVEL_FAST);
    EXPECT_EQ(run(fixed, SIDRA_LEVEL_FAST).outputs, right.outputs);
    const Result follows = run(adaptive, SIDRA_LEVEL_ACCURATE), stays = run(fixed, SIDRA_LEVEL_ACCURATE);
    EXPECT_EQ(follows.ranges, (std::vector<uint64_t>{0, 0}));
    for (const uint64_t range : stays.ranges) EXPECT_GT(range, 0u);
    const double before = noise(follows.outputs, right.outputs), after = noise(stays.outputs, right.outputs);
    EXPECT_LT(after, 1.2 * before);
    RecordProperty("adaptive", std::to_string(before));
    RecordProperty("fixed", std::to_string(after));
}

TEST_F(AdcRangesOnChips, ClipWhatIsLargerThanTheSamples) {
    // Codes saturate, but then most of them are at an end of their range.
    const std::string file = compile(true);
    const uint64_t usual = run(file, SIDRA_LEVEL_ACCURATE).clipped;
    EXPECT_GT(run(file, SIDRA_LEVEL_ACCURATE, 8).clipped, 10 * usual + 100);
}

// Copies, and columns that vote, have ranges on all of their crossbars.
TEST_F(AdcRangesOnChips, OfCopiesAndVotes) {
    options_.copies = 2;
    options_.tmr = 0.5;
    const std::string file = compile(true);
    const Result found = run(file, SIDRA_LEVEL_ACCURATE);
    EXPECT_EQ(found.ranges.size(), 2u * 2 * 3);
    for (const uint64_t range : found.ranges) EXPECT_GT(range, 0u);
}

TEST_F(AdcRangesOnChips, OfStages) {
    options_.chips = 2;
    const std::string file = compile(true);
    sidra_device_options options{};
    options.private_chip = true;
    options.level = SIDRA_LEVEL_ACCURATE;
    const Device first = Device::open(0, options), second = Device::open(0, options);
    const Context one(first), other(second);
    sidra_context* const contexts[] = {one.get(), other.get()};
    sidra_pipeline* pipeline = nullptr;
    ASSERT_EQ(sidra_pipeline_create(contexts, 2, file.c_str(), &pipeline), SIDRA_OK);
    ASSERT_EQ(sidra_pipeline_deploy_async(pipeline), SIDRA_OK);
    ASSERT_EQ(sidra_pipeline_synchronize(pipeline, SIDRA_NEVER), SIDRA_OK);
    for (const uint32_t stage : {0u, 1u}) {
        sidra_model* model = nullptr;
        ASSERT_EQ(sidra_pipeline_get_stage(pipeline, stage, &model), SIDRA_OK);
        auto matrix = SIDRA_INIT(sidra_model_matrix);
        ASSERT_EQ(sidra_model_get_matrix(model, 0, &matrix), SIDRA_OK);
        auto report = SIDRA_INIT(sidra_tile_report);
        ASSERT_EQ(sidra_weights_report(matrix.weights, 0, &report), SIDRA_OK);
        EXPECT_GT(report.adc_range, 0u) << stage;
    }
    EXPECT_EQ(sidra_pipeline_destroy(pipeline), SIDRA_OK);
}

}  // namespace
}  // namespace sidra::compiler
