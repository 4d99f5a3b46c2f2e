# SPDX-License-Identifier: MIT
"""To see what becomes of a region: SIDRA_DEBUG_DIR keeps each step of its compilation, and torch.compile(backend="sidra_debug") prints a summary."""
from __future__ import annotations

import contextlib
import itertools
import linecache
import logging
import os
import pathlib
import re
import shutil
from collections.abc import Iterator
from typing import Any, Optional

import torch
from torch import fx

LOG = logging.getLogger("sidra")


def line_in(stack_trace: str) -> Optional[tuple[str, int]]:
    """The file and line of its last call."""
    lines = re.findall(r'File "([^"]+)", line (\d+)', stack_trace)
    return (lines[-1][0], int(lines[-1][1])) if lines else None


def line_of(node: fx.Node) -> Optional[tuple[str, int]]:
    """The file and line of the user's program from which Dynamo has captured a node."""
    return line_in(node.meta.get("stack_trace") or "")


def line_text(line: tuple[str, int]) -> str:
    return f"{line[0]}:{line[1]}: {linecache.getline(*line).strip()}"


def calls_of(graph_module: fx.GraphModule) -> list[fx.Node]:
    return [node for node in graph_module.graph.nodes if node.op.startswith("call_")]


def name_of_target(node: fx.Node) -> str:
    return str(node._pretty_print_target(node.target))


def listing(graph_module: fx.GraphModule) -> Iterator[str]:
    """The graph, a line for each node, under the lines of Python that it comes from."""
    last = None
    for node in graph_module.graph.nodes:
        line = line_of(node)
        if line is not None and line != last:
            yield f"# {line_text(line)}"
        last = line or last
        value = node.meta.get("example_value")
        of = f"  {str(value.dtype).removeprefix('torch.')} {tuple(value.shape)} {value.device}" if isinstance(value, torch.Tensor) else ""
        yield f"{node.format_node()}{of}"


@contextlib.contextmanager
def said() -> Iterator[None]:
    """What cannot be written is no reason for a program to end."""
    try:
        yield
    except OSError as error:
        LOG.warning("SIDRA_DEBUG_DIR: %s", error)


class DebugFolder:
    """The folder of one compilation below SIDRA_DEBUG_DIR: graph.txt is what Dynamo has captured, program.txt what PyTorch's exporter has made of it,
    passes/ the ONNX file and what each pass of the compiler makes of it, model.sidra the result, report.html and report.json what it costs by layer,
    calls.txt its operations, and provenance.txt the lines of Python from which each of them comes. Of a region that is not compiled, reason.txt says why
    not. Of one that is not compiled as a whole, parts.txt says which node is in which part."""

    def __init__(self, base: str, name: str):
        stem = re.sub(r"\W+", "-", name).strip("-")
        stem = stem if len(stem) <= 60 else f"{stem[:15]}-{stem[-44:]}"  # the number of the region, and the end of its name
        for number in itertools.count():
            self.path = pathlib.Path(base) / (stem if number == 0 else f"{stem}.{number}")
            try:
                self.path.mkdir(parents=True)
                return
            except FileExistsError:
                continue

    @property
    def options(self) -> dict[str, Any]:
        """For sidra.compile()."""
        return {"dump": self.path / "passes", "report": self.path / "report.html"}

    def captured(self, graph_module: fx.GraphModule) -> None:
        self._write("graph.txt", "\n".join(listing(graph_module)) + "\n")

    def refused(self, why: str) -> None:
        self._write("reason.txt", f"{why}\n")

    def split(self, listing: Iterator[str]) -> None:
        self._write("parts.txt", "\n".join(listing) + "\n")

    def exported(self, program: torch.export.ExportedProgram) -> None:
        self._write("program.txt", f"{program}\n")

    def compiled(self, file: str) -> None:
        from sidra._compile import listing_of

        with said():
            shutil.copyfile(file, self.path / "model.sidra")
        self._write("calls.txt", listing_of(file))
        self._write("provenance.txt", "\n".join(self._provenance(file)) + "\n")

    def _write(self, name: str, text: str) -> None:
        with said():
            (self.path / name).write_text(text)

    def _provenance(self, file: str) -> Iterator[str]:
        """Each operation of the chip, the nodes of the ONNX file that it computes, and the line of Python from which each of those comes."""
        from sidra._compile import calls_of
        from sidra._export import nodes_of

        nodes = {name: node for path in (self.path / "passes").glob("*.onnx") for name, node in nodes_of(os.fspath(path)).items()}
        rows = [("call", "step", "ONNX node", "operator", "line of Python")]
        for number, (step, names) in enumerate(calls_of(file)):
            for name in names or ["-"]:
                operator, trace = nodes.get(name, ("-", ""))  # "-": a constant, or what the compiler has added
                line = line_in(trace)
                rows.append((str(number), step, name, operator, line_text(line) if line is not None else "-"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def debug_folder(name: str) -> Optional[DebugFolder]:
    """None: SIDRA_DEBUG_DIR names no folder, or one that cannot be written to, which is said."""
    base = os.environ.get("SIDRA_DEBUG_DIR", "")
    with said():
        return DebugFolder(base, name) if base else None
    return None


def folder_of(name: str, graph_module: fx.GraphModule) -> Optional[DebugFolder]:
    """The same, for a graph that was captured."""
    folder = debug_folder(name)
    if folder is not None:
        folder.captured(graph_module)
    return folder


def keep_reason(name: str, graph_module: fx.GraphModule, why: str) -> None:
    """Why a graph is not compiled, beside the graph."""
    folder = folder_of(name, graph_module)
    if folder is not None:
        folder.refused(why)
