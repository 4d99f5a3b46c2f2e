// SPDX-License-Identifier: MIT
// Products of matrices.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "common.h"
#include "shapes.h"

namespace sidra::compiler {

using xnn::Reduction;

namespace {

int64_t count_of(llvm::ArrayRef<int64_t> sizes) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
}

// Of integers, which the chip multiplies with 8 bits only.
Value product_on_host(Build& b, Value lhs, Value rhs) {
    const Shape left = Build::shape_of(lhs), right = Build::shape_of(rhs);
    const int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
    Shape outer(left.begin(), left.end() - 2);
    if (!xnn::broadcast(outer, llvm::ArrayRef(right).drop_back(2))) refuse("the factors do not broadcast");
    const auto matrices = [&](Value factor, int64_t rows, int64_t columns) {
        Shape shape = outer;
        shape.append({rows, columns});
        return b.reshape(b.broadcast(factor, shape), {count_of(outer), rows, columns});
    };
    const Value inputs[] = {matrices(lhs, m, k), matrices(rhs, right[right.size() - 2], n)};
    Shape shape = outer;
    shape.append({m, n});
    return b.reshape(b.host("product", inputs, {count_of(outer), m, n}, Build::element_of(lhs)), shape);
}

// Matrices of the last two dimensions.
Values determinant(Node& n) {
    Build& b = n.b;
    const Shape shape = Build::shape_of(n[0]);
    if (shape.size() < 2) refuse("the input must have at least two dimensions");
    const auto outer = llvm::ArrayRef(shape).drop_back(2);
    return {in_f32(b, n[0], [&](Value x) {
        const Value matrices = b.reshape(x, {count_of(outer), shape[shape.size() - 2], shape.back()});
        return b.reshape(b.host("determinant", {matrices}, {count_of(outer)}, b.f32()), outer);
    })};
}

// A vector is a row on the left, and a column on the right; the result does not have this dimension.
Value product(Build& b, Value lhs, Value rhs) {
    const Shape left = Build::shape_of(lhs), right = Build::shape_of(rhs);
    if (left.empty() || right.empty()) refuse("a factor is a scalar");
    const Value a = left.size() == 1 ? b.reshape(lhs, {1, left[0]}) : lhs;
    const Value c = right.size() == 1 ? b.reshape(rhs, {right[0], 1}) : rhs;
    const Value result = Build::is_float(a) ? b.matmul(a, c) : product_on_host(b, a, c);
    Shape shape = Build::shape_of(result);
    if (right.size() == 1) shape.pop_back();
    if (left.size() == 1) shape.erase(shape.end() - (right.size() == 1 ? 1 : 2));
    return b.reshape(result, shape);
}

Values matmul(Node& n) { return {product(n.b, n[0], n[1])}; }

Values gemm(Node& n) {
    Build& b = n.b;
    Value lhs = n[0], rhs = n[1];
    if (Build::rank_of(lhs) != 2 || Build::rank_of(rhs) != 2) refuse("the factors must be matrices");
    if (n.flag("transA")) lhs = b.transpose(lhs, {1, 0});
    if (n.flag("transB")) rhs = b.transpose(rhs, {1, 0});
    const auto times = [&](Value value, float factor) { return factor == 1 ? value : b.mul(value, factor); };
    const float alpha = n.number("alpha", 1), beta = n.number("beta", 1);
    if (!Build::is_float(lhs) && (alpha != std::floor(alpha) || beta != std::floor(beta)))
        refuse("alpha and beta of integers must be integers");
    Value result = times(product(b, lhs, rhs), alpha);
    if (const Value bias = n.optional(2)) result = b.add(result, times(bias, beta));
    return {result};
}

// ---- Einsum ---------------------------------------------------------------------------------------------------------

using Letters = std::string;

bool has(const Letters& letters, char c) { return letters.find(c) != Letters::npos; }

// Sums over the dimensions that are not in `kept`, and puts the others in its order; those that are missing have
// size 1.
Value arrange(Build& b, Value value, Letters letters, const Letters& kept) {
    Shape summed;
    for (size_t d = 0; d < letters.size(); d++)
        if (!has(kept, letters[d])) summed.push_back(static_cast<int64_t>(d));
    if (!summed.empty()) {
        value = along(b, value, summed, [&](Value rows) { return b.reduce(Reduction::sum, rows); });
        Shape shape;
        const Shape from = Build::shape_of(value);
        for (size_t d = 0; d < letters.size(); d++)
            if (has(kept, letters[d])) shape.push_back(from[d]);
        value = b.reshape(value, shape);
        std::erase_if(letters, [&](char c) { return !has(kept, c); });
    }
    Shape permutation, shape;
    const Shape from = Build::shape_of(value);
    for (const char c : kept) {
        const size_t d = letters.find(c);
        if (d != Letters::npos) permutation.push_back(static_cast<int64_t>(d));
        shape.push_back(d == Letters::npos ? 1 : from[d]);
    }
    return b.reshape(b.transpose(value, permutation), shape);
}

// The product of two operands, with the dimensions in `wanted`.
Value contract(Build& b, Value lhs, const Letters& left, Value rhs, const Letters& right, const Letters& wanted) {
    Letters batch, rows, columns, inner;
    for (const char c : left) {
        const bool both = has(right, c), kept = has(wanted, c);
        if (both) (kept ? batch : inner) += c;
        else if (kept) rows += c;
    }
    for (const char c : right)
        if (!has(left, c) && has(wanted, c)) columns += c;
    const Value a = arrange(b, lhs, left, batch + rows + inner), c = arrange(b, rhs, right, batch + inner + columns);
    const Shape from = Build::shape_of(a), to = Build::shape_of(c);
    const auto all_a = llvm::ArrayRef(from), all_c = llvm::ArrayRef(to);
    Shape shape(all_a.take_front(batch.size() + rows.size()));
    llvm::append_range(shape, all_c.take_back(columns.size()));
    const int64_t outer = count_of(all_a.take_front(batch.size())), k = count_of(all_a.take_back(inner.size()));
    const Value product = b.matmul(b.reshape(a, {outer, count_of(all_a.slice(batch.size(), rows.size())), k}),
                                   b.reshape(c, {outer, k, count_of(all_c.take_back(columns.size()))}));
    return arrange(b, b.reshape(product, shape), batch + rows + columns, wanted);
}

Values einsum(Node& n) {
    Build& b = n.b;
    std::string equation = n.text("equation", "");
    std::erase(equation, ' ');
    if (equation.find('.') != std::string::npos) refuse("an equation with '...' is not supported");
    const size_t arrow = equation.find("->");
    std::vector<Letters> operands(1);
    for (const char c : equation.substr(0, arrow))
        if (c == ',') operands.emplace_back();
        else if (std::isalpha(static_cast<unsigned char>(c))) operands.back() += c;
        else refuse("the equation {} is not understood", in_quotes(equation));
    Letters wanted;
    if (arrow != std::string::npos) wanted = equation.substr(arrow + 2);
    else {
        std::string all;
        for (const Letters& operand : operands) all += operand;
        std::sort(all.begin(), all.end());
        for (const char c : all)
            if (std::count(all.begin(), all.end(), c) == 1) wanted += c;
    }
    if (operands.size() != n.inputs())
        refuse("the equation has {} operands for {} inputs", operands.size(), n.inputs());
    std::map<char, int64_t> sizes;
    for (size_t i = 0; i < operands.size(); i++) {
        if (static_cast<int64_t>(operands[i].size()) != Build::rank_of(n[i]))
            refuse("operand {} of the equation has {} letters for {} dimensions", i, operands[i].size(),
                   Build::rank_of(n[i]));
        Letters sorted = operands[i];
        std::sort(sorted.begin(), sorted.end());
        if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
            refuse("diagonals (a letter twice in one operand) are not supported");
        for (size_t d = 0; d < operands[i].size(); d++)
            if (const int64_t size = Build::shape_of(n[i])[d];
                sizes.try_emplace(operands[i][d], size).first->second != size)
                refuse("the operands have different sizes for '{}'", operands[i][d]);
    }
    for (const char c : wanted)
        if (std::none_of(operands.begin(), operands.end(), [&](const Letters& one) { return has(one, c); }) ||
            std::count(wanted.begin(), wanted.end(), c) != 1)
            refuse("the equation {} is not understood", in_quotes(equation));
    Value result = n[0];
    Letters letters = operands[0];
    for (size_t i = 1; i < operands.size(); i++) {
        // What is still needed after this product.
        Letters needed;
        for (const char c : letters + operands[i]) {
            const bool later =
                has(wanted, c) || std::any_of(operands.begin() + static_cast<std::ptrdiff_t>(i) + 1, operands.end(),
                                              [&](const Letters& one) { return has(one, c); });
            if (later && !has(needed, c)) needed += c;
        }
        if (i + 1 == operands.size()) needed = wanted;
        result = contract(b, result, letters, n[i], operands[i], needed);
        letters = needed;
    }
    return {arrange(b, result, letters, wanted)};
}

constexpr Operator kOperators[] = {
    {"Det", 11, 21, determinant},
    {"Einsum", 12, 21, einsum},
    {"Gemm", 1, 21, gemm},
    {"MatMul", 1, 21, matmul},
};

}  // namespace

std::span<const Operator> product_operators() { return kOperators; }

}  // namespace sidra::compiler
