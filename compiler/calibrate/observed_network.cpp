// SPDX-License-Identifier: MIT
#include "observed_network.h"

#include "calibrate.h"
#include "emit.h"
#include "passes.h"
#include "temporary.h"

namespace sidra::compiler {

ObservedNetwork::ObservedNetwork(mlir::ModuleOp module, Store& store) : module_(module.clone()), store_(store) {
    llvm::SmallVector<mlir::func::FuncOp> functions(module_->getOps<mlir::func::FuncOp>());
    function_ = functions.front();
    for (mlir::func::FuncOp other : llvm::ArrayRef(functions).drop_front()) other.erase();
    own_ = function_.getNumResults();
}

void ObservedNetwork::run(mlir::PassManager& passes, const Calibration& calibration, size_t most, sidra_level level,
                          const std::function<void(const Model&)>& look) {
    build_memory_pipeline(passes);
    if (mlir::failed(passes.run(*module_))) throw SamplesError("the network that is observed cannot be compiled");
    const Folder folder;
    const std::string file = folder.file("observed.sidra");
    try {
        emit(*module_, store_, {"calibration", "calibration", ""}, file);
    } catch (const EmitError& error) {
        throw SamplesError(error.what());
    }
    run_samples(file, calibration.samples, level, most, calibration.progress, look);
}

}  // namespace sidra::compiler
