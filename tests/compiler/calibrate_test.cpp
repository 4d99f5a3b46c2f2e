// SPDX-License-Identifier: MIT
// Networks that are compiled with samples compute what arithmetic in double precision does, up to the precision of
// their codes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sidra/sidra.hpp>

#include "driver/compile.h"
#include "model_builder.h"

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

    std::string compile(const Calibration& calibration) {
        const std::string network = network_.folder / "network.onnx", model = network_.folder / "network.sidra";
        std::ofstream file(network, std::ios::binary);
        EXPECT_TRUE(network_.model.SerializeToOstream(&file));
        file.close();
        Options options;
        options.calibration = calibration;
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

    struct Run {
        std::vector<float> output;
        uint32_t calls;
    };
    Run run(const std::string& file) {
        sidra_device_options options{};
        options.private_chip = true;
        const Device device = Device::open(0, options);
        const Context context(device);
        Stream stream(context);
        const Model model(context, file);
        stream.deploy(model);
        std::vector<float> output(kRows * kOutputs);
        const void* const inputs[] = {input_.data()};
        void* const outputs[] = {output.data()};
        stream.run(model, 0, inputs, outputs);
        return {output, model.variant(0).calls};
    }

    // The error's part of the result, as a ratio of lengths.
    double error_of(const std::vector<float>& output) const {
        double sum = 0, all = 0;
        for (size_t row = 0; row < kRows; row++) {
            std::vector<double> hidden(kHidden);
            for (size_t j = 0; j < kHidden; j++) {
                double value = bias_[j];
                for (size_t i = 0; i < kInputs; i++)
                    value += static_cast<double>(input_[row * kInputs + i]) * first_[i * kHidden + j];
                hidden[j] = std::max(value, 0.0);
            }
            for (size_t j = 0; j < kOutputs; j++) {
                double value = 0;
                for (size_t i = 0; i < kHidden; i++) value += hidden[i] * second_[i * kOutputs + j];
                sum += std::pow(output[row * kOutputs + j] - value, 2);
                all += value * value;
            }
        }
        return std::sqrt(sum / all);
    }

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
    for (size_t j = 0; j < kHidden; j++) first_[j] = 0;
    auto& tensor = *network_.graph().mutable_initializer(0);
    tensor.clear_float_data();
    for (const float value : first_) tensor.add_float_data(value);

    Calibration calibration;
    calibration.samples = {samples()};
    calibration.method = Method::kMinMax;
    calibration.enough = -100;
    const Run few = run(compile(calibration));
    EXPECT_GT(error_of(few.output), 0.3);
    calibration.enough = 20;
    const Run many = run(compile(calibration));
    EXPECT_LT(error_of(many.output), 0.05);
    EXPECT_GT(many.calls, few.calls);
}

TEST_F(Calibrate, ProgressIsTold) {
    Calibration calibration;
    calibration.samples = {samples()};
    std::vector<size_t> done;
    calibration.progress = [&](size_t now, size_t) { done.push_back(now); };
    compile(calibration);
    EXPECT_EQ(std::ranges::count(done, kRuns), 1);
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
