// SPDX-License-Identifier: MIT
// Matrices get their crossbars (placement/place.h) on a chip whose map is given.
#include <fmt/format.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "passes.h"
#include "placement/place.h"
#include "sidra_hw.h"
#include "xbar.h"

namespace sidra::compiler {
namespace {

using mlir::Value;

constexpr uint32_t kWidthDifferential = SIDRA_XBAR_COLS / 2, kWidthOffset = SIDRA_XBAR_COLS;

uint32_t divided_up(uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t{a} + b - 1) / b); }

// The operands of a program that it stores to.
std::set<uint32_t> stored(mlir::ArrayAttr program) {
    std::set<uint32_t> operands;
    const program::Assembly assembly = xbar::assemble(program);
    if (const auto* const code = std::get_if<program::Code>(&assembly))
        for (const sidra_vector_instruction& each : code->instructions)
            if (xbar::stores(each.op)) operands.insert(each.operand);
    return operands;
}

// The matrices of all functions, and the bytes that flow between them.
class DataFlow {
   public:
    explicit DataFlow(mlir::ModuleOp module) {
        for (auto function : module.getOps<mlir::func::FuncOp>()) {
            sources_.clear();
            function.walk([&](mlir::Operation* op) { visit(op); });
        }
    }

    struct Matrix {
        std::vector<xbar::WeightsOp> ops;  // one for each function that uses it
        uint32_t rows, columns, original, copy;
    };
    std::vector<Matrix> matrices;
    std::map<std::pair<uint32_t, uint32_t>, double> bytes;  // also within a matrix, if it has several tiles

   private:
    // Matrices whose results are in a buffer.
    using Sources = std::set<uint32_t>;

    uint32_t matrix_of(xbar::WeightsOp op) {
        const auto type = mlir::cast<xbar::MatrixType>(op.getType());
        const std::string hash = op.getHash().str();
        const auto original =
            originals_.try_emplace({type.getRows(), hash}, static_cast<uint32_t>(originals_.size())).first->second;
        const auto [at, is_new] = numbers_.try_emplace({original, static_cast<uint32_t>(op.getCopy())},
                                                       static_cast<uint32_t>(matrices.size()));
        if (is_new)
            matrices.push_back({{}, type.getRows(), type.getColumns(), original, static_cast<uint32_t>(op.getCopy())});
        std::vector<xbar::WeightsOp>& ops = matrices[at->second].ops;
        if (std::ranges::find(ops, op) == ops.end()) ops.push_back(op);
        return at->second;
    }

    void visit(mlir::Operation* op) {
        if (auto layer = mlir::dyn_cast<xbar::LayerOp>(op)) return visit_layer(layer);
        if (auto vector = mlir::dyn_cast<xbar::VectorOp>(op))
            return visit_program(vector.getBuffers(), vector.getArrays(), vector.getProgram());
        if (auto matmul = mlir::dyn_cast<xbar::MatmulOp>(op))
            return visit_program(matmul.getBuffers(), matmul.getArrays(), matmul.getProgram());
        if (auto pool = mlir::dyn_cast<xbar::PoolOp>(op))
            return pass_on(sources_[pool.getBuffers()[pool.getWindows().getBuffer()]], {pool.getBuffers().back()});
        if (auto sort = mlir::dyn_cast<xbar::SortOp>(op))
            return pass_on(sources_[sort.getInput()], {sort.getValues(), sort.getIndices()});
        if (auto host = mlir::dyn_cast<xbar::HostOp>(op)) {
            Sources from;
            for (const Value input : host.getInputs()) from.merge(Sources(sources_[input]));
            pass_on(from, {host.getOutput()});
        }
    }

    void pass_on(const Sources& from, std::initializer_list<Value> to) {
        const Sources copy = from;  // `to` may be where it comes from
        for (const Value buffer : to) sources_[buffer].insert(copy.begin(), copy.end());
    }

    void visit_program(mlir::ValueRange buffers, mlir::ArrayAttr arrays, mlir::ArrayAttr program) {
        const std::set<uint32_t> results = stored(program);
        Sources from;
        for (uint32_t i = 0; i < arrays.size(); i++)
            if (!results.contains(i)) from.merge(Sources(sources_[buffer_of(buffers, arrays[i])]));
        for (const uint32_t i : results)
            if (i < arrays.size()) pass_on(from, {buffer_of(buffers, arrays[i])});
    }

    void visit_layer(xbar::LayerOp layer) {
        auto weights = layer.getWeights().getDefiningOp<xbar::WeightsOp>();
        if (!weights) return;
        const uint32_t matrix = matrix_of(weights);
        const xbar::WindowsAttr windows = layer.getWindows();
        const auto product = [](llvm::ArrayRef<uint32_t> sizes) {
            return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies());
        };
        const double input =
            windows.getCount()[0] * product(windows.getImage()) * (windows.getType().getIntOrFloatBitWidth() / 8);
        const double sums = product(windows.getCount()) * matrices[matrix].columns * sizeof(int32_t);
        const Sources& from = sources_[layer.getBuffers()[windows.getBuffer()]];
        for (const uint32_t source : from)
            if (source != matrix) bytes[std::minmax(source, matrix)] += input / static_cast<double>(from.size());
        // Each column of tiles gets the input, and the sums of a column are added up.
        bytes[{matrix, matrix}] += input + sums;
        const std::set<uint32_t> results = stored(layer.getProgram());
        for (const uint32_t i : results)
            if (i < layer.getArrays().size())
                sources_[buffer_of(layer.getBuffers(), layer.getArrays()[i])].insert(matrix);
    }

    static Value buffer_of(mlir::ValueRange buffers, mlir::Attribute array) {
        return buffers[mlir::cast<xbar::ArrayAttr>(array).getBuffer()];
    }

    std::map<std::pair<uint32_t, std::string>, uint32_t> originals_;
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers_;
    llvm::DenseMap<Value, Sources> sources_;
};

class PlacePass : public mlir::PassWrapper<PlacePass, mlir::OperationPass<mlir::ModuleOp>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlacePass)
    PlacePass() = default;
    PlacePass(const PlacePass& other) : PassWrapper(other), map_(other.map_) {}
    PlacePass(const ChipMap& map, uint32_t bad_cells) : map_(map) { bad_cells_ = bad_cells; }
    llvm::StringRef getArgument() const override { return "xbar-place"; }
    llvm::StringRef getDescription() const override { return "matrices get crossbars of a chip whose map is given"; }

    void runOnOperation() override {
        if (!map_) try {
                map_ = read_chip_map(file_);
            } catch (const ChipMapError& error) {
                getOperation().emitError(error.what());
                return signalPassFailure();
            }
        const PlacedChip chip = usable();
        DataFlow flow(getOperation());
        std::vector<PlacedMatrix> matrices;
        if (!choose_tiles(flow, chip, matrices)) return signalPassFailure();
        std::vector<Flow> flows;
        for (const auto& [pair, bytes] : flow.bytes) flows.push_back({pair.first, pair.second, bytes});
        const Placement placement = place(chip, matrices, flows);
        mlir::Builder builder(&getContext());
        for (size_t m = 0; m < matrices.size(); m++) {
            const llvm::SmallVector<int32_t> crossbars(placement[m].begin(), placement[m].end());
            for (xbar::WeightsOp op : flow.matrices[m].ops) op.setCrossbars(crossbars);
        }
        getOperation()->setAttr("xbar.bad_cells", builder.getI32IntegerAttr(static_cast<int32_t>(bad_cells_ - 1)));
    }

   private:
    // Those with the fewest bad cells of a unit are in front.
    PlacedChip usable() const {
        PlacedChip chip{map_->clusters, map_->cus_per_cluster, map_->crossbars_per_cu, {}};
        for (uint32_t i = 0; i < map_->crossbars(); i++)
            if (!map_->in_use[i] && map_->bad_cells[i] < bad_cells_) chip.usable.push_back(i);
        std::ranges::stable_sort(chip.usable, {},
                                 [&](uint32_t i) { return std::pair(i / map_->crossbars_per_cu, map_->bad_cells[i]); });
        return chip;
    }

    // With two cells for each weight as long as the matrices behind have crossbars, too: as libsidra does it.
    bool choose_tiles(const DataFlow& flow, const PlacedChip& chip, std::vector<PlacedMatrix>& matrices) {
        const auto tiles = [](const DataFlow::Matrix& m, uint32_t width) {
            return PlacedMatrix{divided_up(m.rows, SIDRA_XBAR_ROWS), divided_up(m.columns, width), m.original, m.copy};
        };
        uint64_t needed = 0, free = chip.usable.size();
        for (const DataFlow::Matrix& matrix : flow.matrices) needed += tiles(matrix, kWidthOffset).tiles();
        if (needed > free) {
            getOperation().emitError(fmt::format(
                "its matrices need {} crossbars or more, but of the {} in the map {} can be used: the others are in "
                "use, or have {} bad cells or more",
                needed, map_->crossbars(), free, bad_cells_.getValue()));
            return false;
        }
        for (const DataFlow::Matrix& matrix : flow.matrices) {
            needed -= tiles(matrix, kWidthOffset).tiles();
            PlacedMatrix placed = tiles(matrix, kWidthDifferential);
            if (placed.tiles() + needed > free) placed = tiles(matrix, kWidthOffset);
            free -= placed.tiles();
            matrices.push_back(placed);
        }
        return true;
    }

    std::optional<ChipMap> map_;
    Option<std::string> file_{*this, "map", llvm::cl::desc("the file with the map of the chip")};
    Option<uint32_t> bad_cells_{*this, "bad-cells", llvm::cl::desc("from so many on a crossbar is not used"),
                                llvm::cl::init(kBadCells)};
};

}  // namespace

std::unique_ptr<mlir::Pass> make_place_pass(const ChipMap& map, uint32_t bad_cells) {
    return std::make_unique<PlacePass>(map, bad_cells);
}
std::unique_ptr<mlir::Pass> make_place_pass() { return std::make_unique<PlacePass>(); }

}  // namespace sidra::compiler
