#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An independent implementation of ISPP in NumPy, with which ispp_test.cpp compares the chip model.

ispp_reference.py          simulates the chip model's cell and its three modes; prints the figures used by ispp_test.cpp
ispp_reference.py --loops  compares bare loops (no device, no read noise) with a table of such loops that was computed
                           before this model; exits with 1 if they differ by more than the tolerances below

Written from the description of the model (cells.h, ispp.h), not from its code: double precision, NumPy's own generator
and normal numbers. Needs python3-numpy; takes some seconds. The tests do not run it: they contain its figures.
"""

import argparse
import sys

import numpy as np

CELLS = 1 << 20
TRIES = 15


# ---- The cell: defaults of CellParameters ----

G_MAX, G_MIN = 2e-6, 0.01  # S; of G_max
SET_VOLTS, SET_NS, SET_STEP = 1.5, 10.0, 0.03
RESET_VOLTS, RESET_NS, RESET_STEP, RESET_SLOPE = 0.5, 5.0, 2.0, 0.05
SET_SLOPE = 0.25
SATURATION, CYCLE_SPREAD, DEVICE_SPREAD = 0.5, 0.4, 0.1


def set_dose(volts, ns):
    return SET_STEP * ns / SET_NS * np.exp((volts - SET_VOLTS) / SET_SLOPE)


def reset_dose(volts, ns):
    return RESET_STEP * ns / RESET_NS * np.exp((volts - RESET_VOLTS) / RESET_SLOPE)


def pulse(g, up, dose):
    """Effect of a pulse on cells at g: soft bounds, and never beyond G_min and G_max."""
    rise = np.minimum(g + dose * (1 - SATURATION * g), 1.0)
    fall = np.maximum(g - dose * (1 - SATURATION * (1 - g)), G_MIN)
    return np.where(up, rise, fall)


# ---- The loop: defaults of IsppParameters ----

TOLERANCE, GUARD = 0.01, {"published": 0.0, "back": 0.004, "sized": 0.004}
FINE_VOLTS, BACK_STEP, GAIN, WIDTH_STEP, WIDEST = 0.3, 0.03, 0.9, 0.1, 200.0
READ_SIGMA = 0.005 / np.sqrt(4)
ADC_TOP, ADC_STEP = 255, 1.1 / 255
READ_NS, READ_PJ = 4 * 15.0, 4 * 0.1


def ladder():
    volts, widths, ns = [], [], int(SET_NS)
    for rung in range(TRIES):
        volts.append(SET_VOLTS + 0.05 * rung)
        widths.append(ns)
        ns = ns * 12 // 10
    return np.array(volts), np.array(widths, float)


def program(mode, rng):
    level = rng.integers(0, 256, CELLS)
    target = G_MIN + (1 - G_MIN) * level / 255
    factor = np.exp(DEVICE_SPREAD * rng.standard_normal(CELLS))
    g = np.full(CELLS, G_MIN)
    tries = np.zeros(CELLS, int)
    rung = np.zeros(CELLS, int)
    good = np.zeros(CELLS, bool)
    energy, time = np.zeros(CELLS), np.zeros(CELLS)  # pJ, ns
    volts, widths = ladder()
    doses = set_dose(volts, widths)
    work = np.arange(CELLS)
    for count in range(TRIES + 1):
        value = g[work] + READ_SIGMA * rng.standard_normal(len(work))
        value = np.clip(np.rint(value / ADC_STEP), 0, ADC_TOP) * ADC_STEP
        energy[work] += READ_PJ
        time[work] += READ_NS
        error = target[work] - value
        arrived = np.abs(error) < TOLERANCE - GUARD[mode]
        good[work[arrived]] = True
        work, error, value = work[~arrived], error[~arrived], value[~arrived]
        if count == TRIES or len(work) == 0:
            break
        up = error > 0
        if mode == "sized":
            seen = np.clip(value, 0, 1)
            window = 1 - SATURATION * np.where(up, seen, 1 - seen)
            per_ns = np.where(up, set_dose(SET_VOLTS, 1), reset_dose(FINE_VOLTS, 1))
            ns = GAIN * np.abs(error) / (window * per_ns)
            ns = np.maximum(np.rint(np.minimum(ns, WIDEST) / WIDTH_STEP), 1) * WIDTH_STEP
            dose, voltage = ns * per_ns, np.where(up, SET_VOLTS, FINE_VOLTS)
        else:
            step = rung[work]
            back_volts = RESET_VOLTS if mode == "published" else FINE_VOLTS
            back_ns = RESET_NS if mode == "published" else BACK_STEP / reset_dose(FINE_VOLTS, 1)
            dose = np.where(up, doses[step], reset_dose(back_volts, back_ns))
            voltage, ns = np.where(up, volts[step], back_volts), np.where(up, widths[step], back_ns)
            rung[work] = np.where(up, step + 1, 0)
        before = g[work]
        after = pulse(before, up, dose * factor[work] * np.exp(CYCLE_SPREAD * rng.standard_normal(len(work))))
        energy[work] += voltage**2 * ns * 1e-9 * G_MAX * (before + after) / 2 * 1e12
        time[work] += ns
        g[work] = after
        tries[work] += 1
    off = g - target
    print(f"{mode}, {CELLS} cells:")
    print(f"  tries {tries.mean():.5f} sd {tries.std():.4f}")
    print(f"  converged {good.mean():.6f}, and within the tolerance {(good & (np.abs(off) < TOLERANCE)).mean():.6f}")
    print(f"  error {np.sqrt((off[good] ** 2).mean()):.6f} of G_max")
    print(f"  energy {energy.mean():.5f} sd {energy.std():.4f} pJ; time {time.mean():.3f} sd {time.std():.2f} ns")
    print("  converged after " + ", ".join(f"{(good & (tries == n)).mean():.6f}" for n in range(TRIES + 1)))


# ---- Bare loops ----

# Mean pulses and share within 15, as they were first worked out: steps of log-normal spread 40 %, uniform targets. That
# table says "+/-", and its figures are those of windows half as wide, so it gives full widths; the ends of its targets
# and its steps ("tuned per case") it does not give. Those here are what comes closest in both figures of a case.
PUBLISHED = {
    "2.5 % of G_max": (0.025, False, (20, 0.57), (7.1, 0.96), (2.8, 1.0)),
    "1 % of G_max": (0.01, False, (53, 0.27), (13, 0.66), (3.4, 1.0)),
    "1 % of target": (0.01, True, (98, 0.11), (21, 0.31), (4.0, 1.0)),
    "half a level": (0.5 / 255, False, (227, 0.07), (34, 0.18), (4.5, 1.0)),
}
TARGETS = (0.05, 0.95)
STEPS = {  # restart; step back, whose pulse back is a fifth of a step
    "2.5 % of G_max": (0.06, 0.12),
    "1 % of G_max": (0.05, 0.05),
    "1 % of target": (0.03, 0.04),
    "half a level": (0.025, 0.04),
}
# How close: pulses to 25 % of the figure, those of the sized loop to 0.2; shares to 0.08.
CAP = 1000


def bare(kind, window, relative, step, rng, cells=20000):
    target = rng.uniform(*TARGETS, cells)
    half = window / 2 * (target if relative else np.ones(cells))
    x, pulses = np.zeros(cells), np.zeros(cells, int)
    work = np.flatnonzero(np.abs(x - target) > half)
    for _ in range(CAP):
        if len(work) == 0:
            break
        error = target[work] - x[work]
        spread = np.exp(0.4 * rng.standard_normal(len(work)))
        if kind == "sized":
            move = x[work] + 0.9 * error * spread
        else:
            back = 0 if kind == "restart" else x[work] - 0.2 * step * spread
            move = np.where(error < 0, back, x[work] + step * spread)
        x[work] = np.maximum(move, 0)
        pulses[work] += 1
        work = work[np.abs(x[work] - target[work]) > half[work]]
    return pulses.mean(), (pulses <= 15).mean()


def loops(rng):
    wrong = 0
    for name, (window, relative, *expected) in PUBLISHED.items():
        for kind, (mean, share) in zip(("restart", "back", "sized"), expected):
            step = {"restart": STEPS[name][0], "back": STEPS[name][1], "sized": 0}[kind]
            found_mean, found_share = bare(kind, window, relative, step, rng)
            allowed = 0.2 if kind == "sized" else mean * 0.25
            good = abs(found_mean - mean) <= allowed and abs(found_share - share) <= 0.08
            wrong += not good
            found = f"{found_mean:7.2f} ({mean}), {found_share:.3f} ({share})"
            print(f"{name:15} {kind:8} {found}{'' if good else '  DIFFERS'}")
    return wrong


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", action="store_true")
    arguments = parser.parse_args()
    generator = np.random.default_rng(2024)
    if arguments.loops:
        sys.exit(1 if loops(generator) else 0)
    for each in ("published", "back", "sized"):
        program(each, generator)
