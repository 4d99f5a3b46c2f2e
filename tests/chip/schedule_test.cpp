// SPDX-License-Identifier: MIT
// Priorities and fairness, counted in slices: no clock, no threads.
#include <set>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kPiece = 64 << 10;
constexpr unsigned kPackets = 8000;

struct Load {
    Context& context;
    uint64_t src = 0;
    std::vector<Queue*> queues;

    Load(Bench& bench, std::initializer_list<uint8_t> priorities) : context(bench.context(16)) {
        src = context.alloc(kPiece);
        for (const uint8_t priority : priorities) {
            const uint64_t dst = context.alloc(kPiece);
            Queue& queue = context.queue({.log2 = 13, .priority = priority, .reports = false});
            for (unsigned i = 0; i < kPackets; ++i) {
                queue.push(copy(dst, src, kPiece));
            }
            queue.publish();
            queues.push_back(&queue);
        }
    }
    void start() const {
        for (Queue* queue : queues) {
            queue->doorbell();
        }
    }
    uint64_t done() const {
        uint64_t sum = 0;
        for (const Queue* queue : queues) {
            sum += queue->timeline();
        }
        return sum;
    }
};

// Packets of kPiece that run in one slice while others wait: the unit of the shares.
double packets_in_a_slice() {
    Bench bench({.pages = 16384});
    Load one(bench, {1}), other(bench, {1});
    one.start();
    other.start();
    for (unsigned i = 0; i < 8; ++i) {
        bench.run_once();
    }
    EXPECT_LT(one.done() + other.done(), kPackets) << "a slice is bounded";
    return static_cast<double>(one.done() + other.done()) / 8;
}

void run_until(Bench& bench, std::initializer_list<const Load*> loads, double total) {
    for (double sum = 0; sum < total;) {
        ASSERT_TRUE(bench.run_once());
        sum = 0;
        for (const Load* load : loads) {
            sum += static_cast<double>(load->done());
        }
    }
}

void expect_shares(double low, double normal, double high, double unit) {
    EXPECT_NEAR(low / unit, 4, 1.6);
    EXPECT_NEAR(normal / unit, 16, 4);
    EXPECT_NEAR(high / unit, 64, 8);
}

TEST(Schedule, PrioritiesShareOneToFourToSixteen) {
    const double unit = packets_in_a_slice();
    Bench bench({.pages = 16384});
    Load low(bench, {0}), normal(bench, {1}), high(bench, {2});
    low.start();
    normal.start();
    high.start();
    run_until(bench, {&low, &normal, &high}, 84 * unit);
    expect_shares(static_cast<double>(low.done()), static_cast<double>(normal.done()), static_cast<double>(high.done()),
                  unit);
}

TEST(Schedule, SharesHoldInsideOneContextToo) {
    const double unit = packets_in_a_slice();
    Bench bench({.pages = 16384});
    Load all(bench, {0, 1, 2});
    all.start();
    run_until(bench, {&all}, 84 * unit);
    expect_shares(static_cast<double>(all.queues[0]->timeline()), static_cast<double>(all.queues[1]->timeline()),
                  static_cast<double>(all.queues[2]->timeline()), unit);
}

TEST(Schedule, ContextsShareEquallyWhateverTheirQueues) {
    const double unit = packets_in_a_slice();
    Bench bench({.pages = 32768});
    Load hog(bench, {1, 1, 1, 1, 1, 1, 1, 1}), single(bench, {1});
    hog.start();
    single.start();
    run_until(bench, {&hog, &single}, 48 * unit);
    EXPECT_NEAR(static_cast<double>(single.done()) / unit, 24, 3)
        << "round-robin is between contexts: half, whatever the other brings";
}

// Shares are measured in time, not in the chip's estimates; but a slice costs at most eight times its estimate.
TEST(Schedule, WhoTakesLongerThanEstimatedPaysForIt) {
    const double unit = packets_in_a_slice();
    Bench bench({.pages = 32768});
    Load slow(bench, {1}), other(bench, {1});
    std::set<uint64_t> pages;
    for (uint64_t at = 0; at < 2 * kPiece + kPage; at += kPage)
        if (const Translation page = slow.context.space().raw(slow.src + at); page.cause == SIDRA_FAULT_NONE)
            pages.insert(page.address);
    bench.set_dma_hook([&](uint64_t bus) {
        if (pages.contains(bus & ~(kPage - 1))) bench.clock() += 100'000'000;
    });
    slow.start();
    other.start();
    run_until(bench, {&slow, &other}, 45 * unit);
    EXPECT_NEAR(static_cast<double>(slow.done()) / unit, 5, 1.5) << "one turn of nine";
}

TEST(Schedule, QueuesOfOneContextShareEqually) {
    const double unit = packets_in_a_slice();
    Bench bench({.pages = 16384});
    Load load(bench, {1, 1, 1});
    load.start();
    run_until(bench, {&load}, 30 * unit);
    for (const Queue* queue : load.queues) {
        EXPECT_NEAR(static_cast<double>(queue->timeline()) / unit, 10, 2);
    }
}

TEST(Schedule, AHugePacketDoesNotBlockOthers) {
    Bench bench({.pages = 16384});
    Context& context = bench.context();
    Queue& big = context.queue();
    Queue& small = context.queue();
    const uint64_t a = context.alloc(8 << 20), b = context.alloc(8 << 20);
    big.submit(copy(a, b, 8 << 20));
    small.submit(nop());
    uint64_t slices = 0;
    while (small.timeline() == 0) {
        ASSERT_TRUE(bench.run_once());
        ASSERT_LT(++slices, 20u);
    }
    EXPECT_EQ(big.timeline(), 0u) << "8 MiB are more slices than that";
    bench.run();
    EXPECT_TRUE(retired(big));
}

TEST(Schedule, AQueueThatIsAloneGoesOn) {
    const auto slices = [](bool company) {
        Bench bench({.pages = 16384});
        Load load(bench, {1});
        Load other(bench, {1});
        load.start();
        if (company) {
            other.start();
        }
        uint64_t count = 0;
        for (; load.done() < 1000 && count < 10'000; ++count) {
            bench.run_once();
        }
        return count;
    };
    const uint64_t alone = slices(false);
    EXPECT_GT(alone, 1u) << "who lends the thread gets it back all the same";
    EXPECT_GT(slices(true), 10 * alone);
}

TEST(Schedule, ALongCallDoesNotBlockOthers) {
    Bench bench;
    Context& context = bench.context();
    Queue& caller = context.queue();
    Queue& small = context.queue();
    const std::vector<sidra_cmd> body(SIDRA_CMD_CALL_MAX, nop());
    const uint64_t at = context.put(body);
    for (unsigned i = 0; i < 8; ++i) {
        caller.push(call(at, SIDRA_CMD_CALL_MAX));
    }
    caller.publish();
    caller.doorbell();
    bench.run_once();
    small.submit(nop());
    uint64_t slices = 0;
    while (small.timeline() == 0) {
        ASSERT_TRUE(bench.run_once());
        ASSERT_LT(++slices, 50u);
    }
    EXPECT_LT(caller.timeline(), 8u);
    bench.run();
    EXPECT_TRUE(retired(caller));
    EXPECT_EQ(bench.telemetry().call_packets, 8u * SIDRA_CMD_CALL_MAX);
}

TEST(Schedule, AThousandQueuesAllRun) {
    Bench bench({.pages = 32768});
    std::vector<Queue*> queues;
    for (unsigned c = 0; c < 8; ++c) {
        Context& context = bench.context_at(c * 9, 128);
        for (unsigned q = 0; q < 128; ++q) {
            queues.push_back(&context.queue({.priority = static_cast<uint8_t>(q % 3), .reports = false}));
        }
    }
    ASSERT_EQ(queues.size(), size_t{SIDRA_QUEUES_MAX});
    for (Queue* queue : queues) {
        for (unsigned i = 0; i < 5; ++i) {
            queue->push(nop());
        }
        queue->publish();
        queue->doorbell();
    }
    bench.run();
    for (Queue* queue : queues) {
        ASSERT_TRUE(retired(*queue));
    }
    EXPECT_EQ(bench.telemetry().queues, SIDRA_QUEUES_MAX);
    EXPECT_EQ(bench.telemetry().contexts, 8u);
}

TEST(Schedule, NoOpsInOneRingDoNotStarveAnotherContext) {
    // A slice holds many short packets, but is bounded all the same.
    Bench bench({.pages = 16384});
    Queue* floods[2];
    for (Queue*& flood : floods) {
        flood = &bench.context().queue({.log2 = 16, .reports = false});
        for (uint64_t i = 0; i < flood->slots(); ++i) {
            flood->push(nop());
        }
        flood->publish();
        flood->doorbell();
    }
    bench.run_once();
    bench.run_once();
    for (const Queue* flood : floods) {
        EXPECT_GT(flood->timeline(), 0u);
        EXPECT_LT(flood->timeline(), flood->slots());
    }
    bench.run();
    EXPECT_TRUE(retired(*floods[0]));
    EXPECT_TRUE(retired(*floods[1]));
}

TEST(Schedule, WhoLendsAThreadIsAskedBetweenTurns) {
    Bench bench({.pages = 16384});
    Load load(bench, {1});
    load.start();
    struct Waiter {
        Bench& bench;
        Load& load;
        unsigned asked, patience;
    } waiter{bench, load, 0, 3};
    const auto stop = [](void* argument) {
        auto& w = *static_cast<Waiter*>(argument);
        const uint64_t done = w.load.done();
        EXPECT_GT(done, 0u);
        EXPECT_EQ(w.bench.telemetry().copy_bytes, done * kPiece) << "what is published is counted";
        return ++w.asked == w.patience;
    };
    EXPECT_TRUE(sidra_chip_run_until(bench.chip(), stop, &waiter));
    EXPECT_EQ(waiter.asked, 3u);
    const uint64_t three = load.done();
    waiter.asked = 0;
    waiter.patience = 1;
    EXPECT_TRUE(sidra_chip_run_until(bench.chip(), stop, &waiter));
    EXPECT_EQ(waiter.asked, 1u);
    EXPECT_NEAR(static_cast<double>(load.done() - three), static_cast<double>(three) / 3, 2) << "one turn";
    bench.run();
    EXPECT_TRUE(retired(*load.queues[0]));
    EXPECT_FALSE(sidra_chip_run_until(bench.chip(), stop, &waiter)) << "nothing to do";
}

TEST(Schedule, WhatAQueueDidAloneIsNotHeldAgainstIt) {
    const double unit = packets_in_a_slice();
    Bench bench({.pages = 16384});
    Load first(bench, {1}), second(bench, {1});
    bool company = false;
    bench.set_dma_hook([&](uint64_t) {
        if (!company && static_cast<double>(first.done()) >= 7 * unit) {
            company = true;
            second.start();
        }
    });
    first.start();
    bench.run_once();
    ASSERT_TRUE(company) << "the first one was alone for some turns";
    ASSERT_EQ(second.done(), 0u);
    const uint64_t alone = first.done();
    for (unsigned i = 0; i < 8; ++i) {
        bench.run_once();
    }
    EXPECT_NEAR(static_cast<double>(first.done() - alone) / unit, 4, 1.1);
    EXPECT_NEAR(static_cast<double>(second.done()) / unit, 4, 1.1);
}

TEST(Schedule, ManyShortRowsAreManyUnits) {
    Bench bench;
    constexpr uint32_t kRows = 300'000;
    Queue* queues[2];
    for (Queue*& queue : queues) {
        Context& context = bench.context();
        queue = &context.queue();
        queue->submit(copy_2d(context.alloc(2 * kRows), 2, context.alloc(2 * kRows), 2, 1, kRows));
    }
    uint64_t maps = 0;
    bench.set_dma_hook([&](uint64_t) { ++maps; });
    bench.run_once();
    EXPECT_GT(maps, 0u);
    EXPECT_LT(maps, 50'000u) << "one turn of one queue";
    bench.run();
    EXPECT_TRUE(retired(*queues[0]));
    EXPECT_TRUE(retired(*queues[1]));
}

}  // namespace
}  // namespace sidra::chip_test
