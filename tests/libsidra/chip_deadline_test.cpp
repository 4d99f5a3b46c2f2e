// SPDX-License-Identifier: MIT
// A full ring: no call that queues waits longer than it was told, and none makes another one wait.
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "chip_fixture.h"
#include "says_nothing.h"

namespace sidra::test {
namespace {

class ChipDeadline : public ChipTest {
   protected:
    static constexpr uint32_t kRing = 64;

    void SetUp() override {
        ChipTest::SetUp();
        auto options = SIDRA_INIT(sidra_stream_options);
        options.ring_packets = kRing;
        ASSERT_OK(sidra_stream_create(context, &options, &full));
        ASSERT_OK(sidra_buffer_create(context, 1 << 16, 0, &data));
        const std::vector<int8_t> values(16, 1);
        ASSERT_OK(sidra_weights_create_s8(context, 4, 4, values.data(), 4, nullptr, nullptr, &weights));
        ASSERT_OK(sidra_weights_create_s8(context, 4, 4, values.data(), 4, nullptr, nullptr, &fresh));
        ASSERT_OK(sidra_weights_program_async(stream, weights));
        synchronize();
    }
    void TearDown() override {
        EXPECT_OK(sidra_stream_destroy(full));
        for (sidra_weights* each : {weights, fresh}) EXPECT_OK(sidra_weights_destroy(each));
        EXPECT_OK(sidra_buffer_destroy(data));
        ChipTest::TearDown();
    }
    // The stream waits for release(), and its ring is full.
    void fill() {
        ASSERT_OK(sidra_semaphore_wait_async(full, {data, 0}, 1));
        for (uint32_t i = 1; i < kRing; ++i) ASSERT_OK(sidra_nop_async(full));
    }
    void release() { ASSERT_OK(sidra_semaphore_signal(context, {data, 0}, 1)); }
    uint64_t queued() {
        uint64_t submitted = 0;
        EXPECT_OK(sidra_stream_timeline(full, &submitted, nullptr));
        return submitted;
    }

    sidra_stream* full = nullptr;
    sidra_buffer* data = nullptr;
    sidra_weights *weights = nullptr, *fresh = nullptr;
};

TEST_F(ChipDeadline, EveryCallThatQueuesEndsWithTheStreamsDeadline) {
    auto mvm = SIDRA_INIT(sidra_mvm);
    mvm.batch = 1;
    mvm.in_type = SIDRA_U8, mvm.out_type = SIDRA_S32;
    mvm.in = {data, 64}, mvm.out = {data, 128};
    sidra_program* program = nullptr;
    ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load o0\nstore o1, v0", &program));
    const uint32_t size[4] = {1, 1, 1, 4};
    const sidra_vector_operand operands[] = {sidra_operand_dense({data, 256}, SIDRA_F32, size),
                                             sidra_operand_dense({data, 512}, SIDRA_F32, size)};
    auto vector = SIDRA_INIT(sidra_vector);
    vector.program = program;
    std::copy(std::begin(size), std::end(size), vector.size);
    vector.operands = operands, vector.operand_count = 2;
    sidra_event *timed = nullptr, *waited = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_TIMING, &timed));
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &waited));
    ASSERT_OK(sidra_semaphore_wait_async(stream, {data, 8}, 1));
    ASSERT_OK(sidra_event_record(waited, stream));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(full));
    ASSERT_OK(sidra_nop_async(full));
    ASSERT_OK(sidra_graph_end(full, &graph));
    const int8_t update[4] = {2, 2, 2, 2};
    int8_t read[16];

    const std::vector<std::pair<const char*, std::function<sidra_status()>>> calls = {
        {"nop", [&] { return sidra_nop_async(full); }},
        {"barrier", [&] { return sidra_barrier_async(full); }},
        {"copy",
         [&] {
             return sidra_copy_async(full, {data, 1024}, {data, 2048}, 8);
         }},
        {"copy 2d",
         [&] {
             return sidra_copy_2d_async(full, {data, 1024}, 16, {data, 2048}, 16, 8, 2);
         }},
        {"fill",
         [&] {
             return sidra_fill_async(full, {data, 1024}, 0, 8, 8);
         }},
        {"timestamp",
         [&] {
             return sidra_timestamp_async(full, {data, 1024});
         }},
        {"signal",
         [&] {
             return sidra_semaphore_signal_async(full, {data, 16}, 1);
         }},
        {"wait",
         [&] {
             return sidra_semaphore_wait_async(full, {data, 16}, 1);
         }},
        {"mvm", [&] { return sidra_mvm_async(full, weights, &mvm); }},
        {"calibrate", [&] { return sidra_weights_calibrate_async(full, weights, &mvm); }},
        {"function", [&] { return sidra_relu(full, size, &operands[1], &operands[0]); }},
        {"vector", [&] { return sidra_vector_async(full, &vector); }},
        {"program", [&] { return sidra_weights_program_async(full, fresh); }},
        {"update", [&] { return sidra_weights_update_async(full, weights, 0, 1, 0, 4, update, 4); }},
        {"refresh", [&] { return sidra_weights_refresh_async(full, weights, 0); }},
        {"read", [&] { return sidra_weights_read(full, weights, read, 4, soon()); }},
        {"graph", [&] { return sidra_graph_launch_async(full, graph); }},
        {"time", [&] { return sidra_event_record(timed, full); }},
        {"wait event", [&] { return sidra_stream_wait_event(full, waited); }},
    };
    fill();
    const uint64_t before = queued();
    for (const uint64_t ns : {0, 5'000'000}) {
        for (const auto& [name, call] : calls) {
            ASSERT_OK(sidra_stream_set_deadline(full, ns == 0 ? 0 : sidra_deadline_after_ns(ns)));
            SCOPED_TRACE(name);
            EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, call());
            EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("stream's deadline")) << name;
        }
        EXPECT_EQ(before, queued());
    }
    ASSERT_OK(sidra_stream_set_deadline(full, SIDRA_NEVER));
    release();
    ASSERT_OK(sidra_stream_synchronize(full, soon()));
    ASSERT_OK(sidra_semaphore_signal(context, {data, 8}, 1));
    ASSERT_OK(sidra_semaphore_signal(context, {data, 16}, 1));
    // Nothing was half done: each of them works now.
    for (const auto& [name, call] : calls) EXPECT_OK(call()) << name;
    EXPECT_OK(sidra_stream_synchronize(full, soon()));
    synchronize();
    for (sidra_event* each : {timed, waited}) EXPECT_OK(sidra_event_destroy(each));
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_program_destroy(program));
}

TEST_F(ChipDeadline, ACallWithADeadlineOfItsOwnKeepsIt) {
    fill();
    int8_t values[16];
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_weights_read(full, weights, values, 4, sidra_deadline_after_ns(5'000'000)));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("call's deadline")) << sidra_last_error();
    EXPECT_EQ(kRing, queued());
    release();
    ASSERT_OK(sidra_weights_read(full, weights, values, 4, soon()));
    EXPECT_EQ(1, values[15]);
}

// There is room in the new epoch, so the call succeeds.
TEST_F(ChipDeadline, AResetMakesRoom) {
    fill();
    std::atomic<bool> begun{false};
    std::thread waiting([&] {
        const SaysNothing quiet;
        begun = true;
        EXPECT_OK(sidra_nop_async(full));
    });
    while (!begun) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();  // at last it waits
    EXPECT_OK(sidra_stream_reset(full));
    waiting.join();
    EXPECT_OK(sidra_stream_synchronize(full, soon()));
}

// A thread waits for room to program; whoever asks about the weights must not wait with it.
TEST_F(ChipDeadline, QueriesDoNotWaitForTheRing) {
    fill();
    // Of two such threads one waits, and the other is refused at once.
    std::atomic<int> refused{0}, programmed{0};
    const auto program = [&] {
        if (const sidra_status status = sidra_weights_program_async(full, fresh); status == SIDRA_OK) ++programmed;
        else if (status == SIDRA_ERROR_INVALID_ARGUMENT) ++refused;
    };
    std::thread one(program), other(program);
    EXPECT_TRUE(eventually([&] { return refused == 1; }));
    uint32_t done = 1, total = 0;
    EXPECT_OK(sidra_weights_progress(fresh, &done, &total));
    EXPECT_EQ(0u, done);
    auto info = SIDRA_INIT(sidra_weights_info);
    EXPECT_OK(sidra_weights_get_info(fresh, &info));
    EXPECT_FALSE(info.programmed);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_weights_program_async(stream, fresh));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("being programmed")) << sidra_last_error();
    release();
    one.join(), other.join();
    EXPECT_EQ(1, programmed);
    ASSERT_OK(sidra_stream_synchronize(full, soon()));
    EXPECT_OK(sidra_weights_get_info(fresh, &info));
    EXPECT_TRUE(info.programmed);
    EXPECT_GT(info.program_device_ps, 0u);
}

}  // namespace
}  // namespace sidra::test
