"""What is kept of a fitted map."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedbench.analysis.map import kept
from fedbench.analysis.map.draws import Draws, drawn
from fedbench.analysis.map.factors import Columns
from fedbench.analysis.map.fit import fit
from tests.analysis.map import made_up_map
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
    found = made_up_map.kept(draws, at, GOOD)
    whole, short = draws.at(LEVELS)[:, 0], found.at(PLACE, NUMBERS)
    assert np.abs(short - whole).max() <= 2e-3 * whole.std(axis=0).max()
    assert short.tobytes() != whole.tobytes()


def test_draws_are_thinned_over_all_replicates(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    draws, at = made
    monkeypatch.setattr(kept, "MOST_DRAWS", 20)
    found = made_up_map.kept(draws, at, GOOD)
    assert found.around.shape == (20, *draws.coefficients.shape[1:])
    assert set(found.own) == set(draws.own)
    assert found.centre.tobytes() == draws.coefficients.mean(axis=0).tobytes()


def test_a_point_is_at_its_own_place(made: Made) -> None:
    draws, at = made
    found = made_up_map.kept(draws, at, GOOD)
    for n in range(len(at["point"])):
        place = {name: at[name][n] for name in ("spread", "at_work", "steps")} | {"skew": NUMBERS["skew"][at["skew"][n]]}
        apart = found.distances(place, NUMBERS)
        same = [all(at[name][k] == at[name][n] for name in LEVELS) for k in range(len(at["point"]))]
        assert (apart == 0).tolist() == same


def test_an_algorithm_is_known_where_it_ran(made: Made) -> None:
    """At a level, or on both sides of a number between levels."""
    draws, at = made
    given = made_up_map.kept(draws, at, GOOD)
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
