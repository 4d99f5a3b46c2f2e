# SPDX-License-Identifier: MIT
"""The inputs and outputs of compiled models as arrays of NumPy."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._compiled import Tensor, Variant


def dtype_of(tensor: Tensor) -> Any:
    import numpy

    if tensor.dtype != "bfloat16":
        return numpy.dtype(tensor.dtype)
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError(f"{tensor.name!r} is an array of bfloat16, which NumPy has only with the package ml_dtypes: pip install ml_dtypes") from error
    return numpy.dtype(ml_dtypes.bfloat16)


def to_array(value: Any, want: Tensor) -> Any:
    """A dense array of the input's type. Arrays and tensors must have that type; numbers and lists of Python take it."""
    import numpy

    dtype = dtype_of(want)
    if hasattr(value, "detach"):  # a tensor of PyTorch's, on any device
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":  # which PyTorch does not give to NumPy
            value = value.float().numpy().astype(dtype) if want.dtype == "bfloat16" else value.float().numpy()
    array = numpy.asarray(value)
    if not hasattr(value, "dtype") and array.dtype.kind in ("biuf" if dtype.kind not in "biu" else "biu"):
        array = numpy.asarray(value, dtype)
    if array.dtype != dtype:
        raise TypeError(f"input {want.name!r}: expected {want.dtype}, got {array.dtype}; convert it, for example with astype()")
    return array if array.flags.c_contiguous else numpy.ascontiguousarray(array)


def in_order(inputs: Sequence[Any], named: Mapping[str, Any], variant: Variant) -> list[Any]:
    """The values of a call by the model's order of inputs."""
    names = [tensor.name for tensor in variant.inputs]
    if len(inputs) > len(names):
        raise TypeError(f"the model has {len(names)} input(s) ({', '.join(names)}), but {len(inputs)} are given")
    values = dict(zip(names, inputs, strict=False))
    for name, value in named.items():
        if name not in names:
            raise TypeError(f"the model has no input {name!r}; its inputs are {', '.join(names)}")
        if name in values:
            raise TypeError(f"the input {name!r} is given twice, by position and by name")
        values[name] = value
    missing = [name for name in names if name not in values]
    if missing:
        raise TypeError(f"the input {missing[0]!r} is missing; the model's inputs are {', '.join(names)}")
    return [values[name] for name in names]


def choose_variant(arrays: Sequence[Any], variants: Sequence[Variant]) -> int:
    """The number of the variant for these shapes."""
    for number, variant in enumerate(variants):
        if all(array.shape == tensor.shape for array, tensor in zip(arrays, variant.inputs, strict=True)):
            return number
    if len(variants) == 1:
        wrong = next((a, t) for a, t in zip(arrays, variants[0].inputs, strict=True) if a.shape != t.shape)
        raise ValueError(f"input {wrong[1].name!r}: expected the shape {wrong[1].shape}, got {wrong[0].shape}; "
                         "compile the model for another shape (example_inputs, dimensions)")
    takes = "; ".join(", ".join(str(tensor.shape) for tensor in variant.inputs) for variant in variants)
    raise ValueError(f"the model takes none of the shapes {', '.join(str(a.shape) for a in arrays)}; it takes {takes}")
