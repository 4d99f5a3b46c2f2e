// SPDX-License-Identifier: MIT
#include "interrupts.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "chip_host.h"
#include "futex.h"

namespace sidra::embedded {

void Waiter::wake() {
    word_.store(1, std::memory_order_release);
    futex_wake_one(word_);
}

void Waiter::sleep_until(uint64_t ns) {
    if (word_.load(std::memory_order_acquire) == 0) futex_wait_until(word_, 0, ns);
}

WaitPoint::State WaitPoint::look(uint32_t epoch, uint64_t value) const {
    // A reset changes the epoch before the timeline.
    const auto reached = [&] { return timeline() >= value && this->epoch() == epoch; };
    if (reached()) return State::kReached;
    if (this->epoch() == epoch) {
        if (!stopped()) return State::kPending;
        if (reached()) return State::kReached;  // check again: it may have been reached before it stopped
        if (this->epoch() == epoch) return State::kStopped;
    }
    const std::lock_guard guard(endings_lock_);
    for (const Ending& ending : endings_)
        if (ending.epoch == epoch && ending.retired >= value) return State::kReached;
    return State::kDropped;
}

void WaitPoint::begin_epoch(uint32_t epoch, uint64_t start) {
    const std::lock_guard guard(endings_lock_);  // a thread that sees the new epoch finds the end of the old one
    endings_[ended_++ % endings_.size()] = {this->epoch(), timeline()};
    std::atomic_ref<uint32_t>(state_->epoch).store(epoch, std::memory_order_release);
    std::atomic_ref<uint64_t>(state_->timeline).store(start, std::memory_order_release);
}

Interrupts::~Interrupts() {
    for (auto& points : points_)
        for (WaitPoint* point : points) fire_all(*point);
}

void Interrupts::attach(WaitPoint& point) {
    std::lock_guard guard(lock_);
    points_[point.vector_].push_back(&point);
    point.attached_ = true;
}

void Interrupts::detach(WaitPoint& point) {
    std::lock_guard guard(lock_);
    std::erase(points_[point.vector_], &point);
    point.attached_ = false;
    fire_all(point);
}

void Interrupts::arm(WaitPoint& point, uint64_t value, WaitPoint::Sink sink) {
    std::lock_guard guard(lock_);
    point.armed_.emplace(value, sink);
    if (sink.waiter == nullptr) eventfds_.fetch_add(1, std::memory_order_relaxed);
    if (!point.attached_) return fire_all(point);  // its number on the chip may have been reused
    fire_reached(point);
    program(point);
}

void Interrupts::disarm(WaitPoint& point, Waiter& waiter) {
    std::lock_guard guard(lock_);
    std::erase_if(point.armed_, [&](const auto& entry) { return entry.second.waiter == &waiter; });
}

void Interrupts::disarm_eventfds(WaitPoint& point, uint64_t value) {
    std::lock_guard guard(lock_);
    auto [begin, end] = point.armed_.equal_range(value);
    while (begin != end) {
        if (begin->second.waiter != nullptr) {
            ++begin;
            continue;
        }
        drop_eventfd(begin->second.eventfd);
        begin = point.armed_.erase(begin);
    }
}

void Interrupts::recheck_all() {
    std::lock_guard guard(lock_);
    for (auto& points : points_) {
        for (WaitPoint* point : points) {
            fire_reached(*point);
            program(*point);
        }
    }
}

void Interrupts::wake_all(WaitPoint& point) {
    std::lock_guard guard(lock_);
    fire_all(point);
}

void Interrupts::handle() {
    const uint32_t vectors = pending_.exchange(0, std::memory_order_acquire);
    bool faults = false;
    if (vectors & (1u << SIDRA_MSIX_ADMIN)) {
        const auto causes = static_cast<uint32_t>(host_.read_register(SIDRA_REG_INT_STATUS, 4));
        host_.write_register(SIDRA_REG_INT_STATUS, causes, 4);
        faults = causes & SIDRA_INT_FAULT;
    }
    std::lock_guard guard(lock_);
    for (unsigned vector = 0; vector < points_.size(); vector++) {
        if (!faults && !(vectors & (1u << vector))) continue;
        for (WaitPoint* point : points_[vector]) {
            fire_reached(*point);
            program(*point);
        }
    }
}

// The caller holds lock_.
void Interrupts::fire_reached(WaitPoint& point) {
    if (point.armed_.empty()) return;
    if (point.stopped()) return fire_all(point);
    const uint64_t timeline = point.timeline();
    auto& armed = point.armed_;
    const auto end = armed.upper_bound(timeline);
    for (auto entry = armed.begin(); entry != end; ++entry) fire(entry->second);
    armed.erase(armed.begin(), end);
}

// The caller holds lock_.
void Interrupts::fire_all(WaitPoint& point) {
    for (const auto& [value, sink] : point.armed_) fire(sink);
    point.armed_.clear();
}

// Programs the smallest armed value into the chip. The caller holds lock_, so the last write is the current minimum. If
// the timeline has reached it meanwhile, the chip raises the interrupt at once, and the caller's service() handles it.
void Interrupts::program(const WaitPoint& point) {
    if (point.armed_.empty()) return;
    host_.write_register(SIDRA_ARM(point.slot_, point.queue_), point.armed_.begin()->first, 8);
}

void Interrupts::fire(const WaitPoint::Sink& sink) {
    if (sink.waiter != nullptr) {
        sink.waiter->wake();
        return;
    }
    // Writing to a full counter would block; but then the eventfd is readable anyway.
    pollfd poll_fd{sink.eventfd, POLLOUT, 0};
    const uint64_t one = 1;
    if (poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLOUT)) {
        const ssize_t written = write(sink.eventfd, &one, sizeof one);
        static_cast<void>(written);  // poll() has checked that there is room
    }
    drop_eventfd(sink.eventfd);
}

void Interrupts::drop_eventfd(int fd) {
    eventfds_.fetch_sub(1, std::memory_order_relaxed);
    close(fd);
}

}  // namespace sidra::embedded
