// SPDX-License-Identifier: MIT
#include "calls.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "names.h"
#include "program/program_text.h"

namespace sidra::objdump {
namespace {

using tools::Json;
using Operands = flatbuffers::Vector<flatbuffers::Offset<format::Operand>>;

constexpr uint32_t kNoProgram = UINT32_MAX;  // of a Matmul

template <typename T>
std::string list_text(const flatbuffers::Vector<T>* numbers) {
    return numbers == nullptr ? "[]" : fmt::format("[{}]", fmt::join(*numbers, ", "));
}

template <typename T>
Json list_json(const flatbuffers::Vector<T>* numbers) {
    Json::Array list;
    if (numbers != nullptr)
        for (const T number : *numbers) list.emplace_back(number);
    return list;
}

Json place_json(const format::Place* place) {
    if (place == nullptr) return {};
    return Json::Object{{"memory", memory_name(place->memory())}, {"offset", place->offset()}};
}

// ---- Text

std::string operands_text(const Operands& operands) {
    std::string text;
    for (uint32_t i = 0; i < operands.size(); ++i) {
        const format::Operand& o = *operands[i];
        text += fmt::format("      o{}  {}  {}  strides {}", i, place_text(*o.at()), type_name(o.type()),
                            list_text(o.stride()));
        if (o.extent() != 0) text += fmt::format("  extent {}", o.extent());
        if (o.index() != nullptr)
            text += fmt::format("  index {} {}", place_text(*o.index()), type_name(o.index_type()));
        text += '\n';
    }
    return text;
}

// Each parameter as bits, and as the f32 that it may be.
std::string params_text(const flatbuffers::Vector<uint32_t>* params) {
    if (params == nullptr || params->size() == 0) return {};
    std::string text = "      param ";
    for (const uint32_t bits : *params) text += fmt::format(" {:#010x} ({:g})", bits, std::bit_cast<float>(bits));
    return text + '\n';
}

std::string windows_text(const format::Windows& w) {
    std::string text = fmt::format("      windows  {}  {} (codes {}, zero {})  {} images x {} rows x {} columns\n",
                                   place_text(*w.at()), type_name(w.type()), type_name(w.codes()), w.zero(), w.images(),
                                   w.rows(), w.columns());
    text += fmt::format("        kernel {} x {}, stride {} x {}, pad {} x {}, dilation {} x {}\n", w.kernel_h(),
                        w.kernel_w(), w.stride_h(), w.stride_w(), w.pad_h(), w.pad_w(), w.dilation_h(), w.dilation_w());
    text += fmt::format("        images of {} x {} pixels x {} channels", w.height(), w.width(), w.channels());
    if (w.image_stride() != 0 || w.row_stride() != 0 || w.pixel_stride() != 0)
        text += fmt::format(", strides [{}, {}, {}]", w.image_stride(), w.row_stride(), w.pixel_stride());
    return text + '\n';
}

std::string step_text(const format::Model&, const format::Vector& v) {
    return fmt::format("      program {}, size {}\n", v.program(), list_text(v.size())) + params_text(v.param()) +
           operands_text(*v.operands());
}

std::string step_text(const format::Model& model, const format::Layer& l) {
    const format::Matrix& matrix = *model.matrices()->Get(l.matrix());
    return fmt::format("      matrix {} {} ({} x {}), program {}\n", l.matrix(), printable(matrix.name()), matrix.k(),
                       matrix.n(), l.program()) +
           windows_text(*l.windows()) + params_text(l.param()) + operands_text(*l.operands());
}

std::string step_text(const format::Model&, const format::Matmul& m) {
    return fmt::format("      {} x {} x {} (m x n x k), batch {}, program {}\n", m.m(), m.n(), m.k(),
                       list_text(m.batch()), m.program() == kNoProgram ? "none" : fmt::format("{}", m.program())) +
           params_text(m.param()) + operands_text(*m.operands());
}

std::string step_text(const format::Model&, const format::Pool& p) {
    return fmt::format("      {}, out {}, strides {}\n", pooling_name(p.operation()), place_text(*p.out()),
                       p.out_stride() == nullptr ? "dense" : list_text(p.out_stride())) +
           windows_text(*p.windows());
}

std::string step_text(const format::Model&, const format::Sort& s) {
    const auto array = [](const char* name, const format::Place* place, format::Type type, uint64_t stride) {
        return place == nullptr
                   ? std::string()
                   : fmt::format("      {}  {}  {}  stride {}\n", name, place_text(*place), type_name(type), stride);
    };
    return fmt::format("      the {} {} of {} columns, in {} rows\n", s.count(),
                       s.descending() ? "largest" : "smallest", s.cols(), s.rows()) +
           array("in", s.in(), s.type(), s.in_stride()) + array("values", s.values(), s.type(), s.values_stride()) +
           array("indices", s.indices(), s.index_type(), s.indices_stride());
}

std::string step_text(const format::Model&, const format::Host& h) {
    const auto array = [](const std::string& name, const format::Array& a) {
        return fmt::format("      {}  {}  {}  shape {}\n", name, place_text(*a.at()), type_name(a.type()),
                           list_text(a.shape()));
    };
    std::string text =
        fmt::format("      {} on the host, parameters {}\n", printable(h.function()), list_text(h.parameters()));
    for (uint32_t i = 0; i < h.inputs()->size(); ++i) text += array(fmt::format("in{}", i), *h.inputs()->Get(i));
    return text + array("out", *h.output());
}

// ---- JSON

Json operands_json(const Operands& operands) {
    Json::Array list;
    for (const format::Operand* o : operands)
        list.emplace_back(
            Json::Object{{"at", place_json(o->at())},
                         {"type", type_name(o->type())},
                         {"stride", list_json(o->stride())},
                         {"extent", o->extent()},
                         {"index", place_json(o->index())},
                         {"index_type", o->index() != nullptr ? Json(type_name(o->index_type())) : Json()}});
    return list;
}

Json windows_json(const format::Windows& w) {
    return Json::Object{{"at", place_json(w.at())},
                        {"type", type_name(w.type())},
                        {"codes", type_name(w.codes())},
                        {"zero", w.zero()},
                        {"images", w.images()},
                        {"rows", w.rows()},
                        {"columns", w.columns()},
                        {"height", w.height()},
                        {"width", w.width()},
                        {"channels", w.channels()},
                        {"kernel_h", w.kernel_h()},
                        {"kernel_w", w.kernel_w()},
                        {"stride_h", w.stride_h()},
                        {"stride_w", w.stride_w()},
                        {"pad_h", w.pad_h()},
                        {"pad_w", w.pad_w()},
                        {"dilation_h", w.dilation_h()},
                        {"dilation_w", w.dilation_w()},
                        {"image_stride", w.image_stride()},
                        {"row_stride", w.row_stride()},
                        {"pixel_stride", w.pixel_stride()}};
}

Json::Object step_json(const format::Vector& v) {
    return {{"program", v.program()},
            {"size", list_json(v.size())},
            {"param", list_json(v.param())},
            {"operands", operands_json(*v.operands())}};
}

Json::Object step_json(const format::Layer& l) {
    return {{"matrix", l.matrix()},
            {"program", l.program()},
            {"windows", windows_json(*l.windows())},
            {"param", list_json(l.param())},
            {"operands", operands_json(*l.operands())}};
}

Json::Object step_json(const format::Matmul& m) {
    return {{"program", m.program() == kNoProgram ? Json() : Json(m.program())},
            {"m", m.m()},
            {"n", m.n()},
            {"k", m.k()},
            {"batch", list_json(m.batch())},
            {"param", list_json(m.param())},
            {"operands", operands_json(*m.operands())}};
}

Json::Object step_json(const format::Pool& p) {
    return {{"operation", pooling_name(p.operation())},
            {"windows", windows_json(*p.windows())},
            {"out", place_json(p.out())},
            {"out_stride", p.out_stride() == nullptr ? Json() : list_json(p.out_stride())}};
}

Json::Object step_json(const format::Sort& s) {
    return {{"type", type_name(s.type())},
            {"index_type", type_name(s.index_type())},
            {"in", place_json(s.in())},
            {"values", place_json(s.values())},
            {"indices", place_json(s.indices())},
            {"in_stride", s.in_stride()},
            {"values_stride", s.values_stride()},
            {"indices_stride", s.indices_stride()},
            {"rows", s.rows()},
            {"cols", s.cols()},
            {"count", s.count()},
            {"descending", s.descending()}};
}

Json array_json(const format::Array& array) {
    return Json::Object{
        {"at", place_json(array.at())}, {"type", type_name(array.type())}, {"shape", list_json(array.shape())}};
}

Json::Object step_json(const format::Host& h) {
    Json::Array inputs;
    for (const format::Array* input : *h.inputs()) inputs.push_back(array_json(*input));
    return {{"function", printable(h.function())},
            {"inputs", std::move(inputs)},
            {"output", array_json(*h.output())},
            {"parameters", list_json(h.parameters())}};
}

template <typename Visit>
auto visit_step(const format::Call& call, const Visit& visit) {
    switch (call.step_type()) {
        case format::Step::Vector:
            return visit(*call.step_as_Vector());
        case format::Step::Layer:
            return visit(*call.step_as_Layer());
        case format::Step::Matmul:
            return visit(*call.step_as_Matmul());
        case format::Step::Pool:
            return visit(*call.step_as_Pool());
        case format::Step::Sort:
            return visit(*call.step_as_Sort());
        default:
            return visit(*call.step_as_Host());
    }
}

}  // namespace

std::string calls_text(const format::Model& model, const format::Variant& variant,
                       std::span<const CallAnalysis> analyses) {
    std::string text;
    for (uint32_t i = 0; i < analyses.size(); ++i) {
        const format::Call& call = *variant.calls()->Get(i);
        const CallAnalysis& analysis = analyses[i];
        text += fmt::format("  {:<4} {}  {}{}\n", i, step_name(call.step_type()), printable(call.name()),
                            analysis.timed ? "  " + time_text(analysis.total_ps()) : "");
        if (!analysis.problem.empty()) text += fmt::format("      cannot be run: {}\n", analysis.problem);
        text += visit_step(call, [&](const auto& step) { return step_text(model, step); });
    }
    return text;
}

Json calls_json(const format::Variant& variant, std::span<const CallAnalysis> analyses) {
    Json::Array list;
    for (uint32_t i = 0; i < analyses.size(); ++i) {
        const format::Call& call = *variant.calls()->Get(i);
        const CallAnalysis& analysis = analyses[i];
        Json::Object object{{"name", printable(call.name())}, {"step", step_name(call.step_type())}};
        for (auto& member : visit_step(call, [](const auto& step) { return step_json(step); }))
            object.push_back(std::move(member));
        Json::Array accesses;
        for (const Access& access : analysis.accesses)
            accesses.emplace_back(Json::Object{{"begin", access.begin}, {"end", access.end}, {"write", access.write}});
        object.emplace_back("accesses", std::move(accesses));
        object.emplace_back("cost", !analysis.timed ? Json()
                                                    : Json(Json::Object{{"product_ps", analysis.product_ps},
                                                                        {"compute_ps", analysis.compute_ps},
                                                                        {"packet_ps", analysis.packet_ps},
                                                                        {"energy_pj", analysis.energy_pj}}));
        object.emplace_back("problem", analysis.problem.empty() ? Json() : Json(analysis.problem));
        list.emplace_back(std::move(object));
    }
    return list;
}

std::string variants_text(const format::Model& model, const Placement& placement, std::optional<uint32_t> only) {
    std::string text;
    for (uint32_t v = 0; v < model.variants()->size(); ++v) {
        if (only.value_or(v) != v) continue;
        const format::Variant& variant = *model.variants()->Get(v);
        text += fmt::format("variant {}\n", v) + calls_text(model, variant, analyse(model, variant, placement));
    }
    return text;
}

Json variants_json(const format::Model& model, const Placement& placement, std::optional<uint32_t> only) {
    Json::Array list;
    for (uint32_t v = 0; v < model.variants()->size(); ++v) {
        const format::Variant& variant = *model.variants()->Get(v);
        list.push_back(only.value_or(v) == v ? calls_json(variant, analyse(model, variant, placement)) : Json());
    }
    return list;
}

std::string program_text(const format::Program& program) {
    std::vector<sidra_vector_instruction> code(program.code()->size() / sizeof(sidra_vector_instruction));
    std::memcpy(code.data(), program.code()->data(), program.code()->size());
    return program::disassemble(code, std::min<size_t>(program.prologue(), code.size()));
}

std::string programs_text(const format::Model& model) {
    std::string text;
    for (uint32_t i = 0; i < model.programs()->size(); ++i)
        text += fmt::format("program {}\n{}", i, program_text(*model.programs()->Get(i)));
    return text;
}

Json programs_json(const format::Model& model) {
    Json::Array texts;
    for (const format::Program* program : *model.programs()) texts.emplace_back(program_text(*program));
    return texts;
}

}  // namespace sidra::objdump
