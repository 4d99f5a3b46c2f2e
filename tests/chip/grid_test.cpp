// SPDX-License-Identifier: MIT
// Operands as grids: an extent that is checked once, and offsets that stay inside it.
#include <gtest/gtest.h>

#include "address.h"

namespace sidra::chip {
namespace {

constexpr uint64_t kEnd = uint64_t{1} << SIDRA_VA_BITS, kFar = uint64_t{1} << 63;

TEST(Grid, TheExtentIsFromTheFirstToTheLastByte) {
    const Grid grid(4096, {1000, 100, 20, 4}, {2, 3, 4, 5}, 4);
    ASSERT_TRUE(grid.valid());
    EXPECT_EQ(grid.extent().offset(), 4096u);
    EXPECT_EQ(grid.extent().length(), 1000u + 200 + 60 + 16 + 4);
    EXPECT_EQ(grid.offset(1, 2, 3, 4) + 4, grid.extent().length());
    const Range last = grid.part(grid.offset(1, 2, 3, 4), 4);
    EXPECT_EQ(last.offset(), 4096u + 1276);
    EXPECT_EQ(last.length(), 4u);
    const Rectangle rows = grid.rows(grid.offset(1, 0, 0, 0), 1, 3, 8);
    ASSERT_TRUE(rows.valid());
    EXPECT_EQ(rows.row(2).offset(), 4096u + 1200);
    EXPECT_EQ(rows.extent().length(), 208u);
}

TEST(Grid, StridesOfOneElementAreNotUsed) {
    for (unsigned d = 0; d < Grid::kDims; d++)
        for (const uint64_t stride : {kFar, ~uint64_t{0}, kEnd, uint64_t{24}}) {
            uint64_t strides[] = {64, 32, 16, 8}, sizes[] = {2, 2, 2, 2};
            strides[d] = stride, sizes[d] = 1;
            const Grid grid(0, strides, sizes, 8);
            EXPECT_TRUE(grid.valid());
            EXPECT_EQ(grid.stride(d), 0u);
            EXPECT_EQ(grid.extent().length(), 128u - (64u >> d)) << d;
        }
}

TEST(Grid, IsInvalidBeyondTheAddresses) {
    EXPECT_TRUE(Grid(kEnd - 16, {0, 0, 0, 8}, {1, 1, 1, 2}, 8).valid());
    EXPECT_FALSE(Grid(kEnd - 16, {0, 0, 0, 9}, {1, 1, 1, 2}, 8).valid());
    EXPECT_FALSE(Grid(kEnd, {}, {1, 1, 1, 1}, 1).valid());
    EXPECT_FALSE(Grid(~uint64_t{0}, {}, {1, 1, 1, 1}, 1).valid());
    // Products and sums that wrap to a few bytes.
    for (unsigned d = 0; d < Grid::kDims; d++) {
        uint64_t strides[Grid::kDims] = {}, sizes[] = {1, 1, 1, 1};
        strides[d] = kFar, sizes[d] = 3;
        EXPECT_FALSE(Grid(4096, strides, sizes, 8).valid()) << d;
        strides[d] = ~uint64_t{0} - 15, sizes[d] = 2;
        EXPECT_FALSE(Grid(4096, strides, sizes, 32).valid()) << d;
    }
    EXPECT_FALSE(Grid(4096, {kFar, kFar, 0, 0}, {2, 2, 1, 1}, 8).valid());
}

TEST(Grid, ADimensionMovesWithItsStride) {
    Grid grid(0, {96, 7, 0, 4}, {2, 1, 1, 4}, 4);
    grid.move(0, 2);
    EXPECT_EQ(grid.stride(0), 0u);
    EXPECT_EQ(grid.stride(2), 96u);
    EXPECT_EQ(grid.offset(0, 0, 1, 3) + 4, grid.extent().length());
    grid.leave(2);
    EXPECT_EQ(grid.stride(2), 0u);
}

}  // namespace
}  // namespace sidra::chip
