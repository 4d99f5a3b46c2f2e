# SPDX-License-Identifier: MIT
"""sidra.training: the simulated errors are as large as a chip's, and a network that was trained with them loses less by a chip's."""
import copy

import numpy
import pytest
import sidra
import torch
from sidra.training import Noise, fine_tune, measure, simulated
from sklearn.datasets import load_digits
from torch import nn

TRAINED = 1200  # of 1,797 images; the others are for tests
NONE = Noise(0, 0)
STUCK = 20_000  # cells in a million: a bad chip, on which the network loses a tenth of its answers


@pytest.fixture(scope="module")
def digits():
    """Images and labels of the digits."""
    data = load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(1))
    return torch.tensor(data.data, dtype=torch.float32)[order] / 16, torch.tensor(data.target)[order]


def batches_of(digits, size=64):
    return list(zip(digits[0][:TRAINED].split(size), digits[1][:TRAINED].split(size), strict=True))


@pytest.fixture(scope="module")
def network(digits):
    """A small network, in which errors of cells cost accuracy."""
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 10))
    optimizer = torch.optim.Adam(module.parameters(), 1e-2)
    for _ in range(20):
        for images, labels in batches_of(digits):
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(images), labels).backward()
            optimizer.step()
    return module.eval()


def on_chips(module, images, labels):
    """The share of right answers and the loss at level accurate, in the mean over chips with different errors."""
    compiled = sidra.compile(module, calib_data=[images[:100]])
    shares, losses = [], []
    for seed in range(1, 9):
        with sidra.Chip(sidra.Device(level="accurate", seed=seed, stuck_ppm=STUCK, private=True)) as chip:
            chip.deploy(compiled)
            scores = torch.from_numpy(numpy.concatenate([chip.infer(part) for part in images.split(100)]))
            shares.append((scores.argmax(1) == labels).float().mean().item())
            losses.append(nn.functional.cross_entropy(scores, labels).item())
    return numpy.mean(shares), numpy.mean(losses)


LAYERS = {
    "linear": (lambda: nn.Linear(200, 40), (64, 200)),
    "convolution": (lambda: nn.Conv2d(8, 24, 3, padding=1, stride=2), (4, 8, 12, 12)),
    "padding": (lambda: nn.Conv2d(8, 24, 3, padding="same", padding_mode="circular"), (4, 8, 12, 12)),
    "groups": (lambda: nn.Conv2d(16, 16, 3, padding=1, groups=4), (4, 16, 12, 12)),
    "depthwise": (lambda: nn.Conv2d(16, 16, 3, padding=1, groups=16), (4, 16, 12, 12)),
    "one dimension": (lambda: nn.Conv1d(16, 24, 5), (4, 16, 30)),
}


@pytest.mark.parametrize("sign", ["positive", "both"])
@pytest.mark.parametrize("name", LAYERS)
def test_errors_are_as_large_as_those_of_a_chip(name, sign):
    make, shape = LAYERS[name]
    torch.manual_seed(3)
    module, x = nn.Sequential(make()).eval(), torch.rand(shape)
    if sign == "both":
        x -= 0.4
    compiled, chip = sidra.compile(module, calib_data=[x]), []
    for level, seed in (("fast", 0), *(("accurate", seed) for seed in range(5, 9))):
        with sidra.Chip(sidra.Device(level=level, seed=seed, private=True)) as device:
            device.deploy(compiled)
            chip.append(device.infer(x))
    with torch.no_grad():
        noise = measure(module, x)
        with simulated(module, {"0": NONE}):
            exact = module(x)
        with simulated(module, noise):
            results = torch.stack([module(x) for _ in range(20)])
    assert numpy.allclose(exact, chip[0], atol=0.02 * numpy.abs(chip[0]).max())
    size = (results - exact).square().mean().sqrt().item()
    there = numpy.sqrt(numpy.square(numpy.stack(chip[1:]) - chip[0]).mean())
    assert 0.6 < size / there < 1.6, (size, there, noise)


def test_a_chip_at_level_fast_has_no_errors(network, digits):
    noise = measure(network, digits[0][:100], sidra.Device(level="fast", private=True))
    assert noise == {"0": NONE, "2": NONE, "4": NONE}
    assert all(of.weights > 0 and of.products > 0 for of in measure(network, digits[0][:100]).values())


def test_gradients_are_those_of_the_exact_product():
    torch.manual_seed(1)
    layer, x = nn.Linear(8, 4), torch.rand(5, 8)
    layer(x).sum().backward()
    exact = layer.weight.grad.clone()
    layer.zero_grad()
    with simulated(layer, {"": Noise(1, 0.1)}) as noisy:
        assert not torch.allclose(noisy(x), noisy(x))
        noisy(x).sum().backward()
    assert torch.allclose(layer.weight.grad, exact, atol=0.02) and "forward" not in vars(layer)


def test_training_gains_accuracy_at_level_accurate(network, digits):
    """On chips whose errors differ from those of the one that was measured; and it is not only that it trains for longer."""
    noise = measure(network, digits[0][:100], sidra.Device(level="accurate", seed=99, stuck_ppm=STUCK, private=True))
    exact, noisy = (fine_tune(network, batches_of(digits), epochs=30, noise=of) for of in (dict.fromkeys(noise, NONE), noise))
    test = digits[0][TRAINED:TRAINED + 500], digits[1][TRAINED:TRAINED + 500]
    (share, loss), (_, control), (share_after, loss_after) = (on_chips(module, *test) for module in (network, exact, noisy))
    assert share_after > share + 0.01 and loss_after < 0.9 * min(loss, control), (share, share_after, loss, control, loss_after)


def test_training_leaves_the_module_and_the_generator_alone(network, digits):
    before, state = copy.deepcopy(network.state_dict()), torch.get_rng_state()
    data, seen = batches_of(digits)[:4], []
    one = fine_tune(network, iter(data), epochs=2, progress=lambda *now: seen.append(now))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert [now[:2] for now in seen] == [(1, 2), (2, 2)] and all(now[2] > 0 for now in seen)
    torch.rand(3)
    again, other = fine_tune(network, data, epochs=2), fine_tune(network, data, epochs=2, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), again.parameters(), strict=True))
    assert not torch.equal(one[0].weight, other[0].weight) and not torch.equal(one[0].weight, network[0].weight)
    own = copy.deepcopy(network)
    own[0].requires_grad_(False)
    assert fine_tune(own, data, epochs=1, in_place=True, optimizer=lambda p: torch.optim.SGD(p, 0.1)) is own
    assert torch.equal(own[0].weight, network[0].weight) and not torch.equal(own[4].weight, network[4].weight)


def test_compile_trains_if_nothing_else_reaches_the_target(network, digits, caplog):
    images, labels = digits[0][TRAINED:TRAINED + 500], digits[1][TRAINED:TRAINED + 500]
    options = {"calib_data": [(images[:100], labels[:100])], "test_data": list(zip(images.split(100), labels.split(100), strict=True))}
    plain = sidra.compile(network, **options)
    target = plain.simulated_accuracy + 0.002
    with pytest.raises(sidra.TargetMissed, match="% of the samples are right"):
        sidra.compile(network, **options, target_accuracy=target)
    with caplog.at_level("INFO", "sidra"):
        compiled = sidra.compile(network, **options, target_accuracy=target, train_data=batches_of(digits))
    assert compiled.simulated_accuracy >= target and plain.trained is None
    assert not torch.equal(compiled.trained[0].weight, network[0].weight)
    assert sum("training with noise: epoch" in record.message for record in caplog.records) == 10
    # It is not trained for what is reached anyway.
    assert sidra.compile(network, **options, target_accuracy=0.5, train_data=batches_of(digits)).trained is None


def test_compile_does_not_train_what_is_refused(monkeypatch):
    monkeypatch.setattr(sidra.training, "fine_tune", lambda *_, **__: pytest.fail("trains in vain"))
    x = torch.randn(3, 5, 4)
    with pytest.raises(sidra.CompileError, match="there are 3 labels, but more samples") as refused:  # scores of 15 rows
        sidra.compile(LINEAR, test_data=[(x, Y)], target_accuracy=0.5, train_data=[(x, Y)])
    assert not isinstance(refused.value, sidra.TargetMissed)


LINEAR = nn.Linear(4, 2).eval()
X, Y = torch.zeros(3, 4), torch.zeros(3, dtype=torch.int64)


@pytest.mark.parametrize("error, text, call", [
    (ValueError, "needs data: at least one batch, each a pair", lambda: fine_tune(LINEAR, [])),
    (ValueError, "needs data: at least one batch, each a pair", lambda: fine_tune(LINEAR, [X])),
    (ValueError, "epochs must be at least 1, not 0", lambda: fine_tune(LINEAR, [(X, Y)], epochs=0)),
    (ValueError, "ReLU has no parameters that require a gradient", lambda: fine_tune(nn.ReLU(), [(X, Y)])),
    (ValueError, "Linear has no linear layer or convolution 'head'; it has ''", lambda: fine_tune(LINEAR, [(X, Y)], noise={"head": NONE})),
    (ValueError, "the loss is nan; try a smaller rate", lambda: fine_tune(LINEAR, [(X, Y)], loss=lambda *_: LINEAR.weight.sum() * float("nan"))),
    (ValueError, "train_data needs a target_accuracy, and a torch.nn.Module",
     lambda: sidra.compile(LINEAR, calib_data=[(X, Y)], train_data=[(X, Y)])),
    (ValueError, "train_data needs a target_accuracy, and a torch.nn.Module",
     lambda: sidra.compile("network.onnx", calib_data=[(X, Y)], target_accuracy=0.5, train_data=[(X, Y)])),
])
def test_what_cannot_be_trained(error, text, call):
    with pytest.raises(error, match=text):
        call()
