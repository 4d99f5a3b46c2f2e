// SPDX-License-Identifier: MIT
// What a network needs of the chip's crossbars, layer by layer.
#ifndef SIDRA_COMPILER_REPORT_H
#define SIDRA_COMPILER_REPORT_H

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sidra::compiler {

inline constexpr int64_t kChipCrossbars = 6400;

struct Layer {
    std::string name;
    int64_t rows, columns;  // of the matrix
    int64_t crossbars;      // of one copy, with two cells for each weight
    int64_t vectors;        // products of a run
    int64_t copies = 1;     // that make the slowest layer as fast as possible

    int64_t weights() const { return rows * columns; }
    // Products one after another.
    int64_t steps() const { return (vectors + copies - 1) / copies; }
};

// What the host computes, because the chip cannot.
struct OnHost {
    std::string name;      // of the node
    std::string function;  // libsidra/model/host.h

    bool operator==(const OnHost&) const = default;
};

struct Report {
    std::vector<Layer> layers;
    double seconds = 0;  // that finding the copies took

    int64_t crossbars() const;  // of one copy of each layer
    int64_t steps() const;      // of the slowest layer
    // The share of the crossbars' cells that one copy of each layer uses.
    double utilisation() const;
    std::string text() const;  // a table
};

// The layers of a function behind xnn-weights (or xnn-group), with as many copies as the chip has room for.
Report examine(mlir::func::FuncOp function);
// What runs on the host, each node once.
std::vector<OnHost> on_host(mlir::ModuleOp module);
// A table for each function of the module, and the nodes on the host.
std::string explain(mlir::ModuleOp module);

// Gives each layer copies, so that the largest number of steps is as small as `crossbars` allow: the smallest T with
// sum of crossbars(l) * ceil(vectors(l) / T) <= crossbars, by bisection. False: not even one copy of each fits.
bool replicate(std::span<Layer> layers, int64_t crossbars);

}  // namespace sidra::compiler

#endif
