// SPDX-License-Identifier: MIT
// Makes models of ONNX for tests, and imports them.
#ifndef SIDRA_TESTS_COMPILER_MODEL_BUILDER_H
#define SIDRA_TESTS_COMPILER_MODEL_BUILDER_H

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "onnx/import.h"
#include "onnx/proto.h"
#include "xnn.h"

namespace sidra::tests {

using Names = std::vector<std::string>;
using Sizes = std::vector<int64_t>;

class ModelBuilder {
   public:
    explicit ModelBuilder(int64_t set = 17) {
        model.set_ir_version(8);
        model.add_opset_import()->set_version(set);
        context.loadDialect<mlir::func::FuncDialect, xnn::XnnDialect>();
        std::filesystem::create_directories(folder);
    }
    ~ModelBuilder() { std::filesystem::remove_all(folder); }
    ModelBuilder(const ModelBuilder&) = delete;
    ModelBuilder& operator=(const ModelBuilder&) = delete;

    ModelBuilder& input(const std::string& name, const Sizes& shape, int type = onnx::TensorProto::FLOAT) {
        auto* const tensor = graph().add_input();
        tensor->set_name(name);
        auto* const of = tensor->mutable_type()->mutable_tensor_type();
        of->set_elem_type(type);
        of->mutable_shape();
        for (const int64_t size : shape) of->mutable_shape()->add_dim()->set_dim_value(size);
        return *this;
    }
    ModelBuilder& output(const std::string& name) {
        graph().add_output()->set_name(name);
        return *this;
    }
    onnx::NodeProto& node(const std::string& op, const Names& inputs, const Names& outputs) {
        return add_node(*graph().add_node(), op, inputs, outputs);
    }
    static onnx::NodeProto& add_node(onnx::NodeProto& node, const std::string& op, const Names& inputs,
                                     const Names& outputs) {
        node.set_op_type(op);
        for (const std::string& name : inputs) node.add_input(name);
        for (const std::string& name : outputs) node.add_output(name);
        return node;
    }
    onnx::TensorProto& constant(const std::string& name, const Sizes& shape, int type = onnx::TensorProto::FLOAT) {
        auto* const tensor = graph().add_initializer();
        tensor->set_name(name);
        tensor->set_data_type(type);
        for (const int64_t size : shape) tensor->add_dims(size);
        return *tensor;
    }
    onnx::TensorProto& integers(const std::string& name, const Sizes& numbers) {
        onnx::TensorProto& tensor = constant(name, {static_cast<int64_t>(numbers.size())}, onnx::TensorProto::INT64);
        for (const int64_t number : numbers) tensor.add_int64_data(number);
        return tensor;
    }
    static onnx::AttributeProto& attribute(onnx::NodeProto& node, const std::string& name, int64_t number) {
        auto* const attribute = node.add_attribute();
        attribute->set_name(name);
        attribute->set_type(onnx::AttributeProto::INT);
        attribute->set_i(number);
        return *attribute;
    }
    static onnx::AttributeProto& attribute(onnx::NodeProto& node, const std::string& name, const Sizes& numbers) {
        auto* const attribute = node.add_attribute();
        attribute->set_name(name);
        attribute->set_type(onnx::AttributeProto::INTS);
        for (const int64_t number : numbers) attribute->add_ints(number);
        return *attribute;
    }

    onnx::GraphProto& graph() { return *model.mutable_graph(); }

    mlir::OwningOpRef<mlir::ModuleOp> import() {
        const std::string path = folder / "model.onnx";
        std::ofstream file(path, std::ios::binary);
        EXPECT_TRUE(model.SerializeToOstream(&file));
        file.close();
        return compiler::import_onnx(context, store, path, options);
    }
    // The module in text.
    std::string text() {
        std::string text;
        llvm::raw_string_ostream stream(text);
        const mlir::OwningOpRef<mlir::ModuleOp> module = import();
        mlir::ModuleOp(*module).print(stream, mlir::OpPrintingFlags().enableDebugInfo());
        return text;
    }
    // Why the model is refused.
    std::string error() {
        try {
            import();
        } catch (const compiler::ImportError& error) {
            return error.what();
        }
        return "(imported)";
    }

    onnx::ModelProto model;
    compiler::ImportOptions options;
    compiler::Store store;
    mlir::MLIRContext context;
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / fmt::format("onnx-{}", getpid());
};

}  // namespace sidra::tests

#endif
