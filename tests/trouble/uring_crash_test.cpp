// SPDX-License-Identifier: MIT
// io_uring rings that are closed and commands that are cancelled at any moment.
#include <sys/wait.h>

#include <random>
#include <thread>

#include "innocent.h"
#include "ring.h"

namespace sidra::test {
namespace {

class UringCrash : public NodeTest {
   protected:
    static constexpr unsigned kKinds[] = {
        IORING_SETUP_SQE128, IORING_SETUP_SQE128 | IORING_SETUP_SQPOLL,
        IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};
};

// Resources of a process that submits by a ring.
struct User {
    explicit User(unsigned kind = IORING_SETUP_SQE128) : ring(kind) {}
    void submit(const sidra_cmd& cmd, uint64_t user = 0, uint8_t flags = 0) {
        ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, user, &cmd, flags);
    }
    void ask(uint32_t op, uint64_t value, uint64_t user = 0) {
        ring.add(node.fd, op, queue, value, user)->len = op == SIDRA_URING_WAIT_VALUE ? queue.epoch() : 0;
    }
    sidra_cmd slow_copy() const { return copy(buffer.va, buffer.va + (1 << 18), 1 << 18); }

    Node node;
    Context context{node};
    Queue queue{context, SIDRA_QUEUE_KERNEL};
    Buffer buffer{context, 1 << 19};
    Ring ring;
};

[[noreturn]] void submit_until_killed(unsigned kind, uint32_t seed) {
    std::minstd_rand random(seed);
    for (User user(kind);;) {
        const uint64_t next = user.queue.timeline();
        for (uint32_t i = 0; i < 20; i++) user.submit(i % 5 ? nop() : user.slow_copy());
        for (uint32_t i = 0; i < 4; i++) user.ask(SIDRA_URING_WAIT_VALUE, next + random() % 40);
        for (uint32_t i = 0; i < 4; i++) user.ask(SIDRA_URING_CANCEL, next + random() % 40);
        user.ring.enter(static_cast<unsigned>(random() % 8));
        user.ring.forget();
        if (user.queue.run_state() > SIDRA_QUEUE_RUNNING) user.queue.reset();
    }
}

TEST_F(UringCrash, KilledWithBatchesQueued) {
    Innocent innocent;
    const Census census(innocent.node());
    std::minstd_rand random(1);
    for (int round = 0; round < rounds(24, 300); round++) {
        const auto life_us = static_cast<uint32_t>(1 + random() % 40'000), seed = static_cast<uint32_t>(random());
        const pid_t child = fork();
        if (child == 0) {
            die_in(life_us);
            submit_until_killed(kKinds[round % 3], seed);
        }
        ASSERT_GT(child, 0);
        innocent.work();
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    }
    innocent.work();
    census.expect_unchanged();
}

// Nothing that waits outlives its ring, nor hangs it.
TEST_F(UringCrash, ARingEndsWhileTheDeviceIsReset) {
    Innocent innocent;
    const Node admin;
    for (int round = 0; round < rounds(6, 100); round++) {
        User stays;
        for (uint64_t i = 0; i < 20; i++) stays.submit(i ? nop() : stays.slow_copy(), i);
        for (uint64_t i = 20; i < 40; i++) stays.ask(SIDRA_URING_WAIT_VALUE, 1000, i);
        ASSERT_EQ(stays.ring.enter(), 40);
        auto ends = std::make_unique<User>(kKinds[round % 3]);
        for (uint64_t i = 0; i < 20; i++) ends->submit(i ? nop() : ends->slow_copy(), i);
        for (uint64_t i = 0; i < 20; i++) ends->ask(SIDRA_URING_WAIT_VALUE, 1000, i);
        ends->ring.enter();
        std::thread other([&] { ends.reset(); });
        sidra_ioctl_device_reset reset{};
        EXPECT_EQ(admin.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
        other.join();
        const auto results = stays.ring.reap(40);
        ASSERT_EQ(results.size(), 40u);
        for (const auto& [user, result] : results)
            EXPECT_TRUE(result == -EIO || (user < 20 && result == 0)) << user << ": " << result;
        innocent.lose_and_recover(SIDRA_FAULT_RESET);
    }
}

// Whichever is first: the results of the command and of its CANCEL agree.
TEST_F(UringCrash, CancelRacesTheEnd) {
    Innocent innocent;
    User user;
    std::minstd_rand random(1);
    uint64_t value = 0, cancelled = 0, ended = 0;
    const auto how_often = static_cast<uint64_t>(rounds(300, 10'000));
    constexpr uint64_t kRoom = 32;  // at least the packets that the ring holds
    // However fast the chip is here, some are still in line then, and some have ended.
    const uint64_t limit = in_ms(kPatienceMs);
    for (uint64_t round = 0; round < how_often || ((!cancelled || !ended) && in_ms(0) < limit); round++) {
        if (value > kRoom) EXPECT_EQ(user.queue.wait(value - kRoom), 0);  // cancelled work still runs
        user.submit(round % 2 ? nop() : copy(user.buffer.va, user.buffer.va + 65536, 1 + random() % 65536), 1);
        if (round % 4 < 2) user.ring.enter();
        for (volatile auto spin = random() % (1u << random() % 18); spin > 0;) spin = spin - 1;
        user.ask(SIDRA_URING_CANCEL, ++value, 2);
        const auto results = user.ring.reap(2);
        const int end = results.at(1), cancel = results.at(2);
        ASSERT_TRUE((end == 0 && cancel == -ENOENT) || (end == -ECANCELED && cancel == 1)) << end << ", " << cancel;
        cancelled += cancel == 1;
        ended += end == 0;
        if (round % 64 == 0) innocent.work();
    }
    EXPECT_EQ(user.queue.wait(value), 0) << "all packets run";
    EXPECT_TRUE(cancelled > 0 && ended > 0) << cancelled << " cancelled, " << ended << " ended: no race";
}

TEST_F(UringCrash, LinkedCommands) {
    for (const unsigned kind : kKinds) {
        User user(kind);
        user.buffer.words[0] = 0x5511;
        for (uint64_t i = 0; i < 16; i++)
            user.submit(copy(user.buffer.va + 8 * (i + 1), user.buffer.va + 8 * i, 8), i, i < 15 ? IOSQE_IO_LINK : 0);
        for (const auto& [number, result] : user.ring.reap(16)) EXPECT_EQ(result, 0) << number;
        EXPECT_TRUE(std::is_sorted(user.ring.order.begin(), user.ring.order.end()));
        EXPECT_EQ(user.buffer.words[16], 0x5511u);
        // A failed command cancels those linked behind it: they are not even submitted.
        for (uint64_t i = 0; i < 4; i++)
            user.submit(i == 1 ? packet(SIDRA_CMD_INVALID) : nop(), i, i < 3 ? IOSQE_IO_LINK : 0);
        EXPECT_EQ(user.ring.reap(4), (std::map<uint64_t, int>{{0, 0}, {1, -EIO}, {2, -ECANCELED}, {3, -ECANCELED}}));
        ASSERT_EQ(user.queue.reset(), 0);
        EXPECT_EQ(user.queue.timeline(), 18u);
    }
}

TEST_F(UringCrash, AResetLeavesNothingToCancel) {
    for (const unsigned kind : kKinds) {
        User user(kind);
        ASSERT_TRUE(knob("stall", 1));
        for (uint64_t i = 1; i <= 5; i++) user.submit(nop(), i);
        user.ask(SIDRA_URING_WAIT_VALUE, 5, 6);
        user.ask(SIDRA_URING_CANCEL, 77, 7);
        EXPECT_EQ(user.ring.reap(1).at(7), -ENOENT) << "all before it are in line";
        ASSERT_EQ(user.queue.reset(), 0);
        auto results = user.ring.reap(6);
        ASSERT_EQ(results.size(), 6u);
        for (const auto& [number, result] : results) EXPECT_EQ(result, -ECANCELED) << number;
        user.ask(SIDRA_URING_CANCEL, 5, 8);
        EXPECT_EQ(user.ring.reap(1).at(8), -ENOENT);
        ASSERT_TRUE(knob("stall", 0));
        user.submit(nop(), 9);
        EXPECT_EQ(user.ring.reap(1).at(9), 0);
    }
}

}  // namespace
}  // namespace sidra::test
