// SPDX-License-Identifier: MIT
#include "calibrate.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "accuracy.h"
#include "annotations.h"
#include "copies.h"
#include "probe.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

// The codes of each layer with 8 and with 16 bits. The latter have room for all values.
std::vector<std::pair<Codes, Codes>> ranges(mlir::ModuleOp module, Store& store, const Calibration& calibration,
                                            int optimization) {
    Probe probe(module, store, calibration, optimization);
    std::vector<size_t> outputs;
    for (mlir::Operation* const layer : probe.layers()) outputs.push_back(probe.output(layer->getOperand(0)));
    std::vector<Observer> observers(outputs.empty() ? 0 : std::ranges::max(outputs) + 1);
    probe.run(SIZE_MAX, [&](const std::vector<std::span<const float>>& values) {
        for (size_t i = 0; i < observers.size(); i++) observers[i].add(values[i]);
    });
    std::vector<std::pair<Codes, Codes>> all;
    for (const size_t output : outputs)
        all.push_back(
            {{observers[output].range(calibration.method), 8}, {observers[output].range(Method::kMinMax), 16}});
    return all;
}

// How much too large the columns of a layer's results are on average.
class MeanError {
   public:
    explicit MeanError(mlir::Operation* layer)
        : sums_(
              static_cast<size_t>(mlir::cast<mlir::RankedTensorType>(layer->getResult(0).getType()).getShape().back())),
          squares_(sums_.size()) {}

    void add(size_t element, double error) {
        const size_t column = element % sums_.size();
        sums_[column] += error;
        squares_[column] += error * error;
        count_ += column == 0;
    }

    // Few samples have a mean even of errors that are none on average. So each mean becomes smaller by the share that
    // chance has in its square.
    std::vector<float> columns() const {
        std::vector<float> errors(sums_.size());
        const auto count = static_cast<double>(count_);
        for (size_t j = 0; j < errors.size(); j++) {
            const double mean = sums_[j] / count, chance = (squares_[j] / count - mean * mean) / count;
            const double error = chance < mean * mean ? mean - chance / mean : 0;
            errors[j] = std::isfinite(error) ? static_cast<float>(error) : 0;
        }
        return errors;
    }

   private:
    std::vector<double> sums_, squares_;
    size_t count_ = 0;
};

// What some codes for a layer's inputs cost.
class Cost {
   public:
    explicit Cost(mlir::Operation* layer) : mean_(layer) {}

    // A result, the right one, and the right one with weights of 16 bits.
    void add(size_t element, double result, double right, double exact) {
        signal_ += right * right;
        noise_ += (result - right) * (result - right);
        mean_.add(element, result - exact);
    }
    // Signal to noise of the results, in decibels.
    double ratio() const { return in_decibels(signal_, noise_); }
    std::vector<float> mean_errors() const { return mean_.columns(); }

   private:
    double signal_ = 0, noise_ = 0;
    MeanError mean_;
};
struct Costs {
    std::optional<Cost> fixed, rows;  // 8 bits: a range for all rows, and one for each; not for convolutions
    std::optional<Cost> many;         // 16 bits
};

// Each layer computes with inputs of 16 bits, with which the network goes on, and with 8. For the bias correction the
// network goes on with weights of 16 bits, too.
std::vector<Costs> find_costs(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization,
                              const std::vector<std::pair<Codes, Codes>>& codes) {
    const size_t runs = calibration.bias_correction ? 32 : 8;
    Probe probe(module, store, calibration, optimization);
    const Layers layers = probe.layers();
    struct Outputs {
        size_t fixed, many;
        std::optional<size_t> rows, rest;
    };
    std::vector<Outputs> outputs;
    std::vector<Costs> all;
    for (size_t i = 0; i < layers.size(); i++) {
        mlir::OpBuilder builder(layers[i]);
        builder.setInsertionPointAfter(layers[i]);
        all.push_back({Cost(layers[i]), std::nullopt, Cost(layers[i])});
        outputs.emplace_back();
        if (mlir::isa<xnn::LinearOp>(layers[i])) {
            outputs[i].rows = probe.output(builder.clone(*layers[i])->getResult(0));
            all[i].rows.emplace(layers[i]);
        }
        mlir::Operation* const fixed = builder.clone(*layers[i]);
        set(fixed, codes[i].first);
        set(layers[i], codes[i].second);
        outputs[i].fixed = probe.output(fixed->getResult(0));
        outputs[i].many = probe.output(layers[i]->getResult(0));
        if (calibration.bias_correction) outputs[i].rest = probe.output(add_rest(layers[i], store));
    }
    probe.run(runs, [&](const std::vector<std::span<const float>>& values) {
        for (size_t i = 0; i < layers.size(); i++) {
            const std::span<const float> right = values[outputs[i].many];
            const auto add = [&](Cost& cost, std::span<const float> results) {
                for (size_t j = 0; j < results.size(); j++)
                    cost.add(j, results[j], right[j], right[j] + (outputs[i].rest ? values[*outputs[i].rest][j] : 0.0));
            };
            add(*all[i].fixed, values[outputs[i].fixed]);
            if (all[i].rows) add(*all[i].rows, values[*outputs[i].rows]);
            add(*all[i].many, right);
        }
    });
    return all;
}

// Returns the ranges of 16 bits.
std::vector<Range> run_and_observe(mlir::ModuleOp module, Store& store, const Calibration& calibration,
                                   int optimization) {
    auto functions = module.getOps<mlir::func::FuncOp>();
    if (functions.empty() || layers_in(*functions.begin()).empty()) return {};
    const auto codes = ranges(module, store, calibration, optimization);
    std::vector<Costs> costs;
    if (!calibration.exact) costs = find_costs(module, store, calibration, optimization, codes);
    for (auto function : functions) {
        const Layers layers = layers_in(function);
        if (layers.size() != codes.size()) throw SamplesError("the network has other layers in another size");
        for (size_t i = 0; i < layers.size(); i++) {
            if (calibration.exact) {
                set(layers[i], codes[i].second);
                add_rest(layers[i], store);
                continue;
            }
            // The cheapest that is good enough: codes that the operation before stores, codes row by row, two products.
            const auto enough = [&](const std::optional<Cost>& cost) {
                return cost && cost->ratio() >= calibration.enough;
            };
            const bool fixed = enough(costs[i].fixed), rows = !fixed && enough(costs[i].rows);
            if (!rows) set(layers[i], fixed ? codes[i].first : codes[i].second);
            if (!calibration.bias_correction) continue;
            const Cost& cost = fixed ? *costs[i].fixed : rows ? *costs[i].rows : *costs[i].many;
            layers[i]->setAttr(kError, mlir::DenseF32ArrayAttr::get(module.getContext(), cost.mean_errors()));
        }
    }
    std::vector<Range> exact;
    for (const auto& [few, many] : codes) exact.push_back(many.range);
    return exact;
}

void choose_and_set_copies(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization) {
    auto functions = module.getOps<mlir::func::FuncOp>();
    if (calibration.copies == 1 || functions.empty() || layers_in(*functions.begin()).empty()) return;
    const std::vector<int> copies = choose_copies(module, store, calibration, optimization);
    for (auto function : functions) {
        const Layers layers = layers_in(function);
        for (size_t i = 0; i < layers.size(); i++)
            layers[i]->setAttr(kCopies, mlir::Builder(module.getContext()).getI32IntegerAttr(copies[i]));
    }
}

class CalibratePass : public mlir::PassWrapper<CalibratePass, mlir::OperationPass<mlir::ModuleOp>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CalibratePass)
    CalibratePass(Calibration calibration, int optimization)
        : calibration_(std::move(calibration)), optimization_(optimization) {}
    llvm::StringRef getName() const override { return "calibrate"; }
    void runOnOperation() override {
        try {
            Store& store = xnn::store_of(&getContext());
            const std::vector<Range> exact = run_and_observe(getOperation(), store, calibration_, optimization_);
            choose_and_set_copies(getOperation(), store, calibration_, optimization_);
            if (calibration_.accuracies != nullptr && !exact.empty())
                *calibration_.accuracies = measure_accuracy(getOperation(), store, calibration_, optimization_, exact);
        } catch (const SamplesError& error) {
            getOperation().emitError("calibration: ") << error.what();
            signalPassFailure();
        }
    }

   private:
    const Calibration calibration_;
    const int optimization_;
};

}  // namespace

std::unique_ptr<mlir::Pass> make_calibrate_pass(Calibration calibration, int optimization) {
    return std::make_unique<CalibratePass>(std::move(calibration), optimization);
}

}  // namespace sidra::compiler
