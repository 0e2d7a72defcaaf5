"""What `fedbench reproduce` prints of the papers' numbers: verdicts, variations and prices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fedbench.cli.output import print_json, print_table, say, show
from fedbench.documents.paper import KINDS, ORDERS, Kept
from fedbench.documents.paper import Verdict as Word
from fedbench.papers import cells as papers
from fedbench.papers import experiment
from fedbench.papers.cells import Cell
from fedbench.papers.declared import declared, left_out, spans
from fedbench.papers.document import counts_by_kind, differing, ours
from fedbench.papers.price import spent
from fedbench.papers.reading import Find, read_varied
from fedbench.papers.verdicts import Verdict, orders
from fedbench.results.record import Record


def tell(verdicts: Sequence[Verdict], *, as_json: bool) -> None:
    """Prints the verdicts on the cells, and those on the order of the algorithms."""
    ordered = list(orders(verdicts))
    if as_json:
        print_json(*(one.as_dict() for one in verdicts), *(one.as_dict() for one in ordered))
        return
    for of, several in papers.tables(one.cell for one in verdicts).items():
        keys = differing(papers.chosen(of))
        rows = [_row(one, keys) for one in verdicts if one.cell in several]
        print_table(of, ("cell", "setting", "printed", "ours", "verdict", "hours of two cores", "why"), rows)
    for kind, words in counts_by_kind(verdicts).items():
        say(_counted(KINDS[kind].lower(), words))
    for name, standing_in in (("orders of two measured results", False), ("orders read off what stands in", True)):
        found = Counter(one.order for one in ordered if bool(one.substitute) is standing_in)
        if found:
            say(_counted(name, {word: found[word] for word in ORDERS if found[word]}))


def tell_variations(chosen: Sequence[Cell], find: Find, *, as_json: bool) -> None:
    """Prints what every variation of the cells gives, seed by seed, beside the printed number."""
    found = [
        (cell, one, [read.reading.text for read in read_varied(cell, one, find) if read.reading is not None])
        for cell in chosen
        for one in experiment.variations(cell)
    ]
    if as_json:
        print_json(
            *({"cell": cell.name, "variation": one.name, "about": one.about, "readings": texts} for cell, one, texts in found)
        )
    elif found:
        rows = [(one.name, cell.name, cell.text, ", ".join(texts) or "not run", one.about) for cell, one, texts in found]
        print_table("variations, from which no verdict comes", ("variation", "cell", "printed", "by seed", "about"), rows)


def tell_prices(chosen: Sequence[Cell], find: Find, *, as_json: bool) -> None:
    """Prints what is declared and has no record, and what is left out by its price."""
    wanted, left = list(declared(chosen, find)), list(left_out(chosen))
    if as_json:
        return print_json(*(one.as_dict() for one in (*wanted, *left)))
    if wanted:
        columns = ("runs of", "cells", "runs", "core hours", "what they would show", "command")
        rows = [(one.name, spans(one.cells), f"{one.runs}", f"{one.core_hours:.2g}", one.shows, one.command) for one in wanted]
        print_table("declared, without a record", columns, rows)
        say(f"{sum(one.runs for one in wanted)} runs, about {sum(one.core_hours for one in wanted):.3g} hours of one core in all")
    else:
        say("nothing that is declared for these cells lacks a record")
    if left:
        others = [(one.name, spans(one.cells), f"{one.runs}", f"{one.core_hours:.2g}", one.shows) for one in left]
        print_table("left out, one seed of each", ("runs of", "cells", "runs", "core hours", "why"), others)
    return None


def _counted(name: str, words: Mapping[Word, int] | Mapping[Kept, int]) -> str:
    """Returns counts such as `measured results: 1 close, 2 not run`."""
    return f"{name}: {', '.join(f'{count} {word}' for word, count in words.items())}"


def tell_costs(made: Sequence[Record]) -> None:
    """Shows what committed runs cost; nothing if there are none."""
    if made:
        cost = f"{spent(made):.2g} hours of two cores of the reference machine"
        show(f"the committed runs ({len(made)}, variations included) cost about {cost}")


def _row(one: Verdict, keys: Sequence[str]) -> tuple[str, ...]:
    return (
        str(one.cell.number),
        ", ".join(str(one.cell.known[key]) for key in keys if one.cell.known.get(key) is not None),
        one.cell.text,
        ours(one),
        one.word,
        "" if one.hours is None else f"{one.hours:.2g}",
        one.why,
    )
