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
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/output_file.h"
#include "common/standard_files.h"
#include "digits_model.h"
#include "digits_picture.h"
#include "sidra/sidra.h"

namespace sidra::digits {
namespace {

constexpr int kUsage = 2;
constexpr uint64_t kDeadlineNs = 60'000'000'000;

void check(sidra_status status, std::string_view what) {
    if (status == SIDRA_OK) return;
    throw std::runtime_error(fmt::format("{}: {} ({})", what, sidra_last_error(), sidra_status_string(status)));
}

template <auto kDestroy>
struct Destroy {
    template <class T>
    void operator()(T* handle) const {
        kDestroy(handle);
    }
};
using Device = std::unique_ptr<sidra_device, Destroy<sidra_device_close>>;
using Context = std::unique_ptr<sidra_context, Destroy<sidra_context_destroy>>;
using Stream = std::unique_ptr<sidra_stream, Destroy<sidra_stream_destroy>>;
using Buffer = std::unique_ptr<sidra_buffer, Destroy<sidra_buffer_destroy>>;
using Weights = std::unique_ptr<sidra_weights, Destroy<sidra_weights_destroy>>;
using Graph = std::unique_ptr<sidra_graph, Destroy<sidra_graph_destroy>>;

// A buffer of `count` values, and the values.
template <class T>
class Array {
   public:
    Array(sidra_context* context, size_t count) {
        sidra_buffer* buffer = nullptr;
        check(sidra_buffer_create(context, count * sizeof(T), SIDRA_BUFFER_HOST, &buffer), "creating a buffer");
        buffer_.reset(buffer);
        void* address = nullptr;
        check(sidra_buffer_map(buffer, &address), "mapping a buffer");
        values_ = {static_cast<T*>(address), count};
    }

    std::span<T> values() const { return values_; }
    sidra_ref at(size_t index) const { return {buffer_.get(), index * sizeof(T)}; }

   private:
    Buffer buffer_;
    std::span<T> values_;
};

// What the chip itself would have spent (cost model).
struct Cost {
    double seconds = 0, joules = 0;

    static Cost of(sidra_stream* stream) {
        uint64_t picoseconds = 0, picojoules = 0;
        check(sidra_stream_device_time(stream, &picoseconds, &picojoules), "asking for the device time");
        return {static_cast<double>(picoseconds) * 1e-12, static_cast<double>(picojoules) * 1e-12};
    }
    Cost since(const Cost& start, double count = 1) const {
        return {(seconds - start.seconds) / count, (joules - start.joules) / count};
    }
};

void synchronize(sidra_stream* stream, std::string_view what) {
    check(sidra_stream_synchronize(stream, sidra_deadline_after_ns(kDeadlineNs)), what);
}

// Runs a graph and waits; returns wall time in seconds.
double run(sidra_stream* stream, const Graph& graph) {
    const auto start = std::chrono::steady_clock::now();
    check(sidra_graph_launch_async(stream, graph.get()), "launching the graph");
    synchronize(stream, "running the graph");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// The model on the chip: programmed weights, and biases in units of the integer sums.
class Network {
   public:
    // Queues the programming.
    Network(sidra_context* context, sidra_stream* stream, const Model& model) : context_(context), model_(model) {
        for (const Layer& layer : model.layers) {
            sidra_weights* weights = nullptr;
            check(sidra_weights_create_f32(context, layer.inputs, layer.outputs, layer.weights.data(), layer.outputs,
                                           nullptr, &weights),
                  "creating weights");
            weights_.emplace_back(weights);
            check(sidra_weights_program_async(stream, weights), "programming weights");
            const float* scale = nullptr;
            check(sidra_weights_scale(weights, &scale), "asking for the scales of weights");
            const auto bias = biases_.emplace_back(context, layer.outputs).values();
            for (size_t n = 0; n < bias.size(); n++) {
                bias[n] = static_cast<int32_t>(std::lrintf(layer.bias[n] / (layer.in_scale * scale[n])));
            }
        }
    }

    struct Size {
        uint64_t weights = 0;
        uint32_t crossbars = 0;
    };
    Size size() const {
        Size size;
        for (const Weights& weights : weights_) {
            auto info = SIDRA_INIT(sidra_weights_info);
            check(sidra_weights_get_info(weights.get(), &info), "asking about weights");
            size.weights += uint64_t{info.k} * info.n;
            size.crossbars += info.crossbars;
        }
        return size;
    }

    const Model& model() const { return model_; }
    sidra_context* context() const { return context_; }
    sidra_weights* weights(size_t layer) const { return weights_[layer].get(); }
    sidra_ref bias(size_t layer) const { return biases_[layer].at(0); }

   private:
    sidra_context* context_;
    const Model& model_;
    std::vector<Weights> weights_;
    std::vector<Array<int32_t>> biases_;
};

// A recorded graph that takes `digits` images to answers, `batch` of them in each operation; with the memory that it
// works on.
class Recognizer {
   public:
    Recognizer(const Network& network, sidra_stream* stream, uint32_t digits, uint32_t batch)
        : pixels_(network.context(), size_t{digits} * kPixels),
          logits_(network.context(), size_t{digits} * network.model().classes()),
          answers_(network.context(), digits) {
        const auto& layers = network.model().layers;
        for (size_t i = 0; i + 1 < layers.size(); i++)
            hidden_.emplace_back(network.context(), size_t{digits} * layers[i].outputs);
        check(sidra_graph_begin(stream), "beginning to record");
        for (uint32_t first = 0; first < digits; first += batch) {
            record(network, stream, first, std::min(batch, digits - first));
        }
        sidra_graph* graph = nullptr;
        check(sidra_graph_end(stream, &graph), "recording the graph");
        graph_.reset(graph);
    }

    std::span<uint8_t> pixels() const { return pixels_.values(); }
    std::span<float> logits() const { return logits_.values(); }
    std::span<const int32_t> answers() const { return answers_.values(); }
    const Graph& graph() const { return graph_; }
    uint32_t operations() const {
        uint32_t count = 0;
        check(sidra_graph_operations(graph_.get(), &count), "asking about the graph");
        return count;
    }

   private:
    // One MVM a layer: bias, rescaling and (by saturation at 0) ReLU are part of it.
    void record(const Network& network, sidra_stream* stream, uint32_t first, uint32_t count) {
        const auto& layers = network.model().layers;
        for (size_t i = 0; i < layers.size(); i++) {
            const bool last = i + 1 == layers.size();
            auto mvm = SIDRA_INIT(sidra_mvm);
            mvm.batch = count;
            mvm.in_type = SIDRA_U8;
            mvm.in = (i == 0 ? pixels_ : hidden_[i - 1]).at(size_t{first} * layers[i].inputs);
            mvm.in_scale = layers[i].in_scale;
            mvm.bias = network.bias(i);
            if (last) {
                mvm.out_type = SIDRA_F32;
                mvm.out = logits_.at(size_t{first} * layers[i].outputs);
            } else {
                mvm.out_type = SIDRA_U8;
                mvm.out = hidden_[i].at(size_t{first} * layers[i].outputs);
                mvm.out_scale = layers[i + 1].in_scale;
            }
            check(sidra_mvm_async(stream, network.weights(i), &mvm), "recording a layer");
        }
        auto argmax = SIDRA_INIT(sidra_vec);
        argmax.op = SIDRA_ARGMAX;
        argmax.in_type = SIDRA_F32;
        argmax.out_type = SIDRA_S32;
        argmax.rows = count;
        argmax.cols = network.model().classes();
        argmax.in = logits_.at(size_t{first} * argmax.cols);
        argmax.out = answers_.at(first);
        check(sidra_vec_async(stream, &argmax), "recording the answer");
    }

    Array<uint8_t> pixels_;
    std::vector<Array<uint8_t>> hidden_;  // codes between the layers
    Array<float> logits_;
    Array<int32_t> answers_;
    Graph graph_;
};

struct Options {
    std::string model = SIDRA_DIGITS_MODEL;
    std::string engine = "auto";
    std::string profile = "y1";
    std::string out = "build/digits.svg";
    uint32_t batch = 0;  // 0: all digits
    uint32_t repeat = 20;
};

const std::map<std::string, sidra_engine> kEngines = {{"auto", SIDRA_ENGINE_AUTO},
                                                      {"scalar", SIDRA_ENGINE_SCALAR},
                                                      {"avx2", SIDRA_ENGINE_AVX2},
                                                      {"avx512", SIDRA_ENGINE_AVX512},
                                                      {"neon", SIDRA_ENGINE_NEON}};
const std::map<std::string, sidra_profile> kProfiles = {{"y1", SIDRA_PROFILE_Y1}, {"small", SIDRA_PROFILE_SMALL}};

Device open_device(const Options& options) {
    auto device_options = SIDRA_INIT(sidra_device_options);
    device_options.engine = kEngines.at(options.engine);
    device_options.profile = kProfiles.at(options.profile);
    sidra_device* device = nullptr;
    check(sidra_device_open(0, &device_options, &device), "opening the device");
    return Device(device);
}

std::string time_text(double seconds) {
    if (seconds < 1e-6) return fmt::format("{:.1f} ns", seconds * 1e9);
    if (seconds < 1e-3) return fmt::format("{:.2f} µs", seconds * 1e6);
    return fmt::format("{:.2f} ms", seconds * 1e3);
}

std::string energy_text(double joules) {
    if (joules < 1e-9) return fmt::format("{:.1f} pJ", joules * 1e12);
    if (joules < 1e-6) return fmt::format("{:.2f} nJ", joules * 1e9);
    return fmt::format("{:.2f} µJ", joules * 1e6);
}

double percent(uint32_t part, uint32_t whole) { return 100.0 * part / whole; }

void print_device(sidra_device* device) {
    auto info = SIDRA_INIT(sidra_device_info);
    check(sidra_device_get_info(device, &info), "asking about the device");
    std::string kind = info.model ? "a model" : "silicon";
    if (info.engine[0] != '\0') kind += fmt::format(" (engine {})", info.engine);  // only an embedded chip can tell
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
    if (count == 0) fmt::print("differs    no digit: the chip answers each as the float network does\n");
}

// True if the chip's answers are plausible.
bool demo(const Options& options) {
    const Model model = load_model(options.model);
    const uint32_t batch = options.batch ? options.batch : model.digits;
    if (batch > model.digits) {
        throw std::runtime_error(fmt::format("--batch {}: the model has {} test digits", batch, model.digits));
    }

    tools::require_writable(options.out);

    const Device device = open_device(options);
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

    // All digits by one graph; the first run, which also warms up, gives the answers that every other run must repeat.
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

    // Digit by digit, as they would come from a camera: the time from one image to its answer.
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

    if (!repeats) fmt::print(stderr, "sidra-demo: the chip did not give the same bits on every run\n");
    const bool plausible = chip_right + model.digits / 100.0 >= float_right;
    if (!plausible)
        fmt::print(stderr, "sidra-demo: the chip is more than one point less accurate than float on the CPU\n");
    return repeats && plausible;
}

int run_program(int argc, char** argv) {
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
    app.add_option("--out", options.out, "Picture to write (SVG)");
    app.add_option("--model", options.model, "Network and test digits")->check(CLI::ExistingFile);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // --help
        fmt::print(stderr, "sidra-demo: {} (sidra-demo --help)\n", error.what());
        return kUsage;
    }
    return demo(options) ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace sidra::digits

int main(int argc, char** argv) {
    try {
        sidra::tools::open_standard_files();
        const int status = sidra::digits::run_program(argc, argv);
        sidra::tools::flush_output();
        return status;
    } catch (const std::exception& error) {
        std::fflush(stdout);
        std::fprintf(stderr, "sidra-demo: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
