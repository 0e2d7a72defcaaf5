"""Phase one of a run: plays the plan in chunks, and sums up what a plan tells without training."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Protocol

import numpy as np

from fedbench import written
from fedbench.engine.ledger import Ledger
from fedbench.engine.memory import server_vectors
from fedbench.engine.policy import rounds_text
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.choose import CPU, choose, cost_on, together
from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS, Chunk, Scheduler
from fedbench.process import peak_memory_mb
from fedbench.scenarios.compute_parts import PerStep
from fedbench.scenarios.schema import Scenario
from fedbench.types import Mailbox, Rounds

CHUNK_JOBS = 1 << 17


class Answers(Protocol):
    """Answers a scheduler that asks who takes part in a round."""

    def answer(self, scheduler: Scheduler) -> None: ...


def chunks(scheduler: Scheduler, ledger: Ledger, answers: Answers | None = None) -> Iterator[Chunk]:
    """Yields the plan in chunks, each added to the ledger before it is handed out."""
    for chunk in pieces(scheduler, answers):
        ledger.add(chunk, scheduler)
        yield chunk


def pieces(scheduler: Scheduler, answers: Answers | None = None) -> Iterator[Chunk]:
    """Yields the rest of a plan in chunks of about CHUNK_JOBS jobs. With external selection a chunk
    ends with a round; `answers` is asked when the caller, who has executed the chunk, wants the
    next one."""
    size = 1
    while True:
        chunk = scheduler.next(size)
        yield chunk
        if chunk.done:
            return
        if answers is not None and scheduler.awaiting_selection:
            answers.answer(scheduler)
        size = _next_size(size, chunk)


def _next_size(size: int, chunk: Chunk) -> int:
    return max(1, min(8 * size, CHUNK_JOBS * len(chunk.time) // max(1, len(chunk.client))))


def may_lack_somebody(setup: Setup) -> bool:
    """Returns whether the algorithm needs every client in every update (`Rounds.everybody`), and
    only the plan, which depends on the seed, can tell whether it has them."""
    dispatch = setup.dispatch
    if not isinstance(dispatch, Rounds) or not dispatch.everybody or setup.is_external:
        return False
    return dispatch.select != "all" or setup.jobs_can_fail


def check_everybody(setup: Setup) -> None:
    """Raises UsageError if the algorithm needs every client in every update, and the plan has an
    update without one, or with one twice."""
    if not may_lack_somebody(setup):
        return
    clients = setup.scenario.clients
    for chunk in pieces(setup.scheduler()):
        entries = np.diff(chunk.offsets)
        updates = np.repeat(np.arange(len(entries)), entries)
        pairs = np.unique(updates * clients + chunk.client[chunk.entries])
        distinct = np.bincount(pairs // clients, minlength=len(entries))
        lacking = np.flatnonzero((entries != clients) | (distinct != clients))
        if len(lacking):
            u = lacking[0]
            sampling = "sampling = all and " if hasattr(setup.spec.algorithm, "sampling") else ""
            raise UsageError(
                f"algorithm {setup.spec.selector} is not applicable to scenario {setup.scenario.name}: its weights p need every one "
                f"of the {clients} clients exactly once in an update, and update {chunk.first_version + u + 1}, at "
                f"{chunk.time[u] / NANOSECONDS:g} virtual seconds, would be of {entries[u]} jobs of {distinct[u]} clients; they need "
                f"{sampling}a scenario in which no job is lost or late"
            )


def check_counts_once(setup: Setup) -> None:
    """Raises UsageError if one job can count more than once. It is for clients with memory."""
    dispatch, sampling = setup.dispatch, ""
    if isinstance(dispatch, Mailbox):
        sampling = "Mailbox, which draws with replacement"
    elif isinstance(dispatch, Rounds) and dispatch.select in ("with_replacement", "weighted"):
        sampling = dispatch.select
    if sampling:
        raise UsageError(
            f"algorithm {setup.spec.algorithm.name}: clients have memory, so a job cannot count twice; sampling must be "
            f"without_replacement or all, got {sampling}"
        )


def add_up(scheduler: Scheduler, ledger: Ledger) -> None:
    """Adds the whole plan to the ledger. A second thread plans the next chunk while one is
    added."""
    with ThreadPoolExecutor(1) as pool:
        size = 1
        chunk = scheduler.next(size)
        while not chunk.done:
            size = _next_size(size, chunk)
            following = pool.submit(scheduler.next, size)
            ledger.add(chunk, scheduler)
            chunk = following.result()
        ledger.add(chunk, scheduler)


@dataclass(frozen=True)
class PlanSummary:
    """What a plan tells without training. Seconds are virtual, except `wall_s`; `peak_mb` is the
    peak memory of this process in MB.

    Names that a record's ledger has mean the same here. `jobs` counts all jobs that began,
    `jobs_consumed` those that updates consume, and `jobs_left`, `jobs_dropped_out` and `jobs_late`
    those that were lost or called off. `rounds` is what the scenario asks of rounds, and whether
    that applies. `job_seconds` has the means over the clients of the compute time of a job, where
    the scenario holds one. `held_out_clients` says how many there are, and how many take part.
    `classes` says how the training examples of a file of one's own fall into classes.
    `staleness_mean_steady` leaves out the first 10 x concurrency arrivals. `server_vectors` is the
    largest number of model-sized vectors that the server keeps from update to update, and
    `public_logits_vectors` what its logits of public examples come to beside them.
    What the server computes itself is counted in examples, as forward passes and as gradients;
    `server_seconds_per_update` is 0 if the scenario does not name the server's speed. `device_cost`
    estimates, by counting, what a step takes on a GPU, and where the native trainer is faster.
    """

    scenario: str
    algorithm: str
    seed: int
    outcome: str
    ended_by: str
    message: str
    jobs: int
    jobs_consumed: int
    updates: int
    end_seconds: float
    wall_s: float
    peak_mb: float | None
    staleness_mean: float
    staleness_mean_steady: float | None
    staleness_max: int
    busy_fraction: float
    busy_seconds_lost: float
    available_fraction: float
    participation_gini: float
    participation_gini_available: float
    jobs_left: int
    jobs_dropped_out: int
    jobs_late: int
    steps_done: int
    steps_wasted: int
    trained_steps: int
    avoided_steps: int
    gradient_evaluations: int
    messages_peak: int
    server_vectors: int
    public_logits_vectors: float
    server_forward_examples: int
    server_gradient_examples: int
    server_seconds_per_update: float
    rounds: str
    job_seconds: str
    held_out_clients: str
    classes: str
    trainer: str
    device: str
    trainer_reason: str
    device_cost: str
    plan_digest: str

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def plan(spec: RunSpec, device: str = CPU) -> PlanSummary:
    """Plans a run and returns the summary. No data are loaded unless the scenario's steps or the
    policy depend on shard sizes. `device` is where the run is to be trained; it need not be on this
    machine."""
    return planned(Setup(spec), device)


def planned(setup: Setup, device: str = CPU) -> PlanSummary:
    """Plans the run of a setup, see `plan`."""
    spec = setup.spec
    choice = choose(setup.outline, spec.algorithm, device=device, local=spec.scenario.local, part=spec.scenario.task)
    begin = time.perf_counter()
    scheduler, start = setup.scheduler_alone(), setup.timing().start_seconds
    ledger = setup.ledger(scheduler)
    add_up(scheduler, ledger)
    wall = time.perf_counter() - begin
    totals = setup.server.counted(ledger.totals(scheduler, setup.traffic, 0), start, setup.outline.model.dim)
    return PlanSummary(
        scenario=spec.scenario.name,
        algorithm=spec.selector,
        seed=spec.seed,
        outcome=scheduler.outcome,
        ended_by=scheduler.ended_by,
        message=scheduler.stalled_message if scheduler.outcome == "stalled" else "",
        wall_s=wall,
        peak_mb=peak_memory_mb(),
        staleness_mean_steady=ledger.steady_sum / ledger.steady_count if ledger.steady_count else None,
        server_vectors=server_vectors(spec.algorithm, setup.info, scheduler.totals["messages_peak"]),
        server_seconds_per_update=setup.server.seconds,
        rounds=rounds_text(setup),
        job_seconds=_job_seconds(setup),
        held_out_clients=_held_out(setup.scenario),
        classes=_classes(setup),
        trainer=choice.name,
        device=choice.device,
        trainer_reason=choice.reason,
        device_cost=cost_on(
            choice, setup.outline, spec.algorithm, spec.scenario, together(setup.dispatch, setup.scenario.clients)
        ),
        plan_digest=ledger.digest.hex(),
        **{name: value for name, value in totals if value is not None and name in PlanSummary.__dataclass_fields__},
    )


def _job_seconds(setup: Setup) -> str:
    """Returns the means of job times in words, if the scenario holds the harmonic one; else ''."""
    compute = setup.scenario.compute
    if not isinstance(compute, PerStep) or compute.harmonic_job_seconds is None:
        return ""
    seconds = setup.info.job_seconds
    return f"harmonic mean {1 / (1 / seconds).mean():.4g}, arithmetic mean {seconds.mean():.4g}"


def _held_out(scenario: Scenario) -> str:
    """Returns in words how many clients take part, if others are held out; else ''."""
    held_out = scenario.held_out_clients
    return f"{held_out:,} of {scenario.clients + held_out:,}, so {scenario.clients:,} take part" if held_out else ""


def _classes(setup: Setup) -> str:
    """Returns in words how large the classes of a file of one's own are; else '', since data are
    not loaded for that alone."""
    if setup.scenario.task.file is None or setup.scenario.task.is_regression:
        return ""
    counts = setup.counts.sum(axis=0)
    few, many = written.counted(int(counts.min()), "example"), f"{counts.max():,.0f}"
    return f"{len(counts)} of {few} to {many}; to guess the largest is right for {written.percent(counts.max() / counts.sum())}"
