// SPDX-License-Identifier: MIT
// Recurrent networks: the steps of the sequence one after another, as far as one needs the one before. What all steps
// have in common, the product of the input, is one product.
#include <algorithm>

#include "common.h"

namespace sidra::compiler {

using xnn::Unary;

namespace {

// More steps would be more operations than anybody wants to compile.
constexpr int64_t kStepsMax = 2048;

// A node's inputs and attributes that all kinds have.
class Recurrent {
   public:
    Recurrent(Node& n, int64_t gates, std::vector<std::string> activations, int64_t functions)
        : n_(n),
          gates_(gates),
          names_(n.texts("activations")),
          alphas_(n.numbers("activation_alpha")),
          betas_(n.numbers("activation_beta")) {
        Build& b = n.b;
        batch_first_ = n.flag("layout");
        input_ = batch_first_ ? b.move_axis(n[0], 1, 0) : n[0];
        const Shape shape = Build::shape_of(input_);
        if (shape.size() != 3) refuse("the input must have three dimensions");
        steps = shape[0];
        batch = shape[1];
        if (steps < 1 || steps > kStepsMax)
            refuse("the sequence has {} steps; at most {} are possible", steps, kStepsMax);
        const std::string direction = n.text("direction", "forward");
        if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
            refuse("the direction is {}", in_quotes(direction));
        directions = direction == "bidirectional" ? 2 : 1;
        reverse_ = direction == "reverse";
        const Shape weights = Build::shape_of(n[2]);
        if (weights.size() != 3 || weights[0] != directions || weights[1] != gates * weights[2])
            refuse("the weights of the state are {} elements", xnn::text_of(weights));
        hidden = weights[2];
        if (n.integer("hidden_size", hidden) != hidden) refuse("hidden_size is not the size of the weights");
        if (n.optional(4)) {
            const Shape lengths = n.constant_integers(4, "sequence_lens");
            if (llvm::any_of(lengths, [&](int64_t length) { return length != steps; }))
                refuse("sequences that are shorter than the input are not supported");
        }
        if (names_.empty())
            for (int64_t d = 0; d < directions; d++) llvm::append_range(names_, activations);
        if (static_cast<int64_t>(names_.size()) != directions * functions)
            refuse("there must be {} activations", directions * functions);
        functions_ = functions;
        clip_ = n.number("clip", 0);
    }

    int64_t steps, batch, hidden, directions;

    // The part of an input that belongs to a direction, without that dimension; null if the node does not have it.
    Value part(size_t input, int64_t direction) const {
        const Value all = n_.optional(input);
        if (!all) return Value();
        Shape shape = Build::shape_of(all);
        if (shape.empty() || shape[0] != directions) refuse("input {} does not have {} directions", input, directions);
        shape.erase(shape.begin());
        return n_.b.reshape(n_.b.narrow(all, 0, direction, 1), shape);
    }

    // The state before the first step.
    Value initial(size_t input, int64_t direction) const {
        Build& b = n_.b;
        if (!n_.optional(input)) return b.splat(0, Build::element_of(input_), {batch, hidden});
        const Value all = batch_first_ ? b.move_axis(n_[input], 1, 0) : n_[input];
        return b.reshape(b.narrow(all, 0, direction, 1), {batch, hidden});
    }

    // The input of each step times its weights, plus the biases of the input, and those of the state in the gates
    // before `state_biases`: steps x batch x gates * hidden.
    Value projected(int64_t direction, int64_t state_biases) const {
        Build& b = n_.b;
        const Shape shape = Build::shape_of(input_);
        const Value rows = b.reshape(input_, {steps * batch, shape[2]});
        Value result = b.matmul(rows, b.transpose(part(1, direction), {1, 0}));
        if (const Value biases = part(3, direction)) {
            result = b.add(result, b.narrow(biases, 0, 0, gates_ * hidden));
            if (state_biases > 0) {
                const Value state = b.narrow(biases, 0, gates_ * hidden, state_biases * hidden);
                Value padded = state;
                if (state_biases < gates_)
                    padded =
                        b.concat({state, b.splat(0, Build::element_of(state), {(gates_ - state_biases) * hidden})}, 0);
                result = b.add(result, padded);
            }
        }
        return b.reshape(result, {steps, batch, gates_ * hidden});
    }

    // The rows of the state's weights of some gates, transposed.
    Value state_weights(int64_t direction, int64_t first, int64_t count) const {
        return n_.b.transpose(n_.b.narrow(part(2, direction), 0, first * hidden, count * hidden), {1, 0});
    }

    Value gate(Value all, int64_t i) const { return n_.b.narrow(all, -1, i * hidden, hidden); }

    Value activate(int64_t direction, int64_t function, Value x) const {
        Build& b = n_.b;
        if (clip_ > 0) x = b.min(b.max(x, -clip_), clip_);
        const auto i = static_cast<size_t>(direction * functions_ + function);
        // The parameters are those of the activations that have some, in order.
        const auto parameter = [&](const std::vector<float>& all) {
            return i < all.size() ? std::optional(all[i]) : std::nullopt;
        };
        return activation(b, names_[i], x, parameter(alphas_), parameter(betas_));
    }

    // Calls step(t) in the order of a direction. It returns the state after the step; the results are those of all
    // steps.
    template <typename Step>
    llvm::SmallVector<Value> walk(int64_t direction, Step step) const {
        const bool backwards = reverse_ || direction == 1;
        llvm::SmallVector<Value> states;
        for (int64_t t = 0; t < steps; t++) states.push_back(step(backwards ? steps - 1 - t : t));
        if (backwards) std::reverse(states.begin(), states.end());
        return states;
    }

    Value at(Value all, int64_t step) const {
        return n_.b.reshape(n_.b.narrow(all, 0, step, 1), {batch, Build::shape_of(all).back()});
    }

    // The node's outputs: all states, the last ones, and other last values.
    Values results(const std::vector<llvm::SmallVector<Value>>& states, const std::vector<Value>& others) const {
        Build& b = n_.b;
        Values all;
        llvm::SmallVector<Value> whole, last;
        for (int64_t d = 0; d < directions; d++) {
            const auto& steps_of = states[static_cast<size_t>(d)];
            llvm::SmallVector<Value> rows;
            for (const Value state : steps_of) rows.push_back(b.reshape(state, {1, 1, batch, hidden}));
            if (n_.wants(0)) whole.push_back(b.concat(rows, 0));
            last.push_back(b.reshape(reverse_ || d == 1 ? steps_of.front() : steps_of.back(), {1, batch, hidden}));
        }
        // Y is steps x directions x batch x hidden, or batch x steps x directions x hidden.
        Value y = n_.wants(0) ? b.concat(whole, 1) : Value();
        if (y && batch_first_) y = b.transpose(y, {2, 0, 1, 3});
        all.push_back(y);
        all.push_back(with_batch(b.concat(last, 0)));
        if (!others.empty()) {
            llvm::SmallVector<Value> rows;
            for (const Value other : others) rows.push_back(b.reshape(other, {1, batch, hidden}));
            all.push_back(with_batch(b.concat(rows, 0)));
        }
        return all;
    }

   private:
    Value with_batch(Value value) const { return batch_first_ ? n_.b.move_axis(value, 1, 0) : value; }

    Node& n_;
    int64_t gates_, functions_;
    std::vector<std::string> names_;
    std::vector<float> alphas_, betas_;
    float clip_;
    bool batch_first_, reverse_;
    Value input_;
};

Values rnn(Node& n) {
    Build& b = n.b;
    const Recurrent r(n, 1, {"Tanh"}, 1);
    std::vector<llvm::SmallVector<Value>> states;
    for (int64_t d = 0; d < r.directions; d++) {
        const Value inputs = r.projected(d, 1), weights = r.state_weights(d, 0, 1);
        Value h = r.initial(5, d);
        states.push_back(
            r.walk(d, [&](int64_t t) { return h = r.activate(d, 0, b.add(r.at(inputs, t), b.matmul(h, weights))); }));
    }
    return r.results(states, {});
}

// Gates: input, output, forget, cell.
Values lstm(Node& n) {
    Build& b = n.b;
    const Recurrent r(n, 4, {"Sigmoid", "Tanh", "Tanh"}, 3);
    n.only("input_forget", 0);
    std::vector<llvm::SmallVector<Value>> states;
    std::vector<Value> cells;
    for (int64_t d = 0; d < r.directions; d++) {
        const Value inputs = r.projected(d, 4), weights = r.state_weights(d, 0, 4), peepholes = r.part(7, d);
        // Peepholes are in the order input, output, forget.
        const auto peep = [&](Value x, Value cell, int64_t i) {
            return peepholes ? b.add(x, b.mul(cell, r.gate(peepholes, i))) : x;
        };
        Value h = r.initial(5, d), c = r.initial(6, d);
        states.push_back(r.walk(d, [&](int64_t t) {
            const Value all = b.add(r.at(inputs, t), b.matmul(h, weights));
            const Value input = r.activate(d, 0, peep(r.gate(all, 0), c, 0));
            const Value forget = r.activate(d, 0, peep(r.gate(all, 2), c, 2));
            c = b.add(b.mul(forget, c), b.mul(input, r.activate(d, 1, r.gate(all, 3))));
            const Value output = r.activate(d, 0, peep(r.gate(all, 1), c, 1));
            return h = b.mul(output, r.activate(d, 2, c));
        }));
        cells.push_back(c);
    }
    return r.results(states, cells);
}

// Gates: update, reset, hidden.
Values gru(Node& n) {
    Build& b = n.b;
    const Recurrent r(n, 3, {"Sigmoid", "Tanh"}, 2);
    const bool linear = n.flag("linear_before_reset");
    std::vector<llvm::SmallVector<Value>> states;
    for (int64_t d = 0; d < r.directions; d++) {
        // With linear_before_reset, the reset gate multiplies the state's bias of the hidden gate, too.
        const Value inputs = r.projected(d, linear ? 2 : 3);
        const Value weights = r.state_weights(d, 0, 2), hidden = r.state_weights(d, 2, 1), biases = r.part(3, d);
        const Value bias = linear && biases ? b.narrow(biases, 0, 5 * r.hidden, r.hidden) : Value();
        Value h = r.initial(5, d);
        states.push_back(r.walk(d, [&](int64_t t) {
            const Value all = r.at(inputs, t);
            const Value both = b.add(b.narrow(all, -1, 0, 2 * r.hidden), b.matmul(h, weights));
            const Value update = r.activate(d, 0, r.gate(both, 0)), reset = r.activate(d, 0, r.gate(both, 1));
            Value from_state;
            if (linear) {
                const Value product = b.matmul(h, hidden);
                from_state = b.mul(reset, bias ? b.add(product, bias) : product);
            } else {
                from_state = b.matmul(b.mul(reset, h), hidden);
            }
            const Value next = r.activate(d, 1, b.add(r.gate(all, 2), from_state));
            const Value kept = b.mul(update, h), taken = b.mul(b.sub(b.number(1, update), update), next);
            return h = b.add(taken, kept);
        }));
    }
    return r.results(states, {});
}

constexpr Operator kOperators[] = {
    {"GRU", 7, 21, gru},
    {"LSTM", 7, 21, lstm},
    {"RNN", 7, 21, rnn},
};

}  // namespace

std::span<const Operator> recurrent_operators() { return kOperators; }

}  // namespace sidra::compiler
