# SPDX-License-Identifier: MIT
"""Sizes that Dynamo leaves open. A graph whose results have, in their first rows, what they would have with fewer rows can run with more rows than were
asked for: its inputs are padded to one of few sizes, and its results cut. This finds the nodes for which that is so, and pads."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Optional

import sympy  # type: ignore[import-untyped]
import torch
from torch import fx
from torch.utils._pytree import tree_leaves

from .debug import name_of_target
from .effects import tensors_of, value_of
from .network import is_number, is_weight, results_of

Size = Optional[str]  # the name of an open size; None: the size is known

POINTWISE = {"add", "sub", "mul", "truediv", "div", "neg", "abs", "exp", "log", "sqrt", "rsqrt", "pow", "square", "reciprocal", "relu", "relu6", "gelu", "silu",
             "sigmoid", "tanh", "erf", "hardswish", "hardsigmoid", "leaky_relu", "elu", "softplus", "mish", "clamp", "where", "masked_fill", "maximum", "minimum",
             "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "and_", "or_", "invert", "float", "half", "bfloat16", "bool", "int",
             "to", "type_as", "contiguous", "clone", "detach"}
PRODUCTS = {"linear", "matmul", "bmm", "mm"}
MOVES = {"view", "reshape", "flatten", "unflatten", "unsqueeze", "squeeze", "expand", "expand_as"}  # which keep the order of elements
TURNS = {"transpose", "permute", "t", "swapaxes", "swapdims", "movedim"}
PIECES = {"split", "chunk", "unbind", "getitem", "select", "narrow"}
IMAGES = {"conv1d", "conv2d", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "batch_norm", "group_norm"}  # one after another
NORMS = {"layer_norm", "rms_norm"}
REDUCTIONS = {"softmax", "log_softmax", "mean", "sum", "amax", "amin", "var", "std"}


def size_of(value: Any) -> Size:
    """Raises ValueError if it is an expression of open sizes."""
    if not isinstance(value, torch.SymInt):
        return None
    expression = value.node.expr
    if expression.is_number:
        return None
    if isinstance(expression, sympy.Symbol):
        return str(expression)
    raise ValueError(expression)


def sizes_of(value: Any) -> list[Size]:
    return [size_of(size) for size in value.shape]


def has_open_sizes(graph_module: fx.GraphModule) -> bool:
    values = (value_of(node) for node in graph_module.graph.find_nodes(op="placeholder"))
    return any(isinstance(size, torch.SymInt) for value in values for size in (value.shape if isinstance(value, torch.Tensor) else [value]))


def keeps_rows(node: fx.Node) -> bool:
    """Whether the first rows of what a node makes depend on the first rows of what it takes only, along each open size."""
    try:
        given = [of for of in tree_leaves((node.args, node.kwargs)) if isinstance(of, fx.Node)]  # one may be there twice
        taken = [sizes_of(tensor) for tensor in tensors_of([value_of(of) for of in given])]
        made = [sizes_of(tensor) for tensor in tensors_of(value_of(node))]
        for of in node.all_input_nodes:
            if not isinstance(value_of(of), (torch.Tensor, tuple, list)):
                size_of(value_of(of))
    except ValueError:
        return False
    if not any(size for sizes in (*taken, *made) for size in sizes):
        return True
    name = name_of_target(node).rsplit(".", 1)[-1]
    takes_sizes = any(isinstance(value_of(of), torch.SymInt) for of in node.all_input_nodes)
    return bool(taken) and (not takes_sizes or name in MOVES) and _rule_of(node, name, taken, made)


def _rule_of(node: fx.Node, name: str, taken: list[list[Size]], made: list[list[Size]]) -> bool:
    first = taken[0]
    if name in POINTWISE:
        return True
    if name in PRODUCTS:  # the inner size is the same in each run
        return first[-1] is None and (name == "linear" or (len(taken) > 1 and taken[1][-2 if len(taken[1]) > 1 else 0] is None))
    if name == "dropout":
        return (node.args[2] if len(node.args) > 2 else node.kwargs.get("training", True)) is False
    if name in IMAGES:
        return not any(first[1:]) and not any(size for sizes in taken[1:] for size in sizes) and (name != "batch_norm" or not _trains(node))
    if name == "scaled_dot_product_attention":
        return not any(size for sizes in taken for size in sizes[-2:]) and len(node.args) < 5 and not node.kwargs.get("dropout_p")
    if name == "embedding":
        return len(taken) > 1 and not any(taken[1])
    if name in MOVES:
        return len(made) == 1 and _places(node.all_input_nodes[0]) == _places(node)
    if name in TURNS:
        return True
    if name in PIECES:
        return _whole(node, name, first)
    if name in NORMS:
        shape = node.args[1] if len(node.args) > 1 else node.kwargs.get("normalized_shape", ())
        count = len(shape) if isinstance(shape, (tuple, list)) else 1
        return not any(first[len(first) - count:])
    if name in REDUCTIONS:
        return _reduces_known_sizes(node, first)
    if name in ("cat", "stack", "concat"):
        place = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
        return name == "stack" or (isinstance(place, int) and all(sizes[place] is None for sizes in taken))
    return False


def _trains(node: fx.Node) -> bool:
    return bool(node.args[5] if len(node.args) > 5 else node.kwargs.get("training", False))


def _places(node: fx.Node) -> list[tuple[Size, int]]:
    """Each open size of a tensor, and the number of elements of known sizes before it."""
    count = 1
    places: list[tuple[Size, int]] = []
    value = value_of(node)
    for size, name in zip(value.shape, sizes_of(value), strict=True):
        if name is None:
            count *= int(size)
        else:
            places.append((name, count))
    return places


def _whole(node: fx.Node, name: str, sizes: list[Size]) -> bool:
    """Whether a piece has all rows along open sizes."""
    if isinstance(value_of(node.all_input_nodes[0]), (tuple, list)):
        return True  # one of several tensors
    if name != "getitem":
        place = node.args[2] if name in ("split", "chunk") and len(node.args) > 2 else node.kwargs.get("dim", 0)
        if name in ("select", "narrow", "unbind"):
            place = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
        return isinstance(place, int) and sizes[place] is None
    index: Any = node.args[1] if isinstance(node.args[1], tuple) else (node.args[1],)
    if any(not (one is None or one is Ellipsis or isinstance(one, (int, slice))) for one in index):
        return False
    rest = len(sizes) - sum(one is not None and one is not Ellipsis for one in index)
    place = 0
    for one in index:
        if one is Ellipsis:
            place += rest
        elif one is not None:
            if sizes[place] is not None and one != slice(None):
                return False
            place += 1
    return True


def _reduces_known_sizes(node: fx.Node, sizes: list[Size]) -> bool:
    places = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    places = places if isinstance(places, (tuple, list)) else [places]
    return bool(places) and all(type(place) is int and sizes[place] is None for place in places)


def bucket(size: int) -> int:
    """The next of 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ..."""
    if size == 0:
        return 0
    power = 1 << (size - 1).bit_length()
    return power * 3 // 4 if power >= 4 and power * 3 // 4 >= size else power


class Padded:
    """Runs a graph of which all nodes keep rows, with more rows."""

    def __init__(self, graph_module: fx.GraphModule, example_inputs: Sequence[Any], run: Callable[..., Any]):
        self._run = run
        placeholders = graph_module.graph.find_nodes(op="placeholder")
        self._numbers: list[tuple[int, str]] = []
        self._inputs: list[tuple[int, list[Size]]] = []
        for place, (node, example) in enumerate(zip(placeholders, example_inputs, strict=True)):
            value = value_of(node)
            if isinstance(value, torch.SymInt) and (name := size_of(value)) is not None:
                self._numbers.append((place, name))
            elif isinstance(value, torch.Tensor) and not is_weight(example) and not is_number(value) and any(sizes_of(value)):
                self._inputs.append((place, sizes_of(value)))
        self._results = [sizes_of(value_of(node)) for node in results_of(graph_module)]
        self._names = {name for _, sizes in self._inputs for name in sizes if name is not None}

    def __call__(self, *arguments: Any) -> Any:
        sizes: dict[str, int] = {name: arguments[place].shape[i] for place, names in self._inputs for i, name in enumerate(names) if name is not None}
        if all(size == bucket(size) for size in sizes.values() if size):
            return self._run(*arguments)
        given = list(arguments)
        for place, names in self._inputs:
            given[place] = _resized(given[place], [bucket(sizes[name]) if name is not None else None for name in names])
        for place, name in self._numbers:
            if name in sizes:
                given[place] = bucket(sizes[name])
        results = self._run(*given)
        return tuple(_resized(result, [sizes[name] if name is not None else None for name in names])
                     for result, names in zip(results, self._results, strict=True))

    def can_pad(self) -> bool:
        """Whether each open size is that of an input."""
        return {name for _, name in self._numbers} | {name for names in self._results for name in names if name is not None} <= self._names


def _resized(tensor: torch.Tensor, sizes: Sequence[Optional[int]]) -> torch.Tensor:
    """The tensor with these sizes (None: as it is), as its first rows; what is added is 0."""
    shape = [size if size is not None else known for size, known in zip(sizes, tensor.shape, strict=True)]
    if shape == list(tensor.shape):
        return tensor
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda i: -strides[i])
    made = torch.empty_permuted(shape, order, dtype=tensor.dtype, device=tensor.device)
    if any(new > old for new, old in zip(shape, tensor.shape, strict=True)):
        made.zero_()
    common = tuple(slice(0, min(new, old)) for new, old in zip(shape, tensor.shape, strict=True))
    made[common].copy_(tensor[common])
    return made
