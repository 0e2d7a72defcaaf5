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


def test_who_has_no_runs_at_one_of_the_points_is_not_compared() -> None:
    values = [[1.0] * 6 for _ in range(5)]
    values[4][0] = np.nan
    assert NAMES[0] not in at_near(values)[0].enough
    assert NAMES[1] in at_near(values)[0].enough


def test_who_misses_a_target_has_a_bound() -> None:
    found, near = at_near([[1.0] * 6 for _ in range(5)])
    is_bound = np.zeros(GIVEN.log.shape, bool)
    is_bound[near[3], 1] = True
    again = Nearby.of(replace(found.costs, is_bound=is_bound), PLACE, ABOUT, CAN, public_data=False)
    assert [again.misses(name) for name in NAMES] == [False, True, False, False, False, False]


def test_what_a_list_is_worth_is_counted_at_the_points() -> None:
    """Again, in loops. A row that misses a target is no hit."""
    of_group = [name != "fedecho" for name in NAMES]
    generator = np.random.default_rng(3)
    log = GIVEN.regret * generator.uniform(0.2, 1, GIVEN.regret.shape)
    log[generator.uniform(size=log.shape) < 0.02] = np.nan
    given = replace(GIVEN, regret=log, is_bound=generator.uniform(size=log.shape) < 0.3)
    at = [
        {name: NUMBERS["skew"][value] if name == "skew" else value for name, value in zip(PLACE, row, strict=True)}
        for row in zip(*(given.points[name] for name in PLACE), strict=True)
    ]

    def over(n: int, k: int) -> float:
        return float(log[n, k] - np.nanmin(log[n, of_group]))

    def named(n: int, others: list[int], least: float) -> list[int]:
        mean = {}
        for k in range(len(NAMES)):
            seen = [over(j, k) for j in others if not np.isnan(log[j, k])]
            if of_group[k] and not np.isnan(log[n, k]) and len(seen) >= least * len(others):
                mean[k] = sum(seen) / len(seen)
        return sorted(mean, key=lambda k: mean[k])[:5]

    hits = first = everywhere = 0
    for n, place in enumerate(at):
        apart = given.distances(place, NUMBERS)
        others = sorted((k for k in range(len(at)) if k != n), key=lambda k: (apart[k], k))
        near, far = named(n, others[:NEAR], 1), named(n, others, 0.5)
        is_hit = [over(n, k) <= np.log(1.1) and not given.is_bound[n, k] for k in range(len(NAMES))]
        hits += any(is_hit[k] for k in near)
        first += any(is_hit[k] for k in near[:1])
        everywhere += any(is_hit[k] for k in far)
    assert worth(given, np.array(of_group)) == Worth(24, hits, first, everywhere)
    assert 0 < first < hits < 24
    assert everywhere > 0


def test_a_map_of_few_points_is_no_neighbour_of_itself() -> None:
    few = replace(GIVEN, points={name: column[:3] for name, column in GIVEN.points.items()})
    few = replace(
        few, log=GIVEN.log[:3], is_bound=np.zeros((3, 6), bool), regret=np.log([[1, 2, 2, 2, 2, 2], *[[4, 1, 1, 1, 1, 1]] * 2])
    )
    assert worth(few, np.array([True, False, False, False, False, True])).first == 2
    one = replace(
        few, points={name: column[:1] for name, column in few.points.items()}, log=few.log[:1], is_bound=few.is_bound[:1]
    )
    assert worth(replace(one, regret=few.regret[:1]), np.ones(6, bool)) == Worth(0, 0, 0, 0)


@pytest.mark.parametrize(("points", "hits"), [(60, 45), (12, 12), (7, 0)])
def test_the_interval_is_that_of_a_share(points: int, hits: int) -> None:
    found = binomtest(hits, points).proportion_ci()
    assert Worth(points, hits, 0, 0).interval == pytest.approx((found.low, found.high))


def test_the_page_says_what_the_published_map_is_worth() -> None:
    read = saved.read(SHIPPED)
    found = [worth(one, np.array([name not in read.about.public_data for name in one.algorithms])) for one in read.costs.values()]
    assert [one.points for one in found] == [60] * 3
    near, everywhere = [one.hits for one in found], [one.everywhere for one in found]
    page = " ".join((RESULTS.parent / "docs/learn/how-the-map-was-made.md").read_text().split())
    assert "at {} points by time, {} by gradients and {} by bytes".format(*near) in page
    assert "A list from all other points does so at {}, {} and {},".format(*everywhere) in page


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
