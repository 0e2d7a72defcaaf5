"""A made-up truth is found again, through records, boards, columns and models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import asking, factors, fitting
from fedbench.suites.mapped.fitting import Fitted
from fedbench.suites.mapped.statements import Map
from fedbench.suites.suite import Suite
from tests.suites.mapped import made_up, small

AXES = ("seconds", "gradient_evaluations", "bytes")


def true(name: str, levels: Mapping[str, Any], axis: str = "seconds") -> float:
    """The expected logarithm of a cost."""
    rate = math.log(1000 * made_up.DEAR[axis].get(name, 1.0)) if axis in made_up.DEAR else 0.0
    return made_up.seconds(name, levels) + rate


def runs(name: str, levels: Mapping[str, Any]) -> bool:
    return name in small.WITHOUT_DATA and (name != "asysg" or levels["at_work"] == 20)


def regret(name: str, levels: Mapping[str, Any], axis: str = "seconds") -> float:
    return math.exp(true(name, levels, axis) - min(true(one, levels, axis) for one in small.WITHOUT_DATA if runs(one, levels)))


def test_which_algorithm_to_take(said: Map, suite: Suite) -> None:
    """At a point an algorithm costs what is true, and its interval says so."""
    cases = {one.words: one.levels for one in factors.cases(suite.designed())}
    assert len(said.advice) == 4 * (2 + 1 + 1)
    for one in said.advice:
        levels = {**cases[one.words], "at_work": one.at_work}
        first = next(iter(one.tries))
        assert regret(first, levels, one.axis) < 1.1
        assert one.cost[0] == pytest.approx(math.exp(true(first, levels, one.axis)), rel=0.06)
        assert one.cost[1] < one.cost[0] < one.cost[2]
        for name, ratio in one.tries.items():
            assert ratio[0] == pytest.approx(regret(name, levels, one.axis), rel=0.08)
    assert {one.at_work for one in said.advice if one.axis == "seconds"} == {3, 20}
    assert {one.at_work for one in said.advice if one.axis != "seconds"} == {3}


def test_what_it_costs_to_always_use_one_algorithm(said: Map, suite: Suite) -> None:
    design = [point for point in suite.points if point.kind == "design"]
    for one in said.always:
        points = [point for point in design if one.at_work in (None, point.levels["at_work"])]
        each = {point.name: regret(one.algorithm, point.levels, one.axis) for point in points}
        mean = math.exp(sum(map(math.log, each.values())) / len(each))
        assert one.mean[0] == pytest.approx(mean, rel=0.05)
        assert one.worst[0] == pytest.approx(max(each.values()), rel=0.08)
        assert one.worst[2] is not None
        assert one.worst[1] <= one.worst[0] <= one.worst[2]
        assert each[one.worst_at] > 0.9 * max(each.values())
    named = {(one.at_work, one.algorithm) for one in said.always if one.axis == "bytes"}
    assert named == {(None, name) for name in small.WITHOUT_DATA if name != "asysg"} | {(20, name) for name in small.WITHOUT_DATA}


def test_who_is_close_to_the_best_by_region(said: Map, suite: Suite) -> None:
    """As the share of the possible points in the region at which that is true."""
    possible = factors.possible(suite.designed())
    regions = [one for one in said.regions if one.axis == "seconds"]
    assert len(regions) == 2 * 3 + 2 + 3 + 3
    for one in regions:
        inside = [levels for levels in possible if all(levels[name] == level for name, level in one.levels.items())]
        assert list(one.close) == sorted(small.WITHOUT_DATA)
        for name, share in one.close.items():
            where = [levels for levels in inside if runs(name, levels)]
            low, high = (sum(regret(name, levels) <= least for levels in where) / len(inside) for least in (1.03, 1.18))
            assert low - 0.05 <= share <= high + 0.05, (one.levels, name)


def test_what_waiting_costs(said: Map) -> None:
    """AsySG does not wait, and does not run where fewer than all may be at work."""
    found = [one for one in said.prices if one.axis == "seconds"]
    assert len(found) == 9
    for one in found:
        levels = {"skew": "two_class", **one.levels}
        costs = {name: true(name, levels) for name in small.WITHOUT_DATA if runs(name, levels)}
        waits = min(cost for name, cost in costs.items() if name in made_up.WAITS)
        rest = min(cost for name, cost in costs.items() if name not in made_up.WAITS)
        assert one.ratio is not None
        assert one.ratio[0] == pytest.approx(math.exp(waits - rest), rel=0.08)


def test_a_model_that_holds_predicts(said: Map) -> None:
    assert [one.axis for one in said.judged] == list(AXES)
    for one in said.judged:
        assert one.error < 0.1 < one.nearest
        assert len(one.rows) == 4
        assert one.missed == ()
        assert all(set(own) <= set(small.WITHOUT_DATA) for own in one.in_sets.values())
        assert {"fedbuff", "feddyn"} & set(one.in_sets["held-out-01"])
        assert one.predicts
        assert said.predicts(one.axis)
    assert not said.predicts("updates")


def test_how_sure_it_is(said: Map) -> None:
    """Seeds scatter by 3 %, and so do runs; nothing is beyond the factors."""
    assert said.seeds == (3, 3)
    assert said.censored == 0
    assert len(said.design) == 12
    assert len(said.points) == 16
    assert said.public_data == ("fedecho",)
    assert said.algorithms == tuple(sorted(small.WITHOUT_DATA))
    assert said.luck is None
    assert said.waits == made_up.WAITS
    for one in said.sure:
        assert one.seed == pytest.approx(0.03, abs=0.015)
        assert one.noise == pytest.approx(0.03, abs=0.015)
        assert one.fit[0] < 0.04


def test_points_held_out_that_cannot_be_judged_are_no_hits(results: Results, fitted: Fitted) -> None:
    """At one nobody holds the target with every seed, at another there is no set of the best."""
    first, second, *_ = (point.name for point in results.suite.points if point.kind == "held_out")
    seats = dict(results.seats)
    seats[first] = {
        row: [made_up.run(row.split()[0], first, run.seed, None if run.seed == 1 else 4.0 + run.seed) for run in of_row]
        for row, of_row in seats[first].items()
    }
    seats[second] = {row: of_row[:2] for row, of_row in seats[second].items()}
    several = replace(results, seats=seats)
    with pytest.raises(Exception, match=f"no target gets a verdict at {second}"):
        fitting.both(several)
    changed = replace(results, seats=seats | {second: results.seats[second]})
    found = asking.said(changed, replace(fitted, entered=fitting.entered(changed)))
    for one in found.judged:
        assert one.undecided == {first: "every algorithm in a set of the best misses a target with some seed"}
        assert first not in one.rows
        assert not one.predicts, "three hits of four points are too few"


def test_luck_is_the_scatter_of_winners_over_draws_of_the_tuning(results: Results, fitted: Fitted) -> None:
    assert results.frozen is not None
    points = results.frozen.points

    def longer(times: float) -> dict[str, Any]:
        return {
            point: {
                name: replace(choice, score=replace(choice.score, restricted_mean_seconds=4 * times))
                for name, choice in of_point.items()
            }
            for point, of_point in points.items()
        }

    drawn = results.frozen.model_copy(update={"draws": {1: longer(math.e**0.2), 2: longer(math.e**-0.2)}})
    found = asking.said(replace(results, frozen=drawn), fitted)
    assert found.luck == pytest.approx(0.2)
