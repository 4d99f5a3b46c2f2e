// SPDX-License-Identifier: MIT
// Points of a timeline, {epoch, value}: work that retired before a reset stays retired, and dropped work never looks
// retired.
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <vector>

#include "node.h"
#include "ring.h"

namespace sidra::test {
namespace {

using NodeEpoch = NodeTest;

int arm(const Queue& queue, uint32_t epoch, uint64_t value, int event) {
    sidra_ioctl_arm a{queue.context.handle, queue.create.queue, value, event, 0, epoch, 0};
    return queue.node.call(SIDRA_IOCTL_ARM, a);
}

int wait_by_uring(Ring& ring, const Queue& queue, uint32_t epoch, uint64_t value) {
    ring.add(queue.node.fd, SIDRA_URING_WAIT_VALUE, queue, value, 1)->len = epoch;
    return ring.reap(1).at(1);
}

TEST_F(NodeEpoch, WhatAResetDropsNeverLooksRetired) {
    for (const uint32_t kind : {SIDRA_QUEUE_USER, SIDRA_QUEUE_KERNEL}) {
        Node node;
        Context context(node);
        Queue queue(context, kind), other(context, SIDRA_QUEUE_USER);
        Ring ring;
        const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        const sidra_cmd bad = packet(SIDRA_CMD_INVALID);
        uint32_t epoch = queue.epoch();
        if (kind == SIDRA_QUEUE_USER) {
            for (const sidra_cmd& cmd : {nop(), bad, nop()}) queue.push(cmd);
        } else {
            const std::vector<sidra_cmd> packets = {nop(), bad, nop()};
            sidra_ioctl_submit a = queue.request(packets);
            ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, a), 0);
            EXPECT_EQ(a.epoch, epoch);
            EXPECT_EQ(a.value, 3u);
        }
        EXPECT_EQ(queue.wait(3), -EIO) << "stopped";
        const sidra_cmd done = queue.waited_for(1), dropped = queue.waited_for(3);
        uint64_t retired = 0;
        ASSERT_EQ(queue.reset(&retired), 0);
        EXPECT_EQ(retired, 1u);
        EXPECT_NE(queue.epoch(), epoch);
        EXPECT_EQ(queue.timeline(), 3u);
        EXPECT_EQ(queue.wait_epoch(epoch, 1), 0);
        EXPECT_EQ(queue.wait_epoch(epoch, 2), -ECANCELED);
        EXPECT_EQ(queue.wait_epoch(epoch, 3), -ECANCELED);
        EXPECT_EQ(queue.wait_epoch(epoch, 4), -ECANCELED) << "nor what was never queued";
        EXPECT_EQ(queue.wait_epoch(0, 1), -EINVAL);
        EXPECT_EQ(queue.wait_epoch(~0u, 1), -ECANCELED);
        EXPECT_EQ(wait_by_uring(ring, queue, epoch, 1), 0);
        EXPECT_EQ(wait_by_uring(ring, queue, epoch, 3), -ECANCELED);
        EXPECT_EQ(wait_by_uring(ring, queue, 0, 3), -EINVAL);
        EXPECT_EQ(arm(queue, epoch, 3, event), -ECANCELED);
        EXPECT_EQ(arm(queue, 0, 3, event), -EINVAL);
        uint64_t count = 0;
        EXPECT_EQ(read(event, &count, sizeof count), -1);
        EXPECT_EQ(arm(queue, epoch, 1, event), 0);
        EXPECT_EQ(read(event, &count, sizeof count), static_cast<ssize_t>(sizeof count));
        EXPECT_EQ(other.wait(other.push(done)), 0);
        EXPECT_EQ(other.wait(other.push(dropped)), -EIO);
        EXPECT_EQ(other.state->fault.cause, SIDRA_FAULT_PRODUCER);
        EXPECT_EQ(other.state->fault.root_queue, queue.create.queue);
        EXPECT_EQ(other.state->fault.root_epoch, epoch);
        EXPECT_EQ(other.state->fault.root_sequence, 1u);
        EXPECT_EQ(other.state->fault.root_cause, SIDRA_FAULT_OPCODE);
        close(event);
    }
}

TEST_F(NodeEpoch, WhoWaitsIsToldOfTheReset) {
    Node node;
    Context context(node);
    Buffer buffer(context, 4096);
    Queue queue(context, SIDRA_QUEUE_USER), other(context, SIDRA_QUEUE_USER);
    const uint32_t epoch = queue.epoch();
    queue.push(nop());
    queue.push(sem_wait(buffer.va, 1));
    const int event = eventfd(0, EFD_CLOEXEC);
    ASSERT_EQ(arm(queue, epoch, 2, event), 0);
    Ring ring;
    ring.add(node.fd, SIDRA_URING_WAIT_VALUE, queue, 2, 1)->len = epoch;
    ASSERT_EQ(ring.enter(), 1);
    const uint64_t dependent = other.push(queue.waited_for(2));
    ASSERT_EQ(queue.reset(), 0);
    pollfd fired{event, POLLIN, 0};
    EXPECT_EQ(poll(&fired, 1, static_cast<int>(kPatienceMs)), 1);
    EXPECT_EQ(ring.reap(1).at(1), -ECANCELED);
    EXPECT_EQ(other.wait(dependent), -EIO);
    EXPECT_EQ(other.state->fault.cause, SIDRA_FAULT_PRODUCER);
    EXPECT_EQ(other.state->fault.root_cause, SIDRA_FAULT_RESET);
    close(event);
}

TEST_F(NodeEpoch, AQueueThatIsDestroyedEndsItsEpoch) {
    Node node;
    Context context(node);
    Queue other(context, SIDRA_QUEUE_USER);
    sidra_cmd done, dropped;
    uint32_t epoch;
    {
        Queue queue(context, SIDRA_QUEUE_USER);
        epoch = queue.epoch();
        EXPECT_EQ(queue.wait(queue.push(nop())), 0);
        done = queue.waited_for(1);
        dropped = queue.waited_for(2);
        sidra_ioctl_queue destroy{context.handle, queue.create.queue, 0, 0};
        ASSERT_EQ(node.call(SIDRA_IOCTL_QUEUE_DESTROY, destroy), 0);
        EXPECT_EQ(queue.wait_epoch(epoch, 1, 0), -ENOENT);
    }
    Queue next(context, SIDRA_QUEUE_USER);
    ASSERT_EQ(next.create.queue, 1u) << "this is about a number that is used again";
    EXPECT_NE(next.epoch(), epoch);
    EXPECT_EQ(next.wait_epoch(epoch, 1), -ECANCELED) << "not known to be another one's";
    EXPECT_EQ(other.wait(other.push(done)), 0);
    EXPECT_EQ(other.wait(other.push(dropped)), -EIO);
    EXPECT_EQ(other.state->fault.cause, SIDRA_FAULT_PRODUCER);
}

}  // namespace
}  // namespace sidra::test
