# SPDX-License-Identifier: MIT
"""A little of everything on one device. The same on a card: `make vm-torch` runs this in a VM, with SIDRA_TEST_DEVICE=/dev/sidra0."""
import copy
import io
import os

import pytest
import torch
from torch import nn


def close(there, here, tolerance):
    assert there.device.type == "sidra"
    scale = here.detach().abs().max().clamp(min=1e-6)
    worst = (there.detach().cpu() - here.detach()).abs().max() / scale
    assert worst <= tolerance, f"{worst} of the largest value"


def test_which_device():
    transport = torch.sidra.get_device_properties(0)["transport"]
    assert (transport == "embedded") == os.environ["SIDRA_DEVICE"].startswith("embedded")


def test_copies_and_views():
    here = torch.randn(5, 6, 7)
    there = here.to("sidra")
    assert torch.equal(there.cpu(), here)
    assert torch.equal(there.permute(2, 0, 1)[1:, ::2].contiguous().cpu(), here.permute(2, 0, 1)[1:, ::2])
    file = io.BytesIO()
    torch.save(there, file)
    file.seek(0)
    assert torch.equal(torch.load(file).cpu(), here)


def test_operators():
    here = torch.randn(9, 33)
    there = here.to("sidra")
    for function in (lambda x: x * 2 + 1, torch.tanh, lambda x: x.softmax(-1), lambda x: x.sum(0), lambda x: x.sort().values, lambda x: x @ x.t(),
                     lambda x: nn.functional.layer_norm(x, (33,)), lambda x: torch.where(x > 0, x, -x)):
        with torch.sidra.matmul_mode("digital"):
            close(function(there), function(here), 1e-5)


@pytest.mark.parametrize("mode, tolerance", [("int8", 0.05), ("digital", 1e-4)])
@pytest.mark.parametrize("model, shape", [(nn.Linear(96, 40), (17, 96)), (nn.Conv2d(3, 8, 3, padding=1), (2, 3, 12, 12)),
                                          (nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), (2, 11, 64)), (nn.LSTM(24, 16, batch_first=True), (3, 7, 24))],
                         ids=["linear", "convolution", "transformer", "lstm"])
def test_models(model, shape, mode, tolerance):
    model = model.eval()
    x = torch.randn(shape)

    def run(model, x):
        result = model(x)
        return result[0] if isinstance(result, tuple) else result

    with torch.no_grad(), torch.sidra.matmul_mode(mode):
        close(run(copy.deepcopy(model).to("sidra"), x.to("sidra")), run(model, x), tolerance)


def test_training():
    torch.manual_seed(3)
    x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
    losses = {}
    for device in ("cpu", "sidra"):
        torch.manual_seed(4)
        model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 3)).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        with torch.sidra.matmul_mode("digital"):
            for _ in range(8):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
                loss.backward()
                optimizer.step()
        losses[device] = loss.item()
    assert abs(losses["cpu"] - losses["sidra"]) < 1e-3 and losses["cpu"] < 1.05


def test_streams_and_events():
    stream, begin, end = torch.Stream("sidra"), torch.Event("sidra", enable_timing=True), torch.Event("sidra", enable_timing=True)
    x = torch.ones(256, device="sidra")
    torch.sidra.synchronize()
    with torch.sidra.stream(stream):
        begin.record(stream)
        y = x + 1
        end.record(stream)
    end.synchronize()
    assert begin.elapsed_time(end) > 0
    assert torch.equal(y.cpu(), torch.full((256,), 2.0))


def test_what_is_refused():
    with pytest.raises(RuntimeError, match="device"):
        torch.ones(2, device="sidra") + torch.ones(2)
    x = torch.ones(4, device="sidra")
    assert torch.equal((x + 1).cpu(), torch.full((4,), 2.0))  # and it goes on


def test_fallback_is_counted():
    torch.sidra.reset_fallbacks()
    x = torch.randn(4, 4, device="sidra")
    assert torch.allclose(torch.linalg.det(x).cpu(), torch.linalg.det(x.cpu()), atol=1e-5)
    assert any("linalg" in entry["op"] for entry in torch.sidra.fallbacks())
