// SPDX-License-Identifier: MIT
// Functions of the compute engine on about a million elements.
#include <fmt/format.h>

#include <functional>
#include <utility>
#include <vector>

#include "chip.h"
#include "groups.h"
#include "memory.h"
#include "sidra/functions.h"

namespace sidra::bench {
namespace {

constexpr uint32_t kRows = 1024;
constexpr uint32_t kCols = 1024;
constexpr uint32_t kSize[4] = {1, 1, kRows, kCols};
constexpr uint32_t kOneRow[4] = {1, 1, 1, kCols};
constexpr uint32_t kOneColumn[4] = {1, 1, kRows, 1};
constexpr size_t kElements = size_t{kRows} * kCols;

// Arrays for all cases. Inputs are small numbers in every type, so that no function leaves its ordinary range.
class Data {
   public:
    explicit Data(sidra_context* context)
        : bytes_(context, kElements),
          words_(context, kElements * 4),
          floats_(context, kElements * 4),
          table_(context, 256),
          row_(context, size_t{kCols} * 4),
          indices_(context, size_t{kRows} * 4),
          out_(context, kElements * 4),
          scales_(context, size_t{kRows} * 4) {
        fill_random<int8_t>({bytes_.as<int8_t>(), kElements}, -128, 127, 1);
        fill_random<int32_t>({words_.as<int32_t>(), kElements}, -100000, 100000, 2);
        fill_random<float>({floats_.as<float>(), kElements}, -4096, 4096, 4);
        for (size_t i = 0; i < kElements; ++i) floats_.as<float>()[i] /= 1024;
        fill_random<int8_t>({table_.as<int8_t>(), 256}, -128, 127, 6);
        for (size_t i = 0; i < kCols; ++i) row_.as<float>()[i] = 1.5F;
        fill_random<int32_t>({indices_.as<int32_t>(), kRows}, 0, kRows - 1, 7);
    }

    sidra_array in(sidra_type type) const {
        return sidra_operand_dense((type == SIDRA_F32   ? floats_
                                    : type == SIDRA_S32 ? words_
                                                        : bytes_)
                                       .ref(),
                                   type, kSize);
    }
    sidra_array out(sidra_type type) const { return sidra_operand_dense(out_.ref(), type, kSize); }
    sidra_array out_column(sidra_type type) const { return sidra_operand_dense(out_.ref(), type, kOneColumn); }
    sidra_array row() const { return sidra_operand_dense(row_.ref(), SIDRA_F32, kOneRow); }
    sidra_array scales() const { return sidra_operand_dense(scales_.ref(), SIDRA_F32, kOneColumn); }
    sidra_array transposed(sidra_type type) const {
        sidra_array array = in(type);
        std::swap(array.stride[2], array.stride[3]);
        return array;
    }
    sidra_ref table() const { return table_.ref(); }
    sidra_ref indices() const { return indices_.ref(); }

   private:
    Buffer bytes_, words_, floats_, table_, row_, indices_, out_, scales_;
};

struct Case {
    const char* name;
    std::function<sidra_status(sidra_stream*)> call;
};

std::vector<Case> cases_of(const Data& data) {
    using Unary = sidra_status (*)(sidra_stream*, const uint32_t*, const sidra_array*, const sidra_array*);
    using Binary =
        sidra_status (*)(sidra_stream*, const uint32_t*, const sidra_array*, const sidra_array*, const sidra_array*);
    std::vector<Case> cases;
    const auto arrays = [&cases](const char* name, Unary function, const sidra_array& in, const sidra_array& out) {
        cases.push_back({name, [=](sidra_stream* stream) { return function(stream, kSize, &out, &in); }});
    };
    const auto unary = [&](const char* name, Unary function, sidra_type in, sidra_type out) {
        arrays(name, function, data.in(in), data.out(out));
    };
    const auto binary = [&](const char* name, Binary function, sidra_type type, const sidra_array& b) {
        cases.push_back({name, [=, a = data.in(type), out = data.out(type)](sidra_stream* stream) {
                             return function(stream, kSize, &out, &a, &b);
                         }});
    };
    const auto reduce = [&](const char* name, Unary function, sidra_type in, sidra_type out) {
        arrays(name, function, data.in(in), data.out_column(out));
    };
    const sidra_array f32 = data.in(SIDRA_F32), s32 = data.in(SIDRA_S32), s8 = data.in(SIDRA_S8);
    const sidra_array to_f32 = data.out(SIDRA_F32), to_s8 = data.out(SIDRA_S8), row = data.row();
    binary("add f32", sidra_add, SIDRA_F32, f32);
    binary("add s32", sidra_add, SIDRA_S32, s32);
    binary("add s8", sidra_add, SIDRA_S8, s8);
    binary("add row f32", sidra_add, SIDRA_F32, row);
    binary("sub f32", sidra_sub, SIDRA_F32, f32);
    binary("mul f32", sidra_mul, SIDRA_F32, f32);
    binary("div f32", sidra_div, SIDRA_F32, f32);
    binary("max f32", sidra_max, SIDRA_F32, f32);
    binary("min f32", sidra_min, SIDRA_F32, f32);
    unary("relu f32", sidra_relu, SIDRA_F32, SIDRA_F32);
    unary("relu s32", sidra_relu, SIDRA_S32, SIDRA_S32);
    unary("relu s8", sidra_relu, SIDRA_S8, SIDRA_S8);
    unary("exp", sidra_exp, SIDRA_F32, SIDRA_F32);
    unary("erf", sidra_erf, SIDRA_F32, SIDRA_F32);
    unary("tanh", sidra_tanh, SIDRA_F32, SIDRA_F32);
    unary("sigmoid", sidra_sigmoid, SIDRA_F32, SIDRA_F32);
    unary("silu", sidra_silu, SIDRA_F32, SIDRA_F32);
    unary("gelu", sidra_gelu, SIDRA_F32, SIDRA_F32);
    unary("gelu tanh", sidra_gelu_tanh, SIDRA_F32, SIDRA_F32);
    unary("convert f32-bf16", sidra_convert, SIDRA_F32, SIDRA_BF16);
    unary("convert s8-f32", sidra_convert, SIDRA_S8, SIDRA_F32);
    cases.push_back({"quantize f32-s8", [=](sidra_stream* stream) {
                         return sidra_quantize(stream, kSize, &to_s8, &f32, 1 / 32.0F, nullptr, 0);
                     }});
    cases.push_back({"quantize rows f32-s8", [=, scales = data.scales()](sidra_stream* stream) {
                         return sidra_quantize_rows(stream, kSize, &to_s8, &scales, &f32);
                     }});
    cases.push_back({"dequantize s8", [=](sidra_stream* stream) {
                         return sidra_dequantize(stream, kSize, &to_f32, &s8, 0.01F, nullptr, 0);
                     }});
    cases.push_back({"dequantize s32", [=](sidra_stream* stream) {
                         return sidra_dequantize(stream, kSize, &to_f32, &s32, 0.01F, &row, 0);
                     }});
    unary("softmax", sidra_softmax, SIDRA_F32, SIDRA_F32);
    cases.push_back({"layer norm", [=](sidra_stream* stream) {
                         return sidra_layer_norm(stream, kSize, &to_f32, &f32, &row, &row, 1e-5F);
                     }});
    cases.push_back(
        {"rms norm", [=](sidra_stream* stream) { return sidra_rms_norm(stream, kSize, &to_f32, &f32, &row, 1e-5F); }});
    reduce("reduce sum f32", sidra_reduce_sum, SIDRA_F32, SIDRA_F32);
    reduce("reduce sum s32", sidra_reduce_sum, SIDRA_S32, SIDRA_S32);
    reduce("reduce mean", sidra_reduce_mean, SIDRA_F32, SIDRA_F32);
    reduce("reduce max", sidra_reduce_max, SIDRA_F32, SIDRA_F32);
    reduce("argmax f32", sidra_reduce_argmax, SIDRA_F32, SIDRA_S32);
    reduce("argmax s8", sidra_reduce_argmax, SIDRA_S8, SIDRA_S32);
    unary("cumsum f32", sidra_cumsum, SIDRA_F32, SIDRA_F32);
    arrays("transpose 1 byte", sidra_convert, data.transposed(SIDRA_S8), to_s8);
    arrays("transpose 4 bytes", sidra_convert, data.transposed(SIDRA_F32), to_f32);
    cases.push_back({"gather rows f32", [=, indices = data.indices()](sidra_stream* stream) {
                         return sidra_gather_rows(stream, kSize, &to_f32, &f32, kRows, indices, SIDRA_S32);
                     }});
    cases.push_back({"lookup s8", [=, table = data.table()](sidra_stream* stream) {
                         return sidra_lookup(stream, kSize, &to_s8, &s8, table, SIDRA_S8);
                     }});
    cases.push_back({"random normal",
                     [=](sidra_stream* stream) { return sidra_random_normal(stream, kSize, &to_f32, 0, 1, 1, 1); }});
    return cases;
}

}  // namespace

void run_vec(const Settings& settings, Report& report) {
    const Chip chip(settings.engine, settings.workers);
    const Data data(chip.context());
    Table table({"operation", "M elements/s", "median", "time"});
    for (const Case& c : cases_of(data)) {
        report.progress().show(fmt::format("vec: {}", c.name));
        const auto run = [&chip, &c](uint64_t calls) {
            const uint64_t deadline = long_deadline();
            for (uint64_t i = 0; i < calls; ++i) {
                SIDRA_CHECK(c.call(chip.stream()));
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
