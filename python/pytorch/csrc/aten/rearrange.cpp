// SPDX-License-Identifier: MIT
// Elements in another order: reversed or moved around along dimensions, and added up by index.
#include <ATen/WrapDimUtils.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/roll.h>
#include <torch/library.h>

#include "aten/alias.h"
#include "aten/fallback.h"
#include "aten/indexing.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

at::Tensor flip(const at::Tensor& self, at::IntArrayRef dims) {
    const DeviceScope scope(self.device());
    if (is_sidra(self) && self.numel() > 0) {
        at::dim_list_to_bitset(dims, self.dim());  // throws if a dimension is there twice
        at::Tensor out = self;
        for (const int64_t given : dims) {
            const int64_t dim = at::maybe_wrap_dim(given, self.dim());
            if (self.dim() == 0 || self.size(dim) == 1) continue;
            const at::Tensor order = at::arange(self.size(dim) - 1, -1, -1, self.options().dtype(at::kInt));
            out = gathered(out, dim, order);
            if (!out.defined()) break;
        }
        if (out.defined()) return out.is_same(self) ? self.clone() : out;
    }
    return SIDRA_FALL_BACK(flip)(self, dims);
}

// Two parts change places in each dimension.
at::Tensor roll(const at::Tensor& self, c10::SymIntArrayRef given, at::IntArrayRef dims) {
    const DeviceScope scope(self.device());
    const at::IntArrayRef shifts = C10_AS_INTARRAYREF_SLOW(given);
    if (is_sidra(self) && self.numel() > 0 && dims.empty() && shifts.size() == 1)
        return at::roll(self.contiguous().view({-1}), shifts, 0).view(self.sizes());
    if (is_sidra(self) && self.numel() > 0 && !shifts.empty() && dims.size() == shifts.size()) {
        at::Tensor out = self;
        for (size_t i = 0; i < dims.size(); ++i) {
            const int64_t dim = at::maybe_wrap_dim(dims[i], self.dim()), size = self.size(dim);
            const int64_t moved = (shifts[i] % size + size) % size;
            out = at::cat({out.narrow(dim, size - moved, moved), out.narrow(dim, 0, size - moved)}, dim);
        }
        return out;
    }
    return SIDRA_FALL_BACK_SYMINT(roll)(self, given, dims);
}

// PyTorch has not compared the shapes where `out` is the caller's; what does not fit is for the CPU to refuse.
bool plain(const at::Tensor& self, const at::Tensor& source, const at::Tensor& index, const at::Tensor& out) {
    const auto f32 = [](const at::Tensor& tensor) { return is_sidra(tensor) && tensor.scalar_type() == at::kFloat; };
    return f32(self) && f32(source) && f32(out) && is_index(index) && self.dim() > 0 && self.numel() > 0 &&
           index.numel() > 0 && out.sizes() == self.sizes() && source.dim() == self.dim();
}

at::Tensor& index_add_out(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& source,
                          const at::Scalar& alpha, at::Tensor& out) {
    const DeviceScope scope(self.device());
    const int64_t along = at::maybe_wrap_dim(dim, self.dim());
    const auto fits = [&] {
        for (int64_t d = 0; d < self.dim(); ++d) {
            if (source.size(d) != (d == along ? index.numel() : self.size(d))) return false;
        }
        return index.dim() <= 1;
    };
    if (plain(self, source, index, out) && fits()) {
        check_indices(index, 0, self.size(along), along);
        const at::Tensor sums = self.movedim(along, 0).clone(at::MemoryFormat::Contiguous);
        at::Tensor rows = source.movedim(along, 0).contiguous();
        if (!alpha.equal(1)) rows = rows.mul(alpha);
        if (add_rows(sums, index.contiguous(), rows)) return out.copy_(sums.movedim(0, along));
    }
    return SIDRA_FALL_BACK2(index_add, out)(self, dim, index, source, alpha, out);
}

// Each element is a row of its own, at its place in the memory of the sums.
at::Tensor& scatter_add_out(const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& source,
                            at::Tensor& out) {
    const DeviceScope scope(self.device());
    const int64_t along = at::maybe_wrap_dim(dim, self.dim());
    const auto fits = [&] {
        for (int64_t d = 0; d < self.dim(); ++d) {
            if (index.size(d) > source.size(d) || (d != along && index.size(d) > self.size(d))) return false;
        }
        return true;
    };
    if (plain(self, source, index, out) && index.dim() == self.dim() && fits()) {
        check_indices(index, 0, self.size(along), along);
        const at::Tensor sums = self.clone(at::MemoryFormat::Contiguous);
        at::Tensor places = index.to(at::kLong), from = source;
        places = places.mul(sums.stride(along));
        for (int64_t d = 0; d < self.dim(); ++d) {
            from = from.narrow(d, 0, index.size(d));
            if (d == along) continue;
            std::vector<int64_t> shape(static_cast<size_t>(self.dim()), 1);
            shape[static_cast<size_t>(d)] = index.size(d);
            places.add_(at::arange(index.size(d), places.options()).mul_(sums.stride(d)).view(shape));
        }
        if (add_rows(sums.view({-1, 1}), places.contiguous(), from.contiguous())) return out.copy_(sums);
    }
    return SIDRA_FALL_BACK2(scatter_add, out)(self, dim, index, source, out);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("flip", flip);
    m.impl("roll", roll);
    m.impl("index_add.out", index_add_out);
    m.impl("scatter_add.out", scatter_add_out);
}

}  // namespace
}  // namespace sidra::pytorch
