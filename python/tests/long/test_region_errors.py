# SPDX-License-Identifier: MIT
"""Regions of torch.compile(backend="sidra") that fail on the device: errors name the region and the operator, and it runs again afterwards."""
import os
import re
import subprocess
import sys

import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def forgotten():
    torch._dynamo.reset()


class Lookup(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(50, 64), nn.Linear(64, 10)

    def forward(self, places):
        return self.out(nn.functional.gelu(self.words(places)))  # a line of this file


LINE = r"region \d+/\d+ \(.*test_region_errors\.py:\d+\)"
CALL = rf"\nThat is in {LINE}, variant 0, call \d+ '[^'\n]*embedding[^'\n]*': data out of range"


@pytest.fixture
def lookup():
    """A compiled network, places that it takes, such that it does not take, and the right answer."""
    compiled = torch.compile(Lookup().eval().to("sidra"), backend="sidra", fullgraph=True)
    good = torch.tensor([[1, 49, 7], [0, 3, 3]], device="sidra")
    bad = good.clone()
    bad[1, 2] = 50
    with torch.inference_mode():
        yield compiled, good, bad, compiled(good).cpu()


def failure(call):
    with pytest.raises(RuntimeError) as raised:
        call()
    return str(raised.value)


def test_a_fault_names_region_and_operator(lookup):
    compiled, good, bad, right = lookup
    text = failure(lambda: compiled(bad).cpu())
    assert text.startswith("SIDRA_ERROR_FAULT") and len(re.findall(CALL, text)) == 1 and "The stream goes on" in text, text
    assert torch.equal(compiled(good).cpu(), right)

    # Of several runs in the queue, it is not the last one.
    def some_runs():
        compiled(bad)
        for _ in range(3):
            results = compiled(good)
        results.cpu()

    text = failure(some_runs)
    assert len(re.findall(CALL, text)) == 1, text
    assert torch.equal(compiled(good).cpu(), right)


def test_other_faults_name_no_region(lookup):
    compiled, good, _, right = lookup
    text = failure(lambda: good.gather(1, torch.tensor([[9]], device="sidra")).cpu())
    assert text.startswith("SIDRA_ERROR_FAULT") and "region" not in text, text
    assert torch.equal(compiled(good).cpu(), right)


def test_a_fault_on_another_stream(lookup):
    compiled, good, bad, right = lookup
    stream = torch.sidra.Stream()
    torch.sidra.synchronize()
    with stream:
        compiled(bad)
    assert re.search(CALL, text := failure(stream.synchronize)), text  # not the thread's stream, which would be reset
    assert torch.equal(compiled(good).cpu(), right)  # that run is over
    text = failure(torch.sidra.synchronize)
    assert len(re.findall(CALL, text)) == 1, text
    with stream:
        assert torch.equal(compiled(good).cpu(), right)


def test_a_stream_that_waits_for_a_region(lookup):
    compiled, good, bad, right = lookup
    stream = torch.sidra.Stream()
    torch.sidra.synchronize()
    with torch.sidra.matmul_mode("digital"):
        slow = torch.randn(500, 500, device="sidra")
        for _ in range(8):
            slow = slow @ slow / 500
    compiled(bad)
    stream.wait_stream(torch.sidra.current_stream())
    with stream:
        text = failure((good + 1).cpu)
    assert re.search(CALL, text), text
    failure(torch.sidra.synchronize)
    assert torch.equal(compiled(good).cpu(), right)


def test_a_reset_drops_a_run_with_its_wait_for_another_stream():
    network = nn.Sequential(*(nn.Linear(256, 256) for _ in range(4))).eval().requires_grad_(False).to("sidra")
    compiled, (x, other) = torch.compile(network, backend="sidra"), torch.randn(2, 64, 256, device="sidra")
    expected, busy = compiled(x).cpu(), torch.randn(1000, 1000, device="sidra")
    table, place = torch.zeros(1, 4, device="sidra"), torch.tensor([[4]], device="sidra")
    first, second = torch.sidra.Stream(), torch.sidra.Stream()
    torch.sidra.synchronize()
    with first, torch.sidra.matmul_mode("digital"):
        for _ in range(40):
            torch.mm(busy, busy)
    with first:
        results = [compiled(x) for _ in range(20)]
    with second:
        with torch.sidra.matmul_mode("digital"):
            torch.mm(busy, busy)  # so that the fault comes when the run is queued
        table.gather(1, place)
        compiled(other)
        failure(second.synchronize)
        assert not first.query()
        while not first.query():
            compiled(other)
    torch.sidra.synchronize()
    assert all(torch.equal(result.cpu(), expected) for result in results)


LOSS = """
import re, sidra, torch
from sidra_pytorch import _C
def network(x):
    return torch.nn.functional.gelu(layer(x))  # a line

def lose():
    sidra.Device(0).reset()

def failure(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    raise SystemExit("nothing was raised")

layer = torch.nn.Linear(64, 32).to("sidra").eval()
compiled = torch.compile(network, backend="sidra", fullgraph=True)
x = torch.randn(4, 64, device="sidra")
slow = torch.randn(1000, 1000, device="sidra")
torch.sidra.synchronize()
NAME = r"region 0/0 \\(.*:5\\)"
with torch.inference_mode():
    # Before it is compiled.
    lose()
    text = failure(lambda: compiled(x))
    assert re.match(NAME + " cannot be compiled: SIDRA_ERROR_CONTEXT_LOST", text) and "Lost devices: sidra:0." in text, text
    torch.sidra.recover()
    expected = compiled(x).cpu()
    calls = _C.native_calls()
    assert torch.equal(compiled(x).cpu(), expected) and _C.native_calls() == calls  # it is compiled

    # Before a run, and before one on another stream.
    for stream in (torch.sidra.current_stream(), torch.sidra.Stream()):
        lose()
        text = failure(lambda: compiled(x))
        assert re.match(NAME + " cannot run: SIDRA_ERROR_CONTEXT_LOST", text), text
        torch.sidra.recover()
        with stream:
            assert torch.equal(compiled(x).cpu(), expected)

    # In the middle of a run. What was lost before a recovery is not lost again.
    for stream in (torch.sidra.current_stream(), torch.sidra.Stream()):
        with torch.sidra.matmul_mode("digital"):
            for _ in range(8):
                slow = slow @ slow / 1000
        y = compiled(x)
        lose()
        text = failure(y.cpu)
        assert text.startswith("SIDRA_ERROR_CONTEXT_LOST") and re.search("\\nLost runs: " + NAME + r"\\.\\n", text), text
        torch.sidra.recover()
        lose()
        text = failure(lambda: (x + 1).cpu())
        assert text.startswith("SIDRA_ERROR_CONTEXT_LOST") and "Lost runs" not in text, text
        torch.sidra.recover()
        with stream:
            assert torch.equal(compiled(x).cpu(), expected)
"""


def test_a_chip_that_is_reset(tmp_path):
    script = tmp_path / "loss.py"
    script.write_text(LOSS)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, env=os.environ | {"SIDRA_FALLBACK": "silent"})
    assert done.returncode == 0, done.stderr
