# SPDX-License-Identifier: MIT
"""What torch.compile(backend="sidra_debug") prints of a captured graph, whether it is compiled or not: its nodes, how often it has each operator, and
which of them the compiler may fuse."""
from __future__ import annotations

import collections

import torch
from torch import fx

from .debug import calls_of, listing, name_of_target
from .effects import value_of
from .rows import NORMS, POINTWISE, REDUCTIONS
from .split import PRODUCTS

TRAINING = {"batch_norm": 5, "dropout": 2}  # functions that are simpler when a model is not trained, and the place of the argument that says so
# Beside those of which rows.py knows that they may be padded.
BEHIND = POINTWISE | NORMS | REDUCTIONS | {
    "iadd", "isub", "imul", "itruediv", "subtract", "multiply", "divide", "rsub", "square", "sign", "round", "floor", "ceil", "trunc", "remainder", "fmod",
    "sin", "cos", "exp2", "expm1", "log1p", "log2", "log10", "atan2", "lerp", "addcmul", "clamp_min", "clamp_max", "selu", "celu", "hardtanh", "logsigmoid",
    "softsign", "threshold", "prelu", "isnan", "isinf", "bitwise_and", "bitwise_or", "softmin", "prod", "max", "min", "norm", "logsumexp", "normalize"}


def fusable_groups(graph_module: fx.GraphModule) -> list[list[fx.Node]]:
    """Each product with the run of pointwise operators and reductions behind it, from which the compiler can make one operation of the chip. The compiler
    decides, by the shapes and the length of the program: it may make several of them."""
    group_of: dict[fx.Node, list[fx.Node]] = {}
    groups: list[list[fx.Node]] = []
    for node in calls_of(graph_module):
        name = name_of_target(node).rsplit(".", 1)[-1]
        if name in PRODUCTS:
            group_of[node] = [node]
            groups.append(group_of[node])
        elif _is_behind(node, name):
            given = [group_of[of] for of in node.all_input_nodes if of in group_of]
            if given:  # a sum of two products is behind the later one
                group_of[node] = max(given, key=groups.index)
                group_of[node].append(node)
    return [group for group in groups if len(group) > 1]


def _is_behind(node: fx.Node, name: str) -> bool:
    if not isinstance(value_of(node), torch.Tensor):
        return False
    if name in TRAINING:
        place = TRAINING[name]
        return (node.args[place] if len(node.args) > place else node.kwargs.get("training", name == "dropout")) is False
    return name in BEHIND or (name.endswith("_") and name.rstrip("_") in BEHIND)


def summary(name: str, graph_module: fx.GraphModule) -> str:
    """A region's graph, how often it has each operator, and its groups."""
    counts = collections.Counter(map(name_of_target, calls_of(graph_module)))
    width = max(map(len, counts), default=0)
    table = "\n".join(f"    {target:{width}}  {count}" for target, count in counts.most_common())
    groups = fusable_groups(graph_module)
    texts = "\n".join(f"    {' '.join(name_of_target(node).rsplit('.', 1)[-1] for node in group)}" for group in groups)
    return (f"{name}\n" + "\n".join(f"    {line}" for line in listing(graph_module)) + f"\n  {sum(counts.values())} operators:\n{table}"
            f"\n  fusable groups: {len(groups)}\n{texts}").rstrip()
