"""The results of a suite: its rows with their boards, labels, families and groups."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from fedbench import registry
from fedbench.analysis.board import Board, boards
from fedbench.analysis.groups import Group
from fedbench.analysis.metrics import in_words
from fedbench.documents.parts import Kind
from fedbench.errors import UsageError
from fedbench.results import archive
from fedbench.results.record import Record
from fedbench.suites import space as spaces
from fedbench.suites import trials, tuned
from fedbench.suites.luck import Luck, luck
from fedbench.suites.race import decisions
from fedbench.suites.race.decisions import Decisions
from fedbench.suites.seats import Seats, group_of_row, seats
from fedbench.suites.suite import Suite
from fedbench.suites.trials import Tried
from fedbench.suites.tuned import TUNED, Tuned
from fedbench.suites.tuning_parts import Sobol
from fedbench.types import Info, Rounds


@dataclass(frozen=True)
class Results:
    """The rows of a suite.

    A row is complete if every seed of the suite has its run. In a race, it is complete if it was
    compared at the last look at its group, whose seeds then count. Only complete rows are compared,
    so all rows of a group have the same seeds.

    frozen: the options of its tuned rows, None if there are none. seats: all runs that there are.
    race: what was decided in a race, None if there is none.
    read_tried: reads the trials from which options were chosen; none are there if they are not at
    hand.
    """

    suite: Suite
    frozen: Tuned | None
    seats: Seats
    read_tried: Callable[[], Tried] = dict
    race: Decisions | None = None

    @cached_property
    def tried(self) -> Tried:
        return self.read_tried()

    @cached_property
    def tuned(self) -> dict[str, Board]:
        """Returns the boards of the complete rows with tuned options, by point. Rows are named by
        their labels."""
        return self._boards(tuned=True)

    @cached_property
    def default(self) -> dict[str, Board]:
        """Returns the boards of the complete rows with default options, by point."""
        return self._boards(tuned=False)

    @property
    def boards(self) -> dict[Kind, dict[str, Board]]:
        """Returns the boards by kind of options, then by point."""
        return {"tuned": self.tuned, "default": self.default}

    @cached_property
    def labels(self) -> dict[str, str]:
        """Returns the label of every selector: the algorithm's name, or the whole selector if
        several selectors have the name."""
        names = {selector: registry.parse_selector(selector)[0] for selector in self.suite.selectors()}
        shared = {name for name in names.values() if list(names.values()).count(name) > 1}
        return {selector: selector if name in shared else name for selector, name in names.items()}

    @cached_property
    def families(self) -> dict[str, str]:
        """Returns by label what an algorithm is: `reference`, which is shown and not ranked,
        `synchronous`, which works in rounds, or `asynchronous`."""
        found = {}
        for selector, label in self.labels.items():
            algorithm = self.suite.algorithm(selector)
            kind = "synchronous" if isinstance(algorithm.dispatch(Info(100, lambda: np.ones(100))), Rounds) else "asynchronous"
            found[label] = "reference" if algorithm.reference else kind
        return found

    @property
    def synchronous(self) -> list[str]:
        """Returns the labels of the synchronous algorithms."""
        return [label for label, family in self.families.items() if family == "synchronous"]

    @cached_property
    def names(self) -> list[str]:
        """Returns the labels that are compared somewhere, sorted."""
        return sorted({one.row for boards in self.boards.values() for found in boards.values() for one in found.ranked})

    @cached_property
    def runs(self) -> dict[str, Record]:
        """Returns the runs of all rows by their ids."""
        return {run.run_id: run for rows in self.seats.values() for runs in rows.values() for run in runs}

    @property
    def commits(self) -> list[str]:
        """Returns the commits at which the runs were made."""
        return sorted({str(run.provenance.commit or "unknown") for run in self.runs.values()})

    @property
    def seeds_in_words(self) -> str:
        """Returns how many seeds a row has, such as `10 seeds`, or `3 to 40 seeds` in a race."""
        most = self.suite.seeds.count
        return f"{most} seeds" if self.suite.race is None else f"{self.suite.race.looks[0].seeds} to {most} seeds"

    @cached_property
    def hashes(self) -> dict[str, str]:
        """Returns the hashes of the scenarios by point."""
        return {point.name: self.suite.scenario_at(point).content_hash() for point in self.suite.points}

    @cached_property
    def absent(self) -> dict[str, list[str]]:
        """Returns by reason what the boards lack, as `label at point`. Tuned rows are expected if
        the suite tunes. If both rows of an algorithm are missing for one reason, its label stands
        for both."""
        found: dict[str, list[str]] = {}
        for point, (selector, label) in itertools.product(self.suite.points, self.labels.items()):
            rows = self.seats.get(point.name, {})
            lacks = {"default": self._lacks(point.name, selector, rows)} if self.suite.rows == "all" else {}
            if self.suite.tuning is not None:
                lacks["tuned"] = self._lacks(point.name, f"{selector}{TUNED}", rows)
            for reason in sorted({reason for reason in lacks.values() if reason}):
                kinds = [kind for kind, other in lacks.items() if other == reason]
                row = label if len(kinds) == len(lacks) else f"{label} ({kinds[0]})"
                found.setdefault(reason, []).append(f"{row} at {point.name}")
        return found

    def _lacks(self, point: str, row: str, rows: Mapping[str, Sequence[Record]]) -> str:
        """Returns why a row is not compared, nothing if it is."""
        runs = rows.get(row, [])
        if not runs or self._counted(point, row, runs):
            return "" if runs else "no run"
        after = None if self.race is None else self.race.dropped_after(point, row)
        if after is None:
            return f"{len(runs)} of {len(self.suite.seeds_at(point))} seeds"
        return f"dropped from the race after {after} seeds"

    def told(self, point: str, targets: Sequence[float]) -> str:
        """Returns targets of a point in words: 60, 70 %, or f1 0.6, 0.7."""
        (metric,) = {one.metric for one in self.suite.scenario_at(self.suite.point(point)).compared}
        return in_words(metric, *targets)

    def group(self, point: str, selector: str, *, tuned: bool) -> Group:
        """Returns the system that a row has at a point: how many clients may be at work, and
        whether there are public data."""
        return group_of_row(self.suite, self.frozen, self.suite.point(point), f"{selector}{TUNED if tuned else ''}")

    @cached_property
    def systems(self) -> dict[str, dict[str, Group]]:
        """Returns the kinds of groups on the boards, each with its group at every point that has
        it, in the order of `Group.place`."""
        found: dict[str, dict[str, Group]] = {}
        for point, one in (self.tuned or self.default).items():
            for group in one.groups:
                found.setdefault(group.kind, {})[point] = group
        first = {kind: next(iter(groups.values())) for kind, groups in found.items()}
        order = sorted(found, key=lambda kind: first[kind].place)
        return {kind: found[kind] for kind in order}

    @cached_property
    def luck(self) -> dict[tuple[str, str], Luck]:
        """Returns the luck of every tuned row whose trials are at hand, by point and label. Trials
        of a halving are no draw of equals, so they say nothing of it."""
        if not isinstance(self.suite.tuning, Sobol) or not self.tried:
            return {}
        space, count = spaces.load(self.suite.tuning.space), self.suite.tuning.trials + 1
        found = {}
        for (point, selector), several in self.tried.items():
            if selector in self.labels and len(several) == count:
                found[point, self.labels[selector]] = luck(several, space.of(type(self.suite.algorithm(selector))))
        return found

    def among(self, labels: Collection[str]) -> Results:
        """Returns the results of these algorithms only, with the references beside them."""
        kept = {row for row, label in self.labels.items() if label in labels or self.families[label] == "reference"}
        return replace(
            self,
            seats={
                point: {row: runs for row, runs in rows.items() if row.removesuffix(TUNED) in kept}
                for point, rows in self.seats.items()
            },
        )

    def _counted(self, point: str, row: str, runs: Sequence[Record]) -> Sequence[Record]:
        """Returns the runs with which a row is compared; none if it is not complete."""
        wanted = self.suite.seeds.count if self.race is None else self.race.seeds(point, row)
        seeds = list(self.suite.seeds.numbers[:wanted])
        counted = runs[: len(seeds)]
        return counted if [run.seed for run in counted] == seeds else []

    def complete(self, *, tuned: bool) -> dict[str, dict[str, Sequence[Record]]]:
        """Returns by point and by label the runs of the complete rows."""
        found: dict[str, dict[str, Sequence[Record]]] = {}
        for point, rows in self.seats.items():
            for row, runs in rows.items():
                selector = row.removesuffix(TUNED)
                if (row != selector) == tuned and (counted := self._counted(point, row, runs)):
                    found.setdefault(point, {})[self.labels[selector]] = counted
        return found

    def _boards(self, *, tuned: bool) -> dict[str, Board]:
        references = frozenset(label for label, family in self.families.items() if family == "reference")
        selectors = {label: selector for selector, label in self.labels.items()}
        rows = self.complete(tuned=tuned)
        groups = {
            point: {label: self.group(point, selectors[label], tuned=tuned) for label in of_point}
            for point, of_point in rows.items()
        }
        return boards(rows, references=references, groups=groups)


def load(suite: Suite, tuned_in: Path, archives: Path) -> Results:
    """Returns the results of a suite from its archive, whose records are all checked.

    Args:
        suite: the suite.
        tuned_in: folder of the files of tuned options. A suite that was not tuned yet has rows with
            default options only.
        archives: folder of the archives.

    Raises:
        UsageError: if the archive is missing, or the file of options of the rows that it has, if
            that or the race is of another design, or if the archive has no run of the suite.
        RecordError: if the archive is damaged.
    """
    if not archive.is_archive(archives / suite.name):
        raise UsageError(
            f"suite {suite.name}: there is no archive {archives / suite.name}; pack the records of its store first: "
            f"fedbench suite pack {suite.typed}"
        )
    options, records = tuned_in / f"{suite.name}.yaml", archive.read(archives / suite.name)
    frozen = _frozen(suite, options, records)
    race = None if suite.race is None else decisions.read(archives / suite.name, suite, frozen)
    found = seats(suite, frozen, records)
    if not found:
        raise UsageError(f"archive {archives / suite.name}: it has no run of suite {suite.name}")
    table = tuned_in / f"{suite.name}-trials.parquet"
    if frozen is None or not table.exists():
        return Results(suite, frozen, found, race=race)
    return Results(suite, frozen, found, lambda: trials.tried(table, suite.design_hash()), race)


def _frozen(suite: Suite, file: Path, records: Collection[Record]) -> Tuned | None:
    """Returns the tuned options of a suite; None if it does not tune, or was not tuned yet and all
    records are of rows with default options."""
    if suite.tuning is None:
        return None
    if not file.exists() and suite.rows == "all":
        default = {run.run_id for rows in seats(suite, None, records).values() for runs in rows.values() for run in runs}
        if len(default) == len(records):
            return None
    return tuned.read(file, suite)
