// SPDX-License-Identifier: MIT
// Operators that move elements, or know their places before the network runs.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common.h"

namespace sidra::compiler {

using xnn::axis_of;
using xnn::Elements;

namespace {

// ---- The same elements in another shape
// -------------------------------------------------------------------------------

Values reshape(Node& n) {
    const Shape from = Build::shape_of(n[0]);
    std::optional<Shape> wanted = n.attribute_or_input("shape", 1, 5);
    if (!wanted) refuse("the new shape is missing");
    int64_t known = 1, rest = -1;
    for (size_t d = 0; d < wanted->size(); d++) {
        int64_t& size = (*wanted)[d];
        if (size == 0 && !n.flag("allowzero")) {
            if (d >= from.size()) refuse("the new shape keeps dimension {}, which the input does not have", d);
            size = from[d];
        }
        if (size == -1 && rest < 0) rest = static_cast<int64_t>(d);
        else if (size < 0) refuse("the new shape is {}", xnn::text_of(*wanted));
        else if (__builtin_mul_overflow(known, size, &known)) refuse("the new shape is {}", xnn::text_of(*wanted));
    }
    if (rest >= 0) {
        const int64_t elements = Build::type_of(n[0]).getNumElements();
        if (known == 0 || elements % known != 0) refuse("{} elements do not fill rows of {}", elements, known);
        (*wanted)[static_cast<size_t>(rest)] = elements / known;
    }
    return {n.b.reshape(n[0], *wanted)};
}

Values flatten(Node& n) {
    const Shape from = Build::shape_of(n[0]);
    const auto rank = static_cast<int64_t>(from.size());
    const int64_t axis = n.integer("axis", 1);
    const int64_t split = axis == rank ? rank : axis_of(axis, rank);
    const auto product = [](auto first, auto last) {
        return std::accumulate(first, last, int64_t{1}, std::multiplies<>());
    };
    return {
        n.b.reshape(n[0], {product(from.begin(), from.begin() + split), product(from.begin() + split, from.end())})};
}

// Axes of a tensor, each once.
std::vector<bool> chosen(const Shape& axes, int64_t rank) {
    std::vector<bool> result(static_cast<size_t>(rank));
    for (const int64_t axis : axes) {
        const auto d = static_cast<size_t>(axis_of(axis, rank));
        if (result[d]) refuse("axis {} is there twice", axis);
        result[d] = true;
    }
    return result;
}

Values squeeze(Node& n) {
    const Shape from = Build::shape_of(n[0]);
    const std::optional<Shape> axes = n.attribute_or_input("axes", 1, 13);
    const std::vector<bool> gone = chosen(axes.value_or(Shape()), static_cast<int64_t>(from.size()));
    Shape shape;
    for (size_t d = 0; d < from.size(); d++) {
        if (axes ? !gone[d] : from[d] != 1) shape.push_back(from[d]);
        else if (from[d] != 1) refuse("axis {} has {} elements", d, from[d]);
    }
    return {n.b.reshape(n[0], shape)};
}

Values unsqueeze(Node& n) {
    const Shape from = Build::shape_of(n[0]);
    const std::optional<Shape> axes = n.attribute_or_input("axes", 1, 13);
    if (!axes) refuse("the axes are missing");
    if (static_cast<int64_t>(axes->size()) > xnn::kRankMax) refuse("there are {} axes", axes->size());
    const std::vector<bool> added = chosen(*axes, static_cast<int64_t>(from.size() + axes->size()));
    Shape shape;
    const auto* next = from.begin();
    for (const bool is_new : added) shape.push_back(is_new ? 1 : *next++);
    return {n.b.reshape(n[0], shape)};
}

Values transpose(Node& n) {
    Shape permutation = n.integers("perm");
    if (!n.has("perm"))
        for (int64_t d = Build::rank_of(n[0]); d-- > 0;) permutation.push_back(d);
    return {n.b.transpose(n[0], permutation)};
}

// ---- Some of the elements, and more of them
// ---------------------------------------------------------------------------

// Where a slice of one dimension begins, and how many elements it has.
struct Range {
    int64_t start, count, step;
};

Range range_of_slice(int64_t start, int64_t end, int64_t step, int64_t size) {
    if (step == 0) refuse("a slice has a step of 0");
    if (size == 0) return {0, 0, 1};
    step = std::clamp(step, -size, size);  // a longer step reaches nothing either
    if (start < 0) start += size;
    if (end < 0) end += size;
    start = std::clamp<int64_t>(start, 0, step > 0 ? size : size - 1);
    end = std::clamp<int64_t>(end, step > 0 ? 0 : -1, size);
    const int64_t span = step > 0 ? end - start : start - end, each = std::abs(step);
    return {start, span <= 0 ? 0 : (span + each - 1) / each, step};
}

Values slice(Node& n) {
    const int64_t rank = Build::rank_of(n[0]);
    const bool attributes = n.version < 10;
    const Shape from = attributes ? n.integers("starts") : n.constant_integers(1, "starts");
    const Shape to = attributes ? n.integers("ends") : n.constant_integers(2, "ends");
    const std::optional<Shape> axes = n.attribute_or_input("axes", 3, 10);
    const std::optional<Shape> by = attributes ? std::nullopt : n.attribute_or_input("steps", 4, 10);
    if (from.size() != to.size() || (axes && axes->size() != from.size()) || (by && by->size() != from.size()))
        refuse("starts, ends, axes and steps have different sizes");
    Shape starts(static_cast<size_t>(rank), 0), sizes = Build::shape_of(n[0]), steps(static_cast<size_t>(rank), 1);
    for (size_t i = 0; i < from.size(); i++) {
        const auto d = static_cast<size_t>(axis_of(axes ? (*axes)[i] : static_cast<int64_t>(i), rank));
        const Range range = range_of_slice(from[i], to[i], by ? (*by)[i] : 1, Build::shape_of(n[0])[d]);
        starts[d] = range.start;
        sizes[d] = range.count;
        steps[d] = range.step;
    }
    return {n.b.slice(n[0], starts, sizes, steps)};
}

Values split(Node& n) {
    const int64_t axis = axis_of(n.integer("axis", 0), Build::rank_of(n[0]));
    const int64_t size = Build::shape_of(n[0])[static_cast<size_t>(axis)];
    std::optional<Shape> parts =
        n.version < 2 && n.optional(1) ? n.constant_integers(1, "split") : n.attribute_or_input("split", 1, 13);
    if (!parts) {
        const auto count = static_cast<int64_t>(n.outputs());
        if (n.integer("num_outputs", count) != count) refuse("num_outputs is not the number of outputs");
        const int64_t each = count == 0 ? 0 : (size + count - 1) / count;
        if (n.version < 18 && size != each * count)
            refuse("{} elements cannot be split into {} equal parts", size, count);
        parts.emplace();
        for (int64_t rest = size; static_cast<int64_t>(parts->size()) < count; rest -= parts->back())
            parts->push_back(std::min(each, rest));
    }
    if (parts->size() < n.outputs()) refuse("there are {} parts for {} outputs", parts->size(), n.outputs());
    Values results;
    int64_t start = 0;
    for (const int64_t part : *parts) {
        if (part < 0 || part > size - start) refuse("the parts are larger than the {} elements", size);
        results.push_back(n.b.narrow(n[0], axis, start, part));
        start += part;
    }
    return results;
}

Values concat(Node& n) {
    const int64_t axis = n.version < 4 ? n.integer("axis", 1) : n.integer("axis");
    return {n.b.concat(n.all(), axis)};
}

Values expand(Node& n) {
    Shape shape = n.constant_integers(1, "the shape");
    const Shape from = Build::shape_of(n[0]);
    if (shape.size() < from.size()) shape.insert(shape.begin(), from.size() - shape.size(), 1);
    // The input may be larger than the shape, too.
    for (size_t d = 1; d <= from.size(); d++)
        if (int64_t& size = shape[shape.size() - d]; size == 1) size = from[from.size() - d];
    return {n.b.broadcast(n[0], shape)};
}

Values tile(Node& n) {
    const Shape from = Build::shape_of(n[0]), repeats = n.constant_integers(1, "repeats");
    if (repeats.size() != from.size()) refuse("there are {} repeats for {} dimensions", repeats.size(), from.size());
    Shape apart, repeated, together;
    for (size_t d = 0; d < from.size(); d++) {
        int64_t size;
        if (repeats[d] < 0 || __builtin_mul_overflow(from[d], repeats[d], &size))
            refuse("a dimension is repeated {} times", repeats[d]);
        apart.append({1, from[d]});
        repeated.append({repeats[d], from[d]});
        together.push_back(size);
    }
    return {n.b.reshape(n.b.broadcast(n.b.reshape(n[0], apart), repeated), together)};
}

// Elements of a dimension beyond its ends, which an input mirrors or repeats.
Value beyond(Build& b, Value x, int64_t axis, int64_t first, int64_t count, std::string_view mode) {
    const Shape shape = Build::shape_of(x);
    const int64_t size = shape[static_cast<size_t>(axis)];
    const int64_t most = mode == "edge" ? xnn::kElementsMax : mode == "reflect" ? size - 1 : size;
    if (size == 0 || count > most) refuse("padding of {} elements needs more than the {} that are there", count, size);
    if (mode == "edge") {
        Shape wanted = shape;
        wanted[static_cast<size_t>(axis)] = count;
        return b.broadcast(b.narrow(x, axis, first < 0 ? 0 : size - 1, 1), wanted);
    }
    if (mode == "wrap") return b.narrow(x, axis, first < 0 ? size - count : 0, count);
    return b.narrow(x, axis, first < 0 ? count : size - 2, count, -1);
}

Values pad(Node& n) {
    Build& b = n.b;
    const int64_t rank = Build::rank_of(n[0]);
    const std::string mode = n.text("mode", "constant");
    if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
        refuse("the mode {} is not supported", in_quotes(mode));
    const std::optional<Shape> pads = n.attribute_or_input(n.version < 2 ? "paddings" : "pads", 1, 11);
    std::optional<Shape> axes = n.version < 18 ? std::nullopt : n.attribute_or_input("axes", 3, 18);
    if (!axes) {
        axes.emplace(static_cast<size_t>(rank));
        std::iota(axes->begin(), axes->end(), 0);
    }
    if (!pads || pads->size() != 2 * axes->size()) refuse("pads must have two numbers for each axis");
    double value = n.number("value", 0);
    if (n.version >= 11 && n.optional(2)) {
        const std::optional<double> constant = n.splat(n[2]);
        if (!constant) refuse("the value of the padding (input 2) must be a constant");
        value = *constant;
    }
    Shape before(static_cast<size_t>(rank), 0), after(static_cast<size_t>(rank), 0);
    for (size_t i = 0; i < axes->size(); i++) {
        const auto d = static_cast<size_t>(axis_of((*axes)[i], rank));
        before[d] = (*pads)[i];
        after[d] = (*pads)[i + axes->size()];
    }
    Value x = n[0];
    for (int64_t d = 0; d < rank; d++) {
        int64_t& first = before[static_cast<size_t>(d)];
        int64_t& last = after[static_cast<size_t>(d)];
        if (std::min(first, last) < -xnn::kElementsMax || std::max(first, last) > xnn::kElementsMax)
            refuse("padding of {} and {} elements is impossible", first, last);
        // Negative padding removes elements.
        const int64_t size = Build::shape_of(x)[static_cast<size_t>(d)], less = std::max<int64_t>(-first, 0);
        x = b.narrow(x, d, less, size - less - std::max<int64_t>(-last, 0));
        first = std::max<int64_t>(first, 0);
        last = std::max<int64_t>(last, 0);
        if (mode == "constant") continue;
        llvm::SmallVector<Value> parts = {x};
        if (first > 0) parts.insert(parts.begin(), beyond(b, x, d, -1, first, mode));
        if (last > 0) parts.push_back(beyond(b, x, d, 1, last, mode));
        x = b.concat(parts, d);
    }
    return {mode == "constant" ? b.pad(x, before, after, value) : x};
}

// ---- Blocks of pixels -----------------------------------------------------------------------------------------------

int64_t block_of(Node& n) {
    const int64_t block = n.integer("blocksize");
    if (Build::rank_of(n[0]) != 4) refuse("images have four dimensions");
    if (block < 1 || block > 4096) refuse("the blocksize is {}", block);
    return block;
}

Values depth_to_space(Node& n) {
    const int64_t block = block_of(n);
    const Shape s = Build::shape_of(n[0]);
    const std::string mode = n.text("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") refuse("the mode {} is not known", in_quotes(mode));
    if (s[1] % (block * block) != 0) refuse("blocks of {} x {} do not divide {} channels", block, block, s[1]);
    const int64_t depth = s[1] / (block * block);
    const Value x = mode == "DCR"
                        ? n.b.transpose(n.b.reshape(n[0], {s[0], block, block, depth, s[2], s[3]}), {0, 3, 4, 1, 5, 2})
                        : n.b.transpose(n.b.reshape(n[0], {s[0], depth, block, block, s[2], s[3]}), {0, 1, 4, 2, 5, 3});
    return {n.b.reshape(x, {s[0], depth, s[2] * block, s[3] * block})};
}

Values space_to_depth(Node& n) {
    const int64_t block = block_of(n);
    const Shape s = Build::shape_of(n[0]);
    if (s[2] % block != 0 || s[3] % block != 0)
        refuse("blocks of {} x {} do not divide images of {} x {}", block, block, s[2], s[3]);
    const Value apart = n.b.reshape(n[0], {s[0], s[1], s[2] / block, block, s[3] / block, block});
    return {n.b.reshape(n.b.transpose(apart, {0, 3, 5, 1, 2, 4}),
                        {s[0], s[1] * block * block, s[2] / block, s[3] / block})};
}

// ---- Constants ------------------------------------------------------------------------------------------------------

Values shape(Node& n) {
    const Shape all = Build::shape_of(n[0]);
    const auto rank = static_cast<int64_t>(all.size());
    const Range range = range_of_slice(n.integer("start", 0), n.integer("end", rank), 1, rank);
    return {
        n.b.integers(llvm::ArrayRef(all).slice(static_cast<size_t>(range.start), static_cast<size_t>(range.count)))};
}

Values size(Node& n) { return {n.b.reshape(n.b.integers({Build::type_of(n[0]).getNumElements()}), {})}; }

Values constant(Node& n) {
    Build& b = n.b;
    if (const onnx::TensorProto* const tensor = n.tensor("value")) return {n.constant(*tensor)};
    if (n.has("value_int")) return {b.reshape(b.integers({n.integer("value_int")}), {})};
    if (n.has("value_ints")) return {b.integers(n.integers("value_ints"))};
    if (n.has("value_float")) return {b.splat(n.number("value_float", 0), b.f32())};
    if (n.has("value_floats")) return {b.floats(n.numbers("value_floats"))};
    refuse("the constant is no tensor of numbers");
}

Values constant_of_shape(Node& n) {
    const Shape wanted = n.constant_integers(0, "the shape");
    const onnx::TensorProto* const value = n.tensor("value");
    const Value one = value ? n.constant(*value) : n.b.splat(0, n.b.f32());
    return {n.b.broadcast(n.b.reshape(one, {}), wanted)};
}

// The longest range.
constexpr int64_t kRangeMax = 1 << 20;

Values range(Node& n) {
    static constexpr const char* kNames[] = {"start", "limit", "delta"};
    std::optional<Elements> all[3];
    for (size_t i = 0; i < 3; i++) {
        all[i] = n.elements(n[i]);
        if (!all[i] || all[i]->type.getNumElements() != 1 || all[i]->numbers.index() != all[0]->numbers.index())
            refuse(
                "{} (input {}) must be a constant of one number, and all of one type; export the model with "
                "constant shapes",
                kNames[i], i);
    }
    return std::visit(
        [&]<typename Numbers>(const Numbers& start) -> Values {
            using Number = typename Numbers::value_type;
            const Number first = start[0], step = std::get<Numbers>(all[2]->numbers)[0];
            if (step == 0) refuse("delta (input 2) is 0");
            const double steps =
                std::ceil((static_cast<double>(std::get<Numbers>(all[1]->numbers)[0]) - static_cast<double>(first)) /
                          static_cast<double>(step));
            if (!(steps <= static_cast<double>(kRangeMax))) refuse("the range has more than {} elements", kRangeMax);
            Numbers numbers;
            for (int64_t i = 0; static_cast<double>(i) < steps; i++)
                numbers.push_back(first + static_cast<Number>(i) * step);
            const mlir::Type type = all[0]->type.getElementType();
            return {n.b.constant(Elements{n.b.tensor({static_cast<int64_t>(numbers.size())}, type), numbers})};
        },
        all[0]->numbers);
}

constexpr Operator kOperators[] = {
    {"Concat", 1, 21, concat},
    {"Constant", 1, 21, constant},
    {"ConstantOfShape", 9, 21, constant_of_shape},
    {"DepthToSpace", 1, 21, depth_to_space},
    {"Expand", 8, 21, expand},
    {"Flatten", 1, 21, flatten},
    {"Pad", 1, 21, pad},
    {"Range", 11, 21, range},
    {"Reshape", 1, 21, reshape},
    {"Shape", 1, 21, shape},
    {"Size", 1, 21, size},
    {"Slice", 1, 21, slice},
    {"SpaceToDepth", 1, 21, space_to_depth},
    {"Split", 1, 21, split},
    {"Squeeze", 1, 21, squeeze},
    {"Tile", 6, 21, tile},
    {"Transpose", 1, 21, transpose},
    {"Unsqueeze", 1, 21, unsqueeze},
};

}  // namespace

std::span<const Operator> shape_operators() { return kOperators; }

}  // namespace sidra::compiler
