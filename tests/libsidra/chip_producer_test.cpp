// SPDX-License-Identifier: MIT
// Streams that wait for work of other streams which fails or is dropped: none computes with missing data, none waits
// forever, and each learns the root cause.
#include <poll.h>

#include <atomic>
#include <string>
#include <thread>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

class Producer : public ChipTest {
   protected:
    void SetUp() override {
        ChipTest::SetUp();
        for (sidra_stream** made : {&producer, &last}) ASSERT_OK(sidra_stream_create(context, nullptr, made));
        ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
        ASSERT_OK(sidra_buffer_create(context, 4096, 0, &words));
        ASSERT_OK(sidra_buffer_create(context, 4096, 0, &data));
    }
    void TearDown() override {
        EXPECT_OK(sidra_event_destroy(event));
        for (sidra_stream* made : {producer, last}) EXPECT_OK(sidra_stream_destroy(made));
        for (sidra_buffer* made : {words, data}) EXPECT_OK(sidra_buffer_destroy(made));
        ChipTest::TearDown();
    }
    uint64_t value_at(size_t offset) {
        void* address = nullptr;
        EXPECT_OK(sidra_buffer_map(data, &address));
        return __atomic_load_n(reinterpret_cast<uint64_t*>(static_cast<char*>(address) + offset), __ATOMIC_ACQUIRE);
    }
    // Operation 0 waits for the host, operation 1 writes the others' input; with `bad` it faults.
    void produce(bool bad) {
        ASSERT_OK(sidra_semaphore_wait_async(producer, {words, 0}, 1));
        if (bad) {
            void* address = nullptr;
            ASSERT_OK(sidra_buffer_map(data, &address));
            static_cast<uint32_t*>(address)[512] = 7;  // beyond the table
            const uint32_t one[4] = {1, 1, 1, 1};
            const sidra_array table = sidra_operand_dense({data, 0}, SIDRA_S32, one);
            const sidra_array out = sidra_operand_dense({data, 1024}, SIDRA_S32, one);
            ASSERT_OK(sidra_gather_rows(producer, one, &out, &table, 1, {data, 2048}, SIDRA_S32));
        } else {
            ASSERT_OK(sidra_fill_async(producer, {data, 0}, 42, 8, 8));
        }
        ASSERT_OK(sidra_event_record(event, producer));
    }
    // `stream` reads the produced data, `last` the output of `stream`.
    void consume() {
        ASSERT_OK(sidra_stream_wait_event(stream, event));
        ASSERT_OK(sidra_fill_async(stream, {data, 8}, 43, 8, 8));
        sidra_event* second = nullptr;
        ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &second));
        ASSERT_OK(sidra_event_record(second, stream));
        ASSERT_OK(sidra_stream_wait_event(last, second));
        ASSERT_OK(sidra_fill_async(last, {data, 16}, 44, 8, 8));
        EXPECT_OK(sidra_event_destroy(second));
    }
    void release() { ASSERT_OK(sidra_semaphore_signal(context, {words, 0}, 1)); }

    // Both have stopped at once, have executed nothing after their waits, and name operation `sequence` of `root`.
    void expect_poisoned(uint32_t root, uint64_t sequence, uint32_t cause) {
        for (sidra_stream* each : {stream, last}) {
            EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(each, SIDRA_NEVER));
            const std::string text = sidra_last_error();
            for (const std::string& part :
                 {"stream " + std::to_string(root) + ", operation " + std::to_string(sequence),
                  std::string("what it waited for failed")})
                EXPECT_NE(std::string::npos, text.find(part)) << text;
            auto info = SIDRA_INIT(sidra_fault_info);
            ASSERT_OK(sidra_stream_fault(each, &info));
            EXPECT_EQ(uint32_t{SIDRA_FAULT_PRODUCER}, info.cause);
            EXPECT_EQ(root, info.root_stream);
            EXPECT_EQ(sequence, info.root_sequence);
            EXPECT_EQ(cause, info.root_cause);
        }
        EXPECT_EQ(0u, value_at(8));
        EXPECT_EQ(0u, value_at(16));
        // They are as good as new after a reset.
        for (sidra_stream* each : {stream, last}) {
            ASSERT_OK(sidra_stream_reset(each));
            ASSERT_OK(sidra_nop_async(each));
            EXPECT_OK(sidra_stream_synchronize(each, soon()));
        }
    }
    // The stream's number, as its fault record and its messages give it.
    uint32_t id_of(sidra_stream* of) {
        EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_graph_end(of, nullptr));
        const std::string text = sidra_last_error();
        return static_cast<uint32_t>(std::stoul(text.substr(text.find("stream ") + 7)));
    }

    sidra_stream *producer = nullptr, *last = nullptr;
    sidra_event* event = nullptr;
    sidra_buffer *words = nullptr, *data = nullptr;
};

TEST_F(Producer, AFaultStopsWhoeverWaits) {
    produce(true);
    consume();
    const uint32_t root = id_of(producer);
    release();
    expect_poisoned(root, 1, SIDRA_FAULT_VALUE);
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_query(event));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_synchronize(event, SIDRA_NEVER));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_wait_event(stream, event));
    auto info = SIDRA_INIT(sidra_fault_info);
    ASSERT_OK(sidra_stream_fault(producer, &info));
    EXPECT_EQ(root, info.root_stream);
    EXPECT_EQ(info.sequence, info.root_sequence);
    EXPECT_EQ(info.cause, info.root_cause);
}

// The failing operation is one of a graph, and so is the work of those who wait for it.
TEST_F(Producer, AFaultInAGraphStopsWhoeverWaits) {
    sidra_graph *bad = nullptr, *good = nullptr;
    ASSERT_OK(sidra_semaphore_wait_async(producer, {words, 0}, 1));
    ASSERT_OK(sidra_graph_begin(last));
    ASSERT_OK(sidra_nop_async(last));
    void* address = nullptr;
    ASSERT_OK(sidra_buffer_map(data, &address));
    static_cast<uint32_t*>(address)[512] = 7;  // beyond the table
    const uint32_t one[4] = {1, 1, 1, 1};
    const sidra_array table = sidra_operand_dense({data, 0}, SIDRA_S32, one);
    const sidra_array out = sidra_operand_dense({data, 1024}, SIDRA_S32, one);
    ASSERT_OK(sidra_gather_rows(last, one, &out, &table, 1, {data, 2048}, SIDRA_S32));
    ASSERT_OK(sidra_graph_end(last, &bad));
    ASSERT_OK(sidra_graph_begin(last));
    ASSERT_OK(sidra_fill_async(last, {data, 16}, 44, 8, 8));
    ASSERT_OK(sidra_graph_end(last, &good));
    ASSERT_OK(sidra_graph_launch_async(producer, bad));
    sidra_event* timed = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_TIMING, &timed));
    ASSERT_OK(sidra_event_record(timed, producer));
    ASSERT_OK(sidra_stream_wait_event(stream, timed));
    ASSERT_OK(sidra_fill_async(stream, {data, 8}, 43, 8, 8));
    ASSERT_OK(sidra_event_record(event, stream));
    ASSERT_OK(sidra_stream_wait_event(last, event));
    ASSERT_OK(sidra_graph_launch_async(last, good));
    const uint32_t root = id_of(producer);
    release();
    expect_poisoned(root, 1, SIDRA_FAULT_VALUE);
    uint64_t ns = 0;
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_time(timed, &ns));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("operation 1 of its graph"))
        << sidra_last_error();
    EXPECT_OK(sidra_event_destroy(timed));
    for (sidra_graph* graph : {bad, good}) EXPECT_OK(sidra_graph_destroy(graph));
}

TEST_F(Producer, AFaultThatWasResetStopsWhoeverWaits) {
    // The wait is queued before the reset and reaches the device after it.
    ASSERT_OK(sidra_semaphore_wait_async(stream, {words, 8}, 1));
    produce(true);
    consume();
    const uint32_t root = id_of(producer);
    release();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(producer, soon()));
    ASSERT_OK(sidra_stream_reset(producer));
    for (int i = 0; i < 10; ++i) ASSERT_OK(sidra_nop_async(producer));
    ASSERT_OK(sidra_stream_synchronize(producer, soon()));
    ASSERT_OK(sidra_semaphore_signal(context, {words, 8}, 1));
    expect_poisoned(root, 1, SIDRA_FAULT_VALUE);
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_query(event));
    const std::string text = sidra_last_error();
    EXPECT_NE(std::string::npos, text.find("out of range")) << text;
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_wait_event(stream, event));
    ASSERT_OK(sidra_event_record(event, producer));
    EXPECT_OK(sidra_event_query(event));
}

TEST_F(Producer, AResetAtWorkStopsWhoeverWaits) {
    produce(false);
    consume();
    const uint32_t root = id_of(producer);
    ASSERT_OK(sidra_stream_reset(producer));
    release();
    expect_poisoned(root, 0, SIDRA_FAULT_RESET);
    EXPECT_EQ(0u, value_at(0));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_synchronize(event, SIDRA_NEVER));
}

TEST_F(Producer, ADestructionAtWorkStopsWhoeverWaits) {
    produce(false);
    consume();
    const uint32_t root = id_of(producer);
    ASSERT_OK(sidra_stream_destroy(producer));
    producer = nullptr;
    release();
    expect_poisoned(root, 0, SIDRA_FAULT_RESET);
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_query(event));
}

TEST_F(Producer, WhatWasDoneBeforeTheEndCounts) {
    for (const bool destroyed : {false, true}) {
        // The wait is on its way to the device when the stream that has done its work ends.
        const size_t gate = destroyed ? 24 : 16;
        ASSERT_OK(sidra_semaphore_wait_async(stream, {words, gate}, 1));
        ASSERT_OK(sidra_fill_async(producer, {data, 0}, 42, 8, 8));
        ASSERT_OK(sidra_semaphore_wait_async(producer, {words, 8}, 1));
        sidra_event* done = nullptr;
        ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &done));
        ASSERT_OK(sidra_event_record(done, producer));
        ASSERT_OK(sidra_stream_wait_event(stream, done));
        ASSERT_OK(sidra_fill_async(stream, {data, 8}, 43, 8, 8));
        ASSERT_OK(sidra_semaphore_signal(context, {words, 8}, 1));
        ASSERT_OK(sidra_event_synchronize(done, soon()));
        if (destroyed) {
            ASSERT_OK(sidra_stream_destroy(producer));
            producer = nullptr;
            sidra_stream* next = nullptr;  // has the number of the former one
            ASSERT_OK(sidra_stream_create(context, nullptr, &next));
            ASSERT_OK(sidra_stream_destroy(next));
        } else {
            ASSERT_OK(sidra_stream_reset(producer));
        }
        EXPECT_OK(sidra_event_query(done));
        EXPECT_OK(sidra_event_synchronize(done, 0));
        ASSERT_OK(sidra_semaphore_signal(context, {words, gate}, 1));
        synchronize();
        EXPECT_EQ(43u, value_at(8));
        EXPECT_OK(sidra_stream_wait_event(last, done));
        EXPECT_OK(sidra_event_destroy(done));
    }
}

TEST_F(Producer, CallbacksAndDescriptorsTell) {
    std::atomic<int> done{-1}, dropped{-1};
    const auto note = [](sidra_status status, void* user) { static_cast<std::atomic<int>*>(user)->store(status); };
    ASSERT_OK(sidra_nop_async(producer));
    ASSERT_OK(sidra_stream_synchronize(producer, soon()));
    ASSERT_OK(sidra_stream_add_callback(producer, note, &done));
    produce(false);
    consume();
    ASSERT_OK(sidra_stream_add_callback(producer, note, &dropped));
    std::atomic<int> poisoned{-1};
    ASSERT_OK(sidra_stream_add_callback(stream, note, &poisoned));
    int fd = -1;
    ASSERT_OK(sidra_stream_get_fd(stream, &fd));
    ASSERT_OK(sidra_stream_reset(producer));
    EXPECT_TRUE(eventually([&] { return done == SIDRA_OK && dropped == SIDRA_ERROR_FAULT; })) << done << dropped;
    EXPECT_TRUE(eventually([&] { return poisoned == SIDRA_ERROR_FAULT; })) << poisoned;
    pollfd readable{fd, POLLIN, 0};
    EXPECT_EQ(1, poll(&readable, 1, 60'000));
    for (sidra_stream* each : {stream, last}) ASSERT_OK(sidra_stream_reset(each));
}

TEST_F(Producer, AStreamOnItsOwnGoesOn) {
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    produce(true);
    consume();
    release();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(last, SIDRA_NEVER));
    ASSERT_OK(sidra_fill_async(other, {data, 64}, 5, 8, 8));
    EXPECT_OK(sidra_stream_synchronize(other, soon()));
    EXPECT_EQ(5u, value_at(64));
    EXPECT_OK(sidra_stream_destroy(other));
    for (sidra_stream* each : {producer, stream, last}) ASSERT_OK(sidra_stream_reset(each));
}

// A thread resets the producer at any time. Whoever waits for its work then has either the data or a fault, be it that
// the wait, the copy behind it, or their end says so.
TEST_F(Producer, NoResetMakesDroppedWorkLookDone) {
    for (uint64_t round = 1; round <= 500; ++round) {
        ASSERT_OK(sidra_fill_async(producer, {data, 0}, round, 8, 8));
        ASSERT_OK(sidra_event_record(event, producer));
        std::thread resets([&] { EXPECT_OK(sidra_stream_reset(producer)); });
        const sidra_status wait_queued = sidra_stream_wait_event(stream, event);
        const sidra_status copy_queued =
            wait_queued == SIDRA_OK ? sidra_copy_async(stream, {data, 8}, {data, 0}, 8) : wait_queued;
        const sidra_status waited = sidra_event_synchronize(event, soon());
        const sidra_status consumed = sidra_stream_synchronize(stream, soon());
        resets.join();
        ASSERT_TRUE(waited == SIDRA_OK || waited == SIDRA_ERROR_FAULT) << sidra_last_error();
        ASSERT_EQ(waited, sidra_event_query(event));
        ASSERT_EQ(waited == SIDRA_OK, value_at(0) == round);
        if (copy_queued == SIDRA_OK) {
            ASSERT_EQ(waited, consumed) << round;
            if (waited == SIDRA_OK) ASSERT_EQ(value_at(8), round);
        } else {
            ASSERT_EQ(SIDRA_ERROR_FAULT, copy_queued) << sidra_last_error();
            ASSERT_EQ(SIDRA_ERROR_FAULT, waited) << round;
        }
        if (wait_queued == SIDRA_OK && consumed != SIDRA_OK) ASSERT_OK(sidra_stream_reset(stream));
    }
}

}  // namespace
}  // namespace sidra::test
