// SPDX-License-Identifier: MIT
// Ranges from distributions whose best range is known, or is found here by trying codes on the values themselves.
#include "observer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace sidra::compiler {
namespace {

std::vector<float> normal(size_t count, float deviation, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> values(0, deviation);
    std::vector<float> all(count);
    for (float& value : all) value = values(random);
    return all;
}

// The mean square of what codes of a range change, by coding each value.
double error_of(std::span<const float> values, Range range) {
    const double step = (static_cast<double>(range.high) - range.low) / 255;
    double sum = 0;
    for (const float value : values) {
        const double code = std::clamp(std::nearbyint((value - range.low) / step), 0.0, 255.0);
        sum += std::pow(value - (range.low + code * step), 2);
    }
    return sum / static_cast<double>(values.size());
}

TEST(Observer, NothingHasNoRange) {
    const Observer observer;
    for (const char* name : {"minmax", "moving", "percentile", "mse", "entropy"}) {
        const Range range = observer.range(*method_named(name));
        EXPECT_EQ(range.low, 0) << name;
        EXPECT_EQ(range.high, 0) << name;
    }
    EXPECT_FALSE(method_named("nonsense"));
}

TEST(Observer, SmallestAndLargest) {
    Observer observer;
    observer.add(std::vector<float>{1, 2, 3});
    observer.add(std::vector<float>{-5, 2, 0.5});
    EXPECT_EQ(observer.range(Method::kMinMax).low, -5);
    EXPECT_EQ(observer.range(Method::kMinMax).high, 3);
    observer.add(std::vector<float>{1e6f});  // far outside of the bins so far
    EXPECT_EQ(observer.range(Method::kMinMax).high, 1e6f);
}

TEST(Observer, TheRangeContains0) {
    Observer observer;
    observer.add(std::vector<float>{4, 5, 6});
    for (const Method method :
         {Method::kMinMax, Method::kMoving, Method::kPercentile, Method::kMse, Method::kEntropy}) {
        EXPECT_LE(observer.range(method).low, 0);
        EXPECT_GT(observer.range(method).high, 4);
        EXPECT_LE(observer.range(method).high, 6);
    }
}

TEST(Observer, WhatIsNotFiniteIsLeftOut) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Observer observer;
    observer.add(std::vector<float>{1, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), -2});
    EXPECT_EQ(observer.range(Method::kMinMax).low, -2);
    EXPECT_EQ(observer.range(Method::kMinMax).high, 1);
}

// Runs with 10, and then one with 20: a tenth of the way.
TEST(Observer, MovingFollowsSlowly) {
    Observer observer;
    for (int i = 0; i < 5; i++) observer.add(std::vector<float>{-1, 10});
    observer.add(std::vector<float>{-1, 20});
    EXPECT_FLOAT_EQ(observer.range(Method::kMoving).high, 11);
    EXPECT_FLOAT_EQ(observer.range(Method::kMoving).low, -1);
}

// 100,000 values of 0 to 1, and 5 of 100: the latter are fewer than one in 10,000.
TEST(Observer, PercentileLeavesFewValuesOut) {
    std::vector<float> values(100'000);
    for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<float>(i) / 100'000;
    values.insert(values.end(), 5, 100.0f);
    Observer observer;
    observer.add(values);
    EXPECT_NEAR(observer.range(Method::kPercentile).high, 1, 0.06);
    EXPECT_EQ(observer.range(Method::kMinMax).high, 100);
    values.insert(values.end(), 100, 100.0f);
    Observer more;
    more.add(values);
    EXPECT_NEAR(more.range(Method::kPercentile).high, 100, 0.1);
}

// No range of a search over the values themselves has an error that is much smaller.
TEST(Observer, MseFindsTheSmallestError) {
    std::vector<float> values = normal(200'000, 1, 1);
    values.push_back(12);
    values.push_back(-9);
    Observer observer;
    for (size_t i = 0; i < values.size(); i += 1000)
        observer.add(std::span(values).subspan(i, std::min<size_t>(1000, values.size() - i)));
    double least = INFINITY;
    for (float low = -9; low < -1.8f; low += 0.45f)
        for (float high = 2.4f; high <= 12; high += 0.45f) least = std::min(least, error_of(values, {low, high}));
    EXPECT_LT(error_of(values, observer.range(Method::kMse)), 1.1 * least);
    EXPECT_LT(error_of(values, observer.range(Method::kMse)), 0.8 * error_of(values, {-9, 12}));
}

// A few values far away cost much precision for all others; the divergence notices.
TEST(Observer, EntropyCutsOffWhatIsRare) {
    std::vector<float> values = normal(200'000, 1, 2);
    values.push_back(60);
    Observer observer;
    observer.add(values);
    const Range range = observer.range(Method::kEntropy);
    EXPECT_LT(range.high, 20);
    EXPECT_GT(range.high, 2);
    EXPECT_LT(error_of(values, range) - std::pow(60 - range.high, 2) / static_cast<double>(values.size()),
              error_of(values, {range.low, 60}));
}

}  // namespace
}  // namespace sidra::compiler
