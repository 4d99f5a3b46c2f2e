# SPDX-License-Identifier: MIT
"""Compiled models on several devices, which work on successive runs at the same time."""
from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Sequence
from typing import Any, Optional, Union

from . import _core
from ._chip import Deployed, Holder, _bytes
from ._compiled import Compiled
from ._device import Device


class DeployedPipeline(Deployed):
    """A model whose stages are on several chips; Chips.deploy() makes it. Runs begin and end in the order of the calls, of all threads together."""

    def __init__(self, devices: Sequence[Device], compiled: Compiled, progress: Optional[Callable[[int, int], None]] = None):
        super().__init__(_core.Pipeline([device._core for device in devices], compiled.path), progress)
        self._room = threading.Semaphore(self._core.runs_max)
        self._last: Optional[concurrent.futures.Future[Any]] = None
        self._failed = False

    def infer(self, *inputs: Any, **named: Any) -> Any:
        """As DeployedModel.infer(). One run takes as long as on one chip; infer_async() begins the next one before it ends."""
        return self.infer_async(*inputs, **named).result()

    def infer_async(self, *inputs: Any, **named: Any) -> concurrent.futures.Future[Any]:
        """Begins a run; the future has the result. Waits only while as many runs are under way as the chips have memory for. What is wrong with the
        inputs is raised here. If a stage fails, all runs that are under way do, and the next one begins anew."""
        variant, arrays = self._take(inputs, named)
        with self._lock:
            self._check_open()
            if self._failed:
                concurrent.futures.wait([self._last] if self._last is not None else [])
                self._core.reset()
                self._failed = False
            self._room.acquire()
            try:
                self._core.submit(variant, [_bytes(array) for array in arrays])
            except BaseException:
                self._failed = True  # a stage may have, and then the pipeline takes no runs any more
                self._room.release()
                raise
            self._last = self._execute(self._receive, variant)
            return self._last

    def _receive(self, variant: int) -> Any:
        outputs = self._outputs(variant)
        try:
            self._core.receive(variant, [_bytes(output) for output in outputs])
        except BaseException:
            self._failed = True
            raise
        finally:
            self._room.release()
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


class Chips(Holder):
    """Devices that share compiled models: each has a stage of them (sidra.compile() with `chips`).

    devices: their numbers, or objects of sidra.Device, which have the options. One may be there several times, if it has crossbars for its stages."""

    def __init__(self, devices: Sequence[Union[int, Device]]):
        super().__init__()
        self.devices = tuple(device if isinstance(device, Device) else Device(device) for device in devices)
        if not self.devices:
            raise ValueError("Chips() needs one device or more")

    def deploy(self, compiled: Compiled, *, progress: Optional[Callable[[int, int], None]] = None) -> DeployedPipeline:
        """Puts the matrices of each stage on the crossbars of its device; waits. progress: as of Chip.deploy()."""
        if not isinstance(compiled, Compiled):
            raise TypeError(f"deploy() takes what sidra.compile() and sidra.load() return, not {type(compiled).__name__}")
        if compiled.stages > len(self.devices):
            raise ValueError(f"the model was compiled for {compiled.stages} chips, but there are {len(self.devices)}")
        return self._add(DeployedPipeline(self.devices[:compiled.stages], compiled, progress))
