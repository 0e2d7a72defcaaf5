"""Makes the scripts from which the table and the comparison read all rows of all documents.

These are `data/rows.js` and one file of `data/curves` for each point. They are scripts and not
JSON, since a page that was opened from a file may not fetch.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fedbench.leaderboard import formats
from fedbench.leaderboard.cells import traffic
from fedbench.leaderboard.document import TITLES, board_at, rows_at, systems
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.sections import made_by

NO_SYSTEM = "not compared"
"""What stands for the system of references, and of rows that are on no board."""


def rows(site: Site) -> list[dict[str, Any]]:
    """Returns one flat row for each document, point, kind and label. Unknown values are None."""
    return [row for document in site.documents for row in _of_document(site, document)]


def script(site: Site) -> str:
    """Returns `data/rows.js`. Its rows are lists in the order of `fields`, so that names are not
    repeated; `names` has the full names of algorithms by label."""
    found = rows(site)
    content = {
        "fields": list(found[0]) if found else [],
        "rows": [list(row.values()) for row in found],
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
            for row in _ordered(board, rows_at(document, kind, point["name"]), order):
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
                    **_of_standing(board.get(row["label"])),
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
        "public_data": "public_data" in algorithm["requires"],
        "clients_remember": algorithm["clients_remember"],
        "rules": document["suite"]["rules"] if document["suite"] else None,
    }


def _of_standing(row: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns what a row of a board says; a row that is on none has no system."""
    if row is None:
        unknown = ("cost", "solved", "regret", "gradients_to_targets", "bytes_to_targets", "at_work")
        return {"system": NO_SYSTEM, **dict.fromkeys(unknown), "is_bound": False, "in_set": False, "standing": "no board",
                "targets": [], "against": {}, "marks": []}  # fmt: skip
    gradients, sent = (row["axes"].get(axis, {}).get("cost") for axis in ("gradient_evaluations", "bytes"))
    return {
        "system": row["group"] or NO_SYSTEM,
        "cost": _short(row["cost"]),
        "solved": _short(row["solved"]),
        "regret": _ratio(row["regret"]) if row["against"] else None,
        "gradients_to_targets": _short(gradients),
        "bytes_to_targets": _short(sent),
        "at_work": _short(row["under_way"]),
        "is_bound": row["is_bound"],
        "in_set": row["is_best"] and bool(row["against"]),
        "standing": formats.on_board(row),
        "targets": [[one["target"], one["hits"], one["median"]] for one in row["targets"]],
        "against": {label: _ratio(found) for label, found in row["against"].items()},
        "marks": row["marks"],
    }


def _ratio(found: Sequence[float | None] | None) -> list[float | None] | None:
    return None if found is None else [None if value is None else float(f"{value:.6g}") for value in found]


def _of_row(row: Mapping[str, Any], section: Mapping[str, Any]) -> dict[str, Any]:
    measures = row["measures"]
    means = {name: _short(value["mean"]) for name, value in measures.items()}
    made = made_by(row)
    wall: list[Any] = [one.get("wall_seconds") for one in made]
    return {
        "accuracy": means["test_accuracy_at_horizon"],
        "accuracy_half_width": _short(measures["test_accuracy_at_horizon"]["half_width"]),
        "final_accuracy": means["test_accuracy"],
        "worst_clients": means["client_accuracy_worst_decile"],
        "updates": means["updates"],
        "gradients": means["gradient_evaluations"],
        "steps": means["trained_steps"],
        "bytes": _short(traffic(means)),
        "staleness": means["staleness_mean"],
        "busy": means["busy_fraction"],
        "wall_seconds": _short(sum(wall) / len(wall)) if all(one is not None for one in wall) else None,
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
