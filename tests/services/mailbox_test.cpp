// SPDX-License-Identifier: MIT
// What the mailbox's services answer to requests that are as they should be. (On the core: tests/boot.)
#include "desk.h"

#include "writer.h"

namespace sidra::test {
namespace {

class Mailbox : public Desk {};

TEST_F(Mailbox, SaysWhoItIs) {
    board.boot.trial = 1;
    const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_HELLO, {1u << 16}));
    EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(reply.inline_data[1], 0x01020003 | uint64_t{1} << 32);
    EXPECT_EQ(reply.inline_data[2], SIDRA_MGMT_SLOT_A | uint64_t{1} << 32);
}

TEST_F(Mailbox, HandsOutADumpThatIsWhole) {
    EXPECT_EQ(ask(with_data(SIDRA_MAILBOX_CRASH_DUMP, 4096)).inline_data[0], 0u);
    board.dump.magic = SIDRA_BOOT_DUMP_MAGIC;
    board.dump.size = sizeof board.dump;
    board.dump.code = SIDRA_PANIC_TRAP | 2;
    const std::span bytes(reinterpret_cast<const uint8_t*>(&board.dump), sizeof board.dump);
    board.dump.crc32 = crc32(bytes.first(offsetof(sidra_boot_dump, crc32)));
    const sidra_mailbox_msg reply = ask(with_data(SIDRA_MAILBOX_CRASH_DUMP, 4096));
    EXPECT_EQ(reply.inline_data[0], sizeof board.dump);
    EXPECT_EQ(reply.inline_data[1], uint64_t{SIDRA_PANIC_TRAP | 2});
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), board.host.begin() + (kData - Board::kHost)));
    board.dump.x[7] ^= 1;
    EXPECT_EQ(ask(with_data(SIDRA_MAILBOX_CRASH_DUMP, 4096)).inline_data[0], 0u);
}

TEST_F(Mailbox, ADeadlineIsTheDeviceClocks) {
    sidra_mailbox_msg request = message(SIDRA_MAILBOX_STATUS);
    board.cycles = uint64_t{1} << 40;
    request.deadline = (board.cycles - 1) * SIDRA_MGMT_CYCLE_NS;
    EXPECT_EQ(status_of(request), uint32_t{SIDRA_MAILBOX_DEADLINE});
    request.deadline = (board.cycles + 10'000) * SIDRA_MGMT_CYCLE_NS;
    EXPECT_EQ(status_of(request), uint32_t{SIDRA_MAILBOX_OK});
}

TEST_F(Mailbox, AnImageGoesIntoTheOtherSlot) {
    const std::vector<uint8_t> image = shipped();
    for (const uint32_t runs : {SIDRA_MGMT_SLOT_A, SIDRA_MGMT_SLOT_B}) {
        board.boot.slot = runs;
        const uint32_t other = SIDRA_MGMT_SLOT_A + SIDRA_MGMT_SLOT_B - runs;
        EXPECT_EQ(send(image, 0), uint32_t{SIDRA_MAILBOX_OK});
        EXPECT_TRUE(std::equal(image.begin(), image.end(), slot(other).begin()));
    }
    // It is withdrawn: the chip has seen a newer one.
    board.security = 7;
    EXPECT_EQ(send(image, 0), uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT});
}

}  // namespace
}  // namespace sidra::test
