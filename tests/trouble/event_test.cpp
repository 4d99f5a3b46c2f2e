// SPDX-License-Identifier: MIT
// The uevents of resets.
#include "attributes.h"
#include "dumps.h"
#include "uevents.h"

namespace sidra::test {
namespace {

class Events : public NodeTest {
   protected:
    const Card card;
    Uevents uevents;

    void TearDown() override { Dumps(card.name()).release_all(); }
    static std::string cause(int number) { return "SIDRA_CAUSE=" + std::to_string(number); }
};

TEST_F(Events, ResetOfTheDevice) {
    const Node node;
    sidra_ioctl_device_reset reset{};
    ASSERT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
    EXPECT_TRUE(uevents.has({"SUBSYSTEM=sidra", "DEVNAME=sidra0", "ACTION=change", "SIDRA_EVENT=reset",
                             cause(SIDRA_FAULT_RESET), "SIDRA_GENERATION=" + attribute("generation").line()}));
}

TEST_F(Events, ResetByTheBus) {
    ASSERT_TRUE(card.known());
    ASSERT_TRUE(write_text("/sys/bus/pci/devices/" + card.name() + "/reset", "1"));
    EXPECT_TRUE(uevents.has({"DEVNAME=sidra0", "SIDRA_EVENT=reset", cause(SIDRA_FAULT_RESET),
                             "SIDRA_GENERATION=" + attribute("generation").line()}));
}

TEST_F(Events, ResetOfOneContext) {
    const Parameter impatient("admin_timeout_ms", "100");
    const Node node;
    const Context context(node);
    const Queue queue(context, SIDRA_QUEUE_USER);
    ASSERT_TRUE(knob("no-quiesce-ack", 2));
    EXPECT_EQ(queue.reset(), -ESTALE);
    ASSERT_TRUE(knob("no-quiesce-ack", 0));
    EXPECT_EQ(state_of(context), SIDRA_CONTEXT_LOST);
    EXPECT_TRUE(
        uevents.has({"DEVNAME=sidra0", "SIDRA_EVENT=context-lost", "SIDRA_CONTEXT=0", cause(SIDRA_FAULT_TIMEOUT)}));
}

}  // namespace
}  // namespace sidra::test
