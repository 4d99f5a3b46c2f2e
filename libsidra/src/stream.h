// SPDX-License-Identifier: MIT
// A stream: a queue, its recording or batch, and the objects that its operations keep alive.
#ifndef SIDRA_STREAM_H
#define SIDRA_STREAM_H

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "handle.h"
#include "lock.h"
#include "memory.h"
#include "queue.h"

namespace sidra {

// An operation recorded for a graph.
struct Recorded {
    sidra_cmd packet;               // the address of its table counts from the first of Recording::operands
    std::set<ObjectName> names;     // the objects that it names
    std::shared_ptr<Staging> kept;  // its copy of data, if any
};
struct Recording {
    std::vector<Recorded> packets;
    std::vector<sidra_operand> operands;  // the tables, which will lie behind the packets
};

// A staged copy that can be freed when the stream has reached a value.
struct Deferred {
    uint64_t value;
    std::shared_ptr<Staging> staging;
};

}  // namespace sidra

struct alignas(64) sidra_stream : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kStream;

    // Hot path: one cache line.
    sidra::SpinLock lock;  // protects all members below, except atomics as noted
    bool batch = false;
    std::atomic<sidra::Queue*> queue{nullptr};    // current_queue.get(); read without the lock
    std::unique_ptr<sidra::Recording> recording;  // null: not recording
    std::atomic<uint32_t> deferred_count{0};
    uint64_t deadline = SIDRA_NEVER;  // deadline of waits for room in the ring: sidra_stream_set_deadline()
    // One operand table for each entry of the ring, made with the first VECTOR. A packet's table is in use as long as
    // its entry.
    std::unique_ptr<sidra::DeviceMemory> tables;

    sidra_context* context = nullptr;
    sidra::QueueOptions options;
    std::shared_ptr<sidra::Queue> current_queue;
    std::vector<std::shared_ptr<sidra::Queue>>
        former_queues;                    // queues before recoveries: another thread may still read their pages
    std::list<sidra::Deferred> deferred;  // in order of value
    uint64_t former_device_ps = 0, former_energy_pj = 0;  // totals of former queues
    std::mutex gates_mutex;                               // protects gates
    std::shared_ptr<sidra::Gates> gates;                  // where the stream waits for the library
    std::mutex fd_mutex;                                  // protects fd and armed_value
    int fd = -1;                                          // eventfd of sidra_stream_get_fd()
    uint64_t armed_value = 0;                             // value that fd was last armed for
};

namespace sidra {

// Frees staged copies of completed operations. Cheap if there are none, and never allocates.
void reap_slow(sidra_stream* stream);
inline void reap(sidra_stream* stream) {
    if (stream->deferred_count.load(std::memory_order_relaxed) != 0) [[unlikely]]
        reap_slow(stream);
}

// Keeps the copy until `point` (of the stream's current queue) is reached. It is wrapped up before its operation is
// queued, because nothing may fail from then on.
inline std::list<Deferred> wrap(std::shared_ptr<Staging> staging) {
    std::list<Deferred> wrapped;
    wrapped.push_back({0, std::move(staging)});
    return wrapped;
}
void defer(sidra_stream* stream, const Point& point, std::list<Deferred> wrapped) noexcept;

// Publishes the packets of a batch to the chip. The lock is held.
inline void flush(sidra_stream* stream) {
    Queue& queue = *stream->queue.load(std::memory_order_relaxed);
    const uint64_t written = queue.written.load(std::memory_order_relaxed);
    if (queue.published != written && !Queue::stopped(queue.run_state())) queue.publish(written);
}

// The point after everything queued so far (flushes a batch). The lock is held.
Point present_point(sidra_stream* stream);
// The same without the lock. NOT_RECORDABLE while recording.
sidra_status current_point(const char* call, sidra_stream* stream, Point* point);
// Those of all streams of a context, also of streams that are recording.
std::vector<Point> work_of(sidra_context* context);

[[gnu::cold]] sidra_status not_recordable(const char* call, const sidra_stream* stream);

// Returns the context's callback thread; creates it if there is none.
sidra_status find_callbacks(const char* call, sidra_context* context, std::shared_ptr<CallbackThread>* callbacks);

// Restarts the stream on a new queue after its context was recovered; queued operations are dropped. The context's
// mutex is held.
sidra_status renew_queue(const char* call, sidra_stream* stream);

}  // namespace sidra

#endif
