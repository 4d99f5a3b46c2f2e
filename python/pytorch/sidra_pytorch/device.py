# SPDX-License-Identifier: MIT
"""torch.sidra: devices, streams, memory, random numbers, residency of weights, and where operators run."""
from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Optional

import torch

from . import _C
from ._index import Device as _Device
from ._index import index_of as _index
from .random import (  # noqa: F401
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .residency import get_layout, mark_written, program, programmed_by, release, residency, set_layout, wear  # noqa: F401

MATMUL_MODES = ("int8", "digital", "cpu")
FALLBACK_MODES = ("warn", "silent", "error")


# ---- Devices


def is_available() -> bool:
    """Whether there is a device. Opens none."""
    return _C.device_count() > 0


def device_count() -> int:
    """The number of devices: cards /dev/sidraN, or what SIDRA_DEVICE says; without any, one embedded chip model."""
    return _C.device_count()


def current_device() -> int:
    return _C.current_device()


def set_device(device: _Device) -> None:
    _C.set_device(_index(device))


class _Entered(threading.local):
    """What was current before each `with device:` and `with stream:` of this thread, which may be there several times."""

    def __init__(self) -> None:
        self.devices: list[int] = []
        self.streams: list[tuple[int, torch.Stream]] = []


_entered = _Entered()


class device(contextlib.ContextDecorator):
    """Makes a device the current one, and the former one at the end."""

    def __init__(self, device: _Device):
        self.index = _index(device)

    def __enter__(self) -> device:
        _entered.devices.append(_C.current_device())
        _C.set_device(self.index)
        return self

    def __exit__(self, *_: object) -> None:
        _C.set_device(_entered.devices.pop())


def get_device_properties(device: _Device = None) -> dict[str, Any]:
    """Name, transport ("embedded", "kernel"), engine, number of crossbars. Opens the device."""
    return _C.properties(_index(device))


def get_device_name(device: _Device = None) -> str:
    return _C.properties(_index(device))["name"]


def synchronize(device: _Device = None) -> None:
    """Waits until all streams of the device have done everything that is queued."""
    _C.synchronize(_index(device))


def recover(device: _Device = None) -> None:
    """Makes a device usable again that was lost (reset, crashed). Queued work is lost; tensors and weights stay."""
    _C.recover(_index(device))


def is_initialized() -> bool:
    return any(_C.is_open(i) for i in range(_C.device_count()))


def init() -> None:
    """Nothing to do: a device is opened at its first use."""


def _lazy_init() -> None:
    pass


def _is_in_bad_fork() -> bool:
    return _forked


_forked = False


def _after_fork() -> None:
    global _forked
    _forked = is_initialized()


def cost(device: _Device = None) -> tuple[float, float]:
    """Seconds and joules that a real chip would have spent on the current stream's finished work, by the cost model of the chip."""
    return _C.cost(_index(device))


# ---- Streams and events


class Stream(torch.Stream):
    """A queue of the device, whose work runs in order. `with` makes it current, and its device. There are 32 of each priority, given in turn."""

    def __new__(cls, device: _Device = None, priority: int = 0, **_: Any) -> Stream:
        return super().__new__(cls, device=f"sidra:{_index(device)}", priority=priority)

    def __enter__(self) -> Stream:
        _entered.streams.append(_exchange_stream(self))
        return self

    def __exit__(self, *_: object) -> None:
        _restore_stream(*_entered.streams.pop())


def _exchange_stream(stream: torch.Stream) -> tuple[int, torch.Stream]:
    """Makes the stream current, and its device. Returns the former device, and the former stream of the stream's device."""
    former = _C.current_device(), torch.accelerator.current_stream(stream.device)
    torch.accelerator.set_stream(stream)
    return former


def _restore_stream(index: int, stream: torch.Stream) -> None:
    torch.accelerator.set_stream(stream)
    _C.set_device(index)


def Event(enable_timing: bool = False, **_: Any) -> torch.Event:
    """A point of a stream. enable_timing: elapsed_time() in milliseconds of the device's clock."""
    return torch.Event(device="sidra", enable_timing=enable_timing)


def current_stream(device: _Device = None) -> torch.Stream:
    return torch.accelerator.current_stream(torch.device("sidra", _index(device)))


def set_stream(stream: torch.Stream) -> None:
    """Makes the stream current, and its device."""
    torch.accelerator.set_stream(stream)


@contextlib.contextmanager
def stream(stream: Optional[torch.Stream]) -> Iterator[Optional[torch.Stream]]:
    """Makes the stream current, and its device, and the former ones at the end. None changes nothing."""
    if stream is None:
        yield None
        return
    former = _exchange_stream(stream)
    try:
        yield stream
    finally:
        _restore_stream(*former)


# ---- Memory


def memory_stats(device: _Device = None) -> dict[str, int]:
    """Bytes and calls of the device's pool. Peaks count from the beginning, or from reset_peak_memory_stats()."""
    return _C.memory_stats(_index(device))


def memory_allocated(device: _Device = None) -> int:
    return memory_stats(device)["allocated_bytes.current"]


def max_memory_allocated(device: _Device = None) -> int:
    return memory_stats(device)["allocated_bytes.peak"]


def memory_reserved(device: _Device = None) -> int:
    return memory_stats(device)["reserved_bytes.current"]


def max_memory_reserved(device: _Device = None) -> int:
    return memory_stats(device)["reserved_bytes.peak"]


def reset_peak_memory_stats(device: _Device = None) -> None:
    _C.reset_peak_memory_stats(_index(device))


def empty_cache() -> None:
    """Gives memory that no tensor uses back to the system."""
    for index in range(_C.device_count()):
        _C.empty_cache(index)


def mem_get_info(device: _Device = None) -> tuple[int, int]:
    """Free and all bytes. Tensors are in the host's memory, which the device shares."""
    return _C.memory_info(_index(device))


# ---- Numbers


def set_matmul_mode(mode: str) -> None:
    """How products with weights are computed: "int8" on crossbars (the default), "digital" by the chip's matrix engine in f32, "cpu"."""
    if mode not in MATMUL_MODES:
        raise ValueError(f'set_matmul_mode: "{mode}" is none of {", ".join(MATMUL_MODES)}')
    _C.set_matmul_mode(MATMUL_MODES.index(mode))


def get_matmul_mode() -> str:
    return MATMUL_MODES[_C.matmul_mode()]


@contextlib.contextmanager
def matmul_mode(mode: str) -> Iterator[None]:
    """set_matmul_mode() for a block."""
    former = get_matmul_mode()
    set_matmul_mode(mode)
    try:
        yield
    finally:
        set_matmul_mode(former)


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.bfloat16, torch.float16]


# ---- Where operators run


def set_fallback(mode: str) -> None:
    """What happens when an operator does not run on the chip: "warn" (once for each operator), "silent" or "error"."""
    if mode not in FALLBACK_MODES:
        raise ValueError(f'set_fallback: "{mode}" is none of {", ".join(FALLBACK_MODES)}')
    _C.set_fallback_mode(FALLBACK_MODES.index(mode))


def fallbacks() -> list[dict[str, Any]]:
    """Calls that ran on the CPU, by operator: how many, how many results were computed in place on the device's pages, how many were copied there
    because the CPU's operator allocates them itself, and the seconds they took."""
    return sorted(_C.fallbacks(), key=lambda row: -row["seconds"])


def native_calls() -> int:
    """Operations that were queued for the chip."""
    return _C.native_calls()


def reset_fallbacks() -> None:
    """The counters begin anew."""
    _C.reset_fallbacks()


def _set_up_from_environment(environment: Mapping[str, str]) -> None:
    def chosen(given: str, values: tuple[str, ...]) -> str:
        """The value of a variable; if it has none, or a wrong one, the first of its values."""
        value = environment.get(given) or values[0]
        if value in values:
            return value
        print(f'sidra: {given}="{value}" is none of {", ".join(values)}; taking "{values[0]}"', file=sys.stderr)
        return values[0]

    set_fallback(chosen("SIDRA_FALLBACK", FALLBACK_MODES))
    set_matmul_mode(chosen("SIDRA_MATMUL", MATMUL_MODES))
    _C.set_residency_check(chosen("SIDRA_CHECK_RESIDENCY", ("0", "1")) == "1")
    os.register_at_fork(after_in_child=_after_fork)


def _summary_at_exit() -> None:
    rows = fallbacks()
    if _C.fallback_mode() != 0 or not rows:
        return
    calls = sum(row["calls"] for row in rows)
    share = calls / max(1, calls + _C.native_calls())
    worst = ", ".join(f"{row['op'].removeprefix('aten::')} {row['calls']}" for row in rows[:5])
    print(f"sidra: {calls} of {calls + _C.native_calls()} operations ({share:.0%}) ran on the CPU: {worst}"
          f"{', ...' if len(rows) > 5 else ''}", file=sys.stderr)
