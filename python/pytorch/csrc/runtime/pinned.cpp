// SPDX-License-Identifier: MIT
#include "runtime/pinned.h"

#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include "runtime/device.h"
#include "runtime/error.h"

namespace sidra::pytorch {
namespace {

void free_buffer(void* context) { static_cast<void>(sidra_buffer_destroy(static_cast<sidra_buffer*>(context))); }

class Pinned final : public c10::Allocator {
   public:
    c10::DataPtr allocate(size_t bytes) override {
        if (bytes == 0) return {nullptr, c10::Device(c10::DeviceType::CPU)};
        sidra_buffer* buffer = nullptr;
        check(sidra_buffer_create(device(current_device()).context(), bytes, SIDRA_BUFFER_HOST, &buffer));
        void* host = nullptr;
        if (const sidra_status status = sidra_buffer_map(buffer, &host); status != SIDRA_OK) {
            free_buffer(buffer);
            fail(status);
        }
        return {host, buffer, &free_buffer, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }  // the pointer to free is not the one to use
    void copy_data(void* destination, const void* source, size_t bytes) const override {
        default_copy_data(destination, source, bytes);
    }
};

// -1: no device has it.
c10::DeviceIndex find(const void* data) {
    sidra_ref ref{};
    for (c10::DeviceIndex i = 0; i < device_count(); ++i) {
        if (is_open(i) && sidra_buffer_find(device(i).context(), data, &ref) == SIDRA_OK) return i;
    }
    return -1;
}

}  // namespace

c10::Allocator* pinned_allocator() {
    static Pinned allocator;
    return &allocator;
}

bool is_pinned(const void* data) { return find(data) >= 0; }

c10::DeviceIndex device_of(const void* data) {
    const c10::DeviceIndex index = find(data);
    TORCH_CHECK(index >= 0, "no SIDRA device has memory at ", data);
    return index;
}

}  // namespace sidra::pytorch
