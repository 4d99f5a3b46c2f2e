# SPDX-License-Identifier: MIT
"""How matrices lie on crossbars: what PyTorch and the package sidra say about it, and what is asked of them."""
import os
import pathlib
import subprocess
import sys

import numpy
import pytest
import sidra
import torch

INPUTS, OUTPUTS = 300, 200  # 2 x 2 tiles of 256 x 128, or 2 x 1 of 256 x 256


@pytest.fixture
def layer():
    layer = torch.nn.Linear(INPUTS, OUTPUTS, bias=False).to("sidra").requires_grad_(False)
    yield layer
    torch.sidra.release(layer)


def free():
    return torch.sidra.get_device_properties()["crossbars_free"]


def is_taken(crossbar):
    """Whether libsidra refuses this crossbar to another user of the chip."""
    try:
        sidra.Device(0).weights(numpy.ones((1, 1), numpy.int8), encoding="offset", crossbars=[crossbar], program=False)
    except sidra.Error as error:
        assert "SIDRA_ERROR_BUSY" in str(error)
        return True
    return False


def some_free(count):
    """Crossbars from the end of the chip that nobody has."""
    found = []
    for crossbar in reversed(range(torch.sidra.get_device_properties()["crossbars_total"])):
        if not is_taken(crossbar):
            found.append(crossbar)
        if len(found) == count:
            return found
    raise AssertionError("the chip is full")


def flat(layout):
    return [crossbar for row in layout.crossbars for crossbar in row]


def programs():
    """How often the matrix of this shape was programmed, the newest if tests before have left others."""
    rows = [row for row in torch.sidra.residency() if (row["inputs"], row["outputs"]) == (INPUTS, OUTPUTS)]
    return max(rows, key=lambda row: row["storage"])["programs"]


def test_a_matrix_in_memory_has_no_layout(layer):
    assert torch.sidra.get_layout(layer) == {"": None} and torch.sidra.get_layout(layer.weight) is None
    assert torch.sidra.get_layout(torch.ones(3, 4, device="sidra")) is None


def test_the_layout_of_a_resident_matrix(layer):
    before = free()
    torch.sidra.program(layer)
    layout = torch.sidra.get_layout(layer)[""]
    assert layout == torch.sidra.get_layout(layer.weight) == torch.sidra.get_layout(layer.weight.t())
    assert layout.shape == (INPUTS, OUTPUTS) and layout.encoding == "differential" and layout.tile == (256, 128)
    assert layout.grid == (2, 2) and layout.padding == (2 * 256 - INPUTS, 2 * 128 - OUTPUTS)
    assert len(set(flat(layout))) == 4 == before - free() and all(map(is_taken, flat(layout)))
    # The parts of all tiles are the matrix.
    matrix, again = layer.weight.t().cpu(), torch.zeros(INPUTS, OUTPUTS)
    for row in range(2):
        for column in range(2):
            again[layout.part(row, column)] += matrix[layout.part(row, column)]
    assert torch.equal(again, matrix)
    with pytest.raises(IndexError, match="no tile 2, 0.*2 x 2"):
        layout.part(2, 0)


def test_a_write_ends_the_layout(layer):
    torch.sidra.program(layer)
    layer.weight.mul_(2)
    assert torch.sidra.get_layout(layer.weight) is None


def test_a_convolution():
    kernel = torch.nn.Conv2d(30, 7, 3, bias=False).to("sidra")
    layout = torch.sidra.set_layout(kernel, encoding="offset")[""]
    assert layout.shape == (3 * 3 * 30, 7) and layout.grid == (2, 1) and torch.sidra.get_layout(kernel.weight) == layout
    torch.sidra.release(kernel)


def test_the_encoding(layer):
    x = torch.randn(4, INPUTS, device="sidra")
    before = free()
    layout = torch.sidra.set_layout(layer, encoding="offset")[""]
    assert layout.encoding == "offset" and layout.grid == (2, 1) and layout.tile == (256, 256) and before - free() == 2
    offset = layer(x).cpu()
    layout = torch.sidra.set_layout(layer.weight, encoding="differential")
    assert layout.encoding == "differential" and layout.grid == (2, 2) and before - free() == 4
    assert torch.equal(layer(x).cpu(), offset)  # at level fast both have the exact product of the codes
    exact = (x.cpu().double() @ layer.weight.cpu().double().t()).float()
    assert 0 < (offset - exact).abs().max() < 0.05 * exact.abs().max()


def test_the_encoding_outlives_a_write(layer):
    torch.sidra.set_layout(layer, encoding="offset")
    layer.weight.mul_(2)
    x = torch.randn(4, INPUTS, device="sidra")
    for _ in range(3):
        layer(x)
    assert torch.sidra.get_layout(layer)[""].encoding == "offset"


def test_a_matrix_moves(layer):
    x = torch.randn(4, INPUTS, device="sidra")
    torch.sidra.program(layer)
    old, before = torch.sidra.get_layout(layer)[""], layer(x).cpu()
    wanted = some_free(4)
    count = free()
    layout = torch.sidra.set_layout(layer, crossbars=wanted)[""]
    assert flat(layout) == wanted and layout.encoding == old.encoding and free() == count
    assert not any(map(is_taken, flat(old))) and all(map(is_taken, wanted))
    assert torch.equal(layer(x).cpu(), before)
    # There and back, as rows of tiles. What lies so already is not programmed again.
    assert torch.sidra.set_layout(layer.weight, crossbars=old.crossbars) == old
    assert programs() == 3
    assert torch.sidra.set_layout(layer, crossbars=old.crossbars, encoding="differential")[""] == old and programs() == 3


def test_crossbars_without_an_encoding_are_differential(layer):
    layout = torch.sidra.set_layout(layer, crossbars=some_free(4))[""]
    assert layout.encoding == "differential" and layout.grid == (2, 2)


def test_pinned_matrices_stay():
    """A small chip is filled with matrices that are not pinned, but for the first: the second makes room, and the first does not."""
    code = """
import torch
total = torch.sidra.get_device_properties()["crossbars_total"]
layers = [torch.nn.Linear(256, 256, bias=False).to("sidra").requires_grad_(False) for _ in range(total + 1)]
for number, layer in enumerate(layers):
    torch.sidra.set_layout(layer, encoding="offset", pin=number == 0)
there = [torch.sidra.get_layout(layer)[""] is not None for layer in layers]
assert there == [True, False] + [True] * (total - 1), there
try:
    for layer in layers:
        torch.sidra.set_layout(layer, encoding="differential")
except RuntimeError as error:
    assert "more crossbars than the device has beside pinned" in str(error), error
# Pinned ones have all of the chip by then, and the others made room.
encodings = [torch.sidra.get_layout(layer)[""].encoding for layer in layers if torch.sidra.get_layout(layer)[""] is not None]
assert encodings == ["differential"] * (total // 2), encodings
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240, env=os.environ | {"SIDRA_PROFILE": "small", "SIDRA_DEVICE": "embedded"})


def test_occupied_crossbars(layer):
    other = torch.nn.Linear(20, 10, bias=False).to("sidra")
    torch.sidra.program(torch.nn.Sequential(layer, other))
    mine, theirs = torch.sidra.get_layout(layer)[""], torch.sidra.get_layout(other)[""]
    wanted = [*some_free(3), theirs.crossbars[0][0]]
    with pytest.raises(RuntimeError, match=rf"SIDRA_ERROR_BUSY: .*crossbar {wanted[3]} .*\n.*rossbar {wanted[3]} has a matrix of 20 x 10; .*release"):
        torch.sidra.set_layout(layer, crossbars=wanted)
    with pytest.raises(RuntimeError, match="has this matrix itself"):
        torch.sidra.set_layout(layer, crossbars=list(reversed(flat(mine))))
    assert torch.sidra.get_layout(layer)[""] == mine and programs() == 1
    torch.sidra.release(other)


@pytest.mark.parametrize("call, error, text", [
    (lambda layer: torch.sidra.get_layout(torch.ones(2, 2)), ValueError, r"on cpu.*to\(\"sidra\"\)"),
    (lambda layer: torch.sidra.set_layout(torch.ones(2, 2)), ValueError, r"on cpu.*to\(\"sidra\"\)"),
    (lambda layer: torch.sidra.get_layout(torch.ones(2, device="sidra")), ValueError, r"\[2\] is neither a matrix"),
    (lambda layer: torch.sidra.set_layout(torch.ones(2, 0, device="sidra")), ValueError, r"\[2, 0\] is neither a matrix"),
    (lambda layer: torch.sidra.get_layout(torch.nn.Linear(2, 2)), ValueError, r"Linear has no linear layer .* on a sidra device; module.to"),
    (lambda layer: torch.sidra.set_layout(torch.nn.ReLU()), ValueError, "ReLU has no linear layer"),
    (lambda layer: torch.sidra.set_layout(layer, encoding="best"), ValueError, 'encoding "best" is none of "differential", "offset"'),
    (lambda layer: torch.sidra.set_layout(layer, crossbars=[]), ValueError, "`crossbars` is empty"),
    (lambda layer: torch.sidra.set_layout(layer, crossbars=[0, 1, 2, -1]), ValueError, "no crossbar -1"),
    (lambda layer: torch.sidra.set_layout(layer, crossbars=["a"]), TypeError, "str"),
    (lambda layer: torch.sidra.set_layout(layer, crossbars=[7]), RuntimeError, "has 1 crossbars, but 300 x 200 differential weights have 4 tiles"),
    (lambda layer: torch.sidra.set_layout(layer, crossbars=[1 << 30, 1, 2, 3]), RuntimeError, "SIDRA_ERROR_BUSY: .*1073741824"),
    (lambda layer: torch.sidra.set_layout(torch.nn.Sequential(layer, torch.nn.Linear(3, 3, device="sidra")), crossbars=[7]), ValueError,
     "Sequential has 2: 0, 1. Call it for each"),
    (lambda layer: torch.sidra.set_layout(layer.weight.fill_(float("nan"))), RuntimeError, "not finite"),
    (lambda layer: torch.sidra.set_layout(layer.weight.fill_(float("nan")), crossbars=some_free(4)), RuntimeError, r"\[200, 300\] cannot lie so: .*not finite"),
    (lambda layer: torch.sidra.set_layout(torch.full((3, 3), -128, dtype=torch.int8, device="sidra"), encoding="differential", crossbars=some_free(1)), RuntimeError,
     "SIDRA_ERROR_NOT_REPRESENTABLE"),
])
def test_bad_input_is_named(layer, call, error, text):
    with pytest.raises(error, match=text):
        call(layer)
    assert torch.sidra.get_layout(layer) == {"": None}


@torch.no_grad()
def test_a_code_that_the_encoding_lacks():
    weight, scale, x = torch.ones(8, 16, dtype=torch.int8, device="sidra"), torch.ones(8, device="sidra"), torch.ones(2, 16, device="sidra")
    products = lambda: torch.ops.sidra.quantised_linear(x, weight, scale).cpu().unique().tolist()
    torch.sidra.set_layout(weight.t(), encoding="differential")
    assert products() == [16]
    weight.fill_(-128)  # from now on it is computed by the CPU
    for _ in range(3):
        assert products() == [-16 * 128]
    assert torch.sidra.get_layout(weight) is None
    torch.sidra.set_layout(weight.t(), encoding="offset")
    with pytest.raises(RuntimeError, match='code -128, which the encoding "differential" cannot represent; "offset" can'):
        torch.sidra.set_layout(weight.t(), encoding="differential")
    assert torch.sidra.get_layout(weight).encoding == "offset" and products() == [-16 * 128]


def test_weights_of_the_package():
    device = sidra.Device(private=True)
    values = numpy.arange(-10, 10, dtype=numpy.int8).repeat(70).reshape(1400, 1)
    total = device.info["crossbars_total"]
    weights = device.weights(values, encoding="offset", crossbars=range(total - 6, total))
    layout = device.layout(weights)
    assert layout == sidra.Layout((1400, 1), "offset", (256, 256), tuple((total - 6 + row,) for row in range(6)))
    assert layout.grid == weights.grid == (6, 1) and layout.padding == (6 * 256 - 1400, 255) and layout.part(5, 0) == (slice(1280, 1400), slice(0, 1))
    assert (device.stream().read(weights) == values).all()
    for arguments, error, text in [
        ({"crossbars": [1]}, ValueError, "`crossbars` needs the encoding"),
        ({"crossbars": [], "encoding": "offset"}, ValueError, "empty"),
        ({"crossbars": [-1] * 6, "encoding": "offset"}, ValueError, "numbered from 0 on"),
        ({"crossbars": [1], "encoding": "offset"}, sidra.Error, "SIDRA_ERROR_INVALID_ARGUMENT.*6 tiles|tiles"),
        ({"crossbars": range(total - 7, total - 1), "encoding": "offset"}, sidra.Error, "SIDRA_ERROR_BUSY"),
    ]:
        with pytest.raises(error, match=text):
            device.weights(values, **arguments)


def test_the_example_of_the_page(capsys):
    page = (pathlib.Path(__file__).parents[2] / "docs/pytorch.md").read_text()
    code = page.partition("### Layout")[2].partition("```python\n")[2].partition("```")[0]
    names = {"torch": torch}
    exec(code, names)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "(300, 200) (2, 2) (212, 56)" and said[1] == "6002 (slice(256, 300, None), slice(0, 128, None))"
    assert torch.sidra.get_layout(names["layer"])[""].encoding == "offset"
    torch.sidra.release(names["layer"])
