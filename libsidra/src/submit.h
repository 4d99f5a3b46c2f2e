// SPDX-License-Identifier: MIT
// The hot path: stores one packet into the ring. No system call, no allocation, and no lock except the stream's own.
#ifndef SIDRA_SUBMIT_H
#define SIDRA_SUBMIT_H

#include <cstring>
#include <span>

#include "sidra_vector.h"
#include "stream.h"

namespace sidra {

enum class Recordable { kYes, kNo };

// Operands of a VECTOR, MATMUL or LAYER packet. The last element behind those of a LAYER, and the only one of a POOL,
// is a pattern.
using OperandTable = std::span<const sidra_operand>;
static_assert(sizeof(sidra_operand) == sizeof(sidra_pattern));
inline constexpr size_t kTableBytes = (SIDRA_VECTOR_OPERANDS_MAX + 1) * sizeof(sidra_operand);

// The number of operands of a packet.
inline uint32_t operand_count(const sidra_cmd& packet) {
    switch (packet.hdr.opcode) {
        case SIDRA_CMD_VECTOR:
            return packet.vector.operand_count;
        case SIDRA_CMD_MATMUL:
            return packet.matmul.operand_count;
        case SIDRA_CMD_LAYER:
            return packet.layer.operand_count;
        default:
            return 0;
    }
}

// The number of elements of its table.
inline uint32_t table_size(const sidra_cmd& packet) {
    const bool pattern = packet.hdr.opcode == SIDRA_CMD_LAYER || packet.hdr.opcode == SIDRA_CMD_POOL;
    return operand_count(packet) + (pattern ? 1 : 0);
}

// The address of the table in a packet that has one.
inline uint64_t table_of(const sidra_cmd& packet) {
    return packet.hdr.opcode == SIDRA_CMD_POOL ? packet.pool.pattern : packet.vector.operands;
}
inline void set_table(sidra_cmd* packet, uint64_t address) {
    static_assert(offsetof(sidra_cmd_vector, operands) == offsetof(sidra_cmd_matmul, operands) &&
                  offsetof(sidra_cmd_vector, operands) == offsetof(sidra_cmd_layer, operands));
    if (packet->hdr.opcode == SIDRA_CMD_POOL) {
        packet->pool.pattern = address;
        return;
    }
    packet->vector.operands = address;
    if (packet->hdr.opcode == SIDRA_CMD_LAYER)
        packet->layer.pattern = address + packet->layer.operand_count * sizeof(sidra_operand);
}

// Stores the packet in the stream's recording. The lock is held throughout.
[[gnu::cold]] sidra_status record(const char* call, sidra_stream* stream, const sidra_cmd& packet,
                                  OperandTable operands = {});

// Whether the ring has room for a packet. The lock is held.
inline bool has_room(Queue& queue) {
    const uint64_t index = queue.written.load(std::memory_order_relaxed);
    if (index - queue.seen_timeline < queue.capacity) [[likely]]
        return true;
    queue.seen_timeline = queue.timeline();
    return index - queue.seen_timeline < queue.capacity;
}

// Stores a packet, with its table if it has one, in the ring, which has room for it. `point` (if given) returns the
// point after it. The lock is held.
inline void store(sidra_stream* stream, const sidra_cmd& packet, Point* point = nullptr, OperandTable operands = {}) {
    Queue& queue = *stream->queue.load(std::memory_order_relaxed);
    const uint64_t index = queue.written.load(std::memory_order_relaxed);
    sidra_cmd& entry = queue.ring[index & queue.mask];
    std::memcpy(&entry, &packet, sizeof packet);
    if (!operands.empty()) {
        const uint64_t offset = (index & queue.mask) * kTableBytes;
        std::memcpy(stream->tables->host() + offset, operands.data(), operands.size_bytes());
        set_table(&entry, stream->tables->address() + offset);
    }
    queue.written.store(index + 1, std::memory_order_relaxed);
    if (!stream->batch) queue.publish(index + 1);
    if (point != nullptr) *point = Point{stream->current_queue, queue.epoch, index + 1};
}

// Makes the stream's operand tables. The lock is not held.
[[gnu::cold]] sidra_status make_tables(const char* call, sidra_stream* stream);

// Waits for room in the ring, or until `latest` or the stream's deadline: TIMEOUT. The lock is held, but released
// during the wait, so the stream may have changed completely.
[[gnu::cold]] sidra_status wait_for_room(const char* call, sidra_stream* stream, uint64_t latest);

// The queue has stopped: unlocks and returns the reason.
[[gnu::cold]] sidra_status refuse_stopped(const char* call, sidra_stream* stream);

// Locks several streams when each of them has room for a packet; while one has none, none is locked. Fails with none
// locked: if one is recording or has stopped, or at `latest` or the deadline of one that has no room. Sorts `streams`.
[[gnu::cold]] sidra_status lock_with_room(const char* call, std::span<sidra_stream*> streams,
                                          uint64_t latest = SIDRA_NEVER);

// Queues (or records) one packet, with its table if it has one; the stream's handle was checked. `point` (if given)
// returns the point after the packet. `latest`: of a call that has a deadline of its own.
inline sidra_status submit(const char* call, sidra_stream* stream, const sidra_cmd& packet,
                           Recordable recordable = Recordable::kYes, Point* point = nullptr, OperandTable operands = {},
                           uint64_t latest = SIDRA_NEVER) {
    stream->lock.lock();
    for (;;) {
        if (stream->recording) [[unlikely]] {
            const sidra_status status =
                recordable == Recordable::kYes ? record(call, stream, packet, operands) : not_recordable(call, stream);
            stream->lock.unlock();
            return status;
        }
        Queue& queue = *stream->queue.load(std::memory_order_relaxed);
        if (Queue::stopped(queue.run_state())) [[unlikely]]
            return refuse_stopped(call, stream);
        if (!operands.empty() && !stream->tables) [[unlikely]] {
            stream->lock.unlock();
            SIDRA_TRY(make_tables(call, stream));
            stream->lock.lock();
            continue;
        }
        if (!has_room(queue)) [[unlikely]] {
            if (const sidra_status status = wait_for_room(call, stream, latest); status != SIDRA_OK) {
                stream->lock.unlock();
                return status;
            }
            continue;
        }
        store(stream, packet, point, operands);
        stream->lock.unlock();
        return SIDRA_OK;
    }
}

// Returns a packet with this opcode and all other fields zero.
inline sidra_cmd make_packet(sidra_cmd_opcode opcode, uint32_t cookie = 0) {
    sidra_cmd packet{};
    std::memset(&packet, 0, sizeof packet);
    packet.hdr.opcode = static_cast<uint8_t>(opcode);
    packet.hdr.cookie = cookie;
    return packet;
}

}  // namespace sidra

#endif
