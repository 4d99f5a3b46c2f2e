// SPDX-License-Identifier: MIT
#include "describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/units.h"

namespace sidra::run {
namespace {

std::string line(std::string_view label, const sidra_model_tensor& tensor) {
    return fmt::format("  {:<8}{}  {}  {}\n", label, printable(tensor.name), type_text(tensor.type),
                       shape_text(shape_of(tensor)));
}

uint64_t crossbars(const sidra_model_matrix& matrix, uint32_t rows, uint32_t columns) {
    return ((uint64_t{matrix.k} + rows - 1) / rows) * ((uint64_t{matrix.n} + columns - 1) / columns);
}

const char* encoding_text(sidra_weights_encoding encoding) {
    switch (encoding) {
        case SIDRA_WEIGHTS_DIFFERENTIAL:
            return "differential";
        case SIDRA_WEIGHTS_OFFSET:
            return "offset";
        default:
            return "auto";
    }
}

std::string describe_matrices(const Model& model, const sidra_model_info& info, const sidra_device_info& device) {
    std::string text;
    uint64_t fewest = 0, most = 0;
    for (uint32_t i = 0; i < info.matrices; ++i) {
        const sidra_model_matrix matrix = model.matrix(i);
        const uint64_t offset = crossbars(matrix, device.rows, device.cols);
        const uint64_t differential = crossbars(matrix, device.rows, device.cols / 2);
        fewest += matrix.encoding == SIDRA_WEIGHTS_DIFFERENTIAL ? differential : offset;
        most += matrix.encoding == SIDRA_WEIGHTS_OFFSET ? offset : differential;
        text += fmt::format("  {}  {} x {}  {}\n", printable(matrix.name), matrix.k, matrix.n,
                            encoding_text(matrix.encoding));
    }
    const std::string range = fewest == most ? fmt::format("{}", fewest) : fmt::format("{} to {}", fewest, most);
    return fmt::format("matrices   {}, with {} weights on {} of {} crossbars\n", info.matrices, info.weights, range,
                       device.crossbars_total) +
           text;
}

}  // namespace

Shape shape_of(const sidra_model_tensor& tensor) { return {tensor.shape, tensor.shape + tensor.rank}; }

std::string printable(std::string_view text) {
    std::string shown(text);
    std::ranges::replace_if(
        shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    return shown;
}

std::string describe(const Model& model, const sidra_device_info& device) {
    const sidra_model_info info = model.info();
    std::string text = fmt::format("model      {}\ncompiler   {}\nsource     {}\noptions    {}\n", printable(info.name),
                                   printable(info.producer), printable(info.source), printable(info.options));
    text += describe_matrices(model, info, device);
    text += fmt::format("programs   {}\nconstants  {} bytes\n", info.programs, info.constant_bytes);
    for (uint32_t v = 0; v < info.variants; ++v) {
        const sidra_model_variant_info variant = model.variant(v);
        const std::string host = variant.host_calls != 0 ? fmt::format(" ({} on the host)", variant.host_calls) : "";
        text += fmt::format("variant {}  {} calls{}, {} bytes of memory\n", v, variant.calls, host, variant.work_bytes);
        for (uint32_t i = 0; i < variant.inputs; ++i) text += line("takes", model.input(v, i));
        for (uint32_t i = 0; i < variant.outputs; ++i) text += line("gives", model.output(v, i));
    }
    return text;
}

std::string describe_inputs(const Model& model) {
    std::string text;
    for (uint32_t v = 0; v < model.info().variants; ++v) {
        std::string inputs;
        for (uint32_t i = 0; i < model.variant(v).inputs; ++i) {
            const sidra_model_tensor input = model.input(v, i);
            inputs += fmt::format("{}{} ({}, {})", inputs.empty() ? "" : "; ", printable(input.name),
                                  type_text(input.type), shape_text(shape_of(input)));
        }
        text += fmt::format("\n  variant {}: {}", v, inputs.empty() ? "no inputs" : inputs);
    }
    return text;
}

}  // namespace sidra::run
