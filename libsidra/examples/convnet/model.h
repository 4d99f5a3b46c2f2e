// SPDX-License-Identifier: MIT
// The convolutional network of a model file (convnet.h), checked: whoever has a Model can compute it.
#ifndef SIDRA_EXAMPLES_CONVNET_MODEL_H
#define SIDRA_EXAMPLES_CONVNET_MODEL_H

#include <cstdint>
#include <string>
#include <vector>

#include "convnet.h"

namespace sidra::convnet {

struct Layer {
    FileLayer shape;
    std::vector<int8_t> weights;  // as in the file; poolings have none
    std::vector<float> factors, offsets;
    bool codes_in, codes_out;  // else f32
};

struct Model {
    uint32_t digits = 0, right = 0, logits_hash = 0;  // as in FileHeader
    std::vector<Layer> layers;
};

// Throws std::runtime_error with a message that names the file.
Model load_model(const std::string& path);

}  // namespace sidra::convnet

#endif
