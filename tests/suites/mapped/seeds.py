"""How much more do ten seeds of a row say than three?

    python -m tests.suites.mapped.seeds

The committed runs of `axes` say how much the log cost of a row, the mean over its targets, scatters
over seeds beyond what all rows of a board share. It is pooled over the tuned rows that hold all
targets with all seeds. The standard error of a row at a point has this in it, by the number of
seeds, and two things that no seed makes smaller: the luck of a search and the lack of fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from fedbench.analysis.axes import AXES
from fedbench.analysis.board import Board
from fedbench.analysis.costs import Costs
from fedbench.analysis.gathered import gathered
from fedbench.analysis.scatter import LEAST_ROWS, row_variances
from fedbench.suites import suite as suites
from fedbench.suites.findings.results import load

SUITE, FEW, MANY = "axes", 3, 10
LUCK, LACK_OF_FIT = 0.1, 0.1
"""Standard deviations that the decision took for granted."""


def pooled(boards: Iterable[Board], axis: str) -> float:
    """Returns the root of the mean variance of a row over seeds, of log costs on an axis."""
    return math.sqrt(np.mean(np.concatenate([row_variances(one.log.mean(axis=2)) for one in _held(boards, axis)])))


def _held(boards: Iterable[Board], axis: str) -> Iterator[Costs]:
    """Yields the costs of the rows of every group that miss nothing."""
    for board in boards:
        rows = {row: runs for several in board.compared.values() for row, runs in several.items()}
        groups = {row: group for group, several in board.compared.items() for row in several}
        for costs in gathered(rows, frozenset(), groups).costs(axis):
            missed = costs.missed.any(axis=(0, 2))
            held = [row for row, has_missed in zip(costs.rows, missed, strict=True) if not has_missed]
            if len(held) >= LEAST_ROWS:
                yield costs.among(held)


def gain(scatter: float) -> float:
    """Returns by which share MANY seeds make the standard error of FEW smaller."""
    few, many = (math.sqrt(LUCK**2 + LACK_OF_FIT**2 + scatter**2 / seeds) for seeds in (FEW, MANY))
    return 1 - many / few


def main() -> None:
    """Prints both, for every axis."""
    results = load(suites.load(SUITE), Path("results/tuned"), Path("results/suites"))
    for axis in ("seconds", "gradient_evaluations", "bytes"):
        assert axis in AXES
        scatter = pooled(results.tuned.values(), axis)
        print(f"{axis}: a seed moves a log cost by {scatter:.2f}; {MANY} seeds in place of {FEW}: {gain(scatter):.0%} less")


if __name__ == "__main__":
    main()
