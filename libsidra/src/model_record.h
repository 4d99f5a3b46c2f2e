// SPDX-License-Identifier: MIT
// Turns the calls of a compiled model into calls of libsidra.
#ifndef SIDRA_MODEL_RECORD_H
#define SIDRA_MODEL_RECORD_H

#include <vector>

#include "model_generated.h"
#include "sidra/sidra.h"

namespace sidra {

// The handles that stand for what a manifest names.
struct ModelObjects {
    sidra_buffer* constants;  // null: none
    sidra_buffer* work;
    std::vector<sidra_program*> programs;
    std::vector<sidra_weights*> matrices;
};

// Queues a call that was checked; cookie: for the fault of a run.
sidra_status queue_call(sidra_stream* stream, const ModelObjects& objects, const format::Call& call, uint32_t cookie);

}  // namespace sidra

#endif
