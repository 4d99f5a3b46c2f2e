// SPDX-License-Identifier: MIT
// Convolutions and pooling.
#include "windows.h"

#include "common.h"
#include "sidra_cmd.h"

namespace sidra::compiler {

using xnn::Pooling;
using xnn::Reduction;

namespace {

// Numbers of a node for each dimension of its windows, with a height for those that have only a width.
Shape in_two(llvm::ArrayRef<int64_t> numbers, int64_t rank, int64_t otherwise, std::string_view what) {
    Shape two(numbers);
    if (two.empty()) two.assign(static_cast<size_t>(rank - 2), otherwise);
    if (static_cast<int64_t>(two.size()) != rank - 2)
        refuse("{} has {} numbers for {} dimensions", what, two.size(), rank - 2);
    if (two.size() == 1) two.insert(two.begin(), otherwise);
    return two;
}

void require_images(int64_t rank) {
    if (rank < 3) refuse("images have at least three dimensions, but the input has {}", rank);
    if (rank > 4) refuse("windows of {} dimensions are not supported, only of one and two", rank - 2);
}

void require_small(llvm::ArrayRef<int64_t> numbers, std::string_view what, int64_t least) {
    for (const int64_t number : numbers)
        if (number < least || number > INT32_MAX) refuse("{} is {}", what, number);
}

int64_t reach_of(const Windows& w, unsigned d) { return (w.kernel[d] - 1) * w.dilation[d] + 1; }

// One more window where pixels are left over, as long as it begins inside of the image or before it.
void round_up(Windows& w, llvm::ArrayRef<int64_t> images) {
    for (unsigned d = 0; d < 2; d++) {
        const int64_t size = images[d + 1], padded = size + w.before[d] + w.after[d], reach = reach_of(w, d);
        if (padded < reach) continue;
        const int64_t count = (padded - reach + w.stride[d] - 1) / w.stride[d] + 1;
        const int64_t last = (count - 1) * w.stride[d];
        if (last < size + w.before[d]) w.after[d] += std::max<int64_t>(last + reach - padded, 0);
    }
}

// The windows as the node's attributes say them, without auto_pad.
Windows attributes_of(Node& n, int64_t rank, llvm::ArrayRef<int64_t> kernel) {
    require_images(rank);
    Windows w;
    w.kernel = Shape(kernel);
    if (n.has("kernel_shape") || kernel.empty()) {
        if (!n.has("kernel_shape")) refuse("the attribute kernel_shape is missing");
        w.kernel = in_two(n.integers("kernel_shape"), rank, 1, "kernel_shape");
        if (!kernel.empty() && w.kernel != Shape(kernel)) refuse("kernel_shape is not the size of the filters");
    }
    w.stride = in_two(n.integers("strides"), rank, 1, "strides");
    w.dilation = in_two(n.integers("dilations"), rank, 1, "dilations");
    require_small(w.kernel, "a size of the kernel", 1);
    require_small(w.stride, "a stride", 1);
    require_small(w.dilation, "a dilation", 1);
    const Shape pads = n.integers("pads");
    if (!pads.empty() && pads.size() != 2 * static_cast<size_t>(rank - 2))
        refuse("pads has {} numbers for {} dimensions", pads.size(), rank - 2);
    require_small(pads, "a number of pads", 0);
    const auto all = llvm::ArrayRef(pads);
    w.before = in_two(all.take_front(pads.size() / 2), rank, 0, "pads");
    w.after = in_two(all.drop_front(pads.size() / 2), rank, 0, "pads");
    return w;
}

}  // namespace

Value images_of(Build& b, Value input) {
    const Shape shape = Build::shape_of(input);
    require_images(static_cast<int64_t>(shape.size()));
    if (shape.size() == 4) return b.transpose(input, {0, 2, 3, 1});
    return b.reshape(b.transpose(input, {0, 2, 1}), {shape[0], 1, shape[2], shape[1]});
}

Value from_images(Build& b, Value images, int64_t rank) {
    if (rank == 4) return b.transpose(images, {0, 3, 1, 2});
    const Shape shape = Build::shape_of(images);
    return b.transpose(b.reshape(images, {shape[0], shape[2], shape[3]}), {0, 2, 1});
}

Value filters_of(Build& b, Value weights) {
    const Shape shape = Build::shape_of(weights);
    require_images(static_cast<int64_t>(shape.size()));
    if (shape.size() == 4) return b.transpose(weights, {2, 3, 1, 0});
    return b.reshape(b.transpose(weights, {2, 1, 0}), {1, shape[2], shape[1], shape[0]});
}

Windows windows_of(Node& n, llvm::ArrayRef<int64_t> images, int64_t rank, llvm::ArrayRef<int64_t> kernel) {
    Windows w = attributes_of(n, rank, kernel);
    const std::string padding = n.text("auto_pad", "NOTSET");
    if (padding == "NOTSET") return w;
    if (padding != "VALID" && padding != "SAME_UPPER" && padding != "SAME_LOWER")
        refuse("auto_pad is {}", in_quotes(padding));
    for (unsigned d = 0; d < 2; d++) {
        const int64_t count = (images[d + 1] + w.stride[d] - 1) / w.stride[d];
        const int64_t reach = (count - 1) * w.stride[d] + reach_of(w, d);
        const int64_t sum = padding == "VALID" ? 0 : std::max<int64_t>(reach - images[d + 1], 0);
        w.before[d] = padding == "SAME_LOWER" ? sum - sum / 2 : sum / 2;
        w.after[d] = sum - w.before[d];
    }
    return w;
}

namespace {

Value with_bias(Node& n, Value images) {
    const Value bias = n.optional(2);
    if (bias && Build::rank_of(bias) != 1) refuse("the bias must be a vector");
    return bias ? n.b.add(images, bias) : images;
}

Values conv(Node& n) {
    Build& b = n.b;
    const int64_t rank = Build::rank_of(n[0]);
    const Value images = images_of(b, n[0]), filters = filters_of(b, n[1]);
    if (Build::rank_of(n[1]) != rank)
        refuse("the filters have {} dimensions, the input {}", Build::rank_of(n[1]), rank);
    if (!Build::is_float(images)) refuse("convolutions of integers are ConvInteger and QLinearConv");
    const Shape sizes = Build::shape_of(filters);
    const Windows w = windows_of(n, Build::shape_of(images), rank, {sizes[0], sizes[1]});
    return {from_images(b, with_bias(n, b.conv(images, filters, w.in(b), n.integer("group", 1))), rank)};
}

// A convolution of the images with zeros between their pixels, with the filters turned round.
Values conv_transpose(Node& n) {
    Build& b = n.b;
    const int64_t rank = Build::rank_of(n[0]), groups = n.integer("group", 1);
    Value images = images_of(b, n[0]);
    const Shape from = Build::shape_of(images);
    if (Build::rank_of(n[1]) != rank)
        refuse("the filters have {} dimensions, the input {}", Build::rank_of(n[1]), rank);
    // C x M of a group x H x W, as H x W x M x C.
    const Value weights = filters_of(b, n[1]);
    const Shape sizes = Build::shape_of(weights);
    const int64_t channels = sizes[3], each = sizes[2];
    if (groups < 1 || channels % groups != 0) refuse("{} groups do not divide {} channels", groups, channels);
    const Value grouped = b.reshape(weights, {sizes[0], sizes[1], each, groups, channels / groups});
    const Value filters = b.flip(
        b.flip(b.reshape(b.transpose(grouped, {0, 1, 4, 3, 2}), {sizes[0], sizes[1], channels / groups, groups * each}),
               0),
        1);
    // The padding that the node means is that of its result, so auto_pad is not that of a convolution.
    const std::string padding = n.text("auto_pad", "NOTSET");
    Windows w = attributes_of(n, rank, {sizes[0], sizes[1]});
    const Shape more = in_two(n.integers("output_padding"), rank, 0, "output_padding");
    require_small(more, "output_padding", 0);
    for (unsigned d = 0; d < 2; d++)
        if (from[d + 1] < 1 || from[d + 1] > xnn::kElementsMax / w.stride[d])
            refuse("images of {} pixels cannot have strides of {}", from[d + 1], w.stride[d]);
    Shape wanted = n.integers("output_shape");
    if (static_cast<int64_t>(wanted.size()) == rank) wanted.erase(wanted.begin(), wanted.begin() + 2);
    if (wanted.empty() && (padding == "SAME_UPPER" || padding == "SAME_LOWER"))
        for (unsigned d = static_cast<unsigned>(4 - rank); d < 2; d++) wanted.push_back(from[d + 1] * w.stride[d]);
    if (!wanted.empty()) {
        wanted = in_two(wanted, rank, 1, "output_shape");
        require_small(wanted, "a size of output_shape", 1);
        for (unsigned d = 0; d < 2; d++) {
            const int64_t sum = w.stride[d] * (from[d + 1] - 1) + more[d] + reach_of(w, d) - wanted[d];
            // Less than nothing: the result ends behind what the images reach.
            w.before[d] = sum < 0 ? 0 : padding == "SAME_UPPER" ? sum / 2 : sum - sum / 2;
            w.after[d] = sum - w.before[d];
        }
    }
    // Zeros between the pixels.
    if (w.stride[0] > 1 || w.stride[1] > 1) {
        const Shape apart = {from[0], from[1], 1, from[2], 1, from[3]};
        images = b.pad(b.reshape(images, apart), {0, 0, 0, 0, 0, 0}, {0, 0, w.stride[0] - 1, 0, w.stride[1] - 1, 0});
        images = b.reshape(images, {from[0], from[1] * w.stride[0], from[2] * w.stride[1], from[3]});
        for (unsigned d = 0; d < 2; d++) images = b.narrow(images, d + 1, 0, (from[d + 1] - 1) * w.stride[d] + 1);
    }
    // What the result loses at its edges is padding that the convolution does not have, and if need be pixels.
    Shape before(2), after(2);
    for (unsigned d = 0; d < 2; d++) {
        before[d] = reach_of(w, d) - 1 - w.before[d];
        after[d] = reach_of(w, d) - 1 - w.after[d] + more[d];
        const int64_t size = Build::shape_of(images)[d + 1];
        const int64_t first = std::max<int64_t>(-before[d], 0), last = std::max<int64_t>(-after[d], 0);
        if (first > size || last > size - first) refuse("the padding is larger than the images");
        images = b.narrow(images, d + 1, first, size - first - last);
        before[d] = std::max<int64_t>(before[d], 0);
        after[d] = std::max<int64_t>(after[d], 0);
    }
    const Value result = b.conv(images, filters, b.windows(w.kernel, {1, 1}, before, after, w.dilation), groups);
    return {from_images(b, with_bias(n, result), rank)};
}

// ---- Pooling --------------------------------------------------------------------------------------------------------

// The numbers of pixels in a plane of an image, as numbers of elements in the whole N x C x H x W.
Value in_whole(Build& b, Value pixels, int64_t plane) {
    const Shape shape = Build::shape_of(pixels);
    const Value wide = b.cast(pixels, b.integer(64));
    const auto index = [&](int64_t axis, int64_t size) {
        Shape ones(shape.size(), 1);
        ones[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
        return b.mul(b.cast(b.iota(ones, axis), b.integer(64)), static_cast<double>(size));
    };
    return b.add(b.add(wide, index(0, shape[1] * plane)), index(1, plane));
}

Values max_pool(Node& n) {
    Build& b = n.b;
    const int64_t rank = Build::rank_of(n[0]);
    const Value images = images_of(b, n[0]);
    const Shape shape = Build::shape_of(images);
    Windows w = windows_of(n, shape, rank, {});
    if (n.flag("ceil_mode")) round_up(w, shape);
    n.only("storage_order", 0);
    Values results = {from_images(b, b.pool(Pooling::max, images, w.in(b)), rank)};
    if (n.wants(1))
        results.push_back(
            in_whole(b, from_images(b, b.pool(Pooling::argmax, images, w.in(b)), rank), shape[1] * shape[2]));
    return results;
}

Values average_pool(Node& n) {
    Build& b = n.b;
    const int64_t rank = Build::rank_of(n[0]);
    const Value images = images_of(b, n[0]);
    const Shape shape = Build::shape_of(images);
    Windows w = windows_of(n, shape, rank, {});
    const bool all = n.flag("count_include_pad");
    if (n.flag("ceil_mode")) {
        const Shape after = w.after;
        round_up(w, shape);
        if (all && after != w.after)
            refuse("ceil_mode with count_include_pad is not supported where a window leaves the padding");
    }
    return {from_images(b, b.pool(all ? Pooling::average_all : Pooling::average, images, w.in(b)), rank)};
}

// Over all pixels. Images are one window, so that they need not have their channels first for it; what is too large for
// a window, or has other dimensions, has rows of pixels.
template <Pooling pooling>
Value global(Node& n) {
    Build& b = n.b;
    const int64_t rank = Build::rank_of(n[0]);
    if (rank < 3) refuse("images have at least three dimensions");
    const Shape all = Build::shape_of(n[0]);
    if (rank == 4 && all[1] * all[2] * all[3] <= SIDRA_CMD_POOL_WINDOW_MAX) {
        const Value images = images_of(b, n[0]);
        const Shape shape = Build::shape_of(images);
        return from_images(b, b.pool(pooling, images, b.windows({shape[1], shape[2]}, {1, 1}, {0, 0}, {0, 0}, {1, 1})),
                           rank);
    }
    Shape axes;
    for (int64_t axis = 2; axis < rank; axis++) axes.push_back(axis);
    return along(b, n[0], axes, [&](Value rows) {
        if (pooling == Pooling::max) return b.reduce(Reduction::max, rows);
        return b.mul(b.reduce(Reduction::sum, rows), 1.0 / static_cast<double>(Build::shape_of(rows).back()));
    });
}

constexpr Operator kOperators[] = {
    {"AveragePool", 1, 21, average_pool},
    {"Conv", 1, 21, conv},
    {"ConvTranspose", 1, 21, conv_transpose},
    {"GlobalAveragePool", 1, 21, [](Node& n) -> Values { return {global<Pooling::average>(n)}; }},
    {"GlobalMaxPool", 1, 21, [](Node& n) -> Values { return {global<Pooling::max>(n)}; }},
    {"MaxPool", 1, 21, max_pool},
};

}  // namespace

std::span<const Operator> window_operators() { return kOperators; }

}  // namespace sidra::compiler
