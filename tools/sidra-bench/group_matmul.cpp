// SPDX-License-Identifier: MIT
// Products of two matrices in memory, 12 of 128 x 64 x 128 as in the attention of a transformer, from the ring to the
// retired packet; a program of two instructions stores the sums. f32, and s8 with s32 sums.
//
// The peer is oneDNN's batched matmul on the same plain layouts and with as many threads, its primitive made before the
// timing, in the same process. It uses the best instructions that it knows for this CPU; where the CPU has AMX, those
// for s8 are AMX. The chip's engine need not have them, so the same is measured once more, in a process in which oneDNN
// is limited to AVX-512 VNNI; that figure is no bar.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "error.h"
#include "fresh_process.h"
#include "groups.h"
#include "peers.h"
#include "raw_chip.h"

namespace sidra::bench {
namespace {

constexpr ProductShape kShape{12, 128, 128, 64};

struct Kind {
    const char* name;
    const char* bar;
    bool bytes;
};
constexpr Kind kKinds[] = {{"f32", "matmul_f32_vs_onednn", false}, {"s8", "matmul_s8_vs_onednn", true}};

// Dense products of random matrices. Checked against plain arithmetic when made.
class MatmulWork {
   public:
    MatmulWork(RawChip& chip, const ProductShape& shape, bool bytes) : chip_(chip) {
        const size_t size = bytes ? 1 : 4, a_count = size_t{shape.products} * shape.m * shape.k,
                     b_count = size_t{shape.products} * shape.k * shape.n,
                     out_count = size_t{shape.products} * shape.m * shape.n;
        auto* const operands = chip.take<sidra_operand>(3);
        const auto dense = [&](sidra_operand& o, uint64_t element, uint64_t rows, uint64_t cols, const void* at) {
            o.addr = chip.address(at);
            o.stride[3] = element, o.stride[2] = element * cols, o.stride[1] = element * cols * rows;
        };
        auto* const a = chip.take<std::byte>(a_count * size);
        auto* const b = chip.take<std::byte>(b_count * size);
        auto* const out = chip.take<std::byte>(out_count * 4);
        dense(operands[0], size, shape.m, shape.k, a);
        dense(operands[1], size, shape.k, shape.n, b);
        dense(operands[2], 4, shape.m, shape.n, out);
        operands[0].type = operands[1].type = bytes ? SIDRA_TYPE_S8 : SIDRA_TYPE_F32;
        operands[2].type = bytes ? SIDRA_TYPE_S32 : SIDRA_TYPE_F32;
        operands[2].flags = SIDRA_OPERAND_WRITE;
        sidra_cmd_matmul& packet = cmd_.matmul;
        packet.hdr.opcode = SIDRA_CMD_MATMUL;
        packet.operands = chip.address(operands);
        packet.program = chip.assemble(
            bytes ? "pass:\nv0 = load_int sums\nstore_int o2, v0\n" : "pass:\nv0 = load sums\nstore o2, v0\n",
            &packet.instructions);
        packet.operand_count = 3;
        packet.m = shape.m, packet.n = shape.n, packet.k = shape.k;
        packet.batch[0] = 1, packet.batch[1] = shape.products;
        if (bytes) {
            fill_and_check<int8_t, int32_t>(shape, a, b, out);
        } else {
            fill_and_check<float, float>(shape, a, b, out);
        }
    }
    void run(uint64_t calls) {
        for (uint64_t i = 0; i < calls; ++i) chip_.run(cmd_);
    }

   private:
    template <typename T, typename Sum>
    void fill_and_check(const ProductShape& s, std::byte* a_bytes, std::byte* b_bytes, std::byte* out_bytes) {
        auto* const a = reinterpret_cast<T*>(a_bytes);
        auto* const b = reinterpret_cast<T*>(b_bytes);
        fill_random<T>({a, size_t{s.products} * s.m * s.k}, -127, 127, 1);
        fill_random<T>({b, size_t{s.products} * s.k * s.n}, -127, 127, 2);
        run(1);
        // Whole numbers, whose sums are exact in f32, too.
        const auto* const out = reinterpret_cast<const Sum*>(out_bytes);
        for (size_t p = 0; p < s.products; ++p)
            for (size_t i = 0; i < s.m; ++i)
                for (size_t j = 0; j < s.n; ++j) {
                    Sum want = 0;
                    for (size_t k = 0; k < s.k; ++k)
                        want +=
                            static_cast<Sum>(a[(p * s.m + i) * s.k + k]) * static_cast<Sum>(b[(p * s.k + k) * s.n + j]);
                    const Sum got = out[(p * s.m + i) * s.n + j];
                    if (got != want)
                        throw Error(fmt::format("wrong result: product {} [{}][{}] is {}, not {}", p, i, j, got, want));
                }
    }

    RawChip& chip_;
    sidra_cmd cmd_{};
};

struct Contest {
    Timing ours, peer;
    Ratio ratio;
    std::string implementation;  // of the peer
};

Contest contest(const Settings& settings, RawChip& chip, const Kind& kind) {
    MatmulWork work(chip, kShape, kind.bytes);
    const auto peer = make_onednn_product(kShape, kind.bytes, settings.workers);
    const auto timings = measure({{"chip", [&](uint64_t calls) { work.run(calls); }},
                                  {"oneDNN", [&](uint64_t calls) { peer->run(calls); }, [&] { peer->prepare(); }}},
                                 settings.bar_method());
    return {timings[0], timings[1], speed_ratio(timings[0], timings[1]), peer->implementation()};
}

double macs() { return double{1} * kShape.products * kShape.m * kShape.n * kShape.k; }

}  // namespace

void matmul_probe(const Settings& settings) {
    RawChip chip(settings.engine, settings.workers);
    for (const Kind& kind : kKinds) {
        const Contest c = contest(settings, chip, kind);
        fmt::print("{} {} {} {} {}\n", c.ours.min_s, c.peer.min_s, c.ratio.best, c.ratio.median, c.implementation);
    }
}

void run_matmul(const Settings& settings, Report& report) {
    RawChip chip(settings.engine, settings.workers);
    Table table({"type", "threads", "chip", "oneDNN", "implementation", "speed vs oneDNN"});
    const auto row = [&](const std::string& name, double ours, double peer, const std::string& how,
                         const Ratio& ratio) {
        table.add({name, fmt::format("{}", settings.workers), seconds_text(ours), seconds_text(peer), how,
                   ratio_text(ratio)});
    };
    if (onednn_version().empty()) return;
    for (const Kind& kind : kKinds) {
        report.progress().show(fmt::format("matmul: {}", kind.name));
        const Contest c = contest(settings, chip, kind);
        row(kind.name, c.ours.min_s, c.peer.min_s, c.implementation, c.ratio);
        Json::Object what = {{"products", kShape.products},
                             {"m", kShape.m},
                             {"n", kShape.n},
                             {"k", kShape.k},
                             {"type", kind.name},
                             {"threads", settings.workers},
                             {"bar", kind.bar},
                             {"onednn", c.implementation}};
        report.add({"matmul", "oneDNN", what, c.peer, macs(), "MAC/s", true});
        what.emplace_back("engine", chip.engine());
        report.add({"matmul", "matmul", std::move(what), c.ours, macs(), "MAC/s", false, {{"oneDNN", c.ratio}}});
        report.set_bar(kind.bar, c.ratio.best, c.ratio.settled);
    }
    report.progress().show("matmul: against oneDNN without AMX");
    const std::string text =
        fresh_process({"--matmul-probe", fmt::format("--engine={}", engine_name(settings.engine)),
                       fmt::format("--workers={}", settings.workers), settings.quick ? "--quick" : ""},
                      onednn_vnni_only());
    const char* at = text.c_str();
    for (const Kind& kind : kKinds) {
        double ours, peer;
        Ratio ratio;
        char how[64];
        int length = 0;
        if (std::sscanf(at, "%lf %lf %lf %lf %63s%n", &ours, &peer, &ratio.best, &ratio.median, how, &length) != 5)
            throw Error("the process 'sidra-bench --matmul-probe' printed no figures");
        at += length;
        row(fmt::format("{}, VNNI only", kind.name), ours, peer, how, ratio);
        report.add_value("matmul", fmt::format("{}_vs_onednn_vnni", kind.name),
                         {{"type", kind.name}, {"onednn", std::string(how)}, {"threads", settings.workers}}, ratio.best,
                         "speed ratio");
    }
    report.print(fmt::format("Products in memory, {} x {}x{}x{}, ring to retired, engine {}, oneDNN {}",
                             kShape.products, kShape.m, kShape.k, kShape.n, chip.engine(), onednn_version()),
                 table);
}

}  // namespace sidra::bench
