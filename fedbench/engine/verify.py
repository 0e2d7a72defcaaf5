"""Runs a record's specification again, to see whether the result is the same."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from fedbench.engine import declared
from fedbench.engine.compare import verdict as compared
from fedbench.engine.evaluate import Progress
from fedbench.engine.isolation.algorithm import Isolated
from fedbench.engine.isolation.find import isolated
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.choose import CPU
from fedbench.errors import FedbenchError, PluginError, RecordError
from fedbench.foreign import named
from fedbench.kernels import build_info
from fedbench.results.record import SERVER_CURVE, Record


def verify(
    record: Record,
    options: RunOptions | None = None,
    progress: Progress | None = None,
    algorithm: str | None = None,
    *,
    only_confined: bool = False,
) -> dict[str, Any]:
    """Runs a record's specification again and returns how the two records compare.

    In the result, `verdict` is one of three words:

    - identical: all digests, the specification, outcome, final metrics, times to targets, ledger
      and curves are equal.
    - within tolerance: all but accuracies and losses are equal, and these are within 0.01, as on
      another machine or with another library version.
    - differs: neither.

    `differences` lists the fields that differ, and `first_difference` is the first of them.
    `clients_at_work` is how many clients may work at a time under the algorithm's policy.
    `confined` is whether a plug-in could reach nothing but its own folder; None if the algorithm is
    built in. `undeclared` has sentences on what a plug-in computed and does not declare.
    `not_compared` names what the record lacks, since it was not counted when it was made.

    Args:
        record: the record.
        options: how the run is computed; trainer, device and instruction set are the record's.
        progress: is told of every update.
        algorithm: file.py:Class, where the record's own is neither built in nor an entry point.
        only_confined: whether the code of a plug-in runs only if the system can confine it.

    Raises:
        RecordError: if the algorithm cannot be found or is another one.
        PluginError: if a plug-in fails.
    """
    with again_as_recorded(record.meta["spec"], algorithm, only_confined=only_confined) as spec:
        if spec.run_id != record.run_id:
            raise RecordError(f"record: its specification hashes to {spec.run_id}, its id is {record.run_id}")
        run = Run(spec, options=as_recorded(record, options or RunOptions()), progress=progress)
        again = _made(run)
        at_work = run.setup.dispatch.at_a_time(run.setup.scenario.clients)
        plugin = spec.algorithm if isinstance(spec.algorithm, Isolated) else None
        updates = None if again.meta["outcome"]["ended_by"] == "target" else again.meta["ledger"]["updates"]
        work = declared.gradient_work(spec.algorithm, run.setup.info)
    verdict, found = compared(record, again)
    return {
        "run_id": record.run_id,
        "verdict": verdict,
        "first_difference": found[0] if found else None,
        "differences": found,
        "recorded": record.meta["digests"],
        "got": again.meta["digests"],
        "clients_at_work": at_work,
        "confined": None if plugin is None else plugin.process.confined,
        "not_compared": ["the server's work"] if SERVER_CURVE in again.curves and SERVER_CURVE not in record.curves else [],
        "undeclared": []
        if plugin is None
        else list(plugin.measured.undeclared(work, run.setup.server.work, run.setup.dispatch, updates)),
        "test_accuracy": {kind: one.meta["final"]["test_accuracy"] for kind, one in (("recorded", record), ("got", again))},
    }


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
def again_as_recorded(
    content: Mapping[str, Any], algorithm: str | None = None, *, only_confined: bool = False
) -> Iterator[RunSpec]:
    """Yields the specification in a record's `spec`. An algorithm that is not built in runs in a
    process of its own meanwhile, which has no say in what is computed and compared here.

    Raises:
        RecordError: if the content is no specification.
        OriginError: if the algorithm is not here.
        PluginError: if its code fails.
    """
    origin = content["algorithm"].get("origin", {})
    if not origin and algorithm is None:
        yield RunSpec.from_dict(content)
        return
    with isolated(content["algorithm"]["name"], origin, algorithm, only_confined=only_confined) as cls:
        yield RunSpec.from_dict(content, cls)


def as_recorded(record: Record, options: RunOptions) -> RunOptions:
    """Returns the options with the record's trainer and device and, if this machine has it, its
    instruction set. Raises UsageError if this machine lacks the device."""
    made = record.meta["provenance"]
    isa = made["instruction_set"] if made["instruction_set"] in build_info()["instruction_sets"] else ""
    return dataclasses.replace(options, trainer=made["trainer"], device=made.get("device", CPU), isa=isa)
