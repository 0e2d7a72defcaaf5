"""The scenarios by which advice is judged."""

from __future__ import annotations

import hashlib
import json
import math

import pytest

from fedbench.engine.heterogeneity import Heterogeneity
from fedbench.scenarios.load import load
from fedbench.suites import suite as suites
from fedbench.suites.design import schema as designs
from tests.suites.advice import drawn
from tests.suites.advice.acceptance import central
from tests.suites.advice.drawn import Asked

ALL = [*drawn.drawn(), *drawn.at_once()]
ACCURACY = dict.fromkeys(central(ALL), 0.9)


def _hash(several: list[Asked]) -> str:
    kept = [[one.other, [key for key in one.keys if not key.startswith(("budget", "evaluation"))]] for one in several]
    return hashlib.sha256(json.dumps(kept).encode()).hexdigest()[:16]


def test_they_were_drawn_before_any_map() -> None:
    """Other lists would be another test. Budgets and the first evaluation are those of the suite's
    design, and may change with it."""
    assert _hash(drawn.drawn()) == "b36272ad2bdf27e2"
    assert _hash(drawn.at_once()) == "f4483ff1430d51b7"


@pytest.mark.fashion
def test_25_of_40_lie_on_the_map_and_all_with_everybody_at_work() -> None:
    """Every fourth is measured: it lies between the levels, up to what a hundred clients
    scatter."""
    factors = designs.load("map").factors
    assert [not one.other for one in ALL] == [True] * 25 + [False] * 15 + [True] * 10
    for number, one in enumerate(ALL):
        scenario = one.scenario(ACCURACY)
        assert scenario.at_work is not None
        assert (scenario.at_work == scenario.clients) == (number >= 40)
        if one.other or number % 4:
            continue
        here = Heterogeneity(scenario)
        assert 0 < here.skew < 0.81
        for name in ("spread", "available", "upload", "steps", "at_work", "tied_to_size", "tied_to_label"):
            low, *_, high = factors[name].numbers or ()
            assert low * 0.99 <= getattr(here, name) <= high * 1.25, (one, name)


def test_targets_of_other_tasks_are_shares_of_central_training() -> None:
    for one in drawn.drawn()[25:]:
        values = [target.value for target in one.scenario(ACCURACY).targets]
        assert values == ([0.72, 0.81, 0.855] if one.is_other_task else [0.694, 0.781, 0.825])


def test_budget_and_first_evaluation_are_those_of_a_point_at_the_same_levels() -> None:
    """At levels of the design they are those of the suite's point; another task has three times the
    budget, and the same first evaluation."""
    suite = suites.load("map")
    point = next(one for one in suite.points if one.levels.get("skew") == "dirichlet_0.1" and one.kind == "design")
    there, times = suite.scenario_at(point), drawn._by_skew("dirichlet", 0.1)
    times *= math.prod(
        drawn._longer(name, float(point.levels[name])) for name in ("spread", "available", "upload", "steps", "at_work")
    )
    base = load(drawn.BASE)
    assert base.budget.seconds * times == pytest.approx(there.budget.seconds)
    assert base.evaluation.first_seconds * times == pytest.approx(there.evaluation.first_seconds)
    assert [drawn._by_skew(kind, 0.5) for kind in ("iid", "two_class", "dirichlet")] == [0.6, 1.7, 1.0]
    for one in ALL:
        scenario = one.scenario(ACCURACY)
        ratio = scenario.budget.seconds / scenario.evaluation.first_seconds
        assert ratio == pytest.approx(
            (3 if one.is_other_task else 1) * base.budget.seconds / base.evaluation.first_seconds, rel=1e-4
        )
