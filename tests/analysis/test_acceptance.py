"""What version 2 of the rules promises, by simulation with a known truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedbench.analysis.axes import SECONDS
from fedbench.analysis.best import compare
from fedbench.analysis.costs import Costs, costs, resolved
from fedbench.analysis.resolution import resolution
from fedbench.analysis.scatter import NOTHING, prior_of
from fedbench.results import archive
from fedbench.suites import suite as suites
from fedbench.suites import tuned
from fedbench.suites.findings.results import Results
from fedbench.suites.seats import seats
from tests.analysis.boards_made_up import costs_of, drawn

RESULTS = Path(__file__).resolve().parents[2] / "results"
BOARDS = 2000


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2, 3, 10])
@pytest.mark.parametrize("n", [3, 5, 10])
def test_the_best_is_in_the_set(n: int, rows: int) -> None:
    """In at least 94 % of 2,000 boards: scatters of rows that differ by a factor of 10, seeds that
    are correlated by 0 to 0.8, heavy tails, costs on a grid and censored, and two rows that are the
    best. Each of both is looked at by itself."""
    generator = np.random.Generator(np.random.Philox(n * 100 + rows))
    inside = np.zeros(2)
    sizes = 0
    for board in range(BOARDS):
        scatter = np.exp(generator.permutation(np.linspace(np.log(0.05), np.log(0.5), rows)))
        means = np.log(20) + np.concatenate([[0, 0], np.linspace(0.1, 1.5, rows - 2)])
        found = drawn(
            generator,
            n,
            means,
            scatter,
            correlation=(0, 0.4, 0.8)[board % 3],
            heavy=board % 2 == 1,
            grid=board % 4 // 2 * 1.0,
            budget=60.0,
        )
        in_set = compare(found, prior_of([found])).in_set
        inside += in_set[:2]
        sizes += int(in_set.sum())
    print(f"n = {n}, {rows} rows: in the set {inside / BOARDS}, {sizes / BOARDS:.2f} rows in it")
    assert inside.min() >= 0.94 * BOARDS


@pytest.fixture(scope="module", name="archived")
def _archived() -> dict[str, Costs]:
    """The costs of all tuned rows of suite axes at its points, at the targets with a verdict."""
    suite = suites.load("axes")
    frozen = tuned.read(RESULTS / "tuned" / "axes.yaml", suite)
    results = Results(suite, frozen, seats(suite, frozen, archive.read(RESULTS / "suites" / "axes", check=False)))
    found = {}
    for point, rows in results.complete(tuned=True).items():
        of_point = costs({row: runs for row, runs in rows.items() if results.families[row] != "reference"}, SECONDS)
        grid = next(iter(rows.values()))[0].spec.scenario.evaluation
        targets = resolved(of_point, getattr(grid, "every_seconds", None))
        if targets:
            found[point] = of_point.at(targets)
    return found


@pytest.mark.slow
def test_the_set_is_small_where_the_archives_say_so(archived: dict[str, Costs]) -> None:
    """With the means and covariances of the archived points and 5 seeds it has at most 8 of 33 rows
    on average. By version 1 of the rules it had 20.8."""
    generator = np.random.Generator(np.random.Philox(5))
    sizes, inside = [], []
    for found in archived.values():
        logs = found.log.mean(axis=2)
        mean, covariance = logs.mean(axis=0), np.cov(logs.T)
        for _ in range(100):
            again = costs_of(np.exp(generator.multivariate_normal(mean, covariance, size=5, method="svd")), step=0.05)
            in_set = compare(again, prior_of([again])).in_set
            sizes.append(int(in_set.sum()))
            inside.append(in_set[mean.argmin()])
    print(f"{np.mean(sizes):.2f} rows on average at {len(archived)} points, the best in {np.mean(inside):.4f}")
    assert np.mean(sizes) <= 8
    assert np.mean(inside) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2, 10, 16])
@pytest.mark.parametrize("n", [3, 5, 10, 20])
def test_the_resolution_is_shown_with_the_probability_that_it_names(n: int, rows: int) -> None:
    """Of 80 %, to 4 percentage points: rows that cost as much more than the best as its boards say,
    leave the set."""
    generator = np.random.Generator(np.random.Philox(1000 + n * 100 + rows))
    scatter, none = np.full(rows, 0.2), np.zeros(rows)
    prior = prior_of([drawn(generator, n, none, scatter, correlation=0.5) for _ in range(13)]) if rows > 2 else NOTHING
    shown = [resolution(compare(drawn(generator, n, none, scatter, correlation=0.5), prior)) for _ in range(400)]
    size = float(np.mean(np.log([one for one in shown if one is not None])))
    means = np.full(rows, size)
    means[0] = 0
    left = [(~compare(drawn(generator, n, means, scatter, correlation=0.5), prior).in_set[1:]).mean() for _ in range(BOARDS)]
    print(f"n = {n}, {rows} rows: shows {np.exp(size):.2f}, with the probability {np.mean(left):.3f}")
    assert abs(np.mean(left) - 0.8) <= 0.04
