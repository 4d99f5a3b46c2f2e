// SPDX-License-Identifier: MIT
// Every compute-engine operation through the API, dense and strided, against the definition in sidra_cmd.h written out
// naively.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "chip_fixture.h"

namespace sidra::test {
namespace {

constexpr uint32_t kRows = 7, kCols = 37;

double value_at(const uint8_t* row, sidra_type type, uint32_t col) {
    switch (type) {
        case SIDRA_U8:
            return row[col];
        case SIDRA_S8:
            return static_cast<int8_t>(row[col]);
        case SIDRA_S32: {
            int32_t value;
            std::memcpy(&value, row + col * 4, 4);
            return value;
        }
        default: {
            float value;
            std::memcpy(&value, row + col * 4, 4);
            return value;
        }
    }
}

uint32_t size_of(sidra_type type) { return type == SIDRA_S32 || type == SIDRA_F32 ? 4 : 1; }

class ChipVec : public ChipTest {
   protected:
    void SetUp() override {
        ChipTest::SetUp();
        in = std::make_unique<Buffer>(context, 1 << 16);
        in2 = std::make_unique<Buffer>(context, 1 << 16);
        out = std::make_unique<Buffer>(context, 1 << 16);
    }
    void TearDown() override {
        in.reset();
        in2.reset();
        out.reset();
        ChipTest::TearDown();
    }
    void fill(const Buffer& buffer, sidra_type type) {
        if (type == SIDRA_F32) randomise(buffer.as<float>(), -4.0f, 4.0f);
        else if (type == SIDRA_S32) randomise(buffer.as<int32_t>(), -100'000, 100'000);
        else randomise(buffer.as(), 0, 255);
    }
    sidra_vec make(sidra_vec_operation op, sidra_type in_type, sidra_type out_type, bool second = false) {
        auto vec = SIDRA_INIT(sidra_vec);
        vec.op = op;
        vec.in_type = in_type, vec.out_type = out_type;
        vec.rows = kRows, vec.cols = kCols;
        vec.in = in->at(), vec.out = out->at();
        if (second) vec.in2 = in2->at();
        return vec;
    }
    using Oracle = std::function<double(const uint8_t* in_row, const uint8_t* in2_row, uint32_t col)>;
    // Runs it dense, then with rows apart, and compares each of out_cols elements a row; tolerance 0: the same bits.
    void expect(sidra_vec vec, uint32_t out_cols, double tolerance, const Oracle& oracle) {
        for (const bool apart : {false, true}) {
            SCOPED_TRACE(testing::Message() << "op " << vec.op << " types " << vec.in_type << "," << vec.out_type
                                            << (apart ? " strided" : " dense"));
            const size_t in_row = vec.cols * size_of(vec.in_type), out_row = out_cols * size_of(vec.out_type);
            vec.in_stride = apart ? in_row + 20 : 0;
            vec.out_stride = apart ? out_row + 12 : 0;
            fill(*in, vec.in_type);
            std::memset(out->as().data(), 0, out->as().size());
            ASSERT_OK(sidra_vec_async(stream, &vec));
            synchronize();
            for (uint32_t row = 0; row < vec.rows; ++row) {
                const uint8_t* from = in->as().data() + row * (apart ? in_row + 20 : in_row);
                const uint8_t* second = in2->as().data() + row * vec.in2_stride;
                const uint8_t* to = out->as().data() + row * (apart ? out_row + 12 : out_row);
                for (uint32_t col = 0; col < out_cols; ++col) {
                    const double expected = oracle(from, second, col), got = value_at(to, vec.out_type, col);
                    ASSERT_NEAR(expected, got, tolerance * std::max(1.0, std::fabs(expected))) << row << "," << col;
                }
            }
        }
    }
    std::unique_ptr<Buffer> in, in2, out;
};

TEST_F(ChipVec, TwoOperands) {
    const auto all = {std::pair<sidra_vec_operation, double (*)(double, double)>{
                          SIDRA_VEC_ADD, [](double a, double b) { return a + b; }},
                      {SIDRA_VEC_SUB, [](double a, double b) { return a - b; }},
                      {SIDRA_VEC_MUL, [](double a, double b) { return a * b; }},
                      {SIDRA_VEC_MAX, [](double a, double b) { return std::max(a, b); }},
                      {SIDRA_VEC_MIN, [](double a, double b) { return std::min(a, b); }}};
    for (const auto& [op, function] : all)
        for (const size_t stride : {size_t{0}, size_t{kCols * 4}, size_t{kCols * 4 + 8}}) {
            sidra_vec vec = make(op, SIDRA_F32, SIDRA_F32, true);
            vec.in2_stride = stride;
            fill(*in2, SIDRA_F32);
            expect(vec, kCols, 0, [f = function](const uint8_t* a, const uint8_t* b, uint32_t col) {
                return static_cast<float>(f(value_at(a, SIDRA_F32, col), value_at(b, SIDRA_F32, col)));
            });
            vec.in_type = vec.out_type = SIDRA_S32;
            fill(*in2, SIDRA_S32);
            expect(vec, kCols, 0, [f = function](const uint8_t* a, const uint8_t* b, uint32_t col) {
                const double exact = f(value_at(a, SIDRA_S32, col), value_at(b, SIDRA_S32, col));
                return static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(exact)));  // modulo 2^32
            });
        }
}

TEST_F(ChipVec, Activations) {
    const auto one = [](double (*f)(double), sidra_type type) -> Oracle {
        return [f, type](const uint8_t* a, const uint8_t*, uint32_t col) { return f(value_at(a, type, col)); };
    };
    for (const sidra_type type : {SIDRA_F32, SIDRA_S32, SIDRA_S8})
        expect(make(SIDRA_VEC_RELU, type, type), kCols, 0, one([](double x) { return std::max(x, 0.0); }, type));
    constexpr double kTolerance = 1e-5;
    const auto float_op = [&](sidra_vec_operation op, double (*f)(double)) {
        expect(make(op, SIDRA_F32, SIDRA_F32), kCols, kTolerance, one(f, SIDRA_F32));
    };
    float_op(SIDRA_VEC_GELU, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
    float_op(SIDRA_VEC_GELU_TANH,
             [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); });
    float_op(SIDRA_VEC_SIGMOID, [](double x) { return 1 / (1 + std::exp(-x)); });
    float_op(SIDRA_VEC_TANH, [](double x) { return std::tanh(x); });
    float_op(SIDRA_VEC_SILU, [](double x) { return x / (1 + std::exp(-x)); });
    float_op(SIDRA_VEC_EXP, [](double x) { return std::exp(x); });

    sidra_vec lut = make(SIDRA_VEC_LUT, SIDRA_S8, SIDRA_U8, true);
    randomise(in2->as(), 0, 255);
    expect(lut, kCols, 0, [&](const uint8_t* a, const uint8_t* table, uint32_t col) { return table[a[col]]; });
}

TEST_F(ChipVec, Conversions) {
    const auto rne = [](double value) { return static_cast<double>(std::nearbyint(static_cast<float>(value))); };
    sidra_vec quantise = make(SIDRA_VEC_QUANTIZE, SIDRA_F32, SIDRA_S8);
    quantise.scale = 40.0f;
    quantise.zero = -3;
    expect(quantise, kCols, 0, [&](const uint8_t* a, const uint8_t*, uint32_t col) {
        return std::clamp(rne(static_cast<float>(value_at(a, SIDRA_F32, col)) * 40.0f) - 3.0, -128.0, 127.0);
    });
    quantise = make(SIDRA_VEC_QUANTIZE, SIDRA_S32, SIDRA_U8, true);  // a factor for each column
    randomise(in2->as<float>(), 0.0001f, 0.01f);
    expect(quantise, kCols, 0, [&](const uint8_t* a, const uint8_t* factors, uint32_t col) {
        const auto factor = static_cast<float>(value_at(factors, SIDRA_F32, col));
        return std::clamp(rne(static_cast<float>(value_at(a, SIDRA_S32, col)) * factor), 0.0, 255.0);
    });
    for (const sidra_type type : {SIDRA_S8, SIDRA_U8, SIDRA_S32}) {
        sidra_vec dequantise = make(SIDRA_VEC_DEQUANTIZE, type, SIDRA_F32);
        dequantise.scale = 0.125f;
        dequantise.zero = 9;
        expect(dequantise, kCols, 0,
               [type](const uint8_t* a, const uint8_t*, uint32_t col) { return (value_at(a, type, col) - 9) * 0.125; });
    }
}

TEST_F(ChipVec, AlongARow) {
    const auto sum_of = [](const uint8_t* row, auto&& f) {
        double sum = 0;
        for (uint32_t col = 0; col < kCols; ++col) sum += f(value_at(row, SIDRA_F32, col));
        return sum;
    };
    expect(make(SIDRA_VEC_SOFTMAX, SIDRA_F32, SIDRA_F32), kCols, 1e-5,
           [&](const uint8_t* a, const uint8_t*, uint32_t col) {
               return std::exp(value_at(a, SIDRA_F32, col)) / sum_of(a, [](double x) { return std::exp(x); });
           });
    for (const bool with_gamma : {false, true}) {
        sidra_vec norm = make(SIDRA_VEC_LAYERNORM, SIDRA_F32, SIDRA_F32, with_gamma);
        norm.scale = 1e-5f;
        fill(*in2, SIDRA_F32);
        expect(norm, kCols, 1e-4, [&](const uint8_t* a, const uint8_t* second, uint32_t col) {
            const double mean = sum_of(a, [](double x) { return x; }) / kCols;
            const double variance = sum_of(a, [&](double x) { return (x - mean) * (x - mean); }) / kCols;
            const double plain = (value_at(a, SIDRA_F32, col) - mean) / std::sqrt(variance + 1e-5);
            return with_gamma ? plain * value_at(second, SIDRA_F32, col) + value_at(second, SIDRA_F32, kCols + col)
                              : plain;
        });
    }
    const auto reduce = [](sidra_type type, double start, double (*f)(double, double)) -> Oracle {
        return [=](const uint8_t* a, const uint8_t*, uint32_t) {
            double result = start;
            for (uint32_t col = 0; col < kCols; ++col) result = f(result, value_at(a, type, col));
            return result;
        };
    };
    const auto add = [](double a, double b) { return a + b; };
    const auto max = [](double a, double b) { return std::max(a, b); };
    const auto min = [](double a, double b) { return std::min(a, b); };
    const double infinity = std::numeric_limits<double>::infinity();
    expect(make(SIDRA_VEC_REDUCE_SUM, SIDRA_F32, SIDRA_F32), 1, 1e-5, reduce(SIDRA_F32, 0, add));
    expect(make(SIDRA_VEC_REDUCE_SUM, SIDRA_S32, SIDRA_S32), 1, 0, reduce(SIDRA_S32, 0, add));
    expect(make(SIDRA_VEC_REDUCE_MEAN, SIDRA_F32, SIDRA_F32), 1, 1e-5,
           [&](const uint8_t* a, const uint8_t*, uint32_t) { return sum_of(a, [](double x) { return x; }) / kCols; });
    for (const sidra_type type : {SIDRA_F32, SIDRA_S32}) {
        expect(make(SIDRA_VEC_REDUCE_MAX, type, type), 1, 0, reduce(type, -infinity, max));
        expect(make(SIDRA_VEC_REDUCE_MIN, type, type), 1, 0, reduce(type, infinity, min));
    }
    for (const sidra_type type : {SIDRA_F32, SIDRA_S32, SIDRA_S8, SIDRA_U8})
        expect(make(SIDRA_VEC_ARGMAX, type, SIDRA_S32), 1, 0, [type](const uint8_t* a, const uint8_t*, uint32_t) {
            uint32_t best = 0;
            for (uint32_t col = 1; col < kCols; ++col)
                if (value_at(a, type, col) > value_at(a, type, best)) best = col;
            return best;
        });
}

TEST_F(ChipVec, Movement) {
    for (const sidra_type type : {SIDRA_U8, SIDRA_F32}) {
        const sidra_vec transpose = make(SIDRA_VEC_TRANSPOSE, type, type);
        fill(*in, type);
        ASSERT_OK(sidra_vec_async(stream, &transpose));
        synchronize();
        for (uint32_t row = 0; row < kRows; ++row)
            for (uint32_t col = 0; col < kCols; ++col)
                ASSERT_EQ(value_at(in->as().data() + row * kCols * size_of(type), type, col),
                          value_at(out->as().data() + col * kRows * size_of(type), type, row));

        sidra_vec gather = make(SIDRA_VEC_GATHER, type, type, true);
        gather.limit = 50;
        randomise(in2->as<int32_t>(), 0, 49);
        ASSERT_OK(sidra_vec_async(stream, &gather));
        synchronize();
        const size_t bytes = kCols * size_of(type);
        for (uint32_t row = 0; row < kRows; ++row)
            ASSERT_EQ(0, std::memcmp(out->as().data() + row * bytes,
                                     in->as().data() + static_cast<size_t>(in2->as<int32_t>()[row]) * bytes, bytes));
    }
}

TEST_F(ChipVec, Pooling) {
    constexpr uint32_t kImages = 2, kSize = 9, kOut = 5, kChannels = 6;
    sidra_vec_pool pool{};
    pool.in_h = pool.in_w = kSize;
    pool.out_h = pool.out_w = kOut;
    pool.kernel_h = pool.kernel_w = 3;
    pool.stride_h = pool.stride_w = 2;
    pool.pad_h = pool.pad_w = 1;
    std::memcpy(in2->as().data(), &pool, sizeof pool);
    for (const auto& [op, type] : {std::pair{SIDRA_VEC_POOL_MAX, SIDRA_U8},
                                   {SIDRA_VEC_POOL_MAX, SIDRA_S8},
                                   {SIDRA_VEC_POOL_MAX, SIDRA_F32},
                                   {SIDRA_VEC_POOL_AVG, SIDRA_F32}}) {
        sidra_vec vec = make(op, type, type, true);
        vec.rows = kImages * kOut;
        vec.cols = kChannels;
        fill(*in, type);
        ASSERT_OK(sidra_vec_async(stream, &vec));
        synchronize();
        const uint32_t in_row = kSize * kChannels * size_of(type), out_row = kOut * kChannels * size_of(type);
        for (uint32_t image = 0; image < kImages; ++image)
            for (uint32_t oy = 0; oy < kOut; ++oy)
                for (uint32_t ox = 0; ox < kOut; ++ox)
                    for (uint32_t c = 0; c < kChannels; ++c) {
                        double largest = -std::numeric_limits<double>::infinity(), sum = 0;
                        int pixels = 0;
                        for (int ky = 0; ky < 3; ++ky)
                            for (int kx = 0; kx < 3; ++kx) {
                                const int y = static_cast<int>(oy) * 2 - 1 + ky, x = static_cast<int>(ox) * 2 - 1 + kx;
                                if (y < 0 || x < 0 || y >= static_cast<int>(kSize) || x >= static_cast<int>(kSize))
                                    continue;
                                const double value =
                                    value_at(in->as().data() + (image * kSize + static_cast<uint32_t>(y)) * in_row,
                                             type, static_cast<uint32_t>(x) * kChannels + c);
                                largest = std::max(largest, value);
                                sum += value;
                                ++pixels;
                            }
                        const double got =
                            value_at(out->as().data() + (image * kOut + oy) * out_row, type, ox * kChannels + c);
                        ASSERT_NEAR(op == SIDRA_VEC_POOL_MAX ? largest : sum / pixels, got, 1e-5)
                            << oy << "," << ox << "," << c;
                    }
    }
}

}  // namespace
}  // namespace sidra::test
