#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fuzz.py OPTION...: runs the fuzzer of the driver's calls (tests/vmfuzz) in the guest with these options, and ends it with the first report of the kernel:
the programs that ran last are then those that led there. They are in /job/keep/last, which the host keeps."""
import os
import select
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, "/run/sidra")
import complaints  # noqa: E402

PROGRAM = "/build/release/tests/sidra-vmfuzz"
KEEP = Path("/job/keep")


def first_report(kernel_log, log):
    """The first line that the kernel has logged since the last call and that indicates an error."""
    while True:
        try:
            line = os.read(kernel_log, 8192).decode(errors="replace").split(";", 1)[-1].split("\n", 1)[0]
        except BlockingIOError:
            return None
        except BrokenPipeError:  # the buffer has lost lines; the rest of them is still there, and the host reads all of the console
            continue
        if log.wrong(line):
            return line


def main():
    KEEP.mkdir(exist_ok=True)
    kernel_log, log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK), complaints.Log()
    os.lseek(kernel_log, 0, os.SEEK_END)
    fuzzer = subprocess.Popen([PROGRAM, "--record", KEEP / "last", *sys.argv[1:]])
    events = select.poll()  # lines of the kernel, and the end of the fuzzer
    for fd in (kernel_log, os.pidfd_open(fuzzer.pid)):
        events.register(fd, select.POLLIN)
    while fuzzer.poll() is None:
        events.poll()
        if wrong := first_report(kernel_log, log):
            print(f"fuzz: the kernel reported: {wrong}", flush=True)
            fuzzer.kill()
            fuzzer.wait()
            return 1
    return fuzzer.returncode


sys.exit(main())
