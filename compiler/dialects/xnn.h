// SPDX-License-Identifier: MIT
// The dialect `xnn` (xnn.td).
#ifndef SIDRA_COMPILER_XNN_H
#define SIDRA_COMPILER_XNN_H

#include <mlir/Bytecode/BytecodeOpInterface.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/BuiltinTypes.h>
#include <mlir/IR/Dialect.h>
#include <mlir/IR/OpDefinition.h>
#include <mlir/IR/OpImplementation.h>
#include <mlir/Interfaces/ControlFlowInterfaces.h>
#include <mlir/Interfaces/InferTypeOpInterface.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <cstdint>

#include "values/store.h"

#include "xnn_dialect.h.inc"
#include "xnn_enums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "xnn_attributes.h.inc"

#define GET_OP_CLASSES
#include "xnn_ops.h.inc"

namespace sidra::xnn {

inline compiler::Store& store_of(mlir::MLIRContext* context) {
    return context->getOrLoadDialect<XnnDialect>()->store();
}

}  // namespace sidra::xnn

#endif
