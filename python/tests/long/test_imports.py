# SPDX-License-Identifier: MIT
"""Each order of importing torch and our packages, in processes of their own."""
import subprocess
import sys


def test_import_opens_no_device_and_any_order_works():
    for code in ("import torch; assert torch.sidra.is_available() and not torch.sidra.is_initialized()",
                 "import sidra_pytorch, torch; torch.ones(1, device='sidra')", "import torch, sidra_pytorch; torch.ones(1, device='sidra')",
                 "import sidra; sidra.register_pytorch_backend(); import torch; torch.ones(1, device='sidra')"):
        subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
