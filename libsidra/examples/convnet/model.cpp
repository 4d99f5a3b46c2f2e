// SPDX-License-Identifier: MIT
#include "model.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>
#include <string_view>

#include "common/input_file.h"

namespace sidra::convnet {
namespace {

constexpr size_t kFileMax = size_t{64} << 20;
constexpr uint32_t kLayersMax = 64, kChannelsMax = 1024, kKernelMax = 8, kDigitsMax = 65536;

class Reader {
   public:
    explicit Reader(const std::string& path) : path_(path), bytes_(tools::read_file(path, kFileMax).bytes) {}

    [[noreturn]] void reject(std::string_view why) const {
        throw std::runtime_error(fmt::format(
            "{} is not a convolutional network that this program can use: {}; libsidra/examples/convnet/train.py "
            "writes one",
            path_, why));
    }

    template <class T>
    std::vector<T> values(size_t at, size_t count) const {
        if (at > bytes_.size() || count > (bytes_.size() - at) / sizeof(T))
            reject("it is shorter than its header says");
        std::vector<T> values(count);
        if (count != 0) std::memcpy(values.data(), bytes_.data() + at, count * sizeof(T));
        return values;
    }

   private:
    std::string path_;
    std::vector<uint8_t> bytes_;
};

// Why a layer cannot follow `before`; "": it can.
std::string_view problem(const FileLayer& layer, const FileLayer* before, bool last) {
    const auto within = [](uint32_t value, uint32_t least, uint32_t most) { return value >= least && value <= most; };
    if (layer.kind > kClassifier) return "its kind is unknown";
    if (!within(layer.kernel, 1, kKernelMax) || !within(layer.stride, 1, kKernelMax) || layer.pad >= layer.kernel)
        return "its windows are out of range";
    if (!within(layer.out_channels, 1, kChannelsMax)) return "its channels are out of range";
    if (layer.in_side != (before ? before->out_side : kSide) ||
        layer.in_channels != (before ? before->out_channels : 1))
        return "its input is not the output of the layer before";
    if (layer.in_side + 2 * layer.pad < layer.kernel ||
        layer.out_side != (layer.in_side + 2 * layer.pad - layer.kernel) / layer.stride + 1)
        return "its output does not have the size that follows from its windows";
    if (!within(static_cast<uint32_t>(layer.zero + 128), 0, 255)) return "its code of 0 is no code";
    const bool pool = layer.kind == kPoolMax || layer.kind == kPoolAverage;
    if (pool == (layer.weights != 0)) return pool ? "a pooling has weights" : "it has no weights";
    if ((pool || layer.kind == kDepthwise) && layer.in_channels != layer.out_channels)
        return "it changes the number of channels";
    if (layer.kind == kDepthwise && layer.in_channels % kGroup != 0) return "its channels are no whole groups";
    if (layer.kind == kPoolMax && before == nullptr) return "its maximum is not of codes";
    if (last != (layer.kind == kClassifier)) return "the classifier is not the last layer";
    if (last && (layer.in_side != 1 || layer.kernel != 1 || layer.pad != 0 || layer.out_channels != kClasses))
        return "it does not classify one pixel into 10 classes";
    const bool after_average = before != nullptr && before->kind == kPoolAverage;
    if (after_average != last) return "an average is not before the classifier, and nowhere else";
    if (layer.kind == kPoolAverage && (before == nullptr || before->kind == kPoolMax)) return "its average is of codes";
    return {};
}

}  // namespace

Model load_model(const std::string& path) {
    const Reader reader(path);
    const FileHeader header = reader.values<FileHeader>(0, 1)[0];
    if (std::string_view(header.magic, sizeof(header.magic)) != kMagic)
        reader.reject(fmt::format("it does not begin with {}", kMagic));
    if (header.version != kVersion) reader.reject(fmt::format("its version is {}, not {}", header.version, kVersion));
    if (header.layers < 1 || header.layers > kLayersMax) reader.reject(fmt::format("it has {} layers", header.layers));
    if (header.digits < 1 || header.digits > kDigitsMax)
        reader.reject(fmt::format("it is for {} test digits", header.digits));
    const auto shapes = reader.values<FileLayer>(sizeof(FileHeader), header.layers);

    Model model{header.digits, header.right, header.logits_hash, {}};
    for (size_t n = 0; n < shapes.size(); n++) {
        const FileLayer& shape = shapes[n];
        const bool last = n + 1 == shapes.size();
        const std::string_view why = problem(shape, n == 0 ? nullptr : &shapes[n - 1], last);
        if (!why.empty()) reader.reject(fmt::format("layer {}: {}", n, why));
        Layer layer{shape, {}, {}, {}, shape.kind < kPoolAverage, shape.kind < kPoolAverage};
        if (!last && shapes[n + 1].kind == kPoolAverage) layer.codes_out = false;
        if (shape.weights != 0) {
            const size_t inputs = shape.kind == kDepthwise ? 1 : shape.in_channels;
            layer.weights =
                reader.values<int8_t>(shape.weights, size_t{shape.kernel} * shape.kernel * inputs * shape.out_channels);
            layer.factors = reader.values<float>(shape.factors, shape.out_channels);
            layer.offsets = reader.values<float>(shape.offsets, shape.out_channels);
        }
        model.layers.push_back(std::move(layer));
    }
    return model;
}

}  // namespace sidra::convnet
