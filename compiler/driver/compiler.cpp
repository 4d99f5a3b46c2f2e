// SPDX-License-Identifier: MIT
// The C interface.
#include "sidra/compiler.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <stdexcept>

#include "compile.h"
#include "passes/cut.h"
#include "sidra-objdump/calls.h"
#include "sidra-objdump/file.h"
#include "sidra-objdump/placement.h"

namespace {

sidra_compile_status fail(const char* what, char* error, size_t capacity,
                          sidra_compile_status status = SIDRA_COMPILE_FAILED) {
    if (error == nullptr || capacity == 0) return status;
    const size_t size = std::min(std::strlen(what), capacity - 1);
    std::memcpy(error, what, size);
    error[size] = '\0';
    return status;
}

std::string text(const char* string) { return string == nullptr ? "" : string; }

bool read_samples(const sidra_compile_samples* from, size_t count, std::vector<sidra::compiler::Samples>& to) {
    for (size_t i = 0; i < count; i++) {
        if (from[i].data == nullptr) return false;
        to.push_back({text(from[i].input), from[i].type, {static_cast<const std::byte*>(from[i].data), from[i].bytes}});
    }
    return true;
}

}  // namespace

extern "C" sidra_compile_status sidra_compile(const char* input, const char* output,
                                              const sidra_compile_options* options, char* error, size_t capacity) {
    if (input == nullptr || output == nullptr) return fail("the names of the files are missing", error, capacity);
    if (options != nullptr && options->struct_size != sizeof *options)
        return fail("struct_size of the options is not that of this library", error, capacity);
    try {
        sidra::compiler::Options all;
        all.cache_limit = sidra::compiler::kCacheLimit;
        if (options != nullptr) {
            for (size_t i = 0; i < options->dimension_count; i++) {
                const sidra_compile_dimension& dimension = options->dimensions[i];
                if (dimension.name == nullptr || dimension.size < 1)
                    return fail("a dimension has no name, or a size below 1", error, capacity);
                all.dimensions[dimension.name].push_back(dimension.size);
            }
            for (size_t i = 0; i < options->value_count; i++) {
                const sidra_compile_value& value = options->values[i];
                if (value.name == nullptr || value.file == nullptr)
                    return fail("a value has no name, or no file", error, capacity);
                all.values[value.name] = value.file;
            }
            if (!read_samples(options->samples, options->sample_count, all.calibration.samples))
                return fail("samples have no data", error, capacity);
            if (options->target_accuracy != 0) {
                if (!(options->target_accuracy > 0 && options->target_accuracy <= 1) || options->labels == nullptr ||
                    options->test_count == 0 || options->pipeline != nullptr)
                    return fail("a target needs an accuracy of 0 to 1, samples and their labels, and no pipeline",
                                error, capacity);
                sidra::compiler::Target target{options->target_accuracy, {}, {options->labels, options->label_count}};
                if (!read_samples(options->tests, options->test_count, target.samples))
                    return fail("samples have no data", error, capacity);
                all.target = std::move(target);
            }
            if (options->observer != nullptr) {
                const auto method = sidra::compiler::method_named(options->observer);
                if (!method)
                    return fail("the observer is none of minmax, moving, percentile, mse, entropy", error, capacity);
                all.calibration.method = *method;
            }
            if (options->copies > 64) return fail("there are at most 64 copies of a layer", error, capacity);
            if (options->copies != 0) all.copies = static_cast<int>(options->copies);
            all.chip_map = text(options->chip_map);
            if (options->bad_cells != 0) all.bad_cells = options->bad_cells;
            if (options->chip_map != nullptr && options->pipeline != nullptr)
                return fail("a map of a chip is for a file, not for a pipeline", error, capacity);
            if (options->chips == SIDRA_CHIPS_AUTO) all.chips = 0;
            else if (options->chips > sidra::compiler::kStagesMax)
                return fail("there are at most 16 chips", error, capacity);
            else if (options->chips != 0) all.chips = options->chips;
            if (all.chips != 1 && all.target)
                return fail("a target for the accuracy is for a network on one chip", error, capacity);
            if (all.chips != 1 && !all.chip_map.empty())
                return fail("a map is for a network on one chip; do without it, or without several chips", error,
                            capacity);
            if (!(options->tmr >= 0 && options->tmr <= 1))
                return fail("tmr is a share of the columns, from 0 to 1", error, capacity);
            all.tmr = options->tmr;
            all.predistort = options->predistort;
            if (options->adc_ranges && options->sample_count == 0)
                return fail("ranges of ADCs need samples, which show how large sums become", error, capacity);
            all.adc_ranges = options->adc_ranges;
            if (options->signal_to_noise != 0) all.calibration.enough = options->signal_to_noise;
            if (options->copies_by_layer && options->sample_count == 0)
                return fail("copies by layer need samples, which show where they matter", error, capacity);
            all.copies_by_layer = options->copies_by_layer;
            all.equalise = !options->no_equalisation;
            all.calibration.bias_correction = !options->no_bias_correction;
            if (options->progress != nullptr)
                all.calibration.progress = [options](size_t done, size_t runs) {
                    options->progress(options->user, done, runs);
                };
            if (options->sample_count > 0 && options->pipeline != nullptr)
                return fail("samples are for a file, not for a pipeline", error, capacity);
            if (options->report_file != nullptr && options->pipeline != nullptr)
                return fail("a report is about a file, not about a pipeline", error, capacity);
            all.report_file = text(options->report_file);
            all.pipeline = text(options->pipeline);
            all.dump = text(options->dump);
            all.reproducer = text(options->reproducer);
            // C callers can set any number.
            const auto level = std::bit_cast<uint32_t>(options->optimization);
            if (level > SIDRA_OPTIMIZATION_2)
                return fail("the level of optimization is unknown; see enum sidra_optimization", error, capacity);
            if (level != SIDRA_OPTIMIZATION_DEFAULT) all.optimization = static_cast<int>(level - SIDRA_OPTIMIZATION_0);
            if (options->report != nullptr)
                all.report = [options](const std::string& table) { options->report(options->user, table.c_str()); };
            if (options->note != nullptr)
                all.note = [options](const std::string& what) { options->note(options->user, what.c_str()); };
            if (options->cache_limit != 0) all.cache_limit = options->cache_limit;
            if (options->no_cache) all.cache_limit.reset();
        }
        sidra::compiler::compile(input, output, all);
        return SIDRA_COMPILE_OK;
    } catch (const sidra::compiler::TargetMissed& missed) {
        return fail(missed.what(), error, capacity, SIDRA_COMPILE_TARGET_MISSED);
    } catch (const sidra::compiler::CompileError& refused) {
        return fail(refused.what(), error, capacity);
    } catch (const std::bad_alloc&) {
        return fail("there is not enough memory", error, capacity);
    }
}

extern "C" sidra_compile_status sidra_list_calls(const char* model, uint32_t stage, bool json,
                                                 void (*take)(void* user, const char* text), void* user, char* error,
                                                 size_t capacity) {
    namespace objdump = sidra::objdump;
    if (model == nullptr || take == nullptr)
        return fail("the name of the file or the callback is missing", error, capacity);
    try {
        const objdump::ModelFile file(model, stage);
        const objdump::Placement placement = objdump::place(file.model(), objdump::read_contents(file));
        std::string text;
        if (json) {
            sidra::tools::Json::Object members;
            members.emplace_back("calls", objdump::variants_json(file.model(), placement));
            members.emplace_back("program_texts", objdump::programs_json(file.model()));
            text = sidra::tools::Json(std::move(members)).text();
        } else {
            text = objdump::variants_text(file.model(), placement) + objdump::programs_text(file.model());
        }
        take(user, text.c_str());
        return SIDRA_COMPILE_OK;
    } catch (const std::bad_alloc&) {
        return fail("there is not enough memory", error, capacity);
    } catch (const std::runtime_error& refused) {
        return fail(refused.what(), error, capacity);
    }
}
