"""Finds what is implausible in a submission and so calls for a run. It asks questions, and never
says that something is a fault. The rule was written before any submission was seen. It asks about:

1. A run that the committed archive of the suite has too, with another digest of its result.
2. A run whose last accuracy is further than Z robust standard deviations, and further than LEAST,
   from the median of its row. The median is that of the committed row, if the archive has it with
   at least FEW seeds, else that of the submitted row, if it has at least FEW seeds. A robust
   standard deviation is 1.4826 times the median of the distances from the median.
3. A row whose median time to a target is smaller than the frozen reference time divided by FACTOR.
   It would be that much faster than everything that was tuned for the suite.
4. Two seeds of a row with the same inputs or the same curves. Two with the same plan, unless the
   committed archive has rows at that point of which this is true too.
5. A run whose last accuracy is above HIGH, or above that of every committed run at its point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fedbench.analysis import profiles
from fedbench.analysis.profiles import Problem, Reference
from fedbench.analysis.reaching import Goal, reach
from fedbench.results import archive
from fedbench.results.archive import RUNS
from fedbench.results.record import Record
from fedbench.submissions.faults import Finding
from fedbench.submissions.rows import Row, named
from fedbench.suites.seats import Seats, seats
from fedbench.suites.suite import Suite

Z, LEAST, FEW = 6.0, 0.02, 5
FACTOR = 2.0
HIGH = 0.99
CURVES = ("test_accuracy", "test_loss", "train_loss")


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
    best = _best(committed)
    for row in rows:
        yield from _far_accuracies(row, there)
        yield from _same_for_two_seeds(row, there)
        yield from _high_accuracies(row, best)
    file = references / f"{suite.name}.json"
    if file.exists():
        reference = profiles.read(file)
        for row in rows:
            yield from _too_fast(row, reference)


def _other_digests(rows: Sequence[Row], committed: Mapping[str, Record]) -> Iterator[Finding]:
    for record in {run.run_id: run for row in rows for run in row.runs}.values():
        if record.run_id not in committed:
            continue
        known, own = (one.digests.result for one in (committed[record.run_id], record))
        if known != own:
            yield Finding(
                RUNS,
                f"{named(record)}: the committed record of this run has the result {known}, this one {own}",
                (record.run_id,),
            )


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
                (run.run_id,),
            )


def _same_for_two_seeds(row: Row, there: Seats) -> Iterator[Finding]:
    committed = there.get(row.point, {}).values()
    usual = any(_alike(runs, _digest("plan")) for runs in committed)
    kinds = {"inputs": _digest("inputs"), "curves": _curves} | ({} if usual else {"plan": _digest("plan")})
    for what, of in kinds.items():
        for several in _alike(row.runs, of):
            seeds = ", ".join(str(run.seed) for run in several)
            text = f"{row.name} at {row.point}: seeds {seeds} have the same {what}, which two seeds draw differently"
            yield Finding(RUNS, text, tuple(run.run_id for run in several))


def _alike(runs: Sequence[Record], of: Callable[[Record], object]) -> list[list[Record]]:
    """Returns the groups of at least two runs of which `of` is the same, and not None."""
    groups: dict[object, list[Record]] = {}
    for run in runs:
        groups.setdefault(of(run), []).append(run)
    return [several for value, several in groups.items() if value is not None and len(several) > 1]


def _digest(name: str) -> Callable[[Record], object]:
    return lambda run: getattr(run.digests, name)


def _curves(run: Record) -> bytes | None:
    """Returns what the run measured, as bytes; None if it measured nothing after its start."""
    if len(run.curves["seconds"]) < 2:
        return None
    return b"".join(np.ascontiguousarray(run.curves[name]).tobytes() for name in CURVES)


def _best(committed: Sequence[Record]) -> dict[str, float]:
    """Returns the highest last accuracy of the committed runs, by the hash of their scenario."""
    best: dict[str, float] = {}
    for run in committed:
        point = run.spec.scenario_hash
        best[point] = max(best.get(point, 0.0), _accuracy(run) or 0.0)
    return best


def _high_accuracies(row: Row, best: Mapping[str, float]) -> Iterator[Finding]:
    for run in row.runs:
        value, known = _accuracy(run), best.get(run.spec.scenario_hash, 1.0)
        if value is not None and value > min(HIGH, known):
            than = f"every committed run at {row.point} ({known:.4f})" if value > known else f"{HIGH:g}"
            yield Finding(RUNS, f"{named(run)}: final.test_accuracy: {value:.4f} is higher than {than}", (run.run_id,))


def _accuracy(run: Record) -> float | None:
    return run.final.test_accuracy if run.state == "finished" else None


def _too_fast(row: Row, reference: Reference) -> Iterator[Finding]:
    scenario = row.runs[0].spec.scenario
    for target in scenario.compared:
        known = reference.seconds.get(Problem(row.point, float(target.value)))
        if known is None or reference.hashes.get(row.point) != row.runs[0].spec.scenario_hash:
            continue
        median = float(np.median([_second(run, target) for run in row.runs]))
        if median * FACTOR < known:
            yield Finding(
                RUNS,
                f"{row.name} at {row.point}: it holds {target.value:g} after {median:g} s (median), the frozen reference time is "
                f"{known:g} s; more than {FACTOR:g} times as fast calls for a run",
                tuple(run.run_id for run in row.runs),
            )


def _second(run: Record, target: Goal) -> float:
    """Returns when a run holds a target, even if it ended too early to tell; infinity if never."""
    (found,) = reach(run, [target])
    return math.inf if found is None else float(run.curves["seconds"][found.index])
