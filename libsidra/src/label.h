// SPDX-License-Identifier: MIT
// Names for the trace of a chip. Nothing is sent to a chip that writes none.
#ifndef SIDRA_LABEL_H
#define SIDRA_LABEL_H

#include <string_view>

#include "submit.h"
#include "weights.h"

namespace sidra {

inline bool traced(const sidra_context& context) { return (context.device->info.features & SIDRA_FEATURE_TRACE) != 0; }

// Makes the next use of the weights send this name first.
void set_label(sidra_weights* weights, std::string_view text);

[[gnu::cold]] sidra_status send_label(const char* call, sidra_stream* stream, sidra_weights* weights,
                                      Recordable recordable, uint64_t latest);

// In front of a packet that uses the weights: their name, if the chip does not have it yet.
inline sidra_status announce(const char* call, sidra_stream* stream, sidra_weights* weights,
                             Recordable recordable = Recordable::kYes, uint64_t latest = SIDRA_NEVER) {
    if (!weights->label_due.load(std::memory_order_relaxed)) [[likely]]
        return SIDRA_OK;
    return send_label(call, stream, weights, recordable, latest);
}

}  // namespace sidra

#endif
