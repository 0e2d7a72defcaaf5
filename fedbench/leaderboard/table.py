"""The document as one table: `data.csv`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Any

from fedbench.leaderboard.document import Document


def flat_rows(data: Document) -> list[dict[str, Any]]:
    """One flat row per scenario and algorithm: the columns of `data.csv`. Lacking values are None."""
    return [_flat(data, scenario, row) for scenario in data["scenarios"] for row in scenario["rows"]]


def as_csv(data: Document) -> str:
    """`flat_rows` as CSV; scenarios with different targets share one header, what does not apply is empty."""
    rows = flat_rows(data)
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _flat(data: Mapping[str, Any], scenario: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    axis = data["axis"]["name"]
    flat: dict[str, Any] = {
        "note": data["note"],
        "scenario": scenario["name"],
        "settings": " ".join(scenario["settings"]),
        "scenario_hash": scenario["hash"],
        "task": scenario["task"]["name"],
        "model": scenario["task"].get("model"),
        "selector": row["selector"],
        "options": json.dumps(row["algorithm"]["options"], sort_keys=True),
        "flattered_by_public_data": row["flattered"],
        "seeds": " ".join(map(str, row["seeds"])),
        "outcomes": _counts(row["outcomes"]),
        "ended_by": _counts(row["ended_by"]),
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


def _counts(words: Mapping[str, int]) -> str:
    return " ".join(f"{word}={count}" for word, count in words.items())
