// SPDX-License-Identifier: MIT
// The convolutional network on a chip; convnet.h says how.
#ifndef SIDRA_EXAMPLES_CONVNET_NETWORK_H
#define SIDRA_EXAMPLES_CONVNET_NETWORK_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "model.h"
#include "sidra/sidra.hpp"

namespace sidra::convnet {

// Weights and programs.
class Network {
   public:
    // Queues the programming of the weights. The model must outlive the network.
    Network(const Context& context, Stream& stream, const Model& model);

    uint64_t weights() const;  // their number, without the zeros of depthwise layers
    uint32_t crossbars() const;

   private:
    friend class Recognizer;
    struct Group {
        Weights weights;
        Buffer factors, offsets;
        uint32_t channel, in_channels, out_channels;  // the first channel, and how many there are
    };

    const Context& context_;
    const Model& model_;
    std::map<std::string_view, Program> programs_;
    std::vector<std::vector<Group>> layers_;  // depthwise layers have several groups, and poolings none
};

// A graph that computes `images` digits at once, and its memory.
class Recognizer {
   public:
    // Records on the stream. The network must outlive the recognizer.
    Recognizer(const Network& network, Stream& stream, uint32_t images);

    const Graph& graph() const { return graph_; }
    std::span<uint8_t> pixels() const { return values_[0].buffer.as<uint8_t>().first(size_t{images_} * kSide * kSide); }
    std::span<float> logits() const { return values_.back().buffer.as<float>().first(size_t{images_} * kClasses); }
    std::span<const int32_t> answers() const { return answers_.as<int32_t>().first(images_); }
    // The output of a layer as the model file's hashes have it.
    std::span<const std::byte> output(size_t layer) const;

   private:
    // Images between two layers: [image][y][x][channel].
    struct Value {
        Buffer buffer;
        sidra_type type;
        uint32_t side, channels;

        size_t pixel() const { return channels * sidra_type_size(type); }
        size_t row() const { return side * pixel(); }
        size_t image() const { return side * row(); }
        sidra_ref at(uint32_t channel) const { return buffer.at(channel * sidra_type_size(type)); }
        // The same as an operand whose dimensions are image, y, x and channel.
        Operand operand(uint32_t channel) const {
            return {at(channel), type, 0, {image(), row(), pixel(), sidra_type_size(type)}, {}, {}};
        }
    };

    Value value(const Context& context, sidra_type type, uint32_t side, uint32_t channels) const;
    sidra_windows windows(const FileLayer& shape, const Value& in, uint32_t channel, uint32_t channels) const;
    void record(Stream& stream, size_t n);

    const Network& network_;
    uint32_t images_;
    std::vector<Value> values_;  // input of each layer, and the logits
    Buffer answers_;
    Graph graph_;
};

}  // namespace sidra::convnet

#endif
