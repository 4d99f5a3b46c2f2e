// SPDX-License-Identifier: MIT
// What networks spell out in several operations and the chip has as one, or as a cheaper one.
#include <mlir/IR/Matchers.h>
#include <mlir/IR/PatternMatch.h>
#include <mlir/Transforms/GreedyPatternRewriteDriver.h>

#include <cmath>
#include <optional>

#include "passes.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::success;
using mlir::Value;

RankedTensorType type_of(Value value) { return mlir::cast<RankedTensorType>(value.getType()); }

// The number that all elements of a float constant are.
std::optional<double> number(Value value) {
    auto constant = value.getDefiningOp<xnn::ConstantOp>();
    const auto elements = constant ? mlir::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
    if (!elements || !elements.isSplat() || !mlir::isa<mlir::FloatType>(elements.getElementType())) return std::nullopt;
    return elements.getSplatValue<llvm::APFloat>().convertToDouble();
}

Value constant(mlir::OpBuilder& builder, mlir::Location location, double number) {
    const auto type = RankedTensorType::get({}, builder.getF32Type());
    return builder.create<xnn::ConstantOp>(location, type,
                                           mlir::DenseElementsAttr::get(type, static_cast<float>(number)));
}

bool is_number(Value value, double wanted) {
    const auto is = number(value);
    return is && std::abs(*is - wanted) <= 1e-6 * std::abs(wanted);
}

// The other operand of a product or sum with a number; null if it is none.
Value without(Value value, xnn::Binary function, double wanted) {
    auto op = value.getDefiningOp<xnn::BinaryOp>();
    if (!op || op.getFunction() != function || op.getType() != value.getType()) return {};
    if (is_number(op.getRhs(), wanted) && op.getLhs().getType() == value.getType()) return op.getLhs();
    if (is_number(op.getLhs(), wanted) && op.getRhs().getType() == value.getType()) return op.getRhs();
    return {};
}

// a / b = a * (1 / b), where there are fewer b than a: rounded twice, but a division takes longer than a product.
struct DivideOnce : mlir::OpRewritePattern<xnn::BinaryOp> {
    using OpRewritePattern::OpRewritePattern;

    LogicalResult matchAndRewrite(xnn::BinaryOp op, mlir::PatternRewriter& rewriter) const override {
        RankedTensorType type = op.getType(), divisor = type_of(op.getRhs());
        if (op.getFunction() != xnn::Binary::div || !type.getElementType().isF32() || type.getRank() == 0)
            return failure();
        if (op.getLhs().getType() != type || type.getShape().back() == 1 ||
            (divisor.getRank() > 0 && divisor.getShape().back() != 1))
            return failure();
        // What is rounded to an integer begins where an exact quotient does: 41 * (1 / 41) is less than 1.
        if (llvm::any_of(op->getUsers(), rounds)) return failure();
        const Value inverse = rewriter.createOrFold<xnn::BinaryOp>(op.getLoc(), divisor, xnn::Binary::div,
                                                                   constant(rewriter, op.getLoc(), 1), op.getRhs());
        rewriter.replaceOpWithNewOp<xnn::BinaryOp>(op, type, xnn::Binary::mul, op.getLhs(), inverse);
        return success();
    }

    static bool rounds(mlir::Operation* user) {
        using enum xnn::Unary;
        if (auto cast = mlir::dyn_cast<xnn::CastOp>(user)) return cast.getType().getElementType().isInteger();
        auto unary = mlir::dyn_cast<xnn::UnaryOp>(user);
        return unary && llvm::is_contained({floor, ceil, round, trunc}, unary.getFunction());
    }
};

// view(layer) * number = view(layer * number): by column of the layer, the number becomes part of its steps
// (xnn-weights). Attention divides queries and keys so after it has split them into heads.
struct ScaleLayers : mlir::OpRewritePattern<xnn::BinaryOp> {
    using OpRewritePattern::OpRewritePattern;

    LogicalResult matchAndRewrite(xnn::BinaryOp op, mlir::PatternRewriter& rewriter) const override {
        if (op.getFunction() != xnn::Binary::mul || !op.getType().getElementType().isF32()) return failure();
        const bool left = number(op.getLhs()).has_value();
        if (!left && !number(op.getRhs())) return failure();
        const Value value = left ? op.getRhs() : op.getLhs(), factor = left ? op.getLhs() : op.getRhs();
        if (type_of(factor).getNumElements() != 1 || value.getType() != op.getType()) return failure();
        mlir::Operation* view = nullptr;
        Value from = value;
        while (mlir::isa_and_nonnull<xnn::ReshapeOp, xnn::TransposeOp>(from.getDefiningOp()) && from.hasOneUse()) {
            view = from.getDefiningOp();
            from = view->getOperand(0);
        }
        if (view == nullptr || !is_layer(from)) return failure();
        rewriter.setInsertionPoint(view);
        auto scaled = rewriter.create<xnn::BinaryOp>(op.getLoc(), type_of(from), xnn::Binary::mul, from,
                                                     constant(rewriter, op.getLoc(), *number(factor)));
        rewriter.modifyOpInPlace(view, [&] { view->setOperand(0, scaled); });
        rewriter.replaceOp(op, value);
        return success();
    }

    // A product with a constant, maybe with a term.
    static bool is_layer(Value value) {
        if (!value.hasOneUse()) return false;
        if (auto sum = value.getDefiningOp<xnn::BinaryOp>(); sum && sum.getFunction() == xnn::Binary::add)
            for (const Value term : sum.getOperands())
                if (is_layer(term)) return true;
        auto product = value.getDefiningOp<xnn::MatmulOp>();
        return product && is_constant(product.getRhs());
    }

    static bool is_constant(Value value) {
        while (mlir::isa_and_nonnull<xnn::ReshapeOp, xnn::TransposeOp, xnn::CastOp>(value.getDefiningOp()))
            value = value.getDefiningOp()->getOperand(0);
        return value.getDefiningOp<xnn::ConstantOp>() != nullptr;
    }
};

// 0.5 * x * (1 + erf(x / sqrt 2)), in each order of its factors, and the same with tanh; x * sigmoid(x).
struct Activations : mlir::OpRewritePattern<xnn::BinaryOp> {
    using OpRewritePattern::OpRewritePattern;

    LogicalResult matchAndRewrite(xnn::BinaryOp op, mlir::PatternRewriter& rewriter) const override {
        if (op.getFunction() != xnn::Binary::mul) return failure();
        for (const auto& [a, b] : {std::pair{op.getLhs(), op.getRhs()}, {op.getRhs(), op.getLhs()}}) {
            if (a.getType() != op.getType() || b.getType() != op.getType()) {
                // (x * (1 + f)) * 0.5
                auto product = a.getDefiningOp<xnn::BinaryOp>();
                if (!is_number(b, 0.5) || !product || product.getFunction() != xnn::Binary::mul) continue;
                for (const auto& [x, factor] :
                     {std::pair{product.getLhs(), product.getRhs()}, {product.getRhs(), product.getLhs()}})
                    if (const auto function = gelu(x, factor)) return replace(op, *function, x, rewriter);
                continue;
            }
            // (x * 0.5) * (1 + f)
            if (const Value x = without(a, xnn::Binary::mul, 0.5))
                if (const auto function = gelu(x, b)) return replace(op, *function, x, rewriter);
            // x * ((1 + f) * 0.5)
            if (const Value factor = without(b, xnn::Binary::mul, 0.5))
                if (const auto function = gelu(a, factor)) return replace(op, *function, a, rewriter);
            auto sigmoid = b.getDefiningOp<xnn::UnaryOp>();
            if (sigmoid && sigmoid.getFunction() == xnn::Unary::sigmoid && sigmoid.getInput() == a)
                return replace(op, xnn::Unary::silu, a, rewriter);
        }
        return failure();
    }

    static LogicalResult replace(xnn::BinaryOp op, xnn::Unary function, Value x, mlir::PatternRewriter& rewriter) {
        rewriter.replaceOpWithNewOp<xnn::UnaryOp>(op, op.getType(), function, x);
        return success();
    }

    // Whether a factor is 1 + erf(x / sqrt 2), or 1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)).
    static std::optional<xnn::Unary> gelu(Value x, Value factor) {
        const Value f = without(factor, xnn::Binary::add, 1);
        auto unary = f ? f.getDefiningOp<xnn::UnaryOp>() : xnn::UnaryOp();
        if (!unary) return std::nullopt;
        if (unary.getFunction() == xnn::Unary::erf && without(unary.getInput(), xnn::Binary::mul, std::sqrt(0.5)) == x)
            return xnn::Unary::gelu;
        if (unary.getFunction() != xnn::Unary::tanh) return std::nullopt;
        const Value inner = without(unary.getInput(), xnn::Binary::mul, std::sqrt(2 / M_PI));
        auto sum = inner ? inner.getDefiningOp<xnn::BinaryOp>() : xnn::BinaryOp();
        if (!sum || sum.getFunction() != xnn::Binary::add) return std::nullopt;
        for (const auto& [linear, cubic] : {std::pair{sum.getLhs(), sum.getRhs()}, {sum.getRhs(), sum.getLhs()}}) {
            const Value cube = without(cubic, xnn::Binary::mul, 0.044715);
            if (linear == x && cube && is_cube(cube, x)) return xnn::Unary::gelu_tanh;
        }
        return std::nullopt;
    }

    static bool is_cube(Value value, Value x) {
        auto outer = value.getDefiningOp<xnn::BinaryOp>();
        if (!outer || outer.getFunction() != xnn::Binary::mul) return false;
        for (const auto& [a, b] : {std::pair{outer.getLhs(), outer.getRhs()}, {outer.getRhs(), outer.getLhs()}}) {
            auto square = b.getDefiningOp<xnn::BinaryOp>();
            if (a == x && square && square.getFunction() == xnn::Binary::mul && square.getLhs() == x &&
                square.getRhs() == x)
                return true;
        }
        return false;
    }
};

// x + 0 = x for a product: a sum that begins with 0 is never -0.
struct AddNothing : mlir::OpRewritePattern<xnn::BinaryOp> {
    using OpRewritePattern::OpRewritePattern;

    LogicalResult matchAndRewrite(xnn::BinaryOp op, mlir::PatternRewriter& rewriter) const override {
        if (op.getFunction() != xnn::Binary::add) return failure();
        for (const auto& [sum, nothing] : {std::pair{op.getLhs(), op.getRhs()}, {op.getRhs(), op.getLhs()}}) {
            if (!sum.getDefiningOp<xnn::MatmulOp>() || sum.getType() != op.getType() || number(nothing) != 0.0)
                continue;
            rewriter.replaceOp(op, sum);
            return success();
        }
        return failure();
    }
};

// isnan(p) ? 0 : p with p = softmax(x), as attention has it for rows of which nothing is left by its mask. All of a row
// is NaN, or nothing: e = exp(x - max(x)) is at most 1, and their sum at least 1, unless it is NaN. So one test of the
// inverse of the sum does for the row.
struct TestRows : mlir::OpRewritePattern<xnn::SelectOp> {
    using OpRewritePattern::OpRewritePattern;

    LogicalResult matchAndRewrite(xnn::SelectOp op, mlir::PatternRewriter& rewriter) const override {
        auto test = op.getCondition().getDefiningOp<xnn::BinaryOp>();
        if (!test || test.getFunction() != xnn::Binary::ne || test.getLhs() != test.getRhs() ||
            test.getLhs() != op.getNo())
            return failure();
        auto scaled = op.getNo().getDefiningOp<xnn::BinaryOp>();
        if (!scaled || scaled.getFunction() != xnn::Binary::mul) return failure();
        const Value inverse = scaled.getRhs();
        if (!is_inverse_of_sum(inverse, scaled.getLhs()) || !is_exp_below_one(scaled.getLhs())) return failure();
        const auto mask = type_of(inverse).clone(rewriter.getI1Type());
        const Value bad = rewriter.create<xnn::BinaryOp>(test.getLoc(), mask, xnn::Binary::ne, inverse, inverse);
        rewriter.modifyOpInPlace(op, [&] { op.getConditionMutable().assign(bad); });
        return success();
    }

    static bool is_inverse_of_sum(Value value, Value of) {
        auto quotient = value.getDefiningOp<xnn::BinaryOp>();
        if (!quotient || quotient.getFunction() != xnn::Binary::div || number(quotient.getLhs()) != 1.0) return false;
        auto sum = quotient.getRhs().getDefiningOp<xnn::ReduceOp>();
        return sum && sum.getFunction() == xnn::Reduction::sum && sum.getInput() == of;
    }
    static bool is_exp_below_one(Value value) {
        auto exp = value.getDefiningOp<xnn::UnaryOp>();
        if (!exp || exp.getFunction() != xnn::Unary::exp) return false;
        auto difference = exp.getInput().getDefiningOp<xnn::BinaryOp>();
        if (!difference || difference.getFunction() != xnn::Binary::sub) return false;
        auto largest = difference.getRhs().getDefiningOp<xnn::ReduceOp>();
        return largest && largest.getFunction() == xnn::Reduction::max && largest.getInput() == difference.getLhs();
    }
};

class SimplifyPass : public mlir::PassWrapper<SimplifyPass, mlir::OperationPass<>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SimplifyPass)
    llvm::StringRef getArgument() const override { return "xnn-simplify"; }
    llvm::StringRef getDescription() const override { return "several operations become one that the chip has"; }
    void runOnOperation() override {
        mlir::RewritePatternSet patterns(&getContext());
        patterns.add<DivideOnce, ScaleLayers, Activations, AddNothing, TestRows>(&getContext());
        if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
    }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_simplify_pass() { return std::make_unique<SimplifyPass>(); }

}  // namespace sidra::compiler
