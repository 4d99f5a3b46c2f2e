// SPDX-License-Identifier: MIT
// The mean squared error and its gradient, as vector programs and a sum.
#include <ATen/TensorIterator.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/square.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <torch/library.h>

#include "aten/alias.h"
#include "aten/pointwise.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

at::Tensor squares(const at::Tensor& self, const at::Tensor& target) {
    static Pointwise function({"t = sub a, b; r = mul t, t"});
    const DeviceScope scope(is_sidra(self) ? self.device() : target.device());
    at::Tensor out;
    at::TensorIterator iter = at::TensorIterator::binary_op(out, self, target);
    return function.taken(iter) ? iter.output() : at::square(at::sub(self, target));
}

at::Tensor mse_loss(const at::Tensor& self, const at::Tensor& target, int64_t reduction) {
    const at::Tensor all = squares(self, target);
    return reduction == at::Reduction::Mean ? at::mean(all) : reduction == at::Reduction::Sum ? at::sum(all) : all;
}

at::Tensor mse_loss_backward(const at::Tensor& gradient, const at::Tensor& self, const at::Tensor& target,
                             int64_t reduction) {
    static Pointwise function({"t = sub a, b; t = mul t, p; r = mul t, c"});
    const DeviceScope scope(self.device());
    const at::Scalar factor = reduction == at::Reduction::Mean ? 2.0 / static_cast<double>(self.numel()) : 2.0;
    at::Tensor out;
    at::TensorIterator iter = at::TensorIteratorConfig()
                                  .add_output(out)
                                  .add_const_input(self)
                                  .add_const_input(target)
                                  .add_const_input(gradient)
                                  .build();
    if (function.taken(iter, {&factor, 1})) return iter.output();
    return at::mul(at::mul(at::sub(self, target), factor), gradient);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("mse_loss", mse_loss);
    m.impl("mse_loss_backward", mse_loss_backward);
}

}  // namespace
}  // namespace sidra::pytorch
