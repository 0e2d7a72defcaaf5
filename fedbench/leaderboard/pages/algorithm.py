"""Makes the page of an algorithm: what it is, and how it stands at every point of every
document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fedbench.leaderboard.document import TITLES, board_at, rows_at
from fedbench.leaderboard.pages.catalogue import entry
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pages.papers import using
from fedbench.leaderboard.pictures.bars import bar
from fedbench.leaderboard.pictures.sensitivity import pictures


def labels(site: Site) -> list[str]:
    """Returns the labels of all documents in alphabetical order."""
    return sorted({one["label"] for document in site.documents for one in document["algorithms"]})


def render(site: Site, label: str) -> str:
    """Returns the page of an algorithm."""
    known = [one for document in site.documents for one in document["algorithms"] if one["label"] == label]
    return site.page(
        "algorithm.html",
        site.places.algorithm(label),
        label=label,
        given=known[0],
        entry=entry(known[0]["facts"]) if known[0]["facts"] else None,
        sensitivities=[one for document in site.documents for one in _sensitivities(document, label)],
        printed=using(site, label, known[0]),
        tables=[one for document in site.documents if (one := _table(site, document, label))["rows"]],
    )


def index(site: Site) -> str:
    """Returns the list of algorithms."""
    known = {one["label"]: one for document in reversed(site.documents) for one in document["algorithms"]}
    entries = [(known[label], entry(known[label]["facts"]) if known[label]["facts"] else None) for label in labels(site)]
    return site.page("algorithms.html", "algorithms.html", entries=entries)


def _table(site: Site, document: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Returns the rows of an algorithm at all points of a document, each point with one row for
    each kind of options."""
    points = [
        {"point": point, "rows": rows}
        for point in document["points"]
        if (rows := [row for kind in document["kinds"] for row in _rows(site, document, point, kind, label)])
    ]
    rows = [row for one in points for row in one["rows"]]
    targets = sorted({one["target"] for row in rows if row["standing"] for one in row["standing"]["targets"]})
    systems = {row["standing"]["group"] for row in rows if row["standing"]}
    return {
        "document": document,
        "points": points,
        "rows": rows,
        "targets": targets,
        "has_systems": len(systems) > 1,
        "has_more": len(rows) > len(points),
    }


def _rows(site: Site, document: Mapping[str, Any], point: Mapping[str, Any], kind: str, label: str) -> Iterator[dict[str, Any]]:
    standing = board_at(document, kind, point["name"]).get(label)
    for row in rows_at(document, kind, point["name"]):
        if row["label"] == label:
            yield {
                "kind": TITLES[kind],
                "page": site.places.record(document["name"], point["name"], label, kind),
                "row": row,
                "standing": standing,
                "is_best": bool(standing and standing["is_best"] and standing["against"]),
                "bar": bar(standing) if standing else "",
            }


def _sensitivities(document: Mapping[str, Any], label: str) -> list[dict[str, Any]]:
    """Returns the pictures of the options that were tuned, point by point."""
    known: Mapping[str, Any] = next((one["sensitivity"] for one in document["algorithms"] if one["label"] == label), {})
    return [{"title": f"{document['title']}, {point}", "pictures": pictures(found)} for point, found in known.items()]
