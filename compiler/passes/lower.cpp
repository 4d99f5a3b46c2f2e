// SPDX-License-Identifier: MIT
// Each tensor becomes a view: a place in a buffer, with a stride for each dimension. Operations that only rearrange
// elements change the view where strides can express it, and copy otherwise.
#include <fmt/format.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "passes.h"
#include "program.h"
#include "read.h"
#include "shapes.h"
#include "sidra_vector.h"
#include "xbar.h"
#include "xnn.h"

namespace sidra::compiler {
namespace {

using mlir::failure;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::success;
using mlir::Value;
using Shape = llvm::SmallVector<int64_t>;

constexpr size_t kRowDimensions = 3;      // of an iteration space, besides its columns
constexpr int64_t kCallsMax = 1 << 16;    // of one operation
constexpr int64_t kColumnsMax = 1 << 17;  // of a row whose columns depend on each other

struct View {
    Value buffer;
    int64_t offset = 0;    // bytes
    mlir::Type type;       // of an element
    Shape shape, strides;  // elements; bytes

    int64_t element() const { return static_cast<int64_t>(element_bytes(type)); }
    bool dense() const {
        int64_t stride = element();
        for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
            if (shape[d] != 1 && strides[d] != stride) return false;
        return true;
    }
};

Shape dense_bytes(llvm::ArrayRef<int64_t> shape, int64_t element) {
    Shape strides = xnn::dense_strides(shape);
    for (int64_t& stride : strides) stride *= element;
    return strides;
}

// The strides of a view over a space to which it broadcasts.
Shape over(const View& view, llvm::ArrayRef<int64_t> space) {
    Shape strides(space.size(), 0);
    for (size_t d = 1; d <= view.shape.size(); d++)
        if (view.shape[view.shape.size() - d] != 1) strides[space.size() - d] = view.strides[view.shape.size() - d];
    return strides;
}

// One operand of a call: its array without offset of a part.
struct Operand {
    Value buffer;
    int64_t offset;
    mlir::Type type;
    Shape strides;  // over the dimensions of the space
};

// A space with as few dimensions as its operands allow. The last `fixed` dimensions stay.
struct Space {
    Shape size;
    std::vector<Operand> operands;

    void collapse(size_t fixed) {
        for (size_t d = 0; d + fixed < size.size();) {
            const bool last = d + 1 + fixed == size.size();
            if (size[d] == 1) drop(d);
            else if (!last && mergeable(d)) merge(d);
            else d++;
        }
    }
    bool mergeable(size_t d) const {
        return std::ranges::all_of(operands, [&](const Operand& o) {
            return size[d + 1] == 1 || o.strides[d] == o.strides[d + 1] * size[d + 1];
        });
    }
    void merge(size_t d) {
        size[d + 1] *= size[d];
        for (Operand& o : operands)
            if (size[d + 1] == size[d]) o.strides[d + 1] = o.strides[d];
        drop(d);
    }
    void drop(size_t d) {
        size.erase(size.begin() + static_cast<long>(d));
        for (Operand& o : operands) o.strides.erase(o.strides.begin() + static_cast<long>(d));
    }
    // With dimensions of size 1 in front.
    void extend(size_t rank) {
        while (size.size() < rank) {
            size.insert(size.begin(), 1);
            for (Operand& o : operands) o.strides.insert(o.strides.begin(), 0);
        }
    }
};

class Lowering {
   public:
    Lowering(mlir::func::FuncOp function, Store& store)
        : function_(function), store_(store), builder_(function.getContext()) {}

    LogicalResult run() {
        mlir::Block& block = function_.getBody().front();
        builder_.setInsertionPointToStart(&block);
        std::vector<mlir::Operation*> operations;
        for (mlir::Operation& op : block) operations.push_back(&op);
        if (mlir::failed(take_inputs(block))) return failure();
        for (mlir::Operation* const op : operations) {
            builder_.setInsertionPoint(op);
            location_ = op->getLoc();
            if (mlir::failed(lower(op))) return failure();
        }
        for (mlir::Operation* const op : llvm::reverse(operations))
            if (!mlir::isa<mlir::func::ReturnOp>(op)) op->erase();
        for (auto& [argument, buffer] : inputs_) argument.setType(buffer);
        mlir::Operation* const end = block.getTerminator();
        function_.setType(builder_.getFunctionType(block.getArgumentTypes(), end->getOperandTypes()));
        return success();
    }

   private:
    xbar::BufferType buffer_type(int64_t bytes) {
        return xbar::BufferType::get(builder_.getContext(), static_cast<uint64_t>(std::max<int64_t>(bytes, 1)));
    }

    // The arguments become buffers at the end; until then the operations that use them as tensors exist.
    LogicalResult take_inputs(mlir::Block& block) {
        for (unsigned i = 0; i < block.getNumArguments(); i++) {
            const mlir::BlockArgument argument = block.getArgument(i);
            const auto type = mlir::dyn_cast<RankedTensorType>(argument.getType());
            if (!type) return function_.emitError("has an argument that is no tensor");
            function_.setArgAttr(i, "xbar.tensor", mlir::TypeAttr::get(type));
            View view = dense(argument, type.getElementType(), type.getShape());
            inputs_.emplace_back(argument, buffer_type(bytes(type)));
            views_[argument] = std::move(view);
        }
        return success();
    }

    static int64_t bytes(RankedTensorType type) {
        return type.getNumElements() * static_cast<int64_t>(element_bytes(type.getElementType()));
    }
    static View dense(Value buffer, mlir::Type type, llvm::ArrayRef<int64_t> shape) {
        View view{buffer, 0, type, Shape(shape), {}};
        view.strides = dense_bytes(view.shape, view.element());
        return view;
    }
    static RankedTensorType type_of(Value value) { return mlir::cast<RankedTensorType>(value.getType()); }

    View allocate(mlir::Type type, llvm::ArrayRef<int64_t> shape) {
        const RankedTensorType tensor = RankedTensorType::get(shape, type);
        return dense(builder_.create<xbar::AllocOp>(location_, buffer_type(bytes(tensor)), mlir::IntegerAttr()), type,
                     shape);
    }
    View allocate(RankedTensorType type) { return allocate(type.getElementType(), type.getShape()); }
    // What is only transposed lies in memory as it is afterwards, if that keeps its rows: views of that are dense then.
    View allocate_for(Value result) {
        const RankedTensorType type = type_of(result);
        auto transpose = result.hasOneUse() ? mlir::dyn_cast<xnn::TransposeOp>(*result.getUsers().begin()) : nullptr;
        if (!transpose || transpose.getPermutation().back() != type.getRank() - 1) return allocate(type);
        View view = allocate(transpose.getType());
        const Shape strides = view.strides;
        view.shape.assign(type.getShape().begin(), type.getShape().end());
        for (size_t d = 0; d < strides.size(); d++)
            view.strides[static_cast<size_t>(transpose.getPermutation()[d])] = strides[d];
        return view;
    }

    View constant(std::vector<std::byte> content, mlir::Type type, llvm::ArrayRef<int64_t> shape) {
        const auto size = static_cast<int64_t>(content.size());
        const std::string hash = store_.add(std::move(content));
        return dense(builder_.create<xbar::ConstantOp>(location_, buffer_type(size), builder_.getStringAttr(hash)),
                     type, shape);
    }

    // ---- Calls
    // -------------------------------------------------------------------------------------------------------

    // Numbers of the buffers of one call.
    struct Buffers {
        llvm::SmallVector<Value> list;
        uint32_t operator()(Value buffer) {
            const auto found = llvm::find(list, buffer);
            if (found != list.end()) return static_cast<uint32_t>(found - list.begin());
            list.push_back(buffer);
            return static_cast<uint32_t>(list.size() - 1);
        }
    };

    xbar::ArrayAttr array(Buffers& buffers, const Operand& o, int64_t offset, llvm::ArrayRef<uint64_t> strides) {
        return xbar::ArrayAttr::get(builder_.getContext(), buffers(o.buffer), static_cast<uint64_t>(offset), o.type,
                                    strides, 0, -1, 0, mlir::Type());
    }

    mlir::ArrayAttr lines(const std::vector<std::string>& program) {
        llvm::SmallVector<llvm::StringRef> list(program.begin(), program.end());
        return builder_.getStrArrayAttr(list);
    }

    // Calls make(space, offsets of the operands) for each part of a space with at most `rows` dimensions besides the
    // last `fixed` ones.
    template <typename Make>
    LogicalResult parts(mlir::Operation* op, Space space, size_t fixed, size_t rows, const Make& make) {
        space.collapse(fixed);
        space.extend(rows + fixed);
        const size_t outer = space.size.size() - rows - fixed;
        int64_t calls = 1;
        for (size_t d = 0; d < outer; d++) calls *= space.size[d];
        if (calls > kCallsMax) return op->emitError("would be ") << calls << " calls of the chip";
        Shape at(outer, 0);
        for (int64_t call = 0; call < calls; call++) {
            std::vector<int64_t> offsets;
            for (const Operand& o : space.operands) {
                int64_t offset = o.offset;
                for (size_t d = 0; d < outer; d++) offset += at[d] * o.strides[d];
                offsets.push_back(offset);
            }
            make(space, outer, offsets);
            for (size_t d = outer; d-- > 0 && ++at[d] == space.size[d];) at[d] = 0;
        }
        return success();
    }

    static llvm::SmallVector<uint64_t> strides_from(const Operand& o, size_t first) {
        return {o.strides.begin() + static_cast<long>(first), o.strides.end()};
    }

    // A vector program over a space. by_row: its columns stay together.
    LogicalResult vector(mlir::Operation* op, Space space, const std::vector<std::string>& program, bool by_row) {
        if (llvm::is_contained(space.size, 0)) return success();
        if (space.size.empty()) space.extend(1);
        if (by_row && space.size.back() > kColumnsMax)
            return op->emitError("has rows of ")
                   << space.size.back() << " columns, which depend on each other; at most " << kColumnsMax
                   << " are possible";
        if (!by_row) {
            // Columns are what lies side by side in memory.
            space.collapse(0);
            if (space.size.empty()) space.extend(1);
        }
        return parts(
            op, std::move(space), 1, kRowDimensions,
            [&](const Space& s, size_t outer, const std::vector<int64_t>& offsets) {
                Buffers buffers;
                llvm::SmallVector<mlir::Attribute> arrays;
                for (size_t i = 0; i < s.operands.size(); i++)
                    arrays.push_back(array(buffers, s.operands[i], offsets[i], strides_from(s.operands[i], outer)));
                builder_.create<xbar::VectorOp>(location_, buffers.list,
                                                Shape(s.size.begin() + static_cast<long>(outer), s.size.end()),
                                                lines(program), builder_.getArrayAttr(arrays));
            });
    }

    LogicalResult copy(mlir::Operation* op, const View& from, const View& to) {
        static const std::vector<std::string> floats = {"pass:", "v0 = load o0", "store o1, v0"};
        static const std::vector<std::string> ints = {"pass:", "v0 = load_int o0", "store_int o1, v0"};
        Space space{to.shape, {}};
        space.operands.push_back({from.buffer, from.offset, from.type, over(from, to.shape)});
        space.operands.push_back({to.buffer, to.offset, to.type, to.strides});
        return vector(op, std::move(space), mlir::isa<mlir::FloatType>(to.type) ? floats : ints, false);
    }

    LogicalResult fill(mlir::Operation* op, const View& to, const std::string& number) {
        const bool ints = !mlir::isa<mlir::FloatType>(to.type);
        Space space{to.shape, {}};
        space.operands.push_back({to.buffer, to.offset, to.type, to.strides});
        return vector(op, std::move(space),
                      {"pass:", std::string("v0 = ") + (ints ? "move_int " : "move ") + number,
                       ints ? "store_int o0, v0" : "store o0, v0"},
                      false);
    }

    // The view itself, or a dense copy.
    mlir::FailureOr<View> as_dense(mlir::Operation* op, const View& view) {
        if (view.dense()) return view;
        View to = allocate(view.type, view.shape);
        if (mlir::failed(copy(op, view, to))) return failure();
        return to;
    }

    // ---- Operations
    // --------------------------------------------------------------------------------------------------

    LogicalResult lower(mlir::Operation* op) {
        return llvm::TypeSwitch<mlir::Operation*, LogicalResult>(op)
            .Case<xnn::ConstantOp>([&](auto c) { return lower_constant(c); })
            .Case<xnn::GroupOp>([&](auto group) { return lower_group(group); })
            .Case<xnn::ReshapeOp>([&](auto reshape) { return lower_reshape(reshape); })
            .Case<xnn::TransposeOp>([&](auto transpose) {
                const View& from = views_.at(transpose.getInput());
                View to = from;
                for (size_t d = 0; d < to.shape.size(); d++) {
                    const auto source = static_cast<size_t>(transpose.getPermutation()[d]);
                    to.shape[d] = from.shape[source];
                    to.strides[d] = from.strides[source];
                }
                views_[transpose.getResult()] = std::move(to);
                return success();
            })
            .Case<xnn::SliceOp>([&](auto slice) { return lower_slice(slice); })
            .Case<xnn::BroadcastOp>([&](auto broadcast) {
                View view = views_.at(broadcast.getInput());
                view.strides = over(view, broadcast.getType().getShape());
                view.shape.assign(broadcast.getType().getShape().begin(), broadcast.getType().getShape().end());
                views_[broadcast.getResult()] = std::move(view);
                return success();
            })
            .Case<xnn::IotaOp>([&](auto iota) { return lower_iota(iota); })
            .Case<xnn::ConcatOp>([&](auto concat) { return lower_concat(concat); })
            .Case<xnn::PadOp>([&](auto pad) { return lower_pad(pad); })
            .Case<xnn::GatherOp>([&](auto gather) { return lower_gather(gather); })
            .Case<xnn::PoolOp>([&](auto pool) { return lower_pool(pool); })
            .Case<xnn::SortOp>([&](auto sort) { return lower_sort(sort); })
            .Case<xnn::HostOp>([&](auto host) { return lower_host(host); })
            .Case<mlir::func::ReturnOp>([&](auto end) { return lower_return(end); })
            .Default([](mlir::Operation* other) {
                return other->emitError("the chip has no call for ") << other->getName().getStringRef();
            });
    }

    LogicalResult lower_constant(xnn::ConstantOp op) {
        if (op.getResult().use_empty()) return success();
        // Weights of layers are not in memory.
        if (op.getType().getElementType().isInteger(8) && used_as_weights(op.getResult())) return success();
        auto content = read_bytes(op.getValue(), op.getType(), store_);
        if (!content) return op.emitError("has values that the store does not have");
        views_[op.getResult()] = constant(std::move(*content), op.getType().getElementType(), op.getType().getShape());
        return success();
    }

    static bool used_as_weights(Value value) {
        return llvm::all_of(value.getUses(), [](mlir::OpOperand& use) {
            auto group = mlir::dyn_cast<xnn::GroupOp>(use.getOwner());
            mlir::Operation* const product = group ? product_of(group) : nullptr;
            return mlir::isa_and_nonnull<xnn::LinearOp, xnn::ConvLayerOp>(product) &&
                   product->getOperand(1) == group.getBody().getArgument(use.getOperandNumber());
        });
    }

    LogicalResult lower_reshape(xnn::ReshapeOp op) {
        const View& from = views_.at(op.getInput());
        View to = from;
        to.shape.assign(op.getType().getShape().begin(), op.getType().getShape().end());
        if (const auto strides = reshaped(from, to.shape)) {
            to.strides = *strides;
        } else {
            View copied = allocate(from.type, from.shape);
            if (mlir::failed(copy(op, from, copied))) return failure();
            to = dense(copied.buffer, from.type, to.shape);
        }
        views_[op.getResult()] = std::move(to);
        return success();
    }

    // The strides of the same elements in another shape, if there are such.
    static std::optional<Shape> reshaped(const View& from, llvm::ArrayRef<int64_t> to) {
        Shape strides(to.size(), 0);
        if (llvm::is_contained(to, 0)) return strides;
        Space runs{from.shape, {{from.buffer, from.offset, from.type, from.strides}}};
        runs.collapse(0);
        // Each run of dimensions with one stride becomes some dimensions of the new shape.
        size_t d = to.size();
        for (size_t run = runs.size.size(); run-- > 0;) {
            int64_t left = runs.size[run], stride = runs.operands[0].strides[run];
            while (left > 1) {
                if (d == 0) return std::nullopt;
                d--;
                if (left % to[d] != 0) return std::nullopt;
                strides[d] = stride;
                stride *= to[d];
                left /= to[d];
            }
        }
        return strides;
    }

    LogicalResult lower_slice(xnn::SliceOp op) {
        View view = views_.at(op.getInput());
        const llvm::ArrayRef<int64_t> shape = op.getType().getShape();
        for (size_t d = 0; d < shape.size(); d++) {
            if (shape[d] > 0) view.offset += op.getStarts()[d] * view.strides[d];
            view.strides[d] *= op.getSteps()[d];
            view.shape[d] = shape[d];
        }
        for (size_t d = 0; d < shape.size(); d++)
            if (view.strides[d] < 0 && shape[d] > 1)
                if (mlir::failed(reverse(op, view, d))) return failure();
        views_[op.getResult()] = std::move(view);
        return success();
    }

    // Arrays have no negative strides, so a dimension that is read backwards is copied, one part at a time.
    LogicalResult reverse(mlir::Operation* op, View& view, size_t d) {
        View to = allocate(view.type, view.shape);
        if (view.shape[d] > kCallsMax) return op->emitError("reverses a dimension that is too long");
        for (int64_t i = 0; i < view.shape[d]; i++) {
            View source = view, target = to;
            source.offset += i * view.strides[d];
            target.offset += i * to.strides[d];
            source.shape[d] = target.shape[d] = 1;
            for (size_t other = 0; other < view.shape.size(); other++)
                if (source.strides[other] < 0 && source.shape[other] > 1) {
                    if (mlir::failed(reverse(op, source, other))) return failure();
                }
            if (mlir::failed(copy(op, source, target))) return failure();
        }
        view = std::move(to);
        return success();
    }

    LogicalResult lower_iota(xnn::IotaOp op) {
        const auto axis = static_cast<size_t>(op.getAxis());
        const int64_t size = op.getType().getShape()[axis];
        std::vector<std::byte> content(static_cast<size_t>(size) * sizeof(int32_t));
        for (int32_t i = 0; i < size; i++)
            std::memcpy(content.data() + static_cast<size_t>(i) * sizeof i, &i, sizeof i);
        Shape shape(op.getType().getShape().size(), 1);
        shape[axis] = size;
        View view = constant(std::move(content), op.getType().getElementType(), shape);
        view.strides = over(view, op.getType().getShape());
        view.shape.assign(op.getType().getShape().begin(), op.getType().getShape().end());
        views_[op.getResult()] = std::move(view);
        return success();
    }

    LogicalResult lower_concat(xnn::ConcatOp op) {
        const View to = allocate(op.getType());
        const auto axis = static_cast<size_t>(op.getAxis());
        int64_t at = 0;
        for (const Value input : op.getInputs()) {
            const View& from = views_.at(input);
            View part = to;
            part.shape = from.shape;
            part.offset += at * to.strides[axis];
            at += from.shape[axis];
            if (mlir::failed(copy(op, from, part))) return failure();
        }
        views_[op.getResult()] = to;
        return success();
    }

    LogicalResult lower_pad(xnn::PadOp op) {
        const View to = allocate(op.getType());
        std::string number;
        if (const auto f = mlir::dyn_cast<mlir::FloatAttr>(op.getValue())) {
            const auto value = static_cast<float>(f.getValueAsDouble());
            number = std::isinf(value)   ? (value < 0 ? "-inf" : "inf")
                     : std::isnan(value) ? "nan"
                                         : fmt::format("{:e}", value);
        } else {
            const auto i = mlir::dyn_cast<mlir::IntegerAttr>(op.getValue());
            if (!i) return op.emitError("has a padding that is no number");
            number = fmt::format("{}", std::clamp<int64_t>(i.getType().isUnsignedInteger()
                                                               ? static_cast<int64_t>(i.getValue().getZExtValue())
                                                               : i.getValue().getSExtValue(),
                                                           INT32_MIN, INT32_MAX));
        }
        if (mlir::failed(fill(op, to, number))) return failure();
        const View& from = views_.at(op.getInput());
        View part = to;
        part.shape = from.shape;
        for (size_t d = 0; d < part.shape.size(); d++) part.offset += op.getBefore()[d] * to.strides[d];
        views_[op.getResult()] = to;
        return copy(op, from, part);
    }

    LogicalResult lower_gather(xnn::GatherOp op) {
        mlir::FailureOr<View> data = as_dense(op, views_.at(op.getInput()));
        mlir::FailureOr<View> indices = as_dense(op, views_.at(op.getIndices()));
        if (mlir::failed(data) || mlir::failed(indices)) return failure();
        const View to = allocate(op.getType());
        views_[op.getResult()] = to;
        const int64_t rows = type_of(op.getIndices()).getNumElements(), height = data->shape[0];
        if (op.getType().getNumElements() == 0) return success();
        if (rows > SIDRA_VECTOR_SIZE_MAX || height > UINT32_MAX) return op.emitError("has too many rows");
        const int64_t columns = op.getType().getNumElements() / rows;
        Buffers buffers;
        const bool ints = !mlir::isa<mlir::FloatType>(to.type);
        const auto row = static_cast<uint64_t>(columns * to.element()), element = static_cast<uint64_t>(to.element());
        const uint32_t from = buffers(data->buffer);
        const mlir::Attribute arrays[] = {
            xbar::ArrayAttr::get(builder_.getContext(), from, static_cast<uint64_t>(data->offset), data->type,
                                 llvm::ArrayRef<uint64_t>{0, 0, row, element}, static_cast<uint32_t>(height),
                                 buffers(indices->buffer), static_cast<uint64_t>(indices->offset), indices->type),
            xbar::ArrayAttr::get(builder_.getContext(), buffers(to.buffer), static_cast<uint64_t>(to.offset), to.type,
                                 llvm::ArrayRef<uint64_t>{0, 0, row, element}, 0, -1, 0, mlir::Type())};
        builder_.create<xbar::VectorOp>(
            location_, buffers.list, llvm::ArrayRef<int64_t>{1, 1, rows, columns},
            lines(ints ? std::vector<std::string>{"pass:", "v0 = load_int o0", "store_int o1, v0"}
                       : std::vector<std::string>{"pass:", "v0 = load o0", "store o1, v0"}),
            builder_.getArrayAttr(arrays));
        return success();
    }

    // A view whose channels lie side by side.
    mlir::FailureOr<View> as_images(mlir::Operation* op, const View& view) {
        const bool adjacent = view.shape.back() == 1 || view.strides.back() == view.element();
        const bool forward = llvm::all_of(view.strides, [](int64_t stride) { return stride >= 0; });
        if (adjacent && forward) return view;
        View to = allocate(view.type, view.shape);
        if (mlir::failed(copy(op, view, to))) return failure();
        return to;
    }

    static uint32_t narrow(int64_t value) { return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, UINT32_MAX)); }

    xbar::WindowsAttr windows_of(Buffers& buffers, const View& images, xnn::WindowsAttr w, int64_t rows,
                                 int64_t columns, uint32_t zero = 0) {
        const auto pair = [](llvm::ArrayRef<int64_t> list) {
            return llvm::SmallVector<uint32_t>{narrow(list[0]), narrow(list[1])};
        };
        return xbar::WindowsAttr::get(
            builder_.getContext(), buffers(images.buffer), static_cast<uint64_t>(images.offset), images.type,
            llvm::SmallVector<uint32_t>{narrow(images.shape[0]), narrow(rows), narrow(columns)},
            llvm::SmallVector<uint32_t>{narrow(images.shape[1]), narrow(images.shape[2]), narrow(images.shape[3])},
            pair(w.getKernel()), pair(w.getStride()), pair(w.getBefore()), pair(w.getDilation()),
            llvm::SmallVector<uint64_t>{static_cast<uint64_t>(images.strides[0]),
                                        static_cast<uint64_t>(images.strides[1]),
                                        static_cast<uint64_t>(images.strides[2])},
            zero);
    }

    LogicalResult lower_pool(xnn::PoolOp op) {
        const View to = allocate(op.getType());
        views_[op.getResult()] = to;
        if (op.getType().getNumElements() == 0) return success();
        const mlir::FailureOr<View> images = as_images(op, views_.at(op.getInput()));
        if (mlir::failed(images)) return failure();
        Buffers buffers;
        const xbar::WindowsAttr windows = windows_of(buffers, *images, op.getWindows(), to.shape[1], to.shape[2]);
        buffers.list.push_back(to.buffer);
        builder_.create<xbar::PoolOp>(location_, static_cast<xbar::Pooling>(op.getFunction()), buffers.list, windows,
                                      static_cast<uint64_t>(to.offset),
                                      llvm::ArrayRef<int64_t>(to.strides).drop_back());
        return success();
    }

    LogicalResult lower_sort(xnn::SortOp op) {
        const mlir::FailureOr<View> from = as_dense(op, views_.at(op.getInput()));
        if (mlir::failed(from)) return failure();
        const View values = allocate(type_of(op.getValues())), indices = allocate(type_of(op.getIndices()));
        views_[op.getValues()] = values;
        views_[op.getIndices()] = indices;
        if (type_of(op.getValues()).getNumElements() == 0) return success();
        const int64_t columns = from->shape.back(), rows = type_of(op.getInput()).getNumElements() / columns;
        builder_.create<xbar::SortOp>(location_, from->buffer, values.buffer, indices.buffer,
                                      static_cast<uint64_t>(from->offset), from->type, static_cast<uint64_t>(rows),
                                      static_cast<uint64_t>(columns), static_cast<uint64_t>(values.shape.back()),
                                      static_cast<uint64_t>(columns * from->element()), op.getDescending());
        return success();
    }

    LogicalResult lower_host(xnn::HostOp op) {
        const View to = allocate(op.getType());
        views_[op.getResult()] = to;
        if (op.getType().getNumElements() == 0) return success();
        llvm::SmallVector<Value> buffers;
        llvm::SmallVector<mlir::Type> types;
        llvm::SmallVector<int64_t> offsets;
        for (const Value input : op.getInputs()) {
            const mlir::FailureOr<View> from = as_dense(op, views_.at(input));
            if (mlir::failed(from)) return failure();
            buffers.push_back(from->buffer);
            types.push_back(input.getType());
            offsets.push_back(from->offset);
        }
        builder_.create<xbar::HostOp>(location_, op.getFunction(), buffers, to.buffer, offsets,
                                      builder_.getTypeArrayAttr(types), op.getType(), op.getParameters());
        return success();
    }

    LogicalResult lower_return(mlir::func::ReturnOp op) {
        llvm::SmallVector<Value> buffers;
        std::set<const void*> seen;
        for (unsigned i = 0; i < op.getNumOperands(); i++) {
            const View& view = views_.at(op.getOperand(i));
            // An output has memory of its own.
            View to = view;
            const bool own = view.dense() && view.offset == 0 && view.buffer.getDefiningOp<xbar::AllocOp>() &&
                             mlir::cast<xbar::BufferType>(view.buffer.getType()).getSize() ==
                                 static_cast<uint64_t>(std::max<int64_t>(bytes(type_of(op.getOperand(i))), 1)) &&
                             seen.insert(view.buffer.getAsOpaquePointer()).second;
            if (!own) {
                to = allocate(view.type, view.shape);
                if (mlir::failed(copy(op, view, to))) return failure();
            }
            function_.setResultAttr(i, "xbar.tensor", mlir::TypeAttr::get(op.getOperand(i).getType()));
            buffers.push_back(to.buffer);
        }
        op->setOperands(buffers);
        return success();
    }

    // ---- Groups
    // ------------------------------------------------------------------------------------------------------

    LogicalResult lower_group(xnn::GroupOp op) {
        std::string why;
        std::optional<Program> program = generate(op, &why);
        if (!program) return op.emitError("the chip cannot compute this: ") << why;
        for (const Value result : op.getResults()) views_[result] = allocate_for(result);
        const Shape shape = space_of(op);
        if (llvm::is_contained(shape, 0)) return success();
        mlir::Operation* const product = product_of(op);
        if (auto matmul = mlir::dyn_cast_or_null<xnn::MatmulOp>(product))
            return lower_matmul(op, matmul, *program, shape);
        if (product != nullptr) return lower_layer(op, product, *program, shape);
        Space space{shape, {}};
        bind(op, *program, space, {});
        return vector(op, std::move(space), program->lines, program->by_row);
    }

    // The operands of a group's program.
    void bind(xnn::GroupOp op, const Program& program, Space& space, const View& sums) {
        for (const Binding& binding : program.bindings) {
            const View& view = binding.kind == Binding::kInput    ? views_.at(op.getInputs()[binding.number])
                               : binding.kind == Binding::kResult ? views_.at(op.getResult(binding.number))
                                                                  : sums;
            space.operands.push_back({view.buffer, view.offset, view.type, over(view, space.size)});
        }
    }

    Value input_of(xnn::GroupOp group, Value inside) {
        return group.getInputs()[mlir::cast<mlir::BlockArgument>(inside).getArgNumber()];
    }

    LogicalResult lower_matmul(xnn::GroupOp op, xnn::MatmulOp matmul, const Program& program, const Shape& shape) {
        Space space{shape, {}};
        const int64_t k = type_of(matmul.getLhs()).getShape().back();
        if (k > SIDRA_MATMUL_INNER_MAX || shape.back() > SIDRA_MATMUL_ROW_MAX || k == 0)
            return op.emitError("has matrices that are too large for a product: ") << k << " x " << shape.back();
        for (unsigned factor = 0; factor < 2; factor++) {
            View view = views_.at(input_of(op, matmul->getOperand(factor)));
            const size_t rank = view.shape.size();
            const auto is_step = [&](size_t d) {
                return view.shape[d] == 1 || view.strides[d] == 0 || view.strides[d] == view.element();
            };
            const bool forward = llvm::all_of(view.strides, [](int64_t stride) { return stride >= 0; });
            if (!forward || (!is_step(rank - 1) && !is_step(rank - 2))) {
                View to = allocate(view.type, view.shape);
                if (mlir::failed(copy(op, view, to))) return failure();
                view = to;
            }
            // Over batch dimensions; its own last two dimensions behind them.
            Shape strides(shape.size(), 0);
            for (size_t d = 3; d <= rank; d++)
                if (view.shape[rank - d] != 1) strides[shape.size() - d] = view.strides[rank - d];
            strides[shape.size() - 2] = view.shape[rank - 2] == 1 ? 0 : view.strides[rank - 2];
            strides[shape.size() - 1] = view.shape[rank - 1] == 1 ? 0 : view.strides[rank - 1];
            space.operands.push_back({view.buffer, view.offset, view.type, strides});
        }
        bind(op, program, space, {});
        return parts(
            op, std::move(space), 2, 2, [&](const Space& s, size_t outer, const std::vector<int64_t>& offsets) {
                Buffers buffers;
                llvm::SmallVector<mlir::Attribute> arrays;
                for (size_t i = 0; i < s.operands.size(); i++)
                    arrays.push_back(array(buffers, s.operands[i], offsets[i], strides_from(s.operands[i], outer)));
                Shape size(s.size.begin() + static_cast<long>(outer), s.size.end());
                size.push_back(k);
                builder_.create<xbar::MatmulOp>(location_, buffers.list, size, lines(program.lines),
                                                builder_.getArrayAttr(arrays));
            });
    }

    LogicalResult lower_layer(xnn::GroupOp op, mlir::Operation* product, const Program& program, const Shape& shape) {
        const Value weights = input_of(op, product->getOperand(1));
        auto constant_op = weights.getDefiningOp<xnn::ConstantOp>();
        if (!constant_op) return op.emitError("has weights that are not constant");
        const RankedTensorType type = constant_op.getType();
        const auto content = read_bytes(constant_op.getValue(), type, store_);
        if (!content) return op.emitError("has weights that the store does not have");
        const int64_t k = type.getDimSize(0), n = type.getDimSize(1);
        const auto values = mlir::dyn_cast<xnn::ValuesAttr>(constant_op.getValue());
        const Value matrix = builder_.create<xbar::WeightsOp>(
            location_, xbar::MatrixType::get(builder_.getContext(), narrow(k), narrow(n)),
            builder_.getStringAttr(values ? values.getName() : "weights"), builder_.getStringAttr(store_.add(*content)),
            mlir::isa<xnn::LinearOp>(product) ? mlir::cast<xnn::LinearOp>(product).getCopy()
                                              : mlir::cast<xnn::ConvLayerOp>(product).getCopy(),
            mlir::DenseI32ArrayAttr());

        const View column_sums = codes_by_row(product) ? sums_of_columns(*content, k, n) : View();
        const mlir::FailureOr<View> input = as_images(op, views_.at(input_of(op, product->getOperand(0))));
        if (mlir::failed(input)) return failure();
        Space space{shape, {}};
        if (auto conv = mlir::dyn_cast<xnn::ConvLayerOp>(product)) {
            bind(op, program, space, column_sums);
            make_layer(matrix, *input, conv.getWindows(), space, program, conv.getZero().value_or(0));
            return success();
        }
        // The rows of the input are images of one pixel each, in up to three dimensions.
        const uint32_t zero = mlir::cast<xnn::LinearOp>(product).getZero().value_or(0);
        space.operands.push_back({input->buffer, input->offset, input->type, over(*input, shape)});
        bind(op, program, space, column_sums);
        return parts(op, std::move(space), 1, kRowDimensions,
                     [&](const Space& s, size_t outer, const std::vector<int64_t>& offsets) {
                         const Operand& in = s.operands.front();
                         View images{in.buffer, offsets[0], in.type, {}, {}};
                         for (size_t d = 0; d < kRowDimensions; d++) {
                             images.shape.push_back(s.size[outer + d]);
                             images.strides.push_back(in.strides[outer + d]);
                         }
                         images.shape.push_back(k);
                         images.strides.push_back(in.strides.back());
                         const llvm::SmallVector<int64_t> ones = {1, 1}, zeros = {0, 0};
                         const auto windows =
                             xnn::WindowsAttr::get(builder_.getContext(), ones, ones, zeros, zeros, ones);
                         Space part{Shape(s.size.begin() + static_cast<long>(outer), s.size.end()), {}};
                         for (size_t i = 1; i < s.operands.size(); i++) {
                             Operand o = s.operands[i];
                             o.offset = offsets[i];
                             o.strides.erase(o.strides.begin(), o.strides.begin() + static_cast<long>(outer));
                             part.operands.push_back(std::move(o));
                         }
                         make_layer(matrix, images, windows, part, program, zero);
                     });
    }

    // The sums of a matrix's columns, by which an epilogue corrects the codes of a row for the one that stands for
    // zero.
    View sums_of_columns(const std::vector<std::byte>& matrix, int64_t rows, int64_t columns) {
        const auto k = static_cast<size_t>(rows), n = static_cast<size_t>(columns);
        std::vector<std::byte> sums(n * sizeof(float));
        for (size_t j = 0; j < n; j++) {
            int64_t sum = 0;
            for (size_t i = 0; i < k; i++) sum += static_cast<int8_t>(matrix[i * n + j]);
            const auto as_float = static_cast<float>(sum);
            std::memcpy(sums.data() + j * sizeof as_float, &as_float, sizeof as_float);
        }
        return constant(std::move(sums), builder_.getF32Type(), {columns});
    }

    void make_layer(Value matrix, const View& images, xnn::WindowsAttr windows, const Space& space,
                    const Program& program, uint32_t zero) {
        Buffers buffers;
        const xbar::WindowsAttr w = windows_of(buffers, images, windows, space.size[1], space.size[2], zero);
        llvm::SmallVector<mlir::Attribute> arrays;
        for (const Operand& o : space.operands) arrays.push_back(array(buffers, o, o.offset, strides_from(o, 0)));
        builder_.create<xbar::LayerOp>(location_, matrix, buffers.list, w, lines(program.lines),
                                       builder_.getArrayAttr(arrays));
    }

    mlir::func::FuncOp function_;
    Store& store_;
    mlir::OpBuilder builder_;
    mlir::Location location_ = mlir::UnknownLoc::get(builder_.getContext());
    llvm::DenseMap<Value, View> views_;
    std::vector<std::pair<mlir::BlockArgument, xbar::BufferType>> inputs_;
};

class LowerPass : public mlir::PassWrapper<LowerPass, mlir::OperationPass<mlir::func::FuncOp>> {
   public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerPass)
    llvm::StringRef getArgument() const override { return "xnn-to-xbar"; }
    llvm::StringRef getDescription() const override { return "groups and other operations become calls on memory"; }
    void getDependentDialects(mlir::DialectRegistry& registry) const override { registry.insert<xbar::XbarDialect>(); }
    void runOnOperation() override {
        if (mlir::failed(Lowering(getOperation(), xnn::store_of(&getContext())).run())) signalPassFailure();
    }
};

}  // namespace

std::unique_ptr<mlir::Pass> make_lower_pass() { return std::make_unique<LowerPass>(); }

}  // namespace sidra::compiler
