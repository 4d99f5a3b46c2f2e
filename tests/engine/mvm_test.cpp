// SPDX-License-Identifier: MIT
// The exact MVM of every engine against a sum in 64 bits over the unpacked weights.
#include <gtest/gtest.h>

#include "engine_test_util.h"

namespace sidra::engine::test {
namespace {

struct Shape {
    uint32_t rows, cols, batch;
};

// Weights of a column of tiles, plain and packed by hand from the layout that plane.h states.
struct Column {
    Column(Shape s, Random& random, int weight) : shape(s), plain(size_t{s.rows} * s.cols) {
        for (int8_t& w : plain) w = static_cast<int8_t>(weight == 0 ? static_cast<int>(random() & 255u) - 128 : weight);
        for (uint32_t row0 = 0; row0 < s.rows; row0 += 256) {
            planes.emplace_back(s.cols);
            for (uint32_t r = row0; r < s.rows && r < row0 + 256; ++r) {
                for (uint32_t c = 0; c < s.cols; ++c) {
                    const uint32_t in_tile = r - row0;
                    planes.back().bytes[((c / 64) * 64 + in_tile / 4) * 256 + (c % 64) * 4 + in_tile % 4] =
                        plain[size_t{r} * s.cols + c];
                }
            }
        }
        for (const Plane& plane : planes) pointers.push_back(plane.bytes.data());
    }
    Shape shape;
    std::vector<int8_t> plain;
    std::vector<Plane> planes;
    std::vector<const int8_t*> pointers;
};

void check(const Column& column, Random& random, int input, bool with_init) {
    const auto [rows, cols, batch] = column.shape;
    const size_t in_stride = rows + random() % 3;
    const size_t acc_stride = cols + random() % 3;
    Guarded<uint8_t> in((batch - 1) * in_stride + rows);
    for (uint8_t& x : in) x = static_cast<uint8_t>(input < 0 ? static_cast<int>(random() & 255u) : input);
    Guarded<int32_t> init(with_init ? cols : 0);
    fill_bits(random, init.data(), init.size());

    std::vector<int32_t> expected(size_t{batch} * cols);
    for (uint32_t b = 0; b < batch; ++b) {
        for (uint32_t c = 0; c < cols; ++c) {
            int64_t sum = with_init ? init[c] : 0;
            for (uint32_t r = 0; r < rows; ++r)
                sum += int64_t{in[b * in_stride + r]} * column.plain[size_t{r} * cols + c];
            expected[size_t{b} * cols + c] = static_cast<int32_t>(static_cast<uint32_t>(sum));
        }
    }
    for (const Kernels* kernels : all_kernels()) {
        SCOPED_TRACE(std::string(kernels->can.name) + " " + std::to_string(rows) + "x" + std::to_string(cols) +
                     " batch " + std::to_string(batch));
        Guarded<int32_t> acc((batch - 1) * acc_stride + cols);
        const int32_t untouched = acc[0];
        kernels->mvm({column.pointers.data(), static_cast<uint32_t>(column.pointers.size()), rows, cols, in.data(),
                      in_stride, acc.data(), acc_stride, with_init ? init.data() : nullptr, batch});
        for (uint32_t b = 0; b < batch; ++b) {
            ASSERT_EQ(0, std::memcmp(&acc[b * acc_stride], &expected[size_t{b} * cols], cols * 4)) << "row " << b;
            for (size_t gap = cols; gap < acc_stride && b + 1 < batch; ++gap)
                ASSERT_EQ(untouched, acc[b * acc_stride + gap]);
        }
    }
}

TEST(Mvm, WholeTiles) {
    Random random(1);
    for (const Shape shape : {Shape{256, 256, 64}, Shape{256, 128, 13}, Shape{1024, 128, 12}, Shape{512, 64, 9}}) {
        const Column column(shape, random, 0);
        check(column, random, -1, false);
        check(column, random, -1, true);
    }
}

// Every batch remainder and number of panels, so that every block kernel runs.
TEST(Mvm, EveryBatchAndPanelCount) {
    Random random(2);
    for (uint32_t batch = 1; batch <= 20; ++batch) {
        for (const uint32_t cols : {10u, 16u, 17u, 32u, 33u, 64u, 100u, 128u, 129u, 192u, 200u, 256u})
            check(Column({37, cols, batch}, random, 0), random, -1, batch % 2 == 0);
    }
}

TEST(Mvm, EveryRowRemainder) {
    Random random(3);
    for (uint32_t rows = 1; rows <= 40; ++rows) check(Column({rows, 70, 8}, random, 0), random, -1, true);
    for (uint32_t rows = 250; rows <= 262; ++rows) check(Column({rows, 65, 3}, random, 0), random, -1, false);
}

TEST(Mvm, EveryColumnCount) {
    Random random(4);
    for (uint32_t cols = 1; cols <= 256; cols += 1 + cols / 40)
        check(Column({9, cols, 7}, random, 0), random, -1, cols % 2 == 0);
}

// Rows whose parts overlap in memory, in any order.
TEST(Mvm, RowsInSteps) {
    Random random(8);
    for (int i = 0; i < 40; ++i) {
        const Shape shape{64 * between(random, 1, 14), between(random, 1, 256), between(random, 1, 300)};
        const Column column(shape, random, 0);
        const size_t stride = between(random, 0, 130);
        std::vector<uint32_t> steps(shape.rows / 64);
        uint32_t last = 0;
        for (uint32_t& step : steps) last = std::max(last, step = between(random, 0, 2000));
        Guarded<uint8_t> in((shape.batch - 1) * stride + last + 64);
        for (uint8_t& x : in) x = static_cast<uint8_t>(random());
        Guarded<int32_t> init(shape.cols);
        fill_bits(random, init.data(), init.size());
        for (const Kernels* kernels : all_kernels()) {
            if (!kernels->can.windows) continue;
            SCOPED_TRACE(std::string(kernels->can.name) + " " + std::to_string(shape.rows) + "x" +
                         std::to_string(shape.cols) + " batch " + std::to_string(shape.batch));
            Guarded<int32_t> acc(size_t{shape.batch} * shape.cols);
            kernels->mvm({column.pointers.data(), static_cast<uint32_t>(column.pointers.size()), shape.rows, shape.cols,
                          in.data(), stride, acc.data(), shape.cols, init.data(), shape.batch, steps.data()});
            for (uint32_t b = 0; b < shape.batch; b += between(random, 1, 9))
                for (uint32_t c = 0; c < shape.cols; ++c) {
                    int64_t sum = init[c];
                    for (uint32_t r = 0; r < shape.rows; ++r)
                        sum +=
                            int64_t{in[b * stride + steps[r / 64] + r % 64]} * column.plain[size_t{r} * shape.cols + c];
                    ASSERT_EQ(static_cast<int32_t>(static_cast<uint32_t>(sum)), acc[size_t{b} * shape.cols + c]);
                }
        }
    }
}

TEST(Mvm, RandomShapes) {
    Random random(5);
    for (int i = 0; i < 60; ++i) {
        check(Column({between(random, 1, 700), between(random, 1, 256), between(random, 1, 30)}, random, 0), random, -1,
              i % 2 == 0);
    }
}

// All 255 x all -128: the products that saturating 16-bit instructions get wrong, and the largest sums.
TEST(Mvm, ExtremeValues) {
    Random random(6);
    for (const uint32_t rows : {256u, 255u, 4096u}) {
        for (const int weight : {-128, 127}) {
            for (const uint32_t batch : {1u, 2u, 3u, 6u})
                check(Column({rows, 72, batch}, random, weight), random, 255, false);
        }
    }
}

TEST(Mvm, SumsWrapModulo32Bits) {
    Random random(7);
    const Column column({256, 64, 1}, random, 127);
    std::vector<uint8_t> in(256, 255);
    const std::vector<int32_t> init(64, std::numeric_limits<int32_t>::max());
    for (const Kernels* kernels : all_kernels()) {
        std::vector<int32_t> acc(64);
        kernels->mvm({column.pointers.data(), 1, 256, 64, in.data(), 256, acc.data(), 64, init.data(), 1});
        for (const int32_t a : acc)
            ASSERT_EQ(std::numeric_limits<int32_t>::min() + 256 * 255 * 127 - 1, a) << kernels->can.name;
    }
}

// Columns that the block does not use must not matter to those that it does.
TEST(Mvm, OtherColumnsOfThePlaneDoNotMatter) {
    Random random(8);
    Column column({20, 64, 5}, random, 0);
    std::vector<uint8_t> in(100, 3);
    for (const Kernels* kernels : all_kernels()) {
        Guarded<int32_t> whole(5 * 64), part(5 * 10);
        kernels->mvm({column.pointers.data(), 1, 20, 64, in.data(), 20, whole.data(), 64, nullptr, 5});
        kernels->mvm({column.pointers.data(), 1, 20, 10, in.data(), 20, part.data(), 10, nullptr, 5});
        for (size_t b = 0; b < 5; ++b)
            ASSERT_EQ(0, std::memcmp(&whole[b * 64], &part[b * 10], 40)) << kernels->can.name;
    }
}

}  // namespace
}  // namespace sidra::engine::test
