// SPDX-License-Identifier: MIT
// Products of matrices on every engine against plain loops: std::fma in order, or sums in 64 bits.
#include <gtest/gtest.h>

#include "engine_test_util.h"

namespace sidra::engine::test {
namespace {

constexpr uint8_t kFloats[] = {SIDRA_TYPE_F32, SIDRA_TYPE_F16, SIDRA_TYPE_BF16};
constexpr uint8_t kIntegers[] = {SIDRA_TYPE_S8, SIDRA_TYPE_U8};

size_t bytes_of(uint8_t type) {
    if (type == SIDRA_TYPE_F32) return 4;
    return type == SIDRA_TYPE_F16 || type == SIDRA_TYPE_BF16 ? 2 : 1;
}

float from_f16(uint32_t half) {
    const uint32_t exponent = half >> 10 & 31, fraction = half & 1023;
    float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                : std::ldexp(static_cast<float>(1024 + fraction), static_cast<int>(exponent) - 25);
    if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
    return (half & 0x8000) != 0 ? -value : value;
}

float float_at(const uint8_t* p, uint8_t type) {
    uint32_t bits = 0;
    std::memcpy(&bits, p, bytes_of(type));
    if (type == SIDRA_TYPE_F16) return from_f16(bits);
    return std::bit_cast<float>(type == SIDRA_TYPE_F32 ? bits : bits << 16);
}

int64_t integer_at(const uint8_t* p, uint8_t type) {
    return type == SIDRA_TYPE_S8 ? int64_t{static_cast<int8_t>(*p)} : int64_t{*p};
}

struct Strides {
    size_t row, col;
};

// How the elements of a matrix lie in memory.
enum class Layout { kRows, kColumns, kApart, kOneRow, kOneColumn, kOneElement };
constexpr Layout kLayouts[] = {Layout::kRows,   Layout::kColumns,   Layout::kApart,
                               Layout::kOneRow, Layout::kOneColumn, Layout::kOneElement};

Strides strides(Layout layout, size_t rows, size_t cols, size_t element, Random& random) {
    const size_t gap = random() % 3;
    switch (layout) {
        case Layout::kRows:
            return {(cols + gap) * element, element};
        case Layout::kColumns:
            return {element, (rows + gap) * element};
        case Layout::kApart:
            return {(2 * cols + gap) * element, 2 * element};
        case Layout::kOneRow:
            return {0, element};
        case Layout::kOneColumn:
            return {element, 0};
        default:
            return {0, 0};
    }
}

// A matrix that ends at an inaccessible page.
struct Operand {
    Operand(uint8_t type_of, Layout layout, uint32_t rows, uint32_t cols, Random& random)
        : type(type_of),
          stride(strides(layout, rows, cols, bytes_of(type_of), random)),
          bytes((rows - 1) * stride.row + (cols - 1) * stride.col + bytes_of(type_of)) {}
    const uint8_t* at(size_t r, size_t c) const { return bytes.data() + r * stride.row + c * stride.col; }

    void fill(Random& random, bool plain) {
        const size_t element = bytes_of(type);
        if (element == 1 || (element == 2 && !plain)) return fill_bits(random, bytes.data(), bytes.size());
        for (size_t i = 0; i < bytes.size(); i += element) {
            uint32_t bits = std::bit_cast<uint32_t>(plain ? plain_float(random) : any_float(random));
            if (type == SIDRA_TYPE_BF16) bits >>= 16;
            // 1/8 to 8, with either sign
            if (type == SIDRA_TYPE_F16) bits = between(random, 0x3000, 0x47ff) | between(random, 0, 1) << 15;
            std::memcpy(&bytes[i], &bits, element);
        }
    }

    uint8_t type;
    Strides stride;
    Guarded<uint8_t> bytes;
};

std::vector<uint32_t> product(const Operand& a, const Operand& b, uint32_t rows, uint32_t cols, uint32_t inner) {
    std::vector<uint32_t> result(size_t{rows} * cols);
    for (uint32_t m = 0; m < rows; ++m) {
        for (uint32_t n = 0; n < cols; ++n) {
            float sum = 0.0f;
            int64_t exact = 0;
            for (uint32_t k = 0; k < inner; ++k) {
                const uint8_t *left = a.at(m, k), *right = b.at(k, n);
                if (bytes_of(a.type) > 1) sum = std::fma(float_at(left, a.type), float_at(right, b.type), sum);
                else exact += integer_at(left, a.type) * integer_at(right, b.type);
            }
            uint32_t& bits = result[size_t{m} * cols + n];
            if (bytes_of(a.type) > 1) bits = std::isnan(sum) ? 0x7fc00000u : std::bit_cast<uint32_t>(sum);
            else bits = static_cast<uint32_t>(exact);
        }
    }
    return result;
}

uint8_t* garbage_scratch() {
    static Guarded<uint8_t> scratch(kMatmulScratch);  // whole pages, so aligned
    static_assert(kMatmulScratch % 4096 == 0 && kMatmulScratch <= 2u << 20);
    std::memset(scratch.data(), 0xff, scratch.size());  // NaN as floats
    return scratch.data();
}

void check(const Operand& a, const Operand& b, uint32_t rows, uint32_t cols, uint32_t inner, Random& random) {
    constexpr size_t kBefore = 16;  // words
    const std::vector<uint32_t> expected = product(a, b, rows, cols, inner);
    const size_t out_row = cols + random() % 3;
    for (const Kernels* kernels : all_kernels()) {
        SCOPED_TRACE(std::string(kernels->can.name) + " " + std::to_string(rows) + "x" + std::to_string(inner) + "x" +
                     std::to_string(cols) + " types " + std::to_string(a.type) + ", " + std::to_string(b.type) +
                     " strides " + std::to_string(a.stride.row) + ", " + std::to_string(a.stride.col) + " and " +
                     std::to_string(b.stride.row) + ", " + std::to_string(b.stride.col));
        Guarded<uint32_t> out(kBefore + (rows - 1) * out_row + cols);
        const uint32_t untouched = out[0];
        kernels->matmul({a.bytes.data(), b.bytes.data(), &out[kBefore], a.stride.row, a.stride.col, b.stride.row,
                         b.stride.col, out_row * 4, rows, cols, inner, a.type, b.type},
                        garbage_scratch());
        for (size_t i = 0; i < out.size(); ++i) {
            const size_t row = i < kBefore ? 0 : (i - kBefore) / out_row;
            const size_t col = i < kBefore ? cols : (i - kBefore) % out_row;
            const uint32_t want = col < cols ? expected[row * cols + col] : untouched;
            ASSERT_EQ(want, out[i]) << "row " << row << ", column " << col;
        }
    }
}

void check(uint8_t a_type, Layout a_layout, uint8_t b_type, Layout b_layout, uint32_t rows, uint32_t cols,
           uint32_t inner, Random& random) {
    Operand a(a_type, a_layout, rows, inner, random), b(b_type, b_layout, inner, cols, random);
    // A NaN spoils all of a long sum: most cases have none.
    const bool plain = random() % 4 != 0;
    a.fill(random, plain);
    b.fill(random, plain);
    check(a, b, rows, cols, inner, random);
}

// Calls body(type of a, type of b) for all pairs that can be multiplied.
template <class Body>
void for_types(Body body) {
    for (const uint8_t a : kFloats)
        for (const uint8_t b : kFloats) body(a, b);
    for (const uint8_t a : kIntegers)
        for (const uint8_t b : kIntegers) body(a, b);
}

TEST(Matmul, EveryTypeAndLayout) {
    Random random(1);
    for_types([&](uint8_t a, uint8_t b) {
        for (const Layout a_layout : kLayouts) {
            for (const Layout b_layout : kLayouts) {
                for (int i = 0; i < 3; ++i) {
                    check(a, a_layout, b, b_layout, between(random, 1, 70), between(random, 1, 70),
                          between(random, 1, 70), random);
                }
            }
        }
    });
}

// Every number of rows and vectors that a kernel has, and every remainder of columns and of elements along k.
TEST(Matmul, EverySize) {
    Random random(2);
    for (uint32_t n = 1; n <= 70; ++n) {
        for_types([&](uint8_t a, uint8_t b) {
            const auto layout = [&] { return kLayouts[random() % 2]; };
            check(a, layout(), b, layout(), (n - 1) % 13 + 1, n, between(random, 1, 20), random);
            check(a, layout(), b, layout(), between(random, 1, 7), between(random, 1, 20), n, random);
            check(a, layout(), b, layout(), n, between(random, 1, 20), between(random, 1, 7), random);
        });
    }
}

// More than a block in each direction, with operands read in place and packed.
TEST(Matmul, SeveralBlocks) {
    Random random(3);
    for_types([&](uint8_t a, uint8_t b) {
        for (int i = 0; i < 2; ++i) {
            const Layout a_layout = kLayouts[random() % 3], b_layout = kLayouts[random() % 3];
            check(a, a_layout, b, b_layout, 5, kMatmulCols + 19, 2 * kMatmulWords + 3, random);
            check(a, a_layout, b, b_layout, kMatmulRows + 7, 33, 2 * kMatmulWords + 1, random);
            check(a, a_layout, b, b_layout, 3, 17, 9 * kMatmulWords + 5, random);
        }
    });
    check(SIDRA_TYPE_F32, Layout::kRows, SIDRA_TYPE_F32, Layout::kRows, kMatmulRows + 1, kMatmulCols + 65,
          kMatmulWords + 1, random);
}

// The largest sums: the s32 sums wrap around where both are u8 (65,536 * 255 * 255 is more than 2^31).
TEST(Matmul, LongestSums) {
    Random random(4);
    for_types([&](uint8_t a, uint8_t b) {
        check(a, Layout::kRows, b, Layout::kColumns, 2, 3, 65536, random);
        if (bytes_of(a) > 1) return;
        for (const int extreme : {0x00, 0x7f, 0x80, 0xff}) {
            Operand left(a, Layout::kRows, 2, 65536, random), right(b, Layout::kRows, 65536, 18, random);
            std::memset(left.bytes.data(), extreme, left.bytes.size());
            std::memset(right.bytes.data(), random() % 2 != 0 ? 0x80 : 0xff, right.bytes.size());
            check(left, right, 2, 18, 65536, random);
        }
    });
}

// A sum that is exact in no order but the given one, and a product that underflows to -0, across blocks of k.
TEST(Matmul, OrderAndZeros) {
    Random random(5);
    const uint32_t inner = 2 * kMatmulWords;
    Operand a(SIDRA_TYPE_F32, Layout::kRows, 1, inner, random), b(SIDRA_TYPE_F32, Layout::kRows, inner, 1, random);
    for (uint32_t k = 0; k < inner; ++k) {
        const float left = k % 3 == 0 ? 0x1p24f : k % 3 == 1 ? 1.0f : -0x1p24f, right = 1.0f;
        std::memcpy(&a.bytes[size_t{k} * 4], &left, 4);
        std::memcpy(&b.bytes[size_t{k} * 4], &right, 4);
    }
    check(a, b, 1, 1, inner, random);
    for (uint32_t k = 0; k < inner; ++k) {
        const float left = -0x1p-100f, right = 0x1p-100f;
        std::memcpy(&a.bytes[size_t{k} * 4], &left, 4);
        std::memcpy(&b.bytes[size_t{k} * 4], &right, 4);
    }
    EXPECT_EQ(0x80000000u, product(a, b, 1, 1, inner)[0]);
    check(a, b, 1, 1, inner, random);
}

}  // namespace
}  // namespace sidra::engine::test
