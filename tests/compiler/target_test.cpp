// SPDX-License-Identifier: MIT
// What is tried until a network meets a target, and in which order.
#include "driver/target.h"

#include <gtest/gtest.h>

#include <random>
#include <sidra/sidra.hpp>

#include "model_builder.h"
#include "sidra/compiler.h"

namespace sidra::compiler {
namespace {

TEST(Redundancies, AreInTheOrderOfTheirCost) {
    const auto all = [](int copies, double tmr) { return redundancies({copies, tmr}); };
    using List = std::vector<Redundancy>;
    EXPECT_EQ(all(1, 0), (List{{1, 0}, {2, 0}, {1, 1}, {4, 0}, {2, 1}, {8, 0}}));
    EXPECT_EQ(all(3, 0), (List{{3, 0}, {6, 0}, {8, 0}}));
    EXPECT_EQ(all(1, 0.5), (List{{1, 0.5}, {1, 1}, {2, 0.5}, {2, 1}, {4, 0.5}}));
    EXPECT_EQ(all(2, 1), (List{{2, 1}}));
    // What is asked for is tried even if it costs more.
    EXPECT_EQ(all(20, 0.1), (List{{20, 0.1}}));
}

// A network whose share depends on the options alone.
struct Imagined {
    std::function<double(const Options&, sidra_level)> share;
    std::vector<std::string> asked = {};  // at level accurate

    Options find(double wanted, Options effort = {}) {
        return find_effort(std::move(effort), wanted, [this](const Options& tried, sidra_level level) {
            if (level == SIDRA_LEVEL_ACCURATE)
                asked.push_back(fmt::format("{} x{}{}", tried.copies, tried.tmr == 1 ? " tmr" : "",
                                            tried.predistort ? " predistort" : ""));
            return share(tried, level);
        });
    }
};

TEST(FindEffort, PredistortionComesBeforeCopies) {
    Imagined network{
        [](const Options& o, sidra_level level) { return level == SIDRA_LEVEL_FAST || o.predistort ? 0.9 : 0.8; }};
    const Options found = network.find(0.9);
    EXPECT_TRUE(found.predistort);
    EXPECT_EQ(found.copies, 1);
    EXPECT_EQ(network.asked, (std::vector<std::string>{"1 x", "1 x predistort"}));
}

TEST(FindEffort, PredistortionStaysWhereItHelps) {
    Imagined network{[](const Options& o, sidra_level level) {
        return level == SIDRA_LEVEL_FAST ? 1
                                         : 0.5 + 0.05 * o.copies + (o.tmr == 1 ? 0.2 : 0) + (o.predistort ? 0.1 : 0);
    }};
    const Options found = network.find(0.84);
    EXPECT_TRUE(found.predistort);
    EXPECT_EQ(found.tmr, 1);
    EXPECT_EQ(found.copies, 1);
    EXPECT_EQ(network.asked,
              (std::vector<std::string>{"1 x", "1 x predistort", "2 x predistort", "1 x tmr predistort"}));
}

// It is tried again with more copies, which have the loss in wires in common.
TEST(FindEffort, PredistortionMayHelpOnlyManyCopies) {
    Imagined network{[](const Options& o, sidra_level level) {
        return level == SIDRA_LEVEL_FAST ? 1 : o.copies < 4 ? 0.5 : o.predistort ? 0.9 : 0.7;
    }};
    const Options found = network.find(0.9);
    EXPECT_TRUE(found.predistort);
    EXPECT_EQ(found.copies, 4);
    EXPECT_EQ(network.asked, (std::vector<std::string>{"1 x", "1 x predistort", "2 x", "2 x predistort", "1 x tmr",
                                                       "1 x tmr predistort", "4 x", "4 x predistort"}));
}

TEST(FindEffort, PredistortionThatHarmsLevelFastIsDropped) {
    Imagined network{[](const Options& o, sidra_level level) {
        if (level == SIDRA_LEVEL_FAST) return o.predistort ? 0.6 : 0.9;
        return o.copies >= 2 ? 0.9 : 0.8;
    }};
    const Options found = network.find(0.9);
    EXPECT_FALSE(found.predistort);
    EXPECT_EQ(found.copies, 2);
    EXPECT_EQ(network.asked, (std::vector<std::string>{"1 x", "2 x"}));
}

TEST(FindEffort, WhatIsAskedForIsNeverTakenBack) {
    Imagined network{[](const Options&, sidra_level level) { return level == SIDRA_LEVEL_FAST ? 1 : 0.5; }};
    Options effort;
    effort.predistort = true, effort.copies = 4;
    EXPECT_THROW(network.find(0.9, effort), TargetMissed);
    EXPECT_EQ(network.asked, (std::vector<std::string>{"4 x predistort", "8 x predistort"}));
}

// Bits decide at level fast, and everything else only at level accurate.
TEST(FindEffort, BitsComeFirst) {
    Imagined network{[](const Options& o, sidra_level level) {
        return level == SIDRA_LEVEL_FAST ? (o.calibration.enough >= kAllLayers ? 0.9 : 0.7) : o.copies == 2 ? 0.9 : 0.8;
    }};
    Options effort;
    effort.calibration.samples.emplace_back();
    const Options found = network.find(0.9, effort);
    EXPECT_EQ(found.calibration.enough, kAllLayers);
    EXPECT_EQ(found.copies, 2);
    EXPECT_EQ(network.asked.size(), 3u);
    EXPECT_THROW(network.find(0.95, effort), TargetMissed);
    EXPECT_EQ(network.asked.size(), 3u) << "level accurate was asked about in vain";
}

TEST(FindEffort, AChipTooSmallForMoreIsAMissedTarget) {
    Imagined network{[](const Options& o, sidra_level level) -> double {
        if (o.copies > 1) throw CompileError("too few crossbars");
        return level == SIDRA_LEVEL_FAST ? 1 : 0.8;
    }};
    try {
        network.find(0.9);
        FAIL() << "the target is met";
    } catch (const TargetMissed& missed) {
        EXPECT_STREQ(
            missed.what(),
            "at most 80.00 % of the samples are right at level accurate, not 90.00 %; 2 copies of each layer is not "
            "possible: too few crossbars; training with noise may help");
    }
    // A network that fails as it was asked for is no missed target.
    Options effort;
    effort.copies = 2;
    try {
        network.find(0.9, effort);
        FAIL() << "it does not fail";
    } catch (const TargetMissed&) {
        FAIL() << "it is a missed target";
    } catch (const CompileError&) {
    }
}

constexpr size_t kRows = 64, kInputs = 256, kOutputs = 128;  // a whole crossbar

// One column is so little larger than the others that errors of analog hardware often hide it.
class CompileForTarget : public testing::Test {
   protected:
    CompileForTarget() {
        std::mt19937 random(5);
        std::uniform_real_distribution<float> numbers(0.5f, 1);
        onnx::TensorProto& weights = network_.constant("w", {kInputs, kOutputs});
        for (size_t i = 0; i < kInputs; i++)
            for (size_t j = 0; j < kOutputs; j++) weights.add_float_data((i == 0 ? 1 : 0.7f) * (j == 0 ? 1.005f : 1));
        for (float& value : input_) value = numbers(random);
        network_.input("x", {kRows, kInputs}).output("y");
        network_.node("MatMul", {"x", "w"}, {"y"});
        std::ofstream file(network_.folder / "network.onnx", std::ios::binary);
        EXPECT_TRUE(network_.model.SerializeToOstream(&file));
        options_.note = [this](const std::string& note) { notes_.push_back(note); };
    }

    std::string compile(double accuracy) {
        const std::string file = network_.folder / "network.sidra";
        options_.target = Target{accuracy, {{"x", SIDRA_F32, std::as_bytes(std::span(input_))}}, labels_};
        compiler::compile(network_.folder / "network.onnx", file, options_);
        return file;
    }

    bool noted(const char* what) const {
        return std::ranges::any_of(notes_,
                                   [&](const std::string& note) { return note.find(what) != std::string::npos; });
    }

    std::vector<float> input_ = std::vector<float>(kRows * kInputs);
    std::vector<int64_t> labels_ = std::vector<int64_t>(kRows, 0);
    tests::ModelBuilder network_;
    Options options_;
    std::vector<std::string> notes_;
};

// Weights tell copies and medians of three.
TEST_F(CompileForTarget, TheFileHasTheEffortThatReachesIt) {
    EXPECT_THROW(compile(1), TargetMissed);
    EXPECT_FALSE(std::filesystem::exists(network_.folder / "network.sidra"));
    double best = 0;
    for (const std::string& note : notes_)
        if (note.starts_with("level accurate: ")) best = std::max(best, std::stod(note.substr(16)) / 100);
    EXPECT_TRUE(noted("with 1 copy of each layer, weights against the loss in wires"));
    EXPECT_TRUE(noted("with 1 copy of each layer, the median of three crossbars"));
    EXPECT_TRUE(noted("with 8 copies of each layer"));
    notes_.clear();
    const std::string file = compile(best - 0.001);
    uint64_t weights = kInputs * kOutputs * std::stoul(notes_.back().substr(notes_.back().find("with ") + 5));
    if (notes_.back().find("the median") != std::string::npos) weights *= 3;
    EXPECT_GT(weights, kInputs * kOutputs);
    run_samples(file, options_.target->samples, SIDRA_LEVEL_FAST, 1, {},
                [&](const Model& model) { EXPECT_EQ(model.info().weights, weights); });
}

// A missed target is not the failure of a network that is refused, or of wrong tests.
TEST_F(CompileForTarget, TheStatusOfTheCInterfaceTells) {
    const std::string network = network_.folder / "network.onnx", file = network_.folder / "network.sidra";
    sidra_compile_samples tests{"x", SIDRA_F32, input_.data(), input_.size() * sizeof(float)};
    sidra_compile_options options{};
    options.struct_size = sizeof options;
    options.no_cache = true;
    options.target_accuracy = 0.9;
    options.tests = &tests, options.test_count = 1;
    options.labels = labels_.data(), options.label_count = labels_.size();
    std::array<char, 1024> error{};
    const auto status = [&](const std::string& input) {
        return sidra_compile(input.c_str(), file.c_str(), &options, error.data(), error.size());
    };
    std::ranges::fill(labels_, 1);
    EXPECT_EQ(status(network), SIDRA_COMPILE_TARGET_MISSED);
    EXPECT_NE(std::string(error.data()).find("0.00 % of the samples are right"), std::string::npos);
    options.label_count--;
    EXPECT_EQ(status(network), SIDRA_COMPILE_FAILED);
    EXPECT_NE(std::string(error.data()).find("there are 63 labels, but more samples"), std::string::npos);
    options.label_count++;
    EXPECT_EQ(status("missing.onnx"), SIDRA_COMPILE_FAILED);
    std::ranges::fill(labels_, 0);
    options.target_accuracy = 0.01;
    EXPECT_EQ(status(network), SIDRA_COMPILE_OK);
}

}  // namespace
}  // namespace sidra::compiler
