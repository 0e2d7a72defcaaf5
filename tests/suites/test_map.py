"""The suite map asks what its design says, of everybody who can answer."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.scenarios import load as scenarios
from fedbench.suites import space as spaces
from fedbench.suites import tuned
from fedbench.suites.anchors import distance
from fedbench.suites.at_work import capped
from fedbench.suites.campaign import applicable
from fedbench.suites.design import schema as designs
from fedbench.suites.luck import place_of
from fedbench.suites.suite import Point, Suite, load
from fedbench.suites.tuning_parts import Anchors


def test_every_algorithm_but_one_reference_takes_part() -> None:
    """Of those that were there when its points were drawn; a later one does not enter by itself."""
    names = {registry.parse_selector(selector)[0] for selector in load("map").selectors()}
    assert len(names) == 42
    assert names < set(registry.ALGORITHMS)
    assert "local_only" not in names


def test_its_points_are_scenarios_of_the_design() -> None:
    suite = load("map")
    assert Counter(point.kind for point in suite.points) == {"design": 60, "held_out": 12, "other_clients": 6}
    assert len({suite.scenario_at(point).content_hash() for point in suite.points}) == 78
    for point in suite.points:
        scenario = suite.scenario_at(point)
        assert scenario.at_work == point.levels["at_work"]
        assert scenario.local.steps == point.levels["steps"]
        assert scenario.network.upload_over_compute == point.levels["upload"]
        assert (scenario.availability.kind == "always") == (point.levels["available"] == 1)
        assert scenario.clients == point.levels.get("clients", 100)
        assert scenario.compute.harmonic_job_seconds == 1.5  # type: ignore[union-attr]


# ---- how it is tuned ----

ROOT = Path(__file__).parents[2]
CORNERS = list(itertools.product(("iid", "dirichlet_0.3", "two_classes"), (5, 100), (2, 30)))
"""The extremes of skew, at work and steps, and of the skews also the one that is nearest to their
middle."""


def _corner(point: Point) -> tuple[object, ...]:
    return point.levels["skew"], point.levels["at_work"], point.levels["steps"]


@pytest.fixture(name="suite", scope="module")
def _suite() -> Suite:
    return load("map")


def _part(suite: Suite) -> Anchors:
    assert suite.anchors is not None
    return suite.anchors


def test_the_numbers_of_the_skews_are_their_mean_total_variation(suite: Suite) -> None:
    """Of the classes of a client and of all, with the first three seeds."""
    found = {}
    for level in designs.load("map").factors["skew"].levels:
        changes = [f"{key}={json.dumps(value)}" for key, value in level.set.items()]
        scenario, apart = scenarios.load("map-fashion", changes), []
        for seed in range(3):
            counts = Setup(RunSpec(scenario, registry.algorithm("fedavg"), seed)).counts
            shares = counts / counts.sum(axis=1, keepdims=True)
            apart.append(np.abs(shares - counts.sum(axis=0) / counts.sum()).sum(axis=1).mean() / 2)
        found[level.level] = round(float(np.mean(apart)), 2)
    assert _part(suite).numbers == {"skew": pytest.approx(found, abs=0.011)}
    middle = (found["iid"] + found["two_classes"]) / 2
    assert min(found, key=lambda level: abs(found[level] - middle)) == "dirichlet_0.3"


def test_there_is_an_anchor_in_every_corner_with_few_at_work_and_in_those_with_draws(suite: Suite) -> None:
    part = _part(suite)
    assert part.draws is not None
    drawn = {_corner(suite.point(name)) for name in part.draws.points}
    assert [_corner(suite.point(name)) for name in part.points] == [one for one in CORNERS if one[1] == 5 or one in drawn]
    assert set(part.draws.points) <= set(part.points)
    assert all(suite.point(name).kind == "design" for name in part.points)


def test_no_other_choice_of_anchors_is_nearer(suite: Suite) -> None:
    """Of all that have one point in each corner; the distance is that to the nearest, averaged over
    the points. Three of the best choice are left out, for their price."""
    part = _part(suite)
    places, names = suite.places, [point.name for point in suite.points if point.kind == "design" and _corner(point) in CORNERS]
    first = np.array([[distance(part, places[a], places[b], part.first) for b in places] for a in names])
    whole = np.array([[distance(part, places[a], places[b]) for b in places] for a in names])
    several = [[i for i, name in enumerate(names) if _corner(suite.point(name)) == corner] for corner in CORNERS]
    chosen = np.array(list(itertools.product(*several)))
    nearest = (1000 * first + whole)[chosen].argmin(axis=1)
    means = whole[chosen[np.arange(len(chosen))[:, None], nearest], np.arange(len(places))].mean(axis=1).round(6)
    assert len(chosen) == 62_208
    assert [name for i in chosen[int(means.argmin())] if (name := names[i]) in part.points] == list(part.points)
    assert means.min() == pytest.approx(1.380454)


def test_draws_are_made_at_half_of_the_corners(suite: Suite) -> None:
    """Of each skew two that differ in both other factors, so that every level is there equally
    often."""
    part = _part(suite)
    assert part.draws is not None
    corners = [_corner(suite.point(name)) for name in part.draws.points]
    assert [set(Counter(one).values()) for one in zip(*corners, strict=True)] == [{2}, {3}, {3}]
    assert all(a[1] != b[1] and a[2] != b[2] for a, b in itertools.combinations(corners, 2) if a[0] == b[0])


def test_the_space_is_that_of_axes_wider_where_winners_were_at_an_end() -> None:
    """Two in five or more of them in the outer tenth."""
    ours, theirs, axes = spaces.load("map"), spaces.load("axes"), load("axes")
    chosen: dict[tuple[str, str], list[float]] = {}
    for of_point in tuned.read(ROOT / "results/tuned/axes.yaml", axes).points.values():
        for selector, choice in of_point.items():
            name = registry.parse_selector(selector)[0]
            for key in set(choice.options) & set(theirs.algorithms[name].options):
                chosen.setdefault((name, key), []).append(
                    place_of(theirs.algorithms[name].options[key], float(str(choice.options[key])))
                )
    assert set(ours.algorithms) < set(theirs.algorithms)
    assert "local_only" not in ours.algorithms
    moved = set()
    for name in ours.algorithms:
        for key, interval in theirs.algorithms[name].options.items():
            found = np.array(chosen.get((name, key), [0.5]))
            is_low, is_high = 5 * (found < 0.1).sum() >= 2 * len(found), 5 * (found > 0.9).sum() >= 2 * len(found)
            wider = ours.algorithms[name].options[key]
            assert (wider.low < interval.low, wider.high > interval.high) == (is_low, is_high), (name, key)
            assert wider.low <= interval.low
            moved |= {(name, key)} if is_low or is_high else set()
    assert len(moved) == 10


def test_what_keeps_to_the_cap_is_not_tuned(suite: Suite) -> None:
    """So no anchor lends it."""
    space = spaces.load("map")
    for point, selector in itertools.product((suite.point("design-01"), suite.point("design-05")), suite.selectors()):
        name, options = registry.parse_selector(selector)
        assert not set(capped(registry.find("algorithm", name), options, suite.scenario_at(point))) & set(
            space.algorithms[name].options
        )


@pytest.mark.slow
def test_every_algorithm_runs_at_some_anchor(suite: Suite) -> None:
    anchors = [suite.point(name) for name in _part(suite).points]
    runs = Counter(selector for _, selector, refused in applicable(suite, anchors, suite.selectors()) if not refused)
    assert len(runs) == len(suite.selectors())
    assert min(runs.values()) >= 2


def test_its_choices_are_all_there(suite: Suite) -> None:
    """2,498: of those that keep to any cap at all 78 points, of others where the cap allows
    them."""
    found = tuned.read(ROOT / "results/tuned/map.yaml", suite)
    assert set(found.points) == {point.name for point in suite.points}
    counts = Counter(selector for choices in found.points.values() for selector in choices)
    assert set(counts) == set(suite.selectors())
    assert Counter(counts.values()) == {78: 26, 41: 1, 30: 13, 21: 1, 18: 1}
