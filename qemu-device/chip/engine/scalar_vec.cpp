// SPDX-License-Identifier: MIT
// VEC operations of the reference engine. Elements are accessed one at a time through memcpy: an operation in place may
// change the type of a row, and host memory has no type of its own.
#include "scalar_vec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "scalar_math.h"

namespace sidra::engine::scalar {
namespace {

template <class T>
T get(const void* row, size_t i) {
    T value;
    std::memcpy(&value, static_cast<const uint8_t*>(row) + i * sizeof(T), sizeof(T));
    return value;
}

template <class T>
void put(void* row, size_t i, T value) {
    std::memcpy(static_cast<uint8_t*>(row) + i * sizeof(T), &value, sizeof(T));
}

// Read an element of an integer type, or write it.
int32_t get_integer(uint32_t type, const void* row, size_t i) {
    if (type == SIDRA_TYPE_S8) return get<int8_t>(row, i);
    if (type == SIDRA_TYPE_U8) return get<uint8_t>(row, i);
    return get<int32_t>(row, i);
}

void put_saturated(uint32_t type, void* row, size_t i, int32_t value) {
    if (type == SIDRA_TYPE_S8) {
        put(row, i, static_cast<int8_t>(clamp_s8(value)));
    } else if (type == SIDRA_TYPE_U8) {
        put(row, i, static_cast<uint8_t>(clamp_u8(value)));
    } else {
        put(row, i, value);
    }
}

int32_t wrap(uint32_t x) { return static_cast<int32_t>(x); }

float factor(const Vec& v, size_t c) {
    const float gain = v.param0 == 0 ? 1.0f : std::bit_cast<float>(v.param0);
    return v.in2 != nullptr ? gain * get<float>(v.in2, c) : gain;
}

void quantize(const Vec& v, const void* in, void* out) {
    for (size_t c = 0; c < v.cols; ++c) {
        const float x = v.in_type == SIDRA_TYPE_F32 ? get<float>(in, c) : static_cast<float>(get<int32_t>(in, c));
        put_saturated(v.out_type, out, c, add_saturated(rne(x * factor(v, c)), wrap(v.param1)));
    }
}

void dequantize(const Vec& v, const void* in, void* out) {
    for (size_t c = 0; c < v.cols; ++c) {
        const int32_t x = wrap(static_cast<uint32_t>(get_integer(v.in_type, in, c)) - v.param1);
        put(out, c, canonical(static_cast<float>(x) * factor(v, c)));
    }
}

float binary(uint32_t op, float a, float b) {
    switch (op) {
        case SIDRA_VEC_OP_ADD:
            return canonical(a + b);
        case SIDRA_VEC_OP_SUB:
            return canonical(a - b);
        case SIDRA_VEC_OP_MUL:
            return canonical(a * b);
        case SIDRA_VEC_OP_MAX:
            return maximum(a, b);
        default:
            return minimum(a, b);
    }
}

int32_t binary(uint32_t op, int32_t a, int32_t b) {
    const auto x = static_cast<uint32_t>(a);
    const auto y = static_cast<uint32_t>(b);
    switch (op) {
        case SIDRA_VEC_OP_ADD:
            return wrap(x + y);
        case SIDRA_VEC_OP_SUB:
            return wrap(x - y);
        case SIDRA_VEC_OP_MUL:
            return wrap(x * y);
        case SIDRA_VEC_OP_MAX:
            return std::max(a, b);
        default:
            return std::min(a, b);
    }
}

template <class T>
void two_operands(const Vec& v, const void* in, const void* in2, void* out) {
    for (size_t c = 0; c < v.cols; ++c) put(out, c, binary(v.op, get<T>(in, c), get<T>(in2, c)));
}

float unary(uint32_t op, float x) {
    switch (op) {
        case SIDRA_VEC_OP_RELU:
            return x <= 0.0f ? 0.0f : x;
        case SIDRA_VEC_OP_GELU:
            return gelu(x);
        case SIDRA_VEC_OP_GELU_TANH:
            return gelu_tanh(x);
        case SIDRA_VEC_OP_SIGMOID:
            return sigmoid(x);
        case SIDRA_VEC_OP_TANH:
            return tanh(x);
        case SIDRA_VEC_OP_SILU:
            return silu(x);
        default:
            return exp(x);
    }
}

void one_operand(const Vec& v, const void* in, void* out) {
    for (size_t c = 0; c < v.cols; ++c) {
        if (v.in_type == SIDRA_TYPE_F32) {
            put(out, c, canonical(unary(v.op, get<float>(in, c))));
        } else {  // RELU
            put_saturated(v.in_type, out, c, std::max(get_integer(v.in_type, in, c), 0));
        }
    }
}

void lut(const Vec& v, const void* in, void* out) {
    for (size_t c = 0; c < v.cols; ++c) put(out, c, get<uint8_t>(v.in2, get<uint8_t>(in, c)));
}

int32_t largest_key(const void* in, size_t cols) {
    int32_t key = std::numeric_limits<int32_t>::min();
    for (size_t c = 0; c < cols; ++c) key = std::max(key, max_key(get<float>(in, c)));
    return key;
}

void softmax(const Vec& v, const void* in, void* out) {
    const float m = from_max_key(largest_key(in, v.cols));
    for (size_t c = 0; c < v.cols; ++c) put(out, c, exp(get<float>(in, c) - m));
    const float inverse = 1.0f / ordered_sum(v.cols, [&](size_t c) { return get<float>(out, c); });
    for (size_t c = 0; c < v.cols; ++c) put(out, c, canonical(get<float>(out, c) * inverse));
}

void layernorm(const Vec& v, const void* in, void* out) {
    const auto n = static_cast<float>(v.cols);
    const float mean = ordered_sum(v.cols, [&](size_t c) { return get<float>(in, c); }) / n;
    const float variance = ordered_sum(v.cols,
                                       [&](size_t c) {
                                           const float d = get<float>(in, c) - mean;
                                           return d * d;
                                       }) /
                           n;
    const float inverse = 1.0f / std::sqrt(variance + std::bit_cast<float>(v.param0));
    for (size_t c = 0; c < v.cols; ++c) {
        const float gamma = v.in2 != nullptr ? get<float>(v.in2, c) : 1.0f;
        const float beta = v.in2 != nullptr ? get<float>(v.in2, v.cols + c) : 0.0f;
        put(out, c, canonical(((get<float>(in, c) - mean) * inverse) * gamma + beta));
    }
}

void reduce_sum(const Vec& v, const void* in, void* out) {
    if (v.in_type == SIDRA_TYPE_S32) {
        uint32_t sum = 0;
        for (size_t c = 0; c < v.cols; ++c) sum += get<uint32_t>(in, c);
        put(out, 0, sum);
        return;
    }
    const float sum = ordered_sum(v.cols, [&](size_t c) { return get<float>(in, c); });
    put(out, 0, canonical(v.op == SIDRA_VEC_OP_REDUCE_MEAN ? sum / static_cast<float>(v.cols) : sum));
}

void reduce_extreme(const Vec& v, const void* in, void* out) {
    const bool max = v.op == SIDRA_VEC_OP_REDUCE_MAX;
    const bool real = v.in_type == SIDRA_TYPE_F32;
    int32_t best = max ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
    for (size_t c = 0; c < v.cols; ++c) {
        if (max) {
            best = std::max(best, real ? max_key(get<float>(in, c)) : get<int32_t>(in, c));
        } else {
            best = std::min(best, real ? min_key(get<float>(in, c)) : get<int32_t>(in, c));
        }
    }
    if (real) {
        put(out, 0, max ? from_max_key(best) : from_min_key(best));
    } else {
        put(out, 0, best);
    }
}

void argmax(const Vec& v, const void* in, void* out) {
    int32_t best_index = 0;
    int32_t best = std::numeric_limits<int32_t>::min();
    for (size_t c = 0; c < v.cols; ++c) {
        // + 0 makes -0 equal to +0
        const int32_t key =
            v.in_type == SIDRA_TYPE_F32 ? max_key(get<float>(in, c) + 0.0f) : get_integer(v.in_type, in, c);
        if (key > best) {
            best = key;
            best_index = static_cast<int32_t>(c);
        }
    }
    put(out, 0, best_index);
}

void row(const Vec& v, const void* in, const void* in2, void* out) {
    switch (v.op) {
        case SIDRA_VEC_OP_QUANTIZE:
            return quantize(v, in, out);
        case SIDRA_VEC_OP_DEQUANTIZE:
            return dequantize(v, in, out);
        case SIDRA_VEC_OP_ADD:
        case SIDRA_VEC_OP_SUB:
        case SIDRA_VEC_OP_MUL:
        case SIDRA_VEC_OP_MAX:
        case SIDRA_VEC_OP_MIN:
            return v.in_type == SIDRA_TYPE_F32 ? two_operands<float>(v, in, in2, out)
                                               : two_operands<int32_t>(v, in, in2, out);
        case SIDRA_VEC_OP_LUT:
            return lut(v, in, out);
        case SIDRA_VEC_OP_SOFTMAX:
            return softmax(v, in, out);
        case SIDRA_VEC_OP_LAYERNORM:
            return layernorm(v, in, out);
        case SIDRA_VEC_OP_REDUCE_SUM:
        case SIDRA_VEC_OP_REDUCE_MEAN:
            return reduce_sum(v, in, out);
        case SIDRA_VEC_OP_REDUCE_MAX:
        case SIDRA_VEC_OP_REDUCE_MIN:
            return reduce_extreme(v, in, out);
        case SIDRA_VEC_OP_ARGMAX:
            return argmax(v, in, out);
        default:
            return one_operand(v, in, out);
    }
}

}  // namespace

void vec(const Vec& v) {
    for (size_t r = 0; r < v.rows; ++r) {
        const void* in2 = v.in2 != nullptr ? static_cast<const uint8_t*>(v.in2) + r * v.in2_stride : nullptr;
        row(v, static_cast<const uint8_t*>(v.in) + r * v.in_stride, in2,
            static_cast<uint8_t*>(v.out) + r * v.out_stride);
    }
}

}  // namespace sidra::engine::scalar
