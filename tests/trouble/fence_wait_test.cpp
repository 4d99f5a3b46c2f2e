// SPDX-License-Identifier: MIT
// Waiters for a fence are woken by everything that ends its job, and by nothing else.
#include "fence_waiters.h"

namespace sidra::test {
namespace {

struct End {
    const char* name;
    bool (*comes)(const Queue& queue);
};
void PrintTo(const End& end, std::ostream* out) { *out << end.name; }

const End kEnds[] = {
    {"QueueReset", [](const Queue& queue) { return queue.reset() == 0; }},
    {"QueueDestroy",
     [](const Queue& queue) {
         sidra_ioctl_queue a{queue.context.handle, queue.create.queue, 0, 0};
         return queue.node.call(SIDRA_IOCTL_QUEUE_DESTROY, a) == 0;
     }},
    {"ContextDestroy",
     [](const Queue& queue) {
         sidra_ioctl_context a{queue.context.handle, 0};
         return queue.node.call(SIDRA_IOCTL_CONTEXT_DESTROY, a) == 0;
     }},
    {"DeviceReset",
     [](const Queue& queue) {
         sidra_ioctl_device_reset a{};
         return queue.node.call(SIDRA_IOCTL_DEVICE_RESET, a) == 0;
     }},
    {"FunctionReset", [](const Queue&) { return write_text("/sys/bus/pci/devices/" + Card().name() + "/reset", "1"); }},
};

class FenceWait : public NodeTest, public testing::WithParamInterface<End> {};

TEST_P(FenceWait, EndsWithTheJob) {
    const Node node;
    const Context context(node);
    FenceWaiters waiters(context);
    EXPECT_TRUE(GetParam().comes(waiters.queue()));
    ASSERT_TRUE(knob("stall", 0));
    waiters.expect_job_ended();
    waiters.expect_others_wait(-EINTR);
}

std::string name_of(const testing::TestParamInfo<End>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(By, FenceWait, testing::ValuesIn(kEnds), name_of);

}  // namespace
}  // namespace sidra::test
