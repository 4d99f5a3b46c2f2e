// SPDX-License-Identifier: MIT
// Ready-made functions on a chip, in all types and layouts, against their formulas in double precision.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "array_access.h"
#include "chip_fixture.h"

namespace sidra::test {
namespace {

constexpr double kUnit = 0x1p-24;  // relative error of one f32 operation
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Unary = sidra_status (*)(sidra_stream*, const uint32_t*, const sidra_array*, const sidra_array*);
using Binary = sidra_status (*)(sidra_stream*, const uint32_t*, const sidra_array*, const sidra_array*,
                                const sidra_array*);

// Of s32 arithmetic modulo 2^32, and of loads that saturate.
double wrapped(double value) {
    return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(static_cast<int64_t>(value))));
}
double loaded(double value) { return std::clamp(value, -2147483648.0, 2147483647.0); }
double f32(double value) { return static_cast<float>(value); }

// Distance of an f32 from an exact value, in units in the last place of that value.
double ulps(double got, long double exact) {
    if (std::isnan(got) || std::isinf(got)) return got == static_cast<float>(exact) ? 0 : kInfinity;
    const int exponent = exact == 0 ? -126 : std::max(std::ilogb(exact), -126);
    return static_cast<double>(std::fabs(got - exact) / std::ldexp(1.0L, exponent - 23));
}

enum class Layout { kDense, kApart, kTransposed, kRow, kColumn, kOne };
constexpr Layout kInputs[] = {Layout::kDense, Layout::kApart,  Layout::kTransposed,
                              Layout::kRow,   Layout::kColumn, Layout::kOne};
constexpr Layout kOutputs[] = {Layout::kDense, Layout::kApart, Layout::kTransposed};

class ChipFunctions : public ChipTest {
   protected:
    static constexpr uint32_t kSize[4] = {2, 1, 5, 37};
    static constexpr size_t kBytes = 1 << 15;

    void SetUp() override {
        ChipTest::SetUp();
        for (auto& buffer : in) buffer = std::make_unique<Buffer>(context, kBytes);
        out = std::make_unique<Buffer>(context, kBytes);
        extra = std::make_unique<Buffer>(context, kBytes);
    }
    void TearDown() override {
        for (auto& buffer : in) buffer.reset();
        out.reset();
        extra.reset();
        ChipTest::TearDown();
    }

    static sidra_array layout(const Buffer& buffer, sidra_type type, Layout how, const uint32_t (&size)[4] = kSize) {
        const size_t e = sidra_type_size(type);
        sidra_array array = sidra_operand_dense(buffer.at(e * 3), type, size);
        const auto strides = [&](size_t a, size_t b, size_t c, size_t d) {
            const size_t all[] = {a, b, c, d};
            std::copy_n(all, 4, array.stride);
        };
        const size_t rows = size[2], columns = size[3], inner = rows * columns;
        switch (how) {
            case Layout::kDense:
                break;
            case Layout::kApart:
                strides((size[1] * inner * 3 + 8) * e, inner * 3 * e, (columns * 2 + 5) * e, 2 * e);
                break;
            case Layout::kTransposed:
                strides(size[1] * inner * e, inner * e, e, rows * e);
                break;
            case Layout::kRow:
                strides(0, 0, 0, e);
                break;
            case Layout::kColumn:
                strides(size[1] * rows * e, rows * e, e, 0);
                break;
            case Layout::kOne:
                strides(0, 0, 0, 0);
                break;
        }
        return array;
    }
    sidra_array one_each(const Buffer& buffer, sidra_type type) const { return layout(buffer, type, Layout::kColumn); }

    // A number that the type has; floats lie in low..high.
    double any(sidra_type type, double low, double high) {
        const auto whole = [&](double a, double b) { return std::nearbyint(uniform(a, b)); };
        switch (type) {
            case SIDRA_U8:
                return whole(0, 255);
            case SIDRA_S8:
                return whole(-128, 127);
            case SIDRA_S16:
                return whole(-32768, 32767);
            case SIDRA_BOOL:
                return whole(0, 1);
            case SIDRA_S32:
                return whole(0, 1) != 0 ? whole(-2147483648.0, 2147483647.0) : whole(-100, 100);
            case SIDRA_S64:
                return whole(0, 1) != 0 ? whole(-0x1p50, 0x1p50) : whole(-100, 100);
            default:
                return stored(uniform(low, high), type);
        }
    }
    double uniform(double a, double b) { return std::uniform_real_distribution<double>(a, b)(random); }
    void fill(const sidra_array& array, double low = -4, double high = 4, const uint32_t (&size)[4] = kSize) {
        for_each(size, [&](const At& at) { put(array, at, any(array.type, low, high)); });
    }
    void clear() { std::fill(out->as().begin(), out->as().end(), uint8_t{0}); }

    // Each element of the array is exactly the expected number.
    void expect_exactly(const sidra_array& array, const std::function<double(const At&)>& expected,
                        const uint32_t (&size)[4] = kSize) {
        int wrong = 0;
        for_each(size, [&](const At& at) {
            const double wanted = expected(at), got = number(array, at);
            if (wrong < 3 && got != wanted && !(std::isnan(got) && std::isnan(wanted)))
                ++wrong,
                    ADD_FAILURE() << got << " instead of " << wanted << " at " << at[0] << "," << at[2] << "," << at[3];
        });
    }
    void expect_near(const sidra_array& array, const std::function<double(const At&)>& expected,
                     const std::function<double(const At&, double)>& tolerance, const uint32_t (&size)[4] = kSize) {
        for_each(size, [&](const At& at) {
            const double wanted = expected(at);
            ASSERT_NEAR(wanted, number(array, at), tolerance(at, wanted)) << at[0] << "," << at[2] << "," << at[3];
        });
    }
    // The elements of a row, as they are loaded.
    static std::vector<double> row_of(const sidra_array& array, const At& at, uint32_t columns = kSize[3]) {
        std::vector<double> row;
        for (uint32_t c = 0; c < columns; ++c) row.push_back(number(array, {at[0], at[1], at[2], c}));
        return row;
    }
    static uint32_t row_number(const At& at) { return (at[0] * kSize[1] + at[1]) * kSize[2] + at[2]; }

    // A binary function in all types and layouts. Without `integers` it computes in f32 always.
    void binary(Binary function, double (*floats)(double, double), double (*integers)(double, double)) {
        struct Types {
            sidra_type out, a, b;
        };
        std::vector<Types> all = {{SIDRA_F32, SIDRA_S8, SIDRA_F16},   {SIDRA_S8, SIDRA_F32, SIDRA_S32},
                                  {SIDRA_BF16, SIDRA_F32, SIDRA_F32}, {SIDRA_F16, SIDRA_U8, SIDRA_BF16},
                                  {SIDRA_S32, SIDRA_U8, SIDRA_S8},    {SIDRA_F32, SIDRA_S16, SIDRA_S16},
                                  {SIDRA_BOOL, SIDRA_F32, SIDRA_F32}};
        for (const sidra_type type : kTypes) all.push_back({type, type, type});
        size_t turn = 0;
        for (const Types& types : all)
            for (const Layout of_b : kInputs) {
                const Layout of_a = kInputs[turn % 6], of_out = kOutputs[turn % 3];
                ++turn;
                SCOPED_TRACE(testing::Message() << "types " << types.out << "," << types.a << "," << types.b
                                                << ", layouts " << static_cast<int>(of_out) << ","
                                                << static_cast<int>(of_a) << "," << static_cast<int>(of_b));
                const sidra_array a = layout(*in[0], types.a, of_a), b = layout(*in[1], types.b, of_b);
                const sidra_array result = layout(*out, types.out, of_out);
                fill(a), fill(b), clear();
                ASSERT_OK(function(stream, kSize, &result, &a, &b));
                synchronize();
                const bool whole =
                    integers != nullptr && is_integer(types.out) && is_integer(types.a) && is_integer(types.b);
                expect_exactly(result, [&](const At& at) {
                    const double x = number(a, at), y = number(b, at);
                    return whole ? stored(integers(loaded(x), loaded(y)), types.out)
                                 : stored(f32(floats(f32(x), f32(y))), types.out);
                });
            }
    }
    // A function of f32: its bound holds with F32 output, and other types get that result, rounded.
    void unary(Unary function, long double (*exact)(long double), double bound, double low = -4, double high = 4) {
        const sidra_array plain = layout(*extra, SIDRA_F32, Layout::kDense);
        size_t turn = 0;
        for (const sidra_type a_type : kTypes)
            for (const sidra_type out_type : {SIDRA_F32, SIDRA_F16, SIDRA_BF16, SIDRA_S8}) {
                if (is_integer(a_type) && out_type == SIDRA_S8) continue;  // some of these functions are others in s32
                SCOPED_TRACE(testing::Message() << "types " << out_type << "," << a_type);
                const sidra_array a = layout(*in[0], a_type, kInputs[turn % 6]);
                const sidra_array result = layout(*out, out_type, kOutputs[turn % 3]);
                ++turn;
                if (is_integer(a_type)) {
                    const auto limit = [&](double x) {
                        return std::clamp(x, std::max(low, -100.0), std::min(high, 100.0));
                    };
                    for_each(kSize, [&](const At& at) { put(a, at, stored(limit(any(a_type, low, high)), a_type)); });
                } else {
                    fill(a, low, high);
                }
                clear();
                ASSERT_OK(function(stream, kSize, &result, &a));
                ASSERT_OK(function(stream, kSize, &plain, &a));
                synchronize();
                for_each(kSize, [&](const At& at) {
                    ASSERT_LE(ulps(number(plain, at), exact(number(a, at))), bound) << number(a, at);
                });
                expect_exactly(result, [&](const At& at) { return stored(number(plain, at), out_type); });
            }
    }

    std::unique_ptr<Buffer> in[3], out, extra;
};

TEST_F(ChipFunctions, TwoOperands) {
    binary(
        sidra_add, [](double a, double b) { return a + b; }, [](double a, double b) { return wrapped(a + b); });
    binary(
        sidra_sub, [](double a, double b) { return a - b; }, [](double a, double b) { return wrapped(a - b); });
    // The product of two s32 has more bits than a double.
    const auto product = [](double a, double b) {
        return static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(a)) *
                                                        static_cast<uint32_t>(static_cast<int64_t>(b))));
    };
    binary(
        sidra_mul, [](double a, double b) { return a * b; }, product);
    const auto larger = [](double a, double b) { return std::max(a, b); };
    const auto smaller = [](double a, double b) { return std::min(a, b); };
    binary(sidra_max, larger, larger);
    binary(sidra_min, smaller, smaller);
    binary(
        sidra_div, [](double a, double b) { return a / b; }, nullptr);
}

TEST_F(ChipFunctions, ThreeOperands) {
    size_t turn = 0;
    for (const sidra_type type : kTypes)
        for (const Layout of_c : kInputs) {
            SCOPED_TRACE(testing::Message() << "type " << type << ", layout " << static_cast<int>(of_c));
            const sidra_array a = layout(*in[0], type, kInputs[turn % 6]), b = layout(*in[1], type, Layout::kDense);
            const sidra_array c = layout(*in[2], type, of_c), result = layout(*out, type, kOutputs[turn % 3]);
            ++turn;
            fill(a), fill(b), fill(c), clear();
            ASSERT_OK(sidra_fma(stream, kSize, &result, &a, &b, &c));
            synchronize();
            expect_exactly(result, [&](const At& at) {
                const double x = number(a, at), y = number(b, at), z = number(c, at);
                if (!is_integer(type))
                    return stored(std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)), type);
                const auto bits = [](double value) {
                    return static_cast<uint32_t>(static_cast<int64_t>(loaded(value)));
                };
                return stored(static_cast<int32_t>(bits(x) * bits(y) + bits(z)), type);
            });
        }
    const sidra_array a = layout(*in[0], SIDRA_F16, Layout::kApart), result = layout(*out, SIDRA_F32, Layout::kDense);
    fill(a);
    ASSERT_OK(sidra_affine(stream, kSize, &result, &a, 1.7f, -0.3f));
    synchronize();
    expect_exactly(result, [&](const At& at) { return std::fma(static_cast<float>(number(a, at)), 1.7f, -0.3f); });
}

TEST_F(ChipFunctions, Comparisons) {
    const std::pair<Binary, bool (*)(double, double)> all[] = {
        {sidra_equal, [](double a, double b) { return a == b; }},
        {sidra_not_equal, [](double a, double b) { return a != b; }},
        {sidra_less, [](double a, double b) { return a < b; }},
        {sidra_less_equal, [](double a, double b) { return a <= b; }},
        {sidra_greater, [](double a, double b) { return a > b; }},
        {sidra_greater_equal, [](double a, double b) { return a >= b; }}};
    for (const auto& [function, comparison] : all)
        for (const sidra_type out_type : {SIDRA_BOOL, SIDRA_U8, SIDRA_S8, SIDRA_S16, SIDRA_S32, SIDRA_S64})
            for (const sidra_type type : kTypes) {
                const sidra_array a = layout(*in[0], type, Layout::kApart), b = layout(*in[1], type, Layout::kDense);
                const sidra_array result = layout(*out, out_type, Layout::kDense);
                fill(a), fill(b), clear();
                for (uint32_t c = 0; c < 20; ++c) put(b, {0, 0, 0, c}, number(a, {0, 0, 0, c}));
                if (!is_integer(type)) put(a, {0, 0, 0, 0}, std::numeric_limits<double>::quiet_NaN());
                if (type == SIDRA_F16)  // put() knows no NaN of this type
                    *reinterpret_cast<uint16_t*>(address_of(a, {0, 0, 0, 0})) = 0x7e00;
                // In f32 these would be equal.
                if (type == SIDRA_S32) put(a, {1, 0, 0, 0}, 16777217), put(b, {1, 0, 0, 0}, 16777216);
                ASSERT_OK(function(stream, kSize, &result, &a, &b));
                synchronize();
                expect_exactly(result, [&, is_true = comparison](const At& at) {
                    const double x = number(a, at), y = number(b, at);
                    return (is_integer(type) ? is_true(loaded(x), loaded(y)) : is_true(x, y)) ? 1 : 0;
                });
            }
}

TEST_F(ChipFunctions, Where) {
    for (const sidra_type mask_type : kTypes)
        for (const sidra_type type : kTypes) {
            const sidra_array mask = layout(*in[0], mask_type, Layout::kColumn);
            const sidra_array a = layout(*in[1], type, Layout::kDense), b = layout(*in[2], type, Layout::kTransposed);
            const sidra_array result = layout(*out, type, Layout::kApart);
            for_each(kSize, [&](const At& at) { put(mask, at, (at[0] + at[2]) % 2); });
            fill(a), fill(b), clear();
            ASSERT_OK(sidra_where(stream, kSize, &result, &mask, &a, &b));
            synchronize();
            expect_exactly(result, [&](const At& at) {
                const double chosen = number((at[0] + at[2]) % 2 != 0 ? a : b, at);
                return type == SIDRA_S64 ? loaded(chosen) : chosen;
            });
        }
    // NaN keeps its bits, and counts as true.
    const uint32_t one[4] = {1, 1, 1, 1};
    const sidra_array nan = sidra_operand_dense(in[0]->at(), SIDRA_F32, one);
    const sidra_array zero = sidra_operand_dense(in[1]->at(), SIDRA_F32, one);
    const sidra_array result = sidra_operand_dense(out->at(), SIDRA_F32, one);
    in[0]->as<uint32_t>()[0] = 0xffc12345u, in[1]->as<uint32_t>()[0] = 0;
    ASSERT_OK(sidra_where(stream, one, &result, &nan, &nan, &zero));
    synchronize();
    EXPECT_EQ(0xffc12345u, out->as<uint32_t>()[0]);
    const sidra_array wide = sidra_operand_dense(out->at(), SIDRA_F16, one);
    in[1]->as<float>()[0] = 0.1f, in[0]->as<float>()[0] = 0;
    ASSERT_OK(sidra_where(stream, one, &wide, &nan, &nan, &zero));
    synchronize();
    EXPECT_EQ(stored(0.1f, SIDRA_F16), number(wide, {}));
}

TEST_F(ChipFunctions, OneOperand) {
    using Real = long double;
    unary(
        sidra_neg, [](Real x) { return -x; }, 0);
    unary(
        sidra_abs, [](Real x) { return std::fabs(x); }, 0);
    unary(
        sidra_relu, [](Real x) { return std::max(x, Real{0}); }, 0);
    unary(
        sidra_floor, [](Real x) { return std::floor(x); }, 0);
    unary(
        sidra_ceil, [](Real x) { return std::ceil(x); }, 0);
    unary(
        sidra_round, [](Real x) { return std::nearbyint(x); }, 0);
    unary(
        sidra_trunc, [](Real x) { return std::trunc(x); }, 0);
    unary(
        sidra_sqrt, [](Real x) { return std::sqrt(x); }, 0.5, 0, 100);
    unary(
        sidra_rsqrt, [](Real x) { return 1 / std::sqrt(x); }, 1.5, 1, 100);
    unary(
        sidra_exp, [](Real x) { return std::exp(x); }, 1.1, -80, 80);
    unary(
        sidra_log, [](Real x) { return std::log(x); }, 1.3, 1, 100);
    unary(
        sidra_sin, [](Real x) { return std::sin(x); }, 2.5, -100, 100);
    unary(
        sidra_cos, [](Real x) { return std::cos(x); }, 2.5, -100, 100);
    unary(
        sidra_erf, [](Real x) { return std::erf(x); }, 1.3);
    unary(
        sidra_tanh, [](Real x) { return std::tanh(x); }, 1.5);
    unary(
        sidra_sigmoid, [](Real x) { return 1 / (1 + std::exp(-x)); }, 2.5);
    unary(
        sidra_silu, [](Real x) { return x / (1 + std::exp(-x)); }, 3.5);
    unary(
        sidra_gelu, [](Real x) { return 0.5L * x * std::erfc(-x / std::sqrt(Real{2})); }, 6);
    // 0.5 (1 + tanh(u)) without its loss of digits
    unary(
        sidra_gelu_tanh,
        [](Real x) {
            const Real u = std::sqrt(2 / std::acos(Real{-1})) * (x + 0.044715L * x * x * x);
            return x / (1 + std::exp(-2 * u));
        },
        240);
}

TEST_F(ChipFunctions, OneOperandInS32) {
    struct Case {
        Unary function;
        double (*oracle)(double);
    };
    const auto same = [](double x) { return x; };
    const Case all[] = {{sidra_neg, [](double x) { return wrapped(-x); }},
                        {sidra_abs, [](double x) { return wrapped(std::fabs(x)); }},
                        {sidra_relu, [](double x) { return std::max(x, 0.0); }},
                        {sidra_floor, same},
                        {sidra_ceil, same},
                        {sidra_round, same},
                        {sidra_trunc, same}};
    for (const Case& each : all)
        for (const sidra_type a_type : kTypes)
            for (const sidra_type out_type : kTypes) {
                if (!is_integer(a_type) || !is_integer(out_type)) continue;
                const sidra_array a = layout(*in[0], a_type, Layout::kApart);
                const sidra_array result = layout(*out, out_type, Layout::kDense);
                fill(a), clear();
                if (a_type == SIDRA_S32) put(a, {0, 0, 0, 0}, -2147483648.0);
                ASSERT_OK(each.function(stream, kSize, &result, &a));
                synchronize();
                expect_exactly(result,
                               [&](const At& at) { return stored(each.oracle(loaded(number(a, at))), out_type); });
            }
}

TEST_F(ChipFunctions, Clamp) {
    const sidra_array a = layout(*in[0], SIDRA_F32, Layout::kDense), result = layout(*out, SIDRA_F32, Layout::kDense);
    const sidra_array whole = layout(*in[1], SIDRA_S32, Layout::kDense), to = layout(*extra, SIDRA_S32, Layout::kDense);
    fill(a), fill(whole);
    for (const auto& range : {std::pair{-1.5, 0.7}, {-kInfinity, 1.0}, {2.0, kInfinity}, {0.25, 0.25}}) {
        const double low = range.first, high = range.second;
        ASSERT_OK(sidra_clamp(stream, kSize, &result, &a, low, high));
        synchronize();
        expect_exactly(result, [&](const At& at) { return std::clamp(number(a, at), f32(low), f32(high)); });
    }
    for (const auto& range : {std::pair{-1.5, 40.7}, {-kInfinity, 16777217.0}, {-3e9, 3e9}}) {
        const double low = range.first, high = range.second;
        ASSERT_OK(sidra_clamp(stream, kSize, &to, &whole, low, high));
        synchronize();
        expect_exactly(to,
                       [&](const At& at) { return std::clamp(number(whole, at), std::ceil(low), std::floor(high)); });
    }
}

TEST_F(ChipFunctions, ConvertsEveryTypeToEveryType) {
    size_t turn = 0;
    for (const sidra_type from : kTypes)
        for (const sidra_type to : kTypes)
            for (const Layout of_a : {Layout::kDense, Layout::kTransposed, Layout::kColumn}) {
                SCOPED_TRACE(testing::Message()
                             << "from " << from << " to " << to << ", layout " << static_cast<int>(of_a));
                const sidra_array a = layout(*in[0], from, of_a), result = layout(*out, to, kOutputs[turn++ % 3]);
                fill(a, -300, 300), clear();
                ASSERT_OK(sidra_convert(stream, kSize, &result, &a));
                synchronize();
                expect_exactly(result, [&](const At& at) {
                    const double x = number(a, at);
                    if (from == SIDRA_S64 && to == SIDRA_S64) return x;
                    return is_integer(from) && is_integer(to) ? stored(loaded(x), to) : stored(f32(x), to);
                });
            }
}

TEST_F(ChipFunctions, CopiesKeepEveryBit) {
    const uint32_t size[4] = {3, 4, 5, 6};
    std::array<uint32_t, 4> order{0, 1, 2, 3};
    randomise(in[0]->as(), 0, 255);
    do {  // every permutation of four dimensions
        for (const sidra_type type : kTypes) {
            const size_t e = sidra_type_size(type);
            sidra_array a = sidra_operand_dense(in[0]->at(), type, size), result = a;
            result.at = out->at();
            size_t stride = e;
            for (int d = 3; d >= 0; --d)
                result.stride[order[static_cast<size_t>(d)]] = stride, stride *= size[order[static_cast<size_t>(d)]];
            clear();
            if (type == SIDRA_S64 && result.stride[3] != 8) {
                EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_convert(stream, size, &result, &a));
                EXPECT_NE(nullptr, std::strstr(sidra_last_error(), "copy them in slices")) << sidra_last_error();
                continue;
            }
            ASSERT_OK(sidra_convert(stream, size, &result, &a));
            synchronize();
            for_each(size, [&](const At& at) {
                ASSERT_EQ(0, std::memcmp(address_of(a, at), address_of(result, at), e)) << type;
            });
        }
    } while (std::next_permutation(order.begin(), order.end()));
    // S64 with a dimension to spare, and as slices of a broadcast
    const uint32_t three[4] = {4, 1, 5, 6};
    sidra_array a = sidra_operand_dense(in[0]->at(), SIDRA_S64, three), result = a;
    result.at = out->at();
    result.stride[0] = 8, result.stride[2] = 32, result.stride[3] = 160;
    clear();
    ASSERT_OK(sidra_convert(stream, three, &result, &a));
    synchronize();
    for_each(three, [&](const At& at) { ASSERT_EQ(element<int64_t>(a, at), element<int64_t>(result, at)); });
}

TEST_F(ChipFunctions, Quantisation) {
    const auto limits = [](sidra_type type) {
        return type == SIDRA_U8   ? std::pair{0.0, 255.0}
               : type == SIDRA_S8 ? std::pair{-128.0, 127.0}
                                  : std::pair{-32768.0, 32767.0};
    };
    for (const sidra_type type : {SIDRA_U8, SIDRA_S8, SIDRA_S16})
        for (const sidra_type real : {SIDRA_F32, SIDRA_BF16, SIDRA_S32})
            for (const Layout of_scales : {Layout::kOne, Layout::kRow, Layout::kColumn})
                for (const bool with_scales : {false, true}) {
                    const float scale = real == SIDRA_S32 ? 1e7f : 0.03f;
                    const int32_t zero = type == SIDRA_U8 ? 128 : -3;
                    const sidra_array a = layout(*in[0], real, Layout::kApart),
                                      back = layout(*extra, SIDRA_F32, Layout::kDense);
                    const sidra_array scales = layout(*in[1], SIDRA_F32, of_scales),
                                      codes = layout(*out, type, Layout::kDense);
                    fill(a), fill(scales, 0.5, 2), clear();
                    const sidra_array* given = with_scales ? &scales : nullptr;
                    ASSERT_OK(sidra_quantize(stream, kSize, &codes, &a, scale, given, zero));
                    ASSERT_OK(sidra_dequantize(stream, kSize, &back, &codes, scale, given, zero));
                    synchronize();
                    const auto step = [&](const At& at) {
                        return with_scales ? f32(number(scales, at) * scale) : scale;
                    };
                    expect_exactly(codes, [&](const At& at) {
                        const double code = std::nearbyint(f32(f32(number(a, at)) / step(at))) + zero;
                        return std::clamp(code, limits(type).first, limits(type).second);
                    });
                    expect_exactly(back, [&](const At& at) { return f32((number(codes, at) - zero) * step(at)); });
                }
    // Sums of a product become real numbers with a factor for each column.
    const sidra_array sums = layout(*in[0], SIDRA_S32, Layout::kDense),
                      factors = layout(*in[1], SIDRA_F32, Layout::kRow);
    const sidra_array result = layout(*out, SIDRA_F32, Layout::kDense);
    fill(sums), fill(factors, 0.1, 1);
    ASSERT_OK(sidra_dequantize(stream, kSize, &result, &sums, 0.25f, &factors, 0));
    synchronize();
    expect_exactly(result, [&](const At& at) { return f32(f32(number(sums, at)) * f32(number(factors, at) * 0.25)); });
}

TEST_F(ChipFunctions, DynamicQuantisation) {
    for (const sidra_type type : {SIDRA_F32, SIDRA_F16, SIDRA_BF16}) {
        const sidra_array a = layout(*in[0], type, Layout::kTransposed), codes = layout(*out, SIDRA_S8, Layout::kApart);
        const sidra_array scales = one_each(*extra, SIDRA_F32);
        fill(a), clear();
        for (uint32_t c = 0; c < kSize[3]; ++c) put(a, {1, 0, 4, c}, 0);
        ASSERT_OK(sidra_quantize_rows(stream, kSize, &codes, &scales, &a));
        synchronize();
        const auto largest = [&](const At& at) {
            double most = f32(1e-30);
            for (const double x : row_of(a, at)) most = std::max(most, std::fabs(x));
            return most;
        };
        expect_exactly(scales, [&](const At& at) { return f32(largest(at) / 127); });
        expect_exactly(codes,
                       [&](const At& at) { return std::nearbyint(f32(number(a, at) * f32(127 / largest(at)))); });
    }
}

TEST_F(ChipFunctions, Softmax) {
    for (const sidra_type out_type : {SIDRA_F32, SIDRA_F16, SIDRA_BF16, SIDRA_U8})
        for (const sidra_type type : kTypes)
            for (const bool logarithm : {false, true}) {
                SCOPED_TRACE(testing::Message() << out_type << "," << type << (logarithm ? " log" : ""));
                const sidra_array a = layout(*in[0], type, Layout::kApart),
                                  result = layout(*out, out_type, Layout::kTransposed);
                for_each(kSize,
                         [&](const At& at) { put(a, at, stored(std::clamp(any(type, -8, 8), -8.0, 8.0), type)); });
                clear();
                ASSERT_OK((logarithm ? sidra_log_softmax : sidra_softmax)(stream, kSize, &result, &a));
                synchronize();
                const auto exact = [&](const At& at) {
                    double sum = 0, most = -kInfinity;
                    for (const double x : row_of(a, at)) most = std::max(most, x);
                    for (const double x : row_of(a, at)) sum += std::exp(x - most);
                    const double x = number(a, at) - most;
                    return logarithm ? x - std::log(sum) : std::exp(x) / sum;
                };
                // exp of a difference up to 16 with the error of one rounding, twice; 8 additions deep; 3 operations
                const double steps = out_type == SIDRA_F32    ? 0
                                     : out_type == SIDRA_F16  ? 0x1p-11
                                     : out_type == SIDRA_BF16 ? 0x1p-8
                                                              : 0;
                expect_near(
                    result, [&](const At& at) { return out_type == SIDRA_U8 ? std::max(exact(at), 0.0) : exact(at); },
                    [&](const At&, double wanted) {
                        const double size = logarithm ? std::max(std::fabs(wanted), 1.0) : wanted;
                        return (48 * kUnit + steps) * size + (out_type == SIDRA_U8    ? 0.5001
                                                              : out_type == SIDRA_F16 ? 0x1p-24
                                                                                      : 0);
                    });
            }
    // In place, and a row that the exponential alone could not do.
    const sidra_array a = layout(*in[0], SIDRA_F32, Layout::kDense);
    for_each(kSize, [&](const At& at) { put(a, at, at[3] == 3 ? 1000 : at[3] == 4 ? -1000 : 999); });
    ASSERT_OK(sidra_softmax(stream, kSize, &a, &a));
    synchronize();
    const double sum = 1 + 35 * std::exp(-1);
    expect_near(
        a, [&](const At& at) { return at[3] == 3   ? 1 / sum
                                      : at[3] == 4 ? 0
                                                   : std::exp(-1) / sum; },
        [](const At&, double wanted) { return 16 * kUnit * wanted; });
}

TEST_F(ChipFunctions, Norms) {
    for (const sidra_type type : {SIDRA_F32, SIDRA_F16, SIDRA_S8})
        for (const int given : {0, 1, 2})
            for (const bool rms : {false, true}) {
                SCOPED_TRACE(testing::Message() << type << "," << given << (rms ? " rms" : ""));
                const sidra_array a = layout(*in[0], type, Layout::kApart),
                                  result = layout(*out, SIDRA_F32, Layout::kDense);
                const sidra_array gamma = layout(*in[1], SIDRA_F32, Layout::kRow),
                                  beta = layout(*in[2], SIDRA_BF16, Layout::kRow);
                fill(a), fill(gamma), fill(beta), clear();
                const float epsilon = 1e-3f;
                const sidra_array* g = given > 0 ? &gamma : nullptr;
                const sidra_array* b = given > 1 ? &beta : nullptr;
                ASSERT_OK(rms ? sidra_rms_norm(stream, kSize, &result, &a, g, epsilon)
                              : sidra_layer_norm(stream, kSize, &result, &a, g, b, epsilon));
                synchronize();
                const auto exact = [&](const At& at) {
                    double mean = 0, squares = 0;
                    const auto row = row_of(a, at);
                    if (!rms)
                        for (const double x : row) mean += x / kSize[3];
                    for (const double x : row) squares += (x - mean) * (x - mean) / kSize[3];
                    const double plain = (number(a, at) - mean) / std::sqrt(squares + epsilon);
                    return plain * (given > 0 ? number(gamma, at) : 1) + (given > 1 && !rms ? number(beta, at) : 0);
                };
                // The sum of 37 is off by 7 roundings of the sum of magnitudes, a few deviations; the rest adds a
                // dozen.
                expect_near(result, exact, [&](const At& at, double wanted) {
                    return 64 * kUnit * (std::fabs(wanted) + (given > 0 ? std::fabs(number(gamma, at)) : 1));
                });
            }
}

TEST_F(ChipFunctions, Reductions) {
    for (const sidra_type type : kTypes)
        for (const sidra_type out_type : {SIDRA_F32, SIDRA_S32, SIDRA_S64}) {
            SCOPED_TRACE(testing::Message() << out_type << "," << type);
            const sidra_array a = layout(*in[0], type, Layout::kTransposed), result = one_each(*out, out_type);
            const bool whole = is_integer(type) && is_integer(out_type);
            const auto value = [&](double x) { return whole ? loaded(x) : f32(x); };
            const auto check = [&](Unary function, const std::function<double(const std::vector<double>&)>& oracle,
                                   double units) {
                clear();
                ASSERT_OK(function(stream, kSize, &result, &a));
                synchronize();
                const auto values = [&](const At& at) {
                    auto row = row_of(a, at);
                    for (double& x : row) x = value(x);
                    return row;
                };
                const auto magnitude = [&](const At& at) {
                    double sum = 0;
                    for (const double x : values(at)) sum += std::fabs(x);
                    return sum;
                };
                expect_near(
                    result, [&](const At& at) { return stored(oracle(values(at)), out_type); },
                    [&](const At& at, double) {
                        return units == 0 ? 0 : units * kUnit * magnitude(at) + (is_integer(out_type) ? 1 : 0);
                    });
            };
            fill(a);
            if (type == SIDRA_S32 || type == SIDRA_S64)  // sums that f32 does not have, without the limits of s32
                for_each(kSize, [&](const At& at) { put(a, at, std::trunc(number(a, at) / 0x1p38) + at[3] * 9001); });
            const auto sum = [](const std::vector<double>& row) {
                double total = 0;
                for (const double x : row) total += x;
                return total;
            };
            check(sidra_reduce_sum, sum, whole ? 0 : 8);
            check(
                sidra_reduce_mean, [&](const std::vector<double>& row) { return sum(row) / kSize[3]; }, 9);
            check(
                sidra_reduce_max, [](const std::vector<double>& row) { return *std::ranges::max_element(row); }, 0);
            check(
                sidra_reduce_min, [](const std::vector<double>& row) { return *std::ranges::min_element(row); }, 0);
            // In s32 two values count as different that f32 does not tell apart.
            if (type == SIDRA_S32) put(a, {0, 0, 0, 7}, 2000000001), put(a, {0, 0, 0, 3}, 2000000000);
            if (!is_integer(out_type)) continue;
            const auto of_values = [&](double x) { return is_integer(type) ? loaded(x) : x; };
            for (const bool largest : {false, true}) {
                clear();
                ASSERT_OK((largest ? sidra_reduce_argmax : sidra_reduce_argmin)(stream, kSize, &result, &a));
                synchronize();
                expect_exactly(result, [&](const At& at) {
                    const auto row = row_of(a, at);
                    uint32_t best = 0;
                    for (uint32_t c = 1; c < kSize[3]; ++c) {
                        const double x = of_values(row[c]), y = of_values(row[best]);
                        if (largest ? x > y : x < y) best = c;
                    }
                    return best;
                });
            }
        }
    const sidra_array a = layout(*in[0], SIDRA_F32, Layout::kDense), result = one_each(*out, SIDRA_F32);
    fill(a, 10, 11);
    for (const uint32_t correction : {0u, 1u}) {
        ASSERT_OK(sidra_reduce_variance(stream, kSize, &result, &a, correction));
        synchronize();
        expect_near(
            result,
            [&](const At& at) {
                double mean = 0, squares = 0;
                for (const double x : row_of(a, at)) mean += x / kSize[3];
                for (const double x : row_of(a, at)) squares += (x - mean) * (x - mean);
                return squares / (kSize[3] - correction);
            },
            // differences have the error of the mean, 8 roundings of 11, which is as large as 11 / 0.3 of them
            [](const At&, double wanted) { return 1024 * kUnit * wanted; });
    }
}

TEST_F(ChipFunctions, CumulativeSums) {
    for (const sidra_type type : {SIDRA_F32, SIDRA_BF16, SIDRA_S32, SIDRA_S8}) {
        const sidra_type out_type = is_integer(type) ? SIDRA_S32 : SIDRA_F32;
        const sidra_array a = layout(*in[0], type, Layout::kApart),
                          result = layout(*out, out_type, Layout::kTransposed);
        fill(a), clear();
        ASSERT_OK(sidra_cumsum(stream, kSize, &result, &a));
        synchronize();
        expect_exactly(result, [&](const At& at) {
            const auto row = row_of(a, at);
            double total = 0;
            for (uint32_t c = 0; c <= at[3]; ++c)
                total = is_integer(type) ? wrapped(total + row[c]) : f32(total + row[c]);
            return total;
        });
    }
}

TEST_F(ChipFunctions, RowsAtIndices) {
    constexpr uint32_t kTable = 19;
    const uint32_t table_size[4] = {1, 1, kTable, kSize[3]};
    for (const sidra_type index_type : {SIDRA_S32, SIDRA_S64})
        for (const sidra_type type : kTypes)
            for (const sidra_type out_type : {type, SIDRA_F32}) {
                SCOPED_TRACE(testing::Message() << out_type << "," << type);
                const auto value = [&](double x) { return out_type == type ? x : f32(x); };
                std::vector<uint32_t> rows;
                for (uint32_t r = 0; r < 10; ++r) {
                    rows.push_back(static_cast<uint32_t>(uniform(0, kTable - 0.001)));
                    if (index_type == SIDRA_S32) in[2]->as<int32_t>()[r] = static_cast<int32_t>(rows[r]);
                    else in[2]->as<int64_t>()[r] = rows[r];
                }
                sidra_array table = sidra_operand_dense(in[0]->at(), type, table_size);
                const sidra_array result = layout(*out, out_type, Layout::kDense);
                fill(table, -4, 4, table_size), clear();
                ASSERT_OK(sidra_gather_rows(stream, kSize, &result, &table, kTable, in[2]->at(), index_type));
                synchronize();
                expect_exactly(result, [&](const At& at) {
                    return value(number(table, {0, 0, rows[row_number(at)], at[3]}));
                });

                // Back: the last row of each index stays, rows without one keep what they have.
                const sidra_array a = layout(*in[1], type, Layout::kDense);
                sidra_array target = sidra_operand_dense(out->at(), out_type, table_size);
                for (const bool add : {false, true}) {
                    fill(a);
                    clear();
                    for_each(table_size, [&](const At& at) { put(target, at, 1); });
                    ASSERT_OK((add ? sidra_scatter_add_rows : sidra_scatter_rows)(stream, kSize, &target, kTable,
                                                                                  in[2]->at(), index_type, &a));
                    synchronize();
                    expect_exactly(
                        target,
                        [&](const At& at) {
                            double kept = 1;
                            const bool whole = is_integer(type) && is_integer(out_type);
                            for_each({kSize[0], kSize[1], kSize[2], 1}, [&](const At& row) {
                                if (rows[row_number(row)] != at[2]) return;
                                const double x = number(a, {row[0], row[1], row[2], at[3]});
                                if (!add) kept = value(x);
                                else
                                    kept = whole ? stored(wrapped(loaded(kept) + loaded(x)), out_type)
                                                 : stored(f32(kept + f32(x)), out_type);
                            });
                            return kept;
                        },
                        table_size);
                }
            }
}

TEST_F(ChipFunctions, ElementsAtIndices) {
    constexpr uint32_t kColumns = 50;
    const uint32_t wide[4] = {kSize[0], kSize[1], kSize[2], kColumns};
    for (const sidra_type index_type : {SIDRA_U8, SIDRA_S8, SIDRA_S16, SIDRA_S32, SIDRA_S64})
        for (const sidra_type type : kTypes)
            for (const sidra_type out_type : {type, SIDRA_F32}) {
                SCOPED_TRACE(testing::Message() << out_type << "," << type << "," << index_type);
                const sidra_array indices = layout(*in[1], index_type, Layout::kTransposed);
                for_each(kSize, [&](const At& at) { put(indices, at, std::floor(uniform(0, kColumns - 0.001))); });
                const sidra_array a = sidra_operand_dense(in[0]->at(), type, wide),
                                  result = layout(*out, out_type, Layout::kApart);
                fill(a, -4, 4, wide), clear();
                const auto value = [&](double x) {
                    return out_type != type ? f32(x) : type == SIDRA_S64 ? loaded(x) : x;
                };
                ASSERT_OK(sidra_gather(stream, kSize, &result, &a, kColumns, &indices));
                synchronize();
                const auto index = [&](const At& at) { return static_cast<uint32_t>(number(indices, at)); };
                expect_exactly(result, [&](const At& at) {
                    return value(number(a, {at[0], at[1], at[2], index(at)}));
                });

                const sidra_array from = layout(*in[0], type, Layout::kApart),
                                  target = sidra_operand_dense(out->at(), out_type, wide);
                fill(from), clear();
                ASSERT_OK(sidra_scatter(stream, kSize, &target, kColumns, &indices, &from));
                synchronize();
                expect_exactly(
                    target,
                    [&](const At& at) {
                        double kept = 0;
                        for (uint32_t c = 0; c < kSize[3]; ++c)
                            if (const At source{at[0], at[1], at[2], c}; index(source) == at[3])
                                kept = value(number(from, source));
                        return kept;
                    },
                    wide);
            }
}

TEST_F(ChipFunctions, Lookup) {
    const uint32_t entries[4] = {1, 1, 1, 256};
    for (const sidra_type code : {SIDRA_U8, SIDRA_S8})
        for (const sidra_type type : kTypes)
            for (const sidra_type out_type : {type, SIDRA_F32, SIDRA_S8}) {
                const sidra_array a = layout(*in[0], code, Layout::kApart),
                                  result = layout(*out, out_type, Layout::kDense);
                const sidra_array table = sidra_operand_dense(in[1]->at(), type, entries);
                fill(a), fill(table, -200, 200, entries), clear();
                ASSERT_OK(sidra_lookup(stream, kSize, &result, &a, in[1]->at(), type));
                synchronize();
                expect_exactly(result, [&](const At& at) {
                    const double x = number(table, {0, 0, 0, static_cast<uint8_t>(static_cast<int>(number(a, at)))});
                    if (out_type == type && type != SIDRA_S64) return x;
                    return is_integer(type) && is_integer(out_type) ? stored(loaded(x), out_type)
                                                                    : stored(f32(x), out_type);
                });
            }
}

// Philox4x32-10 of Salmon and others, "Parallel Random Numbers: As Easy as 1, 2, 3".
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
    for (int round = 0; round < 10; ++round) {
        const uint64_t first = uint64_t{0xD2511F53} * counter[0], second = uint64_t{0xCD9E8D57} * counter[2];
        counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
                   static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
        key[0] += 0x9E3779B9, key[1] += 0xBB67AE85;
    }
    return counter;
}

TEST_F(ChipFunctions, RandomNumbersAreThoseOfTheHost) {
    // Known answers of the reference implementation.
    EXPECT_EQ((std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}), philox({0, 0, 0, 0}, {0, 0}));
    EXPECT_EQ((std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}),
              philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}));
    const uint32_t seed = 0xfedcba98, sequence = 77;
    const auto u = [&](const At& at, uint32_t draw) {
        const uint32_t e = row_number(at) * kSize[3] + at[3];
        return (philox({e / 4, 0, draw, 0}, {seed, sequence})[e % 4] >> 8) * 0x1p-24;
    };
    for (const Layout how : kOutputs) {
        const sidra_array result = layout(*out, SIDRA_F32, how), a = layout(*in[0], SIDRA_F32, Layout::kDense);
        fill(a);
        ASSERT_OK(sidra_random_uniform(stream, kSize, &result, -2.5f, 0.75f, seed, sequence));
        synchronize();
        expect_exactly(result, [&](const At& at) { return std::fma(static_cast<float>(u(at, 0)), 3.25f, -2.5f); });
        ASSERT_OK(sidra_random_bernoulli(stream, kSize, &result, 0.3f, seed, sequence));
        synchronize();
        expect_exactly(result, [&](const At& at) { return u(at, 0) < f32(0.3) ? 1 : 0; });
        ASSERT_OK(sidra_dropout(stream, kSize, &result, &a, 0.3f, seed, sequence));
        synchronize();
        expect_exactly(result, [&](const At& at) {
            return u(at, 0) < f32(0.3) ? 0 : f32(number(a, at) * f32(1 / (1 - f32(0.3))));
        });
        ASSERT_OK(sidra_random_normal(stream, kSize, &result, 5.0f, 2.0f, seed, sequence));
        synchronize();
        // The radius is at most 5.8: the logarithm is off by 1.3 ulp, the angle by 2 roundings of 2 pi.
        expect_near(
            result,
            [&](const At& at) {
                return std::sqrt(-2 * std::log(u(at, 0) + kUnit)) * std::cos(2 * M_PI * u(at, 1)) * 2 + 5;
            },
            [](const At&, double wanted) { return 256 * kUnit + kUnit * std::fabs(wanted); });
    }
    // All and none.
    const sidra_array mask = layout(*out, SIDRA_BOOL, Layout::kDense);
    for (const float probability : {0.0f, 1.0f}) {
        ASSERT_OK(sidra_random_bernoulli(stream, kSize, &mask, probability, seed, sequence));
        synchronize();
        expect_exactly(mask, [&](const At&) { return probability; });
    }
}

TEST_F(ChipFunctions, GraphsRecordThem) {
    const sidra_array a = layout(*in[0], SIDRA_F32, Layout::kDense), b = layout(*in[1], SIDRA_F32, Layout::kRow);
    const sidra_array result = layout(*out, SIDRA_F32, Layout::kDense), best = one_each(*extra, SIDRA_S32);
    sidra_graph* graph = nullptr;
    ASSERT_OK(sidra_graph_begin(stream));
    ASSERT_OK(sidra_mul(stream, kSize, &result, &a, &b));
    ASSERT_OK(sidra_relu(stream, kSize, &result, &result));
    ASSERT_OK(sidra_reduce_argmax(stream, kSize, &best, &result));
    ASSERT_OK(sidra_graph_end(stream, &graph));
    uint32_t operations = 0;
    ASSERT_OK(sidra_graph_operations(graph, &operations));
    EXPECT_EQ(3u, operations) << "one packet each";
    for (int round = 0; round < 3; ++round) {
        fill(a), fill(b);
        ASSERT_OK(sidra_graph_launch_async(stream, graph));
        synchronize();
        expect_exactly(best, [&](const At& at) {
            const auto row = row_of(result, at);
            return static_cast<double>(std::ranges::max_element(row) - row.begin());
        });
        expect_exactly(result, [&](const At& at) { return std::max(f32(number(a, at) * number(b, at)), 0.0); });
        if (round == 1) {  // the programs outlive a loss of the context
            ASSERT_OK(sidra_device_reset(device));
            ASSERT_OK(sidra_context_recover(context));
        }
    }
    EXPECT_OK(sidra_graph_destroy(graph));
}

TEST_F(ChipFunctions, ThreadsMayCallThemFirst) {
    std::atomic<int> failures{0};
    std::vector<std::thread> threads;
    const sidra_array a = layout(*in[0], SIDRA_F32, Layout::kDense);
    fill(a);
    for (uint32_t i = 0; i < 4; ++i)
        threads.emplace_back([&, i] {
            sidra_stream* own = nullptr;
            const uint32_t one[4] = {1, 1, 1, 1};
            const sidra_array result = sidra_operand_dense(out->at(i * 64), SIDRA_F32, one);
            failures += sidra_stream_create(context, nullptr, &own) != SIDRA_OK;
            for (int n = 0; n < 50; ++n) failures += sidra_neg(own, one, &result, &a) != SIDRA_OK;
            failures += sidra_stream_synchronize(own, soon()) != SIDRA_OK;
            failures += sidra_stream_destroy(own) != SIDRA_OK;
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(0, failures);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(-number(a, {}), out->as<float>()[i * 16]);
}

TEST_F(ChipFunctions, LongRows) {
    constexpr uint32_t kColumns = 131'072;
    const Buffer from(context, kColumns * 4 + 4096), to(context, kColumns * 4 + 4096);
    const uint32_t size[4] = {1, 1, 1, kColumns}, one[4] = {1, 1, 1, 1};
    const sidra_array a = sidra_operand_dense(from.at(), SIDRA_F32, size),
                      b = sidra_operand_dense(to.at(), SIDRA_F32, size);
    const sidra_array single = sidra_operand_dense(to.at(), SIDRA_F32, one),
                      codes = sidra_operand_dense(to.at(4096), SIDRA_S8, size);
    const sidra_array whole = sidra_operand_dense(to.at(), SIDRA_S32, one);
    for (float& x : from.as<float>()) x = 1;
    for (const Unary function : {sidra_softmax, sidra_log_softmax, sidra_cumsum})
        EXPECT_OK(function(stream, size, &b, &a));
    for (const Unary function : {sidra_reduce_max, sidra_reduce_min, sidra_reduce_mean})
        EXPECT_OK(function(stream, size, &single, &a));
    for (const Unary function : {sidra_reduce_argmax, sidra_reduce_argmin})
        EXPECT_OK(function(stream, size, &whole, &a));
    EXPECT_OK(sidra_layer_norm(stream, size, &b, &a, &a, &a, 0));
    EXPECT_OK(sidra_rms_norm(stream, size, &b, &a, &a, 0));
    EXPECT_OK(sidra_reduce_variance(stream, size, &single, &a, 1));
    EXPECT_OK(sidra_quantize_rows(stream, size, &codes, &single, &a));
    sidra_array narrow = b;
    narrow.type = SIDRA_BF16, narrow.stride[3] = 2;
    EXPECT_OK(sidra_softmax(stream, size, &narrow, &a));
    EXPECT_OK(sidra_reduce_sum(stream, size, &single, &a));
    synchronize();
    EXPECT_EQ(float{kColumns}, to.as<float>()[0]);
    const uint32_t scattered[4] = {1, 1, 1, 63'550};
    sidra_array indices = a;
    indices.type = SIDRA_S32;
    for (uint32_t& i : from.as<uint32_t>()) i = 5;
    EXPECT_OK(sidra_scatter(stream, scattered, &b, kColumns, &indices, &indices));
    synchronize();
    // Longer ones are refused with a number, which is then accepted.
    const uint32_t long_row[4] = {1, 1, 1, 1 << 20};
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_softmax(stream, long_row, &b, &a));
    const std::string text = sidra_last_error();
    const size_t at = text.find("at most ");
    ASSERT_NE(std::string::npos, at) << text;
    const auto most = static_cast<uint32_t>(std::stoul(text.substr(at + 8)));
    EXPECT_GE(most, kColumns);
    const Buffer large_from(context, size_t{most} * 4), large_to(context, size_t{most} * 4);
    const uint32_t longest[4] = {1, 1, 1, most}, too_long[4] = {1, 1, 1, most + 1};
    const sidra_array c = sidra_operand_dense(large_from.at(), SIDRA_F32, longest);
    const sidra_array d = sidra_operand_dense(large_to.at(), SIDRA_F32, longest);
    EXPECT_OK(sidra_softmax(stream, longest, &d, &c));
    EXPECT_FAILS(SIDRA_ERROR_INVALID_ARGUMENT, sidra_softmax(stream, too_long, &d, &c));
    synchronize();
    // What computes each element by itself has no such limit.
    const uint32_t longer[4] = {1, 1, 1, 1 << 21};
    const Buffer bytes(context, 1 << 21);
    const sidra_array small = sidra_operand_dense(bytes.at(), SIDRA_U8, longer);
    EXPECT_OK(sidra_add(stream, longer, &small, &small, &small));
    synchronize();
}

}  // namespace
}  // namespace sidra::test
