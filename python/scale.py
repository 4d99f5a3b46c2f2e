#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What many hosts with SIDRA chips would reach: measures one block of a network, copies and messages on this machine, and simulates pipelines of them.

    scale.py measure             prints the measured inputs as JSON
    scale.py simulate FILE       prints a table for docs/scale.md; --svg FILE draws it

The simulation goes from event to event. A microbatch visits stations one after another: a process with a chip computes a stage, and a message brings the
result to the next process, on the same host or over the network. A station serves one microbatch at a time, in the order of arrival."""
import argparse
import dataclasses
import heapq
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

HOSTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100)
COLOURS = ("#8e44ad", "#c0392b", "#e08e0b", "#1a6fb5", "#2e8b57")
NETWORKS = (1, 10, 100)  # Gbit/s
COPIES = "copies, 10 Gbit/s"
CURVES = [("eager, 10 Gbit/s", lambda inputs: inputs.eager_seconds, 10)]
CURVES += [(f"compiled, {speed} Gbit/s", lambda inputs: inputs.chip_seconds, speed) for speed in NETWORKS]


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What was measured for one block of a transformer and one microbatch."""

    width: int  # of the block's activations
    rows: int  # tokens of a microbatch
    crossbars_a_block: int
    crossbars_a_chip: int
    chip_seconds: float  # for a block, by the cost model of the chip
    host_seconds: float  # of the thread that queues a block
    message_seconds: float  # of a message without content between two processes
    bytes_a_second: float  # of long messages between two processes
    varies: float  # standard deviation of a message's time, as a share of it

    @property
    def bytes(self):
        return 4 * self.rows * self.width

    @property
    def eager_seconds(self):
        """For a block. The chip computes while the thread queues, and is waited for before the message."""
        return max(self.host_seconds, self.chip_seconds)


@dataclasses.dataclass(frozen=True)
class Visit:
    station: object  # whatever names it
    seconds: float  # it is busy with the microbatch
    after: float = 0.0  # until the microbatch is at the next station, while this one goes on
    varies: float = 0.0  # the standard deviation of `seconds`, as a share of them


def simulate(visits, count, window, seed=1):
    """When each of `count` microbatches began and ended; `window` are under way at most."""
    draw = random.Random(seed)
    events, free, order = [], {}, 0
    began, ended = [0.0] * count, [0.0] * count
    for number in range(min(window, count)):
        events.append((0.0, order, number, 0))
        order += 1
    begun = len(events)
    while events:
        now, _, number, step = heapq.heappop(events)
        if step == len(visits):
            ended[number] = now
            if begun < count:
                began[begun] = now
                heapq.heappush(events, (now, order, begun, 0))
                begun, order = begun + 1, order + 1
            continue
        visit = visits[step]
        seconds = visit.seconds
        if visit.varies and seconds:
            seconds = draw.gammavariate(visit.varies**-2, seconds * visit.varies**2)
        # Events come in the order of time, so this is the order of arrival.
        end = max(now, free.get(visit.station, 0.0)) + seconds
        free[visit.station] = end
        heapq.heappush(events, (end + visit.after, order, number, step + 1))
        order += 1
    return began, ended


def rates(visits, count):
    """Microbatches a second and the median seconds of one, with as many under way as keep the slowest station busy."""
    busy = {}
    for visit in visits:
        busy[visit.station] = busy.get(visit.station, 0.0) + visit.seconds
    window = math.ceil(sum(visit.seconds + visit.after for visit in visits) / max(busy.values())) + 2
    count = max(count, 4 * window)
    began, ended = simulate(visits, count, window)
    half = count // 2
    times = sorted(end - begin for begin, end in zip(began[half:], ended[half:], strict=True))
    return (count - 1 - half) / (max(ended) - sorted(ended)[half]), times[len(times) // 2]


def pipeline(inputs, block_seconds, gigabits, options, hosts):
    """The visits of a microbatch to a network whose stages are as equal as can be, a chip and a process for each; and their number."""
    stages = min(options.blocks, hosts * options.chips)
    rate = min(inputs.bytes_a_second, gigabits * 1e9 / 8)
    visits = []
    for stage in range(stages):
        blocks = options.blocks * (stage + 1) // stages - options.blocks * stage // stages
        host = stage // options.chips
        visits.append(Visit(("process", stage), blocks * block_seconds))
        if stage + 1 == stages:
            break
        if (stage + 1) // options.chips == host:
            visits.append(Visit(("memory", stage), inputs.message_seconds + inputs.bytes / inputs.bytes_a_second, varies=inputs.varies))
        else:
            visits.append(Visit(("network", host), inputs.message_seconds + inputs.bytes / rate, options.latency, inputs.varies))
    return visits, stages


def least_chips(inputs, blocks):
    """How many chips have crossbars for the blocks."""
    return math.ceil(blocks / (inputs.crossbars_a_chip // inputs.crossbars_a_block))


# ---- Measurements


def measure(width, rows):
    os.environ.setdefault("SIDRA_QUIET", "1")
    os.environ["SIDRA_DEVICE"] = "embedded:0"
    import torch

    torch.sidra.set_fallback("error")
    torch.manual_seed(1)
    block = torch.nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True).to("sidra:0").eval()
    x = torch.randn(1, rows, width, device="sidra:0")
    host, chip = [], []
    with torch.no_grad():
        for _ in range(8):
            torch.sidra.synchronize()
            before, start = torch.sidra.cost("sidra:0")[0], time.thread_time()
            block(x)
            host.append(time.thread_time() - start)
            torch.sidra.synchronize()
            chip.append(torch.sidra.cost("sidra:0")[0] - before)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "message", folder]
        ranks = [subprocess.Popen([*command, str(rank), str(4 * rows * width)], stdout=subprocess.PIPE, text=True) for rank in range(2)]
        empty, full, varies = json.loads([rank.communicate(timeout=300)[0] for rank in ranks][0])
    crossbars = sum(row["crossbars"] for row in torch.sidra.residency("sidra:0") if row["resident"])
    return Inputs(width, rows, crossbars, torch.sidra.get_device_properties()["crossbars_total"], min(chip), min(host[2:]), empty,
                  4 * rows * width / (full - empty), varies)


def message(folder, rank, size):
    """Between two processes with a chip each: seconds of a message of one number, of one with `size` bytes, and by which share of it its time varies: the
    distance of its quartiles, which others on this machine disturb less, as the standard deviation of a normal distribution."""
    os.environ["SIDRA_DEVICE"] = f"embedded:{rank}"
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    import torch
    import torch.distributed as dist

    dist.init_process_group("sidra", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    least = []
    for length in (1, size // 4):
        x, times = torch.ones(length, device="sidra"), []
        for _ in range(300):
            start = time.perf_counter()
            for sender in range(2):
                (dist.send if sender == rank else dist.recv)(x, 1 - rank)
            times.append((time.perf_counter() - start) / 2)
        least.append(min(times))
    dist.destroy_process_group()
    low, middle, high = statistics.quantiles(times, n=4)
    return [*least, (high - low) / 1.35 / middle]


# ---- Results


def table(inputs, options):
    """A row for each number of hosts: one pipeline over all of them, eager or compiled, and copies of the shortest pipeline that has the crossbars."""
    rows, shortest = [], None
    least = math.ceil(least_chips(inputs, options.blocks) / options.chips)
    for hosts in HOSTS:
        row = {"hosts": hosts}
        if hosts >= least:
            for name, seconds, speed in CURVES:
                visits, row["stages"] = pipeline(inputs, seconds(inputs), speed, options, hosts)
                row[name] = rates(visits, options.count)
            if shortest is None:  # for exactly as many hosts as it needs
                shortest = rates(pipeline(inputs, inputs.chip_seconds, 10, options, least)[0], options.count)[0]
            row["copies"] = hosts // least
            row[COPIES] = (hosts // least * shortest, None)
        rows.append(row)
    return rows


def markdown(inputs, rows):
    middle = CURVES[2][0]
    heads = ["hosts", "stages", *(name.replace(",", "").replace(" Gbit/s", "") for name, _, _ in CURVES), "latency", "link", "copies", "all copies"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---:|" * len(heads)]
    for row in rows:
        if "stages" not in row:
            lines.append(f"| {row['hosts']} | too few crossbars |" + " |" * (len(heads) - 2))
            continue
        rate, latency = row[middle]
        cells = [row["hosts"], row["stages"], *(f"{row[name][0]:,.0f}/s" for name, _, _ in CURVES), f"{latency * 1e3:.1f} ms",
                 f"{rate * inputs.bytes * 8e-9:.1f} Gbit/s", row["copies"], f"{row[COPIES][0]:,.0f}/s"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def draw(path, rows):
    """Microbatches a second over hosts, both with logarithmic axes."""
    width, height, left, top, right, bottom = 760, 420, 70, 30, 190, 50
    names = [name for name, _, _ in CURVES] + [COPIES]
    curves = [(name, [(row["hosts"], row[name][0]) for row in rows if name in row]) for name in names]
    values = [rate for _, points in curves for _, rate in points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def place(hosts, rate):
        x = left + math.log10(hosts) / 2 * (width - left - right)
        return x, top + (high - math.log10(rate)) / (high - low) * (height - top - bottom)

    parts = ["<!-- SPDX-License-Identifier: MIT -->", f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for hosts in (1, 2, 4, 8, 16, 32, 64, 100):
        x = place(hosts, 10**low)[0]
        parts.append(f'<path d="M{x:.1f} {top}V{height - bottom}" stroke="#ddd"/><text x="{x:.1f}" y="{height - bottom + 18}" text-anchor="middle">{hosts}</text>')
    for power in range(low, high + 1):
        for factor in (1, 2, 5) if power < high else (1,):
            y = place(1, factor * 10**power)[1]
            parts.append(f'<path d="M{left} {y:.1f}H{width - right}" stroke="#ddd"/><text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{factor * 10**power:,}</text>')
    for (_, points), colour in zip(curves, COLOURS, strict=True):
        places = [place(*point) for point in points]
        parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    for number, ((name, _), colour) in enumerate(zip(curves, COLOURS, strict=True)):
        y = top + 14 + 20 * number
        parts.append(f'<path d="M{width - right + 8} {y - 4}h14" stroke="{colour}" stroke-width="2"/><text x="{width - right + 26}" y="{y}">{name}</text>')
    parts.append(f'<text x="{(left + width - right) / 2}" y="{height - 12}" text-anchor="middle">hosts</text>'
                 f'<text x="{left - 60}" y="{top - 12}">microbatches a second</text></svg>')
    pathlib.Path(path).write_text("\n".join(parts) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("measure")
    command.add_argument("--width", type=int, default=1024, help="of the block (default: 1024)")
    command.add_argument("--rows", type=int, default=128, help="tokens of a microbatch (default: 128)")
    command = commands.add_parser("simulate")
    command.add_argument("inputs", type=pathlib.Path, help="what `measure` printed")
    command.add_argument("--blocks", type=int, default=96, help="of the network (default: 96)")
    command.add_argument("--chips", type=int, default=4, help="of a host (default: 4)")
    command.add_argument("--latency", type=float, default=20e-6, help="of the network, in seconds (default: 20e-6)")
    command.add_argument("--count", type=int, default=400, help="microbatches (default: 400)")
    command.add_argument("--svg", type=pathlib.Path, help="the picture")
    command = commands.add_parser("message")
    command.add_argument("folder")
    command.add_argument("rank", type=int)
    command.add_argument("size", type=int)
    options = parser.parse_args()
    if options.command == "measure":
        print(json.dumps(dataclasses.asdict(measure(options.width, options.rows)), indent=1))
    elif options.command == "message":
        print(json.dumps(message(options.folder, options.rank, options.size)))
    else:
        inputs = Inputs(**json.loads(options.inputs.read_text()))
        rows = table(inputs, options)
        print(markdown(inputs, rows))
        if options.svg:
            draw(options.svg, rows)


if __name__ == "__main__":
    main()
