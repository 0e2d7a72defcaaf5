"""What options cost that were tuned, on landscapes whose optimum is known. Figures are printed:
`pytest -s`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.suites.landscapes import SPACE, Landscape, sobol, suite


def _costs(make: Callable[[np.random.Generator, int], Landscape], count: int, *suites: Any) -> np.ndarray[Any, Any]:
    """The expected costs of what is chosen on so many landscapes, (count, methods)."""
    random, rows = np.random.default_rng(46), []
    for draw in range(count):
        land = make(random, draw)
        found = [land.search(one, draw).choice for one in suites]
        rows.append([land.expected(one.options) for one in found if one is not None])
    return np.array(rows)


def _interval(differences: np.ndarray[Any, Any]) -> tuple[float, float, float]:
    half = 1.96 * differences.std(ddof=1) / np.sqrt(len(differences))
    return differences.mean() - half, differences.mean(), differences.mean() + half


@pytest.mark.slow
def test_it_chooses_cheaper_options_than_a_search_at_once() -> None:
    """Two, three and four options; a fourth of the landscapes each with its optimum at an edge, and
    with a cliff just before it."""
    names = ("fedavg", "fedbuff", "fedecho")
    suites = (suite(*names), sobol(*names), sobol(*names, trials=36))

    def make(random: np.random.Generator, draw: int) -> Landscape:
        return Landscape.drawn(names[draw % 3], random, edge=draw % 4 == 1, cliff=draw % 4 == 2)

    found = _costs(make, 240, *suites)
    print("\nlog of the cost of what is chosen over the optimum's, 240 landscapes")
    for name, column in zip(("halving", "17 trials x 2 seeds", "37 trials x 2 seeds"), found.T, strict=True):
        print(f"  {name}: {column.mean():.3f}")
    for name, other in (("17 x 2", 1), ("37 x 2", 2)):
        low, mean, high = _interval(found[:, 0] - found[:, other])
        print(f"  halving less {name}: {mean:.3f} [{low:.3f}, {high:.3f}]")
        assert high < 0
    for kind, name in enumerate(("smooth", "edge", "cliff")):
        print(f"  {name}: " + ", ".join(f"{one:.3f}" for one in found[kind::4].mean(axis=0)))


@pytest.mark.slow
def test_equal_algorithms_stay_equal() -> None:
    """Two names with the same intervals on the same landscapes: only their scrambles differ."""
    from scipy.stats import ks_2samp

    names = ("fedavg", "scaffold")
    assert SPACE.algorithms["fedavg"].options == SPACE.algorithms["scaffold"].options
    random, rows = np.random.default_rng(46), []
    for draw in range(100):
        drawn = Landscape.drawn("fedavg", random)
        found = [(land, land.search(suite(*names), draw).choice) for land in (replace(drawn, algorithm=one) for one in names)]
        rows.append([land.expected(choice.options) for land, choice in found if choice is not None])
    costs = np.array(rows)
    low, mean, high = _interval(costs[:, 0] - costs[:, 1])
    p = ks_2samp(*costs.T).pvalue
    print(
        f"\nequal algorithms, 100 landscapes: log of their costs' ratio {mean:.3f} [{low:.3f}, {high:.3f}], same distribution p = {p:.2f}"
    )
    assert low < 0 < high
    assert p > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("own", [0.05, 0.4])
def test_the_default_options_stay_where_nothing_is_better(own: float) -> None:
    flat = Landscape("fedavg", best=(0.5, 0.5), bowl=(0.0, 0.0), own=own)
    stays = [flat.search(suite("fedavg"), draw).choice for draw in range(150)]
    share = sum(one is not None and one.trial == 0 for one in stays) / len(stays)
    print(f"\nnothing is better, scatter {own}: the default options stay in {share:.0%} of 150 draws")
    assert share >= 0.85
