#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fail-nth.py: the sweep of error paths, in the guest (docs/vm.md).

First everything that the driver asks the kernel for is refused once, in turn. Then the places that no refusal was seen at, and those where one refusal
is not enough, are refused all that they ask for. What is left over must be excused in tests/vm/fail-nth.sites.
In the end it prints at how many places of the driver something was refused.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAM = "/build/release/tests/sidra-test-failnth"
PLACES = Path("/build/fail-nth-sites")  # of scripts/vm/fail_sites.py
RULES = Path(__file__).with_name("fail-nth.sites")

_REFUSED = re.compile(r"# refused (\S+) (\S+) ")
_FAILED = re.compile(r"\[  FAILED  \] .* \(\d+ ms\)$")


def run(arguments, echo=True, **variables):
    """The places where something was refused, and how many cases failed."""
    environment = dict(os.environ, **variables)
    process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    refused, failed, said = set(), 0, []
    for line in process.stdout:
        said.append(line)
        if echo:
            print(line, end="", flush=True)
        if found := _REFUSED.match(line):
            refused.add(found[2])
        failed += bool(_FAILED.match(line))
    if process.wait() and not failed:
        failed = 1
    if failed and not echo:
        print("".join(f"    {line}" for line in said))
    return refused, failed


def rules():
    """What the file says of (function, called): ("always", cases), ("seldom", "") or ("never", ""); the functions of tests; and those that may have
    been inlined."""
    table, tests, inlined = {}, set(), set()
    for line in RULES.read_text().splitlines():
        words = line.split("#", 1)[0].split()
        if words and words[0] == "test":
            tests.add(words[1])
        elif words:
            key = words[1].rstrip("?"), words[2]
            table[key] = (words[0], words[3] if len(words) > 3 else "")
            if words[1].endswith("?"):
                inlined.add(key)
    return table, tests, inlined


def main():
    if not Path("/sys/kernel/debug/failslab").exists():
        sys.exit("fail-nth: this kernel cannot refuse memory on demand; the sweep is for the debug kernel: make vm-fail-nth")
    table, tests, inlined = rules()
    places = [line.split() for line in PLACES.read_text().splitlines()]
    places = [place for place in places if place[2].split("+")[0] not in tests]
    used = set()
    refused, failures = run(sys.argv[1:] or ["--gtest_filter=-FailNth.Probe"])  # Probe takes one place at a time
    missing = []
    for section, offset, place, called in places:
        function = place.split("+")[0]
        key = (function, called) if (function, called) in table else (function, "*")
        what, cases = table.get(key, ("", ""))
        used.add(key)
        if what == "always":
            site = hex(int(Path(f"/sys/module/sidra/sections/{section}").read_text(), 16) + int(offset, 16))
            trees = {"SIDRA_FAIL_TREES": "1"} if called.startswith("__xa_") else {}
            seen, failed = run([f"--gtest_filter={cases}"], echo=False, SIDRA_FAIL_SITE=site, **trees)
            failures += failed
            print(f"# refused always {place} {called}", flush=True)
            refused |= {place} if seen else set()
            if not seen:
                print(f"fail-nth: {cases} in tests/vm/fail-nth.sites does not get to {place} {called}")
                failures += 1
        if place not in refused and what not in ("never", "seldom"):
            missing.append(f"{place} {called}")
        if place in refused and what == "never":
            print(f"fail-nth: {place} {called} is said to be never asked, and was; take it out of tests/vm/fail-nth.sites")
            failures += 1
    for key in table.keys() - used - inlined:
        print(f"fail-nth: the driver has no place that is called {' '.join(key)}; take it out of tests/vm/fail-nth.sites")
        failures += 1
    for place in missing:
        print(f"fail-nth: nothing was refused at {place}; make a call that gets there, or say in tests/vm/fail-nth.sites why none can")
    failures += len(missing)
    known = {place for _, _, place, _ in places}
    print(f"# sites: {len(refused & known)}")
    sys.exit(1 if failures else 0)


main()
