// SPDX-License-Identifier: MIT
#include "node.h"

#include <llvm/ADT/STLExtras.h>

namespace sidra::compiler {

using onnx::AttributeProto;
using xnn::Elements;

std::vector<Value> Node::all() const {
    std::vector<Value> values;
    for (size_t i = 0; i < inputs_.size(); i++) values.push_back((*this)[i]);
    if (values.empty()) refuse("there is no input");
    return values;
}

const AttributeProto* Node::find(std::string_view name, AttributeProto::AttributeType type) const {
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) return nullptr;
    // The first models did not say the type.
    if (found->second->type() != type && found->second->type() != AttributeProto::UNDEFINED)
        refuse("the attribute {} has the wrong type", name);
    return found->second;
}

int64_t Node::integer(std::string_view name, int64_t otherwise) const {
    const AttributeProto* const found = find(name, AttributeProto::INT);
    return found ? found->i() : otherwise;
}

int64_t Node::integer(std::string_view name) const {
    if (!has(name)) refuse("the attribute {} is missing", name);
    return integer(name, 0);
}

float Node::number(std::string_view name, float otherwise) const {
    const AttributeProto* const found = find(name, AttributeProto::FLOAT);
    return found ? found->f() : otherwise;
}

std::string Node::text(std::string_view name, std::string_view otherwise) const {
    const AttributeProto* const found = find(name, AttributeProto::STRING);
    return found ? found->s() : std::string(otherwise);
}

Shape Node::integers(std::string_view name) const {
    const AttributeProto* const found = find(name, AttributeProto::INTS);
    return found ? Shape(found->ints().begin(), found->ints().end()) : Shape();
}

std::vector<float> Node::numbers(std::string_view name) const {
    const AttributeProto* const found = find(name, AttributeProto::FLOATS);
    return found ? std::vector<float>(found->floats().begin(), found->floats().end()) : std::vector<float>();
}

std::vector<std::string> Node::texts(std::string_view name) const {
    const AttributeProto* const found = find(name, AttributeProto::STRINGS);
    return found ? std::vector<std::string>(found->strings().begin(), found->strings().end())
                 : std::vector<std::string>();
}

const onnx::TensorProto* Node::tensor(std::string_view name) const {
    const AttributeProto* const found = find(name, AttributeProto::TENSOR);
    return found && found->has_t() ? &found->t() : nullptr;
}

mlir::Type Node::type(std::string_view name, int otherwise) const {
    const int64_t number = integer(name, otherwise);
    return element_type(b.builder().getContext(), number < 0 || number > INT32_MAX ? 0 : static_cast<int>(number));
}

Values Node::graph(std::string_view name, llvm::ArrayRef<Value> inputs) const {
    const AttributeProto* const found = find(name, AttributeProto::GRAPH);
    if (!found || !found->has_g()) refuse("the attribute {} is missing", name);
    return import_graph_(found->g(), inputs);
}

void Node::only(std::string_view name, int64_t supported) const {
    if (const int64_t number = integer(name, supported); number != supported)
        refuse("the attribute {} is {}, and only {} is supported", name, number, supported);
}

std::optional<double> Node::splat(Value value) const {
    const std::optional<Elements> all = elements(value);
    if (!all) return std::nullopt;
    return std::visit(
        [](const auto& numbers) -> std::optional<double> {
            if (numbers.empty() || !llvm::all_equal(numbers)) return std::nullopt;
            return static_cast<double>(numbers[0]);
        },
        all->numbers);
}

Elements Node::constant_elements(size_t i, std::string_view what) const {
    std::optional<Elements> found = elements((*this)[i]);
    if (!found)
        refuse("{} (input {}) must be a constant of at most {} elements; export the model with constant shapes", what,
               i, xnn::kFoldLimit);
    return std::move(*found);
}

Shape Node::constant_integers(size_t i, std::string_view what) const {
    const Elements all = constant_elements(i, what);
    const auto* const numbers = std::get_if<Elements::Integers>(&all.numbers);
    if (!numbers) refuse("{} (input {}) must be integers", what, i);
    return Shape(numbers->begin(), numbers->end());
}

std::vector<float> Node::constant_floats(size_t i, std::string_view what) const {
    const Elements all = constant_elements(i, what);
    const auto* const numbers = std::get_if<Elements::Floats>(&all.numbers);
    if (!numbers) refuse("{} (input {}) must be floats", what, i);
    return *numbers;
}

int64_t Node::constant_integer(size_t i, std::string_view what) const {
    const Shape numbers = constant_integers(i, what);
    if (numbers.size() != 1) refuse("{} (input {}) must be one number", what, i);
    return numbers[0];
}

std::optional<Shape> Node::attribute_or_input(std::string_view name, size_t i, int since) const {
    if (version < since) return has(name) ? std::optional(integers(name)) : std::nullopt;
    return optional(i) ? std::optional(constant_integers(i, name)) : std::nullopt;
}

}  // namespace sidra::compiler
