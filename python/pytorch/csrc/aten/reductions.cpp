// SPDX-License-Identifier: MIT
// Sums, means, extremes and their places, and what else becomes one number of a row; sums so far.
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <c10/util/StringUtil.h>
#include <torch/library.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "aten/alias.h"
#include "aten/fallback.h"
#include "aten/matmul.h"
#include "aten/rows.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

using Shape = std::vector<int64_t>;

// Sums of s64: of 16 bits each, for up to kLongSumMax columns, and then with their carries. instruction: reduce_sum_int
// or scan_int; of: the letter of the registers that it writes.
constexpr int64_t kLongSumMax = 65536;
std::string long_sum(bool narrow, const char* instruction, char of) {
    const LoadedWords words = words_loaded(narrow);
    std::string text = c10::str("pass:\n", words.text,
                                "v2 = and v0, 65535\nv3 = shr_unsigned v0, 16\nv4 = and v1, 65535\n"
                                "v5 = shr_unsigned v1, 16\n");
    const auto r = [&](int number) { return c10::str(of, number); };
    for (int limb = 0; limb < 4; ++limb) text += c10::str(r(6 + limb), " = ", instruction, " v", 2 + limb, "\n");
    for (int limb = 1; limb < 4; ++limb)
        text += c10::str(r(10), " = shr_unsigned ", r(5 + limb), ", 16\n", r(6 + limb), " = add_int ", r(6 + limb),
                         ", ", r(10), "\n");
    for (int word = 0; word < 2; ++word)
        text += c10::str(r(10), " = and ", r(6 + 2 * word), ", 65535\n", r(11), " = shl ", r(7 + 2 * word), ", 16\n",
                         r(10), " = or ", r(10), ", ", r(11), "\nstore_int o", words.next + word, ", ", r(10), "\n");
    return text;
}

// The largest or smallest s64: the extreme high word, and of the rows' elements with it the extreme low word, which has
// no sign and so is compared with its highest bit inverted.
std::string long_extreme(const char* which, const char* last) {
    return c10::str("pass:\nv1 = load_int o1\ns0 = reduce_", which,
                    "_int v1\npass:\nv0 = load_int o0\nv1 = load_int o1\nv2 = eq_int v1, s0\n"
                    "v0 = xor v0, -2147483648\nv0 = select v2, v0, ",
                    last, "\ns1 = reduce_", which,
                    "_int v0\ns1 = xor s1, -2147483648\nstore_int o2, s1\nstore_int o3, s0\n");
}

enum class Reduction { kSum, kMean, kMax, kMin };

// The sums of one dimension over a divisor, where the elements of another lie side by side: the product of a row of
// ones and the matrix of both, which reads them in this order. Long sums are sums of parts, for their accuracy. False:
// the chip does not take it, or is faster with rows.
constexpr int64_t kPart = 512, kSmallest = 4096;
bool sum_columns(const at::Tensor& out, const at::Tensor& in, int64_t dim, int64_t divisor) {
    static VectorProgram program("pass:\n v0 = load sums\n v1 = div v0, p0\n store o2, v1\n");
    if (in.dim() < 2 || in.dim() > 4 || in.numel() < kSmallest || in.stride(dim) == 1) return false;
    int64_t inner = in.dim() - 1;
    while (inner >= 0 && (inner == dim || in.stride(inner) != 1 || in.size(inner) < 8)) --inner;
    if (inner < 0) return false;
    const at::Tensor matrix = in.movedim({dim, inner}, {-2, -1}), to = out.movedim({dim, inner}, {-2, -1});
    const auto add = [](const at::Tensor& sums, const at::Tensor& of, int64_t over) {
        Shape size = of.sizes().vec();
        size[size.size() - 1] = std::exchange(size[size.size() - 2], 1);
        return product(program, sums, at::ones({of.size(-2)}, of.options()).expand(size), of, {},
                       static_cast<float>(over));
    };
    const int64_t count = matrix.size(-2), whole = count / kPart, rest = count % kPart;
    if (count <= kPart) return add(to, matrix, divisor);
    if (matrix.dim() > 3) return false;
    Shape size = matrix.sizes().vec();
    size[size.size() - 2] = whole + (rest != 0);
    const at::Tensor parts = at::empty(size, in.options().dtype(at::kFloat));
    if (!add(parts.narrow(-2, 0, whole).unsqueeze(-2),
             matrix.narrow(-2, 0, whole * kPart).unflatten(-2, {whole, kPart}), 1))
        return false;
    if (rest != 0 && !add(parts.narrow(-2, whole, 1), matrix.narrow(-2, whole * kPart, rest), 1)) return false;
    if (parts.size(-2) <= kPart) return add(to, parts, divisor);
    return sum_columns(to, parts, parts.dim() - 2, divisor);
}

// One dimension, to 1.
bool reduce_one(Reduction which, const at::Tensor& out, const at::Tensor& in, int64_t dim) {
    static VectorProgram sum(long_sum(false, "reduce_sum_int", 's')), narrow(long_sum(true, "reduce_sum_int", 's'));
    static VectorProgram max(long_extreme("max", "-2147483648")), min(long_extreme("min", "2147483647"));
    const at::ScalarType from = in.scalar_type(), to = out.scalar_type();
    const bool longs = from == at::kLong;
    switch (which) {
        case Reduction::kSum:
            if (to == at::kLong)
                return (in.dim() == 0 || in.size(dim) <= kLongSumMax) &&
                       run_long_rows(longs ? sum : narrow, out, in, dim);
            return is_float(from) && is_float(to) &&
                   (sum_columns(out, in, dim, 1) || run_rows(sidra_reduce_sum, out, in, dim));
        case Reduction::kMean:
            return is_float(from) && is_float(to) &&
                   (sum_columns(out, in, dim, in.dim() == 0 ? 1 : in.size(dim)) ||
                    run_rows(sidra_reduce_mean, out, in, dim));
        case Reduction::kMax:
            return from == to && (longs ? run_long_rows(max, out, in, dim) : run_rows(sidra_reduce_max, out, in, dim));
        case Reduction::kMin:
            return from == to && (longs ? run_long_rows(min, out, in, dim) : run_rows(sidra_reduce_min, out, in, dim));
    }
    return false;
}

// The type that holds a result of some of the dimensions.
at::ScalarType partial_type(Reduction which, at::ScalarType out) {
    return which == Reduction::kSum || which == Reduction::kMean
               ? at::promoteTypes(out, is_float(out) ? at::kFloat : out)
               : out;
}

// A dense tensor to one number, by rows of this many elements.
constexpr int64_t kRowMax = 16384;
bool reduce_dense(Reduction which, const at::Tensor& out, const at::Tensor& in) {
    const int64_t whole = in.numel() / kRowMax, rest = in.numel() % kRowMax;
    const at::Tensor elements = in.view({-1}), one = out.view({1});
    if (whole == 0 || (whole == 1 && rest == 0)) return reduce_one(which, one, elements, 0);
    if (which == Reduction::kMean && rest != 0) return false;  // a mean of unequal parts
    const at::Tensor parts =
        at::empty({whole + (rest != 0)}, in.options().dtype(partial_type(which, out.scalar_type())));
    if (!reduce_one(which, parts.narrow(0, 0, whole).unsqueeze(1),
                    elements.narrow(0, 0, whole * kRowMax).view({whole, kRowMax}), 1))
        return false;
    if (rest != 0 && !reduce_one(which, parts.narrow(0, whole, 1), elements.narrow(0, whole * kRowMax, rest), 0))
        return false;
    return reduce_dense(which, out, parts);
}

// The dimensions of a reduction, ascending; all if none is given.
Shape dimensions(const at::Tensor& self, at::OptionalIntArrayRef dims) {
    Shape which = dims ? dims->vec() : Shape();
    if (which.empty() || self.dim() == 0) {
        which.resize(static_cast<size_t>(self.dim()));
        std::iota(which.begin(), which.end(), 0);
    }
    for (int64_t& dim : which) dim = at::maybe_wrap_dim(dim, self.dim());
    std::sort(which.begin(), which.end());
    return which;
}

Shape reduced_shape(const at::Tensor& self, const Shape& along, bool keepdim) {
    Shape size;
    for (int64_t d = 0; d < self.dim(); ++d) {
        const bool reduced = std::ranges::find(along, d) != along.end();
        if (keepdim || !reduced) size.push_back(reduced ? 1 : self.size(d));
    }
    return size;
}

// False: the CPU has to, also where `out` is the caller's and has another shape.
bool reduce(Reduction which, const at::Tensor& out, const at::Tensor& self, at::OptionalIntArrayRef dims,
            bool keepdim) {
    if (!is_sidra(out) || !is_sidra(self) || self.numel() == 0 || !type_of(self.scalar_type())) return false;
    const Shape along = dimensions(self, dims);
    if (out.sizes() != at::IntArrayRef(reduced_shape(self, along, keepdim))) return false;
    if (along.size() == static_cast<size_t>(self.dim()) && self.is_contiguous() && out.is_contiguous())
        return reduce_dense(which, out, self);
    at::Tensor to = out, from = self;
    if (!keepdim) {
        for (const int64_t dim : along) to = to.unsqueeze(dim);
    }
    for (size_t i = along.size(); i-- > 1;) {
        Shape part = from.sizes().vec();
        part[static_cast<size_t>(along[i])] = 1;
        const at::Tensor next = at::empty(part, self.options().dtype(partial_type(which, out.scalar_type())));
        if (!reduce_one(which, next, from, along[i])) return false;
        from = next;
    }
    return reduce_one(which, to, from, along.empty() ? 0 : along[0]);
}

at::Tensor& sum_out(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim,
                    std::optional<at::ScalarType> dtype, at::Tensor& out) {
    const DeviceScope scope(self.device());
    const bool type = !dtype || *dtype == self.scalar_type() || at::isIntegralType(self.scalar_type(), true);
    if (type && reduce(Reduction::kSum, out, self, dims, keepdim)) return out;
    return SIDRA_FALL_BACK2(sum, IntList_out)(self, dims, keepdim, dtype, out);
}

at::Tensor& mean_out(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim,
                     std::optional<at::ScalarType> dtype, at::Tensor& out) {
    const DeviceScope scope(self.device());
    const bool type = dtype.value_or(self.scalar_type()) == self.scalar_type();
    if (type && reduce(Reduction::kMean, out, self, dims, keepdim)) return out;
    if (type && is_float(self.scalar_type()) && is_sidra(out) && is_float(out.scalar_type())) {
        const at::Tensor sums = at::empty(out.sizes(), out.options().dtype(at::kFloat));
        if (reduce(Reduction::kSum, sums, self, dims, keepdim))
            return out.copy_(sums.div_(static_cast<double>(self.numel() / out.numel())));
    }
    return SIDRA_FALL_BACK2(mean, out)(self, dims, keepdim, dtype, out);
}

// The mean of the squares of the distances from the mean, of count - correction elements.
at::Tensor variance(const at::Tensor& self, at::OptionalIntArrayRef dims, const std::optional<at::Scalar>& correction,
                    bool keepdim, bool root) {
    const at::Tensor from_mean = self.sub(self.mean(dims, true));
    const at::Tensor squares = from_mean.mul(from_mean).sum(dims, keepdim);
    const double count = static_cast<double>(self.numel()) / static_cast<double>(squares.numel());
    squares.div_(std::max(0.0, count - correction.value_or(1).to<double>()));
    return root ? squares.sqrt_() : squares;
}

at::Tensor var(const at::Tensor& self, at::OptionalIntArrayRef dims, const std::optional<at::Scalar>& correction,
               bool keepdim) {
    const DeviceScope scope(self.device());
    if (self.scalar_type() == at::kFloat && self.numel() > 0) return variance(self, dims, correction, keepdim, false);
    return SIDRA_FALL_BACK2(var, correction)(self, dims, correction, keepdim);
}

at::Tensor standard_deviation(const at::Tensor& self, at::OptionalIntArrayRef dims,
                              const std::optional<at::Scalar>& correction, bool keepdim) {
    const DeviceScope scope(self.device());
    if (self.scalar_type() == at::kFloat && self.numel() > 0) return variance(self, dims, correction, keepdim, true);
    return SIDRA_FALL_BACK2(std, correction)(self, dims, correction, keepdim);
}

at::Tensor& amax_out(const at::Tensor& self, at::IntArrayRef dims, bool keepdim, at::Tensor& out) {
    const DeviceScope scope(self.device());
    if (reduce(Reduction::kMax, out, self, dims, keepdim)) return out;
    return SIDRA_FALL_BACK2(amax, out)(self, dims, keepdim, out);
}

at::Tensor& amin_out(const at::Tensor& self, at::IntArrayRef dims, bool keepdim, at::Tensor& out) {
    const DeviceScope scope(self.device());
    if (reduce(Reduction::kMin, out, self, dims, keepdim)) return out;
    return SIDRA_FALL_BACK2(amin, out)(self, dims, keepdim, out);
}

// max() and min() of all elements.
template <Reduction kWhich>
at::Tensor extreme(const at::Tensor& self) {
    const DeviceScope scope(self.device());
    at::Tensor out = at::empty({}, self.options());
    if (reduce(kWhich, out, self, {}, false)) return out;
    if constexpr (kWhich == Reduction::kMax) return SIDRA_FALL_BACK(max)(self);
    else return SIDRA_FALL_BACK(min)(self);
}

// any() is the largest and all() the smallest truth.
bool reduce_truth(Reduction which, const at::Tensor& out, const at::Tensor& self, at::OptionalIntArrayRef dims,
                  bool keepdim) {
    if (!is_sidra(self) || self.is_complex() || self.numel() == 0 || out.scalar_type() != at::kBool) return false;
    return reduce(which, out, self.scalar_type() == at::kBool ? self : self.ne(0), dims, keepdim);
}

#define TRUTH(name, which)                                                                                             \
    at::Tensor& name##_out(const at::Tensor& self, int64_t dim, bool keepdim, at::Tensor& out) {                       \
        const DeviceScope scope(self.device());                                                                        \
        if (reduce_truth(which, out, self, at::IntArrayRef(dim), keepdim)) return out;                                 \
        return SIDRA_FALL_BACK2(name, out)(self, dim, keepdim, out);                                                   \
    }                                                                                                                  \
    at::Tensor& name##_dims_out(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim, at::Tensor& out) { \
        const DeviceScope scope(self.device());                                                                        \
        if (!(dims && dims->empty()) && reduce_truth(which, out, self, dims, keepdim)) return out;                     \
        return SIDRA_FALL_BACK2(name, dims_out)(self, dims, keepdim, out);                                             \
    }                                                                                                                  \
    at::Tensor& name##_all_out(const at::Tensor& self, at::Tensor& out) {                                              \
        const DeviceScope scope(self.device());                                                                        \
        if (reduce_truth(which, out, self, {}, false)) return out;                                                     \
        return SIDRA_FALL_BACK2(name, all_out)(self, out);                                                             \
    }
TRUTH(any, Reduction::kMax)
TRUTH(all, Reduction::kMin)
#undef TRUTH

// The place of the first extreme along one dimension, or of all elements. False as above.
bool place(RowFunction function, const at::Tensor& out, const at::Tensor& self, std::optional<int64_t> dim,
           bool keepdim) {
    if (self.numel() == 0 || self.scalar_type() == at::kLong || self.scalar_type() == at::kBool ||
        out.scalar_type() != at::kLong)
        return false;
    const Shape dims = dimensions(self, dim ? at::OptionalIntArrayRef(at::IntArrayRef(*dim)) : std::nullopt);
    if (out.sizes() != at::IntArrayRef(reduced_shape(self, dims, keepdim))) return false;
    if (!dim) {
        if (!self.is_contiguous()) return false;
        return run_rows(function, out.view({1}), self.view({-1}), 0);
    }
    const int64_t along = at::maybe_wrap_dim(*dim, self.dim());
    return run_rows(function, keepdim || self.dim() == 0 ? out : out.unsqueeze(along), self, along);
}

#define PLACE(name)                                                                                             \
    at::Tensor& name##_out(const at::Tensor& self, std::optional<int64_t> dim, bool keepdim, at::Tensor& out) { \
        const DeviceScope scope(self.device());                                                                 \
        if (place(sidra_reduce_##name, out, self, dim, keepdim)) return out;                                    \
        return SIDRA_FALL_BACK2(name, out)(self, dim, keepdim, out);                                            \
    }
PLACE(argmax)
PLACE(argmin)
#undef PLACE

// The extreme along a dimension and its place.
#define EXTREME(name, which)                                                                                        \
    std::tuple<at::Tensor&, at::Tensor&> name##_dim_out(const at::Tensor& self, int64_t dim, bool keepdim,          \
                                                        at::Tensor& values, at::Tensor& places) {                   \
        const DeviceScope scope(self.device());                                                                     \
        if (place(sidra_reduce_arg##name, places, self, dim, keepdim) && reduce(which, values, self, dim, keepdim)) \
            return {values, places};                                                                                \
        return SIDRA_FALL_BACK2(name, dim_##name)(self, dim, keepdim, values, places);                              \
    }
EXTREME(max, Reduction::kMax)
EXTREME(min, Reduction::kMin)
#undef EXTREME

at::Tensor& cumsum_out(const at::Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype, at::Tensor& out) {
    static VectorProgram longs(long_sum(false, "scan_int", 'v')), narrow(long_sum(true, "scan_int", 'v'));
    const DeviceScope scope(self.device());
    const int64_t along = at::maybe_wrap_dim(dim, self.dim());
    if (self.numel() > 0 && out.sizes() == self.sizes() && is_sidra(self)) {
        const bool sums = out.scalar_type() == at::kLong && at::isIntegralType(self.scalar_type(), true) &&
                          (self.dim() == 0 || self.size(along) <= kLongSumMax);
        if (sums && run_long_rows(self.scalar_type() == at::kLong ? longs : narrow, out, self, along)) return out;
        if (is_float(self.scalar_type()) && out.scalar_type() == self.scalar_type() &&
            run_rows(sidra_cumsum, out, self, along))
            return out;
    }
    return SIDRA_FALL_BACK2(cumsum, out)(self, dim, dtype, out);
}

// Each element against each of a few.
at::Tensor& isin_out(const at::Tensor& elements, const at::Tensor& few, bool unique, bool invert, at::Tensor& out) {
    constexpr int64_t kPairsMax = 1 << 16;
    const bool here = is_sidra(elements) && is_sidra(few) && few.numel() > 0 && elements.numel() > 0;
    if (here && elements.numel() * few.numel() <= kPairsMax && out.sizes() == elements.sizes()) {
        const DeviceScope scope(elements.device());
        const at::Tensor equal = elements.unsqueeze(-1).eq(few.reshape({-1}));
        invert ? out.copy_(equal.any(-1).logical_not()) : out.copy_(equal.any(-1));
        return out;
    }
    return SIDRA_FALL_BACK2(isin, Tensor_Tensor_out)(elements, few, unique, invert, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("sum.IntList_out", sum_out);
    m.impl("mean.out", mean_out);
    m.impl("amax.out", amax_out);
    m.impl("amin.out", amin_out);
    m.impl("var.correction", var);
    m.impl("std.correction", standard_deviation);
    m.impl("max", extreme<Reduction::kMax>);
    m.impl("min", extreme<Reduction::kMin>);
    m.impl("any.out", any_out);
    m.impl("any.dims_out", any_dims_out);
    m.impl("any.all_out", any_all_out);
    m.impl("all.out", all_out);
    m.impl("all.dims_out", all_dims_out);
    m.impl("all.all_out", all_all_out);
    m.impl("argmax.out", argmax_out);
    m.impl("argmin.out", argmin_out);
    m.impl("max.dim_max", max_dim_out);
    m.impl("min.dim_min", min_dim_out);
    m.impl("cumsum.out", cumsum_out);
    m.impl("isin.Tensor_Tensor_out", isin_out);
}

}  // namespace
}  // namespace sidra::pytorch
