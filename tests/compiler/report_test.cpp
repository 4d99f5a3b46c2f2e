// SPDX-License-Identifier: MIT
// Copies of layers: what the bisection finds is the best of all numbers of copies.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "report.h"

namespace sidra::compiler {
namespace {

// The fewest steps of all numbers of copies; 0: one of each does not fit.
int64_t best_of_all(const std::vector<Layer>& layers, int64_t crossbars, const Power& power) {
    int64_t best = 0;
    const std::function<void(size_t, int64_t, int64_t)> choose = [&](size_t at, int64_t left, int64_t slowest) {
        if (at == layers.size()) {
            // What the layers need goes into the budget of as many steps as that takes.
            int64_t energy = 0, steps = slowest;
            for (const Layer& layer : layers) energy += layer.crossbars * layer.vectors * power.product_pj;
            while (steps * power.step_pj < energy) steps++;
            if (best == 0 || steps < best) best = steps;
            return;
        }
        for (int64_t copies = 1; copies <= layers[at].vectors && copies * layers[at].crossbars <= left; copies++) {
            int64_t steps = 1;
            while (steps * copies < layers[at].vectors) steps++;
            choose(at + 1, left - copies * layers[at].crossbars, std::max(slowest, steps));
        }
    };
    choose(0, crossbars, 1);
    return best;
}

TEST(Report, CopiesAreTheBestOfAll) {
    std::mt19937 random(1);
    const auto from_one_to = [&](uint32_t most) { return 1 + static_cast<int64_t>(random() % most); };
    int limited = 0, fitting = 0;
    for (int round = 0; round < 2'000; round++) {
        std::vector<Layer> layers(static_cast<size_t>(from_one_to(4)));
        for (Layer& layer : layers) layer = {"", 256, 128, from_one_to(5), from_one_to(9)};
        const int64_t crossbars = from_one_to(40);
        const Power power{from_one_to(20), from_one_to(200)};
        const int64_t array = best_of_all(layers, crossbars, kUnlimitedPower);
        const int64_t fed = best_of_all(layers, crossbars, power);
        EXPECT_EQ(fewest_steps(layers, crossbars, kUnlimitedPower).value_or(0), array) << round;
        EXPECT_EQ(fewest_steps(layers, crossbars, power).value_or(0), fed) << round;
        fitting += array != 0, limited += fed > array;
    }
    EXPECT_GT(fitting, 1'000);
    EXPECT_GT(limited, 200);
}

TEST(Report, WithoutLayersThereIsOneStep) { EXPECT_EQ(fewest_steps({}, 1, kChipPower), 1); }

// 30 TOPS are the published figure of the chip, whose power allows it 3.4 crossbars at a time.
TEST(Report, PowerIsThatOfThePublishedThroughput) {
    const double crossbars = static_cast<double>(kChipPower.step_pj) / static_cast<double>(kChipPower.product_pj);
    EXPECT_NEAR(crossbars * 2 * 256 * 256 / 15e-9 / 1e12, 30, 0.1);
    // A layer with a product on one crossbar each: any number of copies makes no more than that.
    const std::vector<Layer> layers{{"", 256, 128, 1, 100'000}};
    EXPECT_EQ(fewest_steps(layers, kChipCrossbars, kUnlimitedPower), 16);
    EXPECT_NEAR(static_cast<double>(*fewest_steps(layers, kChipCrossbars, kChipPower)), 100'000 / crossbars, 1);
}

}  // namespace
}  // namespace sidra::compiler
