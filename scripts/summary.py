#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""summary.py BUILD_DIR...: adds up the test results that ctest left in build folders and prints `N passed, N failed`.

A ctest entry that is a GoogleTest executable counts with its cases; every other entry, and an executable that ended badly in a way that none of
its cases shows (crash, leak, data race, timeout), counts as one. No results in a folder is a failure. Exit status 1 if anything failed.
"""
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def count(build):
    """(passed, failed names, skipped names) of one build folder."""
    try:
        entries = ElementTree.parse(build / "ctest.xml").getroot().findall("testcase")
    except (OSError, ElementTree.ParseError):
        entries = []
    if not entries:
        return 0, ["no test results"], []
    passed, failed, skipped = 0, [], []
    for entry in entries:
        name, status = entry.get("name"), entry.get("status")
        try:
            cases = ElementTree.parse(build / "results" / f"{name}.xml").getroot().findall("testsuite/testcase")
        except (OSError, ElementTree.ParseError):
            cases = []
        bad = [f"{name}: {c.get('classname')}.{c.get('name')}" for c in cases if c.find("failure") is not None]
        off = [f"{name}: {c.get('classname')}.{c.get('name')}" for c in cases if c.get("result") == "skipped"]
        failed += bad
        skipped += off
        passed += len(cases) - len(bad) - len(off)
        reason = entry.find("skipped")
        if status == "run":
            passed += 0 if cases else 1
        elif reason is not None and reason.get("message", "").startswith("SKIP_RETURN_CODE"):
            skipped.append(name)
        elif status == "notrun":
            failed.append(f"{name}: not run: {reason.get('message') if reason is not None else 'unknown why'}")
        elif not bad:
            failed.append(f"{name}: exit status, signal or timeout, {entry.get('time', '?')} s" + (" (no case failed)" if cases else ""))
    return passed, failed, skipped


def main():
    passed = failed = 0
    for folder in sys.argv[1:]:
        build = Path(folder)
        ok, bad, skipped = count(build)
        passed += ok
        failed += len(bad)
        print(f"{build.name}: {ok} passed, {len(bad)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
        for name in bad:
            print(f"    failed  {name}")
        for name in skipped:
            print(f"    skipped {name}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
