"""The results of a suite: its rows with their boards, labels, families and groups, and its frozen
reference times."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from fedbench import registry
from fedbench.analysis import profiles
from fedbench.analysis.board import Board, boards, times
from fedbench.analysis.groups import Group, group_of
from fedbench.analysis.profiles import Reference, freeze
from fedbench.documents.parts import Kind
from fedbench.errors import UsageError
from fedbench.results import archive
from fedbench.results.record import Record
from fedbench.suites import space as spaces
from fedbench.suites import trials, tuned
from fedbench.suites.luck import Luck, luck
from fedbench.suites.seats import Seats, seats
from fedbench.suites.suite import Suite
from fedbench.suites.trials import Tried
from fedbench.suites.tuned import TUNED, Tuned
from fedbench.suites.tuning_parts import Sobol
from fedbench.types import Info, Rounds

REFERENCES = Path(__file__).parents[1] / "references"


def reference_file(suite: str) -> Path:
    """Returns the file in which the package keeps the reference times of a suite, whether or not it
    exists."""
    return REFERENCES / f"{suite}.json"


@dataclass(frozen=True)
class Results:
    """The rows of a suite.

    A row is complete if every seed of the suite has its run. Only complete rows are compared.

    frozen: the options of its tuned rows, None if there are none. seats: all runs that there are.
    read_tried: reads the trials from which options were chosen; none are there if they are not at
    hand.
    """

    suite: Suite
    frozen: Tuned | None
    seats: Seats
    read_tried: Callable[[], Tried] = dict

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
            lacks = {"default": self._lacks(rows.get(selector, []))}
            if self.suite.tuning is not None:
                lacks["tuned"] = self._lacks(rows.get(f"{selector}{TUNED}", []))
            for reason in sorted({reason for reason in lacks.values() if reason}):
                kinds = [kind for kind, other in lacks.items() if other == reason]
                row = label if len(kinds) == len(lacks) else f"{label} ({kinds[0]})"
                found.setdefault(reason, []).append(f"{row} at {point.name}")
        return found

    def _lacks(self, runs: Sequence[Record]) -> str:
        """Returns why a row with these runs is not compared, nothing if it is."""
        return "" if self._complete(runs) else f"{len(runs)} of {self.suite.seeds.count} seeds" if runs else "no run"

    def group(self, point: str, selector: str, *, tuned: bool) -> Group:
        """Returns the system that a row has at a point: how many clients may be at work, and
        whether there are public data."""
        choice = self.frozen.points.get(point, {}).get(selector) if tuned and self.frozen else None
        at = self.suite.point(point)
        scenario, algorithm = self.suite.scenario_at(at), self.suite.algorithm(selector, choice.options if choice else None, at)
        return group_of(algorithm, scenario.clients, scenario.at_work)

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
                found[point, self.labels[selector]] = luck(several, space.of(self.suite.algorithm(selector).name))
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

    def _complete(self, runs: Sequence[Record]) -> bool:
        return len(runs) == self.suite.seeds.count

    def complete(self, *, tuned: bool) -> dict[str, dict[str, Sequence[Record]]]:
        """Returns by point and by label the runs of the complete rows."""
        found: dict[str, dict[str, Sequence[Record]]] = {}
        for point, rows in self.seats.items():
            for row, runs in rows.items():
                selector = row.removesuffix(TUNED)
                if (row != selector) == tuned and self._complete(runs):
                    found.setdefault(point, {})[self.labels[selector]] = runs
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
        tuned_in: folder of the files of tuned options. It is not read for a suite that does not
            tune.
        archives: folder of the archives.

    Raises:
        UsageError: if the archive or the file of options is missing, if that is of another design,
            or if the archive has no run of the suite.
        RecordError: if the archive is damaged.
    """
    if not archive.is_archive(archives / suite.name):
        raise UsageError(
            f"suite {suite.name}: there is no archive {archives / suite.name}; pack the records of its store first: "
            f"fedbench suite pack {suite.name}"
        )
    frozen = None if suite.tuning is None else tuned.read(tuned_in / f"{suite.name}.yaml", suite)
    found = seats(suite, frozen, archive.read(archives / suite.name))
    if not found:
        raise UsageError(f"archive {archives / suite.name}: it has no run of suite {suite.name}")
    table = tuned_in / f"{suite.name}-trials.parquet"
    if frozen is None or not table.exists():
        return Results(suite, frozen, found)
    return Results(suite, frozen, found, lambda: trials.tried(table, suite.design_hash()))


def reference_of(results: Results) -> Reference:
    """Returns the reference times that are to be frozen: those of the best tuned rows, with the
    resolution of every point. Raises UsageError without tuned rows."""
    of_points = results.tuned
    if not of_points:
        raise UsageError(f"reference of suite {results.suite.name}: it has no complete row with tuned options")
    runs: dict[str, list[Record]] = {}
    for point, rows in results.seats.items():
        for row, of_row in rows.items():
            label = results.labels[row.removesuffix(TUNED)]
            standing = of_points[point].of(label) if point in of_points and row.endswith(TUNED) else None
            if standing is not None and standing.ranking is not None:
                runs.setdefault(label, []).extend(of_row)
    return freeze(
        results.suite.name,
        {label: times(of_points, label) for label in sorted(runs)},
        {label: _digest(of_label) for label, of_label in runs.items()},
        resolution={point: shown for point, one in of_points.items() if (shown := _shown(one)) is not None},
        hashes={point: results.hashes[point] for point in of_points},
    )


def _shown(board: Board) -> float | None:
    """Returns the ratio that every group of a board shows, None if there is none."""
    found = [one for group in board.groups if (one := board.ranking(group).resolution) is not None]
    return round(max(found), 3) if found else None


def _digest(runs: Iterable[Record]) -> str:
    lines = sorted(f"{run.run_id} {run.digests.result}\n" for run in runs)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:32]


def reference_for(results: Results, references: Path = REFERENCES) -> Reference | None:
    """Returns the reference times of a suite from a folder, None for a suite without tuned rows.

    Raises UsageError if the file is missing, or if it is of other scenarios than those of the
    suite.
    """
    if not results.tuned:
        return None
    file = references / f"{results.suite.name}.json"
    if not file.exists():
        raise UsageError(
            f"reference {file}: there is no such file; `fedbench suite freeze {results.suite.name} -o {file}` makes it from tuned rows"
        )
    found = profiles.read(file)
    check_reference(found, results)
    return found


def check_reference(reference: Reference, results: Results) -> None:
    """Raises UsageError if reference times are of other scenarios than those of the suite."""
    for point, found in reference.hashes.items():
        expected = results.hashes.get(point, "no such point")
        if found != expected:
            raise UsageError(
                f"reference {reference.name}: point {point} is of scenario {found}, expected {expected}; freeze it again"
            )
