"""What clock and ledger charge: gradients beside the steps, preludes, exchanges, fractions of a
vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms.fedavg import FedAvg
from fedbench.engine.declared import vector_bytes
from fedbench.engine.plan import PlanSummary, plan
from fedbench.engine.run import Run
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.scenarios.load import load
from fedbench.types import Dispatch, GradientWork, Info, Rounds, ServerMemory, Stream, Traffic

EQUAL = ("clients=6", "task.model=softmax", "partition={kind: iid}", "compute.slowdown={low: 1, high: 1}", "local.steps=5")
QUIET = ("network={}",)
LATE = ("network={latency_seconds: 1}",)
STEP = 0.02


def spec(algorithm: Any, overrides: Sequence[str]) -> RunSpec:
    chosen = registry.algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    return RunSpec(load("digits-demo", [*EQUAL, *overrides]), chosen, 0)


def plan_of(algorithm: Any, *overrides: str) -> PlanSummary:
    return plan(spec(algorithm, overrides))


def record_of(algorithm: Any, *overrides: str) -> Record:
    return Run(spec(algorithm, overrides)).record()


def batches(algorithm: str = "fedavg") -> list[int]:
    return np.ceil(Setup(spec(algorithm, ())).sizes / 10).astype(int).tolist()


def test_a_full_gradient_in_a_job_takes_time_and_counts() -> None:
    """5 steps, and as many gradients more as batches cover a client's examples: a round waits for
    the client with most."""
    two = ("budget.updates=2", "budget.seconds=99", *QUIET)
    plain, full = (plan_of(f"scaffold[sampling=all,option={option}]", *two) for option in (2, 1))
    most, total = max(batches()), sum(batches())
    assert plain.end_seconds == pytest.approx(2 * 5 * STEP)
    assert full.end_seconds == pytest.approx(2 * (5 + most) * STEP)
    assert (plain.steps_done, plain.gradient_evaluations) == (60, 60)
    assert (full.steps_done, full.gradient_evaluations) == (60, 60 + 2 * total)


def test_fedlin_computes_two_gradients_a_step_and_a_full_one_a_round() -> None:
    facts = plan_of("fedlin", "budget.updates=3", "budget.seconds=99", *QUIET)
    assert facts.gradient_evaluations == 3 * (2 * 30 + sum(batches()))
    assert facts.end_seconds == pytest.approx(3 * (2 * 5 + max(batches())) * STEP)


def test_a_prelude_counts_in_ledger_and_curves() -> None:
    """FedaGrac's first references: everybody's full gradient before the first job, one vector down
    and one up."""
    record = record_of("fedagrac[sampling=all]", "budget.seconds=3", "evaluation.every_seconds=0.05")
    ledger, curves = record.ledger, record.curves
    total, vector = sum(batches()), 4 * 650
    assert ledger.gradient_evaluations == ledger.steps_done + total
    over = int(np.argmax(curves["gradient_evaluations"] > 0))
    assert curves["gradient_evaluations"][over] == total
    assert curves["bytes"][over] == 12 * vector + 6 * 2 * vector  # the prelude's, and the downloads of the first round
    assert curves["gradient_evaluations"][-1] == ledger.gradient_evaluations
    assert curves["bytes"][-1] == ledger.bytes_up + ledger.bytes_down


def test_a_prelude_at_every_round_counts_in_rounds_without_an_update_too() -> None:
    """Rounds are closed after a second, in which nobody gets through its 50 steps: 5 rounds, no
    update, 5 passes of everybody."""

    class Anew(FedAvg):
        name = "anew"

        def dispatch(self, info: Info) -> Dispatch:
            return Rounds(select="all", prelude="every_round")

    facts = plan_of(Anew(), "local.steps=50", "rounds.deadline_seconds=1", "budget.seconds=5", *QUIET)
    assert (facts.updates, facts.jobs) == (0, 6 * 5 + 6)  # one round more begins as the budget ends
    assert facts.gradient_evaluations - facts.steps_done == 5 * sum(batches())


def test_a_prelude_that_the_budget_does_not_reach_costs_nothing() -> None:
    facts = plan_of("fedagrac[sampling=all]", "budget.seconds=0.01", "evaluation.every_seconds=0.01", *QUIET)
    assert (facts.updates, facts.gradient_evaluations) == (0, 0)


@pytest.mark.parametrize(
    "selector", ["fedavg[sampling=all]", "scaffold[sampling=all,option=1]", "fedlin", "fedagrac[sampling=all]"]
)
def test_curves_end_where_the_ledger_does(selector: str) -> None:
    record = record_of(selector, "budget.seconds=3", "compute.slowdown={low: 1, high: 4}")
    curves, ledger = record.curves, record.ledger
    assert curves["gradient_evaluations"][-1] == ledger.gradient_evaluations > 0
    assert curves["steps"][-1] == ledger.steps_done


def test_two_exchanges_pay_the_latency_twice() -> None:
    """FedAvg waits 2 s a round for its messages, FedaGrac 4 s, and 2 s for the exchange of its
    prelude."""
    overrides = ("budget.updates=3", "budget.seconds=99", *LATE)
    fedavg, fedagrac, scaffold = (plan_of(f"{name}[sampling=all]", *overrides) for name in ("fedavg", "fedagrac", "scaffold"))
    assert fedavg.end_seconds == pytest.approx(3 * (2 + 5 * STEP))
    assert scaffold.end_seconds == pytest.approx(fedavg.end_seconds)
    assert fedagrac.end_seconds == pytest.approx(3 * (4 + 5 * STEP) + 2 + max(batches()) * STEP)


def test_lost_jobs_count_the_gradients_that_were_computed() -> None:
    """Drop-out strikes at a uniform instant: of a job of g gradients some are done. Beside the
    steps comes first."""
    facts = plan_of("scaffold[cohort_size=3,option=1]", "dropout=0.5", "budget.seconds=20", *QUIET)
    assert facts.jobs_dropped_out > 20
    assert facts.steps_done < facts.gradient_evaluations < facts.jobs * (5 + max(batches()))
    assert facts.gradient_evaluations - facts.steps_done < facts.jobs * max(batches())
    plain = plan_of("scaffold[cohort_size=3]", "dropout=0.5", "budget.seconds=20", *QUIET)
    assert plain.gradient_evaluations == plain.steps_done


def test_jobs_of_drawn_times_take_longer_with_more_gradients() -> None:
    """A job of 5 steps takes 3 s whatever its steps; with b gradients beside them 3 (5 + b) / 5
    s."""
    per_job = "compute={kind: per_job, time: {distribution: constant, seconds: 3}}"
    two = ("budget.updates=2", "budget.seconds=99", *QUIET, per_job)
    assert plan_of("scaffold[sampling=all]", *two).end_seconds == pytest.approx(6)
    assert plan_of("scaffold[sampling=all,option=1]", *two).end_seconds == pytest.approx(2 * 3 * (5 + max(batches())) / 5)


def test_a_pooled_worker_pays_for_every_step_under_drawn_times() -> None:
    """Of six clients with two passes a job each takes 3 s. One worker with all examples has about
    six times the steps, and the time."""
    overrides = (
        "local={epochs: 2}",
        "compute={kind: per_job, time: {distribution: constant, seconds: 3}}",
        "budget.updates=4",
        "budget.seconds=500",
        *QUIET,
    )
    clients, pooled = plan_of("fedavg[sampling=all]", *overrides), plan_of("centralised", *overrides)
    assert clients.end_seconds == pytest.approx(4 * 3)
    assert pooled.steps_done / pooled.end_seconds == pytest.approx(clients.steps_done / 6 / clients.end_seconds)
    steps = plan_of(
        "centralised", "compute={kind: per_job, time: {distribution: constant, seconds: 3}}", "budget.updates=4", *QUIET
    )
    assert steps.end_seconds == pytest.approx(4 * 3)


@pytest.mark.parametrize("scenario", ["fedecho-fashion-large-delay", "fedecho-fashion-mild-delay"])
def test_a_pooled_worker_is_as_fast_as_a_client_of_the_first_class(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """10 to 20 s for the steps of a mean client: no client of the first class does more steps in
    the time."""
    labels = np.tile(np.arange(10), 300)
    train = type("Train", (), {"y": labels, "owner": None, "__len__": lambda self: 3000})()
    dataset = type("Data", (), {"train": train, "classes": 10, "owners": 0})()
    monkeypatch.setattr(Setup, "task", type("Task", (), {"dataset": dataset})())
    chosen = load(scenario, ["public=null", "budget.seconds=2000", "clients=10", "compute.assignment.medium_share=0.9"])
    facts = plan(RunSpec(chosen, registry.algorithm("centralised"), 0))
    mean_steps = np.mean(Setup(RunSpec(chosen, registry.algorithm("fedavg"), 0)).timing().steps.values)
    assert facts.steps_done / 2000 == pytest.approx(mean_steps / 15, rel=0.2)


@dataclass(frozen=True, kw_only=True)
class Sparse(FedAvg):
    """Sends a tenth of the entries."""

    name = "sparse"

    def traffic(self, info: Info) -> Traffic:
        return Traffic(up=0.1)


def test_a_fraction_of_a_vector_is_billed_as_a_fraction() -> None:
    """650 parameters of 4 bytes: 2,600 bytes down, 260 up, on the clock and in the ledger."""
    network = "network={download_megabit_per_second: 0.0208, upload_megabit_per_second: 0.0208}"
    sparse = record_of(Sparse(sampling="all"), network, "budget.updates=2", "budget.seconds=99")
    ledger = sparse.ledger
    assert (ledger.bytes_down, ledger.bytes_up) == (2 * 6 * 2600, 2 * 6 * 260)
    assert ledger.end_seconds == pytest.approx(2 * (1 + 0.1 + 5 * STEP))


@dataclass(frozen=True, kw_only=True)
class AsFarAsTheyGet(FedAvg):
    """Every client does as many steps as it can in half a second."""

    name = "as_far_as_they_get"
    stream: bool = False

    def dispatch(self, info: Info) -> Dispatch:
        steps = np.maximum(1, 0.5 // info.step_seconds).astype(np.int64)
        return (
            Stream(concurrency=info.clients, buffer_size=6, steps=steps) if self.stream else Rounds(steps=tuple(steps.tolist()))
        )


@pytest.mark.parametrize("stream", [False, True])
def test_an_algorithm_may_choose_steps_by_speed(stream: bool) -> None:
    given = spec(AsFarAsTheyGet(stream=stream), ["compute.slowdown={low: 1, high: 9}", *QUIET, "budget.updates=1"])
    setup = Setup(given)
    chunk = setup.scheduler().next()
    seconds = setup.info.step_seconds
    assert len(set(chunk.steps.tolist())) > 1
    assert chunk.steps.tolist() == (0.5 // seconds[chunk.client]).astype(int).tolist()
    assert plan(given).end_seconds <= 0.5


class Told(FedAvg):
    """Does what its test says."""

    name = "told"
    steps: ClassVar[Any] = None

    def dispatch(self, info: Info) -> Dispatch:
        return Stream(concurrency=info.clients, steps=self.steps)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (np.full(5, 2), "steps: expected 1 or 6 values, one per client, got 5"),
        (np.array([2, 2, -1, 2, 2, 2]), r"steps: expected whole numbers between 0 and 2147483647, .*, got -1 \(client 2\)"),
        (np.full(6, 0.5), r"steps: expected whole numbers between 0 and 2147483647, .*, got float64 \(6,\)"),
    ],
)
def test_wrong_steps_are_refused_with_their_algorithm(monkeypatch: pytest.MonkeyPatch, steps: Any, message: str) -> None:
    monkeypatch.setattr(Told, "steps", steps)
    with pytest.raises(UsageError, match=f"^algorithm told on scenario digits-demo: {message}$"):
        plan_of(Told())


@pytest.mark.parametrize(("vectors", "expected"), [(0.07, 182), (1 / 3, 867), (1.5, 3900), (0, 0), (2, 5200)])
def test_bytes_of_a_fraction(vectors: float, expected: int) -> None:
    """Of 2,600: 0.07 * 2600 is a little more than 182 in floats, a third is 866.7."""
    assert vector_bytes(vectors, 2600) == expected


def test_declarations_may_be_numbers_of_numpy() -> None:
    """They count as Python's do, and a record can hold them."""
    costs = {
        "traffic": Traffic(down=np.int64(1), up=np.float64(0.25)),  # type: ignore[arg-type]
        "gradient_work": GradientWork(full=np.int32(1)),  # type: ignore[arg-type]
        "server_memory": ServerMemory(own=np.int64(1)),  # type: ignore[arg-type]
    }
    given = type("Given", (FedAvg,), {"name": "given"} | {name: lambda self, info, v=v: v for name, v in costs.items()})
    ledger = record_of(given(sampling="all"), "budget.seconds=2").ledger
    assert ledger.bytes_down / ledger.bytes_up >= 4
    assert {type(getattr(ledger, name)) for name in ("bytes_up", "bytes_down", "gradient_evaluations", "server_vectors")} == {int}


WRONG = {
    "traffic": [
        ((1, 1, 1), r"algorithm wrong: traffic must return Traffic\(down, up, exchanges\), got \(1, 1, 1\)"),
        (Traffic(up=-0.5), "traffic: up must be a number >= 0, got -0.5"),
        (Traffic(down=float("nan")), "traffic: down must be a number >= 0, got nan"),
        (Traffic(exchanges=1.5), "traffic: exchanges must be a whole number >= 0, got 1.5"),  # type: ignore[arg-type]
    ],
    "gradient_work": [
        (GradientWork(per_step=0), "gradient_work: per_step must be >= 1, got 0"),
        (GradientWork(full=0.5), "gradient_work: full must be a whole number >= 0, got 0.5"),  # type: ignore[arg-type]
        (Traffic(), r"gradient_work must return GradientWork\(per_step, full\), got Traffic"),
    ],
    "server_memory": [(ServerMemory(own=True), "server_memory: own must be a whole number >= 0, got True")],
}


@pytest.mark.parametrize(("method", "value", "message"), [(name, *row) for name, rows in WRONG.items() for row in rows])
def test_a_wrong_declaration_is_refused_by_name(method: str, value: Any, message: str) -> None:
    wrong = type("Wrong", (FedAvg,), {"name": "wrong", method: lambda self, info: value})
    with pytest.raises(UsageError, match=message):
        plan_of(wrong(sampling="all"))


def test_polled_clients_compute_a_gradient_a_step() -> None:
    quafl = type(registry.algorithm("quafl"))
    twice = type("Twice", (quafl,), {"name": "twice", "gradient_work": lambda self, info: GradientWork(per_step=2)})
    with pytest.raises(UsageError, match="poll: a polled client computes one gradient a step and nothing beside"):
        plan_of(twice(cohort_size=2))
