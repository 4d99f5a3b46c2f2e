# SPDX-License-Identifier: MIT
"""Splits a captured graph around nodes that cannot be compiled: what can be becomes as few graphs as possible, and the rest runs node by node in between."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from .debug import calls_of, listing, name_of_target
from .effects import Effects, effects_of, memory_of, tensors_of, value_of
from .network import is_number, is_weight, results_of

WIDE = (torch.float64, torch.complex32, torch.complex64, torch.complex128)  # types that compiled models do not have
NUMBERS = (int, float, torch.SymInt, torch.SymFloat)
SMALL = 2  # operators: what is no larger is not worth a compiled part, unless it multiplies matrices
PRODUCTS = ("linear", "matmul", "mm", "addmm", "bmm", "baddbmm", "conv1d", "conv2d", "conv3d", "scaled_dot_product_attention", "einsum")

Compile = Callable[[fx.GraphModule, Sequence[Any], int], Callable[..., Any]]


class Split(NamedTuple):
    run: Callable[..., Any]
    """Computes what the graph does."""
    parts: list[list[fx.Node]]
    """The nodes of each compiled part."""
    one_by_one: list[fx.Node]

    def listing(self, graph_module: fx.GraphModule) -> Iterator[str]:
        """The graph, a line for each node, behind the number of its part."""
        number = {node.format_node(): f"part {i}" for i, nodes in enumerate(self.parts) for node in nodes}
        number |= {node.format_node(): "one by one" for node in self.one_by_one}
        for line in listing(graph_module):
            yield f"{next((of for text, of in number.items() if text and line.startswith(text)), ''):11} {line}"


def split(graph_module: fx.GraphModule, example_inputs: Sequence[Any], refused: Collection[fx.Node], compile: Compile, *,
          whole: bool = False) -> Optional[Split]:
    """refused: nodes that must not be in a compiled part, beside those that this finds. whole: all nodes may be in one part. None: nothing can be
    compiled, or nothing is to be split. A part is on one device: what is on another one is in a part of its own."""
    effects = effects_of(graph_module)
    if effects is None or _writes_with_gradients(graph_module, effects):
        return None
    calls = [node for node in calls_of(graph_module) if node.target is not torch._C._set_grad_enabled]
    single = {node for node in calls if node in refused or not _can_be_compiled(node)}
    single |= {node for node in calls if effects.writes[node] & effects.outside}
    shared = _memory_of_results(graph_module, effects)
    single |= {node for node in calls if effects.is_view(node) and memory_of(value_of(node)) & shared}
    before = _order(calls, effects)
    placeholders = graph_module.graph.find_nodes(op="placeholder")
    weights = {node for node, value in zip(placeholders, example_inputs, strict=True) if is_weight(value)}
    while True:
        phases = _phases(calls, single, before)
        more = (_views_that_leave(calls, single, phases, effects) | _of_structures_that_leave(calls, single, phases)) or _too_small(calls, single, phases, weights)
        if not more:
            break
        single |= more
    parts = _parts(calls, single, phases)
    if not parts or not (single or whole or len(parts) > 1):
        return None
    run = _Joined(graph_module, example_inputs, compile).joined(calls, parts, single, phases)
    return Split(run, parts, [node for node in calls if node in single])


def _writes_with_gradients(graph_module: fx.GraphModule, effects: Effects) -> bool:
    written = set().union(*effects.writes.values()) if effects.writes else set()
    return any(tensor.requires_grad and memory_of(tensor) & written for node in graph_module.graph.nodes for tensor in tensors_of(value_of(node)))


def _is_placeholder_number(node: fx.Node) -> bool:
    return node.op == "placeholder" and is_number(value_of(node))


def _can_be_compiled(node: fx.Node) -> bool:
    """As far as its types and devices tell. What is on two devices copies from one to the other."""
    if not isinstance(value_of(node), (torch.Tensor, tuple, list)):
        return False  # a number of the program, or something else that is no tensor
    given = [value_of(of) for of in node.all_input_nodes if not _is_placeholder_number(of) and value_of(of) is not None]
    if len({tensor.device for tensor in tensors_of([value_of(node), given])}) > 1:
        return False
    for tensor in tensors_of([value_of(node), given]):
        if tensor.device.type != "sidra" or tensor.dtype in WIDE or free_unbacked_symbols(tensor):
            return False
    numbers = [value for value in given if isinstance(value, NUMBERS)]
    return len(numbers) + sum(isinstance(value, (torch.Tensor, tuple, list)) for value in given) == len(given) and not any(map(free_unbacked_symbols, numbers))


def _memory_of_results(graph_module: fx.GraphModule, effects: Effects) -> set[int]:
    """That which a result shares with an input, or with another result."""
    seen, shared = set(effects.outside), set()
    for node in dict.fromkeys(node for node in results_of(graph_module) if isinstance(node, fx.Node)):
        memory = memory_of(value_of(node))
        shared |= memory & seen
        seen |= memory
    return shared


def _order(calls: Sequence[fx.Node], effects: Effects) -> dict[fx.Node, set[fx.Node]]:
    """The nodes that must be before each: what it takes, and who writes to memory that it uses, or uses what it writes to."""
    written = set().union(*effects.writes.values()) if effects.writes else set()
    if written & effects.outside:
        written |= effects.outside  # inputs may share memory
    one = lambda memory: {-1 if number in effects.outside else number for number in memory & written}
    last: dict[int, fx.Node] = {}
    users: dict[int, set[fx.Node]] = {}
    before: dict[fx.Node, set[fx.Node]] = {}
    for node in calls:
        before[node] = set(node.all_input_nodes)
        writes = one(effects.writes[node])
        for memory in one(effects.of[node]) | writes:
            if memory in last:
                before[node].add(last[memory])
            if memory in writes:
                before[node] |= users.pop(memory, set())
                last[memory] = node
            else:
                users.setdefault(memory, set()).add(node)
    return before


def _phases(calls: Sequence[fx.Node], single: Collection[fx.Node], before: Mapping[fx.Node, set[fx.Node]]) -> dict[fx.Node, int]:
    """In phase i, first its compiled part runs (on several devices: one for each), and then nodes one by one, in the order of the graph. Each node is in the
    first phase that it can be in, so there are no fewer phases."""
    phases: dict[fx.Node, int] = {}
    latest = 0  # of the nodes that run one by one: random numbers must be drawn in their order
    for node in calls:
        earliest = [phases[of] + (of in single and node not in single) for of in before[node] if of in phases]
        counts = isinstance(value_of(node), NUMBERS)
        phases[node] = max(earliest, default=-1 if counts else 0)
        if node in single and not counts:
            latest = phases[node] = max(latest, phases[node])
    return phases


def _parts(calls: Sequence[fx.Node], single: Collection[fx.Node], phases: Mapping[fx.Node, int]) -> list[list[fx.Node]]:
    parts: dict[tuple[int, str], list[fx.Node]] = {}
    for node in calls:
        if node not in single:
            device = next((str(tensor.device) for tensor in tensors_of(value_of(node))), "")
            parts.setdefault((phases[node], device), []).append(node)
    return [parts[key] for key in sorted(parts, key=lambda key: key[0])]


def _views_that_leave(calls: Sequence[fx.Node], single: Collection[fx.Node], phases: Mapping[fx.Node, int], effects: Effects) -> set[fx.Node]:
    """Of memory that is written, a compiled part makes copies, so whoever writes to it must be in the same part as all who use it, and views of it must
    not leave their part."""
    found, written = set(), set().union(*effects.writes.values()) if effects.writes else set()
    for memory in written - effects.outside:
        users = [node for node in calls if memory in effects.of[node]]
        if len({(phases[node], node in single) for node in users}) > 1:
            found |= {node for node in users if node not in single and (memory in effects.writes[node] or effects.is_view(node))}
    if written & effects.outside:
        found |= {node for node in calls if node not in single and effects.is_view(node) and memory_of(value_of(node)) & effects.outside
                  and any(user in single or phases.get(user) != phases[node] for user in node.users)}
    return found


def _of_structures_that_leave(calls: Sequence[fx.Node], single: Collection[fx.Node], phases: Mapping[fx.Node, int]) -> set[fx.Node]:
    """Only tensors get into a compiled part and out of it: who makes several is in the same part as those who take them."""
    found = set()
    for node in calls:
        if isinstance(value_of(node), (tuple, list)):
            users = [user for user in node.users if user.op != "output"]
            if node in single or len(users) != len(node.users) or any(user in single or phases[user] != phases[node] for user in users):
                found |= {one for one in (node, *users) if one not in single}
    return found


def _too_small(calls: Sequence[fx.Node], single: Collection[fx.Node], phases: Mapping[fx.Node, int], weights: Collection[fx.Node]) -> set[fx.Node]:
    for part in _parts(calls, single, phases):
        names = [name_of_target(node).split(".")[-1] for node in part]
        outside = {of for node in part for of in node.all_input_nodes if of.op != "get_attr" and of not in weights} - set(part)
        if not any(tensors_of(value_of(of)) for of in outside) or (len(part) <= SMALL and not any(name in PRODUCTS for name in names)):
            return set(part)
    return set()


class _Part(torch.nn.Module):
    """A compiled part, as graphs call it."""

    def __init__(self, run: Callable[..., Any]):
        super().__init__()
        self.forward = run


class _Joined:
    """Makes the graph of compiled parts and single nodes."""

    def __init__(self, graph_module: fx.GraphModule, example_inputs: Sequence[Any], compile: Compile):
        self._graph_module, self._compile = graph_module, compile
        self._root, self._graph = torch.nn.Module(), fx.Graph()
        self._env: dict[fx.Node, fx.Node] = {}
        self._examples = dict(zip(graph_module.graph.find_nodes(op="placeholder"), example_inputs, strict=True))

    def joined(self, calls: Sequence[fx.Node], parts: Sequence[Sequence[fx.Node]], single: Collection[fx.Node], phases: Mapping[fx.Node, int]) -> Callable[..., Any]:
        for node in self._graph_module.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self._copy(node)
        for phase in sorted(set(phases.values())):
            for number, part in enumerate(parts):
                if phases[part[0]] == phase:
                    self._call(number, part)
            for node in calls:
                if node in single and phases[node] == phase:
                    self._copy(node)
        self._copy(self._graph_module.graph.output_node())
        self._graph.lint()
        run = fx.GraphModule(self._root, self._graph).forward

        def without_gradients(*arguments: Any) -> Any:
            with torch.no_grad():  # nobody asks for them, or the graph would not be here
                return run(*arguments)

        return without_gradients

    def _copy(self, node: fx.Node) -> None:
        if node.op == "get_attr":
            setattr(self._root, str(node.target), getattr(self._graph_module, str(node.target)))
        self._env[node] = self._graph.node_copy(node, self._env.__getitem__)

    def _call(self, number: int, part: Sequence[fx.Node]) -> None:
        graph, root, env = fx.Graph(), torch.nn.Module(), {}
        inputs: list[fx.Node] = []
        for of in dict.fromkeys(of for node in part for of in node.all_input_nodes if of not in part):
            if of.op == "get_attr":
                setattr(root, str(of.target), getattr(self._graph_module, str(of.target)))
                env[of] = graph.node_copy(of)
            else:
                inputs.append(of)
                env[of] = graph.placeholder(of.name)
                env[of].meta = dict(of.meta)
        inside = set(part)
        for node in part:
            env[node] = graph.node_copy(node, env.__getitem__)
        results = [node for node in part if any(user not in inside for user in node.users)]
        graph.output(tuple(env[node] for node in results))
        examples = [self._examples.get(of, value_of(of)) for of in inputs]
        name = f"part_{number}"
        setattr(self._root, name, _Part(self._compile(fx.GraphModule(root, graph), examples, number)))
        made = self._graph.call_module(name, tuple(self._env[of] for of in inputs))
        for i, node in enumerate(results):
            self._env[node] = self._graph.call_function(_item, (made, i))


def _item(values: Sequence[Any], i: int) -> Any:
    return values[i]
