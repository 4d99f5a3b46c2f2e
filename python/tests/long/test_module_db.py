# SPDX-License-Identifier: MIT
"""PyTorch's samples of each module of torch.nn, forward and backward, against the CPU."""
import copy

import pytest
import torch
from torch.testing._internal.common_modules import module_db
from torch.utils._pytree import tree_flatten, tree_map

# Modules whose results are not those of the CPU, and why. One that passes must be taken out.
EXPECTED = {}
SAMPLES = 64  # of a module, at most; one of them has 857
MODULES = [(info, training) for info in module_db for training in ((False, True) if info.train_and_eval_differ else (False,))]


def moved(value, device):
    def move(leaf):
        if isinstance(leaf, torch.Tensor):
            return leaf.detach().to(device).requires_grad_(leaf.requires_grad)
        return copy.deepcopy(leaf).to(device) if isinstance(leaf, torch.nn.Module) else leaf

    return tree_map(move, value)


def tensors(value):
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def run(module, args, kwargs):
    """Results, and the gradients of parameters and inputs."""
    torch.manual_seed(5)
    results = tensors(module(*args, **kwargs))
    sums = [result.double().pow(2).sum() for result in results if result.requires_grad]
    if sums:
        sum(sums).backward()
    return results + [leaf.grad for leaf in (*module.parameters(), *tensors((args, kwargs))) if leaf.grad is not None]


def differences(info, training):
    """What differs, a line a sample. Of many samples, some at equal distances."""
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)
    for sample in samples[:: -(-len(samples) // SAMPLES) or 1]:
        torch.manual_seed(4)
        here = info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).train(training)
        inputs = sample.forward_input.args, sample.forward_input.kwargs
        try:
            run(copy.deepcopy(here), *moved(inputs, "cpu"))
            if info.name.startswith("nn.Lazy"):  # makes its parameters at the first call
                here(*inputs[0], **inputs[1])
        except RuntimeError:  # a sample that the CPU refuses
            continue
        there = copy.deepcopy(here).to("sidra")
        want = run(here, *moved(inputs, "cpu"))
        got = run(there, *moved(inputs, "sidra"))
        if len(want) != len(got):
            yield f"{sample.desc}: {len(got)} tensors, not {len(want)}"
        for a, b in zip(want, got, strict=False):
            largest = a.detach().nan_to_num(0, 0, 0).abs().max().item() if a.is_floating_point() and a.numel() else 0
            try:
                torch.testing.assert_close(b.cpu(), a, rtol=1e-4, atol=1e-4 * max(1, largest), equal_nan=True)
            except AssertionError as error:
                yield f"{sample.desc}: {error}"


@pytest.mark.parametrize("info, training", MODULES, ids=[f"{info.name}-{'train' if training else 'eval'}" for info, training in MODULES])
def test_module(info, training):
    with torch.sidra.matmul_mode("digital"):
        found = list(differences(info, training))
    if info.name in EXPECTED:
        assert found, "it passes: take it out of EXPECTED"
    else:
        assert not found, f"{len(found)} samples: {found[0]}"
