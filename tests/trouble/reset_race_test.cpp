// SPDX-License-Identifier: MIT
// QUEUE_RESET against SUBMIT on a running kernel queue: each submit is either before the reset, and dropped as a whole,
// or after it, and executed. Work reported as done has been done.
#include <linux/sync_file.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "node.h"
#include "ring.h"

namespace sidra::test {
namespace {

using ResetRace = NodeTest;

// Copies the round's number to its own place.
struct Round {
    Round(const Buffer& buffer, uint64_t number) : to(number % kPlaces) {
        buffer.words[kFrom] = number;
        packets = {copy(buffer.va + 8 * to, buffer.va + 8 * kFrom, 8)};
    }
    static constexpr uint64_t kPlaces = 256, kFrom = 300;
    uint64_t to;
    std::vector<sidra_cmd> packets;
};

int status_of(int fence) {
    pollfd signalled{fence, POLLIN, 0};
    if (poll(&signalled, 1, static_cast<int>(kPatienceMs)) != 1) return -ETIME;  // it hangs: no test expects that
    sync_file_info info{};
    const int error = ioctl(fence, SYNC_IOC_FILE_INFO, &info);
    return error < 0 ? error : info.status;
}

// Counts the rounds. A test that met only one outcome has tested nothing, so it goes on until it has met both, or for
// so long that the other one does not happen.
class Rounds {
   public:
    explicit Rounds(uint64_t least) : least_(least) {}
    bool more() const { return rounds() < (done_ && dropped_ ? least_ : 20 * least_); }
    uint64_t rounds() const { return done_ + dropped_; }
    void count(int result) {
        (result == 0 ? done_ : dropped_)++;
        in_a_row_ = result == 0 ? 0 : in_a_row_ + 1;
    }
    // Whether so many were dropped one after the other that the resets have to let one pass: on busy CPUs the chip may
    // be slower than they are. For any thread.
    bool hold_resets() const { return in_a_row_ >= 50; }
    void expect_both() const {
        EXPECT_GT(done_, 0u);
        EXPECT_GT(dropped_, 0u);
    }

   private:
    const uint64_t least_;
    uint64_t done_ = 0, dropped_ = 0;
    std::atomic<uint64_t> in_a_row_{0};
};

TEST_F(ResetRace, NoSubmitIsLostAndNoDroppedOneIsDone) {
    Node node;
    Context context(node);
    Buffer buffer(context, 4096);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    std::atomic<bool> stop{false};
    Rounds all(static_cast<uint64_t>(rounds(300, 20'000)));
    std::thread resets([&] {
        while (!stop) {
            if (all.hold_resets()) std::this_thread::yield();
            else EXPECT_EQ(queue.reset(), 0);
        }
    });
    while (all.more()) {
        const uint64_t number = all.rounds() + 1;
        const Round round(buffer, number);
        sidra_ioctl_submit a = queue.request(round.packets);
        const bool fenced = number % 2;
        if (fenced) a.flags = SIDRA_SUBMIT_OUT_FENCE;
        ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, a), 0);
        const int waited = queue.wait_epoch(a.epoch, a.value);
        ASSERT_TRUE(waited == 0 || waited == -ECANCELED) << waited;
        if (waited == 0) ASSERT_EQ(buffer.words[round.to], number);
        if (fenced) {
            const int status = status_of(a.out_fence_fd);
            close(a.out_fence_fd);
            ASSERT_TRUE(status == 1 || status == -ECANCELED) << status;
            if (status == 1) ASSERT_EQ(buffer.words[round.to], number) << "and so it was not dropped";
            // Not if so many resets have come in between that the wait no longer knew the epoch.
            if (queue.epoch() - a.epoch < SIDRA_QUEUE_EPOCHS_KEPT) ASSERT_EQ(waited == 0, status == 1) << status;
        }
        all.count(waited);
    }
    stop = true;
    resets.join();
    all.expect_both();
    uint64_t value;
    ASSERT_EQ(queue.submit({nop()}, &value), 0);
    EXPECT_EQ(queue.wait(value), 0) << "it runs as before";
}

// Resets a queue in a thread while it lives.
class Resets {
   public:
    explicit Resets(const Queue& queue)
        : thread_([this, &queue] {
              while (!stop_) EXPECT_EQ(queue.reset(), 0);
          }) {}
    ~Resets() {
        stop_ = true;
        thread_.join();
    }

   private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

constexpr uint64_t kNever = 1ull << 40;  // behind the end of a timeline

TEST_F(ResetRace, WhoIsArmedIsSignalled) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    const Resets resets(queue);
    for (int round = 0; round < rounds(1000, 50'000); round++) {
        const int event = eventfd(0, EFD_CLOEXEC);
        sidra_ioctl_arm a{context.handle, queue.create.queue, kNever, event, 0, queue.epoch(), 0};
        const int result = node.call(SIDRA_IOCTL_ARM, a);
        ASSERT_TRUE(result == 0 || result == -ECANCELED) << result;
        pollfd signalled{event, POLLIN, 0};
        if (result == 0) ASSERT_EQ(poll(&signalled, 1, static_cast<int>(kPatienceMs)), 1) << "round " << round;
        close(event);
    }
}

// By worker threads of io_uring, whose commands may be completed by another thread before they have returned.
TEST_F(ResetRace, WaitsByUringEnd) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    Ring ring;
    constexpr uint64_t kBatch = 8;
    const Resets resets(queue);
    for (int round = 0; round < rounds(200, 10'000); round++) {
        for (uint64_t i = 0; i < kBatch; i++)
            ring.add(node.fd, SIDRA_URING_WAIT_VALUE, Ring::command(queue, kNever), i, nullptr, IOSQE_ASYNC)->len =
                queue.epoch();
        const auto results = ring.reap(kBatch);
        ASSERT_EQ(results.size(), kBatch) << "round " << round;
        for (const auto& [number, result] : results) ASSERT_EQ(result, -ECANCELED) << number;
    }
}

TEST_F(ResetRace, CommandsByUringEnd) {
    Node node;
    Context context(node);
    Buffer buffer(context, 4096);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Ring ring;
    std::atomic<bool> stop{false};
    Rounds all(static_cast<uint64_t>(rounds(300, 20'000)));
    std::thread resets([&] {
        while (!stop) {
            if (all.hold_resets()) std::this_thread::yield();
            else EXPECT_EQ(queue.reset(), 0);
        }
    });
    while (all.more()) {
        const uint64_t number = all.rounds() + 1;
        const Round round(buffer, number);
        ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, number, round.packets.data());
        const int result = ring.reap(1).at(number);
        ASSERT_TRUE(result == 0 || result == -ECANCELED) << result;
        if (result == 0) ASSERT_EQ(buffer.words[round.to], number);
        all.count(result);
    }
    stop = true;
    resets.join();
    all.expect_both();
}

// Many who wait for what the queue will not reach: a reset wakes them, which takes a while.
class Crowd {
   public:
    ~Crowd() { close(event_); }
    void gather(const Queue& queue, int count) const {
        for (int i = 0; i < count; i++) {
            sidra_ioctl_arm a{queue.context.handle, queue.create.queue, kNever, event_, 0, queue.epoch(), 0};
            ASSERT_EQ(queue.node.call(SIDRA_IOCTL_ARM, a), 0);
        }
    }

   private:
    const int event_ = eventfd(0, EFD_CLOEXEC);
};

// A new epoch is public while a reset still wakes those who waited for the former one, before the chip runs the queue
// again. Another queue may wait for the new epoch already then.
TEST_F(ResetRace, AWaitForAnEpochThatBeginsIsNoMistake) {
    Node node;
    Context context(node);
    Queue producer(context, SIDRA_QUEUE_KERNEL), consumer(context, SIDRA_QUEUE_USER);
    uint32_t last = producer.epoch();
    std::atomic<bool> stop{false};
    std::thread resets([&] {
        const Crowd crowd;
        for (int round = 0; round < rounds(15, 1000) && !HasFailure(); round++) {
            crowd.gather(producer, 250);
            EXPECT_EQ(producer.reset(), 0);
        }
        stop = true;
    });
    int passed = 0;
    while (!stop) {
        const uint32_t epoch = producer.epoch();
        if (epoch == last) continue;
        last = epoch;
        const std::vector<sidra_cmd> packets = {nop()};
        sidra_ioctl_submit a = producer.request(packets);
        EXPECT_EQ(node.call(SIDRA_IOCTL_SUBMIT, a), 0);
        sidra_cmd wait = producer.waited_for(a.value);
        wait.sem.epoch = a.epoch;
        const int result = consumer.wait(consumer.push(wait));
        if (result == 0) {
            passed++;
            continue;
        }
        EXPECT_EQ(result, -EIO);
        // The next reset may have dropped the packet.
        EXPECT_EQ(consumer.state->fault.cause, SIDRA_FAULT_PRODUCER) << "epoch " << a.epoch << ", value " << a.value;
        EXPECT_EQ(consumer.reset(), 0);
    }
    resets.join();
    EXPECT_GT(passed, 0);
}

// Each epoch has one packet, which faults. So the epoch says where the timeline is.
TEST_F(ResetRace, AQueryIsOfOneEpoch) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    const uint32_t first = queue.epoch();
    std::atomic<bool> stop{false};
    std::thread faults([&] {
        const Crowd crowd;
        for (int round = 0; round < rounds(100, 5000) && !HasFailure(); round++) {
            crowd.gather(queue, 30);
            EXPECT_EQ(queue.submit({packet(SIDRA_CMD_INVALID)}), 0);
            EXPECT_TRUE(eventually([&] { return queue.run_state() == SIDRA_QUEUE_FAULTED; }));
            EXPECT_EQ(queue.reset(), 0);
        }
        stop = true;
    });
    uint64_t faulted = 0;
    while (!stop && !HasFailure()) {
        sidra_ioctl_queue_query a{};
        a.context = context.handle;
        a.queue = queue.create.queue;
        EXPECT_EQ(node.call(SIDRA_IOCTL_QUEUE_QUERY, a), 0);
        EXPECT_EQ(a.timeline, a.epoch - first);
        EXPECT_LE(a.submitted - a.timeline, 1u);
        EXPECT_EQ(a.run_state == SIDRA_QUEUE_FAULTED, a.fault.cause == SIDRA_FAULT_OPCODE) << a.fault.cause;
        if (a.run_state != SIDRA_QUEUE_FAULTED) continue;
        EXPECT_EQ(a.fault.sequence, a.timeline);
        faulted++;
    }
    faults.join();
    EXPECT_GT(faulted, 0u);
}

}  // namespace
}  // namespace sidra::test
