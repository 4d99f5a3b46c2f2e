#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""engine-torch.py BUILD: measures two networks of the examples on the chip model against PyTorch and onnxruntime on the same cores: the sentence
encoder, 128 tokens at a time, and the convolutional network, all test digits at a time; prints a flat JSON object for scripts/figures.py. Runs in
the environment of scripts/python-packages.sh.

sentence_vs_torch_f32: speed relative to PyTorch in f32. sentence_vs_torch_int8: relative to PyTorch's dynamic quantisation of the linear layers.
sentence_vs_onnxruntime_f32: relative to onnxruntime in f32. sentence_vs_onnxruntime_int8: relative to its dynamic quantisation of the same layers.
network_vs_onnxruntime: relative to onnxruntime in f32, in which it computes this network at least as fast as with QLinearConv.
All with THREADS threads, medians of alternating rounds; of PyTorch the fastest way to compute attention and the fastest quantised engine.
sentence_cosine: smallest cosine between embeddings of the chip and those of PyTorch in f32, for the 20 sentences of the example."""
import io
import json
import logging
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

THREADS, TOKENS = 2, 128
ROUNDS, RUNS = 7, 25
SENTENCE = " ".join(["the quick brown fox jumps over the lazy dog"] * 14)  # 126 words, each of one token
EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "libsidra/examples"
sys.path[:0] = [str(EXAMPLES / "sentence"), str(EXAMPLES / "convnet")]


def make_encoder(torch, convert):
    """The network as a module, as PyTorch's users write it: a fused projection, fused attention, linear layers as modules."""
    functional = torch.nn.functional

    class Layer(torch.nn.Module):
        def __init__(self, arrays, prefix):
            super().__init__()
            tensor = lambda name: torch.nn.Parameter(torch.tensor(arrays[prefix + name]), requires_grad=False)

            def linear(*names):
                weight = torch.cat([tensor(name + ".weight") for name in names])
                made = torch.nn.Linear(weight.shape[1], weight.shape[0])
                made.weight = torch.nn.Parameter(weight, requires_grad=False)
                made.bias = torch.nn.Parameter(torch.cat([tensor(name + ".bias") for name in names]), requires_grad=False)
                return made

            def norm(name):
                made = torch.nn.LayerNorm(convert.WIDTH, float(convert.EPSILON))
                made.weight, made.bias = tensor(name + ".weight"), tensor(name + ".bias")
                return made

            self.qkv = linear(*(f"attention.self.{part}" for part in ("query", "key", "value")))
            self.out, self.out_norm = linear("attention.output.dense"), norm("attention.output.LayerNorm")
            self.inner, self.outer, self.outer_norm = linear("intermediate.dense"), linear("output.dense"), norm("output.LayerNorm")

        def forward(self, x, fused):
            tokens = x.shape[0]
            query, key, value = self.qkv(x).reshape(tokens, 3, convert.HEADS, -1).permute(1, 2, 0, 3)
            if fused:
                context = functional.scaled_dot_product_attention(query[None], key[None], value[None])[0]
            else:
                context = (query @ key.transpose(1, 2) / (convert.WIDTH // convert.HEADS) ** 0.5).softmax(-1) @ value
            x = self.out_norm(x + self.out(context.transpose(0, 1).reshape(tokens, -1)))
            return self.outer_norm(x + self.outer(functional.gelu(self.inner(x))))

    class Encoder(torch.nn.Module):
        def __init__(self, arrays):
            super().__init__()
            self.words = torch.tensor(arrays["embeddings.word_embeddings.weight"])
            positions = torch.tensor(arrays["embeddings.position_embeddings.weight"])
            self.positions = positions + torch.tensor(arrays["embeddings.token_type_embeddings.weight"][0])
            self.norm = torch.nn.LayerNorm(convert.WIDTH, float(convert.EPSILON))
            self.norm.weight = torch.nn.Parameter(torch.tensor(arrays["embeddings.LayerNorm.weight"]), requires_grad=False)
            self.norm.bias = torch.nn.Parameter(torch.tensor(arrays["embeddings.LayerNorm.bias"]), requires_grad=False)
            self.layers = torch.nn.ModuleList(Layer(arrays, f"encoder.layer.{n}.") for n in range(convert.LAYERS))

        def forward(self, ids, fused):
            x = self.norm(self.words[ids] + self.positions[: ids.shape[0]])
            for layer in self.layers:
                x = layer(x, fused)
            return functional.normalize(x.mean(0), dim=0)

    with convert.open_package(convert.fetch()) as package:
        return Encoder(convert.read_safetensors(package.read(convert.FOLDER + "model.safetensors"))).eval()


def make_network(torch, train):
    """The convolutional network as a module in f32, with the weights that the codes stand for. Where the chip has codes between layers, its values
    are in their steps."""
    modules = []
    for layer, (codes, factor, offset, _, in_factor) in enumerate(train.read_model(train.MODEL)[0]):
        kind, kernel, stride, pad, outputs = train.NETWORK[layer]
        if kind == train.POOL_MAX:
            modules.append(torch.nn.MaxPool2d(kernel, stride, pad))
        elif kind == train.POOL_AVERAGE:
            modules.append(torch.nn.AvgPool2d(kernel, stride, pad))
        else:
            weight = (codes * factor * (in_factor or 1)).reshape(kernel, kernel, -1, outputs).transpose(3, 2, 0, 1)
            groups = outputs if kind == train.DEPTHWISE else 1
            made = torch.nn.Conv2d(weight.shape[1] * groups, outputs, kernel, stride, pad, groups=groups)
            made.weight = torch.nn.Parameter(torch.tensor(weight), requires_grad=False)
            bias = offset - train.ZERO if train.gives_codes(layer) else offset
            made.bias = torch.nn.Parameter(torch.tensor(bias), requires_grad=False)
            modules += [made, torch.nn.Flatten() if kind == train.CLASSIFIER else torch.nn.ReLU()]
    return torch.nn.Sequential(*modules).eval()


def torch_calls(torch, encoder):
    """How PyTorch can compute the encoder: functions from tokens to an embedding by name, in f32 and in INT8."""

    def embed(network, fused, engine=None):
        def call(ids):
            if engine:
                torch.backends.quantized.engine = engine
            return network(torch.from_numpy(ids), fused).numpy()

        return call

    ways = {"attention in parts": False, "attention fused": True}
    f32, int8 = {f"PyTorch f32, {way}": embed(encoder, fused) for way, fused in ways.items()}, {}
    for engine in torch.backends.quantized.supported_engines:
        if engine == "qnnpack":  # for ARM
            continue
        torch.backends.quantized.engine = engine
        quantised = torch.ao.quantization.quantize_dynamic(encoder, {torch.nn.Linear}, torch.qint8)
        int8 |= {f"PyTorch INT8 by {engine}, {way}": embed(quantised, fused, engine) for way, fused in ways.items()}
    return f32, int8


def export(torch, module, *arguments):
    """The module as an ONNX model of its first argument, whose first dimension may vary."""
    model = io.BytesIO()
    torch.onnx.export(module, arguments, model, dynamo=False, input_names=["values"], dynamic_axes={"values": {0: "count"}})
    return model.getvalue()


def quantise(model):
    """The ONNX model with its layers' products in INT8. Weights have a scale for each output; the scales of inputs are found in each call."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        quantize_dynamic(onnx.load_from_string(model), file.name, weight_type=QuantType.QInt8, per_channel=True)
        return file.read()


def load(model):
    """The ONNX model as a function, by onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda values: session.run(None, {"values": values})[0]


def ask(demo, pattern, *arguments):
    """What the pattern finds in what a command of the demo prints."""
    told = subprocess.run([demo, *arguments, "--repeat", str(RUNS)], capture_output=True, text=True, check=False)
    found = re.search(pattern, told.stdout)
    if told.returncode or not found:
        sys.exit(f"engine-torch: sidra-demo {arguments[0]} has failed:\n{told.stdout}{told.stderr}")
    return found


def chip_seconds(demo, pattern, *arguments):
    """Likewise; the pattern finds a number and its unit."""
    found = ask(demo, pattern, *arguments)
    return float(found[1]) * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3}[found[2]]


def peer_seconds(call, values):
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        call(values)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def check(name, found, reference, least):
    """Stops unless each row has at least this cosine with that of the reference."""
    found, reference = found.astype("f8"), reference.astype("f8")
    cosine = ((found * reference).sum(1) / ((found**2).sum(1) * (reference**2).sum(1)) ** 0.5).min()
    print(f"{name}: cosine with the reference at least {cosine:.5f}", file=sys.stderr)
    if not cosine >= least:
        sys.exit(f"engine-torch: {name} does not compute the network of the reference: the cosine is {cosine:.10f}, less than {least}")


def compare(chip, peers, values):
    """For each figure, the time of the fastest of its peers relative to that of the chip, which chip() measures."""
    rounds = []
    for turn in range(ROUNDS + 1):
        times = {"the chip": chip()} | {name: peer_seconds(call, values) for calls in peers.values() for name, call in calls.items()}
        if turn:  # the first warms up
            rounds.append(times)
    medians = {name: statistics.median(times[name] for times in rounds) for name in rounds[0]}
    for name, median in medians.items():
        print(f"{name}: {1e3 * median:.2f} ms", file=sys.stderr)
    return {figure: round(min(medians[name] for name in calls) / medians["the chip"], 3) for figure, calls in peers.items()}


def measure_sentence(demo):
    print("the sentence encoder:", file=sys.stderr)
    import convert
    import numpy as np
    import torch

    encoder, ids = make_encoder(torch, convert), np.full(TOKENS, 1996)
    f32, int8 = torch_calls(torch, encoder)
    model = export(torch, encoder, torch.from_numpy(ids), False)  # of attention in parts, onnxruntime fuses the scaling into a product
    peers = {
        "sentence_vs_torch_f32": f32,
        "sentence_vs_torch_int8": int8,
        "sentence_vs_onnxruntime_f32": {"onnxruntime f32": load(model)},
        "sentence_vs_onnxruntime_int8": {"onnxruntime INT8": load(quantise(model))},
    }
    sentences = [np.array(row[1].split(), np.int64) for row in convert.table_rows(EXAMPLES / "sentence/reference.tsv")]
    reference = np.fromfile(EXAMPLES / "sentence/reference.f32", "<f4").reshape(-1, convert.WIDTH)
    for figure, calls in peers.items():
        for name, call in calls.items():
            check(name, np.stack([call(each) for each in sentences]), reference, 0.8 if figure.endswith("int8") else 1 - 1e-9)
    cosine = ask(demo, r"cosine with PyTorch in f32: at least ([\d.]+)", "sentence", SENTENCE)
    wall = rf"{TOKENS} tokens, one launch of .*: ([\d.]+) (µs|ms) of wall time"
    figures = compare(lambda: chip_seconds(demo, wall, "sentence", SENTENCE), peers, ids)
    return {**figures, "sentence_cosine": float(cosine[1])}


def measure_network(demo):
    print("the convolutional network:", file=sys.stderr)
    import numpy as np
    import torch
    import train

    pixels = train.digits.load_digits()[0][train.digits.TRAIN_ROWS :]
    images = pixels.reshape(-1, 1, train.SIDE, train.SIDE).astype(np.float32)
    call = load(export(torch, make_network(torch, train), torch.from_numpy(images)))
    check("onnxruntime f32", call(images), np.fromfile(train.REFERENCE, "<f4").reshape(-1, train.CLASSES), 0.999)
    wall = rf"batches of {len(images)} .* ([\d.]+) (ns|µs|ms)\n"  # of one digit
    peers = {"network_vs_onnxruntime": {"onnxruntime f32": call}}
    return compare(lambda: len(images) * chip_seconds(demo, wall, "convnet"), peers, images)


def measure(demo):
    import torch

    warnings.filterwarnings("ignore")  # dynamic quantisation and the exporter are deprecated, and still what torch has
    logging.disable(logging.WARNING)  # onnxruntime recommends to optimise before quantisation, which changes no time here
    torch.set_num_threads(THREADS)
    with torch.inference_mode():
        print(json.dumps({**measure_sentence(demo), **measure_network(demo)}))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    os.environ.update(SIDRA_QUIET="1", SIDRA_DEVICE="embedded", SIDRA_WORKERS=str(THREADS))
    measure(build / "libsidra/examples/sidra-demo")


main()
