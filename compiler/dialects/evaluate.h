// SPDX-License-Identifier: MIT
// What operations of `xnn` compute, on small constants.
#ifndef SIDRA_COMPILER_EVALUATE_H
#define SIDRA_COMPILER_EVALUATE_H

#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/BuiltinTypes.h>

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace sidra::xnn {

// Constants with more elements than this are not folded.
inline constexpr int64_t kFoldLimit = 1 << 16;

// The elements of a constant. f16 and bf16 are floats that their type can represent.
struct Elements {
    using Floats = std::vector<float>;
    using Integers = std::vector<int64_t>;
    mlir::RankedTensorType type;
    std::variant<Floats, Integers> numbers;
};

// The elements of a constant in the text; nothing for other attributes.
std::optional<Elements> elements_of(mlir::Attribute attribute);
mlir::DenseElementsAttr attribute_of(const Elements& elements);

// The number as an element of a type: rounded to a float type, modulo 2^bits to an integer type. A bool is whether it
// is not zero.
float store(float number, mlir::Type type);
int64_t store(int64_t number, mlir::Type type);
// A number that may be a fraction as an element of an integer type: towards zero, saturated; 0 for NaN.
int64_t saturate(double number, mlir::Type type);

// The result of an operation, from its operands. Nothing for products, windows and whatever else only the chip
// computes, and where the result is not defined (an index outside of its input). Integers of 64 bits have 64 bits here:
// they are the arithmetic of shapes. Sums have the order of the chip. exp() and the like are rounded correctly; the
// chip's own differ in the last bits.
std::optional<Elements> evaluate(mlir::Operation* op, llvm::ArrayRef<Elements> operands);

}  // namespace sidra::xnn

#endif
