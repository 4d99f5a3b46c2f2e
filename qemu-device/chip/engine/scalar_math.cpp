// SPDX-License-Identifier: MIT
#include "scalar_math.h"

#include <bit>
#include <cmath>
#include <limits>

#include "numerics.h"

namespace sidra::engine::scalar {
namespace {

using namespace numerics;

constexpr int32_t kS32Min = std::numeric_limits<int32_t>::min();
constexpr int32_t kS32Max = std::numeric_limits<int32_t>::max();

struct Exponential {  // m * s; separate, so that a product with a large factor rounds only once near zero
    float m, s;
    float value() const { return m * s; }
};

float power_of_two(int32_t k) { return std::bit_cast<float>((static_cast<uint32_t>(k) + 127u) << 23); }

Exponential expx(float h, float l) {
    const float c = h < kExpMin ? kExpMin : h > kExpMax ? kExpMax : h;
    const float t = std::fma(c, kLog2e, kRound);
    const float n = t - kRound;
    const auto k = static_cast<int32_t>(std::bit_cast<uint32_t>(t) - std::bit_cast<uint32_t>(kRound));
    const float r = std::fma(n, -kLn2Lo, std::fma(n, -kLn2Hi, c)) + l;
    float q = kExp[4];
    for (int i = 3; i >= 0; --i) q = std::fma(q, r, kExp[i]);
    const float p = std::fma(r * r, q, r) + 1.0f;
    const int32_t k1 = k >> 1;
    const int32_t k2 = k - k1;
    return {p * power_of_two(k1), power_of_two(k2)};
}

}  // namespace

float canonical(float x) { return x == x ? x : std::bit_cast<float>(kNan); }

int32_t rne(float x) {
    if (std::isnan(x)) return 0;
    if (x >= 0x1p31f) return kS32Max;
    if (x < -0x1p31f) return kS32Min;
    return static_cast<int32_t>(std::nearbyint(x));
}

int32_t add_saturated(int32_t a, int32_t b) {
    const int64_t sum = int64_t{a} + b;
    return static_cast<int32_t>(sum < kS32Min ? kS32Min : sum > kS32Max ? kS32Max : sum);
}

int32_t clamp_s8(int32_t x) { return x < -128 ? -128 : x > 127 ? 127 : x; }

int32_t clamp_u8(int32_t x) { return x < 0 ? 0 : x > 255 ? 255 : x; }

float exp(float x) { return expx(x, 0.0f).value(); }

float tanh(float x) {
    const float a = std::fabs(x);
    float result;
    if (a < kTanhSmall) {
        const float u = a * a;
        float p = kTanh[4];
        for (int i = 3; i >= 0; --i) p = std::fma(p, u, kTanh[i]);
        result = std::fma(a * u, p, a);
    } else {
        const float bounded = a > kTanhMax ? kTanhMax : a;
        result = 1.0f - 2.0f / (exp(2.0f * bounded) + 1.0f);
    }
    return std::copysign(result, x);
}

float sigmoid(float x) {
    const float e = exp(-std::fabs(x));
    return (x >= 0.0f ? 1.0f : e) / (1.0f + e);
}

float silu(float x) {
    if (x >= 0.0f) return x / (1.0f + exp(-x));
    const float y = x < kExpMin ? kExpMin : x;
    const Exponential e = expx(y, 0.0f);
    return ((y * e.m) / (1.0f + e.value())) * e.s;
}

float gelu(float x) {
    const float a = std::fabs(x);
    const float y = a > kGeluMax ? kGeluMax : a;
    const float t = (y - 3.0f) / (y + 3.0f);
    float r = kGelu[9];
    for (int i = 8; i >= 0; --i) r = std::fma(r, t, kGelu[i]);
    const float yh = std::bit_cast<float>(std::bit_cast<uint32_t>(y) & 0xfffff000u);
    const Exponential e = expx(-0.5f * (yh * yh), -0.5f * ((y - yh) * (y + yh)));
    if (x < 0.0f) return (((-y) * r) * e.m) * e.s;
    return x * std::fma(-(r * e.m), e.s, 1.0f);
}

float gelu_tanh(float x) {
    const float a = std::fabs(x);
    const float y = a > kGeluTanhMax ? kGeluTanhMax : a;
    const float w = y * std::fma(kGeluTanh3, y * y, kGeluTanh1);
    const Exponential e = expx(-w, 0.0f);
    const float d = 1.0f + e.value();
    if (x < 0.0f) return (((-y) * e.m) / d) * e.s;
    return x / d;
}

float maximum(float a, float b) {
    if (a > b) return a;
    if (a < b) return b;
    if (a == b) return std::bit_cast<float>(std::bit_cast<uint32_t>(a) & std::bit_cast<uint32_t>(b));
    return std::bit_cast<float>(kNan);
}

float minimum(float a, float b) {
    if (a < b) return a;
    if (a > b) return b;
    if (a == b) return std::bit_cast<float>(std::bit_cast<uint32_t>(a) | std::bit_cast<uint32_t>(b));
    return std::bit_cast<float>(kNan);
}

int32_t max_key(float x) {
    if (std::isnan(x)) return kS32Min;
    const auto bits = std::bit_cast<int32_t>(x);
    return bits < 0 ? bits ^ kS32Max : bits;
}

int32_t min_key(float x) { return std::isnan(x) ? kS32Max : max_key(x); }

float from_max_key(int32_t key) {
    if (key == kS32Min) return std::bit_cast<float>(kNan);
    return std::bit_cast<float>(key < 0 ? key ^ kS32Max : key);
}

float from_min_key(int32_t key) { return key == kS32Max ? std::bit_cast<float>(kNan) : from_max_key(key); }

}  // namespace sidra::engine::scalar
