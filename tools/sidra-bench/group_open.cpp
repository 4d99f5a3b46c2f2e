// SPDX-License-Identifier: MIT
// What an application pays before its first operation, and while it does nothing: each measured in a process of its
// own, as in a process that has opened chips before, pages and allocations would be there already.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <thread>

#include "chip.h"
#include "error.h"
#include "fresh_process.h"
#include "groups.h"

namespace sidra::bench {
namespace {

struct Opened {
    double device_ms, context_ms, stream_ms, rss_mib;
    double total_ms() const { return device_ms + context_ms + stream_ms; }
};

double resident_mib() {
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/statm", "re"), std::fclose);
    unsigned long size = 0, resident = 0;
    if (file == nullptr || std::fscanf(file.get(), "%lu %lu", &size, &resident) != 2)
        throw Error("cannot read /proc/self/statm");
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

double cpu_s() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// No threads of a peer in there.
std::string probe(const char* option, sidra_engine engine) {
    return fresh_process({option, fmt::format("--engine={}", engine_name(engine))}, {{"OPENBLAS_NUM_THREADS", "1"}});
}

double median_of(const std::vector<Opened>& runs, double (*what)(const Opened&)) {
    std::vector<double> values;
    values.reserve(runs.size());
    for (const Opened& run : runs) values.push_back(what(run));
    return median(std::move(values));
}

}  // namespace

void open_probe(sidra_engine engine) {
    wait_until_quiet();
    sidra_device_options options = SIDRA_INIT(sidra_device_options);
    options.profile = SIDRA_PROFILE_Y1;
    options.engine = engine;
    Device device;
    Context context;
    Stream stream;
    const double before_mib = resident_mib();
    const double start = now_s();
    sidra_device* opened = nullptr;
    SIDRA_CHECK(sidra_device_open(0, &options, &opened));
    device.reset(opened);
    const double device_open = now_s();
    sidra_context* with_context = nullptr;
    SIDRA_CHECK(sidra_context_create(opened, &with_context));
    context.reset(with_context);
    const double context_open = now_s();
    sidra_stream* with_stream = nullptr;
    SIDRA_CHECK(sidra_stream_create(with_context, nullptr, &with_stream));
    stream.reset(with_stream);
    const double stream_open = now_s();
    fmt::print("{} {} {} {}\n", (device_open - start) * 1e3, (context_open - device_open) * 1e3,
               (stream_open - context_open) * 1e3, resident_mib() - before_mib);
}

void idle_probe(sidra_engine engine) {
    const Chip chip(engine, 0);
    const Buffer word(chip.context(), sizeof(uint64_t));
    *word.as<uint64_t>() = 0;
    const Stream parked = chip.make_stream(false);
    SIDRA_CHECK(sidra_nop_async(chip.stream()));
    chip.wait();
    SIDRA_CHECK(sidra_semaphore_wait_async(parked.get(), word.ref(), 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (sidra_stream_query(parked.get()) != SIDRA_ERROR_NOT_READY)
        throw Error("the stream that should be parked is not");

    const double start = now_s();
    const double used = cpu_s();
    std::this_thread::sleep_for(std::chrono::seconds(2));
    const double percent = (cpu_s() - used) / (now_s() - start) * 100;

    // It was parked, not dead: it goes on when signalled.
    SIDRA_CHECK(sidra_semaphore_signal(chip.context(), word.ref(), 1));
    SIDRA_CHECK(sidra_stream_synchronize(parked.get(), long_deadline()));
    fmt::print("{}\n", percent);
}

void run_open(const Settings& settings, Report& report) {
    report.progress().show("open: nine new processes");
    std::vector<Opened> runs;
    for (int i = 0; i < 9; ++i) {
        const std::string text = probe("--open-probe", settings.engine);
        Opened& o = runs.emplace_back();
        if (std::sscanf(text.c_str(), "%lf %lf %lf %lf", &o.device_ms, &o.context_ms, &o.stream_ms, &o.rss_mib) != 4) {
            throw Error("the process 'sidra-bench --open-probe' printed no figures");
        }
    }
    report.progress().show("open: idle for two seconds");
    double idle_percent = 0;
    if (std::sscanf(probe("--idle-probe", settings.engine).c_str(), "%lf", &idle_percent) != 1) {
        throw Error("the process 'sidra-bench --idle-probe' printed no figure");
    }

    const auto total = [](const Opened& o) { return o.total_ms(); };
    const auto rss = [](const Opened& o) { return o.rss_mib; };
    const auto fastest =
        std::min_element(runs.begin(), runs.end(), [](auto& a, auto& b) { return a.total_ms() < b.total_ms(); });
    Table table({"in a new process", "median", "best"});
    const auto add = [&](const char* name, const char* unit, double middle, double best) {
        table.add({fmt::format("{}, {}", name, unit), figure(middle), figure(best)});
        report.add_value("open", name, {{"runs", runs.size()}, {"best", best}}, middle, unit);
    };
    add("device open", "ms", median_of(runs, [](const Opened& o) { return o.device_ms; }), fastest->device_ms);
    add("context create", "ms", median_of(runs, [](const Opened& o) { return o.context_ms; }), fastest->context_ms);
    add("stream create", "ms", median_of(runs, [](const Opened& o) { return o.stream_ms; }), fastest->stream_ms);
    add("all three", "ms", median_of(runs, total), fastest->total_ms());
    add("resident memory taken", "MiB", median_of(runs, rss), fastest->rss_mib);
    table.add({"CPU while idle (2 s), %", figure(idle_percent), ""});
    report.add_value("open", "CPU while idle", {{"seconds", 2}}, idle_percent, "%");
    report.print("Opening the full chip", table);
    report.set_bar("open_ms", median_of(runs, total));
    report.set_bar("open_rss_mib", median_of(runs, rss));
    report.set_bar("idle_cpu_percent", idle_percent);
}

}  // namespace sidra::bench
