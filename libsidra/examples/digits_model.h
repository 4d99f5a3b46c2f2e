// SPDX-License-Identifier: MIT
// The network and the test digits of the digits example (digits/README.md), and the network's float answers on the CPU.
#ifndef SIDRA_EXAMPLES_DIGITS_MODEL_H
#define SIDRA_EXAMPLES_DIGITS_MODEL_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sidra::digits {

inline constexpr uint32_t kSide = 8;                // an image is 8 x 8 pixels
inline constexpr uint32_t kPixels = kSide * kSide;  // of 0..16
inline constexpr uint32_t kPixelMax = 16;

struct Layer {
    uint32_t inputs = 0, outputs = 0;
    float in_scale = 0;          // value of one step of the 8-bit input codes
    std::vector<float> weights;  // inputs x outputs
    std::vector<float> bias;     // outputs
};

struct Model {
    std::vector<Layer> layers;
    uint32_t digits = 0;
    uint32_t logits_hash = 0;     // fnv1a() of the logits of the quantised network, computed with NumPy
    std::vector<uint8_t> pixels;  // digits x kPixels
    std::vector<uint8_t> labels;  // digits

    uint32_t classes() const { return layers.back().outputs; }
    std::span<const uint8_t> image(uint32_t digit) const { return std::span(pixels).subspan(digit * kPixels, kPixels); }
};

// Throws std::runtime_error with a message that names the file.
Model load_model(const std::string& path);

// The float network's answers, computed with plain loops.
std::vector<int32_t> float_answers(const Model& model);

uint32_t count_right(const Model& model, std::span<const int32_t> answers);

// 32-bit FNV-1a of the bytes of the values, to compare results bit by bit.
uint32_t fnv1a(std::span<const float> values);

}  // namespace sidra::digits

#endif
