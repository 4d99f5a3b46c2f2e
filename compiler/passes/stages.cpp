// SPDX-License-Identifier: MIT
// Cuts a network into stages for several chips, which work on it as a pipeline. A stage gets what the stages before it
// have computed for it and for those behind it, and hands on what they need: so each stage only knows its neighbours.
#include <fmt/format.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/IRMapping.h>

#include <algorithm>
#include <map>
#include <set>

#include "cost.h"
#include "cut.h"
#include "names.h"
#include "passes.h"
#include "report.h"

namespace sidra::compiler {
namespace {

using mlir::Value;

bool is_call(mlir::Operation* op) {
    return mlir::isa<xbar::VectorOp, xbar::LayerOp, xbar::MatmulOp, xbar::PoolOp, xbar::SortOp, xbar::HostOp>(op);
}

uint64_t size_of(Value buffer) { return mlir::cast<xbar::BufferType>(buffer.getType()).getSize(); }

// Memory whose content can pass from call to call.
struct Memory {
    Value buffer;
    size_t first, last;  // numbers of the calls that use it; an input is there before all, and an output behind all
    bool crosses(size_t cut) const { return first < cut && cut <= last; }
};

// A function as a list of calls. Call numbers are from 1 on, so that 0 can stand for what is before all of them.
class Calls {
   public:
    explicit Calls(mlir::func::FuncOp function) : function_(function) {
        mlir::Block& block = function.getBody().front();
        for (mlir::Operation& op : block)
            if (is_call(&op)) list_.push_back(&op);
        llvm::DenseMap<Value, size_t> places;
        const auto use = [&](Value value, size_t number) {
            if (!mlir::isa<xbar::BufferType>(value.getType()) || value.getDefiningOp<xbar::ConstantOp>()) return;
            const auto [at, is_new] = places.try_emplace(value, memories_.size());
            if (is_new) memories_.push_back({value, mlir::isa<mlir::BlockArgument>(value) ? 0 : number, number});
            memories_[at->second].last = number;
        };
        for (const Value input : block.getArguments()) use(input, 0);
        for (size_t i = 0; i < list_.size(); i++)
            for (const Value operand : list_[i]->getOperands()) use(operand, i + 1);
        for (const Value output : block.getTerminator()->getOperands()) use(output, list_.size() + 1);
    }

    mlir::func::FuncOp function() const { return function_; }
    llvm::ArrayRef<mlir::Operation*> list() const { return list_; }

    // What passes from the calls before number `begin` of the list to the others.
    std::vector<Value> crossing(size_t begin) const {
        std::vector<Value> buffers;
        for (const Memory& memory : memories_)
            if (memory.crosses(begin + 1)) buffers.push_back(memory.buffer);
        return buffers;
    }

   private:
    mlir::func::FuncOp function_;
    std::vector<mlir::Operation*> list_;
    std::vector<Memory> memories_;
};

// A function that computes a part of another one.
class StageBuilder {
   public:
    StageBuilder(const Calls& calls, uint32_t stage, size_t begin, size_t end)
        : calls_(calls), stage_(stage), begin_(begin), end_(end), is_last_(end == calls.list().size()) {}

    void build(mlir::OpBuilder& builder) {
        mlir::func::FuncOp whole = calls_.function();
        mlir::Block& block = whole.getBody().front();
        const std::vector<Value> takes =
            begin_ == 0 ? std::vector<Value>(block.args_begin(), block.args_end()) : calls_.crossing(begin_);
        const std::vector<Value> gives =
            is_last_ ? std::vector<Value>(block.getTerminator()->operand_begin(), block.getTerminator()->operand_end())
                     : calls_.crossing(end_);
        const std::string name = whole.getName().str() + "_stage" + std::to_string(stage_);
        const auto type =
            builder.getFunctionType(mlir::ValueRange(takes).getTypes(), mlir::ValueRange(gives).getTypes());
        auto made = builder.create<mlir::func::FuncOp>(whole.getLoc(), name, type);
        made->setAttr("xbar.stage", builder.getI32IntegerAttr(static_cast<int32_t>(stage_)));
        mlir::Block* const body = made.addEntryBlock();
        for (size_t i = 0; i < takes.size(); i++) {
            mapping_.map(takes[i], body->getArgument(static_cast<unsigned>(i)));
            if (const auto named = attributes(builder, takes[i])) made.setArgAttrs(static_cast<unsigned>(i), named);
        }
        body_ = mlir::OpBuilder::atBlockEnd(body);
        for (mlir::Operation* const op : calls_.list().slice(begin_, end_ - begin_)) {
            for (const Value operand : op->getOperands()) find(operand);
            body_.clone(*op, mapping_);
        }
        llvm::SmallVector<Value> results;
        for (const Value result : gives) results.push_back(find(result));
        body_.create<mlir::func::ReturnOp>(block.getTerminator()->getLoc(), results);
        for (unsigned i = 0; i < gives.size(); i++)
            if (const auto named = is_last_ ? whole.getResultAttrDict(i) : attributes(builder, gives[i]))
                made.setResultAttrs(i, named);
    }

   private:
    // The value in this stage; memory, constants and weights are made where they are first used.
    Value find(Value value) {
        if (!mapping_.contains(value)) body_.clone(*value.getDefiningOp(), mapping_);
        return mapping_.lookup(value);
    }

    // Name and shape. Between stages there are only bytes, named as the nodes that first write them.
    mlir::DictionaryAttr attributes(mlir::OpBuilder& builder, Value buffer) {
        if (const auto argument = mlir::dyn_cast<mlir::BlockArgument>(buffer))
            return calls_.function().getArgAttrDict(argument.getArgNumber());
        mlir::Operation* first = nullptr;
        for (mlir::Operation* const user : buffer.getUsers())
            if (first == nullptr || user->isBeforeInBlock(first)) first = user;
        const std::vector<std::string> names = names_of(first->getLoc());
        const auto type = mlir::RankedTensorType::get({static_cast<int64_t>(size_of(buffer))},
                                                      builder.getIntegerType(8, /*isSigned=*/false));
        return builder.getDictionaryAttr({
            builder.getNamedAttr("xnn.name", builder.getStringAttr(names.empty() ? "memory" : names.back())),
            builder.getNamedAttr("xbar.tensor", mlir::TypeAttr::get(type)),
        });
    }

    const Calls& calls_;
    const uint32_t stage_;
    const size_t begin_, end_;
    const bool is_last_;
    mlir::IRMapping mapping_;
    mlir::OpBuilder body_{static_cast<mlir::MLIRContext*>(nullptr)};
};

class StagesPass : public mlir::PassWrapper<StagesPass, mlir::OperationPass<mlir::ModuleOp>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StagesPass)
    StagesPass() = default;
    StagesPass(const StagesPass& other) : PassWrapper(other) {}
    explicit StagesPass(uint32_t chips) { chips_ = chips; }
    llvm::StringRef getArgument() const override { return "xbar-stages"; }
    llvm::StringRef getDescription() const override { return "calls become stages for several chips"; }

    void runOnOperation() override {
        if (chips_ == 1) return;
        if (chips_ > kStagesMax) return refuse(getOperation(), "there are at most 16 chips");
        llvm::SmallVector<mlir::func::FuncOp> functions(getOperation().getOps<mlir::func::FuncOp>());
        for (mlir::func::FuncOp function : functions)
            if (!function.getBody().hasOneBlock()) return refuse(function, "has more than one block");
        uint32_t stages = 0;  // of the first function; the others follow it
        for (mlir::func::FuncOp function : functions) {
            const Calls calls(function);
            const std::optional<Cut> cut = find(calls, stages);
            if (!cut) return;
            stages = static_cast<uint32_t>(cut->begins.size());
            if (stages == 1) return;  // auto: one chip is enough
            mlir::OpBuilder builder(function);
            for (uint32_t s = 0; s < stages; s++) {
                const size_t end = s + 1 < stages ? cut->begins[s + 1] : calls.list().size();
                StageBuilder(calls, s, cut->begins[s], end).build(builder);
            }
            if (places_.empty()) remember(calls, *cut);
            function.erase();
        }
    }

   private:
    void refuse(mlir::Operation* op, const std::string& why) {
        op->emitError(why);
        signalPassFailure();
    }

    // stages: that there must be; 0: as many as the option says.
    std::optional<Cut> find(const Calls& calls, uint32_t stages) {
        if (stages == 0 && chips_ == 0 && calls.list().empty()) return Cut{{0}};
        if (stages == 0 && chips_ > calls.list().size()) {
            refuse(calls.function(), fmt::format("the network is {} calls, which are too few for {} chips",
                                                 calls.list().size(), chips_.getValue()));
            return std::nullopt;
        }
        const uint32_t least = stages != 0 ? stages : chips_ != 0 ? chips_ : 1;
        const uint32_t most = stages != 0 ? stages : chips_ != 0 ? chips_ : kStagesMax;
        // Two cells for a weight have smaller errors; where there is no room for them, libsidra takes one.
        for (const uint32_t cells : {2u, 1u}) {
            const std::vector<CallCost> costs = costs_of(calls, cells);
            for (uint32_t s = least; s <= most; s++)
                if (auto found = cut(costs, s, {crossbars_, link_bytes_per_ns()})) return found;
        }
        uint64_t needed = 0, largest = 0;
        std::map<std::string, uint64_t> matrices;
        for (mlir::Operation* const call : calls.list())
            if (auto layer = mlir::dyn_cast<xbar::LayerOp>(call))
                matrices.try_emplace(key(layer),
                                     crossbars_of(mlir::cast<xbar::MatrixType>(layer.getWeights().getType()), 1));
        for (const auto& [name, crossbars] : matrices) needed += crossbars, largest = std::max(largest, crossbars);
        if (stages != 0)
            refuse(calls.function(),
                   "in this size of its dimensions the network has its matrices in another order, so its "
                   "variants cannot have the same stages; compile each size into a file of its own");
        else
            refuse(calls.function(),
                   fmt::format(
                       "the matrices need {} crossbars (the largest {}) of {} chips with {} each, and no cut between "
                       "layers makes stages that fit; use more chips, or a smaller network",
                       needed, largest, most, crossbars_.getValue()));
        return std::nullopt;
    }

    static std::string key(xbar::LayerOp layer) {
        auto weights = layer.getWeights().getDefiningOp<xbar::WeightsOp>();
        return weights.getHash().str() + " " + std::to_string(weights.getCopy()) + " " +
               std::to_string(mlir::cast<xbar::MatrixType>(weights.getType()).getRows());
    }

    std::vector<CallCost> costs_of(const Calls& calls, uint32_t cells) const {
        std::vector<CallCost> costs;
        std::map<std::string, int64_t> numbers;
        for (size_t i = 0; i < calls.list().size(); i++) {
            CallCost& cost = costs.emplace_back();
            cost.time = time_of(calls.list()[i]);
            for (const Value buffer : calls.crossing(i)) cost.before += size_of(buffer);
            auto layer = mlir::dyn_cast<xbar::LayerOp>(calls.list()[i]);
            if (!layer) continue;
            const std::string name = key(layer);
            cost.matrix = numbers.try_emplace(name, static_cast<int64_t>(numbers.size())).first->second;
            cost.crossbars = crossbars_of(mlir::cast<xbar::MatrixType>(layer.getWeights().getType()), cells);
            if (!places_.empty()) {
                const auto at = places_.find(name);
                cost.stages = at != places_.end() ? at->second : 0;
            }
        }
        return costs;
    }

    void remember(const Calls& calls, const Cut& cut) {
        for (size_t i = 0, s = 0; i < calls.list().size(); i++) {
            if (s + 1 < cut.begins.size() && cut.begins[s + 1] == i) s++;
            if (auto layer = mlir::dyn_cast<xbar::LayerOp>(calls.list()[i])) places_[key(layer)] |= uint32_t{1} << s;
        }
    }

    Option<uint32_t> chips_{*this, "chips", llvm::cl::desc("chips of the pipeline; 0: as few as hold the matrices"),
                            llvm::cl::init(1)};
    Option<uint64_t> crossbars_{*this, "crossbars", llvm::cl::desc("of a chip"),
                                llvm::cl::init(static_cast<uint64_t>(kChipCrossbars))};
    std::map<std::string, uint32_t> places_;  // of each matrix: in which stages it is, a bit for each
};

}  // namespace

std::unique_ptr<mlir::Pass> make_stages_pass(uint32_t chips) { return std::make_unique<StagesPass>(chips); }

}  // namespace sidra::compiler
