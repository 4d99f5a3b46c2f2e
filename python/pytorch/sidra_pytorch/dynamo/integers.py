# SPDX-License-Identifier: MIT
"""Compiled models compute integers of 64 bits with 32, and saturate. This finds whether that can be seen in an exported program: it bounds what each
integer can be, and refuses what may be beyond 32 bits, unless it is only compared with a number or used as an index, which is the same then. What a run
gets as inputs is not known; a program that is right for small ones only can be used if they are looked at before each run."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Optional

import torch
from torch import fx

MIN, MAX = -(2**31), 2**31 - 1
SMALL = 2**24
Bounds = Optional[tuple[int, int]]  # None: any of 64 bits

VIEWS = ("view", "reshape", "_unsafe_view", "expand", "unsqueeze", "squeeze", "select", "slice", "permute", "transpose", "t", "clone", "contiguous", "alias",
         "detach", "flatten", "repeat", "flip", "roll", "gather", "index", "index_select", "movedim", "narrow", "_to_copy", "to", "lift_fresh_copy", "triu",
         "tril", "split", "chunk", "unbind", "getitem", "constant_pad_nd", "pad", "type_as")
# Operators that take places, and which of their arguments that is.
INDEXING = {"embedding": 1, "index": 1, "gather": 2, "index_select": 2, "take_along_dim": 1, "scatter": 2, "index_put": 1, "index_add": 2}
ONE_PLACE, TWO_RESULTS = ("argmax", "argmin", "argsort"), ("topk", "sort", "max", "min", "cummax", "cummin")  # of which the second is a place
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
ARITHMETIC: dict[str, Callable[[int, int], int]] = {"add": operator.add, "sub": operator.sub, "rsub": lambda a, b: b - a, "mul": operator.mul}


class Wide(Exception):
    """A value may be beyond 32 bits; the text says which."""

    def __init__(self, node: fx.Node, text: str):
        super().__init__(text)
        self.node = node


def name_of(node: fx.Node) -> str:
    target: Any = node.target
    return str(getattr(target, "_schema", target).name).split("::")[-1] if hasattr(target, "_schema") else getattr(target, "__name__", str(target))


def dtype_of(value: Any) -> Optional[torch.dtype]:
    meta = value.meta.get("val") if isinstance(value, fx.Node) else None
    return meta.dtype if isinstance(meta, torch.Tensor) else None


def is_wide(value: Any) -> bool:
    return dtype_of(value) == torch.int64


def values_of(node: fx.Node) -> list[Any]:
    """The arguments without places, the elements of lists one by one."""
    place = INDEXING.get(name_of(node))
    given = [argument for i, argument in enumerate(node.args) if i != place]
    return [value for argument in given for value in (argument if isinstance(argument, (list, tuple)) else [argument])]


def factor_of(node: fx.Node) -> Any:
    """alpha of a sum or difference: that of its second operand, and of the first one of rsub()."""
    return 1 if name_of(node) == "mul" else node.kwargs.get("alpha", node.args[2] if len(node.args) > 2 else 1)


def needs_small_inputs(program: torch.export.ExportedProgram) -> bool:
    """Raises Wide if small inputs do not help, either."""
    try:
        Integers(program).check()
        return False
    except Wide:
        Integers(program, small=True).check()
        return True


def are_small(tensors: Sequence[torch.Tensor]) -> bool:
    """Of the device; waits for it."""
    for tensor in torch.ops.sidra.on_host(list(tensors)):
        if tensor.numel() != 0 and not -SMALL <= int(tensor.min()) <= int(tensor.max()) <= SMALL:
            return False
    return True


def is_integer(node: fx.Node) -> bool:
    dtype = dtype_of(node)
    return dtype is not None and dtype != torch.bool and not dtype.is_floating_point and not dtype.is_complex


class Integers:
    """small: inputs are between -SMALL and SMALL."""

    def __init__(self, program: torch.export.ExportedProgram, small: bool = False):
        self._program, self._small = program, small
        self._bounds: dict[fx.Node, Bounds] = {}

    def check(self) -> None:
        """Raises Wide."""
        for node in self._program.graph.nodes:
            if name_of(node).startswith("_assert"):
                continue
            if is_integer(node):
                self._bounds[node] = self._bounds_of(node)
            if node.op == "call_function" and any(self._is_unbounded(value) for value in node.all_input_nodes):
                self._check_use(node)
            if node.op == "call_function" and is_wide(node) and self._bounds[node] is None and not self._comes_from_unbounded(node):
                raise Wide(node, f"{node.name} ({name_of(node)}) may be beyond 32 bits")

    def _is_unbounded(self, value: Any) -> bool:
        return is_wide(value) and self._bounds.get(value) is None

    def _comes_from_unbounded(self, node: fx.Node) -> bool:
        """Then its uses are checked instead."""
        return any(self._is_unbounded(value) for value in values_of(node))

    def _bounds_of(self, node: fx.Node) -> Bounds:
        found, dtype = self._computed(node), node.meta["val"].dtype
        low, high = (MIN, MAX) if dtype == torch.int64 else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
        if found is not None and found[0] >= low and found[1] <= high:
            return found
        return None if dtype == torch.int64 else (low, high)

    def _computed(self, node: fx.Node) -> Bounds:
        if node.op == "placeholder":
            return self._constant(node)
        if node.op != "call_function":
            return None
        name, count = name_of(node), node.meta["val"].numel()
        if name in ("arange", "full", "full_like", "zeros", "zeros_like", "ones", "ones_like", "scalar_tensor", "new_zeros", "new_ones", "new_full"):
            given = [value for value in node.args if isinstance(value, (int, float)) and not isinstance(value, bool)]
            numbers = [int(value) for value in given] + [0, 1]
            return (min(numbers), max(numbers))
        of: Any = node.args[0] if name == "getitem" else node
        if isinstance(of, fx.Node) and name_of(of) in (ONE_PLACE if of is node else TWO_RESULTS) and (of is node or node.args[1] == 1):
            return (0, max(part.meta["val"].numel() for part in of.all_input_nodes))
        if name == "one_hot":
            return (0, 1)
        parts = [self.of(value) for value in values_of(node) if isinstance(value, fx.Node)]
        parts += [self.of(value) for value in node.args if isinstance(value, (int, float, bool))]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts) or not known:
            return None
        if name in VIEWS:
            whole = self.of(node.args[0])
            padding = known if name in ("constant_pad_nd", "pad") else []
            return None if whole is None else (min(0, whole[0], *(low for low, _ in padding)), max(0, whole[1], *(high for _, high in padding)))
        if (name == "scatter" and "reduce" in node.kwargs) or (name == "index_put" and True in node.args[3:]):
            return None  # it computes
        if name in ("cat", "stack", "where", "maximum", "minimum", "clamp", "scatter", "index_put", "masked_fill"):
            return (min(low for low, _ in known), max(high for _, high in known))
        if name in ARITHMETIC:
            first, second = (self.of(value) for value in node.args[:2])
            return None if first is None or second is None else self._arithmetic(node, first, second)
        if name in ("sum", "cumsum"):
            each, source = self.of(node.args[0]), node.all_input_nodes[0]
            most = source.meta["val"].numel() // (max(count, 1) if name == "sum" else 1)
            return None if each is None else (min(each[0] * most, 0), max(each[1] * most, 0))
        if name == "neg":
            return (-known[0][1], -known[0][0])
        if name in ("floor_divide", "remainder", "fmod", "bitwise_and", "abs"):
            most = max(abs(number) for part in known for number in part)
            return (-(1 << most.bit_length()) if name == "bitwise_and" else -most, most)
        return None

    def _arithmetic(self, node: fx.Node, first: tuple[int, int], second: tuple[int, int]) -> Bounds:
        name, factor = name_of(node), factor_of(node)
        scaled = [number * factor for number in (first if name == "rsub" else second)]
        if min(scaled) < MIN or max(scaled) > MAX:
            return None
        pairs = [ARITHMETIC[name](a, b) for a in (scaled if name == "rsub" else first) for b in (second if name == "rsub" else scaled)]
        return (min(pairs), max(pairs))

    def of(self, value: Any) -> Bounds:
        if isinstance(value, (bool, int)):
            return (int(value), int(value))
        if isinstance(value, float):
            return (int(value), int(value)) if abs(value) < 2**62 else None
        if dtype_of(value) == torch.bool:
            return (0, 1)
        return self._bounds.get(value)

    def _constant(self, node: fx.Node) -> Bounds:
        signature = self._program.graph_signature
        name = node.name
        target = signature.inputs_to_buffers.get(name) or signature.inputs_to_parameters.get(name) or signature.inputs_to_lifted_tensor_constants.get(name)
        if target is None:
            return (-SMALL, SMALL) if self._small else None
        tensor = self._program.state_dict.get(target)
        if tensor is None:
            tensor = self._program.constants.get(target)
        if not isinstance(tensor, torch.Tensor) or tensor.numel() == 0:
            return (0, 0)
        return (int(tensor.min()), int(tensor.max()))

    def _check_use(self, node: fx.Node) -> None:
        """Of integers that may be beyond 32 bits."""
        name = name_of(node)
        if name in COMPARISONS and self._compares_with_a_small_number(node):
            return
        if name in INDEXING and not self._comes_from_unbounded(node):
            return
        if is_wide(node) and name in (*VIEWS, *ARITHMETIC, "cat", "stack", "where", "masked_fill", "clamp"):
            for user in node.users:
                if user.op == "output":
                    raise Wide(node, f"a result comes from integers of 64 bits that may be beyond 32 ({node.name}, {name})")
                if not (is_wide(user) or name_of(user) in INDEXING or name_of(user) in COMPARISONS):
                    raise Wide(user, f"{user.name} ({name_of(user)}) takes integers of 64 bits that may be beyond 32")
                if name in ARITHMETIC and not (self._leaves_large_numbers_large(node) and self._only_indexes(user, set())):
                    raise Wide(node, f"{node.name} ({name}) computes integers of 64 bits that may be beyond 32")
            return
        raise Wide(node, f"{node.name} ({name}) takes integers of 64 bits that may be beyond 32")

    def _leaves_large_numbers_large(self, node: fx.Node) -> bool:
        """Whether what is beyond 32 bits is no place behind it, either; of two saturated operands the difference may be one."""
        known = [bounds for bounds in map(self.of, node.args[:2]) if bounds is not None]
        return factor_of(node) == 1 and len(known) == 1 and -SMALL <= known[0][0] <= known[0][1] <= SMALL

    def _only_indexes(self, node: fx.Node, seen: set[fx.Node]) -> bool:
        if node in seen:
            return True
        seen.add(node)
        name = name_of(node) if node.op == "call_function" else ""
        if name in INDEXING and not is_wide(node):
            return True
        return is_wide(node) and name in (*VIEWS, *ARITHMETIC) and all(self._only_indexes(user, seen) for user in node.users)

    def _compares_with_a_small_number(self, node: fx.Node) -> bool:
        """So small that what is saturated is beyond it."""
        for value in node.args:
            bounds = self.of(value)
            if bounds is not None and bounds[0] > MIN and bounds[1] < MAX:
                return True
        return False
