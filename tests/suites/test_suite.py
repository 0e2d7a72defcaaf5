"""A suite as data: what it holds, what its hash means, what is wrong with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedbench import registry
from fedbench.errors import UsageError
from fedbench.suites import suite as suites
from fedbench.suites.suite import LIBRARY, Suite, load, names

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


def test_hyphens_and_underscores_in_a_name_are_alike() -> None:
    assert load("axes_cnn").name == load("axes-cnn").name == "axes-cnn"


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
