// SPDX-License-Identifier: MIT
#include "tensors.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>

#include "values/read.h"

namespace sidra::compiler {

using xnn::BuildError;
using xnn::Elements;

static_assert(std::endian::native == std::endian::little, "ONNX stores bytes in this order");

namespace {

Bytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

// The numbers of a field of the message, each in the bytes of an element.
template <typename Stored, typename Field>
std::vector<std::byte> convert(const Field& field) {
    std::vector<std::byte> bytes(static_cast<size_t>(field.size()) * sizeof(Stored));
    std::byte* to = bytes.data();
    for (const auto number : field) {
        const auto stored = static_cast<Stored>(number);
        std::memcpy(to, &stored, sizeof stored);
        to += sizeof stored;
    }
    return bytes;
}

std::vector<std::byte> typed_bytes(const onnx::TensorProto& tensor) {
    switch (tensor.data_type()) {
        case onnx::TensorProto::FLOAT:
            return convert<float>(tensor.float_data());
        case onnx::TensorProto::FLOAT16:
        case onnx::TensorProto::BFLOAT16:
        case onnx::TensorProto::INT16:
            return convert<uint16_t>(tensor.int32_data());
        case onnx::TensorProto::INT32:
            return convert<int32_t>(tensor.int32_data());
        case onnx::TensorProto::INT64:
            return convert<int64_t>(tensor.int64_data());
        default:
            return convert<uint8_t>(tensor.int32_data());
    }
}

// A number of an entry of external_data.
uint64_t number_of(std::string_view text) {
    uint64_t number;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        throw BuildError(
            fmt::format("an offset or length of external data is {} instead of a number", in_quotes(text)));
    return number;
}

}  // namespace

std::string in_quotes(std::string_view name) {
    constexpr size_t kLongest = 120;
    std::string text = "'";
    for (const char c : name.substr(0, kLongest)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return text + (name.size() > kLongest ? "...'" : "'");
}

mlir::Type element_type(mlir::MLIRContext* context, int data_type) {
    mlir::Builder builder(context);
    switch (data_type) {
        case onnx::TensorProto::FLOAT:
            return builder.getF32Type();
        case onnx::TensorProto::FLOAT16:
            return builder.getF16Type();
        case onnx::TensorProto::BFLOAT16:
            return builder.getBF16Type();
        case onnx::TensorProto::BOOL:
            return builder.getI1Type();
        case onnx::TensorProto::INT8:
            return builder.getI8Type();
        case onnx::TensorProto::UINT8:
            return builder.getIntegerType(8, false);
        case onnx::TensorProto::INT16:
            return builder.getI16Type();
        case onnx::TensorProto::INT32:
            return builder.getI32Type();
        case onnx::TensorProto::INT64:
            return builder.getI64Type();
        default:
            break;
    }
    // Newer types are no part of the messages that this was built with.
    static const std::map<int, const char*> others = {{onnx::TensorProto::UNDEFINED, "undefined"},
                                                      {onnx::TensorProto::UINT16, "uint16"},
                                                      {onnx::TensorProto::STRING, "string"},
                                                      {onnx::TensorProto::DOUBLE, "float64"},
                                                      {onnx::TensorProto::UINT32, "uint32"},
                                                      {onnx::TensorProto::UINT64, "uint64"},
                                                      {onnx::TensorProto::COMPLEX64, "complex64"},
                                                      {onnx::TensorProto::COMPLEX128, "complex128"},
                                                      {17, "float8e4m3fn"},
                                                      {18, "float8e4m3fnuz"},
                                                      {19, "float8e5m2"},
                                                      {20, "float8e5m2fnuz"},
                                                      {21, "uint4"},
                                                      {22, "int4"}};
    const auto found = others.find(data_type);
    throw BuildError(fmt::format("the chip has no elements of type {}{}",
                                 found == others.end() ? std::to_string(data_type) : found->second,
                                 data_type == onnx::TensorProto::DOUBLE ? "; export the model with float32" : ""));
}

Tensors::Kept Tensors::external(const onnx::TensorProto& tensor, size_t size) {
    std::string location;
    uint64_t offset = 0, length = size;
    for (const auto& entry : tensor.external_data()) {
        if (entry.key() == "location") location = entry.value();
        else if (entry.key() == "offset") offset = number_of(entry.value());
        else if (entry.key() == "length") length = number_of(entry.value());
    }
    const std::filesystem::path relative(location);
    if (location.empty() || location.find('\0') != std::string::npos || relative.is_absolute() ||
        llvm::is_contained(relative, ".."))
        throw BuildError(fmt::format("the external data of {} is in {}, which is not beside the model",
                                     in_quotes(tensor.name()), in_quotes(location)));
    auto& file = files_[location];
    if (!file) {
        const std::string path = (folder_ / relative).string();
        std::error_code error;
        if (!std::filesystem::is_regular_file(path, error))
            throw BuildError(fmt::format("the external data of {} is in {}, which is no file", in_quotes(tensor.name()),
                                         in_quotes(path)));
        auto opened = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
        if (!opened)
            throw BuildError(fmt::format("{} cannot be read: {}", in_quotes(path), opened.getError().message()));
        file = std::move(*opened);
    }
    if (length != size || offset > file->getBufferSize() || size > file->getBufferSize() - offset)
        throw BuildError(fmt::format("{} needs {} bytes, but its external data has {} bytes from {} in a file of {}",
                                     in_quotes(tensor.name()), size, length, offset, file->getBufferSize()));
    return {bytes_of({file->getBufferStart() + offset, size}), file};
}

Tensors::Kept Tensors::bytes(const onnx::TensorProto& tensor, mlir::RankedTensorType type) {
    const auto size = static_cast<size_t>(type.getNumElements()) * element_bytes(type.getElementType());
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) return external(tensor, size);
    Kept kept;
    if (tensor.has_raw_data()) kept = {bytes_of(tensor.raw_data()), model_};
    else {
        auto converted = std::make_shared<const std::vector<std::byte>>(typed_bytes(tensor));
        kept = {*converted, converted};
    }
    if (kept.bytes.size() != size)
        throw BuildError(fmt::format("the constant {} has {} bytes instead of {}", in_quotes(tensor.name()),
                                     kept.bytes.size(), size));
    return kept;
}

mlir::Value Tensors::constant(xnn::Build& build, const onnx::TensorProto& tensor) {
    if (tensor.has_segment()) throw BuildError("constants in segments are not supported");
    const xnn::Shape shape(tensor.dims().begin(), tensor.dims().end());
    const mlir::RankedTensorType type =
        build.tensor(shape, element_type(build.builder().getContext(), tensor.data_type()));
    const Kept kept = bytes(tensor, type);
    const mlir::Type element = type.getElementType();
    const bool positions = element.isIntOrIndex() && !element.isInteger(8) && type.getNumElements() <= xnn::kFoldLimit;
    if (positions || kept.bytes.size() < kStoredBytes) return build.constant(elements_from(kept.bytes, type));
    return build.constant(xnn::ValuesAttr::get(type.getContext(), tensor.name(), store_.add(kept.bytes, kept.owner)),
                          type);
}

std::optional<Elements> Tensors::elements(mlir::Value value, int64_t limit) const {
    auto op = value.getDefiningOp<xnn::ConstantOp>();
    if (!op || op.getType().getNumElements() > limit) return std::nullopt;
    const auto values = mlir::dyn_cast<xnn::ValuesAttr>(op.getValue());
    return values ? elements_from(store_.find(values.getHash()), op.getType()) : xnn::elements_of(op.getValue());
}

}  // namespace sidra::compiler
