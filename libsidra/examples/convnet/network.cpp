// SPDX-License-Identifier: MIT
#include "network.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace sidra::convnet {
namespace {

struct Source {
    std::string_view name;
    const char* text;
};
constexpr Source kSources[] = {
#include "convnet_programs.inc"  // of programs/
};

Buffer filled(const Context& context, std::span<const float> values) {
    Buffer buffer(context, values.size_bytes());
    std::ranges::copy(values, buffer.as<float>().begin());
    return buffer;
}

// The weights of a group of a depthwise layer: each input channel goes to its own output only.
std::vector<int8_t> depthwise(const Layer& layer, uint32_t channel) {
    const uint32_t pixels = layer.shape.kernel * layer.shape.kernel;
    std::vector<int8_t> weights(size_t{pixels} * kGroup * kGroup);
    for (size_t pixel = 0; pixel < pixels; pixel++) {
        for (size_t c = 0; c < kGroup; c++)
            weights[(pixel * kGroup + c) * kGroup + c] = layer.weights[pixel * layer.shape.in_channels + channel + c];
    }
    return weights;
}

}  // namespace

Network::Network(const Context& context, Stream& stream, const Model& model) : context_(context), model_(model) {
    for (const Source& source : kSources) programs_.emplace(source.name, Program::assemble(context, source.text));
    for (const Layer& layer : model.layers) {
        const FileLayer& shape = layer.shape;
        auto& groups = layers_.emplace_back();
        if (layer.weights.empty()) continue;
        const bool parts = shape.kind == kDepthwise;
        const uint32_t in = parts ? kGroup : shape.in_channels, out = parts ? kGroup : shape.out_channels;
        const std::string label = "layer " + std::to_string(layers_.size() - 1);
        sidra_weights_options options{};
        options.label = label.c_str();
        for (uint32_t channel = 0; channel < shape.out_channels; channel += out) {
            Weights weights = Weights::from_s8(context, shape.kernel * shape.kernel * in, out,
                                               parts ? depthwise(layer, channel) : layer.weights, {}, options);
            stream.program(weights);
            groups.push_back({std::move(weights), filled(context, std::span(layer.factors).subspan(channel, out)),
                              filled(context, std::span(layer.offsets).subspan(channel, out)), channel, in, out});
        }
    }
}

uint64_t Network::weights() const {
    uint64_t count = 0;
    for (const Layer& layer : model_.layers) count += layer.weights.size();
    return count;
}

uint32_t Network::crossbars() const {
    uint32_t count = 0;
    for (const auto& groups : layers_) {
        for (const Group& group : groups) count += group.weights.info().crossbars;
    }
    return count;
}

Recognizer::Recognizer(const Network& network, Stream& stream, uint32_t images)
    : network_(network), images_(images), answers_(network.context_, images * sizeof(int32_t)) {
    const auto& layers = network.model_.layers;
    values_.push_back(value(network.context_, SIDRA_U8, kSide, 1, 0));
    for (size_t n = 0; n < layers.size(); n++) {
        const FileLayer& shape = layers[n].shape;
        // A maximum takes its padding from memory.
        const bool frame = n + 1 < layers.size() && layers[n + 1].shape.kind == kPoolMax;
        values_.push_back(value(network.context_, layers[n].codes_out ? SIDRA_S8 : SIDRA_F32, shape.out_side,
                                shape.out_channels, frame ? layers[n + 1].shape.pad : 0));
    }
    graph_ = stream.capture([&] {
        for (size_t n = 0; n < layers.size(); n++) {
            stream.label("layer " + std::to_string(n));
            record(stream, n);
        }
    });
}

Recognizer::Value Recognizer::value(const Context& context, sidra_type type, uint32_t side, uint32_t channels,
                                    uint32_t border) const {
    Value value{{}, type, side, channels, border};
    value.buffer = Buffer(context, images_ * value.image());
    // The smallest code, so the frame is no maximum. Nothing else writes there.
    if (border != 0) std::ranges::fill(value.buffer.as<int8_t>(), int8_t{-128});
    return value;
}

void Recognizer::record(Stream& stream, size_t n) {
    const Layer& layer = network_.model_.layers[n];
    const FileLayer& shape = layer.shape;
    const Value &in = values_[n], &out = values_[n + 1];
    if (shape.kind == kPoolMax) return record_maximum(stream, shape, in, out);
    if (shape.kind == kPoolAverage) return record_average(stream, shape, in, out);
    for (const Network::Group& group : network_.layers_[n]) {
        sidra_windows windows = sidra_windows_image(in.at(0, 0, group.channel), in.type, images_, in.side, in.side,
                                                    group.in_channels, shape.kernel, shape.kernel);
        windows.codes = in.type == SIDRA_U8 ? SIDRA_U8 : SIDRA_S8;
        windows.zero = shape.zero;
        windows.stride_h = windows.stride_w = shape.stride;
        windows.pad_h = windows.pad_w = shape.pad;
        sidra_windows_fit(&windows);
        // A group reads a part of the channels.
        windows.pixel_stride = in.pixel();
        windows.row_stride = in.row();
        windows.image_stride = in.image();
        std::vector<Operand> operands = {dense(group.factors, SIDRA_F32, {1, 1, 1, group.out_channels}),
                                         dense(group.offsets, SIDRA_F32, {1, 1, 1, group.out_channels}),
                                         out.operand(group.channel)};
        if (shape.kind == kClassifier) {
            operands.push_back(dense(answers_, SIDRA_S32, {images_, 1, 1, 1}));
            stream.layer(group.weights, network_.programs_.at("classify"), windows, operands, {shape.in_factor});
        } else {
            stream.layer(group.weights, network_.programs_.at(layer.codes_out ? "codes" : "floats"), windows, operands);
        }
    }
}

void Recognizer::record_maximum(Stream& stream, const FileLayer& shape, const Value& in, const Value& out) {
    const Program& program = network_.programs_.at("maximum");
    // Of three pixels in a row, for all rows with those of the frame: [image][y][x][channel].
    const uint32_t rows = in.side + 2 * in.border;
    const size_t row = out.side * in.pixel();
    const Buffer& maxima = maxima_.emplace_back(network_.context_, images_ * rows * row);
    const auto across = [&](uint32_t x) -> Operand {
        return {in.buffer.at(x * in.pixel()), in.type, 0, {in.image(), in.row(), shape.stride * in.pixel(), 1}, {}, {}};
    };
    const Operand between = {maxima, in.type, 0, {rows * row, row, in.pixel(), 1}, {}, {}};
    stream.vector(program, {images_, rows, out.side, in.channels}, {across(0), across(1), across(2), between});
    const auto down = [&](uint32_t y) {
        Operand operand = between;
        operand.at.offset += y * row;
        operand.stride[1] = shape.stride * row;
        return operand;
    };
    stream.vector(program, {images_, out.side, out.side, in.channels}, {down(0), down(1), down(2), out.operand(0)});
}

void Recognizer::record_average(Stream& stream, const FileLayer& shape, const Value& in, const Value& out) {
    const auto pixel = [&](uint32_t y, uint32_t x) {
        Operand operand = in.operand(0);
        operand.at = in.at(y, x);
        operand.stride[1] *= shape.stride;
        operand.stride[2] *= shape.stride;
        return operand;
    };
    stream.vector(network_.programs_.at("average"), {images_, out.side, out.side, in.channels},
                  {pixel(0, 0), pixel(0, 1), pixel(1, 0), pixel(1, 1), out.operand(0)});
}

std::vector<std::byte> Recognizer::output(size_t layer) const {
    const Value& value = values_[layer + 1];
    const auto bytes = value.buffer.as<>();
    const size_t inside = value.side * value.pixel();
    std::vector<std::byte> output;
    for (uint32_t image = 0; image < images_; image++) {
        for (uint32_t y = 0; y < value.side; y++) {
            const auto row = bytes.subspan(image * value.image() + value.at(y).offset, inside);
            output.insert(output.end(), row.begin(), row.end());
        }
    }
    return output;
}

}  // namespace sidra::convnet
