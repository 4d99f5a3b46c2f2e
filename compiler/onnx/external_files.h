// SPDX-License-Identifier: MIT
// The files beside an ONNX model that its tensors are in, found without reading the tensors that are in the model
// itself.
#ifndef SIDRA_COMPILER_ONNX_EXTERNAL_FILES_H
#define SIDRA_COMPILER_ONNX_EXTERNAL_FILES_H

#include <optional>
#include <set>
#include <string>

#include "values/store.h"

namespace sidra::compiler {

// As the model names them: relative to its folder, if it is right. nullopt: the bytes are no model.
std::optional<std::set<std::string>> external_files(Bytes model);

}  // namespace sidra::compiler

#endif
