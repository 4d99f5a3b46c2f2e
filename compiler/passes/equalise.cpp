// SPDX-License-Identifier: MIT
// Equalisation between layers (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction",
// 2019). A positive factor for each channel passes through what is between two layers, such as a maximum with 0: the
// first layer's columns are multiplied by it, the second one's rows divided. Columns have steps of their own, so the
// first layer's codes remain as they are. The second layer's rows share the steps of columns, and its inputs share one
// step: these lose less if no channel is much larger than the others.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "columns.h"
#include "passes.h"
#include "read.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

using mlir::RankedTensorType;
using mlir::Value;

RankedTensorType type_of(Value value) { return mlir::cast<RankedTensorType>(value.getType()); }

// The operand with the constant matrix or filters of a product that will be a layer; null: it will not be one.
mlir::OpOperand* weights_of(mlir::Operation* op) {
    if (auto product = mlir::dyn_cast_or_null<xnn::MatmulOp>(op)) {
        const RankedTensorType type = type_of(product.getRhs());
        const int64_t matrix = type.getDimSize(type.getRank() - 2) * type.getShape().back();
        return type.getNumElements() == matrix ? &product.getRhsMutable() : nullptr;
    }
    auto conv = mlir::dyn_cast_or_null<xnn::ConvOp>(op);
    return conv ? &conv.getFiltersMutable() : nullptr;
}

// Whether nothing else needs a constant. Layers that share weights would no longer share crossbars.
bool is_own(Value constant) {
    while (constant.hasOneUse()) {
        mlir::Operation* const op = constant.getDefiningOp();
        if (!mlir::isa_and_nonnull<xnn::ReshapeOp, xnn::TransposeOp, xnn::CastOp>(op)) return true;
        constant = op->getOperand(0);
    }
    return false;
}

bool is_zero(Value value) {
    auto constant = value.getDefiningOp<xnn::ConstantOp>();
    const auto dense = constant ? mlir::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
    return dense && dense.isSplat() && mlir::isa<mlir::FloatType>(dense.getElementType()) &&
           dense.getSplatValue<llvm::APFloat>().isZero();
}

// What a factor for each channel passes through: the operand that has the channels. Null: it does not.
Value through(mlir::Operation* op) {
    if (mlir::isa<xnn::ReshapeOp, xnn::TransposeOp>(op)) return op->getOperand(0);
    if (auto pool = mlir::dyn_cast<xnn::PoolOp>(op))
        return pool.getFunction() == xnn::Pooling::argmax ? Value() : pool.getInput();
    auto max = mlir::dyn_cast<xnn::BinaryOp>(op);
    if (!max || max.getFunction() != xnn::Binary::max) return {};
    for (const auto& [value, other] : {std::pair{max.getLhs(), max.getRhs()}, {max.getRhs(), max.getLhs()}})
        if (value.getType() == max.getType() && is_zero(other)) return value;
    return {};
}

// Where the channel of an element is: (place of the element / inner) % channels.
struct Place {
    int64_t inner, channels;

    // Behind an operation that `through` knows. False: nowhere.
    bool follow(mlir::Operation* op) {
        const llvm::ArrayRef<int64_t> shape = type_of(op->getResult(0)).getShape();
        if (mlir::isa<xnn::PoolOp>(op)) return inner == 1 && shape.back() == channels;
        auto transpose = mlir::dyn_cast<xnn::TransposeOp>(op);
        if (!transpose) return true;
        const llvm::ArrayRef<int64_t> before = type_of(transpose.getInput()).getShape();
        int64_t behind = 1;
        auto axis = static_cast<int64_t>(before.size()) - 1;
        while (axis >= 0 && (behind < inner || before[static_cast<size_t>(axis)] == 1))
            behind *= before[static_cast<size_t>(axis--)];
        if (axis < 0 || behind != inner || before[static_cast<size_t>(axis)] != channels) return false;
        inner = 1;
        for (size_t d = shape.size(); d-- > 0 && transpose.getPermutation()[d] != axis;) inner *= shape[d];
        return true;
    }
    // Whether all rows of so many elements have the same channels.
    bool in_rows_of(int64_t elements) const { return elements % (inner * channels) == 0; }
    size_t of(size_t element) const {
        return element / static_cast<size_t>(inner) % static_cast<size_t>(channels);
    }
};

// The mean and the deviation of each column of a product whose inputs have the mean 0 and the deviation 1.
struct Size {
    std::vector<double> mean, deviation;

    explicit Size(const std::vector<float>& weights, size_t columns) : mean(columns), deviation(columns) {
        for (size_t i = 0; i < weights.size(); i += columns)
            for (size_t j = 0; j < columns; j++)
                deviation[j] += static_cast<double>(weights[i + j]) * weights[i + j];
        for (double& value : deviation) value = std::sqrt(value);
    }
    void apply(xnn::Binary function, const std::vector<float>& by) {
        for (size_t j = 0; j < by.size(); j++)
            if (function == xnn::Binary::mul) mean[j] *= by[j], deviation[j] *= std::abs(by[j]);
            else mean[j] += by[j];
    }
    double of(size_t column) const { return std::hypot(mean[column], deviation[column]); }
};

// Two layers, and what is between them.
struct Pair {
    mlir::Operation* second;
    Value scaled;               // the first layer's result, with what follows it by column
    Place place;                // of the channels in the second layer's input
    std::vector<double> sizes;  // of the channels
};

std::optional<Pair> pair_of(mlir::Operation* second, const Store& store) {
    if (auto conv = mlir::dyn_cast<xnn::ConvOp>(second); conv && conv.getGroups() != 1) return std::nullopt;
    Value value = second->getOperand(0);
    if (type_of(value).getNumElements() == 0) return std::nullopt;
    llvm::SmallVector<mlir::Operation*> between, by_column_ops;
    while (mlir::Operation* const op = value.getDefiningOp()) {
        if (!value.hasOneUse()) return std::nullopt;
        const Value before = through(op);
        if (!before) break;
        between.push_back(op);
        value = before;
    }
    Pair pair{second, value, {1, type_of(value).getShape().back()}, {}};
    while (auto op = value.getDefiningOp<xnn::BinaryOp>()) {
        if (!value.hasOneUse()) return std::nullopt;
        by_column_ops.push_back(op);
        const bool left = op.getLhs().getType() == op.getType() && by_column(op.getRhs(), op.getType(), store);
        value = left ? op.getLhs() : op.getRhs();
    }
    mlir::Operation* const first = value.getDefiningOp();
    const mlir::OpOperand* const weights = weights_of(first);
    if (!weights || !value.hasOneUse() || !type_of(value).getElementType().isF32()) return std::nullopt;
    const auto values = read_floats(weights->get(), store);
    if (!values) return std::nullopt;
    Size size(*values, static_cast<size_t>(pair.place.channels));
    for (mlir::Operation* const op : llvm::reverse(by_column_ops)) {
        auto binary = mlir::cast<xnn::BinaryOp>(op);
        const bool folds = binary.getFunction() == xnn::Binary::mul || binary.getFunction() == xnn::Binary::add;
        const Value other = binary.getLhs() == value ? binary.getRhs() : binary.getLhs();
        const auto by = folds ? by_column(other, binary.getType(), store) : std::nullopt;
        if (!by || type_of(value) != binary.getType()) return std::nullopt;
        size.apply(binary.getFunction(), *by);
        value = binary;
    }
    for (mlir::Operation* const op : llvm::reverse(between))
        if (!pair.place.follow(op)) return std::nullopt;
    if (!pair.place.in_rows_of(type_of(second->getOperand(0)).getShape().back())) return std::nullopt;
    for (size_t j = 0; j < static_cast<size_t>(pair.place.channels); j++) pair.sizes.push_back(size.of(j));
    return pair;
}

// The mean square of the errors that codes cause in the second layer, if its inputs are multiplied and its rows divided
// by these factors: that of the weights, which are rounded, and that of the inputs, whose step is for the largest one.
double error_of(const std::vector<float>& weights, size_t columns, const Pair& pair, const std::vector<double>& factors) {
    constexpr double kDeviations = 4;  // that the range of inputs has on either side
    std::vector<float> rows(weights.size()), largest(columns), energy(weights.size() / columns);
    double step = 0;
    for (size_t i = 0; i < energy.size(); i++) {
        const size_t channel = pair.place.of(i);
        const auto by = static_cast<float>(1 / factors[channel]);
        for (size_t j = 0; j < columns; j++) {
            const float weight = rows[i * columns + j] = weights[i * columns + j] * by;
            largest[j] = std::max(largest[j], std::abs(weight));
            energy[i] += weight * weight;
        }
        step = std::max(step, 2 * kDeviations * pair.sizes[channel] * factors[channel] / 255);
    }
    std::vector<float> inverse(columns), square(columns);
    for (size_t j = 0; j < columns; j++) {
        inverse[j] = largest[j] == 0 ? 0 : 127 / largest[j];
        square[j] = largest[j] * largest[j] / (127 * 127);
    }
    double error = 0;
    for (size_t i = 0; i < energy.size(); i++) {
        constexpr float kNoFraction = 12582912;  // 1.5 * 2^23, which rounds what is added to it
        float rounded = 0;
        for (size_t j = 0; j < columns; j++) {
            const float exact = rows[i * columns + j] * inverse[j], away = exact - ((exact + kNoFraction) - kNoFraction);
            rounded += away * away * square[j];
        }
        const size_t channel = pair.place.of(i);
        const double size = pair.sizes[channel] * factors[channel];
        error += size * size * rounded + step * step / 12 * energy[i];
    }
    return error;
}

// Factors that make rows and inputs of the second layer about as large as each other: the geometric mean of both.
std::vector<double> factors_of(const std::vector<float>& weights, size_t columns, const Pair& pair) {
    std::vector<double> rows(pair.sizes.size()), factors(pair.sizes.size(), 1);
    for (size_t i = 0; i < weights.size(); i += columns) {
        float largest = 0;
        for (size_t j = 0; j < columns; j++) largest = std::max(largest, std::abs(weights[i + j]));
        double& row = rows[pair.place.of(i / columns)];
        row = std::max(row, static_cast<double>(largest));
    }
    double logarithms = 0, count = 0;
    for (size_t c = 0; c < factors.size(); c++) {
        if (!std::isnormal(rows[c]) || !std::isnormal(pair.sizes[c])) continue;
        factors[c] = std::sqrt(rows[c] / pair.sizes[c]);
        logarithms += std::log(factors[c]);
        count++;
    }
    // Their geometric mean is 1, so that channels without a factor of their own are as large as the others.
    for (size_t c = 0; c < factors.size(); c++)
        if (std::isnormal(rows[c]) && std::isnormal(pair.sizes[c])) factors[c] /= std::exp(logarithms / count);
    return factors;
}

class EqualisePass : public mlir::PassWrapper<EqualisePass, mlir::OperationPass<>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(EqualisePass)
    llvm::StringRef getArgument() const override { return "xnn-equalise"; }
    llvm::StringRef getDescription() const override {
        return "rows of weights become about as large as each other, where the layer before can make up for it";
    }
    void runOnOperation() override {
        std::vector<mlir::Operation*> layers;
        getOperation()->walk([&](mlir::Operation* op) {
            if (weights_of(op)) layers.push_back(op);
        });
        for (mlir::Operation* const layer : layers) equalise(layer);
    }

   private:
    void equalise(mlir::Operation* second) {
        constexpr double kGain = 0.8;  // what must remain of the error at most
        constexpr double kAlike = 2;   // factors that differ by less than this are not worth a look at all weights
        Store& store = xnn::store_of(&getContext());
        const auto pair = pair_of(second, store);
        if (!pair) return;
        mlir::OpOperand& operand = *weights_of(second);
        const RankedTensorType type = type_of(operand.get());
        const auto values = type.getElementType().isF32() && is_own(operand.get()) ? read_floats(operand.get(), store) : std::nullopt;
        if (!values || values->empty() || !std::ranges::all_of(*values, [](float v) { return std::isfinite(v); })) return;
        const auto columns = static_cast<size_t>(type.getShape().back());
        const std::vector<double> ones(pair->sizes.size(), 1), factors = factors_of(*values, columns, *pair);
        if (const auto [low, high] = std::ranges::minmax(factors); high < kAlike * low) return;
        if (!(error_of(*values, columns, *pair, factors) < kGain * error_of(*values, columns, *pair, ones))) return;

        std::vector<float> divided(values->size());
        for (size_t i = 0; i < divided.size(); i += columns) {
            const auto by = static_cast<float>(1 / factors[pair->place.of(i / columns)]);
            for (size_t j = 0; j < columns; j++) divided[i + j] = (*values)[i + j] * by;
        }
        std::vector<std::byte> bytes(divided.size() * sizeof(float));
        std::memcpy(bytes.data(), divided.data(), bytes.size());
        mlir::OpBuilder builder(second);
        operand.set(store_constant(builder, second->getLoc(), store, "equalised", type, std::move(bytes)));
        builder.setInsertionPointAfterValue(pair->scaled);
        const mlir::Location location = pair->scaled.getLoc();
        const Value by = columns_constant(builder, location, store, {factors.begin(), factors.end()});
        auto product = builder.create<xnn::BinaryOp>(location, pair->scaled.getType(), xnn::Binary::mul, pair->scaled, by);
        Value scaled = pair->scaled;
        scaled.replaceAllUsesExcept(product, product);
    }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_equalise_pass() { return std::make_unique<EqualisePass>(); }

}  // namespace sidra::compiler
