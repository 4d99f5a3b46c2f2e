// SPDX-License-Identifier: MIT
// The table of operators.
#ifndef SIDRA_COMPILER_ONNX_OPERATORS_H
#define SIDRA_COMPILER_ONNX_OPERATORS_H

#include <mlir/IR/Value.h>

#include <span>
#include <string_view>

namespace sidra::compiler {

class Node;

using Values = llvm::SmallVector<mlir::Value>;

// The operator sets that the importer knows.
inline constexpr int kOldestSet = 1;
inline constexpr int kNewestSet = 21;

struct Operator {
    std::string_view name;
    // The operator sets in which the function knows what the operator means.
    int since;
    int until;
    // The values of the node's outputs; those that it does not have, or that are last and not used, may be missing.
    Values (*import)(Node& node);
};

// The table's parts, by kind. Each is in the file of its name.
std::span<const Operator> elementwise_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> index_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> normalisation_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> product_operators();
std::span<const Operator> window_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> quantised_operators();
std::span<const Operator> sampling_operators();
std::span<const Operator> signal_operators();
std::span<const Operator> control_operators();
// Of the domain of this name.
inline constexpr std::string_view kTrainingDomain = "ai.onnx.preview.training";
std::span<const Operator> training_operators();

// Null: the table does not have it. domain: "" or that of training.
const Operator* find_operator(std::string_view domain, std::string_view name);

// Why the table does not have it, as the end of a sentence.
std::string_view reason_against(std::string_view name);

}  // namespace sidra::compiler

#endif
