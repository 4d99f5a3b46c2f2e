// SPDX-License-Identifier: MIT
#include "memory.h"

#include "context.h"

namespace sidra {
namespace {

// The driver has dropped the mappings of a lost context or of a removed device.
bool mapping_is_gone(int error) { return error == -ESTALE || error == -ENODEV || error == -ENOENT; }

}  // namespace

sidra_status DeviceMemory::create(const char* call, sidra_context* context, uint64_t size, bool local,
                                  std::unique_ptr<DeviceMemory>* memory) {
    return allocate(call, context, size, local, false, memory);
}

sidra_status DeviceMemory::create_readonly(const char* call, sidra_context* context, uint64_t size,
                                           std::unique_ptr<DeviceMemory>* memory) {
    return allocate(call, context, size, false, true, memory);
}

sidra_status DeviceMemory::allocate(const char* call, sidra_context* context, uint64_t size, bool local, bool readonly,
                                    std::unique_ptr<DeviceMemory>* memory) {
    std::string detail;
    std::unique_ptr<DeviceMemory> made(new DeviceMemory(context, size));
    sidra_ioctl_buffer_create create{};
    create.size = size;
    create.flags = local ? SIDRA_BUFFER_LOCAL : 0;
    if (const int error = request(*context->transport, SIDRA_IOCTL_BUFFER_CREATE, &create, &detail); error != 0)
        return fail_errno(call, error, fmt::format("allocating {} bytes of {}", size, local ? "L3" : "host memory"),
                          detail,
                          {{ENOSPC, local ? SIDRA_ERROR_OUT_OF_DEVICE_MEMORY : SIDRA_ERROR_OUT_OF_MEMORY},
                           {ENOMEM, local ? SIDRA_ERROR_OUT_OF_DEVICE_MEMORY : SIDRA_ERROR_OUT_OF_MEMORY},
                           // Exceeds the address space; the other fields of the request are valid.
                           {EINVAL, local ? SIDRA_ERROR_OUT_OF_DEVICE_MEMORY : SIDRA_ERROR_OUT_OF_MEMORY}});
    made->handle_ = create.handle;
    made->host_ = static_cast<std::byte*>(context->transport->map(create.mmap_offset, create.size, true));
    if (made->host_ == nullptr)
        return fail(SIDRA_ERROR_OUT_OF_MEMORY, call,
                    "mapping {} bytes into the process failed; free address space or memory", size);
    made->mapped_ = create.size;
    SIDRA_TRY(made->bind(call, readonly));
    *memory = std::move(made);
    return SIDRA_OK;
}

sidra_status DeviceMemory::enroll(const char* call, sidra_context* context, void* memory, uint64_t size, bool readonly,
                                  std::unique_ptr<DeviceMemory>* result) {
    std::string detail;
    std::unique_ptr<DeviceMemory> made(new DeviceMemory(context, size));
    sidra_ioctl_buffer_register enroll{};
    enroll.address = reinterpret_cast<uintptr_t>(memory);
    enroll.size = size;
    enroll.flags = readonly ? SIDRA_REGISTER_READONLY : 0;
    if (const int error = request(*context->transport, SIDRA_IOCTL_BUFFER_REGISTER, &enroll, &detail); error != 0)
        return fail_errno(call, error, fmt::format("registering {} bytes at {}", size, memory), detail,
                          {{ENOSPC, SIDRA_ERROR_OUT_OF_MEMORY}, {EDQUOT, SIDRA_ERROR_MEMLOCK}});
    made->handle_ = enroll.handle;
    made->host_ = static_cast<std::byte*>(memory);
    SIDRA_TRY(made->bind(call, readonly));
    *result = std::move(made);
    return SIDRA_OK;
}

sidra_status DeviceMemory::bind(const char* call, bool readonly) {
    std::string detail;
    sidra_ioctl_buffer_bind bind{};
    bind.vm = context_->vm;
    bind.handle = handle_;
    bind.flags = readonly ? SIDRA_BIND_READ : SIDRA_BIND_READ | SIDRA_BIND_WRITE;
    if (const int error = request(*context_->transport, SIDRA_IOCTL_BUFFER_BIND, &bind, &detail); error != 0)
        return fail_errno(call, error, fmt::format("mapping {} bytes for context {}", size_, context_->id), detail,
                          {{ENOSPC, SIDRA_ERROR_OUT_OF_MEMORY}});
    address_ = bind.address;
    bound_ = true;
    return SIDRA_OK;
}

sidra_status DeviceMemory::release(const char* call) {
    if (bound_ && !forked(*context_)) {
        std::string detail;
        sidra_ioctl_buffer_unbind unbind{};
        unbind.vm = context_->vm;
        unbind.handle = handle_;
        unbind.address = address_;
        const int error = request(*context_->transport, SIDRA_IOCTL_BUFFER_UNBIND, &unbind, &detail);
        if (error != 0 && !mapping_is_gone(error))
            return fail_errno(call, error, fmt::format("unmapping {} bytes of context {}", size_, context_->id),
                              detail);
    }
    bound_ = false;
    if (!forked(*context_)) {
        const std::lock_guard lock(life_->mutex);
        life_->gone = true;
    }
    close();
    return SIDRA_OK;
}

void DeviceMemory::close() {
    // A forked child has no mapping, and must not send requests for its parent.
    if (!forked(*context_)) {
        if (mapped_ != 0) context_->transport->unmap(host_, mapped_);
        if (handle_ != 0) {
            sidra_ioctl_buffer_close close{};
            close.handle = handle_;
            request(*context_->transport, SIDRA_IOCTL_BUFFER_CLOSE, &close, nullptr);
        }
    }
    mapped_ = 0;
    handle_ = 0;
}

DeviceMemory::~DeviceMemory() {
    if (handle_ == 0) return;
    // The device may still access the memory: leak it rather than let the device write into memory with a new owner.
    // Guarded, because the driver may fail for want of memory, and then there is none for the text either.
    if (guarded("sidra", [&] { return release("sidra"); }) != SIDRA_OK) handle_ = 0;
}

}  // namespace sidra
