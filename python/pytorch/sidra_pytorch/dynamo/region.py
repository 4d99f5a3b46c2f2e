# SPDX-License-Identifier: MIT
"""A graph that torch.compile() has captured, and the compiled models that it runs as."""
from __future__ import annotations

import collections
import contextlib
import logging
import operator
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Optional

import torch
from torch import fx
from torch._dynamo.convert_frame import compile_lock

from .. import _C, device
from . import cache
from .debug import calls_of, debug_folder, line_of, name_of_target
from .integers import are_small
from .network import Network, Refused, is_number, is_weight, network_of, origins_in, results_of
from .options import Options
from .split import Split, split

LOG = logging.getLogger("sidra")
INT8, ERROR = device.MATMUL_MODES.index("int8"), device.FALLBACK_MODES.index("error")
SHAPES_MAX = 8  # for which a region is compiled


def picked(indices: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """What returns the values with these indices; faster than a loop."""
    if len(indices) > 1:
        return operator.itemgetter(*indices)
    return lambda values: tuple(values[i] for i in indices)


def identity(weights: Sequence[torch.Tensor], numbers: Sequence[Any]) -> tuple[Any, ...]:
    """What a program needs beside inputs of the same shapes: the same weights and numbers. The id() of an object that is gone may return, but programs
    know whether their weights are there."""
    return (*map(id, weights), *map(value_of, numbers))


def value_of(number: Any) -> Any:
    number = number.item() if isinstance(number, torch.Tensor) else int(number) if isinstance(number, torch.SymInt) else number
    return number if number == number else "nan"  # which is not equal to itself


class Program:
    """A compiled model on its device, for one set of weights, shapes and numbers."""

    def __init__(self, region: Region, path: str, arguments: Sequence[Any], inputs: Sequence[int], contents: Any, small: bool):
        index = next(iter(region.devices)).index
        self._model = torch.classes.sidra.Model(index, path, contents)
        self._model.deploy()  # all matrices are read now, so the file may go
        self._run = self._model.run
        self._inputs = picked(inputs)
        self._small = [i for i in inputs if arguments[i].dtype == torch.int64] if small else []  # what must be so
        self._weights_of, self._numbers_of = region.weights_of, region.numbers_of
        self._identity = identity(self._weights_of(arguments), self._numbers_of(arguments))
        self._results = region.results
        self._plain = all(isinstance(node, fx.Node) for node in region.results) and not any(region.orders)
        self._orders = region.orders

    def __call__(self, arguments: Sequence[Any]) -> Optional[tuple[Any, ...]]:
        """The results; None if these arguments need another program."""
        if identity(self._weights_of(arguments), self._numbers_of(arguments)) != self._identity:
            return None
        if self._small and not are_small([arguments[i] for i in self._small]):
            return None
        tensors = self._run(self._inputs(arguments))
        if not tensors:
            return None
        if self._plain:
            return tuple(tensors)
        pairs = zip(tensors, self._orders, strict=True)
        made = iter([tensor if order is None else in_order(tensor, order) for tensor, order in pairs])
        return tuple(next(made) if isinstance(result, fx.Node) else result for result in self._results)


class Weights:
    """The programs for one set of weights. Modules of one class can share a region."""

    def __init__(self, tensors: Sequence[torch.Tensor]):
        self.contents = torch.classes.sidra.Contents(tensors)
        self.programs: dict[Any, Program] = {}
        self.full = False  # and that was said
        self.samples: dict[Any, list[list[torch.Tensor]]] = {}  # inputs of the first calls, by shapes
        self.refused: set[Any] = set()  # shapes


class Region:
    """Runs a graph that records no gradients: compiled for the shapes and the content of the weights that it gets, or else operator by operator."""

    def __init__(self, graph_module: fx.GraphModule, example_inputs: Sequence[Any], name: str, options: Options,
                 say: Optional[Callable[[str], None]] = None):
        self.name = name
        self._say = say  # gets what becomes of it, for people
        self.results = results_of(graph_module)
        self.orders: list[Optional[tuple[int, ...]]] = []
        self._graph_module, self._options = graph_module, options
        self._weights = [i for i, value in enumerate(example_inputs) if is_weight(value)]
        numbers = [i for i, value in enumerate(example_inputs) if i not in self._weights and is_number(value)]
        self._inputs = [i for i in range(len(example_inputs)) if i not in self._weights and i not in numbers]
        attributes = (getattr(graph_module, str(node.target), None) for node in graph_module.graph.find_nodes(op="get_attr"))
        self._constants = [value for value in attributes if isinstance(value, torch.Tensor)]
        self.weights_of, self._inputs_of = picked(self._weights), picked(self._inputs)
        self.numbers_of = picked(numbers)
        self._by_weights: dict[Any, Weights] = {}
        self._gone: collections.deque[Any] = collections.deque()  # keys of weights of which one is gone
        self._latest: Optional[Program] = None
        self._lock = threading.RLock()
        tensors = [value for i, value in enumerate(example_inputs) if i not in numbers] + self._constants
        self.devices = {tensor.device for tensor in tensors}
        self._examples = example_inputs
        self._otherwise: Callable[..., Any] = graph_module  # what runs if no program does
        self._eager = not self._can_be_compiled()

    def __call__(self, *arguments: Any) -> Any:
        latest = self._latest
        if latest is not None and not self._gone and _C.matmul_mode() == INT8:
            results = latest(arguments)
            if results is not None:
                return results
        if _C.matmul_mode() != INT8:
            return self._graph_module(*arguments)
        if self._eager:
            return self._otherwise(*arguments)
        with self._lock:
            program = self._program(arguments)
        # A weight that another thread writes to meanwhile makes it None again.
        results = program(arguments) if program is not None else None
        return self._otherwise(*arguments) if results is None else results

    def _can_be_compiled(self) -> bool:
        if not any(device.type == "sidra" for device in self.devices):
            LOG.warning("%s has no tensors on a sidra device, so it runs as it is; move the model and its inputs there with .to(\"sidra:0\")", self.name)
            return False
        try:
            if len(self.devices) > 1:
                raise Refused(f"its tensors are on several devices: {', '.join(sorted(map(str, self.devices)))}")
            if not self._inputs:
                raise Refused("it has no inputs")
            check_autocast(self._graph_module)
            check_results(self._graph_module)
        except Refused as refused:
            self._fall_back(refused)
            return False
        self.orders = [memory_order(node.meta["example_value"]) for node in self.results if isinstance(node, fx.Node)]
        return True

    def _fall_back(self, why: Exception) -> None:
        """From now on the region runs operator by operator, but for the parts of it that can be compiled."""
        parts = self._split(why) if isinstance(why, Refused) and why.nodes is not None and _C.fallback_mode() != ERROR else None
        self._tell(why, parts)
        if parts is not None:
            self._otherwise = parts.run
        self._eager = True
        self._latest = None
        self._by_weights.clear()

    def _split(self, why: Refused) -> Optional[Split]:
        refused = {node for node in self._graph_module.graph.nodes if node.name in (why.nodes or ())}
        alike = {node.target for node in refused}  # what is refused once is refused again
        return split(self._graph_module, self._examples, {node for node in calls_of(self._graph_module) if node.target in alike}, self._part)

    def _part(self, graph_module: fx.GraphModule, examples: Sequence[Any], number: int) -> Region:
        name = f"{self.name}, part {number}"
        say = self._say
        return Region(graph_module, examples, name, self._options, None if say is None else lambda text: say(f"part {number}: {text}"))

    def _tell(self, why: Exception, parts: Optional[Split] = None) -> None:
        text = f"{self.name} is not compiled{' as a whole' if parts is not None else ''}: {str(why).strip()}"
        if parts is not None:
            alone = collections.Counter(map(name_of_target, parts.one_by_one))
            compiled = ", ".join(str(len(nodes)) for nodes in parts.parts)
            then = f"parts of {compiled} operators are compiled, and between them {', '.join(alone)} run one by one"
            folder = debug_folder(f"{self.name} in parts")
            if folder is not None:
                folder.split(parts.listing(self._graph_module))
        else:
            then = "it runs operator by operator"
        if self._say is not None:
            self._say(f"{text}; {then}" if parts is not None else text)
        if _C.fallback_mode() == ERROR:
            raise RuntimeError(f"{text} (SIDRA_FALLBACK=error)") from why
        LOG.warning("%s; %s", text, then)

    def _program(self, arguments: Sequence[Any]) -> Optional[Program]:
        """For these shapes, and for weights as they are now. None: this run is operator by operator, since the weights have just changed, or there is
        none."""
        self._forget_gone()
        weights = self.weights_of(arguments)
        tensors = [*weights, *self._constants]
        key = tuple(map(id, weights))
        of = self._by_weights.get(key)
        if of is None:
            try:
                of = self._by_weights[key] = Weights(tensors)
            except RuntimeError as error:
                self._fall_back(error)
                return None
            for weight in weights:
                weakref.finalize(weight, self._gone.append, key).atexit = False
        elif not of.contents.are_current():
            # They may change before each run, as in training; compiling takes longer than a run.
            self._by_weights[key] = Weights(tensors)
            self._latest = None
            return None
        shapes = (*(tensor.shape for tensor in self._inputs_of(arguments)), *map(value_of, self.numbers_of(arguments)))
        if shapes in of.refused:
            return None
        program = of.programs.get(shapes)
        if program is None:
            if len(of.programs) == SHAPES_MAX:
                if not of.full:
                    LOG.warning("%s is compiled for %d shapes already; it runs operator by operator for others", self.name, SHAPES_MAX)
                of.full = True
                return None
            samples = of.samples.setdefault(shapes, [])
            if len(samples) < self._options.calibration_calls:
                samples.append([tensor.cpu() for tensor in self._inputs_of(arguments)])
                return None
            program = self._compiled(arguments, of, shapes, samples)
            if program is None:
                return None
            of.programs[shapes] = program
            samples.clear()
        self._latest = program
        return program

    def _forget_gone(self) -> None:
        """Drops programs whose weights are gone. Garbage collection only notes them: it may run anywhere, and must not wait for a compilation."""
        while self._gone:
            if self._by_weights.pop(self._gone.popleft(), None) is not None:
                self._latest = None

    def _compiled(self, arguments: Sequence[Any], of: Weights, shapes: Any, samples: Sequence[Sequence[torch.Tensor]]) -> Optional[Program]:
        import sidra

        try:
            # PyTorch's exporter changes modules and switches of the whole process, so nobody may capture or export meanwhile. What the caller has chosen
            # for its own tensors must not reach it.
            with compile_lock, torch.inference_mode(False), torch.no_grad(), torch.autocast("cpu", enabled=False), torch.device("cpu"):
                network = network_of(self._graph_module, arguments, self._weights)
                return self._program_of(network, arguments, of, samples)
        except Refused as error:
            self._fall_back(error)
        except sidra.CompileError as error:
            if nodes := origins_in(getattr(error, "stack_trace", "")):
                self._fall_back(Refused(str(error), nodes))
            else:
                self._tell(error)
                of.refused.add(shapes)
        except RuntimeError as error:  # for these shapes, or without room now
            self._tell(error)  # before it is remembered: where that is an exception, it is one each time
            of.refused.add(shapes)
        return None

    def _program_of(self, network: Network, arguments: Sequence[Any], of: Weights, samples: Sequence[Sequence[torch.Tensor]]) -> Program:
        import sidra

        expected = [node.meta["example_value"].dtype for node in self.results if isinstance(node, fx.Node)]
        key = cache.key_of(network.module, network.examples, [str(dtype) for dtype in expected], samples, self._options.compiler)
        path, small = (cache.fetch(key), False) if key is not None else (None, False)
        if key is not None and path is None:
            path, small = cache.fetch(f"{key}.small"), True
        folder = debug_folder(self.name)
        if folder is not None:
            folder.captured(self._graph_module)
        elif path is not None and self._say is None:
            with contextlib.suppress(RuntimeError):  # the file is gone or damaged: as if it had not been there
                return Program(self, path, arguments, network.inputs, of.contents, small)
        program, small = network.program(expected)
        if folder is not None:
            folder.exported(program)
        # By the program's names of its inputs, of which there may be fewer than arguments.
        place = {argument: i for i, argument in enumerate(self._inputs)}
        names = program.graph_signature.user_inputs
        batches = [{name: sample[place[i]] for name, i in zip(names, network.inputs, strict=True)} for sample in samples]
        compiled = sidra.compile(program, batches or None, **self._options.compiler, **(folder.options if folder is not None else {}))
        if folder is not None:
            folder.compiled(compiled.path)
        if self._say is not None:
            operators, operations = len(calls_of(self._graph_module)), compiled.variants[0].calls
            self._say(f"compiled: {operators} operators in {operations} operations of the chip, {compiled.crossbar_count} crossbars")
        made = Program(self, compiled.path, arguments, network.inputs, of.contents, small)
        # What somebody has written to the weights meanwhile may be in the file, but is not in the key.
        if key is not None and of.contents.are_current():
            cache.keep(f"{key}.small" if small else key, compiled.path)
        return made


def check_autocast(graph_module: fx.GraphModule) -> None:
    """Raises Refused if PyTorch would choose other types than the graph has: its exporter does not know that, because it runs on the CPU."""
    inside = any("autocast" in name_of_target(node) for node in calls_of(graph_module))
    if inside or torch.is_autocast_enabled("sidra"):
        raise Refused("it runs under autocast; move the model to that type instead, with .to(torch.bfloat16)", None)


def check_results(graph_module: fx.GraphModule) -> None:
    """Raises Refused if the results are not what a compiled model can return: new tensors on the device."""
    storages = {node.meta["example_value"].untyped_storage()._cdata for node in graph_module.graph.find_nodes(op="placeholder")
                if isinstance(node.meta.get("example_value"), torch.Tensor)}
    for node in results_of(graph_module):
        if not isinstance(node, fx.Node):
            continue
        value = node.meta.get("example_value")
        if not isinstance(value, torch.Tensor):
            raise Refused(f"its result {node.name} is no tensor")
        if value.device.type != "sidra":
            raise Refused(f"its result {node.name} is on the device {value.device}")
        storage = value.untyped_storage()._cdata
        if storage in storages:
            raise Refused(f"its result {node.name} ({node.target}) is a view of an input or of another result")
        storages.add(storage)


def memory_order(value: torch.Tensor) -> Optional[tuple[int, ...]]:
    """How the dimensions of a result of the graph lie in memory, the outermost first; None: as they come. A size that Dynamo leaves open stays open."""
    known = [stride if isinstance(stride, int) else stride.node.hint for stride in value.stride()]
    order = tuple(sorted(range(value.dim()), key=lambda i: -int(known[i])))
    return None if order == tuple(range(value.dim())) else order


def in_order(tensor: torch.Tensor, order: tuple[int, ...]) -> torch.Tensor:
    return torch.empty_permuted(tensor.shape, order, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def name_of(graph_module: fx.GraphModule) -> str:
    """A name for people: Dynamo's number of the graph, and the line where it begins."""
    from torch._guards import CompileContext

    number = CompileContext.current_compile_id()
    line = next(filter(None, map(line_of, calls_of(graph_module))), None)
    return f"region {number}" if line is None else f"region {number} ({line[0]}:{line[1]})"
