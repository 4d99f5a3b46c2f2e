// SPDX-License-Identifier: MIT
// A compiled model in a context: its file, and the objects that were made of it.
#ifndef SIDRA_MODEL_OBJECT_H
#define SIDRA_MODEL_OBJECT_H

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "context.h"
#include "handle.h"
#include "model_calibration.h"
#include "model_file.h"
#include "queue.h"
#include "sidra/model.h"

namespace sidra {

class HostSteps;

// How many models have a matrix; null: one.
using Sharers = std::shared_ptr<std::atomic<uint32_t>>;

// The model for one shape of each input, with memory of its own.
struct ModelVariant {
    // What a thread does with it. kQueueing: others wait until it has queued a run. kRunning: it is in
    // sidra_model_run(), and others are refused.
    enum class Use { kNone, kQueueing, kRunning };

    std::mutex mutex;  // protects work and use, and graphs and host when they are made
    std::condition_variable queued;
    sidra_buffer* work = nullptr;  // null: not made yet
    Use use = Use::kNone;
    // The members below belong to the thread that queues or runs, which holds no lock when it waits for room in a ring.
    // The calls of the chip before, between and behind the functions of the host; empty: not made yet.
    std::vector<sidra_graph*> graphs;
    std::shared_ptr<HostSteps> host;  // made with the graphs
    // Of each queue the end of its latest run, as long as that may be under way; the latest one last. That one alone
    // does not stand for the others: a reset drops a run together with its wait for them.
    std::vector<Point> ends;

    void add_end(Point end) {
        std::erase_if(ends, [&](const Point& former) {
            return former.queue == end.queue || former.state() != Point::State::kPending;
        });
        ends.push_back(std::move(end));
    }
};

}  // namespace sidra

// The objects that it owns are handles of the C interface, made and used by its calls.
struct sidra_model : sidra::Handle {
    static constexpr sidra::Kind kKind = sidra::Kind::kModel;

    explicit sidra_model(sidra::ModelFile its_file) : file(std::move(its_file)) {}

    sidra_context* context = nullptr;
    sidra::ModelFile file;
    sidra_buffer* constants = nullptr;  // null: none
    std::vector<sidra_program*> programs;
    // Those of the file; in a pipeline then the same once more, so that two runs of one variant can be under way.
    std::vector<std::unique_ptr<sidra::ModelVariant>> variants;

    std::mutex mutex;  // one deployment at a time; protects the file's descriptor, and which matrices are shared
    std::vector<std::atomic<sidra_weights*>> matrices;  // null: not on crossbars yet
    std::vector<sidra::Sharers> sharers;                // of each matrix
    sidra::ModelCalibration calibration;
    std::atomic<bool> programmed{false};  // all of them and calibrated; never becomes false again
};

namespace sidra {

// Fails as a call that the library made itself, with the text of that one behind "<file>, <where>: ".
[[gnu::cold]] sidra_status fail_part(const char* call, const sidra_model& model, std::string_view where,
                                     sidra_status status);

// The variant of the file for number `number` of sidra_model::variants.
inline const format::Variant& variant_of(const sidra_model& model, uint32_t number) {
    const auto& variants = *model.file.manifest().variants();
    return *variants[number % variants.size()];
}

// The file is open. copies: of each variant. Returns the object.
sidra_status make_model(const char* call, sidra_context* context, ModelFile file, uint32_t copies, sidra_model** model);
// For numbers of sidra_model::variants: sidra_model_get_buffer() and sidra_model_run_async().
sidra_status get_work(const char* call, sidra_model* model, uint32_t number, sidra_buffer** work);
sidra_status queue_run(const char* call, sidra_stream* stream, sidra_model* model, uint32_t number);

sidra_status check_variant(const char* call, const sidra_model& model, uint32_t variant);

// "variant 0, call 3 '/Gather'"; for numbers of sidra_model::variants.
std::string call_name(const sidra_model& model, uint32_t variant, uint32_t number);
// The call at which a stream has stopped.
struct FailedCall {
    uint32_t variant, number;
    bool of_host;
    std::string why;
};
std::optional<FailedCall> failed_call(const sidra_model& model, sidra_stream* stream);

// UNPROGRAMMED if a matrix is not on crossbars, or its programming was dropped. OK if it is only queued.
sidra_status check_deployed(const char* call, sidra_model* model);

}  // namespace sidra

#endif
