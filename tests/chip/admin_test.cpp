// SPDX-License-Identifier: MIT
// Admin commands: each one, bad arguments, tags, and accesses while one is running.
#include <algorithm>
#include <random>

#include "bench.h"
#include "packets.h"

namespace sidra::chip_test {
namespace {

constexpr uint32_t kOk = SIDRA_ADMIN_OK;
constexpr uint32_t kBadArg = SIDRA_ADMIN_BAD_ARG;
constexpr uint32_t kBusError = SIDRA_ADMIN_BUS_ERROR;

std::vector<uint8_t> random_bytes(size_t n, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<uint8_t> bytes(n);
    for (uint8_t& byte : bytes) {
        byte = static_cast<uint8_t>(random());
    }
    return bytes;
}

TEST(Admin, UnknownOperations) {
    Bench bench;
    for (const uint32_t op : {0u, 11u, 12u, 15u, 23u, 100u, 255u, 0x1ffu, 0xffffu}) {
        EXPECT_EQ(bench.admin(op), uint32_t{SIDRA_ADMIN_BAD_OP}) << op;
    }
}

TEST(Admin, WorksWithoutEnabledQueues) {
    Bench bench({.enable = false});
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE), kOk);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESUME_DEVICE), kOk);
}

TEST(Admin, ScopesThatDoNotExist) {
    Bench bench;
    const uint32_t context = bench.context().index();
    for (const uint32_t op : {SIDRA_ADMIN_QUIESCE_RANGE, SIDRA_ADMIN_QUIESCE_WEIGHTS, SIDRA_ADMIN_QUIESCE_QUEUE,
                              SIDRA_ADMIN_QUIESCE_CONTEXT, SIDRA_ADMIN_RESUME_QUEUE, SIDRA_ADMIN_RESUME_CONTEXT,
                              SIDRA_ADMIN_RESET_QUEUE, SIDRA_ADMIN_RESET_CONTEXT}) {
        for (const uint64_t bad : {uint64_t{SIDRA_CONTEXTS_MAX}, uint64_t{1} << 32, ~uint64_t{0}}) {
            EXPECT_EQ(bench.admin(op, bad, 0, kPage), kBadArg) << op << " " << bad;
        }
    }
    for (const uint32_t op : {SIDRA_ADMIN_QUIESCE_QUEUE, SIDRA_ADMIN_RESUME_QUEUE, SIDRA_ADMIN_RESET_QUEUE}) {
        for (const uint64_t bad : {uint64_t{SIDRA_QUEUES_PER_CONTEXT_MAX}, uint64_t{1} << 32, ~uint64_t{0}}) {
            EXPECT_EQ(bench.admin(op, context, bad), kBadArg) << op << " " << bad;
        }
    }
    for (const uint64_t bad : {uint64_t{SIDRA_WEIGHTS_MAX}, uint64_t{1} << 32, ~uint64_t{0}}) {
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_WEIGHTS, context, bad), kBadArg);
    }
    // A context that was never valid has nothing in flight.
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_CONTEXT, 0), kOk);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_QUIESCE_QUEUE, 0, 5), kOk);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_RESUME_CONTEXT, 0), kOk);
}

TEST(Admin, TestDma) {
    Bench bench;
    Bus& bus = bench.bus();
    const uint64_t src = bus.alloc(2 * kPage);
    const uint64_t dst = bus.alloc(2 * kPage);
    const auto data = random_bytes(2 * kPage, 5);
    bus.write(src, data.data(), data.size());
    std::vector<uint8_t> want(2 * kPage);
    for (const auto& [from, to, n] :
         {std::tuple{0u, 0u, 4096u}, {1u, 3u, 1u}, {4090u, 17u, 4000u}, {33u, 4095u, 4096u}, {5u, 4000u, 7u}}) {
        EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, src + from, dst + to, n), kOk) << n;
        std::copy_n(data.begin() + from, n, want.begin() + to);
        std::vector<uint8_t> got(2 * kPage);
        bus.read(dst, got.data(), got.size());
        EXPECT_EQ(got, want);
    }
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, src, dst, 4097), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, src, dst, ~0ull), kBadArg);
    // An address that wraps is refused one way or another, without asking the host for a wrapped range (the bus
    // checks).
    bus.set_outside_refused(true);
    const uint32_t wraps = bench.admin(SIDRA_ADMIN_TEST_DMA, ~0ull - 15, dst, 32);
    EXPECT_TRUE(wraps == kBadArg || wraps == kBusError) << wraps;
    bus.set_access(src, kPage, Access::kRefused);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, src, dst, 8), kBusError);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, src + kPage, src, 8), kBusError);
    bus.set_access(src, kPage, Access::kReadOnly);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, src, dst, 8), kOk);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, dst, src, 8), kBusError);
    EXPECT_GE(bench.telemetry().dma_errors, 3u);
}

TEST(Admin, NvmKeepsWhatIsWritten) {
    Bench bench;
    Bus& bus = bench.bus();
    const uint64_t size = bench.read64(SIDRA_REG_NVM_SIZE);
    const uint64_t src = bus.alloc(65536);
    const uint64_t dst = bus.alloc(65536);
    const auto data = random_bytes(65536, 6);
    bus.write(src, data.data(), data.size());
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_NVM_READ, 0, dst, 4096), kOk);
    std::vector<uint8_t> got(4096, 1);
    bus.read(dst, got.data(), got.size());
    EXPECT_EQ(got, std::vector<uint8_t>(4096, 0)) << "NVM of a fresh array is zero";

    EXPECT_EQ(bench.admin(SIDRA_ADMIN_NVM_WRITE, 0, src, 65536), kOk);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_NVM_WRITE, size - 77, src + 1, 77), kOk);
    sidra_chip_reset(bench.chip());
    bench.run();
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_NVM_READ, 3, dst + 5, 65536 - 8), kOk);
    got.resize(65536 - 8);
    bus.read(dst + 5, got.data(), got.size());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), data.begin() + 3));
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_NVM_READ, size - 77, dst, 77), kOk);
    got.resize(77);
    bus.read(dst, got.data(), got.size());
    EXPECT_TRUE(std::equal(got.begin(), got.end(), data.begin() + 1));

    for (const uint32_t op : {SIDRA_ADMIN_NVM_READ, SIDRA_ADMIN_NVM_WRITE}) {
        EXPECT_EQ(bench.admin(op, 0, dst, 65537), kBadArg);
        EXPECT_EQ(bench.admin(op, size, dst, 1), kBadArg);
        EXPECT_EQ(bench.admin(op, size - 1, dst, 2), kBadArg);
        EXPECT_EQ(bench.admin(op, ~0ull, dst, 2), kBadArg);
        EXPECT_EQ(bench.admin(op, ~0ull - 3, dst, 65536), kBadArg);
    }
    bus.set_access(dst, kPage, Access::kRefused);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_NVM_READ, 0, dst, 16), kBusError);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_NVM_WRITE, 0, dst, 16), kBusError);
}

TEST(Admin, CrossbarHeaders) {
    Bench bench;
    Bus& bus = bench.bus();
    const uint32_t total = bench.crossbars_total();
    ASSERT_EQ(total, 8u);
    for (const sidra_hw_xbar& header : bench.xbars(0, total)) {
        EXPECT_EQ(header.uid, 0u);
        EXPECT_EQ(header.programs, 0u);
        EXPECT_EQ(header.programmed_rows, 0u);
        EXPECT_EQ(header.stuck_cells, 0u);
    }
    const uint64_t dst = bus.alloc(65536);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_READ, 0, dst, total + 1), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_READ, total, dst, 1), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_READ, ~0ull, dst, 2), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_READ, 0, dst, 1025), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, total - 1, 2), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, ~0ull, 2), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, 1ull << 32, 1), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_ERASE, 0, total), kOk);
    bus.set_access(dst, kPage, Access::kRefused);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_READ, 0, dst, 1), kBusError);
}

TEST(Admin, CrossbarReportsOfAFactoryNewChip) {
    for (const uint32_t level : {SIDRA_CHIP_FAST, SIDRA_CHIP_ACCURATE}) {
        Bench bench({.level = level});
        sidra_hw_xbar_report nothing{};
        nothing.level = level == SIDRA_CHIP_FAST ? SIDRA_XBAR_EXACT : SIDRA_XBAR_PULSED;
        const auto reports = bench.reports(0, bench.crossbars_total());
        for (const sidra_hw_xbar_report& report : reports) EXPECT_EQ(std::memcmp(&report, &nothing, sizeof nothing), 0);
    }
}

TEST(Admin, CrossbarReportsInRangeOnly) {
    Bench bench({.profile = SIDRA_CHIP_Y1});
    Bus& bus = bench.bus();
    const uint32_t total = bench.crossbars_total();
    ASSERT_EQ(total, 6400u);
    const uint64_t dst = bus.alloc(65536);
    bus.store64(dst, 77);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_REPORT, 0, dst, 65), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_REPORT, total - 1, dst, 2), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_REPORT, total, dst, 1), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_REPORT, ~0ull, dst, 2), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_REPORT, 0, dst, ~0ull), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_REPORT, 1ull << 32, dst, 1), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_REPORT, 0, dst, 0), kOk);
    EXPECT_EQ(bus.load64(dst), 77u) << "nothing was stored";
    EXPECT_EQ(bench.reports(total - 64, 64).size(), 64u);
    bus.set_access(dst, kPage, Access::kRefused);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_XBAR_REPORT, 0, dst, 1), kBusError);
}

TEST(Admin, L3Zero) {
    Bench bench;
    const uint64_t size = bench.l3_size();
    std::memset(bench.l3(), 0x77, size);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_L3_ZERO, 2 * kPage, 3 * kPage), kOk);
    for (uint64_t at = 0; at < size; ++at) {
        ASSERT_EQ(bench.l3()[at], at >= 2 * kPage && at < 5 * kPage ? 0 : 0x77) << at;
    }
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_L3_ZERO, 1, kPage), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_L3_ZERO, 0, 100), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_L3_ZERO, size, kPage), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_L3_ZERO, size - kPage, 2 * kPage), kBadArg);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_L3_ZERO, ~0ull - kPage + 1, 2 * kPage), kBadArg);
    EXPECT_EQ(bench.l3()[0], 0x77);
    EXPECT_EQ(bench.l3()[size - 1], 0x77);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_L3_ZERO, 0, size), kOk);
    EXPECT_EQ(std::count(bench.l3(), bench.l3() + size, 0), static_cast<ptrdiff_t>(size));
}

TEST(Admin, ASecondCommandWhileBusyIsNotExecuted) {
    Bench bench;
    Bus& bus = bench.bus();
    const uint64_t src = bus.alloc(kPage);
    const uint64_t dst = bus.alloc(kPage);
    bus.store64(src, 42);
    ASSERT_TRUE(sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, 1));
    const uint32_t first = bench.start_admin(SIDRA_ADMIN_QUIESCE_DEVICE);
    EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), SIDRA_ADMIN_BUSY | first << 16);
    bench.run();
    EXPECT_NE(bench.read32(SIDRA_REG_ADMIN_STATUS) & SIDRA_ADMIN_BUSY, 0u);
    bench.start_admin(SIDRA_ADMIN_TEST_DMA, src, dst, 8);
    bench.run();
    EXPECT_EQ(bus.load64(dst), 0u);
    // Ended by a reset.
    bench.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench.run();
    const uint32_t status = bench.read32(SIDRA_REG_ADMIN_STATUS);
    EXPECT_EQ(status & SIDRA_ADMIN_BUSY, 0u);
    EXPECT_EQ(status & SIDRA_ADMIN_RESULT_MASK, uint32_t{SIDRA_ADMIN_ABORTED});
    sidra_chip_set_knob(bench.chip(), SIDRA_KNOB_NO_QUIESCE_ACK, 0);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, src, dst, 8), kOk);
    EXPECT_EQ(bus.load64(dst), 42u);
}

TEST(Admin, TestDmaDoesNotNeedQueues) {
    Bench bench;
    bench.admin(SIDRA_ADMIN_QUIESCE_DEVICE);
    const uint64_t at = bench.bus().alloc(kPage);
    bench.bus().store64(at, 7);
    EXPECT_EQ(bench.admin(SIDRA_ADMIN_TEST_DMA, at, at + 8, 8), kOk);
    EXPECT_EQ(bench.bus().load64(at + 8), 7u);
}

TEST(Admin, AFinishedCommandDoesNotWaitForASliceOfAQueue) {
    Bench bench;
    Context& context = bench.context();
    Queue& queue = context.queue();
    const uint64_t at = context.alloc(kPage), page = bench.bus().alloc(kPage);
    queue.submit(copy(at, at + 64, 64));
    const uint32_t tag = bench.start_admin(SIDRA_ADMIN_TEST_DMA, page, page + 8, 8);
    EXPECT_TRUE(bench.run_once());
    EXPECT_EQ(bench.read32(SIDRA_REG_ADMIN_STATUS), kOk | tag << 16);
    EXPECT_EQ(queue.timeline(), 0u);
    EXPECT_TRUE(sidra_chip_pending(bench.chip()));
    bench.run();
    EXPECT_TRUE(retired(queue));
}

}  // namespace
}  // namespace sidra::chip_test
