# SPDX-License-Identifier: MIT
"""Makes PyTorch know the device: its name, the module torch.sidra, and methods such as Tensor.sidra()."""
import atexit
import os
import sys
import types


class _Broken(types.ModuleType):
    """torch.sidra where the extension could not be loaded: each use says why."""

    def __init__(self, why):
        super().__init__("torch.sidra")
        self._why = why

    def is_available(self):
        return False

    def device_count(self):
        return 0

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(f"torch.sidra cannot be used: {self._why}")


def _load(torch):
    """The module torch.sidra, or one that says what is wrong."""
    built = None
    try:
        import sidra  # noqa: F401  (loads libsidra)

        from . import _build

        built = _build.TORCH_VERSION
        if built.split("+")[0].split(".")[:2] != torch.__version__.split("+")[0].split(".")[:2]:
            return _Broken(
                f"this sidra_pytorch was built for PyTorch {built}, and this is PyTorch {torch.__version__}. "
                "Install the sidra_pytorch of this version: docs/pytorch.md, Installation"
            )
        from . import device

        return device
    except ImportError as error:
        return _Broken(f"{error} (built for PyTorch {built}, running with {torch.__version__})")


def register(torch):
    if hasattr(torch, "sidra"):
        return
    torch.utils.rename_privateuse1_backend("sidra")
    module = _load(torch)
    sys.modules.setdefault("torch.sidra", module)
    torch._register_device_module("sidra", module)
    if isinstance(module, _Broken):
        return
    torch.utils.generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_storage=True)
    # Its fast path is one operator that would run on the CPU as a whole.
    torch.backends.mha.set_fastpath_enabled(False)
    from . import distributed

    distributed.register()
    module._set_up_from_environment(os.environ)
    atexit.register(module._summary_at_exit)
