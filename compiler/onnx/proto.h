// SPDX-License-Identifier: MIT
// The messages of ONNX.
#ifndef SIDRA_COMPILER_ONNX_PROTO_H
#define SIDRA_COMPILER_ONNX_PROTO_H

#include <onnx/onnx_pb.h>

#include <string>
#include <string_view>

namespace sidra::compiler {

// A name of a file, in quotes: shortened, and without characters that a terminal would obey.
std::string in_quotes(std::string_view name);

}  // namespace sidra::compiler

#endif
