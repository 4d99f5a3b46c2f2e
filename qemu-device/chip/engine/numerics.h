// SPDX-License-Identifier: MIT
// The numerics of the compute engine: the definition of each float operation, step by step. Every engine follows it, so
// all return the same bits. This file contains text and constants, but no code: engines are implemented independently,
// so that comparing them is a test.
//
// Ground rules:
//   IEEE-754 binary32, round to nearest even, gradual underflow; each operation is rounded by itself. fma(a, b, c) is
//     one operation: a * b + c, rounded once. Engines expect the thread's default floating-point environment (no
//     flush-to-zero), which the chip sets (float_environment.h).
//   A NaN in a register has no defined bits. Where bits leave registers (stores, BITS) a NaN is 0x7fc00000.
//   Horner over c[0..n] in x: p = c[n]; p = fma(p, x, c[i]) for i = n - 1 down to 0.
//   rne(x): nearest integer, ties to even, saturated to s32; NaN gives 0.
//   rne(x) + z: the exact sum, saturated to s32, then to the output type.
//   1 / in_scale, in_scale * out_factor, gain * scale[n] are rounded once, before x is multiplied with them.
//
// Exponential: exp(x) = expx(x, 0). expx(h, l) is the exponential of h + l for a small l:
//   c = h < kExpMin ? kExpMin : h > kExpMax ? kExpMax : h
//   t = fma(c, kLog2e, kRound); n = t - kRound; k = bits(t) - bits(kRound), the integer n
//   r = fma(n, -kLn2Lo, fma(n, -kLn2Hi, c)) + l
//   p = fma(r * r, q, r) + 1, q = Horner over kExp in r
//   k1 = k >> 1, towards minus infinity; k2 = k - k1; m = p * 2^k1; s = 2^k2; the result is m * s
//
// log(x): NaN if x < 0 or NaN; -inf if x is 0; +inf if x is
//   x < 2^-126: y = x * 2^23, e = -23; else y = x, e = 0
//   k = (bits(y) - bits(kSqrtHalf)) >> 23, towards minus infinity; n = k + e; f = y * 2^-k - 1, which is exact
//   u = f * f; p = Horner over kLog in f
//   fma(n, kLn2Hi, fma(n, kLn2Lo, fma(u * f, p, fma(-0.5, u, f))))
//
// erf(x): a = |x|, with the sign of x:
//   a < kErfSmall: fma(a, p, a), p = Horner over kErf in a * a
//   else: 1 - exp(-q), q = Horner over kErfLarge in min(a, kErfMax)
//
// tanh(x): a = |x|, u = a * a, with the sign of x:
//   a < kTanhSmall: fma(a * u, p, a), p = Horner over kTanh in u
//   else: 1 - 2 / (exp(2 * min(a, kTanhMax)) + 1)
//
// sigmoid(x): e = exp(-|x|)
//   (x >= 0 ? 1 : e) / (1 + e)
//
// silu(x):
//   x >= 0: x / (1 + exp(-x))
//   x < 0: y = max(x, kExpMin); m, s of exp(y); e = m * s; ((y * m) / (1 + e)) * s
//
// gelu(x): y = min(|x|, kGeluMax); yh = y without its low 12 bits
//   r = Horner over kGelu in (y - 3) / (y + 3), which is Phi(-y) exp(y^2 / 2)
//   m, s of expx(-0.5 * (yh * yh), -0.5 * ((y - yh) * (y + yh)))
//   x >= 0: x * fma(-(r * m), s, 1)
//   x < 0: (((-y) * r) * m) * s
//
// gelu_tanh(x) = x sigmoid(2u): y = min(|x|, kGeluTanhMax)
//   w = y * fma(kGeluTanh3, y * y, kGeluTanh1); m, s of exp(-w); e = m * s
//   x >= 0: x / (1 + e)
//   x < 0: (((-y) * m) / (1 + e)) * s
//
// At minus infinity silu, gelu and gelu_tanh give -0, their limit.
//
// sin(x), cos(x): NaN if |x| > kSinMax or NaN
//   t = fma(x, k2OverPi, kRound); n = t - kRound; k = bits(t) - bits(kRound)
//   r = fma(n, -kHalfPi[2], fma(n, -kHalfPi[1], fma(n, -kHalfPi[0], x))); u = r * r
//   s = fma(r * u, Horner over kSin in u, r); c = fma(u * u, Horner over kCos in u, fma(-0.5, u, 1))
//   sin: x is 0 ? x : k odd ? c : s, negated if k & 2; cos: k odd ? s : c, negated if (k + 1) & 2
//
// Sums along a row: 32 partial sums from +0; element i goes into partial i % 32,
//   in ascending order; then partial[j] += partial[j + 16] for j < 16, then + 8, + 4, + 2, + 1.
//
// MAX and MIN (two operands): NaN if either is; +0 is greater than -0.
//
// Largest error found in 6 million arguments against long double, in units in the last place of the exact result; in
// brackets the bound that tests/vector asserts:
//   exp 1.03 (1.1), log 1.19 (1.3), erf 1.17 (1.3), tanh 1.24 (1.5), sigmoid 2.13 (2.5), silu 2.94 (3.5)
//   sin, cos 1.54 for 0.1 <= |x| <= 100 (1.7), 2.32 up to kSinMax (2.5)
//   gelu 4.7 for |x| <= 4 (6), 7.0 beyond (10)
//   gelu_tanh 2.74 for |x| <= 1 (3.5), 181 beyond (240): for large negative x, where the result vanishes, the
//     rounding of 2u counts in full
#ifndef SIDRA_CHIP_ENGINE_NUMERICS_H
#define SIDRA_CHIP_ENGINE_NUMERICS_H

#include <cstdint>

namespace sidra::engine::numerics {

constexpr uint32_t kNan = 0x7fc00000u;
constexpr int kPartials = 32;

constexpr float kExpMin = -126.0f;  // exp and x exp(x) are zero from here on
constexpr float kExpMax = 89.0f;    // exp is infinite
constexpr float kLog2e = 0x1.715476p+0f;
constexpr float kRound = 0x1.8p+23f;  // adding and subtracting it rounds to an integer
constexpr float kLn2Hi = 0x1.62e43p-1f;
constexpr float kLn2Lo = -0x1.05c61p-29f;
// (e^r - 1 - r) / r^2 on |r| < 0.405, minimax for the relative error of e^r
constexpr float kExp[5] = {0x1.fffff4p-2f, 0x1.5553eap-3f, 0x1.555c08p-5f, 0x1.12a5e6p-7f, 0x1.6971e4p-10f};

constexpr float kSqrtHalf = 0x1.6a09e6p-1f;
// (log(1 + f) - f + f^2 / 2) / f^3 on sqrt(1/2) - 1 <= f <= sqrt(2) - 1, minimax for the relative error of the
// logarithm
constexpr float kLog[9] = {0x1.555548p-2f,  -0x1.000006p-2f, 0x1.99a4b6p-3f, -0x1.555c4cp-3f, 0x1.23376ap-3f,
                           -0x1.fc2218p-4f, 0x1.e6f066p-4f,  -0x1.de3bbp-4f, 0x1.145736p-4f};

constexpr float kErfSmall = 0.921875f;
constexpr float kErfMax = 4.0f;  // erf rounds to 1
// erf(a) / a - 1 in a^2, minimax
constexpr float kErf[6] = {0x1.06eba6p-3f,  -0x1.8126e8p-2f, 0x1.ce1ab4p-4f,
                           -0x1.b68e5ep-6f, 0x1.4749d6p-8f,  -0x1.3a47fap-11f};
// -log(erfc(a)) on kErfSmall..kErfMax, minimax for the relative error of erf
constexpr float kErfLarge[8] = {-0x1.6f6386p-13f, 0x1.21280cp+0f, 0x1.444568p-1f,   0x1.bb8984p-4f,
                                -0x1.9b9d06p-6f,  0x1.1170dep-8f, -0x1.c7d9f4p-12f, 0x1.624f44p-16f};

constexpr float kSinMax = 0x1p22f;  // beyond, n would not be exact
constexpr float k2OverPi = 0x1.45f306p-1f;
constexpr float kHalfPi[3] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};  // their sum is pi / 2
// (sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 in r^2 on |r| <= pi / 4, minimax for the relative error
constexpr float kSin[4] = {-0x1.555556p-3f, 0x1.111108p-7f, -0x1.a00f8p-13f, 0x1.6cd1f2p-19f};
constexpr float kCos[3] = {0x1.55554ap-5f, -0x1.6c0c34p-10f, 0x1.99eb9cp-16f};

constexpr float kTanhSmall = 0.625f;
constexpr float kTanhMax = 10.0f;  // tanh rounds to 1
// (tanh x - x) / x^3 in x^2
constexpr float kTanh[5] = {-0x1.555534p-2f, 0x1.110768p-3f, -0x1.b84446p-5f, 0x1.5256c6p-6f, -0x1.76abdp-8f};

constexpr float kGeluMax = 14.5f;  // 14.5 Phi(-14.5) rounds to zero
// Phi(-y) exp(y^2 / 2) in (y - 3) / (y + 3) on 0 <= y <= 14.5, minimax for the relative error
constexpr float kGelu[10] = {0x1.f1b89cp-4f, -0x1.a6b66ap-3f,  0x1.f8bad2p-4f,   -0x1.7a943cp-5f, 0x1.91dcecp-8f,
                             0x1.7caf12p-9f, -0x1.01c35ap-10f, -0x1.637b14p-12f, 0x1.e266ecp-14f, 0x1.bdf464p-15f};

constexpr float kGeluTanhMax = 11.0f;         // 11 sigmoid(-112) rounds to zero
constexpr float kGeluTanh1 = 0x1.988454p+0f;  // 2 sqrt(2 / pi)
constexpr float kGeluTanh3 = 0x1.2444f2p-4f;  // 0.044715 times that

}  // namespace sidra::engine::numerics

#endif
