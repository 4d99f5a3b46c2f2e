// SPDX-License-Identifier: MIT
#include "aten/alias.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/TensorImpl.h>

namespace sidra::pytorch {

c10::Storage cpu_storage(const at::Tensor& tensor) {
    TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::kStrided, "sidra has dense tensors only, not ",
                                tensor.layout());
    const c10::Storage& from = tensor.storage();
    c10::DataPtr data(from.mutable_data(), c10::Device(c10::DeviceType::CPU));
    return {c10::Storage::use_byte_size_t(), from.nbytes(), std::move(data), c10::GetCPUAllocator(), true};
}

at::Tensor cpu_alias(const at::Tensor& tensor, c10::Storage storage) {
    at::Tensor alias = at::detail::make_tensor<c10::TensorImpl>(
        std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
    alias.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
    alias._set_conj(tensor.is_conj());
    alias._set_neg(tensor.is_neg());
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) alias.unsafeGetTensorImpl()->set_wrapped_number(true);
    return alias;
}

at::Tensor cpu_alias(const at::Tensor& tensor) {
    return tensor.defined() && is_sidra(tensor) ? cpu_alias(tensor, cpu_storage(tensor)) : tensor;
}

}  // namespace sidra::pytorch
