// SPDX-License-Identifier: MIT
// Operators that a backend must have: making tensors, views of them, and reading one element.
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <algorithm>

#include "aten/alias.h"
#include "runtime/block.h"
#include "runtime/device.h"
#include "runtime/memory.h"

namespace sidra::pytorch {
namespace {

constexpr c10::DispatchKeySet kKeys{c10::DispatchKey::PrivateUse1};

void check_options(std::optional<at::Layout> layout, std::optional<bool> pin_memory) {
    TORCH_CHECK_NOT_IMPLEMENTED(layout.value_or(at::kStrided) == at::kStrided, "sidra has dense tensors only, not ",
                                layout.value_or(at::kStrided));
    TORCH_CHECK(!pin_memory.value_or(false), "only tensors of the CPU can be pinned");
}

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                 std::optional<at::Device> device, std::optional<bool> pin_memory,
                 std::optional<at::MemoryFormat> format) {
    check_options(layout, pin_memory);
    const DeviceScope scope(c10::device_or_default(device));
    return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), device_allocator(), kKeys,
                                     c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> layout, std::optional<at::Device> device,
                         std::optional<bool> pin_memory) {
    check_options(layout, pin_memory);
    const DeviceScope scope(c10::device_or_default(device));
    return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                                             device_allocator(), kKeys, c10::dtype_or_default(dtype));
}

at::Tensor as_strided(const at::Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
    std::optional<int64_t> at;
    if (offset) at = offset->expect_int();
    return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), at);
}

at::Tensor view(const at::Tensor& self, c10::SymIntArrayRef size) {
    return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

at::Tensor reshape_alias(const at::Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
    return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

// As for tensors of the CPU: what has the shape already keeps its strides, and a storage that is too small grows. That
// comes first, so that the tensor does not reach beyond its storage if there is no memory.
void give_shape(const at::Tensor& self, c10::IntArrayRef size, at::OptionalIntArrayRef stride, int64_t offset) {
    c10::TensorImpl* impl = self.unsafeGetTensorImpl();
    if (self.sizes() != size || (stride && self.strides() != *stride)) {
        const auto before = static_cast<size_t>(offset);
        const size_t bytes = stride ? at::detail::computeStorageNbytes(size, *stride, self.itemsize(), before)
                                    : at::detail::computeStorageNbytesContiguous(size, self.itemsize(), before);
        if (std::ranges::find(size, 0) == size.end() && bytes > self.storage().nbytes())
            resize_storage(self.storage(), bytes);
        stride ? impl->set_sizes_and_strides(size, *stride) : impl->set_sizes_contiguous(size);
    }
    impl->set_storage_offset(offset);
}

const at::Tensor& resize_(const at::Tensor& self, c10::SymIntArrayRef size, std::optional<at::MemoryFormat> format) {
    give_shape(self, C10_AS_INTARRAYREF_SLOW(size), {}, self.storage_offset());
    if (format) {
        TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format ", *format);
        self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
    }
    return self;
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source, c10::SymInt offset, c10::SymIntArrayRef size,
                        c10::SymIntArrayRef stride) {
    at::native::checkSetStorage(self, std::move(source), offset, size, stride);
    give_shape(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), offset.expect_int());
    return self;
}

at::Tensor& set_source_storage(at::Tensor& self, at::Storage source) {
    const int64_t elements = static_cast<int64_t>(source.nbytes() / self.itemsize());
    return set_storage(self, std::move(source), 0, c10::SymIntArrayRef(std::vector<c10::SymInt>{elements}),
                       c10::SymIntArrayRef(std::vector<c10::SymInt>{1}));
}

at::Tensor& set_source_tensor(at::Tensor& self, const at::Tensor& source) {
    if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) return self;
    return set_storage(self, source.storage(), source.sym_storage_offset(), source.sym_sizes(), source.sym_strides());
}

at::Tensor& set_nothing(at::Tensor& self) {
    const DeviceScope scope(self.device());
    c10::Storage empty(c10::Storage::use_byte_size_t(), 0, device_allocator(), true);
    const std::vector<c10::SymInt> size = {0}, stride = {1};
    return set_storage(self, std::move(empty), 0, size, stride);
}

at::Scalar local_scalar(const at::Tensor& self) {
    synchronize_current_stream(self.device().index());
    return at::native::_local_scalar_dense_cpu(cpu_alias(self));
}

void record_stream_of(at::Tensor& self, at::Stream stream) { record_stream(self.storage().data_ptr(), stream); }

// Parameters keep their identity when a module moves between the CPU and the device (and so do their ties).
bool compatible_shallow_copy(const at::Tensor& self, const at::Tensor& from) {
    const auto known = [](c10::DeviceType type) {
        return type == c10::DeviceType::CPU || type == c10::DeviceType::PrivateUse1;
    };
    return self.layout() == at::kStrided && from.layout() == at::kStrided && known(self.device().type()) &&
           known(from.device().type());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", empty);
    m.impl("empty_strided", empty_strided);
    m.impl("as_strided", as_strided);
    m.impl("view", view);
    m.impl("_reshape_alias", reshape_alias);
    m.impl("resize_", resize_);
    m.impl("set_.source_Storage_storage_offset", set_storage);
    m.impl("set_.source_Storage", set_source_storage);
    m.impl("set_.source_Tensor", set_source_tensor);
    m.impl("set_", set_nothing);
    m.impl("is_set_to", at::native::is_set_to);
    m.impl("unfold", at::native::unfold);
    m.impl("view_as_real", at::native::view_as_real);
    m.impl("view_as_complex", at::native::view_as_complex);
    m.impl("_local_scalar_dense", local_scalar);
    m.impl("record_stream", record_stream_of);
    m.impl("_has_compatible_shallow_copy_type", compatible_shallow_copy);
}
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
    m.impl("_has_compatible_shallow_copy_type", compatible_shallow_copy);
}

}  // namespace
}  // namespace sidra::pytorch
