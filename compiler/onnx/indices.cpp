// SPDX-License-Identifier: MIT
// Operators that choose elements by their index, or compute with it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "common.h"
#include "shapes.h"

namespace sidra::compiler {

using xnn::axis_of;
using xnn::Binary;
using xnn::Elements;
using xnn::Unary;

namespace {

// The longest list of indices that the importer writes down.
constexpr int64_t kListMax = 1 << 22;

void require_short(int64_t size) {
    if (size > kListMax) refuse("a list of {} indices is too long; at most {} are possible", size, kListMax);
}

std::optional<Shape> known(Node& n, Value indices) {
    const std::optional<Elements> all = n.elements(indices, kListMax);
    const auto* const numbers = all ? std::get_if<Elements::Integers>(&all->numbers) : nullptr;
    return numbers ? std::optional(Shape(numbers->begin(), numbers->end())) : std::nullopt;
}

bool has_twice(Shape numbers) {
    std::ranges::sort(numbers);
    return std::ranges::adjacent_find(numbers) != numbers.end();
}

int64_t index_of(int64_t index, int64_t size) {
    if (index < -size || index >= size) refuse("there is no index {} in a dimension of {} elements", index, size);
    return index < 0 ? index + size : index;
}

// Indices that may count from the end, from the start.
Value from_start(Node& n, Value indices, int64_t size) {
    Build& b = n.b;
    if (std::optional<Shape> numbers = known(n, indices)) {
        for (int64_t& index : *numbers) index = index_of(index, size);
        return b.constant(Elements{b.tensor(Build::shape_of(indices), b.integer(64)),
                                   Elements::Integers(numbers->begin(), numbers->end())});
    }
    return b.select(b.binary(Binary::lt, indices, 0), b.add(indices, static_cast<double>(size)), indices);
}

// The index along one axis, in a shape that broadcasts to `shape`, times a number.
Value index_along(Build& b, llvm::ArrayRef<int64_t> shape, int64_t axis, int64_t times, mlir::Type type) {
    Shape ones(shape.size(), 1);
    ones[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
    return b.mul(b.cast(b.iota(ones, axis), type), static_cast<double>(times));
}

int64_t count_of(llvm::ArrayRef<int64_t> shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

Values gather(Node& n) {
    Build& b = n.b;
    const Shape from = Build::shape_of(n[0]), wanted = Build::shape_of(n[1]);
    const int64_t axis = axis_of(n.integer("axis", 0), static_cast<int64_t>(from.size()));
    const int64_t size = from[static_cast<size_t>(axis)];
    Shape result(from.begin(), from.begin() + axis);
    llvm::append_range(result, wanted);
    llvm::append_range(result, llvm::ArrayRef(from).drop_front(static_cast<size_t>(axis) + 1));
    if (std::optional<Shape> numbers = known(n, n[1])) {
        for (int64_t& index : *numbers) index = index_of(index, size);
        return {b.reshape(b.take(n[0], *numbers, axis), result)};
    }
    // The dimensions of the indices are first; those before the axis belong before them.
    const Value rows = b.gather(b.move_axis(n[0], axis, 0), from_start(n, n[1], size));
    Shape permutation(result.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    std::rotate(permutation.begin(), permutation.begin() + static_cast<std::ptrdiff_t>(wanted.size()),
                permutation.begin() + static_cast<std::ptrdiff_t>(wanted.size()) + axis);
    return {b.transpose(rows, permutation)};
}

// The number of each chosen element in the whole input.
Value element_numbers(Node& n, int64_t axis) {
    Build& b = n.b;
    const Shape from = Build::shape_of(n[0]), wanted = Build::shape_of(n[1]);
    if (from.size() != wanted.size())
        refuse("the indices have {} dimensions, the input {}", wanted.size(), from.size());
    const llvm::SmallVector<int64_t> strides = xnn::dense_strides(from);
    const mlir::Type type = b.integer(64);
    Value sum = b.mul(b.cast(from_start(n, n[1], from[static_cast<size_t>(axis)]), type),
                      static_cast<double>(strides[static_cast<size_t>(axis)]));
    for (size_t d = 0; d < from.size(); d++) {
        if (static_cast<int64_t>(d) == axis) continue;
        if (wanted[d] > from[d]) refuse("the indices are larger than the input in dimension {}", d);
        sum = b.add(sum, index_along(b, wanted, static_cast<int64_t>(d), strides[d], type));
    }
    return sum;
}

Values gather_elements(Node& n) {
    const int64_t axis = axis_of(n.integer("axis", 0), Build::rank_of(n[0]));
    return {n.b.gather(n.b.reshape(n[0], {Build::type_of(n[0]).getNumElements()}), element_numbers(n, axis))};
}

// The numbers of the rows that indices of several dimensions (the last one) choose, after `batch` dimensions.
struct Rows {
    Value numbers;
    size_t chosen;
};

Rows row_numbers(Node& n, size_t batch) {
    Build& b = n.b;
    const Shape from = Build::shape_of(n[0]), wanted = Build::shape_of(n[1]);
    if (wanted.size() <= batch || from.size() <= batch) refuse("there are {} batch dimensions", batch);
    const auto depth = static_cast<size_t>(wanted.back());
    if (depth > from.size() - batch || depth == 0)
        refuse("indices of {} numbers for {} dimensions", depth, from.size());
    const size_t chosen = batch + depth;
    const llvm::SmallVector<int64_t> strides = xnn::dense_strides(llvm::ArrayRef(from).take_front(chosen));
    Value sum;
    const Shape outer(wanted.begin(), wanted.end() - 1);
    for (size_t d = batch; d < chosen; d++) {
        const Value column = b.narrow(n[1], -1, static_cast<int64_t>(d - batch), 1);
        const Value part = b.mul(from_start(n, b.reshape(column, outer), from[d]), static_cast<double>(strides[d]));
        sum = sum ? b.add(sum, part) : part;
    }
    for (size_t d = 0; d < batch; d++) {
        if (wanted[d] != from[d]) refuse("the indices have another size in dimension {}", d);
        sum = b.add(sum, index_along(b, outer, static_cast<int64_t>(d), strides[d], Build::element_of(sum)));
    }
    return {sum, chosen};
}

// The input as rows that have a number: `outer` dimensions become one.
Value as_rows(Build& b, Value input, size_t outer) {
    const Shape from = Build::shape_of(input);
    Shape shape = {count_of(llvm::ArrayRef(from).take_front(outer))};
    llvm::append_range(shape, llvm::ArrayRef(from).drop_front(outer));
    return b.reshape(input, shape);
}

Values gather_nd(Node& n) {
    const int64_t batch = n.integer("batch_dims", 0);
    if (batch < 0 || batch >= xnn::kRankMax) refuse("batch_dims is {}", batch);
    const Rows rows = row_numbers(n, static_cast<size_t>(batch));
    return {n.b.gather(as_rows(n.b, n[0], rows.chosen), rows.numbers)};
}

// The reductions of a scatter: as operations of the chip, and as parameters of the host's function.
struct ScatterReduction {
    std::string_view name;
    int64_t parameter;
    Binary function;
};
constexpr ScatterReduction kReductions[] = {{"none", 0, {}},
                                            {"add", 1, Binary::add},
                                            {"mul", 2, Binary::mul},
                                            {"max", 3, Binary::max},
                                            {"min", 4, Binary::min}};

// Rows of `data`, but those with the numbers are updates. The chip writes nowhere by index, so the host does, unless
// the numbers are constant and different.
Value scatter(Node& n, Value data, Value numbers, Value updates) {
    Build& b = n.b;
    numbers = b.reshape(numbers, {Build::type_of(numbers).getNumElements()});
    const Shape shape = Build::shape_of(data);
    const int64_t count = Build::shape_of(numbers)[0];
    if (Build::shape_of(updates)[0] != count)
        refuse("there are {} updates for {} indices", Build::shape_of(updates)[0], count);
    const std::string name = n.text("reduction", "none");
    const auto* const reduction = std::ranges::find(kReductions, name, &ScatterReduction::name);
    if (reduction == std::end(kReductions)) refuse("the reduction {} is not known", in_quotes(name));
    const std::optional<Shape> targets = shape[0] <= kListMax ? known(n, numbers) : std::nullopt;
    if (!targets || has_twice(*targets)) {
        const int64_t columns = count_of(llvm::ArrayRef(shape).drop_front());
        const auto on_host = [&](Value wide) {
            const Value inputs[] = {b.reshape(wide, {shape[0], columns}), numbers,
                                    b.reshape(b.cast(updates, Build::element_of(wide)), {count, columns})};
            return b.reshape(
                b.host("scatter", inputs, {shape[0], columns}, Build::element_of(wide), {reduction->parameter}), shape);
        };
        if (reduction->parameter == 0 || !Build::is_float(data)) return on_host(data);
        return in_f32(b, data, on_host);
    }
    Shape source(static_cast<size_t>(shape[0]));
    std::iota(source.begin(), source.end(), 0);
    for (size_t i = 0; i < targets->size(); i++)
        source[static_cast<size_t>(index_of((*targets)[i], shape[0]))] = shape[0] + static_cast<int64_t>(i);
    if (reduction->parameter != 0) updates = b.binary(reduction->function, b.take(data, *targets, 0), updates);
    return b.take(b.concat({data, updates}, 0), source, 0);
}

Values scatter_elements(Node& n) {
    Build& b = n.b;
    const int64_t axis = axis_of(n.integer("axis", 0), Build::rank_of(n[0]));
    const auto flat = [&](Value value) { return b.reshape(value, {Build::type_of(value).getNumElements()}); };
    if (Build::shape_of(n[2]) != Build::shape_of(n[1])) refuse("there must be an update for each index");
    return {b.reshape(scatter(n, flat(n[0]), flat(element_numbers(n, axis)), flat(n[2])), Build::shape_of(n[0]))};
}

Values scatter_nd(Node& n) {
    Build& b = n.b;
    const Rows rows = row_numbers(n, 0);
    const size_t outer = Build::shape_of(rows.numbers).size();
    if (Build::shape_of(n[2]).size() < outer) refuse("the updates have too few dimensions");
    const Value result = scatter(n, as_rows(b, n[0], rows.chosen), rows.numbers, as_rows(b, n[2], outer));
    return {b.reshape(result, Build::shape_of(n[0]))};
}

Values one_hot(Node& n) {
    Build& b = n.b;
    const std::optional<double> depth = n.splat(n[1]);
    if (!depth || !(*depth >= 1) || *depth > INT32_MAX) refuse("the depth (input 1) must be a constant of at least 1");
    const auto size = static_cast<int64_t>(*depth);
    const int64_t rank = Build::rank_of(n[0]) + 1, axis = axis_of(n.integer("axis", -1), rank);
    Value indices = b.cast(n[0], b.integer(32));
    indices = b.select(b.binary(Binary::lt, indices, 0), b.add(indices, static_cast<double>(size)), indices);
    Shape spread = Build::shape_of(indices), places(static_cast<size_t>(rank), 1);
    spread.insert(spread.begin() + axis, 1);
    places[static_cast<size_t>(axis)] = size;
    const Value hot = b.binary(Binary::eq, b.reshape(indices, spread), b.iota(places, axis));
    const auto value = [&](int64_t i) { return b.reshape(b.narrow(n[2], 0, i, 1), {}); };
    return {b.select(hot, value(1), value(0))};
}

Values compress(Node& n) {
    Build& b = n.b;
    const Shape condition = n.constant_integers(1, "the condition");
    const Value x = n.has("axis") ? n[0] : b.reshape(n[0], {Build::type_of(n[0]).getNumElements()});
    Shape chosen;
    for (size_t i = 0; i < condition.size(); i++)
        if (condition[i] != 0) chosen.push_back(static_cast<int64_t>(i));
    return {b.take(x, chosen, n.integer("axis", 0))};
}

Values non_zero(Node& n) {
    const std::optional<Elements> all = n.elements(n[0]);
    if (!all) refuse("the shape of its result depends on the values of its input, which must be a constant");
    const Shape shape = Build::shape_of(n[0]);
    const llvm::SmallVector<int64_t> strides = xnn::dense_strides(shape);
    std::vector<size_t> found;
    std::visit(
        [&](const auto& numbers) {
            for (size_t i = 0; i < numbers.size(); i++)
                if (numbers[i] != 0) found.push_back(i);
        },
        all->numbers);
    Elements::Integers places;
    for (size_t d = 0; d < shape.size(); d++)
        for (const size_t i : found) places.push_back(static_cast<int64_t>(i) / strides[d] % shape[d]);
    return {n.b.constant(
        Elements{n.b.tensor({static_cast<int64_t>(shape.size()), static_cast<int64_t>(found.size())}, n.b.integer(64)),
                 std::move(places)})};
}

Values reverse_sequence(Node& n) {
    Build& b = n.b;
    const int64_t rank = Build::rank_of(n[0]);
    const int64_t batch = axis_of(n.integer("batch_axis", 1), rank), time = axis_of(n.integer("time_axis", 0), rank);
    if (batch == time || batch > 1 || time > 1) refuse("the axes of batch and time must be 0 and 1");
    const Value x = time == 0 ? n[0] : b.move_axis(n[0], 1, 0);
    const Shape shape = Build::shape_of(x), lengths = n.constant_integers(1, "sequence_lens");
    require_short(count_of({shape[0], shape[1]}));
    if (static_cast<int64_t>(lengths.size()) != shape[1])
        refuse("there are {} lengths for {} sequences", lengths.size(), shape[1]);
    Shape source;
    for (int64_t t = 0; t < shape[0]; t++)
        for (int64_t i = 0; i < shape[1]; i++) {
            const int64_t length = lengths[static_cast<size_t>(i)];
            if (length < 0 || length > shape[0]) refuse("a sequence has the length {}", length);
            source.push_back((t < length ? length - 1 - t : t) * shape[1] + i);
        }
    const Value reversed = b.reshape(b.take(as_rows(b, x, 2), source, 0), shape);
    return {time == 0 ? reversed : b.move_axis(reversed, 0, 1)};
}

// ---- Computing with the index ---------------------------------------------------------------------------------------

Values trilu(Node& n) {
    Build& b = n.b;
    const Shape shape = Build::shape_of(n[0]);
    if (shape.size() < 2) refuse("the input must have at least two dimensions");
    const int64_t shift =
        n.optional(1) ? std::clamp<int64_t>(n.constant_integer(1, "k"), INT32_MIN / 2, INT32_MAX / 2) : 0;
    const Value row = b.add(b.iota({shape[shape.size() - 2], 1}, 0), static_cast<double>(shift));
    const Value column = b.iota({1, shape.back()}, 1);
    const Value kept = n.flag("upper", true) ? b.binary(Binary::le, row, column) : b.binary(Binary::le, column, row);
    return {b.select(kept, n[0], b.number(0, n[0]))};
}

Values eye_like(Node& n) {
    Build& b = n.b;
    const Shape shape = Build::shape_of(n[0]);
    if (shape.size() != 2) refuse("the input must be a matrix");
    const mlir::Type type = n.has("dtype") ? n.type("dtype", 0) : Build::element_of(n[0]);
    const auto shift = static_cast<double>(std::clamp<int64_t>(n.integer("k", 0), INT32_MIN / 2, INT32_MAX / 2));
    const Value row = b.add(b.iota({shape[0], 1}, 0), shift);
    return {b.cast(b.binary(Binary::eq, row, b.iota({1, shape[1]}, 1)), type)};
}

Values cum_sum(Node& n) {
    Build& b = n.b;
    const int64_t axis = n.constant_integer(1, "the axis");
    return {on_axis(b, n[0], axis, [&](Value x) {
        if (n.flag("reverse")) x = b.flip(x, -1);
        x = b.scan(x);
        if (n.flag("exclusive")) {
            const int64_t size = Build::shape_of(x).back();
            Shape before(Build::shape_of(x).size(), 0), after = before;
            before.back() = size > 0;
            x = b.pad(b.narrow(x, -1, 0, size - before.back()), before, after);
        }
        return n.flag("reverse") ? b.flip(x, -1) : x;
    })};
}

Values top_k(Node& n) {
    Build& b = n.b;
    const int64_t count = n.version < 10 ? n.integer("k") : n.constant_integer(1, "k");
    const int64_t rank = Build::rank_of(n[0]), axis = axis_of(n.integer("axis", -1), rank);
    const auto [values, places] = b.sort(b.move_axis(n[0], axis, -1), count, n.flag("largest", true));
    return {b.move_axis(values, -1, axis), b.move_axis(places, -1, axis)};
}

// ---- Resize ---------------------------------------------------------------------------------------------------------

// Each element of a resized dimension is a sum of elements of the input, with weights.
struct Tap {
    Shape indices;
    std::vector<float> weights;
};

struct Taps {
    std::vector<Tap> list;
    std::vector<float> outside;  // what elements beyond the input are; empty: there are none
};

struct Resizing {
    std::string mode, coordinates, nearest;
    double cubic = -0.75;
    bool exclude_outside = false;
    std::vector<float> region;  // of tf_crop_and_resize: where it starts and ends in each axis
    float outside = 0;          // the value of elements beyond the input
};

// Where element `to` of a resized dimension lies in the input; `axis`: its number among those that are resized.
double coordinate(const Resizing& how, size_t axis, int64_t to, int64_t size, int64_t resized, double scale) {
    // What the scale makes of the size, before it is rounded down.
    const double length = scale * static_cast<double>(size);
    const auto x = static_cast<double>(to);
    if (how.coordinates == "half_pixel") return (x + 0.5) / scale - 0.5;
    if (how.coordinates == "pytorch_half_pixel") return resized > 1 ? (x + 0.5) / scale - 0.5 : 0;
    if (how.coordinates == "asymmetric") return x / scale;
    if (how.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / scale;
    if (how.coordinates == "align_corners") return length > 1 ? x * static_cast<double>(size - 1) / (length - 1) : 0;
    if (how.coordinates == "tf_crop_and_resize") {
        const auto first = static_cast<double>(how.region[axis]),
                   last = static_cast<double>(how.region[how.region.size() / 2 + axis]);
        const auto span = static_cast<double>(size - 1);
        if (resized == 1) return 0.5 * (first + last) * span;
        return first * span + x * (last - first) * span / static_cast<double>(resized - 1);
    }
    if (how.coordinates == "half_pixel_symmetric") {
        const double adjustment = static_cast<double>(resized) / length;
        const double center = static_cast<double>(size) / 2;
        return center * (1 - adjustment) + (x + 0.5) / scale - 0.5;
    }
    refuse("the coordinate transformation {} is not supported", in_quotes(how.coordinates));
}

double nearest(const Resizing& how, double x) {
    if (how.nearest == "round_prefer_floor") return std::ceil(x - 0.5);
    if (how.nearest == "round_prefer_ceil") return std::floor(x + 0.5);
    if (how.nearest == "floor") return std::floor(x);
    if (how.nearest == "ceil") return std::ceil(x);
    refuse("the nearest_mode {} is not known", in_quotes(how.nearest));
}

// The weights of the elements around a point that is `part` behind the one before it.
std::vector<double> weights_at(const Resizing& how, double part) {
    if (how.mode == "linear") return {1 - part, part};
    const double a = how.cubic;
    const auto near = [a](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    const auto far = [a](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    return {far(part + 1), near(part), near(1 - part), far(2 - part)};
}

Taps taps_of(const Resizing& how, size_t axis, int64_t size, int64_t resized, double scale) {
    const size_t count = how.mode == "nearest" ? 1 : how.mode == "linear" ? 2 : 4;
    std::vector<Tap> taps(count);
    std::vector<float> outside(static_cast<size_t>(resized));
    bool any_outside = false;
    for (int64_t to = 0; to < resized; to++) {
        const double x = coordinate(how, axis, to, size, resized, scale);
        const bool is_outside = !how.region.empty() && (x < 0 || x > static_cast<double>(size - 1));
        if (is_outside) outside[static_cast<size_t>(to)] = how.outside;
        any_outside = any_outside || is_outside;
        double first = how.mode == "nearest" ? nearest(how, x) : std::floor(x);
        std::vector<double> weights = count == 1 ? std::vector<double>{1} : weights_at(how, x - first);
        if (count == 4) first--;
        double sum = 0;
        for (size_t i = 0; i < count; i++) {
            const double at = first + static_cast<double>(i);
            if (how.exclude_outside && (at < 0 || at >= static_cast<double>(size))) weights[i] = 0;
            sum += weights[i];
        }
        for (size_t i = 0; i < count; i++) {
            const double at = std::clamp(first + static_cast<double>(i), 0.0, static_cast<double>(size - 1));
            taps[i].indices.push_back(static_cast<int64_t>(at));
            taps[i].weights.push_back(is_outside ? 0 : static_cast<float>(weights[i] / sum));
        }
    }
    if (!any_outside) outside.clear();
    return {taps, outside};
}

// Each element several times, without a list of indices.
Value repeated(Build& b, Value x, int64_t axis, int64_t times) {
    const auto d = static_cast<size_t>(axis);
    Shape apart = Build::shape_of(x), together = apart;
    apart.insert(apart.begin() + axis + 1, 1);
    together[d] *= times;
    const Value column = b.reshape(x, apart);
    apart[d + 1] = times;
    return b.reshape(b.broadcast(column, apart), together);
}

Value resize_axis(Build& b, Value x, int64_t axis, const Taps& all) {
    const std::vector<Tap>& taps = all.list;
    const int64_t size = Build::shape_of(x)[static_cast<size_t>(axis)];
    const auto resized = static_cast<int64_t>(taps[0].indices.size());
    if (taps.size() == 1 && all.outside.empty()) {
        const int64_t times = resized / size;
        bool regular = resized == size * times;
        for (int64_t i = 0; regular && i < resized; i++) regular = taps[0].indices[static_cast<size_t>(i)] == i / times;
        return regular ? repeated(b, x, axis, times) : b.take(x, taps[0].indices, axis);
    }
    Value sum;
    for (const Tap& tap : taps) {
        const Value weights = along_axis(b, b.floats(tap.weights), axis, Build::rank_of(x));
        const Value part = b.mul(b.take(x, tap.indices, axis), weights);
        sum = sum ? b.add(sum, part) : part;
    }
    return all.outside.empty() ? sum : b.add(sum, along_axis(b, b.floats(all.outside), axis, Build::rank_of(x)));
}

Value resize_to(Node& n, const Resizing& how, const std::vector<float>& scales, const Shape& sizes, const Shape& axes) {
    const Shape from = Build::shape_of(n[0]);
    if ((sizes.empty() ? scales.size() : sizes.size()) != axes.size())
        refuse("there must be a scale or a size for each axis");
    const auto resize_all = [&](Value x) {
        for (size_t i = 0; i < axes.size(); i++) {
            const int64_t axis = axis_of(axes[i], static_cast<int64_t>(from.size()));
            const int64_t size = from[static_cast<size_t>(axis)];
            if (size == 0) refuse("dimension {} is empty", axis);
            const double whole =
                sizes.empty() ? std::floor(static_cast<float>(size) * scales[i]) : static_cast<double>(sizes[i]);
            if (!(whole >= 1) || whole > static_cast<double>(kListMax))
                refuse("dimension {} cannot have {} elements", axis, whole);
            const auto resized = static_cast<int64_t>(whole);
            const double scale = sizes.empty() ? static_cast<double>(scales[i]) : whole / static_cast<double>(size);
            if (resized != size || scale != 1 || !how.region.empty())
                x = resize_axis(n.b, x, axis, taps_of(how, i, size, resized, scale));
        }
        return x;
    };
    return how.mode == "nearest" && how.region.empty() ? resize_all(n[0]) : in_f32(n.b, n[0], resize_all);
}

Shape all_axes(Node& n) {
    Shape axes(static_cast<size_t>(Build::rank_of(n[0])));
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
}

Values resize(Node& n) {
    Resizing how;
    how.mode = n.text("mode", "nearest");
    if (how.mode != "nearest" && how.mode != "linear" && how.mode != "cubic")
        refuse("the mode {} is not supported", in_quotes(how.mode));
    if (n.version < 11) {
        how.coordinates = "asymmetric";
        how.nearest = "floor";
        return {resize_to(n, how, n.constant_floats(1, "scales"), {}, all_axes(n))};
    }
    how.coordinates = n.text("coordinate_transformation_mode", "half_pixel");
    how.nearest = n.text("nearest_mode", "round_prefer_floor");
    how.cubic = n.number("cubic_coeff_a", -0.75F);
    how.exclude_outside = n.flag("exclude_outside");
    n.only("antialias", 0);
    if (n.text("keep_aspect_ratio_policy", "stretch") != "stretch")
        refuse("only the keep_aspect_ratio_policy 'stretch' is supported");
    const Shape axes = n.has("axes") ? n.integers("axes") : all_axes(n);
    if (how.coordinates == "tf_crop_and_resize") {
        how.region = n.constant_floats(1, "roi");
        how.outside = n.number("extrapolation_value", 0);
        if (how.region.size() != 2 * axes.size()) refuse("roi must have a start and an end for each axis");
    }
    std::vector<float> scales;
    if (n.optional(2)) scales = n.constant_floats(2, "scales");
    const Shape sizes = scales.empty() ? n.constant_integers(3, "sizes") : Shape();
    return {resize_to(n, how, scales, sizes, axes)};
}

Values upsample(Node& n) {
    Resizing how;
    how.mode = n.text("mode", "nearest");
    if (how.mode != "nearest" && how.mode != "linear") refuse("the mode {} is not supported", in_quotes(how.mode));
    how.coordinates = "asymmetric";
    how.nearest = "floor";
    return {resize_to(n, how, n.version < 9 ? n.numbers("scales") : n.constant_floats(1, "scales"), {}, all_axes(n))};
}

// ---- Sequences of numbers ------------------------------------------------------------------------------------------

// How often each sequence of a pool is in a row, with weights.
Values tf_idf(Node& n) {
    Build& b = n.b;
    const Value numbers = n[0];
    const Shape shape = Build::shape_of(numbers);
    if (shape.empty() || shape.size() > 2) refuse("the input must be a row, or several");
    if (n.has("pool_strings")) refuse("the chip has no strings");
    const Shape pool = n.integers("pool_int64s"), columns = n.integers("ngram_indexes");
    if (columns.empty()) refuse("the attribute ngram_indexes is missing");
    const int64_t width = std::ranges::max(columns) + 1;
    if (std::ranges::min(columns) < 0 || width > kListMax) refuse("a number of ngram_indexes is out of range");
    Shape parameters = {n.integer("min_gram_length"), n.integer("max_gram_length"), n.integer("max_skip_count")};
    llvm::append_range(parameters, n.integers("ngram_counts"));
    const Shape rows = shape.size() == 1 ? Shape{1, shape[0]} : shape;
    const Value inputs[] = {b.reshape(numbers, rows), b.cast(b.integers(pool), Build::element_of(numbers)),
                            b.integers(columns)};
    Value counts = b.host("ngrams", inputs, {rows[0], width}, b.f32(), parameters);
    const std::string mode = n.text("mode", "");
    if (mode != "TF" && mode != "IDF" && mode != "TFIDF") refuse("the mode {} is not known", in_quotes(mode));
    if (mode == "IDF") counts = b.min(counts, 1);
    if (const std::vector<float> weights = n.numbers("weights"); mode != "TF" && !weights.empty()) {
        if (weights.size() != columns.size())
            refuse("there are {} weights for {} sequences", weights.size(), columns.size());
        std::vector<float> by_column(static_cast<size_t>(width), 1);
        for (size_t i = 0; i < weights.size(); i++) by_column[static_cast<size_t>(columns[i])] = weights[i];
        counts = b.mul(counts, b.floats(by_column));
    }
    return {shape.size() == 1 ? b.reshape(counts, {width}) : counts};
}

constexpr Operator kOperators[] = {
    {"Compress", 9, 21, compress},
    {"CumSum", 11, 21, cum_sum},
    {"EyeLike", 9, 21, eye_like},
    {"Gather", 1, 21, gather},
    {"GatherElements", 11, 21, gather_elements},
    {"GatherND", 11, 21, gather_nd},
    {"NonZero", 9, 21, non_zero},
    {"OneHot", 9, 21, one_hot},
    {"Resize", 10, 21, resize},
    {"ReverseSequence", 10, 21, reverse_sequence},
    {"Scatter", 9, 10, scatter_elements},
    {"ScatterElements", 11, 21, scatter_elements},
    {"ScatterND", 11, 21, scatter_nd},
    {"TfIdfVectorizer", 9, 21, tf_idf},
    {"TopK", 1, 21, top_k},
    {"Trilu", 14, 21, trilu},
    {"Upsample", 7, 9, upsample},
};

}  // namespace

std::span<const Operator> index_operators() { return kOperators; }

}  // namespace sidra::compiler
