"""Writes a document as one table, `data/NAME.csv`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from fedbench.leaderboard.document import board_at, rows_at


def flat_rows(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns one flat row for each point, kind and algorithm, with the columns of the CSV. Unknown
    values are None."""
    return [
        _flat(data, point["name"], kind, row)
        for point in data["points"]
        for kind in data["kinds"]
        for row in rows_at(data, kind, point["name"])
    ]


def as_csv(data: Mapping[str, Any]) -> str:
    """Returns `flat_rows` as CSV. Points with different targets share one header, and a column that
    does not apply to a row is empty."""
    rows = flat_rows(data)
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _flat(data: Mapping[str, Any], point: str, kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
    axis, scenario = data["axis"]["name"], data["sections"][kind][point]
    flat: dict[str, Any] = {
        "note": data["note"],
        "point": point,
        "scenario": scenario["name"],
        "settings": " ".join(scenario["settings"]),
        "scenario_hash": scenario["hash"],
        "task": scenario["task"]["name"],
        "model": scenario["task"].get("model"),
        "algorithm": row["label"],
        "kind": kind,
        "selector": row["selector"],
        "options": json.dumps(row["algorithm"]["options"], sort_keys=True),
        "validity": row["validity"],
        "flattered_by_public_data": row["flattered"],
        "seeds": " ".join(map(str, row["seeds"])),
        "outcomes": _counts(row["outcomes"]),
        "ended_by": _counts(row["ended_by"]),
        **_standing(board_at(data, kind, point).get(row["label"])),
        "off_board": row["off_board"],
        "axis": axis,
        "horizon": scenario["horizon"]["at"],
        "left_out": row["left_out"],
        **{f"accuracy_{name}": value for name, value in row["accuracy"].items()},
    }
    for name, value in row["measures"].items():
        flat |= {f"{name}_{part}": value[part] for part in ("mean", "std", "half_width", "n")}
    flat["staleness_max"] = row["staleness_max"]
    for one in row["to_target"]:
        stem = f"{axis}_to_{one['metric']}_{one['target']}"
        flat |= {f"{stem}_{name}": one[name] for name in ("median", "hits", "total", "beyond", "lower_bound")}
        flat[f"{stem}_restricted_mean"] = one["restricted_mean"]["mean"]
    return flat | {"command": row["command"], "command_needs": row["command_needs"]}


def _standing(found: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the columns of a row of a board; none without it."""
    if found is None:
        return {}
    return {
        "system": found["group"],
        "cost_seconds": found["cost"],
        "cost_is_lower_bound": found["is_bound"],
        "targets_held": found["solved"],
        **dict(zip(("regret", "regret_low", "regret_high"), found["regret"] or (None,) * 3, strict=True)),
        "in_set_of_the_best": found["is_best"],
        **{f"cost_{axis}": one["cost"] for axis, one in found["axes"].items()},
        "clients_at_work": found["under_way"],
        "marks": "; ".join(found["marks"]),
    }


def _counts(words: Mapping[str, int]) -> str:
    return " ".join(f"{word}={count}" for word, count in words.items())
