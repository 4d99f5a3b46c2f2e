// SPDX-License-Identifier: MIT
// Normalisations of rows (softmax, layer norm, batch norm), and embedding.
#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>
#include <initializer_list>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/fallback.h"
#include "aten/pointwise.h"
#include "aten/programs.h"
#include "aten/rows.h"
#include "profiler/profile.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

at::Tensor& softmax_out(const at::Tensor& self, int64_t dim, bool half_to_float, at::Tensor& out) {
    const DeviceScope scope(self.device());
    if (is_float(self.scalar_type()) && is_float(out.scalar_type()) && out.sizes() == self.sizes() &&
        run_rows(sidra_softmax, out, self, at::maybe_wrap_dim(dim, self.dim())))
        return out;
    return SIDRA_FALL_BACK2(_softmax, out)(self, dim, half_to_float, out);
}

at::Tensor& log_softmax_out(const at::Tensor& self, int64_t dim, bool half_to_float, at::Tensor& out) {
    const DeviceScope scope(self.device());
    if (is_float(self.scalar_type()) && is_float(out.scalar_type()) && out.sizes() == self.sizes() &&
        run_rows(sidra_log_softmax, out, self, at::maybe_wrap_dim(dim, self.dim())))
        return out;
    return SIDRA_FALL_BACK2(_log_softmax, out)(self, dim, half_to_float, out);
}

// As sidra_layer_norm(), and keeps mean and 1 / deviation for the backward pass. o0 input, o1 gamma, o2 beta, o3
// output, o4 mean, o5 1 / deviation; p0: 1 / columns, p1: epsilon.
constexpr const char* kLayerNorm = R"(pass:
    v0 = load o0
    s0 = reduce_sum v0
    s1 = mul s0, p0
    store o4, s1
pass:
    v0 = load o0
    v1 = sub v0, s1
    s2 = reduce_dot v1, v1
    s3 = fma s2, p0, p1
    s4 = rsqrt s3
    store o5, s4
pass:
    v0 = load o0
    v1 = sub v0, s1
    v2 = mul v1, s4
    v3 = load o1
    v4 = load o2
    v5 = fma v2, v3, v4
    store o3, v5
)";

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_layer_norm(const at::Tensor& input, c10::SymIntArrayRef shape,
                                                                 const std::optional<at::Tensor>& gamma_or_none,
                                                                 const std::optional<at::Tensor>& beta_or_none,
                                                                 double epsilon) {
    static VectorProgram program(kLayerNorm);
    const at::IntArrayRef normalised = C10_AS_INTARRAYREF_SLOW(shape);
    const DeviceScope scope(input.device());
    const at::Tensor gamma = gamma_or_none.value_or(at::Tensor()), beta = beta_or_none.value_or(at::Tensor());
    const auto affine = [&](const at::Tensor& tensor) {
        return tensor.defined() && is_sidra(tensor) && tensor.scalar_type() == at::kFloat;
    };
    if (is_sidra(input) && input.scalar_type() == at::kFloat && affine(gamma) && affine(beta) && input.numel() > 0 &&
        !normalised.empty() && gamma.sizes() == normalised && beta.sizes() == normalised &&
        input.dim() >= static_cast<int64_t>(normalised.size()) &&
        input.sizes().slice(static_cast<size_t>(input.dim()) - normalised.size()) == normalised) {
        const int64_t columns = gamma.numel(), rows = input.numel() / columns;
        const at::Tensor in = input.contiguous(), scale = gamma.contiguous(), shift = beta.contiguous();
        at::Tensor out = at::empty(input.sizes(), in.options());
        std::vector<int64_t> stat_size = input.sizes().vec();
        for (size_t d = stat_size.size() - normalised.size(); d < stat_size.size(); ++d) stat_size[d] = 1;
        at::Tensor mean = at::empty(stat_size, in.options()), deviation = at::empty(stat_size, in.options());
        const Sizes sizes = {1, 1, static_cast<uint32_t>(rows), static_cast<uint32_t>(columns)};
        const std::array<sidra_vector_operand, 6> operands = {dense(in, sizes),  row(scale),    row(shift),
                                                              dense(out, sizes), of_rows(mean), of_rows(deviation)};
        const std::array params = {sidra_param_f32(1 / static_cast<float>(columns)),
                                   sidra_param_f32(static_cast<float>(epsilon))};
        if (run_program(program, input.device().index(), sizes, operands, params)) return {out, mean, deviation};
    }
    return SIDRA_FALL_BACK_SYMINT(native_layer_norm)(input, shape, gamma_or_none, beta_or_none, epsilon);
}

at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices, c10::SymInt padding, bool scale_grad,
                     bool sparse) {
    const DeviceScope scope(weight.device());
    const bool types = weight.dim() == 2 && type_of(weight.scalar_type()) && weight.scalar_type() != at::kLong &&
                       (indices.scalar_type() == at::kLong || indices.scalar_type() == at::kInt);
    if (types && is_sidra(weight) && is_sidra(indices) && indices.numel() > 0) {
        const at::Tensor table = weight.contiguous(), index = indices.contiguous();
        std::vector<int64_t> size = indices.sizes().vec();
        size.push_back(weight.size(1));
        at::Tensor out = at::empty(size, weight.options());
        const std::optional<Sizes> sizes = rows_of(out);
        if (sizes) {
            const sidra_array to = dense(out, *sizes);
            const sidra_array from =
                dense(table, {1, 1, static_cast<uint32_t>(weight.size(0)), static_cast<uint32_t>(weight.size(1))});
            if (queued(sidra_gather_rows(OnStream(weight.device().index(), "sidra::gather"), sizes->data(), &to, &from,
                                         static_cast<uint32_t>(weight.size(0)), place_of(index),
                                         *type_of(index.scalar_type()))))
                return out;
        }
    }
    return SIDRA_FALL_BACK_SYMINT(embedding)(weight, indices, padding, scale_grad, sparse);
}

bool given(const std::optional<at::Tensor>& tensor) { return tensor && tensor->defined(); }
// Whether a norm on the chip takes an input with such parameters, if there are any.
bool takes(const at::Tensor& input, std::initializer_list<std::optional<at::Tensor>> parameters) {
    return is_sidra(input) && input.scalar_type() == at::kFloat && input.numel() > 0 && input.dim() >= 2 &&
           std::ranges::all_of(parameters, [&](const std::optional<at::Tensor>& each) {
               return !given(each) || (each->device() == input.device() && each->scalar_type() == at::kFloat);
           });
}

// out = input * scale + shift, which have a value for each channel. False: the chip does not take the shape.
bool scale_and_shift(const at::Tensor& out, const at::Tensor& input, const at::Tensor& scale, const at::Tensor& shift) {
    static Pointwise function({"r = fma a, b, c"});
    at::TensorIterator iter = at::TensorIteratorConfig()
                                  .add_output(out)
                                  .add_const_input(input)
                                  .add_const_input(scale)
                                  .add_const_input(shift)
                                  .promote_inputs_to_common_dtype(true)
                                  .build();
    return function.run(iter);
}

// A layer norm of each group of channels, then factors of the channels.
std::tuple<at::Tensor, at::Tensor, at::Tensor> group_norm(const at::Tensor& input,
                                                          const std::optional<at::Tensor>& weight,
                                                          const std::optional<at::Tensor>& bias, c10::SymInt images,
                                                          c10::SymInt channels, c10::SymInt pixels, int64_t groups,
                                                          double epsilon) {
    const DeviceScope scope(input.device());
    if (takes(input, {weight, bias})) {
        const int64_t rows = images.expect_int() * groups, columns = input.numel() / rows, c = channels.expect_int();
        const auto [normal, mean, inverse] =
            at::native_layer_norm(input.contiguous().view({rows, columns}), {columns},
                                  at::ones({columns}, input.options()), at::zeros({columns}, input.options()), epsilon);
        at::Tensor out = normal.view(input.sizes());
        std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
        shape[1] = c;
        const at::Tensor scale = given(weight) ? *weight : at::ones({c}, input.options());
        const at::Tensor shift = given(bias) ? *bias : at::zeros({c}, input.options());
        if ((!given(weight) && !given(bias)) || scale_and_shift(out, out, scale.view(shape), shift.view(shape)))
            return {out.contiguous(input.suggest_memory_format()), mean.view({-1, groups}), inverse.view({-1, groups})};
    }
    return SIDRA_FALL_BACK_SYMINT(native_group_norm)(input, weight, bias, std::move(images), std::move(channels),
                                                     std::move(pixels), groups, epsilon);
}

// Dimension 1 has the channels. Training takes mean and variance of the batch, and moves the running ones.
std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm(const at::Tensor& input,
                                                          const std::optional<at::Tensor>& weight,
                                                          const std::optional<at::Tensor>& bias,
                                                          const std::optional<at::Tensor>& running_mean,
                                                          const std::optional<at::Tensor>& running_variance,
                                                          bool training, double momentum, double epsilon) {
    const DeviceScope scope(input.device());
    const bool statistics = training || (given(running_mean) && given(running_variance));
    if (input.dim() <= 4 && statistics && takes(input, {weight, bias, running_mean, running_variance})) {
        std::vector<int64_t> others;
        for (int64_t d = 0; d < input.dim(); ++d) {
            if (d != 1) others.push_back(d);
        }
        std::vector<int64_t> shape(static_cast<size_t>(input.dim()), 1);
        shape[1] = input.size(1);
        at::Tensor mean, variance;
        if (training) {
            mean = input.mean(others);
            const at::Tensor from_mean = input.sub(mean.view(shape));
            variance = from_mean.mul(from_mean).mean(others);
        } else {
            mean = *running_mean;
            variance = *running_variance;
        }
        const at::Tensor inverse = variance.add(epsilon).rsqrt();
        const at::Tensor scale = given(weight) ? inverse.mul(*weight) : inverse;
        const at::Tensor moved = mean.mul(scale).neg();
        const at::Tensor shift = given(bias) ? moved.add(*bias) : moved;
        at::Tensor out = at::empty(input.sizes(), input.options(), input.suggest_memory_format());
        if (scale_and_shift(out, input, scale.view(shape), shift.view(shape))) {
            if (!training) return {out, at::empty({0}, input.options()), at::empty({0}, input.options())};
            // Last: what has failed must leave them as they were.
            const double count = static_cast<double>(input.numel() / input.size(1));
            if (given(running_mean)) running_mean->mul_(1 - momentum).add_(mean, momentum);
            if (given(running_variance))
                running_variance->mul_(1 - momentum).add_(variance, momentum * count / (count - 1));
            return {out, mean, inverse};
        }
    }
    return SIDRA_FALL_BACK(native_batch_norm)(input, weight, bias, running_mean, running_variance, training, momentum,
                                              epsilon);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("_softmax.out", softmax_out);
    m.impl("_log_softmax.out", log_softmax_out);
    m.impl("native_layer_norm", native_layer_norm);
    m.impl("native_group_norm", group_norm);
    m.impl("native_batch_norm", batch_norm);
    m.impl("embedding", embedding);
}

}  // namespace
}  // namespace sidra::pytorch
