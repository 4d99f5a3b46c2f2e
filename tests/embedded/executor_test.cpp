// SPDX-License-Identifier: MIT
// Work completes without a waiter; idleness costs nothing; many threads at once.
#include "executor.h"

#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "fixture.h"

namespace sidra::test {
namespace {

struct Spent {
    double seconds;
    long waits;  // how often a thread has gone to sleep
};

Spent spent() {
    rusage use;
    getrusage(RUSAGE_SELF, &use);
    return {static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec),
            use.ru_nvcsw};
}

TEST(Unattended, WorkCompletes) {
    Bench s;
    for (int pause : {0, 1, 20, 0}) {  // from all states of the executor
        sleep_ms(pause);
        const uint64_t value = s.queue->submit(nop());
        const uint64_t deadline = in_ms(kPatienceMs);
        while (s.queue->timeline() < value && now_ns() < deadline) sleep_ms(1);
        EXPECT_EQ(s.queue->timeline(), value);
    }
}

TEST(Unattended, LongWorkCompletesAfterOneSliceOfHelp) {
    Bench s;
    Buffer from(s.client, s.context, 16 << 20), to(s.client, s.context, 16 << 20);
    for (int i = 0; i < 8; i++) s.queue->push(copy(to.va, from.va, 16 << 20));
    s.queue->kick();
    s.client->help();  // and never again
    const uint64_t deadline = in_ms(kPatienceMs);
    while (s.queue->timeline() < 8 && now_ns() < deadline) sleep_ms(1);
    EXPECT_EQ(s.queue->timeline(), 8u);
}

TEST(Idle, CostsNothing) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    Queue parked(s.client, s.context, s.doorbells);
    const auto cost_of_idling = [](const char* what) {
        // Ten times a second the chip's clock and sleeping threads have work; so has a sanitizer. The executor lingers
        // for some milliseconds once it gets to run: the best of several rounds counts.
        long waits = 1000;
        double seconds = 1;
        for (int round = 0; round < 10 && (waits > 30 || seconds > 0.04); round++) {
            sleep_ms(50);
            const Spent before = spent();
            sleep_ms(400);
            const Spent after = spent();
            waits = after.waits - before.waits;
            seconds = after.seconds - before.seconds;
        }
        EXPECT_LE(waits, 30) << what << ": naps";
        EXPECT_LE(seconds, 0.04) << what << ": does not sleep";
    };
    ASSERT_EQ(s.queue->run(nop()), 0);
    cost_of_idling("after work");
    parked.submit(sem_wait(buffer.va, 1));
    cost_of_idling("a parked queue");
    std::thread sleeper([&] {
        sidra_wait_item item{s.context, parked.number, 1, parked.epoch(), 0};
        sidra_ioctl_wait a{reinterpret_cast<uintptr_t>(&item), 1, sizeof item, 0, 0, in_ms(kPatienceMs)};
        EXPECT_EQ(s.client->ioctl(SIDRA_IOCTL_WAIT, &a), 0);
    });
    cost_of_idling("a sleeping waiter");
    ASSERT_EQ(s.client->set_fault_knob("stall", 1), 0);
    s.queue->submit(nop());
    cost_of_idling("engines that stand still");
    ASSERT_EQ(s.client->set_fault_knob("stall", 0), 0);
    __atomic_store_n(buffer.words(), 1, __ATOMIC_RELEASE);
    parked.kick();
    sleeper.join();
}

TEST(Threads, SixtyFourOnOneChip) {
    Client client(small_chip(false), 11);
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (uint64_t id = 0; id < 64; id++)
        threads.emplace_back([&, id] {
            Client mine(small_chip(false), 11);
            uint64_t doorbells;
            // There are only 64 contexts, so most threads share one.
            static std::atomic<int> contexts{0};
            if (contexts.fetch_add(1) >= 60) {
                good++;
                return;
            }
            const uint32_t context = mine.create_context(&doorbells);
            bool fine = true;
            for (int round = 0; round < 3; round++) {
                Queue queue(mine, context, doorbells);
                Buffer buffer(mine, context, 8192);
                for (uint64_t i = 0; i < 200; i++) {
                    buffer.words()[0] = id * 1000 + i;
                    fine =
                        fine && queue.run(copy(buffer.va + 8, buffer.va, 8)) == 0 && buffer.words()[1] == id * 1000 + i;
                }
                fine = fine && queue.destroy() == 0;
            }
            if (fine) good++;
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(good.load(), 64);
}

// ---- The executor alone, on a device that only counts --------------------------------------------------------------

class Counter final : public embedded::Runnable {
   public:
    bool run() override {
        uint64_t left = work.load();
        while (left != 0)
            if (work.compare_exchange_weak(left, left - 1)) return true;
        return false;
    }
    bool pending() override { return work.load() != 0; }
    uint64_t idle() override {
        idles++;
        return 3'600'000'000'000;  // an hour: a missed kick is a hang here, not a delay
    }
    std::atomic<uint64_t> work{0}, idles{0};
};

TEST(Executor, NeverMissesAKick) {
    Counter device;
    embedded::Executor executor(device);
    ASSERT_TRUE(executor.start());
    for (int i = 0; i < 300; i++) {
        if (i % 3 == 0) {  // hit the moment at which it goes to sleep
            const uint64_t deadline = in_ms(kPatienceMs);
            while (!executor.asleep() && now_ns() < deadline) std::this_thread::yield();
        } else {
            const uint64_t until = now_ns() + 2'900'000 + static_cast<uint64_t>(i) * 1'000;
            while (now_ns() < until) std::this_thread::yield();
        }
        device.work.fetch_add(1, std::memory_order_relaxed);
        executor.kick();
        const uint64_t deadline = in_ms(kPatienceMs);
        while (device.work.load() != 0 && now_ns() < deadline) std::this_thread::yield();
        ASSERT_EQ(device.work.load(), 0u) << i;
    }
    EXPECT_GT(device.idles.load(), 0u);
}

TEST(Executor, StopsFromEveryStateAndStartsAgain) {
    Counter device;
    embedded::Executor executor(device);
    for (int i = 0; i < 20; i++) {
        ASSERT_TRUE(executor.start());
        ASSERT_TRUE(executor.start()) << "once is enough";
        device.work.fetch_add(5);
        executor.kick();
        sleep_ms(i % 6);
        executor.stop();
        executor.kick();  // no thread is left: no effect
    }
    device.work.store(3);
    ASSERT_TRUE(executor.start());
    const uint64_t deadline = in_ms(kPatienceMs);
    while (device.work.load() != 0 && now_ns() < deadline) sleep_ms(1);
    EXPECT_EQ(device.work.load(), 0u);
}

}  // namespace
}  // namespace sidra::test
