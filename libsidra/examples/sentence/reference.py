#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Computes the sentence encoder in f32 with PyTorch. Needs torch, numpy and tokenizers
(pip install torch==2.13.0 numpy tokenizers).

  reference.py              embed sentences.txt; write reference.tsv and reference.f32, which README.md describes
  reference.py --check      compute them again, and compare
  reference.py --smoothing  choose the factors of smoothing.csv from the activations of other sentences
"""
import argparse
import sys

import numpy as np

import convert
import tokens

try:
    import torch
except ImportError:
    sys.exit("reference.py needs PyTorch: pip install torch==2.13.0")

SENTENCES, TABLE, EMBEDDINGS = (convert.HERE / name for name in ("sentences.txt", "reference.tsv", "reference.f32"))
# The smoothing factors are chosen with these, so that the sentences of sentences.txt do not judge their own choice.
CALIBRATION = """\
The quick brown fox jumps over the lazy dog.
Where is the nearest pharmacy?
Our quarterly report shows steady growth in all regions.
He planted tulips along the fence.
The committee rejected the proposal after a long debate.
Install the package with the command below.
Her flight to Lisbon was cancelled because of fog.
Water boils at one hundred degrees at sea level.
Children were building a castle of sand at the beach.
This recipe needs two eggs, a cup of flour and some milk.
The patient should take one tablet twice a day.
Goals in the last minute decided the match.
No
What time is it?
A new law limits the use of plastic bags in shops.
The orchestra played a symphony by Mahler.
def main(): return 0
Rain is expected in the north until Thursday.
"""


class Encoder:
    """The network, written out; a batch is one sentence, so there is no padding."""

    def __init__(self):
        with convert.open_package(convert.fetch()) as package:
            arrays = convert.read_safetensors(package.read(convert.FOLDER + "model.safetensors"))
        self.weights = {name: torch.tensor(array) for name, array in arrays.items()}
        self.largest = {}  # largest magnitude of each input of a product, by the name of the product

    def linear(self, name, x):
        largest = x.abs().amax(0)
        self.largest[name] = torch.maximum(self.largest.get(name, largest), largest)
        return torch.nn.functional.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def norm(self, name, x):
        gamma, beta = self.weights[name + ".weight"], self.weights[name + ".bias"]
        return torch.nn.functional.layer_norm(x, gamma.shape, gamma, beta, float(convert.EPSILON))

    def embed(self, ids):
        tokens_count, heads = len(ids), convert.HEADS
        embedding = "embeddings."
        x = self.weights[embedding + "word_embeddings.weight"][torch.tensor(ids)]
        x = x + self.weights[embedding + "token_type_embeddings.weight"][0]
        x = x + self.weights[embedding + "position_embeddings.weight"][:tokens_count]
        x = self.norm(embedding + "LayerNorm", x)
        for layer in range(convert.LAYERS):
            prefix = f"encoder.layer.{layer}."
            query, key, value = (
                self.linear(f"{prefix}attention.self.{part}", x).reshape(tokens_count, heads, -1).transpose(0, 1)
                for part in ("query", "key", "value")
            )
            scores = query @ key.transpose(1, 2) / (convert.WIDTH // heads) ** 0.5
            context = (scores.softmax(-1) @ value).transpose(0, 1).reshape(tokens_count, -1)
            y = x + self.linear(f"{prefix}attention.output.dense", context)
            x = self.norm(f"{prefix}attention.output.LayerNorm", y)
            inner = torch.nn.functional.gelu(self.linear(f"{prefix}intermediate.dense", x))
            x = self.norm(f"{prefix}output.LayerNorm", x + self.linear(f"{prefix}output.dense", inner))
        return torch.nn.functional.normalize(x.mean(0), dim=0)


def nearest(embeddings):
    """For each sentence the number of the nearest other one, by cosine similarity."""
    similar = embeddings @ embeddings.T
    np.fill_diagonal(similar, -2)
    return similar.argmax(1)


def read_reference():
    """Sentences, ids and nearest neighbours of reference.tsv, and the embeddings."""
    rows = convert.table_rows(TABLE)
    embeddings = np.fromfile(EMBEDDINGS, "<f4").reshape(len(rows), convert.WIDTH)
    ids = [[int(i) for i in row[1].split()] for row in rows]
    return [row[2] for row in rows], ids, [int(row[0]) for row in rows], embeddings


def smoothing(encoder, tokenizer):
    """Powers of two by which the inputs of qkv and inner are multiplied, and their weights divided, so that channels
    with large values lose less (SmoothQuant, with alpha 0.5). Powers of two change no bit of the products in f32."""
    with torch.inference_mode():
        for sentence in CALIBRATION.splitlines():
            encoder.embed(tokenizer.encode(sentence).ids)
    print("# Written by reference.py --smoothing. Exponents of two for the inputs of qkv and inner, layer by layer.")
    for layer in range(convert.LAYERS):
        prefix = f"encoder.layer.{layer}."
        for names in (
            [f"{prefix}attention.self.{part}" for part in ("query", "key", "value")],
            [f"{prefix}intermediate.dense"],
        ):
            inputs = encoder.largest[names[0]]
            inputs = inputs.clamp(min=inputs.max() * 1e-3)
            weights = torch.stack([encoder.weights[name + ".weight"].abs().amax(0) for name in names]).amax(0)
            exponents = (weights / inputs).log2() / 2
            exponents = (exponents - exponents.mean()).round().int()
            print(*exponents.tolist(), sep=",")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--smoothing", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    encoder, tokenizer = Encoder(), tokens.load_tokenizer()
    if options.smoothing:
        smoothing(encoder, tokenizer)
        return 0
    sentences = SENTENCES.read_text().splitlines()
    ids = [tokenizer.encode(sentence).ids for sentence in sentences]
    with torch.inference_mode():
        embeddings = torch.stack([encoder.embed(each) for each in ids]).numpy()
    neighbours = nearest(embeddings)
    if options.check:
        old_sentences, old_ids, old_neighbours, old_embeddings = read_reference()
        problems = []
        if (old_sentences, old_ids, old_neighbours) != (sentences, ids, neighbours.tolist()):
            problems.append("reference.tsv is out of date")
        # Other processors and versions of PyTorch round differently.
        elif (difference := np.abs(old_embeddings - embeddings).max()) > 1e-5:
            problems.append(f"reference.f32 differs by up to {difference:g}")
        for problem in problems:
            print(f"reference.py: {problem}: run it without --check, and look at the changes", file=sys.stderr)
        print(f"{len(sentences)} sentences computed again: {'they differ' if problems else 'the same'}")
        return 1 if problems else 0
    with open(TABLE, "w") as file:
        print("# Written by reference.py: nearest other sentence (from 0), token ids, sentence.", file=file)
        for row in zip(neighbours, ids, sentences):
            print(row[0], " ".join(map(str, row[1])), row[2], sep="\t", file=file)
    embeddings.astype("<f4").tofile(EMBEDDINGS)
    print(f"{len(sentences)} sentences written to {TABLE} and {EMBEDDINGS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
