# SPDX-License-Identifier: MIT
"""How often a compiled model is right, on the model of the chip."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

from ._arrays import in_order
from ._chip import Chip
from ._compiled import Compiled, Variant
from ._device import Device


def is_pair(batch: Any) -> bool:
    return isinstance(batch, (tuple, list)) and len(batch) == 2


def inputs_of(batch: Any) -> Any:
    return batch[0] if is_pair(batch) else batch


def _arrays(inputs: Any, variant: Variant) -> list[Any]:
    """The inputs in the model's order, as arrays of NumPy's or tensors."""
    import numpy

    if isinstance(inputs, Mapping):
        values = in_order((), inputs, variant)
    else:
        values = in_order(inputs if isinstance(inputs, tuple) else (inputs,), {}, variant)
    return [value if hasattr(value, "shape") else numpy.asarray(value) for value in values]


def _parts(arrays: Sequence[Any], rows: int, variant: Variant) -> Iterator[tuple[list[Any], int, int]]:
    """The arrays in parts of the model's batch, with the number of their first row and of their rows. The last part repeats its last row."""
    import numpy

    batch = variant.inputs[0].shape[0] if variant.inputs[0].shape else 1
    for first in range(0, rows, batch):
        index = numpy.minimum(numpy.arange(first, first + batch), rows - 1)
        yield [array[index] for array in arrays], first, min(batch, rows - first)


def simulated_accuracy(compiled: Compiled, batches: Sequence[Any]) -> Optional[float]:
    """compile() says what it is."""
    import numpy

    labelled = [batch for batch in batches if is_pair(batch)]
    if not labelled:
        return None
    variant = compiled.variants[0]
    right = total = 0
    with Chip(Device(private=True)) as chip:
        model = chip.deploy(compiled)
        for inputs, labels in labelled:
            want, arrays = numpy.atleast_1d(numpy.asarray(labels)), _arrays(inputs, variant)
            for array, tensor in zip(arrays, variant.inputs, strict=True):
                if array.shape[:1] != want.shape[:1]:
                    raise ValueError(f"calib_data: the input {tensor.name!r} has the shape {tuple(array.shape)}, and its labels {want.shape}; "
                                     "both need a row for each sample")
            for part, first, rows in _parts(arrays, len(want), variant):
                result = model.infer(*part)
                scores = result[0] if isinstance(result, tuple) else result
                got, wanted = scores.argmax(-1)[:rows], want[first:first + rows]
                if got.shape != wanted.shape:
                    raise ValueError(f"calib_data: labels of the shape {want.shape} do not fit to an output of the shape {scores.shape}, "
                                     "which has a value for each class in its last dimension")
                right += int((got == wanted).sum())
            total += want.size
    return right / total
