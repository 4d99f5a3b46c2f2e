# SPDX-License-Identifier: MIT
"""Two machines' worth of chips: two network namespaces with a cable between them, a rank with two chips in each. What can be expected of real machines is
that a rank or the cable is lost."""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest
import ranks
import torch
from test_distributed import end, names

SCRIPT = pathlib.Path(ranks.__file__)
ADDRESSES = ["10.77.0.1", "10.77.0.2"]


def cannot(why):
    """Skips the test; in continuous integration (CI is set) it fails."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(why)


def ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def machines():
    """The names of two namespaces that reach each other by an interface "cable" in each."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        cannot("network namespaces need root, and the program ip of iproute2")
    here = [f"sidra-{os.getpid()}-{number}" for number in range(2)]
    try:
        for name in here:
            ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        for name in here:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        cannot(f"this machine makes no network namespaces: {error.stderr.strip()}")
    try:
        ip("-n", here[0], "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", here[1])
        for name, address in zip(here, ADDRESSES, strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "cable", "up")
        yield here
    finally:
        for name in here:
            ip("netns", "del", name)


def start(machines, folder, *parts):
    common = os.environ | {"WORLD_SIZE": "2", "SIDRA_WORKERS": "1", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "cable", "SIDRA_DEVICE": "embedded:0-1",
                           "MASTER_ADDR": ADDRESSES[0], "MASTER_PORT": "29500"}
    return [subprocess.Popen(["ip", "netns", "exec", machine, sys.executable, str(SCRIPT), str(folder), *parts], stderr=subprocess.PIPE, text=True,
                             env=common | {"RANK": str(rank)}) for rank, machine in enumerate(machines)]


@contextlib.contextmanager
def running(machines, folder):
    """The ranks of a pipeline that runs until something happens to it."""
    processes = start(machines, folder, "hosts:endless")
    try:
        deadline = time.monotonic() + 120
        while not all((folder / f"ready.{rank}").exists() for rank in range(2)):
            assert time.monotonic() < deadline and all(process.poll() is None for process in processes), "the pipeline did not begin"
            time.sleep(0.1)
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_a_pipeline_over_two_machines_has_the_bits_of_one_chip(machines, tmp_path):
    for rank, (code, text) in enumerate(end(start(machines, tmp_path, "hosts:3"), 240)):
        assert code == 0, f"rank {rank}:\n{text}"
    model, (x, _) = ranks.network().eval().to("sidra:0"), ranks.batch()
    with torch.no_grad():
        torch.sidra.program(model)
        assert torch.equal(torch.load(tmp_path / "hosts.pt"), model(x.to("sidra:0")).cpu())


@pytest.mark.parametrize("lost", [0, 1])
def test_a_machine_ends(lost, machines, tmp_path):
    with running(machines, tmp_path) as processes:
        processes[lost].send_signal(signal.SIGKILL)
        processes[lost].wait()
        (code, text), = end([processes[1 - lost]], 60)
    assert code == 1 and names(text, 1 - lost, f"stage {1 - lost} of 2: ", f"rank {lost} (Float[4, 24]) failed", f"Rank {lost} at {ADDRESSES[lost]} has ended."), text


def test_the_cable_is_cut(machines, tmp_path):
    with running(machines, tmp_path) as processes:
        ip("-n", machines[0], "link", "set", "cable", "down")
        cut = time.monotonic()
        ended = end(processes, 60)
        assert time.monotonic() - cut > 5  # only the time tells
    for rank, (code, text) in enumerate(ended):
        assert code == 1 and names(text, rank, f"stage {rank} of 2: ", f"rank {1 - rank} (Float[4, 24]) failed", "imed out",
                                   f"Rank {1 - rank} at {ADDRESSES[1 - rank]} cannot be reached: "), text
