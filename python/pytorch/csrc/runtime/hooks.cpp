// SPDX-License-Identifier: MIT
// What PyTorch's core asks a backend by name: devices, generators, pinned memory.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <torch/version.h>

#include "runtime/device.h"
#include "runtime/generator.h"
#include "runtime/memory.h"
#include "runtime/pinned.h"

#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR < 7
#define SIDRA_SINCE_27
#else
#define SIDRA_SINCE_27 override
#endif

namespace sidra::pytorch {
namespace {

struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const SIDRA_SINCE_27 { return true; }
    bool isAvailable() const SIDRA_SINCE_27 { return device_count() > 0; }
    bool hasPrimaryContext(c10::DeviceIndex index) const override { return is_open(index); }
    void init() const override {}
    c10::DeviceIndex deviceCount() const override { return device_count(); }
    c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
    void setCurrentDevice(c10::DeviceIndex index) const override { set_current_device(index); }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override { return set_current_device(index); }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override { return set_current_device(index); }
    const at::Generator& getDefaultGenerator(c10::DeviceIndex index) const override { return default_generator(index); }
    at::Generator getNewGenerator(c10::DeviceIndex index) const SIDRA_SINCE_27 {
        return at::make_generator<Generator>(index < 0 ? current_device() : index);
    }
    at::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
    bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
    at::Device getDeviceFromPtr(void* data) const override { return {c10::DeviceType::PrivateUse1, device_of(data)}; }
    void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
        resize_storage(storage, bytes);
    }
};

const bool registered = [] {
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    return true;
}();

}  // namespace
}  // namespace sidra::pytorch
