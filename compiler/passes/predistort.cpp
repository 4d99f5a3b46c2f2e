// SPDX-License-Identifier: MIT
// Wires lose voltage, more of it far from drivers and beside cells that conduct much, so each weight has another loss.
// A crossbar and its wires are linear, and their model is that of the chip (physics/wires.h). A column's common loss
// becomes a factor of the layer; what differs from it is added to the codes. The loss hardly changes with the codes, so
// one solution of the network is enough: a second one improves nothing that whole codes can express.
#include "predistort.h"

#include <llvm/ADT/DenseMap.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "cells.h"
#include "chip_wires.h"
#include "columns.h"
#include "passes.h"
#include "read.h"
#include "sidra_hw.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

constexpr size_t kTileRows = SIDRA_XBAR_ROWS, kTileColumns = SIDRA_XBAR_COLS / 2;
constexpr int kLargest = 127;

// The codes nearest to `wanted` whose sum is nearest to that of `wanted`: inputs have a mean, by which an error of the
// sum would be multiplied. So those nearest to a half are rounded the other way.
void round_column(const std::vector<double>& wanted, int8_t* to, size_t stride) {
    std::vector<double> errors(wanted.size());  // of what is rounded
    double sum = 0;
    for (size_t r = 0; r < wanted.size(); r++) {
        const double code = std::clamp(std::nearbyint(wanted[r]), -double{kLargest}, double{kLargest});
        to[r * stride] = static_cast<int8_t>(code);
        errors[r] = code - wanted[r];
        sum += errors[r];
    }
    std::vector<size_t> order(wanted.size());
    std::iota(order.begin(), order.end(), 0);
    const double sign = sum > 0 ? 1 : -1;
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return sign * errors[a] > sign * errors[b]; });
    for (const size_t r : order) {
        if (std::abs(sum) <= 0.5 || sign * errors[r] <= 0) break;
        const int code = to[r * stride] - static_cast<int>(sign);
        if (std::abs(code) > kLargest) continue;
        to[r * stride] = static_cast<int8_t>(code);
        sum -= sign;
    }
}

}  // namespace

std::vector<double> effective_weights(const Tile& tile) {
    static_assert(SIDRA_XBAR_ROWS == 256 && SIDRA_XBAR_COLS == 256, "sizes for which wires can be solved");
    const physics::CellParameters cells;
    // Nothing was programmed into the other cells.
    std::vector<double> g(SIDRA_XBAR_ROWS * SIDRA_XBAR_COLS, physics::siemens(cells, 1));
    const auto siemens = [&](int level) {
        return cells.g_max_siemens *
               static_cast<double>(physics::conductance_of(cells, static_cast<uint8_t>(std::max(level, 0))));
    };
    for (size_t r = 0; r < tile.rows; r++)
        for (size_t c = 0; c < tile.columns; c++) {
            const int code = tile.codes[r * tile.stride + c];
            g[r * SIDRA_XBAR_COLS + 2 * c] = siemens(2 * code);
            g[r * SIDRA_XBAR_COLS + 2 * c + 1] = siemens(-2 * code);
        }
    physics::EffectiveConductance().find(g.data(), SIDRA_XBAR_ROWS, SIDRA_XBAR_COLS, physics::kChipWires, g.data());
    const double per_siemens = 255 / (1 - 1 / cells.on_off) / 2 / cells.g_max_siemens;
    std::vector<double> weights(tile.rows * tile.columns);
    for (size_t c = 0; c < tile.columns; c++) {
        double excess = 0;
        for (size_t r = 0; r < tile.rows; r++) {
            const double* const pair = &g[r * SIDRA_XBAR_COLS + 2 * c];
            weights[r * tile.columns + c] = (pair[0] - pair[1]) * per_siemens;
            excess += weights[r * tile.columns + c] - tile.codes[r * tile.stride + c];
        }
        for (size_t r = 0; r < tile.rows; r++) weights[r * tile.columns + c] -= excess / static_cast<double>(tile.rows);
    }
    return weights;
}

Predistorted predistort(std::span<const int8_t> codes, size_t rows, size_t columns) {
    std::vector<float> effective(codes.size());
    for (size_t top = 0; top < rows; top += kTileRows)
        for (size_t left = 0; left < columns; left += kTileColumns) {
            const Tile tile{&codes[top * columns + left], columns, std::min(kTileRows, rows - top),
                            std::min(kTileColumns, columns - left)};
            const std::vector<double> weights = effective_weights(tile);
            for (size_t r = 0; r < tile.rows; r++)
                for (size_t c = 0; c < tile.columns; c++)
                    effective[(top + r) * columns + left + c] = static_cast<float>(weights[r * tile.columns + c]);
        }
    Predistorted result{std::vector<int8_t>(codes.size()), std::vector<double>(columns, 1)};
    std::vector<double> wanted;
    for (size_t c = 0; c < columns; c++) {
        double both = 0, square = 0;
        for (size_t i = c; i < codes.size(); i += columns) {
            both += static_cast<double>(effective[i]) * codes[i];
            square += static_cast<double>(codes[i]) * codes[i];
        }
        double& gain = result.gains[c];
        if (both > 0) gain = both / square;
        for (size_t top = 0; top < rows; top += kTileRows) {
            wanted.clear();
            for (size_t r = top; r < std::min(top + kTileRows, rows); r++) {
                const size_t i = r * columns + c;
                wanted.push_back(codes[i] + gain * codes[i] - static_cast<double>(effective[i]));
            }
            round_column(wanted, &result.codes[top * columns + c], columns);
        }
    }
    return result;
}

namespace {

class PredistortPass : public mlir::PassWrapper<PredistortPass, mlir::OperationPass<>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PredistortPass)
    llvm::StringRef getArgument() const override { return "xnn-predistort"; }
    llvm::StringRef getDescription() const override {
        return "weights of layers make up for the loss in the wires of crossbars";
    }

    void runOnOperation() override {
        for (mlir::Operation* const layer : layers_in(getOperation())) change(layer);
        done_.clear();
    }

   private:
    void change(mlir::Operation* layer) {
        Store& store = xnn::store_of(&getContext());
        auto weights = layer->getOperand(1).getDefiningOp<xnn::ConstantOp>();
        auto factors = read_floats(layer->getOperand(2), store);
        const auto bytes = weights ? read_bytes(weights.getValue(), weights.getType(), store) : std::nullopt;
        if (!bytes || !factors) return;
        const auto type = weights.getType();
        const auto [found, is_new] = done_.try_emplace({weights.getValue(), type});
        Predistorted& matrix = found->second;
        if (is_new)
            matrix = predistort({reinterpret_cast<const int8_t*>(bytes->data()), bytes->size()},
                                static_cast<size_t>(type.getDimSize(0)), static_cast<size_t>(type.getDimSize(1)));
        std::vector<std::byte> changed(bytes->size());
        std::memcpy(changed.data(), matrix.codes.data(), changed.size());
        for (size_t c = 0; c < factors->size(); c++)
            (*factors)[c] = static_cast<float>(static_cast<double>((*factors)[c]) / matrix.gains[c]);
        const auto values = mlir::dyn_cast<xnn::ValuesAttr>(weights.getValue());
        mlir::OpBuilder builder(layer);
        layer->setOperand(1, store_constant(builder, weights.getLoc(), store, values ? values.getName() : "weights",
                                            type, std::move(changed)));
        layer->setOperand(2, columns_constant(builder, layer->getLoc(), store, *factors));
    }

    llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, Predistorted> done_;
};

}  // namespace

std::unique_ptr<mlir::Pass> make_predistort_pass() { return std::make_unique<PredistortPass>(); }

}  // namespace sidra::compiler
