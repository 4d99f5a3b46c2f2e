#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""operators_page.py: writes docs/pytorch-operators.md from the sources of sidra_pytorch: the table of pointwise operators, and what is registered."""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parent.parent
ATEN = TOP / "python/pytorch/csrc/aten"
PAGE = TOP / "docs/pytorch-operators.md"

HEAD = """# Operators of PyTorch on the chip

This page is made from the sources by `python3 python/operators_page.py`. It lists what has a kernel for the chip. Each
kernel takes some types and shapes, and leaves the others to the CPU, as all operators that are not here
([pytorch.md](pytorch.md#what-runs-where)). Operators that PyTorch composes of these run on the chip, too.

## Pointwise operators

These are vector programs of [pointwise.inc](../python/pytorch/csrc/aten/pointwise.inc). An array has up to four
dimensions that cannot be merged. Floats are `float32`, `float16` and `bfloat16`, computed in f32. The error is the
largest one in units in the last place of an f32, that of the CPU included.

| operator | floats | `int32` | `int64` | `bool`, `uint8`, `int8`, `int16` | error |
|---|---|---|---|---|---|
"""

OTHERS = """

## Others

There is no table of types for these: the code of each kernel decides by types, shapes, strides and the other arguments
together. `torch.sidra.fallbacks()` lists what of a program ran on the CPU, with `SIDRA_FALLBACK=error` that is an
exception, and the profiler has a row for it ([pytorch.md](pytorch.md#profiler)).
"""


def pointwise():
    strings = r'"(?:[^"]*)"|\w+'
    for kind, name, rest in re.findall(r"^(UNARY_FLOAT|UNARY|BINARY|COMPARE|BITS|LOGICAL)\((\w+), (.*)\)$", (ATEN / "pointwise.inc").read_text(), re.M):
        fields = re.findall(strings, rest)
        there = [field != '""' for field in fields]
        yes = lambda answer: "yes" if answer else ""  # noqa: E731
        columns = {
            "UNARY_FLOAT": lambda: ("yes", "as float", "", "as float", fields[-1]),
            "UNARY": lambda: ("yes", yes(there[1]), yes(there[2]), "", fields[-1]),
            "BINARY": lambda: ("yes", yes(there[1]), yes(there[2]), "", fields[-1]),
            "COMPARE": lambda: ("yes", yes(there[1]), yes(there[2]), "yes", ""),
            "BITS": lambda: ("", "yes", yes(there[1]), "yes", ""),
            "LOGICAL": lambda: ("", "", "", "`bool`", ""),
        }[kind]()
        yield f"| `{name}` | " + " | ".join(columns) + " |"


def about(source):
    """The comment at the top of a file."""
    lines = re.match(r"// SPDX[^\n]*\n((?://[^\n]*\n)+)", source)[1].splitlines()
    return " ".join(line[2:].strip() for line in lines)


def wrapped(words, width=120):
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return "\n".join(lines)


def page():
    parts = [HEAD + "\n".join(pointwise()) + OTHERS]
    for path in sorted(ATEN.glob("*.cpp")):
        source = path.read_text()
        # Without overloads, and without the variants in place of those that have others.
        names = {name.split(".")[0] for name in re.findall(r'm\.impl\("([\w.]+)"', source)} - {""}
        names = sorted(name for name in names if name[:-1] not in names)
        if names:
            text = wrapped(about(source).split())
            operators = wrapped([f"`{name}`," for name in names[:-1]] + [f"`{names[-1]}`."])
            parts.append(f"\n### {path.name}\n\n{text}\n\n{operators}\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
