"""The suite map-cnn has the points and the anchors that its rules choose."""

from __future__ import annotations

import itertools
from math import fsum
from pathlib import Path

import pytest

from fedbench.suites.anchors import distance
from fedbench.suites.findings.results import load as results_of
from fedbench.suites.suite import Suite, load
from fedbench.suites.tuning_parts import Anchors
from tests.suites.mapped.leading import covering, leaders


@pytest.fixture(name="own", scope="module")
def _own() -> Suite:
    return load("map-cnn")


def part(suite: Suite) -> Anchors:
    assert suite.anchors is not None
    return suite.anchors


def test_its_points_are_those_of_the_map_with_another_network(own: Suite) -> None:
    suite = load("map")
    for point in own.points:
        ours, theirs = own.scenario_at(point), suite.scenario_at(suite.point(point.name))
        assert point.levels == suite.point(point.name).levels
        assert ours.budget.seconds == pytest.approx(2 * theirs.budget.seconds)
        several = {"task": theirs.task, "budget": theirs.budget, "evaluation": theirs.evaluation, "targets": theirs.targets}
        assert ours.model_copy(update={**several, "name": theirs.name, "about": theirs.about}) == theirs


def test_each_point_lies_farthest_from_those_before_it(own: Suite) -> None:
    suite = load("map")
    places = {point.name: point.places for point in suite.points if point.kind == "design"}
    apart = {a: {b: distance(part(suite), places[a], places[b]) for b in places} for a in places}
    chosen = [min(places, key=lambda name: (fsum(apart[name].values()), name))]
    while len(chosen) < 12:
        others = [name for name in places if name not in chosen]
        chosen.append(min(others, key=lambda name: (-min(apart[name][one] for one in chosen), name)))
    assert [point.name for point in own.points] == chosen


def test_no_other_choice_of_anchors_is_nearer(own: Suite) -> None:
    """Of all that have two points with 5 at work and two with 100."""
    anchors, places = part(own), own.places
    assert anchors.numbers == part(load("map")).numbers
    few, many = ([point.name for point in own.points if point.levels["at_work"] == count] for count in (5, 100))

    def mean(chosen: tuple[str, ...]) -> float:
        near = [
            min(
                chosen,
                key=lambda one: (distance(anchors, places[one], at, anchors.first), distance(anchors, places[one], at), one),
            )
            for at in places.values()
        ]
        return fsum(distance(anchors, places[one], at) for one, at in zip(near, places.values(), strict=True)) / len(places)

    several = [(*a, *b) for a in itertools.combinations(few, 2) for b in itertools.combinations(many, 2)]
    assert len(several) == 150
    best = min(several, key=lambda chosen: (round(mean(chosen), 6), chosen))
    assert set(best) == set(anchors.points)
    assert mean(best) == pytest.approx(1.861763, abs=1e-6)


def test_both_have_the_space_of_the_map_and_other_seeds_than_those_compared(own: Suite) -> None:
    assert own.tuning is not None
    assert own.tuning.space == "map"
    assert not set(own.tuning_seeds(draw=0)) & set(own.seeds.numbers)
    assert not own.has_map


def test_its_algorithms_are_in_most_sets_of_the_best() -> None:
    sets = ["ab", "b", "cd", "cd", "dce", "x", ""]
    assert covering(sets, "a", 2) == ["a", "c"], "c and d are in three sets each"
    assert covering(sets, "a", 4) == ["a", "c", "b", "x"], "b and x are in one bare set each, and b in two in all"
    assert covering(sets, "a", 5) == ["a", "c", "b", "x", "d"], "no set is bare, and d is in three"
    assert covering(sets, "a", 9) == ["a", "c", "b", "x", "d", "e"]
    assert covering([], "a", 6) == ["a"]


RESULTS = Path(__file__).resolve().parents[2] / "results"


@pytest.mark.slow
@pytest.mark.skipif(not (RESULTS / "suites/map").exists(), reason="the map is still being run")
def test_its_algorithms_are_those_of_the_map(own: Suite) -> None:
    found = results_of(load("map"), RESULTS / "tuned", RESULTS / "suites")
    assert list(own.algorithms) == leaders(found, [point.name for point in own.points])
