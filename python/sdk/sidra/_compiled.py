# SPDX-License-Identifier: MIT
"""Compiled models in files (docs/sidra-format.md)."""
from __future__ import annotations

import os
import shutil
import weakref
from typing import Any, NamedTuple, Optional, Union

from . import _core
from ._device import Device

Path = Union[str, "os.PathLike[str]"]


class Tensor(NamedTuple):
    """An input or output: a dense array."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Variant(NamedTuple):
    """A model for one shape of each input."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    calls: int
    """Operations of the chip in one run."""


def variants_of(model: Union[_core.Model, _core.Pipeline]) -> tuple[Variant, ...]:
    def tensors(all: list[tuple[str, str, list[int]]]) -> tuple[Tensor, ...]:
        return tuple(Tensor(name, dtype, tuple(shape)) for name, dtype, shape in all)

    return tuple(Variant(tensors(inputs), tensors(outputs), calls) for inputs, outputs, calls in model.variants)


class Compiled:
    """What sidra.compile() and sidra.load() return; Chip.deploy() or Chips.deploy() takes it. The file stays as it is until then.

    name                what was compiled
    variants            inputs and outputs, for each set of shapes that the model takes
    size_bytes          of the file
    crossbar_count      crossbars that its matrices take, with two cells for each weight
    stages              chips that it is for: with 1 Chip.deploy() takes it, with more Chips.deploy()
    simulated_accuracy  the share of the labels that it met on the model of the chip, 0 to 1; None: compile() got no labels. A file has no place
                        for it: load() does not know it.
    trained             the module that compile() has trained to reach the target, and compiled; None: it was not necessary
    """

    def __init__(self, path: Path, *, temporary: bool = False):
        self.path = os.fspath(path)
        self.simulated_accuracy: Optional[float] = None
        self.trained: Any = None
        self.stages = _core.stages(self.path)
        device = Device(private=True)._core
        model = _core.Model(device, self.path) if self.stages == 1 else _core.Pipeline([device] * self.stages, self.path)
        self.name = model.name
        self.variants = variants_of(model)
        self.crossbar_count = model.crossbars
        if temporary:
            weakref.finalize(self, shutil.rmtree, os.path.dirname(self.path), ignore_errors=True)

    @property
    def size_bytes(self) -> int:
        return os.path.getsize(self.path)

    def save(self, path: Path) -> None:
        """Writes the file, which appears complete or not at all."""
        target = os.fspath(path)
        temporary = f"{target}.{os.getpid()}.new"
        try:
            shutil.copyfile(self.path, temporary)
            os.replace(temporary, target)
        except BaseException:
            if os.path.exists(temporary):
                os.remove(temporary)
            raise

    def __repr__(self) -> str:
        return f"sidra.Compiled({self.name!r}, size_bytes={self.size_bytes}, crossbar_count={self.crossbar_count})"


def load(path: Path) -> Compiled:
    """The compiled model in a file of save() or of sidra-compile."""
    return Compiled(path)
