// SPDX-License-Identifier: MIT
// The card's firmware as a user sees it: it boots in the background and has a version from then on.
#include "node.h"

namespace sidra::test {
namespace {

using Firmware = NodeTest;

std::string of_sysfs() {
    std::string text;
    std::getline(std::ifstream("/sys/class/sidra/sidra0/firmware_version") >> std::ws, text);
    return text;
}

uint32_t of_query() {
    const Node node;
    EXPECT_TRUE(device_of(node).features & SIDRA_FEATURE_FIRMWARE);
    return status_of(node).firmware_version;
}

void expect_version() {
    EXPECT_TRUE(eventually([] { return of_query() != 0; }));
    EXPECT_EQ(of_query(), 1u) << "0.1";
    EXPECT_EQ(of_sysfs(), "0.1.0");
}

TEST_F(Firmware, HasAVersion) { expect_version(); }

TEST_F(Firmware, IsMetAgainAfterAReset) {
    expect_version();
    const Node node;
    sidra_ioctl_device_reset reset{};
    for (int i = 0; i < rounds(3, 50); i++) ASSERT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
    expect_version();
}

TEST_F(Firmware, IsMetByEachDriver) {
    const Card card;
    ASSERT_TRUE(card.known());
    for (int i = 0; i < rounds(3, 50); i++) {
        ASSERT_TRUE(card.unbind());
        ASSERT_TRUE(card.bind());
        if (i % 2) expect_version();
    }
    expect_version();
}

}  // namespace
}  // namespace sidra::test
