# SPDX-License-Identifier: MIT
"""Devices, buffers, streams, weights on crossbars and graphs: libsidra's objects."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Optional

from . import _core
from ._core import Graph, Weights
from ._layout import Layout


class Buffer:
    """Memory that host and chip share. numpy() is a view of it; synchronise the streams that use it before you read or write."""

    def __init__(self, core: _core.Buffer):
        self._core = core

    @property
    def shape(self) -> tuple[int, ...]:
        return self._core.shape

    @property
    def dtype(self) -> str:
        return self._core.dtype

    @property
    def nbytes(self) -> int:
        return self._core.nbytes

    def numpy(self) -> Any:
        """The memory as a NumPy array, without a copy; it keeps the buffer alive."""
        import numpy

        return numpy.from_dlpack(self)

    def __dlpack__(self, **options: Any) -> Any:
        return self._core._view().__dlpack__(**options)  # type: ignore[attr-defined]  # of this package only

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU: the pages are the host's, too

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        view = self.numpy()
        array = view if dtype is None else view.astype(dtype, copy=False)
        if copy is False and array is not view:
            raise ValueError(f"the buffer has elements of {view.dtype}; as {array.dtype} they need a copy")
        return view.copy() if copy and array is view else array

    def __repr__(self) -> str:
        return f"sidra.Buffer(shape={self.shape}, dtype={self.dtype})"


class Stream:
    """A queue: its operations run in order, and a call only queues one. cost: seconds and joules that a real chip would have spent."""

    def __init__(self, core: _core.Stream):
        self._core = core

    def synchronize(self) -> None:
        """Waits until everything queued is done."""
        self._core.synchronize()

    def done(self) -> bool:
        return self._core.done()

    def program(self, weights: Weights) -> None:
        """Writes the weights into the cells."""
        self._core.program(weights)

    def mvm(self, weights: Weights, input: Buffer, output: Buffer, *, in_scale: float = 0.0, in_zero: int = 0, out_scale: float = 0.0,
            out_zero: int = 0) -> None:
        """output = input x weights, for each row of the input. struct sidra_mvm of sidra.h says what the scales mean."""
        self._core.mvm(weights, input._core, output._core, in_scale, in_zero, out_scale, out_zero)

    def copy(self, to: Buffer, source: Buffer) -> None:
        self._core.copy(to._core, source._core)

    def read(self, weights: Weights) -> Any:
        """The values in the cells as int8 [inputs, outputs]; waits."""
        return self._core.read(weights)

    @contextlib.contextmanager
    def capture(self) -> Iterator[Recording]:
        """Records what is queued in the block; `.graph` of the result is then what launch() runs as one packet."""
        recording = Recording()
        self._core.begin()
        try:
            yield recording
        except BaseException:
            self._core.drop()
            raise
        recording.graph = self._core.end()

    def launch(self, graph: Graph) -> None:
        self._core.launch(graph)

    @property
    def cost(self) -> tuple[float, float]:
        return self._core.cost


class Recording:
    """What Stream.capture() yields."""

    graph: Optional[Graph] = None


class Device:
    """A card, or a chip model in this process. The options are those of a model; a card ignores them. None: what the environment says
    (SIDRA_LEVEL, SIDRA_PROFILE, SIDRA_STATE).

    level: "fast" computes exactly; "accurate" with the noise of cells, wires and converters (docs/physics.md), from `seed` and with `stuck_ppm`
    stuck cells in a million (0: the default). state_file keeps the cells. private: a model of its own, also where there is a card, whose index is 0
    and which is what the options say: of None the environment changes nothing. Otherwise all opens of one index in this process share one,
    PyTorch's sidra:INDEX included, and must agree on the options."""

    def __init__(self, index: int = 0, *, level: Optional[str] = None, profile: Optional[str] = None, state_file: Optional[str] = None,
                 seed: int = 0, stuck_ppm: int = 0, private: bool = False):
        self._core = _core.Device.open(index, level, profile, state_file, seed, stuck_ppm, private)
        self.index = index

    @property
    def info(self) -> dict[str, Any]:
        return self._core.info

    def buffer(self, shape: Sequence[int] | int, dtype: str = "float32", *, on_chip: bool = False) -> Buffer:
        """Zeroed memory. dtype: uint8, int8, int16, int32, int64, bool, float16 or float32. on_chip: in the chip's L3."""
        return Buffer(_core.buffer(self._core, [shape] if isinstance(shape, int) else list(shape), str(dtype), on_chip))

    def stream(self) -> Stream:
        return Stream(_core.stream(self._core))

    def weights(self, values: Any, *, encoding: str = "auto", crossbars: Optional[Sequence[int]] = None, program: bool = True) -> Weights:
        """A matrix [inputs, outputs] on crossbars: int8 values as they are, or float32, which is quantised for each column. crossbars: those that the
        tiles take, row by row, which needs an encoding that is not "auto"; None: the driver chooses. program: also writes the cells, and waits;
        otherwise Stream.program() does that."""
        numbers = None if crossbars is None else list(crossbars)
        if numbers and not all(0 <= number < 2**32 for number in numbers):
            raise ValueError(f"weights: crossbars are numbered from 0 on, so {numbers} cannot be")
        weights = _core.weights(self._core, values, encoding, numbers)
        if program:
            stream = self.stream()
            stream.program(weights)
            stream.synchronize()
        return weights

    def layout(self, weights: Weights) -> Layout:
        """How a matrix lies on this device's crossbars."""
        rows, columns = weights.grid
        numbers = weights.crossbar_numbers()
        tile = self.info["rows"], self.info["columns"] // (2 if weights.encoding == "differential" else 1)
        return Layout(weights.shape, weights.encoding, tile, tuple(tuple(numbers[row * columns:(row + 1) * columns]) for row in range(rows)))

    def open_weights(self, name: str) -> Weights:
        """Weights that were published under a name."""
        return _core.open_weights(self._core, name)

    def reset(self) -> None:
        """Resets the device: everyone's work is lost. recover() makes this object usable again."""
        self._core.reset()

    def recover(self) -> None:
        self._core.recover()


def crossbar_mvm(device: Device, weights: Weights, x: Any) -> Any:
    """x [..., inputs] times the weights, as float32 NumPy array [..., outputs]; waits. Each call quantises x to 8 bits over its own range."""
    import numpy

    x = numpy.asarray(x, dtype=numpy.float32)
    inputs, outputs = weights.shape
    if x.ndim == 0 or x.shape[-1] != inputs:
        raise ValueError(f"crossbar_mvm: the matrix has {inputs} inputs, and the array has the shape {x.shape}")
    if x.size == 0:
        return numpy.zeros((*x.shape[:-1], outputs), numpy.float32)
    low, high = min(0.0, float(x.min())), max(0.0, float(x.max()))
    if not numpy.isfinite(low) or not numpy.isfinite(high):
        raise ValueError("crossbar_mvm: the array has values that are not finite")
    scale = max((high - low) / 255, float(numpy.finfo(numpy.float32).tiny))  # so that its inverse is a number, too
    source, result = device.buffer(x.shape), device.buffer((*x.shape[:-1], outputs))
    source.numpy()[...] = x
    stream = device.stream()
    stream.mvm(weights, source, result, in_scale=scale, in_zero=round(-low / scale))
    stream.synchronize()
    return result.numpy()
