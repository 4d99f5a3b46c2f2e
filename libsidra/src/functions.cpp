// SPDX-License-Identifier: MIT
// Ready-made functions: what their arguments must be, and which program computes them.
#include "sidra/functions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <initializer_list>

#include "buffer.h"
#include "element.h"
#include "function_programs.h"
#include "structs.h"
#include "vector_call.h"

namespace sidra {
namespace {

using Size = const uint32_t*;
using Array = const sidra_array*;

// Names of arguments.
#define SIDRA_NAME(constant, name) \
    constexpr OperandName constant { name, name ".at", name ".index" }
SIDRA_NAME(kOut, "out");
SIDRA_NAME(kA, "a");
SIDRA_NAME(kB, "b");
SIDRA_NAME(kC, "c");
SIDRA_NAME(kMask, "mask");
SIDRA_NAME(kScales, "scales");
SIDRA_NAME(kGamma, "gamma");
SIDRA_NAME(kBeta, "beta");
#undef SIDRA_NAME
constexpr OperandName kTable{"table", "table.at", "indices"};
constexpr OperandName kOutRows{"out", "out.at", "indices"};
constexpr OperandName kIndices{"indices", "indices.at", "indices.index"};
constexpr OperandName kLookupTable{"table", "table", "table"};

constexpr uint32_t bit(uint32_t type) { return 1u << type; }
constexpr uint32_t kCodes = bit(SIDRA_U8) | bit(SIDRA_S8) | bit(SIDRA_S16);
constexpr uint32_t kIntegers = kCodes | bit(SIDRA_S32) | bit(SIDRA_S64) | bit(SIDRA_BOOL);

bool is_integer(const CallOperand& operand) { return (kIntegers >> operand.type & 1) != 0; }

// The operands of a call, checked as far as the choice of its program needs it; the others are checked with the
// program.
class Arguments {
   public:
    Arguments(const char* call, std::initializer_list<std::pair<Array, const OperandName*>> given) : call_(call) {
        for (const auto& [array, name] : given) operands_[count_++] = {array, name, 0, 0};
    }
    // First.
    sidra_status check_all(sidra_stream*& stream, Size size) {
        SIDRA_TRY(check(call_, "stream", stream));
        if (size == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call_, "`size` is NULL; it has the sizes of four dimensions");
        for (uint32_t n = 0; n < count_; ++n) {
            CallOperand& operand = operands_[n];
            if (operand.array == nullptr)
                return fail(SIDRA_ERROR_INVALID_ARGUMENT, call_, "`{}` is NULL", operand.name->operand);
            operand.type = raw_value(operand.array->type);
            operand.extent = operand.array->extent;
            if (operand.type >= kTypeCount)
                return fail(SIDRA_ERROR_INVALID_ARGUMENT, call_, "{}.type is {}: not a sidra_type",
                            operand.name->operand, operand.type);
        }
        return SIDRA_OK;
    }
    // types: a set; text: its names.
    sidra_status check_type(uint32_t n, uint32_t types, const char* text) const {
        if ((types >> operands_[n].type & 1) != 0) return SIDRA_OK;
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call_, "{}.type is {}: must be {}", operands_[n].name->operand,
                    type_name(operands_[n].type), text);
    }
    sidra_status check_integer(uint32_t n) const { return check_type(n, kIntegers, "an integer type or BOOL"); }

    CallOperand& operator[](uint32_t n) { return operands_[n]; }
    const CallOperand& operator[](uint32_t n) const { return operands_[n]; }
    std::span<const CallOperand> all() const { return std::span(operands_).first(count_); }
    bool integers() const { return std::ranges::all_of(all(), is_integer); }
    bool integers(std::initializer_list<uint32_t> which) const {
        return std::ranges::all_of(which, [&](uint32_t n) { return is_integer(operands_[n]); });
    }
    // If these arrays have one type, but an integer one, gives them an integer type of its size, so that a program in
    // s32 keeps their bits.
    void keep_bits(std::initializer_list<uint32_t> which) {
        const uint32_t type = operands_[*which.begin()].type;
        const bool one = std::ranges::all_of(which, [&](uint32_t n) { return operands_[n].type == type; });
        if (!one || ((kIntegers >> type & 1) != 0 && type != SIDRA_BOOL)) return;
        const uint32_t bytes = element_size(type);
        for (const uint32_t n : which) operands_[n].type = bytes == 1 ? SIDRA_U8 : bytes == 2 ? SIDRA_S16 : SIDRA_S32;
    }
    const char* call() const { return call_; }

   private:
    const char* call_;
    std::array<CallOperand, 4> operands_{};
    uint32_t count_ = 0;
};

using Params = std::array<uint32_t, 4>;
uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

sidra_status run(sidra_stream* stream, Size size, Function function, const Arguments& operands,
                 const Params& params = {}) {
    const FunctionPrograms* programs = nullptr;
    SIDRA_TRY(function_programs(operands.call(), stream->context, &programs));
    ProgramCall c{&(*programs)[function], operands.all(), {}, {}, 0};
    std::copy_n(size, SIDRA_OPERAND_DIMS, c.size);
    std::copy(params.begin(), params.end(), c.param);
    return call_program(operands.call(), stream, c);
}

// Functions of one array and of two.
sidra_status unary(const char* call, sidra_stream* stream, Size size, Function floats, Function integers, Array out,
                   Array a, const Params& params = {}) {
    Arguments operands(call, {{out, &kOut}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    return run(stream, size, operands.integers() ? integers : floats, operands, params);
}
sidra_status binary(const char* call, sidra_stream* stream, Size size, Function floats, Function integers, Array out,
                    Array a, Array b) {
    Arguments operands(call, {{out, &kOut}, {a, &kA}, {b, &kB}});
    SIDRA_TRY(operands.check_all(stream, size));
    return run(stream, size, operands.integers() ? integers : floats, operands);
}
// swapped: b and a instead of a and b.
sidra_status comparison(const char* call, sidra_stream* stream, Size size, Function floats, Function integers,
                        Array out, Array a, Array b, bool swapped = false) {
    Arguments operands(call, {{out, &kOut}, {a, &kA}, {b, &kB}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(operands.check_integer(0));
    if (swapped) std::swap(operands[1], operands[2]);
    return run(stream, size, operands.integers() ? integers : floats, operands);
}
sidra_status argument(const char* call, sidra_stream* stream, Size size, Function floats, Function integers, Array out,
                      Array a) {
    Arguments operands(call, {{out, &kOut}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(operands.check_integer(0));
    return run(stream, size, operands.integers() ? integers : floats, operands);
}

// A number of the caller.
sidra_status check_number(const char* call, const char* name, double value, bool good, const char* wanted) {
    if (good) [[likely]]
        return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{} is {}: must be {}", name, value, wanted);
}
sidra_status check_finite(const char* call, const char* name, float value) {
    return check_number(call, name, value, std::isfinite(value), "finite");
}

int32_t saturated(double value) {
    return static_cast<int32_t>(std::clamp(value, double{INT32_MIN}, double{INT32_MAX}));
}

// Moves elements from `a` (operand 1) to `out` (operand 0), converted.
sidra_status convert(sidra_stream* stream, Size size, Arguments& operands) {
    if (operands[0].type != SIDRA_S64 || operands[1].type != SIDRA_S64) {
        operands.keep_bits({0, 1});
        const bool integers = operands.integers();
        return run(stream, size, integers ? Function::kConvertInt : Function::kConvert, operands);
    }
    // Registers have 32 bits, so an s64 moves as two columns. These need a dimension in which the halves are adjacent.
    std::array<uint32_t, SIDRA_OPERAND_DIMS> halves{};
    std::copy_n(size, SIDRA_OPERAND_DIMS, halves.begin());
    std::array<sidra_array, 2> arrays{*operands[0].array, *operands[1].array};
    const bool indexed = arrays[0].index.buffer != nullptr || arrays[1].index.buffer != nullptr;
    const auto adjacent = [&](uint32_t d) {
        return std::ranges::all_of(arrays,
                                   [&](const sidra_array& array) { return array.stride[d] == sizeof(int64_t); });
    };
    // An index belongs to dimension 2, and rows are counted: only the columns can stay in their place then.
    uint32_t from = SIDRA_OPERAND_DIMS;
    for (uint32_t d = indexed ? 3 : 0; d < SIDRA_OPERAND_DIMS; ++d)
        if (adjacent(d) || (from == SIDRA_OPERAND_DIMS && halves[d] == 1)) from = d;
    if (from == SIDRA_OPERAND_DIMS)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, operands.call(),
                    "`{}` and `{}` are S64, and no dimension has stride 8 in both or size 1; copy them in slices, one "
                    "for each index of the first dimension",
                    operands[0].name->operand, operands[1].name->operand);
    if (halves[from] > SIDRA_VECTOR_SIZE_MAX / 2)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, operands.call(),
                    "size[{}] is {}: at most {} for S64; divide larger work", from, halves[from],
                    SIDRA_VECTOR_SIZE_MAX / 2);
    for (size_t n = 0; n < arrays.size(); ++n) {
        sidra_array& array = arrays[n];
        std::rotate(array.stride + from, array.stride + from + 1, array.stride + SIDRA_OPERAND_DIMS);
        array.stride[3] = sizeof(int32_t);
        operands[n].array = &array;
        operands[n].type = SIDRA_S32;
    }
    std::rotate(halves.begin() + from, halves.begin() + from + 1, halves.end());
    halves[3] *= 2;
    return run(stream, halves.data(), Function::kConvertInt, operands);
}

}  // namespace
}  // namespace sidra

using namespace sidra;

// ---- Elementwise

#define SIDRA_DEFINE_BINARY(name, floats, integers)                                             \
    sidra_status name(sidra_stream* stream, Size size, Array out, Array a, Array b) {           \
        return binary(__func__, stream, size, Function::floats, Function::integers, out, a, b); \
    }
SIDRA_DEFINE_BINARY(sidra_add, kAdd, kAddInt)
SIDRA_DEFINE_BINARY(sidra_sub, kSub, kSubInt)
SIDRA_DEFINE_BINARY(sidra_mul, kMul, kMulInt)
SIDRA_DEFINE_BINARY(sidra_div, kDiv, kDiv)
SIDRA_DEFINE_BINARY(sidra_max, kMax, kMaxInt)
SIDRA_DEFINE_BINARY(sidra_min, kMin, kMinInt)
#undef SIDRA_DEFINE_BINARY

sidra_status sidra_fma(sidra_stream* stream, Size size, Array out, Array a, Array b, Array c) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}, {b, &kB}, {c, &kC}});
    SIDRA_TRY(operands.check_all(stream, size));
    return run(stream, size, operands.integers() ? Function::kFmaInt : Function::kFma, operands);
}

sidra_status sidra_affine(sidra_stream* stream, Size size, Array out, Array a, float factor, float term) {
    return unary(__func__, stream, size, Function::kAffine, Function::kAffine, out, a, {bits(factor), bits(term)});
}

#define SIDRA_DEFINE_COMPARISON(name, floats, integers, swapped)                                             \
    sidra_status name(sidra_stream* stream, Size size, Array out, Array a, Array b) {                        \
        return comparison(__func__, stream, size, Function::floats, Function::integers, out, a, b, swapped); \
    }
SIDRA_DEFINE_COMPARISON(sidra_equal, kEqual, kEqualInt, false)
SIDRA_DEFINE_COMPARISON(sidra_not_equal, kNotEqual, kNotEqualInt, false)
SIDRA_DEFINE_COMPARISON(sidra_less, kLess, kLessInt, false)
SIDRA_DEFINE_COMPARISON(sidra_less_equal, kLessEqual, kLessEqualInt, false)
SIDRA_DEFINE_COMPARISON(sidra_greater, kLess, kLessInt, true)
SIDRA_DEFINE_COMPARISON(sidra_greater_equal, kLessEqual, kLessEqualInt, true)
#undef SIDRA_DEFINE_COMPARISON

sidra_status sidra_where(sidra_stream* stream, Size size, Array out, Array mask, Array a, Array b) {
    Arguments operands(__func__, {{out, &kOut}, {mask, &kMask}, {a, &kA}, {b, &kB}});
    SIDRA_TRY(operands.check_all(stream, size));
    operands.keep_bits({0, 2, 3});
    const bool values = operands.integers({0, 2, 3}), of_mask = operands.integers({1});
    const Function function = of_mask ? (values ? Function::kWhereInt : Function::kWhereMaskInt)
                                      : (values ? Function::kWhereValuesInt : Function::kWhere);
    return run(stream, size, function, operands);
}

#define SIDRA_DEFINE_UNARY(name, floats, integers)                                          \
    sidra_status name(sidra_stream* stream, Size size, Array out, Array a) {                \
        return unary(__func__, stream, size, Function::floats, Function::integers, out, a); \
    }
SIDRA_DEFINE_UNARY(sidra_neg, kNeg, kNegInt)
SIDRA_DEFINE_UNARY(sidra_abs, kAbs, kAbsInt)
SIDRA_DEFINE_UNARY(sidra_relu, kRelu, kReluInt)
SIDRA_DEFINE_UNARY(sidra_floor, kFloor, kConvertInt)
SIDRA_DEFINE_UNARY(sidra_ceil, kCeil, kConvertInt)
SIDRA_DEFINE_UNARY(sidra_round, kRound, kConvertInt)
SIDRA_DEFINE_UNARY(sidra_trunc, kTrunc, kConvertInt)
SIDRA_DEFINE_UNARY(sidra_sqrt, kSqrt, kSqrt)
SIDRA_DEFINE_UNARY(sidra_rsqrt, kRsqrt, kRsqrt)
SIDRA_DEFINE_UNARY(sidra_exp, kExp, kExp)
SIDRA_DEFINE_UNARY(sidra_log, kLog, kLog)
SIDRA_DEFINE_UNARY(sidra_sin, kSin, kSin)
SIDRA_DEFINE_UNARY(sidra_cos, kCos, kCos)
SIDRA_DEFINE_UNARY(sidra_erf, kErf, kErf)
SIDRA_DEFINE_UNARY(sidra_tanh, kTanh, kTanh)
SIDRA_DEFINE_UNARY(sidra_sigmoid, kSigmoid, kSigmoid)
SIDRA_DEFINE_UNARY(sidra_silu, kSilu, kSilu)
SIDRA_DEFINE_UNARY(sidra_gelu, kGelu, kGelu)
SIDRA_DEFINE_UNARY(sidra_gelu_tanh, kGeluTanh, kGeluTanh)
// Of rows
SIDRA_DEFINE_UNARY(sidra_log_softmax, kLogSoftmax, kLogSoftmax)
SIDRA_DEFINE_UNARY(sidra_reduce_sum, kReduceSum, kReduceSumInt)
SIDRA_DEFINE_UNARY(sidra_reduce_max, kReduceMax, kReduceMaxInt)
SIDRA_DEFINE_UNARY(sidra_reduce_min, kReduceMin, kReduceMinInt)
SIDRA_DEFINE_UNARY(sidra_cumsum, kCumsum, kCumsumInt)
#undef SIDRA_DEFINE_UNARY

sidra_status sidra_clamp(sidra_stream* stream, Size size, Array out, Array a, double low, double high) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(check_number(__func__, "low", low, low <= high, "a number that is not above `high`"));
    if (!operands.integers())
        return run(stream, size, Function::kClamp, operands,
                   {bits(static_cast<float>(low)), bits(static_cast<float>(high))});
    const int32_t first = saturated(std::ceil(low)), last = saturated(std::floor(high));
    SIDRA_TRY(check_number(__func__, "low", low, std::ceil(low) <= std::floor(high),
                           "such that an integer lies between `low` and `high`"));
    return run(stream, size, Function::kClampInt, operands,
               {static_cast<uint32_t>(first), static_cast<uint32_t>(last)});
}

// ---- Conversion and quantisation

sidra_status sidra_convert(sidra_stream* stream, Size size, Array out, Array a) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    return convert(stream, size, operands);
}

sidra_status sidra_quantize(sidra_stream* stream, Size size, Array out, Array a, float scale, Array scales,
                            int32_t zero) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}});
    if (scales != nullptr) operands = Arguments(__func__, {{out, &kOut}, {a, &kA}, {scales, &kScales}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(operands.check_type(0, kCodes, "U8, S8 or S16"));
    SIDRA_TRY(check_number(__func__, "scale", scale, std::isfinite(scale) && scale > 0, "finite and above 0"));
    const bool wide = operands[0].type == SIDRA_S16;
    const int32_t low = wide ? INT16_MIN : code_min(operands[0].type);
    const int32_t high = wide ? INT16_MAX : code_max(operands[0].type);
    SIDRA_TRY(check_number(__func__, "zero", zero, zero >= low && zero <= high, "a code of the type of `out`"));
    return run(stream, size, scales != nullptr ? Function::kQuantizeSteps : Function::kQuantize, operands,
               {bits(scale), bits(static_cast<float>(zero))});
}

sidra_status sidra_dequantize(sidra_stream* stream, Size size, Array out, Array a, float scale, Array scales,
                              int32_t zero) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}});
    if (scales != nullptr) operands = Arguments(__func__, {{out, &kOut}, {a, &kA}, {scales, &kScales}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(operands.check_integer(1));
    SIDRA_TRY(check_number(__func__, "scale", scale, std::isfinite(scale) && scale > 0, "finite and above 0"));
    return run(stream, size, scales != nullptr ? Function::kDequantizeSteps : Function::kDequantize, operands,
               {bits(scale), static_cast<uint32_t>(zero)});
}

sidra_status sidra_quantize_rows(sidra_stream* stream, Size size, Array out, Array scales, Array a) {
    Arguments operands(__func__, {{out, &kOut}, {scales, &kScales}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(operands.check_type(0, bit(SIDRA_S8), "S8"));
    SIDRA_TRY(operands.check_type(1, bit(SIDRA_F32), "F32"));
    return run(stream, size, Function::kQuantizeRows, operands);
}

// ---- Rows

sidra_status sidra_softmax(sidra_stream* stream, Size size, Array out, Array a) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    return run(stream, size, operands[0].type == SIDRA_F32 ? Function::kSoftmax : Function::kSoftmaxNarrow, operands);
}

sidra_status sidra_layer_norm(sidra_stream* stream, Size size, Array out, Array a, Array gamma, Array beta,
                              float epsilon) {
    Function function = Function::kLayerNorm;
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}});
    if (gamma == nullptr && beta != nullptr)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`beta` is given, but `gamma` is NULL; give both");
    if (gamma != nullptr && beta == nullptr) {
        function = Function::kLayerNormGamma;
        operands = Arguments(__func__, {{out, &kOut}, {a, &kA}, {gamma, &kGamma}});
    } else if (beta != nullptr) {
        function = Function::kLayerNormBeta;
        operands = Arguments(__func__, {{out, &kOut}, {a, &kA}, {gamma, &kGamma}, {beta, &kBeta}});
    }
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(check_number(__func__, "epsilon", epsilon, std::isfinite(epsilon) && epsilon >= 0, "finite, 0 or above"));
    return run(stream, size, function, operands, {bits(static_cast<float>(size[3])), bits(epsilon)});
}

sidra_status sidra_rms_norm(sidra_stream* stream, Size size, Array out, Array a, Array gamma, float epsilon) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}});
    if (gamma != nullptr) operands = Arguments(__func__, {{out, &kOut}, {a, &kA}, {gamma, &kGamma}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(check_number(__func__, "epsilon", epsilon, std::isfinite(epsilon) && epsilon >= 0, "finite, 0 or above"));
    return run(stream, size, gamma != nullptr ? Function::kRmsNormGamma : Function::kRmsNorm, operands,
               {bits(static_cast<float>(size[3])), bits(epsilon)});
}

sidra_status sidra_reduce_mean(sidra_stream* stream, Size size, Array out, Array a) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    return run(stream, size, Function::kReduceMean, operands, {bits(static_cast<float>(size[3]))});
}

sidra_status sidra_reduce_variance(sidra_stream* stream, Size size, Array out, Array a, uint32_t correction) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(check_number(__func__, "correction", correction, correction <= 1 && correction < size[3],
                           "0 or 1, and less than the columns"));
    return run(stream, size, Function::kReduceVariance, operands,
               {bits(static_cast<float>(size[3])), bits(static_cast<float>(size[3] - correction))});
}

sidra_status sidra_reduce_argmax(sidra_stream* stream, Size size, Array out, Array a) {
    return argument(__func__, stream, size, Function::kReduceArgmax, Function::kReduceArgmaxInt, out, a);
}
sidra_status sidra_reduce_argmin(sidra_stream* stream, Size size, Array out, Array a) {
    return argument(__func__, stream, size, Function::kReduceArgmin, Function::kReduceArgminInt, out, a);
}

// ---- Movement

namespace {

// An array whose rows are at indices, which the caller gave on their own.
sidra_status index_rows(const char* call, const char* name, Array array, uint32_t rows, sidra_ref indices,
                        const sidra_type& index_type, sidra_array* indexed) {
    if (array == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`{}` is NULL", name);
    if (array->index.buffer != nullptr)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "{}.index is given, but the function has indices of its own; leave it out", name);
    if (indices.buffer == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "indices.buffer is NULL");
    if (const uint32_t type = raw_value(index_type); type != SIDRA_S32 && type != SIDRA_S64)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "index_type is {}: must be S32 or S64", type_name(type));
    SIDRA_TRY(check_number(call, "rows", rows, rows >= 1 && rows <= SIDRA_VECTOR_SIZE_MAX, "1..2^30"));
    *indexed = *array;
    indexed->index = indices;
    indexed->index_type = index_type;
    indexed->extent = rows;
    return SIDRA_OK;
}

}  // namespace

sidra_status sidra_gather_rows(sidra_stream* stream, Size size, Array out, Array table, uint32_t rows,
                               sidra_ref indices, sidra_type index_type) {
    sidra_array indexed;
    SIDRA_TRY(index_rows(__func__, "table", table, rows, indices, index_type, &indexed));
    Arguments operands(__func__, {{out, &kOut}, {&indexed, &kTable}});
    SIDRA_TRY(operands.check_all(stream, size));
    return convert(stream, size, operands);
}

sidra_status sidra_scatter_rows(sidra_stream* stream, Size size, Array out, uint32_t rows, sidra_ref indices,
                                sidra_type index_type, Array a) {
    sidra_array indexed;
    SIDRA_TRY(index_rows(__func__, "out", out, rows, indices, index_type, &indexed));
    Arguments operands(__func__, {{&indexed, &kOutRows}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    return convert(stream, size, operands);
}

sidra_status sidra_scatter_add_rows(sidra_stream* stream, Size size, Array out, uint32_t rows, sidra_ref indices,
                                    sidra_type index_type, Array a) {
    sidra_array indexed;
    SIDRA_TRY(index_rows(__func__, "out", out, rows, indices, index_type, &indexed));
    Arguments operands(__func__, {{&indexed, &kOutRows}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    return run(stream, size, operands.integers() ? Function::kAccumulateInt : Function::kAccumulate, operands);
}

sidra_status sidra_gather(sidra_stream* stream, Size size, Array out, Array a, uint32_t columns, Array indices) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}, {indices, &kIndices}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(operands.check_integer(2));
    SIDRA_TRY(check_number(__func__, "columns", columns, columns >= 1 && columns <= SIDRA_VECTOR_SIZE_MAX, "1..2^30"));
    operands.keep_bits({0, 1});
    operands[1].extent = columns;
    return run(stream, size, operands.integers() ? Function::kGatherInt : Function::kGather, operands);
}

sidra_status sidra_scatter(sidra_stream* stream, Size size, Array out, uint32_t columns, Array indices, Array a) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}, {indices, &kIndices}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(operands.check_integer(2));
    SIDRA_TRY(check_number(__func__, "columns", columns, columns >= 1 && columns <= SIDRA_VECTOR_SIZE_MAX, "1..2^30"));
    operands.keep_bits({0, 1});
    operands[0].extent = columns;
    return run(stream, size, operands.integers() ? Function::kScatterInt : Function::kScatter, operands);
}

sidra_status sidra_lookup(sidra_stream* stream, Size size, Array out, Array a, sidra_ref table, sidra_type table_type) {
    const uint32_t type = raw_value(table_type);
    if (type >= kTypeCount)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "table_type is {}: not a sidra_type", type);
    const uint32_t entries[4] = {1, 1, 1, 256};
    const sidra_array array = sidra_operand_dense(table, table_type, entries);
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}, {&array, &kLookupTable}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(operands.check_type(1, bit(SIDRA_U8) | bit(SIDRA_S8), "U8 or S8"));
    operands.keep_bits({0, 2});
    operands[2].extent = 256;
    return run(stream, size, operands.integers() ? Function::kLookupInt : Function::kLookup, operands);
}

// ---- Random numbers

namespace {

sidra_status draw(const char* call, sidra_stream* stream, Size size, Function function, Array out, uint32_t seed,
                  uint32_t sequence, float second, float third) {
    Arguments operands(call, {{out, &kOut}});
    SIDRA_TRY(operands.check_all(stream, size));
    return run(stream, size, function, operands, {seed, sequence, bits(second), bits(third)});
}

}  // namespace

sidra_status sidra_random_uniform(sidra_stream* stream, Size size, Array out, float low, float high, uint32_t seed,
                                  uint32_t sequence) {
    SIDRA_TRY(check_finite(__func__, "low", low));
    SIDRA_TRY(
        check_number(__func__, "high", high, high >= low && std::isfinite(high - low), "finite, and not below `low`"));
    return draw(__func__, stream, size, Function::kRandomUniform, out, seed, sequence, high - low, low);
}

sidra_status sidra_random_normal(sidra_stream* stream, Size size, Array out, float mean, float deviation, uint32_t seed,
                                 uint32_t sequence) {
    SIDRA_TRY(check_finite(__func__, "mean", mean));
    SIDRA_TRY(check_number(__func__, "deviation", deviation, std::isfinite(deviation) && deviation >= 0,
                           "finite, 0 or above"));
    return draw(__func__, stream, size, Function::kRandomNormal, out, seed, sequence, deviation, mean);
}

sidra_status sidra_random_bernoulli(sidra_stream* stream, Size size, Array out, float probability, uint32_t seed,
                                    uint32_t sequence) {
    SIDRA_TRY(check_number(__func__, "probability", probability, probability >= 0 && probability <= 1, "0..1"));
    return draw(__func__, stream, size, Function::kRandomBernoulli, out, seed, sequence, probability, 0);
}

sidra_status sidra_dropout(sidra_stream* stream, Size size, Array out, Array a, float probability, uint32_t seed,
                           uint32_t sequence) {
    Arguments operands(__func__, {{out, &kOut}, {a, &kA}});
    SIDRA_TRY(operands.check_all(stream, size));
    SIDRA_TRY(check_number(__func__, "probability", probability, probability >= 0 && probability < 1,
                           "0 or above, and below 1"));
    return run(stream, size, Function::kDropout, operands,
               {seed, sequence, bits(probability), bits(static_cast<float>(1 / (1 - double{probability})))});
}
