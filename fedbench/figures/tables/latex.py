"""Writes a table of boards as LaTeX, which needs the package booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from fedbench.figures.tables.board import Block, Cell, Grid, plain
from fedbench.written import AT_LEAST, BEST, ENDLESS, NONE, PLUS_MINUS

ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    NONE: "--",
    PLUS_MINUS: r"$\pm$",
    AT_LEAST: r"$\geq$",
    BEST: r"$\bullet$",
    ENDLESS: r"$\infty$",
}
LETTERS = 96
"""How many letters wide a table may be, about 14 cm. The columns of a wider one go on below."""
BEGIN, END = r"\begingroup\footnotesize\setlength{\parindent}{0pt}", r"\endgroup"


def escaped(text: str) -> str:
    """Returns a text so that LaTeX shows it as it is. Letters that pdflatex does not know become
    question marks."""
    return "".join(ESCAPES.get(one) or (one if one.isascii() and one.isprintable() else "?") for one in text)


def latex(grid: Grid, head: Sequence[str], letters: int = LETTERS) -> str:
    """Returns one `tabular` with the notes below it. Where it would be too wide, there are several
    below each other.

    Args:
        grid: the table.
        head: lines of the comment on top.
        letters: how wide a `tabular` may be. It has at least one column of numbers even so.
    """
    comments = [f"% {line}" for line in (*head, r"Needs \usepackage{booktabs}.")]
    blocks = [_block(grid, picked) for picked in _packed(grid, letters)]
    return "\n".join([*comments, BEGIN, "\n\n\\medskip\n".join(blocks), _notes(grid), END, ""])


def _packed(grid: Grid, letters: int) -> list[list[int]]:
    """Returns the indices of the columns of every `tabular`."""
    names = max(len(row.name) for row in grid.rows) + 3
    widths = [max(len(head), *(len(plain(row.cells[i])) for row in grid.rows)) for i, head in enumerate(grid.heads)]
    packed: list[list[int]] = []
    for i, width in enumerate(widths):
        if not packed or names + sum(widths[j] for j in packed[-1]) + width > letters:
            packed.append([])
        packed[-1].append(i)
    return packed


def _block(grid: Grid, picked: Sequence[int]) -> str:
    """Returns one `tabular`. A number and what stands behind it are separate columns, so that
    numbers are aligned."""
    heads = [rf"\multicolumn{{2}}{{c}}{{{escaped(grid.heads[i])}}}" for i in picked]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{@{{}}l{'r@{ }l' * len(picked)}@{{}}}}",
            r"\toprule",
            _line(["algorithm", *heads]),
            r"\midrule",
            "\n\\midrule\n".join(_rows(block, picked) for block in grid.blocks),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _line(columns: Sequence[str]) -> str:
    return rf"{' & '.join(columns)} \\"


def _rows(block: Block, picked: Sequence[int]) -> str:
    title = rf"\multicolumn{{{1 + 2 * len(picked)}}}{{@{{}}l}}{{\emph{{{escaped(block.title)}}}}} \\"
    return "\n".join([title, *(_line([escaped(row.name), *(_cell(row.cells[i]) for i in picked)]) for row in block.rows)])


def _cell(cell: Cell) -> str:
    """Returns the two columns of a cell: the number with its signs, and what stands behind it."""
    if not cell.number:
        return rf"\multicolumn{{2}}{{c}}{{{escaped(plain(cell))}}}"
    return f"{escaped(cell.mark)}{'~' if cell.mark else ''}{escaped(cell.number)} & {escaped(cell.rest)}"


def _notes(grid: Grid) -> str:
    return "\n".join([r"\par\smallskip\raggedright", *map(escaped, grid.notes), r"\par"])
