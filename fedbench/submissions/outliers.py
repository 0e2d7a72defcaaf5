"""Finds what is implausible in a submission and so calls for a run. It asks questions, and never
says that something is a fault. The rule was written before any submission was seen. It asks about:

1. A run that the committed archive of the suite has too, with another digest of its result.
2. A run whose last accuracy is further than Z robust standard deviations, and further than LEAST,
   from the median of its row. The median is that of the committed row, if the archive has it with
   at least FEW seeds, else that of the submitted row, if it has at least FEW seeds. A robust
   standard deviation is 1.4826 times the median of the distances from the median.
3. A row whose median time to a target is smaller than the frozen reference time divided by FACTOR.
   It would be that much faster than everything that was tuned for the suite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fedbench.analysis import profiles
from fedbench.analysis.profiles import Problem, Reference
from fedbench.analysis.reaching import reach
from fedbench.results import archive
from fedbench.results.archive import RUNS
from fedbench.results.record import Record
from fedbench.submissions.faults import Finding
from fedbench.submissions.rows import Row, named
from fedbench.suites.seats import Seats, seats
from fedbench.suites.suite import Suite

Z, LEAST, FEW = 6.0, 0.02, 5
FACTOR = 2.0


def questions(rows: Sequence[Row], suite: Suite, references: Path, archives: Path | None) -> Iterator[Finding]:
    """Yields the questions of the rule of this module.

    Args:
        rows: the rows of the submission.
        suite: their suite.
        references: folder of the files of reference times. A suite need not have one.
        archives: folder of the committed archives. Nothing is compared with them if it is None or
            lacks the suite.

    Raises:
        UsageError: if the file of reference times is damaged.
        RecordError: if the archive is damaged.
    """
    committed: list[Record] = []
    if archives is not None and archive.is_archive(archives / suite.name):
        committed = archive.read(archives / suite.name, check=False)
    yield from _other_digests(rows, {record.run_id: record for record in committed})
    there = seats(suite, None, committed) if committed else {}
    for row in rows:
        yield from _far_accuracies(row, there)
    file = references / f"{suite.name}.json"
    if file.exists():
        reference = profiles.read(file)
        for row in rows:
            yield from _too_fast(row, reference)


def _other_digests(rows: Sequence[Row], committed: Mapping[str, Record]) -> Iterator[Finding]:
    for record in {run.run_id: run for row in rows for run in row.runs}.values():
        if record.run_id not in committed:
            continue
        known, own = (one.meta["digests"].get("result") for one in (committed[record.run_id], record))
        if known != own:
            yield Finding(RUNS, f"{named(record)}: the committed record of this run has the result {known}, this one {own}")


def _far_accuracies(row: Row, there: Seats) -> Iterator[Finding]:
    known = [one for one in map(_accuracy, there.get(row.point, {}).get(row.name, ())) if one is not None]
    own = [(run, value) for run in row.runs if (value := _accuracy(run)) is not None]
    values = known if len(known) >= FEW else [value for _, value in own]
    if len(values) < FEW:
        return
    median = float(np.median(values))
    scale = 1.4826 * float(np.median(np.abs(np.array(values) - median)))
    far = max(Z * scale, LEAST)
    for run, value in own:
        if abs(value - median) > far:
            yield Finding(
                RUNS,
                f"{named(run)}: final.test_accuracy: {value:.4f} is far from the median {median:.4f} of {len(values)} seeds of "
                f"{row.name} at {row.point}; {far:.4f} would be far",
            )


def _accuracy(run: Record) -> float | None:
    return run.meta["final"]["test_accuracy"] if run.state == "finished" else None


def _too_fast(row: Row, reference: Reference) -> Iterator[Finding]:
    scenario = row.runs[0].meta["spec"]["scenario"]
    for target in scenario["targets"]:
        known = reference.seconds.get(Problem(row.point, float(target["value"])))
        if known is None or reference.hashes.get(row.point) != row.runs[0].meta["spec"]["scenario_hash"]:
            continue
        median = float(np.median([_second(run, target) for run in row.runs]))
        if median * FACTOR < known:
            yield Finding(
                RUNS,
                f"{row.name} at {row.point}: it holds {target['value']:g} after {median:g} s (median), the frozen reference time is "
                f"{known:g} s; more than {FACTOR:g} times as fast calls for a run",
            )


def _second(run: Record, target: Mapping[str, Any]) -> float:
    """Returns when a run holds a target, even if it ended too early to tell; infinity if never."""
    (found,) = reach(run, [target])
    return math.inf if found is None else float(run.curves["seconds"][found.index])
