# SPDX-License-Identifier: MIT
"""PyTorch's own samples of its operators (op_db, float32) and their gradients: on the chip in digital mode, against the CPU. Used by test_op_db.py and
../bench.py."""
import pathlib

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

SAMPLES, GRADIENTS = 12, 4  # of an operator, at most
FLOAT = torch.float32
EXPECTED_FAILURES = pathlib.Path(__file__).with_suffix(".failures.txt")


def name_of(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def operators():
    """Those with samples in float32, by name."""
    return sorted((op for op in op_db if FLOAT in op.dtypes), key=name_of)


def expected_failures():
    """Names of operators, and why a sample of each fails."""
    lines = [line for line in EXPECTED_FAILURES.read_text().splitlines() if not line.startswith("#")]
    assert lines == sorted(set(lines)), f"{EXPECTED_FAILURES} is not sorted"
    return dict(line.split(": ", 1) for line in lines)


def _moved(value, device):
    return tree_map(lambda each: each.detach().to(device).requires_grad_(each.requires_grad) if isinstance(each, torch.Tensor) else each, value)


def _leaves(value):
    return [each for each in tree_flatten(value)[0] if isinstance(each, torch.Tensor) and each.requires_grad]


def _call(op, sample, device):
    kwargs = {key: torch.device(device) if key == "device" else value for key, value in sample.kwargs.items()}
    torch.manual_seed(1)
    return op(_moved(sample.input, device), *_moved(sample.args, device), **_moved(kwargs, device))


def _gradients(op, sample, device):
    """Of the sum of all that the result has, with a weight for each element so that no gradient is a constant."""
    inputs = _moved((sample.input, sample.args, sample.kwargs), device)
    torch.manual_seed(1)
    results = _leaves(op(inputs[0], *inputs[1], **inputs[2]))
    weights = [torch.linspace(0.5, 1.5, max(1, each.numel())).to(each.dtype)[: each.numel()].reshape(each.shape).to(each.device) for each in results]
    leaves = _leaves(inputs)
    return torch.autograd.grad(results, leaves, weights, allow_unused=True) if results and leaves else None


def _check(op, result, expected):
    if "empty" in op.name:  # memory that nobody has written
        assert result.shape == expected.shape and result.dtype == expected.dtype, "another shape or type"
    else:
        torch.testing.assert_close(_moved(result, "cpu"), expected, rtol=1e-3, atol=1e-4, equal_nan=True, check_stride=False)


def run(op):
    """For each sample that passes on the CPU: None, or why it failed on the chip."""
    outcomes = []
    for _, sample in zip(range(SAMPLES), op.sample_inputs("cpu", FLOAT, requires_grad=False), strict=False):
        try:
            expected = _call(op, sample, "cpu")
        except Exception:  # noqa: BLE001 - it does not pass on the CPU
            continue
        try:
            _check(op, _call(op, sample, "sidra"), expected)
            outcomes.append(None)
        except Exception as error:  # noqa: BLE001 - a failure, whatever it is
            outcomes.append(f"{type(error).__name__}: {error}".splitlines()[0])
    return outcomes


def run_gradients(op):
    """As run(), for the gradients of all inputs."""
    outcomes = []
    for _, sample in zip(range(GRADIENTS), op.sample_inputs("cpu", FLOAT, requires_grad=True), strict=False):
        with torch.enable_grad():
            try:
                expected = _gradients(op, sample, "cpu")
            except Exception:  # noqa: BLE001 - it does not pass on the CPU
                continue
            if expected is None:
                continue
            try:
                for one, other in zip(_gradients(op, sample, "sidra"), expected, strict=True):
                    assert (one is None) == (other is None), "a gradient of one of them only"
                    if one is not None:
                        torch.testing.assert_close(one.cpu(), other, rtol=2e-3, atol=1e-3, equal_nan=True, check_stride=False)
                outcomes.append(None)
            except Exception as error:  # noqa: BLE001 - a failure, whatever it is
                outcomes.append(f"{type(error).__name__}: {error}".splitlines()[0])
    return outcomes
