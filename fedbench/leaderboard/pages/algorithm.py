"""Makes the page of an algorithm: what it is, and how it stands at every point of every
document."""

from __future__ import annotations

from collections.abc import Mapping
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
    """Returns the rows of an algorithm at all points of a document."""
    rows = [
        {
            "point": point,
            "kind": TITLES[kind],
            "page": site.places.record(document["name"], point["name"], label, kind),
            "row": row,
            "standing": board_at(document, kind, point["name"]).get(label),
        }
        for point in document["points"]
        for kind in document["kinds"]
        for row in rows_at(document, kind, point["name"])
        if row["label"] == label
    ]
    rows = [{**row, "bar": bar(row["standing"]) if row["standing"] else ""} for row in rows]
    targets = sorted({one["target"] for row in rows if row["standing"] for one in row["standing"]["targets"]})
    return {"document": document, "rows": rows, "targets": targets}


def _sensitivities(document: Mapping[str, Any], label: str) -> list[dict[str, Any]]:
    """Returns the pictures of the options that were tuned, point by point."""
    known: Mapping[str, Any] = next((one["sensitivity"] for one in document["algorithms"] if one["label"] == label), {})
    return [{"title": f"{document['title']}, {point}", "pictures": pictures(found)} for point, found in known.items()]
