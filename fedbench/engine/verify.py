"""Runs a record's specification again, to see whether the result is the same."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fedbench import own_models
from fedbench.engine import declared, keep
from fedbench.engine.along import MOST_TIMES
from fedbench.engine.compare import verdict as compared
from fedbench.engine.evaluate import Progress
from fedbench.engine.isolation.algorithm import Isolated
from fedbench.engine.isolation.find import isolated, isolated_loss, isolated_metric, isolated_model, isolated_optimizer
from fedbench.engine.isolation.process import Process
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.choose import CPU
from fedbench.errors import FedbenchError, OriginError, PluginError, RecordError
from fedbench.foreign import named
from fedbench.kernels import build_info
from fedbench.results import kept_parts
from fedbench.results.record import SERVER_CURVE, Record
from fedbench.results.sections import Digests, Spec


@dataclasses.dataclass(frozen=True, kw_only=True)
class Verified:
    """How a record compares with that of its repetition.

    Attributes
    ----------
    run_id : str
        The run's id.
    verdict : {"identical", "within tolerance", "differs"}
        *identical*: all digests, the specification, outcome, final metrics, times to targets,
        ledger and curves are equal, and so is what is kept beside the record. *within tolerance*:
        all but accuracies and losses are equal, and these are within 0.01, as on another machine or
        with another library version. *differs*: neither.
    differences : tuple of str
        The fields that differ.
    recorded, got : Digests
        Those of the record and of the repetition.
    clients_at_work : int
        How many clients may work at a time under the algorithm's policy.
    confined : bool or None
        Whether a plug-in could reach nothing but its own folder; None if algorithm and model are
        built in.
    not_compared : tuple of str
        What the record lacks, since it was not counted when it was made.
    undeclared : tuple of str
        Sentences on what a plug-in computed and does not declare.
    test_accuracy : tuple of (float or None)
        The last one of the record, and of the repetition.
    """

    run_id: str
    verdict: str
    differences: tuple[str, ...]
    recorded: Digests
    got: Digests
    clients_at_work: int
    confined: bool | None
    not_compared: tuple[str, ...]
    undeclared: tuple[str, ...]
    test_accuracy: tuple[float | None, float | None]

    @property
    def first_difference(self) -> str | None:
        """The first of the fields that differ, if one does."""
        return self.differences[0] if self.differences else None

    def as_dict(self) -> dict[str, object]:
        """Returns the result as JSON has it."""
        fields = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return fields | {
            "first_difference": self.first_difference,
            "recorded": self.recorded.as_dict(),
            "got": self.got.as_dict(),
            "test_accuracy": dict(zip(("recorded", "got"), self.test_accuracy, strict=True)),
        }


def verify(
    record: Record,
    options: RunOptions | None = None,
    progress: Progress | None = None,
    algorithm: str | None = None,
    *,
    model: str | None = None,
    metrics: Sequence[str] = (),
    optimizer: str | None = None,
    loss: str | None = None,
    only_confined: bool = False,
    folder: Path | None = None,
) -> Verified:
    """Runs a record's specification again and returns how the two records compare.

    Args:
        record: the record.
        options: how the run is computed; trainer, device, lanes and instruction set are the
            record's.
        progress: is told of every update.
        algorithm: file.py:Class, where the record's own is neither built in nor an entry point.
        model: file.py:Class or package.module:Class, where the record's own is not of the library.
        metrics: file.py:Class or package.module:Class of every metric that is the user's own.
        optimizer: file.py:Class or package.module:Class of the local optimiser, if it is the user's
            own.
        loss: file.py:Class or package.module:Class of the loss, likewise.
        only_confined: whether the code of a plug-in runs only if the system can confine it.
        folder: where the record lies, if the files of its model, clients and classes, of which each
            may be there, are compared too.

    Raises:
        RecordError: if the algorithm, the model, the loss, a metric or the optimiser cannot be
            found or is another one.
        PluginError: if a plug-in fails.
    """
    with contextlib.ExitStack() as opened:
        spec = opened.enter_context(again_as_recorded(record.spec, algorithm, only_confined=only_confined))
        processes = opened.enter_context(_with_model(record.spec, model, only_confined=only_confined))
        processes += [opened.enter_context(one) for one in _with_metrics(record.spec, metrics, only_confined=only_confined)]
        local, task = record.spec.scenario.local, record.spec.scenario.task
        for kind, code, given, isolate in (
            ("optimizer", (local.optimizer, local.optimizer_sha256), optimizer, isolated_optimizer),
            ("loss", (task.loss, task.loss_sha256), loss, isolated_loss),
        ):
            processes += opened.enter_context(_with_code(kind, code, given, isolate, only_confined=only_confined))
        if spec.run_id != record.run_id:
            raise RecordError(f"record: its specification hashes to {spec.run_id}, its id is {record.run_id}")
        how = as_recorded(record, options or RunOptions())
        run = Run(spec, options=how if folder is None else _as_kept(how, folder, record), progress=progress)
        again = _made(run)
        at_work = run.setup.dispatch.at_a_time(run.setup.scenario.clients)
        plugin = spec.algorithm if isinstance(spec.algorithm, Isolated) else None
        processes += [] if plugin is None else [plugin.process]
        updates = None if again.outcome.ended_by == "target" else again.ledger.updates
        work = declared.gradient_work(spec.algorithm, run.setup.info)
        verdict, found = compared(record, again)
        if folder is not None and verdict == "identical" and (found := list(keep.apart(folder, run.beside, run.setup))):
            verdict = "differs"
    return Verified(
        run_id=record.run_id,
        verdict=verdict,
        differences=tuple(found),
        recorded=record.digests,
        got=again.digests,
        clients_at_work=at_work,
        confined=all(one.confined for one in processes) if processes else None,
        not_compared=("the server's work",) if SERVER_CURVE in again.curves and SERVER_CURVE not in record.curves else (),
        undeclared=()
        if plugin is None
        else tuple(plugin.measured.undeclared(work, run.setup.server.work, run.setup.dispatch, updates)),
        test_accuracy=(record.final.test_accuracy, again.final.test_accuracy),
    )


def _made(run: Run) -> Record:
    """Returns the record of a run. What a plug-in gives may make anything fail."""
    try:
        return run.record()
    except (FedbenchError, KeyboardInterrupt):
        raise
    except Exception as error:
        if not isinstance(run.spec.algorithm, Isolated):
            raise
        raise PluginError(f"algorithm {run.spec.algorithm.name}: what it gives made the run fail: {named(error)}") from error


@contextlib.contextmanager
def _with_model(recorded: Spec, given: str | None, *, only_confined: bool) -> Iterator[list[Process]]:
    """Has a model that is not of the library run in a process of its own, and yields that, if there
    is one. `given` is the code that the user names for it."""
    task = recorded.scenario.task
    if task.model_sha256 is None:
        yield []
        return
    code = own_models.recorded(task.model, task.model_sha256, given)
    with isolated_model(code, only_confined=only_confined) as process:
        yield [process]


def _with_metrics(
    recorded: Spec, given: Sequence[str], *, only_confined: bool
) -> Iterator[contextlib.AbstractContextManager[Process]]:
    """Yields contexts in which each metric of a record that is the user's own runs in a process of
    its own. `given` is the code that the user names for them. Of classes of one name, that with the
    sum of the record is taken."""
    places = [*dict.fromkeys(given)]
    named = [one for one in recorded.scenario.evaluation.metrics if one.code and one.sha256]
    for one in named:
        assert one.code
        assert one.sha256
        same = [place for place in places if own_models.name_of(place, "metric") == own_models.name_of(one.code)]
        if len(same) > 1:
            same = [place for place in same if own_models.named(place, kind="metric").sha256 == one.sha256]
        place = same[0] if same else None
        places = [other for other in places if other != place]
        code = own_models.recorded(one.code, one.sha256, place, "metric")
        yield isolated_metric(code, one.name, higher_is_better=one.higher_is_better, only_confined=only_confined)
    if places:
        known = [own_models.short(one.code) for one in named if one.code]
        raise OriginError(f"record: it has no metric {places[0]}; it has {', '.join(known) or 'none of its own'}")


@contextlib.contextmanager
def _with_code(
    kind: str,
    recorded: tuple[str | None, str | None],
    given: str | None,
    isolate: Callable[..., contextlib.AbstractContextManager[Process]],
    *,
    only_confined: bool,
) -> Iterator[list[Process]]:
    """Has the user's own code of a record, with its sum, run in a process of its own, and yields
    that, if there is such code. `given` is what the user names for it."""
    code, sha256 = recorded
    if code is None or sha256 is None:
        if given is not None:
            raise OriginError(f"record: it has no {kind} of its own, got {given}")
        yield []
        return
    with isolate(own_models.recorded(code, sha256, given, kind), only_confined=only_confined) as process:
        yield [process]


def _as_kept(how: RunOptions, folder: Path, record: Record) -> RunOptions:
    """Returns the options with which a run keeps of clients and classes what lies beside its
    record. Times that no run keeps are left out, and missed later."""
    tables, end = kept_parts.tables(folder), record.final.seconds
    timed = [kept_parts.times(one) for one in tables.values() if "seconds" in one.column_names]
    chosen = [*[one for one in timed[0] if 0 <= one < end][: MOST_TIMES - 1], end] if timed else []
    return dataclasses.replace(how, keep_clients=bool(tables), keep_clients_at=tuple(chosen))


@contextlib.contextmanager
def again_as_recorded(recorded: Spec, algorithm: str | None = None, *, only_confined: bool = False) -> Iterator[RunSpec]:
    """Yields the specification in a record's `spec`. An algorithm that is not built in runs in a
    process of its own meanwhile, which has no say in what is computed and compared here.

    Raises:
        RecordError: if the algorithm does not take the options.
        OriginError: if the algorithm is not here.
        PluginError: if its code fails.
    """
    used = recorded.algorithm
    if used.origin is None and algorithm is None:
        yield RunSpec.of(recorded)
        return
    with isolated(used.name, used.where, algorithm, only_confined=only_confined) as cls:
        yield RunSpec.of(recorded, cls)


def as_recorded(record: Record, options: RunOptions) -> RunOptions:
    """Returns the options with the record's trainer, device and lanes and, if this machine has it,
    its instruction set. Raises UsageError if this machine lacks the device."""
    made = record.provenance
    isa = made.instruction_set if made.instruction_set in build_info()["instruction_sets"] else ""
    return dataclasses.replace(options, trainer=made.trainer, device=made.device or CPU, isa=isa, lanes=made.lanes)
