// SPDX-License-Identifier: MIT
// Registers: identity, access rules, clock, interrupts, enable, reset.
#include <set>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

TEST(Registers, Identity) {
    Bench bench;
    EXPECT_EQ(bench.read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
    EXPECT_EQ(bench.read32(SIDRA_REG_HW_VERSION), SIDRA_HW_VERSION);
    EXPECT_EQ(bench.read64(SIDRA_REG_FEATURES), SIDRA_FEATURE_FIRMWARE);
    EXPECT_EQ(bench.read32(SIDRA_REG_GEOMETRY0), 1u | 2u << 16);
    EXPECT_EQ(bench.read32(SIDRA_REG_GEOMETRY1), 4u);
    EXPECT_EQ(bench.read32(SIDRA_REG_GEOMETRY2), 256u | 256u << 16);
    EXPECT_EQ(bench.read32(SIDRA_REG_LIMITS0), SIDRA_CONTEXTS_MAX | SIDRA_QUEUES_MAX << 16);
    EXPECT_EQ(bench.read32(SIDRA_REG_LIMITS1), SIDRA_QUEUES_PER_CONTEXT_MAX | SIDRA_MSIX_VECTORS << 16);
    EXPECT_EQ(bench.read32(SIDRA_REG_VA_BITS), SIDRA_VA_BITS);
    EXPECT_EQ(bench.read32(SIDRA_REG_L1_SIZE), 128u << 10);
    EXPECT_EQ(bench.read32(SIDRA_REG_L2_SIZE), 2u << 20);
    EXPECT_EQ(bench.read64(SIDRA_REG_L3_SIZE), uint64_t{1} << 20);
    EXPECT_EQ(bench.l3_size(), uint64_t{1} << 20);
    EXPECT_GE(bench.read64(SIDRA_REG_NVM_SIZE), (SIDRA_NVM_ENTRIES + 1) * sizeof(sidra_nvm_entry));
    EXPECT_EQ(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_STAGE_MASK, uint32_t{SIDRA_STAGE_RESET});
    EXPECT_NE(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_READY, 0u);
    EXPECT_EQ(
        bench.read32(SIDRA_REG_STATUS) & (SIDRA_STATUS_FATAL | SIDRA_STATUS_STOPPED | SIDRA_STATUS_FIRMWARE_ALIVE), 0u);
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON});
    EXPECT_EQ(bench.read32(SIDRA_REG_HEARTBEAT), 0u);
    EXPECT_EQ(bench.read32(SIDRA_REG_PANIC), 0u);
}

TEST(Registers, FullGeometry) {
    Bench bench({.profile = SIDRA_CHIP_Y1});
    EXPECT_EQ(bench.read32(SIDRA_REG_GEOMETRY0), 16u | 25u << 16);
    EXPECT_EQ(bench.read32(SIDRA_REG_GEOMETRY1), 16u);
    EXPECT_EQ(bench.read64(SIDRA_REG_L3_SIZE), uint64_t{16} << 20);
    EXPECT_EQ(bench.telemetry().xbars_total, 6400u);
    const auto last = bench.xbars(6399, 1);
    EXPECT_EQ(last[0].uid, 0u);
    EXPECT_NE(bench.admin(SIDRA_ADMIN_XBAR_READ, 6400, bench.bus().alloc(kPage), 1), uint32_t{SIDRA_ADMIN_OK});
}

TEST(Registers, UuidFollowsTheSeed) {
    Bench one({.seed = 1});
    Bench same({.seed = 1});
    Bench other({.seed = 2});
    const auto uuid = [](Bench& bench) {
        return std::pair(bench.read64(SIDRA_REG_UUID), bench.read64(SIDRA_REG_UUID + 8));
    };
    EXPECT_EQ(uuid(one), uuid(same));
    EXPECT_NE(uuid(one), uuid(other));
    EXPECT_NE(uuid(one), std::pair(uint64_t{0}, uint64_t{0}));
    const uint64_t word = one.read32(SIDRA_REG_UUID) | uint64_t{one.read32(SIDRA_REG_UUID + 4)} << 32;
    EXPECT_EQ(word, one.read64(SIDRA_REG_UUID));
}

TEST(Registers, UuidThatIsGiven) {
    Bench bench({.uuid = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}});
    EXPECT_EQ(bench.read64(SIDRA_REG_UUID), 0x0807060504030201u);
    EXPECT_EQ(bench.read64(SIDRA_REG_UUID + 8), 0x100f0e0d0c0b0a09u);
}

TEST(Registers, IdentityAndStatusAreReadOnly) {
    Bench bench;
    for (uint64_t offset = SIDRA_REG_ID; offset < SIDRA_REG_UUID + 16; offset += 4) {
        const uint32_t before = bench.read32(offset);
        bench.write32(offset, ~before);
        EXPECT_EQ(bench.read32(offset), before) << std::hex << offset;
    }
    for (const uint64_t offset :
         {SIDRA_REG_STATUS, SIDRA_REG_BOOT_REASON, SIDRA_REG_HEARTBEAT, SIDRA_REG_PANIC, SIDRA_REG_GENERATION}) {
        const uint32_t before = bench.read32(offset);
        bench.write32(offset, ~before);
        EXPECT_EQ(bench.read32(offset), before) << std::hex << offset;
    }
}

TEST(Registers, OddAccessesReadZeroAndAreIgnored) {
    Bench bench;
    bench.write32(SIDRA_REG_SCRATCH, 0x12345678);
    for (const unsigned size : {0u, 1u, 2u, 3u, 5u, 6u, 7u, 16u}) {
        EXPECT_EQ(sidra_chip_mmio_read(bench.chip(), SIDRA_REG_ID, size), 0u) << size;
        sidra_chip_mmio_write(bench.chip(), SIDRA_REG_SCRATCH, 0, size);
    }
    for (const uint64_t skew : {1u, 2u, 3u}) {
        EXPECT_EQ(sidra_chip_mmio_read(bench.chip(), SIDRA_REG_ID + skew, 4), 0u);
        sidra_chip_mmio_write(bench.chip(), SIDRA_REG_SCRATCH + skew, 0, 4);
    }
    EXPECT_EQ(sidra_chip_mmio_read(bench.chip(), SIDRA_REG_FEATURES + 4, 8), 0u);
    sidra_chip_mmio_write(bench.chip(), SIDRA_REG_SCRATCH, 0, 8);  // 0x114 is not naturally aligned for 8
    EXPECT_EQ(bench.read32(SIDRA_REG_SCRATCH), ~0x12345678u);
}

TEST(Registers, HolesReadZeroAndIgnoreWrites) {
    Bench bench;
    std::vector<uint64_t> holes;
    for (uint64_t at = 0x50; at < 0x100; at += 4) {
        holes.push_back(at);
    }
    for (uint64_t at = 0x120; at < 0x200; at += 4) {
        holes.push_back(at);
    }
    for (const uint64_t at :
         {0x238u, 0x23cu, 0x248u, 0x2fcu, 0x320u, 0x400u, 0xffcu, 0x1000u, 0x8000u, 0xfffcu, 0x11000u, 0x1ffffcu,
          0x220000u, 0x3ffffcu, 0x800000u, 0xffffffu & ~3u, SIDRA_BAR_REGS_SIZE, 0x7ffffffcu}) {
        holes.push_back(at);
    }
    for (const uint64_t at : holes) {
        bench.write32(at, 0xffffffff);
        EXPECT_EQ(bench.read32(at), 0u) << std::hex << at;
        if (at % 8 == 0) {
            bench.write64(at, ~0ull);
            EXPECT_EQ(bench.read64(at), 0u) << std::hex << at;
        }
    }
    EXPECT_EQ(sidra_chip_mmio_read(bench.chip(), ~uint64_t{0} - 7, 8), 0u);
    EXPECT_EQ(sidra_chip_mmio_read(bench.chip(), uint64_t{1} << 32, 4), 0u);
    sidra_chip_mmio_write(bench.chip(), (uint64_t{1} << 32) + SIDRA_REG_SCRATCH, 5, 4);
    EXPECT_NE(bench.read32(SIDRA_REG_SCRATCH), ~5u);
    bench.run();
    EXPECT_EQ(bench.read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
    EXPECT_EQ(bench.interrupts_total(), 0u);
}

TEST(Registers, ScratchReadsBackInverted) {
    Bench bench;
    for (const uint32_t value : {0u, 1u, 0x5a5a5a5au, 0xffffffffu}) {
        bench.write32(SIDRA_REG_SCRATCH, value);
        EXPECT_EQ(bench.read32(SIDRA_REG_SCRATCH), ~value);
    }
}

TEST(Registers, ClockCountsFromCreationAndLatches) {
    Bench bench;
    bench.set_clock_step(0);
    const uint64_t start = bench.read64(SIDRA_REG_CLOCK);
    EXPECT_LT(start, 1'000'000u);
    bench.clock() += 0x1'2345'0000ull;
    EXPECT_EQ(bench.read64(SIDRA_REG_CLOCK), start + 0x1'2345'0000ull);
    // The clock advances between the halves: reading the low half latches the high one.
    bench.clock() += (uint64_t{1} << 32) - (start + 0x1'2345'0000ull) % (uint64_t{1} << 32) - 1;
    const uint64_t now = bench.read64(SIDRA_REG_CLOCK);
    ASSERT_EQ(now & 0xffffffff, 0xffffffffu);
    const uint32_t low = bench.read32(SIDRA_REG_CLOCK);
    bench.clock() += 2;
    const uint32_t high = bench.read32(SIDRA_REG_CLOCK + 4);
    EXPECT_EQ(uint64_t{low} | uint64_t{high} << 32, now);
    EXPECT_EQ(bench.read64(SIDRA_REG_CLOCK), now + 2);
}

TEST(Registers, TestInterruptsReachTheirVector) {
    Bench bench;
    for (uint32_t vector = 1; vector < SIDRA_MSIX_VECTORS; ++vector) {
        bench.write32(SIDRA_REG_TEST_IRQ, vector);
        bench.run();
        EXPECT_EQ(bench.interrupts(vector), 1u) << vector;
    }
    EXPECT_EQ(bench.interrupts(0), 0u);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS), 0u);
    for (const uint64_t vector : {32ull, 33ull, 255ull, 0x100ull, 0xffffffffull}) {
        bench.write32(SIDRA_REG_TEST_IRQ, vector);
        bench.run();
    }
    EXPECT_EQ(bench.interrupts_total(), SIDRA_MSIX_VECTORS - 1);

    bench.write32(SIDRA_REG_INT_ENABLE, SIDRA_INT_TEST);
    bench.write32(SIDRA_REG_TEST_IRQ, 0);
    bench.run();
    EXPECT_EQ(bench.interrupts(0), 1u);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS), SIDRA_INT_TEST);
}

TEST(Registers, InterruptStatusIsWriteOneToClearAndEnableSelects) {
    Bench bench;
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS), 0u);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), uint32_t{SIDRA_ADMIN_OK});
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS), SIDRA_INT_ADMIN);
    EXPECT_EQ(bench.interrupts(0), 0u) << "not enabled";
    bench.write32(SIDRA_REG_INT_STATUS, SIDRA_INT_FAULT | SIDRA_INT_TEST);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS), SIDRA_INT_ADMIN);
    bench.write32(SIDRA_REG_INT_STATUS, SIDRA_INT_ADMIN);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS), 0u);

    bench.write32(SIDRA_REG_INT_ENABLE, SIDRA_INT_ADMIN);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_ENABLE), SIDRA_INT_ADMIN);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESUME_DEVICE), uint32_t{SIDRA_ADMIN_OK});
    EXPECT_EQ(bench.interrupts(0), 1u);
    bench.write32(SIDRA_REG_INT_STATUS, SIDRA_INT_ADMIN);
    bench.write32(SIDRA_REG_INT_ENABLE, SIDRA_INT_FAULT);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), uint32_t{SIDRA_ADMIN_OK});
    EXPECT_EQ(bench.interrupts(0), 1u);
}

TEST(Registers, FaultsRaiseTheAdminVector) {
    Bench bench;
    Queue& queue = bench.context().queue();
    bench.write32(SIDRA_REG_INT_ENABLE, SIDRA_INT_FAULT);
    queue.submit(blank(SIDRA_CMD_INVALID));
    bench.run();
    EXPECT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_FAULTED});
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS), SIDRA_INT_FAULT);
    EXPECT_EQ(bench.interrupts(0), 1u);
    EXPECT_EQ(bench.interrupts_total(), 1u);
}

TEST(Registers, ContextTableReadsBack) {
    Bench bench({.enable = false});
    bench.write64(SIDRA_REG_CONTEXT_TABLE, 0x0001'2345'6789'a000ull);
    EXPECT_EQ(bench.read64(SIDRA_REG_CONTEXT_TABLE), 0x0001'2345'6789'a000ull);
    bench.write32(SIDRA_REG_CONTEXT_TABLE, 0x1111'2000);
    bench.write32(SIDRA_REG_CONTEXT_TABLE + 4, 0x2222);
    EXPECT_EQ(bench.read64(SIDRA_REG_CONTEXT_TABLE), 0x0000'2222'1111'2000ull);
}

TEST(Registers, NothingIsFetchedBeforeEnable) {
    Bench bench({.enable = false});
    Queue& queue = bench.context().queue();
    queue.submit(nop());
    const uint64_t calls = bench.bus().calls();
    bench.run();
    EXPECT_EQ(bench.bus().calls(), calls);
    EXPECT_EQ(queue.run_state(), uint32_t{SIDRA_QUEUE_IDLE});
    bench.enable();
    queue.doorbell();
    bench.run();
    EXPECT_TRUE(retired(queue));
    // It can also be disabled.
    bench.write32(SIDRA_REG_CONTROL, 0);
    bench.run();
    queue.submit(nop());
    bench.run();
    EXPECT_EQ(queue.timeline(), 1u);
    bench.write32(SIDRA_REG_CONTROL, SIDRA_CONTROL_ENABLE);
    queue.doorbell();
    bench.run();
    EXPECT_TRUE(retired(queue));
}

void check_after_reset(Bench& bench, uint32_t generation) {
    EXPECT_EQ(bench.read32(SIDRA_REG_GENERATION), generation);
    EXPECT_EQ(bench.read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_RESET});
    EXPECT_EQ(bench.read32(SIDRA_REG_CONTROL), 0u);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_STATUS), 0u);
    EXPECT_EQ(bench.read32(SIDRA_REG_INT_ENABLE), 0u);
    EXPECT_EQ(bench.read64(SIDRA_REG_CONTEXT_TABLE), 0u);
    EXPECT_NE(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_READY, 0u);
    EXPECT_EQ(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_STOPPED, 0u);
    EXPECT_EQ(bench.l3()[12345], 0x5a) << "L3 contents survive";
    EXPECT_FALSE(sidra_chip_pending(bench.chip()));
}

TEST(Registers, ResetClearsRegistersAndCountsGenerations) {
    Bench bench;
    Queue& queue = bench.context().queue();
    queue.submit(nop());
    bench.run();
    bench.l3()[12345] = 0x5a;
    bench.write32(SIDRA_REG_INT_ENABLE, 0x3f);
    const uint32_t generation = bench.read32(SIDRA_REG_GENERATION);
    bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE);
    EXPECT_NE(bench.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_STOPPED, 0u);

    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC ^ 1);
    bench.run();
    EXPECT_EQ(bench.read32(SIDRA_REG_GENERATION), generation);
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench.run();
    check_after_reset(bench, generation + 1);

    sidra_chip_reset(bench.chip());
    bench.run();
    check_after_reset(bench, generation + 2);

    // A doorbell from before the reset has no effect; afterwards everything works again, from start_index.
    queue.doorbell();
    bench.run();
    EXPECT_EQ(queue.timeline(), 1u);
    bench.enable();
    queue.doorbell();
    bench.run();
    EXPECT_EQ(queue.timeline(), 1u);
    EXPECT_EQ(queue.report(0).sequence, 0u);
    EXPECT_TRUE(retired(queue));
}

TEST(Registers, DoorbellsOfNobodyAreIgnored) {
    Bench bench;
    Context& context = bench.context(2);
    Queue& queue = context.queue();
    for (uint32_t c = 0; c < SIDRA_CONTEXTS_MAX; ++c) {
        for (const uint32_t q : {0u, 1u, 2u, 255u, 256u, 8191u}) {
            bench.write32(SIDRA_DOORBELL(c, q), 1);
            bench.write64(SIDRA_ARM(c, q % 256), 1);
        }
    }
    bench.run();
    EXPECT_EQ(queue.timeline(), 0u);
    queue.submit(nop());
    bench.run();
    EXPECT_TRUE(retired(queue));
}

TEST(Create, RejectsBadConfigurations) {
    EXPECT_EQ(try_create({SIDRA_CHIP_SMALL, SIDRA_CHIP_ENGINE_SCALAR, 1, 1, nullptr}), "");
    EXPECT_NE(try_create({7, SIDRA_CHIP_ENGINE_SCALAR, 1, 1, nullptr}), "");
    EXPECT_NE(try_create({SIDRA_CHIP_SMALL, 99, 1, 1, nullptr}), "");
    EXPECT_EQ(try_create({SIDRA_CHIP_SMALL, SIDRA_CHIP_ENGINE_SCALAR, SIDRA_CHIP_WORKERS_MAX, 1, nullptr}), "");
    EXPECT_NE(try_create({SIDRA_CHIP_SMALL, SIDRA_CHIP_ENGINE_SCALAR, SIDRA_CHIP_WORKERS_MAX + 1, 1, nullptr}), "");
    EXPECT_TRUE(engine_available(SIDRA_CHIP_ENGINE_AUTO));
    EXPECT_TRUE(engine_available(SIDRA_CHIP_ENGINE_SCALAR));
    sidra_chip_destroy(nullptr);
}

TEST(Create, NamesTheEngine) {
    Bench scalar({.engine = SIDRA_CHIP_ENGINE_SCALAR});
    EXPECT_STREQ(sidra_chip_engine_name(scalar.chip()), "scalar");
    Bench best;
#if defined(__aarch64__)
    const std::set<std::string> names = {"neon"};
#else
    const std::set<std::string> names = {"scalar", "avx2", "avx-vnni", "avx512", "amx"};
#endif
    EXPECT_TRUE(names.contains(sidra_chip_engine_name(best.chip())));
}

}  // namespace
}  // namespace sidra::chip_test
