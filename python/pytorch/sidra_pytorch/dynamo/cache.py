# SPDX-License-Identifier: MIT
"""Compiled regions of earlier processes, by the hash of all that they depend on: PyTorch's exporter takes seconds, which the cache of the compiler cannot
save. Several processes can use the folder: files appear by a rename, and a file that is removed stays readable for those that have opened it."""
from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import pathlib
import shutil
import tempfile
import time
from collections.abc import Iterable, Sequence
from typing import Any, Optional

import torch
from torch import fx

LIBRARIES = ("aten", "prims", "prim", "sidra")  # of operators whose code is that of the versions in the key
LIMIT = 4 << 30  # bytes of all files; those that were not used for the longest time are removed


def folder() -> Optional[pathlib.Path]:
    """None: this user has no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (pathlib.Path(base) if base.startswith("/") else pathlib.Path.home() / ".cache") / "sidra" / "regions"
    except RuntimeError:
        return None


def key_of(module: fx.GraphModule, examples: Sequence[torch.Tensor], results: Any, samples: Iterable[Sequence[torch.Tensor]], options: Any) -> Optional[str]:
    """Of a graph whose attributes are its constants, the types and shapes of its inputs and results, the values for its calibration, and all programs
    involved. None: the graph calls functions whose code may change without notice."""
    from sidra import _core
    from sidra._compile import compiler_library

    digest = hashlib.sha256()

    def add(*parts: Any) -> None:
        for part in parts:
            if isinstance(part, torch.Tensor):
                add(str(part.dtype), tuple(part.shape))
                digest.update(_bytes_of(part))
            elif isinstance(part, (tuple, list)):
                add(type(part).__name__, len(part), *part)
            elif isinstance(part, dict):
                add("dict", len(part), *[item for pair in sorted(part.items(), key=repr) for item in pair])
            else:
                digest.update(repr(part).encode() + b"\0")

    options = dict(options)
    if "chip_map" in options:
        with contextlib.suppress(OSError):  # the compiler says what is wrong with it
            options["chip_map"] = hashlib.sha256(pathlib.Path(options["chip_map"]).read_bytes()).hexdigest()
    add(torch.__version__, str(torch.get_default_dtype()), _version_of("onnxscript"), _own_code(), _core.library_version(), _build_of(compiler_library()),
        options, results)
    for name, part in sorted(module.named_modules()):
        add(name, str(type(part)))
        if not isinstance(part, fx.GraphModule):
            add(repr(part))
            continue
        for node in part.graph.nodes:
            if node.op == "call_function" and not _is_known(node.target):
                return None
            add(node.op, node.name, node._pretty_print_target(node.target), node.args, node.kwargs)
    for name, tensor in sorted({**dict(module.named_parameters()), **dict(module.named_buffers())}.items()):
        add(name, tensor)
    add([(str(tensor.dtype), tuple(tensor.shape)) for tensor in examples])
    for sample in samples:
        add(list(sample))
    return digest.hexdigest()


def _is_known(function: Any) -> bool:
    """Whether a function is of PyTorch or of Python, whose versions are in the key."""
    if isinstance(function, (torch._ops.OperatorBase, torch._ops.OpOverloadPacket)):  # of whichever library, its module is of PyTorch
        name = function._qualified_op_name if isinstance(function, torch._ops.OpOverloadPacket) else function.name()
        return isinstance(function, torch._ops.HigherOrderOperator) or name.split("::")[0] in LIBRARIES
    module = getattr(function, "__module__", None) or ""
    return module.split(".")[0] in ("torch", "_operator", "operator", "math", "builtins", "")


def _version_of(package: str) -> str:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(package)
    return ""


@functools.cache
def _own_code() -> str:
    """Of what makes an ONNX file of a graph: this package and `sidra`."""
    import sidra

    files = [path for part in (__file__, sidra.__file__) for path in sorted(pathlib.Path(part).parent.glob("*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _bytes_of(tensor: torch.Tensor) -> memoryview:
    bytes: memoryview = tensor.detach().cpu().resolve_neg().resolve_conj().contiguous().reshape(-1).view(torch.uint8).numpy().data
    return bytes


def _build_of(library: str) -> Any:
    """What changes with a file; its name alone, if the loader finds it elsewhere."""
    with contextlib.suppress(OSError):
        status = os.stat(library)
        return library, status.st_size, status.st_mtime_ns
    return library


def fetch(key: str) -> Optional[str]:
    """The file of a key, which is marked as used; None: there is none."""
    where = folder()
    if where is None:
        return None
    path = where / f"{key}.sidra"
    try:
        os.utime(path)
    except OSError:
        return None
    return str(path)


def keep(key: str, file: str) -> None:
    """Keeps a copy of a compiled file. Where that is not possible, nothing else changes."""
    where = folder()
    if where is None:
        return
    with contextlib.suppress(OSError):
        where.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=where, suffix=".part", delete=False) as beside:
            try:
                with open(file, "rb") as compiled:
                    shutil.copyfileobj(compiled, beside, 1 << 20)
                beside.close()
                os.replace(beside.name, where / f"{key}.sidra")
            except BaseException:
                os.unlink(beside.name)
                raise
        _make_room(where)


def _make_room(where: pathlib.Path) -> None:
    files = sorted(((path.stat().st_mtime_ns, path.stat().st_size, path) for path in where.glob("*.sidra")), reverse=True)
    total = 0
    for _, size, path in files:
        total += size
        if total > LIMIT:
            path.unlink(missing_ok=True)
    for path in where.glob("*.part"):  # of processes that were killed
        if time.time() - path.stat().st_mtime > 3600:
            path.unlink(missing_ok=True)
