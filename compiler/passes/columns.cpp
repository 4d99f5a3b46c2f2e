// SPDX-License-Identifier: MIT
#include "columns.h"

#include <algorithm>
#include <cstring>

#include "read.h"

namespace sidra::compiler {

using mlir::failure;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::success;

bool is_layer(mlir::Value value) {
    mlir::Operation* const op = value.getDefiningOp();
    return mlir::isa_and_nonnull<xnn::LinearOp, xnn::ConvLayerOp>(op) && value.hasOneUse();
}

std::vector<mlir::Operation*> layers_in(mlir::Operation* op) {
    std::vector<mlir::Operation*> layers;
    op->walk([&](mlir::Operation* each) {
        if (mlir::isa<xnn::LinearOp, xnn::ConvLayerOp>(each)) layers.push_back(each);
    });
    return layers;
}

std::optional<std::vector<float>> by_column(mlir::Value value, RankedTensorType type, const Store& store) {
    const auto constant = mlir::cast<RankedTensorType>(value.getType());
    const int64_t columns = type.getShape().back(), count = constant.getNumElements();
    if (!type.getElementType().isF32() || (count != 1 && (count != columns || constant.getShape().back() != columns)))
        return std::nullopt;
    auto values = read_floats(value, store);
    if (values && count == 1) values->assign(static_cast<size_t>(columns), values->front());
    return values;
}

mlir::Value columns_constant(mlir::OpBuilder& builder, mlir::Location location, Store& store,
                             const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return store_constant(builder, location, store, "columns",
                          RankedTensorType::get({static_cast<int64_t>(values.size())}, builder.getF32Type()),
                          std::move(bytes));
}

namespace {

struct FoldColumns : mlir::OpRewritePattern<xnn::BinaryOp> {
    FoldColumns(mlir::MLIRContext* context, Store& values) : OpRewritePattern(context), store(values) {}

    LogicalResult matchAndRewrite(xnn::BinaryOp op, mlir::PatternRewriter& rewriter) const override {
        for (const auto& [value, other] : {std::pair{op.getLhs(), op.getRhs()}, {op.getRhs(), op.getLhs()}}) {
            if (value.getType() != op.getType() || !value.hasOneUse()) continue;
            const bool multiplies = op.getFunction() == xnn::Binary::mul;
            if (!multiplies && op.getFunction() != xnn::Binary::add) return failure();
            // layer * a
            if (multiplies && is_layer(value)) {
                auto factor = by_column(other, op.getType(), store);
                mlir::Operation* const layer = value.getDefiningOp();
                const auto steps = factor ? read_floats(layer->getOperand(2), store) : std::nullopt;
                if (!steps) continue;
                for (size_t i = 0; i < factor->size(); i++) (*factor)[i] *= (*steps)[i];
                rewriter.setInsertionPoint(layer);
                const mlir::Value scale = columns_constant(rewriter, op.getLoc(), store, *factor);
                rewriter.modifyOpInPlace(layer, [&] { layer->setOperand(2, scale); });
                rewriter.replaceOp(op, value);
                return success();
            }
            // (layer + a) * b = layer * b + a * b, and (layer + a) + b = layer + (a + b)
            auto sum = value.getDefiningOp<xnn::BinaryOp>();
            if (!sum || sum.getFunction() != xnn::Binary::add) continue;
            const bool left = is_layer(sum.getLhs());
            if (!left && !is_layer(sum.getRhs())) continue;
            const mlir::Value layer = left ? sum.getLhs() : sum.getRhs();
            auto term = by_column(left ? sum.getRhs() : sum.getLhs(), op.getType(), store);
            const auto second = term ? by_column(other, op.getType(), store) : std::nullopt;
            if (!second || layer.getType() != op.getType()) continue;
            for (size_t i = 0; i < term->size(); i++)
                (*term)[i] = multiplies ? (*term)[i] * (*second)[i] : (*term)[i] + (*second)[i];
            mlir::Value product = layer;
            if (multiplies)
                product = rewriter.create<xnn::BinaryOp>(op.getLoc(), op.getType(), xnn::Binary::mul, layer, other);
            rewriter.replaceOpWithNewOp<xnn::BinaryOp>(op, op.getType(), xnn::Binary::add, product,
                                                       columns_constant(rewriter, op.getLoc(), store, *term));
            return success();
        }
        return failure();
    }

    Store& store;
};

}  // namespace

void add_column_patterns(mlir::RewritePatternSet& patterns, Store& store) {
    patterns.add<FoldColumns>(patterns.getContext(), store);
}

}  // namespace sidra::compiler
