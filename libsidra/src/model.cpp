// SPDX-License-Identifier: MIT
// Compiled models: loading, destruction and queries.
#include "model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "buffer.h"
#include "kept_error.h"
#include "sidra_vector.h"
#include "structs.h"
#include "weights.h"

namespace sidra {
namespace {

using Tensors = flatbuffers::Vector<flatbuffers::Offset<format::Tensor>>;

sidra_status load_constants(const char* call, sidra_model* model) {
    const format::Section* section = model->file.manifest().constants();
    if (section == nullptr) return SIDRA_OK;
    std::unique_ptr<DeviceMemory> memory;
    if (const sidra_status status = DeviceMemory::create_readonly(call, model->context, section->size(), &memory);
        status != SIDRA_OK)
        return fail_part(call, *model, "constants", status);
    const SectionRead part{section, memory->host(), "constants"};
    SIDRA_TRY(model->file.read(call, {&part, 1}));
    model->constants = adopt_memory(model->context, std::move(memory), true, false);
    return SIDRA_OK;
}

sidra_status make_program(const char* call, sidra_model* model, uint32_t index) {
    const format::Program& program = *model->file.manifest().programs()->Get(index);
    std::vector<sidra_vector_instruction> code(program.code()->size() / sizeof(sidra_vector_instruction));
    std::memcpy(code.data(), program.code()->data(), program.code()->size());
    const sidra_status status = sidra_program_create(handle_of(model->context), code.data(), code.size(),
                                                     program.prologue(), &model->programs[index]);
    return status == SIDRA_OK ? status : fail_part(call, *model, fmt::format("program {}", index), status);
}

sidra_status make_objects(const char* call, sidra_model* model, uint32_t copies) {
    const format::Model& manifest = model->file.manifest();
    SIDRA_TRY(load_constants(call, model));
    model->programs.resize(manifest.programs()->size());
    for (uint32_t i = 0; i < model->programs.size(); ++i) SIDRA_TRY(make_program(call, model, i));
    model->sharers.resize(manifest.matrices()->size());
    model->matrices = std::vector<std::atomic<sidra_weights*>>(manifest.matrices()->size());
    for (uint32_t i = 0; i < copies * manifest.variants()->size(); ++i)
        model->variants.push_back(std::make_unique<ModelVariant>());
    return SIDRA_OK;
}

// Destroys an object of the model, unless the application has done so.
template <typename T>
sidra_status drop(T** handle, sidra_status (*destroy)(T*)) {
    const KeptError before;
    const sidra_status status = destroy(*handle);
    if (status != SIDRA_OK && status != SIDRA_ERROR_INVALID_HANDLE) return status;
    before.restore();
    *handle = nullptr;
    return SIDRA_OK;
}

// Destroys a matrix if no other model has it.
sidra_status drop_matrix(sidra_model* model, size_t index) {
    sidra_weights* handle = model->matrices[index].load(std::memory_order_relaxed);
    Sharers& sharers = model->sharers[index];
    if (sharers == nullptr || sharers->fetch_sub(1) == 1) {
        const sidra_status status = drop(&handle, sidra_weights_destroy);
        if (status != SIDRA_OK) {
            if (sharers != nullptr) ++*sharers;
            return status;
        }
    }
    sharers = nullptr;
    model->matrices[index].store(nullptr, std::memory_order_relaxed);
    return SIDRA_OK;
}

// What it has destroyed before a failure is gone; the model can then only be destroyed, too.
sidra_status drop_objects(sidra_model* model) {
    for (const auto& variant : model->variants)
        for (sidra_graph*& graph : variant->graphs) SIDRA_TRY(drop(&graph, sidra_graph_destroy));
    for (size_t i = 0; i < model->matrices.size(); ++i) SIDRA_TRY(drop_matrix(model, i));
    SIDRA_TRY(model->calibration.free_memory());
    for (sidra_program*& program : model->programs) SIDRA_TRY(drop(&program, sidra_program_destroy));
    for (const auto& variant : model->variants) SIDRA_TRY(drop(&variant->work, sidra_buffer_destroy));
    return drop(&model->constants, sidra_buffer_destroy);
}

std::string shape_text(const format::Tensor& tensor) {
    std::string text;
    if (tensor.shape() != nullptr)
        for (const uint32_t size : *tensor.shape()) text += (text.empty() ? "" : " x ") + std::to_string(size);
    return text.empty() ? "scalar" : text;
}

// "(1 x 64), (32 x 64)": the inputs of all variants.
std::string all_shapes(const format::Model& manifest) {
    constexpr size_t kShown = 600;  // bytes of a message
    std::string text;
    for (const format::Variant* variant : *manifest.variants()) {
        std::string inputs;
        for (const format::Tensor* input : *variant->inputs())
            inputs += (inputs.empty() ? "" : ", ") + shape_text(*input);
        if (text.size() + inputs.size() > kShown) return text + ", ...";
        text += fmt::format("{}({})", text.empty() ? "" : ", ", inputs);
    }
    return text;
}

bool has_shape(const format::Tensor& tensor, const uint32_t* shape, uint32_t rank) {
    const uint32_t needed = tensor.shape() != nullptr ? tensor.shape()->size() : 0;
    return rank == needed && (rank == 0 || std::equal(shape, shape + rank, tensor.shape()->begin()));
}

sidra_status get_tensor(const char* call, sidra_model* model, uint32_t variant, const char* kind,
                        const Tensors* (format::Variant::*tensors)() const, uint32_t index,
                        sidra_model_tensor* tensor) {
    SIDRA_TRY(check(call, "model", model));
    SIDRA_TRY(check_struct(call, "sidra_model_tensor", tensor));
    SIDRA_TRY(check_variant(call, *model, variant));
    const Tensors& all = *(model->file.manifest().variants()->Get(variant)->*tensors)();
    if (index >= all.size())
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`index` is {}, but variant {} of model {} has {} {}s", index,
                    variant, model->id, all.size(), kind);
    const format::Tensor& from = *all[index];
    sidra_model_tensor result{};
    result.name = from.name()->c_str();
    result.type = static_cast<sidra_type>(from.type());
    result.rank = from.shape() != nullptr ? from.shape()->size() : 0;
    for (uint32_t i = 0; i < result.rank; ++i) result.shape[i] = from.shape()->Get(i);
    result.bytes = tensor_bytes(from);
    result.offset = from.at()->offset();
    fill_struct(tensor, result);
    return SIDRA_OK;
}

}  // namespace

sidra_status fail_part(const char* call, const sidra_model& model, std::string_view where, sidra_status status) {
    const std::string text = sidra_last_error();
    return fail(status, call, "{}, {}: {}", model.file.path(), where, text);
}

sidra_status check_variant(const char* call, const sidra_model& model, uint32_t variant) {
    const uint32_t variants = model.file.manifest().variants()->size();
    if (variant < variants) [[likely]]
        return SIDRA_OK;
    return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`variant` is {}, but model {} ({}) has {}, which count from 0",
                variant, model.id, quoted(model.file.manifest().name()), variants);
}

sidra_status make_model(const char* call, sidra_context* context, ModelFile file, uint32_t copies,
                        sidra_model** model) {
    sidra_model* made = make_object<sidra_model>(context, std::move(file));
    const sidra_status status = guarded(call, [&] { return make_objects(call, made, copies); });
    if (status != SIDRA_OK) static_cast<void>(sidra_model_destroy(handle_of(made)));
    else *model = made;
    return status;
}

sidra_status check_deployed(const char* call, sidra_model* model) {
    if (model->programmed.load(std::memory_order_acquire)) [[likely]]
        return SIDRA_OK;
    bool all_done = true;
    for (uint32_t i = 0; i < model->matrices.size(); ++i) {
        sidra_weights* weights = model->matrices[i].load(std::memory_order_acquire);
        if (weights == nullptr)
            return fail(SIDRA_ERROR_UNPROGRAMMED, call,
                        "model {} ({}) is not on crossbars yet; queue sidra_model_deploy_async() first", model->id,
                        quoted(model->file.manifest().name()));
        SIDRA_TRY(check(call, "weights of the model", weights));
        const Programming programming = programming_of(weights);
        if (programming == Programming::kNeeded)
            return fail(SIDRA_ERROR_UNPROGRAMMED, call,
                        "{} of model {} is not programmed, because its programming was dropped; queue "
                        "sidra_model_deploy_async() again",
                        matrix_name(model->file.manifest(), i), model->id);
        const Programming calibration = model->calibration.state(i);
        if (calibration == Programming::kNeeded)
            return fail(SIDRA_ERROR_UNPROGRAMMED, call,
                        "{} of model {} has no ranges for its ADCs, because its calibration was dropped; queue "
                        "sidra_model_deploy_async() again",
                        matrix_name(model->file.manifest(), i), model->id);
        all_done &= programming == Programming::kDone && calibration == Programming::kDone;
    }
    if (!all_done) return SIDRA_OK;
    model->programmed.store(true, std::memory_order_release);
    return model->calibration.free_memory();
}

}  // namespace sidra

using namespace sidra;

sidra_status sidra_model_load(sidra_context* context, const char* path, sidra_model** model) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "context", context));
        if (path == nullptr) return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`path` is NULL; it names the file");
        if (model == nullptr)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`model` is NULL; it takes the new handle");
        ModelFile file;
        SIDRA_TRY(file.open(call, path));
        if (file.stages() != 0)
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call,
                        "{} has {} stages for as many chips; sidra_pipeline_create() loads it, or compile the network "
                        "for one chip",
                        path, file.stages());
        sidra_model* made = nullptr;
        SIDRA_TRY(make_model(call, context, std::move(file), 1, &made));
        *model = handle_of(made);
        return SIDRA_OK;
    });
}

sidra_status sidra_model_destroy(sidra_model* model) {
    if (model == nullptr) return SIDRA_OK;
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        Claim<sidra_model> claim;
        SIDRA_TRY(claim.take(call, "model", model));
        if (!forked(*model)) SIDRA_TRY(drop_objects(model));
        destroy_object(model, claim);
        return SIDRA_OK;
    });
}

sidra_status sidra_model_get_info(sidra_model* model, sidra_model_info* info) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "model", model));
        SIDRA_TRY(check_struct(call, "sidra_model_info", info));
        const format::Model& manifest = model->file.manifest();
        sidra_model_info result{};
        result.name = manifest.name()->c_str();
        result.producer = manifest.producer()->c_str();
        result.source = manifest.source()->c_str();
        result.options = manifest.options()->c_str();
        result.variants = manifest.variants()->size();
        result.matrices = manifest.matrices()->size();
        result.programs = manifest.programs()->size();
        for (const format::Matrix* matrix : *manifest.matrices()) result.weights += uint64_t{matrix->k()} * matrix->n();
        result.constant_bytes = manifest.constants() != nullptr ? manifest.constants()->size() : 0;
        uint64_t done = 0, total = 0;
        SIDRA_TRY(sidra_model_progress(handle_of(model), &done, &total));
        result.deployed = done == total;
        fill_struct(info, result);
        return SIDRA_OK;
    });
}

sidra_status sidra_model_get_variant(sidra_model* model, uint32_t variant, sidra_model_variant_info* info) {
    SIDRA_TRY(check(__func__, "model", model));
    SIDRA_TRY(check_struct(__func__, "sidra_model_variant_info", info));
    SIDRA_TRY(check_variant(__func__, *model, variant));
    const format::Variant& from = *model->file.manifest().variants()->Get(variant);
    sidra_model_variant_info result{};
    result.inputs = from.inputs()->size();
    result.outputs = from.outputs()->size();
    result.calls = from.calls()->size();
    result.work_bytes = from.work();
    for (const format::Call* step : *from.calls()) result.host_calls += step->step_type() == format::Step::Host;
    fill_struct(info, result);
    return SIDRA_OK;
}

sidra_status sidra_model_get_input(sidra_model* model, uint32_t variant, uint32_t index, sidra_model_tensor* tensor) {
    return get_tensor(__func__, model, variant, "input", &format::Variant::inputs, index, tensor);
}

sidra_status sidra_model_get_output(sidra_model* model, uint32_t variant, uint32_t index, sidra_model_tensor* tensor) {
    return get_tensor(__func__, model, variant, "output", &format::Variant::outputs, index, tensor);
}

sidra_status sidra_model_get_matrix(sidra_model* model, uint32_t index, sidra_model_matrix* matrix) {
    SIDRA_TRY(check(__func__, "model", model));
    SIDRA_TRY(check_struct(__func__, "sidra_model_matrix", matrix));
    if (index >= model->matrices.size())
        return fail(SIDRA_ERROR_INVALID_ARGUMENT, __func__, "`index` is {}, but model {} has {} matrices", index,
                    model->id, model->matrices.size());
    const format::Matrix& from = *model->file.manifest().matrices()->Get(index);
    sidra_model_matrix result{};
    result.name = from.name()->c_str();
    result.k = from.k(), result.n = from.n();
    result.encoding = static_cast<sidra_weights_encoding>(from.encoding());
    result.weights = model->matrices[index].load(std::memory_order_acquire);
    fill_struct(matrix, result);
    return SIDRA_OK;
}

sidra_status sidra_model_find_variant(sidra_model* model, const uint32_t* const* shapes, const uint32_t* ranks,
                                      uint32_t inputs, uint32_t* variant) {
    return guarded(__func__, [&, call = __func__]() -> sidra_status {
        SIDRA_TRY(check(call, "model", model));
        if (variant == nullptr || (inputs != 0 && (shapes == nullptr || ranks == nullptr)))
            return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "`{}` is NULL", variant == nullptr ? "variant" : "shapes");
        for (uint32_t i = 0; i < inputs; ++i)
            if (ranks[i] != 0 && shapes[i] == nullptr)
                return fail(SIDRA_ERROR_INVALID_ARGUMENT, call, "shapes[{}] is NULL, but ranks[{}] is {}", i, i,
                            ranks[i]);
        const format::Model& manifest = model->file.manifest();
        for (uint32_t v = 0; v < manifest.variants()->size(); ++v) {
            const Tensors& takes = *manifest.variants()->Get(v)->inputs();
            bool found = takes.size() == inputs;
            for (uint32_t i = 0; found && i < inputs; ++i) found = has_shape(*takes[i], shapes[i], ranks[i]);
            if (!found) continue;
            *variant = v;
            return SIDRA_OK;
        }
        return fail(SIDRA_ERROR_NOT_FOUND, call, "model {} ({}) has no variant for these shapes of inputs; it takes {}",
                    model->id, quoted(manifest.name()), all_shapes(manifest));
    });
}
