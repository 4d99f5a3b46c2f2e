# SPDX-License-Identifier: MIT
"""Random numbers of the devices: each has a generator, which torch.manual_seed() seeds, too."""
from __future__ import annotations

from collections.abc import Iterable

import torch

from . import _C
from ._index import Device as _Device
from ._index import index_of as _index


def get_rng_state(device: _Device = "sidra") -> torch.Tensor:
    return torch.ops.sidra.rng_state(_index(device))


def set_rng_state(state: torch.Tensor, device: _Device = "sidra") -> None:
    torch.ops.sidra.set_rng_state(_index(device), state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [get_rng_state(index) for index in range(_C.device_count())]


def set_rng_state_all(states: Iterable[torch.Tensor]) -> None:
    for index, state in enumerate(states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current device's generator."""
    _C.manual_seed(_C.current_device(), int(seed) & (1 << 64) - 1)


def manual_seed_all(seed: int) -> None:
    for index in range(_C.device_count()):
        _C.manual_seed(index, int(seed) & (1 << 64) - 1)


def seed() -> int:
    """Seeds the current device's generator from the system's entropy."""
    return _C.seed(_C.current_device())


def seed_all() -> None:
    for index in range(_C.device_count()):
        _C.seed(index)


def initial_seed() -> int:
    return _C.initial_seed(_C.current_device())
