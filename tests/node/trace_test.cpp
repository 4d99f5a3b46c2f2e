// SPDX-License-Identifier: MIT
// The life of a job in the driver's tracepoints.
#include "trace.h"

namespace sidra::test {
namespace {

using Tracepoints = NodeTest;

TEST_F(Tracepoints, TheLifeOfAJob) {
    const Node node;
    const Context context(node);
    Queue queue(context, SIDRA_QUEUE_KERNEL);
    Trace trace;
    ASSERT_TRUE(trace.good);
    const int event = eventfd(0, EFD_CLOEXEC);
    sidra_ioctl_arm arm_it{context.handle, queue.create.queue, 3, event, 0, queue.epoch(), 0};
    ASSERT_EQ(node.call(SIDRA_IOCTL_ARM, arm_it), 0);
    const std::vector<sidra_cmd> packets(3, nop());
    sidra_ioctl_submit submit = queue.request(packets);
    submit.flags = SIDRA_SUBMIT_OUT_FENCE;
    ASSERT_EQ(node.call(SIDRA_IOCTL_SUBMIT, submit), 0);
    pollfd fence{submit.out_fence_fd, POLLIN, 0};
    ASSERT_EQ(poll(&fence, 1, static_cast<int>(kPatienceMs)), 1);
    ASSERT_EQ(queue.wait(3), 0);
    ASSERT_EQ(queue.wait(4, in_ms(1)), -ETIMEDOUT);
    const std::string events = Trace::events(), job = "context=0 queue=0 value=3";
    const size_t doorbell = Trace::at(events, "sidra_doorbell", job), arm = Trace::at(events, "sidra_arm", job);
    const size_t signalled = Trace::at(events, "sidra_fence", job + " result=0");
    EXPECT_LT(Trace::at(events, "sidra_submit", job + " count=3"), doorbell);
    EXPECT_LT(arm, doorbell) << "an eventfd waits already";
    EXPECT_LT(doorbell, signalled);
    EXPECT_LT(doorbell, Trace::at(events, "sidra_reached", job));
    EXPECT_LT(Trace::at(events, "sidra_wait", job), Trace::at(events, "sidra_wait_end", job + " result=0"));
    Trace::at(events, "sidra_wait_end", "context=0 queue=0 value=4 result=" + std::to_string(-ETIMEDOUT));
    close(submit.out_fence_fd);
    close(event);
}

}  // namespace
}  // namespace sidra::test
