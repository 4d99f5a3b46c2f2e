# SPDX-License-Identifier: MIT
"""Compiled regions of earlier processes, by the hash of all that they depend on: PyTorch's exporter takes seconds, which the cache of the compiler cannot
save. Several processes can use the folder: files appear by a rename, and a file that is removed stays readable for those that have opened it."""
from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import shutil
from collections.abc import Iterable, Sequence
from typing import Any, Optional

import torch
from torch import fx

LIMIT = 4 << 30  # bytes of all files; those that were not used for the longest time are removed


def folder() -> pathlib.Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (pathlib.Path(base) if base.startswith("/") else pathlib.Path.home() / ".cache") / "sidra" / "regions"


def key_of(module: fx.GraphModule, examples: Sequence[torch.Tensor], samples: Iterable[Sequence[torch.Tensor]], options: Any) -> str:
    """Of a graph whose attributes are its constants, the types and shapes of its inputs, the values for its calibration, and all programs involved."""
    import sidra
    from sidra import _core
    from sidra._compile import compiler_library

    digest = hashlib.sha256()

    def add(*parts: Any) -> None:
        for part in parts:
            digest.update(repr(part).encode() + b"\0")

    add(torch.__version__, sidra.__version__, _core.library_version(), _build_of(compiler_library()), sorted(dict(options).items()))
    for node in module.graph.nodes:
        add(node.op, node.name, node._pretty_print_target(node.target), node.args, node.kwargs)
    for name, part in sorted(module.named_modules()):
        if not isinstance(part, fx.GraphModule):
            add(name, type(part), repr(part))
    for name, tensor in sorted({**dict(module.named_parameters()), **dict(module.named_buffers())}.items()):
        add(name, tensor.dtype, tensor.shape)
        digest.update(_bytes_of(tensor))
    add([(tensor.dtype, tensor.shape) for tensor in examples])
    for sample in samples:
        for tensor in sample:
            digest.update(_bytes_of(tensor))
    return digest.hexdigest()


def _bytes_of(tensor: torch.Tensor) -> memoryview:
    bytes: memoryview = tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().data
    return bytes


def _build_of(library: str) -> Any:
    """What changes with a file; its name alone, if the loader finds it elsewhere."""
    with contextlib.suppress(OSError):
        status = os.stat(library)
        return library, status.st_size, status.st_mtime_ns
    return library


def fetch(key: str) -> Optional[str]:
    """The file of a key, which is marked as used; None: there is none."""
    path = folder() / f"{key}.sidra"
    try:
        os.utime(path)
    except OSError:
        return None
    return str(path)


def keep(key: str, file: str) -> None:
    """Keeps a copy of a compiled file. Where that is not possible, nothing else changes."""
    where = folder()
    beside = where / f"{key}.{os.getpid()}"
    try:
        where.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, beside)
        os.replace(beside, where / f"{key}.sidra")
        _make_room(where)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()


def _make_room(where: pathlib.Path) -> None:
    files = sorted(((path.stat().st_mtime_ns, path.stat().st_size, path) for path in where.glob("*.sidra")), reverse=True)
    total = 0
    for _, size, path in files:
        total += size
        if total > LIMIT:
            path.unlink(missing_ok=True)
