// SPDX-License-Identifier: MIT
// Networks of ONNX, compiled into files for one chip and for several.
#ifndef SIDRA_TESTS_PIPELINE_NETWORKS_H
#define SIDRA_TESTS_PIPELINE_NETWORKS_H

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "onnx/proto.h"
#include "sidra/compiler.h"

namespace sidra::test {

inline constexpr int64_t kWidth = 64;

class Network {
   public:
    explicit Network(std::string name) : name_(std::move(name)) {
        model_.set_ir_version(8);
        model_.add_opset_import()->set_version(17);
        model_.mutable_graph()->set_name(name_);
        std::filesystem::create_directories(folder_);
    }
    ~Network() { std::filesystem::remove_all(folder_); }
    Network(const Network&) = delete;
    Network& operator=(const Network&) = delete;

    std::string input(const std::string& name, int64_t rows, int64_t columns = kWidth) {
        describe(model_.mutable_graph()->add_input(), name, rows, columns);
        inputs.push_back(static_cast<size_t>(rows * columns));
        return name;
    }
    void output(const std::string& name, int64_t rows, int64_t columns = kWidth) {
        describe(model_.mutable_graph()->add_output(), name, rows, columns);
        outputs.push_back(static_cast<size_t>(rows * columns));
    }
    std::string node(const std::string& op, const std::vector<std::string>& takes) {
        onnx::NodeProto& node = *model_.mutable_graph()->add_node();
        node.set_op_type(op);
        node.set_name(op + std::to_string(model_.graph().node_size()));
        for (const std::string& name : takes) node.add_input(name);
        node.add_output(node.name() + "_out");
        return node.output(0);
    }
    // A layer with random weights, and what makes its results neither linear nor large.
    std::string layer(const std::string& of, int64_t from = kWidth, int64_t to = kWidth) {
        onnx::TensorProto& weights = *model_.mutable_graph()->add_initializer();
        weights.set_name("w" + std::to_string(model_.graph().initializer_size()));
        weights.set_data_type(onnx::TensorProto::FLOAT);
        weights.add_dims(from), weights.add_dims(to);
        std::uniform_real_distribution<float> any(-0.2f, 0.2f);
        for (int64_t i = 0; i < from * to; i++) weights.add_float_data(any(random_));
        return node("Tanh", {node("MatMul", {of, weights.name()})});
    }

    // Returns what is wrong; "": nothing.
    std::string compile(uint32_t chips) const {
        const std::string network = folder_ / (name_ + ".onnx");
        std::ofstream file(network, std::ios::binary);
        EXPECT_TRUE(model_.SerializeToOstream(&file));
        file.close();
        sidra_compile_options options{};
        options.struct_size = sizeof options;
        options.no_cache = true;
        options.chips = chips;
        std::array<char, 1024> error{};
        sidra_compile(network.c_str(), file_for(chips).c_str(), &options, error.data(), error.size());
        return error.data();
    }
    std::string file_for(uint32_t chips) const { return folder_ / (name_ + std::to_string(chips) + ".sidra"); }

    std::vector<size_t> inputs, outputs;  // elements of f32

   private:
    static void describe(onnx::ValueInfoProto* value, const std::string& name, int64_t rows, int64_t columns) {
        value->set_name(name);
        auto* const type = value->mutable_type()->mutable_tensor_type();
        type->set_elem_type(onnx::TensorProto::FLOAT);
        type->mutable_shape()->add_dim()->set_dim_value(rows);
        if (columns != 0) type->mutable_shape()->add_dim()->set_dim_value(columns);
    }

    const std::string name_;
    onnx::ModelProto model_;
    std::mt19937 random_{7};
    const std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) / ("pipeline-" + std::to_string(getpid()) + "-" + name_);
};

}  // namespace sidra::test

#endif
