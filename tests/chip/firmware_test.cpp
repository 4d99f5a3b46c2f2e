// SPDX-License-Identifier: MIT
// The management core in its chip, as the driver sees it: registers, mailbox, interrupts, and what stops when the
// device stops. The firmware's own behaviour is tested in tests/boot.
#include <algorithm>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "bench.h"
#include "failing_new.h"
#include "folder.h"
#include "packets.h"
#include "sidra_management.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kMs = 1'000'000, kSecond = 1000 * kMs;

class Firmware : public testing::Test {
   protected:
    explicit Firmware(const BenchOptions& options = {}) : bench(options) {}

    // Advances the clock in steps and runs the chip after each.
    void pass(uint64_t ns, uint64_t step = kMs) {
        for (uint64_t left = ns; left != 0; left -= std::min(left, step)) {
            bench.clock() += std::min(left, step);
            bench.run();
        }
    }
    uint32_t stage() { return bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_STAGE_MASK; }
    bool alive() { return bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_FIRMWARE_ALIVE; }
    void boot() {
        for (int i = 0; i < 1000 && stage() != SIDRA_STAGE_RUNTIME; i++) pass(kMs);
        ASSERT_EQ(stage(), uint32_t{SIDRA_STAGE_RUNTIME});
        ASSERT_TRUE(alive());
    }

    void open() {
        asked = taken = 0;
        bench.write64(SIDRA_REG_MAILBOX_REQUEST, requests);
        bench.write64(SIDRA_REG_MAILBOX_REPLY, replies);
        bench.write32(SIDRA_REG_MAILBOX_ENTRIES, kEntries);
        bench.write32(SIDRA_REG_MAILBOX_REPLY_READ, 0);
    }
    void post(uint16_t opcode, uint64_t word = 0) {
        sidra_mailbox_msg message{};
        message.opcode = opcode;
        message.length = 8;
        message.cookie = 0xc00c1e + asked;
        message.inline_data[0] = word;
        bench.bus().write(requests + asked % kEntries * sizeof message, &message, sizeof message);
        bench.write32(SIDRA_REG_MAILBOX_DOORBELL, ++asked);
    }
    bool replied() { return bench.read32(SIDRA_REG_MAILBOX_REPLY_INDEX) != taken; }
    sidra_mailbox_msg take() {
        sidra_mailbox_msg reply{};
        EXPECT_TRUE(replied());
        bench.bus().read(replies + taken % kEntries * sizeof reply, &reply, sizeof reply);
        bench.write32(SIDRA_REG_MAILBOX_REPLY_READ, ++taken);
        return reply;
    }
    uint32_t hello(uint64_t* slot = nullptr) {
        post(SIDRA_MAILBOX_HELLO, 1u << 16);
        pass(kMs);
        const sidra_mailbox_msg reply = take();
        if (slot) *slot = reply.inline_data[2] & 0xffffffff;
        EXPECT_EQ(reply.opcode, SIDRA_MAILBOX_HELLO | SIDRA_MAILBOX_REPLY);
        EXPECT_EQ(reply.cookie, 0xc00c1d + asked);
        return reply.status;
    }

    static constexpr uint32_t kEntries = 4;
    Bench bench;
    const uint64_t requests = bench.bus().alloc_page(), replies = bench.bus().alloc_page();
    uint32_t asked = 0, taken = 0;
};

TEST_F(Firmware, BootsBehindAChipThatIsReady) {
    EXPECT_NE(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_READY, 0u);
    EXPECT_FALSE(alive());
    const uint64_t begin = bench.clock();
    boot();
    EXPECT_LE(bench.clock() - begin, 50 * kMs);
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON});
    EXPECT_EQ(bench.read32(SIDRA_REG_PANIC), 0u);
}

TEST_F(Firmware, SleepsBetweenItsHeartbeats) {
    boot();
    pass(kSecond);
    const uint32_t beats = bench.read32(SIDRA_REG_HEARTBEAT);
    EXPECT_GE(beats, 8u);
    EXPECT_FALSE(sidra_chip_pending(bench.chip()));
    const uint64_t due = sidra_chip_due_ns(bench.chip());
    EXPECT_GT(due, bench.clock().load());
    EXPECT_LE(due, bench.clock() + 100 * kMs);
    EXPECT_EQ(bench.run(), 0u) << "not before it is due";
    bench.clock() = due + kMs;
    EXPECT_GE(bench.run(), 1u);
    EXPECT_EQ(bench.read32(SIDRA_REG_HEARTBEAT), beats + 1);
}

TEST_F(Firmware, AHostThatStaysAwayFindsItAlive) {
    boot();
    pass(60 * kSecond, 30 * kSecond);
    EXPECT_TRUE(alive());
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON}) << "the watchdog has not bitten";
    EXPECT_LE(bench.read32(SIDRA_REG_HEARTBEAT), 20u) << "what it missed it does not make up for";
}

TEST_F(Firmware, TalksThroughTheMailbox) {
    boot();
    bench.write32(SIDRA_REG_INT_ENABLE, SIDRA_INT_MAILBOX);
    const uint64_t before = bench.interrupts(SIDRA_MSIX_ADMIN);
    open();
    for (int i = 0; i < 10; i++) EXPECT_EQ(hello(), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(bench.interrupts(SIDRA_MSIX_ADMIN) - before, 10u);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS), uint32_t{SIDRA_INT_MAILBOX});
    EXPECT_EQ(bench.read64(SIDRA_REG_MAILBOX_REQUEST), requests);
    EXPECT_EQ(bench.read64(SIDRA_REG_MAILBOX_REPLY), replies);
    EXPECT_EQ(bench.read32(SIDRA_REG_MAILBOX_DOORBELL), 10u);
    EXPECT_EQ(bench.read32(SIDRA_REG_MAILBOX_REPLY_READ), 10u);
    bench.write32(SIDRA_REG_MAILBOX_REPLY_INDEX, 77);
    EXPECT_EQ(bench.read32(SIDRA_REG_MAILBOX_REPLY_INDEX), 10u) << "the firmware's";
}

// The knob falsifies one reply; the next one is the firmware's own.
TEST_F(Firmware, AReplyMayBeALie) {
    boot();
    open();
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_LIE, SIDRA_LIE_REPLY));
    post(SIDRA_MAILBOX_STATUS);
    pass(kMs);
    const sidra_mailbox_msg lie = take();
    for (const uint8_t byte : std::span(reinterpret_cast<const uint8_t*>(&lie), sizeof lie)) EXPECT_EQ(byte, 0xff);
    EXPECT_EQ(hello(), uint32_t{SIDRA_MAILBOX_OK});
}

TEST_F(Firmware, MemoryThatTheHostRefusesIsAnError) {
    boot();
    open();
    bench.bus().set_access(requests, kPage, Access::kRefused);
    post(SIDRA_MAILBOX_HELLO);
    pass(kMs);
    EXPECT_FALSE(replied());
    EXPECT_GE(bench.telemetry().dma_errors, 1u);
    EXPECT_TRUE(alive());
}

// Whatever the host writes to mailbox and rings: the core does not fall, and queues do not notice.
TEST_F(Firmware, AHostThatMeansHarmHarmsNoQueue) {
    boot();
    open();
    pass(200 * kMs);
    Context& context = bench.context();
    Queue& queue = context.queue();
    std::mt19937_64 random(1);
    std::vector<uint64_t> data(512);
    const uint64_t from = context.alloc(kPage), to = context.alloc(kPage);
    const uint64_t payload = bench.bus().alloc(12 * kPage), nowhere = bench.bus().alloc(12 * kPage);
    bench.bus().set_access(nowhere, 12 * kPage, Access::kRefused);
    for (unsigned round = 0; round < rounds(2000); round++) {
        sidra_mailbox_msg message;
        uint64_t words[8];
        for (uint64_t& word : words) word = random() >> random() % 64;
        std::memcpy(&message, words, sizeof message);
        if (random() % 4 != 0) message.opcode = static_cast<uint16_t>(random() % 0x70);
        if (random() % 4 != 0) message.flags = 0, message.deadline = 0;
        message.payload = (random() % 4 != 0 ? payload : nowhere) + random() % kPage;
        if (random() % 2 != 0) message.length %= 40'000;
        bench.bus().write(requests + asked % kEntries * sizeof message, &message, sizeof message);
        switch (random() % 16) {
            case 0:
                bench.write64(random() % 2 ? SIDRA_REG_MAILBOX_REQUEST : SIDRA_REG_MAILBOX_REPLY,
                              nowhere + random() % kPage);
                break;
            case 1:
                bench.write32(SIDRA_REG_MAILBOX_ENTRIES, static_cast<uint32_t>(random()) >> random() % 32);
                break;
            case 2:
                asked += static_cast<uint32_t>(random());
                break;
            case 3:
                bench.bus().set_access(random() % 2 ? requests : replies, kPage, Access::kRefused);
                break;
            default:
                bench.write64(SIDRA_REG_MAILBOX_REQUEST, requests);
                bench.write64(SIDRA_REG_MAILBOX_REPLY, replies);
                bench.write32(SIDRA_REG_MAILBOX_ENTRIES, kEntries);
                bench.bus().set_access(requests, kPage, Access::kOpen);
                bench.bus().set_access(replies, kPage, Access::kOpen);
                bench.write32(SIDRA_REG_MAILBOX_REPLY_READ, bench.read32(SIDRA_REG_MAILBOX_REPLY_INDEX));
                break;
        }
        bench.write32(SIDRA_REG_MAILBOX_DOORBELL, ++asked);
        for (uint64_t& word : data) word = random();
        context.write(from, data.data(), kPage);
        const uint64_t ticket = queue.submit(copy(to, from, kPage));
        pass(message.opcode == SIDRA_MAILBOX_FW_DATA ? 50 * kMs : kMs);
        ASSERT_GT(queue.timeline(), ticket) << round;
        ASSERT_EQ(context.get<uint64_t>(to, data.size()), data);
    }
    EXPECT_GT(bench.read32(SIDRA_REG_MAILBOX_REPLY_INDEX), rounds(2000) / 2) << "most of it was heard";
    EXPECT_EQ(bench.read32(SIDRA_REG_PANIC), 0u);
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON}) << "nor has the watchdog bitten";
    EXPECT_TRUE(alive());
    // After a reset, driver and firmware agree on empty rings again.
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench.run();
    boot();
    bench.bus().set_access(requests, kPage, Access::kOpen);
    bench.bus().set_access(replies, kPage, Access::kOpen);
    open();
    EXPECT_EQ(hello(), uint32_t{SIDRA_MAILBOX_OK});
}

// Its flash is the host's memory, of which there may be too little for a change of it.
TEST_F(Firmware, AFlashWithoutMemoryKeepsNothing) {
    boot();
    open();
    const uint64_t payload = bench.bus().alloc_page();
    const auto send = [&](uint16_t opcode, uint32_t length, uint64_t word, uint64_t failures) {
        sidra_mailbox_msg message{};
        message.opcode = opcode, message.length = length;
        message.payload = payload;
        message.inline_data[0] = word;
        bench.bus().write(requests + asked % kEntries * sizeof message, &message, sizeof message);
        bench.write32(SIDRA_REG_MAILBOX_DOORBELL, ++asked);
        uint64_t failed;
        {
            test::FailingNew failing(0, failures);
            pass(50 * kMs);
            failed = failing.failed();
        }
        EXPECT_EQ(failed > 0, failures > 0);
        return take().status;
    };
    EXPECT_EQ(send(SIDRA_MAILBOX_FW_BEGIN, 8, 65536, 0), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(send(SIDRA_MAILBOX_FW_DATA, 4096, 0, ~uint64_t{0}), uint32_t{SIDRA_MAILBOX_INTERNAL});
    EXPECT_EQ(send(SIDRA_MAILBOX_FW_BEGIN, 8, 65536, 0), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(send(SIDRA_MAILBOX_FW_DATA, 4096, 0, 0), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_TRUE(alive());
}

// ---- What ends it ----

TEST_F(Firmware, ThatHangsIsStartedAnewByItsWatchdog) {
    boot();
    pass(200 * kMs);
    bench.write32(SIDRA_REG_INT_ENABLE, SIDRA_INT_FIRMWARE);
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_FIRMWARE_HANG, 1));
    const uint32_t beats = bench.read32(SIDRA_REG_HEARTBEAT);
    pass(500 * kMs);
    EXPECT_EQ(bench.read32(SIDRA_REG_HEARTBEAT), beats);
    pass(600 * kMs);
    boot();
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_WATCHDOG});
    EXPECT_EQ(bench.interrupts(SIDRA_MSIX_ADMIN), 1u);
    open();
    EXPECT_EQ(hello(), uint32_t{SIDRA_MAILBOX_OK});
}

TEST_F(Firmware, ThatPanicsTellsWhyAndIsStartedAnew) {
    boot();
    pass(200 * kMs);
    bench.write32(SIDRA_REG_INT_ENABLE, SIDRA_INT_FIRMWARE);
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_FIRMWARE_PANIC, 1));
    pass(10 * kMs);
    EXPECT_EQ(stage(), uint32_t{SIDRA_STAGE_PANIC});
    EXPECT_FALSE(alive());
    EXPECT_EQ(bench.read32(SIDRA_REG_PANIC), 0x10001u) << "a trap: fetch access fault";
    EXPECT_EQ(bench.interrupts(SIDRA_MSIX_ADMIN), 1u);
    pass(1100 * kMs);
    boot();
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_PANIC});
    EXPECT_EQ(bench.read32(SIDRA_REG_PANIC), 0u);
    open();
    const uint64_t dump = bench.bus().alloc(8192);
    sidra_mailbox_msg message{};
    message.opcode = SIDRA_MAILBOX_CRASH_DUMP;
    message.length = 8192;
    message.payload = dump;
    bench.bus().write(requests, &message, sizeof message);
    bench.write32(SIDRA_REG_MAILBOX_DOORBELL, ++asked);
    pass(kMs);
    const sidra_mailbox_msg reply = take();
    EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_GT(reply.inline_data[0], 0u);
    EXPECT_EQ(reply.inline_data[1], 0x10001u);
}

TEST_F(Firmware, ThatPanicsAgainAndAgainMakesWayForTheRecoveryImage) {
    boot();
    for (int i = 0; i < 3; i++) {  // within the first tenth of a second, before it has ever reported itself healthy
        ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_FIRMWARE_PANIC, 1));
        pass(10 * kMs);
        ASSERT_EQ(stage(), uint32_t{SIDRA_STAGE_PANIC});
        for (int ms = 0; ms < 2000 && stage() == SIDRA_STAGE_PANIC; ms++) pass(kMs);
        boot();
    }
    uint64_t slot = 0;
    open();
    EXPECT_EQ(hello(&slot), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(slot, uint64_t{SIDRA_MGMT_SLOT_RECOVERY});
}

TEST_F(Firmware, QueuesWorkWhileItIsDead) {
    boot();
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_FIRMWARE_HANG, 1));
    Queue& queue = bench.context().queue();
    for (int i = 0; i < 50; i++) queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
    queue.reset();
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), uint32_t{SIDRA_ADMIN_OK});
}

TEST_F(Firmware, KnobsTakeOneOnly) {
    for (const uint32_t knob : {SIDRA_KNOB_FIRMWARE_HANG, SIDRA_KNOB_FIRMWARE_PANIC})
        for (const uint64_t value : {uint64_t{0}, uint64_t{2}, ~uint64_t{0}})
            EXPECT_FALSE(sidra_chip_set_knob(bench.chip(), knob, value));
    boot();
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON});
}

// ---- With its device ----

TEST_F(Firmware, ResetStartsItAnew) {
    boot();
    open();
    ASSERT_EQ(hello(), uint32_t{SIDRA_MAILBOX_OK});
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench.run();
    EXPECT_EQ(bench.read32(SIDRA_REG_MAILBOX_ENTRIES), 0u);
    EXPECT_EQ(bench.read32(SIDRA_REG_MAILBOX_REPLY_INDEX), 0u);
    EXPECT_NE(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_READY, 0u);
    boot();
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_RESET});
    open();
    EXPECT_EQ(hello(), uint32_t{SIDRA_MAILBOX_OK});
}

// A write of one register meanwhile does not bring the others back.
TEST_F(Firmware, ResetForgetsTheMailboxWhateverIsWrittenMeanwhile) {
    std::atomic<bool> stop{false};
    std::atomic<uint32_t> writes{0};
    const auto write = [this](uint64_t offset, uint64_t value, unsigned size) {
        sidra_chip_mmio_write(bench.chip(), offset, value, size);
    };
    std::thread other([&] {
        for (; !stop.load(); writes++) write(SIDRA_REG_MAILBOX_REPLY_READ, 1, 4);
    });
    for (unsigned round = 0; round < rounds(2000) && !HasFailure(); round++) {
        write(SIDRA_REG_MAILBOX_REQUEST, requests, 8);
        write(SIDRA_REG_MAILBOX_REPLY, replies, 8);
        write(SIDRA_REG_MAILBOX_ENTRIES, kEntries, 4);
        write(SIDRA_REG_MAILBOX_DOORBELL, 1, 4);
        sidra_chip_reset(bench.chip());
        for (const uint32_t seen = writes.load(); writes.load() - seen < 2;) std::this_thread::yield();
        for (const uint64_t offset :
             {SIDRA_REG_MAILBOX_REQUEST, SIDRA_REG_MAILBOX_REQUEST + 4, SIDRA_REG_MAILBOX_REPLY,
              SIDRA_REG_MAILBOX_REPLY + 4, SIDRA_REG_MAILBOX_ENTRIES, SIDRA_REG_MAILBOX_DOORBELL})
            EXPECT_EQ(sidra_chip_mmio_read(bench.chip(), offset, 4), 0u) << std::hex << offset;
    }
    stop.store(true);
    other.join();
}

TEST_F(Firmware, AQuiescedDeviceLeavesTheMailboxAlone) {
    boot();
    open();
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), uint32_t{SIDRA_ADMIN_OK});
    post(SIDRA_MAILBOX_HELLO, 1u << 16);
    bench.bus().set_access(requests, kPage, Access::kRevoked);  // touched, it would be a violation
    pass(5 * kSecond, 100 * kMs);
    EXPECT_FALSE(sidra_chip_pending(bench.chip()));
    EXPECT_EQ(sidra_chip_due_ns(bench.chip()), ~uint64_t{0});
    bench.bus().set_access(requests, kPage, Access::kOpen);
    EXPECT_FALSE(replied());
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_DEVICE), uint32_t{SIDRA_ADMIN_OK});
    pass(kMs);
    EXPECT_EQ(take().status, uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON}) << "nor has the watchdog bitten";
}

TEST_F(Firmware, ALostLinkIsNoEndOfIt) {
    boot();
    open();
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_LINK_LOST, 1));
    pass(3 * kSecond, 100 * kMs);
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_LINK_LOST, 0));
    EXPECT_TRUE(alive());
    EXPECT_EQ(hello(), uint32_t{SIDRA_MAILBOX_OK});
}

// ---- Over power-off ----

class KeptFirmware : public Firmware {
   protected:
    KeptFirmware() : Firmware({.state_file = path()}) {}
    // Members of the base class are constructed before the members of this one, so the folder cannot be a member.
    static std::string path() {
        static Folder folder;
        static unsigned count = 0;
        return folder.path(("state" + std::to_string(count++)).c_str());
    }
    void power_cycle() {
        bench.replace_chip();
        bench.enable();
    }
};

// The boot records are in the state file, so three unconfirmed starts are counted as three even when power fails after
// each.
TEST_F(KeptFirmware, AttemptsAreCounted) {
    for (int i = 0; i < 3; i++) {
        boot();
        power_cycle();
    }
    boot();
    uint64_t slot = 0;
    open();
    EXPECT_EQ(hello(&slot), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(slot, uint64_t{SIDRA_MGMT_SLOT_RECOVERY});
}

TEST_F(KeptFirmware, ThatSaysThatItIsWellGoesOn) {
    for (int i = 0; i < 5; i++) {
        boot();
        pass(200 * kMs);
        power_cycle();
    }
    boot();
    uint64_t slot = 7;
    open();
    EXPECT_EQ(hello(&slot), uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(slot, uint64_t{SIDRA_MGMT_SLOT_A});
}

// A host with its own threads: only the due time wakes them.
TEST_F(Firmware, StandsStillOnceTheDeviceSaysSo) {
    boot();
    open();
    bench.set_clock_step(10 * kMs);
    bench.start_threads(2);
    for (unsigned round = 0; round < rounds(50); round++) {
        post(SIDRA_MAILBOX_HELLO, 1u << 16);
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), uint32_t{SIDRA_ADMIN_OK});
        bench.bus().set_access(requests, kPage, Access::kRevoked);
        bench.bus().set_access(replies, kPage, Access::kRevoked);
        bench.write32(SIDRA_REG_MAILBOX_DOORBELL, asked);
        bench.bus().set_access(requests, kPage, Access::kOpen);
        bench.bus().set_access(replies, kPage, Access::kOpen);
        ASSERT_EQ(bench.admin(SIDRA_ADMIN_RESUME_DEVICE), uint32_t{SIDRA_ADMIN_OK});
        while (!replied()) std::this_thread::yield();
        EXPECT_EQ(take().status, uint32_t{SIDRA_MAILBOX_OK});
    }
    bench.stop_threads();
}

}  // namespace
}  // namespace sidra::chip_test
