// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <span>

#include "memory.h"
#include "submit.h"

struct sidra_graph : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kGraph;

    sidra_context* context = nullptr;
    uint32_t packets = 0;
    uint32_t operations = 0;                            // packets that are not labels
    std::unique_ptr<sidra::DeviceMemory> commands;      // packets, then operands; none for an empty graph
    std::vector<std::shared_ptr<sidra::Staging>> kept;  // data that its operations use
    std::set<sidra::ObjectName> names;                  // buffers, weights and programs that its operations name
    std::atomic<uint64_t> checked{0};                   // Objects::removals() at the last check that found all of them
};

namespace sidra {
namespace {

constexpr uint64_t kNeverChecked = UINT64_MAX;

// Checks that all objects that the graph names still exist. An object that was removed may have been replaced by
// another one with the same address or index, which the graph must not use.
sidra_status check_names(const char* call, sidra_graph* graph) {
    const Objects& named = graph->context->named;
    const uint64_t removals = named.removals();
    if (graph->checked.load(std::memory_order_relaxed) == removals) [[likely]]
        return SIDRA_OK;
    if (const auto gone = named.missing(graph->names))
        return fail(SIDRA_ERROR_INVALID_HANDLE, call,
                    "graph {} was recorded with {} {}, which was destroyed since then; record it anew", graph->id,
                    kind_name(gone->kind), gone->id);
    graph->checked.store(removals, std::memory_order_relaxed);
    return SIDRA_OK;
}

bool has_table(const sidra_cmd& packet) {
    switch (packet.hdr.opcode) {
        case SIDRA_CMD_VECTOR:
            return packet.vector.operand_count != 0;
        case SIDRA_CMD_MATMUL:
        case SIDRA_CMD_LAYER:
        case SIDRA_CMD_POOL:
            return true;
        default:
            return false;
    }
}

sidra_status write_commands(const char* call, sidra_context* context, Recording* recording,
                            std::unique_ptr<DeviceMemory>* commands) {
    const std::span packets(recording->packets);
    const std::span operands(recording->operands);
    SIDRA_TRY(DeviceMemory::create(call, context, packets.size_bytes() + operands.size_bytes(), false, commands));
    const uint64_t tables = (*commands)->address() + packets.size_bytes();
    for (sidra_cmd& packet : packets)
        if (has_table(packet)) set_table(&packet, table_of(packet) + tables);
    std::memcpy((*commands)->host(), packets.data(), packets.size_bytes());
    if (!operands.empty())
        std::memcpy((*commands)->host() + packets.size_bytes(), operands.data(), operands.size_bytes());
    return SIDRA_OK;
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_graph_begin(sidra_stream* stream) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        auto recording = std::make_unique<Recording>();
        const std::lock_guard lock(stream->lock);
        if (stream->recording) return not_recordable(call, stream);
        if (stream->batch)
            return fail(SIDRA_ERROR_NOT_RECORDABLE, call, "stream {} has an open batch; sidra_batch_end() first",
                        stream->id);
        stream->recording = std::move(recording);
        return SIDRA_OK;
    });
}

sidra_status sidra_graph_end(sidra_stream* stream, sidra_graph** graph) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        std::unique_ptr<Recording> recording;
        {
            const std::lock_guard lock(stream->lock);
            recording.swap(stream->recording);
        }
        if (!recording)
            return fail(SIDRA_ERROR_NOT_RECORDABLE, call, "stream {} is not recording; sidra_graph_begin() starts it",
                        stream->id);
        if (graph == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "`graph` is NULL; it takes the new handle (the recording is dropped)");
        std::unique_ptr<DeviceMemory> commands;
        if (!recording->packets.empty()) SIDRA_TRY(write_commands(call, stream->context, recording.get(), &commands));
        sidra_graph* made = make_object<sidra_graph>(stream->context);
        made->packets = static_cast<uint32_t>(recording->packets.size());
        made->operations = static_cast<uint32_t>(
            std::count_if(recording->packets.begin(), recording->packets.end(),
                          [](const sidra_cmd& packet) { return packet.hdr.opcode != SIDRA_CMD_LABEL; }));
        made->commands = std::move(commands);
        made->kept = std::move(recording->kept);
        made->names = std::move(recording->names);
        made->checked.store(kNeverChecked, std::memory_order_relaxed);
        *graph = handle_of(made);
        return SIDRA_OK;
    });
}

sidra_status sidra_graph_launch_async(sidra_stream* stream, sidra_graph* graph) {
    SIDRA_TRY(check(__func__, "stream", stream));
    SIDRA_TRY(check(__func__, "graph", graph));
    SIDRA_TRY(check_context(__func__, "graph", graph, stream->context));
    SIDRA_TRY(check_names(__func__, graph));
    sidra_cmd packet = make_packet(graph->commands ? SIDRA_CMD_CALL : SIDRA_CMD_NOP);
    if (graph->commands) {
        packet.call.addr = graph->commands->address();
        packet.call.count = graph->packets;
    }
    return submit(__func__, stream, packet, Recordable::kNo);
}

sidra_status sidra_graph_operations(const sidra_graph* graph, uint32_t* count) {
    SIDRA_TRY(check(__func__, "graph", graph));
    if (count == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`count` is NULL");
    *count = graph->operations;
    return SIDRA_OK;
}

sidra_status sidra_graph_destroy(sidra_graph* graph) {
    if (graph == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        Claim<sidra_graph> claim;
        SIDRA_TRY(claim.take(call, "graph", graph));
        if (graph->commands) SIDRA_TRY(graph->commands->release(call));
        destroy_object(graph, claim);
        return SIDRA_OK;
    });
}
