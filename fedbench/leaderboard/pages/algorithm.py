"""Makes the page of an algorithm: what it is, and how it stands at every point of every
document."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from fedbench.documents.board import Standing
from fedbench.documents.section import Row
from fedbench.documents.suite import TITLES, Document, Point
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pages.papers import using
from fedbench.leaderboard.pictures.sensitivity import pictures


def labels(site: Site) -> list[str]:
    """Returns the labels of all documents in alphabetical order."""
    return sorted({one.label for document in site.documents for one in document.algorithms})


def render(site: Site, label: str) -> str:
    """Returns the page of an algorithm."""
    known = [one for document in site.documents for one in document.algorithms if one.label == label]
    return site.page(
        "algorithm.html",
        site.places.algorithm(label),
        label=label,
        given=known[0],
        sensitivities=[one for document in site.documents for one in _sensitivities(document, label)],
        printed=using(site, label, known[0]),
        tables=[one for document in site.documents if (one := _table(site, document, label))["points"]],
    )


def index(site: Site) -> str:
    """Returns the list of algorithms."""
    known = {one.label: one for document in reversed(site.documents) for one in document.algorithms}
    return site.page("algorithms.html", "algorithms.html", entries=[known[label] for label in labels(site)])


def _table(site: Site, document: Document, label: str) -> dict[str, object]:
    """Returns the rows of an algorithm at all points of a document, each point with one row for
    each kind of options."""
    points = [several for point in document.points if (several := list(_lines(site, document, point, label)))]
    lines = [line for several in points for line in several]
    standings = [standing for *_, standing in lines if standing]
    return {
        "document": document,
        "points": points,
        "targets": sorted({one.target for standing in standings for one in standing.targets}),
        "has_systems": len({standing.group for standing in standings}) > 1,
        "has_more": len(lines) > len(points),
    }


def _lines(site: Site, document: Document, point: Point, label: str) -> Iterator[tuple[Point, str, str, Row, Standing | None]]:
    """Yields the rows of an algorithm at a point: the point, the kind of options, the address of
    its page, the row, and its standing on the board if there is one."""
    for kind in document.kinds:
        for row in document.rows(kind, point.name):
            if row.label == label:
                page = site.places.record(document.name, point.name, label, kind)
                yield point, TITLES[kind], page, row, document.board(kind, point.name).get(label)


def _sensitivities(document: Document, label: str) -> list[tuple[str, list[tuple[str, Markup]]]]:
    """Returns the pictures of the options that were tuned, point by point."""
    known = next((one.sensitivity for one in document.algorithms if one.label == label), {})
    return [(f"{document.title}, {point}", pictures(found)) for point, found in known.items()]
