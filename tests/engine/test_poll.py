"""What a scenario gives to an algorithm that polls: the steps of a job and the period."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.plan import plan
from fedbench.engine.run import Run
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.scenarios.load import load
from fedbench.scenarios.system import slowdowns
from fedbench.types import Poll


def spec(selector: str, *overrides: str) -> RunSpec:
    return RunSpec(load("digits-demo", overrides), registry.algorithm(selector), 0)


@pytest.mark.parametrize("name", ["favano", "quafl"])
def test_steps_and_period_come_from_the_scenario(name: str) -> None:
    """K = 10 steps of 0.02 s times a client's slowdown, mean over the 20 clients; an option has
    precedence."""
    one = spec(name)
    period = 10 * 0.02 * slowdowns(one.scenario.compute.slowdown, 20, 0).mean()  # type: ignore[union-attr]
    dispatch = Setup(one).dispatch
    assert isinstance(dispatch, Poll)
    assert (dispatch.cohort_size, dispatch.max_steps) == (10, 10)
    assert dispatch.period_seconds == pytest.approx(period, rel=1e-12)
    assert Setup(spec(f"{name}[max_steps=5]")).dispatch == Poll(
        cohort_size=10, max_steps=5, period_seconds=pytest.approx(period / 2, rel=1e-12)
    )
    assert Setup(spec(f"{name}[period_seconds=3,cohort_size=2]")).dispatch == Poll(
        cohort_size=2, max_steps=10, period_seconds=3.0
    )


def test_epochs_are_steps_where_all_shards_are_alike() -> None:
    """The shards of the two-class partition have one size; three epochs are three times one."""
    once, thrice = (Setup(spec("quafl", f"local={{epochs: {n}, batch_size: 10}}")).dispatch for n in (1, 3))
    assert thrice.max_steps == 3 * once.max_steps > 3  # type: ignore[attr-defined]


def test_unequal_epochs_are_refused(monkeypatch: Any) -> None:
    setup = Setup(spec("quafl", "local={epochs: 1, batch_size: 10}"))
    monkeypatch.setattr(Setup, "counts", np.array([[10.0, 0.0], [5.0, 50.0]]))
    with pytest.raises(
        UsageError, match=r"digits-demo: .*part local gives 1 to 6; set max_steps of the algorithm, or local.steps to a number"
    ):
        _ = setup.dispatch


def test_a_job_drawn_as_a_whole_is_spread_over_its_steps() -> None:
    """10 steps in U(2, 4) s, polled every 3 s, the mean: by the first poll everybody has done
    between 7 and 10 of them."""
    setup = Setup(spec("favano", "compute={kind: per_job, time: {distribution: uniform, low_seconds: 2, high_seconds: 4}}"))
    assert setup.dispatch == Poll(cohort_size=10, max_steps=10, period_seconds=pytest.approx(3, rel=1e-12))
    chunk = setup.scheduler().next(1)
    steps = chunk.steps[chunk.consumed_by == 0]
    assert len(steps) == 10
    assert set(steps.tolist()) <= {7, 8, 9, 10}
    assert len(set(steps.tolist())) > 1


def test_a_time_without_mean_needs_a_period() -> None:
    pareto = "compute={kind: per_job, time: {distribution: pareto, scale_seconds: 1, shape: 1}}"
    with pytest.raises(UsageError, match="digits-demo: its compute time has no mean to poll by; set period_seconds"):
        plan(spec("favano", pareto))
    assert plan(spec("favano[period_seconds=2]", pareto, "budget.updates=3")).updates == 3


@pytest.mark.parametrize("name", ["favano", "quafl"])
def test_a_run_from_end_to_end(name: str) -> None:
    record = Run(spec(name, "budget={updates: 12, seconds: 40}")).record()
    assert record.state == "finished"
    assert record.ledger.updates == 12
    assert record.ledger.jobs >= 120
    assert record.final.test_accuracy > 0.12
    assert plan(spec(name, "budget={updates: 12, seconds: 40}")).plan_digest == record.digests.plan
