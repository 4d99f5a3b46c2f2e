# SPDX-License-Identifier: MIT
"""Devices, memory, copies, views, streams, events, random numbers, serialization."""
import copy
import io
import threading

import pytest
import torch

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool,
          torch.complex64, torch.complex128]


def sample(shape, dtype):
    if dtype is torch.bool:
        return torch.randint(0, 2, shape).bool()
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=torch.complex128 if dtype.is_complex else torch.float64).to(dtype)
    return torch.randint(0 if dtype is torch.uint8 else -100, 100, shape).to(dtype)


def test_devices():
    assert torch.sidra.is_available() and torch.sidra.device_count() == 2
    assert torch.accelerator.current_accelerator().type == "sidra"
    with torch.sidra.device(1):
        assert torch.sidra.current_device() == 1
        assert torch.ones(2, device="sidra").device.index == 1
    assert torch.sidra.current_device() == 0
    properties = torch.sidra.get_device_properties(1)
    assert properties["transport"] == "embedded" and properties["crossbars_total"] > 0
    with pytest.raises(RuntimeError, match="no device sidra:7"):
        torch.ones(1, device="sidra:7")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_copies_of_each_dtype_and_stride(dtype):
    whole = sample((5, 6, 7), dtype)
    for view in (whole, whole.t() if whole.dim() == 2 else whole.permute(2, 0, 1), whole[::2, 1:5, ::3], whole[:0], whole[2, 3, 4], whole.expand(3, 5, 6, 7)):
        there = view.to("sidra:0")
        assert there.device.type == "sidra" and there.dtype == dtype and there.shape == view.shape
        assert torch.equal(there.cpu(), view)
        assert torch.equal(there.clone().cpu(), view)
        assert torch.equal(there.to("sidra:1").cpu(), view)
        if dtype.is_complex:
            assert torch.equal(there.conj().cpu(), view.conj())
            assert torch.equal(torch.view_as_real(there).cpu(), torch.view_as_real(view))
    # Into and out of a part of a tensor.
    there = whole.to("sidra")
    there[1:3, ::2] = whole[1:3, ::2].flip(0).to("sidra")
    here = whole.clone()
    here[1:3, ::2] = whole[1:3, ::2].flip(0)
    assert torch.equal(there.cpu(), here)


@pytest.mark.parametrize("dtype, to", [(a, b) for a in DTYPES for b in DTYPES if b.is_complex or not a.is_complex], ids=str)
def test_conversions(dtype, to):
    here = sample((9, 11), dtype)
    if dtype is not torch.bool and to is torch.uint8:
        here = here.abs()
    assert torch.equal(here.to("sidra").to(to).cpu(), here.to(to))


def test_views_share_memory_and_nothing_is_copied():
    there = torch.arange(24, dtype=torch.float32).to("sidra").view(4, 6)
    allocated = torch.sidra.memory_stats()["allocation.allocated"]
    views = [there.t(), there[1:], there.view(2, 12), there.unsqueeze(0), there.unfold(1, 2, 2), there.diagonal(), there.narrow(0, 1, 2), there.detach()]
    assert torch.sidra.memory_stats()["allocation.allocated"] == allocated
    assert all(view.untyped_storage().data_ptr() == there.untyped_storage().data_ptr() for view in views)
    views[1].zero_()
    assert there.cpu()[1:].abs().sum() == 0 and there.cpu()[0].sum() == 15


def test_fallback_computes_in_place_on_the_same_pages():
    there = torch.randn(1 << 20, dtype=torch.float64).to("sidra")  # the chip has no f64
    torch.sidra.reset_fallbacks()
    there.add_(1)
    there.mul_(there)
    result = there + there
    rows = {row["op"]: row for row in torch.sidra.fallbacks()}
    assert rows["aten::add.out"]["calls"] == 2 and rows["aten::mul.out"]["calls"] == 1
    assert sum(row["in_place"] for row in rows.values()) == 3
    assert sum(row["copied"] for row in rows.values()) == 0
    assert torch.equal(result.cpu(), there.cpu() * 2)


def test_mixed_devices_are_refused():
    there = torch.ones(3, device="sidra")
    for call in (lambda: there + torch.ones(3), lambda: torch.mm(there.view(1, 3), torch.ones(3, 1)), lambda: torch.linalg.norm(there - torch.ones(3)),
                 lambda: torch.ones(3, device="sidra:1") + there, lambda: torch.add(there, 1, out=torch.empty(3))):
        with pytest.raises(RuntimeError, match="device"):
            call()
    functional, here = torch.nn.functional, torch.ones(2, 3)
    for call in (lambda: functional.embedding(torch.tensor([0], device="sidra"), here), lambda: functional.layer_norm(here, (3,), there, there),
                 lambda: functional.group_norm(here, 1, there, there), lambda: functional.batch_norm(here, there, there, training=True)):
        with pytest.raises(RuntimeError, match="same device"):
            call()
    assert (there + torch.tensor(2.0)).cpu().tolist() == [3, 3, 3]  # numbers of the CPU are allowed
    assert there[torch.tensor([0, 2])].shape == (2,)  # and indices


def test_fallback_modes():
    there = torch.randn(4, 4, device="sidra")
    torch.sidra.set_fallback("error")
    with pytest.raises(NotImplementedError, match="linalg.*SIDRA_FALLBACK=error"):
        torch.linalg.det(there)
    torch.sidra.set_fallback("warn")
    torch.sidra.reset_fallbacks()
    with pytest.warns(UserWarning, match="aten::atan.out runs on the CPU"):
        torch.atan(there)
    with pytest.raises(ValueError, match="loud"):
        torch.sidra.set_fallback("loud")


def test_memory_is_cached_and_counted():
    torch.sidra.empty_cache()
    before = torch.sidra.memory_allocated()
    there = torch.empty(1 << 20, device="sidra")
    assert torch.sidra.memory_allocated() - before >= 4 << 20
    assert torch.accelerator.memory_allocated() == torch.sidra.memory_allocated()
    del there
    torch.sidra.synchronize()
    assert torch.sidra.memory_allocated() == before
    misses = torch.sidra.memory_stats()["num_device_alloc"]
    for _ in range(10):
        there = torch.empty(1 << 20, device="sidra")
        del there
    assert torch.sidra.memory_stats()["num_device_alloc"] <= misses + 1
    torch.sidra.reset_peak_memory_stats()
    assert torch.sidra.max_memory_allocated() == torch.sidra.memory_allocated()
    free, whole = torch.sidra.mem_get_info()
    assert 0 < free <= whole


def test_out_of_memory_is_an_exception_and_the_process_lives_on():
    with pytest.raises(torch.OutOfMemoryError, match="SIDRA_ERROR_OUT_OF_MEMORY"):
        torch.empty(1 << 50, dtype=torch.int8, device="sidra")
    assert torch.ones(2, device="sidra").sum().item() == 2


def test_streams_and_events():
    first, second = torch.sidra.Stream(), torch.sidra.Stream(priority=-1)
    assert first.stream_id != second.stream_id
    start, end = torch.sidra.Event(enable_timing=True), torch.sidra.Event(enable_timing=True)
    with first:
        assert torch.sidra.current_stream() == first
        start.record(first)
        x = torch.ones(1000, 100, device="sidra") * 3
        end.record(first)
    assert torch.sidra.current_stream().stream_id == 0
    second.wait_event(end)
    with second:
        y = x + 1
        x.record_stream(second)
    second.synchronize()
    assert (y.cpu() == 4).all() and end.query() and first.query()
    assert start.elapsed_time(end) >= 0


def test_memory_of_another_stream_is_not_given_away():
    side = torch.sidra.Stream()
    for _ in range(20):
        x = torch.full((1 << 16,), 5.0, device="sidra")
        ready = torch.sidra.Event()
        ready.record()
        side.wait_event(ready)
        with side:
            y = x * 2
            x.record_stream(side)
        del x
        z = torch.full((1 << 16,), 7.0, device="sidra")  # may take the memory of x
        side.synchronize()
        assert (y.cpu() == 10).all() and (z.cpu() == 7).all()


def test_threads_have_streams_of_their_own():
    failures = []

    def work(seed):
        try:
            with torch.sidra.Stream():
                for n in range(50):
                    x = torch.full((64, 64), float(seed + n)).to("sidra")
                    assert ((x + x) * 0.5).cpu().eq(seed + n).all()
        except BaseException as error:  # noqa: B036
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_pinned_memory():
    pinned = torch.randn(100).pin_memory()
    assert pinned.is_pinned() and not torch.randn(3).is_pinned()
    assert torch.equal(pinned.to("sidra", non_blocking=True).cpu(), pinned)


def test_random_numbers_depend_on_the_seed():
    def draw():
        return [torch.randn(50, device="sidra").cpu(), torch.rand(50, device="sidra").cpu(), torch.randperm(20, device="sidra").cpu(),
                torch.nn.functional.dropout(torch.ones(50, device="sidra")).cpu(), torch.bernoulli(torch.full((50,), 0.5, device="sidra")).cpu()]

    torch.manual_seed(3)
    once = draw()
    state = torch.sidra.get_rng_state()
    other = draw()
    torch.manual_seed(3)
    assert all(map(torch.equal, once, draw()))
    torch.sidra.set_rng_state(state)
    assert all(map(torch.equal, other, draw()))
    assert not torch.equal(once[0], other[0])
    own = torch.Generator(device="sidra")
    own.manual_seed(5)
    drawn = torch.randn(10, device="sidra", generator=own).cpu()
    own.manual_seed(5)
    assert torch.equal(drawn, torch.randn(10, device="sidra", generator=own).cpu())
    assert abs(torch.randn(100_000, device="sidra").mean().item()) < 0.02


def test_random_states_of_all_devices():
    def draw():
        return [torch.rand(8, device=f"sidra:{index}").cpu() for index in range(torch.sidra.device_count())]

    states = torch.sidra.get_rng_state_all()
    once = draw()
    assert not any(map(torch.equal, once, draw()))
    torch.sidra.set_rng_state_all(states)
    assert all(map(torch.equal, once, draw()))


def test_serialization():
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3)).to("sidra:0")
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "x": torch.ones(2, device="sidra:1")}, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=True)
    assert loaded["x"].device == torch.device("sidra:1")
    assert all(torch.equal(loaded["model"][name].cpu(), value.cpu()) for name, value in model.state_dict().items())
    file.seek(0)
    assert torch.load(file, map_location="cpu", weights_only=True)["x"].device.type == "cpu"
    twin = copy.deepcopy(model)
    assert torch.equal(twin[0].weight.cpu(), model[0].weight.cpu()) and twin[0].weight.data_ptr() != model[0].weight.data_ptr()


def test_modules_keep_their_parameters_and_ties():
    model = torch.nn.Sequential(torch.nn.Embedding(10, 4), torch.nn.Linear(4, 10, bias=False))
    model[1].weight = model[0].weight
    before = model[0].weight
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.to("sidra")
    assert model[0].weight is before and model[1].weight is model[0].weight and before.device.type == "sidra"
    model(torch.tensor([1, 2], device="sidra")).sum().backward()
    old = before.detach().cpu().clone()
    optimizer.step()
    assert not torch.equal(before.detach().cpu(), old)


def test_work_on_two_devices_is_ordered():
    x = torch.randn(4, 8, device="sidra:0", requires_grad=True)
    (x.to("sidra:1") * 3).sum().backward()
    assert x.grad.cpu().eq(3).all()
    stream = torch.sidra.Stream("sidra:1")
    torch.sidra.current_stream("sidra:0").wait_stream(stream)
    y = torch.ones(4, device="sidra:0")
    y.record_stream(stream)
    del y
    with pytest.raises(RuntimeError, match="same device"):
        torch.cat([x, torch.zeros(4, 8, device="sidra:1")])
    with pytest.raises(RuntimeError, match="same device"):
        torch.nn.functional.embedding(torch.zeros(2, dtype=torch.long, device="sidra:1"), x)


def test_an_event_is_of_one_device():
    event, y = torch.sidra.Event(), torch.ones(3, device="sidra:0")
    event.record(torch.sidra.current_stream("sidra:0"))
    other = torch.sidra.Stream("sidra:1")
    with pytest.raises(RuntimeError, match=f"the event is of another device than sidra:1, so stream {other.stream_id} there"):
        event.record(other)
    y += 1
    event.record(torch.sidra.current_stream("sidra:0"))
    other.wait_event(event)
    event.synchronize()
    assert event.query() and y.cpu().eq(2).all()


def test_streams_may_be_entered_again():
    stream, former = torch.sidra.Stream(), torch.accelerator.current_stream()
    with stream:
        with stream:
            assert torch.accelerator.current_stream() == stream
        assert torch.accelerator.current_stream() == stream
    assert torch.accelerator.current_stream() == former


def test_devices_that_do_not_exist():
    for call in (torch.sidra.memory_allocated, torch.sidra.memory_stats, torch.sidra.synchronize, torch.sidra.current_stream, torch.sidra.set_device,
                 torch.sidra.residency, torch.sidra.wear, torch.sidra.get_rng_state):
        for index in (-3, 63):
            with pytest.raises(RuntimeError, match="there is no device|[Ii]nvalid|negative"):
                call(index)


def test_streams_are_given_in_turn():
    streams = [torch.sidra.Stream() for _ in range(300)]
    assert len({stream.stream_id for stream in streams}) == 32
    assert torch.sidra.Stream(priority=-1).stream_id not in {stream.stream_id for stream in streams}


def test_more_memory_than_the_machine_has():
    with pytest.raises(torch.OutOfMemoryError, match="free|memory"):
        torch.empty(2**38, dtype=torch.uint8, device="sidra")


def test_a_tensor_of_the_cpu_is_not_indexed_by_the_device():
    index = torch.tensor([1], device="sidra")
    with pytest.raises(RuntimeError, match="device"):
        torch.arange(5.0)[index]
    with pytest.raises(RuntimeError, match="device"):
        torch.zeros(5, device="sidra")[torch.tensor([1, 3], device="sidra")] = torch.ones(2)
    assert torch.arange(5.0, device="sidra")[torch.tensor([1, 2])].cpu().tolist() == [1, 2]


def test_memory_of_another_stream_is_not_given_away_after_a_fault():
    own, side, size = torch.accelerator.current_stream(), torch.sidra.Stream(), 1 << 16
    table, place, busy = torch.zeros(1, 4, device="sidra"), torch.tensor([[4]], device="sidra"), torch.randn(1000, 1000, device="sidra")
    x = torch.full((size,), 5.0, device="sidra")
    torch.sidra.synchronize()
    with side, torch.sidra.matmul_mode("digital"):
        for _ in range(10):
            torch.mm(busy, busy)
        y = x * 2
    x.record_stream(side)
    table.gather(1, place)
    with side, pytest.raises(RuntimeError, match="SIDRA_ERROR_FAULT"):
        own.synchronize()  # which stays stopped: it is not this thread's current one
    del x
    with pytest.raises(RuntimeError, match="SIDRA_ERROR_FAULT"):
        own.synchronize()
    z = torch.full((size,), 7.0, device="sidra")  # may take the memory of x
    own.synchronize()
    side.synchronize()
    assert y.cpu().eq(10).all() and z.cpu().eq(7).all()


def test_threads_that_see_one_fault_reset_the_stream_once():
    own, side, turn, wrong = torch.accelerator.current_stream(), torch.sidra.Stream(), threading.Barrier(9), []
    table, place, busy = torch.zeros(1, 4, device="sidra"), torch.tensor([[4]], device="sidra"), torch.randn(500, 500, device="sidra")

    def stop():
        with torch.sidra.matmul_mode("digital"):
            torch.mm(busy, busy)
        try:
            table.gather(1, place)
        except RuntimeError:  # it has stopped before all was queued, and this thread has reset it
            stop()

    def work():
        try:
            for n in range(30):
                turn.wait()
                try:
                    own.synchronize()
                except RuntimeError as error:
                    assert "SIDRA_ERROR_FAULT" in str(error)
                for m in range(20):
                    assert (torch.full((64,), float(n), device="sidra") + m).cpu().eq(n + m).all(), "what was queued was dropped"
                turn.wait()
        except BaseException as error:  # noqa: B036
            wrong.append(error)
            turn.abort()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            stop()
            with side, pytest.raises(RuntimeError, match="SIDRA_ERROR_FAULT"):
                own.synchronize()  # which stays stopped: it is not this thread's current one
            turn.wait()
            turn.wait()
    except threading.BrokenBarrierError:
        pass
    finally:
        turn.abort()
        for thread in threads:
            thread.join()
    assert not [error for error in wrong if not isinstance(error, threading.BrokenBarrierError)], wrong


def test_a_storage_grows_for_the_tensor_that_is_set_to_it():
    storage = torch.arange(4.0, device="sidra").untyped_storage()
    large = torch.empty(0, device="sidra").set_(storage, 2, (500, 1000), (1000, 1))
    assert storage.nbytes() == 500_002 * 4 and large.untyped_storage().data_ptr() == storage.data_ptr()
    assert large.cpu()[0, :2].tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="out of bounds"):
        torch.empty(4, device="sidra").set_(torch.zeros(4, device="sidra").untyped_storage(), 1, (4,), (1,))
    with pytest.raises(RuntimeError, match="overflow"):
        torch.empty(0, device="sidra").set_(storage, 0, (2,), (-1,))
    with pytest.raises(torch.OutOfMemoryError):
        large.set_(storage, 0, (1 << 45,), (1,))
    assert large.shape == (500, 1000) and large.cpu()[0, :2].tolist() == [2, 3]


def test_a_file_that_says_a_tensor_is_larger_than_its_storage():
    forged, file = torch.arange(1000.0), io.BytesIO()
    forged.untyped_storage().resize_(16)
    torch.save(forged, file)
    file.seek(0)
    loaded = torch.load(file, map_location="sidra", weights_only=True)
    assert loaded.shape == (1000,) and loaded.untyped_storage().nbytes() == 4000 and loaded.cpu()[:4].tolist() == [0, 1, 2, 3]


def test_resizing_keeps_strides_where_the_shape_stays():
    x = torch.arange(6.0).view(2, 3)
    there = x.to("sidra")
    assert torch.equal(there.t().resize_(3, 2).cpu(), x.t()) and there.t().resize_(3, 2).stride() == (1, 3)
    assert there.t().resize_(2, 3).stride() == (3, 1) and there.t().resize_(7).shape == (7,)
    assert torch.empty(2, 3, 4, 5, device="sidra").resize_(2, 3, 4, 5, memory_format=torch.channels_last).stride() == (60, 1, 15, 3)
    with pytest.raises(RuntimeError, match="Unsupported memory format"):
        torch.empty(3, device="sidra").resize_(2, memory_format=torch.preserve_format)


def test_an_exception_leaves_the_thread_on_its_device():
    with pytest.raises(RuntimeError, match="cholesky"):
        torch.linalg.cholesky(-torch.eye(3, device="sidra:1"))
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1, device="sidra:1").untyped_storage().resize_(1 << 50)
    assert torch.sidra.current_device() == 0 and torch.empty(1, device="sidra").device.index == 0


def test_arguments_that_share_memory():
    """The CPU, to which these fall back, sees it as if all were its own."""
    def overlapping(x, n):
        return (lambda: torch.sin(x[:-1], out=x[1:]), lambda: n[1:].remainder_(n[:-1]), lambda: torch.hypot(x[:1], x[:4], out=x[2:6]))

    for device in ("cpu", "sidra"):
        for call in overlapping(torch.arange(1.0, 7.0).to(device), torch.arange(1, 7, dtype=torch.int32).to(device)):
            with pytest.raises(RuntimeError, match="refer to a single memory location|overlap"):
                call()
    x, longer = torch.arange(1.0, 7.0), torch.arange(8.0)
    there = x.to("sidra")
    for call in (lambda x, longer: torch.sin(x, out=x), lambda x, longer: torch.hypot(x[::2], x[1::2], out=x[::2]),
                 lambda x, longer: torch.hypot(x[:1], longer, out=x[6:])):  # the last one moves the storage of x, which must grow
        assert torch.allclose(call(there, longer.to("sidra")).cpu(), call(x, longer)) and torch.allclose(there.cpu(), x)
    assert there.untyped_storage().nbytes() == 14 * 4


def test_a_copy_that_does_not_fit():
    for there, source in ((torch.empty(0, device="sidra"), torch.ones(3)), (torch.empty(2, 0, device="sidra"), torch.ones(3, 0, device="sidra")),
                          (torch.empty(0), torch.ones(3, device="sidra")), (torch.empty(3, device="sidra"), torch.ones(2))):
        with pytest.raises(RuntimeError, match="size|shape"):
            there.copy_(source)
    assert torch.empty(0, 3, device="sidra").copy_(torch.ones(1)).shape == (0, 3)
