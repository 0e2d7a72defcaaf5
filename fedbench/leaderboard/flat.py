"""A document as one table: `data/NAME.csv`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any


def flat_rows(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One flat row per point, kind and algorithm: the columns of the CSV. Lacking values are
    None."""
    return [
        _flat(data, point["name"], kind, row)
        for point in data["points"]
        for kind in data["kinds"]
        if point["name"] in data["sections"][kind]
        for row in data["sections"][kind][point["name"]]["rows"]
    ]


def as_csv(data: Mapping[str, Any]) -> str:
    """`flat_rows` as CSV; points with different targets share one header, what does not apply is
    empty."""
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
        **_standing(data["boards"][kind].get(point, []), row["label"]),
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
        flat |= {f"{stem}_restricted_mean": one["restricted_mean"]["mean"], f"{stem}_standing": one["comparison"]["standing"]}
        flat |= {f"{stem}_p_adjusted": one["comparison"]["p_adjusted"]}
    return flat | {"command": row["command"], "command_needs": row["command_needs"]}


def _standing(board: list[dict[str, Any]], label: str) -> dict[str, Any]:
    """Returns how the row stands on the board of its point; nothing where there is none."""
    found = next((one for one in board if one["label"] == label), None)
    if found is None:
        return {}
    return {
        "seconds_to_targets_mean": found["mean"],
        "seconds_to_targets_half_width": found["half_width"],
        "targets_reached": found["solved"],
        "first": found["first"],
        "first_like_for_like": found["first_alike"],
    }


def _counts(words: Mapping[str, int]) -> str:
    return " ".join(f"{word}={count}" for word, count in words.items())
