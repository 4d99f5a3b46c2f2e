// SPDX-License-Identifier: MIT
// Checks of a manifest that no call of libsidra makes: numbers of parts, ranges of the file, places, enumerations.
#ifndef SIDRA_MODEL_CHECK_H
#define SIDRA_MODEL_CHECK_H

#include <cstdint>
#include <string>

#include "model_generated.h"

namespace sidra {

// Bytes of a file.
struct FileRange {
    uint64_t begin, end;
};

// What is wrong with a manifest, and where ("variant 0, call 12 '/conv1/Conv': ..."); "": nothing. FlatBuffers has
// verified it.
std::string check_manifest(const format::Model& model, uint64_t file_size, const FileRange& manifest);

// Bytes of an input or output that was checked.
uint64_t tensor_bytes(const format::Tensor& tensor);

}  // namespace sidra

#endif
