// SPDX-License-Identifier: MIT
// What the operations of `xnn` become without the chip: operations on small constants, and operations that change
// nothing.
#include <algorithm>
#include <cmath>

#include "evaluate.h"
#include "xnn.h"

namespace sidra::xnn {

namespace {

using mlir::Attribute;
using mlir::OpFoldResult;

mlir::RankedTensorType type_of(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }

bool is_small(mlir::RankedTensorType type) { return type.getNumElements() <= kFoldLimit; }

// The result of an operation whose operands are constants.
OpFoldResult computed(mlir::Operation* op, llvm::ArrayRef<Attribute> operands) {
    if (!is_small(type_of(op->getResult(0))) || llvm::any_of(op->getOperandTypes(), [](mlir::Type type) {
            return !is_small(mlir::cast<mlir::RankedTensorType>(type));
        }))
        return {};
    llvm::SmallVector<Elements> elements;
    for (const Attribute operand : operands)
        if (std::optional<Elements> some = elements_of(operand)) elements.push_back(std::move(*some));
        else return {};
    const std::optional<Elements> result = evaluate(op, elements);
    return result ? OpFoldResult(attribute_of(*result)) : OpFoldResult();
}

// Makes an operation start from the input of the operation before it.
template <typename Op>
OpFoldResult skip(Op op, mlir::Value input) {
    op.getInputMutable().assign(input);
    return op.getResult();
}

// Whether a constant is this number everywhere. Zeros have a sign: x + 0 is x for the zero -0 only.
bool is_splat(Attribute attribute, double number) {
    const auto dense = mlir::dyn_cast_if_present<mlir::DenseElementsAttr>(attribute);
    if (!dense || !dense.isSplat()) return false;
    if (mlir::isa<mlir::FloatType>(dense.getElementType())) {
        const double value = dense.getSplatValue<llvm::APFloat>().convertToDouble();
        return value == number && std::signbit(value) == std::signbit(number);
    }
    return dense.getSplatValue<llvm::APInt>().getSExtValue() == static_cast<int64_t>(number);
}

}  // namespace

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult UnaryOp::fold(FoldAdaptor adaptor) { return computed(*this, adaptor.getOperands()); }

OpFoldResult BinaryOp::fold(FoldAdaptor adaptor) {
    const bool left = getLhs().getType() == getType(), right = getRhs().getType() == getType();
    // i1 has no number 1 but true, and no sums.
    if (!getType().getElementType().isInteger(1)) switch (getFunction()) {
            case Binary::add:
                if (left && is_splat(adaptor.getRhs(), -0.0)) return getLhs();
                if (right && is_splat(adaptor.getLhs(), -0.0)) return getRhs();
                break;
            case Binary::sub:
                if (left && is_splat(adaptor.getRhs(), 0.0)) return getLhs();
                break;
            case Binary::mul:
                if (right && is_splat(adaptor.getLhs(), 1.0)) return getRhs();
                [[fallthrough]];
            case Binary::div:
                if (left && is_splat(adaptor.getRhs(), 1.0)) return getLhs();
                break;
            default:
                break;
        }
    return computed(*this, adaptor.getOperands());
}

OpFoldResult SelectOp::fold(FoldAdaptor adaptor) {
    if (const auto dense = mlir::dyn_cast_if_present<mlir::DenseElementsAttr>(adaptor.getCondition());
        dense && dense.isSplat()) {
        const mlir::Value chosen = dense.getSplatValue<bool>() ? getYes() : getNo();
        if (chosen.getType() == getType()) return chosen;
    }
    return computed(*this, adaptor.getOperands());
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
    if (getInput().getType() == getType()) return getInput();
    return computed(*this, adaptor.getOperands());
}

OpFoldResult ReduceOp::fold(FoldAdaptor adaptor) {
    if (mlir::cast<mlir::RankedTensorType>(getInput().getType()).getShape().back() != 1)
        return computed(*this, adaptor.getOperands());
    // Along a dimension of one element there is nothing to combine.
    if (getInput().getType() == getType()) return getInput();
    return mlir::DenseElementsAttr::get(getType(), mlir::Builder(getContext()).getI32IntegerAttr(0));
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
    if (getInput().getType() == getType()) return getInput();
    if (auto dense = mlir::dyn_cast_if_present<mlir::DenseElementsAttr>(adaptor.getInput()))
        return dense.reshape(getType());
    if (const auto values = mlir::dyn_cast_if_present<ValuesAttr>(adaptor.getInput())) return values;
    if (auto before = getInput().getDefiningOp<ReshapeOp>()) return skip(*this, before.getInput());
    return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
    if (std::is_sorted(getPermutation().begin(), getPermutation().end())) return getInput();
    if (auto before = getInput().getDefiningOp<TransposeOp>()) {
        llvm::SmallVector<int64_t> both;
        for (const int64_t d : getPermutation()) both.push_back(before.getPermutation()[static_cast<size_t>(d)]);
        setPermutation(both);
        return skip(*this, before.getInput());
    }
    return computed(*this, adaptor.getOperands());
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
    const auto is = [](int64_t number) { return [number](int64_t other) { return other == number; }; };
    if (getInput().getType() == getType() && llvm::all_of(getStarts(), is(0)) && llvm::all_of(getSteps(), is(1)))
        return getInput();
    if (auto before = getInput().getDefiningOp<SliceOp>()) {
        llvm::SmallVector<int64_t> starts, steps;
        for (size_t d = 0; d < getStarts().size(); d++) {
            starts.push_back(before.getStarts()[d] + getStarts()[d] * before.getSteps()[d]);
            steps.push_back(getSteps()[d] * before.getSteps()[d]);
        }
        setStarts(starts);
        setSteps(steps);
        return skip(*this, before.getInput());
    }
    return computed(*this, adaptor.getOperands());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
    if (getInput().getType() == getType()) return getInput();
    if (auto dense = mlir::dyn_cast_if_present<mlir::DenseElementsAttr>(adaptor.getInput()); dense && dense.isSplat())
        return dense.resizeSplat(getType());
    if (auto before = getInput().getDefiningOp<BroadcastOp>()) return skip(*this, before.getInput());
    return computed(*this, adaptor.getOperands());
}

OpFoldResult ConcatOp::fold(FoldAdaptor adaptor) {
    if (getInputs().size() == 1) return getInputs().front();
    return computed(*this, adaptor.getOperands());
}

OpFoldResult GatherOp::fold(FoldAdaptor adaptor) { return computed(*this, adaptor.getOperands()); }

OpFoldResult HostOp::fold(FoldAdaptor adaptor) { return computed(*this, adaptor.getOperands()); }

}  // namespace sidra::xnn
