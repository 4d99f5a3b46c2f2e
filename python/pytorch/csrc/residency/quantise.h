// SPDX-License-Identifier: MIT
// From real weights to codes.
#ifndef SIDRA_PYTORCH_QUANTISE_H
#define SIDRA_PYTORCH_QUANTISE_H

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace sidra::pytorch {

// Each column of a [k][n] matrix of the CPU symmetrically: scale[n] = max over k of |w[k][n]| / 127 (1 if that is 0),
// code = round(w / scale), half to even; as sidra_weights_create_f32() does. codes: [k][n], dense; sums: of the codes
// of each column. A matrix of int8 has its codes, and the scale 1. False: a value is not finite.
bool quantise_columns(const at::Tensor& matrix, std::span<int8_t> codes, std::span<float> scale,
                      std::span<int32_t> sums);

}  // namespace sidra::pytorch

#endif
