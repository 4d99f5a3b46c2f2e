// SPDX-License-Identifier: MIT
// Compiled models: runs of a variant.
#include <fmt/format.h>

#include <cstring>

#include "buffer.h"
#include "callback.h"
#include "graph.h"
#include "kept_error.h"
#include "label.h"
#include "model.h"
#include "model_host.h"
#include "model_record.h"
#include "stream.h"
#include "wait.h"

namespace sidra {
namespace {

using Tensors = flatbuffers::Vector<flatbuffers::Offset<format::Tensor>>;

// The variant's lock is held.
sidra_status make_work(const char* call, sidra_model* model, uint32_t variant) {
    sidra_buffer** const work = &model->variants[variant]->work;
    if (sidra_buffer* made = *work; made != nullptr)  // the application has its handle, and may have destroyed it
        return check(call, "buffer of the variant", made);
    const uint64_t size = variant_of(*model, variant).work();
    const sidra_status status = sidra_buffer_create(handle_of(model->context), size, SIDRA_BUFFER_HOST, work);
    return status == SIDRA_OK ? status : fail_part(call, *model, fmt::format("variant {}", variant), status);
}

// A stream that only records: nobody else can queue operations in it.
class RecordingStream {
   public:
    RecordingStream() = default;
    RecordingStream(const RecordingStream&) = delete;
    RecordingStream& operator=(const RecordingStream&) = delete;
    ~RecordingStream() { end(); }

    sidra_status begin(sidra_context* context) {
        constexpr uint32_t kFewest = 64;  // nothing is ever in its ring
        auto options = SIDRA_INIT(sidra_stream_options);
        options.ring_packets = kFewest;
        SIDRA_TRY(sidra_stream_create(handle_of(context), &options, &stream_));
        return sidra_graph_begin(stream_);
    }
    // What a shortage of memory has prevented is tried again by the destructor.
    void end() {
        if (sidra_stream_destroy(stream_) == SIDRA_OK) stream_ = nullptr;
    }
    sidra_stream* get() const { return stream_; }

   private:
    sidra_stream* stream_ = nullptr;
};

// Graphs that a variant does not have yet.
struct NewGraphs {
    std::vector<sidra_graph*> list;
    ~NewGraphs() {
        for (sidra_graph* graph : list) static_cast<void>(sidra_graph_destroy(graph));
    }
};

// The variant belongs to this thread.
sidra_status make_graphs(const char* call, sidra_model* model, uint32_t number) {
    ModelVariant& variant = *model->variants[number];
    if (!variant.graphs.empty()) return SIDRA_OK;
    const format::Variant& manifest = variant_of(*model, number);
    sidra_buffer *work = variant.work, *constants = model->constants;
    SIDRA_TRY(check(call, "buffer of the variant", work));
    if (constants != nullptr) SIDRA_TRY(check(call, "constants of the model", constants));
    auto host = std::make_shared<HostSteps>(manifest, constants, *work);
    ModelObjects objects{model->constants, variant.work, model->programs, {}};
    for (const std::atomic<sidra_weights*>& matrix : model->matrices)
        objects.matrices.push_back(matrix.load(std::memory_order_acquire));
    RecordingStream recording;
    sidra_status status = recording.begin(model->context);
    if (status != SIDRA_OK) return fail_part(call, *model, fmt::format("variant {}", number), status);
    NewGraphs graphs;
    graphs.list.reserve(host->count() + 1);
    const auto end_graph = [&] {
        sidra_graph* graph = nullptr;
        const sidra_status ended = sidra_graph_end(recording.get(), &graph);
        if (ended == SIDRA_OK) graphs.list.push_back(graph);
        return ended;
    };
    const auto& calls = *manifest.calls();
    for (uint32_t i = 0; i < calls.size(); ++i) {
        if (calls[i]->step_type() == format::Step::Host) {
            status = end_graph();
            if (status == SIDRA_OK) status = sidra_graph_begin(recording.get());
            if (status != SIDRA_OK) return fail_part(call, *model, call_name(*model, number, i), status);
            continue;
        }
        status = sidra_label_async(recording.get(), calls[i]->name()->c_str());
        if (status == SIDRA_OK) status = queue_call(recording.get(), objects, *calls[i], i);
        if (status != SIDRA_OK) return fail_part(call, *model, call_name(*model, number, i), status);
    }
    status = end_graph();
    if (status != SIDRA_OK) return fail_part(call, *model, fmt::format("variant {}", number), status);
    recording.end();
    const std::lock_guard lock(variant.mutex);  // for failed_call()
    variant.graphs.swap(graphs.list);
    variant.host = std::move(host);
    return SIDRA_OK;
}

// Queues a run; the variant belongs to this thread. latest: when a wait for room in the ring ends.
sidra_status launch(const char* call, sidra_stream* stream, sidra_model* model, uint32_t number, uint64_t latest) {
    ModelVariant& variant = *model->variants[number];
    SIDRA_TRY(check_deployed(call, model));
    SIDRA_TRY(make_graphs(call, model, number));
    variant.ends.reserve(variant.ends.size() + 1);  // what was queued is noted without fail
    for (const Point& end : variant.ends)           // a run that has failed is over
        SIDRA_TRY(wait_if_pending(call, stream, end));
    for (size_t i = 0; i < variant.graphs.size(); ++i) {
        Point point;
        if (i != 0) {
            // If what follows cannot be queued, what was queued before it continues, with the functions of the host.
            SIDRA_TRY(HostSteps::queue(call, stream, variant.host, i - 1, latest, &point));
            variant.add_end(std::move(point));
        }
        SIDRA_TRY(launch_graph(call, stream, variant.graphs[i], latest, &point));
        variant.add_end(std::move(point));
    }
    return SIDRA_OK;
}

sidra_status check_run(const char* call, sidra_stream** stream, sidra_model** model, uint32_t variant) {
    SIDRA_TRY(check(call, "stream", *stream));
    SIDRA_TRY(check(call, "model", *model));
    SIDRA_TRY(check_context(call, "model", *model, (*stream)->context));
    return check_variant(call, **model, variant);
}

// The variant's lock is held.
sidra_status check_idle(const char* call, const sidra_model& model, uint32_t variant) {
    const ModelVariant::Use use = model.variants[variant]->use;
    if (use == ModelVariant::Use::kNone) [[likely]]
        return SIDRA_OK;
    if (use == ModelVariant::Use::kQueueing)
        return fail(SIDRA_ERROR_TIMEOUT, call,
                    "another thread was still queueing a run of variant {} of model {} at the deadline. Nothing was "
                    "queued; wait for its stream, whose ring may be full, or give a later deadline",
                    variant, model.id);
    return fail(
        SIDRA_ERROR_BUSY, call,
        "another thread is in sidra_model_run() with variant {} of model {}; load the model once for each thread "
        "that runs it, or take turns",
        variant, model.id);
}

// A callback that waits for a function of the host would wait for itself.
sidra_status check_waiting(const char* call, const sidra_model& model, uint32_t variant) {
    auto info = SIDRA_INIT(sidra_model_variant_info);
    SIDRA_TRY(sidra_model_get_variant(handle_of(&model), variant, &info));
    if (info.host_calls == 0) return SIDRA_OK;
    const std::lock_guard lock(model.context->mutex);
    if (!model.context->callbacks || !model.context->callbacks->is_current_thread()) return SIDRA_OK;
    return fail(SIDRA_ERROR_BUSY, call,
                "a callback cannot wait for model {}, because it has functions of the host, which run on the same "
                "thread; use sidra_model_run_async(), or another thread",
                model.id);
}

// A thread to which a variant belongs: no other one uses it meanwhile, except for its buffer.
class Turn {
   public:
    explicit Turn(ModelVariant* variant) : variant_(*variant) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
        if (!begun_) return;
        {
            const std::lock_guard lock(variant_.mutex);
            variant_.use = ModelVariant::Use::kNone;
        }
        variant_.queued.notify_all();
    }
    // Waits until the deadline for a thread that queues a run.
    sidra_status begin(const char* call, sidra_model* model, uint32_t variant, ModelVariant::Use use,
                       uint64_t deadline) {
        std::unique_lock lock(variant_.mutex);
        wait_until(variant_.queued, lock, deadline, [&] { return variant_.use != ModelVariant::Use::kQueueing; });
        SIDRA_TRY(check_idle(call, *model, variant));
        SIDRA_TRY(check_deployed(call, model));
        SIDRA_TRY(make_work(call, model, variant));
        variant_.use = use;
        begun_ = true;
        return SIDRA_OK;
    }

   private:
    ModelVariant& variant_;
    bool begun_ = false;
};

void submit_batch(sidra_stream* stream) {
    const std::lock_guard lock(stream->lock);
    flush(stream);
}

void copy_in(const Tensors& tensors, const void* const* from, std::byte* memory) {
    for (uint32_t i = 0; from != nullptr && i < tensors.size(); ++i)
        if (from[i] != nullptr) std::memcpy(memory + tensors[i]->at()->offset(), from[i], tensor_bytes(*tensors[i]));
}

void copy_out(const Tensors& tensors, const std::byte* memory, void* const* to) {
    for (uint32_t i = 0; to != nullptr && i < tensors.size(); ++i)
        if (to[i] != nullptr) std::memcpy(to[i], memory + tensors[i]->at()->offset(), tensor_bytes(*tensors[i]));
}

// Names the call of the model at which the run has failed.
sidra_status fail_run(const char* call, const sidra_model& model, sidra_stream* stream, sidra_status status) {
    if (status != SIDRA_ERROR_FAULT) return status;
    const std::optional<FailedCall> failed = failed_call(model, stream);
    if (!failed) return status;
    const std::string name = call_name(model, failed->variant, failed->number);
    if (!failed->of_host) return fail_part(call, model, name, status);
    return fail(status, call, "{}, {}: {}; sidra_stream_reset() drops what is queued and goes on", model.file.path(),
                name, failed->why);
}

}  // namespace

sidra_status get_work(const char* call, sidra_model* model, uint32_t number, sidra_buffer** work) {
    const std::lock_guard lock(model->variants[number]->mutex);
    SIDRA_TRY(make_work(call, model, number));
    *work = model->variants[number]->work;
    return SIDRA_OK;
}

sidra_status queue_run(const char* call, sidra_stream* stream, sidra_model* model, uint32_t number) {
    uint64_t deadline = 0;
    {
        const std::lock_guard lock(stream->lock);
        deadline = stream->deadline;
    }
    Turn turn(model->variants[number].get());
    SIDRA_TRY(turn.begin(call, model, number, ModelVariant::Use::kQueueing, deadline));
    return launch(call, stream, model, number, SIDRA_NEVER);
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_model_get_buffer(sidra_model* model, uint32_t variant, sidra_buffer** buffer) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "model", model));
        if (buffer == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`buffer` is NULL; it takes the handle");
        SIDRA_TRY(check_variant(call, *model, variant));
        return get_work(call, model, variant, buffer);
    });
}

sidra_status sidra_model_run_async(sidra_stream* stream, sidra_model* model, uint32_t variant) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check_run(call, &stream, &model, variant));
        return queue_run(call, stream, model, variant);
    });
}

sidra_status sidra_model_run(sidra_stream* stream, sidra_model* model, uint32_t variant, const void* const* inputs,
                             void* const* outputs, uint64_t deadline) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check_run(call, &stream, &model, variant));
        SIDRA_TRY(check_waiting(call, *model, variant));
        Turn turn(model->variants[variant].get());
        SIDRA_TRY(turn.begin(call, model, variant, ModelVariant::Use::kRunning, deadline));
        const std::vector<Point>& ends = model->variants[variant]->ends;
        void* memory = nullptr;
        SIDRA_TRY(sidra_buffer_map(model->variants[variant]->work, &memory));
        submit_batch(stream);  // the run before this one may be in it
        const KeptError before;
        for (const Point& end : ends)
            if (wait_for(call, end, deadline) == SIDRA_ERROR_TIMEOUT) return SIDRA_ERROR_TIMEOUT;
        before.restore();  // a run that has failed is over, too
        const format::Variant& manifest = *model->file.manifest().variants()->Get(variant);
        copy_in(*manifest.inputs(), inputs, static_cast<std::byte*>(memory));
        if (const sidra_status status = launch(call, stream, model, variant, deadline); status != SIDRA_OK)
            return fail_run(call, *model, stream, status);
        submit_batch(stream);
        if (const sidra_status status = wait_for(call, ends.back(), deadline); status != SIDRA_OK)
            return fail_run(call, *model, stream, status);
        copy_out(*manifest.outputs(), static_cast<const std::byte*>(memory), outputs);
        reap(stream);
        return SIDRA_OK;
    });
}
