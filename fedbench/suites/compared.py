"""The rows that figures and tables compare, with their boards. They are those of a suite, or of any
records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fedbench.analysis.board import Board
from fedbench.analysis.pictures import Rows
from fedbench.analysis.summary import summarize
from fedbench.errors import RecordError, UsageError, nearest
from fedbench.results.record import Record
from fedbench.suites.findings.results import Results


@dataclass(frozen=True)
class Compared:
    """Rows by point, and their boards.

    title: where the rows come from, such as `suite axes (0123456789abcdef)`.
    rows: by point and label, the runs in order of seed. References are among them.
    boards: by point.
    alike: by point, the boards of the rows without an advantage. It is empty if they are not known.
    advantages: by label, what a row has by definition that others lack. Rows without an advantage
    are left out.
    """

    title: str
    rows: Mapping[str, Rows]
    boards: Mapping[str, Board]
    alike: Mapping[str, Board] = field(default_factory=dict)
    advantages: Mapping[str, Sequence[str]] = field(default_factory=dict)

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
        boards, alike = ({name: part[name] for name in names if name in part} for part in (self.boards, self.alike))
        return Compared(self.title, {name: self.rows[name] for name in names}, boards, alike, self.advantages)

    def labels(self, wanted: Sequence[str]) -> list[str]:
        """Returns the labels of the rows that are asked for, whether written with hyphens or
        underscores. Raises UsageError for a row that no point has."""
        known = {label for rows in self.rows.values() for label in rows}
        for one in wanted:
            if one not in known and one.replace("-", "_") not in known:
                raise UsageError(f"{self.title}: it has no row {one!r}{nearest(one, known)}")
        return [one if one in known else one.replace("-", "_") for one in wanted]


def of_suite(results: Results, *, tuned: bool) -> Compared:
    """Returns the complete rows of a suite with tuned or with published options. Raises UsageError
    if there are none."""
    suite, kind = results.suite, "tuned" if tuned else "published"
    boards = results.boards[kind]
    if not boards:
        raise UsageError(f"suite {suite.name}: it has no complete row with {kind} options")
    advantages: dict[str, set[str]] = {}
    for point in boards:
        for selector, label in results.labels.items():
            if boards[point].of(label) is not None and results.families[label] != "reference":
                advantages.setdefault(label, set()).update(results.advantages(point, selector, tuned=tuned))
    return Compared(
        title=f"suite {suite.name} ({suite.content_hash()}), {kind} options",
        rows=results.complete(tuned=tuned),
        boards=boards,
        alike=results.like_for_like if tuned else {},
        advantages={label: sorted(found) for label, found in sorted(advantages.items()) if found},
    )


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
    return Compared(title, rows, {one.full_name: found for one in summaries if (found := one.board) is not None})
