"""A suite's overview as one HTML page: a pure function of its document."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from fedbench.leaderboard.heatmap import costs, times
from fedbench.leaderboard.page import environment
from fedbench.leaderboard.profile_chart import pictures

KINDS = {"tuned": "Tuned options", "published": "Published options"}


def render(document: Mapping[str, Any], pages: Mapping[str, str]) -> str:
    """Returns the page of a suite's document; the same document gives the same bytes. `pages`: by suite, the files of all pages."""
    markdown = MarkdownIt("commonmark", {"html": False})
    axes = [(axis, len(list(points))) for axis, points in itertools.groupby(document["points"], key=lambda point: point["axis"])]
    boards = [(kind, title, times(document, kind)) for kind, title in KINDS.items() if document["boards"][kind]]
    labels = [line.label for _, _, found in boards[:1] for group in found for line in group.lines]
    return (
        environment()
        .get_template("suite.html")
        .render(
            suite=document["suite"],
            pages=pages,
            points=[_point(document, point, markdown) for point in document["points"]],
            axes=axes,
            definitions=[Markup(markdown.renderInline(line)) for line in document["definitions"]],
            kind=boards[0][1].lower() if boards else "",
            sentences=[Markup(markdown.renderInline(line)) for line in document["sentences"]],
            boards=boards,
            costs=costs(document, boards[0][0]) if boards else [],
            profiles=pictures(document["profiles"], boards[0][0], labels) if boards else [],
            absent=document["absent"],
        )
    )


def _point(document: Mapping[str, Any], point: Mapping[str, Any], markdown: MarkdownIt) -> dict[str, Any]:
    """A point with its sentence as HTML and the rows of its boards, by the kind of options."""
    rows = {title: found for kind, title in KINDS.items() if (found := document["boards"][kind].get(point["name"], []))}
    return {**point, "sentence": Markup(markdown.renderInline(point["sentence"])), "rows": rows}
