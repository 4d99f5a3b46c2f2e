// SPDX-License-Identifier: MIT
// Images of ONNX are channel, height, width, those of the chip height, width, channel. The front end puts a
// transposition before and after each operation on windows; here they move down, until they meet and fold.
#include <mlir/IR/PatternMatch.h>
#include <mlir/Transforms/GreedyPatternRewriteDriver.h>

#include "passes.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::success;
using mlir::Value;
using Permutation = llvm::SmallVector<int64_t>;

RankedTensorType type_of(Value value) { return mlir::cast<RankedTensorType>(value.getType()); }

// A constant, or a view of one.
bool is_constant(Value value) {
    mlir::Operation* op = value.getDefiningOp();
    while (mlir::isa_and_nonnull<xnn::ReshapeOp, xnn::TransposeOp, xnn::BroadcastOp>(op))
        op = op->getOperand(0).getDefiningOp();
    return mlir::isa_and_nonnull<xnn::ConstantOp>(op);
}

Permutation inverse(llvm::ArrayRef<int64_t> permutation) {
    Permutation to(permutation.size());
    for (size_t d = 0; d < to.size(); d++) to[static_cast<size_t>(permutation[d])] = static_cast<int64_t>(d);
    return to;
}

// The shape before a transposition.
llvm::SmallVector<int64_t> before(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> permutation) {
    llvm::SmallVector<int64_t> to(shape.size());
    for (size_t d = 0; d < shape.size(); d++) to[static_cast<size_t>(permutation[d])] = shape[d];
    return to;
}

// A value as it is before the transposition: its input, or the value transposed back.
Value undo(mlir::PatternRewriter& rewriter, mlir::Location location, Value value, llvm::ArrayRef<int64_t> permutation) {
    if (auto transpose = value.getDefiningOp<xnn::TransposeOp>();
        transpose && transpose.getPermutation() == permutation)
        return transpose.getInput();
    RankedTensorType type = type_of(value);
    if (type.getNumElements() == 1 && type.getRank() == 0) return value;
    if (type.getRank() < static_cast<int64_t>(permutation.size())) {
        llvm::SmallVector<int64_t> shape(permutation.size() - static_cast<size_t>(type.getRank()), 1);
        llvm::append_range(shape, type.getShape());
        type = type.clone(shape);
        value = rewriter.create<xnn::ReshapeOp>(location, type, value);
    }
    return rewriter.createOrFold<xnn::TransposeOp>(location, type.clone(before(type.getShape(), permutation)), value,
                                                   inverse(permutation));
}

// f(transpose(a), b) -> transpose(f(a, b transposed back)), if the other operands are transposed in the same way, or
// small.
template <typename Op>
struct BelowElementwise : mlir::OpRewritePattern<Op> {
    using mlir::OpRewritePattern<Op>::OpRewritePattern;

    LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter& rewriter) const override {
        RankedTensorType type = type_of(op->getResult(0));
        xnn::TransposeOp transpose;
        for (const Value operand : op->getOperands())
            if (auto found = operand.getDefiningOp<xnn::TransposeOp>();
                found && type_of(operand).getShape() == type.getShape())
                transpose = found;
        if (!transpose) return failure();
        for (const Value operand : op->getOperands()) {
            auto other = operand.getDefiningOp<xnn::TransposeOp>();
            const bool same = other && other.getPermutation() == transpose.getPermutation();
            // Moving the transposition to another operand of this size would bring nothing, and would never end.
            if (!same && !is_constant(operand) && type_of(operand).getNumElements() * 4 > type.getNumElements())
                return failure();
        }
        const Permutation permutation(transpose.getPermutation());
        llvm::SmallVector<Value> operands;
        for (const Value operand : op->getOperands())
            operands.push_back(undo(rewriter, op.getLoc(), operand, permutation));
        const RankedTensorType inner = type.clone(before(type.getShape(), permutation));
        mlir::OperationState state(op.getLoc(), op->getName());
        state.addOperands(operands);
        state.addTypes(inner);
        state.addAttributes(op->getAttrs());
        mlir::Operation* const moved = rewriter.create(state);
        rewriter.replaceOpWithNewOp<xnn::TransposeOp>(op, type, moved->getResult(0), permutation);
        return success();
    }
};

struct BelowConcat : mlir::OpRewritePattern<xnn::ConcatOp> {
    using OpRewritePattern::OpRewritePattern;

    LogicalResult matchAndRewrite(xnn::ConcatOp op, mlir::PatternRewriter& rewriter) const override {
        auto first = op.getInputs().front().getDefiningOp<xnn::TransposeOp>();
        if (!first) return failure();
        const Permutation permutation(first.getPermutation());
        llvm::SmallVector<Value> inputs;
        for (const Value input : op.getInputs()) {
            auto transpose = input.getDefiningOp<xnn::TransposeOp>();
            if (!transpose || transpose.getPermutation() != llvm::ArrayRef<int64_t>(permutation)) return failure();
            inputs.push_back(transpose.getInput());
        }
        RankedTensorType type = op.getType();
        const Value moved =
            rewriter.create<xnn::ConcatOp>(op.getLoc(), type.clone(before(type.getShape(), permutation)), inputs,
                                           static_cast<uint64_t>(permutation[op.getAxis()]));
        rewriter.replaceOpWithNewOp<xnn::TransposeOp>(op, type, moved, permutation);
        return success();
    }
};

class LayoutPass : public mlir::PassWrapper<LayoutPass, mlir::OperationPass<>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LayoutPass)
    llvm::StringRef getArgument() const override { return "xnn-layout"; }
    llvm::StringRef getDescription() const override { return "transpositions move until they cancel each other"; }
    void runOnOperation() override {
        mlir::RewritePatternSet patterns(&getContext());
        patterns.add<BelowElementwise<xnn::UnaryOp>, BelowElementwise<xnn::BinaryOp>, BelowElementwise<xnn::SelectOp>,
                     BelowElementwise<xnn::CastOp>, BelowConcat>(&getContext());
        if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
    }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_layout_pass() { return std::make_unique<LayoutPass>(); }

}  // namespace sidra::compiler
