#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compile-variants.py SIDRA_COMPILE SIDRA_RUN: compiles the convolutional network of the examples, as an ONNX model of any number of images, for
several numbers of images at once, and runs each variant on the digits that training never saw. Their labels, and the outputs that the example stores,
say what is right."""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "libsidra/examples/convnet"))
import onnx_text
import train
from onnx_text import info, node, tensor

BATCHES = (7, 1, 360)  # in no order


def make_model(path):
    """The example's network in f32. Where its layers have codes between them, the values are in the codes' steps."""
    body, value = "", "images"
    for number, (codes, factor, offset, _, in_factor) in enumerate(train.read_model(train.MODEL)[0]):
        kind, kernel, stride, pad, outputs = train.NETWORK[number]
        windows = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
        out = f"layer{number}"
        if kind in (train.POOL_MAX, train.POOL_AVERAGE):
            body += node("MaxPool" if kind == train.POOL_MAX else "AveragePool", [value], out, **windows)
        else:
            weights = (codes * factor * (in_factor or 1)).reshape(kernel, kernel, -1, outputs).transpose(3, 2, 0, 1)
            bias = offset - train.ZERO if train.gives_codes(number) else offset
            body += tensor(f"weights{number}", np.ascontiguousarray(weights, np.float32)) + tensor(f"bias{number}", bias.astype(np.float32))
            group = outputs if kind == train.DEPTHWISE else 1
            body += node("Conv", [value, f"weights{number}", f"bias{number}"], f"sums{number}", group=group, **windows)
            body += node("Flatten" if kind == train.CLASSIFIER else "Relu", [f"sums{number}"], out)
        value = out
    shape = ["count", 1, train.SIDE, train.SIDE]
    onnx_text.save(path, info("input", "images", shape) + info("output", value, ["count", train.CLASSES]) + body)


def check(holds, what):
    if not holds:
        sys.exit(f"compile-variants: {what}")


def run(*command, status=0):
    """Both outputs of a program."""
    told = subprocess.run([str(each) for each in command], capture_output=True, text=True)
    check(told.returncode == status, f"{' '.join(map(str, command))}: exit status {told.returncode} instead of {status}: {told.stdout}{told.stderr}")
    return told.stdout + told.stderr


def check_outputs(folder, sidra_run, model, pixels, labels):
    wanted = np.fromfile(train.REFERENCE, "<f4").reshape(-1, train.CLASSES).astype("f8")
    rows = {}
    for batch in BATCHES:
        np.save(folder / "in.npy", pixels[:batch].reshape(-1, 1, train.SIDE, train.SIDE).astype(np.float32))
        run(sidra_run, model, folder / "in.npy", "-o", folder / "out.npy")
        found = rows[batch] = np.load(folder / "out.npy").astype("f8")
        check(found.shape == (batch, train.CLASSES), f"the outputs of {batch} images have the shape {found.shape}")
        cosine = ((found * wanted[:batch]).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(wanted[:batch], axis=1)).min()
        right = (found.argmax(1) == labels[:batch]).mean()
        print(f"{batch} images: cosine with the example's outputs at least {cosine:.5f}, {100 * right:.1f} % of the digits are right")
        check(cosine > 0.998 and right > 0.97, f"the outputs of {batch} images are wrong")
    for batch in BATCHES:
        check(np.array_equal(rows[batch], rows[max(BATCHES)][:batch]), f"an image gives other outputs among {batch} images than among {max(BATCHES)}")


def main():
    sidra_compile, sidra_run = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
    os.environ.update(SIDRA_DEVICE="embedded", SIDRA_QUIET="1", SIDRA_PUBLISH="0")
    pixels, labels = (part[train.digits.TRAIN_ROWS :] for part in train.digits.load_digits())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        network, model, single = folder / "digits.onnx", folder / "digits.sidra", folder / "one.sidra"
        make_model(network)
        run(sidra_compile, "--no-cache", network, "-o", model, "--dim", f"count={','.join(map(str, BATCHES))}")
        run(sidra_compile, "--no-cache", network, "-o", single, "--dim", "count=1")
        check_outputs(folder, sidra_run, model, pixels, labels)
        # The weights are there once.
        matrices = [[line for line in run(sidra_run, each).splitlines() if line.startswith("matrices ")] for each in (model, single)]
        check(matrices[0] == matrices[1] and len(matrices[0]) == 1, f"three variants have {matrices[0]}, one has {matrices[1]}")
        np.save(folder / "in.npy", pixels[:2].reshape(-1, 1, train.SIDE, train.SIDE).astype(np.float32))
        told = run(sidra_run, model, folder / "in.npy", status=1)
        for batch in BATCHES:
            check(f"{batch} x 1 x 8 x 8" in told, f"what there is no variant for is refused without naming {batch}: {told}")


main()
