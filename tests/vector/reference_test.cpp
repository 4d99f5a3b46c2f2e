// SPDX-License-Identifier: MIT
// The reference itself, against numbers worked out by hand and against long double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>

#include "arithmetic.h"
#include "bench.h"

namespace sidra::vector_reference::test {
namespace {

#define OP(name) SIDRA_VECTOR_OP_##name

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr int32_t kMin = std::numeric_limits<int32_t>::min(), kMax = std::numeric_limits<int32_t>::max();

void expect_f32(uint8_t op, std::initializer_list<float> sources, float expected) {
    std::vector<std::vector<uint32_t>> in;
    for (const float x : sources) in.push_back({bits(x)});
    const uint32_t got = in.size() == 1   ? apply(op, {in[0]})[0]
                         : in.size() == 2 ? apply(op, {in[0], in[1]})[0]
                                          : apply(op, {in[0], in[1], in[2]})[0];
    EXPECT_EQ(got, std::isnan(expected) ? 0x7fc00000 : bits(expected)) << "op " << int{op} << ": " << f32(got);
}

TEST(VectorReference, FloatArithmetic) {
    expect_f32(OP(MOVE), {-0.0f}, -0.0f);
    expect_f32(OP(ADD), {1.5f, 2.25f}, 3.75f);
    expect_f32(OP(ADD), {16777216.0f, 1.0f}, 16777216.0f);  // ties to even
    expect_f32(OP(ADD), {16777218.0f, 1.0f}, 16777220.0f);
    expect_f32(OP(ADD), {kInf, -kInf}, kNan);
    expect_f32(OP(ADD), {0x1p-149f, 0x1p-149f}, 0x1p-148f);  // gradual underflow
    expect_f32(OP(SUB), {1.0f, 0x1p-25f}, 1.0f);
    expect_f32(OP(SUB), {0.0f, 0.0f}, 0.0f);
    expect_f32(OP(MUL), {3.0f, -0.5f}, -1.5f);
    expect_f32(OP(MUL), {0x1p-100f, 0x1p-49f}, 0x1p-149f);
    expect_f32(OP(MUL), {0.0f, kInf}, kNan);
    const float a = 1.0f + 0x1p-12f;
    expect_f32(OP(FMA), {a, a, -(1.0f + 0x1p-11f)}, 0x1p-24f);  // 0 if rounded twice
    expect_f32(OP(FMA), {2.0f, 3.0f, 4.0f}, 10.0f);
    expect_f32(OP(DIV), {1.0f, 3.0f}, 0x1.555556p-2f);
    expect_f32(OP(DIV), {-1.0f, 0.0f}, -kInf);
    expect_f32(OP(DIV), {0.0f, 0.0f}, kNan);
    for (const auto& [x, y] : {std::pair(1.0f, kNan), std::pair(kNan, 1.0f), std::pair(kNan, kNan)}) {
        expect_f32(OP(MAX), {x, y}, kNan);
        expect_f32(OP(MIN), {x, y}, kNan);
    }
    for (const auto& [low, high] : {std::pair(-0.0f, 0.0f), std::pair(-2.0f, 1.0f), std::pair(-kInf, -1.0f)}) {
        expect_f32(OP(MAX), {low, high}, high);
        expect_f32(OP(MAX), {high, low}, high);
        expect_f32(OP(MIN), {low, high}, low);
        expect_f32(OP(MIN), {high, low}, low);
    }
    expect_f32(OP(NEG), {0.0f}, -0.0f);
    expect_f32(OP(NEG), {-kInf}, kInf);
    expect_f32(OP(NEG), {kNan}, kNan);
    expect_f32(OP(ABS), {-0.0f}, 0.0f);
    expect_f32(OP(ABS), {-2.5f}, 2.5f);
    expect_f32(OP(SQRT), {2.0f}, 0x1.6a09e6p+0f);
    expect_f32(OP(SQRT), {-0.0f}, -0.0f);
    expect_f32(OP(SQRT), {-1.0f}, kNan);
    expect_f32(OP(RSQRT), {4.0f}, 0.5f);
    expect_f32(OP(RSQRT), {0.0f}, kInf);
    expect_f32(OP(RSQRT), {-0.0f}, -kInf);
    expect_f32(OP(RSQRT), {kInf}, 0.0f);
    struct {
        float x, floor, ceil, round, trunc;
    } const integral[] = {{2.5f, 2, 3, 2, 2},
                          {3.5f, 3, 4, 4, 3},
                          {-2.5f, -3, -2, -2, -2},
                          {-0.25f, -1, -0.0f, -0.0f, -0.0f},
                          {0.5f, 0, 1, 0, 0},
                          {-0.5f, -1, -0.0f, -0.0f, -0.0f},
                          {0x1.fffffep-2f, 0, 1, 0, 0},
                          {-0.0f, -0.0f, -0.0f, -0.0f, -0.0f},
                          {1.75f, 1, 2, 2, 1},
                          {8388607.5f, 8388607, 8388608, 8388608, 8388607},
                          {1e30f, 1e30f, 1e30f, 1e30f, 1e30f},
                          {-kInf, -kInf, -kInf, -kInf, -kInf}};
    for (const auto& i : integral) {
        expect_f32(OP(FLOOR), {i.x}, i.floor);
        expect_f32(OP(CEIL), {i.x}, i.ceil);
        expect_f32(OP(ROUND), {i.x}, i.round);
        expect_f32(OP(TRUNC), {i.x}, i.trunc);
    }
}

TEST(VectorReference, NanHasNoSignAndNoPayload) {
    for (const uint32_t nan : {0xffffffffu, 0x7f800001u, 0xffc00000u}) {
        EXPECT_EQ(apply(OP(MOVE), {{nan}})[0], 0x7fc00000u);
        EXPECT_EQ(apply(OP(BITS), {{nan}})[0], 0x7fc00000u);
        EXPECT_EQ(apply(OP(FROM_BITS), {{nan}})[0], 0x7fc00000u);
    }
    EXPECT_EQ(apply(OP(BITS), {{0x80000000u, 0x3f800000u}}), (std::vector{0x80000000u, 0x3f800000u}));
    EXPECT_EQ(apply(OP(FROM_BITS), {{0xc0000000u}})[0], bits(-2.0f));
}

TEST(VectorReference, IntegerArithmetic) {
    const auto expect = [](uint8_t op, int32_t a, int32_t b, int32_t expected) {
        const auto got = apply(op, {{static_cast<uint32_t>(a)}, {static_cast<uint32_t>(b)}})[0];
        EXPECT_EQ(static_cast<int32_t>(got), expected) << "op " << int{op} << " of " << a << ", " << b;
    };
    expect(OP(ADD_INT), kMax, 1, kMin);
    expect(OP(SUB_INT), kMin, 1, kMax);
    expect(OP(MUL_INT), 65537, 65537, 131073);
    expect(OP(MUL_INT), -3, 7, -21);
    expect(OP(MAX_INT), -1, 1, 1);
    expect(OP(MIN_INT), -1, 1, -1);
    expect(OP(AND), 0b1100, 0b1010, 0b1000);
    expect(OP(OR), 0b1100, 0b1010, 0b1110);
    expect(OP(XOR), 0b1100, 0b1010, 0b0110);
    expect(OP(SHL), 3, 31, kMin);
    expect(OP(SHL), 3, 33, 6);
    expect(OP(SHR), -8, 1, -4);
    expect(OP(SHR), -8, 32, -8);
    expect(OP(SHR_UNSIGNED), -8, 1, 0x7ffffffc);
    expect(OP(SHR_UNSIGNED), kMin, 31, 1);
    expect(OP(LT_INT), -1, 1, -1);
    expect(OP(LT_INT), 1, 1, 0);
    expect(OP(LE_INT), 1, 1, -1);
    expect(OP(LE_INT), 2, 1, 0);
    expect(OP(EQ_INT), 5, 5, -1);
    expect(OP(EQ_INT), 5, 6, 0);
    expect(OP(NE_INT), 5, 6, -1);
    expect(OP(NE_INT), 5, 5, 0);
}

TEST(VectorReference, ComparisonsAndSelect) {
    const std::vector<uint32_t> a = {bits(1), bits(2), bits(2), bits(-0.0f), bits(kNan), bits(kNan)};
    const std::vector<uint32_t> b = {bits(2), bits(1), bits(2), bits(0.0f), bits(1), bits(kNan)};
    const uint32_t yes = 0xffffffff;
    EXPECT_EQ(apply(OP(LT), {a, b}), (std::vector<uint32_t>{yes, 0, 0, 0, 0, 0}));
    EXPECT_EQ(apply(OP(LE), {a, b}), (std::vector<uint32_t>{yes, 0, yes, yes, 0, 0}));
    EXPECT_EQ(apply(OP(EQ), {a, b}), (std::vector<uint32_t>{0, 0, yes, yes, 0, 0}));
    EXPECT_EQ(apply(OP(NE), {a, b}), (std::vector<uint32_t>{yes, yes, 0, 0, yes, yes}));
    EXPECT_EQ(apply(OP(SELECT), {{yes, 0, 1}, {10, 11, 12}, {20, 21, 22}}), (std::vector<uint32_t>{10, 21, 12}));
}

TEST(VectorReference, ConversionsOfRegisters) {
    const auto expect = [](float x, int32_t nearest, int32_t truncated) {
        EXPECT_EQ(apply(OP(TO_INT), {{bits(x)}})[0], static_cast<uint32_t>(nearest)) << x;
        EXPECT_EQ(apply(OP(TO_INT_TRUNC), {{bits(x)}})[0], static_cast<uint32_t>(truncated)) << x;
    };
    expect(2.5f, 2, 2);
    expect(3.5f, 4, 3);
    expect(-1.75f, -2, -1);
    expect(-0.5f, 0, 0);
    expect(2147483520.0f, 2147483520, 2147483520);
    expect(2147483648.0f, kMax, kMax);
    expect(-2147483648.0f, kMin, kMin);
    expect(kInf, kMax, kMax);
    expect(-1e20f, kMin, kMin);
    expect(kNan, 0, 0);
    EXPECT_EQ(apply(OP(TO_FLOAT), {{16777217, 16777219, 0xffffffff, 0x7fffffff}}),
              (std::vector{bits(16777216.0f), bits(16777220.0f), bits(-1.0f), bits(2147483648.0f)}));
}

template <class T>
void expect_loads(uint8_t type, const std::vector<T>& elements, const std::vector<float>& floats,
                  const std::vector<int32_t>& integers = {}) {
    const auto n = static_cast<uint32_t>(elements.size());
    Bench bench{.size = {1, 1, 1, n}};
    const uint8_t in = bench.operand(bench.place(elements), type, false);
    const uint8_t out = bench.output(SIDRA_TYPE_F32, n);
    bench.load(v(0), in);
    bench.store(out, v(0));
    uint8_t out_int = 0;
    if (!integers.empty()) {
        out_int = bench.output(SIDRA_TYPE_S32, n);
        bench.load(v(1), in, OP(LOAD_INT));
        bench.store(out_int, v(1), OP(STORE_INT));
    }
    bench.run();
    const auto got = bench.values<uint32_t>(out, n);
    for (size_t i = 0; i < n; ++i)
        EXPECT_EQ(got[i], std::isnan(floats[i]) ? 0x7fc00000 : bits(floats[i])) << int{type} << " at " << i;
    if (!integers.empty()) {
        EXPECT_EQ(bench.values<int32_t>(out_int, n), integers) << int{type};
    }
}

TEST(VectorReference, Loads) {
    expect_loads<uint8_t>(SIDRA_TYPE_U8, {0, 200, 255}, {0, 200, 255}, {0, 200, 255});
    expect_loads<int8_t>(SIDRA_TYPE_S8, {-128, -1, 127}, {-128, -1, 127}, {-128, -1, 127});
    expect_loads<int16_t>(SIDRA_TYPE_S16, {-32768, -1, 32767}, {-32768, -1, 32767}, {-32768, -1, 32767});
    expect_loads<int32_t>(SIDRA_TYPE_S32, {kMin, 16777217, -16777219}, {-0x1p31f, 16777216, -16777220},
                          {kMin, 16777217, -16777219});
    // 2^40 + 2^16 + 1 is just above the middle of two floats: converted through double it would not matter, through s32
    // it would. 2^62 + 2^38 + 1 is rounded wrongly through double.
    expect_loads<int64_t>(SIDRA_TYPE_S64,
                          {(1LL << 40) + (1 << 16) + 1, (1LL << 62) + (1LL << 38) + 1, -(1LL << 40), -5,
                           std::numeric_limits<int64_t>::max()},
                          {0x1.000002p+40f, 0x1.000002p+62f, -0x1p40f, -5, 0x1p63f}, {kMax, kMax, kMin, -5, kMax});
    expect_loads<uint8_t>(SIDRA_TYPE_BOOL, {0, 1, 2, 255}, {0, 1, 1, 1}, {0, 1, 1, 1});
    expect_loads<uint32_t>(SIDRA_TYPE_F32, {0xff812345, 0x80000000, 1}, {kNan, -0.0f, 0x1p-149f});
    expect_loads<uint16_t>(SIDRA_TYPE_F16,
                           {0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff, 0x0400, 0x8000, 0x7c00, 0xfc00, 0xfc01},
                           {1, -2, 65504, 0x1p-24f, 0x1.ff8p-15f, 0x1p-14f, -0.0f, kInf, -kInf, kNan});
    expect_loads<uint16_t>(SIDRA_TYPE_BF16, {0x3f80, 0xc040, 0x7f7f, 0x0001, 0x8000, 0x7f80, 0x7f81},
                           {1, -3, 0x1.fep+127f, 0x1p-133f, -0.0f, kInf, kNan});
}

template <class T>
void expect_stores(uint8_t type, const std::vector<float>& floats, const std::vector<T>& elements) {
    const auto n = static_cast<uint32_t>(floats.size());
    Bench bench{.size = {1, 1, 1, n}};
    bench.load(v(0), bench.input(floats));
    const uint8_t out = bench.output(type, n);
    bench.store(out, v(0));
    bench.run();
    EXPECT_EQ(bench.values<T>(out, n), elements) << int{type};
}

TEST(VectorReference, Stores) {
    expect_stores<uint8_t>(SIDRA_TYPE_U8, {-1, 0.5f, 1.5f, 254.5f, 255.5f, 1e9f, kNan, -kInf},
                           {0, 0, 2, 254, 255, 255, 0, 0});
    expect_stores<int8_t>(SIDRA_TYPE_S8, {-128.5f, -129, 126.5f, 127.5f, kInf, kNan}, {-128, -128, 126, 127, 127, 0});
    expect_stores<int16_t>(SIDRA_TYPE_S16, {-32768.5f, -1e6f, 32766.5f, 1e6f, kNan}, {-32768, -32768, 32766, 32767, 0});
    expect_stores<int32_t>(SIDRA_TYPE_S32, {-2.5f, 3e9f, -3e9f, kNan}, {-2, kMax, kMin, 0});
    expect_stores<int64_t>(SIDRA_TYPE_S64, {-2.5f, 0x1p40f, 0x1p63f, 0x1.fffffep+62f, -0x1p63f, -kInf, kNan},
                           {-2, 1LL << 40, std::numeric_limits<int64_t>::max(), 0x7fffff8000000000,
                            std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::min(), 0});
    expect_stores<uint8_t>(SIDRA_TYPE_BOOL, {0, -0.0f, 0x1p-149f, -3, kNan}, {0, 0, 1, 1, 1});
    expect_stores<uint32_t>(SIDRA_TYPE_F32, {-0.0f, f32(0xffc12345)}, {0x80000000, 0x7fc00000});
    expect_stores<uint16_t>(
        SIDRA_TYPE_F16,
        {1, -2, 65504, 65519, 65520, -1e9f, 0x1p-24f, 0x1p-25f, 0x1.000002p-25f, 0x1.8p-24f, 0x1.ff8p-15f, 0x1.ffcp-15f,
         0x1.002p+0f, 0x1.006p+0f, 0x1.00200ap+0f, -0.0f, kInf, f32(0xffc00001)},
        {0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 0xfc00, 0x0001, 0x0000, 0x0001, 0x0002, 0x03ff, 0x0400, 0x3c00, 0x3c02,
         0x3c01, 0x8000, 0x7c00, 0x7e00});
    expect_stores<uint16_t>(
        SIDRA_TYPE_BF16,
        {1, -3, 0x1.01p+0f, 0x1.03p+0f, 0x1.010002p+0f, 0x1.ffp+127f, 0x1.fefffep+127f, 0x1p-149f, 0x1p-134f,
         0x1.8p-133f, -0.0f, -kInf, f32(0xff800001)},
        {0x3f80, 0xc040, 0x3f80, 0x3f82, 0x3f81, 0x7f80, 0x7f7f, 0x0000, 0x0000, 0x0002, 0x8000, 0xff80, 0x7fc0});
}

template <class T>
void expect_int_stores(uint8_t type, const std::vector<T>& elements) {
    Bench bench{.size = {1, 1, 1, 6}};
    bench.load(v(0), bench.input(std::vector<int32_t>{kMin, -200, 0, 2, 300, kMax}), OP(LOAD_INT));
    const uint8_t out = bench.output(type, 6);
    bench.store(out, v(0), OP(STORE_INT));
    bench.run();
    EXPECT_EQ(bench.values<T>(out, 6), elements) << int{type};
}

TEST(VectorReference, IntegerStoresSaturate) {
    expect_int_stores<uint8_t>(SIDRA_TYPE_U8, {0, 0, 0, 2, 255, 255});
    expect_int_stores<int8_t>(SIDRA_TYPE_S8, {-128, -128, 0, 2, 127, 127});
    expect_int_stores<int16_t>(SIDRA_TYPE_S16, {-32768, -200, 0, 2, 300, 32767});
    expect_int_stores<int32_t>(SIDRA_TYPE_S32, {kMin, -200, 0, 2, 300, kMax});
    expect_int_stores<int64_t>(SIDRA_TYPE_S64, {kMin, -200, 0, 2, 300, kMax});
    expect_int_stores<uint8_t>(SIDRA_TYPE_BOOL, {1, 1, 0, 1, 1, 1});
}

TEST(VectorReference, SmallFloatsOfAnyBitsSurvive) {
    for (uint32_t h = 0; h < 0x10000; ++h) {
        const auto half = static_cast<uint16_t>(h);
        const bool nan16 = (h & 0x7fff) > 0x7c00, nan_b = (h & 0x7fff) > 0x7f80;
        ASSERT_EQ(to_f16(from_f16(half)), nan16 ? 0x7e00 : h);
        ASSERT_EQ(to_bf16(from_bf16(half)), nan_b ? 0x7fc0 : h);
        if (nan16 || (h & 0x7c00) == 0x7c00) continue;
        const int exponent = std::max<int>(h >> 10 & 31, 1);
        const int significand = static_cast<int>(h & 0x3ff) + ((h & 0x7c00) != 0 ? 0x400 : 0);
        ASSERT_EQ(from_f16(half), std::ldexp((h & 0x8000) != 0 ? -significand : significand, exponent - 25));
    }
    // Every middle of two neighbours goes to the even one, and what is beside it does not.
    for (uint16_t h = 0; h < 0x7bff; ++h) {
        const float low = from_f16(h), high = from_f16(static_cast<uint16_t>(h + 1)), middle = (low + high) / 2;
        ASSERT_EQ(to_f16(middle), h + (h & 1)) << h;
        ASSERT_EQ(to_f16(std::nextafter(middle, 0.0f)), h) << h;
        ASSERT_EQ(to_f16(std::nextafter(middle, 1e9f)), h + 1) << h;
    }
}

TEST(VectorReference, Philox) {
    using Four = std::array<uint32_t, 4>;
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(VectorReference, RandomNumbersElements) {
    Bench bench{.size = {1, 1, 2, 6}};
    bench.param = {7, 8, 9, 0};
    bench.op(OP(RANDOM), v(0), {.a = param(0), .b = param(1), .c = param(2)});
    const uint8_t out = bench.output(SIDRA_TYPE_S32, 12);
    bench.store(out, v(0), OP(STORE_INT));
    bench.run();
    const auto got = bench.values<uint32_t>(out, 12);
    for (uint32_t e = 0; e < 12; ++e) EXPECT_EQ(got[e], philox({e / 4, 0, 7, 0}, {8, 9})[e % 4]) << e;

    Bench zero{.size = {1, 1, 1, 4}};
    zero.op(OP(RANDOM), v(0), {.a = imm(0), .b = imm(0), .c = imm(0)});
    const uint8_t first = zero.output(SIDRA_TYPE_S32, 4);
    zero.store(first, v(0), OP(STORE_INT));
    zero.run();
    EXPECT_EQ(zero.values<uint32_t>(first, 4), (std::vector{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
}

uint32_t reduce(uint8_t op, const std::vector<uint32_t>& row, const std::vector<uint32_t>& other = {}) {
    const Opcode& opcode = *find_opcode(op);
    Bench bench{.size = {1, 1, 1, static_cast<uint32_t>(row.size())}};
    const bool integer_in = opcode.sources[0] == 'I', integer_out = opcode.destination == 'N';
    const uint8_t type = integer_in ? SIDRA_TYPE_S32 : SIDRA_TYPE_F32;
    const uint8_t load = integer_in ? OP(LOAD_INT) : OP(LOAD);
    bench.load(v(0), bench.operand(bench.place(row), type, false), load);
    if (!other.empty()) bench.load(v(1), bench.operand(bench.place(other), type, false), load);
    bench.op(op, s(5), {.a = v(0), .b = v(other.empty() ? 0 : 1)});
    const uint8_t out = bench.output(integer_out ? SIDRA_TYPE_S32 : SIDRA_TYPE_F32, 1);
    bench.operands[out].stride[3] = 0;
    bench.store(out, s(5), integer_out ? OP(STORE_INT) : OP(STORE));
    bench.run();
    return bench.values<uint32_t>(out, 1)[0];
}

std::vector<uint32_t> floats(const std::vector<float>& values) {
    std::vector<uint32_t> found;
    for (const float x : values) found.push_back(bits(x));
    return found;
}

TEST(VectorReference, SumsHave32Parts) {
    std::vector<float> row(33);
    row[0] = 1e8f, row[1] = 1, row[32] = -1e8f;  // one after another it would be 0
    EXPECT_EQ(reduce(OP(REDUCE_SUM), floats(row)), bits(1));
    row.assign(32, 0);
    row[0] = 0x1p24f, row[8] = 1, row[24] = 1;  // 24 is added to 8 before 8 is added to 0
    EXPECT_EQ(reduce(OP(REDUCE_SUM), floats(row)), bits(0x1p24f + 2));
    row.assign(32, 0);
    row[0] = 0x1p24f, row[8] = 1, row[16] = 1;  // not together
    EXPECT_EQ(reduce(OP(REDUCE_SUM), floats(row)), bits(0x1p24f));
    EXPECT_EQ(reduce(OP(REDUCE_SUM), floats({-0.0f})), bits(0.0f));
    EXPECT_EQ(reduce(OP(REDUCE_SUM), floats({1, kNan})), bits(kNan));
    std::vector<float> a(33), b(33);
    a[0] = -(1 + 0x1p-11f), b[0] = 1;
    a[32] = b[32] = 1 + 0x1p-12f;
    EXPECT_EQ(reduce(OP(REDUCE_DOT), floats(a), floats(b)), bits(0x1p-24f));
    EXPECT_EQ(reduce(OP(REDUCE_SUM_INT), {0x7fffffff, 1, 5}), 0x80000005);
}

TEST(VectorReference, Extremes) {
    EXPECT_EQ(reduce(OP(REDUCE_MAX), floats({-3, 7, 2})), bits(7));
    EXPECT_EQ(reduce(OP(REDUCE_MIN), floats({-3, 7, 2})), bits(-3));
    EXPECT_EQ(reduce(OP(REDUCE_MAX), floats({-0.0f, 0.0f, -0.0f})), bits(0.0f));
    EXPECT_EQ(reduce(OP(REDUCE_MIN), floats({0.0f, -0.0f, 0.0f})), bits(-0.0f));
    EXPECT_EQ(reduce(OP(REDUCE_MAX), floats({1, kNan, 3})), bits(kNan));
    EXPECT_EQ(reduce(OP(REDUCE_MIN), floats({kNan, 1, 3})), bits(kNan));
    EXPECT_EQ(reduce(OP(REDUCE_ARGMAX), floats({1, 5, 3, 5})), 1u);
    EXPECT_EQ(reduce(OP(REDUCE_ARGMAX), floats({-0.0f, 0.0f})), 0u);
    EXPECT_EQ(reduce(OP(REDUCE_ARGMAX), floats({1, 9, kNan, 3, kNan})), 2u);
    EXPECT_EQ(reduce(OP(REDUCE_ARGMAX), floats({-kInf, -kInf})), 0u);
    EXPECT_EQ(reduce(OP(REDUCE_ARGMIN), floats({1, -5, 3, -5})), 1u);
    EXPECT_EQ(reduce(OP(REDUCE_ARGMIN), floats({0.0f, -0.0f})), 0u);
    EXPECT_EQ(reduce(OP(REDUCE_ARGMIN), floats({1, kNan, 0})), 1u);
    EXPECT_EQ(reduce(OP(REDUCE_MAX_INT), {0xffffffff, 3, 0x80000000}), 3u);
    EXPECT_EQ(reduce(OP(REDUCE_MIN_INT), {0xffffffff, 3, 0x80000000}), 0x80000000);
}

TEST(VectorReference, Scans) {
    Bench bench{.size = {1, 1, 1, 4}};
    bench.load(v(0), bench.input(std::vector<float>{-0.0f, 0x1p24f, 1, 1}));
    bench.op(OP(SCAN), v(0), {.a = v(0)});
    bench.op(OP(MOVE_INT), v(1), {.a = kColumn});
    bench.op(OP(SCAN_INT), v(2), {.a = v(1)});
    const uint8_t out = bench.output(SIDRA_TYPE_F32, 4), integers = bench.output(SIDRA_TYPE_S32, 4);
    bench.store(out, v(0));
    bench.store(integers, v(2), OP(STORE_INT));
    bench.run();
    EXPECT_EQ(bench.values<uint32_t>(out, 4), floats({0.0f, 0x1p24f, 0x1p24f, 0x1p24f}));
    EXPECT_EQ(bench.values<int32_t>(integers, 4), (std::vector{0, 1, 3, 6}));
}

TEST(VectorReference, SourcesOfEachKind) {
    Bench bench{.size = {2, 1, 2, 2}};
    bench.param = {bits(0.5f), 0, 100, 0};
    bench.op(OP(MOVE), s(3), {.a = param(0)});
    bench.op(OP(ADD), s(3), {.a = s(3), .b = imm(1), .imm1 = bits(2)});   // 2.5
    bench.op(OP(MUL_INT), s(4), {.a = kRow, .b = imm(0), .imm0 = 1000});  // 1000 row
    bench.pass(OP(ADD_INT), v(0), {.a = kColumn, .b = s(4)});
    bench.op(OP(ADD_INT), v(0), {.a = v(0), .b = param(2)});
    bench.op(OP(TO_FLOAT), v(1), {.a = v(0)});
    bench.op(OP(ADD), v(1), {.a = v(1), .b = s(3)});
    const uint8_t out = bench.output(SIDRA_TYPE_F32, 8);
    bench.store(out, v(1));
    bench.run();
    EXPECT_EQ(bench.values<float>(out, 8),
              (std::vector<float>{102.5, 103.5, 1102.5, 1103.5, 2102.5, 2103.5, 3102.5, 3103.5}));
}

TEST(VectorReference, StridesAndScalars) {
    // out[i0][i1][i2][c] = in[c][i2] + scale[i1], with the sum of each row beside it
    Bench bench{.size = {2, 2, 3, 2}};
    const uint8_t in = bench.input(std::vector<float>{1, 2, 3, 10, 20, 30});
    bench.operands[in].stride[0] = bench.operands[in].stride[1] = 0;
    bench.operands[in].stride[2] = 4;
    bench.operands[in].stride[3] = 12;
    const uint8_t scale = bench.input(std::vector<int16_t>{100, 200});
    bench.operands[scale].stride[0] = bench.operands[scale].stride[2] = bench.operands[scale].stride[3] = 0;
    bench.operands[scale].stride[1] = 2;
    const uint8_t out = bench.output(SIDRA_TYPE_F32, 24), sums = bench.output(SIDRA_TYPE_S64, 12);
    bench.operands[sums].stride[0] = 48;
    bench.operands[sums].stride[1] = 24;
    bench.operands[sums].stride[2] = 8;
    bench.operands[sums].stride[3] = 0;
    bench.load(s(0), scale);
    bench.pass(OP(LOAD), v(0));
    bench.program.back().operand = in;
    bench.op(OP(ADD), v(0), {.a = v(0), .b = s(0)});
    bench.store(out, v(0));
    bench.op(OP(REDUCE_SUM), s(1), {.a = v(0)});
    bench.store(sums, s(1));
    EXPECT_EQ(bench.run(), std::nullopt);
    EXPECT_EQ(bench.values<float>(out, 24),
              (std::vector<float>{101, 110, 102, 120, 103, 130, 201, 210, 202, 220, 203, 230,
                                  101, 110, 102, 120, 103, 130, 201, 210, 202, 220, 203, 230}));
    EXPECT_EQ(bench.values<int64_t>(sums, 12),
              (std::vector<int64_t>{211, 222, 233, 411, 422, 433, 211, 222, 233, 411, 422, 433}));
}

// table[index[r]][c] += x[r][c], as an index_add of rows.
Bench accumulation(const std::vector<int64_t>& index) {
    Bench bench{.size = {1, 1, static_cast<uint32_t>(index.size()), 2}};
    std::vector<float> x;
    for (size_t r = 0; r < index.size(); ++r) x.insert(x.end(), {std::ldexp(1.0f, static_cast<int>(r)), 1});
    bench.load(v(0), bench.input(x));
    const uint8_t table = bench.output(SIDRA_TYPE_F32, 0);
    bench.operands[table].addr = bench.place(std::vector<float>{0, 0, 100, 0, 200, 0});
    bench.operands[table].index = bench.place(index);
    bench.operands[table].index_type = SIDRA_TYPE_S64;
    bench.operands[table].extent = 3;
    bench.load(v(1), table);
    bench.op(OP(ADD), v(1), {.a = v(1), .b = v(0)});
    bench.store(table, v(1));
    return bench;
}

TEST(VectorReference, RowsAtIndicesAccumulate) {
    Bench bench = accumulation({2, 0, 2, 2});
    EXPECT_EQ(bench.run(), std::nullopt);
    EXPECT_EQ(bench.values<float>(1, 6), (std::vector<float>{2, 1, 100, 0, 213, 3}));
}

TEST(VectorReference, IndexOutOfRangeFaults) {
    for (const int64_t bad : {int64_t{-1}, int64_t{3}, int64_t{1} << 40, std::numeric_limits<int64_t>::min()}) {
        Bench bench = accumulation({2, bad, 0});
        EXPECT_EQ(bench.run(), bad);
        EXPECT_EQ(bench.values<float>(1, 6), (std::vector<float>{0, 0, 100, 0, 201, 1})) << "rows before it";
    }
}

TEST(VectorReference, GatherAndScatter) {
    // out[index[c]] = table[index[c]] * 2, of each row; the last of equal columns stays
    Bench bench{.size = {1, 1, 2, 4}};
    const uint8_t index = bench.input(std::vector<int32_t>{4, 0, 4, 1, 3, 2, 1, 0});
    const uint8_t table = bench.input(std::vector<float>{0, 1, 2, 3, 4, 10, 11, 12, 13, 14});
    const uint8_t out = bench.operand(bench.place(std::vector<int32_t>(10, -7)), SIDRA_TYPE_S32, true);
    for (const uint8_t o : {table, out}) {
        bench.operands[o].extent = 5;
        bench.operands[o].stride[2] = 20;
    }
    bench.load(v(0), index, OP(LOAD_INT));
    bench.op(OP(GATHER), v(1), {.a = v(0)});
    bench.program.back().operand = table;
    bench.op(OP(TO_INT), v(1), {.a = v(1)});
    bench.op(OP(SHL), v(1), {.a = v(1), .b = imm(0), .imm0 = 8});
    bench.op(OP(OR), v(1), {.a = v(1), .b = kColumn});
    bench.op(OP(SCATTER_INT), 0, {.a = v(1), .b = v(0)});
    bench.program.back().operand = out;
    EXPECT_EQ(bench.run(), std::nullopt);
    EXPECT_EQ(bench.values<int32_t>(out, 10),
              (std::vector{0x001, 0x103, -7, -7, 0x402, 0xa03, 0xb02, 0xc01, 0xd00, -7}));

    Bench other{.size = {1, 1, 1, 3}};
    const uint8_t small = other.input(std::vector<int8_t>{1, -2});
    other.operands[small].extent = 2;
    other.op(OP(GATHER_INT), v(0), {.a = imm(0), .imm0 = 1});
    other.program.back().operand = small;
    const uint8_t f16 = other.output(SIDRA_TYPE_F16, 3);
    other.operands[f16].extent = 3;
    other.op(OP(TO_FLOAT), v(0), {.a = v(0)});
    other.op(OP(SCATTER), 0, {.a = v(0), .b = kColumn});
    other.program.back().operand = f16;
    EXPECT_EQ(other.run(), std::nullopt);
    EXPECT_EQ(other.values<uint16_t>(f16, 3), (std::vector<uint16_t>{0xc000, 0xc000, 0xc000}));
    other.program[0].imm[0] = 2;
    EXPECT_EQ(other.run(), 2);
    other.program[0].imm[0] = static_cast<uint32_t>(-9);
    EXPECT_EQ(other.run(), -9);
}

// Rows of these lengths, of floats from -8 to 8.
std::vector<float> random_rows(uint32_t rows, uint32_t columns) {
    std::mt19937 random(columns);
    std::vector<float> x(size_t{rows} * columns);
    for (float& e : x) e = std::uniform_real_distribution<float>(-8, 8)(random);
    return x;
}

TEST(VectorReference, SoftmaxIsAProgram) {
    for (const uint32_t columns : {1u, 5u, 33u, 1000u}) {
        Bench bench{.size = {1, 1, 3, columns}};
        const auto x = random_rows(3, columns);
        const uint8_t in = bench.input(x), out = bench.output(SIDRA_TYPE_F32, x.size());
        bench.load(v(0), in);
        bench.op(OP(REDUCE_MAX), s(0), {.a = v(0)});
        bench.pass(OP(LOAD), v(0));
        bench.program.back().operand = in;
        bench.op(OP(SUB), v(0), {.a = v(0), .b = s(0)});
        bench.op(OP(EXP), v(0), {.a = v(0)});
        bench.op(OP(REDUCE_SUM), s(1), {.a = v(0)});
        bench.store(out, v(0));
        bench.op(OP(DIV), s(1), {.a = imm(0), .b = s(1), .imm0 = bits(1)});
        bench.pass(OP(LOAD), v(0));
        bench.program.back().operand = out;
        bench.op(OP(MUL), v(0), {.a = v(0), .b = s(1)});
        bench.store(out, v(0));
        bench.run();
        const auto got = bench.values<float>(out, x.size());
        for (uint32_t r = 0; r < 3; ++r) {
            long double sum = 0;
            for (uint32_t c = 0; c < columns; ++c) sum += std::exp(static_cast<long double>(x[r * columns + c]));
            for (uint32_t c = 0; c < columns; ++c) {
                const long double exact = std::exp(static_cast<long double>(x[r * columns + c])) / sum;
                EXPECT_NEAR(static_cast<double>(got[r * columns + c] / exact), 1, 4e-6);
            }
        }
    }
}

TEST(VectorReference, LayerNormIsAProgram) {
    for (const uint32_t columns : {2u, 17u, 100u, 1025u}) {
        Bench bench{.size = {1, 1, 2, columns}};
        const auto x = random_rows(2, columns);
        std::vector<float> gamma(columns), beta(columns);
        for (uint32_t c = 0; c < columns; ++c)
            gamma[c] = 1 + static_cast<float>(c % 7), beta[c] = static_cast<float>(c % 3);
        const uint8_t in = bench.input(x), scale = bench.input(gamma), shift = bench.input(beta);
        bench.operands[scale].stride[2] = bench.operands[shift].stride[2] = 0;
        const uint8_t out = bench.output(SIDRA_TYPE_F32, x.size());
        bench.param = {bits(1.0f / static_cast<float>(columns)), bits(1e-5f), 0, 0};
        const auto load_in_new_pass = [&] {
            bench.pass(OP(LOAD), v(0));
            bench.program.back().operand = in;
        };
        load_in_new_pass();
        bench.op(OP(REDUCE_SUM), s(0), {.a = v(0)});
        bench.op(OP(MUL), s(0), {.a = s(0), .b = param(0)});
        load_in_new_pass();
        bench.op(OP(SUB), v(0), {.a = v(0), .b = s(0)});
        bench.op(OP(REDUCE_DOT), s(1), {.a = v(0), .b = v(0)});
        bench.op(OP(FMA), s(1), {.a = s(1), .b = param(0), .c = param(1)});
        bench.op(OP(RSQRT), s(1), {.a = s(1)});
        load_in_new_pass();
        bench.op(OP(SUB), v(0), {.a = v(0), .b = s(0)});
        bench.op(OP(MUL), v(0), {.a = v(0), .b = s(1)});
        bench.load(v(1), scale);
        bench.load(v(2), shift);
        bench.op(OP(FMA), v(0), {.a = v(0), .b = v(1), .c = v(2)});
        bench.store(out, v(0));
        bench.run();
        const auto got = bench.values<float>(out, x.size());
        for (uint32_t r = 0; r < 2; ++r) {
            long double mean = 0, variance = 0;
            for (uint32_t c = 0; c < columns; ++c) mean += x[r * columns + c];
            mean /= columns;
            for (uint32_t c = 0; c < columns; ++c)
                variance += (x[r * columns + c] - mean) * (x[r * columns + c] - mean);
            variance /= columns;
            for (uint32_t c = 0; c < columns; ++c) {
                const long double exact =
                    (x[r * columns + c] - mean) / std::sqrt(variance + 1e-5L) * gamma[c] + beta[c];
                EXPECT_NEAR(got[r * columns + c], static_cast<double>(exact), 2e-5);
            }
        }
    }
}

TEST(VectorReference, MemoryHasBounds) {
    Memory memory(kBase, std::vector<uint8_t>(8));
    EXPECT_THROW(memory.load(kBase - 1, 1), std::out_of_range);
    EXPECT_THROW(memory.load(kBase + 5, 4), std::out_of_range);
    EXPECT_THROW(memory.store(~uint64_t{0}, 8, 0), std::out_of_range);
    memory.store(kBase + 4, 4, 0x04030201);
    EXPECT_EQ(memory.load(kBase + 4, 2), 0x0201u);
    EXPECT_EQ(memory.bytes()[7], 4);
}

}  // namespace
}  // namespace sidra::vector_reference::test
