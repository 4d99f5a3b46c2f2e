// SPDX-License-Identifier: MIT
// linear, mm, addmm, bmm, baddbmm: crossbars where the second factor stays, the matrix engine otherwise.
#include <ATen/core/DimVector.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <c10/util/accumulate.h>
#include <torch/library.h>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/fallback.h"
#include "aten/matmul.h"
#include "residency/residency.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

bool here(const at::Tensor& a, const at::Tensor& b) { return is_sidra(a) && is_sidra(b) && a.device() == b.device(); }

// Whether two tensors are matrices of floats, or batches of them, that fit each other; `out` then has the shape of
// their product. PyTorch's own check has seen them only if the caller gave no `out`; where this is false the CPU's
// operator says what is wrong.
bool fit(const at::Tensor& a, const at::Tensor& b, int64_t dims, const at::Tensor& out) {
    const bool fits = here(a, b) && is_sidra(out) && matmul_mode() != MatmulMode::kCpu && a.dim() == dims &&
                      b.dim() == dims && a.size(-1) == b.size(-2) && (dims == 2 || a.size(0) == b.size(0)) &&
                      is_float(a.scalar_type()) && a.scalar_type() == b.scalar_type() &&
                      a.scalar_type() == out.scalar_type();
    if (!fits) return false;
    at::DimVector size(a.sizes());
    size.back() = b.size(-1);
    at::native::resize_output(out, size);
    return true;
}

// A matrix of the rows of the last dimension, which may be empty.
at::Tensor as_rows(const at::Tensor& tensor) {
    const at::IntArrayRef outer = tensor.sizes().slice(0, static_cast<size_t>(tensor.dim()) - 1);
    return tensor.reshape({c10::multiply_integers(outer), tensor.size(-1)});
}

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias_or_none) {
    const at::Tensor bias = bias_or_none.value_or(at::Tensor());
    const DeviceScope scope(input.device());
    const bool fits = here(input, weight) && weight.dim() == 2 && input.dim() >= 1 &&
                      input.size(-1) == weight.size(1) && input.scalar_type() == weight.scalar_type() &&
                      (!bias.defined() || (here(bias, weight) && bias.dim() == 1 && bias.size(0) == weight.size(0)));
    if (fits && matmul_mode() != MatmulMode::kCpu) {
        std::vector<int64_t> size = input.sizes().vec();
        size.back() = weight.size(0);
        at::Tensor out = at::empty(size, input.options());
        if (out.numel() == 0) return out;
        if (crossbar_product(out, input, weight.t(), bias)) return out;
        if (digital_product(as_rows(out), as_rows(input), weight.t(), bias)) return out;
    }
    return SIDRA_FALL_BACK(linear)(input, weight, bias_or_none);
}

// a * b, never on crossbars: a gradient is not worth the wear of cells, and needs more than 8 bits.
at::Tensor gradient(const at::Tensor& a, const at::Tensor& b) {
    at::Tensor out = at::empty({a.size(0), b.size(1)}, a.options());
    if (out.numel() == 0 || (matmul_mode() != MatmulMode::kCpu && digital_product(out, a, b, {}))) return out;
    return SIDRA_FALL_BACK2(mm, out)(a, b, out);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> linear_backward(const at::Tensor& input, const at::Tensor& grad,
                                                               const at::Tensor& weight, std::array<bool, 3> wanted) {
    const DeviceScope scope(grad.device());
    const at::Tensor rows = as_rows(grad);
    std::tuple<at::Tensor, at::Tensor, at::Tensor> result;
    if (wanted[0]) std::get<0>(result) = gradient(rows, weight).view(input.sizes());
    if (wanted[1]) std::get<1>(result) = gradient(rows.t(), as_rows(input));
    if (wanted[2]) std::get<2>(result) = rows.sum(0);
    return result;
}

at::Tensor& mm_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
    const DeviceScope scope(self.device());
    if (fit(self, other, 2, out)) {
        if (out.is_contiguous() && crossbar_product(out, self, other, {})) return out;
        if (digital_product(out, self, other, {})) return out;
    }
    return SIDRA_FALL_BACK2(mm, out)(self, other, out);
}

at::Tensor& addmm_out(const at::Tensor& addend, const at::Tensor& self, const at::Tensor& other, const at::Scalar& beta,
                      const at::Scalar& alpha, at::Tensor& out) {
    const DeviceScope scope(self.device());
    if (here(addend, self) && fit(self, other, 2, out)) {
        const bool one = beta.to<double>() == 1 && alpha.to<double>() == 1;
        if (one && addend.dim() == 1 && addend.size(0) == other.size(1) && out.is_contiguous() &&
            crossbar_product(out, self, other, addend))
            return out;
        if (digital_product(out, self, other, addend, beta.to<float>(), alpha.to<float>())) return out;
    }
    return SIDRA_FALL_BACK2(addmm, out)(addend, self, other, beta, alpha, out);
}

at::Tensor& bmm_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
    const DeviceScope scope(self.device());
    if (fit(self, other, 3, out) && digital_product(out, self, other, {})) return out;
    return SIDRA_FALL_BACK2(bmm, out)(self, other, out);
}

at::Tensor& baddbmm_out(const at::Tensor& addend, const at::Tensor& self, const at::Tensor& other,
                        const at::Scalar& beta, const at::Scalar& alpha, at::Tensor& out) {
    const DeviceScope scope(self.device());
    if (here(addend, self) && fit(self, other, 3, out) &&
        digital_product(out, self, other, addend, beta.to<float>(), alpha.to<float>()))
        return out;
    return SIDRA_FALL_BACK2(baddbmm, out)(addend, self, other, beta, alpha, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("linear", linear);
    m.impl("linear_backward", linear_backward);
    m.impl("mm.out", mm_out);
    m.impl("addmm.out", addmm_out);
    m.impl("bmm.out", bmm_out);
    m.impl("baddbmm.out", baddbmm_out);
}

}  // namespace
}  // namespace sidra::pytorch
