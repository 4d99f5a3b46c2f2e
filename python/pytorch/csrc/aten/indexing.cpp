// SPDX-License-Identifier: MIT
// Rows by index, masks and triangles. index() and index_select() wait for the stream and look at the indices, so an
// index that is out of range raises an IndexError. gather() does not: such an index faults the stream, and the error
// comes with the next synchronisation.
#include "aten/indexing.h"

#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>
#include <sidra/uapi/sidra_vector.h>
#include <torch/library.h>

#include <cmath>
#include <numeric>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/fallback.h"
#include "aten/pointwise.h"
#include "profiler/profile.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {

bool is_index(const at::Tensor& tensor) {
    return is_sidra(tensor) && (tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt);
}

void check_indices(const at::Tensor& index, int64_t from, int64_t size, int64_t dim) {
    TORCH_CHECK_INDEX(size > 0 || index.numel() == 0, "index is out of bounds for dimension with size 0");
    synchronize_current_stream(index.device().index());
    const at::Tensor values = cpu_alias(index).contiguous();
    const auto check = [&](const auto* each) {
        for (int64_t i = 0; i < values.numel(); ++i)
            TORCH_CHECK_INDEX(each[i] >= from && each[i] < size, "index ", each[i], " is out of bounds for dimension ",
                              dim, " with size ", size);
    };
    values.scalar_type() == at::kLong ? check(values.const_data_ptr<int64_t>())
                                      : check(values.const_data_ptr<int32_t>());
}

namespace {

// The rows of dimension 0 at `index`, which has one dimension. Undefined: the chip does not take the type or shape.
at::Tensor gathered_rows(const at::Tensor& self, const at::Tensor& index) {
    const std::optional<sidra_type> bits = bits_of(self.itemsize());
    if (!bits || self.numel() == 0 || index.numel() == 0) return {};
    std::vector<int64_t> size = self.sizes().vec();
    size[0] = index.numel();
    const at::Tensor table = self.contiguous(), places = index.contiguous(), out = at::empty(size, self.options());
    // Of s64, the words are moved.
    const bool words = *bits == SIDRA_S64;
    const sidra_type type = words ? SIDRA_S32 : *bits;
    const int64_t columns = self.numel() / self.size(0) * (words ? 2 : 1);
    constexpr int64_t kMax = SIDRA_VECTOR_SIZE_MAX;
    if (columns > kMax || self.size(0) > kMax || size[0] > kMax) return {};
    const Sizes to_size = {1, 1, static_cast<uint32_t>(size[0]), static_cast<uint32_t>(columns)};
    const Sizes from_size = {1, 1, static_cast<uint32_t>(self.size(0)), static_cast<uint32_t>(columns)};
    const sidra_array to = sidra_operand_dense(place_of(out), type, to_size.data());
    const sidra_array from = sidra_operand_dense(place_of(table), type, from_size.data());
    if (!queued(sidra_gather_rows(OnStream(self.device().index(), "sidra::gather"), to_size.data(), &to, &from,
                                  from_size[2], place_of(places), *type_of(index.scalar_type()))))
        return {};
    return out;
}

}  // namespace

at::Tensor gathered(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
    const at::Tensor rows = gathered_rows(self.movedim(dim, 0), index.reshape({-1}));
    if (!rows.defined()) return {};
    at::Tensor out = rows.unflatten(0, index.dim() == 0 ? at::IntArrayRef(1) : index.sizes());
    if (index.dim() == 0) out = out.squeeze(0);
    std::vector<int64_t> from(static_cast<size_t>(index.dim())), to = from;
    std::iota(from.begin(), from.end(), 0);
    std::iota(to.begin(), to.end(), dim);
    return out.movedim(from, to).contiguous();
}

bool add_rows(const at::Tensor& sums, const at::Tensor& index, const at::Tensor& of) {
    const auto size = [](int64_t value) { return static_cast<uint32_t>(value); };
    const int64_t rows = sums.size(0), columns = sums.numel() / rows;
    if (of.numel() > int64_t{UINT32_MAX} || sums.numel() > int64_t{UINT32_MAX}) return false;
    const Sizes sizes = {1, 1, size(index.numel()), size(columns)}, all = {1, 1, size(rows), size(columns)};
    const sidra_array to = dense(sums, all), in = dense(of, sizes);
    if (!queued(sidra_scatter_add_rows(OnStream(sums.device().index(), "sidra::scatter"), sizes.data(), &to, all[2],
                                       place_of(index), *type_of(index.scalar_type()), &in)))
        return false;
    mark_written(sums);
    return true;
}

namespace {

at::Tensor index_select(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
    const DeviceScope scope(self.device());
    if (is_sidra(self) && is_index(index) && index.dim() == 1 && self.dim() > 0) {
        const int64_t along = at::maybe_wrap_dim(dim, self.dim());
        check_indices(index, 0, self.size(along), along);
        if (at::Tensor out = gathered(self, along, index); out.defined()) return out;
    }
    return SIDRA_FALL_BACK(index_select)(self, dim, index);
}

// One index of integers. Masks and several indices are the CPU's.
at::Tensor index(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices) {
    const DeviceScope scope(self.device());
    int64_t dim = -1;
    bool one = is_sidra(self);
    for (size_t i = 0; i < indices.size(); ++i) {
        const std::optional<at::Tensor> each = indices.get(i);
        if (!each || !each->defined()) continue;
        one = one && dim < 0 && is_index(*each);
        dim = static_cast<int64_t>(i);
    }
    if (one && dim >= 0 && dim < self.dim()) {
        const at::Tensor given = *indices.get(static_cast<size_t>(dim));
        check_indices(given, -self.size(dim), self.size(dim), dim);
        const at::Tensor places = at::where(given.lt(0), given.add(self.size(dim)), given);
        if (at::Tensor out = gathered(self, dim, places); out.defined()) return out;
    }
    return SIDRA_FALL_BACK2(index, Tensor)(self, indices);
}

at::Tensor& gather_out(const at::Tensor& self, int64_t dim, const at::Tensor& index, bool sparse_grad,
                       at::Tensor& out) {
    const DeviceScope scope(self.device());
    const std::optional<sidra_type> bits = bits_of(self.itemsize());
    if (is_sidra(self) && is_index(index) && is_sidra(out) && bits && self.dim() > 0 && self.dim() == index.dim() &&
        index.numel() > 0 && self.numel() > 0 && out.sizes() == index.sizes() &&
        out.scalar_type() == self.scalar_type()) {
        const int64_t along = at::maybe_wrap_dim(dim, self.dim());
        at::Tensor from = self;
        for (int64_t d = 0; d < self.dim(); ++d) {
            if (d != along) from = from.narrow(d, 0, index.size(d));
        }
        from = from.movedim(along, -1).contiguous();
        const at::Tensor places = index.movedim(along, -1).contiguous(), to = at::empty(places.sizes(), out.options());
        const std::optional<Sizes> sizes = rows_of(places), from_sizes = rows_of(from);
        if (sizes && from_sizes) {
            const sidra_array indices = dense(places, *sizes);
            const sidra_array in = sidra_operand_dense(place_of(from), *bits, from_sizes->data());
            const sidra_array result = sidra_operand_dense(place_of(to), *bits, sizes->data());
            const auto move = [&](const sidra_array& into, const sidra_array& source) {
                return queued(sidra_gather(OnStream(self.device().index(), "sidra::gather"), sizes->data(), &into,
                                           &source, (*from_sizes)[3], &indices));
            };
            // Of s64, the words are moved.
            const bool done = *bits == SIDRA_S64
                                  ? move(low_word(result), low_word(in)) && move(high_word(result), high_word(in))
                                  : move(result, in);
            if (done) {
                mark_written(to);
                return out.copy_(to.movedim(-1, along));
            }
        }
    }
    return SIDRA_FALL_BACK2(gather, out)(self, dim, index, sparse_grad, out);
}

at::Tensor& masked_fill(at::Tensor& self, const at::Tensor& mask, const at::Scalar& value) {
    static Pointwise function({.floats = "t = ne b, 0.0; r = select t, p, a",
                               .integers = "r = select b, p, a",
                               .longs = "r = select b, p, a; R = select b, q, A",
                               .small = true});
    const DeviceScope scope(self.device());
    if (is_sidra(self) && is_sidra(mask) && mask.scalar_type() == at::kBool && fits(self.scalar_type(), value) &&
        !overlaps(self, mask)) {
        const at::ScalarType type = self.scalar_type();
        at::TensorIterator iter = at::TensorIteratorConfig()
                                      .check_all_same_dtype(false)
                                      .resize_outputs(false)
                                      .set_check_mem_overlap(true)
                                      .add_output(self)
                                      .add_const_input(self)
                                      .add_const_input(mask)
                                      .build();
        if (iter.numel() == 0 || function.run(iter, {&value, 1}, type)) return self;
    }
    return SIDRA_FALL_BACK2(masked_fill_, Scalar)(self, mask, value);
}

// Counts from `start` in steps. Of floats, only whole numbers that an f32 holds exactly.
at::Tensor& arange_out(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, at::Tensor& out) {
    static VectorProgram integers("pass:\nv0 = mul_int column, p1\nv1 = add_int v0, p0\nstore_int o0, v1\n");
    static VectorProgram floats(
        "pass:\nv0 = mul_int column, p1\nv1 = add_int v0, p0\nv2 = to_float v1\nstore o0, v2\n");
    const at::ScalarType type = out.scalar_type();
    const int64_t limit = type == at::kLong || type == at::kInt ? INT32_MAX : int64_t{1} << 24;
    const auto whole = [&](const at::Scalar& number) {
        if (number.isComplex()) return false;
        const double value = number.to<double>();
        return value == std::trunc(value) && std::abs(value) <= static_cast<double>(limit);
    };
    const bool here = is_sidra(out) && (type == at::kLong || type == at::kInt || type == at::kFloat);
    if (here && whole(start) && whole(end) && whole(step)) {
        const auto number = [](const at::Scalar& scalar) { return static_cast<int64_t>(scalar.to<double>()); };
        const int64_t first = number(start), by = number(step), distance = number(end) - first;
        if (by != 0 && (distance == 0 || (distance > 0) == (by > 0))) {
            const DeviceScope scope(out.device());
            const int64_t count = (distance + by - (by > 0 ? 1 : -1)) / by;
            if (out.numel() != count) out.resize_({count});
            if (count == 0) return out;
            const at::Tensor to = out.is_contiguous() ? out : at::empty({count}, out.options());
            const Sizes sizes = {1, 1, 1, static_cast<uint32_t>(count)};
            const std::array operands = {dense(to, sizes)};
            const std::array params = {static_cast<uint32_t>(first), static_cast<uint32_t>(by)};
            if (run_program(type == at::kFloat ? floats : integers, out.device().index(), sizes, operands, params)) {
                mark_written(to);
                if (!to.is_same(out)) out.copy_(to.view(out.sizes()));
                return out;
            }
        }
    }
    return SIDRA_FALL_BACK2(arange, start_out)(start, end, step, out);
}

// The elements whose column is at most `diagonal` after their row (or at least).
at::Tensor& triangle(const at::Tensor& self, int64_t diagonal, bool lower, at::Tensor& out) {
    const at::TensorOptions options = self.options().dtype(at::kInt);
    const at::Tensor row = at::arange(self.size(-2), options).unsqueeze(1).add(diagonal);
    const at::Tensor column = at::arange(self.size(-1), options);
    const at::Tensor kept = lower ? column.le(row) : column.ge(row);
    const at::Tensor result = at::where(kept, self, at::scalar_tensor(0, at::dtype(self.scalar_type())));
    at::native::resize_output(out, result.sizes());
    return out.copy_(result);
}
bool is_matrix(const at::Tensor& self, int64_t diagonal, const at::Tensor& out) {
    return is_sidra(self) && is_sidra(out) && self.dim() >= 2 && out.scalar_type() == self.scalar_type() &&
           type_of(self.scalar_type()) && std::abs(diagonal) < INT32_MAX / 2;
}

at::Tensor& tril_out(const at::Tensor& self, int64_t diagonal, at::Tensor& out) {
    const DeviceScope scope(self.device());
    if (is_matrix(self, diagonal, out)) return triangle(self, diagonal, true, out);
    return SIDRA_FALL_BACK2(tril, out)(self, diagonal, out);
}

at::Tensor& triu_out(const at::Tensor& self, int64_t diagonal, at::Tensor& out) {
    const DeviceScope scope(self.device());
    if (is_matrix(self, diagonal, out)) return triangle(self, diagonal, false, out);
    return SIDRA_FALL_BACK2(triu, out)(self, diagonal, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("index_select", index_select);
    m.impl("index.Tensor", index);
    m.impl("gather.out", gather_out);
    m.impl("masked_fill_.Scalar", masked_fill);
    m.impl("arange.start_out", arange_out);
    m.impl("tril.out", tril_out);
    m.impl("triu.out", triu_out);
}

}  // namespace
}  // namespace sidra::pytorch
