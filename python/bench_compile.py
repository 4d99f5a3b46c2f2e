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
resnet18_vs_torch         speed of a network of ResNet-18's shapes with random weights, compiled, 224 x 224, over PyTorch's eager f32
region_overhead_us        a warm call of a small compiled region, until it is done: microseconds above the device's work
region_dynamo_us          what Dynamo takes of that before it calls the region
region_cached_s           seconds in which another process compiles the captured sentence encoder again, which is then in the cache
region_capture_s          what Dynamo takes before that, to capture it"""
import copy
import json
import statistics
import subprocess
import sys
import time

import torch
import transformers

from bench import MINILM, SENTENCES, THREADS, quantised, ratios, say, seconds

TOKENS = 128
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


def encoder(name, module, texts, runs):
    say(f"{name} ...")
    ids, int8 = texts[:1], quantised(module)
    inductor = torch.compile(int8)
    compiled, run, eager = compiled_on_chip(module, [texts[i:i + 1] for i in range(CALIBRATED["calibration_calls"] + 1)], CALIBRATED)
    over = ratios(runs, run, lambda: int8(input_ids=ids), lambda: inductor(input_ids=ids), eager)
    torch._dynamo.reset()
    return compiled, dict(zip((f"{name}_vs_torch_int8", f"{name}_vs_inductor_int8", f"{name}_vs_eager"), over, strict=True))


def minilm():
    module = transformers.AutoModel.from_pretrained(MINILM).eval()
    words = transformers.AutoTokenizer.from_pretrained(MINILM)(SENTENCES.read_text() * 8, return_tensors="pt", verbose=False)["input_ids"][0]
    texts = words[:len(words) // TOKENS * TOKENS].reshape(-1, TOKENS)
    _, figures = encoder("minilm", module, texts, 20)
    compiled, _, _ = compiled_on_chip(module, [texts[i:i + 1] for i in range(CALIBRATED["calibration_calls"] + 1)], CALIBRATED)
    mean = lambda output: output.last_hidden_state.mean(1)[0].cpu()
    cosines = [torch.cosine_similarity(mean(compiled(ids.to("sidra"))), mean(module(ids)), 0).item() for ids in texts[-20:].split(1)]
    return {**figures, "minilm_cosine": min(cosines)}


def bert():
    torch.manual_seed(1)
    figures = encoder("bert", transformers.BertModel(transformers.BertConfig()).eval(), torch.randint(1000, 2000, (8, TOKENS)), 3)[1]
    del figures["bert_vs_eager"]
    return figures


def resnet():
    say("resnet18 ...")
    torch.manual_seed(1)
    config = transformers.ResNetConfig(depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic", num_labels=1000)
    module = transformers.ResNetForImageClassification(config).eval()
    images = [torch.randn(1, 3, 224, 224) for _ in range(5)]
    _, run, _ = compiled_on_chip(module, images, CALIBRATED)
    return {"resnet18_vs_torch": ratios(5, run, lambda: module(images[-1]))[0]}


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
    for _ in range(3):
        run = subprocess.run([sys.executable, "-c", AGAIN.format(path=str(MINILM))], capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit(run.stderr)
        times.append([float(word) for word in run.stdout.split()[-2:]])
    return {"region_cached_s": min(time for time, _ in times[1:]), "region_capture_s": min(time for _, time in times)}


def main():
    torch.set_num_threads(THREADS)
    figures = {}
    with torch.no_grad():
        for part in (region, cached, minilm, resnet, bert):
            figures.update(part())
            torch._dynamo.reset()
    print(json.dumps({name: float(f"{value:.4g}") for name, value in figures.items()}))


if __name__ == "__main__":
    begin = time.perf_counter()
    main()
    say(f"{time.perf_counter() - begin:.0f} s")
