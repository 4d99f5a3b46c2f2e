// SPDX-License-Identifier: MIT
#include "probe.h"

#include <algorithm>

#include "annotations.h"
#include "build.h"
#include "columns.h"
#include "passes.h"
#include "read.h"
#include "xnn.h"

namespace sidra::compiler {

void set(mlir::Operation* layer, const Codes& codes) {
    mlir::Builder builder(layer->getContext());
    layer->setAttr("range", builder.getDenseF32ArrayAttr({codes.range.low, codes.range.high}));
    layer->setAttr("bits", builder.getI32IntegerAttr(codes.bits));
}

mlir::Value add_rest(mlir::Operation* layer, Store& store) {
    mlir::OpBuilder builder(layer);
    std::vector<float> factors = *read_floats(layer->getOperand(2), store);
    for (float& factor : factors) factor /= kRestUnits;
    builder.setInsertionPointAfter(layer);
    mlir::Operation* const rest = builder.clone(*layer);
    builder.setInsertionPoint(rest);
    rest->setOperand(1, builder.create<xnn::ConstantOp>(layer->getLoc(), layer->getOperand(1).getType(),
                                                        layer->getAttrOfType<xnn::ValuesAttr>(kRest)));
    rest->setOperand(2, columns_constant(builder, layer->getLoc(), store, factors));
    builder.setInsertionPointAfter(rest);
    const mlir::Value sum = xnn::Build(builder, layer->getLoc()).add(layer->getResult(0), rest->getResult(0));
    layer->getResult(0).replaceAllUsesExcept(sum, sum.getDefiningOp());
    return rest->getResult(0);
}

Probe::Probe(mlir::ModuleOp module, Store& store, const Calibration& calibration, int optimization)
    : observed_(module, store), calibration_(calibration), optimization_(optimization) {
    results_.assign(observed_.end()->operand_begin(), observed_.end()->operand_end());
}

size_t Probe::output(mlir::Value value) {
    const auto [place, is_new] = places_.try_emplace(value, results_.size() - observed_.own_outputs());
    if (is_new) {
        xnn::Build build(mlir::OpBuilder(observed_.end()), value.getLoc());
        results_.push_back(build.cast(value, build.f32()));
    }
    return place->second;
}

std::vector<size_t> Probe::own_outputs() {
    std::vector<size_t> places;
    for (size_t i = 0; i < observed_.own_outputs(); i++) places.push_back(output(results_[i]));
    return places;
}

void Probe::replace(mlir::Value value, mlir::Value by) {
    value.replaceAllUsesExcept(by, by.getDefiningOp());
    std::ranges::replace(results_, value, by);
}

void Probe::run(size_t most, const Look& look, sidra_level level, const CallsOptions& calls) {
    mlir::func::FuncOp function = observed_.function();
    observed_.end()->setOperands(results_);
    const llvm::SmallVector<mlir::Type> types(mlir::ValueRange(results_).getTypes());
    function.setType(mlir::FunctionType::get(function.getContext(), function.getArgumentTypes(), types));
    mlir::PassManager passes(function.getContext());
    build_calls_pipeline(passes, optimization_, calls);
    observed_.run(passes, calibration_, most, level, [&](const Model& model) {
        std::vector<std::span<const float>> further;
        for (auto i = static_cast<uint32_t>(observed_.own_outputs()); i < model.variant(0).outputs; i++)
            further.push_back(model.data<const float>(0, model.output(0, i)));
        look(further);
    });
}

}  // namespace sidra::compiler
