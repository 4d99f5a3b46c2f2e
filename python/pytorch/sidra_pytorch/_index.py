# SPDX-License-Identifier: MIT
"""The number of the device that an argument means."""
from __future__ import annotations

from typing import Union

import torch

from . import _C

Device = Union[int, str, torch.device, None]


def index_of(device: Device) -> int:
    """The current one for None and for a device without a number."""
    if device is None:
        return _C.current_device()
    if not isinstance(device, int):
        device = torch.device(device)
        if device.type != "sidra":
            raise ValueError(f"expected a sidra device, not {device}")
        if device.index is None:
            return _C.current_device()
        device = device.index
    count = _C.device_count()
    if not 0 <= device < count:
        raise RuntimeError(f"there is no device sidra:{device}: this process has {count} (SIDRA_DEVICE and the nodes /dev/sidra* say which)")
    return device
