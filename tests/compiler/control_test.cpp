// SPDX-License-Identifier: MIT
// Graphs inside of nodes: branches, and loops that are written out.
#include "interpret.h"
#include "model_builder.h"

namespace sidra {
namespace {

using onnx::TensorProto;
using tests::ModelBuilder;
using tests::Names;
using xnn::Elements;

testing::AssertionResult has(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "there is no '" << part << "' in: " << text;
}

onnx::GraphProto& graph(onnx::NodeProto& node, const std::string& name) {
    auto* const attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    attribute->mutable_g()->set_name(name);
    return *attribute->mutable_g();
}

onnx::NodeProto& add(onnx::GraphProto& to, const std::string& op, const Names& inputs, const Names& outputs) {
    return ModelBuilder::add_node(*to.add_node(), op, inputs, outputs);
}

void finish(onnx::GraphProto& graph, const Names& inputs, const Names& outputs) {
    for (const std::string& name : inputs) graph.add_input()->set_name(name);
    for (const std::string& name : outputs) graph.add_output()->set_name(name);
}

void scalar(ModelBuilder& m, const std::string& name, int64_t number, int type = TensorProto::INT64) {
    TensorProto& tensor = m.constant(name, {}, type);
    if (type == TensorProto::INT64) tensor.add_int64_data(number);
    else tensor.add_int32_data(static_cast<int32_t>(number));
}

std::vector<float> run(ModelBuilder& m, const std::vector<std::vector<float>>& inputs, size_t output = 0) {
    const auto module = m.import();
    auto function = mlir::ModuleOp(*module).lookupSymbol<mlir::func::FuncOp>("main");
    std::vector<Elements> values;
    for (unsigned i = 0; i < inputs.size(); i++) {
        const auto type = mlir::cast<mlir::RankedTensorType>(function.getArgument(i).getType());
        if (mlir::isa<mlir::FloatType>(type.getElementType())) values.push_back({type, inputs[i]});
        else values.push_back({type, Elements::Integers(inputs[i].begin(), inputs[i].end())});
    }
    return std::get<Elements::Floats>(tests::interpret(*module, m.store, values).at(output).numbers);
}

// y = condition ? x + x : -x
void add_branches(ModelBuilder& m) {
    onnx::NodeProto& node = m.node("If", {"condition"}, {"y"});
    onnx::GraphProto& yes = graph(node, "then_branch");
    add(yes, "Add", {"x", "x"}, {"twice"});
    finish(yes, {}, {"twice"});
    onnx::GraphProto& no = graph(node, "else_branch");
    add(no, "Neg", {"x"}, {"minus"});
    finish(no, {}, {"minus"});
}

TEST(Control, ABranchIsChosenInARun) {
    ModelBuilder m;
    m.input("x", {2}).input("condition", {}, TensorProto::BOOL).output("y");
    add_branches(m);
    EXPECT_EQ(run(m, {{1, 2}, {1}}), (std::vector<float>{2, 4}));
    EXPECT_EQ(run(m, {{1, 2}, {0}}), (std::vector<float>{-1, -2}));
}

TEST(Control, ABranchThatIsKnownIsTheOnlyOne) {
    for (const bool condition : {false, true}) {
        ModelBuilder m;
        m.input("x", {2}).output("y");
        scalar(m, "condition", condition, TensorProto::BOOL);
        add_branches(m);
        const std::string text = m.text();
        EXPECT_EQ(condition, text.find("xnn.binary add") != std::string::npos);
        EXPECT_EQ(condition, text.find("xnn.unary neg") == std::string::npos);
    }
}

TEST(Control, BranchesThatAreRefused) {
    ModelBuilder shapes;
    shapes.input("x", {2}).input("condition", {}, TensorProto::BOOL).output("y");
    onnx::NodeProto& node = shapes.node("If", {"condition"}, {"y"});
    finish(graph(node, "then_branch"), {}, {"x"});
    onnx::GraphProto& no = graph(node, "else_branch");
    add(no, "Size", {"x"}, {"size"});
    finish(no, {}, {"size"});
    EXPECT_TRUE(has(shapes.error(), "the shape of result 0 depends on the condition (input 0), so it must be a"));
    ModelBuilder count;
    count.input("x", {2}).input("condition", {}, TensorProto::BOOL).output("y");
    onnx::NodeProto& other = count.node("If", {"condition"}, {"y"});
    finish(graph(other, "then_branch"), {}, {"x"});
    finish(graph(other, "else_branch"), {}, {});
    EXPECT_TRUE(has(count.error(), "the branches have 1 and 0 results"));
    ModelBuilder none;
    none.input("x", {2}).input("condition", {}, TensorProto::BOOL).output("y");
    none.node("If", {"condition"}, {"y"});
    EXPECT_TRUE(has(none.error(), "the attribute then_branch is missing"));
    ModelBuilder wide;
    wide.input("condition", {2}, TensorProto::BOOL).output("y");
    wide.node("If", {"condition"}, {"y"});
    EXPECT_TRUE(has(wide.error(), "the condition must be one element"));
    ModelBuilder inside;
    inside.input("x", {2}).input("condition", {}, TensorProto::BOOL).output("y");
    onnx::NodeProto& outer = inside.node("If", {"condition"}, {"y"});
    onnx::GraphProto& wrong = graph(outer, "then_branch");
    add(wrong, "NoSuchThing", {"x"}, {"z"}).set_name("inner");
    finish(wrong, {}, {"z"});
    EXPECT_TRUE(has(inside.error(), "'If', operator set 17): node 'inner' ('NoSuchThing'"));
    wrong.mutable_node(0)->set_op_type("Neg");
    wrong.mutable_output(0)->set_name("nothing");
    EXPECT_TRUE(has(inside.error(), "nothing computes the output 'nothing' of the graph 'then_branch'"));
    finish(wrong, {"input"}, {});
    EXPECT_TRUE(has(inside.error(), "the graph 'then_branch' has 1 inputs instead of 0"));
}

// sum, sums = loop: sum += x[step]; until the step is `last`
void add_loop(ModelBuilder& m) {
    onnx::NodeProto& node = m.node("Loop", {"steps", "going", "zero"}, {"sum", "sums"});
    onnx::GraphProto& body = graph(node, "body");
    add(body, "Gather", {"x", "step"}, {"element"});
    add(body, "Add", {"before", "element"}, {"after"});
    add(body, "Less", {"step", "last"}, {"again"});
    add(body, "Identity", {"after"}, {"copy"});
    finish(body, {"step", "condition", "before"}, {"again", "after", "copy"});
}

TEST(Control, ALoopIsWrittenOut) {
    for (const auto& [steps, last, wanted] :
         {std::tuple{4, 9, std::vector<float>{1, 3, 6, 10}}, {9, 2, {1, 3, 6}}, {1, 5, {1}}}) {
        ModelBuilder m;
        m.input("x", {4}).output("sums").output("sum");
        scalar(m, "steps", steps);
        scalar(m, "last", last);
        scalar(m, "going", 1, TensorProto::BOOL);
        m.constant("zero", {}).add_float_data(0);
        add_loop(m);
        EXPECT_EQ(run(m, {{1, 2, 3, 4}}), wanted);
        EXPECT_EQ(run(m, {{1, 2, 3, 4}}, 1), std::vector<float>{wanted.back()});
    }
}

TEST(Control, LoopsThatAreRefused) {
    const auto error = [](int64_t steps, bool going, bool last_is_input, bool steps_are_input = false) {
        ModelBuilder m;
        m.input("x", {4}).output("sums");
        if (steps_are_input) m.input("steps", {}, TensorProto::INT64);
        else scalar(m, "steps", steps);
        if (last_is_input) m.input("last", {}, TensorProto::INT64);
        else scalar(m, "last", 1 << 20);
        scalar(m, "going", going, TensorProto::BOOL);
        m.constant("zero", {}).add_float_data(0);
        add_loop(m);
        return m.error();
    };
    EXPECT_EQ(error(4, true, false), "(imported)");
    EXPECT_TRUE(has(error(4, true, true), "the condition of its body is not known before a run"));
    EXPECT_TRUE(has(error(4, false, false), "there is no step, so the shape of result 0 is not known"));
    EXPECT_TRUE(has(error(0, true, false), "there is no step"));
    EXPECT_TRUE(has(error(-1, true, false), "there is no step"));
    EXPECT_TRUE(has(error(5, true, false), "there is no index 4 in a dimension of 4 elements"));
    EXPECT_TRUE(has(error(0, true, false, true), "the number of steps (input 0) must be a constant"));
    ModelBuilder endless;
    endless.input("x", {2}).output("y");
    onnx::GraphProto& body = graph(endless.node("Loop", {"", "", "x"}, {"y"}), "body");
    finish(body, {"step", "condition", "before"}, {"condition", "before"});
    EXPECT_TRUE(has(endless.error(), "the loop has more than 2048 steps"));
    body.add_output()->set_name("before");
    EXPECT_TRUE(has(endless.error(), "the body has 3 results instead of 2"));
}

// sums over x (along its last dimension, or along it backwards), and all of them
ModelBuilder& add_scan(ModelBuilder& m, bool backwards) {
    m.input("x", {2, 3}).input("start", {2}).output("all").output("sum");
    onnx::NodeProto& node = m.node("Scan", {"start", "x"}, {"sum", "all"});
    ModelBuilder::attribute(node, "num_scan_inputs", 1);
    ModelBuilder::attribute(node, "scan_input_axes", tests::Sizes{-1});
    ModelBuilder::attribute(node, "scan_output_axes", tests::Sizes{1});
    if (backwards) ModelBuilder::attribute(node, "scan_input_directions", tests::Sizes{1});
    if (backwards) ModelBuilder::attribute(node, "scan_output_directions", tests::Sizes{1});
    onnx::GraphProto& body = graph(node, "body");
    add(body, "Add", {"before", "element"}, {"after"});
    add(body, "Identity", {"after"}, {"copy"});
    finish(body, {"before", "element"}, {"after", "copy"});
    return m;
}

TEST(Control, AScanIsWrittenOut) {
    ModelBuilder forwards;
    EXPECT_EQ(run(add_scan(forwards, false), {{1, 2, 3, 4, 5, 6}, {10, 20}}),
              (std::vector<float>{11, 13, 16, 24, 29, 35}));
    EXPECT_EQ(run(forwards, {{1, 2, 3, 4, 5, 6}, {10, 20}}, 1), (std::vector<float>{16, 35}));
    ModelBuilder backwards;
    EXPECT_EQ(run(add_scan(backwards, true), {{1, 2, 3, 4, 5, 6}, {10, 20}}),
              (std::vector<float>{16, 15, 13, 35, 31, 26}));
}

TEST(Control, ScansThatAreRefused) {
    const auto error = [](auto change) {
        ModelBuilder m;
        add_scan(m, false);
        change(*m.graph().mutable_node(0));
        return m.error();
    };
    EXPECT_TRUE(has(error([](onnx::NodeProto& n) { n.mutable_attribute(0)->set_i(3); }), "num_scan_inputs is 3"));
    EXPECT_TRUE(has(error([](onnx::NodeProto& n) { n.mutable_attribute(0)->set_i(0); }), "num_scan_inputs is 0"));
    EXPECT_TRUE(has(error([](onnx::NodeProto& n) { n.mutable_attribute(1)->add_ints(0); }),
                    "scan_input_axes has 2 numbers instead of 1"));
    EXPECT_TRUE(has(error([](onnx::NodeProto& n) { n.mutable_attribute(1)->set_ints(0, 2); }), "there is no axis 2"));
    EXPECT_TRUE(has(error([](onnx::NodeProto& n) { n.mutable_attribute(0)->set_i(2); }),
                    "scan_input_axes has 1 numbers instead of 2"));
    ModelBuilder lengths;
    lengths.input("x", {3}).input("z", {4}).output("all");
    onnx::NodeProto& node = lengths.node("Scan", {"x", "z"}, {"all"});
    ModelBuilder::attribute(node, "num_scan_inputs", 2);
    EXPECT_TRUE(has(lengths.error(), "the sequences have 3 and 4 steps"));
}

// Functions in graphs in functions: the messages of ONNX themselves cannot be as deep.
TEST(Control, GraphsWithoutEnd) {
    ModelBuilder m;
    m.input("x", {2}).input("condition", {}, TensorProto::BOOL).output("y");
    m.model.add_opset_import()->set_domain("deep");
    m.model.mutable_opset_import(1)->set_version(1);
    onnx::NodeProto& first = m.node("If", {"condition"}, {"y"});
    finish(graph(first, "else_branch"), {}, {"x"});
    onnx::GraphProto& call = graph(first, "then_branch");
    add(call, "f0", {"x", "condition"}, {"z"}).set_domain("deep");
    finish(call, {}, {"z"});
    for (int i = 0; i < 20; i++) {
        onnx::FunctionProto& function = *m.model.add_functions();
        function.set_name("f" + std::to_string(i));
        function.set_domain("deep");
        for (const auto& [domain, version] : {std::pair{"", 17}, {"deep", 1}}) {
            function.add_opset_import()->set_domain(domain);
            function.mutable_opset_import(function.opset_import_size() - 1)->set_version(version);
        }
        for (const char* const input : {"x", "condition"}) function.add_input(input);
        function.add_output("y");
        onnx::NodeProto& node = ModelBuilder::add_node(*function.add_node(), "If", {"condition"}, {"y"});
        finish(graph(node, "else_branch"), {}, {"x"});
        onnx::GraphProto& deeper = graph(node, "then_branch");
        add(deeper, "f" + std::to_string(i + 1), {"x", "condition"}, {"z"}).set_domain("deep");
        finish(deeper, {}, {"z"});
    }
    EXPECT_TRUE(has(m.error(), "graphs are inside of each other more than 32 times"));
}

}  // namespace
}  // namespace sidra
