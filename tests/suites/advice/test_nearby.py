"""What was measured at the nearest points of a map that does not predict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from fedbench.analysis.map import saved
from fedbench.analysis.map.parts import MapPart
from fedbench.suites import suite as suites
from fedbench.suites.advice.advise import SHIPPED
from fedbench.suites.advice.made import regrets
from fedbench.suites.advice.nearby import NEAR, Nearby, Worth, worth
from fedbench.suites.findings.results import load
from tests.analysis.map.made_up_map import NAMES, NUMBERS, costs, made_up

PLACE = {"skew": 0.5, "spread": 0.5, "at_work": 30.0, "steps": 10.0}
GIVEN = costs(0)
ABOUT: MapPart = made_up().about
CAN = dict.fromkeys(NAMES, "")
RESULTS = Path(__file__).resolve().parents[3] / "results"


def at_near(values: list[list[float]], elsewhere: float = 0.0) -> tuple[Nearby, list[int]]:
    """What is near the place if these are the regrets at the five nearest points."""
    near = GIVEN.distances(PLACE, NUMBERS).argsort(kind="stable")[:NEAR].tolist()
    log = np.full(GIVEN.log.shape, elsewhere)
    log[near] = np.log(values)
    return Nearby.of(replace(GIVEN, regret=log), PLACE, ABOUT, CAN, public_data=False), near


def test_the_mean_over_the_nearest_points_decides() -> None:
    """FedEcho, the fourth, is in a group of its own."""
    found, near = at_near([[3, 1, 4, 1, 8, 16], [3, 1, 4, 1, 8, 1], [3, 8, 1, 1, 8, 1], [3, 4, 1, 1, 8, 1], [3, 1, 1.5, 1, 8, 1]])
    assert found.points == tuple(GIVEN.points["point"][k] for k in near)
    assert found.enough == [NAMES[k] for k in (5, 2, 1, 0, 4)]
    assert found.ratio(NAMES[2]) is not None
    ratio = found.ratio(NAMES[1])
    assert ratio is not None
    assert ratio.numbers == pytest.approx((32 ** (1 / 5), 1, 8))
    assert found.ratio("fedecho") is None
    assert found.among == 5
    assert found.probability(NAMES[1]) is None  # type: ignore[func-returns-value]


def test_costs_are_over_those_of_the_best_that_can_run() -> None:
    values = [[4.0, 1.0, 2.0, 1.0, 8.0, 8.0]] * 5
    log = np.tile(np.log(values[0]), (len(GIVEN.log), 1))
    found = Nearby.of(replace(GIVEN, regret=log), PLACE, ABOUT, CAN | {NAMES[1]: "it cannot"}, public_data=False)
    assert (found.enough, found.among) == ([NAMES[k] for k in (2, 0, 4, 5)], 4)
    ratio = found.ratio(NAMES[0])
    assert ratio is not None
    assert ratio.value == pytest.approx(2)


def test_who_has_runs_at_half_of_the_points_or_fewer_is_not_compared() -> None:
    some, fewer = [[1.0] * 6 for _ in range(5)], [[1.0] * 6 for _ in range(5)]
    for k in range(2):
        some[k][0] = np.nan
    for k in range(3):
        fewer[k][0] = np.nan
    assert NAMES[0] in at_near(some)[0].enough
    assert NAMES[0] not in at_near(fewer)[0].enough


def test_what_a_list_is_worth_is_counted_at_the_points() -> None:
    """Again, in loops."""
    log, names, of_group = GIVEN.regret, list(NAMES), [name != "fedecho" for name in NAMES]
    at = [
        {name: NUMBERS["skew"][value] if name == "skew" else value for name, value in zip(PLACE, row, strict=True)}
        for row in zip(*(GIVEN.points[name] for name in PLACE), strict=True)
    ]
    hits = first = 0
    for n, place in enumerate(at):
        apart = GIVEN.distances(place, NUMBERS)
        near = sorted((k for k in range(len(at)) if k != n), key=lambda k: (apart[k], k))[:NEAR]
        mean = {}
        for k, name in enumerate(names):
            seen = [log[j, k] - np.nanmin(log[j, of_group]) for j in near if not np.isnan(log[j, k])]
            if of_group[k] and not np.isnan(log[n, k]) and len(seen) > NEAR / 2:
                mean[name] = sum(seen) / len(seen)
        named = sorted(mean, key=lambda name: mean[name])[:5]
        close = [log[n, names.index(name)] - np.nanmin(log[n, of_group]) <= np.log(1.1) for name in named]
        hits, first = hits + any(close), first + close[0]
    assert worth(GIVEN, np.array(of_group)) == Worth(24, hits, first)
    assert 0 < first < hits


@pytest.mark.parametrize(("points", "hits"), [(60, 45), (12, 12), (7, 0)])
def test_the_interval_is_that_of_a_share(points: int, hits: int) -> None:
    found = binomtest(hits, points).proportion_ci()
    assert Worth(points, hits, 0).interval == pytest.approx((found.low, found.high))


@pytest.mark.slow
def test_the_regrets_of_the_published_map_are_those_of_its_boards() -> None:
    results, read = load(suites.load("map"), RESULTS / "tuned", RESULTS / "suites"), saved.read(SHIPPED)
    for axis, one in read.costs.items():
        found = regrets(results, one.points["point"], one.algorithms, axis)
        assert found.tobytes() == one.regret.tobytes()
        ranking = results.tuned["design-13"].ranking(results.tuned["design-13"].groups[0], axis)
        regret = ranking.regret("fedbuff")
        assert regret is not None
        at = one.points["point"].index("design-13"), one.algorithms.index("fedbuff")
        assert np.exp(found[at]) == pytest.approx(regret.value)
