# SPDX-License-Identifier: MIT
"""Training with the errors of analog hardware: a network that has seen them loses less by them.

    import sidra

    trained = sidra.training.fine_tune(network, batches)      # pairs of inputs and labels
    compiled = sidra.compile(trained, calib_data=batches)

sidra.compile() does this by itself with `target_accuracy` and `train_data`, if nothing else reaches the target.
"""
from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Optional

import torch

from ._calibration import inputs_of, is_pair
from ._device import Device
from ._export import arguments_of
from ._noise import Noise, simulated
from ._noise import measure as _measure

__all__ = ["Noise", "fine_tune", "measure", "simulated"]

Loss = Callable[[Any, torch.Tensor], torch.Tensor]


def measure(module: torch.nn.Module, inputs: Any, device: Optional[Device] = None) -> dict[str, Noise]:
    """The errors that the module's linear layers and convolutions have on a chip, by the layers' names, for simulated() and fine_tune().

    Each layer's weights are programmed, at most 1,024 x 256 of them, and multiplied several times by what the layer gets when the module runs with
    `inputs` (a tensor, or a tuple or mapping of arguments). What the results have in common beside the exact ones is due to the cells, and their
    scatter to the products.

    device: on which; None: a model of the chip at level accurate of its own. A device at level fast has no errors."""
    arguments, named = arguments_of(inputs)
    return _measure(module, arguments, named, device or Device(level="accurate", private=True))


def fine_tune(module: torch.nn.Module, data: Iterable[Any], *, epochs: int = 10, noise: Optional[Mapping[str, Noise]] = None,
              optimizer: Optional[Callable[[list[torch.nn.Parameter]], torch.optim.Optimizer]] = None, loss: Optional[Loss] = None, seed: int = 0,
              progress: Optional[Callable[[int, int, float], Any]] = None, in_place: bool = False) -> torch.nn.Module:
    """Trains a network with the errors of a chip in the forward pass, and returns it. Gradients are those without them.

    module: on the CPU or a GPU its linear layers and convolutions compute with codes of 8 bits, and with errors of the size of `noise`, other ones in
    each run. On the device "sidra" the chip itself computes, with what it has of errors at its level, and the layers that train are programmed again
    after each step (docs/pytorch.md, Training). The module trains in the mode in which it is: in eval mode without dropout and with fixed statistics of
    batch normalisations. Parameters that require no gradient stay.
    data: batches of inputs and labels, as a DataLoader yields them; it is read once for each epoch.
    noise: what measure() returns; None: it is called with the first batch.
    optimizer: makes one for a list of parameters; None: Adam, whose rate falls from 0.001 to 0.
    loss: of outputs and labels; None: cross entropy of scores and numbers of classes.
    seed: of the errors, and of all that draws by PyTorch's generator meanwhile; that of the caller stays as it is.
    progress: is called after each epoch with the number of epochs done, that of all, and the mean loss.
    in_place: trains the module itself; otherwise a copy.

    Raises ValueError for data without labels, and where the loss is not finite."""
    batches = list(data) if isinstance(data, Iterator) else data
    first = next(iter(batches), None)
    if first is None or not is_pair(first):
        raise ValueError("fine_tune() needs data: at least one batch, each a pair of inputs and labels")
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, not {epochs}")
    trained = module if in_place else copy.deepcopy(module)
    parameters = [parameter for parameter in trained.parameters() if parameter.requires_grad]
    if not parameters:
        raise ValueError(f"{type(module).__name__} has no parameters that require a gradient")
    device = parameters[0].device
    loss = loss or torch.nn.functional.cross_entropy
    steps = optimizer(parameters) if optimizer else torch.optim.Adam(parameters, 1e-3)
    rate = None if optimizer else torch.optim.lr_scheduler.LinearLR(steps, 1, 0, epochs)
    with torch.random.fork_rng(devices=[]), contextlib.ExitStack() as errors:
        torch.manual_seed(seed)
        if device.type == "sidra":
            errors.enter_context(torch.sidra.programmed_by(steps, trained))  # type: ignore[attr-defined]  # of the package sidra_pytorch
        else:
            errors.enter_context(simulated(trained, measure(trained, _to(device, first)) if noise is None else noise))
        for epoch in range(epochs):
            losses = [_step(trained, batch, loss, steps, device) for batch in batches]
            if rate:
                rate.step()
            if progress:
                progress(epoch + 1, epochs, sum(losses) / len(losses))
    return trained


def _to(device: torch.device, batch: Any) -> Any:
    arguments, named = arguments_of(inputs_of(batch))
    return {name: value.to(device) for name, value in named.items()} if named else tuple(value.to(device) for value in arguments)


def _step(module: torch.nn.Module, batch: Any, loss: Loss, optimizer: torch.optim.Optimizer, device: torch.device) -> float:
    arguments, named = arguments_of(_to(device, batch))
    optimizer.zero_grad()
    value = loss(module(*arguments, **named), torch.as_tensor(batch[1]).to(device))
    if not torch.isfinite(value):
        raise ValueError(f"fine_tune(): the loss is {value.item()}; try a smaller rate of learning")
    value.backward()
    optimizer.step()
    return value.item()
