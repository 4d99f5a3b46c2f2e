// SPDX-License-Identifier: MIT
// A compiled model, on a small chip: loaded, deployed and recorded; runs are dropped, because an input may describe
// hours of work that is valid. Only functions of the host that have small arrays are run, on bytes of the input. An
// input is a byte of switches, then the file. Switch 1 makes header and hashes right, where they are in the file.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "file_header.h"
#include "hash.h"
#include "host.h"
#include "input.h"
#include "memory_file.h"
#include "model_generated.h"
#include "sidra/pipeline.h"

namespace sidra::fuzz {
namespace {

namespace fb = sidra::format;

void must(sidra_status status) {
    if (status != SIDRA_OK) fail("%s", sidra_last_error());
}

// A stream that never comes to what is queued behind its first operation.
struct Chip {
    sidra_device* device = nullptr;
    sidra_context* context = nullptr;
    sidra_stream* stream = nullptr;
    std::array<sidra_context*, 4> contexts{};  // of stages; more are not loaded
    sidra_buffer* words = nullptr;
    uint64_t waits = 0;

    Chip() {
        setenv("SIDRA_DEVICE", "embedded", 1);
        setenv("SIDRA_QUIET", "1", 1);
        setenv("SIDRA_PUBLISH", "0", 1);
        auto options = SIDRA_INIT(sidra_device_options);
        options.profile = SIDRA_PROFILE_SMALL;
        options.engine = SIDRA_ENGINE_SCALAR;
        options.workers = 1;
        must(sidra_device_open(0, &options, &device));
        must(sidra_context_create(device, &context));
        contexts[0] = context;
        for (size_t i = 1; i < contexts.size(); ++i) must(sidra_context_create(device, &contexts[i]));
        must(sidra_stream_create(context, nullptr, &stream));
        must(sidra_buffer_create(context, sizeof(uint64_t), SIDRA_BUFFER_HOST, &words));
    }
};

uint64_t hash_in(const std::vector<uint8_t>& file, uint64_t offset, uint64_t size) {
    return offset <= file.size() && size <= file.size() - offset ? fb::hash_of(file.data() + offset, size) : 0;
}

// Makes the hashes of a manifest's sections right, also those of its stages.
void repair_sections(std::vector<uint8_t>* file, uint64_t offset, uint64_t size, bool is_stage) {
    if (offset > file->size() || size > file->size() - offset) return;
    uint8_t* const manifest = file->data() + offset;
    flatbuffers::Verifier verifier(manifest, size);
    if (reinterpret_cast<uintptr_t>(manifest) % 8 != 0 || !fb::VerifyModelBuffer(verifier)) return;
    const auto section = [&](const fb::Section* its) {
        const uint64_t hash = hash_in(*file, its->offset(), its->size());
        const auto at = reinterpret_cast<const uint8_t*>(its) - file->data();
        std::memcpy(file->data() + at + 2 * sizeof hash, &hash, sizeof hash);
    };
    const fb::Model& model = *fb::GetModel(manifest);
    if (model.constants() != nullptr) section(model.constants());
    for (const fb::Matrix* matrix : *model.matrices()) {
        section(matrix->data());
        if (matrix->calibration() != nullptr) section(matrix->calibration());
    }
    if (is_stage || model.stages() == nullptr) return;
    for (const fb::Section* stage : *model.stages()) {
        // What is written there must not change what is read here.
        if (stage->offset() > offset || stage->size() > offset - stage->offset()) continue;
        repair_sections(file, stage->offset(), stage->size(), true);
        section(stage);
    }
}

void repair(std::vector<uint8_t>* file) {
    fb::FileHeader header;
    if (file->size() < sizeof header) return;
    std::memcpy(&header, file->data(), sizeof header);
    header.file_size = file->size();
    repair_sections(file, header.manifest_offset, header.manifest_size, false);
    header.manifest_hash = hash_in(*file, header.manifest_offset, header.manifest_size);
    header.header_hash = fb::hash_of(&header, offsetof(fb::FileHeader, header_hash));
    std::memcpy(file->data(), &header, sizeof header);
}

// Of a file that was loaded.
void run_host_functions(const std::vector<uint8_t>& file) {
    constexpr uint64_t kBytesMax = 4096;  // of an array
    fb::FileHeader header;
    std::memcpy(&header, file.data(), sizeof header);
    for (const fb::Variant* variant : *fb::GetModel(file.data() + header.manifest_offset)->variants())
        for (const fb::Call* step : *variant->calls()) {
            if (step->step_type() != fb::Step::Host) continue;
            const fb::HostCall call = fb::host_call(*step->step_as_Host());
            const auto small = [](const fb::HostArray& array) { return fb::bytes_of(array) <= kBytesMax; };
            if (!small(call.output) || !std::ranges::all_of(call.inputs, small)) continue;
            std::vector<std::vector<std::byte>> arrays;
            std::vector<const std::byte*> inputs;
            for (const fb::HostArray& array : call.inputs) {
                std::vector<std::byte>& bytes = arrays.emplace_back(fb::bytes_of(array));
                for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte{file[(i + arrays.size()) % file.size()]};
                inputs.push_back(bytes.data());
            }
            std::vector<std::byte> output(fb::bytes_of(call.output));
            static_cast<void>(fb::find_host_function(step->step_as_Host()->function()->string_view())
                                  ->run(call, inputs, output.data()));
        }
}

// Loads it only: a pipeline has streams of its own, which would run what the file describes.
void load_stages(Chip& chip, const char* path) {
    uint32_t stages = 0;
    if (sidra_pipeline_stages(path, &stages) != SIDRA_OK || stages > chip.contexts.size()) return;
    sidra_pipeline* pipeline = nullptr;
    if (sidra_pipeline_create(chip.contexts.data(), stages, path, &pipeline) != SIDRA_OK) return;
    auto info = SIDRA_INIT(sidra_pipeline_info);
    must(sidra_pipeline_get_info(pipeline, &info));
    if (info.stages != stages || info.variants == 0) fail("a pipeline has %u of %u stages", info.stages, stages);
    must(sidra_pipeline_destroy(pipeline));
}

void play(Input in) {
    static Chip chip;
    const uint8_t switches = in.u8();
    const std::span<const uint8_t> rest = in.rest();
    std::vector<uint8_t> bytes(rest.begin(), rest.end());
    if ((switches & 1) != 0) repair(&bytes);
    const File file;
    file.put({bytes.begin(), bytes.end()});
    load_stages(chip, file.path().c_str());
    sidra_model* model = nullptr;
    if (sidra_model_load(chip.context, file.path().c_str(), &model) != SIDRA_OK) return;
    must(sidra_semaphore_wait_async(chip.stream, {chip.words, 0}, ++chip.waits));
    const bool deployed = sidra_model_deploy_async(chip.stream, model) == SIDRA_OK;
    auto info = SIDRA_INIT(sidra_model_info);
    must(sidra_model_get_info(model, &info));
    for (uint32_t v = 0; v < info.variants; ++v) {
        auto variant = SIDRA_INIT(sidra_model_variant_info);
        auto tensor = SIDRA_INIT(sidra_model_tensor);
        must(sidra_model_get_variant(model, v, &variant));
        for (uint32_t i = 0; i < variant.inputs; ++i) must(sidra_model_get_input(model, v, i, &tensor));
        for (uint32_t i = 0; i < variant.outputs; ++i) must(sidra_model_get_output(model, v, i, &tensor));
        if (deployed) static_cast<void>(sidra_model_run_async(chip.stream, model, v));
    }
    must(sidra_stream_reset(chip.stream));
    must(sidra_model_destroy(model));
    run_host_functions(bytes);
}

}  // namespace
}  // namespace sidra::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    sidra::fuzz::play(sidra::fuzz::Input({data, size}));
    return 0;
}
