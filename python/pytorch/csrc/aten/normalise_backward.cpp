// SPDX-License-Identifier: MIT
// Gradients of layer, group and batch norm.
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/ones.h>
#include <torch/library.h>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/fallback.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

bool plain(const at::Tensor& tensor) {
    return tensor.defined() && is_sidra(tensor) && tensor.scalar_type() == at::kFloat;
}
at::Tensor normalised(const at::Tensor& x, const at::Tensor& mean, const at::Tensor& inverse, int64_t rows,
                      int64_t columns) {
    return x.view({rows, columns}).sub(mean.reshape({rows, 1})).mul_(inverse.reshape({rows, 1}));
}
at::Tensor or_undefined(const std::optional<at::Tensor>& tensor) { return tensor.value_or(at::Tensor()); }

// With n = (x - mean) / deviation and g = grad * gamma: (g - mean of g - n * mean of g n) / deviation. o0 grad, o1 x,
// o2 mean, o3 1 / deviation, o4 gamma, o5 the result; p0: 1 / columns.
constexpr const char* kLayerNormBackward = R"(pass:
    v0 = load o0
    v1 = load o1
    v2 = load o2
    v3 = load o3
    v4 = load o4
    v5 = mul v0, v4
    v6 = sub v1, v2
    v6 = mul v6, v3
    s0 = reduce_sum v5
    s1 = reduce_dot v5, v6
    s0 = mul s0, p0
    s1 = mul s1, p0
pass:
    v0 = load o0
    v1 = load o1
    v2 = load o2
    v3 = load o3
    v4 = load o4
    v5 = mul v0, v4
    v6 = sub v1, v2
    v6 = mul v6, v3
    v7 = sub v5, s0
    v8 = mul v6, s1
    v7 = sub v7, v8
    v7 = mul v7, v3
    store o5, v7
)";

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(const at::Tensor& grad, const at::Tensor& input,
                                                                   c10::SymIntArrayRef shape, const at::Tensor& mean,
                                                                   const at::Tensor& inverse,
                                                                   const std::optional<at::Tensor>& gamma_or_none,
                                                                   const std::optional<at::Tensor>& beta_or_none,
                                                                   std::array<bool, 3> wanted) {
    static VectorProgram program(kLayerNormBackward);
    const DeviceScope scope(input.device());
    const at::Tensor gamma = or_undefined(gamma_or_none);
    if (plain(grad) && plain(input) && plain(gamma) && plain(mean) && plain(inverse) && input.numel() > 0 &&
        grad.sizes() == input.sizes() && gamma.sizes() == C10_AS_INTARRAYREF_SLOW(shape)) {
        const int64_t columns = gamma.numel(), rows = input.numel() / columns;
        const at::Tensor g = grad.contiguous(), x = input.contiguous(), scale = gamma.contiguous();
        const Sizes sizes = {1, 1, static_cast<uint32_t>(rows), static_cast<uint32_t>(columns)};
        at::Tensor in, weight, bias;
        bool done = true;
        if (wanted[0]) {
            in = at::empty_like(x);
            const std::array<sidra_vector_operand, 6> operands = {dense(g, sizes),  dense(x, sizes), of_rows(mean),
                                                                  of_rows(inverse), row(scale),      dense(in, sizes)};
            const std::array params = {sidra_param_f32(1 / static_cast<float>(columns))};
            done = run_program(program, input.device().index(), sizes, operands, params);
        }
        if (done) {
            const at::Tensor g_rows = g.view({rows, columns});
            if (wanted[1]) {
                const at::Tensor n = normalised(x, mean, inverse, rows, columns);
                weight = n.mul_(g_rows).sum(0).view(gamma.sizes());
            }
            if (wanted[2]) bias = g_rows.sum(0).view(gamma.sizes());
            return {in, weight, bias};
        }
    }
    return SIDRA_FALL_BACK_SYMINT(native_layer_norm_backward)(grad, input, shape, mean, inverse, gamma_or_none,
                                                              beta_or_none, wanted);
}

// Each group of channels of an image is a row of a layer norm, whose factors are 1.
std::tuple<at::Tensor, at::Tensor, at::Tensor> group_norm_backward(const at::Tensor& grad, const at::Tensor& input,
                                                                   const at::Tensor& mean, const at::Tensor& inverse,
                                                                   const std::optional<at::Tensor>& gamma_or_none,
                                                                   c10::SymInt images, c10::SymInt channels,
                                                                   c10::SymInt pixels, int64_t groups,
                                                                   std::array<bool, 3> wanted) {
    const DeviceScope scope(input.device());
    const at::Tensor gamma = or_undefined(gamma_or_none);
    if (plain(grad) && plain(input) && plain(mean) && plain(inverse) && (!gamma.defined() || plain(gamma)) &&
        input.numel() > 0) {
        const int64_t n = images.expect_int(), c = channels.expect_int(), rows = n * groups;
        const int64_t columns = input.numel() / rows;
        const at::Tensor g = grad.contiguous().view({n, c, -1}), x = input.contiguous();
        at::Tensor in, weight, bias;
        if (wanted[0]) {
            const at::Tensor scaled = gamma.defined() ? g.mul(gamma.view({1, c, 1})) : g;
            const at::Tensor ones = at::ones({columns}, input.options());
            in = std::get<0>(at::native_layer_norm_backward(scaled.view({rows, columns}), x.view({rows, columns}),
                                                            {columns}, mean.reshape({rows, 1}),
                                                            inverse.reshape({rows, 1}), ones, {}, {true, false, false}))
                     .view(input.sizes())
                     .contiguous(input.suggest_memory_format());
        }
        if (wanted[1]) {
            const at::Tensor normal = normalised(x, mean, inverse, rows, columns);
            weight = normal.view(g.sizes()).mul_(g).sum(at::IntArrayRef({0, 2}));
        }
        if (wanted[2]) bias = g.sum(at::IntArrayRef({0, 2}));
        return {in, weight, bias};
    }
    return SIDRA_FALL_BACK_SYMINT(native_group_norm_backward)(grad, input, mean, inverse, gamma_or_none,
                                                              std::move(images), std::move(channels), std::move(pixels),
                                                              groups, wanted);
}

// With d = x - mean, of count elements a channel: gamma / deviation * (grad - mean of grad - d * mean of (grad d) /
// variance); without the means where mean and variance are not those of the batch.
std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm_backward(
    const at::Tensor& grad, const at::Tensor& input, const std::optional<at::Tensor>& gamma_or_none,
    const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_variance,
    const std::optional<at::Tensor>& saved_mean, const std::optional<at::Tensor>& saved_inverse, bool training,
    double epsilon, std::array<bool, 3> wanted) {
    const DeviceScope scope(input.device());
    const at::Tensor gamma = or_undefined(gamma_or_none);
    const at::Tensor mean = or_undefined(training ? saved_mean : running_mean);
    const at::Tensor spread = or_undefined(training ? saved_inverse : running_variance);
    if (plain(grad) && plain(input) && plain(mean) && plain(spread) && (!gamma.defined() || plain(gamma)) &&
        input.dim() >= 2 && input.dim() <= 4 && input.numel() > 0) {
        std::vector<int64_t> others, shape(static_cast<size_t>(input.dim()), 1);
        for (int64_t d = 0; d < input.dim(); ++d) {
            if (d != 1) others.push_back(d);
        }
        shape[1] = input.size(1);
        const at::Tensor inverse = training ? spread : spread.add(epsilon).rsqrt();
        const at::Tensor from_mean = input.sub(mean.view(shape));
        const at::Tensor sum = grad.sum(others), product = from_mean.mul(grad).sum(others);
        at::Tensor in, weight, bias;
        if (wanted[0]) {
            const at::Tensor factor = gamma.defined() ? inverse.mul(gamma) : inverse;
            in = grad.mul(factor.view(shape));
            if (training) {
                const double part = -1 / static_cast<double>(input.numel() / input.size(1));
                const at::Tensor slope = product.mul(inverse).mul_(inverse).mul_(factor).mul_(part);
                in.addcmul_(from_mean, slope.view(shape)).add_(sum.mul(factor).mul_(part).view(shape));
            }
        }
        if (wanted[1]) weight = product.mul(inverse);
        if (wanted[2]) bias = sum;
        return {in, weight, bias};
    }
    return SIDRA_FALL_BACK(native_batch_norm_backward)(grad, input, gamma_or_none, running_mean, running_variance,
                                                       saved_mean, saved_inverse, training, epsilon, wanted);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("native_layer_norm_backward", layer_norm_backward);
    m.impl("native_group_norm_backward", group_norm_backward);
    m.impl("native_batch_norm_backward", batch_norm_backward);
}

}  // namespace
}  // namespace sidra::pytorch
