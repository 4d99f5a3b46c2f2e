# SPDX-License-Identifier: MIT
"""sidra.compile(): from a network to a compiled model."""
from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any, Optional

from . import _core
from ._accuracy import inputs_of, simulated_accuracy
from ._compiled import Compiled
from ._export import onnx_file

DEVICES = ("y1",)
LEVELS = (0, 1, 2)


def compiler_library() -> str:
    """The compiler's library: what SIDRA_COMPILER_LIBRARY names, or else what the loader finds."""
    return os.environ.get("SIDRA_COMPILER_LIBRARY") or f"libsidra-compiler.so.{_core.library_version() >> 16}"


def compile(model: Any, calib_data: Optional[Iterable[Any]] = None, target_device: str = "y1", optimization_level: int = 2, *,
            example_inputs: Any = None, dimensions: Optional[Mapping[str, int]] = None) -> Compiled:
    """Compiles a network for the chip (docs/compiler.md). Weights become codes of 8 bits.

    model: the path of an ONNX file; an onnx.ModelProto; a torch.nn.Module in eval mode, which PyTorch exports (this needs the package onnxscript); or
    a torch.export.ExportedProgram.

    calib_data: batches, read once. Each one is what the model takes: an array, or a mapping of names to arrays; or a pair of that and labels, the
    numbers of classes, as a DataLoader yields it (several inputs may be a tuple in a pair). With labels, the compiled model runs on a chip of its own,
    and `simulated_accuracy` is the share of labels at which the first output has the largest value of its last dimension. Batches may have any number
    of samples: they are cut and padded to that of the model. Level and noise are those of the environment (SIDRA_LEVEL).

    optimization_level: 0: a call for each operation, to find errors; 1: fewer calls, copies and matrices, with the network's arithmetic; 2: also other
    arithmetic that gives the same but for rounding.

    example_inputs: what a torch.nn.Module takes: a tensor, a tuple, or a dict of arguments; None: the first batch of calib_data. They fix the shapes.
    dimensions: sizes of the dimensions that have none in the network, by their names or places: {"batch": 8}, {"x[0]": 8} for the first one of the
    input x. An ExportedProgram has no names for them.

    Raises CompileError for what the compiler refuses, with the name of the node, and ImportError where a library is missing."""
    if target_device not in DEVICES:
        raise ValueError(f"target_device {target_device!r} is none of {', '.join(map(repr, DEVICES))}")
    if optimization_level not in LEVELS:
        raise ValueError(f"optimization_level {optimization_level!r} is none of {', '.join(map(str, LEVELS))}")
    sizes = dict(dimensions or {})
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"dimension {name!r}: the size must be an integer of at least 1, not {size!r}")
    batches = None if calib_data is None else list(calib_data)

    folder = tempfile.TemporaryDirectory(prefix="sidra-")
    if example_inputs is None and batches:
        example_inputs = inputs_of(batches[0])
    path = onnx_file(model, example_inputs, folder.name)
    output = os.path.join(folder.name, "model.sidra")
    try:
        # Calibration would take the inputs of `batches` from here.
        _core.compile(compiler_library(), path, output, sizes, optimization_level)
    except ImportError as error:
        raise ImportError(f"sidra.compile() needs the library of SIDRA's compiler: {error}. `make compiler` builds it and `make install` installs it; "
                          "SIDRA_COMPILER_LIBRARY may name its file") from error
    compiled = Compiled(output, folder=folder)
    if batches is not None:
        compiled.simulated_accuracy = simulated_accuracy(compiled, batches)
    return compiled
