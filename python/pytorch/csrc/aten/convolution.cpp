// SPDX-License-Identifier: MIT
// Convolutions: on crossbars where a layer of the chip takes them and the weight stays, otherwise by the matrix engine.
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>

#include "aten/convolution.h"

#include "aten/alias.h"
#include "aten/digital_convolution.h"
#include "aten/fallback.h"
#include "aten/matmul.h"
#include "residency/residency.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

Geometry geometry(c10::SymIntArrayRef stride, c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                  bool transposed, c10::SymIntArrayRef output_padding, const c10::SymInt& groups) {
    const auto plain = [](c10::SymIntArrayRef values) { return C10_AS_INTARRAYREF_SLOW(values).vec(); };
    return {plain(stride), plain(padding), plain(dilation), plain(output_padding), transposed, groups.expect_int()};
}

// Two dimensions of the image, one group, not transposed. One dimension is an image of one row.
at::Tensor on_crossbars(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias, const Geometry& of) {
    if (of.transposed || of.groups != 1 || weight.dim() != 4 || input.dim() != 4 || input.numel() == 0) return {};
    const std::vector<int64_t> extents = result_extents(input, weight, of);
    if (extents.empty()) return {};
    const int64_t rows = extents[0], columns = extents[1];
    // The chip has the channels of a pixel side by side.
    at::Tensor out =
        at::empty({input.size(0), weight.size(0), rows, columns}, input.options(), at::MemoryFormat::ChannelsLast);
    const Windows shape = {of.stride[0],   of.stride[1],   of.padding[0], of.padding[1],
                           of.dilation[0], of.dilation[1], rows,          columns};
    if (!crossbar_convolution(out, input, weight, bias, shape)) return {};
    return out.contiguous(usual_order(input, weight));
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias_or_none,
                       c10::SymIntArrayRef stride, c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                       bool transposed, c10::SymIntArrayRef output_padding, c10::SymInt groups) {
    const at::Tensor bias = bias_or_none.value_or(at::Tensor());
    for (const at::Tensor* other : {&weight, &bias}) {
        TORCH_CHECK(!other->defined() || other->device() == input.device(), "convolution: the input is on ",
                    input.device(), " and the ", other == &weight ? "weight" : "bias", " on ", other->device(),
                    "; move one with .to()");
    }
    const DeviceScope scope(input.device());
    const Geometry of = geometry(stride, padding, dilation, transposed, output_padding, groups);
    if (at::Tensor out = on_crossbars(input, weight, bias, of); out.defined()) return out;
    if (at::Tensor out = digital_convolution(input, weight, bias, of); out.defined()) return out;
    const auto start = begin_fallback("aten::convolution_overrideable", input.device().index());
    const at::Tensor result = at::convolution(cpu_alias(input), cpu_alias(weight), cpu_alias(bias), of.stride,
                                              of.padding, of.dilation, of.transposed, of.output_padding, of.groups);
    return end_fallback(start, result);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight, c10::SymIntArrayRef stride,
    c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool transposed, c10::SymIntArrayRef output_padding,
    c10::SymInt groups, std::array<bool, 3> wanted) {
    const DeviceScope scope(input.device());
    const Geometry of = geometry(stride, padding, dilation, transposed, output_padding, groups);
    auto result = digital_convolution_backward(grad, input, weight, of, wanted);
    if (std::get<0>(result).defined() || std::get<1>(result).defined() || std::get<2>(result).defined()) return result;
    const auto start = begin_fallback("aten::convolution_backward_overrideable", input.device().index());
    const int64_t outputs = grad.size(1);
    const auto [in, kernel, bias] = at::convolution_backward(
        cpu_alias(grad), cpu_alias(input), cpu_alias(weight), at::OptionalIntArrayRef(outputs), of.stride, of.padding,
        of.dilation, of.transposed, of.output_padding, of.groups, wanted);
    return {end_fallback(start, in), end_fallback(start, kernel), end_fallback(start, bias)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("convolution_overrideable", convolution);
    m.impl("convolution_backward_overrideable", convolution_backward);
}

}  // namespace

std::vector<int64_t> result_extents(const at::Tensor& input, const at::Tensor& weight, const Geometry& of) {
    std::vector<int64_t> extents;
    for (size_t d = 0; d < of.stride.size(); ++d) {
        const auto dim = static_cast<int64_t>(d) + 2;
        const int64_t size = input.size(dim), edge = 2 * of.padding[d], reach = of.dilation[d] * (weight.size(dim) - 1);
        if (of.stride[d] < 1 || of.dilation[d] < 1 || of.padding[d] < 0) return {};
        if (of.transposed && of.output_padding[d] >= std::max(of.stride[d], of.dilation[d])) return {};
        extents.push_back(of.transposed ? (size - 1) * of.stride[d] - edge + reach + of.output_padding[d] + 1
                                        : (size + edge - reach - 1) / of.stride[d] + 1);
        if (extents.back() < 1) return {};
    }
    return extents;
}

at::MemoryFormat usual_order(const at::Tensor& input, const at::Tensor& weight) {
    const at::MemoryFormat format = input.suggest_memory_format();
    return format == at::MemoryFormat::Contiguous ? weight.suggest_memory_format() : format;
}

}  // namespace sidra::pytorch
