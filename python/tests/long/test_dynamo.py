# SPDX-License-Identifier: MIT
"""torch.compile(backend="sidra"): against the same modules on the CPU, and on the device operator by operator."""
import concurrent.futures
import contextlib
import copy
import ctypes
import errno
import gc
import json
import logging
import math
import os
import pathlib
import random
import re
import subprocess
import sys

import numpy
import pytest
import sidra
import torch
from compiled import angles, assert_same_angles
from sidra_pytorch import _C
from sidra_pytorch.dynamo import region
from sidra_pytorch.dynamo.options import options_of
from sidra_pytorch.dynamo.rewrites import rewrite
from torch import nn


@pytest.fixture(autouse=True)
def forgotten():
    """Each test compiles its own graphs."""
    torch._dynamo.reset()


def operators(function, *arguments):
    """How many operators a call runs one by one on the device, and its result."""
    before = _C.native_calls() + sum(row["calls"] for row in torch.sidra.fallbacks())
    result = function(*arguments)
    return _C.native_calls() + sum(row["calls"] for row in torch.sidra.fallbacks()) - before, result


def mlp(inputs=64, hidden=128, outputs=10):
    module = nn.Sequential(nn.Linear(inputs, hidden), nn.BatchNorm1d(hidden), nn.GELU(), nn.Dropout(), nn.Linear(hidden, outputs)).eval()
    nn.init.uniform_(module[1].running_var, 0.5, 2)
    nn.init.normal_(module[1].running_mean, std=0.2)
    return module


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 32), nn.Linear(32, 10)

    def forward(self, x):
        return self.second(nn.functional.gelu(self.first(x)))  # a line of this file


def near(there, here, tolerance=0.03):
    assert there.device.type == "sidra" and there.shape == here.shape and there.dtype == here.dtype
    worst = (there.cpu() - here).abs().max() / here.abs().max()
    assert worst <= tolerance, f"{worst} of the largest value"


def on_both(module):
    return module, copy.deepcopy(module).to("sidra:0")


def test_a_network_runs_compiled():
    here, there = on_both(mlp())
    compiled = torch.compile(there, backend="sidra", fullgraph=True)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(4, 64)
            there_x = x.to("sidra:0")
            count, result = operators(compiled, there_x)
            near(result, here(x))
            assert count == 0
        assert operators(there, x.to("sidra:0"))[0] >= 4  # what would be counted


@pytest.mark.skipif(not hasattr(torch._dynamo.config, "record_runtime_overhead"), reason="this PyTorch makes no such notes")
def test_calls_make_no_notes_for_profilers_and_those_of_other_backends_do(monkeypatch):
    notes = []
    note = torch._dynamo.utils.record_pregraph_bytecode_enter
    monkeypatch.setattr(torch._dynamo.utils, "record_pregraph_bytecode_enter", lambda: (notes.append(None), note())[1])
    there, x = mlp().to("sidra:0"), torch.randn(4, 64, device="sidra:0")
    for backend, count in (("sidra", 0), ("eager", 1), ("sidra", 0)):
        torch._dynamo.reset()
        compiled = torch.compile(there, backend=backend)
        with torch.no_grad():
            compiled(x)
            notes.clear()
            compiled(x)
        assert len(notes) == count
        assert torch._dynamo.config.record_runtime_overhead
    torch._dynamo.reset()
    with torch._dynamo.config.patch(record_runtime_overhead=False), torch.no_grad():
        torch.compile(there, backend="sidra")(x)
        assert not torch._dynamo.config.record_runtime_overhead  # the caller has chosen that


def test_pytorch_finds_the_backend_and_imports_no_compiler_before():
    program = """
import sys, torch
torch.sidra.device_count()
assert "torch._dynamo" not in sys.modules and "sidra_pytorch.dynamo" not in sys.modules
assert "sidra" in torch._dynamo.list_backends()
print(torch.compile(torch.nn.Linear(8, 3).eval().requires_grad_(False).to("sidra"), backend="sidra")(torch.ones(2, 8, device="sidra")).shape)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and "torch.Size([2, 3])" in run.stdout, run.stderr


def test_a_compiler_that_is_missing_is_named_with_the_region():
    program = """
import torch
def network(x):
    return torch.relu(layer(x))  # a line
layer = torch.nn.Linear(8, 3).eval().requires_grad_(False).to("sidra")
torch.compile(network, backend="sidra")(torch.randn(2, 8, device="sidra"))
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300,
                         env=os.environ | {"SIDRA_COMPILER_LIBRARY": "/nowhere/libsidra-compiler.so", "XDG_CACHE_HOME": "/nowhere"})
    assert run.returncode == 1 and re.search(r"region 0/0.* cannot be compiled: sidra\.compile\(\) needs the library of SIDRA's compiler: .*`make compiler` builds it",
                                             run.stderr), run.stderr


def test_a_network_on_the_cpu_stays_there(caplog):
    module = mlp()
    x = torch.randn(4, 64)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"):
        assert torch.equal(torch.compile(module, backend="sidra")(x), module(x))
    assert "no tensors on a sidra device" in caplog.text and ".to(" in caplog.text


@pytest.mark.parametrize("given, why", [({"options": {"level": 1}}, "no option 'level'; there are calibration_calls"),
                                        ({"options": {"calibration_calls": -1}}, "a number from 0 to 1000"), ({"mode": "max-autotune"}, "has options only")],
                         ids=["name", "value", "mode"])
def test_wrong_options_are_refused(given, why):
    with pytest.raises(Exception, match=why):
        torch.compile(mlp().to("sidra"), backend="sidra", **given)(torch.zeros(1, 64, device="sidra"))


def test_the_first_calls_calibrate():
    here, there = on_both(mlp())
    compiled = torch.compile(there, backend="sidra", options={"calibration_calls": 2, "observer": "minmax"})
    with torch.no_grad():
        for call in range(4):
            x = torch.rand(4, 64)
            count, result = operators(compiled, x.to("sidra"))
            near(result, here(x), 0.06)
            assert (count == 0) == (call >= 2)


def convolutional():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 8, 3), nn.SiLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)).eval()


@pytest.mark.parametrize("module, shape", [(convolutional(), (2, 3, 16, 16)),
                                           (nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu").eval(), (2, 9, 64))],
                         ids=["convolutions", "transformer"])
def test_kinds_of_networks(module, shape):
    here, there = on_both(module)
    compiled = torch.compile(there, backend="sidra", fullgraph=True)
    x = torch.randn(shape)
    with torch.inference_mode():
        count, result = operators(compiled, x.to("sidra"))
        near(result, here(x), 0.06)
        assert count == 0


# ---- Weights


def test_weights_that_change_are_compiled_anew():
    here, there = on_both(mlp())
    compiled = torch.compile(there, backend="sidra")
    x = torch.randn(4, 64)
    counts = []
    with torch.no_grad():
        for factor in (1, 1, -3, 1, 1):
            for module in (here, there):
                if factor != 1:
                    module[4].weight.data.mul_(factor)  # which PyTorch's own counter of versions does not see
            count, result = operators(compiled, x.to("sidra"))
            near(result, here(x))
            counts.append(count)
    assert counts[:2] == [0, 0] and counts[2] > 0 and counts[3:] == [0, 0]


def test_the_check_of_residency_finds_a_hidden_write_to_a_constant_of_a_region():
    here, there = on_both(mlp())
    compiled, x = torch.compile(there, backend="sidra"), torch.randn(4, 64)
    _C.set_residency_check(True)  # SIDRA_CHECK_RESIDENCY=1
    try:
        with torch.no_grad():
            for _ in range(2):
                near(compiled(x.to("sidra")), here(x))
            torch.sidra.synchronize()
            ctypes.memset(there[4].weight.data_ptr(), 0, 64)
            here[4].weight.view(-1)[:16] = 0
            for _ in range(2):
                with pytest.raises(RuntimeError, match=r"(?s)SIDRA_CHECK_RESIDENCY.*shape \[10, 128\].*region.*mark_written"):
                    compiled(x.to("sidra"))
            torch.sidra.mark_written(there[4].weight)
            counts = []
            for _ in range(2):
                count, result = operators(compiled, x.to("sidra"))
                near(result, here(x))
                counts.append(count)
        assert counts[0] > 0 and counts[1] == 0
    finally:
        _C.set_residency_check(False)


def test_statistics_and_constants_that_change_are_compiled_anew():
    module = mlp().to("sidra")
    table = torch.ones(10, device="sidra")
    compiled = torch.compile(lambda x: module(x) * table, backend="sidra")
    x = torch.randn(4, 64, device="sidra")
    with torch.no_grad():
        first = compiled(x)
        module[1].running_mean.add_(100)
        table.fill_(2)
        for _ in range(3):
            changed = compiled(x)
            near(changed, module(x).cpu() * 2)
    assert (first - changed).abs().max() > 0.2


def test_statistics_that_the_cpu_writes_are_compiled_anew():
    module = mlp().to("sidra")
    compiled, x = torch.compile(module, backend="sidra"), torch.randn(8, 64, device="sidra")
    with torch.no_grad():
        first = compiled(x)
        module.train()
        with torch.autocast("sidra", dtype=torch.bfloat16):
            module(x * 5 + 3)
        module.eval()
        for _ in range(3):
            changed = compiled(x)
            near(changed, module(x).cpu())
    assert (first - changed).abs().max() > 0.1 * first.abs().max()


def test_modules_that_share_a_graph_have_their_own_weights():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(32, 32)

        @torch.compile(backend="sidra")
        def forward(self, x):
            return torch.relu(self.layer(x))

    first, second = Block().to("sidra"), Block().to("sidra")
    x = torch.randn(3, 32, device="sidra")
    with torch.no_grad():
        for block in (first, second, first, second):
            near(block(x), torch.relu(nn.functional.linear(x.cpu(), block.layer.weight.cpu(), block.layer.bias.cpu())))


def test_a_network_that_is_no_longer_used_leaves_the_crossbars():
    free = lambda: torch.sidra.get_device_properties(0)["crossbars_free"]
    gc.collect()
    before = free()
    module = nn.Linear(512, 512).to("sidra")
    compiled = torch.compile(module, backend="sidra")
    with torch.no_grad():
        compiled(torch.ones(1, 512, device="sidra"))
    assert free() < before
    del module, compiled
    torch._dynamo.reset()
    gc.collect()
    assert free() == before


def test_matrices_that_nobody_has_pinned_make_room():
    free = lambda: torch.sidra.get_device_properties(0)["crossbars_free"]
    gc.collect()
    x, others = torch.ones(1, 257, device="sidra"), []
    with torch.no_grad():
        while free() > 0:
            weight = torch.randn(129, 257, device="sidra")  # on four crossbars
            for _ in range(2):
                nn.functional.linear(x, weight)
            others.append(weight)
        here, there = on_both(mlp())
        compiled = torch.compile(there, backend="sidra")
        rows = torch.randn(4, 64)
        count, result = operators(compiled, rows.to("sidra"))
        near(result, here(rows))
    assert count == 0 and len(others) >= 1000
    torch.sidra.synchronize()


# ---- Regions


def test_graph_breaks_make_several_regions():
    module = mlp(32, 64, 32).to("sidra")
    seen = []

    @torch.compile(backend="sidra")
    def function(x):
        y = module(x)
        seen.append(float(y.sum()))  # Python needs the number
        return module(torch.relu(y)) if y.sum() < 1e9 else y

    x = torch.randn(4, 32, device="sidra")
    with torch.no_grad():
        for _ in range(2):
            near(function(x), module(torch.relu(module(x))).cpu())
    assert len(seen) == 2


def test_training_runs_operator_by_operator_and_learns():
    here, there = on_both(mlp(16, 32, 4))
    compiled = torch.compile(there, backend="sidra")
    x, labels = torch.randn(32, 16), torch.randint(0, 4, (32,))
    losses = []
    for module, call, where in ((here, here, "cpu"), (there, compiled, "sidra")):
        optimizer = torch.optim.SGD(module.parameters(), 0.5)
        for _ in range(5):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(call(x.to(where)), labels.to(where))
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert abs(losses[0] - losses[1]) < 0.02 and losses[1] < 1.2
    with torch.no_grad():  # and what was learned is what runs compiled
        for _ in range(2):
            near(compiled(x.to("sidra")), here(x), 0.06)


def test_a_frozen_network_needs_no_block_without_gradients():
    here, there = on_both(mlp().requires_grad_(False))
    compiled = torch.compile(there, backend="sidra")
    x = torch.randn(4, 64)
    count, result = operators(compiled, x.to("sidra"))
    near(result, here(x))
    assert count == 0


def test_gradients_may_be_off_inside():
    module = mlp().to("sidra")

    @torch.compile(backend="sidra")
    def function(x):
        with torch.no_grad():
            return module(x)

    x = torch.randn(4, 64, device="sidra")
    count, result = operators(function, x)
    assert count == 0 and not result.requires_grad
    near(result, module(x).detach().cpu())


def test_results_lie_in_memory_as_without_compiling():
    module = nn.Linear(32, 16).to("sidra").requires_grad_(False)
    function = lambda x: (module(x).t(), module(x + 1))
    x = torch.randn(4, 32, device="sidra")
    count, (turned, plain) = operators(torch.compile(function, backend="sidra"), x)
    assert turned.stride() == function(x)[0].stride() and plain.is_contiguous()
    near(turned, function(x)[0].cpu())
    near(plain, function(x)[1].cpu())


# ---- Sizes that are open


@pytest.fixture
def compilations(monkeypatch):
    """Each compilation of the test, as the list of the shapes of its inputs."""
    made, compile = [], sidra.compile

    def counted(*arguments, **named):
        compiled = compile(*arguments, **named)
        made.append([tuple(each.shape) for each in compiled.variants[0].inputs])
        return compiled

    monkeypatch.setattr(sidra, "compile", counted)
    return made


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def free_crossbars():
    return torch.sidra.get_device_properties(0)["crossbars_free"]


def test_numbers_of_rows_are_padded_to_a_few_that_share_their_crossbars(empty_cache, compilations):
    here, there = on_both(mlp())
    compiled = torch.compile(there, backend="sidra", dynamic=True)
    gc.collect()
    free = free_crossbars()
    with torch.no_grad():
        for rows in (5, *range(2, 9), 0):
            x = torch.randn(rows, 64)
            count, result = operators(compiled, x.to("sidra"))
            assert result.shape == (rows, 10) and result.is_contiguous()
            if rows:
                near(result, here(x))
                used = free - free_crossbars()
                assert used == 2  # one for each matrix, as at the first number of rows
    assert [shapes[0][0] for shapes in compilations][:5] == [6, 2, 3, 4, 8] and len(compilations) <= 6


def test_weights_that_change_behind_a_padded_region_are_compiled_anew(empty_cache):
    here, there = on_both(mlp())
    compiled = torch.compile(there, backend="sidra", dynamic=True)
    gc.collect()
    free = free_crossbars()
    with torch.no_grad():
        for factor in (1, -3):
            for module in (here, there):
                module[4].weight.data.mul_(factor)  # which PyTorch's own counter of versions does not see
            for _ in range(2):
                counts = []
                for rows in (5, 3, 6, 8):
                    x = torch.randn(rows, 64)
                    count, result = operators(compiled, x.to("sidra"))
                    near(result, here(x))
                    counts.append(count)
            assert counts[0] <= 3 and counts[1:] == [0] * 3, counts  # 5 rows are padded to 6
            assert free - free_crossbars() == 2  # the former matrices are gone


@pytest.mark.parametrize("of", ["rows", "shapes"])
def test_a_region_is_compiled_for_so_many_shapes(of, empty_cache, monkeypatch, caplog):
    monkeypatch.setattr(region, "SHAPES_MAX", 3)
    if of == "rows":
        monkeypatch.setattr(region, "PADDED_SHAPES_MAX", 3)
    here, there = on_both(mlp())
    # A softmax of all rows is no part that could be padded: the whole is compiled for a number of rows that comes twice.
    after = nn.Identity() if of == "rows" else nn.Softmax(0)
    compiled = torch.compile(nn.Sequential(there, after), backend="sidra", dynamic=True)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"):
        for rows in (8, 4, 6, 3, 2, 4, 8, 3):
            x = torch.randn(rows, 64)
            for _ in range(3):
                count, result = operators(compiled, x.to("sidra"))
                near(result, after(here(x)))
            assert (count == 0) == (rows in (8, 4, 6)), (rows, count)
    said = re.findall(r"is compiled for 3 shapes already; it runs (.*) for others", caplog.text)
    assert said == (["operator by operator", "in parts"] if of == "rows" else ["in parts"])


class Decoder(nn.Module):
    """Attention to what was said before, and a perceptron."""

    def __init__(self, width=32, heads=2):
        super().__init__()
        self.heads, self.inputs, self.output = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm, self.perceptron = nn.LayerNorm(width), nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, x, past_keys, past_values):
        batch, length, width = x.shape
        query, key, value = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.inputs(self.norm(x)).chunk(3, -1))
        keys, values = torch.cat((past_keys, key), 2), torch.cat((past_values, value), 2)
        said = nn.functional.scaled_dot_product_attention(query, keys, values).transpose(1, 2).reshape(batch, length, width)
        x = x + self.output(said)
        return x + self.perceptron(x), keys, values


def test_what_depends_on_open_sizes_runs_between_compiled_parts(empty_cache, compilations, tmp_path, monkeypatch):
    debugged = tmp_path / "debug"
    debugged.mkdir()
    monkeypatch.setenv("SIDRA_DEBUG_DIR", str(debugged))
    here, there = on_both(Decoder().eval())
    compiled = torch.compile(there, backend="sidra", dynamic=True)
    past = (torch.randn(1, 2, 3, 16),) * 2
    past_there, counts = tuple(part.to("sidra") for part in past), []
    with torch.no_grad():
        for _ in range(12):
            x = torch.randn(1, 1, 32)
            want, *past = here(x, *past)
            count, (got, *past_there) = operators(compiled, x.to("sidra"), *past_there)
            near(got, want, 0.06)
            near(past_there[0], past[0], 0.06)
            counts.append(count)
        one_by_one, _ = operators(there, x.to("sidra"), *past_there)
        assert len(compilations) == 2 and max(counts) < one_by_one - 5
        assert all((1, 1, 32) in shapes for shapes in compilations)
        listings = [(path / "parts.txt").read_text() for path in debugged.glob("*-in-parts")]  # parts may have parts
        assert any({"part 0", "part 1", "one by one"} <= {line.partition("  ")[0] for line in listing.splitlines()} for listing in listings)
        # A size that comes twice in a row may be one that stays, so all of it is compiled.
        for _ in range(2):
            count, (got, *_) = operators(compiled, x.to("sidra"), *past_there)
        assert count == 0 and len(compilations) == 3
        near(got, here(x, *past)[0], 0.06)


@pytest.mark.parametrize("where", ["cpu", "sidra"])
def test_random_numbers_of_an_open_size_are_drawn_in_each_run(where):
    function = lambda x: torch.relu(x * torch.rand(x.shape[0], device=where).mean()) + 0 * x
    compiled, x = torch.compile(function, backend="sidra", dynamic=True), torch.ones(5, 4, device="sidra")
    with torch.no_grad():
        torch.manual_seed(7)
        want = [function(x).cpu() for _ in range(4)]
        torch.manual_seed(7)
        for each in want:
            near(compiled(x), each)
    assert not torch.equal(want[0], want[1])


def test_tensors_that_are_made_of_open_sizes_are_compiled():
    function = lambda x: torch.relu(x * torch.arange(x.shape[0], device=x.device)[:, None]) + torch.full((x.shape[0], 1), 0.5, device=x.device)
    compiled, x = torch.compile(function, backend="sidra", dynamic=True), torch.randn(5, 4)
    with torch.no_grad():
        for _ in range(3):  # a size that comes twice in a row may be one that stays
            count, result = operators(compiled, x.to("sidra"))
            near(result, function(x), 1e-6)
    assert count == 0


def test_a_number_in_a_tensor_is_written_in_each_run():
    def function(x, number):
        number.mul_(2)
        return x * number

    compiled, number = torch.compile(function, backend="sidra"), torch.tensor(1.0)
    with torch.no_grad():
        results = [compiled(torch.ones(4, device="sidra"), number)[0].item() for _ in range(3)]
    assert results == [2, 4, 8] and number == 8


def test_zero_and_minus_zero_are_different_numbers():
    compiled, x = torch.compile(lambda x, number: x / number, backend="sidra"), torch.ones(4, device="sidra")
    with torch.no_grad():
        assert [compiled(x, torch.tensor(number))[0].item() for number in (0.0, -0.0, 0.0)] == [math.inf, -math.inf, math.inf]


def squared(x):
    return x @ x


@pytest.mark.parametrize("function, keeps", [
    (lambda x, n: torch.relu(x) * 2 + x.softmax(-1), True),
    (lambda x, n: x.view(n, 2, 4).transpose(1, 2).reshape(n, 8), True),
    (lambda x, n: x[:, 1:] + x[..., :-1] + x.mean(1, keepdim=True), True),
    (lambda x, n: nn.functional.layer_norm(x, (8,)) @ torch.linspace(0, 1, 16, device=x.device).view(8, 2) * 2, True),
    (lambda x, n: torch.cat((x, x * 2), 1).chunk(2, 1)[1] + x, True),
    (lambda x, n: squared(x.view(n, 2, 2, 2)).reshape(n, 8) * 2, True),
    (lambda x, n: x * n + 1 - x / 3, False),
    (lambda x, n: x.softmax(0) * 2 + x, False),
    (lambda x, n: x.mean() + x * 2 - 1, False),
    (lambda x, n: x[1:] * 2 + 1 - x[:-1], False),
    (lambda x, n: x.flip(0) * 2 + x, False),
    (lambda x, n: x.t() @ x * 2 + 1, False),
    (lambda x, n: torch.cat((x, x), 0) * 2 + 1, False),
    (lambda x, n: x.view(-1) * 2 + 1, False),
    (lambda x, n: x + x.var(0, True), False),
], ids=["pointwise", "views", "pieces", "norm", "cat", "square", "count", "softmax", "mean", "rows", "flip", "inner", "cat-rows", "flat", "variance"])
def test_padding_changes_no_result(function, keeps):
    """Rows that are added must not be seen. Also those that are not 0 behind the first operator."""
    from sidra_pytorch.dynamo import region
    from sidra_pytorch.dynamo.rows import keeps_rows

    kept = []

    def backend(graph_module, inputs):
        kept.append(all(keeps_rows(node) for node in graph_module.graph.nodes if node.op.startswith("call_")))
        return region.Region(graph_module, inputs, "region", options_of(None, None)).entry()

    compiled = torch.compile(lambda x: function(x.exp(), x.shape[0]), backend=backend)  # from the second size on, that is open
    with torch.no_grad():
        for rows in (5, 7, 13):
            x = torch.randn(rows, 8)
            near(compiled(x.to("sidra")), function(x.exp(), rows))
    assert kept[1:] == [keeps]


# ---- What cannot be compiled


def writes_to_its_input(x):
    x.mul_(2)
    return x + 1


@pytest.mark.parametrize("function, why", [
    (lambda x: torch.nn.functional.dropout(x, 0.5, True) * 0 + x, "random"),
    (lambda x: torch.linalg.inv(x @ x.t() + torch.eye(4, device=x.device)), "inv"),
    (lambda x: (x * 2, x[1:]), "view of an input"),
    (lambda x: x.cpu() * 2, "on the device cpu"),
    (lambda x: x.long() + 2**40, "integers with 32 bits"),
    (lambda x: torch.arange(4, device=x.device) * 10**9 + x.sum().int() * 0, "integers with 32 bits"),
    (lambda x: torch.full((4,), 10**9, device=x.device).sum() + x, "integers with 32 bits"),
    (lambda x: (x * 1e10).long() > 4 * 10**9, "integers with 32 bits"),
    (lambda x: x.double() * 2, ""),
    (writes_to_its_input, "writes to"),
], ids=["random", "inverse", "view", "cpu", "int64", "range", "sum", "comparison", "double", "write"])
def test_the_rest_runs_operator_by_operator_and_says_why(caplog, function, why):
    x = torch.rand(4, 8)
    want, given = function(x.clone()), x.to("sidra")
    compiled = torch.compile(function, backend="sidra")
    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"):
        for _ in range(2):
            got = compiled(given.clone())
            for one, other in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True):
                assert one.dtype == other.dtype
                torch.testing.assert_close(one.cpu(), other, rtol=1e-3, atol=1e-3)
    if why:
        assert caplog.text.count("is not compiled") == 1 and why in caplog.text and "test_dynamo.py:" in caplog.text


@pytest.mark.parametrize("function", [torch.atan2, torch.arctan2])
def test_angles_are_those_of_the_cpu(function):
    y, x = angles()
    with torch.no_grad():
        count, got = operators(torch.compile(function, backend="sidra"), y.to("sidra"), x.to("sidra"))
    assert count == 0
    assert_same_angles(got.cpu(), function(y, x))


@pytest.mark.parametrize("where", ["around", "inside"])
def test_autocast_chooses_the_types(caplog, where):
    module = mlp().to("sidra")

    def function(x):
        with torch.autocast("sidra", torch.bfloat16, enabled=where == "inside"):
            return module(x)

    compiled = torch.compile(function, backend="sidra")
    x = torch.randn(4, 64, device="sidra")
    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"), torch.autocast("sidra", torch.bfloat16, enabled=where == "around"):
        assert compiled(x).dtype == function(x).dtype
    assert where == "around" or "under autocast" in caplog.text


def test_large_integers_run_operator_by_operator():
    compiled = torch.compile(lambda x: (x + 1, x.float() / 2), backend="sidra", fullgraph=True)
    with torch.no_grad():
        for numbers, one_by_one in (([3, -4], False), ([3_000_000_000, -6], True), ([1, 2], False)):
            x = torch.tensor(numbers)
            count, (sums, halves) = operators(compiled, x.to("sidra"))
            assert torch.equal(sums.cpu(), x + 1) and torch.equal(halves.cpu(), x.float() / 2) and (count > 0) == one_by_one


def on_numbers(function, *numbers):
    """Compiled results of int64 on the device and those on the CPU, in two calls each."""
    compiled = torch.compile(function, backend="sidra")
    given = [torch.tensor(each) if isinstance(each, list) else each for each in numbers]
    with torch.no_grad():
        return [(compiled(*(each.to("sidra") for each in given)).cpu(), function(*given)) for _ in range(2)]


TABLE = torch.arange(32.0).reshape(8, 4)


@pytest.mark.parametrize("function, numbers", [
    (lambda x, y: torch.add(x, y, alpha=1000), ([5, 6], [4_000_000, 7])),
    (lambda x: torch.rsub(x, 5, alpha=1000), ([4_000_000, 7],)),
    (lambda x: nn.functional.pad(x * 2, (0, 1), value=3_000_000_000), ([1, 2],)),
    (lambda x, table: nn.functional.embedding(x - 5_000_000_000, table), ([5_000_000_001, 5_000_000_002], TABLE)),
    (lambda x, y, table: nn.functional.embedding(x - y, table), ([5_000_000_001, 5_000_000_002], [5_000_000_000] * 2, TABLE)),
    (lambda x, table: nn.functional.embedding(x - 1, table), ([1, 8], TABLE)),
], ids=["alpha", "rsub", "padding", "constant", "difference", "small"])
def test_large_integers_are_seen_wherever_they_come_from(function, numbers):
    for got, want in on_numbers(function, *numbers):
        assert torch.equal(got, want)


def test_integers_that_are_scattered_are_not_bounded_by_what_they_replace():
    from sidra_pytorch.dynamo.integers import Wide, needs_small_inputs

    class Scatter(nn.Module):
        def forward(self, x, place):
            return torch.zeros(4, dtype=torch.int64).scatter(0, place, x, **named)

    for named in ({}, {"reduce": "multiply"}):
        program = torch.export.export(Scatter(), (torch.ones(3, dtype=torch.int64), torch.zeros(3, dtype=torch.int64))).run_decompositions({})
        if named:
            with pytest.raises(Wide, match="scatter"):
                needs_small_inputs(program)
        else:
            assert needs_small_inputs(program)


def test_places_are_results():
    compiled = torch.compile(lambda x: (x.argmax(-1), x.topk(2).indices), backend="sidra", fullgraph=True)
    x = torch.randn(4, 64)
    with torch.no_grad():
        count, (largest, two) = operators(compiled, x.to("sidra"))
    assert count == 0 and largest.dtype == torch.int64
    assert torch.equal(largest.cpu(), x.argmax(-1)) and torch.equal(two.cpu(), x.topk(2).indices)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=["half", "bfloat16"])
def test_results_have_their_types_and_not_those_of_the_exporter(dtype):
    function = lambda x: (x.sum(-1), x * 2, x.cumsum(-1), x.sum())
    x = torch.randn(4, 8).to(dtype)
    with torch.no_grad():
        count, results = operators(torch.compile(function, backend="sidra", fullgraph=True), x.to("sidra"))
    for got, want in zip(results, function(x), strict=True):
        near(got, want, torch.finfo(dtype).eps)
    assert count == 0


def test_statistics_of_a_batch_are_written():
    here, there = on_both(mlp().train())
    here[3].p = there[3].p = 0
    x = torch.randn(4, 64)
    with torch.no_grad():
        near(torch.compile(there, backend="sidra")(x.to("sidra")), here(x))
    near(there[1].running_mean, here[1].running_mean)


@pytest.mark.parametrize("mode", ["trunc", "floor"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int8, torch.uint8, torch.int64], ids=str)
def test_quotients_of_integers_are_exact(mode, dtype):
    function = lambda x, y: (torch.div(x, y, rounding_mode=mode), torch.divide(x, 3, rounding_mode=mode))
    most = min(torch.iinfo(dtype).max, 2**31 - 1)
    x, y = torch.tensor([most, 1 - most, 7, -7, 6, -6]), torch.tensor([3, 3, 2, 2, -2, -2])
    if dtype == torch.uint8:
        x, y = x.abs(), y.abs()
    if dtype == torch.int64:
        x[:2] //= 2**7  # larger ones are divided one by one
    x, y = x.to(dtype), y.to(dtype)
    with torch.no_grad():
        count, results = operators(torch.compile(function, backend="sidra", fullgraph=True), x.to("sidra"), y.to("sidra"))
    for got, want in zip(results, function(x, y), strict=True):
        assert got.dtype == want.dtype and torch.equal(got.cpu(), want)
    assert count == 0


def test_without_fallbacks_there_is_an_exception():
    torch.sidra.set_fallback("error")
    with torch.no_grad(), pytest.raises(Exception, match=r"(?s)region 0/0 .*test_dynamo.py.*inv"):
        torch.compile(lambda x: torch.linalg.inv(x), backend="sidra")(torch.eye(4).to("sidra"))


def test_other_ways_to_multiply_are_respected():
    here, there = on_both(mlp())
    compiled = torch.compile(there, backend="sidra")
    x = torch.randn(4, 64)
    with torch.no_grad(), torch.sidra.matmul_mode("digital"):
        near(compiled(x.to("sidra")), here(x), 1e-5)


def test_streams_wait_for_each_other():
    module = nn.Sequential(*[nn.Linear(64, 64) for _ in range(4)]).to("sidra").requires_grad_(False)
    compiled = torch.compile(module, backend="sidra")
    inputs = [torch.randn(8, 64, device="sidra") for _ in range(6)]
    alone = [compiled(x).cpu() for x in inputs]
    streams = [torch.Stream("sidra") for _ in range(3)]
    torch.sidra.synchronize()
    results = []
    for i in range(30):
        with torch.sidra.stream(streams[i % 3]):
            results.append(compiled(inputs[i % 6]))
    torch.sidra.synchronize()
    assert all(torch.equal(result.cpu(), alone[i % 6]) for i, result in enumerate(results))


def test_threads_take_turns():
    module = mlp().to("sidra").requires_grad_(False)
    compiled = torch.compile(module, backend="sidra")
    inputs = [torch.randn(4, 64, device="sidra") for _ in range(8)]
    alone = [compiled(x) for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            assert all(map(torch.equal, pool.map(compiled, inputs), alone))


# ---- Regions of which a part cannot be compiled


class Around(nn.Module):
    """A function between two layers."""

    def __init__(self, middle):
        super().__init__()
        self.first, self.second, self.middle = nn.Linear(16, 32), nn.Linear(32, 16), middle

    def forward(self, x):
        return nn.functional.gelu(self.second(self.middle(torch.relu(self.first(x)))))


@pytest.mark.parametrize("middle, alone, why", [
    (lambda h: nn.functional.dropout(h, 0.5, True), {"dropout"}, "random"),
    (lambda h: (h.double() * 2).float(), {"double", "operator.mul", "float"}, "float64"),
    (lambda h: torch.linalg.inv(h[:, :4] + 9 * torch.eye(4, device=h.device)).sum() + h, {"linalg_inv"}, "aten.linalg_inv_ex"),
    (lambda h: torch.special.zeta(h.abs() + 2, h.abs() + 1), {"zeta"}, "zeta"),
    (lambda h: h.cpu().to(h.device), None, None),
    (lambda h: h + h.argsort(-1).mul(10**10).remainder(7).float(), {"mul"}, "32 bits"),
    (lambda h: h.mul_(2), set(), None),  # of which nobody sees that it is a write
], ids=["random", "double", "inverse", "zeta", "cpu", "int64", "write"])
def test_the_rest_of_a_region_is_compiled(caplog, middle, alone, why):
    module = Around(middle).eval().to("sidra")
    compiled = torch.compile(module, backend="sidra")
    x = torch.randn(4, 16, device="sidra")
    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"):
        compiled(x)
        torch.manual_seed(7)
        one_by_one, want = operators(module, x)
        torch.manual_seed(7)
        count, got = operators(compiled, x)
    near(got, want.cpu(), 0.05)
    assert count <= one_by_one - 3
    assert torch.equal(got == 0, want == 0)  # the same elements were dropped
    if why is None:
        assert "is not compiled" not in caplog.text
    else:
        text = re.search(r"is not compiled as a whole: (.*); parts of \d+, \d+ operators are compiled, and between them (.*) run one by one", caplog.text)
        assert text and why in text[1] and all(any(name in each for each in text[2].split(", ")) for name in alone)


def test_weights_that_change_behind_parts_of_a_region_are_compiled_anew():
    here, there = on_both(Around(lambda h: (h.double() * 2).float()).eval())
    compiled, counts = torch.compile(there, backend="sidra"), []
    with torch.no_grad():
        for call in range(6):
            if call == 2:
                for module in (here, there):
                    module.first.weight.data.mul_(-3)  # which PyTorch's own counter of versions does not see
            x = torch.randn(4, 16)
            count, result = operators(compiled, x.to("sidra"))
            near(result, here(x), 0.05)
            counts.append(count)
    assert counts[2] > counts[1] and counts[4:] == [counts[1]] * 2, counts


def test_a_region_that_is_refused_for_no_known_node_runs_operator_by_operator(monkeypatch, caplog):
    from sidra_pytorch.dynamo.network import Network, Refused

    def refuse(self, results):
        raise Refused("PyTorch cannot export it")

    monkeypatch.setattr(Network, "program", refuse)
    monkeypatch.setattr("sidra_pytorch.dynamo.cache.key_of", lambda *arguments: None)
    here, there = on_both(mlp())
    compiled, x = torch.compile(there, backend="sidra"), torch.randn(4, 64)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"):
        for _ in range(2):
            count, result = operators(compiled, x.to("sidra"))
            near(result, here(x))
            assert count > 0
    assert caplog.text.count("it runs operator by operator") == 1


def test_statistics_of_a_batch_are_written_between_compiled_parts():
    here, there = on_both(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.BatchNorm1d(32), nn.Linear(32, 8), nn.GELU()).train())
    compiled = torch.compile(there, backend="sidra")
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(8, 16)
            count, result = operators(compiled, x.to("sidra"))
            near(result, here(x), 0.06)
        near(there[2].running_mean, here[2].running_mean)
        assert there[2].num_batches_tracked == 3
        assert 0 < count <= operators(there, x.to("sidra"))[0] - 4  # two layers, and what is behind them


def views_of_inputs(x, layer):
    y = torch.relu(layer(x))
    return layer(y) + 1, x[1:], y, y[0], y.t()


def writes_to_a_view(x, layer):
    y = torch.relu(layer(x))
    row = y[0]
    same = (y.double() * 1).float()
    before = layer(y) * 2
    row.add_(1)
    return layer(y) + same, before, y


def writes_and_reads(x, layer):
    before = layer(x) * 2 + 1
    x.mul_(3)
    after = layer(x) * 2 + 1
    x[:, 0] = 0
    return before, after, layer(x) * 2 + 1


def writes_to_another_view(x, layer):
    left, right = x[:2], x[1:]
    sums = layer(left) * 2 + 1
    right.add_(1)
    return layer(left) * 2 + sums, layer(x) * 2 + 1


@pytest.mark.parametrize("function", [views_of_inputs, writes_to_a_view, writes_and_reads, writes_to_another_view], ids=lambda function: function.__name__)
def test_memory_is_shared_and_written_as_without_compiling(function):
    layer = nn.Linear(8, 8).requires_grad_(False)
    x = torch.randn(4, 8)
    there, there_layer = x.to("sidra"), copy.deepcopy(layer).to("sidra")
    compiled = torch.compile(function, backend="sidra")
    compiled(there.clone(), there_layer)
    count, got = operators(compiled, there, there_layer)
    want = function(x, layer)
    for one, other in zip((*got, there), (*want, x), strict=True):
        near(one, other)
    memory = [[storage.untyped_storage().data_ptr() for storage in (*results, given)] for results, given in ((got, there), (want, x))]
    assert [there.index(place) for there in memory[:1] for place in there] == [here.index(place) for here in memory[1:] for place in here]
    assert [one.stride() for one in got] == [other.stride() for other in want]
    assert count <= 12


OPERATIONS = ["relu", "add", "product", "view", "column", "write", "write-view", "random", "turn"]


def random_program(steps):
    """A function of two tensors, in which some tensors are views of others, and are written to."""

    def function(x, y):
        made = [x, y, x[1:4]]
        for operation, first, second in steps:
            a, b = made[first % len(made)], made[second % len(made)]
            if operation == "relu":
                made.append(torch.relu(a) + 0.5)
            elif operation == "add":
                made.append(a[:3, :3] - b[:3, :3])
            elif operation == "product":
                made.append(a[:3, :3] @ b[:3, :3] * 0.1)
            elif operation == "view":
                made.append(a[0:3])
            elif operation == "column":
                made.append(a[:, 0:3])
            elif operation == "write":
                a.mul_(0.5)
            elif operation == "write-view":
                a[0] = 2
            elif operation == "random":
                made.append(nn.functional.dropout(a, 0.5, True) + 1)
            elif operation == "turn":
                made.append(a.t()[:3, :3])
        return tuple(made[3:]) or (x + 1,)

    return function


def as_a_compiled_model(made, graph_module):
    """Runs a part as a compiled model would: on copies, with results in memory of their own."""

    def run(*arguments):
        made.append(len(graph_module.graph.nodes))
        given = [argument.clone() if isinstance(argument, torch.Tensor) else argument for argument in arguments]
        return tuple(result.clone(memory_format=torch.preserve_format) for result in graph_module(*given))

    return run


@pytest.mark.parametrize("seed", range(40))
def test_a_split_graph_computes_the_same(seed):
    """Random programs, of which random nodes are refused."""
    from sidra_pytorch.dynamo.split import split

    chance = random.Random(seed)
    steps = [(chance.choice(OPERATIONS), chance.randrange(9), chance.randrange(9)) for _ in range(chance.randrange(4, 14))]
    function, made = random_program(steps), []

    def backend(graph_module, inputs):
        nodes = [node for node in graph_module.graph.nodes if node.op.startswith("call_")]
        refused = {node for node in nodes if chance.random() < 0.2 or "dropout" in str(node.target)}
        parts = split(graph_module, inputs, refused, lambda graph, examples, number: as_a_compiled_model(made, graph))
        return graph_module.forward if parts is None else parts.run

    x, y = torch.rand(5, 5, device="sidra"), torch.rand(5, 5, device="sidra")
    other_x, other_y = x.clone(), y.clone()
    with torch.no_grad(), torch.sidra.matmul_mode("digital"):
        torch.manual_seed(seed)
        want = function(x, y)
        torch.manual_seed(seed)
        got = torch.compile(function, backend=backend)(other_x, other_y)
    for one, other in zip((*got, other_x, other_y), (*want, x, y), strict=True):
        torch.testing.assert_close(one.cpu(), other.cpu())
    memory = [[tensor.untyped_storage().data_ptr() for tensor in tensors] for tensors in ((*got, other_x, other_y), (*want, x, y))]
    assert [memory[0].index(place) for place in memory[0]] == [memory[1].index(place) for place in memory[1]]
    SPLIT.append(bool(made))


SPLIT = []  # whether each had compiled parts


def test_graphs_were_split():
    assert sum(SPLIT) >= len(SPLIT) / 3


# ---- Results whose sizes depend on values

DATA_DEPENDENT = {
    "nonzero": lambda h, x: h[(x[:, 0] > 0).nonzero().squeeze(1)],
    "boolean index": lambda h, x: h[x[:, 0] > 0],
    "masked_select": lambda h, x: torch.masked_select(h, x > 0),
    "unique": lambda h, x: torch.unique((x * 2).round()) + h.mean(),
    "item": lambda h, x: torch.full((int((x[:, 0] > 0).sum().item()), 1), 0.5, device=x.device) + h.mean(),
    "nonzero alone": lambda h, x: (x > 0).nonzero(),
    "number": lambda h, x: h * (x[:, 0] > 0).sum().item() + 1,
}
OPERATORS_OF = {"nonzero": "nonzero", "boolean index": "getitem|index", "masked_select": "masked_select", "unique": "unique", "item": "full|item|local_scalar",
                "nonzero alone": "nonzero", "number": "item|local_scalar"}


@pytest.mark.parametrize("captured", [False, True], ids=["breaks", "captured"])
@pytest.mark.parametrize("kind", DATA_DEPENDENT)
def test_sizes_that_depend_on_values(caplog, kind, captured):
    layer = nn.Linear(16, 16).requires_grad_(False)
    there_layer = copy.deepcopy(layer).to("sidra")
    compiled = torch.compile(lambda layer, x: torch.relu(DATA_DEPENDENT[kind](torch.relu(layer(x)) + 1, x)) * 2, backend="sidra")
    captures = torch._dynamo.config.patch(capture_dynamic_output_shape_ops=captured, capture_scalar_outputs=captured)
    with captures, caplog.at_level(logging.WARNING, "sidra"):
        for positive in (3, 5, 0, 5):
            x = torch.randn(8, 16)
            x[:, 0] = torch.where(torch.arange(8) < positive, 1, -1)
            want = torch.relu(DATA_DEPENDENT[kind](torch.relu(layer(x)) + 1, x)) * 2
            got = compiled(there_layer, x.to("sidra"))
            if want.numel():
                near(got, want)
            else:
                assert got.device.type == "sidra" and got.shape == want.shape and got.dtype == want.dtype
    if captured and kind not in ("nonzero alone", "number"):  # the layer is compiled all the same
        assert re.search(r"the size of what \S+ makes depends on values; parts of \d+ operators are compiled", caplog.text)


@pytest.mark.parametrize("captured", [False, True], ids=["breaks", "captured"])
@pytest.mark.parametrize("kind", DATA_DEPENDENT)
def test_without_fallbacks_sizes_that_depend_on_values_name_the_operator(kind, captured):
    layer, x = nn.Linear(16, 16).requires_grad_(False), torch.randn(8, 16)
    compiled = torch.compile(lambda layer, x: DATA_DEPENDENT[kind](torch.relu(layer(x)) + 1, x) * 2, backend="sidra")
    want = DATA_DEPENDENT[kind](torch.relu(layer(x)) + 1, x) * 2
    layer, there = layer.to("sidra"), x.to("sidra")
    torch.sidra.set_fallback("error")
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=captured, capture_scalar_outputs=captured):
        for _ in range(2):
            try:
                near(compiled(layer, there), want)
            except Exception as error:
                assert re.search(OPERATORS_OF[kind], str(error)), error


# ---- Several chips


def crossbars_in_use(index):
    properties = torch.sidra.get_device_properties(index)
    return properties["crossbars_total"] - properties["crossbars_free"]


def test_a_region_runs_on_the_chip_of_its_tensors():
    module = mlp()
    gc.collect()
    before = [crossbars_in_use(index) for index in range(2)]
    there = copy.deepcopy(module).to("sidra:1")
    compiled = torch.compile(there, backend="sidra", dynamic=False)
    with torch.no_grad():
        for rows in (4, 4, 7):
            x = torch.randn(rows, 64)
            count, result = operators(compiled, x.to("sidra:1"))
            near(result, module(x))
            assert result.device.index == 1 and count == 0
        assert crossbars_in_use(0) == before[0] and crossbars_in_use(1) > before[1]
        for part in (module, there):
            part[0].weight.mul_(-2)
        counts = []
        for _ in range(2):
            count, result = operators(compiled, x.to("sidra:1"))
            near(result, module(x))
            counts.append(count)
        assert counts[0] > 0 and counts[1] == 0
        there.to("sidra:0")
        for _ in range(2):
            count, result = operators(compiled, x.to("sidra:0"))
            near(result, module(x))
        assert result.device.index == 0 and count == 0


def test_a_pipeline_of_compiled_stages_has_the_bits_of_one_chip():
    model = nn.Sequential(*(nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 24)) for _ in range(4))).eval()
    x, results = torch.randn(48, 24), []
    with torch.no_grad():
        want = model(x)
        for devices in (("sidra:0", "sidra:0"), ("sidra:0", "sidra:1")):
            stages = [torch.compile(copy.deepcopy(stage).to(device), backend="sidra") for stage, device in zip((model[:2], model[2:]), devices, strict=True)]
            for stage, device in zip(stages, devices, strict=True):
                stage(torch.zeros(8, 24, device=device))
            outputs = []
            for part in x.split(8):
                count, part = operators(stages[0], part.to(devices[0]))
                other, part = operators(stages[1], part.to(devices[1]))
                assert count == other == 0 and str(part.device) == devices[1]
                outputs.append(part)
            results.append(torch.cat(outputs).cpu())
    assert torch.equal(*results) and (results[1] - want).abs().max() <= 0.06 * want.abs().max()


class OnTwoChips(nn.Module):
    def __init__(self, devices):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second = nn.Linear(24, 64).to(devices[0]), nn.Linear(64, 24).to(devices[1])
        self.devices = devices

    def forward(self, x):
        x = nn.functional.gelu(self.first(x)) * 2
        return torch.relu(self.second(x.to(self.devices[1]))) + 1


def test_a_graph_on_two_chips_is_compiled_for_each(caplog):
    here, there = OnTwoChips(("cpu", "cpu")).eval(), OnTwoChips(("sidra:0", "sidra:1")).eval()
    compiled = torch.compile(there, backend="sidra", fullgraph=True)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"):
        for _ in range(3):
            x = torch.randn(4, 24)
            count, result = operators(compiled, x.to("sidra:0"))
            near(result, here(x))
            assert result.device.index == 1 and count <= 1
    assert "several devices: sidra:0, sidra:1; parts of 3, 3 operators are compiled, and between them to run" in caplog.text


@pytest.mark.parametrize("function", [lambda x: (x * 2 + 1).to("sidra:1"), lambda x: torch.ones(4, 8, device="sidra:1") * 2 + x.to("sidra:1") + 1,
                                      lambda x: (x * 2 + 1, torch.arange(4.0, device="sidra:1") * 2 + 1)], ids=["result", "inside", "apart"])
def test_results_are_on_the_chip_that_the_program_names(function):
    x = torch.randn(4, 8)
    want = function(x.to("sidra:0"))
    with torch.no_grad():
        got = torch.compile(function, backend="sidra")(x.to("sidra:0"))
    for one, other in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True):
        assert one.device == other.device
        near(one, other.cpu(), 1e-6)


# ---- Where matrices are


def is_taken(crossbar):
    """Whether libsidra refuses this crossbar to another user of the chip."""
    try:
        sidra.Device(0).weights(numpy.ones((1, 1), numpy.int8), encoding="offset", crossbars=[crossbar], program=False)
    except sidra.Error as error:
        assert "SIDRA_ERROR_BUSY" in str(error)
        return True
    return False


def map_of(path, free):
    """Writes a map of the chip in which only these crossbars are free."""
    total = torch.sidra.get_device_properties(0)["crossbars_total"]
    chip = {"index": 0, "name": "embedded", "clusters": 1, "cus_per_cluster": total // 16, "crossbars_per_cu": 16, "bad": [],
            "in_use": [crossbar for crossbar in range(total) if crossbar not in free]}
    path.write_text(json.dumps({"schema": "sidra-smi/1", "command": "map", "time": "2030-01-01T00:00:00Z", "chips": [chip]}))


def test_a_map_places_the_matrices_of_a_region(tmp_path, empty_cache, compilations):
    total = torch.sidra.get_device_properties(0)["crossbars_total"]
    places = [[total - 4, total - 3], [total - 9, total - 7]]
    assert not any(map(is_taken, sum(places, [])))
    here, there = on_both(mlp())
    x = torch.randn(4, 64)
    with torch.no_grad():
        for number, place in enumerate((*places, places[0])):
            map_of(tmp_path / "map.json", place)  # another content under the same name
            torch._dynamo.reset()
            gc.collect()
            compiled = torch.compile(there, backend="sidra", options={"chip_map": tmp_path / "map.json"})
            count, result = operators(compiled, x.to("sidra"))
            near(result, here(x))
            assert count == 0 and [[is_taken(crossbar) for crossbar in each] for each in places] == [[each is place] * 2 for each in places]
            assert len(compilations) == min(number + 1, 2)  # the third one is of the cache


def test_a_map_that_cannot_be_read_is_refused():
    with pytest.raises(Exception, match="chip_map.*nowhere.json.*cannot be read"):
        torch.compile(mlp().to("sidra"), backend="sidra", options={"chip_map": "nowhere.json"})(torch.zeros(1, 64, device="sidra"))


# ---- What must not reach another compilation


def test_threads_compile_at_the_same_time():
    modules = [mlp().to("sidra").requires_grad_(False) for _ in range(4)]
    x = torch.randn(4, 64, device="sidra")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda module: torch.compile(module, backend="sidra")(x), modules))
    for module, result in zip(modules, results, strict=True):
        near(result, module(x).cpu())
    assert not torch.compiler.is_exporting()
    count, _ = operators(torch.compile(mlp().to("sidra").requires_grad_(False), backend="sidra"), x)
    assert count == 0


def same_graphs(*functions):
    """Runs functions, whose graphs look alike, one after another, each as in a process of its own."""
    x = torch.linspace(-2, 2, 32).reshape(4, 8)
    with torch.no_grad():
        for function in functions:
            torch._dynamo.reset()
            near(torch.compile(function, backend="sidra")(x.to("sidra")), function(x), 0.01)


def test_the_cache_knows_the_bodies_of_graphs(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    same_graphs(lambda x: torch.cond(x.sum() > -9, lambda x: torch.relu(x) * 2, lambda x: x, (x,)),
                lambda x: torch.cond(x.sum() > -9, lambda x: torch.sigmoid(x) * 3, lambda x: x, (x,)))


def test_the_cache_knows_all_digits_of_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    x = torch.full((4,), 1e4)
    with torch.no_grad():
        for number in (0.12341, 0.12344):
            torch._dynamo.reset()
            result = torch.compile(lambda x, s: x * s, backend="sidra")(x.to("sidra"), torch.tensor(number)).cpu()
            assert torch.allclose(result, x * number, rtol=1e-6)


def test_the_cache_keeps_no_operators_of_other_libraries(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    x = torch.linspace(-2, 2, 32).reshape(4, 8)
    with torch.no_grad():
        for number in (1, 5):
            with torch.library._scoped_library("sidra_tests", "FRAGMENT") as library:
                library.define("shift(Tensor x) -> Tensor")
                library.impl("shift", lambda x, number=number: x + number, "CompositeImplicitAutograd")
                for operator in (torch.ops.sidra_tests.shift, torch.ops.sidra_tests.shift.default):
                    torch._dynamo.reset()
                    count, result = operators(torch.compile(lambda x: torch.relu(operator(x) * 2), backend="sidra"), x.to("sidra"))
                    assert count == 0
                    near(result, torch.relu((x + number) * 2), 1e-6)


def test_types_that_the_caller_has_chosen_stay_with_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    here, there = on_both(mlp())
    x = torch.randn(4, 64)
    with torch.no_grad():
        for around in (torch.autocast("cpu", torch.bfloat16), torch.device("sidra:0"), contextlib.nullcontext()):
            torch._dynamo.reset()
            with around:
                count, result = operators(torch.compile(there, backend="sidra"), x.to("sidra"))
            assert result.dtype == torch.float32 and count == 0
            near(result, here(x))


def test_inputs_with_a_sign_and_buffers_without_elements():
    class Empty(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("nothing", torch.empty(0, 8))

        def forward(self, x):
            return torch.cat((x, self.nothing)) * 2

    here, there = on_both(Empty())
    x = torch.randn(4, 8)
    with torch.no_grad():
        near(torch.compile(there, backend="sidra")(x.to("sidra")), here(x))
        turned = torch._neg_view(torch.ones(4, 8, device="sidra"))
        assert torch.compile(lambda x: torch.relu(x * 2) + 1, backend="sidra")(turned).cpu().eq(1).all()


def test_models_leave_with_dynamos_cache_and_with_any_weight():
    free = lambda: torch.sidra.get_device_properties(0)["crossbars_free"]
    gc.collect()
    before, module = free(), Classifier().eval().to("sidra")
    x = torch.randn(4, 64, device="sidra")
    with torch.no_grad():
        for _ in range(4):
            torch._dynamo.reset()
            torch.compile(module, backend="sidra")(x)
        gc.collect()
        used = before - free()
        compiled = torch.compile(module, backend="sidra")
        for _ in range(4):
            module.second.weight = nn.Parameter(torch.randn(10, 32, device="sidra"))
            for _ in range(2):
                compiled(x)
            gc.collect()
    assert 0 < used <= 2 and before - free() <= 4


def test_one_refusal_leaves_the_other_shapes(monkeypatch, caplog):
    import sidra_pytorch.dynamo.region as region

    here, there = on_both(mlp())
    compiled = torch.compile(there, backend="sidra", dynamic=True)
    made = region.Program

    def refuse(*arguments):
        raise RuntimeError("SIDRA_ERROR_OUT_OF_CROSSBARS: none")

    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"):
        near(compiled(torch.ones(4, 64).to("sidra")), here(torch.ones(4, 64)))
        monkeypatch.setattr(region, "Program", refuse)
        near(compiled(torch.ones(5, 64).to("sidra")), here(torch.ones(5, 64)))
        monkeypatch.setattr(region, "Program", made)
        count, result = operators(compiled, torch.ones(4, 64).to("sidra"))
    assert count == 0 and caplog.text.count("OUT_OF_CROSSBARS") == 1
    near(result, here(torch.ones(4, 64)))


def test_shapes_without_room_are_tried_again_when_crossbars_are_free(monkeypatch, caplog, empty_cache, compilations):
    import sidra_pytorch.dynamo.region as region

    here, there = on_both(mlp())
    compiled, free, made = torch.compile(there, backend="sidra"), [3], region.Program
    x, tries = torch.randn(4, 64), []

    def program(*arguments):
        tries.append(free[0])
        if free[0] < 10:
            raise RuntimeError("SIDRA_ERROR_OUT_OF_CROSSBARS: none")
        return made(*arguments)

    monkeypatch.setattr(region, "Program", program)
    monkeypatch.setattr(region.Region, "_free_crossbars", lambda self: free[0])
    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"):
        for now in (3, 3, 2, 3, 5, 5, 4, 12, 12):
            free[0] = now
            count, result = operators(compiled, x.to("sidra"))
            near(result, here(x))
            assert (count == 0) == (now == 12)
    assert tries == [3, 5, 12] and caplog.text.count("OUT_OF_CROSSBARS") == 1
    assert len(compilations) == 1  # the compiled file waits in the cache


def test_no_room_on_the_chip_ends_when_others_leave():
    gc.collect()
    others = []
    with torch.no_grad():
        while free_crossbars() > 0:
            layer = nn.Linear(256, 256 * min(128, free_crossbars())).to("sidra").requires_grad_(False)
            torch.sidra.program(layer)
            others.append(layer)
        here, there = on_both(mlp())
        compiled, rows = torch.compile(there, backend="sidra"), torch.randn(4, 64)
        assert operators(compiled, rows.to("sidra"))[0] > 0 and operators(compiled, rows.to("sidra"))[0] > 0
        others.clear()
        gc.collect()
        assert free_crossbars() > 0
        count, result = operators(compiled, rows.to("sidra"))
    assert count == 0
    near(result, here(rows))


def test_weights_that_change_all_the_time_are_compiled_less_and_less_often(monkeypatch, empty_cache, compilations):
    import sidra_pytorch.dynamo.region as region

    monkeypatch.setattr(region, "WORTH", math.inf)
    here, there = on_both(Classifier().eval())
    compiled, x = torch.compile(there, backend="sidra"), torch.randn(4, 64)
    runs = []
    with torch.no_grad():
        for _ in range(12):  # steps of an optimizer, with three runs between each two of them
            for module in (here, there):
                module.second.weight.mul_(-1.1)
            for _ in range(3):
                count, result = operators(compiled, x.to("sidra"))
                near(result, here(x))
                runs.append(count == 0)
        assert len(compilations) == 3  # after 0, 1 and 2 runs; then 4 runs without a change are needed
        assert runs[:9] == [True, True, True, False, True, True, False, False, True] and not any(runs[9:])
        for _ in range(4):
            count, _ = operators(compiled, x.to("sidra"))
        assert count == 0 and len(compilations) == 4
        monkeypatch.setattr(region, "WORTH", 0)  # those were of use
        for module in (here, there):
            module.second.weight.mul_(-1.1)
        counts = [operators(compiled, x.to("sidra"))[0] for _ in range(2)]
        assert counts[0] > 0 and counts[1] == 0


def test_a_module_that_is_gone_makes_room_while_another_one_runs():
    free = lambda: torch.sidra.get_device_properties(0)["crossbars_free"]
    gc.collect()
    before = free()

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(512, 512)

        @torch.compile(backend="sidra")
        def forward(self, x):
            return torch.relu(self.layer(x))

    first, second = Block().to("sidra"), Block().to("sidra")
    x = torch.ones(1, 512, device="sidra")
    with torch.no_grad():
        first(x), second(x)
        both = before - free()
        del first
        gc.collect()
        second(x)
        gc.collect()
    assert 0 < before - free() <= both // 2


def test_without_fallbacks_a_refused_shape_is_an_exception_each_time(monkeypatch):
    import sidra_pytorch.dynamo.region as region

    def refuse(*arguments):
        raise RuntimeError("SIDRA_ERROR_OUT_OF_CROSSBARS: none")

    monkeypatch.setattr(region, "Program", refuse)
    compiled, x = torch.compile(mlp().to("sidra"), backend="sidra"), torch.ones(4, 64).to("sidra")
    torch.sidra.set_fallback("error")
    with torch.no_grad():
        for _ in range(2):
            with pytest.raises(RuntimeError, match="OUT_OF_CROSSBARS.*SIDRA_FALLBACK=error"):
                compiled(x)


# ---- To look at what becomes of a region


def test_the_debugging_backend_prints_the_graph_and_its_operators(capfd):
    here, there = on_both(Classifier().eval())
    with torch.no_grad():
        near(torch.compile(there, backend="sidra_debug")(torch.ones(4, 64).to("sidra")), here(torch.ones(4, 64)))
    printed = re.sub(r"/\S+/test_dynamo\.py:\d+", "FILE", capfd.readouterr().out)
    nodes = re.findall(r"^    %(\w+) : .*= (\w+)\[target=.*  float32 \(([\d, ]+)\) sidra:0$", printed, re.M)
    assert nodes == [("l_self_modules_first_parameters_weight_", "placeholder", "32, 64"), ("l_self_modules_first_parameters_bias_", "placeholder", "32,"),
                     ("l_x_", "placeholder", "4, 64"), ("l_self_modules_second_parameters_weight_", "placeholder", "10, 32"),
                     ("l_self_modules_second_parameters_bias_", "placeholder", "10,"), ("linear", "call_function", "4, 32"), ("gelu", "call_function", "4, 32"),
                     ("linear_1", "call_function", "4, 10")]
    assert re.sub(r"^    %.*\n", "", printed, flags=re.M) == """\
region 0/0 (FILE)
    # FILE: return self.second(nn.functional.gelu(self.first(x)))  # a line of this file
    return (linear_1,)
  3 operators:
    torch._C._nn.linear  2
    torch._C._nn.gelu    1
  fusable groups: 1
    linear gelu
  compiled: 3 operators in 2 operations of the chip, 2 crossbars
"""


def test_the_debugging_backend_says_why_a_graph_is_not_compiled(capfd):
    compiled = torch.compile(lambda x: torch.nn.functional.dropout(x, 0.5, True), backend="sidra_debug")
    with torch.no_grad():
        compiled(torch.ones(4, 64, device="sidra"))
    module = mlp().to("sidra")
    torch.compile(module, backend="sidra_debug")(torch.ones(4, 64, device="sidra")).sum().backward()
    printed = capfd.readouterr().out
    assert "draws random numbers" in printed and "it records gradients" in printed and module[0].weight.grad is not None
    # Also what is not compiled has its groups.
    assert re.findall(r"^  fusable groups: (\d+)$", printed, re.M) == ["0", "1"] and re.search(r"^    linear batch_norm gelu dropout$", printed, re.M)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = nn.Linear(16, 32), nn.Linear(32, 16), nn.LayerNorm(16)

    def forward(self, x):
        h = torch.relu(x * 2)  # behind no product
        y = self.second(nn.functional.silu(self.first(h)).mul_(2)) + h
        return self.norm(y).softmax(-1), (y @ y.transpose(0, 1)).unsqueeze(0)


@pytest.mark.parametrize("module, shape, groups", [
    (Residual(), (4, 16), [["linear", "silu", "mul_"], ["linear", "add", "layer_norm", "softmax"]]),
    (nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(196, 4)).eval(), (2, 3, 16, 16),
     [["conv2d", "batch_norm", "relu"]]),
    (nn.Sequential(nn.Linear(16, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4), nn.Dropout(), nn.Sigmoid()).train(), (4, 16), []),
    (nn.Softmax(-1), (4, 16), []),
], ids=["residual", "convolution", "training", "no-product"])
def test_fusable_groups_are_those_behind_products(module, shape, groups):
    from sidra_pytorch.dynamo.debug import name_of_target
    from sidra_pytorch.dynamo.summary import fusable_groups

    def backend(graph_module, inputs):
        seen.extend([name_of_target(node).rsplit(".", 1)[-1] for node in group] for group in fusable_groups(graph_module))
        return graph_module.forward

    seen = []
    with torch.no_grad():
        torch.compile(module, backend=backend, fullgraph=True)(torch.ones(shape))
    assert seen == groups


def test_a_folder_gets_each_step_of_a_compilation(tmp_path, monkeypatch):
    monkeypatch.setenv("SIDRA_DEBUG_DIR", str(tmp_path))
    here, there = on_both(Classifier().eval())
    compiled = torch.compile(there, backend="sidra")
    with torch.no_grad():
        for rows in (4, 5):
            near(compiled(torch.ones(rows, 64).to("sidra")), here(torch.ones(rows, 64)))
    first, second = sorted(tmp_path.iterdir())
    assert first.name.startswith("region-0-0-") and second.name.startswith("region-0-")
    assert "test_dynamo.py:" in (first / "graph.txt").read_text() and "aten.linear" in (first / "program.txt").read_text()
    passes = [path.name for path in (first / "passes").rglob("*.*")]
    assert any(name.endswith(".onnx") for name in passes) and sum(name.endswith(".mlir") for name in passes) >= 4
    assert sidra.load(first / "model.sidra").variants[0].inputs[0].shape == (4, 64)
    assert "<svg" in (first / "report.html").read_text()
    calls = (first / "calls.txt").read_text()
    assert calls.startswith("variant 0\n") and "\nprogram 0\n" in calls
    assert [int(number) for number in re.findall(r"^  (\d+) +layer  \S", calls, re.M)] == [0, 1]
    assert not (first / "reason.txt").exists()


def test_a_folder_that_cannot_be_written_to_stops_nobody(tmp_path, monkeypatch, caplog):
    def full(path, *_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setenv("SIDRA_DEBUG_DIR", str(tmp_path))
    monkeypatch.setattr(pathlib.Path, "write_text", full)
    here, there = on_both(Classifier().eval())
    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"):
        near(torch.compile(there, backend="sidra")(torch.ones(4, 64).to("sidra")), here(torch.ones(4, 64)))
    assert re.search(r"SIDRA_DEBUG_DIR: .*No space left on device.*graph\.txt", caplog.text)


class Lines(nn.Module):
    """Each operator is on a line of its own."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = nn.Linear(64, 32), nn.Linear(32, 10), nn.LayerNorm(32)

    def forward(self, x):
        h = self.first(x)  # + 1
        h = nn.functional.gelu(h)
        h = self.norm(h)
        h = self.second(h)
        return h.softmax(-1)


def test_operations_of_the_chip_say_from_which_lines_of_python_they_come(tmp_path, monkeypatch):
    monkeypatch.setenv("SIDRA_DEBUG_DIR", str(tmp_path))
    here, there = on_both(Lines().eval())
    with torch.no_grad():
        near(torch.compile(there, backend="sidra")(torch.ones(4, 64).to("sidra")), here(torch.ones(4, 64)))
    folder, = tmp_path.iterdir()
    title, *rows = (re.split(r"  +", line, maxsplit=4) for line in (folder / "provenance.txt").read_text().splitlines())
    assert title == ["call", "step", "ONNX node", "operator", "line of Python"]
    calls = re.findall(r"^  (\d+) +(\w+)  ", (folder / "calls.txt").read_text(), re.M)
    assert list(dict.fromkeys((number, step) for number, step, *_ in rows)) == calls
    begin = Lines.forward.__code__.co_firstlineno
    lines = {number: set() for number, _ in calls}
    for number, _, node, operator, line in rows:
        assert line.startswith(f"{__file__}:"), (node, operator)
        lines[number].add(int(line.removeprefix(f"{__file__}:").split(":")[0]) - begin)
    assert set().union(*lines.values()) == {1, 2, 3, 4, 5}
    layers = [lines[number] for number, step in calls if step == "layer"]
    assert 1 in layers[0] and 4 in layers[-1] and len(layers) == 2
    assert all("nn.functional.gelu(h)" in line for *_, line in rows if f":{begin + 2}:" in line)


def refused_here(x):
    return torch.relu(nn.functional.dropout(x, 0.5, True)) * 2  # draws


@pytest.mark.parametrize("function, where, gradients, why", [
    (refused_here, "sidra", False, "random numbers"), (refused_here, "cpu", False, "no tensors on a sidra device"), (refused_here, "sidra", True, "records gradients"),
    (lambda x: (x[1:] * 1, x[1:]), "sidra", False, "view of an input"),
], ids=["refused", "cpu", "gradients", "view"])
def test_graphs_that_are_not_compiled_say_why_in_their_folder(tmp_path, monkeypatch, function, where, gradients, why):
    monkeypatch.setenv("SIDRA_DEBUG_DIR", str(tmp_path))
    torch.compile(function, backend="sidra")(torch.ones(4, 64, device=where, requires_grad=gradients))
    folders = [path for path in tmp_path.iterdir() if not path.name.endswith("-in-parts")]
    assert folders and all("test_dynamo.py:" in (path / "graph.txt").read_text() for path in folders)
    reasons = [path.read_text() for path in tmp_path.glob("*/reason.txt")]
    assert len(reasons) == 1 and why in reasons[0]


def test_a_region_in_parts_says_which_nodes_are_where(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("SIDRA_DEBUG_DIR", str(tmp_path))
    module = Around(lambda h: (h.double() * 2).float()).eval().to("sidra")
    compiled = torch.compile(module, backend="sidra_debug")
    with torch.no_grad():
        compiled(torch.ones(4, 16, device="sidra"))
    folder, = (path for path in tmp_path.iterdir() if path.name.endswith("-in-parts"))
    lines = (folder / "parts.txt").read_text().splitlines()
    parts = [(re.split(r"  +", line)[0], re.search(r"target=([^\]]+)\]", line)[1].split(".")[-1]) for line in lines if "= call_" in line]
    assert parts == [("part 0", "linear"), ("part 0", "relu"), ("one by one", "double"), ("one by one", "mul"), ("one by one", "float"), ("part 1", "linear"),
                     ("part 1", "gelu")]
    assert [len(list(path.glob("model.sidra"))) for path in sorted(tmp_path.glob("*part-[01]"))] == [1, 1]
    printed = capfd.readouterr().out
    assert "parts of 2, 2 operators are compiled" in printed and "part 0: compiled: 2 operators" in printed and "part 1: compiled" in printed


def test_a_region_of_another_process_is_not_exported_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    here, there = on_both(mlp())
    x = torch.randn(4, 64)
    counts = []
    with torch.no_grad():
        for weights in ("first", "first", "other"):
            if weights == "other":
                for module in (here, there):
                    module[0].weight.mul_(-1)
            torch._dynamo.reset()
            near(torch.compile(there, backend="sidra")(x.to("sidra")), here(x))
            counts.append(len(list((tmp_path / "sidra/regions").glob("*.sidra"))))
        kept = sorted((tmp_path / "sidra/regions").glob("*.sidra"))
        for path in kept:
            path.write_bytes(b"damaged")
        torch._dynamo.reset()
        near(torch.compile(there, backend="sidra")(x.to("sidra")), here(x))
    assert counts == [1, 1, 2] and all(path.stat().st_size > 1000 for path in kept if path.read_bytes() != b"damaged")


# ---- sidra_inductor


def gelu_by_tanh(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


@pytest.mark.parametrize("function, graph", [
    (lambda x: x * torch.sigmoid(x), ["silu(x)"]),
    (lambda x: torch.sigmoid(x) * x + 1, ["silu(x)", "add(silu, 1)"]),
    (gelu_by_tanh, ["gelu(x, approximate=tanh)"]),
    (lambda x: x * (0.5 * (torch.tanh((x * x * x * 0.044715 + x) * 0.7978845608) + 1)), ["gelu(x, approximate=tanh)"]),
    (lambda x: (x * 2.0) * 3.0 + 1.0 + 0.5, ["mul(x, 6.0)", "add(mul, 1.5)"]),
    (lambda x: x * torch.sigmoid(x + 1), ["add(x, 1)", "sigmoid(add)", "mul(x, sigmoid)"]),
    (lambda x: ((x * 2.0) * 3.0) + (x * 2.0), ["mul(x, 6.0)", "mul(x, 2.0)", "add(mul, mul)"]),
], ids=["silu", "silu-and-more", "gelu", "gelu-otherwise", "numbers", "no-silu", "two-uses"])
def test_what_is_spelt_out_becomes_one_operator(function, graph):
    def text(value):
        return re.sub(r"_\d+$", "", value.name).removeprefix("l_").rstrip("_") if isinstance(value, torch.fx.Node) else str(value)

    def backend(module, inputs):
        rewrite(module)
        for node in module.graph.nodes:
            if node.op.startswith("call"):
                name = node.target if isinstance(node.target, str) else node.target.__name__
                seen.append(f"{name}({', '.join([*map(text, node.args), *(f'{key}={value}' for key, value in node.kwargs.items())])})")
        return module.forward

    seen, x = [], torch.linspace(-4, 4, 33)
    torch.testing.assert_close(torch.compile(lambda x: function(x), backend=backend)(x), function(x))
    assert [re.sub(r"(mul|add|silu|sigmoid)_\d+", r"\1", line) for line in seen] == graph


def writes_between(x):
    s = torch.sigmoid(x)
    x.add_(1)
    return x * s


def writes_between_by_an_argument(x):
    s = torch.sigmoid(x)
    nn.functional.relu(x, True)
    return x * s


def writes_between_by_an_operator(x):
    s, same = torch.sigmoid(x), x
    x //= 2
    return same * s


@pytest.mark.parametrize("function", [writes_between, writes_between_by_an_argument, writes_between_by_an_operator, lambda x: (x + 12582912.0) + -12582912.0,
                                      lambda x: x.mul_(torch.sigmoid(x)), lambda x: (y := (x * 3).int()) * torch.sigmoid(y)],
                         ids=["write", "argument", "operator", "rounding", "in-place", "integers"])
def test_what_is_more_than_it_seems_stays(function):
    x = torch.linspace(-4, 4, 33)
    there, here = x.clone(), x.clone()
    torch.testing.assert_close(torch.compile(lambda x: function(x), backend="sidra_inductor")(there), function(here))
    assert torch.equal(there, here)


def gates_without_gradients(x):
    with torch.no_grad():
        gate = torch.sigmoid(x)
    return x * gate


def chain_without_gradients(x):
    with torch.no_grad():
        y = x * 2.0
    return y * 3.0 + x


@pytest.mark.parametrize("function", [gates_without_gradients, chain_without_gradients, gelu_by_tanh], ids=["silu", "chain", "gelu"])
def test_gradients_are_those_of_what_was_written(function):
    x = torch.linspace(-4, 4, 33)
    here, there = x.clone().requires_grad_(), x.clone().requires_grad_()
    function(here).sum().backward()
    torch.compile(lambda x: function(x), backend="sidra_inductor")(there).sum().backward()
    torch.testing.assert_close(there.grad, here.grad)


def test_factors_of_half_precision_are_joined_if_neither_leaves_its_range():
    products = lambda x: ((x * 999.0) * 0.002, (x * 2.0) * 3.0, (x * 0.5) * 0.25)
    x, counts = torch.tensor([100.0, 1.0]), []

    def backend(module, inputs):
        counts.append(rewrite(module))
        return module.forward

    for dtype in (torch.float16, torch.float32):
        torch._dynamo.reset()
        for got, want in zip(torch.compile(products, backend=backend)(x.to(dtype)), products(x.to(dtype)), strict=True):
            torch.testing.assert_close(got, want)
    assert counts == [2, 3] and products(x.half())[0][0] == math.inf


@pytest.fixture
def given_to_inductor(monkeypatch):
    """The graphs that Inductor gets, as the text of each call."""
    from torch._dynamo.backends import registry

    found, given = registry.lookup_backend, []

    def lookup(name):
        def inductor(graph_module, inputs, **named):
            given.append([f"{node.target if isinstance(node.target, str) else node.target.__name__} {dict(node.kwargs)}" for node in graph_module.graph.nodes
                          if node.op.startswith("call_")])
            return found(name)(graph_module, inputs, **named)

        return inductor if name == "inductor" else found(name)

    monkeypatch.setattr(registry, "lookup_backend", lookup)
    return given


def test_inductor_gets_the_rest(given_to_inductor):
    from torch._inductor import metrics

    module = nn.Sequential(nn.Linear(8, 8), nn.SiLU(), nn.Linear(8, 2)).eval()
    x = torch.randn(3, 8)
    metrics.reset()
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(lambda x: gelu_by_tanh(module(x)), backend="sidra_inductor")(x), gelu_by_tanh(module(x)))
    graph, = given_to_inductor
    assert graph[-1] == "gelu {'approximate': 'tanh'}" and len(graph) == 4
    assert metrics.generated_kernel_count > 0  # and made code of it


def test_inductor_gets_the_mode_and_the_options():
    x = torch.linspace(-4, 4, 33)
    for named in ({"mode": "max-autotune-no-cudagraphs"}, {"options": {"epilogue_fusion": False}}):
        torch._dynamo.reset()
        torch.testing.assert_close(torch.compile(lambda x: gelu_by_tanh(x), backend="sidra_inductor", **named)(x), gelu_by_tanh(x))
    torch._dynamo.reset()
    with pytest.raises(Exception, match="sidra_inductor.* has no mode 'fast'; there are default, "):
        torch.compile(lambda x: gelu_by_tanh(x), backend="sidra_inductor", mode="fast")(x)
    torch._dynamo.reset()
    with pytest.raises(Exception, match="no_such_option"):
        torch.compile(lambda x: gelu_by_tanh(x), backend="sidra_inductor", options={"no_such_option": 1})(x)


def test_inductor_gets_nothing_that_is_on_the_device(given_to_inductor, caplog):
    here, there = on_both(mlp())
    x = torch.randn(4, 64)
    with torch.no_grad(), caplog.at_level(logging.WARNING, "sidra"):
        near(torch.compile(there, backend="sidra_inductor")(x.to("sidra")), here(x))
    assert not given_to_inductor
    assert re.search(r"region 0/0.* has tensors on a sidra device, for which Inductor makes no code; it runs operator by operator.*backend=.sidra", caplog.text)
    torch._dynamo.reset()
    torch.sidra.set_fallback("error")
    with torch.no_grad(), pytest.raises(Exception, match="Inductor makes no code.*SIDRA_FALLBACK=error"):
        torch.compile(there, backend="sidra_inductor")(x.to("sidra"))
