// SPDX-License-Identifier: MIT
// What operators that take indices share.
#ifndef SIDRA_PYTORCH_INDEXING_H
#define SIDRA_PYTORCH_INDEXING_H

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace sidra::pytorch {

// A tensor of integers on the device that the chip takes as indices.
bool is_index(const at::Tensor& index);
// Throws if an index is not in [from, size). Waits for the stream.
void check_indices(const at::Tensor& index, int64_t from, int64_t size, int64_t dim);
// The elements at `index` along a dimension; the index's dimensions take its place. Undefined: the chip does not take
// the type or shape.
at::Tensor gathered(const at::Tensor& self, int64_t dim, const at::Tensor& index);
// sums[index[r]] += row r of `of`, where rows are dense, and dimension 0 of the sums counts them. All are of f32, but
// the index. False: the chip does not take the shapes.
bool add_rows(const at::Tensor& sums, const at::Tensor& index, const at::Tensor& of);

}  // namespace sidra::pytorch

#endif
