#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""summary.py BUILD_DIR...: adds up the test results that ctest left in build folders and prints `N passed, N failed`.

A ctest entry that is a GoogleTest executable counts with its cases; every other entry, and an executable that ended badly in a way that none of
its cases shows (crash, leak, data race, timeout), counts as one. No results in a folder is a failure. What failed is listed, with the end of what
it said. Exit status 1 if anything failed.
"""
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

LINES = 50  # of what a failed test said


class Folder:
    """Results of one build folder."""

    def __init__(self, build):
        self.name, self.passed, self.failed, self.skipped = build.name, 0, [], []  # failed: (name, what it said)
        entries = self._read(build / "ctest.xml", "testcase")
        if not entries:
            self.failed.append(("no test results", "it was not built, or its tests did not start"))
        for entry in entries:
            self._add(entry, self._read(build / "results" / f"{entry.get('name')}.xml", "testsuite/testcase"))

    @staticmethod
    def _read(path, what):
        try:
            return ElementTree.parse(path).getroot().findall(what)
        except (OSError, ElementTree.ParseError):
            return []

    def _add(self, entry, cases):
        name, status, reason = entry.get("name"), entry.get("status"), entry.find("skipped")
        bad = [(f"{name}: {c.get('classname')}.{c.get('name')}", c.find("failure").get("message", "")) for c in cases if c.find("failure") is not None]
        off = [f"{name}: {c.get('classname')}.{c.get('name')}" for c in cases if c.get("result") == "skipped"]
        self.failed += bad
        self.skipped += off
        self.passed += len(cases) - len(bad) - len(off)
        if status == "run":
            self.passed += 0 if cases else 1
        elif reason is not None and reason.get("message", "").startswith("SKIP_RETURN_CODE"):
            self.skipped.append(name)
        elif status == "notrun":
            self.failed.append((name, f"not run: {reason.get('message') if reason is not None else 'unknown why'}"))
        elif not bad:
            why = entry.find("failure")
            said = (why.get("message", "") if why is not None else "") + "\n" + (entry.findtext("system-out") or "")
            self.failed.append((f"{name}: ended badly after {entry.get('time', '?')} s" + (" (no case failed)" if cases else ""), said))


def main():
    folders = [Folder(Path(folder)) for folder in sys.argv[1:]]
    for folder in folders:
        for name, said in folder.failed:
            print(f"{folder.name}: {name}")
            for line in said.strip().splitlines()[-LINES:]:
                print(f"    {line}")
    for folder in folders:
        print(f"{folder.name}: {folder.passed} passed, {len(folder.failed)} failed" + (f", {len(folder.skipped)} skipped" if folder.skipped else ""))
        for name, _ in folder.failed:
            print(f"    failed  {name}")
        for name in folder.skipped:
            print(f"    skipped {name}")
    passed, failed = sum(f.passed for f in folders), sum(len(f.failed) for f in folders)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
