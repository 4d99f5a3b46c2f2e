// SPDX-License-Identifier: MIT
#include "network_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

#include "common/json.h"
#include "common/output_file.h"
#include "geometry.h"
#include "sidra-objdump/analysis.h"
#include "sidra-objdump/file.h"
#include "sidra-objdump/names.h"
#include "sidra-objdump/pictures.h"
#include "sidra-objdump/placement.h"
#include "sidra_hw.h"

namespace sidra::compiler {
namespace {

using objdump::CallAnalysis;
using objdump::printable;

constexpr uint64_t kCellsOfCrossbar = uint64_t{SIDRA_XBAR_ROWS} * SIDRA_XBAR_COLS;

class Rows {
   public:
    Rows(const format::Model& model, const objdump::Placement& placement, std::span<const LayerAccuracy> accuracies)
        : model_(model), placement_(placement), accuracies_(accuracies) {}

    void add(const format::Call& call, const CallAnalysis& analysis) {
        const format::Layer* const layer = call.step_as_Layer();
        ReportRow& row = layer != nullptr ? row_of(*layer) : new_row(call);
        row.calls++;
        row.product_ps += analysis.product_ps, row.compute_ps += analysis.compute_ps;
        row.packet_ps += analysis.packet_ps, row.energy_pj += analysis.energy_pj;
    }
    std::vector<ReportRow> take() { return std::move(rows_); }

   private:
    ReportRow& new_row(const format::Call& call) {
        ReportRow& row = rows_.emplace_back();
        row.name = printable(call.name());
        row.kind = objdump::step_name(call.step_type());
        return row;
    }

    ReportRow& row_of(const format::Layer& layer) {
        const format::Matrix& matrix = *model_.matrices()->Get(layer.matrix());
        const auto [at, is_new] = by_name_.try_emplace(matrix.name()->str(), rows_.size());
        if (is_new) {
            ReportRow& row = rows_.emplace_back();
            row.name = printable(matrix.name());
            row.kind = objdump::step_name(format::Step::Layer);
            row.k = matrix.k(), row.n = matrix.n();
            const auto found = std::ranges::find(accuracies_, matrix.name()->str(), &LayerAccuracy::matrix);
            if (found != accuracies_.end()) row.accuracy = *found;
        }
        ReportRow& row = rows_[at->second];
        const format::Windows& windows = *layer.windows();
        row.products += uint64_t{windows.images()} * windows.rows() * windows.columns();
        if (!matrices_.insert(layer.matrix()).second) return row;
        const objdump::PlacedMatrix& placed = placement_.matrices.at(layer.matrix());
        row.matrices++;
        row.crossbars += placed.crossbars.size();
        row.cells += uint64_t{matrix.k()} * matrix.n() * (placed.encoding == format::Encoding::Differential ? 2 : 1);
        return row;
    }

    const format::Model& model_;
    const objdump::Placement& placement_;
    const std::span<const LayerAccuracy> accuracies_;
    std::vector<ReportRow> rows_;
    std::map<std::string, size_t> by_name_;  // rows of layers
    std::set<uint32_t> matrices_;            // that have been counted
};

// Inputs for a run, if there are no samples. The tensors that they view live in `memory`.
std::vector<Samples> zeros(const format::Variant& variant, std::vector<std::vector<std::byte>>& memory) {
    std::vector<Samples> all;
    for (const format::Tensor* tensor : *variant.inputs()) {
        memory.emplace_back(format::tensor_bytes(*tensor));
        all.push_back({tensor->name()->str(), static_cast<uint32_t>(tensor->type()), {}});
    }
    for (size_t i = 0; i < all.size(); i++) all[i].data = memory[i];
    return all;
}

ReportPicture picture(const char* title, const std::function<std::string()>& draw) {
    try {
        return {title, draw(), {}};
    } catch (const std::runtime_error& problem) {
        return {title, {}, problem.what()};
    }
}

tools::Json accuracy_json(const ReportRow& row) {
    using tools::Json;
    if (!row.accuracy) return {};
    // No number of JSON stands for infinity: null.
    return Json::Object{{"fast_db", row.accuracy->fast},
                        {"accurate_db", row.accuracy->accurate},
                        {"inputs", row.accuracy->inputs},
                        {"clipped", row.accuracy->clipped}};
}

}  // namespace

double ReportRow::utilisation() const {
    return crossbars == 0 ? 0 : static_cast<double>(cells) / static_cast<double>(crossbars * kCellsOfCrossbar);
}

NetworkReport report_of(const std::string& file, const std::vector<Samples>& samples,
                        std::span<const LayerAccuracy> accuracies, std::vector<Effect> effects) {
    const objdump::ModelFile read(file);
    const format::Model& model = read.model();
    if (read.stages() != 0) throw std::runtime_error("a report is about a network on one chip");
    const objdump::Placement placement = objdump::place(model, objdump::read_contents(read));
    if (!placement.problem.empty()) throw std::runtime_error(placement.problem);
    const format::Variant& variant = *model.variants()->Get(0);
    const std::vector<CallAnalysis> analyses = objdump::analyse(model, variant, placement);

    NetworkReport report;
    report.name = printable(model.name()), report.producer = printable(model.producer());
    report.source = printable(model.source()), report.options = printable(model.options());
    report.file_bytes = read.header().file_size, report.work_bytes = variant.work();
    report.constant_bytes = model.constants() != nullptr ? model.constants()->size() : 0;
    for (const format::Matrix* matrix : *model.matrices()) report.weights += uint64_t{matrix->k()} * matrix->n();
    report.crossbars = placement.taken, report.chip_crossbars = chip::kGeometryY1.xbars();
    report.variants = model.variants()->size(), report.calls = variant.calls()->size();

    Rows rows(model, placement, accuracies);
    for (uint32_t i = 0; i < analyses.size(); ++i) {
        const format::Call& call = *variant.calls()->Get(i);
        if (!analyses[i].problem.empty())
            throw std::runtime_error(fmt::format("call {} {}: {}", i, printable(call.name()), analyses[i].problem));
        report.host_calls += call.step_type() == format::Step::Host;
        rows.add(call, analyses[i]);
    }
    report.rows = rows.take();

    std::vector<std::vector<std::byte>> memory;
    report.from_samples = !samples.empty();
    const Runs runs = run_samples(file, samples.empty() ? zeros(variant, memory) : samples, SIDRA_LEVEL_FAST, 1, {},
                                  [](const Model&) {});
    report.time_ps = static_cast<uint64_t>(std::llround(runs.seconds * 1e12));
    report.energy_pj = static_cast<uint64_t>(std::llround(runs.joules * 1e12));
    // The chip counts also the packets that start a run, and those that wait for the host, which are no calls.
    ReportRow start;
    start.name = "(packets that start and order the calls)", start.kind = "start";
    start.packet_ps = report.time_ps, start.energy_pj = report.energy_pj;
    for (const ReportRow& row : report.rows) {
        if (row.time_ps() > start.packet_ps || row.energy_pj > start.energy_pj)
            throw std::runtime_error(fmt::format("the calls of a run take {} ps and more by the model of a Y1 chip, but the embedded chip {} ps; unset SIDRA_PROFILE", row.time_ps(), report.time_ps));
        start.packet_ps -= row.time_ps(), start.energy_pj -= row.energy_pj;
    }
    report.rows.push_back(std::move(start));

    report.pictures = {picture("Time on the chip", [&] { return objdump::timeline_picture(model, 0, analyses); }),
                       picture("Crossbars", [&] { return objdump::chip_picture(model, placement); }),
                       picture("Work memory", [&] { return objdump::memory_picture(model, 0, analyses); })};
    report.effects = std::move(effects);
    return report;
}

std::string json_of(const NetworkReport& report) {
    using tools::Json;
    Json::Array rows, effects;
    for (const ReportRow& row : report.rows)
        rows.emplace_back(Json::Object{
            {"name", row.name},
            {"kind", row.kind},
            {"calls", row.calls},
            {"matrix", row.matrices == 0 ? Json() : Json(Json::Object{{"k", row.k}, {"n", row.n}})},
            {"copies", row.matrices},
            {"crossbars", row.crossbars},
            {"utilisation", row.crossbars == 0 ? Json() : Json(row.utilisation())},
            {"products", row.products},
            {"input_bits", row.matrices == 0 ? Json() : Json(row.accuracy ? row.accuracy->bits : 8)},
            {"crossbar_ps", row.product_ps},
            {"compute_ps", row.compute_ps},
            {"packet_ps", row.packet_ps},
            {"time_ps", row.time_ps()},
            {"energy_pj", row.energy_pj},
            {"accuracy", accuracy_json(row)}});
    for (const Effect& effect : report.effects)
        effects.emplace_back(Json::Object{{"what", effect.what},
                                          {"time_s", effect.seconds},
                                          {"energy_j", effect.joules},
                                          {"weights", effect.weights},
                                          {"fast_db", effect.fast},
                                          {"accurate_db", effect.accurate}});
    return Json(Json::Object{{"schema", "sidra-compile-report/1"},
                             {"name", report.name},
                             {"producer", report.producer},
                             {"source", report.source},
                             {"options", report.options},
                             {"file_bytes", report.file_bytes},
                             {"constant_bytes", report.constant_bytes},
                             {"work_bytes", report.work_bytes},
                             {"weights", report.weights},
                             {"crossbars", Json::Object{{"taken", report.crossbars}, {"total", report.chip_crossbars}}},
                             {"variants", report.variants},
                             {"calls", report.calls},
                             {"host_calls", report.host_calls},
                             {"from_samples", report.from_samples},
                             {"time_ps", report.time_ps},
                             {"energy_pj", report.energy_pj},
                             {"rows", std::move(rows)},
                             {"effects", std::move(effects)}})
               .text() +
           '\n';
}

void write_report(const NetworkReport& report, const std::string& path) {
    tools::write_file(path, std::filesystem::path(path).extension() == ".json" ? json_of(report) : page_of(report));
}

}  // namespace sidra::compiler
