// SPDX-License-Identifier: MIT
// Tensors as the rows of libsidra's functions on rows, along any of their dimensions.
#ifndef SIDRA_PYTORCH_ROWS_H
#define SIDRA_PYTORCH_ROWS_H

#include <ATen/core/Tensor.h>

#include <optional>

#include "aten/arrays.h"
#include "aten/programs.h"

namespace sidra::pytorch {

// The rows of two tensors along one dimension of `in`. `out` has the same shape, or 1 there.
struct Rows {
    Sizes sizes;
    sidra_array out, in;
};
// Nothing: the chip does not take the types or shapes.
std::optional<Rows> rows_along(const at::Tensor& out, const at::Tensor& in, int64_t dim);

// A function on rows of libsidra. False: the chip does not take the types or shapes.
using RowFunction = sidra_status (*)(sidra_stream*, const uint32_t*, const sidra_array*, const sidra_array*);
bool run_rows(RowFunction function, const at::Tensor& out, const at::Tensor& in, int64_t dim);

// A program of s64. Its operands are the words of `in`, or `in` itself if that is another integer, and then the words
// of `out`: see words_loaded().
bool run_long_rows(VectorProgram& program, const at::Tensor& out, const at::Tensor& in, int64_t dim);
// How such a program loads v0, v1 = low and high word; the number of its first output.
struct LoadedWords {
    const char* text;
    int next;
};
constexpr LoadedWords words_loaded(bool narrow) {
    return narrow ? LoadedWords{"v0 = load_int o0\nv1 = shr v0, 31\n", 1}
                  : LoadedWords{"v0 = load_int o0\nv1 = load_int o1\n", 2};
}

}  // namespace sidra::pytorch

#endif
