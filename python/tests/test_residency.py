# SPDX-License-Identifier: MIT
"""Weights on crossbars: programmed at the second sight, and never used when they are out of date."""
import itertools
import os
import random
import subprocess
import sys

import pytest
import torch

FEATURES, OUTPUTS = 40, 24


def layer():
    made = torch.nn.Linear(FEATURES, OUTPUTS, bias=False)
    return made.to("sidra"), made


def programs():
    return sum(row["programs"] for row in torch.sidra.residency())


def fallbacks():
    return sum(row["calls"] for row in torch.sidra.fallbacks())


def rows_of(weight):
    """The residency of one weight."""
    return [row for row in torch.sidra.residency() if (row["inputs"], row["outputs"]) == (weight.shape[1], weight.shape[0])]


def exact(weight, x):
    return (x.double().cpu() @ weight.detach().double().cpu().t()).float()


def near(result, weight, x):
    """Within what codes of 8 bits can be away."""
    w, v = weight.detach().cpu(), x.cpu()
    step = (v.clamp(min=0).amax(-1) - v.clamp(max=0).amin(-1)) / 255
    bound = step[:, None] * w.abs().sum(1) * 0.5 + w.abs().amax(1) / 127 * v.abs().sum(-1, keepdim=True) * 0.51 + 1e-4
    return bool(((result.cpu() - exact(weight, x)).abs() <= bound).all())


@torch.no_grad()
def test_second_sight():
    model, _ = layer()
    x = torch.randn(3, FEATURES, device="sidra")
    before = programs()
    first = model(x)
    assert programs() == before and (first.cpu() - exact(model.weight, x)).abs().max() < 1e-4
    for _ in range(3):
        assert near(model(x), model.weight, x)
    assert programs() == before + 1


# What writes to a weight. Each is followed by results of the new content.
WRITES = {
    "mul_": lambda w: w.mul_(2),
    "data.mul_": lambda w: w.data.mul_(2),
    "view of data": lambda w: w.data[0].zero_(),
    "detach().add_": lambda w: w.detach().add_(1),
    "copy_ from the CPU": lambda w: w.copy_(torch.randn(w.shape)),
    "copy_ from the device": lambda w: w.copy_(torch.randn(w.shape, device="sidra")),
    "data = other": lambda w: setattr(w, "data", torch.randn(w.shape, device="sidra")),
    "index_put": lambda w: w.__setitem__((torch.tensor([1, 2]),), 3.0),
    "fill_": lambda w: w.fill_(0.5),
    "normal_": lambda w: w.normal_(),
    "fallback in place": lambda w: w.tril_(),
    "out=": lambda w: torch.mul(w, 3, out=w),
    "foreach": lambda w: torch._foreach_mul_([w], 1.5),
    "set_": lambda w: w.set_(torch.randn(w.shape, device="sidra")),
}


@torch.no_grad()
@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_seen(name):
    model, _ = layer()
    x = torch.randn(3, FEATURES, device="sidra")
    for _ in range(3):
        model(x)
    WRITES[name](model.weight)
    for _ in range(3):
        assert near(model(x), model.weight, x), name


@torch.no_grad()
def test_a_write_that_fails_is_seen():
    model, _ = layer()
    x = torch.randn(3, FEATURES, device="sidra")
    for _ in range(3):
        model(x)
    with pytest.raises(RuntimeError):
        model.weight.masked_scatter_(torch.ones_like(model.weight, dtype=torch.bool), torch.zeros(100, device="sidra"))
    assert model.weight.cpu().flatten()[:100].eq(0).all()
    for _ in range(3):
        assert near(model(x), model.weight, x)


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, 0.5), lambda p: torch.optim.SGD(p, 0.5, momentum=0.9, foreach=True),
                                  lambda p: torch.optim.Adam(p, 0.5), lambda p: torch.optim.AdamW(p, 0.5, foreach=False)],
                         ids=["sgd", "sgd-foreach", "adam", "adamw"])
def test_an_optimizer_is_seen(make):
    model, _ = layer()
    x = torch.randn(3, FEATURES, device="sidra")
    optimizer = make(model.parameters())
    for _ in range(2):
        with torch.no_grad():
            for _ in range(2):
                assert near(model(x), model.weight, x)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    with torch.no_grad():
        for _ in range(3):
            assert near(model(x), model.weight, x)


@torch.no_grad()
def test_load_state_dict_and_inference_mode_are_seen():
    model, _ = layer()
    x = torch.randn(3, FEATURES, device="sidra")
    with torch.inference_mode():
        for _ in range(2):
            model(x)
    model.load_state_dict({"weight": torch.randn(OUTPUTS, FEATURES)})
    with torch.inference_mode():
        assert near(model(x), model.weight, x) and near(model(x), model.weight, x)
    with torch.inference_mode():
        matrix = torch.randn(FEATURES, OUTPUTS, device="sidra")
        for _ in range(3):
            assert near(x @ matrix, matrix.t(), x)
        matrix.mul_(2)
        for _ in range(3):
            assert near(x @ matrix, matrix.t(), x)


@torch.no_grad()
def test_activations_are_never_programmed():
    before = programs()
    for _ in range(5):
        a, b = torch.randn(16, 16, device="sidra"), torch.randn(16, 16, device="sidra")
        a @ b
        torch.bmm(a[None], b[None])
        torch.nn.functional.scaled_dot_product_attention(a[None, None], b[None, None], a[None, None])
    assert programs() == before


@torch.no_grad()
def test_linear_and_addmm_share_crossbars():
    model, _ = layer()
    x, bias = torch.randn(3, FEATURES, device="sidra"), torch.randn(OUTPUTS, device="sidra")
    before = programs()
    for _ in range(3):
        model(x)
        torch.addmm(bias, x, model.weight.t())
        x @ model.weight.t()
    assert programs() == before + 1


@torch.no_grad()
def test_a_report_of_programming_is_about_its_model():
    first, second = (torch.nn.Linear(300, 20).to("sidra") for _ in range(2))
    one, other, again = torch.sidra.program(first), torch.sidra.program(second), torch.sidra.program(first)
    assert one.crossbars == other.crossbars == again.crossbars == 2
    assert one.seconds == other.seconds == again.seconds > 0 and one.joules == other.joules == again.joules > 0


@torch.no_grad()
def test_a_programming_that_fails_leaves_no_former_content():
    model, _ = layer()
    x = torch.randn(3, FEATURES, device="sidra")
    torch.sidra.program(model)
    assert near(model(x), model.weight, x)
    table, place, busy = torch.zeros(1, 4, device="sidra"), torch.tensor([[4]], device="sidra"), torch.randn(1000, 1000, device="sidra")
    torch.sidra.synchronize()
    with torch.sidra.Stream(), torch.sidra.matmul_mode("digital"):
        torch.mm(busy, busy)  # so that the fault comes when all is queued
        model.weight.neg_()
        table.gather(1, place)
        with pytest.raises(RuntimeError, match="SIDRA_ERROR_FAULT"):
            torch.sidra.program(model)
    assert near(model(x), model.weight, x)
    assert torch.sidra.program(model).resident
    assert near(model(x), model.weight, x)


@torch.no_grad()
@pytest.mark.parametrize("images", [lambda: torch.randn(4, 3, 5, 5).bfloat16(), lambda: torch.randn(2, 3, 2, 4, 4)], ids=["bfloat16", "volumes"])
def test_statistics_that_the_cpu_computes_are_written(images):
    x = images().to("sidra")
    norm = (torch.nn.BatchNorm2d if x.dim() == 4 else torch.nn.BatchNorm3d)(3).to("sidra", x.dtype)
    for training in (True, False):
        norm.train(training)
        calls, before = fallbacks(), [torch.ops.sidra.generation(each) for each in (norm.running_mean, norm.running_var)]
        norm(x)
        assert fallbacks() > calls  # what is tested
        assert all((torch.ops.sidra.generation(each) > then) == training for each, then in zip((norm.running_mean, norm.running_var), before, strict=True))
    before = [torch.ops.sidra.generation(each) for each in (norm.running_mean, norm.running_var)]
    torch.batch_norm_update_stats(x, norm.running_mean, norm.running_var, 0.1)
    assert all(torch.ops.sidra.generation(each) > then for each, then in zip((norm.running_mean, norm.running_var), before, strict=True))


@torch.no_grad()
def test_program_names_a_model():
    model = torch.nn.Sequential(torch.nn.Linear(300, 20), torch.nn.ReLU(), torch.nn.Linear(20, 5)).to("sidra")
    steps = []
    report = torch.sidra.program(model, lambda done, whole: steps.append((done, whole)))
    assert report.resident == ["0", "2"] and not report.digital and report.crossbars >= 3 and report.joules > 0
    assert steps == [(1, 2), (2, 2)] and "2 matrices" in str(report)
    x = torch.randn(2, 300, device="sidra")
    assert near(model[0](x) - model[0].bias, model[0].weight, x)
    assert torch.sidra.wear() >= 1
    count = len(torch.sidra.residency())
    torch.sidra.release(model)
    assert len(torch.sidra.residency()) == count - 2


@torch.no_grad()
def test_a_matrix_that_is_not_finite_stays_digital():
    model, _ = layer()
    model.weight[0, 0] = float("nan")
    report = torch.sidra.program(torch.nn.Sequential(model))
    assert not report.resident and "finite" in report.digital["0"]
    x = torch.randn(2, FEATURES, device="sidra")
    for _ in range(3):
        assert model(x)[:, 0].isnan().all() and not model(x)[:, 1:].isnan().any()


@torch.no_grad()
def test_program_finds_weights_in_a_traced_module():
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Conv2d(4, 4, 3, groups=2), torch.nn.Flatten(), torch.nn.Linear(64, 10)).eval()
    x = torch.randn(2, 3, 8, 8)
    expected = model(x)
    traced = torch.export.export(model, (x,)).module().to("sidra")
    report = torch.sidra.program(traced)
    assert report.resident == ["0", "3"] and not report.digital  # a convolution of groups is digital in any case
    assert (traced(x.to("sidra")).cpu() - expected).abs().max() < 0.05 * expected.abs().max()


@torch.no_grad()
def test_what_changes_often_is_not_programmed_again():
    model, _ = layer()
    x = torch.randn(2, FEATURES, device="sidra")
    before = programs()
    for _ in range(10):
        for _ in range(3):
            assert near(model(x), model.weight, x)
        model.weight.add_(0.1)
    assert programs() - before <= 5
    assert any(row["volatile"] for row in rows_of(model.weight))
    torch.sidra.program(torch.nn.Sequential(model))
    assert not any(row["volatile"] and row["pinned"] for row in rows_of(model.weight))


@torch.no_grad()
def test_memory_that_ends_leaves_the_crossbars():
    free = torch.sidra.get_device_properties()["crossbars_free"]
    x = torch.randn(2, 512, device="sidra")
    for _ in range(3):
        model = torch.nn.Linear(512, 512).to("sidra")
        for _ in range(2):
            model(x)
        assert torch.sidra.get_device_properties()["crossbars_free"] < free
        del model
        torch.sidra.synchronize()
        assert torch.sidra.get_device_properties()["crossbars_free"] == free


@torch.no_grad()
@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_writes_and_products(seed):
    """A random walk over writes, uses, programming and streams: each product is of the present content."""
    draw = random.Random(seed)
    models = [layer()[0] for _ in range(3)]
    x = torch.randn(3, FEATURES, device="sidra")
    for _ in range(60):
        model = draw.choice(models)
        action = draw.choice(["use", "use", "use", "write", "program", "release", "stream", "replace"])
        if action == "use":
            assert near(model(x), model.weight, x)
        elif action == "write":
            WRITES[draw.choice(list(WRITES))](model.weight)
            if not torch.isfinite(model.weight).all():
                model.weight.normal_()
        elif action == "program":
            torch.sidra.program(torch.nn.Sequential(model))
        elif action == "release":
            torch.sidra.release(torch.nn.Sequential(model))
        elif action == "replace":
            models[models.index(model)] = layer()[0]
        else:
            torch.sidra.synchronize()
            with torch.sidra.Stream() as stream:
                assert near(model(x), model.weight, x)
                stream.synchronize()


@torch.no_grad()
def test_tensors_on_two_devices_have_crossbars_of_their_own():
    results = []
    for device in ("sidra:0", "sidra:1"):
        torch.manual_seed(4)
        weight, x = torch.randn(OUTPUTS, FEATURES).to(device), torch.randn(3, FEATURES).to(device)
        results.append([torch.nn.functional.linear(x, weight).cpu() for _ in range(3)])
        assert len(torch.sidra.residency(device)) >= 1
    assert all(map(torch.equal, *results))


def test_modes():
    weight, x = torch.randn(OUTPUTS, FEATURES, device="sidra"), torch.randn(3, FEATURES, device="sidra")
    before = programs()
    for mode, _ in itertools.product(("digital", "cpu"), range(3)):
        with torch.sidra.matmul_mode(mode):
            assert (torch.nn.functional.linear(x, weight).cpu() - exact(weight, x)).abs().max() < 1e-4
    assert programs() == before and torch.sidra.get_matmul_mode() == "int8"
    with pytest.raises(ValueError, match="int4"):
        torch.sidra.set_matmul_mode("int4")


def two_layers():
    model = torch.nn.Sequential(torch.nn.Linear(FEATURES, OUTPUTS), torch.nn.ReLU(), torch.nn.Linear(OUTPUTS, 6)).to("sidra")
    return model, torch.optim.SGD(model[2].parameters(), 0.1)


def test_steps_program_what_they_change():
    model, optimizer = two_layers()
    model[0].requires_grad_(False)
    x = torch.randn(3, FEATURES, device="sidra")
    free = torch.sidra.get_device_properties()["crossbars_free"]
    with torch.sidra.programmed_by(optimizer, model) as report:
        assert report.resident == ["0", "2"]
        used = torch.sidra.get_device_properties()["crossbars_free"]
        for _ in range(10):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
            with torch.no_grad():
                hidden = model[1](model[0](x))
                assert near(model[2](hidden) - model[2].bias, model[2].weight, hidden)
        (frozen,), (last,) = rows_of(model[0].weight), rows_of(model[2].weight)
        assert frozen["programs"] == 1 and frozen["uses"] == 20 and last["programs"] == 11 and last["uses"] == 20
        assert last["pinned"] and not last["volatile"] and last["wear"] >= 11
        assert torch.sidra.get_device_properties()["crossbars_free"] == used < free
    optimizer.step()
    assert rows_of(model[2].weight)[0]["programs"] == 11


def test_gradients_use_no_crossbars():
    model, _ = two_layers()
    x = torch.randn(3, FEATURES, device="sidra", requires_grad=True)
    for _ in range(4):
        model(x).square().mean().backward()
    exact = x.grad.cpu() / 4
    assert len(rows_of(model[0].weight)) == 1 and rows_of(model[0].weight.t()) == [] and rows_of(model[2].weight.t()) == []
    y = x.detach().cpu().requires_grad_()
    there = torch.nn.Sequential(*(layer.cpu() for layer in model))
    there(y).square().mean().backward()
    assert (exact - y.grad).abs().max() < 0.1 * y.grad.abs().max()


def test_steps_program_around_other_streams():
    """A product that is queued on another stream has the old weights, and one behind it the new ones."""
    model, optimizer = two_layers()
    x = torch.randn(64, FEATURES, device="sidra")
    with torch.sidra.programmed_by(optimizer, model), torch.no_grad():
        for _ in range(5):
            model[2].weight.grad = torch.randn_like(model[2].weight)
            old, hidden = model[2].weight.clone(), model[1](model[0](x))
            torch.sidra.synchronize()
            with torch.sidra.Stream() as stream:
                before = model[2](hidden)
            optimizer.step()
            with stream:
                after = model[2](hidden)
            torch.sidra.synchronize()
            bias = model[2].bias
            assert near(before - bias, old, hidden) and near(after - bias, model[2].weight, hidden)


def test_weights_that_are_not_finite_after_a_step():
    model, optimizer = two_layers()
    with torch.sidra.programmed_by(optimizer, model):
        model[2].weight.grad = torch.full_like(model[2].weight, float("nan"))
        with pytest.raises(RuntimeError, match="not finite"):
            optimizer.step()
    x = torch.randn(2, FEATURES, device="sidra")
    assert model(x).isnan().all()


def test_more_matrices_than_a_context_can_have():
    x = torch.ones(1, 4, device="sidra")
    weights = [torch.full((4, 4), float(n % 7), device="sidra") for n in range(4200)]
    for weight in weights:
        for _ in range(2):
            result = torch.nn.functional.linear(x, weight)
    assert torch.allclose(result.cpu(), torch.nn.functional.linear(x.cpu(), weight.cpu()))
    assert 4000 < len(torch.sidra.residency()) and sum(row["resident"] for row in torch.sidra.residency()) <= 4095


# A fault that the stream comes to only after the host has queued more, so that what puts a matrix on crossbars finds it.
FAULT = """
import torch
torch.sidra.set_fallback("silent")
x, y = torch.randn(1000, 1000, device="sidra"), torch.randn(3, 40, device="sidra")
table, place = torch.zeros(1, 4, device="sidra"), torch.tensor([[4]], device="sidra")
with torch.no_grad():
    for call in (torch.sidra.program, lambda layer: layer(y), lambda layer: torch.sidra.set_layout(layer, encoding="offset")):
        layer = torch.nn.Linear(40, 24, bias=False).to("sidra")
        layer(y)  # seen once
        with torch.sidra.matmul_mode("digital"):
            for _ in range(5):
                torch.mm(x, x)
        table.gather(1, place)
        try:
            call(layer)
        except RuntimeError as error:
            assert "SIDRA_ERROR_FAULT" in str(error), error
        else:
            raise SystemExit("nothing was raised")
        call(layer)
        assert torch.sidra.get_layout(layer.weight.t()) is not None
"""


def test_a_fault_before_a_matrix_is_put_on_crossbars():
    done = subprocess.run([sys.executable, "-c", FAULT], capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.returncode == 0, done.stderr


# A chip is full of what is pinned, or of that and a compiled region. Each case makes room in another way.
ROOM = """
import gc, sys, torch
total = torch.sidra.get_device_properties()["crossbars_total"]
x = torch.ones(2, 256, device="sidra")
make = lambda: torch.nn.Linear(256, 256, bias=False).to("sidra").requires_grad_(False)
pinned, other = [make() for _ in range(total)], make()
if sys.argv[1] == "compiled":
    for layer in pinned[:-2]:
        torch.sidra.set_layout(layer, encoding="offset")
    region = torch.compile(pinned[-1], backend="sidra")
    region(x)
else:
    for layer in pinned:
        torch.sidra.set_layout(layer, encoding="offset")
assert torch.sidra.get_device_properties()["crossbars_free"] == 0
uses = lambda: [other(x) for _ in range(4)] and torch.sidra.get_layout(other)[""] is not None
assert not uses() and torch.sidra.get_device_properties()["crossbars_free"] == 0
if sys.argv[1] == "release":
    torch.sidra.release(pinned[0]), torch.sidra.release(pinned[1])
elif sys.argv[1] == "end":
    del layer, pinned[:2]
elif sys.argv[1] == "unpin":
    for layer in pinned[:2]:
        torch.sidra.set_layout(layer, pin=False)
elif sys.argv[1] == "write":
    for layer in pinned[:2]:
        layer.weight.fill_(1)
        layer(x)
else:
    del region, pinned[-1]
    torch._dynamo.reset()
    gc.collect()
assert uses()
"""


@pytest.mark.parametrize("how", ["release", "end", "unpin", "write", "compiled"])
def test_a_matrix_without_room_is_programmed_once_there_is_some(how):
    done = subprocess.run([sys.executable, "-c", ROOM, how], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"SIDRA_PROFILE": "small", "SIDRA_DEVICE": "embedded"})
    assert done.returncode == 0, done.stderr


OTHERS = """
import numpy, sidra, torch
total = torch.sidra.get_device_properties()["crossbars_total"]
others = sidra.Device()
weights = others.weights(numpy.ones((256 * (total - 2), 256), numpy.float32), encoding="offset")
small, large = (torch.nn.Linear(256 * size, 256, bias=False).to("sidra").requires_grad_(False) for size in (1, 4))
for _ in range(3):
    small(torch.ones(1, 256, device="sidra"))
assert torch.sidra.get_layout(small)[""] is not None
for _ in range(3):
    large(torch.ones(1, 1024, device="sidra"))
try:
    torch.sidra.set_layout(large)
except RuntimeError as error:
    assert "more crossbars than the device has beside pinned" in str(error), error
else:
    raise SystemExit("nothing was raised")
assert torch.sidra.get_layout(large)[""] is None and torch.sidra.get_layout(small)[""] is not None
"""


def test_nothing_makes_room_that_is_not_enough():
    done = subprocess.run([sys.executable, "-c", OTHERS], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"SIDRA_PROFILE": "small", "SIDRA_DEVICE": "embedded"})
    assert done.returncode == 0, done.stderr
