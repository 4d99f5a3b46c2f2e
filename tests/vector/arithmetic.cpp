// SPDX-License-Identifier: MIT
#include "arithmetic.h"

#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "numerics.h"

namespace sidra::vector_reference {
namespace {

using namespace engine::numerics;

constexpr float kQuietNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

int32_t difference(float a, float b) { return static_cast<int32_t>(bits(a) - bits(b)); }

// 2^k, a normal number.
float power_of_two(int32_t k) { return std::bit_cast<float>(static_cast<uint32_t>(k + 127) << 23); }

float horner(std::span<const float> c, float x) {
    float p = c.back();
    for (size_t i = c.size() - 1; i-- > 0;) p = std::fma(p, x, c[i]);
    return p;
}

struct Exponential {
    float m, s;
};

Exponential expx(float h, float l) {
    const float c = h < kExpMin ? kExpMin : h > kExpMax ? kExpMax : h;
    const float t = std::fma(c, kLog2e, kRound);
    const float n = t - kRound;
    const int32_t k = difference(t, kRound);
    const float r = std::fma(n, -kLn2Lo, std::fma(n, -kLn2Hi, c)) + l;
    const float p = std::fma(r * r, horner(kExp, r), r) + 1.0f;
    const int32_t k1 = k >> 1;
    return {p * power_of_two(k1), power_of_two(k - k1)};
}

struct Angle {
    int32_t quarter;
    float sine, cosine;
};

Angle reduced(float x) {
    const float t = std::fma(x, k2OverPi, kRound);
    const float n = t - kRound;
    const float r = std::fma(n, -kHalfPi[2], std::fma(n, -kHalfPi[1], std::fma(n, -kHalfPi[0], x)));
    const float u = r * r;
    return {difference(t, kRound), std::fma(r * u, horner(kSin, u), r),
            std::fma(u * u, horner(kCos, u), std::fma(-0.5f, u, 1.0f))};
}

// v / 2^shift to the nearest integer, ties to even; 0 < shift < 32.
uint32_t shift_right_to_even(uint32_t v, uint32_t shift) {
    const uint32_t rest = v & ((1u << shift) - 1), half = 1u << (shift - 1), whole = v >> shift;
    return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
}

}  // namespace

float maximum(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return kQuietNan;
    if (a == b) return std::signbit(a) ? b : a;  // of -0 and +0 the latter
    return a > b ? a : b;
}

float minimum(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return kQuietNan;
    if (a == b) return std::signbit(a) ? a : b;
    return a < b ? a : b;
}

float exponential(float x) {
    if (std::isnan(x)) return x;
    const auto [m, s] = expx(x, 0.0f);
    return m * s;
}

float logarithm(float x) {
    if (std::isnan(x) || x < 0) return kQuietNan;
    if (x == 0) return -kInfinity;
    if (x == kInfinity) return x;
    const bool subnormal = x < 0x1p-126f;
    const float y = subnormal ? x * 0x1p23f : x;
    const int32_t k = difference(y, kSqrtHalf) >> 23;
    const auto n = static_cast<float>(k + (subnormal ? -23 : 0));
    const float f = std::ldexp(y, -k) - 1.0f;
    const float u = f * f;
    const float p = horner(kLog, f);
    return std::fma(n, kLn2Hi, std::fma(n, kLn2Lo, std::fma(u * f, p, std::fma(-0.5f, u, f))));
}

float erf(float x) {
    if (std::isnan(x)) return x;
    const float a = std::fabs(x);
    const float y = a < kErfSmall ? std::fma(a, horner(kErf, a * a), a)
                                  : 1.0f - exponential(-horner(kErfLarge, minimum(a, kErfMax)));
    return std::copysign(y, x);
}

float tanh(float x) {
    if (std::isnan(x)) return x;
    const float a = std::fabs(x), u = a * a;
    const float y = a < kTanhSmall ? std::fma(a * u, horner(kTanh, u), a)
                                   : 1.0f - 2.0f / (exponential(2.0f * minimum(a, kTanhMax)) + 1.0f);
    return std::copysign(y, x);
}

float sigmoid(float x) {
    if (std::isnan(x)) return x;
    const float e = exponential(-std::fabs(x));
    return (x >= 0 ? 1.0f : e) / (1.0f + e);
}

float silu(float x) {
    if (std::isnan(x)) return x;
    if (x >= 0) return x / (1.0f + exponential(-x));
    const float y = maximum(x, kExpMin);
    const auto [m, s] = expx(y, 0.0f);
    return ((y * m) / (1.0f + m * s)) * s;
}

float gelu(float x) {
    if (std::isnan(x)) return x;
    const float y = minimum(std::fabs(x), kGeluMax);
    const auto yh = std::bit_cast<float>(bits(y) & ~0xfffu);
    const float r = horner(kGelu, (y - 3.0f) / (y + 3.0f));
    const auto [m, s] = expx(-0.5f * (yh * yh), -0.5f * ((y - yh) * (y + yh)));
    return x >= 0 ? x * std::fma(-(r * m), s, 1.0f) : ((-y * r) * m) * s;
}

float gelu_tanh(float x) {
    if (std::isnan(x)) return x;
    const float y = minimum(std::fabs(x), kGeluTanhMax);
    const float w = y * std::fma(kGeluTanh3, y * y, kGeluTanh1);
    const auto [m, s] = expx(-w, 0.0f);
    const float e = m * s;
    return x >= 0 ? x / (1.0f + e) : ((-y * m) / (1.0f + e)) * s;
}

float sine(float x) {
    if (x == 0) return x;
    if (!(std::fabs(x) <= kSinMax)) return kQuietNan;
    const Angle angle = reduced(x);
    const float y = (angle.quarter & 1) != 0 ? angle.cosine : angle.sine;
    return (angle.quarter & 2) != 0 ? -y : y;
}

float cosine(float x) {
    if (!(std::fabs(x) <= kSinMax)) return kQuietNan;
    const Angle angle = reduced(x);
    const float y = (angle.quarter & 1) != 0 ? angle.sine : angle.cosine;
    return ((angle.quarter + 1) & 2) != 0 ? -y : y;
}

int64_t to_integer(double integral, int64_t low, int64_t high) {
    if (std::isnan(integral)) return 0;
    // 2^63 is not an s64, but any f32 from there on is larger than every one; high itself may round up to it.
    if (integral >= static_cast<double>(high)) return high;
    if (integral <= static_cast<double>(low)) return low;
    return static_cast<int64_t>(integral);
}

float round_to_even(float x) {
    if (!(std::fabs(x) < 0x1p23f)) return x;  // an integer already, or none at all
    const float down = std::floor(x), rest = x - down;
    const bool up = rest > 0.5f || (rest == 0.5f && std::fmod(down, 2.0f) != 0);
    return std::copysign(up ? down + 1.0f : down, x);
}

uint32_t visible_bits(float x) { return std::isnan(x) ? kNan : bits(x); }

float from_f16(uint16_t h) {
    const uint32_t exponent = h >> 10 & 31, fraction = h & 0x3ff;
    float magnitude;
    if (exponent == 31) magnitude = fraction != 0 ? kQuietNan : kInfinity;
    else if (exponent == 0) magnitude = static_cast<float>(fraction) * 0x1p-24f;
    else magnitude = std::bit_cast<float>((exponent + 127 - 15) << 23 | fraction << 13);
    return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

uint16_t to_f16(float x) {
    if (std::isnan(x)) return 0x7e00;
    const uint32_t sign = bits(x) >> 16 & 0x8000, magnitude = bits(x) & 0x7fffffff;
    const uint32_t exponent = magnitude >> 23;
    uint32_t result;
    if (exponent >= 127 + 16) result = 0x7c00;
    else if (exponent >= 127 - 14)  // rounding may carry into the exponent, up to infinity
        result = shift_right_to_even(magnitude - ((127 - 15) << 23), 13);
    else if (exponent >= 127 - 25)  // subnormal, in units of 2^-24
        result = shift_right_to_even((magnitude & 0x7fffff) | 0x800000, 126 - exponent);
    else result = 0;
    return static_cast<uint16_t>(sign | result);
}

float from_bf16(uint16_t h) { return std::bit_cast<float>(static_cast<uint32_t>(h) << 16); }

uint16_t to_bf16(float x) {
    if (std::isnan(x)) return 0x7fc0;
    const uint32_t sign = bits(x) >> 16 & 0x8000;
    return static_cast<uint16_t>(sign | shift_right_to_even(bits(x) & 0x7fffffff, 16));
}

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> x, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t p = uint64_t{0xD2511F53} * x[0], q = uint64_t{0xCD9E8D57} * x[2];
        x = {static_cast<uint32_t>(q >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(q),
             static_cast<uint32_t>(p >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(p)};
        key[0] += 0x9E3779B9;
        key[1] += 0xBB67AE85;
    }
    return x;
}

}  // namespace sidra::vector_reference
