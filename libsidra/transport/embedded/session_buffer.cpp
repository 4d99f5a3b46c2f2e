// SPDX-License-Identifier: MIT
// Buffers (allocated, registered, L3) and their bindings to address spaces.
#include "session.h"
#include "user_memory.h"

namespace sidra::embedded {
namespace {

constexpr uint64_t kSizeMax = kVaEnd - kVaBegin;

struct HostBuffer final : BufferMemory {
    explicit HostBuffer(uint64_t bytes) : memory(bytes) {
        pages = memory.data();
        size = memory.size();
        address = memory.bus();
    }
    HostMemory memory;
};

// The driver's lock must be held when the last reference is dropped (Session::release ensures that).
struct LocalBuffer final : BufferMemory {
    LocalBuffer(Driver& its_driver, uint64_t offset, uint64_t bytes) : driver(its_driver) {
        pages = driver.local_memory() + offset;
        size = bytes;
        address = offset;
        pte_flags = SIDRA_PTE_LOCAL;
    }
    ~LocalBuffer() override { driver.free_local(address, size); }
    Driver& driver;
};

// The pages that contain the caller's bytes; the device can access them as a whole. They are not pinned, so they must
// stay mapped.
struct UserBuffer final : BufferMemory {
    UserBuffer(uint64_t start, uint64_t bytes, bool device_reads_only) {
        first = start % SIDRA_PAGE_SIZE;
        address = start - first;
        size = page_ceil(first + bytes);
        pages = reinterpret_cast<uint8_t*>(address);
        readonly = device_reads_only;
        mappable = false;
    }
};

uint64_t bytes_of_process(const BufferMemory& memory) { return memory.pte_flags & SIDRA_PTE_LOCAL ? 0 : memory.size; }

}  // namespace

int Session::find_buffer(uint32_t handle, std::shared_ptr<BufferMemory>* memory, Detail& detail) {
    const auto place = buffers_.find(handle);
    if (place == buffers_.end()) return fail(detail, -ENOENT, "there is no buffer {}", handle);
    *memory = place->second;
    return 0;
}

uint32_t Session::add_buffer(std::shared_ptr<BufferMemory> memory) {
    const uint32_t handle = take_handle();
    const auto& added = *buffers_.emplace(handle, std::move(memory)).first->second;
    driver_->use().buffers++;
    driver_->use().memory += bytes_of_process(added);
    return handle;
}

void Session::drop_buffer(std::map<uint32_t, std::shared_ptr<BufferMemory>>::iterator buffer) {
    driver_->use().buffers--;
    driver_->use().memory -= bytes_of_process(*buffer->second);
    buffers_.erase(buffer);
}

int Session::buffer_create(sidra_ioctl_buffer_create& a, Detail& detail) {
    a.handle = 0;
    a.mmap_offset = 0;
    if (int error = check_flags(a.flags, SIDRA_BUFFER_LOCAL, "flags", detail)) return error;
    if (a.size == 0 || a.size > kSizeMax)
        return fail(detail, -EINVAL, "a buffer of {} bytes: the size must be 1..{}", a.size, kSizeMax);
    const uint64_t size = page_ceil(a.size);
    std::shared_ptr<BufferMemory> memory;
    if (a.flags & SIDRA_BUFFER_LOCAL) {
        const int64_t offset = driver_->allocate_local(size);
        if (offset < 0)
            return fail(detail, -ENOSPC, "{} bytes of L3 in one piece are not free ({} of {} are free in all)", size,
                        driver_->local_free(), driver_->info().l3_size);
        try {
            memory = std::make_shared<LocalBuffer>(*driver_, static_cast<uint64_t>(offset), size);
        } catch (...) {
            driver_->free_local(static_cast<uint64_t>(offset), size);
            throw;
        }
    } else {
        try {
            memory = std::make_shared<HostBuffer>(size);
        } catch (const std::bad_alloc&) {
            return fail(detail, -ENOMEM, "the system has no {} bytes of memory for a buffer", size);
        }
    }
    a.handle = add_buffer(std::move(memory));
    a.size = size;
    a.mmap_offset = MapOffset(MapOffset::kBuffer, a.handle).raw();
    return 0;
}

int Session::buffer_register(sidra_ioctl_buffer_register& a, Detail& detail) {
    a.handle = 0;
    if (int error = check_flags(a.flags, SIDRA_REGISTER_READONLY, "flags", detail)) return error;
    const uint64_t offset = a.address % SIDRA_PAGE_SIZE;
    if (a.size == 0 || a.size > kSizeMax - 2 * SIDRA_PAGE_SIZE || a.address + a.size + SIDRA_PAGE_SIZE < a.address)
        return fail(detail, -EINVAL, "memory at {:#x}, {} bytes: the size must be 1..{} and the end must not wrap",
                    a.address, a.size, kSizeMax - 2 * SIDRA_PAGE_SIZE);
    const bool readonly = a.flags & SIDRA_REGISTER_READONLY;
    if (!probe_user(a.address - offset, page_ceil(offset + a.size), !readonly))
        return fail(detail, -EFAULT, "memory at {:#x}, {} bytes is not mapped{}", a.address, a.size,
                    readonly ? "" : ", or not writable (register it read-only then)");
    a.handle = add_buffer(std::make_shared<UserBuffer>(a.address, a.size, readonly));
    return 0;
}

void Session::unbind(Vm& vm, Bindings::iterator binding) {
    driver_->unbind(vm, binding->second.va, binding->second.memory->size);
    vm.bindings.erase(binding);  // the quiesce was acknowledged: now the memory can be freed
}

int Session::buffer_close(sidra_ioctl_buffer_close& a, Detail& detail) {
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    std::shared_ptr<BufferMemory> memory;
    if (int error = find_buffer(a.handle, &memory, detail)) return error;
    for (const auto& [handle, vm] : vms_) {
        auto binding = vm->bindings.lower_bound({a.handle, 0});
        while (binding != vm->bindings.end() && binding->first.first == a.handle) unbind(*vm, binding++);
    }
    drop_buffer(buffers_.find(a.handle));
    return 0;
}

int Session::buffer_bind(sidra_ioctl_buffer_bind& a, Detail& detail) {
    const uint64_t fixed = a.address;
    a.address = 0;
    constexpr uint32_t kKnown = SIDRA_BIND_READ | SIDRA_BIND_WRITE | SIDRA_BIND_FIXED;
    if (int error = check_flags(a.flags, kKnown, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    for (uint64_t field : a.reserved)
        if (int error = check_flags(field, 0, "reserved", detail)) return error;
    if (!(a.flags & SIDRA_BIND_READ)) return fail(detail, -EINVAL, "flags {:#x} lack SIDRA_BIND_READ", a.flags);
    if (!(a.flags & SIDRA_BIND_FIXED) != (fixed == 0))
        return fail(detail, -EINVAL, "address {:#x}: it is given with SIDRA_BIND_FIXED, and only then", fixed);
    std::shared_ptr<Vm> vm;
    std::shared_ptr<BufferMemory> memory;
    if (int error = find_vm(a.vm, &vm, detail)) return error;
    if (int error = find_buffer(a.handle, &memory, detail)) return error;
    if (memory->readonly && (a.flags & SIDRA_BIND_WRITE))
        return fail(detail, -EACCES, "buffer {} was registered read-only; bind it without SIDRA_BIND_WRITE", a.handle);
    if (fixed != 0 && (fixed % SIDRA_PAGE_SIZE != memory->first || !Driver::fits(fixed - memory->first, memory->size)))
        return fail(detail, -EINVAL,
                    "address {:#x} does not have offset {:#x} in its page, or {} bytes there are not in {:#x}..{:#x}",
                    fixed, memory->first, memory->size, kVaBegin, kVaEnd);
    const Driver::Segment segment{
        memory->size, memory->pte_flags | SIDRA_PTE_READ | (a.flags & SIDRA_BIND_WRITE ? SIDRA_PTE_WRITE : 0)};
    const uint64_t va = driver_->bind(*vm, memory->address, {&segment, 1}, fixed == 0 ? 0 : fixed - memory->first);
    if (va == 0 && fixed != 0)
        return fail(detail, -EEXIST, "part of {} bytes at {:#x}, or of the page behind them, is in use", memory->size,
                    fixed);
    if (va == 0)
        return fail(detail, -ENOSPC, "address space {} has no room for {} bytes ({} in one piece); unbind something",
                    a.vm, memory->size, vm->addresses.largest_free());
    const uint64_t address = va + memory->first;
    try {
        vm->bindings.emplace(std::pair{a.handle, address}, Binding{memory, va});
    } catch (...) {
        driver_->unbind(*vm, va, memory->size);
        throw;
    }
    a.address = address;
    return 0;
}

int Session::buffer_unbind(sidra_ioctl_buffer_unbind& a, Detail& detail) {
    std::shared_ptr<Vm> vm;
    std::shared_ptr<BufferMemory> memory;
    if (int error = find_vm(a.vm, &vm, detail)) return error;
    if (int error = find_buffer(a.handle, &memory, detail)) return error;
    const auto binding = vm->bindings.find({a.handle, a.address});
    if (binding == vm->bindings.end())
        return fail(detail, -ENOENT, "buffer {} is not bound at {:#x} in address space {}", a.handle, a.address, a.vm);
    unbind(*vm, binding);
    return 0;
}

}  // namespace sidra::embedded
