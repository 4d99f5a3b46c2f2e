# SPDX-License-Identifier: MIT
"""sidra.compile() with a trained network and its data: accuracy, calibration, several chips, and the switches of the compiler."""
import numpy
import pytest
import sidra
import torch
from compiled import cosine, expected
from torch import nn


@pytest.fixture(scope="module")
def digits():
    """A network for scikit-learn's digits, trained; images and labels that it was not trained with."""
    from sklearn.datasets import load_digits

    torch.manual_seed(1)
    data = load_digits()
    order = torch.randperm(len(data.target))
    images, labels = torch.tensor(data.images, dtype=torch.float32)[order, None] / 16, torch.tensor(data.target)[order]
    module = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.Adam(module.parameters(), 4e-3)
    for _ in range(15):
        for part in torch.randperm(1200).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(images[part]), labels[part]).backward()
            optimizer.step()
    return module.eval(), images[1200:], labels[1200:]


def test_accuracy_of_digits(chip, digits):
    module, images, labels = digits
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), 64)
    compiled = sidra.compile(module, calib_data=data)
    assert compiled.variants[0].inputs[0].shape == (64, 1, 8, 8)
    exact = (expected(module, images).argmax(1) == labels.numpy()).mean()
    assert exact > 0.9
    assert abs(compiled.simulated_accuracy - exact) <= 0.01
    # The same, counted by hand.
    chip.deploy(compiled)
    padded = torch.cat([images, images[:-len(images) % 64]])
    logits = numpy.concatenate([chip.infer(part) for part in padded.split(64)])[:len(images)]
    assert compiled.simulated_accuracy == (logits.argmax(1) == labels.numpy()).mean()
    # Batches of any size give the same.
    several = sidra.compile(module, example_inputs=images[:50], calib_data=[({"input": images.numpy()}, labels.numpy())])
    assert several.simulated_accuracy == compiled.simulated_accuracy
    wrong = sidra.compile(module, calib_data=[(images[:64], (labels[:64] + 1) % 10)])
    assert wrong.simulated_accuracy <= 0.1


def test_calibration_without_labels(chip, digits):
    module, images, _ = digits
    plain, calibrated = sidra.compile(module, example_inputs=images[:2]), sidra.compile(module, calib_data=[images[:2], images[2:7]])
    assert plain.simulated_accuracy is None and calibrated.simulated_accuracy is None
    models = [chip.deploy(compiled) for compiled in (plain, calibrated)]
    one, other = (model.infer(images[:2]) for model in models)
    want = expected(module, images[:2])
    assert cosine(one, want) > 0.999 and cosine(other, want) > 0.99 and (one != other).any()
    # The codes are for the values in calib_data. With others the results are wrong: this is the proof that it has been used.
    dark = chip.deploy(sidra.compile(module, calib_data=[images[:2] / 100]))
    assert cosine(dark.infer(images[:2]), want) < 0.9


def test_several_chips(digits):
    module, images, _ = digits
    with sidra.Chip(sidra.Device(private=True)) as chip:
        chip.deploy(sidra.compile(module, example_inputs=images[:2]))
        want = [chip.infer(images[i:i + 2]) for i in range(0, 40, 2)]
    compiled = sidra.compile(module, example_inputs=images[:2], chips=2)
    assert compiled.stages == 2
    with pytest.raises(ValueError, match="compiled for 2 chips"):
        sidra.Chip(0).deploy(compiled)
    with pytest.raises(ValueError, match="but there are 1"):
        sidra.Chips([0]).deploy(compiled)
    with sidra.Chips([sidra.Device(private=True), sidra.Device(private=True)]) as chips:
        done = []
        model = chips.deploy(compiled, progress=lambda *numbers: done.append(numbers))
        assert done[-1][0] == done[-1][1] > 0 and model.variants[0].inputs[0].shape == (2, *images.shape[1:])
        futures = [chips.infer_async(images[i:i + 2]) for i in range(0, 40, 2)]  # more than can be under way
        for future, right in zip(futures, want, strict=True):
            assert (future.result() == right).all()
        assert (chips.infer(images[:2]) == want[0]).all() and model.cost[0] > 0
    with pytest.raises(sidra.Error, match="closed"):
        model.infer(images[:2])
    assert sidra.compile(module, example_inputs=images[:2], chips="auto").stages == 1


def test_switches_of_the_compiler():
    torch.manual_seed(3)
    network = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)).eval()
    with torch.no_grad():  # work for the equalisation
        network[0].weight[0] *= 4096
        network[2].weight[:, 0] /= 4096
    x = torch.randn(32, 16)
    want = network(x).detach().numpy()

    def run(**options):
        compiled = sidra.compile(network, calib_data=[x], **options)
        with sidra.Chip(sidra.Device(private=True)) as chip:
            chip.deploy(compiled)
            return float(((chip.infer(x.numpy()) - want) ** 2).sum() / (want**2).sum()), compiled.crossbar_count

    error, crossbars = run()
    assert error < 0.001
    assert run(equalisation=False)[0] > 10 * error
    assert error != run(bias_correction=False)[0] < 0.002
    assert run(copies=2)[1] == 2 * crossbars
    assert run(copies=2, copies_by_layer=True)[1] == 2 * crossbars
