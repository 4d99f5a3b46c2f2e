# SPDX-License-Identifier: MIT
"""Weights on crossbars: which are there, and when they are put there."""
from __future__ import annotations

import contextlib
import dataclasses
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Optional, Union, overload

import torch
from sidra import Layout

from . import _C
from ._index import Device as _Device
from ._index import index_of as _index


@dataclasses.dataclass
class Programmed:
    """What torch.sidra.program() did: the names of the layers on crossbars, and of those that stay digital with the reason. The crossbars are those of the
    former; seconds and joules are what a chip needs to program them, also if that was done before."""

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
        if why := torch.ops.sidra.program(matrix.detach()):
            done.digital[name] = why
        else:
            done.resident.append(name)
        if progress is not None:
            progress(number + 1, len(matrices))
    for index in {matrix.device.index for _, matrix in matrices}:
        _C.synchronize(index)
    for name, matrix in matrices:
        if name in done.digital:
            continue
        seconds, joules = torch.ops.sidra.programming_cost(matrix.detach())
        done.crossbars += len(torch.ops.sidra.layout(matrix.detach())[3])
        done.seconds += seconds
        done.joules += joules
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
                if why := torch.ops.sidra.program(matrix.detach()):
                    raise RuntimeError(f"torch.sidra.programmed_by: the weight of {name!r} of {list(matrix.shape)} cannot be put on crossbars: {why}")

    handle = optimizer.register_step_post_hook(after_step)
    try:
        yield report
    finally:
        handle.remove()


def release(module: Union[torch.nn.Module, torch.Tensor]) -> None:
    """Takes the weights of a module, or one matrix [inputs, outputs], off the crossbars."""
    for matrix in [module] if isinstance(module, torch.Tensor) else [matrix for _, matrix in _matrices(module)]:
        torch.ops.sidra.release(matrix.detach())


@overload
def get_layout(of: torch.Tensor) -> Optional[Layout]: ...


@overload
def get_layout(of: torch.nn.Module) -> dict[str, Optional[Layout]]: ...


def get_layout(of: Union[torch.nn.Module, torch.Tensor]) -> Union[Optional[Layout], dict[str, Optional[Layout]]]:
    """How a matrix [inputs, outputs] or the kernel of a convolution lies on crossbars: its tiles, the crossbar of each, the encoding. None: it is not there
    with its present content, and only lies in memory by its strides, as all other tensors do. The weight of a linear layer is found as it is. A module gives the
    layouts of all its matrices by name; "" is the module itself."""
    if isinstance(of, torch.Tensor):
        return _layout_of(_placed(of, "get_layout"))
    return {name: _layout_of(matrix.detach()) for name, matrix in _matrices_on_device(of, "get_layout")}


@overload
def set_layout(of: torch.Tensor, *, encoding: Optional[str] = None, crossbars: Optional[Sequence[Any]] = None, pin: bool = True) -> Layout: ...


@overload
def set_layout(of: torch.nn.Module, *, encoding: Optional[str] = None, crossbars: Optional[Sequence[Any]] = None, pin: bool = True) -> dict[str, Layout]: ...


def set_layout(of: Union[torch.nn.Module, torch.Tensor], *, encoding: Optional[str] = None, crossbars: Optional[Sequence[Any]] = None,
               pin: bool = True) -> Union[Layout, dict[str, Layout]]:
    """Puts a matrix [inputs, outputs], the kernel of a convolution, or all matrices of a module on crossbars now, and returns the layout as get_layout() does.
    What lies so already is not programmed again.

    encoding: "differential" takes two cells for each weight, which makes errors of cells a third smaller; "offset" takes one, and half as many crossbars. It
    also holds when the matrix is programmed again after a write. None: as it was, or else differential if there is room.
    crossbars: the number of the crossbar of each tile, row by row (Layout.crossbars), for one matrix. They must be free; if one is not, the matrix stays as it
    was. None: the driver chooses.
    pin: it stays until it is written to or released; otherwise others may take its room, if it was not used for the longest time."""
    if encoding not in (None, "differential", "offset"):
        raise ValueError(f'set_layout: encoding "{encoding}" is none of "differential", "offset"')
    numbers = _numbers(crossbars)
    if isinstance(of, torch.Tensor):
        return _set_layout(_placed(of, "set_layout"), encoding, numbers, pin, "")
    matrices = _matrices_on_device(of, "set_layout")
    if numbers and len(matrices) > 1:
        raise ValueError(f"set_layout: `crossbars` are of one matrix, but this {type(of).__name__} has {len(matrices)}: {', '.join(name for name, _ in matrices)}. "
                         "Call it for each of these layers.")
    return {name: _set_layout(matrix.detach(), encoding, numbers, pin, f' of "{name}"' if name else "") for name, matrix in matrices}


def _numbers(crossbars: Optional[Sequence[Any]]) -> list[int]:
    """A list, or a list of the rows of tiles."""
    rows = [] if crossbars is None else list(crossbars)
    numbers = [operator.index(number) for row in rows for number in (row if isinstance(row, Sequence) else [row])]
    if crossbars is not None and not numbers:
        raise ValueError("set_layout: `crossbars` is empty; None lets the driver choose")
    for number in numbers:
        if not 0 <= number < 2**32:
            raise ValueError(f"set_layout: there is no crossbar {number}; they are numbered from 0 on")
    return numbers


def _placed(tensor: torch.Tensor, call: str) -> torch.Tensor:
    """The matrix that a tensor stands for: itself, or transposed if that is what is on crossbars."""
    if tensor.device.type != "sidra":
        raise ValueError(f"{call}: the tensor is on {tensor.device}; only those of a sidra device have a layout on crossbars: tensor.to(\"sidra\")")
    if tensor.dim() not in (2, 4) or tensor.numel() == 0:
        raise ValueError(f"{call}: a tensor of {list(tensor.shape)} is neither a matrix [inputs, outputs] nor the kernel of a convolution "
                         "[outputs, channels, height, width]")
    tensor = tensor.detach()
    return tensor.t() if tensor.dim() == 2 and _layout_of(tensor) is None and _layout_of(tensor.t()) is not None else tensor


def _matrices_on_device(module: torch.nn.Module, call: str) -> list[tuple[str, torch.Tensor]]:
    matrices = list(_matrices(module))
    if not matrices:
        raise ValueError(f"{call}: this {type(module).__name__} has no linear layer and no plain convolution on a sidra device; module.to(\"sidra\") moves it there")
    return matrices


def _layout_of(matrix: torch.Tensor) -> Optional[Layout]:
    encoding, shape, grid, crossbars = torch.ops.sidra.layout(matrix)
    if not encoding:
        return None
    columns = grid[1]
    chip = _C.properties(matrix.device.index)
    tile = chip["rows"], chip["columns"] // (2 if encoding == "differential" else 1)
    rows = tuple(tuple(crossbars[at:at + columns]) for at in range(0, len(crossbars), columns))
    return Layout(tuple(shape), encoding, tile, rows)


def _set_layout(matrix: torch.Tensor, encoding: Optional[str], crossbars: list[int], pin: bool, whose: str) -> Layout:
    try:
        torch.ops.sidra.set_layout(matrix, encoding or "", crossbars, pin)
    except RuntimeError as error:
        raise RuntimeError(f"set_layout: the matrix of {list(matrix.shape)}{whose} cannot lie so: {error}") from None
    layout = _layout_of(matrix)
    assert layout is not None
    return layout


def residency(device: _Device = None) -> list[dict[str, Any]]:
    """The matrices that are or were on crossbars: shape, crossbars, uses, how often they were programmed, `pulses` that their cells got on these
    crossbars (level accurate), pinned, and `volatile` for those that change so often that they are not put there again by themselves."""
    return _C.residency(_index(device))


def wear(device: _Device = None) -> int:
    """The most programmings that a crossbar with resident weights has had over its life."""
    return max((row["wear"] for row in residency(device)), default=0)


def mark_written(tensor: torch.Tensor) -> None:
    """Says that the tensor's memory was written to by other means than PyTorch's operators, so that crossbars are programmed again."""
    torch.ops.sidra.mark_written(tensor)
