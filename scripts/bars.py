# SPDX-License-Identifier: MIT
"""Figures beside their targets, for benchmarks."""
import sys


def show_bars(bars, figures):
    """bars: key, target, whether at least (else at most), what it is. Those whose key is in `figures` are written to standard error."""
    rows = [("bar", "measured", "target", "", "what it is")]
    number = lambda value: f"{value:.3g}" if value < 1e4 else f"{value:.2e}"
    for key, target, at_least, what in bars:
        if key in figures:
            met = figures[key] >= target if at_least else figures[key] <= target
            rows.append((key, number(figures[key]), f"{'>=' if at_least else '<='} {number(target)}", "PASS" if met else "below", what))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        line = "  ".join(cell.rjust(width) if column in (1, 2) else cell.ljust(width) for column, (cell, width) in enumerate(zip(row, [*widths, 0], strict=True)))
        print(line, file=sys.stderr, flush=True)
