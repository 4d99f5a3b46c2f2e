// SPDX-License-Identifier: MIT
// How exact each layer of a network is, with all errors of the layers before it.
#ifndef SIDRA_COMPILER_ACCURACY_H
#define SIDRA_COMPILER_ACCURACY_H

#include <mlir/IR/BuiltinOps.h>

#include <vector>

#include "calibrate.h"
#include "measured.h"
#include "store.h"

namespace sidra::compiler {

// Of the module's first function, whose layers have their codes. exact: ranges of 16 bits for each layer.
std::vector<LayerAccuracy> measure_accuracy(mlir::ModuleOp module, Store& store, const Calibration& calibration,
                                            int optimization, const std::vector<Range>& exact);

}  // namespace sidra::compiler

#endif
