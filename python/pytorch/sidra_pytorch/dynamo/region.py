# SPDX-License-Identifier: MIT
"""A graph that torch.compile() has captured, and the compiled models that it runs as."""
from __future__ import annotations

import collections
import logging
import operator
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Optional

import torch
from torch import fx
from torch._dynamo.convert_frame import compile_lock
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from .. import _C, device
from . import cache
from .debug import DebugFolder, calls_of, debug_folder, folder_of, keep_reason, line_of, name_of_target
from .effects import devices_in, tensors_of, value_of
from .integers import are_small
from .network import Network, Refused, is_number, is_weight, network_of, origins_in, results_of
from .options import Options
from .rows import Padded, has_open_sizes, keeps_rows
from .split import Split, split

LOG = logging.getLogger("sidra")
INT8, ERROR = device.MATMUL_MODES.index("int8"), device.FALLBACK_MODES.index("error")
SHAPES_MAX, PADDED_SHAPES_MAX = 8, 24  # for which a region is compiled; the latter if it is padded to one of few
NO_ROOM = "SIDRA_ERROR_OUT_OF_CROSSBARS"
BROKEN = ("SIDRA_ERROR_FAULT", "SIDRA_ERROR_CONTEXT_LOST", "SIDRA_ERROR_DEVICE_LOST")  # nothing that a region could do about it
RUNS_MAX = 1024  # with the same weights, before they are compiled once more
WORTH = 60  # seconds for which a compiled model should be of use


def picked(indices: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """What returns the values with these indices; faster than a loop."""
    if len(indices) > 1:
        return operator.itemgetter(*indices)
    return lambda values: tuple(values[i] for i in indices)


def identity(weights: Sequence[torch.Tensor], numbers: Sequence[Any]) -> tuple[Any, ...]:
    """What a program needs beside inputs of the same shapes: the same weights and numbers. The id() of an object that is gone may return, but programs
    know whether their weights are there."""
    return (*map(id, weights), *map(number_of, numbers))


def number_of(number: Any) -> Any:
    number = number.item() if isinstance(number, torch.Tensor) else int(number) if isinstance(number, torch.SymInt) else number
    return number if number == number and number else str(number)  # NaN is not equal to itself, and -0.0 is to 0.0


class Program:
    """A compiled model on its device, for one set of weights, shapes and numbers."""

    def __init__(self, region: Region, path: str, arguments: Sequence[Any], inputs: Sequence[int], of: Weights, small: bool):
        index = next(iter(region.devices)).index
        self.model: Any = _C.Model(index, path, region.name, of.contents, [program.model for program in of.programs.values()])
        self.model.deploy()  # all matrices are read now, so the file may go
        self._run = self.model.run
        self.inputs = list(inputs)
        self._inputs = picked(inputs)
        self._small = [i for i in inputs if arguments[i].dtype == torch.int64] if small else []  # what must be so
        self._weights_of, self._numbers_of = region.weights_of, region.numbers_of
        self._identity = identity(self._weights_of(arguments), self._numbers_of(arguments))
        self._results = region.results
        self.is_plain = all(isinstance(node, fx.Node) for node in region.results) and not any(region.orders)
        self._orders = region.orders

    @property
    def can_be_called_directly(self) -> bool:
        """Whether the model does all of a call."""
        return self.is_plain and not self._small

    def __call__(self, arguments: Sequence[Any]) -> Optional[tuple[Any, ...]]:
        """The results; None if these arguments need another program."""
        if identity(self._weights_of(arguments), self._numbers_of(arguments)) != self._identity:
            return None
        if self._small and not are_small([arguments[i] for i in self._small]):
            return None
        tensors = self._run(self._inputs(arguments))
        if not tensors:
            return None
        if self.is_plain:
            return tensors
        pairs = zip(tensors, self._orders, strict=True)
        made = iter([tensor if order is None else in_order(tensor, order) for tensor, order in pairs])
        return tuple(next(made) if isinstance(result, fx.Node) else result for result in self._results)


class Weights:
    """The programs for one set of weights. Modules of one class can share a region."""

    def __init__(self, tensors: Sequence[torch.Tensor], before: Optional[Weights] = None):
        """before: the same tensors, before somebody has written to them."""
        self.contents = _C.Contents(tensors)
        self.programs: dict[Any, Program] = {}
        self.full = False  # and that was said
        self.samples: dict[Any, list[list[torch.Tensor]]] = {}  # inputs of the first calls, by shapes
        self.refused: dict[Any, Optional[int]] = {}  # by shapes: so many crossbars were free, which were too few; None: there was another reason
        self.compiled_at: Optional[float] = None  # for the first time
        # Weights that change again and again soon after they were compiled, as between two steps of an optimizer, wait longer each time.
        self.runs_of_wait = self.runs_to_wait = 0
        if before is not None:
            wasted = before.compiled_at is not None and time.monotonic() - before.compiled_at < WORTH
            self.runs_to_wait = min(max(1, 2 * before.runs_of_wait if wasted else before.runs_of_wait if before.compiled_at is None else 1), RUNS_MAX)
            self.runs_of_wait = self.runs_to_wait

    def may_be_compiled(self, shapes: Any, free: Callable[[], int]) -> bool:
        """Whether there is hope. free: how many crossbars are free now."""
        if shapes not in self.refused:
            return True
        then = self.refused[shapes]
        return then is not None and free() > then


class Region:
    """Runs a graph that records no gradients: compiled for the shapes and the content of the weights that it gets, or else operator by operator."""

    def __init__(self, graph_module: fx.GraphModule, example_inputs: Sequence[Any], name: str, options: Options,
                 say: Optional[Callable[[str], None]] = None, is_padded: bool = False):
        """is_padded: its open sizes are few."""
        self.name = name
        self._entry: Callable[[], Any] = lambda: None  # what Dynamo calls
        self._is_padded = is_padded
        self._last_shapes: tuple[Any, ...] = ()
        self._say = say  # gets what becomes of it, for people
        self._folder: Optional[DebugFolder] = None  # of the compilation that is under way
        self.results = results_of(graph_module)
        self.orders: list[Optional[tuple[int, ...]]] = []
        self._graph_module, self._options = graph_module, options
        self._weights = [i for i, value in enumerate(example_inputs) if is_weight(value)]
        numbers = self._numbers = [i for i, value in enumerate(example_inputs) if i not in self._weights and is_number(value)]
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
        self._examples = [stand_in(node, value) for node, value in zip(graph_module.graph.find_nodes(op="placeholder"), example_inputs, strict=True)]
        self._otherwise: Callable[..., Any] = graph_module  # what runs if no program does
        self._eager = not self._can_be_compiled()
        self._in_parts: Optional[Split] = None  # for sizes that are new
        if not self._eager and not is_padded and has_open_sizes(graph_module):
            self._in_parts = self._split_by_sizes()
            if self._in_parts is not None and self._in_parts.one_by_one:
                self._keep_parts(self._in_parts)

    def entry(self) -> Any:
        """To be called instead of the region: it calls the latest model without a detour through Python, and the region if that is not right. The region
        does not keep it alive."""
        entry = _C.Entry(self)
        self._entry = weakref.ref(entry)
        return entry

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
        if results is not None:
            return results
        if self._in_parts is not None:
            return self._in_parts.run(*arguments)
        return self._otherwise(*arguments)

    def _use(self, program: Optional[Program], arguments: Sequence[Any] = ()) -> None:
        """From now on, this one is tried first."""
        self._latest = program
        entry = self._entry()
        if entry is None:
            return
        numbers = [(i, arguments[i]) for i in self._numbers] if program is not None else []
        if program is None or not program.can_be_called_directly or not all(type(number) in (int, float, bool) for _, number in numbers):
            entry.forget()
        else:
            entry.use(program.model, program.inputs, numbers, self._weights, arguments)
            if self._gone:  # since they were forgotten
                entry.ask()

    def _can_be_compiled(self) -> bool:
        if not any(device.type == "sidra" for device in self.devices):
            why = "it has no tensors on a sidra device, so it runs as it is"
            keep_reason(self.name, self._graph_module, why)
            if self._say is not None:
                self._say(why)
            LOG.warning("%s: %s; move the model and its inputs there with .to(\"sidra:0\")", self.name, why)
            return False
        try:
            devices = self.devices.union(device for device in devices_in(self._graph_module) if device.type == "sidra")
            if len(devices) > 1:
                raise Refused(f"its tensors are on several devices: {', '.join(sorted(map(str, devices)))}")
            if not self._inputs:
                raise Refused("it has no inputs")
            check_autocast(self._graph_module)
            check_sizes(self._graph_module)
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
        self._eager, self._in_parts = True, None
        self._use(None)
        self._by_weights.clear()

    def _split(self, why: Refused) -> Optional[Split]:
        refused = {node for node in self._graph_module.graph.nodes if node.name in (why.nodes or ())}
        alike = {node.target for node in refused}  # what is refused once is refused again
        return split(self._graph_module, self._examples, {node for node in calls_of(self._graph_module) if node.target in alike}, self._part)

    def _split_by_sizes(self) -> Optional[Split]:
        """Parts that can be padded, and parts without open sizes, are compiled for few sizes."""
        refused = {node for node in calls_of(self._graph_module) if not keeps_rows(node)}
        return split(self._graph_module, self._examples, refused, self._padded_part, whole=True)

    def _padded_part(self, graph_module: fx.GraphModule, examples: Sequence[Any], number: int) -> Callable[..., Any]:
        if not has_open_sizes(graph_module):
            return self._part(graph_module, examples, number)
        name = f"{self.name}, part {number}"
        say = self._say
        region = Region(graph_module, examples, name, self._options, None if say is None else lambda text: say(f"part {number}: {text}"), is_padded=True)
        padded = Padded(graph_module, examples, region.entry())
        if padded.can_pad():
            return padded
        why = "it has open sizes that are those of no input, so it runs operator by operator"
        keep_reason(name, graph_module, why)
        if say is not None:
            say(f"part {number}: {why}")
        return graph_module.forward

    def _part(self, graph_module: fx.GraphModule, examples: Sequence[Any], number: int) -> Callable[..., Any]:
        name = f"{self.name}, part {number}"
        say = self._say
        return Region(graph_module, examples, name, self._options, None if say is None else lambda text: say(f"part {number}: {text}")).entry()

    def _tell(self, why: Exception, parts: Optional[Split] = None) -> None:
        text = f"{self.name} is not compiled{' as a whole' if parts is not None else ''}: {str(why).strip()}"
        self._keep_reason(text)
        if parts is not None:
            alone = collections.Counter(map(name_of_target, parts.one_by_one))
            compiled = ", ".join(str(len(nodes)) for nodes in parts.parts)
            then = f"parts of {compiled} operators are compiled, and between them {', '.join(alone)} run one by one"
            self._keep_parts(parts)
        else:
            then = "it runs operator by operator"
        if self._say is not None:
            self._say(f"{text}; {then}" if parts is not None else text)
        if _C.fallback_mode() == ERROR:
            raise RuntimeError(f"{text} (SIDRA_FALLBACK=error)") from why
        LOG.warning("%s; %s", text, then)

    def _keep_parts(self, parts: Split) -> None:
        folder = debug_folder(f"{self.name} in parts")
        if folder is not None:
            folder.split(parts.listing(self._graph_module))

    def _keep_reason(self, text: str) -> None:
        """In the folder of the compilation, or in one of its own if the graph was refused before."""
        if self._folder is not None:
            self._folder.refused(text)
        else:
            keep_reason(self.name, self._graph_module, text)

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
                weakref.finalize(weight, _note, self._gone, key, self._entry).atexit = False
        elif not of.contents.are_current():
            # They may change before each run, as in training; compiling takes longer than a run.
            of = self._by_weights[key] = Weights(tensors, of)
            self._use(None)
        if of.runs_to_wait > 0:
            of.runs_to_wait -= 1
            return None
        shapes = (*(tensor.shape for tensor in self._inputs_of(arguments)), *map(number_of, self.numbers_of(arguments)))
        again, self._last_shapes = shapes == self._last_shapes, shapes
        program = of.programs.get(shapes)
        if program is None:
            if self._in_parts is not None and (not self._in_parts.one_by_one or not again):
                return None  # a size that is new may not come again
            if not of.may_be_compiled(shapes, self._free_crossbars):
                return None
            most = PADDED_SHAPES_MAX if self._is_padded else SHAPES_MAX
            if len(of.programs) == most:
                if not of.full:
                    how = "operator by operator" if self._in_parts is None else "in parts"
                    text = f"{self.name} is compiled for {most} shapes already; it runs {how} for others"
                    self._keep_reason(text)
                    LOG.warning("%s", text)
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
            of.compiled_at = of.compiled_at or time.monotonic()
            of.refused.pop(shapes, None)
            samples.clear()
        self._use(program, arguments)
        return program

    def _free_crossbars(self) -> int:
        return int(_C.properties(next(iter(self.devices)).index)["crossbars_free"])

    def _forget_gone(self) -> None:
        """Drops programs whose weights are gone. Garbage collection only notes them: it may run anywhere, and must not wait for a compilation."""
        while self._gone:
            if self._by_weights.pop(self._gone.popleft(), None) is not None:
                self._use(None)

    def _compiled(self, arguments: Sequence[Any], of: Weights, shapes: Any, samples: Sequence[Sequence[torch.Tensor]]) -> Optional[Program]:
        import sidra

        self._folder = folder_of(self.name, self._graph_module)
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
                of.refused[shapes] = None
        except ImportError as error:
            raise ImportError(f"{self.name} cannot be compiled: {error}") from error
        except RuntimeError as error:  # for these shapes, or without room now
            if is_broken(error):
                raise RuntimeError(f"{self.name} cannot be compiled: {error}") from error
            again = shapes in of.refused
            if not again or _C.fallback_mode() == ERROR:
                self._tell(error)  # before it is remembered: where that is an exception, it is one each time
            else:
                self._keep_reason(f"{self.name} is not compiled: {error}")
            of.refused[shapes] = self._free_crossbars() if NO_ROOM in str(error) else None
        finally:
            self._folder = None
        return None

    def _program_of(self, network: Network, arguments: Sequence[Any], of: Weights, samples: Sequence[Sequence[torch.Tensor]]) -> Program:
        import sidra

        expected = [node.meta["example_value"].dtype for node in self.results if isinstance(node, fx.Node)]
        key = cache.key_of(network.module, network.examples, [str(dtype) for dtype in expected], samples, self._options.compiler)
        path, small = (cache.fetch(key), False) if key is not None else (None, False)
        if key is not None and path is None:
            path, small = cache.fetch(f"{key}.small"), True
        folder = self._folder
        if folder is None and path is not None and self._say is None:
            try:
                return Program(self, path, arguments, network.inputs, of, small)
            except RuntimeError as error:  # the file is gone or damaged: as if it had not been there
                if NO_ROOM in str(error) or is_broken(error):
                    raise
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
        made = [output.dtype for output in compiled.variants[0].outputs]
        if made != [str(dtype).removeprefix("torch.") for dtype in expected]:
            raise Refused(f"its results have the types {', '.join(map(str, expected))}, and those of the compiled model {', '.join(made)}")
        if self._say is not None:
            operators, operations = len(calls_of(self._graph_module)), compiled.variants[0].calls
            self._say(f"compiled: {operators} operators in {operations} operations of the chip, {compiled.crossbar_count} crossbars")
        # What somebody has written to the weights meanwhile may be in the file, but is not in the key.
        if key is not None and of.contents.are_current():
            cache.keep(f"{key}.small" if small else key, compiled.path)
        return Program(self, compiled.path, arguments, network.inputs, of, small)


def is_broken(error: RuntimeError) -> bool:
    """Whether it is about the device."""
    return any(code in str(error) for code in BROKEN)


def _note(gone: collections.deque[Any], key: Any, entry: Callable[[], Any]) -> None:
    """That a weight is gone. The next call of the region forgets what was compiled with it."""
    gone.append(key)
    called = entry()
    if called is not None:
        called.ask()


def stand_in(node: fx.Node, value: Any) -> Any:
    """Of an example: one that does not keep it alive."""
    fake = node.meta.get("example_value", value)
    if fake is not value and is_weight(value):
        fake._dynamo_static_input_type = "unguarded"  # as Dynamo marks weights
    return fake


def check_autocast(graph_module: fx.GraphModule) -> None:
    """Raises Refused if PyTorch would choose other types than the graph has: its exporter does not know that, because it runs on the CPU."""
    inside = any("autocast" in name_of_target(node) for node in calls_of(graph_module))
    if inside or torch.is_autocast_enabled("sidra"):
        raise Refused("it runs under autocast; move the model to that type instead, with .to(torch.bfloat16)", None)


def check_sizes(graph_module: fx.GraphModule) -> None:
    """Raises Refused if a tensor has a size that nobody knows before the run. (A number that depends on values is no obstacle.)"""
    for node in calls_of(graph_module):
        if any(map(free_unbacked_symbols, tensors_of(value_of(node)))):
            raise Refused(f"the size of what {name_of_target(node)} makes depends on values")


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
