// SPDX-License-Identifier: MIT
// Buffers whose uses do not overlap in time may share memory. The largest is placed first, as low as possible beside
// those that live at the same time.
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <algorithm>
#include <vector>

#include "passes.h"
#include "xbar.h"

namespace sidra::compiler {
namespace {

constexpr uint64_t kAlignment = 64;  // a cache line, so that no two buffers share one

struct Buffer {
    xbar::AllocOp op;
    uint64_t size;
    size_t first, last;  // positions of the calls that use it
    uint64_t offset = 0;
};

class PlanPass : public mlir::PassWrapper<PlanPass, mlir::OperationPass<mlir::func::FuncOp>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanPass)
    llvm::StringRef getArgument() const override { return "xbar-plan"; }
    llvm::StringRef getDescription() const override { return "memory gets its place"; }

    void runOnOperation() override {
        mlir::func::FuncOp function = getOperation();
        if (!function.getBody().hasOneBlock()) return signalPassFailure();
        mlir::Block& block = function.getBody().front();
        // The inputs come first; they live from the beginning to the end, so that a run may be repeated.
        uint64_t inputs = 0;
        for (unsigned i = 0; i < block.getNumArguments(); i++) {
            function.setArgAttr(
                i, "xbar.offset",
                mlir::IntegerAttr::get(mlir::IntegerType::get(&getContext(), 64), static_cast<int64_t>(inputs)));
            const auto type = mlir::dyn_cast<xbar::BufferType>(block.getArgument(i).getType());
            if (!type) {
                function.emitError("has an argument that is no buffer");
                return signalPassFailure();
            }
            inputs += rounded(type.getSize());
        }
        llvm::DenseMap<mlir::Operation*, size_t> positions;
        for (mlir::Operation& op : block) positions.try_emplace(&op, positions.size());
        std::vector<Buffer> buffers;
        for (auto op : llvm::make_early_inc_range(block.getOps<xbar::AllocOp>())) {
            if (op->use_empty()) {
                op->erase();
                continue;
            }
            Buffer buffer{op, rounded(mlir::cast<xbar::BufferType>(op.getType()).getSize()), SIZE_MAX, 0};
            for (mlir::Operation* const user : op->getUsers()) {
                buffer.first = std::min(buffer.first, positions.at(user));
                buffer.last = std::max(buffer.last, positions.at(user));
            }
            buffers.push_back(buffer);
        }
        std::ranges::stable_sort(buffers, std::greater<>(), &Buffer::size);
        uint64_t end = inputs;
        std::vector<const Buffer*> placed;  // by offset
        for (Buffer& buffer : buffers) {
            uint64_t at = inputs;
            for (const Buffer* const other : placed) {
                if (other->last < buffer.first || buffer.last < other->first) continue;
                if (at + buffer.size <= other->offset) break;
                at = std::max(at, other->offset + other->size);
            }
            buffer.offset = at;
            end = std::max(end, at + buffer.size);
            placed.insert(std::ranges::upper_bound(placed, at, {}, [](const Buffer* b) { return b->offset; }), &buffer);
            buffer.op.setOffset(at);
        }
        function->setAttr("xbar.work",
                          mlir::IntegerAttr::get(mlir::IntegerType::get(&getContext(), 64), static_cast<int64_t>(end)));
    }

   private:
    static uint64_t rounded(uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_plan_pass() { return std::make_unique<PlanPass>(); }

}  // namespace sidra::compiler
