// SPDX-License-Identifier: MIT
// Control flow. A compiled model has a fixed list of calls, so loops are written out, and of a condition that is not
// known before a run both branches are computed.
#include "common.h"

namespace sidra::compiler {

using xnn::axis_of;

namespace {

// More steps would be more operations than anybody wants to compile.
constexpr int64_t kStepsMax = 2048;

Values if_else(Node& n) {
    Build& b = n.b;
    if (Build::type_of(n[0]).getNumElements() != 1) refuse("the condition must be one element");
    if (const std::optional<double> known = n.splat(n[0]))
        return n.graph(*known != 0 ? "then_branch" : "else_branch", {});
    const Value condition = b.reshape(n[0], {});
    const Values yes = n.graph("then_branch", {}), no = n.graph("else_branch", {});
    if (yes.size() != no.size()) refuse("the branches have {} and {} results", yes.size(), no.size());
    Values results;
    for (size_t i = 0; i < yes.size(); i++) {
        if (Build::shape_of(yes[i]) != Build::shape_of(no[i]))
            refuse("the shape of result {} depends on the condition (input 0), so it must be a constant", i);
        results.push_back(b.select(condition, yes[i], no[i]));
    }
    return results;
}

// Slices behind each other, along a new dimension.
Value stacked(Build& b, std::vector<Value> slices, int64_t axis) {
    for (Value& slice : slices) {
        Shape shape = Build::shape_of(slice);
        axis = axis_of(axis, static_cast<int64_t>(shape.size()) + 1);
        shape.insert(shape.begin() + axis, 1);
        slice = b.reshape(slice, shape);
    }
    return b.concat(slices, axis);
}

// One element of a dimension, without it.
Value element_of(Build& b, Value value, int64_t axis, int64_t index) {
    const Value part = b.narrow(value, axis, index, 1);
    Shape shape = Build::shape_of(part);
    shape.erase(shape.begin() + axis_of(axis, static_cast<int64_t>(shape.size())));
    return b.reshape(part, shape);
}

// What each step gives besides its state.
class Collected {
   public:
    explicit Collected(size_t kinds) : slices_(kinds) {}
    void add(size_t kind, Value value) { slices_[kind].push_back(value); }
    Value in_order(Build& b, size_t kind, int64_t axis, bool reverse) const {
        std::vector<Value> slices = slices_[kind];
        if (slices.empty()) refuse("there is no step, so the shape of result {} is not known", kind);
        if (reverse) std::reverse(slices.begin(), slices.end());
        return stacked(b, std::move(slices), axis);
    }
    size_t kinds() const { return slices_.size(); }

   private:
    std::vector<std::vector<Value>> slices_;
};

Values loop(Node& n) {
    Build& b = n.b;
    int64_t steps = kStepsMax + 1;
    if (n.optional(0)) steps = n.constant_integer(0, "the number of steps");
    bool going = !n.optional(1) || n.constant_integer(1, "the condition") != 0;
    Values state;
    for (size_t i = 2; i < n.inputs(); i++) state.push_back(n[i]);
    const size_t carried = state.size();
    if (n.outputs() < carried) refuse("there are {} results for {} values of the state", n.outputs(), carried);
    Collected collected(n.outputs() - carried);
    for (int64_t step = 0; step < steps && going; step++) {
        if (step == kStepsMax) refuse("the loop has more than {} steps", kStepsMax);
        Values inputs = {b.reshape(b.integers({step}), {}), b.splat(1, b.integer(1))};
        llvm::append_range(inputs, state);
        const Values results = n.graph("body", inputs);
        if (results.size() != 1 + carried + collected.kinds())
            refuse("the body has {} results instead of {}", results.size(), 1 + carried + collected.kinds());
        const std::optional<double> again = n.splat(results[0]);
        if (!again) refuse("the condition of its body is not known before a run; export the model without the loop");
        going = *again != 0;
        for (size_t i = 0; i < carried; i++) state[i] = results[1 + i];
        for (size_t i = 0; i < collected.kinds(); i++) collected.add(i, results[1 + carried + i]);
    }
    for (size_t i = 0; i < collected.kinds(); i++)
        state.push_back(n.wants(carried + i) ? collected.in_order(b, i, 0, false) : Value());
    return state;
}

Values scan(Node& n) {
    Build& b = n.b;
    const int64_t scanned = n.integer("num_scan_inputs");
    if (scanned < 1 || static_cast<size_t>(scanned) > n.inputs()) refuse("num_scan_inputs is {}", scanned);
    const size_t carried = n.inputs() - static_cast<size_t>(scanned);
    if (n.outputs() < carried) refuse("there are {} results for {} values of the state", n.outputs(), carried);
    Collected collected(n.outputs() - carried);
    const auto listed = [&](std::string_view name, size_t count) {
        Shape list = n.integers(name);
        if (list.empty()) list.assign(count, 0);
        if (list.size() != count) refuse("{} has {} numbers instead of {}", name, list.size(), count);
        return list;
    };
    const Shape axes = listed("scan_input_axes", static_cast<size_t>(scanned)),
                directions = listed("scan_input_directions", static_cast<size_t>(scanned)),
                output_axes = listed("scan_output_axes", collected.kinds()),
                output_directions = listed("scan_output_directions", collected.kinds());
    const auto size_of = [&](size_t i) {
        const Value input = n[carried + i];
        return Build::shape_of(input)[static_cast<size_t>(axis_of(axes[i], Build::rank_of(input)))];
    };
    const int64_t steps = size_of(0);
    if (steps > kStepsMax) refuse("the sequence has {} steps; at most {} are possible", steps, kStepsMax);
    for (size_t i = 1; i < axes.size(); i++)
        if (size_of(i) != steps) refuse("the sequences have {} and {} steps", steps, size_of(i));
    Values state;
    for (size_t i = 0; i < carried; i++) state.push_back(n[i]);
    for (int64_t step = 0; step < steps; step++) {
        Values inputs = state;
        for (size_t i = 0; i < axes.size(); i++)
            inputs.push_back(element_of(b, n[carried + i], axes[i], directions[i] != 0 ? steps - 1 - step : step));
        const Values results = n.graph("body", inputs);
        if (results.size() != carried + collected.kinds())
            refuse("the body has {} results instead of {}", results.size(), carried + collected.kinds());
        for (size_t i = 0; i < carried; i++) state[i] = results[i];
        for (size_t i = 0; i < collected.kinds(); i++) collected.add(i, results[carried + i]);
    }
    for (size_t i = 0; i < collected.kinds(); i++)
        state.push_back(n.wants(carried + i) ? collected.in_order(b, i, output_axes[i], output_directions[i] != 0)
                                             : Value());
    return state;
}

constexpr Operator kOperators[] = {
    {"If", 1, 21, if_else},
    {"Loop", 1, 21, loop},
    {"Scan", 9, 21, scan},
};

}  // namespace

std::span<const Operator> control_operators() { return kOperators; }

}  // namespace sidra::compiler
