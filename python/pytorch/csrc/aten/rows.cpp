// SPDX-License-Identifier: MIT
// Operators on whole rows: softmax, layer norm, reductions along one dimension, embedding.
#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/fallback.h"
#include "aten/programs.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

// The rows of two tensors along one dimension of `in`. `out` has the same shape, or 1 there.
struct Rows {
    Sizes sizes;
    sidra_array out, in;
};

std::optional<Rows> rows_along(const at::Tensor& out, const at::Tensor& in, int64_t dim) {
    if (in.numel() == 0 || out.dim() != in.dim() || !type_of(in.scalar_type()) || !type_of(out.scalar_type()))
        return std::nullopt;
    if (in.dim() == 0) {
        const Sizes one = {1, 1, 1, 1};
        return Rows{one, dense(out, one), dense(in, one)};
    }
    const int64_t columns = in.size(dim);
    const at::TensorIterator iter = at::TensorIteratorConfig()
                                        .set_check_mem_overlap(false)
                                        .check_all_same_dtype(false)
                                        .resize_outputs(false)
                                        .add_output(out)
                                        .add_const_input(in)
                                        .declare_static_shape(in.sizes(), dim)
                                        .build();
    if (iter.ndim() > 3) return std::nullopt;
    const std::optional<Sizes> outer = sizes_of(iter);
    if (!outer || columns > int64_t{UINT32_MAX}) return std::nullopt;
    Rows rows = {{(*outer)[1], (*outer)[2], (*outer)[3], static_cast<uint32_t>(columns)},
                 array_of(iter, 0, *type_of(out.scalar_type())),
                 array_of(iter, 1, *type_of(in.scalar_type()))};
    const auto shift = [&](sidra_array& array, const at::Tensor& tensor) {
        for (int d = 0; d < 3; ++d)
            array.stride[d] = (*outer)[static_cast<size_t>(d) + 1] == 1 ? 0 : array.stride[d + 1];
        array.stride[3] = tensor.size(dim) == 1 ? 0 : static_cast<size_t>(tensor.stride(dim)) * tensor.itemsize();
    };
    shift(rows.out, out);
    shift(rows.in, in);
    return rows;
}

template <auto kFunction>
bool run_rows(const at::Tensor& out, const at::Tensor& in, int64_t dim) {
    const std::optional<Rows> rows = rows_along(out, in, dim);
    if (!rows || !queued(kFunction(current_stream(out.device().index()), rows->sizes.data(), &rows->out, &rows->in)))
        return false;
    mark_written(out);
    return true;
}

at::Tensor& softmax_out(const at::Tensor& self, int64_t dim, bool half_to_float, at::Tensor& out) {
    const c10::DeviceGuard guard(self.device());
    if (is_float(self.scalar_type()) && is_float(out.scalar_type()) && out.sizes() == self.sizes() &&
        run_rows<sidra_softmax>(out, self, at::maybe_wrap_dim(dim, self.dim())))
        return out;
    return SIDRA_FALL_BACK2(_softmax, out)(self, dim, half_to_float, out);
}

at::Tensor& log_softmax_out(const at::Tensor& self, int64_t dim, bool half_to_float, at::Tensor& out) {
    const c10::DeviceGuard guard(self.device());
    if (is_float(self.scalar_type()) && is_float(out.scalar_type()) && out.sizes() == self.sizes() &&
        run_rows<sidra_log_softmax>(out, self, at::maybe_wrap_dim(dim, self.dim())))
        return out;
    return SIDRA_FALL_BACK2(_log_softmax, out)(self, dim, half_to_float, out);
}

// Reduces along one dimension, or along the last ones of a tensor where those are one row.
template <auto kFunction>
bool reduce(const at::Tensor& out, const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim) {
    if (!is_float(self.scalar_type()) || out.scalar_type() != self.scalar_type() || self.dim() == 0) return false;
    std::vector<int64_t> which = dims ? dims->vec() : std::vector<int64_t>();
    if (which.empty()) {
        const bool one = keepdim ? out.dim() == self.dim() && out.numel() == 1 : out.dim() == 0;
        if (!self.is_contiguous() || !one) return false;
        return run_rows<kFunction>(out.view({1}), self.view({-1}), 0);
    }
    if (which.size() != 1) return false;
    const int64_t dim = at::maybe_wrap_dim(which[0], self.dim());
    std::vector<int64_t> size = self.sizes().vec();
    keepdim ? void(size[static_cast<size_t>(dim)] = 1) : void(size.erase(size.begin() + dim));
    if (out.sizes() != c10::IntArrayRef(size))
        return false;  // the caller's, which the CPU's operator gives another shape
    return run_rows<kFunction>(keepdim ? out : out.unsqueeze(dim), self, dim);
}

at::Tensor& sum_out(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim,
                    std::optional<at::ScalarType> dtype, at::Tensor& out) {
    const c10::DeviceGuard guard(self.device());
    if (dtype.value_or(self.scalar_type()) == self.scalar_type() && reduce<sidra_reduce_sum>(out, self, dims, keepdim))
        return out;
    return SIDRA_FALL_BACK2(sum, IntList_out)(self, dims, keepdim, dtype, out);
}

at::Tensor& mean_out(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim,
                     std::optional<at::ScalarType> dtype, at::Tensor& out) {
    const c10::DeviceGuard guard(self.device());
    if (dtype.value_or(self.scalar_type()) == self.scalar_type() && reduce<sidra_reduce_mean>(out, self, dims, keepdim))
        return out;
    return SIDRA_FALL_BACK2(mean, out)(self, dims, keepdim, dtype, out);
}

at::Tensor& amax_out(const at::Tensor& self, at::IntArrayRef dims, bool keepdim, at::Tensor& out) {
    const c10::DeviceGuard guard(self.device());
    if (reduce<sidra_reduce_max>(out, self, dims, keepdim)) return out;
    return SIDRA_FALL_BACK2(amax, out)(self, dims, keepdim, out);
}

at::Tensor& amin_out(const at::Tensor& self, at::IntArrayRef dims, bool keepdim, at::Tensor& out) {
    const c10::DeviceGuard guard(self.device());
    if (reduce<sidra_reduce_min>(out, self, dims, keepdim)) return out;
    return SIDRA_FALL_BACK2(amin, out)(self, dims, keepdim, out);
}

// As sidra_layer_norm(), and keeps mean and 1 / deviation for the backward pass. o0 input, o1 gamma, o2 beta, o3
// output, o4 mean, o5 1 / deviation; p0: 1 / columns, p1: epsilon.
constexpr const char* kLayerNorm = R"(pass:
    v0 = load o0
    s0 = reduce_sum v0
    s1 = mul s0, p0
    store o4, s1
pass:
    v0 = load o0
    v1 = sub v0, s1
    s2 = reduce_dot v1, v1
    s3 = fma s2, p0, p1
    s4 = rsqrt s3
    store o5, s4
pass:
    v0 = load o0
    v1 = sub v0, s1
    v2 = mul v1, s4
    v3 = load o1
    v4 = load o2
    v5 = fma v2, v3, v4
    store o3, v5
)";

std::tuple<at::Tensor, at::Tensor, at::Tensor> native_layer_norm(const at::Tensor& input, c10::SymIntArrayRef shape,
                                                                 const std::optional<at::Tensor>& gamma_or_none,
                                                                 const std::optional<at::Tensor>& beta_or_none,
                                                                 double epsilon) {
    static VectorProgram program(kLayerNorm);
    const at::IntArrayRef normalised = C10_AS_INTARRAYREF_SLOW(shape);
    const c10::DeviceGuard guard(input.device());
    const at::Tensor gamma = gamma_or_none.value_or(at::Tensor()), beta = beta_or_none.value_or(at::Tensor());
    const auto affine = [&](const at::Tensor& tensor) {
        return tensor.defined() && is_sidra(tensor) && is_float(tensor.scalar_type());
    };
    if (is_float(input.scalar_type()) && affine(gamma) && affine(beta) && input.numel() > 0 &&
        input.scalar_type() == at::kFloat &&
        input.sizes().slice(static_cast<size_t>(input.dim()) - normalised.size()) == normalised) {
        const int64_t columns = gamma.numel(), rows = input.numel() / columns;
        const at::Tensor in = input.contiguous(), scale = gamma.contiguous(), shift = beta.contiguous();
        at::Tensor out = at::empty(input.sizes(), in.options());
        std::vector<int64_t> stat_size = input.sizes().vec();
        for (size_t d = stat_size.size() - normalised.size(); d < stat_size.size(); ++d) stat_size[d] = 1;
        at::Tensor mean = at::empty(stat_size, in.options()), deviation = at::empty(stat_size, in.options());
        const Sizes sizes = {1, 1, static_cast<uint32_t>(rows), static_cast<uint32_t>(columns)};
        const std::array<sidra_vector_operand, 6> operands = {dense(in, sizes),  row(scale),    row(shift),
                                                              dense(out, sizes), of_rows(mean), of_rows(deviation)};
        auto call = SIDRA_INIT(sidra_vector);
        const c10::DeviceIndex index = input.device().index();
        call.program = program.on(index);
        std::copy(sizes.begin(), sizes.end(), call.size);
        call.param[0] = sidra_param_f32(1 / static_cast<float>(columns));
        call.param[1] = sidra_param_f32(static_cast<float>(epsilon));
        call.operands = operands.data();
        call.operand_count = 6;
        if (queued(sidra_vector_async(current_stream(index), &call))) return {out, mean, deviation};
    }
    return SIDRA_FALL_BACK_SYMINT(native_layer_norm)(input, shape, gamma_or_none, beta_or_none, epsilon);
}

at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices, c10::SymInt padding, bool scale_grad,
                     bool sparse) {
    const c10::DeviceGuard guard(weight.device());
    const bool types = weight.dim() == 2 && type_of(weight.scalar_type()) && weight.scalar_type() != at::kLong &&
                       (indices.scalar_type() == at::kLong || indices.scalar_type() == at::kInt);
    if (types && is_sidra(indices) && indices.numel() > 0) {
        const at::Tensor table = weight.contiguous(), index = indices.contiguous();
        std::vector<int64_t> size = indices.sizes().vec();
        size.push_back(weight.size(1));
        at::Tensor out = at::empty(size, weight.options());
        const std::optional<Sizes> sizes = rows_of(out);
        if (sizes) {
            const sidra_array to = dense(out, *sizes);
            const sidra_array from =
                dense(table, {1, 1, static_cast<uint32_t>(weight.size(0)), static_cast<uint32_t>(weight.size(1))});
            if (queued(sidra_gather_rows(current_stream(weight.device().index()), sizes->data(), &to, &from,
                                         static_cast<uint32_t>(weight.size(0)), place_of(index),
                                         *type_of(index.scalar_type()))))
                return out;
        }
    }
    return SIDRA_FALL_BACK_SYMINT(embedding)(weight, indices, padding, scale_grad, sparse);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("_softmax.out", softmax_out);
    m.impl("_log_softmax.out", log_softmax_out);
    m.impl("sum.IntList_out", sum_out);
    m.impl("mean.out", mean_out);
    m.impl("amax.out", amax_out);
    m.impl("amin.out", amin_out);
    m.impl("native_layer_norm", native_layer_norm);
    m.impl("embedding", embedding);
}

}  // namespace
}  // namespace sidra::pytorch
