# SPDX-License-Identifier: MIT
"""What nodes of a captured graph do besides computing: which memory they read and write, found by running each of them once more on its fake tensors."""
from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Optional

import torch
from torch import fx
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

STATISTICS = {"batch_norm": "training", "instance_norm": "use_input_stats"}  # functions that may write them, and the argument that says whether they do


class Effects(NamedTuple):
    of: dict[fx.Node, set[int]]
    """The memory of the tensors that a node takes and makes, by numbers that are the same for tensors that may share memory."""
    writes: dict[fx.Node, set[int]]
    outside: set[int]
    """That of the graph's inputs and attributes."""

    def is_view(self, node: fx.Node) -> bool:
        """Whether a node makes a tensor in memory that it was given."""
        return any(number in self.of.get(given, ()) for number in memory_of(value_of(node)) for given in node.all_input_nodes)


def value_of(node: fx.Node) -> Any:
    """The fake tensor, size or structure of them that a node makes; None if Dynamo has not noted it."""
    return node.meta.get("example_value")


def tensors_of(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def memory_of(value: Any) -> set[int]:
    return {tensor.untyped_storage()._cdata for tensor in tensors_of(value)}


def devices_in(graph_module: fx.GraphModule) -> set[torch.device]:
    """Of all tensors that Dynamo has noted."""
    return {tensor.device for node in graph_module.graph.nodes for tensor in tensors_of(value_of(node))}


class _Writes(TorchDispatchMode):
    """Notes the memory to which operators write."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[int] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        for i, argument in enumerate(function._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                self.found |= memory_of(args[i] if i < len(args) else (kwargs or {}).get(argument.name))
        return function(*args, **(kwargs or {}))


def effects_of(graph_module: fx.GraphModule) -> Optional[Effects]:
    """None: a node cannot be run again, so nothing is known."""
    fake = next(iter(_fake_modes(graph_module)), None)
    if fake is None:
        return None
    effects = Effects({}, {}, set())
    for node in graph_module.graph.nodes:
        if node.op == "get_attr" and value_of(node) is None:
            attribute = getattr(graph_module, str(node.target), None)
            if isinstance(attribute, torch.Tensor):
                node.meta["example_value"] = fake.from_tensor(attribute)
        effects.of[node] = memory_of(value_of(node)).union(*(memory_of(value_of(given)) for given in node.all_input_nodes))
        if node.op in ("placeholder", "get_attr"):
            effects.outside.update(effects.of[node])
        elif node.op.startswith("call_"):
            try:
                effects.writes[node] = _writes_of(node, graph_module, fake)
            except Exception:  # noqa: BLE001 - whatever an operator does not want
                return None
    return effects


def _fake_modes(graph_module: fx.GraphModule) -> Iterator[Any]:
    for node in graph_module.graph.nodes:
        yield from (tensor.fake_mode for tensor in tensors_of(value_of(node)) if hasattr(tensor, "fake_mode"))


def _writes_of(node: fx.Node, graph_module: fx.GraphModule, fake: Any) -> set[int]:
    if node.op == "call_module":
        raise NotImplementedError(node.target)
    args, kwargs = fx.node.map_arg((node.args, node.kwargs), lambda given: _argument(given, graph_module))
    sizes = fake.shape_env  # sizes that depend on values get names of their own each time, which nobody needs
    with torch.inference_mode(False), torch.no_grad(), fake, sizes.suppress_guards(), sizes.ignore_fresh_unbacked_symbols(), _Writes() as writes:
        if node.op == "call_method":
            getattr(args[0], str(node.target))(*args[1:], **kwargs)
        else:
            function: Any = node.target
            function(*args, **kwargs)
    return writes.found | _statistics_of(node, args, kwargs)


def _argument(node: fx.Node, graph_module: fx.GraphModule) -> Any:
    if node.op == "get_attr" and value_of(node) is None:
        return getattr(graph_module, str(node.target))
    return node.meta["example_value"]


def _statistics_of(node: fx.Node, args: Sequence[Any], kwargs: dict[str, Any]) -> set[int]:
    """Means and variances of normalisations, whose schemas do not say that they are written."""
    name = getattr(node.target, "__name__", "")
    if name not in STATISTICS:
        return set()
    try:
        given = inspect.signature(node.target).bind(*args, **kwargs)  # type: ignore[arg-type]
    except ValueError:  # it has none: take all
        return memory_of([args, kwargs])
    given.apply_defaults()
    return memory_of([given.arguments["running_mean"], given.arguments["running_var"]]) if given.arguments[STATISTICS[name]] else set()
