"""How texts and tables fit into the columns of a terminal. Nothing is cut off, and words stay
whole: a table that is too wide wraps its widest column, or shows columns as lines below the
others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len

GAP, INDENT = 2, 2  # columns between two columns of a table, and before what belongs to the line above
READABLE = 30  # columns, the least to which a column of a table is narrowed
ABOUT = "about"
"""The name of a column whose texts need no label."""
NO_PROSE = re.compile(r"\s|.*\S {2,}\S|([-*]|\d+\.) |[-=]{3,}$")  # indented, aligned, an item, or underlined

Lines = list[str]


class Laid(NamedTuple):
    """The lines of a table: those of its head, and those below."""

    head: Lines
    body: Lines


def wrapped(line: str, width: int, hang: int = INDENT) -> Lines:
    """Returns a line as lines of at most `width` columns, broken at spaces.

    All but the first are indented by `hang` columns more than the line. A longer word stays whole;
    a selector breaks behind its commas.
    """
    if cell_len(line) <= width:
        return [line]
    before = " " * min(len(line) - len(line.lstrip()) + hang, width // 2)
    lines = [""]
    for word in re.findall(r"\s*\S+", line):
        for piece in _pieces(word, width - len(before)):
            if cell_len(lines[-1] + piece) > width and lines[-1].strip():
                spare = width - cell_len(piece.lstrip())  # a long word is indented by less, if it then fits
                lines.append((before if spare < 0 else before[:spare]) + piece.lstrip())
            else:
                lines[-1] += piece
    return lines


def _pieces(word: str, width: int) -> Lines:
    """Returns a word, or the pieces of a selector that is wider."""
    return re.findall(r"[^,]*,|[^,]+", word) if cell_len(word) > width and "[" in word else [word]


def reflowed(text: str, width: int) -> Lines:
    """Returns a text of paragraphs as lines of at most `width` columns. A paragraph of prose with a
    longer line is filled anew. Of others, such as equations and lists, only long lines are
    broken."""
    lines: Lines = []
    for paragraph in text.split("\n\n"):
        own = paragraph.split("\n")
        if max(map(cell_len, own)) > width and not any(map(NO_PROSE.match, own)):
            own = [" ".join(own)]
        lines += [part for line in own for part in wrapped(line, width, 0 if len(own) == 1 else INDENT)] + [""]
    return lines[:-1]


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Laid:
    """Returns a table of at most `width` columns.

    If it is too wide, its widest column is wrapped. If that column would be too narrow, the first
    one stands above its rows. If even that is too wide, the columns that fit make the table, and
    the others stand below each row, each as `label: value`.
    """
    every = [columns, *rows]
    natural = _natural(columns, rows)
    if _total(natural) <= width:
        return _grid(columns, rows, natural)
    widest = natural.index(max(natural))
    room = width - _total(natural) + natural[widest]
    if room >= max([READABLE, *(cell_len(word) for row in every for word in row[widest].split())]):
        return _grid(columns, rows, [*natural[:widest], room, *natural[widest + 1 :]])
    if len(columns) > 2 and INDENT + _total(natural[1:]) <= width:
        return _grouped(columns, rows, natural[1:], width)
    return _blocks(columns, rows, natural, width)


def fits(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> bool:
    """Returns whether a table needs at most `width` columns as it is."""
    return _total(_natural(columns, rows)) <= width


def _natural(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(cell_len(row[i]) for row in (columns, *rows)) for i in range(len(columns))]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Laid:
    head, *body = ([*_lines_of_row(row, widths)] for row in [columns, *rows])
    return Laid(head if any(columns) else [], [line for lines in body for line in lines])


def _lines_of_row(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    cells = [wrapped(cell, width, 0) for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, cells))):
        parts = [lines[number] if number < len(lines) else "" for lines in cells]
        padded = [part + " " * (width - cell_len(part)) for part, width in zip(parts, widths, strict=True)]
        yield (" " * GAP).join(padded).rstrip()


def _grouped(columns: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], width: int) -> Laid:
    """Returns a table in which the first cell of a row, if it is another one than that of the row
    above, stands on a line of its own."""
    head, body = _grid(columns[1:], [row[1:] for row in rows], widths)
    before = " " * INDENT
    lines: Lines = []
    for number, (row, line) in enumerate(zip(rows, body, strict=True)):
        if number == 0 or row[0] != rows[number - 1][0]:
            lines += wrapped(row[0], width)
        lines.append(before + line)
    return Laid([columns[0], *(before + line for line in head)], lines)


def _blocks(columns: Sequence[str], rows: Sequence[Sequence[str]], natural: Sequence[int], width: int) -> Laid:
    """Returns a table of the first column and of those that fit beside it. The other cells of a row
    stand below it."""
    kept = [0]
    for i in range(1, len(columns)):
        if _total([natural[j] for j in [*kept, i]]) <= width:
            kept.append(i)
    below = sorted(set(range(len(columns))) - set(kept), key=lambda i: columns[i] != ABOUT)
    widths = [min(natural[i], width) for i in kept]
    head = _grid([columns[i] for i in kept], [], widths).head
    lines: Lines = []
    for row in rows:
        lines += _lines_of_row([row[i] for i in kept], widths)
        for i in below:
            label = "" if columns[i] in ("", ABOUT) else f"{columns[i]}: "
            lines += wrapped(f"{' ' * INDENT}{label}{row[i]}", width, INDENT if label else 0) if row[i] else []
    return Laid(head, lines)
