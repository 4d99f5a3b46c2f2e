// SPDX-License-Identifier: MIT
// The networks with which the fuzzer of the front end begins (tests/fuzz/onnx_fuzz.cpp). SIDRA_WRITE_SEEDS=1 writes
// them.
#include <cstdlib>
#include <functional>
#include <iterator>

#include "model_builder.h"
#include "paths.h"

namespace sidra {
namespace {

using onnx::TensorProto;
using tests::ModelBuilder;
using tests::Sizes;

void weights(ModelBuilder& m, const std::string& name, const Sizes& shape) {
    TensorProto& tensor = m.constant(name, shape);
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    for (int64_t i = 0; i < count; i++) tensor.add_float_data(static_cast<float>(i % 7) - 3);
}

onnx::GraphProto& graph(onnx::NodeProto& node, const std::string& name) {
    auto* const attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    return *attribute->mutable_g();
}

void text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
    auto* const attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(value);
}

void perceptron(ModelBuilder& m) {
    m.input("x", {2, 4}).output("y");
    weights(m, "w", {3, 4});
    weights(m, "b", {3});
    ModelBuilder::attribute(m.node("Gemm", {"x", "w", "b"}, {"h"}), "transB", 1);
    m.node("Relu", {"h"}, {"r"});
    ModelBuilder::attribute(m.node("Softmax", {"r"}, {"y"}), "axis", -1);
}

void convolutions(ModelBuilder& m) {
    m.input("x", {1, 2, 6, 6}).output("y");
    weights(m, "w", {2, 1, 3, 3});
    weights(m, "v", {2});
    onnx::NodeProto& conv = m.node("Conv", {"x", "w"}, {"c"});
    ModelBuilder::attribute(conv, "group", 2);
    ModelBuilder::attribute(conv, "pads", Sizes{1, 1, 1, 1});
    m.node("Abs", {"v"}, {"variance"});
    m.node("BatchNormalization", {"c", "v", "v", "v", "variance"}, {"n"});
    onnx::NodeProto& pool = m.node("MaxPool", {"n"}, {"p", "places"});
    ModelBuilder::attribute(pool, "kernel_shape", Sizes{2, 2});
    ModelBuilder::attribute(pool, "strides", Sizes{2, 2});
    ModelBuilder::attribute(m.node("MaxUnpool", {"p", "places"}, {"u"}), "kernel_shape", Sizes{2, 2});
    m.graph().mutable_node(4)->add_attribute()->CopyFrom(pool.attribute(1));
    ModelBuilder::attribute(m.node("ConvTranspose", {"u", "w"}, {"y"}), "group", 2);
}

void three_dimensions(ModelBuilder& m) {
    m.input("x", {1, 1, 3, 3, 3}).output("y");
    weights(m, "w", {1, 1, 2, 2, 2});
    m.node("Conv", {"x", "w"}, {"c"});
    ModelBuilder::attribute(m.node("AveragePool", {"c"}, {"y"}), "kernel_shape", Sizes{2, 2, 2});
}

void attention(ModelBuilder& m) {
    m.input("q", {2, 3, 4}).input("k", {2, 3, 4}).output("y");
    ModelBuilder::attribute(m.node("Transpose", {"k"}, {"t"}), "perm", Sizes{0, 2, 1});
    m.node("MatMul", {"q", "t"}, {"scores"});
    ModelBuilder::attribute(m.node("Softmax", {"scores"}, {"p"}), "axis", -1);
    m.node("MatMul", {"p", "q"}, {"sum"});
    weights(m, "scale", {4});
    m.node("LayerNormalization", {"sum", "scale"}, {"y"});
}

void recurrent(ModelBuilder& m) {
    m.input("x", {2, 1, 2}).output("y");
    weights(m, "w", {1, 8, 2});
    weights(m, "r", {1, 8, 2});
    ModelBuilder::attribute(m.node("LSTM", {"x", "w", "r"}, {"y"}), "hidden_size", 2);
}

void shapes(ModelBuilder& m) {
    m.input("x", {2, 3, 4}).output("y");
    m.integers("first", {0});
    m.integers("one", {1});
    m.integers("rest", {-1});
    m.node("Shape", {"x"}, {"shape"});
    m.node("Gather", {"shape", "first"}, {"size"});
    ModelBuilder::attribute(m.node("Concat", {"size", "rest"}, {"wanted"}), "axis", 0);
    m.node("Reshape", {"x", "wanted"}, {"rows"});
    m.node("Slice", {"rows", "one", "rest", "one"}, {"part"});
    m.node("Expand", {"part", "one"}, {"wide"});
    m.node("Unsqueeze", {"wide", "first"}, {"y"});
}

void indices(ModelBuilder& m) {
    m.input("x", {3, 4}).input("i", {2}, TensorProto::INT64).input("j", {1, 1}, TensorProto::INT64).output("y");
    m.integers("k", {2});
    m.node("Gather", {"x", "i"}, {"g"});
    m.node("TopK", {"g", "k"}, {"v", "p"});
    m.node("CumSum", {"v", "k0"}, {"c"});
    m.integers("k0", {1}).clear_dims();
    m.node("GatherElements", {"c", "p"}, {"e"});
    m.node("ScatterElements", {"e", "p", "v"}, {"s"});
    m.node("Trilu", {"s"}, {"t"});
    m.node("ReduceMax", {"t"}, {"r"});
    m.node("ScatterND", {"x", "j", "row"}, {"y"});
    weights(m, "row", {1, 4});
    m.output("r");
}

void branches(ModelBuilder& m) {
    m.input("x", {2}).input("c", {}, TensorProto::BOOL).output("y");
    onnx::NodeProto& node = m.node("If", {"c"}, {"y"});
    onnx::GraphProto& yes = graph(node, "then_branch");
    ModelBuilder::add_node(*yes.add_node(), "Neg", {"x"}, {"n"});
    yes.add_output()->set_name("n");
    graph(node, "else_branch").add_output()->set_name("x");
}

void loops(ModelBuilder& m) {
    m.input("x", {3, 2}).output("y").output("z");
    m.integers("steps", {3});
    onnx::NodeProto& loop = m.node("Loop", {"steps", "", "x"}, {"l"});
    onnx::GraphProto& body = graph(loop, "body");
    ModelBuilder::add_node(*body.add_node(), "Add", {"s", "s"}, {"t"});
    for (const char* const name : {"i", "c", "s"}) body.add_input()->set_name(name);
    for (const char* const name : {"c", "t"}) body.add_output()->set_name(name);
    weights(m, "start", {2});
    onnx::NodeProto& scan = m.node("Scan", {"start", "l"}, {"z", "y"});
    ModelBuilder::attribute(scan, "num_scan_inputs", 1);
    onnx::GraphProto& each = graph(scan, "body");
    ModelBuilder::add_node(*each.add_node(), "Mul", {"s", "e"}, {"t"});
    for (const char* const name : {"s", "e"}) each.add_input()->set_name(name);
    for (const char* const name : {"t", "e"}) each.add_output()->set_name(name);
}

void signals(ModelBuilder& m) {
    m.input("x", {1, 8, 1}).output("y").output("d");
    m.integers("size", {4}).clear_dims();
    m.node("HannWindow", {"size"}, {"w"});
    m.node("STFT", {"x", "size", "w"}, {"y"});
    ModelBuilder::attribute(m.node("DFT", {"x"}, {"d"}), "onesided", 1);
}

void quantised(ModelBuilder& m) {
    m.input("x", {2, 4}).output("y");
    weights(m, "scale", {});
    m.node("DynamicQuantizeLinear", {"x"}, {"q", "s", "z"});
    m.node("Transpose", {"q"}, {"t"});
    m.node("MatMulInteger", {"q", "t", "z", "z"}, {"i"});
    m.node("Pow", {"i", "i"}, {"p"});
    m.node("MatMul", {"p", "i"}, {"l"});
    m.node("DequantizeLinear", {"l", "s"}, {"y"});
}

void sampling(ModelBuilder& m) {
    m.input("x", {1, 1, 3, 3}).input("g", {1, 2, 2, 2}).output("y").output("r");
    text(m.node("GridSample", {"x", "g"}, {"y"}), "padding_mode", "reflection");
    m.constant("scales", {4}).set_raw_data(std::string("\0\0\x80\x3f\0\0\x80\x3f\0\0\0\x40\0\0\0\x40", 16));
    text(m.node("Resize", {"x", "", "scales"}, {"r"}), "mode", "linear");
}

void functions(ModelBuilder& m) {
    m.input("x", {2, 3}).output("y").output("e");
    m.node("Twice", {"x"}, {"y"}).set_domain("own");
    onnx::FunctionProto& function = *m.model.add_functions();
    function.set_name("Twice");
    function.set_domain("own");
    function.add_opset_import()->set_version(17);
    function.add_input("a");
    function.add_output("b");
    ModelBuilder::add_node(*function.add_node(), "Add", {"a", "a"}, {"b"});
    text(m.node("Einsum", {"x", "y"}, {"e"}), "equation", "ij,kj->ik");
}

TEST(Seeds, OfTheFuzzerAreNetworks) {
    const std::pair<const char*, void (*)(ModelBuilder&)> all[] = {{"attention", attention},
                                                                   {"branches", branches},
                                                                   {"convolutions", convolutions},
                                                                   {"functions", functions},
                                                                   {"indices", indices},
                                                                   {"loops", loops},
                                                                   {"perceptron", perceptron},
                                                                   {"quantised", quantised},
                                                                   {"recurrent", recurrent},
                                                                   {"sampling", sampling},
                                                                   {"shapes", shapes},
                                                                   {"signals", signals},
                                                                   {"three-dimensions", three_dimensions}};
    for (const auto& [name, make] : all) {
        ModelBuilder m;
        make(m);
        EXPECT_EQ(m.error(), "(imported)") << name;
        const std::string seed = m.model.SerializeAsString();
        const std::string path = sidra::test::source_file("tests/fuzz/corpus/onnx/seed-") + name;
        if (std::getenv("SIDRA_WRITE_SEEDS") != nullptr) std::ofstream(path, std::ios::binary) << seed;
        std::ifstream stored(path, std::ios::binary);
        EXPECT_EQ(seed, std::string(std::istreambuf_iterator<char>(stored), {})) << name;
    }
}

}  // namespace
}  // namespace sidra
