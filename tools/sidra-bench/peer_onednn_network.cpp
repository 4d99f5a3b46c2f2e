// SPDX-License-Identifier: MIT
#include "convnet/model.h"
#include "peers.h"

#if SIDRA_BENCH_ONEDNN

#include <fmt/format.h>

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "error.h"

namespace sidra::bench {
namespace {

using convnet::FileLayer;
using Memory = dnnl::memory;
using Dims = Memory::dims;
using Tag = Memory::format_tag;
using Type = Memory::data_type;

constexpr auto kForward = dnnl::prop_kind::forward_inference;
constexpr float kCodeOfZero = -128;  // of the chip

Dims both(uint32_t value) { return {value, value}; }

class OneDnnNetwork final : public NetworkPeer {
   public:
    OneDnnNetwork(const convnet::Model& model, uint32_t images, uint32_t threads) try
        : images_(images), threads_(threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
        set_onednn_threads(threads_);  // primitives are built for a number of threads
        Memory value = image(convnet::kSide, 1, Type::u8);
        pixels_ = value;
        for (const convnet::Layer& layer : model.layers) value = add(layer, value);
        logits_ = value;
    } catch (const dnnl::error& e) {
        throw Error(fmt::format("oneDNN: {}", e.what()));
    }

    void prepare() override { set_onednn_threads(threads_); }
    void run(uint64_t calls) override {
        for (uint64_t i = 0; i < calls; ++i) {
            for (const Step& step : steps_) step.primitive.execute(stream_, step.arguments);
            stream_.wait();
        }
    }
    std::span<uint8_t> pixels() override {
        return {static_cast<uint8_t*>(pixels_.get_data_handle()), size_t{images_} * convnet::kSide * convnet::kSide};
    }
    std::span<const float> logits() const override {
        return {static_cast<const float*>(logits_.get_data_handle()), size_t{images_} * convnet::kClasses};
    }

   private:
    struct Step {
        dnnl::primitive primitive;
        std::unordered_map<int, Memory> arguments;
    };

    // [image][y][x][channel]
    Memory image(uint32_t side, uint32_t channels, Type type) const {
        return {{{images_, channels, side, side}, type, Tag::nhwc}, engine_};
    }
    Memory row(std::span<const float> values) const {
        Memory made({{static_cast<Memory::dim>(values.size())}, Type::f32, Tag::x}, engine_);
        std::ranges::copy(values, static_cast<float*>(made.get_data_handle()));
        return made;
    }
    // The file's weights in the layout that the primitive likes best.
    Memory best_weights(const convnet::Layer& layer, const Memory::desc& plain, const Memory::desc& best) {
        // oneDNN reads only.
        Memory from(plain, engine_, const_cast<int8_t*>(layer.weights.data()));
        Memory to(best, engine_);
        dnnl::reorder(from, to).execute(stream_, from, to);
        stream_.wait();
        return to;
    }

    Memory add(const convnet::Layer& layer, const Memory& in) {
        switch (layer.shape.kind) {
            case convnet::kPoolMax:
            case convnet::kPoolAverage:
                return add_pool(layer, in);
            case convnet::kClassifier:
                return add_classifier(layer, in);
            default:
                return add_convolution(layer, in);
        }
    }

    // What turns sums into outputs: a factor for each of them, and a bias.
    struct Epilogue {
        dnnl::primitive_attr attributes;
        Memory bias, factors;

        void put_into(std::unordered_map<int, Memory>* arguments) const {
            arguments->insert({DNNL_ARG_BIAS, bias});
#if DNNL_VERSION_MAJOR >= 3
            arguments->insert({DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, factors});
#endif
        }
    };
    // weights_mask: the dimensions of the weights that number the outputs.
    Epilogue epilogue(const convnet::Layer& layer, [[maybe_unused]] int weights_mask) const {
        std::vector<float> bias = layer.offsets;
        if (layer.codes_out)
            for (float& each : bias) each -= kCodeOfZero;
        Epilogue made;
#if DNNL_VERSION_MAJOR >= 3
        made.attributes.set_scales_mask(DNNL_ARG_WEIGHTS, weights_mask);
#else
        constexpr int kOutputs = 1 << 1;
        made.attributes.set_output_scales(kOutputs, layer.factors);
        for (size_t n = 0; n < bias.size(); ++n) bias[n] /= layer.factors[n];  // it is added before the product
#endif
        made.bias = row(bias);
        made.factors = row(layer.factors);
        return made;
    }

    Memory add_convolution(const convnet::Layer& layer, const Memory& in) {
        const FileLayer& s = layer.shape;
        const bool depthwise = s.kind == convnet::kDepthwise;
        const Memory::dim k = s.kernel, inputs = s.in_channels, outputs = s.out_channels;
        // The file has them as [kernel][kernel][in][out], or [kernel][kernel][channel].
        const Dims sizes = depthwise ? Dims{outputs, 1, 1, k, k} : Dims{outputs, inputs, k, k};
        const Dims strides =
            depthwise ? Dims{1, 1, 1, k * outputs, outputs} : Dims{1, outputs, k * inputs * outputs, inputs * outputs};
        Epilogue epilogue = this->epilogue(layer, depthwise ? 0b11 : 0b1);
        if (!layer.codes_out) {
            dnnl::post_ops relu;
#if DNNL_VERSION_MAJOR >= 3
            relu.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
#else
            relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
#endif
            epilogue.attributes.set_post_ops(relu);
        }
        const Memory::desc weights(sizes, Type::s8, Tag::any);
        const Memory out = image(s.out_side, s.out_channels, layer.codes_out ? Type::u8 : Type::f32);
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::convolution_forward::primitive_desc description(
            engine_, kForward, dnnl::algorithm::convolution_direct, in.get_desc(), weights, epilogue.bias.get_desc(),
            out.get_desc(), both(s.stride), both(s.pad), both(s.pad), epilogue.attributes);
#else
        const dnnl::convolution_forward::primitive_desc description(
            dnnl::convolution_forward::desc(kForward, dnnl::algorithm::convolution_direct, in.get_desc(), weights,
                                            epilogue.bias.get_desc(), out.get_desc(), both(s.stride), both(s.pad),
                                            both(s.pad)),
            epilogue.attributes, engine_);
#endif
        Step step{dnnl::convolution_forward(description),
                  {{DNNL_ARG_SRC, in},
                   {DNNL_ARG_WEIGHTS, best_weights(layer, {sizes, Type::s8, strides}, description.weights_desc())},
                   {DNNL_ARG_DST, out}}};
        epilogue.put_into(&step.arguments);
        steps_.push_back(std::move(step));
        return out;
    }

    Memory add_pool(const convnet::Layer& layer, const Memory& in) {
        const FileLayer& s = layer.shape;
        const bool maximum = s.kind == convnet::kPoolMax;
        const auto algorithm = maximum ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_include_padding;
        const Memory out = image(s.out_side, s.out_channels, maximum ? Type::u8 : Type::f32);
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::pooling_forward::primitive_desc description(engine_, kForward, algorithm, in.get_desc(),
                                                                out.get_desc(), both(s.stride), both(s.kernel), both(0),
                                                                both(s.pad), both(s.pad));
#else
        const dnnl::pooling_forward::primitive_desc description(
            dnnl::pooling_forward::desc(kForward, algorithm, in.get_desc(), out.get_desc(), both(s.stride),
                                        both(s.kernel), both(s.pad), both(s.pad)),
            engine_);
#endif
        steps_.push_back({dnnl::pooling_forward(description), {{DNNL_ARG_SRC, in}, {DNNL_ARG_DST, out}}});
        return out;
    }

    // Quantises the features, as the prologue of the chip's layer does, and multiplies them with the weights.
    Memory add_classifier(const convnet::Layer& layer, const Memory& in) {
        const FileLayer& s = layer.shape;
        const Memory codes = image(s.in_side, s.in_channels, Type::u8);
        dnnl::primitive_attr attributes;
#if DNNL_VERSION_MAJOR >= 3
        attributes.set_scales_mask(DNNL_ARG_SRC, 0);
#else
        attributes.set_output_scales(0, {s.in_factor});
#endif
        Step quantise{dnnl::reorder(dnnl::reorder::primitive_desc(in, codes, attributes)),
                      {{DNNL_ARG_FROM, in}, {DNNL_ARG_TO, codes}}};
#if DNNL_VERSION_MAJOR >= 3
        quantise.arguments.insert({DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, row(std::span(&s.in_factor, 1))});
#endif
        steps_.push_back(std::move(quantise));

        const Memory::dim images = images_, inputs = s.in_channels, outputs = s.out_channels;
        const Memory features({{images, inputs}, Type::u8, Tag::nc}, engine_, codes.get_data_handle());
        const Memory out({{images, outputs}, Type::f32, Tag::nc}, engine_);
        const Epilogue epilogue = this->epilogue(layer, 0b1);
        const Memory::desc weights({outputs, inputs}, Type::s8, Tag::any);
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::inner_product_forward::primitive_desc description(engine_, kForward, features.get_desc(), weights,
                                                                      epilogue.bias.get_desc(), out.get_desc(),
                                                                      epilogue.attributes);
#else
        const dnnl::inner_product_forward::primitive_desc description(
            dnnl::inner_product_forward::desc(kForward, features.get_desc(), weights, epilogue.bias.get_desc(),
                                              out.get_desc()),
            epilogue.attributes, engine_);
#endif
        Step step{dnnl::inner_product_forward(description),
                  {{DNNL_ARG_SRC, features},
                   {DNNL_ARG_WEIGHTS,
                    best_weights(layer, {{outputs, inputs}, Type::s8, Tag::io}, description.weights_desc())},
                   {DNNL_ARG_DST, out}}};
        epilogue.put_into(&step.arguments);
        steps_.push_back(std::move(step));
        codes_ = codes;
        return out;
    }

    const uint32_t images_, threads_;
    dnnl::engine engine_;
    dnnl::stream stream_;
    std::vector<Step> steps_;
    Memory pixels_, logits_;
    Memory codes_;  // of the features, whose memory has another shape in the classifier
};

}  // namespace

std::unique_ptr<NetworkPeer> make_onednn_network(const convnet::Model& model, uint32_t images, uint32_t threads) {
    return std::make_unique<OneDnnNetwork>(model, images, threads);
}

}  // namespace sidra::bench

#else

namespace sidra::bench {

std::unique_ptr<NetworkPeer> make_onednn_network(const convnet::Model&, uint32_t, uint32_t) { return nullptr; }

}  // namespace sidra::bench

#endif
