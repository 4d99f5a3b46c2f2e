// SPDX-License-Identifier: MIT
// VEC operations, input conversion, result scaling and pooling against oracles written from sidra_cmd.h in double and
// 64-bit integers.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "engine_test_util.h"

namespace sidra::engine::test {
namespace {

constexpr uint32_t kU8 = SIDRA_TYPE_U8, kS8 = SIDRA_TYPE_S8, kS32 = SIDRA_TYPE_S32, kF32 = SIDRA_TYPE_F32;
constexpr int64_t kS32Min = std::numeric_limits<int32_t>::min(), kS32Max = std::numeric_limits<int32_t>::max();

// Runs one operation on rows without gaps.
template <class Out, class In>
std::vector<Out> run(const Engine* engine, uint32_t op, uint32_t in_type, uint32_t out_type, const std::vector<In>& in,
                     uint32_t cols, const void* in2 = nullptr, size_t in2_stride = 0, uint32_t param0 = 0,
                     uint32_t param1 = 0) {
    const auto rows = static_cast<uint32_t>(in.size() / cols);
    const uint32_t out_cols = op >= SIDRA_VEC_OP_REDUCE_SUM ? 1 : cols;
    Guarded<In> from(in.size());
    std::copy(in.begin(), in.end(), from.begin());
    Guarded<Out> out(size_t{rows} * out_cols);
    engine->vec({op, in_type, out_type, rows, cols, from.data(), in2, out.data(), cols * sizeof(In), in2_stride,
                 out_cols * sizeof(Out), param0, param1});
    return {out.begin(), out.end()};
}

std::vector<float> floats(Random& random, size_t n, float (*make)(Random&)) {
    std::vector<float> all(n);
    for (float& x : all) x = make(random);
    return all;
}

template <class T>
std::vector<T> integers(Random& random, size_t n) {
    std::vector<T> all(n);
    fill_bits(random, all.data(), n);
    return all;
}

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

int64_t low_of(uint32_t type) { return type == kS8 ? -128 : type == kU8 ? 0 : kS32Min; }
int64_t high_of(uint32_t type) { return type == kS8 ? 127 : type == kU8 ? 255 : kS32Max; }

// saturate(rne(x * s) + z); the product is one float multiplication.
int64_t quantized(float x, float s, int32_t z, uint32_t type) {
    const volatile float product = x * s;
    return saturated(rounded(product) + z, low_of(type), high_of(type));
}

TEST(Vec, Quantize) {
    Random random(1);
    constexpr uint32_t kCols = 37;
    const auto in = floats(random, 4 * kCols, any_float);
    const auto ints = integers<int32_t>(random, 4 * kCols);
    const auto factors = floats(random, kCols, plain_float);
    const float gain = 0.25f;
    for (const Engine* engine : engines()) {
        for (const bool per_column : {false, true}) {
            const void* in2 = per_column ? factors.data() : nullptr;
            const auto factor = [&](size_t i) { return per_column ? gain * factors[i % kCols] : gain; };
            const auto s8 = run<int8_t>(engine, SIDRA_VEC_OP_QUANTIZE, kF32, kS8, in, kCols, in2, 0, bits(gain),
                                        static_cast<uint32_t>(-3));
            const auto u8 = run<uint8_t>(engine, SIDRA_VEC_OP_QUANTIZE, kF32, kU8, in, kCols, in2, 0, bits(gain), 100);
            const auto s32 = run<int32_t>(engine, SIDRA_VEC_OP_QUANTIZE, kF32, kS32, in, kCols, in2, 0, bits(gain), 5);
            const auto from_s32 =
                run<int8_t>(engine, SIDRA_VEC_OP_QUANTIZE, kS32, kS8, ints, kCols, in2, 0, bits(gain), 1);
            for (size_t i = 0; i < in.size(); ++i) {
                ASSERT_EQ(quantized(in[i], factor(i), -3, kS8), s8[i]) << engine->name << " " << in[i];
                ASSERT_EQ(quantized(in[i], factor(i), 100, kU8), u8[i]) << engine->name << " " << in[i];
                ASSERT_EQ(quantized(in[i], factor(i), 5, kS32), s32[i]) << engine->name << " " << in[i];
                ASSERT_EQ(quantized(static_cast<float>(ints[i]), factor(i), 1, kS8), from_s32[i])
                    << engine->name << " " << ints[i];
            }
        }
    }
}

TEST(Vec, QuantizeRoundsTiesToEvenAndNanToZero) {
    const std::vector<float> in = {0.5f,   1.5f, 2.5f,     -0.5f,     -1.5f,  -2.5f, 126.5f,
                                   127.5f, NAN,  INFINITY, -INFINITY, 1e-45f, -1e30f};
    const std::vector<int8_t> expected = {0, 2, 2, 0, -2, -2, 126, 127, 0, 127, -128, 0, -128};
    for (const Engine* engine : engines()) {  // zero bits of param0 mean 1
        EXPECT_EQ(expected, run<int8_t>(engine, SIDRA_VEC_OP_QUANTIZE, kF32, kS8, in, static_cast<uint32_t>(in.size())))
            << engine->name;
    }
}

TEST(Vec, Dequantize) {
    Random random(2);
    constexpr uint32_t kCols = 53;
    const auto s8 = integers<int8_t>(random, 3 * kCols);
    const auto u8 = integers<uint8_t>(random, 3 * kCols);
    auto s32 = integers<int32_t>(random, 3 * kCols);
    for (int32_t& x : s32) x /= 2;  // x - z stays in range
    const auto factors = floats(random, kCols, plain_float);
    for (const Engine* engine : engines()) {
        const auto check = [&](const auto& in, uint32_t type, int32_t z) {
            const auto out = run<float>(engine, SIDRA_VEC_OP_DEQUANTIZE, type, kF32, in, kCols, factors.data(), 0,
                                        bits(0.01f), static_cast<uint32_t>(z));
            for (size_t i = 0; i < in.size(); ++i) {
                const volatile float factor = 0.01f * factors[i % kCols];
                const volatile float expected = static_cast<float>(int64_t{in[i]} - z) * factor;
                ASSERT_EQ(bits(expected), bits(out[i])) << engine->name << " " << int64_t{in[i]};
            }
        };
        check(s8, kS8, -5);
        check(u8, kU8, 128);
        check(s32, kS32, 1000);
    }
}

TEST(Vec, QuantizeInputOfMvm) {
    Random random(3);
    const auto in = floats(random, 501, any_float);
    const float in_scale = 0.3f;
    const volatile float inverse = 1.0f / in_scale;
    for (const Engine* engine : engines()) {
        for (const int32_t zero : {0, 7, 128, 255}) {
            std::vector<uint8_t> out(in.size());
            engine->quantize_u8(in.data(), out.data(), in.size(), in_scale, zero);
            for (size_t i = 0; i < in.size(); ++i)
                ASSERT_EQ(quantized(in[i], inverse, zero, kU8), out[i]) << engine->name << " " << in[i];
        }
    }
}

TEST(Vec, ScaleOfMvm) {
    Random random(4);
    constexpr uint32_t kRows = 3, kCols = 41;
    const auto acc = integers<int32_t>(random, kRows * kCols);
    auto factors = floats(random, kCols, plain_float);
    for (float& f : factors) f *= 1e-8f;
    const float gain = 2.5f;
    for (const Engine* engine : engines()) {
        std::vector<float> f32(acc.size());
        std::vector<int8_t> s8(acc.size());
        std::vector<uint8_t> u8(acc.size());
        engine->scale({acc.data(), kCols, f32.data(), kCols * 4, kRows, kCols, kF32, gain, factors.data(), 0});
        engine->scale({acc.data(), kCols, s8.data(), kCols, kRows, kCols, kS8, gain, factors.data(), -4});
        engine->scale({acc.data(), kCols, u8.data(), kCols, kRows, kCols, kU8, 1e-7f, nullptr, 128});
        for (size_t i = 0; i < acc.size(); ++i) {
            const auto x = static_cast<float>(acc[i]);
            const volatile float factor = gain * factors[i % kCols];
            const volatile float expected = x * factor;
            ASSERT_EQ(bits(expected), bits(f32[i])) << engine->name;
            ASSERT_EQ(quantized(x, factor, -4, kS8), s8[i]) << engine->name;
            ASSERT_EQ(quantized(x, 1e-7f, 128, kU8), u8[i]) << engine->name;
        }
    }
}

TEST(Vec, TwoOperands) {
    Random random(5);
    constexpr uint32_t kCols = 45;
    const auto a = floats(random, 3 * kCols, any_float), b = floats(random, 3 * kCols, any_float);
    const auto x = integers<int32_t>(random, 3 * kCols), y = integers<int32_t>(random, 3 * kCols);
    const auto oracle = [](uint32_t op, double p, double q) -> double {
        switch (op) {  // the sum or product in double, rounded once more to float, is the correctly rounded result
            case SIDRA_VEC_OP_ADD:
                return p + q;
            case SIDRA_VEC_OP_SUB:
                return p - q;
            case SIDRA_VEC_OP_MUL:
                return p * q;
            case SIDRA_VEC_OP_MAX:
                return std::isnan(p) || std::isnan(q) ? NAN : std::max(p, q);
            default:
                return std::isnan(p) || std::isnan(q) ? NAN : std::min(p, q);
        }
    };
    const auto integer = [](uint32_t op, int64_t p, int64_t q) -> int64_t {
        switch (op) {
            case SIDRA_VEC_OP_ADD:
                return p + q;
            case SIDRA_VEC_OP_SUB:
                return p - q;
            case SIDRA_VEC_OP_MUL:
                return p * q;
            case SIDRA_VEC_OP_MAX:
                return std::max(p, q);
            default:
                return std::min(p, q);
        }
    };
    for (const Engine* engine : engines()) {
        for (uint32_t op = SIDRA_VEC_OP_ADD; op <= SIDRA_VEC_OP_MIN; ++op) {
            for (const size_t stride : {size_t{0}, size_t{kCols} * 4}) {  // 0: one row for all
                const auto f = run<float>(engine, op, kF32, kF32, a, kCols, b.data(), stride);
                const auto i = run<int32_t>(engine, op, kS32, kS32, x, kCols, y.data(), stride);
                for (size_t k = 0; k < a.size(); ++k) {
                    const size_t second = stride == 0 ? k % kCols : k;
                    const auto expected = static_cast<float>(oracle(op, a[k], b[second]));
                    if (std::isnan(expected)) {
                        ASSERT_EQ(0x7fc00000u, bits(f[k])) << engine->name << " op " << op;
                    } else {
                        ASSERT_EQ(expected, f[k]) << engine->name << " op " << op << " " << a[k] << " " << b[second];
                    }
                    ASSERT_EQ(static_cast<int32_t>(static_cast<uint32_t>(integer(op, x[k], y[second]))), i[k])
                        << engine->name << " op " << op;
                }
            }
        }
    }
}

TEST(Vec, SignsOfZeroInMaxAndMin) {
    const std::vector<float> a = {0.0f, -0.0f, 0.0f, -0.0f}, b = {0.0f, 0.0f, -0.0f, -0.0f};
    for (const Engine* engine : engines()) {
        const auto max = run<float>(engine, SIDRA_VEC_OP_MAX, kF32, kF32, a, 4, b.data());
        const auto min = run<float>(engine, SIDRA_VEC_OP_MIN, kF32, kF32, a, 4, b.data());
        for (size_t i = 0; i < 4; ++i) {
            EXPECT_EQ(i == 3, std::signbit(max[i])) << engine->name;
            EXPECT_EQ(i != 0, std::signbit(min[i])) << engine->name;
        }
    }
}

TEST(Vec, ReluAndLut) {
    Random random(6);
    constexpr uint32_t kCols = 67;
    const auto f = floats(random, 2 * kCols, any_float);
    const auto s32 = integers<int32_t>(random, 2 * kCols);
    const auto s8 = integers<int8_t>(random, 2 * kCols);
    const auto table = integers<int8_t>(random, 256);
    for (const Engine* engine : engines()) {
        const auto rf = run<float>(engine, SIDRA_VEC_OP_RELU, kF32, kF32, f, kCols);
        const auto ri = run<int32_t>(engine, SIDRA_VEC_OP_RELU, kS32, kS32, s32, kCols);
        const auto rb = run<int8_t>(engine, SIDRA_VEC_OP_RELU, kS8, kS8, s8, kCols);
        const auto looked = run<int8_t>(engine, SIDRA_VEC_OP_LUT, kS8, kS8, s8, kCols, table.data());
        for (size_t i = 0; i < f.size(); ++i) {
            if (std::isnan(f[i])) {
                ASSERT_TRUE(std::isnan(rf[i]));
            } else {
                ASSERT_EQ(bits(f[i] > 0 ? f[i] : 0.0f), bits(rf[i])) << engine->name;
            }
            ASSERT_EQ(s32[i] > 0 ? s32[i] : 0, ri[i]) << engine->name;
            ASSERT_EQ(s8[i] > 0 ? s8[i] : 0, rb[i]) << engine->name;
            ASSERT_EQ(table[static_cast<uint8_t>(s8[i])], looked[i]) << engine->name;
        }
    }
}

TEST(Vec, Softmax) {
    Random random(7);
    for (const uint32_t cols : {1u, 2u, 10u, 31u, 64u, 1000u}) {
        const auto in = floats(random, 3 * cols, plain_float);
        for (const Engine* engine : engines()) {
            const auto out = run<float>(engine, SIDRA_VEC_OP_SOFTMAX, kF32, kF32, in, cols);
            for (size_t r = 0; r < 3; ++r) {
                const double top = *std::max_element(&in[r * cols], &in[r * cols] + cols);
                double sum = 0;
                for (size_t c = 0; c < cols; ++c) sum += std::exp(double{in[r * cols + c]} - top);
                for (size_t c = 0; c < cols; ++c) {
                    const double expected = std::exp(double{in[r * cols + c]} - top) / sum;
                    // x - max is rounded before exp: half an ulp of the difference, which is below 64 here
                    ASSERT_NEAR(expected, out[r * cols + c], expected * 3e-6) << engine->name;
                }
            }
        }
    }
}

TEST(Vec, SoftmaxOfInfinitiesAndNan) {
    for (const Engine* engine : engines()) {
        const std::vector<float> masked = {1.0f, -INFINITY, 1.0f, -INFINITY};
        EXPECT_EQ((std::vector<float>{0.5f, 0.0f, 0.5f, 0.0f}),
                  run<float>(engine, SIDRA_VEC_OP_SOFTMAX, kF32, kF32, masked, 4))
            << engine->name;
        const std::vector<std::vector<float>> bad = {
            std::vector<float>(40, -INFINITY), {1.0f, NAN, 2.0f}, {1.0f, INFINITY}, {NAN, NAN}};
        for (const auto& row : bad) {
            for (const float x :
                 run<float>(engine, SIDRA_VEC_OP_SOFTMAX, kF32, kF32, row, static_cast<uint32_t>(row.size()))) {
                EXPECT_EQ(0x7fc00000u, bits(x)) << engine->name;
            }
        }
        const std::vector<float> large = {3e38f, -3e38f, 3e38f};
        EXPECT_EQ((std::vector<float>{0.5f, 0.0f, 0.5f}),
                  run<float>(engine, SIDRA_VEC_OP_SOFTMAX, kF32, kF32, large, 3))
            << engine->name;
    }
}

TEST(Vec, Layernorm) {
    Random random(8);
    const float eps = 1e-5f;
    for (const uint32_t cols : {2u, 7u, 32u, 33u, 768u}) {
        auto in = floats(random, 3 * cols, plain_float);
        for (float& x : in) x += 100.0f;  // a mean that a one-pass variance would choke on
        const auto affine = floats(random, 2 * cols, plain_float);
        for (const Engine* engine : engines()) {
            for (const bool with : {false, true}) {
                const auto out = run<float>(engine, SIDRA_VEC_OP_LAYERNORM, kF32, kF32, in, cols,
                                            with ? affine.data() : nullptr, 0, bits(eps));
                for (size_t r = 0; r < 3; ++r) {
                    double mean = 0, variance = 0;
                    for (size_t c = 0; c < cols; ++c) mean += in[r * cols + c];
                    mean /= cols;
                    for (size_t c = 0; c < cols; ++c) variance += std::pow(in[r * cols + c] - mean, 2);
                    variance /= cols;
                    for (size_t c = 0; c < cols; ++c) {
                        const double gamma = with ? affine[c] : 1, beta = with ? affine[cols + c] : 0;
                        const double expected =
                            (in[r * cols + c] - mean) / std::sqrt(variance + double{eps}) * gamma + beta;
                        // the mean, about 100, carries an error of some 1e-5, seen against a deviation of about 4
                        ASSERT_NEAR(expected, out[r * cols + c],
                                    4e-5 * (1 + std::fabs(gamma)) / std::min(1.0, std::sqrt(variance)))
                            << engine->name << " " << cols;
                    }
                }
            }
        }
    }
}

TEST(Vec, Reductions) {
    Random random(9);
    for (const uint32_t cols : {1u, 3u, 15u, 32u, 33u, 64u, 65u, 500u}) {
        const auto f = floats(random, 4 * cols, plain_float);
        const auto s = integers<int32_t>(random, 4 * cols);
        for (const Engine* engine : engines()) {
            const auto fs = run<float>(engine, SIDRA_VEC_OP_REDUCE_SUM, kF32, kF32, f, cols);
            const auto mean = run<float>(engine, SIDRA_VEC_OP_REDUCE_MEAN, kF32, kF32, f, cols);
            const auto fmax = run<float>(engine, SIDRA_VEC_OP_REDUCE_MAX, kF32, kF32, f, cols);
            const auto fmin = run<float>(engine, SIDRA_VEC_OP_REDUCE_MIN, kF32, kF32, f, cols);
            const auto ss = run<int32_t>(engine, SIDRA_VEC_OP_REDUCE_SUM, kS32, kS32, s, cols);
            const auto smax = run<int32_t>(engine, SIDRA_VEC_OP_REDUCE_MAX, kS32, kS32, s, cols);
            const auto smin = run<int32_t>(engine, SIDRA_VEC_OP_REDUCE_MIN, kS32, kS32, s, cols);
            const auto arg = run<int32_t>(engine, SIDRA_VEC_OP_ARGMAX, kS32, kS32, s, cols);
            for (size_t r = 0; r < 4; ++r) {
                const auto first = f.begin() + static_cast<ptrdiff_t>(r * cols), last = first + cols;
                const auto ifirst = s.begin() + static_cast<ptrdiff_t>(r * cols), ilast = ifirst + cols;
                double sum = 0, size = 0;
                int64_t isum = 0;
                for (auto p = first; p != last; ++p) sum += *p, size += std::fabs(*p);
                for (auto p = ifirst; p != ilast; ++p) isum += *p;
                const double bound = size * 0x1p-24 * (cols / 32 + 6);  // additions that any one element goes through
                ASSERT_NEAR(sum, fs[r], bound) << engine->name << " " << cols;
                ASSERT_NEAR(sum / cols, mean[r], bound / cols + std::fabs(sum / cols) * 0x1p-23) << engine->name;
                ASSERT_EQ(*std::max_element(first, last), fmax[r]) << engine->name;
                ASSERT_EQ(*std::min_element(first, last), fmin[r]) << engine->name;
                ASSERT_EQ(static_cast<int32_t>(static_cast<uint32_t>(isum)), ss[r]) << engine->name;
                ASSERT_EQ(*std::max_element(ifirst, ilast), smax[r]) << engine->name;
                ASSERT_EQ(*std::min_element(ifirst, ilast), smin[r]) << engine->name;
                ASSERT_EQ(std::max_element(ifirst, ilast) - ifirst, arg[r]) << engine->name;
            }
        }
    }
}

TEST(Vec, NanLosesInReductions) {
    for (const Engine* engine : engines()) {
        const std::vector<float> some = {NAN, -3.0f, NAN, -2.0f, -INFINITY};
        EXPECT_EQ(-2.0f, run<float>(engine, SIDRA_VEC_OP_REDUCE_MAX, kF32, kF32, some, 5)[0]) << engine->name;
        EXPECT_EQ(-INFINITY, run<float>(engine, SIDRA_VEC_OP_REDUCE_MIN, kF32, kF32, some, 5)[0]) << engine->name;
        EXPECT_EQ(3, run<int32_t>(engine, SIDRA_VEC_OP_ARGMAX, kF32, kS32, some, 5)[0]) << engine->name;
        const std::vector<float> infinite = {NAN, -INFINITY, NAN};
        EXPECT_EQ(1, run<int32_t>(engine, SIDRA_VEC_OP_ARGMAX, kF32, kS32, infinite, 3)[0]) << engine->name;
        const std::vector<float> only(40, NAN);
        EXPECT_EQ(0, run<int32_t>(engine, SIDRA_VEC_OP_ARGMAX, kF32, kS32, only, 40)[0]) << engine->name;
        EXPECT_TRUE(std::isnan(run<float>(engine, SIDRA_VEC_OP_REDUCE_MAX, kF32, kF32, only, 40)[0])) << engine->name;
        EXPECT_TRUE(std::isnan(run<float>(engine, SIDRA_VEC_OP_REDUCE_SUM, kF32, kF32, some, 5)[0])) << engine->name;
    }
}

TEST(Vec, ArgmaxTakesTheFirstOfEquals) {
    for (const Engine* engine : engines()) {
        for (const uint32_t cols : {3u, 16u, 50u, 200u}) {
            for (uint32_t at = 0; at + 1 < cols; at += 1 + cols / 9) {
                std::vector<float> f(cols, -5.0f);
                std::vector<uint8_t> u(cols, 3);
                std::vector<int8_t> s(cols, -100);
                f[at] = -0.0f, f[at + 1] = 0.0f;  // equal
                u[at] = u[cols - 1] = 200;
                s[at] = s[cols - 1] = -1;
                EXPECT_EQ(static_cast<int32_t>(at), run<int32_t>(engine, SIDRA_VEC_OP_ARGMAX, kF32, kS32, f, cols)[0])
                    << engine->name;
                EXPECT_EQ(static_cast<int32_t>(at), run<int32_t>(engine, SIDRA_VEC_OP_ARGMAX, kU8, kS32, u, cols)[0])
                    << engine->name;
                EXPECT_EQ(static_cast<int32_t>(at), run<int32_t>(engine, SIDRA_VEC_OP_ARGMAX, kS8, kS32, s, cols)[0])
                    << engine->name;
            }
        }
    }
}

// ---- Pooling

template <class T>
void check_pool(const sidra_vec_pool& g, uint32_t channels, bool max, uint32_t type, Random& random) {
    const size_t in_stride = g.in_w * channels * sizeof(T);
    Guarded<T> in(size_t{g.in_h} * g.in_w * channels);
    for (T& x : in) x = std::is_same_v<T, float> ? static_cast<T>(plain_float(random)) : static_cast<T>(random());
    for (const Engine* engine : engines()) {
        for (uint32_t oy = 0; oy < g.out_h; ++oy) {
            Guarded<T> out(size_t{g.out_w} * channels);
            // In two parts, as the chip cuts long rows.
            const uint32_t half = g.out_w / 2;
            engine->pool({max, type, in.data(), in_stride, out.data(), oy, 0, half, channels, g});
            engine->pool({max, type, in.data(), in_stride, out.data() + size_t{half} * channels, oy, half,
                          g.out_w - half, channels, g});
            for (uint32_t ox = 0; ox < g.out_w; ++ox) {
                for (uint32_t c = 0; c < channels; ++c) {
                    double best = -INFINITY, sum = 0, size = 0;
                    int count = 0;
                    for (int64_t y = int64_t{oy} * g.stride_h - g.pad_h;
                         y < int64_t{oy} * g.stride_h - g.pad_h + g.kernel_h; ++y) {
                        for (int64_t x = int64_t{ox} * g.stride_w - g.pad_w;
                             x < int64_t{ox} * g.stride_w - g.pad_w + g.kernel_w; ++x) {
                            if (y < 0 || y >= g.in_h || x < 0 || x >= g.in_w) continue;
                            const double v =
                                in[(static_cast<size_t>(y) * g.in_w + static_cast<size_t>(x)) * channels + c];
                            best = std::max(best, v);
                            sum += v;
                            size += std::fabs(v);
                            ++count;
                        }
                    }
                    const double got = out[size_t{ox} * channels + c];
                    if (max) {
                        ASSERT_EQ(best, got) << engine->name;
                    } else {
                        ASSERT_NEAR(sum / count, got, size / count * 0x1p-24 * (count + 1)) << engine->name;
                    }
                }
            }
        }
    }
}

TEST(Pool, AgainstPlainLoops) {
    Random random(10);
    for (int i = 0; i < 40; ++i) {
        sidra_vec_pool g{};
        g.kernel_h = static_cast<uint16_t>(between(random, 1, 4)),
        g.kernel_w = static_cast<uint16_t>(between(random, 1, 4));
        g.stride_h = static_cast<uint16_t>(between(random, 1, 3)),
        g.stride_w = static_cast<uint16_t>(between(random, 1, 3));
        g.pad_h = static_cast<uint16_t>(between(random, 0, g.kernel_h - 1u)),
        g.pad_w = static_cast<uint16_t>(between(random, 0, g.kernel_w - 1u));
        g.in_h = between(random, g.kernel_h, 12), g.in_w = between(random, g.kernel_w, 12);
        g.out_h = (g.in_h + 2 * g.pad_h - g.kernel_h) / g.stride_h + 1;
        g.out_w = (g.in_w + 2 * g.pad_w - g.kernel_w) / g.stride_w + 1;
        const uint32_t channels = between(random, 1, 40);
        check_pool<float>(g, channels, true, kF32, random);
        check_pool<float>(g, channels, false, kF32, random);
        check_pool<int8_t>(g, channels, true, kS8, random);
        check_pool<uint8_t>(g, channels, true, kU8, random);
    }
}

TEST(Pool, SameBitsWithNanAndZeros) {
    Random random(11);
    sidra_vec_pool g{};
    g.in_h = g.in_w = 6, g.out_h = g.out_w = 6;
    g.kernel_h = g.kernel_w = 3, g.stride_h = g.stride_w = 1, g.pad_h = g.pad_w = 1;
    constexpr uint32_t kChannels = 21;
    const auto in = floats(random, 36 * kChannels, any_float);
    for (const bool max : {false, true}) {
        for (uint32_t oy = 0; oy < 6; ++oy) {
            std::vector<float> expected;
            for (const Engine* engine : engines()) {
                std::vector<float> out(6 * kChannels);
                engine->pool({max, kF32, in.data(), 6 * kChannels * 4, out.data(), oy, 0, 6, kChannels, g});
                if (expected.empty()) expected = out;
                ASSERT_EQ(0, std::memcmp(expected.data(), out.data(), out.size() * 4)) << engine->name << " row " << oy;
            }
        }
    }
}

}  // namespace
}  // namespace sidra::engine::test
