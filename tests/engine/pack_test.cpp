// SPDX-License-Identifier: MIT
// Packing of weights and the sums kept with them.
#include <gtest/gtest.h>

#include "engine_test_util.h"

namespace sidra::engine::test {
namespace {

struct Rectangle {
    uint32_t row0, rows, col0, cols;
};

// Writes random rectangles to a plane and to a plain 256 x 256 matrix, and compares them.
void check(const Kernels* kernels, const std::vector<Rectangle>& rectangles) {
    Random random(1);
    Plane plane(256);
    plane.sums.assign(256, 1000);
    std::vector<int8_t> plain(256 * 256);
    for (const Rectangle& r : rectangles) {
        SCOPED_TRACE(std::string(kernels->can.name) + " rows " + std::to_string(r.row0) + "+" + std::to_string(r.rows) +
                     " cols " + std::to_string(r.col0) + "+" + std::to_string(r.cols));
        const size_t stride = r.cols + random() % 70;
        Guarded<int8_t> in((r.rows - 1) * stride + r.cols);
        fill_bits(random, in.data(), in.size());
        kernels->pack(plane.bytes.data(), plane.sums.data(), in.data(), stride, r.row0, r.rows, r.col0, r.cols);
        for (uint32_t i = 0; i < r.rows; ++i) std::memcpy(&plain[(r.row0 + i) * 256 + r.col0], &in[i * stride], r.cols);
        for (uint32_t col = 0; col < 256; ++col) {
            int32_t sum = 1000;
            for (uint32_t row = 0; row < 256; ++row) {
                sum += plain[row * 256 + col];
                ASSERT_EQ(plain[row * 256 + col], plane.bytes[packed_offset(row, col)]) << row << ", " << col;
            }
            ASSERT_EQ(sum, plane.sums[col]) << "column " << col;
        }
    }
}

TEST(Pack, WholeTileAgainAndAgain) {
    for (const Kernels* kernels : all_kernels()) check(kernels, {{0, 256, 0, 256}, {0, 256, 0, 256}, {0, 256, 0, 128}});
}

TEST(Pack, RandomRectangles) {
    Random random(2);
    std::vector<Rectangle> rectangles;
    for (int i = 0; i < 40; ++i) {
        const uint32_t row0 = between(random, 0, 255), col0 = between(random, 0, 255);
        rectangles.push_back({row0, between(random, 1, 256 - row0), col0, between(random, 1, 256 - col0)});
    }
    for (const Rectangle r :
         {Rectangle{1, 2, 3, 1}, Rectangle{3, 1, 255, 1}, Rectangle{2, 5, 16, 48}, Rectangle{255, 1, 0, 256}}) {
        rectangles.push_back(r);
    }
    for (const Kernels* kernels : all_kernels()) check(kernels, rectangles);
}

// The change of a column's sum is largest when -128 everywhere becomes 127, and back.
TEST(Pack, SumsOfExtremeChanges) {
    for (const Kernels* kernels : all_kernels()) {
        Plane plane(256);
        for (const int8_t weight : {int8_t{-128}, int8_t{127}, int8_t{-128}, int8_t{0}}) {
            const std::vector<int8_t> in(256 * 256, weight);
            kernels->pack(plane.bytes.data(), plane.sums.data(), in.data(), 256, 0, 256, 0, 256);
            for (const int32_t sum : plane.sums) ASSERT_EQ(weight * 256, sum) << kernels->can.name;
        }
    }
}

// Every weight at every position of a vector, and no write after the last pair.
TEST(Levels, OfPairs) {
    for (const Kernels* kernels : all_kernels()) {
        for (const uint32_t n : {1u, 15u, 16u, 17u, 33u, 128u}) {
            for (int first = -127; first <= 127; ++first) {
                Guarded<int8_t> weights(n);
                Guarded<uint8_t> levels(2 * size_t{n});
                for (uint32_t i = 0; i < n; ++i) weights[i] = static_cast<int8_t>((first + 127 + i * 37) % 255 - 127);
                kernels->pair_levels(weights.data(), levels.data(), n);
                for (uint32_t i = 0; i < n; ++i) {
                    const int plus = levels[2 * i], minus = levels[2 * i + 1];
                    ASSERT_EQ(2 * weights[i], plus - minus) << kernels->can.name << ", pair " << i << " of " << n;
                    ASSERT_TRUE(plus == 0 || minus == 0) << kernels->can.name << ", weight " << int{weights[i]};
                }
            }
        }
    }
}

}  // namespace
}  // namespace sidra::engine::test
