# SPDX-License-Identifier: MIT
"""What tests of compiled networks compare with."""
import numpy
import torch


def cosine(a, b):
    a, b = numpy.asarray(a, numpy.float64).ravel(), numpy.asarray(b, numpy.float64).ravel()
    return a @ b / numpy.linalg.norm(a) / numpy.linalg.norm(b)


def expected(module, *inputs):
    with torch.no_grad():
        return module(*inputs).numpy()
