// SPDX-License-Identifier: MIT
// The columns whose errors cost most are on crossbars three times, and the median of the three results counts: it is
// right although one crossbar is broken. In a layer all columns have the same inputs, and cells have the same errors in
// units of codes, so the error that a column has to expect is proportional to its factor.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "build.h"
#include "columns.h"
#include "passes.h"
#include "read.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

constexpr int32_t kCopy = 64;  // more than there are copies of a layer for a mean

// Some columns of a row-major matrix, in this order.
template <typename T>
std::vector<T> columns_of(const std::vector<T>& matrix, size_t columns, llvm::ArrayRef<int64_t> which) {
    std::vector<T> some;
    some.reserve(matrix.size() / columns * which.size());
    for (size_t row = 0; row < matrix.size(); row += columns)
        for (const int64_t column : which) some.push_back(matrix[row + static_cast<size_t>(column)]);
    return some;
}

class VotePass : public mlir::PassWrapper<VotePass, mlir::OperationPass<>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VotePass)
    VotePass() = default;
    VotePass(const VotePass& other) : PassWrapper(other) {}
    explicit VotePass(double share) { share_ = share; }
    llvm::StringRef getArgument() const override { return "xnn-vote"; }
    llvm::StringRef getDescription() const override {
        return "critical columns of layers become the median of three copies";
    }

    void runOnOperation() override {
        if (!(share_ >= 0 && share_ <= 1)) {
            getOperation()->emitError("needs a share of the columns from 0 to 1");
            return signalPassFailure();
        }
        if (share_ == 0) return;
        for (mlir::Operation* const layer : layers_in(getOperation())) vote(layer);
    }

   private:
    void vote(mlir::Operation* layer) {
        Store& store = xnn::store_of(&getContext());
        auto weights = layer->getOperand(1).getDefiningOp<xnn::ConstantOp>();
        const auto factors = read_floats(layer->getOperand(2), store);
        const auto codes = weights ? read_bytes(weights.getValue(), weights.getType(), store) : std::nullopt;
        if (!codes || !factors) return;
        const auto columns = static_cast<int64_t>(factors->size());
        const int64_t count = voting_columns(share_, columns);

        // The critical columns first; apart from that, columns stay in their order.
        llvm::SmallVector<int64_t> order(factors->size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
            return std::abs((*factors)[static_cast<size_t>(a)]) > std::abs((*factors)[static_cast<size_t>(b)]);
        });
        std::ranges::sort(order.begin(), order.begin() + count);
        std::ranges::sort(order.begin() + count, order.end());

        mlir::OpBuilder before(layer);
        const auto give = [&](mlir::Operation* to, llvm::ArrayRef<int64_t> which) {
            const auto values = mlir::dyn_cast<xnn::ValuesAttr>(weights.getValue());
            const auto type =
                weights.getType().clone({weights.getType().getDimSize(0), static_cast<int64_t>(which.size())});
            to->setOperand(1, store_constant(before, weights.getLoc(), store, values ? values.getName() : "weights",
                                             mlir::cast<mlir::RankedTensorType>(type),
                                             columns_of(*codes, factors->size(), which)));
            to->setOperand(
                2, columns_constant(before, layer->getLoc(), store, columns_of(*factors, factors->size(), which)));
        };
        mlir::Value whole = layer->getResult(0);
        llvm::SmallVector<mlir::OpOperand*> uses;
        for (mlir::OpOperand& use : whole.getUses()) uses.push_back(&use);

        if (count < columns) give(layer, order);
        mlir::OpBuilder after(layer->getContext());
        after.setInsertionPointAfter(layer);
        xnn::Build build(after, layer->getLoc());
        const auto copy = [&](int32_t number) {
            mlir::Operation* const made = build.builder().clone(*layer);
            const auto old = layer->getAttrOfType<mlir::IntegerAttr>("copy");
            made->setAttr("copy",
                          after.getI32IntegerAttr(static_cast<int32_t>(old ? old.getInt() : 0) + number * kCopy));
            if (count < columns) {
                give(made, llvm::ArrayRef(order).take_front(static_cast<size_t>(count)));
                llvm::SmallVector<int64_t> shape = xnn::Build::shape_of(whole);
                shape.back() = count;
                made->getResult(0).setType(xnn::Build::type_of(whole).clone(shape));
            }
            return made->getResult(0);
        };
        const mlir::Value second = copy(1), third = copy(2);
        const mlir::Value first = count < columns ? build.narrow(whole, -1, 0, count) : whole;
        const mlir::Value low = build.min(second, third), high = build.max(second, third);
        mlir::Value voted = build.max(low, build.min(high, first));
        if (count < columns) {
            llvm::SmallVector<int64_t> places(order.size());
            for (size_t i = 0; i < order.size(); i++) places[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
            voted = build.take(build.concat({voted, build.narrow(whole, -1, count, columns - count)}, -1), places, -1);
        }
        for (mlir::OpOperand* const use : uses) use->set(voted);
    }

    Option<double> share_{*this, "share", llvm::cl::desc("of the columns of each layer"), llvm::cl::init(0)};
};

}  // namespace

int64_t voting_columns(double share, int64_t columns) {
    return std::min(static_cast<int64_t>(std::ceil(share * static_cast<double>(columns))), columns);
}

std::unique_ptr<mlir::Pass> make_vote_pass(double share) { return std::make_unique<VotePass>(share); }

}  // namespace sidra::compiler
