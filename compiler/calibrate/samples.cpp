// SPDX-License-Identifier: MIT
#include "samples.h"

#include <fmt/format.h>

#include <algorithm>

namespace sidra::compiler {
namespace {

// The samples in the order of the model's inputs, and how many runs they are for.
std::vector<const Samples*> ordered(const Model& model, const std::vector<Samples>& samples, size_t& runs) {
    const uint32_t inputs = model.variant(0).inputs;
    std::vector<const Samples*> all(inputs);
    std::string names;
    for (uint32_t i = 0; i < inputs; i++) names += fmt::format("{}{}", i == 0 ? "" : ", ", model.input(0, i).name);
    for (const Samples& s : samples) {
        uint32_t i = 0;
        // A single set without a name is that of the only input.
        while (i < inputs && s.input != model.input(0, i).name && !(s.input.empty() && inputs == 1)) i++;
        if (i == inputs)
            throw SamplesError(s.input.empty()
                                       ? fmt::format("the network has several inputs, so samples need the name of one: {}", names)
                                       : fmt::format("samples for the input '{}', but the network has: {}", s.input, names));
        if (all[i] != nullptr) throw SamplesError(fmt::format("two sets of samples for the input '{}'", s.input));
        all[i] = &s;
    }
    runs = SIZE_MAX;
    for (uint32_t i = 0; i < inputs; i++) {
        const sidra_model_tensor tensor = model.input(0, i);
        if (all[i] == nullptr) throw SamplesError(fmt::format("no samples for the input '{}'", tensor.name));
        if (all[i]->type != static_cast<uint32_t>(tensor.type))
            throw SamplesError(fmt::format("the samples for the input '{}' have another type than it", tensor.name));
        if (tensor.bytes == 0) continue;  // no elements: enough for any number of runs
        runs = std::min(runs, all[i]->data.size() / tensor.bytes);
        if (runs == 0)
            throw SamplesError(fmt::format("the samples for the input '{}' have {} bytes, but one run needs {}", tensor.name,
                                               all[i]->data.size(), tensor.bytes));
    }
    if (runs == SIZE_MAX) runs = 1;
    return all;
}

}  // namespace

Runs run_samples(const std::string& file, const std::vector<Samples>& samples, sidra_level level, size_t most,
                 const Progress& progress, const std::function<void(const Model&)>& look) try {
    constexpr double kPico = 1e-12;
    sidra_device_options options{};
    options.private_chip = true;
    options.level = level;
    const Device device = Device::open(0, options);
    const Context context(device);
    Stream stream(context);
    const Model model(context, file);
    size_t runs = 0;
    const std::vector<const Samples*> by_input = ordered(model, samples, runs);
    runs = std::min(runs, most);
    stream.deploy(model);
    stream.synchronize();
    const Cost before = stream.device_time();
    std::vector<const void*> inputs(by_input.size());
    std::vector<void*> outputs(model.variant(0).outputs);  // they stay in the model's memory
    for (size_t run = 0; run < runs; run++) {
        if (progress) progress(run, runs);
        for (uint32_t i = 0; i < by_input.size(); i++)
            inputs[i] = by_input[i]->data.data() + run * model.input(0, i).bytes;
        stream.run(model, 0, inputs, outputs);
        look(model);
    }
    if (progress) progress(runs, runs);
    const Cost after = stream.device_time();
    return {runs, static_cast<double>(after.picoseconds - before.picoseconds) * kPico,
            static_cast<double>(after.picojoules - before.picojoules) * kPico};
} catch (const Error& error) {
    throw SamplesError(error.what());
}

}  // namespace sidra::compiler
