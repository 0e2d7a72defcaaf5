"""What is implausible, and so calls for a run: questions, never faults. The rule was written before
any submission was seen.

1. A run that the committed archive of the suite has too, with another digest of its result.
2. A run whose last accuracy is further than Z robust standard deviations, and further than LEAST,
   from the median of its row: of the committed row, where the archive has it with at least FEW
   seeds, else of its own, from FEW seeds on. A robust standard deviation is 1.4826 times the median
   of the distances from the median.
3. A row whose median time to a target is smaller than the frozen reference time divided by FACTOR:
   it would be that much faster than everything that was tuned for the suite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fedbench.analysis import profiles
from fedbench.analysis.duel import restricted
from fedbench.analysis.profiles import Problem, Reference
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
    """Yields what the rule of this module finds.

    Args: rows: the rows of the submission. suite: their suite. references: folder of the files of
        reference times; a suite without one has none. archives: folder of the committed archives;
        None or one that lacks the suite: nothing is compared with it.

    Raises:
        UsageError: if the file of reference times is none.
        RecordError: if the archive is damaged.
    """
    committed = (
        []
        if archives is None or not archive.is_archive(archives / suite.name)
        else archive.read(archives / suite.name, check=False)
    )
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
        other = committed.get(record.run_id)
        if other is not None and other.meta["digests"].get("result") != record.meta["digests"]["result"]:
            yield Finding(
                RUNS,
                f"{named(record)}: the committed record of this run has the result {other.meta['digests'].get('result')}, "
                f"this one {record.meta['digests']['result']}",
            )


def _far_accuracies(row: Row, there: Seats) -> Iterator[Finding]:
    known = [one for one in map(_accuracy, there.get(row.point, {}).get(row.name, ())) if one is not None]
    own = [(run, value) for run in row.runs if (value := _accuracy(run)) is not None]
    values = known if len(known) >= FEW else [value for _, value in own]
    if len(values) < FEW:
        return
    median = float(np.median(values))
    scale = 1.4826 * float(np.median(np.abs(np.array(values) - median)))
    for run, value in own:
        if abs(value - median) > max(Z * scale, LEAST):
            yield Finding(
                RUNS,
                f"{named(run)}: final.test_accuracy: {value:.4f} is far from the median {median:.4f} of {len(values)} seeds of "
                f"{row.name} at {row.point}; {max(Z * scale, LEAST):.4f} would be far",
            )


def _accuracy(run: Record) -> float | None:
    return run.meta["final"]["test_accuracy"] if run.state == "finished" else None


def _too_fast(row: Row, reference: Reference) -> Iterator[Finding]:
    scenario = row.runs[0].meta["spec"]["scenario"]
    for target in scenario["targets"]:
        known = reference.seconds.get(Problem(row.point, float(target["value"])))
        if known is None or reference.hashes.get(row.point) != row.runs[0].meta["spec"]["scenario_hash"]:
            continue
        attempts = [restricted(run, target) for run in row.runs]
        median = float(np.median([seconds if hit else math.inf for hit, seconds in attempts]))
        if median * FACTOR < known:
            yield Finding(
                RUNS,
                f"{row.name} at {row.point}: it reaches {target['value']:g} after {median:g} s (median), the frozen reference time is "
                f"{known:g} s; more than {FACTOR:g} times as fast calls for a run",
            )
