// SPDX-License-Identifier: MIT
// Convolutions by the matrix engine, in f32: of one to three dimensions of the image, grouped, transposed, and their
// gradients.
#ifndef SIDRA_PYTORCH_DIGITAL_CONVOLUTION_H
#define SIDRA_PYTORCH_DIGITAL_CONVOLUTION_H

#include <ATen/core/Tensor.h>

#include <array>
#include <tuple>

#include "aten/convolution.h"

namespace sidra::pytorch {

// input: [images][channels][...]. bias: undefined, or [outputs]. Undefined: the chip does not take it.
at::Tensor digital_convolution(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                               const Geometry& of);

// The gradients of input, weight and bias, of which `wanted` says which are computed. All undefined: the chip does not
// take it.
std::tuple<at::Tensor, at::Tensor, at::Tensor> digital_convolution_backward(const at::Tensor& grad,
                                                                            const at::Tensor& input,
                                                                            const at::Tensor& weight,
                                                                            const Geometry& of,
                                                                            std::array<bool, 3> wanted);

}  // namespace sidra::pytorch

#endif
