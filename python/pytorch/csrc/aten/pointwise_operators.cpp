// SPDX-License-Identifier: MIT
// The kernels of pointwise.inc, and those with further arguments.
#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Activation.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/library.h>

#include <algorithm>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/fallback.h"
#include "aten/pointwise.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

// The device of a call whose first argument may be a number of the CPU.
c10::Device device_of(const at::Tensor& a, const at::Tensor& b) { return is_sidra(a) ? a.device() : b.device(); }

// name_new() makes its result, and name_() overwrites its argument: PyTorch would do either in two calls. (The
// parentheses keep at::exp_out() and the like out.) What the chip does not take, the CPU writes into the result that
// the iterator has made.
#define UNARY_KERNEL(name, build, ...)                                         \
    Pointwise& name##_function() {                                             \
        static Pointwise function({__VA_ARGS__});                              \
        return function;                                                       \
    }                                                                          \
    at::Tensor& name##_out(const at::Tensor& self, at::Tensor& out) {          \
        const DeviceScope scope(self.device());                                \
        at::TensorIterator iter = at::TensorIterator::build(out, self);        \
        if (name##_function().taken(iter)) return out;                         \
        return SIDRA_FALL_BACK2(name, out)(self, out);                         \
    }                                                                          \
    at::Tensor& name##_(at::Tensor& self) { return (name##_out)(self, self); } \
    at::Tensor name##_new(const at::Tensor& self) {                            \
        const DeviceScope scope(self.device());                                \
        at::Tensor out;                                                        \
        at::TensorIterator iter = at::TensorIterator::build(out, self);        \
        out = iter.output();                                                   \
        if (name##_function().taken(iter)) return out;                         \
        return SIDRA_FALL_BACK2(name, out)(self, out);                         \
    }
#define UNARY_FLOAT(name, program, tolerance) UNARY_KERNEL(name, unary_float_op, program)
#define UNARY(name, program, integers, longs, tolerance) UNARY_KERNEL(name, unary_op, program, integers, longs)
#define BINARY_KERNEL(name, overload, build, ...)                                              \
    Pointwise& name##_function() {                                                             \
        static Pointwise function({__VA_ARGS__});                                              \
        return function;                                                                       \
    }                                                                                          \
    at::Tensor& name##_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) { \
        const DeviceScope scope(device_of(self, other));                                       \
        at::TensorIterator iter = at::TensorIterator::build(out, self, other);                 \
        if (name##_function().taken(iter)) return out;                                         \
        return SIDRA_FALL_BACK2(name, overload)(self, other, out);                             \
    }                                                                                          \
    [[maybe_unused]] at::Tensor& name##_(at::Tensor& self, const at::Tensor& other) {          \
        return (name##_out)(self, other, self);                                                \
    }                                                                                          \
    at::Tensor name##_new(const at::Tensor& self, const at::Tensor& other) {                   \
        const DeviceScope scope(device_of(self, other));                                       \
        at::Tensor out;                                                                        \
        at::TensorIterator iter = at::TensorIterator::build(out, self, other);                 \
        out = iter.output();                                                                   \
        if (name##_function().taken(iter)) return out;                                         \
        return SIDRA_FALL_BACK2(name, overload)(self, other, out);                             \
    }
#define BINARY(name, program, integers, longs, tolerance) BINARY_KERNEL(name, out, binary_op, program, integers, longs)
#define BITS(name, program, words) \
    BINARY_KERNEL(name, Tensor_out, binary_op, .integers = program, .longs = words, .small = true)
// Numbers other than 0 and 1 are the CPU's.
#define LOGICAL(name, program)                                                                 \
    at::Tensor& name##_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) { \
        static Pointwise function({.integers = program, .small = true});                       \
        if (self.scalar_type() == at::kBool && other.scalar_type() == at::kBool) {             \
            const DeviceScope scope(device_of(self, other));                                   \
            at::TensorIterator iter = at::TensorIterator::comparison_op(out, self, other);     \
            if (function.taken(iter)) return out;                                              \
        }                                                                                      \
        return SIDRA_FALL_BACK2(name, out)(self, other, out);                                  \
    }
// A number is compared as a tensor without dimensions is.
#define COMPARE(name, program, integers, longs)                                                       \
    BINARY_KERNEL(name, Tensor_out, comparison_op, program, integers, longs, true)                    \
    at::Tensor& name##_scalar_out(const at::Tensor& self, const at::Scalar& other, at::Tensor& out) { \
        at::Tensor number = at::scalar_tensor(other, other.type());                                   \
        number.unsafeGetTensorImpl()->set_wrapped_number(true);                                       \
        return name##_out(self, number, out);                                                         \
    }
#include "aten/pointwise.inc"
BINARY_KERNEL(div, out, binary_float_op, "r = div a, b")
#undef UNARY_FLOAT
#undef UNARY
#undef BINARY
#undef COMPARE
#undef BITS
#undef LOGICAL

// self + sign * alpha * other, by an iterator over these.
bool add_scaled(int sign, const at::Scalar& alpha, at::TensorIterator& iter) {
    static Pointwise sum({"r = add a, b", "r = add_int a, b", kLongAdd});
    static Pointwise difference({"r = sub a, b", "r = sub_int a, b", kLongSub});
    static Pointwise scaled({"r = fma b, p, a", "t = mul_int b, p; r = add_int a, t"});
    if (alpha.equal(1)) return (sign > 0 ? sum : difference).taken(iter);
    if (alpha.equal(-1)) return (sign > 0 ? difference : sum).taken(iter);
    if (alpha.isComplex()) return false;
    const at::Scalar factor = sign > 0 ? alpha : -alpha;
    return scaled.taken(iter, {&factor, 1});
}

// As the kernels above.
#define ADD(name, sign)                                                                               \
    at::Tensor& name##_out(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,  \
                           at::Tensor& out) {                                                         \
        const DeviceScope scope(device_of(self, other));                                              \
        at::TensorIterator iter = at::TensorIterator::binary_op(out, self, other);                    \
        at::native::alpha_check(iter.common_dtype(), alpha);                                          \
        if (sign < 0) at::native::sub_check(self, other);                                             \
        if (add_scaled(sign, alpha, iter)) return out;                                                \
        return SIDRA_FALL_BACK2(name, out)(self, other, alpha, out);                                  \
    }                                                                                                 \
    at::Tensor& name##_(at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {         \
        return (name##_out)(self, other, alpha, self);                                                \
    }                                                                                                 \
    at::Tensor name##_new(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) { \
        const DeviceScope scope(device_of(self, other));                                              \
        at::Tensor out;                                                                               \
        at::TensorIterator iter = at::TensorIterator::binary_op(out, self, other);                    \
        at::native::alpha_check(iter.common_dtype(), alpha);                                          \
        if (sign < 0) at::native::sub_check(self, other);                                             \
        out = iter.output();                                                                          \
        if (add_scaled(sign, alpha, iter)) return out;                                                \
        return SIDRA_FALL_BACK2(name, out)(self, other, alpha, out);                                  \
    }
ADD(add, 1)
ADD(sub, -1)
#undef ADD

at::Tensor& gelu_out(const at::Tensor& self, c10::string_view approximate, at::Tensor& out) {
    static Pointwise exact({"r = gelu a"}), tanh({"r = gelu_tanh a"});
    const DeviceScope scope(self.device());
    at::TensorIterator iter = at::TensorIterator::unary_op(out, self);
    const bool is_tanh = at::native::get_gelutype_enum(approximate) == at::native::GeluType::Tanh;
    if (iter.numel() == 0 || (is_tanh ? tanh : exact).run(iter)) return out;
    return SIDRA_FALL_BACK2(gelu, out)(self, approximate, out);
}

constexpr PointwiseText kRelu = {"r = max a, 0.0", "r = max_int a, 0",
                                 "t = shr A, 31; t = xor t, -1; r = and a, t; R = and A, t"};

at::Tensor relu(const at::Tensor& self) {
    static Pointwise function(kRelu);
    const DeviceScope scope(self.device());
    at::Tensor out;
    at::TensorIterator iter = at::TensorIterator::unary_op(out, self);
    if (function.taken(iter)) return iter.output();
    return SIDRA_FALL_BACK(relu)(self);
}

at::Tensor& relu_(at::Tensor& self) {
    static Pointwise function(kRelu);
    const DeviceScope scope(self.device());
    at::TensorIterator iter = at::TensorIterator::unary_op(self, self);
    if (function.taken(iter)) return self;
    return SIDRA_FALL_BACK(relu_)(self);
}

at::Tensor& pow_scalar_out(const at::Tensor& self, const at::Scalar& exponent, at::Tensor& out) {
    static Pointwise square({"r = mul a, a", "r = mul_int a, a"}), cube({"t = mul a, a; r = mul t, a"});
    static Pointwise itself({"r = move a", "r = move_int a", "r = move_int a; R = move_int A"});
    static Pointwise root({"r = sqrt a"}), inverse_root({"r = rsqrt a"}), inverse({"r = div 1.0, a"});
    if (out.scalar_type() == self.scalar_type() && !exponent.isComplex()) {
        const double power = exponent.to<double>();
        Pointwise* function = power == 1      ? &itself
                              : power == 2    ? &square
                              : power == 3    ? &cube
                              : power == 0.5  ? &root
                              : power == -0.5 ? &inverse_root
                              : power == -1   ? &inverse
                                              : nullptr;
        if (function != nullptr) {
            const DeviceScope scope(self.device());
            at::TensorIterator iter = at::TensorIterator::unary_op(out, self);
            if (iter.numel() == 0 || function->run(iter)) return out;
        }
    }
    return SIDRA_FALL_BACK2(pow, Tensor_Scalar_out)(self, exponent, out);
}

at::Tensor& bitwise_not_out(const at::Tensor& self, at::Tensor& out) {
    static Pointwise logical({.integers = "r = xor a, 1", .small = true});
    static Pointwise bytes({.integers = "r = xor a, 255", .small = true});
    static Pointwise all({.integers = "r = xor a, -1", .longs = "r = xor a, -1; R = xor A, -1", .small = true});
    const DeviceScope scope(self.device());
    at::TensorIterator iter = at::TensorIterator::unary_op(out, self);
    if (iter.numel() == 0 || (self.scalar_type() == at::kBool   ? logical
                              : self.scalar_type() == at::kByte ? bytes
                                                                : all)
                                 .run(iter))
        return out;
    return SIDRA_FALL_BACK2(bitwise_not, out)(self, out);
}

// Bounds that are numbers. Those of integers one after the other.
at::Tensor& clamp_out(const at::Tensor& self, const std::optional<at::Scalar>& min,
                      const std::optional<at::Scalar>& max, at::Tensor& out) {
    static Pointwise both({"t = max a, p; r = min t, q"}), lower({"r = max a, p"}), upper({"r = min a, p"});
    TORCH_CHECK(min || max, "torch.clamp: At least one of 'min' or 'max' must not be None");
    const DeviceScope scope(self.device());
    const at::ScalarType type = self.scalar_type();
    const auto takes = [&](const std::optional<at::Scalar>& bound) { return !bound || fits(type, *bound); };
    if (is_sidra(self) && out.scalar_type() == type && takes(min) && takes(max)) {
        if (is_float(type)) {
            at::TensorIterator iter = at::TensorIterator::unary_op(out, self);
            std::vector<at::Scalar> bounds;
            if (min) bounds.push_back(*min);
            if (max) bounds.push_back(*max);
            if (iter.numel() == 0 || (min && max ? both : min ? lower : upper).run(iter, bounds)) return out;
        } else if (type == at::kInt || type == at::kLong) {
            const auto number = [&](const at::Scalar& bound) { return at::scalar_tensor(bound, at::dtype(type)); };
            if (min) at::maximum_out(out, self, number(*min));
            if (max) at::minimum_out(out, min ? out : self, number(*max));
            return out;
        }
    }
    return SIDRA_FALL_BACK2(clamp, out)(self, min, max, out);
}

at::Tensor& logical_not_out(const at::Tensor& self, at::Tensor& out) {
    static Pointwise function({"t = eq a, 0.0", "t = eq_int a, 0", "t = or a, A; t = eq_int t, 0", true});
    const DeviceScope scope(self.device());
    at::TensorIterator iter =
        at::TensorIteratorConfig().check_all_same_dtype(false).add_output(out).add_const_input(self).build();
    if (iter.numel() == 0 || function.run(iter, {}, self.scalar_type())) return out;
    return SIDRA_FALL_BACK2(logical_not, out)(self, out);
}

#define INFINITE(name, infinity)                                                                                  \
    at::Tensor& name##_out(const at::Tensor& self, at::Tensor& out) {                                             \
        static Pointwise function({.floats = "t = eq a, " infinity, .compares = true});                           \
        const DeviceScope scope(self.device());                                                                   \
        at::TensorIterator iter =                                                                                 \
            at::TensorIteratorConfig().check_all_same_dtype(false).add_output(out).add_const_input(self).build(); \
        if (iter.numel() == 0 || function.run(iter, {}, self.scalar_type())) return out;                          \
        return SIDRA_FALL_BACK2(name, out)(self, out);                                                            \
    }
INFINITE(isneginf, "-inf")
INFINITE(isposinf, "inf")
#undef INFINITE

at::Tensor abs(const at::Tensor& self) {
    static Pointwise function({"r = abs a", "t = sub_int 0, a; r = max_int a, t", kLongAbs});
    const DeviceScope scope(self.device());
    at::Tensor out;
    if (!self.is_complex()) {
        at::TensorIterator iter = at::TensorIterator::unary_op(out, self);
        if (function.taken(iter)) return iter.output();
    }
    return SIDRA_FALL_BACK(abs)(self);
}

// `out` may be undefined: it becomes the iterator's.
bool select(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
    static Pointwise function({.floats = "t = ne a, 0.0; r = select t, b, c",
                               .integers = "r = select a, b, c",
                               .longs = "r = select a, b, c; R = select a, B, C",
                               .small = true});
    const at::ScalarType type = at::result_type(self, other);
    const auto takes = [&](const at::Tensor& tensor) {
        return is_sidra(tensor) ? tensor.scalar_type() == type : tensor.dim() == 0 && tensor.device().is_cpu();
    };
    if (!is_sidra(condition) || condition.scalar_type() != at::kBool || !takes(self) || !takes(other)) return false;
    const DeviceScope scope(condition.device());
    // An iterator takes only one number of the CPU.
    const at::Tensor first = is_sidra(self) || is_sidra(other) ? self : self.to(condition.device(), type);
    at::TensorIterator iter = at::TensorIteratorConfig()
                                  .check_all_same_dtype(false)
                                  .allow_cpu_scalars(true)
                                  .add_output(out)
                                  .add_const_input(condition)
                                  .add_const_input(first)
                                  .add_const_input(other)
                                  .declare_static_dtype(type)
                                  .build();
    if (iter.numel() != 0 && !function.run(iter, {}, type)) return false;
    if (!out.defined()) out = iter.output();
    return true;
}

at::Tensor where(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
    at::Tensor out;
    if (select(condition, self, other, out)) return out;
    return SIDRA_FALL_BACK2(where, self)(condition, self, other);
}

at::Tensor& where_out(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
    if (is_sidra(out) && out.scalar_type() == at::result_type(self, other) && select(condition, self, other, out))
        return out;
    return SIDRA_FALL_BACK2(where, self_out)(condition, self, other, out);
}

// Copies each tensor to its place. An empty one of one dimension fits into any shape.
at::Tensor& cat_out(const at::ITensorListRef& tensors, int64_t dim, at::Tensor& out) {
    std::vector<at::Tensor> list;
    for (const at::Tensor& one : tensors.materialize()) {
        if (one.dim() != 1 || one.numel() != 0) list.push_back(one);
    }
    const int64_t dims = list.empty() ? 0 : list[0].dim();
    const int64_t along = dims == 0 ? 0 : at::maybe_wrap_dim(dim, dims);
    int64_t end = 0;
    // Whether they fill `out` exactly. Otherwise it is the caller's, or the shapes do not fit: the CPU's operator does
    // the rest, or says it.
    const bool fill =
        is_sidra(out) && dims > 0 && out.dim() == dims && std::ranges::all_of(list, [&](const at::Tensor& one) {
            if (one.device() != out.device() || one.dim() != out.dim() || one.scalar_type() != out.scalar_type() ||
                one.is_alias_of(out))
                return false;
            end += one.size(along);
            for (int64_t d = 0; d < out.dim(); ++d) {
                if (d != along && one.size(d) != out.size(d)) return false;
            }
            return true;
        });
    if (!fill || end != out.size(along)) return SIDRA_FALL_BACK2(cat, out)(tensors, dim, out);
    const DeviceScope scope(out.device());
    int64_t at = 0;
    for (const at::Tensor& one : list) {
        out.narrow(along, at, one.size(along)).copy_(one);
        at += one.size(along);
    }
    return out;
}

at::Tensor& fill_scalar(at::Tensor& self, const at::Scalar& value) {
    static Pointwise function({.floats = "r = move p",
                               .integers = "r = move_int p",
                               .longs = "r = move_int p; R = move_int q",
                               .small = true});
    if (self.numel() == 0) return self;
    const DeviceScope scope(self.device());
    if (is_sidra(self) && fits(self.scalar_type(), value) && !overlaps(self, self)) {
        at::TensorIterator iter = at::TensorIterator::unary_op(self, self);
        if (function.run(iter, {&value, 1})) return self;
    }
    return SIDRA_FALL_BACK2(fill_, Scalar)(self, value);
}

at::Tensor& zero_(at::Tensor& self) { return self.fill_(0); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
#define UNARY_FLOAT(name, ...)        \
    m.impl(#name ".out", name##_out); \
    m.impl(#name "_", name##_);       \
    m.impl(#name, name##_new);
#define UNARY(name, ...) UNARY_FLOAT(name)
#define BINARY(name, ...) m.impl(#name ".out", name##_out);
#define BITS(name, ...)                      \
    m.impl(#name ".Tensor_out", name##_out); \
    m.impl(#name ".Tensor", name##_new);
#define LOGICAL(name, ...) m.impl(#name ".out", name##_out);
#define COMPARE(name, ...)                   \
    m.impl(#name ".Tensor_out", name##_out); \
    m.impl(#name ".Tensor", name##_new);     \
    m.impl(#name ".Scalar_out", name##_scalar_out);
#include "aten/pointwise.inc"
    m.impl("maximum", maximum_new);
    m.impl("minimum", minimum_new);
    m.impl("mul.Tensor", mul_new);
    m.impl("mul_.Tensor", mul_);
    m.impl("div.out", div_out);
    m.impl("div.Tensor", div_new);
    m.impl("div_.Tensor", div_);
    m.impl("add.out", add_out);
    m.impl("add.Tensor", add_new);
    m.impl("add_.Tensor", add_);
    m.impl("sub.out", sub_out);
    m.impl("sub.Tensor", sub_new);
    m.impl("sub_.Tensor", sub_);
    m.impl("gelu.out", gelu_out);
    m.impl("relu", relu);
    m.impl("relu_", relu_);
    m.impl("pow.Tensor_Scalar_out", pow_scalar_out);
    m.impl("bitwise_not.out", bitwise_not_out);
    m.impl("clamp.out", clamp_out);
    m.impl("logical_not.out", logical_not_out);
    m.impl("abs", abs);
    m.impl("where.self", where);
    m.impl("where.self_out", where_out);
    m.impl("isneginf.out", isneginf_out);
    m.impl("isposinf.out", isposinf_out);
    m.impl("cat.out", cat_out);
    m.impl("fill_.Scalar", fill_scalar);
    m.impl("zero_", zero_);
}

}  // namespace
}  // namespace sidra::pytorch
