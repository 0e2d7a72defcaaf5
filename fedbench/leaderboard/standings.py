"""Says how often each algorithm is the best, within the noise, and what it costs to always use
it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fedbench.documents.parts import Kind
from fedbench.documents.suite import Average, Document
from fedbench.leaderboard.decisions import compared

MOST = 7  # algorithms of a panel


@dataclass(frozen=True)
class Standing:
    """One algorithm.

    Attributes:
        label: its name.
        best: at how many points it is in the set of the best.
        average: what it costs to always use it. None if it does not have all points, or with too
            few seeds.
    """

    label: str
    best: int
    average: Average | None


@dataclass(frozen=True)
class Panel:
    """The algorithms with equally many clients at work. `points` is the number of points at which
    they are compared, and `more` the number of algorithms that are left out."""

    system: str
    points: int
    rows: tuple[Standing, ...]
    more: int


def panels(document: Document, kind: Kind, baseline: str = "") -> list[Panel]:
    """Returns a panel for every system in which algorithms are compared.

    It has those that are in the set of the best somewhere, at most MOST of them, and the baseline.
    Those that are in it most often come first, and then those with the smallest average.
    """
    found = []
    for system in compared(document, kind):
        at_points = [document.systems_at(kind, point.name) for point in document.points]
        groups = [found[system] for found in at_points if system in found]
        sets = [best for group in groups if (best := group.axes["seconds"].best)]
        averages = {one.row: one for one in document.averages_of(kind, system)}
        known = {label for group in groups for label in group.rows}
        rows = [Standing(label, sum(label in best for best in sets), averages.get(label)) for label in known]
        rows = sorted((row for row in rows if row.best or row.label == baseline), key=_place)
        shown = [row for i, row in enumerate(rows) if i < MOST or row.label == baseline]
        if sets:
            found.append(Panel(system, len(sets), tuple(shown), len(known) - len(shown)))
    return found


def _place(row: Standing) -> tuple[int, float, str]:
    return -row.best, row.average.ratio[0] if row.average else float("inf"), row.label


def headline(several: Sequence[Panel]) -> str:
    """Returns in a few words what the panels show together. One point is not everywhere."""
    everywhere = [row.label for one in several for row in one.rows if row.best == one.points > 1]
    if len(everywhere) == len(several) == 1:
        return f"{everywhere[0]} is among the best everywhere"
    return "Some algorithms are among the best everywhere" if everywhere else "No algorithm is the best everywhere"


def sentence(several: Sequence[Panel], at: str = "at", points: str = "points") -> str:
    """Returns in Markdown which algorithm is the best most often, by system; empty without panels.
    `at` and `points` are the words for where algorithms are compared."""
    return f"With {'; with '.join(_told(several, at, points))}." if several else ""


def _told(several: Sequence[Panel], at: str, points: str) -> Iterator[str]:
    for i, one in enumerate(several):
        most = one.rows[0].best
        first = [f"`{row.label}`" for row in one.rows if row.best == most]
        verb = "is" if len(first) == 1 else "are"
        what = f"{verb} the best, within the noise, {at} {most} of {one.points} {points}"
        again = f"{at} {most}" if one.points == several[0].points else f"{at} {most} of {one.points}"
        yield f"{one.system}, {listed(first)} {again if i else what}"


def listed(names: Sequence[str]) -> str:
    """Returns names as a text lists them: `a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
