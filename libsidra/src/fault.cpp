// SPDX-License-Identifier: MIT
#include "fault.h"

#include <array>
#include <cstring>

#include "program.h"
#include "program_error.h"

namespace sidra {
namespace {

constexpr std::array<const char*, SIDRA_CMD_OPCODE_COUNT> kOpcodes = {
    "INVALID", "NOP",      "BARRIER", "SEM_WAIT", "SEM_SIGNAL", "TIMESTAMP", "COPY",  "FILL", "MVM", nullptr,
    "PROGRAM", "READBACK", "CALL",    "LABEL",    "VECTOR",     "MATMUL",    "LAYER", "POOL", "SORT"};
static_assert(kOpcodes.back() != nullptr);

struct CauseText {
    const char* text;
    const char* hint;
};
constexpr std::array<CauseText, SIDRA_FAULT_COUNT> kCauses = {{
    {"no fault", ""},
    {"unknown opcode", "the ring or a graph was overwritten"},
    {"a field has a value that is not allowed",
     "the ring or a graph was overwritten, or libsidra and chip differ in version"},
    {"address or stride misaligned", "align it as the operation asks"},
    {"size, count or range beyond a limit", "split the operation"},
    {"address not mapped", "was a buffer destroyed before its operations were done?"},
    {"no right to access the page", "was memory registered read-only?"},
    {"the host refused the DMA, or a chip with a state file has no room for it",
     "registered memory must stay mapped; of a state file stderr says more"},
    {"no such weights", "were they destroyed before their operations were done?"},
    {"the weights' rights do not allow it", "ask who shared them for more rights"},
    {"weights not programmed, or not to the end", "queue sidra_weights_program_async() first"},
    {"data out of range (index, weight, or a pooling window outside the image)", "check the data"},
    {"a graph inside a graph", "record its operations instead"},
    {"operation not allowed in this kind of queue", "use a stream"},
    {"the stream waited for is not known any more", "wait for its event before it was reset or replaced so often"},
    {"write index of the ring damaged", "something overwrote the ring"},
    {"packet damaged on its way", "try again; if it stays, the link is bad"},
    {"no progress", "the driver stopped it"},
    {"reset on request", ""},
    {"what it waited for failed", ""},
    {"vector program refused", "mend the program, or what it was called with"},
}};

}  // namespace

const char* opcode_name(uint32_t opcode) {
    return opcode < kOpcodes.size() && kOpcodes[opcode] != nullptr ? kOpcodes[opcode] : "unknown operation";
}
const char* cause_text(uint32_t cause) { return cause < kCauses.size() ? kCauses[cause].text : "unknown cause"; }
const char* cause_hint(uint32_t cause) { return cause < kCauses.size() ? kCauses[cause].hint : ""; }

namespace {

// For example "stream 3, operation 7: address not mapped".
std::string describe_root(const sidra_fault_info& info) {
    const std::string stream = info.root_stream != 0 ? fmt::format("stream {}", info.root_stream) : "a former stream";
    return fmt::format("{}, operation {}: {}", stream, info.root_sequence,
                       info.root_cause == SIDRA_FAULT_RESET ? "dropped by a reset or by its destruction"
                                                            : cause_text(info.root_cause));
}

}  // namespace

std::string describe_cause(const sidra_fault_info& info) {
    switch (info.cause) {
        case SIDRA_FAULT_PRODUCER:
            return fmt::format("{} ({})", cause_text(info.cause), describe_root(info));
        case SIDRA_FAULT_PROGRAM:
            return program_fault_text(info.address);  // alone, so that it fits into `text`
        default:
            return fmt::format("{} (address {:#x})", cause_text(info.cause), info.address);
    }
}

sidra_fault fault_of(const Queue& queue) { return load_fault(*queue.state); }

EpochRoot fault_root(const Queue& queue, const sidra_fault& fault) {
    if (fault.cause != SIDRA_FAULT_PRODUCER) return {queue.stream_id, false, fault.sequence, fault.cause};
    const EpochRoot root = root_of_epoch(*queue.context, fault.root_epoch);
    return root.foreign ? root : EpochRoot{root.stream, false, fault.root_sequence, fault.root_cause};
}

sidra_fault_info fault_info(const Queue& queue) { return fault_info(queue, fault_of(queue)); }

sidra_fault_info fault_info(const Queue& queue, const sidra_fault& fault) {
    sidra_fault_info info{};
    info.struct_size = sizeof info;
    if (fault.cause == SIDRA_FAULT_NONE) return info;
    info.cause = fault.cause;
    info.opcode = fault.opcode;
    info.sequence = fault.sequence;
    info.address = fault.address;
    info.cookie = fault.cookie;
    info.in_graph = fault.in_call != 0;
    info.graph_index = fault.call_index;
    info.clock_ns = fault.clock_ns;
    if (is_program_call(
            queue.ring[fault.sequence & queue.mask])) {  // the library's CALL around a PROGRAM, not the user's graph
        info.in_graph = false;
        info.graph_index = 0;
        info.cookie = 0;
    }
    const EpochRoot root = fault_root(queue, fault);
    info.root_stream = root.stream;
    info.root_sequence = root.sequence;
    info.root_cause = root.cause;
    const auto end = fmt::format_to_n(info.text, sizeof info.text - 1, "{}, operation {}{} (cookie {}): {}",
                                      opcode_name(info.opcode), info.sequence,
                                      info.in_graph ? fmt::format(", operation {} of its graph", info.graph_index) : "",
                                      info.cookie, describe_cause(info));
    *end.out = '\0';
    return info;
}

sidra_status stopped_status(const char* call, const Queue& queue) {
    if (queue.run_state() == SIDRA_QUEUE_LOST) return lost_status(call, *queue.context);
    try {
        const sidra_fault_info info = fault_info(queue);
        if (info.cause == SIDRA_FAULT_NONE)  // since the caller saw that it had stopped
            return fail(SIDRA_ERROR_FAULT, call,
                        "stream {} had stopped, and another thread has reset it meanwhile, which drops what is queued; "
                        "queue the work again",
                        queue.stream_id);
        const char* what_to_do =
            info.cause == SIDRA_FAULT_PROGRAM ? program_fault_hint(info.address) : cause_hint(info.cause);
        return fail(SIDRA_ERROR_FAULT, call,
                    "stream {} stopped at {}{}{}. sidra_stream_reset() drops what is queued and goes on",
                    queue.stream_id, info.text, *what_to_do != '\0' ? "; " : "", what_to_do);
    } catch (...) {
        return fail(SIDRA_ERROR_FAULT, call, "stream {} stopped; see sidra_stream_fault()", queue.stream_id);
    }
}

sidra_status dropped_status_only(const Epoch& epoch) {
    return epoch.how() == Epoch::End::kLost ? SIDRA_ERROR_CONTEXT_LOST : SIDRA_ERROR_FAULT;
}

sidra_status dropped_status(const char* call, const Point& point) {
    const Queue& queue = *point.queue;
    const Epoch& epoch = *point.epoch;
    const sidra_status status = dropped_status_only(epoch);
    try {
        const sidra_fault_info info = fault_info(queue, epoch.fault());
        if (info.cause != SIDRA_FAULT_NONE)
            return fail(
                status, call,
                "operation {} of stream {}, which this waits for, was never done: the stream had stopped at {}; "
                "queue the work again",
                point.value - 1, queue.stream_id, info.text);
        return fail(
            status, call,
            "operation {} of stream {}, which this waits for, was never done: it was dropped when the {}; queue "
            "the work again",
            point.value - 1, queue.stream_id,
            epoch.how() == Epoch::End::kReset       ? "stream was reset"
            : epoch.how() == Epoch::End::kDestroyed ? "stream was destroyed"
                                                    : "context was lost");
    } catch (...) {
        return fail(status, call, "what this waits for was dropped, and never done; queue the work again");
    }
}

sidra_status stopped_status_only(const Queue& queue) {
    return queue.run_state() == SIDRA_QUEUE_LOST ? SIDRA_ERROR_CONTEXT_LOST : SIDRA_ERROR_FAULT;
}

}  // namespace sidra
