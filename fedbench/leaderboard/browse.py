"""Makes the scripts from which the table and the comparison read all rows of all documents.

These are `data/rows.js` and one file of `data/curves` for each point. They are scripts and not
JSON, since a page that was opened from a file may not fetch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fedbench import written
from fedbench.documents.board import Standing
from fedbench.documents.section import Row, Section
from fedbench.documents.suite import TITLES, Document, Point
from fedbench.leaderboard import formats
from fedbench.leaderboard.cells import Cell, seen_at
from fedbench.leaderboard.columns import DECLARED, of_table, shortened
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pictures import bars
from fedbench.leaderboard.pictures.scales import DIGITS, LogScale

Flat = dict[str, object]


@dataclass(frozen=True)
class Said:
    """A field of a row: its value, by which rows are sorted and which is downloaded, and what a
    reader sees; for targets a text for each."""

    value: object
    text: str | list[str]


def rows(site: Site) -> list[Flat]:
    """Returns one flat row for each document, point, kind and label. Unknown values are None. What
    is not shown as it stands is `Said`."""
    return [row for document in site.documents for row in _of_document(site, document)]


def script(site: Site) -> str:
    """Returns `data/rows.js`. Its rows are lists in the order of `fields`, so that names are not
    repeated; `words` has by field what readers see, row by row; `names` has the full names of
    algorithms by label, `ticks` round numbers, from few to many, and `bar` what all bars share."""
    found = rows(site)
    fields = list(found[0]) if found else []
    boards = [board for document in site.documents for points in document.boards.values() for board in points.values()]
    content = {
        "fields": fields,
        "rows": [[value.value if isinstance(value := row[name], Said) else value for name in fields] for row in found],
        "words": {
            name: texts for name in fields if (texts := [said.text for row in found if isinstance(said := row[name], Said)])
        },
        "columns": [
            {name: getattr(one, name) for name in ("name", "title", "first", "is_number", "is_shown", "target")}
            for one in of_table(sorted({one.target for board in boards for row in board for one in row.targets}))
        ],
        "ticks": [[(one, written.tick(one, "s")) for one in LogScale(1e-3, 1e6).round(digits)] for digits in DIGITS],
        "bar": (bars.WIDTH, bars.HEIGHT, bars.TICK),
        "kinds": {kind: TITLES[kind] for document in site.documents for kind in document.kinds},
        "documents": {document.name: document.title for document in site.documents},
        "names": {one.label: one.full_name for document in site.documents for one in document.algorithms if one.full_name},
    }
    return f"window.fedbench = {json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(',', ':'))};\n"


def curves(site: Site, document: Document, point: Point) -> Iterator[tuple[str, str]]:
    """Yields the address and the script of a point's curves against virtual time. The script has
    them by label and kind."""
    found = {
        f"{row.label}/{kind}": row.curves["seconds"].model_dump(exclude={"band"}, exclude_defaults=True)
        for kind in document.kinds
        for row in document.rows(kind, point.name)
    }
    key = json.dumps(f"{document.name}/{point.name}")
    text = json.dumps(found, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    address = site.places.scenario(document.name, point.name).removesuffix(".html")
    yield f"data/curves/{address}.js", f"window.fedbenchCurves({key}, {text});\n"


def _of_document(site: Site, document: Document) -> Iterator[Flat]:
    for point in document.points:
        for kind in document.kinds:
            board, order = document.board(kind, point.name), document.systems(kind)
            known = seen_at(document, kind, point.name)
            ordered = _ordered(board, document.rows(kind, point.name), order)
            for i, row in enumerate(ordered):
                seen = known[row.label]
                yield {
                    "id": "/".join((document.name, point.name, row.label, kind)),
                    "page": site.places.record(document.name, point.name, row.label, kind),
                    "factor": point.axis,
                    "point_page": site.places.scenario(document.name, point.name),
                    "rules": document.suite.rules if document.suite else None,
                    "budget_seconds": point.budget_seconds,
                    **{column.name: _field(column.cell(seen)) for column in DECLARED},
                    **_of_standing(seen.standing, len(row.seeds)),
                    "against": _against(seen.standing, [one.label for one in ordered[i + 1 :]]),
                    **_of_row(row, seen.section),
                }


def _field(cell: Cell) -> object:
    """Returns what a cell says. A text says itself."""
    value = cell.worth
    if isinstance(value, str):
        return value
    return Said(shortened(value) if isinstance(value, int | float) and not isinstance(value, bool) else value, cell.text)


def _ordered(board: Mapping[str, Standing], rows: Sequence[Row], order: Sequence[str]) -> list[Row]:
    """Returns rows system by system from the cheapest to the dearest, and those without a system
    last."""
    places = {
        label: (order.index(one.group) if one.group in order else len(order), place)
        for place, (label, one) in enumerate(board.items())
    }
    return sorted(rows, key=lambda row: places.get(row.label, (len(order), len(board))))


def _of_standing(row: Standing | None, seeds: int) -> Flat:
    """Returns what a row of a board has beside its columns; nothing is known of one that is on
    none."""
    if row is None:
        return {"bar": None, "is_bound": False, "standing": "no board", "targets": Said([], []), "marks": []}
    return {
        "bar": None if row.ratio is None else bars.shape(row.ratio),
        "is_bound": row.is_bound,
        "standing": formats.on_board(row),
        "targets": Said(
            [[one.target, one.hits, shortened(one.median)] for one in row.targets],
            [written.reached(one.hits, seeds, one.median) for one in row.targets],
        ),
        "marks": row.marks,
    }


def _against(row: Standing | None, later: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the ratios of a row's cost to those of the rows of its system that follow it, and a
    letter for each: which one costs less, the first or the second, or tied, or open."""
    ratios = [] if row is None else [row.against[label] for label in later if label in row.against]
    letters = ["-" if one is None else one.verdict[0] if one.is_known else "o" for one in ratios]
    return "".join(letters), ["" if one is None else one.equation for one in ratios]


def _of_row(row: Row, section: Section) -> Flat:
    made = row.made
    return {
        "accuracy_half_width": shortened(row.measures["test_accuracy_at_horizon"].half_width),
        "seeds": row.seeds,
        "scenario_hash": section.hash,
        "commits": sorted({one.commit or "unknown" for one in made}),
        "trainers": sorted({str(one.trainer) for one in made}),
        "digests": [(run.digest or "")[:16] for run in row.runs],
        "command": row.command,
        "command_needs": row.command_needs,
    }
