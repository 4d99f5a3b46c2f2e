// SPDX-License-Identifier: MIT
// The sequencer's registers: the orders to crossbars, their results, and the policy.
#include "bench.h"

namespace sidra::test {
namespace {

using management::Policy;
using management::Sequencer;

struct SequencerBench : Bench {
    SequencerBench() {
        unit.sequencer().connect(
            10,
            [this](const Sequencer::Order& order) {
                orders.push_back(order);
                return outcome;
            },
            [this](const Policy& policy) {
                policies.push_back(policy);
                return follows;
            });
    }
    uint32_t run(uint32_t command, uint32_t xbar, uint32_t tolerance) {
        set(SIDRA_MGMT_SEQUENCER_XBAR, xbar);
        set(SIDRA_MGMT_SEQUENCER_TOLERANCE, tolerance);
        set(SIDRA_MGMT_SEQUENCER_COMMAND, command);
        return get(SIDRA_MGMT_SEQUENCER_RESULT);
    }
    Sequencer::Outcome outcome{SIDRA_MGMT_OK, 1, 2, 3, 4, 5, 6, 123'456'000, 8};
    std::vector<Sequencer::Order> orders;
    std::vector<Policy> policies;
    bool follows = true;
};

TEST(Sequencer, CommandsAndWhatTheyFind) {
    SequencerBench bench;
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_XBARS), 10u);
    const uint64_t before = bench.unit.cycle();
    EXPECT_EQ(bench.run(SIDRA_MGMT_SEQUENCER_VERIFY, 9, 30'000), uint32_t{SIDRA_MGMT_OK});
    EXPECT_GE(bench.unit.cycle() - before, 12'345u) << "device time";
    EXPECT_LT(bench.unit.cycle() - before, 14'000u);
    EXPECT_EQ(bench.run(SIDRA_MGMT_SEQUENCER_REFRESH, 0, 100'000), uint32_t{SIDRA_MGMT_OK});
    ASSERT_EQ(bench.orders.size(), 2u);
    EXPECT_EQ(bench.orders[0].command, SIDRA_MGMT_SEQUENCER_VERIFY);
    EXPECT_EQ(bench.orders[0].xbar, 9u);
    EXPECT_EQ(bench.orders[0].tolerance_ppm, 30'000u);
    EXPECT_EQ(bench.orders[1].command, SIDRA_MGMT_SEQUENCER_REFRESH);
    const uint32_t expected[] = {SIDRA_MGMT_OK, 1, 2, 3, 4, 5, 6, 123'456, 8};
    for (uint32_t i = 0; i < SIDRA_MGMT_SEQUENCER_RESULTS; i++)
        EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_RESULT + 4 * i), expected[i]) << i;
    bench.outcome.energy_pj = uint64_t{1} << 40;
    bench.run(SIDRA_MGMT_SEQUENCER_VERIFY, 0, 1);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_ENERGY_PJ), ~0u) << "as much as it can say";
}

TEST(Sequencer, WhatIsRefused) {
    SequencerBench bench;
    for (const uint32_t command : {0u, 4u, ~0u})
        EXPECT_EQ(bench.run(command, 0, 1000), uint32_t{SIDRA_MGMT_BAD_COMMAND});
    for (const uint32_t xbar : {10u, ~0u})
        EXPECT_EQ(bench.run(SIDRA_MGMT_SEQUENCER_VERIFY, xbar, 1000), uint32_t{SIDRA_MGMT_BAD_RANGE});
    for (const uint32_t tolerance : {0u, 100'001u, ~0u})
        EXPECT_EQ(bench.run(SIDRA_MGMT_SEQUENCER_REFRESH, 0, tolerance), uint32_t{SIDRA_MGMT_BAD_RANGE});
    EXPECT_TRUE(bench.orders.empty());
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_CELLS), 0u) << "nothing of the one before";
    bench.outcome.result = SIDRA_MGMT_NOT_KEPT;
    EXPECT_EQ(bench.run(SIDRA_MGMT_SEQUENCER_REFRESH, 0, 1000), uint32_t{SIDRA_MGMT_NOT_KEPT});

    for (const uint32_t address : {SIDRA_MGMT_SEQUENCER_XBARS, SIDRA_MGMT_SEQUENCER_RESULT,
                                   SIDRA_MGMT_SEQUENCER_ENERGY_PJ, SIDRA_MGMT_SEQUENCER + 0x3c})
        EXPECT_TRUE(bench.store(address, 1)) << std::hex << address;
    uint32_t value = 0;
    for (const uint32_t address :
         {SIDRA_MGMT_SEQUENCER + 0x3c, SIDRA_MGMT_SEQUENCER + 0x54, SIDRA_MGMT_SEQUENCER + 0xffc})
        EXPECT_TRUE(bench.load(address, &value)) << std::hex << address;
    Bench alone;
    alone.set(SIDRA_MGMT_SEQUENCER_TOLERANCE, 1000);
    alone.set(SIDRA_MGMT_SEQUENCER_COMMAND, SIDRA_MGMT_SEQUENCER_VERIFY);
    EXPECT_EQ(alone.get(SIDRA_MGMT_SEQUENCER_RESULT), uint32_t{SIDRA_MGMT_BAD_RANGE}) << "no crossbars";
}

TEST(Sequencer, CalibratesRunsOfCrossbars) {
    SequencerBench bench;
    const auto run = [&](uint32_t xbar, uint32_t count) {
        bench.set(SIDRA_MGMT_SEQUENCER_COUNT, count);
        return bench.run(SIDRA_MGMT_SEQUENCER_CALIBRATE, xbar, 0);
    };
    EXPECT_EQ(run(2, 8), uint32_t{SIDRA_MGMT_OK}) << "of whatever tolerance";
    ASSERT_EQ(bench.orders.size(), 1u);
    EXPECT_EQ(bench.orders[0].command, SIDRA_MGMT_SEQUENCER_CALIBRATE);
    EXPECT_EQ(bench.orders[0].xbar, 2u);
    EXPECT_EQ(bench.orders[0].count, 8u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_WORST), 5u);
    for (const auto& [xbar, count] : {std::pair{10u, 1u}, {0u, 0u}, {0u, 11u}, {9u, 2u}, {1u, ~0u}, {~0u, 2u}})
        EXPECT_EQ(run(xbar, count), uint32_t{SIDRA_MGMT_BAD_RANGE}) << xbar << " " << count;
    EXPECT_EQ(bench.orders.size(), 1u);
    bench.unit.restart(SIDRA_BOOT_WATCHDOG);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_COUNT), 2u);
}

TEST(Sequencer, WhatItFoundOutlivesTheCore) {
    SequencerBench bench;
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_COMMANDS), 0u);
    bench.run(SIDRA_MGMT_SEQUENCER_VERIFY, 9, 30'000);
    bench.run(4, 9, 30'000);
    bench.run(SIDRA_MGMT_SEQUENCER_REFRESH, 8, 20'000);
    bench.unit.restart(SIDRA_BOOT_WATCHDOG);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_COMMANDS), 3u) << "those that are refused, too";
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_COMMAND), SIDRA_MGMT_SEQUENCER_REFRESH);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_XBAR), 8u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_OFF), 2u);
    EXPECT_EQ(bench.orders.size(), 2u);
    EXPECT_TRUE(bench.store(SIDRA_MGMT_SEQUENCER_COMMANDS, 7)) << "cannot be written";
    const Sequencer::Saved saved = bench.unit.sequencer().save();
    bench.unit.clear();
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_COMMANDS), 0u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_OFF), 0u);
    ASSERT_TRUE(bench.unit.sequencer().load(saved));
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_COMMANDS), 3u);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_OFF), 2u);
}

TEST(Sequencer, ThePolicyIsInRangeAndOutlivesTheCore) {
    SequencerBench bench;
    const auto policy = [&] {
        return std::vector<uint32_t>{bench.get(SIDRA_MGMT_ISPP_MODE), bench.get(SIDRA_MGMT_ISPP_TRIES),
                                     bench.get(SIDRA_MGMT_ISPP_TOLERANCE), bench.get(SIDRA_MGMT_ISPP_RETRIES),
                                     bench.get(SIDRA_MGMT_ISPP_SPARE)};
    };
    const std::vector<uint32_t> defaults = {SIDRA_MGMT_ISPP_ERROR_SIZED, 15, 10'000, 1, 4},
                                other = {0, 64, 100'000, 7, 512};
    EXPECT_EQ(policy(), defaults);
    bench.set(SIDRA_MGMT_ISPP_MODE, 0);
    bench.set(SIDRA_MGMT_ISPP_TRIES, 64);
    bench.set(SIDRA_MGMT_ISPP_TOLERANCE, 100'000);
    bench.set(SIDRA_MGMT_ISPP_RETRIES, 7);
    bench.set(SIDRA_MGMT_ISPP_SPARE, 512);
    EXPECT_EQ(policy(), other);
    ASSERT_EQ(bench.policies.size(), 5u);
    EXPECT_TRUE((bench.policies.back() == Policy{0, 64, 100'000, 7, 512}));
    bench.set(SIDRA_MGMT_ISPP_MODE, 3);
    for (const uint32_t tries : {0u, 65u, ~0u}) bench.set(SIDRA_MGMT_ISPP_TRIES, tries);
    for (const uint32_t ppm : {0u, 999u, 100'001u}) bench.set(SIDRA_MGMT_ISPP_TOLERANCE, ppm);
    bench.set(SIDRA_MGMT_ISPP_RETRIES, 8);
    bench.set(SIDRA_MGMT_ISPP_SPARE, 513);
    EXPECT_EQ(policy(), other);
    EXPECT_EQ(bench.policies.size(), 5u);
    bench.follows = false;
    bench.set(SIDRA_MGMT_ISPP_TRIES, 9);
    EXPECT_EQ(policy(), other) << "what crossbars do not follow is not so";
    bench.follows = true;

    bench.run(SIDRA_MGMT_SEQUENCER_VERIFY, 1, 1000);
    Sequencer::Saved saved = bench.unit.sequencer().save();
    bench.unit.restart(SIDRA_BOOT_WATCHDOG);
    EXPECT_EQ(policy(), other);
    bench.unit.clear();
    EXPECT_EQ(policy(), defaults);
    EXPECT_TRUE(bench.policies.back() == Policy{});
    ASSERT_TRUE(bench.unit.sequencer().load(saved));
    EXPECT_EQ(policy(), other);
    EXPECT_EQ(bench.get(SIDRA_MGMT_SEQUENCER_CELLS), 1u);
    saved.policy.tries = 0;
    EXPECT_FALSE(bench.unit.sequencer().load(saved));
    EXPECT_EQ(policy(), other);
}

}  // namespace
}  // namespace sidra::test
