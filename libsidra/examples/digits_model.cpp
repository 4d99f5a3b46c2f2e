// SPDX-License-Identifier: MIT
#include "digits_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace sidra::digits {
namespace {

constexpr std::string_view kMagic = "SIDRAMLP";
constexpr uint32_t kVersion = 1;
constexpr uint32_t kLayersMax = 64, kSizeMax = 65536, kDigitsMax = 65536;

// Reads values from the start of a file's bytes.
class Reader {
   public:
    explicit Reader(const std::string& path) : path_(path) {
        std::error_code error;
        if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
            reject("it is not a regular file");  // such as a pipe, which may have no end
        std::ifstream file(path, std::ios::binary);
        if (!file) throw std::runtime_error(fmt::format("cannot open the model {}: {}", path, std::strerror(errno)));
        bytes_.assign(std::istreambuf_iterator<char>(file), {});
        if (file.bad()) throw std::runtime_error(fmt::format("cannot read the model {}", path));
    }

    [[noreturn]] void reject(std::string_view why) const {
        throw std::runtime_error(fmt::format("{} is not a digits model that this program can use: {}", path_, why));
    }

    template <class T>
    std::vector<T> take(size_t count) {
        if (count > (bytes_.size() - at_) / sizeof(T)) reject("it is shorter than its header says");
        std::vector<T> values(count);
        std::memcpy(values.data(), bytes_.data() + at_, count * sizeof(T));
        at_ += count * sizeof(T);
        return values;
    }

    bool at_end() const { return at_ == bytes_.size(); }

   private:
    std::string path_;
    std::vector<char> bytes_;
    size_t at_ = 0;
};

}  // namespace

Model load_model(const std::string& path) {
    Reader reader(path);
    const auto magic = reader.take<char>(kMagic.size());
    if (std::string_view(magic.data(), magic.size()) != kMagic) reader.reject("it does not begin with SIDRAMLP");
    const auto header = reader.take<uint32_t>(4);
    if (header[0] != kVersion) reader.reject(fmt::format("its version is {}, not {}", header[0], kVersion));
    if (header[1] < 1 || header[1] > kLayersMax) reader.reject(fmt::format("it has {} layers", header[1]));
    if (header[2] < 1 || header[2] > kDigitsMax) reader.reject(fmt::format("it has {} digits", header[2]));

    Model model;
    model.digits = header[2];
    model.logits_hash = header[3];
    const auto sizes = reader.take<uint32_t>(header[1] + 1);
    const auto in_scales = reader.take<float>(header[1]);
    if (sizes[0] != kPixels)
        reader.reject(fmt::format("it takes {} inputs, an image has {} pixels", sizes[0], kPixels));
    for (size_t i = 0; i < in_scales.size(); i++) {
        if (sizes[i + 1] < 1 || sizes[i + 1] > kSizeMax)
            reader.reject(fmt::format("layer {} has {} outputs", i, sizes[i + 1]));
        if (!(in_scales[i] > 0)) reader.reject(fmt::format("the input scale of layer {} is {}", i, in_scales[i]));
        Layer layer{sizes[i], sizes[i + 1], in_scales[i], {}, {}};
        layer.weights = reader.take<float>(size_t{layer.inputs} * layer.outputs);
        layer.bias = reader.take<float>(layer.outputs);
        model.layers.push_back(std::move(layer));
    }
    model.pixels = reader.take<uint8_t>(size_t{model.digits} * kPixels);
    model.labels = reader.take<uint8_t>(model.digits);
    if (!reader.at_end()) reader.reject("it is longer than its header says");
    return model;
}

std::vector<int32_t> float_answers(const Model& model) {
    std::vector<int32_t> answers;
    std::vector<float> values, sums;
    for (uint32_t digit = 0; digit < model.digits; digit++) {
        values.clear();
        for (const uint8_t pixel : model.image(digit)) values.push_back(static_cast<float>(pixel) / kPixelMax);
        for (const Layer& layer : model.layers) {
            if (&layer != &model.layers.front()) {
                for (float& value : values) value = std::max(value, 0.0f);
            }
            sums = layer.bias;
            for (size_t k = 0; k < layer.inputs; k++) {
                for (size_t n = 0; n < layer.outputs; n++) sums[n] += values[k] * layer.weights[k * layer.outputs + n];
            }
            values.swap(sums);
        }
        answers.push_back(static_cast<int32_t>(std::max_element(values.begin(), values.end()) - values.begin()));
    }
    return answers;
}

uint32_t count_right(const Model& model, std::span<const int32_t> answers) {
    uint32_t right = 0;
    for (size_t i = 0; i < answers.size(); i++) right += answers[i] == model.labels[i];
    return right;
}

uint32_t fnv1a(std::span<const float> values) {
    uint32_t hash = 0x811c9dc5;
    for (const std::byte byte : std::as_bytes(values)) hash = (hash ^ static_cast<uint32_t>(byte)) * 0x01000193;
    return hash;
}

}  // namespace sidra::digits
