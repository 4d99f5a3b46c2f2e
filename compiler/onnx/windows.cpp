// SPDX-License-Identifier: MIT
// Convolutions and pooling.
#include "windows.h"

#include "common.h"
#include "sidra_cmd.h"

namespace sidra::compiler {

using xnn::Pooling;
using xnn::Reduction;

namespace {

// Numbers of a node for each dimension of its windows.
Shape for_each_dimension(Shape numbers, size_t dimensions, int64_t otherwise, std::string_view what) {
    if (numbers.empty()) numbers.assign(dimensions, otherwise);
    if (numbers.size() != dimensions) refuse("{} has {} numbers for {} dimensions", what, numbers.size(), dimensions);
    return numbers;
}

void require_images(size_t rank) {
    if (rank < 3) refuse("images have at least three dimensions, but the input has {}", rank);
}

void require_small(llvm::ArrayRef<int64_t> numbers, std::string_view what, int64_t least) {
    for (const int64_t number : numbers)
        if (number < least || number > INT32_MAX) refuse("{} is {}", what, number);
}

int64_t reach_of(const Windows& w, size_t d) { return (w.kernel[d] - 1) * w.dilation[d] + 1; }

// One more window where pixels are left over, as long as it begins inside of the image or before it.
void round_up(Windows& w, llvm::ArrayRef<int64_t> images) {
    for (size_t d = 0; d < w.kernel.size(); d++) {
        const int64_t size = images[d + 1], padded = size + w.before[d] + w.after[d], reach = reach_of(w, d);
        if (padded < reach) continue;
        const int64_t count = (padded - reach + w.stride[d] - 1) / w.stride[d] + 1;
        const int64_t last = (count - 1) * w.stride[d];
        if (last < size + w.before[d]) w.after[d] += std::max<int64_t>(last + reach - padded, 0);
    }
}

// The windows as the node's attributes say them, without auto_pad.
Windows attributes_of(Node& n, size_t dimensions, llvm::ArrayRef<int64_t> kernel) {
    Windows w;
    w.kernel = Shape(kernel);
    if (n.has("kernel_shape") || kernel.empty()) {
        if (!n.has("kernel_shape")) refuse("the attribute kernel_shape is missing");
        w.kernel = for_each_dimension(n.integers("kernel_shape"), dimensions, 1, "kernel_shape");
        if (!kernel.empty() && w.kernel != Shape(kernel)) refuse("kernel_shape is not the size of the filters");
    }
    w.stride = for_each_dimension(n.integers("strides"), dimensions, 1, "strides");
    w.dilation = for_each_dimension(n.integers("dilations"), dimensions, 1, "dilations");
    require_small(w.kernel, "a size of the kernel", 1);
    require_small(w.stride, "a stride", 1);
    require_small(w.dilation, "a dilation", 1);
    const Shape pads = for_each_dimension(n.integers("pads"), 2 * dimensions, 0, "pads");
    require_small(pads, "a number of pads", 0);
    w.before = Shape(llvm::ArrayRef(pads).take_front(dimensions));
    w.after = Shape(llvm::ArrayRef(pads).drop_front(dimensions));
    return w;
}

}  // namespace

Value images_of(Build& b, Value input) {
    require_images(static_cast<size_t>(Build::rank_of(input)));
    return b.move_axis(input, 1, -1);
}

Value from_images(Build& b, Value images) { return b.move_axis(images, -1, 1); }

Value filters_of(Build& b, Value weights, Value input) {
    const int64_t rank = Build::rank_of(weights);
    if (rank != Build::rank_of(input))
        refuse("the filters have {} dimensions, the input {}", rank, Build::rank_of(input));
    require_images(static_cast<size_t>(rank));
    return b.move_axis(b.move_axis(weights, 0, -1), 0, -2);
}

Windows windows_of(Node& n, llvm::ArrayRef<int64_t> images, llvm::ArrayRef<int64_t> kernel) {
    const size_t dimensions = images.size() - 2;
    Windows w = attributes_of(n, dimensions, kernel);
    const std::string padding = n.text("auto_pad", "NOTSET");
    if (padding == "NOTSET") return w;
    if (padding != "VALID" && padding != "SAME_UPPER" && padding != "SAME_LOWER")
        refuse("auto_pad is {}", in_quotes(padding));
    for (size_t d = 0; d < dimensions; d++) {
        const int64_t count = (images[d + 1] + w.stride[d] - 1) / w.stride[d];
        const int64_t reach = (count - 1) * w.stride[d] + reach_of(w, d);
        const int64_t sum = padding == "VALID" ? 0 : std::max<int64_t>(reach - images[d + 1], 0);
        w.before[d] = padding == "SAME_LOWER" ? sum - sum / 2 : sum / 2;
        w.after[d] = sum - w.before[d];
    }
    return w;
}

// ---- Windows of other dimensions than two ---------------------------------------------------------------------------

namespace {

// Windows without their first dimension, and with one of height 1 in front.
Windows without_first(const Windows& w) {
    Windows rest = w;
    for (Shape* const list : {&rest.kernel, &rest.stride, &rest.before, &rest.after, &rest.dilation})
        list->erase(list->begin());
    return rest;
}

Windows with_height(Windows w) {
    for (Shape* const list : {&w.kernel, &w.stride, &w.dilation}) list->insert(list->begin(), 1);
    for (Shape* const list : {&w.before, &w.after}) list->insert(list->begin(), 0);
    return w;
}

xnn::WindowsAttr in_two(Build& b, const Windows& w) {
    return b.windows(w.kernel, w.stride, w.before, w.after, w.dilation);
}

// How many windows there are along the first dimension.
int64_t count_of_first(const Windows& w, int64_t size) {
    const int64_t padded = size + w.before[0] + w.after[0], reach = reach_of(w, 0);
    if (padded < reach) refuse("no window of {} elements fits into {}", reach, padded);
    return (padded - reach) / w.stride[0] + 1;
}

// The first two dimensions as one.
Value merged(Build& b, Value value) {
    const Shape from = Build::shape_of(value);
    Shape shape = {b.tensor({from[0], from[1]}, Build::element_of(value)).getNumElements()};
    llvm::append_range(shape, llvm::ArrayRef(from).drop_front(2));
    return b.reshape(value, shape);
}

// The first dimension as two.
Value split(Build& b, Value value, int64_t images, int64_t size) {
    Shape shape = {images, size};
    llvm::append_range(shape, llvm::ArrayRef(Build::shape_of(value)).drop_front());
    return b.reshape(value, shape);
}

}  // namespace

Value convolve(Build& b, Value images, Value filters, const Windows& w, int64_t groups) {
    const Shape from = Build::shape_of(images), sizes = Build::shape_of(filters);
    const size_t dimensions = w.kernel.size();
    if (dimensions == 2) return b.conv(images, filters, in_two(b, w), groups);
    if (dimensions == 1) {
        const Value result = convolve(b, b.reshape(images, {from[0], 1, from[1], from[2]}),
                                      b.reshape(filters, {1, sizes[0], sizes[1], sizes[2]}), with_height(w), groups);
        const Shape shape = Build::shape_of(result);
        return b.reshape(result, {shape[0], shape[2], shape[3]});
    }
    // The slices in the first dimension that a window has become channels, beside each other within each group.
    if (groups < 1 || from.back() % groups != 0) refuse("{} groups do not divide {} channels", groups, from.back());
    const int64_t count = count_of_first(w, from[1]);
    Shape before(from.size(), 0), after = before;
    before[1] = w.before[0], after[1] = w.after[0];
    const Value padded = b.pad(images, before, after);
    Shape apart = from;
    apart[1] = count;
    apart.back() = groups;
    apart.insert(apart.end(), {1, from.back() / groups});
    std::vector<Value> slices;
    for (int64_t i = 0; i < w.kernel[0]; i++)
        slices.push_back(b.reshape(b.narrow(padded, 1, i * w.dilation[0], count, w.stride[0]), apart));
    Shape together = apart;
    together.pop_back();
    together.pop_back();
    together.back() = w.kernel[0] * from.back();
    const Value stacked = b.reshape(b.concat(slices, -2), together);
    // Kernel x ... x channels of a group x filters, with the kernel's first dimension before the channels.
    const auto rank = static_cast<int64_t>(sizes.size());
    Shape merged_sizes(sizes.begin() + 1, sizes.end());
    merged_sizes[merged_sizes.size() - 2] *= sizes[0];
    const Value merged_filters = b.reshape(b.move_axis(filters, 0, rank - 3), merged_sizes);
    const Value result = convolve(b, merged(b, stacked), merged_filters, without_first(w), groups);
    return split(b, result, from[0], count);
}

Value pool_windows(Build& b, Pooling pooling, Value images, const Windows& w) {
    const Shape from = Build::shape_of(images);
    const size_t dimensions = w.kernel.size();
    if (dimensions == 2) return b.pool(pooling, images, in_two(b, w));
    if (dimensions == 1) {
        const Value result =
            pool_windows(b, pooling, b.reshape(images, {from[0], 1, from[1], from[2]}), with_height(w));
        const Shape shape = Build::shape_of(result);
        return b.reshape(result, {shape[0], shape[2], shape[3]});
    }
    if (pooling == Pooling::argmax) refuse("the indices of windows of {} dimensions are not supported", dimensions);
    // First each slice, and then the slices: all pixels of a slice side by side.
    const Value slices = split(b, pool_windows(b, pooling, merged(b, images), without_first(w)), from[0], from[1]);
    Shape shape = Build::shape_of(slices);
    const int64_t pixels =
        Build::type_of(slices).getNumElements() / std::max<int64_t>(from[0] * from[1] * from.back(), 1);
    const Value rows = b.reshape(slices, {from[0], from[1], pixels, from.back()});
    const Value result =
        b.pool(pooling, rows,
               b.windows({w.kernel[0], 1}, {w.stride[0], 1}, {w.before[0], 0}, {w.after[0], 0}, {w.dilation[0], 1}));
    shape[1] = Build::shape_of(result)[1];
    return b.reshape(result, shape);
}

namespace {

Value with_bias(Node& n, Value images) {
    const Value bias = n.optional(2);
    if (bias && Build::rank_of(bias) != 1) refuse("the bias must be a vector");
    return bias ? n.b.add(images, bias) : images;
}

Values conv(Node& n) {
    Build& b = n.b;
    const Value images = images_of(b, n[0]), filters = filters_of(b, n[1], n[0]);
    if (!Build::is_float(images)) refuse("convolutions of integers are ConvInteger and QLinearConv");
    const Shape sizes = Build::shape_of(filters);
    const Windows w = windows_of(n, Build::shape_of(images), llvm::ArrayRef(sizes).drop_back(2));
    return {from_images(b, with_bias(n, convolve(b, images, filters, w, n.integer("group", 1))))};
}

// A convolution of the images with zeros between their pixels, with the filters turned round.
Values conv_transpose(Node& n) {
    Build& b = n.b;
    const int64_t groups = n.integer("group", 1);
    Value images = images_of(b, n[0]);
    const Shape from = Build::shape_of(images);
    const size_t dimensions = from.size() - 2;
    // C x M of a group x H x W, as H x W x M x C.
    const Value weights = filters_of(b, n[1], n[0]);
    const Shape sizes = Build::shape_of(weights);
    const int64_t channels = sizes.back(), each = sizes[dimensions];
    if (groups < 1 || channels % groups != 0) refuse("{} groups do not divide {} channels", groups, channels);
    Shape grouped(sizes.begin(), sizes.end() - 1), turned(sizes.begin(), sizes.end() - 2);
    grouped.append({groups, channels / groups});
    turned.append({channels / groups, groups * each});
    const auto last = static_cast<int64_t>(dimensions);
    Value filters = b.move_axis(b.reshape(weights, grouped), last, -1);  // ... x groups x channels x each
    filters = b.reshape(b.move_axis(filters, last, -2), turned);
    for (int64_t d = 0; d < last; d++) filters = b.flip(filters, d);
    // The padding that the node means is that of its result, so auto_pad is not that of a convolution.
    const std::string padding = n.text("auto_pad", "NOTSET");
    Windows w = attributes_of(n, dimensions, llvm::ArrayRef(sizes).drop_back(2));
    const Shape more = for_each_dimension(n.integers("output_padding"), dimensions, 0, "output_padding");
    require_small(more, "output_padding", 0);
    for (size_t d = 0; d < dimensions; d++)
        if (from[d + 1] < 1 || from[d + 1] > xnn::kElementsMax / w.stride[d])
            refuse("images of {} pixels cannot have strides of {}", from[d + 1], w.stride[d]);
    Shape wanted = n.integers("output_shape");
    if (wanted.size() == dimensions + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
    if (wanted.empty() && (padding == "SAME_UPPER" || padding == "SAME_LOWER"))
        for (size_t d = 0; d < dimensions; d++) wanted.push_back(from[d + 1] * w.stride[d]);
    if (!wanted.empty()) {
        wanted = for_each_dimension(wanted, dimensions, 1, "output_shape");
        require_small(wanted, "a size of output_shape", 1);
        for (size_t d = 0; d < dimensions; d++) {
            const int64_t sum = w.stride[d] * (from[d + 1] - 1) + more[d] + reach_of(w, d) - wanted[d];
            // Less than nothing: the result ends behind what the images reach.
            w.before[d] = sum < 0 ? 0 : padding == "SAME_UPPER" ? sum / 2 : sum - sum / 2;
            w.after[d] = sum - w.before[d];
        }
    }
    // Zeros between the pixels.
    if (llvm::any_of(w.stride, [](int64_t stride) { return stride > 1; })) {
        Shape apart = {from[0]}, after = {0}, spread = {from[0]};
        for (size_t d = 0; d < dimensions; d++) {
            apart.append({from[d + 1], 1});
            after.append({0, w.stride[d] - 1});
            spread.push_back(from[d + 1] * w.stride[d]);
        }
        apart.push_back(from.back());
        after.push_back(0);
        spread.push_back(from.back());
        images = b.reshape(b.pad(b.reshape(images, apart), Shape(apart.size(), 0), after), spread);
        for (size_t d = 0; d < dimensions; d++)
            images = b.narrow(images, static_cast<int64_t>(d) + 1, 0, (from[d + 1] - 1) * w.stride[d] + 1);
    }
    // What the result loses at its edges is padding that the convolution does not have, and if need be pixels.
    Windows dense{w.kernel, Shape(dimensions, 1), {}, {}, w.dilation};
    for (size_t d = 0; d < dimensions; d++) {
        const int64_t before = reach_of(w, d) - 1 - w.before[d], after = reach_of(w, d) - 1 - w.after[d] + more[d];
        const int64_t size = Build::shape_of(images)[d + 1];
        const int64_t first = std::max<int64_t>(-before, 0), end = std::max<int64_t>(-after, 0);
        if (first > size || end > size - first) refuse("the padding is larger than the images");
        images = b.narrow(images, static_cast<int64_t>(d) + 1, first, size - first - end);
        dense.before.push_back(std::max<int64_t>(before, 0));
        dense.after.push_back(std::max<int64_t>(after, 0));
    }
    return {from_images(b, with_bias(n, convolve(b, images, filters, dense, groups)))};
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

// The same pixels, in the numbers of images that are stored column by column.
Value by_columns(Build& b, Value pixels, int64_t height, int64_t width) {
    if (height > xnn::kFoldLimit / std::max<int64_t>(width, 1)) refuse("the images are too large for storage_order 1");
    Shape numbers;
    for (int64_t row = 0; row < height; row++)
        for (int64_t column = 0; column < width; column++) numbers.push_back(column * height + row);
    return b.gather(b.integers(numbers), pixels);
}

Values max_pool(Node& n) {
    Build& b = n.b;
    const Value images = images_of(b, n[0]);
    const Shape shape = Build::shape_of(images);
    Windows w = windows_of(n, shape, {});
    if (n.flag("ceil_mode")) round_up(w, shape);
    Values results = {from_images(b, pool_windows(b, Pooling::max, images, w))};
    if (!n.wants(1)) return results;
    Value pixels = from_images(b, pool_windows(b, Pooling::argmax, images, w));
    int64_t plane = 1;
    for (const int64_t size : llvm::ArrayRef(shape).drop_front().drop_back()) plane *= size;
    if (n.flag("storage_order") && shape.size() == 4) pixels = by_columns(b, pixels, shape[1], shape[2]);
    results.push_back(in_whole(b, pixels, plane));
    return results;
}

// The elements back at the places where a pooling has found them; zeros elsewhere. The host writes them.
Values max_unpool(Node& n) {
    Build& b = n.b;
    const Shape shape = Build::shape_of(n[0]);
    require_images(shape.size());
    if (Build::shape_of(n[1]) != shape) refuse("there must be an index for each element");
    const Windows w = attributes_of(n, shape.size() - 2, {});
    Shape whole = {shape[0], shape[1]};
    for (size_t d = 0; d + 2 < shape.size(); d++)
        whole.push_back((shape[d + 2] - 1) * w.stride[d] + w.kernel[d] - w.before[d] - w.after[d]);
    const int64_t count = Build::type_of(n[0]).getNumElements();
    const int64_t all = b.tensor(whole, Build::element_of(n[0])).getNumElements();
    const Value inputs[] = {b.splat(0, Build::element_of(n[0]), {all, 1}), b.reshape(n[1], {count}),
                            b.reshape(n[0], {count, 1})};
    const Value result = b.reshape(b.host("scatter", inputs, {all, 1}, Build::element_of(n[0]), {0}), whole);
    // The indices are those of the images as the pooling had them; a larger result has them at its beginning.
    if (!n.optional(2)) return {result};
    const Shape wanted = n.constant_integers(2, "output_shape");
    if (wanted.size() != whole.size()) refuse("output_shape has {} numbers", wanted.size());
    Shape after;
    for (size_t d = 0; d < whole.size(); d++) after.push_back(wanted[d] - whole[d]);
    return {b.pad(result, Shape(whole.size(), 0), after)};
}

Values average_pool(Node& n) {
    Build& b = n.b;
    const Value images = images_of(b, n[0]);
    const Shape shape = Build::shape_of(images);
    Windows w = windows_of(n, shape, {});
    const bool all = n.flag("count_include_pad");
    if (n.flag("ceil_mode")) {
        const Shape after = w.after;
        round_up(w, shape);
        if (all && after != w.after)
            refuse("ceil_mode with count_include_pad is not supported where a window leaves the padding");
    }
    return {from_images(b, pool_windows(b, all ? Pooling::average_all : Pooling::average, images, w))};
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
        return from_images(b, b.pool(pooling, images, b.windows({shape[1], shape[2]}, {1, 1}, {0, 0}, {0, 0}, {1, 1})));
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
    {"MaxUnpool", 9, 21, max_unpool},
};

}  // namespace

std::span<const Operator> window_operators() { return kOperators; }

}  // namespace sidra::compiler
