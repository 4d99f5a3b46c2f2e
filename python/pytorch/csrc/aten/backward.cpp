// SPDX-License-Identifier: MIT
// Gradients of activations, softmax, dropout and embedding, and what optimizers compute.
#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Activation.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <cmath>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/fallback.h"
#include "aten/indexing.h"
#include "aten/pointwise.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

// a: the gradient of the result; b: what the kernel's second argument is.
bool run_gradient(Pointwise& function, at::Tensor& out, const at::Tensor& grad, const at::Tensor& other,
                  std::span<const c10::Scalar> numbers = {}) {
    const DeviceScope scope(grad.device());
    at::TensorIterator iter = at::TensorIterator::borrowing_binary_op(out, grad, other);
    return iter.numel() == 0 || function.run(iter, numbers);
}

at::Tensor& threshold_backward_out(const at::Tensor& grad, const at::Tensor& self, const at::Scalar& threshold,
                                   at::Tensor& out) {
    static Pointwise function({"t = le b, p; r = select t, 0.0, a"});
    if (run_gradient(function, out, grad, self, {&threshold, 1})) return out;
    return SIDRA_FALL_BACK2(threshold_backward, grad_input)(grad, self, threshold, out);
}

at::Tensor& sigmoid_backward_out(const at::Tensor& grad, const at::Tensor& output, at::Tensor& out) {
    static Pointwise function({"t = sub 1.0, b; t = mul t, b; r = mul a, t"});
    if (run_gradient(function, out, grad, output)) return out;
    return SIDRA_FALL_BACK2(sigmoid_backward, grad_input)(grad, output, out);
}

at::Tensor& tanh_backward_out(const at::Tensor& grad, const at::Tensor& output, at::Tensor& out) {
    static Pointwise function({"t = mul b, b; t = sub 1.0, t; r = mul a, t"});
    if (run_gradient(function, out, grad, output)) return out;
    return SIDRA_FALL_BACK2(tanh_backward, grad_input)(grad, output, out);
}

at::Tensor& silu_backward_out(const at::Tensor& grad, const at::Tensor& self, at::Tensor& out) {
    static Pointwise function({"t = sigmoid b; u = sub 1.0, t; u = fma b, u, 1.0; t = mul t, u; r = mul a, t"});
    if (run_gradient(function, out, grad, self)) return out;
    return SIDRA_FALL_BACK2(silu_backward, grad_input)(grad, self, out);
}

// b's distribution function and its density; and the derivative of what docs/vector-programs.md gives for gelu_tanh.
at::Tensor& gelu_backward_out(const at::Tensor& grad, const at::Tensor& self, c10::string_view approximate,
                              at::Tensor& out) {
    static Pointwise exact(
        {"t = mul b, 0.7071067811865476; t = erf t; t = fma t, 0.5, 0.5; u = mul b, b; "
         "u = mul u, -0.5; u = exp u; u = mul u, 0.3989422804014327; u = fma b, u, t; r = mul a, u"});
    static Pointwise tanh(
        {"t = mul b, b; u = mul t, b; u = fma u, 0.044715, b; u = mul u, 0.7978845608028654; "
         "u = tanh u; w = fma u, 0.5, 0.5; x = mul u, u; x = sub 1.0, x; t = fma t, 0.134145, 1.0; "
         "t = mul t, 0.7978845608028654; x = mul x, t; x = mul x, b; w = fma x, 0.5, w; r = mul a, w"});
    const bool is_tanh = at::native::get_gelutype_enum(approximate) == at::native::GeluType::Tanh;
    if (run_gradient(is_tanh ? tanh : exact, out, grad, self)) return out;
    return SIDRA_FALL_BACK2(gelu_backward, grad_input)(grad, self, approximate, out);
}

// o0 gradient, o1 the result of the forward pass, o2 the gradient of the input; all dense, along the last dimension.
bool run_rows_backward(VectorProgram& program, const at::Tensor& grad, const at::Tensor& output, int64_t dim,
                       const at::Tensor& out) {
    const bool dense_rows = output.dim() > 0 && at::maybe_wrap_dim(dim, output.dim()) == output.dim() - 1 &&
                            grad.sizes() == output.sizes() && out.sizes() == output.sizes() && out.is_contiguous();
    const bool types =
        grad.scalar_type() == at::kFloat && output.scalar_type() == at::kFloat && out.scalar_type() == at::kFloat;
    if (!dense_rows || !types) return false;
    const at::Tensor a = grad.contiguous(), b = output.contiguous();
    const std::optional<Sizes> sizes = rows_of(b);
    if (!sizes) return false;
    const std::array<sidra_vector_operand, 3> operands = {dense(a, *sizes), dense(b, *sizes), dense(out, *sizes)};
    if (!run_program(program, out.device().index(), *sizes, operands)) return false;
    mark_written(out);
    return true;
}

at::Tensor& softmax_backward_out(const at::Tensor& grad, const at::Tensor& output, int64_t dim, at::ScalarType type,
                                 at::Tensor& out) {
    static VectorProgram program(
        "pass:\nv0 = load o0\nv1 = load o1\ns0 = reduce_dot v0, v1\n"
        "pass:\nv0 = load o0\nv1 = load o1\nv2 = sub v0, s0\nv3 = mul v1, v2\nstore o2, v3\n");
    const DeviceScope scope(grad.device());
    if (run_rows_backward(program, grad, output, dim, out)) return out;
    return SIDRA_FALL_BACK2(_softmax_backward_data, out)(grad, output, dim, type, out);
}

at::Tensor& log_softmax_backward_out(const at::Tensor& grad, const at::Tensor& output, int64_t dim, at::ScalarType type,
                                     at::Tensor& out) {
    static VectorProgram program(
        "pass:\nv0 = load o0\ns0 = reduce_sum v0\n"
        "pass:\nv0 = load o0\nv1 = load o1\nv1 = exp v1\nv2 = mul v1, s0\nv3 = sub v0, v2\nstore o2, v3\n");
    const DeviceScope scope(grad.device());
    if (run_rows_backward(program, grad, output, dim, out)) return out;
    return SIDRA_FALL_BACK2(_log_softmax_backward_data, out)(grad, output, dim, type, out);
}

std::tuple<at::Tensor, at::Tensor> dropout(const at::Tensor& input, double probability, std::optional<bool> train) {
    const DeviceScope scope(input.device());
    const at::Tensor kept = at::empty(input.sizes(), input.options().dtype(at::kBool));
    if (!train.value_or(true)) return {input.clone(), kept.fill_(true)};
    kept.bernoulli_(1 - probability);
    const double scale = probability == 1 ? 0 : 1 / (1 - probability);
    return {input.mul(kept).mul_(scale), kept};
}

at::Tensor dropout_backward(const at::Tensor& grad, const at::Tensor& kept, double scale) {
    const DeviceScope scope(grad.device());
    return grad.mul(kept).mul_(scale);
}

at::Tensor embedding_backward(const at::Tensor& grad, const at::Tensor& indices, c10::SymInt rows_of_table,
                              c10::SymInt padding, bool by_frequency) {
    const DeviceScope scope(grad.device());
    const int64_t rows = rows_of_table.expect_int(), skipped = padding.expect_int();
    if (is_sidra(grad) && grad.scalar_type() == at::kFloat && is_index(indices) && grad.numel() > 0 && !by_frequency) {
        const at::Tensor out = at::zeros({rows, grad.size(-1)}, grad.options());
        if (add_rows(out, indices.contiguous(), grad.contiguous())) {
            if (skipped >= 0) out.select(0, skipped).zero_();
            return out;
        }
    }
    return SIDRA_FALL_BACK_SYMINT(embedding_dense_backward)(grad, indices, rows_of_table, padding, by_frequency);
}

// self + value * one * other, or one / other.
bool add_combined(Pointwise& function, const at::Tensor& self, const at::Tensor& one, const at::Tensor& other,
                  const at::Scalar& value, at::Tensor& out) {
    const at::ScalarType type = self.scalar_type();
    const bool types =
        is_float(type) && one.scalar_type() == type && other.scalar_type() == type && out.scalar_type() == type;
    if (!types || value.isComplex()) return false;
    const DeviceScope scope(self.device());
    at::TensorIterator iter = at::TensorIteratorConfig()
                                  .allow_cpu_scalars(true)
                                  .promote_inputs_to_common_dtype(true)
                                  .add_output(out)
                                  .add_const_input(self)
                                  .add_const_input(one)
                                  .add_const_input(other)
                                  .build();
    return iter.numel() == 0 || function.run(iter, {&value, 1});
}

at::Tensor& addcmul_out(const at::Tensor& self, const at::Tensor& one, const at::Tensor& other, const at::Scalar& value,
                        at::Tensor& out) {
    static Pointwise function({"t = mul b, c; r = fma t, p, a"});
    if (add_combined(function, self, one, other, value, out)) return out;
    return SIDRA_FALL_BACK2(addcmul, out)(self, one, other, value, out);
}

at::Tensor& addcdiv_out(const at::Tensor& self, const at::Tensor& one, const at::Tensor& other, const at::Scalar& value,
                        at::Tensor& out) {
    static Pointwise function({"t = div b, c; r = fma t, p, a"});
    if (add_combined(function, self, one, other, value, out)) return out;
    return SIDRA_FALL_BACK2(addcdiv, out)(self, one, other, value, out);
}

// From the nearer end, as PyTorch does: exact at both.
at::Tensor& lerp_out(const at::Tensor& self, const at::Tensor& end, const at::Scalar& weight, at::Tensor& out) {
    static Pointwise from_begin({"t = sub b, a; r = fma t, p, a"}), from_end({"t = sub a, b; r = fma t, p, b"});
    if (!weight.isComplex() && is_float(self.scalar_type()) && end.scalar_type() == self.scalar_type()) {
        const DeviceScope scope(self.device());
        at::TensorIterator iter = at::TensorIterator::borrowing_binary_op(out, self, end);
        const double part = weight.to<double>();
        const bool begin = std::abs(part) < 0.5;
        const at::Scalar factor = begin ? part : 1 - part;
        if (iter.numel() == 0 || (begin ? from_begin : from_end).run(iter, {&factor, 1})) return out;
    }
    return SIDRA_FALL_BACK2(lerp, Scalar_out)(self, end, weight, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("threshold_backward.grad_input", threshold_backward_out);
    m.impl("sigmoid_backward.grad_input", sigmoid_backward_out);
    m.impl("tanh_backward.grad_input", tanh_backward_out);
    m.impl("silu_backward.grad_input", silu_backward_out);
    m.impl("gelu_backward.grad_input", gelu_backward_out);
    m.impl("_softmax_backward_data.out", softmax_backward_out);
    m.impl("_log_softmax_backward_data.out", log_softmax_backward_out);
    m.impl("native_dropout", dropout);
    m.impl("native_dropout_backward", dropout_backward);
    m.impl("embedding_dense_backward", embedding_backward);
    m.impl("addcmul.out", addcmul_out);
    m.impl("addcdiv.out", addcdiv_out);
    m.impl("lerp.Scalar_out", lerp_out);
}

}  // namespace
}  // namespace sidra::pytorch
