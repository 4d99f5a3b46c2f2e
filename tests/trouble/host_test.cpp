// SPDX-License-Identifier: MIT
// The machine is paused, migrates to another QEMU, or is restored from an image, with the card.
#include "world.h"

namespace sidra::test {
namespace {

class Host : public NodeTest, public testing::WithParamInterface<const char*> {};

TEST_P(Host, TheWorldGoesOn) {
    // Measured in device time: a paused machine is not a hang.
    const Parameter impatient("queue_timeout_ms", "1000");
    Products products;
    for (int round = 0; round < rounds(1, 5); round++) {
        Sleepers sleepers(products.context);
        Queue busy(products.context, SIDRA_QUEUE_USER, 10), kernel(products.context, SIDRA_QUEUE_KERNEL, 10);
        const uint64_t count = 1000;  // longer than any action of the host takes
        const sidra_cmd packet = products.product(1), kernel_packet = products.product(2);
        ASSERT_TRUE(knob("slow-tile-ns", 20'000'000));
        {
            const Multiplier multiplier(products);
            const uint64_t answers = products.answers;
            ASSERT_TRUE(eventually([&] { return products.answers > answers; }));
            while (busy.next < count) busy.push(packet);
            ASSERT_EQ(kernel.submit(std::vector<sidra_cmd>(count, kernel_packet)), 0);
            ASSERT_TRUE(eventually([&] { return busy.timeline() > 0 && kernel.timeline() > 0; }));
            EXPECT_LT(busy.timeline(), count);
            ASSERT_TRUE(ask_host(GetParam()));
            ASSERT_TRUE(knob("slow-tile-ns", 0));
            const uint64_t awake = products.answers;
            ASSERT_TRUE(eventually([&] { return products.answers > awake + 1; }));
        }
        EXPECT_EQ(busy.wait(count), 0);
        EXPECT_EQ(kernel.wait(count), 0);
        EXPECT_TRUE(products.right(1));
        EXPECT_TRUE(products.right(2));
        sleepers.wake();
        EXPECT_EQ(state_of(products.context), SIDRA_CONTEXT_OK);
        ASSERT_FALSE(HasFailure());
    }
}

std::string name_of(const testing::TestParamInfo<const char*>& info) {
    std::string name = info.param;
    name = name.substr(0, name.find(' '));
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
    return name;
}
INSTANTIATE_TEST_SUITE_P(Machine, Host, testing::Values("stop 3", "migrate", "snapshot"), name_of);

}  // namespace
}  // namespace sidra::test
