"""The model of log costs, fitted to runs whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from fedbench.analysis.map.factors import Design
from fedbench.analysis.map.fit import Fit, fit
from fedbench.errors import UsageError
from tests.analysis.map.made_up import FACTORS, PAIRS, Truth, World, levels, points

Columns = dict[str, list[Any]]
REPEATS = 6


def worlds(repeats: int, world: World | None = None, count: int = 36) -> Iterator[tuple[np.random.Generator, Truth, Columns]]:
    """Designs with their truth, at random."""
    for repeat in range(repeats):
        generator = np.random.Generator(np.random.Philox([11, repeat]))
        at = points(generator, count)
        yield generator, (world or World()).truth(generator, Design.over(FACTORS, PAIRS, at)), at


def error(found: Fit, truth: Truth, at: Columns) -> np.ndarray:
    """By how much smooth log costs are predicted too large (L, K)."""
    return found.design.matrix(at) @ found.found.coefficients.T - truth.design.matrix(at) @ truth.coefficients.T


def without(columns: Columns, leave_out: Sequence[bool]) -> Columns:
    return {name: [value for value, gone in zip(column, leave_out, strict=True) if not gone] for name, column in columns.items()}


def test_the_variances_are_found() -> None:
    """Over some worlds, on average: to a tenth of a standard deviation for those of which there are
    many effects."""
    found = []
    for generator, truth, at in worlds(REPEATS):
        fitted = fit(
            truth.runs(generator, at["point"], truth.expected(generator, at), seeds=(3, 8)), at, FACTORS, PAIRS
        ).variances
        found.append([fitted.fit, fitted.point, fitted.seed, *fitted.noise, fitted.departure[truth.design.groups == 3].mean()])
    assert np.sqrt(np.mean(found, axis=0)) == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.15, 0.2, 0.25, 0.15, 0.2, 0.1], rel=0.12)


@pytest.mark.parametrize("censored", [0.2, 0.4])
def test_censored_runs_do_not_bias_where_leaving_them_out_does(censored: float) -> None:
    """An algorithm that is slow or noisy loses its slow runs, and seems fast."""
    ours, left_out = [], []
    for generator, truth, at in worlds(REPEATS):
        columns = truth.runs(generator, at["point"], truth.expected(generator, at), seeds=(3, 8), censored=censored)
        flags = columns["is_censored"]
        new = levels(generator, 30)
        ours.append(error(fit(columns, at, FACTORS, PAIRS), truth, new).mean())
        kept = without(columns, flags)
        there = {
            name: [value for value, point in zip(column, at["point"], strict=True) if point in kept["point"]]
            for name, column in at.items()
        }
        left_out.append(error(fit(kept, there, FACTORS, PAIRS[:1]), truth, new).mean())
    print(f"{censored:.0%} censored: bias {np.mean(ours):.3f}, where they are left out {np.mean(left_out):.3f}")
    assert abs(np.mean(ours)) < 0.03
    assert np.mean(left_out) < -0.02 - censored / 4


@pytest.mark.parametrize("interact", [False, True])
def test_interactions_help_where_they_are_and_do_no_harm_elsewhere(interact: bool) -> None:
    with_them, main = [], []
    for generator, drawn, at in worlds(REPEATS):
        truth = drawn if interact else drawn.without_interactions()
        columns = truth.runs(generator, at["point"], truth.expected(generator, at), seeds=(3, 8))
        new = levels(generator, 30)
        for pairs, errors in ((PAIRS, with_them), ((), main)):
            off = error(fit(columns, at, FACTORS, pairs), truth, new)
            errors.append(np.square(off - off.mean(axis=1, keepdims=True)).mean())
    whole, plain = np.sqrt(np.mean(with_them)), np.sqrt(np.mean(main))
    print(f"root mean square errors of differences: {whole:.3f} with interactions, {plain:.3f} with main effects")
    assert whole < 0.75 * plain if interact else whole < 1.06 * plain


@pytest.mark.slow
def test_more_of_an_interaction_never_makes_main_effects_better() -> None:
    """What interactions gain over main effects grows with them."""
    gains = []
    for size in (0.0, 0.05, 0.1, 0.2):
        world, squares = World(departure=(0.4, 0.15, 0.08, size)), np.zeros(2)
        for generator, truth, at in worlds(REPEATS, world):
            columns = truth.runs(generator, at["point"], truth.expected(generator, at))
            new = levels(generator, 30)
            for k, pairs in enumerate((PAIRS, ())):
                off = error(fit(columns, at, FACTORS, pairs), truth, new)
                squares[k] += np.square(off - off.mean(axis=1, keepdims=True)).mean()
        gains.append(float(np.sqrt(squares[1] / squares[0])))
    print(f"error of main effects over that with interactions: {np.round(gains, 2)}")
    assert gains == sorted(gains)
    assert gains[0] > 0.9


def one_world(**given: Any) -> tuple[Columns, Columns, Truth]:
    generator, truth, at = next(worlds(1))
    return truth.runs(generator, at["point"], truth.expected(generator, at), **given), at, truth


def test_the_same_bits_in_any_order_of_the_runs() -> None:
    columns, at, _ = one_world(seeds=(3, 5), censored=0.3)
    order = np.random.default_rng(0).permutation(len(columns["cost"]))
    first = fit(columns, at, FACTORS, PAIRS)
    again = fit({name: [column[k] for k in order] for name, column in columns.items()}, at, FACTORS, PAIRS)
    assert first.found.coefficients.tobytes() == again.found.coefficients.tobytes()
    assert first.variances.noise.tobytes() == again.variances.noise.tobytes()


def test_an_algorithm_may_lack_points() -> None:
    """It is predicted less surely, but elsewhere than where it ran too."""
    columns, at, truth = one_world(seeds=(3, 5))
    gone = [name == "a1" and int(point[1:]) % 3 > 0 for name, point in zip(columns["algorithm"], columns["point"], strict=True)]
    whole, part = (fit(one, at, FACTORS, PAIRS) for one in (columns, without(columns, gone)))
    spread = [np.einsum("aiai->a", one.found.blocks) for one in (whole, part)]
    assert spread[1][1] > 1.3 * spread[0][1]
    assert np.abs(error(part, truth, at)[:, 1]).mean() < 0.25


def test_two_algorithms_that_always_cost_the_same_are_predicted_alike() -> None:
    columns, at, _ = one_world(censored=0.2)
    same = [k for k, name in enumerate(columns["algorithm"]) if name == "a0"]
    columns = {name: column + [column[k] for k in same] for name, column in columns.items()}
    columns["algorithm"][-len(same) :] = ["tied"] * len(same)
    found = fit(columns, at, FACTORS, PAIRS)
    assert found.found.coefficients[0] == pytest.approx(found.found.coefficients[-1], abs=1e-6)


def test_costs_that_never_scatter_are_fitted() -> None:
    """The penalty keeps variances from 0."""
    columns, at, _ = one_world()
    found = fit(columns | {"cost": [7.0] * len(columns["cost"])}, at, FACTORS, PAIRS)
    assert found.design.matrix(at) @ found.found.coefficients.T == pytest.approx(np.full((36, 6), np.log(7)), abs=1e-6)
    assert 0 < found.variances.fit < 0.01**2


def test_luck_of_tunings_is_told_from_lack_of_fit() -> None:
    """Three draws at each point, of which each holds for three points."""
    rows: list[tuple[Any, ...]] = []
    for generator, truth, at in worlds(1):
        expected = truth.expected(generator, at)
        luck = 0.3 * generator.standard_normal((6, 12, 3))
        noise = 0.1 * generator.standard_normal((36, 6, 3, 3))
        for n, k, d, s in np.ndindex(noise.shape):
            rows.append(
                (
                    f"a{k}",
                    at["point"][n],
                    s,
                    float(np.exp(expected[n, k] + luck[k, n % 12, d] + noise[n, k, d, s])),
                    False,
                    f"{n % 12}.{d}",
                )
            )
        names = ("algorithm", "point", "seed", "cost", "is_censored", "tuning")
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        found = fit(columns, at, FACTORS, PAIRS)
        assert np.sqrt(found.variances.tuning) == pytest.approx(0.3, rel=0.12)
        assert np.sqrt(found.variances.fit) == pytest.approx(0.1, rel=0.3)
        assert len(found.found.luck) == 6 * 12 * 3


def test_a_point_that_is_there_twice_is_refused() -> None:
    columns, at, _ = one_world()
    with pytest.raises(UsageError, match=r"^map: the design has the point 'p3' twice$"):
        fit(columns, at | {"point": [*at["point"][:-1], "p3"]}, FACTORS, PAIRS)


def test_an_algorithm_that_never_arrives_is_refused() -> None:
    columns, at, _ = one_world()
    columns["is_censored"] = [name == "a2" for name in columns["algorithm"]]
    with pytest.raises(UsageError, match=r"^map: all 108 runs of a2 are censored; leave it out$"):
        fit(columns, at, FACTORS, PAIRS)
