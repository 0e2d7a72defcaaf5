"""Writes the page of a paper in docs/papers, in Markdown, from the paper's document."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from fedbench import written
from fedbench.documents.paper import ORDERS, Cell, Figure, Order, Paper, Table, Theory, Variation, said, with_seeds
from fedbench.figures.tables.markdown import escaped
from fedbench.leaderboard.pages.paper import orders_on, runs
from fedbench.leaderboard.pages.papers import sentences, stand_in
from fedbench.leaderboard.pages.reasons import of_bare
from fedbench.leaderboard.verdicts import SIGNS
from fedbench.papers import alignment_page
from fedbench.papers.declared import spans
from fedbench.papers.rules import ENDS, IN_SHORT
from fedbench.suites.findings.markdown import table

FEW = 30
"""A table of facts of configuration is folded if it has more cells than this."""

W = TypeVar("W", bound=str)


def page(document: Paper) -> str:
    """Returns the page of a document, which must have the paper's places in the code."""
    used = {cell.verdict for one in document.tables for cell in one.cells} | {
        row.order for one in document.tables for row in one.orders
    }
    rules = "\n".join(f"* {SIGNS[word]} {word}: {meaning}" for word, meaning in IN_SHORT.items() if word in used)
    head = [
        f"# {document.cited}",
        f"{document.title}. {document.venue}." + (f" <{document.link}>" if document.link else ""),
        f"**The claim.** {document.claim}",
        f"**What comes out.** {document.said}",
        "\n".join(f"* {line}" for line in (*sentences(document), stand_in(document.stand_ins)) if line),
        f"<details><summary>What the words mean</summary>\n\n{rules}\n\n{ENDS}\n\n</details>",
        "Made by `fedbench reproduce --write` from the records in `results/papers`.",
    ]
    parts = [*head, *(_table(one) for one in document.tables), *_figures(document.figures), *_theory(document.theory)]
    return "\n\n".join(parts) + "\n\n" + alignment_page.markdown(document)


def _in_words(counts: Mapping[W, int]) -> str:
    """Returns counts such as `3 close, 1 not run`."""
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def _table(one: Table) -> str:
    parts = [f"## Table {one.name.removeprefix('T')}", one.about]
    if any(cell.command for cell in one.cells):
        parts.append(f"`{one.command}`")
    if made := runs(one):
        parts.append(made)
    if one.picture is not None:
        parts += [f"![Table {one.name.removeprefix('T')}, printed and ours]({one.picture.file})", escaped(one.picture.about)]
    parts += [*_cells(one), *_notes(one.cells), *_explained(one.explained), *_orders(one.orders), *_variations(one)]
    return "\n\n".join(parts)


def _cells(one: Table) -> Iterator[str]:
    """Yields the cells that we have something of, and those that are not run."""
    if one.shown:
        rows = _rows(one, one.shown)
        folded = one.kind == "configuration" and len(one.shown) > FEW
        yield _folded(f"{len(one.shown)} cells: {_in_words(one.counts)}", rows) if folded else rows
    if one.bare:
        yield _folded(f"{len(one.bare)} cells that are not run. {of_bare(one.bare)}", _rows(one, one.bare))


def _folded(summary: str, cells: str) -> str:
    return f"<details><summary>{html.escape(summary, quote=False)}</summary>\n\n{cells}\n\n</details>"


def _rows(one: Table, cells: Sequence[Cell]) -> str:
    columns = [name.replace("_", " ") for name in one.columns]
    rows = [
        (
            f"{cell.number}",
            *map(escaped, cell.setting),
            escaped(cell.printed),
            escaped(" ".join(filter(None, (with_seeds(cell.ours, cell.seeds), cell.on and f"on {cell.on}")))),
            f"{SIGNS[cell.verdict]} {cell.verdict}",
            escaped(_why(cell)),
        )
        for cell in cells
    ]
    return table(("Cell", *columns, "Printed", "Ours", "Verdict", "Why"), rows)


def _why(cell: Cell) -> str:
    """Returns the reason of a verdict, with the price where nothing was run."""
    if cell.verdict == "not run" and cell.hours:
        return f"{cell.why} About {cell.steps:.2g} steps a seed, {written.hours(cell.hours)} of two cores in all."
    return cell.why


def _orders(orders: Sequence[Order]) -> list[str]:
    """Returns the orders. Where they are read off several data sets, each of these has a letter."""
    if not orders:
        return []
    letters = orders_on(orders)
    rows = [
        (row.where, row.printed, f"{SIGNS[row.order]} {said(row.order, row.substitute)}", f"{row.seeds}", letters[row.on])
        for row in orders
    ]
    wide = 5 if len(letters) > 1 else 4
    head = ("Where", "Printed", "Ours", "Seeds", "On")[:wide]
    keys = "\n".join(f"* On {letter}: {escaped(on)}" for on, letter in letters.items())
    counts = {word: sum(row.order == word for row in orders) for word in ORDERS}
    told = f"Orders of two numbers: {_in_words({word: count for word, count in counts.items() if count})}."
    return [told, *([keys] if wide == 5 else []), table(head, [tuple(map(escaped, row[:wide])) for row in rows])]


def _notes(cells: Sequence[Cell]) -> list[str]:
    """Returns what is guessed, what stands in for something, and what has to be known of the print.
    Every sentence appears once, with the cells that it is about."""
    found: dict[str, list[int]] = {}
    for cell in cells:
        for sentence in filter(None, (*cell.guesses, cell.substitute, cell.note)):
            found.setdefault(sentence, []).append(cell.number)
    lines = [f"* {_spans(numbers)}: {escaped(sentence)}" for sentence, numbers in found.items()]
    return ["Not printed, or otherwise than printed:", "\n".join(lines)] if lines else []


def _spans(numbers: Sequence[int]) -> str:
    """Returns the numbers of cells in words, such as `Cells 1-3, 7`."""
    return f"Cell{'s' * (len(numbers) > 1)} {spans(numbers).replace(',', ', ')}"


def _explained(lines: Sequence[str]) -> list[str]:
    return ["### Why the numbers differ", "\n".join(f"* {escaped(line)}" for line in lines)] if lines else []


def _variations(one: Table) -> list[str]:
    if not one.variations:
        return []
    ours = {cell.number: with_seeds(cell.ours, cell.seeds) for cell in one.cells}
    rows = [
        (
            varied.name,
            f"{cell.number}",
            cell.printed,
            ours[cell.number] if cell.ours is None else cell.ours,
            ", ".join(cell.seeds) or "not run",
        )
        for varied in one.variations
        for cell in varied.cells
    ]
    return [
        "### What was varied",
        "One thing is set otherwise at a time (`--vary`). No verdict comes from it.",
        "\n".join(f"* {varied.name}: {escaped(_declared(varied))}" for varied in one.variations),
        table(("Varied", "Cell", "Printed", "Ours", "Ours with it"), [tuple(map(escaped, row)) for row in rows]),
    ]


def _declared(varied: Variation) -> str:
    """Returns what is set otherwise, what that was to show, and what became of it."""
    words = f"{varied.about} Declared: {varied.shows}" if varied.shows else varied.about
    return f"{words} Outcome: {varied.outcome}." if varied.outcome else words


def _figures(figures: Sequence[Figure]) -> list[str]:
    if not figures:
        return []
    head = ["## Figures", "The paper's own figures are pictures and not in our copy of it, so ours stand alone."]
    return [*head, *(f"![{one.name}]({one.file})\n\n{escaped(one.about)}" for one in figures)]


def _theory(lines: Sequence[Theory]) -> list[str]:
    if not lines:
        return []
    rows = [
        (
            line.claim,
            line.check,
            f"{line.measured:.4g}{' of a decrease' * (line.sign < 0)}{_interval(line)}",
            _expected(line),
            "holds" if line.holds else "FAILS",
        )
        for line in lines
    ]
    head = ("Claim", "Check", "Measured", "Expected", "")
    return ["## What the theorems say, measured", "`fedbench theory`", table(head, [tuple(map(escaped, row)) for row in rows])]


def _interval(line: Theory) -> str:
    return f" {written.interval(*line.interval, '.3g')}" if line.interval else ""


def _expected(line: Theory) -> str:
    expected = f"{line.expected:.4g}"
    return f"<= {expected}" if line.kind == "bound" else written.plus_minus(expected, f"{line.allowed:.2g}")
