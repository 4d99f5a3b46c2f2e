// SPDX-License-Identifier: MIT
// Streams, buffers, events, graphs and callbacks on a real chip model.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

using ChipStream = ChipTest;

TEST_F(ChipStream, DeviceInfo) {
    auto info = SIDRA_INIT(sidra_device_info);
    ASSERT_OK(sidra_device_get_info(device, &info));
    EXPECT_EQ(on_a_node() ? node_name() : "sidra0", info.name);
    EXPECT_STREQ(on_a_node() ? "kernel" : "embedded", info.transport);
    EXPECT_EQ(on_a_node(), info.engine[0] == '\0') << "only an embedded chip can tell";
    EXPECT_TRUE(info.model);
    EXPECT_EQ(info.crossbars_total, info.clusters * info.cus_per_cluster * info.crossbars_per_cu);
    EXPECT_EQ(info.crossbars_total, info.crossbars_free);
    EXPECT_EQ(256u, info.rows);
    EXPECT_EQ(info.l3_size, info.l3_free);
    EXPECT_EQ(SIDRA_HW_VERSION, info.hw_version);
    uint64_t d0 = 0, m0 = 0, d1 = 0, m1 = 0;
    // A thread that is interrupted between the two readings sees the clocks differ, but not each time.
    EXPECT_TRUE(eventually([&] {
        EXPECT_OK(sidra_device_clock(device, &d0, &m0));
        usleep(2000);
        EXPECT_OK(sidra_device_clock(device, &d1, &m1));
        EXPECT_GE(m1 - m0, 2'000'000u);
        EXPECT_GE(d1 - d0, 2'000'000u);
        return d1 - d0 < m1 - m0 + 1'000'000;
    }));
}

TEST_F(ChipStream, CopyFillAndCopy2d) {
    const Buffer a(context, 100'000), b(context, 100'000), local(context, 8192, SIDRA_BUFFER_DEVICE);
    randomise(a.as(), 0, 255);
    ASSERT_OK(sidra_copy_async(stream, b.at(3), a.at(1), 99'990));
    ASSERT_OK(sidra_fill_async(stream, b.at(40'000), 0x0a0b0c0d, 4, 400));
    ASSERT_OK(sidra_copy_async(stream, local.at(5), a.at(77), 8000));
    ASSERT_OK(sidra_copy_2d_async(stream, b.at(50'000), 100, local.at(5), 80, 50, 20));
    synchronize();
    std::vector<uint8_t> expected(100'000, 0);
    std::memcpy(expected.data() + 3, a.as().data() + 1, 99'990);
    for (int i = 0; i < 100; ++i) std::memcpy(expected.data() + 40'000 + i * 4, "\x0d\x0c\x0b\x0a", 4);
    for (int row = 0; row < 20; ++row)
        std::memcpy(expected.data() + 50'000 + row * 100, a.as().data() + 77 + row * 80, 50);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), b.as().begin()));
}

TEST_F(ChipStream, RegisteredMemoryAtAnyAddress) {
    std::vector<uint8_t> memory(300'001);
    const Buffer buffer(context, memory.size());
    randomise(buffer.as(), 0, 255);
    for (const size_t start : {size_t{1}, size_t{4095}, size_t{13}}) {
        sidra_buffer* registered = nullptr;
        const size_t size = memory.size() - start - 7;
        std::fill(memory.begin(), memory.end(), uint8_t{0xee});
        ASSERT_OK(sidra_buffer_register(context, memory.data() + start, size, false, &registered));
        void* address = nullptr;
        EXPECT_OK(sidra_buffer_map(registered, &address));
        EXPECT_EQ(memory.data() + start, address);
        ASSERT_OK(sidra_copy_async(stream, {registered, 0}, buffer.at(), size));
        synchronize();
        EXPECT_EQ(0xee, memory[start - 1]);
        EXPECT_EQ(0xee, memory[start + size]);
        EXPECT_TRUE(std::equal(memory.begin() + static_cast<ptrdiff_t>(start),
                               memory.begin() + static_cast<ptrdiff_t>(start + size), buffer.as().begin()));
        EXPECT_OK(sidra_buffer_destroy(registered));
    }
}

TEST_F(ChipStream, L3RunsOutAndComesBack) {
    auto info = SIDRA_INIT(sidra_device_info);
    ASSERT_OK(sidra_device_get_info(device, &info));
    sidra_buffer *all = nullptr, *more = nullptr;
    ASSERT_OK(sidra_buffer_create(context, info.l3_size, SIDRA_BUFFER_DEVICE, &all));
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_DEVICE_MEMORY, sidra_buffer_create(context, 1, SIDRA_BUFFER_DEVICE, &more));
    void* address = nullptr;
    ASSERT_OK(sidra_buffer_map(all, &address));
    std::memset(address, 0x5a, info.l3_size);
    ASSERT_OK(sidra_buffer_destroy(all));
    ASSERT_OK(sidra_buffer_create(context, info.l3_size, SIDRA_BUFFER_DEVICE, &more));
    ASSERT_OK(sidra_buffer_map(more, &address));
    EXPECT_EQ(0, static_cast<unsigned char*>(address)[0]) << "L3 must be zeroed";
    EXPECT_EQ(0, static_cast<unsigned char*>(address)[info.l3_size - 1]);
    EXPECT_OK(sidra_buffer_destroy(more));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_create(context, 0, 0, &more));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_create(context, 1, 2, &more));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_create(context, 1, 0, nullptr));
    const size_t whole_space = size_t{1} << SIDRA_VA_BITS;
    for (const size_t size : {whole_space, SIZE_MAX}) {
        EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, sidra_buffer_create(context, size, 0, &more));
        EXPECT_FAILS(SIDRA_ERROR_OUT_OF_DEVICE_MEMORY, sidra_buffer_create(context, size, SIDRA_BUFFER_DEVICE, &more));
    }
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, sidra_buffer_register(context, &address, whole_space, false, &more));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_register(context, nullptr, 1, false, &more));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_buffer_register(context, &address, SIZE_MAX, false, &more));
}

TEST_F(ChipStream, TimelineReportsTimestampsAndDeviceTime) {
    auto options = SIDRA_INIT(sidra_stream_options);
    options.reports = true;
    options.ring_packets = 64;
    sidra_stream* reporting = nullptr;
    ASSERT_OK(sidra_stream_create(context, &options, &reporting));
    const Buffer buffer(context, 1 << 16);
    for (int i = 0; i < 5; ++i) ASSERT_OK(sidra_copy_async(reporting, buffer.at(0), buffer.at(32768), 32768));
    ASSERT_OK(sidra_timestamp_async(reporting, buffer.at(0)));
    ASSERT_OK(sidra_stream_synchronize(reporting, soon()));
    uint64_t submitted = 0, completed = 0, ps = 0, pj = 0;
    EXPECT_OK(sidra_stream_timeline(reporting, &submitted, &completed));
    EXPECT_EQ(6u, submitted);
    EXPECT_EQ(6u, completed);
    EXPECT_OK(sidra_stream_device_time(reporting, &ps, &pj));
    uint64_t sum_ps = 0, sum_pj = 0;
    for (uint64_t i = 0; i < 6; ++i) {
        auto report = SIDRA_INIT(sidra_operation_report);
        ASSERT_OK(sidra_stream_report(reporting, i, &report));
        EXPECT_EQ(i < 5 ? uint32_t{SIDRA_CMD_COPY} : uint32_t{SIDRA_CMD_TIMESTAMP}, report.opcode);
        sum_ps += report.device_ps;
        sum_pj += report.energy_pj;
    }
    EXPECT_GT(ps, 0u);
    EXPECT_EQ(ps, sum_ps);
    EXPECT_EQ(pj, sum_pj);
    const auto stamp = buffer.as<sidra_timestamp>()[0];
    EXPECT_EQ(5u, stamp.sequence);
    EXPECT_GT(stamp.clock_ns, 0u);
    EXPECT_GT(stamp.device_ps, 0u);
    EXPECT_LE(stamp.device_ps, ps);
    EXPECT_OK(sidra_stream_destroy(reporting));
}

TEST_F(ChipStream, SmallRingsHoldAnyAmountOfWork) {
    auto options = SIDRA_INIT(sidra_stream_options);
    options.ring_packets = 64;
    sidra_stream* small = nullptr;
    ASSERT_OK(sidra_stream_create(context, &options, &small));
    const Buffer words(context, 8 * 3000);
    for (uint64_t i = 0; i < 3000; ++i) ASSERT_OK(sidra_fill_async(small, words.at(i * 8), i, 8, 8));
    ASSERT_OK(sidra_stream_synchronize(small, soon()));
    for (uint64_t i = 0; i < 3000; ++i) ASSERT_EQ(i, words.as<uint64_t>()[i]);
    EXPECT_OK(sidra_stream_destroy(small));
}

TEST_F(ChipStream, AFullRingBlocksUntilTheDeadline) {
    auto options = SIDRA_INIT(sidra_stream_options);
    options.ring_packets = 64;
    sidra_stream* small = nullptr;
    ASSERT_OK(sidra_stream_create(context, &options, &small));
    const Buffer words(context, 4096);
    const int8_t value = 1;
    sidra_weights* weights = nullptr;
    ASSERT_OK(sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, &weights));
    ASSERT_OK(sidra_graph_begin(small));
    ASSERT_OK(sidra_nop_async(small));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_end(small, &graph));
    sidra_event* event = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(8), 1));
    ASSERT_OK(sidra_event_record(event, stream));

    // Only this thread will signal: without a deadline it would wait for itself.
    ASSERT_OK(sidra_semaphore_wait_async(small, words.at(0), 1));
    for (int i = 1; i < 64; ++i) ASSERT_OK(sidra_nop_async(small));
    const uint32_t one[4] = {1, 1, 1, 1};
    const sidra_array number = sidra_operand_dense(words.at(64), SIDRA_F32, one);
    auto mvm = SIDRA_INIT(sidra_mvm);
    mvm.batch = 1, mvm.in_type = SIDRA_U8, mvm.out_type = SIDRA_S32, mvm.in = words.at(128), mvm.out = words.at(192);
    for (const uint64_t deadline : {uint64_t{0}, sidra_deadline_after_ns(1'000'000)}) {
        ASSERT_OK(sidra_stream_set_deadline(small, deadline));
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_nop_async(small));
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "is full: 64 operations")) << sidra_last_error();
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_fill_async(small, words.at(256), 1, 8, 8));
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_copy_async(small, words.at(256), words.at(512), 8));
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_semaphore_signal_async(small, words.at(16), 1));
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_stream_wait_event(small, event));
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_graph_launch_async(small, graph));
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_relu(small, one, &number, &number));
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_weights_program_async(small, weights));
    }
    uint64_t submitted = 0;
    EXPECT_OK(sidra_stream_timeline(small, &submitted, nullptr));
    EXPECT_EQ(64u, submitted) << "what timed out is not queued";

    ASSERT_OK(sidra_semaphore_signal(context, words.at(0), 1));
    ASSERT_OK(sidra_stream_set_deadline(small, soon()));
    ASSERT_OK(sidra_weights_program_async(small, weights));
    ASSERT_OK(sidra_mvm_async(small, weights, &mvm));
    ASSERT_OK(sidra_stream_set_deadline(small, SIDRA_NEVER));
    for (int i = 0; i < 200; ++i) ASSERT_OK(sidra_nop_async(small));
    ASSERT_OK(sidra_stream_synchronize(small, soon()));
    EXPECT_EQ(0u, words.as<uint64_t>()[32]) << "a fill that timed out";
    ASSERT_OK(sidra_semaphore_signal(context, words.at(8), 1));
    synchronize();
    EXPECT_OK(sidra_event_destroy(event));
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_weights_destroy(weights));
    EXPECT_OK(sidra_stream_destroy(small));
}

TEST_F(ChipStream, AFailedReadOfTheDeviceHangsNobody) {
    if (on_a_node()) GTEST_SKIP() << "knobs of a card are QEMU's";
    ASSERT_OK(sidra_device_set_fault_knob(device, "dma-error-at", 1));
    ASSERT_OK(sidra_nop_async(stream));
    const sidra_status status = sidra_stream_synchronize(stream, SIDRA_NEVER);
    EXPECT_TRUE(status == SIDRA_OK || status == SIDRA_ERROR_FAULT) << sidra_last_error();
    ASSERT_OK(sidra_device_set_fault_knob(device, "dma-error-at", 0));
    if (status != SIDRA_OK) ASSERT_OK(sidra_stream_reset(stream));
    ASSERT_OK(sidra_nop_async(stream));
    synchronize();
}

TEST_F(ChipStream, EventsOrderStreams) {
    constexpr int kStreams = 4, kRounds = 200;
    std::vector<sidra_stream*> streams(kStreams);
    std::vector<sidra_event*> events(kStreams);
    for (int i = 0; i < kStreams; ++i) {
        ASSERT_OK(sidra_stream_create(context, nullptr, &streams[i]));
        ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &events[i]));
    }
    // A token of 8 bytes is passed around: each stream copies it from its neighbour after the neighbour has written it.
    const Buffer words(context, 8 * (kStreams * kRounds + 1));
    words.as<uint64_t>()[0] = 0xba70;
    for (int step = 0; step < kStreams * kRounds; ++step) {
        const int at = step % kStreams;
        if (step > 0) ASSERT_OK(sidra_stream_wait_event(streams[at], events[(step - 1) % kStreams]));
        ASSERT_OK(sidra_copy_async(streams[at], words.at(8 * (static_cast<size_t>(step) + 1)),
                                   words.at(8 * static_cast<size_t>(step)), 8));
        ASSERT_OK(sidra_event_record(events[at], streams[at]));
    }
    ASSERT_OK(sidra_event_synchronize(events[(kStreams * kRounds - 1) % kStreams], soon()));
    EXPECT_OK(sidra_event_query(events[(kStreams * kRounds - 1) % kStreams]));
    EXPECT_EQ(0xba70u, words.as<uint64_t>()[kStreams * kRounds]);
    ASSERT_OK(sidra_context_synchronize(context, soon()));
    for (int i = 0; i < kStreams; ++i) {
        EXPECT_OK(sidra_event_destroy(events[i]));
        EXPECT_OK(sidra_stream_destroy(streams[i]));
    }
}

TEST_F(ChipStream, SemaphoresParkAndWake) {
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    const Buffer words(context, 4096);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(0), 3));
    ASSERT_OK(sidra_fill_async(stream, words.at(64), 1, 8, 8));
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_stream_synchronize(stream, sidra_deadline_after_ns(20'000'000)));
    EXPECT_EQ(SIDRA_ERROR_NOT_READY, sidra_stream_query(stream));
    ASSERT_OK(sidra_semaphore_signal_async(other, words.at(0), 2));
    ASSERT_OK(sidra_stream_synchronize(other, soon()));
    EXPECT_EQ(SIDRA_ERROR_NOT_READY, sidra_stream_query(stream));
    ASSERT_OK(sidra_semaphore_signal_async(other, words.at(0), 3));
    synchronize();
    EXPECT_EQ(1u, words.as<uint64_t>()[8]);

    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(8), 10));
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_stream_synchronize(stream, sidra_deadline_after_ns(5'000'000)));
    std::thread host([&] {
        usleep(10'000);
        EXPECT_OK(sidra_semaphore_signal(context, words.at(8), 10));
    });
    synchronize();
    host.join();
    EXPECT_OK(sidra_stream_destroy(other));
}

TEST_F(ChipStream, ParkedStreamsCanBeResetAndDestroyed) {
    const Buffer words(context, 4096);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(0), 1));
    ASSERT_OK(sidra_fill_async(stream, words.at(64), 1, 8, 8));
    ASSERT_OK(sidra_stream_reset(stream));
    EXPECT_OK(sidra_stream_query(stream));
    ASSERT_OK(sidra_fill_async(stream, words.at(128), 2, 8, 8));
    synchronize();
    EXPECT_EQ(0u, words.as<uint64_t>()[8]) << "dropped";
    EXPECT_EQ(2u, words.as<uint64_t>()[16]);
    sidra_stream* parked = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &parked));
    ASSERT_OK(sidra_semaphore_wait_async(parked, words.at(0), 1));
    EXPECT_OK(sidra_stream_destroy(parked));
}

TEST_F(ChipStream, GraphsReplay) {
    const Buffer numbers(context, 4096);
    const uint32_t size[4] = {1, 1, 1, 4};
    const sidra_array sums = sidra_operand_dense(numbers.at(0), SIDRA_S32, size);
    const sidra_array terms = sidra_operand_dense(numbers.at(64), SIDRA_S32, size);
    for (int i = 0; i < 4; ++i) numbers.as<int32_t>()[16 + i] = i + 1;
    sidra_graph *graph = nullptr, *empty = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_graph_begin(stream));
    for (int i = 0; i < 3; ++i) ASSERT_OK(sidra_add(stream, size, &sums, &sums, &terms));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    uint32_t operations = 0;
    EXPECT_OK(sidra_graph_operations(graph, &operations));
    EXPECT_EQ(3u, operations);
    synchronize();
    EXPECT_EQ(0, numbers.as<int32_t>()[3]) << "recording must not run anything";
    for (int i = 0; i < 10; ++i) ASSERT_OK(sidra_graph_launch_async(stream, graph));
    synchronize();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(30 * (i + 1), numbers.as<int32_t>()[i]);
    uint64_t submitted = 0;
    EXPECT_OK(sidra_stream_timeline(stream, &submitted, nullptr));
    EXPECT_EQ(10u, submitted) << "one packet a launch";

    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    ASSERT_OK(sidra_graph_launch_async(other, graph));
    ASSERT_OK(sidra_stream_synchronize(other, soon()));
    EXPECT_EQ(33 * 4, numbers.as<int32_t>()[3]);

    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_graph_end(stream, &empty));
    ASSERT_OK(sidra_graph_launch_async(stream, empty));
    synchronize();
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_graph_end(stream, &empty));
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_graph_destroy(empty));
    EXPECT_OK(sidra_stream_destroy(other));
}

TEST_F(ChipStream, WhatCannotBeRecordedSaysSo) {
    const Buffer buffer(context, 4096);
    const int8_t value = 1;
    int8_t read = 0;
    int fd = -1;
    sidra_weights* weights = nullptr;
    sidra_event* event = nullptr;
    sidra_graph *graph = nullptr, *dropped = nullptr;
    ASSERT_OK(sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, &weights));
    ASSERT_OK(sidra_weights_program_async(stream, weights));
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    sidra_weights* fresh = nullptr;
    ASSERT_OK(sidra_weights_create_s8(context, 1, 1, &value, 1, nullptr, nullptr, &fresh));
    ASSERT_OK(sidra_batch_begin(stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_graph_begin(stream));
    ASSERT_OK(sidra_batch_end(stream));
    ASSERT_OK(sidra_graph_begin(stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_event_record(event, stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_stream_wait_event(stream, event));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_semaphore_wait_async(stream, buffer.at(), 1));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_stream_add_callback(
                                                 stream, [](sidra_status, void*) {}, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_stream_get_fd(stream, &fd));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_stream_synchronize(stream, 0));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_weights_program_async(stream, fresh));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_weights_read(stream, weights, &read, 1, soon()));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_graph_launch_async(stream, graph));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_batch_begin(stream));
    EXPECT_OK(sidra_context_synchronize(context, soon())) << "what was queued, in whichever stream";
    for (uint32_t i = 0; i < SIDRA_CMD_CALL_MAX; ++i) ASSERT_OK(sidra_nop_async(stream));
    EXPECT_FAILS(SIDRA_ERROR_LIMIT, sidra_nop_async(stream));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_graph_end(stream, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_graph_end(stream, &dropped));
    ASSERT_OK(sidra_weights_program_async(stream, fresh));
    synchronize();
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_event_destroy(event));
    EXPECT_OK(sidra_weights_destroy(fresh));
    EXPECT_OK(sidra_weights_destroy(weights));
}

TEST_F(ChipStream, FdPollsReadableWhenDone) {
    const Buffer words(context, 4096);
    int fd = -1;
    const auto readable = [&](int timeout_ms) {
        pollfd wait{fd, POLLIN, 0};
        return poll(&wait, 1, timeout_ms) == 1;
    };
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_stream_get_fd(stream, &fd));
    EXPECT_TRUE(readable(kPatienceMs));
    for (uint64_t round = 1; round <= 20; ++round) {
        ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(0), round));
        int again = -1;
        ASSERT_OK(sidra_stream_get_fd(stream, &again));
        EXPECT_EQ(fd, again);
        EXPECT_FALSE(readable(round < 3 ? 20 : 0));
        ASSERT_OK(sidra_semaphore_signal(context, words.at(0), round));
        EXPECT_TRUE(readable(kPatienceMs));
        EXPECT_OK(sidra_stream_query(stream));
    }
    // A stop is news too.
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(0), 1000));
    ASSERT_OK(sidra_stream_get_fd(stream, &fd));
    EXPECT_FALSE(readable(0));
    ASSERT_OK(sidra_device_reset(device));
    EXPECT_TRUE(readable(kPatienceMs));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_stream_query(stream));
    ASSERT_OK(sidra_context_recover(context));
}

TEST_F(ChipStream, CallbacksRunInOrder) {
    struct Log {
        std::vector<int> order;
        std::atomic<int> calls{0};
    } log;
    struct Entry {
        Log* log;
        int number;
    };
    std::vector<Entry> entries(100);
    for (int i = 0; i < 100; ++i) {
        entries[i] = {&log, i};
        ASSERT_OK(sidra_nop_async(stream));
        ASSERT_OK(sidra_stream_add_callback(
            stream,
            [](sidra_status status, void* user) {
                auto* entry = static_cast<Entry*>(user);
                EXPECT_EQ(SIDRA_OK, status);
                entry->log->order.push_back(entry->number);
                ++entry->log->calls;
            },
            &entries[i]));
    }
    ASSERT_TRUE(eventually([&] { return log.calls == 100; }));
    for (int i = 0; i < 100; ++i) EXPECT_EQ(i, log.order[i]);
}

TEST_F(ChipStream, CallbacksMayUseTheirStream) {
    struct State {
        sidra_stream* stream;
        std::atomic<bool> done{false};
    } state{stream};
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_stream_add_callback(
        stream,
        [](sidra_status, void* user) {
            auto* mine = static_cast<State*>(user);
            EXPECT_OK(sidra_nop_async(mine->stream));
            EXPECT_OK(sidra_stream_synchronize(mine->stream, soon()));
            EXPECT_OK(sidra_stream_destroy(mine->stream));
            mine->done = true;
        },
        &state));
    EXPECT_TRUE(eventually([&] { return state.done.load(); }));
    stream = nullptr;
}

TEST_F(ChipStream, DestroyedWhileTheContextIsRecovered) {
    const Buffer words(context, 4096);
    std::atomic<bool> end{false};
    std::thread recovering([&] {
        while (!end) EXPECT_OK(sidra_context_recover(context));
    });
    for (int round = 0; round < 200; ++round) {
        sidra_stream* parked = nullptr;
        std::atomic<int> called{0};
        EXPECT_OK(sidra_stream_create(context, nullptr, &parked));
        EXPECT_OK(sidra_semaphore_wait_async(parked, words.at(), 1));
        EXPECT_OK(sidra_stream_add_callback(
            parked,
            [](sidra_status status, void* user) {
                EXPECT_EQ(SIDRA_ERROR_INVALID_HANDLE, status);
                ++*static_cast<std::atomic<int>*>(user);
            },
            &called));
        EXPECT_OK(sidra_stream_destroy(parked));
        EXPECT_EQ(1, called) << "before destroy returns";
    }
    end = true;
    recovering.join();
}

// An error that only the device can detect: an index beyond the table.
TEST_F(ChipStream, AFaultOfTheDeviceIsExplainedAndReset) {
    const Buffer buffer(context, 65536);
    sidra_program* program = nullptr;
    ASSERT_OK(sidra_program_assemble(context, "pass:\nv0 = load_int o0\nstore_int o1, v0", &program));
    auto gather = SIDRA_INIT(sidra_vector);
    gather.program = program;
    gather.size[0] = gather.size[1] = 1, gather.size[2] = 4, gather.size[3] = 8;
    sidra_vector_operand operands[] = {sidra_operand_dense(buffer.at(0), SIDRA_S32, gather.size),
                                       sidra_operand_dense(buffer.at(16384), SIDRA_S32, gather.size)};
    operands[0].index = buffer.at(8192), operands[0].index_type = SIDRA_S32, operands[0].extent = 16;
    gather.operands = operands, gather.operand_count = 2;
    gather.cookie = 4711;
    buffer.as<int32_t>()[2048 + 2] = 16;
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_vector_async(stream, &gather));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    ASSERT_OK(sidra_nop_async(stream));
    for (const bool in_graph : {false, true}) {
        // In one batch: a separate device may have faulted before the second call.
        ASSERT_OK(sidra_batch_begin(stream));
        ASSERT_OK(in_graph ? sidra_graph_launch_async(stream, graph) : sidra_vector_async(stream, &gather));
        ASSERT_OK(sidra_fill_async(stream, buffer.at(32768), 1, 1, 1));
        ASSERT_OK(sidra_batch_end(stream));
        EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
        const std::string text = sidra_last_error();
        for (const char* part : {"VECTOR", "4711", "out of range", "sidra_stream_reset"})
            EXPECT_NE(std::string::npos, text.find(part)) << text;
        auto fault = SIDRA_INIT(sidra_fault_info);
        ASSERT_OK(sidra_stream_fault(stream, &fault));
        EXPECT_EQ(uint32_t{SIDRA_FAULT_VALUE}, fault.cause);
        EXPECT_EQ(uint32_t{SIDRA_CMD_VECTOR}, fault.opcode);
        EXPECT_EQ(4711u, fault.cookie);
        EXPECT_EQ(in_graph, fault.in_graph);
        EXPECT_EQ(in_graph ? 1u : 0u, fault.graph_index);
        ASSERT_OK(sidra_stream_reset(stream));
        EXPECT_EQ(0, buffer.as()[32768]) << "what was queued behind the fault must not run";
        ASSERT_OK(sidra_nop_async(stream));
        synchronize();
        ASSERT_OK(sidra_stream_fault(stream, &fault));
        EXPECT_EQ(0u, fault.cause);
    }
    EXPECT_OK(sidra_graph_destroy(graph));
    EXPECT_OK(sidra_program_destroy(program));
}

TEST_F(ChipStream, FreedMemoryFaultsInsteadOfBeingTouched) {
    const Buffer words(context, 4096);
    sidra_buffer* gone = nullptr;
    ASSERT_OK(sidra_buffer_create(context, 1 << 20, 0, &gone));
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(0), 1));
    ASSERT_OK(sidra_fill_async(stream, {gone, 0}, 1, 1, 1 << 20));
    ASSERT_OK(sidra_buffer_destroy(gone));
    ASSERT_OK(sidra_semaphore_signal(context, words.at(0), 1));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, soon()));
    auto fault = SIDRA_INIT(sidra_fault_info);
    ASSERT_OK(sidra_stream_fault(stream, &fault));
    EXPECT_EQ(uint32_t{SIDRA_FAULT_TRANSLATION}, fault.cause);
    ASSERT_OK(sidra_stream_reset(stream));
}

TEST_F(ChipStream, DeviceResetLosesContextsAndTheyRecover) {
    auto info = SIDRA_INIT(sidra_device_info);
    ASSERT_OK(sidra_device_get_info(device, &info));
    const uint32_t generation = info.generation;
    const Buffer buffer(context, 4096);
    sidra_context* innocent = nullptr;
    sidra_stream *other = nullptr, *second = nullptr;
    ASSERT_OK(sidra_context_create(device, &innocent));
    ASSERT_OK(sidra_stream_create(innocent, nullptr, &other));
    ASSERT_OK(sidra_stream_create(context, nullptr, &second));
    ASSERT_OK(sidra_fill_async(stream, buffer.at(0), 7, 8, 8));
    synchronize();
    uint64_t ps = 0, ps_after = 0;
    ASSERT_OK(sidra_stream_device_time(stream, &ps, nullptr));
    ASSERT_OK(sidra_device_reset(device));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_context_status(context));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_nop_async(stream));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_context_status(innocent));
    ASSERT_OK(sidra_context_recover(context));
    ASSERT_OK(sidra_context_recover(innocent));
    EXPECT_OK(sidra_context_status(context));
    EXPECT_EQ(7u, buffer.as<uint64_t>()[0]);
    for (sidra_stream* each : {stream, second}) {
        ASSERT_OK(sidra_copy_async(each, buffer.at(8), buffer.at(0), 8));
        ASSERT_OK(sidra_stream_synchronize(each, soon()));
        EXPECT_EQ(7u, buffer.as<uint64_t>()[1]);
        buffer.as<uint64_t>()[1] = 0;
    }
    ASSERT_OK(sidra_stream_device_time(stream, &ps_after, nullptr));
    EXPECT_GT(ps_after, ps) << "device time goes on over a recovery";
    EXPECT_OK(sidra_nop_async(other));
    EXPECT_OK(sidra_stream_synchronize(other, soon()));
    ASSERT_OK(sidra_device_get_info(device, &info));
    EXPECT_EQ(generation + 1, info.generation);
    EXPECT_OK(sidra_stream_destroy(other));
    EXPECT_OK(sidra_stream_destroy(second));
    EXPECT_OK(sidra_context_destroy(innocent));
}

TEST_F(ChipStream, ManyThreadsShareOneStream) {
    constexpr int kThreads = 8, kEach = 500;
    const Buffer words(context, 8 * kThreads * kEach);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < kEach; ++i) {
                const auto index = static_cast<uint64_t>(t * kEach + i);
                ASSERT_OK(sidra_fill_async(stream, words.at(index * 8), index, 8, 8));
                if (i % 100 == 99) ASSERT_OK(sidra_stream_synchronize(stream, soon()));
            }
        });
    for (std::thread& thread : threads) thread.join();
    synchronize();
    for (uint64_t i = 0; i < kThreads * kEach; ++i) ASSERT_EQ(i, words.as<uint64_t>()[i]);
}

// The firmware boots in the background after the chip is opened; then its sensors appear in the telemetry.
TEST_F(ChipStream, SensorsOnceTheFirmwareRuns) {
    constexpr uint64_t kSensors = SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_POWER;
    sidra_telemetry telemetry{};
    ASSERT_TRUE(eventually([&] {
        EXPECT_OK(sidra_device_telemetry(device, &telemetry, sizeof telemetry));
        return (telemetry.valid & kSensors) == kSensors;
    }));
    EXPECT_GE(telemetry.temperature_mc, 60'000);
    EXPECT_LT(telemetry.temperature_mc, 80'000);
    EXPECT_GE(telemetry.power_mw, 50u) << "what leaks";
    EXPECT_EQ(telemetry.clock_khz, 1'000'000u);
}

TEST_F(ChipStream, KnobsAndTelemetry) {
    sidra_telemetry before{}, telemetry{};
    ASSERT_OK(sidra_device_telemetry(device, &before, sizeof before));
    ASSERT_OK(sidra_nop_async(stream));
    synchronize();
    ASSERT_OK(sidra_device_telemetry(device, &telemetry, sizeof telemetry));
    EXPECT_EQ(SIDRA_TELEMETRY_MAGIC, telemetry.magic);
    EXPECT_EQ(1u, telemetry.packets - before.packets);
    EXPECT_EQ(1u, telemetry.contexts);
    EXPECT_EQ(1u, telemetry.queues);
    uint32_t magic = 0;
    EXPECT_OK(sidra_device_telemetry(device, &magic, sizeof magic));
    EXPECT_EQ(SIDRA_TELEMETRY_MAGIC, magic);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_telemetry(device, nullptr, 4));
    EXPECT_FAILS(on_a_node() ? SIDRA_ERROR_NOT_SUPPORTED : SIDRA_ERROR_NOT_FOUND,
                 sidra_device_set_fault_knob(device, "no-such-knob", 1));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_set_fault_knob(device, nullptr, 1));
    // A lost interrupt costs time, never a hang.
    turn_knob(device, "lose-msix", 100);
    const Buffer words(context, 4096);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(0), 1));
    std::thread host([&] {
        usleep(5'000);
        EXPECT_OK(sidra_semaphore_signal(context, words.at(0), 1));
    });
    synchronize();
    host.join();
}

// A stream that always has another callback must not delay those of other streams.
TEST_F(ChipStream, CallbacksOfStreamsTakeTurns) {
    struct Selfish {
        sidra_stream* stream;
        std::atomic<unsigned> runs{0};
        std::atomic<bool> end{false}, ended{false};
        static void call(sidra_status, void* user) {
            auto& self = *static_cast<Selfish*>(user);
            ++self.runs;
            if (self.end) self.ended = true;
            else EXPECT_OK(sidra_stream_add_callback(self.stream, call, user));
        }
    };
    constexpr unsigned kOthers = 4;
    Selfish selfish{stream};
    EXPECT_OK(sidra_stream_add_callback(stream, Selfish::call, &selfish));
    std::vector<sidra_stream*> others(kOthers);
    std::atomic<unsigned> served{0};
    for (sidra_stream*& other : others) {
        ASSERT_OK(sidra_stream_create(context, nullptr, &other));
        EXPECT_OK(sidra_stream_add_callback(
            other, [](sidra_status, void* user) { ++*static_cast<std::atomic<unsigned>*>(user); }, &served));
    }
    const uint64_t deadline = soon();
    uint64_t device_ns = 0, now = 0;
    while (served != kOthers && now < deadline) EXPECT_OK(sidra_device_clock(device, &device_ns, &now));
    EXPECT_EQ(kOthers, served);
    selfish.end = true;
    while (!selfish.ended) EXPECT_OK(sidra_device_clock(device, &device_ns, &now));
    EXPECT_GT(selfish.runs, 0u);
    for (sidra_stream* other : others) EXPECT_OK(sidra_stream_destroy(other));
    EXPECT_OK(sidra_context_synchronize(context, soon()));
}

}  // namespace
}  // namespace sidra::test
