// SPDX-License-Identifier: MIT
// Weights that get new values from f32: cells and factors change together. The oracle quantises and multiplies here.
#include <unistd.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "chip_fixture.h"
#include "sidra/sidra.hpp"

namespace sidra::test {
namespace {

class ChipUpdateF32 : public ChipTest {
   protected:
    static constexpr uint32_t kK = 300, kN = 140;  // several tiles both ways

    void SetUp() override {
        ChipTest::SetUp();
        ASSERT_OK(sidra_buffer_create(context, kK, 0, &in));
        ASSERT_OK(sidra_buffer_create(context, kN * sizeof(float), 0, &out));
        void* address = nullptr;
        ASSERT_OK(sidra_buffer_map(in, &address));
        input = {static_cast<uint8_t*>(address), kK};
        ASSERT_OK(sidra_buffer_map(out, &address));
        output = {static_cast<float*>(address), kN};
        randomise(input, 0, 255);
    }
    void TearDown() override {
        EXPECT_OK(sidra_weights_destroy(weights));
        for (sidra_buffer* each : {in, out}) EXPECT_OK(sidra_buffer_destroy(each));
        ChipTest::TearDown();
    }
    std::vector<float> matrix(float low, float high, uint32_t cols = kN) {
        std::vector<float> values(size_t{kK} * cols);
        randomise(std::span(values), low, high);
        return values;
    }
    void create(const std::vector<float>& values) {
        ASSERT_OK(sidra_weights_create_f32(context, kK, kN, values.data(), kN, nullptr, &weights));
        ASSERT_OK(sidra_weights_program_async(stream, weights));
    }
    sidra_status multiply(sidra_stream* on) {
        auto mvm = SIDRA_INIT(sidra_mvm);
        mvm.batch = 1;
        mvm.in_type = SIDRA_U8, mvm.out_type = SIDRA_F32;
        mvm.in = {in, 0}, mvm.out = {out, 0};
        return sidra_mvm_async(on, weights, &mvm);
    }
    // What a product with these weights is, exactly.
    float expected(const std::vector<float>& values, uint32_t col, uint32_t cols = kN, uint32_t first = 0) const {
        float largest = 0;
        for (uint32_t r = 0; r < kK; ++r) largest = std::fmax(largest, std::fabs(values[r * cols + col - first]));
        const float factor = largest == 0 ? 1.0f : largest / 127.0f;
        int32_t sum = 0;
        for (uint32_t r = 0; r < kK; ++r)
            sum += input[r] * static_cast<int32_t>(std::nearbyint(values[r * cols + col - first] / factor));
        return static_cast<float>(sum) * factor;
    }

    sidra_weights* weights = nullptr;
    sidra_buffer *in = nullptr, *out = nullptr;
    std::span<uint8_t> input;
    std::span<float> output;
};

TEST_F(ChipUpdateF32, LaterProductsUseNewCellsAndFactors) {
    const auto first = matrix(-1, 1), second = matrix(-0.001f, 0.001f);
    create(first);
    ASSERT_OK(multiply(stream));
    synchronize();
    for (uint32_t c = 0; c < kN; ++c) ASSERT_EQ(expected(first, c), output[c]) << c;
    // No wait in between: the order of the stream is enough.
    sidra_graph* graph = nullptr;  // recorded before: it has the place of the factors, not the factors
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(multiply(stream));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_weights_update_f32_async(stream, weights, 0, kN, second.data(), kN));
    ASSERT_OK(multiply(stream));
    synchronize();
    for (uint32_t c = 0; c < kN; ++c) ASSERT_EQ(expected(second, c), output[c]) << c;
    const float* factors = nullptr;
    ASSERT_OK(sidra_weights_scale(weights, &factors));
    EXPECT_LT(factors[0], 0.001f / 126);
    std::fill(output.begin(), output.end(), 0.0f);
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    for (uint32_t c = 0; c < kN; ++c) ASSERT_EQ(expected(second, c), output[c]) << c;
    EXPECT_OK(sidra_graph_destroy(graph));
}

TEST_F(ChipUpdateF32, OnlyTheGivenColumnsChange) {
    constexpr uint32_t kFirst = 100, kCols = 33;
    const auto first = matrix(-1, 1), part = matrix(-50, 50, kCols + 2);  // with a stride
    create(first);
    ASSERT_OK(sidra_weights_update_f32_async(stream, weights, kFirst, kCols, part.data(), kCols + 2));
    ASSERT_OK(multiply(stream));
    synchronize();
    for (uint32_t c = 0; c < kN; ++c)
        ASSERT_EQ(c >= kFirst && c < kFirst + kCols ? expected(part, c, kCols + 2, kFirst) : expected(first, c),
                  output[c])
            << c;
}

// Factors that were all 1 are a special case for products.
TEST_F(ChipUpdateF32, WeightsWithoutFactorsGetSome) {
    const std::vector<int8_t> ones(size_t{kK} * kN, 1);
    ASSERT_OK(sidra_weights_create_s8(context, kK, kN, ones.data(), kN, nullptr, nullptr, &weights));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(multiply(stream));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    const auto values = matrix(-3, 3);
    ASSERT_OK(sidra_weights_update_f32_async(stream, weights, 0, kN, values.data(), kN));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    for (uint32_t c = 0; c < kN; ++c) ASSERT_EQ(expected(values, c), output[c]) << c;
    EXPECT_OK(sidra_graph_destroy(graph));
}

TEST_F(ChipUpdateF32, WhatIsRefusedChangesNothing) {
    auto values = matrix(-1, 1);
    ASSERT_OK(sidra_weights_create_f32(context, kK, kN, values.data(), kN, nullptr, &weights));
    const auto update = [&](uint32_t col0, uint32_t cols, const float* data, size_t stride) {
        return sidra_weights_update_f32_async(stream, weights, col0, cols, data, stride);
    };
    EXPECT_FAILS(SIDRA_ERROR_UNPROGRAMMED, update(0, kN, values.data(), kN));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, update(1, kN, values.data(), kN));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, update(0, 0, values.data(), kN));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, update(0, kN, nullptr, kN));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, update(0, kN, values.data(), kN - 1));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, update(0, kN, values.data(), SIZE_MAX / 8));
    auto bad = values;
    bad[777] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, update(0, kN, bad.data(), kN));
    ASSERT_OK(sidra_graph_begin(stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, update(0, kN, values.data(), kN));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_end(stream, &graph));
    EXPECT_OK(sidra_graph_destroy(graph));
    ASSERT_OK(multiply(stream));
    synchronize();
    for (uint32_t c = 0; c < kN; ++c) ASSERT_EQ(expected(values, c), output[c]) << c;
}

TEST_F(ChipUpdateF32, FactorsThatOthersHaveDoNotChange) {
    const auto values = matrix(-1, 1), next = matrix(-2, 2);
    create(values);
    synchronize();
    const sidra_ref word = {in, 0};
    // The first 8 bytes are a semaphore now.
    std::fill_n(input.begin(), 8, uint8_t{0});
    ASSERT_OK(sidra_semaphore_wait_async(stream, word, 1));
    ASSERT_OK(sidra_weights_update_f32_async(stream, weights, 0, kN, next.data(), kN));
    const std::string name = "update-f32-" + std::to_string(getpid());
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_weights_publish(weights, name.c_str(), 0));
    ASSERT_OK(sidra_semaphore_signal(context, word, 1));
    synchronize();
    ASSERT_OK(sidra_weights_publish(weights, name.c_str(), 0));
    EXPECT_FAILS(SIDRA_ERROR_NOT_SUPPORTED, sidra_weights_update_f32_async(stream, weights, 0, kN, values.data(), kN));
    sidra_weights* opened = nullptr;
    ASSERT_OK(sidra_weights_open(context, name.c_str(), &opened));
    const float *theirs = nullptr, *ours = nullptr;
    ASSERT_OK(sidra_weights_scale(opened, &theirs));
    ASSERT_OK(sidra_weights_scale(weights, &ours));
    EXPECT_TRUE(std::equal(ours, ours + kN, theirs)) << "those of the update";
    EXPECT_GT(ours[0], 1.5f / 127);
    EXPECT_FAILS(SIDRA_ERROR_NOT_SUPPORTED, sidra_weights_update_f32_async(stream, opened, 0, kN, values.data(), kN));
    EXPECT_OK(sidra_weights_destroy(opened));
    EXPECT_OK(sidra_weights_unlink(context, name.c_str()));
}

TEST(ChipUpdateF32Cpp, StreamsUpdateWeights) {
    choose_test_device();
    Device device = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = true});
    Context context(device);
    Stream stream(context);
    Weights weights = Weights::from_f32(context, 2, 2, std::vector<float>{1, 2, 3, 4});
    stream.program(weights);
    stream.update_f32(weights, 0, 2, std::vector<float>{127, 254, 1, 2});
    EXPECT_EQ((std::vector<int8_t>{127, 127, 1, 1}), stream.read(weights));
    EXPECT_EQ(1.0f, weights.scale()[0]);
    EXPECT_EQ(2.0f, weights.scale()[1]);
    EXPECT_THROW(stream.update_f32(weights, 0, 2, std::vector<float>(3)), Error);
}

}  // namespace
}  // namespace sidra::test
