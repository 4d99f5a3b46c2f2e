# SPDX-License-Identifier: MIT
"""From a captured graph to what the compiler takes: a program of PyTorch's exporter, on the CPU, with weights as constants and fixed shapes."""
from __future__ import annotations

import copy
import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

import torch
from torch import fx
from torch.export.graph_signature import OutputKind

from .effects import tensors_of, value_of
from .integers import Wide, needs_small_inputs

ORIGIN = "captured by Dynamo as "  # in the stack traces that nodes of the exporter keep, behind those of the program


class Refused(Exception):
    """The compiler cannot take the graph; the text names the operator.

    nodes: names of the graph's nodes that are the reason, if they are known. The rest can be compiled without them; None: it cannot, either."""

    def __init__(self, text: str, nodes: Optional[Collection[str]] = ()):
        super().__init__(text)
        self.nodes = nodes


class Network(NamedTuple):
    module: fx.GraphModule
    """On the CPU; its attributes are its constants, in the memory of the arguments, which must stay."""
    examples: tuple[torch.Tensor, ...]
    inputs: list[int]
    """The arguments of the graph that are inputs of the module, in its order."""

    def program(self, results: Sequence[torch.dtype]) -> tuple[torch.export.ExportedProgram, bool]:
        """What PyTorch's exporter makes of it, and whether that is right for small integers only. Raises Refused if it cannot be compiled, or its
        results have other types than these."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # of PyTorch about itself
                # This also makes writes visible: they become results.
                program = torch.export.export(_Named(self.module), self.examples, strict=False).run_decompositions(DECOMPOSITIONS)
        except Exception as error:
            raise Refused(f"PyTorch cannot export it: {error}") from error
        small = _check(program)
        made = [node.meta["val"].dtype for node in program.graph.output_node().args[0] if isinstance(node, fx.Node)]
        if made != list(results):
            raise Refused(f"its results have the types {', '.join(map(str, results))}, and PyTorch's exporter makes {', '.join(map(str, made))}")
        return program, small


def _divided(dividend: Any, divisor: Any, *, rounding_mode: Optional[str] = None) -> Any:
    """Of integers, as integers; the exporter rounds a quotient of float32."""
    if rounding_mode is None or torch.result_type(dividend, divisor).is_floating_point:
        return NotImplemented
    return torch.floor_divide(dividend if rounding_mode == "floor" else dividend - torch.fmod(dividend, divisor), divisor)


DECOMPOSITIONS: dict[Any, Any] = {operator: _divided for packet in (torch.ops.aten.div, torch.ops.aten.divide)
                                  for operator in (packet.Tensor_mode, packet.Scalar_mode)}


class _Named(torch.nn.Module):
    """Runs a graph so that the exporter notes in each of its own nodes from which one of the graph it comes: origins_in()."""

    def __init__(self, module: fx.GraphModule):
        super().__init__()
        self.graph_module = module
        for node in module.graph.nodes:
            node.meta["stack_trace"] = f"{node.meta.get('stack_trace') or ''}\n{ORIGIN}{node.name}\n"

    def forward(self, *arguments: torch.Tensor) -> Any:
        with fx.traceback.preserve_node_meta():
            return tuple(fx.Interpreter(self.graph_module).run(*arguments))


def origins_in(stack_trace: str) -> set[str]:
    """The name of the captured node, if a stack trace is of one."""
    return set(re.findall(rf"^{ORIGIN}(\w+)$", stack_trace, re.MULTILINE))


def results_of(graph_module: fx.GraphModule) -> Sequence[Any]:
    """What the graph returns: nodes, and values that are the same in each run."""
    output: Any = graph_module.graph.output_node()
    return output.args[0]


def network_of(graph_module: fx.GraphModule, arguments: Sequence[Any], weights: Sequence[int]) -> Network:
    """The graph for these arguments: those with the numbers in `weights` are constants, as are all that are no tensors."""
    module, inputs = _specialised(graph_module, arguments, set(weights))
    return Network(module, tuple(torch.zeros(arguments[i].shape, dtype=arguments[i].dtype) for i in inputs), inputs)


def _specialised(graph_module: fx.GraphModule, arguments: Sequence[Any], weights: set[int]) -> tuple[fx.GraphModule, list[int]]:
    root, graph, inputs = torch.nn.Module(), fx.Graph(), []
    order = sorted(weights)
    constants = dict(zip(order, torch.ops.sidra.on_host([arguments[i].detach() for i in order]), strict=True))
    env: dict[fx.Node, Any] = {}
    number = -1
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            number += 1
            argument = arguments[number]
            if is_number(argument):
                env[node] = argument.detach().clone() if isinstance(argument, torch.Tensor) else argument  # which exporting may write to
            elif number in weights:
                root.register_buffer(node.name, constants[number])
                env[node] = graph.create_node("get_attr", node.name)
            elif node.users:
                inputs.append(number)
                env[node] = graph.placeholder(node.name)
        elif node.target is torch._C._set_grad_enabled:
            continue  # nobody asks for gradients here
        elif node.op.startswith("call_") and node.all_input_nodes and not any(isinstance(env[of], fx.Node) for of in node.all_input_nodes) \
                and not tensors_of(value_of(node)):
            env[node] = _number(node, env)
        else:
            if node.op in ("get_attr", "call_module"):
                _adopt(root, graph_module, str(node.target))
            made = env[node] = graph.node_copy(node, env.__getitem__)
            made.args, made.kwargs = fx.node.map_aggregate(made.args, _on_cpu), fx.node.map_aggregate(made.kwargs, _on_cpu)
    return fx.GraphModule(root, graph).eval(), inputs


def is_number(argument: Any) -> bool:
    """Whether an argument is a number of the program, such as a size. Where those may change, Dynamo gives floats as tensors on the CPU."""
    return not isinstance(argument, torch.Tensor) or (argument.dim() == 0 and argument.device.type == "cpu" and not isinstance(argument, torch.nn.Parameter))


def is_weight(value: Any) -> bool:
    """Whether an argument of a graph is a parameter or a buffer of a module, which Dynamo marks."""
    return isinstance(value, torch.Tensor) and (isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None)


def _number(node: fx.Node, env: Mapping[fx.Node, Any]) -> Any:
    """What a node computes of numbers, which is no tensor: that would be the same in each run, also if it is drawn."""
    arguments, named = fx.node.map_arg((node.args, node.kwargs), env.__getitem__)
    if node.op == "call_method":
        return getattr(arguments[0], str(node.target))(*arguments[1:], **named)
    if not callable(node.target):
        raise Refused(f"{node.target} is a module of numbers")
    return node.target(*arguments, **named)


def _adopt(root: torch.nn.Module, graph_module: fx.GraphModule, target: str) -> None:
    """Gives the root what the graph has as an attribute, on the CPU."""
    if "." in target:
        raise Refused(f"the graph has an attribute of a module, {target}")
    value = getattr(graph_module, target)
    if isinstance(value, torch.nn.Module):
        setattr(root, target, copy.deepcopy(value).to("cpu"))
    elif isinstance(value, torch.Tensor):
        if not hasattr(root, target):
            root.register_buffer(target, torch.ops.sidra.on_host([value.detach()])[0])
    else:
        setattr(root, target, value)


def _on_cpu(value: Any) -> Any:
    """An argument of a node that names the device."""
    if isinstance(value, torch.device) and value.type == "sidra":
        return torch.device("cpu")
    return "cpu" if isinstance(value, str) and value.split(":")[0] == "sidra" else value


def _check(program: torch.export.ExportedProgram) -> bool:
    """Raises Refused if a run of the program does something else than compute results from its inputs. Returns whether it needs small integers."""
    random = [node for node in program.graph.nodes if isinstance(node.target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in node.target.tags
              and not _is_idle(node)]
    if random:
        raise Refused(f"{random[0].target} draws random numbers", _origins(random))
    for output in program.graph_signature.output_specs:
        if output.kind != OutputKind.USER_OUTPUT:
            raise Refused(f"it writes to {output.target or output.arg}, which exists outside of it")
    try:
        return needs_small_inputs(program)
    except Wide as wide:
        raise Refused(f"{wide}, and compiled models compute integers with 32 bits", _origins([wide.node])) from None


def _origins(nodes: Iterable[fx.Node]) -> set[str]:
    return {name for node in nodes for name in origins_in(node.meta.get("stack_trace") or "")}


def _is_idle(node: fx.Node) -> bool:
    """A dropout that drops nothing."""
    operator: Any = node.target
    given: dict[str, Any] = {argument.name: argument.default_value for argument in operator._schema.arguments if argument.has_default_value()}
    given.update(zip((argument.name for argument in operator._schema.arguments), node.args, strict=False))
    given.update(node.kwargs)
    return given.get("train", given.get("training", True)) is False or given.get("p") == 0 or given.get("dropout_p") == 0
