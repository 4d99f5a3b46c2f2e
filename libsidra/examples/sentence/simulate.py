#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Computes with NumPy what a chip computes for the sentences of reference.tsv, bit by bit: the packets of README.md
with the programs of programs/. Compares the embeddings with those of PyTorch in f32. Needs NumPy, and the model file
of convert.py.

  simulate.py          write chip.tsv: for each sentence the hash of its embedding, and its cosine with PyTorch's
  simulate.py --check  compute them again, and compare with chip.tsv
"""
import argparse
import pathlib
import sys

import numpy as np

import arithmetic
import convert
import program
from arithmetic import F32

TABLE = convert.HERE / "chip.tsv"
REFERENCE, EMBEDDINGS = convert.HERE / "reference.tsv", convert.HERE / "reference.f32"
COSINE_MIN = 0.99
BUCKET = 16  # a sentence is padded to a multiple of this many tokens


class Chip:
    """The packets of the encoder. Arrays have the four dimensions of operands."""

    def __init__(self, model):
        self.model = model
        self.programs = {path.stem: program.load(path) for path in (convert.HERE / "programs").glob("*.vector")}
        self.norm = [F32(1) / F32(convert.WIDTH), convert.EPSILON]

    def vector(self, name, size, operands, params):
        program.run(self.programs[name][1], size, operands, params)

    def layer(self, name, matrix, rows, operands, params=()):
        """rows: f32 of {1, 1, tokens, K}."""
        prologue, epilogue = self.programs[name]
        codes = np.zeros(rows.shape, np.uint8)
        scalars = program.run(prologue, rows.shape, {**operands, "input": rows, "codes": codes}, params)
        weights = self.model[matrix + ".codes"]
        # Exact in f64: K * 255 * 127 < 2^53; and below 2^31, so nothing wraps.
        sums = (codes.astype(np.float64) @ weights.astype(np.float64)).astype(np.int32)
        program.run(epilogue, sums.shape, {**operands, "sums": sums}, params, scalars)

    def matmul(self, name, a, b, operands, params=()):
        sums = arithmetic.matmul(a, b)
        program.run(self.programs[name][1], sums.shape, {**operands, "sums": sums}, params)

    def embed(self, ids, tokens):
        """The embedding of a sentence; `tokens`: rows to compute with, at least as many as ids."""
        width, heads, inner = convert.WIDTH, convert.HEADS, convert.INNER
        padded = np.zeros(tokens, np.int64)
        padded[: len(ids)] = ids
        mask, shares = np.zeros((1, 1, 1, tokens), F32), np.zeros((1, 1, 1, tokens), F32)
        space = (1, 1, tokens, width)
        x, y, context = (np.zeros(space, F32) for _ in range(3))
        qkv = np.zeros((1, 1, tokens, 3 * width), F32)
        attention = np.zeros((1, heads, tokens, tokens), F32)
        hidden = np.zeros((1, 1, tokens, inner), F32)
        model = self.model
        count = np.full((1, 1, 1, 1), len(ids), np.int32)
        self.vector("mask", mask.shape, {"o0": count, "o1": mask, "o2": shares}, [])
        self.vector("embedding", space, {
            "o0": model["words"][padded], "o1": model["positions"][:tokens], "o2": model["embedding.gamma"],
            "o3": model["embedding.beta"], "o4": x,
        }, self.norm)  # fmt: skip
        # A head is a slice of columns: {1, heads, tokens, width of a head}, a view of the same memory.
        heads_of = lambda array: array.reshape(1, tokens, heads, -1).transpose(0, 2, 1, 3)
        query, key, value = (heads_of(qkv[..., part * width : (part + 1) * width]) for part in range(3))
        for layer in range(convert.LAYERS):
            name = f"layer{layer}."

            def tables(matrix, *keys):
                return [model[f"{name}{matrix}.{key}"] for key in keys]

            def operands(*arrays):
                return {f"o{n}": array for n, array in enumerate(arrays)}

            linear, norm = ("sums", "scale", "bias"), ("gamma", "beta")
            self.layer("project", name + "qkv", x, operands(*tables("qkv", "smooth", *linear), qkv))
            self.matmul("attention", query, key.transpose(0, 1, 3, 2), {"o2": attention, "o3": mask},
                        [F32(1) / np.sqrt(F32(width // heads))])  # fmt: skip
            self.matmul("context", attention, value, {"o2": heads_of(context)})
            self.layer("residual_norm", name + "out", context,
                       operands(*tables("out", *linear), x, *tables("out", *norm), y), self.norm)  # fmt: skip
            self.layer("gelu", name + "inner", y, operands(*tables("inner", "smooth", *linear), hidden))
            self.layer("residual_norm", name + "outer", hidden,
                       operands(*tables("outer", *linear), y, *tables("outer", *norm), x), self.norm)  # fmt: skip
        out = np.zeros((1, 1, 1, width), F32)
        self.matmul("pooling", shares, x, {"o2": out})
        return out.reshape(width)


def fnv1a(data):
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def read_reference():
    """Token ids and nearest neighbour of each sentence, and PyTorch's embeddings."""
    rows = convert.table_rows(REFERENCE)
    ids = [[int(i) for i in row[1].split()] for row in rows]
    return ids, [int(row[0]) for row in rows], np.fromfile(EMBEDDINGS, "<f4").reshape(len(rows), convert.WIDTH)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--model", type=pathlib.Path, default=convert.default_model(), help="file of convert.py")
    options = parser.parse_args()
    chip = Chip(convert.read_model(options.model))
    ids, neighbours, reference = read_reference()
    embeddings = np.stack([chip.embed(each, -(-len(each) // BUCKET) * BUCKET) for each in ids])
    hashes = [f"{fnv1a(each.astype('<f4').tobytes()):08x}" for each in embeddings]
    exact, reference = embeddings.astype(np.float64), reference.astype(np.float64)
    cosines = (exact * reference).sum(1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(reference, axis=1)
    similar = exact @ exact.T
    np.fill_diagonal(similar, -2)
    same = sum(similar.argmax(1) == neighbours)
    print(f"cosine with PyTorch in f32: at least {cosines.min():.5f}, mean {cosines.mean():.5f}")
    print(f"nearest sentence as with PyTorch: {same} of {len(ids)}")
    problems = []
    if cosines.min() < COSINE_MIN:
        problems.append(f"the cosine of sentence {cosines.argmin()} is below {COSINE_MIN}")
    # Padding must not change a bit; so the chip may compute with more rows than a sentence has tokens.
    if not np.array_equal(chip.embed(ids[0], len(ids[0])), embeddings[0]):
        problems.append("a sentence gives other bits with padding than without")
    lines = [f"{name}\t{cosine:.5f}" for name, cosine in zip(hashes, cosines)]
    if options.check:
        if [line for line in TABLE.read_text().splitlines() if not line.startswith("#")] != lines:
            problems.append(f"{TABLE.name} is out of date: run simulate.py")
    else:
        header = "# Written by simulate.py: FNV-1a of the embedding that a chip computes, cosine with PyTorch's."
        TABLE.write_text("\n".join([header, *lines]) + "\n")
    for problem in problems:
        print(f"simulate.py: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
