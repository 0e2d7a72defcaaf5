"""Reads the number of a cell off the records of its runs, seed by seed, or says which run is still
needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fedbench import registry
from fedbench.analysis.curves import last_k_mean
from fedbench.analysis.hits import first_hit, held
from fedbench.engine.spec import RunSpec
from fedbench.errors import RecordError, UsageError
from fedbench.papers import experiment, parts
from fedbench.papers.cells import Cell
from fedbench.papers.judging import Reading
from fedbench.papers.rules import FEWEST_ROUNDS
from fedbench.results.record import Record
from fedbench.scenarios.schema import Scenario

PERCENT = 100.0
Find = Callable[[RunSpec], Record | None]
"""A function that returns the record of a run, or None if there is none yet."""


@dataclass(frozen=True)
class Read:
    """What the records of one seed say.

    Attributes:
        seed: the seed.
        reading: the number; None if a run is still needed.
        needs: the next run that is needed; None if the number is known.
        used: the records that were read.
    """

    seed: int
    reading: Reading | None
    needs: RunSpec | None
    used: tuple[Record, ...]


def step(cell: Cell) -> float:
    """Returns the distance of the grid on which a cell's readings lie: a round, or the time between
    two evaluations. 0 where there is no grid that matters."""
    how = experiment.required_how(cell)
    if how.read == "seconds_to_target":
        return experiment.scenario(cell).evaluation.step_seconds(cell.amount)
    return 1.0 if how.read == "rounds_to_target" else 0.0


def read(cell: Cell, find: Find) -> Iterator[Read]:
    """Yields what every seed of a cell says, in order; nothing for a cell that is not run. Seeds
    that are run later come last."""
    how = experiment.how(cell)
    if how is None:
        return
    for seed in range(experiment.seeds(cell).last):
        if how.read == "utilisation":
            yield _utilisation(cell, seed, find)
        else:
            yield _one_run(cell, how.read, experiment.spec(cell, seed), find)


def decisive(cell: Cell, find: Find) -> list[Read]:
    """Returns what the seeds say on which a verdict rests: all of them if all have a number, and
    otherwise those that are not run later."""
    found = list(read(cell, find))
    return found if all(one.reading is not None for one in found) else found[: experiment.seeds(cell).seeds]


def complete(cell: Cell, find: Find) -> list[Record]:
    """Returns the records that a cell's number is read off; none if a seed is missing."""
    found = decisive(cell, find)
    return [record for one in found for record in one.used] if all(one.reading is not None for one in found) else []


def read_varied(cell: Cell, variation: parts.Variation, find: Find) -> Iterator[Read]:
    """Yields what every seed of a variation of a cell says, in order. Raises UsageError for a cell
    of utilisation, which needs a search."""
    how = experiment.how(cell)
    if how is None or how.read == "utilisation":
        raise UsageError(f"{cell.name}: variation {variation.name} needs a cell that one run makes again")
    for seed in range(variation.seeds):
        yield _one_run(cell, how.read, experiment.spec(cell, seed, variation), find)


def _one_run(cell: Cell, what: parts.Read, spec: RunSpec, find: Find) -> Read:
    record = find(spec)
    if record is None:
        return Read(spec.seed, None, spec, ())
    if what == "last_ten_accuracy":
        return Read(spec.seed, _accuracy(cell, record, last_k_mean(record)), None, (record,))
    return Read(spec.seed, _hit(record, spec.scenario, "seconds" if what == "seconds_to_target" else "updates"), None, (record,))


def _accuracy(cell: Cell, record: Record, share: float | None) -> Reading:
    """Returns an accuracy, which is given as a share, in percent. Raises RecordError for a run that
    did not diverge and has no finite accuracy."""
    if record.state == "diverged":
        return Reading(0.0, diverged=True)
    if share is None:
        raise RecordError(
            f"{cell.name}, seed {record.seed}: record {record.run_id} has no finite accuracy at its end (it is {record.state})"
        )
    return Reading(PERCENT * share)


def _hit(record: Record, scenario: Scenario, axis: str) -> Reading:
    """Returns the place on an axis of the first evaluation that reached the highest target, or that
    held it if the run went on for that (`budget.hold: window`). For a miss it is the place where
    the run ended, and for a run that diverged the end of its budget, in which a round takes a
    second."""
    goal = max(scenario.targets, key=lambda one: one.value)
    is_held = scenario.budget.hold == "window"
    hit = held(record, goal, axis) if is_held else first_hit(record, "test_accuracy", goal.value, axis)
    missed = hit.reached is None
    diverged = missed and record.state == "diverged"
    rounds = min(scenario.budget.updates, int(scenario.budget.seconds)) if diverged and axis == "updates" else 0
    return Reading(max(hit.restricted, rounds), missed, diverged=diverged)


def _utilisation(cell: Cell, seed: int, find: Find) -> Read:
    """Returns what a seed of a cell of utilisation says.

    The percentages are tried from the largest down until one reaches the target in FEWEST_ROUNDS
    rounds. The cell's number is read at that percentage. If no percentage reaches the target, the
    utilisation is below the lowest one.
    """
    algorithm, used = registry.algorithm(experiment.selector(cell)), list[Record]()
    for percent, search, measured in experiment.levels(cell):
        wanted = RunSpec(search, algorithm, seed)
        record = find(wanted)
        if record is None:
            return Read(seed, None, wanted, tuple(used))
        used.append(record)
        rounds = _hit(record, search, "updates")
        if rounds.missed or rounds.value > FEWEST_ROUNDS:
            continue
        if cell.metric == "utilization_percent":
            return Read(seed, Reading(percent), None, tuple(used))
        if cell.metric == "rounds_to_60_percent":
            return Read(seed, rounds, None, tuple(used))
        last = RunSpec(measured, algorithm, seed)
        record = find(last)
        if record is None:
            return Read(seed, None, last, tuple(used))
        return Read(seed, _accuracy(cell, record, record.final.test_accuracy), None, (*used, record))
    return Read(seed, Reading(percent, missed=True), None, tuple(used))
