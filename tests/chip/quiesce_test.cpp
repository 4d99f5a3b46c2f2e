// SPDX-License-Identifier: MIT
// QUIESCE, RESUME and RESET of every scope, idle and in mid-flight: after the acknowledgement nothing of the scope is
// accessed. Revoked memory is unreadable for the process (Bus::revoke), so a late access cannot go unnoticed.
#include <random>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kOk = SIDRA_ADMIN_OK;

TEST(Quiesce, StoppedScopesDoNotRunUntilResumed) {
    struct Scope {
        uint32_t quiesce, resume;
    };
    for (const auto [quiesce, resume] : {Scope{SIDRA_ADMIN_QUIESCE_QUEUE, SIDRA_ADMIN_RESUME_QUEUE},
                                         Scope{SIDRA_ADMIN_QUIESCE_CONTEXT, SIDRA_ADMIN_RESUME_CONTEXT},
                                         Scope{SIDRA_ADMIN_QUIESCE_DEVICE, SIDRA_ADMIN_RESUME_DEVICE}}) {
        SCOPED_TRACE(quiesce);
        Bench bench;
        Context& context = bench.context();
        Queue& queue = context.queue();
        Queue& sibling = context.queue();
        Queue& stranger = bench.context().queue();
        for (Queue* each : {&queue, &sibling, &stranger}) {
            each->submit(nop());
        }
        bench.run();
        ASSERT_EQ(bench.admin(quiesce, context.index(), queue.index()), kOk);
        EXPECT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_STOPPED});
        EXPECT_EQ((bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_STOPPED) != 0, quiesce == SIDRA_ADMIN_QUIESCE_DEVICE);
        for (Queue* each : {&queue, &sibling, &stranger}) {
            each->submit(nop());
        }
        bench.run();
        EXPECT_EQ(queue.timeline(), 1u);
        EXPECT_EQ(sibling.timeline(), quiesce == SIDRA_ADMIN_QUIESCE_QUEUE ? 2u : 1u);
        EXPECT_EQ(stranger.timeline(), quiesce == SIDRA_ADMIN_QUIESCE_DEVICE ? 1u : 2u);
        ASSERT_EQ(bench.admin(resume, context.index(), queue.index()), kOk);
        bench.run();
        // A doorbell while stopped is not lost.
        EXPECT_TRUE(retired(queue));
        EXPECT_TRUE(retired(sibling));
        EXPECT_TRUE(retired(stranger));
        EXPECT_EQ(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_STOPPED, 0u);
    }
}

TEST(Quiesce, ScopesNest) {
    // Resuming the device does not resume a context that was stopped on its own.
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_CONTEXT, context.index()), kOk);
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), kOk);
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_DEVICE), kOk);
    queue.submit(nop());
    bench.run();
    EXPECT_EQ(queue.timeline(), 0u);
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_CONTEXT, context.index()), kOk);
    queue.doorbell();
    bench.run();
    EXPECT_TRUE(retired(queue));
}

TEST(Quiesce, AResumedQueueDoesNotRunBeforeItSaysSo) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    queue.submit(nop());
    bench.run();
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_QUEUE, context.index(), queue.index()), kOk);
    bench.bus().set_access(queue.entry().state, kPage, Access::kRefused);
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_QUEUE, context.index(), queue.index()), kOk);
    bench.run();
    EXPECT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_STOPPED});
    bench.bus().set_access(queue.entry().state, kPage, Access::kOpen);
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
}

TEST(Quiesce, AQueueStopsInsideItsPacketAndGoesOnThere) {
    Bench bench({.pages = 16384});
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t bytes = 12 << 20;
    const uint64_t a = context.alloc(bytes), b = context.alloc(bytes);
    std::vector<uint64_t> data(bytes / 8);
    for (size_t i = 0; i < data.size(); ++i) {
        data[i] = i * 0x9e3779b97f4a7c15ull;
    }
    context.write(a, data.data(), bytes);
    queue.submit(copy(b, a, bytes));
    unsigned stops = 0;
    while (queue.timeline() == 0) {
        bench.run_once();
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_QUEUE, context.index(), queue.index()), kOk);
        const uint64_t calls = bench.bus().calls();
        bench.run();
        EXPECT_EQ(bench.bus().calls(), calls);
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_QUEUE, context.index(), queue.index()), kOk);
        ASSERT_LT(++stops, 100'000u);
    }
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_TRUE(context.get<uint64_t>(b, data.size()) == data);
}

// The driver's order of destruction: clear the entry, quiesce, wait; then all its memory may be freed, whatever
// follows.
TEST(Quiesce, AQueueWhoseEntryWentAwayIsForgotten) {
    for (const bool by_reset : {false, true}) {
        for (const auto& later :
             std::vector<std::vector<uint32_t>>{{},
                                                {SIDRA_ADMIN_RESUME_QUEUE},
                                                {SIDRA_ADMIN_RESET_QUEUE},
                                                {SIDRA_ADMIN_QUIESCE_QUEUE, SIDRA_ADMIN_RESUME_QUEUE},
                                                {SIDRA_ADMIN_RESUME_QUEUE, SIDRA_ADMIN_RESET_QUEUE},
                                                {SIDRA_ADMIN_QUIESCE_CONTEXT, SIDRA_ADMIN_RESET_CONTEXT}}) {
            SCOPED_TRACE(::testing::Message()
                         << by_reset << ", then " << later.size() << " more, first " << (later.empty() ? 0 : later[0]));
            Bench bench;
            Context& context = bench.context();
            Queue& queue = context.queue();
            queue.submit(nop());
            bench.run();
            queue.entry().flags = 0;
            queue.store_entry();
            ASSERT_EQ(bench.admin(by_reset ? SIDRA_ADMIN_RESET_QUEUE : SIDRA_ADMIN_QUIESCE_QUEUE, context.index(),
                                  queue.index()),
                      kOk);
            bench.bus().revoke(queue.entry().state, kPage);
            bench.bus().revoke(context.space().raw(queue.entry().ring).address, kPage);
            bench.bus().revoke(context.space().raw(queue.entry().write_index).address, kPage);
            for (const uint32_t op : later) {
                ASSERT_EQ(bench.admin(op, context.index(), queue.index()), kOk);
            }
            bench.run();  // a resumed queue reads its entry
            queue.doorbell();
            queue.arm(1);
            bench.run();
            if (!later.empty()) {
                EXPECT_EQ(bench.telemetry().queues, 0u);
                EXPECT_EQ(bench.interrupts_total(), 0u);
            }
        }
    }
}

TEST(Quiesce, AnotherEntryInTheSamePlaceIsLoadedAfresh) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    queue.submit(nop());
    bench.run();
    for (const uint64_t start : {uint64_t{1000}, uint64_t{1} << 35, uint64_t{7}}) {
        queue.reset_at(start);
        queue.submit(nop());
        queue.submit(nop());
        bench.run();
        EXPECT_TRUE(retired(queue));
        EXPECT_EQ(queue.timeline(), start + 2);
    }
}

// After a reset nothing runs before the next doorbell, whether it was ready, parked or faulted.
TEST(Reset, AQueueStartsAtTheNextDoorbellOnly) {
    for (const uint32_t earlier : {SIDRA_ADMIN_NONE, SIDRA_ADMIN_QUIESCE_WEIGHTS, SIDRA_ADMIN_QUIESCE_RANGE}) {
        for (const bool fault : {false, true}) {
            SCOPED_TRACE(::testing::Message() << earlier << (fault ? " faulted" : ""));
            Bench bench;
            Context& context = bench.context();
            Queue& queue = context.queue();
            Queue& sibling = context.queue();
            sibling.submit(nop());
            bench.run();
            queue.push(nop());
            queue.push(fault ? blank(SIDRA_CMD_INVALID) : nop());
            queue.push(nop());
            queue.publish();
            queue.doorbell();
            bench.run();
            const sidra_telemetry before = bench.telemetry();
            if (earlier != SIDRA_ADMIN_NONE) {
                ASSERT_EQ(bench.admin(earlier, context.index(), 0, kPage), kOk);
            }
            ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESET_QUEUE, context.index(), queue.index()), kOk);
            bench.run();
            const sidra_telemetry after = bench.telemetry();
            EXPECT_EQ(after.packets, before.packets);
            EXPECT_EQ(after.faults, before.faults);
            queue.set_next(0);
            queue.submit(nop());
            bench.run();
            EXPECT_TRUE(retired(queue));
        }
    }
}

TEST(Reset, ADoorbellFromBeforeIsForgotten) {
    for (const uint32_t op : {SIDRA_ADMIN_RESET_QUEUE, SIDRA_ADMIN_RESET_CONTEXT}) {
        for (const bool stopped : {false, true}) {
            SCOPED_TRACE(::testing::Message() << op << (stopped ? " while stopped" : ""));
            Bench bench;
            Context& context = bench.context();
            Queue& queue = context.queue();
            queue.submit(nop());
            bench.run();
            if (stopped) {
                ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_CONTEXT, context.index()), kOk);
            }
            queue.submit(nop());  // not run yet
            ASSERT_EQ(bench.admin(op, context.index(), queue.index()), kOk);
            const uint64_t packets = bench.telemetry().packets;
            bench.bus().store64(queue.entry().state, 0);
            if (stopped) {
                ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_CONTEXT, context.index()), kOk);
            }
            bench.run();
            EXPECT_EQ(queue.timeline(), 0u);
            EXPECT_EQ(bench.telemetry().packets, packets);
            queue.set_next(0);
            queue.submit(nop());
            bench.run();
            EXPECT_TRUE(retired(queue));
        }
    }
}

TEST(Reset, ContextForgetsAllItsQueues) {
    Bench bench;
    Context& context = bench.context();
    Queue& a = context.queue();
    Queue& b = context.queue();
    Queue& other = bench.context().queue();
    const uint64_t word = context.alloc(kPage);
    a.submit(nop());
    a.submit(sem_wait(word, 1));
    b.submit(blank(SIDRA_CMD_INVALID));
    other.submit(nop());
    bench.run();
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, context.index()), kOk);
    bench.run();
    for (Queue* queue : {&a, &b}) {
        queue->set_next(0);
        queue->submit(nop());
    }
    other.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(a));
    EXPECT_TRUE(retired(b));
    EXPECT_TRUE(retired(other));
    EXPECT_EQ(a.timeline(), 1u);
    EXPECT_EQ(other.timeline(), 2u);
}

// The next owner of a context's number does not know what the one before had stopped.
TEST(Reset, ContextForgetsWhichQueuesWereStopped) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    Queue& stranger = bench.context().queue();
    for (Queue* each : {&queue, &stranger}) {
        each->submit(nop());
        bench.run();
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_QUEUE, each->context().index(), each->index()), kOk);
    }
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, context.index()), kOk);
    queue.set_next(0);
    for (Queue* each : {&queue, &stranger}) each->submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
    EXPECT_EQ(queue.timeline(), 1u);
    EXPECT_EQ(stranger.timeline(), 1u) << "of another context";
}

TEST(Reset, GenerationOfTheEntryReachesTheStatePage) {
    Bench bench;
    Queue& queue = bench.context().queue();
    queue.submit(nop());
    bench.run();
    EXPECT_EQ(queue.state().generation, queue.entry().generation);
    queue.entry().generation += 5;
    queue.reset_at(0);
    queue.submit(nop());
    bench.run();
    EXPECT_EQ(queue.state().generation, queue.entry().generation);
}

// ---- A reset of operations that do not complete ----

struct Withheld {
    uint32_t op, knob;  // value of no-quiesce-ack that withholds it
};
constexpr Withheld kGiveWay[] = {{SIDRA_ADMIN_QUIESCE_RANGE, 1},
                                 {SIDRA_ADMIN_QUIESCE_WEIGHTS, 1},
                                 {SIDRA_ADMIN_QUIESCE_QUEUE, 1},
                                 {SIDRA_ADMIN_QUIESCE_CONTEXT, 1},
                                 {SIDRA_ADMIN_RESET_QUEUE, 2}};

TEST(Quiesce, AResetOfTheContextTakesThePlaceOfWhatDoesNotEnd) {
    for (const auto [op, knob] : kGiveWay) {
        SCOPED_TRACE(op);
        Bench bench;
        Context& context = bench.context();
        Queue& queue = context.queue();
        Queue& sibling = context.queue();
        Queue& stranger = bench.context().queue();
        for (Queue* each : {&queue, &sibling, &stranger}) each->submit(nop());
        bench.run();
        ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, knob));
        const uint32_t old = bench.start_admin(op, context.index(), queue.index(), kPage);
        bench.run();
        const uint64_t page = bench.bus().alloc_page();
        bench.start_admin(SIDRA_ADMIN_RESET_CONTEXT, context.index() + 1);
        bench.start_admin(SIDRA_ADMIN_TEST_DMA, page, page + 8, 8);
        bench.run();
        EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), SIDRA_ADMIN_BUSY | old << 16) << "others are ignored";
        const uint32_t tag = bench.start_admin(SIDRA_ADMIN_RESET_CONTEXT, context.index());
        EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), SIDRA_ADMIN_BUSY | tag << 16);
        bench.run();
        EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), SIDRA_ADMIN_OK | tag << 16);
        for (Queue* each : {&queue, &sibling}) {
            EXPECT_EQ(each->run_state(), uint32_t{SIDRA_QUEUE_STOPPED});
            each->set_next(0);
        }
        for (Queue* each : {&queue, &sibling, &stranger}) each->submit(nop());
        bench.run();
        EXPECT_EQ(queue.timeline(), 1u) << "nothing of the old command is left: it runs, from its start";
        EXPECT_EQ(sibling.timeline(), 1u);
        EXPECT_EQ(stranger.timeline(), 2u) << "who has nothing to do with it goes on";
    }
}

TEST(Quiesce, AResetThatIsWithheldTooEndsWithTheDevice) {
    Bench bench;
    Context& context = bench.context();
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, 3));
    bench.start_admin(SIDRA_ADMIN_QUIESCE_RANGE, context.index(), 0, kPage);
    bench.run();
    for (const bool looked_at : {true, false}) {
        const uint32_t tag = bench.start_admin(SIDRA_ADMIN_RESET_CONTEXT, context.index());
        if (looked_at) bench.run();
        EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), SIDRA_ADMIN_BUSY | tag << 16);
        bench.start_admin(SIDRA_ADMIN_RESET_CONTEXT, context.index());
        EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), SIDRA_ADMIN_BUSY | tag << 16) << "only once";
        bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
        bench.run();
        EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), SIDRA_ADMIN_ABORTED | tag << 16);
        bench.enable();
        bench.start_admin(SIDRA_ADMIN_QUIESCE_RANGE, context.index(), 0, kPage);
    }
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench.run();
    EXPECT_FALSE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, 4));
}

// ---- In mid-flight
// -------------------------------------------------------------------------------------------------------

// A context that keeps its queues busy, on a chip with threads, and an innocent one whose results are checked
// throughout.
class MidFlight : public ::testing::Test {
   protected:
    Bench bench{{.pages = 32768}};
    Context& busy = bench.context();
    Context& innocent = bench.context();
    std::vector<Queue*> queues;
    Queue& good = innocent.queue({.log2 = 10, .reports = false});
    uint64_t good_src = innocent.alloc(kGood), good_dst = innocent.alloc(kGood);
    static constexpr uint64_t kGood = 5000;
    static constexpr uint64_t kBytes = 128 << 10;
    uint64_t src = 0, dst = 0;
    std::mt19937_64 random{17};

    void SetUp() override {
        for (unsigned i = 0; i < 3; ++i) {
            queues.push_back(&busy.queue({.log2 = 8, .priority = static_cast<uint8_t>(i), .reports = i != 0}));
        }
        src = busy.alloc(kBytes);
        dst = busy.alloc(3 * kBytes);
        std::vector<uint8_t> bytes(kGood);
        for (size_t i = 0; i < kGood; ++i) {
            bytes[i] = static_cast<uint8_t>(i * 31);
        }
        innocent.write(good_src, bytes.data(), kGood);
        bench.start_threads(2);
    }
    void TearDown() override { bench.stop_threads(); }
    sidra_cmd work(unsigned queue) {
        switch (random() % 3) {
            case 0:
                return nop();
            case 1:
                return fill(dst + queue * kBytes, kBytes, random() & 0xff, 1);
            default:
                return copy(dst + queue * kBytes, src, 1 + random() % kBytes);
        }
    }
    void top_up(unsigned i) {
        Queue& queue = *queues[i];
        while (queue.next() - queue.timeline() < 100) {
            queue.push(work(i));
        }
        queue.publish();
        queue.doorbell();
    }
    void check_innocent() {
        good.push(fill(good_dst, 5000 / 8 * 8, 0, 8));
        good.push(copy(good_dst, good_src, kGood));
        good.publish();
        good.doorbell();
        ASSERT_TRUE(bench.wait(good, good.next()));
        ASSERT_EQ(innocent.get<uint8_t>(good_dst, kGood), innocent.get<uint8_t>(good_src, kGood));
    }
};

TEST_F(MidFlight, RangesArePulledAwayAndReplaced) {
    for (unsigned round = 0; round < 40; ++round) {
        for (unsigned i = 0; i < 3; ++i) {
            top_up(i);
        }
        if (random() % 2 != 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        }
        // Pages of source and destination move: map the new page, quiesce, revoke the old one.
        const uint64_t va = (random() % 2 != 0 ? src : dst) + random() % (kBytes / kPage) * kPage;
        const uint64_t entry = busy.space().entry(va, 0);
        const uint64_t old = bench.bus().load64(entry);
        bench.bus().store64(entry, (old & ~SIDRA_PTE_ADDR) | bench.bus().alloc_page());
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_RANGE, busy.index(), va, kPage), kOk);
        bench.bus().revoke(old & SIDRA_PTE_ADDR, kPage);
        check_innocent();
    }
    for (Queue* queue : queues) {
        EXPECT_TRUE(bench.wait(*queue, queue->next())) << "range quiesces go on by themselves";
    }
}

// A reset of the context at any stage of the previous command.
TEST_F(MidFlight, AResetOfTheContextAtAnyMoment) {
    for (unsigned round = 0; round < 200; ++round) {
        for (unsigned i = 0; i < 3; ++i) {
            top_up(i);
        }
        const auto [op, knob] = kGiveWay[random() % std::size(kGiveWay)];
        ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, random() % 2 != 0 ? knob : 0));
        bench.start_admin(op, busy.index(), queues[0]->index(), kPage);
        if (random() % 2 != 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
        }
        // QUIESCE_QUEUE and _CONTEXT may have completed first; their scope does not wait for RESUME any more.
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, busy.index()), kOk);
        for (Queue* queue : queues) {
            queue->set_next(0);
        }
        check_innocent();
    }
    for (Queue* queue : queues) {
        queue->submit(nop());  // from the start of the ring: the timeline restarts at 1
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        while (queue->timeline() != 1 && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::yield();
        }
        EXPECT_EQ(queue->timeline(), 1u);
    }
}

TEST_F(MidFlight, QueuesAreDestroyedAndMadeAgain) {
    for (unsigned round = 0; round < 40; ++round) {
        for (unsigned i = 0; i < 3; ++i) {
            top_up(i);
        }
        if (random() % 2 != 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        }
        const auto i = static_cast<unsigned>(random() % 3);
        Queue& queue = *queues[i];
        queue.entry().flags &= ~SIDRA_HW_QUEUE_VALID;
        queue.store_entry();
        ASSERT_EQ(bench.admin(random() % 2 != 0 ? SIDRA_ADMIN_QUIESCE_QUEUE : SIDRA_ADMIN_RESET_QUEUE, busy.index(),
                              queue.index()),
                  kOk);
        // All memory of the queue is revoked: state page, ring, index.
        const uint64_t timeline = queue.timeline();
        ASSERT_LE(timeline, queue.next());
        const uint64_t old_state = queue.entry().state;
        queue.entry().state = bench.bus().alloc_page();
        bench.bus().revoke(old_state, kPage);
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_QUEUE, busy.index(), queue.index()), kOk);
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESET_QUEUE, busy.index(), queue.index()), kOk);
        queue.entry().flags |= SIDRA_HW_QUEUE_VALID;
        queue.set_next(queue.entry().start_index);
        queue.publish();
        queue.store_entry();
        check_innocent();
        top_up(i);
        ASSERT_TRUE(bench.wait(queue, 20));
    }
    for (Queue* queue : queues) {
        EXPECT_TRUE(bench.wait(*queue, queue->next()));
    }
}

TEST_F(MidFlight, ContextsAreQuiescedMovedAndResumed) {
    for (unsigned round = 0; round < 25; ++round) {
        for (unsigned i = 0; i < 3; ++i) {
            top_up(i);
        }
        if (random() % 2 != 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        }
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_CONTEXT, busy.index()), kOk);
        // While the queue is stopped, all its data pages may be revoked and their contents moved.
        for (uint64_t va = src; va < src + 4 * kPage; va += kPage) {
            const uint64_t entry = busy.space().entry(va, 0);
            const uint64_t old = bench.bus().load64(entry);
            const uint64_t fresh = bench.bus().alloc_page();
            std::memcpy(bench.bus().storage(fresh), bench.bus().storage(old & SIDRA_PTE_ADDR), kPage);
            bench.bus().store64(entry, (old & ~SIDRA_PTE_ADDR) | fresh);
            bench.bus().revoke(old & SIDRA_PTE_ADDR, kPage);
        }
        const uint64_t timelines[3] = {queues[0]->timeline(), queues[1]->timeline(), queues[2]->timeline()};
        check_innocent();
        for (unsigned i = 0; i < 3; ++i) {
            EXPECT_EQ(queues[i]->timeline(), timelines[i]);
            EXPECT_NE(queues[i]->run_state(), uint32_t{SIDRA_QUEUE_RUNNING});
        }
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_CONTEXT, busy.index()), kOk);
    }
    for (Queue* queue : queues) {
        EXPECT_TRUE(bench.wait(*queue, queue->next()));
    }
}

TEST_F(MidFlight, TheDeviceStandsStillWhenItSaysSo) {
    for (unsigned round = 0; round < 25; ++round) {
        for (unsigned i = 0; i < 3; ++i) {
            top_up(i);
        }
        if (random() % 2 != 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        }
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), kOk);
        const uint64_t calls = bench.bus().calls();
        EXPECT_EQ(bench.bus().live_maps(), 0);
        for (unsigned i = 0; i < 3; ++i) {
            queues[i]->doorbell();
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        EXPECT_EQ(bench.bus().calls(), calls);
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_DEVICE), kOk);
    }
    check_innocent();
    for (Queue* queue : queues) {
        EXPECT_TRUE(bench.wait(*queue, queue->next()));
    }
}

TEST_F(MidFlight, ContextResets) {
    for (unsigned round = 0; round < 25; ++round) {
        for (unsigned i = 0; i < 3; ++i) {
            top_up(i);
        }
        if (random() % 2 != 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        }
        if (round % 2 == 0) {
            // The entries remain, but nothing runs before the next doorbell.
            ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, busy.index()), kOk);
            for (Queue* queue : queues) {
                bench.bus().store64(queue->entry().state, 0);
            }
            std::this_thread::sleep_for(std::chrono::microseconds(100));
            for (Queue* queue : queues) {
                EXPECT_EQ(queue->timeline(), 0u);
                EXPECT_NE(queue->run_state(), uint32_t{SIDRA_QUEUE_RUNNING});
                queue->set_next(0);
                queue->publish();
            }
        } else {
            // With the entries cleared first: their memory is the driver's again.
            for (Queue* queue : queues) {
                queue->entry().flags &= ~SIDRA_HW_QUEUE_VALID;
                queue->store_entry();
            }
            ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESET_CONTEXT, busy.index()), kOk);
            for (Queue* queue : queues) {
                bench.bus().revoke(queue->entry().state, kPage);
                queue->entry().state = bench.bus().alloc_page();
                queue->set_next(0);
                queue->publish();
                queue->entry().flags |= SIDRA_HW_QUEUE_VALID;
                queue->store_entry();
            }
        }
        check_innocent();
    }
    for (unsigned i = 0; i < 3; ++i) {
        top_up(i);
        EXPECT_TRUE(bench.wait(*queues[i], queues[i]->next()));
    }
}

TEST_F(MidFlight, DeviceResets) {
    for (unsigned round = 0; round < 25; ++round) {
        for (unsigned i = 0; i < 3; ++i) {
            top_up(i);
        }
        if (random() % 2 != 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
        }
        const uint32_t generation = bench.read32(SIDRA_REG_GENERATION);
        if (round % 2 == 0) {
            sidra_chip_reset(bench.chip());
        } else {
            bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
            const auto deadline = std::chrono::steady_clock::now() + kPatience;
            while ((bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_READY) == 0 ||
                   bench.read32(SIDRA_REG_GENERATION) == generation) {
                ASSERT_LT(std::chrono::steady_clock::now(), deadline);
                std::this_thread::yield();
            }
        }
        EXPECT_EQ(bench.read32(SIDRA_REG_GENERATION), generation + 1);
        const uint64_t calls = bench.bus().calls();
        EXPECT_EQ(bench.bus().live_maps(), 0);
        for (Queue* queue : queues) {
            queue->doorbell();  // before enable: nothing
        }
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        EXPECT_EQ(bench.bus().calls(), calls);
        for (Queue* queue : queues) {
            queue->set_next(0);
            queue->publish();
            bench.bus().store64(queue->entry().state, 0);
        }
        good.set_next(0);
        good.publish();
        bench.bus().store64(good.entry().state, 0);
        bench.enable();
        check_innocent();
    }
    for (unsigned i = 0; i < 3; ++i) {
        top_up(i);
        EXPECT_TRUE(bench.wait(*queues[i], queues[i]->next()));
    }
}

}  // namespace
}  // namespace sidra::chip_test
