// SPDX-License-Identifier: MIT
#include "residency/quantise.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace sidra::pytorch {

bool quantise_columns(const at::Tensor& matrix, std::span<int8_t> codes, std::span<float> scale,
                      std::span<int32_t> sums) {
    if (matrix.scalar_type() == at::kChar) {
        const at::Tensor dense = matrix.contiguous();
        const size_t n = scale.size();
        std::copy_n(dense.const_data_ptr<int8_t>(), codes.size(), codes.begin());
        std::fill(scale.begin(), scale.end(), 1.0f);
        std::fill(sums.begin(), sums.end(), 0);
        for (size_t i = 0; i < codes.size(); ++i) sums[i % n] += codes[i];
        return true;
    }
    // [n][k], so that a column of the matrix is adjacent.
    const at::Tensor columns = matrix.t().to(at::kFloat).contiguous();
    const int64_t n = columns.size(0), k = columns.size(1);
    const float* values = columns.const_data_ptr<float>();
    std::atomic<bool> finite{true};
    at::parallel_for(0, n, 16, [&](int64_t begin, int64_t end) {
        for (int64_t column = begin; column < end; ++column) {
            const float* in = values + column * k;
            float largest = 0;
            bool good = true;
            for (int64_t i = 0; i < k; ++i) {
                const float size = std::fabs(in[i]);
                good &= size <= std::numeric_limits<float>::max();
                largest = size > largest ? size : largest;
            }
            if (!good) {
                finite.store(false, std::memory_order_relaxed);
                return;
            }
            const float step = largest > 0 ? largest / 127 : 1;
            int32_t sum = 0;
            for (int64_t i = 0; i < k; ++i) {
                const float code = std::nearbyint(in[i] / step);
                const auto limited = static_cast<int8_t>(std::fmin(std::fmax(code, -127), 127));
                codes[static_cast<size_t>(i * n + column)] = limited;
                sum += limited;
            }
            scale[static_cast<size_t>(column)] = step;
            sums[static_cast<size_t>(column)] = sum;
        }
    });
    return finite.load();
}

}  // namespace sidra::pytorch
