"""What is kept of a fitted map."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedbench.analysis.map import kept
from fedbench.analysis.map.draws import Draws, drawn
from fedbench.analysis.map.factors import Columns
from fedbench.analysis.map.fit import fit
from fedbench.analysis.map.kept import Costs
from fedbench.analysis.map.prediction import measured
from tests.analysis.map.made_up import FACTORS, PAIRS
from tests.analysis.map.made_up_map import GOOD, NUMBERS
from tests.analysis.map.test_fit import one_world

Made = tuple[Draws, Columns]
PLACE = {"skew": NUMBERS["skew"]["dirichlet"], "spread": 0.5, "at_work": 30, "steps": 10}
LEVELS = {"skew": ["dirichlet"], "spread": [0.5], "at_work": [30], "steps": [10]}


@pytest.fixture(scope="module", name="made")
def _made() -> Made:
    columns, at, _ = one_world(censored=0.1)
    draws = drawn(fit(columns, at, FACTORS, PAIRS), replicates=2, draws=30)
    return draws, at


def test_costs_are_those_of_the_draws(made: Made) -> None:
    """But for the rounding of how coefficients depart from their mean."""
    draws, at = made
    found = Costs.of(draws, at, GOOD)
    whole, short = draws.at(LEVELS)[:, 0], found.at(PLACE, NUMBERS)
    assert np.abs(short - whole).max() <= 2e-3 * whole.std(axis=0).max()
    assert short.tobytes() != whole.tobytes()


def test_draws_are_thinned_over_all_replicates(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    draws, at = made
    monkeypatch.setattr(kept, "MOST_DRAWS", 20)
    found = Costs.of(draws, at, GOOD)
    assert found.around.shape == (20, *draws.coefficients.shape[1:])
    assert set(found.own) == set(draws.own)
    assert found.centre.tobytes() == draws.coefficients.mean(axis=0).tobytes()


def test_what_was_measured_at_a_point_scatters_by_seeds(made: Made) -> None:
    """And at least by how far the nearest point was off where that was tried. What was censored is
    not known to cost anything near its bound."""
    draws, at = made
    found, own = Costs.of(draws, at, None), measured(draws.fit.runs)
    assert own.is_bound.any()
    point = int(own.is_bound.any(axis=1).argmax())
    log = found.measured_at(point)
    assert np.isinf(log).all(axis=0).tolist() == own.is_bound[point].tolist()
    seeds = draws.fit.runs.is_there[point].sum(axis=1)
    exact = ~own.is_bound[point]
    assert log[:, exact].std(axis=0) == pytest.approx(found.error[point][exact], rel=0.4)
    assert log[:, exact].mean(axis=0) == pytest.approx(own.log[point][exact], abs=0.1)
    assert found.error[point] == pytest.approx(np.sqrt(draws.fit.variances.noise / seeds))
    tried = replace(found, verdict=replace(GOOD, nearest=0.5)).measured_at(point)[:, exact]
    assert tried.std(axis=0) == pytest.approx(0.5 / np.sqrt(2), rel=0.4)


def test_the_nearest_point_is_the_place_itself_if_it_was_run(made: Made) -> None:
    draws, at = made
    found = Costs.of(draws, at, GOOD)
    for n in range(len(at["point"])):
        place = {name: at[name][n] for name in ("spread", "at_work", "steps")} | {"skew": NUMBERS["skew"][at["skew"][n]]}
        nearest = found.nearest(place, NUMBERS)
        assert found.distances(place, NUMBERS)[nearest] == 0
        assert all(at[name][nearest] == at[name][n] for name in LEVELS)


def test_an_algorithm_is_known_where_it_ran(made: Made) -> None:
    """At a level, or on both sides of a number between levels."""
    draws, at = made
    given = Costs.of(draws, at, GOOD)
    log = given.log.copy()
    log[np.array(at["at_work"]) < 30, 0] = log[np.array(at["skew"]) == "iid", 1] = np.nan
    found, skew = replace(given, log=log), NUMBERS["skew"]
    for at_work, kind, runs in (
        (100, "dirichlet", [True, True]),
        (60, "dirichlet", [True, True]),
        (20, "dirichlet", [False, True]),
        (500, "two_class", [True, True]),
        (2, "iid", [False, False]),
    ):
        assert found.runs_at(PLACE | {"at_work": at_work, "skew": skew[kind]}, NUMBERS)[:2].tolist() == runs
    assert not found.runs_at(PLACE | {"at_work": 100, "skew": 0.2}, NUMBERS)[1], "between iid and Dirichlet"
