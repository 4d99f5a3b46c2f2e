// SPDX-License-Identifier: MIT
// A convolution as one layer, from submit to the end of a wait: s8 in, and s8 out by an epilogue that scales each
// channel, adds a bias and rounds. oneDNN computes the same shape with as many threads.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "chip.h"
#include "error.h"
#include "fresh_process.h"
#include "groups.h"
#include "memory.h"
#include "peers.h"

namespace sidra::bench {
namespace {

constexpr ConvShape kShape = {.size = 56, .kernel = 3, .channels = 64, .outputs = 64, .threads = 1};
constexpr const char* kEpilogue = R"(
pass:
    v0 = load sums
    v1 = load o1
    v2 = load o2
    v0 = fma v0, v1, v2
    store o0, v0
)";
constexpr float kFactor = 0.0007f, kBias = 1.5f;

double macs(const ConvShape& s) { return double{1} * s.size * s.size * s.kernel * s.kernel * s.channels * s.outputs; }

using Program = std::unique_ptr<sidra_program, Destroy<sidra_program_destroy>>;

// The layer. Its result is checked against plain arithmetic when made.
class ConvWork {
   public:
    ConvWork(const Chip& chip, const ConvShape& shape)
        : chip_(chip),
          shape_(shape),
          in_(chip.context(), size_t{shape.size} * shape.size * shape.channels),
          out_(chip.context(), size_t{shape.size} * shape.size * shape.outputs),
          columns_(chip.context(), 2 * sizeof(float) * shape.outputs),
          values_(size_t{shape.kernel} * shape.kernel * shape.channels * shape.outputs) {
        const uint32_t inputs = shape.kernel * shape.kernel * shape.channels, n = shape.outputs;
        fill_random<int8_t>(values_, -127, 127, 1);
        fill_random<int8_t>({in_.as<int8_t>(), size_t{shape.size} * shape.size * shape.channels}, -127, 127, 2);
        std::fill_n(columns_.as<float>(), n, kFactor);
        std::fill_n(columns_.as<float>() + n, n, kBias);

        sidra_weights* weights = nullptr;
        SIDRA_CHECK(sidra_weights_create_s8(chip.context(), inputs, n, values_.data(), n, nullptr, nullptr, &weights));
        weights_.reset(weights);
        SIDRA_CHECK(sidra_weights_program_async(chip.stream(), weights));
        chip.wait();
        sidra_program* program = nullptr;
        SIDRA_CHECK(sidra_program_assemble(chip.context(), kEpilogue, &program));
        program_.reset(program);

        const uint32_t image[4] = {1, shape.size, shape.size, n}, row[4] = {1, 1, 1, n};
        operands_[0] = sidra_operand_dense(out_.ref(), SIDRA_S8, image);
        operands_[1] = sidra_operand_dense(columns_.ref(), SIDRA_F32, row);
        operands_[2] = sidra_operand_dense(columns_.ref(sizeof(float) * n), SIDRA_F32, row);
        layer_.program = program;
        sidra_windows& w = layer_.windows;
        w.at = in_.ref();
        w.type = w.codes = SIDRA_S8;
        w.images = 1;
        w.rows = w.columns = w.height = w.width = shape.size;
        w.channels = shape.channels;
        w.kernel_h = w.kernel_w = shape.kernel;
        w.stride_h = w.stride_w = w.dilation_h = w.dilation_w = 1;
        w.pad_h = w.pad_w = shape.kernel / 2;
        layer_.operands = operands_;
        layer_.operand_count = 3;
        run(1);
        check_result();
    }

    void run(uint64_t calls) {
        const uint64_t deadline = long_deadline();
        for (uint64_t i = 0; i < calls; ++i) {
            SIDRA_CHECK(sidra_layer_async(chip_.stream(), weights_.get(), &layer_));
            SIDRA_CHECK(sidra_stream_synchronize(chip_.stream(), deadline));
        }
    }

   private:
    int32_t input(int64_t y, int64_t x, uint32_t channel) const {
        const int64_t size = shape_.size;
        if (y < 0 || y >= size || x < 0 || x >= size) return 0;
        return in_.as<int8_t>()[static_cast<size_t>(y * size + x) * shape_.channels + channel];
    }

    // A fast wrong answer is no figure. The corners, and some of the rest.
    void check_result() const {
        const ConvShape& s = shape_;
        for (uint32_t y = 0; y < s.size; y += 11) {
            for (uint32_t x = 0; x < s.size; x += 5) {
                for (uint32_t n = 0; n < s.outputs; n += 7) {
                    int32_t sum = 0;
                    for (uint32_t i = 0; i < s.kernel; ++i)
                        for (uint32_t j = 0; j < s.kernel; ++j)
                            for (uint32_t c = 0; c < s.channels; ++c)
                                sum += input(int64_t{y} + i - s.kernel / 2, int64_t{x} + j - s.kernel / 2, c) *
                                       values_[((size_t{i} * s.kernel + j) * s.channels + c) * s.outputs + n];
                    const float result = std::nearbyint(std::fma(static_cast<float>(sum), kFactor, kBias));
                    const auto want = static_cast<int>(std::clamp(result, -128.0f, 127.0f));
                    const int got = out_.as<int8_t>()[(size_t{y} * s.size + x) * s.outputs + n];
                    if (got != want)
                        throw Error(
                            fmt::format("wrong result of the convolution on engine {}: [{}][{}][{}] is {}, not {}",
                                        chip_.engine(), y, x, n, got, want));
                }
            }
        }
    }

    const Chip& chip_;
    const ConvShape shape_;
    Buffer in_, out_, columns_;
    std::vector<int8_t> values_;
    Weights weights_;
    Program program_;
    sidra_vector_operand operands_[3];
    sidra_layer layer_ = SIDRA_INIT(sidra_layer);
};

Contender contender(MatmulPeer& peer, std::string name) {
    return {std::move(name), [&peer](uint64_t calls) { peer.run(calls); }, [&peer] { peer.prepare(); }};
}

Json::Object parameters(const ConvShape& s) {
    return {{"size", s.size},
            {"kernel", s.kernel},
            {"channels", s.channels},
            {"outputs", s.outputs},
            {"threads", s.threads}};
}

// Seconds of the peer without the matrix unit of the CPU; 0: unknown.
double vnni_seconds(const ConvShape& shape) {
    const std::string text =
        fresh_process({"--conv-probe", fmt::format("--workers={}", shape.threads)}, onednn_vnni_only());
    double seconds = 0;
    if (std::sscanf(text.c_str(), "%lf", &seconds) != 1) throw Error("the process of the peer printed no time");
    return seconds;
}

// key: "" for a figure that is no bar.
void measure_conv(const Settings& settings, Report& report, Table& table, uint32_t threads, std::string_view key) {
    ConvShape shape = kShape;
    shape.threads = threads;
    report.progress().show(fmt::format("conv: {} thread(s)", threads));
    const Chip chip(settings.engine, threads);
    ConvWork work(chip, shape);
    std::vector<Contender> contenders = {{"chip", [&work](uint64_t calls) { work.run(calls); }}};
    const auto peer = make_onednn_conv(shape);
    if (peer != nullptr) contenders.push_back(contender(*peer, "oneDNN"));
    const auto timings = measure(contenders, settings.bar_method());
    Json::Object what = parameters(shape);
    what.emplace_back("engine", chip.engine());
    std::vector<std::pair<std::string, Ratio>> ratios;
    std::string peer_time = "-", ratio = "-", vnni_time = "-", vnni_ratio = "-";
    if (peer != nullptr) {
        ratios.emplace_back("oneDNN", speed_ratio(timings[0], timings[1]));
        peer_time = seconds_text(timings[1].min_s);
        ratio = ratio_text(ratios.back().second);
        if (!key.empty()) report.set_bar(key, ratios.back().second.best, ratios.back().second.settled);
        report.add({"conv", "oneDNN", parameters(shape), timings[1], macs(shape), "MAC/s", true});
        const double vnni = vnni_seconds(shape);
        vnni_time = seconds_text(vnni);
        vnni_ratio = fmt::format("{:.2f}x", vnni / timings[0].min_s);
        Json::Object limited = parameters(shape);
        limited.emplace_back("limit", "AVX-512 VNNI");
        report.add_value("conv", "oneDNN", std::move(limited), vnni, "s");
    }
    report.add({"conv", "chip", std::move(what), timings[0], macs(shape), "MAC/s", false, std::move(ratios)});
    table.add({fmt::format("{}", threads), chip.engine(), seconds_text(timings[0].min_s), peer_time, ratio, vnni_time,
               vnni_ratio});
}

}  // namespace

void conv_probe(uint32_t threads) {
    ConvShape shape = kShape;
    shape.threads = std::max(threads, 1u);
    const auto peer = make_onednn_conv(shape);
    if (peer == nullptr) throw Error("this build has no oneDNN");
    const auto timings = measure({contender(*peer, "oneDNN")}, Method{});
    fmt::print("{}\n", timings[0].min_s);
}

void run_conv(const Settings& settings, Report& report) {
    Table table({"threads", "engine", "chip", "oneDNN", "speed", "with VNNI only", "speed"});
    measure_conv(settings, report, table, 1, "conv_vs_onednn");
    if (settings.cpus >= 2) measure_conv(settings, report, table, 2, "");
    report.print("3x3 convolution 56x56x64 to 64, s8, submit and wait (best; in parentheses the median over rounds)",
                 table);
}

}  // namespace sidra::bench
