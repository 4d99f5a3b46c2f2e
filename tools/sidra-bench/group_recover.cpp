// SPDX-License-Identifier: MIT
// When it goes wrong: how long until work goes on, and what a well-behaved context has beside one that never ends.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string_view>
#include <thread>

#include "chip.h"
#include "driver_node.h"
#include "error.h"
#include "groups.h"
#include "kernel_queue.h"

namespace sidra::bench {
namespace {

constexpr size_t kBytes = size_t{1} << 20;  // of a copy
constexpr int kAtOnce = 64;
constexpr int kShareRounds = 5;  // alone and beside in turns: what changes on this machine hits both

using Event = std::unique_ptr<sidra_event, Destroy<sidra_event_destroy>>;

Event make_event(const Chip& chip) {
    sidra_event* event = nullptr;
    SIDRA_CHECK(sidra_event_create(chip.context(), SIDRA_EVENT_DEFAULT, &event));
    return Event(event);
}

void measure_recovery(const Settings& settings, Report& report) {
    KernelQueue queue(driver_node());
    const struct {
        const char *name, *bar;
        double (KernelQueue::*recover)();
    } ways[] = {{"reset of a queue that faulted", "recover_queue_ms", &KernelQueue::recover_queue},
                {"recovery of a context that was lost", "recover_context_ms", &KernelQueue::recover_context},
                {"reset of the device", "recover_device_ms", &KernelQueue::recover_device}};
    Table table({"time until a no-op retires again", "median", "worst"});
    for (const auto& way : ways) {
        report.progress().show(fmt::format("recover: {}", way.name));
        std::vector<double> seconds(settings.quick ? 7 : 21);
        for (double& one : seconds) one = (queue.*way.recover)();
        table.add(
            {way.name, seconds_text(median(seconds)), seconds_text(*std::max_element(seconds.begin(), seconds.end()))});
        report.set_bar(way.bar, median(seconds) * 1e3);
    }
    report.print("Recovery", table);
}

// Keeps the chip busy for ever, with the victim's own kind of work: what they share is the chip, and neither of them
// waits for memory where the other one has a cache. Recorded, so that it takes no CPU from the victim, either.
class Endless {
   public:
    explicit Endless(const Chip& chip) : chip_(chip), memory_(chip.context(), 2 * kBytes) {
        sidra_graph* graph = nullptr;
        SIDRA_CHECK(sidra_graph_begin(chip.stream()));
        for (int i = 0; i < kCopies; ++i)
            SIDRA_CHECK(sidra_copy_async(chip.stream(), memory_.ref(kBytes), memory_.ref(0), kBytes));
        SIDRA_CHECK(sidra_graph_end(chip.stream(), &graph));
        graph_.reset(graph);
        thread_ = std::thread([this] { run(); });
    }
    ~Endless() {
        stop_ = true;
        thread_.join();
    }
    Endless(const Endless&) = delete;
    Endless& operator=(const Endless&) = delete;

   private:
    static constexpr int kCopies = 1024;

    void run() {
        while (!stop_) {
            for (int i = 0; i < 2; ++i) sidra_graph_launch_async(chip_.stream(), graph_.get());
            sidra_stream_synchronize(chip_.stream(), long_deadline());
        }
    }

    const Chip& chip_;
    Buffer memory_;
    std::unique_ptr<sidra_graph, Destroy<sidra_graph_destroy>> graph_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

void measure_share(const Settings& settings, Report& report) {
    const Chip victim(settings.engine, settings.workers), hostile(settings.engine, settings.workers);
    const Buffer memory(victim.context(), 2 * kBytes);
    // One batch waits while another runs: who has nothing to do has no share to lose.
    Event events[2] = {make_event(victim), make_event(victim)};
    const auto submit = [&](const Event& event) {
        for (int i = 0; i < kAtOnce; ++i)
            SIDRA_CHECK(sidra_copy_async(victim.stream(), memory.ref(kBytes), memory.ref(0), kBytes));
        SIDRA_CHECK(sidra_event_record(event.get(), victim.stream()));
    };
    const auto copies_per_s = [&] {
        submit(events[0]);
        submit(events[1]);
        SIDRA_CHECK(sidra_event_synchronize(events[0].get(), long_deadline()));
        const double start = now_s(), end = start + (settings.quick ? 0.5 : 2);
        uint64_t batches = 0;
        for (; now_s() < end; ++batches) {
            submit(events[batches % 2]);
            SIDRA_CHECK(sidra_event_synchronize(events[(batches + 1) % 2].get(), long_deadline()));
        }
        const double took = now_s() - start;
        victim.wait();
        return static_cast<double>(batches) * kAtOnce / took;
    };
    std::vector<double> shares, alone_rates, beside_rates;
    for (int round = 0; round < kShareRounds; ++round) {
        report.progress().show("recover: beside an endless context");
        alone_rates.push_back(copies_per_s());
        const Endless endless(hostile);
        beside_rates.push_back(copies_per_s());
        shares.push_back(beside_rates.back() / alone_rates.back());
    }
    Table table({"copies of 1 MiB", "alone", "beside an endless context", "share"});
    table.add({"a second", figure(median(alone_rates)), figure(median(beside_rates)), figure(median(shares))});
    report.print("A context beside an endless one of the same priority", table);
    report.set_bar("victim_share", median(shares));
}

}  // namespace

void run_recover(const Settings& settings, Report& report) {
    measure_recovery(settings, report);
    measure_share(settings, report);
}

}  // namespace sidra::bench
