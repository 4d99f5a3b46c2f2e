// SPDX-License-Identifier: MIT
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cost.h"
#include "cost_model.h"
#include "geometry.h"
#include "names.h"
#include "xbar.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

static_assert(kChipCrossbars == chip::kGeometryY1.xbars());

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t needed(std::span<const Layer> layers, int64_t steps) {
    int64_t sum = 0;
    for (const Layer& layer : layers) sum += layer.crossbars * divided_up(layer.vectors, steps);
    return sum;
}

}  // namespace

// pJ = mW * ps / 10^3
const Power kChipPower = {static_cast<int64_t>(chip::kCosts.mvm_pj),
                          static_cast<int64_t>(chip::kCosts.power_mw* chip::kCosts.mvm_ps / 1'000)};

std::optional<int64_t> fewest_steps(std::span<const Layer> layers, int64_t crossbars, const Power& power) {
    int64_t most = 1, energy = 0;
    for (const Layer& layer : layers) {
        most = std::max(most, layer.vectors);
        energy += layer.crossbars * layer.vectors * power.product_pj;
    }
    if (needed(layers, most) > crossbars) return std::nullopt;
    const auto possible = [&](int64_t steps) {
        return needed(layers, steps) <= crossbars && divided_up(energy, power.step_pj) <= steps;
    };
    int64_t low = 0, high = std::max(most, divided_up(energy, power.step_pj));  // `high` are possible, `low` are not
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        (possible(middle) ? high : low) = middle;
    }
    return high;
}

Report examine(mlir::func::FuncOp function) {
    Report report;
    function->walk([&](mlir::Operation* op) {
        if (!mlir::isa<xnn::LinearOp, xnn::ConvLayerOp>(op)) return;
        const auto weights = mlir::cast<mlir::RankedTensorType>(op->getOperand(1).getType());
        const auto result = mlir::cast<mlir::RankedTensorType>(op->getResult(0).getType());
        const int64_t rows = weights.getDimSize(0), columns = weights.getDimSize(1);
        const std::vector<std::string> names = names_of(op->getLoc());
        report.layers.push_back(
            {names.empty() ? "?" : names.front(), rows, columns,
             static_cast<int64_t>(crossbars_of(static_cast<uint64_t>(rows), static_cast<uint64_t>(columns))),
             result.getNumElements() / columns});
    });
    const auto start = std::chrono::steady_clock::now();
    const std::optional<int64_t> steps = fewest_steps(report.layers, kChipCrossbars, kUnlimitedPower);
    const std::optional<int64_t> fed = fewest_steps(report.layers, kChipCrossbars, kChipPower);
    for (Layer& layer : report.layers) {
        layer.copies = divided_up(layer.vectors, steps.value_or(layer.vectors));
        layer.fed_copies = divided_up(layer.vectors, fed.value_or(layer.vectors));
    }
    report.fed_steps = fed.value_or(0);
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

std::vector<OnHost> on_host(mlir::ModuleOp module) {
    std::vector<OnHost> nodes;
    module.walk([&](xnn::HostOp op) {
        const std::vector<std::string> names = names_of(op.getLoc());
        const OnHost node{names.empty() ? "?" : names.front(), op.getFunction().str()};
        if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
    });
    return nodes;
}

std::string explain(mlir::ModuleOp module) {
    std::string text;
    int variant = 0;
    const bool several = llvm::range_size(module.getOps<mlir::func::FuncOp>()) > 1;
    for (auto function : module.getOps<mlir::func::FuncOp>()) {
        if (several) text += fmt::format("variant {}\n", variant++);
        text += examine(function).text();
    }
    for (const OnHost& node : on_host(module))
        text += fmt::format("{} runs on the host ({}).\n", node.name, node.function);
    return text;
}

std::string explain_stages(mlir::ModuleOp module) {
    std::string table;
    uint64_t slowest = 0, all = 0;
    int64_t next = 0;
    for (auto function : module.getOps<mlir::func::FuncOp>()) {
        const auto stage = function->getAttrOfType<mlir::IntegerAttr>("xbar.stage");
        if (!stage || stage.getInt() != next) continue;
        uint64_t calls = 0, crossbars = 0, time = 0, bytes = 0;
        function.walk([&](mlir::Operation* op) {
            if (auto weights = mlir::dyn_cast<xbar::WeightsOp>(op))
                crossbars += crossbars_of(mlir::cast<xbar::MatrixType>(weights.getType()));
            const uint64_t its = time_of(op);
            calls += its != 0, time += its;
        });
        for (const mlir::Type type : function.getArgumentTypes()) bytes += mlir::cast<xbar::BufferType>(type).getSize();
        table += fmt::format("{:>5}  {:>6}  {:>9}  {:>9.3f} us  {:>11}\n", next++, calls, crossbars,
                             static_cast<double>(time) / 1e6, bytes);
        slowest = std::max(slowest, time), all += time;
    }
    if (next == 0) return {};
    return fmt::format("{:>5}  {:>6}  {:>9}  {:>12}  {:>11}\n", "stage", "calls", "crossbars", "time", "bytes in") +
           table +
           fmt::format(
               "{} stages, each for a chip. By the cost model a pipeline has {:.1f} % of the throughput of {} chips "
               "that each "
               "hold all of the network.\n",
               next,
               100.0 * static_cast<double>(all) / static_cast<double>(std::max<uint64_t>(slowest, 1)) /
                   static_cast<double>(next),
               next);
}

int64_t Report::crossbars() const {
    int64_t sum = 0;
    for (const Layer& layer : layers) sum += layer.crossbars;
    return sum;
}

int64_t Report::fed_crossbars() const {
    int64_t sum = 0;
    for (const Layer& layer : layers) sum += layer.crossbars * layer.fed_copies;
    return sum;
}

int64_t Report::steps() const {
    int64_t most = 0;
    for (const Layer& layer : layers) most = std::max(most, layer.steps());
    return most;
}

double Report::utilisation() const {
    int64_t weights = 0;
    for (const Layer& layer : layers) weights += layer.weights();
    const int64_t cells = crossbars() * kTileRows * kTileColumns;
    return cells == 0 ? 0 : static_cast<double>(weights) / static_cast<double>(cells);
}

std::string Report::text() const {
    size_t width = 5;
    for (const Layer& layer : layers) width = std::max(width, std::min<size_t>(layer.name.size(), 48));
    std::string table = fmt::format("{:{}}  {:>13}  {:>9}  {:>6}  {:>9}  {:>6}  {:>7}\n", "layer", width, "matrix",
                                    "crossbars", "in use", "products", "copies", "steps");
    for (const Layer& layer : layers)
        table += fmt::format("{:{}}  {:>6} x {:>4}  {:>9}  {:>5.1f}%  {:>9}  {:>6}  {:>7}\n",
                             layer.name.substr(0, width), width, layer.rows, layer.columns, layer.crossbars,
                             100.0 * static_cast<double>(layer.weights()) /
                                 static_cast<double>(layer.crossbars * kTileRows * kTileColumns),
                             layer.vectors, layer.copies, layer.steps());
    int64_t most = 0;
    for (const Layer& layer : layers) most = std::max(most, layer.vectors);
    table += fmt::format(
        "{} layers, {} of {} crossbars, {:.1f} % of their cells in use. The slowest layer has {} products one after "
        "another, and {} if the chip were full of copies (found in {:.3f} ms).\n",
        layers.size(), crossbars(), kChipCrossbars, 100 * utilisation(), most, steps(), 1e3 * seconds);
    if (fed_steps != 0 && !layers.empty())
        table += fmt::format(
            "Power feeds {:.1f} crossbars at a time, so all products of a run take the time of {} one after another or "
            "more; copies on {} crossbars are enough for that.\n",
            static_cast<double>(kChipPower.step_pj) / static_cast<double>(kChipPower.product_pj), fed_steps,
            fed_crossbars());
    return table;
}

}  // namespace sidra::compiler
