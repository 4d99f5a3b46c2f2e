# SPDX-License-Identifier: MIT
"""Layers with int8 weights: the chip against the CPU's kernels bit by bit, and those against plain arithmetic."""
import copy
import gc
import warnings

import pytest
import torch

LINEAR, CONV = torch.ops.sidra.quantised_linear, torch.ops.sidra.quantised_conv2d


def codes(*size):
    return torch.randint(-127, 128, size, dtype=torch.int8)


def on_crossbars(call):
    """The result of the third call, which computes on crossbars."""
    call(), call()
    torch.sidra.reset_fallbacks()
    result = call()
    assert not torch.sidra.fallbacks(), torch.sidra.fallbacks()
    assert torch.sidra.residency()
    return result.cpu()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rows, inputs, outputs", [(1, 1, 1), (7, 30, 10), (33, 300, 270), (3, 700, 5)])
def test_linear_gives_the_same_bits(rows, inputs, outputs, bias):
    arguments = [torch.randn(2, rows, inputs), codes(outputs, inputs), torch.rand(outputs) / 100, torch.randn(outputs) if bias else None]
    there = [argument if argument is None else argument.to("sidra") for argument in arguments]
    expected = LINEAR(*arguments)
    assert torch.equal(on_crossbars(lambda: LINEAR(*there)), expected)
    assert torch.equal(LINEAR(there[0].clone(), there[1].clone(), *there[2:]).cpu(), expected), "where nothing is programmed"
    exact = arguments[0].double() @ (arguments[1].double() * arguments[2].double()[:, None]).t() + (arguments[3] if bias else 0)
    assert torch.nn.functional.cosine_similarity(expected.double().flatten(), exact.flatten(), 0) > 0.999


def test_rows_without_a_range():
    weight, scale = codes(6, 40), torch.rand(6)
    rows = torch.stack([torch.zeros(40), torch.full((40,), 3.0), torch.full((40,), -2.0), torch.full((40,), 1e-38)])
    there = weight.to("sidra")
    assert torch.equal(on_crossbars(lambda: LINEAR(rows.to("sidra"), there, scale.to("sidra"))), LINEAR(rows, weight, scale))


def test_rows_that_are_not_finite():
    weight, scale, rows = codes(6, 40), torch.rand(6), torch.randn(5, 40)
    rows[0, 3], rows[1, 5], rows[2, 7], rows[3, 0], rows[3, 1] = (float(value) for value in ("nan", "inf", "-inf", "inf", "nan"))
    there = weight.to("sidra")
    result, expected = on_crossbars(lambda: LINEAR(rows.to("sidra"), there, scale.to("sidra"))), LINEAR(rows, weight, scale)
    assert expected[:4].isnan().all() and expected[4].isfinite().all()
    torch.testing.assert_close(result, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("stride, padding, dilation", [(1, 0, 1), (2, 1, 1), ((2, 1), (0, 2), (1, 2))])
def test_convolutions_give_the_same_bits(stride, padding, dilation):
    pair = lambda value: list(value) if isinstance(value, tuple) else [value, value]  # noqa: E731
    arguments = [torch.randn(2, 5, 9, 11), codes(7, 5, 3, 3), torch.rand(7) / 100, torch.randn(7)]
    where = [pair(stride), pair(padding), pair(dilation)]
    there = [argument.to("sidra") for argument in arguments]
    expected = CONV(*arguments, *where)
    assert torch.equal(on_crossbars(lambda: CONV(*there, *where)), expected)
    weight = arguments[1].float() * arguments[2][:, None, None, None]
    exact = torch.nn.functional.conv2d(arguments[0], weight, arguments[3], stride, padding, dilation)
    assert torch.nn.functional.cosine_similarity(expected.flatten(), exact.flatten(), 0) > 0.999


def test_shapes_without_data():
    meta = lambda *size, dtype=torch.float32: torch.empty(size, dtype=dtype, device="meta")  # noqa: E731
    assert LINEAR(meta(4, 3, 8), meta(5, 8, dtype=torch.int8), meta(5)).shape == (4, 3, 5)
    assert CONV(meta(2, 3, 9, 9), meta(4, 3, 3, 3, dtype=torch.int8), meta(4), None, [2, 2], [1, 1]).shape == (2, 4, 5, 5)


@pytest.mark.parametrize("device", ["cpu", "sidra"])
def test_bad_arguments(device):
    make = lambda *size: torch.randn(size, device=device)  # noqa: E731
    weight = codes(5, 8).to(device)
    for arguments, text in [
        ((make(2, 8), make(5, 8), make(5)), "int8"),
        ((make(2, 8).half(), weight, make(5)), "float32"),
        ((make(2, 7), weight, make(5)), "7 elements.*8 columns"),
        ((make(2, 8), weight, make(4)), "one element for each of the 5 outputs"),
        ((make(2, 8), weight, make(5), make(6)), "the bias"),
    ]:
        with pytest.raises(RuntimeError, match=text):
            LINEAR(*arguments)
    with pytest.raises(RuntimeError, match="larger than the padded image"):
        CONV(make(1, 2, 3, 3), codes(4, 2, 5, 5).to(device), make(4))
    with pytest.raises(RuntimeError, match="4 dimensions, and 2 channels"):
        CONV(make(1, 3, 9, 9), codes(4, 2, 5, 5).to(device), make(4))


def test_dynamically_quantised_models():
    model = torch.nn.Sequential(torch.nn.Linear(40, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantised = torch.ao.quantization.quantize_dynamic(copy.deepcopy(model), {torch.nn.Linear}, dtype=torch.qint8)
    value = torch.randn(16, 40)
    with torch.no_grad():
        exact = model(value)
        there = quantised.to("sidra")
        result = on_crossbars(lambda: there(value.to("sidra")))
    assert torch.nn.functional.cosine_similarity(result.flatten(), exact.flatten(), 0) > 0.999


@pytest.mark.parametrize("ask", [torch.sidra.residency, torch.sidra.empty_cache])
def test_weights_of_a_dynamically_quantised_model_that_has_ended_leave_the_device(ask):
    gc.collect()
    ask()
    memory, free = torch.sidra.memory_allocated(), torch.sidra.get_device_properties()["crossbars_free"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(40, 64)), dtype=torch.qint8)
    value = torch.randn(16, 40, device="sidra")
    for _ in range(3):
        model(value)
    assert torch.sidra.get_device_properties()["crossbars_free"] < free
    del model, value
    gc.collect()
    ask()
    torch.sidra.synchronize()
    assert (torch.sidra.memory_allocated(), torch.sidra.get_device_properties()["crossbars_free"]) == (memory, free)
