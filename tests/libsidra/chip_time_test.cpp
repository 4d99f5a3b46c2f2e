// SPDX-License-Identifier: MIT
// Events with times: the device clock, and the cost of what lies between two events.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "../chip/failing_new.h"
#include "chip_fixture.h"
#include "sidra/sidra.hpp"

namespace sidra::test {
namespace {

class ChipTime : public ChipTest {
   protected:
    sidra_event* make(uint32_t flags = SIDRA_EVENT_TIMING) {
        sidra_event* event = nullptr;
        EXPECT_OK(sidra_event_create(context, flags, &event));
        events.push_back(event);
        return event;
    }
    void TearDown() override {
        for (sidra_event* event : events) EXPECT_OK(sidra_event_destroy(event));
        ChipTest::TearDown();
    }
    std::vector<sidra_event*> events;
};

TEST_F(ChipTime, TimesLieBetweenTwoReadingsOfTheClock) {
    sidra_event *first = make(), *second = make();
    uint64_t before = 0, after = 0, host_before = 0, host_after = 0, at = 0;
    ASSERT_OK(sidra_device_clock(device, &before, &host_before));
    ASSERT_OK(sidra_event_record(first, stream));
    ASSERT_OK(sidra_event_synchronize(first, soon()));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_OK(sidra_event_record(second, stream));
    ASSERT_OK(sidra_event_synchronize(second, soon()));
    ASSERT_OK(sidra_device_clock(device, &after, &host_after));
    int64_t ns = 0, back = 0;
    ASSERT_OK(sidra_event_elapsed(first, second, &ns));
    ASSERT_OK(sidra_event_elapsed(second, first, &back));
    EXPECT_EQ(-ns, back);
    EXPECT_GE(ns, 20'000'000);
    EXPECT_LE(static_cast<uint64_t>(ns), after - before);
    ASSERT_OK(sidra_event_time(first, &at));
    EXPECT_LE(before, at);
    EXPECT_LE(at + static_cast<uint64_t>(ns), after);
    EXPECT_LT(host_before, host_after);
}

TEST_F(ChipTime, TheClockIsThatOfAllStreamsAndContexts) {
    sidra_context* other = nullptr;
    sidra_stream* elsewhere = nullptr;
    sidra_event* late = nullptr;
    ASSERT_OK(sidra_context_create(device, &other));
    ASSERT_OK(sidra_stream_create(other, nullptr, &elsewhere));
    ASSERT_OK(sidra_event_create(other, SIDRA_EVENT_TIMING, &late));
    sidra_event* early = make();
    ASSERT_OK(sidra_event_record(early, stream));
    ASSERT_OK(sidra_event_synchronize(early, soon()));
    ASSERT_OK(sidra_event_record(late, elsewhere));
    ASSERT_OK(sidra_event_synchronize(late, soon()));
    int64_t ns = -1;
    ASSERT_OK(sidra_event_elapsed(early, late, &ns));
    EXPECT_GE(ns, 0);
    uint64_t ps = 0;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_event_cost(early, late, &ps, nullptr));
    EXPECT_OK(sidra_event_destroy(late));
    EXPECT_OK(sidra_stream_destroy(elsewhere));
    EXPECT_OK(sidra_context_destroy(other));
}

// The stream's own count of device time is the second witness.
TEST_F(ChipTime, CostsAreThoseOfWhatLiesBetween) {
    const Buffer buffer(context, 1 << 20);
    sidra_event *start = make(), *end = make();
    const auto spent = [&](auto&& work) {
        uint64_t ps[2] = {}, pj[2] = {};
        work();
        EXPECT_OK(sidra_stream_synchronize(stream, soon()));
        EXPECT_OK(sidra_stream_device_time(stream, &ps[0], &pj[0]));
        work();
        EXPECT_OK(sidra_stream_synchronize(stream, soon()));
        EXPECT_OK(sidra_stream_device_time(stream, &ps[1], &pj[1]));
        return std::pair{ps[1] - ps[0], pj[1] - pj[0]};
    };
    const auto note = [&] { ASSERT_OK(sidra_event_record(start, stream)); };
    const auto work = [&] { ASSERT_OK(sidra_copy_async(stream, buffer.at(), buffer.at(1 << 19), 1 << 19)); };
    const auto note_cost = spent(note), work_cost = spent(work);
    note();
    work();
    work();
    ASSERT_OK(sidra_event_record(end, stream));
    synchronize();
    uint64_t ps = 0, pj = 0;
    ASSERT_OK(sidra_event_cost(start, end, &ps, &pj));
    EXPECT_GT(work_cost.first, 0u);
    EXPECT_EQ(2 * work_cost.first + note_cost.first, ps);
    EXPECT_EQ(2 * work_cost.second + note_cost.second, pj);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_event_cost(end, start, &ps, &pj));
}

TEST_F(ChipTime, ATimeThatDoesNotExistIsRefused) {
    const Buffer words(context, 4096);
    sidra_event *plain = make(SIDRA_EVENT_DEFAULT), *timed = make(), *never = make();
    int64_t ns = 77;
    uint64_t at = 77;
    ASSERT_OK(sidra_event_record(plain, stream));
    ASSERT_OK(sidra_event_record(timed, stream));
    synchronize();
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_event_elapsed(plain, timed, &ns));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_event_elapsed(timed, never, &ns));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_event_elapsed(timed, timed, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_event_time(timed, nullptr));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_event_time(nullptr, &at));
    sidra_event* unknown = nullptr;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_event_create(context, 2, &unknown));
    // Not reached, then dropped, then recorded again.
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 1));
    ASSERT_OK(sidra_event_record(timed, stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_READY, sidra_event_time(timed, &at));
    ASSERT_OK(sidra_stream_reset(stream));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_time(timed, &at));
    EXPECT_EQ(77, ns);
    EXPECT_EQ(77u, at);
    ASSERT_OK(sidra_event_record(timed, stream));
    synchronize();
    EXPECT_OK(sidra_event_time(timed, &at));
    ASSERT_OK(sidra_graph_begin(stream));
    EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_event_record(timed, stream));
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_end(stream, &graph));
    EXPECT_OK(sidra_graph_destroy(graph));
}

// An event is recorded again before the device came to the earlier record, on another stream. The earlier one must not
// overwrite the time of the later one.
TEST_F(ChipTime, ALateTimestampOfAnEarlierRecordIsNotTaken) {
    const Buffer words(context, 4096);
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    sidra_event* event = make();
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 1));
    ASSERT_OK(sidra_event_record(event, stream));
    ASSERT_OK(sidra_event_record(event, other));
    ASSERT_OK(sidra_event_synchronize(event, soon()));
    uint64_t before = 0, after = 0;
    ASSERT_OK(sidra_event_time(event, &before));
    ASSERT_OK(sidra_semaphore_signal(context, words.at(), 1));
    synchronize();
    ASSERT_OK(sidra_event_time(event, &after));
    EXPECT_EQ(before, after);
    // Nor that of another event, whose place it could be: 300 are more than a page has.
    std::vector<sidra_event*> many(300);
    ASSERT_OK(sidra_semaphore_wait_async(stream, words.at(), 2));
    for (sidra_event*& each : many) {
        ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_TIMING, &each));
        ASSERT_OK(sidra_event_record(each, stream));
    }
    for (sidra_event* each : many) ASSERT_OK(sidra_event_destroy(each));
    for (sidra_event*& each : many) {
        each = make();
        ASSERT_OK(sidra_event_record(each, other));
    }
    ASSERT_OK(sidra_stream_synchronize(other, soon()));
    std::vector<uint64_t> times(many.size()), again(many.size());
    for (size_t i = 0; i < many.size(); ++i) ASSERT_OK(sidra_event_time(many[i], &times[i]));
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    ASSERT_OK(sidra_semaphore_signal(context, words.at(), 2));
    synchronize();
    for (size_t i = 0; i < many.size(); ++i) ASSERT_OK(sidra_event_time(many[i], &again[i]));
    EXPECT_EQ(times, again);
    EXPECT_OK(sidra_stream_destroy(other));
}

TEST_F(ChipTime, RecordingAllocatesNothing) {
    sidra_event* event = make();
    for (int i = 0; i < 300; ++i) ASSERT_OK(sidra_event_record(event, stream));
    synchronize();
    const uint64_t before = thread_allocations();
    int failures = 0;
    for (int i = 0; i < 100; ++i) failures += sidra_event_record(event, stream) != SIDRA_OK;
    EXPECT_EQ(before, thread_allocations());
    EXPECT_EQ(0, failures);
    synchronize();
}

TEST_F(ChipTime, ABatchIsSubmitted) {
    sidra_event* event = make();
    ASSERT_OK(sidra_batch_begin(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_event_record(event, stream));
    EXPECT_OK(sidra_event_synchronize(event, soon()));
    ASSERT_OK(sidra_batch_end(stream));
}

TEST(ChipTimeCpp, EventsMeasure) {
    choose_test_device();
    Device own = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = !on_a_node()});
    Context context(own);
    Stream stream(context);
    Event start(context, SIDRA_EVENT_TIMING), end(context, SIDRA_EVENT_TIMING);
    stream.record(start);
    stream.nop();
    stream.record(end);
    EXPECT_THROW(static_cast<void>(Event(context).time()), Error);
    stream.synchronize();
    EXPECT_GE(end.elapsed(start).count(), 0);
    EXPECT_EQ(end.time() - start.time(), end.elapsed(start));
    EXPECT_GT(end.cost(start).picoseconds, 0u);
    EXPECT_LE(end.time(), own.clock().device);
}

// Their identities differ, so the library knows.
TEST_F(ChipTime, TwoChipsHaveTwoClocks) {
    if (on_a_node()) GTEST_SKIP() << "there is one card";
    Device own = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .private_chip = true});
    Context elsewhere(own);
    Stream other(elsewhere);
    Event theirs(elsewhere, SIDRA_EVENT_TIMING);
    sidra_event* ours = make();
    other.record(theirs);
    other.synchronize();
    ASSERT_OK(sidra_event_record(ours, stream));
    synchronize();
    int64_t ns = 0;
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_event_elapsed(ours, theirs.get(), &ns));
}

}  // namespace
}  // namespace sidra::test
