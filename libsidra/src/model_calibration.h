// SPDX-License-Identifier: MIT
// The ranges of ADCs that a compiled model's file gives its matrices, as vectors of which each crossbar learns its
// range.
#ifndef SIDRA_MODEL_CALIBRATION_H
#define SIDRA_MODEL_CALIBRATION_H

#include <mutex>
#include <vector>

#include "model_file.h"
#include "queue.h"
#include "weights.h"

namespace sidra {

// One deployment at a time reads and queues; any thread may ask for the state.
class ModelCalibration {
   public:
    // Reads the vectors of all matrices, unless that was done, or the file has none.
    sidra_status read(const char* call, sidra_context* context, const ModelFile& file);
    // Queues the calibration of a matrix, which is needed. Its programming is queued or done.
    sidra_status queue(const char* call, sidra_stream* stream, uint32_t index, sidra_weights* weights);
    Programming state(uint32_t index);
    // When all are done, or with the model.
    sidra_status free_memory();

   private:
    std::mutex mutex_;  // protects the members below
    // The vectors of each matrix one after another, and behind them room for the products of the largest one, which
    // nobody needs. Null: not read yet, not needed, or freed.
    sidra_buffer* memory_ = nullptr;
    uint64_t products_ = 0;  // where these begin
    struct Vectors {
        uint64_t offset = 0;
        uint32_t count = 0;  // 0: none; the ranges follow each product
        Point done;          // without a queue: not queued yet
    };
    std::vector<Vectors> vectors_;  // of each matrix; empty: not read yet
};

}  // namespace sidra

#endif
