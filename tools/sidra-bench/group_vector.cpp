// SPDX-License-Identifier: MIT
// Vector programs on one core, from submit to the end of a wait, beside loops that are written by hand: with a pass
// over the memory for each operation, in arrays of 64 MiB, and in one loop, in arrays that fit into the second level
// cache. And what a small program costs the chip, from the ring to the retired packet.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "chip.h"
#include "error.h"
#include "groups.h"
#include "memory.h"
#include "peer_vector.h"
#include "raw_chip.h"

namespace sidra::bench {
namespace {

// o0 input, o1 output, o2 residual, o3 factor and o4 bias of the columns; p0: 1 / columns, p1: what a layer norm adds.
struct Kind {
    const char* name;
    const char* program;
    VectorLoops::Pair VectorLoops::*peer;
    uint32_t cols;
    const char *unfused_bar, *fused_bar;
};
constexpr Kind kKinds[] = {
    {"bias, GELU, residual",
     "pass:\nv0 = load o0\nv1 = load o2\nv0 = add v0, v1\nv0 = gelu v0\nv2 = load o3\nv0 = add v0, v2\nstore o1, v0\n",
     &VectorLoops::gelu_residual, 768, "vec_gelu_res_vs_unfused", "vec_gelu_res_vs_fused"},
    {"softmax",
     "pass:\nv0 = load o0\ns0 = reduce_max v0\n"
     "pass:\nv0 = load o0\nv1 = sub v0, s0\nv2 = exp v1\nstore o1, v2\ns1 = reduce_sum v2\ns2 = div 1.0, s1\n"
     "pass:\nv0 = load o1\nv1 = mul v0, s2\nstore o1, v1\n",
     &VectorLoops::softmax, 128, "vec_softmax_vs_unfused", "vec_softmax_vs_fused"},
    {"layer norm",
     "pass:\nv0 = load o0\ns0 = reduce_sum v0\ns1 = mul s0, p0\n"
     "pass:\nv0 = load o0\nv1 = sub v0, s1\ns2 = reduce_dot v1, v1\ns3 = fma s2, p0, p1\ns4 = rsqrt s3\n"
     "pass:\nv0 = load o0\nv1 = sub v0, s1\nv2 = mul v1, s4\nv3 = load o2\nv4 = load o3\nv5 = fma v2, v3, v4\n"
     "store o1, v5\n",
     &VectorLoops::layer_norm, 768, "vec_layernorm_vs_unfused", "vec_layernorm_vs_fused"},
};
constexpr size_t kLarge = size_t{64} << 20, kSmall = size_t{192} << 10;  // bytes of an array

using Program = std::unique_ptr<sidra_program, Destroy<sidra_program_destroy>>;

// A program on arrays of a size, and the same by hand.
class Work {
   public:
    Work(const Chip& chip, const Kind& kind, size_t bytes)
        : chip_(chip),
          peer_(vector_loops().*kind.peer),
          rows_(static_cast<uint32_t>(bytes / 4 / kind.cols)),
          cols_(kind.cols),
          in_(chip.context(), elements() * 4),
          residual_(chip.context(), elements() * 4),
          out_(chip.context(), elements() * 4),
          columns_(chip.context(), size_t{2} * cols_ * 4),
          scratch_(rows_) {
        fill_fractions(in_, elements(), 1);
        fill_fractions(residual_, elements(), 2);
        fill_fractions(columns_, size_t{2} * cols_, 3);
        rows_of_peer_ = {in_.as<float>(),
                         residual_.as<float>(),
                         columns_.as<float>(),
                         columns_.as<float>() + cols_,
                         out_.as<float>(),
                         scratch_.data(),
                         rows_,
                         cols_};
        sidra_program* program = nullptr;
        SIDRA_CHECK(sidra_program_assemble(chip.context(), kind.program, &program));
        program_.reset(program);
        const uint32_t whole[4] = {1, 1, rows_, cols_}, row[4] = {1, 1, 1, cols_};
        const auto array = [&](const Buffer& b) { return sidra_operand_dense(b.ref(), SIDRA_F32, whole); };
        const auto columns = [&](size_t first) { return sidra_operand_dense(columns_.ref(first * 4), SIDRA_F32, row); };
        operands_ = {array(in_), array(out_)};
        if (kind.peer == &VectorLoops::gelu_residual) {
            operands_.push_back(columns(cols_));
            operands_.push_back(array(residual_));
        } else if (kind.peer == &VectorLoops::layer_norm) {
            operands_.push_back(columns(0));
            operands_.push_back(columns(cols_));
        }
        vector_.program = program;
        std::copy(std::begin(whole), std::end(whole), vector_.size);
        vector_.param[0] = sidra_param_f32(1.0F / static_cast<float>(cols_));
        vector_.param[1] = sidra_param_f32(kLayerNormEpsilon);
        vector_.operands = operands_.data();
        vector_.operand_count = static_cast<uint32_t>(operands_.size());
        check_results(kind);
    }

    size_t elements() const { return size_t{rows_} * cols_; }
    uint32_t rows() const { return rows_; }
    void run(uint64_t calls) {
        const uint64_t deadline = long_deadline();
        for (uint64_t i = 0; i < calls; ++i) {
            SIDRA_CHECK(sidra_vector_async(chip_.stream(), &vector_));
            SIDRA_CHECK(sidra_stream_synchronize(chip_.stream(), deadline));
        }
    }
    void fused(uint64_t calls) {
        for (uint64_t i = 0; i < calls; ++i) peer_.fused(rows_of_peer_);
    }
    void unfused(uint64_t calls) {
        for (uint64_t i = 0; i < calls; ++i) peer_.unfused(rows_of_peer_);
    }

   private:
    static void fill_fractions(const Buffer& to, size_t count, uint32_t seed) {
        fill_random<float>({to.as<float>(), count}, -4096, 4096, seed);
        for (size_t i = 0; i < count; ++i) to.as<float>()[i] /= 1024;
    }

    // A fast wrong answer is no figure, of the peers neither. Some rows, in double precision.
    void check_results(const Kind& kind) {
        const std::pair<const char*, void (Work::*)(uint64_t)> contenders[] = {
            {"the chip", &Work::run}, {"the fused loop", &Work::fused}, {"the unfused loops", &Work::unfused}};
        for (const auto& [name, contender] : contenders) {
            std::memset(out_.data(), 0xff, elements() * 4);
            (this->*contender)(1);
            for (size_t row = 0; row < rows_; row += rows_ / 7 + 1) {
                const std::vector<double> want = expected(kind, row);
                for (size_t c = 0; c < cols_; ++c) {
                    const double got = out_.as<float>()[row * cols_ + c];
                    if (!(std::abs(got - want[c]) <= 1e-5 + 1e-4 * std::abs(want[c])))
                        throw Error(fmt::format("wrong result of {} from {}: [{}][{}] is {}, not {}", kind.name, name,
                                                row, c, got, want[c]));
                }
            }
        }
    }

    std::vector<double> expected(const Kind& kind, size_t row) const {
        const float* const x = in_.as<float>() + row * cols_;
        std::vector<double> y(x, x + cols_);
        if (kind.peer == &VectorLoops::gelu_residual) {
            for (size_t c = 0; c < cols_; ++c) {
                const double biased = y[c] + columns_.as<float>()[cols_ + c];
                y[c] = biased * 0.5 * std::erfc(-biased / std::sqrt(2.0)) + residual_.as<float>()[row * cols_ + c];
            }
        } else if (kind.peer == &VectorLoops::softmax) {
            const double top = *std::max_element(y.begin(), y.end());
            double sum = 0;
            for (double& v : y) sum += v = std::exp(v - top);
            for (double& v : y) v /= sum;
        } else {
            double mean = 0, squares = 0;
            for (const double v : y) mean += v / cols_;
            for (const double v : y) squares += (v - mean) * (v - mean) / cols_;
            for (size_t c = 0; c < cols_; ++c)
                y[c] = (y[c] - mean) / std::sqrt(squares + kLayerNormEpsilon) * columns_.as<float>()[c] +
                       columns_.as<float>()[cols_ + c];
        }
        return y;
    }

    const Chip& chip_;
    const VectorLoops::Pair peer_;
    const uint32_t rows_, cols_;
    Buffer in_, residual_, out_, columns_;
    std::vector<float> scratch_;
    VectorRows rows_of_peer_;
    Program program_;
    std::vector<sidra_vector_operand> operands_;
    sidra_vector vector_ = SIDRA_INIT(sidra_vector);
};

void measure_kind(const Settings& settings, Report& report, Table& table, const Chip& chip, const Kind& kind,
                  size_t bytes) {
    report.progress().show(fmt::format("vector: {}, {} KiB", kind.name, bytes >> 10));
    Work work(chip, kind, bytes);
    const auto timings = measure({{"chip", [&](uint64_t calls) { work.run(calls); }},
                                  {"unfused", [&](uint64_t calls) { work.unfused(calls); }},
                                  {"fused", [&](uint64_t calls) { work.fused(calls); }}},
                                 settings.bar_method());
    const Ratio unfused = speed_ratio(timings[0], timings[1]), fused = speed_ratio(timings[0], timings[2]);
    const auto elements = static_cast<double>(work.elements());
    table.add({kind.name, fmt::format("{} x {}", work.rows(), kind.cols), rate_text(elements / 1e9, timings[0]),
               rate_text(elements / 1e9, timings[1]), rate_text(elements / 1e9, timings[2]), ratio_text(unfused),
               ratio_text(fused)});
    Json::Object what = {{"function", kind.name}, {"rows", work.rows()}, {"cols", kind.cols}};
    report.add({"vector", "unfused", what, timings[1], elements, "elements/s", true});
    report.add({"vector", "fused", what, timings[2], elements, "elements/s", true});
    what.emplace_back("engine", chip.engine());
    report.add({"vector",
                "chip",
                std::move(what),
                timings[0],
                elements,
                "elements/s",
                false,
                {{"unfused", unfused}, {"fused", fused}}});
    if (bytes == kLarge) report.set_bar(kind.unfused_bar, unfused.best, unfused.settled);
    else report.set_bar(kind.fused_bar, fused.best, fused.settled);
}

// A program of four instructions on 16 elements, 64 packets per doorbell.
void measure_tiny(const Settings& settings, Report& report, Table& table) {
    constexpr uint32_t kElements = 16;
    report.progress().show("vector: a small program");
    RawChip chip(settings.engine, 1);
    auto* const operands = chip.take<sidra_operand>(2);
    auto* const in = chip.take<float>(kElements);
    auto* const out = chip.take<float>(kElements);
    for (uint32_t i = 0; i < kElements; ++i) in[i] = static_cast<float>(i);
    const auto dense = [&](sidra_operand& o, const float* at) {
        o.addr = chip.address(at);
        o.type = SIDRA_TYPE_F32;
        o.stride[3] = 4;
    };
    dense(operands[0], in);
    dense(operands[1], out);
    operands[1].flags = SIDRA_OPERAND_WRITE;
    sidra_cmd cmd{};
    cmd.vector.hdr.opcode = SIDRA_CMD_VECTOR;
    cmd.vector.operands = chip.address(operands);
    cmd.vector.program = chip.assemble("pass:\nv0 = load o0\nv1 = mul v0, 2.0\nv2 = add v1, 1.0\nstore o1, v2\n",
                                       &cmd.vector.instructions);
    cmd.vector.operand_count = 2;
    cmd.vector.size[0] = cmd.vector.size[1] = cmd.vector.size[2] = 1, cmd.vector.size[3] = kElements;
    const std::vector<sidra_cmd> batch(RawChip::kRing, cmd);
    chip.run(batch);
    for (uint32_t i = 0; i < kElements; ++i)
        if (out[i] != 2 * in[i] + 1) throw Error("wrong result of a small program");
    const Timing t = measure({{"tiny",
                               [&](uint64_t calls) {
                                   for (uint64_t i = 0; i < calls; ++i) chip.run(batch);
                               }}},
                             settings.bar_method())
                         .front();
    const double ns = t.min_s * 1e9 / static_cast<double>(batch.size());
    report.add_value("vector", "tiny", {{"instructions", 4}, {"elements", kElements}, {"engine", chip.engine()}}, ns,
                     "ns");
    report.set_bar("vec_tiny_ns", ns, t.settled);
    table.add({"4 instructions", fmt::format("1 x {}", kElements), fmt::format("{:.0f} ns", ns), "-", "-", "-", "-"});
}

}  // namespace

void run_vector(const Settings& settings, Report& report) {
    Table table({"program", "size", "chip", "unfused", "fused", "speed vs unfused", "vs fused"});
    {
        const Chip chip(settings.engine, 1);
        for (const size_t bytes : {kLarge, kSmall})
            for (const Kind& kind : kKinds) measure_kind(settings, report, table, chip, kind, bytes);
    }
    measure_tiny(settings, report, table);
    report.print(fmt::format("Vector programs on one core, thousand million elements/s, beside loops by hand with {} "
                             "(?: unsettled)",
                             vector_loops().name),
                 table);
}

}  // namespace sidra::bench
