// SPDX-License-Identifier: MIT
#include "calibrate.h"

#include <fmt/format.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Pass/PassManager.h>
#include <sidra/sidra.hpp>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "build.h"
#include "emit.h"
#include "passes.h"
#include "store.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

// What is wrong with the samples or with a run.
struct CalibrationError : std::runtime_error {
    using runtime_error::runtime_error;
};

using Layers = std::vector<mlir::Operation*>;

Layers layers_of(mlir::func::FuncOp function) {
    Layers layers;
    function.walk([&](mlir::Operation* op) {
        if (mlir::isa<xnn::LinearOp, xnn::ConvLayerOp>(op)) layers.push_back(op);
    });
    return layers;
}

// The network with the layers' inputs as outputs behind its own: which one is that of each layer.
std::vector<size_t> observe(mlir::func::FuncOp function) {
    mlir::Operation* const end = function.getBody().front().getTerminator();
    llvm::SmallVector<mlir::Value> results(end->getOperands());
    llvm::DenseMap<mlir::Value, size_t> places;
    std::vector<size_t> of_layers;
    for (mlir::Operation* const layer : layers_of(function)) {
        const mlir::Value input = layer->getOperand(0);
        const auto [place, is_new] = places.try_emplace(input, results.size());
        of_layers.push_back(place->second);
        if (!is_new) continue;
        xnn::Build build(mlir::OpBuilder(end), layer->getLoc());
        results.push_back(build.cast(input, build.f32()));
    }
    end->setOperands(results);
    llvm::SmallVector<mlir::Type> types(mlir::ValueRange(results).getTypes());
    function.setType(mlir::FunctionType::get(function.getContext(), function.getArgumentTypes(), types));
    return of_layers;
}

// A folder that goes away with its content.
class Folder {
   public:
    Folder() : path_(std::filesystem::temp_directory_path() / "sidra-calibrate-XXXXXX") {
        std::string name = path_.string();
        if (::mkdtemp(name.data()) == nullptr)
            throw CalibrationError(fmt::format("calibration needs a temporary folder, but {} cannot be made", name));
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string file(const char* name) const { return path_ / name; }

   private:
    std::filesystem::path path_;
};

// The samples in the order of the model's inputs, and how many runs they are for.
std::vector<const Samples*> ordered(const Model& model, const std::vector<Samples>& samples, size_t& runs) {
    const uint32_t inputs = model.variant(0).inputs;
    std::vector<const Samples*> all(inputs);
    std::string names;
    for (uint32_t i = 0; i < inputs; i++) names += fmt::format("{}{}", i == 0 ? "" : ", ", model.input(0, i).name);
    for (const Samples& s : samples) {
        uint32_t i = 0;
        // A single set without a name is that of the only input.
        while (i < inputs && s.input != model.input(0, i).name && !(s.input.empty() && inputs == 1)) i++;
        if (i == inputs)
            throw CalibrationError(s.input.empty()
                                       ? fmt::format("the network has several inputs, so samples need the name of one: {}", names)
                                       : fmt::format("samples for the input '{}', but the network has: {}", s.input, names));
        if (all[i] != nullptr) throw CalibrationError(fmt::format("two sets of samples for the input '{}'", s.input));
        all[i] = &s;
    }
    runs = SIZE_MAX;
    for (uint32_t i = 0; i < inputs; i++) {
        const sidra_model_tensor tensor = model.input(0, i);
        if (all[i] == nullptr) throw CalibrationError(fmt::format("no samples for the input '{}'", tensor.name));
        if (all[i]->type != static_cast<uint32_t>(tensor.type))
            throw CalibrationError(fmt::format("the samples for the input '{}' have another type than it", tensor.name));
        runs = std::min(runs, all[i]->data.size() / tensor.bytes);
        if (runs == 0)
            throw CalibrationError(fmt::format("the samples for the input '{}' have {} bytes, but one run needs {}", tensor.name,
                                               all[i]->data.size(), tensor.bytes));
    }
    return all;
}

void run_and_observe(mlir::ModuleOp module, Store& store, const Calibration& calibration) {
    mlir::OwningOpRef<mlir::ModuleOp> probe = module.clone();
    llvm::SmallVector<mlir::func::FuncOp> functions(probe->getOps<mlir::func::FuncOp>());
    if (functions.empty()) return;
    for (mlir::func::FuncOp other : llvm::ArrayRef(functions).drop_front()) other.erase();
    const uint32_t own = functions.front().getNumResults();
    const std::vector<size_t> of_layers = observe(functions.front());
    if (of_layers.empty()) return;

    mlir::PassManager passes(module.getContext());
    build_calls_pipeline(passes);
    if (mlir::failed(passes.run(*probe))) throw CalibrationError("the network that is observed cannot be compiled");
    const Folder folder;
    const std::string file = folder.file("observed.sidra");
    std::map<size_t, Observer> observers;
    try {
        emit(*probe, store, {"calibration", "calibration", ""}, file);
        sidra_device_options options{};
        options.private_chip = true;
        const Device device = Device::open(0, options);
        const Context context(device);
        Stream stream(context);
        const Model model(context, file);
        size_t runs = 0;
        const std::vector<const Samples*> samples = ordered(model, calibration.samples, runs);
        stream.deploy(model);
        std::vector<const void*> inputs(samples.size());
        std::vector<void*> outputs(model.variant(0).outputs);  // they stay in the model's memory
        for (size_t run = 0; run < runs; run++) {
            if (calibration.progress) calibration.progress(run, runs);
            for (uint32_t i = 0; i < samples.size(); i++)
                inputs[i] = samples[i]->data.data() + run * model.input(0, i).bytes;
            stream.run(model, 0, inputs, outputs);
            for (uint32_t i = own; i < outputs.size(); i++) observers[i].add(model.data<const float>(0, model.output(0, i)));
        }
        if (calibration.progress) calibration.progress(runs, runs);
    } catch (const Error& error) {
        throw CalibrationError(error.what());
    } catch (const EmitError& error) {
        throw CalibrationError(error.what());
    }

    std::map<size_t, std::pair<Range, int>> results;
    for (const auto& [place, observer] : observers) {
        const Range range = observer.range(calibration.method);
        results[place] = {range, observer.signal_to_noise(range, 256) < calibration.enough ? 16 : 8};
    }
    for (auto function : module.getOps<mlir::func::FuncOp>()) {
        const Layers layers = layers_of(function);
        if (layers.size() != of_layers.size()) throw CalibrationError("the network has other layers in another size");
        for (size_t i = 0; i < layers.size(); i++) {
            const auto& [range, bits] = results.at(of_layers[i]);
            mlir::Builder builder(module.getContext());
            // 16 bits have room for all values.
            layers[i]->setAttr("range", builder.getDenseF32ArrayAttr({range.low, range.high}));
            layers[i]->setAttr("bits", builder.getI32IntegerAttr(bits));
        }
    }
}

class CalibratePass : public mlir::PassWrapper<CalibratePass, mlir::OperationPass<mlir::ModuleOp>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CalibratePass)
    explicit CalibratePass(Calibration calibration) : calibration_(std::move(calibration)) {}
    llvm::StringRef getName() const override { return "calibrate"; }
    void runOnOperation() override {
        try {
            run_and_observe(getOperation(), xnn::store_of(&getContext()), calibration_);
        } catch (const CalibrationError& error) {
            getOperation().emitError("calibration: ") << error.what();
            signalPassFailure();
        }
    }

   private:
    Calibration calibration_;
};

}  // namespace

std::unique_ptr<mlir::Pass> make_calibrate_pass(Calibration calibration) {
    return std::make_unique<CalibratePass>(std::move(calibration));
}

}  // namespace sidra::compiler
