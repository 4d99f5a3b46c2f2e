// SPDX-License-Identifier: MIT
// Functions of the host in the runs of a compiled model: the stream waits at a gate until a thread of the library has
// computed one.
#ifndef SIDRA_MODEL_HOST_STEPS_H
#define SIDRA_MODEL_HOST_STEPS_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "host.h"
#include "memory.h"
#include "queue.h"
#include "sidra/sidra.h"

namespace sidra {

// Those of one variant. Thread-safe.
class HostSteps {
   public:
    // constants: null if there are none.
    HostSteps(const format::Variant& variant, const sidra_buffer* constants, const sidra_buffer& work);

    size_t count() const { return steps_.size(); }
    // What is queued from now on waits until step number `index` of `steps` is done; `point` returns the point at which
    // it is. If it fails, the stream stops with the cause PRODUCER. Waits for room in the ring until `latest` or the
    // stream's deadline.
    static sidra_status queue(const char* call, sidra_stream* stream, const std::shared_ptr<HostSteps>& steps,
                              size_t index, uint64_t latest, Point* point);

    struct Failure {
        uint32_t call;     // of the variant
        std::string text;  // empty: the memory was gone
        Point before;      // the point before the gate
    };
    // The last one that a run had; call is UINT32_MAX if there was none.
    Failure failure();

   private:
    struct Step {
        uint32_t number;  // of the call in the variant
        const format::HostFunction* function;
        format::HostCall call;
        std::vector<const std::byte*> inputs;
        std::byte* output;
    };
    struct Queued;

    // On the thread of the callbacks: the stream waits at the gate, or will never come there.
    static void came(sidra_status status, void* user);
    // False: it has failed.
    bool run(const Step& step, const Point& before) noexcept;

    std::vector<Step> steps_;
    std::shared_ptr<MemoryLife> lives_[2];  // of constants and work; the first may be null
    std::mutex mutex_;                      // protects failure_
    Failure failure_{UINT32_MAX, {}, {}};
};

}  // namespace sidra

#endif
