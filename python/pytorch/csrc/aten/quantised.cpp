// SPDX-License-Identifier: MIT
// Layers whose weights are int8 codes with a scale for each output: torch.ops.sidra.quantised_linear and
// quantised_conv2d, and the dynamically quantised linear layers of torch.ao. The CPU gives the same bits as the chip at
// level `fast`: it does, number by number, what the program of a layer (matmul.cpp) says.
#include "aten/quantised.h"

#include <ATen/Parallel.h>
#include <ATen/native/quantized/PackedParams.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/im2col.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <unordered_map>

#include "aten/alias.h"
#include "aten/fallback.h"
#include "aten/matmul.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

void check_weight(const char* what, const at::Tensor& input, const at::Tensor& weight, const at::Tensor& scale,
                  const at::Tensor& bias, int64_t dims) {
    TORCH_CHECK(input.scalar_type() == at::kFloat, what, ": the input is ", input.scalar_type(),
                "; it has to be float32");
    TORCH_CHECK(weight.scalar_type() == at::kChar && weight.dim() == dims, what, ": the weight has to be int8 with ",
                dims, " dimensions; it is ", weight.scalar_type(), " with ", weight.dim());
    const auto vector = [&](const char* name, const at::Tensor& tensor) {
        TORCH_CHECK(tensor.scalar_type() == at::kFloat && tensor.dim() == 1 && tensor.sym_size(0) == weight.sym_size(0),
                    what, ": the ", name, " has to be float32 with one element for each of the ", weight.sym_size(0),
                    " outputs");
    };
    vector("scale", scale);
    if (bias.defined()) vector("bias", bias);
    for (const at::Tensor* other : {&weight, &scale, &bias}) {
        TORCH_CHECK(!other->defined() || other->device() == input.device(), what, ": tensors of ", input.device(),
                    " and ", other->device(), " in one call; move one with .to()");
    }
}

// Rows [m][k] of the CPU times codes [n][k]: into [m][n].
void multiply(float* out, const float* rows, int64_t m, int64_t k, const int8_t* codes, int64_t n, const float* scale,
              const float* bias) {
    std::vector<float> sums(static_cast<size_t>(n));
    for (int64_t j = 0; j < n; ++j) {
        int32_t sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += codes[j * k + i];
        sums[static_cast<size_t>(j)] = static_cast<float>(sum);
    }
    at::parallel_for(0, m, 1, [&](int64_t begin, int64_t end) {
        std::vector<int32_t> input(static_cast<size_t>(k));
        for (int64_t r = begin; r < end; ++r) {
            const float* row = rows + r * k;
            float low = 0, high = 0;
            // Once NaN, they stay it, as on the chip.
            for (int64_t i = 0; i < k; ++i) {
                if (row[i] < low || std::isnan(row[i])) low = row[i];
                if (row[i] > high || std::isnan(row[i])) high = row[i];
            }
            const float range = std::max(high - low, 1e-30f), step = range / 255.0f, inverse = 255.0f / range;
            const float zero = std::nearbyint(low * inverse);
            for (int64_t i = 0; i < k; ++i) {
                const float code = std::nearbyint(std::fma(row[i], inverse, -zero));
                input[static_cast<size_t>(i)] =
                    std::isnan(code) ? 0 : static_cast<int32_t>(std::clamp(code, 0.0f, 255.0f));
            }
            for (int64_t j = 0; j < n; ++j) {
                int32_t sum = 0;
                for (int64_t i = 0; i < k; ++i) sum += input[static_cast<size_t>(i)] * codes[j * k + i];
                const float exact = std::fma(sums[static_cast<size_t>(j)], zero, static_cast<float>(sum));
                out[r * n + j] = std::fma(exact, scale[j] * step, bias != nullptr ? bias[j] : 0.0f);
            }
        }
    });
}

const float* values_of(const at::Tensor& tensor) { return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr; }

at::Tensor result_of_linear(const at::Tensor& input, const at::Tensor& weight) {
    std::vector<c10::SymInt> size = input.sym_sizes().vec();
    TORCH_CHECK(!size.empty() && size.back() == weight.sym_size(1), "quantised_linear: rows of the input have ",
                size.empty() ? c10::SymInt(0) : size.back(), " elements, and the weight has ", weight.sym_size(1),
                " columns");
    size.back() = weight.sym_size(0);
    return at::empty_symint(size, input.options());
}

at::Tensor linear_on_cpu(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& scale,
                         const std::optional<at::Tensor>& bias_or_none) {
    const at::Tensor bias = bias_or_none.value_or(at::Tensor());
    check_weight("quantised_linear", input, weight, scale, bias, 2);
    at::Tensor out = result_of_linear(input, weight);
    const at::Tensor rows = input.contiguous(), codes = weight.contiguous(), factor = scale.contiguous();
    const at::Tensor addend = bias.defined() ? bias.contiguous() : bias;
    const int64_t k = weight.size(1);
    multiply(out.mutable_data_ptr<float>(), values_of(rows), rows.numel() / std::max<int64_t>(k, 1), k,
             codes.const_data_ptr<int8_t>(), weight.size(0), values_of(factor), values_of(addend));
    return out;
}

at::Tensor linear_on_chip(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& scale,
                          const std::optional<at::Tensor>& bias_or_none) {
    const at::Tensor bias = bias_or_none.value_or(at::Tensor());
    check_weight("quantised_linear", input, weight, scale, bias, 2);
    const DeviceScope scope(input.device());
    at::Tensor out = result_of_linear(input, weight);
    if (out.numel() == 0 || crossbar_product(out, input, weight.t(), bias, scale)) return out;
    const auto start = begin_fallback("sidra::quantised_linear", input.device().index());
    return end_fallback(start, linear_on_cpu(cpu_alias(input), cpu_alias(weight), cpu_alias(scale), cpu_alias(bias)));
}

at::Tensor linear_on_meta(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& scale,
                          const std::optional<at::Tensor>& bias) {
    check_weight("quantised_linear", input, weight, scale, bias.value_or(at::Tensor()), 2);
    return result_of_linear(input, weight);
}

at::Tensor result_of_convolution(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef stride,
                                 at::IntArrayRef padding, at::IntArrayRef dilation) {
    TORCH_CHECK(input.dim() == 4 && input.sym_size(1) == weight.sym_size(1),
                "quantised_conv2d: the input has to have 4 dimensions, and ", weight.sym_size(1), " channels");
    std::vector<c10::SymInt> size = {input.sym_size(0), weight.sym_size(0)};
    for (size_t d = 0; d < 2; ++d) {
        TORCH_CHECK(stride[d] > 0 && dilation[d] > 0 && padding[d] >= 0,
                    "quantised_conv2d: stride and dilation are at least 1, and padding is at least 0");
        const c10::SymInt reach = (weight.sym_size(static_cast<int64_t>(d) + 2) - 1) * dilation[d] + 1;
        size.push_back((input.sym_size(static_cast<int64_t>(d) + 2) + 2 * padding[d] - reach) / stride[d] + 1);
        TORCH_CHECK(size.back() > 0, "quantised_conv2d: the kernel is larger than the padded image");
    }
    return at::empty_symint(size, input.options());
}

at::Tensor convolution_on_cpu(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& scale,
                              const std::optional<at::Tensor>& bias_or_none, at::IntArrayRef stride,
                              at::IntArrayRef padding, at::IntArrayRef dilation) {
    const at::Tensor bias = bias_or_none.value_or(at::Tensor());
    check_weight("quantised_conv2d", input, weight, scale, bias, 4);
    at::Tensor out = result_of_convolution(input, weight, stride, padding, dilation);
    const int64_t n = weight.size(0), k = weight.numel() / std::max<int64_t>(n, 1), windows = out.size(2) * out.size(3);
    const at::Tensor columns = at::im2col(input, weight.sizes().slice(2), dilation, padding, stride);
    const at::Tensor rows = columns.transpose(1, 2).contiguous(), codes = weight.contiguous();
    const at::Tensor factor = scale.contiguous(), addend = bias.defined() ? bias.contiguous() : bias;
    const at::Tensor pixels = at::empty({out.size(0), windows, n}, out.options());
    multiply(pixels.mutable_data_ptr<float>(), values_of(rows), out.size(0) * windows, k,
             codes.const_data_ptr<int8_t>(), n, values_of(factor), values_of(addend));
    return out.copy_(pixels.transpose(1, 2).view(out.sizes()));
}

at::Tensor convolution_on_chip(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& scale,
                               const std::optional<at::Tensor>& bias_or_none, at::IntArrayRef stride,
                               at::IntArrayRef padding, at::IntArrayRef dilation) {
    const at::Tensor bias = bias_or_none.value_or(at::Tensor());
    check_weight("quantised_conv2d", input, weight, scale, bias, 4);
    const DeviceScope scope(input.device());
    const at::Tensor shape = result_of_convolution(input, weight, stride, padding, dilation);
    at::Tensor out = at::empty(shape.sizes(), input.options(), at::MemoryFormat::ChannelsLast);
    const Windows windows = {stride[0],   stride[1],   padding[0],  padding[1],
                             dilation[0], dilation[1], out.size(2), out.size(3)};
    if (out.numel() == 0 || crossbar_convolution(out, input, weight, bias, windows, scale)) return out;
    const auto start = begin_fallback("sidra::quantised_conv2d", input.device().index());
    return end_fallback(start, convolution_on_cpu(cpu_alias(input), cpu_alias(weight), cpu_alias(scale),
                                                  cpu_alias(bias), stride, padding, dilation));
}

at::Tensor convolution_on_meta(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& scale,
                               const std::optional<at::Tensor>& bias, at::IntArrayRef stride, at::IntArrayRef padding,
                               at::IntArrayRef dilation) {
    check_weight("quantised_conv2d", input, weight, scale, bias.value_or(at::Tensor()), 4);
    return result_of_convolution(input, weight, stride, padding, dilation);
}

// ---- torch.ao's linear layers: their weights stay in an object of the CPU, and are brought to each device once ----

struct Brought {
    c10::weak_intrusive_ptr<LinearPackedParamsBase> from;
    at::Tensor codes, scale, bias;
};
using Layers = std::unordered_map<const LinearPackedParamsBase*, Brought>;
struct Packed {
    std::mutex lock;
    Layers layers[64];
};
Packed& packed() {
    static Packed* const made = new Packed;  // tensors end after static objects
    return *made;
}

// The lock is held.
void drop_ended(Layers& layers) {
    std::erase_if(layers, [](const auto& item) { return item.second.from.expired(); });
}

Brought brought_layer(const c10::intrusive_ptr<LinearPackedParamsBase>& from, const c10::Device& to) {
    Packed& all = packed();
    const std::lock_guard guard(all.lock);
    Layers& layers = all.layers[static_cast<size_t>(to.index())];
    const auto found = layers.find(from.get());
    if (found != layers.end() && !found->second.from.expired()) return found->second;
    drop_ended(layers);
    const auto [weight, bias] = from->unpack();
    TORCH_CHECK(weight.scalar_type() == at::kQInt8, "linear_dynamic on sidra: the weight is ", weight.scalar_type(),
                "; it has to be qint8");
    const bool channels = weight.qscheme() == at::kPerChannelAffine;
    const at::Tensor scale = channels ? weight.q_per_channel_scales().to(at::kFloat)
                                      : at::full({weight.size(0)}, weight.q_scale(), at::kFloat);
    const bool symmetric =
        channels ? !weight.q_per_channel_zero_points().to(at::kLong).any().item<bool>() : weight.q_zero_point() == 0;
    TORCH_CHECK(symmetric, "linear_dynamic on sidra: the weight has zero points; it has to be symmetric");
    Brought made{c10::weak_intrusive_ptr<LinearPackedParamsBase>(from), weight.int_repr().to(to), scale.to(to),
                 bias ? bias->to(at::kFloat).to(to) : at::Tensor()};
    layers.insert_or_assign(from.get(), made);
    return made;
}

// By value, as the CPU's kernel: PyTorch compares the signatures.
at::Tensor linear_dynamic(at::Tensor input, const c10::intrusive_ptr<LinearPackedParamsBase>& layer, bool) {
    const DeviceScope scope(input.device());
    const Brought on = brought_layer(layer, input.device());
    return linear_on_chip(input, on.codes, on.scale, on.bias);
}

TORCH_LIBRARY(sidra, m) {
    m.def("quantised_linear(Tensor input, Tensor weight, Tensor scale, Tensor? bias=None) -> Tensor");
    m.def(
        "quantised_conv2d(Tensor input, Tensor weight, Tensor scale, Tensor? bias=None, int[2] stride=1, int[2] "
        "padding=0, "
        "int[2] dilation=1) -> Tensor");
}
TORCH_LIBRARY_IMPL(sidra, CPU, m) {
    m.impl("quantised_linear", linear_on_cpu);
    m.impl("quantised_conv2d", convolution_on_cpu);
}
TORCH_LIBRARY_IMPL(sidra, Meta, m) {
    m.impl("quantised_linear", linear_on_meta);
    m.impl("quantised_conv2d", convolution_on_meta);
}
TORCH_LIBRARY_IMPL(sidra, PrivateUse1, m) {
    m.impl("quantised_linear", linear_on_chip);
    m.impl("quantised_conv2d", convolution_on_chip);
}
TORCH_LIBRARY_IMPL(quantized, PrivateUse1, m) { m.impl("linear_dynamic", linear_dynamic); }

}  // namespace

void drop_ended_layers(c10::DeviceIndex index) {
    Packed& all = packed();
    const std::lock_guard guard(all.lock);
    drop_ended(all.layers[static_cast<size_t>(index)]);
}

}  // namespace sidra::pytorch
