// SPDX-License-Identifier: MIT
// Products on the chip: with weights on crossbars, and of matrices in memory.
#ifndef SIDRA_PYTORCH_MATMUL_H
#define SIDRA_PYTORCH_MATMUL_H

#include <ATen/core/Tensor.h>

#include "aten/programs.h"

namespace sidra::pytorch {

// Queues products a x b for up to two batch dimensions, with a program that has `out` as o2 and, if it is defined,
// `extra` (expanded to the shape of out) as o3. Takes any strides. False: the chip does not take it.
bool product(VectorProgram& program, const at::Tensor& out, const at::Tensor& a, const at::Tensor& b,
             const at::Tensor& extra, float p0, float p1 = 0);

// out = beta * addend + alpha * (a x b). a and out have the same batch dimensions, at most two; b has them, too, or is
// one matrix for all. addend: undefined, or expanded to the shape of out. False: the chip does not take it.
bool digital_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, const at::Tensor& addend,
                     float beta = 1, float alpha = 1);

// out = rows x matrix + bias, where the matrix [k][n] is on crossbars, or is put there now. rows: [..., k]; bias:
// undefined, or [n]. A matrix of int8 has codes, and a scale [n] beside it. False: it is not.
bool crossbar_product(const at::Tensor& out, const at::Tensor& rows, const at::Tensor& matrix, const at::Tensor& bias,
                      const at::Tensor& scale = {});

// Which windows of an image a convolution multiplies: steps, padding and distances in rows and columns, and how many
// windows.
struct Windows {
    int64_t stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w, rows, columns;
};
// The same for the windows of images [n][channels][height][width] and a kernel [outputs][channels][h][w]; out is in the
// order channels_last.
bool crossbar_convolution(const at::Tensor& out, const at::Tensor& images, const at::Tensor& kernel,
                          const at::Tensor& bias, const Windows& windows, const at::Tensor& scale = {});

}  // namespace sidra::pytorch

#endif
