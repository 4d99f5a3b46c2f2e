#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""selftest.py DIR [BOOT...]: breaks guests in every way that scripts/vm/check.py must detect, and checks that it does. A BOOT is a key of BOOTS;
default: all with the stock kernel.

Writes the output of the boots, and the result for scripts/summary.py, to DIR.
"""
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(CHECKOUT / "scripts/vm"))
import flaky  # noqa: E402

BROKEN = "insmod /build/broken/broken.ko how="
BROKEN_DEBUG = "insmod /build/broken-debug/broken.ko how="

SILENT = "1 cases failed, and its exit status does not say so"

# Name of the boot: options, tests with what has to be said of them (None: it passes), what the console or the report has to tell.
BOOTS = {
    "tests": (
        ["--smp", "2", "--grace", "60", "--case", "2", "--once"],
        [
            ("passes", 60, "true", None),
            ("fails", 60, "false", "exit status 1"),
            ("crashes", 60, "kill -SEGV $$", "signal SIGSEGV"),
            ("missing", 60, "/no/such/test", "exit status 127"),
            ("tap", 60, "printf 'ok 1 - good\\nnot ok 2 - bad\\n'", SILENT),
            ("google", 60, "printf '[       OK ] A.Good (0 ms)\\n[  FAILED  ] A.Bad (0 ms)\\n'", SILENT),
            ("google-at-length", 60, "printf '[ RUN      ] A.Bad\\nthe reason\\n[  FAILED  ] A.Bad (0 ms)\\n'; seq 100; printf '[ RUN      ] A.Worse\\nthe last word\\n'; kill -SEGV $$", "signal SIGSEGV"),
            ("empty", 60, "echo '[==========] 0 tests from 0 test suites ran. (0 ms total)'", "no case of it ran"),
            ("sleeps", 2, "sleep 1000", "not done after 2 s"),
            ("sleeps-in-a-case", 60, "printf '[ RUN      ] A.Quick\\n[       OK ] A.Quick (0 ms)\\n'; sleep 3; printf '[ RUN      ] A.Hangs\\n'; sleep 1000", "A.Hangs not done after 2 s"),
            ("waits", 10, BROKEN + "wait", "not done after 10 s"),
            ("leaves", 60, "sleep 1000 & exec true", "left 1 processes running"),
            ("expects", 60, "echo 'sidra-vm: expect WARNING: on purpose' >/dev/kmsg; echo 'WARNING: on purpose' >/dev/kmsg", None),
            ("expected", 60, "echo 'WARNING: on purpose' >/dev/kmsg", "the kernel complained"),
            ("warns", 60, BROKEN + "warn", r"the kernel complained, the kernel is tainted \(W\)"),
            ("still-passes", 60, "rmmod broken", None),
            ("asks", 60, "ask-host stop 0", None),
            ("asks-too-much", 60, "ask-host reach-for-the-moon", "exit status 1"),
            # A folder of the host's is mounted.
            ("stays", 60, "ask-host migrate", "exit status 1"),
            # It stands still when that is found out.
            ("asks-wrongly", 60, "ask-host stop never", "exit status 1"),
            ("overruns", 60, BROKEN + "overrun && rmmod broken", r"the kernel complained, the kernel is tainted \(B\)"),
            ("stuck", 10, BROKEN + "stuck", "cannot be killed"),
            ("too-late", 60, "true", "did not run"),
            ("guest", None, None, "Bail out! a process cannot be killed"),
        ],
        [r"WARNING: CPU: .*broken_init", r"Redzone|KFENCE: memory corruption", r"sysrq: Show Blocked State", r"        the reason\n", r"        the last word\n"],
    ),
    "spins": (
        ["--smp", "1", "--grace", "20", "--once"],
        [
            ("spins", 20, BROKEN + "spin", "the guest did not survive it"),  # and this one to spin
            ("too-late", 60, "true", "did not run"),
            ("guest", None, None, "the guest hangs in spins"),
        ],
        [r"RIP: 0010:broken_init", r"Kernel panic - not syncing: NMI"],
    ),
    "panics": (
        ["--smp", "1", "--once"],
        [
            ("oopses", 60, BROKEN + "oops", r"exit status 137, the kernel complained, the kernel is tainted \(D\)"),
            ("survives", 60, "true", None),
            ("panics", 60, "echo c >/proc/sysrq-trigger", "the guest did not survive it"),
            ("guest", None, None, "the guest ended in panics"),
        ],
        [r"Kernel panic - not syncing: sysrq triggered crash"],
    ),
    # The test itself cannot be told: it would be asleep.
    "awake": (
        ["--smp", "1", "--once"],
        [
            ("does-not-sleep", 60, "ask-host wake", None),
            ("ends", 60, "busybox poweroff -f", "the guest did not survive it"),
            ("guest", None, None, "wake: .*"),
        ],
        [],
    ),
    # One fails in the first try only, the other one in both.
    "tries": (
        ["--smp", "1"],
        [
            ("recovers", 60, "test $SIDRA_VM_TRY = 2", None),
            ("fails", 60, "false", "exit status 1"),
        ],
        [r"\nFLAKY: .*: recovers; logs of both tries in "],
    ),
    # What only the debug kernel sees. It is asked for leaks after the last test.
    "debug": (
        ["--smp", "2", "--kernel", "debug", "--once"],
        [
            ("passes", 60, "true", None),
            # First of all: after any report lockdep is off.
            ("inverts", 60, BROKEN_DEBUG + "invert && rmmod broken", r"the kernel complained"),
            ("overruns", 60, BROKEN_DEBUG + "overrun && rmmod broken", r"the kernel complained, the kernel is tainted \(B\)"),
            ("sleeps", 60, BROKEN_DEBUG + "sleep && rmmod broken", r"the kernel complained, the kernel is tainted \(W\)"),
            ("warns", 60, BROKEN_DEBUG + "warn && rmmod broken", "the kernel complained"),  # tainted it is already
            ("leaks", 60, BROKEN_DEBUG + "leak && rmmod broken", None),
            ("debug-end", None, None, "exit status 1, the kernel complained"),
        ],
        [r"WARNING: CPU: .*broken_init", r"BUG: KASAN: slab-out-of-bounds in broken_init", r"sleeping function called from invalid context", r"possible circular locking dependency",
         r"kmemleak: \d+ new suspected", r"lockdep has been switched off"],
    ),
}


def start(name, folder):
    options, tests, _ = BOOTS[name]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "list").write_text("".join(f"{test} {deadline} {command}\n" for test, deadline, command, _ in tests if command))
    command = [CHECKOUT / "scripts/vm/check.py", "--logs", folder, "--flaky", folder / "flaky", "--no-module", "--devices", "0", "--small", "0", *options, folder / "list"]
    shutil.rmtree(folder / "flaky", ignore_errors=True)
    with open(folder / "output", "wb") as output:
        return subprocess.Popen(list(map(str, command)), stdout=output, stderr=subprocess.STDOUT)


def judge(name, folder, status):
    """Failures of one boot, as {case: what is wrong}; None: as expected."""
    _, tests, console = BOOTS[name]
    should_fail = any(expected for _, _, _, expected in tests)
    cases = {"status": None if status == (1 if should_fail else 0) else f"check.py ended with {status}"}
    try:
        entries = ElementTree.parse(folder / "ctest.xml").getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        return {**cases, "results": str(error)}
    said = {e.get("name"): (f.get("message") if (f := e.find("failure")) is not None else None) for e in entries}
    for test, _, _, expected in tests:
        got = said.pop(test, "no result")
        good = got is None if expected is None else got is not None and re.fullmatch(expected, got)
        cases[test] = None if good else f"should be said: {expected}; was said: {got}"
    for test, got in said.items():
        cases[test] = f"was not asked for: {got}"
    told = "".join((folder / file).read_text(errors="replace") for file in ["console.log", "output"])
    for pattern in console:
        cases[f"told: {pattern}"] = None if re.search(pattern, told) else "is neither in the console's log nor in the report"
    return cases


def main():
    folder = Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or [name for name, (options, _, _) in BOOTS.items() if "debug" not in options]
    suite = ElementTree.Element("testsuite", name="vm-selftest")
    failed = 0
    running = {name: start(name, folder / name) for name in names}  # they sleep for the most part
    found = {}

    def boot(name, number):
        if number > 1:
            running[name] = start(name, folder / name)
        found[name] = judge(name, folder / name, running[name].wait())
        wrong = [case for case, what in found[name].items() if what]
        # A guest that never began with its tests has failed once, and not once for each of them.
        never = "the guest ended before its tests did" in (folder / name / "output").read_text(errors="replace")
        return ["guest"] if wrong and never else wrong
    try:
        for name in names:
            flaky.run_twice(lambda number: boot(name, number), f"{folder.name}.{name}", folder / name, CHECKOUT / "build/flaky")
            for case, wrong in found[name].items():
                entry = ElementTree.SubElement(suite, "testcase", name=f"{name}: {case}", status="fail" if wrong else "run", time="0")
                if wrong:
                    failed += 1
                    ElementTree.SubElement(entry, "failure", message=wrong)
                    print(f"  FAILED  {name}: {case}: {wrong}; logs in {folder / name}")
    finally:
        for process in running.values():
            process.terminate()
            process.wait()
    ElementTree.ElementTree(suite).write(folder / "ctest.xml")
    print(f"vm: self-test of the harness: {len(suite) - failed} of {len(suite)} things noticed as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
