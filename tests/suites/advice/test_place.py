"""Where a scenario lies on a map, and how far outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fedbench.analysis.map.factors import Design, Factor
from fedbench.analysis.map.kept import Costs
from fedbench.engine.heterogeneity import Heterogeneity
from fedbench.errors import UsageError
from fedbench.scenarios.load import load
from fedbench.suites.advice.place import Level, levels, outside
from tests.analysis.map.made_up_map import NUMBERS, costs, made_up


def at(*overrides: str) -> tuple[Heterogeneity, dict[str, Level]]:
    here = Heterogeneity(load("digits-demo", ["clients=100", "local.batch_size=20", *overrides]))
    return here, {level.factor: level for level in levels(here, costs(0), NUMBERS)}


def over(factors: Sequence[Factor], at: dict[str, list[float]]) -> Costs:
    """The costs of a map with other factors."""
    return replace(costs(0), design=Design.over(factors, (), at), points=at)


def told(*overrides: str) -> list[str]:
    here, found = at(*overrides)
    return list(outside(here, tuple(found.values()), made_up(scenario=load("digits-demo", ["clients=100"]).resolved()).about))


@pytest.mark.parametrize(
    ("override", "factor", "taken", "is_outside", "is_far"),
    [
        ("local.steps=10", "steps", 10, False, False),
        ("local.steps=32", "steps", 30, False, False),
        ("local.steps=60", "steps", 30, True, False),
        ("local.steps=1", "steps", 2, True, False),
        ("local.steps=200", "steps", 30, True, True),
        ("at_work=1", "at_work", 5, True, True),
        ("compute.slowdown={kind: lognormal, log_sigma: 0.4}", "spread", 0.4, False, False),
        ("compute.slowdown={kind: lognormal, log_sigma: 2}", "spread", 1.2, True, True),
    ],
)  # fmt: skip
def test_beyond_the_range_its_end_is_taken(override: str, factor: str, taken: float, is_outside: bool, is_far: bool) -> None:
    level = at(override)[1][factor]
    assert level.taken == pytest.approx(taken, abs=0.06 if factor == "spread" and not is_outside else 1e-9)
    assert (level.is_outside, level.is_far) == (is_outside, is_far)


def test_kinds_are_named_between_which_a_scenario_lies() -> None:
    assert at("partition.kind=two_class")[1]["skew"].note == "two_class"
    between = at("partition={kind: dirichlet, alpha: 1}")[1]["skew"]
    assert between.note == "iid to dirichlet; 0.33 by chance, since clients have few examples"
    assert str(between) == f"label skew {between.measured:.3g} ({between.note})"
    assert str(at()[1]["at_work"]) == "at work 100 (all, since at_work is not set)"
    assert str(at("at_work=7")[1]["at_work"]) == "at work 7"


def test_real_numbers_have_no_label_skew(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "own.npz", x=rng.random((400, 4)).astype(np.float32), y=rng.random(400))
    task = f"task={{file: {tmp_path / 'own.npz'}, label: y, kind: regression, model: softmax}}"
    here = Heterogeneity(load("digits-demo", [task, "partition={kind: iid}", "targets=[]", "evaluation={every_seconds: 1}"]))
    found = levels(here, costs(0), NUMBERS)
    assert str(next(one for one in found if one.factor == "skew")) == "label skew 0 (not measured, since labels are real numbers)"
    assert "regression (map: classification)" in outside(here, found, made_up(scenario=load("digits-demo").resolved()).about)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("local.steps=10", []),
        ("local.steps=60", ["local steps 60 (map: 2 to 30)"]),
        ("clients=150", ["at work 150 (map: 5 to 100)", "150 clients (map: 100)"]),
        ("task.model=softmax", ["task digits with softmax (map: digits with mlp)"]),
        ("local.batch_size=50", ["mini-batches of 50 (map: 10)"]),
        ("dropout=0.07", ["7 % of the jobs lost (map: none)"]),
        ("availability={kind: periodic, period_seconds: 9, on_fraction: 0.5}", ["jobs that are lost when a client"]),
        ("availability={kind: periodic, period_seconds: 9, on_fraction: 0.5, when_offline: paused}", []),
        ("rounds={deadline_seconds: 5}", ["rounds with deadline 5 s (map: no rules)"]),
        ("network={download_megabit_per_second: 0.001}", ["downloads of "]),
        ("compute={kind: per_job, time: {distribution: exponential, mean_seconds: 2}}", ["times that vary from job to job"]),
        ("local.steps={mean: 10, variance: 4}", ["local steps that vary (map: constant)"]),
    ],
)  # fmt: skip
def test_what_the_map_has_not_measured_is_named(override: str, words: list[str]) -> None:
    found = told(override)
    assert len(found) == len(words), found
    assert all(one.startswith(start) for one, start in zip(found, words, strict=True)), found


def test_of_two_ties_the_stronger_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The map has no points with both."""
    monkeypatch.setattr(Heterogeneity, "tied_to_size", 0.5)
    monkeypatch.setattr(Heterogeneity, "tied_to_label", 0.8)
    found = _with_ties()
    assert {name: (level.measured, level.taken) for name, level in found.items()} == {
        "tied_to_size": (0.5, 0),
        "tied_to_label": (0.8, 0.8),
    }


def _with_ties() -> dict[str, Level]:
    ties = (Factor("tied_to_size"), Factor("tied_to_label"))
    at = {"tied_to_size": [0.0, 0.9, 0.0], "tied_to_label": [0.0, 0.0, 0.9]}
    given = over(ties, at)
    here = Heterogeneity(load("digits-demo"))
    found = levels(here, given, {})
    assert "speed tied to size and to label (map: one of them)" in list(outside(here, found, made_up().about))
    return {level.factor: level for level in found}


def test_free_uploads_are_inside() -> None:
    at = {"upload": [0.02, 1.0, 3.0]}
    given = over([Factor("upload", is_log=True)], at)
    for override, taken, is_outside in (
        ("{}", 0.02, False),
        ("{upload_over_compute: 0.01}", 0.02, False),
        ("{upload_over_compute: 9}", 3, True),
    ):
        level = levels(Heterogeneity(load("digits-demo", [f"network={override}"])), given, {})[0]
        assert (level.taken, level.is_outside) == (taken, is_outside)


def test_a_factor_that_cannot_be_measured_is_named() -> None:
    at = {"stepz": [0.0, 1.0]}
    given = over([Factor("stepz")], at)
    with pytest.raises(UsageError, match=r"^map: factor stepz cannot be measured in a scenario; did you mean 'steps'\?$"):
        levels(Heterogeneity(load("digits-demo")), given, {})
