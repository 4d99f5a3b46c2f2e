# SPDX-License-Identifier: MIT
"""What sidra.compile() does with calib_data and test_data."""
from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from ._arrays import in_order, to_array
from ._chip import Chip
from ._chips import Chips
from ._compiled import Compiled, Variant
from ._device import Device


def is_pair(batch: Any) -> bool:
    return isinstance(batch, (tuple, list)) and len(batch) == 2


def inputs_of(batch: Any) -> Any:
    return batch[0] if is_pair(batch) else batch


class Run(NamedTuple):
    """Arrays for one run of the model. `rows` of them are samples, and the others repeat the last one. labels: those of the samples."""

    arrays: list[Any]
    rows: int
    labels: Optional[Any]


def _arrays(inputs: Any, variant: Variant) -> list[Any]:
    """The inputs in the model's order, as arrays of its types."""
    if isinstance(inputs, Mapping):
        values = in_order((), inputs, variant)
    else:
        values = in_order(inputs if isinstance(inputs, tuple) else (inputs,), {}, variant)
    return [to_array(value, tensor) for value, tensor in zip(values, variant.inputs, strict=True)]


def runs_of(what: str, batches: Sequence[Any], variant: Variant) -> Iterator[Run]:
    """The batches, cut and padded to the model's. what: the argument that they come from, for errors."""
    import numpy

    for batch in batches:
        arrays, labels = _arrays(inputs_of(batch), variant), numpy.atleast_1d(numpy.asarray(batch[1])) if is_pair(batch) else None
        rows = (arrays[0].shape or (1,))[0]
        whole = all(array.shape == tensor.shape for array, tensor in zip(arrays, variant.inputs, strict=True))
        for array, tensor in zip(arrays, variant.inputs, strict=True):
            if labels is not None and array.shape[:1] != labels.shape[:1]:
                raise ValueError(f"{what}: the input {tensor.name!r} has the shape {array.shape}, and its labels {labels.shape}; both need a row for "
                                 "each sample")
            if not whole and (array.shape[1:] != tensor.shape[1:] or array.shape[:1] != (rows,) or rows == 0):
                raise ValueError(f"{what}: the input {tensor.name!r} has the shape {array.shape}, but the model takes {tensor.shape}; only the number "
                                 "of rows may differ, and must be that of the other inputs")
        if whole:
            yield Run(arrays, rows, labels)
            continue
        count = variant.inputs[0].shape[0]
        for first in range(0, rows, count):
            index = numpy.minimum(numpy.arange(first, first + count), rows - 1)
            yield Run([array[index] for array in arrays], min(count, rows - first), None if labels is None else labels[first:first + count])


Samples = list[tuple[str, str, Any]]  # for each input its name, its type, and the bytes of its values in all runs


def samples_of(runs: Sequence[Run], variant: Variant) -> Samples:
    import numpy

    return [(tensor.name, tensor.dtype, numpy.concatenate([run.arrays[i].reshape(-1).view(numpy.uint8) for run in runs]))
            for i, tensor in enumerate(variant.inputs)]


def tests_of(runs: Sequence[Run], variant: Variant) -> tuple[Samples, Any]:
    """Samples with labels, and these: of runs without padding."""
    import numpy

    whole = [run for run in runs if run.labels is not None and run.rows == run.arrays[0].shape[0]]
    if not whole:
        raise ValueError("target_accuracy needs test_data (or calib_data) with labels, and of as many samples as the model takes in one run")
    return samples_of(whole, variant), numpy.concatenate([numpy.asarray(run.labels) for run in whole], dtype=numpy.int64, casting="same_kind").reshape(-1)


def simulated_accuracy(what: str, compiled: Compiled, batches: Sequence[Any]) -> Optional[float]:
    """The share of labels that the model meets on a chip of its own; None: there are none."""
    labelled = [batch for batch in batches if is_pair(batch)]
    if not labelled:
        return None
    right = total = 0
    # sidra.compile() promises the level of the environment, from which a private chip takes none by itself.
    devices = [Device(level=os.environ.get("SIDRA_LEVEL") or None, private=True) for _ in range(compiled.stages)]
    with Chip(devices[0]) if compiled.stages == 1 else Chips(devices) as chip:
        model = chip.deploy(compiled)
        for run in runs_of(what, labelled, compiled.variants[0]):
            result = model.infer(*run.arrays)
            scores = result[0] if isinstance(result, tuple) else result
            got, labels = scores.argmax(-1)[:run.rows], run.labels
            if labels is None or got.shape != labels.shape:
                raise ValueError(f"{what}: labels of the shape {getattr(labels, 'shape', ())} do not fit to an output of the shape {scores.shape}, which "
                                 "has a value for each class in its last dimension")
            right += int((got == labels).sum())
            total += labels.size
    return right / total
