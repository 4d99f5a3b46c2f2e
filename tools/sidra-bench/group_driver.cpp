// SPDX-License-Identifier: MIT
// What the driver costs: no-ops through user and kernel queues of /dev/sidraN beside flushes of an NVMe device, which
// go through the best that Linux has for a device with a kernel driver. Batches are submitted, then waited for.
#include <fmt/format.h>
#include <stdlib.h>

#include "chip.h"
#include "error.h"
#include "groups.h"
#include "kernel_queue.h"
#include "peers.h"
#include "sidra_hw.h"

namespace sidra::bench {
namespace {

std::string node() {
    const char* chosen = getenv("SIDRA_DEVICE");
    return chosen != nullptr ? chosen : "/dev/sidra0";
}

void submit_and_wait(const Chip& chip, uint32_t batch, uint64_t calls) {
    const uint64_t deadline = long_deadline();
    for (uint64_t i = 0; i < calls; ++i) {
        if (batch == 1) {
            SIDRA_CHECK(sidra_nop_async(chip.stream()));
        } else {
            SIDRA_CHECK(sidra_batch_begin(chip.stream()));
            for (uint32_t j = 0; j < batch; ++j) SIDRA_CHECK(sidra_nop_async(chip.stream()));
            SIDRA_CHECK(sidra_batch_end(chip.stream()));
        }
        SIDRA_CHECK(sidra_stream_synchronize(chip.stream(), deadline));
    }
}

::sidra_telemetry telemetry(const Chip& chip) {
    ::sidra_telemetry now{};
    SIDRA_CHECK(sidra_device_telemetry(chip.device(), &now, sizeof now));
    return now;
}

// By the chip's own counters, so that the submitter cannot flatter itself.
void count_accesses(const Chip& chip, Report& report) {
    constexpr uint32_t kSubmits = 100;
    const auto idle_before = telemetry(chip);
    const auto before = telemetry(chip);
    submit_and_wait(chip, 1, kSubmits);
    const auto after = telemetry(chip);
    const double looking_writes = static_cast<double>(before.mmio_writes - idle_before.mmio_writes);
    const double looking_reads = static_cast<double>(before.mmio_reads - idle_before.mmio_reads);
    report.set_bar("submit_mmio_writes",
                   (static_cast<double>(after.mmio_writes - before.mmio_writes) - looking_writes) / kSubmits, true);
    report.set_bar("submit_mmio_reads",
                   (static_cast<double>(after.mmio_reads - before.mmio_reads) - looking_reads) / kSubmits, true);
}

}  // namespace

void run_driver(const Settings& settings, Report& report) {
    const Chip chip(settings.engine, settings.workers);
    if (std::string_view(chip.info().transport) != "kernel")
        throw Error(
            "group driver measures the kernel driver, but the device is an embedded chip; load the driver, or set "
            "SIDRA_DEVICE");
    count_accesses(chip, report);

    KernelQueue queue(node());
    std::unique_ptr<NvmeFlush> nvme;
    if (!settings.nvme.empty()) nvme = std::make_unique<NvmeFlush>(settings.nvme);
    Method method = settings.bar_method();
    method.sample_s = 20e-3;
    method.samples = 5;
    method.rounds = settings.quick ? 3 : 6;
    method.max_rounds = settings.quick ? 4 : 12;

    Table table({"batch", "way", "M packets/s", "ns a packet", "vs NVMe"});
    for (const uint32_t batch : {1u, 8u, 64u}) {
        report.progress().show(fmt::format("driver: batches of {}", batch));
        std::vector<Contender> contenders = {
            {"user queue", [&](uint64_t calls) { submit_and_wait(chip, batch, calls); }},
            {"kernel queue, ioctl", [&](uint64_t calls) { queue.run_ioctl(batch, calls); }},
        };
        if (nvme) contenders.push_back({"NVMe flush", [&](uint64_t calls) { nvme->run(batch, calls); }});
        const auto timings = measure(contenders, method);
        for (size_t i = 0; i < timings.size(); ++i) {
            const Timing& t = timings[i];
            const bool peer = nvme && i + 1 == timings.size();
            Ratio ratio;
            if (nvme) ratio = speed_ratio(t, timings.back());
            table.add({fmt::format("{}", batch), t.name, rate_text(batch / 1e6, t), figure(t.min_s / batch * 1e9),
                       nvme && !peer ? ratio_text(ratio) : "-"});
            report.add({"driver", t.name, {{"batch", batch}}, t, static_cast<double>(batch), "packets/s", peer});
            if (!nvme || peer) continue;
            if (i == 0 && batch == 64) report.set_bar("noop_b64_vs_nvme", ratio.best, ratio.settled);
            if (i == 0 && batch == 1) report.set_bar("noop_b1_vs_nvme", ratio.best, ratio.settled);
            if (i == 1 && batch == 64) report.set_bar("ioctl_b64_vs_nvme", ratio.best, ratio.settled);
        }
    }
    report.print("No-ops through the driver, submit and wait", table);
}

}  // namespace sidra::bench
