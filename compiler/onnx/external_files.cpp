// SPDX-License-Identifier: MIT
#include "external_files.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <iterator>

#include "proto.h"

namespace sidra::compiler {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr int kDepthMax = 100;  // of messages in messages, as protobuf has it

enum class Message { kModel, kGraph, kNode, kAttribute, kFunction, kSparseTensor, kTensor, kEntry };

// The fields through which one gets to tensors.
struct Field {
    Message in;
    int number;
    Message holds;
};
constexpr Field kFields[] = {
    {Message::kModel, onnx::ModelProto::kGraphFieldNumber, Message::kGraph},
    {Message::kModel, onnx::ModelProto::kFunctionsFieldNumber, Message::kFunction},
    {Message::kGraph, onnx::GraphProto::kNodeFieldNumber, Message::kNode},
    {Message::kGraph, onnx::GraphProto::kInitializerFieldNumber, Message::kTensor},
    {Message::kGraph, onnx::GraphProto::kSparseInitializerFieldNumber, Message::kSparseTensor},
    {Message::kFunction, onnx::FunctionProto::kNodeFieldNumber, Message::kNode},
    {Message::kNode, onnx::NodeProto::kAttributeFieldNumber, Message::kAttribute},
    {Message::kAttribute, onnx::AttributeProto::kTFieldNumber, Message::kTensor},
    {Message::kAttribute, onnx::AttributeProto::kTensorsFieldNumber, Message::kTensor},
    {Message::kAttribute, onnx::AttributeProto::kGFieldNumber, Message::kGraph},
    {Message::kAttribute, onnx::AttributeProto::kGraphsFieldNumber, Message::kGraph},
    {Message::kAttribute, onnx::AttributeProto::kSparseTensorFieldNumber, Message::kSparseTensor},
    {Message::kAttribute, onnx::AttributeProto::kSparseTensorsFieldNumber, Message::kSparseTensor},
    {Message::kSparseTensor, onnx::SparseTensorProto::kValuesFieldNumber, Message::kTensor},
    {Message::kSparseTensor, onnx::SparseTensorProto::kIndicesFieldNumber, Message::kTensor},
    {Message::kTensor, onnx::TensorProto::kExternalDataFieldNumber, Message::kEntry},
};

bool read_entry(CodedInputStream& stream, int size, std::set<std::string>& files) {
    std::string bytes;
    onnx::StringStringEntryProto entry;
    if (!stream.ReadString(&bytes, size) || !entry.ParseFromString(bytes)) return false;
    if (entry.key() == "location") files.insert(entry.value());
    return true;
}

bool walk(CodedInputStream& stream, Message in, int depth, std::set<std::string>& files) {
    if (depth > kDepthMax) return false;
    while (const uint32_t tag = stream.ReadTag()) {
        const auto* const field = std::ranges::find_if(
            kFields, [&](const Field& f) { return f.in == in && f.number == WireFormatLite::GetTagFieldNumber(tag); });
        if (field == std::end(kFields) ||
            WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
            if (!WireFormatLite::SkipField(&stream, tag)) return false;
            continue;
        }
        int size;
        if (!stream.ReadVarintSizeAsInt(&size) || size > stream.BytesUntilLimit()) return false;
        if (field->holds == Message::kEntry) {
            if (!read_entry(stream, size, files)) return false;
            continue;
        }
        const CodedInputStream::Limit limit = stream.PushLimit(size);
        if (!walk(stream, field->holds, depth + 1, files)) return false;
        stream.PopLimit(limit);
    }
    return stream.ConsumedEntireMessage();
}

}  // namespace

std::optional<std::set<std::string>> external_files(Bytes model) {
    if (model.size() > INT32_MAX) return std::nullopt;
    CodedInputStream stream(reinterpret_cast<const uint8_t*>(model.data()), static_cast<int>(model.size()));
    stream.PushLimit(static_cast<int>(model.size()));
    std::set<std::string> files;
    if (!walk(stream, Message::kModel, 0, files)) return std::nullopt;
    return files;
}

}  // namespace sidra::compiler
