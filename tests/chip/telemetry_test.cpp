// SPDX-License-Identifier: MIT
// Telemetry: exact counters for known work.
#include <utility>

#include "bench.h"
#include "packets.h"
#include "stream.h"

namespace sidra::chip_test {
namespace {

TEST(Telemetry, Header) {
    Bench bench;
    const sidra_telemetry t = bench.telemetry();
    EXPECT_EQ(t.magic, SIDRA_TELEMETRY_MAGIC);
    EXPECT_EQ(t.version, SIDRA_TELEMETRY_VERSION);
    EXPECT_EQ(t.size, sizeof(sidra_telemetry));
    EXPECT_NE(t.valid & SIDRA_TELEMETRY_HAS_COUNTERS, 0u);
    EXPECT_EQ(t.valid & (SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_POWER), 0u) << "no firmware";
    EXPECT_EQ(t.xbars_total, bench.crossbars_total());
    EXPECT_EQ(t.xbars_programmed, 0u);
    EXPECT_EQ(t.contexts, 0u);
    EXPECT_EQ(t.queues, 0u);
    for (const uint64_t word : t.reserved2) {
        EXPECT_EQ(word, 0u);
    }
    bench.clock() += 123'456;
    EXPECT_GE(bench.telemetry().clock_ns, t.clock_ns + 123'456);
}

TEST(Telemetry, IsReadOnlyAndReadableInHalves) {
    Bench bench;
    bench.write64(SIDRA_BAR_TELEMETRY, 0);
    bench.write32(SIDRA_BAR_TELEMETRY + 4, 0);
    EXPECT_EQ(bench.read32(SIDRA_BAR_TELEMETRY), SIDRA_TELEMETRY_MAGIC);
    EXPECT_EQ(bench.read32(SIDRA_BAR_TELEMETRY + 4), SIDRA_TELEMETRY_VERSION | sizeof(sidra_telemetry) << 16);
    EXPECT_EQ(bench.read64(SIDRA_BAR_TELEMETRY + sizeof(sidra_telemetry)), 0u);
    EXPECT_EQ(bench.read64(SIDRA_BAR_TELEMETRY + kPage - 8), 0u);
}

TEST(Telemetry, IsOfTheMomentWhenItsFirstWordWasRead) {
    Bench bench;
    constexpr uint64_t kClock = SIDRA_BAR_TELEMETRY + offsetof(sidra_telemetry, clock_ns);
    EXPECT_EQ(bench.read64(kClock), 0u) << "nothing was taken yet";
    for (const unsigned size : {4u, 8u}) {
        bench.clock() += 1'000;
        sidra_chip_mmio_read(bench.chip(), SIDRA_BAR_TELEMETRY, size);
        const uint64_t taken = bench.read64(kClock);
        EXPECT_GE(taken, 1'000u);
        bench.clock() += 1'000;
        EXPECT_EQ(bench.read32(SIDRA_BAR_TELEMETRY + 4) & 0xffff, SIDRA_TELEMETRY_VERSION) << "not the first word";
        EXPECT_EQ(bench.read64(kClock), taken);
        Bench other;
        ASSERT_EQ(load(other, save(bench)), "");
        EXPECT_EQ(other.read64(kClock), taken) << "a guest that was in the middle does not notice";
    }
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench.run();
    EXPECT_EQ(bench.read64(kClock), 0u);
}

TEST(Telemetry, MmioCountsAreExact) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const auto reads = [&] {
        bench.read64(SIDRA_BAR_TELEMETRY);
        return bench.read64(SIDRA_BAR_TELEMETRY + offsetof(sidra_telemetry, mmio_reads));
    };
    const uint64_t first = reads();
    EXPECT_EQ(reads(), first + 2);
    for (unsigned i = 0; i < 5; ++i) {
        bench.read32(SIDRA_REG_ID);
    }
    EXPECT_EQ(reads(), first + 9);

    const sidra_telemetry before = bench.telemetry();
    for (unsigned i = 0; i < 3; ++i) {
        queue.submit(nop());
    }
    queue.arm(2);
    bench.write32(SIDRA_REG_SCRATCH, 1);
    bench.run();
    const sidra_telemetry after = bench.telemetry();
    EXPECT_EQ(after.doorbells - before.doorbells, 3u);
    EXPECT_EQ(after.arms - before.arms, 1u);
    EXPECT_EQ(after.mmio_writes - before.mmio_writes, 5u);
    EXPECT_EQ(after.interrupts - before.interrupts, 1u);
    EXPECT_EQ(after.packets - before.packets, 3u);
    EXPECT_EQ(after.contexts, 1u);
    EXPECT_EQ(after.queues, 1u);
}

TEST(Telemetry, WorkIsCounted) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t a = context.alloc(65536), b = context.alloc(65536);
    const uint32_t weights = context.weights({.rows = 300, .cols = 260});  // 2 x 2 tiles
    const sidra_telemetry t0 = bench.telemetry();

    queue.submit(program(weights, 0, 300, 0, 260, context.alloc(300 * 260), 260));
    bench.run();
    const sidra_telemetry t1 = bench.telemetry();
    EXPECT_EQ(t1.programmed_cells - t0.programmed_cells, 300u * 260);
    EXPECT_EQ(t1.xbars_programmed, 4u);

    queue.submit(mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 7, a, 300, b, 260 * 4));
    bench.run();
    const sidra_telemetry t2 = bench.telemetry();
    EXPECT_EQ(t2.mvms - t1.mvms, 7u * 4);
    EXPECT_EQ(t2.macs - t1.macs, 7u * 300 * 260);

    queue.submit(sort(SIDRA_TYPE_F32, 30, 50, a, b));
    bench.run();
    const sidra_telemetry t3 = bench.telemetry();
    EXPECT_EQ(t3.vec_elements - t2.vec_elements, 30u * 50);

    queue.submit(copy(b, a, 12345));
    queue.submit(copy_2d(b, 100, a, 200, 99, 7));
    bench.run();
    const sidra_telemetry t4 = bench.telemetry();
    EXPECT_EQ(t4.copy_bytes - t3.copy_bytes, 12345u + 99 * 7);

    const std::vector<sidra_cmd> body = {nop(), nop(), nop()};
    queue.submit(call(context.put(body), 3));
    bench.run();
    const sidra_telemetry t5 = bench.telemetry();
    EXPECT_EQ(t5.packets - t4.packets, 1u);
    EXPECT_EQ(t5.call_packets - t4.call_packets, 3u);

    queue.submit(blank(SIDRA_CMD_INVALID));
    bench.run();
    const sidra_telemetry t6 = bench.telemetry();
    EXPECT_EQ(t6.faults - t5.faults, 1u);
    EXPECT_EQ(t6.packets, t5.packets);
    EXPECT_EQ(t6.packets, 6u);
    EXPECT_EQ(t6.mvms, 28u);
    EXPECT_EQ(t6.dma_errors, 0u);
    EXPECT_GT(t6.busy_ns, 0u);
    EXPECT_EQ(t6.device_ps, queue.state().device_ps);
    EXPECT_EQ(t6.energy_pj, queue.state().energy_pj);
}

TEST(Telemetry, DifferentialCountsTheSameWeights) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint32_t weights =
        context.weights({.rows = 20, .cols = 130, .encoding = SIDRA_ENCODING_DIFFERENTIAL});  // 1 x 2 tiles
    queue.submit(program(weights, 0, 20, 0, 130, context.alloc(kPage), 130));
    queue.submit(mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 3, context.alloc(kPage), 20,
                     context.alloc(kPage), 520));
    bench.run();
    ASSERT_TRUE(retired(queue));
    const sidra_telemetry t = bench.telemetry();
    EXPECT_EQ(t.mvms, 6u);
    // A pair of cells does one multiply-accumulate of the model; counted by cells it is two. Both readings of "used
    // cells" are accepted.
    EXPECT_TRUE(t.macs == 3u * 20 * 130 || t.macs == 2u * 3 * 20 * 130) << t.macs;
    EXPECT_TRUE(t.programmed_cells == 20u * 130 || t.programmed_cells == 2u * 20 * 130) << t.programmed_cells;
}

TEST(Telemetry, RegistersAreInIt) {
    Bench bench;
    const auto same = [&] {
        const sidra_telemetry t = bench.telemetry();
        EXPECT_EQ(t.status, bench.read32(SIDRA_REG_STATUS));
        EXPECT_EQ(t.generation, bench.read32(SIDRA_REG_GENERATION));
        EXPECT_EQ(t.boot_reason, bench.read32(SIDRA_REG_BOOT_REASON));
        EXPECT_EQ(t.heartbeat, bench.read32(SIDRA_REG_HEARTBEAT));
        EXPECT_EQ(t.panic, bench.read32(SIDRA_REG_PANIC));
        return t;
    };
    const auto pass = [&](unsigned ms) {
        while (ms-- > 0) {
            bench.clock() += 1'000'000;
            bench.run();
        }
    };
    EXPECT_EQ(same().heartbeat, 0u);
    pass(300);
    const sidra_telemetry booted = same();
    EXPECT_NE(booted.status & SIDRA_STATUS_FIRMWARE_ALIVE, 0u);
    EXPECT_GT(booted.heartbeat, 0u);
    EXPECT_EQ(booted.boot_reason, uint32_t{SIDRA_BOOT_POWER_ON});
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_FIRMWARE_PANIC, 1));
    pass(10);
    EXPECT_NE(same().panic, 0u);
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench.run();
    EXPECT_EQ(same().generation, booted.generation + 1);
    EXPECT_EQ(same().boot_reason, uint32_t{SIDRA_BOOT_RESET});
}

TEST(Telemetry, CountersSurviveAReset) {
    Bench bench;
    Queue& queue = bench.context().queue();
    queue.submit(nop());
    bench.run();
    const sidra_telemetry before = bench.telemetry();
    sidra_chip_reset(bench.chip());
    bench.run();
    const sidra_telemetry after = bench.telemetry();
    EXPECT_EQ(after.packets, before.packets) << "since power-on";
    EXPECT_GE(after.mmio_reads, before.mmio_reads);
    EXPECT_EQ(after.contexts, 0u);
    EXPECT_EQ(after.queues, 0u);
}

TEST(Telemetry, RefusedTransfersAreDmaErrors) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t va = context.alloc(kPage);
    bench.bus().set_access(context.space().raw(va).address, kPage, Access::kRefused);
    queue.submit(fill(va, 8, 0, 8));
    bench.run();
    EXPECT_EQ(bench.telemetry().dma_errors, 1u);
    EXPECT_EQ(bench.telemetry().faults, 1u);
}

// ---- By the host itself ----

TEST(Monitoring, IsWhatRegistersAndCommandsSay) {
    Bench bench;
    bench.set_clock_step(0);
    sidra_telemetry first{}, second{};
    sidra_chip_get_telemetry(bench.chip(), &first);
    sidra_chip_get_telemetry(bench.chip(), &second);
    EXPECT_EQ(std::memcmp(&first, &second, sizeof first), 0) << "looks are not counted";
    const sidra_telemetry window = bench.telemetry();
    EXPECT_EQ(std::memcmp(&first, &window, offsetof(sidra_telemetry, mmio_reads)), 0);

    Context& context = bench.context();
    Queue& queue = context.queue();
    uint64_t changes = sidra_chip_xbar_changes(bench.chip());
    const auto changed = [&] { return std::exchange(changes, sidra_chip_xbar_changes(bench.chip())) != changes; };
    const auto same = [&] {
        const auto expected = bench.xbars(0, 8);
        std::vector<sidra_hw_xbar> headers(8);
        EXPECT_TRUE(sidra_chip_get_xbars(bench.chip(), 0, 8, headers.data()));
        EXPECT_EQ(std::memcmp(headers.data(), expected.data(), 8 * sizeof headers[0]), 0);
    };
    same();
    EXPECT_FALSE(changed());
    const uint32_t weights = context.weights({.rows = 300, .cols = 100, .crossbars = {2, 6}});
    const uint64_t data = context.alloc(65536), out = context.alloc(65536);
    queue.submit(program(weights, 0, 300, 0, 100, data, 100));
    bench.run();
    EXPECT_TRUE(changed());
    same();
    queue.submit(mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, 1, data, 300, out, 400));
    bench.run();
    ASSERT_TRUE(retired(queue));
    EXPECT_FALSE(changed()) << "products change nothing";
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, uint64_t{2} << 32 | 9));
    EXPECT_TRUE(changed());
    same();
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_STUCK_CELL, ~uint64_t{0}));
    EXPECT_TRUE(changed());
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, 2, 1), uint32_t{SIDRA_ADMIN_OK});
    EXPECT_TRUE(changed());
    same();

    std::vector<sidra_hw_xbar> one(1);
    const uint32_t all = bench.crossbars_total();
    EXPECT_TRUE(sidra_chip_get_xbars(bench.chip(), all - 1, 1, one.data()));
    EXPECT_FALSE(sidra_chip_get_xbars(bench.chip(), all, 1, one.data()));
    EXPECT_FALSE(sidra_chip_get_xbars(bench.chip(), 0, all + 1, one.data()));
    EXPECT_FALSE(sidra_chip_get_xbars(bench.chip(), UINT32_MAX, 1, one.data()));
    EXPECT_FALSE(sidra_chip_get_xbars(bench.chip(), 1, UINT32_MAX, one.data()));
}

// ---- What cells took ----

constexpr uint64_t kTenYears = 315'576'000;

struct Sums {
    uint64_t pulses = 0, reads = 0, failed = 0, clipped = 0, pulsed_cells = 0, stuck = 0, spare = 0;
};

// Sums of the crossbars' own reports.
Sums sums_of_reports(Bench& bench) {
    Sums sums;
    for (const sidra_hw_xbar_report& report : bench.reports(0, 8)) {
        sums.pulses += report.set_pulses + report.reset_pulses;
        sums.reads += report.reads;
        sums.failed += report.failed;
        sums.clipped += report.clipped;
        sums.stuck += report.stuck_cells;
        sums.spare += report.spare_columns;
        for (const uint64_t cells : report.arrived) sums.pulsed_cells += cells;
        sums.pulsed_cells += report.failed;
    }
    return sums;
}

struct Cells {
    explicit Cells(const BenchOptions& options) : bench(options) {
        std::vector<int8_t> values(256 * 200);
        for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<int8_t>(i * 37 % 255 - 127);
        run(program(weights, 0, 256, 0, 200, context.put(values), 200));
    }
    void run(const sidra_cmd& cmd) {
        queue.submit(cmd);
        bench.run();
        ASSERT_TRUE(retired(queue));
    }
    // Full scale, so that ADCs clip.
    void multiply(uint32_t batch) {
        const std::vector<int8_t> full(batch * 256, 127);
        run(mvm(static_cast<uint16_t>(weights), SIDRA_TYPE_S8, SIDRA_TYPE_S32, batch, context.put(full), 256,
                context.alloc(batch * 800), 800));
    }
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint32_t weights = context.weights({.rows = 256, .cols = 200, .crossbars = {3}});
};

TEST(TelemetryOfCells, AgreesWithTheReports) {
    Cells cells({.level = SIDRA_CHIP_ACCURATE, .stuck_ppm = 20'000});
    Bench& bench = cells.bench;
    const auto agree = [&] {
        const sidra_telemetry t = bench.telemetry();
        const Sums sums = sums_of_reports(bench);
        EXPECT_EQ(t.pulses, sums.pulses);
        EXPECT_EQ(t.reads, sums.reads);
        EXPECT_EQ(t.failed_cells, sums.failed);
        EXPECT_EQ(t.clipped, sums.clipped);
        EXPECT_EQ(t.stuck_cells, sums.stuck);
        EXPECT_EQ(t.spare_columns, sums.spare);
        return t;
    };
    const sidra_telemetry programmed = agree();
    EXPECT_GT(programmed.pulses, 256u * 200);
    EXPECT_GT(programmed.reads, programmed.pulses / 2);
    EXPECT_GT(programmed.failed_cells, 0u);
    EXPECT_GT(programmed.stuck_cells, 256u * 200 / 100);
    EXPECT_GT(programmed.spare_columns, 0u);
    cells.multiply(3);
    agree();
    ASSERT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, 0, 8), uint32_t{SIDRA_ADMIN_OK});
    const sidra_telemetry erased = bench.telemetry();
    EXPECT_EQ(sums_of_reports(bench).pulses, 0u);
    EXPECT_EQ(erased.pulses, programmed.pulses) << "since power-on";
    EXPECT_EQ(erased.failed_cells, programmed.failed_cells);
    EXPECT_EQ(erased.spare_columns, 0u) << "now";
    EXPECT_EQ(erased.stuck_cells, programmed.stuck_cells) << "now";
}

TEST(TelemetryOfCells, ARefreshProgramsTheCellsThatItPulses) {
    Cells cells({.level = SIDRA_CHIP_ACCURATE, .stuck_ppm = SIDRA_CHIP_STUCK_NONE});
    EXPECT_EQ(cells.bench.telemetry().programmed_cells, 256u * 200);
    EXPECT_EQ(sums_of_reports(cells.bench).pulsed_cells, 256u * 200);
    ASSERT_TRUE(sidra_chip_set_knob(cells.bench.chip(), SIDRA_KNOB_AGE_S, kTenYears));
    cells.run(refresh(cells.weights, 0, 256, 0, 200));
    const uint64_t programmed = cells.bench.telemetry().programmed_cells;
    EXPECT_GT(programmed, 256u * 200 + 256 * 200 / 10);
    EXPECT_EQ(programmed, sums_of_reports(cells.bench).pulsed_cells);
}

TEST(TelemetryOfCells, OfExactOnesAreZeroButForThoseThatAreStuck) {
    Cells cells({});
    cells.multiply(2);
    const auto stick = [&](uint64_t cell) {
        return sidra_chip_set_knob(cells.bench.chip(), SIDRA_KNOB_STUCK_CELL, cell);
    };
    ASSERT_TRUE(stick(uint64_t{3} << 32 | 1 << 24 | 7));
    ASSERT_TRUE(stick(uint64_t{3} << 32 | 1 << 24 | 8));  // that cell again
    ASSERT_TRUE(stick(uint64_t{5} << 32 | 1 << 16 | 9));
    sidra_telemetry t = cells.bench.telemetry();
    EXPECT_EQ(t.stuck_cells, 2u);
    EXPECT_EQ(t.pulses + t.reads + t.failed_cells + t.clipped + t.spare_columns, 0u);
    cells.bench.set_clock_step(0);
    ASSERT_TRUE(stick(~uint64_t{0}));
    EXPECT_EQ(cells.bench.telemetry().stuck_cells, 0u);
}

}  // namespace
}  // namespace sidra::chip_test
