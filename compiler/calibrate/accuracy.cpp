// SPDX-License-Identifier: MIT
#include "accuracy.h"

#include <algorithm>
#include <cmath>

#include "annotations.h"
#include "probe.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

constexpr size_t kRuns = 4;  // for a mean of errors over all elements of a result

// The results of all layers in each run.
using Results = std::vector<std::vector<std::vector<float>>>;

// Counts values outside the range of a layer's codes, further than rounding brings them back.
uint64_t count_clipped(mlir::Operation* layer, std::span<const float> values) {
    const auto range = layer->getAttrOfType<mlir::DenseF32ArrayAttr>("range");
    const auto bits = layer->getAttrOfType<mlir::IntegerAttr>("bits");
    if (!range || !bits || bits.getInt() != 8) return 0;
    const float half = (range[1] - range[0]) / 255 / 2;
    return static_cast<uint64_t>(
        std::ranges::count_if(values, [&](float value) { return value < range[0] - half || value > range[1] + half; }));
}

// Inputs and weights of 16 bits in all layers. `accuracies` gets what the layers' inputs are, by layer.
Results exact_results(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization,
                      const std::vector<Range>& exact, const Layers& own, std::vector<LayerAccuracy>& accuracies) {
    Probe probe(module, store, calibration, optimization);
    const Layers layers = probe.layers();
    std::vector<size_t> inputs, outputs;
    for (size_t i = 0; i < layers.size(); i++) {
        layers[i]->removeAttr(kError);
        layers[i]->removeAttr(kCopies);
        set(layers[i], {exact[i], 16});
        inputs.push_back(probe.output(layers[i]->getOperand(0)));
        const mlir::Value rest = add_rest(layers[i], store);
        outputs.push_back(probe.output(rest.getUsers().begin()->getResult(0)));
    }
    Results results;
    probe.run(kRuns, [&](const std::vector<std::span<const float>>& values) {
        auto& run = results.emplace_back();
        for (size_t i = 0; i < layers.size(); i++) {
            run.emplace_back(values[outputs[i]].begin(), values[outputs[i]].end());
            accuracies[i].inputs += values[inputs[i]].size();
            accuracies[i].clipped += count_clipped(own[i], values[inputs[i]]);
        }
    });
    return results;
}

// Adds up signal and noise of each layer at a level.
struct Power {
    double signal = 0, noise = 0;
    double ratio() const { return in_decibels(signal, noise); }
};
std::vector<Power> powers(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization,
                          const Results& right, sidra_level level) {
    Probe probe(module, store, calibration, optimization);
    std::vector<size_t> outputs;
    for (mlir::Operation* const layer : probe.layers()) outputs.push_back(probe.output(layer->getResult(0)));
    std::vector<Power> all(outputs.size());
    size_t run = 0;
    probe.run(
        kRuns,
        [&](const std::vector<std::span<const float>>& values) {
            for (size_t i = 0; i < outputs.size(); i++) {
                const std::vector<float>& wanted = right[run][i];
                for (size_t j = 0; j < wanted.size(); j++) {
                    all[i].signal += static_cast<double>(wanted[j]) * wanted[j];
                    all[i].noise += std::pow(static_cast<double>(values[outputs[i]][j]) - wanted[j], 2);
                }
            }
            run++;
        },
        level, calibration.calls);
    return all;
}

std::string matrix_of(mlir::Operation* layer) {
    auto constant = layer->getOperand(1).getDefiningOp<xnn::ConstantOp>();
    const auto values = constant ? mlir::dyn_cast<xnn::ValuesAttr>(constant.getValue()) : xnn::ValuesAttr();
    return values ? values.getName().str() : "weights";
}

}  // namespace

std::vector<LayerAccuracy> measure_accuracy(mlir::ModuleOp module, Store& store, const Calibration& calibration,
                                            int optimization, const std::vector<Range>& exact) {
    const Layers layers = layers_in(*module.getOps<mlir::func::FuncOp>().begin());
    std::vector<LayerAccuracy> each(layers.size());
    const Results right = exact_results(module, store, calibration, optimization, exact, layers, each);
    const std::vector<Power> fast = powers(module, store, calibration, optimization, right, SIDRA_LEVEL_FAST),
                             accurate = powers(module, store, calibration, optimization, right, SIDRA_LEVEL_ACCURATE);
    std::vector<LayerAccuracy> all;
    std::vector<std::pair<Power, Power>> sums;
    for (size_t i = 0; i < layers.size(); i++) {
        const std::string matrix = matrix_of(layers[i]);
        auto at = std::ranges::find(all, matrix, &LayerAccuracy::matrix);
        if (at == all.end()) {
            all.push_back({matrix});
            sums.emplace_back();
            at = all.end() - 1;
        }
        auto& [at_fast, at_accurate] = sums[static_cast<size_t>(at - all.begin())];
        at_fast.signal += fast[i].signal, at_fast.noise += fast[i].noise;
        at_accurate.signal += accurate[i].signal, at_accurate.noise += accurate[i].noise;
        const auto bits = layers[i]->getAttrOfType<mlir::IntegerAttr>("bits");
        at->bits = std::max(at->bits, bits ? static_cast<int>(bits.getInt()) : 8);
        at->inputs += each[i].inputs, at->clipped += each[i].clipped;
        at->fast = at_fast.ratio(), at->accurate = at_accurate.ratio();
    }
    return all;
}

}  // namespace sidra::compiler
