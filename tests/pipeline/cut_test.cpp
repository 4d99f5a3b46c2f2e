// SPDX-License-Identifier: MIT
// Cuts into stages, against all cuts that there are.
#include "passes/cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace sidra {
namespace {

using compiler::CallCost;
using compiler::ChipLimits;
using compiler::Cut;
using Cost = std::pair<uint64_t, uint64_t>;  // time, bytes

// Time and bytes of one cut; nothing if a stage does not fit.
std::optional<Cost> cost_of(const std::vector<CallCost>& calls, const std::vector<size_t>& begins,
                            const ChipLimits& limits) {
    Cost cost{0, 0};
    for (size_t s = 0; s < begins.size(); s++) {
        const size_t end = s + 1 < begins.size() ? begins[s + 1] : calls.size();
        uint64_t time = 0, crossbars = 0;
        std::set<int64_t> matrices;
        for (size_t i = begins[s]; i < end; i++) {
            time += calls[i].time;
            if ((calls[i].stages >> s & 1) == 0) return std::nullopt;
            if (calls[i].matrix >= 0 && matrices.insert(calls[i].matrix).second) crossbars += calls[i].crossbars;
        }
        if (begins[s] >= end || crossbars > limits.crossbars) return std::nullopt;
        const uint64_t bytes = s == 0 ? 0 : calls[begins[s]].before;
        cost = {std::max({cost.first, time, bytes * 1'000 / limits.bytes_per_ns}), cost.second + bytes};
    }
    return cost;
}

std::optional<Cost> best(const std::vector<CallCost>& calls, std::vector<size_t> begins, uint32_t stages,
                         const ChipLimits& limits) {
    if (begins.size() == stages) return cost_of(calls, begins, limits);
    std::optional<Cost> found;
    for (size_t next = begins.back() + 1; next < calls.size(); next++) {
        begins.push_back(next);
        if (const auto cost = best(calls, begins, stages, limits); cost && (!found || *cost < *found)) found = cost;
        begins.pop_back();
    }
    return found;
}

TEST(Cut, IsTheBestOfAll) {
    std::mt19937 random(1);
    const auto any = [&](uint64_t most) { return std::uniform_int_distribution<uint64_t>(0, most)(random); };
    size_t refused = 0;
    for (int round = 0; round < 3000; round++) {
        std::vector<CallCost> calls(1 + any(8));
        const uint64_t kinds = 1 + any(5);
        for (CallCost& call : calls) {
            call.time = any(any(1) ? 9 : 3) * 1'000;
            call.before = any(12) * 16;
            if (any(2) != 0)
                call.matrix = static_cast<int64_t>(any(kinds)),
                call.crossbars = 1 + static_cast<uint64_t>(call.matrix) % 4;
            if (any(9) == 0) call.stages = static_cast<uint32_t>(any(15));
        }
        const auto stages = static_cast<uint32_t>(1 + any(4));
        const ChipLimits limits{1 + any(8), 16};
        const auto wanted = best(calls, {0}, stages, limits);
        const std::optional<Cut> got = compiler::cut(calls, stages, limits);
        ASSERT_EQ(wanted.has_value(), got.has_value()) << round;
        refused += !got;
        if (!got) continue;
        EXPECT_EQ(*wanted, std::pair(got->time, got->bytes)) << round;
        EXPECT_EQ(wanted, cost_of(calls, got->begins, limits)) << round;
    }
    EXPECT_GT(refused, 100u);
    EXPECT_LT(refused, 2900u);
}

TEST(Cut, NeedsACallForEachStage) {
    const std::vector<CallCost> calls(3);
    EXPECT_TRUE(compiler::cut(calls, 3, {1, 1}));
    EXPECT_FALSE(compiler::cut(calls, 4, {1, 1}));
    EXPECT_FALSE(compiler::cut(calls, 0, {1, 1}));
}

// A transformer of the largest size that a file has is cut at once.
TEST(Cut, LongNetworks) {
    std::vector<CallCost> calls(4000);
    for (CallCost& call : calls) call.time = 1'000, call.before = 16;
    const std::optional<Cut> found = compiler::cut(calls, 16, {1, 16});
    ASSERT_TRUE(found);
    EXPECT_EQ(250'000u, found->time);
}

}  // namespace
}  // namespace sidra
