// SPDX-License-Identifier: MIT
// A queue that has work but makes no progress is stopped, and the chip remains usable.
#include "watchdog.h"

#include <gtest/gtest.h>

#include "impatient.h"

namespace sidra::test {
namespace {

using embedded::QueueWatch;
using Verdict = QueueWatch::Verdict;

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kLimit = 10'000 * kMs;

TEST(Watch, CountsTimeWithoutProgress) {
    QueueWatch watch;
    uint64_t now = 1'000'000 * kMs;
    EXPECT_EQ(watch.look({true, 7}, now, kLimit), Verdict::kFine) << "the first look";
    EXPECT_EQ(watch.look({true, 7}, now += 100 * kMs, kLimit), Verdict::kFine);
    EXPECT_EQ(watch.look({true, 7}, now += 100 * kMs, kLimit), Verdict::kSuspicious);
    for (uint64_t stood = 0; stood < kLimit; stood += 100 * kMs)
        ASSERT_EQ(watch.look({true, 7}, now += 100 * kMs, kLimit), Verdict::kFine) << stood;
    EXPECT_EQ(watch.look({true, 7}, now += 100 * kMs, kLimit), Verdict::kHung);
}

TEST(Watch, ARestartBeginsAnewWhateverTheProgress) {
    QueueWatch watch;
    uint64_t now = 0;
    const auto look = [&] { return watch.look({true, 0}, now += 500 * kMs, kLimit); };
    for (int round = 0; round < 3; round++) {
        EXPECT_EQ(look(), Verdict::kFine);
        EXPECT_EQ(look(), Verdict::kSuspicious);
        for (uint64_t stood = 0; stood + 500 * kMs <= kLimit; stood += 500 * kMs) ASSERT_EQ(look(), Verdict::kFine);
        watch.restart();
    }
}

TEST(Watch, ProgressAndWaitingBeginAnew) {
    QueueWatch watch;
    uint64_t now = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        ASSERT_EQ(watch.look({true, i / 3}, now += 1000 * kMs, kLimit) == Verdict::kHung, false)
            << "slow, but not still";
        ASSERT_NE(watch.look({i % 3 != 0, 1000}, now += 1000 * kMs, kLimit), Verdict::kHung) << "waits now and then";
    }
    for (int i = 0; i < 1000; i++) ASSERT_EQ(watch.look({false, 5}, now += 1000 * kMs, kLimit), Verdict::kFine);
}

TEST(Watch, TimeInWhichTheProcessStoodStillDoesNotCount) {
    QueueWatch watch;
    uint64_t now = 0;
    for (int i = 0; i < 3; i++) watch.look({true, 0}, now += 100 * kMs, kLimit);
    EXPECT_EQ(watch.look({true, 0}, now += 3'600'000 * kMs, kLimit), Verdict::kFine) << "an hour in a debugger";
    EXPECT_EQ(watch.look({true, 0}, now += 100 * kMs, kLimit), Verdict::kFine);
}

// A kernel queue of a chip whose driver waits half a second for progress.
struct Watched : Impatient {
    Watched() {
        sidra_ioctl_vm_create vm{};
        EXPECT_EQ(call(SIDRA_IOCTL_VM_CREATE, vm), 0) << detail;
        context.vm = vm.vm;
        EXPECT_EQ(call(SIDRA_IOCTL_CONTEXT_CREATE, context), 0) << detail;
        queue.context = context.context;
        queue.kind = SIDRA_QUEUE_KERNEL;
        queue.ring_log2 = 6;
        EXPECT_EQ(call(SIDRA_IOCTL_QUEUE_CREATE, queue), 0) << detail;
    }
    // Submits a no-op and waits for it.
    int run() {
        const sidra_cmd cmd = nop();
        sidra_ioctl_submit submit{};
        submit.context = context.context;
        submit.queue = queue.queue;
        submit.packets = reinterpret_cast<uintptr_t>(&cmd);
        submit.count = 1;
        submit.packet_stride = SIDRA_CMD_SIZE;
        submit.in_fence_fd = submit.out_fence_fd = -1;
        if (const int error = call(SIDRA_IOCTL_SUBMIT, submit)) return error;
        sidra_wait_item item{};
        item.context = context.context;
        item.queue = queue.queue;
        item.value = submit.value;
        item.epoch = submit.epoch;
        sidra_ioctl_wait wait{};
        wait.items = reinterpret_cast<uintptr_t>(&item);
        wait.count = 1;
        wait.stride = sizeof item;
        wait.deadline = in_ms(kPatienceMs);
        return call(SIDRA_IOCTL_WAIT, wait);
    }
    sidra_ioctl_queue_query query() {
        sidra_ioctl_queue_query seen{};
        seen.context = context.context;
        seen.queue = queue.queue;
        EXPECT_EQ(call(SIDRA_IOCTL_QUEUE_QUERY, seen), 0) << detail;
        return seen;
    }
    int reset() {
        sidra_ioctl_queue_reset which{};
        which.context = context.context;
        which.queue = queue.queue;
        return call(SIDRA_IOCTL_QUEUE_RESET, which);
    }
    uint32_t context_state() {
        sidra_ioctl_context_query seen{};
        seen.context = context.context;
        EXPECT_EQ(call(SIDRA_IOCTL_CONTEXT_QUERY, seen), 0) << detail;
        return seen.state;
    }
    void knob(sidra_chip_knob which, uint64_t value) { ASSERT_TRUE(sidra_chip_set_knob(host->chip(), which, value)); }

    sidra_ioctl_context_create context{};
    sidra_ioctl_queue_create queue{};
};

TEST(Watchdog, StopsAQueueOfEnginesThatStandStill) {
    Watched s;
    ASSERT_EQ(s.run(), 0) << s.detail;
    s.knob(SIDRA_KNOB_STALL, 1);
    EXPECT_EQ(s.run(), -EIO) << s.detail;
    EXPECT_EQ(s.query().run_state, uint32_t{SIDRA_QUEUE_FAULTED});
    EXPECT_EQ(s.query().fault.cause, uint32_t{SIDRA_FAULT_TIMEOUT});
    EXPECT_EQ(s.query().fault.sequence, 1u) << "the packet that it stood in front of";
    EXPECT_EQ(s.context_state(), uint32_t{SIDRA_CONTEXT_OK}) << "the queue alone";
    s.knob(SIDRA_KNOB_STALL, 0);
    EXPECT_EQ(s.reset(), 0) << s.detail;
    EXPECT_EQ(s.run(), 0) << s.detail;
}

TEST(Watchdog, ResetsTheContextOrTheDeviceIfTheQueueDoesNotStop) {
    for (const uint64_t deaf : {2, 3}) {  // to RESET_QUEUE; also to RESET_CONTEXT
        Watched s;
        s.knob(SIDRA_KNOB_NO_QUIESCE_ACK, deaf);
        s.knob(SIDRA_KNOB_STALL, 1);
        const int error = s.run();
        EXPECT_TRUE(error == -EIO || error == -ESTALE) << error << ": " << s.detail;
        EXPECT_EQ(s.context_state(), uint32_t{SIDRA_CONTEXT_LOST});
        s.knob(SIDRA_KNOB_NO_QUIESCE_ACK, 0);
        s.knob(SIDRA_KNOB_STALL, 0);
    }
}

TEST(Watchdog, GetsAQueueGoingAfterALostReadOfItsRing) {
    for (uint64_t nth = 1; nth <= 8; nth++) {  // the n-th translation from now on fails
        Watched s;
        s.knob(SIDRA_KNOB_DMA_ERROR_AT, nth);
        const int error = s.run();
        EXPECT_TRUE(error == 0 || error == -EIO) << nth << ": " << error << ": " << s.detail;
        // The n-th access may come after the packet's last one, and stop the queue behind it.
        s.knob(SIDRA_KNOB_DMA_ERROR_AT, 0);
        if (s.query().run_state == SIDRA_QUEUE_FAULTED || s.run() != 0) {
            EXPECT_EQ(s.reset(), 0) << nth << ": " << s.detail;
            EXPECT_EQ(s.run(), 0) << nth << ": " << s.detail;
        }
    }
}

}  // namespace
}  // namespace sidra::test
