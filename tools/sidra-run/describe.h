// SPDX-License-Identifier: MIT
// What a compiled model takes, gives and needs, in words.
#ifndef SIDRA_RUN_DESCRIBE_H
#define SIDRA_RUN_DESCRIBE_H

#include <string>

#include "array.h"
#include "sidra/sidra.hpp"

namespace sidra::run {

Shape shape_of(const sidra_model_tensor& tensor);

// Text of a model for a terminal: without control characters.
std::string printable(std::string_view text);

// All of it, in several lines.
std::string describe(const Model& model, const sidra_device_info& device);
// Only the inputs of all variants, a line for each.
std::string describe_inputs(const Model& model);

}  // namespace sidra::run

#endif
