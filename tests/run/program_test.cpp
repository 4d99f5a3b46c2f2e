// SPDX-License-Identifier: MIT
// sidra-run as it is installed: what it prints, writes and refuses.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "model_builder.h"
#include "npy.h"
#include "paths.h"

namespace sidra::test {
namespace {

struct Result {
    int status;
    std::string text;  // of standard output and error
};

class RunProgram : public testing::Test {
   protected:
    RunProgram()
        : network_({1, 5}, 7), model_(network_.model.file()), folder_(testing::TempDir() + "sidra-run-XXXXXX") {
        EXPECT_NE(nullptr, mkdtemp(folder_.data()));
        setenv("SIDRA_DEVICE", "embedded", 1);
        setenv("SIDRA_PROFILE", "small", 1);
        setenv("SIDRA_QUIET", "1", 1);
    }
    ~RunProgram() override { EXPECT_EQ(0, std::system(("rm -rf " + folder_).c_str())); }

    static Result run(const std::string& arguments) {
        FILE* pipe = popen((run_program() + " 2>&1 </dev/null " + arguments).c_str(), "r");
        std::string text;
        for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
        const int status = pclose(pipe);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
    }
    static void expect(int status, const std::string& said, const std::string& arguments) {
        const Result result = run(arguments);
        EXPECT_EQ(status, result.status) << result.text;
        EXPECT_NE(std::string::npos, result.text.find(said)) << result.text << "\ndoes not say: " << said;
    }
    std::string save(const std::string& name, const run::Array& array) const {
        const std::string path = folder_ + "/" + name;
        std::ofstream(path, std::ios::binary) << run::npy_file(array);
        return path;
    }
    static run::Array read(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        const Bytes bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        return run::parse_npy(bytes);
    }
    std::string pixels(uint32_t rows) {
        input_.resize(size_t{rows} * Perceptron::kInputs);
        for (size_t i = 0; i < input_.size(); ++i) input_[i] = static_cast<uint8_t>(i * 37 + rows);
        return save("pixels.npy", {SIDRA_U8, {rows, Perceptron::kInputs}, input_});
    }

    Perceptron network_;
    const TestFile model_;
    std::string folder_;
    std::vector<uint8_t> input_;
};

TEST_F(RunProgram, SaysWhatAModelTakesAndGives) {
    const Result result = run(model_.path());
    EXPECT_EQ(0, result.status) << result.text;
    for (const std::string line :
         {"model      perceptron\n", "compiler   model_builder 1.0\n", "options    --test\n",
          "matrices   2, with 14800 weights on 2 to 3 of ", "  fc1.weight  64 x 200  auto\n", "programs   3\n",
          "variant 0  3 calls, ", "variant 1  3 calls, ", "  takes   pixels  u8  1 x 64\n",
          "  gives   scores  f32  5 x 10\n", "  gives   digit  s64  5\n"})
        EXPECT_NE(std::string::npos, result.text.find(line)) << result.text << "\ndoes not say: " << line;
}

TEST_F(RunProgram, SaysWhatTheHostComputes) {
    const TestFile file(HostModel().model.file());
    expect(0, "variant 0  4 calls (2 on the host), 448 bytes of memory\n", file.path());
}

TEST_F(RunProgram, WritesTheOutputs) {
    for (const uint32_t rows : {1u, 5u}) {
        const std::string input = pixels(rows), scores = folder_ + "/scores.npy", digit = folder_ + "/digit.npy";
        expect(0, "scores  f32  " + std::to_string(rows) + " x 10  -> " + scores,
               std::string(model_.path()) + " " + input + " -o " + scores + " --output " + digit);
        const run::Array array = read(scores);
        EXPECT_EQ(SIDRA_F32, array.type);
        EXPECT_EQ((run::Shape{rows, 10}), array.shape);
        const std::vector<float> expected = network_.answers(input_);
        ASSERT_EQ(expected.size() * sizeof(float), array.bytes.size());
        EXPECT_EQ(0, std::memcmp(expected.data(), array.bytes.data(), array.bytes.size()));
        EXPECT_EQ((run::Shape{rows}), read(digit).shape);
    }
}

TEST_F(RunProgram, PrintsASummaryAndTimes) {
    const std::string input = pixels(1);
    const std::vector<float> expected = network_.answers(input_);
    const auto best = std::max_element(expected.begin(), expected.end()) - expected.begin();
    expect(0, "largest at " + std::to_string(best) + ": ", std::string(model_.path()) + " " + input);
    expect(0, "digit  s64  1  " + std::to_string(best) + "\n", std::string(model_.path()) + " " + input);
    expect(0, "3 runs; each one: host ", std::string(model_.path()) + " " + input + " --repeat 3");
    expect(0, "largest at ", std::string(model_.path()) + " " + input + " --level accurate");
}

TEST_F(RunProgram, RefusesWrongInputs) {
    const std::string model = model_.path(), input = pixels(1);
    expect(1, "cannot read " + folder_ + "/none.npy: No such file", model + " " + folder_ + "/none.npy");
    expect(1, "is not a compiled model", input + " " + input);
    expect(1, "cannot read " + model + ": it is not a file of NumPy", model + " " + model);
    expect(1, "no variant for inputs of 2 x 64; it takes\n  variant 0: pixels (u8, 1 x 64)\n  variant 1: ",
           model + " " + save("two.npy", {SIDRA_U8, {2, 64}, Bytes(128)}));
    expect(1, "no variant for inputs of 1 x 64; 1 x 64", model + " " + input + " " + input);
    expect(1, "no variant for no inputs", model + " --repeat 1");
    expect(1, "input 0 (pixels) takes elements of u8, but ",
           model + " " + save("signed.npy", {SIDRA_S8, {1, 64}, Bytes(64)}));
    expect(1, "/nowhere", model + " " + input + " -o " + folder_ + "/nowhere/out.npy");
    expect(1, "cannot be opened: No such file", folder_ + "/none.sidra");
}

TEST_F(RunProgram, RefusesWrongUsage) {
    const std::string model = model_.path(), input = pixels(1);
    expect(2, "sidra-run --help", "");
    expect(2, "sidra-run --help", model + " --nope");
    expect(2, "--repeat", model + " " + input + " --repeat 0");
    expect(2, "--level", model + " " + input + " --level exact");
    expect(2, "--output names 3 files, but the model has 2 outputs",
           model + " " + input + " -o " + folder_ + "/a -o " + folder_ + "/b -o " + folder_ + "/c");
    expect(1, "cannot write to standard output", model + " >/dev/full");
}

}  // namespace
}  // namespace sidra::test
