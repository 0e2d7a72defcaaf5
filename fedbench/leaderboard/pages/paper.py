"""Makes the page of a paper: its tables cell by cell with verdicts, the orders of its numbers, what
was varied, what its theorems give, and where its equations are in the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from fedbench import written
from fedbench.analysis.axes import AXES
from fedbench.documents.paper import ORDERS, VERDICTS, Cell, Figure, Order, Paper, Table, Theory, each_seed
from fedbench.leaderboard.pages.frame import Site, View
from fedbench.leaderboard.pages.papers import kinds, ordered, stand_in
from fedbench.leaderboard.pages.reasons import of_bare, reasons
from fedbench.leaderboard.pages.scenario import bands
from fedbench.leaderboard.pictures import agreement, chart
from fedbench.leaderboard.pictures.shares import shares

LONG = 30
"""A table of facts of configuration is folded if it has more cells than this. Orders are folded if
there are more of them."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def render(site: Site, paper: Paper) -> str:
    """Returns the page of a paper."""
    return site.page(
        "paper.html",
        site.places.paper(paper.key),
        paper=paper,
        kinds=kinds(paper.counts),
        stand_in=stand_in(paper.stand_ins),
        reasons=reasons(paper),
        orders=[(name, [word for word in ORDERS if counts.get(word)], counts) for name, counts in ordered(paper)],
        tables=[_table(table) for table in paper.tables],
        theory=[_claim(line) for line in paper.theory],
        figures=[one for i, figure in enumerate(paper.figures, 1) if (one := _figure(f"curves-{i}", figure))["svg"]],
    )


def _table(table: Table) -> View:
    """Returns what the template needs of a table. A note on all cells has no mark, and each other
    note has a letter."""
    notes = _notes(table.cells)
    marks = {text: mark for text, mark, _ in notes if mark}
    rows = _rows(table.shown, marks)
    folded = table.kind == "configuration" and len(rows) > LONG
    usual = max(table.counts, key=lambda word: table.counts[word], default=None)
    orders = _orders(table.orders)
    return {
        "given": table,
        "ident": table.name,
        "bar": shares(table.counts) if len(table.counts) > 1 and table.kind == "runs" else "",
        "words": [word for word in VERDICTS if table.counts.get(word)],
        "notes": notes,
        "rows": rows,
        "folded": folded,
        "apart": _rows([cell for cell in table.shown if cell.verdict != usual], marks) if folded else [],
        "bare": _rows(table.bare, marks),
        "why_bare": of_bare(table.bare),
        "has_ours": any(cell.ours for cell in table.cells),
        "runs": runs(table),
        "has_hours": any(cell.hours is not None for cell in table.cells),
        "orders": orders,
        "counted": [(word, sum(one.order == word for one in table.orders)) for word in ORDERS],
        "orders_folded": len(orders) > LONG,
        "orders_on": orders_on(table.orders),
        "varied": _varied(table),
        "agreement": agreement.pictures(table.picture.data, f"Table {table.name}") if table.picture else [],
        "keys": agreement.keys(table.picture.data) if table.picture else [],
    }


def _of_cell(cell: Cell) -> list[tuple[str, str]]:
    """Returns the remarks on a cell, each with its kind."""
    found = [(text, "guess") for text in cell.guesses]
    found += [(cell.substitute, "substitute")] if cell.substitute else []
    return found + ([(cell.note, "note")] if cell.note else [])


def _notes(cells: Sequence[Cell]) -> list[tuple[str, str, str]]:
    """Returns the text, the mark and the kind of every remark. Remarks on all cells come first and
    have an empty mark. The others are in the order of the cells."""
    counts: dict[tuple[str, str], int] = {}
    for cell in cells:
        for one in dict.fromkeys(_of_cell(cell)):
            counts[one] = counts.get(one, 0) + 1
    found, marked = [], 0
    for (text, kind), times in counts.items():
        if times == len(cells) > 1:
            found.append((text, "", kind))
        else:
            found.append((text, _letters(marked), kind))
            marked += 1
    return sorted(found, key=lambda note: note[1] != "")


def _letters(number: int) -> str:
    """Returns a, b, .., z, aa, ab, .."""
    more, last = divmod(number, len(LETTERS))
    return (_letters(more - 1) if more else "") + LETTERS[last]


def _rows(cells: Sequence[Cell], marks: Mapping[str, str]) -> list[View]:
    """Returns the rows of a table. A setting has a flag which says that it and all before it are
    the same as in the row above."""
    rows, above = [], None
    for cell in cells:
        same = [above is not None and cell.setting[: i + 1] == above[: i + 1] for i in range(len(cell.setting))]
        rows.append(
            {
                "cell": cell,
                "setting": list(zip(cell.setting, same, strict=True)),
                "marks": [marks[text] for text, _ in dict.fromkeys(_of_cell(cell)) if text in marks],
                "seeds": each_seed(cell.ours, cell.seeds) or ("1 seed" if cell.seeds else ""),
                "hours": written.hours(cell.hours),
            }
        )
        above = cell.setting
    return rows


def runs(table: Table) -> str:
    """Returns how many runs of a table are committed and what they cost, as a sentence. Empty if
    there are none."""
    if not table.runs:
        return ""
    cost = f"{written.hours(table.spent)} of two cores of the reference machine"
    return f"The committed runs ({table.runs}, variations included) cost about {cost}."


def _orders(orders: Sequence[Order]) -> list[tuple[Order, bool]]:
    """Returns the orders, with those of one place below each other, and whether the place is the
    same as in the row above."""
    places = list(dict.fromkeys(one.where for one in orders))
    found = sorted(orders, key=lambda order: places.index(order.where))
    return [(one, i > 0 and one.where == found[i - 1].where) for i, one in enumerate(found)]


def orders_on(orders: Sequence[Order]) -> dict[str, str]:
    """Returns what the orders are read off, each with a capital letter."""
    return {on: _letters(i).upper() for i, on in enumerate(dict.fromkeys(one.on for one in orders))}


def _varied(table: Table) -> list[View]:
    """Returns every cell of each variation, with its setting and what the seeds give."""
    cells = {cell.number: cell for cell in table.cells}
    return [
        {
            "name": variation.name,
            "cell": (cell := cells[one.number]),
            "setting": ", ".join(text for text in cell.setting if text),
            "ours": cell.ours if one.ours is None else one.ours,
            "seeds": one.seeds,
        }
        for variation in table.variations
        for one in variation.cells
    ]


def _claim(line: Theory) -> View:
    """Returns a line of theory, with what was expected of it in words."""
    expected, allowed = f"{line.expected:.4g}", f"{line.allowed:.2g}"
    wanted = f"at most {expected}" if line.kind == "bound" else written.plus_minus(expected, allowed)
    between = "{:.4g} to {:.4g}".format(*line.interval) if line.interval else ""
    return {"given": line, "wanted": wanted, "between": between}


def _figure(ident: str, figure: Figure) -> View:
    """Returns the picture of a figure, with what its legend says."""
    given, axis = figure.data, AXES[figure.data.axis]
    shown = [(chart.look_of(i), line) for i, line in enumerate(given.lines) if line.at]
    drawn = [chart.series(line.row, look, line.at, line.middle, line.low, line.high) for look, line in shown]
    end = max((line.at[-1] for line in drawn), default=0.0)
    return {
        "title": figure.name,
        "about": figure.about,
        "axis": axis,
        "ident": ident,
        "svg": Markup(chart.draw(drawn, chart.Picture(ident, figure.name, given.targets, axis))),
        "lines": [(line, line.at[-1] < end, True, line.mean[-1]) for line in drawn],
        "bands": bands(line.band for _, line in shown),
        "undrawn": [line.row for line in given.lines if not line.at],
    }
