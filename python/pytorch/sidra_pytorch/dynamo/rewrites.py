# SPDX-License-Identifier: MIT
"""What programs spell out in several operators and PyTorch has as one, in graphs of Dynamo, before Inductor gets them: SiLU, GELU by tanh, and chains of
numbers. (The compiler of SIDRA has passes of its own for that.)"""
from __future__ import annotations

import math
import operator
from typing import Any, Optional

import torch
from torch import fx

from .effects import effects_of, memory_of, value_of

ADD, MUL, POW = (operator.add, torch.add, "add"), (operator.mul, torch.mul, "mul"), (operator.pow, torch.pow, "pow")
SIGMOID = (torch.sigmoid, torch.nn.functional.sigmoid, "sigmoid")
TANH = (torch.tanh, torch.nn.functional.tanh, "tanh")
NUMBER = (int, float)


def operands(node: Any, functions: tuple[Any, ...], count: int) -> Optional[tuple[Any, ...]]:
    """Of a node that calls one of these functions with so many arguments, and nothing else."""
    if not isinstance(node, fx.Node) or node.target not in functions or node.kwargs or len(node.args) != count:
        return None
    return node.args


def orders(node: Any, functions: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """The operands of a sum or product, in both orders; none if it is no such."""
    pair = operands(node, functions, 2)
    return [] if pair is None else [(pair[0], pair[1]), (pair[1], pair[0])]


def is_near(value: Any, wanted: float) -> bool:
    return isinstance(value, NUMBER) and abs(value - wanted) <= 1e-6 * abs(wanted)


def without(node: Any, functions: tuple[Any, ...], wanted: float) -> Any:
    """The other operand of a sum or product with a number; None if it is no such."""
    return next((other for number, other in orders(node, functions) if is_near(number, wanted)), None)


def silu(node: fx.Node) -> Optional[Any]:
    """x of x * sigmoid(x)."""
    for x, factor in orders(node, MUL):
        inner = operands(factor, SIGMOID, 1)
        if isinstance(x, fx.Node) and inner is not None and inner[0] is x:
            return x
    return None


def is_cube(node: Any, x: Any) -> bool:
    power = operands(node, POW, 2)
    if power is not None:
        return power[0] is x and is_near(power[1], 3)
    for one, square in orders(node, MUL):
        factors = operands(square, MUL, 2)
        if one is x and factors is not None and factors[0] is x and factors[1] is x:
            return True
    return False


def gelu_factor(node: Any) -> Optional[Any]:
    """x of 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))."""
    inner = operands(without(node, ADD, 1), TANH, 1)
    if inner is None:
        return None
    for x, cubic in orders(without(inner[0], MUL, math.sqrt(2 / math.pi)), ADD):
        if isinstance(x, fx.Node) and is_cube(without(cubic, MUL, 0.044715), x):
            return x
    return None


def gelu(node: fx.Node) -> Optional[Any]:
    """x of 0.5 * x * (1 + tanh(...)), in each order of its factors."""
    for one, other in orders(node, MUL):
        x = gelu_factor(other)
        if x is not None and without(one, MUL, 0.5) is x:
            return x  # (0.5 x) f
        for half, factor in orders(other, MUL):
            if is_near(half, 0.5) and isinstance(one, fx.Node) and gelu_factor(factor) is one:
                return one  # x (0.5 f)
        if is_near(one, 0.5):
            for x, factor in orders(other, MUL):
                if isinstance(x, fx.Node) and gelu_factor(factor) is x:
                    return x  # 0.5 (x f)
    return None


def chain(node: fx.Node) -> Optional[tuple[Any, Any, float]]:
    """Function, x and number of (x + a) + b and (x * a) * b, with floats that nobody else needs. Not if that might be more than another rounding: with
    sums of both signs, which may be there for their rounding, and products that leave the range of the type, as a large factor before a small one may in
    half precision."""
    for functions, joined in ((ADD, operator.add), (MUL, operator.mul)):
        for outer, inner in orders(node, functions):
            if not isinstance(outer, float) or not isinstance(inner, fx.Node) or len(inner.users) != 1:
                continue
            for number, x in orders(inner, functions):
                if not isinstance(number, float) or not isinstance(x, fx.Node) or not all(1e-3 < abs(n) < 1e3 for n in (number, outer)):
                    continue
                if (number > 0) == (outer > 0) and (functions is ADD or not is_half(node) or (abs(number) < 1) == (abs(outer) < 1)):
                    return joined, x, joined(number, outer)
    return None


def is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def is_half(node: fx.Node) -> bool:
    value = value_of(node)
    return isinstance(value, torch.Tensor) and value.dtype == torch.float16


Call = tuple[Any, tuple[Any, ...], dict[str, Any]]  # function, arguments, of which the first is what the pattern begins with, and named ones


def found_in(node: fx.Node) -> Optional[Call]:
    """One operator for what ends with a node."""
    if (x := silu(node)) is not None:
        return torch.nn.functional.silu, (x,), {}
    if (x := gelu(node)) is not None:
        return torch.nn.functional.gelu, (x,), {"approximate": "tanh"}
    if (joined := chain(node)) is not None:
        return joined[0], joined[1:], {}
    return None


def inside(node: fx.Node, x: fx.Node) -> set[fx.Node]:
    """The nodes from x, which is one of them, to this one."""
    nodes, left = {x}, [node]
    while left:
        if (one := left.pop()) not in nodes:
            nodes.add(one)
            left += one.all_input_nodes
    return nodes


def rewrite(graph_module: fx.GraphModule) -> int:
    """Changes the graph; returns how many operators it has replaced. What is replaced has all of its values in memory to which the graph never writes, and
    gradients are recorded for all of them or none: otherwise it is not what it looks like."""
    graph, changes = graph_module.graph, 0
    effects = effects_of(graph_module)
    if effects is None:
        return 0
    written = set().union(*effects.writes.values())
    if written & effects.outside:
        written |= effects.outside  # inputs may share memory
    for node in list(graph.nodes):
        if (found := found_in(node)) is None:
            continue
        function, arguments, named = found
        values = [value_of(one) for one in inside(node, arguments[0])]
        if not all(map(is_float, values)) or memory_of(values) & written or len({value.requires_grad for value in values}) > 1:
            continue
        with graph.inserting_before(node):
            made = graph.call_function(function, arguments, named)
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
        changes += 1
    if changes:
        graph.eliminate_dead_code()
        graph.lint()
        graph_module.recompile()
    return changes
