# SPDX-License-Identifier: MIT
"""Runs vector programs in NumPy: a second implementation of the language of docs/vector-programs.md, as far as the
programs of this folder use it. simulate.py computes with it what a chip must compute, from the same files as the chip."""
import re

import numpy as np

import arithmetic
from arithmetic import F32


def rsqrt(a):
    return F32(1) / np.sqrt(a)


FLOAT = {
    "move": lambda a: a,
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "fma": arithmetic.fma,
    "max": arithmetic.maximum, "min": arithmetic.minimum, "neg": np.negative, "abs": np.abs,
    "sqrt": np.sqrt, "rsqrt": rsqrt, "round": np.rint, "exp": arithmetic.exp, "gelu": arithmetic.gelu,
    "to_int": arithmetic.to_s32,
    "reduce_sum": arithmetic.reduce_sum, "reduce_dot": arithmetic.reduce_dot,
    "reduce_max": lambda a: a.max(-1, keepdims=True), "reduce_min": lambda a: a.min(-1, keepdims=True),
}  # fmt: skip
# NumPy's s32 arithmetic on arrays is modulo 2^32. A mask is 0 or -1.
INTEGER = {
    "add_int": np.add, "sub_int": np.subtract, "mul_int": np.multiply, "to_float": lambda a: a.astype(F32),
    "lt_int": lambda a, b: -(a < b).astype(np.int32),
}  # fmt: skip
GIVES_INTEGER = ("load_int", "to_int", "lt_int", "add_int", "sub_int", "mul_int")


def load(path):
    """Prologue (empty without one) and epilogue of a program: lists of (line number, destination, operation, words)."""
    sections = [[]]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.partition("#")[0].strip()
        if line == "epilogue:":
            sections.append([])
        elif line and line != "pass:":
            match = re.fullmatch(r"(?:([vs]\d+) = )?(\w+) (.*)", line)
            if not match:
                raise ValueError(f"{path.name}:{number}: not an instruction: {line}")
            sections[-1].append((f"{path.name}:{number}", match[1], match[2], re.split(r", *", match[3])))
    return sections if len(sections) == 2 else [[], sections[0]]


def run(code, size, operands, params, registers=None):
    """Runs one section on the iteration space `size`. operands: arrays by name (o0, sums...), of four dimensions or
    fewer; dimensions of size 1 are repeated. Returns the registers. Passes need no attention: this computes each
    instruction for all rows and columns before the next one."""
    registers = dict(registers or {})
    for place, destination, operation, words in code:

        def source(word, kind):
            if word in registers:
                return registers[word]
            if word == "column":
                return np.arange(size[3], dtype=np.int32).reshape(1, 1, 1, -1)
            if re.fullmatch(r"p\d", word):
                return np.full((1, 1, 1, 1), params[int(word[1])], kind)
            return np.full((1, 1, 1, 1), kind(float(word) if kind is F32 else int(word, 0)), kind)

        if operation in ("load", "load_int"):
            array = operands[words[0]]
            value = np.broadcast_to(array.astype(F32 if operation == "load" else np.int32), size)
        elif operation == "store":
            array, value = operands[words[0]], np.broadcast_to(source(words[1], F32), size)
            if array.dtype != F32:
                limits = np.iinfo(array.dtype)
                value = np.clip(arithmetic.to_s32(value), limits.min, limits.max)
            array[...] = value
            continue
        elif operation in FLOAT:
            value = FLOAT[operation](*(source(word, F32) for word in words))
        elif operation == "select":
            value = np.where(source(words[0], np.int32) != 0, source(words[1], F32), source(words[2], F32))
        elif operation in INTEGER:
            value = INTEGER[operation](*(source(word, np.int32) for word in words))
        else:
            raise ValueError(f"{place}: {operation} is not simulated: no program of this folder has used it so far")
        expected = np.int32 if operation in GIVES_INTEGER else F32
        assert value.dtype == expected, f"{place}: {value.dtype}"
        registers[destination] = value
    # Vector registers end with their pass, scalar ones with the packet.
    return {name: value for name, value in registers.items() if name[0] == "s"}
