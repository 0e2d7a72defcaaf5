"""Makes the document of a paper: its tables with verdicts, orders and variations, what its theorems
give, and where its equations are in the code, all as plain data.

The pages of the site and of docs/papers are made from documents and compute nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fedbench import bibliography, written
from fedbench.papers import alignment, experiment
from fedbench.papers.cells import PAPERS, Cell, chosen, tables
from fedbench.papers.curves import curves
from fedbench.papers.orders_of_convergence import BESIDE, Claims
from fedbench.papers.price import spent
from fedbench.papers.reading import Find, read_varied
from fedbench.papers.rules import KINDS, VERSION, WORDS
from fedbench.papers.runs import used
from fedbench.papers.verdicts import Ordered, Verdict, all_verdicts, orders


def document(paper: str, find: Find, claims: Claims, root: Path | None = None) -> dict[str, Any]:
    """Returns the document of a paper, which can be written as JSON.

    Args:
        paper: its number.
        find: finds a committed record.
        claims: the committed lines of `fedbench theory`.
        root: the repository, whose code is quoted beside the paper. None leaves the code out, as an
            installed package must, since it has no C++.
    """
    found = bibliography.paper(PAPERS[paper])
    verdicts = all_verdicts(chosen(paper), find, claims)
    ordered = list(orders(verdicts))
    return {
        "number": paper,
        "key": PAPERS[paper],
        "cited": found.short,
        "title": found.title,
        "venue": found.venue,
        "link": found.link,
        "claim": experiment.experiments(paper).claim,
        "rules": VERSION,
        "counts": counts_by_kind(verdicts),
        "stand_ins": sum(map(is_read_off_a_substitute, verdicts)),
        "orders": dict(Counter(one.order for one in ordered if not one.substitute)),
        "stand_in_orders": dict(Counter(one.order for one in ordered if one.substitute)),
        "tables": [_table(several, verdicts, ordered, find) for several in tables(chosen(paper)).values()],
        "curves": [one.as_dict() for one in curves(paper, find)],
        "theory": [dict(line) for name in BESIDE[paper] for line in claims.get(name, ())],
        **({} if root is None else aligned(PAPERS[paper], root)),
    }


def aligned(key: str, root: Path) -> dict[str, list[dict[str, Any]]]:
    """Returns where a paper's places are in the code, its errata, and what it does not print."""
    known = alignment.load(key)
    return {
        "alignment": [_place(one) for one in known.located(root)],
        "errata": [
            {"place": one.place, "printed": one.printed, "meant": one.meant, "why": one.why, "file": one.where_we_follow}
            for one in known.errata
        ],
        "unprinted": [asdict(one) for one in known.unprinted],
    }


def _place(one: alignment.Located) -> dict[str, Any]:
    row = one.row
    said = {"place": row.place, "says": row.says}
    if row.not_code:
        return {**said, "not_code": row.not_code}
    return {**said, "file": row.file, "first": one.first, "last": one.last, "holds": row.holds}


def counts_by_kind(verdicts: Sequence[Verdict]) -> dict[str, dict[str, int]]:
    """Returns how often each verdict occurs among measured results, constants and rates of
    convergence. A kind without numbers is left out. They are never added up."""
    found = {kind: _counts(one.word for one in verdicts if experiment.table(one.cell).kind == kind) for kind in KINDS}
    return {kind: counts for kind, counts in found.items() if counts}


def is_read_off_a_substitute(one: Verdict) -> bool:
    """Returns whether a cell is not run, and what stands in for it is."""
    return one.word == "not run" and bool(one.readings)


def _counts(words: Iterable[str]) -> dict[str, int]:
    """Returns how often each verdict occurs, in the order of WORDS and without zeros."""
    counts = Counter(words)
    return {word: counts[word] for word in WORDS if counts[word]}


def _table(cells: Sequence[Cell], verdicts: Sequence[Verdict], ordered: Sequence[Ordered], find: Find) -> dict[str, Any]:
    table, address = experiment.table(cells[0]), cells[0].of
    mine = [one for one in verdicts if one.cell in cells]
    keys, made = differing(cells), used(cells, find, varied=True)
    return {
        "name": cells[0].table,
        "address": address,
        "about": table.about,
        "kind": table.kind,
        "command": f"fedbench reproduce {address}",
        "counts": _counts(one.word for one in mine),
        "runs": len(made),
        "spent": spent(made),
        "columns": keys,
        "cells": [_cell(one, keys) for one in mine],
        "orders": [_order(one, keys) for one in ordered if one.first in cells],
        "variations": [_variation(one, cells, find) for one in table.variations],
        "explained": list(table.explained),
    }


def differing(cells: Sequence[Cell]) -> list[str]:
    """Returns the keys in which the cells of a table differ, which are its columns. The algorithm
    comes before the metric."""
    keys = dict.fromkeys(key for cell in cells for key in cell.known)
    return [key for key in keys if len({str(cell.known.get(key)) for cell in cells}) > 1]


def _cell(one: Verdict, keys: Sequence[str]) -> dict[str, Any]:
    return {
        "number": one.cell.number,
        "setting": [_text(one.cell.known.get(key)) for key in keys],
        "printed": one.cell.text,
        "ours": ours(one),
        "seeds": [reading.text for reading in one.readings.values()],
        "verdict": one.word,
        "why": one.why,
        "guesses": list(one.guesses),
        "substitute": one.substitute,
        "note": one.cell.note,
        "command": one.command,
        "hours": one.hours,
        "steps": None if one.price is None else one.price.steps,
    }


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value}"


def ours(one: Verdict) -> str:
    """Returns our number for a cell, as text.

    A measured number is the mean over seeds with its interval; `>` says that a seed missed the
    target. If all seeds diverge there is nothing to write but that. Without a number it is the
    verdict's `ours`, which may be empty.
    """
    if one.mean is None:
        return one.ours
    if not one.readings:
        return written.exact(one.mean)
    if all(reading.diverged for reading in one.readings.values()):
        return "diverged"
    bound = written.BEYOND if any(reading.missed for reading in one.readings.values()) else ""
    return bound + written.measured(one.mean, one.half_width)


def _order(one: Ordered, keys: Sequence[str]) -> dict[str, Any]:
    a, b = one.first.known, one.second.known
    where = [_text(a.get(key)) for key in keys if key != one.differs_in and a.get(key) == b.get(key)]
    return {
        "where": ", ".join(text for text in where if text),
        "printed": one.text,
        "order": one.order,
        "seeds": one.seeds,
        "substitute": one.substitute,
    }


def _variation(one: experiment.Variation, cells: Sequence[Cell], find: Find) -> dict[str, Any]:
    """Returns a variation with the readings of every cell that it is about."""
    rows = []
    for cell in cells:
        if cell.matches(one.where):
            seeds = [read.reading.text for read in read_varied(cell, one, find) if read.reading is not None]
            rows.append({"number": cell.number, "printed": cell.text, "seeds": seeds})
    settings = [f"{key} = {json.dumps(value)}" for key, value in {**one.set, **one.options}.items()]
    return {"name": one.name, "about": one.about, "set": settings, "cells": rows}
