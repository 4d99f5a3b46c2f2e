// SPDX-License-Identifier: MIT
// Waits for a timeline point: check, lend this thread to the device, spin briefly, then sleep in the driver.
#ifndef SIDRA_WAIT_H
#define SIDRA_WAIT_H

#include <cstdint>

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

}  // namespace sidra

#endif
