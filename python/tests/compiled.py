# SPDX-License-Identifier: MIT
"""What tests of compiled networks compare with."""
import math

import numpy
import torch


def cosine(a, b):
    a, b = numpy.asarray(a, numpy.float64).ravel(), numpy.asarray(b, numpy.float64).ravel()
    return a @ b / numpy.linalg.norm(a) / numpy.linalg.norm(b)


def expected(module, *inputs):
    with torch.no_grad():
        return module(*inputs).numpy()


def angles():
    """Arguments of atan2(): each pair of numbers of all kinds."""
    numbers = torch.tensor([0.0, -0.0, 1.0, -1.0, 3.0, -0.2, 1e30, -1e-30, math.inf, -math.inf, math.nan])
    y, x = torch.meshgrid(numbers, numbers, indexing="ij")
    return y.contiguous(), x.contiguous()


def assert_same_angles(got, want):
    torch.testing.assert_close(got, want, equal_nan=True)
    assert torch.equal(got.signbit()[~want.isnan()], want.signbit()[~want.isnan()])
