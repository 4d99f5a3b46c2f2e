// SPDX-License-Identifier: MIT
// Makes operations of `xnn`: finds the types of their results, folds them, and refuses operands that do not suit.
#ifndef SIDRA_COMPILER_BUILD_H
#define SIDRA_COMPILER_BUILD_H

#include <stdexcept>
#include <string>

#include "evaluate.h"
#include "xnn.h"

namespace sidra::xnn {

using Shape = llvm::SmallVector<int64_t>;

// What a builder refuses, and why.
class BuildError : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

// Limits for files that describe more than anybody wants to compute.
inline constexpr int64_t kRankMax = 32;
inline constexpr int64_t kElementsMax = int64_t{1} << 38;
inline constexpr size_t kOperationsMax = 1 << 20;
inline constexpr int64_t kFoldedMax = int64_t{1} << 25;

// "2 x 3"
std::string text_of(llvm::ArrayRef<int64_t> shape);

class Build {
   public:
    using Value = mlir::Value;
    using Type = mlir::Type;

    Build(mlir::OpBuilder builder, mlir::Location location) : builder_(builder), location_(location) {}
    // Of the operations that follow.
    void set_location(mlir::Location location) { location_ = location; }
    mlir::Location location() const { return location_; }
    mlir::OpBuilder& builder() { return builder_; }

    static mlir::RankedTensorType type_of(Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
    static Type element_of(Value value) { return type_of(value).getElementType(); }
    static Shape shape_of(Value value) { return Shape(type_of(value).getShape()); }
    static int64_t rank_of(Value value) { return type_of(value).getRank(); }
    static bool is_float(Value value) { return mlir::isa<mlir::FloatType>(element_of(value)); }
    Type f32() { return builder_.getF32Type(); }
    Type integer(unsigned bits) { return builder_.getIntegerType(bits); }
    // A type within the limits.
    mlir::RankedTensorType tensor(llvm::ArrayRef<int64_t> shape, Type element);

    // ---- Constants
    Value constant(mlir::Attribute value, mlir::RankedTensorType type);
    Value constant(const Elements& elements) { return constant(attribute_of(elements), elements.type); }
    Value integers(llvm::ArrayRef<int64_t> numbers);
    Value floats(llvm::ArrayRef<float> numbers);
    // One number, for all elements of a shape; without shape: a scalar, which broadcasts.
    Value splat(double number, Type element, llvm::ArrayRef<int64_t> shape = {});
    Value number(double number, Value like) { return splat(number, element_of(like)); }

    // ---- Elementwise
    Value unary(Unary function, Value input);
    Value binary(Binary function, Value lhs, Value rhs);
    Value binary(Binary function, Value lhs, double rhs) { return binary(function, lhs, number(rhs, lhs)); }
    template <typename Rhs>
    Value add(Value lhs, Rhs rhs) {
        return binary(Binary::add, lhs, rhs);
    }
    template <typename Rhs>
    Value sub(Value lhs, Rhs rhs) {
        return binary(Binary::sub, lhs, rhs);
    }
    template <typename Rhs>
    Value mul(Value lhs, Rhs rhs) {
        return binary(Binary::mul, lhs, rhs);
    }
    // Of integers: towards zero.
    template <typename Rhs>
    Value div(Value lhs, Rhs rhs) {
        return binary(Binary::div, lhs, rhs);
    }
    template <typename Rhs>
    Value max(Value lhs, Rhs rhs) {
        return binary(Binary::max, lhs, rhs);
    }
    template <typename Rhs>
    Value min(Value lhs, Rhs rhs) {
        return binary(Binary::min, lhs, rhs);
    }
    Value select(Value condition, Value yes, Value no);
    Value cast(Value input, Type element, bool nearest = false);
    Value logical_not(Value input) { return binary(Binary::bit_xor, input, 1); }
    Value iota(llvm::ArrayRef<int64_t> shape, int64_t axis);

    // ---- Along dimensions: the last one
    Value reduce(Reduction function, Value input);
    Value scan(Value input);
    std::pair<Value, Value> sort(Value input, int64_t count, bool descending);

    // ---- Products and windows
    Value matmul(Value lhs, Value rhs);
    WindowsAttr windows(llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> stride, llvm::ArrayRef<int64_t> before,
                        llvm::ArrayRef<int64_t> after, llvm::ArrayRef<int64_t> dilation);
    Value conv(Value input, Value filters, WindowsAttr windows, int64_t groups);
    Value pool(Pooling function, Value input, WindowsAttr windows);

    // ---- Shapes. Axes may count from the end where they are one number.
    Value reshape(Value input, llvm::ArrayRef<int64_t> shape);
    Value transpose(Value input, llvm::ArrayRef<int64_t> permutation);
    Value move_axis(Value input, int64_t from, int64_t to);
    Value slice(Value input, llvm::ArrayRef<int64_t> starts, llvm::ArrayRef<int64_t> sizes,
                llvm::ArrayRef<int64_t> steps);
    // Of one dimension: `size` elements from `start`, each `step`th.
    Value narrow(Value input, int64_t axis, int64_t start, int64_t size, int64_t step = 1);
    Value flip(Value input, int64_t axis);
    Value broadcast(Value input, llvm::ArrayRef<int64_t> shape);
    Value concat(llvm::ArrayRef<Value> inputs, int64_t axis);
    Value pad(Value input, llvm::ArrayRef<int64_t> before, llvm::ArrayRef<int64_t> after, double value = 0);
    // Along dimension 0, and along any.
    Value gather(Value input, Value indices);
    Value take(Value input, llvm::ArrayRef<int64_t> indices, int64_t axis);

    // A function of the host (libsidra/model/host.h).
    Value host(llvm::StringRef function, llvm::ArrayRef<Value> inputs, llvm::ArrayRef<int64_t> shape, Type element,
               llvm::ArrayRef<int64_t> parameters = {});

   private:
    template <typename Op, typename... Arguments>
    Value made(llvm::ArrayRef<int64_t> shape, Type element, Arguments&&... arguments);

    mlir::OpBuilder builder_;
    mlir::Location location_;
    size_t operations_ = 0;
    int64_t folded_ = 0;
};

// The axis, counted from the start. Throws BuildError.
int64_t axis_of(int64_t axis, int64_t rank);

}  // namespace sidra::xnn

#endif
