# SPDX-License-Identifier: MIT
"""What a rank of test_distributed.py does: `ranks.py FOLDER PART[:ARGUMENT] ...`, with RANK and WORLD_SIZE in the environment. Results go into the
folder."""
import datetime
import itertools
import os
import pathlib
import signal
import sys
import time

os.environ.setdefault("SIDRA_QUIET", "1")
os.environ["SIDRA_FALLBACK"] = "silent"

import sidra
import torch
import torch.distributed as dist
from sidra_pytorch import _C
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe, SplitPoint, pipeline

RANK, SIZE = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
SCHEDULES = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}
MICROBATCHES, STEPS = 8, 3


def network():
    """Four blocks, for up to four stages."""
    torch.manual_seed(7)
    return nn.Sequential(*(nn.Sequential(nn.Linear(24, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 24)) for _ in range(4)))


def stage_of(model, rank, size):
    return model[rank * 4 // size:(rank + 1) * 4 // size]


def batch():
    generator = torch.Generator().manual_seed(3)
    return torch.randn(32, 24, generator=generator), torch.randn(32, 24, generator=generator)


def train(model, run):
    """STEPS steps of SGD; run() is a forward and backward pass. In f32: weights that several microbatches use would go onto crossbars."""
    torch.sidra.set_matmul_mode("digital")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        run()
        optimizer.step()


# ---- Parts


def collectives(folder):
    """Each operation with tensors of the device, and with the same ones of the CPU, for which gloo itself computes."""

    def compare(call, *shape, dtype=torch.float32):
        values = torch.randint(-9, 9, shape, generator=torch.Generator().manual_seed(RANK)).to(dtype)
        there = (values.to("sidra") + 1) * 2  # queued, and not waited for
        results = call(there), call((values + 1) * 2)
        for result, expected in zip(*results, strict=True):
            assert result.device.type == "sidra" and torch.equal(result.cpu(), expected), (call, dtype, result, expected)

    def made(x, *shape):
        return torch.empty(*shape, dtype=x.dtype, device=x.device)

    def in_place(operation, **arguments):
        def call(x):
            operation(x, **arguments)
            return [x]
        return call

    def all_gather(x):
        parts = [made(x, *x.shape) for _ in range(SIZE)]
        dist.all_gather(parts, x)
        return parts

    def gather(x):
        parts = [made(x, *x.shape) for _ in range(SIZE)] if RANK == 1 else None
        dist.gather(x, parts, dst=1)
        return parts or []

    def scatter(x):
        part = made(x, 3)
        dist.scatter(part, [row.clone() for row in x] if RANK == 0 else None, src=0)
        return [part]

    def into(operation, *shape):
        def call(x):
            output = made(x, *shape)
            operation(output, x)
            return [output]
        return call

    def ring(x):
        came = torch.zeros_like(x)
        works = dist.batch_isend_irecv([dist.P2POp(dist.isend, x, (RANK + 1) % SIZE), dist.P2POp(dist.irecv, came, (RANK - 1) % SIZE)])
        for work in works:
            work.wait()
        return [came]

    def waited_for(x):
        future = dist.all_reduce(x, async_op=True).get_future()
        return [future.wait()[0]]

    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8):
        compare(in_place(dist.broadcast, src=1), 5, 3, dtype=dtype)
        compare(in_place(dist.all_reduce), 5, 3, dtype=dtype)
        compare(in_place(dist.all_reduce, op=dist.ReduceOp.MAX), 5, 3, dtype=dtype)
        compare(all_gather, 4, dtype=dtype)
        compare(ring, 1000, dtype=dtype)
    compare(lambda x: [x] if dist.reduce(x, dst=0) is None and RANK == 0 else [], 6)
    compare(gather, 2, 3)
    compare(scatter, SIZE, 3)
    compare(into(dist.all_gather_into_tensor, SIZE * 4, 3), 4, 3)
    compare(into(dist.reduce_scatter_tensor, 2, 3), SIZE * 2, 3)
    compare(into(dist.all_to_all_single, SIZE * 2, 3), SIZE * 2, 3)
    compare(waited_for, 17)
    dist.barrier()

    objects = [{"rank": 0, "x": [1, 2]}] if RANK == 0 else [None]
    dist.broadcast_object_list(objects, src=0, device=torch.device("sidra"))
    assert objects == [{"rank": 0, "x": [1, 2]}]

    # Weights that were received take the place of those on crossbars.
    layer, x = nn.Linear(16, 16, bias=False).to("sidra"), torch.randn(4, 16)
    with torch.no_grad():
        torch.sidra.program(layer)
        layer.weight.copy_(torch.full((16, 16), float(RANK)))
        torch.sidra.program(layer)
        layer(x.to("sidra"))
        dist.broadcast(layer.weight, src=1)
        assert torch.allclose(layer(x.to("sidra")).cpu(), x.sum(1, keepdim=True).expand(4, 16), atol=1e-4)

        # Also if a program has used the former ones meanwhile, and only asks whether the others have come.
        layer.weight.fill_(2.0 if RANK == 0 else 3.0)
        token = torch.zeros(1)
        if RANK == 0:
            for other in range(1, SIZE):
                dist.recv(token, src=other)
        work = dist.broadcast(layer.weight, src=0, async_op=True)
        if RANK != 0:
            layer(x.to("sidra"))
            dist.send(token, dst=0)
        while not work.is_completed():  # to ask is what is tested: each way to wait marks the weights
            os.sched_yield()
        assert torch.allclose(layer(x.to("sidra")).cpu(), 2 * x.sum(1, keepdim=True).expand(4, 16), atol=1e-4)

    # What is wrong with the arguments of this rank is not the fault of another one.
    try:
        dist.all_gather([torch.empty(2, device="sidra") for _ in range(SIZE)], torch.ones(3, device="sidra"))
    except RuntimeError as error:
        assert "invalid tensor size" in str(error) and "another rank" not in str(error), error
    else:
        raise AssertionError("tensors of different sizes were taken")

    pair = dist.new_group([0, 1])
    if RANK < 2:
        x = torch.ones(3, device="sidra") * RANK
        dist.all_reduce(x, group=pair)
        assert x.cpu().eq(1).all()


def inference(folder):
    """A network that was cut by torch.distributed.pipelining, with its weights on crossbars."""
    model, (x, _) = network().eval(), batch()
    cuts = {f"{4 * i // SIZE}": SplitPoint.BEGINNING for i in range(1, SIZE)}
    pipe = pipeline(model, mb_args=(x[:32 // MICROBATCHES],), split_spec=cuts)
    stage = pipe.build_stage(RANK, torch.device("sidra:0"))
    torch.sidra.program(stage.submod)
    schedule = ScheduleGPipe(stage, MICROBATCHES)
    with torch.no_grad():
        y = schedule.step(*([x.to("sidra")] if RANK == 0 else []))
    rows = torch.sidra.residency()
    assert len(rows) == 2 * 4 // SIZE and all(row["uses"] >= MICROBATCHES for row in rows), rows
    if RANK == SIZE - 1:
        torch.save(y.cpu(), folder / "y.pt")


class Looked(nn.Module):
    """Adds a row of a table; large inputs ask for one that it does not have."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(2, 24)

    def forward(self, x):
        return x + self.table((x[:, 0] > 1e5).long() * 50)


class Compiled(nn.Module):
    """A stage behind torch.compile(), how many operators each of its calls ran one by one, and the call before which there is trouble."""

    def __init__(self, stage):
        super().__init__()
        self.stage, self.one_by_one, self.trouble = torch.compile(stage, backend="sidra", fullgraph=True), [], (None, "")

    def forward(self, x):
        if self.trouble == (len(self.one_by_one), "lose"):
            lose_the_chip()
        elif self.trouble == (len(self.one_by_one), "fault"):
            x = x + 1e6
        before = _C.native_calls()
        y = self.stage(x)
        self.one_by_one.append(_C.native_calls() - before)
        return y


def compiled(folder, trouble=""):
    """Three steps of a network in compiled stages. At the third microbatch of the last one, rank 1 loses its chip ("lose"), or looks up what is not
    there ("fault")."""
    stage, (x, _) = stage_of(network().eval(), RANK, SIZE), batch()
    if trouble == "fault" and RANK == 1:
        stage = nn.Sequential(Looked(), stage)
    model = Compiled(stage.to("sidra:0"))
    schedule = ScheduleGPipe(PipelineStage(model, RANK, SIZE, torch.device("sidra:0")), MICROBATCHES)
    with torch.no_grad():
        for step in range(3):
            if step == 2 and RANK == 1:
                model.trouble = (len(model.one_by_one) + 2, trouble)
            y = schedule.step(*([x.to("sidra:0")] if RANK == 0 else []))
    assert model.one_by_one[-2 * MICROBATCHES:] == [0] * 2 * MICROBATCHES, model.one_by_one
    if RANK == SIZE - 1:
        torch.save(y.cpu(), folder / "compiled.pt")


def training(folder, name):
    model, (x, target) = stage_of(network(), RANK, SIZE), batch()
    stage = PipelineStage(model.to("sidra:0"), RANK, SIZE, torch.device("sidra:0"))
    schedule = SCHEDULES[name](stage, MICROBATCHES, loss_fn=nn.functional.mse_loss)
    given = [x.to("sidra")] if RANK == 0 else []
    wanted = {"target": target.to("sidra")} if RANK == SIZE - 1 else {}
    train(model, lambda: schedule.step(*given, **wanted))
    torch.save([parameter.detach().cpu() for parameter in model.parameters()], folder / f"{name}.{RANK}.pt")


def data_parallel(folder, trouble=""):
    """"kill": rank 1 is killed at the third step."""
    model, (x, target) = network().to("sidra"), batch()
    model = nn.parallel.DistributedDataParallel(model)
    x, target = (part.chunk(SIZE)[RANK].to("sidra") for part in (x, target))
    steps = itertools.count()

    def step():
        if trouble == "kill" and RANK == 1 and next(steps) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        nn.functional.mse_loss(model(x), target).backward()

    train(model, step)
    torch.save([parameter.detach().cpu() for parameter in model.parameters()], folder / f"ddp.{RANK}.pt")


class Trouble(nn.Module):
    """Passes its input on; at the third microbatch of training something happens to this rank."""

    def __init__(self, trouble):
        super().__init__()
        self.trouble, self.calls = trouble, 0

    def forward(self, x):
        if x.device.type == "sidra" and torch.is_grad_enabled():
            self.calls += 1
            if self.calls == 3:
                self.trouble()
        return x


def lose_the_chip():
    # Long enough that the chip has not come to its end: work that was done stays done.
    slow = torch.ones(1000, 1000, device="sidra:0") / 1000
    for _ in range(8):
        slow = slow @ slow
    sidra.Device(0).reset()


def failing(folder, trouble, where="before"):
    """Rank 1 is killed, stands still, or loses its chip: before or behind the layers of its stage."""
    # Only the time tells that a rank stands still. All ranks are there by now, so this group needs less of it.
    group = dist.new_group(timeout=datetime.timedelta(seconds=15)) if trouble == "stop" else None
    troubles = {"kill": lambda: os.kill(os.getpid(), signal.SIGKILL), "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP), "lose": lose_the_chip}
    model, (x, target) = stage_of(network(), RANK, SIZE), batch()
    if RANK == 1:
        model = nn.Sequential(*(Trouble(troubles[trouble]), model)[::1 if where == "before" else -1])
    stage = PipelineStage(model.to("sidra:0"), RANK, SIZE, torch.device("sidra:0"), group=group)
    schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=nn.functional.mse_loss)
    given = [x.to("sidra")] if RANK == 0 else []
    wanted = {"target": target.to("sidra")} if RANK == SIZE - 1 else {}
    train(model, lambda: schedule.step(*given, **wanted))


def waiting(folder, operation):
    """Rank 1 is killed while the others wait for it in a collective operation."""
    if RANK == 1:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    x = torch.ones(8, device="sidra")
    {"all_reduce": lambda: dist.all_reduce(x), "barrier": dist.barrier,
     "future": lambda: dist.all_reduce(x, async_op=True).get_future().wait()}[operation]()


class OnTwoChips(nn.Module):
    """Half of a stage on each chip of this process."""

    def __init__(self, stage):
        super().__init__()
        half = len(stage) // 2
        self.first, self.second = stage[:half].to("sidra:0"), stage[half:].to("sidra:1")

    def forward(self, x):
        return self.second(self.first(x).to("sidra:1")).to("sidra:0")


def hosts(folder, steps):
    """A pipeline over machines with two chips each. So many steps, or until something fails."""
    model, (x, _) = OnTwoChips(stage_of(network().eval(), RANK, SIZE)), batch()
    torch.sidra.program(model.first)
    torch.sidra.program(model.second)
    # All ranks are there by now, so the timeout of this group is that of a step.
    group = dist.new_group(timeout=datetime.timedelta(seconds=10))
    schedule = ScheduleGPipe(PipelineStage(model, RANK, SIZE, torch.device("sidra:0"), group=group), MICROBATCHES)
    with torch.no_grad():
        for step in itertools.count() if steps == "endless" else range(int(steps)):
            y = schedule.step(*([x.to("sidra:0")] if RANK == 0 else []))
            if step == 2:
                (folder / f"ready.{RANK}").touch()
    assert all(len(torch.sidra.residency(device)) == 2 for device in (0, 1))
    if RANK == SIZE - 1:
        torch.save(y.cpu(), folder / "hosts.pt")


def main():
    folder = pathlib.Path(sys.argv[1])
    method = "env://" if "MASTER_ADDR" in os.environ else f"file://{folder / 'store'}"
    dist.init_process_group("sidra", init_method=method, rank=RANK, world_size=SIZE, timeout=datetime.timedelta(seconds=180))
    for part in sys.argv[2:]:
        name, *arguments = part.split(":")
        globals()[name](folder, *arguments)
    torch.sidra.synchronize()
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
