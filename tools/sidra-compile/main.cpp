// SPDX-License-Identifier: MIT
// sidra-compile: compiles a network for the chip. docs: sidra-compile(1), docs/compiler.md.
#include <fmt/format.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/program.h"
#include "npy.h"
#include "sidra/compiler.h"

namespace sidra {
namespace {

constexpr int kExitTargetMissed = 3;

struct Options {
    std::string network, model, passes, dump, reproducer, chip_map, report;
    uint32_t bad_cells = 0;  // 0: the library's
    std::vector<std::string> dimensions, values;
    std::vector<std::string> samples, tests;
    std::string labels;
    double target_accuracy = 0;
    std::string observer;
    double signal_to_noise = 0;
    uint32_t copies = 1;
    bool copies_by_layer = false;
    std::string chips = "1";
    double tmr = 0;
    bool predistort = false, adc_ranges = false;
    int optimization = SIDRA_OPTIMIZATION_2 - SIDRA_OPTIMIZATION_0;
    bool no_bias_correction = false, no_equalisation = false;
    bool explain = false, no_cache = false;
    uint64_t cache_limit = 0;  // bytes; 0: the library's
};

// "batch=1,8,32": its name remains in `text`.
void add_dimension(std::string& text, std::vector<sidra_compile_dimension>& dimensions) {
    const size_t equals = text.rfind('=');
    const char *at = text.data() + equals + 1, *const end = text.data() + text.size();
    std::vector<int64_t> sizes;
    const auto read_size = [&] {
        int64_t size = 0;
        const auto [next, error] = std::from_chars(at, end, size);
        at = next;
        sizes.push_back(size);
        return error == std::errc() && size >= 1;
    };
    bool right = equals != std::string::npos && equals != 0 && read_size();
    while (right && at != end) right = *at++ == ',' && read_size();
    if (!right)
        throw tools::Failure(
            fmt::format("--dim {}: give a name and sizes of at least 1, as batch=8 or batch=1,8,32", text),
            tools::kExitUsage);
    text.resize(equals);
    for (const int64_t size : sizes) dimensions.push_back({text.c_str(), size});
}

// "shape=shape.pb": likewise.
sidra_compile_value value(std::string& text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
        throw tools::Failure(fmt::format("--value {}: give the name of an input and a file, as shape=shape.pb", text),
                             tools::kExitUsage);
    text[equals] = '\0';
    return {text.c_str(), text.c_str() + equals + 1};
}

// "image=images.npy", or only the file.
struct Samples {
    explicit Samples(const std::string& text) {
        const size_t equals = text.find('=');
        const std::string file = equals == std::string::npos ? text : text.substr(equals + 1);
        if (equals != std::string::npos) input = text.substr(0, equals);
        std::ifstream stream(file, std::ios::binary);
        const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(stream), {}};
        if (!stream) throw std::runtime_error(fmt::format("{}: cannot be read", file));
        try {
            array = run::parse_npy(bytes);
        } catch (const run::NpyError& error) {
            throw std::runtime_error(fmt::format("{}: {}", file, error.what()));
        }
    }
    std::string input;
    run::Array array;
};

// "4" or "auto"
uint32_t chips_of(const std::string& text) {
    constexpr uint32_t kMost = 16;
    if (text == "auto") return SIDRA_CHIPS_AUTO;
    uint32_t chips = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), chips);
    if (error != std::errc() || end != text.data() + text.size() || chips < 1 || chips > kMost)
        throw tools::Failure(fmt::format("--chips {}: give a number of 1 to {}, or auto", text, kMost),
                             tools::kExitUsage);
    return chips;
}

std::vector<sidra_compile_samples> views(const std::vector<Samples>& files) {
    std::vector<sidra_compile_samples> all;
    for (const Samples& s : files)
        all.push_back({s.input.empty() ? nullptr : s.input.c_str(), static_cast<uint32_t>(s.array.type),
                       s.array.bytes.data(), s.array.bytes.size()});
    return all;
}

std::vector<int64_t> read_labels(const std::string& file) {
    const run::Array array = Samples("=" + file).array;
    if (array.type == SIDRA_F32 || array.type == SIDRA_F16 || array.type == SIDRA_BF16)
        throw std::runtime_error(
            fmt::format("{}: labels are integers, but these are {}", file, run::type_text(array.type)));
    std::vector<int64_t> labels;
    for (size_t i = 0; i < run::elements_of(array.shape); i++)
        labels.push_back(static_cast<int64_t>(run::element(array, i)));
    return labels;
}

void run(Options& options) {
    std::vector<sidra_compile_dimension> dimensions;
    std::vector<sidra_compile_value> values;
    for (std::string& text : options.values) values.push_back(value(text));
    for (std::string& text : options.dimensions) add_dimension(text, dimensions);
    if (options.model.empty())
        options.model =
            std::filesystem::path(options.network).stem().string() + (options.passes.empty() ? ".sidra" : ".mlir");

    const std::vector<Samples> sample_files(options.samples.begin(), options.samples.end());
    const std::vector<Samples> test_files(options.tests.begin(), options.tests.end());
    const std::vector<sidra_compile_samples> samples = views(sample_files), tests = views(test_files);
    const std::vector<int64_t> labels = options.labels.empty() ? std::vector<int64_t>() : read_labels(options.labels);
    const auto optional = [](const std::string& text) { return text.empty() ? nullptr : text.c_str(); };
    sidra_compile_options compile{};
    compile.struct_size = sizeof compile;
    compile.dimensions = dimensions.data();
    compile.dimension_count = dimensions.size();
    compile.values = values.data();
    compile.value_count = values.size();
    compile.pipeline = optional(options.passes);
    compile.dump = optional(options.dump);
    compile.reproducer = optional(options.reproducer);
    compile.optimization = static_cast<sidra_optimization>(SIDRA_OPTIMIZATION_0 + options.optimization);
    if (options.explain) compile.report = [](void*, const char* text) { fmt::print("{}", text); };
    compile.report_file = optional(options.report);
    compile.samples = samples.data();
    compile.sample_count = samples.size();
    compile.target_accuracy = options.target_accuracy;
    compile.tests = tests.data();
    compile.test_count = tests.size();
    compile.labels = labels.data();
    compile.label_count = labels.size();
    compile.copies = options.copies;
    compile.copies_by_layer = options.copies_by_layer;
    compile.chips = chips_of(options.chips);
    compile.tmr = options.tmr;
    compile.predistort = options.predistort;
    compile.adc_ranges = options.adc_ranges;
    compile.signal_to_noise = options.signal_to_noise;
    compile.no_bias_correction = options.no_bias_correction;
    compile.no_equalisation = options.no_equalisation;
    compile.observer = optional(options.observer);
    if (::isatty(STDERR_FILENO))
        compile.progress = [](void*, size_t done, size_t runs) {
            fmt::print(stderr, "\rcalibration: {} of {} runs{}", done, runs, done == runs ? "\n" : "");
        };
    compile.chip_map = optional(options.chip_map);
    compile.bad_cells = options.bad_cells;
    compile.no_cache = options.no_cache;
    compile.cache_limit = options.cache_limit;
    compile.note = [](void*, const char* text) { fmt::print(stderr, "sidra-compile: {}\n", text); };
    std::array<char, 4096> error{};
    const sidra_compile_status status =
        sidra_compile(options.network.c_str(), options.model.c_str(), &compile, error.data(), error.size());
    if (status == SIDRA_COMPILE_TARGET_MISSED) throw tools::Failure(error.data(), kExitTargetMissed);
    if (status != SIDRA_COMPILE_OK) throw std::runtime_error(error.data());
}

void main_inner(int argc, char** argv) {
    Options options;
    CLI::App app("Compiles a network for the chip; sidra-run runs the result.", "sidra-compile");
    app.add_option("network", options.network, "The network (.onnx)")->required()->check(CLI::ExistingFile);
    app.add_option("-o,--output", options.model, "The compiled model; without it the network's name with .sidra, here");
    app.add_option("--dim", options.dimensions, "Sizes of a dimension that the network only names")
        ->type_name("NAME=SIZE,...")
        ->allow_extra_args(false);
    app.add_option("--value", options.values, "An input that is a constant: a file with a tensor of ONNX")
        ->type_name("NAME=FILE")
        ->allow_extra_args(false);
    app.add_option("--calibrate", options.samples, "Values of an input (.npy) that show what it will be like")
        ->type_name("[NAME=]FILE")
        ->allow_extra_args(false);
    app.add_option("--observer", options.observer, "How the range of a layer's inputs follows from them")
        ->check(CLI::IsMember({"minmax", "moving", "percentile", "mse", "entropy"}))
        ->needs("--calibrate");
    app.add_option("--signal-to-noise", options.signal_to_noise,
                   "Layers with less than this with inputs of 8 bits get 16, in decibels; without it 20")
        ->check(CLI::Range(1.0, 200.0))
        ->type_name("DB")
        ->needs("--calibrate");
    app.add_flag("--no-bias-correction", options.no_bias_correction,
                 "Leave what codes do to the mean of a layer's results")
        ->needs("--calibrate");
    app.add_flag("--no-equalisation", options.no_equalisation,
                 "Leave the channels between two layers as large as they are");
    app.add_flag("--explain", options.explain,
                 "Print the layers, what they need of the crossbars, and what runs on the host");
    app.add_flag("--no-cache", options.no_cache, "Compile even what was compiled before, and do not keep it");
    app.add_option("--cache-limit", options.cache_limit, "What the files kept for later may take, as 500MiB; 4GiB")
        ->transform(CLI::AsSizeValue(false))
        ->check(CLI::PositiveNumber)
        ->type_name("SIZE");
    auto* const target = app.add_option("--target-accuracy", options.target_accuracy,
                                        "Compile with more effort until this share of the tests is right")
                             ->check(CLI::Range(1e-6, 1.0))
                             ->type_name("SHARE");
    auto* const tests = app.add_option("--test", options.tests, "Values of an input (.npy) to judge the network by")
                            ->type_name("[NAME=]FILE")
                            ->allow_extra_args(false)
                            ->needs(target);
    auto* const labels = app.add_option("--labels", options.labels, "The classes of the tests (.npy, integers)")
                             ->type_name("FILE")
                             ->needs(target);
    target->needs(tests)->needs(labels);
    app.add_option("--copies", options.copies,
                   "Average so many copies of each layer, against errors of analog hardware")
        ->check(CLI::Range(1, 64))
        ->type_name("N");
    app.add_flag("--copies-by-layer", options.copies_by_layer,
                 "Give as many copies in all, but first to the layers that need them most")
        ->needs("--copies")
        ->needs("--calibrate");
    auto* const map = app.add_option("--chip-map", options.chip_map,
                                     "Place the matrices on this chip: a file that sidra-smi map has written")
                          ->type_name("FILE");
    app.add_option("--bad-cells", options.bad_cells,
                   "Crossbars with so many bad cells or more are not used; without it 656, which is 1 %")
        ->check(CLI::Range(1, 65536))
        ->type_name("N")
        ->needs(map);
    auto* const report =
        app.add_option("--report", options.report,
                       "Write time, energy, crossbars and accuracy by layer: a page (.html), or JSON (.json)")
            ->type_name("FILE");
    app.add_option("--chips", options.chips,
                   "Cut the network into stages for so many chips, up to 16, or auto: the fewest")
        ->type_name("N")
        ->excludes(target)
        ->excludes(map);
    app.add_option(
           "--tmr", options.tmr,
           "Put this share of each layer's columns on three crossbars, whose median counts even if one is broken")
        ->check(CLI::Range(0.0, 1.0))
        ->type_name("SHARE");
    app.add_flag("--predistort", options.predistort,
                 "Change weights so that they are right behind the wires of analog crossbars, which lose voltage");
    app.add_flag("--adc-ranges", options.adc_ranges,
                 "Give each crossbar's ADCs one range, which the samples need, instead of one for each product")
        ->needs("--calibrate");
    auto* const level = app.add_option("-O,--optimize", options.optimization, "How much to optimise: 0, 1 or 2 (all)")
                            ->type_name("LEVEL")
                            ->check(CLI::Range(0, SIDRA_OPTIMIZATION_2 - SIDRA_OPTIMIZATION_0));
    app.add_option("--passes", options.passes, "Run these passes, and write the module behind them as text")
        ->excludes(level)
        ->excludes(map)
        ->excludes(report);
    app.add_option("--dump", options.dump, "A folder for the module behind each pass");
    app.add_option("--reproducer", options.reproducer, "A file for module and passes, should a pass crash");
    if (tools::parse_arguments(app, argc, argv)) run(options);
}

}  // namespace
}  // namespace sidra

int main(int argc, char** argv) {
    return sidra::tools::run_program("sidra-compile", [&] { sidra::main_inner(argc, argv); });
}
