// SPDX-License-Identifier: MIT
#include "profiler/profile.h"

#include <sidra/uapi/sidra_cmd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace sidra::pytorch {
namespace {

constexpr size_t kStampsInBlock = 2048;

int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}
int32_t this_thread() { return static_cast<int32_t>(syscall(SYS_gettid)); }

// Whether an OnStream of this thread records on the device.
thread_local std::array<bool, kDevicesMax> all_inside{};
bool& inside(c10::DeviceIndex index) { return all_inside[static_cast<size_t>(index)]; }

// The operations of PyTorch's in which the thread is. A profile may end within them, so the next one begins anew.
std::atomic<uint64_t> profiles{0};
struct Operations {
    uint64_t profile = 0;
    std::vector<uint64_t> ids;
};
std::vector<uint64_t>& operations() {
    thread_local Operations mine;
    const uint64_t profile = profiles.load(std::memory_order_relaxed);
    if (mine.profile != profile) mine = {profile, {}};
    return mine.ids;
}
uint64_t current_operation() { return operations().empty() ? 0 : operations().back(); }

// The clock of a device and that of the host at one moment.
struct Moment {
    uint64_t device_ns = 0;
    int64_t host_ns = 0;
};
Moment moment_of(c10::DeviceIndex index) {
    Moment now;
    uint64_t monotonic = 0;
    if (sidra_device_clock(device(index).device().get(), &now.device_ns, &monotonic) != SIDRA_OK) return {};
    const int64_t since =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count() -
        static_cast<int64_t>(monotonic);
    now.host_ns = now_ns() - since;
    return now;
}

// From the clock of a device to that of the host, by what both were at the beginning and at the end.
class Clock {
   public:
    Clock(Moment begin, Moment end)
        : begin_(begin.host_ns != 0 ? begin : end),
          rate_(end.device_ns > begin.device_ns ? static_cast<double>(end.host_ns - begin.host_ns) /
                                                      static_cast<double>(end.device_ns - begin.device_ns)
                                                : 1) {}
    int64_t host_ns(uint64_t device_ns) const {
        const auto since = static_cast<double>(static_cast<int64_t>(device_ns - begin_.device_ns));
        return begin_.host_ns + static_cast<int64_t>(since * rate_);
    }

   private:
    const Moment begin_;
    const double rate_;
};

// Two stamps enclose it.
struct Recorded {
    const char* name;
    size_t first_stamp;
    int64_t queued_begin_ns, queued_end_ns;
    int32_t thread;
    uint64_t operation, bytes;
};

}  // namespace

// What is recorded of one stream.
struct Lane {
    c10::DeviceIndex index;
    c10::StreamId id;
    sidra_stream* stream;
    std::mutex lock;  // from the stamp before an operation to the one behind it
    std::vector<std::pair<sidra_buffer*, const sidra_timestamp*>> blocks;
    size_t stamps = 0;
    std::vector<Recorded> recorded;
    std::string error;  // of the first stamp that was not queued

    // Queues one. False: that failed.
    bool stamp() {
        const size_t at = stamps % kStampsInBlock;
        sidra_buffer* buffer = nullptr;
        if (at == 0 && blocks.size() * kStampsInBlock == stamps) {
            void* host = nullptr;
            if (!ok(sidra_buffer_create(device(index).context(), kStampsInBlock * sizeof(sidra_timestamp),
                                        SIDRA_BUFFER_HOST, &buffer)) ||
                !ok(sidra_buffer_map(buffer, &host)))
                return false;
            blocks.emplace_back(buffer, static_cast<const sidra_timestamp*>(host));
        }
        if (!ok(sidra_timestamp_async(stream, {blocks.back().first, at * sizeof(sidra_timestamp)}))) return false;
        ++stamps;
        return true;
    }
    const sidra_timestamp& at(size_t number) const {
        return blocks[number / kStampsInBlock].second[number % kStampsInBlock];
    }
    ~Lane() {
        for (const auto& [buffer, host] : blocks) static_cast<void>(sidra_buffer_destroy(buffer));
    }
    bool ok(sidra_status status) {
        if (status != SIDRA_OK && error.empty()) error = sidra_last_error();
        return status == SIDRA_OK;
    }
};

namespace {

struct Recording {
    std::mutex lock;  // of what follows; a lane has its own
    std::map<c10::StreamId, std::unique_ptr<Lane>> lanes;
    Moment begin;  // when it recorded first
    std::vector<HostSpan> host;

    Lane& lane(c10::DeviceIndex index, c10::StreamId id, sidra_stream* stream) {
        const std::lock_guard guard(lock);
        if (lanes.empty()) begin = moment_of(index);
        std::unique_ptr<Lane>& lane = lanes[id];
        if (lane == nullptr) {
            lane = std::make_unique<Lane>();
            lane->index = index, lane->id = id, lane->stream = stream;
        }
        return *lane;
    }
};

// Of one device. Whoever records holds the lock shared, so that the end of the profile waits for it.
struct Gate {
    std::shared_mutex lock;
    std::unique_ptr<Recording> recording;  // null: no profile runs
};
Gate& gate(c10::DeviceIndex index) {
    static auto* const all = new std::array<Gate, kDevicesMax>;
    return (*all)[static_cast<size_t>(index)];
}

// The stream has passed its stamps. What a fault has dropped has none.
void read(const Lane& lane, const Clock& clock, Profile& profile) {
    // A stamp itself costs a little, by the cost model: what the first two differ by.
    uint64_t stamp_ps = 0, stamp_pj = 0;
    if (lane.stamps >= 2 && lane.at(1).clock_ns != 0) {
        stamp_ps = lane.at(1).device_ps - lane.at(0).device_ps;
        stamp_pj = lane.at(1).energy_pj - lane.at(0).energy_pj;
    }
    size_t lost = 0;
    for (const Recorded& one : lane.recorded) {
        const sidra_timestamp &begin = lane.at(one.first_stamp), &end = lane.at(one.first_stamp + 1);
        if (begin.clock_ns == 0 || end.clock_ns == 0 || end.sequence <= begin.sequence) {
            ++lost;
            continue;
        }
        if (end.sequence == begin.sequence + 1) continue;  // nothing was queued
        profile.device.push_back({one.name, lane.id, clock.host_ns(begin.clock_ns), clock.host_ns(end.clock_ns),
                                  one.queued_begin_ns, one.queued_end_ns, one.thread, one.operation,
                                  end.sequence - begin.sequence - 1, end.device_ps - begin.device_ps - stamp_ps,
                                  end.energy_pj - begin.energy_pj - stamp_pj, one.bytes});
    }
    const std::string where = c10::str("sidra:", static_cast<int>(lane.index), ", stream ", lane.id, ": ");
    if (lost != 0)
        profile.errors.push_back(
            c10::str(where, lost, " operations have no times, because the stream stopped before their end"));
    if (!lane.error.empty())
        profile.errors.push_back(c10::str(where, "operations are missing in the profile: ", lane.error));
}

}  // namespace

void OnStream::begin(c10::DeviceIndex index, c10::StreamId id, const char* name, uint64_t bytes) {
    if (inside(index)) return;
    std::shared_lock pass(gate(index).lock);
    Recording* const recording = gate(index).recording.get();
    if (recording == nullptr) return;
    Lane& lane = recording->lane(index, id, stream_);
    lane.lock.lock();
    // One doorbell for the stamps and what is between them, so that the device does not come to the first one early.
    bool stamped = lane.ok(sidra_batch_begin(stream_));
    if (stamped && lane.stamps == 0) stamped = lane.stamp() && lane.stamp();
    const size_t first = lane.stamps;
    if (!stamped || !lane.stamp()) {
        static_cast<void>(sidra_batch_end(stream_));
        lane.lock.unlock();
        return;
    }
    lane.recorded.push_back({name, first, now_ns(), 0, this_thread(), current_operation(), bytes});
    lane_ = &lane;
    inside(index) = true;
    pass.release();
}

void OnStream::end() {
    lane_->recorded.back().queued_end_ns = now_ns();
    if (!lane_->stamp()) lane_->recorded.pop_back();
    static_cast<void>(sidra_batch_end(stream_));
    const c10::DeviceIndex index = lane_->index;
    inside(index) = false;
    lane_->lock.unlock();
    gate(index).lock.unlock_shared();
}

void OnHost::begin() { begin_ns_ = now_ns(); }

void OnHost::end() {
    if (inside(index_)) return;
    const std::shared_lock pass(gate(index_).lock);
    Recording* const recording = gate(index_).recording.get();
    if (recording == nullptr) return;
    const std::lock_guard guard(recording->lock);
    recording->host.push_back({work_, begin_ns_, now_ns(), this_thread(), current_operation(), detail_, bytes_});
}

bool start_profile(c10::DeviceIndex index) {
    Gate& its = gate(index);
    const std::unique_lock pass(its.lock);
    if (its.recording != nullptr) return false;
    its.recording = std::make_unique<Recording>();
    profiles.fetch_add(1, std::memory_order_relaxed);
    profile_runs[static_cast<size_t>(index)].store(true, std::memory_order_relaxed);
    return true;
}

Profile stop_profile(c10::DeviceIndex index) {
    // Nobody begins to record any more, so the lock becomes free.
    profile_runs[static_cast<size_t>(index)].store(false, std::memory_order_relaxed);
    std::unique_ptr<Recording> recording;
    {
        const std::unique_lock pass(gate(index).lock);
        recording = std::move(gate(index).recording);
    }
    Profile profile;
    if (recording == nullptr) return profile;
    profile.host = std::move(recording->host);
    for (const auto& [id, lane] : recording->lanes)
        static_cast<void>(sidra_stream_synchronize(lane->stream, SIDRA_NEVER));
    if (recording->lanes.empty()) return profile;
    const Clock clock(recording->begin, moment_of(index));
    for (const auto& [id, lane] : recording->lanes) read(*lane, clock, profile);
    return profile;
}

void push_operation(uint64_t id) { operations().push_back(id); }
void pop_operation() {
    if (!operations().empty()) operations().pop_back();
}

}  // namespace sidra::pytorch
