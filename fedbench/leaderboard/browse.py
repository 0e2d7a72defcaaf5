"""Makes the scripts from which the table and the comparison read all rows of all documents.

These are `data/rows.js` and one file of `data/curves` for each point. They are scripts and not
JSON, since a page that was opened from a file may not fetch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fedbench import written
from fedbench.leaderboard import formats
from fedbench.leaderboard.cells import traffic
from fedbench.leaderboard.columns import Said, columns
from fedbench.leaderboard.document import TITLES, board_at, rows_at, systems
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pictures.scales import DIGITS, LogScale
from fedbench.leaderboard.sections import made_by
from fedbench.written import Ratio

NO_SYSTEM = "not compared"
"""What stands for the system of references, and of rows that are on no board."""


def rows(site: Site) -> list[dict[str, Any]]:
    """Returns one flat row for each document, point, kind and label. Unknown values are None. What
    is not shown as it stands is `Said`."""
    return [row for document in site.documents for row in _of_document(site, document)]


def script(site: Site) -> str:
    """Returns `data/rows.js`. Its rows are lists in the order of `fields`, so that names are not
    repeated; `words` has by field what readers see, row by row; `names` has the full names of
    algorithms by label, and `ticks` round numbers, from few to many."""
    found = rows(site)
    said = [name for name, value in found[0].items() if isinstance(value, Said)] if found else []
    boards = [board for document in site.documents for points in document["boards"].values() for board in points.values()]
    content = {
        "fields": list(found[0]) if found else [],
        "rows": [[value.value if isinstance(value, Said) else value for value in row.values()] for row in found],
        "words": {name: [row[name].text for row in found] for name in said},
        "columns": [
            vars(one) for one in columns(sorted({one["target"] for board in boards for row in board for one in row["targets"]}))
        ],
        "ticks": [[(one, written.tick(one, "s")) for one in LogScale(1e-3, 1e6).round(digits)] for digits in DIGITS],
        "kinds": {kind: TITLES[kind] for document in site.documents for kind in document["kinds"]},
        "documents": {document["name"]: document["title"] for document in site.documents},
        "names": {
            one["label"]: one["full_name"] for document in site.documents for one in document["algorithms"] if one["full_name"]
        },
    }
    return f"window.fedbench = {json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(',', ':'))};\n"


def curves(site: Site, document: Mapping[str, Any], point: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the address and the script of a point's curves against virtual time. The script has
    them by label and kind."""
    found = {
        f"{row['label']}/{kind}": {name: column for name, column in row["curves"]["seconds"].items() if name != "band"}
        for kind in document["kinds"]
        for row in rows_at(document, kind, point["name"])
    }
    key = json.dumps(f"{document['name']}/{point['name']}")
    text = json.dumps(found, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    address = site.places.scenario(document["name"], point["name"]).removesuffix(".html")
    yield f"data/curves/{address}.js", f"window.fedbenchCurves({key}, {text});\n"


def _of_document(site: Site, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    algorithms = {one["label"]: one for one in document["algorithms"]}
    for point in document["points"]:
        for kind in document["kinds"]:
            board, order = board_at(document, kind, point["name"]), systems(document, kind)
            ordered = _ordered(board, rows_at(document, kind, point["name"]), order)
            for i, row in enumerate(ordered):
                yield {
                    "id": "/".join((document["name"], point["name"], row["label"], kind)),
                    "page": site.places.record(document["name"], point["name"], row["label"], kind),
                    "suite": document["name"],
                    "point": point["name"],
                    "factor": point["axis"],
                    "point_page": site.places.scenario(document["name"], point["name"]),
                    "algorithm": row["label"],
                    "options_kind": kind,
                    **_of_algorithm(algorithms[row["label"]], document),
                    "budget_seconds": point["budget_seconds"],
                    **_of_standing(board.get(row["label"]), len(row["seeds"])),
                    "against": _against(board.get(row["label"]), [one["label"] for one in ordered[i + 1 :]]),
                    **_of_row(row, document["sections"][kind][point["name"]]),
                }


def _ordered(
    board: Mapping[str, Mapping[str, Any]], rows: Sequence[Mapping[str, Any]], order: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Returns rows system by system from the cheapest to the dearest, and those without a system
    last."""
    places = {
        label: (order.index(one["group"]) if one["group"] in order else len(order), place)
        for place, (label, one) in enumerate(board.items())
    }
    return sorted(rows, key=lambda row: places.get(row["label"], (len(order), len(board))))


def _of_algorithm(algorithm: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "family": algorithm["family"],
        "public_data": _yes("public_data" in algorithm["requires"]),
        "clients_remember": _yes(algorithm["clients_remember"]),
        "rules": document["suite"]["rules"] if document["suite"] else None,
    }


def _of_standing(row: Mapping[str, Any] | None, seeds: int) -> dict[str, Any]:
    """Returns what a row of a board says; a row that is on none has no system."""
    if row is None:
        unknown = ("cost", "solved", "regret", "gradients_to_targets", "bytes_to_targets", "at_work")
        return {"system": NO_SYSTEM, **dict.fromkeys(unknown, Said(None, written.NONE)), "is_bound": False,
                "in_set": Said(False, "no board"), "standing": "no board", "targets": Said([], []), "marks": []}  # fmt: skip
    gradients, sent = (row["axes"].get(axis, {}).get("cost") for axis in ("gradient_evaluations", "bytes"))
    regret, in_set = row["regret"] if row["against"] else None, row["is_best"] and bool(row["against"])
    standing = formats.on_board(row)
    return {
        "system": row["group"] or NO_SYSTEM,
        "cost": Said(_short(row["cost"]), formats.cost(row)),
        "solved": _said(row["solved"], written.percent),
        "regret": Said(
            None if regret is None else [_short(value) for value in regret],
            written.NONE if regret is None else " ".join(Ratio.of(regret).parts).strip(),
        ),
        "gradients_to_targets": Said(_short(gradients), formats.cost(row, "gradient_evaluations")),
        "bytes_to_targets": Said(_short(sent), formats.cost(row, "bytes")),
        "at_work": _said(row["under_way"]),
        "is_bound": row["is_bound"],
        "in_set": Said(in_set, f"{written.BEST} yes" if in_set else "no" if standing == "behind the best" else standing),
        "standing": standing,
        "targets": Said(
            [[one["target"], one["hits"], _short(one["median"])] for one in row["targets"]],
            [written.reached(one["hits"], seeds, one["median"]) for one in row["targets"]],
        ),
        "marks": row["marks"],
    }


def _against(row: Mapping[str, Any] | None, later: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the ratios of a row's cost to those of the rows of its system that follow it, and a
    letter for each: which one costs less, the first or the second, or tied, or open."""
    found = [] if row is None else [row["against"][label] for label in later if label in row["against"]]
    ratios = [None if numbers is None else Ratio.of(numbers) for numbers in found]
    letters = ["-" if one is None else one.verdict[0] if one.is_known else "o" for one in ratios]
    return "".join(letters), ["" if one is None else one.equation for one in ratios]


def _yes(value: bool | None) -> Said:
    return Said(value, written.NONE if value is None else "yes" if value else "no")


def _said(value: float | None, write: Callable[[float | None], str] = written.number) -> Said:
    return Said(_short(value), write(value))


def _mean(value: float | None) -> str:
    return written.accuracy(value, None)


def _of_row(row: Mapping[str, Any], section: Mapping[str, Any]) -> dict[str, Any]:
    means = {name: value["mean"] for name, value in row["measures"].items()}
    accuracy = row["measures"]["test_accuracy_at_horizon"]
    made = made_by(row)
    wall: list[Any] = [one.get("wall_seconds") for one in made]
    return {
        "accuracy": Said(_short(accuracy["mean"]), formats.interval(accuracy)),
        "accuracy_half_width": _short(accuracy["half_width"]),
        "final_accuracy": _said(means["test_accuracy"], _mean),
        "worst_clients": _said(means["client_accuracy_worst_decile"], _mean),
        "updates": _said(means["updates"]),
        "gradients": _said(means["gradient_evaluations"]),
        "steps": _said(means["trained_steps"]),
        "bytes": _said(traffic(means), written.size),
        "staleness": _said(means["staleness_mean"]),
        "busy": _said(means["busy_fraction"], written.percent),
        "wall_seconds": _said(sum(wall) / len(wall) if all(one is not None for one in wall) else None),
        "outcomes": formats.outcomes(row["outcomes"]),
        "validity": row["validity"],
        "seeds": row["seeds"],
        "scenario_hash": section["hash"],
        "commits": sorted({str(one.get("commit") or "unknown") for one in made}),
        "trainers": sorted({str(one.get("trainer")) for one in made}),
        "options": " ".join(f"{name}={formats.option(value)}" for name, value in sorted(row["algorithm"]["options"].items())),
        "digests": [(run["digests"].get("result") or "")[:16] for run in row["runs"]],
        "command": row["command"],
        "command_needs": row["command_needs"],
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
