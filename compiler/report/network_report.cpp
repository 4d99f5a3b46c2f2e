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
    // accurate: the accuracies are of this variant, and not only the bits of the layers.
    Rows(const format::Model& model, const objdump::Placement& placement, std::span<const LayerAccuracy> accuracies,
         bool accurate)
        : model_(model), placement_(placement), accuracies_(accuracies), accurate_(accurate) {}

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
            row.input_bits = found != accuracies_.end() ? found->bits : 8;
            if (found != accuracies_.end() && accurate_) row.accuracy = *found;
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
    const bool accurate_;
    std::vector<ReportRow> rows_;
    std::map<std::string, size_t> by_name_;  // rows of layers
    std::set<uint32_t> matrices_;            // that have been counted
};

ReportPicture picture(const char* title, const std::function<std::string()>& draw) {
    try {
        return {title, draw(), {}};
    } catch (const std::runtime_error& problem) {
        return {title, {}, problem.what()};
    }
}

VariantReport variant_report(const format::Model& model, uint32_t number, const objdump::Placement& placement,
                             std::span<const LayerAccuracy> accuracies, const Cost& run) {
    const format::Variant& variant = *model.variants()->Get(number);
    const std::vector<CallAnalysis> analyses = objdump::analyse(model, variant, placement);
    VariantReport report;
    for (const format::Tensor* tensor : *variant.inputs()) {
        ReportInput& input = report.inputs.emplace_back();
        input.name = printable(tensor->name()), input.type = objdump::type_name(tensor->type());
        if (tensor->shape() != nullptr) input.shape.assign(tensor->shape()->begin(), tensor->shape()->end());
    }
    report.work_bytes = variant.work(), report.calls = variant.calls()->size();
    report.time_ps = run.picoseconds, report.energy_pj = run.picojoules;
    Rows rows(model, placement, accuracies, number == 0);
    for (uint32_t i = 0; i < analyses.size(); ++i) {
        const format::Call& call = *variant.calls()->Get(i);
        if (!analyses[i].problem.empty())
            throw std::runtime_error(fmt::format("call {} {}: {}", i, printable(call.name()), analyses[i].problem));
        report.host_calls += call.step_type() == format::Step::Host;
        rows.add(call, analyses[i]);
    }
    report.rows = rows.take();
    // A chip counts also the packets that start a run, and those that wait for the host or for another chip.
    ReportRow start;
    start.name = "(packets beside the calls)", start.kind = "start";
    start.packet_ps = report.time_ps, start.energy_pj = report.energy_pj;
    for (const ReportRow& row : report.rows) {
        if (row.time_ps() > start.packet_ps || row.energy_pj > start.energy_pj)
            throw std::runtime_error(fmt::format(
                "the calls of a run take {} ps and more by the model of a Y1 chip, but the embedded chip {} ps",
                row.time_ps(), report.time_ps));
        start.packet_ps -= row.time_ps(), start.energy_pj -= row.energy_pj;
    }
    report.rows.push_back(std::move(start));
    report.pictures = {picture("Time on the chip", [&] { return objdump::timeline_picture(model, number, analyses); }),
                       picture("Work memory", [&] { return objdump::memory_picture(model, number, analyses); })};
    return report;
}

// costs: of a run of each variant.
ChipReport chip_report(const objdump::ModelFile& file, uint32_t stage, std::span<const LayerAccuracy> accuracies,
                       const std::vector<Cost>& costs) {
    const format::Model& model = file.model();
    const objdump::Placement placement = objdump::place(model, objdump::read_contents(file));
    if (!placement.problem.empty()) throw std::runtime_error(placement.problem);
    ChipReport report;
    report.constant_bytes = model.constants() != nullptr ? model.constants()->size() : 0;
    for (const format::Matrix* matrix : *model.matrices()) report.weights += uint64_t{matrix->k()} * matrix->n();
    report.crossbars = placement.taken;
    for (uint32_t v = 0; v < costs.size(); ++v)
        report.variants.push_back(variant_report(model, v, placement, accuracies, costs[v]));
    report.picture = picture("Crossbars", [&] { return objdump::chip_picture(model, placement, stage); });
    return report;
}

}  // namespace

double ReportRow::utilisation() const {
    return crossbars == 0 ? 0 : static_cast<double>(cells) / static_cast<double>(crossbars * kCellsOfCrossbar);
}

std::string ReportInput::text() const {
    return fmt::format("{} {} {}", name, type, shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, " x ")));
}

NetworkReport report_of(const std::string& file, const std::vector<Samples>& samples,
                        std::span<const LayerAccuracy> accuracies, std::vector<Effect> effects) {
    const std::vector<std::vector<Cost>> costs = run_each_variant(file, samples);
    NetworkReport report;
    report.chip_crossbars = chip::kGeometryY1.xbars();
    report.from_samples = !samples.empty();
    report.effects = std::move(effects);
    for (uint32_t stage = 0; stage < costs.front().size(); ++stage) {
        const objdump::ModelFile read(file, stage);
        const format::Model& model = read.model();
        report.name = printable(model.name()), report.producer = printable(model.producer());
        report.source = printable(model.source()), report.options = printable(model.options());
        report.file_bytes = read.header().file_size;
        std::vector<Cost> of_stage;
        for (const std::vector<Cost>& by_stage : costs) of_stage.push_back(by_stage[stage]);
        report.chips.push_back(chip_report(read, stage, accuracies, of_stage));
    }
    return report;
}

namespace {

using tools::Json;

Json row_json(const ReportRow& row) {
    const bool layer = row.matrices != 0;
    Json accuracy;
    // No number of JSON stands for infinity: null.
    if (row.accuracy)
        accuracy = Json::Object{{"fast_db", row.accuracy->fast},
                                {"accurate_db", row.accuracy->accurate},
                                {"inputs", row.accuracy->inputs},
                                {"clipped", row.accuracy->clipped}};
    return Json::Object{{"name", row.name},
                        {"kind", row.kind},
                        {"calls", row.calls},
                        {"matrix", layer ? Json(Json::Object{{"k", row.k}, {"n", row.n}}) : Json()},
                        {"copies", row.matrices},
                        {"crossbars", row.crossbars},
                        {"utilisation", row.crossbars == 0 ? Json() : Json(row.utilisation())},
                        {"products", row.products},
                        {"input_bits", layer ? Json(row.input_bits) : Json()},
                        {"crossbar_ps", row.product_ps},
                        {"compute_ps", row.compute_ps},
                        {"packet_ps", row.packet_ps},
                        {"time_ps", row.time_ps()},
                        {"energy_pj", row.energy_pj},
                        {"accuracy", std::move(accuracy)}};
}

Json variant_json(const VariantReport& variant) {
    Json::Array inputs, rows;
    for (const ReportInput& input : variant.inputs) {
        Json::Array shape;
        for (const uint32_t size : input.shape) shape.emplace_back(size);
        inputs.emplace_back(Json::Object{{"name", input.name}, {"type", input.type}, {"shape", std::move(shape)}});
    }
    for (const ReportRow& row : variant.rows) rows.emplace_back(row_json(row));
    return Json::Object{{"inputs", std::move(inputs)}, {"work_bytes", variant.work_bytes},
                        {"calls", variant.calls},      {"host_calls", variant.host_calls},
                        {"time_ps", variant.time_ps},  {"energy_pj", variant.energy_pj},
                        {"rows", std::move(rows)}};
}

}  // namespace

std::string json_of(const NetworkReport& report) {
    Json::Array chips, effects;
    for (const ChipReport& chip : report.chips) {
        Json::Array variants;
        for (const VariantReport& variant : chip.variants) variants.emplace_back(variant_json(variant));
        chips.emplace_back(
            Json::Object{{"constant_bytes", chip.constant_bytes},
                         {"weights", chip.weights},
                         {"crossbars", Json::Object{{"taken", chip.crossbars}, {"total", report.chip_crossbars}}},
                         {"variants", std::move(variants)}});
    }
    for (const Effect& effect : report.effects)
        effects.emplace_back(Json::Object{{"what", effect.what},
                                          {"time_s", effect.seconds},
                                          {"energy_j", effect.joules},
                                          {"weights", effect.weights},
                                          {"fast_db", effect.fast},
                                          {"accurate_db", effect.accurate}});
    return Json(Json::Object{{"schema", "sidra-compile-report/2"},
                             {"name", report.name},
                             {"producer", report.producer},
                             {"source", report.source},
                             {"options", report.options},
                             {"file_bytes", report.file_bytes},
                             {"from_samples", report.from_samples},
                             {"chips", std::move(chips)},
                             {"effects", std::move(effects)}})
               .text() +
           '\n';
}

void write_report(const NetworkReport& report, const std::string& path) {
    tools::write_file(path, std::filesystem::path(path).extension() == ".json" ? json_of(report) : page_of(report));
}

}  // namespace sidra::compiler
