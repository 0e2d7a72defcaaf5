"""What a column of rows is made of: a row as columns see it, and what it says in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fedbench.documents.board import Standing
from fedbench.documents.parts import Kind
from fedbench.documents.section import Row, Section
from fedbench.documents.suite import Document, Entrant


@dataclass(frozen=True)
class Seen:
    """A row of a document, with all that its columns may show."""

    document: Document
    point: str
    kind: Kind
    row: Row
    standing: Standing | None
    section: Section

    @cached_property
    def entrant(self) -> Entrant:
        return next(one for one in self.document.algorithms if one.label == self.row.label)


def seen_at(document: Document, kind: Kind, point: str) -> dict[str, Seen]:
    """Returns the rows of a kind at a point by label, as columns see them; none if the kind lacks
    the point."""
    board, section = document.board(kind, point), document.sections[kind].get(point)
    rows = section.rows if section else ()
    return {row.label: Seen(document, point, kind, row, board.get(row.label), section) for row in rows if section}


@dataclass(frozen=True)
class Cell:
    """What a row says in a column.

    Attributes:
        text: the text.
        notes: one line below the text for each note that is not empty.
        mark: how the row stands, in words.
        alarm: whether a seed went wrong.
        sort: the value by which the column is sorted. None is always last.
        value: what is downloaded, if it is another one.
    """

    text: str
    notes: Sequence[str] = ()
    mark: str = ""
    alarm: bool = False
    sort: float | str | None = None
    value: object = None

    @property
    def worth(self) -> object:
        """What files have of the cell."""
        return self.sort if self.value is None else self.value


Write = Callable[[float | None], str]
Say = Callable[[Seen], Cell]


@dataclass(frozen=True)
class Column:
    """A column.

    Attributes:
        name: the field of a row in files.
        title: the heading in the table of all rows.
        cell: what a row says.
        page: the heading in the table of a scenario and a note on it; None: it is not there.
        first: the direction in which the first click sorts, so that the better end is on top.
        is_number: whether it has numbers.
        is_shown: whether the table of all rows shows it at first.
        csv: the column of the CSV that has the value already; by default it gets one of its name.
        target: the target that it is about, None for another column.
    """

    name: str
    title: str
    cell: Say
    page: tuple[str, str] | None = None
    first: str = "descending"
    is_number: bool = True
    is_shown: bool = False
    csv: str = ""
    target: float | None = None
