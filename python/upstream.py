#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""upstream.py [SUITE...]: runs PyTorch's device-generic tests (test/ of its source) on the chip in digital mode, and compares failures with
tests/upstream.failures.txt. A failure that is not listed, and an entry that does not fail, are failures. scripts/torch-suites.sh runs this with the
PyTorch of Debian 13. Prints a line for each suite; writes OUT/SUITE.xml, OUT/SUITE.log, and OUT/failures.txt, which has what failed, in the form of the
list. --figures: writes upstream_excess_failures, how many more tests fail than with a backend that has two operators of its own and leaves all else to
the CPU (measured with PyTorch 2.6.0), to a JSON file."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree

LIST = pathlib.Path(__file__).resolve().parent / "tests/upstream.failures.txt"
# Which tests of a file, and how many fail with a minimal backend.
SUITES = {
    "test_indexing": ("", 2),
    "test_view_ops": ("", 2),
    "test_shape_ops": ("", 11),
    "test_sort_and_select": ("", 0),
    "test_tensor_creation_ops": ("", 3),
    "test_type_promotion": ("", 9),
    "test_torch": ("", 130),
    "test_optim": ("", 18),
    "test_nn": ("", 22),
    "test_modules": ("float32 and (test_forward or test_to or test_save_load or test_cpu_gpu_parity)", 18),
    "test_ops": ("TestCommonPRIVATEUSE1 and float32 and (test_out_ or test_noncontiguous_samples or test_variant_consistency_eager)", 10),
}


def run(suite, tests, out, limit):
    """Names of tests that failed, with the first line of why, and how many passed."""
    expression, _ = SUITES[suite]
    report, log = out / f"{suite}.xml", out / f"{suite}.log"
    report.unlink(missing_ok=True)
    env = {**os.environ, "PYTORCH_TESTING_DEVICE_ONLY_FOR": "sidra", "SIDRA_FALLBACK": "silent", "SIDRA_MATMUL": "digital", "SIDRA_QUIET": "1",
           "SIDRA_DEVICE": "embedded:0-1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=600", f"--junitxml={report}", f"{suite}.py"]
    with log.open("w") as file:
        status = subprocess.run(command + (["-k", expression] if expression else []), cwd=tests, env=env, stdout=file, stderr=file, timeout=limit).returncode
    if status > 1 or not report.exists():  # 0 and 1: it ran to its end
        sys.exit(f"upstream: {suite} ended with status {status} before its end; the log is {log}")
    failed, passed = {}, 0
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = f"{suite}::{case.get('classname').split('.')[-1]}::{case.get('name')}"
        trouble = [child for child in case if child.tag in ("failure", "error")]
        if trouble:
            failed[name] = (trouble[0].get("message") or "?").splitlines()[0][:160]
        elif all(child.tag != "skipped" for child in case):
            passed += 1
    return failed, passed


def expected():
    lines = [line for line in LIST.read_text().splitlines() if not line.startswith("#")] if LIST.exists() else []
    if lines != sorted(set(lines)):
        sys.exit(f"upstream: {LIST} is not sorted")
    return dict(line.split(": ", 1) for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"default: all of {', '.join(SUITES)}")
    parser.add_argument("--tests", type=pathlib.Path, required=True, help="test/ of PyTorch's source")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for logs and reports")
    parser.add_argument("--limit", type=float, default=3600, help="seconds that a suite may take (default: 3600)")
    parser.add_argument("--figures", type=pathlib.Path)
    options = parser.parse_args()
    for suite in options.suites:
        if suite not in SUITES:
            parser.error(f"there is no suite {suite}; there are: {', '.join(SUITES)}")
    listed, lines, excess, bad = expected(), [], 0, 0
    for suite in options.suites or SUITES:
        start = time.monotonic()
        failed, passed = run(suite, options.tests, options.out, options.limit)
        entries = {name for name in listed if name.startswith(suite + "::")}
        unexpected, unneeded = sorted(set(failed) - entries), sorted(entries - set(failed))
        excess += max(0, len(failed) - SUITES[suite][1])
        bad += len(unexpected) + len(unneeded)
        lines += [f"{name}: {why}" for name, why in failed.items()]
        print(f"{suite}: {passed} passed, {len(failed)} failed ({len(unexpected)} not expected), {time.monotonic() - start:.0f} s", flush=True)
        for name in unexpected:
            print(f"  FAILED {name}: {failed[name]}")
        for name in unneeded:
            print(f"  PASSES, but is listed: {name}")
    (options.out / "failures.txt").write_text("".join(line + "\n" for line in sorted(lines)))
    print(f"failures beyond a minimal backend's: {excess}")
    if options.figures and not options.suites:
        options.figures.write_text(json.dumps({"upstream_excess_failures": excess}) + "\n")
    sys.exit(bad > 0)


main()
