# SPDX-License-Identifier: MIT
"""Networks for digits, trained here in seconds: what compiled networks are measured by.

  yardsticks.py [FOLDER]   train all, print the share of right digits, and write them as ONNX models

The data, their split and how training redraws digits are those of libsidra/examples/digits: 1,437 digits for training and calibration, and 360 that
only judge."""
import importlib.util
import pathlib
import sys

import numpy
import torch
from torch import nn

_spec = importlib.util.spec_from_file_location("digits_train", pathlib.Path(__file__).resolve().parent.parent.parent.parent / "libsidra/examples/digits/train.py")
example = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(example)

SEED, EPOCHS, BATCH, RATE, DECAY = 1, 30, 48, 3e-3, 1e-2


def digits():
    """Images of 8 x 8 with values of 0 to 1, and labels: those for training, and those that judge."""
    pixels, labels = example.load_digits()
    images, labels = torch.from_numpy(pixels.astype(numpy.float32) * example.PIXEL_SCALE), torch.from_numpy(labels.astype(numpy.int64))
    rows = example.TRAIN_ROWS
    return (images[:rows], labels[:rows]), (images[rows:], labels[rows:])


def mlp():
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))


def cnn():
    return nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1),
                         nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 32, 3, padding=1, groups=4), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
                         nn.Flatten(), nn.Linear(128, 10))


class Block(nn.Module):
    """Attention and a perceptron, each behind a normalisation."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_perceptron = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (part.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)
                             for part in self.inputs(self.before_attention(x)).chunk(3, -1))
        shares = (query @ key.transpose(-1, -2) * (width // self.heads) ** -0.5).softmax(-1)
        x = x + self.output((shares @ value).transpose(1, 2).reshape(batch, length, width))
        return x + self.perceptron(self.before_perceptron(x))


class Transformer(nn.Module):
    """Reads a digit as a sequence of its eight rows."""

    def __init__(self, width=48, heads=4, blocks=2):
        super().__init__()
        self.embedding = nn.Linear(8, width)
        self.places = nn.Parameter(0.02 * torch.randn(8, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, images):
        return self.head(self.norm(self.blocks(self.embedding(images.reshape(-1, 8, 8)) + self.places)).mean(1))


NETWORKS = {"mlp": mlp, "cnn": cnn, "transformer": Transformer}


def trained(name):
    """The network in eval mode; the same each time."""
    torch.manual_seed(SEED)
    network = NETWORKS[name]().train()
    (images, labels), _ = digits()
    steps = EPOCHS * -(-len(images) // BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    random = numpy.random.default_rng(SEED)
    for _ in range(EPOCHS):
        redrawn = torch.from_numpy(example.redraw(random, images.numpy()).astype(numpy.float32))
        for rows in torch.randperm(len(images)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(redrawn[rows]), labels[rows]).backward()
            optimizer.step()
            rate.step()
    return network.eval()


@torch.no_grad()
def accuracy(network, images, labels):
    return (network(images).argmax(1) == labels).float().mean().item()


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for name in NETWORKS:
        network = trained(name)
        print(f"{name}: {100 * accuracy(network, *digits()[1]):.2f} % of the digits are right")
        exported = torch.export.export(network, (digits()[1][0],))
        torch.onnx.export(exported, dynamo=True, verbose=False).save(folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
