// SPDX-License-Identifier: MIT
// Several embedded chips, and copies between them: in the order of both streams, with the root of a failure.
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "../chip/failing_new.h"
#include "chip_fixture.h"
#include "sidra/sidra.hpp"

namespace sidra::test {
namespace {

class ChipPeer : public testing::Test {
   protected:
    static constexpr size_t kSize = 1 << 20;

    void SetUp() override {
        if (on_a_node()) GTEST_SKIP() << "there is one card";
        for (size_t i = 0; i < 2; ++i) {
            device[i] = Device::open(0, {.profile = SIDRA_PROFILE_SMALL, .workers = 2, .private_chip = true});
            context[i] = Context(device[i]);
            stream[i] = Stream(context[i]);
            data[i] = Buffer(context[i], kSize);
            words[i] = Buffer(context[i], 4096);
        }
    }
    static uint32_t id_of(const Stream& of) {
        EXPECT_EQ(SIDRA_ERROR_NOT_RECORDABLE, sidra_graph_end(of.get(), nullptr));
        const std::string text = sidra_last_error();
        return static_cast<uint32_t>(std::stoul(text.substr(text.find("stream ") + 7)));
    }
    static uint64_t submitted(const Stream& of) { return of.timeline().submitted; }
    // `of` has stopped because operation `sequence` of `root` failed.
    static void expect_root(const Stream& of, const Stream& root, uint64_t sequence, uint32_t cause) {
        EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(of.get(), soon()));
        const std::string text = sidra_last_error();
        EXPECT_NE(std::string::npos,
                  text.find("stream " + std::to_string(id_of(root)) + ", operation " + std::to_string(sequence)))
            << text;
        const auto fault = of.fault();
        ASSERT_TRUE(fault);
        EXPECT_EQ(uint32_t{SIDRA_FAULT_PRODUCER}, fault->cause);
        EXPECT_EQ(id_of(root), fault->root_stream);
        EXPECT_EQ(sequence, fault->root_sequence);
        EXPECT_EQ(cause, fault->root_cause);
    }
    // An operation that faults when the stream comes to it.
    static void queue_fault(Stream& on, const Buffer& of) {
        of.as<uint32_t>()[1000] = 7;  // beyond the table
        const Size one = {1, 1, 1, 1};
        on.gather_rows(one, dense(of.at(8000), SIDRA_S32, one), dense(of.at(0), SIDRA_S32, one), 1, of.at(4000),
                       SIDRA_S32);
    }

    Device device[2];
    Context context[2];
    Stream stream[2];
    Buffer data[2], words[2];
};

TEST_F(ChipPeer, CopiesAreInTheOrderOfBothStreams) {
    // Neither stream has done its work when the copies are queued.
    for (size_t i = 0; i < 2; ++i) stream[i].wait(words[i].at(), uint64_t{1});
    constexpr uint32_t kRounds = 20;
    for (uint32_t round = 1; round <= kRounds; ++round) {
        stream[0].fill(data[0], round, kSize / 2);
        stream[1].copy_peer(data[1].at(0), stream[0], data[0].at(0), kSize / 2);
        stream[0].fill(data[0], uint32_t{0xdead}, kSize / 2);  // must not reach the copy
        stream[1].copy(words[1].at(64 + round * 8), data[1].at(kSize / 2 - 8), 8);
        stream[1].fill(data[1], uint32_t{0xbeef}, kSize / 2);  // must not come before the copy
    }
    EXPECT_FALSE(stream[1].synchronize(Deadline::after(std::chrono::milliseconds(20))));
    context[0].signal(words[0].at(), 1);
    EXPECT_FALSE(stream[1].synchronize(Deadline::after(std::chrono::milliseconds(20)))) << "the target waits, too";
    context[1].signal(words[1].at(), 1);
    stream[1].synchronize();
    stream[0].synchronize();
    for (uint32_t round = 1; round <= kRounds; ++round)
        EXPECT_EQ(round, words[1].as<uint32_t>()[(64 + round * 8) / 4]) << round;
    EXPECT_EQ(0xdeadu, data[0].as<uint32_t>()[0]);
    EXPECT_EQ(0xbeefu, data[1].as<uint32_t>()[0]);
}

TEST_F(ChipPeer, BothWaysAndFromManyThreads) {
    constexpr int kThreads = 3, kRounds = 100;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
            Stream a(context[0]), b(context[1]);
            const size_t at = static_cast<size_t>(t) * 4096;
            for (uint64_t round = 1; round <= kRounds; ++round) {
                a.fill(data[0].at(at), round, 4096);
                b.copy_peer(data[1].at(at), a, data[0].at(at), 4096);
                a.copy_peer(data[0].at(kSize / 2 + at), b, data[1].at(at), 4096);
            }
            a.synchronize();
            b.synchronize();
        });
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < kThreads * 512; ++i) ASSERT_EQ(uint64_t{kRounds}, data[0].as<uint64_t>()[kSize / 16 + i]);
}

// Their copies come in the same order in both rings, or each stream would wait for the other.
TEST_F(ChipPeer, ManyThreadsMayShareAPairOfStreams) {
    constexpr size_t kThreads = 4, kRounds = 5, kCopies = 200;  // as many as the rings have room for
    for (size_t round = 0; round < kRounds; ++round) {
        std::barrier together(kThreads);
        std::vector<std::thread> threads;
        for (size_t t = 0; t < kThreads; ++t)
            threads.emplace_back([&, t] {
                const size_t from = t % 2, to = 1 - from;
                together.arrive_and_wait();
                for (size_t i = 0; i < kCopies; ++i)
                    stream[to].copy_peer(data[to].at(t * 64), stream[from], data[from].at(t * 64), 64);
            });
        for (std::thread& thread : threads) thread.join();
        for (Stream& each : stream) ASSERT_TRUE(each.synchronize(Deadline::after(std::chrono::minutes(2))));
    }
}

TEST_F(ChipPeer, ACopyThatWaitsForRoomBlocksNoOther) {
    Stream full(context[0], {.ring_packets = 64}), other(context[0]);
    full.wait(words[0].at(), uint64_t{1});
    for (int i = 1; i < 64; ++i) full.nop();
    data[0].as<uint64_t>()[0] = 5;
    std::thread waiting(
        [&] { EXPECT_OK(sidra_copy_peer_async(stream[1].get(), data[1].at(0), full.get(), data[0].at(0), 64)); });
    for (Stream* each : {&other, &stream[1]}) each->set_deadline(Deadline::poll());
    for (uint64_t round = 1; round <= 200; ++round) {  // at last the thread waits
        data[0].as<uint64_t>()[512] = round;
        EXPECT_OK(sidra_copy_peer_async(stream[1].get(), data[1].at(4096), other.get(), data[0].at(4096), 64));
        EXPECT_OK(sidra_stream_synchronize(stream[1].get(), soon()));
        ASSERT_EQ(round, data[1].as<uint64_t>()[512]);
    }
    EXPECT_EQ(64u, submitted(full));
    context[0].signal(words[0].at(), 1);
    waiting.join();
    stream[1].synchronize();
    EXPECT_EQ(5u, data[1].as<uint64_t>()[0]);
}

TEST_F(ChipPeer, OneContextToo) {
    Stream other(context[0]);
    other.wait(words[0].at(), uint64_t{1});
    other.fill(data[0].at(0), uint64_t{5}, 64);
    stream[0].copy_peer(data[0].at(4096), other, data[0].at(0), 64);
    other.fill(data[0].at(0), uint64_t{6}, 64);
    stream[0].copy_peer(data[0].at(8192), stream[0], data[0].at(4096), 64);
    context[0].signal(words[0].at(), 1);
    stream[0].synchronize();
    other.synchronize();
    EXPECT_EQ(5u, data[0].as<uint64_t>()[1024]);
    EXPECT_EQ(6u, data[0].as<uint64_t>()[0]);
    EXPECT_THROW(stream[0].copy_peer(data[0].at(8), stream[0], data[0].at(0), 64), Error) << "overlap";
}

TEST_F(ChipPeer, OneContextCopiesNothingIfEitherRingIsFull) {
    data[0].as<uint64_t>()[0] = 5;
    uint64_t word = 0;
    for (const bool of_source : {true, false}) {
        SCOPED_TRACE(of_source);
        Stream full(context[0], {.ring_packets = 64}), other(context[0]);
        Stream &source = of_source ? full : other, &target = of_source ? other : full;
        const auto copy = [&] {
            return sidra_copy_peer_async(target.get(), data[0].at(4096), source.get(), data[0].at(0), 64);
        };
        full.set_deadline(Deadline::poll());
        full.wait(words[0].at(), ++word);
        for (int i = 1; i < 64; ++i) full.nop();
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT, copy());
        context[0].signal(words[0].at(), word);
        for (Stream* each : {&source, &target}) each->synchronize();
        EXPECT_EQ(0u, data[0].as<uint64_t>()[512]);
        ASSERT_OK(copy());
        for (Stream* each : {&source, &target}) each->synchronize();
        EXPECT_EQ(5u, data[0].as<uint64_t>()[512]);
        data[0].as<uint64_t>()[512] = 0;
    }
}

TEST_F(ChipPeer, AFaultOfTheSourceStopsTheTargetAndWhoWaitsForIt) {
    data[1].as()[0] = std::byte{9};
    stream[0].wait(words[0].at(), uint64_t{1});
    queue_fault(stream[0], data[0]);
    stream[1].copy_peer(data[1].at(0), stream[0], data[0].at(0), 64);
    Event event(context[1]);
    Stream last(context[1]);
    stream[1].record(event);
    last.wait(event);
    Graph graph = last.capture([&] { last.fill(data[1].at(64), uint8_t{1}, 64); });
    last.launch(graph);
    context[0].signal(words[0].at(), 1);
    for (const Stream* each : {&stream[1], &last}) expect_root(*each, stream[0], 1, SIDRA_FAULT_VALUE);
    EXPECT_EQ(std::byte{9}, data[1].as()[0]);
    EXPECT_EQ(std::byte{0}, data[1].as()[64]);
    EXPECT_EQ(SIDRA_ERROR_FAULT, sidra_event_query(event.get()));
    EXPECT_NE(std::string::npos, std::string(sidra_last_error()).find("operation 1")) << sidra_last_error();
    // The next copy is as good as new, and one from a stream that has stopped says so at once.
    EXPECT_EQ(SIDRA_ERROR_FAULT,
              sidra_copy_peer_async(stream[1].get(), data[1].at(0), stream[0].get(), data[0].at(0), 64));
    for (Stream* each : {&stream[0], &stream[1], &last}) each->reset();
    stream[0].fill(data[0].at(0), uint8_t{3}, 64);
    stream[1].copy_peer(data[1].at(0), stream[0], data[0].at(0), 64);
    stream[1].synchronize();
    EXPECT_EQ(std::byte{3}, data[1].as()[63]);
}

// Third hand: the root is not the source itself, but the one for whom it waited, on a third context.
TEST_F(ChipPeer, TheRootIsNamedAcrossChips) {
    Context third(device[0]);
    Stream first(third);
    Buffer theirs(third, 16384), gate(third, 64);
    first.wait(gate.at(), uint64_t{1});
    first.nop();
    queue_fault(first, theirs);
    stream[0].copy_peer(data[0].at(0), first, theirs.at(0), 64);
    stream[1].copy_peer(data[1].at(0), stream[0], data[0].at(0), 64);
    third.signal(gate.at(), 1);
    expect_root(stream[0], first, 2, SIDRA_FAULT_VALUE);
    expect_root(stream[1], first, 2, SIDRA_FAULT_VALUE);
    for (Stream* each : {&stream[0], &stream[1], &first}) each->reset();
}

TEST_F(ChipPeer, AResetOrTheEndOfTheSourceStopsTheTarget) {
    for (const bool destroyed : {false, true}) {
        Stream source(context[0]);
        source.wait(words[0].at(), uint64_t{1});
        stream[1].copy_peer(data[1].at(0), source, data[0].at(0), 64);
        const uint32_t id = id_of(source);
        if (destroyed) source = Stream();
        else source.reset();
        EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream[1].get(), soon()));
        const auto fault = stream[1].fault();
        ASSERT_TRUE(fault);
        EXPECT_EQ(uint32_t{SIDRA_FAULT_PRODUCER}, fault->cause);
        EXPECT_EQ(id, fault->root_stream);
        EXPECT_EQ(0u, fault->root_sequence);
        EXPECT_EQ(uint32_t{SIDRA_FAULT_RESET}, fault->root_cause);
        stream[1].reset();
    }
}

TEST_F(ChipPeer, AFailureOfTheTargetLeavesTheSourceAlone) {
    stream[1].wait(words[1].at(), uint64_t{1});
    stream[0].fill(data[0], uint64_t{1}, 64);
    stream[1].copy_peer(data[1].at(0), stream[0], data[0].at(0), 64);
    stream[0].fill(data[0], uint64_t{2}, 64);
    EXPECT_FALSE(stream[0].synchronize(Deadline::after(std::chrono::milliseconds(20))));
    stream[1].reset();
    stream[0].synchronize();
    EXPECT_EQ(2u, data[0].as<uint64_t>()[0]);
    EXPECT_EQ(0u, data[1].as<uint64_t>()[0]);
}

TEST_F(ChipPeer, ALostContextIsAFailureToo) {
    stream[0].wait(words[0].at(), uint64_t{1});
    stream[1].copy_peer(data[1].at(0), stream[0], data[0].at(0), 64);
    device[0].reset();
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream[1].get(), soon()));
    stream[1].reset();
    context[0].recover();
    stream[0].fill(data[0], uint64_t{4}, 64);
    stream[1].copy_peer(data[1].at(0), stream[0], data[0].at(0), 64);
    stream[1].synchronize();
    EXPECT_EQ(4u, data[1].as<uint64_t>()[0]);
    // The other way, with gates of a context that was lost.
    stream[1].wait(words[1].at(), uint64_t{1});
    stream[0].copy_peer(data[0].at(0), stream[1], data[1].at(0), 64);
    device[0].reset();
    context[0].recover();
    context[1].signal(words[1].at(), 1);
    stream[1].synchronize();
    stream[0].copy_peer(data[0].at(64), stream[1], data[1].at(0), 64);
    stream[0].synchronize();
    EXPECT_EQ(4u, data[0].as<uint64_t>()[8]);
}

TEST_F(ChipPeer, MemoryThatIsGoneIsNotRead) {
    auto gone = std::make_unique<Buffer>(context[0], kSize);
    stream[0].wait(words[0].at(), uint64_t{1});
    stream[1].copy_peer(data[1].at(0), stream[0], gone->at(0), kSize);
    gone.reset();
    context[0].signal(words[0].at(), 1);
    EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream[1].get(), soon()));
    EXPECT_EQ(uint32_t{SIDRA_FAULT_TRANSLATION}, stream[1].fault()->root_cause);
    stream[0].synchronize();
    stream[1].reset();
    // Memory that is freed in the order of the stream is there until then.
    Allocation from = stream[0].allocate(4096), to = stream[1].allocate(4096);
    context[0].signal(words[0].at(8), 0);
    stream[0].wait(words[0].at(8), uint64_t{1});
    stream[0].fill(from, uint64_t{8}, 4096);
    stream[1].copy_peer(to, stream[0], from, 4096);
    from = Allocation();
    context[0].trim_pool();
    context[0].signal(words[0].at(8), 1);
    stream[1].synchronize();
    EXPECT_EQ(8u, to.as<uint64_t>()[511]);
}

TEST_F(ChipPeer, WhatIsRefused) {
    sidra_stream *a = stream[0].get(), *b = stream[1].get();
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_copy_peer_async(b, data[1].at(0), a, data[0].at(0), 0));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_copy_peer_async(b, data[1].at(1), a, data[0].at(0), kSize));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_copy_peer_async(b, data[1].at(0), a, data[0].at(1), kSize));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_copy_peer_async(b, data[0].at(0), a, data[0].at(0), 8));
    EXPECT_FAILS(SIDRA_ERROR_WRONG_CONTEXT, sidra_copy_peer_async(b, data[1].at(0), a, data[1].at(0), 8));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_HANDLE, sidra_copy_peer_async(nullptr, data[1].at(0), a, data[0].at(0), 8));
    const std::vector<std::byte> constant(64);
    const Buffer fixed = Buffer::register_memory(context[1], std::span(constant));
    EXPECT_FAILS(SIDRA_ERROR_PERMISSION, sidra_copy_peer_async(b, fixed.at(0), a, data[0].at(0), 8));
    for (sidra_stream* recording : {a, b}) {
        ASSERT_OK(sidra_graph_begin(recording));
        EXPECT_FAILS(SIDRA_ERROR_NOT_RECORDABLE, sidra_copy_peer_async(b, data[1].at(0), a, data[0].at(0), 8));
        EXPECT_EQ(SIDRA_ERROR_INVALID_ARGUMENT, sidra_graph_end(recording, nullptr));
    }
    // Rings that are full: neither stream is left with a gate that never opens.
    for (const size_t full : {size_t{0}, size_t{1}}) {
        Stream own[2];
        for (size_t i = 0; i < 2; ++i) own[i] = Stream(context[i], {.ring_packets = 64});
        own[full].set_deadline(Deadline::poll());
        own[full].wait(words[full].at(128), uint64_t{1});
        for (int i = 1; i < 64; ++i) own[full].nop();
        EXPECT_FAILS(SIDRA_ERROR_TIMEOUT,
                     sidra_copy_peer_async(own[1].get(), data[1].at(0), own[0].get(), data[0].at(0), 8));
        own[1 - full].synchronize();
        context[full].signal(words[full].at(128), 1);
        own[full].synchronize();
    }
}

// The context can be destroyed, and the other stream hears of it when it comes to the copy.
TEST_F(ChipPeer, AContextEndsBeforeItsCopies) {
    uint64_t word = 0;
    for (const bool source_came : {false, true}) {
        SCOPED_TRACE(source_came);
        {
            Context ends(device[1]);
            Buffer theirs(ends, 4096);
            Stream target(ends);
            if (source_came) target.wait(theirs.at(64), uint64_t{1});
            else stream[0].wait(words[0].at(), ++word);
            const uint64_t before = submitted(stream[0]);
            target.copy_peer(theirs.at(0), stream[0], data[0].at(0), 64);
            stream[0].fill(data[0], ++word, 64);
            if (source_came) EXPECT_TRUE(eventually([&] { return stream[0].timeline().completed == before; }));
            target = Stream(), theirs = Buffer();
            ends.close();
        }
        context[0].signal(words[0].at(), word);
        ASSERT_OK(sidra_stream_synchronize(stream[0].get(), soon()));
        EXPECT_EQ(word, data[0].as<uint64_t>()[0]);

        data[1].as<uint64_t>()[0] = 3;
        uint32_t id = 0;
        {
            Context ends(device[0]);
            Buffer theirs(ends, 4096);
            Stream source(ends);
            id = id_of(source);
            if (source_came) stream[1].wait(words[1].at(), ++word);
            else source.wait(theirs.at(64), uint64_t{1});
            stream[1].copy_peer(data[1].at(0), source, theirs.at(0), 64);
            source = Stream(), theirs = Buffer();
            ends.close();
        }
        context[1].signal(words[1].at(), word);
        EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream[1].get(), soon()));
        const auto fault = stream[1].fault();
        ASSERT_TRUE(fault);
        EXPECT_EQ(uint32_t{SIDRA_FAULT_PRODUCER}, fault->cause);
        EXPECT_EQ(id, fault->root_stream);
        EXPECT_EQ(3u, data[1].as<uint64_t>()[0]);
        stream[1].reset();
    }
}

// Whichever allocation of the call fails: nothing is copied, neither stream stops or waits, and the next call works.
TEST_F(ChipPeer, AnyAllocationOfTheCallMayFail) {
    uint64_t first = 0;
    for (bool again = true; again; ++first) {
        SCOPED_TRACE(first);
        // Neither gates nor threads are there yet.
        Context own[2];
        Stream source, target;
        Buffer memory[2];
        for (size_t i = 0; i < 2; ++i) own[i] = Context(device[i]), memory[i] = Buffer(own[i], 4096);
        source = Stream(own[0]), target = Stream(own[1]);
        source.fill(memory[0], first + 1, 64);
        const auto copy = [&] {
            return sidra_copy_peer_async(target.get(), memory[1].at(0), source.get(), memory[0].at(0), 64);
        };
        sidra_status status = SIDRA_OK;
        {
            const FailingNew failing(first, 1, FailingNew::Of::kThisThread);
            status = copy();
            again = failing.failed() != 0;
        }
        EXPECT_EQ(again ? SIDRA_ERROR_OUT_OF_MEMORY : SIDRA_OK, status);
        for (const Stream* each : {&source, &target}) ASSERT_OK(sidra_stream_synchronize(each->get(), soon()));
        EXPECT_EQ(again ? 0 : first + 1, memory[1].as<uint64_t>()[0]);
        source.fill(memory[0], uint64_t{99}, 64);
        ASSERT_OK(copy());
        ASSERT_OK(sidra_stream_synchronize(target.get(), soon()));
        EXPECT_EQ(99u, memory[1].as<uint64_t>()[7]);
        source = Stream(), target = Stream();
        for (size_t i = 0; i < 2; ++i) {
            memory[i] = Buffer();
            own[i].close();  // refused if something is left in it
        }
    }
    EXPECT_GT(first, 10u);
}

// Once the call has succeeded, the threads of the library need no more memory for the copy, and that of the source none
// to pass on a failure. (To stop the target, its thread ends a queue, for which the model of the chip needs memory.)
TEST_F(ChipPeer, ItsThreadsNeedNoMemory) {
    struct Case {
        size_t thread;
        bool fault;
    };
    uint64_t word = 0;
    for (const auto& [thread, fault] : {Case{0, false}, Case{1, false}, Case{0, true}}) {
        SCOPED_TRACE(testing::Message() << "thread " << thread << ", fault " << fault);
        std::optional<FailingNew> failing;
        stream[0].fill(data[0], uint64_t{7}, 64);
        stream[1].fill(data[1], uint64_t{0}, 64);
        stream[0].wait(words[0].at(), ++word);
        // Runs on the thread of the context, before anything of the copy does.
        stream[thread].add_callback(
            [](sidra_status, void* user) {
                static_cast<std::optional<FailingNew>*>(user)->emplace(0, UINT64_MAX, FailingNew::Of::kThisThread);
            },
            &failing);
        const uint64_t sequence = submitted(stream[0]);
        if (fault) queue_fault(stream[0], data[0]);
        stream[1].copy_peer(data[1].at(0), stream[0], data[0].at(0), 64);
        context[0].signal(words[0].at(), word);
        if (fault) {
            EXPECT_FAILS(SIDRA_ERROR_FAULT, sidra_stream_synchronize(stream[0].get(), soon()));
            expect_root(stream[1], stream[0], sequence, SIDRA_FAULT_VALUE);
        } else {
            for (const Stream& each : stream) EXPECT_OK(sidra_stream_synchronize(each.get(), soon()));
            EXPECT_EQ(7u, data[1].as<uint64_t>()[0]);
        }
        ASSERT_TRUE(failing);
        failing.reset();
    }
    for (Stream& each : stream) each.reset();
    stream[0].fill(data[0], uint64_t{8}, 64);
    stream[1].copy_peer(data[1].at(0), stream[0], data[0].at(0), 64);
    stream[1].synchronize();
    EXPECT_EQ(8u, data[1].as<uint64_t>()[0]);
}

// Chips by number in one process: other cells, other clocks, the same one for the same number.
TEST(SeveralChips, EachHasItsOwnState) {
    if (on_a_node()) GTEST_SKIP() << "there is one card";
    setenv("SIDRA_DEVICE", "embedded:40,embedded:41,embedded:42", 1);
    EXPECT_EQ(3u, Device::count());
    const sidra_device_options options{.profile = SIDRA_PROFILE_SMALL, .workers = 1};
    Device devices[3];
    for (uint32_t i = 0; i < 3; ++i) devices[i] = Device::open(i, options);
    EXPECT_THROW(Device::open(3, options), Error);
    Device again = Device::open(1, options);
    EXPECT_EQ(0, std::memcmp(again.info().uuid, devices[1].info().uuid, 16));
    EXPECT_NE(0, std::memcmp(devices[0].info().uuid, devices[1].info().uuid, 16));
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ("sidra" + std::to_string(40 + i), devices[i].info().name);
    Context first(devices[0]), second(devices[1]);
    const uint32_t free = devices[1].info().crossbars_free;
    Weights weights = Weights::from_s8(first, 1, 1, std::vector<int8_t>{1});
    EXPECT_EQ(free, devices[1].info().crossbars_free);
    EXPECT_LT(devices[0].info().crossbars_free, free);
    // A reset of one is none of another.
    devices[1].reset();
    EXPECT_EQ(SIDRA_ERROR_CONTEXT_LOST, second.status());
    EXPECT_EQ(SIDRA_OK, first.status());
    choose_test_device();
}

}  // namespace
}  // namespace sidra::test
