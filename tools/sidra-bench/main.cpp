// SPDX-License-Identifier: MIT
// sidra-bench: how fast the chip and everything above it are, beside named peers in the same run. docs: sidra-bench(1).
#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "bars.h"
#include "chip.h"
#include "common/output_file.h"
#include "common/program.h"
#include "error.h"
#include "groups.h"
#include "machine.h"
#include "peers.h"
#include "report.h"

namespace sidra::bench {
namespace {

struct EngineName {
    sidra_engine engine;
    std::string_view name;
};
constexpr EngineName kEngines[] = {{SIDRA_ENGINE_AUTO, "auto"},     {SIDRA_ENGINE_SCALAR, "scalar"},
                                   {SIDRA_ENGINE_AVX2, "avx2"},     {SIDRA_ENGINE_AVX_VNNI, "avx-vnni"},
                                   {SIDRA_ENGINE_AVX512, "avx512"}, {SIDRA_ENGINE_AMX, "amx"},
                                   {SIDRA_ENGINE_NEON, "neon"}};

// A mistake in the command line.
tools::Failure usage(const std::string& what) { return tools::Failure(what, tools::kExitUsage); }

// An empty one is a variable that was not set in a script: not the same as no file.
const CLI::Validator kFileName(
    [](std::string& name) { return std::string(name.empty() ? "a file name is empty" : ""); }, "", "file name");

struct Options {
    std::vector<std::string> groups;
    std::string engine = "auto";
    uint32_t workers = 0;
    bool quick = false;
    std::string json, figures, nvme;
    double host_memcpy = 0, host_mvm = 0;
    bool list = false;
    bool open_probe = false, idle_probe = false, matmul_probe = false, conv_probe = false;
};

sidra_engine parse_engine(const std::string& name) {
    for (const auto& e : kEngines) {
        if (e.name == name) return e.engine;
    }
    throw usage(
        fmt::format("unknown engine '{}'; the engines are auto, scalar, avx2, avx-vnni, avx512, amx and neon", name));
}

// "noop, copy, ... and all"
std::string group_names() {
    std::string names;
    for (const Group& group : kGroups) names += fmt::format("{}, ", group.name);
    return names.substr(0, names.size() - 2) + " and all";
}

// The groups to run, in the order of kGroups.
std::vector<const Group*> chosen_groups(const Options& options) {
    for (const auto& name : options.groups) {
        const bool known =
            name == "all" || std::any_of(kGroups.begin(), kGroups.end(), [&](auto& g) { return g.name == name; });
        if (!known) throw usage(fmt::format("unknown group '{}'; the groups are {}", name, group_names()));
    }
    const bool all = options.groups.empty() || std::count(options.groups.begin(), options.groups.end(), "all") > 0;
    std::vector<const Group*> groups;
    for (const Group& group : kGroups) {
        if ((all && !group.needs_driver && group.file == Figures::kSpine) ||
            std::count(options.groups.begin(), options.groups.end(), group.name) > 0)
            groups.push_back(&group);
    }
    return groups;
}

// Engines that this machine has, the fastest last.
std::vector<sidra_engine> engines_here() {
    if (std::string_view(Chip(SIDRA_ENGINE_AUTO, 0).info().transport) != "embedded") return {SIDRA_ENGINE_AUTO};
    std::vector<sidra_engine> engines;
    for (const auto& e : kEngines) {
        if (e.engine != SIDRA_ENGINE_AUTO && Chip::open_if_supported(e.engine, 0)) engines.push_back(e.engine);
    }
    return engines;
}

void print_list() {
    fmt::print("groups:\n");
    for (const Group& group : kGroups) fmt::print("  {:<7} {}\n", group.name, group.text);
    fmt::print("engines on this machine:\n ");
    for (const sidra_engine engine : engines_here()) fmt::print(" {}", engine_name(engine));
    fmt::print("\nbars:\n");
    for (const Bar& bar : kBars) {
        fmt::print("  {:<25} {} {:<6} {}\n", bar.key, bar.at_least ? ">=" : "<=", figure(bar.target), bar.text);
    }
}

Json peers() {
    Json::Object all;
    all.emplace_back("memcpy", "C library");
    all.emplace_back("oneDNN", onednn_version().empty() ? Json("not in this build") : Json(onednn_version()));
    all.emplace_back("OpenBLAS", openblas_version().empty()
                                     ? Json("not in this build")
                                     : Json(fmt::format("{} ({} kernels)", openblas_version(), openblas_core())));
    return all;
}

std::string peers_line() {
    const auto name = [](std::string_view peer, const std::string& version) {
        return version.empty() ? fmt::format("{}: not in this build", peer) : fmt::format("{} {}", peer, version);
    };
    std::string line = name("oneDNN", onednn_version()) + ", " + name("OpenBLAS", openblas_version());
    if (!openblas_core().empty()) line += fmt::format(" ({} kernels)", openblas_core());
    return line + ", memcpy of the C library";
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts;
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

std::string library_version() {
    const uint32_t version = sidra_version();
    return fmt::format("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff);
}

void run(const Options& options) {
    const auto groups = chosen_groups(options);
    Settings settings;
    settings.engine = parse_engine(options.engine);
    if (options.open_probe) return open_probe(settings.engine);
    if (options.idle_probe) return idle_probe(settings.engine);
    if (options.conv_probe) return conv_probe(options.workers);
    if (options.list) return print_list();
    // A file of figures is of all groups that share it.
    const auto beside_first = [&](const Group& group) {
        return group.needs_driver == groups.front()->needs_driver && group.file == groups.front()->file;
    };
    const auto whole = static_cast<size_t>(std::count_if(kGroups.begin(), kGroups.end(), beside_first));
    const bool alike = std::all_of(groups.begin(), groups.end(), [&](auto* group) { return beside_first(*group); });
    if (!options.figures.empty() && (!alike || groups.size() != whole))
        throw usage(
            "--figures needs all groups (name none), or driver and recover, or twin, or vector, matmul, conv and "
            "network");
    if (!options.figures.empty() && !unfit_build().empty()) {
        throw Error(fmt::format("cannot write figures: this sidra-bench is {}; use a release build", unfit_build()));
    }
    for (const auto& file : {options.json, options.figures}) {
        if (!file.empty()) tools::require_writable(file);
    }

    settings.cpus = cpus();
    settings.workers = options.workers > 0 ? options.workers : settings.cpus;
    settings.quick = options.quick;
    settings.nvme = options.nvme;
    settings.host_memcpy = options.host_memcpy;
    settings.host_mvm = options.host_mvm;
    if (options.matmul_probe) return matmul_probe(settings);
    const Chip probe(settings.engine, settings.workers);  // an engine that is not there is found out now
    const sidra_device_info info = probe.info();
    settings.mvm_engines = settings.engine == SIDRA_ENGINE_AUTO ? engines_here() : std::vector{settings.engine};

    fmt::print("sidra-bench {}: {} chip, engine {}, workers {}\n{}\n{}; {}\n", library_version(), info.transport,
               info.engine[0] != '\0' ? info.engine : "none", settings.workers, machine(), compiler(), peers_line());
    if (!unfit_build().empty())
        fmt::print("This program is {}, so its figures mean nothing. Use a release build.\n", unfit_build());

    Report report;
    const OtherLoad others;
    for (const Group* group : groups) group->run(settings, report);
    report.progress().clear();
    report.print_bars();
    const double disturbed = others.percent();
    if (disturbed > 5) {
        fmt::print(
            "Other processes used {:.0f} % of this machine's CPU time during the run, so the figures may be too low. "
            "Run "
            "it again when the machine is idle.\n",
            disturbed);
    }

    const Json::Object where = {{"sidra", library_version()}, {"machine", machine()},
                                {"compiler", compiler()},     {"transport", info.transport},
                                {"engine", info.engine},      {"workers", settings.workers},
                                {"quick", settings.quick},    {"load_by_others_percent", disturbed},
                                {"measured_at", utc_now()}};
    if (!options.json.empty()) {
        Json::Object head = {{"schema", "sidra-bench/1"}};
        head.insert(head.end(), where.begin(), where.end());
        head.emplace_back("build", unfit_build().empty() ? "release" : unfit_build());
        head.emplace_back("peers", peers());
        tools::write_file(options.json, report.json(std::move(head)));
    }
    if (!options.figures.empty()) {
        Json::Object tail = where;
        tail.emplace_back("peers", peers_line());
        tools::write_file(options.figures, report.figures(std::move(tail), groups.front()->file));
    }
}

void main_inner(int argc, char** argv) {
    Options options;
    CLI::App app("Measures a SIDRA chip and its software, and peers in the same run.", "sidra-bench");
    app.footer(fmt::format("Groups: {}. See sidra-bench(1).", group_names()));
    app.add_option("group", options.groups,
                   "Groups to measure (default, if there is an option: all, which is all that need no driver and have "
                   "their figures in spine.json)");
    app.add_option("--engine", options.engine,
                   "Engine of the chip model: auto, scalar, avx2, avx-vnni, avx512, amx or neon");
    app.add_option("--workers", options.workers, "Threads of the chip and of its peers (default: one per CPU)")
        ->check(CLI::Range(1, 256));
    app.add_flag("--quick", options.quick, "Measure fewer shapes, in fewer rounds");
    app.add_option("--json", options.json, "Write all results to this file, as JSON")->check(kFileName);
    app.add_option("--figures", options.figures, "Write the figures of the bars to this file, as one flat JSON object")
        ->check(kFileName);
    app.add_option("--nvme", options.nvme, "NVMe namespace (/dev/ng0n1) with which the driver group is compared")
        ->check(kFileName);
    app.add_option("--host-memcpy", options.host_memcpy,
                   "Time of a memcpy of 64 MiB on the host in seconds, for the driver group in a guest")
        ->check(CLI::PositiveNumber);
    app.add_option("--host-mvm", options.host_mvm,
                   "Time of an MVM 1024x1024, batch 256, of an embedded chip on the host in seconds")
        ->check(CLI::PositiveNumber);
    app.add_flag("--list", options.list, "List groups, engines of this machine and bars; measure nothing");
    app.add_flag("--open-probe", options.open_probe)->group("");
    app.add_flag("--idle-probe", options.idle_probe)->group("");
    app.add_flag("--matmul-probe", options.matmul_probe)->group("");
    app.add_flag("--conv-probe", options.conv_probe)->group("");
    if (!tools::parse_arguments(app, argc, argv)) return;
    if (argc < 2) throw usage(fmt::format("there is nothing to measure; name groups ({})", group_names()));
    run(options);
}

}  // namespace

std::string_view engine_name(sidra_engine engine) {
    const auto* found =
        std::find_if(std::begin(kEngines), std::end(kEngines), [&](auto& e) { return e.engine == engine; });
    return found != std::end(kEngines) ? found->name : "auto";
}

}  // namespace sidra::bench

int main(int argc, char** argv) {
    return sidra::tools::run_program("sidra-bench", [&] {
        sidra::bench::restart_with_best_openblas(argv);
        setenv("SIDRA_QUIET", "1", 0);  // the first line of the report says which chip this is
        sidra::bench::main_inner(argc, argv);
    });
}
