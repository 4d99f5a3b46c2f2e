# SPDX-License-Identifier: MIT
import os

os.environ.setdefault("SIDRA_QUIET", "1")
os.environ["SIDRA_DEVICE"] = os.environ.get("SIDRA_TEST_DEVICE", "embedded:0-1")
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch


@pytest.fixture(autouse=True)
def defaults():
    """Each test begins with the defaults, whatever the one before did."""
    torch.sidra.set_fallback("silent")
    torch.sidra.set_matmul_mode("int8")
    torch.sidra.set_device(0)
    torch.manual_seed(1)
    yield
    torch.sidra.synchronize()


@pytest.fixture
def chip():
    import sidra

    with sidra.Chip(sidra.Device(private=True)) as chip:
        yield chip
