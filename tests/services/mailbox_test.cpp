// SPDX-License-Identifier: MIT
// The mailbox services' replies to valid requests. (On the core: tests/boot.)
#include "desk.h"

#include "image/image.h"
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

TEST_F(Mailbox, SaysWhichBuildItIs) {
    for (uint8_t i = 0; i < 20; i++) board.boot.build_id[i] = static_cast<uint8_t>(0xb0 + i);
    const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_FW_BUILD));
    EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(reply.length, 20u);
    EXPECT_EQ(std::memcmp(reply.inline_data, board.boot.build_id, 20), 0);
    EXPECT_EQ(reply.inline_data[2] >> 32, 0u);
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_BUILD, {0})), uint32_t{SIDRA_MAILBOX_BAD_LENGTH});
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
    // The image is revoked: the chip has run a newer security version.
    board.security = 7;
    EXPECT_EQ(send(image, 0), uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT});
}

// Until the image on trial has confirmed itself, the other slot has the one that the chip falls back to.
TEST_F(Mailbox, NoUpdateWhileTheImageIsOnTrial) {
    const std::vector<uint8_t> image = shipped();
    ASSERT_EQ(send(image, 1), uint32_t{SIDRA_MAILBOX_OK});
    board.boot.slot = SIDRA_MGMT_SLOT_B;
    board.boot.trial = 1;
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_BEGIN, {image.size()})), uint32_t{SIDRA_MAILBOX_BUSY});
    EXPECT_EQ(status_of(with_data(SIDRA_MAILBOX_FW_DATA, 100)), uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT});
    EXPECT_TRUE(std::equal(image.begin(), image.end(), slot(SIDRA_MGMT_SLOT_A).begin()));
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_CONFIRM)), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(send(image, 0), uint32_t{SIDRA_MAILBOX_OK});
}

// ---- FW_ACTIVATE ----

class Activate : public Desk {
   protected:
    void SetUp() override {
        Desk::SetUp();
        ASSERT_EQ(send(shipped(), 0), uint32_t{SIDRA_MAILBOX_OK});
    }
    // Slot to be tried next.
    uint32_t trial() { return static_cast<uint32_t>(ask(message(SIDRA_MAILBOX_FW_INFO)).inline_data[0] >> 32); }
    void expect_refused(sidra_image_result why) {
        const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_FW_ACTIVATE));
        EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT});
        EXPECT_EQ(reply.inline_data[0], uint64_t{why});
        EXPECT_EQ(trial(), SIDRA_BOOT_NO_SLOT);
    }
};

TEST_F(Activate, TheImageOfTheOtherSlotIsTriedNext) {
    for (const uint32_t runs : {SIDRA_MGMT_SLOT_A, SIDRA_MGMT_SLOT_B}) {
        board.boot.slot = runs;
        const uint32_t other = SIDRA_MGMT_SLOT_A + SIDRA_MGMT_SLOT_B - runs;
        EXPECT_NE(trial(), other);
        const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_FW_ACTIVATE));
        EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_OK});
        EXPECT_EQ(reply.inline_data[0], other);
        EXPECT_EQ(trial(), other);
    }
    const std::vector<uint8_t> before(board.flash.bytes().begin(), board.flash.bytes().end());
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_ACTIVATE)), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_TRUE(std::equal(before.begin(), before.end(), board.flash.bytes().begin())) << "it is so already";
}

TEST_F(Activate, NothingThatDoesNotVerify) {
    const std::vector<uint8_t> good = shipped();
    const auto store = [&](const std::vector<uint8_t>& bytes) {
        std::fill(slot(SIDRA_MGMT_SLOT_B).begin(), slot(SIDRA_MGMT_SLOT_B).end(), management::Flash::kErased);
        fill(SIDRA_MGMT_SLOT_B, bytes);
    };
    store({});
    expect_refused(SIDRA_IMAGE_MAGIC);
    std::vector<uint8_t> bad = good;
    bad[kHeader + 5000] ^= 1;
    store(bad);
    expect_refused(SIDRA_IMAGE_DIGEST);
    bad = good;
    put(bad, kAtImageSize, 0xffff'fff8, 4);
    repair(bad);
    store(bad);
    expect_refused(SIDRA_IMAGE_TRUNCATED);
    store(good);
    board.security = 7;
    expect_refused(SIDRA_IMAGE_ROLLBACK);
    board.security = 1;
    board.fail_at[Board::kFlash] = 1;
    expect_refused(SIDRA_IMAGE_TOO_SHORT);
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_ACTIVATE, {0})), uint32_t{SIDRA_MAILBOX_BAD_LENGTH});
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_ACTIVATE)), uint32_t{SIDRA_MAILBOX_OK}) << "and all is well again";
}

TEST_F(Activate, NotWithTlvsThatAreTooLarge) {
    Writer image;
    image.more = {{4, Bytes(2048 - 152 - 8)}};
    fill(SIDRA_MGMT_SLOT_B, image.image());
    expect_refused(SIDRA_IMAGE_UNTRUSTED_KEY);  // the TLVs are all read
    image.more = {{4, Bytes(2056 - 152 - 8)}};
    fill(SIDRA_MGMT_SLOT_B, image.image());
    expect_refused(SIDRA_IMAGE_TLV_TOO_LARGE);
}

TEST_F(Activate, NotWhileAnImageIsOnItsWay) {
    const std::vector<uint8_t> image = shipped();
    ASSERT_EQ(status_of(message(SIDRA_MAILBOX_FW_BEGIN, {image.size()})), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_ACTIVATE)), uint32_t{SIDRA_MAILBOX_BUSY});
    EXPECT_EQ(trial(), SIDRA_BOOT_NO_SLOT);
    EXPECT_EQ(send(image, 0), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_FW_ACTIVATE)), uint32_t{SIDRA_MAILBOX_OK});
}

}  // namespace
}  // namespace sidra::test
