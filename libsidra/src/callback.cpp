// SPDX-License-Identifier: MIT
#include "callback.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "fault.h"
#include "wait_set.h"

namespace sidra {
namespace {

constexpr int kRecheckMs = 200;  // limits the delay after a lost signal

// The status for a callback, if it is due.
std::optional<sidra_status> status_of(const Point& point) {
    switch (point.state()) {
        case Point::State::kPending:
            return std::nullopt;
        case Point::State::kStopped:
            return stopped_status_only(*point.queue);
        case Point::State::kDropped:
            return point.epoch->how() == Epoch::End::kDestroyed ? SIDRA_ERROR_INVALID_HANDLE
                                                                : dropped_status_only(*point.epoch);
        default:
            return SIDRA_OK;
    }
}

}  // namespace

CallbackThread::Room::Room() : entry_(1) {
    Lanes lanes;
    lanes.try_emplace(nullptr);
    lane_ = lanes.extract(lanes.begin());
}

CallbackThread::CallbackThread() : eventfd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (eventfd_ < 0) throw std::system_error(errno, std::generic_category(), "no eventfd");
    // Signals are for the application's threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread_ = std::thread([this] { run(); });
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        close(eventfd_);
        throw;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "sidra-callbacks");
}

CallbackThread::~CallbackThread() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake();
    thread_.join();
    close(eventfd_);
}

void CallbackThread::wake() {
    const uint64_t one = 1;
    // If the counter is full (EAGAIN), the thread is awake anyway.
    [[maybe_unused]] const ssize_t written = write(eventfd_, &one, sizeof one);
}

void CallbackThread::add(Room room, const Point& point, sidra_callback function, void* user, Of of) noexcept {
    room.entry_.front() = {point, function, user, of};
    room.lane_.key() = point.queue.get();
    // A lane that is there already stays, and the room's is freed.
    Lane& lane = lanes_.insert(std::move(room.lane_)).position->second;
    // In the order of the timeline: what is added for an earlier point must not wait behind a later one.
    auto at = lane.entries.end();
    while (at != lane.entries.begin() && std::prev(at)->point.value > point.value) --at;
    const bool first = at == lane.entries.begin();
    lane.entries.splice(at, room.entry_);
    if (!first) return;  // the thread waits for the front entry, and continues with this one afterwards
    lane.armed = false;
    wake();
}

void CallbackThread::disarmed(const Queue* queue, uint64_t value) {
    const std::lock_guard lock(mutex_);
    const auto at = lanes_.find(queue);
    if (at == lanes_.end() || at->second.entries.empty() || at->second.entries.front().point.value != value) return;
    at->second.disarmed = true;
    wake();
}

void CallbackThread::drain(const Queue* queue) {
    wake();
    if (is_current_thread()) return;
    std::unique_lock lock(mutex_);
    drained_.wait(lock, [&] { return !lanes_.contains(queue); });
}

void CallbackThread::drain() {
    wake();
    std::unique_lock lock(mutex_);
    drained_.wait(lock, [&] { return lanes_.empty(); });
}

void CallbackThread::finish(const Queue* queue) {
    if (is_current_thread()) return;
    std::unique_lock lock(mutex_);
    if (busy_ == nullptr || (queue != nullptr && busy_ != queue)) return;
    finished_.wait(lock, [this, present = begun_] { return busy_ == nullptr || begun_ != present; });
}

// Runs the first due callback without the lock. Returns false if none is due.
bool CallbackThread::run_due(std::unique_lock<std::mutex>& lock) {
    auto at = lanes_.upper_bound(served_);
    for (size_t left = lanes_.size(); left != 0; --left, ++at) {
        if (at == lanes_.end()) at = lanes_.begin();
        Lane& lane = at->second;
        if (lane.entries.empty()) {
            lanes_.erase(at);
            drained_.notify_all();
            return true;
        }
        const Entry entry = lane.entries.front();
        const std::optional<sidra_status> status = status_of(entry.point);
        if (!status) continue;
        lane.entries.pop_front();
        lane.armed = false;
        served_ = at->first;
        if (entry.of == Of::kLibrary) busy_ = served_, ++begun_;
        lock.unlock();
        entry.function(*status, entry.user);
        lock.lock();
        busy_ = nullptr;
        finished_.notify_all();
        return true;
    }
    return false;
}

void CallbackThread::arm_fronts(WaitSet& waits) {
    for (auto& [queue, lane] : lanes_) {
        if (std::exchange(lane.disarmed, false) && waits.uses_eventfd()) lane.armed = false;
        // If arming fails (context lost meanwhile), the re-check finds the reason in the state page.
        if (!lane.armed) lane.armed = waits.arm(lane.entries.front().point);
    }
}

void CallbackThread::run() {
    WaitSet waits(eventfd_);
    std::unique_lock lock(mutex_);
    for (;;) {
        while (run_due(lock)) {
        }
        if (ending_ && lanes_.empty()) return;
        arm_fronts(waits);
        const int timeout = lanes_.empty() ? -1 : kRecheckMs;
        lock.unlock();
        const bool still_armed = waits.sleep(timeout);
        lock.lock();
        if (!still_armed)
            for (auto& [queue, lane] : lanes_) lane.armed = false;
    }
}

}  // namespace sidra
