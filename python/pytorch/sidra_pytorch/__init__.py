# SPDX-License-Identifier: MIT
"""PyTorch on SIDRA: `model.to("sidra:0")`. `import torch` loads this by itself. docs/pytorch.md is the manual."""
import torch

from . import _backend

_backend.register(torch)

__all__: list[str] = []
__version__ = "2.0.0"
