// SPDX-License-Identifier: MIT
#include "samples.h"

#include <fmt/format.h>

#include <algorithm>

namespace sidra::compiler {
namespace {

std::vector<sidra_model_tensor> inputs_of(sidra_model* model, uint32_t variant) {
    auto info = detail::init<sidra_model_variant_info>();
    detail::check(sidra_model_get_variant(model, variant, &info));
    std::vector<sidra_model_tensor> inputs(info.inputs, detail::init<sidra_model_tensor>());
    for (uint32_t i = 0; i < info.inputs; i++) detail::check(sidra_model_get_input(model, variant, i, &inputs[i]));
    return inputs;
}

// The samples in the order of the model's inputs, and how many runs they are for.
std::vector<const Samples*> ordered(const std::vector<sidra_model_tensor>& inputs, const std::vector<Samples>& samples,
                                    size_t& runs) {
    std::vector<const Samples*> all(inputs.size());
    std::string names;
    for (const sidra_model_tensor& input : inputs) names += fmt::format("{}{}", names.empty() ? "" : ", ", input.name);
    for (const Samples& s : samples) {
        size_t i = 0;
        // A single set without a name is that of the only input.
        while (i < inputs.size() && s.input != inputs[i].name && !(s.input.empty() && inputs.size() == 1)) i++;
        if (i == inputs.size())
            throw SamplesError(
                s.input.empty()
                    ? fmt::format("the network has several inputs, so samples need the name of one: {}", names)
                    : fmt::format("samples for the input '{}', but the network has: {}", s.input, names));
        if (all[i] != nullptr) throw SamplesError(fmt::format("two sets of samples for the input '{}'", s.input));
        all[i] = &s;
    }
    runs = SIZE_MAX;
    for (size_t i = 0; i < inputs.size(); i++) {
        const sidra_model_tensor& tensor = inputs[i];
        if (all[i] == nullptr) throw SamplesError(fmt::format("no samples for the input '{}'", tensor.name));
        if (all[i]->type != static_cast<uint32_t>(tensor.type))
            throw SamplesError(fmt::format("the samples for the input '{}' have another type than it", tensor.name));
        if (tensor.bytes == 0) continue;  // no elements: enough for any number of runs
        runs = std::min(runs, all[i]->data.size() / tensor.bytes);
        if (runs == 0)
            throw SamplesError(fmt::format("the samples for the input '{}' have {} bytes, but one run needs {}",
                                           tensor.name, all[i]->data.size(), tensor.bytes));
    }
    if (runs == SIZE_MAX) runs = 1;
    return all;
}

Device open_chip(sidra_level level) {
    sidra_device_options options{};
    options.private_chip = true;
    options.level = level;
    return Device::open(0, options);
}

// The inputs of one run: the first samples, or zeros.
class Inputs {
   public:
    Inputs(const std::vector<sidra_model_tensor>& inputs, const std::vector<Samples>& samples) {
        size_t most = 0, runs = 0;
        for (const sidra_model_tensor& input : inputs) most = std::max<size_t>(most, input.bytes);
        if (samples.empty()) zeros_.resize(most), pointers_.assign(inputs.size(), zeros_.data());
        else
            for (const Samples* const s : ordered(inputs, samples, runs)) pointers_.push_back(s->data.data());
    }
    std::span<const void* const> pointers() const { return pointers_; }

   private:
    std::vector<std::byte> zeros_;
    std::vector<const void*> pointers_;
};

Cost operator-(const Cost& a, const Cost& b) { return {a.picoseconds - b.picoseconds, a.picojoules - b.picojoules}; }

}  // namespace

std::vector<std::vector<Cost>> run_each_variant(const std::string& file, const std::vector<Samples>& samples) try {
    const uint32_t stages = Pipeline::stages(file);
    std::vector<Device> devices;
    std::vector<Context> contexts;
    for (uint32_t s = 0; s < stages; s++) {
        devices.push_back(open_chip(SIDRA_LEVEL_FAST));
        contexts.emplace_back(devices.back());
    }
    std::vector<std::vector<Cost>> costs;
    const std::vector<Samples> none;
    if (stages == 1) {  // without the packets of a pipeline
        Stream stream(contexts[0]);
        const Model model(contexts[0], file);
        stream.deploy(model);
        stream.synchronize();
        for (uint32_t v = 0; v < model.info().variants; v++) {
            const Inputs inputs(inputs_of(model.get(), v), v == 0 ? samples : none);
            const std::vector<void*> outputs(model.variant(v).outputs);
            const Cost before = stream.device_time();
            stream.run(model, v, inputs.pointers(), outputs);
            costs.push_back({stream.device_time() - before});
        }
        return costs;
    }
    std::vector<const Context*> pointers;
    for (const Context& context : contexts) pointers.push_back(&context);
    Pipeline pipeline(pointers, file);
    pipeline.deploy();
    pipeline.synchronize();
    for (uint32_t v = 0; v < pipeline.info().variants; v++) {
        const Inputs inputs(inputs_of(pipeline.stage(0), v), v == 0 ? samples : none);
        auto last = detail::init<sidra_model_variant_info>();
        detail::check(sidra_model_get_variant(pipeline.stage(stages - 1), v, &last));
        const std::vector<void*> outputs(last.outputs);
        std::vector<Cost>& by_stage = costs.emplace_back();
        for (uint32_t s = 0; s < stages; s++) by_stage.push_back(pipeline.device_time(s));
        pipeline.submit(v, inputs.pointers());
        pipeline.receive(outputs);
        pipeline.synchronize();
        for (uint32_t s = 0; s < stages; s++) by_stage[s] = pipeline.device_time(s) - by_stage[s];
    }
    return costs;
} catch (const Error& error) {
    throw SamplesError(error.what());
}

Runs run_samples(const std::string& file, const std::vector<Samples>& samples, sidra_level level, size_t most,
                 const Progress& progress, const std::function<void(const Model&)>& look) try {
    constexpr double kPico = 1e-12;
    const Device device = open_chip(level);
    const Context context(device);
    Stream stream(context);
    const Model model(context, file);
    size_t runs = 0;
    const std::vector<const Samples*> by_input = ordered(inputs_of(model.get(), 0), samples, runs);
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
    const Cost all = stream.device_time() - before;
    return {runs, static_cast<double>(all.picoseconds) * kPico, static_cast<double>(all.picojoules) * kPico};
} catch (const Error& error) {
    throw SamplesError(error.what());
}

}  // namespace sidra::compiler
