// SPDX-License-Identifier: MIT
// The dialect `xbar` (xbar.td).
#ifndef SIDRA_COMPILER_XBAR_H
#define SIDRA_COMPILER_XBAR_H

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpDefinition.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <cstdint>
#include <optional>

#include "program/program_text.h"
#include "sidra_cmd.h"

#include "xbar_dialect.h.inc"
#include "xbar_enums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "xbar_types.h.inc"

#define GET_ATTRDEF_CLASSES
#include "xbar_attributes.h.inc"

#define GET_OP_CLASSES
#include "xbar_ops.h.inc"

namespace sidra::xbar {

// The element type of the chip for a type of MLIR; none if the chip has none.
std::optional<uint8_t> element(mlir::Type type);

// The instructions of a program, or the first error of its text.
program::Assembly assemble(mlir::ArrayAttr lines);

// Whether an instruction of a program stores into an operand.
bool stores(uint8_t op);

// Whether a call may write into a buffer that it has.
bool writes(mlir::Operation* call, mlir::Value buffer);

}  // namespace sidra::xbar

#endif
