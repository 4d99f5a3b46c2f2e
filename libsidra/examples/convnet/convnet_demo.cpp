// SPDX-License-Identifier: MIT
// sidra-demo convnet: recognises the test digits with a convolutional network, all at once and one at a time, and
// compares the output of each layer with what NumPy computes.
#include <fmt/format.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/program.h"
#include "common/signals.h"
#include "data_file.h"
#include "demo.h"
#include "digits_model.h"
#include "model.h"
#include "network.h"
#include "sidra/sidra.hpp"

namespace sidra::convnet {
namespace {

struct Options {
    demo::ChipOptions chip;
    std::string model = convnet_file();
    std::string digits = digits_file();
    uint32_t batch = 0;  // 0: all digits
    uint32_t repeat = 20;
};

struct Cost {
    double wall = 0, device = 0, joules = 0;  // of one digit; device time and energy by the cost model
};

class Demo {
   public:
    Demo(const Context& context, const Model& model, const digits::Model& digits, tools::Signals& signals)
        : signals_(signals), digits_(digits), stream_(context), network_(context, stream_, model) {
        demo::wait(stream_, signals_);
    }

    const Network& network() const { return network_; }
    sidra::Cost programming() const { return stream_.device_time(); }
    Recognizer recognizer(uint32_t images) { return Recognizer(network_, stream_, images); }

    // Computes all digits `repeat` times, and calls `take(first, count)` after each launch.
    template <class Take>
    Cost run(const Recognizer& recognizer, uint32_t repeat, const Take& take) {
        const auto batch = static_cast<uint32_t>(recognizer.answers().size());
        std::vector<double> walls;
        const sidra::Cost before = stream_.device_time();
        for (uint32_t n = 0; n < repeat; n++) {
            for (uint32_t first = 0; first < digits_.digits; first += batch) {
                const uint32_t count = std::min(batch, digits_.digits - first);
                const auto pixels = std::span(digits_.pixels).subspan(first * digits::kPixels, count * digits::kPixels);
                std::ranges::copy(pixels, recognizer.pixels().begin());
                const auto start = std::chrono::steady_clock::now();
                stream_.launch(recognizer.graph());
                demo::wait(stream_, signals_);
                const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
                walls.push_back(wall.count() / batch);
                take(first, count);
            }
        }
        const sidra::Cost after = stream_.device_time();
        const double digits = static_cast<double>(walls.size()) * batch * 1e12;
        return {demo::median(walls), static_cast<double>(after.picoseconds - before.picoseconds) / digits,
                static_cast<double>(after.picojoules - before.picojoules) / digits};
    }

   private:
    tools::Signals& signals_;
    const digits::Model& digits_;
    Stream stream_;
    Network network_;
};

uint32_t fnv1a(std::span<const std::byte> bytes) {
    uint32_t hash = 0x811c9dc5;
    for (const std::byte byte : bytes) hash = (hash ^ static_cast<uint32_t>(byte)) * 0x01000193;
    return hash;
}

bool run(const Options& options) {
    const Model model = load_model(options.model);
    const digits::Model digits = digits::load_model(options.digits);
    if (model.digits != digits.digits)
        throw std::runtime_error(fmt::format("{} is for {} test digits, but {} has {}", options.model, model.digits,
                                             options.digits, digits.digits));
    const uint32_t batch = options.batch != 0 ? options.batch : digits.digits;
    if (batch > digits.digits)
        throw tools::Failure(fmt::format("--batch {}: there are {} test digits", batch, digits.digits),
                             tools::kExitUsage);

    tools::Signals signals = {SIGINT, SIGTERM, SIGHUP};
    const Device device = Device::open(0, options.chip.device());
    const sidra_device_info info = device.info();
    demo::require_level(info, options.chip);
    demo::print_chip(info);
    const Context context(device);
    Demo demo(context, model, digits, signals);
    fmt::print("network    {} layers: {} weights of 8 bits on {} crossbars\n", model.layers.size(),
               demo.network().weights(), demo.network().crossbars());
    const sidra::Cost programming = demo.programming();
    fmt::print("programmed {} of device time, {}\n",
               demo::time_text(static_cast<double>(programming.picoseconds) * 1e-12),
               demo::energy_text(static_cast<double>(programming.picojoules) * 1e-12));

    // The first run also warms up; every other run must reproduce its logits.
    std::vector<float> logits(size_t{digits.digits} * kClasses);
    std::vector<int32_t> answers(digits.digits);
    std::vector<std::vector<std::byte>> outputs(model.layers.size());
    const auto keep = [&](const Recognizer& recognizer) {
        return [&](uint32_t first, uint32_t count) {
            std::ranges::copy(recognizer.logits().first(count * kClasses), logits.begin() + first * kClasses);
            std::ranges::copy(recognizer.answers().first(count), answers.begin() + first);
            for (size_t n = 0; n < outputs.size(); n++) {
                const std::span<const std::byte> output = recognizer.output(n);
                const auto images = output.first(output.size() / recognizer.answers().size() * count);
                outputs[n].insert(outputs[n].end(), images.begin(), images.end());
            }
        };
    };
    bool repeats = true;
    const auto compare = [&](const Recognizer& recognizer) {
        return [&](uint32_t first, uint32_t count) {
            repeats = repeats && std::ranges::equal(recognizer.logits().first(count * kClasses),
                                                    std::span(logits).subspan(first * kClasses, count * kClasses));
        };
    };
    const Recognizer all = demo.recognizer(batch), one = demo.recognizer(1);
    demo.run(all, 1, keep(all));
    const Cost together = demo.run(all, options.repeat, compare(all)), single = demo.run(one, 1, compare(one));

    const uint32_t right = digits::count_right(digits, answers);
    fmt::print("accuracy   {} of {} ({:.2f} %), with exact products {}\n", right, digits.digits,
               100.0 * right / digits.digits, model.right);
    uint32_t same = 0;
    for (size_t n = 0; n < outputs.size(); n++) same += fnv1a(outputs[n]) == model.layers[n].shape.output_hash;
    const bool exact = same == outputs.size() && digits::fnv1a(logits) == model.logits_hash;
    fmt::print("logits     hash {:08x}; layers with the bits that NumPy gives: {} of {}{}\n", digits::fnv1a(logits),
               same, outputs.size(), exact ? ": bit-exact" : "");

    fmt::print("\na digit takes        {:>12} {:>12} {:>14}\n", "device time", "energy", "wall time");
    const auto print_cost = [](const std::string& what, const Cost& cost) {
        fmt::print("  {:<18} {:>12} {:>12} {:>14}\n", what, demo::time_text(cost.device),
                   demo::energy_text(cost.joules), demo::time_text(cost.wall));
    };
    print_cost(fmt::format("batches of {}", batch), together);
    print_cost("one at a time", single);
    fmt::print(
        "Device time and energy: the chip's, by its cost model. Wall time: of this run, median; a launch of a graph of "
        "{} operations computes a batch.\n",
        all.graph().operations());

    if (options.chip.accurate()) return true;  // noise is no error
    if (!repeats) fmt::print(stderr, "sidra-demo: the chip did not give the same bits on every run\n");
    if (!exact) fmt::print(stderr, "sidra-demo: the chip does not give the bits that NumPy gives\n");
    return repeats && exact;
}

}  // namespace
}  // namespace sidra::convnet

bool sidra::demo::convnet(int argc, char** argv) {
    sidra::convnet::Options options;
    CLI::App app("Recognises handwritten digits with a convolutional network on a SIDRA chip.", "sidra-demo convnet");
    app.option_defaults()->always_capture_default();
    options.chip.add_to(app);
    app.add_option("--batch", options.batch, "Digits in one launch")->check(CLI::Range(1u, 65536u))->default_str("all");
    app.add_option("--repeat", options.repeat, "Measured runs of all digits")->check(CLI::Range(1u, 1000000u));
    app.add_option("--model", options.model, "Network")->check(CLI::ExistingFile);
    app.add_option("--digits", options.digits, "Test digits")->check(CLI::ExistingFile);
    if (!tools::parse_arguments(app, argc, argv)) return true;
    unsetenv("SIDRA_LEVEL");  // the option contains it
    return sidra::convnet::run(options);
}
