// SPDX-License-Identifier: MIT
#include "calibrate.h"

#include <fmt/format.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Pass/PassManager.h>
#include <sidra/sidra.hpp>

#include <algorithm>
#include <cmath>
#include <span>

#include "build.h"
#include "emit.h"
#include "passes.h"
#include "samples.h"
#include "store.h"
#include "temporary.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

using Layers = std::vector<mlir::Operation*>;

Layers layers_of(mlir::func::FuncOp function) {
    Layers layers;
    function.walk([&](mlir::Operation* op) {
        if (mlir::isa<xnn::LinearOp, xnn::ConvLayerOp>(op)) layers.push_back(op);
    });
    return layers;
}

// The network with further outputs behind its own.
class Probe {
   public:
    Probe(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization)
        : module_(module.clone()), store_(store), calibration_(calibration), optimization_(optimization) {
        llvm::SmallVector<mlir::func::FuncOp> functions(module_->getOps<mlir::func::FuncOp>());
        function_ = functions.front();
        for (mlir::func::FuncOp other : llvm::ArrayRef(functions).drop_front()) other.erase();
        results_.assign(end()->operand_begin(), end()->operand_end());
        own_ = results_.size();
    }

    Layers layers() { return layers_of(function_); }

    // Which of the further outputs a value is.
    size_t output(mlir::Value value) {
        const auto [place, is_new] = places_.try_emplace(value, results_.size() - own_);
        if (is_new) {
            xnn::Build build(mlir::OpBuilder(end()), value.getLoc());
            results_.push_back(build.cast(value, build.f32()));
        }
        return place->second;
    }

    // Runs it with up to so many samples, and gives the further outputs of each run.
    using Look = std::function<void(const std::vector<std::span<const float>>&)>;
    void run(size_t most, const Look& look);

   private:
    mlir::Operation* end() { return function_.getBody().front().getTerminator(); }

    mlir::OwningOpRef<mlir::ModuleOp> module_;
    Store& store_;
    const Calibration& calibration_;
    const int optimization_;
    mlir::func::FuncOp function_;
    llvm::SmallVector<mlir::Value> results_;
    size_t own_ = 0;
    llvm::DenseMap<mlir::Value, size_t> places_;
};

void Probe::run(size_t most, const Look& look) {
    end()->setOperands(results_);
    const llvm::SmallVector<mlir::Type> types(mlir::ValueRange(results_).getTypes());
    function_.setType(mlir::FunctionType::get(function_.getContext(), function_.getArgumentTypes(), types));
    mlir::PassManager passes(module_->getContext());
    build_calls_pipeline(passes, optimization_);
    if (mlir::failed(passes.run(*module_))) throw SamplesError("the network that is observed cannot be compiled");
    const Folder folder;
    const std::string file = folder.file("observed.sidra");
    try {
        emit(*module_, store_, {"calibration", "calibration", ""}, file);
    } catch (const EmitError& error) {
        throw SamplesError(error.what());
    }
    run_samples(file, calibration_.samples, SIDRA_LEVEL_FAST, most, calibration_.progress, [&](const Model& model) {
        std::vector<std::span<const float>> further;
        for (auto i = static_cast<uint32_t>(own_); i < model.variant(0).outputs; i++)
            further.push_back(model.data<const float>(0, model.output(0, i)));
        look(further);
    });
}

struct Codes {
    Range range;
    int bits = 8;
};

void set(mlir::Operation* layer, const Codes& codes) {
    mlir::Builder builder(layer->getContext());
    layer->setAttr("range", builder.getDenseF32ArrayAttr({codes.range.low, codes.range.high}));
    layer->setAttr("bits", builder.getI32IntegerAttr(codes.bits));
}

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

// The signal-to-noise ratio that 8 bits leave of each layer's results, in decibels: each layer computes once with 16 bits,
// with which the network goes on, and once with 8.
std::vector<double> sensitivity(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization,
                                const std::vector<std::pair<Codes, Codes>>& codes) {
    constexpr size_t kRuns = 8;
    Probe probe(module, store, calibration, optimization);
    const Layers layers = probe.layers();
    std::vector<std::pair<size_t, size_t>> outputs;
    for (size_t i = 0; i < layers.size(); i++) {
        mlir::OpBuilder builder(layers[i]);
        builder.setInsertionPointAfter(layers[i]);
        mlir::Operation* const twin = builder.clone(*layers[i]);
        set(twin, codes[i].first);
        set(layers[i], codes[i].second);
        outputs.emplace_back(probe.output(twin->getResult(0)), probe.output(layers[i]->getResult(0)));
    }
    std::vector<double> signal(layers.size()), noise(layers.size());
    probe.run(kRuns, [&](const std::vector<std::span<const float>>& values) {
        for (size_t i = 0; i < layers.size(); i++) {
            const std::span<const float> few = values[outputs[i].first], many = values[outputs[i].second];
            for (size_t j = 0; j < few.size(); j++) {
                signal[i] += static_cast<double>(many[j]) * many[j];
                noise[i] += (static_cast<double>(few[j]) - many[j]) * (static_cast<double>(few[j]) - many[j]);
            }
        }
    });
    std::vector<double> ratios;
    for (size_t i = 0; i < layers.size(); i++)
        ratios.push_back(noise[i] == 0 ? INFINITY : 10 * std::log10(signal[i] / noise[i]));
    return ratios;
}

void run_and_observe(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization) {
    auto functions = module.getOps<mlir::func::FuncOp>();
    if (functions.empty() || layers_of(*functions.begin()).empty()) return;
    const auto codes = ranges(module, store, calibration, optimization);
    const std::vector<double> ratios = sensitivity(module, store, calibration, optimization, codes);
    for (auto function : functions) {
        const Layers layers = layers_of(function);
        if (layers.size() != codes.size()) throw SamplesError("the network has other layers in another size");
        for (size_t i = 0; i < layers.size(); i++)
            set(layers[i], ratios[i] < calibration.enough ? codes[i].second : codes[i].first);
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
            run_and_observe(getOperation(), xnn::store_of(&getContext()), calibration_, optimization_);
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
