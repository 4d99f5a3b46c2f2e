// SPDX-License-Identifier: MIT
// Handwritten digits on a SIDRA chip: the program of `make demo`. Programs the network of digits/ into crossbars,
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
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/output_file.h"
#include "common/program.h"
#include "digits_accurate.h"
#include "digits_model.h"
#include "digits_network.h"
#include "digits_picture.h"
#include "sidra/sidra.h"

namespace sidra::digits {
namespace {

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// An installed model is found relative to the program; a program in the build tree uses the source tree.
std::string default_model() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto installed = program.parent_path().parent_path() / "share/sidra/digits.bin";
    return !error && std::filesystem::exists(installed, error) ? installed.string() : SIDRA_DIGITS_MODEL;
}

struct Options {
    std::string model = default_model();
    std::string engine = "auto";
    std::string profile = "y1";
    std::string out = "digits.svg";
    std::string level = "fast";
    std::string age, temperature, stuck;  // empty: as on a new chip
    std::string plot = "digits-accurate.svg";
    std::string trace;   // empty: none
    uint32_t batch = 0;  // 0: all digits
    uint32_t repeat = 20;
};

const std::map<std::string, sidra_engine> kEngines = {{"auto", SIDRA_ENGINE_AUTO}, {"scalar", SIDRA_ENGINE_SCALAR},
                                                      {"avx2", SIDRA_ENGINE_AVX2}, {"avx512", SIDRA_ENGINE_AVX512},
                                                      {"amx", SIDRA_ENGINE_AMX},   {"neon", SIDRA_ENGINE_NEON}};
const std::map<std::string, sidra_profile> kProfiles = {{"y1", SIDRA_PROFILE_Y1}, {"small", SIDRA_PROFILE_SMALL}};

constexpr const char* kLevels[] = {"fast", "accurate"};

sidra_device_options device_options(const Options& options) {
    auto chosen = SIDRA_INIT(sidra_device_options);
    chosen.engine = kEngines.at(options.engine);
    chosen.profile = kProfiles.at(options.profile);
    return chosen;
}

bool accurate(const Options& options) { return options.level == "accurate"; }

// The chip of level fast. It writes the trace only if there is no chip of level accurate, whose costs are more
// realistic.
Device open_device(const Options& options) {
    sidra_device_options chosen = device_options(options);
    chosen.trace_file = accurate(options) ? "" : options.trace.c_str();
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

void print_device(sidra_device* device) {
    const sidra_device_info info = info_of(device);
    std::string kind = info.model ? "a model" : "silicon";
    if (info.engine[0] != '\0') kind += fmt::format(" (engine {})", info.engine);  // only an embedded chip reports it
    fmt::print(
        "chip       {}, transport {}, {}: {} clusters x {} CUs x {} crossbars of {} x {} cells = {} crossbars, {} "
        "free\n",
        info.name, info.transport, kind, info.clusters, info.cus_per_cluster, info.crossbars_per_cu, info.rows,
        info.cols, info.crossbars_total, info.crossbars_free);
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
    if (!accurate(options) && !(options.age + options.temperature + options.stuck).empty())
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
bool demo(const Options& options) {
    const Surroundings where = surroundings_of(options);
    const Model model = load_model(options.model);
    const uint32_t batch = options.batch ? options.batch : model.digits;
    if (batch > model.digits) {
        throw wrong_command_line(fmt::format("--batch {}: the model has {} test digits", batch, model.digits));
    }

    require_distinct({options.model, options.out, options.trace, accurate(options) ? options.plot : ""});
    tools::require_writable(options.out);
    if (accurate(options)) {
        tools::require_writable(options.plot);
        if (!options.trace.empty()) tools::require_writable(options.trace);
    }

    const Device device = open_device(options);
    if (std::string_view(info_of(device.get()).transport) != "embedded") {
        if (!options.trace.empty())
            throw std::runtime_error(
                "--trace needs an embedded chip (SIDRA_DEVICE=embedded); a card of QEMU has the option "
                "trace-file=FILE");
        if (accurate(options))
            throw std::runtime_error(
                "--level accurate: the level of this device is fixed; SIDRA_DEVICE=embedded uses a chip "
                "model in this process");
    }
    print_device(device.get());
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
    const double batch_wall = median(walls);

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
    print_cost("one at a time", one_cost, median(walls));
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
    if (accurate(options))
        comparable = compare_levels(model, device_options(options), where, options.plot, options.trace);

    if (!repeats) fmt::print(stderr, "sidra-demo: the chip did not give the same bits on every run\n");
    const bool plausible = chip_right + model.digits / 100.0 >= float_right;
    if (!plausible)
        fmt::print(stderr, "sidra-demo: the chip is more than one point less accurate than float on the CPU\n");
    return repeats && plausible && comparable;
}

// Returns true if the chip's answers are plausible, or if only help was requested.
bool main_inner(int argc, char** argv) {
    Options options;
    std::vector<std::string> engines, profiles;
    for (const auto& [name, value] : kEngines) engines.push_back(name);
    for (const auto& [name, value] : kProfiles) profiles.push_back(name);

    CLI::App app("Recognises handwritten digits on a SIDRA chip and draws a picture of the answers.", "sidra-demo");
    app.option_defaults()->always_capture_default();
    app.add_option("--engine", options.engine, "What computes in the chip model")->check(CLI::IsMember(engines));
    app.add_option("--profile", options.profile, "Size of the chip model")->check(CLI::IsMember(profiles));
    app.add_option("--batch", options.batch, "Digits in one operation")
        ->check(CLI::Range(1u, 65536u))
        ->default_str("all");
    app.add_option("--repeat", options.repeat, "Measured runs of the graph")->check(CLI::Range(1u, 1000000u));
    app.add_option("--level", options.level, "fast; accurate: with the errors of cells, wires and ADCs")
        ->check(CLI::IsMember(std::vector<std::string>(std::begin(kLevels), std::end(kLevels))))
        ->envname("SIDRA_LEVEL");
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
    return demo(options);
}

}  // namespace
}  // namespace sidra::digits

int main(int argc, char** argv) {
    bool plausible = false;
    const int status =
        sidra::tools::run_program("sidra-demo", [&] { plausible = sidra::digits::main_inner(argc, argv); });
    return status == EXIT_SUCCESS && !plausible ? EXIT_FAILURE : status;
}
