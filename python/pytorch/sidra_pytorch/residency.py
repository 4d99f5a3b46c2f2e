# SPDX-License-Identifier: MIT
"""Weights on crossbars: which are there, and when they are put there."""
from __future__ import annotations

import contextlib
import dataclasses
import operator
from collections.abc import Callable, Iterator
from typing import Any, Optional, Union

import torch

from . import _C


@dataclasses.dataclass
class Programmed:
    """What torch.sidra.program() did: the names of the layers on crossbars, and of those that stay digital with the reason."""

    resident: list[str]
    digital: dict[str, str]
    crossbars: int
    seconds: float
    joules: float

    def __str__(self) -> str:
        lines = [f"{len(self.resident)} matrices on {self.crossbars} crossbars; a chip programs them in {self.seconds:.3f} s with {self.joules:.3f} J"]
        lines += [f"  digital: {name} ({why})" for name, why in self.digital.items()]
        return "\n".join(lines)


def _matrices_of_layer(layer: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """Weights that this layer itself multiplies by: where they are in it, the weight, and the matrix as _matrices() returns it."""
    weight = getattr(layer, "weight", None)
    graph = getattr(layer, "graph", None)
    if isinstance(graph, torch.fx.Graph):  # of torch.export, torch.distributed.pipelining: layers are calls
        for node in graph.nodes:
            linear = node.target is torch.ops.aten.linear.default
            if not linear and (node.target is not torch.ops.aten.conv2d.default or (node.args[6] if len(node.args) > 6 else 1) != 1):
                continue
            if node.args[1].op == "get_attr":
                weight = operator.attrgetter(node.args[1].target)(layer)
                yield node.args[1].target.rpartition(".")[0], weight, weight.t() if linear else weight
    elif not isinstance(weight, torch.Tensor):
        return
    elif isinstance(layer, torch.nn.Linear):
        yield "", weight, weight.t()
    elif isinstance(layer, torch.nn.Conv2d) and layer.groups == 1:
        yield "", weight, weight
    elif type(layer).__name__ == "Conv1D":  # of Hugging Face's GPT-2: [inputs, outputs]
        yield "", weight, weight


def _matrices(module: torch.nn.Module):
    """Weights that products use, as [inputs, outputs], and kernels of convolutions, each storage once."""
    seen = set()
    for name, layer in module.named_modules():
        for inner, weight, matrix in _matrices_of_layer(layer):
            key = (weight.untyped_storage().data_ptr(), weight.storage_offset())
            if weight.device.type == "sidra" and key not in seen:
                seen.add(key)
                yield ".".join(filter(None, (name, inner))), matrix


def program(module: torch.nn.Module, progress: Optional[Callable[[int, int], Any]] = None) -> Programmed:
    """Puts the weights of all linear layers and plain convolutions on crossbars now, where they stay until they are written to or released. Without this, a weight is put
    there when it is used for the second time.

    progress(done, all) is called after each matrix."""
    matrices = list(_matrices(module))
    done = Programmed([], {}, 0, 0.0, 0.0)
    for number, (name, matrix) in enumerate(matrices):
        try:
            torch.ops.sidra.program(matrix.detach())
            done.resident.append(name)
        except RuntimeError as error:
            done.digital[name] = str(error).rsplit(": ", 1)[-1].splitlines()[0]
        if progress is not None:
            progress(number + 1, len(matrices))
    if matrices:
        device = matrices[0][1].device
        _C.synchronize(device.index)
        rows = [row for row in residency(device) if row["resident"]]
        done.crossbars = sum(row["crossbars"] for row in rows)
        done.seconds = sum(row["program_seconds"] for row in rows)
        done.joules = sum(row["program_joules"] for row in rows)
    return done


@contextlib.contextmanager
def programmed_by(optimizer: torch.optim.Optimizer, module: torch.nn.Module) -> Iterator[Programmed]:
    """Programs the module, and within it each step of the optimizer programs the weights again that the step has changed: forward passes then compute
    with the cells, and with their errors at level accurate. Weights stay on their crossbars, and cells get pulses from where they are. Other weights are
    not touched, so that training the last layer wears out no cells but its own.

    Without it, weights that change with each step are computed by the matrix engine. Gradients always are."""
    report = program(module)

    def after_step(*_: object) -> None:
        changing = {parameter.untyped_storage().data_ptr() for group in optimizer.param_groups for parameter in group["params"]}
        for name, matrix in _matrices(module):
            if name in report.resident and matrix.untyped_storage().data_ptr() in changing:
                torch.ops.sidra.program(matrix.detach())

    handle = optimizer.register_step_post_hook(after_step)
    try:
        yield report
    finally:
        handle.remove()


def release(module: Union[torch.nn.Module, torch.Tensor]) -> None:
    """Takes the weights of a module, or one matrix [inputs, outputs], off the crossbars."""
    for matrix in [module] if isinstance(module, torch.Tensor) else [matrix for _, matrix in _matrices(module)]:
        torch.ops.sidra.release(matrix.detach())


def residency(device: Union[int, str, torch.device, None] = None) -> list[dict[str, Any]]:
    """The matrices that are or were on crossbars: shape, crossbars, uses, how often they were programmed, `pulses` that their cells got on these
    crossbars (level accurate), pinned, and `volatile` for those that change so often that they are not put there again by themselves."""
    return _C.residency(_index(device))


def wear(device: Union[int, str, torch.device, None] = None) -> int:
    """The most programmings that a crossbar with resident weights has had over its life."""
    return max((row["wear"] for row in residency(device)), default=0)


def mark_written(tensor: torch.Tensor) -> None:
    """Says that the tensor's memory was written to by other means than PyTorch's operators, so that crossbars are programmed again."""
    torch.ops.sidra.mark_written(tensor)


def _index(device: Union[int, str, torch.device, None]) -> int:
    if isinstance(device, int):
        return device
    index = None if device is None else torch.device(device).index
    return _C.current_device() if index is None else index
