// SPDX-License-Identifier: MIT
// The verifiers apply the rules of the chip itself (qemu-device/chip/vector), so what passes them is not refused later.
#include "xbar.h"

#include <fmt/format.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/IR/DialectImplementation.h>

#include <algorithm>
#include <vector>

#include "host_call.h"
#include "verify_packet.h"

#include "xbar_dialect.cpp.inc"
#include "xbar_enums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "xbar_types.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "xbar_attributes.cpp.inc"

#define GET_OP_CLASSES
#include "xbar_ops.cpp.inc"

namespace sidra::xbar {

using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

void XbarDialect::initialize() {
    addTypes<
#define GET_TYPEDEF_LIST
#include "xbar_types.cpp.inc"
        >();
    addAttributes<
#define GET_ATTRDEF_LIST
#include "xbar_attributes.cpp.inc"
        >();
    addOperations<
#define GET_OP_LIST
#include "xbar_ops.cpp.inc"
        >();
}

std::optional<uint8_t> element(mlir::Type type) {
    if (type.isF32()) return SIDRA_TYPE_F32;
    if (type.isF16()) return SIDRA_TYPE_F16;
    if (type.isBF16()) return SIDRA_TYPE_BF16;
    if (type.isUnsignedInteger(8)) return SIDRA_TYPE_U8;
    if (!type.isSignlessInteger()) return std::nullopt;
    switch (type.getIntOrFloatBitWidth()) {
        case 1:
            return SIDRA_TYPE_BOOL;
        case 8:
            return SIDRA_TYPE_S8;
        case 16:
            return SIDRA_TYPE_S16;
        case 32:
            return SIDRA_TYPE_S32;
        case 64:
            return SIDRA_TYPE_S64;
        default:
            return std::nullopt;
    }
}

program::Assembly assemble(mlir::ArrayAttr lines) {
    std::string text;
    for (const mlir::Attribute line : lines) (text += mlir::cast<mlir::StringAttr>(line).getValue()) += '\n';
    return program::assemble(text);
}

bool stores(uint8_t op) {
    return op == SIDRA_VECTOR_OP_STORE || op == SIDRA_VECTOR_OP_STORE_INT || op == SIDRA_VECTOR_OP_SCATTER ||
           op == SIDRA_VECTOR_OP_SCATTER_INT;
}

namespace {

// Whether a program stores into an array in the buffer.
bool stores_into(mlir::ArrayAttr lines, mlir::ArrayAttr arrays, mlir::ValueRange buffers, mlir::Value buffer) {
    const auto assembly = assemble(lines);
    const auto* code = std::get_if<program::Code>(&assembly);
    return code != nullptr && llvm::any_of(code->instructions, [&](const sidra_vector_instruction& i) {
               return stores(i.op) && i.operand < arrays.size() &&
                      buffers[mlir::cast<ArrayAttr>(arrays[i.operand]).getBuffer()] == buffer;
           });
}

}  // namespace

bool writes(mlir::Operation* call, mlir::Value buffer) {
    return llvm::TypeSwitch<mlir::Operation*, bool>(call)
        .Case<VectorOp, LayerOp, MatmulOp>(
            [&](auto op) { return stores_into(op.getProgram(), op.getArrays(), op.getBuffers(), buffer); })
        .Case([&](PoolOp op) { return op.getBuffers().back() == buffer; })
        .Case([&](SortOp op) { return op.getValues() == buffer || op.getIndices() == buffer; })
        .Case([&](HostOp op) { return op.getOutput() == buffer; });
}

namespace {

// Buffers lie far from each other, at addresses of the chip (SIDRA_VA_BITS) that are multiples of all alignments.
constexpr uint64_t kDistance = 1ull << 35;
uint64_t address(uint32_t buffer, uint64_t offset) { return (buffer + 1) * kDistance + offset; }

uint64_t size_of(mlir::Value buffer) { return mlir::cast<BufferType>(buffer.getType()).getSize(); }

// The rules for one call.
class Call {
   public:
    Call(mlir::Operation* op, mlir::ValueRange buffers) : op_(op), buffers_(buffers) {}

    LogicalResult take(mlir::ArrayAttr arrays, mlir::ArrayAttr lines) {
        auto assembly = assemble(lines);
        if (const auto* error = std::get_if<program::AssemblyError>(&assembly))
            return op_->emitOpError("has an error in line ") << error->line << " of its program: " << error->message;
        code = std::move(std::get<program::Code>(assembly));
        for (const mlir::Attribute attribute : arrays) {
            const auto array = mlir::cast<ArrayAttr>(attribute);
            const std::optional<uint8_t> type = element(array.getType());
            if (!type) return op_->emitOpError("has an array of type ") << array.getType() << ", which the chip lacks";
            if (array.getStrides().size() != SIDRA_OPERAND_DIMS)
                return op_->emitOpError("has an array without four strides");
            if (array.getBuffer() >= buffers_.size() || array.getIndex() >= static_cast<int64_t>(buffers_.size()))
                return op_->emitOpError("has an array in a buffer that it does not have");
            if (array.getOffset() >= size_of(buffers_[array.getBuffer()]) ||
                (array.getIndex() >= 0 &&
                 array.getIndexOffset() >= size_of(buffers_[static_cast<size_t>(array.getIndex())])))
                return op_->emitOpError("has an array that begins behind its buffer");
            sidra_operand operand{};
            operand.addr = address(array.getBuffer(), array.getOffset());
            std::ranges::copy(array.getStrides(), operand.stride);
            operand.type = *type;
            operand.extent = array.getExtent();
            if (array.getIndex() >= 0) {
                const std::optional<uint8_t> index_type = element(array.getIndexType());
                if (!index_type) return op_->emitOpError("has indices of a type that the chip lacks");
                operand.index = address(static_cast<uint32_t>(array.getIndex()), array.getIndexOffset());
                operand.index_type = *index_type;
            }
            operands.push_back(operand);
        }
        for (const sidra_vector_instruction& i : code.instructions)
            if (stores(i.op) && i.operand < operands.size()) operands[i.operand].flags = SIDRA_OPERAND_WRITE;
        return success();
    }

    LogicalResult refuse(const vector::Verdict& verdict) {
        auto error = op_->emitOpError("breaks rule ") << static_cast<unsigned>(verdict.error);
        if (verdict.instruction != SIDRA_PROGRAM_NONE)
            error << " in instruction " << static_cast<unsigned>(verdict.instruction);
        if (verdict.operand != SIDRA_PROGRAM_NONE) error << " with array " << static_cast<unsigned>(verdict.operand);
        return error << " of vector programs (enum sidra_program_error in uapi/sidra_cmd.h)";
    }

    // Whether the bytes of an operand lie in its buffer.
    LogicalResult inside(size_t number, const vector::Extent& extent) {
        const auto buffer = static_cast<uint32_t>(operands[number].addr / kDistance - 1);
        if (extent.first >= address(buffer, 0) && extent.end <= address(buffer, size_of(buffers_[buffer])))
            return success();
        return op_->emitOpError("has array ")
               << number << ", which ends " << extent.end - address(buffer, 0)
               << " bytes behind the beginning of a buffer of " << size_of(buffers_[buffer]);
    }
    LogicalResult inside(const vector::Sizes& size, const vector::Traits& traits, size_t first = 0) {
        const uint64_t rows = uint64_t{size[0]} * size[1] * size[2];
        for (size_t i = first; i < operands.size(); i++) {
            if (!(traits.used() >> i & 1)) continue;
            if (mlir::failed(inside(i, vector::extent(operands[i], static_cast<uint32_t>(i), size, traits))))
                return failure();
            if (operands[i].index == 0) continue;
            const auto buffer = static_cast<uint32_t>(operands[i].index / kDistance - 1);
            const uint64_t left = address(buffer, size_of(buffers_[buffer])) - operands[i].index;
            if (rows > left / vector::element_size(operands[i].index_type))
                return op_->emitOpError("has indices that leave their buffer");
        }
        return success();
    }

    program::Code code;
    std::vector<sidra_operand> operands;

   private:
    mlir::Operation* op_;
    mlir::ValueRange buffers_;
};

bool read_size(llvm::ArrayRef<int64_t> from, vector::Sizes& to) {
    if (from.size() < SIDRA_OPERAND_DIMS) return false;
    for (size_t d = 0; d < SIDRA_OPERAND_DIMS; d++) {
        if (from[d] < 1 || from[d] > SIDRA_VECTOR_SIZE_MAX) return false;
        to[d] = static_cast<uint32_t>(from[d]);
    }
    return true;
}

LogicalResult verify_windows(mlir::Operation* op, mlir::ValueRange buffers, WindowsAttr windows, sidra_pattern* to) {
    if (windows.getBuffer() >= buffers.size()) return op->emitOpError("has windows in a buffer that it does not have");
    if (windows.getOffset() >= size_of(buffers[windows.getBuffer()]))
        return op->emitOpError("has windows that begin behind their buffer");
    const auto pair = [](llvm::ArrayRef<uint32_t> list) { return list.size() == 2; };
    if (windows.getCount().size() != 3 || windows.getImage().size() != 3 || windows.getBytes().size() != 3 ||
        !pair(windows.getKernel()) || !pair(windows.getStride()) || !pair(windows.getPad()) ||
        !pair(windows.getDilation()))
        return op->emitOpError("has windows with too few or too many numbers");
    const std::optional<uint8_t> type = element(windows.getType());
    if (!type) return op->emitOpError("has windows of a type that the chip lacks");
    for (const auto& list : {windows.getKernel(), windows.getStride(), windows.getPad(), windows.getDilation()})
        if (std::ranges::max(list) > UINT16_MAX) return op->emitOpError("has windows with numbers above 65535");
    sidra_pattern p{};
    p.addr = address(windows.getBuffer(), windows.getOffset());
    p.type = *type;
    p.height = windows.getImage()[0], p.width = windows.getImage()[1], p.channels = windows.getImage()[2];
    p.kernel_h = static_cast<decltype(p.kernel_h)>(windows.getKernel()[0]);
    p.kernel_w = static_cast<decltype(p.kernel_w)>(windows.getKernel()[1]);
    p.stride_h = static_cast<decltype(p.stride_h)>(windows.getStride()[0]);
    p.stride_w = static_cast<decltype(p.stride_w)>(windows.getStride()[1]);
    p.pad_h = static_cast<decltype(p.pad_h)>(windows.getPad()[0]);
    p.pad_w = static_cast<decltype(p.pad_w)>(windows.getPad()[1]);
    p.dilation_h = static_cast<decltype(p.dilation_h)>(windows.getDilation()[0]);
    p.dilation_w = static_cast<decltype(p.dilation_w)>(windows.getDilation()[1]);
    p.image_stride = windows.getBytes()[0];
    p.row_stride = windows.getBytes()[1];
    p.pixel_stride = windows.getBytes()[2];
    p.zero = static_cast<decltype(p.zero)>(windows.getZero());
    uint64_t bytes;
    if (!vector::pattern_bytes(p, windows.getCount()[0], &bytes) || bytes > size_of(buffers[windows.getBuffer()]) ||
        windows.getOffset() > size_of(buffers[windows.getBuffer()]) - bytes)
        return op->emitOpError("has windows that leave their buffer");
    *to = p;
    return success();
}

}  // namespace

LogicalResult VectorOp::verify() {
    Call call(*this, getBuffers());
    vector::Sizes size;
    if (getSize().size() != SIDRA_OPERAND_DIMS || !read_size(getSize(), size))
        return emitOpError("needs four sizes of at least 1");
    if (mlir::failed(call.take(getArrays(), getProgram()))) return failure();
    vector::Traits traits;
    if (const auto verdict = vector::verify(call.code.instructions, call.operands, &traits))
        return call.refuse(verdict);
    if (const auto verdict = vector::verify_space(call.operands, size, traits)) return call.refuse(verdict);
    return call.inside(size, traits);
}

LogicalResult MatmulOp::verify() {
    Call call(*this, getBuffers());
    vector::MatmulRules rules{};
    if (getSize().size() != SIDRA_OPERAND_DIMS + 1 || !read_size(getSize(), rules.size) || getSize()[4] < 1 ||
        getSize()[4] > SIDRA_MATMUL_INNER_MAX)
        return emitOpError("needs five sizes of at least 1, of which the last is at most ") << SIDRA_MATMUL_INNER_MAX;
    rules.k = static_cast<uint32_t>(getSize()[4]);
    if (mlir::failed(call.take(getArrays(), getProgram()))) return failure();
    if (call.operands.size() < 2) return emitOpError("has no factors");
    if (const auto verdict = vector::verify_factors(call.operands, &rules)) return call.refuse(verdict);
    vector::Traits none;
    if (const auto verdict = vector::verify(call.code.instructions, call.operands, rules.packet, &none, &rules.traits))
        return call.refuse(verdict);
    if (const auto verdict = vector::verify_matmul_space(call.operands, &rules)) return call.refuse(verdict);
    return call.inside(rules.size, rules.traits, 2);
}

LogicalResult LayerOp::verify() {
    Call call(*this, getBuffers());
    sidra_pattern pattern;
    if (mlir::failed(verify_windows(*this, getBuffers(), getWindows(), &pattern)) ||
        mlir::failed(call.take(getArrays(), getProgram())))
        return failure();
    const MatrixType matrix = mlir::cast<MatrixType>(getWeights().getType());
    const uint64_t inputs = uint64_t{pattern.kernel_h} * pattern.kernel_w * pattern.channels;
    if (inputs != matrix.getRows())
        return emitOpError("has windows of ") << inputs << " elements for a matrix of " << matrix.getRows() << " rows";
    pattern.codes = SIDRA_TYPE_U8;
    const uint32_t windows[] = {getWindows().getCount()[0], getWindows().getCount()[1], getWindows().getCount()[2]};
    vector::LayerRules rules =
        vector::layer_rules(pattern, windows, call.code.prologue, matrix.getRows(), matrix.getColumns());
    if (const auto verdict =
            vector::verify(call.code.instructions, call.operands, rules.packet, &rules.prologue, &rules.epilogue))
        return call.refuse(verdict);
    if (const auto verdict = vector::verify_layer_space(call.operands, pattern, &rules)) return call.refuse(verdict);
    if (mlir::failed(call.inside(rules.before, rules.prologue))) return failure();
    return call.inside(rules.after, rules.epilogue);
}

LogicalResult PoolOp::verify() {
    sidra_pattern pattern;
    if (getBuffers().empty()) return emitOpError("has no output");
    if (mlir::failed(verify_windows(*this, getBuffers(), getWindows(), &pattern))) return failure();
    if (getStrides().size() != SIDRA_PATTERN_DIMS) return emitOpError("needs three strides of its output");
    uint64_t stride[SIDRA_PATTERN_DIMS];
    uint32_t size[SIDRA_PATTERN_DIMS];
    for (size_t d = 0; d < SIDRA_PATTERN_DIMS; d++)
        stride[d] = static_cast<uint64_t>(getStrides()[d]), size[d] = getWindows().getCount()[d];
    const uint32_t type = getFunction() == Pooling::argmax ? uint32_t{SIDRA_TYPE_S32} : pattern.type;
    const vector::PoolResult result =
        vector::pool_result(stride, size, uint64_t{pattern.channels} * vector::element_size(type));
    if (result.overlapping != SIDRA_PATTERN_DIMS) return emitOpError("has an output whose pixels overlap");
    const uint64_t limit = size_of(getBuffers().back());
    if (result.bytes > limit || getOffset() > limit - result.bytes) return emitOpError("leaves its output's buffer");
    return success();
}

LogicalResult SortOp::verify() {
    const std::optional<uint8_t> type = element(getType());
    if (!type) return emitOpError("sorts a type that the chip lacks");
    if (getRows() < 1 || getRows() > SIDRA_SORT_ROWS_MAX || getColumns() < 1 || getColumns() > SIDRA_SORT_COLS_MAX)
        return emitOpError("has too many rows or columns");
    if (getCount() < 1 || getCount() > getColumns()) return emitOpError("gives more elements than a row has");
    const uint64_t size = vector::element_size(*type), row = getColumns() * size;
    const uint64_t limit = size_of(getInput());
    if (getStride() < row || row > limit || getOffset() > limit - row ||
        (getRows() - 1) > (limit - row - getOffset()) / getStride())
        return emitOpError("leaves its input's buffer");
    if (getRows() * getCount() * size > size_of(getValues()) ||
        getRows() * getCount() * sizeof(int64_t) > size_of(getIndices()))
        return emitOpError("leaves the buffers of its results");
    return success();
}

LogicalResult HostOp::verify() {
    llvm::SmallVector<mlir::Type> types(getTypes().getAsValueRange<mlir::TypeAttr>());
    if (types.size() != getInputs().size() || getOffsets().size() != types.size())
        return emitOpError("needs a type and an offset for each input");
    const xnn::HostCall host = xnn::host_call(getFunction(), types, getType(), getParameters());
    if (!host.problem.empty()) return emitOpError() << host.problem;
    for (size_t i = 0; i < types.size(); i++) {
        const uint64_t size = size_of(getInputs()[i]), bytes = format::bytes_of(host.call.inputs[i]);
        const auto offset = static_cast<uint64_t>(getOffsets()[i]);
        if (offset > size || bytes > size - offset) return emitOpError("leaves the buffer of input ") << i;
        if (bytes != 0 && getInputs()[i] == getOutput()) return emitOpError("has an input in the buffer of its output");
    }
    if (format::bytes_of(host.call.output) > size_of(getOutput()))
        return emitOpError("leaves the buffer of its output");
    return success();
}

}  // namespace sidra::xbar
