// SPDX-License-Identifier: MIT
// What the compiler's C interface refuses before it reads a file.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <string>

#include "sidra/compiler.h"

namespace sidra {
namespace {

class CompilerC : public testing::Test {
   protected:
    CompilerC() { options_.struct_size = sizeof options_; }

    // The message of the refusal.
    std::string refused(const char* input = "missing.onnx") {
        std::array<char, 1024> error{};
        EXPECT_EQ(sidra_compile(input, "missing.sidra", &options_, error.data(), error.size()), SIDRA_COMPILE_FAILED);
        return error.data();
    }

    sidra_compile_options options_{};
};

TEST_F(CompilerC, NamesAndSizes) {
    EXPECT_EQ(refused(nullptr), "the names of the files are missing");
    EXPECT_NE(refused().find("missing.onnx"), std::string::npos);
    options_.struct_size--;
    EXPECT_EQ(refused(), "struct_size of the options is not that of this library");
}

TEST_F(CompilerC, PartsOfTheOptions) {
    sidra_compile_dimension dimension{"batch", 0};
    options_.dimensions = &dimension, options_.dimension_count = 1;
    EXPECT_EQ(refused(), "a dimension has no name, or a size below 1");
    dimension = {nullptr, 1};
    EXPECT_EQ(refused(), "a dimension has no name, or a size below 1");
    options_.dimension_count = 0;
    const sidra_compile_value value{"shape", nullptr};
    options_.values = &value, options_.value_count = 1;
    EXPECT_EQ(refused(), "a value has no name, or no file");
}

TEST_F(CompilerC, CopiesByLayerNeedSamples) {
    options_.copies = 2, options_.copies_by_layer = true;
    EXPECT_EQ(refused(), "copies by layer need samples, which show where they matter");
}

TEST_F(CompilerC, RangesOfAdcsNeedSamples) {
    options_.adc_ranges = true;
    EXPECT_EQ(refused(), "ranges of ADCs need samples, which show how large sums become");
}

TEST_F(CompilerC, LevelsOfOptimization) {
    for (const sidra_optimization level : {SIDRA_OPTIMIZATION_DEFAULT, SIDRA_OPTIMIZATION_0, SIDRA_OPTIMIZATION_2}) {
        options_.optimization = level;
        EXPECT_NE(refused().find("missing.onnx"), std::string::npos);
    }
    options_.optimization = std::bit_cast<sidra_optimization>(4);
    EXPECT_EQ(refused(), "the level of optimization is unknown; see enum sidra_optimization");
}

// A message that does not fit ends early, and always with a zero byte.
TEST_F(CompilerC, ShortMessages) {
    std::array<char, 4> error{'x', 'x', 'x', 'x'};
    EXPECT_EQ(sidra_compile(nullptr, nullptr, nullptr, error.data(), 3), SIDRA_COMPILE_FAILED);
    EXPECT_STREQ(error.data(), "th");
    EXPECT_EQ(error[3], 'x');
    EXPECT_EQ(sidra_compile(nullptr, nullptr, nullptr, nullptr, 0), SIDRA_COMPILE_FAILED);
}

TEST_F(CompilerC, ListsOfWhatIsNoModel) {
    const auto refused = [](const char* model, void (*take)(void*, const char*)) {
        std::array<char, 1024> error{};
        EXPECT_EQ(sidra_list_calls(model, 0, false, take, nullptr, error.data(), error.size()), SIDRA_COMPILE_FAILED);
        return std::string(error.data());
    };
    const auto never = [](void*, const char* text) { ADD_FAILURE() << text; };
    EXPECT_EQ(refused(nullptr, never), "the name of the file or the callback is missing");
    EXPECT_EQ(refused("missing.sidra", nullptr), "the name of the file or the callback is missing");
    EXPECT_NE(refused("missing.sidra", never).find("cannot read missing.sidra"), std::string::npos);
    EXPECT_NE(refused("/dev/null", never).find("/dev/null"), std::string::npos);
}

}  // namespace
}  // namespace sidra
