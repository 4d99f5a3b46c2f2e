// SPDX-License-Identifier: MIT
#include "passes.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Pass/PassRegistry.h>
#include <mlir/Transforms/Passes.h>

namespace sidra::compiler {

void build_layers_pipeline(mlir::OpPassManager& passes) {
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    passes.addPass(make_layout_pass());
    passes.addPass(make_simplify_pass());
    passes.addPass(make_weights_pass());
}

void build_calls_pipeline(mlir::OpPassManager& passes) {
    passes.addPass(make_quantise_pass());
    passes.addPass(make_expand_pass());
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    passes.addPass(make_group_pass());
    passes.addNestedPass<mlir::func::FuncOp>(make_lower_pass());
    passes.addPass(mlir::createCSEPass());
    passes.addNestedPass<mlir::func::FuncOp>(make_plan_pass());
}

void register_passes() {
    mlir::registerPass([] { return make_layout_pass(); });
    mlir::registerPass([] { return make_simplify_pass(); });
    mlir::registerPass([] { return make_weights_pass(); });
    mlir::registerPass([] { return make_quantise_pass(); });
    mlir::registerPass([] { return make_expand_pass(); });
    mlir::registerPass([] { return make_group_pass(); });
    mlir::registerPass([] { return make_lower_pass(); });
    mlir::registerPass([] { return make_plan_pass(); });
    mlir::registerTransformsPasses();
}

}  // namespace sidra::compiler
