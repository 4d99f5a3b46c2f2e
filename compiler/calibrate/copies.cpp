// SPDX-License-Identifier: MIT
#include "copies.h"

#include <llvm/ADT/MapVector.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "build.h"
#include "cost.h"
#include "passes.h"
#include "probe.h"
#include "read.h"
#include "report.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

constexpr size_t kRuns = 4;  // for a mean of errors over all elements of a result
constexpr int kCopiesMax = 64;

// The deviation of the errors of each column of each layer, at level accurate: half the mean square of the difference
// between two copies. What both copies have in common, such as the loss in wires, no further copy removes.
std::vector<std::vector<double>> deviations(mlir::ModuleOp module, Store& store, const Calibration& calibration,
                                            int optimization) {
    Probe probe(module, store, calibration, optimization);
    std::vector<std::pair<size_t, size_t>> outputs;
    std::vector<std::vector<double>> squares;
    for (mlir::Operation* const layer : probe.layers()) {
        mlir::OpBuilder builder(layer);
        builder.setInsertionPointAfter(layer);
        mlir::Operation* const twin = builder.clone(*layer);
        twin->setAttr("copy", builder.getI32IntegerAttr(1));
        outputs.emplace_back(probe.output(layer->getResult(0)), probe.output(twin->getResult(0)));
        const auto type = mlir::cast<mlir::RankedTensorType>(layer->getResult(0).getType());
        squares.emplace_back(static_cast<size_t>(type.getShape().back()));
    }
    size_t runs = 0;
    std::vector<size_t> elements(outputs.size());
    probe.run(
        kRuns,
        [&](const std::vector<std::span<const float>>& values) {
            runs++;
            for (size_t i = 0; i < outputs.size(); i++) {
                const std::span<const float> one = values[outputs[i].first], other = values[outputs[i].second];
                elements[i] = one.size();
                for (size_t j = 0; j < one.size(); j++)
                    squares[i][j % squares[i].size()] += std::pow(static_cast<double>(one[j]) - other[j], 2) / 2;
            }
        },
        SIDRA_LEVEL_ACCURATE);
    for (size_t i = 0; i < squares.size(); i++)
        for (double& square : squares[i])
            square = std::sqrt(square / static_cast<double>(runs * elements[i] / squares[i].size()));
    return squares;
}

// The outputs of the first runs at level fast. With a layer's number, its results have errors of these deviations.
std::vector<float> outputs_with(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization,
                                std::optional<size_t> number, const std::vector<double>& deviation) {
    Probe probe(module, store, calibration, optimization);
    if (number) {
        mlir::Operation* const layer = probe.layers()[*number];
        const mlir::Value result = layer->getResult(0);
        const auto type = mlir::cast<mlir::RankedTensorType>(result.getType());
        std::mt19937 random(static_cast<uint32_t>(*number));
        std::normal_distribution<double> normal;
        std::vector<float> errors(static_cast<size_t>(type.getNumElements()));
        for (size_t i = 0; i < errors.size(); i++)
            errors[i] = static_cast<float>(normal(random) * deviation[i % deviation.size()]);
        std::vector<std::byte> bytes(errors.size() * sizeof(float));
        std::memcpy(bytes.data(), errors.data(), bytes.size());
        mlir::OpBuilder builder(layer);
        const mlir::Value constant = store_constant(builder, layer->getLoc(), store, "errors", type, std::move(bytes));
        builder.setInsertionPointAfter(layer);
        probe.replace(result, xnn::Build(builder, layer->getLoc()).add(result, constant));
    }
    const std::vector<size_t> places = probe.own_outputs();
    std::vector<float> outputs;
    probe.run(kRuns, [&](const std::vector<std::span<const float>>& values) {
        for (const size_t place : places) outputs.insert(outputs.end(), values[place].begin(), values[place].end());
    });
    return outputs;
}

}  // namespace

void share_out(std::span<Copied> layers, int64_t crossbars) {
    for (const Copied& layer : layers) crossbars -= layer.crossbars * layer.copies;
    while (true) {
        const auto gain = [](const Copied& layer) {
            const double n = layer.copies;
            return layer.noise / (n * (n + 1)) / static_cast<double>(layer.crossbars);
        };
        Copied* best = nullptr;
        for (Copied& layer : layers)
            if (layer.copies < kCopiesMax && layer.crossbars <= crossbars && layer.noise > 0 &&
                (best == nullptr || gain(layer) > gain(*best)))
                best = &layer;
        if (best == nullptr) return;
        best->copies++;
        crossbars -= best->crossbars;
    }
}

std::vector<int> choose_copies(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization) {
    mlir::func::FuncOp function = *module.getOps<mlir::func::FuncOp>().begin();
    const Layers layers = layers_in(function);
    const std::vector<Layer> needs = examine(function).layers;
    const std::vector<std::vector<double>> errors = deviations(module, store, calibration, optimization);
    const std::vector<float> right = outputs_with(module, store, calibration, optimization, {}, {});
    llvm::MapVector<mlir::Attribute, Copied> matrices;
    const auto matrix_of = [](mlir::Operation* layer) {
        return layer->getOperand(1).getDefiningOp<xnn::ConstantOp>().getValue();
    };
    for (size_t i = 0; i < layers.size(); i++) {
        Copied& matrix = matrices[matrix_of(layers[i])];
        matrix.crossbars = needs[i].crossbars;
        if (const int64_t voting = voting_columns(calibration.calls.vote, needs[i].columns); voting > 0)
            matrix.crossbars += 2 * static_cast<int64_t>(crossbars_of(static_cast<uint64_t>(needs[i].rows),
                                                                      static_cast<uint64_t>(voting)));
        const std::vector<float> outputs = outputs_with(module, store, calibration, optimization, i, errors[i]);
        for (size_t j = 0; j < right.size(); j++)
            if (std::isfinite(outputs[j]) && std::isfinite(right[j]))
                matrix.noise += std::pow(static_cast<double>(outputs[j]) - right[j], 2);
    }
    std::vector<Copied> all;
    int64_t crossbars = 0;
    for (const auto& [value, matrix] : matrices) all.push_back(matrix), crossbars += matrix.crossbars;
    share_out(all, std::min(crossbars * calibration.copies, kChipCrossbars));
    size_t next = 0;
    for (auto& [value, matrix] : matrices) matrix = all[next++];
    std::vector<int> copies;
    for (mlir::Operation* const layer : layers) copies.push_back(matrices[matrix_of(layer)].copies);
    return copies;
}

}  // namespace sidra::compiler
