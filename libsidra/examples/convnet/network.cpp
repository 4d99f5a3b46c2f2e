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
    values_.push_back(value(network.context_, SIDRA_U8, kSide, 1));
    for (const Layer& layer : layers)
        values_.push_back(value(network.context_, layer.codes_out ? SIDRA_S8 : SIDRA_F32, layer.shape.out_side,
                                layer.shape.out_channels));
    graph_ = stream.capture([&] {
        for (size_t n = 0; n < layers.size(); n++) {
            stream.label("layer " + std::to_string(n));
            record(stream, n);
        }
    });
}

Recognizer::Value Recognizer::value(const Context& context, sidra_type type, uint32_t side, uint32_t channels) const {
    Value value{{}, type, side, channels};
    value.buffer = Buffer(context, images_ * value.image());
    return value;
}

sidra_windows Recognizer::windows(const FileLayer& shape, const Value& in, uint32_t channel, uint32_t channels) const {
    sidra_windows windows =
        sidra_windows_image(in.at(channel), in.type, images_, in.side, in.side, channels, shape.kernel, shape.kernel);
    windows.stride_h = windows.stride_w = shape.stride;
    windows.pad_h = windows.pad_w = shape.pad;
    sidra_windows_fit(&windows);
    // A group reads a part of the channels.
    windows.pixel_stride = in.pixel();
    windows.row_stride = in.row();
    windows.image_stride = in.image();
    return windows;
}

void Recognizer::record(Stream& stream, size_t n) {
    const Layer& layer = network_.model_.layers[n];
    const FileLayer& shape = layer.shape;
    const Value &in = values_[n], &out = values_[n + 1];
    if (shape.kind == kPoolMax || shape.kind == kPoolAverage) {
        sidra_pool pool{};
        pool.op = shape.kind == kPoolMax ? SIDRA_POOLING_MAX : SIDRA_POOLING_AVERAGE_ALL;
        pool.windows = windows(shape, in, 0, in.channels);
        pool.out = out.at(0);
        return stream.pool(pool);
    }
    for (const Network::Group& group : network_.layers_[n]) {
        sidra_windows input = windows(shape, in, group.channel, group.in_channels);
        input.codes = in.type == SIDRA_U8 ? SIDRA_U8 : SIDRA_S8;
        input.zero = shape.zero;
        std::vector<Operand> operands = {dense(group.factors, SIDRA_F32, {1, 1, 1, group.out_channels}),
                                         dense(group.offsets, SIDRA_F32, {1, 1, 1, group.out_channels}),
                                         out.operand(group.channel)};
        if (shape.kind == kClassifier) {
            operands.push_back(dense(answers_, SIDRA_S32, {images_, 1, 1, 1}));
            stream.layer(group.weights, network_.programs_.at("classify"), input, operands, {shape.in_factor});
        } else {
            stream.layer(group.weights, network_.programs_.at(layer.codes_out ? "codes" : "floats"), input, operands);
        }
    }
}

std::span<const std::byte> Recognizer::output(size_t layer) const {
    const Value& value = values_[layer + 1];
    return value.buffer.as<>().first(images_ * value.image());
}

}  // namespace sidra::convnet
