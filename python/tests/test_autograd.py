# SPDX-License-Identifier: MIT
"""Gradients, optimizers, autocast, checkpointing: as on the CPU."""
import copy

import pytest
import torch
from torch.utils.checkpoint import checkpoint

functional = torch.nn.functional


@pytest.fixture(autouse=True)
def digital():
    torch.sidra.set_matmul_mode("digital")


MODELS = {
    "mlp": (lambda: torch.nn.Sequential(torch.nn.Linear(12, 20), torch.nn.GELU(), torch.nn.LayerNorm(20), torch.nn.Linear(20, 3)), (5, 12)),
    "conv": (lambda: torch.nn.Sequential(torch.nn.Conv2d(3, 6, 3, stride=2, padding=1, groups=3), torch.nn.BatchNorm2d(6), torch.nn.ReLU(),
                                         torch.nn.MaxPool2d(2), torch.nn.ConvTranspose2d(6, 4, 3), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()), (2, 3, 16, 16)),
    "transformer": (lambda: torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True), (2, 7, 16)),
    "lstm": (lambda: Last(torch.nn.LSTM(8, 10, batch_first=True)), (2, 5, 8)),
    "gru": (lambda: Last(torch.nn.GRU(8, 10, batch_first=True)), (2, 5, 8)),
    "attention": (lambda: Attend(), (2, 6, 16)),
}


class Last(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network(x)[0][:, -1]


class Attend(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.project = torch.nn.Linear(16, 48)

    def forward(self, x):
        query, key, value = [part.view(*x.shape[:2], 2, 8).transpose(1, 2) for part in self.project(x).chunk(3, -1)]
        return functional.scaled_dot_product_attention(query, key, value, is_causal=True).sum((1, 2))


@pytest.mark.parametrize("name", MODELS)
def test_forward_and_backward(name):
    make, shape = MODELS[name]
    here = make()
    there = copy.deepcopy(here).to("sidra")
    x = torch.randn(shape)
    y = x.clone().to("sidra").requires_grad_()
    x.requires_grad_()
    a, b = here(x), there(y)
    torch.testing.assert_close(b.cpu(), a, rtol=1e-4, atol=1e-5)
    a.square().sum().backward()
    b.square().sum().backward()
    torch.testing.assert_close(y.grad.cpu(), x.grad, rtol=1e-3, atol=1e-4)
    for one, two in zip(here.parameters(), there.parameters(), strict=True):
        torch.testing.assert_close(two.grad.cpu(), one.grad, rtol=1e-3, atol=1e-4)
    here.eval(), there.eval()
    with torch.no_grad():
        torch.testing.assert_close(there(y).cpu(), here(x), rtol=1e-4, atol=1e-5)


LAYERS = {
    "layer-norm": (lambda: torch.nn.LayerNorm(9), (2, 4, 6, 9)),
    "group-norm": (lambda: torch.nn.GroupNorm(2, 4), (2, 4, 6, 9)),
    "instance-norm": (lambda: torch.nn.GroupNorm(4, 4, affine=False), (3, 4, 7)),
    "batch-norm": (lambda: torch.nn.BatchNorm2d(4), (2, 4, 6, 9)),
    "batch-norm-of-rows": (lambda: torch.nn.BatchNorm1d(5, affine=False), (8, 5)),
    "batch-norm-eval": (lambda: torch.nn.BatchNorm2d(4).eval(), (2, 4, 6, 9)),
    "max-pool": (lambda: torch.nn.MaxPool2d(3, 2, 1), (2, 4, 6, 9)),
    "max-pool-dilated": (lambda: torch.nn.MaxPool2d(2, 1, dilation=2, ceil_mode=True), (4, 6, 9)),
    "average-pool": (lambda: torch.nn.AvgPool2d(3, 2, 1), (2, 4, 7, 9)),
    "average-pool-rest": (lambda: torch.nn.AvgPool2d((2, 3), divisor_override=5), (4, 7, 10)),
    "adaptive-pool": (lambda: torch.nn.AdaptiveAvgPool2d((2, 3)), (2, 4, 6, 9)),
    "depthwise": (lambda: torch.nn.Conv2d(4, 4, 3, padding=1, groups=4), (2, 4, 6, 9)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_and_their_gradients_run_on_the_chip(name):
    make, shape = LAYERS[name]
    here = make()
    for parameter in here.parameters():
        torch.nn.init.normal_(parameter)
    there, x = copy.deepcopy(here).to("sidra"), torch.randn(shape) * 3 + 2
    y = x.to("sidra").requires_grad_()
    x.requires_grad_()
    torch.sidra.reset_fallbacks()
    a, b = here(x), there(y)
    weights = torch.randn_like(a)
    a.backward(weights)
    b.backward(weights.to("sidra"))
    assert not torch.sidra.fallbacks(), torch.sidra.fallbacks()
    torch.testing.assert_close(b.cpu(), a, rtol=1e-5, atol=1e-5)
    for one, two in zip([y, *there.parameters(), *there.buffers()], [x, *here.parameters(), *here.buffers()], strict=True):
        one, two = (one.grad, two.grad) if two.requires_grad else (one, two)
        torch.testing.assert_close(one.cpu(), two, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"stride": 1}, {"padding": 1}], ids=str)
def test_averages_in_bf16_spread_exactly(options):
    x = torch.zeros(2, 3, 9, 9, dtype=torch.bfloat16)
    grads = [torch.ops.aten.avg_pool2d_backward(9 * torch.nn.functional.avg_pool2d(t + 1, 3, **options).round(), t, [3], [options.get("stride", 3)],
                                                [options.get("padding", 0)], False, True, None) for t in (x, x.to("sidra"))]
    assert torch.equal(grads[1].cpu(), grads[0])


ORDERS = {
    "batch-norm": lambda f, t: f.batch_norm(t.transpose(2, 3), None, None, training=True),
    "group-norm": lambda f, t: f.group_norm(t.to(memory_format=torch.channels_last), 2),
    "adaptive-pool": lambda f, t: f.adaptive_avg_pool2d(t.to(memory_format=torch.channels_last), 2),
    "convolution": lambda f, t: f.conv2d(t, t[:3, :, :3, :3].transpose(2, 3)),
    "convolution-channels-last": lambda f, t: f.conv2d(t.to(memory_format=torch.channels_last), t[:3, :, :3, :3]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_results_have_the_order_of_the_cpu(name):
    t = torch.randn(4, 4, 6, 6)
    here, there = ORDERS[name](functional, t), ORDERS[name](functional, t.to("sidra"))
    assert there.stride() == here.stride()
    torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("pool", [torch.nn.MaxPool2d(2), torch.nn.AvgPool2d(2), torch.nn.AvgPool2d(3, 1), torch.nn.AdaptiveAvgPool2d(2)], ids=str)
def test_gradients_of_pooling_have_the_order_of_the_cpu(pool):
    leaves = [torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last).to(d).requires_grad_() for d in ("cpu", "sidra")]
    grads = [torch.autograd.grad(pool(leaf).sum(), leaf)[0] for leaf in leaves]
    assert grads[1].stride() == grads[0].stride()


def test_windows_in_the_padding_have_no_gradient():
    x = torch.randn(1, 1, 1, 9, device="sidra", requires_grad=True)
    functional.max_pool2d(x, (2, 1), padding=(1, 0), dilation=(2, 1)).sum().backward()
    assert x.grad.cpu().eq(0).all()


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), lambda p: torch.optim.Adam(p, 0.01), lambda p: torch.optim.AdamW(p, 0.01)],
                         ids=["sgd", "adam", "adamw"])
def test_training(make):
    here = MODELS["mlp"][0]()
    there = copy.deepcopy(here).to("sidra")
    x, y = torch.randn(30, 12), torch.randint(0, 3, (30,))
    losses = []
    for model, device in ((here, "cpu"), (there, "sidra")):
        optimizer = make(model.parameters())
        for _ in range(5):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast(dtype):
    model = MODELS["mlp"][0]().to("sidra")
    x = torch.randn(4, 12, device="sidra")
    exact = model(x)
    with torch.autocast("sidra", dtype=dtype):
        result = model(x)
        assert result.dtype == dtype
        assert functional.softmax(result, -1).dtype == torch.float32
    assert torch.allclose(result.float().cpu(), exact.cpu(), rtol=0.05, atol=0.05)
    result.float().sum().backward()
    assert model[0].weight.grad.dtype == torch.float32


def test_checkpointing():
    model = MODELS["mlp"][0]().to("sidra")
    x = torch.randn(4, 12, device="sidra", requires_grad=True)
    model(x).sum().backward()
    plain = [p.grad.cpu().clone() for p in model.parameters()]
    model.zero_grad()
    checkpoint(model, x, use_reentrant=False).sum().backward()
    assert all(torch.allclose(p.grad.cpu(), g, rtol=1e-5, atol=1e-6) for p, g in zip(model.parameters(), plain, strict=True))


def test_last_layer_on_frozen_crossbars():
    torch.sidra.set_matmul_mode("int8")
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)).to("sidra")
    model[0].requires_grad_(False)
    x = torch.randn(64, 16, device="sidra")
    y = (x.sum(1) > 0).long()
    optimizer = torch.optim.Adam(model[2].parameters(), 0.02)
    first = None
    for _ in range(60):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        first = first or loss.item()
        loss.backward()
        optimizer.step()
    assert loss.item() < first / 2
    frozen = [row for row in torch.sidra.residency() if (row["inputs"], row["outputs"]) == (16, 32) and row["resident"]]
    assert frozen and frozen[-1]["programs"] == 1 and frozen[-1]["uses"] > 50


FUNCTIONS = {
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda t: torch.nn.functional.gelu(t, approximate="tanh"),
    "softmax": lambda t: t.softmax(-1),
    "log_softmax": lambda t: t.log_softmax(-1),
    "layer_norm": lambda t: torch.nn.functional.layer_norm(t, t.shape[-1:], t[0, 0], t[1, 1]),
    "square": lambda t: t.square(),
    "clamp": lambda t: t.clamp(-0.5, 0.7),
    "where": lambda t: torch.where(t > 0, t, t * 0.1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_computed_on_the_chip(name):
    here = torch.randn(4, 5, 33, requires_grad=True)
    there = here.detach().to("sidra").requires_grad_()
    factor = torch.randn(4, 5, 33)
    torch.sidra.reset_fallbacks()
    (FUNCTIONS[name](there) * factor.to("sidra")).sum().backward()
    assert not torch.sidra.fallbacks(), torch.sidra.fallbacks()
    (FUNCTIONS[name](here) * factor).sum().backward()
    torch.testing.assert_close(there.grad.cpu(), here.grad, rtol=1e-4, atol=1e-5)


def test_the_gradient_of_an_embedding():
    table = torch.randn(20, 8)
    indices = torch.randint(0, 20, (3, 7))
    gradients = []
    for device in ("cpu", "sidra"):
        module = torch.nn.Embedding.from_pretrained(table.clone(), freeze=False, padding_idx=4).to(device)
        torch.sidra.reset_fallbacks()
        (module(indices.to(device)) ** 2).sum().backward()
        gradients.append(module.weight.grad.cpu())
    assert not torch.sidra.fallbacks(), torch.sidra.fallbacks()
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW], ids=lambda one: one.__name__)
def test_optimizers_run_on_the_chip(optimizer):
    parameters = []
    for device in ("cpu", "sidra"):
        torch.manual_seed(1)
        parameter = torch.randn(30).to(device).requires_grad_()
        steps = optimizer([parameter], lr=0.1)
        torch.sidra.reset_fallbacks()
        for _ in range(3):
            steps.zero_grad()
            (parameter * parameter).sum().backward()
            steps.step()
        parameters.append(parameter.detach().cpu())
    assert not torch.sidra.fallbacks(), torch.sidra.fallbacks()
    torch.testing.assert_close(*parameters)


def test_dropout():
    module = torch.nn.Dropout(0.25)
    there = torch.ones(100_000, device="sidra", requires_grad=True)
    torch.sidra.reset_fallbacks()
    result = module(there)
    result.sum().backward()
    assert not torch.sidra.fallbacks(), torch.sidra.fallbacks()
    assert result.detach().cpu().unique().tolist() == pytest.approx([0, 4 / 3]) and abs(result.mean().item() - 1) < 0.01
    assert torch.equal(there.grad.cpu(), result.detach().cpu())


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("loss", [functional.mse_loss, functional.smooth_l1_loss])
@pytest.mark.filterwarnings("error")
def test_losses_warn_of_nothing(loss, dtype, reduction):
    """PyTorch's kernels that are given the result resize it, with a warning."""
    x, target = torch.randn(5, 1, 7, dtype=dtype), torch.randn(5, 1, 7, dtype=dtype)
    results = []
    for device in ("cpu", "sidra"):
        there = x.to(device).requires_grad_()
        result = loss(there, target.to(device), reduction=reduction)
        assert result.dtype == dtype
        gradient, = torch.autograd.grad(result, there, torch.full_like(result, 3.0))
        results.append((result.detach().cpu(), gradient.cpu()))
    for here, there in zip(*results, strict=True):
        assert here.dtype == there.dtype and torch.allclose(here, there, rtol=2e-2 if dtype == torch.bfloat16 else 1e-5)


@pytest.mark.filterwarnings("error")
def test_mse_loss_runs_on_the_chip():
    torch.sidra.reset_fallbacks()
    x = torch.randn(40, 3, device="sidra", requires_grad=True)
    functional.mse_loss(x, torch.randn(40, 3, device="sidra")).backward()
    assert torch.sidra.fallbacks() == []
