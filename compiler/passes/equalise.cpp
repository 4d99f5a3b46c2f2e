// SPDX-License-Identifier: MIT
// Equalisation between layers (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction",
// 2019). A positive factor for each channel passes through what is between layers, such as a maximum with 0: the
// columns of layers before it are multiplied by it, the rows of those behind it divided. Columns have steps of their
// own, so the codes of the former remain as they are. The rows of the latter share the steps of columns, and their
// inputs share one step: these lose less if no channel is much larger than the others. Layers whose results are added,
// as in residual blocks, have the factors of one channel together.
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/MapVector.h>

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

constexpr double kDeviations = 4;  // that the range of a layer's inputs has on either side

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

// What a factor for each channel passes through: the operand that has the channels, and a bound that must get the
// factors, too, as the 6 of min(x, 6). No operand: it does not.
struct Through {
    Value value;
    mlir::OpOperand* bound = nullptr;
};
Through through(mlir::Operation* op, const Store& store) {
    if (mlir::isa<xnn::ReshapeOp, xnn::TransposeOp>(op)) return {op->getOperand(0)};
    if (auto pool = mlir::dyn_cast<xnn::PoolOp>(op))
        return {pool.getFunction() == xnn::Pooling::argmax ? Value() : pool.getInput()};
    auto binary = mlir::dyn_cast<xnn::BinaryOp>(op);
    if (!binary || (binary.getFunction() != xnn::Binary::max && binary.getFunction() != xnn::Binary::min)) return {};
    for (const unsigned i : {0u, 1u}) {
        mlir::OpOperand& other = op->getOpOperand(1 - i);
        if (op->getOperand(i).getType() != binary.getType()) continue;
        if (is_zero(other.get())) return {op->getOperand(i)};
        if (by_column(other.get(), binary.getType(), store)) return {op->getOperand(i), &other};
    }
    return {};
}

// A sum of two results, as at the end of a residual block: factors for both are factors for the sum.
bool is_sum(mlir::Operation* op) {
    auto binary = mlir::dyn_cast_or_null<xnn::BinaryOp>(op);
    return binary && binary.getFunction() == xnn::Binary::add && binary.getLhs().getType() == binary.getType() &&
           binary.getRhs().getType() == binary.getType();
}

// Where the channel of an element is: (place of the element / inner) % channels.
struct Place {
    int64_t inner, channels;

    bool operator==(const Place&) const = default;
    // Behind an operation that `through` knows, or in front of it. None: nowhere.
    std::optional<Place> behind(mlir::Operation* op) const {
        auto transpose = mlir::dyn_cast<xnn::TransposeOp>(op);
        return transpose ? moved(type_of(transpose.getInput()).getShape(), type_of(op->getResult(0)).getShape(),
                                 [&](size_t d) { return static_cast<size_t>(transpose.getPermutation()[d]); })
                         : kept(op);
    }
    std::optional<Place> before(mlir::Operation* op) const {
        auto transpose = mlir::dyn_cast<xnn::TransposeOp>(op);
        return transpose ? moved(type_of(op->getResult(0)).getShape(), type_of(transpose.getInput()).getShape(),
                                 [&](size_t d) {
                                     return static_cast<size_t>(
                                         llvm::find(transpose.getPermutation(), static_cast<int64_t>(d)) -
                                         transpose.getPermutation().begin());
                                 })
                         : kept(op);
    }
    // Whether the channels are the columns of a value.
    bool is_columns_of(Value value) const { return inner == 1 && type_of(value).getShape().back() == channels; }
    // Whether all rows of so many elements have the same channels.
    bool in_rows_of(int64_t elements) const { return elements % (inner * channels) == 0; }
    size_t of(size_t element) const { return element / static_cast<size_t>(inner) % static_cast<size_t>(channels); }

   private:
    std::optional<Place> kept(mlir::Operation* op) const {
        if (mlir::isa<xnn::PoolOp>(op) && !is_columns_of(op->getResult(0))) return std::nullopt;
        return *this;
    }
    // from_axis: of each axis behind a transposition, the one before.
    template <typename Axis>
    std::optional<Place> moved(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to, Axis from_axis) const {
        int64_t behind = 1;
        size_t axis = from.size();
        while (axis > 0 && (behind < inner || from[axis - 1] == 1)) behind *= from[--axis];
        if (axis == 0 || behind != inner || from[axis - 1] != channels) return std::nullopt;
        Place place{1, channels};
        for (size_t d = to.size(); d-- > 0 && from_axis(d) != axis - 1;) place.inner *= to[d];
        return place;
    }
};

// The mean and the deviation of each column of a product whose inputs have the mean 0 and the deviation 1.
struct Size {
    std::vector<double> mean, deviation;

    explicit Size(const std::vector<float>& weights, size_t columns) : mean(columns), deviation(columns) {
        for (size_t i = 0; i < weights.size(); i += columns)
            for (size_t j = 0; j < columns; j++) deviation[j] += static_cast<double>(weights[i + j]) * weights[i + j];
        for (double& value : deviation) value = std::sqrt(value);
    }
    void apply(xnn::Binary function, const std::vector<float>& by) {
        for (size_t j = 0; j < by.size(); j++)
            if (function == xnn::Binary::mul) mean[j] *= by[j], deviation[j] *= std::abs(by[j]);
            else mean[j] += by[j];
    }
    double of(size_t column) const { return std::hypot(mean[column], deviation[column]); }
};

// A layer whose rows are divided by the factors of the channels that come in.
struct Reader {
    mlir::Operation* layer;
    Place place;  // of the channels in the layer's input
    std::vector<float> weights;
    size_t columns = 0, groups = 1;

    // The channel of a row of the weights, in the columns of a group. Rows of a convolution with groups have only the
    // channels of theirs.
    size_t channel(size_t row, size_t group) const {
        if (groups == 1) return place.of(row);
        const auto all = static_cast<size_t>(type_of(layer->getOperand(0)).getShape().back()), own = all / groups;
        return place.of(row / own * all + group * own + row % own);
    }
};

// Values that get factors together: what layers give, what becomes of it in operations that factors pass through, and
// the layers that read it. Nothing else reads or makes it, so the network computes the same.
struct Region {
    llvm::MapVector<Value, Place> values;
    llvm::DenseMap<Value, Size> made;  // by layers, with what follows by column: these are multiplied
    std::vector<std::pair<mlir::OpOperand*, Value>>
        bounds;  // which are multiplied, too, and the value that they are for
    std::vector<Reader> readers;

    size_t channels() const { return static_cast<size_t>(values.front().second.channels); }

    // How large the channels of a value are.
    std::vector<double> sizes(Value value, const Store& store) {
        if (const auto found = known_.find(value); found != known_.end()) return found->second;
        std::vector<double> sizes(channels());
        if (const auto source = made.find(value); source != made.end()) {
            for (size_t c = 0; c < sizes.size(); c++) sizes[c] = source->second.of(c);
        } else if (mlir::Operation* const op = value.getDefiningOp(); is_sum(op)) {
            const std::vector<double> a = this->sizes(op->getOperand(0), store),
                                      b = this->sizes(op->getOperand(1), store);
            for (size_t c = 0; c < sizes.size(); c++) sizes[c] = std::hypot(a[c], b[c]);
        } else {
            const auto [before, bound] = through(op, store);
            sizes = this->sizes(before, store);
            if (bound != nullptr && mlir::cast<xnn::BinaryOp>(op).getFunction() == xnn::Binary::min) {
                const std::vector<float> most = *by_column(bound->get(), type_of(value), store);
                for (size_t c = 0; c < sizes.size(); c++)
                    if (most[c] > 0) sizes[c] = std::min(sizes[c], most[c] / kDeviations);
            }
        }
        return known_[value] = sizes;
    }

   private:
    llvm::DenseMap<Value, std::vector<double>> known_;
};

// The result of a layer with what follows it by column, as it is folded into the layer. None: the value is none.
std::optional<Size> made_by_layer(Value value, const Store& store) {
    const RankedTensorType type = type_of(value);
    llvm::SmallVector<xnn::BinaryOp> by_column_ops;
    const auto columns_of = [&](xnn::BinaryOp op) {
        const bool left = op.getLhs().getType() == type && by_column(op.getRhs(), type, store);
        return std::pair(left ? op.getLhs() : op.getRhs(), left ? op.getRhs() : op.getLhs());
    };
    while (auto op = value.getDefiningOp<xnn::BinaryOp>()) {
        if (op.getFunction() != xnn::Binary::mul && op.getFunction() != xnn::Binary::add) return std::nullopt;
        by_column_ops.push_back(op);
        value = columns_of(op).first;
        if (value.getType() != type || !value.hasOneUse()) return std::nullopt;
    }
    const mlir::OpOperand* const weights = weights_of(value.getDefiningOp());
    if (!weights || !type.getElementType().isF32()) return std::nullopt;
    const auto values = read_floats(weights->get(), store);
    if (!values) return std::nullopt;
    Size size(*values, static_cast<size_t>(type.getShape().back()));
    for (xnn::BinaryOp op : llvm::reverse(by_column_ops)) {
        const auto by = by_column(columns_of(op).second, type, store);
        if (!by) return std::nullopt;
        size.apply(op.getFunction(), *by);
    }
    return size;
}

std::optional<Reader> reader_of(mlir::OpOperand& use, const Place& place, const Store& store) {
    mlir::Operation* const layer = use.getOwner();
    mlir::OpOperand* const operand = weights_of(layer);
    if (!operand || use.getOperandNumber() != 0 || !place.in_rows_of(type_of(use.get()).getShape().back()))
        return std::nullopt;
    auto values = type_of(operand->get()).getElementType().isF32() && is_own(operand->get())
                      ? read_floats(operand->get(), store)
                      : std::nullopt;
    if (!values || values->empty() || !std::ranges::all_of(*values, [](float v) { return std::isfinite(v); }))
        return std::nullopt;
    Reader reader{layer, place, std::move(*values), static_cast<size_t>(type_of(operand->get()).getShape().back())};
    if (auto conv = mlir::dyn_cast<xnn::ConvOp>(layer)) reader.groups = conv.getGroups();
    return reader;
}

// The region with the input of a layer. None: something else takes part in it.
std::optional<Region> region_of(Value input, const Store& store) {
    Region region;
    std::vector<Value> open;
    const auto add = [&](Value value, std::optional<Place> place) {
        if (!place || !type_of(value).getElementType().isF32() || type_of(value).getNumElements() == 0) return false;
        const auto [found, is_new] = region.values.insert({value, *place});
        if (is_new) open.push_back(value);
        return found->second == *place;
    };
    // A layer says where the channels are.
    Value first = input;
    std::optional<Size> size;
    while (!(size = made_by_layer(first, store))) {
        mlir::Operation* const op = first.getDefiningOp();
        if (!op) return std::nullopt;
        first = is_sum(op) ? op->getOperand(0) : through(op, store).value;
        if (!first) return std::nullopt;
    }
    if (type_of(first).getRank() == 0 || !add(first, Place{1, type_of(first).getShape().back()})) return std::nullopt;
    while (!open.empty()) {
        const Value value = open.back();
        open.pop_back();
        const Place place = region.values.find(value)->second;
        mlir::Operation* const op = value.getDefiningOp();
        if (!op) return std::nullopt;
        if (auto made = made_by_layer(value, store)) {
            if (!place.is_columns_of(value)) return std::nullopt;
            region.made.try_emplace(value, std::move(*made));
        } else if (is_sum(op)) {
            if (!add(op->getOperand(0), place) || !add(op->getOperand(1), place)) return std::nullopt;
        } else {
            const auto [before, bound] = through(op, store);
            if (!before || !add(before, place.before(op))) return std::nullopt;
            if (bound != nullptr && !place.is_columns_of(value)) return std::nullopt;
            if (bound != nullptr) region.bounds.emplace_back(bound, value);
        }
        for (mlir::OpOperand& use : value.getUses()) {
            mlir::Operation* const user = use.getOwner();
            if (weights_of(user)) {
                auto reader = reader_of(use, place, store);
                if (!reader) return std::nullopt;
                region.readers.push_back(std::move(*reader));
            } else if (is_sum(user)) {
                if (!add(user->getResult(0), place)) return std::nullopt;
            } else if (through(user, store).value != value || !add(user->getResult(0), place.behind(user))) {
                return std::nullopt;
            }
        }
    }
    return region;
}

// The mean square of the errors that codes cause in a layer, if its inputs are multiplied and its rows divided by these
// factors: that of the weights, which are rounded, and that of the inputs, whose step is for the largest one.
double error_of(const Reader& reader, const std::vector<double>& sizes, const std::vector<double>& factors) {
    const size_t columns = reader.columns, rows = reader.weights.size() / columns, width = columns / reader.groups;
    std::vector<float> divided(reader.weights.size()), largest(columns), energy(rows * reader.groups);
    double step = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t g = 0; g < reader.groups; g++) {
            const size_t channel = reader.channel(i, g);
            const auto by = static_cast<float>(1 / factors[channel]);
            for (size_t j = g * width; j < (g + 1) * width; j++) {
                const float weight = divided[i * columns + j] = reader.weights[i * columns + j] * by;
                largest[j] = std::max(largest[j], std::abs(weight));
                energy[i * reader.groups + g] += weight * weight;
            }
            step = std::max(step, 2 * kDeviations * sizes[channel] * factors[channel] / 255);
        }
    std::vector<float> inverse(columns), square(columns);
    for (size_t j = 0; j < columns; j++) {
        inverse[j] = largest[j] == 0 ? 0 : 127 / largest[j];
        square[j] = largest[j] * largest[j] / (127 * 127);
    }
    double error = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t g = 0; g < reader.groups; g++) {
            constexpr float kNoFraction = 12582912;  // 1.5 * 2^23, which rounds what is added to it
            float rounded = 0;
            for (size_t j = g * width; j < (g + 1) * width; j++) {
                const float exact = divided[i * columns + j] * inverse[j],
                            away = exact - ((exact + kNoFraction) - kNoFraction);
                rounded += away * away * square[j];
            }
            const size_t channel = reader.channel(i, g);
            const double size = sizes[channel] * factors[channel];
            error += size * size * rounded + step * step / 12 * energy[i * reader.groups + g];
        }
    return error;
}

// Factors that make rows and inputs of the layers about as large as each other: the geometric mean of both, and of
// layers.
std::vector<double> factors_of(Region& region, const Store& store) {
    std::vector<double> factors(region.channels(), 1), sums(factors.size());
    std::vector<size_t> counts(factors.size());
    for (const Reader& reader : region.readers) {
        const std::vector<double> sizes = region.sizes(reader.layer->getOperand(0), store);
        std::vector<double> rows(factors.size());
        const size_t width = reader.columns / reader.groups;
        for (size_t i = 0; i < reader.weights.size() / reader.columns; i++)
            for (size_t g = 0; g < reader.groups; g++) {
                double& row = rows[reader.channel(i, g)];
                for (size_t j = g * width; j < (g + 1) * width; j++)
                    row = std::max(row, static_cast<double>(std::abs(reader.weights[i * reader.columns + j])));
            }
        double logarithms = 0, count = 0;
        const auto usable = [&](size_t c) { return std::isnormal(rows[c]) && std::isnormal(sizes[c]); };
        for (size_t c = 0; c < factors.size(); c++)
            if (usable(c)) logarithms += std::log(rows[c] / sizes[c]) / 2, count++;
        // The geometric mean is 1, so that channels without a factor of their own are as large as the others.
        for (size_t c = 0; c < factors.size(); c++)
            if (usable(c)) sums[c] += std::log(rows[c] / sizes[c]) / 2 - logarithms / count, counts[c]++;
    }
    for (size_t c = 0; c < factors.size(); c++)
        if (counts[c] != 0) factors[c] = std::exp(sums[c] / static_cast<double>(counts[c]));
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
        llvm::DenseSet<mlir::Operation*> done;
        for (mlir::Operation* const layer : layers) {
            if (done.contains(layer)) continue;
            auto region = region_of(layer->getOperand(0), xnn::store_of(&getContext()));
            if (!region) continue;
            for (const Reader& reader : region->readers) done.insert(reader.layer);
            equalise(*region);
        }
    }

   private:
    void equalise(Region& region) {
        constexpr double kGain = 0.8;  // what must remain of the errors at most
        constexpr double kAlike = 2;   // factors that differ by less than this are not worth a look at all weights
        Store& store = xnn::store_of(&getContext());
        const std::vector<double> ones(region.channels(), 1), factors = factors_of(region, store);
        if (const auto [low, high] = std::ranges::minmax(factors); high < kAlike * low) return;
        double remains = 0;
        for (const Reader& reader : region.readers) {
            const std::vector<double> sizes = region.sizes(reader.layer->getOperand(0), store);
            const double before = error_of(reader, sizes, ones),
                         ratio = before == 0 ? 1 : error_of(reader, sizes, factors) / before;
            if (!(ratio <= 1)) return;
            remains += ratio;
        }
        if (!(remains < kGain * static_cast<double>(region.readers.size()))) return;

        const auto multiplied = [&](std::vector<float> values) {
            for (size_t c = 0; c < factors.size(); c++) values[c] *= static_cast<float>(factors[c]);
            return values;
        };
        for (const Reader& reader : region.readers) {
            mlir::OpOperand& operand = *weights_of(reader.layer);
            std::vector<float> divided(reader.weights.size());
            const size_t columns = reader.columns, width = columns / reader.groups;
            for (size_t i = 0; i < divided.size() / columns; i++)
                for (size_t g = 0; g < reader.groups; g++) {
                    const auto by = static_cast<float>(1 / factors[reader.channel(i, g)]);
                    for (size_t j = g * width; j < (g + 1) * width; j++)
                        divided[i * columns + j] = reader.weights[i * columns + j] * by;
                }
            std::vector<std::byte> bytes(divided.size() * sizeof(float));
            std::memcpy(bytes.data(), divided.data(), bytes.size());
            mlir::OpBuilder builder(reader.layer);
            operand.set(store_constant(builder, reader.layer->getLoc(), store, "equalised", type_of(operand.get()),
                                       std::move(bytes)));
        }
        for (const auto& [bound, value] : region.bounds) {
            mlir::OpBuilder builder(bound->getOwner());
            bound->set(columns_constant(builder, value.getLoc(), store,
                                        multiplied(*by_column(bound->get(), type_of(value), store))));
        }
        for (auto& [value, place] : region.values) {
            if (!region.made.contains(value)) continue;
            mlir::OpBuilder builder(&getContext());
            builder.setInsertionPointAfterValue(value);
            const mlir::Location location = value.getLoc();
            const Value by = columns_constant(builder, location, store, {factors.begin(), factors.end()});
            auto product = builder.create<xnn::BinaryOp>(location, value.getType(), xnn::Binary::mul, value, by);
            Value(value).replaceAllUsesExcept(product, product);
        }
    }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_equalise_pass() { return std::make_unique<EqualisePass>(); }

}  // namespace sidra::compiler
