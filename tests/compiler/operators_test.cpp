// SPDX-License-Identifier: MIT
// Operators with parts on the host, and those composed of others: what they refuse, and results that ONNX's stored
// tests do not have.
#include <cmath>
#include <limits>
#include <numeric>

#include "interpret.h"
#include "model_builder.h"

namespace sidra {
namespace {

using onnx::TensorProto;
using tests::ModelBuilder;
using tests::Sizes;
using xnn::Elements;

testing::AssertionResult has(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "there is no '" << part << "' in: " << text;
}

// A model with one node. Inputs are named a, b, c, ... in their order, constants too.
class One : public ModelBuilder {
   public:
    explicit One(const std::string& op, int64_t set = 17) : ModelBuilder(set), node_(node(op, {}, {"y"})) {
        output("y");
    }
    One& with(const Sizes& shape, int type = TensorProto::FLOAT) {
        input(next(), shape, type);
        return *this;
    }
    One& with_floats(const Sizes& shape, const std::vector<float>& numbers) {
        TensorProto& tensor = constant(next(), shape);
        for (const float number : numbers) tensor.add_float_data(number);
        return *this;
    }
    One& with_integers(const Sizes& numbers) {
        integers(next(), numbers);
        return *this;
    }
    One& with_integer(int64_t number) {
        integers(next(), {number}).clear_dims();
        return *this;
    }
    One& without() {
        node_.add_input("");
        return *this;
    }
    template <typename Value>
    One& set(const std::string& name, const Value& value) {
        attribute(node_, name, value);
        return *this;
    }
    One& set_text(const std::string& name, const std::string& text) {
        auto* const attribute = node_.add_attribute();
        attribute->set_name(name);
        attribute->set_type(onnx::AttributeProto::STRING);
        attribute->set_s(text);
        return *this;
    }
    One& set_number(const std::string& name, float number) {
        auto* const attribute = node_.add_attribute();
        attribute->set_name(name);
        attribute->set_type(onnx::AttributeProto::FLOAT);
        attribute->set_f(number);
        return *this;
    }
    One& set_numbers(const std::string& name, const std::vector<float>& numbers) {
        auto* const attribute = node_.add_attribute();
        attribute->set_name(name);
        attribute->set_type(onnx::AttributeProto::FLOATS);
        for (const float number : numbers) attribute->add_floats(number);
        return *this;
    }
    One& in(const std::string& domain) {
        node_.set_domain(domain);
        model.add_opset_import()->set_domain(domain);
        model.mutable_opset_import(1)->set_version(1);
        return *this;
    }
    One& more_outputs() {
        node_.add_output("z");
        output("z");
        return *this;
    }

    // The output, of integers or floats.
    std::vector<double> run(const std::vector<std::vector<double>>& inputs) {
        const auto module = import();
        auto function = mlir::ModuleOp(*module).lookupSymbol<mlir::func::FuncOp>("main");
        std::vector<Elements> values;
        for (unsigned i = 0; i < inputs.size(); i++) {
            const auto type = mlir::cast<mlir::RankedTensorType>(function.getArgument(i).getType());
            if (mlir::isa<mlir::FloatType>(type.getElementType()))
                values.push_back({type, Elements::Floats(inputs[i].begin(), inputs[i].end())});
            else values.push_back({type, Elements::Integers(inputs[i].begin(), inputs[i].end())});
        }
        const Elements result = tests::interpret(*module, store, values).at(0);
        return std::visit([](const auto& numbers) { return std::vector<double>(numbers.begin(), numbers.end()); },
                          result.numbers);
    }

   private:
    std::string next() {
        node_.add_input(std::string(1, static_cast<char>('a' + node_.input_size())));
        return node_.input(node_.input_size() - 1);
    }
    onnx::NodeProto& node_;
};

std::vector<double> counted(size_t count, double first = 0) {
    std::vector<double> numbers(count);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

// ---- Elements

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// As the CPU's libm has it.
void expect_as(double (*function)(double), One&& one, const std::vector<double>& inputs) {
    const std::vector<double> got = one.with({static_cast<int64_t>(inputs.size())}).run({inputs});
    for (size_t i = 0; i < inputs.size(); i++) {
        const auto x = static_cast<double>(static_cast<float>(inputs[i])),
                   right = static_cast<double>(static_cast<float>(function(x)));
        if (std::isnan(right) || std::isinf(right)) EXPECT_TRUE(got[i] == right || std::isnan(got[i])) << x;
        EXPECT_EQ(std::isnan(got[i]), std::isnan(right)) << x;
        if (std::isfinite(right)) EXPECT_NEAR(got[i], right, 1e-6 * std::abs(right)) << x;
    }
}

TEST(Elements, FunctionsOfLargeNumbers) {
    const std::vector<double> sizes = {0,  1e-20, 0.1, 0.3, 0.7, 3,    20,   80,        88.5,
                                       89, 89.4,  90,  1e9, 2e9, 1e20, 3e38, kInfinity, kNan};
    std::vector<double> both = sizes;
    for (const double size : sizes) both.push_back(-size);
    expect_as(std::sinh, One("Sinh"), both);
    expect_as(std::cosh, One("Cosh"), both);
    expect_as(std::asinh, One("Asinh"), both);
    expect_as(std::acosh, One("Acosh"), {0.5, 1, 1.5, 3, 1e9, 2e9, 1e20, 3e38, kInfinity, kNan});
}

TEST(Elements, PowersOfOne) {
    const std::vector<double> bases = {1, -1, 2, 0.5, -2, -0.5, 0, kInfinity, kNan},
                              exponents = {0, 1, 2, 3, -3, 0.5, kInfinity, -kInfinity, kNan};
    std::vector<double> base, exponent, right;
    for (const double x : bases)
        for (const double y : exponents) {
            base.push_back(x);
            exponent.push_back(y);
            right.push_back(std::pow(x, y));
        }
    const Sizes shape = {static_cast<int64_t>(base.size())};
    const std::vector<double> got = One("Pow").with(shape).with(shape).run({base, exponent});
    for (size_t i = 0; i < right.size(); i++) {
        const bool same = std::isnan(right[i]) ? std::isnan(got[i]) : right[i] == got[i];
        EXPECT_TRUE(same || std::abs(right[i] - got[i]) <= 1e-6 * std::abs(right[i]))
            << base[i] << " ** " << exponent[i] << " is " << got[i];
    }
}

// As NumPy has it, which is ONNX's reference.
TEST(Elements, TheSignOfNoNumber) {
    const std::vector<double> signs = One("Sign").with({4}).run({{-kInfinity, 0, 2, kNan}});
    EXPECT_EQ(std::vector<double>(signs.begin(), signs.end() - 1), (std::vector<double>{-1, 0, 1}));
    EXPECT_TRUE(std::isnan(signs.back()));
}

// ---- Along dimensions

TEST(Reductions, LogarithmsOfSumsOfInfinities) {
    One one("ReduceLogSumExp");
    one.with({4, 3}).set("axes", Sizes{1}).set("keepdims", 0);
    const std::vector<double> sums = one.run({{-kInfinity, -kInfinity, -kInfinity,  //
                                               kInfinity, 1, 2,                     //
                                               -kInfinity, 3, -kInfinity,           //
                                               kInfinity, -kInfinity, kNan}});
    EXPECT_EQ(sums[0], -kInfinity);
    EXPECT_EQ(sums[1], kInfinity);
    EXPECT_EQ(sums[2], 3);
    EXPECT_TRUE(std::isnan(sums[3]));
}

// ---- Shapes

One& range(One&& one, float start, float limit, float delta) {
    return one.with_floats({}, {start}).with_floats({}, {limit}).with_floats({}, {delta});
}

TEST(Shapes, RangesWithoutAStep) {
    EXPECT_TRUE(has(range(One("Range"), 3, 1, 0).error(), "delta (input 2) is 0"));
    EXPECT_TRUE(has(range(One("Range"), 1, 1, -0.0F).error(), "delta (input 2) is 0"));
    EXPECT_TRUE(has(One("Range").with_integer(3).with_integer(1).with_integer(0).error(), "delta (input 2) is 0"));
    EXPECT_TRUE(has(One("Range").with_integer(1).with_integer(3).with_integer(0).error(), "delta (input 2) is 0"));
    EXPECT_EQ(range(One("Range"), 0, -1e30F, 1).run({}), std::vector<double>());
    EXPECT_EQ(range(One("Range"), 3, 0, -1).run({}), (std::vector<double>{3, 2, 1}));
}

TEST(Shapes, SlicesOfNothing) {
    for (const int64_t step : {1, -1, 3, -3})
        EXPECT_EQ(One("Slice")
                      .with({0})
                      .with_integers({-1})
                      .with_integers({step < 0 ? -5 : 5})
                      .with_integers({0})
                      .with_integers({step})
                      .run({{}}),
                  std::vector<double>());
}

// ---- Signals

TEST(Signals, Refusals) {
    EXPECT_TRUE(has(One("DFT").with({1, 4, 1}).set("axis", 2).error(), "so it is not the axis"));
    EXPECT_TRUE(has(One("DFT").with({1, 4, 3}).error(), "the last dimension has the real parts"));
    EXPECT_TRUE(has(One("DFT").with({4}).set("axis", -1).error(), "so it is not the axis"));
    EXPECT_TRUE(has(One("DFT").with({1, 4, 1}).set("inverse", 1).set("onesided", 1).error(), "has no half"));
    EXPECT_TRUE(has(One("DFT").with({1, 4, 2}).set("onesided", 1).error(), "only a real signal has one side"));
    EXPECT_TRUE(has(One("DFT").with({1, 4, 1}).with_integer(0).error(), "the length of the transform is 0"));
    EXPECT_TRUE(has(One("DFT").with({1, 0, 1}).error(), "the length of the transform is 0"));
    EXPECT_TRUE(has(One("DFT").with({1, 4, 1}, TensorProto::INT32).error(), "the operator takes floats"));
    EXPECT_TRUE(has(One("STFT").with({1, 8}).with_integer(2).error(), "the signal must have three dimensions"));
    EXPECT_TRUE(has(One("STFT").with({1, 8, 1}).with_integer(2).error(), "neither a window nor a length"));
    EXPECT_TRUE(has(One("STFT").with({1, 8, 1}).with_integer(2).with({2, 2}).error(), "the window must be a vector"));
    EXPECT_TRUE(has(One("STFT").with({1, 8, 1}).with_integer(0).with({4}).error(), "do not fit into 8"));
    EXPECT_TRUE(has(One("STFT").with({1, 8, 1}).with_integer(2).with({9}).error(), "do not fit into 8"));
    EXPECT_TRUE(has(One("STFT").with({1, 8, 2}).with_integer(2).with({4}).error(), "set onesided to 0"));
    EXPECT_TRUE(has(One("STFT").with({1, 1 << 25, 1}).with_integer(1).without().with_integer(1).error(),
                    "the frames have more than 16777216 elements"));
    EXPECT_TRUE(has(One("HannWindow").with_integer(0).error(), "a window cannot have 0 elements"));
    EXPECT_TRUE(has(One("HannWindow").with({}, TensorProto::INT64).error(), "the size (input 0) must be a constant"));
    const auto mel = [](int64_t bins, int64_t length, float low, float high) {
        return One("MelWeightMatrix")
            .with_integer(bins)
            .with_integer(length)
            .with_integer(8000)
            .with_floats({}, {low})
            .with_floats({}, {high})
            .error();
    };
    EXPECT_EQ(mel(8, 16, 0, 4000), "(imported)");
    EXPECT_TRUE(has(mel(8, 16, 100, 50), "the lower one first"));
    EXPECT_TRUE(has(mel(0, 16, 0, 4000), "0 bins of 9 frequencies"));
    EXPECT_TRUE(has(mel(1 << 16, 16, 0, 4000), "are too many"));
    EXPECT_TRUE(has(mel(8, 16, 0, 8000), "above half of the sample rate"));
}

void expect_near(const std::vector<double>& wanted, const std::vector<double>& got) {
    ASSERT_EQ(wanted.size(), got.size());
    for (size_t i = 0; i < wanted.size(); i++) EXPECT_NEAR(wanted[i], got[i], 1e-6) << i;
}

TEST(Signals, ATransformOfAnotherLength) {
    // 1 + 2 w + 3 w^2 + 0 w^3, and what is left of it when it is cut off.
    expect_near({6, 0, -2, -2, 2, 0, -2, 2}, One("DFT").with({1, 3, 1}).with_integer(4).run({{1, 2, 3}}));
    expect_near({3, 0, -1, 0}, One("DFT").with({1, 3, 1}).with_integer(2).run({{1, 2, 3}}));
    expect_near({6, 0, -2, -2, 2, 0}, One("DFT").with({1, 4, 1}).set("onesided", 1).run({{1, 2, 3, 0}}));
    // In operator set 20, the axis is an input.
    expect_near({6, 0, -4, 0}, One("DFT", 20).with({2, 1, 1}).without().with_integer(0).run({{1, 5}}));
}

// ---- Places between pixels

One& regions(One&& one, const Sizes& images, const Sizes& boxes, const Sizes& numbers, int64_t samples) {
    return one.with(images).with(boxes).with(numbers, TensorProto::INT64).set("sampling_ratio", samples);
}

TEST(Sampling, Refusals) {
    EXPECT_TRUE(has(One("GridSample").with({1, 1, 4}).with({1, 2, 2, 2}).error(), "only images of two dimensions"));
    EXPECT_TRUE(has(One("GridSample").with({1, 1, 4, 4}).with({1, 2, 2, 3}).error(), "two numbers for each place"));
    EXPECT_TRUE(has(One("GridSample").with({2, 1, 4, 4}).with({1, 2, 2, 2}).error(), "two numbers for each place"));
    EXPECT_TRUE(has(One("GridSample").with({1, 1, 0, 4}).with({1, 2, 2, 2}).error(), "the images are empty"));
    const auto grid = [](const char* name, const char* text) {
        return One("GridSample").with({1, 1, 4, 4}).with({1, 2, 2, 2}).set_text(name, text).error();
    };
    EXPECT_TRUE(has(grid("mode", "best"), "the mode 'best' is not known"));
    EXPECT_TRUE(has(grid("padding_mode", "soft"), "the padding_mode 'soft' is not known"));
    EXPECT_EQ(regions(One("RoiAlign"), {1, 1, 4, 4}, {3, 4}, {3}, 2).error(), "(imported)");
    EXPECT_TRUE(has(regions(One("RoiAlign"), {1, 4, 4}, {3, 4}, {3}, 2).error(), "must be images of two dimensions"));
    EXPECT_TRUE(has(regions(One("RoiAlign"), {1, 1, 4, 4}, {3, 5}, {3}, 2).error(), "four numbers and an index"));
    EXPECT_TRUE(has(regions(One("RoiAlign"), {1, 1, 4, 4}, {3, 4}, {2}, 2).error(), "four numbers and an index"));
    EXPECT_TRUE(
        has(regions(One("RoiAlign"), {1, 1, 4, 4}, {3, 4}, {3}, 0).error(), "set sampling_ratio to at least 1"));
    const auto text = [](const char* name, const char* value) {
        return regions(One("RoiAlign"), {1, 1, 4, 4}, {3, 4}, {3}, 2).set_text(name, value).error();
    };
    EXPECT_TRUE(has(text("mode", "max"), "only the mode 'avg'"));
    EXPECT_TRUE(has(text("coordinate_transformation_mode", "x"), "transformation 'x' is not known"));
    EXPECT_TRUE(has(regions(One("RoiAlign"), {1, 1, 4, 4}, {3, 4}, {3}, 2).set("output_height", 0).error(),
                    "output_height is 0"));
}

// ---- Steps of optimisers

TEST(Training, Refusals) {
    const std::string domain = "ai.onnx.preview.training";
    const auto momentum = [&](const Sizes& rate, size_t tensors, const char* mode) {
        One one("Momentum");
        one.with(rate).with({}, TensorProto::INT64).in(domain).set_text("mode", mode);
        for (size_t i = 0; i < tensors; i++) one.with({2});
        return one.more_outputs().error();
    };
    EXPECT_EQ(momentum({}, 3, "standard"), "(imported)");
    EXPECT_TRUE(has(momentum({2}, 3, "standard"), "must be one number each"));
    EXPECT_TRUE(has(momentum({}, 4, "standard"), "6 inputs instead of 2 and 3 for each tensor"));
    EXPECT_TRUE(has(momentum({}, 0, "standard"), "2 inputs instead of"));
    EXPECT_TRUE(has(momentum({}, 3, "best"), "the mode 'best' is not known"));
    One other("Adam", 17);
    EXPECT_TRUE(has(other.with({}).in(domain).error(), "1 inputs instead of 2 and 4"));
}

// ---- On the host

TEST(OnHost, Refusals) {
    EXPECT_TRUE(has(One("Det").with({2, 3}).error(), "the host cannot call determinant: the input must be"));
    EXPECT_TRUE(has(One("Det").with({3}).error(), "at least two dimensions"));
    EXPECT_TRUE(has(One("Pow").with({2, 3}, TensorProto::INT32).with({2}, TensorProto::INT32).error(),
                    "base and exponent do not broadcast"));
    EXPECT_TRUE(has(One("Pow").with({2}, TensorProto::INT32).with({2}, TensorProto::BOOL).error(),
                    "the host cannot call power: the exponent"));
    const auto product = [](const Sizes& a, const Sizes& b, int type = TensorProto::INT64) {
        return One("MatMul").with(a, TensorProto::INT64).with(b, type).error();
    };
    EXPECT_EQ(product({2, 1, 3, 4}, {5, 4, 2}), "(imported)");
    EXPECT_TRUE(has(product({2, 3, 4}, {3, 4, 2}), "the factors do not broadcast"));
    EXPECT_TRUE(has(product({3, 4}, {5, 2}), "the host cannot call product: the factors"));
    EXPECT_TRUE(has(product({3, 4}, {4, 2}, TensorProto::INT32), "the host cannot call product: factors and output"));
    EXPECT_TRUE(has(
        One("Gemm").with({2, 2}, TensorProto::INT32).with({2, 2}, TensorProto::INT32).set_number("alpha", 0.5F).error(),
        "alpha and beta of integers must be integers"));
    const auto scatter = [](const Sizes& updates, const char* reduction, int type = TensorProto::FLOAT) {
        return One("ScatterND")
            .with({4, 2}, type)
            .with({3, 1}, TensorProto::INT64)
            .with(updates, type)
            .set_text("reduction", reduction)
            .error();
    };
    EXPECT_EQ(scatter({3, 2}, "none"), "(imported)");
    EXPECT_TRUE(has(scatter({2, 2}, "none"), "there are 2 updates for 3 indices"));
    EXPECT_TRUE(has(scatter({3, 2}, "best"), "the reduction 'best' is not known"));
    EXPECT_TRUE(has(scatter({3, 2}, "add", TensorProto::BOOL), "elements of this type cannot be combined"));
    const auto unpool = [](const Sizes& indices, const Sizes& wanted) {
        One one("MaxUnpool");
        one.with({1, 1, 2, 2})
            .with(indices, TensorProto::INT64)
            .set("kernel_shape", Sizes{2, 2})
            .set("strides", Sizes{2, 2});
        return (wanted.empty() ? one : one.with_integers(wanted)).error();
    };
    EXPECT_EQ(unpool({1, 1, 2, 2}, {}), "(imported)");
    EXPECT_TRUE(has(unpool({1, 1, 2, 1}, {}), "an index for each element"));
    EXPECT_TRUE(has(unpool({1, 1, 2, 2}, {1, 5, 5}), "output_shape has 3 numbers"));
    EXPECT_TRUE(has(unpool({1, 1, 2, 2}, {1, 1, 3, 3}), "padding of 0 and -1 elements is impossible"));
}

One& ngrams(One&& one, const Sizes& shape, int type = TensorProto::INT32) {
    one.with(shape, type).set("min_gram_length", 1).set("max_gram_length", 1).set("max_skip_count", 0);
    return one.set("ngram_counts", Sizes{0}).set("pool_int64s", Sizes{5, 6});
}

TEST(OnHost, CountsOfSequences) {
    const auto counted = [](const char* mode) {
        return ngrams(One("TfIdfVectorizer"), {2, 3})
            .set("ngram_indexes", Sizes{2, 0})
            .set_text("mode", mode)
            .set_numbers("weights", {10, 3})
            .run({{5, 5, 6, 6, 1, 1}});
    };
    EXPECT_EQ(counted("TF"), (std::vector<double>{1, 0, 2, 1, 0, 0}));
    EXPECT_EQ(counted("IDF"), (std::vector<double>{3, 0, 10, 3, 0, 0}));
    EXPECT_EQ(counted("TFIDF"), (std::vector<double>{3, 0, 20, 3, 0, 0}));
    EXPECT_EQ(ngrams(One("TfIdfVectorizer"), {4})
                  .set("ngram_indexes", Sizes{1, 0})
                  .set_text("mode", "IDF")
                  .run({{5, 5, 7, 5}}),
              (std::vector<double>{0, 1}));
    const auto error = [](const Sizes& shape, const Sizes& columns, const char* mode, int type = TensorProto::INT32) {
        return ngrams(One("TfIdfVectorizer"), shape, type).set("ngram_indexes", columns).set_text("mode", mode).error();
    };
    EXPECT_TRUE(has(error({2, 2, 2}, {0, 1}, "TF"), "the input must be a row, or several"));
    EXPECT_TRUE(has(error({2}, {0, -1}, "TF"), "a number of ngram_indexes is out of range"));
    EXPECT_TRUE(has(error({2}, {0, 1 << 30}, "TF"), "a number of ngram_indexes is out of range"));
    EXPECT_TRUE(has(error({2}, {}, "TF"), "the attribute ngram_indexes is missing"));
    EXPECT_TRUE(has(error({2}, {0}, "TF"), "the pool has 2 sequences, but there are 1 columns"));
    EXPECT_TRUE(has(error({2}, {0, 1}, "best"), "the mode 'best' is not known"));
    EXPECT_TRUE(has(error({2}, {0, 1}, "TF", TensorProto::FLOAT), "the host cannot call ngrams: the numbers"));
    EXPECT_TRUE(has(ngrams(One("TfIdfVectorizer"), {2})
                        .set("ngram_indexes", Sizes{0, 1})
                        .set_text("mode", "IDF")
                        .set_numbers("weights", {1})
                        .error(),
                    "there are 1 weights for 2 sequences"));
    EXPECT_TRUE(
        has(ngrams(One("TfIdfVectorizer"), {2}).set_text("pool_strings", "a").error(), "the chip has no strings"));
}

TEST(OnHost, ProductsOfIntegersBroadcast) {
    // 2 x 1 x (1 x 2) times 2 x (2 x 1), beyond what f32 has.
    EXPECT_EQ(One("MatMul")
                  .with({2, 1, 1, 2}, TensorProto::INT64)
                  .with({2, 2, 1}, TensorProto::INT64)
                  .run({{1, 2, 3, 16777217}, {1, 10, 2, 20}}),
              (std::vector<double>{21, 42, 167772173, 335544346}));
    EXPECT_EQ(One("Gemm")
                  .with({1, 2}, TensorProto::INT32)
                  .with({1, 2}, TensorProto::INT32)
                  .with({1}, TensorProto::INT32)
                  .set("transB", 1)
                  .set_number("alpha", 2)
                  .run({{3, 4}, {5, 6}, {7}}),
              (std::vector<double>{85}));
}

TEST(OnHost, ScattersOfAllKinds) {
    // Twice the same element, by constant indices: too, because the chip would lose one.
    EXPECT_EQ(One("ScatterElements", 18)
                  .with({4})
                  .with_integers({1, 1, -1})
                  .with({3})
                  .set_text("reduction", "add")
                  .run({{1, 2, 3, 4}, {10, 100, 1000}}),
              (std::vector<double>{1, 112, 3, 1004}));
    EXPECT_EQ(One("ScatterElements", 18)
                  .with({2, 2}, TensorProto::FLOAT16)
                  .with({1, 2}, TensorProto::INT64)
                  .with({1, 2}, TensorProto::FLOAT16)
                  .set("axis", 1)
                  .set_text("reduction", "max")
                  .run({{1, 2, 3, 4}, {1, 1}, {5, 0.5}}),
              (std::vector<double>{1, 5, 3, 4}));
    // Places that are constant and different need no host.
    One fixed("ScatterND");
    fixed.with({3}).with_integers({2}).with({1});
    fixed.graph().mutable_initializer(0)->add_dims(1);
    EXPECT_FALSE(has(fixed.text(), "xnn.host"));
    EXPECT_EQ(fixed.run({{1, 2, 3}, {9}}), (std::vector<double>{1, 2, 9}));
}

// ---- Windows of many dimensions

TEST(ManyDimensions, PoolsOfFour) {
    // 2 x 2 x 2 x 2 windows of 2 x 3 x 2 x 2 elements that count up along the first ones: 12, 4, 2, 1.
    One largest("MaxPool"), mean("AveragePool");
    largest.with({1, 1, 2, 3, 2, 2}).set("kernel_shape", Sizes{2, 2, 2, 2});
    EXPECT_EQ(largest.run({counted(24)}), (std::vector<double>{19, 23}));
    mean.with({1, 1, 2, 3, 2, 2}).set("kernel_shape", Sizes{2, 2, 2, 2});
    EXPECT_EQ(mean.run({counted(24)}), (std::vector<double>{9.5, 13.5}));
    EXPECT_TRUE(has(largest.more_outputs().error(), "the indices of windows of 4 dimensions are not supported"));
    EXPECT_TRUE(
        has(One("MaxPool").with({1, 1, 2, 3, 2, 2}).set("kernel_shape", Sizes{3, 2, 2, 2}).error(), "no window of 3"));
    One indices("MaxPool");
    indices.with({1, 1, 300, 300}).set("kernel_shape", Sizes{1, 1}).set("storage_order", 1).more_outputs();
    EXPECT_TRUE(has(indices.error(), "too large for storage_order 1"));
}

TEST(ManyDimensions, ConvolutionsOfFour) {
    // Filters of ones: sums over windows of 2 x 2 x 1 x 2, of two groups with a channel each.
    One conv("Conv");
    conv.with({1, 2, 2, 2, 1, 3}).with({2, 1, 2, 2, 1, 2}).set("group", 2);
    const std::vector<double> sums = conv.run({counted(24), std::vector<double>(16, 1)});
    EXPECT_EQ(sums, (std::vector<double>{40, 48, 136, 144}));
    EXPECT_TRUE(
        has(One("Conv").with({1, 2, 4, 4}).with({2, 2, 3}).error(), "the filters have 3 dimensions, the input 4"));
    EXPECT_TRUE(has(One("ConvTranspose").with({1, 2, 4, 4}).with({2, 2, 3}).error(), "the filters have 3 dimensions"));
    EXPECT_TRUE(has(One("Conv").with({1, 3, 2, 2, 2}).with({2, 1, 1, 1, 1}).set("group", 2).error(),
                    "2 groups do not divide 3 channels"));
    EXPECT_TRUE(has(One("Conv").with({1, 1, 2, 2, 2}).with({1, 1, 3, 1, 1}).error(), "no window of 3 elements"));
}

TEST(ManyDimensions, Other) {
    EXPECT_TRUE(has(One("BatchNormalization")
                        .with({1, 2, 3}, TensorProto::INT32)
                        .with({2})
                        .with({2})
                        .with({2})
                        .with({2})
                        .set("training_mode", 1)
                        .error(),
                    "the operator takes floats"));
    One crop("Resize");
    crop.with({2}).with_floats({1}, {0}).without().with_integers({3});
    EXPECT_TRUE(has(crop.set_text("coordinate_transformation_mode", "tf_crop_and_resize").error(),
                    "roi must have a start and an end for each axis"));
    EXPECT_TRUE(has(One("Dropout").with({2}).with({}).with({}, TensorProto::BOOL).error(), "training_mode (input 2)"));
}

}  // namespace
}  // namespace sidra
