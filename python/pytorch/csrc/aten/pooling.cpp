// SPDX-License-Identifier: MIT
// Pooling of images, and its gradients. The chip has the channels of a pixel side by side, so images of another layout
// are copied.
#include <ATen/native/Pool.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <algorithm>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/fallback.h"
#include "aten/indexing.h"
#include "profiler/profile.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

struct Window {
    int64_t kernel[2], stride[2], padding[2], dilation[2];
};

// The value for a dimension of a list that may have one value for both.
int64_t pick(at::IntArrayRef values, size_t dim, int64_t otherwise) {
    return values.empty() ? otherwise : values[values.size() == 1 ? 0 : dim];
}
Window window(at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation) {
    Window made{};
    for (size_t d = 0; d < 2; ++d) {
        made.kernel[d] = pick(kernel, d, 1);
        made.stride[d] = pick(stride, d, made.kernel[d]);
        made.padding[d] = pick(padding, d, 0);
        made.dilation[d] = pick(dilation, d, 1);
    }
    return made;
}

std::vector<int64_t> pooled_shape(const at::Tensor& self, const Window& of, bool ceil_mode) {
    std::vector<int64_t> shape = self.sizes().vec();
    for (size_t d = 0; d < 2; ++d) {
        int64_t& extent = shape[shape.size() - 2 + d];
        extent = at::native::pooling_output_shape(extent, of.kernel[d], of.padding[d], of.stride[d], of.dilation[d],
                                                  ceil_mode);
    }
    return shape;
}

// Of images x channels x height x width, or one image without the first dimension. False: the chip does not take the
// type or shape, or `out` is the caller's and has another one than the result.
bool pool(const at::Tensor& self, const Window& of, bool ceil_mode, sidra_pool_operation op, const at::Tensor& out) {
    if (!is_sidra(self) || !is_sidra(out) || self.numel() == 0 || out.numel() == 0 || !type_of(self.scalar_type()) ||
        out.scalar_type() != (op == SIDRA_POOLING_ARGMAX ? at::kLong : self.scalar_type()))
        return false;
    if ((self.dim() != 3 && self.dim() != 4) || out.sizes() != at::IntArrayRef(pooled_shape(self, of, ceil_mode)))
        return false;
    const at::Tensor images = self.dim() == 3 ? self.unsqueeze(0) : self, to = out.dim() == 3 ? out.unsqueeze(0) : out;
    const at::Tensor in = images.contiguous(at::MemoryFormat::ChannelsLast);
    const at::ScalarType type = op == SIDRA_POOLING_ARGMAX ? at::kInt : out.scalar_type();
    const at::Tensor pixels = at::empty(to.sizes(), out.options().dtype(type), at::MemoryFormat::ChannelsLast);
    const auto number = [](int64_t value) { return static_cast<uint32_t>(value); };
    auto call = SIDRA_INIT(sidra_pool);
    call.op = op;
    call.windows.at = place_of(in);
    call.windows.type = *type_of(self.scalar_type());
    call.windows.images = number(in.size(0));
    call.windows.rows = number(to.size(2));
    call.windows.columns = number(to.size(3));
    call.windows.height = number(in.size(2));
    call.windows.width = number(in.size(3));
    call.windows.channels = number(in.size(1));
    call.windows.kernel_h = number(of.kernel[0]);
    call.windows.kernel_w = number(of.kernel[1]);
    call.windows.stride_h = number(of.stride[0]);
    call.windows.stride_w = number(of.stride[1]);
    call.windows.pad_h = number(of.padding[0]);
    call.windows.pad_w = number(of.padding[1]);
    call.windows.dilation_h = number(of.dilation[0]);
    call.windows.dilation_w = number(of.dilation[1]);
    call.out = place_of(pixels);
    if (!queued(sidra_pool_async(OnStream(self.device().index(), "sidra::pool"), &call))) return false;
    to.copy_(pixels);
    return true;
}

std::tuple<at::Tensor&, at::Tensor&> max_pool_out(const at::Tensor& self, at::IntArrayRef kernel,
                                                  at::IntArrayRef stride, at::IntArrayRef padding,
                                                  at::IntArrayRef dilation, bool ceil_mode, at::Tensor& out,
                                                  at::Tensor& places) {
    const DeviceScope scope(self.device());
    const Window of = window(kernel, stride, padding, dilation);
    if (pool(self, of, ceil_mode, SIDRA_POOLING_MAX, out) && pool(self, of, ceil_mode, SIDRA_POOLING_ARGMAX, places))
        return {out, places};
    return SIDRA_FALL_BACK2(max_pool2d_with_indices, out)(self, kernel, stride, padding, dilation, ceil_mode, out,
                                                          places);
}

at::Tensor& average_pool_out(const at::Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride,
                             at::IntArrayRef padding, bool ceil_mode, bool count_padding,
                             std::optional<int64_t> divisor, at::Tensor& out) {
    const DeviceScope scope(self.device());
    // A window that ceil_mode adds reaches beyond the padding, and has a divisor of its own.
    const bool takes = is_float(self.scalar_type()) && !ceil_mode;
    const sidra_pool_operation op =
        count_padding || divisor.has_value() ? SIDRA_POOLING_AVERAGE_ALL : SIDRA_POOLING_AVERAGE;
    const Window of = window(kernel, stride, padding, {});
    if (takes && pool(self, of, false, op, out)) {
        if (divisor.has_value()) {
            const auto elements = static_cast<double>(of.kernel[0] * of.kernel[1]);
            out.mul_(elements / static_cast<double>(*divisor));
        }
        return out;
    }
    return SIDRA_FALL_BACK2(avg_pool2d, out)(self, kernel, stride, padding, ceil_mode, count_padding, divisor, out);
}

// Windows of equal size.
at::Tensor adaptive_average_pool(const at::Tensor& self, c10::SymIntArrayRef size) {
    const DeviceScope scope(self.device());
    const at::IntArrayRef wanted = C10_AS_INTARRAYREF_SLOW(size);
    if ((self.dim() == 3 || self.dim() == 4) && wanted.size() == 2 && is_float(self.scalar_type())) {
        const int64_t height = self.size(-2), width = self.size(-1);
        if (wanted[0] > 0 && wanted[1] > 0 && height % wanted[0] == 0 && width % wanted[1] == 0) {
            std::vector<int64_t> shape = self.sizes().vec();
            shape[shape.size() - 2] = wanted[0];
            shape[shape.size() - 1] = wanted[1];
            const at::Tensor out = at::empty(shape, self.options(), self.suggest_memory_format());
            const int64_t kernel[] = {height / wanted[0], width / wanted[1]};
            if (pool(self, window(kernel, {}, {}, {}), false, SIDRA_POOLING_AVERAGE, out)) return out;
        }
    }
    return SIDRA_FALL_BACK_SYMINT(_adaptive_avg_pool2d)(self, size);
}

void fit_result(const at::Tensor& out, const at::Tensor& self) {
    if (out.sizes() != self.sizes()) out.resize_(self.sizes(), self.suggest_memory_format());
}

// Each element of the gradient goes to the place of its maximum. Indices count within a plane.
at::Tensor& max_pool_backward_out(const at::Tensor& grad, const at::Tensor& self, at::IntArrayRef kernel,
                                  at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                                  bool ceil_mode, const at::Tensor& places, at::Tensor& out) {
    const DeviceScope scope(self.device());
    const bool here = is_sidra(grad) && is_sidra(self) && is_sidra(places) && is_sidra(out);
    if (here && grad.scalar_type() == at::kFloat && out.scalar_type() == at::kFloat && grad.numel() > 0 &&
        places.sizes() == grad.sizes() && self.dim() >= 3) {
        const int64_t plane = self.size(-1) * self.size(-2), planes = self.numel() / plane;
        const at::Tensor sums = at::zeros(self.sizes(), self.options());
        const at::Tensor first = at::arange(0, planes * plane, plane, places.options()).view({planes, 1});
        at::Tensor from = grad.contiguous(), place = places.contiguous().view({planes, -1});
        if (std::ranges::any_of(dilation, [](int64_t d) { return d != 1; })) {
            // A window that lies in the padding has no maximum, and a place behind the plane.
            const at::Tensor there = place.lt(plane).logical_and(place.ge(0));
            place = place.mul(there);
            from = from.mul(there.view(from.sizes()));
        }
        const at::Tensor index = place.add(first);
        if (add_rows(sums.view({-1, 1}), index, from)) {
            fit_result(out, self);
            return out.copy_(sums);
        }
    }
    return SIDRA_FALL_BACK2(max_pool2d_with_indices_backward, grad_input)(grad, self, kernel, stride, padding, dilation,
                                                                          ceil_mode, places, out);
}

// The gradient of averages of `count` elements each. Windows that meet nothing but each other are copied into; others
// are a transposed convolution of each channel with ones.
at::Tensor spread_averages(const at::Tensor& grad, at::IntArrayRef shape, const Window& of, double count) {
    const at::Tensor each = grad.to(at::kFloat).div(count);
    const int64_t rows = grad.size(-2), columns = grad.size(-1), height = shape[shape.size() - 2], width = shape.back();
    const auto meets = [&](size_t d) { return of.stride[d] == of.kernel[d] && of.padding[d] == 0; };
    if (meets(0) && meets(1)) {
        const int64_t planes = grad.numel() / (rows * columns), covered = columns * of.kernel[1];
        const at::Tensor out = at::zeros(shape, grad.options());
        const at::Tensor wide = at::empty({planes, rows, columns, of.kernel[1]}, each.options());
        wide.copy_(each.reshape({planes, rows, columns, 1}).expand(wide.sizes()));
        const at::Tensor part =
            out.view({planes, height, width}).narrow(1, 0, rows * of.kernel[0]).narrow(2, 0, covered);
        part.unflatten(1, {rows, of.kernel[0]})
            .copy_(wide.view({planes, rows, 1, covered}).expand({planes, rows, of.kernel[0], covered}));
        return out;
    }
    const int64_t channels = grad.size(-3);
    const at::Tensor kernel = at::ones({channels, 1, of.kernel[0], of.kernel[1]}, each.options());
    const int64_t rest[] = {height - ((rows - 1) * of.stride[0] - 2 * of.padding[0] + of.kernel[0]),
                            width - ((columns - 1) * of.stride[1] - 2 * of.padding[1] + of.kernel[1])};
    const at::Tensor images = grad.dim() == 3 ? each.unsqueeze(0) : each;
    return at::convolution(images, kernel, {}, of.stride, of.padding, {1, 1}, true, rest, channels).view(shape);
}

at::Tensor& average_pool_backward_out(const at::Tensor& grad, const at::Tensor& self, at::IntArrayRef kernel,
                                      at::IntArrayRef stride, at::IntArrayRef padding, bool ceil_mode,
                                      bool count_padding, std::optional<int64_t> divisor, at::Tensor& out) {
    const DeviceScope scope(self.device());
    const Window of = window(kernel, stride, padding, {});
    const bool padded = of.padding[0] != 0 || of.padding[1] != 0;
    const bool one_divisor = divisor.has_value() || count_padding || !padded;
    if (is_sidra(grad) && is_sidra(out) && is_float(grad.scalar_type()) && grad.numel() > 0 && !ceil_mode &&
        one_divisor) {
        const auto count = static_cast<double>(divisor.value_or(of.kernel[0] * of.kernel[1]));
        fit_result(out, self);
        return out.copy_(spread_averages(grad, self.sizes(), of, count));
    }
    return SIDRA_FALL_BACK2(avg_pool2d_backward, grad_input)(grad, self, kernel, stride, padding, ceil_mode,
                                                             count_padding, divisor, out);
}

at::Tensor adaptive_average_pool_backward(const at::Tensor& grad, const at::Tensor& self) {
    const DeviceScope scope(self.device());
    if (is_sidra(grad) && is_float(grad.scalar_type()) && grad.numel() > 0 && self.size(-2) % grad.size(-2) == 0 &&
        self.size(-1) % grad.size(-1) == 0) {
        const int64_t kernel[] = {self.size(-2) / grad.size(-2), self.size(-1) / grad.size(-1)};
        return spread_averages(grad, self.sizes(), window(kernel, {}, {}, {}),
                               static_cast<double>(kernel[0] * kernel[1]))
            .contiguous(self.suggest_memory_format());
    }
    return SIDRA_FALL_BACK(_adaptive_avg_pool2d_backward)(grad, self);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("max_pool2d_with_indices.out", max_pool_out);
    m.impl("avg_pool2d.out", average_pool_out);
    m.impl("_adaptive_avg_pool2d", adaptive_average_pool);
    m.impl("max_pool2d_with_indices_backward.grad_input", max_pool_backward_out);
    m.impl("avg_pool2d_backward.grad_input", average_pool_backward_out);
    m.impl("_adaptive_avg_pool2d_backward", adaptive_average_pool_backward);
}

}  // namespace
}  // namespace sidra::pytorch
