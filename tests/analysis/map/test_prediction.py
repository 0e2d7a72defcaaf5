"""Whether a map predicts points that it has not seen."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedbench.analysis.map.draws import Draws, drawn
from fedbench.analysis.map.factors import Design
from fedbench.analysis.map.fit import fit
from fedbench.analysis.map.prediction import Verdict, judged, measured, of_nearest
from fedbench.analysis.map.runs import read
from fedbench.errors import UsageError
from tests.analysis.map.made_up import FACTORS, PAIRS, World, levels, points

Columns = dict[str, list[Any]]


def table(*rows: tuple[Any, ...]) -> Columns:
    names = ("algorithm", "point", "seed", "cost", "is_censored")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def test_seeds_are_removed_before_algorithms_are_compared() -> None:
    """Only `a` goes on to the seeds 2 and 3, in which all is twice as dear: it costs as much as `b`
    all the same."""
    runs = [(name, "p", seed, 4.0 * (1 + (seed > 1)), False) for name in "ab" for seed in range(4 if name == "a" else 2)]
    found = measured(read(table(*runs, ("c", "p", 0, 8.0, True), ("c", "p", 1, 8.0, False)), ["p"]))
    assert np.exp(found.log[0, 1:] - found.log[0, 0]) == pytest.approx([1, 2])
    assert np.exp(found.log[0, 0]) == pytest.approx(4 * 2**0.5)
    assert found.is_bound.tolist() == [[False, False, True]]


@pytest.fixture(scope="module", name="case")
def _case() -> tuple[Draws, Draws, Columns, Columns, Columns]:
    """Models with and without interactions, the design, points held out, and their runs."""
    generator = np.random.Generator(np.random.Philox(21))
    at = points(generator, 48)
    truth = World(departure=(0.3, 0.15, 0.08, 0.15), fit=0.05).truth(generator, Design.over(FACTORS, PAIRS, at))
    columns = truth.runs(generator, at["point"], truth.expected(generator, at), seeds=(3, 6), censored=0.1)
    new: Columns = {"point": [f"new{n}" for n in range(12)], **levels(generator, 12)}
    held_out = truth.runs(generator, new["point"], truth.expected(generator, new), seeds=(3, 20))
    draws, main = (drawn(fit(columns, at, FACTORS, pairs), replicates=4, draws=50) for pairs in (PAIRS, ()))
    return draws, main, at, new, held_out


def test_a_model_with_interactions_predicts_points_held_out(case: tuple[Any, ...]) -> None:
    draws, main, at, new, columns = case
    found = judged(draws, main, columns, at, new, dict.fromkeys(new["point"], draws.algorithms))
    print(found)
    assert found.error < 0.2 < found.nearest
    assert found.error < found.main
    assert sum(found.hits) >= 10
    assert found.predicts


def test_only_rows_in_a_set_count_for_errors(case: tuple[Any, ...]) -> None:
    """The best alone is predicted with an error of its own."""
    draws, main, at, new, columns = case
    log = measured(read(columns, new["point"])).log
    best = {point: [draws.algorithms[k]] for point, k in zip(new["point"], log.argmin(axis=1), strict=True)}
    found = judged(draws, main, columns, at, new, best)
    predicted = draws.at(new)
    predicted = (predicted - predicted.min(axis=2, keepdims=True)).mean(axis=0)[np.arange(12), log.argmin(axis=1)]
    assert found.error == pytest.approx(np.sqrt(np.mean(predicted**2)))
    assert found.rows == judged(draws, main, columns, at, new, dict.fromkeys(new["point"], draws.algorithms)).rows


def test_an_algorithm_with_a_censored_run_has_a_lower_bound(case: tuple[Any, ...]) -> None:
    """A prediction above the bound cannot be wrong, and makes no error smaller; one below it is an
    error. Who has nothing but bounds gives no verdict."""
    draws, main, at, new, columns = case
    a3 = [name == "a3" for name in columns["algorithm"]]
    censored = [mine and seed > 0 for mine, seed in zip(a3, columns["seed"], strict=True)]
    found, alone = [], []
    for factor in (0.01, 100.0):
        cost = [cost * factor if mine else cost for cost, mine in zip(columns["cost"], a3, strict=True)]
        bound = columns | {"cost": cost, "is_censored": censored}
        found.append(judged(draws, main, bound, at, new, dict.fromkeys(new["point"], ("a0", "a3"))))
        alone.append(judged(draws, main, bound, at, new, dict.fromkeys(new["point"], ("a0",))))
        if factor < 1:
            with pytest.raises(UsageError, match=r"^map: every algorithm in a set of the best has a censored run"):
                judged(draws, main, bound, at, new, dict.fromkeys(new["point"], ("a3",)))
    assert [(one.exact, one.bounds, one.too_low) for one in (*found, *alone)] == [
        (12, 12, 0),
        (12, 12, 12),
        (12, 0, 0),
        (12, 0, 0),
    ]
    assert found[0].error == pytest.approx(alone[0].error)
    assert alone[1].error == pytest.approx(alone[0].error)
    assert found[1].error > 3
    assert found[0].hits == found[1].hits, "a bound is never the best"


def test_the_best_is_in_the_set_of_the_best(case: tuple[Any, ...]) -> None:
    """A row outside, which a race dropped, is not, though those in the set have more seeds with
    which to miss."""
    draws, main, at, new, columns = case
    sets = dict.fromkeys(new["point"], ("a0", "a1"))
    found = judged(draws, main, columns, at, new, sets)
    cost = [one * (0.01 if name == "a3" else 1) for one, name in zip(columns["cost"], columns["algorithm"], strict=True)]
    assert judged(draws, main, columns | {"cost": cost}, at, new, sets).error == pytest.approx(found.error, rel=1e-12)


def test_the_nearest_point_is_one_that_has_all_runs(case: tuple[Any, ...]) -> None:
    draws, _, at, _, _ = case
    here = {name: column[5:6] for name, column in at.items()}
    log = measured(draws.fit.runs).log
    every = np.ones((1, 6), bool)
    assert of_nearest(draws, at, here, every)[0] == pytest.approx(log[at_first_like(at, 5)])
    runs = draws.fit.runs
    alike = [n for n in range(48) if [at[name][n] for name in list(at)[1:]] == [at[name][5] for name in list(at)[1:]]]
    gone = runs.is_there.copy()
    gone[alike, 2] = False
    part = replace(draws, fit=replace(draws.fit, runs=replace(runs, is_there=gone)))
    assert not np.isnan(of_nearest(part, at, here, every)).any()
    assert np.isnan(of_nearest(part, at, here, np.array([[True, True, False, True, True, True]]))[0, 2])
    gone[:, 2] = False
    part = replace(draws, fit=replace(draws.fit, runs=replace(runs, is_there=gone)))
    with pytest.raises(UsageError, match=r"^map: no point of the design has runs of all of a0, a1, a2, a3, a4 and 1 more$"):
        of_nearest(part, at, here, every)


def at_first_like(at: Columns, place: int) -> int:
    """The first point with the levels of the one at that place."""
    rows = list(zip(*(column for name, column in at.items() if name != "point"), strict=True))
    return rows.index(rows[place])


@pytest.mark.parametrize(
    ("changed", "predicts"),
    [
        ({}, True),
        ({"error": 0.21}, False),
        ({"main": 0.14}, False),
        ({"nearest": 0.15}, False),
        ({"rows": (6, 6, 6)}, False),
        ({"rows": (5, 5, 9)}, True),
        ({"hits": (True,) * 9 + (False,) * 3}, False),
        ({"hits": (True,) * 10 + (False,) * 2}, True),
    ],
)
def test_when_a_map_predicts(changed: dict[str, Any], predicts: bool) -> None:
    assert replace(Verdict(0.15, 0.3, 0.2, (1, 2, 3), (True,)), **changed).predicts == predicts


@pytest.mark.parametrize(
    ("columns", "sets", "message"),
    [
        ({"algorithm": ["a0", "a9"]}, {}, "map: the points held out have runs of 'a9'; did you mean 'a5'?"),
        ({}, {"new0": []}, "map: no set of the best is given for the point 'new0'"),
        ({"is_censored": [True] * 2}, {}, "map: every algorithm in a set of the best has a censored run at the point 'new0'"),
    ],
)  # fmt: skip
def test_what_is_refused(case: tuple[Any, ...], columns: Columns, sets: dict[str, list[str]], message: str) -> None:
    draws, main, at, new, _ = case
    one = {name: column[:1] for name, column in new.items()}
    runs = table(*[(name, "new0", seed, 1.0, False) for seed in range(2) for name in ("a0", "a1")])
    runs |= {name: column + runs[name][2:] for name, column in columns.items()}
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        judged(draws, main, runs, at, one, {"new0": ["a0"]} | sets)
