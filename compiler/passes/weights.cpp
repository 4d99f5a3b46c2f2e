// SPDX-License-Identifier: MIT
// Weights are quantised by column, symmetrically: the step of a column is its largest magnitude / 127, as
// sidra_weights_create_f32() has it.
#include <mlir/IR/PatternMatch.h>
#include <mlir/Transforms/GreedyPatternRewriteDriver.h>

#include <llvm/ADT/MapVector.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "annotations.h"
#include "columns.h"
#include "cost.h"
#include "names.h"
#include "passes.h"
#include "read.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::success;

struct Codes {
    mlir::Value weights, scale;
    xnn::ValuesAttr rest;  // null: it is not kept
};

class Quantiser {
   public:
    Quantiser(mlir::OpBuilder& builder, mlir::Location location, Store& store, bool rest)
        : builder_(builder), location_(location), store_(store), rest_(rest) {}

    // rows x columns floats. No value: one is not finite.
    std::optional<Codes> quantise(const std::vector<float>& values, int64_t rows, int64_t columns,
                                  llvm::StringRef name) {
        if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) return std::nullopt;
        const auto k = static_cast<size_t>(rows), n = static_cast<size_t>(columns);
        std::vector<float> steps(n, 0);
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < n; j++) steps[j] = std::max(steps[j], std::abs(values[i * n + j]));
        // Weights without a normal step are zeros.
        for (float& step : steps) step = std::isnormal(step / 127) ? step / 127 : 1;
        const auto byte = [](float number) {
            return static_cast<std::byte>(static_cast<int8_t>(std::clamp(std::nearbyint(number), -127.0f, 127.0f)));
        };
        std::vector<std::byte> codes(k * n), rest(rest_ ? k * n : 0);
        for (size_t i = 0; i < k; i++)
            for (size_t j = 0; j < n; j++) {
                const float exact = values[i * n + j] / steps[j];
                codes[i * n + j] = byte(exact);
                if (rest_) rest[i * n + j] = byte(kRestUnits * (exact - std::nearbyint(exact)));
            }
        std::vector<std::byte> scale(n * sizeof(float));
        std::memcpy(scale.data(), steps.data(), scale.size());
        xnn::ValuesAttr kept;
        if (rest_)
            kept = xnn::ValuesAttr::get(builder_.getContext(), (name + ".rest").str(), store_.add(std::move(rest)));
        return Codes{store_constant(builder_, location_, store_, name,
                                    RankedTensorType::get({rows, columns}, builder_.getI8Type()), std::move(codes)),
                     store_constant(builder_, location_, store_, (name + ".scale").str(),
                                    RankedTensorType::get({columns}, builder_.getF32Type()), std::move(scale)),
                     kept};
    }

   private:
    mlir::OpBuilder& builder_;
    mlir::Location location_;
    Store& store_;
    const bool rest_;
};

// The name of a constant, through views. Constants that are small or were computed have none, and get that of the node.
std::string name_of(mlir::Value value, mlir::Location location) {
    mlir::Operation* op = value.getDefiningOp();
    while (mlir::isa_and_nonnull<xnn::ReshapeOp, xnn::TransposeOp, xnn::CastOp>(op))
        op = op->getOperand(0).getDefiningOp();
    auto constant = mlir::dyn_cast_or_null<xnn::ConstantOp>(op);
    const auto values = constant ? mlir::dyn_cast<xnn::ValuesAttr>(constant.getValue()) : xnn::ValuesAttr();
    if (values) return values.getName().str();
    const std::vector<std::string> nodes = names_of(location);
    return nodes.empty() ? "weights" : nodes.front();
}

// `result` as the type that the operation had.
mlir::Value as(mlir::OpBuilder& builder, mlir::Location location, mlir::Value result, RankedTensorType type) {
    auto have = mlir::cast<RankedTensorType>(result.getType());
    if (have.getElementType() != type.getElementType())
        result = builder.create<xnn::CastOp>(location, have.clone(type.getElementType()), result, mlir::UnitAttr());
    if (have.getShape() != type.getShape()) result = builder.create<xnn::ReshapeOp>(location, type, result);
    return result;
}

struct MatmulOnCrossbars : mlir::OpRewritePattern<xnn::MatmulOp> {
    MatmulOnCrossbars(mlir::MLIRContext* context, Store& values, bool keep)
        : OpRewritePattern(context), store(values), rest(keep) {}

    LogicalResult matchAndRewrite(xnn::MatmulOp op, mlir::PatternRewriter& rewriter) const override {
        const auto lhs = mlir::cast<RankedTensorType>(op.getLhs().getType());
        const auto rhs = mlir::cast<RankedTensorType>(op.getRhs().getType());
        if (!mlir::isa<mlir::FloatType>(lhs.getElementType())) return failure();
        const int64_t k = rhs.getDimSize(rhs.getRank() - 2), n = rhs.getShape().back();
        if (rhs.getNumElements() != k * n || k == 0 || n == 0 || op.getType().getNumElements() == 0) return failure();
        const auto values = read_floats(op.getRhs(), store);
        if (!values) return failure();
        const auto codes =
            Quantiser(rewriter, op.getLoc(), store, rest).quantise(*values, k, n, name_of(op.getRhs(), op.getLoc()));
        if (!codes) return failure();
        llvm::SmallVector<int64_t> shape(lhs.getShape());
        shape.back() = n;
        auto layer = rewriter.create<xnn::LinearOp>(op.getLoc(), RankedTensorType::get(shape, rewriter.getF32Type()),
                                                    op.getLhs(), codes->weights, codes->scale, mlir::IntegerAttr(),
                                                    mlir::DenseF32ArrayAttr());
        if (codes->rest) layer->setAttr(kRest, codes->rest);
        rewriter.replaceOp(op, as(rewriter, op.getLoc(), layer, op.getType()));
        return success();
    }

    Store& store;
    const bool rest;
};

struct ConvOnCrossbars : mlir::OpRewritePattern<xnn::ConvOp> {
    ConvOnCrossbars(mlir::MLIRContext* context, Store& values, bool keep)
        : OpRewritePattern(context), store(values), rest(keep) {}

    // Groups that share a tile are one layer, whose matrix has a block for each of them on its diagonal.
    LogicalResult matchAndRewrite(xnn::ConvOp op, mlir::PatternRewriter& rewriter) const override {
        const auto input = mlir::cast<RankedTensorType>(op.getInput().getType());
        if (!mlir::isa<mlir::FloatType>(input.getElementType()) || op.getType().getNumElements() == 0) return failure();
        const auto values = read_floats(op.getFilters(), store);
        if (!values) return failure();
        const mlir::Location location = op.getLoc();
        const auto groups = static_cast<int64_t>(op.getGroups());
        const int64_t pixels = op.getWindows().getKernel()[0] * op.getWindows().getKernel()[1];
        const int64_t channels = input.getShape().back() / groups, filters = op.getType().getShape().back() / groups;
        const int64_t together =
            std::clamp<int64_t>(std::min(kTileRows / (pixels * channels), kTileColumns / filters), 1, groups);
        std::vector<mlir::Value> parts;
        for (int64_t first = 0; first < groups; first += together) {
            const int64_t count = std::min(together, groups - first);
            const int64_t k = pixels * channels * count, n = filters * count;
            std::vector<float> matrix(static_cast<size_t>(k * n));
            for (int64_t p = 0; p < pixels; p++)
                for (int64_t g = 0; g < count; g++)
                    for (int64_t c = 0; c < channels; c++)
                        for (int64_t f = 0; f < filters; f++)
                            matrix[static_cast<size_t>(((p * count + g) * channels + c) * n + g * filters + f)] =
                                (*values)[static_cast<size_t>((p * channels + c) * filters * groups +
                                                              (first + g) * filters + f)];
            const auto codes = Quantiser(rewriter, location, store, rest)
                                   .quantise(matrix, k, n, name_of(op.getFilters(), op.getLoc()));
            if (!codes) return failure();
            mlir::Value images = op.getInput();
            if (count < groups) {
                llvm::SmallVector<int64_t> shape(input.getShape());
                shape.back() = channels * count;
                images = rewriter.create<xnn::SliceOp>(location, input.clone(shape), images,
                                                       llvm::ArrayRef<int64_t>{0, 0, 0, first * channels},
                                                       llvm::ArrayRef<int64_t>{1, 1, 1, 1});
            }
            llvm::SmallVector<int64_t> shape(op.getType().getShape());
            shape.back() = n;
            auto layer = rewriter.create<xnn::ConvLayerOp>(
                location, RankedTensorType::get(shape, rewriter.getF32Type()), images, codes->weights, codes->scale,
                op.getWindows(), mlir::IntegerAttr(), mlir::DenseF32ArrayAttr());
            if (codes->rest) layer->setAttr(kRest, codes->rest);
            parts.push_back(layer);
        }
        mlir::Value result = parts.front();
        if (parts.size() > 1)
            result = rewriter.create<xnn::ConcatOp>(
                location, RankedTensorType::get(op.getType().getShape(), rewriter.getF32Type()), parts, 3);
        rewriter.replaceOp(op, as(rewriter, location, result, op.getType()));
        return success();
    }

    Store& store;
    const bool rest;
};

// ---- Layers with the same input: one matrix side by side, so that the input becomes codes once
// -------------------------

struct Merged {
    xnn::LinearOp layer;
    xnn::BinaryOp sum;  // with a term by column; null: none
    std::vector<float> term;
};

// As long as one matrix has no more columns than this; a row of sums has to be at hand.
constexpr int64_t kMergedColumnsMax = 4096;

void merge(llvm::MutableArrayRef<Merged> layers, Store& store) {
    xnn::LinearOp first = layers.front().layer;
    mlir::OpBuilder builder(first);  // what uses any of them comes behind it
    llvm::SmallVector<mlir::Location> locations;
    const auto input = mlir::cast<RankedTensorType>(first.getInput().getType());
    const int64_t k = input.getShape().back();
    int64_t n = 0;
    for (Merged& m : layers) {
        n += m.layer.getType().getShape().back();
        locations.push_back(m.layer.getLoc());
    }
    const mlir::Location location = builder.getFusedLoc(locations);
    const bool with_rest = llvm::all_of(layers, [](Merged& m) { return m.layer->hasAttr(kRest); });
    std::vector<std::byte> codes(static_cast<size_t>(k * n)), rest(with_rest ? codes.size() : 0), scale, term;
    std::string name;
    size_t column = 0;
    const auto append = [](std::vector<std::byte>& to, const std::vector<float>& values) {
        const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
        to.insert(to.end(), bytes, bytes + values.size() * sizeof(float));
    };
    for (Merged& m : layers) {
        auto weights = m.layer.getWeights().getDefiningOp<xnn::ConstantOp>();
        const auto width = static_cast<size_t>(m.layer.getType().getShape().back());
        const auto place = [&](std::vector<std::byte>& matrix, const std::vector<std::byte>& from) {
            for (size_t row = 0; row < static_cast<size_t>(k); row++)
                std::memcpy(matrix.data() + row * static_cast<size_t>(n) + column, from.data() + row * width, width);
        };
        place(codes, *read_bytes(weights.getValue(), weights.getType(), store));
        if (with_rest) place(rest, *read_bytes(m.layer->getAttr(kRest), weights.getType(), store));
        append(scale, *read_floats(m.layer.getScale(), store));
        append(term, m.term);
        column += width;
        name += (name.empty() ? "" : "+") + name_of(m.layer.getWeights(), m.layer.getLoc());
    }
    llvm::SmallVector<int64_t> shape(input.getShape());
    shape.back() = n;
    const auto columns = RankedTensorType::get({n}, builder.getF32Type());
    const auto type = RankedTensorType::get(shape, builder.getF32Type());
    auto layer = builder.create<xnn::LinearOp>(
        location, type, first.getInput(),
        store_constant(builder, location, store, name, RankedTensorType::get({k, n}, builder.getI8Type()),
                       std::move(codes)),
        store_constant(builder, location, store, name + ".scale", columns, std::move(scale)), mlir::IntegerAttr(),
        mlir::DenseF32ArrayAttr());
    if (with_rest)
        layer->setAttr(kRest, xnn::ValuesAttr::get(builder.getContext(), name + ".rest", store.add(std::move(rest))));
    mlir::Value result = layer;
    if (layers.front().sum)
        result = builder.create<xnn::BinaryOp>(
            location, type, xnn::Binary::add, result,
            store_constant(builder, location, store, name + ".term", columns, std::move(term)));
    int64_t at = 0;
    for (Merged& m : layers) {
        llvm::SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
        starts.back() = at;
        at += m.layer.getType().getShape().back();
        mlir::Operation* const old = m.sum ? m.sum.getOperation() : m.layer.getOperation();
        old->getResult(0).replaceAllUsesWith(
            builder.create<xnn::SliceOp>(m.layer.getLoc(), old->getResult(0).getType(), result, starts, steps));
    }
    for (Merged& m : layers) {
        if (m.sum) m.sum->erase();
        m.layer->erase();
    }
}

void merge_layers(mlir::Block& block, Store& store) {
    llvm::MapVector<mlir::Value, llvm::SmallVector<Merged>> by_input;
    for (auto layer : block.getOps<xnn::LinearOp>()) {
        auto weights = layer.getWeights().getDefiningOp<xnn::ConstantOp>();
        if (!weights || !read_floats(layer.getScale(), store)) continue;
        Merged m{layer, {}, {}};
        if (layer->hasOneUse()) {
            auto sum = mlir::dyn_cast<xnn::BinaryOp>(*layer->user_begin());
            if (sum && sum.getFunction() == xnn::Binary::add && sum.getType() == layer.getType()) {
                const mlir::Value other = sum.getLhs() == layer.getResult() ? sum.getRhs() : sum.getLhs();
                if (auto term = by_column(other, layer.getType(), store)) m.sum = sum, m.term = std::move(*term);
            }
        }
        by_input[layer.getInput()].push_back(std::move(m));
    }
    for (auto& [input, layers] : by_input)
        for (const bool with_sum : {true, false}) {
            llvm::SmallVector<Merged> some;
            int64_t columns = 0;
            for (Merged& m : layers)
                if (bool(m.sum) == with_sum && columns + m.layer.getType().getShape().back() <= kMergedColumnsMax) {
                    columns += m.layer.getType().getShape().back();
                    some.push_back(std::move(m));
                }
            if (some.size() > 1) merge(some, store);
        }
}

class WeightsPass : public mlir::PassWrapper<WeightsPass, mlir::OperationPass<>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(WeightsPass)
    llvm::StringRef getArgument() const override { return "xnn-weights"; }
    llvm::StringRef getDescription() const override {
        return "products with constant matrices become layers of weights on crossbars";
    }
    WeightsPass() = default;
    WeightsPass(const WeightsPass& other) : PassWrapper(other) {}
    explicit WeightsPass(const WeightsOptions& options) {
        fold_ = options.fold, merge_ = options.merge, rest_ = options.rest;
    }
    void runOnOperation() override {
        mlir::RewritePatternSet patterns(&getContext());
        patterns.add<MatmulOnCrossbars, ConvOnCrossbars>(&getContext(), xnn::store_of(&getContext()), rest_);
        if (fold_) add_column_patterns(patterns, xnn::store_of(&getContext()));
        if (mlir::failed(mlir::applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
            return signalPassFailure();
        if (merge_)
            getOperation()->walk([&](mlir::Block* block) { merge_layers(*block, xnn::store_of(&getContext())); });
    }

   private:
    Option<bool> fold_{*this, "fold", llvm::cl::desc("what follows a layer by column becomes part of it"),
                       llvm::cl::init(true)};
    Option<bool> merge_{*this, "merge", llvm::cl::desc("layers with the same input become one"), llvm::cl::init(true)};
    Option<bool> rest_{*this, "rest", llvm::cl::desc("layers keep what rounding took away from their weights"),
                       llvm::cl::init(false)};
};

}  // namespace

std::unique_ptr<mlir::Pass> make_weights_pass(const WeightsOptions& options) {
    return std::make_unique<WeightsPass>(options);
}

}  // namespace sidra::compiler
