// SPDX-License-Identifier: MIT
// Constants of a module as arrays of the host, whether their values lie in the text or in the store.
#ifndef SIDRA_COMPILER_READ_H
#define SIDRA_COMPILER_READ_H

#include <optional>
#include <vector>

#include "evaluate.h"
#include "store.h"
#include "xnn.h"

namespace sidra::compiler {

// The bytes of a constant as they lie in memory: dense, row-major, in the types of the chip. None: not a constant, or
// its values are not in the store.
std::optional<std::vector<std::byte>> read_bytes(mlir::Attribute value, mlir::RankedTensorType type,
                                                 const Store& store);

// The elements in the bytes of a dense, row-major array of this type.
xnn::Elements elements_from(Bytes bytes, mlir::RankedTensorType type);

// The elements of a float constant, or of one that views (reshape, transpose) and casts make of it.
std::optional<std::vector<float>> read_floats(mlir::Value value, const Store& store);

// Bytes of an element in memory.
uint64_t element_bytes(mlir::Type type);

// A constant with these elements, whose bytes go to the store.
mlir::Value store_constant(mlir::OpBuilder& builder, mlir::Location location, Store& store, llvm::StringRef name,
                           mlir::RankedTensorType type, std::vector<std::byte> bytes);

}  // namespace sidra::compiler

#endif
