#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""publish.py FOLDER [CHIPS [STEP]]: publishes chips in the format of uapi/sidra_publish.h, with values that the tests know.

Prints the names of the chips when they can be found. Every STEP seconds their counters increase; without STEP the same
values are published repeatedly. Lines of standard input: `hot` makes the temperature critical, `gone N` removes chip N,
`stale N` publishes chip N for the last time, with a time ten seconds ago. All chips are removed when the program ends.
"""
import fcntl
import os
import select
import struct
import sys
import time

HEADER, TELEMETRY, XBAR = 256, 512, 32
CLUSTERS, CUS, XBARS = 2, 4, 4
COUNT = CLUSTERS * CUS * XBARS
SIZE = HEADER + TELEMETRY + COUNT * XBAR
STEP_NS = 100_000_000
STATUS = 0x10 | 1 << 8 | 1 << 10  # runtime, ready, alive


class Chip:
    def __init__(self, folder, index):
        self.index = index
        self.path = f"{folder}/{os.getpid()}-{index}"
        self.file = os.open(self.path + ".new", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.posix_fallocate(self.file, 0, SIZE)
        fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        self.sequence = 0
        self.steps = 10
        self.stale = False
        self.millidegrees = 61250 + 1000 * index
        self.write()
        os.rename(self.path + ".new", self.path)

    def telemetry(self):
        n = self.steps
        page = bytearray(TELEMETRY)
        counters = [n * STEP_NS, 1000 * n, 7, 0, 50 * n, 3, 0, 11, 5, 900 * n, 128_000 * n, 4096 * n, 150_000_000 * n, 2500 * n,
                    2_000_000_000 * n, 3_000_000_000 * n, n * STEP_NS * 9 // 20, 2]
        struct.pack_into("<IHHQ18Q", page, 0, 0x4C544453, 1, TELEMETRY, 0xF, *counters)
        struct.pack_into("<4IiII", page, 160, COUNT, 3, 1, 2, self.millidegrees, 22500, 800000)
        struct.pack_into("<4Q", page, 192, *(n * STEP_NS * percent // 100 for percent in (41, 12, 7, 3)))
        struct.pack_into("<6Q", page, 224, 30, 20, 1, 4, 7, 0)
        struct.pack_into("<5I", page, 272, STATUS, 1, 0, n, 0)
        struct.pack_into("<iiIIIII", page, 292, 95000, 105000, 75000, 20000, 150000, 1000000, 0)
        return bytes(page)

    def write(self):
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) - (10_000_000_000 if self.stale else 0)
        header = struct.pack("<IHHQQQIIQII16s16sQIIIIIIQQQQIIIIIIQQ", 0x42504453, 1, HEADER, SIZE, self.sequence + 1, now, os.getpid(),
                             os.getuid(), now, self.index, 0, b"publisher", bytes([0xAB + self.index] * 16), 0, 0x10002, 0x10000,
                             0x01020003, CLUSTERS, CUS, XBARS, 16 << 20, 4 << 20, 1 << 20, 2 << 20, 0, 0, 1, 2, 3,
                             COUNT, HEADER, HEADER + TELEMETRY)
        crossbars = bytearray(COUNT * XBAR)
        for at, uid, programs, rows, stuck in ((0, 1, 1, 256, 0), (9, 2, 7, 128, 2), (31, 3, 2, 16, 5)):
            struct.pack_into("<QIIHHI", crossbars, at * XBAR, uid, 0, programs, rows, 0, stuck)
        os.pwrite(self.file, struct.pack("<Q", self.sequence + 1), 16)
        os.pwrite(self.file, header.ljust(HEADER, b"\0") + self.telemetry() + bytes(crossbars), 0)
        self.sequence += 2
        os.pwrite(self.file, struct.pack("<Q", self.sequence), 16)

    def step(self, count):
        if not self.stale:
            self.steps += count
            self.write()

    def close(self):
        os.unlink(self.path)
        os.close(self.file)


def main():
    folder = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    step = float(sys.argv[3]) if len(sys.argv) > 3 else None
    os.makedirs(folder, mode=0o700, exist_ok=True)
    chips = {index: Chip(folder, index) for index in range(count)}
    for index in chips:
        print(f"{os.getpid()}-{index}", flush=True)
    while True:
        ready, _, _ = select.select([sys.stdin], [], [], step or 0.5)
        if not ready:
            for chip in chips.values():
                chip.step(1 if step else 0)
            continue
        words = sys.stdin.readline().split()
        if not words:
            break
        if words[0] == "hot":
            for chip in chips.values():
                chip.millidegrees = 106000
                chip.write()
        elif words[0] == "stale":
            chips[int(words[1])].stale = True
            chips[int(words[1])].write()
        else:
            chips.pop(int(words[1])).close()
    for chip in chips.values():
        chip.close()


main()
