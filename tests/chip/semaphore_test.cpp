// SPDX-License-Identifier: MIT
// SEM_WAIT, SEM_SIGNAL, BARRIER, arming: dependencies between queues, and that waiting costs nothing.
#include <algorithm>
#include <atomic>
#include <random>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

struct Two {
    Bench bench;
    Context& context = bench.context();
    Queue& a = context.queue({.vector = 1});
    Queue& b = context.queue({.vector = 2});
    uint64_t word = context.alloc(kPage) + 128;
};

bool parked(const Queue& queue) { return queue.state().parked == 1; }

TEST(Semaphore, SatisfiedWaitsPass) {
    Two t;
    t.context.store64(t.word, 5);
    for (const uint64_t value : {0u, 1u, 4u, 5u}) {
        t.a.push(sem_wait(t.word, value));
    }
    t.a.publish();
    t.a.doorbell();
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
    EXPECT_FALSE(parked(t.a));
}

TEST(Semaphore, ComparesUnsigned) {
    Two t;
    t.context.store64(t.word, uint64_t{1} << 63);
    t.a.submit(sem_wait(t.word, 5));
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
    t.a.submit(sem_wait(t.word, ~uint64_t{0}));
    t.bench.run();
    EXPECT_TRUE(parked(t.a));
}

TEST(Semaphore, UnsatisfiedWaitParksAndCostsNothing) {
    Two t;
    t.a.push(nop());
    t.a.push(sem_wait(t.word, 1));
    const uint64_t dst = t.context.alloc(kPage);
    t.a.push(fill(dst, 8, 7, 1));
    t.a.publish();
    t.a.doorbell();
    t.bench.run();
    EXPECT_TRUE(parked(t.a));
    EXPECT_EQ(t.a.timeline(), 1u);
    EXPECT_EQ(t.a.run_state(), uint32_t{SIDRA_QUEUE_RUNNING});
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_FALSE(t.bench.run_once());
    }
    const uint64_t calls = t.bench.bus().calls();
    t.bench.run();
    EXPECT_EQ(t.bench.bus().calls(), calls) << "a parked queue does not poll memory";
    EXPECT_FALSE(sidra_chip_pending(t.bench.chip()));
    EXPECT_EQ(t.context.load64(dst), 0u);
    // Other queues run without waking it.
    t.b.submit(nop());
    t.bench.run();
    EXPECT_TRUE(retired(t.b));
    EXPECT_TRUE(parked(t.a));
}

TEST(Semaphore, HostSignalsByStoreAndDoorbell) {
    Two t;
    const uint64_t dst = t.context.alloc(kPage);
    t.a.push(sem_wait(t.word, 3));
    t.a.push(fill(dst, 8, 0x55, 1));
    t.a.publish();
    t.a.doorbell();
    t.bench.run();
    t.context.store64(t.word, 2);
    t.a.doorbell();
    t.bench.run();
    EXPECT_TRUE(parked(t.a));
    t.context.store64(t.word, 3);
    t.a.doorbell();
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
    EXPECT_FALSE(parked(t.a));
    EXPECT_EQ(t.context.load64(dst), 0x5555555555555555ull);
}

TEST(Semaphore, SignalWakesWaitersOfItsWord) {
    Two t;
    t.a.submit(sem_wait(t.word, 10));
    t.bench.run();
    t.b.submit(sem_signal(t.word + 8, 10));
    t.bench.run();
    EXPECT_TRUE(parked(t.a)) << "another word";
    t.b.submit(sem_signal(t.word, 9));
    t.bench.run();
    EXPECT_TRUE(parked(t.a));
    EXPECT_EQ(t.context.load64(t.word), 9u);
    t.b.submit(sem_signal(t.word, 10));
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
    // Signals only raise the word.
    t.b.submit(sem_signal(t.word, 4));
    t.bench.run();
    EXPECT_TRUE(retired(t.b));
    EXPECT_EQ(t.context.load64(t.word), 10u);
}

TEST(Semaphore, OneSignalWakesAllAndThroughAnyAlias) {
    Two t;
    // The same page at a second address, and in a second context (shared memory).
    const uint64_t page = t.context.space().raw(t.word).address & ~(kPage - 1);
    const uint64_t alias = t.context.reserve(kPage);
    t.context.map(alias, page);
    Context& other = t.bench.context();
    const uint64_t shared = other.reserve(kPage);
    other.map(shared, page);
    Queue& c = other.queue();
    t.a.submit(sem_wait(t.word, 1));
    t.b.submit(sem_wait(alias + 128, 1));
    t.bench.run();
    EXPECT_TRUE(parked(t.a) && parked(t.b));
    c.submit(sem_signal(shared + 128, 1));
    t.bench.run();
    EXPECT_TRUE(retired(c));
    EXPECT_TRUE(retired(t.a));
    EXPECT_TRUE(retired(t.b));
}

// The driver clears the page-table entry, waits for QUIESCE_RANGE, and maps something else at the same address.
void unmap_then_map_a_satisfied_word(Two& t, uint64_t value) {
    const uint64_t page = t.word & ~(kPage - 1);
    t.context.space().set(page, 0, 0);
    ASSERT_EQ(t.bench.admin(SIDRA_ADMIN_QUIESCE_RANGE, t.context.index(), page, kPage), uint32_t{SIDRA_ADMIN_OK});
    t.context.map(page, t.bench.bus().alloc_page());
    t.context.store64(t.word, value);
}

void expect_unmapped(const Queue& queue, uint64_t word) {
    EXPECT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_FAULTED});
    EXPECT_EQ(queue.state().fault.cause, SIDRA_FAULT_TRANSLATION);
    EXPECT_EQ(queue.state().fault.address, word);
    EXPECT_FALSE(parked(queue));
}

TEST(Semaphore, AWordWhosePageGoesAwayFaultsTheWait) {
    Two t;
    t.a.submit(sem_wait(t.word, 1));
    t.b.submit(sem_wait(t.word + kPage / 2, 1));
    t.bench.run();
    ASSERT_TRUE(parked(t.a) && parked(t.b));
    unmap_then_map_a_satisfied_word(t, 1);
    t.bench.run();
    expect_unmapped(t.a, t.word);
    expect_unmapped(t.b, t.word + kPage / 2);
    t.a.reset();
    t.a.submit(sem_wait(t.word, 1));
    t.bench.run();
    EXPECT_TRUE(retired(t.a)) << "what is mapped there now is a word like any other";
}

TEST(Semaphore, AWordWhosePageGoesAwayIsNeverTheNextOne) {
    // The queue cannot re-read the word before the page is replaced: it was stopped, alone, with its context or with
    // the device, with and without a doorbell meanwhile.
    for (const auto& [quiesce, resume] : {std::pair{SIDRA_ADMIN_QUIESCE_QUEUE, SIDRA_ADMIN_RESUME_QUEUE},
                                          std::pair{SIDRA_ADMIN_QUIESCE_CONTEXT, SIDRA_ADMIN_RESUME_CONTEXT},
                                          std::pair{SIDRA_ADMIN_QUIESCE_DEVICE, SIDRA_ADMIN_RESUME_DEVICE}})
        for (const bool rings : {false, true}) {
            Two t;
            t.a.submit(sem_wait(t.word, 1));
            t.bench.run();
            ASSERT_TRUE(parked(t.a));
            const bool device = quiesce == SIDRA_ADMIN_QUIESCE_DEVICE, queue = quiesce == SIDRA_ADMIN_QUIESCE_QUEUE;
            const uint64_t arg0 = device ? 0 : t.context.index(), arg1 = queue ? t.a.index() : 0;
            ASSERT_EQ(t.bench.admin(quiesce, arg0, arg1), uint32_t{SIDRA_ADMIN_OK});
            if (rings) t.a.doorbell();
            unmap_then_map_a_satisfied_word(t, 1);
            ASSERT_EQ(t.bench.admin(resume, arg0, arg1), uint32_t{SIDRA_ADMIN_OK});
            t.bench.run();
            expect_unmapped(t.a, t.word);
        }
}

// QUIESCE_RANGE completes, and the driver maps another page, after a doorbell has woken the queue, and before the queue
// has found the word.
TEST(Semaphore, AWordWhosePageGoesAwayWhileItIsReadIsNeverTheNextOne) {
    for (const uint64_t next : {uint64_t{1}, uint64_t{0}}) {
        Two t;
        t.a.submit(sem_wait(t.word, 1));
        t.bench.run();
        ASSERT_TRUE(parked(t.a));
        const uint64_t page = t.word & ~(kPage - 1), root_entry = t.context.space().entry(page, 2);
        t.context.space().set(page, 0, 0);
        ASSERT_TRUE(sidra_chip_set_knob(t.bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, 1));
        const uint32_t tag = t.bench.start_admin(SIDRA_ADMIN_QUIESCE_RANGE, t.context.index(), page, kPage);
        t.bench.run();  // it has begun
        bool reads = false;
        t.bench.set_dma_hook([&](uint64_t bus) {
            if (reads || bus != root_entry) return;
            reads = true;
            ASSERT_TRUE(sidra_chip_set_knob(t.bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, 0));
            ASSERT_TRUE(sidra_chip_run(t.bench.chip()));
            ASSERT_EQ(t.bench.read32(SIDRA_REG_ADMIN_STATUS), SIDRA_ADMIN_OK | tag << 16);
            t.context.map(page, t.bench.bus().alloc_page());
            t.context.store64(t.word, next);
        });
        t.a.doorbell();
        t.bench.run();
        EXPECT_TRUE(reads);
        expect_unmapped(t.a, t.word);
    }
}

TEST(Semaphore, StoppedItStillWaitsAndResetItDoesNot) {
    for (const auto& [command, waits] :
         {std::pair{SIDRA_ADMIN_QUIESCE_QUEUE, 1u}, std::pair{SIDRA_ADMIN_QUIESCE_CONTEXT, 1u},
          std::pair{SIDRA_ADMIN_QUIESCE_DEVICE, 1u}, std::pair{SIDRA_ADMIN_RESET_QUEUE, 0u},
          std::pair{SIDRA_ADMIN_RESET_CONTEXT, 0u}}) {
        Two t;
        t.a.submit(sem_wait(t.word, 1));
        t.bench.run();
        ASSERT_TRUE(parked(t.a));
        const bool device = command == SIDRA_ADMIN_QUIESCE_DEVICE;
        const bool queue = command == SIDRA_ADMIN_QUIESCE_QUEUE || command == SIDRA_ADMIN_RESET_QUEUE;
        ASSERT_EQ(t.bench.admin(command, device ? 0 : t.context.index(), queue ? t.a.index() : 0),
                  uint32_t{SIDRA_ADMIN_OK});
        EXPECT_EQ(t.a.run_state(), uint32_t{SIDRA_QUEUE_STOPPED});
        EXPECT_EQ(t.a.state().parked, waits) << command;
    }
}

TEST(Semaphore, OtherWaitsOutliveARange) {
    Two t;
    const uint64_t other = t.context.alloc(kPage);
    t.a.submit(sem_wait(t.word, 1));
    t.b.submit(sem_wait(other, 1));
    Queue& timeline = t.context.queue();
    timeline.submit(t.b.waited_for(1));
    t.bench.run();
    // A word outside of the range, and one inside of it that is still mapped.
    unmap_then_map_a_satisfied_word(t, 0);
    ASSERT_EQ(t.bench.admin(SIDRA_ADMIN_QUIESCE_RANGE, t.context.index(), 0, uint64_t{1} << SIDRA_VA_BITS),
              uint32_t{SIDRA_ADMIN_OK});
    t.bench.run();
    EXPECT_TRUE(parked(t.b));
    EXPECT_TRUE(parked(timeline));
    t.context.store64(other, 1);
    t.b.doorbell();
    t.bench.run();
    EXPECT_TRUE(retired(t.b));
}

TEST(Semaphore, WordsInLocalMemory) {
    Two t;
    const uint64_t va = t.context.reserve(kPage);
    t.context.map(va, 3 * kPage, kReadWrite, SIDRA_PTE_LOCAL);
    t.a.submit(sem_wait(va + 16, 6));
    t.bench.run();
    EXPECT_TRUE(parked(t.a));
    t.b.submit(sem_signal(va + 16, 6));
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
    uint64_t value = 0;
    std::memcpy(&value, t.bench.l3() + 3 * kPage + 16, 8);
    EXPECT_EQ(value, 6u);
}

TEST(Semaphore, WaitsOnQueueTimelines) {
    Two t;
    t.a.submit(t.b.waited_for(2));
    t.bench.run();
    EXPECT_TRUE(parked(t.a)) << "the named queue exists but has not run yet";
    t.b.submit(nop());
    t.bench.run();
    EXPECT_TRUE(parked(t.a));
    t.b.submit(nop());
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
    // Already reached.
    t.a.submit(t.b.waited_for(1));
    t.a.submit(t.b.waited_for(0));
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
}

TEST(Semaphore, OwnTimelineIsReachedUpToTheWait) {
    Two t;
    t.a.push(nop());
    t.a.push(nop());
    t.a.push(t.a.waited_for(2));
    t.a.push(nop());
    t.a.publish();
    t.a.doorbell();
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
    t.a.submit(t.a.waited_for(t.a.next() + 1));  // never
    t.bench.run();
    EXPECT_TRUE(parked(t.a));
}

TEST(Semaphore, SignalsArePublishedBeforeAWaitOfTheSameQueue) {
    Two t;
    t.a.push(sem_signal(t.word, 1));
    t.a.push(sem_wait(t.word, 1));
    t.a.push(sem_signal(t.word + 8, 1));
    t.a.push(sem_wait(t.word + 16, 1));
    t.b.push(sem_wait(t.word + 8, 1));
    t.b.push(sem_signal(t.word + 16, 1));
    t.b.publish();
    t.a.publish();
    t.b.doorbell();
    t.a.doorbell();
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
    EXPECT_TRUE(retired(t.b));
}

TEST(Semaphore, MissingPeersFault) {
    Two t;
    for (const uint32_t peer :
         {5u, 7u, 8u, 255u, 256u, 0x10000u, 0xffffffffu}) {  // no entry valid, beyond the table, absurd
        const sidra_cmd cmd = sem_wait_queue(peer, 1, 1);
        const uint64_t at = t.a.submit(cmd);
        t.bench.run();
        EXPECT_TRUE(faulted(t.a, at, cmd, {{SIDRA_FAULT_PEER}})) << peer;
        t.a.reset();
    }
}

// The root cause that a queue's fault record names.
::testing::AssertionResult names_root(const Queue& queue, const Queue& root, uint32_t epoch, uint64_t sequence,
                                      sidra_fault_cause cause) {
    const sidra_fault fault = queue.state().fault;
    if (fault.root_queue == root.index() && fault.root_epoch == epoch && fault.root_sequence == sequence &&
        fault.root_cause == cause)
        return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "root is packet " << fault.root_sequence << " of queue " << fault.root_queue
                                         << ", epoch " << fault.root_epoch << ", cause " << fault.root_cause;
}

constexpr Cause kProducer{{SIDRA_FAULT_PRODUCER}};

uint32_t destroy(Two& t, Queue& queue) {
    const uint32_t epoch = queue.entry().epoch;
    queue.entry().flags = 0;
    queue.store_entry();
    const uint32_t result = t.bench.admin(SIDRA_ADMIN_RESET_QUEUE, t.context.index(), queue.index(), epoch);
    queue.entry().epoch = 0;
    queue.store_entry();
    return result;
}

TEST(Semaphore, WaitersOfADestroyedQueueFail) {
    Two t;
    t.b.submit(nop());
    const sidra_cmd cmd = t.b.waited_for(100);
    const uint32_t epoch = t.b.entry().epoch;
    const uint64_t at = t.a.submit(cmd);
    t.bench.run();
    EXPECT_TRUE(parked(t.a));
    t.b.entry().flags = 0;
    t.b.store_entry();
    t.a.doorbell();
    t.b.doorbell();
    t.bench.run();
    EXPECT_TRUE(parked(t.a)) << "the driver is about to end the epoch, and has not yet";
    EXPECT_EQ(destroy(t, t.b), uint32_t{SIDRA_ADMIN_OK});
    t.bench.run();
    EXPECT_TRUE(faulted(t.a, at, cmd, kProducer));
    EXPECT_TRUE(names_root(t.a, t.b, epoch, 1, SIDRA_FAULT_RESET));
}

TEST(Semaphore, WaitersOfAFaultedQueueFail) {
    // Parked before the failure or arriving later; also after the queue was reset and has passed the point.
    for (const unsigned when : {0u, 1u, 2u}) {
        Two t;
        const sidra_cmd cmd = t.b.waited_for(2);
        const uint32_t epoch = t.b.entry().epoch;
        const auto wait = [&] {
            const uint64_t at = t.a.submit(cmd);
            t.bench.run();
            return at;
        };
        uint64_t at = when == 0 ? wait() : 0;
        t.b.submit(nop());
        t.b.submit(blank(SIDRA_CMD_INVALID));
        t.bench.run();
        ASSERT_EQ(t.b.run_state(), uint32_t{SIDRA_QUEUE_FAULTED});
        if (when == 2) {
            t.b.reset_at(2);
            for (int i = 0; i < 5; ++i) t.b.submit(nop());
            t.bench.run();
            ASSERT_TRUE(retired(t.b));
        }
        if (when != 0) at = wait();
        EXPECT_TRUE(faulted(t.a, at, cmd, kProducer)) << when;
        EXPECT_TRUE(names_root(t.a, t.b, epoch, 1, SIDRA_FAULT_OPCODE)) << when;
    }
}

TEST(Semaphore, WaitersOfAQueueThatIsResetAtWorkFail) {
    for (const bool before : {false, true}) {
        Two t;
        t.b.push(nop());
        t.b.submit(sem_wait(t.word, 1));
        t.bench.run();
        const sidra_cmd cmd = t.b.waited_for(2);
        const uint32_t epoch = t.b.entry().epoch;
        uint64_t at = 0;
        if (before) at = t.a.submit(cmd);
        t.bench.run();
        t.b.reset_at(t.b.next());
        t.b.submit(nop());
        if (!before) at = t.a.submit(cmd);
        t.bench.run();
        EXPECT_TRUE(retired(t.b));
        EXPECT_TRUE(faulted(t.a, at, cmd, kProducer)) << before;
        EXPECT_TRUE(names_root(t.a, t.b, epoch, 1, SIDRA_FAULT_RESET)) << before;
    }
}

TEST(Semaphore, AChainOfWaitersNamesTheRoot) {
    Two t;
    Queue &c = t.context.queue(), &d = t.context.queue();
    const sidra_cmd last = c.waited_for(1);
    const uint64_t at = d.submit(last);
    c.submit(t.a.waited_for(1));
    t.a.submit(t.b.waited_for(3));
    t.bench.run();
    EXPECT_TRUE(parked(d) && parked(c) && parked(t.a));
    const uint32_t epoch = t.b.entry().epoch;
    t.b.push(nop());
    t.b.push(nop());
    t.b.submit(blank(SIDRA_CMD_INVALID));
    t.bench.run();
    EXPECT_TRUE(faulted(d, at, last, kProducer));
    for (const Queue* queue : {&t.a, &c, &d})
        EXPECT_TRUE(names_root(*queue, t.b, epoch, 2, SIDRA_FAULT_OPCODE)) << queue->index();
}

TEST(Semaphore, WhatHadRetiredBeforeTheEndStaysRetired) {
    for (const bool destroyed : {false, true}) {
        Two t;
        t.b.submit(nop());
        t.b.submit(nop());
        t.bench.run();
        const sidra_cmd done = t.b.waited_for(2), dropped = t.b.waited_for(3);
        if (destroyed) destroy(t, t.b);
        else t.b.reset_at(9);
        t.a.submit(done);
        t.bench.run();
        EXPECT_TRUE(retired(t.a)) << destroyed;
        const uint64_t at = t.a.submit(dropped);
        t.bench.run();
        EXPECT_TRUE(faulted(t.a, at, dropped, kProducer)) << destroyed;
    }
}

TEST(Semaphore, AQueueThatNeverRanCanBeResetToo) {
    Two t;
    t.b.push(nop());
    const sidra_cmd cmd = t.b.waited_for(1);
    const uint32_t epoch = t.b.entry().epoch;
    const uint64_t at = t.a.submit(cmd);
    t.bench.run();
    EXPECT_TRUE(parked(t.a));
    EXPECT_EQ(destroy(t, t.b), uint32_t{SIDRA_ADMIN_OK});
    t.bench.run();
    EXPECT_TRUE(faulted(t.a, at, cmd, kProducer));
    EXPECT_TRUE(names_root(t.a, t.b, epoch, 0, SIDRA_FAULT_RESET));
}

TEST(Semaphore, TheDriversCauseIsTheRoots) {
    Two t;
    t.b.submit(sem_wait(t.word, 1));
    t.a.submit(t.b.waited_for(1));
    t.bench.run();
    const uint32_t epoch = t.b.entry().epoch;
    t.b.entry().flags = 0;
    t.b.store_entry();
    ASSERT_EQ(t.bench.admin(SIDRA_ADMIN_RESET_QUEUE, t.context.index(), t.b.index(),
                            epoch | uint64_t{SIDRA_FAULT_TIMEOUT} << 32),
              uint32_t{SIDRA_ADMIN_OK});
    t.bench.run();
    EXPECT_TRUE(names_root(t.a, t.b, epoch, 0, SIDRA_FAULT_TIMEOUT));
}

TEST(Semaphore, FormerEpochsAreRememberedUpToALimit) {
    Two t;
    std::vector<sidra_cmd> done;
    for (unsigned i = 0; i <= SIDRA_QUEUE_EPOCHS_KEPT; ++i) {
        t.b.submit(nop());
        t.bench.run();
        done.push_back(t.b.waited_for(t.b.next()));
        t.b.reset_at(t.b.next());
    }
    for (unsigned i = 1; i < done.size(); ++i) t.a.submit(done[i]);
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
    const uint64_t at = t.a.submit(done[0]);
    t.bench.run();
    EXPECT_TRUE(faulted(t.a, at, done[0], {{SIDRA_FAULT_PEER}})) << "never taken for retired, only for unknown";
}

TEST(Semaphore, AContextThatIsResetForgetsItsEpochs) {
    Two t;
    t.b.submit(nop());
    t.bench.run();
    const sidra_cmd cmd = t.b.waited_for(1);
    t.b.reset_at(1);
    ASSERT_EQ(t.bench.admin(SIDRA_ADMIN_RESET_CONTEXT, t.context.index()), uint32_t{SIDRA_ADMIN_OK});
    const uint64_t at = t.a.submit(cmd);
    t.bench.run();
    EXPECT_TRUE(faulted(t.a, at, cmd, {{SIDRA_FAULT_PEER}}));
}

TEST(Semaphore, WaitersNeverTakeADroppedPacketForARetiredOne) {
    // One thread resets a producer while two run the chip: each wait ends, and passes only if its packet has run.
    Bench bench;
    Context& context = bench.context(8);
    Queue &producer = context.queue(), &consumer = context.queue({.log2 = 12});
    const uint64_t data = context.alloc(kPage);
    bench.start_threads(2);
    for (uint64_t round = 1; round <= 300; ++round) {
        const sidra_cmd wait = producer.waited_for(producer.next() + 1);
        producer.submit(fill(data, 8, round, 8));
        const uint64_t at = consumer.submit(wait);
        producer.reset_at(producer.next());
        bench.wait(consumer, at + 1);
        if (consumer.timeline() > at) {
            ASSERT_EQ(context.load64(data), round);
            continue;
        }
        ASSERT_TRUE(faulted(consumer, at, wait, kProducer)) << round;
        ASSERT_NE(context.load64(data), round);
        consumer.reset_at(consumer.next());
    }
    bench.stop_threads();
}

TEST(Semaphore, ParkedQueueCanBeReset) {
    Two t;
    t.a.submit(sem_wait(t.word, 1));
    t.bench.run();
    t.a.reset();
    EXPECT_FALSE(parked(t.a) && t.a.run_state() == SIDRA_QUEUE_RUNNING);
    t.b.submit(sem_signal(t.word, 1));
    t.bench.run();
    EXPECT_EQ(t.a.timeline(), 0u) << "a signal does not revive what was reset";
    t.a.submit(nop());
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
    EXPECT_FALSE(parked(t.a));
}

TEST(Semaphore, ParkedThroughQuiesceAndResume) {
    Two t;
    t.a.submit(sem_wait(t.word, 1));
    t.bench.run();
    for (const uint32_t op : {SIDRA_ADMIN_QUIESCE_QUEUE, SIDRA_ADMIN_RESUME_QUEUE}) {
        EXPECT_EQ(t.bench.admin(op, t.context.index(), t.a.index()), uint32_t{SIDRA_ADMIN_OK});
    }
    t.bench.run();
    EXPECT_EQ(t.a.timeline(), 0u);
    t.b.submit(sem_signal(t.word, 1));
    t.bench.run();
    EXPECT_TRUE(retired(t.a));

    // The signal arrives while the waiter is stopped; the waiter sees it when it resumes.
    t.a.submit(sem_wait(t.word, 2));
    t.bench.run();
    EXPECT_EQ(t.bench.admin(SIDRA_ADMIN_QUIESCE_QUEUE, t.context.index(), t.a.index()), uint32_t{SIDRA_ADMIN_OK});
    t.b.submit(sem_signal(t.word, 2));
    t.bench.run();
    EXPECT_EQ(t.a.timeline(), 1u);
    EXPECT_EQ(t.bench.admin(SIDRA_ADMIN_RESUME_QUEUE, t.context.index(), t.a.index()), uint32_t{SIDRA_ADMIN_OK});
    t.bench.run();
    EXPECT_TRUE(retired(t.a));
}

TEST(Semaphore, NotAllowedInKernelQueues) {
    Two t;
    Queue& kernel = t.context.queue({.kernel = true});
    for (const sidra_cmd& cmd : {sem_wait(t.word, 0), sem_signal(t.word, 1), t.a.waited_for(0)}) {
        const uint64_t at = kernel.submit(cmd);
        t.bench.run();
        EXPECT_TRUE(faulted(kernel, at, cmd, {{SIDRA_FAULT_NOT_ALLOWED}}));
        kernel.reset();
    }
    EXPECT_EQ(t.context.load64(t.word), 0u);
}

TEST(Semaphore, RandomDagsAgainstASequentialOracle) {
    // Each node adds the running hash of its inputs by COPY; edges are semaphores or queue timelines. Every order that
    // respects the edges gives the same memory.
    for (uint64_t seed = 1; seed <= 6; ++seed) {
        Bench bench({.seed = seed});
        std::mt19937_64 random(seed);
        Context& context = bench.context(8);
        constexpr unsigned kQueues = 6, kNodes = 60;
        std::vector<Queue*> queues;
        for (unsigned q = 0; q < kQueues; ++q) {
            queues.push_back(&context.queue({.log2 = 9, .priority = static_cast<uint8_t>(q % 3)}));
        }
        const uint64_t data = context.alloc(kNodes * 64);
        const uint64_t words = context.alloc(kNodes * 8);
        std::vector<std::array<uint8_t, 64>> model(kNodes);
        std::vector<std::pair<unsigned, uint64_t>> done(kNodes);  // queue, timeline after the node
        for (unsigned node = 0; node < kNodes; ++node) {
            Queue& queue = *queues[random() % kQueues];
            model[node].fill(static_cast<uint8_t>(node + 1));
            queue.push(fill(data + node * 64, 64, node + 1, 1));
            for (unsigned part = 0; node > 0 && part < 4; ++part) {
                const auto from = static_cast<unsigned>(random() % node);
                if (random() % 2 != 0) {
                    queue.push(sem_wait(words + from * 8, from + 1));
                } else {
                    queue.push(queues[done[from].first]->waited_for(done[from].second));
                }
                queue.push(copy(data + node * 64 + part * 16, data + from * 64 + part * 8, 16));
                std::copy_n(model[from].begin() + part * 8, 16, model[node].begin() + part * 16);
            }
            queue.push(sem_signal(words + node * 8, node + 1));
            done[node] = {queue.index(), queue.next()};
        }
        bench.start_threads(2);
        for (Queue* queue : queues) {
            queue->publish();
            queue->doorbell();
        }
        for (Queue* queue : queues) {
            EXPECT_TRUE(bench.wait(*queue, queue->next()));
        }
        bench.stop_threads();
        for (unsigned node = 0; node < kNodes; ++node) {
            std::array<uint8_t, 64> got{};
            context.read(data + node * 64, got.data(), got.size());
            ASSERT_EQ(got, model[node]) << "seed " << seed << " node " << node;
        }
    }
}

TEST(Semaphore, PingPongBetweenThreads) {
    Two t;
    t.bench.start_threads(2);
    constexpr uint64_t kRounds = 300;
    for (uint64_t i = 1; i <= kRounds; ++i) {
        ASSERT_TRUE(t.bench.wait(t.a, t.a.next() < 60 ? 0 : t.a.next() - 60));
        ASSERT_TRUE(t.bench.wait(t.b, t.b.next() < 60 ? 0 : t.b.next() - 60));
        t.a.push(sem_signal(t.word, i));
        t.a.push(sem_wait(t.word + 64, i));
        t.b.push(sem_wait(t.word, i));
        t.b.push(sem_signal(t.word + 64, i));
        t.a.publish();
        t.a.doorbell();
        t.b.publish();
        t.b.doorbell();
    }
    EXPECT_TRUE(t.bench.wait(t.a, 2 * kRounds));
    EXPECT_TRUE(t.bench.wait(t.b, 2 * kRounds));
    t.bench.stop_threads();
}

TEST(Barrier, PublishesEverythingBeforeItself) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    Queue& other = context.queue();
    const uint64_t at = context.alloc(kPage);
    const uint64_t word = context.alloc(kPage);
    // While the queue is parked at a barrier, all effects before it must be visible.
    queue.push(fill(at, 64, 0xab, 1));
    queue.push(barrier());
    queue.push(sem_wait(word, 1));
    queue.publish();
    queue.doorbell();
    bench.run();
    EXPECT_GE(queue.timeline(), 2u);
    EXPECT_EQ(context.load64(at), 0xababababababababull);
    other.submit(sem_signal(word, 1));
    bench.run();
    EXPECT_TRUE(retired(queue));
}

TEST(Barrier, TimelineNeverRunsAheadOfData) {
    // Checked at every callback of the chip: once the timeline shows that fill i retired, its data is in memory.
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t at = context.alloc(kPage);
    std::atomic<unsigned> checks = 0;
    bench.set_dma_hook([&](uint64_t) {
        const uint64_t timeline = queue.timeline();
        for (uint64_t i = 0; i < timeline && i < 60; ++i) {
            ASSERT_EQ(context.load64(at + i * 8), 0x0101010101010101ull * (i + 1));
        }
        ++checks;
    });
    for (uint64_t i = 0; i < 60; ++i) {
        queue.push(fill(at + i * 8, 8, i + 1, 1));
    }
    queue.publish();
    queue.doorbell();
    bench.run();
    bench.set_dma_hook(nullptr);
    EXPECT_TRUE(retired(queue));
    EXPECT_GT(checks.load(), 0u);
}

// ---- Arming
// -----------------------------------------------------------------------------------------------------------

TEST(Arm, RaisesOnceWhenReached) {
    Two t;
    t.a.submit(nop());
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts_total(), 0u) << "not armed";
    t.a.arm(3);
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts_total(), 0u);
    t.a.submit(nop());
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts_total(), 0u);
    t.a.submit(nop());
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts(1), 1u);
    t.a.submit(nop());
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts(1), 1u) << "one shot";
    EXPECT_EQ(t.bench.interrupts_total(), 1u);
}

TEST(Arm, AlreadyReachedRaisesAtOnce) {
    Two t;
    for (unsigned i = 0; i < 5; ++i) {
        t.a.submit(nop());
    }
    t.bench.run();
    for (const uint64_t value : {5u, 4u, 1u}) {
        const uint64_t before = t.bench.interrupts(1);
        t.a.arm(value);
        t.bench.run();
        EXPECT_EQ(t.bench.interrupts(1), before + 1) << value;
    }
}

TEST(Arm, LastWriteCountsAndZeroDisarms) {
    Two t;
    t.a.submit(nop());
    t.bench.run();
    t.a.arm(2);
    t.a.arm(3);
    t.bench.run();
    t.a.submit(nop());
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts(1), 0u);
    t.a.arm(0);
    t.bench.run();
    t.a.submit(nop());
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts(1), 0u);
    t.a.arm(4);
    t.bench.run();
    t.a.submit(nop());
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts(1), 1u);
}

TEST(Arm, BeforeTheQueueIsLoaded) {
    Two t;
    t.b.arm(1);
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts_total(), 0u);
    t.b.submit(nop());
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts(2), 1u);
}

TEST(Arm, JumpsOverTheValueCount) {
    Two t;
    t.a.arm(10);
    for (unsigned i = 0; i < 40; ++i) {
        t.a.push(nop());
    }
    t.a.publish();
    t.a.doorbell();
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts(1), 1u);
}

TEST(Arm, InterruptComesAfterTheTimelineIsVisible) {
    Two t;
    uint64_t seen = 0;
    uint64_t data = 0;
    const uint64_t at = t.context.alloc(kPage);
    t.bench.set_msix_hook([&](unsigned) {
        seen = t.a.timeline();
        data = t.context.load64(at);
    });
    t.a.submit(nop());
    t.bench.run();
    t.a.arm(2);
    t.a.submit(fill(at, 8, 0x31, 1));
    t.bench.run();
    EXPECT_GE(seen, 2u);
    EXPECT_EQ(data, 0x3131313131313131ull);
    t.bench.set_msix_hook(nullptr);
}

TEST(Arm, ReachedValueOnAParkedAndOnAFaultedQueue) {
    Two t;
    t.a.push(nop());
    t.a.push(sem_wait(t.word, 1));
    t.a.publish();
    t.a.doorbell();
    t.bench.run();
    t.a.arm(1);
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts(1), 1u);
    t.b.submit(nop());
    t.b.submit(blank(SIDRA_CMD_INVALID));
    t.bench.run();
    t.b.arm(1);
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts(2), 1u);
    t.b.arm(2);
    t.bench.run();
    EXPECT_EQ(t.bench.interrupts(2), 1u) << "never reached";
}

TEST(Arm, LastQueueOfTheLastContext) {
    Bench bench;
    Context& context = bench.context_at(63, 256);
    Queue* last = nullptr;
    for (unsigned i = 0; i < 256; ++i) {
        last = &context.queue({.vector = 31, .reports = false});
    }
    ASSERT_EQ(last->index(), 255u);
    last->arm(1);
    last->submit(nop());
    bench.run();
    EXPECT_TRUE(retired(*last));
    EXPECT_EQ(bench.interrupts(31), 1u);
}

TEST(Arm, NoInterruptIsLostUnderThreads) {
    Two t;
    t.bench.start_threads(2);
    std::mt19937_64 random(1);
    for (uint64_t i = 1; i <= 400; ++i) {
        const uint64_t before = t.bench.interrupts(1);
        if (random() % 2 != 0) {
            t.a.arm(i);
            t.a.submit(nop());
        } else {
            t.a.submit(nop());
            t.a.arm(i);
        }
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        while (t.bench.interrupts(1) == before) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "lost at " << i;
            std::this_thread::yield();
        }
        ASSERT_GE(t.a.timeline(), i);
    }
    t.bench.stop_threads();
    EXPECT_EQ(t.bench.interrupts(1), 400u);
}

}  // namespace
}  // namespace sidra::chip_test
