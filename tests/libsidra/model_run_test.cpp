// SPDX-License-Identifier: MIT
// Compiled models on a chip: what they compute, alone and together, on one stream and on several.
#include <cstring>
#include <numeric>
#include <thread>

#include "model_fixture.h"
#include "says_nothing.h"

namespace sidra::test {
namespace {

using ModelRun = ModelTest;

TEST_F(ModelRun, TwoVariantsGiveThePlainAnswers) {
    Perceptron network({1, 33}, 1);
    sidra_model* model = deploy(network.model.file());
    for (int round = 0; round < 3; ++round) {
        expect_answers(network, model, 0, pixels(1));
        expect_answers(network, model, 1, pixels(33));
    }
}

TEST_F(ModelRun, SeveralModelsAndContextsAreIndependent) {
    Perceptron first({2}, 1), second({3}, 2);
    sidra_model *a = deploy(first.model.file()), *b = deploy(second.model.file());
    sidra_context* other_context = nullptr;
    sidra_stream* other_stream = nullptr;
    sidra_model* other = nullptr;
    ASSERT_OK(sidra_context_create(device, &other_context));
    ASSERT_OK(sidra_stream_create(other_context, nullptr, &other_stream));
    const TestFile file(second.model.file());
    ASSERT_OK(sidra_model_load(other_context, file.path(), &other));
    ASSERT_OK(sidra_model_deploy_async(other_stream, other));
    for (int round = 0; round < 2; ++round) {
        expect_answers(first, a, 0, pixels(2));
        expect_answers(second, b, 0, pixels(3));
        expect_answers(second, other, 0, pixels(3), other_stream);
    }
    destroy(a);
    expect_answers(second, b, 0, pixels(3));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_model_run_async(stream, other, 0));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_model_deploy_async(stream, other));
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_context_destroy(other_context));
    expect_said("1 model");
    EXPECT_OK(sidra_model_destroy(other));
    EXPECT_OK(sidra_stream_destroy(other_stream));
    EXPECT_OK(sidra_context_destroy(other_context));
}

TEST_F(ModelRun, InputsAndOutputsStayInTheBuffer) {
    Perceptron network({2}, 3);
    sidra_model* model = deploy(network.model.file());
    auto input = SIDRA_INIT(sidra_model_tensor), output = SIDRA_INIT(sidra_model_tensor);
    ASSERT_OK(sidra_model_get_input(model, 0, 0, &input));
    ASSERT_OK(sidra_model_get_output(model, 0, 0, &output));
    const std::vector<uint8_t> values = pixels(2);
    std::ranges::copy(values, memory<uint8_t>(model, 0, input.offset, input.bytes).begin());
    const std::vector<float> expected = network.answers(values);
    const auto scores = memory<float>(model, 0, output.offset, output.bytes / sizeof(float));
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    synchronize();
    EXPECT_TRUE(std::ranges::equal(expected, scores));
    // The input was not overwritten, so the same comes out again.
    std::vector<int64_t> digits(2);
    void* const outputs[] = {nullptr, digits.data()};
    const void* const inputs[] = {nullptr};
    std::ranges::fill(scores, 0.0f);
    ASSERT_OK(sidra_model_run(stream, model, 0, inputs, outputs, soon()));
    EXPECT_TRUE(std::ranges::equal(expected, scores));
    std::ranges::fill(scores, 0.0f);
    ASSERT_OK(sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
    EXPECT_TRUE(std::ranges::equal(expected, scores));
}

// All kinds of calls: the 3 x 3 maxima of an image, their product with a matrix, and the two largest of each row.
TEST_F(ModelRun, EveryKindOfCall) {
    constexpr uint32_t kSide = 8, kOut = kSide - 2, kColumns = 5, kBest = 2;
    std::vector<float> factor(kOut * kColumns);
    randomise(std::span(factor), -1.0f, 1.0f);
    TestModel test;
    const fb::Place weights = test.add_constants(factor.data(), factor.size() * sizeof(float));
    const uint64_t at_maxima = kSide * kSide * 4, at_product = at_maxima + kOut * kOut * 4,
                   at_biased = at_product + kOut * kColumns * 4, at_values = at_biased + kOut * kColumns * 4,
                   at_indices = at_values + kOut * kBest * 4, end = at_indices + kOut * kBest * 4;
    const uint32_t bias = test.add_program("pass:\nv0 = load o0\nv0 = add v0, p0\nstore o1, v0\n");
    const uint32_t variant = test.add_variant(end);
    test.add_input(variant, "image", fb::Type::F32, {kSide, kSide}, 0);
    test.add_output(variant, "values", fb::Type::F32, {kOut, kBest}, at_values);
    test.add_output(variant, "indices", fb::Type::S32, {kOut, kBest}, at_indices);
    fb::PoolT pool;
    pool.operation = fb::Pooling::Max;
    pool.windows = std::make_unique<fb::WindowsT>(matrix_windows(work(0), fb::Type::F32, 1, 1));
    pool.windows->height = pool.windows->width = kSide;
    pool.windows->rows = pool.windows->columns = kOut;
    pool.windows->kernel_h = pool.windows->kernel_w = 3;
    pool.out = std::make_unique<fb::Place>(work(at_maxima));
    test.add_call(variant, "/pool/MaxPool", std::move(pool));
    fb::MatmulT matmul;
    matmul.m = kOut, matmul.n = kColumns, matmul.k = kOut;
    matmul.batch = {1, 1};
    matmul.operands = operands(dense_operand(work(at_maxima), fb::Type::F32, {1, 1, kOut, kOut}),
                               dense_operand(weights, fb::Type::F32, {1, 1, kOut, kColumns}),
                               dense_operand(work(at_product), fb::Type::F32, {1, 1, kOut, kColumns}));
    test.add_call(variant, "/MatMul", std::move(matmul));
    fb::VectorT vector;
    vector.program = bias;
    vector.size = {1, 1, kOut, kColumns};
    vector.param = {sidra_param_f32(0.5f)};
    vector.operands = operands(dense_operand(work(at_product), fb::Type::F32, {1, 1, kOut, kColumns}),
                               dense_operand(work(at_biased), fb::Type::F32, {1, 1, kOut, kColumns}));
    test.add_call(variant, "/Add", std::move(vector));
    fb::SortT sort;
    sort.type = fb::Type::F32, sort.index_type = fb::Type::S32;
    sort.in = std::make_unique<fb::Place>(work(at_biased));
    sort.values = std::make_unique<fb::Place>(work(at_values));
    sort.indices = std::make_unique<fb::Place>(work(at_indices));
    sort.rows = kOut, sort.cols = kColumns, sort.count = kBest;
    sort.descending = true;
    test.add_call(variant, "/TopK", std::move(sort));

    sidra_model* model = load(test.file());  // without matrices there is nothing to deploy
    std::vector<float> image(kSide * kSide), values(kOut * kBest);
    std::vector<int32_t> indices(values.size());
    randomise(std::span(image), -1.0f, 1.0f);
    const void* const inputs[] = {image.data()};
    void* const outputs[] = {values.data(), indices.data()};
    ASSERT_OK(sidra_model_run(stream, model, 0, inputs, outputs, soon()));

    for (uint32_t row = 0; row < kOut; ++row) {
        std::vector<float> sums(kColumns);
        for (uint32_t k = 0; k < kOut; ++k) {
            float largest = image[row * kSide + k];
            for (uint32_t y = 0; y < 3; ++y)
                for (uint32_t x = 0; x < 3; ++x) largest = std::max(largest, image[(row + y) * kSide + k + x]);
            for (uint32_t n = 0; n < kColumns; ++n)
                sums[n] = __builtin_fmaf(largest, factor[k * kColumns + n], sums[n]);
        }
        std::vector<int32_t> order(kColumns);
        std::iota(order.begin(), order.end(), 0);
        for (float& sum : sums) sum += 0.5f;
        std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return sums[a] > sums[b]; });
        for (uint32_t i = 0; i < kBest; ++i) {
            EXPECT_EQ(order[i], indices[row * kBest + i]);
            EXPECT_EQ(sums[order[i]], values[row * kBest + i]);
        }
    }
}

// A model that adds one to a number in its memory, so that it counts its runs.
TestModel counter() {
    TestModel test;
    const uint32_t program = test.add_program("pass:\nv0 = load_int o0\nv0 = add_int v0, 1\nstore_int o0, v0\n");
    const uint32_t variant = test.add_variant(64);
    test.add_output(variant, "count", fb::Type::S32, {}, 0);
    fb::VectorT vector;
    vector.program = program;
    vector.size = {1, 1, 1, 1};
    vector.operands = operands(dense_operand(work(0), fb::Type::S32, {1, 1, 1, 1}));
    test.add_call(variant, "/Count", std::move(vector));
    return test;
}

TEST_F(ModelStreams, RunsOfOneVariantAreInOrder) {
    sidra_model* model = load(counter().file());
    const auto count = memory<int32_t>(model, 0, 0, 1);
    block(stream);
    for (int i = 0; i < 10; ++i) ASSERT_OK(sidra_model_run_async(i % 2 == 0 ? stream : second, model, 0));
    EXPECT_FAILS(SIDRA_ERROR_NOT_READY, sidra_stream_query(second));  // it waits for the other stream
    unblock();
    ASSERT_OK(sidra_stream_synchronize(second, soon()));
    ASSERT_OK(sidra_stream_synchronize(stream, soon()));
    EXPECT_EQ(10, count[0]);
    // A run that is dropped is over.
    ASSERT_OK(sidra_semaphore_wait_async(stream, words->at(), 2));
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    ASSERT_OK(sidra_stream_reset(stream));
    ASSERT_OK(sidra_model_run_async(second, model, 0));
    ASSERT_OK(sidra_stream_synchronize(second, soon()));
    EXPECT_EQ(11, count[0]);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words->at(), 2));
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    ASSERT_OK(sidra_stream_reset(stream));
    {
        const SaysNothing quiet;
        ASSERT_OK(sidra_model_run(second, model, 0, nullptr, nullptr, soon()));
    }
    EXPECT_EQ(12, count[0]);
    // Without its buffer, which is the application's mistake, it is destroyed all the same.
    sidra_buffer* buffer = nullptr;
    ASSERT_OK(sidra_model_get_buffer(model, 0, &buffer));
    ASSERT_OK(sidra_buffer_destroy(buffer));
    const SaysNothing quiet;
    destroy(model);
}

TEST_F(ModelStreams, AThreadThatRunsAVariantKeepsItForItself) {
    sidra_model* model = load(counter().file());
    int32_t number = 0;
    void* const outputs[] = {&number};
    block(stream);
    std::thread waiting([&] { EXPECT_OK(sidra_model_run(stream, model, 0, nullptr, outputs, soon())); });
    EXPECT_TRUE(eventually([&] {
        uint64_t submitted = 0;
        EXPECT_OK(sidra_stream_timeline(stream, &submitted, nullptr));
        return submitted == 2;
    }));
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_model_run(second, model, 0, nullptr, nullptr, soon()));
    EXPECT_FAILS(SIDRA_ERROR_BUSY, sidra_model_run_async(second, model, 0));
    unblock();
    waiting.join();
    EXPECT_EQ(1, number);
    EXPECT_OK(sidra_model_run(second, model, 0, nullptr, outputs, soon()));
    EXPECT_EQ(2, number);
}

// A thread waits for room to queue a run. Others wait no longer for it than they were told, and queries not at all.
TEST_F(ModelStreams, ARunThatWaitsForRoomKeepsTheDeadlinesOfOthers) {
    constexpr uint32_t kRing = 64;
    sidra_model* model = load(counter().file());
    auto options = SIDRA_INIT(sidra_stream_options);
    options.ring_packets = kRing;
    sidra_stream* full = nullptr;
    ASSERT_OK(sidra_stream_create(context, &options, &full));
    block(full);
    for (uint32_t i = 1; i < kRing; ++i) ASSERT_OK(sidra_nop_async(full));
    std::thread waiting([&] { EXPECT_OK(sidra_model_run_async(full, model, 0)); });
    EXPECT_OK(sidra_stream_set_deadline(second, 0));
    int runs = 0;
    EXPECT_TRUE(eventually([&] {
        const sidra_status status = sidra_model_run_async(second, model, 0);
        runs += status == SIDRA_OK ? 1 : 0;
        return status == SIDRA_ERROR_TIMEOUT;
    }));
    expect_said("another thread was still queueing a run of variant 0");
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT,
                 sidra_model_run(second, model, 0, nullptr, nullptr, sidra_deadline_after_ns(5'000'000)));
    expect_said("another thread was still queueing a run of variant 0");
    sidra_buffer* buffer = nullptr;
    EXPECT_OK(sidra_model_get_buffer(model, 0, &buffer));
    unblock();
    waiting.join();
    EXPECT_OK(sidra_stream_set_deadline(second, SIDRA_NEVER));
    int32_t number = 0;
    void* const outputs[] = {&number};
    EXPECT_OK(sidra_model_run(second, model, 0, nullptr, outputs, soon()));
    EXPECT_EQ(runs + 2, number);
    EXPECT_OK(sidra_stream_destroy(full));
}

TEST_F(ModelStreams, ADeadlinePassesAndTheRunContinues) {
    sidra_model* model = load(counter().file());
    int32_t number = -1;
    void* const outputs[] = {&number};
    block(stream);
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_model_run(stream, model, 0, nullptr, outputs, 0));
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_model_run(second, model, 0, nullptr, outputs, 0));  // the first continues
    EXPECT_EQ(-1, number);
    unblock();
    EXPECT_OK(sidra_model_run(second, model, 0, nullptr, outputs, soon()));
    EXPECT_EQ(2, number);
}

TEST_F(ModelStreams, AResetOfOneThatWaitsForAnotherEndsNoWait) {
    sidra_model* model = load(counter().file());
    const auto count = memory<int32_t>(model, 0, 0, 1);
    block(stream);
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    ASSERT_OK(sidra_model_run_async(second, model, 0));
    ASSERT_OK(sidra_stream_reset(second));  // drops the run, and the wait before it
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT,
                 sidra_model_run(second, model, 0, nullptr, nullptr, sidra_deadline_after_ns(5'000'000)));
    ASSERT_OK(sidra_model_run_async(second, model, 0));
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_stream_synchronize(second, sidra_deadline_after_ns(5'000'000)));
    EXPECT_EQ(0, count[0]);
    unblock();
    EXPECT_OK(sidra_model_run(second, model, 0, nullptr, nullptr, soon()));
    EXPECT_EQ(3, count[0]);
}

TEST_F(ModelStreams, BatchesAndRecordings) {
    sidra_model* model = load(counter().file());
    const auto count = memory<int32_t>(model, 0, 0, 1);
    ASSERT_OK(sidra_batch_begin(stream));
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    ASSERT_OK(sidra_model_run(stream, model, 0, nullptr, nullptr, soon())) << "submits the batch";
    ASSERT_OK(sidra_batch_end(stream));
    EXPECT_EQ(2, count[0]);
    ASSERT_OK(sidra_graph_begin(stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_model_run_async(stream, model, 0));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_graph_end(stream, nullptr));  // drops the recording
    ASSERT_OK(sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
    EXPECT_EQ(3, count[0]);
}

TEST_F(ModelStreams, DestructionWithARunInAQueue) {
    sidra_model* model = load(counter().file());
    block(stream);
    ASSERT_OK(sidra_model_run_async(stream, model, 0));
    destroy(model);
    unblock();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    EXPECT_OK(sidra_stream_reset(stream));
}

// It is the model's own, so this is a mistake; but one with a handle that the application has.
TEST_F(ModelStreams, ABufferThatTheApplicationDestroys) {
    for (const bool with_host : {false, true})
        for (const bool after_a_run : {false, true}) {
            sidra_model* model = load(with_host ? HostModel().model.file() : counter().file());
            sidra_buffer* buffer = nullptr;
            ASSERT_OK(sidra_model_get_buffer(model, 0, &buffer));
            if (after_a_run) ASSERT_OK(sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
            ASSERT_OK(sidra_buffer_destroy(buffer));
            const std::string said = "`buffer of the variant`";
            EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_model_run_async(stream, model, 0));
            expect_said(said);
            EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
            expect_said(said);
            EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_model_get_buffer(model, 0, &buffer));
            expect_said(said);
            destroy(model);
        }
}

TEST_F(ModelStreams, AContextIsRecovered) {
    Perceptron network({2}, 5);
    sidra_model* model = deploy(network.model.file());
    expect_answers(network, model, 0, pixels(2));
    if (on_a_node()) GTEST_SKIP() << "resets need root";
    ASSERT_OK(sidra_device_reset(device));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_model_run(stream, model, 0, nullptr, nullptr, soon()));
    ASSERT_OK(sidra_context_recover(context));
    expect_answers(network, model, 0, pixels(2));
}

// Index 9 of a table of 4 elements.
TEST_F(ModelStreams, AFaultNamesTheCall) {
    TestModel test;
    const std::vector<float> table = {1, 2, 3, 4};
    const fb::Place at = test.add_constants(table.data(), table.size() * sizeof(float));
    const uint32_t program = test.add_program("pass:\nv0 = load_int o0\nv1 = gather o1, v0\nstore o2, v1\n");
    const uint32_t variant = test.add_variant(128);
    test.add_input(variant, "index", fb::Type::S32, {1}, 0);
    test.add_output(variant, "value", fb::Type::F32, {1}, 64);
    for (const std::string name : {"/first/Gather", "/second/Gather"}) {
        fb::VectorT vector;
        vector.program = program;
        vector.size = {1, 1, 1, 1};
        vector.operands = operands(dense_operand(work(0), fb::Type::S32, {1, 1, 1, 1}), row_operand(at, fb::Type::F32),
                                   dense_operand(work(64), fb::Type::F32, {1, 1, 1, 1}));
        vector.operands[1]->extent = 4;
        test.add_call(variant, name, std::move(vector));
    }
    sidra_model* model = load(test.file());
    int32_t index = 2;
    float value = 0;
    const void* const inputs[] = {&index};
    void* const outputs[] = {&value};
    ASSERT_OK(sidra_model_run(stream, model, 0, inputs, outputs, soon()));
    EXPECT_EQ(3, value);
    index = 9;
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_model_run(stream, model, 0, inputs, outputs, soon()));
    expect_said("variant 0, call 0 '/first/Gather'");
    auto fault = SIDRA_INIT(sidra_fault_info);
    ASSERT_OK(sidra_stream_fault(stream, &fault));
    EXPECT_EQ(0u, fault.cookie);
    EXPECT_TRUE(fault.in_graph);
    ASSERT_OK(sidra_stream_reset(stream));
    index = 0;
    EXPECT_OK(sidra_model_run(stream, model, 0, inputs, outputs, soon()));
    EXPECT_EQ(1, value);
}

}  // namespace
}  // namespace sidra::test
