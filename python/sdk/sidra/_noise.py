# SPDX-License-Identifier: MIT
"""Layers of PyTorch that compute as on crossbars: with codes of 8 bits, and with errors as large as a chip's, which are measured on it."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Optional, Union

import numpy
import torch

from ._device import Device

CODES = 255  # the largest code of an input
LARGEST = 127  # the largest code of a weight; the step of a column is its largest weight / 127, as the compiler has it
MEASURED_ROWS, MEASURED_COLUMNS = 1024, 256  # of a matrix at most: larger ones have the same errors
SAMPLES, REPEATS = 128, 8

Layer = Union[torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d]


class Noise(NamedTuple):
    """Errors of one layer on a chip, as standard deviations.

    weights   of a weight as its cells have it, in steps of its column; the same in all products until the cells are programmed again
    products  of a result from one product to the next, as a share of the root mean square of the row of results
    """

    weights: float
    products: float


def layers_of(module: torch.nn.Module) -> dict[str, Layer]:
    """The layers that the compiler puts on crossbars and that can be simulated, by name."""
    return {name: layer for name, layer in module.named_modules() if isinstance(layer, (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d))}


def _product(layer: Layer, x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    return torch.nn.functional.linear(x, weight, bias) if isinstance(layer, torch.nn.Linear) else layer._conv_forward(x, weight, bias)


def _channels(layer: Layer, y: torch.Tensor) -> int:
    """The dimension of the layer's columns in a result."""
    return y.dim() - 1 if isinstance(layer, torch.nn.Linear) else y.dim() - layer.weight.dim() + 1


def _steps(weight: torch.Tensor) -> torch.Tensor:
    """The step of each column, in the shape [columns, 1, ...]."""
    largest = weight.detach().abs().flatten(1).amax(1)
    return torch.where(largest > 0, largest / LARGEST, 1).reshape(-1, *[1] * (weight.dim() - 1))


def _codes(x: torch.Tensor) -> tuple[torch.Tensor, float, int]:
    """Codes of 8 bits for the values between the smallest and the largest one, the step, and the code of 0."""
    low, high = (float(limit) for limit in x.detach().aminmax())
    step = (max(high, 0.0) - min(low, 0.0)) / CODES or 1.0
    zero = round(-min(low, 0.0) / step)
    return (x.detach() / step).round_().add_(zero).clamp_(0, CODES), step, zero


def _rows(layer: Layer, x: torch.Tensor, groups: int) -> torch.Tensor:
    """What the inputs of the first groups' products are: [rows, inputs]. A convolution with a unit matrix gives its windows."""
    if isinstance(layer, torch.nn.Linear):
        return x.reshape(-1, x.shape[-1])[:SAMPLES]
    inputs = layer.weight[0].numel()
    unit = torch.eye(inputs, dtype=x.dtype, device=x.device).reshape(inputs, *layer.weight.shape[1:])
    x = x.unsqueeze(0) if x.dim() < layer.weight.dim() else x
    windows = _product(layer, x[:8], unit.repeat(layer.groups, *[1] * (unit.dim() - 1)), None).movedim(1, -1).flatten(0, -2)
    # Neighbours are alike: take windows from everywhere.
    return windows[:: max(1, len(windows) // SAMPLES), :groups * inputs][:SAMPLES]


def _matrix(layer: Layer, groups: int) -> torch.Tensor:
    """The codes [inputs, columns] of the first groups, each a block on the diagonal, as the compiler has them."""
    columns = layer.weight.shape[0] // getattr(layer, "groups", 1)
    codes = (layer.weight.detach() / _steps(layer.weight)).round().flatten(1)[:groups * columns]
    return torch.block_diag(*[block.t() for block in codes.split(columns)])


def _measure(device: Device, layer: Layer, x: torch.Tensor) -> Noise:
    info, inputs = device.info, layer.weight[0].numel()
    all_groups = getattr(layer, "groups", 1)
    # Groups that fit share a crossbar, whose other cells add errors. It has two cells for each weight.
    groups = max(1, min(all_groups, info["rows"] // inputs, info["columns"] // 2 * all_groups // layer.weight.shape[0]))
    codes, _, zero = _codes(_rows(layer, x, groups))
    rows = codes.numpy()[:, :MEASURED_ROWS].astype(numpy.uint8)
    matrix = _matrix(layer, groups).numpy()[:MEASURED_ROWS, :MEASURED_COLUMNS].astype(numpy.int8)

    weights, stream = device.weights(numpy.ascontiguousarray(matrix)), device.stream()
    source, result = device.buffer((REPEATS * len(rows), rows.shape[1]), "uint8"), device.buffer((REPEATS * len(rows), matrix.shape[1]), "int32")
    source.numpy()[...] = numpy.tile(rows, (REPEATS, 1))
    stream.mvm(weights, source, result)
    stream.synchronize()
    results = result.numpy().reshape(REPEATS, len(rows), -1).astype(numpy.float64)

    exact = rows.astype(numpy.float64) @ matrix
    products = results.var(0, ddof=1).mean()
    # The mean of the repeats still has a part of the errors of products.
    cells = max(0.0, numpy.square(results.mean(0) - exact).mean() - products / REPEATS)
    signal = numpy.square(exact - zero * matrix.sum(0, dtype=numpy.float64)).mean()
    driven = numpy.square(rows.astype(numpy.float64)).sum(1).mean() / groups
    return Noise(float(numpy.sqrt(cells / driven)) if driven else 0.0, float(numpy.sqrt(products / signal)) if signal else 0.0)


def measure(module: torch.nn.Module, inputs: tuple[Any, ...], named: Mapping[str, Any], device: Device) -> dict[str, Noise]:
    """The errors of the layers that a run of the module with these inputs uses, on this device."""
    seen: dict[str, torch.Tensor] = {}
    layers = layers_of(module)

    def note(name: str) -> Any:
        def hook(_: torch.nn.Module, arguments: tuple[Any, ...]) -> None:
            seen.setdefault(name, arguments[0].detach())

        return hook

    hooks = [layer.register_forward_pre_hook(note(name)) for name, layer in layers.items()]
    try:
        with torch.no_grad():
            module(*inputs, **named)
    finally:
        for hook in hooks:
            hook.remove()
    return {name: _measure(device, layers[name], x.float().cpu()) for name, x in seen.items() if x.numel()}


def _forward(layer: Layer, noise: Noise, input: torch.Tensor) -> torch.Tensor:
    """The layer's product as a chip has it; gradients are those of the exact one (straight-through)."""
    weight = layer.weight
    codes, in_step, zero = _codes(input)
    x = input + ((codes - zero) * in_step - input).detach()
    step = _steps(weight)
    error = torch.randn_like(weight) * step * noise.weights
    w = weight + ((weight / step).round() * step + error - weight).detach()
    y = _product(layer, x, w, None)
    channels = _channels(layer, y)
    by_column = [-1] + [1] * (y.dim() - 1 - channels)
    with torch.no_grad():
        # Cells see codes, also for 0. What that adds for exact weights is subtracted.
        rest = torch.randn_like(y) * y.square().mean(channels, keepdim=True).sqrt() * noise.products
        rest += (error.flatten(1).sum(1) * in_step * zero).reshape(by_column)
    y = y + rest
    return y if layer.bias is None else y + layer.bias.reshape(by_column)


@contextlib.contextmanager
def simulated(module: torch.nn.Module, noise: Mapping[str, Noise]) -> Iterator[torch.nn.Module]:
    """Within it, the layers with these names compute as on a chip. Errors are drawn anew in each run, by PyTorch's generator."""
    layers = layers_of(module)
    missing = [name for name in noise if name not in layers]
    if missing:
        raise ValueError(f"noise: {type(module).__name__} has no linear layer or convolution {missing[0]!r}; it has {', '.join(map(repr, layers)) or 'none'}")
    before = {name: layers[name].__dict__.get("forward") for name in noise}
    try:
        for name, of in noise.items():
            layers[name].forward = functools.partial(_forward, layers[name], of)  # type: ignore[method-assign]
        yield module
    finally:
        for name, forward in before.items():
            if forward is None:
                layers[name].__dict__.pop("forward", None)
            else:
                layers[name].forward = forward  # type: ignore[method-assign]
