// SPDX-License-Identifier: MIT
#include "build.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "host_call.h"
#include "shapes.h"

namespace sidra::xnn {

std::string text_of(llvm::ArrayRef<int64_t> shape) {
    if (shape.empty()) return "1";
    const auto first = shape.take_front(static_cast<size_t>(kRankMax));
    return fmt::format("{}{}", fmt::join(first.begin(), first.end(), " x "),
                       first.size() < shape.size() ? " x ..." : "");
}

int64_t axis_of(int64_t axis, int64_t rank) {
    if (axis < -rank || axis >= rank)
        throw BuildError(fmt::format("there is no axis {} in a tensor of {} dimensions", axis, rank));
    return axis < 0 ? axis + rank : axis;
}

mlir::RankedTensorType Build::tensor(llvm::ArrayRef<int64_t> shape, Type element) {
    if (static_cast<int64_t>(shape.size()) > kRankMax)
        throw BuildError(fmt::format("a tensor has {} dimensions; at most {} are possible", shape.size(), kRankMax));
    int64_t elements = 1;
    for (const int64_t size : shape) {
        if (size < 0) throw BuildError(fmt::format("a tensor would have a dimension of {} elements", size));
        if (size > kElementsMax || __builtin_mul_overflow(elements, std::max<int64_t>(size, 1), &elements) ||
            elements > kElementsMax)
            throw BuildError(fmt::format("a tensor of {} elements is too large", text_of(shape)));
    }
    return mlir::RankedTensorType::get(shape, element);
}

template <typename Op, typename... Arguments>
mlir::Value Build::made(llvm::ArrayRef<int64_t> shape, Type element, Arguments&&... arguments) {
    if (++operations_ > kOperationsMax)
        throw BuildError(fmt::format("the model becomes more than {} operations", kOperationsMax));
    const mlir::RankedTensorType type = tensor(shape, element);
    const Value value = builder_.createOrFold<Op>(location_, type, std::forward<Arguments>(arguments)...);
    // The context keeps all attributes for ever.
    if (auto folded = value.getDefiningOp<ConstantOp>())
        if (const auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(folded.getValue()); dense && !dense.isSplat())
            folded_ += type.getNumElements();
    if (folded_ > kFoldedMax)
        throw BuildError(fmt::format("the model computes more than {} elements of constants", kFoldedMax));
    return value;
}

// ---- Constants ------------------------------------------------------------------------------------------------------

mlir::Value Build::constant(mlir::Attribute value, mlir::RankedTensorType type) {
    return made<ConstantOp>(type.getShape(), type.getElementType(), value);
}

mlir::Value Build::integers(llvm::ArrayRef<int64_t> numbers) {
    return constant(Elements{tensor({static_cast<int64_t>(numbers.size())}, integer(64)),
                             Elements::Integers(numbers.begin(), numbers.end())});
}

mlir::Value Build::floats(llvm::ArrayRef<float> numbers) {
    return constant(Elements{tensor({static_cast<int64_t>(numbers.size())}, f32()),
                             Elements::Floats(numbers.begin(), numbers.end())});
}

mlir::Value Build::splat(double number, Type element, llvm::ArrayRef<int64_t> shape) {
    Elements one{mlir::RankedTensorType::get({}, element), {}};
    if (mlir::isa<mlir::FloatType>(element)) one.numbers = Elements::Floats{store(static_cast<float>(number), element)};
    else one.numbers = Elements::Integers{saturate(number, element)};
    const mlir::RankedTensorType type = tensor(shape, element);
    return constant(attribute_of(one).resizeSplat(type), type);
}

// ---- Elementwise ----------------------------------------------------------------------------------------------------

namespace {

std::string text_of_type(mlir::Type type) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << type;
    return text;
}

void require_same(mlir::Value lhs, mlir::Value rhs) {
    if (Build::element_of(lhs) != Build::element_of(rhs))
        throw BuildError(fmt::format("operands have different types, {} and {}", text_of_type(Build::element_of(lhs)),
                                     text_of_type(Build::element_of(rhs))));
}

Shape broadcast_of(std::initializer_list<llvm::ArrayRef<int64_t>> shapes) {
    Shape result;
    for (const llvm::ArrayRef<int64_t> shape : shapes)
        if (!broadcast(result, shape))
            throw BuildError(fmt::format("a tensor of {} elements does not broadcast to one of {}", text_of(shape),
                                         text_of(result)));
    return result;
}

void require_rank(mlir::Value value, size_t numbers) {
    if (static_cast<size_t>(Build::rank_of(value)) != numbers)
        throw BuildError(fmt::format("a tensor has {} dimensions, but {} numbers say what becomes of them",
                                     Build::rank_of(value), numbers));
}

bool is_comparison(Binary function) {
    return function == Binary::lt || function == Binary::le || function == Binary::eq || function == Binary::ne;
}

}  // namespace

mlir::Value Build::unary(Unary function, Value input) {
    return made<UnaryOp>(shape_of(input), element_of(input), function, input);
}

mlir::Value Build::binary(Binary function, Value lhs, Value rhs) {
    require_same(lhs, rhs);
    if (function >= Binary::bit_and && is_float(lhs)) throw BuildError("operations on bits take integers only");
    return made<BinaryOp>(broadcast_of({shape_of(lhs), shape_of(rhs)}),
                          is_comparison(function) ? integer(1) : element_of(lhs), function, lhs, rhs);
}

mlir::Value Build::select(Value condition, Value yes, Value no) {
    require_same(yes, no);
    if (!element_of(condition).isInteger(1)) throw BuildError("a condition must be of type bool");
    return made<SelectOp>(broadcast_of({shape_of(condition), shape_of(yes), shape_of(no)}), element_of(yes), condition,
                          yes, no);
}

mlir::Value Build::cast(Value input, Type element, bool nearest) {
    return made<CastOp>(shape_of(input), element, input, nearest);
}

mlir::Value Build::iota(llvm::ArrayRef<int64_t> shape, int64_t axis) {
    return made<IotaOp>(shape, integer(32), axis_of(axis, static_cast<int64_t>(shape.size())));
}

// ---- Along dimensions -----------------------------------------------------------------------------------------------

mlir::Value Build::reduce(Reduction function, Value input) {
    Shape shape = shape_of(input);
    if (shape.empty()) throw BuildError("a scalar has no dimension to reduce");
    shape.back() = 1;
    const bool index = function == Reduction::argmax || function == Reduction::argmin;
    return made<ReduceOp>(shape, index ? integer(32) : element_of(input), function, input);
}

mlir::Value Build::scan(Value input) { return made<ScanOp>(shape_of(input), element_of(input), input); }

std::pair<mlir::Value, mlir::Value> Build::sort(Value input, int64_t count, bool descending) {
    Shape shape = shape_of(input);
    if (shape.empty() || count < 0 || count > shape.back())
        throw BuildError(fmt::format("a row of {} has not {} elements", text_of(shape), count));
    shape.back() = count;
    auto op = builder_.create<SortOp>(location_, tensor(shape, element_of(input)), tensor(shape, integer(64)), input,
                                      descending);
    return {op.getValues(), op.getIndices()};
}

// ---- Products and windows -------------------------------------------------------------------------------------------

mlir::Value Build::matmul(Value lhs, Value rhs) {
    const Shape a = shape_of(lhs), b = shape_of(rhs);
    if (a.size() < 2 || b.size() < 2) throw BuildError("a factor of a product has fewer than two dimensions");
    if (a.back() != b[b.size() - 2])
        throw BuildError(fmt::format("factors of {} and {} have different inner dimensions", text_of(a), text_of(b)));
    const bool bytes = element_of(lhs).isInteger(8) && element_of(rhs).isInteger(8);
    if (!bytes) require_same(lhs, rhs);
    if (!bytes && !is_float(lhs)) throw BuildError("the chip multiplies matrices of floats, and of integers of 8 bits");
    Shape shape = broadcast_of({llvm::ArrayRef(a).drop_back(2), llvm::ArrayRef(b).drop_back(2)});
    shape.append({a[a.size() - 2], b.back()});
    return made<MatmulOp>(shape, bytes ? integer(32) : element_of(lhs), lhs, rhs);
}

WindowsAttr Build::windows(llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> stride,
                           llvm::ArrayRef<int64_t> before, llvm::ArrayRef<int64_t> after,
                           llvm::ArrayRef<int64_t> dilation) {
    const auto ignore = [] { return mlir::InFlightDiagnostic(); };
    const WindowsAttr windows = mlir::succeeded(WindowsAttr::verify(ignore, kernel, stride, before, after, dilation))
                                    ? WindowsAttr::get(builder_.getContext(), kernel, stride, before, after, dilation)
                                    : WindowsAttr();
    if (!windows)
        throw BuildError(
            "windows have two dimensions, kernels, strides and dilations of at least 1, and no negative padding");
    return windows;
}

namespace {

// Images with as many pixels as there are windows.
Shape windowed(const Shape& images, WindowsAttr windows, int64_t channels) {
    if (images.size() != 4) throw BuildError("images have four dimensions");
    Shape shape{images[0], 0, 0, channels};
    for (unsigned d = 0; d < 2; d++) {
        shape[d + 1] = window_count(images[d + 1], windows, d);
        if (shape[d + 1] == 0)
            throw BuildError(fmt::format("no window of {} x {} elements fits into images of {} x {} pixels",
                                         windows.getKernel()[0], windows.getKernel()[1], images[1], images[2]));
    }
    return shape;
}

}  // namespace

mlir::Value Build::conv(Value input, Value filters, WindowsAttr windows, int64_t groups) {
    const Shape images = shape_of(input), weights = shape_of(filters);
    require_same(input, filters);
    if (images.size() != 4 || weights.size() != 4) throw BuildError("images and filters have four dimensions");
    if (groups < 1 || images[3] % groups != 0 || weights[3] % groups != 0 || weights[2] != images[3] / groups)
        throw BuildError(fmt::format("{} groups of {} channels do not suit {} filters for {} channels", groups,
                                     images[3], weights[3], weights[2]));
    if (windows.getKernel() != llvm::ArrayRef(weights).take_front(2))
        throw BuildError("the filters have another size than the kernel");
    return made<ConvOp>(windowed(images, windows, weights[3]), is_float(input) ? element_of(input) : integer(32), input,
                        filters, windows, groups);
}

mlir::Value Build::pool(Pooling function, Value input, WindowsAttr windows) {
    const Shape images = shape_of(input);
    if (images.size() != 4) throw BuildError("images have four dimensions");
    for (unsigned d = 0; d < 2; d++)
        if (const int64_t reach = (windows.getKernel()[d] - 1) * windows.getDilation()[d] + 1;
            windows.getBefore()[d] >= reach)
            throw BuildError(fmt::format("a window of {} pixels has {} of padding and no pixel of the image", reach,
                                         windows.getBefore()[d]));
    return made<PoolOp>(windowed(images, windows, images[3]),
                        function == Pooling::argmax ? integer(32) : element_of(input), function, input, windows);
}

// ---- Shapes ---------------------------------------------------------------------------------------------------------

mlir::Value Build::reshape(Value input, llvm::ArrayRef<int64_t> shape) {
    if (tensor(shape, element_of(input)).getNumElements() != type_of(input).getNumElements())
        throw BuildError(
            fmt::format("a tensor of {} elements cannot have the shape {}", text_of(shape_of(input)), text_of(shape)));
    return made<ReshapeOp>(shape, element_of(input), input);
}

mlir::Value Build::transpose(Value input, llvm::ArrayRef<int64_t> permutation) {
    require_rank(input, permutation.size());
    const Shape from = shape_of(input);
    Shape shape, sorted(permutation);
    llvm::sort(sorted);
    for (size_t d = 0; d < sorted.size(); d++)
        if (sorted[d] != static_cast<int64_t>(d)) throw BuildError("the numbers are no permutation of the dimensions");
    for (const int64_t d : permutation) shape.push_back(from[static_cast<size_t>(d)]);
    return made<TransposeOp>(shape, element_of(input), input, builder_.getDenseI64ArrayAttr(permutation));
}

mlir::Value Build::move_axis(Value input, int64_t from, int64_t to) {
    const int64_t rank = rank_of(input);
    from = axis_of(from, rank);
    to = axis_of(to, rank);
    Shape permutation(static_cast<size_t>(rank));
    std::iota(permutation.begin(), permutation.end(), 0);
    permutation.erase(permutation.begin() + from);
    permutation.insert(permutation.begin() + to, from);
    return transpose(input, permutation);
}

mlir::Value Build::slice(Value input, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes,
                         llvm::ArrayRef<int64_t> steps) {
    require_rank(input, starts.size());
    const Shape from = shape_of(input);
    for (size_t d = 0; d < from.size(); d++) {
        int64_t reach;
        if (steps[d] == 0 || sizes[d] < 0 || __builtin_mul_overflow(sizes[d] - 1, steps[d], &reach) ||
            __builtin_add_overflow(starts[d], reach, &reach) ||
            (sizes[d] > 0 && (starts[d] < 0 || starts[d] >= from[d] || reach < 0 || reach >= from[d])))
            throw BuildError(fmt::format("{} elements from {} in steps of {} leave a dimension of {}", sizes[d],
                                         starts[d], steps[d], from[d]));
    }
    return made<SliceOp>(sizes, element_of(input), input, builder_.getDenseI64ArrayAttr(starts),
                         builder_.getDenseI64ArrayAttr(steps));
}

mlir::Value Build::narrow(Value input, int64_t axis, int64_t start, int64_t size, int64_t step) {
    Shape sizes = shape_of(input), starts(sizes.size(), 0), steps(sizes.size(), 1);
    const auto d = static_cast<size_t>(axis_of(axis, rank_of(input)));
    starts[d] = start;
    sizes[d] = size;
    steps[d] = step;
    return slice(input, starts, sizes, steps);
}

mlir::Value Build::flip(Value input, int64_t axis) {
    const int64_t size = type_of(input).getDimSize(static_cast<unsigned>(axis_of(axis, rank_of(input))));
    return narrow(input, axis, std::max<int64_t>(size - 1, 0), size, -1);
}

mlir::Value Build::broadcast(Value input, llvm::ArrayRef<int64_t> shape) {
    if (broadcast_of({shape, shape_of(input)}) != Shape(shape))
        throw BuildError(
            fmt::format("a tensor of {} elements does not broadcast to {}", text_of(shape_of(input)), text_of(shape)));
    return made<BroadcastOp>(shape, element_of(input), input);
}

mlir::Value Build::concat(llvm::ArrayRef<Value> inputs, int64_t axis) {
    if (inputs.empty()) throw BuildError("there is nothing to concatenate");
    Shape shape = shape_of(inputs[0]);
    axis = axis_of(axis, rank_of(inputs[0]));
    int64_t sum = 0;
    for (const Value input : inputs) {
        require_same(inputs[0], input);
        Shape other = shape_of(input);
        if (other.size() == shape.size()) {
            sum += other[static_cast<size_t>(axis)];
            other[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
        }
        if (other != shape || sum > kElementsMax)
            throw BuildError(fmt::format("tensors of {} and {} elements cannot be concatenated along axis {}",
                                         text_of(shape), text_of(shape_of(input)), axis));
    }
    shape[static_cast<size_t>(axis)] = sum;
    return made<ConcatOp>(shape, element_of(inputs[0]), inputs, axis);
}

mlir::Value Build::pad(Value input, llvm::ArrayRef<int64_t> before, llvm::ArrayRef<int64_t> after, double value) {
    require_rank(input, before.size());
    Shape shape = shape_of(input);
    for (size_t d = 0; d < shape.size(); d++) {
        if (before[d] < 0 || after[d] < 0 || before[d] > kElementsMax || after[d] > kElementsMax)
            throw BuildError(fmt::format("padding of {} and {} elements is impossible", before[d], after[d]));
        shape[d] += before[d] + after[d];
    }
    if (shape == shape_of(input)) return input;
    const Type element = element_of(input);
    const mlir::TypedAttr attribute = is_float(input) ? mlir::TypedAttr(builder_.getFloatAttr(element, value))
                                                      : builder_.getIntegerAttr(element, saturate(value, element));
    return made<PadOp>(shape, element, input, builder_.getDenseI64ArrayAttr(before),
                       builder_.getDenseI64ArrayAttr(after), attribute);
}

mlir::Value Build::gather(Value input, Value indices) {
    if (rank_of(input) == 0) throw BuildError("a scalar has no rows");
    if (!element_of(indices).isInteger(32) && !element_of(indices).isInteger(64))
        throw BuildError("indices must be of type int32 or int64");
    Shape shape = shape_of(indices);
    llvm::append_range(shape, type_of(input).getShape().drop_front());
    return made<GatherOp>(shape, element_of(input), input, indices);
}

mlir::Value Build::take(Value input, llvm::ArrayRef<int64_t> indices, int64_t axis) {
    axis = axis_of(axis, rank_of(input));
    const int64_t size = type_of(input).getDimSize(static_cast<unsigned>(axis));
    for (const int64_t index : indices)
        if (index < 0 || index >= size)
            throw BuildError(fmt::format("there is no index {} in a dimension of {} elements", index, size));
    // Indices with a constant step are a slice.
    const auto count = static_cast<int64_t>(indices.size());
    const int64_t step = count > 1 ? indices[1] - indices[0] : 1;
    bool regular = count > 0 && step != 0;
    for (int64_t i = 0; regular && i < count; i++) regular = indices[static_cast<size_t>(i)] == indices[0] + i * step;
    if (regular) return narrow(input, axis, indices[0], count, step);
    return move_axis(gather(move_axis(input, axis, 0), integers(indices)), 0, axis);
}

mlir::Value Build::host(llvm::StringRef function, llvm::ArrayRef<Value> inputs, llvm::ArrayRef<int64_t> shape,
                        Type element, llvm::ArrayRef<int64_t> parameters) {
    const HostCall call = host_call(function, mlir::ValueRange(inputs).getTypes(), tensor(shape, element), parameters);
    if (!call.problem.empty()) throw BuildError("the host " + call.problem);
    return made<HostOp>(shape, element, builder_.getStringAttr(function), inputs,
                        builder_.getDenseI64ArrayAttr(parameters));
}

}  // namespace sidra::xnn
