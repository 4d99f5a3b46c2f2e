// SPDX-License-Identifier: MIT
// Matrix-vector products through the whole stack: u8 in, s32 out, submitted and waited for one by one, in the encoding
// that an application gets. oneDNN computes the same on the same shapes, OpenBLAS in single precision, each with as
// many threads as the chip.
#include <fmt/format.h>

#include <algorithm>

#include "chip.h"
#include "groups.h"
#include "peers.h"

namespace sidra::bench {
namespace {

double macs(const MatmulShape& shape) { return double{1} * shape.k * shape.n * shape.batch; }

Json::Object parameters(const MatmulShape& shape) {
    return {{"k", shape.k}, {"n", shape.n}, {"batch", shape.batch}, {"threads", shape.threads}};
}

Contender contender(MvmWork& work, std::string name) {
    return {std::move(name), [&work](uint64_t calls) { work.run(calls); }};
}

Contender contender(MatmulPeer& peer, std::string name) {
    return {std::move(name), [&peer](uint64_t calls) { peer.run(calls); }, [&peer] { peer.prepare(); }};
}

void add_result(Report& report, const MatmulShape& shape, const Timing& timing, Json::Object what,
                std::vector<std::pair<std::string, Ratio>> ratios, bool peer) {
    Json::Object all = parameters(shape);
    all.insert(all.end(), what.begin(), what.end());
    report.add(
        {"mvm", peer ? timing.name : "mvm", std::move(all), timing, macs(shape), "MAC/s", peer, std::move(ratios)});
}

// ---- Bars ----

void add_bar_row(Table& table, const MatmulShape& shape, const Timing& ours, const Timing& peer, const Ratio& ratio) {
    table.add({fmt::format("{}x{}", shape.k, shape.n), fmt::format("{}", shape.batch), fmt::format("{}", shape.threads),
               seconds_text(ours.min_s), peer.name, seconds_text(peer.min_s), ratio_text(ratio)});
}

void onednn_bar(const Settings& settings, Report& report, Table& table, const MatmulShape& shape,
                std::string_view key) {
    const auto peer = make_onednn(shape);
    if (peer == nullptr) return;
    report.progress().show(fmt::format("mvm: {}", key));
    const Chip chip(settings.engine, shape.threads);
    MvmWork work(chip, shape.k, shape.n, shape.batch);
    const auto timings = measure({contender(work, "chip"), contender(*peer, "oneDNN")}, settings.bar_method());
    const Ratio ratio = speed_ratio(timings[0], timings[1]);
    add_bar_row(table, shape, timings[0], timings[1], ratio);
    add_result(report, shape, timings[0], {{"engine", chip.engine()}, {"bar", key}}, {{"oneDNN", ratio}}, false);
    add_result(report, shape, timings[1], {{"bar", key}}, {}, true);
    report.set_bar(key, ratio.best, ratio.settled);
}

// key: "" for a figure that is no bar.
void read_bar(const Settings& settings, Report& report, Table& table, const MatmulShape& shape, std::string_view key) {
    report.progress().show(
        fmt::format("mvm: {}x{} against a plain read, {} thread(s)", shape.k, shape.n, shape.threads));
    const Chip chip(settings.engine, shape.threads);
    MvmWork work(chip, shape.k, shape.n, shape.batch);
    Reader reader(size_t{shape.k} * shape.n, shape.threads);
    const auto timings =
        measure({contender(work, "chip"), {"plain read", [&reader](uint64_t calls) { reader.run(calls); }}},
                settings.bar_method());
    const Ratio ratio = speed_ratio(timings[0], timings[1]);
    add_bar_row(table, shape, timings[0], timings[1], ratio);
    add_result(report, shape, timings[0], {{"engine", chip.engine()}, {"bar", key}}, {{"plain read", ratio}}, false);
    report.add(
        {"mvm",
         timings[1].name,
         {{"bytes", size_t{shape.k} * shape.n}, {"threads", shape.threads}, {"kernel", reader.kernel()}, {"bar", key}},
         timings[1],
         double{1} * shape.k * shape.n,
         "bytes/s",
         true});
    if (!key.empty()) report.set_bar(key, ratio.best, ratio.settled);
}

void measure_bars(const Settings& settings, Report& report) {
    Table table({"matrix", "batch", "threads", "chip", "peer", "", "speed vs peer"});
    onednn_bar(settings, report, table, {256, 256, 64, 1}, "tile_b64_vs_onednn");
    onednn_bar(settings, report, table, {256, 256, 1024, 1}, "tile_b1024_vs_onednn");
    if (settings.cpus >= 2) onednn_bar(settings, report, table, {1024, 1024, 256, 2}, "mvm_1024_b256_vs_onednn");
    read_bar(settings, report, table, {4096, 4096, 1, 1}, "");
    if (settings.cpus >= 2) read_bar(settings, report, table, {4096, 4096, 1, 2}, "mvm_4096_b1_vs_read");
    report.print("MVM against its bars, submit and wait (best; in parentheses the median over rounds)", table);
}

// ---- Table ----

struct Side {
    Chip chip;
    double macs_per_s = 0;  // measured last
};

// In a quick run: would one product of this shape take longer than two seconds?
bool too_slow(const Settings& settings, const Side& side, const MatmulShape& shape) {
    return settings.quick && side.macs_per_s > 0 && macs(shape) / side.macs_per_s > 2;
}

std::vector<std::string> measure_shape(const Settings& settings, Report& report, std::vector<Side>& sides,
                                       const MatmulShape& shape) {
    const std::unique_ptr<MatmulPeer> peers[] = {make_onednn(shape), make_openblas(shape)};
    constexpr const char* kPeerNames[] = {"oneDNN", "OpenBLAS"};
    std::vector<std::unique_ptr<MvmWork>> works;
    std::vector<Contender> contenders;
    std::vector<Side*> measured;
    for (Side& side : sides) {
        if (too_slow(settings, side, shape)) continue;
        works.push_back(std::make_unique<MvmWork>(side.chip, shape.k, shape.n, shape.batch));
        contenders.push_back(contender(*works.back(), side.chip.engine()));
        measured.push_back(&side);
    }
    const size_t ours = contenders.size();
    for (size_t i = 0; i < std::size(peers); ++i) {
        if (peers[i] != nullptr) contenders.push_back(contender(*peers[i], kPeerNames[i]));
    }
    const auto timings = measure(contenders, settings.table_method());
    for (size_t i = ours; i < timings.size(); ++i) add_result(report, shape, timings[i], {}, {}, true);

    std::vector<std::string> row = {fmt::format("{0}x{0}", shape.k), fmt::format("{}", shape.batch)};
    std::vector<std::string> ratio_cells(timings.size() - ours, "-");  // of the last engine, which is the best one
    for (const Side& side : sides) {
        const auto at = std::find(measured.begin(), measured.end(), &side);
        if (at == measured.end()) {
            row.emplace_back("-");
            continue;
        }
        const Timing& t = timings[static_cast<size_t>(at - measured.begin())];
        std::vector<std::pair<std::string, Ratio>> ratios;
        for (size_t i = ours; i < timings.size(); ++i) {
            ratios.emplace_back(timings[i].name, speed_ratio(t, timings[i]));
            ratio_cells[i - ours] = ratio_text(ratios.back().second);
        }
        (*at)->macs_per_s = macs(shape) / t.min_s;
        row.push_back(rate_text(macs(shape) / 1e9, t));
        add_result(report, shape, t, {{"engine", side.chip.engine()}}, std::move(ratios), false);
    }
    for (size_t i = ours; i < timings.size(); ++i) row.push_back(rate_text(macs(shape) / 1e9, timings[i]));
    row.insert(row.end(), ratio_cells.begin(), ratio_cells.end());
    return row;
}

void measure_table(const Settings& settings, Report& report) {
    const std::vector<uint32_t> sizes =
        settings.quick ? std::vector<uint32_t>{256, 1024, 4096} : std::vector<uint32_t>{256, 512, 1024, 2048, 4096};
    const std::vector<uint32_t> batches =
        settings.quick ? std::vector<uint32_t>{1, 64, 512} : std::vector<uint32_t>{1, 8, 64, 256, 512};
    std::vector<Side> sides;
    for (const sidra_engine engine : settings.mvm_engines) sides.push_back({Chip(engine, settings.workers)});

    std::vector<std::string> heads = {"matrix", "batch"};
    for (const Side& side : sides) heads.push_back(side.chip.engine());
    std::vector<std::string> peers;
    if (!onednn_version().empty()) peers.emplace_back("oneDNN");
    if (!openblas_version().empty()) peers.emplace_back("OpenBLAS");
    heads.insert(heads.end(), peers.begin(), peers.end());
    for (const auto& peer : peers) heads.push_back(fmt::format("{} vs {}", sides.back().chip.engine(), peer));
    Table table(heads);

    for (const uint32_t size : sizes) {
        for (const uint32_t batch : batches) {
            report.progress().show(fmt::format("mvm: {}x{} batch {}", size, size, batch));
            table.add(measure_shape(settings, report, sides, {size, size, batch, settings.workers}));
        }
    }
    report.print(fmt::format("MVM in GMAC/s, {} workers, submit and wait (OpenBLAS: f32; ratios: best, in parentheses "
                             "the median; ?: unsettled)",
                             settings.workers),
                 table);
}

}  // namespace

void run_mvm(const Settings& settings, Report& report) {
    measure_bars(settings, report);
    measure_table(settings, report);
}

}  // namespace sidra::bench
