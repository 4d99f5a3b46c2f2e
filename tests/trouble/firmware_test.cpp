// SPDX-License-Identifier: MIT
// Firmware that panics or hangs: users of the card continue, and administrators are notified.
#include "dumps.h"
#include "innocent.h"
#include "log.h"
#include "sidra_boot.h"
#include "uevents.h"

namespace sidra::test {
namespace {

constexpr uint32_t kTrapCode = SIDRA_PANIC_TRAP | 1;  // mcause 1: instruction access fault
constexpr uint32_t kNowhere = 0xfffffffc;             // to which the knob makes the core jump

class FirmwareTrouble : public NodeTest {
   protected:
    const Card card;
    const Dumps dumps{"sidra0"};
    Log log;
    Uevents uevents;

    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_TRUE(card.known());
        dumps.release_all();
        ASSERT_TRUE(runs());
    }
    static uint32_t version() { return status_of(Node()).firmware_version; }
    static bool runs() {
        return eventually([] { return version() != 0; });
    }
    static bool ends() {
        return eventually([] { return version() == 0; });
    }
    bool logged(const std::string& text) {
        return eventually([&] { return log.says(text); });
    }
};

void expect_trap(const std::string& dump) {
    sidra_boot_dump trap{};
    ASSERT_EQ(dump.size(), sizeof trap);
    std::memcpy(&trap, dump.data(), sizeof trap);
    EXPECT_EQ(trap.magic, SIDRA_BOOT_DUMP_MAGIC);
    EXPECT_EQ(trap.size, sizeof trap);
    EXPECT_EQ(trap.code, kTrapCode);
    EXPECT_EQ(trap.mcause, 1u);
    EXPECT_EQ(trap.pc, kNowhere);
    ASSERT_LE(trap.log_bytes, sizeof trap.log);
    EXPECT_NE(std::string(trap.log, trap.log_bytes).find("running"), std::string::npos);
}

TEST_F(FirmwareTrouble, Panic) {
    Innocent innocent;
    for (int round = 0; round < rounds(1, 5); round++) {
        ASSERT_TRUE(knob("firmware-panic", 1));
        EXPECT_TRUE(uevents.has({"SUBSYSTEM=sidra", "DEVNAME=sidra0", "ACTION=change", "SIDRA_EVENT=firmware-panic",
                                 "SIDRA_PANIC=0x10001"}));
        EXPECT_TRUE(ends());
        innocent.work();
        expect_trap(dumps.take());
        EXPECT_TRUE(runs());
        innocent.work();
    }
    EXPECT_TRUE(logged("firmware panic 0x10001"));
}

TEST_F(FirmwareTrouble, Hang) {
    Innocent innocent;
    ASSERT_TRUE(knob("firmware-hang", 1));
    innocent.work();
    EXPECT_TRUE(uevents.has({"SUBSYSTEM=sidra", "SIDRA_EVENT=firmware-watchdog"}));
    EXPECT_TRUE(logged("the firmware hung"));
    EXPECT_TRUE(runs());
    innocent.work();
    EXPECT_EQ(dumps.pending(), "");
}

// The dump and the notification survive the reset.
TEST_F(FirmwareTrouble, ResetOfWhatHasPanicked) {
    const Node node;
    ASSERT_TRUE(knob("firmware-panic", 1));
    ASSERT_TRUE(uevents.has({"SIDRA_EVENT=firmware-panic"}));
    sidra_ioctl_device_reset reset{};
    ASSERT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
    expect_trap(dumps.take());
    EXPECT_TRUE(runs());
}

// The driver's dump and the firmware's dump are separate: neither prevents the other.
TEST_F(FirmwareTrouble, BothDumps) {
    const Dumps of_driver(card.name());
    of_driver.release_all();
    ASSERT_TRUE(knob("firmware-panic", 1));
    EXPECT_TRUE(eventually([&] { return !dumps.pending().empty(); }));
    ASSERT_TRUE(knob("link-lost", 1));
    EXPECT_TRUE(finds_lost_link(Node()));
    EXPECT_EQ(of_driver.take().substr(0, 14), "sidra-coredump");
    ASSERT_TRUE(knob("link-lost", 0));
    expect_trap(dumps.take());
    EXPECT_TRUE(runs());
}

// The driver is unbound at any moment: before it knows of the panic, while it waits for the watchdog, with an unread
// dump.
TEST_F(FirmwareTrouble, TheDriverGoesMeanwhile) {
    for (const bool hang : {false, true})
        for (int moment = 0; moment < 3; moment++) {
            SCOPED_TRACE(testing::Message() << "moment " << moment << ", hang " << hang);
            ASSERT_TRUE(knob(hang ? "firmware-hang" : "firmware-panic", 1));
            if (moment > 0 && !hang) ASSERT_TRUE(uevents.has({"SIDRA_EVENT=firmware-panic"}));
            if (moment > 1) EXPECT_TRUE(hang || eventually([&] { return !dumps.pending().empty(); }));
            ASSERT_TRUE(card.unbind());
            EXPECT_EQ(dumps.pending(), "");
            ASSERT_TRUE(card.bind());
            ASSERT_TRUE(runs());
            Innocent().work();
        }
}

}  // namespace
}  // namespace sidra::test
