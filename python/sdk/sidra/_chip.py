# SPDX-License-Identifier: MIT
"""Compiled models on a device."""
from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

from . import _core
from ._arrays import choose_variant, dtype_of, in_order, to_array
from ._compiled import Compiled, variants_of
from ._device import Device

PROGRESS_SECONDS = 0.05


def _bytes(array: Any) -> Any:
    import numpy

    return array.reshape(-1).view(numpy.uint8)


class Deployed:
    """What models on one chip and on several have in common."""

    def __init__(self, core: Any, progress: Optional[Callable[[int, int], None]]):
        self._core = core
        self.name = self._core.name
        self.variants = variants_of(self._core)
        self._lock = threading.Lock()
        self._runner: Optional[concurrent.futures.ThreadPoolExecutor] = None
        self._closed = False
        try:
            self._core.deploy()
            while not self._core.wait(PROGRESS_SECONDS):
                if progress:
                    progress(*self._core.progress())
            if progress:
                progress(*self._core.progress())
        except BaseException:
            self._core.close()
            raise

    @property
    def cost(self) -> tuple[float, float]:
        """Seconds and joules that a real chip would have spent on it."""
        return self._core.cost

    def close(self) -> None:
        """Ends what infer_async() has queued, and frees the crossbars. Later calls raise sidra.Error."""
        with self._lock:
            self._closed = True
        if self._runner is not None:
            self._runner.shutdown()
        self._core.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"sidra.{type(self).__name__}({self.name!r})"

    def _take(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> tuple[int, list[Any]]:
        # Variants differ in shapes only.
        arrays = [to_array(value, tensor) for value, tensor in zip(in_order(inputs, named, self.variants[0]), self.variants[0].inputs, strict=True)]
        return choose_variant(arrays, self.variants), arrays

    def _outputs(self, variant: int) -> list[Any]:
        import numpy

        return [numpy.empty(tensor.shape, dtype_of(tensor)) for tensor in self.variants[variant].outputs]

    def _execute(self, work: Callable[..., Any], *arguments: Any) -> concurrent.futures.Future[Any]:
        """On the model's own thread, one after another. The lock is held."""
        if self._runner is None:
            self._runner = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="sidra")
        return self._runner.submit(work, *arguments)

    def _check_open(self) -> None:
        if self._closed:
            raise _core.Error("the model was closed")


class DeployedModel(Deployed):
    """A model whose matrices are on a chip's crossbars; Chip.deploy() makes it. Runs of one model take turns, also those of different threads."""

    def __init__(self, device: Device, compiled: Compiled, progress: Optional[Callable[[int, int], None]] = None):
        super().__init__(_core.Model(device._core, compiled.path), progress)

    def infer(self, *inputs: Any, **named: Any) -> Any:
        """Runs the model; waits. Inputs are arrays, tensors of PyTorch's or numbers, in the model's order or by name. Returns an array of NumPy's,
        or a tuple if the model has several outputs."""
        return self._run(*self._take(inputs, named))

    def infer_async(self, *inputs: Any, **named: Any) -> concurrent.futures.Future[Any]:
        """As infer(), without waiting: the future has the result. The inputs are copied. What is wrong with them is raised here."""
        variant, arrays = self._take(inputs, named)
        with self._lock:
            self._check_open()
            return self._execute(self._run, variant, [array.copy() for array in arrays])

    def _run(self, variant: int, arrays: list[Any]) -> Any:
        outputs = self._outputs(variant)
        self._core.run(variant, [_bytes(array) for array in arrays], [_bytes(output) for output in outputs])
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


class Holder:
    """What one chip and several have in common: the models on them."""

    def __init__(self) -> None:
        self._models: list[Any] = []
        self._lock = threading.Lock()

    @property
    def models(self) -> tuple[Any, ...]:
        """The models that are deployed, in the order of their deployment."""
        with self._lock:
            self._models = [model for model in self._models if not model._closed]
            return tuple(self._models)

    def infer(self, *inputs: Any, **named: Any) -> Any:
        """infer() of the one model that is deployed."""
        return self._only().infer(*inputs, **named)

    def infer_async(self, *inputs: Any, **named: Any) -> concurrent.futures.Future[Any]:
        """infer_async() of the one model that is deployed."""
        return self._only().infer_async(*inputs, **named)

    def close(self) -> None:
        """Closes the models. The device stays open as long as something uses it."""
        for model in self.models:
            model.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _add(self, model: Any) -> Any:
        with self._lock:
            self._models.append(model)
        return model

    def _only(self) -> Any:
        models = self.models
        if len(models) != 1:
            what = "no model is" if not models else f"{len(models)} models are"
            raise _core.Error(f"{what} deployed here; " + ("call deploy() first" if not models else "call infer() of what deploy() returned"))
        return models[0]


class Chip(Holder):
    """A device that runs compiled models, as many at once as its crossbars hold.

    device: its number, or a sidra.Device, which has the options."""

    def __init__(self, device: Union[int, Device] = 0):
        super().__init__()
        self.device = device if isinstance(device, Device) else Device(device)

    def deploy(self, compiled: Compiled, *, progress: Optional[Callable[[int, int], None]] = None) -> DeployedModel:
        """Puts the model's matrices on crossbars; waits. progress: is called with the weights that are programmed, and how many there are."""
        if not isinstance(compiled, Compiled):
            raise TypeError(f"deploy() takes what sidra.compile() and sidra.load() return, not {type(compiled).__name__}")
        if compiled.stages != 1:
            raise ValueError(f"the model was compiled for {compiled.stages} chips; sidra.Chips(range({compiled.stages})).deploy() takes it")
        return self._add(DeployedModel(self.device, compiled, progress))
