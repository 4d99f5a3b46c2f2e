// SPDX-License-Identifier: MIT
// sidra-run: runs a compiled model on arrays of NumPy. docs: sidra-run(1).
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "array.h"
#include "common/input_file.h"
#include "common/output_file.h"
#include "common/program.h"
#include "common/units.h"
#include "describe.h"
#include "npy.h"

namespace sidra::run {
namespace {

constexpr size_t kInputLimit = size_t{1} << 32;

struct Options {
    std::string model;
    std::vector<std::string> inputs, outputs;
    uint32_t repeat = 0;          // 0: once, and no times
    std::string level;            // "": of the environment
    std::vector<uint32_t> chips;  // empty: from device 0 on
};

Array read_input(const std::string& path) {
    const std::vector<uint8_t> bytes = tools::read_file(path, kInputLimit).bytes;
    try {
        return parse_npy(bytes);
    } catch (const NpyError& e) {
        throw std::runtime_error(fmt::format("cannot read {}: {}", path, e.what()));
    }
}

// The variant for these inputs.
uint32_t choose_variant(const Model& model, const std::vector<Array>& inputs, const std::vector<std::string>& paths) {
    std::vector<Shape> shapes;
    std::string given;
    for (const Array& input : inputs) {
        shapes.push_back(input.shape);
        given += fmt::format("{}{}", given.empty() ? "" : "; ", shape_text(input.shape));
    }
    uint32_t variant = 0;
    try {
        variant = model.find(shapes);
    } catch (const Error& e) {
        if (e.status() != SIDRA_ERROR_NOT_FOUND) throw;
        throw std::runtime_error(fmt::format("the model has no variant for {}; it takes{}",
                                             given.empty() ? "no inputs" : "inputs of " + given,
                                             describe_inputs(model)));
    }
    for (uint32_t i = 0; i < inputs.size(); ++i)
        if (const sidra_model_tensor input = model.input(variant, i); input.type != inputs[i].type)
            throw std::runtime_error(fmt::format(
                "input {} ({}) takes elements of {}, but {} has {}; convert it, for example with astype() of NumPy", i,
                printable(input.name), type_text(input.type), paths[i], type_text(inputs[i].type)));
    return variant;
}

// Waits until the matrices are on crossbars; on a terminal with a line that says how far that is.
void deploy(Stream& stream, const Model& model) {
    const bool shown = isatty(STDERR_FILENO) == 1;
    stream.deploy(model);
    while (!stream.synchronize(Deadline::after(std::chrono::milliseconds(100)))) {
        if (!shown) continue;
        const ModelProgress progress = model.progress();
        fmt::print(stderr, "\rprogramming crossbars: {} %",
                   100 * progress.done / std::max<uint64_t>(progress.total, 1));
        std::fflush(stderr);
    }
    if (shown) fmt::print(stderr, "\r\033[K");
}

struct Times {
    std::vector<double> host_ns;
    Cost device;
};

Times run_all(Stream& stream, const Model& model, uint32_t variant, const std::vector<Array>& inputs,
              std::vector<Array>* outputs, uint32_t repeat) {
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const Array& input : inputs) from.push_back(input.bytes.data());
    for (Array& output : *outputs) to.push_back(output.bytes.data());
    Times times;
    const Cost before = stream.device_time();
    for (uint32_t i = 0; i < repeat; ++i) {
        const auto start = std::chrono::steady_clock::now();
        stream.run(model, variant, from, to);
        times.host_ns.push_back(
            std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
    }
    const Cost after = stream.device_time();
    times.device = {after.picoseconds - before.picoseconds, after.picojoules - before.picojoules};
    std::ranges::sort(times.host_ns);
    return times;
}

void print_times(const Times& times) {
    const double runs = static_cast<double>(times.host_ns.size());
    fmt::print("{} runs; each one: host {} (median; fastest {}), chip {}, {}\n", times.host_ns.size(),
               tools::scaled(times.host_ns[times.host_ns.size() / 2], "s", -3),
               tools::scaled(times.host_ns.front(), "s", -3),
               tools::scaled(static_cast<double>(times.device.picoseconds) / runs, "s", -4),
               tools::scaled(static_cast<double>(times.device.picojoules) / runs, "J", -4));
}

// For the outputs of a run.
std::vector<Array> make_outputs(const Model& model, uint32_t variant, const Options& options) {
    const uint32_t count = model.variant(variant).outputs;
    if (options.outputs.size() > count)
        throw tools::Failure(
            fmt::format("--output names {} files, but the model has {} outputs", options.outputs.size(), count),
            tools::kExitUsage);
    std::vector<Array> outputs;
    for (uint32_t i = 0; i < count; ++i) {
        const sidra_model_tensor output = model.output(variant, i);
        outputs.push_back({output.type, shape_of(output), std::vector<uint8_t>(output.bytes)});
    }
    return outputs;
}

void put_out(const Model& model, uint32_t variant, const std::vector<Array>& outputs, const Options& options) {
    for (uint32_t i = 0; i < outputs.size(); ++i) {
        const bool saved = i < options.outputs.size();
        if (saved) tools::write_file(options.outputs[i], npy_file(outputs[i]));
        fmt::print("{}  {}  {}  {}\n", printable(model.output(variant, i).name), type_text(outputs[i].type),
                   shape_text(outputs[i].shape), saved ? "-> " + options.outputs[i] : summary(outputs[i]));
    }
}

// The model of a stage, which stays the pipeline's.
class StageModel {
   public:
    StageModel(const Pipeline& pipeline, uint32_t stage) : model_(pipeline.stage(stage)) {}
    ~StageModel() { static_cast<void>(model_.release()); }
    StageModel(const StageModel&) = delete;
    StageModel& operator=(const StageModel&) = delete;
    const Model& operator*() const { return model_; }

   private:
    Model model_;
};

// The devices of the stages.
std::vector<uint32_t> choose_chips(const Options& options, uint32_t stages) {
    std::vector<uint32_t> chips = options.chips;
    if (chips.empty())
        for (uint32_t i = 0; i < stages; ++i) chips.push_back(i);
    if (chips.size() != stages)
        throw tools::Failure(fmt::format("--chips names {} devices, but the model has {} stages", chips.size(), stages),
                             tools::kExitUsage);
    for (size_t i = 0; i < chips.size(); ++i)
        if (std::count(chips.begin(), chips.end(), chips[i]) != 1)
            throw tools::Failure(fmt::format("--chips names device {} twice", chips[i]), tools::kExitUsage);
    if (const uint32_t count = Device::count(), most = *std::ranges::max_element(chips); most >= count)
        throw std::runtime_error(
            fmt::format("the model has {} stages, and there is no device {}: SIDRA_DEVICE names {}; "
                        "embedded:0-{} makes as many chip models",
                        stages, most, count, most));
    return chips;
}

// Keeps the pipeline full, and leaves the outputs of the last run.
void run_pipeline(Pipeline* pipeline, uint32_t variant, const std::vector<Array>& inputs, std::vector<Array>* outputs,
                  uint32_t repeat) {
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const Array& input : inputs) from.push_back(input.bytes.data());
    for (Array& output : *outputs) to.push_back(output.bytes.data());
    const uint32_t most = pipeline->info().runs_max;
    for (uint32_t i = 0, got = 0; got < repeat;) {
        for (; i < repeat && i - got < most; ++i) pipeline->submit(variant, from);
        pipeline->receive(to);
        ++got;
    }
}

void run_stages(const Options& options, const std::vector<Array>& inputs, uint32_t stages) {
    std::vector<Context> contexts;
    std::vector<const Context*> pointers;
    for (const uint32_t chip : choose_chips(options, stages)) contexts.emplace_back(Device::open(chip));
    for (const Context& context : contexts) pointers.push_back(&context);
    Pipeline pipeline(pointers, options.model);
    const StageModel first(pipeline, 0), last(pipeline, stages - 1);
    if (options.inputs.empty() && options.outputs.empty() && options.repeat == 0) {
        for (uint32_t s = 0; s < stages; ++s)
            fmt::print(
                "{}stage {} of {}\n{}", s == 0 ? "" : "\n", s, stages,
                describe(*StageModel(pipeline, s), Device::open(options.chips.empty() ? s : options.chips[s]).info()));
        return;
    }
    const uint32_t variant = choose_variant(*first, inputs, options.inputs);
    std::vector<Array> outputs = make_outputs(*last, variant, options);
    pipeline.deploy();
    pipeline.synchronize();
    std::vector<uint64_t> before;
    for (uint32_t s = 0; s < stages; ++s) before.push_back(pipeline.device_time(s).picoseconds);
    const auto start = std::chrono::steady_clock::now();
    const uint32_t runs = std::max(options.repeat, 1u);
    run_pipeline(&pipeline, variant, inputs, &outputs, runs);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    put_out(*last, variant, outputs, options);
    if (options.repeat == 0) return;
    std::string each;
    for (uint32_t s = 0; s < stages; ++s)
        each += fmt::format(
            "{}{}", s == 0 ? "" : ", ",
            tools::scaled(static_cast<double>(pipeline.device_time(s).picoseconds - before[s]) / runs, "s", -4));
    fmt::print("{} runs; each one: host {} (mean, {} chips at once); chips, by stage: {}\n", runs,
               tools::scaled(time.count() / runs, "s", -3), stages, each);
}

void run_model(const Options& options) {
    for (const std::string& path : options.outputs) tools::require_writable(path);
    std::vector<Array> inputs;
    for (const std::string& path : options.inputs) inputs.push_back(read_input(path));

    if (!options.level.empty()) setenv("SIDRA_LEVEL", options.level.c_str(), 1);
    if (const uint32_t stages = Pipeline::stages(options.model); stages != 1)
        return run_stages(options, inputs, stages);
    if (options.chips.size() > 1)
        throw tools::Failure(
            fmt::format("--chips names {} devices, but the model is for one chip", options.chips.size()),
            tools::kExitUsage);
    const Device device = Device::open(options.chips.empty() ? 0 : options.chips[0]);
    const Context context(device);
    const Model model(context, options.model);
    if (options.inputs.empty() && options.outputs.empty() && options.repeat == 0) {
        fmt::print("{}", describe(model, device.info()));
        return;
    }
    const uint32_t variant = choose_variant(model, inputs, options.inputs);
    std::vector<Array> outputs = make_outputs(model, variant, options);
    Stream stream(context);
    deploy(stream, model);
    const Times times = run_all(stream, model, variant, inputs, &outputs, std::max(options.repeat, 1u));
    put_out(model, variant, outputs, options);
    if (options.repeat != 0) print_times(times);
}

void main_inner(int argc, char** argv) {
    Options options;
    CLI::App app("Runs a compiled model on arrays of NumPy, or says what it takes and gives.", "sidra-run");
    app.add_option("-o,--output", options.outputs, "File (.npy) for the next output; without one, a summary is printed")
        ->allow_extra_args(false);
    app.add_option("--repeat", options.repeat, "Run so many times, and print the time and energy of a run")
        ->check(CLI::Range(1u, 1'000'000'000u));
    app.add_option("--level", options.level, "How a chip model computes")->check(CLI::IsMember({"fast", "accurate"}));
    app.add_option("--chips", options.chips,
                   "Numbers of the devices for the stages of a model for several chips; from 0 on")
        ->type_name("N,...")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("model", options.model, "Compiled model (.sidra)")->required();
    app.add_option("inputs", options.inputs, "Files (.npy) of its inputs, in their order");
    if (tools::parse_arguments(app, argc, argv)) run_model(options);
}

}  // namespace
}  // namespace sidra::run

int main(int argc, char** argv) {
    return sidra::tools::run_program("sidra-run", [&] { sidra::run::main_inner(argc, argv); });
}
