"""What a plan alone tells, against the plan itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.engine.plan import PlanSummary, plan
from fedbench.engine.run import Run
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.kernels.scheduler import Chunk, Scheduler
from fedbench.protocols import Algorithm
from fedbench.scenarios.load import load
from fedbench.types import Info, ServerMemory

SMALL = ["clients=8", "task.model=softmax", "local.steps=4", "partition={kind: iid}", "network={}", "budget.seconds=9"]


def spec(algorithm: str | Algorithm, *overrides: str, seed: int = 3) -> RunSpec:
    chosen = registry.algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    return RunSpec(load("digits-demo", [*SMALL, *overrides]), chosen, seed)


def both(given: RunSpec) -> tuple[PlanSummary, Scheduler, Chunk]:
    scheduler = Setup(given).scheduler()
    return plan(given), scheduler, scheduler.next(1 << 20)


def test_jobs_that_updates_consume_and_jobs_that_were_begun() -> None:
    """At the end five clients still work, and some arrivals wait in the buffer."""
    summary, scheduler, chunk = both(spec("fedbuff[buffer_size=4,concurrency=5]"))
    assert summary.jobs_consumed == int((chunk.consumed_by >= 0).sum()) == 4 * summary.updates
    assert summary.jobs == len(chunk.client) == scheduler.totals["jobs"] >= summary.jobs_consumed + 5
    assert (summary.seed, summary.scenario) == (3, "digits-demo")
    assert summary.trained_steps == 4 * summary.jobs_consumed
    assert summary.avoided_steps == 4 * (summary.jobs - summary.jobs_consumed)


LOSSES = "availability={kind: periodic, period_seconds: 3, on_fraction: 0.6}", "dropout=0.2"


@pytest.mark.parametrize(
    "algorithm", ["fedavg[cohort_size=4]", "fedbuff[buffer_size=3]", "defedavg_niid[cohort_size=3]", "favano[cohort_size=3]"]
)
@pytest.mark.parametrize("overrides", [(), LOSSES], ids=["calm", "losses"])
def test_a_plan_counts_as_the_ledger_of_its_run_does(algorithm: str, overrides: tuple[str, ...]) -> None:
    """Every name that both have, also where clients leave and jobs drop out."""
    given = spec(algorithm, *overrides)
    summary, ledger = plan(given).as_dict(), Run(given).record().ledger.as_dict()
    common = set(summary) & set(ledger)
    assert {"jobs", "jobs_consumed", "jobs_left", "jobs_dropped_out", "jobs_late", "updates", "steps_wasted"} <= common
    assert {name: summary[name] for name in common} == {name: ledger[name] for name in common}
    lost = summary["jobs_left"] + summary["jobs_dropped_out"]
    assert (lost > 0) == bool(overrides)
    assert summary["jobs"] >= summary["jobs_consumed"] + lost


def test_steady_staleness_leaves_out_ten_times_the_concurrency() -> None:
    """Among the first arrivals are those of clients that began with version 0."""
    summary, _, chunk = both(spec("fedbuff[buffer_size=1,concurrency=4]", "compute.slowdown={low: 1, high: 9}"))
    tau = np.repeat(np.arange(len(chunk.time)), np.diff(chunk.offsets)) - chunk.base[chunk.entries]
    assert len(tau) > 60
    assert summary.staleness_mean == pytest.approx(tau.mean())
    assert summary.staleness_mean_steady == pytest.approx(tau[40:].mean())
    assert summary.staleness_mean_steady != pytest.approx(tau.mean(), rel=1e-6)
    assert summary.staleness_max == tau.max()


def test_no_steady_staleness_of_a_short_plan() -> None:
    assert plan(spec("fedbuff[buffer_size=1,concurrency=4]", "budget.updates=40")).staleness_mean_steady is None
    assert plan(spec("fedbuff[buffer_size=1,concurrency=4]", "budget.updates=41")).staleness_mean_steady is not None


@dataclass(frozen=True, kw_only=True)
class LooksBack(FedBuff):
    """Keeps the model of every version that a client still trains from."""

    name = "looks_back"

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=2, per_client=1, per_version=1)


def test_the_server_keeps_the_versions_in_flight() -> None:
    summary, scheduler, _ = both(spec(LooksBack(buffer_size=1, concurrency=5)))
    peak = scheduler.totals["messages_peak"]
    assert peak > 2
    assert summary.messages_peak == peak
    assert summary.server_vectors == 2 + 8 + peak


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [("fedavg[sampling=all]", ""), ("fedbuff[concurrency=5]", "not applicable (Stream): ")],
)
def test_what_becomes_of_rounds(algorithm: str, expected: str) -> None:
    summary = plan(spec(algorithm, "rounds.deadline_seconds=2"))
    text = load("digits-demo", ["rounds.deadline_seconds=2"]).rounds.text
    assert text
    assert summary.rounds == expected + text


def test_a_plan_that_stalls_says_why() -> None:
    """Nobody is there after 3 s; an update needs everybody, and the last one began with all."""
    rows = [[[0, 3]]] * 8
    given = spec("fedbuff[buffer_size=20,concurrency=8]", f"availability={{kind: table, rows: {rows}}}")
    scheduler = Setup(given).scheduler()
    scheduler.next(1 << 20)
    stalled = plan(given)
    assert (stalled.outcome, stalled.ended_by) == ("stalled", "stalled")
    assert stalled.message == scheduler.stalled_message
    assert stalled.message.startswith(f"stalled before update {stalled.updates + 1}: ")
    assert plan(spec("fedbuff[concurrency=5]")).message == ""


def test_the_means_of_job_times_are_told_where_one_is_held() -> None:
    """Two clients, of 1 and 3 s a job: the harmonic mean is 1.5 and the arithmetic one 2."""
    held = "compute={kind: per_step, harmonic_job_seconds: 1.5}"
    summary = plan(spec("fedavg[cohort_size=2]", held, "clients=2", "local.steps=[1, 3]"))
    assert summary.job_seconds == "harmonic mean 1.5, arithmetic mean 2"
    assert plan(spec("fedavg[cohort_size=2]")).job_seconds == ""


def test_the_classes_of_a_file_of_ones_own_are_told(tmp_path: Path) -> None:
    """A fifth of every class is held out for testing. Data of the library are not loaded for it."""
    np.savez(tmp_path / "mine.npz", x=np.arange(1250.0, dtype=np.float32)[:, None], y=np.repeat([0, 1, 2], [1000, 200, 50]))
    (tmp_path / "mine.yaml").write_text(
        "{schema: 1, name: mine, about: Mine., task: {file: mine.npz, label: y, model: softmax}, clients: 4, partition: {kind: iid}, "
        "local: {steps: 2, batch_size: 5}, compute: {kind: per_step, step_seconds: 1}, budget: {updates: 3, seconds: 9}, "
        "evaluation: {every_seconds: 1}}"
    )
    summary = plan(RunSpec(load(tmp_path / "mine.yaml"), registry.algorithm("fedavg[cohort_size=2]"), 0))
    assert summary.classes == "3 of 40 examples to 800; to guess the largest is right for 80 %"
    assert plan(spec("fedavg[cohort_size=2]")).classes == ""
