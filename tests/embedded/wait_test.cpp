// SPDX-License-Identifier: MIT
// WAIT and ARM: values, several queues, deadlines, lost interrupts.
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>

#include "fixture.h"

namespace sidra::test {
namespace {

class Eventfd {
   public:
    explicit Eventfd(int flags = 0) : fd(eventfd(0, EFD_CLOEXEC | flags)) {}
    ~Eventfd() { close(fd); }
    bool signalled(int ms) const {
        pollfd p{fd, POLLIN, 0};
        return poll(&p, 1, ms) == 1;
    }
    uint64_t take() const {
        uint64_t value = 0;
        return read(fd, &value, sizeof value) == sizeof value ? value : 0;
    }
    const int fd;
};

int arm(Client& client, const Queue& queue, uint64_t value, int fd, uint32_t flags = 0, uint32_t epoch = 0) {
    sidra_ioctl_arm a{queue.context, queue.number, value, fd, flags, epoch ? epoch : queue.epoch(), 0};
    return client.call(SIDRA_IOCTL_ARM, a);
}

TEST(Wait, RefusesBadRequests) {
    Bench s;
    sidra_wait_item items[2] = {{s.context, s.queue->number, 0, s.queue->epoch(), 0}, {s.context, 99, 0, 1, 0}};
    const sidra_ioctl_wait good{reinterpret_cast<uintptr_t>(items), 1, sizeof items[0], 0, 0, 0};
    const auto attempt = [&](auto change, uint32_t index = 0) {
        sidra_ioctl_wait a = good;
        change(a);
        const int error = s.client.call(SIDRA_IOCTL_WAIT, a);
        EXPECT_EQ(a.index, index);
        return error;
    };
    EXPECT_EQ(attempt([](auto&) {}), 0);
    EXPECT_EQ(attempt([](auto& a) { a.count = 0; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.count = SIDRA_WAIT_MAX + 1; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.stride = sizeof(sidra_wait_item) - 1; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.stride = 1u << 30; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.flags = 2; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.items = 0; }), -EFAULT);
    EXPECT_EQ(attempt([](auto& a) { a.items = ~uint64_t{0} - 3; }), -EFAULT);
    EXPECT_EQ(attempt([](auto& a) { a.count = 2; }, 1), -ENOENT) << "the second item does not exist";
    // A longer struct of a newer caller: accepted while the unknown part is zero.
    struct Longer {
        sidra_wait_item item;
        uint64_t more;
    } longer{items[0], 0};
    const auto with_longer = [&](auto& a) { a.items = reinterpret_cast<uintptr_t>(&longer), a.stride = sizeof longer; };
    EXPECT_EQ(attempt(with_longer), 0);
    longer.more = 1;
    EXPECT_EQ(attempt(with_longer), -E2BIG);
}

TEST(Wait, PollsAndTimesOut) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    const uint64_t value = s.queue->submit(sem_wait(buffer.va, 1));
    EXPECT_EQ(s.queue->wait(value, 0), -ETIMEDOUT);
    const uint64_t start = now_ns();
    EXPECT_EQ(s.queue->wait(value, in_ms(30)), -ETIMEDOUT);
    EXPECT_GE(now_ns() - start, 30'000'000u);
    __atomic_store_n(buffer.words(), 1, __ATOMIC_RELEASE);
    s.queue->kick();
    EXPECT_EQ(s.queue->wait(value), 0);
    EXPECT_EQ(s.queue->wait(value, 0), 0) << "already there";
}

TEST(Wait, AnyAndAll) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    Queue second(s.client, s.context, s.doorbells), third(s.client, s.context, s.doorbells);
    std::array<Queue*, 3> queues = {s.queue.get(), &second, &third};
    sidra_wait_item items[3];
    for (uint32_t i = 0; i < 3; i++) {
        buffer.words()[i] = 0;
        queues[i]->submit(sem_wait(buffer.va + 8 * i, 1));
        items[i] = {s.context, queues[i]->number, 1, queues[i]->epoch(), 0};
    }
    const auto wait = [&](uint32_t flags, uint64_t deadline, uint32_t* index) {
        sidra_ioctl_wait a{reinterpret_cast<uintptr_t>(items), 3, sizeof items[0], flags, 9, deadline};
        const int error = s.client.call(SIDRA_IOCTL_WAIT, a);
        *index = a.index;
        return error;
    };
    const auto release = [&](uint32_t i) {
        __atomic_store_n(&buffer.words()[i], 1, __ATOMIC_RELEASE);
        queues[i]->kick();
    };
    uint32_t index;
    EXPECT_EQ(wait(0, in_ms(10), &index), -ETIMEDOUT);
    std::thread helper([&] {
        sleep_ms(20);
        release(1);
    });
    EXPECT_EQ(wait(0, in_ms(kPatienceMs), &index), 0);
    helper.join();
    EXPECT_EQ(index, 1u);
    EXPECT_EQ(wait(SIDRA_WAIT_ALL, in_ms(10), &index), -ETIMEDOUT);
    release(0);
    std::thread last([&] {
        sleep_ms(20);
        release(2);
    });
    EXPECT_EQ(wait(SIDRA_WAIT_ALL, in_ms(kPatienceMs), &index), 0);
    last.join();
    // A failed wait names the failed packet.
    sidra_cmd bad = nop();
    bad.hdr.opcode = 99;
    queues[2]->submit(bad);
    items[2].value = 2;
    EXPECT_EQ(wait(SIDRA_WAIT_ALL, in_ms(kPatienceMs), &index), -EIO);
    EXPECT_EQ(index, 2u);
    EXPECT_EQ(wait(0, in_ms(kPatienceMs), &index), 0) << "any: another one is reached";
}

TEST(Wait, TimeoutNamesTheFirstThatIsNotReached) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    Queue second(s.client, s.context, s.doorbells), third(s.client, s.context, s.doorbells);
    ASSERT_EQ(s.queue->run(nop()), 0);
    second.submit(sem_wait(buffer.va, 1));
    third.submit(sem_wait(buffer.va, 1));
    sidra_wait_item items[3] = {{s.context, s.queue->number, 1, s.queue->epoch(), 0},
                                {s.context, second.number, 7, second.epoch(), 0},
                                {s.context, third.number, 1, third.epoch(), 0}};
    for (const uint64_t deadline : {uint64_t{0}, in_ms(5)}) {
        sidra_ioctl_wait a{reinterpret_cast<uintptr_t>(items), 3, sizeof items[0], SIDRA_WAIT_ALL, 9, deadline};
        EXPECT_EQ(s.client.call(SIDRA_IOCTL_WAIT, a), -ETIMEDOUT);
        EXPECT_EQ(a.index, 1u);
        EXPECT_EQ(s.client.detail, "queue " + std::to_string(second.number) + " is at timeline 0, not yet at 7");
    }
}

TEST(Wait, SleepersAreWokenByAnotherThread) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    std::vector<std::unique_ptr<Queue>> queues;
    for (int i = 0; i < 16; i++) queues.push_back(std::make_unique<Queue>(s.client, s.context, s.doorbells));
    std::atomic<int> done{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; i++)
        threads.emplace_back([&, i] {
            const uint64_t value = queues[static_cast<size_t>(i)]->submit(sem_wait(buffer.va, 1));
            const Queue& queue = *queues[static_cast<size_t>(i)];
            sidra_wait_item item{s.context, queue.number, value, queue.epoch(), 0};
            sidra_ioctl_wait a{reinterpret_cast<uintptr_t>(&item), 1, sizeof item, 0, 0, in_ms(kPatienceMs)};
            if (s.client->ioctl(SIDRA_IOCTL_WAIT, &a) == 0) done++;
        });
    sleep_ms(20);
    EXPECT_EQ(done.load(), 0);
    sidra_cmd signal = packet(SIDRA_CMD_SEM_SIGNAL);
    signal.sem.addr = buffer.va;
    signal.sem.value = 1;
    s.queue->submit(signal);  // without a waiter
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(done.load(), 16);
}

TEST(Wait, ABufferThatIsDestroyedEndsTheWaitForItsWord) {
    Bench s;
    auto buffer = std::make_unique<Buffer>(s.client, s.context, 4096);
    const uint64_t va = buffer->va;
    const uint64_t value = s.queue->submit(sem_wait(va, 1));
    EXPECT_EQ(s.queue->wait(value, in_ms(20)), -ETIMEDOUT);
    buffer.reset();
    Buffer next(s.client, s.context, 4096);
    EXPECT_NE(next.va, va) << "what is queued must not find another buffer at the address";
    __atomic_store_n(next.words(), 1, __ATOMIC_RELEASE);
    s.queue->kick();
    EXPECT_EQ(s.queue->wait(value), -EIO);
    EXPECT_EQ(s.queue->fault(), SIDRA_FAULT_TRANSLATION);
}

TEST(Wait, LostInterruptsCostLatencyOnly) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    ASSERT_EQ(s.client.knob("lose-msix", 1'000'000), 0);
    const uint64_t value = s.queue->submit(sem_wait(buffer.va, 1));
    Eventfd event;
    EXPECT_EQ(arm(s.client, *s.queue, value, event.fd), 0);
    std::thread waker([&] {
        sleep_ms(30);
        __atomic_store_n(buffer.words(), 1, __ATOMIC_RELEASE);
        s.queue->kick();
    });
    EXPECT_EQ(s.queue->wait(value), 0);
    waker.join();
    EXPECT_TRUE(event.signalled(static_cast<int>(kPatienceMs)));
}

TEST(Wait, SpuriousInterruptsDoNothing) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    const uint64_t value = s.queue->submit(sem_wait(buffer.va, 1));
    Eventfd event;
    ASSERT_EQ(arm(s.client, *s.queue, value, event.fd), 0);
    for (uint64_t vector = 0; vector < SIDRA_MSIX_VECTORS; vector++)
        EXPECT_EQ(s.client.knob("spurious-msix", vector), 0);
    EXPECT_FALSE(event.signalled(10));
    EXPECT_EQ(s.queue->wait(value, in_ms(5)), -ETIMEDOUT);
    __atomic_store_n(buffer.words(), 1, __ATOMIC_RELEASE);
    s.queue->kick();
    EXPECT_TRUE(event.signalled(static_cast<int>(kPatienceMs))) << "still armed";
}

TEST(Arm, RefusesBadRequests) {
    Bench s;
    Eventfd event;
    EXPECT_EQ(arm(s.client, *s.queue, 1, event.fd, 1), -EINVAL);
    EXPECT_EQ(arm(s.client, *s.queue, 1, -2), -EBADF);
    EXPECT_EQ(arm(s.client, *s.queue, 1, 999'999), -EBADF);
    const int file = open("/dev/null", O_RDWR | O_CLOEXEC);
    EXPECT_EQ(arm(s.client, *s.queue, 1, file), -EINVAL) << "not an eventfd";
    close(file);
    sidra_ioctl_arm a{s.context + 7, 0, 1, event.fd, 0, 1, 0};
    EXPECT_EQ(s.client.call(SIDRA_IOCTL_ARM, a), -ENOENT);
    a = {s.context, 99, 1, event.fd, 0, 1, 0};
    EXPECT_EQ(s.client.call(SIDRA_IOCTL_ARM, a), -ENOENT);
    a = {s.context, s.queue->number, 1, event.fd, 0, 0, 0};
    EXPECT_EQ(s.client.call(SIDRA_IOCTL_ARM, a), -EINVAL) << "no epoch";
    a = {s.context, s.queue->number, 1, event.fd, 0, s.queue->epoch(), 1};
    EXPECT_EQ(s.client.call(SIDRA_IOCTL_ARM, a), -EINVAL) << "pad";
    EXPECT_FALSE(event.signalled(0));
}

TEST(Arm, AFormerEpochIsDoneOrDropped) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    ASSERT_EQ(s.queue->run(nop()), 0);
    const uint64_t dropped = s.queue->submit(sem_wait(buffer.va, 1));
    const uint32_t former = s.queue->epoch();
    Eventfd before, done, never;
    ASSERT_EQ(arm(s.client, *s.queue, dropped, before.fd), 0);
    ASSERT_EQ(s.queue->reset(), 0);
    EXPECT_EQ(s.queue->retired, 1u);
    EXPECT_TRUE(before.signalled(0)) << "the reset wakes who waits";
    EXPECT_EQ(arm(s.client, *s.queue, 1, done.fd, 0, former), 0);
    EXPECT_TRUE(done.signalled(0));
    EXPECT_EQ(arm(s.client, *s.queue, dropped, never.fd, 0, former), -ECANCELED);
    EXPECT_EQ(arm(s.client, *s.queue, 1, never.fd, 0, ~0u), -ECANCELED) << "an epoch that never was";
    EXPECT_FALSE(never.signalled(0));
}

TEST(Wait, AFormerEpochIsDoneOrDropped) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    std::vector<uint32_t> epochs;
    for (unsigned i = 0; i <= SIDRA_QUEUE_EPOCHS_KEPT; ++i) {
        ASSERT_EQ(s.queue->run(nop()), 0);
        s.queue->submit(sem_wait(buffer.va, 1));
        epochs.push_back(s.queue->epoch());
        ASSERT_EQ(s.queue->reset(), 0);
        EXPECT_EQ(s.queue->retired, 2 * i + 1);
    }
    for (unsigned i = 1; i < epochs.size(); ++i) {
        EXPECT_EQ(s.queue->wait_epoch(epochs[i], 2 * i + 1, 0), 0) << "had retired";
        EXPECT_EQ(s.queue->wait_epoch(epochs[i], 2 * i + 2, in_ms(kPatienceMs)), -ECANCELED) << "was dropped";
    }
    EXPECT_EQ(s.queue->wait_epoch(epochs[0], 1, 0), -ECANCELED) << "too long ago to be known";
    EXPECT_EQ(s.queue->wait_epoch(0, 1, 0), -EINVAL);
    EXPECT_EQ(s.queue->wait_epoch(~0u, 1, 0), -ECANCELED);
}

TEST(Arm, ManyValuesOfAQueueEachOnceInOrder) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    std::array<Eventfd, 5> events;
    for (uint64_t i = 5; i-- > 0;) ASSERT_EQ(arm(s.client, *s.queue, i + 1, events[i].fd), 0);  // largest first
    for (uint64_t i = 0; i < 5; i++) s.queue->submit(sem_wait(buffer.va, i + 1));
    for (size_t i = 0; i < 5; i++) {
        EXPECT_FALSE(events[i].signalled(5));
        __atomic_store_n(buffer.words(), i + 1, __ATOMIC_RELEASE);
        s.queue->kick();
        EXPECT_TRUE(events[i].signalled(static_cast<int>(kPatienceMs))) << i;
        EXPECT_EQ(events[i].take(), 1u);
    }
    for (auto& event : events) EXPECT_FALSE(event.signalled(0)) << "one shot";
    Eventfd late;
    EXPECT_EQ(arm(s.client, *s.queue, 3, late.fd), 0);
    EXPECT_TRUE(late.signalled(0)) << "already reached: at once";
}

TEST(Arm, CancelAndClosedDescriptors) {
    Bench s;
    Buffer buffer(s.client, s.context, 4096);
    const uint64_t value = s.queue->submit(sem_wait(buffer.va, 1));
    Eventfd cancelled, kept;
    ASSERT_EQ(arm(s.client, *s.queue, value, cancelled.fd), 0);
    EXPECT_EQ(arm(s.client, *s.queue, value, -1), 0);
    ASSERT_EQ(arm(s.client, *s.queue, value, kept.fd), 0);
    {
        Eventfd closed;
        ASSERT_EQ(arm(s.client, *s.queue, value, closed.fd), 0);
    }
    Eventfd reused;  // has the closed one's number
    __atomic_store_n(buffer.words(), 1, __ATOMIC_RELEASE);
    s.queue->kick();
    EXPECT_TRUE(kept.signalled(static_cast<int>(kPatienceMs)));
    EXPECT_FALSE(cancelled.signalled(10));
    EXPECT_FALSE(reused.signalled(0));
}

TEST(Arm, StoppedQueueSignals) {
    Bench s;
    Eventfd fault, lost;
    ASSERT_EQ(arm(s.client, *s.queue, 10, fault.fd), 0);
    sidra_cmd bad = nop();
    bad.hdr.opcode = 99;
    s.queue->submit(bad);
    EXPECT_TRUE(fault.signalled(static_cast<int>(kPatienceMs)));
    Queue other(s.client, s.context, s.doorbells);
    ASSERT_EQ(arm(s.client, other, 10, lost.fd), 0);
    EXPECT_EQ(s.client.destroy_context(s.context), 0);
    EXPECT_TRUE(lost.signalled(0));
}

TEST(Arm, FullEventfdDoesNotBlockTheDevice) {
    Bench s;
    Eventfd full;
    const uint64_t most = ~uint64_t{0} - 1;
    ASSERT_EQ(write(full.fd, &most, sizeof most), static_cast<ssize_t>(sizeof most));
    ASSERT_EQ(arm(s.client, *s.queue, 1, full.fd), 0);
    EXPECT_EQ(s.queue->run(nop()), 0);
}

}  // namespace
}  // namespace sidra::test
