// SPDX-License-Identifier: MIT
// The SIDRA devices of this process: each is opened at its first use, and then has one context for all of PyTorch.
#ifndef SIDRA_PYTORCH_DEVICE_H
#define SIDRA_PYTORCH_DEVICE_H

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <sidra/sidra.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sidra::pytorch {

constexpr c10::DeviceIndex kDevicesMax = 64;

// A stream of PyTorch's. Never destroyed: PyTorch's streams are numbers, which stay valid.
struct QueueStream {
    sidra_stream* handle;
    c10::StreamId id;
};

class Device {
   public:
    explicit Device(c10::DeviceIndex index);

    sidra_context* context() const { return context_.get(); }
    const Context& cpp_context() const { return context_; }
    const sidra::Device& device() const { return device_; }
    c10::DeviceIndex index() const { return index_; }

    // Streams by their number in PyTorch; 0 is the default one. Any thread.
    sidra_stream* stream(c10::StreamId id) const;
    // How often work of the stream was dropped. Read it before an operation is queued, and give it to note_queued()
    // then.
    uint32_t resets(c10::StreamId id) const noexcept {
        return resets_[static_cast<size_t>(id)].count.load(std::memory_order_acquire);
    }
    // The calling thread has queued an operation there, or was refused.
    void note_queued(c10::StreamId id, uint32_t before) const noexcept;
    // The calling thread has waited for the stream, or is being told of an error there. Returns whether somebody else
    // has dropped what it had queued there since it waited last, so that it must be told.
    bool forget_queued(c10::StreamId id) const noexcept;
    // The same, but what was not dropped stays queued.
    bool take_dropped(c10::StreamId id) const noexcept;
    // The calling thread is told that the context was lost.
    void forget_lost() const noexcept;
    // One of the kPool streams of this priority (below 0: high, above: low), which all callers share in turn.
    c10::StreamId pool_stream(int priority);
    // One of the streams from which copies to other devices go, in turn: a copy holds only this one until the other
    // device is ready for it. It is usable, whatever became of earlier copies.
    c10::StreamId copy_stream();
    // What `waiter` gets from now on waits for what `other` has; both are this device's. The host does not wait.
    sidra_status wait_for(c10::StreamId waiter, c10::StreamId other) const;
    // Waits for all streams. Throws what stopped one of them; all are usable then.
    void synchronize() const;
    // After a loss.
    void recover() const;
    // If the stream was stopped by a fault: empties it, and appends the reason to `text`.
    bool reset_if_stopped(c10::StreamId id, std::string* text) const;

   private:
    c10::StreamId new_stream(int priority);
    void note_reset(c10::StreamId id) const;

    // What a thread has queued on a stream and not waited for.
    struct Queued {
        bool any = false, dropped = false;
        uint32_t resets = 0;  // of the stream, before it queued the latest
        uint64_t end = 0;     // the stream's position behind that
    };
    // The notes of a thread.
    struct Thread {
        ~Thread();
        const Device* of = nullptr;            // null: it has not used the device
        std::vector<Queued> queued;            // by stream
        bool differentiates = false;           // it has queued something that may have a backward pass
        uint32_t dropped_backward_passes = 0;  // of those of the device, how many it knows of
    };
    struct Threads;
    bool was_dropped(c10::StreamId id, const Queued& queued) const noexcept;
    void note_backward(c10::StreamId id, uint32_t before) const noexcept;
    bool take_dropped_backward_passes(Thread& thread) const noexcept;
    // Null at the end of the thread.
    static Thread* notes_of_thread(c10::DeviceIndex index) noexcept;

    static constexpr size_t kPool = 32, kCopyStreams = 4, kStreamsMax = 1 + 3 * kPool + kCopyStreams;

    const c10::DeviceIndex index_;
    sidra::Device device_;
    Context context_;
    std::mutex lock_;                // for adding streams
    mutable std::mutex reset_lock_;  // for resetting them
    std::array<std::atomic<sidra_stream*>, kStreamsMax> streams_{};
    // How often a stream's work was dropped, and to which position it was done before the last times.
    struct Resets {
        static constexpr uint32_t kKept = 16;
        std::atomic<uint32_t> count{0};
        std::array<std::atomic<uint64_t>, kKept> retired{};
        std::atomic<uint64_t> backward{0};  // the position behind what backward passes have queued
    };
    mutable std::array<Resets, kStreamsMax> resets_;
    mutable std::atomic<uint32_t> threads_{0};  // that have notes
    mutable std::atomic<uint32_t> dropped_backward_passes_{0};
    size_t count_ = 0;
    std::array<std::array<c10::StreamId, kPool>, 3> pool_{};  // 0: not made yet
    std::array<size_t, 3> next_{};
    std::array<c10::StreamId, kCopyStreams> copy_{};  // 0: not made yet
    size_t next_copy_ = 0;
};

// How many there are. 0 if libsidra cannot tell. Opens nothing.
c10::DeviceIndex device_count() noexcept;
// Opens the device at its first use; throws if that fails, and tries again at the next use.
Device& device(c10::DeviceIndex index);
// Whether it has been opened.
bool is_open(c10::DeviceIndex index) noexcept;

// Makes the calling thread's streams usable that were stopped by a fault. For each of them a line with the reason.
std::vector<std::string> reset_stopped_streams();
// The calling thread is told that a device was lost.
void forget_lost_work();
// The devices that were lost, as arguments of torch.sidra.recover(): "sidra:1", ...
std::vector<std::string> lost_devices();

// Of the calling thread.
c10::DeviceIndex current_device() noexcept;
// Returns the former one. Throws if there is no such device.
c10::DeviceIndex set_current_device(c10::DeviceIndex index);
// Makes a device the thread's current one for a while; one that is not a sidra changes nothing. As c10::DeviceGuard,
// but without virtual calls: this is in each operator.
class DeviceScope {
   public:
    explicit DeviceScope(c10::Device device) : former_(current_device()) {
        if (device.type() == c10::DeviceType::PrivateUse1 && device.has_index() && device.index() != former_)
            set_current_device(device.index());
    }
    ~DeviceScope() {
        if (current_device() != former_) set_current_device(former_);
    }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

   private:
    const c10::DeviceIndex former_;
};
c10::StreamId current_stream_id(c10::DeviceIndex index) noexcept;
c10::StreamId set_current_stream(c10::DeviceIndex index, c10::StreamId id) noexcept;
// Makes a stream the thread's current one of its device for a while.
class StreamScope {
   public:
    StreamScope(c10::DeviceIndex index, c10::StreamId id) : index_(index), former_(set_current_stream(index, id)) {}
    ~StreamScope() { set_current_stream(index_, former_); }
    StreamScope(const StreamScope&) = delete;
    StreamScope& operator=(const StreamScope&) = delete;

   private:
    const c10::DeviceIndex index_;
    const c10::StreamId former_;
};

// The calling thread's stream on the device. What queues an operation takes OnStream (profiler/profile.h) instead.
sidra_stream* current_stream(c10::DeviceIndex index);
// Wait until it has done everything that is queued: the host may then touch memory that only this stream uses. Throws
// if work of the calling thread was dropped, also if another thread was told of the fault and has reset the stream.
void synchronize_current_stream(c10::DeviceIndex index);
void synchronize_stream(c10::DeviceIndex index, c10::StreamId id);
// Throws if work of the calling thread there was dropped: who waits for what the stream has now waits for too little.
void require_not_dropped(c10::DeviceIndex index, c10::StreamId id);

}  // namespace sidra::pytorch

#endif
