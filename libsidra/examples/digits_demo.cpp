// SPDX-License-Identifier: MIT
// Handwritten digits on a SIDRA chip: what `make demo` runs. Programs the network of digits/ into crossbars,
// records it as a graph, runs the test digits, and compares with the float network on the CPU. digits.c is the short
// form of the same.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/output_file.h"
#include "common/program.h"
#include "data_file.h"
#include "demo.h"
#include "digits_accurate.h"
#include "digits_model.h"
#include "digits_network.h"
#include "digits_picture.h"
#include "sidra/sidra.h"

namespace sidra::digits {
namespace {

struct Options {
    std::string model = digits_file();
    demo::ChipOptions chip;
    std::string out = "digits.svg";
    std::string age, temperature, stuck;  // empty: as on a new chip
    std::string plot = "digits-accurate.svg";
    std::string trace;   // empty: none
    uint32_t batch = 0;  // 0: all digits
    uint32_t repeat = 20;
};

// The chip of level fast. It writes the trace only if there is no chip of level accurate, whose costs are more
// realistic.
Device open_device(const Options& options) {
    sidra_device_options chosen = options.chip.device();
    chosen.level = SIDRA_LEVEL_FAST;
    chosen.trace_file = options.chip.accurate() ? "" : options.trace.c_str();
    sidra_device* device = nullptr;
    check(sidra_device_open(0, &chosen, &device), *chosen.trace_file == '\0'
                                                      ? "opening the device"
                                                      : "opening the device with a trace (--trace or SIDRA_TRACE)");
    return Device(device);
}

double percent(uint32_t part, uint32_t whole) { return 100.0 * part / whole; }

sidra_device_info info_of(sidra_device* device) {
    auto info = SIDRA_INIT(sidra_device_info);
    check(sidra_device_get_info(device, &info), "asking about the device");
    return info;
}

void print_differences(const Model& model, std::span<const int32_t> chip, std::span<const int32_t> cpu_float) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < model.digits; i++) {
        if (chip[i] == cpu_float[i]) continue;
        count++;
        fmt::print("differs    test digit {}: float says {}, chip says {}, it is a {}\n", i, cpu_float[i], chip[i],
                   model.labels[i]);
    }
    if (count == 0) fmt::print("differs    no digit: chip and float network agree on each\n");
}

Surroundings surroundings_of(const Options& options) {
    Surroundings where;
    if (!options.age.empty()) where.age = parse_age(options.age);
    if (!options.temperature.empty()) where.temperature = parse_temperature(options.temperature);
    if (!options.stuck.empty()) where.stuck = parse_stuck(options.stuck);
    if (!options.chip.accurate() && !(options.age + options.temperature + options.stuck).empty())
        throw wrong_command_line("--age, --temperature and --stuck change nothing at level fast; add --level accurate");
    if (options.age.empty() && !options.temperature.empty())
        throw wrong_command_line("--temperature is the temperature at which weights age; add --age");
    return where;
}

// Requires that files which the program reads or writes differ, whether they exist or not; "": not used.
void require_distinct(const std::vector<std::string>& files) {
    for (size_t i = 0; i < files.size(); i++) {
        for (size_t j = 0; j < i; j++) {
            if (files[i].empty() || files[j].empty()) continue;
            if (std::filesystem::weakly_canonical(files[i]) == std::filesystem::weakly_canonical(files[j]))
                throw wrong_command_line(fmt::format(
                    "{} is named twice: --model, --out, --plot and --trace are files of their own", files[i]));
        }
    }
}

// Returns true if the chip's answers are plausible.
bool run_demo(const Options& options) {
    const Surroundings where = surroundings_of(options);
    const Model model = load_model(options.model);
    const uint32_t batch = options.batch ? options.batch : model.digits;
    if (batch > model.digits) {
        throw wrong_command_line(fmt::format("--batch {}: the model has {} test digits", batch, model.digits));
    }

    require_distinct({options.model, options.out, options.trace, options.chip.accurate() ? options.plot : ""});
    tools::require_writable(options.out);
    if (options.chip.accurate()) {
        tools::require_writable(options.plot);
        if (!options.trace.empty()) tools::require_writable(options.trace);
    }

    const Device device = open_device(options);
    const sidra_device_info info = info_of(device.get());
    if (!options.trace.empty() && std::string_view(info.transport) != "embedded")
        throw std::runtime_error(
            "--trace needs an embedded chip (SIDRA_DEVICE=embedded); a card of QEMU has the option trace-file=FILE");
    demo::require_level(info, options.chip);
    demo::print_chip(info);
    sidra_context* raw_context = nullptr;
    check(sidra_context_create(device.get(), &raw_context), "creating a context");
    const Context context(raw_context);
    sidra_stream* stream = nullptr;
    check(sidra_stream_create(context.get(), nullptr, &stream), "creating a stream");
    const Stream stream_owner(stream);

    Cost start = Cost::of(stream);
    const Network network(context.get(), stream, model);
    synchronize(stream, "programming the network");
    const Cost programming = Cost::of(stream).since(start);
    const auto size = network.size();
    std::string shape = fmt::format("{}", kPixels);
    for (const Layer& layer : model.layers) shape += fmt::format("-{}", layer.outputs);
    fmt::print("network    {}: {} weights of 8 bits on {} crossbar{}\n", shape, size.weights, size.crossbars,
               size.crossbars == 1 ? "" : "s");
    fmt::print("programmed {} of device time, {}\n", time_text(programming.seconds), energy_text(programming.joules));

    // All digits in one graph. The first run also warms up; every other run must reproduce its answers.
    const Recognizer all(network, stream, model.digits, batch);
    std::copy(model.pixels.begin(), model.pixels.end(), all.pixels().begin());
    run(stream, all.graph());
    const std::vector<float> logits(all.logits().begin(), all.logits().end());
    const std::vector<int32_t> chip(all.answers().begin(), all.answers().end());
    bool repeats = true;
    std::vector<double> walls;
    start = Cost::of(stream);
    for (uint32_t i = 0; i < options.repeat; i++) {
        std::fill(all.logits().begin(), all.logits().end(), 0.0f);
        walls.push_back(run(stream, all.graph()) / model.digits);
        repeats = repeats && std::memcmp(all.logits().data(), logits.data(), logits.size() * sizeof(float)) == 0;
    }
    const Cost batch_cost = Cost::of(stream).since(start, 1.0 * options.repeat * model.digits);
    const double batch_wall = demo::median(walls);

    // Digit by digit, as from a camera: the time from an image to its answer.
    const Recognizer one(network, stream, 1, 1);
    walls.clear();
    start = Cost::of(stream);
    for (uint32_t i = 0; i < model.digits; i++) {
        std::copy_n(model.image(i).begin(), kPixels, one.pixels().begin());
        walls.push_back(run(stream, one.graph()));
        repeats =
            repeats && one.answers()[0] == chip[i] &&
            std::memcmp(one.logits().data(), &logits[size_t{i} * model.classes()], one.logits().size_bytes()) == 0;
    }
    const Cost one_cost = Cost::of(stream).since(start, model.digits);

    const std::vector<int32_t> cpu_float = float_answers(model);
    const uint32_t chip_right = count_right(model, chip), float_right = count_right(model, cpu_float);
    const uint32_t hash = fnv1a(logits);
    fmt::print("accuracy   chip {} of {} ({:.2f} %), float on the CPU {} of {} ({:.2f} %)\n", chip_right, model.digits,
               percent(chip_right, model.digits), float_right, model.digits, percent(float_right, model.digits));
    print_differences(model, chip, cpu_float);
    fmt::print("logits     hash {:08x}: {}\n", hash,
               hash == model.logits_hash ? "bit-exact, the same as by NumPy" : "not the bits that NumPy gives");

    fmt::print("\na digit takes        {:>12} {:>12} {:>14}\n", "device time", "energy", "wall time");
    const auto print_cost = [](const std::string& what, const Cost& cost, double wall) {
        fmt::print("  {:<18} {:>12} {:>12} {:>14}\n", what, time_text(cost.seconds), energy_text(cost.joules),
                   time_text(wall));
    };
    print_cost(fmt::format("batches of {}", batch), batch_cost, batch_wall);
    print_cost("one at a time", one_cost, demo::median(walls));
    fmt::print(
        "Device time and energy: the chip's, by its cost model. Wall time: of this run, median; graph of {} operations "
        "launched {} times, graph of {} for one at a time.\n\n",
        all.operations(), options.repeat, one.operations());

    const std::string headline = fmt::format("A SIDRA chip reads {} of {} handwritten digits ({:.2f} %)", chip_right,
                                             model.digits, percent(chip_right, model.digits));
    const std::string subtitles[] = {
        fmt::format("The same network in float on the CPU: {} ({:.2f} %). On the chip: {}, {} weights of 8 bits on {} "
                    "crossbars.",
                    float_right, percent(float_right, model.digits), shape, size.weights, size.crossbars),
        fmt::format("A digit takes {} and {} by the chip's cost model, in batches of {}.",
                    time_text(batch_cost.seconds), energy_text(batch_cost.joules), batch)};
    tools::write_file(options.out, draw_answers(model, chip, cpu_float, headline, subtitles));
    fmt::print("picture    {}\n", options.out);

    bool comparable = true;
    if (options.chip.accurate())
        comparable = compare_levels(model, options.chip.device(), where, options.plot, options.trace);

    if (!repeats) fmt::print(stderr, "sidra-demo: the chip did not give the same bits on every run\n");
    const bool plausible = chip_right + model.digits / 100.0 >= float_right;
    if (!plausible)
        fmt::print(stderr, "sidra-demo: the chip is more than one point less accurate than float on the CPU\n");
    return repeats && plausible && comparable;
}

}  // namespace
}  // namespace sidra::digits

bool sidra::demo::digits(int argc, char** argv) {
    sidra::digits::Options options;
    CLI::App app(
        "Recognises handwritten digits on a SIDRA chip and draws a picture of the answers. Subcommands run other "
        "networks.",
        "sidra-demo");
    app.footer(
        "Subcommands:\n"
        "  convnet     Recognises them with a convolutional network\n"
        "  sentence    Finds sentences that mean nearly the same\n");
    app.option_defaults()->always_capture_default();
    options.chip.add_to(app);
    app.add_option("--batch", options.batch, "Digits in one operation")
        ->check(CLI::Range(1u, 65536u))
        ->default_str("all");
    app.add_option("--repeat", options.repeat, "Measured runs of the graph")->check(CLI::Range(1u, 1000000u));
    app.add_option("--age", options.age, "Level accurate: age of the weights, such as 90s, 12h, 30d, 1y");
    app.add_option("--temperature", options.temperature, "Level accurate: temperature while they age, degrees Celsius");
    app.add_option("--stuck", options.stuck, "Level accurate: share of stuck cells, such as 0.1%");
    app.add_option("--plot", options.plot, "Level accurate: file for the plot (SVG)")->take_last();
    app.add_option("--trace", options.trace,
                   "Embedded chip: file for a trace of time and energy by unit (JSON, for ui.perfetto.dev)")
        ->envname("SIDRA_TRACE");
    app.add_option("--out", options.out, "Picture to write (SVG)")->take_last();
    app.add_option("--model", options.model, "Network and test digits")->check(CLI::ExistingFile);
    if (!tools::parse_arguments(app, argc, argv)) return true;
    // The options contain these values: each chip here sets its own level, and only one writes the trace.
    unsetenv("SIDRA_LEVEL");
    unsetenv("SIDRA_TRACE");
    return sidra::digits::run_demo(options);
}
