"""What is wanted next and what is said, from records that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.engine.spec import RunSpec
from fedbench.results.store import Store
from fedbench.suites.own_race.plan import Entrant, Plan, made
from fedbench.suites.own_race.stages import FIRST, RACE, Stages
from fedbench.suites.own_race.standing import result
from fedbench.suites.space import Space
from tests.conftest import alter
from tests.suites.race.runs_made_up import row as made_up

from .conftest import given, scenario

ROWS = ("fedasync[concurrency=10]", "fedavg", "fedbuff[concurrency=10]")
MEANS = dict(zip(ROWS, (2.0, 4.0, 16.0), strict=True))


def stages(store: Path) -> Stages:
    """A race of three rows, without a record."""
    entrants = {row: Entrant(run=spec.run_id, seconds=60.0) for row, spec in _first().items()}
    plan = Plan(
        schema=1,
        scenario=scenario().name,
        first_seed=0,
        minutes=1.0,
        processes=1,
        entrants=entrants,
        refused={},
        rungs=(),
        space=Space(schema=1, name="race", algorithms={}),
        asked="no tuning",
    )
    return Stages(plan, scenario(), Store(store))


def _first() -> dict[str, RunSpec]:
    plan = made(given(*ROWS), lambda: 0.0)
    return Stages(plan, scenario(), Store("nowhere")).first()


def add(one: Stages, seeds: dict[str, int]) -> None:
    """So many runs of each row hold the target at about its mean."""
    for row, count in seeds.items():
        runs = made_up(row.partition("[")[0], MEANS[row], seeds=count, scale=0.1 if count > 1 else 0.0)
        for spec, run in zip(one.suite.runs(one.suite.here, row), runs, strict=False):
            one._records[spec.run_id] = run


def test_after_one_seed_who_is_far_behind_is_dropped_once_all_have_run(tmp_path: Path) -> None:
    one = stages(tmp_path)
    assert one.stage == FIRST
    add(one, {ROWS[0]: 1, ROWS[2]: 1})
    assert one.behind() == {}, "a row lacks its run"
    assert one.stage == FIRST
    add(one, {ROWS[1]: 1})
    assert {row: (why.rival, why.at_least) for row, why in one.behind().items()} == {ROWS[2]: (ROWS[0], 8.0)}
    assert one.left() == [ROWS[0], ROWS[1]]
    assert one.stage == RACE


def test_a_row_that_failed_is_not_waited_for(tmp_path: Path) -> None:
    one = stages(tmp_path)
    add(one, {ROWS[0]: 1, ROWS[1]: 1})
    one.failed[one.first()[ROWS[2]].run_id] = "why"
    assert one.stage == RACE
    assert list(one.finalists()) == [ROWS[0], ROWS[1]]
    assert result(given(*ROWS), one).failed == {ROWS[2]: "why"}


def test_minutes_are_learnt_from_what_runs_took(tmp_path: Path) -> None:
    one = stages(tmp_path)
    specs = list(one.first().values())
    assert one.minutes(specs) == pytest.approx(3.0, rel=0.01)
    add(one, dict.fromkeys(ROWS, 1))
    for run in one._records.values():
        alter(run, "provenance.wall_seconds", 30.0)
    before = one.minutes(specs)
    assert before == pytest.approx(1.5, rel=0.01)
    one.took(specs, 2 * 60 * before)
    assert one.minutes(specs) == pytest.approx(2 * before)
