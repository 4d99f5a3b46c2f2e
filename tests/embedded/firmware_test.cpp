// SPDX-License-Identifier: MIT
// Firmware of the chip in this process: it boots behind what is opened, and nothing waits for it.
#include "driver.h"
#include "fixture.h"
#include "session.h"

namespace sidra::test {
namespace {

bool answers(Client& client) {
    for (const uint64_t end = in_ms(kPatienceMs); client.query().firmware_version == 0; sleep_ms(1))
        if (now_ns() > end) return false;
    return true;
}

TEST(Firmware, BootsBehindAnOpenChip) {
    Bench s;
    EXPECT_EQ(s.client.query().features & SIDRA_FEATURE_FIRMWARE, SIDRA_FEATURE_FIRMWARE);
    ASSERT_TRUE(answers(s.client));
    EXPECT_EQ(s.client.query().firmware_version, 1u) << "0.1";
}

TEST(Firmware, IsMetAgainAfterAResetAndAPanic) {
    Bench s;
    ASSERT_TRUE(answers(s.client));
    sidra_ioctl_device_reset request{0};
    ASSERT_EQ(s.client->ioctl(SIDRA_IOCTL_DEVICE_RESET, &request), 0);
    ASSERT_TRUE(answers(s.client));
    ASSERT_EQ(s.client.knob("firmware-panic", 1), 0);
    for (const uint64_t end = in_ms(kPatienceMs); s.client.query().firmware_version != 0 && now_ns() < end;)
        sleep_ms(1);
    EXPECT_EQ(s.client.query().firmware_version, 0u) << "dead";
    EXPECT_TRUE(answers(s.client)) << "its watchdog has started it anew";
}

}  // namespace
}  // namespace sidra::test
