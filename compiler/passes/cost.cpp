// SPDX-License-Identifier: MIT
#include "cost.h"

#include <llvm/ADT/TypeSwitch.h>

#include <algorithm>
#include <numeric>

#include "cost_model.h"
#include "verify.h"

namespace sidra::compiler {
namespace {

using chip::Cost;
using management::kClockNominal;

uint64_t product(llvm::ArrayRef<int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), uint64_t{1},
                           [](uint64_t product, int64_t size) { return product * static_cast<uint64_t>(size); });
}
uint64_t product(llvm::ArrayRef<uint32_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), uint64_t{1}, std::multiplies<>());
}

// Of each element, in the prologue and behind it.
struct Program {
    uint64_t prologue = 0, rest = 0;
};

// As the chip's verifier counts them: what works on scalars costs nothing, columns that are not dense much.
Program program_of(mlir::ArrayAttr lines, mlir::ArrayAttr arrays) {
    using vector::Kind;
    const program::Assembly assembly = xbar::assemble(lines);
    const auto& code = std::get<program::Code>(assembly);  // the verifier has assembled it
    Program costs;
    for (size_t i = 0; i < code.instructions.size(); i++) {
        const sidra_vector_instruction& instruction = code.instructions[i];
        const vector::Rule& rule = vector::rule(instruction.op);
        const bool stores = rule.kind == Kind::kStore;
        const bool columns = rule.kind == Kind::kReduction || rule.kind == Kind::kScatter ||
                             vector::is_vector(stores ? instruction.a : instruction.dst);
        if (!columns) continue;
        uint64_t cost = rule.cost;
        if ((stores || rule.kind == Kind::kLoad) && instruction.operand < arrays.size()) {
            const auto array = mlir::cast<xbar::ArrayAttr>(arrays[instruction.operand]);
            const uint64_t stride = array.getStrides().back();
            if (stride != 0 && stride != vector::element_size(*xbar::element(array.getType())))
                cost += SIDRA_VECTOR_COST_ELEMENTS - 1;
        }
        (i < code.prologue ? costs.prologue : costs.rest) += cost;
    }
    costs.rest = std::max<uint64_t>(costs.rest, 1);
    return costs;
}

}  // namespace

uint64_t crossbars_of(uint64_t rows, uint64_t columns, uint32_t cells) {
    return (rows + SIDRA_XBAR_ROWS - 1) / SIDRA_XBAR_ROWS * ((columns * cells + SIDRA_XBAR_COLS - 1) / SIDRA_XBAR_COLS);
}

uint64_t crossbars_of(xbar::MatrixType matrix, uint32_t cells) {
    return crossbars_of(matrix.getRows(), matrix.getColumns(), cells);
}

uint64_t link_bytes_per_ns() { return chip::kCosts.link_bytes_per_ns; }

uint64_t time_of(mlir::Operation* call) {
    const auto total =
        llvm::TypeSwitch<mlir::Operation*, Cost>(call)
            .Case<xbar::VectorOp>([](auto op) {
                return chip::vec_cost(product(op.getSize()) * program_of(op.getProgram(), op.getArrays()).rest,
                                      kClockNominal);
            })
            .Case<xbar::LayerOp>([](auto op) {
                const auto matrix = mlir::cast<xbar::MatrixType>(op.getWeights().getType());
                const Program program = program_of(op.getProgram(), op.getArrays());
                const uint64_t rows = product(op.getWindows().getCount());
                Cost cost = chip::mvm_cost(crossbars_of(matrix), rows, kClockNominal);
                cost += chip::vec_cost(
                    rows * (matrix.getColumns() * program.rest + matrix.getRows() * program.prologue), kClockNominal);
                return cost;
            })
            .Case<xbar::MatmulOp>([](auto op) {
                const llvm::ArrayRef<int64_t> size = op.getSize();
                const auto factor = mlir::cast<xbar::ArrayAttr>(op.getArrays()[0]);
                Cost cost =
                    chip::matmul_cost(product(size), mlir::isa<mlir::FloatType>(factor.getType()), kClockNominal);
                cost += chip::vec_cost(product(size.drop_back()) * program_of(op.getProgram(), op.getArrays()).rest,
                                       kClockNominal);
                return cost;
            })
            .Case<xbar::PoolOp>([](auto op) {
                const xbar::WindowsAttr w = op.getWindows();
                return chip::vec_cost(product(w.getCount()) * product(w.getKernel()) * w.getImage()[2], kClockNominal);
            })
            .Case<xbar::SortOp>([](auto op) {
                return chip::sort_cost(static_cast<uint64_t>(op.getRows()), static_cast<uint64_t>(op.getColumns()),
                                       static_cast<uint64_t>(op.getCount()), kClockNominal);
            })
            .Default([](mlir::Operation*) { return Cost{}; });
    return total.device_ps == 0 ? 0 : total.device_ps + chip::packet_cost(kClockNominal).device_ps;
}

}  // namespace sidra::compiler
