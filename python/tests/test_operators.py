# SPDX-License-Identifier: MIT
"""Operators against the CPU: types, shapes and strides, broadcasting, values at the edge; and that they ran on the chip."""
import copy
import pathlib
import re
import sys

import numpy
import pytest
import torch

TABLE = pathlib.Path(__file__).parent.parent / "pytorch/csrc/aten/pointwise.inc"
ENTRIES = re.findall(r"^(UNARY_FLOAT|UNARY|BINARY|COMPARE)\((\w+), \"[^\"]*\"(?:, \"([^\"]*)\", (\w+|\"\"))?(?:, (\d+))?\)", TABLE.read_text(), re.M)
BITS = re.findall(r"^BITS\((\w+)", TABLE.read_text(), re.M)
LOGICAL = re.findall(r"^LOGICAL\((\w+)", TABLE.read_text(), re.M)
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
# Carries, signs and both words; and any.
LONGS = torch.cat([torch.tensor([0, 1, -1, 2**31, -2**31, 2**32, 2**32 - 1, -2**32, 2**63 - 1, -2**63, 0x123456789ABCDEF]), torch.randint(-2**63, 2**63 - 1, (60,))])
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-30, 1e30, float("inf"), float("-inf"), float("nan")])


def on_chip(call):
    """The result, or a list of them, on the CPU; fails if anything ran there."""
    torch.sidra.reset_fallbacks()
    result = call()
    assert not torch.sidra.fallbacks(), torch.sidra.fallbacks()
    assert torch.sidra.native_calls() > 0
    return [one.cpu() for one in result] if isinstance(result, list) else result.cpu()


def ulps(a, b):
    """The largest distance in units in the last place of the larger one."""
    a, b = a.double().numpy(), b.double().numpy()
    same = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
    size = numpy.maximum(numpy.maximum(abs(a), abs(b)), 2.0**-100)
    with numpy.errstate(invalid="ignore"):
        return float(numpy.where(same, 0, abs(a - b) / (2.0 ** numpy.floor(numpy.log2(numpy.where(numpy.isfinite(size), size, 1)))) * 2**23).max())


def test_the_page_of_operators_is_current():
    sys.path.insert(0, str(TABLE.parents[3]))
    import operators_page

    assert operators_page.PAGE.read_text() == operators_page.page(), "run python3 python/operators_page.py"


def test_the_table_is_read():
    assert len(ENTRIES) > 20 and len(ENTRIES) == len(re.findall(r"^[A-Z_]+\(\w+, \"", TABLE.read_text(), re.M)) - len(BITS) - len(LOGICAL)


@pytest.mark.parametrize("kind, name, integers, longs, tolerance", ENTRIES, ids=[entry[1] for entry in ENTRIES])
def test_pointwise(kind, name, integers, longs, tolerance):
    function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    two = kind in ("BINARY", "COMPARE")
    values = torch.cat([SPECIAL, torch.randn(500) * 3, torch.rand(100)])
    a, b = (values.repeat_interleave(7), values.repeat(7)) if two else (values, None)
    arguments = (a, b) if two else (a,)
    there = tuple(argument.to("sidra") for argument in arguments)
    result, expected = on_chip(lambda: function(*there)), function(*arguments)
    assert result.dtype == expected.dtype
    if kind == "COMPARE":
        assert torch.equal(result, expected)
    else:
        assert ulps(result, expected) <= int(tolerance)
    for dtype in FLOATS[1:]:
        rounded = tuple(argument.to(dtype) for argument in arguments)
        there = tuple(argument.to("sidra") for argument in rounded)
        result, expected = on_chip(lambda: function(*there)), function(*rounded)
        assert result.dtype == expected.dtype
        torch.testing.assert_close(result, expected, equal_nan=True, rtol=0.01 if dtype is torch.bfloat16 else 0.002, atol=1e-6)
    if integers:
        whole = tuple(torch.randint(-2**31, 2**31 - 1, (300,), dtype=torch.int32) for _ in arguments)
        there = tuple(argument.to("sidra") for argument in whole)
        assert torch.equal(on_chip(lambda: function(*there)), function(*whole))
    if longs.startswith("kLong"):
        whole = (LONGS.repeat_interleave(len(LONGS)), LONGS.repeat(len(LONGS)))[: len(arguments)]
        there = tuple(argument.to("sidra") for argument in whole)
        assert torch.equal(on_chip(lambda: function(*there)), function(*whole))


LAYOUTS = {
    "dense": lambda t: t,
    "transposed": lambda t: t.transpose(0, -1),
    "sliced": lambda t: t[1::2, :, 2:7:2],
    "expanded": lambda t: t[:, :1].expand(-1, 6, -1),
    "scalar": lambda t: t[0, 0, 0],
    "empty": lambda t: t[:0],
    "channels": lambda t: t[None].to(memory_format=torch.channels_last),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name):
    there = LAYOUTS[name](torch.arange(480.0).view(8, 6, 10).to("sidra"))
    here = LAYOUTS[name](torch.arange(480.0).view(8, 6, 10))
    for function in (lambda t: t + 1, lambda t: t * t, lambda t: 1 / (t + 1), lambda t: t.relu(), lambda t: t.add(t, alpha=2), lambda t: t.sub(3, alpha=0.5),
                     lambda t: t ** 2, lambda t: (t - 100).neg()):
        result, expected = function(there), function(here)
        assert result.shape == expected.shape and result.stride() == expected.stride()
        torch.testing.assert_close(result.cpu(), expected, rtol=1e-6, atol=0)


def test_broadcasting_and_out():
    a, b = torch.randn(5, 1, 7), torch.randn(6, 1)
    out = torch.empty(0, device="sidra")
    torch.add(a.to("sidra"), b.to("sidra"), out=out)
    torch.testing.assert_close(out.cpu(), a + b)
    five = torch.randn(2, 3, 4, 5, 6)[:, ::2, ::3, ::2, ::5]  # five dimensions that do not merge
    torch.testing.assert_close((five.to("sidra")[..., :1] + five.to("sidra")).cpu(), five[..., :1] + five)
    with pytest.raises(RuntimeError, match="size"):
        torch.ones(3, device="sidra") + torch.ones(4, device="sidra")
    with pytest.raises(RuntimeError, match="memory|overlap"):
        torch.ones(1, device="sidra").expand(4).add_(1)


def test_promotion():
    pairs = [(torch.float32, torch.int32), (torch.float16, torch.float32), (torch.int8, torch.float32), (torch.bool, torch.float32), (torch.int32, torch.int64),
             (torch.float32, torch.float64), (torch.bfloat16, torch.float16), (torch.uint8, torch.int8)]
    for a, b in pairs:
        x, y = torch.tensor([1, 0, 3]).to(a), torch.tensor([2, 1, 5]).to(b)
        result = x.to("sidra") + y.to("sidra")
        assert result.dtype == (x + y).dtype and torch.equal(result.cpu(), x + y)
        assert torch.equal((x.to("sidra") * 2.5).cpu(), x * 2.5)


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "sum", "mean", "amax", "amin"])
def test_rows(name, dim):
    here = torch.randn(6, 9, 33)
    for view in (lambda t: t, lambda t: t.transpose(0, 2), lambda t: t[::2, 1:]):
        result = on_chip(lambda: getattr(torch, name)(view(here.to("sidra")), dim))
        torch.testing.assert_close(result, getattr(torch, name)(view(here), dim), rtol=1e-5, atol=1e-5)
    if name not in ("softmax", "log_softmax"):
        torch.testing.assert_close(getattr(torch, name)(here.to("sidra"), dim, keepdim=True).cpu(), getattr(torch, name)(here, dim, keepdim=True), rtol=1e-5, atol=1e-5)


def test_whole_sums():
    here = torch.randn(40, 50)
    torch.testing.assert_close(on_chip(lambda: here.to("sidra").sum()), here.sum(), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(here.to("sidra").t().mean().cpu(), here.mean(), rtol=1e-4, atol=1e-4)
    assert torch.empty(0, 3, device="sidra").sum(0).tolist() == [0, 0, 0]


def test_layer_norm():
    here, gamma, beta = torch.randn(4, 5, 48), torch.randn(48), torch.randn(48)
    result = on_chip(lambda: torch.nn.functional.layer_norm(here.to("sidra"), (48,), gamma.to("sidra"), beta.to("sidra")))
    torch.testing.assert_close(result, torch.nn.functional.layer_norm(here, (48,), gamma, beta), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(torch.nn.functional.layer_norm(here.to("sidra"), (5, 48)).cpu(), torch.nn.functional.layer_norm(here, (5, 48)), rtol=1e-5, atol=1e-5)


def test_embedding():
    table, index = torch.randn(100, 12), torch.randint(0, 100, (3, 7))
    assert torch.equal(on_chip(lambda: torch.nn.functional.embedding(index.to("sidra"), table.to("sidra"))), table[index])
    there = table.to("sidra")
    with pytest.raises((RuntimeError, IndexError), match="index|range"):
        torch.nn.functional.embedding(torch.tensor([5, 100], device="sidra"), there).cpu()
    assert (there + 0).cpu().equal(table)  # the stream works again


@pytest.mark.parametrize("masked", ["none", "bool", "float", "causal"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_attention(masked, dtype):
    query, key, value = torch.randn(2, 3, 10, 16), torch.randn(2, 3, 12, 16), torch.randn(2, 3, 12, 8)
    if masked == "causal":
        key, value = key[:, :, :10], value[:, :, :10]
    mask = {"bool": torch.rand(2, 1, 10, 12) > 0.3, "float": torch.randn(10, 12)}.get(masked)
    if masked == "bool":
        mask[..., 0] = True
    call = lambda device, dtype: torch.nn.functional.scaled_dot_product_attention(  # noqa: E731
        query.to(device, dtype), key.to(device, dtype), value.to(device, dtype),
        attn_mask=None if mask is None else mask.to(device) if masked == "bool" else mask.to(device, dtype), is_causal=masked == "causal")
    expected = call("cpu", torch.float32)
    result = call("sidra", dtype).cpu().float()
    torch.testing.assert_close(result, expected, rtol=1e-5 if dtype is torch.float32 else 0.03, atol=1e-5 if dtype is torch.float32 else 0.03)
    # Heads side by side, as models have them.
    packed = torch.randn(2, 10, 3 * 3 * 16)
    heads = lambda t: [part.view(2, 10, 3, 16).transpose(1, 2) for part in t.chunk(3, -1)]  # noqa: E731
    torch.testing.assert_close(torch.nn.functional.scaled_dot_product_attention(*heads(packed.to("sidra"))).cpu(),
                               torch.nn.functional.scaled_dot_product_attention(*heads(packed)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_digital_products(dtype):
    tolerance = {"rtol": 1e-5, "atol": 1e-4} if dtype is torch.float32 else {"rtol": 0.02, "atol": 0.1}
    torch.sidra.set_matmul_mode("digital")
    a, b, c = torch.randn(4, 9, 17).to(dtype), torch.randn(4, 17, 11).to(dtype), torch.randn(4, 9, 11).to(dtype)
    there = [t.to("sidra") for t in (a, b, c)]
    for function in (lambda a, b, c: a @ b, lambda a, b, c: a[0] @ b[0], lambda a, b, c: torch.baddbmm(c, a, b, beta=0.5, alpha=2),
                     lambda a, b, c: torch.addmm(c[0], a[0], b[0], beta=2, alpha=0.5), lambda a, b, c: b.transpose(1, 2) @ a.transpose(1, 2),
                     lambda a, b, c: a[:, ::2] @ b[:, :, ::3], lambda a, b, c: torch.addmm(c[0, 0], a[0], b[0]), lambda a, b, c: a[0] @ b[0, :, 0],
                     lambda a, b, c: torch.nn.functional.linear(a, b[0].t(), c[0, 0])):
        torch.testing.assert_close(function(*there).cpu(), function(a, b, c), **tolerance)
    assert (torch.randn(3, 0, device="sidra") @ torch.randn(0, 4, device="sidra")).cpu().eq(0).all()
    with pytest.raises(RuntimeError, match="shape|size|dim"):
        there[0] @ there[0]


def test_unsupported_layouts_are_refused():
    with pytest.raises((RuntimeError, NotImplementedError), match="[Ss]parse|dense"):
        torch.eye(3).to_sparse().to("sidra")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("stride, padding, dilation", [(1, 0, 1), (2, 1, 1), ((1, 2), (2, 0), (1, 2))], ids=str)
def test_convolutions_on_crossbars(stride, padding, dilation, dtype):
    x, kernel, bias = torch.randn(2, 5, 13, 11).to(dtype), torch.randn(7, 5, 3, 2).to(dtype), torch.randn(7).to(dtype)
    there = [t.to("sidra") for t in (x, kernel, bias)]
    expected = torch.nn.functional.conv2d(x.float(), kernel.float(), bias.float(), stride, padding, dilation)
    torch.nn.functional.conv2d(*there, stride, padding, dilation)
    result = on_chip(lambda: torch.nn.functional.conv2d(*there, stride, padding, dilation).contiguous())
    assert result.dtype == dtype
    # A step of the windows' codes times the sum of a kernel, and half a step of the kernel's times the sum of a window, at most.
    bound = (x.float().max() - x.float().min()) / 255 * kernel.float().abs().sum((1, 2, 3)).max() / 2 + kernel.float().abs().max() / 254 * 30 * x.float().abs().max()
    assert (result.float() - expected).abs().max() < bound * 1.05 + (0.1 if dtype is torch.bfloat16 else 0)
    assert torch.nn.functional.cosine_similarity(result.float().flatten(), expected.flatten(), 0) > 0.999
    there[1].mul_(-1)
    for _ in range(3):
        again = torch.nn.functional.conv2d(*there, stride, padding, dilation).cpu().float()
        assert torch.nn.functional.cosine_similarity((again - bias.float()[:, None, None]).flatten(), (bias.float()[:, None, None] - expected).flatten(), 0) > 0.99


CONVOLUTIONS = {
    "same": lambda f, x, k: f.conv2d(x, k, padding="same"),
    "one-dimension": lambda f, x, k: f.conv1d(x[:, :, 0], k[:, :, 0], stride=2, padding=1),
    "three-dimensions": lambda f, x, k: f.conv3d(x.unflatten(2, (3, 3)), k.unflatten(2, (3, 1)), stride=(1, 2, 1), padding=(1, 0, 1)),
    "three-dimensions-groups": lambda f, x, k: f.conv3d(x.unflatten(2, (3, 3)), k[:, :2].unflatten(2, (3, 1)), groups=2, padding=(1, 0, 1)),
    "one-image": lambda f, x, k: f.conv2d(x[0], k),
    "bias": lambda f, x, k: f.conv2d(x, k, k[:, 0, 0, 0], stride=(2, 1), padding=(0, 2)),
    "point": lambda f, x, k: f.conv2d(x, k[:, :, :1, :1], k[:, 0, 0, 0]),
    "patches": lambda f, x, k: f.conv2d(x, k, stride=3),
    "dilated": lambda f, x, k: f.conv2d(x, k, dilation=(1, 2), padding=2),
    "dilated-columns": lambda f, x, k: f.conv2d(x, k, dilation=(2, 1), padding=2),
    "channels-last": lambda f, x, k: f.conv2d(x.to(memory_format=torch.channels_last), k, padding=1),
    "view-of-result": lambda f, x, k: f.conv2d(x, k).view(2, -1),
    "groups": lambda f, x, k: f.conv2d(x.repeat(1, 3, 1, 1), k, k[:, 0, 0, 0], groups=3, stride=2, padding=1),
    "depthwise": lambda f, x, k: f.conv2d(x, k[:4, :1], k[:4, 0, 0, 0], groups=4, padding=1),
    "depthwise-several": lambda f, x, k: f.conv2d(x, k.transpose(0, 1).reshape(-1, 1, 3, 3)[:8], groups=4, stride=2),
    "transposed": lambda f, x, k: f.conv_transpose2d(x, k.transpose(0, 1), k[:, 0, 0, 0], stride=2, padding=1, output_padding=1),
    "transposed-patches": lambda f, x, k: f.conv_transpose2d(x, k.transpose(0, 1), stride=3),
    "transposed-groups": lambda f, x, k: f.conv_transpose2d(x, k.transpose(0, 1), groups=2, dilation=2),
    "transposed-depthwise": lambda f, x, k: f.conv_transpose2d(x, k[:4, :1], groups=4, stride=2),
    "transposed-one-dimension": lambda f, x, k: f.conv_transpose1d(x[:, :, 0], k.transpose(0, 1)[..., 0], stride=2),
    "half": lambda f, x, k: f.conv2d(x.half(), k.half(), padding=1).float(),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_by_the_matrix_engine(name):
    torch.sidra.set_matmul_mode("digital")
    call, arguments = CONVOLUTIONS[name], [torch.randn(2, 4, 9, 8), torch.randn(6, 4, 3, 3)]

    def run(device):
        leaves = [t.to(device).requires_grad_() for t in arguments]
        with torch.enable_grad():
            result = call(torch.nn.functional, *leaves)
            grads = torch.autograd.grad((result * result).sum(), leaves)
        return [result.detach(), *grads]

    expected, tolerance = run("cpu"), 1e-2 if name == "half" else 1e-4
    for one, other in zip(on_chip(lambda: run("sidra")), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=10 * tolerance)


def test_gradient_of_a_kernel_over_many_windows():
    torch.sidra.set_matmul_mode("digital")
    x, grad = torch.randn(3, 2, 80, 90), torch.randn(3, 3, 80, 90)  # more windows than a product may sum

    def run(device):
        kernel = torch.ones(3, 2, 1, 1, device=device)
        return list(torch.ops.aten.convolution_backward(grad.to(device), x.to(device), kernel, [3], [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
                                                        [False, True, True]))[1:]

    for one, other in zip(on_chip(lambda: run("sidra")), run("cpu"), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-3)


def test_what_convolutions_refuse():
    x, kernel = torch.randn(1, 2, 5, 5, device="sidra"), torch.randn(2, 3, 3, 3, device="sidra")
    for call in (lambda: torch.nn.functional.conv_transpose2d(x, kernel, stride=1, output_padding=1), lambda: torch.nn.functional.conv2d(x, kernel),
                 lambda: torch.nn.functional.conv2d(x, kernel.transpose(0, 1), dilation=0),
                 lambda: torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=torch.zeros(5, 5)),
                 lambda: torch.nn.functional.conv2d(x, kernel.transpose(0, 1).cpu())):
        with pytest.raises(RuntimeError, match="output padding|channels|is on|dilation|device"):
            call()


@pytest.mark.parametrize("name", [*BITS, "lt", "eq", "ge"])
def test_bits_and_comparisons_of_integers(name):
    for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32):
        a, b = [torch.randint(0, 2, (300,)).bool() if dtype is torch.bool else torch.randint(torch.iinfo(dtype).min, torch.iinfo(dtype).max, (300,)).to(dtype)
                for _ in range(2)]
        result = on_chip(lambda: getattr(torch, name)(a.to("sidra"), b.to("sidra")))
        assert torch.equal(result, getattr(torch, name)(a, b)) and result.dtype == getattr(torch, name)(a, b).dtype
        if name in BITS:
            assert torch.equal(on_chip(lambda: torch.bitwise_not(a.to("sidra"))), torch.bitwise_not(a))
        elif dtype is not torch.bool:
            assert torch.equal((getattr(torch, name)(a.to("sidra"), 3)).cpu(), getattr(torch, name)(a, 3))


def test_comparisons_with_numbers():
    here = torch.randn(50)
    for function in (lambda t: t < 0.5, lambda t: t == here[3].item(), lambda t: t >= 1, lambda t: t != float("nan"), lambda t: 0 > t):
        assert torch.equal(on_chip(lambda: function(here.to("sidra"))), function(here))


@pytest.mark.parametrize("shape, dims", [((3000, 40), 0), ((513, 16), 0), ((512, 9), 0), ((7, 1100, 24), 1), ((4, 600, 5, 32), (0, 2)), ((2, 64, 30, 9), 1),
                                         ((300000, 8), 0)], ids=str)
def test_sums_of_columns(shape, dims):
    for dtype in (torch.float32, torch.bfloat16):
        here = (torch.randn(shape) + 0.5).to(dtype)
        tolerance = {"rtol": 1e-5, "atol": 1e-4 * here.numel() ** 0.25} if dtype is torch.float32 else {"rtol": 1e-2, "atol": 1e-1}
        for function in (torch.sum, torch.mean):
            exact = function(here.double(), dims)
            for there in (here.to("sidra"), here.to("sidra").transpose(-1, -2).contiguous().transpose(-1, -2)):
                torch.testing.assert_close(on_chip(lambda: function(there, dims)).double(), exact, **tolerance)


REARRANGED = {
    "flip": lambda t, i: t.flip(0, -1),
    "flip-none": lambda t, i: t.flip(()),
    "fliplr": lambda t, i: t.fliplr(),
    "roll": lambda t, i: t.roll((1, -3), (0, 2)),
    "roll-flat": lambda t, i: t.roll(7),
    "roll-whole": lambda t, i: t.roll(8, 1),
    "index-add": lambda t, i: t.index_add(1, i, t.transpose(0, 1)[:1].transpose(0, 1).repeat(1, 6, 1), alpha=2),
    "scatter-add": lambda t, i: t.scatter_add(1, i[None, :, None].repeat(2, 1, 5), t[:, :6] * 2),
    "scatter-add-less": lambda t, i: torch.zeros_like(t).scatter_add_(-1, i[None, :4, None].repeat(3, 1, 2), t),
}


@pytest.mark.parametrize("name", REARRANGED)
def test_rearranged(name):
    t, index = torch.randn(3, 8, 7), torch.tensor([0, 3, 3, 6, 1, 3])
    torch.testing.assert_close(on_chip(lambda: REARRANGED[name](t.to("sidra"), index.to("sidra"))), REARRANGED[name](t, index))
    if "add" in name:
        with pytest.raises(IndexError, match="out of bounds"):
            REARRANGED[name](t.to("sidra"), (index + 5).to("sidra"))


def test_means_of_equal_numbers_are_exact():
    for count in (41, 47, 55, 1353):
        assert on_chip(lambda: torch.ones(count, 128, device="sidra").mean(0)).eq(1).all()


def test_means_of_f16_have_no_large_sums():
    for shape in ((100001,), (300, 301)):
        assert torch.full(shape, 2.0, dtype=torch.float16, device="sidra").mean().item() == 2


def test_what_layer_norm_refuses():
    x = torch.randn(4, 8, device="sidra")
    for shape, size in (((8,), 16), ((8,), 32), ((2, 4), 8)):
        with pytest.raises(RuntimeError):
            torch.nn.functional.layer_norm(x, shape, torch.ones(size, device="sidra"), torch.ones(size, device="sidra"))


def test_what_rearranging_refuses():
    t, index = torch.randn(3, 4, device="sidra"), torch.tensor([0, 1], device="sidra")
    for call in (lambda: t.flip(0, 0), lambda: torch.roll(t, ()), lambda: torch.roll(t, (1, 2), 0),
                 lambda: torch.index_add(t, 0, index, t, out=torch.empty_like(t)),
                 lambda: torch.scatter_add(t[:, :2], 0, torch.zeros(1, 3, dtype=torch.long, device="sidra"), t, out=torch.empty(3, 2, device="sidra"))):
        with pytest.raises((RuntimeError, IndexError)):
            call()


def test_where_and_cat():
    mask, a, b = torch.rand(4, 5) > 0.5, torch.randn(4, 5), torch.randn(5)
    for dtype in FLOATS:
        there = [t.to("sidra") for t in (mask, a.to(dtype), b.to(dtype))]
        assert torch.equal(on_chip(lambda: torch.where(*there)), torch.where(mask, a.to(dtype), b.to(dtype)))
        assert torch.equal(torch.where(there[0], there[1], float("-inf")).cpu(), torch.where(mask, a.to(dtype), float("-inf")))
        assert torch.equal(on_chip(lambda: torch.cat([there[1], there[1][:, :2], there[1][:, :0]], 1)), torch.cat([a, a[:, :2]], 1).to(dtype))
    assert torch.equal(torch.cat([torch.arange(3).sidra(), torch.arange(2).sidra()]).cpu(), torch.cat([torch.arange(3), torch.arange(2)]))
    assert torch.equal(torch.cat([torch.ones(2).sidra(), torch.ones(2, dtype=torch.int32).sidra()]).cpu(), torch.ones(4))
    assert torch.equal(on_chip(lambda: a.to("sidra").abs()), a.abs())


def test_out_of_another_shape_is_given_the_right_one():
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    torch.sidra.set_matmul_mode("digital")
    for call in (lambda a, b, out: torch.mm(a, b, out=out), lambda a, b, out: torch.bmm(a[None], b[None], out=out), lambda a, b, out: torch.sum(a, 1, out=out),
                 lambda a, b, out: torch.mean(a, 0, keepdim=True, out=out), lambda a, b, out: torch.amax(a, 1, out=out),
                 lambda a, b, out: torch.softmax(a, 0, out=out), lambda a, b, out: torch.cat([a, a], 1, out=out), lambda a, b, out: torch.exp(a, out=out),
                 lambda a, b, out: torch.logsumexp(a, 1, out=out), lambda a, b, out: torch.addmm(b[:1], a, b, out=out)):
        expected = call(a, b, torch.empty(0))
        for out in (torch.empty(0, device="sidra"), torch.empty(expected.shape, device="sidra"), torch.empty(2, expected.numel(), device="sidra")[1].view(expected.shape)):
            call(a.to("sidra"), b.to("sidra"), out)
            torch.testing.assert_close(out.cpu(), expected, rtol=1e-5, atol=1e-5)
    for call in (lambda out: torch.mm(a.to("sidra"), a.to("sidra"), out=out), lambda out: torch.cat([a.to("sidra"), b.to("sidra")], out=out),
                 lambda out: torch.bmm(a[None].to("sidra"), b.expand(2, 4, 5).to("sidra"), out=out)):
        with pytest.raises(RuntimeError, match="size|shape|batch"):
            call(torch.empty(0, device="sidra"))


def same(function, *arguments, tolerance=1e-5):
    """That it runs on the chip and gives what the CPU gives; exactly for integers."""
    there = [argument.to("sidra") if isinstance(argument, torch.Tensor) else argument for argument in arguments]
    torch.sidra.reset_fallbacks()
    results, expected = function(*there), function(*arguments)
    assert not torch.sidra.fallbacks(), torch.sidra.fallbacks()
    if not isinstance(expected, tuple):
        results, expected = (results,), (expected,)
    for one, other in zip(results, expected, strict=True):
        assert one.device.type == "sidra"
        torch.testing.assert_close(one.cpu(), other, rtol=tolerance, atol=tolerance, equal_nan=True, check_stride=False)


DTYPES = [torch.float32, torch.int64, torch.int32, torch.int8, torch.bool]


def some(dtype, *size):
    if dtype.is_floating_point:
        return torch.randn(size).to(dtype)
    if dtype is torch.int64:  # both words
        return torch.randint(-2**63, 2**63 - 1, size)
    return torch.randint(0, 2, size).bool() if dtype is torch.bool else torch.randint(-100, 100, size, dtype=dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_reductions(dtype):
    value = some(dtype, 5, 4, 70)
    for dims in ((), (0,), (1,), (2,), (-1, 0), (0, 1, 2)):
        for keepdim in (False, True):
            same(lambda t: t.sum(dims, keepdim=keepdim) if dims else t.sum(), value)
            same(lambda t: t.amax(dims, keepdim=keepdim), value)
            same(lambda t: t.amin(dims, keepdim=keepdim), value)
            same(lambda t: torch.any(t, dims, keepdim=keepdim) if dims else t.any(), value)
            same(lambda t: torch.all(t, dims, keepdim=keepdim) if dims else t.all(), value)
    same(lambda t: t.max(), value)
    same(lambda t: t.min(), value)
    same(lambda t: t.cumsum(2), value)
    same(lambda t: t.cumsum(0), value)
    same(lambda t: t[0, 0, 0].sum(), value)
    if dtype is not torch.bool:
        same(lambda t: torch.isin(t, t[0, 0, :3]), value)
    if dtype not in (torch.int64, torch.bool):
        same(lambda t: t.argmax(), value)
        same(lambda t: t.argmin(1, keepdim=True), value)
        same(lambda t: tuple(t.max(1)), value)
        same(lambda t: tuple(t.min(-1)), value)


def test_means_and_variances():
    value = torch.randn(5, 4, 70)
    for dims in ((0,), (1, 2), (0, 1, 2)):
        for keepdim in (False, True):
            same(lambda t: t.mean(dims, keepdim=keepdim), value)
            same(lambda t: t.var(dims, correction=0, keepdim=keepdim), value)
            same(lambda t: t.std(dims, keepdim=keepdim), value)


@pytest.mark.parametrize("numel", [16384, 16385, 300_000])
def test_long_reductions(numel):
    same(lambda t: t.sum(), torch.randint(-2**63, 2**63 - 1, (numel,)))
    value = torch.rand(numel)
    same(lambda t: t.sum(), value, tolerance=1e-4)
    same(lambda t: t.mean(), value)
    same(lambda t: t.max(), value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_filling_and_masks(dtype):
    value = some(dtype, 6, 9)
    mask = torch.rand(6, 9) < 0.3
    number = 1 if dtype is torch.bool else 7
    same(lambda t: torch.full_like(t, number), value)
    same(lambda t: torch.zeros_like(t), value)
    same(lambda t: torch.ones_like(t), value)
    same(lambda t, m: t.masked_fill(m, number), value, mask)
    same(lambda t, m: torch.where(m, t, t.flip(0) if t.device.type == "cpu" else t.cpu().flip(0).to(t.device)), value, mask)
    same(lambda t: t.tril(1), value)
    same(lambda t: t.triu(-2), value)
    if dtype not in (torch.bool, torch.int8):
        same(lambda t: t.clamp(-3, 5), value)
        same(lambda t: t.clamp(min=-3), value)
        same(lambda t: t.clamp(max=5), value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_by_index(dtype):
    value, places = some(dtype, 6, 5, 9), torch.tensor([4, 0, 4, 2])
    same(lambda t, i: t.index_select(0, i), value, places)
    same(lambda t, i: t.index_select(2, i), value, places)
    same(lambda t, i: t[i], value, places.int())
    same(lambda t, i: t[:, i - 5], value, places)
    same(lambda t, i: t[i.view(2, 2)], value, places)
    same(lambda t, i: t[:, :, i.view(2, 2)], value, places)
    same(lambda t, i: t[i], value, places[1])
    for dim in (0, 1, 2):
        same(lambda t, i: t.gather(dim, i), value, torch.randint(0, 5, (4, 5, 7)))


def test_indices_out_of_range():
    there = torch.arange(12).view(3, 4).to("sidra")
    for call in (lambda: there[torch.tensor([0, 3], device="sidra")], lambda: there[:, torch.tensor([-5], device="sidra")],
                 lambda: there.index_select(0, torch.tensor([-1], device="sidra"))):
        with pytest.raises(IndexError, match="out of bounds for dimension . with size"):
            call()
    with pytest.raises(RuntimeError, match="out of range"):
        there.gather(1, torch.tensor([[4]], device="sidra")).cpu()
    assert (there + 1).cpu().sum() == 78  # the stream goes on


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.int64, torch.int8], ids=str)
def test_sorting(dtype):
    value = some(dtype, 4, 50, 3)
    for dim in (0, 1, 2):
        for descending in (False, True):
            same(lambda t: tuple(t.sort(stable=True, dim=dim, descending=descending)), value)
    same(lambda t: t.topk(7, 1).values, value)
    same(lambda t: t.topk(7, 1, largest=False).values, value)
    with pytest.raises(RuntimeError, match="out of range"):
        value.to("sidra").topk(51, 1)


def test_ranges():
    for arguments in ((7,), (2, 30, 3), (9, -4, -2), (5, 5), (0, 10, 4)):
        same(lambda t: torch.arange(*arguments, device=t.device), torch.empty(1))
        same(lambda t: torch.arange(*map(float, arguments), device=t.device), torch.empty(1))
    with pytest.raises(RuntimeError):
        torch.arange(3, 9, -1, device="sidra")


@pytest.mark.parametrize("shape", [(2, 6, 11, 13), (6, 11, 13)], ids=["images", "image"])
def test_pooling(shape):
    value = torch.randn(shape)
    functional = torch.nn.functional
    same(lambda t: tuple(functional.max_pool2d(t, 3, return_indices=True)), value)
    same(lambda t: functional.max_pool2d(t, (3, 2), (2, 1), (1, 1), 2), value)
    same(lambda t: functional.max_pool2d(t, 3, 2, ceil_mode=True), value)
    same(lambda t: functional.avg_pool2d(t, 3), value)
    same(lambda t: functional.avg_pool2d(t, 3, 2, 1), value)
    same(lambda t: functional.avg_pool2d(t, 3, 2, 1, count_include_pad=False), value)
    same(lambda t: functional.adaptive_avg_pool2d(t, (1, 13)), value)
    same(lambda t: functional.adaptive_avg_pool2d(t, 1), value)


@pytest.mark.parametrize("dims", [2, 3, 4])
def test_batch_norm(dims):
    value = torch.randn((8, 5, 6, 7)[:dims])
    for options in ({}, {"affine": False}, {"track_running_stats": False}):
        modules = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}
        here = modules[dims](5, **options)
        there = modules[dims](5, **options).to("sidra")
        for _ in range(2):
            torch.testing.assert_close(on_chip(lambda: there(value.to("sidra"))), here(value), rtol=1e-4, atol=1e-4)
        for name, buffer in here.named_buffers():
            torch.testing.assert_close(there.get_buffer(name).cpu(), buffer, rtol=1e-4, atol=1e-4)
        here.eval(), there.eval()
        torch.testing.assert_close(on_chip(lambda: there(value.to("sidra"))), here(value), rtol=1e-4, atol=1e-4)


def test_random_numbers():
    def drawn():
        torch.manual_seed(3)
        value = torch.empty(200_000, device="sidra")
        return value.uniform_(2, 5).cpu(), value.normal_(1, 3).cpu(), value.bernoulli_(0.25).cpu(), torch.rand_like(value).cpu()

    torch.sidra.reset_fallbacks()
    uniform, normal, truths, more = drawn()
    assert not torch.sidra.fallbacks()
    for again, first in zip(drawn(), (uniform, normal, truths, more), strict=True):
        assert torch.equal(again, first)
    assert 2 <= uniform.min() < 2.001 and 4.999 < uniform.max() <= 5 and abs(uniform.mean() - 3.5) < 0.01
    assert abs(normal.mean() - 1) < 0.03 and abs(normal.std() - 3) < 0.03
    assert set(truths.tolist()) == {0.0, 1.0} and abs(truths.mean() - 0.25) < 0.005
    assert not torch.equal(more, (uniform - 2) / 3) and abs(more.mean() - 0.5) < 0.005


def test_cat_of_what_is_empty():
    for values in ((torch.tensor([]), torch.randn(1, 2, 3)), (torch.randn(1, 2, 3), torch.tensor([])), (torch.tensor([]), torch.tensor([]))):
        there = [value.to("sidra") for value in values]
        assert torch.equal(torch.cat(there, -1).cpu(), torch.cat(values, -1))


def test_logical_operators():
    one, other = torch.rand(40) < 0.5, torch.rand(40) < 0.5
    for function in (torch.logical_and, torch.logical_or, torch.logical_xor):
        same(function, one, other)
    for dtype in DTYPES:
        same(torch.logical_not, some(dtype, 40))


def test_a_query_that_may_look_at_nothing_has_zeros():
    query, mask = torch.randn(1, 2, 4, 8), torch.ones(4, 4, dtype=torch.bool)
    mask[1] = False
    here = torch.nn.functional.scaled_dot_product_attention(query, query, query, attn_mask=mask)
    there = query.to("sidra")
    there = torch.nn.functional.scaled_dot_product_attention(there, there, there, attn_mask=mask.to("sidra"))
    assert here[0, 0, 1].eq(0).all() and torch.allclose(there.cpu(), here, atol=1e-6)


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_recurrent_layers_in_double(kind):
    here = kind(5, 7, 2).double()
    there = copy.deepcopy(here).to("sidra")
    x = torch.randn(3, 2, 5, dtype=torch.double, requires_grad=True)
    y = x.detach().to("sidra").requires_grad_()
    a, b = here(x)[0], there(y)[0]
    a.sum().backward()
    b.sum().backward()
    assert torch.allclose(b.cpu(), a) and torch.allclose(y.grad.cpu(), x.grad)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape, groups", [((2, 6, 4, 3), 3), ((2, 6), 2), ((0, 2), 1), ((1, 4, 5), 4)])
def test_group_norm(shape, groups, affine):
    here = torch.nn.GroupNorm(groups, shape[1], affine=affine)
    for parameter in here.parameters():
        torch.nn.init.normal_(parameter)
    there = copy.deepcopy(here).to("sidra")
    x = torch.randn(shape, requires_grad=True)
    y = x.detach().to("sidra").requires_grad_()
    a, b = here(x), there(y)
    a.pow(2).sum().backward()
    b.pow(2).sum().backward()
    assert torch.allclose(b.cpu(), a, atol=1e-5) and torch.allclose(y.grad.cpu(), x.grad, atol=1e-4)


def test_random_numbers_do_not_depend_on_strides():
    torch.manual_seed(3)
    dense = torch.empty(10, device="sidra").uniform_(-1, 1)
    torch.manual_seed(3)
    assert torch.equal(torch.empty(20, device="sidra")[::2].uniform_(-1, 1), dense)


# Operators that write into a tensor of the caller's: `t` is 3 x 6 x 8.
INTO = {
    "mm": lambda t, out: torch.mm(t[0], t[1].t(), out=out),
    "addmm": lambda t, out: torch.addmm(t[2, :, :6], t[0], t[1].t(), beta=0.5, out=out),
    "addmm-row": lambda t, out: torch.addmm(t[2, 0, :6], t[0], t[1].t(), out=out),
    "bmm": lambda t, out: torch.bmm(t, t.transpose(1, 2), out=out),
    "baddbmm": lambda t, out: torch.baddbmm(t[:, :, :6], t, t.transpose(1, 2), alpha=2, out=out),
    "sum": lambda t, out: torch.sum(t, 1, out=out),
    "sum-all": lambda t, out: torch.sum(t, (0, 1, 2), out=out),
    "mean": lambda t, out: torch.mean(t, (0, 2), keepdim=True, out=out),
    "amax": lambda t, out: torch.amax(t, 2, out=out),
    "any": lambda t, out: torch.any(t > 0.5, 1, out=out),
    "all": lambda t, out: torch.all(t > -2, 0, out=out),
    "argmax": lambda t, out: torch.argmax(t, 1, out=out),
    "argmin": lambda t, out: torch.argmin(t, 2, keepdim=True, out=out),
    "argmax-all": lambda t, out: torch.argmax(t, out=out),
    "max": lambda t, out: torch.max(t, 1, out=(out, torch.empty(3, 8, dtype=torch.long, device=t.device)))[0],
    "max-places": lambda t, out: torch.max(t, 1, out=(torch.empty(3, 8, device=t.device), out))[1],
    "cumsum": lambda t, out: torch.cumsum(t, 1, out=out),
    "softmax": lambda t, out: torch.softmax(t, 1, out=out),
    "log_softmax": lambda t, out: torch.log_softmax(t, 2, out=out),
    "sort": lambda t, out: torch.sort(t, 1, out=(out, torch.empty(3, 6, 8, dtype=torch.long, device=t.device)))[0],
    "topk-places": lambda t, out: torch.topk(t, 2, out=(torch.empty(3, 6, 2, device=t.device), out))[1],
    "gather": lambda t, out: torch.gather(t, 1, torch.tensor([5, 0, 2], device=t.device)[None, :, None].expand(2, 3, 8), out=out),
    "index_add": lambda t, out: torch.index_add(t, 1, torch.tensor([1, 4], device=t.device), t[:, :2] * 2, out=out),
    "scatter_add": lambda t, out: torch.scatter_add(t, 1, torch.zeros(3, 2, 8, dtype=torch.long, device=t.device), t * 2, out=out),
    "tril": lambda t, out: torch.tril(t, 1, out=out),
    "triu": lambda t, out: torch.triu(t, out=out),
    "cat": lambda t, out: torch.cat([t, t[:, :2] + 1], 1, out=out),
    "where": lambda t, out: torch.where(t > 0, t, t[:1], out=out),
    "exp": lambda t, out: torch.exp(t, out=out),
    "add": lambda t, out: torch.add(t, t[:1], alpha=2, out=out),
    "gt": lambda t, out: torch.gt(t, 0.5, out=out),
    "clamp": lambda t, out: torch.clamp(t, -1, 0.5, out=out),
    "pow": lambda t, out: torch.pow(t, 2, out=out),
    "lerp": lambda t, out: torch.lerp(t, t[:1], 0.3, out=out),
    "addcmul": lambda t, out: torch.addcmul(t, t, t[:1], value=2, out=out),
    "avg_pool2d": lambda t, out: torch._C._nn.avg_pool2d(t, 2, out=out),
    "max_pool2d": lambda t, out: torch._C._nn.max_pool2d_with_indices(t, 2, out=(out, torch.empty(3, 3, 4, dtype=torch.long, device=t.device)))[0],
    "max_pool2d-places": lambda t, out: torch._C._nn.max_pool2d_with_indices(t, 2, out=(torch.empty(3, 3, 4, device=t.device), out))[1],
    "arange": lambda t, out: torch.arange(3, 40, 2, out=out),
}


@pytest.mark.filterwarnings("ignore:.*was resized")
@pytest.mark.parametrize("name", INTO)
def test_results_in_memory_of_the_caller(name):
    torch.sidra.set_matmul_mode("digital")
    here = torch.randn(3, 6, 8)
    there, dtype = here.to("sidra"), torch.long if name[:3] == "arg" or "places" in name else torch.bool if name in ("any", "all", "gt") else torch.float
    expected = INTO[name](here, torch.empty(0, dtype=dtype)).clone()

    def check(out):
        assert INTO[name](there, out) is out
        torch.testing.assert_close(out.cpu(), expected, rtol=1e-5, atol=1e-5)

    # Parts of a larger tensor, of which the rest stays, and other orders keep their strides.
    space = torch.zeros(*expected.shape, 3, dtype=dtype, device="sidra")
    reverse = torch.zeros(expected.shape[::-1], dtype=dtype, device="sidra").permute(list(range(expected.dim()))[::-1])
    for out in (space[..., 1], reverse):
        strides = out.stride()
        check(out)
        assert out.stride() == strides
    assert not space[..., ::2].any()
    # What has another shape gets the right one.
    for shape in ((0,), (1,) * (expected.dim() + 1), (2,) * expected.dim(), (expected.numel() + 5,)):
        check(torch.zeros(shape, dtype=dtype, device="sidra"))
    # What the CPU refuses, another type or the same memory for several elements, the device does, too.
    for made in (lambda device: torch.zeros(expected.shape, dtype=torch.int8, device=device),
                 lambda device: torch.zeros((1,) * expected.dim(), dtype=dtype, device=device).expand(expected.shape)):
        try:
            INTO[name](here, made("cpu"))
        except (RuntimeError, TypeError):
            with pytest.raises((RuntimeError, TypeError)):
                INTO[name](there, made("sidra"))


def test_products_keep_the_strides_of_a_result():
    torch.sidra.set_matmul_mode("digital")
    a, b = torch.randn(4, 5), torch.randn(5, 3)
    for write in (lambda x, a, b: torch.mm(a, b, out=x[:, :3]), lambda x, a, b: torch.mm(a, b, out=x[:3].t()), lambda x, a, b: x[:3].t().addmm_(a, b),
                  lambda x, a, b: torch.addmm(x[:, :1], a, b, out=x[:, 1:]), lambda x, a, b: x[None, :3].transpose(1, 2).baddbmm_(a[None], b[None])):
        here = torch.randn(4, 4)
        there = here.to("sidra")
        write(here, a, b)
        write(there, a.to("sidra"), b.to("sidra"))
        torch.testing.assert_close(there.cpu(), here, rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*expanded tensors")
def test_filling_memory_that_several_elements_share():
    mask = torch.tensor([True, False, True])
    for write in (lambda x, mask: x.fill_(2), lambda x, mask: x.zero_(), lambda x, mask: x.masked_fill_(mask, 5)):
        here, there = torch.ones(1, 3), torch.ones(1, 3, device="sidra")
        write(here.expand(2, 3), mask)
        write(there.expand(2, 3), mask.to("sidra"))
        assert torch.equal(there.cpu(), here)


def test_what_attention_refuses():
    query, attention = torch.randn(1, 2, 4, 8, device="sidra"), torch.nn.functional.scaled_dot_product_attention
    for key, value in (((1, 2, 5, 16), (1, 2, 5, 8)), ((1, 2, 5, 4), (1, 2, 5, 8)), ((1, 2, 4, 8), (1, 2, 9, 8)), ((1, 2, 4, 8), (1, 2, 3, 8))):
        with pytest.raises(RuntimeError, match="size|shape"):
            attention(query, torch.randn(key, device="sidra"), torch.randn(value, device="sidra"))


NUMBERS = {
    **{name: getattr(torch, name) for name in ("lt", "le", "gt", "ge", "eq", "ne", *BITS, "add", "sub", "mul", "div")},
    "maximum": lambda t, number: torch.maximum(t, torch.tensor(number)),
    "where": lambda t, number: torch.where((torch.arange(len(t)) % 2 == 0).to(t.device), t, torch.tensor(number)),
    "where-other": lambda t, number: torch.where((torch.arange(len(t)) % 2 == 0).to(t.device), torch.tensor(number), t),
}


@pytest.mark.parametrize("dtype", [*FLOATS, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_another_type(name, dtype):
    """They are rounded, wrapped or refused as on the CPU."""
    numbers = [0.1, 0.3, -1, 300, 128, 0x8000, 0xFFFFFFFF, 2**40, 1e300]
    # Sums of shorter floats are an exception: the CPU rounds the number to these, other devices do not.
    wider = name in ("add", "sub") and dtype in FLOATS[1:]
    if dtype.is_floating_point:
        values = torch.tensor([*numbers[:-1], 0, 1], dtype=torch.double).to(dtype)
    elif dtype is torch.bool:
        values = torch.tensor([True, False])
    else:
        values = torch.tensor([0, 1, 44, torch.iinfo(dtype).min, torch.iinfo(dtype).max], dtype=dtype)
    for number in numbers:
        try:
            expected = NUMBERS[name](values.float(), number).to(dtype) if wider else NUMBERS[name](values, number)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                NUMBERS[name](values.to("sidra"), number)
        else:
            result = NUMBERS[name](values.to("sidra"), number).cpu()
            torch.testing.assert_close(result, expected, equal_nan=True, msg=lambda text: f"{number}: {text}")


def test_arguments_that_are_wrong_beside_a_result_of_the_caller():
    def calls(device):
        x, n = torch.ones(3, device=device), torch.ones(3, dtype=torch.int32, device=device)
        return (lambda: torch.ops.aten.clamp.out(x, out=x), lambda: torch.add(n, n, alpha=0.5, out=n), lambda: torch.sub(n, n, alpha=0.5, out=n),
                lambda: torch.add(x, x, alpha=True, out=x), lambda: n.add_(n, alpha=0.5), lambda: torch.sub(n > 0, n > 0, out=n > 0),
                lambda: torch.lerp(x, x.half(), 0.3, out=x), lambda: torch.nn.functional.gelu(x, approximate="foo"),
                lambda: torch.ops.aten.gelu_backward(x, x, approximate="foo"))

    for here, there in zip(calls("cpu"), calls("sidra"), strict=True):
        for call in (here, there):
            with pytest.raises(RuntimeError, match="At least one of|[Aa]lpha|Subtraction|expected dtype|approximate"):
                call()


@pytest.mark.parametrize("dtype, low, high", [(torch.float16, 0, 1), (torch.bfloat16, 0, 1), (torch.bfloat16, -2, 3), (torch.float32, 1e6, 1e6 + 1)], ids=str)
def test_uniform_numbers_are_below_their_bound(dtype, low, high):
    drawn = on_chip(lambda: torch.empty(100_000, dtype=dtype, device="sidra").uniform_(low, high))
    assert drawn.min() >= low and drawn.max() < high and abs(drawn.double().mean() - (low + high) / 2) < 0.05


def test_a_batch_norm_that_fails_leaves_the_running_statistics():
    for device, size in (("cpu", 4), ("sidra:1", 4), ("sidra:0", 5)):
        mean, variance, weight = (torch.ones(4, device="sidra:0") for _ in range(3))
        with pytest.raises(RuntimeError, match="same device|size|shape|elements"):
            torch.native_batch_norm(torch.randn(3, size, device=device), weight, None, mean, variance, True, 0.1, 1e-5)
        assert mean.cpu().eq(1).all() and variance.cpu().eq(1).all()


@pytest.mark.parametrize("inputs, outputs", [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("shape", [(), (2,), (2, 4), (0,)], ids=str)
def test_layers_without_inputs_or_outputs(inputs, outputs, shape):
    arguments = [torch.randn(*shape, inputs), torch.randn(outputs, inputs), torch.randn(outputs)]

    def run(device):
        leaves = [t.to(device).requires_grad_() for t in arguments]
        with torch.enable_grad():
            result = torch.nn.functional.linear(*leaves)
            return [each.detach().cpu() for each in (result, *torch.autograd.grad(result.square().sum(), leaves))]

    for one, other in zip(run("sidra"), run("cpu"), strict=True):
        torch.testing.assert_close(one, other)


def test_where_of_two_numbers():
    mask = torch.rand(4, 5) > 0.5
    for one, other in ((1.0, 2.0), (1, 2), (1, 2.5), (True, False), (torch.tensor(1.0, dtype=torch.float64), 2.0)):
        numbers = [torch.as_tensor(one), torch.as_tensor(other)]
        result, expected = torch.where(mask.to("sidra"), *numbers), torch.where(mask, *numbers)
        assert result.device.type == "sidra" and result.dtype == expected.dtype and torch.equal(result.cpu(), expected)


def test_products_of_types_that_the_chip_lacks():
    torch.sidra.set_matmul_mode("digital")
    for dtype, beta in ((torch.complex64, 1j), (torch.float64, 1e300), (torch.int64, 2**40)):
        a, b, c = (torch.ones(2, 3, 3, dtype=dtype) for _ in range(3))
        for call in (lambda c, a, b: torch.baddbmm(c, a, b, beta=beta), lambda c, a, b: torch.addmm(c[0], a[0], b[0], beta=beta)):
            assert torch.equal(call(c.to("sidra"), a.to("sidra"), b.to("sidra")).cpu(), call(c, a, b))
