#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains the convolutional network of this folder and writes model.bin and reference.f32; convnet.h describes them.
Training needs torch==2.13.0 and NumPy; everything else needs NumPy only.

  train.py             train on the first 1,437 digits, quantise, and write both files
  train.py --validate  cross-validation inside those digits
  train.py --check     compute the outputs of model.bin again, and compare them with its hashes and with reference.f32
"""
import argparse
import importlib.util
import pathlib
import struct
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MODEL, REFERENCE = HERE / "model.bin", HERE / "reference.f32"
# Data, distortions and split are those of the digits example.
spec = importlib.util.spec_from_file_location("digits_train", HERE.parent / "digits" / "train.py")
digits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(digits)

SIDE = 8
CLASSES = 10
CONVOLUTION, DEPTHWISE, POOL_MAX, POOL_AVERAGE, CLASSIFIER = range(5)  # sidra::convnet::Kind
# kind, kernel, stride, pad, output channels
NETWORK = (
    (CONVOLUTION, 3, 1, 1, 16),
    (DEPTHWISE, 3, 1, 1, 16),
    (CONVOLUTION, 1, 1, 0, 32),
    (POOL_MAX, 3, 2, 1, 32),
    (DEPTHWISE, 3, 1, 1, 32),
    (CONVOLUTION, 1, 1, 0, 48),
    (CONVOLUTION, 3, 2, 1, 64),
    (POOL_AVERAGE, 2, 1, 0, 64),
    (CLASSIFIER, 1, 1, 0, CLASSES),
)
EPOCHS, BATCH = 40, 64
RATE, DECAY = 3e-3, 5e-2  # Adam with decoupled weight decay, cosine schedule
DROPOUT = 0.3  # of the features
SEED = 1
BATCH_NORM_EPSILON = 1e-5
PIXEL_SCALE = np.float32(1 / 16)  # a pixel is a code already
ZERO = -128  # the code of 0 in all layers but the first: outputs of ReLU use all 256 codes, and saturation is the ReLU
MAGIC, VERSION = b"SIDRACNV", 1
HEADER, RECORD = struct.Struct("<8s6I"), struct.Struct("<8IifIIII")
ALIGNMENT = 16


def sides():
    """Input side and output side of each layer."""
    side, result = SIDE, []
    for _, kernel, stride, pad, _ in NETWORK:
        out = (side + 2 * pad - kernel) // stride + 1
        result.append((side, out))
        side = out
    return result


def channels():
    """Input channels and output channels of each layer."""
    outputs = [layer[4] for layer in NETWORK]
    return list(zip([1, *outputs], outputs))


# ---- Training in float, with PyTorch


def train(pixels, labels):
    """Weights [kernel][kernel][in][out] (depthwise: [kernel][kernel][channels]) and biases; batch norms are folded."""
    try:
        import torch
        from torch.nn import functional
    except ImportError:
        sys.exit("train.py needs PyTorch for training: pip install torch==2.13.0")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(SEED)
    random = np.random.default_rng(SEED)
    modules = []
    for (kind, kernel, stride, pad, _), (inputs, outputs) in zip(NETWORK, channels()):
        if kind in (CONVOLUTION, DEPTHWISE):
            groups = inputs if kind == DEPTHWISE else 1
            modules += [torch.nn.Conv2d(inputs, outputs, kernel, stride, pad, groups=groups, bias=False)]
            modules += [torch.nn.BatchNorm2d(outputs, BATCH_NORM_EPSILON), torch.nn.ReLU()]
        elif kind == POOL_MAX:
            modules += [torch.nn.MaxPool2d(kernel, stride, pad)]
        elif kind == POOL_AVERAGE:
            modules += [torch.nn.AvgPool2d(kernel, stride, pad), torch.nn.Flatten(), torch.nn.Dropout(DROPOUT)]
        else:
            modules += [torch.nn.Linear(inputs, outputs)]
    network = torch.nn.Sequential(*modules)
    batches = len(pixels) // BATCH
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * batches)
    targets = torch.tensor(labels, dtype=torch.int64)
    for _ in range(EPOCHS):
        order = random.permutation(len(pixels))
        for i in range(batches):
            rows = order[i * BATCH : (i + 1) * BATCH]
            images = digits.redraw(random, pixels[rows]).astype(np.float32) * PIXEL_SCALE
            loss = functional.cross_entropy(network(torch.tensor(images).reshape(-1, 1, SIDE, SIDE)), targets[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    network.eval()
    parameters = []
    with torch.inference_mode():
        for module, following in zip(modules, [*modules[1:], None]):
            if isinstance(module, torch.nn.Linear):
                parameters.append((module.weight.T.reshape(1, 1, -1, CLASSES).numpy(), module.bias.numpy()))
            elif isinstance(module, torch.nn.Conv2d):
                gain = following.weight / (following.running_var + BATCH_NORM_EPSILON).sqrt()
                weight = module.weight * gain.reshape(-1, 1, 1, 1)  # [out][in][kernel][kernel]
                weight = weight.squeeze(1).permute(1, 2, 0) if module.groups > 1 else weight.permute(2, 3, 1, 0)
                parameters.append((weight.numpy(), (following.bias - following.running_mean * gain).numpy()))
            elif not isinstance(module, torch.nn.BatchNorm2d):
                parameters.append(None)
    kept = iter([p for p in parameters if p is not None])
    return [next(kept) if kind not in (POOL_MAX, POOL_AVERAGE) else None for kind, *_ in NETWORK]


# ---- Both in float and in codes, with NumPy


def windows(images, kernel, stride, pad, fill):
    """[image][y][x][kernel][kernel][channel] of images [image][y][x][channel]."""
    images = np.pad(images, ((0, 0), (pad, pad), (pad, pad), (0, 0)), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(images, (kernel, kernel), (1, 2))
    return view[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)


def product(kind, rows, weights):
    """Sums over windows: of all elements, or depthwise for each channel."""
    if kind == DEPTHWISE:
        return np.einsum("byxijc,ijc->byxc", rows, weights)
    return np.tensordot(rows, weights, 3)


def average(rows):
    """Of the pixels in their order, in f32."""
    pixels = rows.reshape(*rows.shape[:3], -1, rows.shape[-1])
    total = np.zeros(pixels.shape[:3] + pixels.shape[4:], np.float32)
    for n in range(pixels.shape[3]):
        total = total + pixels[:, :, :, n]
    return total / np.float32(pixels.shape[3])


def forward(parameters, pixels):
    """Outputs of all layers in float; the first entry is the input."""
    values = [pixels.reshape(-1, SIDE, SIDE, 1).astype(np.float32) * PIXEL_SCALE]
    for (kind, kernel, stride, pad, _), parameter in zip(NETWORK, parameters):
        rows = windows(values[-1], kernel, stride, pad, -np.inf if kind == POOL_MAX else 0)
        if kind == POOL_MAX:
            values.append(rows.max((3, 4)))
        elif kind == POOL_AVERAGE:
            values.append(average(rows))
        else:
            out = product(kind, rows, parameter[0]) + parameter[1]
            values.append(out if kind == CLASSIFIER else np.maximum(out, 0))
    return values


def quantise(parameters, pixels):
    """For each layer (weights, factors, offsets, zero, factor of its input): codes of the weights, and what turns sums
    into outputs, f32(sum) * factor + offset. Steps are calibrated: the largest value on `pixels` becomes code 127."""
    values = forward(parameters, pixels)
    steps = [PIXEL_SCALE]
    for layer, (kind, *_) in enumerate(NETWORK):
        # A maximum keeps the codes of its input; the classifier quantises its input, and the average works on floats.
        steps.append(steps[-1] if kind == POOL_MAX else np.float32(values[layer + 1].max() / 255))
    layers = []
    for layer, ((kind, *_), parameter) in enumerate(zip(NETWORK, parameters)):
        zero = 0 if layer == 0 else ZERO
        if parameter is None:
            layers.append((None, None, None, zero, np.float32(0)))
            continue
        weight, bias = parameter
        scale = np.abs(weight).reshape(-1, weight.shape[-1]).max(0) / np.float32(127)
        codes = np.rint(weight / scale).astype(np.int8)
        factor, offset = scale * steps[layer], bias
        if gives_codes(layer):
            factor, offset = factor / steps[layer + 1], bias / steps[layer + 1] + np.float32(ZERO)
        in_factor = np.float32(1) / steps[layer] if kind == CLASSIFIER else np.float32(0)
        layers.append((codes, factor.astype(np.float32), offset.astype(np.float32), zero, in_factor))
    return layers


def gives_codes(layer):
    """Whether the layer stores s8 codes: not if an average or the classifier's answer follows, which are f32."""
    return NETWORK[layer][0] != CLASSIFIER and NETWORK[layer + 1][0] != POOL_AVERAGE


def saturate(values):
    return np.clip(np.rint(values), -128, 127).astype(np.int8)


def chip_outputs(layers, pixels):
    """What a chip computes: outputs of all layers. Sums are exact; each f32 operation is rounded by itself."""
    value, outputs = pixels.reshape(-1, SIDE, SIDE, 1), []
    for layer, (kind, kernel, stride, pad, _) in enumerate(NETWORK):
        weight, factor, offset, zero, in_factor = layers[layer]
        if kind == POOL_MAX:
            value = windows(value, kernel, stride, pad, -128).max((3, 4))
        elif kind == POOL_AVERAGE:
            value = average(windows(value, kernel, stride, pad, 0))
        else:
            if kind == CLASSIFIER:
                value = saturate(value * in_factor + np.float32(zero))
            rows = windows(value, kernel, stride, pad, zero).astype(np.int32) - zero
            # Integers below 2^53 are exact in f64, and NumPy multiplies them faster.
            sums = product(kind, rows.astype(np.float64), weight.astype(np.float64))
            assert np.abs(sums).max() < 2**31
            value = sums.astype(np.int32).astype(np.float32) * factor + offset
            if gives_codes(layer):
                value = saturate(value)
            elif kind != CLASSIFIER:
                value = np.maximum(value, np.float32(0))
        outputs.append(value)
    return outputs


# ---- Files


def write_model(path, layers, outputs, labels):
    at = HEADER.size + RECORD.size * len(layers)
    records, data = b"", b""
    for layer, (weight, factor, offset, zero, in_factor) in enumerate(layers):
        kind, kernel, stride, pad, out_channels = NETWORK[layer]
        places = []
        for array in (weight, factor, offset):
            if array is None:
                places.append(0)
                continue
            data += bytes(-(at + len(data)) % ALIGNMENT)
            places.append(at + len(data))
            data += array.tobytes()
        (in_side, out_side), (in_channels, _) = sides()[layer], channels()[layer]
        records += RECORD.pack(kind, kernel, stride, pad, in_side, in_channels, out_side, out_channels, zero, in_factor,
                               digits.fnv1a(outputs[layer].tobytes()), *places)  # fmt: skip
    right = int((outputs[-1].reshape(-1, CLASSES).argmax(1) == labels).sum())
    header = HEADER.pack(MAGIC, VERSION, len(layers), len(labels), right, digits.fnv1a(outputs[-1].tobytes()), 0)
    path.write_bytes(header + records + data)


def read_model(path):
    """Layers as quantise() gives them, hashes of their outputs, and how many digits they get right."""
    data = path.read_bytes()
    if data[:8] != MAGIC or struct.unpack_from("<I", data, 8) != (VERSION,):
        sys.exit(f"{path} is not a convolutional network of version {VERSION}")
    _, _, count, _, right, _, _ = HEADER.unpack_from(data)
    layers, hashes = [], []
    for layer in range(count):
        record = RECORD.unpack_from(data, HEADER.size + RECORD.size * layer)
        kind, kernel, stride, pad, in_side, in_channels, out_side, out_channels = record[:8]
        if (kind, kernel, stride, pad, out_channels) != NETWORK[layer] or (in_side, out_side) != sides()[layer]:
            sys.exit(f"{path}: layer {layer} is not that of this script")
        hashes.append(record[10])
        arrays = (None, None, None)
        if record[11]:
            shape = (kernel, kernel, out_channels) if kind == DEPTHWISE else (kernel, kernel, in_channels, out_channels)
            weight = np.frombuffer(data, np.int8, int(np.prod(shape)), record[11]).reshape(shape)
            arrays = (weight, *(np.frombuffer(data, "<f4", out_channels, place) for place in record[12:14]))
        layers.append((*arrays, record[8], np.float32(record[9])))
    return layers, hashes, right


def check():
    layers, hashes, right = read_model(MODEL)
    pixels, labels = (part[digits.TRAIN_ROWS :] for part in digits.load_digits())
    outputs = chip_outputs(layers, pixels)
    problems = []
    for layer, (output, wanted) in enumerate(zip(outputs, hashes)):
        if (found := digits.fnv1a(output.tobytes())) != wanted:
            problems.append(f"layer {layer} has the hash {found:08x}, model.bin says {wanted:08x}")
    logits = outputs[-1].reshape(-1, CLASSES)
    if not np.array_equal(logits, np.fromfile(REFERENCE, "<f4").reshape(-1, CLASSES)):
        problems.append("reference.f32 has other logits")
    found = int((logits.argmax(1) == labels).sum())
    if found != right:
        problems.append(f"{found} digits are right, model.bin says {right}")
    print(f"{found} of {len(labels)} right ({100 * found / len(labels):.2f} %)")
    print(f"logits hash {digits.fnv1a(logits.tobytes()):08x}")
    for problem in problems:
        print(f"train.py: {problem}", file=sys.stderr)
    return 1 if problems else 0


def validate(folds=5):
    pixels, labels = (part[: digits.TRAIN_ROWS] for part in digits.load_digits())
    shares = []
    for fold in range(folds):
        # Blocks of neighbours, as in the digits example.
        held_out = np.zeros(len(pixels), bool)
        held_out[fold * len(pixels) // folds : (fold + 1) * len(pixels) // folds] = True
        parameters = train(pixels[~held_out], labels[~held_out])
        layers = quantise(parameters, pixels[~held_out])
        answers = [
            outputs[-1].reshape(-1, CLASSES).argmax(1)
            for outputs in (forward(parameters, pixels[held_out]), chip_outputs(layers, pixels[held_out]))
        ]
        shares.append([100 * (answer == labels[held_out]).mean() for answer in answers])
        print(f"fold {fold + 1}: float {shares[-1][0]:.2f} %, quantised {shares[-1][1]:.2f} %", flush=True)
    print(f"mean:   float {np.mean(shares, 0)[0]:.2f} %, quantised {np.mean(shares, 0)[1]:.2f} %")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--validate", action="store_true")
    mode.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.validate:
        return validate()
    if not options.check:
        pixels, labels = digits.load_digits()
        parameters = train(pixels[: digits.TRAIN_ROWS], labels[: digits.TRAIN_ROWS])
        layers = quantise(parameters, pixels[: digits.TRAIN_ROWS])
        pixels, labels = pixels[digits.TRAIN_ROWS :], labels[digits.TRAIN_ROWS :]
        outputs = chip_outputs(layers, pixels)
        write_model(MODEL, layers, outputs, labels)
        outputs[-1].astype("<f4").tofile(REFERENCE)
        answers = forward(parameters, pixels)[-1].reshape(-1, CLASSES).argmax(1)
        print(f"in float: {(answers == labels).sum()} of {len(labels)} right")
    return check()


if __name__ == "__main__":
    sys.exit(main())
