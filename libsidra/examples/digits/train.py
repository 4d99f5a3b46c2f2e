#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains the network of the digits example and writes model.bin; needs NumPy only. README.md describes the file.

  train.py             train on the first 1,437 rows and write model.bin
  train.py --validate  cross-validation inside those rows: what the settings below were chosen by
  train.py --check     judge model.bin: float accuracy, accuracy and hash of what a chip must compute
"""
import argparse
import pathlib
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
TRAIN_ROWS = 1437  # the rest, 360 rows, is the test part: never seen by training, settings or calibration
PIXEL_SCALE = np.float32(1 / 16)  # pixels are 0..16
SIZES = (64, 128, 64, 10)
EPOCHS, BATCH = 300, 32
RATE, DECAY = 2e-3, 5e-2  # Adam with decoupled weight decay, cosine schedule
DROPOUT = 0.2
TURN, STRETCH, SLANT, MOVE = np.radians(10), 0.1, 0.1, 0.5  # training digits are redrawn by up to this (MOVE: pixels)
SEED = 1
MAGIC, VERSION = b"SIDRAMLP", 1


def load_digits():
    rows = np.loadtxt(HERE / "digits.csv.gz", delimiter=",", dtype=np.uint8)
    return rows[:, :64], rows[:, 64]


def redraw(random, images):
    """Rotates, stretches, slants and shifts each image a little, like other handwriting; bilinear."""
    count = len(images)
    turn = random.uniform(-TURN, TURN, count)
    stretch = np.exp(random.uniform(-STRETCH, STRETCH, (2, count)))
    slant = random.uniform(-SLANT, SLANT, count)
    move = random.uniform(-MOVE, MOVE, (2, count, 1, 1))
    cosine, sine = np.cos(turn), np.sin(turn)
    # Where each pixel of the new image comes from, from the middle of the image outwards.
    from_y = np.stack([cosine / stretch[0], slant - sine / stretch[0]])[:, :, None, None]
    from_x = np.stack([sine / stretch[1], cosine / stretch[1]])[:, :, None, None]
    y, x = np.meshgrid(np.arange(8) - 3.5, np.arange(8) - 3.5, indexing="ij")
    margin = 2  # zeros around the image
    y, x = (
        np.clip(part[0] * y + part[1] * x + shift + 3.5 + margin, 0, 6.999 + 2 * margin)
        for part, shift in ((from_y, move[0]), (from_x, move[1]))
    )
    row, column = y.astype(int), x.astype(int)
    y, x = y - row, x - column
    padded = np.pad(images.reshape(-1, 8, 8).astype(np.float32), ((0, 0), (margin, margin), (margin, margin)))
    image = np.arange(count)[:, None, None]
    upper = padded[image, row, column] * (1 - x) + padded[image, row, column + 1] * x
    lower = padded[image, row + 1, column] * (1 - x) + padded[image, row + 1, column + 1] * x
    return (upper * (1 - y) + lower * y).reshape(count, 64)


def forward(weights, biases, pixels):
    """Inputs of every layer, and the logits."""
    values = [pixels.astype(np.float32) * PIXEL_SCALE]
    for layer, (weight, bias) in enumerate(zip(weights, biases)):
        out = values[-1] @ weight + bias
        values.append(np.maximum(out, 0) if layer + 1 < len(weights) else out)
    return values


def train(pixels, labels):
    random = np.random.default_rng(SEED)
    weights = [(random.standard_normal((k, n)) * np.sqrt(2 / k)).astype(np.float32) for k, n in zip(SIZES, SIZES[1:])]
    biases = [np.zeros(n, np.float32) for n in SIZES[1:]]
    parameters = weights + biases
    mean = [np.zeros_like(p) for p in parameters]
    square = [np.zeros_like(p) for p in parameters]
    batches = len(pixels) // BATCH
    step = 0
    for _ in range(EPOCHS):
        order = random.permutation(len(pixels))
        for i in range(batches):
            rows = order[i * BATCH : (i + 1) * BATCH]
            values = [redraw(random, pixels[rows]).astype(np.float32) * PIXEL_SCALE]
            masks = [None]
            for layer, (weight, bias) in enumerate(zip(weights, biases)):
                out = values[-1] @ weight + bias
                if layer + 1 < len(weights):
                    kept = random.random(out.shape, np.float32) >= DROPOUT
                    masks.append(kept.astype(np.float32) / np.float32(1 - DROPOUT))
                    out = np.maximum(out, 0) * masks[-1]
                values.append(out)

            # Softmax and cross-entropy, then backwards through the layers.
            gradient = np.exp(values[-1] - values[-1].max(1, keepdims=True))
            gradient /= gradient.sum(1, keepdims=True)
            gradient[np.arange(BATCH), labels[rows]] -= 1
            gradient /= BATCH
            slopes = [None] * len(parameters)
            for layer in reversed(range(len(weights))):
                slopes[layer] = values[layer].T @ gradient
                slopes[len(weights) + layer] = gradient.sum(0)
                if layer:
                    gradient = (gradient @ weights[layer].T) * masks[layer] * (values[layer] > 0)

            step += 1
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / (EPOCHS * batches)))
            for j, (parameter, slope) in enumerate(zip(parameters, slopes)):
                mean[j] += 0.1 * (slope - mean[j])
                square[j] += 0.001 * (slope * slope - square[j])
                update = mean[j] / (1 - 0.9**step) / (np.sqrt(square[j] / (1 - 0.999**step)) + 1e-8)
                parameter -= (rate * (update + (DECAY * parameter if j < len(weights) else 0))).astype(np.float32)
    return weights, biases


def calibrate(weights, biases, pixels):
    """Step of each layer's u8 inputs: the largest value in the training part becomes code 255."""
    values = forward(weights, biases, pixels)
    return [PIXEL_SCALE] + [np.float32(v.max() / 255) for v in values[1:-1]]


def chip_logits(weights, biases, scales, pixels):
    """What a chip computes at its exact level, as defined in sidra_cmd.h: integer sums, then one f32 factor per column."""
    codes = pixels.astype(np.int64)
    for layer, (weight, bias) in enumerate(zip(weights, biases)):
        scale = np.abs(weight).max(0) / np.float32(127)
        cells = np.rint(weight / scale).astype(np.int64)
        sums = codes @ cells + np.rint(bias / (scales[layer] * scale)).astype(np.int64)
        assert np.abs(sums).max() < 2**31
        if layer + 1 == len(weights):
            return sums.astype(np.float32) * (scales[layer] * scale)
        factor = (scales[layer] * (np.float32(1) / scales[layer + 1])) * scale
        # Saturation at 0 is the ReLU.
        codes = np.clip(np.rint(sums.astype(np.float32) * factor), 0, 255).astype(np.int64)


def fnv1a(data):
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def write_model(path, weights, biases, scales, logits_hash, pixels, labels):
    with open(path, "wb") as file:
        file.write(MAGIC + struct.pack("<4I", VERSION, len(weights), len(pixels), logits_hash))
        file.write(np.array([w.shape[0] for w in weights] + [len(biases[-1])], "<u4").tobytes())
        file.write(np.array(scales, "<f4").tobytes())
        for weight, bias in zip(weights, biases):
            file.write(weight.astype("<f4").tobytes() + bias.astype("<f4").tobytes())
        file.write(pixels.tobytes() + labels.tobytes())


def read_model(path):
    data = path.read_bytes()
    if data[:8] != MAGIC or struct.unpack_from("<I", data, 8) != (VERSION,):
        sys.exit(f"{path} is not a digits model of version {VERSION}")
    layers, digits, logits_hash = struct.unpack_from("<3I", data, 12)
    at = 24

    def take(kind, *shape):
        nonlocal at
        array = np.frombuffer(data, kind, int(np.prod(shape)), at).reshape(shape)
        at += array.nbytes
        return array

    sizes = take("<u4", layers + 1)
    scales = take("<f4", layers)
    weights, biases = [], []
    for k, n in zip(sizes, sizes[1:]):
        weights.append(take("<f4", k, n))
        biases.append(take("<f4", n))
    pixels = take("u1", digits, 64)
    labels = take("u1", digits)
    if at != len(data):
        sys.exit(f"{path} has {len(data)} bytes, its header says {at}")
    return weights, biases, scales, logits_hash, pixels, labels


def check(path):
    weights, biases, scales, logits_hash, pixels, labels = read_model(path)
    all_pixels, all_labels = load_digits()
    problems = []
    if not (np.array_equal(pixels, all_pixels[TRAIN_ROWS:]) and np.array_equal(labels, all_labels[TRAIN_ROWS:])):
        problems.append("the digits in the model are not the test part of digits.csv.gz")
    exact = chip_logits(weights, biases, scales, pixels)
    float_answers = forward(weights, biases, pixels)[-1].argmax(1)
    chip_answers = exact.argmax(1)
    float_right, chip_right = int((float_answers == labels).sum()), int((chip_answers == labels).sum())
    computed_hash = fnv1a(exact.astype("<f4").tobytes())
    if computed_hash != logits_hash:
        problems.append(f"the header says logits hash {logits_hash:08x}, the formulas give {computed_hash:08x}")
    if float_right - chip_right > len(labels) // 100:
        problems.append("quantisation costs more than one point")
    for name, right in (("float", float_right), ("chip", chip_right)):
        print(f"{name + ':':6} {right} of {len(labels)} right ({100 * right / len(labels):.2f} %)")
    print(f"logits hash {computed_hash:08x}")
    print("rows where they differ:", np.flatnonzero(float_answers != chip_answers).tolist())
    for problem in problems:
        print("error:", problem, file=sys.stderr)
    return 1 if problems else 0


def validate(folds=5):
    pixels, labels = (part[:TRAIN_ROWS] for part in load_digits())
    shares = []
    for fold in range(folds):
        # Blocks of neighbours, not random rows: rows next to each other look alike, and the test part is a block too.
        held_out = np.zeros(TRAIN_ROWS, bool)
        held_out[fold * TRAIN_ROWS // folds : (fold + 1) * TRAIN_ROWS // folds] = True
        weights, biases = train(pixels[~held_out], labels[~held_out])
        answers = forward(weights, biases, pixels[held_out])[-1].argmax(1)
        shares.append((answers == labels[held_out]).mean())
        print(f"fold {fold + 1}: {100 * shares[-1]:.2f} %")
    print(f"mean:   {100 * np.mean(shares):.2f} %")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--model", type=pathlib.Path, default=HERE / "model.bin", help="file to write or check")
    options = parser.parse_args()
    if options.validate:
        return validate()
    if not options.check:
        pixels, labels = load_digits()
        weights, biases = train(pixels[:TRAIN_ROWS], labels[:TRAIN_ROWS])
        scales = calibrate(weights, biases, pixels[:TRAIN_ROWS])
        test_pixels, test_labels = pixels[TRAIN_ROWS:], labels[TRAIN_ROWS:]
        logits_hash = fnv1a(chip_logits(weights, biases, scales, test_pixels).astype("<f4").tobytes())
        write_model(options.model, weights, biases, scales, logits_hash, test_pixels, test_labels)
    return check(options.model)


if __name__ == "__main__":
    sys.exit(main())
