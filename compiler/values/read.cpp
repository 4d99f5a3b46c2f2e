// SPDX-License-Identifier: MIT
#include "read.h"

#include <llvm/ADT/APFloat.h>

#include <cstring>

#include "shapes.h"

namespace sidra::compiler {

using mlir::RankedTensorType;
using xnn::Elements;

uint64_t element_bytes(mlir::Type type) {
    const unsigned bits = type.getIntOrFloatBitWidth();
    return bits < 8 ? 1 : bits / 8;
}

std::optional<std::vector<std::byte>> read_bytes(mlir::Attribute value, RankedTensorType type, const Store& store) {
    const uint64_t size = element_bytes(type.getElementType()), count = static_cast<uint64_t>(type.getNumElements());
    if (const auto values = mlir::dyn_cast<xnn::ValuesAttr>(value)) {
        const Bytes found = store.find(values.getHash());
        if (found.size() != size * count) return std::nullopt;
        return std::vector<std::byte>(found.begin(), found.end());
    }
    const auto elements = mlir::dyn_cast<mlir::DenseElementsAttr>(value);
    if (!elements) return std::nullopt;
    std::vector<std::byte> bytes(size * count);
    std::byte* to = bytes.data();
    const auto put = [&](const llvm::APInt& bits) {
        const uint64_t word = bits.getZExtValue();
        std::memcpy(to, &word, size);
        to += size;
    };
    if (mlir::isa<mlir::FloatType>(type.getElementType()))
        for (const llvm::APFloat& f : elements.getValues<llvm::APFloat>()) put(f.bitcastToAPInt());
    else
        for (const llvm::APInt& i : elements.getValues<llvm::APInt>()) put(i);
    return bytes;
}

namespace {

float half_to_float(uint16_t bits, const llvm::fltSemantics& semantics) {
    llvm::APFloat value(semantics, llvm::APInt(16, bits));
    bool lost;
    value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return value.convertToFloat();
}

template <typename Stored>
Elements::Integers integers(Bytes bytes) {
    Elements::Integers numbers;
    for (size_t at = 0; at < bytes.size(); at += sizeof(Stored)) {
        Stored number;
        std::memcpy(&number, &bytes[at], sizeof number);
        numbers.push_back(number);
    }
    return numbers;
}

Elements::Floats floats(Bytes bytes, mlir::Type type) {
    Elements::Floats numbers(bytes.size() / element_bytes(type));
    if (type.isF32()) {
        if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
        return numbers;
    }
    const auto bits = integers<uint16_t>(bytes);
    const llvm::fltSemantics& semantics = mlir::cast<mlir::FloatType>(type).getFloatSemantics();
    for (size_t i = 0; i < numbers.size(); i++) numbers[i] = half_to_float(static_cast<uint16_t>(bits[i]), semantics);
    return numbers;
}

}  // namespace

Elements elements_from(Bytes bytes, mlir::RankedTensorType type) {
    const mlir::Type element = type.getElementType();
    if (mlir::isa<mlir::FloatType>(element)) return {type, floats(bytes, element)};
    switch (element.getIntOrFloatBitWidth()) {
        case 64:
            return {type, integers<int64_t>(bytes)};
        case 32:
            return {type, integers<int32_t>(bytes)};
        case 16:
            return {type, integers<int16_t>(bytes)};
        case 8:
            return {type, element.isUnsignedInteger() ? integers<uint8_t>(bytes) : integers<int8_t>(bytes)};
        default:
            break;
    }
    Elements::Integers truths = integers<uint8_t>(bytes);
    for (int64_t& truth : truths) truth = truth != 0;
    return {type, std::move(truths)};
}

namespace {

std::optional<std::vector<float>> floats_of(xnn::ConstantOp constant, const Store& store) {
    const RankedTensorType type = constant.getType();
    const mlir::Type element = type.getElementType();
    if (!mlir::isa<mlir::FloatType>(element)) return std::nullopt;
    const auto bytes = read_bytes(constant.getValue(), type, store);
    if (!bytes) return std::nullopt;
    return floats(*bytes, element);
}

}  // namespace

std::optional<std::vector<float>> read_floats(mlir::Value value, const Store& store) {
    mlir::Operation* const op = value.getDefiningOp();
    if (auto constant = mlir::dyn_cast_or_null<xnn::ConstantOp>(op)) return floats_of(constant, store);
    if (mlir::isa_and_nonnull<xnn::ReshapeOp>(op)) return read_floats(op->getOperand(0), store);
    if (auto cast = mlir::dyn_cast_or_null<xnn::CastOp>(op))
        return cast.getType().getElementType().isF32() ? read_floats(cast.getInput(), store) : std::nullopt;
    auto transpose = mlir::dyn_cast_or_null<xnn::TransposeOp>(op);
    if (!transpose) return std::nullopt;
    const auto from = read_floats(transpose.getInput(), store);
    if (!from) return std::nullopt;
    const auto strides = xnn::dense_strides(mlir::cast<RankedTensorType>(transpose.getInput().getType()).getShape());
    const llvm::ArrayRef<int64_t> shape = transpose.getType().getShape();
    std::vector<float> to(from->size());
    llvm::SmallVector<int64_t> at(shape.size());
    for (float& element : to) {
        int64_t offset = 0;
        for (size_t d = 0; d < at.size(); d++)
            offset += at[d] * strides[static_cast<size_t>(transpose.getPermutation()[d])];
        element = (*from)[static_cast<size_t>(offset)];
        for (size_t d = at.size(); d-- > 0 && ++at[d] == shape[d];) at[d] = 0;
    }
    return to;
}

mlir::Value store_constant(mlir::OpBuilder& builder, mlir::Location location, Store& store, llvm::StringRef name,
                           RankedTensorType type, std::vector<std::byte> bytes) {
    const std::string hash = store.add(std::move(bytes));
    return builder.create<xnn::ConstantOp>(location, type, xnn::ValuesAttr::get(builder.getContext(), name, hash));
}

}  // namespace sidra::compiler
