// SPDX-License-Identifier: MIT
// A node of a graph, as the functions of the table see it. Whatever a model may have wrong throws BuildError.
#ifndef SIDRA_COMPILER_ONNX_NODE_H
#define SIDRA_COMPILER_ONNX_NODE_H

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "build.h"
#include "operators.h"
#include "proto.h"
#include "tensors.h"

namespace sidra::compiler {

using mlir::Value;
using xnn::Build;
using xnn::BuildError;
using xnn::Shape;

template <typename... Arguments>
[[noreturn]] void refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    throw BuildError(fmt::format(text, std::forward<Arguments>(arguments)...));
}

using Attributes = std::map<std::string_view, const onnx::AttributeProto*>;

// Imports a graph inside of a node, with these values as its inputs, and returns its outputs.
using ImportGraph = llvm::function_ref<Values(const onnx::GraphProto& graph, llvm::ArrayRef<Value> inputs)>;

class Node {
   public:
    Node(int set, std::vector<Value> inputs, std::vector<bool> outputs, Attributes attributes, Build& build,
         Tensors& tensors, ImportGraph import_graph)
        : version(set),
          b(build),
          inputs_(std::move(inputs)),
          outputs_(std::move(outputs)),
          attributes_(std::move(attributes)),
          tensors_(tensors),
          import_graph_(import_graph) {}

    // Of the operator set.
    const int version;
    Build& b;

    size_t inputs() const { return inputs_.size(); }
    // An input that the node must have, and one that it may have: null if it has not.
    Value operator[](size_t i) const {
        if (!optional(i)) refuse("input {} is missing", i);
        return inputs_[i];
    }
    Value optional(size_t i) const { return i < inputs_.size() ? inputs_[i] : Value(); }
    // All inputs, of which there is at least one.
    std::vector<Value> all() const;
    size_t outputs() const { return outputs_.size(); }
    // Whether the graph uses an output.
    bool wants(size_t i) const { return i < outputs_.size() && outputs_[i]; }

    // ---- Attributes
    bool has(std::string_view name) const { return attributes_.contains(name); }
    int64_t integer(std::string_view name, int64_t otherwise) const;
    int64_t integer(std::string_view name) const;
    bool flag(std::string_view name, bool otherwise = false) const { return integer(name, otherwise) != 0; }
    float number(std::string_view name, float otherwise) const;
    std::string text(std::string_view name, std::string_view otherwise) const;
    // Empty without the attribute.
    Shape integers(std::string_view name) const;
    std::vector<float> numbers(std::string_view name) const;
    std::vector<std::string> texts(std::string_view name) const;
    const onnx::TensorProto* tensor(std::string_view name) const;
    mlir::Type type(std::string_view name, int otherwise) const;
    // The graph of an attribute, which the node must have: imported here, each time that this is called.
    Values graph(std::string_view name, llvm::ArrayRef<Value> inputs) const;
    // The only value that is supported of an attribute is its default.
    void only(std::string_view name, int64_t supported) const;

    // ---- Constants
    Value constant(const onnx::TensorProto& tensor) { return tensors_.constant(b, tensor); }
    std::optional<xnn::Elements> elements(Value value, int64_t limit = xnn::kFoldLimit) const {
        return tensors_.elements(value, limit);
    }
    // The number of a constant that is the same everywhere.
    std::optional<double> splat(Value value) const;
    // The numbers of an input that must be a constant; `what` is its name in the text of the error.
    Shape constant_integers(size_t i, std::string_view what) const;
    std::vector<float> constant_floats(size_t i, std::string_view what) const;
    int64_t constant_integer(size_t i, std::string_view what) const;
    // Numbers that are an attribute before operator set `since`, and then an input. Nothing: neither is there.
    std::optional<Shape> attribute_or_input(std::string_view name, size_t i, int since) const;

   private:
    const onnx::AttributeProto* find(std::string_view name, onnx::AttributeProto::AttributeType type) const;
    xnn::Elements constant_elements(size_t i, std::string_view what) const;

    std::vector<Value> inputs_;
    std::vector<bool> outputs_;
    Attributes attributes_;
    Tensors& tensors_;
    ImportGraph import_graph_;
};

}  // namespace sidra::compiler

#endif
