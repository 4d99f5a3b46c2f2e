#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""coverage.py BOOT...: which lines of the driver the boots have executed. BOOT: a folder that check.py --coverage has left.

Prints the lines that nothing executed, and for each source how many of its lines, and of its error lines, were executed. Writes to
build/figures/driver.json: kmod_line_coverage and error_line_coverage. Lines are those that the compiler has left code of; those of headers count once.
Error lines are found in the text of the source:
- a statement that returns an error: return -E..., ERR_PTR(...), ERR_CAST(...), PTR_ERR(...), dev_err_probe(...), or a refused argument;
- all of what an `if` or `else` controls, if it ends with such a statement, with `goto`, or with the return of a variable that the condition tests;
- what stands behind a label that only `goto` reaches, up to the end of the function.
"""
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
KMOD = CHECKOUT / "kmod"

_NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.DOTALL | re.MULTILINE)
_IF = re.compile(r"\b(?:if\s*(?=\()|else\b)")
_RETURNS_ERROR = re.compile(r"return\s+(?:-E[A-Z0-9]+\s*;|(?:ERR_PTR|ERR_CAST|PTR_ERR|dev_err_probe|sidra_refuse|sidra_refusal_note\w*)\s*\()")
_RETURNS_NAME = re.compile(r"return\s+(\w+)\s*;")
_LABEL = re.compile(r"^(\w+):[ \t]*$", re.MULTILINE)
_LEAVES = re.compile(r"(?:\breturn\b[^;]*|\bgoto\s+\w+);\s*$")


def code_only(text):
    """The text with comments, strings and lines of the preprocessor as spaces."""
    return _NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def closing(text, at):
    """Where the bracket at a position is closed."""
    pairs, depth = {"(": ")", "{": "}"}, 0
    opened, closed = text[at], pairs[text[at]]
    for place in range(at, len(text)):
        depth += (text[place] == opened) - (text[place] == closed)
        if not depth:
            return place
    return len(text) - 1


def statement(text, at):
    """Begin and end of the statement at a position."""
    at += len(text[at:]) - len(text[at:].lstrip())
    if text.startswith("{", at):
        return at, closing(text, at)
    if found := re.compile(r"(?:if|for|while|switch|scoped_guard|\w*for_each\w*)\s*(?=\()").match(text, at):
        end = statement(text, closing(text, found.end()) + 1)[1]
        if other := re.compile(r"\s*else\b").match(text, end + 1):
            end = statement(text, other.end())[1]
        return at, end
    return at, text.find(";", at)


def last_statement(block):
    """The last statement of a block, or of a single statement."""
    inner = block.strip().removeprefix("{").removesuffix("}").strip()
    cut = max(inner.rstrip(";").rfind(mark) for mark in ";{}")
    return inner[cut + 1:].strip()


def error_lines(source):
    """Numbers of the lines that run only after something has failed."""
    text = code_only(source)
    ranges = [(found.start(), text.find(";", found.start())) for found in _RETURNS_ERROR.finditer(text)]
    for found in _IF.finditer(text):
        conditional = text.startswith("if", found.start())
        behind = closing(text, found.end()) + 1 if conditional else found.end()
        condition = text[found.end():behind] if conditional else ""
        begin, end = statement(text, behind)
        last = last_statement(text[begin:end + 1])
        name = _RETURNS_NAME.match(last)
        if _RETURNS_ERROR.match(last) or last.startswith("goto ") or (name and re.search(rf"\b{name[1]}\b", condition)):
            ranges.append((begin, end))
    for label in _LABEL.finditer(text):
        if _LEAVES.search(text[:label.start()]):
            end = text.find("\n}", label.end())
            ranges.append((label.end(), end if end >= 0 else len(text)))
    return {number for begin, end in ranges for number in range(text.count("\n", 0, begin) + 1, text.count("\n", 0, end) + 2)}


def unpack(boots):
    """Puts the counts of all boots where the part `coverage` of build.sh looks for them."""
    folder = CHECKOUT / "build/vm/coverage"
    shutil.rmtree(folder, ignore_errors=True)
    for boot in boots:
        packed = boot / "coverage.tar.gz"
        if not packed.exists():
            sys.exit(f"coverage: {packed} is missing: the boot did not complete, or was without --coverage")
        with tarfile.open(packed) as counts:
            counts.extractall(folder / boot.name, filter="data")
    return folder


def executed(folder):
    """For each source of the driver: how often each line was executed."""
    lines = {}
    for path in sorted(folder.glob("*.json")):
        for document in path.read_text().splitlines():
            for file in json.loads(document)["files"]:
                name = Path(file["file"])
                if name.parent.name != "kmod" or not (KMOD / name.name).exists():
                    continue
                counts = lines.setdefault(name.name, Counter())
                for line in file["lines"]:
                    counts[line["line_number"]] += line["count"]
    return lines


def spans(numbers):
    """Numbers as text, neighbours together: 3-5, 9."""
    found = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def share(done, all_lines):
    return len(done) / len(all_lines) if all_lines else 1.0


def main():
    folder = unpack([Path(name).resolve() for name in sys.argv[1:]])
    subprocess.run([HERE / "build.sh", CHECKOUT, "coverage"], check=True)
    lines = executed(folder)
    if not lines:
        sys.exit("coverage: the boots have counted nothing of the driver")
    every, done, failures, failed = set(), set(), set(), set()
    table = []
    for name, counts in sorted(lines.items()):
        errors = error_lines((KMOD / name).read_text()) & counts.keys()
        ran = {number for number, count in counts.items() if count}
        never = counts.keys() - ran
        if never:
            print(f"{name}: never executed: {spans(never)}; of them error lines: {spans(never & errors) or 'none'}")
        table.append(f"  {name:24} lines {len(ran):5} of {len(counts):5}   error lines {len(ran & errors):4} of {len(errors):4}")
        every |= {(name, number) for number in counts}
        done |= {(name, number) for number in ran}
        failures |= {(name, number) for number in errors}
        failed |= {(name, number) for number in ran & errors}
    figures = {"kmod_line_coverage": round(share(done, every), 4), "error_line_coverage": round(share(failed, failures), 4)}
    print("\n".join(table))
    print(f"lines {len(done)} of {len(every)}: {figures['kmod_line_coverage']:.1%}; error lines {len(failed)} of {len(failures)}: "
          f"{figures['error_line_coverage']:.1%}")
    subprocess.run([CHECKOUT / "scripts/figures.py", CHECKOUT / "build/figures/driver.json"], input=json.dumps(figures), text=True, check=True)


if __name__ == "__main__":
    main()
