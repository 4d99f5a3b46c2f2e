// SPDX-License-Identifier: MIT
#include "session.h"

#include <algorithm>
#include <cstring>

#include "fault_record.h"
#include "futex.h"

namespace sidra::embedded {

// ---- Dispatch ------------------------------------------------------------------------------------------------------

// Properties of a request for the table below: its handler, and the lock and context that it needs.
struct Requests {
    enum Lock { kLocked, kUnlocked };  // kUnlocked: it sleeps, and takes the lock itself where needed

    using Call = int (*)(Session&, void*, Detail&);

    template <class Argument, int (Session::*Method)(Argument&, Detail&), Session::Access access, Lock lock>
    static int call(Session& session, void* argument, Detail& detail) {
        Argument copy;  // copied once: the caller may change its struct concurrently
        std::memcpy(&copy, argument, sizeof copy);
        int result = 0;
        {
            std::unique_lock guard(session.driver_->lock());
            if (access == Session::kNormal) result = session.driver_->check_link(detail);
            if (result == 0) {
                if (lock == kUnlocked) guard.unlock();
                result = (session.*Method)(copy, detail);
            }
        }
        std::memcpy(argument, &copy, sizeof copy);
        return result;
    }

    static Call find(unsigned long request) {
        switch (request) {
#define SIDRA_REQUEST(number, type, method, access, lock) \
    case SIDRA_IOCTL_##number:                            \
        return call<sidra_ioctl_##type, &Session::method, Session::access, lock>
            SIDRA_REQUEST(DEVICE_QUERY, device_query, device_query, kNormal, kLocked);
            SIDRA_REQUEST(DEVICE_RESET, device_reset, device_reset, kNormal, kLocked);
            SIDRA_REQUEST(VM_CREATE, vm_create, vm_create, kNormal, kLocked);
            SIDRA_REQUEST(VM_DESTROY, vm, vm_destroy, kRelease, kLocked);
            SIDRA_REQUEST(CONTEXT_CREATE, context_create, context_create, kNormal, kLocked);
            SIDRA_REQUEST(CONTEXT_DESTROY, context, context_destroy, kRelease, kLocked);
            SIDRA_REQUEST(CONTEXT_QUERY, context_query, context_query, kNormal, kLocked);
            SIDRA_REQUEST(CONTEXT_RECOVER, context, context_recover, kNormal, kLocked);
            SIDRA_REQUEST(BUFFER_CREATE, buffer_create, buffer_create, kNormal, kLocked);
            SIDRA_REQUEST(BUFFER_REGISTER, buffer_register, buffer_register, kNormal, kLocked);
            SIDRA_REQUEST(BUFFER_CLOSE, buffer_close, buffer_close, kRelease, kLocked);
            SIDRA_REQUEST(BUFFER_BIND, buffer_bind, buffer_bind, kNormal, kLocked);
            SIDRA_REQUEST(BUFFER_UNBIND, buffer_unbind, buffer_unbind, kRelease, kLocked);
            SIDRA_REQUEST(QUEUE_CREATE, queue_create, queue_create, kNormal, kLocked);
            SIDRA_REQUEST(QUEUE_DESTROY, queue, queue_destroy, kRelease, kLocked);
            SIDRA_REQUEST(QUEUE_RESET, queue_reset, queue_reset, kNormal, kLocked);
            SIDRA_REQUEST(QUEUE_QUERY, queue_query, queue_query, kRelease, kLocked);
            SIDRA_REQUEST(WAIT, wait, wait, kNormal, kUnlocked);
            SIDRA_REQUEST(ARM, arm, arm, kNormal, kUnlocked);
            SIDRA_REQUEST(SUBMIT, submit, submit, kNormal, kUnlocked);
            SIDRA_REQUEST(WEIGHTS_CREATE, weights_create, weights_create, kNormal, kLocked);
            SIDRA_REQUEST(WEIGHTS_PUBLISH, weights_publish, weights_publish, kNormal, kLocked);
            SIDRA_REQUEST(WEIGHTS_OPEN, weights_open, weights_open, kNormal, kLocked);
            SIDRA_REQUEST(WEIGHTS_UNLINK, weights_unlink, weights_unlink, kNormal, kLocked);
            SIDRA_REQUEST(WEIGHTS_DESTROY, weights, weights_destroy, kRelease, kLocked);
            SIDRA_REQUEST(WEIGHTS_SHARE, weights_share, weights_share, kNormal, kLocked);
            SIDRA_REQUEST(WEIGHTS_IMPORT, weights_import, weights_import, kNormal, kLocked);
            SIDRA_REQUEST(WEIGHTS_QUERY, weights_query, weights_query, kNormal, kLocked);
            SIDRA_REQUEST(WEIGHTS_REPORT, weights_report, weights_report, kNormal, kLocked);
            SIDRA_REQUEST(WEIGHTS_LIST, weights_list, weights_list, kNormal, kLocked);
#undef SIDRA_REQUEST
            default:
                return nullptr;
        }
    }
};

int Session::ioctl(unsigned long request, void* argument, Detail& detail) {
    const Requests::Call call = Requests::find(request);
    if (call == nullptr) return fail(detail, -ENOTTY, "request {:#x} is not known to this driver", request);
    if (argument == nullptr) return fail(detail, -EFAULT, "the request's argument is a null pointer");
    return call(*this, argument, detail);
}

Session::~Session() {
    std::lock_guard guard(driver_->lock());
    while (!contexts_.empty()) destroy_context(*contexts_.begin()->second);
    vms_.clear();
    while (!buffers_.empty()) drop_buffer(buffers_.begin());
}

// ---- Lookup --------------------------------------------------------------------------------------------------------

uint32_t Session::take_handle() {
    // Handles are reused as late as possible, so that a stale one does not name a new object.
    const auto taken = [&](uint32_t handle) {
        return contexts_.contains(handle) || buffers_.contains(handle) || vms_.contains(handle);
    };
    do {
        next_handle_ = next_handle_ % MapOffset::kHandleMax + 1;
    } while (taken(next_handle_));
    return next_handle_;
}

int Session::find_vm(uint32_t handle, std::shared_ptr<Vm>* vm, Detail& detail) {
    const auto place = vms_.find(handle);
    if (place == vms_.end()) return fail(detail, -ENOENT, "there is no address space {}", handle);
    *vm = place->second;
    return 0;
}

int Session::find_context(uint32_t handle, Access access, Context** context, Detail& detail) {
    const auto place = contexts_.find(handle);
    if (place == contexts_.end()) return fail(detail, -ENOENT, "there is no context {}", handle);
    if (access == kNormal && place->second->lost)
        return fail(detail, -ESTALE, "context {} was lost in a reset; recover or destroy it", handle);
    *context = place->second.get();
    return 0;
}

int Session::find_queue(Context& context, uint32_t number, std::shared_ptr<Queue>* queue, Detail& detail) {
    const auto place = context.queues.find(number);
    if (place == context.queues.end())
        return fail(detail, -ENOENT, "there is no queue {} in context {}", number, context.handle);
    *queue = place->second;
    return 0;
}

int Session::find_queue(uint32_t handle, uint32_t number, Access access, std::shared_ptr<Queue>* queue,
                        Detail& detail) {
    Context* context = nullptr;
    if (int error = find_context(handle, access, &context, detail)) return error;
    return find_queue(*context, number, queue, detail);
}

// ---- Device --------------------------------------------------------------------------------------------------------

namespace {

sidra_query_device describe(const ChipInfo& info) {
    sidra_query_device told{};
    told.kind = SIDRA_DEVICE_MODEL | SIDRA_DEVICE_EMBEDDED;
    told.uapi_version = SIDRA_UAPI_VERSION_MAJOR << 16 | SIDRA_UAPI_VERSION_MINOR;
    told.hw_version = info.hw_version;
    told.driver_version = kDriverVersion;
    told.features = info.features;
    told.clusters = static_cast<uint16_t>(info.clusters);
    told.cus_per_cluster = static_cast<uint16_t>(info.cus_per_cluster);
    told.xbars_per_cu = static_cast<uint16_t>(info.xbars_per_cu);
    told.rows = static_cast<uint16_t>(info.rows);
    told.cols = static_cast<uint16_t>(info.cols);
    told.contexts_max = static_cast<uint16_t>(info.contexts);
    told.queues_max = static_cast<uint16_t>(info.queues);
    told.queues_per_context_max = static_cast<uint16_t>(info.queues_per_context);
    told.xbars_total = info.xbars();
    told.va_bits = info.va_bits;
    told.l1_size = info.l1_size;
    told.l2_size = info.l2_size;
    told.l3_size = info.l3_size;
    std::memcpy(told.uuid, info.uuid, sizeof told.uuid);
    return told;
}

sidra_query_clock read_clock(Driver& driver) {
    sidra_query_clock told{};
    uint64_t best = ~uint64_t{0};
    for (unsigned tries = 0; tries < 4; tries++) {  // a preemption between the readings may spoil some attempts
        const uint64_t before = monotonic_ns();
        const uint64_t device = driver.host().read_register(SIDRA_REG_CLOCK, 8);
        const uint64_t after = monotonic_ns();
        if (after - before >= best) continue;
        best = after - before;
        told.device_ns = device;
        told.monotonic_ns = before + best / 2;
        told.error_ns = best - best / 2;
    }
    return told;
}

}  // namespace

sidra_query_status Session::status() const {
    sidra_query_status told{};
    told.generation = driver_->generation();
    told.firmware_version = driver_->firmware_version();
    told.contexts = driver_->context_count();
    told.queues = driver_->queue_count();
    told.xbars_free = driver_->weights().xbars_free();
    told.l3_free = driver_->local_free();
    return told;
}

// All of the chip belongs to the one user of the process.
sidra_query_limits Session::limits() const {
    const ChipInfo& info = driver_->info();
    sidra_query_limits told{};
    told.contexts = driver_->context_count();
    told.contexts_max = info.contexts;
    told.queues = driver_->queue_count();
    told.queues_max = info.queues;
    told.names = driver_->weights().names();
    told.names_max = SIDRA_NVM_ENTRIES;
    told.xbars = info.xbars() - driver_->weights().xbars_free();
    told.xbars_max = info.xbars();
    told.l3 = info.l3_size - driver_->local_free();
    told.l3_max = info.l3_size;
    told.data = driver_->weights().data_used();
    told.data_max = driver_->weights().data_size();
    return told;
}

int Session::device_query(sidra_ioctl_device_query& a, Detail& detail) {
    uint32_t room = a.size;
    a.size = 0;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    const auto answer = [&](const auto& told) {
        const int error = return_struct(a.data, &room, &told, sizeof told, detail);
        if (error == 0) a.size = room;
        return error;
    };
    switch (a.query) {
        case SIDRA_QUERY_DEVICE:
            return answer(describe(driver_->info()));
        case SIDRA_QUERY_STATUS:
            return answer(status());
        case SIDRA_QUERY_CLOCK:
            return answer(read_clock(*driver_));
        case SIDRA_QUERY_LIMITS:
            return answer(limits());
        case SIDRA_QUERY_REFUSAL:  // the text that fail() makes says more
            return answer(sidra_query_refusal{});
        default:
            return fail(detail, -EINVAL, "query {} is not {}..{}", a.query, int{SIDRA_QUERY_DEVICE},
                        int{SIDRA_QUERY_REFUSAL});
    }
}

int Session::device_reset(sidra_ioctl_device_reset& a, Detail& detail) {
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    // No privilege required: only this process uses the chip.
    driver_->reset_device(SIDRA_FAULT_RESET);
    return 0;
}

// ---- Contexts ------------------------------------------------------------------------------------------------------

int Session::vm_create(sidra_ioctl_vm_create& a, Detail& detail) {
    a.vm = 0;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    const uint32_t handle = take_handle();
    vms_.emplace(handle, std::make_shared<Vm>(handle));
    a.vm = handle;
    return 0;
}

int Session::vm_destroy(sidra_ioctl_vm& a, Detail& detail) {
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    std::shared_ptr<Vm> vm;
    if (int error = find_vm(a.vm, &vm, detail)) return error;
    if (!vm->contexts.empty())
        return fail(detail, -EBUSY, "{} contexts use address space {}; destroy them first", vm->contexts.size(), a.vm);
    vms_.erase(a.vm);
    return 0;
}

int Session::context_create(sidra_ioctl_context_create& a, Detail& detail) {
    a.context = 0;
    a.doorbell_offset = 0;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    std::shared_ptr<Vm> vm;
    if (int error = find_vm(a.vm, &vm, detail)) return error;
    const int slot = driver_->take_slot(detail);
    if (slot < 0) return slot;
    Context* context = nullptr;
    try {
        auto fresh = std::make_unique<Context>(take_handle(), static_cast<uint32_t>(slot), vm);
        vm->contexts.reserve(vm->contexts.size() + 1);
        context = contexts_.emplace(fresh->handle, std::move(fresh)).first->second.get();
    } catch (...) {
        driver_->release_slot(static_cast<uint32_t>(slot));
        throw;
    }
    vm->contexts.push_back(context);
    driver_->install(*context);
    a.context = context->handle;
    a.doorbell_offset = MapOffset(MapOffset::kDoorbell, context->handle).raw();
    return 0;
}

void Session::drop_queue(Context& context, Queue& queue) {
    queue.destroyed.store(true, std::memory_order_release);
    std::atomic_ref<uint32_t>(queue.state->state()->run_state).store(SIDRA_QUEUE_LOST, std::memory_order_release);
    driver_->host().interrupts().detach(queue.point);
    if (queue.ring_va != 0) driver_->unbind(*context.vm, queue.ring_va, queue.layout.size);
    const uint32_t number = queue.number;
    context.queues.erase(number);
}

void Session::destroy_context(Context& context) {
    driver_->remove(context);
    std::erase(context.vm->contexts, &context);
    while (!context.queues.empty()) drop_queue(context, *context.queues.begin()->second);
    while (!context.weights.empty()) drop_weights(context, context.weights.begin());
    driver_->release_slot(context.slot);
    const uint32_t handle = context.handle;
    contexts_.erase(handle);
}

int Session::context_destroy(sidra_ioctl_context& a, Detail& detail) {
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    Context* context = nullptr;
    if (int error = find_context(a.context, kRelease, &context, detail)) return error;
    destroy_context(*context);
    return 0;
}

namespace {

void keep_later(sidra_fault& latest, const sidra_fault& fault) {
    if (fault.cause != SIDRA_FAULT_NONE && (latest.cause == SIDRA_FAULT_NONE || fault.clock_ns >= latest.clock_ns))
        latest = fault;
}

}  // namespace

sidra_fault Session::latest_fault(const Context& context) {
    sidra_fault latest = context.fault;
    for (const auto& [number, queue] : context.queues) keep_later(latest, load_fault(*queue->state->state()));
    return latest;
}

void Session::remember_fault(Context& context, const Queue& queue) {
    keep_later(context.fault, queue.state->state()->fault);
}

int Session::context_query(sidra_ioctl_context_query& a, Detail& detail) {
    a.state = a.generation = a.vm = 0;
    a.fault = {};
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    Context* context = nullptr;
    if (int error = find_context(a.context, kRelease, &context, detail)) return error;
    a.state = context->lost ? SIDRA_CONTEXT_LOST : SIDRA_CONTEXT_OK;
    a.generation = context->generation;
    a.vm = context->vm->handle;
    a.fault = latest_fault(*context);
    return 0;
}

int Session::context_recover(sidra_ioctl_context& a, Detail& detail) {
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    Context* context = nullptr;
    if (int error = find_context(a.context, kRelease, &context, detail)) return error;
    if (!context->lost) return 0;
    context->fault = latest_fault(*context);
    while (!context->queues.empty()) drop_queue(*context, *context->queues.begin()->second);
    context->generation++;
    context->lost = false;
    driver_->install(*context);
    return 0;
}

// ---- Mappings ------------------------------------------------------------------------------------------------------

Session::Mapping Session::map(uint64_t offset, uint64_t size, bool writable) {
    const auto refuse = [](int error) { return Mapping{nullptr, nullptr, error}; };
    const auto grant = [&](uint8_t* address, uint64_t available, std::shared_ptr<void> owner) {
        return size == 0 || page_ceil(size) > available || size > available ? refuse(-EINVAL)
                                                                            : Mapping{address, std::move(owner), 0};
    };
    const MapOffset place(offset);
    if (!place.valid()) return refuse(-EINVAL);
    std::lock_guard guard(driver_->lock());
    Detail detail;
    if (place.kind() == MapOffset::kBuffer) {
        std::shared_ptr<BufferMemory> memory;
        if (int error = find_buffer(place.handle(), &memory, detail)) return refuse(error);
        if (!memory->mappable) return refuse(-EACCES);
        return grant(memory->pages, memory->size, memory);
    }
    if (place.kind() != MapOffset::kRing && place.kind() != MapOffset::kState) return refuse(-EINVAL);
    std::shared_ptr<Queue> queue;
    if (int error = find_queue(place.handle(), place.queue(), kRelease, &queue, detail)) return refuse(error);
    if (place.kind() == MapOffset::kState)
        return writable ? refuse(-EACCES) : grant(queue->state->readonly(), SIDRA_PAGE_SIZE, queue->state);
    return queue->kind == SIDRA_QUEUE_USER ? grant(queue->ring->data(), queue->ring->size(), queue->ring)
                                           : refuse(-EACCES);
}

void Session::release(std::shared_ptr<void> owner) {
    std::lock_guard guard(driver_->lock());
    owner.reset();
}

uint64_t Session::doorbell(uint64_t doorbell_offset, uint32_t queue) {
    const MapOffset place(doorbell_offset);
    if (place.kind() != MapOffset::kDoorbell || !place.valid() || queue >= SIDRA_QUEUES_PER_CONTEXT_MAX) return 0;
    std::lock_guard guard(driver_->lock());
    const auto context = contexts_.find(place.handle());
    return context == contexts_.end() ? 0 : SIDRA_DOORBELL(context->second->slot, queue);
}

}  // namespace sidra::embedded
