// SPDX-License-Identifier: MIT
// What the operations of `xnn` require, and the text of those that have a form of their own.
#include "xnn.h"

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/DialectImplementation.h>

#include <algorithm>
#include <cmath>

#include "host_call.h"
#include "shapes.h"

#include "xnn_dialect.cpp.inc"
#include "xnn_enums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "xnn_attributes.cpp.inc"

#define GET_OP_CLASSES
#include "xnn_ops.cpp.inc"

namespace sidra::xnn {

using mlir::failure;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::success;

void XnnDialect::initialize() {
    addAttributes<
#define GET_ATTRDEF_LIST
#include "xnn_attributes.cpp.inc"
        >();
    addOperations<
#define GET_OP_LIST
#include "xnn_ops.cpp.inc"
        >();
}

mlir::Operation* XnnDialect::materializeConstant(mlir::OpBuilder& builder, mlir::Attribute value, mlir::Type type,
                                                 mlir::Location location) {
    if (!mlir::isa<mlir::ElementsAttr, ValuesAttr>(value) || !mlir::isa<RankedTensorType>(type)) return nullptr;
    return builder.create<ConstantOp>(location, type, value);
}

namespace {

template <typename Value>
RankedTensorType type_of(Value value) {
    return mlir::cast<RankedTensorType>(value.getType());
}

bool is_integer(RankedTensorType type) { return type.getElementType().isInteger(); }

// Whether the result has the shape to which the operands broadcast.
LogicalResult broadcasts(mlir::Operation* op, RankedTensorType result) {
    llvm::SmallVector<int64_t> shape;
    for (const mlir::Value operand : op->getOperands())
        if (!broadcast(shape, type_of(operand).getShape()))
            return op->emitOpError("has operands whose shapes do not broadcast");
    if (llvm::ArrayRef<int64_t>(shape) != result.getShape())
        return op->emitOpError("has operands that broadcast to another shape than that of its result");
    return success();
}

// Whether the result is the input with another last dimension.
LogicalResult keeps_rows(mlir::Operation* op, RankedTensorType input, RankedTensorType result) {
    if (input.getRank() == 0 || input.getRank() != result.getRank() ||
        input.getShape().drop_back() != result.getShape().drop_back())
        return op->emitOpError("must keep all dimensions of its input but the last one");
    return success();
}

LogicalResult verify_windows(mlir::Operation* op, RankedTensorType input, WindowsAttr windows,
                             RankedTensorType result) {
    if (input.getRank() != 4 || result.getRank() != 4)
        return op->emitOpError("takes images of four dimensions: image, height, width, channel");
    if (input.getDimSize(0) != result.getDimSize(0)) return op->emitOpError("must keep the number of images");
    for (unsigned d = 0; d < 2; d++)
        if (window_count(input.getDimSize(d + 1), windows, d) != result.getDimSize(d + 1))
            return op->emitOpError("has windows for a result of ")
                   << window_count(input.getDimSize(d + 1), windows, d) << " instead of " << result.getDimSize(d + 1)
                   << " in dimension " << d + 1;
    return success();
}

LogicalResult verify_codes(mlir::Operation* op, RankedTensorType weights, RankedTensorType scale, int64_t rows,
                           int64_t columns) {
    if (weights.getRank() != 2 || weights.getDimSize(0) != rows || weights.getDimSize(1) != columns)
        return op->emitOpError("needs weights of ") << rows << " x " << columns;
    if (scale.getRank() != 1 || scale.getDimSize(0) != columns)
        return op->emitOpError("needs the steps of ") << columns << " columns";
    return success();
}

template <typename Layer>
LogicalResult verify_input(Layer layer) {
    const bool codes = type_of(layer.getInput()).getElementType().isUnsignedInteger();
    if (codes != layer.getZero().has_value())
        return layer.emitOpError("needs the code that stands for 0 if its input has codes, and only then");
    if (codes && (*layer.getZero() < 0 || *layer.getZero() > 255))
        return layer.emitOpError("has a code of 0 outside of 0 to 255");
    if (layer.getBits() != 8 && layer.getBits() != 16)
        return layer.emitOpError("has codes that do not have 8 or 16 bits");
    const auto range = layer.getRange();
    if (!range) return success();
    if (codes) return layer.emitOpError("has codes and a range");
    if (range->size() != 2 || !std::isfinite((*range)[0]) || !std::isfinite((*range)[1]) ||
        !((*range)[0] <= (*range)[1]))
        return layer.emitOpError("needs a range of two finite numbers in order");
    return success();
}

}  // namespace

LogicalResult WindowsAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> error, llvm::ArrayRef<int64_t> kernel,
                                  llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> before,
                                  llvm::ArrayRef<int64_t> after, llvm::ArrayRef<int64_t> dilation) {
    for (const auto& list : {kernel, stride, before, after, dilation})
        if (list.size() != 2) return error() << "windows have a height and a width";
    for (const auto& list : {kernel, stride, dilation})
        if (list[0] < 1 || list[1] < 1 || list[0] > INT32_MAX || list[1] > INT32_MAX)
            return error() << "kernels, strides and dilations of windows are at least 1";
    for (const auto& list : {before, after})
        if (list[0] < 0 || list[1] < 0 || list[0] > INT32_MAX || list[1] > INT32_MAX)
            return error() << "windows have no padding below 0";
    return success();
}

LogicalResult ConstantOp::verify() {
    if (const auto elements = mlir::dyn_cast<mlir::ElementsAttr>(getValue());
        elements && elements.getShapedType() != getType())
        return emitOpError("has elements of another type than its result");
    if (const auto values = mlir::dyn_cast<ValuesAttr>(getValue()); values && values.getHash().empty())
        return emitOpError("has no hash of its values");
    return success();
}

LogicalResult BinaryOp::verify() {
    const RankedTensorType result = getType(), lhs = type_of(getLhs());
    if (lhs.getElementType() != type_of(getRhs()).getElementType())
        return emitOpError("has operands of different types");
    switch (getFunction()) {
        case Binary::lt:
        case Binary::le:
        case Binary::eq:
        case Binary::ne:
            if (!result.getElementType().isInteger(1)) return emitOpError("is a comparison, so its result is i1");
            break;
        case Binary::bit_and:
        case Binary::bit_or:
        case Binary::bit_xor:
        case Binary::shl:
        case Binary::shr:
            if (!is_integer(lhs)) return emitOpError("takes integers only");
            [[fallthrough]];
        default:
            if (result.getElementType() != lhs.getElementType())
                return emitOpError("has a result of another type than its operands");
    }
    return broadcasts(*this, result);
}

LogicalResult SelectOp::verify() {
    if (type_of(getYes()).getElementType() != type_of(getNo()).getElementType() ||
        getType().getElementType() != type_of(getYes()).getElementType())
        return emitOpError("chooses between values of different types");
    return broadcasts(*this, getType());
}

LogicalResult CastOp::verify() {
    if (type_of(getInput()).getShape() != getType().getShape()) return emitOpError("must keep the shape");
    return success();
}

LogicalResult IotaOp::verify() {
    if (getAxis() >= static_cast<uint64_t>(getType().getRank())) return emitOpError("has no dimension ") << getAxis();
    return success();
}

LogicalResult ReduceOp::verify() {
    const RankedTensorType input = type_of(getInput());
    const bool index = getFunction() == Reduction::argmax || getFunction() == Reduction::argmin;
    if (getType().getElementType() !=
        (index ? mlir::Type(mlir::IntegerType::get(getContext(), 32)) : input.getElementType()))
        return emitOpError("has a result of the wrong type");
    if (getType().getRank() == 0 || getType().getShape().back() != 1)
        return emitOpError("must have a result whose last dimension is 1");
    return keeps_rows(*this, input, getType());
}

LogicalResult SortOp::verify() {
    const RankedTensorType input = type_of(getInput()), values = type_of(getValues());
    if (values.getElementType() != input.getElementType()) return emitOpError("must keep the type of the elements");
    if (values.getShape() != type_of(getIndices()).getShape())
        return emitOpError("has values and indices of different shapes");
    if (input.getRank() > 0 && values.getRank() > 0 && values.getShape().back() > input.getShape().back())
        return emitOpError("gives more elements than a row has");
    return keeps_rows(*this, input, values);
}

LogicalResult MatmulOp::verify() {
    const RankedTensorType lhs = type_of(getLhs()), rhs = type_of(getRhs()), result = getType();
    if (lhs.getRank() < 2 || rhs.getRank() < 2 || result.getRank() < 2)
        return emitOpError("takes at least two dimensions");
    const bool bytes = lhs.getElementType().isInteger(8) && rhs.getElementType().isInteger(8);
    if (!bytes && lhs.getElementType() != rhs.getElementType()) return emitOpError("has factors of different types");
    if (is_integer(lhs) && !bytes) return emitOpError("takes integers of 8 bits only");
    if (bytes ? !result.getElementType().isInteger(32) : result.getElementType() != lhs.getElementType())
        return emitOpError("has a result of the wrong type");
    if (lhs.getShape().back() != rhs.getDimSize(rhs.getRank() - 2))
        return emitOpError("has factors whose inner dimensions differ");
    llvm::SmallVector<int64_t> shape;
    if (!broadcast(shape, lhs.getShape().drop_back(2)) || !broadcast(shape, rhs.getShape().drop_back(2)))
        return emitOpError("has factors whose outer dimensions do not broadcast");
    shape.push_back(lhs.getDimSize(lhs.getRank() - 2));
    shape.push_back(rhs.getShape().back());
    if (llvm::ArrayRef<int64_t>(shape) != result.getShape()) return emitOpError("has a result of the wrong shape");
    return success();
}

LogicalResult QuantiseOp::verify() {
    if (type_of(getInput()).getShape() != getType().getShape()) return emitOpError("must keep the shape");
    if (!(getStep().convertToFloat() > 0) || !getStep().isFinite()) return emitOpError("needs a step above 0");
    if (getZero() > 255) return emitOpError("has a code of 0 outside of 0 to 255");
    return success();
}

LogicalResult LinearOp::verify() {
    const RankedTensorType input = type_of(getInput());
    if (mlir::failed(keeps_rows(*this, input, getType()))) return failure();
    if (mlir::failed(verify_input(*this))) return failure();
    return verify_codes(*this, type_of(getWeights()), type_of(getScale()), input.getShape().back(),
                        getType().getShape().back());
}

LogicalResult ConvOp::verify() {
    const RankedTensorType input = type_of(getInput()), filters = type_of(getFilters()), result = getType();
    if (mlir::failed(verify_windows(*this, input, getWindows(), result))) return failure();
    const int64_t groups = static_cast<int64_t>(getGroups());
    if (groups < 1 || input.getShape().back() % groups != 0 || result.getShape().back() % groups != 0)
        return emitOpError("has channels that its groups do not divide");
    const int64_t wanted[] = {getWindows().getKernel()[0], getWindows().getKernel()[1],
                              input.getShape().back() / groups, result.getShape().back()};
    if (filters.getShape() != llvm::ArrayRef<int64_t>(wanted)) return emitOpError("has filters of the wrong shape");
    if (filters.getElementType() != input.getElementType()) return emitOpError("has filters of another type");
    return success();
}

LogicalResult ConvLayerOp::verify() {
    const RankedTensorType input = type_of(getInput());
    if (mlir::failed(verify_windows(*this, input, getWindows(), getType()))) return failure();
    if (mlir::failed(verify_input(*this))) return failure();
    const llvm::ArrayRef<int64_t> kernel = getWindows().getKernel();
    return verify_codes(*this, type_of(getWeights()), type_of(getScale()),
                        kernel[0] * kernel[1] * input.getShape().back(), getType().getShape().back());
}

LogicalResult PoolOp::verify() {
    const RankedTensorType input = type_of(getInput());
    if (input.getRank() == 4 && getType().getRank() == 4 && input.getShape().back() != getType().getShape().back())
        return emitOpError("must keep the channels");
    return verify_windows(*this, input, getWindows(), getType());
}

LogicalResult ReshapeOp::verify() {
    if (type_of(getInput()).getNumElements() != getType().getNumElements())
        return emitOpError("must keep the number of elements");
    if (type_of(getInput()).getElementType() != getType().getElementType())
        return emitOpError("must keep the type of the elements");
    return success();
}

LogicalResult TransposeOp::verify() {
    const RankedTensorType input = type_of(getInput());
    const llvm::ArrayRef<int64_t> permutation = getPermutation();
    if (static_cast<int64_t>(permutation.size()) != input.getRank() || getType().getRank() != input.getRank())
        return emitOpError("needs one number for each dimension");
    llvm::SmallVector<bool> seen(permutation.size());
    for (size_t i = 0; i < permutation.size(); i++) {
        const int64_t from = permutation[i];
        if (from < 0 || from >= input.getRank() || std::exchange(seen[static_cast<size_t>(from)], true))
            return emitOpError("has no permutation of its dimensions");
        if (getType().getDimSize(static_cast<unsigned>(i)) != input.getDimSize(static_cast<unsigned>(from)))
            return emitOpError("has a result of the wrong shape");
    }
    if (input.getElementType() != getType().getElementType()) return emitOpError("must keep the type of the elements");
    return success();
}

LogicalResult SliceOp::verify() {
    const RankedTensorType input = type_of(getInput());
    const auto rank = static_cast<size_t>(input.getRank());
    if (getStarts().size() != rank || getSteps().size() != rank || getType().getRank() != input.getRank())
        return emitOpError("needs a start and a step for each dimension");
    for (size_t d = 0; d < rank; d++) {
        const int64_t size = getType().getShape()[d], last = getStarts()[d] + (size - 1) * getSteps()[d];
        const int64_t limit = input.getShape()[d];
        if (getSteps()[d] == 0) return emitOpError("has a step of 0");
        if (size > 0 && (getStarts()[d] < 0 || getStarts()[d] >= limit || last < 0 || last >= limit))
            return emitOpError("leaves its input in dimension ") << d;
    }
    if (input.getElementType() != getType().getElementType()) return emitOpError("must keep the type of the elements");
    return success();
}

LogicalResult BroadcastOp::verify() {
    if (type_of(getInput()).getElementType() != getType().getElementType())
        return emitOpError("must keep the type of the elements");
    llvm::SmallVector<int64_t> shape(getType().getShape());
    if (!broadcast(shape, type_of(getInput()).getShape()) || llvm::ArrayRef<int64_t>(shape) != getType().getShape())
        return emitOpError("cannot broadcast its input to its result");
    return success();
}

LogicalResult ConcatOp::verify() {
    const auto rank = getType().getRank();
    const auto axis = static_cast<int64_t>(getAxis());
    if (getInputs().empty() || axis < 0 || axis >= rank) return emitOpError("has no such dimension");
    int64_t sum = 0;
    for (const mlir::Value input : getInputs()) {
        const RankedTensorType type = type_of(input);
        if (type.getRank() != rank || type.getElementType() != getType().getElementType())
            return emitOpError("has inputs of another rank or type than its result");
        for (unsigned d = 0; d < rank; d++)
            if (d != axis && type.getDimSize(d) != getType().getDimSize(d))
                return emitOpError("has inputs that differ in dimension ") << d;
        sum += type.getDimSize(static_cast<unsigned>(axis));
    }
    if (sum != getType().getDimSize(static_cast<unsigned>(axis))) return emitOpError("has a result of another size");
    return success();
}

LogicalResult PadOp::verify() {
    const RankedTensorType input = type_of(getInput());
    const auto rank = static_cast<size_t>(input.getRank());
    if (getBefore().size() != rank || getAfter().size() != rank || getType().getRank() != input.getRank())
        return emitOpError("needs two numbers for each dimension");
    for (size_t d = 0; d < rank; d++)
        if (getBefore()[d] < 0 || getAfter()[d] < 0 ||
            input.getShape()[d] + getBefore()[d] + getAfter()[d] != getType().getShape()[d])
            return emitOpError("has a result of the wrong shape");
    if (getValue().getType() != input.getElementType() || input.getElementType() != getType().getElementType())
        return emitOpError("has a value of another type than its input");
    return success();
}

LogicalResult GatherOp::verify() {
    const RankedTensorType input = type_of(getInput());
    if (input.getRank() == 0) return emitOpError("has an input without rows");
    llvm::SmallVector<int64_t> shape(type_of(getIndices()).getShape());
    llvm::append_range(shape, input.getShape().drop_front());
    if (llvm::ArrayRef<int64_t>(shape) != getType().getShape() || input.getElementType() != getType().getElementType())
        return emitOpError("has a result of the wrong type");
    return success();
}

LogicalResult HostOp::verify() {
    const HostCall host = host_call(getFunction(), getInputs().getTypes(), getType(), getParameters());
    if (!host.problem.empty()) return emitOpError() << host.problem;
    return success();
}

// ---- Groups: xnn.group (%a = %x : tensor<...>) -> tensor<...> { ... }
// -------------------------------------------------

LogicalResult GroupOp::verify() {
    mlir::Block& body = getBody().front();
    if (body.getArgumentTypes() != getInputs().getTypes()) return emitOpError("has a body with other arguments");
    if (body.getTerminator()->getOperandTypes() != getResultTypes())
        return emitOpError("yields values of other types than its results");
    return success();
}

void GroupOp::print(mlir::OpAsmPrinter& printer) {
    printer << " (";
    llvm::interleaveComma(llvm::zip(getBody().getArguments(), getInputs()), printer, [&](auto pair) {
        printer << std::get<0>(pair) << " = " << std::get<1>(pair) << " : " << std::get<1>(pair).getType();
    });
    printer << ") -> (";
    llvm::interleaveComma(getResultTypes(), printer);
    printer << ") ";
    printer.printRegion(getBody(), false);
    printer.printOptionalAttrDict((*this)->getAttrs());
}

mlir::ParseResult GroupOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& state) {
    llvm::SmallVector<mlir::OpAsmParser::Argument> arguments;
    llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> inputs;
    llvm::SmallVector<mlir::Type> types, results;
    const auto one = [&]() -> mlir::ParseResult {
        if (parser.parseArgument(arguments.emplace_back()) || parser.parseEqual() ||
            parser.parseOperand(inputs.emplace_back()) || parser.parseColonType(arguments.back().type))
            return failure();
        types.push_back(arguments.back().type);
        return success();
    };
    const llvm::SMLoc location = parser.getCurrentLocation();
    mlir::Region* const body = state.addRegion();
    if (parser.parseCommaSeparatedList(mlir::OpAsmParser::Delimiter::Paren, one) || parser.parseArrow() ||
        parser.parseLParen() || parser.parseTypeList(results) || parser.parseRParen() ||
        parser.parseRegion(*body, arguments) || parser.parseOptionalAttrDict(state.attributes) ||
        parser.resolveOperands(inputs, types, location, state.operands))
        return failure();
    state.addTypes(results);
    return success();
}

}  // namespace sidra::xnn
