// SPDX-License-Identifier: MIT
#include "summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "geometry.h"
#include "names.h"
#include "sidra_vector.h"

namespace sidra::objdump {
namespace {

using tools::Json;
using Tensors = flatbuffers::Vector<flatbuffers::Offset<format::Tensor>>;

struct Part {
    std::string name;
    uint64_t offset, size, hash;
    bool intact;
};

// In the order of the file.
std::vector<Part> parts_of(const ModelFile& file, const Contents& contents) {
    const format::FileHeader& header = file.header();
    std::vector<Part> parts = {
        {"header", 0, sizeof header, header.header_hash, true},
        {"manifest", file.manifest().offset(), file.manifest().size(), file.manifest().hash(), true}};
    const auto add = [&](std::string name, const format::Section& section, bool intact) {
        parts.push_back({std::move(name), section.offset(), section.size(), section.hash(), intact});
    };
    const format::Model& model = file.model();
    if (model.constants() != nullptr) add("constants", *model.constants(), contents.constants.intact);
    for (uint32_t i = 0; i < model.matrices()->size(); ++i) {
        const format::Matrix& matrix = *model.matrices()->Get(i);
        add(fmt::format("matrix {}", i), *matrix.data(), contents.matrices[i].intact);
        if (matrix.calibration() != nullptr)
            add(fmt::format("calibration {}", i), *matrix.calibration(), contents.calibrations[i].intact);
    }
    std::ranges::stable_sort(parts, {}, &Part::offset);
    return parts;
}

uint64_t weights_of(const format::Model& model) {
    uint64_t weights = 0;
    for (const format::Matrix* matrix : *model.matrices()) weights += uint64_t{matrix->k()} * matrix->n();
    return weights;
}

// By which its ADCs get their ranges.
uint64_t vectors_of(const format::Matrix& matrix) {
    return matrix.calibration() != nullptr ? matrix.calibration()->size() / matrix.k() : 0;
}

// Calls of all variants that use each program.
std::vector<uint64_t> uses_of_programs(const format::Model& model) {
    std::vector<uint64_t> uses(model.programs()->size());
    for (const format::Variant* variant : *model.variants())
        for (const format::Call* call : *variant->calls()) {
            if (const auto* vector = call->step_as_Vector()) ++uses[vector->program()];
            if (const auto* layer = call->step_as_Layer()) ++uses[layer->program()];
            if (const auto* matmul = call->step_as_Matmul(); matmul != nullptr && matmul->program() < uses.size())
                ++uses[matmul->program()];
        }
    return uses;
}

// "8 layer, 3 vector".
std::string steps_text(const format::Variant& variant) {
    std::array<uint32_t, static_cast<size_t>(format::Step::MAX) + 1> counts{};
    for (const format::Call* call : *variant.calls()) ++counts.at(static_cast<size_t>(call->step_type()));
    std::string text;
    for (size_t i = 0; i < counts.size(); ++i)
        if (counts[i] != 0)
            text +=
                fmt::format("{}{} {}", text.empty() ? "" : ", ", counts[i], step_name(static_cast<format::Step>(i)));
    return text;
}

std::string tensors_text(const char* label, const Tensors& tensors) {
    std::string text;
    for (const format::Tensor* tensor : tensors)
        text += fmt::format("  {:<7} {}  {}  {}  {} bytes at {}\n", label, printable(tensor->name()),
                            type_name(tensor->type()), shape_text(*tensor), format::tensor_bytes(*tensor),
                            place_text(*tensor->at()));
    return text;
}

Json tensors_json(const Tensors& tensors) {
    Json::Array list;
    for (const format::Tensor* tensor : tensors) {
        Json::Array shape;
        if (tensor->shape() != nullptr)
            for (const uint32_t size : *tensor->shape()) shape.emplace_back(size);
        list.emplace_back(Json::Object{{"name", printable(tensor->name())},
                                       {"type", type_name(tensor->type())},
                                       {"shape", std::move(shape)},
                                       {"offset", tensor->at()->offset()},
                                       {"bytes", format::tensor_bytes(*tensor)}});
    }
    return list;
}

std::string matrices_text(const format::Model& model, const Placement& placement) {
    std::string text =
        fmt::format("matrices   {}, with {} weights on {} of {} crossbars of a Y1 chip\n", model.matrices()->size(),
                    weights_of(model), placement.taken, chip::kGeometryY1.xbars());
    if (!placement.problem.empty()) text += fmt::format("           cannot be deployed: {}\n", placement.problem);
    for (uint32_t i = 0; i < model.matrices()->size(); ++i) {
        const format::Matrix& matrix = *model.matrices()->Get(i);
        const bool placed = i < placement.matrices.size();
        text += fmt::format(
            "  {:<4} {}  {} x {}  {}{}: crossbars {} differential, {} offset{}\n", i, printable(matrix.name()),
            matrix.k(), matrix.n(), encoding_name(matrix.encoding()),
            placed && matrix.encoding() == format::Encoding::Auto
                ? fmt::format(" (becomes {})", encoding_name(placement.matrices[i].encoding))
                : "",
            crossbars_of(matrix, format::Encoding::Differential), crossbars_of(matrix, format::Encoding::Offset),
            matrix.calibration() != nullptr ? fmt::format("; ADC ranges for {} vectors", vectors_of(matrix)) : "");
    }
    return text;
}

}  // namespace

std::string summary_text(const ModelFile& file, const Contents& contents, const Placement& placement) {
    const format::Model& model = file.model();
    const uint32_t version = file.header().version;
    std::string text =
        fmt::format("model      {}\ncompiler   {}\nsource     {}\noptions    {}\n", printable(model.name()),
                    printable(model.producer()), printable(model.source()), printable(model.options()));
    text += fmt::format("format     {}.{}\nfile       {} bytes\n", version >> 16, version & 0xffff,
                        file.header().file_size);
    text += fmt::format("  {:<14} {:>14} {:>14}  {}\n", "part", "offset", "bytes", "hash");
    for (const Part& part : parts_of(file, contents))
        text += fmt::format("  {:<14} {:>14} {:>14}  {:016x} {}\n", part.name, part.offset, part.size, part.hash,
                            part.intact ? "intact" : "DAMAGED");
    text += matrices_text(model, placement);
    const std::vector<uint64_t> uses = uses_of_programs(model);
    text += fmt::format("programs   {}\n", model.programs()->size());
    for (uint32_t i = 0; i < uses.size(); ++i) {
        const format::Program& program = *model.programs()->Get(i);
        text += fmt::format(
            "  {:<4} {} instructions{}, in {} calls\n", i, program.code()->size() / sizeof(sidra_vector_instruction),
            program.prologue() != 0 ? fmt::format(" ({} of the prologue)", program.prologue()) : "", uses[i]);
    }
    for (uint32_t i = 0; i < model.variants()->size(); ++i) {
        const format::Variant& variant = *model.variants()->Get(i);
        const std::string steps = steps_text(variant);
        text += fmt::format("variant {}  {} calls{}, {} bytes of work memory\n", i, variant.calls()->size(),
                            steps.empty() ? "" : " (" + steps + ")", variant.work());
        text += tensors_text("input", *variant.inputs()) + tensors_text("output", *variant.outputs());
    }
    return text;
}

Json::Object summary_json(const ModelFile& file, const Contents& contents, const Placement& placement) {
    const format::Model& model = file.model();
    Json::Array parts, matrices, programs, variants;
    for (const Part& part : parts_of(file, contents))
        parts.emplace_back(Json::Object{{"name", part.name},
                                        {"offset", part.offset},
                                        {"bytes", part.size},
                                        {"hash", fmt::format("{:016x}", part.hash)},
                                        {"intact", part.intact}});
    for (uint32_t i = 0; i < model.matrices()->size(); ++i) {
        const format::Matrix& matrix = *model.matrices()->Get(i);
        Json::Object object{
            {"name", printable(matrix.name())},
            {"k", matrix.k()},
            {"n", matrix.n()},
            {"encoding", encoding_name(matrix.encoding())},
            {"crossbars", Json::Object{{"differential", crossbars_of(matrix, format::Encoding::Differential)},
                                       {"offset", crossbars_of(matrix, format::Encoding::Offset)}}},
            {"calibration_vectors", vectors_of(matrix)}};
        if (i < placement.matrices.size()) {
            const PlacedMatrix& placed = placement.matrices[i];
            Json::Array ids;
            for (const uint32_t crossbar : placed.crossbars) ids.emplace_back(crossbar);
            object.emplace_back("placed", Json::Object{{"encoding", encoding_name(placed.encoding)},
                                                       {"tile_rows", placed.tile_rows},
                                                       {"tile_columns", placed.tile_columns},
                                                       {"crossbars", std::move(ids)}});
        } else {
            object.emplace_back("placed", Json());
        }
        matrices.emplace_back(std::move(object));
    }
    const std::vector<uint64_t> uses = uses_of_programs(model);
    for (uint32_t i = 0; i < uses.size(); ++i) {
        const format::Program& program = *model.programs()->Get(i);
        programs.emplace_back(Json::Object{{"instructions", program.code()->size() / sizeof(sidra_vector_instruction)},
                                           {"prologue", program.prologue()},
                                           {"calls", uses[i]}});
    }
    for (const format::Variant* variant : *model.variants())
        variants.emplace_back(Json::Object{{"work_bytes", variant->work()},
                                           {"inputs", tensors_json(*variant->inputs())},
                                           {"outputs", tensors_json(*variant->outputs())},
                                           {"call_count", variant->calls()->size()}});
    const uint32_t version = file.header().version;
    return {{"name", printable(model.name())},
            {"producer", printable(model.producer())},
            {"source", printable(model.source())},
            {"options", printable(model.options())},
            {"version", fmt::format("{}.{}", version >> 16, version & 0xffff)},
            {"file_bytes", file.header().file_size},
            {"intact", contents.intact()},
            {"parts", std::move(parts)},
            {"weights", weights_of(model)},
            {"crossbars", Json::Object{{"taken", placement.taken},
                                       {"total", chip::kGeometryY1.xbars()},
                                       {"problem", placement.problem.empty() ? Json() : Json(placement.problem)}}},
            {"matrices", std::move(matrices)},
            {"programs", std::move(programs)},
            {"variants", std::move(variants)}};
}

}  // namespace sidra::objdump
