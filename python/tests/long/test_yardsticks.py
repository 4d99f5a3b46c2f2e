# SPDX-License-Identifier: MIT
"""Trained networks (yardsticks.py) on the chip: as often right as in float, and each value that they compute near that of onnxruntime.

How near a value has to be depends on the products before it. Codes of 8 bits over the range of an input whose peak is about five times its mean
square leave a signal-to-noise ratio of 6.02 * 8 + 4.77 - 20 * log10(5) = 39 dB, and those of weights about as much, so one product has 36 dB. Errors
of n products one behind the other are independent, and add up to n times the noise of one: 36 - 10 * log10(n). MARGIN is for activations and
differences that keep less of the signal than of the noise. Values with no product before them are computed in f32."""
import math

import numpy
import onnx
import onnxruntime
import pytest
import sidra
import torch
import yardsticks

ONE_PRODUCT, MARGIN, FLOATS = 36, 8, 100  # dB
BATCH = 40  # a divisor of the number of digits that judge
PRODUCTS = {"MatMul", "Gemm", "Conv"}


@pytest.fixture(scope="module", params=yardsticks.NETWORKS)
def network(request):
    return yardsticks.trained(request.param)


@pytest.fixture
def chip():
    with sidra.Chip(sidra.Device(level="fast", private=True)) as chip:
        yield chip


def batches(images):
    return [batch for batch in images.split(BATCH) if len(batch) == BATCH]


def signal_to_noise(got, want):
    noise = ((got.astype(numpy.float64) - want) ** 2).sum()
    return math.inf if noise == 0 else 10 * math.log10((want.astype(numpy.float64) ** 2).sum() / noise)


def with_all_values(network):
    """The network as a model whose outputs are all float values that depend on its input, and for each the products before it, one behind the other."""
    exported = torch.export.export(network, (torch.zeros(BATCH, 64),))
    model = onnx.shape_inference.infer_shapes(torch.onnx.export(exported, dynamo=True, verbose=False).model_proto)
    types = {value.name: value for value in [*model.graph.value_info, *model.graph.output]}
    products = {model.graph.input[0].name: 0}
    for node in model.graph.node:
        before = [products[name] for name in node.input if name in products]
        if before:
            products.update(dict.fromkeys(node.output, max(before) + (node.op_type in PRODUCTS)))
    values = [name for node in model.graph.node for name in node.output
              if name in products and name in types and types[name].type.tensor_type.elem_type == onnx.TensorProto.FLOAT]
    del model.graph.output[:]
    model.graph.output.extend(types[name] for name in values)
    onnx.checker.check_model(model)
    return model, {name: products[name] for name in values}


def test_as_often_right_as_in_float(network):
    """Of all digits, also those for training, because half a percent of those that judge is one or two."""
    (images, labels), tests = yardsticks.digits()
    rows = len(images) // BATCH * BATCH
    judges = torch.cat((images[:rows], tests[0])), torch.cat((labels[:rows], tests[1]))
    compiled = sidra.compile(network, calib_data=batches(images), test_data=list(zip(*(part.split(BATCH) for part in judges), strict=True)))
    assert yardsticks.accuracy(network, *tests) > 0.94
    assert compiled.simulated_accuracy >= yardsticks.accuracy(network, *judges) - 0.005


def test_each_value_is_that_of_onnxruntime(network, chip):
    (images, _), (tests, _) = yardsticks.digits()
    model, products = with_all_values(network)
    assert len(products) >= 5 and max(products.values()) >= 3
    model_on_chip = chip.deploy(sidra.compile(model, calib_data=batches(images)))
    wanted = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {model.graph.input[0].name: tests[:BATCH].numpy()})
    too_far = []
    for (name, before), got, want in zip(products.items(), model_on_chip.infer(tests[:BATCH]), wanted, strict=True):
        needed = FLOATS if before == 0 else ONE_PRODUCT - 10 * math.log10(before) - MARGIN
        ratio = signal_to_noise(got, want)
        if not ratio >= needed:
            too_far.append(f"{name}, behind {before} products: {ratio:.1f} dB, not {needed:.1f} dB")
    assert not too_far, "\n".join(too_far)
