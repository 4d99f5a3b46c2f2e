#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check.py [options] LIST...: runs all tests of the lists in one boot of the guest.

A line of a list: name, deadline in seconds, shell command (in the guest: the tree is /src, build/vm is /build, SIDRA_VM_DEVICES is the number of
cards). Empty lines and lines with # are skipped. If there is a driver, loading it is the first test, and removing it the last one. On the debug kernel,
the results of the driver's KUnit tests are checked (guest/kunit), and at the end its reports, and whether its checkers stayed active (guest/debug-end).
What tests leave in /job/keep is in DIR/keep afterwards. With --coverage, what the driver has counted is in DIR/coverage.tar.gz (guest/coverage).
A test fails by its exit status, by its deadline, and if the kernel complains during it; the run also fails if the guest crashes, hangs or ends early.
A boot that fails is repeated as a whole: tests that fail only the first time are flaky (flaky.py), and the second run gives the results. The tests
find the number of the run in SIDRA_VM_TRY. Results: TAP in DIR/tap, the kernel's console in DIR/console.log, DIR/ctest.xml and DIR/results/ for
scripts/summary.py; DIR/reports has one line per report of the kernel, and exists only if the run completed.
"""
import base64
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import flaky
import host
import machine

sys.path.insert(0, str(machine.HERE / "guest"))
import complaints  # noqa: E402

BOOT = 300.0  # seconds until the guest starts its first test
LINES = 60  # lines of output of a failed test or case

# Alternates work and sleep of up to 40 ms each, at random.
BUSY = """
import random, time
while True:
    until = time.monotonic() + random.uniform(0, 0.04)
    while time.monotonic() < until:
        pass
    time.sleep(random.uniform(0, 0.04))
"""

_RESULT = re.compile(r"(not )?ok (\d+) - (\S+)(?: # (.*))?$")
_INNER = re.compile(r"\s+(not )?ok \d+(?: - | )([^#]*[^#\s])?\s*(# (?:SKIP|TODO)\b.*)?$", re.IGNORECASE)
_GOOGLE = re.compile(r"\s+\[ +(RUN|OK|FAILED|SKIPPED) +\] ([\w/]+\.[\w/]+)(?:,.*| \(\d+ ms\)|$)")


class Test:
    def __init__(self, name, deadline, command):
        self.name, self.deadline, self.command = name, float(deadline), command
        self.cases = {}  # name: "ok", "failed", "skipped"
        self.said = {}  # output of failed GoogleTest cases
        self.case_began = None  # line at which the current case began
        self.failure = "did not run"
        self.output = []
        self.started, self.seconds = None, 0.0

    def read(self, line):
        """Parses a line that the test printed."""
        self.output.append(line)
        if (found := _GOOGLE.match(line)) and found[1] == "RUN":
            self.case_began = len(self.output) - 1
        elif found:
            self.cases[found[2]] = {"OK": "ok", "FAILED": "failed", "SKIPPED": "skipped"}[found[1]]
            if found[1] == "FAILED" and found[2] not in self.said:  # GoogleTest lists failures again at the end
                self.said[found[2]] = [line.strip() for line in self.output[self.case_began or 0:][-LINES:]]
            self.case_began = None
        elif found := _INNER.match(line):
            self.cases[found[2] or f"case {len(self.cases) + 1}"] = "failed" if found[1] and not found[3] else "skipped" if found[3] else "ok"

    def end(self, failure):
        failed = [name for name, result in self.cases.items() if result == "failed"]
        if not failure and failed:
            failure = f"{len(failed)} cases failed, and its exit status does not say so"
        if not failure and not self.cases and any("[==========]" in line for line in self.output):
            failure = "no case of it ran"  # GoogleTest succeeds if a filter matches nothing
        self.failure, self.seconds = failure, time.monotonic() - self.started


def read_list(path, tests):
    before = len(tests)
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split("#", 1)[0].split(None, 2)
        if not words:
            continue
        if len(words) != 3 or not re.fullmatch(r"[\w.-]+", words[0]) or not re.fullmatch(r"[\d.]+", words[1]) or words[0] in [t.name for t in tests]:
            machine.fail(f"{path}:{number}: a line is a name (that no other has), a deadline in seconds, and a command")
        tests.append(Test(*words))
    if len(tests) == before:
        machine.fail(f"{path}: no tests in it")


class Results:
    """Parses the guest's TAP while it arrives."""

    def __init__(self, tests, grace, patience):
        self.tests, self.grace = tests, grace
        self.number, self.planned, self.bailed = 0, None, None
        self.asked = []  # requests to the host
        self.problems = []
        self.due = time.monotonic() + BOOT * patience  # deadline for the next progress

    def current(self):
        return self.tests[self.number] if self.number < len(self.tests) else None

    def read(self, line):
        test = self.current()
        if line.startswith("1.."):
            self.planned = int(line[3:])
        elif line.startswith("Bail out!"):
            self.bailed = line
        elif line.startswith("# Subtest: ") and test:
            test.started = time.monotonic()
            self.due = test.started + test.deadline + self.grace
        elif found := _RESULT.match(line):
            if not test or int(found[2]) != self.number + 1 or found[3] != test.name or test.started is None:
                self.problems.append(f"a result that was not due: {line}")
                return
            test.end((found[4] or "failed") if found[1] else None)
            show(test)
            self.number += 1
            self.due = time.monotonic() + self.grace
        elif line.startswith("    ") and test:
            test.read(line)
            if line.startswith("    # host: "):
                self.asked.append(line.split()[2:])

    def complete(self):
        return self.planned == len(self.tests) and self.number == len(self.tests) and not self.bailed


def show(test):
    cases = f", {len(test.cases)} cases" if test.cases else ""
    verdict, why = ("FAILED", f": {test.failure}") if test.failure else ("passed", "")
    print(f"  {verdict}  {test.name} ({test.seconds:.1f} s{cases}){why}", flush=True)
    if test.failure:
        for said in test.said.values():
            for line in said:
                print(f"        {line}")
        if not test.said or test.case_began is not None:
            for line in test.output[test.case_began or 0:][-LINES:]:
                print(f"        {line.strip()}")


def follow(guest, results):
    """Reads output until the guest ends or must be ended."""
    rest = b""
    with open(guest.channel, "rb") as stream:
        while True:
            over = guest.ended()
            data = stream.read()
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                results.read(line.decode(errors="replace").rstrip("\r"))
            while results.asked:
                began = time.monotonic()
                if problem := host.act(guest, results.asked.pop(0)):
                    results.problems.append(problem)
                results.due += time.monotonic() - began
            if over and not data:
                return
            if time.monotonic() > results.due:
                test = results.current()
                where = "after its tests" if not test else f"in {test.name}" if test.started else f"before {test.name}"
                results.problems.append(f"the guest hangs {where}")
                guest.show_stacks()
                return
            if not data:
                time.sleep(0.05)


def printable(lines):
    """Removes characters that XML cannot contain."""
    return "".join(c for c in "\n".join(lines) if c.isprintable() or c in "\n\t")


def write_results(folder, results, problems):
    """Writes results in the format of ctest, for scripts/summary.py."""
    (folder / "results").mkdir(exist_ok=True)
    console = (folder / "console.log").read_text(errors="replace").splitlines()
    suite = ElementTree.Element("testsuite", name="vm")

    def add(name, failure, seconds, output, complaint):
        entry = ElementTree.SubElement(suite, "testcase", name=name, status="fail" if failure else "run", time=f"{seconds:.1f}")
        if failure:
            ElementTree.SubElement(entry, "failure", message=failure)
            ElementTree.SubElement(entry, "system-out").text = printable(output[-LINES:])
            ElementTree.SubElement(entry, "system-err").text = printable(complaint)

    for test in results.tests:
        add(test.name, test.failure, test.seconds, test.output, complaints.first_report(console, test.name))
    if problems:
        add("guest", problems[0], 0.0, problems[1:], complaints.first_report(console) or console[-25:])
    ElementTree.ElementTree(suite).write(folder / "ctest.xml")
    for test in results.tests:
        if not test.cases:
            continue
        outer = ElementTree.Element("testsuites")
        inner = ElementTree.SubElement(outer, "testsuite", name=test.name)
        for name, result in test.cases.items():
            part, _, case = name.rpartition(".")
            state = "skipped" if result == "skipped" else "completed"
            entry = ElementTree.SubElement(inner, "testcase", classname=part or test.name, name=case, result=state)
            if result == "failed":
                ElementTree.SubElement(entry, "failure", message=printable(test.said.get(name, ["see the TAP"])))
        ElementTree.ElementTree(outer).write(folder / "results" / f"{test.name}.xml")


@contextlib.contextmanager
def busy_host(wanted):
    """Takes CPU time away from the guest and its card at random."""
    command = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-c", BUSY]
    workers = [subprocess.Popen(command) for _ in range(os.cpu_count() if wanted else 0)]
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def tests_of(opts, patience):
    """All tests of a boot, including those of the driver and the kernel."""
    tests = []
    for path in opts.lists:
        read_list(path, tests)
    if driver := machine.modules(opts):
        tests.insert(0, Test("driver-load", 120, "load " + " ".join(f"/job/{m.name}" for m in driver)))
        if opts.kernel == "debug" and any(m.stem == "sidra" for m in driver):
            tests.insert(1, Test("kunit", 60, "kunit"))  # results of the tests that run while the driver loads
        if opts.jitter:
            tests.insert(1, Test("jitter", 300, "jitter"))
        tests.append(Test("driver-unload", 120, "rmmod " + " ".join(m.stem for m in reversed(driver))))
    if opts.kernel == "debug":
        tests.append(Test("debug-end", 120, "debug-end"))
    if opts.coverage:
        tests.append(Test("coverage", 120, "coverage"))
    for test in tests:
        test.deadline *= patience
    return tests


def boot(opts, logs, patience, number):
    """Boots, runs the tests, writes results and logs, and returns the names of failed tests ("guest": a failure outside of tests)."""
    tests = tests_of(opts, patience)
    grace = opts.grace * patience
    results = Results(tests, grace, patience)
    logs.mkdir(parents=True, exist_ok=True)
    for name in ["ctest.xml", "reports", "coverage.tar.gz"]:
        (logs / name).unlink(missing_ok=True)
    shutil.rmtree(logs / "results", ignore_errors=True)

    start = time.monotonic()
    lines = "".join(f"{t.name} {t.deadline:g} {t.command}\n" for t in tests)
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "tests"
        listed.write_text(lines)
        # Runs outside the host's folders: guest/detach.
        job = (f"export SIDRA_VM_DEVICES={opts.devices} SIDRA_VM_SMALL={opts.small} SIDRA_VM_TRY={number} CHECK={opts.check}\n"
               f"cd /\ntests.py /job/tests {grace / 6:g} {opts.case * (10 if opts.check == 'full' else 1):g}\n")
        with machine.Machine(opts, job, checks=True, logs=logs, channel="tap", files=[listed], load=False) as guest:
            print(f"vm: {len(tests)} tests in a guest with {opts.smp} CPUs, {opts.devices} cards and {opts.small} small, IOMMU {opts.iommu}, {guest.accel}"
                  f"{', debug kernel' if opts.kernel == 'debug' else ''}", flush=True)
            follow(guest, results)
            errors = guest.errors()
            if (kept := guest.job / "keep").exists():
                shutil.copytree(kept, logs / "keep", dirs_exist_ok=True)

    if opts.coverage and results.complete():
        lines = [line.strip() for line in tests[-1].output if not line.lstrip().startswith("#")]
        (logs / "coverage.tar.gz").write_bytes(base64.b64decode("".join(lines)))
    problems = results.problems
    if not results.complete() and not problems:
        test = results.current()
        problems.append(results.bailed or f"the guest ended {'in ' + test.name if test and test.started else 'before its tests did'}")
    if errors:
        problems.append(f"QEMU said: {errors}")
    found = complaints.reports((logs / "console.log").read_text(errors="replace").splitlines())
    if results.complete():
        (logs / "reports").write_text("".join(line + "\n" for line in found))
    if found and not any("kernel" in (t.failure or "") for t in tests):
        problems += [f"the kernel complained outside of the tests: {found[0]}"]
    for test in tests:
        if test.started and test.failure == "did not run":
            test.failure = "the guest did not survive it"
            show(test)
    for problem in problems:
        print(f"  FAILED  guest: {problem}")
    if problems:
        print("vm: the end of the console:")
        for line in (logs / "console.log").read_text(errors="replace").splitlines()[-25:]:
            print(f"        {line}")
    write_results(logs, results, problems)
    failed = sum(bool(t.failure) for t in tests)
    print(f"vm: {len(tests) - failed} tests passed, {failed} failed, {time.monotonic() - start:.0f} s; logs in {logs}", flush=True)
    names = [t.name for t in tests if t.failure and t.failure != "did not run"]
    return names or (["guest"] if failed or problems else [])


def main():
    parser = machine.parser(__doc__)
    parser.add_argument("lists", type=Path, nargs="+", metavar="LIST", help="tests")
    parser.add_argument("--logs", type=Path, metavar="DIR", help="where results and logs go (default: build/vm of the tree)")
    parser.add_argument("--flaky", type=Path, metavar="DIR", help="where the logs of flaky tests are kept (default: build/flaky of the tree)")
    parser.add_argument("--once", action="store_true", help="a boot that fails is not run a second time")
    parser.add_argument("--jitter", action="store_true", help="delay the driver's functions, the guest and the card at random (tests/vm/jitter)")
    parser.add_argument("--coverage", action="store_true", help="keep what the driver has counted, if its module is compiled for it (scripts/vm/coverage.py)")
    parser.add_argument("--grace", type=float, default=60, metavar="SECONDS", help="how long after a deadline the guest counts as hung (default 60)")
    parser.add_argument("--case", type=float, default=240, metavar="SECONDS",
                        help="deadline of a case of a GoogleTest (default 240, twice as long as such a test waits for what hangs; ten times as much with CHECK=full)")
    parser.add_argument("--patience", type=float, metavar="FACTOR", help="by how much all deadlines are longer (default 1, with the debug kernel or --jitter 4; ten times as much with CHECK=full)")
    parser.add_argument("--check", choices=["fast", "full"], default=os.environ.get("CHECK") or "fast",
                        help="how often is tried what needs luck to fail (CHECK; default fast)")
    opts = parser.parse_args()
    machine.die_in_order()
    opts.source = opts.source.resolve()
    logs = (opts.logs or opts.source / "build/vm").resolve()
    patience = opts.patience or (4 if opts.kernel == "debug" or opts.jitter else 1) * (10 if opts.check == "full" else 1)

    def one(number):
        return boot(opts, logs, patience, number)
    build = opts.source / "build"
    name = logs.relative_to(build).as_posix().replace("/", ".") if logs.is_relative_to(build) else logs.name
    with busy_host(opts.jitter):
        failed = one(1) if opts.once else flaky.run_twice(one, name, logs, (opts.flaky or build / "flaky").resolve())
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
