// SPDX-License-Identifier: MIT
#include "evaluate.h"

#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/TypeSwitch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "host_call.h"
#include "shapes.h"
#include "values/read.h"
#include "xnn.h"

namespace sidra::xnn {

namespace {

using Floats = Elements::Floats;
using Integers = Elements::Integers;
using Shape = llvm::ArrayRef<int64_t>;

size_t count_of(mlir::RankedTensorType type) { return static_cast<size_t>(type.getNumElements()); }

llvm::APFloat in_type(float number, mlir::Type type) {
    llvm::APFloat value(number);
    bool inexact;
    value.convert(mlir::cast<mlir::FloatType>(type).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return value;
}

float to_float(llvm::APFloat value) {
    bool inexact;
    value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return value.convertToFloat();
}

// Calls visit(offset) for each element of `shape` in order; a step in dimension d adds strides[d] to the offset.
template <typename Visit>
void walk(Shape shape, int64_t offset, Shape strides, Visit visit) {
    if (llvm::is_contained(shape, 0)) return;
    llvm::SmallVector<int64_t> at(shape.size());
    while (true) {
        visit(static_cast<size_t>(offset));
        size_t d = shape.size();
        while (d > 0 && at[d - 1] + 1 == shape[d - 1]) {
            d--;
            offset -= at[d] * strides[d];
            at[d] = 0;
        }
        if (d == 0) return;
        at[d - 1]++;
        offset += strides[d - 1];
    }
}

// The strides with which an array of `shape` repeats its elements in a result of the rank `rank`.
llvm::SmallVector<int64_t> repeating_strides(Shape shape, size_t rank) {
    llvm::SmallVector<int64_t> strides = dense_strides(shape);
    for (size_t d = 0; d < shape.size(); d++)
        if (shape[d] == 1) strides[d] = 0;
    strides.insert(strides.begin(), rank - shape.size(), 0);
    return strides;
}

// The elements of the result, each somewhere in the input.
Elements view(const Elements& input, mlir::RankedTensorType type, int64_t offset, Shape strides) {
    return {type, std::visit(
                      [&]<typename Numbers>(const Numbers& from) -> decltype(Elements::numbers) {
                          Numbers to;
                          to.reserve(count_of(type));
                          walk(type.getShape(), offset, strides, [&](size_t i) { to.push_back(from[i]); });
                          return to;
                      },
                      input.numbers)};
}

Elements repeat(const Elements& input, mlir::RankedTensorType type) {
    const auto rank = static_cast<size_t>(type.getRank());
    return view(input, type, 0, repeating_strides(input.type.getShape(), rank));
}

Elements repeat(const Elements& input, Shape shape) { return repeat(input, input.type.clone(shape)); }

// ---- Functions of elements ------------------------------------------------------------------------------------------

std::optional<float> unary(Unary function, float x) {
    switch (function) {
        case Unary::neg:
            return -x;
        case Unary::abs:
            return std::fabs(x);
        case Unary::sqrt:
            return std::sqrt(x);
        case Unary::rsqrt:
            return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
        case Unary::floor:
            return std::floor(x);
        case Unary::ceil:
            return std::ceil(x);
        case Unary::round:
            return std::nearbyint(x);
        case Unary::trunc:
            return std::trunc(x);
        default:
            break;
    }
    const double d = x;
    const auto smooth = [&]() -> std::optional<double> {
        switch (function) {
            case Unary::exp:
                return std::exp(d);
            case Unary::log:
                return std::log(d);
            case Unary::erf:
                return std::erf(d);
            case Unary::tanh:
                return std::tanh(d);
            case Unary::sigmoid:
                return 1 / (1 + std::exp(-d));
            case Unary::silu:
                return d / (1 + std::exp(-d));
            case Unary::gelu:
                return 0.5 * d * (1 + std::erf(d * M_SQRT1_2));
            case Unary::gelu_tanh:
                return 0.5 * d * (1 + std::tanh(M_2_SQRTPI * M_SQRT1_2 * (d + 0.044715 * d * d * d)));
            case Unary::sin:
                return std::sin(d);
            case Unary::cos:
                return std::cos(d);
            default:
                return std::nullopt;
        }
    }();
    return smooth ? std::optional(static_cast<float>(*smooth)) : std::nullopt;
}

int64_t wrap(uint64_t x) { return static_cast<int64_t>(x); }

std::optional<int64_t> unary(Unary function, int64_t x) {
    switch (function) {
        case Unary::neg:
            return wrap(-static_cast<uint64_t>(x));
        case Unary::abs:
            return x < 0 ? wrap(-static_cast<uint64_t>(x)) : x;
        case Unary::floor:
        case Unary::ceil:
        case Unary::round:
        case Unary::trunc:
            return x;
        case Unary::invert:
            return ~x;
        default:
            return std::nullopt;
    }
}

template <typename Number>
std::optional<bool> compare(Binary function, Number a, Number b) {
    switch (function) {
        case Binary::lt:
            return a < b;
        case Binary::le:
            return a <= b;
        case Binary::eq:
            return a == b;
        case Binary::ne:
            return a != b;
        default:
            return std::nullopt;
    }
}

// Of two numbers one is NaN, or both are zeros: their order is not that of `<`.
bool is_less(float a, float b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }

std::optional<float> binary(Binary function, float a, float b, mlir::Type) {
    if ((function == Binary::max || function == Binary::min) && (std::isnan(a) || std::isnan(b)))
        return std::numeric_limits<float>::quiet_NaN();
    switch (function) {
        case Binary::add:
            return a + b;
        case Binary::sub:
            return a - b;
        case Binary::mul:
            return a * b;
        case Binary::div:
            return a / b;
        case Binary::max:
            return is_less(a, b) ? b : a;
        case Binary::min:
            return is_less(a, b) ? a : b;
        default:
            return std::nullopt;
    }
}

std::optional<int64_t> binary(Binary function, int64_t a, int64_t b, mlir::Type type) {
    const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    const unsigned bits = type.isInteger(64) ? 64 : 32;
    switch (function) {
        case Binary::add:
            return wrap(x + y);
        case Binary::sub:
            return wrap(x - y);
        case Binary::mul:
            return wrap(x * y);
        case Binary::div:
            if (b == 0) return std::nullopt;
            return b == -1 ? wrap(-x) : a / b;
        case Binary::max:
            return std::max(a, b);
        case Binary::min:
            return std::min(a, b);
        case Binary::bit_and:
            return a & b;
        case Binary::bit_or:
            return a | b;
        case Binary::bit_xor:
            return a ^ b;
        case Binary::shl:
            return wrap(x << (y % bits));
        case Binary::shr:
            return a >> (y % bits);
        default:
            return std::nullopt;
    }
}

// ---- Operations -----------------------------------------------------------------------------------------------------

using Result = std::optional<Elements>;

Result evaluate_op(ReshapeOp op, llvm::ArrayRef<Elements> in) { return Elements{op.getType(), in[0].numbers}; }

Result evaluate_op(BroadcastOp op, llvm::ArrayRef<Elements> in) { return repeat(in[0], op.getType()); }

Result evaluate_op(TransposeOp op, llvm::ArrayRef<Elements> in) {
    const llvm::SmallVector<int64_t> from = dense_strides(in[0].type.getShape());
    llvm::SmallVector<int64_t> strides;
    for (const int64_t d : op.getPermutation()) strides.push_back(from[static_cast<size_t>(d)]);
    return view(in[0], op.getType(), 0, strides);
}

Result evaluate_op(SliceOp op, llvm::ArrayRef<Elements> in) {
    llvm::SmallVector<int64_t> strides = dense_strides(in[0].type.getShape());
    int64_t offset = 0;
    for (size_t d = 0; d < strides.size(); d++) {
        offset += op.getStarts()[d] * strides[d];
        strides[d] *= op.getSteps()[d];
    }
    return view(in[0], op.getType(), offset, strides);
}

Result evaluate_op(UnaryOp op, llvm::ArrayRef<Elements> in) {
    if (op.getType().getElementType().isInteger(1)) return std::nullopt;
    Elements result{op.getType(), in[0].numbers};
    const bool done = std::visit(
        [&](auto& numbers) {
            for (auto& x : numbers) {
                const auto y = unary(op.getFunction(), x);
                if (!y) return false;
                x = store(*y, op.getType().getElementType());
            }
            return true;
        },
        result.numbers);
    return done ? Result(std::move(result)) : std::nullopt;
}

Result evaluate_op(BinaryOp op, llvm::ArrayRef<Elements> in) {
    const mlir::RankedTensorType type = op.getType();
    const Elements lhs = repeat(in[0], type.getShape()), rhs = repeat(in[1], type.getShape());
    return std::visit(
        [&]<typename Numbers>(const Numbers& a) -> Result {
            const auto& b = std::get<Numbers>(rhs.numbers);
            Numbers numbers;
            Integers truths;
            for (size_t i = 0; i < a.size(); i++) {
                if (const auto truth = compare(op.getFunction(), a[i], b[i])) truths.push_back(*truth);
                else if (const auto number = binary(op.getFunction(), a[i], b[i], type.getElementType()))
                    numbers.push_back(store(*number, type.getElementType()));
                else return std::nullopt;
            }
            if (type.getElementType().isInteger(1) && !truths.empty()) return Elements{type, std::move(truths)};
            return Elements{type, std::move(numbers)};
        },
        lhs.numbers);
}

Result evaluate_op(SelectOp op, llvm::ArrayRef<Elements> in) {
    const Shape shape = op.getType().getShape();
    const Elements condition = repeat(in[0], shape), yes = repeat(in[1], shape);
    Elements result = repeat(in[2], shape);
    const auto& chosen = std::get<Integers>(condition.numbers);
    std::visit(
        [&]<typename Numbers>(Numbers& numbers) {
            const auto& from = std::get<Numbers>(yes.numbers);
            for (size_t i = 0; i < numbers.size(); i++)
                if (chosen[i] != 0) numbers[i] = from[i];
        },
        result.numbers);
    return result;
}

// A number of 64 bits as the chip loads it for an operation in 32 bits.
int64_t loaded(int64_t number) {
    return std::clamp<int64_t>(number, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
}

Result evaluate_op(CastOp op, llvm::ArrayRef<Elements> in) {
    const mlir::Type type = op.getType().getElementType();
    Floats floats;
    Integers integers;
    if (const auto* const from = std::get_if<Floats>(&in[0].numbers)) {
        for (const float x : *from)
            if (mlir::isa<mlir::FloatType>(type)) floats.push_back(store(x, type));
            else integers.push_back(saturate(op.getNearest() ? std::nearbyint(x) : x, type));
    } else {
        for (const int64_t x : std::get<Integers>(in[0].numbers))
            if (mlir::isa<mlir::FloatType>(type)) floats.push_back(store(static_cast<float>(x), type));
            else integers.push_back(type.isInteger(64) ? x : store(loaded(x), type));
    }
    if (mlir::isa<mlir::FloatType>(type)) return Elements{op.getType(), std::move(floats)};
    return Elements{op.getType(), std::move(integers)};
}

// The sum of a row, in the order of the chip's REDUCE_SUM.
float sum_of(llvm::ArrayRef<float> row) {
    std::array<float, 32> partial{};
    for (size_t i = 0; i < row.size(); i++) partial[i % 32] += row[i];
    for (size_t half = 16; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++) partial[i] += partial[i + half];
    return partial[0];
}

int64_t sum_of(llvm::ArrayRef<int64_t> row) {
    uint64_t sum = 0;
    for (const int64_t x : row) sum += static_cast<uint64_t>(x);
    return wrap(sum);
}

template <typename Number>
size_t best_of(llvm::ArrayRef<Number> row, bool largest) {
    const auto is_nan = [](Number x) { return x != x; };
    size_t best = 0;
    for (size_t i = 1; i < row.size(); i++)
        if (!is_nan(row[best]) && (is_nan(row[i]) || (largest ? row[best] < row[i] : row[i] < row[best]))) best = i;
    return best;
}

Result evaluate_op(ReduceOp op, llvm::ArrayRef<Elements> in) {
    const auto columns = static_cast<size_t>(in[0].type.getShape().back());
    if (columns == 0) return std::nullopt;
    const mlir::Type type = op.getType().getElementType();
    const Reduction function = op.getFunction();
    const bool largest = function == Reduction::max || function == Reduction::argmax;
    const bool index = function == Reduction::argmax || function == Reduction::argmin;
    return std::visit(
        [&]<typename Numbers>(const Numbers& from) -> Result {
            Numbers numbers;
            Integers indices;
            for (size_t at = 0; at < from.size(); at += columns) {
                const auto row = llvm::ArrayRef(from).slice(at, columns);
                if (function == Reduction::sum) numbers.push_back(store(sum_of(row), type));
                else if (index) indices.push_back(static_cast<int64_t>(best_of(row, largest)));
                else numbers.push_back(row[best_of(row, largest)]);
            }
            if (index) return Elements{op.getType(), std::move(indices)};
            return Elements{op.getType(), std::move(numbers)};
        },
        in[0].numbers);
}

Result evaluate_op(ConcatOp op, llvm::ArrayRef<Elements> in) {
    const auto axis = static_cast<size_t>(op.getAxis());
    const auto inner_of = [&](const Elements& elements) {
        const Shape inner = elements.type.getShape().drop_front(axis);
        return std::accumulate(inner.begin(), inner.end(), int64_t{1}, std::multiplies<>());
    };
    const Shape outer = op.getType().getShape().take_front(axis);
    const int64_t rows = std::accumulate(outer.begin(), outer.end(), int64_t{1}, std::multiplies<>());
    return std::visit(
        [&]<typename Numbers>(const Numbers&) -> Result {
            Numbers numbers;
            numbers.reserve(count_of(op.getType()));
            for (int64_t row = 0; row < rows; row++)
                for (const Elements& part : in) {
                    const auto first = std::get<Numbers>(part.numbers).begin() + row * inner_of(part);
                    numbers.insert(numbers.end(), first, first + inner_of(part));
                }
            return Elements{op.getType(), std::move(numbers)};
        },
        in[0].numbers);
}

Result evaluate_op(GatherOp op, llvm::ArrayRef<Elements> in) {
    const int64_t rows = in[0].type.getDimSize(0);
    const auto& indices = std::get<Integers>(in[1].numbers);
    if (llvm::any_of(indices, [&](int64_t index) { return index < 0 || index >= rows; })) return std::nullopt;
    return std::visit(
        [&]<typename Numbers>(const Numbers& from) -> Result {
            const int64_t size = rows == 0 ? 0 : static_cast<int64_t>(from.size()) / rows;
            Numbers numbers;
            numbers.reserve(count_of(op.getType()));
            for (const int64_t index : indices)
                numbers.insert(numbers.end(), from.begin() + index * size, from.begin() + (index + 1) * size);
            return Elements{op.getType(), std::move(numbers)};
        },
        in[0].numbers);
}

// The function itself. Nothing if it refuses the values: a run will say which.
Result evaluate_op(HostOp op, llvm::ArrayRef<Elements> in) {
    const HostCall host = host_call(op.getFunction(), op.getInputs().getTypes(), op.getType(), op.getParameters());
    if (!host.problem.empty()) return std::nullopt;
    std::vector<std::vector<std::byte>> arrays;
    std::vector<const std::byte*> inputs;
    for (const Elements& elements : in) {
        auto bytes = compiler::read_bytes(attribute_of(elements), elements.type, store_of(op.getContext()));
        if (!bytes) return std::nullopt;
        arrays.push_back(std::move(*bytes));
        inputs.push_back(arrays.back().data());
    }
    std::vector<std::byte> output(format::bytes_of(host.call.output));
    if (!host.function->run(host.call, inputs, output.data()).empty()) return std::nullopt;
    return compiler::elements_from(output, op.getType());
}

}  // namespace

float store(float number, mlir::Type type) { return type.isF32() ? number : to_float(in_type(number, type)); }

int64_t store(int64_t number, mlir::Type type) {
    if (type.isInteger(1)) return number != 0;
    const unsigned unused = 64 - type.getIntOrFloatBitWidth();
    const uint64_t bits = static_cast<uint64_t>(number) << unused;
    return type.isUnsignedInteger() ? wrap(bits >> unused) : wrap(bits) >> unused;
}

int64_t saturate(double number, mlir::Type type) {
    if (type.isInteger(1)) return number != 0;
    if (std::isnan(number)) return 0;
    const bool positive = type.isUnsignedInteger();
    const unsigned bits = type.getIntOrFloatBitWidth() - (positive ? 0 : 1);
    const auto most = wrap(~uint64_t{0} >> (64 - bits)), least = positive ? 0 : -most - 1;
    if (number >= std::ldexp(1.0, static_cast<int>(bits))) return most;
    return number <= static_cast<double>(least) ? least : static_cast<int64_t>(number);
}

std::optional<Elements> elements_of(mlir::Attribute attribute) {
    const auto dense = mlir::dyn_cast_if_present<mlir::DenseElementsAttr>(attribute);
    const auto type = dense ? mlir::dyn_cast<mlir::RankedTensorType>(dense.getType()) : mlir::RankedTensorType();
    if (!type) return std::nullopt;
    if (mlir::isa<mlir::FloatType>(type.getElementType())) {
        Floats numbers;
        numbers.reserve(count_of(type));
        if (type.getElementType().isF32()) llvm::append_range(numbers, dense.getValues<float>());
        else
            for (const llvm::APFloat& x : dense.getValues<llvm::APFloat>()) numbers.push_back(to_float(x));
        return Elements{type, std::move(numbers)};
    }
    const auto integer = mlir::dyn_cast<mlir::IntegerType>(type.getElementType());
    if (!integer || integer.getWidth() > 64) return std::nullopt;
    Integers numbers;
    numbers.reserve(count_of(type));
    if (integer.getWidth() == 64) {
        llvm::append_range(numbers, dense.getValues<int64_t>());
        return Elements{type, std::move(numbers)};
    }
    const bool positive = integer.isUnsigned() || integer.getWidth() == 1;
    for (const llvm::APInt& x : dense.getValues<llvm::APInt>())
        numbers.push_back(positive ? static_cast<int64_t>(x.getZExtValue()) : x.getSExtValue());
    return Elements{type, std::move(numbers)};
}

mlir::DenseElementsAttr attribute_of(const Elements& elements) {
    const mlir::Type type = elements.type.getElementType();
    if (const auto* const floats = std::get_if<Floats>(&elements.numbers)) {
        if (type.isF32()) return mlir::DenseElementsAttr::get(elements.type, llvm::ArrayRef(*floats));
        std::vector<llvm::APFloat> numbers;
        for (const float x : *floats) numbers.push_back(in_type(x, type));
        return mlir::DenseElementsAttr::get(elements.type, numbers);
    }
    const auto& integers = std::get<Integers>(elements.numbers);
    if (type.isInteger(64)) return mlir::DenseElementsAttr::get(elements.type, llvm::ArrayRef(integers));
    std::vector<llvm::APInt> numbers;
    for (const int64_t x : integers)
        numbers.emplace_back(type.getIntOrFloatBitWidth(), static_cast<uint64_t>(x), /*isSigned=*/true);
    return mlir::DenseElementsAttr::get(elements.type, numbers);
}

std::optional<Elements> evaluate(mlir::Operation* op, llvm::ArrayRef<Elements> operands) {
    return llvm::TypeSwitch<mlir::Operation*, Result>(op)
        .Case<UnaryOp, BinaryOp, SelectOp, CastOp, ReduceOp, ReshapeOp, TransposeOp, SliceOp, BroadcastOp, ConcatOp,
              GatherOp, HostOp>([&](auto typed) { return evaluate_op(typed, operands); })
        .Default(Result());
}

}  // namespace sidra::xnn
