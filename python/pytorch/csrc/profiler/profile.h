// SPDX-License-Identifier: MIT
// What a profile of PyTorch's records: operations of streams, with the times that the device notes before and after
// them, and what the host does meanwhile. While no profile runs, this costs one load for each operation.
#ifndef SIDRA_PYTORCH_PROFILE_H
#define SIDRA_PYTORCH_PROFILE_H

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <sidra/sidra.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace sidra::pytorch {

inline std::array<std::atomic<bool>, kDevicesMax> profile_runs{};

struct Lane;

// The calling thread's stream on a device, as the argument of a call that queues an operation there. It lives until the
// end of that expression, and so encloses the operation for a profile: queued(sidra_sort_async(OnStream(...), &call)).
// One inside another of the same device records nothing.
class OnStream {
   public:
    // name: a literal.
    OnStream(c10::DeviceIndex index, const char* name, uint64_t bytes = 0)
        : OnStream(index, current_stream_id(index), name, bytes) {}
    OnStream(c10::DeviceIndex index, c10::StreamId id, const char* name, uint64_t bytes = 0)
        : device_(device(index)), id_(id), stream_(device_.stream(id)), resets_(device_.resets(id)) {
        if (profile_runs[static_cast<size_t>(index)].load(std::memory_order_relaxed)) [[unlikely]]
            begin(index, id, name, bytes);
    }
    ~OnStream() {
        device_.note_queued(id_, resets_);
        if (lane_ != nullptr) [[unlikely]]
            end();
    }
    OnStream(const OnStream&) = delete;
    OnStream& operator=(const OnStream&) = delete;

    sidra_stream* get() const { return stream_; }
    operator sidra_stream*() const { return stream_; }

   private:
    void begin(c10::DeviceIndex index, c10::StreamId id, const char* name, uint64_t bytes);
    void end();

    const Device& device_;
    const c10::StreamId id_;
    sidra_stream* const stream_;
    const uint32_t resets_;
    Lane* lane_ = nullptr;
};

// What the host does, until the end of the scope.
enum class HostWork { kFallback, kCopy, kSynchronize };
class OnHost {
   public:
    // detail: the operator that falls back; a literal or a text that lives as long as this.
    OnHost(c10::DeviceIndex index, HostWork work, const char* detail = "", uint64_t bytes = 0)
        : index_(index), work_(work), detail_(detail), bytes_(bytes) {
        if (profile_runs[static_cast<size_t>(index)].load(std::memory_order_relaxed)) [[unlikely]]
            begin();
    }
    ~OnHost() {
        if (begin_ns_ != 0) [[unlikely]]
            end();
    }
    OnHost(const OnHost&) = delete;
    OnHost& operator=(const OnHost&) = delete;

   private:
    void begin();
    void end();

    const c10::DeviceIndex index_;
    const HostWork work_;
    const char* const detail_;
    const uint64_t bytes_;
    int64_t begin_ns_ = 0;
};

// Times are nanoseconds since 1970, as PyTorch's.
struct DeviceSpan {
    const char* name;
    c10::StreamId stream;
    int64_t begin_ns, end_ns;
    int64_t queued_begin_ns, queued_end_ns;  // the call that queued it
    int32_t thread;                          // that called
    uint64_t operation;                      // of PyTorch's, in which it was queued; 0: none
    uint64_t packets, device_ps, energy_pj, bytes;
};
struct HostSpan {
    HostWork work;
    int64_t begin_ns, end_ns;
    int32_t thread;
    uint64_t operation;
    std::string detail;
    uint64_t bytes;
};
struct Profile {
    std::vector<DeviceSpan> device;
    std::vector<HostSpan> host;
    std::vector<std::string> errors;
};

// Each device has a profile of its own. Neither call opens the device. False: one runs already.
bool start_profile(c10::DeviceIndex index);
// Waits for what was recorded.
Profile stop_profile(c10::DeviceIndex index);

// The operation of PyTorch's that the calling thread begins or ends.
void push_operation(uint64_t id);
void pop_operation();

}  // namespace sidra::pytorch

#endif
