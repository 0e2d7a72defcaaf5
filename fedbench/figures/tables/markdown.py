"""Writes a table of boards as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from fedbench.figures.tables.board import Block, Grid, plain


def markdown(grid: Grid, head: Sequence[str]) -> str:
    """Returns the table and the notes below it. `head` has the lines of the comment on top."""
    table = [("algorithm", *map(escaped, grid.heads)), ("---", *("---:" for _ in grid.heads))]
    table += [line for block in grid.blocks for line in _lines(block, len(grid.heads))]
    comment = "\n".join(["<!--", *(line.replace("-->", "--") for line in head), "-->"])
    lines = "\n".join(f"| {' | '.join(line)} |" for line in table)
    return "\n\n".join([comment, lines, " ".join(map(escaped, grid.notes))]) + "\n"


def _lines(block: Block, columns: int) -> list[tuple[str, ...]]:
    head = (f"**{escaped(block.title)}**", *("" for _ in range(columns)))
    return [head, *((escaped(row.name), *map(plain, row.cells)) for row in block.rows)]


def escaped(text: str) -> str:
    """Returns a text so that Markdown shows it as it is. Line ends become spaces. Signs that would
    make a tag, a link or the end of a cell are escaped."""
    return "".join(f"\\{one}" if one in r"\`*_{}[]<>|#!&~" else " " if one in "\r\n" else one for one in text)
