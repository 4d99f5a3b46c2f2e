// SPDX-License-Identifier: MIT
// The passes of the compiler. docs/compiler.md says what each one does and in which order they run.
#ifndef SIDRA_COMPILER_PASSES_H
#define SIDRA_COMPILER_PASSES_H

#include <mlir/Pass/Pass.h>
#include <mlir/Pass/PassManager.h>

#include <memory>

#include "store.h"

namespace sidra::compiler {

// xnn-weights: products with constant matrices become layers of weights on crossbars.
std::unique_ptr<mlir::Pass> make_weights_pass(std::shared_ptr<Store> store);
// xnn-expand: what the chip has no call for becomes several operations.
std::unique_ptr<mlir::Pass> make_expand_pass();
// xnn-group: operations on the same rows become one group.
std::unique_ptr<mlir::Pass> make_group_pass();
// xnn-to-xbar: groups and other operations become calls on memory.
std::unique_ptr<mlir::Pass> make_lower_pass(std::shared_ptr<Store> store);
// xbar-plan: memory gets its place.
std::unique_ptr<mlir::Pass> make_plan_pass();

// All of them, in order.
void build_pipeline(mlir::OpPassManager& passes, const std::shared_ptr<Store>& store);

// For the command line of sidra-opt. The passes share one store.
void register_passes(const std::shared_ptr<Store>& store);

}  // namespace sidra::compiler

#endif
