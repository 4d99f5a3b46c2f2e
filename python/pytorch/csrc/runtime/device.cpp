// SPDX-License-Identifier: MIT
#include "runtime/device.h"

#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>
#include <torch/csrc/autograd/graph_task.h>

#include <exception>
#include <string_view>
#include <utility>

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

constexpr std::string_view kDropped =
    "it has met a fault and was reset when another thread was told, or its device was recovered; results of what this "
    "thread had queued there are lost";

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

std::string about_dropped(c10::DeviceIndex index, c10::StreamId id) {
    return c10::str("stream ", id, " of ", name_of(index), ": ", kDropped);
}

[[noreturn]] void fail_dropped(c10::DeviceIndex index, c10::StreamId id) {
    TORCH_CHECK(false, "SIDRA_ERROR_FAULT: ", about_dropped(index, id),
                ".\nThe stream goes on with what is queued from now on.");
}

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

struct Device::Threads {
    std::array<Thread, kDevicesMax> by_device;
    static thread_local bool gone;
    ~Threads() { gone = true; }
};
thread_local bool Device::Threads::gone = false;

Device::Thread::~Thread() {
    if (of != nullptr) --of->threads_;
}

// Tensors of static variables end after what belongs to the main thread, and may queue something then.
Device::Thread* Device::notes_of_thread(c10::DeviceIndex index) noexcept {
    if (Threads::gone) return nullptr;
    static thread_local Threads all;
    return &all.by_device[static_cast<size_t>(index)];
}

// By the first reset behind it. Of one that was too long ago the position is not known any more.
bool Device::was_dropped(c10::StreamId id, const Queued& queued) const noexcept {
    if (resets(id) == queued.resets) return false;
    const uint64_t retired = resets_[static_cast<size_t>(id)].retired[queued.resets % Resets::kKept].load();
    return resets(id) - queued.resets > Resets::kKept || retired < queued.end;
}

void Device::note_queued(c10::StreamId id, uint32_t before) const noexcept {
    if (std::uncaught_exceptions() != 0) return;  // it was refused, and the thread is being told
    if (torch::autograd::get_current_graph_task_id() != -1) {
        note_backward(id, before);
        return;
    }
    Thread* const thread = notes_of_thread(index_);
    if (thread == nullptr) return;
    if (thread->of == nullptr) [[unlikely]] {
        thread->queued.resize(kStreamsMax);
        thread->of = this;
        ++threads_;
        thread->dropped_backward_passes = dropped_backward_passes_.load();
    }
    thread->differentiates |= c10::GradMode::is_enabled();
    Queued& queued = thread->queued[static_cast<size_t>(id)];
    if (queued.any) queued.dropped |= was_dropped(id, queued);
    queued.any = true;
    queued.resets = before;
    static_cast<void>(sidra_stream_timeline(stream(id), &queued.end, nullptr));
}

// The threads of PyTorch's engine queue backward passes, and those that have asked for these wait. Which one that is
// cannot be told here, so all threads are told that may have a backward pass.
void Device::note_backward(c10::StreamId id, uint32_t before) const noexcept {
    Queued queued{true, false, before, 0};
    static_cast<void>(sidra_stream_timeline(stream(id), &queued.end, nullptr));
    std::atomic<uint64_t>& latest = resets_[static_cast<size_t>(id)].backward;
    for (uint64_t known = latest.load(); known < queued.end && !latest.compare_exchange_weak(known, queued.end);) {
    }
    if (was_dropped(id, queued)) ++dropped_backward_passes_;
}

bool Device::take_dropped_backward_passes(Thread& thread) const noexcept {
    const uint32_t all = dropped_backward_passes_.load();
    return std::exchange(thread.dropped_backward_passes, all) != all && thread.differentiates;
}

bool Device::forget_queued(c10::StreamId id) const noexcept {
    const bool dropped = take_dropped(id);
    Thread* const thread = notes_of_thread(index_);
    if (thread != nullptr && thread->of != nullptr) thread->queued[static_cast<size_t>(id)] = {};
    return dropped;
}

bool Device::take_dropped(c10::StreamId id) const noexcept {
    Thread* const thread = notes_of_thread(index_);
    if (thread == nullptr || thread->of == nullptr) return false;
    Queued& queued = thread->queued[static_cast<size_t>(id)];
    const bool dropped = queued.dropped || (queued.any && was_dropped(id, queued));
    if (dropped) queued = {};
    return take_dropped_backward_passes(*thread) || dropped;
}

void Device::forget_lost() const noexcept {
    const bool lost = sidra_context_status(context()) != SIDRA_OK;
    for (size_t id = 0; id < kStreamsMax; ++id)
        static_cast<void>(lost ? forget_queued(static_cast<c10::StreamId>(id))
                               : take_dropped(static_cast<c10::StreamId>(id)));
}

// The stream's work is about to be dropped, and the calling thread told by an exception. The lock for resets is held.
void Device::note_reset(c10::StreamId id) const {
    Resets& resets = resets_[static_cast<size_t>(id)];
    uint64_t retired = 0;
    static_cast<void>(sidra_stream_timeline(stream(id), nullptr, &retired));
    const bool drops_backward_pass = resets.backward.exchange(0) > retired;
    if (torch::autograd::get_current_graph_task_id() != -1) {
        // The exception goes to the thread that has asked for the backward pass: if there is only one, it is told.
        if (threads_ == 1) return;
    } else if (drops_backward_pass) {
        ++dropped_backward_passes_;
    }
    resets.retired[resets.count.load(std::memory_order_relaxed) % Resets::kKept].store(retired);
    resets.count.fetch_add(1, std::memory_order_release);
    static_cast<void>(forget_queued(id));
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
    note_reset(id);
    residency_drop_failed(index_);
    return sidra_stream_reset(stream(id)) == SIDRA_OK;
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
        const bool dropped = forget_queued(static_cast<c10::StreamId>(id));
        check(status);
        if (dropped) faults.push_back(c10::str("stream ", id, ": ", kDropped));
    }
    TORCH_CHECK(faults.empty(), "SIDRA_ERROR_FAULT: ", c10::Join("\n", faults),
                "\nResults of operations behind it are lost; all streams are usable again.");
}

void Device::recover() const {
    const std::lock_guard guard(reset_lock_);
    // Several threads may be told of one loss: the first one that recovers may have queued something since.
    const bool is_lost = sidra_context_status(context()) != SIDRA_OK;
    for (size_t id = 0; is_lost && id < kStreamsMax; ++id)
        if (streams_[id].load(std::memory_order_acquire) != nullptr) note_reset(static_cast<c10::StreamId>(id));
    check(sidra_context_recover(context()));  // goes on where an earlier one has failed
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
        if (!is_open(i)) continue;
        std::string text = name_of(i) + ": ";
        const c10::StreamId id = current_stream_id(i);
        if (device(i).reset_if_stopped(id, &text)) stopped.push_back(std::move(text));
        else if (device(i).take_dropped(id)) stopped.push_back(text + "work was dropped, too\n" + about_dropped(i, id));
    }
    return stopped;
}

void forget_lost_work() {
    for (c10::DeviceIndex i = 0; i < device_count(); ++i)
        if (is_open(i)) device(i).forget_lost();
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

void synchronize_current_stream(c10::DeviceIndex index) { synchronize_stream(index, current_stream_id(index)); }

void synchronize_stream(c10::DeviceIndex index, c10::StreamId id) {
    const OnHost span(index, HostWork::kSynchronize);
    const Device& of = device(index);
    const sidra_status status = sidra_stream_synchronize(of.stream(id), SIDRA_NEVER);
    const bool dropped = of.forget_queued(id);
    check(status);
    if (dropped) fail_dropped(index, id);
}

void require_not_dropped(c10::DeviceIndex index, c10::StreamId id) {
    if (device(index).take_dropped(id)) fail_dropped(index, id);
}

}  // namespace sidra::pytorch
