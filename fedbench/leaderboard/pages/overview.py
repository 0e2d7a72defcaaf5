"""Makes the first page of a document, which says which rows are first at which point, and how sure
that is."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from fedbench.leaderboard.document import TITLES
from fedbench.leaderboard.heatmap import costs, times
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pages.scenario import parts, remarks
from fedbench.leaderboard.pictures import degradation
from fedbench.leaderboard.pictures.profiles import pictures


def render(site: Site, document: Mapping[str, Any]) -> str:
    """Returns the overview. If the document has one point, its curves and its table are on this
    page."""
    points = document["points"]
    axes = [(axis, len(list(several))) for axis, several in itertools.groupby(points, key=lambda point: point["axis"])]
    boards = [(kind, TITLES[kind], times(document, kind)) for kind in document["kinds"] if document["boards"][kind]]
    labels = [line.label for _, _, found in boards[:1] for group in found for line in group.lines]
    return site.page(
        "overview.html",
        site.places.overview(document["name"]),
        document=document,
        suite=document["suite"],
        points=points,
        axes=axes if any(axis for axis, _ in axes) else [],
        runs=len({run["run_id"] for row in _rows(document) for run in row["runs"]}),
        boards=boards if len(points) > 1 else [],
        costs=costs(document, boards[0][0]) if boards and document["suite"] and len(points) > 1 else [],
        degradations=degradation.pictures(document, boards[0][0], labels) if boards and document["suite"] else [],
        profiles=pictures(document["profiles"], boards[0][0], labels) if boards else [],
        **remarks(list(_rows(document))),
        alone=parts(site, document, points[0]["name"]) if len(points) == 1 else [],
    )


def _rows(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields all rows of a document. Two rows have the same runs if the tuned options are the
    published ones."""
    for of_kind in document["sections"].values():
        for section in of_kind.values():
            yield from section["rows"]
