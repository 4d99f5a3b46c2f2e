#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains the last layer of a network for digits on a chip: the layers before it stay on their crossbars, and each step of the optimizer programs the last
one's cells again. The same training runs on the CPU for comparison.

The network has learned the digits 0 to 7; then it gets a new last layer, for all ten. Prints how many images of the test set are right, and how often
each layer was programmed. With SIDRA_LEVEL=accurate, cells and converters have errors, which the training sees."""
import argparse
import copy
import os
import sys

os.environ.setdefault("SIDRA_QUIET", "1")
os.environ.setdefault("SIDRA_FALLBACK", "silent")

import torch
from sklearn.datasets import load_digits
from torch import nn

TRAINED = 1200  # of 1,797 images; the others are for tests


def digits():
    data = load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(1))
    return torch.tensor(data.data, dtype=torch.float32)[order] / 16, torch.tensor(data.target)[order]


def train(model, optimizer, images, labels, epochs, seed):
    """Batches are the same on all devices."""
    order = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for part in torch.randperm(len(images), generator=order).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[part.to(images.device)]), labels[part.to(images.device)]).backward()
            optimizer.step()


@torch.no_grad()
def accuracy(model, images, labels):
    return (model(images).argmax(1) == labels).float().mean().item()


def network(images, labels):
    """With a last layer that is new; the others are trained, and frozen."""
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 10))
    few = labels < 8
    train(model, torch.optim.Adam(model.parameters(), 3e-3), images[few], labels[few], 10, 1)
    model[-1] = nn.Linear(48, 10)
    for layer in model[:-1]:
        layer.requires_grad_(False)
    return model


def last_layer(model, images, labels, epochs):
    optimizer = torch.optim.Adam(model[-1].parameters(), 1e-2)
    if images.device.type != "sidra":
        train(model, optimizer, images, labels, epochs, 2)
    else:
        with torch.sidra.programmed_by(optimizer, model):
            train(model, optimizer, images, labels, epochs, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10, help="default: 10")
    options = parser.parse_args()
    if not torch.sidra.is_available():
        sys.exit(f"no SIDRA device: {getattr(torch.sidra, '_why', 'neither a card nor a model of the chip was found')}")

    images, labels = digits()
    here = network(images[:TRAINED], labels[:TRAINED])
    there = copy.deepcopy(here).to("sidra:0")
    there_images, there_labels = images.to("sidra:0"), labels.to("sidra:0")
    last_layer(here, images[:TRAINED], labels[:TRAINED], options.epochs)
    last_layer(there, there_images[:TRAINED], there_labels[:TRAINED], options.epochs)
    print(f"right on the CPU:  {100 * accuracy(here, images[TRAINED:], labels[TRAINED:]):.2f} %")
    print(f"right on the chip: {100 * accuracy(there, there_images[TRAINED:], there_labels[TRAINED:]):.2f} %")
    for row in sorted(torch.sidra.residency("sidra:0"), key=lambda row: -row["inputs"]):
        print(f"{row['inputs']} x {row['outputs']}: programmed {row['programs']} times, {row['pulses']} pulses, {row['uses']} products")


if __name__ == "__main__":
    main()
