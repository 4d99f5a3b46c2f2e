// SPDX-License-Identifier: MIT
// A stream: a queue, what is being recorded or batched on it, and what its operations keep alive.
#ifndef SIDRA_STREAM_H
#define SIDRA_STREAM_H

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "handle.h"
#include "lock.h"
#include "memory.h"
#include "queue.h"

namespace sidra {

// Operations recorded for a graph, the objects that they name, and the copies of data that they use.
struct Recording {
    std::vector<sidra_cmd> packets;
    std::set<ObjectName> names;
    std::vector<std::shared_ptr<Staging>> kept;
};

// A staged copy that may go once the stream has reached a value.
struct Deferred {
    uint64_t value;
    std::shared_ptr<Staging> staging;
};

}  // namespace sidra

struct alignas(64) sidra_stream : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kStream;

    // Hot: one cache line.
    sidra::SpinLock lock;  // protects all below, but where atomics say otherwise
    bool batch = false;
    std::atomic<sidra::Queue*> queue{nullptr};    // of current_queue; read without the lock
    std::unique_ptr<sidra::Recording> recording;  // null: not recording
    std::atomic<uint32_t> deferred_count{0};
    uint64_t deadline = SIDRA_NEVER;  // of the wait for room in the ring: sidra_stream_set_deadline()

    sidra_context* context = nullptr;
    sidra::QueueOptions options;
    std::shared_ptr<sidra::Queue> current_queue;
    std::vector<std::shared_ptr<sidra::Queue>>
        former_queues;                      // before recoveries: another thread may still look at their pages
    std::vector<sidra::Deferred> deferred;  // in order of value
    uint64_t former_device_ps = 0, former_energy_pj = 0;  // of former queues
    std::mutex fd_mutex;                                  // of fd and armed_value
    int fd = -1;                                          // eventfd of sidra_stream_get_fd()
    uint64_t armed_value = 0;                             // what fd was last armed for
};

namespace sidra {

// Frees staged copies whose operations are done. Cheap when there are none.
void reap_slow(sidra_stream* stream);
inline void reap(sidra_stream* stream) {
    if (stream->deferred_count.load(std::memory_order_relaxed) != 0) [[unlikely]]
        reap_slow(stream);
}

// Keeps `staging` until `point` (of the stream's current queue) is reached.
void defer(sidra_stream* stream, const Point& point, std::shared_ptr<Staging> staging);

// Shows the chip what a batch has collected so far. The lock is held.
inline void flush(sidra_stream* stream) {
    Queue& queue = *stream->queue.load(std::memory_order_relaxed);
    const uint64_t written = queue.written.load(std::memory_order_relaxed);
    if (queue.published != written && !Queue::stopped(queue.run_state())) queue.publish(written);
}

// Everything queued so far (a batch is flushed). NOT_RECORDABLE while recording.
sidra_status current_point(const char* call, sidra_stream* stream, Point* point);

[[gnu::cold]] sidra_status not_recordable(const char* call, const sidra_stream* stream);

// Starts the stream anew on a fresh queue after its context was recovered; what was queued is dropped. The context's
// mutex is held.
sidra_status renew_queue(const char* call, sidra_stream* stream);

}  // namespace sidra

#endif
