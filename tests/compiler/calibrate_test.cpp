// SPDX-License-Identifier: MIT
// Networks that are compiled with samples compute what arithmetic in double precision does, up to the precision of
// their codes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sidra/sidra.hpp>

#include "driver/compile.h"
#include "model_builder.h"
#include "run_file.h"

namespace sidra::compiler {
namespace {

constexpr size_t kRows = 4, kInputs = 48, kHidden = 32, kOutputs = 8, kRuns = 32;

// x * w1 + b1, no negative numbers, * w2.
class Calibrate : public testing::Test {
   protected:
    Calibrate() {
        std::normal_distribution<float> values;
        const auto fill = [&](std::vector<float>& all, size_t count, float scale) {
            all.resize(count);
            for (float& value : all) value = scale * values(random_);
        };
        fill(first_, kInputs * kHidden, 0.2f);
        fill(bias_, kHidden, 0.5f);
        fill(second_, kHidden * kOutputs, 0.3f);
        fill(samples_, kRuns * kRows * kInputs, 1);
        fill(input_, kRows * kInputs, 1);
        network_.input("x", {kRows, kInputs}).output("y");
        constant("w1", {kInputs, kHidden}, first_);
        constant("b1", {kHidden}, bias_);
        constant("w2", {kHidden, kOutputs}, second_);
        network_.node("MatMul", {"x", "w1"}, {"p"});
        network_.node("Add", {"p", "b1"}, {"q"});
        network_.node("Relu", {"q"}, {"r"});
        network_.node("MatMul", {"r", "w2"}, {"y"});
    }

    void constant(const std::string& name, const tests::Sizes& shape, const std::vector<float>& values) {
        onnx::TensorProto& tensor = network_.constant(name, shape);
        for (const float value : values) tensor.add_float_data(value);
    }

    Samples samples() const { return {"x", SIDRA_F32, std::as_bytes(std::span(samples_))}; }

    std::string write() {
        const std::string network = network_.folder / "network.onnx";
        std::ofstream file(network, std::ios::binary);
        EXPECT_TRUE(network_.model.SerializeToOstream(&file));
        return network;
    }
    std::string compile(const Calibration& calibration) {
        const std::string network = write(), model = network_.folder / "network.sidra";
        Options options;
        options.calibration = calibration;
        options.equalise = equalise_;
        compiler::compile(network, model, options);
        return model;
    }
    std::string error(const Calibration& calibration) {
        try {
            compile(calibration);
        } catch (const CompileError& error) {
            EXPECT_FALSE(std::filesystem::exists(network_.folder / "network.sidra"));
            return error.what();
        }
        return "(compiled)";
    }

    tests::FileRun run(const std::string& file) const { return tests::run_file(file, input_); }

    void ignore_first_input() {
        for (size_t j = 0; j < kHidden; j++) first_[j] = 0;
        auto& tensor = *network_.graph().mutable_initializer(0);
        tensor.clear_float_data();
        for (const float value : first_) tensor.add_float_data(value);
    }
    Calibration calibration(double enough) const {
        Calibration calibration;
        calibration.samples = {samples()};
        calibration.method = Method::kMinMax;
        calibration.enough = enough;
        return calibration;
    }

    // The error's part of the result, as a ratio of lengths.
    double error_of(const std::vector<float>& output) const {
        double sum = 0, all = 0;
        for (size_t row = 0; row < kRows; row++) {
            const std::vector<double> scores = scores_of(std::span(input_).subspan(row * kInputs, kInputs));
            for (size_t j = 0; j < kOutputs; j++) {
                sum += std::pow(output[row * kOutputs + j] - scores[j], 2);
                all += scores[j] * scores[j];
            }
        }
        return std::sqrt(sum / all);
    }

    // What the network makes of one row.
    std::vector<double> scores_of(std::span<const float> row) const {
        std::vector<double> hidden(kHidden), scores(kOutputs);
        for (size_t j = 0; j < kHidden; j++) {
            double value = bias_[j];
            for (size_t i = 0; i < kInputs; i++) value += static_cast<double>(row[i]) * first_[i * kHidden + j];
            hidden[j] = std::max(value, 0.0);
        }
        for (size_t j = 0; j < kOutputs; j++)
            for (size_t i = 0; i < kHidden; i++) scores[j] += hidden[i] * second_[i * kOutputs + j];
        return scores;
    }

    bool equalise_ = true;
    std::mt19937 random_{7};
    std::vector<float> first_, bias_, second_, samples_, input_;
    tests::ModelBuilder network_;
};

TEST_F(Calibrate, CodesAreAsGoodAsThoseOfEachRow) {
    const double by_row = error_of(run(compile({})).output);
    EXPECT_LT(by_row, 0.02);
    for (const Method method :
         {Method::kMinMax, Method::kMoving, Method::kPercentile, Method::kMse, Method::kEntropy}) {
        Calibration calibration;
        calibration.samples = {samples()};
        calibration.method = method;
        // The mean of the largest values of runs cuts some off.
        EXPECT_LT(error_of(run(compile(calibration)).output), method == Method::kMoving ? 0.1 : 0.025)
            << static_cast<int>(method);
    }
}

// One input is 300 times as large as the others, and does not matter. With 8 bits nothing is left of the others.
TEST_F(Calibrate, LayersThatNeed16BitsGetThem) {
    for (size_t row = 0; row < kRuns * kRows; row++) samples_[row * kInputs] *= 300;
    for (size_t row = 0; row < kRows; row++) input_[row * kInputs] *= 300;
    ignore_first_input();
    const tests::FileRun few = run(compile(calibration(-100)));
    EXPECT_GT(error_of(few.output), 0.3);
    const tests::FileRun many = run(compile(calibration(20)));
    EXPECT_LT(error_of(many.output), 0.05);
    EXPECT_GT(many.calls, few.calls);
}

// One row of all has such an input: no range suits it and the others, but each row can have its own, without a second
// product.
TEST_F(Calibrate, LayersWhoseRowsDifferGetCodesRowByRow) {
    samples_[0] *= 3e3f;
    ignore_first_input();
    EXPECT_GT(error_of(run(compile(calibration(-100))).output), 0.3);
    const tests::FileRun rows = run(compile(calibration(15)));
    EXPECT_LT(error_of(rows.output), 0.03);
    EXPECT_EQ(rows.calls, 2u) << "one for each layer";
}

// All inputs are near 1, and the weights of a column round in the same direction: without a correction each result of
// the second layer has the same error. The oracle is arithmetic in double precision.
TEST_F(Calibrate, BiasCorrectionSubtractsWhatCodesDoToTheMean) {
    std::normal_distribution<float> values;
    for (float& value : samples_) value = 1 + 0.1f * values(random_);
    for (float& value : input_) value = 1 + 0.1f * values(random_);
    for (size_t i = 0; i < kInputs; i++)
        for (size_t j = 0; j < kHidden; j++)
            // 3.4 steps of a column whose largest weight is 1: each is 0.4 steps too small.
            first_[i * kHidden + j] = i == 0 ? 1 : 3.4f / 127;
    for (size_t i = 0; i < kHidden; i++)
        for (size_t j = 0; j < kOutputs; j++) second_[i * kOutputs + j] = i == 0 ? -1 : 5.45f / 127;
    auto& graph = network_.graph();
    for (const auto& [number, all] : {std::pair(0, &first_), std::pair(2, &second_)}) {
        graph.mutable_initializer(number)->clear_float_data();
        for (const float value : *all) graph.mutable_initializer(number)->add_float_data(value);
    }
    equalise_ = false;  // it would make the errors of the second layer smaller
    Calibration calibration;
    calibration.samples = {samples()};
    const auto mean_error = [&](bool corrected) {
        calibration.bias_correction = corrected;
        const std::vector<float> output = run(compile(calibration)).output;
        double square = 0;
        for (size_t j = 0; j < kOutputs; j++) {
            double sum = 0;
            for (size_t row = 0; row < kRows; row++)
                sum += output[row * kOutputs + j] - scores_of(std::span(input_).subspan(row * kInputs, kInputs))[j];
            square += sum * sum / kRows / kRows;
        }
        return std::sqrt(square / kOutputs);
    };
    const double without = mean_error(false), with = mean_error(true);
    EXPECT_GT(without, 0.1);
    EXPECT_LT(with, without / 5);
    RecordProperty("without", std::to_string(without));
    RecordProperty("with", std::to_string(with));
}

// Labels are what arithmetic in double precision finds. A chip of level accurate misses some of them, and fewer with
// more copies of each layer.
class TargetAccuracy : public Calibrate {
   protected:
    TargetAccuracy() {
        for (size_t row = 0; row < kRuns * kRows; row++) {
            const std::vector<double> scores = scores_of(std::span(samples_).subspan(row * kInputs, kInputs));
            labels_.push_back(std::ranges::max_element(scores) - scores.begin());
        }
    }
    std::string compile_for(double accuracy) {
        const std::string network = write(), model = network_.folder / "network.sidra";
        Options options;
        options.calibration.samples = {samples()};
        options.target = Target{accuracy, {samples()}, labels_};
        options.note = [&](const std::string& what) { notes_.push_back(what); };
        try {
            compiler::compile(network, model, options);
        } catch (const CompileError& error) {
            EXPECT_FALSE(std::filesystem::exists(model));
            EXPECT_FALSE(std::filesystem::exists(model + ".part"));
            return error.what();
        }
        EXPECT_FALSE(std::filesystem::exists(model + ".part"));
        return "(compiled)";
    }

    std::vector<int64_t> labels_;
    std::vector<std::string> notes_;
};

TEST_F(TargetAccuracy, MoreCopiesUntilItIsReached) {
    EXPECT_EQ(compile_for(0.5), "(compiled)");
    ASSERT_EQ(notes_.size(), 2u);
    EXPECT_NE(notes_[0].find("level fast"), std::string::npos);
    EXPECT_NE(notes_[1].find("level accurate"), std::string::npos);
    // What is right with one copy; more is asked for now.
    const double first = std::stod(notes_[1].substr(notes_[1].find(": ") + 2)) / 100;
    notes_.clear();
    EXPECT_EQ(compile_for(first + 0.005), "(compiled)");
    EXPECT_GT(notes_.size(), 2u);
    EXPECT_NE(notes_.back().find("copies of each layer"), std::string::npos);
}

TEST_F(TargetAccuracy, WhatCannotBeReachedIsSaid) {
    for (int64_t& label : labels_) label = (label + 1) % kOutputs;
    EXPECT_NE(compile_for(0.9).find("without errors of analog hardware, not 90.00 %"), std::string::npos);
    EXPECT_EQ(notes_.size(), 3u);  // 20, 40 and 200 dB
}

TEST_F(TargetAccuracy, ALabelForEachTest) {
    labels_.pop_back();
    EXPECT_NE(compile_for(0.5).find("there are 127 labels, but more samples"), std::string::npos);
    labels_.resize(130);
    EXPECT_NE(compile_for(0.5).find("there are 130 labels for 128 samples"), std::string::npos);
}

TEST_F(Calibrate, ProgressIsTold) {
    Calibration calibration;
    calibration.samples = {samples()};
    std::vector<size_t> done;
    calibration.progress = [&](size_t now, size_t) { done.push_back(now); };
    compile(calibration);
    // For the ranges, and for the errors of codes.
    EXPECT_EQ(std::ranges::count(done, kRuns), 2);
}

TEST_F(Calibrate, WrongSamplesAreRefused) {
    Calibration calibration;
    calibration.samples = {samples()};
    calibration.samples[0].input = "z";
    EXPECT_NE(error(calibration).find("samples for the input 'z', but the network has: x"), std::string::npos);
    calibration.samples = {samples(), samples()};
    EXPECT_NE(error(calibration).find("two sets of samples for the input 'x'"), std::string::npos);
    calibration.samples = {samples()};
    calibration.samples[0].type = SIDRA_S32;
    EXPECT_NE(error(calibration).find("have another type"), std::string::npos);
    calibration.samples = {samples()};
    calibration.samples[0].data = calibration.samples[0].data.first(kRows * kInputs * 4 - 1);
    EXPECT_NE(error(calibration).find("have 767 bytes, but one run needs 768"), std::string::npos);
}

TEST_F(Calibrate, SamplesWithoutANameAreThoseOfTheOnlyInput) {
    Calibration calibration;
    calibration.samples = {samples()};
    calibration.samples[0].input.clear();
    EXPECT_LT(error_of(run(compile(calibration)).output), 0.025);
}

TEST_F(Calibrate, EachOfSeveralInputsNeedsSamples) {
    network_.input("other", {1}).output("other");
    Calibration calibration;
    calibration.samples = {samples()};
    EXPECT_NE(error(calibration).find("no samples for the input 'other'"), std::string::npos);
    calibration.samples[0].input.clear();
    EXPECT_NE(error(calibration).find("need the name of one: x, other"), std::string::npos);
}

}  // namespace
}  // namespace sidra::compiler
