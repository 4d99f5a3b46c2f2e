// SPDX-License-Identifier: MIT
// Compiled models on several chips: creation, destruction and queries.
#include "pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "model.h"
#include "pipeline_run.h"
#include "sidra_hw.h"
#include "structs.h"

namespace sidra {
namespace {

using Tensors = flatbuffers::Vector<flatbuffers::Offset<format::Tensor>>;

constexpr size_t kAlignment = 64;
constexpr uint32_t kRunsBeside = 2;  // runs that wait at the ends of the pipeline

// Of one run. Tensors may overlap, so together they can have any number of bytes. Where they would not fit into an
// address space, the result is only large enough that sidra_buffer_create() refuses it.
size_t bytes_of(const Tensors& tensors) {
    size_t bytes = 0;
    for (const format::Tensor* tensor : tensors) {
        bytes += (tensor_bytes(*tensor) + kAlignment - 1) / kAlignment * kAlignment;
        if (bytes >> SIDRA_VA_BITS != 0) break;
    }
    return bytes;
}

// What a stage gives must be what the next one takes.
sidra_status check_link(const char* call, const sidra_pipeline& pipeline, uint32_t stage) {
    const sidra_model &from = *pipeline.stages[stage].model, &to = *pipeline.stages[stage + 1].model;
    const auto refuse = [&](const std::string& what) {
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "{}: stages {} and {} {}; compile the model again",
                    from.file.path(), stage, stage + 1, what);
    };
    const uint32_t variants = from.file.manifest().variants()->size();
    if (to.file.manifest().variants()->size() != variants) return refuse("have different numbers of variants");
    for (uint32_t v = 0; v < variants; ++v) {
        const Tensors &gives = *variant_of(from, v).outputs(), &takes = *variant_of(to, v).inputs();
        if (gives.size() != takes.size()) return refuse(fmt::format("do not fit together in variant {}", v));
        for (uint32_t i = 0; i < gives.size(); ++i)
            if (tensor_bytes(*gives[i]) != tensor_bytes(*takes[i]))
                return refuse(fmt::format("do not fit together in variant {}, value {}", v, i));
    }
    return SIDRA_OK;
}

sidra_status make_stage(const char* call, sidra_context* context, ModelFile file, uint32_t number,
                        sidra_pipeline* pipeline) {
    Stage& stage = pipeline->stages[number];
    if (file.stages() != 0) SIDRA_TRY(file.choose_stage(call, number));
    SIDRA_TRY(make_model(call, context, std::move(file), kSlots, &stage.model));
    stage.given.resize(stage.model->variants.size());
    for (sidra_stream** stream : {&stage.take, &stage.compute, &stage.give})
        SIDRA_TRY(sidra_stream_create(handle_of(context), nullptr, stream));
    return number == 0 ? SIDRA_OK : check_link(call, *pipeline, number - 1);
}

sidra_status make_stages(const char* call, const std::vector<sidra_context*>& contexts, const char* path,
                         sidra_pipeline* pipeline) {
    pipeline->stages.resize(contexts.size());
    for (uint32_t i = 0; i < contexts.size(); ++i) {
        ModelFile file;
        SIDRA_TRY(file.open(call, path));
        const uint32_t stages = std::max(file.stages(), 1u);
        if (stages != contexts.size())
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "{} has {} stage{}, but `count` is {}; give one context for each, or compile the network for "
                        "as many chips",
                        path, stages, stages == 1 ? "" : "s", contexts.size());
        SIDRA_TRY(make_stage(call, contexts[i], std::move(file), i, pipeline));
    }
    const sidra_model &first = *pipeline->stages.front().model, &last = *pipeline->stages.back().model;
    for (uint32_t v = 0; v < first.file.manifest().variants()->size(); ++v) {
        pipeline->input_bytes = std::max(pipeline->input_bytes, bytes_of(*variant_of(first, v).inputs()));
        pipeline->output_bytes = std::max(pipeline->output_bytes, bytes_of(*variant_of(last, v).outputs()));
    }
    pipeline->runs.resize(kSlots * contexts.size() + kRunsBeside);
    const size_t runs = pipeline->runs.size();
    SIDRA_TRY(sidra_buffer_create(handle_of(contexts.front()), std::max<size_t>(runs * pipeline->input_bytes, 1),
                                  SIDRA_BUFFER_HOST, &pipeline->inputs));
    return sidra_buffer_create(handle_of(contexts.back()), std::max<size_t>(runs * pipeline->output_bytes, 1),
                               SIDRA_BUFFER_HOST, &pipeline->outputs);
}

// Streams first: that drops what is queued. What was destroyed before a failure is gone.
sidra_status drop_stages(sidra_pipeline* pipeline) {
    for (Stage& stage : pipeline->stages)
        for (sidra_stream** stream : {&stage.take, &stage.compute, &stage.give}) {
            SIDRA_TRY(sidra_stream_destroy(*stream));
            *stream = nullptr;
        }
    for (sidra_buffer** buffer : {&pipeline->inputs, &pipeline->outputs}) {
        SIDRA_TRY(sidra_buffer_destroy(*buffer));
        *buffer = nullptr;
    }
    for (Stage& stage : pipeline->stages) {
        if (stage.model != nullptr) SIDRA_TRY(sidra_model_destroy(handle_of(stage.model)));
        stage.model = nullptr;
    }
    return SIDRA_OK;
}

}  // namespace
}  // namespace sidra

using namespace sidra;

sidra_status sidra_pipeline_create(sidra_context* const* contexts, uint32_t count, const char* path,
                                   sidra_pipeline** pipeline) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        if (contexts == nullptr || path == nullptr || pipeline == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`{}` is NULL",
                        contexts == nullptr ? "contexts"
                        : path == nullptr   ? "path"
                                            : "pipeline");
        if (count == 0) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`count` is 0; a pipeline has a stage or more");
        if (count > format::kStagesMax)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`count` is {}; a pipeline has at most {} stages", count,
                        format::kStagesMax);
        std::vector<sidra_context*> objects(contexts, contexts + count);
        for (uint32_t i = 0; i < count; ++i) {
            SIDRA_TRY(check(call, "contexts", objects[i]));
            for (uint32_t j = 0; j < i; ++j)
                if (objects[i] == objects[j])
                    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                                "contexts[{}] and contexts[{}] are the same; each stage needs a context of its own", j,
                                i);
        }
        sidra_pipeline* made = make_object<sidra_pipeline>(objects.front());
        const sidra_status status = guarded(call, [&] { return make_stages(call, objects, path, made); });
        if (status != SIDRA_OK) {
            static_cast<void>(sidra_pipeline_destroy(handle_of(made)));
            return status;
        }
        *pipeline = handle_of(made);
        return SIDRA_OK;
    });
}

sidra_status sidra_pipeline_destroy(sidra_pipeline* pipeline) {
    if (pipeline == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        Claim<sidra_pipeline> claim;
        SIDRA_TRY(claim.take(call, "pipeline", pipeline));
        SIDRA_TRY(drop_stages(pipeline));
        destroy_object(pipeline, claim);
        return SIDRA_OK;
    });
}

sidra_status sidra_pipeline_stages(const char* path, uint32_t* stages) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        if (path == nullptr || stages == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`{}` is NULL", path == nullptr ? "path" : "stages");
        ModelFile file;
        SIDRA_TRY(file.open(call, path));
        *stages = std::max(file.stages(), 1u);
        return SIDRA_OK;
    });
}

sidra_status sidra_pipeline_get_info(sidra_pipeline* pipeline, sidra_pipeline_info* info) {
    SIDRA_TRY(check(__func__, "pipeline", pipeline));
    SIDRA_TRY(check_struct(__func__, "sidra_pipeline_info", info));
    sidra_pipeline_info result{};
    result.stages = static_cast<uint32_t>(pipeline->stages.size());
    result.variants = pipeline->stages.front().model->file.manifest().variants()->size();
    result.runs_max = static_cast<uint32_t>(pipeline->runs.size());
    {
        const std::lock_guard lock(pipeline->mutex);
        result.runs = static_cast<uint32_t>(pipeline->submitted - pipeline->received);
    }
    fill_struct(info, result);
    return SIDRA_OK;
}

sidra_status sidra_pipeline_get_stage(sidra_pipeline* pipeline, uint32_t stage, sidra_model** model) {
    SIDRA_TRY(check(__func__, "pipeline", pipeline));
    if (model == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`model` is NULL; it takes the handle");
    SIDRA_TRY(check_stage(__func__, *pipeline, stage));
    *model = handle_of(pipeline->stages[stage].model);
    return SIDRA_OK;
}

sidra_status sidra_pipeline_progress(sidra_pipeline* pipeline, uint64_t* done, uint64_t* total) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "pipeline", pipeline));
        uint64_t all_done = 0, all = 0;
        for (const Stage& stage : pipeline->stages) {
            uint64_t its_done = 0, its_total = 0;
            SIDRA_TRY(sidra_model_progress(handle_of(stage.model), &its_done, &its_total));
            all_done += its_done, all += its_total;
        }
        if (done != nullptr) *done = all_done;
        if (total != nullptr) *total = all;
        return SIDRA_OK;
    });
}

sidra_status sidra_pipeline_device_time(sidra_pipeline* pipeline, uint32_t stage, uint64_t* picoseconds,
                                        uint64_t* picojoules) {
    SIDRA_TRY(check(__func__, "pipeline", pipeline));
    SIDRA_TRY(check_stage(__func__, *pipeline, stage));
    uint64_t time = 0, energy = 0;
    const Stage& of = pipeline->stages[stage];
    for (sidra_stream* stream : {of.take, of.compute, of.give}) {
        uint64_t its_time = 0, its_energy = 0;
        SIDRA_TRY(sidra_stream_device_time(stream, &its_time, &its_energy));
        time += its_time, energy += its_energy;
    }
    if (picoseconds != nullptr) *picoseconds = time;
    if (picojoules != nullptr) *picojoules = energy;
    return SIDRA_OK;
}
