// SPDX-License-Identifier: MIT
// Checks and quantises the values of weights on the host.
#ifndef SIDRA_WEIGHTS_VALUES_H
#define SIDRA_WEIGHTS_VALUES_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "status.h"

namespace sidra {

// Rows of values, row r at data + r * stride elements.
template <typename T>
struct Matrix {
    const T* data;
    uint32_t rows, cols;
    size_t stride;
    const T* row(uint32_t r) const { return data + r * stride; }
};

struct Position {
    bool found = false;
    uint32_t row = 0, col = 0;
};

// Finds the first -128, which differential encoding cannot represent.
Position find_minus_128(const Matrix<int8_t>& values);

// Symmetric per-column quantisation: scale[n] = max |w[.][n]| / 127 (1 for a column whose maximum is 0 or too small),
// out (dense) = rne(w / scale). INVALID_ARGUMENT if a value is not finite.
sidra_status quantise(const char* call, const Matrix<float>& values, std::vector<float>* scale,
                      std::vector<int8_t>* out);

}  // namespace sidra

#endif
