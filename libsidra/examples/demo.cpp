// SPDX-License-Identifier: MIT
#include "demo.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <stdexcept>

#include "common/program.h"
#include "common/signals.h"

namespace sidra::demo {
namespace {

constexpr int kSignalled = 128;  // plus the number of the signal: the exit status, as a shell has it

const std::map<std::string, sidra_engine> kEngines = {
    {"auto", SIDRA_ENGINE_AUTO},         {"scalar", SIDRA_ENGINE_SCALAR}, {"avx2", SIDRA_ENGINE_AVX2},
    {"avx-vnni", SIDRA_ENGINE_AVX_VNNI}, {"avx512", SIDRA_ENGINE_AVX512}, {"amx", SIDRA_ENGINE_AMX},
    {"neon", SIDRA_ENGINE_NEON}};
const std::map<std::string, sidra_profile> kProfiles = {{"y1", SIDRA_PROFILE_Y1}, {"small", SIDRA_PROFILE_SMALL}};
const std::map<std::string, sidra_level> kLevels = {{"fast", SIDRA_LEVEL_FAST}, {"accurate", SIDRA_LEVEL_ACCURATE}};

template <class T>
std::vector<std::string> names(const std::map<std::string, T>& values) {
    std::vector<std::string> names;
    for (const auto& [name, value] : values) names.push_back(name);
    return names;
}

}  // namespace

void ChipOptions::add_to(CLI::App& app) {
    app.add_option("--engine", engine, "What computes in the chip model")->check(CLI::IsMember(names(kEngines)));
    app.add_option("--profile", profile, "Size of the chip model")->check(CLI::IsMember(names(kProfiles)));
    app.add_option("--level", level, "fast; accurate: with the errors of cells, wires and ADCs")
        ->check(CLI::IsMember(names(kLevels)))
        ->envname("SIDRA_LEVEL");
}

sidra_device_options ChipOptions::device() const {
    auto chosen = SIDRA_INIT(sidra_device_options);
    chosen.engine = kEngines.at(engine);
    chosen.profile = kProfiles.at(profile);
    chosen.level = kLevels.at(level);
    return chosen;
}

void require_level(const sidra_device_info& info, const ChipOptions& options) {
    if (options.accurate() && std::string_view(info.transport) != "embedded")
        throw std::runtime_error(
            "--level accurate: the level of this device is fixed; SIDRA_DEVICE=embedded uses a chip model in this "
            "process");
}

void print_chip(const sidra_device_info& info) {
    std::string kind = info.model ? "a model" : "silicon";
    if (info.engine[0] != '\0') kind += fmt::format(" (engine {})", info.engine);  // only an embedded chip reports it
    fmt::print(
        "chip       {}, transport {}, {}: {} clusters x {} CUs x {} crossbars of {} x {} cells = {} crossbars, {} "
        "free\n",
        info.name, info.transport, kind, info.clusters, info.cus_per_cluster, info.crossbars_per_cu, info.rows,
        info.cols, info.crossbars_total, info.crossbars_free);
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
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

void check_signals(tools::Signals& signals) {
    const int signal = signals.next();
    if (signal != 0) throw tools::Failure(fmt::format("interrupted by signal {}", signal), kSignalled + signal);
}

void wait(Stream& stream, tools::Signals& signals, const std::function<void()>& busy) {
    while (!stream.synchronize(Deadline::after(std::chrono::milliseconds(100)))) {
        check_signals(signals);
        busy();
    }
    check_signals(signals);
}

}  // namespace sidra::demo
