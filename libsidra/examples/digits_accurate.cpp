// SPDX-License-Identifier: MIT
#include "digits_accurate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "common/output_file.h"
#include "digits_network.h"
#include "digits_plot.h"

namespace sidra::digits {
namespace {

constexpr double kDay = 24 * 3600, kYear = 365.25 * kDay;
constexpr double kAgeMost = 1e10, kColdest = -55, kHottest = 250;  // limits of the fault knobs
constexpr uint32_t kCalibration = 128;                             // digits
constexpr uint32_t kChips = 3;  // an accuracy is the mean over these chips, each with its own errors

// Splits a text into the number in front and the rest.
bool split(const std::string& text, double* number, std::string_view* unit) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    *unit = {end, static_cast<size_t>(text.data() + text.size() - end)};
    return error == std::errc{} && std::isfinite(*number);
}

[[noreturn]] void refuse(std::string_view option, const std::string& text, std::string_view allowed) {
    throw wrong_command_line(fmt::format("{} {}: must be {}", option, text, allowed));
}

uint32_t parts_per_million(double share) {
    const auto parts = static_cast<uint32_t>(std::lround(share * 1e6));
    return parts == 0 ? SIDRA_STUCK_NONE : parts;
}

// Programming statistics of the network.
struct Pulsing {
    uint64_t arrived = 0, failed = 0, pulses = 0;
    double squares = 0;  // of the errors of converged cells

    explicit Pulsing(const Network& network) {
        for (size_t layer = 0; layer < network.model().layers.size(); layer++) {
            auto info = SIDRA_INIT(sidra_weights_info);
            check(sidra_weights_get_info(network.weights(layer), &info), "asking about weights");
            for (uint32_t tile = 0; tile < info.crossbars; tile++) add(network.weights(layer), tile);
        }
    }
    std::string text() const {
        const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
        const auto whole = static_cast<double>(arrived), all = whole + static_cast<double>(failed);
        return fmt::format("{:.2f} pulses a cell, {:.3f} % failed, the others {:.2f} % of G_max off",
                           share(static_cast<double>(pulses), all), 100 * share(static_cast<double>(failed), all),
                           100 * std::sqrt(share(squares, whole)));
    }

   private:
    void add(sidra_weights* weights, uint32_t tile) {
        auto report = SIDRA_INIT(sidra_tile_report);
        check(sidra_weights_report(weights, tile, &report), "reading the reports of programming");
        const uint64_t cells = std::accumulate(std::begin(report.arrived), std::end(report.arrived), uint64_t{0});
        arrived += cells;
        failed += report.failed;
        pulses += report.set_pulses + report.reset_pulses;
        squares += report.error_sigma * report.error_sigma * static_cast<double>(cells);
    }
};

// A separate chip, programmed with the network.
class Chip {
   public:
    Chip(const Model& model, sidra_device_options options, sidra_level level, double stuck, uint64_t seed,
         const std::string& trace)
        : model_(model) {
        options.level = level;
        options.stuck_ppm = parts_per_million(stuck);
        options.private_chip = true;
        options.seed = seed;
        options.trace_file = trace.c_str();
        sidra_device* device = nullptr;
        check(sidra_device_open(0, &options, &device), "opening a chip at level accurate");
        device_.reset(device);
        sidra_context* context = nullptr;
        check(sidra_context_create(device, &context), "creating a context");
        context_.reset(context);
        sidra_stream* stream = nullptr;
        check(sidra_stream_create(context, nullptr, &stream), "creating a stream");
        stream_.reset(stream);
        const Cost start = Cost::of(stream);
        network_ = std::make_unique<Network>(context, stream, model);
        synchronize(stream, "programming the network");
        programming_ = Cost::of(stream).since(start);
        all_ = std::make_unique<Recognizer>(*network_, stream, model.digits, model.digits);
        std::copy(model.pixels.begin(), model.pixels.end(), all_->pixels().begin());
    }

    void age(double seconds, double celsius) {
        const auto turn = [&](const char* knob, double value) {
            check(sidra_device_set_fault_knob(device_.get(), knob, static_cast<uint64_t>(std::llround(value))),
                  "ageing the chip");
        };
        turn("temperature-mc", celsius * 1000);
        turn("age-s", seconds);
    }

    // The ADCs keep the ranges that the first digits need.
    void calibrate() {
        const Recognizer some(*network_, stream_.get(), kCalibration, kCalibration, sidra_weights_calibrate_async);
        std::copy_n(model_.pixels.begin(), some.pixels().size(), some.pixels().begin());
        run(stream_.get(), some.graph());
    }

    // Percentage of correctly recognised digits.
    double accuracy() {
        run(stream_.get(), all_->graph());
        return 100.0 * count_right(model_, all_->answers()) / model_.digits;
    }
    std::vector<float> logits() const { return {all_->logits().begin(), all_->logits().end()}; }
    const Cost& programming() const { return programming_; }
    std::string pulsing() const { return Pulsing(*network_).text(); }

   private:
    const Model& model_;
    Device device_;
    Context context_;
    Stream stream_;
    std::unique_ptr<Network> network_;
    std::unique_ptr<Recognizer> all_;
    Cost programming_;
};

struct Result {
    double accuracy = 0;  // percent, mean
    double off = 0;       // RMS difference of the logits from level `fast`, relative to their RMS; percent, mean
    Cost programming;     // of one chip
    std::string pulsing;  // of one chip
};

class Comparison {
   public:
    Comparison(const Model& model, const sidra_device_options& options) : model_(model), options_(options) {
        Chip chip(model, options, SIDRA_LEVEL_FAST, 0, options.seed, "");
        fast_.accuracy = chip.accuracy();
        fast_.programming = chip.programming();
        logits_ = chip.logits();
    }

    const Result& fast() const { return fast_; }
    // `trace`: trace file for the chip whose programming costs the result contains.
    Result accurate(const Surroundings& where, bool calibrated = false, const std::string& trace = "") const {
        Result result;
        for (uint32_t i = 0; i < kChips; i++) {
            Chip chip(model_, options_, SIDRA_LEVEL_ACCURATE, where.stuck, options_.seed + 1 + i,
                      i == kChips - 1 ? trace : "");
            if (where.age > 0) chip.age(where.age, where.temperature);
            if (calibrated) chip.calibrate();
            result.accuracy += chip.accuracy() / kChips;
            const std::vector<float> logits = chip.logits();
            double wrong = 0, all = 0;
            for (size_t k = 0; k < logits.size(); k++) {
                wrong += std::pow(static_cast<double>(logits[k]) - static_cast<double>(logits_[k]), 2);
                all += std::pow(static_cast<double>(logits_[k]), 2);
            }
            result.off += 100 * std::sqrt(wrong / all) / kChips;
            result.programming = chip.programming();
            result.pulsing = chip.pulsing();
        }
        return result;
    }

   private:
    const Model& model_;
    const sidra_device_options options_;
    Result fast_;
    std::vector<float> logits_;
};

std::string age_text(double seconds) {
    constexpr std::pair<double, std::string_view> kUnits[] = {{kYear, "y"}, {kDay, "d"}, {3600, "h"}, {60, "min"}};
    for (const auto& [unit, name] : kUnits)
        if (seconds >= unit) return fmt::format("{:.4g} {}", seconds / unit, name);
    return fmt::format("{:.4g} s", seconds);
}

std::string share_text(double share) { return fmt::format("{:.4g} %", share * 100); }

void print(const std::string& what, const Result& result) {
    fmt::print("  {:<44} {:>8.2f} % {:>12.1f} %\n", what, result.accuracy, result.off);
}

// Prints the statistical uncertainty of accuracies of so few digits.
void print_certainty(uint32_t digits, double accuracy) {
    fmt::print("  one of {} digits is {:.2f} %, a standard error {:.1f} %: differences below two of those say little\n",
               digits, 100.0 / digits, std::sqrt(accuracy * (100 - accuracy) / digits));
}

// Accuracy as a function of one of the three parameters, with the others as given.
std::vector<Panel> panels_of(const Comparison& comparison, const Surroundings& where) {
    constexpr double kAges[] = {0, 1, 3, 10, 30, 100}, kTemperatures[] = {25, 60, 85, 105, 125},
                     kShares[] = {0, 0.001, 0.01, 0.03, 0.1, 0.2};
    const double age = where.age > 0 ? where.age : kYear;
    Panel ages{fmt::format("Age at {:.4g} °C, in years", where.temperature), {}},
        temperatures{fmt::format("Temperature for {}, in °C", age_text(age)), {}},
        shares{fmt::format("Stuck cells at the age of {}, in %", age_text(where.age)), {}};
    const auto add = [&](Panel* panel, double x, const Surroundings& there) {
        panel->points.push_back({fmt::format("{:.4g}", x), comparison.accurate(there).accuracy});
    };
    for (const double years : kAges) add(&ages, years, {years * kYear, where.temperature, where.stuck});
    for (const double celsius : kTemperatures) add(&temperatures, celsius, {age, celsius, where.stuck});
    for (const double share : kShares) add(&shares, share * 100, {where.age, where.temperature, share});
    return {ages, temperatures, shares};
}

}  // namespace

tools::Failure wrong_command_line(const std::string& what) {
    return tools::Failure(what + " (sidra-demo --help)", tools::kExitUsage);
}

double parse_age(const std::string& text) {
    constexpr std::pair<std::string_view, double> kUnits[] = {
        {"s", 1}, {"min", 60}, {"h", 3600}, {"d", kDay}, {"y", kYear}};
    double number;
    std::string_view unit;
    if (split(text, &number, &unit))
        for (const auto& [name, seconds] : kUnits)
            if (unit == name && number >= 0 && number * seconds <= kAgeMost) return number * seconds;
    refuse("--age", text, "a number with s, min, h, d or y, from 0 to 316y; such as 90s or 1y");
}

double parse_stuck(const std::string& text) {
    double number;
    std::string_view unit;
    if (split(text, &number, &unit) && (unit.empty() || unit == "%")) {
        const double share = unit.empty() ? number : number / 100;
        if (share >= 0 && share <= 1) return share;
    }
    refuse("--stuck", text, "a share of the cells, from 0 to 100%; such as 0.1% or 0.001");
}

double parse_temperature(const std::string& text) {
    double number;
    std::string_view unit;
    if (split(text, &number, &unit) && unit.empty() && number >= kColdest && number <= kHottest) return number;
    refuse("--temperature", text, "degrees Celsius, from -55 to 250; such as 85");
}

bool compare_levels(const Model& model, const sidra_device_options& device, const Surroundings& surroundings,
                    const std::string& out, const std::string& trace) {
    const Comparison comparison(model, device);
    const Result& fast = comparison.fast();
    const Result fresh = comparison.accurate({0, surroundings.temperature, 0}), usual = comparison.accurate({}),
                 stuck = comparison.accurate({0, surroundings.temperature, surroundings.stuck}, false, trace);
    fmt::print("level accurate, means of {} chips              accuracy   logits off\n", kChips);
    print("level fast", fast);
    print("programming, noise, wires and ADCs", fresh);
    print(fmt::format("and ranges of the ADCs by {} digits", kCalibration),
          comparison.accurate({0, surroundings.temperature, 0}, true));
    print(fmt::format("or {} of the cells stuck", share_text(surroundings.stuck)), stuck);
    if (surroundings.age > 0) {
        Surroundings cool = surroundings;
        cool.temperature = Surroundings{}.temperature;
        print(fmt::format("and after {} at {:.4g} °C", age_text(surroundings.age), cool.temperature),
              comparison.accurate(cool));
        if (surroundings.temperature != cool.temperature)
            print(fmt::format("or after {} at {:.4g} °C", age_text(surroundings.age), surroundings.temperature),
                  comparison.accurate(surroundings));
    }
    print_certainty(model.digits, fast.accuracy);
    fmt::print("programmed {} of device time and {} at level accurate, {} and {} at level fast\n",
               time_text(stuck.programming.seconds), energy_text(stuck.programming.joules),
               time_text(fast.programming.seconds), energy_text(fast.programming.joules));
    fmt::print("           {}\n", stuck.pulsing);
    if (!trace.empty()) fmt::print("trace      {}, of a chip of level accurate, that got these pulses\n", trace);
    tools::write_file(out, draw_plot("Accuracy of the digits at level accurate",
                                     fmt::format("Level fast: {:.2f} % (dashed). Each point is the mean of {} chips.",
                                                 fast.accuracy, kChips),
                                     fast.accuracy, panels_of(comparison, surroundings)));
    fmt::print("plot       {}\n", out);
    const bool good = usual.accuracy + 1 >= fast.accuracy;
    if (!good)
        fmt::print(stderr, "sidra-demo: a new chip is more than one point less accurate at level accurate than fast\n");
    return good;
}

}  // namespace sidra::digits
