// SPDX-License-Identifier: MIT
#include "runtime/device.h"

#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>

#include "compiled/regions.h"
#include "profiler/profile.h"
#include "residency/residency.h"
#include "runtime/error.h"

namespace sidra::pytorch {
namespace {

struct Current {
    c10::DeviceIndex device = 0;
    std::array<c10::StreamId, kDevicesMax> streams{};
};
thread_local Current current;

// Not destroyed at the end of the process: tensors may end later. libsidra's embedded chips end with the process.
struct Table {
    std::array<std::atomic<Device*>, kDevicesMax> devices{};
    std::mutex lock;  // for opening
};
Table& table() {
    static Table* const all = new Table;
    return *all;
}

void require_index(c10::DeviceIndex index) {
    const c10::DeviceIndex count = device_count();
    TORCH_CHECK(index >= 0 && index < count, "there is no device sidra:", static_cast<int>(index),
                ": this process has ", static_cast<int>(count), " (SIDRA_DEVICE and the nodes /dev/sidra* say which)");
}

std::string name_of(c10::DeviceIndex index) { return "sidra:" + std::to_string(static_cast<int>(index)); }

// libsidra's errors as PyTorch's, where its C++ interface is used.
template <typename F>
auto translated(F&& call) {
    try {
        return call();
    } catch (const Error& error) {
        fail(error.status());
    }
}

}  // namespace

Device::Device(c10::DeviceIndex index)
    : index_(index),
      device_(translated([&] { return sidra::Device::open(static_cast<uint32_t>(index)); })),
      context_(translated([&] { return Context(device_); })) {
    new_stream(0);
}

sidra_stream* Device::stream(c10::StreamId id) const {
    sidra_stream* handle = id >= 0 && static_cast<size_t>(id) < kStreamsMax
                               ? streams_[static_cast<size_t>(id)].load(std::memory_order_acquire)
                               : nullptr;
    TORCH_CHECK(handle != nullptr, "sidra:", static_cast<int>(index_), " has no stream ", id);
    return handle;
}

// The lock is held, but in the constructor.
c10::StreamId Device::new_stream(int priority) {
    auto options = SIDRA_INIT(sidra_stream_options);
    options.priority = priority < 0 ? SIDRA_PRIORITY_HIGH : priority > 0 ? SIDRA_PRIORITY_LOW : SIDRA_PRIORITY_NORMAL;
    sidra_stream* handle = nullptr;
    check(sidra_stream_create(context(), &options, &handle));
    streams_[count_].store(handle, std::memory_order_release);
    return static_cast<c10::StreamId>(count_++);
}

c10::StreamId Device::pool_stream(int priority) {
    const size_t kind = priority < 0 ? 0 : priority > 0 ? 2 : 1;
    const std::lock_guard guard(lock_);
    c10::StreamId& slot = pool_[kind][next_[kind]++ % kPool];
    if (slot == 0) slot = new_stream(priority);
    return slot;
}

c10::StreamId Device::copy_stream() {
    c10::StreamId id = 0;
    {
        const std::lock_guard guard(lock_);
        c10::StreamId& slot = copy_[next_copy_++ % kCopyStreams];
        if (slot == 0) slot = new_stream(0);
        id = slot;
    }
    std::string text;  // those who waited for that copy have it
    reset_if_stopped(id, &text);
    return id;
}

sidra_status Device::wait_for(c10::StreamId waiter, c10::StreamId other) const {
    sidra_event* event = nullptr;
    sidra_status status = sidra_event_create(context(), SIDRA_EVENT_DEFAULT, &event);
    if (status != SIDRA_OK) return status;
    status = sidra_event_record(event, stream(other));
    if (status == SIDRA_OK) status = sidra_stream_wait_event(OnStream(index_, waiter, "sidra::wait"), event);
    static_cast<void>(sidra_event_destroy(event));
    return status;
}

bool Device::reset_if_stopped(c10::StreamId id, std::string* text) const {
    // Several threads may see one fault. A second reset would drop what the first of them has queued meanwhile.
    const std::lock_guard guard(reset_lock_);
    auto fault = SIDRA_INIT(sidra_fault_info);
    if (sidra_stream_fault(stream(id), &fault) != SIDRA_OK || fault.cause == 0) return false;
    *text += fault.text + region_at_fault(index_, stream(id));
    if (sidra_stream_reset(stream(id)) != SIDRA_OK) return false;
    residency_drop_failed(index_);
    return true;
}

void Device::synchronize() const {
    const OnHost span(index_, HostWork::kSynchronize);
    std::vector<std::string> faults;
    for (size_t id = 0; id < kStreamsMax; ++id) {
        sidra_stream* handle = streams_[id].load(std::memory_order_acquire);
        if (handle == nullptr) break;
        const sidra_status status = sidra_stream_synchronize(handle, SIDRA_NEVER);
        std::string text;
        if (status == SIDRA_ERROR_FAULT && reset_if_stopped(static_cast<c10::StreamId>(id), &text)) {
            faults.push_back(std::move(text));
            continue;
        }
        check(status);
    }
    TORCH_CHECK(faults.empty(), "SIDRA_ERROR_FAULT: ", c10::Join("\n", faults),
                "\nResults of operations behind it are lost; all streams are usable again.");
}

void Device::recover() const {
    check(sidra_context_recover(context()));
    residency_drop_failed(index_);
    forget_lost_runs(index_);
}

c10::DeviceIndex device_count() noexcept {
    static const c10::DeviceIndex count = [] {
        uint32_t found = 0;
        if (sidra_device_count(&found) != SIDRA_OK) return c10::DeviceIndex{0};
        return static_cast<c10::DeviceIndex>(std::min<uint32_t>(found, kDevicesMax));
    }();
    return count;
}

Device& device(c10::DeviceIndex index) {
    if (index >= 0 && index < kDevicesMax) [[likely]] {
        if (Device* open = table().devices[static_cast<size_t>(index)].load(std::memory_order_acquire)) return *open;
    }
    require_index(index);
    Table& all = table();
    const std::lock_guard guard(all.lock);
    auto& slot = all.devices[static_cast<size_t>(index)];
    if (slot.load(std::memory_order_relaxed) == nullptr) slot.store(new Device(index), std::memory_order_release);
    return *slot.load(std::memory_order_relaxed);
}

bool is_open(c10::DeviceIndex index) noexcept {
    return index >= 0 && index < kDevicesMax && table().devices[static_cast<size_t>(index)].load() != nullptr;
}

std::vector<std::string> reset_stopped_streams() {
    std::vector<std::string> stopped;
    for (c10::DeviceIndex i = 0; i < device_count(); ++i) {
        std::string text = name_of(i) + ": ";
        if (is_open(i) && device(i).reset_if_stopped(current_stream_id(i), &text)) stopped.push_back(std::move(text));
    }
    return stopped;
}

std::vector<std::string> lost_devices() {
    std::vector<std::string> lost;
    for (c10::DeviceIndex i = 0; i < device_count(); ++i) {
        if (is_open(i) && sidra_context_status(device(i).context()) != SIDRA_OK) lost.push_back(name_of(i));
    }
    return lost;
}

c10::DeviceIndex current_device() noexcept { return current.device; }

c10::DeviceIndex set_current_device(c10::DeviceIndex index) {
    if (index != current.device) require_index(index);
    return std::exchange(current.device, index);
}

c10::StreamId current_stream_id(c10::DeviceIndex index) noexcept { return current.streams[static_cast<size_t>(index)]; }

c10::StreamId set_current_stream(c10::DeviceIndex index, c10::StreamId id) noexcept {
    return std::exchange(current.streams[static_cast<size_t>(index)], id);
}

sidra_stream* current_stream(c10::DeviceIndex index) { return device(index).stream(current_stream_id(index)); }

void synchronize_current_stream(c10::DeviceIndex index) {
    const OnHost span(index, HostWork::kSynchronize);
    check(sidra_stream_synchronize(current_stream(index), SIDRA_NEVER));
}

}  // namespace sidra::pytorch
