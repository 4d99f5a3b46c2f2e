// SPDX-License-Identifier: MIT
// Layers whose input has a range that is known get codes instead of floats. The codes are computed as early as
// possible: by the program of the layer before, behind which only codes are moved.
#include <mlir/IR/PatternMatch.h>
#include <mlir/Transforms/GreedyPatternRewriteDriver.h>

#include <algorithm>
#include <cmath>

#include "annotations.h"
#include "build.h"
#include "columns.h"
#include "passes.h"
#include "read.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::success;
using mlir::Value;

// The codes of a range of floats, which contains 0: step and code of 0.
struct Step {
    float step;
    int32_t zero;
};
Step step_of(llvm::ArrayRef<float> range, int32_t largest) {
    const float low = std::min(range[0], 0.0f), high = std::max(range[1], 0.0f);
    const float step = std::max((high - low) / static_cast<float>(largest), 1e-30f);
    return {step, static_cast<int32_t>(std::nearbyint(-low / step))};
}

mlir::Value times(mlir::OpBuilder& builder, mlir::Location location, Store& store, Value factors, double by) {
    std::vector<float> values = *read_floats(factors, store);
    for (float& value : values) value = static_cast<float>(value * by);
    return columns_constant(builder, location, store, values);
}

// The layer again, with codes as its input.
xnn::LinearOp with_codes(mlir::OpBuilder& builder, xnn::LinearOp layer, Value codes, Value factors, int32_t zero) {
    return builder.create<xnn::LinearOp>(layer.getLoc(), layer.getType(), codes, layer.getWeights(), factors,
                                         builder.getI32IntegerAttr(zero), mlir::DenseF32ArrayAttr());
}
xnn::ConvLayerOp with_codes(mlir::OpBuilder& builder, xnn::ConvLayerOp layer, Value codes, Value factors,
                            int32_t zero) {
    return builder.create<xnn::ConvLayerOp>(layer.getLoc(), layer.getType(), codes, layer.getWeights(), factors,
                                            layer.getWindows(), builder.getI32IntegerAttr(zero),
                                            mlir::DenseF32ArrayAttr());
}
template <typename Layer>
Value layer_of(mlir::OpBuilder& builder, Layer layer, Value codes, Value factors, int32_t zero) {
    Layer result = with_codes(builder, layer, codes, factors, zero);
    result.setCopy(layer.getCopy());
    if (const mlir::Attribute copies = layer->getAttr(kCopies)) result->setAttr(kCopies, copies);
    return result;
}

// What a calibration has found that codes add to the columns of a layer's results (kError).
Value minus_error(xnn::Build& b, mlir::Operation* layer, Store& store) {
    std::vector<float> term(layer->getAttrOfType<mlir::DenseF32ArrayAttr>(kError).asArrayRef());
    for (float& value : term) value = -value;
    return columns_constant(b.builder(), layer->getLoc(), store, term);
}

template <typename Layer>
struct LayerOfCodes : mlir::OpRewritePattern<Layer> {
    LayerOfCodes(mlir::MLIRContext* context, Store& values) : mlir::OpRewritePattern<Layer>(context), store(values) {}

    LogicalResult matchAndRewrite(Layer op, mlir::PatternRewriter& rewriter) const override {
        const auto range = op.getRange();
        if (!range || !read_floats(op.getScale(), store)) return failure();
        xnn::Build b(rewriter, op.getLoc());
        const Value input = b.cast(op.getInput(), b.f32());
        const auto type = xnn::Build::type_of(input).clone(rewriter.getIntegerType(8, false));
        if (op.getBits() == 8) {
            const Step s = step_of(*range, 255);
            const Value codes = rewriter.create<xnn::QuantiseOp>(
                op.getLoc(), type, input, rewriter.getF32FloatAttr(s.step), rewriter.getI32IntegerAttr(s.zero));
            const Value factors = times(rewriter, op.getLoc(), store, op.getScale(), s.step);
            rewriter.replaceOp(op, without_error(b, op, layer_of(rewriter, op, codes, factors, s.zero)));
            return success();
        }
        // Two codes for the halves of one of 16 bits: the upper one's 0 is that of the whole, which has no lower half.
        Step s = step_of(*range, 65535 - 256);
        s.zero = (s.zero + 255) / 256 * 256;
        const Value scaled = b.add(b.mul(input, 1.0 / s.step), static_cast<double>(s.zero));
        const Value whole = b.cast(b.min(b.max(scaled, 0.0), 65535.0), b.integer(32), true);
        const Value upper = b.cast(b.binary(xnn::Binary::shr, whole, 8), type.getElementType());
        const Value lower = b.cast(b.binary(xnn::Binary::bit_and, whole, 255), type.getElementType());
        const Value high = layer_of(rewriter, op, upper,
                                    times(rewriter, op.getLoc(), store, op.getScale(), 256.0 * s.step), s.zero / 256);
        const Value low = layer_of(rewriter, op, lower, times(rewriter, op.getLoc(), store, op.getScale(), s.step), 0);
        rewriter.replaceOp(op, b.add(high, without_error(b, op, low)));
        return success();
    }

    // With a term that folds into the one that the layer has.
    Value without_error(xnn::Build& b, Layer op, Value result) const {
        return op->hasAttr(kError) ? b.add(result, minus_error(b, op, store)) : result;
    }

    Store& store;
};

// Layers whose rows get codes of their own have an error, too.
struct WithoutErrorOfRows : mlir::OpRewritePattern<xnn::LinearOp> {
    WithoutErrorOfRows(mlir::MLIRContext* context, Store& values) : OpRewritePattern(context), store(values) {}

    LogicalResult matchAndRewrite(xnn::LinearOp op, mlir::PatternRewriter& rewriter) const override {
        if (op.getRange() || !op->hasAttr(kError)) return failure();
        xnn::Build b(rewriter, op.getLoc());
        mlir::Operation* const layer = rewriter.clone(*op);
        layer->removeAttr(kError);
        rewriter.replaceOp(op, b.add(layer->getResult(0), minus_error(b, op, store)));
        return success();
    }

    Store& store;
};

// quantise(move(x)) = move(quantise(x)), where nothing needs the moved floats.
struct MoveUp : mlir::OpRewritePattern<xnn::QuantiseOp> {
    using OpRewritePattern::OpRewritePattern;

    LogicalResult matchAndRewrite(xnn::QuantiseOp op, mlir::PatternRewriter& rewriter) const override {
        mlir::Operation* const from = op.getInput().getDefiningOp();
        if (from == nullptr || !llvm::all_of(from->getUsers(), [&](mlir::Operation* user) {
                auto other = mlir::dyn_cast<xnn::QuantiseOp>(user);
                return other && other.getStep() == op.getStep() && other.getZero() == op.getZero();
            }))
            return failure();
        auto pool = mlir::dyn_cast<xnn::PoolOp>(from);
        const bool largest = pool && pool.getFunction() == xnn::Pooling::max;
        if (!largest &&
            !mlir::isa<xnn::ReshapeOp, xnn::TransposeOp, xnn::SliceOp, xnn::BroadcastOp, xnn::ConcatOp>(from))
            return failure();
        llvm::SmallVector<Value> codes;
        for (const Value operand : from->getOperands()) {
            const auto type = mlir::cast<RankedTensorType>(operand.getType()).clone(op.getType().getElementType());
            codes.push_back(
                rewriter.create<xnn::QuantiseOp>(op.getLoc(), type, operand, op.getStepAttr(), op.getZeroAttr()));
        }
        mlir::OperationState state(from->getLoc(), from->getName(), codes, op.getType(), from->getAttrs());
        rewriter.replaceOp(op, rewriter.create(state));
        return success();
    }
};

// Codes end at 0, so what cuts values off there is not needed.
struct WithoutRelu : mlir::OpRewritePattern<xnn::QuantiseOp> {
    using OpRewritePattern::OpRewritePattern;

    LogicalResult matchAndRewrite(xnn::QuantiseOp op, mlir::PatternRewriter& rewriter) const override {
        auto max = op.getInput().getDefiningOp<xnn::BinaryOp>();
        if (op.getZero() != 0 || !max || max.getFunction() != xnn::Binary::max || !max->hasOneUse()) return failure();
        for (const auto& [value, other] : {std::pair{max.getLhs(), max.getRhs()}, {max.getRhs(), max.getLhs()}}) {
            auto constant = other.getDefiningOp<xnn::ConstantOp>();
            const auto elements = constant ? mlir::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
            if (!elements || !elements.isSplat() || !elements.getSplatValue<llvm::APFloat>().isZero() ||
                value.getType() != max.getType())
                continue;
            rewriter.modifyOpInPlace(op, [&, value = value] { op.getInputMutable().assign(value); });
            return success();
        }
        return failure();
    }
};

// As a product, a sum and a cast, which the program before can do.
struct SpellOut : mlir::OpRewritePattern<xnn::QuantiseOp> {
    using OpRewritePattern::OpRewritePattern;

    LogicalResult matchAndRewrite(xnn::QuantiseOp op, mlir::PatternRewriter& rewriter) const override {
        xnn::Build b(rewriter, op.getLoc());
        Value value = b.mul(op.getInput(), 1.0 / op.getStep().convertToFloat());
        if (op.getZero() != 0) value = b.add(value, static_cast<double>(op.getZero()));
        rewriter.replaceOp(op, b.cast(value, op.getType().getElementType(), true));
        return success();
    }
};

class QuantisePass : public mlir::PassWrapper<QuantisePass, mlir::OperationPass<>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(QuantisePass)
    llvm::StringRef getArgument() const override { return "xnn-quantise"; }
    llvm::StringRef getDescription() const override { return "layers with a known range of inputs get codes"; }
    void runOnOperation() override {
        Store& store = xnn::store_of(&getContext());
        const bool wrong = getOperation()
                               ->walk([](mlir::Operation* op) {
                                   const auto error = op->getAttrOfType<mlir::DenseF32ArrayAttr>(kError);
                                   if (!error || !mlir::isa<xnn::LinearOp, xnn::ConvLayerOp>(op) ||
                                       error.size() == xnn::Build::shape_of(op->getResult(0)).back())
                                       return mlir::WalkResult::advance();
                                   op->emitOpError("needs the mean error of each column");
                                   return mlir::WalkResult::interrupt();
                               })
                               .wasInterrupted();
        if (wrong) return signalPassFailure();
        mlir::RewritePatternSet codes(&getContext()), sums(&getContext());
        codes.add<LayerOfCodes<xnn::LinearOp>, LayerOfCodes<xnn::ConvLayerOp>>(&getContext(), store);
        codes.add<WithoutErrorOfRows>(&getContext(), store);
        codes.add<MoveUp, WithoutRelu>(&getContext());
        sums.add<SpellOut>(&getContext());
        add_column_patterns(sums, store);
        if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(codes))) ||
            mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(sums))))
            signalPassFailure();
    }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_quantise_pass() { return std::make_unique<QuantisePass>(); }

}  // namespace sidra::compiler
