// SPDX-License-Identifier: MIT
// What engines look for along a row that somebody writes to meanwhile: rows are the memory of programs.
#include <gtest/gtest.h>

#include <cstdint>

#include "numerics.h"
#include "sidra_cmd.h"
#include "simd_portable.h"
#define SIDRA_SIMD_FUNCTIONS_ONLY
#include "simd.inc"

namespace sidra::engine {
namespace {

// Elements of which one is the largest, as long as they are not written to: after so many readings.
struct Keys {
    size_t largest;
    unsigned readings;
    template <class L>
    I operator()(size_t i, L) {
        I keys = splat(1);
        if (readings == 0) return keys;
        readings--;
        for (size_t j = 0; j < W; ++j)
            if (i + j == largest) keys[j] = 7;
        return keys;
    }
};

TEST(Lanes, TheFirstIndexOfTheLargest) {
    for (size_t n = 1; n <= 5 * W; ++n)
        for (size_t at = 0; at < n; ++at) {
            EXPECT_EQ(index_of(n, 7, Keys{at, ~0u}), static_cast<int32_t>(at)) << n;
            EXPECT_EQ(index_of(n, 1, Keys{at, ~0u}), at == 0 && n > 1 ? 1 : 0) << n;
        }
}

TEST(Lanes, AnyIndexOfTheRowIfItWasWrittenTo) {
    for (size_t n = 1; n <= 5 * W; ++n)
        for (size_t at = 0; at < n; ++at)
            for (unsigned readings = 0; readings <= 6; ++readings) {
                const int32_t found = index_of(n, 7, Keys{at, readings});
                EXPECT_GE(found, 0);
                EXPECT_LT(found, static_cast<int32_t>(n)) << at << " " << readings;
            }
}

}  // namespace
}  // namespace sidra::engine
