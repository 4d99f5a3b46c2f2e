#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tests.py LIST GRACE CASE: runs tests in the guest, one after the other, and reports them in TAP on the second serial port.

A line of LIST is: name, deadline in seconds, shell command. The output of a test (TAP or GoogleTest) is printed, indented, before its result. A test
fails by its exit status, by its deadline, and if the kernel complains or becomes tainted during it. A case of a GoogleTest has a
deadline of its own, so that one that hangs is soon found. After a deadline, the kernel stacks of the test's processes are logged; if a process cannot
be killed, the run ends.
"""
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import complaints

GRACE = float(sys.argv[2])  # seconds from SIGKILL until the process must be gone
CASE = float(sys.argv[3])  # seconds for a case of a GoogleTest
CASE_LINE = re.compile(rb"\[ +(RUN|OK|FAILED|SKIPPED) +\] ([\w/]+\.[\w/]+)")


def say(line):
    channel.write(line.encode(errors="replace") + b"\n")


def kernel_log(line):
    Path("/dev/kmsg").write_text(line + "\n")


def taints():
    return complaints.bad_taints(int(Path("/proc/sys/kernel/tainted").read_text()))


class KernelLog:
    def __init__(self):
        self._file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self._file, 0, os.SEEK_END)
        self._log = complaints.Log()
        self._found = []

    def read(self):
        """Must be called often: the kernel may log more than its buffer holds."""
        while True:
            try:
                record = os.read(self._file, 8192).decode(errors="replace")
            except BlockingIOError:
                return
            except BrokenPipeError:  # more output than the buffer holds; the rest is read below
                continue
            line = record.split(";", 1)[-1].split("\n", 1)[0]
            if self._log.wrong(line):
                self._found.append(line)

    def new_complaints(self):
        self.read()
        found, self._found = self._found, []
        return found


def members(session):
    """The running processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(stat.parent.name))
    return found


def kill(session):
    """Kills all processes of a session; returns False on failure."""
    end = time.monotonic() + GRACE
    while left := members(session):
        if time.monotonic() > end:
            return False
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
    return True


def stacks(session):
    for process in members(session):
        for task in sorted(Path(f"/proc/{process}/task").iterdir()):
            try:
                name, stack = (task / "comm").read_text().strip(), (task / "stack").read_text()
            except OSError:
                continue
            say(f"    # stack of {name} ({task.name}):")
            for line in stack.splitlines():
                say(f"    #   {line}")
    Path("/proc/sysrq-trigger").write_text("w")  # tasks in uninterruptible sleep
    Path("/proc/sysrq-trigger").write_text("l")  # stacks of all CPUs


def run(command, deadline, log):
    """Returns None, or the reason why the test failed; the second value is "stuck" if the run cannot continue."""
    process = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True, cwd="/src")
    output, rest = process.stdout.fileno(), b""
    os.set_blocking(output, False)
    last = time.monotonic() + deadline
    end, late, ended, case = last, None, None, None
    while True:
        log.read()
        if select.select([output], [], [], 0.05)[0]:
            data = os.read(output, 65536)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                if found := CASE_LINE.match(line):
                    case = found[2].decode(errors="replace") if found[1] == b"RUN" else None
                    end = min(last, time.monotonic() + CASE) if case else last
                say("    " + line.decode(errors="replace"))
            if not data:
                break
        elif ended:
            break  # children may still run, but only this process counts
        ended = process.poll() is not None
        if not ended and time.monotonic() > end:
            late = f"not done after {deadline:g} s" if end == last else f"{case} not done after {CASE:g} s"
            break
    if rest:
        say("    " + rest.decode(errors="replace"))
    if not late:
        try:
            process.wait(max(0.05, last - time.monotonic()))
        except subprocess.TimeoutExpired:
            late = f"not done after {deadline:g} s"
    if late:
        stacks(process.pid)
    left_over = not late and members(process.pid)
    if not kill(process.pid):
        return "cannot be killed", True
    status = process.wait()
    if late:
        return late, False
    if status:
        return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}", False
    if left_over:
        return f"left {len(left_over)} processes running", False
    return None, False


def main():
    tests = [line.split(None, 2) for line in Path(sys.argv[1]).read_text().splitlines()]
    log, known = KernelLog(), taints()
    say("TAP version 14")
    say(f"1..{len(tests)}")
    for number, (name, deadline, command) in enumerate(tests, 1):
        say(f"# Subtest: {name}")
        kernel_log(f"sidra-vm: begin {name}")
        start = time.monotonic()
        failure, stuck = run(command, float(deadline), log)
        reasons = [failure] if failure else []
        for line in log.new_complaints():
            say(f"    # kernel: {line}")
            if "the kernel complained" not in reasons:
                reasons.append("the kernel complained")
        if new := taints() - known:
            reasons.append(f"the kernel is tainted ({''.join(sorted(new))})")
            known |= new
        say(f"    # {time.monotonic() - start:.1f} s")
        say(f"not ok {number} - {name} # {', '.join(reasons)}" if reasons else f"ok {number} - {name}")
        if stuck:
            say("Bail out! a process cannot be killed")
            return


with open("/dev/ttyS1", "wb", buffering=0) as channel:
    main()
