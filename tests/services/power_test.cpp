// SPDX-License-Identifier: MIT
// Power and temperature management of the firmware: the policy alone, and in a loop with a chip that heats up.
#include <random>
#include <string>
#include <vector>

#include "desk.h"
#include "services/thermal.h"

namespace sidra::test {
namespace {

// ---- The policy ----

constexpr int32_t kCritical = 105'000, kHot = 95'000, kCool = 90'000;

struct Policy {
    thermal_state look(int32_t mc, bool tripped = false) { return thermal_look(&thermal, mc, kCritical, tripped); }
    thermal_state look(int32_t mc, unsigned times) {
        thermal_state state{};
        while (times-- > 0) state = look(mc);
        return state;
    }
    struct thermal thermal {
        3, 3, 0
    };
};

TEST(Thermal, ALevelAtEachLookWhileItIsHot) {
    Policy policy;
    EXPECT_EQ(policy.look(kHot - 1), THERMAL_COOL);
    EXPECT_EQ(policy.thermal.allowed, 3u);
    for (const uint32_t expected : {2u, 1u, 0u, 0u, 0u}) {
        EXPECT_EQ(policy.look(kHot), THERMAL_THROTTLED);
        EXPECT_EQ(policy.thermal.allowed, expected);
    }
}

TEST(Thermal, BackOnlyWhenItIsClearlyCooler) {
    Policy policy;
    policy.look(kHot, 3u);
    EXPECT_EQ(policy.look(kHot - 1, 1000u), THERMAL_THROTTLED);
    EXPECT_EQ(policy.look(kCool + 1, 1000u), THERMAL_THROTTLED);
    EXPECT_EQ(policy.thermal.allowed, 0u) << "not yet cool";
    for (uint32_t level = 1; level <= 3; level++) {
        policy.look(kCool, THERMAL_DWELL - 1);
        EXPECT_EQ(policy.thermal.allowed, level - 1);
        EXPECT_EQ(policy.look(kCool), level == 3 ? THERMAL_COOL : THERMAL_THROTTLED);
        EXPECT_EQ(policy.thermal.allowed, level);
    }
    EXPECT_EQ(policy.look(kCool, 100u), THERMAL_COOL);
    EXPECT_EQ(policy.thermal.allowed, 3u);
}

TEST(Thermal, FollowsTheComparator) {
    Policy policy;
    EXPECT_EQ(policy.look(20'000, true), THERMAL_TRIPPED) << "whatever the sensor says";
    EXPECT_EQ(policy.thermal.allowed, 0u);
    EXPECT_EQ(policy.look(20'000), THERMAL_THROTTLED);
    EXPECT_EQ(policy.look(20'000, 3 * THERMAL_DWELL), THERMAL_COOL);
}

// Whatever the sensor reads: a valid level, one step at a time, and never up while it is warm.
TEST(Thermal, AnyTemperatures) {
    std::mt19937_64 random(1);
    Policy policy;
    for (int i = 0; i < 100'000; i++) {
        const uint32_t before = policy.thermal.allowed;
        const bool tripped = random() % 50 == 0;
        static constexpr int32_t kSome[] = {INT32_MIN, -55'000, 0, kCool, kCool + 1, kHot - 1, kHot, INT32_MAX};
        const int32_t mc = kSome[random() % std::size(kSome)];
        const thermal_state state = policy.look(mc, tripped);
        ASSERT_LE(policy.thermal.allowed, 3u);
        ASSERT_LE(policy.thermal.allowed, before + 1);
        if (policy.thermal.allowed > before) ASSERT_LE(mc, kCool);
        if (policy.thermal.allowed < before && !tripped) ASSERT_GE(mc, kHot);
        ASSERT_EQ(state == THERMAL_COOL, policy.thermal.allowed == 3);
    }
}

// ---- The loop ----

class Managed : public Desk {
   protected:
    static constexpr uint64_t kTick = 100'000'000;

    void ticks(unsigned count, uint64_t queues_mw = 0) {
        while (count-- > 0) {
            board.pass(kTick, queues_mw);
            power_tick();
        }
    }
    int32_t temperature() { return board.power.published().temperature_mc; }
    power_report report() {
        power_report now;
        power_get(&now);
        return now;
    }
    std::string log() {
        const sidra_mailbox_msg reply = ask(with_data(SIDRA_MAILBOX_LOG_RING, 8192));
        const auto begin = board.host.begin() + (kData - Board::kHost);
        return {begin, begin + static_cast<long>(reply.inline_data[0])};
    }
};

TEST_F(Managed, PublishesWhatItSees) {
    ticks(10, 1'000);
    const management::Power::Published published = board.power.published();
    EXPECT_EQ(published.valid, SIDRA_TELEMETRY_HAS_THERMAL | SIDRA_TELEMETRY_HAS_POWER | SIDRA_TELEMETRY_HAS_LIMITS);
    EXPECT_EQ(published.power_mw, 1'250u);
    EXPECT_EQ(published.clock_khz, 1'000'000u);
    EXPECT_NEAR(published.temperature_mc, 60'000 + 5 * 1'250 * (1 - 0.6065), 20) << "half a time constant";
    EXPECT_EQ(published.temperature_max_mc, kHot);
    EXPECT_EQ(published.limit_mw, 3'000u);
    EXPECT_EQ(published.limit_min_mw, 100u);
    EXPECT_EQ(published.limit_max_mw, 3'000u);
    EXPECT_EQ(published.clock_max_khz, 1'000'000u);
    EXPECT_EQ(published.throttles, 0u);
    EXPECT_EQ(board.interrupts, 0u);
}

TEST_F(Managed, ThrottlesBeforeTheChipHasTo) {
    board.power.set_around(97'000);
    unsigned tripped = 0;
    for (int i = 0; i < 300; i++) {
        ticks(1);
        tripped += board.power.save().tripped;
    }
    EXPECT_EQ(tripped, 0u);
    EXPECT_EQ(board.power.level(), 0u);
    EXPECT_TRUE(board.power.throttled());
    EXPECT_EQ(board.interrupts, 1u) << "throttled, once";
    EXPECT_EQ(report().throttled, 1u);

    board.power.set_around(60'000);
    ticks(100);
    EXPECT_EQ(board.power.level(), 3u);
    EXPECT_FALSE(board.power.throttled());
    EXPECT_EQ(board.interrupts, 2u);
}

TEST_F(Managed, ThrottlingCoolsAChipThatWarmsItself) {
    // 5 W of work heat it by 26 K above these 80 degrees, which is critical. At a lower level the same work draws less.
    board.power.set_around(80'000);
    int32_t hottest = 0;
    for (int i = 0; i < 600; i++) {
        static constexpr double kShare[] = {.036, .1225, .32, 1};  // of power: clock times square of voltage
        ticks(1, static_cast<uint64_t>(5'000 * kShare[board.power.level()]));
        hottest = std::max(hottest, temperature());
    }
    EXPECT_GE(hottest, 95'000);
    EXPECT_LT(hottest, 97'000) << "and no warmer than what throttles it";
    EXPECT_EQ(board.power.save().tripped, 0u);
}

TEST_F(Managed, TellsTheHostWhatHappens) {
    board.power.set_around(150'000);
    std::vector<uint32_t> states;
    const auto hear = [&](unsigned count) {
        for (unsigned i = 0; i < count; i++) {
            ticks(1);
            while (replied()) {
                const sidra_mailbox_msg event = take();
                EXPECT_EQ(event.opcode, SIDRA_MAILBOX_EVENT);
                EXPECT_EQ(event.status, 0u);
                EXPECT_EQ(event.cookie, 0u);
                EXPECT_EQ(event.length, 24u);
                EXPECT_EQ(event.inline_data[0] & 0xffffffff, uint64_t{MAILBOX_EVENT_THERMAL});
                states.push_back(static_cast<uint32_t>(event.inline_data[0] >> 32));
                EXPECT_EQ(static_cast<int32_t>(event.inline_data[1]), temperature());
                EXPECT_EQ(event.inline_data[1] >> 32, board.power.published().clock_khz);
                EXPECT_EQ(event.inline_data[2] & 0xffffffff, board.power.published().power_mw);
            }
        }
    };
    hear(50);
    EXPECT_EQ(states, (std::vector<uint32_t>{THERMAL_THROTTLED, THERMAL_TRIPPED}));
    board.power.set_around(20'000);
    hear(100);
    EXPECT_EQ(states, (std::vector<uint32_t>{THERMAL_THROTTLED, THERMAL_TRIPPED, THERMAL_THROTTLED, THERMAL_COOL}));
    EXPECT_NE(log().find("thermal: critical, millidegrees 0x"), std::string::npos);
}

TEST_F(Managed, AnEventThatNobodyTakesIsInTheLogOnly) {
    for (uint32_t i = 0; i < kEntries; i++) post(message(SIDRA_MAILBOX_LOOPBACK, {i}));
    mailbox_serve();
    board.power.set_around(150'000);
    const uint32_t before = board.reply_index;
    ticks(50);
    EXPECT_EQ(board.reply_index, before) << "no room";
    for (uint32_t i = 0; i < kEntries; i++) EXPECT_EQ(take().inline_data[0], i) << "nothing was overwritten";
    board.entries = 0;
    board.power.set_around(20'000);
    ticks(100);
    EXPECT_EQ(board.reply_index, before) << "no mailbox";
    board.entries = kEntries;
    board.reply = 0;
    board.power.set_around(150'000);
    ticks(50);
    EXPECT_EQ(board.reply_index, before) << "a mailbox that is not there";
    board.reply = kReplies;
    EXPECT_NE(log().find("thermal: cool"), std::string::npos);
}

// A start after a panic keeps the throttling.
TEST_F(Managed, AStartTakesOverWhatWasThrottled) {
    board.power.set_around(97'000);
    ticks(100);
    ASSERT_EQ(board.power.level(), 0u);
    board.power.core_restarts();
    power_start();
    EXPECT_EQ(board.power.level(), 0u);
    EXPECT_TRUE(board.power.throttled());
    board.power.set_around(20'000);
    ticks(100);
    EXPECT_EQ(board.power.level(), 3u);
}

// ---- By the mailbox ----

constexpr uint64_t kSet = uint64_t{1} << 32;

TEST_F(Managed, TheLimitOfPowerIsTheHighestClockWithinIt) {
    const struct {
        uint32_t mw, level;
    } expected[] = {{100, 0}, {499, 0}, {500, 1}, {1'499, 1}, {1'500, 2}, {2'999, 2}, {3'000, 3}, {0, 3}};
    for (const auto& [mw, level] : expected) {
        const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_POWER_LIMIT, {kSet | mw}));
        EXPECT_EQ(reply.status, uint32_t{SIDRA_MAILBOX_OK});
        EXPECT_EQ(board.power.level(), level) << mw;
        EXPECT_EQ(board.power.throttled(), level != 3) << mw;
        EXPECT_EQ(reply.inline_data[0] & 0xffffffff, mw ? mw : 3'000);
        EXPECT_EQ(reply.inline_data[1], 100 | uint64_t{3'000} << 32);
        EXPECT_EQ(reply.inline_data[2], level | uint64_t{level != 3} << 32);
    }
    ask(message(SIDRA_MAILBOX_POWER_LIMIT, {kSet | 500}));
    for (const uint64_t bad : {kSet | 1, kSet | 99, kSet | 3'001, kSet | 0xffffffff, kSet * 2 | 500, ~uint64_t{0}})
        EXPECT_EQ(status_of(message(SIDRA_MAILBOX_POWER_LIMIT, {bad})), uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT}) << bad;
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_POWER_LIMIT)), uint32_t{SIDRA_MAILBOX_BAD_LENGTH});
    ticks(1, 100);
    const sidra_mailbox_msg reply = ask(message(SIDRA_MAILBOX_POWER_LIMIT, {0}));
    EXPECT_EQ(reply.inline_data[0], 500 | uint64_t{board.power.published().power_mw} << 32) << "asked, not set";
    EXPECT_EQ(board.power.level(), 1u);
}

TEST_F(Managed, TheHostSaysHowFastItMayBeAtMost) {
    const uint32_t table[][3] = {
        {100'000, 600, 100}, {250'000, 700, 500}, {500'000, 800, 1'500}, {1'000'000, 1'000, 3'000}};
    for (uint32_t level = 0; level < 4; level++) {
        const sidra_mailbox_msg told = ask(message(SIDRA_MAILBOX_DVFS, {level}));
        EXPECT_EQ(told.status, uint32_t{SIDRA_MAILBOX_OK});
        EXPECT_EQ(told.inline_data[1], table[level][0] | uint64_t{table[level][1]} << 32);
        EXPECT_EQ(told.inline_data[2], table[level][2] | uint64_t{4} << 32);
        const sidra_mailbox_msg set = ask(message(SIDRA_MAILBOX_DVFS, {kSet | level}));
        EXPECT_EQ(set.inline_data[0], level | uint64_t{level} << 32);
        EXPECT_EQ(board.power.level(), level);
        EXPECT_FALSE(board.power.throttled()) << "it is what was asked for";
        EXPECT_EQ(board.read(SIDRA_MGMT_CLOCK_KHZ), table[level][0]) << "as the block has it";
        EXPECT_EQ(board.read(SIDRA_MGMT_CLOCK_MILLIVOLT), table[level][1]);
    }
    ask(message(SIDRA_MAILBOX_DVFS, {kSet | 2}));
    for (const uint64_t bad : {uint64_t{4}, kSet | 4, kSet | 0xffffffff, kSet * 2, ~uint64_t{0}})
        EXPECT_EQ(status_of(message(SIDRA_MAILBOX_DVFS, {bad})), uint32_t{SIDRA_MAILBOX_BAD_ARGUMENT}) << bad;
    EXPECT_EQ(status_of(message(SIDRA_MAILBOX_DVFS, {0, 0})), uint32_t{SIDRA_MAILBOX_BAD_LENGTH});
    ask(message(SIDRA_MAILBOX_POWER_LIMIT, {kSet | 500}));
    EXPECT_EQ(board.power.level(), 1u) << "the lowest of all that is said";
    EXPECT_TRUE(board.power.throttled());
    ask(message(SIDRA_MAILBOX_DVFS, {kSet | 1}));
    EXPECT_FALSE(board.power.throttled());
}

// Who sets something and reads it back at once does not have to wait for the next tick.
TEST_F(Managed, WhatIsSetIsPublishedBeforeTheReply) {
    ticks(3, 1'000);
    const management::Power::Published before = board.power.published();
    management::Power::Published now{};
    board.while_copy = [&] { now = board.power.published(); };  // the last copy of a request is its reply
    ask(message(SIDRA_MAILBOX_POWER_LIMIT, {kSet | 500}));
    EXPECT_EQ(now.limit_mw, 500u);
    EXPECT_EQ(now.clock_khz, 250'000u);
    EXPECT_EQ(now.throttles, before.throttles + 1);
    ask(message(SIDRA_MAILBOX_POWER_LIMIT, {kSet}));
    EXPECT_EQ(now.limit_mw, 3'000u);
    EXPECT_EQ(now.clock_khz, 1'000'000u);
    ask(message(SIDRA_MAILBOX_DVFS, {kSet | 2}));
    EXPECT_EQ(now.clock_khz, 500'000u);
    EXPECT_EQ(now.temperature_mc, before.temperature_mc) << "what is measured is of the last tick";
    EXPECT_EQ(now.temperature_max_mc, before.temperature_max_mc);
    EXPECT_EQ(now.power_mw, before.power_mw);
}

TEST_F(Managed, CountsHowOftenTheClockWasTakenDown) {
    const auto throttles = [&] {
        ticks(1);
        return board.power.published().throttles;
    };
    board.power.set_around(97'000);
    ticks(300);
    EXPECT_EQ(throttles(), 3u) << "level by level";
    board.power.set_around(60'000);
    ticks(300);
    EXPECT_EQ(throttles(), 3u);
    while (replied()) EXPECT_EQ(take().opcode, SIDRA_MAILBOX_EVENT);
    ask(message(SIDRA_MAILBOX_POWER_LIMIT, {kSet | 500}));
    EXPECT_EQ(throttles(), 4u) << "at once";
    EXPECT_EQ(board.power.published().limit_mw, 500u);
    ask(message(SIDRA_MAILBOX_POWER_LIMIT, {kSet | 501}));
    EXPECT_EQ(throttles(), 4u) << "it is as low as that already";
    ask(message(SIDRA_MAILBOX_POWER_LIMIT, {kSet}));
    ask(message(SIDRA_MAILBOX_DVFS, {kSet | 0}));
    EXPECT_EQ(throttles(), 4u) << "that is what the host wants";
    board.power.core_restarts();
    power_start();
    EXPECT_EQ(throttles(), 0u);
}

}  // namespace
}  // namespace sidra::test
