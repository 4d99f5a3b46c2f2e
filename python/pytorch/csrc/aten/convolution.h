// SPDX-License-Identifier: MIT
// What the ways of computing a convolution share.
#ifndef SIDRA_PYTORCH_CONVOLUTION_H
#define SIDRA_PYTORCH_CONVOLUTION_H

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace sidra::pytorch {

// As torch.nn.functional.conv2d() and conv_transpose2d() have them; lists have a number for each dimension of the
// image.
struct Geometry {
    std::vector<int64_t> stride, padding, dilation, output_padding;
    bool transposed;
    int64_t groups;
};

// The extents of the result's image; none if it has no element, or the CPU refuses the geometry.
std::vector<int64_t> result_extents(const at::Tensor& input, const at::Tensor& weight, const Geometry& of);

// The order of elements in which PyTorch's own convolutions return results and gradients for these arguments.
at::MemoryFormat usual_order(const at::Tensor& input, const at::Tensor& weight);

}  // namespace sidra::pytorch

#endif
