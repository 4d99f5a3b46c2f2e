// SPDX-License-Identifier: MIT
// Pipelines of models that no compiler has made. (Networks in pipelines: tests/pipeline.)
#include <atomic>
#include <thread>

#include "busy_thread.h"
#include "model_fixture.h"
#include "patience.h"
#include "pipeline.h"

namespace sidra::test {
namespace {

class PipelineFiles : public ModelTest {
   protected:
    sidra_status create(TestModel& model) {
        const TestFile file(model.file());
        sidra_pipeline* pipeline = nullptr;
        return sidra_pipeline_create(&context, 1, file.path(), &pipeline);
    }
};

// Four runs of 2^62 bytes would be none.
TEST_F(PipelineFiles, MoreWorkThanAnAddressSpaceIsRefused) {
    constexpr uint64_t kHuge = uint64_t{1} << 62;
    TestModel model;
    model.add_input(model.add_variant(kHuge + 4096), "x", fb::Type::U8, {1u << 31, 1u << 31}, 0);
    model.add_input(model.add_variant(1 << 20), "x", fb::Type::U8, {1 << 20}, 0);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, create(model));
    expect_said("variant 0, work is 4611686018427392000 bytes, which do not fit in the 39-bit address space");
}

TEST_F(PipelineFiles, OverlappingInputsThatDoNotFitAreRefused) {
    constexpr uint64_t kBytes = uint64_t{1} << 38;
    TestModel model;
    const uint32_t variant = model.add_variant(kBytes);
    for (int i = 0; i < 1000; ++i) model.add_input(variant, "x", fb::Type::U8, {1u << 31, 1u << 7}, 0);
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, create(model));
    expect_said("bytes do not fit in the 39-bit address space of a context");
}

// The gates of many functions of the host fill a ring, while the thread that opens them has other things to do.
TEST_F(PipelineFiles, QueriesDoNotWaitForASubmissionThatWaitsForRoom) {
    constexpr uint32_t kFunctions = 300, kRing = 1024;
    TestModel model;
    const uint32_t variant = model.add_variant(64);
    for (uint32_t i = 0; i < kFunctions; ++i) {
        fb::HostT host;
        host.function = "power";
        for (int input = 0; input < 2; ++input)
            host.inputs.push_back(std::make_unique<fb::ArrayT>(host_array(work(0), fb::Type::S64, {0})));
        host.output = std::make_unique<fb::ArrayT>(host_array(work(0), fb::Type::S64, {0}));
        model.add_call(variant, "/Pow", std::move(host));
    }
    const TestFile file(model.file());
    sidra_pipeline* pipeline = nullptr;
    ASSERT_OK(sidra_pipeline_create(&context, 1, file.path(), &pipeline));
    sidra_stream* const computes = HandleTable<sidra_pipeline>::find(parts_of(pipeline))->stages.front().compute;
    {
        BusyThread busy(stream);
        ASSERT_OK(sidra_pipeline_submit(pipeline, 0, nullptr));
        std::thread waiting([&] { EXPECT_OK(sidra_pipeline_submit(pipeline, 0, nullptr)); });
        EXPECT_TRUE(eventually([&] {
            uint64_t submitted = 0;
            EXPECT_OK(sidra_stream_timeline(computes, &submitted, nullptr));
            return submitted >= kRing;
        }));
        auto info = SIDRA_INIT(sidra_pipeline_info);
        EXPECT_OK(sidra_pipeline_get_info(pipeline, &info));
        EXPECT_EQ(1u, info.runs);
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_pipeline_receive(pipeline, nullptr, 0));
        busy.end();
        waiting.join();
    }
    for (int run = 0; run < 2; ++run) EXPECT_OK(sidra_pipeline_receive(pipeline, nullptr, soon()));
    EXPECT_OK(sidra_pipeline_destroy(pipeline));
}

class PipelineRuns : public ModelStreams {
   protected:
    void SetUp() override {
        ModelStreams::SetUp();
        const TestFile file(TwoStages::file());
        ASSERT_OK(sidra_context_create(device, &other));
        sidra_context* const contexts[] = {context, other};
        ASSERT_OK(sidra_pipeline_create(contexts, 2, file.path(), &pipeline));
        ASSERT_OK(sidra_pipeline_deploy_async(pipeline));
    }
    void TearDown() override {
        EXPECT_OK(sidra_pipeline_destroy(pipeline));
        EXPECT_OK(sidra_context_destroy(other));
        ModelStreams::TearDown();
    }
    static constexpr float input(size_t i) { return static_cast<float>(i) + 0.5f; }
    sidra_status submit() {
        std::vector<float> x(TwoStages::kElements);
        for (size_t i = 0; i < x.size(); ++i) x[i] = input(i);
        const void* const inputs[] = {x.data()};
        return sidra_pipeline_submit(pipeline, 0, inputs);
    }
    // What comes is right.
    sidra_status receive() {
        std::vector<float> y(TwoStages::kElements);
        void* const outputs[] = {y.data()};
        const sidra_status status = sidra_pipeline_receive(pipeline, outputs, soon());
        for (size_t i = 0; status == SIDRA_OK && i < y.size(); ++i) EXPECT_EQ(2 * input(i) + 1, y[i]);
        return status;
    }

    sidra_context* other = nullptr;
    sidra_pipeline* pipeline = nullptr;
};

TEST_F(PipelineRuns, AThreadThatReceivesKeepsTheDeadlinesOfOthers) {
    sidra_model* model = nullptr;
    ASSERT_OK(sidra_pipeline_get_stage(pipeline, 0, &model));
    block(stream);
    ASSERT_OK(sidra_model_run_async(stream, model, 0));  // the pipeline's run waits for it
    for (int run = 0; run < 2; ++run) ASSERT_OK(submit());
    std::thread receiver([&] { EXPECT_OK(receive()); });
    for (int i = 0; i < 10'000; ++i) {  // at last the thread waits
        EXPECT_EQ(SIDRA_ERROR_TIMEOUT, sidra_pipeline_receive(pipeline, nullptr, 0));
        std::this_thread::yield();
    }
    unblock();
    EXPECT_OK(receive());
    receiver.join();
}

// The first run of each round waits for one of its stage's model, which is queued beside the pipeline. In every other
// round it may end while the pipeline is being reset.
TEST_F(PipelineRuns, AResetWhileAThreadReceives) {
    constexpr uint64_t kRounds = 40;
    sidra_model* model = nullptr;
    ASSERT_OK(sidra_pipeline_get_stage(pipeline, 0, &model));
    bool was_dropped = false;
    for (uint64_t round = 1; round <= kRounds || !was_dropped; ++round) {
        ASSERT_OK(sidra_semaphore_wait_async(stream, words->at(), round));
        ASSERT_OK(sidra_model_run_async(stream, model, 0));
        ASSERT_OK(submit());
        std::atomic<bool> begun = false;
        sidra_status received = SIDRA_OK;
        std::thread receiver([&] {
            begun = true;
            received = receive();
        });
        while (!begun) std::this_thread::yield();
        for (uint64_t i = 0; i < round * 10; ++i) std::this_thread::yield();  // at last it waits
        if (round % 2 == 0) EXPECT_OK(sidra_semaphore_signal(context, words->at(), round));
        EXPECT_OK(sidra_pipeline_reset(pipeline));
        receiver.join();
        if (round % 2 != 0) EXPECT_OK(sidra_semaphore_signal(context, words->at(), round));
        EXPECT_TRUE(received == SIDRA_OK || received == SIDRA_ERROR_FAULT || received == SIDRA_ERROR_NOT_FOUND)
            << received;
        was_dropped = was_dropped || (round % 2 != 0 && received == SIDRA_ERROR_FAULT);
        auto info = SIDRA_INIT(sidra_pipeline_info);
        ASSERT_OK(sidra_pipeline_get_info(pipeline, &info));
        ASSERT_EQ(0u, info.runs) << "round " << round;
        ASSERT_OK(submit());
        ASSERT_OK(receive());
    }
}

}  // namespace
}  // namespace sidra::test
