// SPDX-License-Identifier: MIT
// The firmware's refresh campaigns through the mailbox, on real crossbars: drifted cells are found and refreshed, one
// operation at a time, and a campaign pauses while the device is stopped.
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <random>

#include "bench.h"
#include "folder.h"
#include "packets.h"
#include "sidra_management.h"
#include "sidra_operation.h"

namespace sidra::chip_test {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1000 * kUs;
constexpr uint64_t kGetPolicy = 0, kSetPolicy = 1, kVerify = 2;
constexpr uint32_t kRows = 256, kCols = 200;
constexpr uint64_t kPpm = 30'000;  // 3 % of G_max
constexpr uint64_t kTenYears = 315'576'000;

uint64_t pair(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

class Campaign : public testing::Test {
   protected:
    void open(const BenchOptions& options) {
        bench_.emplace(options);
        for (int i = 0; i < 100 && !(bench().read32(SIDRA_REG_STATUS) & SIDRA_STATUS_FIRMWARE_ALIVE); i++) pass(kMs);
        requests_ = bench().bus().alloc_page();
        replies_ = bench().bus().alloc_page();
        payload_ = bench().bus().alloc_page();
        open_mailbox();
    }
    void open_accurate(uint32_t stuck_ppm = SIDRA_CHIP_STUCK_NONE) {
        open({.level = SIDRA_CHIP_ACCURATE, .stuck_ppm = stuck_ppm});
    }
    void open_mailbox() {
        asked_ = taken_ = 0;
        bench().write64(SIDRA_REG_MAILBOX_REQUEST, requests_);
        bench().write64(SIDRA_REG_MAILBOX_REPLY, replies_);
        bench().write32(SIDRA_REG_MAILBOX_ENTRIES, kEntries);
        bench().write32(SIDRA_REG_MAILBOX_REPLY_READ, 0);
    }
    Bench& bench() { return *bench_; }
    void pass(uint64_t ns) {
        bench().clock() += ns;
        bench().run();
    }
    void put(uint16_t opcode, uint32_t length, std::array<uint64_t, 3> words = {}, uint64_t payload = 0) {
        sidra_mailbox_msg message{};
        message.opcode = opcode;
        message.length = length;
        message.payload = payload;
        std::copy(words.begin(), words.end(), message.inline_data);
        bench().bus().write(requests_ + asked_++ % kEntries * sizeof message, &message, sizeof message);
    }
    void ring() { bench().write32(SIDRA_REG_MAILBOX_DOORBELL, asked_); }
    sidra_mailbox_msg take() {
        sidra_mailbox_msg reply{};
        EXPECT_NE(bench().read32(SIDRA_REG_MAILBOX_REPLY_INDEX), taken_) << "no reply";
        bench().bus().read(replies_ + taken_ % kEntries * sizeof reply, &reply, sizeof reply);
        bench().write32(SIDRA_REG_MAILBOX_REPLY_READ, ++taken_);
        return reply;
    }
    sidra_mailbox_msg ask(uint16_t opcode, uint32_t length, std::array<uint64_t, 3> words = {}, uint64_t payload = 0) {
        put(opcode, length, words, payload);
        ring();
        for (int i = 0; i < 1000 && bench().read32(SIDRA_REG_MAILBOX_REPLY_INDEX) == taken_; i++) pass(100 * kUs);
        return take();
    }
    uint32_t begin(bool refresh, uint32_t first, uint32_t count, uint64_t ppm = kPpm) {
        const auto reply = refresh ? ask(SIDRA_MAILBOX_ISPP_REFRESH, 16, {pair(first, count), ppm})
                                   : ask(SIDRA_MAILBOX_ISPP_CAMPAIGN, 24, {kVerify, pair(first, count), ppm});
        EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_ACCEPTED});
        return static_cast<uint32_t>(reply.inline_data[0]);
    }
    sidra_operation query(uint32_t number = 0) {
        const auto reply = ask(SIDRA_MAILBOX_OP_QUERY, sizeof(sidra_operation), {number}, payload_);
        EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_OK});
        sidra_operation operation{};
        bench().bus().read(payload_, &operation, sizeof operation);
        EXPECT_EQ(reply.inline_data[0], pair(operation.number, operation.state));
        EXPECT_EQ(reply.inline_data[1], operation.done * 100 / operation.count);
        EXPECT_EQ(reply.inline_data[2], operation.off);
        return operation;
    }
    sidra_operation done(uint32_t number) {
        sidra_operation operation = query(number);
        for (int i = 0; i < 100 && operation.state == SIDRA_OPERATION_RUNNING; i++) {
            pass(kMs);
            operation = query(number);
        }
        EXPECT_EQ(operation.number, number);
        return operation;
    }
    sidra_operation all(bool refresh, uint32_t first, uint32_t count) {
        const sidra_operation operation = done(begin(refresh, first, count));
        EXPECT_EQ(operation.state, uint32_t{SIDRA_OPERATION_DONE});
        EXPECT_EQ(operation.done, count);
        return operation;
    }
    void program_tiles(const std::vector<uint32_t>& crossbars) {
        std::mt19937 random(5);
        std::vector<int8_t> w(size_t{kRows} * kCols);
        for (int8_t& each : w) each = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
        Context& context = bench().context();
        Queue& queue = context.queue();
        const uint64_t from = context.put(w);
        for (const uint32_t crossbar : crossbars)
            queue.submit(program(context.weights({.rows = kRows, .cols = kCols, .crossbars = {crossbar}}), 0, kRows, 0,
                                 kCols, from, kCols));
        bench().run();
        ASSERT_TRUE(retired(queue));
    }
    sidra_hw_xbar_report report(uint32_t xbar) { return bench().reports(xbar, 1)[0]; }
    // All pulses that these crossbars have had so far.
    uint64_t pulses(uint32_t first, uint32_t count) {
        uint64_t sum = 0;
        for (const auto& each : bench().reports(first, count)) sum += each.set_pulses + each.reset_pulses;
        return sum;
    }

    static constexpr uint32_t kEntries = 8, kCells = kRows * kCols;
    std::optional<Bench> bench_;
    uint64_t requests_ = 0, replies_ = 0, payload_ = 0;
    uint32_t asked_ = 0, taken_ = 0;
};

TEST_F(Campaign, WhatDriftedIsFoundAndMended) {
    open_accurate();
    program_tiles({1, 6});
    const sidra_operation fresh = all(false, 0, 8);
    EXPECT_EQ(fresh.number, 1u);
    EXPECT_EQ(fresh.kind, uint32_t{SIDRA_OPERATION_VERIFY});
    EXPECT_EQ(fresh.cells, 2u * kCells) << "and nothing of crossbars without weights";
    EXPECT_LT(fresh.off, fresh.cells / 100);
    EXPECT_EQ(fresh.pulses, 0u);
    EXPECT_EQ(fresh.time_ns, 2u * kRows * 60);
    // 0.9 % of G_max is the deviation of a normal distribution; so much is the mean of its absolute value.
    EXPECT_NEAR(static_cast<double>(fresh.error_sum) / static_cast<double>(fresh.cells), 9000 * 0.798, 1000);

    ASSERT_TRUE(sidra_chip_set_knob(bench().chip(), SIDRA_KNOB_AGE_S, kTenYears));
    const sidra_operation old = all(false, 0, 8);
    EXPECT_EQ(old.number, 2u);
    EXPECT_GT(old.off, old.cells / 10);
    EXPECT_GT(old.worst_ppm, 100'000u);
    const uint64_t given[] = {pulses(1, 1), pulses(6, 1)};
    const sidra_telemetry before = bench().telemetry();
    const sidra_operation mended = all(true, 6, 1);
    const sidra_telemetry after = bench().telemetry();
    EXPECT_EQ(after.energy_pj - before.energy_pj, mended.energy_pj) << "nobody else does anything";
    EXPECT_EQ((after.device_ps - before.device_ps) / 1000, mended.time_ns);
    EXPECT_EQ(after.programmed_cells - before.programmed_cells, mended.off);
    EXPECT_EQ(after.pulses - before.pulses, mended.pulses);
    EXPECT_EQ(mended.cells, uint64_t{kCells});
    EXPECT_NEAR(static_cast<double>(mended.off), static_cast<double>(old.off) / 2, static_cast<double>(old.off) / 20);
    EXPECT_EQ(mended.failed, 0u);
    EXPECT_GT(mended.pulses, mended.off);
    EXPECT_GT(mended.energy_pj, 0u);
    EXPECT_EQ(pulses(6, 1), given[1] + mended.pulses);
    EXPECT_EQ(pulses(1, 1), given[0]) << "not asked for";
    EXPECT_LT(all(false, 6, 1).off, mended.off / 10);
    EXPECT_GT(all(false, 1, 1).off, mended.off / 2);
}

TEST_F(Campaign, AtLevelFastNothingIsEverOff) {
    open({});
    program_tiles({2});
    const sidra_operation operation = all(true, 0, 8);
    EXPECT_EQ(operation.cells, uint64_t{kCells});
    EXPECT_EQ(operation.off + operation.failed + operation.pulses + operation.error_sum + operation.worst_ppm, 0u);
    EXPECT_EQ(operation.time_ns, kRows * 60u);
}

TEST_F(Campaign, OneAtATimeAndAborted) {
    open({});
    EXPECT_EQ(ask(SIDRA_MAILBOX_OP_QUERY, 0).status, uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT}) << "there was none";
    put(SIDRA_MAILBOX_ISPP_REFRESH, 16, {pair(0, 8), kPpm});
    put(SIDRA_MAILBOX_ISPP_CAMPAIGN, 24, {kVerify, pair(0, 8), kPpm});
    put(SIDRA_MAILBOX_OP_ABORT, 8, {2});
    put(SIDRA_MAILBOX_OP_QUERY, 0, {1});
    put(SIDRA_MAILBOX_OP_ABORT, 8, {1});
    put(SIDRA_MAILBOX_OP_ABORT, 8, {1});
    ring();
    pass(kMs);
    EXPECT_EQ(take().status, uint32_t{SIDRA_MAILBOX_ACCEPTED});
    EXPECT_EQ(take().status, uint32_t{SIDRA_MAILBOX_BUSY});
    EXPECT_EQ(take().status, uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT}) << "another one";
    EXPECT_EQ(take().inline_data[0], pair(1, SIDRA_OPERATION_RUNNING));
    EXPECT_EQ(take().status, uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(take().status, uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT}) << "it has ended";
    const sidra_operation aborted = query();
    EXPECT_EQ(aborted.state, uint32_t{SIDRA_OPERATION_ABORTED});
    EXPECT_EQ(aborted.done, 0u);
    EXPECT_EQ(all(false, 0, 8).number, 2u);
    EXPECT_EQ(ask(SIDRA_MAILBOX_OP_QUERY, 0, {1}).status, uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT}) << "the last one only";
}

TEST_F(Campaign, WhatIsNotARequest) {
    open({});
    const auto status = [&](uint16_t opcode, uint32_t length, std::array<uint64_t, 3> words, uint64_t payload = 0) {
        return static_cast<sidra_mailbox_status>(ask(opcode, length, words, payload).status);
    };
    for (const uint64_t range : {pair(0, 0), pair(8, 1), pair(0, 9), pair(1, ~0u), pair(~0u, 2)}) {
        EXPECT_EQ(status(SIDRA_MAILBOX_ISPP_REFRESH, 16, {range, kPpm}), SIDRA_MAILBOX_BAD_ARGUMENT);
        EXPECT_EQ(status(SIDRA_MAILBOX_ISPP_CAMPAIGN, 24, {kVerify, range, kPpm}), SIDRA_MAILBOX_BAD_ARGUMENT);
    }
    for (const uint64_t ppm : {uint64_t{0}, uint64_t{100'001}, uint64_t{1} << 32 | 1000})
        EXPECT_EQ(status(SIDRA_MAILBOX_ISPP_REFRESH, 16, {pair(0, 8), ppm}), SIDRA_MAILBOX_BAD_ARGUMENT);
    for (const uint32_t length : {0u, 8u, 23u, 25u})
        EXPECT_EQ(status(SIDRA_MAILBOX_ISPP_CAMPAIGN, length, {kGetPolicy}), SIDRA_MAILBOX_BAD_LENGTH);
    EXPECT_EQ(status(SIDRA_MAILBOX_ISPP_CAMPAIGN, 24, {3}), SIDRA_MAILBOX_BAD_ARGUMENT);
    EXPECT_EQ(status(SIDRA_MAILBOX_ISPP_REFRESH, 24, {pair(0, 8), kPpm}), SIDRA_MAILBOX_BAD_LENGTH);
    EXPECT_EQ(status(SIDRA_MAILBOX_OP_ABORT, 16, {1}), SIDRA_MAILBOX_BAD_LENGTH);
    all(false, 0, 8);
    EXPECT_EQ(status(SIDRA_MAILBOX_OP_QUERY, sizeof(sidra_operation) - 1, {0}, payload_), SIDRA_MAILBOX_BAD_LENGTH);
    EXPECT_EQ(status(SIDRA_MAILBOX_OP_QUERY, sizeof(sidra_operation), {0}, uint64_t{1} << 60),
              SIDRA_MAILBOX_BAD_ARGUMENT);
    bench().drop_violation_checks();
    EXPECT_EQ(status(SIDRA_MAILBOX_OP_QUERY, 0, {uint64_t{1} << 32 | 1}), SIDRA_MAILBOX_BAD_ARGUMENT);
}

TEST_F(Campaign, ThePolicyIsFollowedByProgramPackets) {
    open_accurate();
    const auto policy = [&](uint64_t what, uint32_t mode = 0, uint32_t tries = 0, uint32_t ppm = 0,
                            uint32_t more = 512 << 16) {
        return ask(SIDRA_MAILBOX_ISPP_CAMPAIGN, 24, {what, pair(mode, tries), pair(ppm, more)});
    };
    auto reply = policy(kGetPolicy);
    EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_OK});
    EXPECT_EQ(reply.inline_data[1], pair(SIDRA_MGMT_ISPP_ERROR_SIZED, 15));
    EXPECT_EQ(reply.inline_data[2], pair(10'000, 1 | 4 << 16));
    program_tiles({0});
    EXPECT_EQ(report(0).failed, 0u);
    // A policy with one bad field is refused as a whole.
    EXPECT_EQ(policy(kSetPolicy, 0, 65, 10'000).status, uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT});
    EXPECT_EQ(policy(kSetPolicy, 0, 15, 1).status, uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT});
    EXPECT_EQ(policy(kSetPolicy, 0, 15, 10'000, 8).status, uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT});
    EXPECT_EQ(policy(kGetPolicy).inline_data[1], pair(SIDRA_MGMT_ISPP_ERROR_SIZED, 15));

    EXPECT_EQ(policy(kSetPolicy, SIDRA_MGMT_ISPP_AS_PUBLISHED, 15, 10'000).status, uint32_t{SIDRA_MAILBOX_OK});
    program_tiles({1});
    EXPECT_GT(report(1).failed, kCells / 2u) << "most do not arrive by the public loop";
    // The policy is stored with the crossbars and survives the firmware.
    ASSERT_TRUE(sidra_chip_set_knob(bench().chip(), SIDRA_KNOB_FIRMWARE_PANIC, 1));
    for (int i = 0; i < 5000 && bench().read32(SIDRA_REG_BOOT_REASON) != SIDRA_BOOT_PANIC; i++) pass(kMs);
    program_tiles({2});
    EXPECT_GT(report(2).failed, kCells / 2u);
    bench().replace_chip();
    bench().enable();
    program_tiles({3});
    EXPECT_EQ(report(3).failed, 0u) << "at power-on it is the first one";
}

TEST_F(Campaign, ItStandsWhileTheDeviceDoes) {
    open({});
    program_tiles({0, 1, 2, 3, 4, 5, 6, 7});
    put(SIDRA_MAILBOX_ISPP_REFRESH, 16, {pair(0, 8), kPpm});
    ring();
    pass(60 * kUs);
    ASSERT_EQ(take().status, uint32_t{SIDRA_MAILBOX_ACCEPTED});
    ASSERT_EQ(bench().admin(SIDRA_ADMIN_QUIESCE_DEVICE), uint32_t{SIDRA_ADMIN_OK});
    put(SIDRA_MAILBOX_OP_QUERY, 0, {1});
    ring();
    pass(10 * kMs);
    EXPECT_EQ(bench().read32(SIDRA_REG_MAILBOX_REPLY_INDEX), taken_) << "the core stands";
    ASSERT_EQ(bench().admin(SIDRA_ADMIN_RESUME_DEVICE), uint32_t{SIDRA_ADMIN_OK});
    pass(5 * kUs);
    const auto reply = take();
    EXPECT_EQ(reply.inline_data[0], pair(1, SIDRA_OPERATION_RUNNING)) << "it has done nothing meanwhile";
    EXPECT_EQ(done(1).done, 8u);
}

// A campaign continues: the same cells are found and pulsed, each crossbar once.
TEST_F(Campaign, ItOutlivesTheCoreAndResetsOfTheDevice) {
    const auto prepare = [&] {
        open_accurate();
        program_tiles({0, 1, 2, 3, 4, 5, 6, 7});
        ASSERT_TRUE(sidra_chip_set_knob(bench().chip(), SIDRA_KNOB_AGE_S, kTenYears));
    };
    prepare();
    const sidra_operation expected = all(true, 0, 8);
    for (const uint32_t reason : {SIDRA_BOOT_RESET, SIDRA_BOOT_PANIC, SIDRA_BOOT_WATCHDOG}) {
        prepare();
        const uint64_t given = pulses(0, 8);
        const uint32_t number = begin(true, 0, 8);
        while (query(number).done < 3) pass(10 * kUs);
        ASSERT_EQ(query(number).state, uint32_t{SIDRA_OPERATION_RUNNING});
        if (reason == SIDRA_BOOT_RESET) bench().write32(SIDRA_REG_RESET, SIDRA_RESET_MAGIC);
        else
            ASSERT_TRUE(sidra_chip_set_knob(
                bench().chip(), reason == SIDRA_BOOT_PANIC ? SIDRA_KNOB_FIRMWARE_PANIC : SIDRA_KNOB_FIRMWARE_HANG, 1));
        for (int i = 0; i < 5000 && !(bench().read32(SIDRA_REG_BOOT_REASON) == reason &&
                                      bench().read32(SIDRA_REG_STATUS) & SIDRA_STATUS_FIRMWARE_ALIVE);
             i++)
            pass(kMs);
        open_mailbox();
        const sidra_operation found = done(number);
        EXPECT_EQ(found.state, uint32_t{SIDRA_OPERATION_DONE});
        EXPECT_EQ(found.resumed, 1u);
        EXPECT_EQ(found.done, 8u);
        EXPECT_EQ(found.cells, expected.cells);
        EXPECT_EQ(found.off, expected.off);
        EXPECT_EQ(found.pulses, expected.pulses);
        EXPECT_EQ(found.error_sum, expected.error_sum);
        EXPECT_EQ(found.energy_pj, expected.energy_pj);
        EXPECT_EQ(pulses(0, 8), given + found.pulses);
    }
}

TEST_F(Campaign, WhatCannotBeKeptEndsIt) {
    Folder folder;
    open({.level = SIDRA_CHIP_ACCURATE, .state_file = folder.path("state")});
    program_tiles({0, 1});
    ASSERT_TRUE(sidra_chip_set_knob(bench().chip(), SIDRA_KNOB_AGE_S, kTenYears));
    const uint64_t given[] = {pulses(0, 1), pulses(1, 1)};
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    const rlimit little{read_file(folder.path("state")).size() + 300'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
    const sidra_operation failed = done(begin(true, 0, 8));
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    EXPECT_EQ(failed.state, uint32_t{SIDRA_OPERATION_FAILED});
    EXPECT_EQ(failed.done, 1u) << "there was room for one";
    EXPECT_EQ(failed.result, uint32_t{SIDRA_MGMT_NOT_KEPT});
    EXPECT_EQ(pulses(0, 1), given[0] + failed.pulses);
    EXPECT_EQ(pulses(1, 1), given[1]);
    EXPECT_EQ(bench().reports().size(), 1u);
    EXPECT_GT(all(true, 0, 8).off, uint64_t{kCells} / 10) << "once there is room";
}

}  // namespace
}  // namespace sidra::chip_test
