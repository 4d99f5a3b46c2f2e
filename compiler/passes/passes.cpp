// SPDX-License-Identifier: MIT
#include "passes.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Pass/PassRegistry.h>
#include <mlir/Transforms/Passes.h>

namespace sidra::compiler {

namespace {

void add_cleaning(mlir::OpPassManager& passes) {
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
}

}  // namespace

void build_layers_pipeline(mlir::OpPassManager& passes, int optimization, const LayersOptions& options) {
    const bool fewer = optimization >= 1, other = optimization >= 2;  // calls; arithmetic
    if (fewer) add_cleaning(passes);
    if (fewer) passes.addPass(make_layout_pass());
    if (other) passes.addPass(make_simplify_pass());
    if (other && options.equalise) passes.addPass(make_equalise_pass());
    passes.addPass(make_weights_pass({.fold = other, .merge = fewer, .rest = options.rest}));
}

void build_calls_pipeline(mlir::OpPassManager& passes, int optimization, const CallsOptions& options) {
    const bool fewer = optimization >= 1;
    passes.addPass(make_quantise_pass());
    passes.addPass(make_average_pass(options.copies));
    passes.addPass(make_vote_pass(options.vote));
    if (options.predistort) passes.addPass(make_predistort_pass());
    passes.addPass(make_expand_pass());
    if (fewer) add_cleaning(passes);
    passes.addPass(make_group_pass(fewer));
    passes.addNestedPass<mlir::func::FuncOp>(make_lower_pass());
    if (fewer) passes.addPass(mlir::createCSEPass());
    if (fewer) passes.addNestedPass<mlir::func::FuncOp>(make_schedule_pass());
}

void build_memory_pipeline(mlir::OpPassManager& passes, uint32_t chips) {
    passes.addPass(make_stages_pass(chips));
    passes.addNestedPass<mlir::func::FuncOp>(make_plan_pass());
}

void register_passes() {
    mlir::registerPass([] { return make_layout_pass(); });
    mlir::registerPass([] { return make_simplify_pass(); });
    mlir::registerPass([] { return make_equalise_pass(); });
    mlir::registerPass([] { return make_weights_pass(); });
    mlir::registerPass([] { return make_quantise_pass(); });
    mlir::registerPass([] { return make_average_pass(); });
    mlir::registerPass([] { return make_vote_pass(); });
    mlir::registerPass([] { return make_predistort_pass(); });
    mlir::registerPass([] { return make_expand_pass(); });
    mlir::registerPass([] { return make_group_pass(); });
    mlir::registerPass([] { return make_lower_pass(); });
    mlir::registerPass([] { return make_schedule_pass(); });
    mlir::registerPass([] { return make_stages_pass(); });
    mlir::registerPass([] { return make_plan_pass(); });
    mlir::registerPass([] { return make_place_pass(); });
    mlir::registerTransformsPasses();
}

}  // namespace sidra::compiler
