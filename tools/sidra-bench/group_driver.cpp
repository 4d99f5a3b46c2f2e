// SPDX-License-Identifier: MIT
// What the driver costs: no-ops through user and kernel queues of /dev/sidraN beside flushes of an NVMe device, which
// go through the best that Linux has for a device with a kernel driver. Batches are submitted, then waited for.
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "chip.h"
#include "driver_node.h"
#include "error.h"
#include "groups.h"
#include "kernel_queue.h"
#include "peers.h"
#include "sidra_hw.h"

namespace sidra::bench {
namespace {

void submit_and_wait(const Chip& chip, uint32_t batch, uint64_t calls) {
    const double end = now_s() + 60;
    for (uint64_t i = 0; i < calls; ++i) {
        if (batch == 1) {
            SIDRA_CHECK(sidra_nop_async(chip.stream()));
        } else {
            SIDRA_CHECK(sidra_batch_begin(chip.stream()));
            for (uint32_t j = 0; j < batch; ++j) SIDRA_CHECK(sidra_nop_async(chip.stream()));
            SIDRA_CHECK(sidra_batch_end(chip.stream()));
        }
        // Polled; a wait that sleeps would ask for an interrupt.
        sidra_status status = SIDRA_ERROR_NOT_READY;
        for (uint32_t looks = 1; status == SIDRA_ERROR_NOT_READY; ++looks) {
            status = sidra_stream_query(chip.stream());
            if (looks % 4096 == 0 && now_s() > end) throw Error("no-op packets did not complete");
        }
        SIDRA_CHECK(status);
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

// ---- System calls ----

volatile sig_atomic_t trapped = 0;

// In a child, every system call but the last ones is trapped and counted instead of made.
int count_in_child(const Settings& settings, uint32_t submits) {
    const Chip chip(settings.engine, settings.workers);
    submit_and_wait(chip, 1, 1);
    struct sigaction action {};
    action.sa_handler = [](int) { trapped = trapped + 1; };
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const sock_fprog whole = {sizeof program / sizeof program[0], program};
    if (sigaction(SIGSYS, &action, nullptr) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) != 0)
        return 255;
    for (uint32_t i = 0; i < submits; ++i) {
        if (sidra_nop_async(chip.stream()) != SIDRA_OK) return 254;
        while (sidra_stream_query(chip.stream()) == SIDRA_ERROR_NOT_READY) {
        }
    }
    return std::min(static_cast<int>(trapped), 200);
}

void count_system_calls(const Settings& settings, Report& report) {
    constexpr uint32_t kSubmits = 50;  // a call each would still fit in an exit status
    const pid_t child = fork();
    if (child == 0) _exit(count_in_child(settings, kSubmits));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) > 200)
        throw Error("cannot count the system calls of a submit");
    report.set_bar("submit_syscalls", WEXITSTATUS(status) / static_cast<double>(kSubmits), true);
}

// ---- What the guest costs ----

void compare_with_host(const Settings& settings, const Chip& chip, Report& report) {
    constexpr size_t kBytes = size_t{64} << 20;
    Method method = settings.bar_method();
    method.rounds = settings.quick ? 3 : 6;
    method.max_rounds = settings.quick ? 4 : 12;
    report.progress().show("driver: copies and products");
    const Buffer memory(chip.context(), 2 * kBytes);
    const uint64_t deadline = long_deadline();
    MvmWork work(chip, 1024, 1024, 256);
    const auto timings =
        measure({{"copy",
                  [&](uint64_t calls) {
                      for (uint64_t i = 0; i < calls; ++i) {
                          SIDRA_CHECK(sidra_copy_async(chip.stream(), memory.ref(kBytes), memory.ref(0), kBytes));
                          SIDRA_CHECK(sidra_stream_synchronize(chip.stream(), deadline));
                      }
                  }},
                 {"mvm", [&](uint64_t calls) { work.run(calls); }}},
                method);
    report.add({"driver", "copy", {{"bytes", kBytes}}, timings[0], static_cast<double>(kBytes), "bytes/s"});
    report.add({"driver", "mvm", {{"k", 1024}, {"n", 1024}, {"batch", 256}}, timings[1], 1024.0 * 1024 * 256, "MAC/s"});
    Table table({"in the guest", "", "on the host"});
    const auto row = [&](const char* name, const Timing& t, double host, const char* bar) {
        table.add({name, seconds_text(t.min_s), host > 0 ? seconds_text(host) : "-"});
        if (host > 0) report.set_bar(bar, host / t.min_s, t.settled);
    };
    row("copy of 64 MiB", timings[0], settings.host_memcpy, "copy_64m_vs_host_memcpy");
    row("1024x1024, batch 256", timings[1], settings.host_mvm, "mvm_vs_embedded");
    report.print("Work of the device", table);
}

}  // namespace

void run_driver(const Settings& settings, Report& report) {
    const Chip chip(settings.engine, settings.workers);
    if (std::string_view(chip.info().transport) != "kernel")
        throw Error(
            "group driver measures the kernel driver, but the device is an embedded chip; load the driver, or set "
            "SIDRA_DEVICE");
    count_accesses(chip, report);
    count_system_calls(settings, report);

    KernelQueue queue(driver_node());
    std::unique_ptr<NvmeFlush> nvme;
    if (!settings.nvme.empty()) nvme = std::make_unique<NvmeFlush>(settings.nvme);
    Method method = settings.bar_method();
    method.sample_s = 20e-3;
    method.samples = 5;
    method.rounds = settings.quick ? 3 : 6;
    method.max_rounds = settings.quick ? 4 : 12;

    Table table({"batch", "way", "M packets/s", "ns per packet", "vs NVMe"});
    for (const uint32_t batch : {1u, 8u, 64u}) {
        report.progress().show(fmt::format("driver: batches of {}", batch));
        std::vector<Contender> contenders = {
            {"user queue", [&](uint64_t calls) { submit_and_wait(chip, batch, calls); }},
            {"kernel queue, ioctl", [&](uint64_t calls) { queue.run_ioctl(batch, calls); }},
            {"kernel queue, io_uring", [&](uint64_t calls) { queue.run_uring(batch, calls); }},
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
            if (i == 2 && batch == 64) report.set_bar("uring_b64_vs_nvme", ratio.best, ratio.settled);
        }
    }
    report.print("No-ops through the driver, submit and wait", table);
    compare_with_host(settings, chip, report);
}

}  // namespace sidra::bench
