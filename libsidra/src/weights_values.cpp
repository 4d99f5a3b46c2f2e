// SPDX-License-Identifier: MIT
#include "weights_values.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>

namespace sidra {

Position find_minus_128(const Matrix<int8_t>& values) {
    for (uint32_t r = 0; r < values.rows; ++r)
        if (const void* at = std::memchr(values.row(r), 0x80, values.cols); at != nullptr)
            return {true, r, static_cast<uint32_t>(static_cast<const int8_t*>(at) - values.row(r))};
    return {};
}

sidra_status quantise(const char* call, const Matrix<float>& values, std::vector<float>* scale,
                      std::vector<int8_t>* out) {
    const uint32_t cols = values.cols;
    std::vector<float> factors(cols, 0.0f);
    for (uint32_t r = 0; r < values.rows; ++r) {
        const float* row = values.row(r);
        bool finite = true;
        for (uint32_t c = 0; c < cols; ++c) {
            const float magnitude = std::fabs(row[c]);
            finite &= magnitude <= FLT_MAX;  // also false for NaN
            factors[c] = std::max(factors[c], magnitude);
        }
        if (finite) continue;
        const auto* bad = std::find_if_not(row, row + cols, [](float value) { return std::isfinite(value); });
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`data` has {} in row {}, column {}; weights must be finite",
                    *bad, r, bad - row);
    }
    for (float& factor : factors) {
        factor /= 127.0f;
        if (factor == 0.0f) factor = 1.0f;
    }
    std::vector<int8_t> values8(size_t{values.rows} * cols);
    for (uint32_t r = 0; r < values.rows; ++r) {
        const float* row = values.row(r);
        int8_t* to = values8.data() + size_t{r} * cols;
        // Denormal factors have low precision: the quotient may exceed 127.
        for (uint32_t c = 0; c < cols; ++c)
            to[c] = static_cast<int8_t>(std::clamp(std::nearbyint(row[c] / factors[c]), -127.0f, 127.0f));
    }
    *scale = std::move(factors);
    *out = std::move(values8);
    return SIDRA_OK;
}

}  // namespace sidra
