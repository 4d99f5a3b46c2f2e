// SPDX-License-Identifier: MIT
// Kernel queues: the driver owns the ring, and packets arrive by SUBMIT.
#include "fixture.h"
#include "sidra_chip.h"

namespace sidra::test {
namespace {

struct KernelQueue {
    explicit KernelQueue(uint32_t log2 = 6) {
        context = client.create_context();
        sidra_ioctl_queue_create a{};
        a.context = context;
        a.kind = SIDRA_QUEUE_KERNEL;
        a.ring_log2 = log2;
        EXPECT_EQ(client.call(SIDRA_IOCTL_QUEUE_CREATE, a), 0) << client.detail;
        EXPECT_EQ(a.ring_offset, 0u);
        EXPECT_EQ(a.ring_size, 0u);
        number = a.queue;
    }
    sidra_ioctl_submit request(const std::vector<sidra_cmd>& packets) const {
        sidra_ioctl_submit a{};
        a.context = context;
        a.queue = number;
        a.packets = reinterpret_cast<uintptr_t>(packets.data());
        a.count = static_cast<uint32_t>(packets.size());
        a.packet_stride = SIDRA_CMD_SIZE;
        a.in_fence_fd = a.out_fence_fd = -1;
        return a;
    }
    int submit(const std::vector<sidra_cmd>& packets, uint64_t* value = nullptr) {
        sidra_ioctl_submit a = request(packets);
        const int error = client.call(SIDRA_IOCTL_SUBMIT, a);
        if (value) *value = a.value;
        if (error == 0) epoch = a.epoch;
        return error;
    }
    int wait(uint64_t value, uint64_t deadline = in_ms(kPatienceMs)) {
        sidra_wait_item item{context, number, value, epoch, 0};
        sidra_ioctl_wait a{reinterpret_cast<uintptr_t>(&item), 1, sizeof item, 0, 0, deadline};
        return client.call(SIDRA_IOCTL_WAIT, a);
    }
    Client client;
    uint32_t context, number, epoch = 1;
};

TEST(Submit, RunsPackets) {
    KernelQueue q;
    Buffer buffer(q.client, q.context, 4096);
    buffer.words()[1] = 0xfeed;
    uint64_t value = 0;
    for (uint64_t i = 0; i < 100; i++) {
        ASSERT_EQ(q.submit({copy(buffer.va + 16, buffer.va + 8, 8), copy(buffer.va + 24, buffer.va + 16, 8)}, &value),
                  0)
            << q.client.detail;
        EXPECT_EQ(value, 2 * i + 2);
        ASSERT_EQ(q.wait(value), 0);
    }
    EXPECT_EQ(buffer.words()[3], 0xfeedu);
}

TEST(Submit, RefusesBadRequests) {
    KernelQueue q;
    const std::vector<sidra_cmd> one = {nop()};
    const auto attempt = [&](auto change) {
        sidra_ioctl_submit a = q.request(one);
        change(a);
        const int error = q.client.call(SIDRA_IOCTL_SUBMIT, a);
        EXPECT_EQ(a.value, error == 0 ? 1u : 0u);
        EXPECT_EQ(a.out_fence_fd, -1);
        return error;
    };
    EXPECT_EQ(attempt([](auto& a) { a.count = 0; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.count = 4097; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.flags = 2; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.packet_stride = 128; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.point_stride = 8; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.reserved[1] = 1; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.packets = 8; }), -EFAULT);
    EXPECT_EQ(attempt([](auto& a) { a.context += 3; }), -ENOENT);
    EXPECT_EQ(attempt([](auto& a) { a.queue += 3; }), -ENOENT);
    EXPECT_EQ(attempt([](auto& a) { a.out_fence_fd = 0; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.in_points = 64; }), -EINVAL);
    EXPECT_EQ(attempt([](auto& a) { a.in_count = 1; }), -EOPNOTSUPP);
    EXPECT_NE(q.client.detail.find("syncobj"), std::string::npos);
    EXPECT_EQ(attempt([](auto& a) { a.out_count = 1; }), -EOPNOTSUPP);
    EXPECT_EQ(attempt([](auto& a) { a.in_fence_fd = 3; }), -EOPNOTSUPP);
    EXPECT_EQ(attempt([](auto& a) { a.flags = SIDRA_SUBMIT_OUT_FENCE; }), -EOPNOTSUPP);
    EXPECT_EQ(q.submit({nop(), sem_wait(0x200000, 1)}), -EINVAL);
    EXPECT_EQ(q.submit({packet(SIDRA_CMD_SEM_SIGNAL)}), -EINVAL);
    EXPECT_EQ(q.submit(std::vector<sidra_cmd>(65, nop())), -EINVAL) << "more than the ring holds";
    EXPECT_EQ(attempt([](auto&) {}), 0) << "and nothing of it was submitted";
}

TEST(Submit, FullRingIsBusyAndNothingHappens) {
    KernelQueue q;
    ASSERT_EQ(q.client.knob("stall", 1), 0);
    ASSERT_EQ(q.submit(std::vector<sidra_cmd>(60, nop())), 0);
    EXPECT_EQ(q.submit(std::vector<sidra_cmd>(5, nop())), -EBUSY);
    uint64_t value;
    EXPECT_EQ(q.submit(std::vector<sidra_cmd>(4, nop()), &value), 0);
    EXPECT_EQ(value, 64u);
    EXPECT_EQ(q.submit({nop()}), -EBUSY);
    ASSERT_EQ(q.client.knob("stall", 0), 0);
    EXPECT_EQ(q.wait(64), 0);
}

// The timeline is the chip's word: the ring does not run over for one that cannot be, and after a reset all is well.
TEST(Submit, ATimelineThatCannotBeLeavesNoRoom) {
    for (const uint64_t lie : {SIDRA_LIE_TIMELINE_AHEAD, SIDRA_LIE_TIMELINE_BACK}) {
        KernelQueue q;
        for (uint64_t value = 1; value <= 100; value++) {
            ASSERT_EQ(q.submit({nop()}), 0);
            ASSERT_EQ(q.wait(value), 0);
        }
        ASSERT_EQ(q.client.knob("lie", lie), 0);
        ASSERT_EQ(q.submit({nop()}), 0);
        if (lie == SIDRA_LIE_TIMELINE_AHEAD) EXPECT_EQ(q.wait(101), 0);
        else EXPECT_EQ(q.wait(101, in_ms(1000)), -ETIMEDOUT);
        EXPECT_EQ(q.submit({nop()}), -EBUSY);
        sidra_ioctl_queue_reset reset{q.context, q.number, 0, 0, 0};
        ASSERT_EQ(q.client.call(SIDRA_IOCTL_QUEUE_RESET, reset), 0);
        uint64_t value = 0;
        ASSERT_EQ(q.submit({nop()}, &value), 0);
        EXPECT_EQ(value, 102u);
        EXPECT_EQ(q.wait(value), 0);
    }
}

TEST(Submit, UserQueuesDoNotTakeIt) {
    Bench s;
    const sidra_cmd cmd = nop();
    sidra_ioctl_submit a{};
    a.context = s.context;
    a.queue = s.queue->number;
    a.packets = reinterpret_cast<uintptr_t>(&cmd);
    a.count = 1;
    a.packet_stride = SIDRA_CMD_SIZE;
    a.in_fence_fd = a.out_fence_fd = -1;
    EXPECT_EQ(s.client.call(SIDRA_IOCTL_SUBMIT, a), -EINVAL);
}

TEST(Submit, WhatAResetDropsIsOfAnEpochThatEnded) {
    KernelQueue q;
    sidra_cmd bad = nop();
    bad.hdr.opcode = 77;
    uint64_t value;
    ASSERT_EQ(q.submit({nop(), bad, nop()}, &value), 0);
    EXPECT_EQ(q.wait(value), -EIO);
    const uint32_t former = q.epoch;
    sidra_ioctl_queue_reset reset{q.context, q.number, 0, 0, 0};
    ASSERT_EQ(q.client.call(SIDRA_IOCTL_QUEUE_RESET, reset), 0);
    EXPECT_EQ(reset.retired, 1u);
    EXPECT_NE(reset.epoch, former);
    EXPECT_EQ(q.wait(value), -ECANCELED);
    EXPECT_EQ(q.wait(1), 0) << "had retired";
    ASSERT_EQ(q.submit({nop()}, &value), 0);
    EXPECT_EQ(q.epoch, reset.epoch);
    EXPECT_EQ(q.wait(value), 0);
    q.epoch = former;
    EXPECT_EQ(q.wait(3), -ECANCELED);
}

TEST(Submit, FaultedQueueSaysSoUntilReset) {
    KernelQueue q;
    sidra_cmd bad = nop();
    bad.hdr.opcode = 77;
    uint64_t value;
    ASSERT_EQ(q.submit({bad, nop(), nop()}, &value), 0);
    EXPECT_EQ(q.wait(value), -EIO);
    EXPECT_EQ(q.submit({nop()}), -EIO);
    sidra_ioctl_queue_reset name{q.context, q.number, 0, 0, 0};
    ASSERT_EQ(q.client.call(SIDRA_IOCTL_QUEUE_RESET, name), 0);
    ASSERT_EQ(q.submit({nop()}, &value), 0);
    EXPECT_EQ(value, 4u);
    EXPECT_EQ(q.wait(value), 0);
    EXPECT_EQ(
        q.client->map((uint64_t{1u << 31 | 1u << 29 | q.context << 8 | q.number}) << SIDRA_PAGE_SHIFT, 4096, false),
        nullptr)
        << "the ring is the driver's";
}

}  // namespace
}  // namespace sidra::test
