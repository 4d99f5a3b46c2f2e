// SPDX-License-Identifier: MIT
// All engines give the same bits for every operation, type and shape, on data with every kind of float; in place where
// that is allowed.
#include <gtest/gtest.h>

#include "engine_test_util.h"

namespace sidra::engine::test {
namespace {

struct Operation {
    uint32_t op, in_type, out_type;
    int second;  // 0 none, 1 one row for each row, 2 gamma and beta, 3 table, 4 one row of factors
};

constexpr uint32_t kU8 = SIDRA_TYPE_U8, kS8 = SIDRA_TYPE_S8, kS32 = SIDRA_TYPE_S32, kF32 = SIDRA_TYPE_F32;

std::vector<Operation> operations() {
    std::vector<Operation> all;
    for (const int second : {0, 4}) {
        for (const uint32_t in : {kF32, kS32}) {
            for (const uint32_t out : {kS8, kU8, kS32}) all.push_back({SIDRA_VEC_OP_QUANTIZE, in, out, second});
        }
        for (const uint32_t in : {kS8, kU8, kS32}) all.push_back({SIDRA_VEC_OP_DEQUANTIZE, in, kF32, second});
    }
    for (uint32_t op = SIDRA_VEC_OP_ADD; op <= SIDRA_VEC_OP_MIN; ++op) {
        all.push_back({op, kF32, kF32, 1});
        all.push_back({op, kS32, kS32, 1});
    }
    for (const uint32_t type : {kF32, kS32, kS8}) all.push_back({SIDRA_VEC_OP_RELU, type, type, 0});
    for (uint32_t op = SIDRA_VEC_OP_GELU; op <= SIDRA_VEC_OP_EXP; ++op) all.push_back({op, kF32, kF32, 0});
    for (const uint32_t in : {kS8, kU8}) {
        for (const uint32_t out : {kS8, kU8}) all.push_back({SIDRA_VEC_OP_LUT, in, out, 3});
    }
    all.push_back({SIDRA_VEC_OP_SOFTMAX, kF32, kF32, 0});
    all.push_back({SIDRA_VEC_OP_LAYERNORM, kF32, kF32, 0});
    all.push_back({SIDRA_VEC_OP_LAYERNORM, kF32, kF32, 2});
    for (uint32_t op = SIDRA_VEC_OP_REDUCE_SUM; op <= SIDRA_VEC_OP_REDUCE_MIN; ++op) {
        all.push_back({op, kF32, kF32, 0});
        if (op != SIDRA_VEC_OP_REDUCE_MEAN) all.push_back({op, kS32, kS32, 0});
    }
    for (const uint32_t in : {kF32, kS32, kS8, kU8}) all.push_back({SIDRA_VEC_OP_ARGMAX, in, kS32, 0});
    return all;
}

size_t size_of(uint32_t type) { return type == kS8 || type == kU8 ? 1 : 4; }

enum class Data { kAny, kPlain, kFewNan };

void fill(Random& random, uint32_t type, Data data, uint8_t* bytes, size_t size) {
    fill_bits(random, bytes, size);
    if (type != kF32) return;
    for (size_t i = 0; i + 4 <= size; i += 4) {
        const float x = data == Data::kAny ? any_float(random) : plain_float(random);
        std::memcpy(bytes + i, &x, 4);
    }
    if (data == Data::kFewNan && size >= 4) {
        const float nan = NAN;
        std::memcpy(bytes + random() % (size / 4) * 4, &nan, 4);
    }
}

void check(const Operation& o, uint32_t rows, uint32_t cols, bool gaps, Data data, Random& random) {
    SCOPED_TRACE("op " + std::to_string(o.op) + " types " + std::to_string(o.in_type) + std::to_string(o.out_type) +
                 " second " + std::to_string(o.second) + " " + std::to_string(rows) + "x" + std::to_string(cols));
    const bool reduces = o.op >= SIDRA_VEC_OP_REDUCE_SUM;
    const uint32_t out_cols = reduces ? 1 : cols;
    const size_t gap = gaps ? 3 : 0;
    Vec v{};
    v.op = o.op;
    v.in_type = o.in_type;
    v.out_type = o.out_type;
    v.rows = rows;
    v.cols = cols;
    v.in_stride = (cols + gap) * size_of(o.in_type);
    v.out_stride = (out_cols + gap) * size_of(o.out_type);
    Guarded<uint8_t> in((rows - 1) * v.in_stride + cols * size_of(o.in_type));
    fill(random, o.in_type, data, in.data(), in.size());
    size_t second = 0;
    if (o.second == 1) {
        v.in2_stride = random() % 2 == 0 ? 0 : v.in_stride;
        second = (rows - 1) * v.in2_stride + cols * 4;
    } else if (o.second != 0) {
        second = o.second == 2 ? size_t{cols} * 8 : o.second == 3 ? 256 : size_t{cols} * 4;
    }
    Guarded<uint8_t> in2(second);
    fill(random, o.second == 3 ? kU8 : o.second == 1 ? o.in_type : kF32, data, in2.data(), second);
    if (o.second != 0) v.in2 = in2.data();
    if (o.op == SIDRA_VEC_OP_QUANTIZE || o.op == SIDRA_VEC_OP_DEQUANTIZE) {
        const float scales[] = {0.05f, 3.0f, 1e9f, 1.0f};
        v.param0 = random() % 2 == 0 ? 0 : std::bit_cast<uint32_t>(scales[random() % 4]);
        const uint32_t zeros[] = {0, 128, static_cast<uint32_t>(-7), 0x7fffffffu, 0x80000000u};
        v.param1 = zeros[random() % std::size(zeros)];
    } else if (o.op == SIDRA_VEC_OP_LAYERNORM) {
        v.param0 = std::bit_cast<uint32_t>(1e-5f);
    }

    const size_t out_size = (rows - 1) * v.out_stride + out_cols * size_of(o.out_type);
    std::vector<uint8_t> expected;
    for (const Engine* engine : engines()) {
        Guarded<uint8_t> out(out_size);
        v.in = in.data();
        v.out = out.data();
        engine->vec(v);
        if (expected.empty()) expected.assign(out.begin(), out.end());
        ASSERT_EQ(0, std::memcmp(expected.data(), out.data(), out_size)) << engine->name;
        if (!reduces && v.in_stride == v.out_stride) {  // in place; the gaps keep the input's bytes
            Guarded<uint8_t> both(in.size());
            std::memcpy(both.data(), in.data(), in.size());
            v.in = v.out = both.data();
            engine->vec(v);
            for (size_t r = 0; r < rows; ++r) {
                ASSERT_EQ(0, std::memcmp(&expected[r * v.out_stride], &both[r * v.out_stride],
                                         out_cols * size_of(o.out_type)))
                    << engine->name << " in place, row " << r;
            }
        }
    }
}

TEST(VecParity, EveryOperationOnEveryKindOfFloat) {
    Random random(1);
    for (const Operation& o : operations()) {
        for (const auto& [rows, cols] : {std::pair{1u, 1u}, {3u, 5u}, {2u, 16u}, {4u, 33u}, {2u, 100u}, {1u, 1000u}}) {
            check(o, rows, cols, false, Data::kAny, random);
            check(o, rows, cols, true, Data::kAny, random);
        }
    }
}

TEST(VecParity, EveryOperationOnPlainNumbers) {
    Random random(2);
    for (const Operation& o : operations()) {
        for (int i = 0; i < 12; ++i) {
            check(o, between(random, 1, 4), between(random, 1, 300), i % 2 == 0,
                  i % 3 == 0 ? Data::kFewNan : Data::kPlain, random);
        }
    }
}

// Functions of one float over a regular sample of all bit patterns.
TEST(VecParity, FunctionsOverAllBitPatterns) {
    constexpr uint32_t kStep = 65521;  // prime, so that low bits vary
    std::vector<float> in;
    for (uint64_t bits = 0; bits < (1ull << 32); bits += kStep)
        in.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    for (uint32_t op = SIDRA_VEC_OP_RELU; op <= SIDRA_VEC_OP_EXP; ++op) {
        std::vector<float> expected;
        for (const Engine* engine : engines()) {
            std::vector<float> out(in.size());
            Vec v{};
            v.op = op;
            v.in_type = v.out_type = kF32;
            v.rows = 1;
            v.cols = static_cast<uint32_t>(in.size());
            v.in = in.data();
            v.out = out.data();
            v.in_stride = v.out_stride = in.size() * 4;
            engine->vec(v);
            if (expected.empty()) expected = out;
            ASSERT_EQ(0, std::memcmp(expected.data(), out.data(), in.size() * 4)) << engine->name << " op " << op;
        }
    }
}

TEST(VecParity, QuantizeInputAndBias) {
    Random random(3);
    for (const size_t n : {0u, 1u, 7u, 64u, 1000u}) {
        Guarded<float> in(n);
        for (float& x : in) x = any_float(random);
        Guarded<int8_t> bytes(n);
        fill_bits(random, bytes.data(), n);
        for (const int32_t zero : {0, 128, 255, std::numeric_limits<int32_t>::max()}) {
            Guarded<uint8_t> expected(n);
            find(SIDRA_CHIP_ENGINE_SCALAR)->quantize_u8(in.data(), expected.data(), n, 0.037f, zero);
            for (const Engine* engine : engines()) {
                Guarded<uint8_t> out(n);
                engine->quantize_u8(in.data(), out.data(), n, 0.037f, zero);
                ASSERT_EQ(0, std::memcmp(expected.data(), out.data(), n)) << engine->name;
                engine->bias_u8(bytes.data(), out.data(), n);
                for (size_t i = 0; i < n; ++i) ASSERT_EQ(bytes[i] + 128, out[i]) << engine->name;
            }
        }
    }
}

TEST(VecParity, Scale) {
    Random random(4);
    for (int i = 0; i < 120; ++i) {
        const uint32_t rows = between(random, 1, 4), cols = between(random, 1, 90);
        const uint32_t type = std::vector{kS8, kU8, kF32}[random() % 3];
        const size_t acc_stride = cols + random() % 3, out_stride = (cols + random() % 3) * size_of(type);
        Guarded<int32_t> acc((rows - 1) * acc_stride + cols);
        fill_bits(random, acc.data(), acc.size());
        Guarded<float> factors(cols);
        for (float& f : factors) f = i % 3 == 0 ? any_float(random) : std::fabs(plain_float(random)) * 1e-8f;
        const Scale s{acc.data(),
                      acc_stride,
                      nullptr,
                      out_stride,
                      rows,
                      cols,
                      type,
                      i % 5 == 0 ? 2e38f : 0.9f,
                      i % 2 == 0 ? factors.data() : nullptr,
                      type == kF32 ? 0 : static_cast<int32_t>(random() % 256) - 128};
        std::vector<uint8_t> expected;
        for (const Engine* engine : engines()) {
            Guarded<uint8_t> out((rows - 1) * out_stride + cols * size_of(type));
            Scale mine = s;
            mine.out = out.data();
            engine->scale(mine);
            if (expected.empty()) expected.assign(out.begin(), out.end());
            ASSERT_EQ(0, std::memcmp(expected.data(), out.data(), out.size())) << engine->name << " type " << type;
        }
    }
}

}  // namespace
}  // namespace sidra::engine::test
