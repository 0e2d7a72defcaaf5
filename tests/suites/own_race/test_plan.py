"""Which rungs there is time for, and what a plan's file has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from fedbench.algorithms.fedavg import FedAvg
from fedbench.errors import UsageError
from fedbench.suites.own_race import plan as plans
from fedbench.suites.own_race.plan import RUNGS, TUNING_SHARE, Plan, made, rungs_for, taken, tuning_seconds
from fedbench.suites.own_race.suite import OneScenario, space_of

from .conftest import given, scenario

ROWS = ("fedavg", "fedbuff", "quafl")
OPEN = scenario("at_work=null")
SPACE = space_of(OneScenario.of(OPEN, ROWS, 0), None)


@settings(deadline=None, max_examples=40)
@drawn(st.floats(0.01, 500), st.floats(1.0, 10.0), st.lists(st.floats(0.01, 60), min_size=3, max_size=3), st.integers(1, 8))
def test_more_minutes_never_make_fewer_rungs(minutes: float, more: float, seconds: list[float], processes: int) -> None:
    """And all rungs fit into their share of the time that the first seed leaves."""
    rows = dict(zip(ROWS, seconds, strict=True))
    few, many = (
        rungs_for(given(minutes=one, processes=processes, scenario=OPEN), rows, SPACE) for one in (minutes, more * minutes)
    )
    order = [*RUNGS, ()]
    assert order.index(many) <= order.index(few)
    left = 60 * minutes * processes - sum(map(taken, seconds))
    if few:
        assert tuning_seconds(OPEN, few, rows, SPACE) <= TUNING_SHARE * left
    else:
        assert tuning_seconds(OPEN, RUNGS[-1], rows, SPACE) > TUNING_SHARE * left


def test_the_price_of_rungs_by_hand() -> None:
    """FedAvg tunes three options, of which two are rates: so 4 trials on a third, 2 of 3 seeds, and
    at most three with larger rates of 3 seeds."""
    rates = len(SPACE.rates(FedAvg))
    steeper = rates + (rates > 1)
    expected = 4 * taken(6, 1 / 3) + 6 * taken(6) + 3 * steeper * taken(6)
    assert tuning_seconds(OPEN, RUNGS[-1], {"fedavg": 6.0}, SPACE) == pytest.approx(expected)


def test_all_that_can_take_part_and_the_others_are_named() -> None:
    plan = made(given(scenario=scenario("at_work=5")), lambda: 0.0)
    assert "fedbuff[concurrency=5]" in plan.entrants
    assert "jobs under way" in plan.refused["quafl"]
    assert not {"centralised", "local_only", "fedsgd[local_lr=0.1]"} & {*plan.entrants, *plan.refused}
    assert not plan.rungs, "tune is off"


def test_a_plan_comes_back_from_its_file(tmp_path: Path) -> None:
    one = given(*ROWS, tune=True, minutes=100, scenario=OPEN)
    plan = made(one, lambda: 0.0)
    assert plan.rungs == RUNGS[0]
    plans.write(tmp_path, plan)
    assert plans.read(tmp_path, one) == plan
    content = json.loads((tmp_path / plans.FILE).read_text())
    (tmp_path / plans.FILE).write_text(json.dumps({**content, "minutes": -1}))
    with pytest.raises(UsageError, match="minutes must be > 0"):
        plans.read(tmp_path, one)
    assert Plan.model_validate(content) == plan
