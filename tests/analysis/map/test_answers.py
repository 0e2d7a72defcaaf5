"""What follows from draws of log costs, by hand and in a world whose truth is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fedbench.analysis.map.answers import always, close_to_best, predicted_set, regrets, waiting
from fedbench.analysis.map.draws import Draws, drawn
from fedbench.analysis.map.factors import Design
from fedbench.analysis.map.fit import fit
from fedbench.errors import UsageError
from tests.analysis.map.made_up import FACTORS, PAIRS, Truth, World, levels, points

# Four draws of the costs of three algorithms at one place: the first is the best in two of them,
# and within 10 % in a third.
COSTS = np.log([[[1.0, 1.3, 2.0]], [[1.0, 1.05, 2.0]], [[1.05, 1.0, 2.0]], [[4.0, 3.0, 2.0]]])
FIRST_TWO = np.array([[True, True, False]])


def test_regrets_and_who_is_close_to_the_best() -> None:
    assert np.exp(regrets(COSTS))[0, 0] == pytest.approx([1, 1.3, 2])
    assert np.exp(regrets(COSTS, FIRST_TWO))[3, 0] == pytest.approx([4 / 3, 1, np.nan], nan_ok=True)
    assert close_to_best(COSTS).tolist() == [[0.75, 0.5, 0.25]]
    assert close_to_best(COSTS, FIRST_TWO).tolist() == [[0.75, 0.75, 0]]
    with pytest.raises(UsageError, match=r"^map: no algorithm runs at the levels number 1$"):
        regrets(COSTS, np.zeros((1, 3), bool))


def test_a_set_takes_in_who_is_close_where_the_others_are_not() -> None:
    """The second is close more often than the third, but never where the first is not."""
    assert predicted_set(COSTS, sure=0.75).tolist() == [[True, False, False]]
    assert predicted_set(COSTS, sure=0.9).tolist() == [[True, False, True]]
    assert predicted_set(COSTS, FIRST_TWO, sure=0.9).tolist() == [[True, True, False]]


@pytest.fixture(scope="module", name="world")
def _world() -> tuple[Draws, Truth]:
    """A world that is known almost exactly."""
    generator = np.random.Generator(np.random.Philox(5))
    at = points(generator, 40)
    world = World(algorithms=4, fit=0.004, point=0.004, seed=0.004, noise=(0.01, 0.01, 0.01, 0.01))
    truth = world.truth(generator, Design.over(FACTORS, PAIRS, at))
    columns = truth.runs(generator, at["point"], truth.expected(generator, at), seeds=(2, 3))
    return drawn(fit(columns, at, FACTORS, PAIRS), replicates=4, draws=25), truth


def test_always_this_one(world: tuple[Draws, Truth]) -> None:
    draws, truth = world
    at = levels(np.random.default_rng(8), 25)
    costs = truth.design.matrix(at) @ truth.coefficients.T
    regret = costs - costs.min(axis=1, keepdims=True)
    found = always(draws, at)
    assert np.log(found.value) == pytest.approx(regret.mean(axis=0), abs=0.02)
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()
    there = np.ones((25, 4), bool)
    there[3, 2] = False
    part = always(draws, at, there)
    assert np.isnan(part.value).tolist() == np.isnan(part.high).tolist() == [False, False, True, False]


def test_the_price_of_waiting(world: tuple[Draws, Truth]) -> None:
    draws, truth = world
    pairs = list(itertools.product([0.0, 0.6, 1.2], [5, 100]))
    at = {"skew": ["iid"] * 6, "steps": [10] * 6, "spread": [one for one, _ in pairs], "at_work": [other for _, other in pairs]}
    waits = np.array([False, True, False, True])
    found = waiting(draws, waits, at, np.ones((6, 4), bool))
    costs = truth.design.matrix(at) @ truth.coefficients.T
    assert np.log(found.value) == pytest.approx(costs[:, waits].min(axis=1) - costs[:, ~waits].min(axis=1), abs=0.06)
    alone = waiting(draws, waits, at, np.tile([True, True, True, False], (6, 1)))
    assert (alone.value >= found.value).all()
