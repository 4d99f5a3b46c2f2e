// SPDX-License-Identifier: MIT
// The passes of the compiler. They find the values of constants in the store of the context (xnn::store_of()).
// docs/compiler.md says what each one does and in which order they run.
#ifndef SIDRA_COMPILER_PASSES_H
#define SIDRA_COMPILER_PASSES_H

#include <mlir/Pass/Pass.h>
#include <mlir/Pass/PassManager.h>

#include <memory>

#include "placement/chip_map.h"

namespace sidra::compiler {

// xnn-layout: transpositions move until they cancel each other.
std::unique_ptr<mlir::Pass> make_layout_pass();
// xnn-simplify: several operations become one that the chip has.
std::unique_ptr<mlir::Pass> make_simplify_pass();
// xnn-equalise: rows of weights become about as large as each other, where the layer before can make up for it.
std::unique_ptr<mlir::Pass> make_equalise_pass();
// xnn-weights: products with constant matrices become layers of weights on crossbars.
struct WeightsOptions {
    bool fold = true;   // what follows a layer by column becomes part of it
    bool merge = true;  // layers with the same input become one
    bool rest = false;  // layers keep what rounding took away from their weights
};
std::unique_ptr<mlir::Pass> make_weights_pass(const WeightsOptions& options = {});
// xnn-quantise: layers whose input has a range get codes, which the operations before compute.
std::unique_ptr<mlir::Pass> make_quantise_pass();
// xnn-average: layers become the mean of so many copies.
std::unique_ptr<mlir::Pass> make_average_pass(int copies = 1);
// xnn-vote: this share of each layer's columns, those whose errors cost most, become the median of three copies.
std::unique_ptr<mlir::Pass> make_vote_pass(double share = 0);
int64_t voting_columns(double share, int64_t columns);
// xnn-predistort: weights make up for the loss in the wires of the crossbars on which they will be.
std::unique_ptr<mlir::Pass> make_predistort_pass();
// xnn-expand: what the chip has no call for becomes several operations.
std::unique_ptr<mlir::Pass> make_expand_pass();
// xnn-group: operations on the same rows become one group. Without `join` each one is a group of its own.
std::unique_ptr<mlir::Pass> make_group_pass(bool join = true);
// xnn-to-xbar: groups and other operations become calls on memory.
std::unique_ptr<mlir::Pass> make_lower_pass();
// xbar-schedule: calls get an order that needs less memory.
std::unique_ptr<mlir::Pass> make_schedule_pass();
// xbar-stages: calls become stages for so many chips; 0: as few as hold the matrices.
std::unique_ptr<mlir::Pass> make_stages_pass(uint32_t chips = 1);
// xbar-plan: memory gets its place.
std::unique_ptr<mlir::Pass> make_plan_pass();
// xbar-place: matrices get crossbars that are not in use and have fewer bad cells than so many. Without arguments the
// pass has options.
std::unique_ptr<mlir::Pass> make_place_pass(const ChipMap& map, uint32_t bad_cells);
std::unique_ptr<mlir::Pass> make_place_pass();

// The passes of a level (compile.h), in order: up to the layers, up to the calls in their order, and up to their
// memory.
struct LayersOptions {
    bool equalise = true;  // at level 2
    bool rest = false;     // as WeightsOptions
};
struct CallsOptions {
    int copies = 1;           // of each layer that the calibration has not given some
    double vote = 0;          // the share of columns of which the median of three counts
    bool predistort = false;  // weights make up for the loss in wires
};
void build_layers_pipeline(mlir::OpPassManager& passes, int optimization, const LayersOptions& options = {});
void build_calls_pipeline(mlir::OpPassManager& passes, int optimization, const CallsOptions& options = {});
// chips: 0: as few as hold the matrices.
void build_memory_pipeline(mlir::OpPassManager& passes, uint32_t chips = 1);

// For the command line of sidra-opt.
void register_passes();

}  // namespace sidra::compiler

#endif
