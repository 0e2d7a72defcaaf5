"""Makes the parts of a run from its RunSpec. Each part is made when it is first needed, so a plan
loads no data unless it depends on them."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from fedbench.engine import declared, policy
from fedbench.engine.data import Data, all_shards_of, begun, shards_of
from fedbench.engine.declared import vector_bytes
from fedbench.engine.ledger import Ledger, Prelude
from fedbench.engine.server import ServerCost
from fedbench.engine.spec import RunSpec
from fedbench.engine.transfers import Messages, Transfer, absences, delayed, drawn, slowest
from fedbench.errors import UsageError
from fedbench.kernels.hindsight import Hindsight
from fedbench.kernels.scheduler import Gradients, Scheduler, Timing
from fedbench.scenarios import system
from fedbench.scenarios.data_parts import Natural, Overlapping
from fedbench.scenarios.pooled import pooled
from fedbench.scenarios.schema import Scenario
from fedbench.shards import Shards
from fedbench.tasks.available import Outline
from fedbench.tasks.task import Task
from fedbench.types import Dispatch, Info, Poll, Rounds, Stream, Traffic, Vector, Weights


class Setup:
    """The task, shards, schedule and initial model of one run. All of them but the dispatch depend
    on seed and scenario only."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self.scenario = pooled(spec.scenario) if spec.algorithm.pooled else spec.scenario

    @functools.cached_property
    def data(self) -> Data:
        """The task as the scenario changes it, and the public examples."""
        return Data(self.scenario, self.spec.seed)

    @property
    def task(self) -> Task:
        return self.data.task

    @property
    def outline(self) -> Outline:
        return self.data.outline

    @functools.cached_property
    def shards(self) -> Shards:
        given = self.spec.scenario
        if self.spec.algorithm.pooled and (isinstance(given.partition, Natural) or given.held_out_clients):
            # examples of no client that takes part stay out
            return Shards.of([np.sort(self._shards_of(given).rows)])
        return self._shards_of(self.scenario)

    def _shards_of(self, scenario: Scenario) -> Shards:
        return shards_of(self.task.dataset, scenario, self.spec.seed)

    @functools.cached_property
    def unseen(self) -> Shards:
        """The examples of the clients that are held out."""
        return all_shards_of(self.task.dataset, self.spec.scenario, self.spec.seed).held_out

    @functools.cached_property
    def sizes(self) -> Weights:
        return self.shards.sizes.astype(np.float64)

    @functools.cached_property
    def counts(self) -> Weights:
        """The examples of every class of every client (N, C)."""
        return self._counts_of(self.shards)

    def _counts_of(self, shards: Shards) -> Weights:
        return shards.labels(self.task.dataset.train.y, self.task.dataset.classes).astype(np.float64)

    @property
    def counts_for_clock(self) -> Weights | None:
        """The counts if durations or steps depend on them, else None: a plan without data should
        load none."""
        return self.counts if system.needs_counts(self.scenario) else None

    @functools.cached_property
    def info(self) -> Info:
        return Info(
            self.scenario.clients,
            lambda: self.sizes,
            step_seconds=lambda: self.step_seconds,
            job_seconds=lambda: system.job_seconds(self.scenario, self.spec.seed, self.counts_for_clock),
            public_shape=lambda: (self.data.public_size, self.outline.classes),
        )

    @property
    def step_seconds(self) -> Weights:
        """The mean virtual seconds of a local step, for every client (N,)."""
        return system.step_seconds(self.scenario, self.spec.seed, self.counts_for_clock)

    @functools.cached_property
    def traffic(self) -> Traffic:
        return declared.traffic(self.spec.algorithm, self.info)

    @functools.cached_property
    def gradients(self) -> Gradients:
        """The mini-batch gradients of a job."""
        per_step, full = declared.gradient_work(self.spec.algorithm, self.info)
        return Gradients(per_step=per_step, beside=full * system.batches(self.scenario, self.counts) if full else None)

    @functools.cached_property
    def server(self) -> ServerCost:
        return ServerCost.of(self.spec.algorithm, self.info, self.scenario.server.gradients_per_second)

    @functools.cached_property
    def prelude(self) -> Prelude | None:
        """The full gradients of all clients that the policy asks for beside all jobs, if it
        does."""
        if not self.dispatch.prelude:
            return None
        seconds = system.full_gradient_seconds(self.scenario, self.counts, self.spec.seed)
        gradients = int(system.batches(self.scenario, self.counts).sum(dtype=np.int64))
        return Prelude(seconds, gradients, every_round=self.dispatch.prelude == "every_round")

    @functools.cached_property
    def dispatch(self) -> Dispatch:
        """The algorithm's policy, with what the scenario adds to it."""
        return policy.dispatch(self)

    @functools.cached_property
    def payload_bytes(self) -> int:
        """The bytes of one model-sized vector in float32."""
        return 4 * self.outline.model.dim

    def timing(self) -> Timing:
        """Returns durations, steps and budget for the virtual clock."""
        scenario, counts = self.scenario, self.counts_for_clock
        download, upload = self._transfers(self.traffic)
        start = 0.0
        if self.prelude and self.prelude.every_round:  # all wait for the slowest client, as if the download took longer
            download = delayed(download, self.prelude.seconds)
        elif self.prelude:
            down, up = self._transfers(Traffic())
            start = slowest(down, scenario.clients, 0.0) + self.prelude.seconds
            start += slowest(up, scenario.clients, start)
        compute = system.compute(scenario, self.spec.seed, counts)
        if isinstance(self.dispatch, Poll) and self.dispatch.max_steps is not None:
            compute = system.one_step(compute, self.dispatch.max_steps)
        if self.spec.algorithm.pooled and not compute.per_step:  # a pooled job takes steps over the examples of all clients
            compute = system.one_step(compute, self._steps_before_pooling())
        return Timing(
            clients=scenario.clients,
            seed=self.spec.seed,
            compute=compute,
            download=download,
            upload=upload,
            steps=system.local_steps(scenario, self.spec.seed, counts),
            gradients=self.gradients,
            availability=system.availability(scenario, self.spec.seed),
            dropout=scenario.dropout,
            start_seconds=start + self.server.first_seconds,
            server_seconds=self.server.seconds,
            max_updates=scenario.budget.updates,
            max_seconds=scenario.budget.seconds,
            max_jobs=scenario.budget.jobs,
        )

    def _transfers(self, traffic: Traffic) -> tuple[Transfer, Transfer]:
        """Returns the download and the upload of a job that moves `traffic`."""
        size = self.payload_bytes if self._messages.asks_for_sizes else 0
        return self._messages.transfers(vector_bytes(traffic.down, size), vector_bytes(traffic.up, size), traffic.exchanges)

    @functools.cached_property
    def _messages(self) -> Messages:
        scenario, seed = self.scenario, self.spec.seed
        return Messages(scenario, seed, lambda: system.upload_rate(scenario, seed, self.payload_bytes, self.counts_for_clock))

    def _steps_before_pooling(self) -> float:
        """Returns the mean local steps of a client of the scenario before pooling. It turns times
        that are drawn for a whole job into times of a step."""
        given = self.spec.scenario
        counts = None
        if system.needs_counts(given):
            counts = self._counts_of(self._shards_of(given))
        return float(system.mean_steps(given, self.spec.seed, counts).mean())

    def scheduler(self, end_seconds: float | None = None) -> Scheduler:
        """Returns a fresh scheduler at virtual time 0. Its plan ends at `end_seconds` if they are
        given, else with the scenario's budget.

        Raises UsageError, naming algorithm and scenario, if the policy and the scenario's numbers
        do not go together.
        """
        weighted = isinstance(self.dispatch, Rounds) and self.dispatch.select == "weighted"
        timing = self.timing() if end_seconds is None else dataclasses.replace(self.timing(), max_seconds=end_seconds)
        try:
            return Scheduler(timing, self.dispatch, p=self.info.p if weighted else None)
        except UsageError as error:
            raise UsageError(f"algorithm {self.spec.algorithm.name} on scenario {self.scenario.name}: {error}") from None

    def scheduler_alone(self, end_seconds: float | None = None) -> Scheduler:
        """Returns a fresh scheduler for a plan without training. Raises UsageError if the algorithm
        selects clients by the state of the model."""
        if self.is_external:
            raise UsageError(
                f"algorithm {self.spec.algorithm.name} has no plan without training: it selects the clients of every round by the "
                'state of the model, Rounds(select="external"); use fedbench run, whose record holds the ledger'
            )
        return self.scheduler(end_seconds)

    @property
    def is_external(self) -> bool:
        """Whether the algorithm itself selects the clients of every round."""
        return isinstance(self.dispatch, Rounds) and self.dispatch.select == "external"

    @property
    def has_absences(self) -> bool:
        """Whether clients can be away or drop out."""
        return self.scenario.availability.kind != "always" or self.scenario.dropout > 0

    @property
    def jobs_can_fail(self) -> bool:
        """Whether jobs can be lost, late or paused."""
        policy = self.dispatch
        in_rounds = isinstance(policy, Rounds) and (policy.deadline_seconds or policy.over_selection)
        return self.has_absences or bool(in_rounds) or (isinstance(policy, Stream) and policy.stop_stale)

    def ledger(self, scheduler: Scheduler) -> Ledger:
        """Returns an empty ledger for this plan, with the scenario's evaluation grid."""
        hindsight = Hindsight(scheduler) if self.jobs_can_fail else None
        grid = self.scenario.evaluation.grid
        return Ledger(self.scenario.clients, self.dispatch, grid, hindsight, self.gradients, self.prelude)

    def x0(self) -> Vector:
        """Returns the initial model (d,) float32."""
        return self.task.model.x0(self.spec.seed)

    def _drawn_durations(self) -> list[Transfer]:
        """Returns the computing time and the times of a message of one model each way, as the
        scenario has them, whatever the algorithm sends."""
        transfers = self._messages.transfers(self.payload_bytes, self.payload_bytes)
        return [system.compute(self.scenario, self.spec.seed, self.counts_for_clock), *transfers]

    def inputs_digest(self) -> str:
        """Returns the digest of what the scenario drew: shards, durations, absences if there are
        any, and the initial model."""
        timing, digest = self.timing(), begun(self.shards, in_columns=isinstance(self.scenario.partition, Overlapping))
        self.data.add_to(digest)
        digest.add(*self.unseen)
        for duration in self._drawn_durations():
            digest.add(*drawn(duration))
        if not isinstance(self.scenario.local.steps, int | None):
            digest.add(np.array(timing.steps.normal if timing.steps.values is None else timing.steps.values, np.float64))
        if self.has_absences:
            digest.add(*absences(timing.availability), np.atleast_1d(timing.dropout))
        return digest.add(self.x0()).hex()
