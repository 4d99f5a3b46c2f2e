// SPDX-License-Identifier: MIT
// Products of matrices as engines compute them.
#ifndef SIDRA_CHIP_ENGINE_MATMUL_H
#define SIDRA_CHIP_ENGINE_MATMUL_H

#include <cstddef>
#include <cstdint>

namespace sidra::engine {

// out[m][n] = sum over k of a[m][k] * b[k][n], for m < rows, n < cols, k < inner.
//   F32, F16, BF16 (a and b may differ): out is F32. The sum begins at +0, and then is fma(a[m][k], b[k][n], sum) for k
//     ascending. A NaN is stored as 0x7fc00000.
//   S8, U8 (a and b may differ): out is S32, the sum modulo 2^32.
// A product over a long k may be computed in several calls, in ascending order, which continue the sums.
// rows, cols and inner are at least 1. a and b may overlap; out overlaps neither.
struct Matmul {
    const void* a;
    const void* b;
    void* out;            // columns are adjacent
    size_t a_row, a_col;  // bytes between rows (m) and columns (k) of a; 0 repeats one
    size_t b_row, b_col;  // the same of b: rows are k, columns n
    size_t out_row;       // bytes
    uint32_t rows, cols, inner;
    uint8_t a_type, b_type;
    bool accumulate;  // the sums begin with what is in `out`
};

// Engines multiply blocks of this size, in words of 32 bits: one float, or up to four integers that are adjacent in k.
inline constexpr size_t kMatmulRows = 192;
inline constexpr size_t kMatmulCols = 512;
inline constexpr size_t kMatmulWords = 256;

// Scratch memory that Kernels::matmul() needs, 64-byte aligned: a block of each matrix.
inline constexpr size_t kMatmulScratch = (kMatmulRows + kMatmulCols) * kMatmulWords * 4;

}  // namespace sidra::engine

#endif
