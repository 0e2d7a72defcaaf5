"""Intervals of predictions hold the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.analysis.map.draws import band, drawn, made_up
from fedbench.analysis.map.factors import Design
from fedbench.analysis.map.fit import fit
from tests.analysis.map.made_up import FACTORS, PAIRS, World, levels, points
from tests.analysis.map.test_fit import one_world, without

REPEATS = 120


@pytest.mark.slow
@pytest.mark.parametrize("censored", [0.0, 0.2, 0.4])
def test_intervals_hold_the_truth(censored: float) -> None:
    """In 93 to 97 %: the expected log cost of every algorithm, tuned once, at eight points that
    were not run, and its difference from the mean of all algorithms. Algorithms go on to unequal
    numbers of seeds; one of them has no runs at a third of the points, and two are the same but for
    luck."""
    hits, of_differences, off = [], [], []
    for repeat in range(REPEATS):
        generator = np.random.Generator(np.random.Philox([7, repeat]))
        at = points(generator, 30)
        truth = World().truth(generator, Design.over(FACTORS, PAIRS, at))
        truth.coefficients[4] = truth.coefficients[0]
        columns = truth.runs(generator, at["point"], truth.expected(generator, at), seeds=(3, 8), censored=censored)
        columns = without(
            columns,
            [
                name == "a1" and int(point[1:]) % 3 == 0
                for name, point in zip(columns["algorithm"], columns["point"], strict=True)
            ],
        )
        draws = drawn(fit(columns, at, FACTORS, PAIRS), replicates=20, draws=40)
        new = levels(generator, 8)
        costs, true = draws.at(new), truth.expected(generator, new)
        for found, wanted, kept in (
            (costs, true, hits),
            (costs - costs.mean(axis=2, keepdims=True), true - true.mean(axis=1, keepdims=True), of_differences),
        ):
            ends = band(found)
            kept.append(((ends.low <= wanted) & (wanted <= ends.high)).mean())
        off.append((draws.costs(new).value - true).mean())
    for name, values in (("log costs", hits), ("differences", of_differences), ("bias", off)):
        print(f"{censored:.0%} censored: {name} {np.mean(values):.3f} (+- {np.std(values) / REPEATS**0.5:.3f})")
    assert 0.93 <= np.mean(hits) <= 0.97
    assert 0.93 <= np.mean(of_differences) <= 0.97
    assert abs(np.mean(off)) < 0.03


def test_the_same_seed_gives_the_same_bits() -> None:
    columns, at, _ = one_world(censored=0.2)
    found = fit(columns, at, FACTORS, PAIRS)
    one, again, other = (drawn(found, seed=seed, replicates=2, draws=5) for seed in (3, 3, 4))
    assert one.coefficients.tobytes() == again.coefficients.tobytes()
    assert one.at(at).tobytes() == again.at(at).tobytes()
    assert one.coefficients.tobytes() != other.coefficients.tobytes()
    assert len(set(one.own)) == 2, "each replicate has its own variances"


def test_made_up_runs_are_where_the_runs_are() -> None:
    columns, at, _ = one_world(seeds=(3, 6), censored=0.4)
    found = fit(columns, at, FACTORS, PAIRS)
    again = made_up(found, np.random.default_rng(0))
    assert (again.is_there == found.runs.is_there).all()
    assert (again.log[~again.is_there] == 0).all()
    assert again.is_censored.any()
    assert (found.runs.is_censored | ~again.is_censored).all()
    assert (found.runs.is_censored & ~again.is_censored).any(), "some fall below where they were censored"
    assert (again.log[found.runs.is_censored] <= found.runs.log[found.runs.is_censored]).all()


def test_made_up_runs_have_the_variances_of_the_fit() -> None:
    columns, at, _ = one_world(seeds=(3, 6))
    found = fit(columns, at, FACTORS, PAIRS)
    kept, generator = found.runs.is_there, np.random.default_rng(0)
    given, x = found.variances, found.x
    several = np.array([made_up(found, generator).log[kept] for _ in range(400)])
    between = 1 - 1 / len(found.algorithms)
    expected = between * (x**2 @ given.departure)[:, None] + given.fit + given.point + given.seed + given.noise
    assert several.var(axis=0).mean() == pytest.approx((expected[:, :, None] + np.zeros(kept.shape))[kept].mean(), rel=0.05)


def test_costs_at_a_point_scatter_by_lack_of_fit() -> None:
    """By that of each algorithm, and by what all of them share at the point."""
    columns, at, _ = one_world()
    draws = drawn(fit(columns, at, FACTORS, PAIRS), replicates=2, draws=200)
    rest = draws.at(at) - np.einsum("bkp,lp->blk", draws.coefficients, draws.design.matrix(at))
    assert np.log(draws.own**2 / draws.fit.variances.fit) == pytest.approx(np.zeros(400), abs=1)
    assert np.log(draws.shared**2 / draws.fit.variances.point) == pytest.approx(np.zeros(400), abs=2)
    for half in (slice(0, 200), slice(200, 400)):
        assert rest[half].std() ** 2 == pytest.approx(draws.own[half][0] ** 2 + draws.shared[half][0] ** 2, rel=0.05)
        assert rest[half].std(axis=2, ddof=1).mean() == pytest.approx(0.95 * draws.own[half][0], rel=0.03)


def test_the_middle_of_an_interval_is_the_fit() -> None:
    columns, at, _ = one_world()
    draws = drawn(fit(columns, at, FACTORS, PAIRS), replicates=4, draws=100)
    found = draws.costs(at)
    assert (found.low < found.value).all()
    assert (found.value < found.high).all()
    assert (found.low + found.high) / 2 == pytest.approx(found.value, abs=0.15)
