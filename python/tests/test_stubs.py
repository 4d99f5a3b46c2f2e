# SPDX-License-Identifier: MIT
"""What type checkers read of the extension modules is what these have."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import stubs


@pytest.mark.parametrize("module", stubs.STUBS)
def test_stub(module):
    assert stubs.STUBS[module].read_text() == stubs.stub(module), "run build/python/venv/bin/python python/stubs.py"
