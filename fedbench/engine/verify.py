"""Running a record's specification again, to see whether it says the same."""

from __future__ import annotations

import dataclasses
from typing import Any

from fedbench.engine.compare import verdict as compared
from fedbench.engine.evaluate import Progress
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.choose import CPU
from fedbench.errors import RecordError
from fedbench.kernels import build_info
from fedbench.results.record import Record


def verify(
    record: Record, options: RunOptions | None = None, progress: Progress | None = None, algorithm: str | None = None
) -> dict[str, Any]:
    """Run a record's specification again and compare.

    `verdict`: identical (all digests, the specification, outcome, final metrics, times to targets,
    ledger and curves are equal); within tolerance (all but accuracies and losses are equal, and
    these within 0.01: another machine or library version); or differs. `differences`: the fields
    that do, `first_difference` the first of them. `algorithm`: file.py:Class, where the record's
    own is neither built in nor an entry point. RecordError if it cannot be found, or is another
    one.
    """
    spec = RunSpec.from_dict(record.meta["spec"], algorithm)
    if spec.run_id != record.run_id:
        raise RecordError(f"record: its specification hashes to {spec.run_id}, its id is {record.run_id}")
    again = Run(spec, options=as_recorded(record, options or RunOptions()), progress=progress).record()
    verdict, found = compared(record, again)
    return {
        "run_id": record.run_id,
        "verdict": verdict,
        "first_difference": found[0] if found else None,
        "differences": found,
        "recorded": record.meta["digests"],
        "got": again.meta["digests"],
        "test_accuracy": {kind: one.meta["final"]["test_accuracy"] for kind, one in (("recorded", record), ("got", again))},
    }


def as_recorded(record: Record, options: RunOptions) -> RunOptions:
    """The options with the record's trainer and device and, where this machine has it, its
    instruction set. UsageError if this machine lacks the device."""
    made = record.meta["provenance"]
    isa = made["instruction_set"] if made["instruction_set"] in build_info()["instruction_sets"] else ""
    return dataclasses.replace(options, trainer=made["trainer"], device=made.get("device", CPU), isa=isa)
