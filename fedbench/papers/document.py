"""Makes the document of a paper: its tables with verdicts, orders and variations, what its theorems
give, and where its equations are in the code.

The pages of the site and of docs/papers are made from documents and compute nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from fedbench import bibliography, written
from fedbench.documents.paper import KINDS, VERDICTS, Kind, Order, Outcome, Paper, Table, Variation, Varied, Verdict, with_seeds
from fedbench.documents.paper import Cell as Shown
from fedbench.papers import alignment, experiment, parts
from fedbench.papers.cells import PAPERS, Cell, chosen, tables
from fedbench.papers.compared import picture
from fedbench.papers.curves import curves
from fedbench.papers.judging import lies_within
from fedbench.papers.orders_of_convergence import BESIDE, Claims
from fedbench.papers.price import spent
from fedbench.papers.reading import Find, read_varied
from fedbench.papers.rules import VERSION
from fedbench.papers.runs import used
from fedbench.papers.verdicts import Ordered, all_verdicts, orders
from fedbench.papers.verdicts import Verdict as Judged
from fedbench.refusals import refused_in


@refused_in("paper: more or other than a site shows")
def document(paper: str, find: Find, claims: Claims, root: Path | None = None) -> Paper:
    """Returns the document of a paper.

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
    known = None if root is None else alignment.load(PAPERS[paper])
    return Paper(
        number=paper,
        key=PAPERS[paper],
        cited=found.short,
        title=found.title,
        venue=found.venue,
        link=found.link,
        claim=experiment.experiments(paper).claim,
        said=experiment.experiments(paper).said,
        rules=VERSION,
        counts=counts_by_kind(verdicts),
        stand_ins=sum(one.word == "not run" and bool(one.readings) for one in verdicts),
        orders=Counter(one.order for one in ordered if not one.substitute),
        stand_in_orders=Counter(one.order for one in ordered if one.substitute),
        tables=tuple(_table(several, verdicts, ordered, find) for several in tables(chosen(paper)).values()),
        theory=tuple(line for name in BESIDE[paper] for line in claims.get(name, ())),
        figures=tuple(curves(paper, find)),
        alignment=tuple(known.located(root)) if known and root else (),
        errata=known.errata if known else (),
        unprinted=known.unprinted if known else (),
    )


def counts_by_kind(verdicts: Sequence[Judged]) -> dict[Kind, dict[Verdict, int]]:
    """Returns how often each verdict occurs among measured results, constants and rates of
    convergence. A kind without numbers is left out. They are never added up."""
    found = {kind: _counts(one.word for one in verdicts if experiment.table(one.cell).kind == kind) for kind in KINDS}
    return {kind: counts for kind, counts in found.items() if counts}


def _counts(words: Iterable[Verdict]) -> dict[Verdict, int]:
    """Returns how often each verdict occurs, in the order of VERDICTS and without zeros."""
    counts = Counter(words)
    return {word: counts[word] for word in VERDICTS if counts[word]}


def _table(cells: Sequence[Cell], verdicts: Sequence[Judged], ordered: Sequence[Ordered], find: Find) -> Table:
    table, address = experiment.table(cells[0]), cells[0].of
    mine = [one for one in verdicts if one.cell in cells]
    keys, made = differing(cells), used(experiment.ways(cells), find, varied=True)
    return Table(
        name=cells[0].table,
        address=address,
        about=table.about,
        kind=table.kind,
        command=f"fedbench reproduce {address}",
        counts=_counts(one.word for one in mine),
        runs=len(made),
        spent=spent(made),
        columns=tuple(keys),
        cells=tuple(_cell(one, keys) for one in mine),
        orders=tuple(_order(one, keys) for one in ordered if one.first.of == address),
        variations=tuple(_variation(one, mine, find) for one in table.variations),
        explained=tuple(table.explained),
        picture=picture(mine),
    )


def differing(cells: Sequence[Cell]) -> list[str]:
    """Returns the keys in which the cells of a table differ, which are its columns. The algorithm
    comes before the metric."""
    keys = dict.fromkeys(key for cell in cells for key in cell.known)
    return [key for key in keys if len({str(cell.known.get(key)) for cell in cells}) > 1]


def _cell(one: Judged, keys: Sequence[str]) -> Shown:
    return Shown(
        number=one.cell.number,
        setting=tuple(_text(one.cell.known.get(key)) for key in keys),
        printed=one.cell.text,
        ours=ours(one),
        on=one.stood_in[0].cell.stand_in if one.substitute else "",
        seeds=tuple(reading.text for reading in one.readings.values()),
        verdict=one.word,
        why=" ".join(filter(None, (one.why, *_stood_in(one)))),
        guesses=one.guesses,
        substitute=one.substitute,
        note=one.cell.note,
        command=one.command,
        hours=one.hours,
        steps=None if one.price is None else one.price.steps,
    )


def _stood_in(one: Judged) -> Iterator[str]:
    """Yields what was measured on everything that stands in, of which only orders are read off. Of
    the first, whose numbers are the cell's, it is the target alone."""
    for n, found in enumerate(one.stood_in):
        targets = experiment.spec(found.cell, 0).scenario.targets if not found.cell.is_accuracy else ()
        goal = f"{100 * targets[0].value:.4g} %" if targets else ""
        if n or not one.substitute:
            yield f"On {found.cell.stand_in}{f' (target {goal})' * bool(goal)}: {_with_seeds(found)}."
        elif goal:
            yield f"The target on {found.cell.stand_in} is {goal}."


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else f"{value}"


def ours(one: Judged) -> str:
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


def _order(one: Ordered, keys: Sequence[str]) -> Order:
    a, b = one.first.known, one.second.known
    where = [_text(a.get(key)) for key in keys if key != one.differs_in and a.get(key) == b.get(key)]
    return Order(
        where=", ".join(filter(None, where)), printed=one.text, order=one.order, seeds=one.seeds, substitute=one.substitute
    )


def _variation(one: parts.Variation, judged: Sequence[Judged], find: Find) -> Variation:
    """Returns a variation with the readings of every cell that it is about, and what became of
    it."""
    rows, are_there = [], list[bool | None]()
    for each in judged:
        cell = each.cell
        way = next((way for way in experiment.ways([cell]) if one in experiment.variations(way)), None)
        if way is not None:
            readings = [read.reading for read in read_varied(way, one, find)]
            seeds = tuple(reading.text for reading in readings if reading)
            rows.append(Varied(number=cell.number, printed=cell.text, ours=_without(each, one.stand_in), seeds=seeds))
            bands = [band for band in one.expects if cell.matches(band.where)]
            are_there += [
                lies_within(reading, cell.amount, band.low, band.high) if reading else None
                for band in bands
                for reading in readings
            ]
    settings = tuple(f"{key} = {json.dumps(value)}" for key, value in {**one.set, **one.options}.items())
    settings += (one.algorithm,) if one.algorithm else ()
    outcome = _outcome(are_there) if one.expects else None
    return Variation(name=one.name, about=one.about, shows=one.shows, outcome=outcome, set=settings, cells=tuple(rows))


def _without(one: Judged, stand_in: str) -> str | None:
    """Returns what a cell has on what a variation is run on; None if it is the cell's own
    number."""
    for n, found in enumerate(one.stood_in):
        if found.cell.stand_in == stand_in:
            return None if one.substitute and n == 0 else _with_seeds(found)
    return "not run" if stand_in else None


def _with_seeds(one: Judged) -> str:
    """Returns our number, and what each seed gave if there are several."""
    return with_seeds(ours(one), [reading.text for reading in one.readings.values()])


def _outcome(are_there: Sequence[bool | None]) -> Outcome:
    """Returns what became of a variation, by whether each reading lies where it was declared."""
    if False in are_there:
        return "not as declared"
    return "not known yet" if None in are_there or not are_there else "as declared"
