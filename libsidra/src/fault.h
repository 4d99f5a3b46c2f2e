// SPDX-License-Identifier: MIT
// The reason why a queue stopped, as text.
#ifndef SIDRA_FAULT_H
#define SIDRA_FAULT_H

#include <string>

#include "queue.h"

namespace sidra {

const char* opcode_name(uint32_t opcode);
const char* cause_text(uint32_t cause);                    // "address not mapped"
const char* cause_hint(uint32_t cause);                    // what the user can do
std::string describe_cause(const sidra_fault_info& info);  // with the address, or where the failure began

// The fault that stopped the queue; cause 0: none.
sidra_fault fault_of(const Queue& queue);
// The stream and the operation where a fault of the queue began.
EpochRoot fault_root(const Queue& queue, const sidra_fault& fault);

// The queue's fault record in the form of sidra_stream_fault() (cause 0: none); or a given earlier record.
sidra_fault_info fault_info(const Queue& queue);
sidra_fault_info fault_info(const Queue& queue, const sidra_fault& fault);

// FAULT, CONTEXT_LOST or DEVICE_LOST of a queue that has stopped, with text. Another thread may have reset it
// meanwhile: FAULT.
[[gnu::cold]] sidra_status stopped_status(const char* call, const Queue& queue);

// FAULT or CONTEXT_LOST of a dropped point, with text.
[[gnu::cold]] sidra_status dropped_status(const char* call, const Point& point);

// Only the status, without changing the last error: for callbacks.
sidra_status stopped_status_only(const Queue& queue);
sidra_status dropped_status_only(const Epoch& epoch);

}  // namespace sidra

#endif
