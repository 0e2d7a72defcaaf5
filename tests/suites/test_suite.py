"""A suite as data: what it holds, what its hash means, what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedbench import registry
from fedbench.algorithms.fedavg import FedAvg
from fedbench.errors import UsageError
from fedbench.scenarios import load as scenarios
from fedbench.suites import space as spaces
from fedbench.suites import suite as suites
from fedbench.suites.suite import LIBRARY, Suite, load, names
from fedbench.suites.tuning import tuning_of

LOG = {"kind": "log", "first_seconds": 0.1, "ratio": 1.05}
SMOKE: dict[str, Any] = yaml.safe_load((LIBRARY / "smoke.yaml").read_text())


def written(tmp_path: Path, **changes: Any) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps({**SMOKE, **changes}))
    return file


def test_every_suite_of_the_library_is_valid() -> None:
    assert {"axes", "smoke"} <= set(names())
    for name in names():
        assert load(name).name == name


def test_axes_changes_one_factor_at_a_time() -> None:
    """At least 12 points; every one differs from the base, budget and grid aside, in one part of
    the scenario."""
    axes = load("axes")
    base = axes.scenario_at(axes.points[0]).resolved()
    assert len(axes.points) >= 12
    assert len(axes.selectors()) == 42
    for point in axes.points[1:]:
        other = axes.scenario_at(point).resolved()
        changed = {key for key in base if other[key] != base[key]} - {"budget", "evaluation"}
        assert changed, point.name
        assert len(changed) == 1 or (point.name, changed) == ("many-clients", {"clients", "local"}), point.name


def test_points_are_scenarios_of_the_library_with_overrides() -> None:
    """So that any run of a suite can be repeated by `fedbench run`."""
    smoke = load("smoke")
    assert smoke.scenario_at(smoke.points[0]).name == "digits-demo"
    assert smoke.scenario_at(smoke.points[0]).budget.seconds == 10
    assert smoke.scenario_at(smoke.points[0], validation=True).validation is not None
    assert smoke.scenario_at(smoke.points[0]).validation is None


def test_options_of_the_suite_are_for_those_that_have_them() -> None:
    smoke = load("smoke")
    assert smoke.algorithm("fedbuff").options()["concurrency"] == 5
    assert "concurrency" not in smoke.algorithm("fedavg").options()
    assert smoke.algorithm("fedbuff[concurrency=7]").options()["concurrency"] == 7
    assert smoke.algorithm("fedbuff", {"server_lr": 0.5}).options()["server_lr"] == 0.5


def test_all_stands_for_those_that_are_not_named_by_themselves(tmp_path: Path) -> None:
    suite = load(written(tmp_path, algorithms=["all", "ace[concurrency=null]"], tuning=None))
    assert len(suite.selectors()) == len(registry.ALGORITHMS)
    assert "ace[concurrency=null]" in suite.selectors()
    assert "ace" not in suite.selectors()


def test_runs_are_points_by_algorithms_by_seeds() -> None:
    smoke = load("smoke")
    runs = [spec for point in smoke.points for selector in smoke.selectors() for spec in smoke.runs(point, selector)]
    assert len(runs) == 2 * 4 * 3
    assert len({spec.run_id for spec in runs}) == len(runs)


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({"about": "Other words."}, False),
        ({"algorithms": SMOKE["algorithms"][::-1]}, False),
        ({"algorithms": SMOKE["algorithms"][:3]}, True),
        ({"options": {"concurrency": 6}}, True),
        ({"seeds": {"first": 0, "count": 4}}, True),
        ({"points": [{**SMOKE["points"][0], "about": "Other words.", "axis": "another"}, SMOKE["points"][1]]}, False),
        ({"points": [{**SMOKE["points"][0], "set": {"budget.seconds": 11}}, SMOKE["points"][1]]}, True),
        ({"points": [{**SMOKE["points"][0], "name": "other"}, SMOKE["points"][1]]}, True),
        ({"tuning": {**SMOKE["tuning"], "trials": 8}}, True),
    ],
)
def test_the_hash_changes_if_and_only_if_the_meaning_does(tmp_path: Path, changes: dict[str, Any], changed: bool) -> None:
    assert (load(written(tmp_path, **changes)).content_hash() != load("smoke").content_hash()) is changed


def test_an_option_that_no_algorithm_has_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, options={"concurrency": 5, "concurrrency": 6})
    with pytest.raises(
        UsageError, match=r"options.concurrrency: none of its algorithms has this option; did you mean 'concurrency'"
    ):
        load(file)


def test_another_algorithm_or_seed_changes_no_design(tmp_path: Path) -> None:
    """So an entrant does not void the options that were found for the others."""
    design = load("smoke").design_hash()
    more = {"algorithms": [*SMOKE["algorithms"], "mifa"], "seeds": {"first": 0, "count": 20}}
    assert load(written(tmp_path, **more)).design_hash() == design
    for change in (
        {"options": {"concurrency": 6}},
        {"tuning": {**SMOKE["tuning"], "trials": 8}},
        {"points": SMOKE["points"][:1]},
    ):
        assert load(written(tmp_path, **change)).design_hash() != design


SPACE: dict[str, Any] = {
    "schema": 1,
    "name": "own",
    "algorithms": {name: {"options": {"local_lr": {"low": 0.01, "high": 1}}} for name in ("fedavg", "fedbuff")},
}


OWN = """
from dataclasses import dataclass

from fedbench.algorithms.fedavg import FedAvg
from fedbench.protocols import Log, Positive, option


@dataclass(frozen=True, kw_only=True)
class Mine(FedAvg):
    name = "mine"
    local_lr: Positive = option(0.1, search=Log(0.01, {high}))
"""


def spaced(space: object) -> dict[str, Any]:
    return {"tuning": {**SMOKE["tuning"], "space": space}}


def test_a_search_space_may_be_in_the_suite_or_in_a_file_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are the same suite, whatever the folder in which somebody is, and its texts."""
    (tmp_path / "spaces").mkdir()
    (tmp_path / "spaces/own.yaml").write_text(json.dumps({**SPACE, "about": "Other words."}))
    inline, filed = load(written(tmp_path, **spaced(SPACE))), load(written(tmp_path, **spaced("spaces/own.yaml")))
    assert inline.content_hash() == filed.content_hash() != load("smoke").content_hash()
    assert inline.design_hash() == filed.design_hash() != load("smoke").design_hash()
    monkeypatch.chdir(tmp_path)
    assert load("mine.yaml").content_hash() == filed.content_hash()
    assert load(written(tmp_path, **spaced(str(tmp_path / "spaces/own.yaml")))).design_hash() == filed.design_hash()
    assert spaces.load(tuning_of(filed).space).of(FedAvg)["local_lr"].low == 0.01


def test_scenarios_may_lie_beside_the_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own and those of points, whatever the folder in which somebody is."""
    base = tmp_path / "scenarios" / "base.yaml"
    base.parent.mkdir()
    base.write_text(json.dumps(scenarios.load("digits-demo").resolved()))
    points = [{"name": "a"}, {"name": "b", "scenario": "scenarios/base.yaml"}]
    file = written(tmp_path, scenario="scenarios/base.yaml", points=points)
    beside = load(file)
    assert [beside.scenario_at(one) for one in beside.points] == 2 * [scenarios.load("digits-demo")]
    monkeypatch.chdir(tmp_path / "scenarios")
    (tmp_path / "scenarios" / "scenarios").mkdir()
    (tmp_path / "scenarios" / "scenarios" / "base.yaml").write_text("{}")
    assert load("../mine.yaml").content_hash() == beside.content_hash()
    base.rename("other.yaml")  # in the working directory
    other = load(written(tmp_path, scenario="other.yaml", points=points[:1]))
    assert other.scenario_at(other.points[0]) == scenarios.load("digits-demo")


@pytest.mark.parametrize("change", [{"name": "other"}, {"algorithms": {"fedavg": SPACE["algorithms"]["fedavg"]}}])
@pytest.mark.parametrize("method", [{}, {"method": "halving", "first_seed": 100, "seeds": ..., "trials": ...}])
def test_hashes_cover_the_search_space(tmp_path: Path, change: dict[str, Any], method: dict[str, Any]) -> None:
    """One of the library is known by its name, so no hash of today changes."""

    def hashes(space: object) -> tuple[str, str]:
        tuning = {key: value for key, value in {**SMOKE["tuning"], **method, "space": space}.items() if value is not ...}
        suite = load(written(tmp_path, tuning=tuning))
        return suite.content_hash(), suite.design_hash()

    interval = {"low": 0.01, "high": 2}
    wider = {**SPACE, "algorithms": {**SPACE["algorithms"], "fedavg": {"options": {"local_lr": interval}}}}
    found = [hashes(one) for one in (SPACE, {**SPACE, **change}, wider, "axes")]
    assert len({one for one, _ in found}) == len({one for _, one in found}) == 4


def test_a_suite_knows_what_its_algorithms_declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tuned by another space changes no option of the others, so the design stays."""
    monkeypatch.chdir(tmp_path)
    hashes: list[tuple[str, str]] = []
    for i, high in enumerate((1, 2)):
        Path(f"mine{i}.py").write_text(OWN.format(high=high))
        for space in ("axes", {**SPACE, "algorithms": {f"./mine{i}.py": SPACE["algorithms"]["fedavg"]}}):
            suite = load(written(tmp_path, algorithms=["fedavg", f"./mine{i}.py:Mine"], options={}, **spaced(space)))
            hashes.append((suite.content_hash(), suite.design_hash()))
    (first, design), (entry, _), (second, other), (same, _) = hashes
    assert first != second
    assert design == other
    assert entry == same, "the entry of a space replaces what is declared"


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ("axis", "unknown search space 'axis'; did you mean 'axes'?; a path to a .yaml file works too"),
        ("nowhere.yaml", "nowhere.yaml: cannot be read: No such file or directory"),
        ("mine.yaml", "algorithms must be a group of keys"),
        ("", "unknown search space ''"),
        (3, "tuning.space must be a name, a path to a .yaml file, or a search space, got 3"),
        (["axes"], "tuning.space must be a name, a path to a .yaml file, or a search space, got ['axes']"),
        (None, "tuning.space must be a name, a path to a .yaml file, or a search space, got None"),
        ({}, "schema must be 1, but is missing; name must be text, but is missing; algorithms must be a group of keys"),
        ({**SPACE, "algorithm": {}}, "unknown key algorithm; did you mean 'algorithms'"),
        (
            {**SPACE, "algorithms": {"fedavgg": SPACE["algorithms"]["fedavg"]}},
            "unknown algorithm 'fedavgg'; did you mean 'fedavg'",
        ),
        (
            {**SPACE, "algorithms": {"fedavg": {"options": {"local_lr": {"low": 1, "high": 0.1}}}}},
            "algorithms.fedavg.options.local_lr: high must be > low, got low 1, high 0.1",
        ),
        (
            {**SPACE, "algorithms": {"fedavg": {"options": {"prox": {"low": 0.1, "high": 1}}}}},
            "search space own: algorithm fedavg has no option 'prox'",
        ),
        (
            {**SPACE, "algorithms": {"./nope.py:Nope": SPACE["algorithms"]["fedavg"]}},
            "algorithm ./nope.py:Nope",
        ),
    ],
)
def test_what_is_no_search_space(tmp_path: Path, space: object, message: str) -> None:
    with pytest.raises(UsageError) as error:
        load(written(tmp_path, **spaced(space)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_messages_name_a_suite_as_its_user_does(tmp_path: Path) -> None:
    assert load("map_cnn").typed == "map_cnn"
    assert load(written(tmp_path)).typed == str(tmp_path / "mine.yaml")
    spaced_out = tmp_path / "my suite.yaml"
    spaced_out.write_text(json.dumps(SMOKE))
    assert load(spaced_out).typed == f"'{spaced_out}'"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sedes": 3}, "suite smoke: unknown key sedes; did you mean 'seeds'"),
        ({"seeds": {"first": 0, "count": 0}}, "seeds.count must be >= 1, got 0"),
        ({"points": []}, "points"),
        ({"points": [SMOKE["points"][0], SMOKE["points"][0]]}, "the name calm is given twice"),
        ({"points": [{"name": "calm"}]}, "calm has no scenario, and neither has the suite"),
        (
            {"points": [{"name": "calm", "scenario": "digits-dmo"}]},
            "point calm: unknown scenario 'digits-dmo'; did you mean 'digits-demo'",
        ),
        (
            {"points": [{**SMOKE["points"][0], "set": {"local.stps": 3}}]},
            "point calm: scenario digits-demo: unknown key local.stps",
        ),
        ({"algorithms": ["fedavgg"]}, "unknown algorithm 'fedavgg'; did you mean 'fedavg'"),
        ({"tuning": {**SMOKE["tuning"], "seeds": {"first": 2, "count": 2}}}, "got 2 in both"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        load(written(tmp_path, **changes))
    assert message in str(error.value)


def test_metrics_of_a_suite_are_filled_in(tmp_path: Path) -> None:
    """From names and from code beside the suite, whose sum is in the hash."""
    (tmp_path / "m.py").write_text("class Mine:\n    name = 'mine'\n    higher_is_better = False\n")
    file = written(tmp_path, evaluation={**LOG, "metrics": ["class_accuracy_worst", "m.py:Mine"]})
    suite = load(file)
    found = suite.scenario_at(suite.points[0]).evaluation.metrics
    assert [(one.name, one.higher_is_better) for one in found] == [("class_accuracy_worst", True), ("mine", False)]
    (tmp_path / "m.py").write_text("class Mine:\n    name = 'mine'\n    higher_is_better = False  # less\n")
    assert load(file).content_hash() != suite.content_hash()


def test_hyphens_and_underscores_in_a_name_are_alike() -> None:
    assert load("map_cnn").name == load("map-cnn").name == "map-cnn"


def test_unknown_names() -> None:
    with pytest.raises(UsageError, match="unknown suite 'axis'; did you mean 'axes'"):
        load("axis")
    with pytest.raises(UsageError, match="suite smoke: unknown point 'clam'; did you mean 'calm'"):
        load("smoke").point("clam")
    assert isinstance(suites.load(load("smoke")), Suite)


def test_what_is_compared_may_be_evaluated_more_finely_than_what_is_tuned() -> None:
    smoke = load("smoke")
    finer = Suite.model_validate(yaml.safe_load((LIBRARY / "smoke.yaml").read_text()) | {"evaluation": LOG})
    for point in smoke.points:
        assert finer.scenario_at(point).evaluation == finer.evaluation != smoke.scenario_at(point).evaluation
        assert finer.scenario_at(point, validation=True) == smoke.scenario_at(point, validation=True)
    assert finer.design_hash() == smoke.design_hash()
    assert finer.content_hash() != smoke.content_hash()
