// SPDX-License-Identifier: MIT
#include "effects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "temporary.h"

namespace sidra::compiler {
namespace {

constexpr size_t kRuns = 4;

struct Measured {
    Runs runs;
    std::vector<float> outputs;  // of all runs: those of f32
    uint64_t bytes = 0;          // of the matrices
};

Measured measure(const std::string& file, const Options& options, sidra_level level) {
    Measured measured;
    measured.runs = run_samples(file, options.calibration.samples, level, kRuns, {}, [&](const Model& model) {
        measured.bytes = model.info().weights;
        for (uint32_t i = 0; i < model.variant(0).outputs; i++) {
            const sidra_model_tensor tensor = model.output(0, i);
            if (tensor.type != SIDRA_F32) continue;
            const std::span<const float> values = model.data<const float>(0, tensor);
            measured.outputs.insert(measured.outputs.end(), values.begin(), values.end());
        }
    });
    return measured;
}

// Of outputs against those that are right, in decibels.
double signal_to_noise(const std::vector<float>& outputs, const std::vector<float>& right) {
    double signal = 0, noise = 0;
    for (size_t i = 0; i < right.size(); i++) {
        signal += static_cast<double>(right[i]) * right[i];
        noise += (static_cast<double>(outputs[i]) - right[i]) * (static_cast<double>(outputs[i]) - right[i]);
    }
    return in_decibels(signal, noise);
}

struct Row {
    const char* what;
    std::function<void(Options&)> change;
};

}  // namespace

std::vector<Effect> effects(const std::string& input, const Options& options) try {
    const Row rows[] = {
        {"as asked for", [](Options&) {}},
        {"without calibration", [](Options& o) { o.calibration.samples.clear(); }},
        {"without equalisation of layers", [](Options& o) { o.equalise = false; }},
        {"without bias correction", [](Options& o) { o.calibration.bias_correction = false; }},
        {"without other arithmetic (-O 1)", [](Options& o) { o.optimization = std::min(o.optimization, 1); }},
        {"without merging and groups (-O 0)", [](Options& o) { o.optimization = 0; }},
        {"inputs of 16 bits in all layers", [](Options& o) { o.calibration.enough = kAllLayers; }},
        {"weights against the loss in wires", [](Options& o) { o.predistort = true; }},
        {"fixed ranges of ADCs", [](Options& o) { o.adc_ranges = true; }},
        {"median of three crossbars", [](Options& o) { o.tmr = 1; }},
        {"twice as many copies of each layer", [](Options& o) { o.copies *= 2, o.copies_by_layer = false; }},
        {"as many, chosen by layer", [](Options& o) { o.copies *= 2, o.copies_by_layer = true; }},
    };
    const Folder folder;
    const std::string file = folder.file("effects.sidra");
    const auto compiled = [&](const std::function<void(Options&)>& change, sidra_level level) {
        Options changed = options;
        changed.report = {};
        changed.report_file.clear();
        changed.note = [](const std::string&) {};
        change(changed);
        compile(input, file, changed);
        return measure(file, options, level);
    };
    const Measured right = compiled(
        [](Options& o) { o.calibration.exact = true, o.copies = 1, o.tmr = 0, o.predistort = o.adc_ranges = false; },
        SIDRA_LEVEL_FAST);
    std::vector<Effect> all;
    for (const Row& row : rows) {
        const Measured fast = compiled(row.change, SIDRA_LEVEL_FAST),
                       accurate = measure(file, options, SIDRA_LEVEL_ACCURATE);
        const auto runs = static_cast<double>(fast.runs.count);
        all.push_back({row.what, fast.runs.seconds / runs, fast.runs.joules / runs, fast.bytes,
                       signal_to_noise(fast.outputs, right.outputs), signal_to_noise(accurate.outputs, right.outputs)});
    }
    return all;
} catch (const SamplesError& error) {
    throw CompileError(fmt::format("{}: {}", input, error.what()));
}

std::string text_of(const std::vector<Effect>& effects) {
    std::string table = fmt::format("{:34}  {:>10}  {:>10}  {:>12}  {:>9}  {:>9}\n", "a run", "time", "energy",
                                    "weights", "fast", "accurate");
    for (const Effect& effect : effects)
        table += fmt::format("{:34}  {:>7.3f} ms  {:>7.3f} mJ  {:>12}  {:>6.1f} dB  {:>6.1f} dB\n", effect.what,
                             1e3 * effect.seconds, 1e3 * effect.joules, effect.weights, effect.fast, effect.accurate);
    return table +
           "fast, accurate: signal-to-noise ratio of the outputs at that level, compared with inputs and weights of 16 "
           "bits at level fast\n";
}

}  // namespace sidra::compiler
