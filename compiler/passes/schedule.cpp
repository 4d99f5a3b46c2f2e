// SPDX-License-Identifier: MIT
// The order of the calls, so that less memory is needed at a time. The chip runs the calls of a queue one after
// another, so any order takes as long; but a network lists its branches as somebody wrote them, and a branch that could
// end early may keep its memory.
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <algorithm>
#include <vector>

#include "passes.h"
#include "xbar.h"

namespace sidra::compiler {
namespace {

using mlir::Value;

struct Buffer {
    uint64_t size = 0;
    std::vector<size_t> calls;  // that use it, in their order
    bool kept = false;          // to the end: it is an output
};

struct Call {
    mlir::Operation* op;
    std::vector<size_t> buffers;  // each one once
    std::vector<size_t> behind;   // the calls that must come later
    size_t before = 0;            // how many must come earlier
};

// A function's calls, and what they need.
class Calls {
   public:
    explicit Calls(mlir::Block& block) {
        for (mlir::Operation& op : block.without_terminator())
            if (!mlir::isa<xbar::AllocOp, xbar::ConstantOp, xbar::WeightsOp>(op)) add(&op);
        for (const Value result : block.getTerminator()->getOperands())
            if (const auto known = numbers_.find(result); known != numbers_.end()) buffers_[known->second].kept = true;
        for (Call& call : calls_) {
            std::ranges::sort(call.behind);
            call.behind.erase(std::unique(call.behind.begin(), call.behind.end()), call.behind.end());
            for (const size_t later : call.behind) calls_[later].before++;
        }
    }

    const std::vector<Call>& all() const { return calls_; }

    std::vector<size_t> present_order() const {
        std::vector<size_t> order(calls_.size());
        for (size_t i = 0; i < order.size(); i++) order[i] = i;
        return order;
    }

    // The call that leaves the least memory in use comes first, and of several the one that needs the least meanwhile.
    std::vector<size_t> frugal_order() const {
        std::vector<size_t> order, ready, before, left = uses();
        for (const Call& call : calls_) before.push_back(call.before);
        for (size_t i = 0; i < calls_.size(); i++)
            if (before[i] == 0) ready.push_back(i);
        while (!ready.empty()) {
            const auto next = std::ranges::min_element(ready, {}, [&](size_t call) {
                const Change change = change_of(call, left);
                return std::tuple(static_cast<int64_t>(change.taken) - static_cast<int64_t>(change.given), change.taken,
                                  call);
            });
            const size_t call = *next;
            ready.erase(next);
            order.push_back(call);
            for (const size_t buffer : calls_[call].buffers) left[buffer]--;
            for (const size_t later : calls_[call].behind)
                if (--before[later] == 0) ready.push_back(later);
        }
        return order;
    }

    // The most bytes that are in use at a time.
    uint64_t most_bytes(const std::vector<size_t>& order) const {
        std::vector<size_t> left = uses();
        uint64_t now = 0, most = 0;
        for (const size_t call : order) {
            const Change change = change_of(call, left);
            now += change.taken;
            most = std::max(most, now);
            now -= change.given;
            for (const size_t buffer : calls_[call].buffers) left[buffer]--;
        }
        return most;
    }

   private:
    struct Change {
        uint64_t taken = 0, given = 0;  // bytes, at the beginning and at the end of a call
    };

    void add(mlir::Operation* op) {
        const size_t number = calls_.size();
        calls_.push_back({op, {}, {}, 0});
        for (const Value operand : op->getOperands()) {
            // What is no buffer of the run, or is one that nothing writes, puts nothing in order.
            if (!mlir::isa<xbar::BufferType>(operand.getType()) || operand.getDefiningOp<xbar::ConstantOp>()) continue;
            const auto [known, added] = numbers_.try_emplace(operand, buffers_.size());
            if (added) {
                // The memory of arguments is in use all the time.
                const bool planned = operand.getDefiningOp<xbar::AllocOp>() != nullptr;
                buffers_.push_back(
                    {planned ? mlir::cast<xbar::BufferType>(operand.getType()).getSize() : 0, {}, false});
                writers_.emplace_back();
                readers_.emplace_back();
            }
            const size_t buffer = known->second;
            if (std::ranges::find(calls_[number].buffers, buffer) != calls_[number].buffers.end()) continue;
            calls_[number].buffers.push_back(buffer);
            buffers_[buffer].calls.push_back(number);
            // Who writes comes behind all that used the buffer so far, and who reads behind all that wrote it.
            const auto behind = [&](const std::vector<size_t>& earlier) {
                for (const size_t call : earlier) calls_[call].behind.push_back(number);
            };
            behind(writers_[buffer]);
            if (xbar::writes(op, operand)) {
                behind(readers_[buffer]);
                writers_[buffer].push_back(number);
            } else {
                readers_[buffer].push_back(number);
            }
        }
    }

    std::vector<size_t> uses() const {
        std::vector<size_t> left;
        for (const Buffer& buffer : buffers_) left.push_back(buffer.calls.size());
        return left;
    }

    // `left`: how many calls still use each buffer.
    Change change_of(size_t call, const std::vector<size_t>& left) const {
        Change change;
        for (const size_t number : calls_[call].buffers) {
            const Buffer& buffer = buffers_[number];
            if (left[number] == buffer.calls.size()) change.taken += buffer.size;
            if (left[number] == 1 && !buffer.kept) change.given += buffer.size;
        }
        return change;
    }

    std::vector<Call> calls_;
    std::vector<Buffer> buffers_;
    std::vector<std::vector<size_t>> writers_, readers_;  // of each buffer
    llvm::DenseMap<Value, size_t> numbers_;
};

class SchedulePass : public mlir::PassWrapper<SchedulePass, mlir::OperationPass<mlir::func::FuncOp>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SchedulePass)
    llvm::StringRef getArgument() const override { return "xbar-schedule"; }
    llvm::StringRef getDescription() const override { return "calls get an order that needs less memory"; }

    void runOnOperation() override {
        if (!getOperation().getBody().hasOneBlock()) return signalPassFailure();
        mlir::Block& block = getOperation().getBody().front();
        const Calls calls(block);
        const std::vector<size_t> order = calls.frugal_order();
        if (calls.most_bytes(order) >= calls.most_bytes(calls.present_order())) return;
        for (const size_t call : order) calls.all()[call].op->moveBefore(block.getTerminator());
    }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_schedule_pass() { return std::make_unique<SchedulePass>(); }

}  // namespace sidra::compiler
