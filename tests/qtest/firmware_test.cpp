// SPDX-License-Identifier: MIT
// The management core behind the PCI function: nothing but QEMU's clock wakes it once it sleeps.
#include "fixture.h"

namespace sidra::qtest {
namespace {

constexpr uint64_t kMs = 1'000'000;

class Firmware : public Qtest {
   protected:
    void SetUp() override {
        Qtest::SetUp();
        if (!IsSkipped()) bring_up();
    }
    uint32_t stage() { return card->read32(SIDRA_REG_STATUS) & SIDRA_STATUS_STAGE_MASK; }
    // Time goes by until it is so.
    bool comes(const std::function<bool()>& condition, uint64_t step = kMs) {
        return eventually([&] {
            if (condition()) return true;
            machine->step_clock(step);
            return false;
        });
    }
    bool boots() {
        return comes([this] { return stage() == SIDRA_STAGE_RUNTIME; });
    }
};

TEST_F(Firmware, BootsAndItsHeartBeats) {
    ASSERT_TRUE(boots());
    EXPECT_NE(card->read32(SIDRA_REG_STATUS) & SIDRA_STATUS_FIRMWARE_ALIVE, 0u);
    EXPECT_TRUE(comes([this] { return card->read32(SIDRA_REG_HEARTBEAT) >= 3; }));
}

TEST_F(Firmware, AnswersInMemoryOfTheGuest) {
    ASSERT_TRUE(boots());
    const uint64_t requests = machine->alloc(4096), replies = machine->alloc(4096);
    card->write64(SIDRA_REG_MAILBOX_REQUEST, requests);
    card->write64(SIDRA_REG_MAILBOX_REPLY, replies);
    card->write32(SIDRA_REG_MAILBOX_ENTRIES, 2);
    sidra_mailbox_msg message{};
    message.opcode = SIDRA_MAILBOX_LOOPBACK;
    message.length = 8;
    message.inline_data[0] = 0x1234;
    machine->write_bytes(requests, &message, sizeof message);
    card->write32(SIDRA_REG_MAILBOX_DOORBELL, 1);
    ASSERT_TRUE(comes([this] { return card->read32(SIDRA_REG_MAILBOX_REPLY_INDEX) == 1; }));
    EXPECT_EQ(machine->read(replies, 2), uint64_t{SIDRA_MAILBOX_LOOPBACK | SIDRA_MAILBOX_REPLY});
    EXPECT_EQ(machine->read(replies + offsetof(sidra_mailbox_msg, inline_data), 8), 0x1234u);
}

TEST_F(Firmware, ThrottlesACardThatIsTooHot) {
    constexpr uint64_t kTick = 100 * kMs;
    const auto throttled = [this] { return (card->read32(SIDRA_REG_STATUS) & SIDRA_STATUS_THROTTLED) != 0; };
    const auto shown = [this](size_t offset) { return card->read32(SIDRA_BAR_TELEMETRY + offset); };
    ASSERT_TRUE(boots());
    EXPECT_TRUE(comes([&] { return shown(offsetof(sidra_telemetry, valid)) & SIDRA_TELEMETRY_HAS_THERMAL; }, kTick));
    EXPECT_FALSE(throttled());
    machine->set_property("card", "temperature-mc", "150000");
    EXPECT_TRUE(comes(throttled, kTick));
    EXPECT_NE(card->read32(SIDRA_REG_INT_STATUS) & SIDRA_INT_THERMAL, 0u);
    EXPECT_TRUE(comes([&] { return shown(offsetof(sidra_telemetry, clock_khz)) == 100'000; }, kTick));
    machine->set_property("card", "temperature-mc", "20000");
    EXPECT_TRUE(comes([&] { return !throttled(); }, kTick));
}

TEST_F(Firmware, IsStartedAnewByAResetAndByItsWatchdog) {
    ASSERT_TRUE(boots());
    card->flr();
    card->enable_pci();
    ASSERT_TRUE(boots());
    EXPECT_EQ(card->read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_RESET});
    machine->set_property("card", "firmware-hang", "1");
    EXPECT_TRUE(comes([this] { return card->read32(SIDRA_REG_BOOT_REASON) == SIDRA_BOOT_WATCHDOG; }));
    ASSERT_TRUE(boots());
}

}  // namespace
}  // namespace sidra::qtest
