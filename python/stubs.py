#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stubs.py: writes what type checkers read of the extension modules: sdk/sidra/_core.pyi and pytorch/sidra_pytorch/_C.pyi, from the installed modules.
Run it with the interpreter of build/python/venv after a change to their functions."""
import importlib
import pathlib
import re

import torch  # noqa: F401 - sidra_pytorch._C needs its libraries
from nanobind.stubgen import StubGen

HERE = pathlib.Path(__file__).resolve().parent
STUBS = {"sidra._core": HERE / "sdk/sidra/_core.pyi", "sidra_pytorch._C": HERE / "pytorch/sidra_pytorch/_C.pyi"}


def stub(module):
    generator = StubGen(importlib.import_module(module))
    generator.put(generator.module)
    # A constant has a type; its value is this machine's.
    text = re.sub(r"^(\w+: \w+) = .*$", r"\1", generator.get(), flags=re.M)
    return "# SPDX-License-Identifier: MIT\n# Written by python/stubs.py.\n" + text.rstrip() + "\n"


if __name__ == "__main__":
    for name, path in STUBS.items():
        path.write_text(stub(name))
