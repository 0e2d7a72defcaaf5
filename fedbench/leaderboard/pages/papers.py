"""Makes the page of all papers whose printed numbers were made again. Also finds the papers that an
algorithm is from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from markupsafe import Markup

from fedbench.documents.paper import KINDS, ORDERS, Kept, Kind, Paper, Table, Verdict
from fedbench.documents.suite import Entrant
from fedbench.leaderboard.pages.frame import Site, View
from fedbench.leaderboard.pictures.shares import shares
from fedbench.leaderboard.standings import listed
from fedbench.leaderboard.verdicts import MEASURED, OF_KIND

RULES: Mapping[str, float] = {"version": 2, "low": 0.85, "high": 1.18, "points": 1.5, "fewest": 3, "factor": 1.2, "limit": 2}
"""The numbers of `fedbench.papers.rules`, by which the documents were made, for the words of the
page. A test compares them."""
W = TypeVar("W", bound=str)


def ordered(paper: Paper) -> tuple[tuple[str, Mapping[Kept, int]], ...]:
    """Returns the counts of a paper's orders, each with a name."""
    return ("Orders of two measured results", paper.orders), ("Orders read off what stands in", paper.stand_in_orders)


def index(site: Site) -> str:
    """Returns the page of all papers, with the rules of the verdicts."""
    counts = {kind: [paper.counts.get(kind, {}) for paper in site.papers] for kind in KINDS}
    tables = [_by_paper(site, KINDS["runs"], OF_KIND["runs"], counts["runs"])]
    tables += [_by_paper(site, one[0][0], ORDERS, [of for _, of in one]) for one in zip(*map(ordered, site.papers), strict=True)]
    return site.page(
        "papers.html",
        "papers.html",
        papers=site.papers,
        tables=sum(len(paper.tables) for paper in site.papers),
        kinds=kinds({kind: _sum(several) for kind, several in counts.items()}),
        by_paper=[one for one in tables if one["rows"]],
        stand_in=stand_in(sum(paper.stand_ins for paper in site.papers)),
        rules=RULES,
    )


def _sum(counts: Sequence[Mapping[W, int]]) -> dict[W, int]:
    """Returns how often each word occurs in all of some counts."""
    return dict(sum(map(Counter, counts), Counter[W]()))


def _by_paper(site: Site, name: str, words: Sequence[W], counts: Sequence[Mapping[W, int]]) -> View:
    """Returns a table of counts with a row for each paper that has any. Its columns are the words
    that occur, and for measured results also those that could have."""
    whole = _sum(counts)
    shown = [word for word in words if whole.get(word) or word in MEASURED]
    rows = [(paper, of) for paper, of in zip(site.papers, counts, strict=True) if any(of.values())]
    return {"name": name, "words": shown, "rows": rows, "whole": whole}


@dataclass(frozen=True)
class Counted:
    """The numbers of one kind, such as measured results.

    Attributes:
        kind: the kind's key.
        name: its name.
        counts: how often each verdict occurs. Of measured results, that none is reproduced is
            shown.
        printed: how many numbers the papers print.
        measured: how many of them were measured again.
        bar: the shares of measured results or of constants as a picture; empty for rates.
        sentence: the counts in words.
    """

    kind: Kind
    name: str
    counts: Mapping[Verdict, int]
    printed: int
    measured: int
    bar: Markup
    sentence: str


def kinds(counts: Mapping[Kind, Mapping[Verdict, int]]) -> list[Counted]:
    """Returns the counts of the kinds that have numbers. They stand side by side and are never
    added up."""
    found = []
    for kind, name in KINDS.items():
        known = counts.get(kind, {})
        measured = sum(known.get(word, 0) for word in MEASURED)
        mine = {word: known.get(word, 0) for word in OF_KIND[kind] if known.get(word) or (measured and word in MEASURED)}
        printed, bar = sum(mine.values()), Markup() if kind == "theory" else shares(mine)
        found.append(Counted(kind, name, mine, printed, measured, bar, _sentence(kind, mine, printed, measured)))
    return [one for one in found if one.printed]


def _sentence(kind: Kind, counts: Mapping[Verdict, int], printed: int, measured: int) -> str:
    """Returns the counts of a kind in words."""
    if kind == "configuration":
        return _of(printed, "printed constant", counts, " of configuration")
    if kind == "theory":
        return _of(printed, "printed rate", counts, " of convergence")
    if not measured:
        return f"None of {_count(printed, 'printed result')} {_was(printed)} measured again."
    told = _told({word: counts[word] for word in MEASURED if counts.get(word)})
    return f"{measured} of {_count(printed, 'printed result')} {_was(measured)} measured again: {told}."


def _of(whole: int, noun: str, counts: Mapping[W, int], more: str = "") -> str:
    """Returns `All 20 printed rates agree.`, or `Of 20 printed rates, 3 agree and 17 are not
    run.`"""
    told = _told(counts)
    if len(counts) == 1 and whole > 1:
        return f"All {_count(whole, noun)}{more}{told.removeprefix(f'{whole}')}."
    return f"Of {_count(whole, noun)}{more}, {told}."


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' if count != 1 else ''}"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


VERBS = {"agrees": ("agrees", "agree"), "differs": ("differs", "differ")}
"""The verdicts that are verbs. The others stand behind `is` and `are`."""


def _told(counts: Mapping[W, int]) -> str:
    """Returns counts as `3 are close, 1 agrees and 2 are not run`."""
    forms = {word: VERBS.get(word, (f"is {word}", f"are {word}"))[count != 1] for word, count in counts.items() if count}
    return listed([f"{counts[word]} {form}" for word, form in forms.items()])


def sentences(paper: Paper) -> Iterator[str]:
    """Yields what of a paper was made again, and what came out: kind by kind, and the orders."""
    yield from (one.sentence for one in kinds(paper.counts))
    for orders, what in (
        (paper.orders, "two measured results"),
        (paper.stand_in_orders, "results on data that stand in for the paper’s"),
    ):
        counts = {word: orders[word] for word in ORDERS if orders.get(word)}
        if counts:
            yield _of(sum(counts.values()), "order", counts, f" of {what}")


def stand_in(cells: int) -> str:
    """Returns a sentence on so many numbers that are not run but on what stands in; empty for
    none."""
    if not cells:
        return ""
    one = cells == 1
    of = f"{cells} of those not run {'is' if one else 'are'} run on a data set that stands in for the paper's"
    return f"{of}; only orders are read off {'it' if one else 'them'}."


def using(site: Site, label: str, given: Entrant) -> list[View]:
    """Returns the papers that an algorithm is from, or whose tables name it. They are {paper,
    tables}, where `tables` are the names of the tables that name the algorithm."""
    name = label.partition("[")[0]
    keys = {source.key for source in given.facts.sources} if given.facts else set()
    found = []
    for paper in site.papers:
        tables = [table.name for table in paper.tables if name in _algorithms(table)]
        if tables or paper.key in keys:
            found.append({"paper": paper, "tables": tables})
    return found


def _algorithms(table: Table) -> set[str]:
    """Returns the algorithms of a table's cells, with the names that the registry has for them."""
    if "algorithm" not in table.columns:
        return set()
    place = table.columns.index("algorithm")
    return {cell.setting[place].lower().replace("-", "_") for cell in table.cells}
