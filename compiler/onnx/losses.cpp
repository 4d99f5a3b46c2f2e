// SPDX-License-Identifier: MIT
// Losses: how far scores are from the classes that they should have.
#include "common.h"

namespace sidra::compiler {

using xnn::Binary;
using xnn::Reduction;
using xnn::Unary;

namespace {

// Of logarithms of probabilities, N x C x d1 x ..., and classes, N x d1 x ...
Value negative_log_likelihood(Node& n, Value logarithms, Value classes, Value weights) {
    Build& b = n.b;
    if (Build::rank_of(logarithms) < 2) refuse("the scores need two dimensions at least");
    const Value scores = b.move_axis(logarithms, 1, -1);
    const int64_t count = Build::shape_of(scores).back();
    Shape places = Build::shape_of(classes), columns(places.size(), 1);
    places.push_back(1);
    columns.push_back(count);
    const Value wanted = b.cast(classes, b.integer(32));
    const Value hot = b.binary(Binary::eq, b.reshape(wanted, places), b.iota(columns, -1));
    const auto chosen = [&](Value values) {
        return b.reshape(b.reduce(Reduction::sum, b.select(hot, values, b.number(0, values))),
                         Build::shape_of(classes));
    };
    Value weight = weights ? chosen(weights) : b.splat(1, Build::element_of(scores), Build::shape_of(classes));
    if (n.has("ignore_index"))
        weight = b.select(b.binary(Binary::eq, wanted, static_cast<double>(n.integer("ignore_index"))),
                          b.number(0, weight), weight);
    const Value loss = b.unary(Unary::neg, b.mul(chosen(scores), weight));
    const std::string reduction = n.text("reduction", "mean");
    if (reduction == "none") return loss;
    if (reduction != "mean" && reduction != "sum") refuse("the reduction {} is not known", in_quotes(reduction));
    const auto sum = [&](Value value) {
        return b.reshape(b.reduce(Reduction::sum, b.reshape(value, {Build::type_of(value).getNumElements()})), {});
    };
    return reduction == "sum" ? sum(loss) : b.div(sum(loss), sum(weight));
}

Values negative_log_likelihood_loss(Node& n) { return {negative_log_likelihood(n, n[0], n[1], n.optional(2))}; }

Values softmax_cross_entropy_loss(Node& n) {
    const Value logarithms = on_axis(n.b, n[0], 1, [&](Value rows) {
        return in_f32(n.b, rows, [&](Value wide) { return log_softmax(n.b, wide); });
    });
    Values results = {negative_log_likelihood(n, logarithms, n[1], n.optional(2))};
    if (n.outputs() > 1) results.push_back(logarithms);
    return results;
}

const Operator kOperators[] = {
    {"NegativeLogLikelihoodLoss", 12, 21, negative_log_likelihood_loss},
    {"SoftmaxCrossEntropyLoss", 12, 21, softmax_cross_entropy_loss},
};

}  // namespace

std::span<const Operator> loss_operators() { return kOperators; }

}  // namespace sidra::compiler
