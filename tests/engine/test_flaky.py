"""Runs on clients that come and go: the same digests however they are computed, and absences that
no algorithm can change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.kernels.hindsight import Hindsight
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load

SMALL = ["clients=10", "task.model=softmax", "local.steps=4", "budget.seconds=12"]
OFF = ["availability.kind=always", "dropout=0"]
ALGORITHMS = ["fedavg[cohort_size=4]", "fedbuff[buffer_size=3]", "scaffold[cohort_size=4]", "defedavg_iid[cohort_size=3]"]


def spec(selector: str, *overrides: str, scenario: str = "digits-flaky", seed: int = 0) -> RunSpec:
    return RunSpec(load(scenario, [*SMALL, *overrides]), registry.algorithm(selector), seed)


def record(one: RunSpec, **options: Any) -> Record:
    return Run(one, options=RunOptions(**options)).record()


@pytest.mark.parametrize("selector", [*ALGORITHMS, "ringleader"])
def test_waves_workers_and_resume_change_no_digest(selector: str, tmp_path: Path) -> None:
    one = spec(selector, *(["budget.seconds=40"] if selector == "ringleader" else []))  # its first update waits for everybody
    wanted = record(one)
    assert wanted.outcome.as_dict() == {"state": "finished", "ended_by": "time", "message": ""}
    ledger = wanted.ledger
    assert ledger.jobs_left > 0
    assert ledger.jobs_dropped_out > 0
    assert ledger.updates > 5
    assert wanted.curves["steps"][-1] == ledger.steps_done > ledger.trained_steps
    for options in ({"wave_size": 1}, {"wave_size": 1, "workers": 2}, {"workers": 2}):
        assert record(one, **options).digests == wanted.digests

    class Stop(Exception):
        pass

    def progress(version: int, seconds: float, evaluated: object) -> None:
        if version == ledger.updates // 2:
            raise Stop

    store = Store(tmp_path)
    with pytest.raises(Stop):
        Run(one, store, RunOptions(checkpoint_seconds=0), progress).record()
    resumed = Run(one, store, RunOptions(resume=True)).record()
    assert resumed.digests == wanted.digests
    assert resumed.ledger == ledger


def test_always_there_is_fedbuff_as_it_was() -> None:
    """All parts off, the flaky scenario is digits-demo: the same inputs, plan, model and ledger, to
    the bit."""
    flaky, demo = record(spec("fedbuff[buffer_size=3]", *OFF)), record(spec("fedbuff[buffer_size=3]", scenario="digits-demo"))
    assert flaky.digests == demo.digests
    assert flaky.ledger == demo.ledger
    assert flaky.ledger.available_fraction == 1
    assert record(spec("fedbuff[buffer_size=3]")).digests.model != demo.digests.model


def test_absences_are_part_of_the_inputs_and_depend_on_no_algorithm() -> None:
    def inputs(*overrides: str, selector: str = ALGORITHMS[0], seed: int = 0) -> str:
        return Setup(spec(selector, *overrides, seed=seed)).inputs_digest()

    assert {inputs(selector=selector) for selector in ALGORITHMS} == {inputs()}
    others = ("dropout=0.2", "availability.mean_on_seconds=5", "availability.rarely=null", "availability.when_offline=paused")
    assert len({inputs(), *(inputs(other) for other in others), inputs(*OFF)}) == 6

    def stays(selector: str, seed: int = 0) -> list[list[tuple[int, int]]]:
        hindsight = Hindsight(Setup(spec(selector, seed=seed)).scheduler())
        return [hindsight.stays(client, 12 * 10**9) for client in range(10)]

    assert all(stays(selector) == stays(ALGORITHMS[0]) for selector in ALGORITHMS)
    assert stays(ALGORITHMS[0], seed=1) != stays(ALGORITHMS[0])


@pytest.mark.parametrize("selector", ALGORITHMS)
def test_a_scenarios_rounds_are_for_rounds_only(selector: str) -> None:
    part = ["rounds.deadline_seconds=0.5", "rounds.over_selection=1"]
    plain, changed = plan(spec(selector)), plan(spec(selector, *part))
    is_rounds = selector.startswith(("fedavg", "scaffold"))
    assert (changed.plan_digest != plain.plan_digest) == is_rounds
    assert (changed.jobs_late > 0) == is_rounds
    assert plain.rounds == ""
    asked = "deadline 0.5 s, over-selection 1"
    assert (
        changed.rounds == asked if is_rounds else changed.rounds.startswith("not applicable (") and changed.rounds.endswith(asked)
    )


def test_paused_jobs_are_not_lost() -> None:
    lost = plan(spec("fedbuff[buffer_size=3]", "dropout=0"))
    paused = plan(spec("fedbuff[buffer_size=3]", "dropout=0", "availability.when_offline=paused"))
    assert lost.jobs_left > 0 == paused.jobs_left
    assert paused.steps_wasted < lost.steps_wasted


def test_clients_that_leave_for_good_stall_a_run_that_says_so() -> None:
    rows = [[[0, 3]]] * 10
    one = spec("fedavg[cohort_size=4]", "dropout=0", f"availability={{kind: table, rows: {rows}}}")
    stalled = record(one)
    assert stalled.state == "stalled"
    message = stalled.outcome.message
    version = stalled.ledger.updates + 1
    assert message == f"stalled before update {version}: waiting for clients {list(range(10))}, at 3 virtual seconds"
    assert np.isfinite(stalled.final.test_accuracy)


NEED_EVERYBODY = ["fedavg[sampling=all,weights=p]", "fedlin", "fedsgd", "scaffold[sampling=all,weights=p]"]


@pytest.mark.parametrize("selector", [*NEED_EVERYBODY, "fedprox[weights=p]", "fednova[weights=p]"])
def test_weights_that_need_everybody_are_refused_before_training(selector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan says so: a run that reached its trainer would fail with another error."""
    monkeypatch.delattr(Run, "backend")
    with pytest.raises(
        UsageError, match=r"its weights p need every one of the 10 clients .*, and update 1, at .* would be of \d"
    ):
        record(spec(selector))


def test_weights_that_need_everybody_are_refused_for_an_update_far_into_the_run() -> None:
    """Somebody leaves for a second after 8 s; until then all are in every update."""
    rows = [*[[[0, 99]]] * 9, [[0, 8], [9, 99]]]
    one = spec("fedsgd", "dropout=0", f"availability={{kind: table, rows: {rows}}}", "rounds.deadline_seconds=null")
    with pytest.raises(UsageError, match=r"update \d\d+, at (7\.9|8)\S* virtual seconds, would be of 9 jobs of 9 clients"):
        record(one)


def test_weights_that_need_everybody_count_clients_and_not_jobs() -> None:
    drawn = "fedavg[sampling=with_replacement,weights=p,cohort_size=10]"
    with pytest.raises(UsageError, match=r"update 1, at .* would be of 10 jobs of [1-9] clients"):
        record(spec(drawn, "dropout=0", "availability={kind: always}"))


def test_weights_that_need_everybody_are_no_matter_where_nobody_is_missing() -> None:
    assert record(spec("fedsgd", "dropout=0", "availability={kind: always}", "budget.updates=2")).state == "finished"
    assert record(spec("fedavg[sampling=all,weights=p_normalised]")).state == "finished"
