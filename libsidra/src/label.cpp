// SPDX-License-Identifier: MIT
#include "label.h"

#include <cstring>

namespace sidra {
namespace {

sidra_cmd label_packet(std::string_view text) {
    sidra_cmd packet = make_packet(SIDRA_CMD_LABEL);
    size_t length = text.size();
    if (length > SIDRA_CMD_LABEL_TEXT) {
        length = SIDRA_CMD_LABEL_TEXT;
        while (length > 0 && (static_cast<uint8_t>(text[length]) & 0xc0) == 0x80) --length;  // not inside a character
    }
    std::memcpy(packet.label.text, text.data(), length);
    return packet;
}

}  // namespace

void set_label(sidra_weights* weights, std::string_view text) {
    if (!traced(*weights->context) || text.empty()) return;
    const std::lock_guard lock(weights->mutex);
    weights->label = text;
    weights->label_due.store(true, std::memory_order_relaxed);
}

sidra_status send_label(const char* call, sidra_stream* stream, sidra_weights* weights, Recordable recordable,
                        uint64_t latest) {
    sidra_cmd packet;
    {
        const std::lock_guard lock(weights->mutex);
        packet = label_packet(weights->label);
    }
    packet.label.flags = SIDRA_CMD_LABEL_WEIGHTS;
    packet.label.weights = static_cast<uint16_t>(weights->index);
    Point point;
    SIDRA_TRY(submit(call, stream, packet, recordable, &point, {}, latest));
    // What was recorded has not come to the chip yet, and may never.
    if (point.queue) weights->label_due.store(false, std::memory_order_relaxed);
    return SIDRA_OK;
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_label_async(sidra_stream* stream, const char* text) {
    SIDRA_TRY(check(__func__, "stream", stream));
    if (!traced(*stream->context)) return SIDRA_OK;
    return submit(__func__, stream, label_packet(text == nullptr ? "" : text));
}
