// SPDX-License-Identifier: MIT
#include "wait.h"

#include <sched.h>

#include "clock.h"
#include "fault.h"
#include "lock.h"

namespace sidra {
namespace {

constexpr uint64_t kSpinNs = 20'000;     // about the cost of sleeping and waking up
constexpr unsigned kLooksPerClock = 64;  // checks of the state page between two readings of the clock

bool passed(uint64_t deadline) { return deadline == 0 || (deadline != SIDRA_NEVER && monotonic_ns() >= deadline); }

[[gnu::cold]] sidra_status timed_out(const char* call, const Point& point) {
    return fail(
        SIDRA_ERROR_TIMEOUT, call, "stream {} has finished {} of {} operations at the deadline{}; the work goes on",
        point.queue->stream_id, point.queue->timeline(), point.value,
        __atomic_load_n(&point.queue->state->parked, __ATOMIC_RELAXED) != 0 ? " and waits for a semaphore or event"
                                                                            : "");
}

// Sleeps in the driver; returns 0 or -errno. Uses an ioctl: for a single queue io_uring is slower. In a guest under TCG
// a no-op takes 112 us this way, and 132 us with a ring of its own (SINGLE_ISSUER, DEFER_TASKRUN); sixteen queues take
// 115 and 190 us.
int sleep_for(const Point& point, uint64_t deadline, std::string* detail) {
    sidra_wait_item item{};
    item.context = point.queue->context->number;
    item.queue = point.queue->number;
    item.value = point.value;
    item.epoch = point.epoch->number;
    sidra_ioctl_wait wait{};
    wait.items = reinterpret_cast<uintptr_t>(&item);
    wait.count = 1;
    wait.stride = sizeof item;
    wait.deadline = deadline;
    return request(*point.queue->transport, SIDRA_IOCTL_WAIT, &wait, detail);
}

}  // namespace

sidra_status wait_for(const char* call, const Point& point, uint64_t deadline) {
    Transport& transport = *point.queue->transport;
    uint64_t spin_end = 0;
    bool driver_gave_up = false;
    for (;;) {
        switch (point.state()) {
            case Point::State::kReached:
                return SIDRA_OK;
            case Point::State::kDropped:
                return dropped_status(call, point);
            case Point::State::kStopped:
                return stopped_status(call, *point.queue);
            case Point::State::kPending:
                break;
        }
        if (transport.help()) {
            if (point.state() != Point::State::kPending) continue;
            if (passed(deadline)) return timed_out(call, point);
            spin_end = 0;
            continue;
        }
        if (passed(deadline) && point.state() == Point::State::kPending) return timed_out(call, point);
        const uint64_t now = monotonic_ns();
        if (spin_end == 0) spin_end = now + kSpinNs;
        if (now < spin_end) {
            for (unsigned i = 0; i < kLooksPerClock && point.state() == Point::State::kPending; ++i) cpu_relax();
            continue;
        }
        std::string detail;
        const int error = sleep_for(point, deadline, &detail);
        if (point.state() != Point::State::kPending) continue;
        switch (error) {
            case 0:
                continue;
            case -ETIMEDOUT:
                return timed_out(call, point);
            case -ENOENT:
            case -ECANCELED:
                sched_yield();  // another thread is about to record the end of the epoch
                continue;
            case -EIO:
                // The driver reports that the queue has stopped; the state page has the reason at the second check at
                // the latest.
                if (!driver_gave_up) {
                    driver_gave_up = true;
                    continue;
                }
                [[fallthrough]];
            default:
                return fail_errno(call, error, fmt::format("waiting for stream {}", point.queue->stream_id), detail);
        }
    }
}

}  // namespace sidra
