// SPDX-License-Identifier: MIT
#include "onnx/external_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "onnx/proto.h"

namespace sidra {
namespace {

using compiler::external_files;
using Files = std::set<std::string>;

void put_outside(onnx::TensorProto& tensor, const std::string& file) {
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* const offset = tensor.add_external_data();
    offset->set_key("offset");
    offset->set_value("not a file");
    auto* const location = tensor.add_external_data();
    location->set_key("location");
    location->set_value(file);
}

std::optional<Files> files_of(const std::string& bytes) { return external_files(std::as_bytes(std::span(bytes))); }

TEST(ExternalFiles, WhereverATensorIs) {
    onnx::ModelProto model;
    model.set_producer_name("location");
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.add_initializer()->set_raw_data(std::string(100'000, '\x0a'));
    put_outside(*graph.add_initializer(), "constant");
    put_outside(*graph.add_initializer(), "constant");
    put_outside(*graph.add_sparse_initializer()->mutable_values(), "values");
    put_outside(*graph.add_sparse_initializer()->mutable_indices(), "indices");
    put_outside(*graph.add_node()->add_attribute()->mutable_t(), "attribute");
    put_outside(*graph.add_node()->add_attribute()->add_tensors(), "list");
    put_outside(*graph.add_node()->add_attribute()->mutable_sparse_tensor()->mutable_values(), "sparse");
    put_outside(*graph.add_node()->add_attribute()->add_sparse_tensors()->mutable_values(), "sparse list");
    put_outside(*graph.add_node()->add_attribute()->mutable_g()->add_initializer(), "branch");
    put_outside(*graph.add_node()->add_attribute()->add_graphs()->add_node()->add_attribute()->mutable_t(), "deep");
    put_outside(*model.add_functions()->add_node()->add_attribute()->mutable_t(), "function");
    EXPECT_EQ((Files{"attribute", "branch", "constant", "deep", "function", "indices", "list", "sparse", "sparse list",
                     "values"}),
              files_of(model.SerializeAsString()));
    graph.Clear();
    model.clear_functions();
    EXPECT_EQ(Files{}, files_of(model.SerializeAsString()));
}

TEST(ExternalFiles, OfWhatIsNoModel) {
    onnx::ModelProto model;
    put_outside(*model.mutable_graph()->add_initializer(), "constant");
    const std::string bytes = model.SerializeAsString();
    // At the end of a field, it could be one.
    for (size_t size = 1; size < bytes.size(); size++)
        EXPECT_EQ(std::nullopt, files_of(bytes.substr(0, size))) << size << " bytes";
    EXPECT_EQ(std::nullopt, files_of(std::string(1000, '\0')));
    EXPECT_EQ(std::nullopt, files_of("PK\x03\x04 is something else"));
    // Each graph in a graph is three messages deeper; protobuf itself reads 100.
    for (const int graphs : {30, 40}) {
        onnx::ModelProto deep;
        onnx::GraphProto* graph = deep.mutable_graph();
        for (int i = 0; i < graphs; i++) graph = graph->add_node()->add_attribute()->mutable_g();
        put_outside(*graph->add_initializer(), "deepest");
        const std::optional<Files> found = files_of(deep.SerializeAsString());
        EXPECT_EQ(onnx::ModelProto().ParseFromString(deep.SerializeAsString()), found.has_value()) << graphs;
        if (found) EXPECT_EQ(Files{"deepest"}, found);
    }
}

// Whatever protobuf takes, this takes; stored models have no files beside them.
TEST(ExternalFiles, OfStoredModels) {
    size_t models = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator("/usr/share/libonnx-testdata/data")) {
        if (entry.path().filename() != "model.onnx") continue;
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        EXPECT_EQ(Files{}, files_of(bytes)) << entry.path();
        models++;
    }
    EXPECT_GT(models, 1000u);
}

}  // namespace
}  // namespace sidra
