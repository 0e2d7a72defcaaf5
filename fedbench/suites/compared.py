"""The rows that figures and tables compare, with their boards. They are those of a suite, or of any
records."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fedbench import origins, registry
from fedbench.analysis.board import Board
from fedbench.analysis.pictures import Rows
from fedbench.analysis.summary import code_of, summarize
from fedbench.errors import RecordError, UsageError, nearest
from fedbench.results.record import Record
from fedbench.suites.findings.results import Results


@dataclass(frozen=True)
class Compared:
    """Rows by point, and their boards.

    title: where the rows come from, such as `suite axes (0123456789abcdef)`.
    rows: by point and label, the runs in order of seed. References are among them.
    boards: by point.
    off_board: by point and label, why a row is not on the board.
    """

    title: str
    rows: Mapping[str, Rows]
    boards: Mapping[str, Board]
    off_board: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def point(self, name: str | None) -> str:
        """Returns the name of a point; without a name, that of the only point. Raises UsageError if
        there is no such point, or if no name is given and there are several."""
        if name is None and len(self.rows) == 1:
            return next(iter(self.rows))
        if name is None:
            raise UsageError(f"{self.title}: it has {len(self.rows)} points, name one with --point: {', '.join(self.rows)}")
        if name not in self.rows:
            raise UsageError(f"{self.title}: it has no point {name!r}{nearest(name, self.rows)}")
        return name

    def at(self, points: Sequence[str]) -> Compared:
        """Returns the same with these points only, in this order, or with all if none is given.
        Raises UsageError for an unknown point."""
        names = [self.point(name) for name in points] or list(self.rows)
        boards = {name: self.boards[name] for name in names if name in self.boards}
        off_board = {name: self.off_board[name] for name in names if name in self.off_board}
        return Compared(self.title, {name: self.rows[name] for name in names}, boards, off_board)

    @property
    def known(self) -> set[str]:
        """Returns the labels of all rows."""
        return {label for rows in self.rows.values() for label in rows}

    @property
    def titles(self) -> dict[str, str]:
        """Returns the titles that algorithms of one's own give themselves, by label, with the
        options that the label has."""
        used = {label: runs[0].spec.algorithm for rows in self.rows.values() for label, runs in rows.items()}
        return {label: f"{one.title} {label.removeprefix(one.name)}".strip() for label, one in used.items() if one.title}

    def label(self, row: str) -> str:
        """Returns the label of a row that is named as on the command line: with hyphens or
        underscores, with options that have their defaults, or by the file of its algorithm. Raises
        UsageError for a row that no point has."""
        known = self.known
        for name in (row, row.replace("-", "_")):
            if name in known:
                return name
        with contextlib.suppress(UsageError):  # it names no algorithm, which the message below says better
            algorithm = registry.algorithm(row)
            selector, code = registry.selector_of(algorithm), code_of(origins.origin(type(algorithm)))
            if (name := f"{selector} ({code})") in known:
                return name
            if selector in known and self._is_of(selector, code):
                return selector
        raise UsageError(f"{self.title}: it has no row {row!r}{nearest(row, known)}")

    def _is_of(self, label: str, code: str) -> bool:
        """Returns whether the runs of a row are of this code; an algorithm that is built in or
        installed has none to tell."""
        runs = [run for rows in self.rows.values() for run in rows.get(label, ())]
        return not code or all(code_of(run.spec.algorithm.where) in ("", code) for run in runs)

    def labels(self, wanted: Sequence[str]) -> list[str]:
        """Returns the labels of the rows that are asked for. Raises UsageError for a row that no
        point has."""
        return [self.label(one) for one in wanted]


def of_suite(results: Results, *, tuned: bool) -> Compared:
    """Returns the complete rows of a suite with tuned or with default options. Raises UsageError if
    there are none."""
    suite, kind = results.suite, "tuned" if tuned else "default"
    boards = results.tuned if tuned else results.default
    if not boards:
        raise UsageError(f"suite {suite.name}: it has no complete row with {kind} options")
    title = f"suite {suite.name} ({suite.content_hash()}), {kind} options"
    return Compared(title, results.complete(tuned=tuned), boards)


def of_records(records: Iterable[Record], title: str) -> Compared:
    """Returns a point for each scenario of the records. A scenario without targets or without a
    budget in seconds has rows, but no board.

    Raises RecordError without records, or for two different records of one scenario, selector and
    seed.
    """
    summaries = summarize(records)
    if not summaries:
        raise RecordError(f"{title}: expected records, got none")
    rows = {one.full_name: {row.selector: row.runs for row in one.rows} for one in summaries}
    boards = {one.full_name: found for one in summaries if (found := one.board) is not None}
    return Compared(title, rows, boards, {one.full_name: one.off_board for one in summaries if one.off_board})
