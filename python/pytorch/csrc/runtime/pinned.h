// SPDX-License-Identifier: MIT
// Host memory that the device can use without a copy: tensors of the CPU, in buffers of the current device.
#ifndef SIDRA_PYTORCH_PINNED_H
#define SIDRA_PYTORCH_PINNED_H

#include <c10/core/Allocator.h>

namespace sidra::pytorch {

c10::Allocator* pinned_allocator();
bool is_pinned(const void* data);
// The device that has the memory at this address. Throws if none has.
c10::DeviceIndex device_of(const void* data);

}  // namespace sidra::pytorch

#endif
