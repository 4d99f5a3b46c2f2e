// SPDX-License-Identifier: MIT
// Offsets of ADCs, and how the firmware calibrates them: at its start and on request.
#include <algorithm>
#include <cmath>
#include <random>

#include "bench.h"
#include "packets.h"
#include "sidra_management.h"
#include "sidra_operation.h"
#include "stream.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kRows = 600, kCols = 40, kTiles = 3;  // above each other

uint64_t pair(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

// A chip with an object of three tiles, and a mailbox once its firmware runs.
class Rig {
   protected:
    explicit Rig(uint32_t level) : level_(level), bench_({.level = level, .stuck_ppm = SIDRA_CHIP_STUCK_NONE}) {
        std::mt19937 random(3);
        std::vector<int8_t> w(size_t{kRows} * kCols);
        for (int8_t& each : w) each = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
        std::vector<uint8_t> x(kRows);
        for (uint8_t& each : x) each = static_cast<uint8_t>(random());
        weights_ = context_.weights({.rows = kRows, .cols = kCols, .crossbars = {0, 3, 6}});
        const uint64_t from = context_.put(w);
        for (uint32_t row = 0; row < kRows; row += SIDRA_XBAR_ROWS)
            run(program(weights_, row, std::min(kRows - row, SIDRA_XBAR_ROWS), 0, kCols, from + uint64_t{row} * kCols,
                        kCols));
        in_ = context_.put(x);
        out_ = context_.alloc(kCols * 4);
        requests_ = bench_.bus().alloc_page();
        replies_ = bench_.bus().alloc_page();
        payload_ = bench_.bus().alloc_page();
    }
    bool knob(uint32_t which, int64_t value) {
        return sidra_chip_set_knob(bench_.chip(), which, static_cast<uint64_t>(value));
    }
    void run(const sidra_cmd& cmd) {
        queue_.submit(cmd);
        bench_.run();
        ASSERT_TRUE(retired(queue_));
    }
    // The next product since programming; the caller counts.
    std::vector<int32_t> product() {
        run(mvm(static_cast<uint16_t>(weights_), SIDRA_TYPE_U8, SIDRA_TYPE_S32, 1, in_, kRows, out_, kCols * 4));
        return context_.get<int32_t>(out_, kCols);
    }
    void pass(uint64_t ns) {
        bench_.clock() += ns;
        bench_.run();
    }
    void boot() {
        for (int i = 0; i < 100 && !(bench_.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_FIRMWARE_ALIVE); i++) pass(kMs);
        ASSERT_TRUE(bench_.read32(SIDRA_REG_STATUS) & SIDRA_STATUS_FIRMWARE_ALIVE);
        asked_ = 0;
        bench_.write64(SIDRA_REG_MAILBOX_REQUEST, requests_);
        bench_.write64(SIDRA_REG_MAILBOX_REPLY, replies_);
        bench_.write32(SIDRA_REG_MAILBOX_ENTRIES, 2);
    }
    sidra_mailbox_msg ask(uint16_t opcode, uint32_t length, uint64_t word = 0) {
        sidra_mailbox_msg message{}, reply{};
        message.opcode = opcode;
        message.length = length;
        message.payload = payload_;
        message.inline_data[0] = word;
        bench_.bus().write(requests_ + asked_ % 2 * sizeof message, &message, sizeof message);
        bench_.write32(SIDRA_REG_MAILBOX_DOORBELL, asked_ + 1);
        for (int i = 0; i < 100 && bench_.read32(SIDRA_REG_MAILBOX_REPLY_INDEX) == asked_; i++) pass(kMs / 10);
        bench_.bus().read(replies_ + asked_ % 2 * sizeof reply, &reply, sizeof reply);
        bench_.write32(SIDRA_REG_MAILBOX_REPLY_READ, ++asked_);
        return reply;
    }
    sidra_operation calibrate(uint32_t first, uint32_t count) {
        const auto reply = ask(SIDRA_MAILBOX_CALIBRATE, 8, pair(first, count));
        EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_ACCEPTED});
        for (int i = 0; i < 10; i++) pass(kMs);
        EXPECT_EQ(ask(SIDRA_MAILBOX_OP_QUERY, sizeof(sidra_operation), reply.inline_data[0]).status,
                  uint32_t{SIDRA_MAILBOX_OK});
        sidra_operation operation{};
        bench_.bus().read(payload_, &operation, sizeof operation);
        EXPECT_EQ(operation.state, uint32_t{SIDRA_OPERATION_DONE});
        EXPECT_EQ(operation.kind, uint32_t{SIDRA_OPERATION_CALIBRATE});
        EXPECT_EQ(operation.done, count);
        return operation;
    }
    // The successive products of a chip without offsets and without firmware.
    std::vector<std::vector<int32_t>> expected(uint32_t products) {
        std::vector<std::vector<int32_t>> all;
        Rig other(level_);
        for (uint32_t i = 0; i < products; i++) all.push_back(other.product());
        return all;
    }
    static std::vector<int32_t> plus(std::vector<int32_t> sums, int32_t offset) {
        for (int32_t& each : sums) each += offset;
        return sums;
    }

    const uint32_t level_;
    Bench bench_;
    Context& context_ = bench_.context();
    Queue& queue_ = context_.queue();
    uint32_t weights_ = 0;
    uint64_t in_ = 0, out_ = 0, requests_ = 0, replies_ = 0, payload_ = 0;
    uint32_t asked_ = 0;
};

class Calibrate : public testing::TestWithParam<uint32_t>, protected Rig {
   protected:
    Calibrate() : Rig(GetParam()) {}
};

TEST_P(Calibrate, WithoutAnOffsetEveryBitIsAsBefore) {
    const auto good = expected(3);
    EXPECT_EQ(product(), good[0]);
    EXPECT_EQ(bench_.telemetry().calibrated_ns, 0u) << "nobody has, yet";
    boot();
    EXPECT_EQ(product(), good[1]);
    const sidra_telemetry started = bench_.telemetry();
    EXPECT_GT(started.calibrated_ns, 0u);
    EXPECT_LT(started.calibrated_ns, started.clock_ns);
    const sidra_operation found = calibrate(0, 8);
    EXPECT_GT(bench_.telemetry().calibrated_ns, started.calibrated_ns);
    EXPECT_EQ(bench_.telemetry().untrimmed_xbars, 0u);
    EXPECT_EQ(found.off + found.failed + found.worst_ppm, 0u);
    EXPECT_EQ(product(), good[2]);
}

TEST_P(Calibrate, TheStartOfTheFirmwareTakesAnOffsetAway) {
    const auto good = expected(2);
    ASSERT_TRUE(knob(SIDRA_KNOB_ADC_OFFSET, -777));
    EXPECT_EQ(product(), plus(good[0], -777 * int32_t{kTiles}));
    boot();
    EXPECT_EQ(product(), good[1]);
}

TEST_P(Calibrate, OnesThatComeLaterAreTakenAwayWhenItIsAsked) {
    const auto good = expected(6);
    boot();
    ASSERT_TRUE(knob(SIDRA_KNOB_ADC_OFFSET, 1000));
    EXPECT_EQ(product(), plus(good[0], 3000));
    const sidra_telemetry before = bench_.telemetry();
    const sidra_operation some = calibrate(3, 2);
    EXPECT_EQ(some.cells, 2u);
    EXPECT_EQ(some.off, 2u);
    EXPECT_EQ(some.failed, 0u);
    EXPECT_EQ(some.worst_ppm, 1000u);
    EXPECT_EQ(some.time_ns, 16 * 15u) << "side by side";
    EXPECT_EQ(bench_.telemetry().energy_pj - before.energy_pj, some.energy_pj);
    EXPECT_EQ(product(), plus(good[1], 2000)) << "crossbar 3, of 0, 3 and 6";
    EXPECT_EQ(calibrate(0, 8).off, 6u);
    EXPECT_EQ(product(), good[2]);
    EXPECT_EQ(calibrate(0, 8).off, 0u) << "nothing has changed since";
    ASSERT_TRUE(knob(SIDRA_KNOB_ADC_OFFSET, 0));
    EXPECT_EQ(product(), plus(good[3], -3000)) << "trims stay";
    // Panic, watchdog: the core calibrates at each of its starts.
    ASSERT_TRUE(knob(SIDRA_KNOB_FIRMWARE_PANIC, 1));
    for (int i = 0; i < 5000 && bench_.read32(SIDRA_REG_BOOT_REASON) != SIDRA_BOOT_PANIC; i++) pass(kMs);
    EXPECT_EQ(product(), plus(good[4], -3000)) << "and until then they stay, too";
    boot();
    EXPECT_EQ(product(), good[5]);
}

TEST_P(Calibrate, WhatATrimDoesNotReachIsMadeSmallerAndCounted) {
    const auto good = expected(3);
    ASSERT_TRUE(knob(SIDRA_KNOB_ADC_OFFSET, 5000));
    boot();
    const int32_t left = 5000 - static_cast<int32_t>(SIDRA_MGMT_SEQUENCER_TRIM_MAX);
    EXPECT_EQ(product(), plus(good[0], int32_t{kTiles} * left));
    const sidra_operation found = calibrate(0, 8);
    EXPECT_EQ(found.failed, 8u);
    EXPECT_EQ(found.off, 0u) << "as far as they go already";
    EXPECT_NEAR(static_cast<double>(found.worst_ppm), 5000, 2);
    EXPECT_EQ(bench_.telemetry().untrimmed_xbars, 8u);
    ASSERT_TRUE(knob(SIDRA_KNOB_ADC_OFFSET, 500));
    EXPECT_EQ(calibrate(2, 6).failed, 0u);
    EXPECT_EQ(bench_.telemetry().untrimmed_xbars, 2u);
    EXPECT_EQ(calibrate(0, 2).failed, 0u);
    EXPECT_EQ(bench_.telemetry().untrimmed_xbars, 0u);
    EXPECT_EQ(product(), good[1]);
}

TEST_P(Calibrate, AResetOfTheDeviceClearsTrims) {
    const auto good = expected(2);
    ASSERT_TRUE(knob(SIDRA_KNOB_ADC_OFFSET, 100));
    boot();
    ASSERT_TRUE(knob(SIDRA_KNOB_FIRMWARE_HANG, 1));
    pass(0);
    bench_.write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
    bench_.run();
    bench_.enable();
    queue_.set_next(0);
    EXPECT_EQ(product(), plus(good[0], 300)) << "the core has not got to run";
    boot();
    EXPECT_EQ(product(), good[1]);
}

TEST_P(Calibrate, TrimsAreSavedWithTheChip) {
    const auto good = expected(1);
    boot();
    ASSERT_TRUE(knob(SIDRA_KNOB_ADC_OFFSET, 42));
    calibrate(0, 4);
    const Stream stream = save(bench_);
    const uint64_t calibrated = bench_.telemetry().calibrated_ns;
    bench_.replace_chip();
    ASSERT_EQ(load(bench_, stream), "");
    EXPECT_EQ(bench_.telemetry().calibrated_ns, calibrated);
    EXPECT_EQ(product(), plus(good[0], -2 * 42)) << "crossbars 0 and 3 have theirs, and the knob is gone";
    Stream bad = stream;
    const std::string tag = "TRIM";
    const auto at = std::search(bad.begin(), bad.end(), tag.begin(), tag.end());
    ASSERT_NE(at, bad.end());
    at[8] = 8;  // a crossbar that does not exist
    bench_.replace_chip();
    EXPECT_EQ(load(bench_, bad), "saved state: bad trim of ADCs");
}

INSTANTIATE_TEST_SUITE_P(Levels, Calibrate, testing::Values(SIDRA_CHIP_FAST, SIDRA_CHIP_ACCURATE),
                         [](const auto& one) { return one.param == SIDRA_CHIP_FAST ? "fast" : "accurate"; });

}  // namespace
}  // namespace sidra::chip_test
