#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws docs/ispp.svg: the number of pulses that cells need in each mode of ISPP, compared with published figures.

ispp-plot.py           writes the file
ispp-plot.py --check   exits with 1 if the file is not up to date

The figures come from tests/physics/ispp_test.cpp, which compares the chip model with them (they were computed by a NumPy loop,
tests/physics/ispp_reference.py).
"""

import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
FIGURES = TOP / "tests/physics/ispp_test.cpp"
PLOT = TOP / "docs/ispp.svg"
NAMES = {"kAsPublished": ("as published", "#c23b22"), "kStepBack": ("step-back", "#c28a00"), "kErrorSized": ("error-sized", "#1f6fb2")}

# Published: "5 to 7 pulses on average" for Y1; for the ReRAM of NeuRRAM (Wan et al., Nature 608 (2022)): 8.52 pulses on average, 99 % of
# cells, for +/-2.5 % of G_max.
PUBLIC_LOW, PUBLIC_HIGH = 5, 7
NEURRAM = (8.52, 0.99)


def modes():
    """(mode, mean pulses, share that converges, share by number of pulses) of each mode."""
    table = re.search(r"const Reference kReference\[\] = \{(.*?)\n\};", FIGURES.read_text(), re.DOTALL)
    rows = re.findall(r"\{IsppMode::(\w+),([^{}]*)\{([^{}]*)\}\}", table.group(1)) if table else []
    found = []
    for mode, single, after in rows:
        numbers = [float(number) for number in single.replace("\n", " ").split(",") if number.strip()]
        found.append((mode, numbers[0], numbers[2], [float(number) for number in after.split(",")]))
    if [mode for mode, *_ in found] != list(NAMES) or any(len(after) != 16 for *_, after in found):
        sys.exit(f"ispp-plot.py: kReference of {FIGURES} is not what it was; this script reads it: mend both together")
    return found


def text(x, y, what, more=""):
    return f'  <text x="{x:.1f}" y="{y:.1f}"{" " if more else ""}{more}>{what}</text>'


def line(x1, y1, x2, y2, stroke="#444", more=""):
    return f'  <line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}"{" " if more else ""}{more}/>'


class Panel:
    """Axes from 0 on, in a box of the picture."""

    def __init__(self, left, title, x_name, x_end, x_steps, y_end, y_steps):
        self.left, self.top, self.width, self.height = left, 56, 330, 240
        self.x_end, self.y_end = x_end, y_end
        self.out = [text(left, 30, title, 'font-weight="bold"')]
        for y in y_steps:
            self.out.append(line(left, self.y(y), left + self.width, self.y(y), "#ddd"))
            self.out.append(text(left - 6, self.y(y) + 4, f"{100 * y:.0f} %", 'text-anchor="end" font-size="11"'))
        for x in x_steps:
            self.out.append(text(self.x(x), self.y(0) + 16, str(x), 'text-anchor="middle" font-size="11"'))
        self.out.append(text(left + self.width / 2, self.y(0) + 34, x_name, 'text-anchor="middle" font-size="12"'))
        self.out.append(f'  <rect x="{self.x(PUBLIC_LOW):.1f}" y="{self.top}" width="{self.x(PUBLIC_HIGH) - self.x(PUBLIC_LOW):.1f}" '
                        f'height="{self.height}" fill="#7a7" fill-opacity="0.25"/>')
        self.out.append(text(self.x((PUBLIC_LOW + PUBLIC_HIGH) / 2), self.top - 5, "public mean", 'text-anchor="middle" font-size="11" fill="#464"'))

    def x(self, value):
        return self.left + self.width * value / self.x_end

    def y(self, value):
        return self.top + self.height * (1 - value / self.y_end)

    def frame(self):
        return self.out + [line(self.left, self.top, self.left, self.y(0)), line(self.left, self.y(0), self.left + self.width, self.y(0))]


def draw():
    counts = Panel(60, "Cells that have arrived, by number of pulses", "pulses", 16, range(0, 16, 3), 0.3, (0, 0.1, 0.2, 0.3))
    shares = Panel(470, "Mean pulses, and share of cells that arrive", "pulses on average, of at most 15", 16, range(0, 16, 3), 1.0,
                   (0, 0.25, 0.5, 0.75, 1))
    for number, (mode, mean, arrived, after) in enumerate(modes()):
        name, colour = NAMES[mode]
        points = " ".join(f"{counts.x(pulses):.1f},{counts.y(share):.1f}" for pulses, share in enumerate(after))
        counts.out.append(f'  <polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        counts.out.append(line(230, 80 + 20 * number, 250, 80 + 20 * number, colour, 'stroke-width="2"'))
        counts.out.append(text(256, 84 + 20 * number, f"{name}: {mean:.1f}, {100 * arrived:.1f} %", 'font-size="12"'))
        shares.out.append(f'  <circle cx="{shares.x(mean):.1f}" cy="{shares.y(arrived):.1f}" r="5" fill="{colour}"/>')
        shares.out.append(text(shares.x(mean), shares.y(arrived) + 20, name, f'text-anchor="middle" font-size="12" fill="{colour}"'))
    mean, arrived = NEURRAM
    shares.out.append(f'  <circle cx="{shares.x(mean):.1f}" cy="{shares.y(arrived):.1f}" r="5" fill="none" stroke="#444" stroke-width="2"/>')
    shares.out.append(text(shares.x(mean) + 9, shares.y(arrived) + 20, "Wan et al. 2022, +/-2.5 %", 'font-size="12"'))
    head = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 830 350" font-family="Helvetica, Arial, sans-serif" font-size="14">',
            "  <title>ISPP: pulses that cells need, by mode</title>", '  <rect width="830" height="350" fill="#fff"/>']
    return "\n".join(head + counts.frame() + shares.frame() + ["</svg>"]) + "\n"


picture = draw()
if sys.argv[1:] == ["--check"]:
    if not PLOT.exists() or PLOT.read_text() != picture:
        sys.exit("docs/ispp.svg is not of the figures in tests/physics/ispp_test.cpp: run scripts/ispp-plot.py")
elif sys.argv[1:]:
    sys.exit(__doc__)
else:
    PLOT.write_text(picture)
