# SPDX-License-Identifier: MIT
"""Networks as ONNX files, which the compiler reads."""
from __future__ import annotations

import contextlib
import logging
import math
import os
import re
import sys
import warnings
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from . import _core

PROTO_BYTES_MAX = 2**31 - 1  # of one message; weights beyond that are in a file of their own


def _path(folder: str, name: str) -> str:
    """Compiled models are called as their file."""
    return os.path.join(folder, (re.sub(r"[^\w.-]+", "_", name)[:100] or "network") + ".onnx")


def _save_proto(model: Any, path: str) -> None:
    import onnx

    if model.ByteSize() <= PROTO_BYTES_MAX:
        onnx.save_model(model, path)
    else:
        copy = onnx.ModelProto()
        copy.CopyFrom(model)  # saving puts the names of files into the model
        onnx.save_model(copy, path, save_as_external_data=True, location="weights")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """PyTorch's exporter reports operators of packages that are not installed, constants that it cannot fold, and its own use of old functions."""
    logs = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript")]
    levels = [log.level for log in logs]
    try:
        for log in logs:
            log.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


def arguments_of(example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    import torch

    def tensor(value: Any) -> Any:
        return torch.as_tensor(value) if hasattr(value, "__array__") else value

    if isinstance(example_inputs, Mapping):
        return (), {name: tensor(value) for name, value in example_inputs.items()}
    if isinstance(example_inputs, (tuple, list)):
        return tuple(tensor(value) for value in example_inputs), {}
    return (tensor(example_inputs),), {}


def _check_module(module: Any, name: str, example_inputs: Any) -> None:
    if any(part.training for part in module.modules()):
        raise ValueError(f"{name} is in training mode, in which layers such as dropout compute something else; call model.eval() first")
    if any(value.device.type != "cpu" for value in (*module.parameters(), *module.buffers())):
        raise ValueError(f"{name} has parameters on a device, but PyTorch exports modules on the CPU; call model.cpu() first")
    if example_inputs is None:
        raise ValueError(f"{name} cannot be exported without inputs; give them as example_inputs or in calib_data")


def _atan2(y: Any, x: Any) -> Any:
    """torch.atan2() in operators of ONNX. What the exporter makes of it is wrong where an argument is 0, infinite or no number."""
    from onnxscript import opset18

    op: Any = opset18  # the types of its arguments leave out the numbers of Python, which it takes
    zero, one, pi = (op.CastLike(number, y) for number in (0.0, 1.0, math.pi))

    def is_negative(value: Any) -> Any:
        return op.Or(op.Less(value, zero), op.And(op.Equal(value, zero), op.Less(op.Div(one, value), zero)))

    rise, run = op.Abs(y), op.Abs(x)
    angle = op.Atan(op.Where(op.Equal(rise, run), op.Sign(rise), op.Div(rise, run)))  # where both are 0 or infinite, the quotient is no number
    angle = op.Where(is_negative(x), op.Sub(pi, angle), angle)
    return op.Where(is_negative(y), op.Neg(angle), angle)


def _cast_outputs(model: Any, program: Any) -> None:
    """The exporter leaves sums of half precision and the like in float32: the model's outputs get the types that they have in the program."""
    import torch
    from onnxscript import ir

    halves = {torch.float16: ir.DataType.FLOAT16, torch.bfloat16: ir.DataType.BFLOAT16}
    nodes = {node.name: node for node in program.graph.nodes}
    outputs = model.graph.outputs
    for place, name in enumerate(name for name in program.graph_signature.user_outputs if name in nodes):
        wanted, value = halves.get(nodes[name].meta["val"].dtype), outputs[place]
        if wanted in (None, value.dtype):
            continue
        cast = ir.node("Cast", [value], {"to": wanted})
        model.graph.append(cast)
        outputs[place] = cast.outputs[0]
        outputs[place].name, value.name = value.name, f"{value.name}_uncast"
        outputs[place].dtype, outputs[place].shape = wanted, value.shape


def _fold(model: Any) -> None:
    """Computes sizes. The rest is the compiler's work: of the exporter's own optimizer, the rule that leaves out views around a product looks at shapes
    only, and takes x.view(8, 2, 2, 2) @ x.view(8, 2, 2, 2) of an 8 x 8 matrix for x @ x."""
    from onnxscript import optimizer

    optimizer.inline(model)
    optimizer.fold_constants(model)
    optimizer.remove_unused_nodes(model)


def _save_torch(model: Any, name: str, example_inputs: Any, path: str) -> None:
    import torch

    try:
        with torch.no_grad(), _quiet():
            if isinstance(model, torch.nn.Module):
                arguments, named = arguments_of(example_inputs)
                model = torch.export.export(model, arguments, named)
            exported = torch.onnx.export(model, dynamo=True, verbose=False, optimize=False,
                                         custom_translation_table={torch.ops.aten.atan2.default: _atan2})
            assert exported is not None  # it is if export() writes the file itself
            _fold(exported.model)
            _cast_outputs(exported.model, model)
            exported.save(path)
    except ModuleNotFoundError as error:
        raise ImportError(f"PyTorch's exporter needs the package {error.name}: pip install {error.name}") from error
    except Exception as error:
        unknown = re.findall(r"No ONNX function found for <OpOverload\(op='([\w.]+)'", str(error))
        why = f"there is no operator of ONNX for {', '.join(unknown)}" if unknown else error
        refused: Any = _core.CompileError(f"{name}: PyTorch cannot export it: {why}")
        if unknown and isinstance(model, torch.export.ExportedProgram):
            refused.stack_trace = _stack_trace_of_operators(model, unknown)
        raise refused from error


def _stack_trace_of_operators(program: Any, names: Collection[str]) -> str:
    """Of the lines of Python from which they come. The exporter has decomposed operators before it refused these."""
    from torch._decomp import decomposition_table

    for decompositions in ({}, None, dict(decomposition_table)):
        with _quiet(), contextlib.suppress(Exception):
            nodes = program.run_decompositions(decompositions).graph.nodes
            if found := [node.meta.get("stack_trace") or "" for node in nodes if str(node.target).rpartition(".")[0] in names]:
                return "".join(found)
    return ""


def nodes_of(path: str) -> dict[str, tuple[str, str]]:
    """The nodes of a network in a file by their names, also those of graphs in others: the operator, and if PyTorch has exported the network, the stack trace
    of the lines of Python from which it comes."""
    import onnx

    found: dict[str, tuple[str, str]] = {}
    graphs: list[Any] = [onnx.load(path, load_external_data=False).graph]
    while graphs:
        for node in graphs.pop().node:
            trace = next((note.value for note in node.metadata_props if note.key == "pkg.torch.onnx.stack_trace"), "")
            found.setdefault(node.name, (node.op_type, trace))
            graphs += [graph for attribute in node.attribute for graph in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else []))]
    return found


def stack_trace_of_node(path: str, message: str) -> str:
    """Of the lines of Python from which a node comes that the compiler has refused, if PyTorch has exported it."""
    names = re.findall(r"\bnode '([^']+)'", message)
    return nodes_of(path).get(names[0], ("", ""))[1] if names else ""


def is_module(model: Any) -> bool:
    torch = sys.modules.get("torch")  # whoever has such an object has imported its package
    return torch is not None and isinstance(model, torch.nn.Module)


def onnx_file(model: Any, example_inputs: Any, folder: str) -> str:
    """The path of the network's file, which is in the folder unless the model is a path itself."""
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{path}: there is no such file")
        return path
    # Whoever has such an object has imported its package.
    onnx, torch = sys.modules.get("onnx"), sys.modules.get("torch")
    if onnx and isinstance(model, onnx.ModelProto):
        path = _path(folder, model.graph.name)
        _save_proto(model, path)
    elif torch and isinstance(model, torch.nn.Module):
        name = type(model).__name__
        path = _path(folder, name)
        _check_module(model, name, example_inputs)
        _save_torch(model, name, example_inputs, path)
    elif torch and isinstance(model, torch.export.ExportedProgram):
        path = _path(folder, "program")
        _save_torch(model, "program", None, path)
    else:
        raise TypeError(f"model: expected a path, an onnx.ModelProto, a torch.nn.Module or a torch.export.ExportedProgram, not {type(model).__name__}")
    return path
