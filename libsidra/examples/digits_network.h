// SPDX-License-Identifier: MIT
// The network of digits/ on a chip: weights in crossbars, and a recorded graph from images to answers.
#ifndef SIDRA_EXAMPLES_DIGITS_NETWORK_H
#define SIDRA_EXAMPLES_DIGITS_NETWORK_H

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "demo.h"
#include "digits_model.h"
#include "sidra/functions.h"

namespace sidra::digits {

using demo::energy_text;
using demo::time_text;

inline constexpr uint64_t kDeadlineNs = 60'000'000'000;

inline void check(sidra_status status, std::string_view what) {
    if (status == SIDRA_OK) return;
    throw std::runtime_error(fmt::format("{}: {} ({})", what, sidra_last_error(), sidra_status_string(status)));
}

template <auto kDestroy>
struct Destroy {
    template <class T>
    void operator()(T* handle) const {
        kDestroy(handle);
    }
};
using Device = std::unique_ptr<sidra_device, Destroy<sidra_device_close>>;
using Context = std::unique_ptr<sidra_context, Destroy<sidra_context_destroy>>;
using Stream = std::unique_ptr<sidra_stream, Destroy<sidra_stream_destroy>>;
using Buffer = std::unique_ptr<sidra_buffer, Destroy<sidra_buffer_destroy>>;
using Weights = std::unique_ptr<sidra_weights, Destroy<sidra_weights_destroy>>;
using Graph = std::unique_ptr<sidra_graph, Destroy<sidra_graph_destroy>>;

// A buffer of `count` values.
template <class T>
class Array {
   public:
    Array(sidra_context* context, size_t count) {
        sidra_buffer* buffer = nullptr;
        check(sidra_buffer_create(context, count * sizeof(T), SIDRA_BUFFER_HOST, &buffer), "creating a buffer");
        buffer_.reset(buffer);
        void* address = nullptr;
        check(sidra_buffer_map(buffer, &address), "mapping a buffer");
        values_ = {static_cast<T*>(address), count};
    }

    std::span<T> values() const { return values_; }
    sidra_ref at(size_t index) const { return {buffer_.get(), index * sizeof(T)}; }

   private:
    Buffer buffer_;
    std::span<T> values_;
};

// Cost on a real chip, by the cost model.
struct Cost {
    double seconds = 0, joules = 0;

    static Cost of(sidra_stream* stream) {
        uint64_t picoseconds = 0, picojoules = 0;
        check(sidra_stream_device_time(stream, &picoseconds, &picojoules), "asking for the device time");
        return {static_cast<double>(picoseconds) * 1e-12, static_cast<double>(picojoules) * 1e-12};
    }
    Cost since(const Cost& start, double count = 1) const {
        return {(seconds - start.seconds) / count, (joules - start.joules) / count};
    }
};

inline void synchronize(sidra_stream* stream, std::string_view what) {
    check(sidra_stream_synchronize(stream, sidra_deadline_after_ns(kDeadlineNs)), what);
}

// Runs a graph and waits; returns wall time in seconds.
inline double run(sidra_stream* stream, const Graph& graph) {
    const auto start = std::chrono::steady_clock::now();
    check(sidra_graph_launch_async(stream, graph.get()), "launching the graph");
    synchronize(stream, "running the graph");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The model on the chip: programmed weights, and biases in units of the integer sums.
class Network {
   public:
    // Queues the programming.
    Network(sidra_context* context, sidra_stream* stream, const Model& model) : context_(context), model_(model) {
        for (const Layer& layer : model.layers) {
            sidra_weights* weights = nullptr;
            auto options = SIDRA_INIT(sidra_weights_options);
            const std::string label = fmt::format("layer {}", weights_.size() + 1);
            options.label = label.c_str();
            check(sidra_weights_create_f32(context, layer.inputs, layer.outputs, layer.weights.data(), layer.outputs,
                                           &options, &weights),
                  "creating weights");
            weights_.emplace_back(weights);
            check(sidra_weights_program_async(stream, weights), "programming weights");
            const float* scale = nullptr;
            check(sidra_weights_scale(weights, &scale), "asking for the scales of weights");
            const auto bias = biases_.emplace_back(context, layer.outputs).values();
            for (size_t n = 0; n < bias.size(); n++) {
                bias[n] = static_cast<int32_t>(std::lrintf(layer.bias[n] / (layer.in_scale * scale[n])));
            }
        }
    }

    struct Size {
        uint64_t weights = 0;
        uint32_t crossbars = 0;
    };
    Size size() const {
        Size size;
        for (const Weights& weights : weights_) {
            auto info = SIDRA_INIT(sidra_weights_info);
            check(sidra_weights_get_info(weights.get(), &info), "asking about weights");
            size.weights += uint64_t{info.k} * info.n;
            size.crossbars += info.crossbars;
        }
        return size;
    }

    const Model& model() const { return model_; }
    sidra_context* context() const { return context_; }
    sidra_weights* weights(size_t layer) const { return weights_[layer].get(); }
    sidra_ref bias(size_t layer) const { return biases_[layer].at(0); }

   private:
    sidra_context* context_;
    const Model& model_;
    std::vector<Weights> weights_;
    std::vector<Array<int32_t>> biases_;
};

// A recorded graph that computes the answers to `digits` images, `batch` of them per operation, and its memory.
// Products use sidra_mvm_async() or a function with the same signature.
class Recognizer {
   public:
    using Multiply = decltype(&sidra_mvm_async);

    Recognizer(const Network& network, sidra_stream* stream, uint32_t digits, uint32_t batch,
               Multiply multiply = sidra_mvm_async)
        : multiply_(multiply),
          pixels_(network.context(), size_t{digits} * kPixels),
          logits_(network.context(), size_t{digits} * network.model().classes()),
          answers_(network.context(), digits) {
        const auto& layers = network.model().layers;
        for (size_t i = 0; i + 1 < layers.size(); i++)
            hidden_.emplace_back(network.context(), size_t{digits} * layers[i].outputs);
        check(sidra_graph_begin(stream), "beginning to record");
        for (uint32_t first = 0; first < digits; first += batch) {
            record(network, stream, first, std::min(batch, digits - first));
        }
        sidra_graph* graph = nullptr;
        check(sidra_graph_end(stream, &graph), "recording the graph");
        graph_.reset(graph);
    }

    std::span<uint8_t> pixels() const { return pixels_.values(); }
    std::span<float> logits() const { return logits_.values(); }
    std::span<const int32_t> answers() const { return answers_.values(); }
    const Graph& graph() const { return graph_; }
    uint32_t operations() const {
        uint32_t count = 0;
        check(sidra_graph_operations(graph_.get(), &count), "asking about the graph");
        return count;
    }

   private:
    // One MVM per layer; it includes bias, rescaling and (by saturation at 0) ReLU.
    void record(const Network& network, sidra_stream* stream, uint32_t first, uint32_t count) {
        const auto& layers = network.model().layers;
        check(sidra_label_async(stream, fmt::format("digits {} to {}", first, first + count - 1).c_str()),
              "naming an operation");
        for (size_t i = 0; i < layers.size(); i++) {
            const bool last = i + 1 == layers.size();
            auto mvm = SIDRA_INIT(sidra_mvm);
            mvm.batch = count;
            mvm.in_type = SIDRA_U8;
            mvm.in = (i == 0 ? pixels_ : hidden_[i - 1]).at(size_t{first} * layers[i].inputs);
            mvm.in_scale = layers[i].in_scale;
            mvm.bias = network.bias(i);
            if (last) {
                mvm.out_type = SIDRA_F32;
                mvm.out = logits_.at(size_t{first} * layers[i].outputs);
            } else {
                mvm.out_type = SIDRA_U8;
                mvm.out = hidden_[i].at(size_t{first} * layers[i].outputs);
                mvm.out_scale = layers[i + 1].in_scale;
            }
            check(multiply_(stream, network.weights(i), &mvm), "recording a layer");
        }
        const uint32_t classes = network.model().classes();
        const uint32_t outputs[4] = {1, 1, count, classes}, one_each[4] = {1, 1, count, 1};
        const sidra_array logits = sidra_operand_dense(logits_.at(size_t{first} * classes), SIDRA_F32, outputs);
        const sidra_array best = sidra_operand_dense(answers_.at(first), SIDRA_S32, one_each);
        check(sidra_reduce_argmax(stream, outputs, &best, &logits), "recording the answer");
    }

    Multiply multiply_;
    Array<uint8_t> pixels_;
    std::vector<Array<uint8_t>> hidden_;  // codes between layers
    Array<float> logits_;
    Array<int32_t> answers_;
    Graph graph_;
};

}  // namespace sidra::digits

#endif
