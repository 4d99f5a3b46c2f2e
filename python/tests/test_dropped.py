# SPDX-License-Identifier: MIT
"""Threads that share a stream: one is told of a fault and resets the stream, and each of the others is told, too, if that has dropped its work."""
import concurrent.futures

import pytest
import torch

LOST = "results of what this thread had queued there are lost"


def thread():
    """A pool of one other thread, and a function that lets it call something and returns what that returns."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    return pool, lambda call, *arguments: pool.submit(call, *arguments).result(120)


@pytest.fixture
def other():
    pool, call = thread()
    with pool:
        yield call


@pytest.fixture
def work():
    """Queues what takes longer than the rest of a test."""
    large = torch.randn(1000, 1000, device="sidra")

    def queue():
        with torch.sidra.matmul_mode("digital"):
            for _ in range(20):
                torch.mm(large, large)

    return queue


@pytest.fixture
def fault():
    """Queues what faults; one exception comes of it, from this call or a later one."""
    table, place = torch.zeros(1, 4, device="sidra"), torch.tensor([[4]], device="sidra")
    torch.sidra.synchronize()
    return lambda: table.gather(1, place)


def reset(behind=lambda: None):
    with pytest.raises(RuntimeError, match="SIDRA_ERROR_FAULT"):
        behind()
        torch.accelerator.current_stream().synchronize()


WAYS = {"cpu": torch.Tensor.cpu, "stream": lambda y: torch.accelerator.current_stream().synchronize(), "device": lambda y: torch.sidra.synchronize(),
        "query": lambda y: torch.accelerator.current_stream().query(), "event": lambda y: torch.accelerator.current_stream().record_event(),
        "another stream": lambda y: torch.sidra.Stream().wait_stream(torch.accelerator.current_stream()), "another chip": lambda y: y.to("sidra:1").cpu()}


@pytest.mark.parametrize("wait", WAYS.values(), ids=WAYS)
def test_a_thread_is_told_whatever_it_waits_for(wait, other, work, fault):
    x = torch.ones(100, device="sidra")
    work()
    fault()
    y = other(lambda: x + 1)
    reset()
    with pytest.raises(RuntimeError, match=f"SIDRA_ERROR_FAULT.*{LOST}"):
        other(wait, y)
    other(wait, y)  # once
    assert other(lambda: (x + 2).cpu().eq(3).all())


def test_a_thread_whose_work_was_done_before_is_told_nothing(other, fault):
    x = torch.ones(100, device="sidra")
    y = other(lambda: x + 1)
    torch.accelerator.current_stream().synchronize()
    reset(fault)
    assert other(lambda: y.cpu().eq(2).all())


def test_many_more_faults_do_not_hide_it(other, work, fault):
    x = torch.ones(100, device="sidra")
    work()
    fault()
    y = other(lambda: x + 1)
    reset()
    for _ in range(20):
        reset(fault)
    with pytest.raises(RuntimeError, match=LOST):
        other(y.cpu)


@pytest.mark.parametrize("first", ["this chip", "another chip"])
def test_a_fault_of_another_chip_does_not_hide_it(first, other, work, fault):
    x, table, place = torch.ones(100, device="sidra"), torch.zeros(1, 4, device="sidra:1"), torch.tensor([[4]], device="sidra:1")
    torch.sidra.synchronize(1)
    work()
    fault()
    y = other(lambda: x + 1)
    if first == "this chip":
        reset()
    with pytest.raises(RuntimeError, match="data out of range") as raised:
        other(lambda: table.gather(1, place).cpu())
    if first == "this chip":
        assert "\nstream 0 of sidra:0: " in str(raised.value) and LOST in str(raised.value), raised.value
        other(y.cpu)  # it was told already
    else:
        reset()
        with pytest.raises(RuntimeError, match=LOST):
            other(y.cpu)


def test_a_recovery_without_a_loss_drops_nothing(other, work):
    x = torch.ones(100, device="sidra")
    torch.sidra.synchronize()
    work()
    y = other(lambda: x + 1)
    torch.sidra.recover()  # of a thread that was told of the same loss as another one, which has recovered already
    assert other(lambda: y.cpu().eq(2).all())


class Look(torch.autograd.Function):
    """Its backward pass waits for the device."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        gradient.cpu()
        return gradient


def test_a_thread_is_told_that_its_backward_pass_was_dropped(other, work, fault):
    w, x, ones = torch.ones(100, device="sidra", requires_grad=True), torch.ones(100, device="sidra"), torch.ones(100, device="sidra")
    pool, without_gradients = thread()
    with pool:
        other(lambda: (w * x).backward(gradient=ones))  # the first one starts the engine
        y = other(lambda: w * x)
        z = without_gradients(torch.no_grad()(lambda: x + 1))
        torch.accelerator.current_stream().synchronize()
        work()
        fault()
        other(lambda: y.backward(gradient=ones))  # which the engine's thread queues
        reset()
        with pytest.raises(RuntimeError, match=LOST):
            other(lambda: w.grad.cpu())
        assert without_gradients(lambda: z.cpu().eq(2).all())
        w.grad = None
        other(lambda: Look.apply(w * x).backward(gradient=ones))  # the engine's thread has lost nothing
        assert other(lambda: w.grad.cpu().eq(1).all())
