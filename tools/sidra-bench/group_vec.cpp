// SPDX-License-Identifier: MIT
// Every operation of the compute engine on about a million elements.
#include <fmt/format.h>

#include <cmath>

#include "chip.h"
#include "groups.h"
#include "memory.h"
#include "sidra_cmd.h"

namespace sidra::bench {
namespace {

constexpr uint32_t kRows = 1024;
constexpr uint32_t kCols = 1024;
constexpr uint32_t kImages = 16;  // pooling: images of 32 x 32 pixels with 64 channels, 2 x 2 windows
constexpr uint32_t kPixels = 32;
constexpr uint32_t kChannels = 64;
constexpr size_t kElements = size_t{kRows} * kCols;

enum class Second { kNone, kDense, kTable, kNormal, kPool, kIndices };

struct Case {
    const char* name;
    sidra_vec_operation op;
    sidra_type in, out;
    Second second = Second::kNone;
};

constexpr Case kCases[] = {
    {"quantize f32-s8", SIDRA_VEC_QUANTIZE, SIDRA_F32, SIDRA_S8},
    {"quantize s32-u8", SIDRA_VEC_QUANTIZE, SIDRA_S32, SIDRA_U8},
    {"dequantize s8", SIDRA_VEC_DEQUANTIZE, SIDRA_S8, SIDRA_F32},
    {"dequantize s32", SIDRA_VEC_DEQUANTIZE, SIDRA_S32, SIDRA_F32},
    {"add f32", SIDRA_VEC_ADD, SIDRA_F32, SIDRA_F32, Second::kDense},
    {"add s32", SIDRA_VEC_ADD, SIDRA_S32, SIDRA_S32, Second::kDense},
    {"sub f32", SIDRA_VEC_SUB, SIDRA_F32, SIDRA_F32, Second::kDense},
    {"mul f32", SIDRA_VEC_MUL, SIDRA_F32, SIDRA_F32, Second::kDense},
    {"max f32", SIDRA_VEC_MAX, SIDRA_F32, SIDRA_F32, Second::kDense},
    {"min f32", SIDRA_VEC_MIN, SIDRA_F32, SIDRA_F32, Second::kDense},
    {"relu f32", SIDRA_VEC_RELU, SIDRA_F32, SIDRA_F32},
    {"relu s32", SIDRA_VEC_RELU, SIDRA_S32, SIDRA_S32},
    {"relu s8", SIDRA_VEC_RELU, SIDRA_S8, SIDRA_S8},
    {"gelu", SIDRA_VEC_GELU, SIDRA_F32, SIDRA_F32},
    {"gelu tanh", SIDRA_VEC_GELU_TANH, SIDRA_F32, SIDRA_F32},
    {"sigmoid", SIDRA_VEC_SIGMOID, SIDRA_F32, SIDRA_F32},
    {"tanh", SIDRA_VEC_TANH, SIDRA_F32, SIDRA_F32},
    {"silu", SIDRA_VEC_SILU, SIDRA_F32, SIDRA_F32},
    {"exp", SIDRA_VEC_EXP, SIDRA_F32, SIDRA_F32},
    {"lut s8", SIDRA_VEC_LUT, SIDRA_S8, SIDRA_S8, Second::kTable},
    {"softmax", SIDRA_VEC_SOFTMAX, SIDRA_F32, SIDRA_F32},
    {"layernorm", SIDRA_VEC_LAYERNORM, SIDRA_F32, SIDRA_F32, Second::kNormal},
    {"reduce sum f32", SIDRA_VEC_REDUCE_SUM, SIDRA_F32, SIDRA_F32},
    {"reduce sum s32", SIDRA_VEC_REDUCE_SUM, SIDRA_S32, SIDRA_S32},
    {"reduce mean", SIDRA_VEC_REDUCE_MEAN, SIDRA_F32, SIDRA_F32},
    {"reduce max", SIDRA_VEC_REDUCE_MAX, SIDRA_F32, SIDRA_F32},
    {"reduce min", SIDRA_VEC_REDUCE_MIN, SIDRA_F32, SIDRA_F32},
    {"argmax f32", SIDRA_VEC_ARGMAX, SIDRA_F32, SIDRA_S32},
    {"argmax s8", SIDRA_VEC_ARGMAX, SIDRA_S8, SIDRA_S32},
    {"pool max s8", SIDRA_VEC_POOL_MAX, SIDRA_S8, SIDRA_S8, Second::kPool},
    {"pool max f32", SIDRA_VEC_POOL_MAX, SIDRA_F32, SIDRA_F32, Second::kPool},
    {"pool avg f32", SIDRA_VEC_POOL_AVG, SIDRA_F32, SIDRA_F32, Second::kPool},
    {"transpose 1 byte", SIDRA_VEC_TRANSPOSE, SIDRA_S8, SIDRA_S8},
    {"transpose 4 bytes", SIDRA_VEC_TRANSPOSE, SIDRA_F32, SIDRA_F32},
    {"gather f32", SIDRA_VEC_GATHER, SIDRA_F32, SIDRA_F32, Second::kIndices},
};

size_t type_size(sidra_type type) { return type == SIDRA_U8 || type == SIDRA_S8 ? 1 : 4; }

// Memory for all cases. Inputs are small numbers in every type, so that no operation leaves its ordinary range.
struct Data {
    explicit Data(sidra_context* context)
        : bytes(context, kElements),
          words(context, kElements * 4),
          floats(context, kElements * 4),
          dense_words(context, kElements * 4),
          dense_floats(context, kElements * 4),
          table(context, 256),
          normal(context, size_t{kCols} * 2 * 4),
          pool(context, sizeof(sidra_vec_pool)),
          indices(context, size_t{kRows} * 4),
          out(context, kElements * 4) {
        fill_random<int8_t>({bytes.as<int8_t>(), kElements}, -128, 127, 1);
        fill_random<int32_t>({words.as<int32_t>(), kElements}, -100000, 100000, 2);
        fill_random<int32_t>({dense_words.as<int32_t>(), kElements}, -100000, 100000, 3);
        fill_random<float>({floats.as<float>(), kElements}, -4096, 4096, 4);
        fill_random<float>({dense_floats.as<float>(), kElements}, -4096, 4096, 5);
        for (size_t i = 0; i < kElements; ++i) {
            floats.as<float>()[i] /= 1024;
            dense_floats.as<float>()[i] /= 1024;
        }
        fill_random<int8_t>({table.as<int8_t>(), 256}, -128, 127, 6);
        for (size_t i = 0; i < 2 * kCols; ++i) normal.as<float>()[i] = i < kCols ? 1.5F : 0.25F;
        *pool.as<sidra_vec_pool>() = sidra_vec_pool{.in_h = kPixels,
                                                    .in_w = kPixels,
                                                    .out_h = kPixels / 2,
                                                    .out_w = kPixels / 2,
                                                    .kernel_h = 2,
                                                    .kernel_w = 2,
                                                    .stride_h = 2,
                                                    .stride_w = 2};
        fill_random<int32_t>({indices.as<int32_t>(), kRows}, 0, kRows - 1, 7);
    }

    const Buffer& input(sidra_type type) const {
        return type == SIDRA_F32 ? floats : type == SIDRA_S32 ? words : bytes;
    }

    Buffer bytes, words, floats, dense_words, dense_floats, table, normal, pool, indices, out;
};

sidra_vec operation(const Case& c, const Data& data) {
    sidra_vec vec = SIDRA_INIT(sidra_vec);
    vec.op = c.op;
    vec.in_type = c.in;
    vec.out_type = c.out;
    vec.rows = kRows;
    vec.cols = kCols;
    vec.in = data.input(c.in).ref();
    vec.out = data.out.ref();
    if (c.op == SIDRA_VEC_QUANTIZE) vec.scale = c.in == SIDRA_F32 ? 32.0F : 0.001F;
    if (c.op == SIDRA_VEC_DEQUANTIZE) vec.scale = 0.01F;
    switch (c.second) {
        case Second::kNone:
            break;
        case Second::kDense:
            vec.in2 = (c.in == SIDRA_F32 ? data.dense_floats : data.dense_words).ref();
            vec.in2_stride = size_t{kCols} * 4;
            break;
        case Second::kTable:
            vec.in2 = data.table.ref();
            break;
        case Second::kNormal:
            vec.in2 = data.normal.ref();
            vec.scale = 1e-5F;
            break;
        case Second::kPool:
            vec.in2 = data.pool.ref();
            vec.rows = kImages * (kPixels / 2);
            vec.cols = kChannels;
            vec.in_stride = size_t{kPixels} * kChannels * type_size(c.in);
            vec.out_stride = size_t{kPixels / 2} * kChannels * type_size(c.out);
            break;
        case Second::kIndices:
            vec.in2 = data.indices.ref();
            vec.limit = kRows;
            break;
    }
    return vec;
}

}  // namespace

void run_vec(const Settings& settings, Report& report) {
    static_assert(size_t{kImages} * kPixels * kPixels * kChannels == kElements);
    const Chip chip(settings.engine, settings.workers);
    const Data data(chip.context());
    Table table({"operation", "M elements/s", "median", "time"});
    for (const Case& c : kCases) {
        report.progress().show(fmt::format("vec: {}", c.name));
        const sidra_vec vec = operation(c, data);
        const auto run = [&chip, &vec](uint64_t calls) {
            const uint64_t deadline = long_deadline();
            for (uint64_t i = 0; i < calls; ++i) {
                SIDRA_CHECK(sidra_vec_async(chip.stream(), &vec));
                SIDRA_CHECK(sidra_stream_synchronize(chip.stream(), deadline));
            }
        };
        const Timing t = measure({{c.name, run}}, settings.table_method()).front();
        table.add({c.name, rate_text(kElements / 1e6, t), figure(kElements / t.median_s / 1e6), seconds_text(t.min_s)});
        report.add({"vec",
                    c.name,
                    {{"elements", kElements}, {"engine", chip.engine()}, {"workers", settings.workers}},
                    t,
                    double{kElements},
                    "elements/s"});
    }
    report.print(fmt::format("Compute engine, {} elements (of the input), engine {}, {} workers (?: unsettled)",
                             kElements, chip.engine(), settings.workers),
                 table);
}

}  // namespace sidra::bench
