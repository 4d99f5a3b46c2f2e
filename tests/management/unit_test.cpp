// SPDX-License-Identifier: MIT
// The blocks around the core, register by register, and the core's time.
#include "bench.h"

namespace sidra::test {
namespace {

constexpr uint32_t kTimerInterrupt = 1u << core::kTimer, kExternalInterrupt = 1u << core::kExternal;

// ---- Accesses ----

TEST(Access, AllRegistersAreThereAndNothingElse) {
    Bench bench;
    const std::vector<std::pair<uint32_t, uint32_t>> blocks = {
        {SIDRA_MGMT_SYSTEM_ID, SIDRA_MGMT_SYSTEM_SECURITY},
        {SIDRA_MGMT_TIMER_NOW, SIDRA_MGMT_TIMER_COMPARE_HIGH},
        {SIDRA_MGMT_IRQ_PENDING, SIDRA_MGMT_IRQ_ENABLE},
        {SIDRA_MGMT_WATCHDOG_PERIOD, SIDRA_MGMT_WATCHDOG_PERIOD},
        {SIDRA_MGMT_COPY_BUS, SIDRA_MGMT_COPY_BYTES},
        {SIDRA_MGMT_COPY_RESULT, SIDRA_MGMT_COPY_RESULT},
        {SIDRA_MGMT_VERIFY_ADDRESS, SIDRA_MGMT_VERIFY_BYTES},
        {SIDRA_MGMT_VERIFY_RESULT, SIDRA_MGMT_VERIFY_RESULT},
        {SIDRA_MGMT_VERIFY_DIGEST, SIDRA_MGMT_VERIFY_KEY + 28},
        {SIDRA_MGMT_VERIFY_SIG, SIDRA_MGMT_VERIFY_SIG + 60},
        {SIDRA_MGMT_FLASH_OFFSET, SIDRA_MGMT_FLASH_BYTES},
        {SIDRA_MGMT_FLASH_RESULT, SIDRA_MGMT_FLASH_RESULT},
        {SIDRA_MGMT_MAILBOX_REQUEST, SIDRA_MGMT_MAILBOX_REPLY_INDEX},
        {SIDRA_MGMT_SENSOR_TEMPERATURE, SIDRA_MGMT_SENSOR_TRIPPED},
        {SIDRA_MGMT_CLOCK_LEVEL, SIDRA_MGMT_CLOCK_THROTTLED},
        {SIDRA_MGMT_TELEMETRY_TEMPERATURE, SIDRA_MGMT_TELEMETRY_THROTTLES},
        {SIDRA_MGMT_SEQUENCER_XBARS, SIDRA_MGMT_SEQUENCER_COUNT},
        {SIDRA_MGMT_ISPP_MODE, SIDRA_MGMT_ISPP_SPARE},
    };
    for (uint32_t address = 0x40000000; address < 0x4000d000; address += 4) {
        if (address % 0x1000 >= 0x100 && address % 0x1000 < 0xff0) continue;
        const bool there = std::any_of(blocks.begin(), blocks.end(), [&](const auto& block) {
            return address >= block.first && address <= block.second;
        });
        uint32_t value;
        const auto trap = bench.load(address, &value);
        ASSERT_EQ(trap.has_value(), !there) << std::hex << address;
        if (trap) ASSERT_EQ(*trap, core::kLoadFault);
    }
}

TEST(Access, OnlyWholeWords) {
    Bench bench;
    uint32_t value;
    EXPECT_EQ(bench.load(SIDRA_MGMT_SYSTEM_ID, &value, Bench::kLoadByte), core::kLoadFault);
    EXPECT_EQ(bench.store(SIDRA_MGMT_SYSTEM_STAGE, 3, Bench::kStoreHalf), core::kStoreFault);
    EXPECT_EQ(bench.unit.stage(), SIDRA_STAGE_RESET);
}

TEST(Access, WhatIsReadOnlyFaults) {
    Bench bench;
    for (const uint32_t address :
         {SIDRA_MGMT_SYSTEM_ID, SIDRA_MGMT_SYSTEM_REASON, SIDRA_MGMT_TIMER_NOW, SIDRA_MGMT_TIMER_NOW_HIGH,
          SIDRA_MGMT_COPY_RESULT, SIDRA_MGMT_VERIFY_RESULT, SIDRA_MGMT_FLASH_RESULT, SIDRA_MGMT_MAILBOX_REQUEST,
          SIDRA_MGMT_MAILBOX_ENTRIES, SIDRA_MGMT_MAILBOX_DOORBELL, SIDRA_MGMT_SENSOR_TEMPERATURE,
          SIDRA_MGMT_SENSOR_CRITICAL, SIDRA_MGMT_CLOCK_KHZ})
        EXPECT_EQ(bench.store(address, 1), core::kStoreFault) << std::hex << address;
}

// ---- System ----

TEST(System, TheHostSeesWhatTheCoreSays) {
    Bench bench;
    EXPECT_EQ(bench.get(SIDRA_MGMT_SYSTEM_ID), SIDRA_ID_MAGIC);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SYSTEM_REASON), uint32_t{SIDRA_BOOT_POWER_ON});
    bench.set(SIDRA_MGMT_SYSTEM_STAGE, SIDRA_STAGE_VERIFY);
    EXPECT_EQ(bench.unit.stage(), SIDRA_STAGE_VERIFY);
    bench.set(SIDRA_MGMT_SYSTEM_HEARTBEAT, 77);
    EXPECT_EQ(bench.unit.heartbeat(), 77u);
    EXPECT_EQ(bench.unit.panic(), 0u);
    EXPECT_EQ(bench.interrupts(), 0u);
}

TEST(System, APanicEndsItUntilItIsReset) {
    Bench bench;
    bench.put(Bench::kData, {1, 2, 3});
    bench.state().x[a0] = SIDRA_MGMT_SYSTEM_PANIC;
    bench.state().x[a1] = 0xdead;
    bench.state().pc = Bench::kStore;
    EXPECT_EQ(bench.unit.run(1000), management::Unit::kNever);
    EXPECT_EQ(bench.unit.panic(), 0xdeadu);
    EXPECT_EQ(bench.unit.stage(), SIDRA_STAGE_PANIC);
    EXPECT_EQ(bench.host.interrupts, std::vector<uint32_t>{SIDRA_INT_FIRMWARE});
    const uint32_t pc = bench.state().pc;
    EXPECT_EQ(bench.unit.run(5000), management::Unit::kNever);
    EXPECT_EQ(bench.state().pc, pc);
    EXPECT_EQ(bench.unit.cycle(), 5000u) << "time goes on";
    bench.unit.restart(SIDRA_BOOT_RESET);
    EXPECT_EQ(bench.unit.panic(), 0u);
    EXPECT_EQ(bench.unit.cycle(), 5000u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SYSTEM_REASON), uint32_t{SIDRA_BOOT_RESET});
    EXPECT_EQ(bench.take(Bench::kData, 3), (std::vector<uint8_t>{1, 2, 3})) << "for the dump";
}

TEST(System, ItCanStartItselfAnew) {
    Bench bench;
    bench.set(SIDRA_MGMT_IRQ_ENABLE, 1);
    bench.set(SIDRA_MGMT_SYSTEM_STAGE, SIDRA_STAGE_RUNTIME);
    bench.state().mie = kExternalInterrupt;
    bench.store(SIDRA_MGMT_SYSTEM_RESTART, SIDRA_BOOT_UPDATE);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SYSTEM_REASON), uint32_t{SIDRA_BOOT_UPDATE});
    EXPECT_EQ(bench.get(SIDRA_MGMT_IRQ_ENABLE), 0u);
    EXPECT_EQ(bench.unit.stage(), SIDRA_STAGE_RESET);
    EXPECT_EQ(bench.state().mie, 0u);
    EXPECT_EQ(bench.interrupts(), 0u) << "it knows";
    bench.store(SIDRA_MGMT_SYSTEM_RESTART, 1000);
    EXPECT_LE(bench.get(SIDRA_MGMT_SYSTEM_REASON), uint32_t{SIDRA_BOOT_UPDATE});
}

TEST(System, TheSecurityVersionOnlyRises) {
    Bench bench;
    bench.set(SIDRA_MGMT_SYSTEM_SECURITY, 7);
    bench.set(SIDRA_MGMT_SYSTEM_SECURITY, 3);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SYSTEM_SECURITY), 7u);
    bench.unit.restart(SIDRA_BOOT_RESET);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SYSTEM_SECURITY), 7u);
    EXPECT_EQ(bench.unit.security_version(), 7u);
}

// ---- Time ----

TEST(Time, IsNeverAheadAndStandsWithTheChips) {
    Bench bench;
    EXPECT_EQ(bench.unit.run(0), 0u);
    EXPECT_EQ(bench.unit.run(100), management::Unit::kNever) << "it waits for nothing";
    EXPECT_EQ(bench.unit.cycle(), 100u);
    EXPECT_EQ(bench.unit.run(50), management::Unit::kNever);
    EXPECT_EQ(bench.unit.cycle(), 100u) << "nor back";
    const uint64_t far = uint64_t{1} << 40;
    bench.unit.run(far, far);
    EXPECT_EQ(bench.get(SIDRA_MGMT_TIMER_NOW_HIGH), 0u) << "latched by the low half";
    const uint32_t low = bench.get(SIDRA_MGMT_TIMER_NOW);
    EXPECT_EQ(bench.get(SIDRA_MGMT_TIMER_NOW_HIGH), 256u);
    EXPECT_LT(low, 100'000u);
}

TEST(Time, OneCallDoesNotTakeLong) {
    Bench bench;
    bench.put(Bench::kData, {0x6f, 0, 0, 0});  // jal zero, 0
    bench.state().pc = Bench::kData;
    EXPECT_LE(bench.unit.run(1'000'000), management::Unit::kSlice);
    EXPECT_EQ(bench.unit.cycle(), management::Unit::kSlice);
    EXPECT_LT(bench.unit.run(1'000'000, 10), 1'000'000u) << "there is more to do at once";
    EXPECT_EQ(bench.unit.cycle(), management::Unit::kSlice + 10);
}

TEST(Timer, WakesAtItsCycle) {
    Bench bench;
    const uint64_t due = 30'000;
    bench.set_wide(SIDRA_MGMT_TIMER_COMPARE, due);
    bench.state().mie = kTimerInterrupt;
    bench.execute(Bench::kIdle);
    const uint32_t before = bench.state().x[s0];
    EXPECT_EQ(bench.unit.run(due - 1), due) << "when to call again";
    EXPECT_TRUE(bench.state().waiting);
    EXPECT_EQ(bench.state().x[s0], before);
    EXPECT_FALSE(bench.state().mip & kTimerInterrupt);
    bench.unit.run(due + 1);
    EXPECT_TRUE(bench.state().mip & kTimerInterrupt);
    bench.state().mstatus |= 8;  // MIE
    bench.state().waiting = 0;
    bench.unit.run(due + 100);
    EXPECT_EQ(bench.state().mcause, 0x80000000u | core::kTimer);
    EXPECT_EQ(bench.state().x[t2], 0x80000000u | core::kTimer);
}

TEST(Timer, SetInThePastIsDueAtOnceAndMovedAwayIsNot) {
    Bench bench;
    bench.set_wide(SIDRA_MGMT_TIMER_COMPARE, 1);
    EXPECT_TRUE(bench.state().mip & kTimerInterrupt);
    bench.set(SIDRA_MGMT_TIMER_COMPARE_HIGH, ~0u);
    EXPECT_FALSE(bench.state().mip & kTimerInterrupt);
    EXPECT_EQ(bench.get(SIDRA_MGMT_TIMER_COMPARE), 1u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_TIMER_COMPARE_HIGH), ~0u);
}

TEST(Timer, NobodyMindsAndNothingSpins) {
    Bench bench;
    bench.set_wide(SIDRA_MGMT_TIMER_COMPARE, 5000);
    bench.execute(Bench::kIdle);  // masked
    EXPECT_EQ(bench.unit.run(100'000, 1'000'000), management::Unit::kNever);
    EXPECT_TRUE(bench.state().waiting);
    EXPECT_EQ(bench.unit.cycle(), 100'000u);
}

// ---- Interrupts and mailbox ----

TEST(Mailbox, TheBellWakesTheCore) {
    Bench bench;
    bench.set(SIDRA_MGMT_IRQ_ENABLE, SIDRA_MGMT_IRQ_MAILBOX);
    bench.state().mie = kExternalInterrupt;
    bench.execute(Bench::kIdle);
    const management::MailboxRegisters registers = {0x1122334455667788, 0x99aabbccddeeff00, 16, 3, 2};
    bench.unit.write_mailbox(registers);
    bench.unit.run(bench.unit.cycle() + 10);
    EXPECT_TRUE(bench.state().waiting) << "nobody rang";
    bench.unit.ring();
    bench.unit.run(bench.unit.cycle() + 10);
    EXPECT_TRUE(bench.state().mip & kExternalInterrupt);
    EXPECT_EQ(bench.get(SIDRA_MGMT_IRQ_PENDING), SIDRA_MGMT_IRQ_MAILBOX);
    EXPECT_EQ(bench.get(SIDRA_MGMT_MAILBOX_REQUEST), 0x55667788u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_MAILBOX_REQUEST_HIGH), 0x11223344u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_MAILBOX_REPLY), 0xddeeff00u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_MAILBOX_REPLY_HIGH), 0x99aabbccu);
    EXPECT_EQ(bench.get(SIDRA_MGMT_MAILBOX_ENTRIES), 16u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_MAILBOX_DOORBELL), 3u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_MAILBOX_REPLY_READ), 2u);
    bench.set(SIDRA_MGMT_IRQ_PENDING, SIDRA_MGMT_IRQ_MAILBOX);
    EXPECT_FALSE(bench.state().mip & kExternalInterrupt);
    bench.set(SIDRA_MGMT_MAILBOX_REPLY_INDEX, 9);
    EXPECT_EQ(bench.unit.reply_index(), 9u);
    EXPECT_EQ(bench.host.interrupts, std::vector<uint32_t>{SIDRA_INT_MAILBOX});
}

TEST(Mailbox, AResetForgetsIt) {
    Bench bench;
    bench.unit.write_mailbox({1, 2, 3, 4, 5});
    bench.unit.ring();
    bench.unit.restart(SIDRA_BOOT_RESET);
    EXPECT_EQ(bench.get(SIDRA_MGMT_IRQ_PENDING), 0u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_MAILBOX_REQUEST), 0u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_MAILBOX_DOORBELL), 0u);
}

// ---- Watchdog ----

TEST(Watchdog, WarnsAndThenBites) {
    Bench bench;
    bench.set(SIDRA_MGMT_WATCHDOG_PERIOD, 10'000);
    const uint64_t fed = bench.unit.cycle();
    bench.set(SIDRA_MGMT_SYSTEM_STAGE, SIDRA_STAGE_RUNTIME);
    bench.unit.run(fed + 4500);
    EXPECT_EQ(bench.get(SIDRA_MGMT_IRQ_PENDING), 0u);
    bench.unit.run(fed + 5100);
    EXPECT_EQ(bench.get(SIDRA_MGMT_IRQ_PENDING), SIDRA_MGMT_IRQ_WATCHDOG);
    bench.unit.run(fed + 9500);
    EXPECT_EQ(bench.unit.stage(), SIDRA_STAGE_RUNTIME);
    bench.unit.run(fed + 10'100);
    EXPECT_EQ(bench.unit.stage(), SIDRA_STAGE_RESET);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SYSTEM_REASON), uint32_t{SIDRA_BOOT_WATCHDOG});
    EXPECT_EQ(bench.host.interrupts, std::vector<uint32_t>{SIDRA_INT_FIRMWARE});
    EXPECT_EQ(bench.get(SIDRA_MGMT_WATCHDOG_PERIOD), 0u) << "off until it is set";
}

TEST(Watchdog, IsContentAsLongAsItIsFed) {
    Bench bench;
    bench.set(SIDRA_MGMT_WATCHDOG_PERIOD, 10'000);
    for (int i = 0; i < 20; i++) {
        bench.unit.run(bench.unit.cycle() + 4000);
        bench.set(SIDRA_MGMT_WATCHDOG_FEED, SIDRA_MGMT_WATCHDOG_FOOD);
    }
    EXPECT_EQ(bench.get(SIDRA_MGMT_IRQ_PENDING), 0u);
    for (int i = 0; i < 3; i++) {
        bench.unit.run(bench.unit.cycle() + 3000);
        bench.set(SIDRA_MGMT_WATCHDOG_FEED, 1);  // no food
    }
    EXPECT_EQ(bench.get(SIDRA_MGMT_IRQ_PENDING), SIDRA_MGMT_IRQ_WATCHDOG);
    bench.set(SIDRA_MGMT_WATCHDOG_PERIOD, 0);
    bench.unit.run(bench.unit.cycle() + 100'000, 1'000'000);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SYSTEM_REASON), uint32_t{SIDRA_BOOT_POWER_ON});
}

}  // namespace
}  // namespace sidra::test
