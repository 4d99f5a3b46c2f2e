# SPDX-License-Identifier: MIT
"""What PyTorch calls at its import (entry point torch.backends). A package of its own, since it runs while sidra_pytorch may be half imported."""
import sys


def autoload() -> None:
    """Registers the device "sidra". Whatever fails is told at the first use of torch.sidra: `import torch` never fails because of it."""
    if "sidra_pytorch" not in sys.modules:
        import sidra_pytorch  # noqa: F401
