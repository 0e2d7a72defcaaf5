"""All theory checks in order, and their picture."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from fedbench.proof.theory import limits, rates
from fedbench.proof.theory.rows import Row

FULL, QUICK = (4, 2000), (2, 800)  # seeds, updates


def rows(*, quick: bool = False) -> Iterator[Row]:
    """One row after the other; `quick` takes fewer seeds and updates, and leaves the slopes out."""
    seeds, updates = QUICK if quick else FULL
    parts = [rates.exact_bounds(seeds, updates), limits.all_rows(updates)]
    if not quick:
        parts.insert(1, rates.slopes(seeds, updates))
    return itertools.chain.from_iterable(parts)


def draw(found: Sequence[Row], path: Path) -> None:
    """Left, measured beside bound of the theorems on gradients; right, the measured orders. PNG or SVG by the suffix."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(11, 4.6), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
        bounds = [row for row in found if row.kind == "bound" and row.source != limits.INCONSISTENT][::-1]
        names = [row.check for row in bounds]
        left.barh(names, [row.expected for row in bounds], color="#d9dee5", label="bound")
        left.barh(names, [row.measured for row in bounds], height=0.45, color="#2b6cb0", label="measured")
        left.set_xscale("log")
        left.set_title("Exact bounds, all constants included", loc="left", fontsize=10)
        left.legend(frameon=False, loc="lower right")
        for row, colour in zip((row for row in found if row.kind == "slope"), ("#2b6cb0", "#c05621", "#2f855a"), strict=False):
            x, y = zip(*row.points, strict=True)
            start = x[0]
            right.plot([v / start for v in x], [v / y[0] for v in y], "o-", color=colour, label=_legend(row))
        span = right.get_xlim()
        right.plot([1, span[1]], [1, span[1] ** -0.5], "--", color="#718096", label="slope -1/2, as proven")
        right.set_xscale("log", base=2)
        right.set_yscale("log", base=2)
        right.set_xlabel("times as large")
        right.set_title("Orders, relative to the first point", loc="left", fontsize=10)
        right.legend(frameon=False, fontsize=8)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)


def _legend(row: Row) -> str:
    name = row.check.partition("gradient ")[2]
    return f"{name}: {row.measured:.2f} [{row.low:.2f}, {row.high:.2f}]"
