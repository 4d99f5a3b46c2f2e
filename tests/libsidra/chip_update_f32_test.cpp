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
    bad[777] = -std::numeric_limits<float>::infinity();
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, update(0, kN, bad.data(), kN));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE,
                 sidra_weights_update_f32_async(nullptr, weights, 0, kN, values.data(), kN));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_weights_update_f32_async(stream, nullptr, 0, kN, values.data(), kN));
    sidra_context* foreign = nullptr;
    sidra_stream* theirs = nullptr;
    ASSERT_OK(sidra_context_create(device, &foreign));
    ASSERT_OK(sidra_stream_create(foreign, nullptr, &theirs));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_weights_update_f32_async(theirs, weights, 0, kN, values.data(), kN));
    EXPECT_OK(sidra_stream_destroy(theirs));
    EXPECT_OK(sidra_context_destroy(foreign));
    ASSERT_OK(sidra_graph_begin(stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, update(0, kN, values.data(), kN));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_end(stream, &graph));
    EXPECT_OK(sidra_graph_destroy(graph));
    ASSERT_OK(multiply(stream));
    synchronize();
    for (uint32_t c = 0; c < kN; ++c) ASSERT_EQ(expected(values, c), output[c]) << c;
}

// An update that is dropped, or that waits for work which fails, leaves cells and factors as they were.
TEST_F(ChipUpdateF32, AnUpdateThatIsCutShortChangesNothing) {
    const auto first = matrix(-1, 1), second = matrix(-2, 2);
    create(first);
    synchronize();
    sidra_buffer* word = nullptr;
    sidra_stream* producer = nullptr;
    sidra_event* event = nullptr;
    ASSERT_OK(sidra_buffer_create(context, 64, 0, &word));
    ASSERT_OK(sidra_stream_create(context, nullptr, &producer));
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    const auto expect_first = [&] {
        std::fill(output.begin(), output.end(), 0.0f);
        ASSERT_OK(multiply(stream));
        synchronize();
        for (uint32_t c = 0; c < kN; ++c) ASSERT_EQ(expected(first, c), output[c]) << c;
    };
    ASSERT_OK(sidra_semaphore_wait_async(stream, {word, 0}, 1));
    ASSERT_OK(sidra_weights_update_f32_async(stream, weights, 0, kN, second.data(), kN));
    ASSERT_OK(sidra_stream_reset(stream));
    expect_first();

    ASSERT_OK(sidra_semaphore_wait_async(producer, {word, 0}, 1));
    ASSERT_OK(sidra_event_record(event, producer));
    ASSERT_OK(sidra_stream_wait_event(stream, event));
    ASSERT_OK(sidra_weights_update_f32_async(stream, weights, 0, kN, second.data(), kN));
    ASSERT_OK(sidra_stream_reset(producer));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    auto info = SIDRA_INIT(sidra_fault_info);
    ASSERT_OK(sidra_stream_fault(stream, &info));
    EXPECT_EQ(uint32_t{SIDRA_FAULT_PRODUCER}, info.cause);
    EXPECT_EQ(uint32_t{SIDRA_FAULT_RESET}, info.root_cause);
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_weights_update_f32_async(stream, weights, 0, kN, second.data(), kN));
    ASSERT_OK(sidra_stream_reset(stream));
    expect_first();
    // What was dropped does not keep the weights from being shared.
    int fd = -1;
    ASSERT_OK(sidra_weights_export(weights, false, &fd));
    close(fd);
    EXPECT_OK(sidra_event_destroy(event));
    EXPECT_OK(sidra_stream_destroy(producer));
    EXPECT_OK(sidra_buffer_destroy(word));
}

// A layer in a recorded graph uses the new cells; the factors are an operand that its program multiplies by.
TEST_F(ChipUpdateF32, LayersUseNewCells) {
    const auto first = matrix(-1, 1), second = matrix(-0.25f, 0.25f);
    create(first);
    sidra_buffer* factors = nullptr;
    ASSERT_OK(sidra_buffer_create(context, kN * sizeof(float), 0, &factors));
    void* address = nullptr;
    ASSERT_OK(sidra_buffer_map(factors, &address));
    const auto copy_factors = [&] {
        const float* now = nullptr;
        ASSERT_OK(sidra_weights_scale(weights, &now));
        std::copy_n(now, kN, static_cast<float*>(address));
    };
    copy_factors();
    sidra_program* program = nullptr;
    ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load sums\nv1 = load o1\nv0 = mul v0, v1\nstore o0, v0\n",
                                     &program));
    const uint32_t size[4] = {1, 1, 1, kN};
    const sidra_vector_operand operands[] = {sidra_operand_dense({out, 0}, SIDRA_F32, size),
                                             sidra_operand_dense({factors, 0}, SIDRA_F32, size)};
    auto layer = SIDRA_INIT(sidra_layer);
    layer.program = program;
    layer.windows = sidra_windows_matrix({in, 0}, SIDRA_U8, 1, kK);
    layer.operands = operands, layer.operand_count = 2;
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_layer_async(stream, weights, &layer));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    for (uint32_t c = 0; c < kN; ++c) ASSERT_EQ(expected(first, c), output[c]) << c;
    ASSERT_OK(sidra_weights_update_f32_async(stream, weights, 0, kN, second.data(), kN));
    synchronize();
    copy_factors();
    ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    for (uint32_t c = 0; c < kN; ++c) ASSERT_EQ(expected(second, c), output[c]) << c;
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_program_destroy(program));
    EXPECT_OK(sidra_buffer_destroy(factors));
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
    int fd = -1;
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_weights_publish(weights, name.c_str(), 0));
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_weights_export(weights, false, &fd));
    ASSERT_OK(sidra_semaphore_signal(context, word, 1));
    synchronize();
    // A name that it does not get shares nothing.
    sidra_weights* taken = nullptr;
    const int8_t one = 1;
    ASSERT_OK(sidra_weights_create_s8(context, 1, 1, &one, 1, nullptr, nullptr, &taken));
    ASSERT_OK(sidra_weights_program_async(stream, taken));
    synchronize();
    ASSERT_OK(sidra_weights_publish(taken, name.c_str(), 0));
    EXPECT_FAILS(SIDRA_ERROR_EXISTS, sidra_weights_publish(weights, name.c_str(), 0));
    ASSERT_OK(sidra_weights_update_f32_async(stream, weights, 0, kN, next.data(), kN));
    synchronize();
    EXPECT_OK(sidra_weights_unlink(context, name.c_str()));
    EXPECT_OK(sidra_weights_destroy(taken));
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

TEST_F(ChipUpdateF32, FactorsAreNotHandedOutBeforeAllStreamsHaveUpdatedThem) {
    const auto values = matrix(-1, 1), next = matrix(-2, 2, 4);
    create(values);
    synchronize();
    const sidra_ref word = {in, 0};
    std::fill_n(input.begin(), 8, uint8_t{0});  // a semaphore, as above
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    ASSERT_OK(sidra_semaphore_wait_async(stream, word, 1));
    ASSERT_OK(sidra_weights_update_f32_async(stream, weights, 0, 4, next.data(), 4));
    ASSERT_OK(sidra_weights_update_f32_async(other, weights, 4, 4, next.data(), 4));
    ASSERT_OK(sidra_stream_synchronize(other, soon()));
    int fd = -1;
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_weights_export(weights, false, &fd));
    ASSERT_OK(sidra_weights_update_f32_async(other, weights, 4, 4, next.data(), 4));
    ASSERT_OK(sidra_stream_synchronize(other, soon()));
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_weights_export(weights, false, &fd));
    ASSERT_OK(sidra_semaphore_signal(context, word, 1));
    synchronize();
    ASSERT_OK(sidra_weights_export(weights, false, &fd));
    close(fd);
    EXPECT_OK(sidra_stream_destroy(other));
}

TEST_F(ChipUpdateF32, ExportedWeightsKeepTheirFactors) {
    const auto values = matrix(-1, 1);
    create(values);
    synchronize();
    int fd = -1;
    ASSERT_OK(sidra_weights_export(weights, true, &fd));
    EXPECT_FAILS(SIDRA_ERROR_NOT_SUPPORTED, sidra_weights_update_f32_async(stream, weights, 0, kN, values.data(), kN));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("file descriptor")) << sidra_last_error();
    sidra_weights* imported = nullptr;
    ASSERT_OK(sidra_weights_import(context, fd, &imported));
    close(fd);
    EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_weights_update_f32_async(stream, imported, 0, kN, values.data(), kN));
    EXPECT_OK(sidra_weights_destroy(imported));
}

TEST(ChipUpdateF32Cpp, StreamsUpdateWeights) {
    choose_test_device();
    Device device = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = !on_a_node()});
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
