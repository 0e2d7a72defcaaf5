"""Makes the scripts from which the table and the comparison read all rows of all documents.

These are `data/rows.js` and one file of `data/curves` for each point. They are scripts and not
JSON, since a page that was opened from a file may not fetch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from fedbench import written
from fedbench.documents.board import AXES, Standing
from fedbench.documents.section import Row, Section
from fedbench.documents.suite import TITLES, Document, Entrant, Point
from fedbench.leaderboard import formats
from fedbench.leaderboard.cells import traffic
from fedbench.leaderboard.columns import Said, columns
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pictures import bars
from fedbench.leaderboard.pictures.scales import DIGITS, LogScale
from fedbench.written import Ratio

NO_SYSTEM = "not compared"
"""What stands for the system of references, and of rows that are on no board."""

Flat = dict[str, object]


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
            vars(one) for one in columns(sorted({one.target for board in boards for row in board for one in row.targets}))
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
    algorithms = {one.label: one for one in document.algorithms}
    for point in document.points:
        for kind in document.kinds:
            board, order = document.board(kind, point.name), document.systems(kind)
            ordered = _ordered(board, document.rows(kind, point.name), order)
            for i, row in enumerate(ordered):
                yield {
                    "id": "/".join((document.name, point.name, row.label, kind)),
                    "page": site.places.record(document.name, point.name, row.label, kind),
                    "suite": document.name,
                    "point": point.name,
                    "factor": point.axis,
                    "point_page": site.places.scenario(document.name, point.name),
                    "algorithm": row.label,
                    "options_kind": kind,
                    **_of_algorithm(algorithms[row.label], document),
                    "budget_seconds": point.budget_seconds,
                    **_of_standing(board.get(row.label), len(row.seeds)),
                    "against": _against(board.get(row.label), [one.label for one in ordered[i + 1 :]]),
                    **_of_row(row, document.sections[kind][point.name]),
                }


def _ordered(board: Mapping[str, Standing], rows: Sequence[Row], order: Sequence[str]) -> list[Row]:
    """Returns rows system by system from the cheapest to the dearest, and those without a system
    last."""
    places = {
        label: (order.index(one.group) if one.group in order else len(order), place)
        for place, (label, one) in enumerate(board.items())
    }
    return sorted(rows, key=lambda row: places.get(row.label, (len(order), len(board))))


def _of_algorithm(algorithm: Entrant, document: Document) -> Flat:
    return {
        "family": algorithm.family,
        "public_data": _yes("public_data" in (algorithm.facts or algorithm).requires),
        "clients_remember": _yes(algorithm.facts.clients_remember if algorithm.facts else None),
        "rules": document.suite.rules if document.suite else None,
    }


def _of_standing(row: Standing | None, seeds: int) -> Flat:
    """Returns what a row of a board says; a row that is on none has no system."""
    if row is None:
        unknown = ("cost", "solved", "regret", "gradients_to_targets", "bytes_to_targets", "at_work")
        return {"system": NO_SYSTEM, **dict.fromkeys(unknown, Said(None, written.NONE)), "bar": None, "is_bound": False,
                "in_set": Said(False, "no board"), "standing": "no board", "targets": Said([], []), "marks": []}  # fmt: skip
    gradients, sent = (row.axes[axis].cost if axis in row.axes else None for axis in AXES[1:])
    regret, standing = row.ratio, formats.on_board(row)
    return {
        "system": row.group or NO_SYSTEM,
        "cost": Said(_short(row.cost), formats.cost(row)),
        "solved": _said(row.solved, written.percent),
        "regret": Said(None, written.NONE) if regret is None else Said(_numbers(regret), " ".join(regret.parts).strip()),
        "bar": None if regret is None else bars.shape(regret),
        "gradients_to_targets": Said(_short(gradients), formats.cost(row, "gradient_evaluations")),
        "bytes_to_targets": Said(_short(sent), formats.cost(row, "bytes")),
        "at_work": _said(row.under_way),
        "is_bound": row.is_bound,
        "in_set": Said(
            row.is_ahead, f"{written.BEST} yes" if row.is_ahead else "no" if standing == "behind the best" else standing
        ),
        "standing": standing,
        "targets": Said(
            [[one.target, one.hits, _short(one.median)] for one in row.targets],
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


def _yes(value: bool | None) -> Said:
    return Said(value, written.NONE if value is None else "yes" if value else "no")


def _said(value: float | None, write: Callable[[float | None], str] = written.number) -> Said:
    return Said(_short(value), write(value))


def _mean(value: float | None) -> str:
    return written.accuracy(value, None)


def _of_row(row: Row, section: Section) -> Flat:
    means, made, accuracy = row.means, row.made, row.measures["test_accuracy_at_horizon"]
    wall = [one.wall_seconds for one in made if one.wall_seconds is not None]
    return {
        "accuracy": Said(_short(accuracy.mean), formats.interval(accuracy)),
        "accuracy_half_width": _short(accuracy.half_width),
        "final_accuracy": _said(means["test_accuracy"], _mean),
        "worst_clients": _said(means["client_accuracy_worst_decile"], _mean),
        "updates": _said(means["updates"]),
        "gradients": _said(means["gradient_evaluations"]),
        "steps": _said(means["trained_steps"]),
        "bytes": _said(traffic(means), written.size),
        "staleness": _said(means["staleness_mean"]),
        "busy": _said(means["busy_fraction"], written.percent),
        "wall_seconds": _said(sum(wall) / len(wall) if len(wall) == len(made) else None),
        "outcomes": formats.outcomes(row.outcomes),
        "validity": row.validity,
        "seeds": row.seeds,
        "scenario_hash": section.hash,
        "commits": sorted({one.commit or "unknown" for one in made}),
        "trainers": sorted({str(one.trainer) for one in made}),
        "options": " ".join(f"{name}={formats.option(value)}" for name, value in sorted(row.algorithm.options.items())),
        "digests": [(run.digest or "")[:16] for run in row.runs],
        "command": row.command,
        "command_needs": row.command_needs,
    }


def _numbers(ratio: Ratio) -> list[float | None]:
    return [_short(value) for value in ratio.numbers or ()]


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
