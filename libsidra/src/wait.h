// SPDX-License-Identifier: MIT
// Waits for a timeline point: check, lend this thread to the device, spin briefly, then sleep in the driver.
#ifndef SIDRA_WAIT_H
#define SIDRA_WAIT_H

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "queue.h"

namespace sidra {

// Returns OK when the point is reached; FAULT, CONTEXT_LOST or DEVICE_LOST at once if it can never be reached, because
// its queue has stopped or it was dropped; TIMEOUT at the deadline.
sidra_status wait_for(const char* call, const Point& point, uint64_t deadline);

// The packet that waits, on the device, for the point of a stream of the same context.
sidra_cmd wait_packet(const Point& point);

// Everything queued in `stream` from now on waits for the point of a stream of the same context, on the device.
sidra_status wait_point(const char* call, sidra_stream* stream, const Point& point);
// The same, unless there is no point, or it was reached or never will be.
sidra_status wait_if_pending(const char* call, sidra_stream* stream, const Point& point);

// Waits for other threads; returns false if that is not done at the deadline.
template <typename Done>
bool wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, uint64_t deadline, Done&& done) {
    // This clock is CLOCK_MONOTONIC, but counts with a sign.
    const std::chrono::nanoseconds latest(std::min<uint64_t>(deadline, std::chrono::nanoseconds::max().count()));
    return changed.wait_until(lock, std::chrono::steady_clock::time_point(latest), done);
}

}  // namespace sidra

#endif
