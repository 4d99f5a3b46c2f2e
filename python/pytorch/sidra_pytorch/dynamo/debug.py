# SPDX-License-Identifier: MIT
"""To see what becomes of a region: SIDRA_DEBUG_DIR keeps each step of its compilation, and torch.compile(backend="sidra_debug") prints a summary."""
from __future__ import annotations

import collections
import itertools
import linecache
import logging
import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any, Optional

import torch
from torch import fx

LOG = logging.getLogger("sidra")


def line_of(node: fx.Node) -> Optional[tuple[str, int]]:
    """The file and line of the user's program from which Dynamo has captured a node."""
    lines = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    return (lines[-1][0], int(lines[-1][1])) if lines else None


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
            yield f"# {line[0]}:{line[1]}: {linecache.getline(*line).strip()}"
        last = line or last
        value = node.meta.get("example_value")
        of = f"  {str(value.dtype).removeprefix('torch.')} {tuple(value.shape)} {value.device}" if isinstance(value, torch.Tensor) else ""
        yield f"{node.format_node()}{of}"


class DebugFolder:
    """The folder of one compilation below SIDRA_DEBUG_DIR: graph.txt is what Dynamo has captured, program.txt what PyTorch's exporter has made of it,
    passes/ the ONNX file and what each pass of the compiler makes of it, model.sidra the result, report.html and report.json what it costs by layer,
    and calls.txt its operations, if sidra-objdump is installed. Of a region that is not compiled as a whole, parts.txt says which node is in which part."""

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
        (self.path / "graph.txt").write_text("\n".join(listing(graph_module)) + "\n")

    def split(self, listing: Iterator[str]) -> None:
        (self.path / "parts.txt").write_text("\n".join(listing) + "\n")

    def exported(self, program: torch.export.ExportedProgram) -> None:
        (self.path / "program.txt").write_text(f"{program}\n")

    def compiled(self, file: str) -> None:
        shutil.copyfile(file, self.path / "model.sidra")
        tool = shutil.which("sidra-objdump")
        if tool is None:
            text = f"sidra-objdump, which lists them, is not in PATH: `make install` installs it; then: sidra-objdump --calls --programs {self.path / 'model.sidra'}\n"
        else:
            run = subprocess.run([tool, "--calls", "--programs", str(self.path / "model.sidra")], capture_output=True, text=True, errors="replace")
            text = run.stdout + run.stderr
        (self.path / "calls.txt").write_text(text)


def debug_folder(name: str) -> Optional[DebugFolder]:
    """None: SIDRA_DEBUG_DIR names no folder, or one that cannot be written to, which is said."""
    base = os.environ.get("SIDRA_DEBUG_DIR", "")
    try:
        return DebugFolder(base, name) if base else None
    except OSError as error:
        LOG.warning("SIDRA_DEBUG_DIR: %s", error)
        return None


def summary(name: str, graph_module: fx.GraphModule) -> str:
    """A region's graph, and how often it has each operator."""
    counts = collections.Counter(map(name_of_target, calls_of(graph_module)))
    width = max(map(len, counts), default=0)
    table = "\n".join(f"    {target:{width}}  {count}" for target, count in counts.most_common())
    return f"{name}\n" + "\n".join(f"    {line}" for line in listing(graph_module)) + f"\n  {sum(counts.values())} operators:\n{table}"
