"""What figures and tables compare: the rows of points, from a suite or from any records, with their
boards."""

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

    title: what the rows are of, such as `suite axes (0123456789abcdef)`. rows: by point, then by
    label, the runs in order of seed, references among them. boards: by point. alike: by point, the
    boards of the rows without an advantage; empty where that is not known. advantages: by label,
    what a row has by definition beyond the others; those that have nothing are left out.
    """

    title: str
    rows: Mapping[str, Rows]
    boards: Mapping[str, Board]
    alike: Mapping[str, Board] = field(default_factory=dict)
    advantages: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def point(self, name: str | None) -> str:
        """Returns the name of a point; of the only one if none is given. UsageError if there is
        none, or several to choose from."""
        if name is None and len(self.rows) == 1:
            return next(iter(self.rows))
        if name is None:
            raise UsageError(f"{self.title}: it has {len(self.rows)} points, name one with --point: {', '.join(self.rows)}")
        if name not in self.rows:
            raise UsageError(f"{self.title}: it has no point {name!r}{nearest(name, self.rows)}")
        return name

    def at(self, points: Sequence[str]) -> Compared:
        """Returns only these points, in this order; all if none is given. UsageError for one that
        there is not."""
        names = [self.point(name) for name in points] or list(self.rows)
        boards, alike = ({name: part[name] for name in names if name in part} for part in (self.boards, self.alike))
        return Compared(self.title, {name: self.rows[name] for name in names}, boards, alike, self.advantages)

    def labels(self, wanted: Sequence[str]) -> list[str]:
        """Returns the labels of rows that are asked for. UsageError for one that no point has."""
        known = {label for rows in self.rows.values() for label in rows}
        for one in wanted:
            if one not in known and one.replace("-", "_") not in known:
                raise UsageError(f"{self.title}: it has no row {one!r}{nearest(one, known)}")
        return [one if one in known else one.replace("-", "_") for one in wanted]


def of_suite(results: Results, *, tuned: bool) -> Compared:
    """Returns the complete rows of a suite with tuned or with published options. UsageError if
    there are none."""
    boards, kind = (results.tuned, "tuned") if tuned else (results.published, "published")
    suite = results.suite
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
    budget in seconds has rows, and no board. RecordError without records, or if two of them claim
    the same place."""
    summaries = summarize(records)
    if not summaries:
        raise RecordError(f"{title}: expected records, got none")
    rows = {one.full_name: {row.selector: row.runs for row in one.rows} for one in summaries}
    return Compared(title, rows, {one.full_name: found for one in summaries if (found := one.board) is not None})
