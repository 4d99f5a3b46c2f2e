// SPDX-License-Identifier: MIT
// Compiled models on several chips: their runs. Each stage has three streams, so that copies go on beside computation:
// run i + 1 of a stage is computed while what run i has given is copied to the next chip.
#include "pipeline_run.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "device.h"
#include "fault.h"
#include "model.h"
#include "stream.h"
#include "wait.h"

namespace sidra {
namespace {

using Tensors = flatbuffers::Vector<flatbuffers::Offset<format::Tensor>>;

constexpr size_t kAlignment = 64;

sidra_stream* object(sidra_stream* handle) { return HandleTable<sidra_stream>::find(parts_of(handle)); }

// Fails as a stage, with the text of the last error behind it.
sidra_status fail_stage(const char* call, const sidra_pipeline& pipeline, size_t stage, sidra_status status) {
    const std::string text = sidra_last_error();
    const sidra_model& model = *pipeline.stages[stage].model;
    auto info = SIDRA_INIT(sidra_device_info);
    if (sidra_device_get_info(handle_of(model.context->device), &info) != SIDRA_OK) info.name[0] = '\0';
    return fail(status, call, "{}, stage {} of {} on {} (device {}): {}", model.file.path(), stage,
                pipeline.stages.size(), info.name[0] != '\0' ? info.name : "a device that is gone",
                model.context->device->id, text);
}

// Whether a stage has stopped; the last error says why.
sidra_status state_of(const Stage& stage) {
    if (const sidra_status status = sidra_context_status(handle_of(stage.model->context)); status != SIDRA_OK)
        return status;
    for (sidra_stream* stream : {stage.compute, stage.take, stage.give})
        if (const sidra_status status = sidra_stream_query(stream);
            status != SIDRA_OK && status != SIDRA_ERROR_NOT_READY)
            return status;
    return SIDRA_OK;
}

// Fails as the first stage that has stopped: failures go on to the stages behind, not to those before. stage: where it
// was noticed.
sidra_status fail_first(const char* call, const sidra_pipeline& pipeline, size_t stage, sidra_status status) {
    const std::string text = sidra_last_error();
    for (size_t s = 0; s < pipeline.stages.size(); ++s)
        if (const sidra_status its = state_of(pipeline.stages[s]); its != SIDRA_OK)
            return fail_stage(call, pipeline, s, its);
    static_cast<void>(fail(status, call, "{}", text));
    return fail_stage(call, pipeline, stage, status);
}

// What is queued in a stream from now on waits for what is queued in another one of its context now.
sidra_status wait_in(const char* call, sidra_stream* stream, sidra_stream* other) {
    Point point;
    SIDRA_TRY(current_point(call, object(other), &point));
    return wait_point(call, object(stream), point);
}

// Calls move(tensor, its place among all of a run).
template <typename F>
sidra_status for_each(const Tensors& tensors, size_t at, F&& move) {
    for (uint32_t i = 0; i < tensors.size(); ++i) {
        const size_t bytes = tensor_bytes(*tensors[i]);
        if (bytes != 0) SIDRA_TRY(move(i, at, bytes));
        at += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    return SIDRA_OK;
}

// Queues the part of a run that a stage does. number: of the model's variants.
sidra_status queue_stage(const char* call, sidra_pipeline* pipeline, size_t s, uint32_t number, uint64_t run) {
    Stage& stage = pipeline->stages[s];
    const format::Variant& variant = variant_of(*stage.model, number);
    sidra_buffer* work = nullptr;
    SIDRA_TRY(get_work(call, stage.model, number, &work));
    // A value that is only handed on is output and input at once, so the last run's outputs must have gone.
    SIDRA_TRY(wait_if_pending(call, object(stage.take), stage.given[number]));
    const auto place = [](const format::Tensor& tensor) { return static_cast<size_t>(tensor.at()->offset()); };
    const Tensors& takes = *variant.inputs();
    if (s == 0) {
        SIDRA_TRY(for_each(takes, run * pipeline->input_bytes, [&](uint32_t i, size_t at, size_t bytes) {
            return sidra_copy_async(stage.take, {work, place(*takes[i])}, {pipeline->inputs, at}, bytes);
        }));
    } else {
        Stage& before = pipeline->stages[s - 1];
        const Tensors& gives = *variant_of(*before.model, number).outputs();
        sidra_buffer* from = nullptr;
        SIDRA_TRY(get_work(call, before.model, number, &from));
        SIDRA_TRY(for_each(takes, 0, [&](uint32_t i, size_t, size_t bytes) {
            return sidra_copy_peer_async(stage.take, {work, place(*takes[i])}, before.give, {from, place(*gives[i])},
                                         bytes);
        }));
        SIDRA_TRY(current_point(call, object(before.give), &before.given[number]));
    }
    SIDRA_TRY(wait_in(call, stage.compute, stage.take));
    SIDRA_TRY(queue_run(call, object(stage.compute), stage.model, number));
    SIDRA_TRY(wait_in(call, stage.give, stage.compute));
    if (s + 1 != pipeline->stages.size()) return SIDRA_OK;
    const Tensors& results = *variant.outputs();
    SIDRA_TRY(for_each(results, run * pipeline->output_bytes, [&](uint32_t i, size_t at, size_t bytes) {
        return sidra_copy_async(stage.give, {pipeline->outputs, at}, {work, place(*results[i])}, bytes);
    }));
    return current_point(call, object(stage.give), &stage.given[number]);
}

// The one thread that waits for the oldest run.
class Receiver {
   public:
    explicit Receiver(sidra_pipeline* pipeline) : pipeline_(*pipeline) {}
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;
    ~Receiver() {
        if (!begun_) return;
        {
            const std::lock_guard lock(pipeline_.mutex);
            pipeline_.receiving = false;
        }
        pipeline_.received_one.notify_one();
    }
    sidra_status begin(const char* call, uint64_t deadline) {
        std::unique_lock lock(pipeline_.mutex);
        if (!wait_until(pipeline_.received_one, lock, deadline, [&] { return !pipeline_.receiving; }))
            return fail(SIDRA_ERROR_TIMEOUT, call,
                        "another thread was still waiting for a run of pipeline {} at the deadline; the runs go on",
                        pipeline_.id);
        pipeline_.receiving = begun_ = true;
        return SIDRA_OK;
    }

   private:
    sidra_pipeline& pipeline_;
    bool begun_ = false;
};

sidra_status refuse_failed(const char* call) {
    return fail(SIDRA_ERROR_FAULT, call,
                "a run of the pipeline has failed; sidra_pipeline_reset() drops all runs and goes on");
}

std::byte* map(sidra_buffer* buffer) {
    void* memory = nullptr;
    return sidra_buffer_map(buffer, &memory) == SIDRA_OK ? static_cast<std::byte*>(memory) : nullptr;
}

}  // namespace

sidra_status check_stage(const char* call, const sidra_pipeline& pipeline, uint32_t stage) {
    if (stage < pipeline.stages.size()) [[likely]]
        return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`stage` is {}, but pipeline {} has {}, which count from 0", stage,
                pipeline.id, pipeline.stages.size());
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_pipeline_deploy_async(sidra_pipeline* pipeline) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "pipeline", pipeline));
        const std::lock_guard submitting(pipeline->submitting);
        for (size_t s = 0; s < pipeline->stages.size(); ++s) {
            const Stage& stage = pipeline->stages[s];
            if (const sidra_status status = sidra_model_deploy_async(stage.compute, handle_of(stage.model));
                status != SIDRA_OK)
                return fail_stage(call, *pipeline, s, status);
        }
        return SIDRA_OK;
    });
}

sidra_status sidra_pipeline_submit(sidra_pipeline* pipeline, uint32_t variant, const void* const* inputs) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "pipeline", pipeline));
        const sidra_model& first = *pipeline->stages.front().model;
        SIDRA_TRY(check_variant(call, first, variant));
        const Tensors& takes = *variant_of(first, variant).inputs();
        for (uint32_t i = 0; i < takes.size(); ++i)
            if ((inputs == nullptr || inputs[i] == nullptr) && tensor_bytes(*takes[i]) != 0)
                return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "the pointer to input {} {} is NULL", i,
                            quoted(takes[i]->name()));
        const std::lock_guard submitting(pipeline->submitting);
        uint64_t submitted = 0;
        {
            const std::lock_guard lock(pipeline->mutex);
            if (pipeline->failed) return refuse_failed(call);
            for (size_t s = 0; s < pipeline->stages.size(); ++s)  // so that no stage begins what another one cannot do
                if (const sidra_status status = check_deployed(call, pipeline->stages[s].model); status != SIDRA_OK)
                    return fail_stage(call, *pipeline, s, status);
            submitted = pipeline->submitted;
            if (const uint64_t runs = pipeline->runs.size(); submitted - pipeline->received == runs)
                return fail(SIDRA_ERROR_BUSY, call,
                            "{} runs are under way, and no more fit into the pipeline; sidra_pipeline_receive() takes "
                            "the outputs of the oldest one",
                            runs);
        }
        // Without the mutex: while the ring of a stage is full, queries and receivers must not wait for it.
        const uint64_t run = submitted % pipeline->runs.size();
        std::byte* const memory = map(pipeline->inputs);
        SIDRA_TRY(for_each(takes, run * pipeline->input_bytes, [&](uint32_t i, size_t at, size_t bytes) {
            std::memcpy(memory + at, inputs[i], bytes);
            return SIDRA_OK;
        }));
        const uint32_t variants = first.file.manifest().variants()->size();
        const uint32_t number = static_cast<uint32_t>(submitted % kSlots) * variants + variant;
        for (size_t s = 0; s < pipeline->stages.size(); ++s)
            if (const sidra_status status = guarded(call, [&] { return queue_stage(call, pipeline, s, number, run); });
                status != SIDRA_OK) {
                const std::lock_guard lock(pipeline->mutex);
                pipeline->failed = true;
                return fail_first(call, *pipeline, s, status);
            }
        const std::lock_guard lock(pipeline->mutex);
        pipeline->runs[run] = {variant, pipeline->stages.back().given[number]};
        ++pipeline->submitted;
        return SIDRA_OK;
    });
}

sidra_status sidra_pipeline_receive(sidra_pipeline* pipeline, void* const* outputs, uint64_t deadline) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "pipeline", pipeline));
        Receiver receiver(pipeline);
        SIDRA_TRY(receiver.begin(call, deadline));
        sidra_pipeline::Run run;
        uint64_t number = 0, resets = 0;
        {
            const std::lock_guard lock(pipeline->mutex);
            if (pipeline->submitted == pipeline->received)
                return pipeline->failed ? refuse_failed(call)
                                        : fail(SIDRA_ERROR_NOT_FOUND, call,
                                               "no run is under way; sidra_pipeline_submit() begins one");
            number = pipeline->received % pipeline->runs.size();
            run = pipeline->runs[number];
            resets = pipeline->resets;
        }
        const sidra_status status = wait_for(call, run.end, deadline);
        if (status == SIDRA_ERROR_TIMEOUT) return status;
        const std::lock_guard lock(pipeline->mutex);
        if (pipeline->resets != resets)
            return fail(SIDRA_ERROR_FAULT, call, "the run was dropped: sidra_pipeline_reset() was called meanwhile");
        if (status != SIDRA_OK) {
            pipeline->failed = true;
            return fail_first(call, *pipeline, pipeline->stages.size() - 1, status);
        }
        const Tensors& gives = *variant_of(*pipeline->stages.back().model, run.variant).outputs();
        const std::byte* const memory = map(pipeline->outputs);
        SIDRA_TRY(for_each(gives, number * pipeline->output_bytes, [&](uint32_t i, size_t at, size_t bytes) {
            if (outputs != nullptr && outputs[i] != nullptr) std::memcpy(outputs[i], memory + at, bytes);
            return SIDRA_OK;
        }));
        ++pipeline->received;
        return SIDRA_OK;
    });
}

sidra_status sidra_pipeline_synchronize(sidra_pipeline* pipeline, uint64_t deadline) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "pipeline", pipeline));
        for (size_t s = 0; s < pipeline->stages.size(); ++s) {
            const Stage& stage = pipeline->stages[s];
            for (sidra_stream* stream : {stage.take, stage.compute, stage.give}) {
                const sidra_status status = sidra_stream_synchronize(stream, deadline);
                if (status == SIDRA_ERROR_TIMEOUT) return fail_stage(call, *pipeline, s, status);
                if (status != SIDRA_OK) return fail_first(call, *pipeline, s, status);
            }
        }
        return SIDRA_OK;
    });
}

sidra_status sidra_pipeline_reset(sidra_pipeline* pipeline) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "pipeline", pipeline));
        const std::scoped_lock lock(pipeline->submitting, pipeline->mutex);
        pipeline->failed = true;
        for (size_t s = 0; s < pipeline->stages.size(); ++s) {
            Stage& stage = pipeline->stages[s];
            sidra_status status = sidra_context_recover(handle_of(stage.model->context));
            for (sidra_stream* stream : {stage.take, stage.compute, stage.give})
                if (status == SIDRA_OK) status = sidra_stream_reset(stream);
            if (status != SIDRA_OK) return fail_stage(call, *pipeline, s, status);
            for (Point& point : stage.given) point = {};
        }
        pipeline->received = pipeline->submitted;
        ++pipeline->resets;
        pipeline->failed = false;
        return SIDRA_OK;
    });
}
