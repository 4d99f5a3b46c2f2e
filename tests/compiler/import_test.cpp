// SPDX-License-Identifier: MIT
// What the importer says about models that it cannot import, and what it makes of names, constants and functions.
#include <filesystem>
#include <fstream>
#include <random>

#include "model_builder.h"

namespace sidra {
namespace {

using onnx::TensorProto;
using tests::ModelBuilder;
using tests::Names;
using tests::Sizes;

testing::AssertionResult has(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "there is no '" << part << "' in: " << text;
}

// A model that is right: y = max(x, 0).
void add_relu(ModelBuilder& m) {
    m.input("x", {2, 3}).output("y");
    m.node("Relu", {"x"}, {"y"}).set_name("first");
}

TEST(Import, NamesAreThoseOfTheModel) {
    ModelBuilder m;
    add_relu(m);
    const std::string text = m.text();
    EXPECT_TRUE(has(text, "xnn.name = \"x\""));
    EXPECT_TRUE(has(text, "xnn.name = \"y\""));
    EXPECT_TRUE(has(text, "loc(\"first\")"));
    ModelBuilder unnamed;
    unnamed.input("x", {2}).output("y");
    unnamed.node("Abs", {"x"}, {"y"});
    EXPECT_TRUE(has(unnamed.text(), "loc(\"Abs_0\")"));
}

TEST(Import, AMultilayerPerceptron) {
    ModelBuilder m;
    m.input("x", {4, 16}).output("y");
    m.constant("w", {8, 16}).set_raw_data(std::string(8 * 16 * 4, '\1'));
    m.constant("b", {8}).set_raw_data(std::string(8 * 4, '\0'));
    ModelBuilder::attribute(m.node("Gemm", {"x", "w", "b"}, {"h"}), "transB", 1);
    m.node("Relu", {"h"}, {"y"});
    const std::string text = m.text();
    EXPECT_TRUE(has(text, "xnn.matmul"));
    EXPECT_TRUE(has(text, "tensor<4x8xf32>"));
}

TEST(Import, TheArithmeticOfShapesIsGone) {
    // As PyTorch exports x.view(x.size(0), -1).
    ModelBuilder m;
    m.input("x", {5, 2, 3}).output("y");
    m.integers("zero", {0}).clear_dims();
    m.integers("axes", {0});
    m.integers("rest", {-1});
    m.node("Shape", {"x"}, {"shape"});
    m.node("Gather", {"shape", "zero"}, {"size"});
    m.node("Unsqueeze", {"size", "axes"}, {"sizes"});
    ModelBuilder::attribute(m.node("Concat", {"sizes", "rest"}, {"wanted"}), "axis", 0);
    m.node("Reshape", {"x", "wanted"}, {"y"});
    const std::string text = m.text();
    EXPECT_TRUE(has(text, "xnn.reshape %arg0 : tensor<5x2x3xf32> -> tensor<5x6xf32>"));
    EXPECT_FALSE(has(text, "xnn.constant"));
}

// ---- Dimensions -----------------------------------------------------------------------------------------------------

TEST(Import, SymbolicDimensionsNeedASize) {
    ModelBuilder m;
    add_relu(m);
    auto* const dimensions = m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    dimensions->mutable_dim(0)->set_dim_param("batch");
    EXPECT_TRUE(has(m.error(), "give it with --dim 'batch=SIZE'"));
    m.options.dimensions["batch"] = {7};
    EXPECT_TRUE(has(m.text(), "tensor<7x3xf32>"));
    dimensions->mutable_dim(0)->clear_dim_param();
    EXPECT_TRUE(has(m.error(), "give it with --dim 'x[0]=SIZE'"));
    m.options.dimensions = {{"x[0]", {9}}};
    EXPECT_TRUE(has(m.text(), "tensor<9x3xf32>"));
}

TEST(Import, SeveralSizesGiveAFunctionForEachCombination) {
    ModelBuilder m;
    add_relu(m);
    auto* const dimensions = m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    dimensions->mutable_dim(0)->set_dim_param("batch");
    dimensions->mutable_dim(1)->set_dim_param("length");
    m.options.dimensions = {{"length", {5, 4}}, {"batch", {8, 1}}};
    const std::string text = m.text();
    size_t at = 0;
    for (const char* const function : {"@main(%arg0: tensor<8x5xf32>", "@main_1(%arg0: tensor<8x4xf32>",
                                       "@main_2(%arg0: tensor<1x5xf32>", "@main_3(%arg0: tensor<1x4xf32>"}) {
        at = text.find(function, at);
        ASSERT_NE(std::string::npos, at) << function << " is missing, or at another place, in " << text;
    }
    EXPECT_FALSE(has(text, "@main_4"));
}

TEST(Import, SizesThatMakeNoSense) {
    ModelBuilder m;
    add_relu(m);
    auto* const dimensions = m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    dimensions->mutable_dim(0)->set_dim_param("batch");
    m.options.dimensions = {{"batch", {1}}, {"bacth", {2}}};
    EXPECT_TRUE(has(m.error(), "a size for the dimension 'bacth'"));
    EXPECT_TRUE(has(m.error(), "those without are 'batch'"));
    m.options.dimensions = {{"batch", {1}}, {"x[1]", {3}}};
    EXPECT_TRUE(has(m.error(), "'x[1]'"));
    m.options.dimensions = {{"batch", {1, 2, 1}}};
    EXPECT_TRUE(has(m.error(), "the size 1 of the dimension 'batch' is given twice"));
    m.options.dimensions = {{"batch", {}}};
    EXPECT_TRUE(has(m.error(), "there is no size for the dimension 'batch'"));
    std::vector<int64_t>& sizes = m.options.dimensions["batch"];
    while (sizes.size() < compiler::kVariantsMax) sizes.push_back(static_cast<int64_t>(sizes.size()) + 1);
    EXPECT_EQ("(imported)", m.error());
    sizes.push_back(1000);
    EXPECT_TRUE(has(m.error(), "more than 64 combinations"));
    dimensions->mutable_dim(0)->set_dim_value(2);
    m.options.dimensions = {{"batch", {2}}};
    EXPECT_TRUE(has(m.error(), "all sizes are in the model"));
}

TEST(Import, ANetworkHasOutputs) {
    ModelBuilder m;
    m.input("x", {2});
    EXPECT_TRUE(has(m.error(), "the network has no outputs, so there is nothing to compute"));
}

TEST(Import, InputsThatTheChipDoesNotHave) {
    ModelBuilder doubles;
    doubles.input("x", {2}, TensorProto::DOUBLE).output("x");
    EXPECT_TRUE(has(doubles.error(), "float64; export the model with float32"));
    ModelBuilder text;
    text.input("x", {2}, TensorProto::STRING).output("x");
    EXPECT_TRUE(has(text.error(), "string"));
    ModelBuilder unknown;
    unknown.input("x", {2}, 12345).output("x");
    EXPECT_TRUE(has(unknown.error(), "12345"));
    ModelBuilder sequence;
    add_relu(sequence);
    sequence.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
    EXPECT_TRUE(has(sequence.error(), "the input 'x' is no tensor"));
    ModelBuilder shapeless;
    add_relu(shapeless);
    shapeless.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    EXPECT_TRUE(has(shapeless.error(), "the input 'x' has no shape"));
}

TEST(Import, SizesBeyondAllMemory) {
    for (const Sizes& shape :
         {Sizes{int64_t{1} << 40, int64_t{1} << 40}, Sizes{INT64_MAX}, Sizes{INT64_MAX, 0, INT64_MAX}, Sizes(40, 1)}) {
        ModelBuilder m;
        m.input("x", shape).output("y");
        m.node("Relu", {"x"}, {"y"});
        EXPECT_TRUE(has(m.error(), "the input 'x' cannot be imported"));
    }
}

TEST(Import, InputsWithAValue) {
    ModelBuilder m;
    m.input("x", {2, 3}).input("shape", {2}, TensorProto::INT64).output("y");
    m.node("Reshape", {"x", "shape"}, {"y"});
    const auto write = [&](int type, const std::string& bytes) {
        TensorProto tensor;
        tensor.set_data_type(type);
        tensor.add_dims(static_cast<int64_t>(bytes.size() / 8));
        tensor.set_raw_data(bytes);
        std::ofstream file(m.folder / "shape.pb", std::ios::binary);
        EXPECT_TRUE(tensor.SerializeToOstream(&file));
    };
    m.options.values["shape"] = m.folder / "shape.pb";
    EXPECT_TRUE(has(m.error(), "shape.pb' is no file"));
    write(TensorProto::INT64, std::string("\3\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16));
    EXPECT_TRUE(has(m.text(), "tensor<3x2xf32>"));
    write(TensorProto::INT32, std::string(8, '\1'));
    EXPECT_TRUE(has(m.error(), "has another type than the input 'shape'"));
    std::ofstream(m.folder / "shape.pb", std::ios::binary) << "\xff\xff";
    EXPECT_TRUE(has(m.error(), "is no tensor in ONNX's format"));
    m.options.values["other"] = m.folder / "shape.pb";
    m.options.values.erase("shape");
    EXPECT_TRUE(has(m.error(), "the model has no input 'other'"));
}

// ---- Nodes ----------------------------------------------------------------------------------------------------------

TEST(Import, ErrorsNameFileNodeAndOperatorSet) {
    ModelBuilder m(13);
    m.input("x", {2, 3}).input("z", {2, 4}).output("y");
    m.node("Add", {"x", "z"}, {"y"}).set_name("sum");
    EXPECT_TRUE(has(m.error(), "model.onnx: node 'sum' ('Add', operator set 13): a tensor of 2 x 4 elements"));
}

TEST(Import, OperatorsThatAreNotThere) {
    const auto error = [](const char* op, const char* domain, int64_t set) {
        ModelBuilder m(set);
        m.input("x", {2}).output("y");
        m.node(op, {"x"}, {"y"}).set_domain(domain);
        return m.error();
    };
    EXPECT_TRUE(has(error("NoSuchThing", "", 13), "the operator is not supported"));
    EXPECT_TRUE(has(error("RandomNormalLike", "", 13), "random numbers are not supported"));
    EXPECT_TRUE(has(error("Relu", "com.example", 13), "operators of this domain are not supported"));
    EXPECT_TRUE(has(error("Relu", "ai.onnx.preview.training", 13), "the operator is not supported"));
    EXPECT_TRUE(has(error("Gradient", "ai.onnx.preview.training", 13), "the compiler derives no gradients"));
    EXPECT_TRUE(has(error("Gelu", "", 13), "supported in the operator sets 20 to 21"));
    EXPECT_TRUE(has(error("Relu", "", 22), "operator set 22 is not known"));
    EXPECT_TRUE(has(error("Relu", "", -1), "operator set -1 is not known"));
    EXPECT_EQ(error("Relu", "ai.onnx", 13), "(imported)");
}

TEST(Import, NamesThatMeanNothingOrTwoThings) {
    ModelBuilder missing;
    missing.input("x", {2}).output("y");
    missing.node("Relu", {"other"}, {"y"});
    EXPECT_TRUE(has(missing.error(), "nothing before it computes its input 'other'"));
    ModelBuilder twice;
    add_relu(twice);
    twice.node("Abs", {"x"}, {"y"});
    EXPECT_TRUE(has(twice.error(), "there are two values 'y'"));
    ModelBuilder output;
    add_relu(output);
    output.output("z");
    EXPECT_TRUE(has(output.error(), "nothing computes the output 'z'"));
    ModelBuilder constants;
    add_relu(constants);
    constants.integers("c", {1});
    constants.integers("c", {2});
    EXPECT_TRUE(has(constants.error(), "there are two constants 'c'"));
    ModelBuilder none;
    none.input("x", {2}).output("y");
    none.node("Add", {"x"}, {"y"});
    EXPECT_TRUE(has(none.error(), "input 1 is missing"));
}

TEST(Import, NamesCannotCommandTheTerminal) {
    ModelBuilder m;
    m.input("x", {2}).output("y");
    m.node("Foo", {"x"}, {"y"}).set_name("\x1b[2J" + std::string(1000, 'n'));
    EXPECT_FALSE(has(m.error(), "\x1b"));
    EXPECT_LT(m.error().size(), 600u);
}

TEST(Import, AttributesThatAreWrong) {
    ModelBuilder absent;
    absent.input("x", {2}).output("y");
    absent.node("Concat", {"x"}, {"y"});
    EXPECT_TRUE(has(absent.error(), "the attribute axis is missing"));
    ModelBuilder type;
    type.input("x", {2}).output("y");
    ModelBuilder::attribute(type.node("Concat", {"x"}, {"y"}), "axis", Sizes{0});
    EXPECT_TRUE(has(type.error(), "the attribute axis has the wrong type"));
    ModelBuilder axis;
    axis.input("x", {2}).output("y");
    ModelBuilder::attribute(axis.node("Concat", {"x"}, {"y"}), "axis", INT64_MIN);
    EXPECT_TRUE(has(axis.error(), "there is no axis -9223372036854775808"));
}

TEST(Import, WhatMustBeConstant) {
    ModelBuilder m;
    m.input("x", {2, 3}).input("shape", {2}, TensorProto::INT64).output("y");
    m.node("Reshape", {"x", "shape"}, {"y"});
    EXPECT_TRUE(has(m.error(), "shape (input 1) must be a constant"));
}

TEST(Import, WindowsThatDoNotFit) {
    const auto error = [](const char* name, const Sizes& numbers, const Sizes& shape = {1, 3, 8, 8}) {
        ModelBuilder m;
        m.input("x", shape).output("y");
        onnx::NodeProto& node = m.node("MaxPool", {"x"}, {"y"});
        if (std::string_view(name) != "kernel_shape") ModelBuilder::attribute(node, "kernel_shape", Sizes{2, 2});
        ModelBuilder::attribute(node, name, numbers);
        return m.error();
    };
    EXPECT_EQ(error("strides", {2, 2}), "(imported)");
    EXPECT_TRUE(has(error("strides", {0, 2}), "a stride is 0"));
    EXPECT_TRUE(has(error("strides", {2}), "strides has 1 numbers for 2 dimensions"));
    EXPECT_TRUE(has(error("kernel_shape", {9, 9}), "no window of 9 x 9 elements fits"));
    EXPECT_TRUE(has(error("kernel_shape", {INT64_MAX, 1}), "a size of the kernel is 9223372036854775807"));
    EXPECT_TRUE(has(error("pads", {-1, 0, 0, 0}), "a number of pads is -1"));
    EXPECT_TRUE(has(error("pads", {2, 0, 0, 0}), "no pixel of the image"));
    EXPECT_TRUE(has(error("strides", {2, 2}, {1, 3, 4, 8, 8}), "kernel_shape has 2 numbers for 3 dimensions"));
    EXPECT_TRUE(has(error("strides", {2, 2}, {1, 3}), "images have at least three dimensions"));
}

// ---- Constants ------------------------------------------------------------------------------------------------------

std::string error_of_constant(void (*change)(TensorProto&)) {
    ModelBuilder m;
    m.input("x", {2}).output("y");
    TensorProto& tensor = m.constant("c", {2});
    tensor.set_raw_data(std::string(8, '\0'));
    change(tensor);
    m.node("Add", {"x", "c"}, {"y"});
    return m.error();
}

TEST(Import, ConstantsThatAreNotWhatTheySay) {
    EXPECT_EQ(error_of_constant([](TensorProto&) {}), "(imported)");
    EXPECT_TRUE(has(error_of_constant([](TensorProto& t) { t.set_raw_data("abc"); }), "has 3 bytes instead of 8"));
    EXPECT_TRUE(has(error_of_constant([](TensorProto& t) { t.set_dims(0, -2); }), "a dimension of -2 elements"));
    EXPECT_TRUE(has(error_of_constant([](TensorProto& t) {
                        t.set_dims(0, int64_t{1} << 62);
                        t.add_dims(8);
                    }),
                    "is too large"));
    EXPECT_TRUE(has(error_of_constant([](TensorProto& t) {
                        t.clear_raw_data();
                        t.add_float_data(1);
                    }),
                    "has 4 bytes instead of 8"));
    EXPECT_TRUE(has(error_of_constant([](TensorProto& t) { t.set_data_type(TensorProto::DOUBLE); }), "float64"));
    EXPECT_TRUE(has(error_of_constant([](TensorProto& t) { t.mutable_segment(); }), "segments"));
}

TEST(Import, BigConstantsGoToTheStore) {
    ModelBuilder m;
    m.input("x", {256}).output("y");
    std::string bytes(1024, '\0');
    for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<char>(i * 37);
    m.constant("weights", {256}).set_raw_data(bytes);
    m.node("Add", {"x", "weights"}, {"y"});
    const auto module = m.import();
    std::string found;
    mlir::ModuleOp(*module).walk([&](xnn::ConstantOp op) {
        const auto values = mlir::cast<xnn::ValuesAttr>(op.getValue());
        EXPECT_EQ(values.getName(), "weights");
        const compiler::Bytes stored = m.store.find(values.getHash().str());
        found.assign(reinterpret_cast<const char*>(stored.data()), stored.size());
    });
    EXPECT_EQ(found, bytes);
}

class ExternalData : public testing::Test {
   protected:
    void SetUp() override {
        m.input("x", {2}).output("y");
        TensorProto& tensor = m.constant("c", {2});
        tensor.set_data_location(TensorProto::EXTERNAL);
        set("location", "data.bin");
        m.node("Add", {"x", "c"}, {"y"});
        const float numbers[] = {1, 2, 3, 4};
        std::ofstream(m.folder / "data.bin", std::ios::binary)
            .write(reinterpret_cast<const char*>(numbers), sizeof numbers);
    }
    void set(const std::string& key, const std::string& value) {
        auto& entries = *m.graph().mutable_initializer(0)->mutable_external_data();
        for (auto& one : entries)
            if (one.key() == key) {
                one.set_value(value);
                return;
            }
        auto* const entry = entries.Add();
        entry->set_key(key);
        entry->set_value(value);
    }
    ModelBuilder m;
};

TEST_F(ExternalData, IsRead) {
    set("offset", "4");
    set("length", "8");
    EXPECT_TRUE(has(m.text(), "dense<[2.000000e+00, 3.000000e+00]>"));
}

TEST_F(ExternalData, StaysBesideTheModel) {
    for (const char* const location : {"../data.bin", "/etc/passwd", "a/../../data.bin", ""}) {
        set("location", location);
        EXPECT_TRUE(has(m.error(), "which is not beside the model")) << location;
    }
    set("location", std::string("data.bin\0.txt", 13));
    EXPECT_TRUE(has(m.error(), "which is not beside the model"));
    set("location", ".");
    EXPECT_TRUE(has(m.error(), "which is no file"));
    set("location", "absent.bin");
    EXPECT_TRUE(has(m.error(), "which is no file"));
}

TEST_F(ExternalData, StaysInItsFile) {
    for (const char* const offset : {"9", "16", "18446744073709551615"}) {
        set("offset", offset);
        EXPECT_TRUE(has(m.error(), "in a file of 16")) << offset;
    }
    for (const char* const offset : {"-1", "x", "", "99999999999999999999"}) {
        set("offset", offset);
        EXPECT_TRUE(has(m.error(), "instead of a number")) << offset;
    }
    set("offset", "0");
    set("length", "16");
    EXPECT_TRUE(has(m.error(), "needs 8 bytes, but its external data has 16 bytes"));
}

// ---- Functions ------------------------------------------------------------------------------------------------------

onnx::FunctionProto& add_function(ModelBuilder& m, const std::string& name) {
    onnx::FunctionProto& function = *m.model.add_functions();
    function.set_name(name);
    function.set_domain("own");
    function.add_opset_import()->set_version(17);
    function.add_input("a");
    function.add_output("b");
    return function;
}

TEST(Import, FunctionsOfTheModel) {
    ModelBuilder m;
    m.input("x", {2, 3}).output("y");
    onnx::NodeProto& call = m.node("Turned", {"x"}, {"y"});
    call.set_domain("own");
    ModelBuilder::attribute(call, "order", Sizes{1, 0});
    onnx::FunctionProto& function = add_function(m, "Turned");
    function.add_attribute("order");
    auto* const perm = ModelBuilder::add_node(*function.add_node(), "Transpose", {"a"}, {"b"}).add_attribute();
    perm->set_name("perm");
    perm->set_ref_attr_name("order");
    perm->set_type(onnx::AttributeProto::INTS);
    EXPECT_TRUE(has(m.text(), "xnn.transpose %arg0 [1, 0]"));
}

TEST(Import, FunctionsThatCallThemselves) {
    ModelBuilder m;
    m.input("x", {2}).output("y");
    m.node("F", {"x"}, {"y"}).set_domain("own");
    ModelBuilder::add_node(*add_function(m, "F").add_node(), "F", {"a"}, {"b"}).set_domain("own");
    EXPECT_TRUE(has(m.error(), "call each other more than 32 times"));
}

TEST(Import, FunctionsThatDoubleTheirSize) {
    ModelBuilder m;
    m.input("x", {2}).output("y");
    m.node("F0", {"x"}, {"y"}).set_domain("own");
    for (int i = 0; i < 30; i++) {
        onnx::FunctionProto& function = add_function(m, fmt::format("F{}", i));
        const std::string next = i == 29 ? "Relu" : fmt::format("F{}", i + 1);
        const std::string domain = i == 29 ? "" : "own";
        ModelBuilder::add_node(*function.add_node(), next, {"a"}, {"c"}).set_domain(domain);
        ModelBuilder::add_node(*function.add_node(), next, {"c"}, {"b"}).set_domain(domain);
    }
    EXPECT_TRUE(has(m.error(), "the model has more than 1048576 nodes"));
}

// ---- Small files that describe much
// -----------------------------------------------------------------------------------

TEST(Import, ResultsBeyondAllMemory) {
    const auto error = [](const char* op, const Sizes& numbers, const Sizes& shape = {2}) {
        ModelBuilder m;
        m.input("x", shape).output("y");
        m.integers("n", numbers);
        m.node(op, {"x", "n"}, {"y"});
        return m.error();
    };
    EXPECT_TRUE(has(error("Expand", {int64_t{1} << 50, 2}), "is too large"));
    EXPECT_TRUE(has(error("Expand", {INT64_MIN, 2}), "elements"));
    EXPECT_TRUE(has(error("Tile", {int64_t{1} << 60}), "is too large"));
    EXPECT_TRUE(has(error("Tile", {INT64_MAX}), "is repeated 9223372036854775807 times"));
    EXPECT_TRUE(has(error("Pad", {int64_t{1} << 62, int64_t{1} << 62}), "is impossible"));
    EXPECT_TRUE(has(error("Pad", {INT64_MIN, INT64_MIN}), "is impossible"));
    EXPECT_TRUE(has(error("Pad", {-1, -1, -1}), "pads must have two numbers"));
    EXPECT_TRUE(has(error("Reshape", {-1, INT64_MAX, 4}), "the new shape is"));
    EXPECT_TRUE(has(error("Reshape", {-1, -1}), "the new shape is"));
    EXPECT_TRUE(has(error("Reshape", {-1, 0}, {0, 0}), "do not fill rows of 0"));
}

TEST(Import, RangesAndSlicesAtTheEdgeOfInt64) {
    ModelBuilder range;
    range.output("y");
    for (const auto& [name, number] :
         {std::pair("a", INT64_MIN), std::pair("b", INT64_MAX), std::pair("c", int64_t{1})})
        range.integers(name, {number}).clear_dims();
    range.node("Range", {"a", "b", "c"}, {"y"});
    EXPECT_TRUE(has(range.error(), "the range has more than"));
    for (const int64_t start : {INT64_MIN, INT64_MAX, int64_t{0}})
        for (const int64_t end : {INT64_MIN, INT64_MAX})
            for (const int64_t step : {INT64_MIN, INT64_MAX, int64_t{-1}, int64_t{1}}) {
                ModelBuilder slice;
                slice.input("x", {5}).output("y");
                slice.integers("starts", {start});
                slice.integers("ends", {end});
                slice.integers("axes", {0});
                slice.integers("steps", {step});
                slice.node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
                EXPECT_EQ(slice.error(), "(imported)") << start << ' ' << end << ' ' << step;
            }
}

TEST(Import, SequencesThatAreTooLong) {
    ModelBuilder m;
    m.input("x", {100000, 1, 1}).output("y");
    m.constant("w", {1, 1, 1}).add_float_data(1);
    m.constant("r", {1, 1, 1}).add_float_data(1);
    m.node("RNN", {"x", "w", "r"}, {"y"});
    EXPECT_TRUE(has(m.error(), "the sequence has 100000 steps"));
}

TEST(Import, ConstantsThatGrow) {
    // Each node makes 2^16 other elements, which the context would keep for ever.
    ModelBuilder m;
    m.output("y");
    m.integers("one", {1});
    m.integers("start", {0}).clear_dims();
    m.integers("end", {1 << 16}).clear_dims();
    m.integers("delta", {1}).clear_dims();
    m.node("Range", {"start", "end", "delta"}, {"r0"});
    for (int i = 0; i < 3000; i++) m.node("Add", {fmt::format("r{}", i), "one"}, {fmt::format("r{}", i + 1)});
    m.node("Identity", {"r3000"}, {"y"});
    EXPECT_TRUE(has(m.error(), "elements of constants"));
}

// ---- Files that are no models
// -----------------------------------------------------------------------------------------

std::string error_of_file(ModelBuilder& m, const std::filesystem::path& path) {
    try {
        import_onnx(m.context, m.store, path);
    } catch (const compiler::ImportError& error) {
        return error.what();
    }
    return "(imported)";
}

TEST(Import, FilesThatAreNoModels) {
    ModelBuilder m;
    EXPECT_TRUE(has(error_of_file(m, m.folder / "absent.onnx"), "absent.onnx' is no file"));
    EXPECT_TRUE(has(error_of_file(m, m.folder), "is no file"));
    const std::filesystem::path path = m.folder / "garbage.onnx";
    for (const char* const text : {"", "ONNX", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}) {
        std::ofstream(path, std::ios::binary) << text;
        EXPECT_TRUE(has(error_of_file(m, path), "this is no ONNX model"));
    }
}

// Bytes of ONNX's own test models change at random: each result is a module or an error.
TEST(Import, DamagedModels) {
    const std::filesystem::path data = "/usr/share/libonnx-testdata/data/node";
    ASSERT_TRUE(std::filesystem::exists(data)) << "install libonnx-testdata";
    constexpr int kChanges = 8;
    std::mt19937 random(1);
    size_t imported = 0, refused = 0;
    ModelBuilder m;
    const std::filesystem::path path = m.folder / "damaged.onnx";
    for (const auto& entry : std::filesystem::directory_iterator(data)) {
        std::ifstream file(entry.path() / "model.onnx", std::ios::binary);
        const std::string model((std::istreambuf_iterator<char>(file)), {});
        if (model.empty() || model.size() > 4096) continue;
        mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
        context.loadDialect<mlir::func::FuncDialect, xnn::XnnDialect>();
        for (int i = 0; i < kChanges; i++) {
            std::string damaged = model;
            for (int change = 0; change < 1 + i % 8 / 2; change++)
                damaged[random() % damaged.size()] = static_cast<char>(random());
            if (i % 8 == 7) damaged.resize(random() % damaged.size());
            std::ofstream(path, std::ios::binary) << damaged;
            compiler::Store store;
            try {
                import_onnx(context, store, path);
                imported++;
            } catch (const compiler::ImportError&) {
                refused++;
            }
        }
    }
    EXPECT_GT(imported, 100u);
    EXPECT_GT(refused, 100u);
}

TEST(Import, TheListOfOperators) {
    const std::string list = compiler::supported_operators();
    EXPECT_TRUE(has(list, "Add 1-21\n"));
    EXPECT_TRUE(has(list, "LSTM 7-21\n"));
    EXPECT_FALSE(has(list, "SequenceAt"));
}

}  // namespace
}  // namespace sidra
