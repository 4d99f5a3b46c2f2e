// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <span>

#include "fault.h"
#include "graph.h"
#include "memory.h"
#include "submit.h"
#include "uses.h"

namespace sidra {
namespace {

// The packets of a graph in device memory, as one or more launches execute them.
struct Version {
    std::unique_ptr<DeviceMemory> commands;      // packets, then operands
    std::vector<std::shared_ptr<Staging>> kept;  // data that its operations use
    Uses launches;
};

}  // namespace
}  // namespace sidra

struct sidra_graph : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kGraph;

    sidra_context* context = nullptr;
    std::vector<uint32_t> operations;  // the packet of each operation; labels are packets only

    std::mutex mutex;  // protects the members below
    sidra::Recording recording;
    std::map<sidra::ObjectName, uint32_t> names;  // what its operations name, and how many of them
    uint64_t checked = 0;                         // Objects::removals() at the last check that found all of them
    std::vector<std::unique_ptr<sidra::Version>> versions;  // none for an empty graph
    sidra::Version* version = nullptr;                      // the present one
};

namespace sidra {
namespace {

constexpr uint64_t kNeverChecked = UINT64_MAX;

// Checks that all objects that the graph names still exist. An object that was removed may have been replaced by
// another one with the same address or index, which the graph must not use. The lock is held.
sidra_status check_names(const char* call, sidra_graph* graph) {
    const Objects& named = graph->context->named;
    const uint64_t removals = named.removals();
    if (graph->checked == removals) [[likely]]
        return SIDRA_OK;
    if (const auto gone = named.missing(graph->names))
        return fail(SIDRA_ERROR_INVALID_HANDLE, call,
                    "graph {} was recorded with {} {}, which was destroyed since then; record it anew, or replace what "
                    "names it with sidra_graph_update()",
                    graph->id, kind_name(gone->kind), gone->id);
    graph->checked = removals;
    return SIDRA_OK;
}

uint64_t packet_bytes(const sidra_graph& graph) { return graph.recording.packets.size() * sizeof(sidra_cmd); }

// Writes one packet, and its operands, into a version that the device does not read.
void write_packet(const sidra_graph& graph, const Version& version, uint32_t number) {
    sidra_cmd packet = graph.recording.packets[number].packet;
    if (const uint32_t count = table_size(packet); count != 0) {
        const uint64_t offset = packet_bytes(graph) + table_of(packet);
        std::memcpy(version.commands->host() + offset,
                    graph.recording.operands.data() + table_of(packet) / sizeof(sidra_operand),
                    count * sizeof(sidra_operand));
        set_table(&packet, version.commands->address() + offset);
    }
    std::memcpy(version.commands->host() + number * sizeof packet, &packet, sizeof packet);
}

// Adds the copies of data that the operations use.
void collect_kept(const sidra_graph& graph, std::vector<std::shared_ptr<Staging>>* kept) {
    for (const Recorded& recorded : graph.recording.packets)
        if (recorded.kept) kept->push_back(recorded.kept);
}

void write_all(const sidra_graph& graph, Version* version) {
    std::vector<std::shared_ptr<Staging>> kept;
    collect_kept(graph, &kept);
    version->kept = std::move(kept);
    for (uint32_t i = 0; i < graph.recording.packets.size(); ++i) write_packet(graph, *version, i);
}

// Makes the present version one that no launch uses. The lock is held.
sidra_status make_writable(const char* call, sidra_graph* graph) {
    if (graph->version != nullptr && !graph->version->launches.busy()) return SIDRA_OK;
    auto idle = std::find_if(graph->versions.begin(), graph->versions.end(),
                             [](const auto& version) { return !version->launches.busy(); });
    if (idle == graph->versions.end()) {
        auto made = std::make_unique<Version>();
        SIDRA_TRY(DeviceMemory::create(call, graph->context,
                                       packet_bytes(*graph) + graph->recording.operands.size() * sizeof(sidra_operand),
                                       false, &made->commands));
        idle = graph->versions.insert(graph->versions.end(), std::move(made));
    }
    write_all(*graph, idle->get());
    graph->version = idle->get();
    return SIDRA_OK;
}

sidra_status check_operation(const char* call, const sidra_graph& graph, uint64_t operation) {
    if (operation < graph.operations.size()) return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "graph {} has no operation {}: it has {}, which count from 0",
                graph.id, operation, graph.operations.size());
}

// The parameters of the programs of a packet; null: it has none.
uint32_t* params_of(sidra_cmd* packet) {
    switch (packet->hdr.opcode) {
        case SIDRA_CMD_VECTOR:
            return packet->vector.param;
        case SIDRA_CMD_MATMUL:
            return packet->matmul.param;
        case SIDRA_CMD_LAYER:
            return packet->layer.param;
        default:
            return nullptr;
    }
}

// Takes the recording from the stream.
sidra_status end_recording(const char* call, sidra_stream* stream, std::unique_ptr<Recording>* recording) {
    {
        const std::lock_guard lock(stream->lock);
        recording->swap(stream->recording);
    }
    if (*recording) return SIDRA_OK;
    return fail(SIDRA_ERROR_NOT_RECORDABLE, call, "stream {} is not recording; sidra_graph_begin() starts it",
                stream->id);
}

bool is_label(const Recorded& recorded) { return recorded.packet.hdr.opcode == SIDRA_CMD_LABEL; }
bool names_weights(const Recorded& recorded) {
    return is_label(recorded) && (recorded.packet.label.flags & SIDRA_CMD_LABEL_WEIGHTS) != 0;
}

// A recorded operation that replaces one of a graph.
struct Replacement {
    uint32_t number;  // of the packet in the graph
    Recorded* with;
    const Recorded* label;  // the name of its weights, if recorded with it
};

sidra_status check_replacement(const char* call, const sidra_graph& graph, uint64_t operation,
                               const Replacement& replacement) {
    const sidra_cmd& old = graph.recording.packets[replacement.number].packet;
    const sidra_cmd& with = replacement.with->packet;
    if (old.hdr.opcode != with.hdr.opcode)
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "operation {} of graph {} is {}, but {} was recorded for it; record the graph anew to change its "
                    "kind",
                    operation, graph.id, opcode_name(old.hdr.opcode), opcode_name(with.hdr.opcode));
    if (operand_count(old) != operand_count(with))
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                    "operation {} of graph {} has {} operands, but the one recorded for it has {}; record the graph "
                    "anew to change their number",
                    operation, graph.id, operand_count(old), operand_count(with));
    return SIDRA_OK;
}

// Puts one operation in place of another one of its kind. The lock is held, and the graph is writable.
void replace(sidra_graph* graph, const Replacement& replacement, const Recording& from) noexcept {
    const auto& [number, with, label] = replacement;
    Recorded& old = graph->recording.packets[number];
    if (const uint32_t count = table_size(with->packet); count != 0) {
        const uint64_t offset = table_of(old.packet);
        std::copy_n(from.operands.data() + table_of(with->packet) / sizeof(sidra_operand), count,
                    graph->recording.operands.data() + offset / sizeof(sidra_operand));
        set_table(&with->packet, offset);
    }
    old = std::move(*with);
    write_packet(*graph, *graph->version, number);
    if (number == 0 || !names_weights(graph->recording.packets[number - 1])) return;
    // A name in front of it belongs to the former weights, whose index may become that of others.
    graph->recording.packets[number - 1].packet = label != nullptr ? label->packet : make_packet(SIDRA_CMD_NOP);
    write_packet(*graph, *graph->version, number - 1);
}

}  // namespace

sidra_status launch_graph(const char* call, sidra_stream* stream, sidra_graph* graph, uint64_t latest, Point* point) {
    SIDRA_TRY(check(call, "graph", graph));
    SIDRA_TRY(check_context(call, "graph", graph, stream->context));
    std::unique_lock lock(graph->mutex);
    SIDRA_TRY(check_names(call, graph));
    Version* const version = graph->version;
    if (version == nullptr) {
        lock.unlock();
        return submit(call, stream, make_packet(SIDRA_CMD_NOP), Recordable::kNo, point, {}, latest);
    }
    sidra_cmd packet = make_packet(SIDRA_CMD_CALL);
    packet.call.addr = version->commands->address();
    packet.call.count = static_cast<uint32_t>(graph->recording.packets.size());
    version->launches.begin();
    lock.unlock();  // submitting may wait for room in the ring
    const sidra_status status = submit(call, stream, packet, Recordable::kNo, point, {}, latest);
    lock.lock();
    version->launches.end(status == SIDRA_OK ? point : nullptr);
    return status;
}

bool is_launch(const sidra_graph* graph, const sidra_cmd& packet) {
    sidra_graph* const object = HandleTable<sidra_graph>::find(parts_of(graph));
    if (object == nullptr || packet.hdr.opcode != SIDRA_CMD_CALL) return false;
    const std::lock_guard lock(object->mutex);
    return std::ranges::any_of(object->versions,
                               [&](const auto& version) { return version->commands->address() == packet.call.addr; });
}

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
        SIDRA_TRY(end_recording(call, stream, &recording));
        if (graph == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "`graph` is NULL; it takes the new handle (the recording is dropped)");
        sidra_graph* made = make_object<sidra_graph>(stream->context);
        const sidra_status status = guarded(call, [&]() -> sidra_status {
            made->recording = std::move(*recording);
            for (uint32_t i = 0; i < made->recording.packets.size(); ++i) {
                const Recorded& recorded = made->recording.packets[i];
                if (!is_label(recorded)) made->operations.push_back(i);
                for (const ObjectName& name : recorded.names) ++made->names[name];
            }
            made->checked = kNeverChecked;
            return made->recording.packets.empty() ? SIDRA_OK : make_writable(call, made);
        });
        sidra_graph* handle = handle_of(made);
        if (status != SIDRA_OK) {
            Claim<sidra_graph> claim;
            if (claim.take(call, "graph", handle) == SIDRA_OK) destroy_object(handle, claim);
            return status;
        }
        *graph = handle;
        return SIDRA_OK;
    });
}

sidra_status sidra_graph_launch_async(sidra_stream* stream, sidra_graph* graph) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        Point point;
        return launch_graph(call, stream, graph, SIDRA_NEVER, &point);
    });
}

sidra_status sidra_graph_operations(const sidra_graph* graph, uint32_t* count) {
    SIDRA_TRY(check(__func__, "graph", graph));
    if (count == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`count` is NULL");
    *count = static_cast<uint32_t>(graph->operations.size());
    return SIDRA_OK;
}

sidra_status sidra_graph_update(sidra_graph* graph, uint32_t operation, sidra_stream* stream) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "stream", stream));
        std::unique_ptr<Recording> recording;
        SIDRA_TRY(end_recording(call, stream, &recording));
        SIDRA_TRY(check(call, "graph", graph));
        SIDRA_TRY(check_context(call, "graph", graph, stream->context));
        auto& packets = recording->packets;
        std::vector<Replacement> replacements;
        for (uint32_t i = 0; i < packets.size(); ++i) {
            if (is_label(packets[i])) continue;
            const Recorded* label = i != 0 && names_weights(packets[i - 1]) ? &packets[i - 1] : nullptr;
            replacements.push_back({0, &packets[i], label});
        }
        if (replacements.empty())
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "stream {} has recorded no operation to put into graph {}",
                        stream->id, graph->id);
        SIDRA_TRY(check_operation(call, *graph, uint64_t{operation} + replacements.size() - 1));
        const std::lock_guard lock(graph->mutex);
        for (uint32_t i = 0; i < replacements.size(); ++i) {
            replacements[i].number = graph->operations[operation + i];
            SIDRA_TRY(check_replacement(call, *graph, operation + i, replacements[i]));
        }
        // What can fail comes first, so that a failure changes nothing.
        std::map<ObjectName, uint32_t> names = graph->names;
        for (const Replacement& each : replacements) {
            for (const ObjectName& name : each.with->names) ++names[name];
            for (const ObjectName& name : graph->recording.packets[each.number].names)
                if (const auto at = names.find(name); --at->second == 0) names.erase(at);
        }
        SIDRA_TRY(make_writable(call, graph));
        const bool staged = std::any_of(packets.begin(), packets.end(), [](const Recorded& r) { return !!r.kept; });
        std::vector<std::shared_ptr<Staging>> kept;
        if (staged) kept.reserve(graph->recording.packets.size());
        for (const Replacement& each : replacements) replace(graph, each, *recording);
        graph->names.swap(names);
        graph->checked = kNeverChecked;
        if (staged) {
            collect_kept(*graph, &kept);
            graph->version->kept.swap(kept);
        }
        return SIDRA_OK;
    });
}

sidra_status sidra_graph_set_param(sidra_graph* graph, uint32_t operation, uint32_t index, uint32_t value) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "graph", graph));
        SIDRA_TRY(check_operation(call, *graph, operation));
        if (index >= SIDRA_VECTOR_PARAMS)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`index` is {}: must be below {}", index,
                        SIDRA_VECTOR_PARAMS);
        const std::lock_guard lock(graph->mutex);
        const uint32_t number = graph->operations[operation];
        sidra_cmd* packet = &graph->recording.packets[number].packet;
        uint32_t* params = params_of(packet);
        if (params == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "operation {} of graph {} is {}, which has no parameters",
                        operation, graph->id, opcode_name(packet->hdr.opcode));
        SIDRA_TRY(make_writable(call, graph));
        params[index] = value;
        write_packet(*graph, *graph->version, number);
        return SIDRA_OK;
    });
}

sidra_status sidra_graph_destroy(sidra_graph* graph) {
    if (graph == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        Claim<sidra_graph> claim;
        SIDRA_TRY(claim.take(call, "graph", graph));
        if (!forked(*graph)) {
            // The present version goes last: as long as it stays, so does the graph.
            auto& versions = graph->versions;
            const auto present = std::find_if(versions.begin(), versions.end(),
                                              [&](const auto& version) { return version.get() == graph->version; });
            if (present != versions.end()) std::iter_swap(versions.begin(), present);
            for (; !versions.empty(); versions.pop_back()) SIDRA_TRY(versions.back()->commands->release(call));
        }
        destroy_object(graph, claim);
        return SIDRA_OK;
    });
}
