// SPDX-License-Identifier: MIT
// The reference engine: plain loops that follow the contract line by line. VEC is in scalar_vec.cpp.
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "engines.h"
#include "portable.h"
#include "scalar_math.h"
#include "scalar_vec.h"

namespace sidra::engine {
namespace scalar {
namespace {

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

// Calls f(pointer to the first channel) for each pixel of the kernel at output (oy, ox) that is inside the image;
// returns their number.
template <class F>
uint32_t for_pixels(const Pool& p, uint32_t ox, size_t element, F f) {
    const sidra_vec_pool& g = p.geometry;
    uint32_t count = 0;
    for (uint32_t ky = 0; ky < g.kernel_h; ++ky) {
        const int64_t y = int64_t{p.out_y} * g.stride_h - g.pad_h + ky;
        if (y < 0 || y >= g.in_h) continue;
        for (uint32_t kx = 0; kx < g.kernel_w; ++kx) {
            const int64_t x = int64_t{ox} * g.stride_w - g.pad_w + kx;
            if (x < 0 || x >= g.in_w) continue;
            f(static_cast<const uint8_t*>(p.in) + static_cast<size_t>(y) * p.in_stride +
              static_cast<size_t>(x) * p.channels * element);
            ++count;
        }
    }
    return count;
}

void pool(const Pool& p) {
    const size_t element = p.type == SIDRA_TYPE_F32 ? 4 : 1;
    for (uint32_t i = 0; i < p.pixels; ++i) {
        const uint32_t ox = p.out_x + i;
        uint8_t* out = static_cast<uint8_t*>(p.out) + size_t{i} * p.channels * element;
        for (uint32_t c = 0; c < p.channels; ++c) {
            if (p.type == SIDRA_TYPE_F32) {
                float sum = 0.0f;
                int32_t key = std::numeric_limits<int32_t>::min();
                const uint32_t count = for_pixels(p, ox, element, [&](const uint8_t* pixel) {
                    float x;
                    std::memcpy(&x, pixel + size_t{c} * 4, 4);
                    sum += x;
                    key = std::max(key, max_key(x));
                });
                const float result = p.max ? from_max_key(key) : canonical(sum / static_cast<float>(count));
                std::memcpy(out + size_t{c} * 4, &result, 4);
            } else {
                int best = -128;  // not greater than any value of either type
                for_pixels(p, ox, element, [&](const uint8_t* pixel) {
                    const int x = p.type == SIDRA_TYPE_S8 ? int{static_cast<int8_t>(pixel[c])} : int{pixel[c]};
                    best = std::max(best, x);
                });
                out[c] = static_cast<uint8_t>(best);
            }
        }
    }
}

void transpose(const Transpose& t) {
    for (uint32_t r = 0; r < t.rows; ++r) {
        for (uint32_t c = 0; c < t.cols; ++c) {
            std::memcpy(static_cast<uint8_t*>(t.out) + c * t.out_stride + size_t{r} * t.element,
                        static_cast<const uint8_t*>(t.in) + r * t.in_stride + size_t{c} * t.element, t.element);
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

constinit const Engine kScalarEngine = {"scalar",
                                        SIDRA_CHIP_ENGINE_SCALAR,
                                        scalar::mvm,
                                        scalar::quantize_u8,
                                        scalar::bias_u8,
                                        scalar::scale,
                                        scalar::vec,
                                        scalar::pool,
                                        scalar::transpose,
                                        portable_decode_vector,
                                        portable_run_vector,
                                        portable_matmul,
                                        portable_pool_windows,
                                        scalar::pair_levels,
                                        scalar::pack};

}  // namespace sidra::engine
