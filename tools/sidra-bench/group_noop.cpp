// SPDX-License-Identifier: MIT
// The cost of a packet: everything that the stack does for each of them, and nothing else.
#include <fmt/format.h>

#include "chip.h"
#include "groups.h"
#include "peers.h"

namespace sidra::bench {
namespace {

struct Case {
    uint32_t batch;  // packets a doorbell
    bool reports;    // a stream that keeps a report of each operation; the default is one that does not
};

constexpr Case kCases[] = {{64, false}, {8, false}, {1, false}, {64, true}, {8, true}, {1, true}};

// A long run, then one wait; a call is `batch` packets.
void submit(sidra_stream* stream, uint32_t batch, uint64_t calls) {
    for (uint64_t i = 0; i < calls; ++i) {
        if (batch == 1) {
            SIDRA_CHECK(sidra_nop_async(stream));
            continue;
        }
        SIDRA_CHECK(sidra_batch_begin(stream));
        for (uint32_t j = 0; j < batch; ++j) SIDRA_CHECK(sidra_nop_async(stream));
        SIDRA_CHECK(sidra_batch_end(stream));
    }
    SIDRA_CHECK(sidra_stream_synchronize(stream, long_deadline()));
}

void measure_rates(const Settings& settings, Report& report) {
    const Chip chip(settings.engine, settings.workers);
    std::vector<Stream> streams;
    std::vector<Contender> contenders;
    for (const Case& c : kCases) {
        sidra_stream* stream = streams.emplace_back(chip.make_stream(c.reports)).get();
        contenders.push_back({"noop", [stream, c](uint64_t calls) { submit(stream, c.batch, calls); }});
    }
    Method method = settings.bar_method();
    method.sample_s = 2e-3;  // tens of thousands of packets: the wait at the end disappears among them
    method.samples = 15;
    report.progress().show("noop: rate");
    const auto timings = measure(contenders, method);

    Table table({"packets per doorbell", "reports", "M packets/s", "median", "ns per packet"});
    for (size_t i = 0; i < timings.size(); ++i) {
        const auto& [batch, reports] = kCases[i];
        const Timing& t = timings[i];
        table.add({fmt::format("{}", batch), reports ? "yes" : "no", rate_text(batch / 1e6, t),
                   figure(batch / t.median_s / 1e6), figure(t.min_s / batch * 1e9)});
        report.add({"noop",
                    "rate",
                    {{"batch", batch}, {"reports", reports}, {"workers", settings.workers}},
                    t,
                    static_cast<double>(batch),
                    "packets/s"});
        if (!reports && batch == 64) report.set_bar("noop_rate_b64", batch / t.min_s, t.settled);
        if (!reports && batch == 1) report.set_bar("noop_rate_b1", batch / t.min_s, t.settled);
    }
    report.print(fmt::format("No-op packets, {} workers (?: unsettled)", settings.workers), table);
}

void measure_round_trip(const Settings& settings, Report& report) {
    const Chip chip(settings.engine, settings.workers);
    SpinRoundTrip spin;
    const auto submit_and_wait = [stream = chip.stream()](uint64_t calls) {
        const uint64_t deadline = long_deadline();
        for (uint64_t i = 0; i < calls; ++i) {
            SIDRA_CHECK(sidra_nop_async(stream));
            SIDRA_CHECK(sidra_stream_synchronize(stream, deadline));
        }
    };
    // Two threads must be on two CPUs at once. Where others want those too, only short samples have a chance to be
    // undisturbed.
    constexpr uint64_t kMinCalls = 40;
    const std::vector<Contender> contenders = {
        {"submit and wait", submit_and_wait, {}, kMinCalls},
        {"spin round trip", [&spin](uint64_t calls) { spin.run(calls); }, {}, kMinCalls}};
    Method method = settings.bar_method();
    method.sample_s = 50e-6;
    method.samples = 50;
    report.progress().show("noop: round trip");
    const auto timings = measure(contenders, method);
    const Ratio speed = speed_ratio(timings[0], timings[1]);

    Table table({"one no-op", "best", "median"});
    for (const Timing& t : timings) table.add({t.name, seconds_text(t.min_s), seconds_text(t.median_s)});
    table.add({"time / spin", figure(1 / speed.best), figure(1 / speed.median)});
    report.print("Submit and wait", table);
    report.add({"noop",
                timings[0].name,
                {{"workers", settings.workers}},
                timings[0],
                1,
                "round trips/s",
                false,
                {{timings[1].name, speed}}});
    report.add({"noop", timings[1].name, {}, timings[1], 1, "round trips/s", true});
    // Pair by pair: the spin's best sample depends on whether the hypervisor had the two CPUs on one core just then,
    // which does nothing for a round trip that stays on one thread.
    report.set_bar("noop_rtt_vs_spin", 1 / speed.median, speed.settled);
}

}  // namespace

void run_noop(const Settings& settings, Report& report) {
    measure_rates(settings, report);
    if (settings.cpus >= 2) measure_round_trip(settings, report);  // two threads cannot spin on one CPU
}

}  // namespace sidra::bench
