"""Makes one run from its specification to its record: plan, execute, evaluate, record."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedbench.engine import keep
from fedbench.engine.alone import AloneEvaluator
from fedbench.engine.along import Along, check_times, point
from fedbench.engine.checkpoint import Checkpointer, restore
from fedbench.engine.evaluate import Evaluator, GridEvaluator, Progress
from fedbench.engine.execute import WAVE_BYTES, Diverged, Execution
from fedbench.engine.final import final
from fedbench.engine.goal import GoalHeld, goal_of
from fedbench.engine.ledger import Ledger
from fedbench.engine.measures import measure_of
from fedbench.engine.memory import server_bytes, server_vectors
from fedbench.engine.place import computed_on, server_place
from fedbench.engine.plan import check_counts_once, check_everybody, chunks
from fedbench.engine.select import ClientSelector
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import ScoringBackend, Workload
from fedbench.engine.trainers.choose import CPU, Choice, check_wish, choose, make_trainer, require_device, together
from fedbench.errors import UsageError
from fedbench.kernels import build_info
from fedbench.kernels.scheduler import NANOSECONDS, Scheduler
from fedbench.results import kept_model
from fedbench.results.digests import Digest
from fedbench.results.disk import storing
from fedbench.results.provenance import provenance
from fedbench.results.record import SERVER_CURVE, Column, Record, hits, with_results
from fedbench.results.sections import Digests, Outcome, Provenance
from fedbench.results.sections import Ledger as Totals
from fedbench.results.store import CHECKPOINT, Store
from fedbench.tasks.available import Outline
from fedbench.types.arrays import host


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run is computed.

    Bits depend on `trainer` (auto, native, torch), on `device` (cpu, cuda, cuda:N) and, for native,
    on `isa` ("" is the best of this machine), for a device on `lanes` alone: a device trains about
    so many jobs side by side, as far as its memory goes; 0 is those of an update.
    `checkpoint_seconds` are seconds of host time. `keep_model` writes the last judged model beside
    the record, as model.safetensors, and `keep_clients` what it achieves on every client and class,
    as clients.parquet and classes.parquet; `keep_clients_at` adds the models at these virtual
    seconds. Raises UsageError for an unknown name or a missing device.
    """

    workers: int = 1
    trainer: str = "auto"
    device: str = CPU
    isa: str = ""
    lanes: int = 0
    wave_bytes: int = WAVE_BYTES
    wave_size: int | None = None
    checkpoint_seconds: float = 10.0
    resume: bool = False
    keep_model: bool = False
    keep_clients: bool = False
    keep_clients_at: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_times(self.keep_clients_at)
        check_wish(self.trainer, self.device)
        if self.lanes < 0 or (self.lanes and self.device == CPU):
            raise UsageError(f"lanes: must be >= 0, and are those of a device, got {self.lanes} on device {self.device}")
        require_device(self.device)

    @property
    def keeps_clients(self) -> bool:
        return self.keep_clients or bool(self.keep_clients_at)


class Run:
    """Computes the record of one RunSpec. If there is a store, the finished record is written to
    it, and an unfinished run leaves a checkpoint there, from which the option `resume`
    continues. `planned` is called with the run before its first update."""

    def __init__(
        self, spec: RunSpec, store: Store | None = None, options: RunOptions | None = None, progress: Progress | None = None
    ) -> None:
        self.spec, self.store, self.options = spec, store, options or RunOptions()
        self.setup, self.progress, self.build = Setup(spec), progress, build_info()
        self.planned: Callable[[Run], None] = lambda run: None
        self.beside: dict[str, bytes] = {}  # files beside the record, by name, once it is made
        self.partial = None
        if store is not None:
            self.partial = store.partial(spec.scenario.name, spec.algorithm.name, spec.run_id)

    def record(self) -> Record:
        """Runs to the end and returns the record. If there is a store, KeyboardInterrupt and errors
        leave a checkpoint of the last version. An error within a server update leaves the
        checkpoint that was there before, if there is one."""
        if self.store is None or self.partial is None:
            return self._record()
        with storing(self.store.root, self.partial / CHECKPOINT):
            record = self._record()
            self.store.write(record, self.beside)
        self.store.discard_partial(self.partial)
        return record

    def _record(self) -> Record:
        begin = time.perf_counter()
        check_everybody(self.setup)
        if self.options.keep_model:
            keep.check_one_model(self.spec.algorithm)
        if self.options.keeps_clients:
            keep.check_classes(self.spec.scenario.task)
        scheduler = self.setup.scheduler()  # refuses what does not go together before a trainer is made
        with contextlib.closing(self.backend):
            self.planned(self)
            ledger = self.setup.ledger(scheduler)
            execution = self._execution()
            execution.begun = begin
            outcome = self._execute(execution, scheduler, ledger)
            if outcome.ended_by == "target":
                scheduler, ledger = self._plan_until(self.grid.end_seconds, execution)
            return self._assemble(execution, scheduler, ledger, outcome, time.perf_counter() - execution.begun)

    def _plan_until(self, seconds: float, execution: Execution) -> tuple[Scheduler, Ledger]:
        """Returns a scheduler whose plan ends at this virtual time, and its ledger. The plan is
        played again, since the first one was ahead of the run by an amount that depends on the
        chunks."""
        scheduler = self.setup.scheduler(seconds)
        ledger = self.setup.ledger(scheduler)
        for _ in chunks(scheduler, ledger, ClientSelector(execution, self.spec.seed)):
            pass
        return scheduler, ledger

    @functools.cached_property
    def choice(self) -> Choice:
        """The trainer and device that compute the run, and the reason."""
        outline, scenario, options = Outline.of(self.setup.task), self.spec.scenario, self.options
        return choose(outline, self.spec.algorithm, options.trainer, options.device, local=scenario.local, part=scenario.task)

    @functools.cached_property
    def backend(self) -> ScoringBackend:
        """The chosen trainer. `record` closes it."""
        setup, spec = self.setup, self.spec
        local, loss, unseen = spec.scenario.local, spec.scenario.task.own_loss, setup.unseen
        jobs, public = self.options.lanes or together(setup.dispatch, setup.scenario.clients), setup.data.public
        workload = Workload(setup.task, setup.shards, local.batch_size, spec.seed, public, local, unseen, loss, jobs)
        return make_trainer(self.choice, workload, workers=self.options.workers, isa=self.options.isa)

    @functools.cached_property
    def evaluator(self) -> Evaluator:
        own = {one.name: measure_of(one, self.setup.outline.classes) for one in self.spec.scenario.evaluation.metrics}
        return (AloneEvaluator if self.spec.algorithm.alone else Evaluator)(self.backend, own)

    @functools.cached_property
    def grid(self) -> GridEvaluator:
        s, evaluator = self.spec.scenario, self.evaluator
        return GridEvaluator(
            evaluator.metrics, s.evaluation.grid, self.progress, goal_of(s), evaluator.at_a_time, [*evaluator.others], self.along
        )

    @functools.cached_property
    def along(self) -> Along | None:
        chosen = self.options.keep_clients_at
        return Along(self.evaluator, chosen, self.spec.scenario.budget.seconds) if chosen else None

    def _execution(self) -> Execution:
        options = self.options
        execution = Execution(
            self.spec.algorithm,
            self.backend,
            self.setup.info,
            self.setup.x0(),
            wave_bytes=options.wave_bytes,
            wave_size=options.wave_size,
            workers=options.workers,
            rate=self.spec.scenario.local.factor_of_version,
            place=server_place(self.choice, self.spec.algorithm),
        )
        if execution.memory is not None:
            check_counts_once(self.setup)
        return execution

    def _execute(self, execution: Execution, scheduler: Scheduler, ledger: Ledger) -> Outcome:
        """Executes the plan and returns the outcome as the record has it."""
        checkpointer = self._checkpointer(execution)
        plan = chunks(scheduler, ledger, ClientSelector(execution, self.spec.seed))
        try:
            execution.run(plan, [self.grid] if checkpointer is None else [self.grid, checkpointer])
            self.grid.finish(execution, scheduler.end_ns)
        except GoalHeld:
            return Outcome(state="finished", ended_by="target", message="")
        except Diverged as reason:
            if not self.setup.is_external:  # else the plan cannot go on without the model
                for _ in plan:  # adds the rest of the plan to the ledger
                    pass
            return Outcome(state="diverged", ended_by="diverged", message=str(reason), version=reason.version)
        except BaseException as error:
            if checkpointer is not None and execution.at_boundary:
                checkpointer.save_despite(error, execution)
            raise
        if scheduler.outcome == "stalled":
            return Outcome(state="stalled", ended_by=scheduler.ended_by, message=scheduler.stalled_message)
        return Outcome(state="finished", ended_by=scheduler.ended_by, message="")

    def _checkpointer(self, execution: Execution) -> Checkpointer | None:
        """Returns the observer that saves checkpoints, or None without a store. If the run resumes,
        the execution is first put where the earlier checkpoint was taken."""
        if self.partial is None:
            return None
        file = self.partial / CHECKPOINT
        if self.options.resume and file.exists():
            restore(file, self.spec.run_id, execution, self.grid)
        return Checkpointer(file, self.spec.run_id, self.grid, self.options.checkpoint_seconds)

    # ---- the record ----

    def _assemble(self, execution: Execution, scheduler: Scheduler, ledger: Ledger, outcome: Outcome, wall: float) -> Record:
        setup, spec = self.setup, self.spec
        if self.options.keep_model:
            self.beside[kept_model.FILE] = keep.kept_model(setup.task, spec.scenario.task, execution.judged())
        if self.options.keeps_clients and outcome.state != "diverged":
            self.beside |= self._kept_parts(execution, scheduler.end_ns / NANOSECONDS)
        curves = self._curves(ledger)
        totals = self._totals(execution, scheduler, ledger)
        made = provenance(
            self.build | self._forced_isa(),
            trainer=self.backend.name,
            trainer_reason=self.choice.reason,
            **computed_on(self.backend, self.choice, spec.algorithm),
            data_warnings=setup.task.warnings,
            workers=self.options.workers,
            wall_seconds=wall,
            files=setup.task.files,
            server_seconds=execution.server_seconds,
            server_seconds_per_update=execution.server_seconds / execution.version if execution.version else None,
        )
        return with_results(
            Record(
                run_id=spec.run_id,
                spec=spec.recorded,
                provenance=Provenance.model_validate(made),
                outcome=outcome,
                warnings=tuple(spec.algorithm.warnings(execution.state)),
                final=final(self.evaluator, self.grid, execution, scheduler.end_ns, outcome, setup.data.evaluated_on),
                time_to_target=hits(spec.scenario, curves, totals.end_seconds),
                ledger=totals,
                digests=Digests(
                    inputs=setup.inputs_digest(),
                    plan=ledger.digest.hex(),
                    model=Digest().add(*map(host, execution.judged())).hex(),
                    selections=Digest().add(*(np.array(one, np.int64) for one in execution.selections)).hex(),
                ),
                curves=curves,
            )
        )

    def _kept_parts(self, execution: Execution, end_seconds: float) -> dict[str, bytes]:
        last = point(self.evaluator, execution.judged(), end_seconds, execution.version)
        points = [one for one in self.along.points if one.seconds < end_seconds] if self.along else []
        return keep.kept_parts([*points, last], self.setup, timed=self.along is not None)

    def _totals(self, execution: Execution, scheduler: Scheduler, ledger: Ledger) -> Totals:
        """Returns the ledger with what the server keeps and computes. A diverged run trains less
        than its plan."""
        setup, algorithm = self.setup, self.spec.algorithm
        found = ledger.totals(scheduler, setup.traffic, setup.payload_bytes)
        versions = scheduler.totals["messages_peak"]
        if any(setup.server.work):
            found = setup.server.counted(found, setup.timing().start_seconds, setup.outline.model.dim)
        steps = {"trained_steps": execution.trained_steps, "avoided_steps": ledger.created_steps - execution.trained_steps}
        kept = server_bytes(algorithm, execution.state, setup.info, versions)
        vectors = server_vectors(algorithm, setup.info, versions)
        return found.model_copy(update={**steps, **kept, "server_vectors": vectors})

    def _forced_isa(self) -> dict[str, str]:
        """Returns the instruction set that the option `isa` forced on the native trainer, if it
        did."""
        return {"instruction_set": self.options.isa} if self.options.isa and self.choice.name == "native" else {}

    def _curves(self, ledger: Ledger) -> dict[str, Column]:
        curves: dict[str, Column] = {**self.grid.columns()}
        points = len(curves["seconds"])
        curves["steps"] = ledger.on_grid("steps", points)
        curves["gradient_evaluations"] = ledger.on_grid("gradients", points)
        curves["bytes"] = ledger.bytes_on_grid(self.setup.traffic, self.setup.payload_bytes, points)
        if any(self.setup.server.work):
            curves[SERVER_CURVE] = self.setup.server.passes_on_grid(ledger, self.setup.timing().start_seconds, points)
        return curves
