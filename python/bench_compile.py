#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_compile.py: measures torch.compile(backend="sidra") on the embedded chip against PyTorch on the CPU, in this process and on the same threads;
prints a flat JSON object for scripts/figures.py. `make bench-torch` runs it. Medians of alternating rounds, batch 1.

minilm_vs_torch_int8      speed of the sentence encoder, compiled and calibrated, 128 tokens, over that of PyTorch's dynamic INT8 of the linear layers
minilm_vs_inductor_int8   over that of the same behind torch.compile() (Inductor)
minilm_vs_eager           over its eager form on the chip
minilm_cosine             smallest cosine with PyTorch's embeddings in f32, of 20 texts of 128 tokens that were not calibrated with
bert_vs_torch_int8        as minilm, for a network of BERT-base's shapes with random weights
bert_vs_inductor_int8
bert_cosine               as minilm, of 3 texts
bert_device_ms            milliseconds of a chip for a run of that network, compiled without calibration, as the embedded chip counts them
bert_crossbars_ms         what crossbars take of that: products with weights
bert_compute_ms           what the digital units take: products of two activations, and everything by element and by row
bert_packets_ms           what fetching and starting packets takes
resnet18_vs_torch         speed of a network of ResNet-18's shapes with random weights, compiled, 224 x 224, over PyTorch's eager f32
resnet18_cosine           smallest cosine of its results with those of f32, of 3 images
pipeline_efficiency       a network of ResNet-50's shapes on four embedded chips: throughput over four times that of one, in device time
region_overhead_us        a warm call of a small compiled region, until it is done: microseconds above the device's work
region_dynamo_us          what Dynamo takes of that before it calls the region
region_cached_s           seconds of the compiler and of programming in which another process compiles the captured sentence encoder again, which is then in the cache
region_capture_s          what Dynamo takes before that, to capture it"""
import copy
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import sidra
import torch
import transformers

from bench import MINILM, SENTENCES, THREADS, quantised, ratios, say, seconds, show_bars

BARS = (
    ("minilm_vs_torch_int8", 2, True, "the sentence encoder, compiled: speed / PyTorch's dynamic INT8"),
    ("minilm_vs_inductor_int8", 1.2, True, "the same / that behind torch.compile() (Inductor)"),
    ("minilm_cosine", 0.99, True, "its smallest cosine with f32"),
    ("bert_vs_torch_int8", 2, True, "a network of BERT-base's shapes: speed / PyTorch's dynamic INT8"),
    ("bert_vs_inductor_int8", 1.2, True, "the same / that behind torch.compile() (Inductor)"),
    ("resnet18_vs_torch", 1.5, True, "a network of ResNet-18's shapes: speed / PyTorch's eager f32"),
    ("region_overhead_us", 15, False, "a warm call of a small region, above the device's work, us"),
    ("region_cached_s", 0.5, False, "compiling the captured sentence encoder again, from the cache, s"),
    ("pipeline_efficiency", 0.85, True, "ResNet-50's shapes on four chips: throughput / four times that of one, in device time"),
)
TOKENS = 128
STAGES = 4
CALIBRATED = {"calibration_calls": 4, "observer": "minmax", "signal_to_noise": 30}  # as bench_compiled.py


def compiled_on_chip(module, inputs, options=None):
    """The module on the chip, compiled; and calls of it that end when it is done, compiled and eager. inputs: on the CPU, for calibration and one more."""
    there = copy.deepcopy(module).to("sidra")
    compiled = torch.compile(there, backend="sidra", options=options)
    for each in inputs:
        compiled(each.to("sidra"))
    one = inputs[-1].to("sidra")

    def run():
        compiled(one)
        torch.sidra.synchronize()

    def eager():
        there(one)
        torch.sidra.synchronize()

    before = operators()
    run()
    if operators() != before:
        raise SystemExit("bench_compile: the region does not run compiled")
    return compiled, run, eager


def operators():
    from sidra_pytorch import _C

    return _C.native_calls() + sum(row["calls"] for row in torch.sidra.fallbacks())


def calibration(samples):
    """Those that a region is compiled with, and the one behind them, with which it then runs."""
    return list(samples[:CALIBRATED["calibration_calls"] + 1].split(1))


def smallest_cosine(compiled, module, samples, result):
    """Of results of the chip with those of f32, for samples that the region was not calibrated with."""
    return min(torch.cosine_similarity(result(compiled(x.to("sidra"))).cpu(), result(module(x)), 0).item() for x in samples.split(1))


def encoder(name, module, texts, others, runs):
    say(f"{name} ...")
    ids, int8 = texts[:1], quantised(module)
    inductor = torch.compile(int8)
    compiled, run, eager = compiled_on_chip(module, calibration(texts), CALIBRATED)
    over = ratios(runs, run, lambda: int8(input_ids=ids), lambda: inductor(input_ids=ids), eager)
    figures = dict(zip((f"{name}_vs_torch_int8", f"{name}_vs_inductor_int8", f"{name}_vs_eager"), over, strict=True))
    return {**figures, f"{name}_cosine": smallest_cosine(compiled, module, others, lambda output: output.last_hidden_state.mean(1)[0])}


def minilm():
    module = transformers.AutoModel.from_pretrained(MINILM).eval()
    words = transformers.AutoTokenizer.from_pretrained(MINILM)(SENTENCES.read_text() * 8, return_tensors="pt", verbose=False)["input_ids"][0]
    texts = words[:len(words) // TOKENS * TOKENS].reshape(-1, TOKENS)
    return encoder("minilm", module, texts, texts[-20:], 20)


def bert():
    torch.manual_seed(1)
    module = transformers.BertModel(transformers.BertConfig()).eval()
    texts = torch.randint(1000, 2000, (8, TOKENS))
    figures = encoder("bert", module, texts, texts[-3:], 3)
    del figures["bert_vs_eager"]
    (run,) = by_chip(module, {"input_ids": texts[:1]})
    spent = {unit: sum(row[f"{unit}_ps"] for row in run["rows"]) for unit in ("crossbar", "compute", "packet")}
    return {**figures, "bert_device_ms": run["time_ps"] / 1e9, "bert_crossbars_ms": spent["crossbar"] / 1e9,
            "bert_compute_ms": spent["compute"] / 1e9, "bert_packets_ms": spent["packet"] / 1e9}


def by_chip(module, inputs, **options):
    """What a run takes on each chip, as the compiler's report says. It compiles the network, and lets embedded chips run it."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        sidra.compile(module, example_inputs=inputs, report=report, **options)
        return [chip["variants"][0] for chip in json.loads(report.read_text())["chips"]]


def resnet():
    say("resnet18 ...")
    torch.manual_seed(1)
    config = transformers.ResNetConfig(depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic", num_labels=1000)
    module = transformers.ResNetForImageClassification(config).eval()
    images = torch.randn(8, 3, 224, 224)
    compiled, run, _ = compiled_on_chip(module, calibration(images), CALIBRATED)
    return {"resnet18_vs_torch": ratios(5, run, lambda: module(images[:1]))[0],
            "resnet18_cosine": smallest_cosine(compiled, module, images[-3:], lambda output: output.logits[0])}


def pipeline():
    say("resnet50 on four chips ...")
    torch.manual_seed(1)
    module = transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=1000)).eval()
    slowest = {chips: max(run["time_ps"] for run in by_chip(module, torch.randn(1, 3, 224, 224), chips=chips)) for chips in (1, STAGES)}
    return {"pipeline_efficiency": slowest[1] / (STAGES * slowest[STAGES])}


def region():
    say("a small region ...")
    module = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 10)).eval()
    x = torch.randn(4, 64)
    compiled, run, _ = compiled_on_chip(module, [x])
    nothing = torch.compile(copy.deepcopy(module).to("sidra"), backend=lambda graph, inputs: lambda *arguments: (x,))
    there, matrix, product = x.to("sidra"), torch.randn(384, 384, device="sidra"), torch.empty(384, 384, device="sidra")
    begin, end = (torch.Event("sidra", enable_timing=True) for _ in range(2))
    work = []
    for _ in range(50):
        for _ in range(12):  # the device works on that until everything is queued; it leaves the caches as they are, as a warm call finds them
            torch.mm(matrix, matrix, out=product)
        begin.record()
        compiled(there)
        end.record()
        torch.sidra.synchronize()
        work.append(begin.elapsed_time(end) * 1e3)
    call = statistics.median(seconds(run, 500) for _ in range(9)) * 1e6
    dynamo = statistics.median(seconds(lambda: nothing(there), 500) for _ in range(9)) * 1e6
    return {"region_overhead_us": call - min(work), "region_dynamo_us": dynamo}


AGAIN = """
import time, torch, transformers
import sidra_pytorch.dynamo

module = transformers.AutoModel.from_pretrained({path!r}).eval().to("sidra")
ids = torch.randint(1000, 2000, (1, 128)).to("sidra")
captured = 0.0

def backend(graph, inputs):
    global captured
    captured = time.perf_counter()
    return sidra_pytorch.dynamo.sidra(graph, inputs)

with torch.no_grad():
    module(ids)
    begin = time.perf_counter()
    torch.compile(module, backend=backend)(ids)
    torch.sidra.synchronize()
    print(time.perf_counter() - captured, captured - begin)
"""


def cached():
    say("compiling again ...")
    times = []
    for _ in range(4):
        run = subprocess.run([sys.executable, "-c", AGAIN.format(path=str(MINILM))], capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit(run.stderr)
        times.append([float(word) for word in run.stdout.split()[-2:]])
    cached, captured = (statistics.median(column) for column in zip(*times[1:], strict=True))  # the first one may have filled the cache
    return {"region_cached_s": cached, "region_capture_s": captured}


def main():
    torch.set_num_threads(THREADS)
    figures = {}
    with torch.no_grad():
        for part in (region, cached, minilm, resnet, pipeline, bert):
            figures.update(part())
            torch._dynamo.reset()
    show_bars(BARS, figures)
    print(json.dumps({name: float(f"{value:.4g}") for name, value in figures.items()}))


if __name__ == "__main__":
    begin = time.perf_counter()
    main()
    say(f"{time.perf_counter() - begin:.0f} s")
