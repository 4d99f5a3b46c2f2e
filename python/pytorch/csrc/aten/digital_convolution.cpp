// SPDX-License-Identifier: MIT
#include "aten/digital_convolution.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "aten/arrays.h"
#include "aten/matmul.h"
#include "residency/residency.h"

namespace sidra::pytorch {
namespace {

// Each channel by itself, so that the matrices are numbers.
bool is_depthwise(const at::Tensor& weight, const Geometry& of) {
    return of.groups > 1 && weight.size(0) == of.groups && weight.size(1) == 1;
}

// All arrays have the channels last. A convolution goes from an image, of which the padding is a part, to its windows;
// a transposed one, and the gradient of an image, from the windows to the image. For each position in the kernel, a
// tap, there is a view of the image: the element that each window has there. The sums of all taps are
//   windows += view x matrix^T,  view += windows x matrix,  gradient of matrix += windows^T x view,
// where the matrix [channels of windows][channels of the image] is the kernel at this position.
class Taps {
   public:
    // shape: of the image without padding, as [images][channels][...]; windows: as many in each dimension.
    // overlap: whether the views of taps may share elements, as they may where nobody writes to them.
    Taps(at::IntArrayRef shape, at::IntArrayRef windows, const at::Tensor& weight, const Geometry& of, bool overlap)
        : of_(of),
          dims_(shape.size() - 2),
          channels_(shape[1]),
          outputs_(weight.size(0)),
          windows_(windows.vec()),
          depthwise_(is_depthwise(weight, of)) {
        padded_ = {shape[0]};
        kernel_ = weight.sizes().slice(2).vec();
        for (size_t d = 0; d < dims_; ++d) padded_.push_back(shape[d + 2] + 2 * of.padding[d]);
        padded_.push_back(channels_);
        // Elements side by side: the taps of a row of the kernel are one.
        const size_t last = dims_ - 1;
        joined_ = of.groups == 1 && of.dilation[last] == 1 && (overlap || of.stride[last] >= kernel_[last]);
        width_ = channels_ / of.groups * (joined_ ? kernel_[last] : 1);
        if (joined_) kernel_[last] = 1;
        for (const int64_t extent : kernel_) count_ *= extent;
    }

    int64_t count() const { return count_; }
    int64_t groups() const { return of_.groups; }
    bool depthwise() const { return depthwise_; }

    // An image with its padding around it.
    at::Tensor pad(const at::Tensor& image) const {
        const at::Tensor in = image.movedim(1, -1);
        const bool plain = std::all_of(of_.padding.begin(), of_.padding.end(), [](int64_t p) { return p == 0; });
        if (plain) return in.to(at::kFloat).contiguous();
        at::Tensor out = at::zeros(padded_, image.options().dtype(at::kFloat));
        crop(out).copy_(in);
        return out;
    }
    at::Tensor crop(at::Tensor image) const {
        for (size_t d = 0; d < dims_; ++d) {
            const auto dim = static_cast<int64_t>(d) + 1;
            image = image.narrow(dim, of_.padding[d], padded_[d + 1] - 2 * of_.padding[d]);
        }
        return image;
    }
    at::Tensor make_image(const at::TensorOptions& options, const at::Tensor& bias) const {
        at::Tensor out = at::zeros(padded_, options.dtype(at::kFloat));
        if (bias.defined()) out.copy_(bias.expand(padded_));
        return out;
    }
    at::Tensor make_windows(const at::TensorOptions& options) const {
        std::vector<int64_t> sizes = {padded_[0]};
        sizes.insert(sizes.end(), windows_.begin(), windows_.end());
        sizes.push_back(outputs_);
        return at::empty(sizes, options.dtype(at::kFloat));
    }

    // The kernel as [taps][channels of windows][width], and back.
    at::Tensor matrices(const at::Tensor& weight) const {
        return in_order(weight).to(at::kFloat).contiguous().view({count_, outputs_, width_});
    }
    at::Tensor make_matrices(const at::TensorOptions& options) const {
        return at::empty({count_, outputs_, width_}, options.dtype(at::kFloat));
    }
    void place(const at::Tensor& matrices, const at::Tensor& weight) const {
        const at::Tensor ordered = in_order(weight);
        ordered.copy_(matrices.view(ordered.sizes()));
    }

    // Of one group; of all channels, if the convolution is depthwise.
    at::Tensor view(const at::Tensor& image, int64_t tap, int64_t group) const {
        std::vector<int64_t> sizes = {padded_[0]}, strides = {image.stride(0)};
        int64_t offset = image.storage_offset() + group * width_;
        for (size_t d = dims_; d-- > 0;) {
            const int64_t step = image.stride(static_cast<int64_t>(d) + 1);
            offset += tap % kernel_[d] * of_.dilation[d] * step;
            tap /= kernel_[d];
            sizes.insert(sizes.begin() + 1, windows_[d]);
            strides.insert(strides.begin() + 1, of_.stride[d] * step);
        }
        sizes.push_back(depthwise() ? channels_ : width_);
        strides.push_back(1);
        return image.as_strided(sizes, strides, offset);
    }
    at::Tensor of_group(const at::Tensor& tensor, int64_t dim, int64_t group) const {
        if (of_.groups == 1) return tensor;
        const int64_t part = outputs_ / of_.groups;
        return tensor.narrow(dim, group * part, part);
    }

   private:
    at::Tensor in_order(const at::Tensor& weight) const {
        std::vector<int64_t> order;
        for (size_t d = 0; d < dims_; ++d) order.push_back(static_cast<int64_t>(d) + 2);
        order.insert(joined_ ? order.end() - 1 : order.end(), 0);
        order.push_back(1);
        return weight.permute(order);
    }

    const Geometry& of_;
    size_t dims_;
    int64_t channels_, outputs_, width_ = 0, count_ = 1;
    std::vector<int64_t> padded_, kernel_, windows_;
    bool depthwise_, joined_ = false;
};

// out = rows of a x b + addend, where the addend is a vector for all rows, or out itself.
bool add_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b, const at::Tensor& addend) {
    const bool itself = addend.is_same(out);
    if (out.is_contiguous() && a.is_contiguous()) {
        const at::Tensor rows = out.view({-1, out.size(-1)});
        return digital_product(rows, a.view({-1, a.size(-1)}), b, itself ? rows : addend);
    }
    if (out.dim() <= 4) return digital_product(out, a, b, addend);
    for (int64_t i = 0; i < out.size(0); ++i) {
        const at::Tensor part = out.select(0, i);
        if (!add_product(part, a.select(0, i), b, itself ? part : addend)) return false;
    }
    return true;
}

// The sums of the taps. False: the chip does not take it.
bool to_windows(const Taps& taps, const at::Tensor& image, const at::Tensor& weight, const at::Tensor& bias,
                const at::Tensor& windows) {
    const at::Tensor matrices = taps.matrices(weight);
    if (taps.depthwise()) {
        if (bias.defined()) windows.copy_(bias.expand(windows.sizes()));
        else windows.zero_();
        for (int64_t tap = 0; tap < taps.count(); ++tap)
            windows.addcmul_(taps.view(image, tap, 0), matrices[tap].squeeze(-1));
        return true;
    }
    for (int64_t group = 0; group < taps.groups(); ++group) {
        const at::Tensor out = taps.of_group(windows, -1, group);
        const at::Tensor first = bias.defined() ? taps.of_group(bias, 0, group) : bias;
        for (int64_t tap = 0; tap < taps.count(); ++tap) {
            const at::Tensor matrix = taps.of_group(matrices[tap], 0, group).t();
            if (!add_product(out, taps.view(image, tap, group), matrix, tap == 0 ? first : out)) return false;
        }
    }
    return true;
}

bool to_image(const Taps& taps, const at::Tensor& windows, const at::Tensor& weight, const at::Tensor& image) {
    const at::Tensor matrices = taps.matrices(weight);
    if (taps.depthwise()) {
        for (int64_t tap = 0; tap < taps.count(); ++tap)
            taps.view(image, tap, 0).addcmul_(windows, matrices[tap].squeeze(-1));
        return true;
    }
    for (int64_t group = 0; group < taps.groups(); ++group)
        for (int64_t tap = 0; tap < taps.count(); ++tap) {
            const at::Tensor out = taps.view(image, tap, group);
            const at::Tensor matrix = taps.of_group(matrices[tap], 0, group);
            if (!add_product(out, taps.of_group(windows, -1, group), matrix, out)) return false;
        }
    return true;
}

// out = a^T x b, by parts of the rows, which the chip's threads divide among them.
bool sum_of_products(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
    constexpr int64_t kPart = 1024;
    const int64_t whole = a.size(0) / kPart, rest = a.size(0) % kPart;
    if (whole == 0) return digital_product(out, a.t(), b, {});
    const at::Tensor parts = at::empty({whole + (rest != 0), out.size(0), out.size(1)}, out.options());
    const auto first = [&](const at::Tensor& of) {
        return of.narrow(0, 0, whole * kPart).unflatten(0, {whole, kPart});
    };
    const auto last = [&](const at::Tensor& of) { return of.narrow(0, whole * kPart, rest); };
    if (!digital_product(parts.narrow(0, 0, whole), first(a).transpose(1, 2), first(b), {})) return false;
    if (rest != 0 && !digital_product(parts[whole], last(a).t(), last(b), {})) return false;
    out.copy_(parts.sum(0));
    return true;
}

bool to_weight(const Taps& taps, const at::Tensor& image, const at::Tensor& windows, const at::Tensor& weight) {
    const at::Tensor matrices = taps.make_matrices(weight.options());
    const at::Tensor rows = windows.reshape({-1, windows.size(-1)});
    if (taps.depthwise()) {
        for (int64_t tap = 0; tap < taps.count(); ++tap) {
            const at::Tensor products = taps.view(image, tap, 0).mul(windows).view({-1, windows.size(-1)});
            matrices[tap].squeeze(-1).copy_(products.sum(0));
        }
        taps.place(matrices, weight);
        return true;
    }
    for (int64_t group = 0; group < taps.groups(); ++group)
        for (int64_t tap = 0; tap < taps.count(); ++tap) {
            const at::Tensor out = taps.of_group(matrices[tap], 0, group);
            const at::Tensor view = taps.view(image, tap, group);
            const at::Tensor factor = view.contiguous().view({-1, view.size(-1)});
            if (!sum_of_products(out, taps.of_group(rows, 1, group), factor)) return false;
        }
    taps.place(matrices, weight);
    return true;
}

bool takes(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias, const Geometry& of) {
    const at::ScalarType type = input.scalar_type();
    // A vector program has four dimensions: images, two of the image, channels.
    if (is_depthwise(weight, of) && input.dim() > 4) return false;
    return matmul_mode() != MatmulMode::kCpu && is_float(type) && weight.scalar_type() == type &&
           (!bias.defined() || bias.scalar_type() == type) && input.dim() >= 3 && input.dim() <= 5 &&
           input.dim() == weight.dim() && input.numel() > 0 && weight.numel() > 0;
}

at::Tensor in_f32(const at::Tensor& bias) { return bias.defined() ? bias.to(at::kFloat) : bias; }

// The array with the channels in their place.
at::Tensor result_of(const at::Tensor& channels_last, const at::Tensor& input, const at::Tensor& weight) {
    return channels_last.movedim(-1, 1).to(input.scalar_type()).contiguous(usual_order(input, weight));
}

}  // namespace

at::Tensor digital_convolution(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                               const Geometry& of) {
    if (!takes(input, weight, bias, of)) return {};
    const std::vector<int64_t> extents = result_extents(input, weight, of);
    if (extents.empty()) return {};
    if (!of.transposed) {
        const Taps taps(input.sizes(), extents, weight, of, true);
        const at::Tensor windows = taps.make_windows(input.options());
        if (!to_windows(taps, taps.pad(input), weight, in_f32(bias), windows)) return {};
        return result_of(windows, input, weight);
    }
    std::vector<int64_t> shape = {input.size(0), weight.size(1) * of.groups};
    shape.insert(shape.end(), extents.begin(), extents.end());
    const Taps taps(shape, input.sizes().slice(2), weight, of, false);
    const at::Tensor image = taps.make_image(input.options(), in_f32(bias));
    const at::Tensor windows = input.movedim(1, -1).to(at::kFloat).contiguous();
    if (!to_image(taps, windows, weight, image)) return {};
    return result_of(taps.crop(image), input, weight);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> digital_convolution_backward(const at::Tensor& grad,
                                                                            const at::Tensor& input,
                                                                            const at::Tensor& weight,
                                                                            const Geometry& of,
                                                                            std::array<bool, 3> wanted) {
    if (!takes(input, weight, {}, of) || grad.scalar_type() != input.scalar_type() || grad.numel() == 0) return {};
    std::vector<int64_t> shape = {input.size(0), of.transposed ? weight.size(1) * of.groups : weight.size(0)};
    const std::vector<int64_t> results = result_extents(input, weight, of);
    shape.insert(shape.end(), results.begin(), results.end());
    if (grad.sizes() != at::IntArrayRef(shape)) return {};
    const at::Tensor &image = of.transposed ? grad : input, &windows = of.transposed ? input : grad;
    const at::Tensor rows = windows.movedim(1, -1).to(at::kFloat).contiguous();
    const at::IntArrayRef extents = windows.sizes().slice(2);
    const Taps reading(image.sizes(), extents, weight, of, true);
    at::Tensor padded, in, kernel, bias;
    if (of.transposed || wanted[1]) padded = reading.pad(image);
    if (wanted[0] && of.transposed) {
        const at::Tensor out = reading.make_windows(input.options());
        if (!to_windows(reading, padded, weight, {}, out)) return {};
        in = result_of(out, input, weight);
    } else if (wanted[0]) {
        const Taps writing(image.sizes(), extents, weight, of, false);
        const at::Tensor out = writing.make_image(input.options(), {});
        if (!to_image(writing, rows, weight, out)) return {};
        in = result_of(writing.crop(out), input, weight);
    }
    if (wanted[1]) {
        kernel = at::empty(weight.sizes(), weight.options(), usual_order(input, weight));
        if (!to_weight(reading, padded, rows, kernel)) return {};
    }
    if (wanted[2]) bias = grad.movedim(1, -1).reshape({-1, grad.size(1)}).sum(0);
    return {in, kernel, bias};
}

}  // namespace sidra::pytorch
