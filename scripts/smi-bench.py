#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""smi-bench.py BUILD [DEVICE]: measures the cost of monitoring; prints a flat JSON object for scripts/figures.py. DEVICE: as SIDRA_DEVICE; without
it, each process has its own chip.

summary_ms: median time of sidra-smi while eight processes work.
watch_cpu_percent: CPU time of sidra-smi watch, once per second on their chips, in percent of a core.
watch_latency_ratio: time of a job during such a watch, relative to the time without; alternating medians of many jobs."""
import ctypes
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

PROCESSES, RUNS, TURNS = 8, 15, 6
SECOND = 1_000_000_000

build = Path(sys.argv[1])
device = sys.argv[2] if len(sys.argv) > 2 else "embedded"
smi = str(build / "tools/sidra-smi/sidra-smi")


class Chip:
    """The chip of this process, through the C interface."""

    def __init__(self):
        self.lib = ctypes.CDLL(str(build / "libsidra/libsidra.so.2"))
        self.lib.sidra_last_error.restype = ctypes.c_char_p
        self.lib.sidra_deadline_after_ns.restype = ctypes.c_uint64
        device, context, self.stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.check(self.lib.sidra_device_open(0, None, ctypes.byref(device)))
        self.check(self.lib.sidra_context_create(device, ctypes.byref(context)))
        self.check(self.lib.sidra_stream_create(context, None, ctypes.byref(self.stream)))

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.lib.sidra_last_error().decode())

    def job(self):
        """Submits 64 no-ops and waits for the last one; returns ns."""
        start = time.monotonic_ns()
        for _ in range(64):
            self.check(self.lib.sidra_nop_async(self.stream))
        self.check(self.lib.sidra_stream_synchronize(self.stream, ctypes.c_uint64(self.lib.sidra_deadline_after_ns(ctypes.c_uint64(10 * SECOND)))))
        return time.monotonic_ns() - start


def work():
    """One of the eight processes: a job every 50 ms, so that values change."""
    chip = Chip()
    print("ready", flush=True)
    while True:
        chip.job()
        time.sleep(0.05)


def watch(count):
    """CPU time of a watch in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([smi, "watch", "-n", "1", "-c", str(count), "--format", "json", "--fields", "all"], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def latency(chip, seconds):
    end = time.monotonic_ns() + int(seconds * SECOND)
    times = []
    while time.monotonic_ns() < end:
        times.append(chip.job())
    return statistics.median(times)


def main():
    os.environ["SIDRA_QUIET"] = "1"
    os.environ["SIDRA_DEVICE"] = device
    if sys.argv[3:] == ["work"]:
        return work()
    workers = [subprocess.Popen([sys.executable, __file__, sys.argv[1], device, "work"], stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
    figures = {}
    try:
        for worker in workers:
            if worker.stdout.readline() != "ready\n":
                sys.exit(f"smi-bench: a process could not open {device}")
        told = json.loads(subprocess.run([smi, "ps", "--format", "json"], capture_output=True, text=True, check=True).stdout)
        missing = {worker.pid for worker in workers} - {process["pid"] for process in told["processes"]}
        if missing:
            sys.exit(f"smi-bench: sidra-smi does not see that {', '.join(map(str, sorted(missing)))} work")
        times = []
        for _ in range(RUNS):
            start = time.monotonic_ns()
            subprocess.run([smi], stdout=subprocess.DEVNULL, check=True)
            times.append((time.monotonic_ns() - start) / 1e6)
        figures["summary_ms"] = round(statistics.median(times), 2)
        figures["watch_cpu_percent"] = round(100 * (watch(11) - watch(1)) / 10, 3)
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
    chip = Chip()
    latency(chip, 0.5)
    alone, beside = [], []
    for _ in range(TURNS):
        alone.append(latency(chip, 1.5))
        watcher = subprocess.Popen([smi, "watch", "-n", "1", "--format", "json"], stdout=subprocess.DEVNULL)
        beside.append(latency(chip, 1.5))
        watcher.kill()
        watcher.wait()
    figures["watch_latency_ratio"] = round(statistics.median(b / a for a, b in zip(alone, beside)), 3)
    print(json.dumps(figures))


main()
