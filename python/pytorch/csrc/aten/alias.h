// SPDX-License-Identifier: MIT
// A tensor of the CPU on the pages of a tensor of the device: their memory is the same, so the CPU computes there
// without a copy.
#ifndef SIDRA_PYTORCH_ALIAS_H
#define SIDRA_PYTORCH_ALIAS_H

#include <ATen/core/Tensor.h>

namespace sidra::pytorch {

inline bool is_sidra(const at::Tensor& tensor) { return tensor.device().type() == c10::DeviceType::PrivateUse1; }

// The same elements, shape, strides and conjugation. The tensor must outlive it, and the stream must be synchronised
// first. `tensor` may be of the CPU already.
at::Tensor cpu_alias(const at::Tensor& tensor);

// The same in two steps, for tensors of the device that share a storage: their aliases then share one, too.
c10::Storage cpu_storage(const at::Tensor& tensor);
at::Tensor cpu_alias(const at::Tensor& tensor, c10::Storage storage);

}  // namespace sidra::pytorch

#endif
