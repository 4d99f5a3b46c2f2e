# SPDX-License-Identifier: MIT
"""SIDRA accelerators from Python: compiled models, and below them devices, buffers, streams, weights on crossbars, graphs.

    import numpy, sidra

    compiled = sidra.compile("network.onnx")        # or a module of PyTorch, or a ModelProto
    with sidra.Chip(0) as chip:
        chip.deploy(compiled)
        print(chip.infer(numpy.zeros((1, 64), numpy.float32)))

    device = sidra.Device()
    weights = device.weights(numpy.eye(4, dtype=numpy.float32))
    print(sidra.crossbar_mvm(device, weights, numpy.arange(4, dtype=numpy.float32)))

Arrays are NumPy's, or of any library with DLPack. A call that fails raises sidra.Error, whose text says what failed, why and what to do; where memory
is missing it is MemoryError. All objects may be used from any thread. Sizes are elements unless a name says bytes. PyTorch: docs/pytorch.md.
"""
from typing import Any

from ._chip import Chip, DeployedModel
from ._chips import Chips, DeployedPipeline
from ._compile import compile
from ._compiled import Compiled, Tensor, Variant, load
from ._core import CompileError, Error, Graph, TargetMissed, Weights, device_count
from ._device import Buffer, Device, Stream, crossbar_mvm
from ._layout import Layout

__all__ = ["Buffer", "Chip", "Chips", "CompileError", "Compiled", "DeployedModel", "DeployedPipeline", "Device", "Error", "Graph", "Layout", "Stream",
           "TargetMissed", "Tensor", "Variant", "Weights", "compile", "crossbar_mvm", "device_count", "load", "register_pytorch_backend", "training"]
__version__ = "2.0.0"


def register_pytorch_backend() -> None:
    """Makes PyTorch know the device "sidra". `import torch` does it by itself where the package sidra_pytorch is installed."""
    import sidra_pytorch  # noqa: F401


def __getattr__(name: str) -> Any:
    if name == "training":  # which needs PyTorch
        import importlib

        return importlib.import_module(".training", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
