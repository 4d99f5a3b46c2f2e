// SPDX-License-Identifier: MIT
// What a network needs of the chip's crossbars, layer by layer.
#ifndef SIDRA_COMPILER_REPORT_H
#define SIDRA_COMPILER_REPORT_H

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sidra::compiler {

inline constexpr int64_t kChipCrossbars = 6400;

// What products take of the chip's power.
struct Power {
    int64_t product_pj;  // of one crossbar
    int64_t step_pj;     // that can be spent in the time of one product
};
extern const Power kChipPower;  // by the chip's cost model: 3 W feed 3.4 crossbars at a time
inline constexpr Power kUnlimitedPower = {0, 1};

struct Layer {
    std::string name;
    int64_t rows, columns;   // of the matrix
    int64_t crossbars;       // of one copy, with two cells for each weight
    int64_t vectors;         // products of a run
    int64_t copies = 1;      // that make the slowest layer as fast as possible
    int64_t fed_copies = 1;  // the fewest that are as fast as power allows

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
    int64_t fed_steps = 0;  // of the slowest layer with `fed_copies`, and of the energy of all layers
    double seconds = 0;     // that finding the copies took

    int64_t crossbars() const;      // of one copy of each layer
    int64_t fed_crossbars() const;  // of `fed_copies` of each
    int64_t steps() const;          // of the slowest layer
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

// Behind xbar-stages: a table of the stages of the first variant; "" if there is one chip.
std::string explain_stages(mlir::ModuleOp module);

// The fewest steps in which all products of a run can be made, when each layer has copies of its own: the smallest T
// with sum of crossbars(l) * ceil(vectors(l) / T) <= crossbars, and sum of crossbars(l) * vectors(l) * product_pj <= T
// * step_pj, by bisection. nullopt: not even one copy of each fits.
std::optional<int64_t> fewest_steps(std::span<const Layer> layers, int64_t crossbars, const Power& power);

}  // namespace sidra::compiler

#endif
