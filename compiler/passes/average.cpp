// SPDX-License-Identifier: MIT
// Each layer several times, on crossbars of their own, and the mean of the results: errors of cells and noise of
// products that are independent of each other become smaller by the root of the number.
#include "annotations.h"
#include "build.h"
#include "columns.h"
#include "passes.h"
#include "read.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

class AveragePass : public mlir::PassWrapper<AveragePass, mlir::OperationPass<>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AveragePass)
    AveragePass() = default;
    AveragePass(const AveragePass& other) : PassWrapper(other) {}
    explicit AveragePass(int copies) { copies_ = copies; }
    llvm::StringRef getArgument() const override { return "xnn-average"; }
    llvm::StringRef getDescription() const override { return "layers become the mean of several copies"; }

    void runOnOperation() override {
        if (copies_ < 1) {
            getOperation()->emitError("needs at least one copy of each layer");
            return signalPassFailure();
        }
        for (mlir::Operation* const layer : layers_in(getOperation())) {
            const auto own = layer->getAttrOfType<mlir::IntegerAttr>(kCopies);
            layer->removeAttr(kCopies);
            if (const int copies = own ? static_cast<int>(own.getInt()) : copies_; copies > 1) average(layer, copies);
        }
    }

   private:
    void average(mlir::Operation* layer, int copies) {
        Store& store = xnn::store_of(&getContext());
        auto factors = read_floats(layer->getOperand(2), store);
        if (!factors) return;
        for (float& factor : *factors) factor /= static_cast<float>(copies);
        mlir::OpBuilder builder(layer);
        layer->setOperand(2, columns_constant(builder, layer->getLoc(), store, *factors));
        builder.setInsertionPointAfter(layer);
        xnn::Build build(builder, layer->getLoc());
        mlir::Value sum = layer->getResult(0);
        mlir::SmallPtrSet<mlir::Operation*, 8> own{layer};
        for (int i = 1; i < copies; i++) {
            mlir::Operation* const copy = build.builder().clone(*layer);
            copy->setAttr("copy", builder.getI32IntegerAttr(i));
            sum = build.add(copy->getResult(0), sum);
            own.insert(sum.getDefiningOp());
        }
        layer->getResult(0).replaceAllUsesExcept(sum, own);
    }

    Option<int> copies_{*this, "copies", llvm::cl::desc("of each layer that does not say how many it has"),
                        llvm::cl::init(1)};
};

}  // namespace

std::unique_ptr<mlir::Pass> make_average_pass(int copies) { return std::make_unique<AveragePass>(copies); }

}  // namespace sidra::compiler
