// SPDX-License-Identifier: MIT
#include "callback.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>

#include "fault.h"
#include "queue.h"
#include "wait_set.h"

namespace sidra {
namespace {

constexpr int kRecheckMs = 200;  // a lost signal costs this much, never a hang

// The status a callback gets, once it is due.
std::optional<sidra_status> due_status(Queue& queue, uint32_t epoch, uint64_t value) {
    if (queue.epoch.load(std::memory_order_acquire) != epoch) return queue.drop_status.load(std::memory_order_relaxed);
    if (queue.timeline() >= value) return SIDRA_OK;
    if (!Queue::stopped(queue.run_state())) return std::nullopt;
    return queue.timeline() >= value ? SIDRA_OK : stopped_status_only(queue);
}

}  // namespace

CallbackThread::CallbackThread() : eventfd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (eventfd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd for callbacks");
    // The application's signals are not for this thread.
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
    // A full counter would be EAGAIN, and then the thread is awake anyway.
    [[maybe_unused]] const ssize_t written = write(eventfd_, &one, sizeof one);
}

void CallbackThread::add(const Point& point, sidra_callback function, void* user) {
    bool news;
    {
        const std::lock_guard lock(mutex_);
        Lane& lane = lanes_[point.queue.get()];
        lane.queue = point.queue;
        news = lane.entries.empty();
        lane.entries.push_back({point.epoch, point.value, function, user});
    }
    if (news) wake();  // else the thread waits for the one in front, and comes to this one by itself
}

void CallbackThread::drain(const Queue* queue) {
    wake();
    if (is_current_thread()) return;
    std::unique_lock lock(mutex_);
    drained_.wait(lock, [&] { return !lanes_.contains(queue); });
}

// Runs the first callback that is due, without the lock. False: none is.
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
        const std::optional<sidra_status> status = due_status(*lane.queue, entry.epoch, entry.value);
        if (!status) continue;
        lane.entries.pop_front();
        lane.armed = false;
        served_ = at->first;
        lock.unlock();
        entry.function(*status, entry.user);
        lock.lock();
        return true;
    }
    return false;
}

void CallbackThread::arm_fronts(WaitSet& waits) {
    for (auto& [queue, lane] : lanes_) {
        const uint64_t value = lane.entries.front().value;
        if (lane.armed && lane.armed_value == value) continue;
        // Refused (context lost in between): the re-check sees the reason in the state page.
        lane.armed = waits.arm(*queue, value);
        lane.armed_value = value;
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
