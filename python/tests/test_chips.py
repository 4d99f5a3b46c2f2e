# SPDX-License-Identifier: MIT
"""Several chips in one process: copies between them, and pipelines of modules."""
import os
import subprocess
import sys
import threading

import pytest
import torch
from torch import nn


def network():
    return nn.Sequential(*(nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 24)) for _ in range(4)))


def test_copies_to_another_chip():
    here = torch.randn(6, 5, 4)
    there = here.to("sidra:0") * 2
    for view in (lambda x: x, lambda x: x.permute(2, 0, 1), lambda x: x[1:5, ::2], lambda x: x[3], lambda x: x[:0], lambda x: x[0, 0, 0]):
        assert torch.equal(view(there).to("sidra:1").cpu(), view(here * 2))
        assert torch.equal(view(there).to("sidra:1", torch.bfloat16).cpu(), view(here * 2).bfloat16())
        assert torch.equal(view(there).to("sidra:1", torch.float64).cpu(), view(here * 2).double())  # by the CPU
        into = torch.zeros(*view(here).shape, 2, device="sidra:1")
        into[..., 1].copy_(view(there))  # into a part of a tensor
        assert torch.equal(into[..., 1].cpu(), view(here * 2)) and not into[..., 0].cpu().any()
    turned = torch.complex(here, here + 1).to("sidra:0").conj()
    assert torch.equal(turned.to("sidra:1").cpu(), torch.complex(here, here + 1).conj())


# Who waits finds the other chip idle, however much that has to do; who does not may find so, too, if this process was not scheduled meanwhile.
@pytest.mark.parametrize("waiting", ["source", "host"])
def test_nobody_waits_for_a_copy_to_another_chip(waiting):
    torch.sidra.set_matmul_mode("digital")

    def busy(x, products):
        for _ in range(products):
            x = x @ x
            x = x / x.norm()
        return x

    def is_idle(index):
        return torch.sidra.current_stream(f"sidra:{index}").query()

    quick = torch.ones(3, device="sidra:0")
    # A queue has room for so many operations, and the host waits while it is full: only larger ones make more work for a chip.
    for size, products in ((500, 100), (1000, 50), (2000, 25)):
        x = torch.randn(size, size)
        here, there = x.to("sidra:0"), x.to("sidra:1")
        torch.sidra.synchronize(0)
        torch.sidra.synchronize(1)
        if waiting == "source":  # it goes on while the target is busy
            busy(there, products)
            copies = [(quick * n).to("sidra:1") for n in range(4)]
            assert (quick + 1).cpu().eq(2).all()
            seen = not is_idle(1)
            for n, copy in enumerate(copies):
                assert copy.cpu().eq(n).all()
        else:  # it goes on while the source is busy
            copy = busy(here, products).to("sidra:1")
            seen = not is_idle(0) and not is_idle(1)
            assert torch.equal(copy.cpu(), busy(there, products).cpu())
        if seen:
            return
    pytest.fail(f"the {waiting} waits")


@pytest.mark.parametrize("enter", [lambda stream: stream, torch.sidra.stream], ids=["stream", "torch.sidra.stream"])
def test_the_former_chip_is_current_behind_a_stream_of_another_one(enter):
    def current():
        return torch.sidra.current_device(), [torch.sidra.current_stream(index).stream_id for index in range(2)]

    zero, one = torch.sidra.Stream("sidra:0"), torch.sidra.Stream("sidra:1")
    before = current()
    with enter(one):
        assert current() == (1, [0, one.stream_id]) and torch.ones(1, device="sidra").device.index == 1
        with enter(zero):
            assert current() == (0, [zero.stream_id, one.stream_id])
            with enter(one):
                assert current() == (1, [zero.stream_id, one.stream_id])
            assert current() == (0, [zero.stream_id, one.stream_id])
            torch.sidra.set_device(1)
        assert current() == (1, [0, one.stream_id])
    with torch.sidra.device(1), enter(zero):
        assert current() == (0, [zero.stream_id, 0])
    with pytest.raises(KeyError), enter(one):
        raise KeyError
    assert current() == before == (0, [0, 0])


def test_no_stream_changes_nothing():
    with torch.sidra.stream(None) as entered:
        assert entered is None and torch.sidra.current_device() == 0 and torch.sidra.current_stream().stream_id == 0


def test_a_device_may_be_entered_again():
    one, entered, left = torch.sidra.device(1), threading.Event(), threading.Event()

    def work():
        with torch.sidra.device(1), one:
            entered.set()
            assert left.wait(60)
        assert torch.sidra.current_device() == 0
        failures.clear()

    failures = ["the other thread did not come to its end"]
    other = threading.Thread(target=work)
    try:
        with one:
            other.start()
            assert entered.wait(60)
            with one:
                assert torch.sidra.current_device() == 1
            assert torch.sidra.current_device() == 1
        assert torch.sidra.current_device() == 0
    finally:
        left.set()
        other.join()
    assert not failures

    @one
    def depth(calls):
        return torch.sidra.current_device() + (depth(calls - 1) if calls else 0)

    assert depth(2) == 3 and torch.sidra.current_device() == 0


def test_memory_of_a_copy_is_not_given_away():
    for n in range(60):
        x = torch.full((1 << 14,), float(n), device="sidra:0")
        y = (x + 1).to("sidra:1")
        z = (y * 2).to("sidra:0")
        del x, y
        torch.full((1 << 14,), -1.0, device="sidra:0")  # may take the memory of x
        torch.full((1 << 14,), -1.0, device="sidra:1")
        assert z.cpu().eq(2 * (n + 1)).all()


def test_weights_that_come_from_another_chip():
    x = torch.randn(4, 16)
    layers = [nn.Linear(16, 16, bias=False).to(f"sidra:{index}") for index in range(2)]
    with torch.no_grad():
        for layer in layers:
            torch.sidra.program(layer)
        layers[1].weight.copy_(layers[0].weight)
        assert torch.allclose(layers[1](x.to("sidra:1")).cpu(), x @ layers[0].weight.cpu().t(), atol=1e-5)


def test_a_pipeline_has_the_bits_of_one_chip():
    model, x = network().eval(), torch.randn(48, 24)
    with torch.no_grad():
        model.to("sidra:0")
        torch.sidra.program(model)
        expected = model(x.to("sidra:0")).cpu()
        stages = [model[:2], model[2:].to("sidra:1")]
        assert len(torch.sidra.program(stages[1]).resident) == 4
        outputs = [stages[1](stages[0](part.to("sidra:0")).to("sidra:1")) for part in x.split(8)]
    assert torch.equal(torch.cat(outputs).cpu(), expected)


def test_a_pipeline_trains_as_the_cpu():
    torch.sidra.set_matmul_mode("digital")
    model, x, target = network(), torch.randn(32, 24), torch.randn(32, 24)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    trained = []
    for devices in (["cpu", "cpu"], ["sidra:0", "sidra:1"]):
        model.load_state_dict(start)
        stages = [model[:2].to(devices[0]), model[2:].to(devices[1])]
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            for part, wanted in zip(x.split(8), target.split(8), strict=True):
                y = stages[1](stages[0](part.to(devices[0])).to(devices[1]))
                (nn.functional.mse_loss(y, wanted.to(devices[1])) / 4).backward()
            optimizer.step()
        trained.append([value.detach().cpu().clone() for value in model.parameters()])
    for one, other in zip(*trained, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5), (one - other).abs().max()


def test_a_failure_on_one_chip_is_an_exception_on_the_next():
    table, x = torch.randn(4, 4, device="sidra:0"), torch.ones(2, 4, device="sidra:1")
    wrong = torch.nn.functional.embedding(torch.tensor([1, 99], device="sidra:0"), table)
    with pytest.raises(RuntimeError, match="(?s)SIDRA_ERROR_FAULT.*sidra:0: VECTOR.*data out of range"):
        (wrong.to("sidra:1") + x).cpu()
    for _ in range(8):  # with each of the streams for copies
        assert torch.equal((table.to("sidra:1") * 1).cpu(), table.cpu())


LOSS = """
import sidra, torch
torch.sidra.set_fallback("silent")
assert torch.sidra.device_count() == 4
torch.manual_seed(1)
model = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(24, 64), torch.nn.GELU(), torch.nn.Linear(64, 24)) for _ in range(4))).eval()
x = torch.randn(48, 24)

@torch.no_grad()
def run(lose=None):
    outputs = []
    for number, part in enumerate(x.split(4)):
        for index, stage in enumerate(stages):
            part = stage(part.to(f"sidra:{index}"))
        outputs.append(part)
        if number == 3 and lose is not None:
            sidra.Device(lose).reset()
    return torch.cat([output.cpu() for output in outputs])

stages = [model.to("sidra:0")]
torch.sidra.program(model)
expected = run()
stages = [stage.to(f"sidra:{index}") for index, stage in enumerate(model)]
for stage in stages:
    torch.sidra.program(stage)
assert torch.equal(run(), expected)
for lost in range(4):
    try:
        run(lost)
    except RuntimeError as error:
        assert "SIDRA_ERROR_CONTEXT_LOST" in str(error) and f"Lost devices: sidra:{lost}." in str(error), error
    else:
        raise SystemExit("nothing was raised")
    torch.sidra.recover(lost)
    for index in range(4):
        try:
            torch.sidra.synchronize(index)
        except RuntimeError as error:  # what waited for the lost chip
            assert "SIDRA_ERROR_FAULT" in str(error), error
    assert torch.equal(run(), expected), lost

# A chip that only waits for the one that is lost.
torch.sidra.set_matmul_mode("digital")
slow = torch.randn(1000, 1000).to("sidra:0")
for _ in range(8):
    slow = slow @ slow / 1000
there = slow.to("sidra:1")
sidra.Device(0).reset()
try:
    there.cpu()
except RuntimeError as error:
    assert "SIDRA_ERROR_FAULT" in str(error) and "Lost devices: sidra:0." in str(error), error
else:
    raise SystemExit("nothing was raised")
torch.sidra.recover("sidra:0")
assert slow.to("sidra:1").shape == slow.shape and (torch.ones(3, device="sidra:1") + 1).sum().item() == 6
"""


def test_four_chips_and_the_loss_of_each():
    done = subprocess.run([sys.executable, "-c", LOSS], capture_output=True, text=True, timeout=300, env=os.environ | {"SIDRA_DEVICE": "embedded:0-3"})
    assert done.returncode == 0, done.stderr
