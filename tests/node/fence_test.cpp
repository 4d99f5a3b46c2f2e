// SPDX-License-Identifier: MIT
// Kernel queues and foreign fences: timeline syncobjs, sync_files, deadlines.
#include <sys/resource.h>

#include <optional>

#include "attributes.h"
#include "fences.h"

namespace sidra::test {
namespace {

class Fence : public NodeTest {};

// A sync_file that signals when the syncobj's point does: a kernel queue job that waits for it.
int submit_with_fence(const Queue& queue, const std::vector<sidra_cmd>& packets, uint64_t deadline = 0) {
    sidra_ioctl_submit a = queue.request(packets);
    a.flags = SIDRA_SUBMIT_OUT_FENCE;
    a.limit_ns = deadline;
    EXPECT_EQ(queue.node.call(SIDRA_IOCTL_SUBMIT, a), 0);
    EXPECT_GE(a.out_fence_fd, 0);
    return a.out_fence_fd;
}

TEST_F(Fence, OutPointsSignalInOrder) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    const uint32_t timeline = create_syncobj(node), binary = create_syncobj(node);
    for (uint64_t point = 1; point <= 50; point++) {
        sidra_syncobj_point out[2] = {{timeline, 0, point}, {binary, 0, 0}};
        const std::vector<sidra_cmd> packets = {nop(), nop()};
        sidra_ioctl_submit a = queue.request(packets);
        a.out_points = reinterpret_cast<uintptr_t>(out);
        a.out_count = 2;
        ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, a), 0);
        ASSERT_EQ(wait_point(node, timeline, point), 0) << point;
        EXPECT_GE(queue.timeline(), a.value);
    }
    drm_syncobj_wait wait{};
    wait.handles = reinterpret_cast<uintptr_t>(&binary);
    wait.timeout_nsec = static_cast<int64_t>(in_ms(kPatienceMs));
    wait.count_handles = 1;
    EXPECT_EQ(node.call(DRM_IOCTL_SYNCOBJ_WAIT, wait), 0);
}

TEST_F(Fence, InPointsHoldBackThisJobAndThoseBehindIt) {
    Node node;
    Context context(node);
    Queue first(context, SIDRA_QUEUE_KERNEL), second(context, SIDRA_QUEUE_KERNEL);
    Buffer buffer(context, 4096);
    const uint32_t gate = create_syncobj(node);
    // A fence that does not signal by itself. One of a job on a stalled chip would need a knob, so this uses a chain of
    // two queues.
    ASSERT_EQ(signal_point(node, gate, 1), 0);
    buffer.words[0] = 0x77;
    int previous = submit_with_fence(first, {copy(buffer.va + 8, buffer.va, 8)});
    for (uint64_t i = 1; i < 30; i++) {
        const Queue& queue = i % 2 ? second : first;
        const std::vector<sidra_cmd> packets = {copy(buffer.va + 8 * (i + 1), buffer.va + 8 * i, 8)};
        sidra_syncobj_point in{gate, 0, 1};
        sidra_ioctl_submit a = queue.request(packets);
        a.in_fence_fd = previous;
        a.in_points = reinterpret_cast<uintptr_t>(&in);
        a.in_count = 1;
        a.flags = SIDRA_SUBMIT_OUT_FENCE;
        ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, a), 0);
        close(previous);
        previous = a.out_fence_fd;
    }
    ASSERT_TRUE(signalled(previous));
    EXPECT_EQ(status(previous), 1);
    EXPECT_EQ(buffer.words[30], 0x77u) << "each waited for the one before on the other queue";
    close(previous);
}

// A job that has ended does not hold the one that it has waited for: otherwise closing the last fence would free all of
// them, one within the other, on the kernel's stack.
TEST_F(Fence, LongChainsOfJobsEnd) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    const std::vector<sidra_cmd> packets = {nop()};
    int previous = submit_with_fence(queue, packets);
    for (int i = 1; i <= 3000; i++) {
        sidra_ioctl_submit a = queue.request(packets);
        a.in_fence_fd = previous;
        a.flags = SIDRA_SUBMIT_OUT_FENCE;
        ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, a), 0) << i;
        close(previous);
        previous = a.out_fence_fd;
        if (i % 32 == 0) ASSERT_TRUE(signalled(previous)) << i;
    }
    close(previous);
    uint64_t value = 0;
    ASSERT_EQ(queue.submit(packets, &value), 0);
    EXPECT_EQ(queue.wait(value), 0);
}

TEST_F(Fence, FaultsAndResetsAreErrors) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    sidra_cmd bad = nop();
    bad.hdr.opcode = 99;
    const int good = submit_with_fence(queue, {nop()});
    const int fault = submit_with_fence(queue, {nop(), bad, nop()});
    ASSERT_TRUE(signalled(fault) && signalled(good));
    EXPECT_EQ(status(good), 1);
    EXPECT_EQ(status(fault), -EIO);
    EXPECT_EQ(queue.submit({nop()}), -EIO);
    ASSERT_EQ(queue.reset(), 0);
    const int again = submit_with_fence(queue, {nop()});
    ASSERT_TRUE(signalled(again));
    EXPECT_EQ(status(again), 1);
    // A job that waits for a failed fence does not run, and fails as well.
    Buffer buffer(context, 4096);
    const std::vector<sidra_cmd> packets = {copy(buffer.va, buffer.va + 8, 8)};
    buffer.words[1] = 5;
    sidra_ioctl_submit a = queue.request(packets);
    a.in_fence_fd = fault;
    a.flags = SIDRA_SUBMIT_OUT_FENCE;
    ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, a), 0);
    ASSERT_TRUE(signalled(a.out_fence_fd));
    EXPECT_EQ(status(a.out_fence_fd), -EIO);
    EXPECT_EQ(buffer.words[0], 0u);
    // It does not look retired to waiters of the timeline either: the queue has stopped in front of it.
    EXPECT_EQ(queue.wait_epoch(a.epoch, a.value), -EIO);
    EXPECT_EQ(queue.run_state(), SIDRA_QUEUE_FAULTED);
    EXPECT_LT(queue.timeline(), a.value);
    Queue user(context, SIDRA_QUEUE_USER);
    EXPECT_EQ(user.wait(user.push(queue.waited_for(a.value))), -EIO);
    EXPECT_EQ(user.state->fault.cause, SIDRA_FAULT_PRODUCER);
    EXPECT_EQ(user.state->fault.root_queue, queue.create.queue);
    ASSERT_EQ(queue.reset(), 0);
    EXPECT_EQ(queue.wait_epoch(a.epoch, a.value), -ECANCELED);
    for (int fd : {good, fault, again, a.out_fence_fd}) close(fd);
    // Nor does one that waits for a syncobj: its only fence (point 0), or a point of its timeline.
    Queue other(context, SIDRA_QUEUE_KERNEL);
    for (const uint64_t number : {0, 3}) {
        const sidra_syncobj_point point{create_syncobj(node), 0, number};
        const std::vector<sidra_cmd> faulty = {bad};
        sidra_ioctl_submit first = queue.request(faulty), second = other.request(packets);
        first.out_points = second.in_points = reinterpret_cast<uintptr_t>(&point);
        first.out_count = second.in_count = 1;
        second.flags = SIDRA_SUBMIT_OUT_FENCE;
        ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, first), 0);
        ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, second), 0);
        ASSERT_TRUE(signalled(second.out_fence_fd));
        EXPECT_EQ(status(second.out_fence_fd), -EIO) << number;
        EXPECT_EQ(buffer.words[0], 0u);
        close(second.out_fence_fd);
        ASSERT_EQ(queue.reset(), 0);
        ASSERT_EQ(other.reset(), 0);
    }
}

TEST_F(Fence, DeadlineEndsAStalledJob) {
    constexpr uint64_t kDeadlineNs = 300'000'000;
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    const auto device_ns = [&] {
        const auto clock = query_device<sidra_query_clock>(node, SIDRA_QUERY_CLOCK);
        return clock.device_ns;
    };
    ASSERT_TRUE(knob("stall", 1));
    const uint64_t before = device_ns();
    const int fence = submit_with_fence(queue, {nop()}, kDeadlineNs);
    const int behind = submit_with_fence(queue, {nop()});
    EXPECT_TRUE(signalled(fence));
    EXPECT_GE(device_ns() - before, kDeadlineNs) << "not before its time";
    EXPECT_EQ(status(fence), -ETIMEDOUT);
    EXPECT_TRUE(signalled(behind));
    EXPECT_TRUE(eventually([&] { return queue.run_state() == SIDRA_QUEUE_FAULTED; })) << "right after the fences";
    EXPECT_EQ(queue.state->fault.cause, SIDRA_FAULT_TIMEOUT);
    ASSERT_TRUE(knob("stall", 0));
    ASSERT_EQ(queue.reset(), 0);
    uint64_t value;
    ASSERT_EQ(queue.submit({nop()}, &value), 0);
    EXPECT_EQ(queue.wait(value), 0);
    close(fence);
    close(behind);
}

// Its time begins when the packets before it have retired, also those that are no job.
TEST_F(Fence, DeadlineDoesNotCountWhatComesBefore) {
    constexpr uint64_t kDeadlineNs = 100'000'000;
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    const auto device_ns = [&] { return query_device<sidra_query_clock>(node, SIDRA_QUERY_CLOCK).device_ns; };
    ASSERT_TRUE(knob("stall", 1));
    ASSERT_EQ(queue.submit({nop()}), 0);
    const uint64_t before = device_ns();
    const int fence = submit_with_fence(queue, {nop()}, kDeadlineNs);
    EXPECT_TRUE(eventually([&] { return device_ns() - before > 20 * kDeadlineNs; }));
    EXPECT_EQ(status(fence), 0);
    ASSERT_TRUE(knob("stall", 0));
    ASSERT_TRUE(signalled(fence));
    EXPECT_EQ(status(fence), 1);
    close(fence);
}

TEST_F(Fence, WhatComesBeforeAJobHasTheDriversLimit) {
    const Parameter impatient("job_timeout_ms", "300");
    ASSERT_TRUE(impatient.good);
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    ASSERT_TRUE(knob("stall", 1));
    ASSERT_EQ(queue.submit({nop()}), 0);
    const int fence = submit_with_fence(queue, {nop()});
    EXPECT_TRUE(signalled(fence));
    EXPECT_EQ(status(fence), -ETIMEDOUT);
    ASSERT_TRUE(knob("stall", 0));
    EXPECT_EQ(queue.reset(), 0);
    close(fence);
}

TEST_F(Fence, OutlivesItsQueueAndItsFile) {
    int fence = -1;
    {
        Node node;
        Context context(node);
        Queue queue(context, SIDRA_QUEUE_KERNEL);
        fence = submit_with_fence(queue, {nop()});
    }
    EXPECT_TRUE(signalled(fence));
    EXPECT_NE(status(fence), 0);
    close(fence);
}

// No descriptor is free while it lives.
class NoDescriptors {
   public:
    NoDescriptors() {
        EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &old_), 0);
        set(0);
    }
    ~NoDescriptors() { set(old_.rlim_cur); }
    NoDescriptors(const NoDescriptors&) = delete;
    NoDescriptors& operator=(const NoDescriptors&) = delete;

   private:
    void set(rlim_t soft) {
        const rlimit limit{soft, old_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    rlimit old_{};
};

// While an object exists the system has no file left for unprivileged processes.
class NoFiles {
   public:
    NoFiles() {
        std::ifstream(kPath) >> old_;
        EXPECT_TRUE(write_text(kPath, "0"));
        user_.emplace();
    }
    ~NoFiles() {
        user_.reset();
        EXPECT_TRUE(write_text(kPath, old_));
    }
    NoFiles(const NoFiles&) = delete;
    NoFiles& operator=(const NoFiles&) = delete;

   private:
    static constexpr const char* kPath = "/proc/sys/fs/file-max";
    std::string old_;
    std::optional<OrdinaryUser> user_;
};

// The fences of a job's waits are looked up first: each later error has to release them, signalled or not.
TEST_F(Fence, ARefusedJobReleasesTheFencesThatItWouldHaveWaitedFor) {
    Node node;
    Context context(node);
    Queue first(context, SIDRA_QUEUE_KERNEL), second(context, SIDRA_QUEUE_KERNEL);
    const uint32_t handle = create_syncobj(node);
    ASSERT_EQ(signal_point(node, handle, 1), 0);
    ASSERT_TRUE(knob("stall", 1));
    const int gate = submit_with_fence(first, {nop()});
    const sidra_syncobj_point in{handle, 0, 1}, good_out{handle, 0, 2}, bad_out{handle + 100, 0, 2};
    const std::vector<sidra_cmd> packets = {nop()}, too_many(65, nop());
    const auto attempt = [&](const std::vector<sidra_cmd>& these, uint64_t out_points, uint32_t flags) {
        sidra_ioctl_submit a = second.request(these);
        a.in_points = reinterpret_cast<uintptr_t>(&in);
        a.in_count = 1;
        a.in_fence_fd = gate;
        a.out_points = out_points;
        a.out_count = 1;
        a.flags = flags;
        const int error = node.call(SIDRA_IOCTL_SUBMIT, a);
        EXPECT_EQ(a.value, 0u);
        EXPECT_EQ(a.out_fence_fd, -1);
        return error;
    };
    const auto good = reinterpret_cast<uintptr_t>(&good_out);
    EXPECT_EQ(attempt(packets, reinterpret_cast<uintptr_t>(&bad_out), 0), -ENOENT);
    EXPECT_EQ(attempt(packets, 0, 0), -EFAULT);
    {
        const NoDescriptors none;
        EXPECT_EQ(attempt(packets, good, SIDRA_SUBMIT_OUT_FENCE), -EMFILE);
    }
    {
        const NoFiles none;
        EXPECT_EQ(attempt(packets, good, SIDRA_SUBMIT_OUT_FENCE), -ENOMEM);
    }
    EXPECT_EQ(attempt(too_many, good, SIDRA_SUBMIT_OUT_FENCE), -EINVAL) << "more than the ring holds";
    ASSERT_TRUE(knob("stall", 0));
    ASSERT_TRUE(signalled(gate));
    EXPECT_EQ(status(gate), 1);
    EXPECT_EQ(second.timeline(), 0u);
    const int after = submit_with_fence(second, packets);
    ASSERT_TRUE(signalled(after));
    EXPECT_EQ(status(after), 1);
    close(after);
    close(gate);
}

TEST_F(Fence, RefusesBadRequests) {
    Node node;
    Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    const std::vector<sidra_cmd> packets = {nop()};
    const uint32_t handle = create_syncobj(node);
    const auto attempt = [&](auto change) {
        sidra_ioctl_submit a = queue.request(packets);
        change(a);
        const int error = node.call(SIDRA_IOCTL_SUBMIT, a);
        EXPECT_EQ(a.value, 0u);
        EXPECT_EQ(a.out_fence_fd, -1);
        return error;
    };
    sidra_syncobj_point point{handle + 100, 0, 1};
    const auto in = [&](auto& a) { a.in_points = reinterpret_cast<uintptr_t>(&point), a.in_count = 1; };
    const auto out = [&](auto& a) { a.out_points = reinterpret_cast<uintptr_t>(&point), a.out_count = 1; };
    EXPECT_EQ(attempt(in), -ENOENT);
    EXPECT_EQ(attempt(out), -ENOENT);
    point = {handle, 1, 1};
    EXPECT_EQ(attempt(in), -EINVAL);
    EXPECT_EQ(attempt(out), -EINVAL);
    point = {handle, 0, 1};
    EXPECT_EQ(attempt(in), -EINVAL) << "nobody has promised to signal that";
    EXPECT_EQ(attempt([](auto& a) { a.in_count = 1; }), -EFAULT);
    EXPECT_EQ(attempt([](auto& a) { a.out_count = 65; }), -EINVAL);
    EXPECT_EQ(attempt([&](auto& a) { a.in_fence_fd = node.fd; }), -EINVAL) << "not a sync_file";
    EXPECT_EQ(attempt([](auto& a) { a.in_fence_fd = 9999; }), -EINVAL);
    EXPECT_EQ(queue.timeline(), 0u);
}

}  // namespace
}  // namespace sidra::test
