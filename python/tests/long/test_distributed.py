# SPDX-License-Identifier: MIT
"""torch.distributed between processes that have a chip each: operations, pipelines, training, and ranks that end."""
import functools
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
import ranks
import torch
from sidra_pytorch import distributed

SCRIPT = pathlib.Path(ranks.__file__)


def start(size, folder, *parts, **environment):
    common = os.environ | {"WORLD_SIZE": str(size), "SIDRA_WORKERS": "1", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"} | environment
    return [subprocess.Popen([sys.executable, str(SCRIPT), str(folder), *parts], stderr=subprocess.PIPE, text=True,
                             env=common | {"RANK": str(rank), "SIDRA_DEVICE": f"embedded:{rank}"}) for rank in range(size)]


def end(processes, seconds):
    """How each rank ended and what it wrote, in the time given for all of them: nothing hangs."""
    deadline, ended = time.monotonic() + seconds, []
    try:
        for process in processes:
            text = process.communicate(timeout=max(0.1, deadline - time.monotonic()))[1]
            ended.append((process.returncode, text))
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return ended


@pytest.fixture(scope="module", params=[2, 4], ids=["2 ranks", "4 ranks"])
def results(request, tmp_path_factory):
    """Of everything that should succeed, in one start of the ranks: how many they were, and a function that loads what they saved."""
    folder = tmp_path_factory.mktemp("ranks")
    parts = ["collectives", "inference", "compiled", "training:gpipe", "training:1f1b", "data_parallel"]
    for rank, (code, text) in enumerate(end(start(request.param, folder, *parts), 300)):
        assert code == 0, f"rank {rank}:\n{text}"
    return request.param, lambda name: torch.load(folder / f"{name}.pt")


def trained():
    """The parameters after the same training on the CPU in one process."""
    model, (x, target) = ranks.network(), ranks.batch()
    ranks.train(model, lambda: torch.nn.functional.mse_loss(model(x), target).backward())
    return [parameter.detach() for parameter in model.parameters()]


def close(some, others):
    assert len(some) == len(others)
    for one, other in zip(some, others, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-5), (one - other).abs().max()


def test_a_pipeline_has_the_bits_of_one_chip(results):
    model, (x, _) = ranks.network().eval(), ranks.batch()
    with torch.no_grad():
        expected = model(x)
        model.to("sidra:0")
        torch.sidra.program(model)
        one_chip = model(x.to("sidra:0")).cpu()
    y = results[1]("y")
    assert torch.equal(y, one_chip)
    assert (y - expected).abs().mean() < 0.05 * expected.abs().mean()


def test_a_pipeline_of_compiled_stages_has_the_bits_of_one_process(results):
    size, load = results
    model, (x, _) = ranks.network().eval(), ranks.batch()
    with torch.no_grad():
        expected = model(x)
        stages = [torch.compile(ranks.stage_of(model, rank, size).to("sidra:0"), backend="sidra") for rank in range(size)]
        parts = [functools.reduce(lambda part, stage: stage(part), stages, part.to("sidra:0")).cpu() for part in x.chunk(ranks.MICROBATCHES)]
    y = load("compiled")
    assert torch.equal(y, torch.cat(parts))
    assert (y - expected).abs().mean() < 0.05 * expected.abs().mean()


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_a_pipeline_trains_as_one_process(schedule, results):
    size, load = results
    close([parameter for rank in range(size) for parameter in load(f"{schedule}.{rank}")], trained())


def test_data_parallel_training(results):
    size, load = results
    for rank in range(size):
        close(load(f"ddp.{rank}"), trained())


def names(text, rank, *words):
    """Whether the last error names this rank, and what it did."""
    return all(word in text.rpartition(f"torch.distributed: rank {rank}: ")[2] for word in words) and f"rank {rank}: " in text


def test_a_killed_rank_is_an_exception_of_the_others(tmp_path):
    ended = end(start(4, tmp_path, "failing:kill"), 240)
    assert ended[1][0] == -signal.SIGKILL
    for rank, neighbour in ((0, 1), (2, 1), (3, 2)):
        code, text = ended[rank]
        assert code == 1 and names(text, rank, f"stage {rank} of 4: ", f"rank {neighbour}", "Float[4, 24]", "failed", "Rank 1 at 127.0.0.1 has ended."), text


def test_a_rank_that_stands_still_is_an_exception_of_the_others(tmp_path):
    processes = start(3, tmp_path, "failing:stop")
    try:
        ended = end([processes[0], processes[2]], 240)
    finally:
        processes[1].kill()
        processes[1].communicate()
    for rank, (code, text) in zip((0, 2), ended, strict=True):
        assert code == 1 and names(text, rank, "rank 1", "imed out") and "Rank 1 at" not in text, text  # its process is there


@pytest.mark.parametrize("where", ["before", "behind"])
def test_a_lost_chip_ends_the_pipeline(where, tmp_path):
    ended = end(start(3, tmp_path, f"failing:lose:{where}"), 240)
    code, text = ended[1]
    assert code == 1 and "Lost devices: sidra:0." in text and "This process is rank 1 of torch.distributed." in text, text
    if where == "before":  # an operator of the stage meets it, and PyTorch says which stage that is
        assert "SIDRA_ERROR_CONTEXT_LOST" in text and "[Stage 1] failed to run forward" in text, text
    else:
        assert names(text, 1, "stage 1 of 3: ", "rank 2 (Float[4, 24]) failed: SIDRA_ERROR_CONTEXT_LOST"), text
    for rank in (0, 2):
        code, text = ended[rank]
        assert code == 1 and names(text, rank, "rank 1", "failed"), text


def test_a_lost_chip_ends_a_pipeline_of_compiled_stages(tmp_path):
    ended = end(start(3, tmp_path, "compiled:lose"), 240)
    code, text = ended[1]
    assert code == 1 and "region 0/0 cannot run: SIDRA_ERROR_CONTEXT_LOST" in text, text
    assert "[Stage 1] failed to run forward" in text and "Lost devices: sidra:0." in text and "This process is rank 1 of torch.distributed." in text, text
    for rank in (0, 2):
        code, text = ended[rank]
        assert code == 1 and names(text, rank, "rank 1", "failed"), text


def test_a_fault_in_a_compiled_stage_names_rank_region_and_operator(tmp_path):
    ended = end(start(3, tmp_path, "compiled:fault"), 240)
    code, text = ended[1]
    assert code == 1 and names(text, 1, "stage 1 of 3: ", "SIDRA_ERROR_FAULT", "That is in region 0/0 (", "embedding", "data out of range"), text
    for rank in (0, 2):
        code, text = ended[rank]
        assert code == 1 and names(text, rank, "rank 1", "failed"), text


def test_many_ranks_may_ask_whether_a_process_is_there():
    port = distributed._listener().getsockname()[1]
    for _ in range(300):  # as ranks whose operation has failed do
        socket.create_connection(("127.0.0.1", port), timeout=1).close()


def test_the_examples_of_the_page(tmp_path):
    one_process, many = re.findall(r"```python\n(.*?)```", (SCRIPT.parents[3] / "docs/scale.md").read_text(), re.DOTALL)
    common = os.environ | {"SIDRA_WORKERS": "1", "OMP_NUM_THREADS": "1", "SIDRA_MATMUL": "digital"}
    done = subprocess.run([sys.executable, "-c", one_process], check=True, timeout=240, stdout=subprocess.PIPE, text=True, env=common | {"SIDRA_DEVICE": "embedded:0-3"})
    assert done.stdout == "torch.Size([1024, 512])\n"
    (tmp_path / "train.py").write_text(many)
    subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", tmp_path / "train.py"], check=True, timeout=240,
                   env=common | {"SIDRA_DEVICE": "embedded"})


@pytest.mark.parametrize("operation", ["all_reduce", "barrier", "future"])
def test_a_killed_rank_in_a_collective_operation(operation, tmp_path):
    ended = end(start(2, tmp_path, f"waiting:{operation}"), 240)
    assert ended[1][0] == -signal.SIGKILL
    assert ended[0][0] == 1 and names(ended[0][1], 0, operation.replace("future", "all_reduce"), "failed", "Rank 1 at 127.0.0.1 has ended."), ended[0][1]


def test_a_killed_rank_in_data_parallel_training(tmp_path):
    ended = end(start(2, tmp_path, "data_parallel:kill"), 240)
    assert ended[1][0] == -signal.SIGKILL
    assert ended[0][0] == 1 and names(ended[0][1], 0, "all_reduce", "failed", "Rank 1 at 127.0.0.1 has ended."), ended[0][1]
