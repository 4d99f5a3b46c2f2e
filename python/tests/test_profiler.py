# SPDX-License-Identifier: MIT
"""torch.profiler: times of the device by operator, rows of a trace, and sums that agree with the counters of sidra-smi."""
import copy
import itertools
import json
import os
import subprocess
import threading
import time
from pathlib import Path

import chrome_trace
import pytest
import torch
from torch.profiler import ProfilerActivity, profile, schedule

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
SMI = Path(__file__).parents[2] / "build/release/tools/sidra-smi/sidra-smi"
PROGRAMMING, FALLBACKS, COPIES = "programming of weights", "fallbacks to the CPU", "copies by the host"


class Trace:
    """What a Chrome trace has of devices."""

    def __init__(self, profiled, folder):
        path = folder / "trace.json"
        profiled.export_chrome_trace(str(path))
        self.file = json.loads(path.read_text())
        self.all = self.file["traceEvents"]
        self.devices = {e["pid"]: e["args"]["name"] for e in self.all if e["name"] == "process_name" and e["args"]["name"].startswith("sidra:")}
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in self.all if e["name"] == "thread_name"}
        self.slices = [e for e in self.all if e.get("ph") == "X" and "dur" in e]
        # Device, row, event.
        self.rows = [(self.devices[e["pid"]], names[e["pid"], e["tid"]], e) for e in self.slices if e["pid"] in self.devices]
        self.work = [e for e in self.slices if "device_ps" in e.get("args", {})]

    def on(self, row, device="sidra:0"):
        return [e for of, at, e in self.rows if of == device and at == row]

    def one_after_another(self, row, device="sidra:0"):
        events = sorted(self.on(row, device), key=lambda e: e["ts"])
        return all(a["ts"] + a["dur"] <= b["ts"] + 1 for a, b in itertools.pairwise(events))

    def operator_of(self, event):
        """The operator of the CPU in which it was queued."""
        return next(e["name"] for e in self.slices if e["cat"] == "cpu_op" and e["args"]["External id"] == event["args"]["External id"])


def rows_of(profiled):
    """By name, and whether the device is meant."""
    return {(row.key, not str(row.device_type).endswith(".CPU")): row for row in profiled.key_averages()}


def test_operators_have_time_of_the_device():
    x = torch.randn(64, 256).to("sidra")
    layer = torch.nn.Linear(256, 128).to("sidra")
    with profile(activities=BOTH) as profiled:
        torch.nn.functional.gelu(layer(x)).sum().backward()
    rows = rows_of(profiled)
    device = [row for (_, on_device), row in rows.items() if on_device]
    assert device and all(row.device_time_total > 0 and row.self_cpu_time_total == 0 for row in device)
    for name in ("aten::linear", "aten::gelu", "aten::gelu_backward", "aten::linear_backward", "aten::sum"):
        assert rows[name, False].self_device_time_total > 0, name
    assert rows["LinearBackward0", False].device_time_total > 0
    # All time of the device is an operator's.
    of_operators = sum(row.self_device_time_total for (_, on_device), row in rows.items() if not on_device)
    assert of_operators == pytest.approx(sum(row.self_device_time_total for row in device))
    assert "SIDRA" in profiled.key_averages().table(sort_by="self_device_time_total")


def test_rows_of_a_trace(tmp_path):
    layer = torch.nn.Linear(256, 128).to("sidra").eval()
    stream = torch.sidra.Stream()
    with torch.no_grad(), profile(activities=BOTH) as profiled:
        x = torch.randn(16, 256).to("sidra")
        torch.sidra.program(layer)
        y = layer(x)
        z = y[:, ::2].clone()
        copied = torch.sidra.current_stream().record_event()
        with stream:
            stream.wait_event(copied)
            (x + 1).relu_()
        torch.linalg.qr(y)
        z.cpu()
        torch.sidra.synchronize()
    trace = Trace(profiled, tmp_path)
    assert trace.devices == {0: "sidra:0"}
    assert {row for _, row, _ in trace.rows} == {"stream 0", f"stream {stream.stream_id}", PROGRAMMING, FALLBACKS, COPIES}
    assert [e["name"] for e in trace.on(PROGRAMMING)] == ["sidra::program"] and trace.on(PROGRAMMING)[0]["args"]["stream"] == 0
    assert {"sidra::layer", "sidra::copy"} <= {e["name"] for e in trace.on("stream 0")}
    assert [e["name"] for e in trace.on(f"stream {stream.stream_id}") if e["name"] != "sidra::wait"] == ["sidra::vector"] * 2
    assert {e["name"] for e in trace.on(FALLBACKS)} == {"sidra::fallback"}
    assert "aten::linalg_qr" in {e["args"]["operator"].split(".")[0] for e in trace.on(FALLBACKS)}
    copies = [(e["args"]["direction"], e["args"]["bytes"]) for e in trace.on(COPIES)]
    assert ("to the device", 16 * 256 * 4) in copies and ("to the host", 16 * 64 * 4) in copies
    assert next(e for e in trace.on("stream 0") if e["name"] == "sidra::copy")["args"]["bytes"] == 16 * 64 * 4
    # Each knows the operator that queued it, and an arrow leads there.
    assert trace.operator_of(next(e for e in trace.on("stream 0") if e["name"] == "sidra::layer")) == "aten::linear"
    assert [trace.operator_of(e) for e in trace.on(f"stream {stream.stream_id}") if e["name"] == "sidra::vector"] == ["aten::add", "aten::relu_"]
    assert trace.operator_of(trace.on(PROGRAMMING)[0]) == "sidra::program"
    starts = {e["id"]: e for e in trace.all if e.get("ph") == "s" and e["cat"] == "ac2g"}
    ends = {e["id"]: e for e in trace.all if e.get("ph") == "f" and e["cat"] == "ac2g"}
    assert len(trace.work) == len(starts) and starts.keys() == ends.keys()
    assert all(starts[i]["pid"] == os.getpid() and ends[i]["pid"] == 0 for i in starts)
    # What is on one stream does not overlap; all of it is on the clock of the CPU's rows.
    for row in ("stream 0", f"stream {stream.stream_id}"):
        assert trace.one_after_another(row)
    host = [e for e in trace.slices if e["cat"] == "cpu_op"]
    first, last = min(e["ts"] for e in host), max(e["ts"] + e["dur"] for e in trace.slices if e["name"] == "sidra::synchronize")
    assert all(first - 1e5 < e["ts"] and e["ts"] + e["dur"] < last + 1e5 for e in trace.work)


def test_the_format_of_a_trace(tmp_path):
    """Viewers drop without a word what is not as they expect it."""
    torch._dynamo.reset()
    layers = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).to("sidra").eval()
    compiled = torch.compile(layers, backend="sidra", fullgraph=True)
    streams = [torch.sidra.Stream(), torch.sidra.Stream(1)]

    def work(stream):
        x = torch.randn(16, 64).to("sidra:0")
        with torch.no_grad(), stream:
            for _ in range(5):
                layers(x).relu_()
                y = compiled(x)
            torch.linalg.svd(y)
            y.to("sidra:1").add_(1).cpu()

    with profile(activities=BOTH) as profiled:
        threads = [threading.Thread(target=work, args=(stream,)) for stream in streams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = Trace(profiled, tmp_path)
    assert trace.devices == {0: "sidra:0", 1: "sidra:1"} and {"sidra::model", "sidra::layer", "sidra::peer_copy"} <= {e["name"] for _, _, e in trace.rows}
    assert chrome_trace.check(trace.file, trace.devices) == len(trace.slices)

    # What the check is for.
    def spoil(change):
        spoilt = copy.deepcopy(trace.file)
        change(spoilt["traceEvents"])
        with pytest.raises(AssertionError):
            chrome_trace.check(spoilt, trace.devices)

    def overlap(events):
        of_row = sorted((e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == (0, 0) and e["dur"] > 0.1), key=lambda e: e["ts"])
        of_row[0]["dur"] = of_row[1]["ts"] + of_row[1]["dur"] / 2 - of_row[0]["ts"]

    def first(events, **fields):
        return next(e for e in events if all(e.get(name) == value for name, value in fields.items()))

    spoil(lambda events: first(events, ph="X", pid=0).pop("tid"))
    spoil(lambda events: first(events, ph="X", pid=0).update(dur=-1))
    spoil(overlap)
    spoil(lambda events: events.remove(first(events, ph="M", name="thread_name", pid=1)))
    spoil(lambda events: events.remove(first(events, ph="f", pid=0)))
    spoil(lambda events: first(events, ph="s", cat="ac2g").update(tid=1))


def smi(index=0):
    """Counters of a device, as another process sees them. They are published some time after the work, which is done."""
    done = time.monotonic()
    while True:
        asked = time.monotonic()
        said = subprocess.run([SMI, "-i", f"{os.getpid()}-{index}", "query", "--fields", "device_time,energy,packets,data.age", "--format", "json"],
                              check=True, capture_output=True, text=True)
        counters = json.loads(said.stdout)["chips"][0]
        if asked - counters["data.age"] / 1e9 > done + 0.1:
            return counters
        assert asked < done + 60, "the chip publishes no counters any more"
        time.sleep(0.1)


def test_sums_agree_with_the_counters_of_sidra_smi(tmp_path):
    x = torch.randn(256, 512).to("sidra")
    torch._dynamo.reset()
    region = torch.compile(torch.nn.Sequential(torch.nn.Linear(512, 64), torch.nn.GELU()).to("sidra").eval(), backend="sidra", fullgraph=True)
    with torch.no_grad():
        for _ in range(2):  # the second run finds that all is programmed, and asks no more
            region(x)
            torch.sidra.synchronize()

    def work():
        torch.manual_seed(2)
        model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.Linear(512, 256), torch.nn.LayerNorm(256)).to("sidra").eval()
        with torch.no_grad():
            for _ in range(5):
                y = torch.softmax(model(x), -1)
            y.sort()
            for _ in range(3):
                region(x)
            # One of each kind, so that none is forgotten.
            index = torch.tensor([3, 1, 2], device="sidra")
            y[index].index_add_(0, index - 1, y[:3])
            torch.gather(y, 1, index.view(1, 3)).long().cumsum(1)
            torch.arange(9, device="sidra").sum()
            images = torch.randn(2, 8, 16, 16, device="sidra")
            kernel = torch.randn(4, 8, 3, 3, device="sidra")
            torch.nn.functional.max_pool2d(torch.conv2d(images, kernel), 2)
            torch.nn.functional.embedding(index, y)
            torch.nn.LSTMCell(8, 8).to("sidra")(images[0, 0, :4, :8])
            torch.baddbmm(images[0], images[0], images[1], beta=0.5)
        torch.sidra.synchronize()

    work()  # what is made once, is made
    idle = smi()
    with profile(activities=BOTH) as profiled:
        work()
    events = Trace(profiled, tmp_path).work
    kinds = ("program", "layer", "matmul", "vector", "rows", "copy", "gather", "scatter", "pool", "sort", "random", "model")
    assert {f"sidra::{kind}" for kind in kinds} == {e["name"] for e in events}
    packets, picoseconds, picojoules = (sum(e["args"][name] for e in events) for name in ("packets", "device_ps", "energy_pj"))
    # The profile itself has two stamps for each, and two at the beginning.
    with_profile = smi()
    assert with_profile["packets"] - idle["packets"] == packets + 2 * len(events) + 2
    assert picoseconds == pytest.approx(with_profile["device_time"] - idle["device_time"], rel=0.01)
    assert picojoules == pytest.approx(with_profile["energy"] - idle["energy"], rel=0.01)
    # Without a profile the same work has no stamps.
    work()
    without = smi()
    assert without["packets"] - with_profile["packets"] == packets
    assert picoseconds == pytest.approx(without["device_time"] - with_profile["device_time"], rel=0.001)
    assert picojoules == pytest.approx(without["energy"] - with_profile["energy"], rel=0.001)


def test_copies_between_chips(tmp_path):
    x, copies = torch.randn(300, 500, device="sidra:0"), 6

    def work():
        for _ in range(copies):
            x.to("sidra:1")
        for index in range(2):
            torch.sidra.synchronize(index)

    work()  # all streams for copies are made
    idle = [smi(index) for index in range(2)]
    with profile(activities=BOTH) as profiled:
        work()
    behind = [smi(index) for index in range(2)]
    trace = Trace(profiled, tmp_path)
    assert trace.devices == {0: "sidra:0", 1: "sidra:1"}
    ends = [[e for of, _, e in trace.rows if of == f"sidra:{index}" and e["name"] == "sidra::peer_copy"] for index in range(2)]
    assert [[e["args"]["bytes"] for e in of] for of in ends] == [[x.nbytes] * copies] * 2
    assert ends[1] == trace.on("stream 0", "sidra:1") and {trace.operator_of(e) for e in ends[1]} == {"aten::_copy_from"}
    assert trace.one_after_another("stream 0", "sidra:1")
    # The source has four streams for copies, in turn. For each copy it waits for the current stream, packs, lets that wait, and gives; the target takes.
    recorded, streams = [4 * copies, copies], [1 + 4, 1]
    for index in range(2):
        packets = sum(e["args"]["packets"] for of, _, e in trace.rows if of == f"sidra:{index}" and "packets" in e.get("args", {}))
        # The profile has two stamps for each operation, and two for each stream. A packet on a queue of its own ends each wait for the other chip.
        assert behind[index]["packets"] - idle[index]["packets"] == packets + 2 * recorded[index] + 2 * streams[index] + copies


def test_only_a_profile_of_devices_records(tmp_path):
    x = torch.ones(100, device="sidra")
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        (x + 1).cpu()
    assert not [row for row in profiled.key_averages() if row.key.startswith("sidra::")]
    with profile(activities=BOTH):
        x + 1
    (x * 2).sqrt()
    with profile(activities=BOTH) as profiled:
        x - 1
    assert [e["name"] for e in Trace(profiled, tmp_path).work] == ["sidra::vector"]
    with profile(activities=BOTH) as profiled:
        torch.ones(3) + 1
    trace = Trace(profiled, tmp_path)
    assert not trace.work and not trace.devices
    with profile(activities=[ProfilerActivity.PrivateUse1]) as profiled:
        x - 1
    assert [e["name"] for e in Trace(profiled, tmp_path).work] == ["sidra::vector"]


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_schedule(tmp_path):
    x = torch.ones(100, device="sidra")
    counts = []

    def ready(profiled):
        counts.append(len(Trace(profiled, tmp_path).work))

    with profile(activities=BOTH, schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as profiled:
        for step in range(8):
            for _ in range(step + 1):
                x = x + 1
            profiled.step()
    assert counts == [3 + 4, 7 + 8]


def test_exceptions(tmp_path, capfd):
    x = torch.arange(12.0).view(3, 4).to("sidra")
    with pytest.raises(RuntimeError, match="here"), profile(activities=BOTH) as profiled:
        x + 1
        raise RuntimeError("here")
    assert len(Trace(profiled, tmp_path).work) == 1
    # The stream stops, so what is behind the fault has no times.
    with profile(activities=BOTH) as profiled, pytest.raises(RuntimeError, match="out of range"):
        x.gather(1, torch.tensor([[4]], device="sidra")).cpu()
    assert "sidra:0, stream 0: " in (said := capfd.readouterr().err) and "operations have no times, because the stream stopped" in said
    with profile(activities=BOTH) as profiled:
        assert (x + 1).cpu().sum() == 78
    assert [e["name"] for e in Trace(profiled, tmp_path).work] == ["sidra::vector"]


def test_threads_and_devices(tmp_path):
    def work(device, stream):
        x = torch.ones(1000).to(device)
        with stream or torch.sidra.device(device):
            for _ in range(50):
                x = x + 1
            x.cpu()

    streams = [("sidra:0", None), ("sidra:0", None), ("sidra:0", torch.sidra.Stream(0)), ("sidra:1", torch.sidra.Stream(1)), ("sidra:1", None)]
    threads = [threading.Thread(target=work, args=arguments) for arguments in streams]
    with profile(activities=BOTH) as profiled:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = Trace(profiled, tmp_path)
    assert trace.devices == {0: "sidra:0", 1: "sidra:1"}
    added = lambda row, device: len([e for e in trace.on(row, device) if e["name"] == "sidra::vector"])
    for device, stream in streams[1:]:
        shared = 2 if (device, stream) == ("sidra:0", None) else 1
        assert added(f"stream {stream.stream_id if stream else 0}", device) == 50 * shared
    for device in trace.devices.values():
        for row in {at for of, at, _ in trace.rows if of == device and at.startswith("stream")}:
            assert trace.one_after_another(row, device)


def test_fallbacks_of_several_threads(tmp_path):
    barrier = threading.Barrier(3)

    def work():
        x = torch.randn(150, 150).to("sidra")
        for _ in range(3):
            barrier.wait()
            torch.linalg.svd(x)

    threads = [threading.Thread(target=work) for _ in range(3)]
    with profile(activities=BOTH) as profiled:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    trace = Trace(profiled, tmp_path)
    rows = {at for _, at, _ in trace.rows if at.startswith(FALLBACKS)}
    assert sum("_linalg_svd" in e["args"]["operator"] for row in rows for e in trace.on(row)) == 9
    assert FALLBACKS in rows and all(trace.one_after_another(row) for row in rows)


def test_profiles_while_other_threads_work(tmp_path):
    stop = threading.Event()

    def work():
        x = torch.ones(100, device="sidra")
        while not stop.is_set():
            x = x * 1
        torch.sidra.synchronize()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            with profile(activities=BOTH) as profiled:
                torch.ones(100, device="sidra") + 1
                torch.sidra.synchronize()
            assert len(Trace(profiled, tmp_path).work) >= 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_compiled_regions(tmp_path):
    torch._dynamo.reset()
    layers = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8)).to("sidra").eval()
    compiled = torch.compile(layers, backend="sidra", fullgraph=True)
    x = torch.randn(4, 64).to("sidra")
    with torch.no_grad(), profile(activities=BOTH) as profiled:
        compiled(x)
        compiled(x)
        torch.sidra.synchronize()
    trace = Trace(profiled, tmp_path)
    assert [e["name"] for e in trace.on("stream 0")] == ["sidra::copy", "sidra::model", "sidra::copy"] * 2
    assert {e["name"] for e in trace.on(PROGRAMMING)} == {"sidra::program"}
    assert all(e["args"]["device_ps"] > 0 for e in trace.work)


@pytest.mark.skipif(torch.__version__.startswith("2.6."), reason="PyTorch 2.6 knows the device by another name there")
def test_older_profiler():
    x = torch.randn(64, 64).to("sidra")
    with torch.autograd.profiler.profile(use_device="sidra") as profiled:
        (x @ x).relu()
    rows = {row.key: row for row in profiled.key_averages()}
    assert rows["aten::mm"].device_time_total > 0 and rows["aten::relu"].device_time_total > 0
