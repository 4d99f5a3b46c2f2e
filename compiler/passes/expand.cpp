// SPDX-License-Identifier: MIT
// A convolution whose filters are not constant is the sum of the products with each pixel of the filters.
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

struct ConvByPixels : mlir::OpRewritePattern<xnn::ConvOp> {
    using OpRewritePattern::OpRewritePattern;

    LogicalResult matchAndRewrite(xnn::ConvOp op, mlir::PatternRewriter& rewriter) const override {
        const mlir::Location location = op.getLoc();
        const xnn::WindowsAttr w = op.getWindows();
        Value input = op.getInput();
        auto type = mlir::cast<RankedTensorType>(input.getType());
        const RankedTensorType out = op.getType();
        const mlir::Type element = type.getElementType();
        if (llvm::any_of(w.getBefore(), [](int64_t n) { return n > 0; }) ||
            llvm::any_of(w.getAfter(), [](int64_t n) { return n > 0; })) {
            llvm::SmallVector<int64_t> shape(type.getShape());
            for (size_t d = 0; d < 2; d++) shape[d + 1] += w.getBefore()[d] + w.getAfter()[d];
            type = type.clone(shape);
            input = rewriter.create<xnn::PadOp>(location, type, input,
                                                llvm::ArrayRef<int64_t>{0, w.getBefore()[0], w.getBefore()[1], 0},
                                                llvm::ArrayRef<int64_t>{0, w.getAfter()[0], w.getAfter()[1], 0},
                                                mlir::cast<mlir::TypedAttr>(rewriter.getZeroAttr(element)));
        }
        const auto groups = static_cast<int64_t>(op.getGroups());
        const int64_t images = out.getDimSize(0), rows = out.getDimSize(1), columns = out.getDimSize(2);
        const int64_t channels = type.getShape().back() / groups, filters = out.getShape().back() / groups;
        // The sum, as groups x (images * rows * columns) x filters.
        const int64_t pixels = images * rows * columns;
        const auto sums =
            RankedTensorType::get({groups, pixels, filters}, element.isInteger() ? rewriter.getI32Type() : element);
        Value sum;
        for (int64_t i = 0; i < w.getKernel()[0]; i++)
            for (int64_t j = 0; j < w.getKernel()[1]; j++) {
                Value part = rewriter.create<xnn::SliceOp>(
                    location, RankedTensorType::get({images, rows, columns, groups * channels}, element), input,
                    llvm::ArrayRef<int64_t>{0, i * w.getDilation()[0], j * w.getDilation()[1], 0},
                    llvm::ArrayRef<int64_t>{1, w.getStride()[0], w.getStride()[1], 1});
                part = rewriter.create<xnn::ReshapeOp>(
                    location, RankedTensorType::get({pixels, groups, channels}, element), part);
                part = rewriter.create<xnn::TransposeOp>(location,
                                                         RankedTensorType::get({groups, pixels, channels}, element),
                                                         part, llvm::ArrayRef<int64_t>{1, 0, 2});
                Value filter = rewriter.create<xnn::SliceOp>(
                    location, RankedTensorType::get({1, 1, channels, groups * filters}, element), op.getFilters(),
                    llvm::ArrayRef<int64_t>{i, j, 0, 0}, llvm::ArrayRef<int64_t>{1, 1, 1, 1});
                filter = rewriter.create<xnn::ReshapeOp>(
                    location, RankedTensorType::get({channels, groups, filters}, element), filter);
                filter = rewriter.create<xnn::TransposeOp>(location,
                                                           RankedTensorType::get({groups, channels, filters}, element),
                                                           filter, llvm::ArrayRef<int64_t>{1, 0, 2});
                const Value product = rewriter.create<xnn::MatmulOp>(location, sums, part, filter);
                sum = !sum ? product
                           : rewriter.create<xnn::BinaryOp>(location, sums, xnn::Binary::add, product, sum).getResult();
            }
        sum = rewriter.create<xnn::TransposeOp>(location,
                                                RankedTensorType::get({pixels, groups, filters}, sums.getElementType()),
                                                sum, llvm::ArrayRef<int64_t>{1, 0, 2});
        rewriter.replaceOpWithNewOp<xnn::ReshapeOp>(op, out, sum);
        return success();
    }
};

class ExpandPass : public mlir::PassWrapper<ExpandPass, mlir::OperationPass<>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandPass)
    llvm::StringRef getArgument() const override { return "xnn-expand"; }
    llvm::StringRef getDescription() const override {
        return "what the chip has no call for becomes several operations";
    }
    void runOnOperation() override {
        mlir::RewritePatternSet patterns(&getContext());
        patterns.add<ConvByPixels>(&getContext());
        if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
    }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_expand_pass() { return std::make_unique<ExpandPass>(); }

}  // namespace sidra::compiler
