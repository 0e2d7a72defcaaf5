"""The columns of a model over factors."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from fedbench.analysis.map.factors import INTERACTION, LEVEL, MAIN, SQUARE, Design, Factor
from fedbench.errors import UsageError
from fedbench.suites.design.schema import load

SKEW, WORK = Factor("skew", kinds=("iid", "some", "two")), Factor("at_work", is_log=True, has_square=True)
POINTS: dict[str, list[Any]] = {
    "skew": ["iid", "some", "two"] * 4,
    "at_work": [1, 1, 1, 10, 10, 10, 100, 100, 100, 10, 1, 100],
}

EXPECTED = "map: expected as many levels of every factor, and at least one, got"


def test_the_columns_by_hand() -> None:
    found = Design.over([SKEW, WORK], [("skew", "at_work")], POINTS)
    assert found.terms == ("1", "skew.1", "skew.2", "at_work", "at_work^2", "skew.1 x at_work", "skew.2 x at_work")
    assert found.groups.tolist() == [LEVEL, MAIN, MAIN, MAIN, SQUARE, INTERACTION, INTERACTION]
    x = found.matrix(POINTS)
    assert x[:, 1:].mean(axis=0) == pytest.approx(np.zeros(6), abs=1e-12)
    assert x[:, 1:].std(axis=0) == pytest.approx(np.ones(6))
    assert (x[:, 0] == 1).all()
    coded = np.log10(POINTS["at_work"]) - 1  # -1, 0, 1
    assert x[:, 3] == pytest.approx((coded - coded.mean()) / coded.std())
    assert x[:, 4] == pytest.approx((coded**2 - (coded**2).mean()) / (coded**2).std())
    second = np.where(np.array(POINTS["skew"]) == "two", 2.0, -1.0)  # the last kind with the mean of the others
    assert x[:, 2] == pytest.approx(second / np.sqrt(2))
    assert x[:, 6] == pytest.approx((second * coded - (second * coded).mean()) / (second * coded).std())


def test_kinds_are_treated_alike() -> None:
    """Whichever order they have, the columns have the same inner products."""
    other = Design.over([Factor("skew", kinds=("two", "iid", "some")), WORK], [("skew", "at_work")], POINTS)
    one = Design.over([SKEW, WORK], [("skew", "at_work")], POINTS)
    first, second = (design.matrix(POINTS)[:, 1:3] for design in (one, other))
    assert first @ first.T == pytest.approx(second @ second.T)


def test_distances() -> None:
    """From end to end of a numeric factor it is as far as from one kind to another."""
    found = Design.over([SKEW, WORK], [], POINTS)
    places = found.coordinates({"skew": ["iid", "iid", "two", "two"], "at_work": [1, 100, 1, 10]})
    assert np.linalg.norm(places - places[0], axis=1) == pytest.approx([0, 2, 2, np.sqrt(5)])


def test_the_columns_of_the_design_map_are_those_that_it_was_drawn_for() -> None:
    """As many, without those that impossible points leave no room for, and inflated as much."""
    drawn = load("map")
    factors = [
        Factor(name, () if one.numbers else tuple(map(str, one.values)), one.scale == "log", len(one.numbers or ()) > 2)
        for name, one in drawn.factors.items()
    ]
    cells = itertools.product(*(one.values for one in drawn.factors.values()))
    there = [cell for cell, is_possible in zip(cells, drawn.possible().ravel(), strict=True) if is_possible]
    at, possible = (
        dict(zip(drawn.factors, map(list, zip(*rows, strict=True)), strict=True)) for rows in (drawn.rows()["design"], there)
    )
    found = Design.over(factors, drawn.pairs(), at, possible)
    assert drawn.drawn is not None
    figures = drawn.drawn.figures
    assert len(found.terms) == figures.effects
    assert Counter(re.sub(r"[.]\d", "", name) for name in found.left_out) == figures.left_out
    x = found.matrix(at)
    assert np.linalg.inv(x.T @ x).diagonal().max() * len(x) == pytest.approx(figures.variance_inflation, abs=0.06)
    with pytest.raises(UsageError, match=r"^map: 60 points tell 43 of the model's 46 columns apart; expected more points"):
        Design.over(factors, drawn.pairs(), at)


@pytest.mark.parametrize(
    ("factors", "pairs", "points", "message"),
    [
        ([SKEW, WORK], [("skew", "at_wrok")], POINTS, "map: an interaction names the factor 'at_wrok'; did you mean 'at_work'?"),
        ([SKEW, WORK], [], {"skew": POINTS["skew"]}, "map: factor at_work has no level; given: skew"),
        ([SKEW], [], {"skew": ["iid", "sume"]}, "map: factor skew is 'sume'; did you mean 'some'?"),
        ([WORK], [], {"at_work": [1, 0]}, "map: factor at_work is 0, expected a number above 0, since it acts by its logarithm"),
        ([Factor("spread")], [], {"spread": [1, "2"]}, "map: factor spread is '2', expected a finite number"),
        ([Factor("spread")], [], {"spread": [1, 1]}, "map: factor spread is 1 at all points, expected two values"),
        ([SKEW, WORK], [], {"skew": ["iid"], "at_work": [1, 2]}, f"{EXPECTED} 1 of skew, 2 of at_work"),
        ([], [], {}, f"{EXPECTED} no factor"),
        (
            [SKEW, WORK], [("skew", "at_work")], {name: column[:5] for name, column in POINTS.items()},
            "map: 5 points tell 5 of the model's 7 columns apart; expected more points, or fewer interactions",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(factors: list[Factor], pairs: list[tuple[str, str]], points: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        Design.over(factors, pairs, points)
