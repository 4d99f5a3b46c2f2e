// SPDX-License-Identifier: MIT
// Streams that stop: status and message of a fault, a reset, loss and recovery, and the effect on events and callbacks.
// With the fake driver, which produces each case on demand.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <future>
#include <set>
#include <string>
#include <vector>

#include "fake_fixture.h"
#include "fault.h"
#include "patience.h"
#include "program_error.h"
#include "stream.h"

namespace sidra::test {
namespace {

using Stopped = FakeTest;

TEST_F(Stopped, EveryCauseHasItsOwnWords) {
    std::set<std::string> texts;
    for (uint32_t cause = 0; cause < SIDRA_FAULT_COUNT; ++cause)
        EXPECT_TRUE(texts.insert(cause_text(cause)).second) << cause;
    EXPECT_STREQ("unknown cause", cause_text(SIDRA_FAULT_COUNT));
    for (uint32_t opcode = 1; opcode < SIDRA_CMD_OPCODE_COUNT; ++opcode)
        EXPECT_TRUE(texts.insert(opcode_name(opcode)).second) << opcode;
    EXPECT_STREQ("PROGRAM", opcode_name(SIDRA_CMD_PROGRAM));
    EXPECT_STREQ("CALL", opcode_name(SIDRA_CMD_CALL));
}

TEST_F(Stopped, ARefusedProgramIsToldWithItsInstruction) {
    ASSERT_OK(sidra_nop_async(stream));
    for (uint32_t why = 1; why <= SIDRA_PROGRAM_ERROR_COUNT; ++why) {
        sidra_fault fault{};
        fault.cause = SIDRA_FAULT_PROGRAM, fault.opcode = SIDRA_CMD_VECTOR;
        fault.in_call = 1, fault.call_index = 12;
        fault.address = SIDRA_PROGRAM_FAULT(why, 63, 7);
        fake->fault(0, fault);
        auto info = SIDRA_INIT(sidra_fault_info);
        ASSERT_OK(sidra_stream_fault(stream, &info));
        const std::string text = info.text;
        EXPECT_TRUE(text.starts_with("VECTOR, operation 0, ")) << text;
        EXPECT_NE(std::string::npos, text.find("): instruction 63, operand 7: ")) << text;
        EXPECT_TRUE(text.ends_with(program_error_text(why))) << text << ": is it cut off?";
        EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_nop_async(stream));
        EXPECT_NE(nullptr, std::strstr(sidra_last_error(), program_error_hint(why))) << sidra_last_error();
        ASSERT_OK(sidra_stream_reset(stream));
    }
}

TEST_F(Stopped, AFaultIsToldEverywhere) {
    sidra_event *before = nullptr, *after = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &before));
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &after));
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_event_record(before, stream));
    for (int i = 0; i < 2; ++i) ASSERT_OK(sidra_copy_async(stream, at(0), at(64), 64));
    ASSERT_OK(sidra_event_record(after, stream));
    sidra_fault fault{};
    fault.cause = SIDRA_FAULT_TRANSLATION, fault.opcode = SIDRA_CMD_COPY, fault.sequence = 1, fault.address = 0xabc000,
    fault.cookie = 42;
    fake->retire(0, 1);
    fake->fault(0, fault);

    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream, SIDRA_NEVER));
    const std::string text = sidra_last_error();
    for (const char* part : {"COPY", "operation 1", "cookie 42", "not mapped", "0xabc000", "sidra_stream_reset"})
        EXPECT_NE(std::string::npos, text.find(part)) << text;
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_query(stream));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_nop_async(stream));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_context_synchronize(context, SIDRA_NEVER));
    EXPECT_OK(sidra_event_query(before));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_query(after));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_synchronize(after, SIDRA_NEVER));
    EXPECT_OK(sidra_event_synchronize(before, 0));
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_wait_event(other, after));

    auto info = SIDRA_INIT(sidra_fault_info);
    EXPECT_OK(sidra_stream_fault(stream, &info));
    EXPECT_EQ(uint32_t{SIDRA_FAULT_TRANSLATION}, info.cause);
    EXPECT_EQ(uint32_t{SIDRA_CMD_COPY}, info.opcode);
    EXPECT_EQ(1u, info.sequence);
    EXPECT_EQ(0xabc000u, info.address);
    EXPECT_EQ(42u, info.cookie);
    EXPECT_FALSE(info.in_graph);
    EXPECT_NE(nullptr, std::strstr(info.text, "COPY"));
    EXPECT_OK(sidra_stream_fault(other, &info));
    EXPECT_EQ(0u, info.cause);
    EXPECT_STREQ("", info.text);

    EXPECT_OK(sidra_stream_reset(stream));
    EXPECT_OK(sidra_stream_fault(stream, &info));
    EXPECT_EQ(0u, info.cause);
    EXPECT_OK(sidra_event_query(before));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_query(after));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_synchronize(after, SIDRA_NEVER));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_wait_event(other, after));
    const std::string later = sidra_last_error();
    for (const char* part : {"COPY", "operation 1", "not mapped", "operation 2 of stream"})
        EXPECT_NE(std::string::npos, later.find(part)) << later;
    fake->set_automatic(true);
    EXPECT_OK(sidra_nop_async(stream));
    EXPECT_OK(sidra_stream_synchronize(stream, 0));
    EXPECT_OK(sidra_stream_destroy(other));
    EXPECT_OK(sidra_event_destroy(before));
    EXPECT_OK(sidra_event_destroy(after));
}

TEST_F(Stopped, AResetByAnotherThreadIsNoLoss) {
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(stream));
    fake->fault(0, {.cause = SIDRA_FAULT_RING});
    ASSERT_OK(sidra_stream_reset(stream));
    // A call that has seen the stream stopped asks for the reason only now.
    sidra_stream* object = stream;
    ASSERT_OK(check("sidra_stream_synchronize", "stream", object));
    const Queue& queue = *object->queue.load();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, stopped_status("sidra_stream_synchronize", queue));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "another thread has reset it")) << sidra_last_error();
    EXPECT_EQ(SIDRA_ERROR_FAULT, stopped_status_only(queue));
}

TEST_F(Stopped, WhatWasDoneBeforeTheFaultIsDone) {
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(stream));
    fake->retire(0, 1);
    fake->fault(0, {.cause = SIDRA_FAULT_RING});
    EXPECT_OK(sidra_stream_synchronize(stream, SIDRA_NEVER));
    EXPECT_OK(sidra_stream_query(stream));
}

TEST_F(Stopped, ResetOfAHealthyStreamDropsWhatIsQueued) {
    fake->set_automatic(false);
    for (int i = 0; i < 5; ++i) ASSERT_OK(sidra_nop_async(stream));
    EXPECT_EQ(SIDRA_ERROR_NOT_READY, sidra_stream_query(stream));
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_stream_synchronize(stream, 0));
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_stream_synchronize(stream, sidra_deadline_after_ns(1'000'000)));
    EXPECT_OK(sidra_stream_reset(stream));
    EXPECT_OK(sidra_stream_query(stream));
    uint64_t submitted = 0, completed = 0;
    EXPECT_OK(sidra_stream_timeline(stream, &submitted, &completed));
    EXPECT_EQ(submitted, completed);
}

TEST_F(Stopped, AQueryThatIsNotDoneHasATextOfItsOwn) {
    sidra_event* event = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_event_record(event, stream));
    const auto says = [](const char* call) { return std::string(sidra_last_error()).starts_with(call); };
    EXPECT_FAILS(SIDRA_ERROR_NOT_READY, sidra_stream_query(stream));
    EXPECT_TRUE(says("sidra_stream_query: ")) << sidra_last_error();
    EXPECT_FAILS(SIDRA_ERROR_NOT_READY, sidra_event_query(event));
    EXPECT_TRUE(says("sidra_event_query: ")) << sidra_last_error();
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_device_count(nullptr));
    EXPECT_FAILS(SIDRA_ERROR_NOT_READY, sidra_stream_query(stream));
    EXPECT_TRUE(says("sidra_stream_query: ")) << sidra_last_error();
    EXPECT_OK(sidra_event_destroy(event));
}

TEST_F(Stopped, ALossIsStickyUntilRecovered) {
    sidra_event* event = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_event_record(event, stream));
    EXPECT_OK(sidra_context_recover(context)) << "nothing was lost";
    EXPECT_EQ(0u, fake->requests(SIDRA_IOCTL_CONTEXT_RECOVER));
    fake->lose_all();
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_context_status(context));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_stream_synchronize(stream, SIDRA_NEVER));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_stream_query(stream));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_nop_async(stream));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_stream_reset(stream));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_event_query(event));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "sidra_context_recover")) << sidra_last_error();

    // The first attempt fails half-way, the second continues from there.
    fake->fail(SIDRA_IOCTL_QUEUE_CREATE, ENOMEM);
    EXPECT_FAILS(SIDRA_ERROR_OUT_OF_MEMORY, sidra_context_recover(context));
    EXPECT_OK(sidra_context_recover(context));
    EXPECT_OK(sidra_context_status(context));
    EXPECT_FAILS(SIDRA_ERROR_CONTEXT_LOST, sidra_event_query(event));  // lost work never completes
    fake->set_automatic(true);
    EXPECT_OK(sidra_copy_async(stream, at(0), at(64), 64));
    EXPECT_OK(sidra_stream_synchronize(stream, 0));
    uint64_t submitted = 0;
    EXPECT_OK(sidra_stream_timeline(stream, &submitted, nullptr));
    EXPECT_EQ(1u, submitted) << "the stream starts anew";
    EXPECT_OK(sidra_event_destroy(event));
}

TEST_F(Stopped, ADeviceThatIsGoneSaysSo) {
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(stream));
    fake->lose_all();
    fake->fail(SIDRA_IOCTL_CONTEXT_QUERY, ENODEV, {}, 100);
    EXPECT_FAILS(SIDRA_ERROR_DEVICE_LOST, sidra_context_status(context));
    EXPECT_FAILS(SIDRA_ERROR_DEVICE_LOST, sidra_nop_async(stream));
    EXPECT_FAILS(SIDRA_ERROR_DEVICE_LOST, sidra_stream_synchronize(stream, 0));
    EXPECT_FAILS(SIDRA_ERROR_DEVICE_LOST, sidra_context_recover(context));
}

struct Seen {
    std::atomic<int> calls{0};
    std::atomic<int> status{-1};
    static void callback(sidra_status status, void* user) {
        auto* seen = static_cast<Seen*>(user);
        seen->status = status;
        ++seen->calls;
    }
    void expect(sidra_status expected) {
        EXPECT_TRUE(eventually([&] { return calls != 0; }));
        EXPECT_EQ(1, calls);
        EXPECT_EQ(expected, status);
    }
};

TEST_F(Stopped, CallbacksLearnWhy) {
    Seen done, faulted, dropped, lost, destroyed;
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_stream_add_callback(stream, Seen::callback, &done));
    done.expect(SIDRA_OK);
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_stream_add_callback(stream, Seen::callback, &faulted));
    usleep(20'000);
    EXPECT_EQ(0, faulted.calls);
    fake->fault(0, {.cause = SIDRA_FAULT_VALUE});
    faulted.expect(SIDRA_ERROR_FAULT);
    ASSERT_OK(sidra_stream_reset(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_stream_add_callback(stream, Seen::callback, &lost));
    fake->lose_all();
    lost.expect(SIDRA_ERROR_CONTEXT_LOST);
    ASSERT_OK(sidra_context_recover(context));

    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    ASSERT_OK(sidra_nop_async(other));
    ASSERT_OK(sidra_stream_add_callback(other, Seen::callback, &dropped));
    ASSERT_OK(sidra_stream_reset(other));
    dropped.expect(SIDRA_ERROR_FAULT);
    ASSERT_OK(sidra_nop_async(other));
    ASSERT_OK(sidra_stream_add_callback(other, Seen::callback, &destroyed));
    ASSERT_OK(sidra_stream_destroy(other));
    EXPECT_EQ(1, destroyed.calls) << "destroy must not return before";
    destroyed.expect(SIDRA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(SIDRA_ERROR_INVALID_ARGUMENT, sidra_stream_add_callback(stream, nullptr, nullptr));
}

// A callback that delays those after it, so that more happens before they are called.
struct Gate {
    std::promise<void> opened;
    static void callback(sidra_status, void* user) { static_cast<Gate*>(user)->opened.get_future().wait(); }
};

TEST_F(Stopped, CallbacksAreNotDisturbedBySignals) {
    std::promise<sigset_t> blocked;
    ASSERT_OK(sidra_stream_add_callback(
        stream,
        [](sidra_status, void* user) {
            sigset_t now;
            pthread_sigmask(SIG_BLOCK, nullptr, &now);
            static_cast<std::promise<sigset_t>*>(user)->set_value(now);
        },
        &blocked));
    const sigset_t there = blocked.get_future().get();
    sigset_t here;
    pthread_sigmask(SIG_BLOCK, nullptr, &here);
    for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD}) {
        EXPECT_TRUE(sigismember(&there, signal)) << signal;
        EXPECT_FALSE(sigismember(&here, signal)) << signal << ": the application's thread has its own mask again";
    }
}

TEST_F(Stopped, CallbacksLearnHowTheirOwnWorkWasDropped) {
    Gate gate;
    Seen reset, lost, behind;
    ASSERT_OK(sidra_stream_add_callback(stream, Gate::callback, &gate));
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_stream_add_callback(stream, Seen::callback, &reset));
    ASSERT_OK(sidra_stream_reset(stream));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_stream_add_callback(stream, Seen::callback, &lost));
    fake->lose_all();
    ASSERT_OK(sidra_context_recover(context));
    fake->set_automatic(true);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_stream_add_callback(stream, Seen::callback, &behind));
    EXPECT_EQ(0, reset.calls + lost.calls);
    gate.opened.set_value();
    reset.expect(SIDRA_ERROR_FAULT);
    lost.expect(SIDRA_ERROR_CONTEXT_LOST);
    behind.expect(SIDRA_OK);
}

TEST_F(Stopped, EventsOfDestroyedStreamsAreDoneOrDropped) {
    sidra_event* event = nullptr;
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(other));
    ASSERT_OK(sidra_event_record(event, other));
    EXPECT_EQ(SIDRA_ERROR_NOT_READY, sidra_event_query(event));
    EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, sidra_event_synchronize(event, 0));
    sidra_event* done = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &done));
    ASSERT_OK(sidra_event_record(done, other));
    ASSERT_OK(sidra_nop_async(other));
    ASSERT_OK(sidra_event_record(event, other));
    fake->retire(1, 1);
    ASSERT_OK(sidra_stream_destroy(other));
    EXPECT_OK(sidra_event_query(done));
    EXPECT_OK(sidra_event_synchronize(done, 0));
    EXPECT_OK(sidra_stream_wait_event(stream, done));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_query(event));
    EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "destroyed")) << sidra_last_error();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_event_synchronize(event, SIDRA_NEVER));
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_wait_event(stream, event));
    EXPECT_OK(sidra_event_destroy(event));
    EXPECT_OK(sidra_event_destroy(done));
}

TEST_F(Stopped, WaitingForAnEventIsAPacketOnlyIfNeeded) {
    sidra_event* event = nullptr;
    sidra_stream* other = nullptr;
    ASSERT_OK(sidra_event_create(context, SIDRA_EVENT_DEFAULT, &event));
    ASSERT_OK(sidra_stream_create(context, nullptr, &other));
    const auto queued = [&] {
        uint64_t submitted = 0;
        EXPECT_OK(sidra_stream_timeline(stream, &submitted, nullptr));
        return submitted;
    };
    EXPECT_OK(sidra_stream_wait_event(stream, event));
    EXPECT_EQ(0u, queued()) << "never recorded";
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(other));
    ASSERT_OK(sidra_nop_async(other));
    ASSERT_OK(sidra_event_record(event, other));
    EXPECT_OK(sidra_stream_wait_event(other, event));
    EXPECT_OK(sidra_stream_wait_event(stream, event));
    ASSERT_EQ(1u, queued());
    const sidra_cmd packet = last_packet();
    EXPECT_EQ(SIDRA_CMD_SEM_WAIT, packet.hdr.opcode);
    EXPECT_EQ(SIDRA_CMD_SEM_QUEUE, packet.hdr.flags);
    EXPECT_EQ(1u, packet.sem.queue);
    EXPECT_EQ(2u, packet.sem.value);
    EXPECT_EQ(0u, packet.sem.addr);
    fake->retire(1, 2);
    EXPECT_OK(sidra_stream_wait_event(stream, event));
    EXPECT_EQ(1u, queued()) << "reached already";
    EXPECT_OK(sidra_stream_destroy(other));
    EXPECT_OK(sidra_event_destroy(event));
}

TEST_F(Stopped, ReportsAreOfTheLastRing) {
    auto options = SIDRA_INIT(sidra_stream_options);
    options.ring_packets = 64;
    options.reports = true;
    sidra_stream* reporting = nullptr;
    ASSERT_OK(sidra_stream_create(context, &options, &reporting));
    auto report = SIDRA_INIT(sidra_operation_report);
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_stream_report(stream, 0, &report));
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_stream_report(reporting, 0, &report));
    auto& queue = fake->queue(1);
    auto* reports = reinterpret_cast<sidra_report*>(queue.ring + 64 * SIDRA_CMD_SIZE + 4096);
    fake->set_automatic(false);
    for (uint64_t i = 0; i < 64; ++i) {
        ASSERT_OK(sidra_nop_async(reporting));
        EXPECT_FAILS(SIDRA_ERROR_NOT_READY, sidra_stream_report(reporting, i, &report));
        reports[i] = {.sequence = i, .device_ps = i * 10, .energy_pj = i * 3, .cookie = 5, .opcode = SIDRA_CMD_NOP};
        fake->retire(1, i + 1);
    }
    EXPECT_OK(sidra_stream_report(reporting, 63, &report));
    EXPECT_EQ(630u, report.device_ps);
    EXPECT_EQ(189u, report.energy_pj);
    EXPECT_EQ(5u, report.cookie);
    EXPECT_EQ(uint32_t{SIDRA_CMD_NOP}, report.opcode);
    EXPECT_OK(sidra_stream_report(reporting, 0, &report));
    ASSERT_OK(sidra_nop_async(reporting));
    EXPECT_FAILS(SIDRA_ERROR_NOT_FOUND, sidra_stream_report(reporting, 0, &report));
    EXPECT_OK(sidra_stream_destroy(reporting));
}

TEST_F(Stopped, StreamOptionsAreChecked) {
    sidra_stream* made = nullptr;
    auto options = SIDRA_INIT(sidra_stream_options);
    for (const uint32_t packets : {1u, 32u, 63u, 100u, 131072u}) {
        options.ring_packets = packets;
        EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_stream_create(context, &options, &made));
    }
    options.ring_packets = 64;
    options.priority = static_cast<sidra_priority>(3);
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_stream_create(context, &options, &made));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_stream_create(context, nullptr, nullptr));
    EXPECT_EQ(nullptr, made);
}

}  // namespace
}  // namespace sidra::test
