# SPDX-License-Identifier: MIT
"""The second run of a failed boot, and the record of tests that failed only in the first one.

A boot that fails is repeated as a whole. If a test passes then, build/flaky/<boot>-<number> keeps the logs of both runs (`first`, `second`) and, in
`tests`, the names of the flaky tests, until somebody removes it. scripts/summary.py reports them, and fails a run with too many.
"""
import shutil


LOGS = ["ctest.xml", "results", "reports", "tap", "console.log", "output", "qemu.command"]  # other files in the folder are not needed


def _keep(logs, folder):
    folder.mkdir()
    for name in LOGS:
        if (logs / name).is_dir():
            shutil.copytree(logs / name, folder / name)
        elif (logs / name).exists():
            shutil.copy2(logs / name, folder / name)


def _new_folder(parent, name):
    number = 1
    while (folder := parent / f"{name}-{number}").exists():
        number += 1
    folder.mkdir(parents=True)
    return folder


def run_twice(boot, name, logs, kept):
    """boot(try): runs a boot, writes its logs to `logs`, and returns the names of failed tests. Returns the result of the last run."""
    failed = boot(1)
    if not failed:
        return failed
    print(f"vm: {name}: failed: {', '.join(failed)}; the boot is run once more as a whole", flush=True)
    folder = _new_folder(kept, name)
    _keep(logs, folder / "first")
    again = boot(2)
    flaky = [test for test in failed if test not in again]
    if not flaky:
        shutil.rmtree(folder)
        return again
    _keep(logs, folder / "second")
    (folder / "tests").write_text("".join(f"{name}: {test}\n" for test in flaky))
    for test in flaky:
        print(f"FLAKY: {name}: {test}; logs of both tries in {folder}", flush=True)
    return again
