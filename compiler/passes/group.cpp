// SPDX-License-Identifier: MIT
// Operations join the group of what they depend on, as long as the group fits into one program and no operation
// outside of it lies between.
#include <mlir/Analysis/TopologicalSortUtils.h>
#include <mlir/IR/IRMapping.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "passes.h"
#include "program.h"
#include "shapes.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

using mlir::RankedTensorType;
using mlir::Value;

// Programs of groups that are too long for one call are slow to find, and bring nothing.
constexpr size_t kOperationsMax = 48;

bool is_product(mlir::Operation& op) { return mlir::isa<xnn::LinearOp, xnn::ConvLayerOp, xnn::MatmulOp>(op); }

bool can_be_in_group(mlir::Operation& op) {
    return is_product(op) ||
           mlir::isa<xnn::UnaryOp, xnn::BinaryOp, xnn::SelectOp, xnn::CastOp, xnn::ReduceOp, xnn::ScanOp>(op);
}

bool is_number(Value value) {
    auto constant = value.getDefiningOp<xnn::ConstantOp>();
    const auto elements = constant ? mlir::dyn_cast<mlir::DenseElementsAttr>(constant.getValue()) : nullptr;
    return elements && elements.isSplat();
}

struct Cluster {
    std::vector<mlir::Operation*> operations;  // in the order of the block
    xnn::GroupOp group;
};

class Grouping {
   public:
    Grouping(mlir::Block& block, bool join) : block_(block), join_(join) {}

    mlir::LogicalResult run() {
        std::vector<mlir::Operation*> operations;
        unsigned position = 0;
        for (mlir::Operation& op : block_) {
            positions_[&op] = position++;
            if (can_be_in_group(op)) operations.push_back(&op);
        }
        for (mlir::Operation* const op : operations)
            if (!(join_ && join(op)) && mlir::failed(found(op))) return mlir::failure();
        replace();
        return mlir::success(mlir::sortTopologically(&block_));
    }

   private:
    Cluster* cluster_of(mlir::Operation* op) const {
        const auto found = clusters_of_.find(op);
        return found == clusters_of_.end() ? nullptr : found->second;
    }

    // The group of an operation's operands that takes it.
    bool join(mlir::Operation* op) {
        if (is_product(*op)) return false;
        std::vector<Cluster*> candidates;
        for (const Value operand : op->getOperands())
            if (Cluster* const cluster = operand.getDefiningOp() ? cluster_of(operand.getDefiningOp()) : nullptr)
                if (std::ranges::find(candidates, cluster) == candidates.end()) candidates.push_back(cluster);
        // First the one that ends last: what it computes is likely to be needed here only.
        std::ranges::sort(candidates, std::greater<>(),
                          [&](const Cluster* cluster) { return positions_.at(cluster->operations.back()); });
        for (Cluster* const cluster : candidates) {
            if (cluster->operations.size() >= kOperationsMax || !same_rows(*cluster, op) || is_behind(*cluster, op))
                continue;
            std::vector<mlir::Operation*> operations = cluster->operations;
            operations.push_back(op);
            const xnn::GroupOp group = build(operations);
            if (!generate(group)) {
                group->erase();
                continue;
            }
            cluster->group->erase();
            cluster->group = group;
            cluster->operations = std::move(operations);
            clusters_of_[op] = cluster;
            return true;
        }
        return false;
    }

    mlir::LogicalResult found(mlir::Operation* op) {
        auto cluster = std::make_unique<Cluster>(Cluster{{op}, build({op})});
        std::string why;
        if (!generate(cluster->group, &why)) {
            cluster->group->erase();
            return op->emitError("the chip cannot compute this: ") << why;
        }
        clusters_of_[op] = cluster.get();
        clusters_.push_back(std::move(cluster));
        return mlir::success();
    }

    // Whether an operation has the rows of a group, as vectors or as scalars of the rows.
    static bool same_rows(const Cluster& cluster, mlir::Operation* op) {
        const llvm::SmallVector<int64_t> space = space_of(cluster.group);
        llvm::SmallVector<int64_t> scalar(space);
        scalar.back() = 1;
        const auto shape = in_rank_of(op->getResult(0), space.size());
        if (shape != space && shape != scalar) return false;
        return llvm::all_of(op->getOperands(), [&](Value operand) {
            llvm::SmallVector<int64_t> both(space);
            return xnn::broadcast(both, mlir::cast<RankedTensorType>(operand.getType()).getShape()) && both == space;
        });
    }

    // Whether an operand from outside depends on the group.
    bool is_behind(const Cluster& cluster, mlir::Operation* op) {
        const unsigned first = positions_.at(cluster.operations.front());
        llvm::SmallPtrSet<mlir::Operation*, 16> seen;
        std::vector<mlir::Operation*> open;
        const auto open_operands = [&](mlir::Operation* of) {
            for (const Value operand : of->getOperands()) {
                mlir::Operation* const from = operand.getDefiningOp();
                if (from != nullptr && seen.insert(from).second) open.push_back(from);
            }
        };
        for (const Value operand : op->getOperands()) {
            mlir::Operation* const from = operand.getDefiningOp();
            if (from != nullptr && cluster_of(from) != &cluster && seen.insert(from).second) open.push_back(from);
        }
        while (!open.empty()) {
            mlir::Operation* const from = open.back();
            open.pop_back();
            Cluster* const other = cluster_of(from);
            if (other == &cluster) return true;
            if (other == nullptr && positions_.at(from) < first) continue;
            if (other == nullptr) open_operands(from);
            else
                for (mlir::Operation* const member : other->operations)  // the whole group runs before its results
                    if (seen.insert(member).second || member == from) open_operands(member);
        }
        return false;
    }

    // A group of these operations, at the end of the block. What others use is a result.
    xnn::GroupOp build(const std::vector<mlir::Operation*>& operations) {
        llvm::SmallVector<Value> inputs, results;
        llvm::SmallVector<mlir::Location> locations;
        const auto inside = [&](mlir::Operation* op) { return std::ranges::find(operations, op) != operations.end(); };
        for (mlir::Operation* const op : operations) {
            for (const Value operand : op->getOperands())
                if ((!is_number(operand) || is_product(*op)) && !inside(operand.getDefiningOp()) &&
                    !llvm::is_contained(inputs, operand))
                    inputs.push_back(operand);
            if (llvm::any_of(op->getUsers(),
                             [&](mlir::Operation* user) { return user->getBlock() == &block_ && !inside(user); }))
                results.push_back(op->getResult(0));
            locations.push_back(op->getLoc());
        }
        mlir::OpBuilder builder(block_.getTerminator());
        const mlir::Location location = builder.getFusedLoc(locations);
        mlir::OperationState state(location, xnn::GroupOp::getOperationName());
        state.addOperands(inputs);
        state.addTypes(mlir::ValueRange(results).getTypes());
        mlir::Block* const body = new mlir::Block;
        state.addRegion()->push_back(body);
        mlir::IRMapping mapping;
        for (const Value input : inputs) mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
        mlir::OpBuilder inner(builder.getContext());
        inner.setInsertionPointToEnd(body);
        for (mlir::Operation* const op : operations) {
            for (const Value operand : op->getOperands())
                if (is_number(operand) && !mapping.contains(operand)) inner.clone(*operand.getDefiningOp(), mapping);
            inner.clone(*op, mapping);
        }
        llvm::SmallVector<Value> yielded;
        for (const Value result : results) yielded.push_back(mapping.lookup(result));
        inner.create<xnn::YieldOp>(location, yielded);
        auto group = mlir::cast<xnn::GroupOp>(builder.create(state));
        outputs_[group] = std::move(results);
        return group;
    }

    void replace() {
        for (const auto& cluster : clusters_) {
            const auto& outputs = outputs_.at(cluster->group);
            for (size_t i = 0; i < outputs.size(); i++)
                Value(outputs[i])
                    .replaceUsesWithIf(cluster->group.getResult(static_cast<unsigned>(i)), [&](mlir::OpOperand& use) {
                        return use.getOwner()->getBlock() == &block_ && cluster_of(use.getOwner()) != cluster.get();
                    });
        }
        for (const auto& cluster : llvm::reverse(clusters_))
            for (mlir::Operation* const op : llvm::reverse(cluster->operations)) {
                op->dropAllUses();
                op->erase();
            }
    }

    mlir::Block& block_;
    const bool join_;
    llvm::DenseMap<mlir::Operation*, unsigned> positions_;
    llvm::DenseMap<mlir::Operation*, Cluster*> clusters_of_;
    std::vector<std::unique_ptr<Cluster>> clusters_;
    llvm::DenseMap<mlir::Operation*, llvm::SmallVector<Value>> outputs_;
};

class GroupPass : public mlir::PassWrapper<GroupPass, mlir::OperationPass<>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(GroupPass)
    llvm::StringRef getArgument() const override { return "xnn-group"; }
    llvm::StringRef getDescription() const override { return "operations on the same rows become one group"; }
    GroupPass() = default;
    GroupPass(const GroupPass& other) : PassWrapper(other) {}
    explicit GroupPass(bool join) { join_ = join; }
    void runOnOperation() override {
        llvm::SmallVector<mlir::Block*> blocks;
        getOperation()->walk([&](mlir::Operation* op) {
            if (can_be_in_group(*op) && !mlir::isa<xnn::GroupOp>(op->getParentOp()) &&
                !llvm::is_contained(blocks, op->getBlock()))
                blocks.push_back(op->getBlock());
        });
        for (mlir::Block* const block : blocks)
            if (mlir::failed(Grouping(*block, join_).run())) return signalPassFailure();
    }

   private:
    Option<bool> join_{*this, "join", llvm::cl::desc("operations join groups; otherwise each one is a group"),
                       llvm::cl::init(true)};
};

}  // namespace

std::unique_ptr<mlir::Pass> make_group_pass(bool join) { return std::make_unique<GroupPass>(join); }

}  // namespace sidra::compiler
