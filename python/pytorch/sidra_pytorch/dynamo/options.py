# SPDX-License-Identifier: MIT
"""The options of torch.compile(backend="sidra", options={...})."""
from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

COMPILER: dict[str, Any] = {"optimization_level": int, "observer": str, "signal_to_noise": (int, float), "bias_correction": bool, "equalisation": bool, "copies": int,
            "copies_by_layer": bool, "tmr": (int, float), "predistort": bool, "adc_ranges": bool, "chip_map": (str, os.PathLike)}


class Options(NamedTuple):
    calibration_calls: int
    """The first so many calls for each shape run operator by operator, and their inputs are the calibration data of the compiler."""
    compiler: dict[str, Any]
    """Arguments of sidra.compile()."""


def options_of(mode: Optional[str], given: Optional[Mapping[str, Any]]) -> Options:
    if mode is not None:
        raise ValueError(f"torch.compile(backend=\"sidra\"): mode is {mode!r}, but this backend has options only: calibration_calls, {', '.join(COMPILER)}")
    given = dict(given or {})
    calls = given.pop("calibration_calls", 0)
    if not isinstance(calls, int) or not 0 <= calls <= 1000:
        raise ValueError(f"torch.compile(backend=\"sidra\"): calibration_calls is {calls!r}, but it must be a number from 0 to 1000")
    unknown = [name for name in given if name not in COMPILER]
    if unknown:
        raise ValueError(f"torch.compile(backend=\"sidra\") has no option {unknown[0]!r}; there are calibration_calls, {', '.join(COMPILER)}")
    for name, value in given.items():
        if not isinstance(value, COMPILER[name]):
            raise ValueError(f"torch.compile(backend=\"sidra\"): {name} is {value!r}, which is of the type {type(value).__name__}")
    if "chip_map" in given:
        given["chip_map"] = os.path.abspath(given["chip_map"])
        if not os.access(given["chip_map"], os.R_OK):
            raise ValueError(f"torch.compile(backend=\"sidra\"): chip_map is {given['chip_map']!r}, which cannot be read; `sidra-smi map` writes such a file")
    return Options(calls, given)
