// SPDX-License-Identifier: MIT
// The reference kernels: plain loops that follow the contract line by line.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "numerics.h"
#include "portable.h"
#include "tables.h"

namespace sidra::engine {
namespace scalar {
namespace {

constexpr int32_t kS32Min = std::numeric_limits<int32_t>::min();
constexpr int32_t kS32Max = std::numeric_limits<int32_t>::max();

// Every NaN becomes the quiet NaN.
float canonical(float x) { return x == x ? x : std::bit_cast<float>(numerics::kNan); }

// To the nearest integer, even if there are two; saturating; NaN becomes 0.
int32_t rne(float x) {
    if (std::isnan(x)) return 0;
    if (x >= 0x1p31f) return kS32Max;
    if (x < -0x1p31f) return kS32Min;
    return static_cast<int32_t>(std::nearbyint(x));
}

int32_t add_saturated(int32_t a, int32_t b) {
    return static_cast<int32_t>(std::clamp<int64_t>(int64_t{a} + b, kS32Min, kS32Max));
}

int32_t clamp_s8(int32_t x) { return std::clamp(x, -128, 127); }
int32_t clamp_u8(int32_t x) { return std::clamp(x, 0, 255); }

void mvm(const ColumnMvm& m) {
    for (uint32_t b = 0; b < m.batch; ++b) {
        const uint8_t* in = m.in + b * m.in_stride;
        int32_t* acc = m.acc + b * m.acc_stride;
        for (uint32_t c = 0; c < m.cols; ++c) {
            uint32_t sum = m.init != nullptr ? static_cast<uint32_t>(m.init[c]) : 0;
            for (uint32_t r = 0; r < m.rows; ++r) {
                const int8_t weight = m.packed[r / kTileRows][packed_offset(r % kTileRows, c)];
                sum += static_cast<uint32_t>(int32_t{in[r]} * int32_t{weight});
            }
            acc[c] = static_cast<int32_t>(sum);
        }
    }
}

void quantize_u8(const float* in, uint8_t* out, size_t n, float in_scale, int32_t zero) {
    const float inverse = 1.0f / in_scale;
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(clamp_u8(add_saturated(rne(in[i] * inverse), zero)));
}

void bias_u8(const int8_t* in, uint8_t* out, size_t n) {
    for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint8_t>(in[i] + 128);
}

void scale(const Scale& s) {
    for (uint32_t r = 0; r < s.rows; ++r) {
        const int32_t* acc = s.acc + r * s.acc_stride;
        uint8_t* out = static_cast<uint8_t*>(s.out) + r * s.out_stride;
        for (uint32_t c = 0; c < s.cols; ++c) {
            const float factor = s.scale != nullptr ? s.gain * s.scale[c] : s.gain;
            const float value = static_cast<float>(acc[c]) * factor;
            if (s.out_type == SIDRA_TYPE_F32) {
                const float result = canonical(value);
                std::memcpy(out + size_t{c} * 4, &result, 4);
            } else {
                const int32_t code = add_saturated(rne(value), s.out_zero);
                out[c] = static_cast<uint8_t>(s.out_type == SIDRA_TYPE_S8 ? clamp_s8(code) : clamp_u8(code));
            }
        }
    }
}

void pair_levels(const int8_t* weights, uint8_t* levels, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        levels[2 * i] = static_cast<uint8_t>(2 * std::max<int>(weights[i], 0));
        levels[2 * i + 1] = static_cast<uint8_t>(2 * std::max<int>(-weights[i], 0));
    }
}

void pack(int8_t* packed, int32_t* sums, const int8_t* in, size_t stride, uint32_t row0, uint32_t rows, uint32_t col0,
          uint32_t cols) {
    for (uint32_t r = 0; r < rows; ++r) {
        for (uint32_t c = 0; c < cols; ++c) {
            int8_t& cell = packed[packed_offset(row0 + r, col0 + c)];
            const int8_t weight = in[r * stride + c];
            sums[col0 + c] += weight - cell;
            cell = weight;
        }
    }
}

}  // namespace
}  // namespace scalar

constinit const Kernels kScalarKernels = {{"scalar", SIDRA_CHIP_ENGINE_SCALAR, 1, false, 1, 1, 1},
                                          scalar::mvm,
                                          scalar::quantize_u8,
                                          scalar::bias_u8,
                                          scalar::scale,
                                          portable_decode_vector,
                                          portable_run_vector,
                                          portable_matmul,
                                          portable_pool_windows,
                                          scalar::pair_levels,
                                          scalar::pack,
                                          &kSenseScalar};

}  // namespace sidra::engine
