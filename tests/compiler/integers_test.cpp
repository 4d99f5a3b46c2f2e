// SPDX-License-Identifier: MIT
// Operators on integers of each width: as the chip computes them, and as the compiler folds them. What is right is the
// arithmetic of C++, modulo 2^bits.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <sidra/sidra.hpp>

#include "driver/compile.h"
#include "model_builder.h"

namespace sidra::compiler {
namespace {

using onnx::TensorProto;
using tests::Names;

template <typename T>
constexpr int kType = TensorProto::UNDEFINED;
template <>
constexpr int kType<uint8_t> = TensorProto::UINT8;
template <>
constexpr int kType<int8_t> = TensorProto::INT8;
template <>
constexpr int kType<int16_t> = TensorProto::INT16;
template <>
constexpr int kType<int32_t> = TensorProto::INT32;

int64_t remainder_of_floor(int64_t a, int64_t b) {
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// `inputs`: a and b are any numbers, d divisors, and s the bits of shifts.
struct Case {
    const char* op;
    Names inputs;
    std::function<int64_t(int64_t, int64_t)> right;
    const char *attribute = nullptr, *text = nullptr;
};

const Case kCases[] = {
    {"Add", {"a", "b"}, std::plus<>()},
    {"Sub", {"a", "b"}, std::minus<>()},
    {"Mul", {"a", "b"}, std::multiplies<>()},
    {"Div", {"a", "d"}, std::divides<>()},
    {"Mod", {"a", "d"}, remainder_of_floor},
    {"Mod", {"a", "d"}, std::modulus<>(), "fmod"},
    {"Max", {"a", "b"}, [](int64_t a, int64_t b) { return std::max(a, b); }},
    {"Min", {"a", "b"}, [](int64_t a, int64_t b) { return std::min(a, b); }},
    {"BitwiseAnd", {"a", "b"}, std::bit_and<>()},
    {"BitwiseOr", {"a", "b"}, std::bit_or<>()},
    {"BitwiseXor", {"a", "b"}, std::bit_xor<>()},
    {"BitwiseNot", {"a"}, [](int64_t a, int64_t) { return ~a; }},
    {"Neg", {"a"}, [](int64_t a, int64_t) { return -a; }},
    {"Abs", {"a"}, [](int64_t a, int64_t) { return std::abs(a); }},
    {"Sign", {"a"}, [](int64_t a, int64_t) { return (a > 0) - (a < 0); }},
    {"BitShift", {"a", "s"}, [](int64_t a, int64_t s) { return a << s; }, "direction", "LEFT"},
    {"BitShift", {"a", "s"}, [](int64_t a, int64_t s) { return a >> s; }, "direction", "RIGHT"},
};

template <typename T>
class Integers : public testing::Test {
   protected:
    Integers() : network_(18) {
        constexpr int64_t low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
        const int64_t edges[] = {low, low + 1, high / 2, 100, 7, 3, 2, 1, 0, -1, -2, -7, high - 1, high};
        for (const int64_t a : edges)
            for (const int64_t b : edges) {
                const auto second = static_cast<T>(b);
                numbers_["a"].push_back(static_cast<T>(a));
                numbers_["b"].push_back(second);
                numbers_["d"].push_back(second == 0 ? T{5} : second);
                numbers_["s"].push_back(static_cast<T>(b & 7));
            }
        const auto count = static_cast<int64_t>(numbers_["a"].size());
        for (const auto& [name, values] : numbers_) {
            network_.input(name, {count}, kType<T>);
            TensorProto& constant = network_.constant("constant-" + name, {count}, kType<T>);
            for (const T value : values) constant.add_int32_data(value);
        }
    }

    // The same node on the inputs, and on constants.
    template <typename Change>
    void add(const Case& one, Change change) {
        for (const bool folded : {false, true}) {
            Names inputs = one.inputs;
            if (folded)
                for (std::string& name : inputs) name = "constant-" + name;
            const std::string output = fmt::format("{}-{}", one.op, network_.graph().node_size());
            change(network_.node(one.op, inputs, {output}));
            network_.output(output);
        }
    }

    std::vector<std::vector<std::byte>> run() {
        std::ofstream file(network_.folder / "network.onnx", std::ios::binary);
        EXPECT_TRUE(network_.model.SerializeToOstream(&file));
        file.close();
        const std::string compiled = network_.folder / "network.sidra";
        compile(network_.folder / "network.onnx", compiled, {});
        sidra_device_options options{};
        options.private_chip = true;
        const Device device = Device::open(0, options);
        const Context context(device);
        Stream stream(context);
        const Model model(context, compiled);
        stream.deploy(model);
        std::vector<const void*> in;
        for (const auto& [name, values] : numbers_) in.push_back(values.data());
        std::vector<std::vector<std::byte>> results;
        std::vector<void*> out;
        for (uint32_t i = 0; i < model.variant(0).outputs; i++) results.emplace_back(model.output(0, i).bytes);
        for (auto& result : results) out.push_back(result.data());
        stream.run(model, 0, in, out);
        return results;
    }

    template <typename As = T>
    static std::vector<As> numbers(const std::vector<std::byte>& bytes) {
        std::vector<As> result(bytes.size() / sizeof(As));
        std::memcpy(result.data(), bytes.data(), bytes.size());
        return result;
    }

    tests::ModelBuilder network_;
    std::map<std::string, std::vector<T>> numbers_;
};

using Types = testing::Types<uint8_t, int8_t, int16_t, int32_t>;
TYPED_TEST_SUITE(Integers, Types);

TYPED_TEST(Integers, OperatorsWrapAround) {
    for (const Case& one : kCases)
        this->add(one, [&](onnx::NodeProto& node) {
            if (one.attribute == nullptr) return;
            onnx::AttributeProto& attribute = tests::ModelBuilder::attribute(node, one.attribute, 1);
            if (one.text == nullptr) return;
            attribute.set_type(onnx::AttributeProto::STRING);
            attribute.set_s(one.text);
        });
    const auto results = this->run();
    size_t output = 0;
    for (const Case& one : kCases) {
        std::vector<TypeParam> right;
        for (size_t i = 0; i < this->numbers_["a"].size(); i++) {
            const auto number = [&](size_t input) -> int64_t {
                return input < one.inputs.size() ? this->numbers_[one.inputs[input]][i] : 0;
            };
            right.push_back(static_cast<TypeParam>(one.right(number(0), number(1))));
        }
        EXPECT_EQ(this->numbers(results[output++]), right) << one.op << " on the chip";
        EXPECT_EQ(this->numbers(results[output++]), right) << one.op << ", folded";
    }
}

TYPED_TEST(Integers, CastsWrapAround) {
    constexpr int kTypes[] = {kType<uint8_t>, kType<int8_t>, kType<int16_t>, kType<int32_t>};
    for (const int type : kTypes)
        this->add({"Cast", {"a"}, {}},
                  [&](onnx::NodeProto& node) { tests::ModelBuilder::attribute(node, "to", type); });
    const auto results = this->run();
    size_t output = 0;
    const auto check = [&]<typename To>(To) {
        std::vector<To> right;
        for (const TypeParam a : this->numbers_["a"]) right.push_back(static_cast<To>(a));
        EXPECT_EQ(this->template numbers<To>(results[output++]), right) << "to " << kType<To> << " on the chip";
        EXPECT_EQ(this->template numbers<To>(results[output++]), right) << "to " << kType<To> << ", folded";
    };
    check(uint8_t{});
    check(int8_t{});
    check(int16_t{});
    check(int32_t{});
}

TYPED_TEST(Integers, SumsWrapAround) {
    this->add({"ReduceSum", {"a"}, {}}, [](onnx::NodeProto&) {});
    TensorProto& axis = this->network_.constant("axis", {}, TensorProto::INT64);
    axis.add_int64_data(0);
    this->network_.node("CumSum", {"a", "axis"}, {"sums"});
    this->network_.output("sums");
    const auto results = this->run();
    int64_t sum = 0;
    std::vector<TypeParam> sums;
    for (const TypeParam a : this->numbers_["a"]) sums.push_back(static_cast<TypeParam>(sum += a));
    EXPECT_EQ(this->numbers(results[0]), std::vector{sums.back()});
    EXPECT_EQ(this->numbers(results[1]), std::vector{sums.back()});
    EXPECT_EQ(this->numbers(results[2]), sums);
}

// Of these divisors, the product of the quotient 1 / n and n is less than 1 in f32.
TYPED_TEST(Integers, QuotientsByOneNumber) {
    constexpr int kDivisors[] = {41, 47, 55, 61, 83, 97, 107};
    for (const char* const op : {"Div", "Mod"})
        for (const int divisor : kDivisors) {
            const std::string name = fmt::format("{}-by-{}", op, divisor);
            this->network_.constant(name + "-d", {}, kType<TypeParam>).add_int32_data(divisor);
            this->network_.node(op, {"a", name + "-d"}, {name});
            this->network_.output(name);
        }
    auto& a = this->numbers_["a"];
    for (size_t i = 0; i < a.size(); i++) a[i] = static_cast<TypeParam>(i);
    const auto results = this->run();
    for (size_t output = 0; output < results.size(); output++) {
        const bool rest = output >= std::size(kDivisors);
        const int64_t divisor = kDivisors[output % std::size(kDivisors)];
        std::vector<TypeParam> right;
        for (const TypeParam n : a)
            right.push_back(static_cast<TypeParam>(rest ? remainder_of_floor(n, divisor) : n / divisor));
        EXPECT_EQ(this->numbers(results[output]), right) << (rest ? "Mod by " : "Div by ") << divisor;
    }
}

}  // namespace
}  // namespace sidra::compiler
