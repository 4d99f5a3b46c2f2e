// SPDX-License-Identifier: MIT
// Compiled models on several chips: the stages, and the runs that are under way.
#ifndef SIDRA_PIPELINE_OBJECT_H
#define SIDRA_PIPELINE_OBJECT_H

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "context.h"
#include "handle.h"
#include "queue.h"
#include "sidra/pipeline.h"

namespace sidra {

// Two runs use a variant of a stage in turns, each with memory of its own: one is computed while what the other one has
// given is copied on.
inline constexpr uint32_t kSlots = 2;

struct Stage {
    sidra_model* model = nullptr;  // the object
    // In `take`, inputs come; in `compute`, runs follow each other; in `give`, outputs go. Handles.
    sidra_stream *take = nullptr, *compute = nullptr, *give = nullptr;
    std::vector<Point> given;  // of each of the model's variants: its last outputs have gone
};

}  // namespace sidra

struct sidra_pipeline : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kPipeline;

    sidra_context* context = nullptr;  // of the first stage
    std::vector<sidra::Stage> stages;
    sidra_buffer *inputs = nullptr, *outputs = nullptr;  // of all runs, in the memory of the first and the last chip
    size_t input_bytes = 0, output_bytes = 0;            // of one run

    std::mutex submitting;                 // one thread at a time, which may wait for room in rings; outermost lock
    std::mutex mutex;                      // protects the members below
    bool receiving = false;                // a thread waits for the oldest run
    std::condition_variable received_one;  // it has ended
    struct Run {
        uint32_t variant = 0;
        sidra::Point end;
    };
    std::vector<Run> runs;  // a ring
    uint64_t submitted = 0, received = 0;
    uint64_t resets = 0;  // those that have dropped runs for which a thread may wait
    bool failed = false;  // a run was queued in some stages only, or has failed
};

#endif
