# SPDX-License-Identifier: MIT
"""The chip's float arithmetic in NumPy, bit by bit: written from docs/device.md, "Vector programs", and from
qemu-device/chip/engine/numerics.h, whose steps and constants it repeats."""
import numpy as np

F32 = np.float32
PARTIALS = 32


def hexadecimal(*texts):
    return [F32(float.fromhex(text)) for text in texts]


def fma(a, b, c):
    """a * b + c of f32, rounded once. The product is exact in f64. The sum is rounded to odd there, from where
    rounding to f32 gives what one rounding would: f64 has more than two bits more."""
    with np.errstate(invalid="ignore", over="ignore"):
        product = np.multiply(a, b, dtype=np.float64)
        total = np.asarray(product + c)
        part = total - product
        error = (product - (total - part)) + (c - part)  # NaN beyond the range
        # Where the total is larger in magnitude than the exact sum.
        up = ((error < 0) & (total > 0)) | ((error > 0) & (total < 0))
        inexact = (error < 0) | (error > 0)
        odd = (total.view(np.int64) - up) | inexact
        return odd.view(np.float64).astype(F32)


def horner(coefficients, x):
    p = np.broadcast_to(coefficients[-1], x.shape)
    for c in coefficients[-2::-1]:
        p = fma(p, x, c)
    return p


EXP_MIN, EXP_MAX, ROUND = F32(-126), F32(89), F32(1.5 * 2**23)
LOG2E, LN2_HI, LN2_LO = hexadecimal("0x1.715476p+0", "0x1.62e43p-1", "-0x1.05c61p-29")
EXP = hexadecimal("0x1.fffff4p-2", "0x1.5553eap-3", "0x1.555c08p-5", "0x1.12a5e6p-7", "0x1.6971e4p-10")


def exp_parts(high, low):
    """m and s: their product is the exponential of high + low."""
    c = np.where(high < EXP_MIN, EXP_MIN, np.where(high > EXP_MAX, EXP_MAX, high))
    t = fma(c, LOG2E, ROUND)
    n = t - ROUND
    k = n.astype(np.int32)
    r = fma(n, -LN2_LO, fma(n, -LN2_HI, c)) + low
    p = fma(r * r, horner(EXP, r), r) + F32(1)
    half = k >> 1
    return p * np.ldexp(F32(1), half), np.ldexp(F32(1), k - half)


def exp(x):
    m, s = exp_parts(x, F32(0))
    with np.errstate(over="ignore", under="ignore"):
        return m * s


GELU_MAX = F32(14.5)
GELU = hexadecimal(
    "0x1.f1b89cp-4", "-0x1.a6b66ap-3", "0x1.f8bad2p-4", "-0x1.7a943cp-5", "0x1.91dcecp-8",
    "0x1.7caf12p-9", "-0x1.01c35ap-10", "-0x1.637b14p-12", "0x1.e266ecp-14", "0x1.bdf464p-15",
)  # fmt: skip


def gelu(x):
    with np.errstate(under="ignore"):
        y = np.minimum(np.abs(x), GELU_MAX)
        high = (y.view(np.uint32) & np.uint32(0xFFFFF000)).view(F32)
        r = horner(GELU, (y - F32(3)) / (y + F32(3)))
        m, s = exp_parts(F32(-0.5) * (high * high), F32(-0.5) * ((y - high) * (y + high)))
        return np.where(x >= 0, x * fma(-(r * m), s, F32(1)), ((-y * r) * m) * s)


def maximum(a, b):
    return np.where(a == b, a + b, np.maximum(a, b))  # of zeros the positive one


def minimum(a, b):
    return -maximum(-a, -b)


def fold(partials):
    """The sum of 32 partial sums."""
    while partials.shape[-1] > 1:
        half = partials.shape[-1] // 2
        partials = partials[..., :half] + partials[..., half:]
    return partials


def reduce_sum(a):
    partials = np.zeros((*a.shape[:-1], PARTIALS), F32)
    for first in range(0, a.shape[-1], PARTIALS):
        part = a[..., first : first + PARTIALS]
        partials[..., : part.shape[-1]] += part
    return fold(partials)


def reduce_dot(a, b):
    partials = np.zeros((*a.shape[:-1], PARTIALS), F32)
    for first in range(0, a.shape[-1], PARTIALS):
        last = min(first + PARTIALS, a.shape[-1])
        partials[..., : last - first] = fma(a[..., first:last], b[..., first:last], partials[..., : last - first])
    return fold(partials)


def matmul(a, b):
    """The products of a MATMUL with f32 factors: fused multiply-adds in ascending order of k."""
    total = np.zeros((*a.shape[:-1], b.shape[-1]), F32)
    for k in range(a.shape[-1]):
        total = fma(a[..., k, None], b[..., k, None, :], total)
    return total


def to_s32(x):
    """Nearest integer, ties to even, saturated; NaN gives 0."""
    return np.clip(np.nan_to_num(np.rint(x.astype(np.float64)), nan=0.0), -(2**31), 2**31 - 1).astype(np.int32)
