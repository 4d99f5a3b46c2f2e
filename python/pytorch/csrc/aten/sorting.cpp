// SPDX-License-Identifier: MIT
// Sorting along a dimension, and the largest or smallest elements.
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "aten/fallback.h"
#include "profiler/profile.h"
#include "runtime/block.h"
#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

// The first `count` elements in order, and where they were. False: the chip does not take the type or shape.
bool sorted(const at::Tensor& self, int64_t count, int64_t dim, bool descending, at::Tensor& values,
            at::Tensor& places) {
    const bool here =
        is_sidra(self) && is_sidra(values) && is_sidra(places) && self.numel() > 0 && self.dim() > 0 && count > 0;
    if (!here || !type_of(self.scalar_type()) || values.scalar_type() != self.scalar_type() ||
        places.scalar_type() != at::kLong)
        return false;
    const at::Tensor in = self.movedim(dim, -1).contiguous();
    const std::optional<Sizes> sizes = rows_of(in);
    if (!sizes) return false;
    std::vector<int64_t> size = in.sizes().vec();
    size.back() = count;
    const at::Tensor first = at::empty(size, values.options()), where = at::empty(size, places.options());
    auto call = SIDRA_INIT(sidra_sort);
    call.type = *type_of(self.scalar_type());
    call.index_type = SIDRA_S64;
    call.in = place_of(in);
    call.values = place_of(first);
    call.indices = place_of(where);
    call.rows = (*sizes)[2];
    call.cols = (*sizes)[3];
    call.count = static_cast<uint32_t>(count);
    call.descending = descending;
    if (!queued(sidra_sort_async(OnStream(self.device().index(), "sidra::sort"), &call))) return false;
    const auto give = [&](at::Tensor& to, const at::Tensor& from) {
        const at::Tensor shaped = from.movedim(-1, dim);
        at::native::resize_output(to, shaped.sizes());
        to.copy_(shaped);
    };
    give(values, first);
    give(places, where);
    return true;
}

// The chip's order is stable.
std::tuple<at::Tensor&, at::Tensor&> sort_out(const at::Tensor& self, std::optional<bool> stable, int64_t dim,
                                              bool descending, at::Tensor& values, at::Tensor& places) {
    const DeviceScope scope(self.device());
    const int64_t along = at::maybe_wrap_dim(dim, self.dim());
    if (self.dim() > 0 && sorted(self, self.size(along), along, descending, values, places)) return {values, places};
    return SIDRA_FALL_BACK2(sort, values_stable)(self, stable, dim, descending, values, places);
}

std::tuple<at::Tensor&, at::Tensor&> topk_out(const at::Tensor& self, int64_t count, int64_t dim, bool largest,
                                              bool in_order, at::Tensor& values, at::Tensor& places) {
    const DeviceScope scope(self.device());
    const int64_t along = at::maybe_wrap_dim(dim, self.dim());
    if (self.dim() > 0 && count <= self.size(along) && sorted(self, count, along, largest, values, places))
        return {values, places};
    return SIDRA_FALL_BACK2(topk, values)(self, count, dim, largest, in_order, values, places);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("sort.values_stable", sort_out);
    m.impl("topk.values", topk_out);
}

}  // namespace
}  // namespace sidra::pytorch
