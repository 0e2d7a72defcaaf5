"""The server's own work: in plan, ledger and curves, and on the clock where the scenario names its
speed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.algorithms.favano import FAVANO
from fedbench.algorithms.fedavg import FedAvg
from fedbench.algorithms.ringleader import Ringleader
from fedbench.engine.plan import PlanSummary, plan
from fedbench.engine.run import Run
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.results.consistent import check_consistent
from fedbench.results.record import SERVER_CURVE, Record
from fedbench.results.sections import SERVER_LEDGER
from fedbench.results.store import Store, read
from fedbench.scenarios.load import load
from fedbench.types import Info, ServerWork

SMALL = ("clients=8", "budget.seconds=6", "local.steps=3", "task.model=softmax", "public.size=130")
FEDECHO = "fedecho[buffer_size=2,concurrency=5]"
QUIET = (
    "clients=6",
    "partition={kind: iid}",
    "compute.slowdown={low: 1, high: 1}",
    "local.steps=5",
    "network={}",
    "budget.seconds=99",
)


def spec(algorithm: Any, *overrides: str) -> RunSpec:
    chosen = registry.algorithm(algorithm) if isinstance(algorithm, str) else algorithm
    return RunSpec(load("digits-demo", overrides), chosen, 0)


def plan_of(algorithm: Any, *overrides: str) -> PlanSummary:
    return plan(spec(algorithm, *overrides))


def speed(gradients_per_second: float) -> str:
    return f"server.gradients_per_second={gradients_per_second}"


@dataclass(frozen=True, kw_only=True)
class Looks(FedAvg):
    """FedAvg whose server computes 300 forward passes and 100 gradients an update, and half of that
    before."""

    name = "looks"

    def server_work(self, info: Info) -> ServerWork:
        return ServerWork(300, 100, 150, 50)


def test_what_fedecho_computes_is_in_plan_ledger_and_curves() -> None:
    """On 130 public examples: the logits of two arrivals, and a pass of distillation."""
    facts, record = plan_of(FEDECHO, *SMALL), Run(spec(FEDECHO, *SMALL)).record()
    ledger, updates = record.ledger, facts.updates
    assert (facts.server_forward_examples, facts.server_gradient_examples) == (260 * updates, 130 * updates)
    assert (ledger.server_forward_examples, ledger.server_gradient_examples) == (260 * updates, 130 * updates)
    assert facts.public_logits_vectors == ledger.public_logits_vectors == 8 * 130 * 10 / 650
    assert record.curves[SERVER_CURVE].dtype == np.int64
    assert record.curves[SERVER_CURVE].tolist() == ((260 + 3 * 130) * record.curves["version"]).tolist()
    assert facts.server_seconds_per_update == 0
    assert ledger.server_busy_seconds is None


def test_who_computes_nothing_at_the_server_has_the_record_of_before() -> None:
    record, facts = Run(spec("fedbuff[buffer_size=2]", *SMALL)).record(), plan_of("fedbuff[buffer_size=2]", *SMALL)
    assert not set(SERVER_LEDGER) & set(record.ledger.as_dict())
    assert SERVER_CURVE not in record.curves
    assert record.digests.server is None
    assert (facts.server_forward_examples, facts.server_gradient_examples, facts.public_logits_vectors) == (0, 0, 0)
    assert plan_of("fedbuff[buffer_size=2]", *SMALL, speed(1)).plan_digest == facts.plan_digest


def test_a_round_waits_for_the_server() -> None:
    """200 gradients an update at 400 a second are half a second, and a quarter before the first
    job. A round of five steps takes a tenth."""
    facts = plan_of(Looks(cohort_size=6), *QUIET, "budget.updates=4", speed(400))
    assert facts.server_seconds_per_update == 0.5
    assert facts.end_seconds == pytest.approx(0.25 + 4 * (0.1 + 0.5))
    assert (facts.server_forward_examples, facts.server_gradient_examples) == (150 + 4 * 300, 50 + 4 * 100)


def test_work_before_the_first_job_counts_when_that_job_starts() -> None:
    options = ("budget.seconds=1", "evaluation.every_seconds=0.05", speed(400))
    record = Run(spec(Looks(cohort_size=6), *QUIET, *options)).record()
    curves, ledger = record.curves, record.ledger
    assert curves[SERVER_CURVE].tolist() == np.where(curves["seconds"] >= 0.25, 300 + 600 * curves["version"], 0).tolist()
    assert ledger.updates == 1
    assert ledger.server_busy_seconds == pytest.approx(0.25 + 0.5)
    begun = plan_of(Looks(cohort_size=6), *QUIET, "budget.seconds=0.2", speed(400))
    assert (begun.updates, begun.server_forward_examples) == (0, 0)


def test_a_stream_goes_on_while_the_server_works() -> None:
    """Six clients arrive every 0.1 s and make three updates, each of which takes 0.15 s."""
    options = (*QUIET, "public.size=100", "budget.updates=9")
    work = 200 / 3 + 100
    facts = plan_of("fedecho[buffer_size=2]", *options, speed(work / 0.15))
    assert facts.end_seconds == pytest.approx(0.1 + 9 * 0.15)
    assert facts.staleness_max > plan_of("fedecho[buffer_size=2]", *options).staleness_max


def test_the_faster_the_server_the_closer_to_one_that_needs_no_time() -> None:
    ends = [
        plan_of(FEDECHO, *SMALL, "budget.updates=20", *more).end_seconds for more in [(), *((speed(v),) for v in (1e9, 1e4, 1e3))]
    ]
    assert ends == sorted(ends)
    assert ends[1] == pytest.approx(ends[0], abs=1e-5)
    assert ends[3] > 1.3 * ends[0]


def test_a_policy_that_cannot_wait_for_the_server_says_so() -> None:
    @dataclass(frozen=True, kw_only=True)
    class LooksInTurns(Ringleader):
        name = "looks_in_turns"

        def server_work(self, info: Info) -> ServerWork:
            return ServerWork(forward=1)

    assert plan_of(LooksInTurns(), *SMALL).updates > 0
    with pytest.raises(UsageError, match="turns: the server's work must take no time"):
        plan_of(LooksInTurns(), *SMALL, speed(1))


def test_polled_clients_wait_for_the_version_that_results() -> None:
    @dataclass(frozen=True, kw_only=True)
    class LooksWhenItPolls(FAVANO):
        name = "looks_when_it_polls"

        def server_work(self, info: Info) -> ServerWork:
            return ServerWork(gradients=100)

    plain, slow = (plan_of(LooksWhenItPolls(cohort_size=4), *SMALL, *more) for more in ((), (speed(50),)))
    assert plain.updates > 3
    assert slow.updates == 2, "in six seconds, of a period and two seconds each"
    assert slow.busy_fraction < plain.busy_fraction


def test_declared_work_is_checked() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Half(FedAvg):
        name = "half"

        def server_work(self, info: Info) -> ServerWork:
            return ServerWork(forward=0.5)  # type: ignore[arg-type]

    with pytest.raises(UsageError, match=r"algorithm half: server_work: forward must be a whole number >= 0, got 0.5"):
        plan_of(Half(), *SMALL)


def test_the_speed_is_hashed_only_if_it_is_given() -> None:
    plain = load("digits-demo")
    assert load("digits-demo", ["server={}"]).content_hash() == plain.content_hash()
    assert (
        load("digits-demo", [speed(1)]).content_hash() != load("digits-demo", [speed(2)]).content_hash() != plain.content_hash()
    )
    with pytest.raises(UsageError, match=r"server.gradients_per_second must be >= "):
        load("digits-demo", [speed(0)])


def test_a_record_with_a_slow_server_is_stored_and_verified(tmp_path: Path) -> None:
    record = Run(spec(FEDECHO, *SMALL, speed(3000)), Store(tmp_path)).record()
    (folder,) = (file.parent for file in tmp_path.glob("*/*/*/record.json"))
    again = read(folder)
    assert again.as_dict() == record.as_dict()
    assert again.curves[SERVER_CURVE].tolist() == record.curves[SERVER_CURVE].tolist()
    assert verify(again).verdict == "identical"
    check_consistent(record, "it")


def from_before(record: Record) -> Record:
    ledger = record.ledger.model_copy(update=dict.fromkeys(SERVER_LEDGER))
    digests = record.digests.model_copy(update={"server": None})
    curves = {name: column for name, column in record.curves.items() if name != SERVER_CURVE}
    return record.model_copy(update={"ledger": ledger, "digests": digests, "curves": curves})


def test_a_record_from_before_the_work_was_counted_is_still_identical() -> None:
    record = Run(spec(FEDECHO, *SMALL)).record()
    old = from_before(record)
    check_consistent(old, "it")
    found = verify(old)
    assert (found.verdict, found.differences) == ("identical", ())
