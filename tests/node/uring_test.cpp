// SPDX-License-Identifier: MIT
// Commands by io_uring.
#include <sys/uio.h>
#include <sys/wait.h>

#include <csignal>
#include <functional>
#include <thread>

#include "node.h"
#include "ring.h"

namespace sidra::test {
namespace {

class Uring : public NodeTest {
   protected:
    void SetUp() override {
        NodeTest::SetUp();
        const Ring probe;
        ASSERT_GE(probe.fd, 0) << "io_uring is not allowed here";
    }
    // The chip is stalled here for as long as the machine needs: that is no hang.
    const Parameter patient_{"queue_timeout_ms", "120000"};
};

TEST_F(Uring, SubmitsInOrderAndCompletesWhenRetired) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Buffer buffer(context, 4096);
    Ring ring;
    const sidra_uring_cmd cmd = Ring::command(queue, 0);
    buffer.words[0] = 0x5511;
    for (uint64_t round = 0; round < 8; round++) {
        ring.order.clear();
        for (uint64_t i = 0; i < 48; i++) {
            const sidra_cmd packet = copy(buffer.va + 8 * (i + 1), buffer.va + 8 * i, 8);
            ring.add(node.fd, SIDRA_URING_SUBMIT, cmd, i, &packet);
        }
        for (const auto& [user, result] : ring.reap(48)) EXPECT_EQ(result, 0) << user;
        EXPECT_EQ(buffer.words[48], 0x5511u + round);
        EXPECT_TRUE(std::is_sorted(ring.order.begin(), ring.order.end()));
        buffer.words[0]++;
    }
    EXPECT_EQ(queue.timeline(), 8 * 48u);
}

// The chip's counters, read through the driver.
sidra_telemetry telemetry() {
    sidra_telemetry now{};
    std::ifstream file("/sys/class/sidra/sidra0/telemetry", std::ios::binary);
    EXPECT_TRUE(file.read(reinterpret_cast<char*>(&now), sizeof now));
    return now;
}

TEST_F(Uring, ABatchIsOneDoorbellOneInterruptAndOneAllocation) {
    const Card card;
    ASSERT_TRUE(card.known());
    constexpr unsigned kBatch = 48;
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Ring ring;
    const sidra_cmd one = nop();
    // A task that sleeps in the middle of a batch, or a chip that is slow, costs more: the best of some rounds counts.
    uint64_t doorbells = kBatch, arms = kBatch, interrupts = kBatch, allocated = kBatch;
    const auto best = [&] { return doorbells == 1 && arms <= 1 && interrupts <= 1 && allocated == 1; };
    for (unsigned round = 0; round < 500 && !best(); round++) {
        for (uint64_t i = 0; i < kBatch; i++) ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, i, &one);
        const sidra_telemetry before = telemetry();
        const uint64_t allocations = card.counter("submit_allocations"), submits = card.counter("submits");
        ASSERT_EQ(ring.enter(kBatch), static_cast<int>(kBatch));
        for (const auto& [user, result] : ring.reap(kBatch)) EXPECT_EQ(result, 0) << user;
        const sidra_telemetry after = telemetry();
        EXPECT_EQ(card.counter("submits") - submits, kBatch);
        doorbells = std::min(doorbells, after.doorbells - before.doorbells);
        arms = std::min(arms, after.arms - before.arms);
        interrupts = std::min(interrupts, after.interrupts - before.interrupts);
        allocated = std::min(allocated, card.counter("submit_allocations") - allocations);
    }
    EXPECT_EQ(doorbells, 1u);
    EXPECT_LE(arms, 1u);
    EXPECT_LE(interrupts, 1u) << "none, if all were done when the driver was about to arm";
    EXPECT_EQ(allocated, 1u);
}

// Such a ring counts completions before it wakes its task.
TEST_F(Uring, WaitsForAWholeBatchAtOnce) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Ring ring(IORING_SETUP_SQE128 | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
    ASSERT_GE(ring.fd, 0);
    const sidra_cmd one = nop();
    for (unsigned round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < 48; i++) ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, i, &one);
        ASSERT_EQ(ring.enter(48), 48);
        for (const auto& [user, result] : ring.reap(48)) EXPECT_EQ(result, 0) << user;
    }
}

// An interrupt armed for a later value does not serve this command, which would complete only at the check of all
// queues every 50 ms.
TEST_F(Uring, WhoWaitsFurtherAheadDelaysNobody) {
    const Card card;
    ASSERT_TRUE(card.known());
    constexpr uint64_t kAhead = 1000, kBytes = 1u << 19;
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Buffer buffer(context, 2 * kBytes);
    Ring ring;
    // Long enough that the driver does not find it retired when it arms.
    const sidra_cmd packet = copy(buffer.va + kBytes, buffer.va, kBytes);
    // Number of commands completed by such a check. A check can come before an interrupt that this machine delivers
    // late, so the best of several rounds counts. Without interrupts all commands of all rounds complete by it.
    const auto late = [&] {
        uint64_t best = UINT64_MAX;
        for (unsigned round = 0; round < 60 && best != 0; round++) {
            const uint64_t before = card.counter("rechecks");
            for (uint64_t i = 0; i < 4; i++) {
                ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, i, &packet);
                EXPECT_EQ(ring.reap(1).at(i), 0);
            }
            best = std::min(best, card.counter("rechecks") - before);
        }
        return best;
    };
    ring.add(node.fd, SIDRA_URING_WAIT_VALUE, queue, kAhead, 100)->len = queue.epoch();
    ASSERT_EQ(ring.enter(), 1);
    EXPECT_EQ(late(), 0u);
    ring.add(node.fd, SIDRA_URING_CANCEL, queue, kAhead, 101);
    const auto results = ring.reap(2);
    EXPECT_EQ(results.at(100), -ECANCELED);
    EXPECT_EQ(results.at(101), 1);
    EXPECT_EQ(late(), 0u) << "the chip is armed for the one that was cancelled";
    EXPECT_LT(queue.timeline(), kAhead);
}

TEST_F(Uring, RingsThatTakeTurnsAllGetTheirs) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Ring rings[2];
    const sidra_cmd one = nop();
    ASSERT_TRUE(knob("stall", 1));
    for (uint64_t turn = 0; turn < 6; turn++) {
        Ring& ring = rings[turn % 2];
        for (uint64_t i = 0; i < 4; i++) ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, 4 * turn + i, &one);
        EXPECT_EQ(ring.enter(), 4);
    }
    ASSERT_TRUE(knob("stall", 0));
    for (Ring& ring : rings) {
        const auto results = ring.reap(12);
        EXPECT_EQ(results.size(), 12u);
        for (const auto& [user, result] : results) EXPECT_EQ(result, 0) << user;
        EXPECT_TRUE(std::is_sorted(ring.order.begin(), ring.order.end()));
    }
    EXPECT_EQ(queue.timeline(), 24u);
}

TEST_F(Uring, RingsAtTheSameTimeAllGetTheirs) {
    constexpr uint64_t kRounds = 30, kBatch = 24, kBytes = 1u << 19;
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Buffer buffer(context, 2 * kBytes);
    // Each batch begins with a packet so long that the other ring's commands queue behind it: one interrupt serves
    // both.
    const sidra_cmd one = nop(), slow = copy(buffer.va + kBytes, buffer.va, kBytes);
    const auto use = [&](uint64_t who) {
        Ring ring;
        for (uint64_t round = 0; round < kRounds; round++) {
            ring.order.clear();
            std::map<uint64_t, int> expected;
            for (uint64_t i = 0; i < kBatch; i++) {
                const uint64_t user = who << 32 | round << 16 | i;
                expected[user] = 0;
                ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, user, i ? &one : &slow);
            }
            ASSERT_EQ(ring.reap(kBatch), expected);
            EXPECT_EQ(ring.order.size(), kBatch);
            EXPECT_TRUE(std::is_sorted(ring.order.begin(), ring.order.end()));
        }
    };
    std::thread other(use, 1);
    use(2);
    other.join();
    EXPECT_EQ(queue.timeline(), 2 * kRounds * kBatch);
}

// A child task, which has stopped when the constructor returns.
class Child {
   public:
    template <class Body>
    explicit Child(Body body) : pid_(fork()) {
        if (pid_ == 0) {
            if (!body()) _exit(1);
            raise(SIGSTOP);
            for (;;) pause();
        }
        int status = 0;
        EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
        EXPECT_TRUE(WIFSTOPPED(status));
    }
    ~Child() { end(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    void go_on() const { EXPECT_EQ(kill(pid_, SIGCONT), 0); }
    void end() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

   private:
    pid_t pid_;
};

// Each task completes its own commands: a task that does not run delays no other.
TEST_F(Uring, TasksThatShareARingDoNotWaitForEachOther) {
    using Results = std::map<uint64_t, int>;
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Ring ring;
    const sidra_cmd one = nop();
    const auto submit = [&](uint64_t first, int count) {
        for (int i = 0; i < count; i++) ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, first + i, &one);
        return ring.enter() == count;
    };
    ASSERT_TRUE(knob("stall", 1));
    Child a([&] { return submit(10, 3); });
    EXPECT_TRUE(submit(1, 3));
    Child b([&] { return submit(20, 3); });
    EXPECT_TRUE(submit(4, 1));
    ASSERT_TRUE(knob("stall", 0));
    EXPECT_EQ(ring.reap(4), (Results{{1, 0}, {2, 0}, {3, 0}, {4, 0}}));
    a.go_on();
    EXPECT_EQ(ring.reap(3), (Results{{10, 0}, {11, 0}, {12, 0}}));
    b.end();
    EXPECT_EQ(ring.reap(3), (Results{{20, 0}, {21, 0}, {22, 0}})) << "had ended before its task did";
}

// Closing a ring removes its commands from the list of completions; the commands of an exited task in a surviving ring
// complete in turn.
TEST_F(Uring, ARingOrATaskThatIsGoneHoldsUpNobody) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Ring ring;
    const sidra_cmd one = nop();
    const auto submit = [&](Ring& to, uint64_t first) {
        for (uint64_t i = 0; i < 3; i++) to.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, first + i, &one);
        return to.enter() == 3;
    };
    std::map<uint64_t, int> expected;
    ASSERT_TRUE(knob("stall", 1));
    {
        Ring closed;
        EXPECT_TRUE(submit(closed, 100));
        EXPECT_TRUE(submit(ring, 0));
        Child killed([&] { return submit(ring, 3); });
        EXPECT_TRUE(submit(ring, 6));
        Child with_its_ring([&] {
            Ring own;
            const bool submitted = submit(own, 200);
            raise(SIGSTOP);
            return submitted;
        });
        EXPECT_TRUE(submit(ring, 9));
        EXPECT_TRUE(submit(closed, 103));
        EXPECT_TRUE(submit(ring, 12));
    }
    ASSERT_TRUE(knob("stall", 0));
    for (uint64_t user = 0; user < 15; user++) expected[user] = 0;
    EXPECT_EQ(ring.reap(15), expected);
    EXPECT_EQ(ring.order.size(), 15u);
    EXPECT_EQ(queue.wait(24), 0) << "all packets run";
}

TEST_F(Uring, OneOfALineIsCancelled) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Ring ring;
    const sidra_cmd one = nop();
    ASSERT_TRUE(knob("stall", 1));
    for (uint64_t i = 1; i <= 5; i++) ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, i, &one);
    ring.enter();
    ring.add(node.fd, SIDRA_URING_CANCEL, queue, 3, 10);
    ring.add(node.fd, SIDRA_URING_CANCEL, queue, 3, 11);
    auto results = ring.reap(3);
    EXPECT_EQ(results.at(10), 1);
    EXPECT_EQ(results.at(11), -ENOENT) << "has ended";
    EXPECT_EQ(results.at(3), -ECANCELED);
    ASSERT_TRUE(knob("stall", 0));
    results = ring.reap(4);
    for (const uint64_t user : {1, 2, 4, 5}) EXPECT_EQ(results.at(user), 0) << user;
    EXPECT_EQ(queue.timeline(), 5u) << "its packet ran all the same";
}

TEST_F(Uring, AFaultEndsTheLineBehindIt) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Ring ring;
    sidra_cmd packets[5] = {nop(), nop(), nop(), nop(), nop()};
    packets[2].hdr.opcode = 99;
    for (uint64_t i = 0; i < 5; i++) ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, i, &packets[i]);
    const auto results = ring.reap(5);
    for (uint64_t i = 0; i < 5; i++) EXPECT_EQ(results.at(i), i < 2 ? 0 : -EIO) << i;
}

TEST_F(Uring, EndOfTheRingOrTheQueueEndsTheLine) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    const sidra_cmd one = nop();
    ASSERT_TRUE(knob("stall", 1));
    {
        Ring ring;
        for (uint64_t i = 0; i < 20; i++) ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, i, &one);
        EXPECT_EQ(ring.enter(), 20);
    }
    Ring ring;
    for (uint64_t i = 0; i < 20; i++) ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, i, &one);
    EXPECT_EQ(ring.enter(), 20);
    sidra_ioctl_queue destroy{context.handle, queue.create.queue, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_QUEUE_DESTROY, destroy), 0);
    for (const auto& [user, result] : ring.reap(20)) EXPECT_EQ(result, -ENOENT) << user;
    ASSERT_TRUE(knob("stall", 0));
}

TEST_F(Uring, SubmitsFromRegisteredMemory) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Buffer buffer(context, 4096);
    Ring ring(0);
    std::vector<sidra_cmd> packets;
    for (uint64_t i = 0; i < 40; i++) packets.push_back(copy(buffer.va + 8 * (i + 1), buffer.va + 8 * i, 8));
    iovec memory{packets.data(), packets.size() * sizeof packets[0]};
    ASSERT_EQ(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &memory, 1), 0);
    const auto attempt = [&](uint64_t skip, uint32_t bytes) {
        io_uring_sqe* sqe = ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, 1);
        sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
        sqe->addr = reinterpret_cast<uintptr_t>(packets.data()) + skip;
        sqe->len = bytes;
        return ring.reap(1).at(1);
    };
    buffer.words[0] = 42;
    EXPECT_EQ(attempt(0, 40 * 64), 0);
    EXPECT_EQ(buffer.words[40], 42u);
    EXPECT_EQ(attempt(64, 40 * 64), -EFAULT) << "over the end of what is registered";
    EXPECT_EQ(attempt(0, 63), -EINVAL);
    EXPECT_EQ(attempt(0, 0), -EINVAL);
    EXPECT_EQ(queue.timeline(), 40u);
}

TEST_F(Uring, WaitsAndCancels) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    Buffer buffer(context, 4096);
    Ring ring;
    const auto wait = [&](uint64_t value, uint64_t user) {
        ring.add(node.fd, SIDRA_URING_WAIT_VALUE, queue, value, user)->len = queue.epoch();
        ring.enter();
    };
    wait(0, 1);
    EXPECT_EQ(ring.reap(1).at(1), 0) << "already reached";
    queue.push(sem_wait(buffer.va, 1));
    queue.push(sem_wait(buffer.va, 2));
    wait(1, 2);
    wait(2, 3);
    wait(2, 4);
    ring.add(node.fd, SIDRA_URING_CANCEL, queue, 7, 5);
    EXPECT_EQ(ring.reap(1).at(5), -ENOENT);
    __atomic_store_n(buffer.words, 1, __ATOMIC_RELEASE);
    queue.kick();
    EXPECT_EQ(ring.reap(1).at(2), 0);
    ring.add(node.fd, SIDRA_URING_CANCEL, queue, 2, 6);
    const auto results = ring.reap(3);
    EXPECT_EQ(results.at(6), 2);
    EXPECT_EQ(results.at(3), -ECANCELED);
    EXPECT_EQ(results.at(4), -ECANCELED);
    wait(2, 7);
    sidra_ioctl_queue destroy{context.handle, queue.create.queue, 0, 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_QUEUE_DESTROY, destroy), 0);
    EXPECT_EQ(ring.reap(1).at(7), -ENOENT);
}

TEST_F(Uring, EndOfTheRingEndsWhatWaits) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    Buffer buffer(context, 4096);
    queue.push(sem_wait(buffer.va, 1));
    {
        Ring ring;
        for (uint64_t i = 0; i < 20; i++) ring.add(node.fd, SIDRA_URING_WAIT_VALUE, queue, 1, i)->len = queue.epoch();
        EXPECT_EQ(ring.enter(), 20);
    }
    __atomic_store_n(buffer.words, 1, __ATOMIC_RELEASE);
    queue.kick();
    EXPECT_EQ(queue.wait(1), 0);
}

TEST_F(Uring, RemovalEndsWhatWaits) {
    const Card card;
    ASSERT_TRUE(card.known());
    Ring ring;
    {
        Node node;
        Context context(node);
        Queue queue(context, SIDRA_QUEUE_USER);
        Buffer buffer(context, 4096);
        queue.push(sem_wait(buffer.va, 1));
        for (uint64_t i = 0; i < 20; i++) ring.add(node.fd, SIDRA_URING_WAIT_VALUE, queue, 1, i)->len = queue.epoch();
        EXPECT_EQ(ring.enter(), 20);
        Queue kernel(context, SIDRA_QUEUE_KERNEL);
        const sidra_cmd one = nop();
        ASSERT_TRUE(knob("stall", 1));
        for (uint64_t i = 20; i < 40; i++) ring.add(node.fd, SIDRA_URING_SUBMIT, kernel, 0, i, &one);
        EXPECT_EQ(ring.enter(), 20);
        ASSERT_TRUE(card.unbind());
        ASSERT_TRUE(knob("stall", 0));
        for (const auto& [user, result] : ring.reap(40)) EXPECT_EQ(result, -ENODEV) << user;
        ring.add(node.fd, SIDRA_URING_WAIT_VALUE, queue, 1, 0)->len = queue.epoch();
        EXPECT_EQ(ring.reap(1).at(0), -ENODEV);
    }
    ASSERT_TRUE(card.bind());
}

// Eventfds count, too: arming them takes memory that is not covered by any limit of the process.
TEST_F(Uring, AFileArmsOnlySoMuch) {
    constexpr uint64_t kMost = 4096, kValue = 1;
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_USER);
    Buffer buffer(context, 4096);
    queue.push(sem_wait(buffer.va, 1));
    const int event = eventfd(0, EFD_CLOEXEC);
    sidra_ioctl_arm arm{};
    arm.context = context.handle;
    arm.queue = queue.create.queue;
    arm.value = kValue;
    arm.eventfd = event;
    arm.epoch = queue.epoch();
    ASSERT_EQ(node.call(SIDRA_IOCTL_ARM, arm), 0);
    Ring ring;
    const sidra_uring_cmd cmd = Ring::command(queue, kValue);
    for (uint64_t i = 1; i < kMost; i++) {
        ring.add(node.fd, SIDRA_URING_WAIT_VALUE, cmd, i)->len = queue.epoch();
        if (i % 32 != 0 && i + 1 != kMost) continue;
        ASSERT_GT(ring.enter(), 0);
    }
    ring.add(node.fd, SIDRA_URING_WAIT_VALUE, cmd, 0)->len = queue.epoch();
    EXPECT_EQ(ring.reap(1).at(0), -ENOSPC);
    EXPECT_EQ(node.call(SIDRA_IOCTL_ARM, arm), -ENOSPC);
    ring.add(node.fd, SIDRA_URING_CANCEL, cmd, 0);
    const std::map<uint64_t, int> results = ring.reap(kMost);
    EXPECT_EQ(results.at(0), static_cast<int>(kMost - 1));
    for (uint64_t i = 1; i < kMost; i++) ASSERT_EQ(results.at(i), -ECANCELED) << i;
    EXPECT_EQ(node.call(SIDRA_IOCTL_ARM, arm), 0) << "there is room again";
    arm.eventfd = -1;
    EXPECT_EQ(node.call(SIDRA_IOCTL_ARM, arm), 0);
    pollfd fired{event, POLLIN, 0};
    __atomic_store_n(buffer.words, 1, __ATOMIC_RELEASE);
    queue.kick();
    EXPECT_EQ(queue.wait(kValue), 0);
    EXPECT_EQ(poll(&fired, 1, 0), 0) << "both were taken off";
    close(event);
}

TEST_F(Uring, RefusesBadCommands) {
    Node node;
    Context context(node);
    Queue kernel(context, SIDRA_QUEUE_KERNEL), user(context, SIDRA_QUEUE_USER);
    Ring ring, small(0), polled(IORING_SETUP_IOPOLL | IORING_SETUP_SQE128);
    const auto attempt = [&](
                             Ring& on, uint32_t op, const sidra_uring_cmd& cmd, const sidra_cmd& packet = nop(),
                             const std::function<void(io_uring_sqe*)>& change = [](io_uring_sqe*) {}) {
        change(on.add(node.fd, op, cmd, 9, &on == &small ? nullptr : &packet));
        return on.reap(1).at(9);
    };
    const sidra_uring_cmd good = Ring::command(kernel, 0);
    EXPECT_EQ(attempt(ring, 0, good), -EOPNOTSUPP);
    EXPECT_EQ(attempt(ring, 4, good), -EOPNOTSUPP);
    EXPECT_EQ(attempt(polled, SIDRA_URING_SUBMIT, good), -EOPNOTSUPP);
    EXPECT_EQ(attempt(small, SIDRA_URING_SUBMIT, good), -EINVAL) << "no room for a packet";
    EXPECT_EQ(attempt(ring, SIDRA_URING_SUBMIT, Ring::command(kernel, 1)), -EINVAL);
    EXPECT_EQ(attempt(ring, SIDRA_URING_SUBMIT, Ring::command(user, 0)), -EINVAL);
    EXPECT_EQ(attempt(ring, SIDRA_URING_SUBMIT, {context.handle, 77, 0, 0}), -ENOENT);
    EXPECT_EQ(attempt(ring, SIDRA_URING_SUBMIT, {context.handle + 7, 0, 0, 0}), -ENOENT);
    EXPECT_EQ(attempt(ring, SIDRA_URING_SUBMIT, good, sem_wait(0x200000, 1)), -EINVAL);
    // What a command does not use must be zero.
    EXPECT_EQ(attempt(ring, SIDRA_URING_SUBMIT, {good.context, good.queue, 1, 0}), -EINVAL) << "flags";
    const auto refused = [&](uint32_t op, const std::function<void(io_uring_sqe*)>& change) {
        EXPECT_EQ(attempt(ring, op, good, op == SIDRA_URING_SUBMIT ? nop() : sidra_cmd{}, change), -EINVAL) << op;
    };
    refused(SIDRA_URING_SUBMIT, [](io_uring_sqe* sqe) { sqe->len = 0; });
    refused(SIDRA_URING_SUBMIT, [](io_uring_sqe* sqe) { sqe->len = 128; });
    refused(SIDRA_URING_SUBMIT, [](io_uring_sqe* sqe) { sqe->addr = 64; });
    refused(SIDRA_URING_WAIT_VALUE, [](io_uring_sqe* sqe) { sqe->len = 1, sqe->addr = 64; });
    refused(SIDRA_URING_CANCEL, [](io_uring_sqe* sqe) { sqe->len = 1; });
    EXPECT_EQ(attempt(ring, SIDRA_URING_WAIT_VALUE, good), -EINVAL) << "a packet";
    sidra_cmd bad = nop();
    bad.hdr.opcode = 99;
    EXPECT_EQ(attempt(ring, SIDRA_URING_SUBMIT, good, bad), -EIO);
    EXPECT_EQ(attempt(ring, SIDRA_URING_SUBMIT, good), -EIO) << "stopped";
}

// Each bit of each part that a command does not use, alone and with a handle that nobody has.
TEST_F(Uring, EveryUnusedBitIsRefused) {
    struct Part {
        size_t begin, end;  // bytes of the SQE
    };
    constexpr size_t kCmd = offsetof(io_uring_sqe, cmd), kPacket = kCmd + sizeof(sidra_uring_cmd);
    constexpr Part kAddress{offsetof(io_uring_sqe, addr), offsetof(io_uring_sqe, addr) + 8};
    constexpr Part kLength{offsetof(io_uring_sqe, len), offsetof(io_uring_sqe, len) + 4};
    constexpr Part kFlags{kCmd + offsetof(sidra_uring_cmd, flags), kCmd + offsetof(sidra_uring_cmd, value)};
    constexpr Part kBuffer{offsetof(io_uring_sqe, buf_index), offsetof(io_uring_sqe, buf_index) + 2};
    constexpr Part kFile{offsetof(io_uring_sqe, file_index), offsetof(io_uring_sqe, file_index) + 4};
    constexpr Part kValue{kCmd + offsetof(sidra_uring_cmd, value), kPacket};
    constexpr Part kBehind{kPacket, kPacket + sizeof(sidra_cmd)};
    const struct {
        uint32_t op;
        std::vector<Part> unused;
    } kinds[] = {{SIDRA_URING_SUBMIT, {kFlags, kValue, kAddress, kLength, kBuffer, kFile}},
                 {SIDRA_URING_WAIT_VALUE, {kFlags, kAddress, kBehind, kBuffer, kFile}},
                 {SIDRA_URING_CANCEL, {kFlags, kAddress, kLength, kBehind, kBuffer, kFile}}};
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Ring ring;
    const sidra_cmd one = nop();
    sidra_uring_cmd stranger = Ring::command(queue, 0);
    stranger.queue = 77;
    for (const auto& kind : kinds) {
        std::vector<size_t> bits;
        for (const Part& part : kind.unused)
            for (size_t bit = part.begin * 8; bit < part.end * 8; bit++) bits.push_back(bit);
        for (const sidra_uring_cmd& cmd : {Ring::command(queue, 0), stranger}) {
            for (size_t first = 0; first < bits.size(); first += 32) {
                const size_t count = std::min<size_t>(32, bits.size() - first);
                for (size_t i = 0; i < count; i++) {
                    const size_t bit = bits[first + i];
                    auto* sqe = ring.add(node.fd, kind.op, cmd, bit, kind.op == SIDRA_URING_SUBMIT ? &one : nullptr);
                    if (kind.op == SIDRA_URING_WAIT_VALUE) sqe->len = queue.epoch();
                    reinterpret_cast<uint8_t*>(sqe)[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
                }
                for (const auto& [bit, result] : ring.reap(static_cast<unsigned>(count)))
                    if (cmd.queue == stranger.queue && result == -ENOENT) continue;
                    else
                        ASSERT_EQ(result, -EINVAL)
                            << "command " << kind.op << ", byte " << bit / 8 << ", bit " << bit % 8;
            }
        }
    }
    EXPECT_EQ(queue.timeline(), 0u) << "nothing was submitted";
}

TEST_F(Uring, FullRingIsBusy) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    ASSERT_TRUE(knob("stall", 1));
    ASSERT_EQ(queue.submit(std::vector<sidra_cmd>(64, nop())), 0);
    Ring ring;
    const sidra_cmd one = nop();
    ring.add(node.fd, SIDRA_URING_SUBMIT, queue, 0, 1, &one);
    EXPECT_EQ(ring.reap(1).at(1), -EBUSY);
    ASSERT_TRUE(knob("stall", 0));
    EXPECT_EQ(queue.wait(64), 0);
}

}  // namespace
}  // namespace sidra::test
