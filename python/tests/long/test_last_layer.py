# SPDX-License-Identifier: MIT
"""examples/last_layer.py, and training on a chip at level accurate."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/last_layer.py"

# The whole network trains with the chip's own errors in the forward pass.
NOISE_AWARE = """
import copy, sys
import sidra, torch
sys.path.insert(0, sys.argv[1])
import last_layer

device = sidra.Device(level="accurate", seed=5)
torch.sidra.set_fallback("silent")
images, labels = last_layer.digits()
images, labels = images.to("sidra"), labels.to("sidra")
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(64, 12), torch.nn.ReLU(), torch.nn.Linear(12, 10))
last_layer.train(model, torch.optim.Adam(model.parameters(), 1e-2), images[:1200].cpu(), labels[:1200].cpu(), 3, 1)
model.to("sidra")

def right():
    torch.sidra.program(model)
    return sum(last_layer.accuracy(model, images[1200:], labels[1200:]) for _ in range(3)) / 3

losses, before = [], right()
data = list(zip(images[:1200].split(100), labels[:1200].split(100)))
sidra.training.fine_tune(model, data, epochs=3, in_place=True, progress=lambda done, epochs, loss: losses.append(loss))
print(before, right(), losses[0], losses[-1], sum(row["pulses"] for row in torch.sidra.residency()), sum(row["programs"] for row in torch.sidra.residency()))
"""


def run(*command, **environment):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=os.environ | {"SIDRA_DEVICE": "embedded:0"} | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("level", ["fast", "accurate"])
def test_the_last_layer_trains_as_on_the_cpu(level):
    text = run(str(EXAMPLE), SIDRA_LEVEL=level)
    cpu, chip = (float(re.search(rf"right on the {what}: +([\d.]+) %", text)[1]) for what in ("CPU", "chip"))
    rows = [tuple(map(int, row)) for row in re.findall(r"(\d+) x (\d+): programmed (\d+) times, (\d+) pulses, (\d+) products", text)]
    steps = 10 * 19
    assert cpu > 85 and chip >= cpu - 0.5, text
    assert [row[:3] for row in rows] == [(96, 48, 1), (64, 96, 1), (48, 10, 1 + steps)], text
    assert all(row[4] == steps + 1 for row in rows), text
    assert all((row[3] > 0) == (level == "accurate") for row in rows), text


def test_training_with_the_errors_of_the_chip():
    before, after, first, last, pulses, programs = map(float, run("-c", NOISE_AWARE, str(EXAMPLE.parent)).split())
    assert last < first and after > before + 0.01
    assert pulses > 0 and programs == 2 * (1 + 3 * 12)
