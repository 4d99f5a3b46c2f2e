// SPDX-License-Identifier: MIT
// Waiting for a place in a timeline: look, lend this thread to the device, spin briefly, then sleep in the driver.
#ifndef SIDRA_WAIT_H
#define SIDRA_WAIT_H

#include <cstdint>

#include "queue.h"

namespace sidra {

// OK once the point is reached; FAULT, CONTEXT_LOST or DEVICE_LOST at once if it never will be, because its queue
// stopped before or it was dropped; TIMEOUT at the deadline.
sidra_status wait_for(const char* call, const Point& point, uint64_t deadline);

}  // namespace sidra

#endif
