#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""summary.py RUN: summarises the results of one run of scripts/check.sh in the folder RUN, and prints `N passed, N failed`.

An entry of the run's ctest.xml is a test of a build tree, named TREE/TEST, or it has its own results in build/NAME/ctest.xml, as for boots of the VM.
A GoogleTest executable counts with its cases; every other entry, and an executable that failed outside of its cases (crash, leak, data race,
timeout), counts as one. Missing results are a failure. Flaky tests (scripts/vm/flaky.py) are reported; more than FLAKY of them fail the run. The
failures are printed last, each with the end of its output and the kernel's complaint, so that the end of a log is sufficient. Writes the number of
flaky tests to build/figures/check.json.
Exit status 1 if anything failed.
"""
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

LINES = 50  # lines of output of a failed test
SHOWN = 10  # failures printed in full
SLOWEST = 8  # entries whose time is printed
FLAKY = 2  # number of flaky tests that a run may have

BUILD = Path("build")


def read(path, what):
    try:
        return ElementTree.parse(path).getroot().findall(what)
    except (OSError, ElementTree.ParseError):
        return []


class Group:
    """Results of one build tree, or of one boot."""

    def __init__(self, name):
        self.name, self.passed, self.failed, self.skipped = name, 0, [], []  # failed: (name, what it said)

    def add(self, name, entry, cases):
        """Adds an entry of a ctest.xml, with its cases if it is a GoogleTest executable."""
        status, reason = entry.get("status"), entry.find("skipped")
        failure, output = entry.find("failure"), entry.findtext("system-out") or ""
        complaint = entry.findtext("system-err") or ""
        if complaint:
            complaint = f"\nThe kernel's complaint:\n{complaint}"
        bad = [(f"{name}: {c.get('classname')}.{c.get('name')}", c.find("failure").get("message", "")) for c in cases if c.find("failure") is not None]
        off = [f"{name}: {c.get('classname')}.{c.get('name')}" for c in cases if c.get("result") == "skipped"]
        self.failed += [(case, end(said) + complaint) for case, said in bad]
        self.skipped += off
        self.passed += len(cases) - len(bad) - len(off)
        if status == "run":
            self.passed += 0 if cases else 1
        elif reason is not None and reason.get("message", "").startswith("SKIP_RETURN_CODE"):
            self.skipped.append(f"{name}: {output.strip().splitlines()[-1]}" if output.strip() else name)
        elif status == "notrun":
            self.failed.append((name, f"not run: {reason.get('message') if reason is not None else 'unknown why'}"))
        elif not bad:
            why = failure.get("message", "") if failure is not None else ""
            self.failed.append((f"{name}: ended badly after {entry.get('time', '?')} s" + (" (no case failed)" if cases else ""),
                                end(output) + f"\n{why}" + complaint))


def end(said):
    return "\n".join(said.strip().splitlines()[-LINES:])


def groups_of(run):
    groups = {}

    def group(name):
        return groups.setdefault(name, Group(name))
    entries = read(run / "ctest.xml", "testcase")
    if not entries:
        group(run.name).failed.append(("no test results", "nothing was built, or no test started"))
    for entry in entries:
        name = entry.get("name")
        own = read(BUILD / name / "ctest.xml", "testcase")
        if own:
            for one in own:
                group(name).add(one.get("name"), one, read(BUILD / name / "results" / f"{one.get('name')}.xml", "testsuite/testcase"))
            if entry.get("status") != "run" and not group(name).failed:
                group(name).add(name, entry, [])
        else:
            tree, _, test = name.rpartition("/")
            group(tree or run.name).add(test, entry, read(BUILD / tree / "results" / f"{test}.xml", "testsuite/testcase") if tree else [])
    return groups.values()


def flaky_of(run):
    """The tests found flaky since the run began."""
    began = (run / "CTestTestfile.cmake").stat().st_mtime
    return [line for path in sorted(BUILD.glob("flaky/*/tests")) if path.stat().st_mtime >= began for line in path.read_text().splitlines()]


def main():
    run = Path(sys.argv[1])
    groups, flaky = groups_of(run), flaky_of(run)
    subprocess.run([Path(__file__).parent / "figures.py", BUILD / "figures/check.json"], input=json.dumps({"flaky": len(flaky)}), text=True, check=True)
    failures = [(f"{group.name}: {name}", said) for group in groups for name, said in group.failed]
    if len(flaky) > FLAKY:
        failures.append((f"{len(flaky)} flaky tests", f"no more than {FLAKY} may be; the logs of both tries are in build/flaky"))
    for group in groups:
        print(f"{group.name}: {group.passed} passed, {len(group.failed)} failed" + (f", {len(group.skipped)} skipped" if group.skipped else ""))
        for name in group.skipped:
            print(f"    skipped {name}")
    entries = sorted(read(run / "ctest.xml", "testcase"), key=lambda entry: -float(entry.get("time", 0)))
    print("slowest:", ", ".join(f"{entry.get('name')} {float(entry.get('time', 0)):.0f} s" for entry in entries[:SLOWEST]))
    passed = sum(group.passed for group in groups)
    for name in flaky:
        print(f"FLAKY: {name}")
    print(f"{passed} passed, {len(failures)} failed" + (f", {len(flaky)} flaky" if flaky else ""))
    if len(failures) > SHOWN:
        print(f"the last {SHOWN} of {len(failures)} failures follow; all of them:")
        for name, _ in failures:
            print(f"    {name}")
    for name, said in failures[-SHOWN:]:
        print(f"FAILED  {name}")
        for line in said.strip().splitlines():
            print(f"    {line}")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
