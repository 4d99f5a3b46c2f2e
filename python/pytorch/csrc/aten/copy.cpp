// SPDX-License-Identifier: MIT
// Copies between tensors: on the chip where both are its and it knows the types; between chips by libsidra, when both
// have come to it; otherwise by the CPU, which sees the memory of all devices.
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <torch/library.h>

#include "aten/alias.h"
#include "aten/arrays.h"
#include "profiler/profile.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/error.h"

namespace sidra::pytorch {
namespace {

// Types between which the chip rounds as PyTorch does.
bool converts(at::ScalarType from, at::ScalarType to) {
    if (is_float(to))
        return is_float(from) || is_narrow(from) || ((from == at::kInt || from == at::kLong) && to == at::kFloat);
    return (to == at::kLong || to == at::kInt) && (is_narrow(from) || (from == at::kInt && to == at::kLong));
}

bool copy_on_chip(const at::Tensor& from, const at::Tensor& to) {
    if (from.device() != to.device() || from.is_conj() != to.is_conj() || from.is_neg() != to.is_neg()) return false;
    std::optional<sidra_type> from_type, to_type;
    if (from.scalar_type() == to.scalar_type()) {
        from_type = to_type = bits_of(to.itemsize());
    } else if (converts(from.scalar_type(), to.scalar_type())) {
        from_type = type_of(from.scalar_type()), to_type = type_of(to.scalar_type());
    }
    if (!to_type) return false;
    const at::TensorIterator iter = at::TensorIteratorConfig()
                                        .add_output(to)
                                        .add_const_input(from)
                                        .resize_outputs(false)
                                        .check_all_same_dtype(false)
                                        .build();
    const std::optional<Sizes> sizes = sizes_of(iter);
    if (!sizes) return false;
    const sidra_array out = array_of(iter, 0, *to_type), in = array_of(iter, 1, *from_type);
    return queued(sidra_convert(OnStream(to.device().index(), "sidra::copy", to.nbytes()), sizes->data(), &out, &in));
}

// Copies to another chip, for which neither the host nor the source's stream waits: the bytes go through memory of a
// stream for copies, which alone is held until the other chip has come so far.
bool copy_to_another_chip(const at::Tensor& from, const at::Tensor& to) {
    if (from.device() == to.device()) return false;
    const c10::DeviceIndex index = from.device().index();
    const bool dense = to.is_non_overlapping_and_dense();
    const at::Tensor landing = dense ? to : at::empty(to.sizes(), to.options());
    Device& source = device(index);
    const c10::StreamId current = current_stream_id(index), copying = source.copy_stream();
    require_not_dropped(index, current);
    check(source.wait_for(copying, current));
    {
        const DeviceScope scope(from.device());
        const StreamScope stream(index, copying);
        at::Tensor parcel = at::empty_strided(landing.sizes(), landing.strides(), to.options().device(from.device()));
        parcel._set_conj(to.is_conj());
        parcel._set_neg(to.is_neg());
        if (!copy_on_chip(from, parcel)) return false;
        check(source.wait_for(current, copying));
        // Of a profile, both lock their stream's records: the one for copies comes second, as in all threads.
        const OnStream taking(to.device().index(), "sidra::peer_copy", parcel.nbytes());
        const OnStream giving(index, "sidra::peer_copy", parcel.nbytes());
        check(sidra_copy_peer_async(taking, place_of(landing), giving, place_of(parcel), parcel.nbytes()));
    }
    return dense || copy_on_chip(landing, to);
}

void synchronize_device_of(const at::Tensor& tensor) {
    if (is_sidra(tensor)) synchronize_current_stream(tensor.device().index());
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
    if (to.numel() == 0) {  // nothing to copy, but the CPU's operator says what does not fit
        cpu_alias(to).copy_(cpu_alias(from));
        return to;
    }
    const DeviceScope scope(is_sidra(to) ? to.device() : from.device());
    if (!is_sidra(from) || !is_sidra(to) || !(copy_on_chip(from, to) || copy_to_another_chip(from, to))) {
        synchronize_device_of(from);
        synchronize_device_of(to);
        const OnHost span((is_sidra(to) ? to : from).device().index(), HostWork::kCopy,
                          !is_sidra(from) ? "to the device"
                          : is_sidra(to)  ? "on the device"
                                          : "to the host",
                          to.nbytes());
        cpu_alias(to).copy_(cpu_alias(from));
    }
    if (is_sidra(to)) mark_written(to);
    return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
    to.resize_(from.sizes());
    return copy_from(from, to, false);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("_copy_from", copy_from);
    m.impl("_copy_from_and_resize", copy_from_and_resize);
}
// copy_() falls through for conjugated and negated views, so these must: or copies would resolve each other for ever.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
    m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
    m.impl("_copy_from", torch::CppFunction::makeFallthrough());
    m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

}  // namespace
}  // namespace sidra::pytorch
