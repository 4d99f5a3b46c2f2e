// SPDX-License-Identifier: MIT
// Notifications of one point: the descriptor of a stream, and the thread of the callbacks.
#include "fake_fixture.h"
#include "patience.h"

namespace sidra::test {
namespace {

using Notify = FakeTest;

// What disarms the descriptor disarms the thread, too, because both wait for one value of the queue.
TEST_F(Notify, ADescriptorThatIsArmedAnewLeavesTheCallbacksArmed) {
    fake->set_automatic(false);
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_stream_add_callback(
        stream, [](sidra_status, void*) {}, nullptr));
    EXPECT_TRUE(eventually([&] { return fake->requests(SIDRA_IOCTL_ARM) == 1; }));
    int fd = -1;
    ASSERT_OK(sidra_stream_get_fd(stream, &fd));
    EXPECT_EQ(2u, fake->requests(SIDRA_IOCTL_ARM));
    ASSERT_OK(sidra_nop_async(stream));
    ASSERT_OK(sidra_stream_get_fd(stream, &fd));
    EXPECT_TRUE(eventually([&] { return fake->requests(SIDRA_IOCTL_ARM) == 5; }))
        << "disarmed, armed for the later value, and the thread again for its own";
    fake->retire(0, 2);
}

}  // namespace
}  // namespace sidra::test
