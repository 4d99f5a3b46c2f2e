// SPDX-License-Identifier: MIT
// Which layers get copies on more crossbars: those in which another crossbar removes the most noise of the outputs.
#ifndef SIDRA_COMPILER_COPIES_H
#define SIDRA_COMPILER_COPIES_H

#include <mlir/IR/BuiltinOps.h>

#include <span>
#include <vector>

#include "calibrate.h"
#include "store.h"

namespace sidra::compiler {

// Layers that share one matrix, and so their copies.
struct Copied {
    double noise = 0;       // of the outputs, that errors of one copy cause: mean squares add up
    int64_t crossbars = 0;  // of one copy
    int copies = 1;
};

// Gives one copy after another to the layers where it removes the most noise for each of its crossbars: n copies leave
// an n-th of the noise. Together they take at most so many crossbars.
void share_out(std::span<Copied> layers, int64_t crossbars);

// The copies of each layer of the module's first function, whose layers have their codes: all together take as many
// crossbars as `calibration.copies` of each would, but no more than a chip has.
std::vector<int> choose_copies(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization);

}  // namespace sidra::compiler

#endif
