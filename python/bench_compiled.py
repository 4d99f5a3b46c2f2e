#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench_compiled.py: measures compiled models against their eager form on the embedded chip, in this process and on the same threads; prints a flat JSON
object for scripts/figures.py. `make bench-compiler` runs it. Medians of alternating rounds.

minilm_compiled_vs_eager   speed of the sentence encoder, compiled and calibrated, 128 tokens, over its eager form on the chip
minilm_compiled_cosine     smallest cosine with PyTorch's embeddings in f32, of the example's 20 sentences"""
import copy
import json

import sidra
import torch
import transformers

from bench import MINILM, SENTENCES, THREADS, ratios, say

TOKENS = 128
CALIBRATED = {"observer": "minmax", "signal_to_noise": 30}  # the cosine is above 0.99


def compiled_vs_eager(module):
    say("minilm, compiled ...")
    words = transformers.AutoTokenizer.from_pretrained(MINILM)(SENTENCES.read_text(), return_tensors="pt", verbose=False)["input_ids"][0]
    texts = words[:len(words) // TOKENS * TOKENS].reshape(-1, TOKENS)
    ids = texts[:1]
    eager, there = copy.deepcopy(module).to("sidra"), ids.to("sidra")
    torch.sidra.program(eager)

    def run_eager():
        eager(input_ids=there)
        torch.sidra.synchronize()

    with sidra.Chip(0) as chip:
        model = chip.deploy(sidra.compile(module, [{"input_ids": texts}], example_inputs={"input_ids": ids}, **CALIBRATED))
        return ratios(20, lambda: model.infer(input_ids=ids), run_eager)[0]


def cosine(module):
    """Of embeddings: means over the tokens of a sentence."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(MINILM)
    tokens = tokenizer(SENTENCES.read_text().splitlines(), padding="max_length", max_length=TOKENS, truncation=True, return_tensors="pt")
    inputs = {name: tokens[name] for name in ("input_ids", "attention_mask")}

    def embeddings(states):
        mask = inputs["attention_mask"][..., None]
        return (states * mask).sum(1) / mask.sum(1)

    with sidra.Chip(0) as chip:
        model = chip.deploy(sidra.compile(module, [inputs], example_inputs=inputs, **CALIBRATED))
        return torch.nn.functional.cosine_similarity(embeddings(torch.from_numpy(model.infer(**inputs)[0])), embeddings(module(**inputs)[0])).min().item()


def main():
    torch.set_num_threads(THREADS)
    module = transformers.AutoModel.from_pretrained(MINILM).eval()
    with torch.no_grad():
        figures = {"minilm_compiled_vs_eager": compiled_vs_eager(module), "minilm_compiled_cosine": cosine(module)}
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
