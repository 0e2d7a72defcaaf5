"""Writes a table of boards as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from fedbench.figures.tables.board import Grid, Row, notes, plain


def markdown(grid: Grid, head: Sequence[str]) -> str:
    """Returns the table and the notes below it. `head` has the lines of the comment on top."""
    table = [("algorithm", *map(escaped, grid.heads)), ("---", *("---:" for _ in grid.heads))]
    table += [(_name(row), *map(plain, row.cells)) for row in grid.rows]
    comment = "\n".join(["<!--", *(line.replace("-->", "--") for line in head), "-->"])
    numbered = [f"<sup>{number}</sup> {escaped(words)}." for number, words in enumerate(grid.advantages, 1)]
    lines = "\n".join(f"| {' | '.join(line)} |" for line in table)
    return "\n\n".join([comment, lines, " ".join([*notes(grid), *numbered])]) + "\n"


def escaped(text: str) -> str:
    """Returns a text so that Markdown shows it as it is. Line ends become spaces. Signs that would
    make a tag, a link or the end of a cell are escaped."""
    return "".join(f"\\{one}" if one in r"\`*_{}[]<>|#!&~" else " " if one in "\r\n" else one for one in text)


def _name(row: Row) -> str:
    name = escaped(row.name) if row.ranked else f"({escaped(row.name)})"
    return name + (f"<sup>{','.join(map(str, row.advantages))}</sup>" if row.advantages else "")
