// SPDX-License-Identifier: MIT
#include "fake_transport.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace sidra::test {
namespace {

uint64_t whole_pages(uint64_t size) { return (size + 4095) & ~uint64_t{4095}; }

}  // namespace

FakeTransport::FakeTransport() {
    device.kind = SIDRA_DEVICE_MODEL;
    device.uapi_version = SIDRA_UAPI_VERSION_MAJOR << 16 | SIDRA_UAPI_VERSION_MINOR;
    device.hw_version = SIDRA_HW_VERSION;
    device.clusters = 1, device.cus_per_cluster = 2, device.xbars_per_cu = 4;
    device.rows = 256, device.cols = 256;
    device.xbars_total = status.xbars_free = 8;
    device.contexts_max = 64, device.queues_max = 1024;
}

void FakeTransport::fail(unsigned long request, int error, std::string detail, int times, int later) {
    const std::lock_guard lock(mutex_);
    failures_[request] = {error, std::move(detail), times, later};
}

void FakeTransport::retire(uint32_t number, uint64_t timeline) {
    __atomic_store_n(&queue(number).state->timeline, timeline, __ATOMIC_RELEASE);
}

void FakeTransport::fault(uint32_t number, sidra_fault fault) {
    sidra_queue_state* state = queue(number).state;
    state->fault = fault;
    __atomic_store_n(&state->run_state, uint32_t{SIDRA_QUEUE_FAULTED}, __ATOMIC_RELEASE);
}

void FakeTransport::lose_all() {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    for (auto& [number, queue] : queues_)
        if (queue->alive) {
            queue->alive = false;
            __atomic_store_n(&queue->state->run_state, uint32_t{SIDRA_QUEUE_LOST}, __ATOMIC_RELEASE);
        }
}

size_t FakeTransport::requests(unsigned long request) const {
    const std::lock_guard lock(mutex_);
    return static_cast<size_t>(std::count(history_.begin(), history_.end(), request));
}

sidra_cmd FakeTransport::packet(uint32_t number, uint64_t index) {
    sidra_cmd packet;
    const FakeQueue& from = queue(number);
    std::memcpy(&packet, from.ring + (index & (from.capacity - 1)) * sizeof packet, sizeof packet);
    return packet;
}

uint64_t FakeTransport::add_memory(uint64_t size) {
    const uint64_t offset = next_offset_;
    void* memory = ::operator new (whole_pages(size), std::align_val_t{4096});
    std::memset(memory, 0, whole_pages(size));
    memory_[offset].reset(memory);
    next_offset_ += whole_pages(size);
    return offset;
}

int FakeTransport::answer(const sidra_ioctl_device_query& query) const {
    const auto fill = [&](const auto& told) {
        std::memcpy(reinterpret_cast<void*>(query.data), &told, std::min<size_t>(query.size, sizeof told));
        return 0;
    };
    switch (query.query) {
        case SIDRA_QUERY_DEVICE:
            return fill(device);
        case SIDRA_QUERY_STATUS:
            return fill(status);
        default:
            return fill(sidra_query_clock{});
    }
}

int FakeTransport::ioctl(unsigned long request, void* argument, std::string* detail) {
    const std::lock_guard lock(mutex_);
    history_.push_back(request);
    if (const auto at = failures_.find(request);
        at != failures_.end() && at->second.times > 0 && at->second.later-- <= 0) {
        --at->second.times;
        if (detail != nullptr) *detail = at->second.detail;
        return -at->second.error;
    }
    switch (request) {
        case SIDRA_IOCTL_DEVICE_QUERY:
            return answer(*static_cast<sidra_ioctl_device_query*>(argument));
        case SIDRA_IOCTL_VM_CREATE:
            static_cast<sidra_ioctl_vm_create*>(argument)->vm = next_handle_++;
            return 0;
        case SIDRA_IOCTL_CONTEXT_CREATE:
            static_cast<sidra_ioctl_context_create*>(argument)->context = next_handle_++;
            return 0;
        case SIDRA_IOCTL_CONTEXT_QUERY:
            static_cast<sidra_ioctl_context_query*>(argument)->state = lost_ ? SIDRA_CONTEXT_LOST : SIDRA_CONTEXT_OK;
            return 0;
        case SIDRA_IOCTL_CONTEXT_RECOVER:
            lost_ = false;
            return 0;
        case SIDRA_IOCTL_BUFFER_CREATE: {
            auto& create = *static_cast<sidra_ioctl_buffer_create*>(argument);
            create.size = whole_pages(create.size);
            create.mmap_offset = add_memory(create.size);
            create.handle = next_handle_++;
            ++buffers_;
            return 0;
        }
        case SIDRA_IOCTL_BUFFER_REGISTER: {
            auto& enroll = *static_cast<sidra_ioctl_buffer_register*>(argument);
            enroll.handle = next_handle_++;
            addresses_[enroll.handle] = enroll.address;
            ++buffers_;
            return 0;
        }
        case SIDRA_IOCTL_BUFFER_BIND: {
            auto& bind = *static_cast<sidra_ioctl_buffer_bind*>(argument);
            const auto registered = addresses_.find(bind.handle);
            bind.address = next_address_ + (registered != addresses_.end() ? registered->second % 4096 : 0);
            next_address_ += uint64_t{1} << 28;
            return 0;
        }
        case SIDRA_IOCTL_BUFFER_CLOSE:
            --buffers_;
            return 0;
        case SIDRA_IOCTL_QUEUE_CREATE: {
            auto& create = *static_cast<sidra_ioctl_queue_create*>(argument);
            auto made = std::make_unique<FakeQueue>();
            made->context = create.context;
            made->number = create.queue = static_cast<uint32_t>(queues_.size());
            made->capacity = uint64_t{1} << create.ring_log2;
            const uint64_t ring_bytes = made->capacity * SIDRA_CMD_SIZE;
            create.ring_size = ring_bytes + 4096;
            if ((create.flags & SIDRA_QUEUE_REPORTS) != 0) {
                create.report_offset = create.ring_size;
                create.ring_size += whole_pages(made->capacity * sizeof(sidra_report));
            }
            create.ring_offset = add_memory(create.ring_size);
            create.state_offset = add_memory(4096);
            made->ring = static_cast<std::byte*>(memory_[create.ring_offset].get());
            made->write_word = reinterpret_cast<uint64_t*>(made->ring + ring_bytes);
            made->state = static_cast<sidra_queue_state*>(memory_[create.state_offset].get());
            made->state->epoch = ++epochs_;
            queues_[create.queue] = std::move(made);
            return 0;
        }
        case SIDRA_IOCTL_QUEUE_DESTROY: {
            const auto& destroy = *static_cast<sidra_ioctl_queue*>(argument);
            queue(destroy.queue).alive = false;
            return 0;
        }
        case SIDRA_IOCTL_QUEUE_RESET: {
            auto& reset = *static_cast<sidra_ioctl_queue_reset*>(argument);
            const FakeQueue& of = queue(reset.queue);
            sidra_queue_state* state = of.state;
            reset.retired = state->timeline;
            reset.epoch = ++epochs_;
            __atomic_store_n(&state->epoch, reset.epoch, __ATOMIC_RELEASE);
            __atomic_store_n(&state->timeline, __atomic_load_n(of.write_word, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
            state->fault = {};
            __atomic_store_n(&state->run_state, uint32_t{SIDRA_QUEUE_RUNNING}, __ATOMIC_RELEASE);
            return 0;
        }
        case SIDRA_IOCTL_WAIT:
            return -ETIMEDOUT;
        case SIDRA_IOCTL_ARM: {
            const auto& arm = *static_cast<sidra_ioctl_arm*>(argument);
            const uint64_t one = 1;
            if (arm.eventfd >= 0 && queue(arm.queue).state->timeline >= arm.value &&
                write(arm.eventfd, &one, sizeof one) < 0)
                return -errno;
            return 0;
        }
        case SIDRA_IOCTL_WEIGHTS_CREATE: {
            auto& create = *static_cast<sidra_ioctl_weights_create*>(argument);
            create.index = next_handle_++;
            create.xbars = 1;
            return 0;
        }
        case SIDRA_IOCTL_WEIGHTS_LIST:
            static_cast<sidra_ioctl_weights_list*>(argument)->count = 0;
            return 0;
        case SIDRA_IOCTL_WEIGHTS_QUERY: {
            auto& query = *static_cast<sidra_ioctl_weights_query*>(argument);
            query.xbars = 1;
            query.programmed_rows = programmed_rows;
            query.total_rows = 1;
            return 0;
        }
        default:
            return 0;
    }
}

void* FakeTransport::map(uint64_t offset, size_t, bool) {
    const std::lock_guard lock(mutex_);
    const auto at = memory_.find(offset);
    if (at == memory_.end()) return nullptr;
    ++maps_;
    return at->second.get();
}

void FakeTransport::unmap(void*, size_t) {
    const std::lock_guard lock(mutex_);
    --maps_;
}

uintptr_t FakeTransport::doorbell(uint64_t, uint32_t queue) { return uintptr_t{queue} + 1; }

void FakeTransport::ring(uintptr_t doorbell) {
    ++doorbells_;
    const FakeQueue& rung = queue(static_cast<uint32_t>(doorbell - 1));
    if (automatic_ && rung.state->run_state < SIDRA_QUEUE_FAULTED)
        __atomic_store_n(&rung.state->timeline, __atomic_load_n(rung.write_word, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

int FakeTransport::telemetry(sidra_telemetry* out) {
    *out = {};
    out->magic = SIDRA_TELEMETRY_MAGIC;
    out->doorbells = doorbells_;
    return 0;
}

int FakeTransport::set_fault_knob(const std::string& name, uint64_t) { return name == "stall" ? 0 : -ENOENT; }

}  // namespace sidra::test
