// SPDX-License-Identifier: MIT
// Runs of the network's layers with the samples, in which further values are outputs.
#ifndef SIDRA_COMPILER_PROBE_H
#define SIDRA_COMPILER_PROBE_H

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>

#include <functional>
#include <span>
#include <vector>

#include "calibrate.h"
#include "columns.h"
#include "observed_network.h"
#include "store.h"

namespace sidra::compiler {

using Layers = std::vector<mlir::Operation*>;

struct Codes {
    Range range;
    int bits = 8;
};

// Gives the input of a layer these codes.
void set(mlir::Operation* layer, const Codes& codes);

// Adds to the result of a layer what rounding took away from its weights (`rest`): what uses it then sees weights of 16
// bits. Returns what is added.
mlir::Value add_rest(mlir::Operation* layer, Store& store);

class Probe {
   public:
    Probe(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization);

    Layers layers() { return layers_in(observed_.function()); }

    // Which of the further outputs a value is.
    size_t output(mlir::Value value);
    // Of the network's own outputs.
    std::vector<size_t> own_outputs();
    // What uses a value, as an output, too, uses one that is computed from it instead.
    void replace(mlir::Value value, mlir::Value by);

    // Runs it with up to so many samples, and gives the further outputs of each run.
    using Look = std::function<void(const std::vector<std::span<const float>>&)>;
    void run(size_t most, const Look& look, sidra_level level = SIDRA_LEVEL_FAST, const CallsOptions& calls = {});

   private:
    ObservedNetwork observed_;
    const Calibration& calibration_;
    const int optimization_;
    llvm::SmallVector<mlir::Value> results_;
    llvm::DenseMap<mlir::Value, size_t> places_;
};

}  // namespace sidra::compiler

#endif
