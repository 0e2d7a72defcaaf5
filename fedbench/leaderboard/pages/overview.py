"""Makes the first page of a document, which says which rows cost least at which point, and how sure
that is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from fedbench.documents.parts import Kind
from fedbench.documents.section import Row
from fedbench.documents.suite import TITLES, Document, Point
from fedbench.leaderboard import mapped, standings
from fedbench.leaderboard.decisions import decisions
from fedbench.leaderboard.heatmap import System, heat, heat_of
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pages.scenario import parts, remarks
from fedbench.leaderboard.pictures.profiles import pictures
from fedbench.leaderboard.pictures.standings import pictures as drawn

BASELINE = "fedavg"
"""The algorithm that readers know, which is shown beside the best ones."""


def render(site: Site, document: Document) -> str:
    """Returns the overview. If the document has one point, its curves and its table are on this
    page."""
    points = document.points
    axes = _axes(points)
    boards = [(kind, TITLES[kind], heat(document, kind)) for kind in document.kinds if document.boards[kind]]
    labels = list(dict.fromkeys(label for _, _, found in boards[:1] for system in found for label, _ in system.lines))
    is_summed_up = bool(boards) and len(points) > 1 and document.map is None
    panels = standings.panels(document, boards[0][0], BASELINE) if is_summed_up else []
    return site.page(
        "overview.html",
        site.places.overview(document.name),
        document=document,
        suite=document.suite,
        points=points,
        axes=axes if any(axis for axis, _ in axes) else [],
        runs=len({run.run_id for row in _rows(document) for run in row.runs}),
        boards=boards if len(points) > 1 and document.map is None else [],
        by_system=_by_system(document, boards[0][0]) if boards and document.map else [],
        map=mapped.view(document) if document.map else None,
        boards_kind=boards[0][0] if boards else "",
        boards_title=boards[0][1] if boards else "",
        decided=decisions(document, boards[0][0]) if boards and len(points) > 1 else None,
        sentence=standings.sentence(panels),
        headline=standings.headline(panels),
        panels=drawn(panels),
        baseline=BASELINE,
        profiles=pictures(document.profiles, boards[0][0], labels) if boards else [],
        **remarks(list(_rows(document))),
        alone=parts(site, document, points[0].name) if len(points) == 1 else [],
    )


def _by_system(document: Document, kind: Kind) -> list[tuple[str, list[Point], list[tuple[str, int]], list[System]]]:
    """Returns the regrets of every system at the points that have it, since points of a design
    differ in their clients at work."""
    found = []
    for system in document.systems(kind):
        points, lines = heat_of(document, kind, system)
        found.append((system, points, _axes(points), lines))
    return found


def _axes(points: Sequence[Point]) -> list[tuple[str, int]]:
    """Returns the headings of neighbouring points, with how many these are."""
    return [(axis, len(list(several))) for axis, several in itertools.groupby(points, key=lambda point: point.axis)]


def _rows(document: Document) -> Iterator[Row]:
    """Yields all rows of a document. Two rows have the same runs if the tuned options are the
    default ones."""
    for of_kind in document.sections.values():
        for section in of_kind.values():
            yield from section.rows
