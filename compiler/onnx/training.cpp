// SPDX-License-Identifier: MIT
// Steps of optimisers: operators of the domain ai.onnx.preview.training.
#include <array>

#include "common.h"

namespace sidra::compiler {

using xnn::Binary;
using xnn::Unary;

namespace {

// The node's inputs: a rate, the number of the step, and then tensors of several kinds, of each kind as many.
class Step {
   public:
    Step(Node& n, size_t kinds) : n_(n), kinds_(kinds) {
        if (n.inputs() < 2 + kinds || (n.inputs() - 2) % kinds != 0)
            refuse("there are {} inputs instead of 2 and {} for each tensor", n.inputs(), kinds);
        if (Build::type_of(n[0]).getNumElements() != 1 || Build::type_of(n[1]).getNumElements() != 1)
            refuse("the rate and the number of the step must be one number each");
        rate = n.b.reshape(n[0], {});
        number = n.b.cast(n.b.reshape(n[1], {}), Build::element_of(n[0]));
    }
    size_t tensors() const { return (n_.inputs() - 2) / kinds_; }
    Value tensor(size_t kind, size_t i) const { return n_[2 + kind * tensors() + i]; }
    // The gradient, with the penalty for large elements: kinds 0 and 1 are the tensor and its gradient.
    Value gradient(size_t i) const {
        return n_.b.add(n_.b.mul(tensor(0, i), n_.number("norm_coefficient", 0)), tensor(1, i));
    }

    Value rate, number;

   private:
    Node& n_;
    const size_t kinds_;
};

// Of all tensors the first result, then of all the second, ...
template <size_t kResults, typename Update>
Values for_each_tensor(const Step& step, Update update) {
    Values results(kResults * step.tensors());
    for (size_t i = 0; i < step.tensors(); i++) {
        const std::array<Value, kResults> all = update(i);
        for (size_t k = 0; k < kResults; k++) results[k * step.tensors() + i] = all[k];
    }
    return results;
}

Values adagrad(Node& n) {
    Build& b = n.b;
    const Step step(n, 3);
    const Value rate = b.div(step.rate, b.add(b.mul(step.number, n.number("decay_factor", 0)), 1));
    return for_each_tensor<2>(step, [&](size_t i) -> std::array<Value, 2> {
        const Value gradient = step.gradient(i), sum = b.add(step.tensor(2, i), b.mul(gradient, gradient));
        const Value size = b.add(b.unary(Unary::sqrt, sum), n.number("epsilon", 0));
        return {b.sub(step.tensor(0, i), b.div(b.mul(gradient, rate), size)), sum};
    });
}

Values adam(Node& n) {
    Build& b = n.b;
    const Step step(n, 4);
    const double alpha = n.number("alpha", 0.9F), beta = n.number("beta", 0.999F);
    // Both averages begin with zeros, which counts in the first steps.
    const auto share = [&](double base) {
        return b.sub(b.number(1, step.number), power(b, b.number(base, step.number), step.number));
    };
    const Value corrected = b.div(b.mul(step.rate, b.unary(Unary::sqrt, share(beta))), share(alpha));
    const Value rate = b.select(b.binary(Binary::lt, b.number(0, step.number), step.number), corrected, step.rate);
    return for_each_tensor<3>(step, [&](size_t i) -> std::array<Value, 3> {
        const Value gradient = step.gradient(i);
        const Value average = b.add(b.mul(step.tensor(2, i), alpha), b.mul(gradient, 1 - alpha));
        const Value square = b.add(b.mul(step.tensor(3, i), beta), b.mul(b.mul(gradient, gradient), 1 - beta));
        const Value size = b.add(b.unary(Unary::sqrt, square), n.number("epsilon", 0));
        const Value next = b.sub(step.tensor(0, i), b.div(b.mul(average, rate), size));
        return {b.mul(next, 1 - static_cast<double>(n.number("norm_coefficient_post", 0))), average, square};
    });
}

Values momentum(Node& n) {
    Build& b = n.b;
    const Step step(n, 3);
    const double alpha = n.number("alpha", 0);
    const std::string mode = n.text("mode", "");
    if (mode != "standard" && mode != "nesterov") refuse("the mode {} is not known", in_quotes(mode));
    const Value beta = b.select(b.binary(Binary::lt, b.number(0, step.number), step.number),
                                b.number(n.number("beta", 0), step.rate), b.number(1, step.rate));
    return for_each_tensor<2>(step, [&](size_t i) -> std::array<Value, 2> {
        const Value gradient = step.gradient(i);
        const Value speed = b.add(b.mul(step.tensor(2, i), alpha), b.mul(gradient, beta));
        const Value direction = mode == "standard" ? speed : b.add(gradient, b.mul(speed, alpha));
        return {b.sub(step.tensor(0, i), b.mul(direction, step.rate)), speed};
    });
}

constexpr Operator kOperators[] = {
    {"Adagrad", 1, 1, adagrad},
    {"Adam", 1, 1, adam},
    {"Momentum", 1, 1, momentum},
};

}  // namespace

std::span<const Operator> training_operators() { return kOperators; }

}  // namespace sidra::compiler
