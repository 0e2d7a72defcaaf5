"""Makes the page of a scenario: its facts, its boards, the curves of its rows against every axis,
and the table of its rows."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup, escape

from fedbench import written
from fedbench.analysis.axes import AXES, Axis
from fedbench.documents.parts import Kind
from fedbench.documents.section import Row, Section
from fedbench.documents.suite import TITLES, Document, Point
from fedbench.leaderboard import formats
from fedbench.leaderboard.cells import Cell, seen_at
from fedbench.leaderboard.columns import of_page
from fedbench.leaderboard.pages.frame import Site, View, inline
from fedbench.leaderboard.pictures import chart
from fedbench.leaderboard.pictures.labels import label_map
from fedbench.leaderboard.systems import boards

BANDS = {
    "t": "bands: 95 % t-interval",
    "range": "bands: lowest to highest seed (fewer than five seeds)",
    "none": "one seed: no band",
}
AFTER = 1.1
"""How far a picture goes on after the last run reached its last target, as a factor."""
BOLD = 8
"""How many lines stand out at first, since more cannot be told apart. The others are grey until a
click."""


def render(site: Site, document: Document, point: Point) -> str:
    """Returns the page of a point of a document."""
    address = site.places.scenario(document.name, point.name)
    names = [one.name for one in document.points]
    i = names.index(point.name)
    return site.page(
        "scenario.html",
        address,
        document=document,
        point=point,
        told=named_in(site, point.sentence),
        before=names[i - 1] if i else None,
        after=names[i + 1] if i + 1 < len(names) else None,
        parts=parts(site, document, point.name),
        labels=label_map(found) if (found := document.labels.get(point.name)) else "",
        **remarks([row for kind in document.kinds for row in document.rows(kind, point.name)]),
    )


def named_in(site: Site, text: str) -> Markup:
    """Returns a line of Markdown as HTML, with the full names of algorithms beside their code
    names."""

    def with_name(found: re.Match[str]) -> str:
        full = site.places.full_name(html.unescape(found[1]))
        return f"{escape(full)} {found[0]}" if full else found[0]

    return Markup(re.sub("<code>([^<]*)</code>", with_name, inline(text)))


def remarks(rows: Sequence[Row]) -> dict[str, bool]:
    """Returns what a page has to explain, because of its rows."""
    return {"flattered": any(row.flattered for row in rows), "losses": any(row.loses_jobs for row in rows)}


def parts(site: Site, document: Document, point: str) -> list[View]:
    """Returns what the template needs of every kind of row at a point. The first kind is open, and
    the others are folded."""
    kinds = {kind: _ordered(document, point, kind) for kind in document.kinds if point in document.sections[kind]}
    labels = dict.fromkeys(row.label for rows in kinds.values() for row in rows)
    looks = {label: chart.look_of(i) for i, label in enumerate(labels)}
    return [_part(site, document, point, kind, rows, looks) for kind, rows in kinds.items()]


def _ordered(document: Document, point: str, kind: Kind) -> list[Row]:
    """Returns the rows with the smallest ratios to the best first, and references last. The first
    rows are drawn in colours of their own."""
    board = document.board(kind, point)
    place = {label: (one.ratio.value if one.ratio else 1.0, i) for i, (label, one) in enumerate(board.items())}
    return sorted(
        document.rows(kind, point),
        key=lambda row: (row.algorithm.reference, place.get(row.label, (math.inf, 0)) if board else ()),
    )


def _part(
    site: Site,
    document: Document,
    point: str,
    kind: Kind,
    rows: Sequence[Row],
    looks: Mapping[str, chart.Look],
) -> View:
    scenario, axis = document.sections[kind][point], document.axis
    board = document.board(kind, point)
    shown = list(of_page(scenario, axis, has_board=bool(board)))
    seen = seen_at(document, kind, point)
    cells = {row.label: [column.cell(seen[row.label]) for column in shown] for row in rows}
    by_cost = _sorted(rows, {label: of[1] for label, of in cells.items()}, shown[1].first)
    figures = [
        _figure(f"chart-{kind}-{one.name}", scenario, rows, looks, one, axis)
        for one in sorted(AXES.values(), key=lambda one: one.name != axis.name)
        if all(one.name in row.curves for row in rows) and (kind == document.kinds[0] or one.name == axis.name)
    ]
    return {
        "kind": kind,
        "title": TITLES[kind],
        "is_folded": kind != document.kinds[0],
        "compared_at": written.place(at, axis.unit) if (at := scenario.horizon.at) is not None else "",
        "given": scenario,
        "facts": _facts(scenario, axis),
        "boards": boards(document, kind, point),
        "pages": {row.label: site.places.record(document.name, point, row.label, kind) for row in rows},
        "off_board": [(row.label, row.off_board) for row in rows if row.off_board],
        "columns": shown,
        "figures": [figure for figure in figures if figure["lines"]],
        "rows": [(row, cells[row.label]) for row in by_cost],
        "flattered": [row.label for row in by_cost if row.flattered],
        "early": [note for row in by_cost for note in _early(row)],
        "undrawn": [row.label for row in by_cost if not row.curves[axis.name].at],
    }


def _sorted(rows: Sequence[Row], cells: Mapping[str, Cell], first: str) -> list[Row]:
    """Returns the rows by the cells of a column, as its first click sorts them: without a value
    last."""
    known = [row for row in rows if cells[row.label].sort is not None]
    known.sort(key=lambda row: float(cells[row.label].sort or 0), reverse=first == "descending")
    return [*known, *(row for row in rows if cells[row.label].sort is None)]


def _figure(
    ident: str,
    scenario: Section,
    rows: Sequence[Row],
    looks: Mapping[str, chart.Look],
    axis: Axis,
    compared_on: Axis,
) -> View:
    """Returns the picture of all rows against one axis. If accuracies are compared on this axis, a
    mark shows where, and the picture is cut to where something happens."""
    lines = [chart.series(row.label, looks[row.label], *row.curves[axis.name].columns) for row in rows]
    drawn = [line for line in lines if line.at]
    end = max((line.at[-1] for line in drawn), default=0.0)
    title = f"{scenario.full_name}: test accuracy against {axis.words}"
    is_compared = axis.name == compared_on.name
    horizon = scenario.horizon.at if is_compared else None
    until = last_reached(rows, scenario, end) if is_compared else None
    bold = frozenset(line.name for line in drawn[:BOLD])
    keys = [(line, line.at[-1] < end, line.name in bold, line.mean[-1]) for line in drawn]
    return {
        "axis": axis,
        "ident": ident,
        "svg": Markup(chart.draw(drawn, chart.Picture(ident, title, scenario.goals, axis, horizon, until), bold)),
        "lines": keys,
        "bands": bands(row.curves[axis.name].band for row in rows),
        "cut": cut(until, end, axis, horizon),
    }


def cut(until: float | None, end: float, axis: Axis, horizon: float | None) -> str:
    """Returns in words where a picture ends, if that is before the end of the runs."""
    if until is None:
        return ""
    why = (
        "where accuracies are compared"
        if horizon and f"{until:.3g}" == f"{horizon:.3g}"
        else "a little after the last run reached its last target"
    )
    return f"The picture ends at {written.place(until, axis.unit)}, {why}; the runs go on until {written.place(end, axis.unit)}."


def last_reached(rows: Sequence[Row], scenario: Section, end: float) -> float | None:
    """Returns a place a little after the last run of some rows reached its last target. If one
    missed a target, it is not before accuracies are compared. None if there is no such place before
    the end of the runs."""
    targets = [one for row in rows if not row.algorithm.reference for one in row.to_target]
    reached = [place for one in targets for place in one.reached if place is not None]
    if not reached:
        return None
    last = AFTER * max(reached)
    if not all(one.hits == one.total for one in targets):
        last = max(last, scenario.horizon.at or end)
    return float(f"{last:.3g}") if last < end / AFTER else None


def bands(kinds: Iterable[str]) -> str:
    """Returns in words what the bands of some lines are."""
    return "; ".join(BANDS[kind] for kind in sorted(set(kinds), reverse=True))


def _facts(scenario: Section, axis: Axis) -> list[tuple[str, str]]:
    counts = sorted({len(row.seeds) for row in scenario.rows})
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    task = " · ".join(filter(None, (scenario.task, scenario.model)))
    clients = written.NONE if scenario.clients is None else f"{scenario.clients:,}"
    facts = [("Task", task), ("Clients", clients), ("Budget", formats.budget(scenario.budget))]
    facts += [("Targets", formats.targets(scenario.goals)), ("Seeds per row", seeds)]
    return [*facts, ("Accuracy is compared at", formats.horizon(scenario.horizon, axis))]


def _early(row: Row) -> list[str]:
    """Returns the seeds that did not finish, since a mean curve stops with them."""
    broken = [run for run in row.runs if run.outcome.state != "finished"]
    return [f"{row.label}: seed {run.seed} {run.outcome.state}" for run in broken]
