// SPDX-License-Identifier: MIT
#include "entries.h"

#include <algorithm>

#include "sidra_cmd.h"

namespace sidra::chip {

bool well_formed(const sidra_hw_context& entry) {
    return entry.flags == SIDRA_HW_CONTEXT_VALID && entry.page_table != 0 && entry.page_table % SIDRA_PAGE_SIZE == 0 &&
           entry.weights_count <= SIDRA_WEIGHTS_MAX && entry.queue_count <= SIDRA_QUEUES_PER_CONTEXT_MAX &&
           !entry.reserved[0] && !entry.reserved[1] && !entry.reserved[2] &&
           Range(Space::kBus, entry.page_table, SIDRA_PAGE_SIZE).valid() &&
           table_at<sidra_hw_weights>(entry.weights_table, entry.weights_count).valid() &&
           table_at<sidra_hw_queue>(entry.queue_table, entry.queue_count).valid();
}

QueueMemory memory_of(const sidra_hw_queue& entry) {
    const Space space = entry.flags & SIDRA_HW_QUEUE_KERNEL ? Space::kBus : Space::kDevice;
    const uint64_t slots = uint64_t{1} << std::min<uint32_t>(entry.ring_log2, SIDRA_QUEUE_LOG2_MAX);
    return {{space, entry.ring, slots * SIDRA_CMD_SIZE},
            {space, entry.write_index, sizeof(uint64_t)},
            {Space::kBus, entry.state, sizeof(sidra_queue_state)},
            {space, entry.report, entry.report ? slots * sizeof(sidra_report) : 0}};
}

bool well_formed(const sidra_hw_queue& entry) {
    constexpr uint32_t kFlags = SIDRA_HW_QUEUE_VALID | SIDRA_HW_QUEUE_KERNEL;
    const QueueMemory memory = memory_of(entry);
    return (entry.flags & SIDRA_HW_QUEUE_VALID) && !(entry.flags & ~kFlags) && entry.ring % SIDRA_PAGE_SIZE == 0 &&
           entry.write_index % 8 == 0 && entry.state != 0 && entry.state % SIDRA_PAGE_SIZE == 0 &&
           entry.report % 32 == 0 && entry.ring_log2 >= SIDRA_QUEUE_LOG2_MIN &&
           entry.ring_log2 <= SIDRA_QUEUE_LOG2_MAX && entry.priority < SIDRA_PRIORITIES && entry.vector >= 1 &&
           entry.vector < SIDRA_MSIX_VECTORS && entry.epoch != 0 && !entry.reserved && memory.ring.valid() &&
           memory.write_index.valid() && memory.state.valid() && memory.reports.valid();
}

}  // namespace sidra::chip
