"""Reading scenarios: names, overrides, and errors that say what is wrong where."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench import registry
from fedbench.errors import UsageError
from fedbench.scenarios.load import LIBRARY, load, names, overrides_of
from fedbench.scenarios.local_parts import LinearSteps


@pytest.mark.parametrize("name", names())
def test_the_library_is_valid_documented_and_read_back(name: str) -> None:
    text = (LIBRARY / f"{name}.yaml").read_text()
    assert [line[0] for line in text.splitlines()[:3]] == ["#"] * 3
    assert text.splitlines()[3] == "schema: 1"
    scenario = load(name)
    assert scenario.name == name
    assert load(scenario) == scenario
    assert len(text.splitlines()) <= 33


def test_hyphens_and_underscores_are_the_same() -> None:
    assert load("digits_demo") == load("digits-demo")


def test_an_override_changes_the_value_and_the_hash() -> None:
    plain, changed = load("digits-demo"), load("digits-demo", ["budget.updates=7", "compute.slowdown.high=2.5"])
    assert (changed.budget.updates, changed.compute.slowdown.high) == (7, 2.5)  # type: ignore[union-attr]
    assert changed.content_hash() != plain.content_hash()
    assert overrides_of(plain) == []
    assert load("digits-demo", overrides_of(changed) or ()) == changed


def test_what_is_loaded_is_not_changed_by_what_is_loaded_next() -> None:
    """The text of a scenario and of a value is read once."""
    parts = [
        "partition={kind: shards, classes_per_client: 3}",
        "compute.slowdown={kind: speed, low: 1, high: 3}",
        "targets=[{value: 0.8}]",
    ]
    plain, parted = load("digits-demo"), load("digits-demo", parts)
    more = ["partition.classes_per_client=4", "compute.slowdown.high=2.5", "budget.updates=7"]
    assert load("digits-demo", [*parts, *more]) not in (plain, parted)
    assert load("digits-demo") == plain
    assert load("digits-demo", parts) == parted


@pytest.mark.parametrize(
    "override",
    [
        "local.steps={mean: 500}",
        "local.steps={kind: uniform, low: 3, high: 9}",
        f"local.steps={[3] * 20}",
        "validation.share=0.1",
        "compute={kind: exponential_steps, slow_share: 0.5}",
        "partition={kind: shards, classes_per_client: 3}",
        "public={source: a9a}",
        "budget.stop_at_target=true",
        "task.augmentation=none",
    ],
)
def test_overrides_of_a_scenario_make_it_again(override: str) -> None:
    """Also where a group of keys takes the place of a number."""
    changed = load("digits-demo", [override])
    found = overrides_of(changed)
    assert found
    assert load("digits-demo", found) == changed


def test_overrides_of_a_hold_make_it_again() -> None:
    changed = load("digits-demo", ["budget.stop_at_target=true", "budget.hold_points=3"])
    assert load("digits-demo", overrides_of(changed) or ()) == changed


@pytest.mark.parametrize("points", [0, 1001, 2.5, "true"])
def test_a_hold_is_a_number_of_points(points: object) -> None:
    with pytest.raises(UsageError, match=r"digits-demo: budget\.hold_points"):
        load("digits-demo", ["budget.stop_at_target=true", f"budget.hold_points={points}"])


def test_a_hold_without_a_stop_is_an_error_that_says_so() -> None:
    expected = r"digits-demo: budget: hold_points other than 1 needs stop_at_target: true, got 3 without it"
    with pytest.raises(UsageError, match=expected):
        load("digits-demo", ["budget.hold_points=3"])
    assert load("digits-demo", ["budget.hold_points=1"]) == load("digits-demo")


def test_a_new_kind_drops_the_keys_of_the_old() -> None:
    steps = [f"local.steps.{setting}" for setting in ("kind=linear", "low=3", "increment=4")]
    changed = load("fedagrac-fashion-step-async", steps)
    assert changed.local.steps == LinearSteps(kind="linear", low=3, increment=4)


def test_the_hash_is_of_what_can_change_a_result() -> None:
    plain = load("digits-demo")
    assert plain.model_copy(update={"about": "other words"}).content_hash() == plain.content_hash()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("budget.second=3", r"unknown key budget.second; did you mean 'seconds'\?"),
        ("clientz=3", r"unknown key clientz; did you mean 'clients'\?"),
        ("compute.slowdown.hih=3", r"unknown key compute.slowdown.hih; did you mean 'high'\?"),
        ("compute.step_seconds=-1", r"compute.step_seconds must be >= 0, got -1"),
        ("compute.slowdown.high=0.5", r"compute.slowdown: high must be >= low"),
        ("network.latency_seconds=.nan", r"network.latency_seconds must be >= 0, got nan"),
        ("clients=0", r"clients must be >= 1, got 0"),
        ("local.epochs=3", r"local: exactly one of steps and epochs"),
        (
            "partition.kind=iidd",
            r"partition.kind must be one of 'iid', 'two_class', .*, 'overlapping', 'natural', got 'iidd'; did you mean 'iid'\? \(",
        ),
        ("partition.kind=3", r"partition.kind must be one of 'iid', 'two_class', .*, 'overlapping', 'natural', got 3 \("),
        ("partition=iid", r"partition must be a group of keys, got 'iid'"),
        ("network=3", r"network must be a group of keys, got 3"),
        ("availability.phase=0", r"availability.kind must be one of 'always', .*, 'table', but is missing"),
        (
            "compute={kind: per_job, time: {distribution: normal}}",
            r"compute.time.distribution must be one of .*, got 'normal'; did you",
        ),
        (
            "compute={kind: delay_classes, long_seconds: [5, 8], assignment: {kind: fada}}",
            r"compute.assignment.kind must be one of 'size_score', 'fadas', got 'fada'; did you mean 'fadas'\?",
        ),
        ("network.message=fixed", r"network: message: fixed goes with message_megabytes, payload without, got fixed and .* none"),
        ("local.steps=0", r"local.steps must be >= 1, got 0"),
        ("local.steps={mean: 5, variance: -1}", r"local.steps.variance must be >= 0, got -1"),
        ("local.steps={mean: 5, mod: fixed}", r"unknown key local.steps.mod; did you mean 'mode'\?"),
        ("public.sizes=3", r"unknown key public.sizes; did you mean 'size'\?"),
        ("partition={kind: dirichlet, alpha: 0}", r"partition.alpha must be >= 0.001, got 0"),
        ("compute={kind: delay_classes, long_seconds: [8, 5]}", r"long_seconds must be \[low, high\] .*, got \[8, 5\]"),
        (
            "compute={kind: delay_classes, long_seconds: [5, 8], assignment: {kind: fadas, gamma: 1}}",
            r"unknown key compute.assignment.gamma",
        ),
        ("budget", r"expected key.path=value"),
        ("name.first=x", r"name is not a group of keys"),
    ],
)
def test_wrong_keys_and_values_are_named(override: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load("digits-demo", [override])


def test_unknown_names_and_broken_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown scenario 'digits-dem'; did you mean 'digits-demo'\?"):
        load("digits-dem")
    with pytest.raises(UsageError, match=r"nowhere.yaml: cannot be read: No such file"):
        load(tmp_path / "nowhere.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1,")
    with pytest.raises(UsageError, match="not valid YAML"):
        load(broken)
    broken.write_text("- 1")
    with pytest.raises(UsageError, match="expected a mapping of keys, got list"):
        load(broken)


def test_a_key_given_twice_is_an_error(tmp_path: Path) -> None:
    """With its lines; also inside a group, on one line, in an override and in an option. The same
    key in two groups is fine."""
    lines = (LIBRARY / "digits-demo.yaml").read_text().splitlines()
    twice = tmp_path / "twice.yaml"
    twice.write_text("\n".join([*lines, "clients: 30", ""]))
    first = 1 + next(i for i, line in enumerate(lines) if line.startswith("clients:"))
    with pytest.raises(
        UsageError, match=rf"^scenario .*twice.yaml: key 'clients' is given twice, in lines {first} and {len(lines) + 1}$"
    ):
        load(twice)
    twice.write_text("schema: 1\nbudget: {updates: 5, seconds: 3, updates: 6}\n")
    with pytest.raises(UsageError, match=r"key 'updates' is given twice, in line 2$"):
        load(twice)
    with pytest.raises(UsageError, match=r"key 'updates' is given twice, in line 1$"):
        load("digits-demo", ["budget={updates: 5, seconds: 3, updates: 6}"])
    with pytest.raises(UsageError, match=r"key 'a' is given twice"):
        registry.algorithm("fedavg[cohort_size={a: 1, a: 2}]")


def test_a_path_works_like_a_name(tmp_path: Path) -> None:
    copy = tmp_path / "mine.yaml"
    copy.write_text((LIBRARY / "digits-demo.yaml").read_text().replace("name: digits-demo", "name: mine"))
    assert load(copy).name == "mine"
    assert overrides_of(load(copy)) is None


def test_a_hold_by_the_rules_needs_a_target_and_counts_no_points() -> None:
    stop = "budget.stop_at_target=true"
    assert load("digits-demo", [stop, "budget.hold=window"]).budget.hold == "window"
    with pytest.raises(UsageError, match=r"digits-demo: budget: hold: window needs stop_at_target: true, got it without"):
        load("digits-demo", ["budget.hold=window"])
    with pytest.raises(UsageError, match=r"budget: hold: window counts no points, so hold_points must be 1, got 3"):
        load("digits-demo", [stop, "budget.hold=window", "budget.hold_points=3"])
