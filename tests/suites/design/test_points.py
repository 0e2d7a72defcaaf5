"""Rows of a design become points of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from fedbench.errors import UsageError
from fedbench.suites.suite import LIBRARY, Suite, load

from .test_schema import drawn

SMOKE: dict[str, Any] = yaml.safe_load((LIBRARY / "smoke.yaml").read_text())
FACTORS: dict[str, Any] = {
    "speed": {"levels": [{"level": 1}, {"level": 4, "words": "one is four times as slow", "set": {"compute.slowdown.high": 4}}]},
    "work": {
        "levels": [
            {"level": 5, "words": "5 at work", "set": {"at_work": 5}, "times": {"budget.seconds": 2}},
            {"level": 20, "words": "all at work", "set": {"at_work": 20}, "times": {"budget.seconds": 0.25}},
        ]
    },
    "steps": {
        "levels": [{"level": 3, "set": {"local.steps": 3}, "times": {"budget.seconds": 1.5, "budget.updates": 3}}, {"level": 10}]
    },
}
ROWS = [[1, 5, 3], [4, 20, 10]]


def designed(folder: Path, changes: dict[str, Any] | None = None, **suite: Any) -> Path:
    """The suite smoke with points over factors of digits-demo."""
    more = {"held_out": [[1, 20, 3]], "other_clients": [[30, 4, 5, 10]]}
    content = {
        "schema": 1, "name": "mine", "factors": FACTORS, "points": {"design": 2, "held_out": 1, "other_clients": 1},
        "other_clients": {"levels": [{"level": 30, "words": "30 clients", "set": {"clients": 30}}, {"level": 50}]},
        "drawn": drawn(*ROWS, **more), **(changes or {}),
    }  # fmt: skip
    (folder / "mine-design.yaml").write_text(
        yaml.safe_dump({key: value for key, value in content.items() if value is not None}, sort_keys=False)
    )
    own = {key: value for key, value in SMOKE.items() if key not in ("points", "options")}
    file = folder / "mine.yaml"
    file.write_text(yaml.safe_dump({**own, "scenario": "digits-demo", "design": "mine-design.yaml", **suite}))
    return file


def test_points_have_names_words_kinds_and_levels(tmp_path: Path) -> None:
    suite = load(designed(tmp_path))
    assert [point.name for point in suite.points] == ["design-01", "design-02", "held-out-01", "clients-01"]
    assert [point.axis for point in suite.points] == ["design", "design", "held out", "other clients"]
    assert [point.kind for point in suite.points] == ["design", "design", "held_out", "other_clients"]
    assert suite.points[1].about == "one is four times as slow; all at work."
    assert suite.points[1].levels == {"speed": 4, "work": 20, "steps": 10}
    assert suite.points[3].about == "30 clients; one is four times as slow; 5 at work."
    assert suite.points[3].levels == {"clients": 30, "speed": 4, "work": 5, "steps": 10}


def test_levels_set_keys_and_multiply_the_scenarios_numbers(tmp_path: Path) -> None:
    """digits-demo has 40 seconds and a million updates: 40 x 2 x 1.5 and 40 / 4."""
    suite = load(designed(tmp_path))
    first, second, _, clients = (suite.scenario_at(point) for point in suite.points)
    assert (first.budget.seconds, first.budget.updates, first.at_work, first.local.steps) == (120, 3_000_000, 5, 3)
    assert (second.budget.seconds, second.budget.updates, second.at_work, second.local.steps) == (10, 1_000_000, 20, 10)
    assert clients.clients == 30
    assert [spec.selector for spec in suite.runs(suite.points[0], "fedbuff")] == ["fedbuff[concurrency=5]"] * 3


def test_words_and_kinds_change_no_hash(tmp_path: Path) -> None:
    suite = load(designed(tmp_path))
    content = suite.model_dump(mode="json", by_alias=True)
    for point in content["points"]:
        point |= {"about": "", "axis": "", "kind": None, "levels": {}}
    assert Suite.model_validate({**content, "design": None}).content_hash() == suite.content_hash()


def test_a_suite_may_have_some_of_the_points(tmp_path: Path) -> None:
    every, some = load(designed(tmp_path)), load(designed(tmp_path, points=["clients-01", "design-02"]))
    assert some.points == (every.point("clients-01"), every.point("design-02"))


@pytest.mark.parametrize(
    ("changes", "suite", "message"),
    [
        ({"drawn": None}, {}, "design mine: it has no points yet; `fedbench suite design FILE --seed SEED` draws them"),
        ({}, {"points": ["design-01", {"name": "calm"}]}, "points.1: design mine-design.yaml has no point {'name': 'calm'}"),
        ({}, {"points": ["desing-02"]}, "points.0: design mine-design.yaml has no point 'desing-02'; did you mean 'design-02'?"),
        ({}, {"points": []}, "points: expected names of points of design mine-design.yaml, got []"),
        ({}, {"scenario": None}, "a design needs the suite's scenario"),
        ({}, {"design": "missing.yaml"}, "design missing.yaml: cannot be read"),
        (
            {"factors": {**FACTORS, "steps": {"levels": [{"level": 3, "times": {"local.epochs": 2}}, {"level": 10}]}}}, {},
            "scenario digits-demo: a level multiplies local.epochs, which is no number here: None",
        ),
        (
            {"factors": {**FACTORS, "steps": {"levels": [{"level": 3, "set": {"local.stps": 2}}, {"level": 10}]}}}, {},
            "suite smoke, point design-01: scenario digits-demo: unknown key local.stps",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, changes: dict[str, Any], suite: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        load(designed(tmp_path, changes, **suite))
    assert message in str(error.value)


def test_places_are_from_0_to_1_over_the_levels(tmp_path: Path) -> None:
    """On the factor's scale. Who does not say so has the scenario's 20 clients, below those of the
    levels; a factor of texts has its level."""
    kind = {"levels": [{"level": "slow", "words": "slow"}, {"level": "fast"}]}
    steps = {**FACTORS["steps"], "scale": "log"}
    suite = load(designed(tmp_path, {"factors": {"speed": kind, "work": FACTORS["work"], "steps": steps}, "drawn": _texts()}))
    places = {point.name: point.places for point in suite.points}
    assert places["design-01"] == {"clients": -0.5, "speed": "slow", "work": 0, "steps": 0}
    assert places["design-02"] == {"clients": -0.5, "speed": "fast", "work": 1, "steps": 1}
    assert places["clients-01"] == {"clients": 0, "speed": "fast", "work": 0, "steps": 1}
    three = {"levels": [{"level": 1}, {"level": 10}, {"level": 1000}]}
    for scale, place in (("linear", 0.009009), ("log", 0.333333)):
        rows = drawn([1, 5, 3], [10, 20, 10], held_out=[[1000, 20, 3]], other_clients=[[30, 10, 5, 10]])
        found = load(designed(tmp_path, {"factors": {**FACTORS, "speed": {**three, "scale": scale}}, "drawn": rows}))
        assert found.points[1].places["speed"] == place


def _texts() -> dict[str, Any]:
    return drawn(["slow", 5, 3], ["fast", 20, 10], held_out=[["slow", 20, 3]], other_clients=[[30, "fast", 5, 10]])
