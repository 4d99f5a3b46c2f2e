// SPDX-License-Identifier: MIT
#include "calibrate.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <algorithm>
#include <cmath>
#include <span>

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
        all.push_back({{observers[output].range(calibration.method), 8}, {observers[output].range(Method::kMinMax), 16}});
    return all;
}

// How much too large the columns of a layer's results are on average.
class MeanError {
   public:
    explicit MeanError(mlir::Operation* layer)
        : sums_(static_cast<size_t>(mlir::cast<mlir::RankedTensorType>(layer->getResult(0).getType()).getShape().back())),
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

// What 8 bits cost a layer.
struct Precision {
    double ratio = 0;              // signal to noise of its results, in decibels
    std::vector<float> few, many;  // their mean errors with inputs of 8 and of 16 bits; without bias correction: none
};

// Each layer computes once with inputs of 16 bits, with which the network goes on, and once with 8. For the bias
// correction it goes on with weights of 16 bits, too.
std::vector<Precision> precision(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization,
                                 const std::vector<std::pair<Codes, Codes>>& codes) {
    const size_t runs = calibration.bias_correction ? 32 : 8;
    Probe probe(module, store, calibration, optimization);
    const Layers layers = probe.layers();
    struct Outputs {
        size_t few, many, rest;
    };
    std::vector<Outputs> outputs;
    std::vector<MeanError> few_errors, many_errors;
    for (size_t i = 0; i < layers.size(); i++) {
        mlir::OpBuilder builder(layers[i]);
        builder.setInsertionPointAfter(layers[i]);
        mlir::Operation* const twin = builder.clone(*layers[i]);
        set(twin, codes[i].first);
        set(layers[i], codes[i].second);
        outputs.push_back({probe.output(twin->getResult(0)), probe.output(layers[i]->getResult(0)), 0});
        few_errors.emplace_back(layers[i]);
        many_errors.emplace_back(layers[i]);
        if (calibration.bias_correction) outputs.back().rest = probe.output(add_rest(layers[i], store));
    }
    std::vector<double> signal(layers.size()), noise(layers.size());
    probe.run(runs, [&](const std::vector<std::span<const float>>& values) {
        for (size_t i = 0; i < layers.size(); i++) {
            const std::span<const float> few = values[outputs[i].few], many = values[outputs[i].many];
            for (size_t j = 0; j < few.size(); j++) {
                const double error = static_cast<double>(few[j]) - many[j];
                signal[i] += static_cast<double>(many[j]) * many[j];
                noise[i] += error * error;
                if (!calibration.bias_correction) continue;
                const double rest = values[outputs[i].rest][j];
                few_errors[i].add(j, error - rest);
                many_errors[i].add(j, -rest);
            }
        }
    });
    std::vector<Precision> all;
    for (size_t i = 0; i < layers.size(); i++) {
        all.push_back({noise[i] == 0 ? INFINITY : 10 * std::log10(signal[i] / noise[i]), {}, {}});
        if (calibration.bias_correction) all.back().few = few_errors[i].columns(), all.back().many = many_errors[i].columns();
    }
    return all;
}

void run_and_observe(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization) {
    auto functions = module.getOps<mlir::func::FuncOp>();
    if (functions.empty() || layers_of(*functions.begin()).empty()) return;
    const auto codes = ranges(module, store, calibration, optimization);
    std::vector<Precision> costs;
    if (!calibration.exact) costs = precision(module, store, calibration, optimization, codes);
    for (auto function : functions) {
        const Layers layers = layers_of(function);
        if (layers.size() != codes.size()) throw SamplesError("the network has other layers in another size");
        for (size_t i = 0; i < layers.size(); i++) {
            const bool many = calibration.exact || costs[i].ratio < calibration.enough;
            set(layers[i], many ? codes[i].second : codes[i].first);
            if (calibration.exact) add_rest(layers[i], store);
            else if (calibration.bias_correction)
                layers[i]->setAttr(kError, mlir::DenseF32ArrayAttr::get(module.getContext(), many ? costs[i].many : costs[i].few));
        }
    }
}

void choose_and_set_copies(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization) {
    auto functions = module.getOps<mlir::func::FuncOp>();
    if (calibration.copies == 1 || functions.empty() || layers_of(*functions.begin()).empty()) return;
    const std::vector<int> copies = choose_copies(module, store, calibration, optimization);
    for (auto function : functions) {
        const Layers layers = layers_of(function);
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
            run_and_observe(getOperation(), store, calibration_, optimization_);
            choose_and_set_copies(getOperation(), store, calibration_, optimization_);
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
