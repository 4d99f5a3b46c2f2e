// SPDX-License-Identifier: MIT
// Places where a stream waits for the library: points of a queue on which only the library works. A gate that fails
// stops the stream with the cause PRODUCER, as a producer does that fails.
#ifndef SIDRA_GATE_H
#define SIDRA_GATE_H

#include <memory>
#include <mutex>
#include <vector>

#include "context.h"
#include "queue.h"

namespace sidra {

// The gates of a stream in one epoch. The stream comes to them in the order in which they were closed, and they are
// opened in that order, each one when the stream waits there. Thread-safe.
class Gates {
   public:
    // The context's mutex is not held.
    ~Gates();
    Gates(const Gates&) = delete;
    Gates& operator=(const Gates&) = delete;

    // Those of the stream's present epoch; makes them if there are none.
    static sidra_status of(const char* call, sidra_stream* stream, std::shared_ptr<Gates>* gates);

    // Everything queued in `stream` from now on waits for the next gate. `before` returns the point before that. The
    // stream was locked by lock_with_room(), so the ring has the gates in order. After a failure the gate makes no
    // difference: the stream stops, or has stopped, at the one that failed.
    void close(sidra_stream* stream, Point* before) noexcept;
    // Opens the gate at which the stream waits. Without effect if the stream was stopped or reset.
    void open();
    // Stops the stream at the gate at which it waits; `root` is where the failure began.
    void fail(const EpochRoot& root) noexcept;
    // The driver has dropped the queue.
    void forget();

   private:
    Gates(sidra_context* context, uint32_t epoch) : context_(context), epoch_(epoch), failure_(1) {}

    sidra_context* const context_;
    const uint32_t epoch_;                         // of the stream
    uint32_t queue_number_ = 0, queue_epoch_ = 0;  // also of one that is gone
    std::mutex mutex_;                             // protects the next two members
    std::shared_ptr<Queue> queue_;                 // null: a gate has failed
    EpochNames failure_;                           // room for the name of a failure
    uint64_t closed_ = 0;                          // gates that were ever closed; protected by the stream's lock
};

}  // namespace sidra

#endif
