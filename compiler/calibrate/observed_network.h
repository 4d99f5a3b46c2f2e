// SPDX-License-Identifier: MIT
// A copy of the network with further outputs, which runs with the samples on an embedded chip.
#ifndef SIDRA_COMPILER_OBSERVED_NETWORK_H
#define SIDRA_COMPILER_OBSERVED_NETWORK_H

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/Pass/PassManager.h>

#include <functional>

#include "samples.h"
#include "store.h"

namespace sidra::compiler {

struct Calibration;

class ObservedNetwork {
   public:
    // Of the module's first function, whose size the samples have.
    ObservedNetwork(mlir::ModuleOp module, Store& store);

    mlir::func::FuncOp function() { return function_; }
    mlir::Operation* end() { return function_.getBody().front().getTerminator(); }
    // How many outputs the network has of its own: the further ones come behind them.
    size_t own_outputs() const { return own_; }

    // Runs the passes and those for memory, and then up to so many samples.
    void run(mlir::PassManager& passes, const Calibration& calibration, size_t most, sidra_level level,
             const std::function<void(const Model&)>& look);

   private:
    mlir::OwningOpRef<mlir::ModuleOp> module_;
    Store& store_;
    mlir::func::FuncOp function_;
    size_t own_ = 0;
};

}  // namespace sidra::compiler

#endif
