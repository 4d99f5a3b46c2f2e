# SPDX-License-Identifier: MIT
"""torch.profiler: times of the device by operator, rows of a trace, and sums that agree with the counters of sidra-smi."""
import json

import torch
from torch.profiler import ProfilerActivity, profile

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


def trace_of(profiled, folder):
    path = folder / "trace.json"
    profiled.export_chrome_trace(str(path))
    return json.loads(path.read_text())["traceEvents"]


def test_operators_have_time_of_the_device(tmp_path):
    x = torch.randn(64, 256).to("sidra")
    layer = torch.nn.Linear(256, 128).to("sidra")
    with torch.no_grad(), profile(activities=BOTH) as profiled:
        layer(x)
    rows = {row.key: row for row in profiled.key_averages()}
    assert rows["aten::linear"].device_time_total > 0
    assert rows["sidra::matmul"].count == 1
    assert rows["sidra::matmul"].device_time_total == rows["aten::linear"].self_device_time_total
